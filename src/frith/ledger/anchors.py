"""Signed heads of the chain, kept where whoever can write to the database cannot.

An anchor says: at this time the chain had this many entries, and the last had this hash. A chain that
was cut short, put back from an old copy or written anew with fresh hashes does not hold an entry that
an anchor names, whatever it says of itself.

    Claim    Let the witness hold an anchor of entry n with hash h. A chain that passes `verify` and
             `doubts` has the first n entries that it had when the anchor was signed.
    Proof    `doubts` compares entry n's hash with h. `verify` works each hash out anew from the entry
             and the hash before, so equal hashes at n mean equal entries 1 to n, unless two texts
             with one SHA-256 were found.
    Assumes  The witness keeps every line it was given, in order: more can be added, nothing taken
             away. The key was used by this ledger's servers alone.
    Checked  tests/ledger/test_anchors.py: chains rolled back, written anew and forked; forged,
             repeated and torn lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from frith.errors import FormatError, SourceError

_FORMAT = "frith-anchor-1"
WHAT_TO_DO = (
    "the database was put back from an old copy, cut short or written anew: stop the server, and put "
    "back a copy that holds this entry; docs/runbook.md says how, and what to do if there is none"
)


@dataclass(frozen=True, slots=True)
class Anchor:
    """A signed head: the number of entries and the last one's hash; 0 and "" of an empty chain.

    One that `forgets` gives up the anchors before it, for a reason that everybody can read. One with
    `ended`, a hash, says that this job's answer is about to be stored: a copy of the database that
    holds the charge and lacks the answer must not draw another.
    """

    entry: int
    hash: str
    at: str
    key: str
    signature: str = ""
    forgets: str = ""
    ended: str = ""

    @property
    def signed(self) -> bytes:
        """What the signature is over: everything else."""
        said = [_FORMAT, self.entry, self.hash, self.at, self.key, self.forgets, self.ended]
        return json.dumps(said).encode()

    def to_line(self) -> str:
        """One line of a witness."""
        names = ("entry", "hash", "at", "key", "forgets", "ended", "signature")
        said = {"format": _FORMAT} | {name: getattr(self, name) for name in names}
        return json.dumps(said)

    @classmethod
    def from_line(cls, line: str) -> Anchor:
        """Read a line; its signature is not checked. Raises `FormatError` if it is no anchor."""
        try:
            said = json.loads(line)
            if said.pop("format") != _FORMAT or type(said["entry"]) is not int:
                raise ValueError
            anchor = cls(**said)
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
            raise FormatError("a line of the witness is not an anchor") from None
        texts = (anchor.hash, anchor.at, anchor.key, anchor.signature, anchor.forgets, anchor.ended)
        if anchor.entry < 0 or not all(isinstance(text, str) for text in texts):
            raise FormatError("a line of the witness is not an anchor")
        return anchor


class Signer:
    """Signs anchors with an Ed25519 key; the file of the key is for the server alone."""

    def __init__(self, private: Any):
        self._private = private
        self.key = _public_text(private.public_key())

    @classmethod
    def load(cls, path: Path) -> Signer:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        try:
            private = load_pem_private_key(_bytes(path), None)
        except (TypeError, ValueError):
            private = None
        if not isinstance(private, Ed25519PrivateKey):
            raise FormatError(f"{path} holds no private key; make one with `frith anchor key`")
        return cls(private)

    def sign(self, entry: int, hash: str, at: str, forgets: str = "", ended: str = "") -> Anchor:
        anchor = Anchor(entry, hash, at, self.key, forgets=forgets, ended=ended)
        return replace(anchor, signature=self._private.sign(anchor.signed).hex())


def new_key() -> tuple[bytes, str]:
    """A private key as PEM, and its public key as text."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    private = Ed25519PrivateKey.generate()
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return pem, _public_text(private.public_key())


