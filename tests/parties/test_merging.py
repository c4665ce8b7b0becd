"""Merging: any split, order and subset gives the pooled forest; what does not belong is refused."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frith import Budget, BudgetExceeded, Forest, Ledger, RandomDecisionForestClassifier, open_table
from frith.errors import FormatError
from frith.forest.trees import Trees
from frith.learners.public_trees import count_leaves
from frith.parties import MergeError, PartyRelease, Structure, join, make_structure, merge, release
from frith.parties.shared_structure import LEARNERS
from frith.privacy import DiscreteLaplace, Guarantee
from frith.privacy.guarantee import DISJOINT
from frith.privacy.neighbors import person_neighbors
from tests.parties.people import DOMAIN, NAMES, deal, dealt, pooled
from tests.strategies import domains, examples, forest_over, forests, letters
from tests.tables import person_domain, small_domain, small_table

STRUCTURES = {
    "random-decision": make_structure(DOMAIN, n_trees=4, max_depth=2, random_state=0),
    "signal": make_structure(DOMAIN, "signal", epsilon=5, random_state=0),
}
STRUCTURE = STRUCTURES["random-decision"]
both = pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)


def releases_of(structure, tables, epsilon="inf", delta=0):
    return [release(structure, t, party=name, epsilon=epsilon, delta=delta)
            for name, t in tables.items()]  # fmt: skip


def pooled_forest(structure, tables):
    """The forest of one curator who has all the records."""
    model, curator = LEARNERS[structure.learner](structure.domain), pooled(tables)
    return model.finish(curator, structure.trees, count_leaves(curator, structure.trees))


def same_model(a, b):
    return a.trees == b.trees and np.array_equal(a.values, b.values) and a.vote == b.vote


# -- horizontally ------------------------------------------------------------------------------


@both
@given(st.integers(1, 6), st.lists(st.integers(0, 5), min_size=40, max_size=40), st.data())
@examples(15)
def test_any_split_order_and_subset_gives_exactly_the_pooled_forest(structure, m, owner, data):
    tables = deal(small_table(40), np.array(owner) % m, m)
    releases = releases_of(structure, tables)
    merged = merge(structure, data.draw(st.permutations(releases)))
    assert merged.to_json() == merge(structure, releases).to_json()
    assert same_model(merged, pooled_forest(structure, tables))
    some = data.draw(st.lists(st.sampled_from(NAMES[:m]), min_size=1, unique=True))
    part = merge(structure, [r for r in releases if r.party in some])
    assert same_model(part, pooled_forest(structure, {n: tables[n] for n in some}))
    assert [share.party for share in part.guarantee.parties] == sorted(some)


@both
def test_merging_adds_counts_and_variances(structure):
    releases = releases_of(structure, dealt(3), epsilon=1)
    merged = merge(structure, releases)
    total = sum(r.variance for r in releases)
    assert merged.variance[merged.trees.leaves].min() >= total * (1 - 1e-12)
    if structure.learner == "random-decision":
        found = merged.values[merged.trees.leaves]
        assert np.array_equal(found, sum(r.values for r in releases))
        assert merged.variance[merged.trees.leaves] == pytest.approx(total)


def test_a_learner_of_the_structures_own_grows_the_same_trees():
    model = RandomDecisionForestClassifier(DOMAIN, n_trees=4, max_depth=2, random_state=0)
    assert model.grow(pooled(dealt(1))) == STRUCTURE.trees


def test_there_must_be_something_to_merge():
    with pytest.raises(MergeError, match="no release"):
        merge(STRUCTURE, [])
    with pytest.raises(MergeError, match="no forest"):
        join({})


# -- what is refused, by name ------------------------------------------------------------------


def bob(structure=STRUCTURE, **changes):
    made = release(structure, small_table(20), party="bob", epsilon=1)
    return replace(made, **changes)


def refused(words, *releases):
    with pytest.raises(MergeError, match=words):
        merge(STRUCTURE, [release(STRUCTURE, small_table(5), party="ada", epsilon=1), *releases])


def test_a_release_over_another_domain_is_refused():
    other = make_structure(small_domain(records=7), n_trees=4, max_depth=2, random_state=0)
    refused("release of bob is over another domain", bob(other))


def test_a_release_of_another_structure_is_refused():
    other = make_structure(DOMAIN, n_trees=4, max_depth=2, random_state=1)
    refused("release of bob is of another structure", bob(other))
    refused("release of bob is of another structure", bob(STRUCTURES["signal"]))


@pytest.mark.parametrize("shape", [(3, 2), (1, 1), None])
def test_a_release_of_another_shape_is_refused(shape):
    values = np.zeros(shape or (len(STRUCTURE.trees.leaves), 3), dtype=np.int64)
    refused("release of bob lacks a number for some leaf", bob(values=values))


@pytest.mark.parametrize("variance", [-1.0, float("nan")])
def test_a_release_without_a_legal_variance_is_refused(variance):
    refused("release of bob", bob(variance=variance))


def test_a_repeated_release_is_refused():
    one = bob()
    refused("release of bob is given twice", one, PartyRelease.from_json(one.to_json()))
    refused("eve and bob gave the same release", one, replace(one, party="eve"))


def test_parties_that_protect_different_things_are_refused():
    persons = replace(bob().guarantee, neighbors=person_neighbors(2))
    refused("bob protects something else than ada", bob(guarantee=persons))


def paths(data, at=()):
    """Every number and text of a JSON document, by its path."""
    if isinstance(data, dict):
        return [p for k, v in data.items() for p in paths(v, (*at, k))]
    if isinstance(data, list):
        return [p for i, v in enumerate(data[:3]) for p in paths(v, (*at, i))]
    return [at]


def changed(data, path):
    data = json.loads(json.dumps(data))
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    old = inner[path[-1]]
    inner[path[-1]] = old + 1 if isinstance(old, int | float) else f"{old}1"
    return data


def test_any_change_of_a_release_is_noticed(tmp_path):
    Ledger.create(tmp_path / "ledger", epsilon=2)
    said = release(
        STRUCTURE, small_table(20), party="bob", epsilon="0.5", ledger=tmp_path / "ledger"
    ).to_json()
    seen = [p for p in paths(said) if "parties" not in p]  # who it is from is said at the top
    assert ("receipt", "id") in seen
    for path in seen:
        with pytest.raises(FormatError):
            PartyRelease.from_json(changed(said, path))
    with pytest.raises(FormatError, match="release of bob was changed"):
        PartyRelease.from_json(changed(said, ("values", 0, 0)))


def test_what_a_release_says_twice_is_read_once():
    """A party's own share is its guarantee; another one in the file counts for nothing."""
    said = bob().to_json()
    cheaper = changed(said, ("guarantee", "parties", 0, "epsilon"))
    assert PartyRelease.from_json(cheaper).guarantee == PartyRelease.from_json(said).guarantee


