"""Slopes beside cuts: what distance from a chosen cut adds, and what it never changes."""

import numpy as np
import pytest

from frith import Categorical, Domain, ForestClassifier, Numeric
from frith.forest.trees import find_leaf
from frith.growing.boosting import plan, slope_share
from frith.growing.slopes import _HEIGHTS, slope_of
from frith.kernels.layout import Layout, mixed_cuts
from frith.kernels.splits import BinarySplit


def _layout(**number):
    attributes = [Numeric("x", 0, 1, **number), Categorical("c", ("a", "b", "c", "d"))]
    domain = Domain(attributes, Categorical("y", ("no", "yes")), records=300)
    return Layout(domain, mixed_cuts(domain))


def _by_code(layout, cut):
    """What the slope of a cut adds to each code of the number."""
    tree, heights = slope_of(layout, BinarySplit(0, cut))
    codes = np.arange(layout.domain.attributes[0].size, dtype=np.uint16)[:, None]
    places = [find_leaf(codes, i, tree.roots[0], tree.nodes, tree.sets) for i in range(len(codes))]
    return heights[places]


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("cells", [2, 3, 10, 1024])
def test_records_further_from_a_cut_lean_further_its_way(missing, cells):
    layout = _layout(missing=missing, cells=cells)
    for cut in layout.cuts[0][layout.cuts[0] < cells].tolist():
        added = _by_code(layout, cut)
        if missing:
            assert added[cells] == 0
        step = np.where(np.arange(cells) < cut, 1, -1)
        scores = step + added[:cells]
        assert np.all(np.diff(scores) <= 0)
        assert np.all(np.sign(scores) == step)
        assert len(np.unique(scores)) >= min(3, cells)


def test_splits_without_a_distance_have_no_slope():
    layout = _layout(missing=True, cells=64)
    members = np.array([True, False, True, False])
    for split in (BinarySplit(), BinarySplit(1, members=members), BinarySplit(0, cut=64)):
        assert slope_of(layout, split) is None


def test_a_single_step_ranks_records_and_keeps_its_two_labels():
    rng = np.random.default_rng(0)
    x = rng.random(4_000)[:, None]
    y = np.where(x[:, 0] > 0.5, "yes", "no")
    domain = Domain([Numeric("x", 0, 1)], Categorical("y", ("no", "yes")), records=4_000)
    model = ForestClassifier(domain, epsilon="1/50").fit(x, y)  # 80 records' worth of signal
    assert [q.purpose for q in model.forest_.guarantee.asked] == ["split of step 1"]
    rising = np.linspace(0, 1, 101)[:, None]
    proba = model.predict_proba(rising)[:, 1]
    assert len(np.unique(proba.round(9))) > 4
    assert np.all(np.diff(proba) >= -1e-12)
    assert np.abs(np.diff(model.predict(rising) == "yes")).sum() == 1


def test_a_step_that_noise_chose_says_little():
    sizes = [plan(room)[1] for room in (0, 0.3, 0.6, 1, 2)]
    assert sizes[0] > 0
    assert np.all(np.diff(sizes) >= 0)
    assert sizes[1] < 0.2 < 0.5 < sizes[2]
    assert sizes[-1] == 1


def test_slopes_together_turn_no_label():
    for room in np.arange(2.1, 12.6, 0.1):
        steps, size, has_cells = plan(room)
        assert not has_cells
        eta = size / np.sqrt(steps)
        others = eta * np.arange(1 - steps, steps, 2)  # what all steps but the first add up to
        least = np.abs(np.add.outer([-0.7, 0.7], others)).min()
        sizes = 0.7 + eta * (steps - 1)
        assert slope_share(0.7, eta, steps) * np.abs(_HEIGHTS).max() * sizes < least
    assert slope_share(1.0, 1.0, 1) == 0.5
