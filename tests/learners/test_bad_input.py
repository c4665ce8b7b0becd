"""Bad input: a clear error for what is public, the declared treatment for what depends on values."""

import collections
import itertools
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frith import (
    Categorical,
    Domain,
    Forest,
    Ledger,
    RandomDecisionForestClassifier,
    draft_domain,
    open_table,
)
from frith.errors import DataError, FormatError, SourceError, TooManyCells
from tests.strategies import examples, objects
from tests.tables import small_domain, small_table

ATTRIBUTES = ["color", "round", "size"]


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(tmp_path / "ledger.db", epsilon=10)


def model(ledger, domain=None, **kwargs):
    kwargs = {"epsilon": 1, "max_depth": 2, "n_trees": 2} | kwargs
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
    [("n_trees", 0), ("n_trees", 2.5), ("n_trees", True), ("max_depth", 0), ("max_depth", "3")],
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
        model(ledger, max_depth=None, size_share=share).fit(table[ATTRIBUTES], table["good"])
    assert ledger.spent == 0


def test_an_attribute_of_10_000_values_meets_the_cap_on_cells(ledger):
    big = [Categorical(f"zip{i}", tuple(range(10_000))) for i in range(2)]
    domain = Domain(big, Categorical("good", ("no", "yes")), records=100)
    X, y = np.zeros((5, 2), dtype=int), ["no"] * 5
    with pytest.raises(TooManyCells, match="use fewer or lower trees"):
        model(ledger, domain).fit(X, y)
    assert ledger.spent == 0
    fitted = model(ledger, domain, max_depth=1, n_trees=1).fit(X, y)
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


@pytest.mark.parametrize("kind", ["timedelta64[s]", "timedelta64[ms]"])
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
        RandomDecisionForestClassifier(
            small_domain(), epsilon="inf", n_trees=30, max_depth=1, random_state=0
        )
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
        model(ledger, random_state=1, max_depth=3).fit(t[ATTRIBUTES], t["good"]).forest_
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


# -- lists of rows -------------------------------------------------------------------------------


class Endless(list):
    """A row of three cells, it says."""

    def __iter__(self):
        return itertools.repeat("red")


class Furious(list):
    def __len__(self):
        raise RuntimeError("a cell")


class Short(list):
    def __len__(self):
        return len(ATTRIBUTES)


no_rows = st.sampled_from(
    [None, 7, 0.5, "red", "abc", b"abc", {}, {"a": 1, "b": 2, "c": 3}, {1, 2, 3}, object(), object]
    + [
        Furious([1, 2, 3]),
        Short([1]),
        np.array(5),
        np.zeros((2, 2)),
        iter("abc"),
        itertools.count(),
    ]
)
wrong_rows = st.one_of(
    no_rows, st.lists(objects, max_size=2), st.lists(objects, min_size=4, max_size=6)
)
right_rows = st.one_of(
    st.lists(objects, min_size=3, max_size=3),
    st.tuples(objects, objects, objects),
    st.lists(st.floats(), min_size=3, max_size=3).map(np.array),
    st.sampled_from([np.zeros((3, 2)), np.zeros((3, 0)), range(3), pd.Series(["red", "no", 1.0])]),
    st.just(Endless(ATTRIBUTES)),
)


def codes_of(rows, labels=None):
    table = open_table(rows, small_domain(), ["no"] * len(rows) if labels is None else labels)
    return table._encoded.codes.tolist()


@examples(300)
@given(st.lists(wrong_rows | right_rows, max_size=5))
def test_a_row_is_read_by_itself(rows):
    """No row raises, whatever the others are, and none changes how another one is read."""
    assert codes_of(rows) == [codes for row in rows for codes in codes_of([row])]


@examples(100)
@given(wrong_rows)
def test_a_row_of_another_length_is_a_record_of_missing_values(row):
    assert codes_of([row]) == codes_of([[None] * len(ATTRIBUTES)])


def test_a_row_may_be_of_any_kind_that_has_cells():
    expected = codes_of([["red", "no", 1.0]])
    row = ["red", "no", 1.0]
    for kind in (tuple, collections.deque, pd.Series, collections.UserList):
        assert codes_of([kind(row)]) == expected
        assert codes_of(collections.deque([kind(row)])) == expected
    assert codes_of([np.array(row, dtype=object)]) == expected


@examples(25)
@given(st.lists(wrong_rows | right_rows, max_size=3))
def test_what_is_learned_of_the_columns_does_not_depend_on_the_rows(rows):
    labels = ["no"] * len(rows)
    learner = RandomDecisionForestClassifier(small_domain(), epsilon=1, max_depth=1, n_trees=1)
    assert learner.fit(rows, labels).n_features_in_ == len(ATTRIBUTES)
    assert not hasattr(learner, "feature_names_in_")
    for more in ([], rows, [["red", "no", 1.0]]):
        assert learner.update(more, ["no"] * len(more)).n_features_in_ == len(ATTRIBUTES)
    assert len(learner.predict([["red", "no", 1.0]])) == 1


def test_a_fit_on_no_rows_predicts_and_updates_like_one_on_a_row():
    rows = [["red", "no", 1.0]]
    for first in ([], rows):
        learner = RandomDecisionForestClassifier(small_domain(), epsilon=1, max_depth=1, n_trees=1)
        learner.fit(first, ["no"] * len(first)).update(rows, ["no"]).update([], [])
        assert learner.n_features_in_ == len(ATTRIBUTES)
        assert learner.predict(rows).shape == (1,)
        with pytest.raises(ValueError, match="features"):
            learner.predict(np.zeros((1, 2)))


