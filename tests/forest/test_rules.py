"""Rules say what the forest does, in words that hold for raw values."""

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frith import Categorical, Date, Domain, Forest, Numeric, Ordered
from frith.errors import FormatError
from frith.forest.intervals import deviation, noise_factor
from frith.forest.nodes import Condition, Nodes
from frith.forest.rules import SORTS
from frith.forest.trees import Trees
from frith.forest.voting import VOTES
from frith.growing.pruning import cut_back
from frith.privacy import Guarantee
from tests import twins
from tests.learners.conformance import LEARNERS
from tests.strategies import domains, examples, numerics, tables, trees
from tests.tables import small_domain, small_table

AGE = Numeric("age", 0, 80, cells=8, missing=True)
COLOR = Categorical("color", ("red", "green", "blue"), other="blue")
LABEL = Categorical("good", ("no", "yes"))


def tree_of(*nodes):
    """Trees of one root, from rows of attribute, cut and first child."""
    columns = np.array(nodes, dtype=np.int32).T
    return Trees(np.zeros(1, dtype=np.int32), *columns)


def age_and_color(vote="shares"):
    """Age under 40? Those who are not: which color? Node 1 and nodes 3 to 5 are leaves."""
    values = [[60, 40], [50, 0], [10, 40], [8, 2], [0, 0], [-3, 30]]
    return Forest(
        Domain([AGE, COLOR], LABEL),
        tree_of([0, 4, 1], [-1, -1, -1], [1, -1, 3], [-1, -1, -1], [-1, -1, -1], [-1, -1, -1]),
        np.array(values),
        Guarantee(Fraction(1)),
        np.array([8.0, 2, 6, 2, 2, 2]),
        vote,
    )


@st.composite
def forests(draw, of=None):
    """Any domain, trees and noisy values, as whole numbers or not, under any vote."""
    domain = draw(domains(most=3)) if of is None else of
    grown = draw(trees(domain))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    values = rng.integers(-3, 6, (grown.n_nodes, domain.n_labels))
    values = draw(st.sampled_from([values, values * 0.25, np.maximum(values, 1)]))
    variance = rng.choice([0.0, 0.5, 30.0], grown.n_nodes)
    vote = draw(st.sampled_from(VOTES))
    return Forest(domain, grown, values, Guarantee(Fraction(1)), variance, vote)


@st.composite
def forests_and_tables(draw):
    forest = draw(forests())
    return forest, draw(tables(forest.domain))


def arrow(table):
    return pa.table({name: pa.array(cells) for name, cells in table.items()})


def rows_of(table, domain):
    """Raw records: one dict of cells each."""
    count = len(table[domain.label.name])
    return [{a.name: table[a.name][i] for a in domain.attributes} for i in range(count)]


def codes_of(row, domain):
    return [twins.code_of(row[a.name], a) for a in domain.attributes]


# -- the words hold ----------------------------------------------------------------------------


def holds(condition, cell):
    """Whether a raw cell meets what a condition says in JSON, checked without any code."""
    said, attribute = condition.to_json(), condition.attribute
    if isinstance(attribute, Categorical):
        return attribute.values[twins.code_of(cell, attribute)] in said["values"]
    number, read = twins.number_of(cell), float
    if isinstance(attribute, Date):
        day = 1 if attribute.has_time else 86_400
        number, read = twins.moment_of(cell) // day, lambda text: twins.moment_of(text) // day
    elif isinstance(attribute, Ordered):
        place = twins.code_of(cell, attribute.listed, outside=-1, missing=-1)
        number, read = math.nan if place < 0 else place, lambda text: attribute.listed.codes[text]
    if math.isnan(number) and attribute.missing:
        return said["missing"]
    number = attribute.low if math.isnan(number) else number
    low = -math.inf if said["at_least"] is None else read(said["at_least"])
    high = math.inf if said["below"] is None else read(said["below"])
    return said["numbers"] and low <= number and (number < high or high == math.inf)


@examples(150)
@given(forests_and_tables())
def test_a_record_meets_the_rules_on_its_path_and_no_others(forest_and_table):
    forest, table = forest_and_table
    domain, rules = forest.domain, forest.rules(sort="tree")
    parent = {int(c): n for n in range(forest.trees.n_nodes) if forest.trees.attribute[n] >= 0
              for c in forest.trees.children(n, domain)}  # fmt: skip
    for row in rows_of(table, domain):
        met = {r.node for r in rules if all(holds(c, row[c.attribute.name]) for c in r.conditions)}
        path = set()
        for root in forest.trees.roots:
            node = twins.leaf_of(codes_of(row, domain), int(root), forest.trees)
            while node is not None:
                path.add(node)
                node = parent.get(node)
        assert met == {node for node in path if Nodes(forest).told[node]}


