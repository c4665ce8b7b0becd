"""Masks that cancel: each pair of parties shares a secret, one adds what it gives and the other takes it off.

A mask is the key stream of ChaCha20 under a key that both parties of a pair derive from their X25519
secret and from everything that a round is: session, attempt, question, structure, and who takes part
with which key. So no two rounds share a mask, and parties that disagree about a round get sums that
are noise. Sums are taken modulo 2^64; whoever lacks one of a party's pair secrets sees its message as
evenly distributed numbers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

_NONCE = bytes(16)  # a key is used once, so its nonce may be anything


@dataclass(frozen=True)
class Keys:
    """A party's own key, and the public keys of the others, which it was given by people it trusts."""

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
    """One attempt at one question, as all parties must see it."""

    session: str
    attempt: int
    question: int
    about: str
    keys: Mapping[str, str]
    colluders: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.colluders < len(self.keys):
            raise ValueError(
                "every party knows its own share, so at least 1 colludes, and fewer than all"
            )

    @property
    def honest(self) -> int:
        return len(self.keys) - self.colluders

    def describe(self) -> bytes:
        """Everything that masks are bound to."""
        parts = [self.session, self.attempt, self.question, self.about, self.colluders]
        return json.dumps([*parts, sorted(self.keys.items())]).encode()


@dataclass(frozen=True)
class PairMasks:
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

    def hide(self, values: NDArray[np.int64]) -> NDArray[np.uint64]:
        """The values with all pairs' masks on them, modulo 2^64."""
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
