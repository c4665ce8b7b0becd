"""What a reviewer of an exported log should look at, found from its lines alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from frith.ledger.entries import EntryKind
from frith.ledger.log import Line
from frith.ledger.walk import Walk
from frith.privacy.exact import readable

APPROVE = "approve raise"
"""The action of the second person who raises a budget."""


class FindingKind(StrEnum):
    """What a finding is about."""

    EDITED = "edited"
    MISSING = "missing"
    ROLLED_BACK = "rolled back"
    RAISED_BY_ONE = "raised by one"
    ANOTHERS_NAME = "token in another's name"
    UNKNOWN_TOKEN = "unknown token"


@dataclass(frozen=True)
class Finding:
    kind: FindingKind
    entry: int
    text: str


@dataclass
class Review:
    """Reads a log line by line, and finds what does not fit or needs a second look."""

    findings: list[Finding] = field(default_factory=list)
    _seen: dict[int, Line] = field(default_factory=dict)
    _walk: Walk = field(default_factory=Walk)
    _totals: dict[str, Line] = field(default_factory=dict)
    _raises: list[tuple[Line, Line]] = field(default_factory=list)
    _makers: dict[str, tuple[str, str]] = field(default_factory=dict)
    _owners: dict[str, str] = field(default_factory=dict)
    _holders: set[str] = field(default_factory=set)
    _told: set[str] = field(default_factory=set)

    def read(self, lines: Iterable[Line]) -> Review:
        for line in lines:
            self._chain(line)
            self._look(line)
        self._lone_raises(None)
        return self

    def holds(self, head: str) -> bool:
        """Whether the log contains the entry with a hash that was noted elsewhere."""
        return any(line.entry.hash == head for line in self._seen.values())

    def _find(self, kind: FindingKind, line: Line, text: str) -> None:
        self.findings.append(Finding(kind, line.entry.id, text))

    # -- the chain ------------------------------------------------------------------------------

    def _chain(self, line: Line) -> None:
        number, earlier = line.entry.id, self._seen.get(line.entry.id)
        if earlier is not None and earlier.entry.hash == line.entry.hash:
            return  # delivered twice
        if earlier is not None:
            self._find(
                FindingKind.ROLLED_BACK,
                line,
                f"entry {number} was written twice, on {earlier.entry.at} by {earlier.entry.actor} "
                f"and on {line.entry.at} by {line.entry.actor}: the database was rolled back",
            )
            self._begin_again(number)
        missing = line.entry.id != self._walk.entries + 1
        if missing and not self._walk.entries and not self._seen:
            self._walk.entries, self._walk.hash = number - 1, ""  # an export from the middle
        for text in list(self._walk.step(line.entry, line.salt)):
            if not self._walk.is_broken or "missing" in text or "not what was written" in text:
                kind = FindingKind.MISSING if "missing" in text else FindingKind.EDITED
                self._find(kind, line, text)
        self._walk.is_broken = False  # find the next one too
        self._seen[number] = line

    def _begin_again(self, number: int) -> None:
        """Follow the chain again up to where it forks."""
        kept = {n: line for n, line in self._seen.items() if n < number}
        self._seen, self._walk = {}, Walk()
        for line in kept.values():
            list(self._walk.step(line.entry, line.salt))
            self._walk.is_broken = False
        self._seen = kept

    # -- what people did ------------------------------------------------------------------------

    def _look(self, line: Line) -> None:
        if line.entry.kind is EntryKind.BUDGET:
            before = self._totals.get(line.entry.account)
            if before is not None and line.entry.amount > before.entry.amount:
                self._raises.append((before, line))
            self._totals[line.entry.account] = line
        if line.event is None:
            return
        self._lone_raises(line)
        event, actor = line.event, line.entry.actor
        if event.outcome != "done":
            return
        made = event.after if isinstance(event.after, dict) else {}
        if event.action in ("add member", "change member") and made.get("owner"):
            self._owners[event.target] = made["owner"]
        self._used(line, event.via, actor)
        if "token" in made:  # a first token is made by whoever lets them in
            is_first = event.target not in self._holders
            self._holders.add(event.target)
            self._makers[made["token"]] = (event.target if is_first else actor), event.target

    def _lone_raises(self, line: Line | None) -> None:
        """Raises since the last event belong to this one if it closes their transaction.

        It does if it succeeded and has their table and their actor.
        """
        event = None if line is None else line.event
        two = event is not None and event.action == APPROVE and event.outcome == "done"
        if two and line is not None and event is not None:
            two = event.more.get("proposer") not in (None, line.entry.actor)
        for before, raised in self._raises:
            is_share = "/" in raised.entry.account
            is_its = (
                line is not None
                and line.table == raised.table
                and line.entry.actor == raised.entry.actor
            )
            if not (two and is_its) and not is_share:
                amounts = readable(before.entry.amount), readable(raised.entry.amount)
                self._find(
                    FindingKind.RAISED_BY_ONE,
                    raised,
                    f"the budget of {raised.entry.account} was raised from {raised.entry.unit} "
                    f"{amounts[0]} to {amounts[1]} by {raised.entry.actor} alone",
                )
        self._raises.clear()

    def _used(self, line: Line, token: str, actor: str) -> None:
        if not token or token.startswith("oidc-") or token in self._told:
            return
        event = line.event
        assert event is not None
        used = f"{event.action} by {actor} from {event.address or 'nowhere'} with token {token}"
        if token not in self._makers:
            self._told.add(token)
            text = f"{used}, which this log does not say who made"
            self._find(FindingKind.UNKNOWN_TOKEN, line, text)
            return
        maker, member = self._makers[token]
        if maker != member and self._owners.get(member) != maker:
            self._told.add(token)
            text = f"{used}, which {maker} made in the name of {member}"
            self._find(FindingKind.ANOTHERS_NAME, line, text)


def who_did_what(lines: Iterable[Line]) -> Iterator[str]:
    """The log as sentences, for people."""
    for line in lines:
        event, entry = line.event, line.entry
        where = f" from {event.address}" if event is not None and event.address else ""
        outcome = "" if line.outcome == "done" else f" (refused: {line.outcome})"
        amount = f" {entry.unit} {readable(entry.amount)}" if event is None and entry.amount else ""
        yield f"{entry.id} {entry.at} {entry.actor or '?'}{where}: {line.what} {line.target}{amount}{outcome}"