def test_any_change_of_a_structure_is_noticed():
    said = STRUCTURE.to_json()
    for path in paths(said):
        with pytest.raises((FormatError, ValueError)):
            Structure.from_json(changed(said, path))
    with pytest.raises(FormatError, match="structure was changed"):
        Structure.from_json(said | {"learner": "signal"})


@pytest.mark.parametrize("kind", [PartyRelease, Structure])
@pytest.mark.parametrize("data", [None, [], {}, {"format": "frith-forest/1"}, "text"])
def test_other_formats_are_refused(kind, data):
    with pytest.raises(FormatError, match="must say format 'frith-"):
        kind.from_json(data)


@pytest.mark.parametrize("kind", [PartyRelease, Structure])
def test_incomplete_files_are_refused(kind, tmp_path):
    said = (bob() if kind is PartyRelease else STRUCTURE).to_json()
    for name in said:
        with pytest.raises(FormatError):
            kind.from_json({k: v for k, v in said.items() if k != name})
    (tmp_path / "cut.json").write_text(json.dumps(said)[:-20])
    with pytest.raises(FormatError, match="cut off"):
        kind.load(tmp_path / "cut.json")


@pytest.mark.parametrize("values", [[[0.5]], [["1"]], [[2**70]], [1, 2], [[True]]])
def test_counts_are_whole_numbers(values):
    said = bob().to_json()
    with pytest.raises(FormatError):
        PartyRelease.from_json(said | {"values": values})


def test_files_are_read_back_as_they_were(tmp_path):
    one = bob()
    one.save(tmp_path / "r.json")
    again = PartyRelease.load(tmp_path / "r.json")
    assert (again.hash, again.guarantee) == (one.hash, one.guarantee)
    for name, structure in STRUCTURES.items():
        structure.save(tmp_path / f"{name}.json")
        assert Structure.load(tmp_path / f"{name}.json") == structure


