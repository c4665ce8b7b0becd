"""Domains: what they refuse, what they keep through files, and when two are the same."""

import json
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frith.domain import (
    MAX_VALUES,
    Categorical,
    Domain,
    Numeric,
    Person,
    class_array,
    spelling,
)
from frith.domain.attributes import LogTarget
from frith.domain.domain import FORMAT
from frith.engines.draft import learn_domain
from frith.errors import DomainError, FormatError, PrivacyLeakWarning
from tests.strategies import attributes, domains, examples, numerics, unicode, value_lists

LABEL = Categorical("class", ("no", "yes"))
COLOR = Categorical("color", ("red", "green"))
names = unicode.filter(bool)


# -- files ---------------------------------------------------------------------------------------


@examples(150)
@given(domains(names=names), st.none() | st.integers(0, 10**12), st.booleans())
def test_toml_and_json_keep_every_domain(domain, records, learned):
    """Any legal text, quotes and control characters among it, comes back as it was."""
    domain = Domain(domain.attributes, domain.label, records, learned=learned)
    for copy in (
        Domain.from_toml(domain.to_toml()),
        Domain.from_json(json.loads(json.dumps(domain.to_json()))),
        pickle.loads(pickle.dumps(domain)),
    ):
        assert copy == domain
        assert copy.to_json() == domain.to_json()
        assert [type(v) for a in _lists(copy) for v in a] == [
            type(v) for a in _lists(domain) for v in a
        ]


def _lists(domain):
    return [a.values for a in (*domain.attributes, domain.label) if isinstance(a, Categorical)]


@examples(20)
@given(domain=domains(names=names, person=True))
def test_saved_files_are_loaded_as_they_were(tmp_path_factory, domain):
    folder = tmp_path_factory.mktemp("domains")
    for name in ("domain.toml", "domain.json", "domain"):
        domain.save(folder / name)
        assert Domain.load(folder / name) == domain


@pytest.mark.parametrize(
    "text", ['"', "'", "\\", "\n", "\r\n", "\x00", "\x7f", "\u2028", "]]", "é"]
)
def test_awkward_texts_survive_toml(text):
    domain = Domain((Categorical(text, (text, text * 2), other=text),), LABEL)
    assert Domain.from_toml(domain.to_toml()) == domain


def test_a_file_with_a_byte_order_mark_is_read(tmp_path):
    domain = Domain((COLOR,), LABEL)
    path = tmp_path / "domain.toml"
    path.write_bytes(b"\xef\xbb\xbf" + domain.to_toml().encode())
    assert Domain.load(path) == domain


@pytest.mark.parametrize(
    "text",
    ["not toml", "a = ", "= 1", "a = 1\na = 2", "x = " + "1" * 5_000, "x = " + "[" * 100_000],
    ids=["words", "no value", "no key", "a key twice", "an endless number", "endless brackets"],
)
def test_what_is_not_toml_is_a_format_error(text):
    with pytest.raises(FormatError, match="not valid TOML"):
        Domain.from_toml(text)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("d.json", b"{"),
        ("d.json", b"[" * 100_000),
        ("d.json", b'{"x": ' + b"1" * 5_000 + b"}"),
        ("d.json", b"\xff\xfe"),
        ("d.toml", b"\xff\xfe"),
        ("d.toml", b"PK\x03\x04"),
    ],
)
def test_a_damaged_file_is_a_format_error_that_names_it(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FormatError, match=name):
        Domain.load(tmp_path / name)


