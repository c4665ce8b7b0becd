"""Drafts: a domain read off a table holds every value of that table."""

import datetime
import math
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from frith.domain import MAX_VALUES, Categorical, Date, Domain, Numeric, Ordered, Person
from frith.domain.columns import columns_of
from frith.domain.draft import MISSING, OTHER, draft_attributes, draft_table, draft_values
from frith.domain.encoding import encode_column, encode_label
from frith.errors import DataError, DomainError
from tests import twins
from tests.domain.test_encoding import UNREADABLE, objects_of
from tests.strategies import arrow_columns, examples, objects


def draft(column):
    column = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    (attribute,) = draft_attributes(lambda name: column, ["a"])
    return attribute


def check_draft(attribute, column, cells):
    """Numbers lie within the bounds, other values each have a code of their own."""
    if isinstance(attribute, Date):
        out = np.empty(len(column), dtype=np.uint16)
        encode_column(column, attribute, out)
        assert out.tolist() == [twins.code_of(c, attribute) for c in cells]
        seconds = [twins.moment_of(c) for c in cells]
        days = [s if attribute.has_time else s // 86_400 for s in seconds if not math.isnan(s)]
        assert all(attribute.low <= day <= attribute.high for day in days)
        assert attribute.missing == (len(days) < len(cells))
        return
    if isinstance(attribute, Numeric):
        numbers = [x for x in map(twins.number_of, cells) if math.isfinite(x)]
        most = sys.float_info.max / 4  # beyond it, two bounds may have no difference
        assert all(attribute.low <= min(max(x, -most), most) <= attribute.high for x in numbers)
        assert attribute.missing == any(math.isnan(twins.number_of(c)) for c in cells)
        return
    out = np.empty(len(column), dtype=np.uint16)
    encode_column(column, attribute, out)
    for cell, code in zip(cells, out.tolist(), strict=True):
        text = twins.text_of(cell)
        if text is not None and not (isinstance(cell, float) and math.isinf(cell)):
            declared = attribute.values[code]
            assert declared == text or twins.number_of(text) == twins.number_of(declared)
        elif text is None and isinstance(attribute.values[0], str):
            assert attribute.values[code] == MISSING


@examples(400)
@given(arrow_columns())
def test_every_value_of_a_column_is_inside_its_draft(column_and_cells):
    column, cells = column_and_cells
    decimals = pa.types.is_dictionary(column.type) and pa.types.is_decimal(column.type.value_type)
    assume(not decimals or all(c is None or abs(c) < 2**53 for c in cells))  # a float each
    all_infinite = all(c is None or not math.isfinite(twins.number_of(c)) for c in cells)
    assume(not (all_infinite and any(isinstance(c, float) for c in cells)))
    check_draft(draft(column), column, cells)


@examples(200)
@given(st.lists(objects, min_size=1, max_size=8))
def test_every_object_is_inside_the_draft_of_its_column(cells):
    column = columns_of(pd.DataFrame({"a": pd.Series(objects_of(cells), dtype=object)}))[0]("a")
    check_draft(draft(column), column, [twins.cell_of(c) for c in cells])


@pytest.mark.parametrize(
    "numbers",
    [
        [1.7976931348623157e308] * 2,
        [-1.7976931348623157e308] * 2,
        [-1.7976931348623157e308, 1.7976931348623157e308],
        [5e-324, 0.0],
        [0.0, -0.0],
        [1e16, 1e16 + 2],
        [-1e300, -1e300 * (1 + 1e-15)],
        [1.6e18, 1.6e18 + 256],
        [3.0, 3.0],
        [np.inf, np.nan],
        [],
    ],
)
def test_numbers_of_any_size_have_a_grid(numbers):
    column = pa.array(numbers, pa.float64())
    check_draft(draft(column), pa.chunked_array([column]), numbers)


def test_a_missing_value_that_is_already_called_so_is_declared_once():
    attribute = draft(pa.array([MISSING, "a", None]))
    assert attribute == Categorical("a", ("a", MISSING), missing=MISSING)


def test_a_null_inside_a_dictionary_is_missing():
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array(["x", None]))
    assert draft(column) == Categorical("a", ("x", MISSING), missing=MISSING)


