"""Single cases of reconstruction and replay: fit a forest, attack it, say what came out."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from time import monotonic
from typing import Any
from unittest.mock import patch

import numpy as np
from attack_bounds import FALSE_ALARM, epsilon_shown, largest_accuracy
from attack_forests import COUNTING, DEPTH, TREES, fit_seen
from attack_reconstruction import COUNTS, Seen, anneal, matched_error, nearest, surplus, tree_bound
from attack_replay import Replayed, ours, replay, theirs
from attack_sizes import BAD_FITS, FLAGSHIP, PEER, RANDOM, RECORDS, SKLEARN, Sizes
from attack_solver import improve
from attack_tables import Binary, as_frame, binary, random_table
from scipy.stats import binom

from frith import ForestClassifier
from frith._jit import available_threads
from frith.privacy.mechanisms import DiscreteLaplace

Table = tuple[Any, Any]


# -- reconstruction ----------------------------------------------------------------------------


def reconstruction(job: dict[str, Any], sizes: Sizes) -> dict[str, Any]:
    """The likeliest table behind one forest, against the records it had and against others like them.

    Records come in pairs, and a coin decides which of a pair the forest learns from. Whoever says which one
    it was, by which is nearer to the table that was found, is right by no more than e^2epsilon allows.
    """
    table, seed = binary(job["table"]), int(job["seed"])
    rng = np.random.default_rng([seed, RECORDS])
    both = _pairs(table, rng)
    inside = np.arange(RECORDS) + RECORDS * rng.integers(0, 2, RECORDS)
    outside = (inside + RECORDS) % (2 * RECORDS)
    own = Binary(table.name, table.names, both.X[inside], both.y[inside], table.groups)
    epsilon = float(job["epsilon"])
    model, seen = fit_seen(job["system"], own, epsilon, seed)
    start = monotonic()
    found = anneal(seen, table, RECORDS, sizes.moves, seed)
    if isinstance(seen, Seen) and seen.mode == COUNTS:
        if sizes.solver_seconds:
            found = improve(seen, table, found, sizes.solver_seconds, available_threads())
        else:
            found.bound = tree_bound(seen, RECORDS)
    guesses = [random_table(table, RECORDS, rng)[0] for _ in range(20)]
    near = [nearest(both.X[rows], found.X) for rows in (inside, outside)]
    guessed = which_of_two(*near, epsilon, rng)
    return {
        "error": matched_error(own.X, found.X), "others": matched_error(both.X[outside], found.X),
        "random": float(np.mean([matched_error(own.X, g) for g in guesses])),
        "fresh": matched_error(own.X, both.X[outside]),
        "outcome": found.outcome, "gap": found.gap if found.bound else "", "seconds": monotonic() - start,
        "accuracy": _accuracy(model, both, outside),
    } | guessed | _by_counts(seen, table, both, inside, outside, epsilon, rng)  # fmt: skip


def _by_counts(
    seen: Any, table: Binary, both: Binary, inside: Any, outside: Any, epsilon: float, rng: Any
) -> dict[str, Any]:
    """Which of two, by what their leaves count beyond what the population would give."""
    if not isinstance(seen, Seen) or seen.mode != COUNTS:
        return {}
    told = surplus(seen, table, RECORDS, both.X, both.y)
    said = which_of_two(-told[inside], -told[outside], epsilon, rng)
    return {f"counts_{key}": value for key, value in said.items()}


def _pairs(table: Binary, rng: np.random.Generator) -> Binary:
    """Twice as many records; the i-th of both halves differ, so that they can be told apart."""
    _, drawn = table.sample(4 * RECORDS, rng)
    first, second = drawn.X[: 2 * RECORDS], drawn.X[2 * RECORDS :]
    rows = np.flatnonzero((first != second).any(axis=1))[:RECORDS]
    rows = np.concatenate([rows, rows + 2 * RECORDS])
    return Binary(table.name, table.names, drawn.X[rows], drawn.y[rows], table.groups)


def _accuracy(model: Any, both: Binary, rows: Any) -> float:
    """The forest's accuracy on the records that it has not seen."""
    X = both.X[rows]
    given = as_frame(X, both.names) if hasattr(model, "forest_") else X.astype(float)
    return float(np.mean(np.asarray(model.predict(given)).astype(int) == both.y[rows]))


def which_of_two(inside: Any, outside: Any, epsilon: float, rng: Any) -> dict[str, Any]:
    coin = rng.random(len(inside)) < 0.5
    right = int(np.sum((inside < outside) | ((inside == outside) & coin)))
    chance = largest_accuracy(2 * epsilon)
    allowed = len(inside) if chance >= 1 else int(binom.isf(FALSE_ALARM, len(inside), chance))
    shown = epsilon_shown(right, len(inside)) / 2
    return {"right": right, "allowed": allowed, "at_least": shown, "beats": right > allowed}