@examples(80)
@given(forests_and_tables())
def test_covers_is_what_the_conditions_say(forest_and_table):
    forest, table = forest_and_table
    rows, records = rows_of(table, forest.domain), arrow(table)
    for rule in forest.rules():
        expected = [all(holds(c, row[c.attribute.name]) for c in rule.conditions) for row in rows]
        assert rule.covers(records).tolist() == expected


@examples(100)
@given(forests())
def test_sub_rules_nest(forest):
    nodes = Nodes(forest)
    for node in range(forest.trees.n_nodes):
        if nodes.parent[node] >= 0:
            inner = {c.attribute.name: c for c in nodes.conditions(node)}
            for outer in nodes.conditions(int(nodes.parent[node])):
                within = inner[outer.attribute.name]
                assert not within.is_possible or outer.low <= within.low < within.high <= outer.high


def test_cuts_on_one_number_become_an_interval():
    forest = Forest(
        Domain([AGE], LABEL),
        tree_of([0, 6, 1], [0, 4, 3], [0, 8, 5], *[[-1, -1, -1]] * 4),
        np.ones((7, 2)),
        Guarantee(Fraction(1)),
        np.zeros(7),
    )
    texts = [rule.text for rule in forest.rules(sort="tree")]
    assert texts == [
        "always", "age < 60", "age >= 60 (or missing)", "age < 40", "40 <= age < 60",
        "age >= 60", "age is missing",
    ]  # fmt: skip


def test_what_no_record_can_meet_is_called_impossible():
    assert str(Condition(AGE, 5, 5)) == "age is impossible"
    assert str(Condition(COLOR, 2, 2)) == "color is impossible"
    assert str(Condition(AGE, 0, 9)) == "age is anything"


def test_values_that_do_not_show_are_quoted():
    odd = Categorical("a\nb", ("", "x\x1b[31m", "y"))
    assert str(Condition(odd, 0, 1)) == "'a\\nb' = ''"
    assert str(Condition(odd, 1, 2)) == "'a\\nb' = 'x\\x1b[31m'"


@examples(200)
@given(numerics(), st.data())
def test_rounded_edges_tell_the_grid_apart(attribute, data):
    cut = data.draw(st.integers(1, attribute.cells - 1))
    condition = Condition(attribute, 0, cut)
    shown = float(str(condition).removeprefix("a < "))
    assert np.argmin(np.abs(attribute.edges - shown)) == cut - 1
    assert condition.bounds == (None, attribute.edges[cut - 1])


# -- the numbers -------------------------------------------------------------------------------


def test_a_rule_holds_what_was_released_at_its_node():
    rule = age_and_color().rules(sort="tree")[4]
    assert str(rule).startswith("age >= 40 (or missing) and color = blue -> yes (100% [")
    assert (rule.tree, rule.node, rule.is_leaf, rule.label) == (0, 5, True, "yes")
    assert (rule.support, rule.counts, rule.confidence) == (27, (-3, 30), 1)
    factor = noise_factor(0.05 / (6 * 3))  # six nodes, each with a support and two shares
    assert rule.support_margin == pytest.approx(
        factor * math.sqrt(2) * deviation(np.array(2.0), factor)
    )
    assert 0 < rule.confidence_low < 1 == rule.confidence_high


def test_margins_widen_with_every_node_that_could_have_been_shown():
    few = age_and_color()
    many = replace(few, candidates=6_000)
    for one, other in zip(few.rules(), many.rules(), strict=True):
        assert one.support_margin < other.support_margin
        assert one.confidence_low >= other.confidence_low


def test_a_node_that_was_emptied_is_no_rule():
    emptied = age_and_color()
    assert [r.node for r in emptied.rules(sort="tree")] == [0, 1, 2, 3, 5]
    assert "less than its noise" in emptied.export_text()
    exact = replace(emptied, variance=np.zeros(6))
    rule = exact.rules(sort="tree")[4]
    assert (rule.label, rule.confidence, rule.support, rule.support_margin) == ("yes", 0, 0, 0)


