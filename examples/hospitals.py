"""Three hospitals, one forest: nobody shows a record to anybody, and all may use what comes out.

    python examples/hospitals.py

Each hospital has its own patients, its own ledger and its own budget. Everything that passes between
them is a small file that anyone may read. This tour plays all of them in one folder.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from frith import Budget, Domain, Forest, Ledger, RandomDecisionForestClassifier, open_table
from frith.curator import Curator
from frith.datasets import load
from frith.parties import (
    Keys,
    LocalParty,
    MergeError,
    PartyRelease,
    SecureSum,
    Structure,
    make_structure,
    merge,
    release,
    train_together,
)

HOSPITALS = ("north", "south", "harbor")
EPSILON = "0.5"  # of each release
BUDGET = "2.0"  # of each hospital


def tour(folder: Path) -> None:
    """From a domain to one forest, step by step."""
    wards, X_test, y_test, domain = admissions()

    title("Before anything: what is public")
    say(f"{len(domain.attributes)} attributes and the label {domain.label.name!r}, by agreement;")
    say(f"about {domain.records:,} records in all. No one's records are needed to write that down.")

    title("Step 1. Someone grows trees from the domain alone, and sends the file to all")
    structure = make_structure(domain, n_trees=10, random_state=7)
    structure.save(folder / "structure.json")
    say(f"structure.json: {structure.trees.n_trees} trees, {len(structure.trees.leaves):,} leaves")
    say(f"hash {structure.hash[:16]}...: whoever has another file will be found out")

    title("Step 2. Each hospital counts its own patients in the leaves, and pays for it first")
    for name in HOSPITALS:
        Ledger.create(folder / f"{name}.ledger", epsilon=BUDGET)
        made = release(
            Structure.load(folder / "structure.json"), wards[name],
            party=name, epsilon=EPSILON, ledger=folder / f"{name}.ledger",
        )  # fmt: skip
        made.save(folder / f"{name}.json")
        left = Ledger(folder / f"{name}.ledger").remaining
        say(
            f"{name}.json: {made.values.size:,} noisy counts, epsilon {EPSILON}, receipt "
            f"{made.receipt.id}; {float(left):g} left of {BUDGET}"
        )

    title("Step 3. Anyone adds the releases up: no record, no budget, any order, any subset")
    releases = [PartyRelease.load(folder / f"{name}.json") for name in HOSPITALS]
    open_forest = merge(structure, releases, disjoint=True)  # no patient is at two of them
    open_forest.save(folder / "forest.json")
    say(open_forest.guarantee)
    for share in open_forest.guarantee.parties:
        say(f"share of {share}")

    title("What does not belong is refused, and the message says whose it is and why")
    other = make_structure(domain, n_trees=10, random_state=8)
    wrong = release(
        other, wards["harbor"],
        party="harbor", epsilon=EPSILON, ledger=folder / "harbor.ledger",
    )  # fmt: skip
    attempt(lambda: merge(structure, [*releases[:2], wrong]))
    attempt(lambda: merge(structure, [*releases, releases[0]]))
    changed = releases[1].to_json()
    changed["values"][0][0] += 1000
    attempt(lambda: PartyRelease.from_json(changed))
    say("What harbor has released for the wrong trees is paid for all the same.")

    title("Step 4. The same with less noise: a secure sum")
    say("Three releases have three times the variance of one. Instead, the hospitals exchange keys")
    say("once, hide their counts under masks that cancel in the sum, and add shares of the noise.")
    keys = exchange_keys()
    parties = {name: secure_party(folder, wards[name], keys[name], domain) for name in HOSPITALS}
    panel = SecureSum(parties, disjoint=True)
    say(panel.describe())
    secure_forest = train_together(learner(domain), panel).forest_
    for line in secure_forest.guarantee.assumptions:
        say(f"assumes: {line}")

    title("How good are they? On patients that no one has counted")
    alone = [merge(structure, [r]) for r in releases]
    everything = pd.concat(wards.values())
    X, y = everything[list(domain.names)], everything[domain.label.name]
    pooled = learner(domain).fit(X, y, notices=False)  # it would say that some are kept for tests
    for name, forest in zip(HOSPITALS, alone, strict=True):
        say_score(f"{name} alone", forest, X_test, y_test)
    say_score("all three, open", open_forest, X_test, y_test)
    say_score("all three, secure", secure_forest, X_test, y_test)
    say_score("all records in one place", pooled.forest_, X_test, y_test)

    title("What is left at each hospital")
    for name in HOSPITALS:
        ledger = Ledger(folder / f"{name}.ledger")
        entries = ", ".join(f"{r.purpose} {float(r.amount):g}" for r in ledger.entries())
        say(f"{name}: {float(ledger.remaining):g} of {BUDGET} left, after {entries}")


def admissions() -> tuple[dict[str, pd.DataFrame], pd.DataFrame, pd.Series, Domain]:
    """A public table dealt to three hospitals of different size, and some of it kept for testing."""
    X, y, domain = load("nursery")
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
    table = X.assign(**{domain.label.name: y})
    owner = np.random.default_rng(0).choice(HOSPITALS, len(table), p=(0.5, 0.3, 0.2))
    return {name: table[owner == name] for name in HOSPITALS}, X_test, y_test, domain


def learner(domain: Domain) -> RandomDecisionForestClassifier:
    """The learner of the structure, with its seed: the same trees."""
    return RandomDecisionForestClassifier(domain, epsilon=EPSILON, n_trees=10, random_state=7)


def exchange_keys() -> dict[str, Keys]:
    """Everyone makes a key and is told the others' public ones, on paper, say."""
    keys = {name: Keys.new(name) for name in HOSPITALS}
    public = {name: key.public for name, key in keys.items()}
    for name, key in public.items():
        say(f"{name} has the public key {key[:16]}...")
    return {name: key.knowing(public) for name, key in keys.items()}


def secure_party(folder: Path, table: pd.DataFrame, keys: Keys, domain: Domain) -> LocalParty:
    """A hospital's own curator, who charges its ledger in full before a masked count leaves."""
    ledger = Ledger(folder / f"{keys.party}.ledger")
    curator = Curator(
        open_table(table, domain), Budget.of(EPSILON), ledger=ledger, purpose="secure sum"
    )
    return LocalParty(curator, keys)


def attempt(act: Callable[[], object]) -> None:
    try:
        act()
    except (MergeError, ValueError) as refusal:
        say(f"refused: {refusal}")


def say_score(name: str, forest: Forest, X_test: pd.DataFrame, y_test: pd.Series) -> None:
    noise = np.sqrt(np.median(forest.variance[forest.trees.leaves]))
    accuracy = np.mean(forest.predict(X_test) == y_test)
    say(f"{name:26} accuracy {accuracy:.3f}   noise on a count +- {noise:5.0f}")


def title(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}", flush=True)


def say(thing: object) -> None:
    for line in str(thing).splitlines():
        print(f"  {line}", flush=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        tour(Path(folder))
