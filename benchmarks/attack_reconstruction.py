"""The most likely table behind a forest: reconstruction, after DRAFT-DP.

The attack knows the forest, its noise, the number of records and which attributes exclude each other. It
looks for the table of zeros and ones that is most likely to have given what was released:

counts    every leaf says how many records of each label it has, with noise of a known scale: the
          least sum of |count - noisy count| / scale. A constraint program (OR-tools CP-SAT) improves the
          table that annealing finds, and bounds how much better any table could be: the gap.
labels    every leaf says one label, chosen by the counts of its own part of the records (diffprivlib).
steps     every step of a boosted forest says which split and sign it chose among all, by sums of gradients
          that earlier steps determine (the flagship's scores). The likelihood is that of the exponential
          mechanism with the step's scale, its normalizer included. Annealing alone: no gap is known.

The error is the share of wrong attributes, averaged over records that an assignment matches. The model is
ours; the method is that of "Training Set Reconstruction from Differentially Private Forests: How Effective
is DP?" (Gorge, Ferry, Gambs and Vidal, 2025).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from attack_tables import Binary, Bits, random_table
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from frith._jit import compiled

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
COUNTS, LABELS = 0, 1


@dataclass(frozen=True, eq=False)
class Seen:
    """What an attacker reads off trees: where a record goes, and what its leaf says.

    `children` has each node's two children, for a 0 and a 1. `said` has a row a leaf: noisy counts of both
    labels, or a 1 for the label that was chosen. `weight` is one over the scale of a leaf's noise. `own`
    has the tree that each record is in, or -1 for all of them.
    """

    roots: Ints
    attribute: Ints
    children: Ints
    leaf: Ints
    said: Floats
    weight: Floats
    own: Ints
    mode: int = COUNTS

    @property
    def paths(self) -> list[list[tuple[int, dict[int, int]]]]:
        """For each tree the leaves that a record can reach, each with the bits that lead to it."""
        found = []
        for root in self.roots:
            leaves, open_nodes = [], [(int(root), {})]
            while open_nodes:
                node, bits = open_nodes.pop()
                a = int(self.attribute[node])
                if a < 0:
                    leaves.append((int(self.leaf[node]), bits))
                    continue
                for bit in (0, 1):
                    if bits.get(a, bit) == bit:
                        open_nodes.append((int(self.children[node, bit]), bits | {a: bit}))
            found.append(leaves)
        return found


@dataclass(frozen=True, eq=False)
class Steps:
    """Every step's choice: the attribute (-1: none) and the signed size it moved both sides by.

    `sign` and `size` are of the records on the left, which are those with a 0; `scale` is that of the
    choice, in units of a gradient of 1; `bonus` is added to both signs of asking nothing.
    """

    attribute: Ints
    sign: Floats
    size: Floats
    scale: Floats
    bonus: Floats


@dataclass
class Found:
    """A table, how (un)likely it is, the least any table could have, and how the search ended."""

    X: Bits
    y: Bits
    cost: float
    bound: float = 0.0
    outcome: str = "annealed"
    seconds: float = 0.0
    log: dict[str, Any] = field(default_factory=dict)

    @property
    def gap(self) -> float:
        """The part of the cost that no search has ruled out."""
        return (self.cost - self.bound) / self.cost if self.cost > 0 else 0.0


def matched_error(truth: Bits, guess: Bits) -> float:
    """The mean share of wrong attributes, each guess matched with one record, as well as can be."""
    wrong = (truth[:, None, :] != guess[None, :, :]).mean(axis=2)
    rows, columns = linear_sum_assignment(wrong)
    return float(wrong[rows, columns].mean())


def nearest(records: Bits, guess: Bits) -> Floats:
    """For each record the share of attributes in which the closest guess is wrong."""
    return np.asarray((records[:, None, :] != guess[None, :, :]).mean(axis=2).min(axis=1))


def surplus(seen: Seen, population: Binary, size: int, X: Bits, y: Bits) -> Floats:
    """For each record how much more its leaves say than the population would, over how much they vary.

    The simplest attack on counts, and a strong one: it needs no table, only what people are like.
    """
    usual = np.zeros_like(seen.said)
    for places in _places(seen, population.X):
        np.add.at(usual, (places, population.y), size / len(population.y))
    told = (seen.said - usual) / (2 / seen.weight[:, None] ** 2 + usual + 1e-9)
    return np.sum([told[places, y] for places in _places(seen, X)], axis=0)


def _places(seen: Seen, X: Bits) -> list[Ints]:
    """The leaf of every record in each tree."""
    found = []
    for root in seen.roots:
        node = np.full(len(X), root)
        while (inner := seen.attribute[node] >= 0).any():
            bits = X[np.arange(len(X)), np.where(inner, seen.attribute[node], 0)]
            node = np.where(inner, seen.children[node, bits], node)
        found.append(seen.leaf[node])
    return found


# -- annealing ---------------------------------------------------------------------------------


@compiled
def _leaf_of(bits, node, attribute, children, leaf):  # type: ignore[no-untyped-def]
    while attribute[node] >= 0:
        node = children[node, bits[attribute[node]]]
    return leaf[node]


@compiled
def _leaf_cost(counts, said, weight, mode):  # type: ignore[no-untyped-def]
    if mode == 0:
        return weight * (abs(counts[0] - said[0]) + abs(counts[1] - said[1]))
    lead = (counts[1] - counts[0]) * (1.0 if said[1] > said[0] else -1.0) * weight
    return np.log1p(np.exp(-lead)) if lead > -30 else -lead


@compiled
def _propose(bits, label, group, members, rng):  # type: ignore[no-untyped-def]
    """Another label, another attribute, or another member of a group."""
    k = rng.integers(0, len(bits) + 1)
    if k == len(bits):
        return 1 - label
    g = group[k]
    if g < 0:
        bits[k] = 1 - bits[k]
        return label
    for m in members[g]:
        if m >= 0:
            bits[m] = 1 if m == k else 0
    return label


@compiled
def _anneal_leaves(
    X,
    y,
    roots,
    attribute,
    children,
    leaf,
    said,
    weight,
    own,
    mode,
    group,
    members,
    moves,
    hot,
    rng,
):  # type: ignore[no-untyped-def]
    n, n_trees = len(X), len(roots)
    counts = np.zeros((len(said), 2))
    place = np.zeros((n, n_trees), dtype=np.int64)
    for i in range(n):
        for t in range(n_trees):
            place[i, t] = _leaf_of(X[i], roots[t], attribute, children, leaf)
            if own[i] < 0 or own[i] == t:
                counts[place[i, t], y[i]] += 1
    fresh, undo = np.empty(n_trees, dtype=np.int64), np.empty(n_trees, dtype=np.int64)
    for move in range(moves):
        heat = hot * (1 - move / moves) ** 2 + 1e-9
        i = rng.integers(0, n)
        bits = X[i].copy()
        label = _propose(bits, y[i], group, members, rng)
        change = 0.0
        for t in range(n_trees):
            undo[t] = -1
            if own[i] >= 0 and own[i] != t:
                continue
            fresh[t] = _leaf_of(bits, roots[t], attribute, children, leaf)
            old = place[i, t]
            if fresh[t] == old and label == y[i]:
                continue
            undo[t] = old
            change -= _leaf_cost(counts[old], said[old], weight[old], mode)
            counts[old, y[i]] -= 1
            change += _leaf_cost(counts[old], said[old], weight[old], mode)
            new = fresh[t]
            change -= _leaf_cost(counts[new], said[new], weight[new], mode)
            counts[new, label] += 1
            change += _leaf_cost(counts[new], said[new], weight[new], mode)
        if change <= 0 or rng.random() < np.exp(-change / heat):
            for t in range(n_trees):
                if undo[t] >= 0:
                    place[i, t] = fresh[t]
            X[i], y[i] = bits, label
        else:
            for t in range(n_trees):
                if undo[t] >= 0:
                    counts[fresh[t], label] -= 1
                    counts[undo[t], y[i]] += 1
    total = 0.0
    for v in range(len(said)):
        total += _leaf_cost(counts[v], said[v], weight[v], mode)
    return total


@compiled
def _add_record(bits, label, times, attribute, sign, size, sums):  # type: ignore[no-untyped-def]
    """What a record adds to every step's sums: its gradient at that step, by the side it is on."""
    score, width = 0.0, len(bits)
    for t in range(len(attribute)):
        gradient = label - 1 / (1 + np.exp(-score))
        gradient = times * min(0.5, max(-0.5, gradient))
        for k in range(width):
            sums[t, k] += gradient * (1 - 2 * bits[k])
        sums[t, width] += gradient
        side = 1 if attribute[t] < 0 else 1 - 2 * bits[attribute[t]]
        score += side * sign[t] * size[t]


