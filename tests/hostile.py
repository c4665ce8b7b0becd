"""What a hostile client might send: legal questions and forests, changed in a few places.

And a slow reader of structures that shares no code with the fast one: it walks.
"""

from __future__ import annotations

import copy
import random
from fractions import Fraction

import numpy as np

from frith import Categorical, Domain, Forest, Numeric
from frith.growing.grower import Grower
from frith.growing.random_trees import grow_random_trees
from frith.kernels import LeafCounts, NodeCounts, NodeSizes, RecordCount, SplitTables
from frith.parties.questions import question_to_json
from frith.privacy.guarantee import Guarantee

DOMAIN = Domain(
    [Categorical("a", ("x", "y", "z")), Numeric("b", 0, 4, cells=4), Categorical("c", ("p", "q"))],
    Categorical("label", ("0", "1")),
)
NUMBERS = (-3, -2, -1, 0, 1, 2, 3, 4, 5, 7, 99, 2**31 - 1, 2**31, -(2**31), 2**63, -(2**63) - 1)
ODD = (*NUMBERS, *NUMBERS, 1.5, 1.0, True, False, "1", "", None, [], {}, [0], float("nan"), 10**40)
VOTES = ("counts", "shares", "weighted", "confident", "product")


def legal_question(rng: random.Random) -> dict:
    """One of every kind that travels, over trees that learners grow."""
    kind = rng.choice(["records", "leaves", "level", "level"])
    if kind == "records":
        return question_to_json(RecordCount())
    if kind == "leaves":
        return question_to_json(LeafCounts(some_trees(rng), DOMAIN))
    grower = Grower(DOMAIN, rng.randint(1, 3), rng.randint(2, 4))
    leaves = set(grower.roots)
    for _ in range(rng.randint(0, 3)):
        node = rng.choice(sorted(leaves))
        options = np.flatnonzero(grower.allowed(node))
        if len(options):
            leaves = leaves - {node} | set(grower.split(node, int(rng.choice(options))))
    level, _ = grower.level(sorted(leaves), last=rng.random() < 0.3)
    return question_to_json(rng.choice([SplitTables, NodeCounts, NodeSizes])(level))


def some_trees(rng: random.Random):
    seeded = np.random.default_rng(rng.randrange(10**6))
    return grow_random_trees(DOMAIN, rng.randint(1, 3), rng.randint(1, 2), seeded)


def legal_forest(rng: random.Random) -> dict:
    trees = some_trees(rng)
    values = np.random.default_rng(rng.randrange(10**6)).integers(-2, 9, (trees.n_nodes, 2))
    noise = np.ones(trees.n_nodes)
    return Forest(DOMAIN, trees, values, Guarantee(Fraction(1)), noise, rng.choice(VOTES)).to_json()


def mutated(document: dict, rng: random.Random, at: str | None = None) -> dict:
    """A copy with one to three changes: of a number, a place in a list, a key; mostly inside `at`."""
    changed = copy.deepcopy(document)
    for _ in range(rng.randint(1, 3)):
        inside = changed.get(at) if at and rng.random() < 0.8 else changed
        spots = list(_spots(inside if isinstance(inside, dict) and inside else changed))
        holder, key = rng.choice(spots)
        change = rng.randrange(6)
        if change == 0 and isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        elif change == 1:
            del holder[key]
        elif change == 2 and isinstance(holder, dict):
            holder[f"{key}_"] = copy.copy(rng.choice(ODD))
        elif change == 3 and isinstance(holder, list):
            holder[key] = copy.deepcopy(holder[rng.randrange(len(holder))])
        else:
            holder[key] = copy.copy(rng.choice(ODD))
        if not changed:
            break
    return changed


def _spots(part):
    """Every place in a document, long lists no more often than short ones."""
    items = part.items() if isinstance(part, dict) else enumerate(part)
    for key, value in list(items):
        yield part, key
        if isinstance(value, dict | list) and value:
            yield from _spots(value)


# -- the slow reader -------------------------------------------------------------------------------


def walk(trees: dict, codes: list[int], node: int) -> int:
    """The leaf that a record ends in; raises where there is none."""
    for _ in range(len(trees["attribute"]) + 1):
        a = trees["attribute"][node]
        if a == -1:
            return node
        cut, code = trees["cut"][node], codes[a]
        if cut == -1:
            branch = code
        elif cut >= 0:
            branch = int(code >= cut)
        else:
            branch = int(code not in trees["sets"][-2 - cut])
        node = trees["first_child"][node] + branch
    raise RecursionError("the walk does not end")


def every_record():
    """All codes of the domain, with both labels."""
    for a in range(3):
        for b in range(4):
            for c in range(2):
                for label in range(2):
                    yield [a, b, c], label


def slow_answer(question: dict, codes: list[int], label: int) -> dict:
    """What one record adds to a question's answer, cell by cell, by walking down every tree."""
    if question["kind"] == "records":
        return {0: 1}
    trees, cells = question["trees"], {}
    for root in trees["roots"]:
        leaf = walk(trees, codes, root)
        if question["kind"] == "leaves":
            places = [(leaf, label)]
        elif leaf not in question["open_nodes"]:
            places = []
        elif question["view"] == "labels":
            places = [(leaf, label)]
        elif question["view"] == "sizes":
            places = [leaf]
        else:
            asked = set(question["asks"][question["open_nodes"].index(leaf)])
            places = [(leaf, a, _bin(question["cuts"][a], codes[a], a), label) for a in asked]
        for place in places:
            cells[place] = cells.get(place, 0) + 1
    return cells


def _bin(cuts, code, attribute):
    return sum(cut <= code for cut in cuts) if attribute == 1 else code
