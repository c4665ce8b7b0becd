"""Bad input: a clear error for what is public, the declared treatment for what depends on values."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from frith import Categorical, Domain, Forest, Ledger, RandomDecisionForestClassifier, open_table
from frith.errors import DataError, FormatError, SourceError, TooManyCells
from tests.tables import small_domain, small_table

ATTRIBUTES = ["color", "round", "size"]


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(tmp_path / "ledger.db", epsilon=10)


def model(ledger, domain=None, **kwargs):
    kwargs = {"epsilon": 1, "height": 2, "n_trees": 2} | kwargs
    return RandomDecisionForestClassifier(domain or small_domain(), ledger=ledger.path, **kwargs)


# -- what could not run for public reasons is an error and costs nothing -------------------------


def test_a_wrong_column_is_named(ledger):
    table = small_table().rename(columns={"color": "colour"})
    with pytest.raises(DataError, match="no column 'color'.*'colour'"):
        model(ledger).fit(table[["colour", "round", "size"]], table["good"])
    assert ledger.spent == 0


def test_a_missing_label_column_is_named(ledger, tmp_path):
    table = small_table()[ATTRIBUTES]
    with pytest.raises(ValueError, match="'good'"):
        model(ledger).fit(table)
    pq.write_table(pa.Table.from_pandas(table), tmp_path / "t.parquet")
    with pytest.raises(DataError, match="no column 'good'"):
        open_table(tmp_path / "t.parquet", small_domain())
    assert ledger.spent == 0


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), "much", None])
def test_an_epsilon_that_is_no_positive_number_is_refused(ledger, epsilon):
    table = small_table()
    with pytest.raises(ValueError, match=r"epsilon|amount"):
        model(ledger, epsilon=epsilon).fit(table[ATTRIBUTES], table["good"])
    assert ledger.spent == 0


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("n_trees", 0), ("n_trees", 2.5), ("n_trees", True), ("height", 0), ("height", "3")],
)
def test_a_parameter_out_of_range_is_named(ledger, parameter, value):
    table = small_table()
    with pytest.raises(ValueError, match=parameter):
        model(ledger, **{parameter: value}).fit(table[ATTRIBUTES], table["good"])
    assert ledger.spent == 0


@pytest.mark.parametrize("share", [0, 1, 2, "inf"])
def test_a_size_share_out_of_range_is_named(ledger, share):
    table = small_table()
    with pytest.raises(ValueError, match="size_share"):
        model(ledger, height=None, size_share=share).fit(table[ATTRIBUTES], table["good"])
    assert ledger.spent == 0


def test_an_attribute_of_10_000_values_meets_the_cap_on_cells(ledger):
    big = [Categorical(f"zip{i}", tuple(range(10_000))) for i in range(2)]
    domain = Domain(big, Categorical("good", ("no", "yes")), records=100)
    X, y = np.zeros((5, 2), dtype=int), ["no"] * 5
    with pytest.raises(TooManyCells, match="use fewer or lower trees"):
        model(ledger, domain).fit(X, y)
    assert ledger.spent == 0
    fitted = model(ledger, domain, height=1, n_trees=1).fit(X, y)
    assert len(fitted.forest_.trees.leaves) == 10_000


def test_a_corrupt_parquet_file_is_refused_at_the_door(ledger, tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.Table.from_pandas(small_table()), path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(SourceError, match="may be cut off"):
        model(ledger).fit(open_table(path, small_domain()))
    assert ledger.spent == 0


def test_an_array_of_another_width_is_refused(ledger):
    with pytest.raises((DataError, ValueError), match="columns|features"):
        model(ledger).fit(np.zeros((5, 2)), ["no"] * 5)
    assert ledger.spent == 0


def test_labels_of_another_length_are_refused(ledger):
    with pytest.raises(DataError, match="differ in their number of rows"):
        model(ledger).fit(small_table()[ATTRIBUTES], ["no"] * 3)
    assert ledger.spent == 0


@pytest.mark.parametrize("kind", ["datetime64[s]", "timedelta64[s]"])
def test_a_column_type_without_a_place_in_a_domain_is_named(ledger, kind):
    table = small_table()
    table["size"] = np.arange(len(table)).astype(kind)
    with pytest.raises(DataError, match="'size'"):
        model(ledger).fit(table[ATTRIBUTES], table["good"])
    assert ledger.spent == 0


# -- what depends on values has its declared treatment -------------------------------------------


def counted(table):
    """How many records of the table reach each value of each attribute, with exact counts."""
    forest = (
        RandomDecisionForestClassifier(small_domain(), epsilon="inf", n_trees=30, height=1)
        .fit(table[ATTRIBUTES], table["good"])
        .forest_
    )
    counts = {}
    for root in forest.trees.roots:
        a = int(forest.trees.attribute[root])
        if a < 2:
            children = forest.trees.children(int(root), forest.domain)
            counts[ATTRIBUTES[a]] = [int(forest.values[c].sum()) for c in children]
    return counts | {"all": int(forest.values[forest.trees.roots[0]].sum())}


def test_values_outside_the_domain_count_as_the_first_declared_value():
    table = small_table(90)
    table["color"] = "mauve"
    assert counted(table)["color"] == [90, 0, 0]


def test_missing_values_count_as_the_declared_missing():
    table = small_table(90)
    table["round"] = None
    assert counted(table)["round"] == [90, 0]


def test_records_with_unknown_or_missing_labels_are_not_counted():
    table = small_table(90)
    table.loc[:9, "good"] = "perhaps"
    table.loc[10:14, "good"] = None
    assert counted(table)["all"] == 75


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e308, -5.0])
def test_any_number_trains(ledger, value):
    table = small_table(90)
    table["size"] = value
    fitted = model(ledger).fit(table[ATTRIBUTES], table["good"])
    assert fitted.forest_.values.shape[1] == 2


def test_every_treatment_leaves_the_shape_of_the_forest_alone(ledger):
    """Whatever the values are, the forest has the same public shape and costs the same."""
    tables = [small_table(50), small_table(0), small_table(50).assign(good="perhaps")]
    tables.append(small_table(50).assign(color=None, round=None, size=np.nan))
    tables.append(pd.DataFrame({c: [object()] * 7 for c in [*ATTRIBUTES, "good"]}))
    forests = [
        model(ledger, random_state=1, height=3).fit(t[ATTRIBUTES], t["good"]).forest_
        for t in tables
    ]
    assert all(f.trees == forests[0].trees for f in forests)
    assert all(f.guarantee == forests[0].guarantee for f in forests)
    assert len({e.amount for e in ledger.entries()}) == 1


# -- saved forests -------------------------------------------------------------------------------


@pytest.fixture
def saved(ledger, tmp_path):
    table = small_table()
    path = tmp_path / "forest.json"
    model(ledger).fit(table[ATTRIBUTES], table["good"]).forest_.save(path)
    return path


@pytest.mark.parametrize("keep", [0, 1, 30, 0.5, 0.99])
def test_a_truncated_forest_is_refused(saved, keep):
    text = saved.read_text()
    saved.write_text(text[: int(keep * len(text)) if isinstance(keep, float) else keep])
    with pytest.raises(FormatError, match="not valid JSON"):
        Forest.load(saved)


@pytest.mark.parametrize("part", ["domain", "trees", "values", "vote", "guarantee", "variance"])
def test_a_forest_without_a_part_is_refused(saved, part):
    data = json.loads(saved.read_text())
    del data[part]
    with pytest.raises(FormatError):
        Forest.from_json(data)


@pytest.mark.parametrize(
    ("where", "index", "value", "reason"),
    [
        ("first_child", 0, 0, "out of place"),
        ("first_child", 0, 10**6, "out of place"),
        ("attribute", 0, 99, "does not have"),
        ("roots", 0, -1, "without a root"),
        ("roots", 0, 10**6, "without a root"),
    ],
)
def test_a_forest_that_would_walk_astray_is_refused(saved, where, index, value, reason):
    data = json.loads(saved.read_text())
    data["trees"][where][index] = value
    with pytest.raises(FormatError, match=reason):
        Forest.from_json(data)


def test_values_that_do_not_fit_are_refused(saved):
    data = json.loads(saved.read_text())
    for values in (data["values"][:-1], [["a", "b"]] * len(data["values"]), 7):
        with pytest.raises(FormatError):
            Forest.from_json(data | {"values": values})
    with pytest.raises(FormatError):
        Forest.from_json(data | {"format": "frith-forest/99"})
    with pytest.raises(FormatError):
        Forest.from_json([])


@pytest.mark.parametrize("row", [None, [], ["red"], ["red", "no", 1.0, 2.0], "red", 7])
def test_a_row_of_another_length_is_a_record_of_missing_values(row):
    rows = small_table(40)[ATTRIBUTES].to_numpy(dtype=object).tolist()
    engine = open_table([*rows, row], small_domain(), ["no"] * 41)
    missing = open_table([*rows, [None] * len(ATTRIBUTES)], small_domain(), ["no"] * 41)
    batch, expected = engine._encoded, missing._encoded
    assert np.array_equal(batch.codes, expected.codes)