def test_columns_without_a_value_have_a_draft():
    assert draft(pa.nulls(2)) == Categorical("a", (MISSING,), missing=MISSING)
    assert draft(pa.nulls(0, pa.string())) == Categorical("a", (MISSING,), missing=MISSING)
    assert draft(pa.nulls(2, pa.int8())) == Numeric("a", 0, 1, missing=True)
    assert draft(pa.nulls(0, pa.int8())) == Numeric("a", 0, 1)


def test_unused_categories_are_not_drafted():
    column = pd.Series(pd.Categorical(["a"], categories=["a", "secret"]))
    assert draft(pa.array(column)) == Categorical("a", ("a",))


def test_labels_are_the_values_that_occur_in_order():
    def values(cells, kind=None):
        return draft_values(pa.chunked_array([pa.array(cells, kind)]), "class")

    assert values(["b", None, "a", "b"]) == ("a", "b")
    assert values([2, 1, 2]) == (1, 2)
    assert values([True, False]) == (False, True)
    assert values([2.5, 1.0, np.nan, np.inf]) == (1.0, 2.5)
    assert values([Decimal("2.50"), Decimal("1.00")]) == (1.0, 2.5)
    assert values([b"\xff", b"\xfe", b"a"]) == ("a", "\ufffd")
    assert values(["x"], pa.string_view()) == ("x",)


def test_a_label_without_a_value_is_refused_by_name():
    for column in (pa.nulls(2), pa.array([np.inf, np.nan])):
        with pytest.raises(DomainError, match="'class' holds no value"):
            draft_values(pa.chunked_array([column]), "class")


def test_too_many_values_are_refused_by_name():
    column = pa.chunked_array([pa.array([str(i) for i in range(MAX_VALUES + 1)])])
    with pytest.raises(DomainError, match="'class' has 65,536 values"):
        draft_values(column, "class")


# -- what a draft leaves out -----------------------------------------------------------------------


def messy(n=300):
    rng = np.random.default_rng(0)
    return pd.DataFrame({
        "PassengerId": np.arange(n) + 1, "Name": [f"Doe, Jo {i}" for i in range(n)],
        "town": rng.choice(["Bree", "Dale"], n), "born": pd.date_range("1990-01-01", periods=n),
        "ticket": ["A1", *["odd"] * (n - 41), *[f"rare{i // 4}" for i in range(40)]],
        "Fare": np.where(np.arange(n) == 7, 1e12, rng.uniform(0.43, 17.83, n)),
        "income": rng.lognormal(3, 2.5, n), "alone": pd.array([True, False, None] * (n // 3), "boolean"),
        "survived": rng.choice([0, 1], n),
    })  # fmt: skip


def test_identifiers_and_what_no_domain_describes_are_left_out_with_the_reason():
    drafted = draft_table(messy(), "survived", leave_out=["town"])
    assert drafted.domain.names == ("born", "ticket", "Fare", "income", "alone")
    assert drafted.domain.attributes[0] == Date("born", "1990-01-01", "1990-10-31")
    assert "from the data" in drafted.hints["born"][0]
    assert drafted.left_out["town"] == "as asked"
    assert "no two records share" in drafted.left_out["PassengerId"]
    assert "most values occur once" in drafted.left_out["Name"]
    assert "Doe" not in str(drafted)
    with pytest.raises(DataError, match="no left-out column 'nose'"):
        draft_table(messy(), "survived", leave_out=["nose"])


def test_numbers_that_only_look_like_identifiers_are_kept():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"pay": rng.permutation(10_000)[:300], "few": range(300), "y": "a"})
    assert draft_table(frame[:19], "y").domain.names == ("pay", "few")
    assert draft_table(frame, "y").domain.names == ("pay",)
    named = frame.assign(size=1.5).rename(columns={"pay": "pay_id"})
    assert [*draft_table(named, "y").left_out] == ["pay_id", "few"]


