"""Masks that cancel: each pair of parties shares a secret; one adds its mask, the other subtracts it.

A mask is the key stream of ChaCha20 under a key that both parties of a pair derive from their X25519
secret and from all that defines a round: session, attempt, question, the terms of the question
(`frith.parties.binding`), and who takes part with which key. So no two rounds share a mask, and parties
that disagree about a round get sums that are noise. Sums are taken modulo 2^64; whoever lacks one of a
party's pair secrets sees its message as evenly distributed numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from frith.curator import Masking
from frith.domain import Domain
from frith.errors import FormatError
from frith.kernels import Question
from frith.parties.binding import terms_of
from frith.privacy.budget import Budget

MAX_NAME = 63
MAX_NUMBER = 1_000_000
MAX_PARTIES = 100
SESSION = r"^[!-~]{1,64}$"
HEX = r"^[0-9a-f]{64}$"
_HEX = re.compile(HEX.replace("$", r"\Z"))
_SESSION = re.compile(SESSION.replace("$", r"\Z"))
_NONCE = bytes(16)  # a key is used once, so its nonce may be anything


@dataclass(frozen=True)
class Keys:
    """A party's own key, and the public keys of the others, which people it trusts gave it."""

    party: str
    private: X25519PrivateKey = field(repr=False)
    peers: Mapping[str, str]

    @classmethod
    def new(cls, party: str) -> Keys:
        """A new key, without peers yet."""
        return cls(party, X25519PrivateKey.generate(), {})

    @classmethod
    def load(cls, party: str, secret: str, peers: Mapping[str, str]) -> Keys:
        return cls(party, X25519PrivateKey.from_private_bytes(bytes.fromhex(secret)), dict(peers))

    def knowing(self, peers: Mapping[str, str]) -> Keys:
        """The same key, with the others' public keys."""
        return Keys(self.party, self.private, {n: k for n, k in peers.items() if n != self.party})

    @property
    def public(self) -> str:
        return self.private.public_key().public_bytes_raw().hex()

    @property
    def secret(self) -> str:
        return self.private.private_bytes_raw().hex()


@dataclass(frozen=True)
class Round:
    """One attempt at one question, as all parties must see it; `FormatError` if it is malformed.

    Parameters
    ----------
    session : str
        Identifies this exchange among all others.
    attempt, question : int
        Numbers that distinguish the rounds of a session.
    about : str
        The digest of the question's terms; see `frith.parties.binding`.
    keys : dict of str to str
        The public key of every party that takes part, by name.
    colluders : int, default=1
        How many of the parties may pool what they know.
    """

    session: str
    attempt: int
    question: int
    about: str
    keys: Mapping[str, str]
    colluders: int = 1

    def __post_init__(self) -> None:
        _check_names(self)
        _check_numbers(self)
        object.__setattr__(self, "keys", MappingProxyType(dict(self.keys)))

    @classmethod
    def from_json(cls, data: Any) -> Round:
        """Read a round from outside: exactly the known fields, each of its exact type."""
        names = [f.name for f in fields(cls)]
        if type(data) is not dict or set(data) != set(names):
            raise FormatError(f"a round is an object with exactly {', '.join(names)}")
        return cls(**data)

    def to_json(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)} | {"keys": dict(self.keys)}

    @property
    def assumption(self) -> str:
        return trust_assumption(len(self.keys), self.colluders)

    @property
    def honest(self) -> int:
        return len(self.keys) - self.colluders

    def describe(self) -> bytes:
        """Everything that masks are bound to."""
        parts = [self.session, self.attempt, self.question, self.about, self.colluders]
        return json.dumps([*parts, sorted(self.keys.items())]).encode()


def trust_assumption(parties: int, colluders: int) -> str:
    """The assumption behind the claim of a secure sum, as a sentence."""
    return (
        f"at most {colluders} of the {parties} parties put together what they know, and all "
        "follow the protocol"
    )


