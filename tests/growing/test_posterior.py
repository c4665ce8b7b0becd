"""Cell values where the answer is known: without noise, with nothing else, and turned around."""

from itertools import chain, combinations, pairwise, product
from math import exp, log, pi, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frith.growing import posterior
from frith.growing.posterior import (
    _INTERACTIONS,
    _LARGEST,
    _VARIANCES,
    _shape,
    alike_by_answer,
)
from tests.strategies import examples


def cell_values(gradient, curvature, variance, signs, start=None):
    likeness = alike_by_answer(signs)
    return posterior.cell_values(gradient, curvature, variance, likeness, start)[0]


def cube(questions):
    return np.array(list(product([1, -1], repeat=questions))).reshape(2**questions, questions)


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def some_cells(seed, questions, records):
    """Signs, perhaps not of all cells, the score of each cell, its true log-odds and its sums."""
    rng = np.random.default_rng(seed)
    signs = rng.permutation(cube(questions))[: rng.integers(1, 2**questions + 1)]
    start, truth = rng.uniform(-1, 1, len(signs)), rng.uniform(-2, 2, len(signs))
    p = sigmoid(start)
    return signs, start, truth, records * (sigmoid(truth) - p), records * p * (1 - p)


cells = (st.integers(0, 10**6), st.integers(0, 4))


@examples(20)
@given(*cells, st.booleans())
def test_the_noise_of_values_is_that_of_their_slopes(seed, questions, has_start):
    """Against finite differences; the prior, which the sums choose too, is held."""
    signs, start, _, gradient, curvature = some_cells(seed, questions, 1_000)
    given_ = start if has_start else None
    likeness = alike_by_answer(signs)
    values, noise = posterior.cell_values(gradient, curvature, 50.0, likeness, given_)
    slopes = []
    with pytest.MonkeyPatch.context() as patch:
        prior = posterior._averaged_prior(gradient, curvature, 50.0, likeness)
        patch.setattr(posterior, "_averaged_prior", lambda *sums: prior)
        for step in np.eye(len(signs)):
            moved = [
                cell_values(gradient + s * step, curvature, 50.0, signs, given_)
                for s in (-1e-3, 1e-3)
            ]
            slopes.append((moved[1] - moved[0]) / 2e-3)
    inside = np.abs(values) < 0.99 * _LARGEST
    expected = 50 * (np.array(slopes) ** 2).sum(axis=0)
    assert noise[inside] == pytest.approx(expected[inside], rel=0.05)


# -- limits ----------------------------------------------------------------------------------------


@examples(20)
@given(*cells, st.booleans())
def test_huge_noise_leaves_nothing(seed, questions, has_start):
    signs, start, _, gradient, curvature = some_cells(seed, questions, 1_000)
    values = cell_values(gradient, curvature, 1e12, signs, start if has_start else None)
    assert np.abs(values).max() < 1e-3


@examples(20)
@given(*cells)
def test_without_noise_many_records_give_the_log_odds(seed, questions):
    signs, start, truth, gradient, curvature = some_cells(seed, questions, 10**7)
    values = cell_values(gradient, curvature, 0.0, signs, start)
    assert np.abs(start + values - truth).max() < 0.01


@examples(20)
@given(*cells)
def test_without_noise_many_records_give_one_newton_step_where_scores_differ(seed, questions):
    signs, _, _, gradient, curvature = some_cells(seed, questions, 10**7)
    values = cell_values(gradient, curvature, 0.0, signs)
    assert np.allclose(values, np.clip(gradient / curvature, -_LARGEST, _LARGEST), atol=0.01)


def test_more_records_and_less_noise_bring_values_nearer():
    signs, start, truth = cube(2), np.zeros(4), np.array([0.5, -1.0, 1.5, 0.2])
    errors = []
    for records in (10, 100, 1_000, 10_000, 10**6):
        gradient = records * (sigmoid(truth) - 0.5)
        values = cell_values(gradient, np.full(4, records / 4), 100.0, signs, start)
        errors.append(np.abs(values - truth).max())
    assert all(later < earlier for earlier, later in pairwise(errors))


# -- symmetry and edges ----------------------------------------------------------------------------


@examples(30)
@given(*cells, st.sampled_from([0.0, 1.0, 1e3, 1e6]), st.booleans())
def test_values_turn_with_the_labels(seed, questions, variance, has_start):
    signs, start, _, gradient, curvature = some_cells(seed, questions, 300)
    noise = np.random.default_rng(seed).normal(0, np.sqrt(variance), len(gradient))
    gradient = gradient + noise
    given_, turned = (start, -start) if has_start else (None, None)
    values = cell_values(gradient, curvature, variance, signs, given_)
    assert np.isfinite(values).all()
    assert np.allclose(values, -cell_values(-gradient, curvature, variance, signs, turned))


