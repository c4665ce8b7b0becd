"""What every paper about a forest says: where it comes from, how to make another, what was promised."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from frith.domain import Attribute, Domain, Numeric, spelling
from frith.forest.forest import Forest
from frith.forest.kinds import ValueKind
from frith.forest.nodes import printable
from frith.forest.voting import VotingTrees
from frith.privacy.exact import show
from frith.privacy.neighbors import RECORD
from frith.privacy.promise import amounts

Rows = list[tuple[str, str]]
_VALUES = 6  # of an attribute, by name

_FACTS = (
    "Facts: the guarantee, what was asked and at what cost, and numbers that were counted, whose intervals "
    "hold the training table's value as often as they say."
)
_OF_COUNTS = (
    "Importances and predictions are what the forest makes of noisy counts; they were not counted."
)
_OF_SCORES = (
    "The model's opinion: scores, effects, contributions, importances and predictions. They are what the "
    "forest makes of noisy answers; nothing in the table need be like them."
)
_GEOMETRIC = (
    "Its trees add up to the natural logarithm, and a prediction is the exponential of that: like a "
    "geometric mean or a median, and below the mean where numbers spread"
)
NOT_THE_SAME = (
    "Noise is drawn anew each time and has no seed, so another run gives another forest under the same "
    "promise, and is charged again."
)


def fingerprint(forest: Forest) -> str:
    """A hash of everything released: the same for equal forests, wherever they are."""
    text = json.dumps(VotingTrees.to_json(forest), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def title_of(forest: Forest) -> str:
    return f"A forest that predicts {forest.domain.label.name}"


def reliance(forest: Forest) -> tuple[str, str]:
    """Which numbers are facts, and which are not."""
    return _FACTS, _OF_SCORES if forest.kind is ValueKind.SCORES else _OF_COUNTS


def facts_of(forest: Forest) -> Rows:
    """Where the forest comes from, name and value."""
    origin, trees, domain = forest.origin, forest.trees, forest.domain
    rows: Rows = []
    if origin is not None:
        given = ", ".join(f"{k} = {_spelled(v)}" for k, v in origin.parameters.items())
        rows += [("Learner", origin.learner), ("Parameters", given or "none")]
        rows += [("Learned on", origin.date), ("By", f"frith {origin.version}")]
    else:
        rows += [("Learner", "not recorded")]
    rows += [
        ("Predicts", f"{domain.label.name}: {_predicted(domain)}"),
        ("From", f"{len(trees.asked)} of {len(domain.attributes)} declared attributes"),
        ("Trees", f"{trees.n_trees}, depth {forest.max_depth}, {len(trees.leaves):,} leaves"),
        ("Its values are", f"{forest.kind}"),
        ("Fingerprint", fingerprint(forest)),
    ]
    return rows


def domain_rows(domain: Domain) -> list[tuple[str, str, str]]:
    """Every column: its name, its role, and its declared values or bounds."""
    rows = [(domain.label.name, "label", values_of(domain.label))]
    if domain.person is not None:
        most = f"at most {domain.person.records} of a person's records count"
        rows.append((domain.person.column, "person", most))
    return rows + [(a.name, "attribute", values_of(a)) for a in domain.attributes]


def domain_words(domain: Domain) -> str:
    records = (
        "not declared" if domain.records is None else f"{domain.records:,}, declared as public"
    )
    learned = (
        " It was drafted from the records themselves, which no guarantee covers." * domain.learned
    )
    paid = ""
    if domain.paid is not None:
        price = amounts(domain.paid.epsilon, domain.paid.delta)
        paid = f" It was paid for, and the guarantee includes its price: {price}."
    return f"Number of records: {records}. Fingerprint {domain.fingerprint}.{learned}{paid}"


def _predicted(domain: Domain) -> str:
    """All labels, or the bounds of a number."""
    if domain.has_log_target:
        return f"{values_of(domain.label)}. {_GEOMETRIC}"
    if domain.has_target:
        return values_of(domain.label)
    return ", ".join(map(spelling, domain.label_values))


def values_of(attribute: Attribute) -> str:
    """Values by name, or bounds."""
    if isinstance(attribute, Numeric):
        log = ", log scale" if attribute.scale == "log" else ""
        missing = ", or missing" if attribute.missing else ""
        return f"{attribute.text_of(attribute.low)} to {attribute.text_of(attribute.high)}{log}{missing}"
    values = [printable(spelling(v)) for v in attribute.values[:_VALUES]]
    more = attribute.size - _VALUES
    return ", ".join(values) + (f" and {more} more" if more > 0 else "")


def recipe(forest: Forest) -> str:
    """Code that learns such a forest again from the same table and domain."""
    origin, claim = forest.origin, forest.guarantee
    if origin is None:
        return ""
    given = {
        "epsilon": show(claim.epsilon),
        **({"delta": show(claim.delta)} if claim.delta else {}),
    }
    given |= {k: v for k, v in origin.parameters.items() if not str(v).startswith("<")}
    arguments = ", ".join(f"{name}={value!r}" for name, value in given.items())
    return (
        f"# pip install frith=={origin.version}\n"
        f"from frith import Domain, {origin.learner}, open_table\n\n"
        f'domain = Domain.load("domain.toml")  # fingerprint {forest.domain.fingerprint[:16]}...\n'
        f"model = {origin.learner}(domain, {arguments})\n"
        'model.fit(open_table("table.parquet", domain))\n'
    )


def spent_rows(forest: Forest) -> Rows:
    """The budget, who spent it, and the entry that proves it."""
    claim, origin = forest.guarantee, forest.origin
    rows = [("Budget", amounts(claim.epsilon, claim.delta))]
    rows += [
        (f"Spent by {share.party}", amounts(share.epsilon, share.delta)) for share in claim.parties
    ]
    rows.append(("Questions asked", f"{len(claim.asked):,}, each charged before a record was read"))
    if origin is None or not origin.receipts:
        return [*rows, ("Receipt", "none: it was charged to no ledger that this file knows of")]
    for receipt in origin.receipts:
        rows += _receipt_rows(receipt)
    return rows


def _receipt_rows(receipt: dict[str, Any]) -> Rows:
    return [
        ("Charged to", str(receipt["account"])),
        (
            "Receipt",
            f"entry {receipt['id']}: {receipt['unit']} {receipt['amount']}, {receipt['at']}",
        ),
        ("Its hash", str(receipt["hash"])),
    ]


def unit_of(forest: Forest) -> str:
    """Whom the guarantee protects."""
    return "one record" if forest.guarantee.neighbors == RECORD else "all records of one person"


def _spelled(value: object) -> str:
    return "none" if value is None else spelling(value)
