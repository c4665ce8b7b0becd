"""What is said about parameters: docstrings agree with signatures, and forms have a hint for each."""

import ast
import inspect

import griffe
import pytest

from frith.learners import BY_NAME, REGRESSORS
from frith.learners.hints import HINTS, OWN, parameter_hints

pytestmark = pytest.mark.parametrize("learner", BY_NAME.values(), ids=BY_NAME.keys())


def documented(learner):
    """The parameters of the class docstring, read as numpydoc by the library that makes the docs."""
    sections = griffe.Docstring(inspect.getdoc(learner)).parse("numpy", warnings=False)
    (section,) = (s for s in sections if s.kind is griffe.DocstringSectionKind.parameters)
    return section.value


def test_every_parameter_is_documented_in_the_order_of_the_signature(learner):
    assert [p.name for p in documented(learner)] == list(inspect.signature(learner).parameters)


def test_every_parameter_has_its_type_its_default_and_a_meaning(learner):
    for said in documented(learner):
        default = inspect.signature(learner).parameters[said.name].default
        assert said.annotation, said.name
        assert ast.literal_eval(said.default) == default, said.name
        assert type(ast.literal_eval(said.default)) is type(default), said.name
        assert said.description.endswith("."), said.name
        assert "as in" not in said.description, said.name


def test_the_documented_type_names_that_of_the_default(learner):
    names = {bool: "bool", int: "int", float: "float", str: '"', type(None): "None"}
    for said in documented(learner):
        default = ast.literal_eval(said.default)
        kinds = [names[type(default)]] + ["str", "float"] * (type(default) in (str, int))
        assert any(kind in str(said.annotation) for kind in kinds), said.name


def test_every_parameter_has_a_hint_of_one_sentence(learner):
    hints = parameter_hints(learner)
    assert list(hints) == list(inspect.signature(learner).parameters)
    for hint in hints.values():
        assert hint.endswith(".")
        assert ". " not in hint
        assert "\n" not in hint


def test_hints_name_the_values_that_a_word_may_have(learner):
    for name, parameter in inspect.signature(learner).parameters.items():
        if type(parameter.default) is str:
            assert f'"{parameter.default}"' in parameter_hints(learner)[name]


def test_no_hint_is_for_a_parameter_that_is_gone(learner):
    kinds = [*BY_NAME.values(), *REGRESSORS.values()]
    known = {name for kind in kinds for name in inspect.signature(kind).parameters}
    assert set(HINTS) == known
    assert set(OWN.get(learner, {})) <= set(inspect.signature(learner).parameters)
