"""Notices: a wrong domain is told to the holder of the records, after the charge and to nobody else."""

import io
import json
import logging
import sys
import warnings

import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from frith import Categorical, Domain, Ledger, Numeric, RandomDecisionForestClassifier, open_table
from frith.learners.notices import tell
from tests.tables import small_domain, small_table

ATTRIBUTES = ["color", "round", "size"]


def fit(table, domain, **options):
    model = RandomDecisionForestClassifier(domain, n_trees=2, max_depth=2, random_state=0)
    return model.fit(table, **options)


def told(capsys, table, domain):
    capsys.readouterr()
    fit(table, domain)
    seen = capsys.readouterr()
    assert seen.out == ""
    return seen.err


def domain_with(attribute=None, label=None, **kwargs):
    base = small_domain(**kwargs)
    attributes = [
        attribute if attribute and a.name == attribute.name else a for a in base.attributes
    ]
    return Domain(attributes, label or base.label, records=base.records)


@pytest.mark.parametrize(
    ("domain", "words"),
    [
        (domain_with(Categorical("color", ("Red", "Green"))), "differ in capitals"),
        (
            domain_with(Categorical("color", ("1", "2"))),
            "no cell of 'color' is one of its declared",
        ),
        (domain_with(label=Categorical("good", (False, True))), "so none was counted"),
        (domain_with(Numeric("color", 0, 1)), "no cell of it is one"),
        (domain_with(Categorical("color", ("red", "green"))), "over 5% of 'color' lie outside"),
        (domain_with(Numeric("size", 0, 5)), "clamped to 0 .. 5"),
        (domain_with(label=Categorical("good", tuple(range(200)))), "a number to predict?"),
        (small_domain(records=10), "far more records than records = 10"),
        (small_domain(records=2_250), "far fewer records than records = 2,250"),
        (
            domain_with(Categorical("color", tuple(map(str, range(150))))),
            "looks like an identifier",
        ),
    ],
)
def test_what_would_surprise_is_told_once(capsys, domain, words):
    said = told(capsys, small_table(), domain)
    assert words in said
    assert said.count("frith: about your records") == 1
    assert "blue" not in said


def test_undeclared_missing_cells_and_persons_are_told(capsys):
    table = small_table().assign(size=np.where(np.arange(200) % 3 == 0, np.nan, 1.0))
    assert "over 5% of 'size' are missing: counts as 0" in told(
        capsys, table, domain_with(Numeric("size", 0, 10))
    )


@pytest.mark.filterwarnings("ignore::frith.PrivacyLeakWarning")
def test_a_target_of_whole_floats_is_told_where_its_labels_are_learned(capsys):
    table = small_table()
    fit_on = RandomDecisionForestClassifier(n_trees=1, max_depth=1, random_state=0).fit
    fit_on(table[["color", "size"]], np.arange(200.0) // 2)
    assert "over 50 labels, each a class of its own; is it a number to predict?" in (
        capsys.readouterr().err
    )


def test_labels_in_words_over_booleans_are_told(capsys):
    table = small_table()
    table["good"] = table["good"] == "yes"
    said = told(capsys, table, small_domain())
    assert "no record has one of the declared labels of 'good', so none was counted" in said


def test_a_declared_other_is_told_as_what_was_declared(capsys):
    table = small_table()
    listed = ("other", table["color"].iloc[0])
    assert "outside" in told(capsys, table, domain_with(Categorical("color", listed)))
    words = told(capsys, table, domain_with(Categorical("color", listed, other="other")))
    assert "are not listed: counts as 'other', as declared" in words
    assert "outside" not in words


def test_a_right_domain_is_met_with_silence(capsys):
    assert told(capsys, small_table(), small_domain(records=190)) == ""


def test_silence_can_be_asked_for(capsys):
    fit(small_table(), small_domain(records=10), notices=False)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("kind", ["csv", "parquet", "engine", "arrow"])
def test_every_way_to_bring_records_is_looked_at(capsys, tmp_path, kind):
    table, domain = small_table(), domain_with(label=Categorical("good", ("YES", "NO")))
    if kind == "csv":
        table.to_csv(tmp_path / "t.csv", index=False)
        source = open_table(tmp_path / "t.csv", domain)
    elif kind == "parquet":
        table.to_parquet(tmp_path / "t.parquet")
        source = open_table(tmp_path / "t.parquet", domain)
    else:
        source = open_table(table, domain) if kind == "engine" else pa.Table.from_pandas(table)
    assert "none was counted (they differ in capitals" in told(capsys, source, domain)


def test_a_notice_comes_after_the_charge(tmp_path, monkeypatch):
    ledger = Ledger.create(tmp_path / "ledger.db", epsilon=1)
    spent = []

    class Watching(io.StringIO):
        def write(self, text):
            spent.append(ledger.spent)
            return len(text)

    monkeypatch.setattr(sys, "stderr", Watching())
    model = RandomDecisionForestClassifier(
        small_domain(records=10), max_depth=2, epsilon=1, ledger=ledger.path
    )
    model.fit(small_table())
    assert spent == [1]


NEIGHBORS = (small_table(), small_table()[1:])
"""200 records are over a fifth more than 166, and 199 are not."""


class Broken:
    def write(self, text):
        raise OSError("no space left")


@pytest.mark.parametrize("stream", [None, Broken(), io.TextIOWrapper(io.BytesIO(), "ascii")])
def test_nothing_raises_and_nothing_is_stored_whatever_the_stream(monkeypatch, caplog, stream):
    """On neighbors of which one draws a notice: both end alike, with forests of the same shape."""
    domain = small_domain(records=166)
    monkeypatch.setattr(sys, "stderr", stream)
    logging.captureWarnings(True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            models = [fit(t, domain) for t in NEIGHBORS]
    finally:
        logging.captureWarnings(False)
    assert caplog.records == []
    for model in models:
        text = json.dumps(model.forest_.to_json()) + repr(vars(model))
        assert "records than" not in text
    assert vars(models[0]).keys() == vars(models[1]).keys()


def some():
    return ["something about the records"]


@pytest.mark.parametrize("backend", ["loky", "threading"])
@pytest.mark.xdist_group("processes")
def test_workers_say_nothing(capfd, backend):
    with joblib.parallel_backend(backend, n_jobs=2):
        joblib.Parallel()(joblib.delayed(tell)(some) for _ in range(2))
    assert capfd.readouterr().err == ""
    tell(some)
    assert "something about the records" in capfd.readouterr().err


def test_hostile_cells_are_looked_at_without_an_error(capsys):
    class Nasty:
        def __eq__(self, other):
            raise ValueError

        __hash__ = None

        def __str__(self):
            raise ValueError

    table = pd.DataFrame({"color": [Nasty(), b"\xff", 3] * 20, "round": "no", "size": [[1]] * 60})
    fit(table.assign(good="yes"), small_domain())
    assert "'color'" in capsys.readouterr().err
