"""What an answer belongs to: one digest of everything that a party's noise depends on.

A coordinator who could ask one party in epsilon and another in rho, in one round, would unmask a sum
whose noise is too small for one of them. So each party computes the terms of a question itself, from
its own kernel, domain and budget. It answers only a round that is about their digest, and masks are
bound to that digest: parties that were asked different questions refuse, or their sum is noise.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from frith.curator import noise_of, noise_share
from frith.domain import Domain
from frith.errors import FormatError
from frith.kernels import Question
from frith.parties.questions import question_to_json
from frith.parties.shared_structure import hash_of
from frith.privacy.budget import Budget
from frith.privacy.mechanisms import DiscreteLaplace
from frith.privacy.shares import LaplaceShare

FORMAT = "frith-terms/1"
_PLAIN = (type(None), bool, int, float, str, bytes, Fraction)
_NUMBERS_AND_TEXTS = "biufSU"


@dataclass(frozen=True)
class Terms:
    """One question as it reaches one party; terms that differ anywhere have different digests.

    Parameters
    ----------
    question : dict or str
        The kernel in JSON, with its trees, nodes and cuts; or the digest of its fields.
    domain : str
        The domain's fingerprint, which covers the person and m.
    unit : {"epsilon", "rho"}
        The unit of the budget.
    amount : str
        What the question costs, in that unit.
    epsilon, delta : str
        The budget that the question is part of. A pure question has its own budget.
    mechanism : str
        The name of the mechanism that adds the party's noise.
    sensitivity : int
        The question's sensitivity, in the mechanism's own norm.
    scale : float
        The scale of the party's noise.
    parties : tuple of (str, str)
        Names and public keys, sorted by name; empty for an answer that is published alone.
    colluders : int
        How many of the parties may pool what they know.
    """

    question: Any
    domain: str
    unit: str
    amount: str
    epsilon: str
    delta: str
    mechanism: str
    sensitivity: int
    scale: float
    parties: tuple[tuple[str, str], ...]
    colluders: int

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON of all terms."""
        return hash_of({"format": FORMAT, **asdict(self)})


def terms_of(
    kernel: Question,
    domain: Domain,
    budget: Budget,
    share: Fraction,
    *,
    keys: Mapping[str, str] | None = None,
    colluders: int = 0,
) -> Terms:
    """The terms of a question for `share` of a budget: masked among the parties of `keys`, or open.

    Raises `ValueError` if these parties cannot share the noise.
    """
    keys, amount = keys or {}, share * budget.total
    mechanism, sensitivity, scale = _noise(kernel, domain, budget, amount, len(keys) - colluders)
    is_own_budget = not budget.delta and not budget.is_exact
    return Terms(
        question=_spell(kernel),
        domain=domain.fingerprint,
        unit=budget.unit,
        amount=str(amount),
        epsilon=str(amount if is_own_budget else budget.epsilon),
        delta=str(budget.delta),
        mechanism=mechanism,
        sensitivity=sensitivity,
        scale=scale,
        parties=tuple(sorted(keys.items())),
        colluders=colluders,
    )


def _noise(
    kernel: Question, domain: Domain, budget: Budget, amount: Fraction, honest: int
) -> tuple[str, int, float]:
    """The mechanism's name, sensitivity and scale; a noise share if there are honest parties."""
    if budget.is_exact:
        return "exact", kernel.l1, 0.0
    noise = (
        noise_share(kernel, domain, amount, budget.unit, honest)
        if honest
        else noise_of(kernel, domain, amount, budget.unit)
    )
    name = type(noise).__name__
    if isinstance(noise, LaplaceShare | DiscreteLaplace):
        return name, noise.sensitivity, noise.scale
    return name, noise.sensitivity_squared, noise.scale


def _spell(kernel: Question) -> Any:
    """The question in JSON if it can be sent, otherwise a digest of all the kernel's fields."""
    try:
        return question_to_json(kernel)
    except ValueError:
        return {"kernel": hash_kernel(kernel)}


def hash_kernel(kernel: Any) -> str:
    """A digest of a kernel's type and public fields, all the way down: no two kernels share one.

    Walks the fields of dataclasses in order, and takes arrays with type, shape and bytes. Every part
    states its kind and its number of parts, so the text can be read back, and only equal fields have
    equal texts. Raises `FormatError` for anything else.

    >>> from frith.kernels import RecordCount
    >>> hash_kernel(RecordCount()) == hash_kernel(RecordCount())
    True
    """
    digest, waiting = hashlib.sha256(), [kernel]
    while waiting:  # no recursion: a column of scores builds on hundreds of earlier ones
        text, parts = _take_apart(waiting.pop())
        digest.update(len(text).to_bytes(8, "big") + text)
        waiting.extend(reversed(parts))
    return digest.hexdigest()


def _take_apart(value: Any) -> tuple[bytes, list[Any]]:
    """A value's own content with the number of its parts, and the parts."""
    kind = type(value)
    if kind in _PLAIN:
        return _text(kind.__name__, repr(value)), []
    if kind is Domain:
        return _text("domain", value.fingerprint), []
    if kind in (tuple, list):
        return _text(kind.__name__, len(value)), list(value)
    if kind is dict and all(type(name) is str for name in value):
        return _text("dict", sorted(value)), [value[name] for name in sorted(value)]
    if kind is np.ndarray and value.dtype.kind in _NUMBERS_AND_TEXTS:
        return _text("array", value.dtype.str, value.shape) + value.tobytes(), []
    if isinstance(value, np.generic) and value.dtype.kind in _NUMBERS_AND_TEXTS:
        return _text("scalar", value.dtype.str) + value.tobytes(), []
    if is_dataclass(kind):
        names = [f.name for f in fields(kind)]
        return _text(kind.__module__, kind.__qualname__, names), [getattr(value, n) for n in names]
    raise FormatError(
        "a question that is bound to a round is made of numbers, texts, arrays and dataclasses, "
        f"and this one holds a {kind.__name__}"
    )


def _text(*said: Any) -> bytes:
    return json.dumps(said).encode() + b"\0"