@pytest.mark.parametrize(
    "data", [{}, {"format": "frith-domain/2"}, {"format": 1}, [], None, "text"]
)
def test_another_format_is_refused(data):
    with pytest.raises(FormatError, match=FORMAT):
        Domain.from_json(data)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"persons": {"column": "who", "records": 1}}, "'persons'"),
        ({"Person": {"column": "who", "records": 1}}, "'Person'"),
        ({"person": {}}, "'column'"),
        ({"person": {"column": "who"}}, "'records'"),
        ({"person": {"column": "who", "records": 1, "max": 2}}, "'max'"),
        ({"person": []}, "person"),
        ({"person": "who"}, "person"),
        ({"label": "class"}, "label"),
        ({"label": None}, "label"),
        ({"label": {"name": "class"}}, "'class'"),
        ({"label": {"name": "class", "values": ["a"], "low": 1}}, "'low'"),
        ({"attributes": None}, "attributes"),
        ({"attributes": "color"}, "attributes"),
        ({"attributes": {"color": 1}}, "attributes"),
        ({"attributes": []}, "at least one attribute"),
        ({"attributes": [5]}, "attribute"),
        ({"attributes": [{"values": ["a"]}]}, "'name'"),
        ({"attributes": [{"name": "color"}]}, "'color'.*'low'"),
        ({"attributes": [{"name": "color", "values": 5}]}, "'color'"),
        ({"attributes": [{"name": "color", "values": "red"}]}, "'color'"),
        ({"attributes": [{"name": "color", "values": ["a"], "othr": "a"}]}, "'color'.*'othr'"),
        ({"attributes": [{"name": "size", "low": 0, "high": 1, "cels": 5}]}, "'size'.*'cels'"),
        ({"attributes": [{"name": "size", "low": 0, "high": math.nan}]}, "'size'"),
        ({"learned": "no"}, "learned"),
        ({"records": "5"}, "records"),
    ],
)
def test_a_wrong_entry_of_a_file_is_named(change, named):
    """A curator who misspells `person` must hear of it: the guarantee would be another."""
    data = Domain((COLOR,), LABEL).to_json()
    with pytest.raises(DomainError, match=named):
        Domain.from_json({**data, **change})
    for entry in change.keys() & {"label", "attributes"}:
        with pytest.raises(DomainError, match=entry):
            Domain.from_json({k: v for k, v in data.items() if k != entry})


# -- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "kwargs"),
    [
        ([], {}),
        (["a", "b", "a"], {}),
        ([1, 1.0], {}),
        ([0.0, -0.0], {}),
        ([True, True], {}),
        (["a", 1], {}),
        ([True, 1], {}),
        ([None], {}),
        ([math.nan], {}),
        ([math.inf], {}),
        ([b"a"], {}),
        ([["a"]], {}),
        ([10**400], {}),
        ([10**5_000], {}),
        (["\ud800"], {}),
        ("abc", {}),
        (b"abc", {}),
        ({"a", "b"}, {}),
        ({"a": 1}, {}),
        (5, {}),
        (None, {}),
        (["a"], {"other": "b"}),
        (["a"], {"missing": "b"}),
        (["a"], {"other": ["a"]}),
        (["a"], {"missing": 10**5_000}),
        (range(MAX_VALUES + 1), {}),
    ],
)
def test_bad_values_are_refused_by_the_attributes_name(values, kwargs):
    with pytest.raises(DomainError, match="'color'"):
        Categorical("color", values, **kwargs)


def test_65_535_values_are_legal():
    attribute = Categorical("zip", range(MAX_VALUES))
    assert attribute.size == MAX_VALUES
    assert Domain((attribute,), LABEL).code_type == np.uint16


@pytest.mark.parametrize(
    ("low", "high", "kwargs"),
    [
        (1, 1, {}),
        (2, 1, {}),
        (math.nan, 1, {}),
        (0, math.nan, {}),
        (-math.inf, 1, {}),
        (0, math.inf, {}),
        (0, 10**400, {}),
        pytest.param(-(10**5_000), 0, {}, id="an endless number"),
        (-1e308, 1e308, {}),
        ("0", 1, {}),
        (None, 1, {}),
        (False, True, {}),
        (0, 1, {"cells": 1}),
        (0, 1, {"cells": 0}),
        (0, 1, {"cells": -5}),
        (0, 1, {"cells": 2.0}),
        (0, 1, {"cells": True}),
        (0, 1, {"cells": "many"}),
        (0, 1, {"cells": 10**5_000}),
        (0, 1, {"cells": MAX_VALUES + 1}),
        (0, 1, {"cells": MAX_VALUES, "missing": True}),
        (0, 1, {"scale": "cubic"}),
        (0, 1, {"scale": None}),
        (0, 1, {"scale": ["log"]}),
        (0, 1, {"missing": "yes"}),
        (0, 1, {"missing": 2}),
        (0, 1, {"missing": None}),
    ],
)
def test_bad_numbers_are_refused_by_the_attributes_name(low, high, kwargs):
    with pytest.raises(DomainError, match="'size'"):
        Numeric("size", low, high, **kwargs)


@pytest.mark.parametrize("name", ["", None, 5, b"a", "\ud800"])
def test_a_name_is_a_text_that_a_file_can_hold(name):
    for make in (
        lambda: Categorical(name, ("a",)),
        lambda: Numeric(name, 0, 1),
        lambda: Person(name, 1),
    ):
        with pytest.raises(DomainError, match="non-empty string"):
            make()


