"""Every learner on a GPU engine and on the CPU's at once: each question must have the same sums.

    python -m tests.engines.both_engines [records]

With NUMBA_ENABLE_CUDASIM=1 and NUMBA_DISABLE_JIT=1 a simulator stands in for the GPU.
"""

import sys

import numpy as np

from frith import Categorical, Domain, ForestRegressor, Numeric
from frith.curator import Curator
from frith.domain.synthetic import synthetic_table
from frith.engines import MemoryEngine, gpu_loops
from frith.engines.base import Engine
from frith.engines.cuda import CudaEngine, Launch
from frith.engines.gpu_questions import QUESTIONS
from frith.kernels.counts import ConfusionCounts, CorrectCounts, RecordCount
from frith.kernels.layout import Layout, mixed_cuts
from frith.learners import BY_NAME
from frith.privacy.budget import Budget
from frith.privacy.sources import ExactSource

ATTRIBUTES = (
    Categorical("a", ("x", "y", "z")),
    Numeric("b", 0, 1, cells=8),
    Numeric("c", 0, 1, cells=4),
)
LEARNERS = ("forest", "gini", "random-decision")  # who together ask every kind of question
LABELS = {2: ("no", "yes"), 3: ("low", "mid", "high")}


class BothEngines(Engine):
    """Asks both, compares, and remembers what was asked."""

    def __init__(self, one, other):
        super().__init__(one.domain, 1)
        self.one, self.other, self.seen = one, other, set()

    def aggregate(self, kernel):
        sums, others = self.one.aggregate(kernel), self.other.aggregate(kernel)
        assert np.array_equal(sums, others), type(kernel).__name__
        assert sums.dtype == others.dtype == np.int64
        self.seen.add(type(kernel))
        return sums

    def derive(self, column):
        self.one.derive(column)
        self.other.derive(column)


def both(domain, records, seed, **options):
    table = synthetic_table(domain, records, np.random.default_rng(seed))
    on_gpu = CudaEngine(MemoryEngine(table, domain, rows=1 + records // 7), **options)
    return BothEngines(MemoryEngine(table, domain), on_gpu)


def fit_all(records, **options):
    """The kinds of questions on which both agreed."""
    seen = set()
    for n_labels, labels in LABELS.items():
        domain = Domain(ATTRIBUTES, Categorical("label", labels), records=5_000)
        for make in (BY_NAME[name] for name in LEARNERS):
            engine = both(domain, records, n_labels, **options)
            forest = make(domain=domain, epsilon=1).learn(
                Curator(engine, Budget.of(1), source=ExactSource())
            )
            engine.aggregate(ConfusionCounts(forest))
            engine.aggregate(RecordCount())
            seen |= engine.seen
        layout = Layout(domain, mixed_cuts(domain))
        rng = np.random.default_rng(n_labels)
        scores = rng.integers(-9, 9, (layout.n_bins, n_labels))
        engine.aggregate(
            CorrectCounts(layout, (0, 2), rng.integers(-9, 9, n_labels), scores, np.arange(3))
        )
        seen |= engine.seen
    domain = Domain(ATTRIBUTES, Numeric("target", 0, 1, cells=100), records=5_000)
    engine = both(domain, records, 0, **options)
    ForestRegressor(domain=domain).learn(Curator(engine, Budget.of(1), source=ExactSource()))
    return seen | engine.seen


if __name__ == "__main__":
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    small = {"launch": Launch(2, 2), "rows": 1 + records // 4}
    some = 12 * records  # bytes: a part of the records is read again in each pass
    if records < 1_000:
        agreed = fit_all(records, **small)
        gpu_loops.PAIRS = 1  # so that all pairs of attributes need several passes
        agreed &= fit_all(records, room=some, **small)
    else:
        agreed = fit_all(records)
    missing = set(QUESTIONS) - agreed
    print("agreed on", ", ".join(sorted(kind.__name__ for kind in agreed)))
    sys.exit(f"never asked: {missing}" if missing else 0)
