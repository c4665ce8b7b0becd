"""Learning together: the pooled forest without noise, every party within its budget with it."""

from fractions import Fraction

import numpy as np
import pytest

from frith import (
    Budget,
    C45Classifier,
    ForestClassifier,
    Ledger,
    RandomDecisionForestClassifier,
    open_table,
)
from frith.audit.replay import arbitrary_releases, loss_of, replay_curator
from frith.curator import RECORDS_ARE_PUBLIC, Curator, Release
from frith.errors import SourceError
from frith.growing.random_trees import grow_random_trees
from frith.kernels import LeafCounts, RecordCount
from frith.learners import BY_NAME
from frith.parties import JointCurator, LocalParty, MergeError, OpenSum, SecureSum, train_together
from frith.privacy import DiscreteGaussian, DiscreteLaplace
from frith.privacy.guarantee import DISJOINT
from tests.learners.conformance import LEARNERS
from tests.parties.people import (
    DOMAIN,
    curators,
    deal,
    dealt,
    keyring,
    many_labels,
    pooled,
    secure_parties,
)
from tests.statistics import fits_law
from tests.tables import person_domain, small_domain, small_table

learners = pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)
TREES = grow_random_trees(DOMAIN, 3, 2, np.random.default_rng(0))
LEAVES = LeafCounts(TREES, DOMAIN)
HALF = Fraction(1, 2)


def test_every_learner_is_checked():
    assert {type(make()) for make in LEARNERS.values()} == set(BY_NAME.values())


# -- without noise -----------------------------------------------------------------------------


def same_model(a, b):
    return (
        a.trees == b.trees
        and np.array_equal(a.values, b.values)
        and np.array_equal(a.variance, b.variance)
        and a.vote == b.vote
    )


@learners
@pytest.mark.parametrize("parties", [1, 3])
def test_parties_without_noise_learn_exactly_the_pooled_forest(make, parties):
    """Choices are made by noisy sums instead of privately: without noise both take the best."""
    tables = dealt(parties)
    learner = make(DOMAIN, epsilon="inf", random_state=0)
    together = train_together(learner, OpenSum(curators(tables)))
    alone = learner.learn(pooled(tables))
    assert same_model(learner.learn(JointCurator(OpenSum(curators(tables)))), alone)
    assert same_model(together.forest_, type(learner).from_forest(alone).forest_)
    attributes = small_table()[list(DOMAIN.names)]
    assert np.array_equal(together.predict(attributes), alone.predict(attributes))


@learners
def test_a_secure_sum_without_noise_learns_exactly_the_pooled_forest(make):
    tables = dealt(3)
    learner = make(DOMAIN, epsilon="inf", random_state=0)
    found = learner.learn(JointCurator(SecureSum(secure_parties(tables))))
    assert same_model(found, learner.learn(pooled(tables)))


def test_without_noise_there_is_no_share_to_be_too_narrow():
    tables = dealt(3)
    answer = SecureSum(secure_parties(tables, "inf", "1e-6")).sum(LEAVES, Fraction(1), "leaves")
    exact = pooled(tables).noisy_counts(LEAVES, Fraction(1), "leaves")
    assert np.array_equal(answer.values, exact.values)
    assert answer.variance == 0


def test_many_labels_are_learned_together_too():
    table, domain = many_labels()
    tables = deal(table, np.arange(len(table)) % 3, 3)
    learner = ForestClassifier(domain, epsilon="inf")
    found = learner.learn(JointCurator(OpenSum(curators(tables, domain=domain))))
    assert same_model(found, learner.learn(pooled(tables, domain=domain)))


# -- within the budget -------------------------------------------------------------------------


def replayed(learner, tables, budget, seed, panel=OpenSum, domain=DOMAIN):
    """One run with frozen answers: each party's exchanges, and the forest."""
    parties = {
        name: replay_curator(open_table(t, domain), budget, arbitrary_releases(10 * seed + i))
        for i, (name, t) in enumerate(tables.items())
    }
    if panel is SecureSum:
        keys = keyring(tables)
        asked = {n: LocalParty(c, keys[n]) for n, c in parties.items()}
    else:
        asked = parties
    forest = learner.learn(JointCurator(panel(asked)))
    return forest, {name: c._source.exchanges for name, c in parties.items()}


