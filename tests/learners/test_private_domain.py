"""A domain that is paid for: its bounds and values, its price, and what it never shows."""

import itertools
import math
import os
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import frith
from frith import Categorical, Domain, ForestClassifier, Ledger, Numeric, Ordered, Person
from frith.audit.events import lower_bound
from frith.audit.frozen import FrozenSource, arbitrary_releases
from frith.audit.replay import loss_of
from frith.curator.drafting import DraftingCurator
from frith.domain import Csv
from frith.domain.draft import OTHER
from frith.engines import open_table
from frith.engines.raw import RawTable
from frith.errors import BudgetExceeded, DataError, DomainError, OutsideWindow
from frith.forest.report import make_card
from frith.learners import private_domain
from frith.learners.private_domain import DraftPlan, _Drafting, draft_privately, magnitudes
from frith.privacy.budget import Budget
from frith.privacy.guarantee import Guarantee
from frith.privacy.neighbors import person_neighbors
from frith.privacy.thresholds import ThresholdedCounts

FULL = os.environ.get("FRITH_FULL") == "1"
RUNS = 1_500 if FULL else 110
COLUMNS = {
    "age": "number",
    "seen": "date",
    "job": "values",
    "town": ["a", "b", "c"],
    "ill": "values",
}


def people(n=4_000, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "seen": pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 1_500, n), "D"),
            "job": rng.choice(["cook", "nurse", "smith"], n, p=[0.5, 0.4, 0.1]),
            "town": rng.choice(["a", "b"], n),
            "ill": rng.choice([0, 1], n),
        }
    )


def draft(table, columns=COLUMNS, label="ill", epsilon=20, delta=1e-6, **more):
    return draft_privately(table, label, columns, epsilon=epsilon, delta=delta, **more)


# -- what comes out ----------------------------------------------------------------------------


def test_bounds_and_values_are_those_of_the_table():
    domain = draft(people(), epsilon=100)
    age, seen, job, town = domain.attributes
    assert 16 <= age.low <= 20 <= 86 <= age.high <= 99
    assert pd.Timestamp(seen.first) <= pd.Timestamp("2015-03-01")
    assert pd.Timestamp("2014-11-01") <= pd.Timestamp(seen.first)
    assert pd.Timestamp("2018-12-01") <= pd.Timestamp(seen.last) <= pd.Timestamp("2019-05-01")
    assert job == Categorical("job", ("cook", "nurse", "smith", OTHER), other=OTHER, missing=OTHER)
    assert town.values == ("a", "b", OTHER)  # c does not occur
    assert domain.label == Categorical("ill", (0, 1))
    assert abs(domain.records - 4_000) < 60
    assert not domain.learned


def test_a_forest_states_the_domain_and_its_own_price_together():
    table = people()
    domain = draft(table, epsilon="0.75", delta="1e-6", records=4_000)
    assert (domain.paid.epsilon, domain.paid.delta) == (Fraction(3, 4), Fraction("1e-6"))
    forest = ForestClassifier(domain, epsilon="0.5").fit(table).forest_
    assert forest.guarantee.epsilon == Fraction(5, 4)
    assert forest.guarantee.delta == Fraction("1e-6")
    both = frith.Forest.from_json(forest.to_json())
    assert both.guarantee == forest.guarantee
    assert both.domain.paid == domain.paid
    assert "paid for, and the guarantee includes its price: epsilon 0.75" in make_card(forest)


def test_a_price_survives_a_file_and_a_view(tmp_path):
    domain = draft(people(), person=None)
    for name in ("domain.toml", "domain.json"):
        domain.save(tmp_path / name)
        assert Domain.load(tmp_path / name) == domain
        assert Domain.load(tmp_path / name).paid == domain.paid
    assert domain.view(["age"]).paid == domain.paid
    assert any("paid for: epsilon=20" in fact for fact in domain.facts)


