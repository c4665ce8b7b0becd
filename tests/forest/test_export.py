"""An exported forest answers as the library does, to the last tie."""

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frith import Categorical, Date, Domain, Forest, Guarantee, Numeric
from frith.datasets import load
from frith.domain import spelling
from frith.forest.onnx.inputs import input_names, input_type
from frith.forest.trees import Trees
from frith.forest.voting import VOTES
from frith.growing.random_trees import grow_random_trees
from tests import strategies
from tests.learners.conformance import LEARNERS
from tests.tables import small_domain, small_table

NO_INTEGER = -(2**63)
NASTY = [0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308, math.inf, -math.inf, math.nan, None]


# -- the model in another runtime --------------------------------------------------------------


def session_of(forest):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    return runtime.InferenceSession(forest.to_onnx().SerializeToString())


def run(forest, table):
    return session_of(forest).run(["label", "probabilities"], feed(table, forest.domain))


def feed(table, domain):
    """Cells as the docs of `to_onnx` spell them."""
    names = input_names(domain)
    return {names[a.name]: spelled(table[a.name], a) for a in domain.attributes}


def spelled(cells, attribute):
    kind = input_type(attribute)
    missing = {np.object_: "", np.int64: NO_INTEGER, np.float64: math.nan}[kind]
    filled = [missing if c is None else c for c in cells]
    return np.array(filled, dtype=kind).reshape(-1, 1)


def assert_same(forest, table):
    """Labels are equal, and so are probabilities: more than the 1e-6 that is asked of them."""
    label, probabilities = run(forest, table)
    arrow = pa.table({a.name: arrow_column(table[a.name], a) for a in forest.domain.attributes})
    expected = forest.predict(arrow)
    if label.dtype == object:
        expected = np.array([spelling(v) for v in expected], dtype=object)
    assert label.dtype == expected.dtype
    assert label.tolist() == expected.tolist()
    np.testing.assert_allclose(probabilities, forest.predict_proba(arrow), rtol=0, atol=1e-12)


def arrow_column(cells, attribute):
    attribute = getattr(attribute, "listed", attribute)
    if isinstance(attribute, Date):
        return pa.array(
            [None if c is None else attribute.value_of(c) for c in cells], DATES[attribute.has_time]
        )
    if isinstance(attribute, Categorical) and attribute.kind == "boolean":
        return pa.array(cells, pa.bool_())
    kinds = {np.object_: pa.string(), np.int64: pa.int64(), np.float64: pa.float64()}
    return pa.array(cells, kinds[input_type(attribute)])


DATES = {False: pa.date32(), True: pa.timestamp("s")}


# -- random forests and nasty cells ------------------------------------------------------------


def nasty_cells(attribute, more):
    """Declared, foreign and missing cells; of a number, its edges and what lies beside them."""
    attribute = getattr(attribute, "listed", attribute)
    if isinstance(attribute, Date):
        inside = [attribute.low, *attribute.edges, attribute.high]
        return [None, *inside, *(number - 1 for number in inside[1:])]
    if isinstance(attribute, Numeric):
        near = np.array([attribute.low, *attribute.edges, attribute.high])
        beside = [np.nextafter(near, side).tolist() for side in (-math.inf, math.inf)]
        return [*NASTY, *near.tolist(), *beside[0], *beside[1]]
    if attribute.kind == "boolean":
        return [True, False, None]
    kind = input_type(attribute)
    if kind is np.float64:
        return [*NASTY, *(float(v) for v in attribute.values), 0.5, 2.0**53, *more["floats"]]
    foreign = ["x", "1", "1.0", "true", "nan", *more["texts"]]
    if kind is np.int64:
        foreign = [0, 1, 7, 2**63 - 1, *more["integers"]]
    declared = [v if isinstance(v, str) else int(v) for v in attribute.values]
    # What spells a missing cell cannot spell anything else, unless it is a declared value.
    missing = NO_INTEGER if kind is np.int64 else ""
    cells = [*declared, *(c for c in foreign if c != missing)]
    return cells if missing in declared else [*cells, None]


def drawn(cells, rows, rng):
    return [cells[i] for i in rng.integers(0, len(cells), rows)]


