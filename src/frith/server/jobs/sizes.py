"""What a request needs, from public sizes alone: what to refuse, and when to kill a job.

An estimate reads the request and the domain, never the records. It is what a usual run needs; the
limits of a job's process are the estimate times a margin, so a job that reaches them has far more to do
than its public sizes suggest. A table may hold more records than its domain declares. Then being killed
is an answer about its records, which every guarantee of a server names among its assumptions.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from sqlalchemy.orm import Session

from frith.client.kinds import JobKind
from frith.client.responses import Estimate
from frith.domain import Categorical, Domain
from frith.growing.boosting import CELL_QUESTIONS, MAX_STEPS
from frith.growing.random_trees import floor_log, random_tree_depth
from frith.server.jobs.counting import MAX_CELLS
from frith.server.jobs.history import maker
from frith.server.jobs.requests import JobRequest
from frith.server.problems import invalid
from frith.server.settings import Settings

SYNTHETIC = 1_000
"""The records of a dry run."""
TIME_MARGIN, LEAST_SECONDS = 20, 300
MEMORY_MARGIN, LEAST_BYTES = 2, 2**30
"""A job is killed at its estimate times the margin, plus what the smallest job may take."""
_ASSUMED = 1_000_000  # records to estimate with if the domain declares none
_CELL_BYTES = 32  # a counter of a question, and what is computed from it
_KEPT_BYTES = 250  # a released counter: also written as JSON, and packed
LEAST_STORED, _STORED_BYTES = 4_000, 4  # a job without its counters, and each of them, packed
_CELL_SECONDS = 1.5e-5
_NODE_SECONDS = 1e-4  # a node of a greedy tree
_VALUE_SECONDS = 3e-8  # a value of a record, read and counted in one pass
_PERSON_BYTES = 100  # a record that is kept in memory to bound what each person has
_MOST = 10.0**15  # larger estimates are all the same
_DEEPEST = 50  # levels: two branches at each are more than that


@dataclass(frozen=True)
class Limits:
    """Where the process of a job is killed."""

    seconds: float
    bytes: int


class OverLimit(Exception):
    """A job was killed at one of its limits."""


@dataclass(frozen=True)
class _Shape:
    """The largest question, the released cells, the number of such questions, nodes and passes."""

    cells: float
    kept: float
    times: int = 1
    nodes: float = 0
    passes: int = 2


def estimate(session: Session | None, asked: JobRequest, domain: Domain) -> Estimate:
    """What a request on this domain needs; scores and updates need what their forest needed.

    Only scores and updates need a session.
    """
    first = origin(session, asked)
    records = _records(asked, domain)
    shape = _shape(first, domain, _ASSUMED if records is None else records)
    read = (_ASSUMED if records is None else records) * (1 + len(domain.attributes))
    persons = 0 if domain.person is None else read * _PERSON_BYTES
    seconds = (
        shape.times * shape.cells * _CELL_SECONDS
        + shape.nodes * _NODE_SECONDS
        + shape.passes * read * _VALUE_SECONDS
    )
    return Estimate(
        cells=math.ceil(min(shape.cells, _MOST)),
        bytes=math.ceil(min(shape.cells * _CELL_BYTES + shape.kept * _KEPT_BYTES + persons, _MOST)),
        seconds=math.ceil(min(seconds, _MOST)),
        stored=math.ceil(min(LEAST_STORED + shape.kept * _STORED_BYTES, _MOST)),
    )


def check(settings: Settings, found: Estimate) -> None:
    """Refuse what is too large for this server, before anything is reserved."""
    for what, needed, most in (
        ("cells", found.cells, settings.job_cells),
        ("bytes of memory", found.bytes, settings.job_bytes),
        ("seconds", found.seconds, settings.job_seconds),
    ):
        if needed > most:
            raise invalid(
                f"the request needs about {needed:,} {what}, and this server allows {most:,}; ask "
                "for fewer or lower trees, fewer bins or fewer attributes; nothing was charged",
            )


def limits(settings: Settings, session: Session, asked: JobRequest, domain: Domain) -> Limits:
    """Where a job is killed: at a margin over its estimate.

    If the domain does not declare the number of records, the limit is what this server allows at all.
    """
    found = estimate(session, asked, domain)
    if _records(asked, domain) is None:
        return _limits(settings, settings.job_seconds, settings.job_bytes)
    return _limits(settings, found.seconds, min(found.bytes, settings.job_bytes))


def _limits(settings: Settings, seconds: float, held: int) -> Limits:
    return Limits(
        min(settings.job_seconds, LEAST_SECONDS + TIME_MARGIN * seconds),
        LEAST_BYTES + MEMORY_MARGIN * held,
    )


def origin(session: Session | None, asked: JobRequest) -> JobRequest:
    """The request whose forest this one is about, or the request itself."""
    while JobKind(asked.kind).reads_forest:
        assert session is not None
        asked = JobRequest.read(maker(session, asked.details["forest"]).body)
    return asked


def _records(asked: JobRequest, domain: Domain) -> int | None:
    return SYNTHETIC if asked.kind == JobKind.DRY_RUN else domain.records


def _shape(asked: JobRequest, domain: Domain, records: int) -> _Shape:
    if asked.kind == JobKind.COUNT:
        return _Shape(MAX_CELLS, MAX_CELLS)
    return _SHAPES[asked.details["learner"]](asked, domain, max(1, records))


def _random(asked: JobRequest, domain: Domain, records: int) -> _Shape:
    trees, depth = _whole(asked, "n_trees"), _chosen(asked, "max_depth")
    if depth is None:
        depth = random_tree_depth(domain, domain.records or records, trees)
    per_leaf = 2 if domain.has_target else domain.n_labels
    cells = trees * _at_depth(domain, depth) * per_leaf
    return _Shape(cells, cells)


def _signal(asked: JobRequest, domain: Domain, records: int) -> _Shape:
    """Nodes are split while their support exceeds their noise, labels x noise of one count."""
    trees = max(1, sum(a.size > 1 for a in domain.attributes))
    supported = records / max(1.0, _noise(asked, trees) * domain.n_labels)
    levels = (_at_depth(domain, depth) for depth in range(1, _DEEPEST))
    leaves = next((nodes for nodes in levels if nodes > supported), _at_depth(domain, _DEEPEST))
    cells = trees * leaves * domain.n_labels
    return _Shape(cells, cells)


def _greedy(asked: JobRequest, domain: Domain, records: int) -> _Shape:
    """Nodes are split while they are large; if the noise is larger, some are split by chance."""
    n_attributes = len(domain.attributes)
    depth = _chosen(asked, "max_depth", n_attributes) or 0
    trees = min(_chosen(asked, "n_trees", 1) or 1, n_attributes)
    noise, least = _noise(asked, 2 * depth + 1), asked.details["parameters"]["min_support"]
    least = float(least) if isinstance(least, int | float) else None
    by_chance = 0.16 if least is None else 0.5 if least < noise else 0.0
    large = records / max(1.0, noise if least is None else least)

    def nodes(level: int) -> float:
        grown, above = _at_depth(domain, level), _at_depth(domain, max(0, level - 1))
        return trees * (min(grown, large * grown / above) + by_chance**level * grown)

    return _level_shape(asked, domain, nodes, depth)


def _complete(asked: JobRequest, domain: Domain, records: int) -> _Shape:
    """Every node above the depth is split; parameters not given follow from records and budget."""
    branches, signal = _branches(domain), min(records * float(asked.budget.epsilon), _MOST)
    trees = _chosen(asked, "n_trees", max(1, min(8, int(signal / (20_000 * domain.n_labels)))))
    trees, depth = trees or 1, _chosen(asked, "max_depth")
    if depth is None:
        room = Fraction(signal / (10 * trees * domain.n_labels))
        fitting = floor_log(room, Fraction(branches)) if branches > 1 else 1
        depth = max(1, min(8, len(domain.attributes), fitting))

    def nodes(level: int) -> float:
        return trees * _at_depth(domain, level)

    return _level_shape(asked, domain, nodes, depth)


def _boosted(asked: JobRequest, domain: Domain, records: int) -> _Shape:
    """A bounded number of steps, each a choice among all cuts."""
    cells = 2 * _bins(domain, 64) * domain.n_outputs
    return _Shape(cells, MAX_STEPS * 2**CELL_QUESTIONS, times=MAX_STEPS, passes=2 * MAX_STEPS)


_SHAPES: dict[str, Callable[[JobRequest, Domain, int], _Shape]] = {
    "forest": _boosted,
    "random-decision": _random,
    "signal": _signal,
    "gini": _greedy,
    "id3": _greedy,
    "c45": _greedy,
    "info-gain": _complete,
}


def _level_shape(
    asked: JobRequest, domain: Domain, nodes: Callable[[int], float], depth: int
) -> _Shape:
    """The largest level whose splits are counted, or the leaves below it."""
    levels = [nodes(level) for level in range(min(depth, _DEEPEST) + 1)]
    split, kept = max(levels[:-1], default=1.0), max(levels) * domain.n_labels
    cells = max(split * _bins(domain, _whole(asked, "bins")) * domain.n_labels, kept)
    return _Shape(cells, kept, times=2, nodes=split, passes=depth + 2)


def _chosen(asked: JobRequest, name: str, other: int | None = None) -> int | None:
    """A parameter that counts something, or `other` if the learner chooses it.

    The rehearsal of the job refuses anything that is not such a number.
    """
    value = asked.details["parameters"].get(name)
    return value if type(value) is int else other


def _whole(asked: JobRequest, name: str) -> int:
    return max(1, _chosen(asked, name, 1) or 1)


def _branches(domain: Domain) -> float:
    """The mean number of branches of a split."""
    found = [a.branches for a in domain.attributes if a.size > 1]
    return sum(found) / len(found) if found else 1.0


@functools.lru_cache(maxsize=4_096)
def _at_depth(domain: Domain, depth: int) -> float:
    """The mean number of nodes of a tree at this depth, over the attributes that paths ask for.

    A path asks for a category once and for a number as often as it must: the mean product of
    `depth` of their branches, an elementary symmetric polynomial. So one attribute of a thousand
    values counts once. There are at most as many nodes as combinations of values.
    """
    asked = [a for a in domain.attributes if a.size > 1]
    numeric = [a.branches for a in asked if not isinstance(a, Categorical)]
    branches = [a.branches for a in asked if isinstance(a, Categorical)]
    again = math.ceil((depth - len(branches)) / len(numeric)) if numeric else 0
    branches += numeric * max(1, again)
    depth = min(depth, len(branches), _DEEPEST)
    products = [1] + [0] * depth
    for number in branches:
        for i in range(depth, 0, -1):
            products[i] += products[i - 1] * number
    grown = Fraction(products[depth], math.comb(len(branches), depth))
    most = math.exp(min(sum(math.log(a.size) for a in asked), math.log(_MOST)))
    return float(min(grown, Fraction(most)))


def _bins(domain: Domain, parts: int) -> int:
    return sum(
        a.size if isinstance(a, Categorical) else min(a.size, parts) for a in domain.attributes
    )


def _noise(asked: JobRequest, questions: int) -> float:
    """The standard deviation of a count if the budget is divided among this many questions."""
    total = float(asked.budget.total)
    if asked.budget.unit == "rho":
        return math.sqrt(questions / (2 * total))
    return math.sqrt(2) * questions / total