def losses(learner, tables, budget, seed, panel=OpenSum, domain=DOMAIN):
    """What every party loses when the first one has a record fewer."""
    first = next(iter(tables))
    fewer = tables | {first: tables[first].drop(index=tables[first].index[3])}
    runs = [replayed(learner, t, budget, seed, panel, domain) for t in (tables, fewer)]
    assert panel is SecureSum or runs[0][0] == runs[1][0]  # nothing public depends on the record
    found = {}
    for name in tables:
        a, b = (exchanges[name] for _, exchanges in runs)
        assert [(e.exact.shape, e.mechanism) for e in a] == [
            (e.exact.shape, e.mechanism) for e in b
        ]
        found[name] = sum(
            (loss_of(x, y, budget.unit) for x, y in zip(a, b, strict=True)), Fraction(0)
        )
    return found


@learners
@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("seed", range(2))
def test_every_party_stays_within_its_own_budget(make, delta, seed):
    budget = Budget.of(1, delta)
    found = losses(make(DOMAIN, epsilon=1, random_state=0), dealt(3), budget, seed)
    assert 0 < found["ada"] <= budget.total
    assert found["bo"] == found["cy"] == 0  # whose tables are the same


def test_a_budget_is_used_up_where_the_learner_asks_for_all_of_it():
    learner = RandomDecisionForestClassifier(DOMAIN, epsilon=1, random_state=0)
    assert losses(learner, dealt(3), Budget.of(1), 0)["ada"] > Fraction(999, 1000)


def test_many_labels_stay_within_the_budget():
    table, domain = many_labels(900)
    tables = deal(table, np.arange(len(table)) % 3, 3)
    found = losses(ForestClassifier(domain, epsilon=2), tables, Budget.of(2), 0, domain=domain)
    assert 0 < found["ada"] <= 2


@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_shares_under_masks_stay_within_the_budget_too(delta):
    """Frozen answers are hidden under new masks, so what is compared is each party's own loss."""
    budget = Budget.of("0.2", delta)
    learner = RandomDecisionForestClassifier(DOMAIN, n_trees=3, max_depth=2, random_state=0)
    found = losses(learner, dealt(3), budget, 0, SecureSum)
    assert Fraction(99, 100) * budget.total < found["ada"] <= budget.total


def test_a_kernel_that_undercharges_is_refused_and_would_be_caught(monkeypatch):
    class OneTree(LeafCounts):
        l1 = l2_squared = 1

    class Undercharging(RandomDecisionForestClassifier):
        def learn(self, curator):
            curator.noisy_counts(OneTree(TREES, DOMAIN), curator.remaining_share, "leaves")

    with pytest.raises(MergeError, match="none of frith's questions"):
        losses(Undercharging(), dealt(3), Budget.of(1), 0)
    monkeypatch.setattr("frith.curator.curator.check_question", lambda *args: None)
    assert losses(Undercharging(), dealt(3), Budget.of(1), 0)["ada"] > 2


# -- noise -------------------------------------------------------------------------------------


def noise_of(panel, tables, share=Fraction(1)):
    exact = pooled(tables).noisy_counts(LEAVES, Fraction(1), "leaves").values
    answer = panel.sum(LEAVES, share, "leaves")
    return (answer.values - exact).ravel(), answer.variance


def test_an_open_sum_has_the_noise_of_every_party():
    tables, single = dealt(3), DiscreteLaplace(HALF, 3)
    _, variance = noise_of(OpenSum(curators(tables, "0.5")), tables)
    assert variance == pytest.approx(3 * single.variance)


@pytest.mark.parametrize(("parties", "colluders"), [(2, 1), (3, 1), (4, 2), (5, 1)])
def test_a_secure_sum_has_m_over_m_minus_t_times_the_central_variance(parties, colluders):
    tables = dealt(parties)
    honest = parties - colluders
    for delta, central in ((0, DiscreteLaplace(HALF, 3)), ("1e-6", None)):
        secure = secure_parties(tables, "0.5", delta)
        if central is None:
            central = DiscreteGaussian(secure["ada"].budget.total, 3)
        _, variance = noise_of(SecureSum(secure, colluders=colluders), tables)
        assert variance == pytest.approx(parties / honest * central.variance)


def test_the_noise_of_a_secure_sum_follows_its_law():
    """With t = m - 1 every party adds full noise: the sum of two is the law convolved with itself;
    the noise of one alone, or of a curator at a quarter less, is rejected."""
    tables = dealt(2)
    noise = np.concatenate(
        [noise_of(SecureSum(secure_parties(tables, 3)), tables)[0] for _ in range(300)]
    )
    single = DiscreteLaplace(Fraction(3), 3)
    grid = np.arange(-60, 61)
    law = np.log(np.convolve(np.exp(single.log_law(grid)), np.exp(single.log_law(grid))))
    assert fits_law(noise, lambda k: law[np.asarray(k) + 120])
    assert not fits_law(noise, single.log_law)