def test_a_number_to_predict_has_bounds_and_a_fine_grid():
    table = people().assign(pay=lambda t: 100.0 * t["age"])
    domain = draft(table, {"age": "number", "pay": "number"}, "pay", delta=0)
    assert domain.has_target
    assert 1_600 <= domain.label.low <= 2_000 <= 8_600 <= domain.label.high <= 9_900
    assert domain.label.cells == 2**15
    declared = Numeric("pay", 100, 20_000, scale="log")
    kept = draft(table, {"age": "number", "pay": declared}, "pay", delta=0)
    assert kept.label.to_json() == declared.to_json()


def test_declared_columns_cost_nothing_and_stay_as_they_are():
    ill = Categorical("ill", (0, 1))
    domain = draft(
        people(), {"age": "number", "job": Categorical("job", ("x",)), "ill": ill}, delta=0
    )
    assert domain.attributes[1] == Categorical("job", ("x",))
    assert domain.label == ill
    with pytest.raises(DomainError, match="costs nothing"):
        draft(people(), {"age": Numeric("age", 0, 99), "ill": [0, 1]}, delta=0)


def test_files_are_read_as_they_are_declared(tmp_path):
    table = people()
    table.to_csv(tmp_path / "table.csv", sep=";", decimal=",", index=False)
    table.to_parquet(tmp_path / "table.parquet")
    written = draft(tmp_path / "table.csv", csv=Csv(";", decimal=","), epsilon="inf")
    assert written.csv == Csv(";", decimal=",")
    stored = draft(tmp_path / "table.parquet", epsilon="inf")
    assert stored.attributes == written.attributes == draft(table, epsilon="inf").attributes
    assert stored.label == written.label


def test_without_noise_nothing_is_paid_and_the_domain_says_it_was_learned():
    domain = draft(people(), epsilon="inf")
    assert domain.learned
    assert domain.paid is None


def test_coverage_of_the_middle_98_percent():
    rng = np.random.default_rng(0)
    columns = {
        "normal": rng.normal(50, 3, 20_000),
        "skewed": rng.lognormal(8, 1.5, 20_000),
        "small": rng.normal(0, 1e-5, 20_000),
        "counts": rng.poisson(1.5, 20_000),
        "constant": np.full(20_000, 7),
    }
    table = pd.DataFrame(columns | {"y": rng.choice(["a", "b"], 20_000)})
    kinds = dict.fromkeys(columns, "number") | {"y": ["a", "b"]}
    domain = draft(table, kinds, "y", epsilon=10, delta=0, records=20_000)
    for attribute in domain.attributes:
        x = table[attribute.name].to_numpy()
        low, high = np.quantile(x, [0.01, 0.99])
        assert np.mean((x >= attribute.low) & (x <= attribute.high)) > 0.96
        assert attribute.high - attribute.low < 2.5 * max(high - low, 4)
    assert domain.attributes[1].scale == "log"


# -- what is refused, before anything is read ---------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "more", "words"),
    [
        ({"age": "number"}, {}, "label 'ill' has no kind"),
        (COLUMNS | {"age": "text"}, {}, "kind 'text'"),
        (COLUMNS | {"ill": "date"}, {}, "known are number or values"),
        (COLUMNS | {"age": Numeric("pay", 0, 1)}, {}, "named 'pay'"),
        (COLUMNS | {"age": 5}, {}, "a list, in order"),
        (COLUMNS | {"ill": Numeric("ill", 0, 1, missing=True)}, {}, "leave 'missing' out"),
        (COLUMNS | {"ill": Ordered("ill", (0, 1))}, {}, "the label is Categorical or Numeric"),
        (COLUMNS, {"delta": 0}, "need a delta"),
        ({"age": "number", "ill": [0, 1]}, {}, "leave it out"),
        (COLUMNS | {"name": "values"}, {}, "'name'"),
        (COLUMNS, {"epsilon": 0}, "positive"),
        (COLUMNS, {"epsilon": "1e-10", "delta": 0}, "1e-10"),
        (COLUMNS, {"person": Person("who", 2)}, "'who'"),
    ],
)
def test_what_was_declared_is_checked_before_a_record_is_read(columns, more, words, monkeypatch):
    monkeypatch.setattr(
        RawTable, "_encoded", property(lambda self: pytest.fail("records were read"))
    )
    monkeypatch.setattr(RawTable, "tally", lambda self, name: pytest.fail("records were read"))
    with pytest.raises((DomainError, DataError, ValueError, OutsideWindow), match=words):
        draft(people(50), columns, **more)


