"""Trees that vote: public structure, released values per node, and predictions from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from frith._cached import cached_property
from frith._documents import reading
from frith._jit import available_threads, compiled
from frith._threads import on_threads
from frith.domain import Domain, Numeric, class_array
from frith.domain.columns import columns_of
from frith.domain.encoding import encode_attributes
from frith.errors import FormatError
from frith.forest.kinds import ValueKind, kind_of, refuse_number
from frith.forest.leaf_tables import ENOUGH, STRIP, leaf_tables, look_up, no_tables
from frith.forest.older import FIRST_FORMAT, scores_of_counts
from frith.forest.trees import Trees, find_leaf
from frith.privacy.guarantee import Guarantee
from frith.privacy.promise import amounts

FORMAT = "frith-forest/2"
VOTES = ("counts", "shares", "weighted", "confident", "product")
SUM = "sum"
"""The vote of a forest whose label is a number, and of no other."""
_LARGEST = 1e150  # of a value that is read: its square, and a sum of such squares, are finite
_MOST_CANDIDATES = 2**48
_BY_LEAF = ("counts", "product", SUM)  # votes that read the record's own leaves
_ROWS = 16_384  # rows predicted per slice: what is worked out of them stays in a core's cache


@dataclass(frozen=True, eq=False)
class VotingTrees:
    """Trees with released values, and the guarantee under which they were released.

    Holds no unreleased number: so all of it may be read, printed and shared.
    `values` are what every node says of each label, counts or scores as its `kind` tells, and
    `variance` is that of the noise on each value of a node. The vote says how trees decide together:

    counts     label counts of the record's leaves, summed over trees (Algorithm 3 of Private-RDT)
    shares     label shares of the record's leaves, summed over trees
    weighted   each tree's most common label, weighted by its share (DPDF)
    confident  the label of highest share on any path; ties by shares summed over trees (DP-RF)
    product    scores of the record's leaves, summed over trees: odds multiply, each tree corrects
               the others
    sum        the numbers of the record's leaves, added up and clipped to the declared bounds: the
               vote of a forest whose label is a number, and of no other

    Where a vote needs shares, a leaf without a positive count predicts from the nearest node above
    it that has one; `confident` predicts from the node of highest share on the path.

    `candidates` is how many nodes were counted, or could have been chosen: intervals hold for all of
    them at once, also where releases decided which ones are left (0: those that are here).
    `measured` holds rules that were counted beside a forest of scores, as one tree of counts.
    """

    domain: Domain
    trees: Trees
    values: NDArray[Any]
    guarantee: Guarantee
    variance: NDArray[np.float64]
    vote: str = "counts"
    candidates: int = 0
    measured: VotingTrees | None = None

    def __post_init__(self) -> None:
        self.trees.check(self.domain)
        if self.values.shape != (self.trees.n_nodes, self.domain.n_outputs):
            raise FormatError("the forest's values do not fit its trees")
        votes = (SUM,) if self.domain.has_target else VOTES
        if self.vote not in votes:
            raise FormatError(f"the vote of a forest with such a label is {' or '.join(votes)}")
        rules = self.measured
        if rules is not None and rules.guarantee != self.guarantee:  # it covers both
            object.__setattr__(self, "measured", replace(rules, guarantee=self.guarantee))
        if rules and (
            rules.kind != ValueKind.COUNTS or rules.domain != self.domain or rules.measured
        ):
            raise FormatError("measured rules are counts over the forest's own domain")

    @property
    def kind(self) -> ValueKind:
        """Whether the values are counts that were measured, or scores."""
        return kind_of(self.vote)

    # -- prediction ----------------------------------------------------------------------------

    def encode(self, table: Any, threads: int | None = None) -> NDArray[Any]:
        """Codes of a DataFrame or Arrow table (columns by name) or an array (in domain order)."""
        columns, rows = columns_of(table, self.domain.names)
        return encode_attributes(columns, self.domain, rows, threads=threads or available_threads())

    def predict_proba(self, table: Any, threads: int | None = None) -> NDArray[np.float64]:
        """The label probabilities of each record, one row each, labels in domain order."""
        return self.proba_of_codes(self.encode(table, threads), threads)

    def predict(self, table: Any, threads: int | None = None) -> NDArray[Any]:
        """The most probable label of each record, the first in domain order where labels tie.

        If the label is a number, that number, within its declared bounds.
        """
        codes = self.encode(table, threads)
        if self.domain.has_target:
            return self.numbers_of_codes(codes, threads)
        return class_array(self.domain.label_values)[self.labels_of_codes(codes, threads)]

    def numbers_of_codes(
        self, codes: NDArray[Any], threads: int | None = None
    ) -> NDArray[np.float64]:
        """The number that the trees add up to for each encoded record, within the declared bounds."""
        target, out = self.domain.target, np.empty(len(codes))

        def add_up(rows: slice) -> None:
            out[rows] = np.clip(self._weights(codes[rows])[:, 0], target.low, target.high)

        self._over_slices(add_up, len(codes), threads)
        return out

    def proba_of_codes(
        self, codes: NDArray[Any], threads: int | None = None
    ) -> NDArray[np.float64]:
        """What the vote gives each label, over its total.

        Noise can leave sums of counts negative; they count as zero. A record without one positive
        sum gets the label shares of the whole forest.
        """
        out = np.empty((len(codes), self.domain.n_labels))

        def share(rows: slice) -> None:
            _share(self._weights(codes[rows]), self.label_weights, out[rows])

        self._over_slices(share, len(codes), threads)
        return out

    def labels_of_codes(self, codes: NDArray[Any], threads: int | None = None) -> NDArray[Any]:
        """The code of the most probable label of each encoded record."""
        out = np.empty(len(codes), dtype=self.domain.label_type)
        fallback = int(np.argmax(self.label_weights))

        def decide(rows: slice) -> None:
            _decide(self._weights(codes[rows]), fallback, out[rows])

        self._over_slices(decide, len(codes), threads)
        return out

    @cached_property
    def label_weights(self) -> NDArray[np.float64]:
        """The weight of each label in the whole forest, at least one of them positive."""
        refuse_number(self.domain, "weights of labels")
        if self.kind is ValueKind.SCORES:
            return _odds(self.values[self.trees.roots].sum(axis=0, keepdims=True))[0]
        weights = np.maximum(self.values[self.trees.roots].sum(axis=0, dtype=np.float64), 0)
        return weights if weights.sum() > 0 else np.ones_like(weights)

    @cached_property
    def node_shares(self) -> NDArray[np.float64]:
        """The share of each label at each node; zeros where no count is positive."""
        counts = np.maximum(self.values, 0).astype(np.float64)
        return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)

    @cached_property
    def speakers(self) -> NDArray[np.int32]:
        """The node that each leaf predicts from."""
        speaker = np.arange(self.trees.n_nodes, dtype=np.int32)
        if self.vote not in _BY_LEAF:
            confidence = self.node_shares.max(axis=1)
            widths = self.trees.widths(self.domain)
            find_speakers(
                self.trees.first_child, widths, confidence, self.vote == "confident", speaker
            )
        return speaker[self.trees.leaves]

    @cached_property
    def leaf_values(self) -> NDArray[np.float64]:
        """What each leaf adds to its records."""
        if self.vote in _BY_LEAF:
            return np.ascontiguousarray(self.values[self.trees.leaves], dtype=np.float64)
        shares = self.node_shares[self.speakers]
        if self.vote == "weighted":
            best = shares.argmax(axis=1)[:, None] == np.arange(shares.shape[1])
            shares = np.where(best, shares, 0.0)
        return np.ascontiguousarray(shares)

    def _weights(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        weights = np.zeros((len(codes), self.domain.n_outputs))
        trees = self.trees
        if self.vote == "confident":
            _most_confident(codes, trees.roots, trees.nodes, trees.sets, self.leaf_values, weights)
        else:
            tables = leaf_tables(trees) if len(codes) >= ENOUGH else None
            _add_leaves(
                codes, trees.roots, trees.nodes, trees.sets, tables or no_tables(trees.n_trees),
                self.leaf_values, weights,
            )  # fmt: skip
        return _odds(weights) if self.vote == "product" else weights

    def _over_slices(self, work: Any, rows: int, threads: int | None) -> None:
        every = range(0, rows, _ROWS)
        starts = iter(every)

        def run() -> None:
            for start in starts:
                work(slice(start, min(start + _ROWS, rows)))

        on_threads(max(1, min(threads or available_threads(), len(every))), run)

    @cached_property
    def max_depth(self) -> int:
        """The most splits on one path."""
        depth = np.zeros(self.trees.n_nodes, dtype=np.int64)
        for node in np.flatnonzero(self.trees.attribute >= 0):
            children = self.trees.children(int(node), self.domain)
            depth[children.start : children.stop] = depth[node] + 1
        return int(depth.max())

    def describe(self) -> str:
        """What the forest is, what it promises and where its budget went, in words."""
        trees, domain = self.trees, self.domain
        lines = [self.summary, str(self.guarantee)]
        if not len(trees.asked):
            lines.append(
                "no tree asks for any attribute, so all records are predicted alike: records times "
                "epsilon were too few to tell more"
            )
        noise = float(np.sqrt(np.median(self.variance[trees.leaves])))
        if self.kind is ValueKind.SCORES:
            moved = "add up to the number" if domain.has_target else "move the odds of labels"
            lines.append(f"its leaves hold scores, which {moved}; nothing was counted")
        if noise > 0:
            what = "count" if self.kind is ValueKind.COUNTS else "score"
            lines.append(f"noise on each leaf {what}: standard deviation {noise:.4g}")
            lines += self._rebuild_words(noise) if self.kind is ValueKind.COUNTS else []
        if self.measured:
            lines.append(f"rules counted beside it: {len(self.measured.trees.leaves)}")
        lines += [f"asked: {question}" for question in self.guarantee.asked]
        return "\n".join(lines)

    @property
    def summary(self) -> str:
        """Its size and its label, in a line."""
        trees = self.trees
        return (
            f"{_many(trees.n_trees, 'tree')}, depth {self.max_depth}, "
            f"{_many(len(trees.leaves), 'leaf', 'leaves')}; {self._label_words()}; "
            f"{len(trees.asked)} of {len(self.domain.attributes)} attributes used"
        )

    def _label_words(self) -> str:
        label = self.domain.label
        if isinstance(label, Numeric):
            return f"label {label.name!r}, a number between {label.low:g} and {label.high:g}"
        return f"label {label.name!r} with {label.size} values"

    def _rebuild_words(self, noise: float) -> list[str]:
        """Whether a rebuild would pay, where leaves are sums of several releases."""
        from frith.privacy.rebuilding import rebuild

        found, least = rebuild(self.guarantee), self.variance[self.trees.leaves].min()
        if found is None or least < found.variance * (1 - 1e-6):  # trees side by side are no sum
            return []
        return [
            f"this is the noise of {found.releases} releases: one rebuild from all records at the "
            f"same epsilon would make it {found.gain:.3g} times smaller, {noise / found.gain:.4g}"
        ]

    def __repr__(self) -> str:
        claim = self.guarantee
        kind = amounts(claim.epsilon, claim.delta) if claim.holds else "no guarantee"
        trees, leaves = self.trees.n_trees, len(self.trees.leaves)
        return f"<Forest: {_many(trees, 'tree')}, {_many(leaves, 'leaf', 'leaves')}, {kind}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, VotingTrees):
            return NotImplemented
        return VotingTrees.to_json(self) == VotingTrees.to_json(other)

    # -- JSON ----------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "kind": self.kind.value,
            "vote": self.vote,
            "candidates": self.candidates,
            "guarantee": self.guarantee.to_json(),
            "variance": self.variance.tolist(),
            "domain": self.domain.to_json(),
            "trees": self.trees.to_json(),
            "values": self.values.tolist(),
            "measured": self.measured and self.measured.to_json(),
        }

    @classmethod
    def from_json(cls, data: Any) -> Self:
        is_first = isinstance(data, Mapping) and data.get("format") == FIRST_FORMAT
        with reading(data, "forest", FIRST_FORMAT if is_first else FORMAT):
            domain = Domain.from_json(data["domain"])
            trees = Trees.from_json(data["trees"], domain)
            values = np.array(data["values"])
            if values.shape != (trees.n_nodes, domain.n_outputs) or values.dtype.kind not in "if":
                raise FormatError("the forest's values do not fit its trees")
            if not np.all(np.abs(values) < _LARGEST) or data["vote"] not in (*VOTES, SUM):
                raise FormatError("the forest's values or its vote are not legal")
            variance = np.array(data["variance"], dtype=np.float64)
            legal = (variance >= 0) & (variance < _LARGEST**2)
            if variance.shape != (trees.n_nodes,) or not np.all(legal):
                raise FormatError("the forest's variances do not fit its trees")
            guarantee = Guarantee.from_json(data["guarantee"])
            forest = cls(domain, trees, values, guarantee, variance, data["vote"])
            if is_first:
                return forest._from_first_format()
            candidates = data["candidates"]
            is_odd = type(candidates) is not int or candidates >= _MOST_CANDIDATES
            if data["kind"] != forest.kind or is_odd:
                raise FormatError(
                    "the forest's kind does not fit its vote, or its candidates are odd"
                )
            counted = data["measured"]
            if isinstance(counted, Mapping) and counted.get("measured"):  # of any depth
                raise FormatError("measured rules have no rules measured beside them")
            measured = counted and cls.from_json(counted)
            return replace(forest, candidates=max(0, candidates), measured=measured)

    def _from_first_format(self) -> Self:
        if self.kind is ValueKind.COUNTS:
            return self
        spoken = replace(self, vote="shares").speakers  # an empty leaf spoke as the node above
        counts, noise = self.values[spoken], self.variance[spoken]
        values, variance = scores_of_counts(self.trees, self.domain, counts, noise)
        return replace(self, values=values, variance=variance)


def _odds(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """What scores say of each label beside the likeliest one, row by row."""
    beside = np.empty(scores.shape)
    _less_largest(scores, beside)
    return np.asarray(np.exp(beside, out=beside))


@compiled
def _less_largest(scores, out):  # type: ignore[no-untyped-def]
    for i in range(len(scores)):
        largest = scores[i, 0]
        for k in range(1, scores.shape[1]):
            largest = max(largest, scores[i, k])
        for k in range(scores.shape[1]):
            out[i, k] = scores[i, k] - largest


@compiled
def _share(weights, usual, out):  # type: ignore[no-untyped-def]
    """Each row over its sum, negative weights as zero; the usual ones where none is positive."""
    for i in range(len(weights)):
        total = 0.0
        for k in range(weights.shape[1]):
            total += max(weights[i, k], 0.0)
        if total > 0:
            for k in range(weights.shape[1]):
                out[i, k] = max(weights[i, k], 0.0) / total
        else:
            for k in range(weights.shape[1]):
                out[i, k] = usual[k] / usual.sum()


@compiled
def _add_leaves(codes, roots, nodes, sets, tables, leaf_values, out):  # type: ignore[no-untyped-def]
    leaves = np.empty(STRIP, dtype=np.int32)
    for start in range(0, len(codes), STRIP):
        stop = min(start + STRIP, len(codes))
        for tree in range(len(roots)):
            if tables[4][tree] >= 0:
                look_up(codes, start, stop, tree, tables, leaves)
            else:
                for i in range(start, stop):
                    leaves[i - start] = find_leaf(codes, i, roots[tree], nodes, sets)
            for i in range(start, stop):
                for label in range(out.shape[1]):
                    out[i, label] += leaf_values[leaves[i - start], label]


@compiled
def _most_confident(codes, roots, nodes, sets, leaf_values, out):  # type: ignore[no-untyped-def]
    """The shares of the most confident leaf; where labels tie there, the sum over all trees."""
    n_labels = out.shape[1]
    for i in range(len(codes)):
        best, label, tie, speaker = -1.0, -1, False, 0
        for root in roots:
            leaf = find_leaf(codes, i, root, nodes, sets)
            for c in range(n_labels):
                share = leaf_values[leaf, c]
                if share > best:
                    best, label, tie, speaker = share, c, False, leaf
                elif share == best and c != label:
                    tie = True
        for c in range(n_labels):
            if not tie:
                out[i, c] = leaf_values[speaker, c]
        if tie:
            for root in roots:
                leaf = find_leaf(codes, i, root, nodes, sets)
                for c in range(n_labels):
                    out[i, c] += leaf_values[leaf, c]


@compiled
def find_speakers(first_child, widths, confidence, most_confident, speaker):  # type: ignore[no-untyped-def]
    """Top down: a node predicts from itself if it may, else from where its parent does."""
    for node in range(len(widths)):
        above = speaker[node]
        least = confidence[above] if most_confident else 0.0
        for child in range(first_child[node], first_child[node] + widths[node]):
            if confidence[child] <= least:
                speaker[child] = above


@compiled
def _decide(weights, fallback, out):  # type: ignore[no-untyped-def]
    for i in range(len(weights)):
        best, largest = fallback, 0.0
        for label in range(weights.shape[1]):
            if weights[i, label] > largest:
                best, largest = label, weights[i, label]
        out[i] = best


def _many(count: int, one: str, several: str = "") -> str:
    return f"{count:,} {one if count == 1 else several or one + 's'}"