def test_with_two_parties_nothing_is_gained_and_it_says_so():
    tables = dealt(2)
    secure, open_ = SecureSum(secure_parties(tables, 1)), OpenSum(curators(tables, 1))
    assert noise_of(secure, tables)[1] == pytest.approx(noise_of(open_, tables)[1])
    assert secure.gain == 1
    assert "nothing is gained" in secure.describe()
    more = SecureSum(secure_parties(dealt(5), 1), colluders=2)
    assert more.gain == 3
    assert "5/3 of the variance" in more.describe()
    assert "3 times less" in more.describe()
    assert "nothing is gained" not in more.describe()


def test_gaussian_shares_that_would_be_too_narrow_are_refused_and_cost_nothing():
    parties = secure_parties(dealt(3), 50, "1e-6")
    with pytest.raises(MergeError, match="nothing is spent: .*full noise at every party"):
        SecureSum(parties).sum(LEAVES, Fraction(1), "leaves")
    assert all(p.remaining_share == 1 for p in parties.values())


def test_a_wide_pure_noise_is_refused_and_costs_nothing_but_a_delta_helps():
    tables = dealt(3)
    parties = secure_parties(tables, 1)
    with pytest.raises(
        MergeError, match="nothing is spent: .*too wide to be drawn in exact shares"
    ):
        train_together(ForestClassifier(DOMAIN, epsilon=1), SecureSum(parties))
    assert all(p.remaining_share == 1 for p in parties.values())
    learner = ForestClassifier(DOMAIN, epsilon=1, delta="1e-6")
    forest = train_together(learner, SecureSum(secure_parties(tables, 1, "1e-6"))).forest_
    assert forest.guarantee.holds


# -- parties that fail -------------------------------------------------------------------------


class Failing(Curator):
    """Answers some questions and then no more."""

    answers_left = asked = 0

    def noisy_counts(self, kernel, share, purpose):
        self.asked += 1
        if self.answers_left == 0:
            raise SourceError("the disk is full")
        self.answers_left -= 1
        return super().noisy_counts(kernel, share, purpose)


class Malformed(Curator):
    def noisy_counts(self, kernel, share, purpose):
        answer = super().noisy_counts(kernel, share, purpose)
        return Release(answer.values[:-1], answer.variance)


def with_party(name, kind, epsilon=1, **kwargs):
    tables = dealt(3)
    made = curators(tables, epsilon)
    made[name] = kind(open_table(tables[name], DOMAIN), Budget.of(epsilon))
    for key, value in kwargs.items():
        setattr(made[name], key, value)
    return made, tables


def spent(name):
    made, tables = with_party(name, Curator)
    made[name].noisy_counts(RecordCount(), Fraction(1), "something else")
    return made, tables


FAILURES = {
    "cannot answer": (lambda: with_party("bo", Failing), "the disk is full"),
    "has spent its budget": (lambda: spent("bo"), "has epsilon 0 left"),
    "sends another shape": (lambda: with_party("bo", Malformed), "another shape"),
}
failures = pytest.mark.parametrize("case", FAILURES.values(), ids=FAILURES)


@failures
def test_a_party_that_fails_is_named(case):
    parties, words = case[0]()[0], case[1]
    learner = RandomDecisionForestClassifier(DOMAIN, epsilon=1, random_state=0)
    with pytest.raises(MergeError, match=f"^bo failed: .*{words}"):
        train_together(learner, OpenSum(parties))


@failures
def test_the_others_go_on_where_that_is_allowed(case):
    (parties, _), words = case[0](), case[1]
    panel = OpenSum(parties, allow_missing=True)
    learner = RandomDecisionForestClassifier(DOMAIN, epsilon=1, random_state=0)
    forest = train_together(learner, panel).forest_
    assert list(panel.failures) == ["bo"]
    assert words in panel.failures["bo"]
    assert [p.party for p in forest.guarantee.parties] == ["ada", "cy"]
    assert forest.guarantee.epsilon == 2
    one = DiscreteLaplace(Fraction(1), 10).variance
    assert forest.variance[forest.trees.leaves] == pytest.approx(2 * one)


def test_who_fails_on_the_way_stays_in_the_guarantee():
    """What it has answered is in the splits, so its share of the guarantee stays.

    With so little noise the tree always grows past its root, and asks a second time.
    """
    parties, _ = with_party("bo", Failing, epsilon=100, answers_left=1)
    panel = OpenSum(parties, allow_missing=True)
    forest = C45Classifier(DOMAIN, epsilon=100, max_depth=3).learn(JointCurator(panel))
    assert panel.failures == {"bo": "the disk is full"}
    assert [p.party for p in forest.guarantee.parties] == ["ada", "bo", "cy"]
    assert forest.guarantee.epsilon == 300


