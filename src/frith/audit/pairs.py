"""Neighbors to audit with: random tables over random domains, hard cases, and the worst record.

A table has no order, so a neighbor's rows may come in another order, which exposes whatever depends
on a row's position.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from frith.domain import Attribute, Categorical, Date, Domain, Numeric, Ordered, Person
from frith.domain.encoding import Batch
from frith.domain.synthetic import synthetic_table
from frith.kernels import Kernel, add_batch

WHO = "who"


@dataclass(frozen=True, eq=False)
class Pair:
    """Two tables of one domain that differ by one protected unit."""

    name: str
    domain: Domain
    table: pd.DataFrame
    neighbor: pd.DataFrame

    def turned(self) -> Pair:
        return replace(self, table=self.neighbor, neighbor=self.table)


# -- hard cases --------------------------------------------------------------------------------


def hard_domain(person: bool = False, records: int | None = 24) -> Domain:
    """Two categories, a number and two labels."""
    attributes = (
        Categorical("color", ("red", "green", "blue")),
        Categorical("round", ("no", "yes")),
        Numeric("size", 0, 8, cells=8),
    )
    who = Person(WHO, 2) if person else None
    return Domain(attributes, Categorical("good", ("no", "yes")), records=records, person=who)


def hard_pairs(person: bool = False, target: bool = False) -> list[Pair]:
    """Pairs that expose flaws known from published systems, each for a reason.

    lone       one record of a color, a shape and a label that no other record has
    first      labels alternate and the first row is removed: all others move up
    single     one record, or no record
    nearly pure  one record of another label among many equal ones
    tied       two attributes predict the label equally well, except for one record
    leading    one label leads the other by one record or by two
    persons    each person has more records than count, and the others' rows are reversed
    """
    pairs = [_persons()] if person else _hard_pairs()
    return [numbered(pair, records=150) for pair in pairs] if target else pairs


def _hard_pairs() -> list[Pair]:
    domain = hard_domain()
    same = _rows(("red", "no", 1.0, "no"), 12)
    lone = pd.concat([same, _rows(("blue", "yes", 7.0, "yes"), 1)], ignore_index=True)
    mixed = _rows(("red", "no", 1.0, "no"), 20)
    mixed["good"] = ["no", "yes"] * 10
    nearly = pd.concat([_rows(("red", "no", 1.0, "no"), 23), _rows(("red", "no", 1.0, "yes"), 1)])
    tables = [("lone", lone, 12), ("first", mixed, 0), ("single", same[:1], 0)]
    tables.append(("nearly pure", nearly.reset_index(drop=True), 23))
    tables += [
        ("tied", _tied(), 20),
        ("leading", mixed.iloc[[0, 1, 2, 4]].reset_index(drop=True), 0),
    ]
    return [Pair(name, domain, t, t.drop(index=i)) for name, t, i in tables]


def _tied() -> pd.DataFrame:
    """Color and roundness predict equally many records; the last row gives color the lead."""
    rest, color = _rows(("red", "no", 1.0, "no"), 10), _rows(("green", "no", 1.0, "yes"), 6)
    round_ = _rows(("red", "yes", 1.0, "yes"), 5)
    return pd.concat([rest, round_, color], ignore_index=True)


def _rows(cells: tuple[str, str, float, str], count: int) -> pd.DataFrame:
    return pd.DataFrame([cells] * count, columns=["color", "round", "size", "good"])


def _persons() -> Pair:
    """Twelve people, each with three yes-records before three no-records; two of each person count."""
    one = pd.concat([_rows(("red", "no", 1.0, "yes"), 3), _rows(("blue", "no", 5.0, "no"), 3)])
    table = pd.concat([one.assign(**{WHO: str(who)}) for who in range(12)], ignore_index=True)
    without = table[table[WHO] != "0"]
    return Pair("persons", hard_domain(person=True), table, without[::-1])


# -- random domains and tables -----------------------------------------------------------------


def random_domain(rng: np.random.Generator) -> Domain:
    """One to four attributes of few values, one to three labels, records or persons."""
    attributes = tuple(_random_attribute(f"a{i}", rng) for i in range(rng.integers(1, 5)))
    label = Categorical("label", tuple(f"l{i}" for i in range(rng.integers(1, 4))))
    who = Person(WHO, int(rng.integers(1, 4))) if rng.random() < 0.4 else None
    declared = [None, 0, 8, 300, 5_000][rng.integers(5)]
    return Domain(attributes, label, records=declared, person=who)


def _random_attribute(name: str, rng: np.random.Generator) -> Attribute:
    if rng.random() < 0.4:
        low = float(rng.integers(-3, 3))
        return Numeric(
            name, low, low + 4, cells=int(rng.integers(2, 9)), missing=rng.random() < 0.5
        )
    values = tuple(f"v{i}" for i in range(rng.integers(1, 6)))
    return Categorical(name, values, missing=values[-1] if rng.random() < 0.5 else None)


def random_table(domain: Domain, n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Random records of a domain, some with cells that are missing or outside it."""
    table = synthetic_table(domain, n, rng).to_pandas().astype(object)
    for name in (*domain.names, domain.label.name):
        for value in (None, "nowhere"):
            table.loc[rng.random(n) < 0.05, name] = value
    if domain.person is not None:
        table[domain.person.column] = rng.integers(0, max(1, n // 3), n).astype(str)
    return table


def without_one(table: pd.DataFrame, domain: Domain, rng: np.random.Generator) -> pd.DataFrame:
    """The table without one record, or one person's records, in another order."""
    if domain.person is None:
        left = table.drop(index=rng.integers(len(table)))
    else:
        column = table[domain.person.column]
        left = table[column != column.iloc[rng.integers(len(table))]]
    return left.iloc[rng.permutation(len(left))]


def random_pair(seed: int, target: bool = False) -> Pair:
    """A random pair; the same one for the same seed."""
    rng = np.random.default_rng(seed)
    domain = random_domain(rng)
    table = random_table(domain, int(rng.integers(1, 16)), rng)
    pair = Pair(f"random {seed}", domain, table, without_one(table, domain, rng))
    return numbered(pair, domain.records) if target else pair


def numbered(pair: Pair, records: int | None) -> Pair:
    """The pair with numbers for labels, the first and the last beyond the target's bounds.

    `records` is the number that the domain declares, which decides how much a learner asks.
    """
    label = pair.domain.label
    assert isinstance(label, Categorical)
    domain = replace(pair.domain, label=Numeric(label.name, 0, 8, cells=64), records=records)
    numbers = dict(zip(label.values, np.linspace(-4, 12, label.size).tolist(), strict=True))
    table, neighbor = (
        t.assign(**{label.name: [numbers.get(cell, cell) for cell in t[label.name]]})
        for t in (pair.table, pair.neighbor)
    )
    return Pair(pair.name, domain, table, neighbor)


# -- the worst record --------------------------------------------------------------------------


def worst_pairs(pair: Pair, kernels: Sequence[Kernel], rng: np.random.Generator) -> Iterator[Pair]:
    """The pair's table and, for each kernel that was asked, the record that moves it most."""
    domain = pair.domain
    codes = np.column_stack([rng.integers(0, a.size, 64) for a in domain.attributes])
    labels = rng.integers(0, domain.label.size, 64)
    tried: set[bytes] = set()
    for kernel in kernels:
        changes = [_change(kernel, codes[i : i + 1], labels[i : i + 1], domain) for i in range(64)]
        worst = int(np.argmax(changes))
        if (key := codes[worst].tobytes() + labels[worst].tobytes()) in tried:
            continue
        tried.add(key)
        more = decoded(domain, codes[worst : worst + 1], labels[worst : worst + 1])
        if domain.person is not None:
            more = pd.concat([more] * (domain.person.records + 1)).assign(**{WHO: "somebody new"})
        table = pd.concat([pair.table, more.astype(object)], ignore_index=True)
        yield Pair(f"{pair.name}, worst record", domain, table, pair.table)


def _change(kernel: Kernel, codes: np.ndarray, labels: np.ndarray, domain: Domain) -> int:
    batch = Batch(codes.astype(domain.code_type), labels.astype(domain.label_type))
    out = np.zeros(kernel.shape, dtype=np.int64)
    add_batch(kernel, batch, out)
    return int(np.abs(out).sum())


def decoded(domain: Domain, codes: np.ndarray, labels: np.ndarray) -> pd.DataFrame:
    """Records that encode to these codes."""
    columns: dict[str, list[object]] = {}
    for a, attribute in enumerate(domain.attributes):
        columns[attribute.name] = [_value(attribute, int(c)) for c in codes[:, a]]
    columns[domain.label.name] = [_value(domain.label, int(c)) for c in labels]
    return pd.DataFrame(columns)


def _value(attribute: Attribute, code: int) -> object:
    if isinstance(attribute, Categorical):
        return attribute.values[code]
    if code == attribute.cells:
        return None
    if isinstance(attribute, Ordered):
        return attribute.values[code]
    if isinstance(attribute, Date):
        return attribute.value_of([attribute.low, *attribute.edges][code])
    bounds = [attribute.low, *attribute.edges, attribute.high]
    return float((bounds[code] + bounds[code + 1]) / 2)