@pytest.mark.parametrize(
    ("kwargs", "named"),
    [
        ({"attributes": ()}, "at least one"),
        ({"attributes": (COLOR, Numeric("color", 0, 1))}, "'color' is declared twice"),
        ({"attributes": (COLOR, LABEL)}, "'class' is also the label"),
        ({"attributes": ("color",)}, "'color'"),
        ({"label": "class"}, "'class'"),
        ({"label": Numeric("class", 0, 1, missing=True)}, "'class'.*not counted"),
        ({"label": Numeric("class", 0, 9, scale="log")}, "'class'.*bounds above 0"),
        ({"label": Numeric("class", 1, 9, scale="log", missing=True)}, "'class'.*not counted"),
        ({"attributes": (LogTarget("pay", 1, 9),)}, "an attribute is one of"),
        ({"label": Categorical("class", ("a",), other="a")}, "'class'"),
        ({"label": Categorical("class", ("a",), missing="a")}, "'class'"),
        ({"person": Person("color", 1)}, "'color' is also the person"),
        ({"person": Person("class", 1)}, "'class' is also the person"),
        ({"person": "who"}, "'who'"),
        ({"records": -1}, "records"),
        ({"records": 1.0}, "records"),
        ({"records": True}, "records"),
        ({"records": "5"}, "records"),
        ({"learned": 1}, "learned"),
    ],
)
def test_a_domain_that_contradicts_itself_is_refused(kwargs, named):
    with pytest.raises(DomainError, match=named):
        Domain(**{"attributes": (COLOR,), "label": LABEL} | kwargs)


@pytest.mark.parametrize("records", [0, -1, 1.0, True, "2", None])
def test_a_person_has_at_least_one_record(records):
    with pytest.raises(DomainError, match="'who'"):
        Person("who", records)


# -- values --------------------------------------------------------------------------------------


@examples(100)
@given(value_lists)
def test_every_declared_value_has_its_own_code(values):
    attribute = Categorical("a", values)
    assert [attribute.codes[spelling(v)] for v in values] == list(range(len(values)))


@examples(100)
@given(value_lists)
def test_an_array_of_classes_holds_the_declared_values(values):
    assert class_array(tuple(values)).tolist() == values


@pytest.mark.parametrize("values", [("a", "a\x00"), (2**63, -1), (2**53 + 1, 0.5), (2**70, 1)])
def test_classes_that_numpy_would_round_stay_apart(values):
    assert class_array(values).tolist() == list(values)


def test_values_from_arrays_are_as_good_as_pythons_own():
    typed = Categorical("a", np.array([1, 2]), other=np.int64(2))
    assert Domain((typed,), LABEL) == Domain((Categorical("a", (1, 2), other=2),), LABEL)
    bounds = Numeric("a", np.int64(0), np.float32(1))
    assert Domain((bounds,), LABEL) == Domain((Numeric("a", 0, 1),), LABEL)


def test_what_is_outside_or_missing_has_a_declared_code():
    assert Categorical("a", ("x", "y")).outside_code == 0
    assert Categorical("a", ("x", "y")).missing_code == 0
    assert Categorical("a", ("x", "y"), other="y").missing_code == 1
    assert Categorical("a", ("x", "y"), missing="y").outside_code == 0
    assert Categorical("a", ("x", "y"), missing="y").missing_code == 1
    assert Numeric("a", 0, 1, cells=7).missing_code == 0
    assert Numeric("a", 0, 1, cells=7, missing=True).missing_code == 7
    assert Numeric("a", 0, 1, cells=7, missing=True).size == 8


# -- grids ---------------------------------------------------------------------------------------


@examples(200)
@given(numerics())
def test_edges_ascend_strictly_between_the_bounds(attribute):
    edges = attribute.edges
    assert len(edges) == attribute.cells - 1
    assert np.all(np.diff([attribute.low, *edges, attribute.high]) > 0)


@examples(100)
@given(numerics())
def test_edges_are_even_on_their_scale(attribute):
    low, high, n = attribute.low, attribute.high, attribute.cells
    unit = max(abs(low), abs(high)) / 2**16

    def place(x):
        return x if attribute.scale == "linear" else math.copysign(math.log1p(abs(x) / unit), x)

    for i, edge in enumerate(attribute.edges, start=1):
        share = (place(edge) - place(low)) / (place(high) - place(low))
        assert share == pytest.approx(i / n, abs=1e-3 / n)


@pytest.mark.parametrize("scale", ["linear", "log"])
@pytest.mark.parametrize(
    ("low", "high"),
    [
        (1e-300, 1e300),
        (1e-310, 1),
        (0, 1e-300),
        (-8e307, 8e307),
        (0, 1.7e308),
        (-1, 0),
        (1e15, 1.1e15),
    ],
)
def test_extreme_bounds_give_a_strict_grid(low, high, scale):
    assert np.all(np.diff([low, *Numeric("size", low, high, scale).edges, high]) > 0)


