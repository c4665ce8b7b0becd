"""Effects are averages of what trees add; what a prediction is made of adds up to it."""

import itertools
import json
import math
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.inspection import partial_dependence, permutation_importance

from frith import Categorical, Domain, Forest, ForestClassifier, Numeric
from frith.datasets import load
from frith.domain.synthetic import synthetic_table
from frith.errors import FrithError
from frith.forest.draw import COLORS
from frith.forest.effect_pictures import legend
from frith.forest.scores import Scores
from frith.growing.additive import shrunk_effects
from frith.learners import BY_NAME
from frith.parties import join
from tests.forest.test_export import run as run_onnx
from tests.strategies import domains, examples, forest_over, trees
from tests.tables import small_domain, small_table

CLOSE = 1e-9


@st.composite
def scored(draw):
    """A forest of scores over any domain and any trees."""
    domain = draw(domains(most=3))
    return forest_over(domain, draw(trees(domain)), "product", draw(st.integers(0, 999)))


def scores_of(forest, codes):
    """Scores of encoded records by `predict_proba`: log-odds, or logarithms less their mean."""
    logs = np.log(forest.proba_of_codes(np.asarray(codes, dtype=forest.domain.code_type)))
    if logs.shape[1] == 2:
        return logs[:, 1:] - logs[:, :1]
    return logs - logs.mean(axis=1, keepdims=True)


# -- slow twins: every combination of values, one by one -------------------------------------------


class Means:
    """The mean score of all records with some pieces fixed, others by their public weights."""

    def __init__(self, forest):
        self.pieces = Scores(forest).pieces
        sizes = [len(p) for p in self.pieces.values()]
        combinations = list(itertools.product(*map(range, sizes)))
        codes = np.zeros((len(combinations), len(forest.domain.attributes)), dtype=int)
        for column, (a, pieces) in enumerate(self.pieces.items()):
            codes[:, a] = [pieces.first[c[column]] for c in combinations]
        self.scores = dict(zip(combinations, scores_of(forest, codes), strict=True))

    def where(self, fixed):
        total = 0.0
        for combination, score in self.scores.items():
            here = dict(zip(self.pieces, combination, strict=True))
            if all(here[a] == piece for a, piece in fixed.items()):
                others = [self.pieces[a].weights[i] for a, i in here.items() if a not in fixed]
                total = total + math.prod(others) * score
        return total


def shapley(forest, here):
    """The mean over all orders of what fixing each attribute changes."""
    parts = dict.fromkeys(here, 0.0)
    orders, means = list(itertools.permutations(here)), Means(forest)
    for order in orders:
        known = {}
        for a in order:
            before = means.where(known)
            known = known | {a: here[a]}
            parts[a] = parts[a] + (means.where(known) - before) / len(orders)
    return parts


def few(forest):
    """Whether every combination of pieces can be looked at."""
    sizes = [len(p) for p in Scores(forest).pieces.values()]
    return math.prod(sizes) <= 60


@examples(25)
@given(scored())
def test_effects_are_differences_of_means(forest):
    if not few(forest):
        return
    effects, means = forest.effects(), Means(forest)
    whole = means.where({})
    names, places = forest.domain.names, Scores(forest).pieces
    np.testing.assert_allclose(effects.base, whole, atol=CLOSE)
    for a in places:
        main = effects.of(names[a])
        for i in range(len(places[a])):
            np.testing.assert_allclose(main.values[i], means.where({a: i}) - whole, atol=CLOSE)
        np.testing.assert_allclose(places[a].weights @ main.values, 0, atol=CLOSE)
    for pair in effects.pairs:
        a, b = (names.index(n) for n in pair.names)
        for i, j in np.ndindex(pair.values.shape[:2]):
            alone = effects.of(names[a]).values[i] + effects.of(names[b]).values[j]
            together = means.where({a: i, b: j}) - whole
            np.testing.assert_allclose(pair.values[i, j], together - alone, atol=CLOSE)


def test_bands_are_the_noise_of_the_leaves_behind_them():
    """By moving the score of one leaf after another, and looking at what moves with it."""
    learner, table = ForestClassifier(small_domain(records=400), epsilon=20), small_table(400)
    several = (
        learner.fit(table).forest_ for _ in range(8)
    )  # by chance, trees may ask one attribute
    forest = next(forest for forest in several if forest.effects().pairs)
    before, leaves = forest.effects(), forest.trees.leaves
    squares = [0.0] * (len(before.mains) + len(before.pairs))
    for leaf in leaves:
        values = forest.values.copy()
        values[leaf] += [-0.5, 0.5]  # one more of the log-odds
        after = replace(forest, values=values).effects()
        moved = [after.of(e.attribute.name).values - e.values for e in before.mains]
        pairs = {pair.names: pair.values for pair in after.pairs}
        moved += [pairs[pair.names] - pair.values for pair in before.pairs]
        squares = [
            s + 4 * forest.variance[leaf] * m**2 for s, m in zip(squares, moved, strict=True)
        ]
    for effect, square in zip((*before.mains, *before.pairs), squares, strict=True):
        np.testing.assert_allclose(effect.noise, np.sqrt(square), atol=CLOSE)
        assert effect.noise.max() > 0