def test_long_numbers_that_hardly_repeat_are_identifiers_and_amounts_are_not():
    """As the numbers of patients: drawn from millions, so that one of them may come twice."""
    rng = np.random.default_rng(0)
    numbers = rng.integers(10**7, 10**8, 2_000)
    numbers[7] = numbers[8]
    frame = pd.DataFrame({"mrn": numbers, "cents": rng.integers(100, 10**7, 2_000), "y": "a"})
    drafted = draft_table(frame, "y")
    assert drafted.domain.names == ("cents",)
    assert "declare its bounds" in drafted.left_out["mrn"]
    several = frame.assign(patient_id=np.arange(2_000) % 700, room=np.arange(2_000) % 700)
    drafted = draft_table(several, "y")
    assert drafted.domain.names == ("cents", "room")
    assert "if it names the protected person" in drafted.left_out["patient_id"]


def test_a_column_in_which_some_names_come_twice_may_name_the_person():
    frame = pd.DataFrame({"guest": [f"g{i % 70}" for i in range(100)], "y": "a", "n": 1.5})
    assert "declare it as `[person]`" in draft_table(frame, "y").left_out["guest"]
    alone = frame.assign(guest=[f"g{i % 99}" for i in range(100)])
    assert "person" not in draft_table(alone, "y").left_out["guest"]


def test_amounts_with_marks_are_told_from_identifiers():
    cents = [19_999 + 137 * i for i in range(100)]
    columns = {
        "euro": [f"€{c / 100:,.2f}" for c in cents],
        "swiss": [f"{c}'000 CHF" for c in range(100, 200)],
        "share": [f"{c / 1000:.2f} %" for c in cents],
        "code": [f"EU{c}" for c in cents],
        "phone": [f"030 {c} 17" for c in cents],
    }
    told = draft_table(pd.DataFrame({**columns, "n": 1.5, "y": "a"}), "y").left_out
    amounts = {name for name, why in told.items() if "write them as 1234.50" in why}
    assert amounts == {"euro", "swiss", "share"}
    assert "identifier" in told["code"]
    assert "identifier" in told["phone"]


def test_a_hint_says_how_whole_numbers_have_cells_of_their_own():
    cells = np.arange(300) % 3 + 1
    frame = pd.DataFrame({"adults": cells, "rate": cells / 2, "cents": cells * 1000, "y": "a"})
    hints = draft_table(frame.assign(member=cells % 2), "y").hints
    assert "declare `values = [0, 1]`" in hints["member"][0]
    (told,) = [hint for hint in hints["adults"] if "whole numbers" in hint]
    assert "`high = 4` and `cells = 3`" in told
    assert not any("whole" in hint for name in ("rate", "cents") for hint in hints[name])
    assert Numeric("adults", 1, 4, cells=3).edges.tolist() == [2, 3]


def test_numbers_with_a_few_texts_among_them_are_numbers():
    rng = np.random.default_rng(0)
    cells = np.where(
        np.arange(500) % 9 == 0, "pending", rng.normal(12, 2, 500).round(1).astype(str)
    )
    drafted = draft_table(pd.DataFrame({"hb": cells, "y": "a"}), "y")
    (hb,) = drafted.domain.attributes
    assert isinstance(hb, Numeric)
    assert hb.missing
    assert "texts among them" in drafted.hints["hb"][0]
    amounts = [Decimal(f"{n}.25") for n in range(200)]
    for table in (
        pd.DataFrame({"a": amounts, "y": "a"}),
        pa.table({"a": amounts, "y": ["a"] * 200}),
    ):
        assert draft_table(table, "y").domain.attributes == (Numeric("a", 0, 200),)


@pytest.mark.parametrize(
    "codes",
    [
        [f"{10_067 + 5 * (n // 9)}" for n in range(500)],
        [f"0{1_067 + n // 9}" for n in range(500)],
        [str(n % 9) for n in range(500)],
    ],
)
def test_postcodes_and_short_lists_of_digits_stay_texts(codes):
    cells = ["none", *codes[1:]]
    drafted = draft_table(pd.DataFrame({"code": cells, "n": 1.5, "y": "a"}), "y")
    assert not isinstance(drafted.domain.attributes[0], Numeric) or "code" in drafted.left_out


def test_what_a_reader_would_ask_about_is_a_hint():
    rng = np.random.default_rng(0)
    trust = np.where(np.arange(300) % 10 == 0, 99, rng.integers(0, 11, 300))
    below = np.where(np.arange(300) % 10 == 0, -9, rng.integers(1, 6, 300))
    sex = rng.choice(["F", "M", "f"], 300)
    frame = pd.DataFrame(
        {"trust": trust, "below": below, "age": rng.integers(0, 99, 300), "sex": sex}
    )
    hints = draft_table(frame.assign(y="a"), "y").hints
    assert "no answer" in hints["trust"][0]
    assert "no answer" in hints["below"][0]
    assert "no answer" not in hints["age"][0]
    assert "capitals" in hints["sex"][1]


