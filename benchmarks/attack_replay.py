"""Record and replay, by another hand: does a fit on a neighbor pass through the same noise, and at what cost?

The method is that of Re:cord-play ("Privacy in Theory, Bugs in Practice", Cebere, Erb, Desfontaines, Bellet
and Fitzsimons, 2026), written again from its description and without `frith.audit`. A fit on a table is
recorded where it calls the samplers of noise: what went in, what came out. Then the fit runs again on a table
with one record more or fewer, and every sampler returns what it had returned before. Three things must hold:

- the same samplers are called in the same order, with the same scales and sizes (*flow*),
- with the same answers, the same forest comes out (*outcome*): all else it shows would be uncovered,
- the inputs of all samplers together have not moved further than the claim allows (*loss*).

The loss is measured twice: `largest` over all answers that the samplers could have given on this path, from
distances, and `seen`, the logarithm of how much likelier the answers were on one table than on the other.
For a budget with a delta the distances give rho, and rho the smallest delta at the claimed epsilon.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.optimize import minimize_scalar

LAPLACE, GAUSSIAN, FLIP, GUMBEL = "Laplace", "Gaussian", "permute and flip", "Gumbel"
_ROUNDING = 1e-9


@dataclass
class Call:
    """One call of a sampler."""

    kind: str
    scale: float
    given: np.ndarray
    answer: Any


class OtherPath(Exception):
    """The fit on the neighbor asked something else."""


@dataclass
class Tape:
    """What samplers were asked and said; with `past`, they say what they said then."""

    past: list[Call] | None = None
    calls: list[Call] = field(default_factory=list)

    def answer(self, kind: str, scale: float, given: Any, draw: Callable[[], Any]) -> Any:
        numbers = np.array(given, dtype=object).reshape(-1)
        if self.past is None:
            self.calls.append(Call(kind, scale, numbers, draw()))
            return self.calls[-1].answer
        at = len(self.calls)
        if at >= len(self.past):
            raise OtherPath("samplers were called more often")
        then = self.past[at]
        if (then.kind, then.scale, len(then.given)) != (kind, scale, len(numbers)):
            raise OtherPath(
                f"call {at + 1} was {then.kind}, and is {kind} of another scale or size"
            )
        self.calls.append(Call(kind, scale, numbers, then.answer))
        return then.answer


# -- where samplers are called -----------------------------------------------------------------


@contextlib.contextmanager
def ours(tape: Tape) -> Iterator[None]:
    """Listen at OpenDP's measurements, which draw all noise and all choices with FRITH_NOISE=opendp."""
    from frith.privacy import sources

    noise, choice = sources._noise_measurement, sources._choice_measurement

    def noisy(is_laplace: bool, scale: float) -> Callable[[Any], Any]:
        kind = LAPLACE if is_laplace else GAUSSIAN
        real = noise(is_laplace, scale)
        return lambda sums: tape.answer(kind, scale, sums, lambda: list(real(sums)))

    def chosen(gumbel: bool, scale: float) -> Callable[[Any], Any]:
        kind, real = GUMBEL if gumbel else FLIP, choice(gumbel, scale)
        return lambda scores: tape.answer(kind, scale, scores, lambda: int(real(scores)))

    with (
        patch.dict(os.environ, {"FRITH_NOISE": "opendp"}),
        patch.object(sources, "_noise_measurement", noisy),
        patch.object(sources, "_choice_measurement", chosen),
    ):
        yield


@contextlib.contextmanager
def theirs(tape: Tape) -> Iterator[None]:
    """Listen at diffprivlib's permute and flip, by which its forest labels leaves."""
    from diffprivlib.mechanisms import PermuteAndFlip

    real = PermuteAndFlip.randomise

    def listen(self: Any) -> Any:
        scale = (1 if self.monotonic else 2) * self.sensitivity / self.epsilon
        options = (
            list(range(len(self.utility))) if self.candidates is None else list(self.candidates)
        )

        def draw() -> int:
            return options.index(real(self))

        return options[tape.answer(FLIP, float(scale), self.utility, draw)]

    with patch.object(PermuteAndFlip, "randomise", listen):
        yield