def test_an_empty_cell_does_not_make_its_band_endless():
    """The logarithm is steep there, but the smoothing bounds it: noise of 17 moves it by about 1."""
    table = np.array([[0.0, 1000.0], [1000.0, 0.0]])
    _, noise = shrunk_effects([table], [False], np.array([0.5, 0.5]), 300.0, 2000)
    assert 0 < noise[0].max() < 4


@examples(15)
@given(scored(), st.integers(0, 999))
def test_contributions_are_shapley_values(forest, seed):
    if not few(forest):
        return
    record = synthetic_table(forest.domain, 1, np.random.default_rng(seed)).to_pandas()
    codes, pieces = forest.encode(record)[0], Scores(forest).pieces
    twin = shapley(forest, {a: int(p.of_code[codes[a]]) for a, p in pieces.items()})
    found = parts_of(forest.explain(record), forest)
    for a, name in enumerate(forest.domain.names):
        np.testing.assert_allclose(found[name][0], twin.get(a, 0.0), atol=CLOSE)


def parts_of(frame, forest):
    """Records x scores for each column."""
    if frame.columns.nlevels == 1:
        return {name: frame[[name]].to_numpy() for name in frame}
    return {
        name: frame.xs(name, axis=1, level=1).to_numpy() for name in frame.columns.unique(level=1)
    }


# -- it adds up ------------------------------------------------------------------------------------


@examples(40)
@given(scored(), st.integers(0, 999))
def test_contributions_of_any_forest_add_up(forest, seed):
    records = synthetic_table(forest.domain, 20, np.random.default_rng(seed)).to_pandas()
    chances = forest.predict_proba(records)
    added = sum(parts_of(forest.explain(records), forest).values())
    logs = np.hstack([np.zeros((20, 1)), added]) if chances.shape[1] == 2 else added
    again = np.exp(logs - logs.max(axis=1, keepdims=True))
    np.testing.assert_allclose(again / again.sum(axis=1, keepdims=True), chances, atol=CLOSE)