@examples(200)
@given(st.lists(objects | st.just(["no"]) | st.just(np.array(["no"])), max_size=6))
def test_a_label_is_read_by_itself(labels):
    """One that is no scalar is unknown, and its record is not counted."""
    rows = [["red", "no", 1.0]]
    alone = [codes for label in labels for codes in codes_of(rows, [label])]
    assert codes_of(rows * len(labels), labels) == alone


def test_a_label_that_is_no_scalar_is_unknown():
    rows = [["red", "no", 1.0]] * 2
    for label in (["no"], ("no",), {"no"}, {"no": "no"}, np.array(["no"]), [], [["no"]]):
        assert codes_of(rows, [label, "no"]) == codes_of(rows[:1])
        assert codes_of(rows, [label, label]) == []
    assert len(codes_of(rows, np.array([["no"], ["no"]]))) == 2  # a column, by its shape


def test_rows_and_labels_of_different_numbers_are_refused_without_a_number(ledger):
    for rows, labels in (([], ["no"]), ([["red", "no", 1.0]] * 17, ["no"] * 13), ([None], [])):
        with pytest.raises(DataError, match="differ in their number of rows") as caught:
            model(ledger).fit(rows, labels)
        assert not any(c.isdigit() for c in str(caught.value))
    assert ledger.spent == 0


# -- what people get wrong in the first hour -------------------------------------------------------


def test_an_epsilon_in_the_place_of_the_domain_is_told():
    table = small_table()
    with pytest.raises(TypeError, match="not 1.0; write epsilon"):
        RandomDecisionForestClassifier(1.0).fit(table[ATTRIBUTES], table["good"])


def test_a_draft_in_the_place_of_the_domain_is_told_without_its_values():
    table = small_table()
    with pytest.raises(TypeError, match=r"draft\.save") as refusal:
        RandomDecisionForestClassifier(draft_domain(table, "good")).fit(table)
    assert "red" not in str(refusal.value)


def test_files_to_predict_are_told_to_be_read(ledger):
    fitted, domain = model(ledger).fit(small_table()), small_domain()
    for records in ("t.csv", open_table(small_table(), domain)):
        with pytest.raises(TypeError, match="frith predict"):
            fitted.predict(records)


@pytest.mark.filterwarnings("ignore::frith.PrivacyLeakWarning")
def test_a_learned_label_has_the_name_of_y():
    table = small_table()
    for y, name in ((table["good"], "good"), (table["good"].to_numpy(), "class")):
        fitted = RandomDecisionForestClassifier(max_depth=1).fit(table[ATTRIBUTES], y)
        assert fitted.forest_.domain.label.name == name
    named = table["good"].rename("color")
    fitted = RandomDecisionForestClassifier(max_depth=1).fit(table[ATTRIBUTES], named)
    assert fitted.forest_.domain.label.name == "class"


def test_a_lazy_frame_is_told_to_collect():
    class LazyFrame: ...

    with pytest.raises(TypeError, match="collect"):
        RandomDecisionForestClassifier(small_domain()).fit(LazyFrame())


@pytest.mark.parametrize(
    ("odd", "said"), [(np.nan, "contains NaN"), (3, "mixes texts and numbers")]
)
def test_object_labels_of_several_kinds_are_told(odd, said):
    table = small_table(10)
    labels = np.array([odd, *table["good"][1:]], dtype=object)
    with pytest.raises(ValueError, match=said):
        RandomDecisionForestClassifier().fit(table[ATTRIBUTES], labels)


def test_every_column_that_cannot_be_read_is_named_at_once(ledger, tmp_path):
    table = small_table()
    table["size"] = table["color"] = np.arange(len(table)).astype("timedelta64[s]")
    with pytest.raises(DataError, match="'color'.*'size'"):
        model(ledger).fit(table[ATTRIBUTES], table["good"])
    table.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match="'color'.*'size'"):
        open_table(tmp_path / "t.parquet", small_domain())
    assert ledger.spent == 0


@pytest.mark.filterwarnings("ignore::frith.PrivacyLeakWarning")
def test_a_domain_learned_by_fit_holds_no_identifiers(capsys):
    table = small_table(3_000).assign(name=[f"Jo {i}" for i in range(3_000)])
    fitted = RandomDecisionForestClassifier(max_depth=2).fit(
        table.drop(columns="good"), table["good"]
    )
    assert "Jo 17" not in json.dumps(fitted.forest_.to_json())
    assert "'name' has a single declared value" in capsys.readouterr().err


def test_a_table_that_fit_takes_can_be_predicted_too(ledger):
    """The label's column is in it, and no prediction reads that."""
    table = small_table()[[*ATTRIBUTES, "good"]]
    fitted = model(ledger).fit(table)
    expected = fitted.predict(table[ATTRIBUTES])
    for records in (table, pa.Table.from_pandas(table), table.assign(good="any")):
        assert (fitted.predict(records) == expected).all()
    assert fitted.score(table, table["good"]) == fitted.score(table[ATTRIBUTES], table["good"])
    with pytest.raises(ValueError, match="unseen at fit time"):
        fitted.predict(table.assign(more=1))
