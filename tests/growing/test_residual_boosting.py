"""What is asked after the steps: pairs of attributes, and the first tree once more, clipped widely."""

import numpy as np
import pandas as pd
import pytest

from frith import Categorical, Domain, ForestRegressor, Numeric
from frith.growing import residual_boosting
from frith.growing.residual_boosting import pairs_of
from frith.kernels.splits import BinarySplit

A, B, C = range(3)


def cuts(attribute, *places):
    return [BinarySplit(attribute, cut=place) for place in places]


def test_pairs_are_those_of_the_attributes_asked_most_often():
    asked = [*cuts(C, 1), *cuts(A, 5, 6, 7), BinarySplit(), *cuts(B, 2, 2, 3)]
    found = [[(s.attribute, s.cut) for s in pair] for pair in pairs_of(asked, 2)]
    assert found == [
        [(A, 5), (A, 6), (A, 7), (B, 2), (B, 3)],  # the same cut is asked once
        [(A, 5), (A, 6), (A, 7), (C, 1)],
    ]
    assert len(pairs_of(asked, 9)) == 3
    assert pairs_of(cuts(A, 1, 2), 4) == []


def test_few_splits_of_an_attribute_are_taken():
    groups = [BinarySplit(B, members=np.eye(6, dtype=bool)[i]) for i in range(6)]
    (pair,) = pairs_of([*cuts(A, *range(9)), *groups], 1)
    assert [s.attribute for s in pair] == [A] * 4 + [B] * 4


DOMAIN = Domain([Numeric("a", 0, 1), Numeric("b", 0, 1), Numeric("c", 0, 1)], Numeric("y", -4, 4))


def crossed(n=4_000):
    """Both attributes matter alone, and more so together."""
    table = pd.DataFrame(np.random.default_rng(0).uniform(size=(n, 3)), columns=list("abc"))
    above = (table[["a", "b"]] > 0.5).astype(float)
    return table.assign(y=above["a"] + above["b"] + 2 * above["a"] * above["b"] - 2)


def r2_of(table):
    model = ForestRegressor(DOMAIN, epsilon="inf").fit(table, notices=False)
    return model.score(table[["a", "b", "c"]], table["y"])


def test_pairs_find_what_attributes_do_together(monkeypatch):
    """Blocks of one step each see no two attributes at once; pairs do."""
    monkeypatch.setattr(residual_boosting, "_FIRST_BLOCK", 1)
    monkeypatch.setattr(residual_boosting, "_BLOCK", 1)
    monkeypatch.setattr(residual_boosting, "LIMIT_STEPS", 12)
    found = r2_of(crossed())
    monkeypatch.setattr(residual_boosting, "_PAIRS", 0)
    assert found > r2_of(crossed()) + 0.02


@pytest.mark.parametrize(("n", "pairs"), [(11_999, 0), (12_000, 4), (60_000, 8)])
def test_more_signal_buys_more_pairs(n, pairs):
    numbers = [Numeric(f"x{i}", 0, 1) for i in range(6)]
    domain = Domain(numbers, DOMAIN.label, records=n)
    table = pd.DataFrame(np.random.default_rng(0).uniform(size=(n, 6)), columns=domain.names)
    table["y"] = table.sum(axis=1) - 3  # so that every attribute is asked
    asked = ForestRegressor(domain, epsilon=1).fit(table, notices=False).forest_.guarantee.asked
    steps = sum(q.purpose == "split of a step" for q in asked)
    cells = sum(q.purpose.startswith("residuals in tree") for q in asked)
    assert cells == len(residual_boosting.blocks_of(steps)) + pairs + 1  # and the first tree again


def test_a_wide_last_look_undoes_what_clips_leave_out(monkeypatch):
    """Of an exponential law, clips at 1.5 standard deviations take more from above than from below."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.uniform(size=6_000), "y": rng.exponential(1, 6_000)})
    domain = Domain([Numeric("x", 0, 1)], Numeric("y", 0, 8))

    def off():
        model = ForestRegressor(domain, epsilon="inf").fit(table, notices=False)
        return abs(float(model.predict(table[["x"]]).mean()) - float(table["y"].mean()))

    wide = off()
    monkeypatch.setattr(residual_boosting, "_WIDE_CLIP", 1.5)  # as all others
    assert wide < 0.15
    assert off() > 1.3 * wide


@pytest.mark.parametrize("attributes", [1, 2, 3])
@pytest.mark.parametrize("loss", ["squared", "quantile"])
@pytest.mark.parametrize("n", [1_500, 3_000, 20_000])
def test_shares_add_up_whatever_is_asked_at_the_end(attributes, loss, n):
    numbers = DOMAIN.attributes[: attributes - 1]
    domain = Domain([Categorical("z", ("p", "q")), *numbers], DOMAIN.label, records=n)
    table = crossed(200).assign(z=["p", "q"] * 100)
    guarantee = ForestRegressor(domain, epsilon=1, loss=loss).fit(table).forest_.guarantee
    spent = sum(q.share for q in guarantee.asked)
    assert spent == 1