# -- what it cost ------------------------------------------------------------------------------


@dataclass
class Loss:
    """How far a record moved all samplers' inputs together."""

    largest: float = 0.0
    seen: float = 0.0
    rho: float = 0.0

    def add(self, a: Call, b: Call) -> None:
        moved = np.array([float(x - y) for x, y in zip(a.given, b.given, strict=True)])
        if a.kind == LAPLACE:
            here, there = (
                np.abs([float(z - v) for z, v in zip(a.answer, c.given, strict=True)])
                for c in (a, b)
            )
            self.largest += float(np.abs(moved).sum()) / a.scale
            self.seen += float((there - here).sum()) / a.scale
            self.rho += 0.5 * (float(np.abs(moved).sum()) / a.scale) ** 2
        elif a.kind == GAUSSIAN:
            self.rho += float(moved @ moved) / (2 * a.scale**2)
            self.largest = self.seen = math.inf
        else:
            ratio = float(moved.max() - moved.min()) / a.scale if len(moved) else 0.0
            self.largest += ratio
            self.rho += ratio**2 / 8 if a.kind == GUMBEL else ratio**2 / 2
            if ratio:
                self.seen += log_chance(a, a.answer) - log_chance(b, a.answer)


def log_chance(call: Call, place: int) -> float:
    """The logarithm of the chance that a choice is this one, by the law of its sampler."""
    top = max(call.given)
    a = np.array([float(score - top) for score in call.given]) / call.scale
    if call.kind == GUMBEL:
        return float(a[place] - np.log(np.exp(a).sum()))
    others = np.exp(np.delete(a, place))
    nodes, mass = np.polynomial.legendre.leggauss(len(a) // 2 + 1)
    inner = np.sum(mass / 2 * np.prod(1 - np.outer((nodes + 1) / 2, others), axis=1))
    return float(a[place] + np.log(inner))


def delta_of(rho: float, epsilon: float) -> float:
    """The delta that rho-zCDP gives at an epsilon (Canonne, Kamath and Steinke 2020, Proposition 12)."""
    if rho == 0:
        return 0.0

    def log_delta(log_order: float) -> float:
        order = 1 + math.exp(log_order)
        return (
            (order - 1) * (order * rho - epsilon)
            + (order - 1) * math.log1p(-1 / order)
            - math.log(order)
        )

    best = minimize_scalar(log_delta, bounds=(-12, 14), method="bounded")
    return math.exp(min(0.0, float(best.fun)))


@dataclass
class Replayed:
    """What one pair of tables showed."""

    calls: int
    largest: float = math.inf
    seen: float = math.inf
    rho: float = math.inf
    flow: bool = False
    outcome: bool = False
    why: str = ""

    def allows(self, epsilon: float, delta: float = 0.0) -> bool:
        """Whether the claim is kept, as far as this pair can tell."""
        if not (self.flow and self.outcome):
            return False
        if delta:
            return delta_of(self.rho, epsilon) <= delta * (1 + _ROUNDING)
        limit = epsilon * (1 + _ROUNDING)
        return self.largest <= limit and abs(self.seen) <= limit


def replay(fit: Callable[[Any], Any], table: Any, neighbor: Any, listen: Any) -> Replayed:
    """Fit on a table, then on its neighbor with the same answers. `fit` gives what is published."""
    first = Tape()
    with listen(first):
        published = fit(table)
    second = Tape(past=first.calls)
    try:
        with listen(second):
            again = fit(neighbor)
    except OtherPath as way:
        return Replayed(len(first.calls), why=str(way))
    if len(second.calls) < len(first.calls):
        return Replayed(len(first.calls), why="samplers were called less often")
    loss = Loss()
    for a, b in zip(first.calls, second.calls, strict=True):
        loss.add(a, b)
    same = published == again
    why = "" if same else "another forest from the same answers"
    return Replayed(len(first.calls), loss.largest, loss.seen, loss.rho, True, same, why)
