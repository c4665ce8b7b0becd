"""A database's chain beside its witness: whether it holds what was anchored, and the next anchor."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import func, select

from frith.errors import FormatError
from frith.ledger.anchors import Record, Signer, doubts, read_trusted
from frith.ledger.book import entry
from frith.ledger.database import Database
from frith.ledger.witness import Witness, open_witness

_AT_ONCE = 1_000  # entries whose hashes are fetched at once


class Anchors:
    """A witness, the keys that are trusted about it, and the key to sign with, if there is one.

    Remembers what it has read, so that it also notices a witness that loses lines while a process runs.
    """

    def __init__(
        self,
        witness: Witness,
        trusted: frozenset[str],
        signer: Signer | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ):
        self._witness, self._signer, self._clock = witness, signer, clock
        self._trusted = trusted if signer is None else trusted | {signer.key}
        self._record: Record | None = None
        self._written: tuple[int, str] | None = None
        self._lock = threading.Lock()

    def read(self, *, whole: bool = False) -> Record:
        """What the witness holds: all of it, or what came since the last time."""
        with self._lock:
            if self._record is not None and not whole:
                read = self._witness.lines(tail=True)
                if self._record.add(read):
                    return self._record
            before, self._record = self._record, Record(self._trusted)
            self._record.add(self._witness.lines())
            last = None if before is None else before.last
            if before is not None and last is not None and not self._record.holds(last):
                self._record = before
                raise FormatError(
                    f"the witness no longer holds the anchor of entry {last.entry} that was read before: "
                    "put its lines back from a copy, or see docs/runbook.md"
                )
            return self._record

    def is_empty(self) -> bool:
        """Whether the witness has never held a line."""
        return not any(line.strip() for line in self._witness.lines(tail=True))

    def doubts(self, database: Database, *, whole: bool = False) -> list[str]:
        """What a database's chain lacks of what was anchored.

        Reads the witness first: whatever was anchored by then must be in the database, which is read after.
        """
        try:
            record = self.read(whole=whole)
        except FormatError as error:
            return [str(error)]
        hashes: dict[int, str] = {}
        with database.read() as session:
            named = record.entries
            for i in range(0, len(named), _AT_ONCE):
                some = named[i : i + _AT_ONCE]
                query = select(entry.c.id, entry.c.hash).where(entry.c.id.in_(some))
                hashes |= {row.id: row.hash for row in session.execute(query)}
            entries = session.scalar(select(func.max(entry.c.id))) or 0
        return doubts(record, hashes, entries)

    def has_ended(self, job: str) -> bool:
        """Whether the witness says that this job's answer was about to be stored."""
        return _hash_of_job(job) in self.read().ended

    def write(self, entries: int, hash: str, *, forgets: str = "", ended: str = "") -> bool:
        """Anchor a head that the caller has checked; False if it was the last one written."""
        if self._signer is None:
            raise FormatError("there is no key to sign with; name one with `anchor_key`")
        if self._written == (entries, hash) and not forgets and not ended:
            return False
        at = self._clock().isoformat(timespec="seconds")
        job = _hash_of_job(ended) if ended else ""
        self._witness.add(self._signer.sign(entries, hash, at, forgets, job).to_line())
        self._written = (entries, hash)
        return True


def _hash_of_job(job: str) -> str:
    return hashlib.sha256(f"job {job}".encode()).hexdigest()


def open_anchors(
    witness: str, key: str = "", trusted: str = "", clock: Callable[[], datetime] | None = None
) -> Anchors | None:
    """The anchors of these settings; None if there is no witness."""
    if not witness:
        if key or trusted:
            raise FormatError("anchors need a witness: name a file or a URL with `anchor_witness`")
        return None
    keys, signer = read_trusted(trusted), Signer.load(Path(key)) if key else None
    if signer is None and not keys:
        raise FormatError("a witness is read with a key: set `anchor_key`, or `anchor_trusted`")
    more = {} if clock is None else {"clock": clock}
    return Anchors(open_witness(witness), keys, signer, **more)
