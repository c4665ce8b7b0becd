"""Hostile documents under numba's bounds checks; run as a script, so that its cache is its own.

NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=... python -m tests.kernels.bounds COUNT
"""

import random
import sys

import numpy as np

from frith import Forest
from frith._jit import compiled
from frith.errors import FrithError
from frith.parties.questions import question_from_json
from tests import hostile


@compiled
def planted(array, at):
    return array[at]


def predict(document):
    forest = Forest.from_json(document)
    if forest.domain.same_codes(hostile.DOMAIN):
        codes = np.array([c for c, _ in hostile.every_record()], dtype=hostile.DOMAIN.code_type)
        forest.labels_of_codes(codes, threads=1)


def answered(count):
    """How many of so many questions and forests were not refused."""
    rng, found = random.Random(99), 0
    for i in range(count):
        question, forest = hostile.legal_question(rng), hostile.legal_forest(rng)
        if i % 9:
            question = hostile.mutated(question, rng)
            forest = hostile.mutated(forest, rng, at="trees")
        for read, document in ((ask, question), (predict, forest)):
            try:
                read(document)
                found += 1
            except FrithError:
                pass
    return found


def ask(document):
    question_from_json(document, hostile.DOMAIN)


if __name__ == "__main__":
    try:
        planted(np.zeros(3), 10)
        sys.exit("a planted access outside an array did not raise")
    except IndexError:
        print("bounds are checked")
    print(answered(int(sys.argv[1])), "were answered")