def test_a_budget_that_carries_no_bounds_is_refused():
    with pytest.raises(DomainError, match="too small to find bounds"):
        draft(people(200), {"age": "number", "ill": [0, 1]}, epsilon="0.01", delta=0, records=200)


def test_a_label_whose_values_nobody_may_see_is_refused():
    with pytest.raises(DomainError, match="no value of the label 'ill'"):
        draft(people(3), {"town": ["a"], "ill": "values"}, epsilon=1)


@pytest.mark.parametrize("rows", [0, 1])
def test_tables_of_hardly_any_records_are_no_exception(rows):
    columns = {"age": "number", "seen": "date", "town": ["a"], "ill": [0, 1]}
    domain = draft(people(5).head(rows), columns, epsilon=1_000, delta=0, records=10**6)
    assert domain.names == ("age", "seen", "town")


def test_no_value_of_a_record_raises():
    table = pa.table(
        {
            "age": pa.array(["x", None, "inf", "-inf", "nan", "1e400", "7"]),
            "seen": pa.array(["never", None, "2020-01-01", "9999-12-31", "", "1", "0001-01-01"]),
            "job": pa.array([b"\xff", None, b"", b"a" * 2_000_000, b"b", b"(other)", b"c"]),
            "ill": pa.array([1.5, None, math.inf, math.nan, -0.0, 0.0, 1e300]),
        }
    )
    columns = {"age": "number", "seen": "date", "job": "values", "ill": "values"}
    domain = draft(table, columns, epsilon="inf")
    assert "(other)" in domain.attributes[2].values
    draft(table, columns | {"ill": "number"}, epsilon=1_000, records=10**6)


NUMBERS = [math.inf, -math.inf, math.nan, -0.0, 0.0, 1, 2.5, 2**60, 1e300, True]
DECIMALS = [Decimal("1e400"), Decimal("1.50"), Decimal("NaN")]
TEXTS = ["inf", "Infinity", "nan", "1e999", "1", "true", "", b"inf"]
CELLS = [*NUMBERS, *DECIMALS, *TEXTS, None, pd.Timestamp(0)]


@pytest.mark.parametrize("other", ["x", True, 2**60, Decimal("0.5"), 1.5, None, b"y"], ids=repr)
def test_no_record_changes_how_the_cells_of_others_are_counted(other):
    """One text makes texts of all numbers of a column."""
    for cell in CELLS:
        counts = [tally_of([cell] * 3 + more) for more in ([], [other])]
        moved = {v: counts[1][v] - counts[0][v] for v in {*counts[0], *counts[1]}}
        assert sum(map(abs, moved.values())) <= 1, (cell, other)


def tally_of(cells):
    table = pd.DataFrame({"job": pd.Series(cells, dtype=object), "ill": 0})
    return curator_of(table, columns={"job": "values", "ill": [0, 1]})._engine.tally("job")


# -- the price -----------------------------------------------------------------------------------


def test_a_draft_is_charged_once_and_before_it_reads(tmp_path):
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=3)
    columns = COLUMNS | {"job": ["cook"], "ill": [0, 1]}
    domain = draft(people(), columns, epsilon=2, delta=0, ledger=tmp_path / "budget.db")
    assert (ledger.spent, domain.paid.epsilon) == (2, 2)
    with pytest.raises(BudgetExceeded):
        draft(people(), columns, epsilon=2, delta=0, ledger=tmp_path / "budget.db")
    with frith.budget(epsilon=4) as left:
        draft(people(), columns, epsilon=3, delta=0)
    assert left.spent == 3