def fitted(labels, epsilon):
    """A forest by each of the flagship's ways to learn, and records to explain."""
    rng = np.random.default_rng(0)
    numeric = Numeric("size", 0, 10, cells=64, missing=True)
    attributes = [Categorical("color", tuple("abc"), other="c", missing="b"), numeric]
    domain = Domain(attributes, Categorical("kind", tuple(range(labels))), records=3000)
    table = synthetic_table(domain, 3000, rng).to_pandas()
    size = table["size"].fillna(3)
    table["kind"] = (size // 3 + (table["color"] == "a")).astype(int) % labels
    return ForestClassifier(domain, epsilon=epsilon).fit(table).forest_, table


WAYS = {
    "steps alone": (2, 0.1),
    "steps and cells": (2, 20),
    "tables": (12, 1),
    "steps for many labels": (4, 3),
    "no noise": (3, "inf"),
}


@pytest.fixture(params=WAYS.values(), ids=WAYS)
def learned(request):
    return fitted(*request.param)


def test_every_way_of_learning_adds_up_in_every_form(learned, tmp_path):
    """In memory, from JSON, and against the probabilities of an ONNX runtime."""
    forest, table = learned
    table = table[:200].drop(columns="kind")
    frame = forest.explain(table)
    added = sum(parts_of(frame, forest).values())
    np.testing.assert_allclose(added, scores_of(forest, forest.encode(table)), atol=CLOSE)
    forest.save(tmp_path / "forest.json")
    pd.testing.assert_frame_equal(Forest.load(tmp_path / "forest.json").explain(table), frame)
    cells = {n: table[n].astype(object).where(table[n].notna(), None).tolist() for n in table}
    logs = np.log(run_onnx(forest, cells)[1])
    whole = logs[:, 1:] - logs[:, :1] if added.shape[1] == 1 else logs - logs.mean(1)[:, None]
    np.testing.assert_allclose(added, whole, atol=CLOSE)


def test_joined_forests_add_up_and_have_effects_of_all_parties():
    table = small_table(500)
    halves = [small_domain(records=500).view(names) for names in (["color"], ["round", "size"])]
    parties = zip(("north", "south"), halves, strict=True)
    forest = join({n: ForestClassifier(d, epsilon=5).fit(table[[*d.names, "good"]]).forest_
                   for n, d in parties})  # fmt: skip
    added = forest.explain(table).sum(axis=1)
    np.testing.assert_allclose(added, scores_of(forest, forest.encode(table))[:, 0], atol=CLOSE)
    named = {e.attribute.name for e in forest.effects().mains} | {*forest.effects().never_asked}
    assert named == {"color", "round", "size"}


def test_a_label_is_chosen_by_name():
    table = small_table(300)
    forest = ForestClassifier(small_domain(records=300), epsilon=5).fit(table).forest_
    yes, no = forest.explain(table, "yes"), forest.explain(table, label="no")
    pd.testing.assert_frame_equal(yes, -no)
    pd.testing.assert_frame_equal(yes, forest.explain(table))
    with pytest.raises(ValueError, match="no label 'maybe'; it has no, yes"):
        forest.explain(table, "maybe")


def test_an_estimator_explains_its_second_class():
    """`classes_` are sorted, whatever order the domain declares."""
    domain = Domain([Categorical("a", ("x", "y"))], Categorical("b", ("yes", "no")), records=200)
    X, y = [["x"], ["y"]] * 100, ["yes", "no"] * 100
    model = ForestClassifier(domain, epsilon=10).fit(X, y)
    chances = model.predict_proba(X)
    np.testing.assert_allclose(
        model.explain(X).sum(axis=1), np.log(chances[:, 1] / chances[:, 0]), atol=CLOSE
    )


def test_no_attribute_takes_the_name_of_the_base():
    domain = Domain([Categorical("(base)", ("x", "y"))], Categorical("b", (0, 1)), records=9)
    forest = ForestClassifier(domain, epsilon=1).fit([["x"]] * 9, [1] * 9).forest_
    assert list(forest.explain([["x"]]).columns) == ["((base))", "(base)"]


# -- what is shown ---------------------------------------------------------------------------------


def test_other_and_missing_have_their_place(learned):
    frame = learned[0].effects().to_frame()
    for name, group in frame.groupby("attribute"):
        roles = dict(zip(group["value"], group["role"], strict=True))
        if name == "color":
            assert roles == {"a": "", "b": "missing", "c": "other"}
        else:
            assert roles.pop("missing") == "missing"
            assert {*roles.values()} == {""}
    assert set(frame["label"]) == set(learned[0].effects().labels)
    assert (frame["noise"] >= 0).all()


def test_effects_are_read_from_releases_alone(learned):
    forest = learned[0]
    effects, again = forest.effects(), Forest.from_json(forest.to_json()).effects()
    assert effects.draw() == again.draw()
    said = json.loads(json.dumps(effects.to_json(), allow_nan=False))
    assert said == json.loads(json.dumps(again.to_json()))
    assert said["guarantee"] == forest.guarantee.to_json()
    assert len(said["effects"]) == len(effects.to_frame())


def test_pictures_are_drawn_in_any_width(learned, tmp_path):
    effects = learned[0].effects()
    for columns in (1, 3):
        ElementTree.fromstring(effects.draw(columns=columns))
    name = effects.mains[0].attribute.name
    drawn = effects.draw(tmp_path / "one.svg", attribute=name)
    assert (tmp_path / "one.svg").read_text(encoding="utf-8") == drawn
    assert name in drawn
    with pytest.raises(FrithError, match="svg or .png"):
        effects.draw(tmp_path / "one.pdf")
    with pytest.raises(ValueError, match="no attribute 'nobody'"):
        effects.draw(attribute="nobody")


def test_forests_of_counts_say_that_they_have_no_effects():
    table = small_table(100)
    for name, learner in BY_NAME.items():
        forest = learner(small_domain(records=100), epsilon=1).fit(table).forest_
        if name != "forest":
            for ask in (forest.effects, lambda f=forest: f.explain(table)):
                with pytest.raises(FrithError, match="holds label counts"):
                    ask()


# -- scikit-learn's own tools ----------------------------------------------------------------------


def test_inspection_tools_of_scikit_learn_work():
    X, y, domain = load("tic_tac_toe")
    model = ForestClassifier(domain, epsilon=20).fit(X, y)
    found = partial_dependence(model, X[:60], [4], categorical_features=[4], kind="average")
    assert found["average"].shape == (1, X.iloc[:60, 4].nunique())
    worth = permutation_importance(model, X[:200], y[:200], n_repeats=2, random_state=0)
    assert worth.importances_mean.shape == (X.shape[1],)
    assert worth.importances_mean.max() > 0


def test_a_label_has_one_color_in_effects_and_trees():
    forest = ForestClassifier(small_domain(), epsilon=5).fit(small_table()).forest_
    second, first = legend(forest.effects())
    assert [first, second] == [
        (color, f"towards {label}")
        for color, label in zip(COLORS, forest.domain.label_values, strict=False)
    ]
