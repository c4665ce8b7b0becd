"""Cuts that follow from the domain alone."""

import numpy as np
import pytest
from hypothesis import given

from frith import Categorical, Domain, Numeric
from frith.kernels.layout import Layout, equal_width_cuts, mixed_cuts
from tests import twins
from tests.strategies import domains, examples, numerics

LABEL = Categorical("label", ("0", "1"))
EVEN = 32  # the equal parts of mixed cuts


def cuts_of(*args, **kwargs):
    return mixed_cuts(Domain([Numeric("n", *args, **kwargs)], LABEL))[0].tolist()


def code_of(number, attribute):
    return twins.code_of(float(number), attribute)


@examples(150)
@given(numerics())
def test_mixed_cuts_part_any_grid(attribute):
    domain = Domain([attribute], LABEL)
    (cuts,) = mixed_cuts(domain)
    assert cuts.dtype == np.int32
    assert (np.diff(cuts) > 0).all()
    assert cuts.min() > 0
    assert cuts.max() < attribute.size
    assert (attribute.cells in cuts) == attribute.missing
    assert set(equal_width_cuts(domain, EVEN)[0]) <= set(cuts.tolist())
    lookup, _ = Layout(domain, (cuts,)).lookup
    assert np.array_equal(np.unique(lookup), np.arange(len(cuts) + 1))  # no bin without a code


@examples(80)
@given(numerics())
def test_more_parts_keep_the_cuts_of_fewer(attribute):
    domain = Domain([attribute], LABEL)
    (cuts,), (finer,) = mixed_cuts(domain), mixed_cuts(domain, 8 * EVEN)
    assert set(cuts.tolist()) <= set(finer.tolist())
    assert set(equal_width_cuts(domain, 8 * EVEN)[0].tolist()) <= set(finer.tolist())


def halving_points(low, high):
    """From each bound towards zero, or towards the bound that is next to it: ten halves."""
    center = min(max(0.0, low), high)
    return [center + (bound - center) / 2**k for bound in (low, high) for k in range(1, 11)]


@examples(80)
@given(numerics())
def test_mixed_cuts_halve_towards_zero_or_the_bound_next_to_it(attribute):
    """The first edge at or above a halving point is a cut, and the first one above zero."""
    cuts = cuts_of(attribute.low, attribute.high, attribute.scale, attribute.cells)
    edges, center = attribute.edges.tolist(), min(max(0.0, attribute.low), attribute.high)
    firsts = [
        *([e for e in edges if e >= x][:1] for x in halving_points(attribute.low, attribute.high)),
        [e for e in edges if e > center][:1],
    ]
    for first in firsts:
        for edge in first:
            assert code_of(edge, attribute) in cuts


@examples(40)
@given(domains())
def test_attributes_that_are_no_numbers_have_no_cuts(domain):
    cuts = mixed_cuts(domain)
    assert [len(c) > 0 for c in cuts] == [isinstance(a, Numeric) for a in domain.attributes]
    assert all(c.dtype == np.int32 for c in cuts)


HALVES = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512}


@pytest.mark.parametrize(
    ("low", "high", "halves"),
    [
        (0, 1024, HALVES),
        (5_000, 6_024, HALVES),  # zero is below: towards the lower bound
        (-1024, 0, {1024 - h for h in HALVES}),
        (-6_024, -5_000, {1024 - h for h in HALVES}),
        (-256, 768, {128, 192, 224, 240, 248, 252, 254, 255, 256}  # from -256 up to 0, and
         | {640, 448, 352, 304, 280, 268, 262, 259, 258, 257}),  # from 768 down
    ],
)  # fmt: skip
def test_mixed_cuts_of_a_plain_grid(low, high, halves):
    """Cells of width one, so that a cut is a number less the lower bound."""
    even = set(range(1024 // EVEN, 1024, 1024 // EVEN))
    assert set(cuts_of(low, high, cells=1024)) == even | halves
    assert set(cuts_of(low, high, cells=1024, missing=True)) == even | halves | {1024}


def test_the_first_cell_above_zero_is_apart():
    """Also on a grid that is finer than the halves; zero is the least number of code 4096 here."""
    cuts = cuts_of(-4_096, 28_672, cells=2**15)
    assert [c for c in cuts if 4_088 < c < 4_124] == [4_092, 4_096, 4_097]


@pytest.mark.parametrize("cells", [2, 3, EVEN - 1, EVEN, EVEN + 1])
def test_small_grids_are_cut_into_all_their_cells(cells):
    cuts = cuts_of(0, 1, cells=cells)
    assert len(cuts) >= min(cells, EVEN) - 1
    if cells <= EVEN:
        assert cuts == list(range(1, cells))


@pytest.mark.parametrize("scale", ["linear", "log"])
@pytest.mark.parametrize(
    ("low", "high"), [(1, 2), (-2, -1), (1e-300, 1e300), (-8e307, 8e307), (-1e-9, 1e9), (1, 1e308)]
)
def test_bounds_of_any_size_are_cut(low, high, scale):
    cuts = cuts_of(low, high, scale, cells=64, missing=True)
    assert cuts == sorted(set(cuts))
    assert cuts[0] > 0
    assert cuts[-1] == 64
    assert len(cuts) >= EVEN