def test_who_has_failed_is_not_asked_again():
    parties, _ = with_party("bo", Failing)
    made = dict(parties)
    panel = OpenSum(parties, allow_missing=True)
    for _ in range(3):
        panel.sum(LEAVES, Fraction(1, 4), "leaves")
    assert made["bo"].asked == 1
    assert [made[n].remaining_share for n in ("ada", "cy")] == [Fraction(1, 4)] * 2


def test_nobody_left_is_an_error():
    tables = dealt(2)
    made = {n: Failing(open_table(t, DOMAIN), Budget.of(1)) for n, t in tables.items()}
    with pytest.raises(MergeError, match="no party answered: .*ada.*disk.*bo.*disk"):
        OpenSum(made, allow_missing=True).sum(LEAVES, Fraction(1), "leaves")


def test_a_failed_round_is_spent_for_all_who_answered(tmp_path):
    """Nothing is given back, and another attempt needs a budget of its own."""
    tables = dealt(3)
    keys = keyring(tables)

    class Down(LocalParty):
        def masked_answer(self, *question):
            raise OSError("no route to host")

    made = {}
    for name, table in tables.items():
        Ledger.create(tmp_path / name, epsilon=1)
        curator = Curator(
            open_table(table, DOMAIN), Budget.of(HALF), ledger=Ledger(tmp_path / name)
        )
        made[name] = (Down if name == "cy" else LocalParty)(curator, keys[name])
    secure = SecureSum(made)
    with pytest.raises(MergeError, match="cy failed: no route to host; this round counts as spent"):
        secure.sum(LEAVES, Fraction(1), "leaves")
    assert [made[n].remaining_share for n in made] == [0, 0, 1]
    assert [Ledger(tmp_path / n).spent for n in made] == [HALF, HALF, 0]
    with pytest.raises(MergeError, match="ada failed: .*epsilon 0 left"):
        secure.sum(LEAVES, Fraction(1), "leaves")


def test_every_question_has_a_round_of_its_own_and_none_is_answered_twice():
    rounds = []

    class Noting(LocalParty):
        def masked_answer(self, kernel, share, purpose, round):
            rounds.append(round)
            return super().masked_answer(kernel, share, purpose, round)

    tables = dealt(2)
    keys = keyring(tables)
    made = {n: Noting(c, keys[n]) for n, c in curators(tables, 1).items()}
    secure = SecureSum(made)
    for _ in range(2):
        secure.sum(LEAVES, Fraction(1, 4), "leaves")
    SecureSum(made).sum(LEAVES, Fraction(1, 4), "leaves")
    assert len({r.describe() for r in rounds}) == 3
    before = made["ada"].remaining_share
    with pytest.raises(MergeError, match="answered before"):
        made["ada"].masked_answer(LEAVES, Fraction(1, 8), "leaves", rounds[0])
    assert made["ada"].remaining_share == before


def test_masks_are_bound_to_the_question_and_its_price():
    seen = []

    class Noting(LocalParty):
        def masked_answer(self, kernel, share, purpose, round):
            seen.append(round.about)
            return super().masked_answer(kernel, share, purpose, round)

    tables = dealt(2)
    keys = keyring(tables)
    secure = SecureSum({n: Noting(c, keys[n]) for n, c in curators(tables, 1).items()})
    other = LeafCounts(grow_random_trees(DOMAIN, 3, 2, np.random.default_rng(1)), DOMAIN)
    for kernel, share in ((LEAVES, "1/4"), (LEAVES, "1/8"), (other, "1/4"), (LEAVES, "1/4")):
        secure.sum(kernel, Fraction(share), "leaves")
    assert len(set(seen)) == 3
    assert seen[0] == seen[1] == seen[6]  # both parties, and the same question again


# -- who may learn together --------------------------------------------------------------------


def test_parties_must_agree_on_domain_and_kind_of_budget():
    made = curators(dealt(2), 1)
    other = curators(dealt(2), 1, domain=small_domain())["bo"]
    with pytest.raises(MergeError, match="bo declares another domain than ada"):
        OpenSum(made | {"bo": other})
    rho = curators(dealt(2), 1, "1e-6")["bo"]
    with pytest.raises(MergeError, match="bo asks for another kind of budget than ada"):
        OpenSum(made | {"bo": rho})
    with pytest.raises(MergeError, match="there is no party"):
        OpenSum({})