def test_rules_of_scores_state_odds_and_nothing_that_was_not_counted():
    half = math.log(3) / 2
    values = np.array([[0, 0], [half, -half], [-half, half], [0, 0], [0, 0], [0, 0]])
    forest = replace(age_and_color("product"), values=values, variance=np.full(6, 0.01))
    rule = forest.rules(sort="tree")[0]
    assert str(rule) == "age < 40 -> no (odds × 3, noise 2.5 to 3.7)"
    assert (rule.kind, rule.counts) == ("scores", None)
    assert rule.odds == pytest.approx(3)
    with pytest.raises(AttributeError, match="a rule of scores has no support"):
        _ = rule.support
    assert not {"confidence", "support", "counts"} & rule.to_json().keys()
    with pytest.raises(ValueError, match="no records were counted"):
        forest.rules(min_support=3)
    with pytest.raises(ValueError, match="no records were counted"):
        forest.rules(sort="confidence")


@examples(100)
@given(forests(), st.integers(0, 2**32))
def test_a_leaf_rule_predicts_what_its_tree_predicts(forest, seed):
    vote = "product" if forest.vote == "product" else "shares"
    rng = np.random.default_rng(seed)
    attributes = forest.domain.attributes
    codes = np.column_stack([rng.integers(0, a.size, 20) for a in attributes]).astype(np.uint16)
    nodes, names = Nodes(forest), forest.domain.label.values
    labels = {node: names[nodes.label[node]] for node in forest.trees.leaves}
    for t, root in enumerate(forest.trees.roots):
        first = replace(forest.trees, roots=forest.trees.roots[[t]])
        tree, kept = cut_back(first, forest.trees.attribute >= 0, forest.domain)
        values, variance = forest.values[kept], forest.variance[kept]
        alone = replace(forest, trees=tree, values=values, variance=variance, vote=vote)
        predicted = alone.labels_of_codes(codes)
        for row, label in zip(codes.tolist(), predicted, strict=True):
            leaf = twins.leaf_of(row, int(root), forest.trees)
            assert labels[leaf] == forest.domain.label.values[label]


# -- lists -------------------------------------------------------------------------------------


@examples(100)
@given(forests(), st.data())
def test_filters_keep_what_they_say(forest, data):
    everything = list(forest.rules(sort="tree"))
    nodes = Nodes(forest)
    assert [r.node for r in everything] == sorted(
        np.flatnonzero(nodes.told), key=lambda n: (nodes.tree[n], n)
    )
    share, size = data.draw(st.floats(0, 1)), data.draw(st.integers(-5, 10))
    label = data.draw(st.sampled_from(forest.domain.label.values))
    name = data.draw(st.sampled_from(forest.domain.names))
    counted = {} if forest.kind == "scores" else {
        "confidence": forest.rules(min_confidence=share, sort="tree"),
        "support": forest.rules(min_support=size, sort="tree"),
    }  # fmt: skip
    found = counted | {
        "label": forest.rules(label=label, sort="tree"),
        "attribute": forest.rules(attribute=name, sort="tree"),
        "leaves": forest.rules(leaves_only=True, sort="tree"),
    }
    meant = {
        "confidence": lambda r: r.confidence >= share,
        "support": lambda r: r.support >= size,
        "label": lambda r: r.label == label,
        "attribute": lambda r: name in {c.attribute.name for c in r.conditions},
        "leaves": lambda r: forest.trees.attribute[r.node] < 0,
    }
    for kind, rules in found.items():
        assert [r.node for r in rules] == [r.node for r in everything if meant[kind](r)], kind


@examples(50)
@given(forests())
def test_the_best_rules_come_first(forest):
    keys = {
        "certainty": lambda r: r.confidence_low,
        "confidence": lambda r: r.confidence,
        "support": lambda r: r.support,
        "tree": lambda r: -r.tree,
    }
    assert set(keys) == set(SORTS)
    if forest.kind == "scores":  # one noise on all labels: what is left after it, on a log scale
        left = lambda r: math.log(r.odds_low)  # noqa: E731
        keys = {"certainty": lambda r: round(left(r), 9), "tree": keys["tree"]}
    for sort, key in keys.items():
        values = [key(rule) for rule in forest.rules(sort=sort)]
        assert values == sorted(values, reverse=True)