# -- replay ------------------------------------------------------------------------------------


def replays(job: dict[str, Any], sizes: Sizes) -> dict[str, Any]:
    """One fit and its neighbors: a record removed, the first and the last among them, or an odd one added."""
    table, epsilon = binary(job["table"]), float(job["epsilon"])
    rng = np.random.default_rng(int(job["seed"]))
    _, own = table.sample(150, rng)
    fit, listen = fitter(job["system"], table, epsilon)
    seen = [
        replay(fit, (own.X, own.y), other, listen) for other in neighbors(own, sizes.neighbors, rng)
    ]
    held = [pair.allows(epsilon) for pair in seen]
    worst = max(seen, key=lambda pair: pair.largest if pair.outcome else np.inf)
    return {
        "pairs": len(seen), "kept": sum(held), "calls": max(pair.calls for pair in seen),
        "largest": max(_loss(pair) for pair in seen) / epsilon,
        "seen": max(abs(pair.seen) for pair in seen) / epsilon,
        "why": next((pair.why for pair in seen if pair.why), "" if all(held) else _word(worst)),
        "beats": not all(held),
    }  # fmt: skip


def _loss(pair: Replayed) -> float:
    return pair.largest if pair.flow and pair.outcome else np.inf


def _word(pair: Replayed) -> str:
    return f"inputs moved by {pair.largest:.3g}"


def neighbors(own: Binary, count: int, rng: Any) -> list[Table]:
    rows = [0, len(own.y) - 1, *rng.permutation(np.arange(1, len(own.y) - 1))[: max(0, count - 3)]]
    removed = [(np.delete(own.X, i, axis=0), np.delete(own.y, i)) for i in rows]
    odd = np.ones((1, own.X.shape[1]), dtype=np.int8)  # of every group all at once
    return [*removed, (np.vstack([own.X, odd]), np.append(own.y, np.int8(1)))]


def fitter(system: str, table: Binary, epsilon: float) -> tuple[Callable[[Table], Any], Any]:
    """A fit that gives what is published, and where its noise is listened to."""
    if system == PEER:
        return lambda data: _fit_peer(data, epsilon), theirs
    if system == SKLEARN:
        return _fit_plain, ours
    name = RANDOM if system in BAD_FITS else system
    learner, settings = (ForestClassifier, {}) if name == FLAGSHIP else COUNTING[name]
    seeded = {"random_state": 0} if "random_state" in learner().get_params() else {}

    def fit(data: Table, **changed: Any) -> Any:
        given = settings | seeded | changed
        model = learner(table.domain(), epsilon=epsilon, n_jobs=1, **given)
        model.fit(as_frame(data[0], table.names), data[1].astype(str))
        published = model.forest_.to_json()
        published.pop("origin", None)  # who fitted it, and when
        return published

    return (_spoiled(system, fit) if system in BAD_FITS else fit), ours


def _spoiled(flaw: str, fit: Callable[..., Any]) -> Callable[[Table], Any]:
    """The same fit with a flaw that a replay must see."""
    if flaw == "depth by parity":
        return lambda data: fit(data, max_depth=3 + len(data[1]) % 2)
    if flaw == "seed from records":
        return lambda data: fit(data, random_state=int(data[0].sum()))
    if flaw == "records counted twice":
        return lambda data: fit(tuple(np.concatenate([part, part]) for part in data))
    real = DiscreteLaplace.scale.fget

    def halved(data: Table) -> Any:
        with patch.object(DiscreteLaplace, "scale", property(lambda self: real(self) / 2)):
            return fit(data)

    return halved


def _fit_peer(data: Table, epsilon: float) -> Any:
    from diffprivlib.models import RandomForestClassifier

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RandomForestClassifier(
            n_estimators=TREES, max_depth=DEPTH, epsilon=epsilon, bounds=(0, 1), classes=[0, 1],
            random_state=0,
        ).fit(data[0].astype(float), data[1])  # fmt: skip
    return [_arrays(tree.tree_) for tree in model.estimators_]


def _arrays(tree: Any) -> list[Any]:
    return [tree.feature.tolist(), tree.threshold.tolist(), np.asarray(tree.value).tolist()]


def _fit_plain(data: Table) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(n_estimators=TREES, random_state=0).fit(*data)
    return [_arrays(tree.tree_) for tree in model.estimators_]