@examples(30)
@given(*cells, st.permutations(range(4)))
def test_values_follow_their_cells_and_do_not_know_left_from_right(seed, questions, order):
    signs, start, _, gradient, curvature = some_cells(seed, questions, 300)
    values = cell_values(gradient, curvature, 50.0, signs, start)
    for same in (-signs, signs[:, [i for i in order if i < questions]]):
        assert np.allclose(values, cell_values(gradient, curvature, 50.0, same, start))
    back = cell_values(gradient[::-1], curvature[::-1], 50.0, signs[::-1], start[::-1])
    assert np.allclose(values, back[::-1])


@pytest.mark.parametrize("variance", [0.0, 1e-9, 1.0, 1e15])
@pytest.mark.parametrize("curvature", [1e-9, 0.5, 1e9])
@pytest.mark.parametrize("questions", [0, 1, 6])
@pytest.mark.parametrize("start", [None, -14.0, 0.0, 14.0])
def test_no_gradient_is_no_value(variance, curvature, questions, start):
    count = 2**questions
    start = None if start is None else np.full(count, start)
    values = cell_values(
        np.zeros(count), np.full(count, curvature), variance, cube(questions), start
    )
    assert values.shape == (count,)
    assert np.abs(values).max() < 1e-6  # and so no NaN


@examples(30)
@given(*cells, st.floats(1, 1e9), st.booleans())
def test_no_value_passes_the_largest(seed, questions, factor, has_start):
    """Noise may say more than any number of records could."""
    signs, start, _, gradient, curvature = some_cells(seed, questions, 300)
    values = cell_values(factor * gradient, curvature, 1.0, signs, start if has_start else None)
    assert np.abs(values).max() <= _LARGEST


# -- the prior -------------------------------------------------------------------------------------


def naive_covariance(one, other, v, r):
    """Every set of k answers has an effect of variance v r^(k-1); all cells share one of v / 2."""
    places = range(len(one))
    sets = chain.from_iterable(combinations(places, k) for k in range(1, len(one) + 1))
    return v / 2 + sum(v * r ** (len(s) - 1) * prod(one[i] * other[i] for i in s) for s in sets)


@examples(20)
@given(*cells, st.sampled_from(_VARIANCES), st.sampled_from(_INTERACTIONS))
def test_the_prior_is_a_sum_over_effects(seed, questions, v, r):
    signs = some_cells(seed, questions, 1)[0]
    naive = [[naive_covariance(a, b, v, r) for b in signs.tolist()] for a in signs.tolist()]
    assert np.allclose(v * _shape(alike_by_answer(signs), len(signs), r), naive)


@examples(30)
@given(st.floats(-50, 50), st.floats(0.1, 100), st.floats(0, 100))
def test_one_cell_of_no_question_is_worked_out_by_hand(gradient, curvature, variance):
    """The prior variances v / 2, each by the density it gives the gradient, then one division."""
    spread = {v: curvature**2 * v / 2 + curvature + variance for v in _VARIANCES}
    logs = {v: -(log(2 * pi * s) + gradient**2 / s) / 2 for v, s in spread.items()}
    density = {v: exp(x - max(logs.values())) for v, x in logs.items()}
    prior = sum(d * v / 2 for v, d in density.items()) / sum(density.values())
    expected = prior * curvature * gradient / (curvature**2 * prior + curvature + variance)
    values = cell_values(
        np.array([gradient]), np.array([curvature]), variance, np.zeros((1, 0), dtype=int)
    )
    assert values[0] == pytest.approx(max(-_LARGEST, min(_LARGEST, expected)), abs=1e-9)


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("has_start", [True, False])
def test_a_cell_without_records_follows_those_that_share_its_answers(side, has_start):
    signs = cube(3)
    curvature = np.full(8, 100.0)
    gradient = 60.0 * signs[:, 0]
    empty = int(np.flatnonzero(signs[:, 0] == side)[1])
    gradient[empty], curvature[empty] = 0.0, 1e-3
    values = cell_values(gradient, curvature, 4.0, signs, np.zeros(8) if has_start else None)
    assert side * values[empty] > 0.2
    assert np.array_equal(np.sign(values), signs[:, 0])