def test_labels_are_found_however_they_are_spelled():
    truth = replace(
        age_and_color(), domain=Domain([AGE, COLOR], Categorical("good", (False, True)))
    )
    for yes in (True, "true", "True"):
        assert [r.label for r in truth.rules(label=yes)] == [True] * 2


@pytest.mark.parametrize("wrong", [{"label": "maybe"}, {"attribute": "size"}, {"sort": "size"}])
def test_unknown_names_are_explained(wrong):
    with pytest.raises(ValueError, match="maybe|size"):
        age_and_color().rules(**wrong)


def test_a_list_of_rules_is_a_sequence():
    rules = age_and_color().rules()
    assert len(rules) == 5
    assert [r.node for r in rules[1:3]] == [r.node for r in rules][1:3]
    assert rules[-1] == list(rules)[-1]
    assert rules[0] in rules
    assert repr(rules).startswith("<RuleList: 5 rules of <Forest: ")
    assert len(repr(rules)) < 100


@examples(50)
@given(forests())
def test_frames_and_json_hold_every_rule(forest):
    rules = forest.rules()
    frame = rules.to_frame()
    said = json.loads(json.dumps(rules.to_json(), allow_nan=False))
    assert said["guarantee"] == forest.guarantee.to_json()
    assert len(frame) == len(said["rules"]) == len(rules)
    for row, data, rule in zip(frame.itertuples(), said["rules"], rules, strict=True):
        assert (row.rule, row.node, row.tree, row.is_leaf) == (
            rule.text, rule.node, rule.tree, rule.is_leaf,
        )  # fmt: skip
        assert row.label == data["label"] == rule.label
        for name, value in rule.figures.items():
            assert getattr(row, name) == data[name] == value
        counts = None if forest.kind == "scores" else forest.values[rule.node].tolist()
        assert data.get("counts") == counts
        assert [c["text"] for c in data["conditions"]] == [str(c) for c in rule.conditions]


def test_markdown_is_a_table_whatever_values_hold():
    pipes = Categorical("a|b", ("x|y", "z\\"))
    domain = Domain([pipes], LABEL)
    nodes = ([0, -1, 1], [-1, -1, -1], [-1, -1, -1])
    forest = Forest(domain, tree_of(*nodes), np.ones((3, 2)), Guarantee(Fraction(1)), np.zeros(3))
    head, line, *rows = forest.rules(sort="tree").to_markdown().splitlines()
    assert head == "| rule | good | confidence | support |"
    assert line.count("|") == 5
    assert rows[1] == "| a\\|b = x\\|y | no | 50% | 2 |"
    assert rows[2] == "| a\\|b = z\\\\ | no | 50% | 2 |"


def test_long_lists_are_printed_in_part():
    domain = Domain([Categorical("n", tuple(range(30)))], LABEL)
    nodes = ([0, -1, 1], *[[-1, -1, -1]] * 30)
    forest = Forest(domain, tree_of(*nodes), np.ones((31, 2)), Guarantee(Fraction(1)), np.zeros(31))
    assert str(forest.rules()).splitlines()[-1] == "... and 11 more"
    assert str(forest.rules(min_support=99)) == "no rules"


@pytest.mark.parametrize(
    "inner",
    [([1, -1, 1], [0, 4, 2], [-1, -1, -1]), ([0, 4, 1], [0, 2, 3], [0, 6, 3])],
    ids=["at two depths", "at one depth"],
)
def test_a_node_that_two_paths_reach_is_refused(inner):
    nodes = (*inner, [-1, -1, -1], [-1, -1, -1])
    domain = Domain([AGE, COLOR], LABEL)
    with pytest.raises(FormatError, match="two paths"):
        Forest(domain, tree_of(*nodes), np.ones((5, 2)), Guarantee(Fraction(1)), np.zeros(5))


# -- rules as a classifier ---------------------------------------------------------------------


@examples(150)
@given(forests_and_tables())
def test_without_a_dropped_rule_the_classifier_is_the_forest(forest_and_table):
    forest, table = forest_and_table
    judge, records = forest.rules().classifier(), arrow(table)
    assert np.array_equal(judge.predict_proba(records), forest.predict_proba(records))
    assert judge.predict(records).tolist() == forest.predict(records).tolist()