def test_a_delta_has_no_price_in_a_ledger(tmp_path):
    Ledger.create(tmp_path / "budget.db", epsilon=30, delta=1e-5)
    with pytest.raises(ValueError, match="without a ledger"):
        draft(people(50), ledger=tmp_path / "budget.db")


def test_drafts_and_fits_add_up_once_in_what_a_process_spends(monkeypatch):
    from frith.learners import spending

    monkeypatch.setattr(spending, "_sums", {})
    table = people()
    domain = draft(table, COLUMNS | {"job": ["cook"], "ill": [0, 1]}, epsilon="0.5", delta=0)
    model = ForestClassifier(domain, epsilon=1).fit(table)
    assert "all 2 fits of this process together: epsilon=1.5" in model.describe()


def test_a_draft_adds_to_disjoint_fits(monkeypatch):
    from frith.learners import spending

    monkeypatch.setattr(spending, "_sums", {})
    table = people()
    domain = draft(table, COLUMNS | {"job": ["cook"], "ill": [0, 1]}, epsilon="0.5", delta=0)
    for half in (table[:2_000], table[2_000:]):
        model = ForestClassifier(domain, epsilon=1).fit(half, notices=False, disjoint=True)
    assert "all 3 fits of this process together: epsilon=1.5" in model.describe()


def test_a_draft_that_is_refused_after_its_charge_is_counted(monkeypatch):
    from frith.learners import spending

    monkeypatch.setattr(spending, "_sums", {})
    with pytest.raises(DomainError, match="no value of the label"):
        draft(people(3), {"town": ["a"], "ill": "values"}, epsilon=1)
    (total,) = spending._sums.values()
    assert (total.drafts_epsilon, total.drafts_delta) == (1, Fraction("1e-6"))
    with pytest.raises(BudgetExceeded), frith.budget(epsilon="0.1"):
        draft(people(50), {"town": ["a"], "ill": [0, 1]}, epsilon=1, delta=0)
    assert total.drafts_epsilon == 1, "nothing was asked"


def test_shares_add_up_to_the_budget_and_deltas_to_delta():
    curator = curator_of(people())
    drafting = _Drafting(plan_of(), curator)
    drafting.domain()
    claim = curator.guarantee
    assert sum(q.share for q in claim.asked) == 1
    assert (claim.epsilon, claim.delta) == (20, Fraction("1e-6"))
    assert [q.mechanism for q in claim.asked].count("thresholded counts") == 2
    with pytest.raises(BudgetExceeded):
        curator.frequent_values("job", Fraction(1, 100), Fraction(1, 2), "once more")
    assert next(q for q in claim.asked if q.purpose == "values of job").cells == 3  # those shown


def plan_of(columns=COLUMNS, label="ill", epsilon=20, delta=1e-6, records=None, person=None):
    return DraftPlan(label, dict(columns), Budget.of(epsilon, delta), records, person, None)


def curator_of(table, source=None, **more):
    plan = plan_of(**more)
    raw = RawTable(open_table(table, plan.source, threads=1), plan.asked, plan.grids, 1)
    delta = plan.budget.delta
    return DraftingCurator(raw, plan.budget.epsilon, delta, source=source)


# -- neighbors -----------------------------------------------------------------------------------


def exchanges_of(table, columns, person):
    source = FrozenSource(arbitrary_releases(3))
    plan = plan_of(columns, delta=0, records=10**4, person=person)
    curator = curator_of(table, source, columns=columns, delta=0, records=10**4, person=person)
    made = _Drafting(plan, curator).domain()
    return source.exchanges, made.attributes