# -- structures --------------------------------------------------------------------------------


def test_a_structure_needs_public_facts_and_says_which():
    with pytest.raises(ValueError, match="declare the number of records in the domain"):
        make_structure(small_domain())
    with pytest.raises(ValueError, match="random-decision or signal, not 'gini'"):
        make_structure(DOMAIN, "gini")
    assert make_structure(small_domain(), max_depth=2).trees.n_trees == 10


def test_the_signal_forests_structure_is_grown_for_the_noise_it_will_have():
    pure, gaussian, little = (
        make_structure(DOMAIN, "signal", epsilon=e, delta=d, random_state=0).trees.n_nodes
        for e, d in ((20, 0), (20, "1e-6"), ("0.1", 0))
    )
    assert pure > little
    assert pure != gaussian


# -- guarantees --------------------------------------------------------------------------------


def test_epsilons_add_unless_the_parties_declare_disjoint_people():
    releases = [
        release(STRUCTURE, t, party=n, epsilon=e, delta=d)
        for (n, t), e, d in zip(
            dealt(3).items(), ("0.1", "0.2", "0.4"), (0, "1e-6", "1e-7"), strict=True
        )
    ]
    added, largest = (merge(STRUCTURE, releases, disjoint=d).guarantee for d in (False, True))
    assert added.epsilon == Fraction(7, 10)
    assert added.delta == Fraction(11, 10**7)
    assert (largest.epsilon, largest.delta) == (Fraction(4, 10), Fraction(1, 10**6))
    assert DISJOINT in largest.assumptions
    assert DISJOINT not in added.assumptions
    for guarantee in (added, largest):
        assert [str(p) for p in guarantee.parties] == [
            "ada: epsilon=0.1", "bo: epsilon=0.2, delta=1e-06", "cy: epsilon=0.4, delta=1e-07",
        ]  # fmt: skip
        assert Guarantee.from_json(json.loads(json.dumps(guarantee.to_json()))) == guarantee
        assert len(guarantee.asked) == 3


def test_releases_of_one_party_add_up_whatever_is_declared_of_others():
    """A party's second release is about the same people as its first."""
    tables = dealt(2)
    releases = [*releases_of(STRUCTURE, tables, "0.5"), *releases_of(STRUCTURE, tables, "0.25")]
    releases.append(release(STRUCTURE, tables["bo"], party="bo", epsilon=1))
    guarantee = merge(STRUCTURE, releases, disjoint=True).guarantee
    assert guarantee.epsilon == Fraction(7, 4)  # bo's three; ada's two come to less


def test_a_merged_forest_is_saved_with_the_parties_shares(tmp_path):
    merge(STRUCTURE, releases_of(STRUCTURE, dealt(3), 1)).save(tmp_path / "f.json")
    assert [p.party for p in Forest.load(tmp_path / "f.json").guarantee.parties] == [
        "ada",
        "bo",
        "cy",
    ]


def test_a_declared_number_of_records_is_among_the_assumptions():
    words = "the declared number of records is public"
    assert words in bob().guarantee.assumptions
    undeclared = make_structure(small_domain(), max_depth=2)
    assert words not in bob(undeclared).guarantee.assumptions


def test_a_release_is_paid_for_before_a_record_is_read(tmp_path):
    Ledger.create(tmp_path / "ledger", epsilon=1)
    paid = release(
        STRUCTURE, small_table(9), party="bob", epsilon="0.75", ledger=tmp_path / "ledger"
    )
    assert paid.receipt.amount == Fraction(3, 4)
    assert paid.receipt.purpose == "release of bob"
    again = PartyRelease.from_json(json.loads(json.dumps(paid.to_json())))
    assert again.receipt == paid.receipt
    with pytest.raises(BudgetExceeded):
        release(STRUCTURE, small_table(9), party="bob", epsilon="0.5", ledger=tmp_path / "ledger")
    with pytest.raises(ValueError, match="no price"):
        release(STRUCTURE, small_table(9), party="bob", epsilon="inf", ledger=tmp_path / "ledger")
    assert Ledger(tmp_path / "ledger").spent == Fraction(3, 4)