def test_lists_are_left_out_of_a_frame_as_of_a_file():
    lists = [["tv"], [], ["web", "tv"]] * 9
    frame = pd.DataFrame({"media": lists, "n": 1.5, "y": "a"})
    for table in (frame, pa.Table.from_pandas(frame)):
        drafted = draft_table(table, "y")
        assert drafted.domain.names == ("n",)
        assert "which a domain cannot describe" in drafted.left_out["media"]
        assert not drafted.left_out["media"].startswith("column")


@pytest.mark.parametrize("table", [np.zeros((3, 2)), [[1, 2]], {"x": [1], "y": [2]}])
def test_what_has_no_named_columns_is_told_what_has(table):
    with pytest.raises(DataError, match="the names of columns: pass a DataFrame"):
        draft_table(table, "y")


def test_a_draft_prints_and_saves_as_a_file_to_review(tmp_path):
    drafted = draft_table(messy(), "survived")
    drafted.save(tmp_path / "d.toml")
    drafted.save(tmp_path / "d.json")
    assert (tmp_path / "d.toml").read_text() == str(drafted)
    few = draft_table(pd.DataFrame({"pain": ["no", "mild", "bad"] * 9, "y": "a"}), "y")
    assert "# no 'other': a value outside counts as the first" in str(few)
    for said in ("Review every one", "Left out: 'Name'", "# a log scale"):
        assert said in str(drafted)
    for name in ("d.toml", "d.json"):
        assert Domain.load(tmp_path / name) == drafted.domain


@pytest.mark.parametrize(
    ("cells", "drafted"),
    [
        (["2019-03-04", "2023-05-06", None], Date("a", "2019-01-01", "2023-12-31", missing=True)),
        (["2023-03-04 10:00", "2023-05-06 11:00"], Date("a", "2023-03-01", "2023-05-31")),
        (["2023-03-04 10:00", "2023-03-06 11:00"], Date("a", "2023-03-04 00:00", "2023-03-06 23:59:59")),
        ([datetime.date(2024, 2, 1)] * 2, Date("a", "2024-02-01", "2024-02-29")),
        (
            ["2020-01-01", *["2021-06-01", "2022-06-01"] * 100, "9999-12-31"],
            Date("a", "2020-01-01", "2022-12-31"),
        ),
    ],
)  # fmt: skip
def test_dates_are_drafted_as_dates(cells, drafted):
    assert draft(pa.array(cells)) == drafted
    assert draft(pa.array([None if c is None else str(c) for c in cells])) == drafted


def test_dates_that_people_read_in_two_ways_are_left_out():
    frame = pd.DataFrame({"day": [f"{i % 28 + 1}/{i % 12 + 1}/2020" for i in range(60)], "n": 1.5})
    left_out = draft_table(frame.assign(y="a"), "y").left_out
    assert "write them as 2024-01-31" in left_out["day"]


def test_repeated_dates_of_another_form_are_left_out_too():
    frame = pd.DataFrame({"day": ["13.06.2023", "15.09.2023"] * 30, "n": 1.5, "y": "a"})
    assert "write them as" in draft_table(frame, "y").left_out["day"]


def test_names_that_several_records_share_are_left_out():
    """As those of customers: each has some records, and none has many."""
    frame = pd.DataFrame({"who": [f"L{i % 200:05}" for i in range(2_000)], "n": 1.5, "y": "a"})
    left_out = draft_table(frame, "y").left_out
    assert "the names of people or things" in left_out["who"]
    frame["who"] = ["L00001"] * 30 + [*frame["who"][30:]]  # a town, say: one of them is frequent
    assert "who" not in draft_table(frame, "y").left_out
    assert draft(pa.array([f"L{i % 200:05}" for i in range(2_000)])) == Categorical(
        "a", (OTHER,), other=OTHER
    )


