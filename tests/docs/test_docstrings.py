"""Docstrings are numpydoc: a type in the type's place, a sentence below it, and no name that is gone."""

import ast
import re

import pytest

from tests.imports import SOURCE

FILES = sorted(SOURCE.rglob("*.py"))
SECTION = re.compile(
    r"^(Parameters|Attributes)\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", re.DOTALL | re.MULTILINE
)
ENTRY = re.compile(r"^(\S[^:\n]*?) : ([^\n]+)\n((?:    [^\n]*\n?|\n)*)", re.MULTILINE)
WORDS = "Any array-like bool callable dict float int iterable list mapping ndarray sequence str tuple value"
TYPE = re.compile(
    rf"(?:{WORDS.replace(' ', '|')}|\{{.*\}}|\"\w+\"|[A-Z]\w+)(?: of | or | to |, |\b|$)"
)


def documented(path):
    """Each class or function of a file with the entries of one section: names, type and text."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            for section in SECTION.finditer(f"{ast.get_docstring(node) or ''}\n"):
                yield node, section[1], ENTRY.findall(section[2])


def parameters(function):
    arguments = function.args
    found = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    more = [("*", arguments.vararg), ("**", arguments.kwarg)]
    return {a.arg for a in found} | {f"{star}{a.arg}" for star, a in more if a is not None}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_types_are_types_and_meanings_are_sentences(path):
    for node, _, entries in documented(path):
        assert entries, node.name
        for names, type_, text in entries:
            assert TYPE.match(type_), f"{node.name}: {names} : {type_}"
            assert not type_.endswith("."), f"{node.name}: {names} : {type_}"
            assert text.strip().endswith("."), f"{node.name}: {names} has no sentence"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_documented_parameters_are_in_the_signature(path):
    for node, section, entries in documented(path):
        if isinstance(node, ast.FunctionDef) and section == "Parameters":
            for names, _, _ in entries:
                assert set(names.split(", ")) <= parameters(node), f"{node.name}: {names}"


def test_a_sentence_in_the_types_place_is_noticed():
    for wrong in ("the column to predict", "one line about it", "of frith", "counts: the share"):
        assert not TYPE.match(wrong)
    for right in ("str", '{"epsilon", "rho"}', "int or None, default=None", "Domain, str or Path"):
        assert TYPE.match(right)