def test_a_release_has_the_noise_of_its_budget():
    made = release(STRUCTURE, small_table(0), party="bob", epsilon="0.5")
    assert made.variance == DiscreteLaplace(Fraction(1, 2), 4).variance  # four trees
    assert np.any(made.values != 0)


def test_a_party_needs_a_name_and_the_structures_domain(tmp_path):
    Ledger.create(tmp_path / "ledger", epsilon=1)
    with pytest.raises(ValueError, match="a party needs a name"):
        release(STRUCTURE, small_table(9), party=" ", epsilon=1, ledger=tmp_path / "ledger")
    assert Ledger(tmp_path / "ledger").spent == 0
    with pytest.raises(ValueError, match="another domain"):
        release(STRUCTURE, open_table(small_table(9), small_domain()), party="bob", epsilon=1)


def test_persons_are_protected_where_the_domain_names_them():
    structure = make_structure(person_domain(2), n_trees=3, max_depth=2)
    made = release(structure, small_table(50), party="bob", epsilon=1)
    assert made.variance == DiscreteLaplace(Fraction(1), 6).variance
    assert "person" in merge(structure, [made]).guarantee.neighbors


# -- vertically --------------------------------------------------------------------------------


def vertical(columns, vote="counts", seed=0, epsilon="inf", n=60):
    """A forest over some of the columns."""
    domain = small_domain(records=n)
    part = replace(domain, attributes=tuple(a for a in domain.attributes if a.name in columns))
    model = RandomDecisionForestClassifier(
        part, epsilon=epsilon, n_trees=3, max_depth=2, random_state=seed
    )
    forest = model.learn(pooled({"all": small_table(n)}, epsilon, domain=part))
    return replace(forest, vote=vote)


def votes(forest, table):
    """The slow twin: each record's leaves, walked by hand, and their counts added up."""
    codes = forest.encode(table)
    total = np.zeros((len(codes), forest.domain.n_labels))
    for i, record in enumerate(codes):
        for root in forest.trees.roots:
            node = int(root)
            while forest.trees.attribute[node] >= 0:
                code, cut = record[forest.trees.attribute[node]], forest.trees.cut[node]
                if cut == -1:
                    branch = int(code)
                else:
                    left = code < cut if cut >= 0 else forest.trees.members(node)[code]
                    branch = 0 if left else 1
                node = int(forest.trees.first_child[node]) + branch
            total[i] += forest.values[node]
    return total


@pytest.mark.parametrize("columns", [
    (["color"], ["round", "size"]), (["size"], ["color", "round"]),
    (["color", "size"], ["size", "round"]),
])  # fmt: skip
def test_a_joined_forest_votes_with_the_trees_of_both(columns):
    table = small_table(60)
    parts = {n: vertical(c, seed=i) for i, (n, c) in enumerate(zip(NAMES, columns, strict=False))}
    joined = join(parts)
    expected = sum(votes(f, table) for f in parts.values())
    assert np.array_equal(votes(joined, table), expected)
    assert np.array_equal(joined._weights(joined.encode(table)), expected)
    assert joined.trees.n_trees == 6
    assert set(joined.domain.names) == set(columns[0]) | set(columns[1])


def test_what_joined_domains_cost_adds():
    parts = {n: vertical([c]) for n, c in zip(NAMES, ("color", "size"), strict=False)}
    paid = Guarantee(
        Fraction(1), Fraction(0), neighbors=next(iter(parts.values())).guarantee.neighbors
    )
    parts = {n: replace(f, domain=replace(f.domain, paid=paid)) for n, f in parts.items()}
    assert join(parts).domain.paid.epsilon == 2


@given(st.data())
@examples(30)
def test_sets_and_cuts_survive_renumbering(data):
    """Any two forests over any two domains of one label: the join says what both say."""
    label = data.draw(domains()).label
    first, second = (
        data.draw(domains(names=letters.map(lambda t, p=prefix: f"{p} {t}"))) for prefix in "ab"
    )
    first, second = (replace(d, label=label) for d in (first, second))
    parts = {"ada": data.draw(forests(first)), "bo": data.draw(forests(second))}
    parts = {name: replace(f, vote="counts") for name, f in parts.items()}
    joined = join(parts)
    joined.trees.check(joined.domain)
    rng = np.random.default_rng(0)
    codes = [np.column_stack([rng.integers(0, a.size, 8) for a in d.attributes]).astype(np.int32)
             for d in (first, second)]  # fmt: skip
    separate = sum(f._weights(c) for f, c in zip(parts.values(), codes, strict=True))
    assert np.array_equal(joined._weights(np.column_stack(codes)), separate)