@compiled
def _steps_cost(sums, attribute, sign, scale, bonus):  # type: ignore[no-untyped-def]
    """Less the logarithm of the chance of all choices."""
    cost, width = 0.0, sums.shape[1] - 1
    for t in range(len(attribute)):
        top, mass = -1e300, 0.0
        for turn in range(2):
            for k in range(width + 1):
                extra = bonus[t] if k == width else 0.0
                for side in (-1.0, 1.0):
                    a = side * sums[t, k] / scale[t] + extra
                    if turn == 0:
                        top = max(top, a)
                    else:
                        mass += np.exp(a - top)
        k = attribute[t] if attribute[t] >= 0 else width
        chosen = sign[t] * sums[t, k] / scale[t] + (bonus[t] if k == width else 0.0)
        cost += top + np.log(mass) - chosen
    return cost


@compiled
def _anneal_steps(X, y, attribute, sign, size, scale, bonus, group, members, moves, hot, rng):  # type: ignore[no-untyped-def]
    sums = np.zeros((len(attribute), X.shape[1] + 1))
    for i in range(len(X)):
        _add_record(X[i], y[i], 1.0, attribute, sign, size, sums)
    cost = _steps_cost(sums, attribute, sign, scale, bonus)
    for move in range(moves):
        heat = hot * (1 - move / moves) ** 2 + 1e-9
        i = rng.integers(0, len(X))
        bits = X[i].copy()
        label = _propose(bits, y[i], group, members, rng)
        _add_record(X[i], y[i], -1.0, attribute, sign, size, sums)
        _add_record(bits, label, 1.0, attribute, sign, size, sums)
        after = _steps_cost(sums, attribute, sign, scale, bonus)
        if after <= cost or rng.random() < np.exp((cost - after) / heat):
            X[i], y[i], cost = bits, label, after
        else:
            _add_record(bits, label, -1.0, attribute, sign, size, sums)
            _add_record(X[i], y[i], 1.0, attribute, sign, size, sums)
    return cost