def is_signed(anchor: Anchor) -> bool:
    """Whether the key that an anchor names has signed it."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(anchor.key))
        key.verify(bytes.fromhex(anchor.signature), anchor.signed)
    except (InvalidSignature, ValueError):
        return False
    return True


def read_trusted(text: str) -> frozenset[str]:
    """Public keys of 64 digits each, separated by commas or spaces."""
    keys = frozenset(text.replace(",", " ").lower().split())
    if not all(len(key) == 64 and set(key) <= set("0123456789abcdef") for key in keys):
        raise FormatError("a public key has 64 digits, 0 to 9 and a to f")
    return keys


class Record:
    """What a witness holds: anchors that count, and lines that need somebody to look at them.

    Lines are added as they are read. A line that comes twice counts at its first place: otherwise
    somebody who can add lines could repeat an old anchor that `forgets`.
    """

    def __init__(self, trusted: frozenset[str]):
        self._trusted, self._seen = trusted, set[bytes]()
        self.anchors: list[Anchor] = []
        self.ended: set[str] = set()
        """Hashes of jobs whose answers were stored; giving anchors up does not give these up."""
        self.given_up: list[Anchor] = []
        """Anchors with which an operator gave up earlier ones."""
        self.forged: list[int] = []
        """The entries of anchors that no trusted key has signed."""
        self.torn = 0
        """Lines that are not anchors: an interrupted write, or somebody else's text."""

    def add(self, lines: Iterable[str]) -> int:
        """Add some lines; returns how many of them were known."""
        known = 0
        for line in filter(str.strip, lines):
            try:
                anchor = Anchor.from_line(line)
            except FormatError:
                self.torn += 1
                continue
            if anchor.signed in self._seen:
                known += 1
            elif anchor.key in self._trusted and is_signed(anchor):
                self._take(anchor)
            elif anchor.entry not in self.forged:
                self.forged.append(anchor.entry)
        return known

    def _take(self, anchor: Anchor) -> None:
        self._seen.add(anchor.signed)
        if anchor.forgets:
            self.given_up.append(anchor)
            self.anchors.clear()
            self.forged.clear()
        self.anchors.append(anchor)
        self.ended |= {anchor.ended} - {""}

    def holds(self, anchor: Anchor) -> bool:
        return anchor.signed in self._seen

    @property
    def last(self) -> Anchor | None:
        """The anchor with the most entries."""
        return max(self.anchors, key=lambda anchor: anchor.entry, default=None)

    @property
    def entries(self) -> list[int]:
        """The entries whose hashes `doubts` compares."""
        return sorted({anchor.entry for anchor in self.anchors if anchor.entry})


def doubts(record: Record, hashes: Mapping[int, str], entries: int) -> list[str]:
    """What a chain of this many entries lacks of what was anchored; `hashes` are of the named entries."""
    found = [
        f"an anchor of entry {entry} in the witness is not signed by a trusted key: find out who wrote "
        "it; if a server has a new key, trust it with `anchor_trusted`"
        for entry in record.forged
    ]
    last = record.last
    if last is None:
        return [
            *found,
            "the witness holds no anchor of this ledger: if it has never held one, begin with `frith "
            "anchor begin`; if it was lost, see docs/runbook.md",
        ]
    if last.entry > entries:
        found.append(
            f"the ledger ends at entry {entries}, and had {last.entry} at {last.at} by the witness: "
            f"{WHAT_TO_DO}"
        )
    other = (a for a in record.anchors if a.entry and hashes.get(a.entry, a.hash) != a.hash)
    first = min(other, key=lambda anchor: anchor.entry, default=None)
    if first is not None:
        found.append(
            f"entry {first.entry} is not the one that was anchored at {first.at}: {WHAT_TO_DO}"
        )
    return found


def _public_text(key: Any) -> str:
    raw: bytes = key.public_bytes_raw()
    return raw.hex()


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        raise SourceError(f"the key {path} cannot be read") from None