def test_a_secure_sum_needs_one_budget_and_two_parties():
    made = secure_parties(dealt(2), 1)
    keys = keyring(dealt(2))
    less = LocalParty(curators(dealt(2), "0.5")["bo"], keys["bo"])
    with pytest.raises(MergeError, match="same budget at every party"):
        SecureSum(made | {"bo": less})
    with pytest.raises(ValueError, match="fewer than all"):
        SecureSum(secure_parties(dealt(1), 1))
    with pytest.raises(ValueError, match="fewer than all"):
        SecureSum(made, colluders=2)


def test_each_party_of_an_open_sum_spends_a_budget_of_its_own():
    tables = dealt(2)
    made = curators(tables, 1) | {"bo": curators(tables, "0.25")["bo"]}
    learner = RandomDecisionForestClassifier(DOMAIN, n_trees=3, max_depth=2, random_state=0)
    forest = train_together(learner, OpenSum(made)).forest_
    assert [str(p) for p in forest.guarantee.parties] == ["ada: epsilon=1.0", "bo: epsilon=0.25"]
    expected = sum(DiscreteLaplace(Fraction(e), 3).variance for e in ("1", "0.25"))
    assert forest.variance[forest.trees.leaves] == pytest.approx(expected)


def test_the_papers_own_forms_are_refused():
    for name in ("gini", "c45"):
        learner = BY_NAME[name](DOMAIN, epsilon=1, as_published=True)
        with pytest.raises(MergeError, match="no guarantee"):
            train_together(learner, OpenSum(curators(dealt(2), 1)))


# -- the guarantee -----------------------------------------------------------------------------


@pytest.mark.parametrize("disjoint", [False, True])
def test_the_guarantee_lists_every_party_and_composes_as_declared(disjoint):
    tables = dealt(3)
    learner = RandomDecisionForestClassifier(DOMAIN, epsilon=1, random_state=0)
    for panel in (OpenSum(curators(tables, 1), disjoint=disjoint),
                  SecureSum(secure_parties(tables, 1), disjoint=disjoint)):  # fmt: skip
        guarantee = train_together(learner, panel).forest_.guarantee
        assert guarantee.epsilon == (1 if disjoint else 3)
        assert [p.party for p in guarantee.parties] == ["ada", "bo", "cy"]
        assert (DISJOINT in guarantee.assumptions) == disjoint
        assert RECORDS_ARE_PUBLIC in guarantee.assumptions  # the height was chosen by it


def test_a_secure_sum_states_whom_it_trusts():
    panel = SecureSum(secure_parties(dealt(4), 1), colluders=2)
    assert (
        "at most 2 of the 4 parties put together what they know, and all follow the protocol"
        in panel.guarantee.assumptions
    )


@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_every_party_that_answers_under_masks_states_whom_it_trusts(delta):
    """Its own epsilon holds for the sum, and only if the others keep to the protocol."""
    text = "at most 1 of the 3 parties put together what they know, and all follow the protocol"
    parties = secure_parties(dealt(3), 1, delta)
    panel = SecureSum(parties)
    assert not any(text in p.guarantee.assumptions for p in parties.values())
    panel.sum(LEAVES, Fraction(1), "leaves")
    for guarantee in [p.guarantee for p in parties.values()] + [panel.guarantee]:
        assert guarantee.assumptions.count(text) == 1
    assert all(text in p.curator.guarantee.assumptions for p in parties.values())


def test_an_undeclared_number_of_records_is_asked_and_paid_for():
    domain = small_domain()
    made = curators(dealt(2), 1, domain=domain)
    forest = train_together(
        RandomDecisionForestClassifier(domain, epsilon=1, random_state=0), OpenSum(made)
    ).forest_
    assert [q.purpose for q in forest.guarantee.asked].count("number of records") == 2
    assert RECORDS_ARE_PUBLIC not in forest.guarantee.assumptions
    assert all(c.remaining_share == 0 for c in made.values())


def test_persons_are_protected_at_every_party():
    domain = person_domain(2)
    made = curators(dealt(2), 1, domain=domain)
    learner = RandomDecisionForestClassifier(domain, n_trees=3, max_depth=2, random_state=0)
    forest = train_together(learner, OpenSum(made)).forest_
    assert "person" in forest.guarantee.neighbors
    expected = 2 * DiscreteLaplace(Fraction(1), 6).variance
    assert forest.variance[forest.trees.leaves] == pytest.approx(expected)
    secure = secure_parties(dealt(3), 1, domain=domain)
    answer = SecureSum(secure).sum(LeafCounts(TREES, domain), Fraction(1), "leaves")
    assert answer.variance == pytest.approx(3 / 2 * DiscreteLaplace(Fraction(1), 6).variance)