def _groups(table: Binary) -> tuple[Ints, Ints]:
    """The group of each attribute, -1 for none, and the members of each group, filled up with -1."""
    group = np.full(len(table.names), -1)
    members = np.full((max(1, len(table.groups)), max(map(len, table.groups), default=1)), -1)
    for g, attributes in enumerate(table.groups):
        group[list(attributes)] = g
        members[g, : len(attributes)] = attributes
    return group, members


def anneal(seen: Seen | Steps, table: Binary, size: int, moves: int, seed: int) -> Found:
    """A likely table, from a random start by single changes, fewer and fewer of them for the worse."""
    rng = np.random.default_rng(seed)
    X, y = random_table(table, size, rng)
    common = (*_groups(table), moves, 1.0, rng)
    if isinstance(seen, Steps):
        cost = _anneal_steps(
            X, y, seen.attribute, seen.sign, seen.size, seen.scale, seen.bonus, *common
        )
    else:
        cost = _anneal_leaves(
            X, y, seen.roots, seen.attribute, seen.children, seen.leaf, seen.said, seen.weight,
            seen.own, seen.mode, *common,
        )  # fmt: skip
    return Found(X, y, float(cost))


def tree_bound(seen: Seen, size: int) -> float:
    """No table of this size costs less: trees apart, leaves filled as their own counts would have it.

    All trees hold the same records, so they agree on how many have each label.
    """
    by_label = [np.zeros(size + 1), np.zeros(size + 1)]
    for leaves in seen.paths:
        rows = [v for v, _ in leaves]
        for c in (0, 1):
            said, weight = seen.said[rows, c], seen.weight[rows]
            more = [
                w * np.diff(np.abs(np.arange(size + 1) - s))
                for s, w in zip(said, weight, strict=True)
            ]
            cheapest = np.sort(np.concatenate(more))[:size]  # costs of a leaf rise with its records
            start = float(weight @ np.abs(said))
            by_label[c] += start + np.concatenate([[0.0], np.cumsum(cheapest)])
    return float(np.min(by_label[1] + by_label[0][::-1]))