@st.composite
def values_of(draw, trees, domain):
    """Released numbers: few different ones so that they tie, or fractions, or none positive."""
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    low, high = draw(st.sampled_from([(-3, 3), (0, 2), (-100, 1_000), (-3, 1), (0, 10**12)]))
    values = rng.integers(low, high, (trees.n_nodes, domain.n_labels))
    return values / 7 if draw(st.booleans()) else values


@st.composite
def forests(draw, names=None):
    domain = draw(strategies.domains(names=names))
    trees = draw(strategies.trees(domain))
    values = draw(values_of(trees, domain))
    return a_forest(domain, trees, values, draw(st.sampled_from(VOTES)))


def a_forest(domain, trees, values, vote="counts"):
    return Forest(domain, trees, values, Guarantee(Fraction(1)), np.ones(trees.n_nodes), vote)


@strategies.examples(150)
@given(st.data())
def test_any_forest_and_its_onnx_model_agree_on_any_cells(data):
    forest = data.draw(forests())
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    more = {
        "texts": data.draw(st.lists(strategies.unicode, max_size=4)),
        "integers": data.draw(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=4)),
        "floats": data.draw(st.lists(st.floats(), max_size=4)),
    }
    rows = data.draw(st.sampled_from([0, 1, 60]))
    attributes = forest.domain.attributes
    table = {a.name: drawn(nasty_cells(a, more), rows, rng) for a in attributes}
    assert_same(forest, table)


@pytest.mark.parametrize("vote", VOTES)
def test_long_sums_of_shares_round_and_tie_as_in_the_library(vote):
    """Thirds and sevenths over many trees: added in another order, some labels would change."""
    rng = np.random.default_rng(0)
    attributes = [Categorical(f"a{i}", ("x", "y", "z")) for i in range(6)]
    domain = Domain(attributes, Categorical("label", ("p", "q", "r")))
    trees = grow_random_trees(domain, 40, 2, rng)
    forest = a_forest(domain, trees, rng.integers(-1, 3, (trees.n_nodes, 3)), vote)
    table = {a.name: drawn(["x", "y", "z"], 3_000, rng) for a in attributes}
    assert_same(forest, table)
    if vote == "shares":  # it can fail
        leaves = forest.leaf_values[rng.integers(0, len(trees.leaves), (3_000, 40))]
        backwards = sum(leaves[:, t] for t in range(39, -1, -1))
        forwards = sum(leaves[:, t] for t in range(40))
        assert np.any(forwards.argmax(axis=1) != backwards.argmax(axis=1))


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("scale", ["linear", "log"])
def test_numbers_at_every_edge_fall_on_the_side_the_library_says(scale, missing):
    rng = np.random.default_rng(0)
    attributes = [
        Numeric("fine", -0.1, 0.7, scale, 3_000, missing),
        Numeric("coarse", -1e9, 3.3, scale, 2, not missing),
        Numeric("middle", 1e-3, 1e6, scale, 63, missing),
    ]
    domain = Domain(attributes, Categorical("y", (0, 1, 2)))
    trees = grow_random_trees(domain, 6, 9, rng)
    forest = a_forest(domain, trees, rng.integers(0, 9, (trees.n_nodes, 3)))
    cells = [nasty_cells(a, {}) for a in attributes]
    rows = max(map(len, cells))
    assert_same(forest, {a.name: (c * rows)[:rows] for a, c in zip(attributes, cells, strict=True)})


def test_a_text_that_means_a_boolean_is_known_in_every_spelling():
    domain = Domain([Categorical("a", ("x", "True", "False"))], Categorical("y", ("p", "q")))
    trees = grow_random_trees(domain, 1, 1, np.random.default_rng(0))
    forest = a_forest(domain, trees, np.arange(2 * trees.n_nodes).reshape(-1, 2) ** 2)
    assert_same(forest, {"a": ["true", "TRUE", "True", "false", "FALSE", "tRUE", "x", None]})