def test_a_joined_forest_with_sets_is_read_back(tmp_path):
    domain = vertical(["color"]).domain
    numbers = (np.array(x, dtype=np.int32) for x in ([0], [0, -1, -1], [-2, -1, -1], [1, -1, -1]))
    asks_set = forest_over(domain, Trees(*numbers, np.array([[True, False, True]])))
    joined = join({"ada": vertical(["round", "size"]), "bo": asks_set})
    joined.save(tmp_path / "f.json")
    table = small_table(60)
    assert np.array_equal(votes(Forest.load(tmp_path / "f.json"), table), votes(joined, table))
    expected = votes(vertical(["round", "size"]), table) + votes(asks_set, table)
    assert np.array_equal(votes(joined, table), expected)


def test_epsilons_add_vertically_and_every_party_is_listed():
    parts = {"ada": vertical(["color"], epsilon="0.5"), "bo": vertical(["size"], epsilon="0.25")}
    guarantee = join(parts).guarantee
    assert guarantee.epsilon == Fraction(3, 4)
    assert [str(p) for p in guarantee.parties] == ["ada: epsilon=0.5", "bo: epsilon=0.25"]
    assert DISJOINT not in guarantee.assumptions


def test_parties_of_a_merged_forest_keep_their_names_in_a_join():
    merged = merge(STRUCTURE, releases_of(STRUCTURE, dealt(2), "0.5"))
    parts = {"both": merged, "cy": vertical(["size"], epsilon="0.5", n=200)}
    assert [p.party for p in join(parts).guarantee.parties] == ["ada", "bo", "cy"]


def other_part(**changes):
    forest = vertical(["color", "size"])
    return replace(forest, domain=replace(forest.domain, **changes))


def test_what_cannot_be_joined_is_refused_by_name():
    one = vertical(["color", "round"])
    label = replace(one.domain.label, name="bad")
    for other, words in (
        (other_part(label=label), "bo declares another label than ada"),
        (other_part(person=person_domain().person), "bo declares another person than ada"),
        (vertical(["size"], vote="shares"), "bo decides by shares, and ada by counts"),
    ):
        with pytest.raises(MergeError, match=words):
            join({"ada": one, "bo": other})
    color, size = vertical(["color", "size"]).domain.attributes
    short = replace(color, values=color.values[::-1])
    with pytest.raises(MergeError, match="bo declares attribute 'color' differently"):
        join({"ada": one, "bo": other_part(attributes=(short, size))})


def test_attributes_that_are_not_shared_do_not_make_releases_parallel():
    """Alice knows a and Bob knows b of one person: with or without her, two counts of one person
    have a ratio of e^(2 epsilon), whichever attributes they are over."""
    epsilon = Fraction(1, 2)
    law = DiscreteLaplace(epsilon, 1).log_law
    x, y = np.meshgrid(np.arange(-5, 6), np.arange(-5, 6))
    ratio = (law(x - 1) + law(y - 1)) - (law(x) + law(y))  # with her minus without her
    assert ratio.max() == pytest.approx(2 * float(epsilon))
    assert np.exp(ratio.max()) == pytest.approx(np.exp(1))
    assert ratio.min() == pytest.approx(-2 * float(epsilon))
    alone = law(x) - law(x - 1)
    assert np.abs(alone).max() == pytest.approx(float(epsilon))  # each release alone keeps its word
    budget = Budget.of(epsilon)
    whole = Guarantee(budget.epsilon).then(Guarantee(budget.epsilon))
    assert float(whole.epsilon) == pytest.approx(ratio.max())


def test_records_that_parties_declare_alike_stay_declared():
    parts = {"ada": vertical(["color"]), "bo": vertical(["size"])}
    assert join(parts).domain.records == 60
    parts["bo"] = vertical(["size"], n=61)
    assert join(parts).domain.records is None


def test_the_dealt_tables_are_the_whole():
    assert len(pd.concat(dealt(4).values())) == 200
