"""`frith demo`, on a table that code generates."""

import sys

import pytest

from frith import Forest, datasets
from frith.cli import demo_run as demo


@pytest.fixture
def short(monkeypatch):
    """The demo with few epsilons and a table that is always there."""
    monkeypatch.setattr(demo, "TABLES", ("tic_tac_toe",))
    monkeypatch.setattr(demo, "EPSILONS", (0.1, 1, 10))
    monkeypatch.setattr(demo, "REPEATS", 2)


def test_the_demo_prints_a_table_and_writes_a_forest_and_a_picture(run, tmp_path, short):
    folder = tmp_path / "new" / "demo"
    words = run("demo", "--output", folder).stdout
    for part in ("epsilon", "majority label", "no privacy", "accuracy.png"):
        assert part in words
    assert f"frith show {folder / 'forest.json'}" in words
    assert Forest.load(folder / "forest.json").guarantee.epsilon == 1
    assert (folder / "accuracy.png").read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_the_demo_goes_on(run, tmp_path, short, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = run("demo", "--output", tmp_path)
    assert "frith[plot]" in result.stderr
    assert not (tmp_path / "accuracy.png").exists()
    assert (tmp_path / "forest.json").exists()


def test_without_noise_to_speak_of_forests_are_alike_and_good():
    """At epsilon 10^6 and 10 trees a count has noise with a chance of exp(-10^5)."""
    sample = demo.load_sample(("tic_tac_toe",))
    curve = demo.measure(sample, epsilons=(1, 10**6), repeats=2)
    assert len(set(curve.points[-1].random)) == 1
    assert curve.points[-1].mean > 0.9 * curve.exact > curve.majority
    assert curve.majority == pytest.approx(0.653, abs=0.01)
    assert curve.forest.guarantee.epsilon == 1


def test_without_the_data_package_the_demo_takes_a_table_that_is_there(monkeypatch):
    load = datasets.load

    def missing(name):
        if name == "nursery":
            raise ValueError("the table comes with a package that is not installed")
        return load(name)

    monkeypatch.setattr(datasets, "load", missing)
    assert demo.load_sample().name == "tic_tac_toe"