def test_the_most_values_an_attribute_can_have_are_told_apart():
    values = tuple(range(65_535))
    domain = Domain(
        [Categorical("many", values), Numeric("fine", 0, 1, cells=65_535)],
        Categorical("y", ("a", "b")),
    )
    rng = np.random.default_rng(0)
    trees = grow_random_trees(domain, 2, 1, np.random.default_rng(1))
    assert set(trees.asked) == {0, 1}
    forest = a_forest(domain, trees, rng.integers(-9, 9, (trees.n_nodes, 2)))
    table = {"many": [*values, -1], "fine": rng.uniform(0, 1, 65_536).tolist()}
    assert_same(forest, table)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (("1", "2"), "string"),
        ((1, 2.0, -(2**63)), "int64"),
        ((True, False), "int64"),
        ((1, 2.5), "double"),
        ((1, 2**63), "double"),
        ((0.5, 2**53 + 1), "double"),  # no double is 2**53 + 1, and 2**53 is outside
    ],
)
def test_inputs_have_the_types_their_values_need(values, kind):
    domain = Domain([Categorical("a", values)], Categorical("y", ("p", "q")))
    rng = np.random.default_rng(0)
    trees = grow_random_trees(domain, 1, 1, rng)
    forest = a_forest(domain, trees, rng.integers(0, 1_000, (trees.n_nodes, 2)))
    (column,) = session_of(forest).get_inputs()
    assert (column.name, column.type, column.shape) == ("a", f"tensor({kind})", ["N", 1])
    more = {"texts": [], "integers": [], "floats": []}
    assert_same(forest, {"a": nasty_cells(domain.attributes[0], more)})


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [
        (("no", "yes", "", "\0"), object),
        ((3, 1, 2), np.int64),
        ((0.5, 1, -2), np.float64),
        ((True, False), np.bool_),
        ((2**64 - 1, 2**63), np.uint64),
        ((10**30, 3), object),  # no ONNX number holds it
    ],
)
def test_labels_come_out_in_their_own_type(labels, dtype):
    domain = Domain([Categorical("a", labels)], Categorical("y", labels))
    trees = Trees(*(np.array(x, np.int32) for x in ([0], [0, *[-1] * len(labels)],
                    [-1] * (len(labels) + 1), [1, *[-1] * len(labels)])))  # fmt: skip
    eye = np.vstack([np.ones(len(labels), int), np.eye(len(labels), dtype=int)])
    forest = a_forest(domain, trees, eye)
    label, _ = run(forest, {"a": list(labels)})
    assert label.dtype == dtype
    assert label.tolist() == ([spelling(v) for v in labels] if dtype is object else list(labels))


def test_inputs_have_the_attributes_names_and_outputs_have_theirs():
    """Also where an attribute has the name of an output, or of something inside the model."""
    names = ["label", "label_", "probabilities", "a b\n", "ü€", " "]
    names += [f"Constant_{i}" for i in range(37, 67)]
    domain = Domain(
        [Categorical(name, ("no", "yes")) for name in names], Categorical("y", ("n", "y"))
    )
    taken = input_names(domain)
    assert taken["label"] == "label__"
    assert {k: v for k, v in taken.items() if k != v} == {
        "label": "label__",
        "probabilities": "probabilities_",
    }
    rng = np.random.default_rng(0)
    trees = grow_random_trees(domain, 8, 4, rng)
    forest = a_forest(domain, trees, rng.integers(-1, 9, (trees.n_nodes, 2)))
    assert_same(forest, {name: drawn(["no", "yes", None], 40, rng) for name in names})


def test_the_model_carries_its_guarantee_and_its_domain():
    table = small_table()
    make = LEARNERS["random-decision"]
    forest = make(small_domain(), epsilon=1).fit(table, table["good"]).forest_
    session = session_of(forest)
    facts = session.get_modelmeta().custom_metadata_map
    assert Guarantee.from_json(json.loads(facts["frith.guarantee"])) == forest.guarantee
    assert facts["frith.domain.domain"] == forest.domain.fingerprint
    assert json.loads(facts["frith.labels"]) == ["no", "yes"]
    assert str(forest.guarantee) in session.get_modelmeta().description


# -- trained forests ---------------------------------------------------------------------------