def judged(forest, kept, codes):
    """The weights of one record's labels, by walking up from its leaves."""
    nodes, shares = Nodes(forest), forest.node_shares
    votes = []
    for root in forest.trees.roots:
        leaf = twins.leaf_of(codes, int(root), forest.trees)
        path, node = [], leaf
        while node >= 0:
            speaks = forest.vote == "product" or shares[node].any()
            path += [node] if node in kept and speaks else []
            node = int(nodes.parent[node])
        if forest.vote == "product":
            votes += [forest.values[path[0]].astype(float)] if path else []
            continue
        if forest.vote == "counts" and leaf in kept:
            votes.append(forest.values[leaf].astype(float))
        elif path and forest.vote == "confident":
            votes.append(max((shares[n] for n in reversed(path)), key=lambda s: s.max()))
        elif path and forest.vote == "weighted":
            best = np.zeros(len(shares[0]))
            best[shares[path[0]].argmax()] = shares[path[0]].max()
            votes.append(best)
        elif path:
            size = max(0, forest.values[leaf].sum()) if forest.vote == "counts" else 1
            votes.append(shares[path[0]] * size)
    if forest.vote == "product":
        logs = sum(votes, np.zeros(len(shares[0])))
        return np.exp(logs - logs.max())
    if forest.vote == "confident" and votes:
        most = max(v.max() for v in votes)
        winners = {c for v in votes for c in range(len(v)) if v[c] == most}
        votes = [next(v for v in votes if v.max() == most)] if len(winners) == 1 else votes
    weights = np.maximum(sum(votes, np.zeros(len(shares[0]))), 0)
    return weights if weights.any() else forest.label_weights


@examples(250)
@given(forests_and_tables(), st.data())
def test_the_deepest_kept_rules_decide(forest_and_table, data):
    forest, table = forest_and_table
    chosen = {
        "min_confidence": data.draw(st.none() | st.floats(0, 1)),
        "min_support": data.draw(st.none() | st.integers(0, 12)),
        "leaves_only": data.draw(st.booleans()),
    }
    if forest.kind == "scores":
        chosen = {"leaves_only": chosen["leaves_only"], "label": forest.domain.label.values[0]}
    rules = forest.rules(**chosen)
    kept = {rule.node for rule in rules}
    proba = rules.classifier().predict_proba(arrow(table))
    for row, given_ in zip(rows_of(table, forest.domain), proba, strict=True):
        weights = judged(forest, kept, codes_of(row, forest.domain))
        assert given_ == pytest.approx(weights / weights.sum())


def test_where_all_trees_abstain_the_forest_s_label_shares_speak():
    forest = age_and_color()
    judge = forest.rules(label="yes", leaves_only=True).classifier()
    records = pa.table({"age": [10.0, 50.0], "color": ["red", "blue"]})
    assert judge.predict_proba(records).tolist() == [[0.6, 0.4], [0.0, 1.0]]
    assert judge.predict(records).tolist() == ["no", "yes"]
    assert judge.labels == ("no", "yes")


def test_a_dropped_leaf_s_support_is_divided_by_its_sub_rule():
    """Nodes 1 and 3 of the sketch are dropped: 10 records at the shares 10 : 40 of node 2."""
    rules = age_and_color("counts").rules(label="yes")
    judge = rules.classifier()._judge
    assert judge.values[3].tolist() == [2.0, 8.0]
    assert judge.values[5].tolist() == [-3, 30]
    assert judge.values[1].tolist() == [0, 0]  # its only sub-rule says no, and was dropped too


# -- every learner -----------------------------------------------------------------------------


@pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS.keys())
def test_every_forest_has_rules_and_a_classifier_of_them(make):
    table = small_table(400)
    X, y = table[["color", "round", "size"]], table["good"]
    forest = make(small_domain(records=400), epsilon=20, random_state=0).fit(X, y).forest_
    rules = forest.rules()
    assert len(rules) == Nodes(forest).told.sum()
    assert np.array_equal(rules.classifier().predict(X), forest.predict(X))
    nodes = Nodes(forest)
    covered = sum(nodes.rule(leaf).covers(X).astype(int) for leaf in forest.trees.leaves)
    assert np.all(covered == forest.trees.n_trees)


def test_a_forest_that_asks_nothing_says_so():
    forest = age_and_color()
    assert "no tree asks" not in forest.describe()
    stump = Forest(
        forest.domain, tree_of([-1, -1, -1]), forest.values[:1], forest.guarantee, np.zeros(1)
    )
    assert "1 tree, depth 0, 1 leaf;" in stump.describe()
    assert "no tree asks for any attribute, so all records are predicted alike" in stump.describe()
