"""Sensitivity measured: single records, chosen to move a question as far as they can.

What a question states about itself follows from its proof. Before a question from outside is
answered it is also tried: records drawn from the public domain, many of them aimed at a leaf of the
question's own trees, are added one at a time. Measuring refutes; it never proves.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from frith.domain import Domain
from frith.domain.encoding import Batch
from frith.errors import QuestionError
from frith.forest.trees import Trees
from frith.kernels.base import add_batch
from frith.kernels.closed import Question, base_of
from frith.kernels.levels import View

_WORK = 2**22  # cells that one measurement may look at
_MOST_TRIES = 64
_MOST_STEPS = 2**12  # splits that all records together are aimed through


def check_measured(question: Question, domain: Domain) -> None:
    """Raise if a single record moves a question further than it states."""
    tries = max(4, min(_MOST_TRIES, _WORK // math.prod(base_of(question).shape)))
    for record in hostile_records(question, domain, tries):
        l1, l2_squared = moved_by(question, record)
        if l1 > question.l1 or l2_squared > question.l2_squared:
            raise QuestionError(
                f"one record moves this question by {l1}, and it states {question.l1}; nothing was "
                "charged. Please report this: no question should get here"
            )


def moved_by(question: Question, record: Batch) -> tuple[int, int]:
    """How far one batch of records moves an empty table's answer: L1 and squared L2."""
    base = base_of(question)
    out = np.zeros(base.shape, dtype=np.int64)
    add_batch(base, record, out)
    answer = question.take(out) if isinstance(question, View) else out
    size = np.abs(answer[answer != 0]).astype(object)
    return int(size.sum()), int((size * size).sum())


def hostile_records(question: Question, domain: Domain, count: int) -> list[Batch]:
    """Single records: half of them random, half aimed at random leaves of the question's trees."""
    rng = np.random.default_rng(0)  # public: no record of the table is looked at
    sizes = np.array([a.size for a in domain.attributes])
    trees = getattr(base_of(question), "trees", None)
    rows = [rng.integers(0, sizes) for _ in range(count)]
    if trees is not None:
        parents = _parents(trees, domain)
        aimed = rows[::2]
        for row, leaf in zip(aimed, rng.choice(trees.leaves, len(aimed)), strict=True):
            _aim(row, int(leaf), trees, parents, domain, _MOST_STEPS // len(aimed))
    labels = rng.integers(0, domain.label.size, count)
    codes = np.array(rows, dtype=domain.code_type).reshape(count, len(sizes))
    return [
        Batch(codes[i : i + 1], labels[i : i + 1].astype(domain.label_type)) for i in range(count)
    ]


def _parents(trees: Trees, domain: Domain) -> NDArray[np.int64]:
    """The node above each node; -1 above a root."""
    parents = np.full(trees.n_nodes, -1, dtype=np.int64)
    inner = np.flatnonzero(trees.attribute >= 0)
    widths = trees.widths(domain)[inner]
    first = np.repeat(trees.first_child[inner] - np.cumsum(widths) + widths, widths)
    parents[first + np.arange(len(first))] = np.repeat(inner, widths)
    return parents


def _aim(
    row: NDArray[np.int64],
    leaf: int,
    trees: Trees,
    parents: NDArray[np.int64],
    domain: Domain,
    most_steps: int,
) -> None:
    """Change a record's codes so that it walks to a leaf, if any record does.

    A path may be as long as a question from outside makes it, so only its last steps are looked at.
    """
    possible: dict[int, NDArray[np.bool_]] = {}
    for _ in range(most_steps):
        if (node := int(parents[leaf])) < 0:
            return
        a, cut = int(trees.attribute[node]), int(trees.cut[node])
        codes = np.arange(domain.attributes[a].size)
        branch = leaf - int(trees.first_child[node])
        if cut >= 0:
            wanted = (codes >= cut) == bool(branch)
        elif cut == -1:
            wanted = codes == branch
        else:
            wanted = trees.members(node)[: len(codes)] != bool(branch)
        possible[a] = wanted & possible.get(a, np.True_)
        if possible[a].any() and not possible[a][row[a]]:
            row[a] = np.flatnonzero(possible[a])[0]
        leaf = node