def mixed_table(rows=400):
    """Every kind of attribute, with missing and foreign cells; the label depends on three."""
    rng = np.random.default_rng(0)
    table = {
        "job": drawn(["clerk", "nurse", "smith", "actor", None], rows, rng),
        "rooms": drawn([1, 2, 3, 9, None], rows, rng),
        "rate": drawn([0.5, 1.5, 2.0, math.nan, 7.0], rows, rng),
        "owns": drawn([True, False, None], rows, rng),
        "age": [*rng.uniform(0, 110, rows - 2), math.nan, None],
        "income": rng.lognormal(9, 2, rows).tolist(),
    }
    rich = (np.array(table["income"]) > 8_000) ^ np.array([j == "nurse" for j in table["job"]])
    label = np.where([r == 3 for r in table["rooms"]], "some", np.where(rich, "much", "little"))
    attributes = [
        Numeric("age", 0, 100, missing=True),
        Categorical("job", ("clerk", "nurse", "smith", "other", "none"), "other", "none"),
        Categorical("rooms", (1, 2, 3, 4), missing=4),
        Categorical("rate", (0.5, 1.5, 2.0), other=2.0),
        Categorical("owns", (False, True)),
        Numeric("income", 0, 1e6, "log", cells=500),
    ]
    return table, label, Domain(attributes, Categorical("spends", ("little", "some", "much")))


@pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS.keys())
def test_a_trained_forest_and_its_onnx_model_agree(make):
    X, y, domain = load("tic_tac_toe")
    forest = make(domain, epsilon=2, random_state=0).fit(X, y).forest_
    assert_same(forest, {name: X[name].tolist() for name in domain.names})
    table, label, domain = mixed_table()
    frame = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in table.items()})
    forest = make(domain, epsilon=20, random_state=0).fit(frame, label).forest_
    for vote in VOTES:
        assert_same(replace(forest, vote=vote), table)


# -- text --------------------------------------------------------------------------------------


def text_forest(vote="counts"):
    """size < 5: red, green, blue; size >= 5 or missing; then whether it is missing."""
    attribute, cut = [2, 0, 2, -1, -1, -1, -1, -1], [8, -1, 16, -1, -1, -1, -1, -1]
    trees = [[0], attribute, cut, [1, 3, 6, -1, -1, -1, -1, -1]]
    values = [[51, 49], [40, 9], [11, 40], [30, 10], [-2, 0], [12, -1], [10, 40], [1, 0]]
    variance = np.array([0, 1, 1, 2, 2, 2, 2, 2.0])
    trees = Trees(*(np.array(x, np.int32) for x in trees))
    return Forest(small_domain(), trees, np.array(values), Guarantee(Fraction(1)), variance, vote)


def test_a_tree_reads_as_conditions_labels_and_support():
    assert text_forest().export_text(0).splitlines() == [
        "|--- size < 5",
        "|   |--- color = 'red'",
        "|   |   |--- good = 'no', confidence 0.75, support 40 ± 10",
        "|   |--- color = 'green'",
        "|   |   |--- no positive count, support -2 ± 10",
        "|   |--- color = 'blue'",
        "|   |   |--- good = 'no', confidence 1.00, support 11 ± 10",
        "|--- size >= 5 or missing",
        "|   |--- size is known",
        "|   |   |--- good = 'yes', confidence 0.80, support 50 ± 10",
        "|   |--- size is missing",
        "|   |   |--- good = 'no', confidence 1.00, support 1 ± 10",
    ]


def test_a_leaf_without_a_word_of_its_own_says_so():
    lines = text_forest("shares").export_text(0).splitlines()
    assert lines[4].strip("| -") == "good = 'no', confidence 0.82 from above, support -2 ± 10"


def test_deep_branches_are_one_line():
    assert text_forest().export_text(max_depth=1).splitlines() == [
        "tree 0 of 1",
        "|--- size < 5",
        "|   |--- good = 'no', confidence 0.82, support 49 ± 8; 3 leaves below",
        "|--- size >= 5 or missing",
        "|   |--- good = 'yes', confidence 0.78, support 51 ± 8; 2 leaves below",
    ]
    assert text_forest().export_text(0, 0) == (
        "|--- good = 'no', confidence 0.51, support 100; 5 leaves below\n"
    )


@strategies.examples(30)
@given(forests(names=strategies.letters))
def test_every_leaf_of_every_tree_is_a_line(forest):
    text = forest.export_text()
    said = "odds of" if forest.kind == "scores" else "support"
    assert text.count(said) == len(forest.trees.leaves)
    assert text.count("tree ") == forest.trees.n_trees


@pytest.mark.parametrize(("tree", "depth"), [(1, None), (-1, None), (0, -1)])
def test_trees_and_depths_that_are_not_there_are_refused(tree, depth):
    with pytest.raises(ValueError, match="no tree|at least 0"):
        text_forest().export_text(tree, depth)