def test_an_order_is_asked_for_where_there_may_be_one():
    frame = pd.DataFrame(
        {"pain": ["none", "mild", "severe"] * 9, "sex": ["f", "m", "f"] * 9, "y": "a"}
    )
    hints = draft_table(frame, "y").hints
    assert hints["sex"] == ()
    assert "ordered = true" in hints["pain"][0]


def test_categories_that_have_an_order_keep_it():
    kind = pd.CategoricalDtype(["low", "mid", "high", "never used"], ordered=True)
    frame = pd.DataFrame({"a": pd.Series(["mid", None, "low"] * 9, dtype=kind), "y": "a"})
    for table in (frame, pa.Table.from_pandas(frame)):
        ordered = draft_table(table, "y").domain.attributes[0]
        assert ordered == Ordered("a", ("low", "mid", "high", "never used"), missing=True)
    frame["a"] = frame["a"].astype(kind.categories.dtype).astype("category")
    assert isinstance(draft_table(frame, "y").domain.attributes[0], Categorical)


def test_rare_texts_are_grouped_in_order():
    ticket = draft_table(messy(), "survived").domain.attributes[2]
    assert ticket == Categorical("ticket", ("odd", OTHER), other=OTHER)


def test_bounds_are_round_outliers_clamped_and_a_log_scale_proposed():
    drafted = draft_table(messy(), "survived")
    fare, income = (a for a in drafted.domain.attributes if type(a) is Numeric)
    assert (fare.low, fare.high, fare.scale) == (0.0, 18.0, "linear")
    assert "far outside" in drafted.hints["Fare"][0]
    assert (income.low, income.scale) == (0.0, "log")
    assert "log scale" in drafted.hints["income"][0]
    assert all("from the data" in drafted.hints[a.name][-1] for a in (fare, income))


@pytest.mark.parametrize(
    "values", [("True", "False", "unknown"), ("true", "false", "unknown"), (True, False)]
)
def test_booleans_mean_the_same_in_every_format(values):
    label = Categorical("a", values)
    for cells in ([True, False], ["True", "False"], ["TRUE", "FALSE"], ["true", "false"]):
        for column in (pa.array(cells), pa.array(cells).dictionary_encode()):
            assert encode_label(pa.chunked_array([column]), label).tolist() == [0, 1]
    told_apart = Categorical("a", ("true", "True", "no"))
    assert encode_label(pa.chunked_array([["True", "TRUE"]]), told_apart).tolist() == [1, -1]


def test_missing_booleans_are_drafted_as_missing():
    expected = Categorical("a", ("false", "true", MISSING), other=MISSING, missing=MISSING)
    column = pa.chunked_array([[True, None, False]])
    assert draft(column) == expected
    out = np.empty(3, dtype=np.uint16)
    encode_column(column, expected, out)
    assert out.tolist() == [1, 2, 0]


@pytest.mark.parametrize("kind", UNREADABLE, ids=str)
def test_a_type_without_a_place_in_a_domain_is_refused_by_name(kind):
    table = pa.schema([("when", kind), ("class", pa.string())]).empty_table()
    with pytest.raises(DataError, match="'when'"):
        draft_table(table, "class")
    with pytest.raises(DataError, match="'when'"):
        draft_table(table, label="when")


def test_a_whole_table_is_drafted():
    frame = pd.DataFrame(
        {"who": ["ann", "bob"], "n": [1, 5], "s": ["x", None], "b": [True, False], "y": ["u", "v"]}
    )
    expected = Domain(
        (
            Numeric("n", 1, 5),
            Categorical("s", ("x", MISSING), missing=MISSING),
            Categorical("b", (False, True)),
        ),
        Categorical("y", ("u", "v")),
        person=Person("who", 1),
        learned=True,
    )
    for table in (frame, pa.Table.from_pandas(frame)):
        assert draft_table(table, "y", "who").domain == expected
        labels = encode_label(columns_of(table)[0]("y"), expected.label)
        assert labels.tolist() == [0, 1]


@pytest.mark.parametrize("names", [("nobody", None), ("y", "nobody")])
def test_a_label_or_person_that_is_not_there_is_named(names):
    with pytest.raises(DataError, match="'nobody'"):
        draft_table(pd.DataFrame({"x": [1], "y": ["a"]}), *names)
