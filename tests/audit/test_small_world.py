"""Small world: paths and their probabilities, closed forms against loops, and every learner."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from frith.audit.frozen import Exchange, arbitrary_releases, constant_releases
from frith.audit.laws import log_law, log_probability, n_options
from frith.audit.loss import delta_of
from frith.audit.sizes import QUICK
from frith.audit.small_world import (
    Compared,
    Worst,
    all_paths,
    as_frame,
    audit_small_world,
    neighbors_of,
    small_domain,
    small_tables,
)
from frith.privacy.labeling import LabelingChoice
from frith.privacy.mechanisms import DiscreteGaussian, PrivateChoice, SignChoice
from tests.audit.subjects import BUDGETS, SMALL

TOO_LARGE = {
    "forest, sign steps",
    "forest, a strength",
    "forest, two levels of named labels",
    "forest, an interval",
    "forest, a partition",
    "forest, a partition and how many are right",
}
"""Their many paths are enumerated in the full-size run alone."""


@pytest.mark.parametrize("subject", SMALL.values(), ids=SMALL.keys())
@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS.keys())
def test_every_learner_passes(subject, budget):
    outcome = audit_small_world(subject, budget, QUICK)
    assert not outcome.failed, outcome.found
    if subject.name not in TOO_LARGE:
        assert outcome.status == "passed"


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS.keys())
def test_every_partition_with_every_labeling_is_enumerated_on_a_few_tables(budget):
    """Grids too: 102 paths with two labels, which is more than a quick run takes of most subjects."""
    few = replace(QUICK, tables=6, paths=102, runs=102)
    outcome = audit_small_world(SMALL["forest, a partition"], budget, few)
    assert outcome.status == "passed", outcome.found


@pytest.mark.parametrize("name", ["forest", "gini", "info-gain", "id3, max", "forest, tables"])
@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS.keys())
def test_the_probabilities_of_all_paths_add_up_to_one(name, budget):
    domain = small_domain(False, 2)
    subject = SMALL[name]
    for table in (((0,), (7,), (9,)), ()):
        engine = subject.open(as_frame(table, domain), domain)
        for invent in (arbitrary_releases(2), constant_releases(150)):
            paths = all_paths(subject, engine, budget, invent, 200)
            total = sum(
                math.exp(sum(log_probability(e, pick) for e, pick in _choices(p))) for p in paths
            )
            assert total == pytest.approx(1)
            assert len({p.script for p in paths}) == len(paths)


def _choices(path):
    chosen = [e for e in path.exchanges if hasattr(e.mechanism, "unit")]
    return zip(chosen, path.script, strict=True)


@pytest.mark.parametrize("unit", ["epsilon", "rho"])
def test_the_law_of_a_choice_is_that_of_its_mechanism(unit):
    choice = PrivateChoice(Fraction(1), 2, unit)
    scores = np.array([3, 3, 0, -9])
    assert np.exp(log_law(Exchange(scores, choice))) == pytest.approx(choice.law(scores))
    far = Exchange(np.array([0, -(10**6)]), choice)  # a probability that no float holds
    assert log_law(far)[1] < -(10**5)


@pytest.mark.parametrize("unit", ["epsilon", "rho"])
def test_the_law_of_signs_is_that_of_all_candidates(unit):
    choice, d = SignChoice(Fraction(1), 2, unit), np.array([[3, -2], [0, 1]])
    weights = np.array([0.0, 0.5])
    exchange = Exchange(d, choice, weights)
    scores = [
        weights[q] + (np.array(s) * d[q]).sum() / choice.scale
        for q in range(2)
        for s in itertools.product((-1, 0, 1), repeat=2)
    ]
    expected = np.exp(scores) / np.exp(scores).sum()
    assert np.exp(log_law(exchange)) == pytest.approx(expected, rel=1e-6)
    assert n_options(exchange) == len(expected)


@pytest.mark.parametrize("unit", ["epsilon", "rho"])
def test_the_law_of_labels_is_that_of_all_candidates(unit):
    choice = LabelingChoice(Fraction(1), 1, (1, 2, 1), unit)
    counts, weights = np.array([[3, 1], [2, 0], [1, 1], [0, 4]]), np.array([0.0, 0.5, -1.0])
    exchange = Exchange(counts, choice, weights)
    scores = [
        weights[p]
        + sum(counts[choice.rows_of(p)][v, k] for v, k in enumerate(labels)) / choice.scale
        for p, parts in enumerate(choice.parts)
        for labels in itertools.product((0, 1), repeat=parts)
    ]
    expected = np.exp(scores) / np.exp(scores).sum()
    assert np.exp(log_law(exchange)) == pytest.approx(expected, rel=1e-3)
    assert n_options(exchange) == len(expected)
    assert np.exp(log_law(exchange)).sum() == pytest.approx(1)


def test_delta_is_that_of_a_loop_over_all_noise():
    """Two counts move under Gaussian noise, and a choice of two has ratios of its own."""
    scale, epsilon = 2.0, 0.4
    noise = DiscreteGaussian(1 / (2 * Fraction(scale) ** 2), 1)
    log_p, log_q = np.log([0.6, 0.4]), np.log([0.5, 0.5])
    k = np.arange(-40, 41)
    law = np.exp(noise.log_law(k))
    total = 0.0
    for p, q in zip(np.exp(log_p), np.exp(log_q), strict=True):
        for i, j in itertools.product(range(len(k) - 1), repeat=2):
            one, other = p * law[i + 1] * law[j + 1], q * law[i] * law[j]
            total += max(0.0, one - math.exp(epsilon) * other)
    shifts = [[(scale, (1, 1))]] * 2
    found = delta_of(log_p, log_p - log_q, shifts, epsilon)
    assert total <= found <= total + 0.004  # rounded up, to a grid of 0.002


def test_small_tables_have_all_their_neighbors_among_them():
    for person in (False, True):
        domain = small_domain(person, 2)
        known = set(small_tables(domain, 20))
        pairs = [(t, less) for t in sorted(known) for less in neighbors_of(t, known)]
        assert () in known
        assert all(less in known and len(less) == len(t) - 1 for t, less in pairs)
        frame = as_frame(((0, 1), (0, 1)) if person else ((0,), (1,)), domain)
        assert len(frame) == (4 if person else 2)


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS.keys())
def test_a_loss_that_is_no_number_does_not_pass(budget):
    worst, nothing = Worst(budget), np.full(2, -np.inf)
    with np.errstate(invalid="ignore"):
        worst.add(Compared(nothing, nothing, np.zeros(2), [[], []]), "a table", "one less")
    assert worst.outcome(next(iter(SMALL.values()))).failed
