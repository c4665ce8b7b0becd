"""Learners get no exact number: sums that raise when anybody but the curator's side touches them."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.lib.mixins import NDArrayOperatorsMixin

import frith
from frith import Budget, Numeric, open_table
from frith.audit.subjects import PARTS, SOUND
from frith.curator import Curator
from frith.engines.memory import MemoryEngine
from frith.growing.grower import Grower
from tests.tables import person_domain, small_domain, small_table

ROOT = Path(frith.__file__).parent
MAY_TOUCH = tuple(str(ROOT / room) for room in ("curator", "kernels", "engines", "privacy"))
SUBJECTS = [s for many in SOUND.values() for s in many] + list(PARTS)


class Poisoned(NDArrayOperatorsMixin):
    """An exact sum, and whatever is computed from it: only the curator's side may look.

    No array, so that nothing gets at its numbers but through the methods below.
    """

    def __init__(self, array):
        self._array = array

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        look()
        return poisoned(getattr(ufunc, method)(*map(plain, inputs), **options))

    def __array_function__(self, function, types, args, kwargs):
        look()
        return poisoned(function(*deep_plain(args), **kwargs))

    def __array__(self, *args, **kwargs):
        look()
        return np.asarray(self._array, *args)

    def __getitem__(self, key):
        look()
        return poisoned(self._array[key])

    def __len__(self):
        return len(self._array)

    def __getattr__(self, name):
        if name in ("shape", "size", "ndim", "dtype"):  # public facts
            return getattr(self._array, name)
        look()
        found = getattr(self._array, name)
        return (lambda *a, **k: poisoned(found(*a, **k))) if callable(found) else poisoned(found)

    def __repr__(self):
        look()
        return repr(self._array)


def plain(value):
    return value._array if isinstance(value, Poisoned) else value


def deep_plain(values):
    return [deep_plain(v) if isinstance(v, list | tuple) else plain(v) for v in values]


def poisoned(value):
    return Poisoned(value) if isinstance(value, np.ndarray) else value


def look():
    """Raise unless the code that touches a sum is on the curator's side."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if name != __file__ and "numpy" not in name:
            assert name.startswith(MAY_TOUCH), f"{name} looks at an exact sum"
            return
        frame = frame.f_back


class PoisonedEngine(MemoryEngine):
    def aggregate(self, kernel):
        return Poisoned(super().aggregate(kernel))


def test_the_poison_works():
    """Touched here, outside the curator's side, it raises; so it would in a learner."""
    engine = PoisonedEngine(small_table(), small_domain())
    level, _ = Grower(engine.domain, 1, 4).level([0])
    sums = engine.aggregate(level)
    for touch in (
        lambda: sums[0],
        lambda: sums + 1,
        lambda: sums.sum(),
        lambda: np.sum(sums),
        lambda: np.array(sums) > 3,
        lambda: sums.tolist(),
        lambda: repr(sums),
        lambda: sums.max(axis=1),
        lambda: np.concatenate([sums, sums]),
    ):
        # this file is skipped in the stack, so the caller that is seen is the test runner
        with pytest.raises(AssertionError, match="looks at an exact sum"):
            touch()


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda s: s.name)
def test_no_learner_sees_an_exact_number(subject, delta):
    for domain in (small_domain(), person_domain(2)):
        if subject.target:
            size = Numeric("size", 0, 10)
            domain = replace(domain, attributes=domain.attributes[:2], label=size, records=60)
        engine = PoisonedEngine(small_table(60), domain)
        forest = subject.make().learn(Curator(engine, Budget.of(2, delta)))
        assert not isinstance(forest.values, Poisoned)
        assert forest.guarantee.holds


def test_exact_runs_are_made_of_exact_numbers_and_say_so():
    engine = PoisonedEngine(small_table(60), small_domain())
    curator = Curator(engine, Budget.of("inf"))
    with pytest.raises(AssertionError, match="looks at an exact sum"):
        SOUND["random-decision"][0].make().learn(
            curator
        )  # the same learner, now handed the sums themselves
    assert not Curator(open_table(small_table(), small_domain()), Budget.of("inf")).guarantee.holds