@pytest.mark.parametrize("person", [None, Person("who", 2)])
def test_replayed_on_neighbors_a_draft_stays_within_its_budget(person):
    """With releases frozen, both runs ask the same, and what differs adds up to at most epsilon."""
    columns = {"age": "number", "seen": "date", "town": ["a", "b", "c"], "ill": [0, 1]}
    rng = np.random.default_rng(5)
    largest = 0
    for seed in range(8):
        table = people(12, seed).assign(who=rng.integers(0, 4, 12).astype(str))
        gone = table["who"] == "0" if person else np.arange(12) == 3
        (one, drafted), (other, same) = (
            exchanges_of(t, columns, person) for t in (table, table[~gone])
        )
        assert drafted == same
        assert [e.mechanism for e in one] == [e.mechanism for e in other]
        loss = sum(loss_of(a, b, "epsilon") for a, b in zip(one, other, strict=True))
        assert loss <= 20
        largest = max(largest, loss)
    assert largest > 5  # it sees the records


def drafted_often(table, runs):
    """What an analyst sees of many drafts of one table, as numbers."""
    columns = {"job": "values", "ill": [0, 1]} | ({"age": "number", "town": ["a"]} if FULL else {})
    rows = []
    for _ in range(runs):
        job, *others = draft(table, columns, epsilon=1, records=10**6).attributes
        bounds = [x for a in others[:1] for x in (a.low, a.high)]
        rows.append([job.size, "spy" in job.values, *bounds, *(a.size for a in others[1:])])
    return np.array(rows, dtype=float)


@pytest.mark.parametrize("is_sound", [True, False] if FULL else [False])
def test_a_black_box_finds_no_more_than_epsilon_and_finds_a_flaw(is_sound, monkeypatch):
    """One record more, unlike all others; the flaw shows every value that occurs."""
    if not is_sound:
        monkeypatch.setattr(ThresholdedCounts, "threshold", property(lambda self: -(10**9)))
    table = people(60).assign(job="cook")
    spy = pd.DataFrame([{"age": 90, "seen": pd.NaT, "job": "spy", "town": "b", "ill": 1}])
    sides = (drafted_often(t, RUNS) for t in (table, pd.concat([table, spy])))
    bound = lower_bound(*sides, 1e-6, 1 - 1e-6)
    assert (bound.epsilon <= 1) == is_sound, bound


def test_a_value_of_one_record_is_never_counted_as_frequent():
    """The chance is at most delta, here 1e-12 for each of the draws."""
    table = people(3_000).assign(job=["cook"] * 2_999 + ["spy"])
    for _ in range(20):
        domain = draft(table, {"job": "values", "ill": [0, 1]}, epsilon=1, delta=1e-12)
        assert domain.attributes[0].values == ("cook", OTHER)


def test_persons_are_bounded_by_their_raw_records_in_any_order():
    """Removing one person changes nobody else's records, and a person has at most two of them."""
    rng = np.random.default_rng(2)
    table = pd.DataFrame(
        {
            "who": rng.integers(0, 30, 300).astype(str),
            "job": rng.integers(0, 100, 300).astype(str),
            "ill": rng.choice(["a", "b"], 300),
        }
    )
    more = {"columns": {"job": "values", "ill": ["a", "b"]}, "person": Person("who", 2)}

    def tally(rows):
        return curator_of(rows, **more)._table.tally("job")

    whole = tally(table)
    assert whole.total() == 60
    assert tally(table.sample(frac=1, random_state=1)) == whole
    for who in ("3", "7", "29"):
        gone = whole - tally(table[table["who"] != who])
        assert gone.total() == 2
        assert not tally(table[table["who"] != who]) - whole
    assert tally(table.assign(who=None)).total() == 0


