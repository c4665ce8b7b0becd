"""A public prior: a forest, or a table that nobody protects and from which one is learned exactly."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np

from frith.curator import Curator
from frith.domain import Domain
from frith.engines import Engine, open_table
from frith.errors import DomainError
from frith.forest import Forest
from frith.growing.boosting import MAX_STEPS, SignBoosting
from frith.growing.builder import single_leaf
from frith.growing.label_boosting import VectorBoosting
from frith.growing.parts import Part
from frith.growing.trusting import parts_of
from frith.kernels.layout import Layout, mixed_cuts
from frith.privacy.budget import Budget
from frith.privacy.promise import amounts

_ROOM_FOR_CELLS = 13.0  # the fewest steps after which cells are counted


@dataclass(frozen=True, eq=False)
class Prior:
    """The trees of a public model, and what a guarantee assumes about them."""

    parts: list[Part]
    assumption: str

    @classmethod
    def read(cls, public: Any, domain: Domain, threads: int | None) -> Prior:
        """What `public=` gives: a forest, an open table, or a pair of records and labels."""
        if isinstance(public, Forest):
            return cls._of_forest(public, domain)
        if isinstance(public, Engine):
            engine = public
        elif isinstance(public, tuple | list) and len(public) == 2:
            engine = open_table(public[0], unprotected(domain), public[1], threads=threads)
        else:
            raise TypeError(
                "public is (X, y), an open table or a Forest, each of records that nobody protects; "
                f"not {type(public).__name__}"
            )
        _check_codes(engine.domain, domain)
        return cls(_learn_exactly(engine), _ASSUMPTION.format("the table of the prior"))

    @classmethod
    def _of_forest(cls, forest: Forest, domain: Domain) -> Prior:
        _check_codes(forest.domain, domain)
        claim = forest.guarantee
        made = f", made with {amounts(claim.epsilon, claim.delta)}" if claim.holds else ""
        return cls(parts_of(forest), _ASSUMPTION.format(f"the forest that is the prior{made}"))


def unprotected(domain: Domain) -> Domain:
    """The domain of a public table: the same codes, and nobody in it to protect."""
    return replace(domain, records=None, person=None, learned=False, paid=None)


_ASSUMPTION = (
    "{} is public: it tells nothing of the protected records that was not published before"
)
WEIGHTS_ARE_PUBLIC = "the declared weights of questions are public"
_LARGEST_WEIGHT = 1e6


def log_weights_of(weights: Any, domain: Domain) -> tuple[float, ...]:
    """The logarithms of `question_weights=`, over the mean of all attributes; 1 for those not named."""
    if weights is None:
        return ()
    if not isinstance(weights, Mapping) or not set(weights) <= set(domain.names):
        raise ValueError(
            "question_weights has a weight for some of the domain's attributes, by name"
        )
    found = [weights.get(name, 1) for name in domain.names]
    if not all(_is_weight(w) for w in found):
        raise ValueError(
            f"a weight in question_weights is a number from {1 / _LARGEST_WEIGHT:g} to "
            f"{_LARGEST_WEIGHT:g}; leave an attribute out of the domain to never ask for it"
        )
    mean = sum(map(float, found)) / len(found)
    return tuple(math.log(w / mean) for w in found)


def _is_weight(weight: Any) -> bool:
    is_number = isinstance(weight, Real) and not isinstance(weight, bool)
    return is_number and 1 / _LARGEST_WEIGHT <= weight <= _LARGEST_WEIGHT


def _check_codes(given: Domain, domain: Domain) -> None:
    if not given.same_codes(domain):
        raise DomainError(
            "the public prior has another domain than the table: the same attributes, values, bounds "
            "and labels are needed, in the same order"
        )


def _learn_exactly(engine: Engine) -> list[Part]:
    """A model of public records, without noise; few records get few steps."""
    curator = Curator(engine, Budget.of(math.inf))
    domain = curator.domain
    layout, n = Layout(domain, mixed_cuts(domain)), curator.records(Fraction(1, 100))
    if domain.n_labels == 1:
        return [Part(single_leaf(), np.zeros((1, 1)), np.zeros(1))]
    if domain.n_labels == 2:
        room = max(_ROOM_FOR_CELLS, math.sqrt(8 * n) / 5)
        return SignBoosting(curator, layout, n).learn(room)
    return VectorBoosting(curator, layout, n).learn(MAX_STEPS, 1.5, Fraction(0))
