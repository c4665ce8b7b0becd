"""A label that is a number: declared with bounds, kept through files, encoded on its grid."""

import json
import pickle

import numpy as np
import pyarrow as pa
import pytest

from frith.domain import Categorical, Domain, Numeric
from frith.domain.check import add_columns, empty_report
from frith.domain.columns import columns_of
from frith.domain.encoding import encode_label, encode_records
from frith.domain.synthetic import synthetic_table
from frith.errors import DomainError

AGE = Numeric("age", 0, 100, cells=10)
DOMAIN = Domain((Categorical("sex", ("f", "m")),), Numeric("pay", 0, 8, cells=4), records=9)


def test_files_keep_a_label_with_bounds():
    for domain in (DOMAIN, Domain((AGE,), Numeric("pay", -1.5, 8, cells=2**15))):
        for copy in (
            Domain.from_toml(domain.to_toml()),
            Domain.from_json(json.loads(json.dumps(domain.to_json()))),
            pickle.loads(pickle.dumps(domain)),
        ):
            assert copy == domain
            assert copy.label == domain.label
    text = DOMAIN.to_toml()
    assert "low = 0.0" in text
    assert Domain.from_toml(text.replace("8.0", "9.0")) != DOMAIN


@pytest.mark.parametrize(
    ("label", "told"),
    [
        ({"name": "pay"}, "no entry 'values'"),
        ({"name": "pay", "low": 0}, "no entry 'high'"),
        ({"name": "pay", "low": 3, "high": 3}, "empty bounds"),
        ({"name": "pay", "low": 0, "high": 1, "values": [0, 1]}, "unknown entry 'low'"),
    ],
)
def test_a_label_is_values_or_bounds(label, told):
    with pytest.raises(DomainError, match=told):
        Domain.from_json(DOMAIN.to_json() | {"label": label})


def test_each_kind_of_label_says_what_it_is_not():
    assert DOMAIN.has_target
    assert (DOMAIN.target.high, DOMAIN.n_outputs) == (8, 1)
    for ask in (lambda d: d.n_labels, lambda d: d.label_values):
        with pytest.raises(DomainError, match="'pay' is a number between 0 and 8"):
            ask(DOMAIN)
    classes = Domain((AGE,), Categorical("ill", ("no", "yes")))
    assert (classes.has_target, classes.n_outputs, classes.label_values) == (
        False,
        2,
        ("no", "yes"),
    )
    with pytest.raises(DomainError, match="'ill' has declared values"):
        _ = classes.target


@pytest.mark.parametrize(
    "cells",
    [
        pa.array([0.0, 1.99, 2.0, 7.9, 8.0, 1e300, -5.0, float("inf"), None, float("nan")]),
        pa.array(["0", "1.99", "2", "7.9", "8", "1e300", "-5", "inf", None, "much"]),
    ],
)
def test_targets_are_clamped_and_a_missing_one_is_not_counted(cells):
    codes = encode_label(pa.chunked_array([cells]), DOMAIN.target)
    assert codes.tolist() == [0, 0, 1, 3, 3, 3, 0, 3, -1, -1]
    table = pa.table({"sex": ["f"] * 10, "pay": cells})
    batch, known = encode_records(columns_of(table)[0], DOMAIN)
    assert (len(batch), known.sum()) == (8, 8)
    assert batch.labels.dtype == DOMAIN.label_type == np.uint8


def test_the_widest_grid_fits_its_type():
    domain = Domain((AGE,), Numeric("pay", 0, 1, cells=65_535))
    table = pa.table({"age": [1.0, 2.0, 3.0], "pay": [0.0, 1.0, None]})
    batch, _ = encode_records(columns_of(table)[0], domain)
    assert batch.labels.tolist() == [0, 65_534]


def test_the_curator_is_told_what_is_outside_the_bounds():
    report = empty_report(DOMAIN)
    table = pa.table({"sex": ["f"] * 4, "pay": [1.0, 20.0, None, 3.0]})
    add_columns(report, columns_of(table)[0], 4)
    found = report.findings[1]
    assert (found.role, found.clamped, found.missing) == ("label", 1, 1)
    assert found.consequence == "clamped to 0 .. 8, missing or no number: the record is not counted"
    assert not any("labels" in notice for notice in report.notices)


def test_synthetic_targets_lie_within_the_bounds():
    table = synthetic_table(DOMAIN, 200, np.random.default_rng(0))
    pay = table["pay"].to_numpy()
    assert ((pay >= 0) & (pay < 8)).all()
    assert len(np.unique(pay)) > 100