def _check_names(round: Round) -> None:
    if type(round.session) is not str or not _SESSION.match(round.session):
        raise FormatError("a round's session is 1 to 64 letters, digits or signs, without spaces")
    if type(round.about) is not str or not _HEX.match(round.about):
        raise FormatError("a round is about a digest of 64 digits, 0 to 9 and a to f")
    if not isinstance(round.keys, Mapping) or len(round.keys) > MAX_PARTIES:
        raise FormatError(f"a round's keys are an object of 2 to {MAX_PARTIES} parties")
    for name, key in round.keys.items():
        if type(name) is not str or not 1 <= len(name) <= MAX_NAME or not name.isprintable():
            raise FormatError(f"a party's name is a text of 1 to {MAX_NAME} characters")
        if type(key) is not str or not _HEX.match(key):
            raise FormatError("a party's key has 64 digits, 0 to 9 and a to f")


def _check_numbers(round: Round) -> None:
    for name, least in (("attempt", 1), ("question", 0)):
        number = getattr(round, name)
        if type(number) is not int or not least <= number <= MAX_NUMBER:
            raise FormatError(f"a round's {name} is a whole number from {least} to {MAX_NUMBER:,}")
    if type(round.colluders) is not int:
        raise FormatError("a round's colluders are a whole number")
    if not 1 <= round.colluders < len(round.keys):
        raise FormatError(
            "every party knows its own share, so at least 1 colludes, and fewer than all; the "
            f"round says {round.colluders} of {len(round.keys)}"
        )


@dataclass(frozen=True)
class PairMasks(Masking):
    """One party's side of a round."""

    keys: Keys
    round: Round

    def __post_init__(self) -> None:
        named = dict(self.round.keys)
        if named.pop(self.keys.party, None) != self.keys.public:
            raise ValueError(f"the round does not name {self.keys.party} with its own key")
        for party, key in named.items():
            if self.keys.peers.get(party) != key:
                raise ValueError(f"the key of {party} is not the one that {self.keys.party} knows")

    @property
    def honest(self) -> int:
        return self.round.honest

    @property
    def assumption(self) -> str:
        return self.round.assumption

    def check(self, question: Question, domain: Domain, budget: Budget, share: Fraction) -> None:
        """Raise unless the round is about these terms, which the party computed itself."""
        keys, colluders = self.round.keys, self.round.colluders
        terms = terms_of(question, domain, budget, share, keys=keys, colluders=colluders)
        if terms.digest != self.round.about:
            raise ValueError(
                "the round is about another question, budget or mechanism than this party is asked "
                "with; ask every party the same question with the same epsilon and delta"
            )

    def hide(self, values: NDArray[np.int64]) -> NDArray[np.uint64]:
        """The values with the masks of all pairs added, modulo 2^64."""
        hidden = values.astype(np.int64).view(np.uint64).copy()
        for party in self.round.keys:
            if party < self.keys.party:
                hidden += self._mask(party, hidden.shape)
            elif party > self.keys.party:
                hidden -= self._mask(party, hidden.shape)
        return hidden

    def _mask(self, party: str, shape: tuple[int, ...]) -> NDArray[np.uint64]:
        peer = X25519PublicKey.from_public_bytes(bytes.fromhex(self.round.keys[party]))
        pair = json.dumps(sorted([party, self.keys.party])).encode()
        key = HKDF(SHA256(), 32, b"frith secure sum", self.round.describe() + pair).derive(
            self.keys.private.exchange(peer)
        )
        stream = Cipher(algorithms.ChaCha20(key, _NONCE), mode=None).encryptor()
        size = int(np.prod(shape))
        return np.frombuffer(stream.update(bytes(8 * size)), dtype="<u8").reshape(shape)


def unmask(messages: list[NDArray[np.uint64]]) -> NDArray[np.int64]:
    """The sum of all parties' values: their masks cancel."""
    total = np.zeros(messages[0].shape, dtype=np.uint64)
    for message in messages:
        total += message
    return total.view(np.int64)