@pytest.mark.parametrize("scale", ["linear", "log"])
@pytest.mark.parametrize(
    ("low", "high"),
    [(0, 5e-324), (-5e-324, 5e-324), (1, 1 + 2**-52), (1e16, 1e16 + 2), (-1e300, -1e300 + 1e285)],
)
def test_bounds_too_close_for_a_grid_are_refused(low, high, scale):
    """Cells that no number can reach would be a promise of resolution that is not there."""
    with pytest.raises(DomainError, match=r"'size'.*too close"):
        Numeric("size", low, high, scale)


def test_fewer_cells_fit_between_close_bounds():
    with pytest.raises(DomainError, match="too close"):
        Numeric("size", 1e16, 1e16 + 16)
    assert len(Numeric("size", 1e16, 1e16 + 16, cells=8).edges) == 7


# -- equality ------------------------------------------------------------------------------------


ALIKE = [1, 1.0, True, "1", "true"]


@pytest.mark.parametrize("one", ALIKE, ids=repr)
@pytest.mark.parametrize("other", ALIKE, ids=repr)
def test_values_that_python_holds_for_equal_make_different_domains(one, other):
    first, second = (Domain((Categorical("a", (v,)),), LABEL) for v in (one, other))
    same = type(one) is type(other) and one == other
    assert (first == second) == same
    assert (first.fingerprint == second.fingerprint) == same
    assert (hash(first) == hash(second)) == same


@examples(200)
@given(st.data())
def test_fingerprints_are_equal_exactly_where_domains_are(data):
    made = st.builds(
        lambda a, records, person, learned: Domain((a,), LABEL, records, person, learned),
        st.one_of(attributes(), st.just(COLOR)),
        st.sampled_from([None, 0, 1]),
        st.sampled_from([None, Person("who", 1), Person("who", 2)]),
        st.booleans(),
    )
    one, other = data.draw(made), data.draw(made)
    same = repr(one) == repr(other)
    assert (one == other) == same
    assert (one.fingerprint == other.fingerprint) == same
    assert (hash(one) == hash(other)) == same


def test_a_domain_is_equal_to_nothing_else():
    domain = Domain((COLOR,), LABEL)
    assert domain != domain.to_json()
    assert domain == Domain([COLOR], LABEL)


def test_the_fingerprint_never_changes():
    """It is the key that fixes which records a person keeps, so a change would be a new table."""
    attributes = (COLOR, Numeric("size", 0, 10, "log", 16, True))
    domain = Domain(attributes, LABEL, 100, Person("who", 2))
    assert domain.fingerprint == "6c368ac5bfaed53a911b3a2f984dcf3dfa121b16065be66d2915a87722431743"


# -- views ---------------------------------------------------------------------------------------


@examples(50)
@given(st.data())
def test_a_view_has_some_attributes_in_their_order_and_all_else(data):
    domain = replace(data.draw(domains(person=True)), records=7, learned=True)
    chosen = data.draw(st.lists(st.sampled_from(domain.names), min_size=1))
    view = domain.view(chosen)
    assert view.names == tuple(name for name in domain.names if name in chosen)
    assert replace(view, attributes=domain.attributes) == domain
    assert domain.view(domain.names) == domain
    assert domain.view(iter(chosen)) == view


def test_a_view_of_what_is_not_there_is_refused_by_its_name():
    domain = Domain((COLOR, Numeric("size", 0, 1)), LABEL)
    for names_, named in ((["color", "weight"], "'weight'"), (["class"], "'class'"), ([], "size")):
        with pytest.raises(DomainError, match=named):
            domain.view(names_)
    assert domain.view("size").names == ("size",)  # not its letters
    with pytest.raises(DomainError, match="'sizes'"):
        domain.view("sizes")


# -- drafts --------------------------------------------------------------------------------------


def test_a_domain_read_off_a_table_says_so():
    with pytest.warns(PrivacyLeakWarning, match="not private"):
        domain = learn_domain(_frame(), "class")
    assert domain.learned
    assert Domain.from_toml(domain.to_toml()).learned


def _frame():
    import pandas as pd

    return pd.DataFrame({"color": ["red", "green"], "class": ["no", "yes"]})


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_the_grid_of_a_number_cannot_be_moved(scale):
    """Codes would change, and the fingerprint that parties compare would not."""
    with pytest.raises(ValueError, match="read-only"):
        Numeric("age", 0, 99, scale=scale).edges[0] = 50