def test_a_person_costs_all_of_their_records():
    columns = COLUMNS | {"ill": [0, 1]}
    domain = draft(people().assign(who="x"), columns, person=Person("who", 3), records=10**6)
    assert domain.paid.neighbors == person_neighbors(3)
    curator = curator_of(people().assign(who="x"), person=Person("who", 3), records=10**6)
    curator.frequent_values("job", Fraction(1, 2), Fraction(1, 2), "jobs")
    assert curator.guarantee.asked[0].sensitivity == 3


# -- domains that say they were paid for ----------------------------------------------------------


@pytest.mark.parametrize(
    "paid",
    [
        {"epsilon": "1"},
        {
            "epsilon": "1",
            "delta": "0",
            "neighbors": "one record added or removed",
            "assumptions": "x",
        },
        {
            "epsilon": "1",
            "delta": "0",
            "neighbors": "one record added or removed",
            "assumptions": [1],
        },
        {
            "epsilon": "inf",
            "delta": "0",
            "neighbors": "one record added or removed",
            "assumptions": [],
        },
        {
            "epsilon": "-1",
            "delta": "0",
            "neighbors": "one record added or removed",
            "assumptions": [],
        },
        {
            "epsilon": "1",
            "delta": "1",
            "neighbors": "one record added or removed",
            "assumptions": [],
        },
        {
            "epsilon": "x",
            "delta": "0",
            "neighbors": "one record added or removed",
            "assumptions": [],
        },
        {"epsilon": "1", "delta": "0", "neighbors": person_neighbors(2), "assumptions": []},
        "free",
    ],
)
def test_a_price_is_read_strictly(paid):
    domain = Domain([Numeric("a", 0, 1)], Categorical("b", (0, 1)))
    with pytest.raises(frith.FrithError):
        Domain.from_json(domain.to_json() | {"paid": paid})


def test_a_price_is_a_guarantee():
    for paid in (1, Guarantee(math.inf), Guarantee(Fraction(1), neighbors=person_neighbors(1))):
        with pytest.raises(DomainError, match="paid for"):
            Domain([Numeric("a", 0, 1)], Categorical("b", (0, 1)), paid=paid)


# -- helpers ---------------------------------------------------------------------------------------


def test_the_public_grid_is_two_digits_of_every_magnitude():
    grid = magnitudes()
    assert np.all(np.diff(grid) > 0)
    assert {*range(-99, 100)} <= {*grid.tolist()}
    assert (grid[0], grid[-1]) == (-1e12, 1e12)
    assert min(x for x in grid if x > 0) == 1e-9
    assert np.array_equal(grid, -grid[::-1])


def test_each_number_has_its_cell_on_the_grid():
    numbers = [-1e13, -1e12, 0, 0.5e-9, 1, 1.05, 1e12, math.inf, math.nan]
    table = pd.DataFrame({"x": numbers, "y": ["a"] * len(numbers)})
    plan = plan_of({"x": "number", "y": ["a"]}, "y", delta=0)
    raw = RawTable(open_table(table, plan.source), plan.asked, plan.grids)
    grid, middle = magnitudes(), len(magnitudes()) // 2
    one = int(np.searchsorted(grid, 1))
    places = [0, 1, 2 * middle + 1, 2 * middle + 2, 2 * one + 1, 2 * one + 2]
    places += [2 * len(grid) - 1, 2 * len(grid), 2 * len(grid) + 1]  # the last is missing
    assert raw._encoded.codes[:, 0].tolist() == places


def test_tails_grow_as_the_budget_falls():
    tails = [private_domain._tail(7_567, signal)[0] for signal in (1e6, 1_000, 300, 30)]
    assert tails[0] == 0.01
    assert all(a < b for a, b in itertools.pairwise(tails))


def test_label_texts_are_numbers_only_if_all_of_them_are():
    assert private_domain._numbers_if_all(["0", "1", "10", "2.5"]) == (0, 1, 2.5, 10)
    for texts in (["0", "x"], ["1.0"], ["01"], ["1_0"], [" 1"]):
        assert private_domain._numbers_if_all(texts) == tuple(texts)
