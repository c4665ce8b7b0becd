"""What a rebuild would save is computed from what was asked, and said where it is true."""

import re
from dataclasses import replace
from fractions import Fraction

import pytest

from frith import RandomDecisionForestClassifier
from frith.parties import OpenSum, SecureSum, join, make_structure, merge, train_together
from frith.privacy import DiscreteGaussian, DiscreteLaplace
from frith.privacy.composition import rho_of
from frith.privacy.guarantee import DISJOINT, AnsweredQuestion, Guarantee
from frith.privacy.rebuilding import rebuild
from tests.parties.people import DOMAIN, curators, dealt, secure_parties
from tests.parties.test_merging import releases_of, vertical

STRUCTURE = make_structure(DOMAIN, n_trees=4, max_depth=2, random_state=0)
WORDS = (
    r"this is the noise of (\d+) releases: .* same epsilon would make it (\S+) times smaller, (\S+)"
)


def said(forest):
    return re.search(WORDS, forest.describe())


def updated(times, epsilon=1, delta=0, disjoint=False):
    model = RandomDecisionForestClassifier(
        DOMAIN, epsilon=epsilon, delta=delta, n_trees=4, max_depth=2, random_state=0
    )
    first, *others = dealt(times).values()
    attributes = list(DOMAIN.names)
    model.fit(first[attributes], first["good"])
    for table in others:
        model.update(table[attributes], table["good"], disjoint=disjoint)
    return model.forest_


@pytest.mark.parametrize(("disjoint", "total"), [(False, 4), (True, 1)])
def test_updates_say_how_much_smaller_the_noise_would_be(disjoint, total):
    forest = updated(4, disjoint=disjoint)
    now, after = (DiscreteLaplace(Fraction(e), 4).variance for e in (1, total))
    releases, gain, noise = said(forest).groups()
    assert releases == "4"
    assert float(gain) == pytest.approx((4 * now / after) ** 0.5, rel=0.01)
    assert float(noise) == pytest.approx(after**0.5, rel=1e-3)
    assert forest.variance[forest.trees.leaves] == pytest.approx(rebuild(forest.guarantee).variance)


def test_a_rebuild_as_described_has_that_noise():
    """Fitting once for the sum of the epsilons does what the sentence says."""
    noise = float(said(updated(4)).group(3))
    once = updated(1, epsilon=4)
    assert noise**2 == pytest.approx(once.variance[once.trees.leaves][0], rel=1e-3)
    assert said(once) is None


@pytest.mark.parametrize("disjoint", [False, True])
def test_gaussian_noise_is_compared_in_rho(disjoint):
    forest = updated(3, delta="1e-6", disjoint=disjoint)
    rho = rho_of(Fraction(1), Fraction(1, 10**6))
    now = DiscreteGaussian(rho, 4).variance
    after = DiscreteGaussian(rho if disjoint else 3 * rho, 4).variance
    assert float(said(forest).group(2)) == pytest.approx((3 * now / after) ** 0.5, rel=0.01)


def answered(mechanism, *scales, shares=(1, 1), purpose="leaves"):
    return tuple(
        AnsweredQuestion(purpose, mechanism, Fraction(share), 4, scale, 10)
        for scale, share in zip(scales, shares, strict=False)
    )


@pytest.mark.parametrize("disjoint", [False, True])
def test_gaussian_answers_of_different_scales_are_added_in_rho(disjoint):
    asked = answered("discrete Gaussian", 3.0, 5.0)
    found = rebuild(Guarantee(Fraction(1), assumptions=(DISJOINT,) * disjoint, asked=asked))
    first, second = (Fraction(4, 2 * s**2) for s in (3, 5))
    assert found.variance == pytest.approx(9 + 25)
    after = DiscreteGaussian(first if disjoint else first + second, 4).variance
    assert found.after == pytest.approx(after)


def test_laplace_answers_of_different_shares_are_as_good_as_the_smaller_share_of_all():
    asked = answered("discrete Laplace", 8.0, 16.0, shares=("1/2", "1/4"))
    found = rebuild(Guarantee(Fraction(3), asked=asked))
    assert found.after == pytest.approx(DiscreteLaplace(Fraction(3, 4), 4).variance)


def test_the_last_question_is_the_one_that_counts():
    number = answered("discrete Laplace", 8.0, purpose="number of records")
    asked = number + answered("discrete Laplace", 8.0, 8.0)
    assert rebuild(Guarantee(Fraction(1), asked=asked)).releases == 2
    assert rebuild(Guarantee(Fraction(1), asked=asked[1:] + number)) is None


def test_parties_with_different_budgets_are_added_up():
    tables = dealt(2)
    made = [*releases_of(STRUCTURE, {"ada": tables["ada"]}, "0.5"),
            *releases_of(STRUCTURE, {"bo": tables["bo"]}, 2)]  # fmt: skip
    found = rebuild(merge(STRUCTURE, made).guarantee)
    variances = [DiscreteLaplace(Fraction(e), 4).variance for e in ("0.5", "2", "2.5")]
    assert found.variance == pytest.approx(variances[0] + variances[1])
    assert found.after == pytest.approx(variances[2])


def test_a_forest_learned_together_says_so_too():
    learner = RandomDecisionForestClassifier(DOMAIN, epsilon=1, random_state=0)
    tables = dealt(3)
    forest = train_together(learner, OpenSum(curators(tables, 1), disjoint=True)).forest_
    assert said(forest).group(1) == "3"
    assert float(said(forest).group(2)) == pytest.approx(3**0.5, rel=0.01)
    secure = train_together(learner, SecureSum(secure_parties(tables, 1), disjoint=True)).forest_
    assert said(secure) is None  # there the noise was shared, not added up


def test_trees_side_by_side_are_no_sum():
    parts = {"ada": vertical(["color"], epsilon=1), "bo": vertical(["round"], epsilon=1)}
    parts = {n: replace(f, guarantee=parts["ada"].guarantee) for n, f in parts.items()}
    joined = join(parts)
    assert rebuild(joined.guarantee).releases == 2  # by what was asked alone, it could be one
    assert said(joined) is None


@pytest.mark.parametrize("epsilon", [1, "inf"])
def test_one_release_and_exact_counts_have_nothing_to_say(epsilon):
    assert said(updated(1, epsilon=epsilon)) is None
    assert said(updated(3, epsilon="inf")) is None
