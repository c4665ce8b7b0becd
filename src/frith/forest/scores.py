"""What the trees of a forest add up, leaf by leaf: values of attributes it asks for, scores, noise.

A *score* of a label is the logarithm of its probability less the mean of these logarithms over all
labels; of two labels it is the log-odds of the second one. Scores of trees add up, since their
probabilities multiply. If the label is a number, its score is that number, before it is clipped. All of
it is read from releases and from the domain: free of budget.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from frith._arrays import Floats
from frith._cached import cached_property
from frith.domain import Value
from frith.errors import FrithError
from frith.forest.kinds import ValueKind
from frith.forest.nodes import Nodes
from frith.forest.pieces import Pieces, pieces_of
from frith.forest.voting import VotingTrees

NO_SCORES = (
    "this forest holds label counts, and effects are sums of scores; read its counts with rules(), "
    "or learn a forest of scores with ForestClassifier"
)


@dataclass(frozen=True, eq=False)
class ScoredTree:
    """One tree: scores and noise of its leaves, and the pieces of each attribute that lead there.

    `reach` has, for each attribute asked here, leaves x pieces; `share` the public weight of those.
    """

    scores: Floats
    variance: Floats
    asked: tuple[int, ...]
    reach: tuple[csr_array, ...]
    share: Floats

    @cached_property
    def mean(self) -> Floats:
        """What the tree adds on average, by the public weights."""
        return np.asarray(np.prod(self.share, axis=0) @ self.scores)

    def without(self, *attributes: int) -> Floats:
        """The public weight of the conditions of each leaf on all but these attributes."""
        kept = [i for i, a in enumerate(self.asked) if a not in attributes]
        return np.asarray(np.prod(self.share[kept], axis=0))


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of a forest, tree by tree."""

    forest: VotingTrees

    def __post_init__(self) -> None:
        if self.forest.kind is not ValueKind.SCORES:
            raise FrithError(NO_SCORES)

    @property
    def labels(self) -> tuple[Value, ...]:
        """Whose scores there are: every label's, of two labels the second one's, or the number's."""
        if self.forest.domain.has_target:
            return (self.forest.domain.label.name,)
        values = self.forest.domain.label_values
        return values[1:] if len(values) == 2 else values

    @cached_property
    def pieces(self) -> dict[int, Pieces]:
        return pieces_of(self.forest.trees, self.forest.domain)

    def of(self, logarithms: Floats) -> Floats:
        """Scores from logarithms of probabilities, whatever constant was added to them.

        A number that is predicted is its own score.
        """
        if self.forest.domain.has_target:
            return logarithms
        if logarithms.shape[1] == 2:
            return logarithms[:, 1:] - logarithms[:, :1]
        return np.asarray(logarithms - logarithms.mean(axis=1, keepdims=True))

    @cached_property
    def leaves(self) -> Floats:
        """What each leaf adds to the scores of its records."""
        return self.of(self.forest.leaf_values)

    @cached_property
    def variance(self) -> Floats:
        """The variance of the noise on each leaf's scores.

        Log-odds of two labels are twice the score of the second, so they have four times its variance.
        """
        of_leaf = self.forest.variance[self.forest.trees.leaves]
        factor = 4.0 if self.forest.domain.n_outputs == 2 else 1.0
        return np.repeat(factor * of_leaf[:, None], len(self.labels), axis=1)

    @cached_property
    def trees(self) -> tuple[ScoredTree, ...]:
        """Every tree, in order."""
        of_node = Nodes(self.forest).tree
        order = np.argsort(of_node, kind="stable")
        return tuple(map(self._tree, np.split(order, np.cumsum(np.bincount(of_node))[:-1])))

    def _tree(self, nodes: NDArray[np.int64]) -> ScoredTree:
        trees = self.forest.trees
        attributes = trees.attribute[nodes]
        asked = tuple(np.unique(attributes[attributes >= 0]).tolist())
        numbers = trees.nodes[nodes[attributes < 0], 3]
        reach = (self._walk(nodes, asked[0]),) if len(asked) == 1 else self._descend(nodes, asked)
        share = [r @ self.pieces[a].weights for a, r in zip(asked, reach, strict=True)]
        return ScoredTree(
            self.leaves[numbers], self.variance[numbers], asked, reach,
            np.array(share).reshape(len(asked), len(numbers)),
        )  # fmt: skip

    def _walk(self, nodes: NDArray[np.int64], place: int) -> csr_array:
        """Where a tree about one attribute sends each piece; it may have thousands of leaves."""
        trees, count = self.forest.trees, len(self.pieces[place])
        at = np.full(count, nodes[0])
        for node in nodes[trees.attribute[nodes] >= 0]:
            here = at == node
            at[here] = trees.first_child[node] + self._branches(node, place)[here]
        leaves = nodes[trees.attribute[nodes] < 0]
        place_of = (np.searchsorted(leaves, at), np.arange(count))
        return csr_array((np.ones(count), place_of), shape=(len(leaves), count))

    def _descend(self, nodes: NDArray[np.int64], asked: tuple[int, ...]) -> tuple[csr_array, ...]:
        """Which pieces of each attribute lead to each leaf of a tree, from the root down."""
        trees, domain = self.forest.trees, self.forest.domain
        leading = {int(nodes[0]): {a: np.ones(len(self.pieces[a]), dtype=bool) for a in asked}}
        leaves = []
        for node in nodes.tolist():  # parents come before their children
            here, a = leading.pop(node), int(trees.attribute[node])
            if a < 0:
                leaves.append(here)
                continue
            branch = self._branches(node, a)
            for i, child in enumerate(trees.children(node, domain)):
                leading[child] = here | {a: here[a] & (branch == i)}
        return tuple(csr_array(np.array([leaf[a] for leaf in leaves], float)) for a in asked)

    def _branches(self, node: int, place: int) -> NDArray[np.int64]:
        """The branch that each piece of the attribute takes at a node."""
        cut, codes = int(self.forest.trees.cut[node]), self.pieces[place].first
        if cut >= 0:
            return (codes >= cut).astype(np.int64)
        return codes if cut == -1 else (~self.forest.trees.members(node)[codes]).astype(np.int64)
