"""A GPU beside the CPU: equal sums, and how long a billion records take.

    python benchmarks/gpu.py [--records 1000000000] [--quick]

Records are made up: one batch of random codes, which a table repeats. Loading them into the GPU's memory
is timed apart; a fit includes everything else, noise and choices too. From Parquet files, a fit is timed
beside a count of the records, which reads, encodes and copies them. Every kind of question is compared
with the CPU's sums. Writes docs/results/gpu.md.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numba import cuda

from frith import Categorical, Domain, Numeric, open_table
from frith.curator import Curator
from frith.domain.encoding import Batch
from frith.engines import MemoryEngine
from frith.engines.base import LocalEngine, Task
from frith.engines.cuda import CudaEngine
from frith.engines.gpu_questions import QUESTIONS
from frith.kernels import RecordCount
from frith.learners import ForestClassifier, RandomDecisionForestClassifier
from frith.privacy.budget import Budget

ROOT = Path(__file__).resolve().parents[1]
REPORT = ROOT / "docs" / "results" / "gpu.md"
BATCH = 2**24
CHECKED = 50_000_000
FEW = 100_000


class RepeatedBatch(LocalEngine):
    """As many records as wanted: one batch of random ones, over and over."""

    def __init__(self, domain: Domain, records: int):
        super().__init__(domain)
        rng = np.random.default_rng(0)
        sizes = [a.size for a in domain.attributes]
        rows = min(BATCH, records)
        codes = np.empty((rows, len(sizes)), dtype=domain.code_type)
        for a, size in enumerate(sizes):
            codes[:, a] = rng.integers(0, size, rows, dtype=domain.code_type)
        chance = (codes[:, 0] + codes[:, 1].astype(np.int64)) / (sizes[0] + sizes[1])
        labels = (rng.random(rows) < chance).astype(domain.label_type)
        self.records, self.batch = records, Batch(codes, labels)

    def tasks(self, attributes: tuple[int, ...]) -> Iterator[Task]:
        left = self.records
        while left > 0:
            rows = slice(0, min(left, len(self.batch)))
            left -= len(self.batch)
            yield lambda rows=rows: Batch(self.batch.codes[rows], self.batch.labels[rows])


class CodesInMemory(MemoryEngine):
    """The same records as the engine in memory keeps them, without a table that they were read from."""

    def __init__(self, table: RepeatedBatch):
        empty = pa.table({name: pa.array([], pa.string()) for name in _names(table.domain)})
        super().__init__(empty, table.domain)
        batches = [task() for task in table.tasks(())]
        codes = np.concatenate([batch.codes for batch in batches])
        labels = np.concatenate([batch.labels for batch in batches])
        self.__dict__["_encoded"] = Batch(codes, labels)


def _names(domain: Domain) -> tuple[str, ...]:
    return (*domain.names, domain.label.name)


def domain_of(attributes: int, records: int, high: int = 1) -> Domain:
    numbers = tuple(Numeric(f"x{a}", 0, high, cells=16) for a in range(attributes))
    return Domain(numbers, Categorical("label", ("no", "yes")), records=records)


def timed(work: Any) -> tuple[float, Any]:
    cuda.synchronize()
    start = time.perf_counter()
    found = work()
    cuda.synchronize()
    return time.perf_counter() - start, found


def fits(engine: CudaEngine, make: Any, times: int) -> list[float]:
    def fit() -> Any:
        return make(engine.domain).learn(Curator(engine, Budget.of(1)))

    return [timed(fit)[0] for _ in range(times)]


def random_forest(domain: Domain) -> Any:
    return RandomDecisionForestClassifier(domain, n_trees=10, max_depth=5, random_state=0)


def flagship(domain: Domain) -> Any:
    return ForestClassifier(domain)


def compare(records: int) -> list[str]:
    """The same sums by the CPU and by the GPU, of every question that a fit asks."""
    from tests.engines.both_engines import BothEngines

    lines = []
    for name, make, attributes in (
        ("random forest", random_forest, 10),
        ("flagship", flagship, 20),
    ):
        table = RepeatedBatch(domain_of(attributes, records), records)
        engine = BothEngines(CodesInMemory(table), CudaEngine(table))
        make(table.domain).learn(Curator(engine, Budget.of(1)))
        kinds = ", ".join(sorted(kind.__name__ for kind in engine.seen))
        lines.append(f"| {name} | {records:,} x {attributes} | {kinds} | equal |")
        print(lines[-1], flush=True)
    return lines


def measure(records: int) -> list[str]:
    return [
        measure_fit("random forest, 10 trees of depth 5", random_forest, 10, 0.1, records),
        measure_fit("flagship", flagship, 20, 1.5, records),
    ]


def measure_fit(name: str, make: Any, attributes: int, limit: float, records: int) -> str:
    table = RepeatedBatch(domain_of(attributes, records), records)
    engine = CudaEngine(table)
    loading, count = timed(lambda: engine.aggregate(RecordCount()))
    assert count[0] == records
    first, *rest = fits(engine, make, 6)
    asked = len(make(table.domain).learn(Curator(engine, Budget.of(1))).guarantee.asked)
    line = (
        f"| {name} | {records:,} x {attributes} | {asked} | {loading:.1f} | {first:.2f} | "
        f"{sorted(rest)[2]:.3f} | {limit} |"
    )
    print(line, flush=True)
    return line


def every_question() -> list[str]:
    """The conformance suite of the tests, on this GPU."""
    from tests.engines.both_engines import fit_all

    missing = set(QUESTIONS) - (agreed := fit_all(FEW))
    if missing:
        raise SystemExit(f"never asked: {missing}")
    kinds = ", ".join(sorted(kind.__name__ for kind in agreed))
    return ["", f"Every kind of question at {FEW:,} records, all equal: {kinds}."]


def from_files(records: int) -> list[str]:
    """From Parquet on disk to a forest, beside reading, encoding and copying alone."""
    domain, lines = domain_of(20, records, 16), []
    with tempfile.TemporaryDirectory(dir=ROOT) as folder:
        write_files(Path(folder), domain, records)
        for name, make in (("random forest", random_forest), ("flagship", flagship)):
            loading, _ = timed(lambda: _open(folder, domain).aggregate(RecordCount()))
            whole, _ = timed(lambda make=make: fits(_open(folder, domain), make, 1))
            lines.append(
                f"| {name} | {records:,} x 20 | {loading:.1f} | {whole:.1f} | {whole / loading:.2f} | 1.5 |"
            )
            print(lines[-1], flush=True)
    return lines


def _open(folder: str, domain: Domain) -> Any:
    return open_table(folder, domain, device="cuda")


def write_files(folder: Path, domain: Domain, records: int) -> None:
    """Numbers as bytes, of which one batch is written again and again."""
    rows = min(records, 10_000_000)
    rng = np.random.default_rng(0)
    columns = {name: rng.integers(0, 16, rows, dtype=np.uint8) for name in domain.names}
    labels = np.array(["no", "yes"])[(columns["x0"] + rng.integers(0, 16, rows) > 15).astype(int)]
    table = pa.table(columns | {"label": pa.array(labels).dictionary_encode()})
    for i in range(-(-records // rows)):
        part = table.slice(0, min(rows, records - i * rows))
        pq.write_table(part, folder / f"{i}.parquet", row_group_size=1_000_000)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--records", type=int, default=1_000_000_000)
    arguments.add_argument("--quick", action="store_true", help="a thousandth of the records")
    options = arguments.parse_args()
    records = options.records // 1_000 if options.quick else options.records
    device = cuda.get_current_device().name
    device = device.decode() if isinstance(device, bytes) else device
    text = "\n".join(
        itertools.chain(
            [
                "# A GPU", "",
                f"Written by `benchmarks/gpu.py` on one {device} and {os.cpu_count()} cores. Records are "
                "random codes; seconds.", "",
                "| fit | records x attributes | questions | loading | first fit, with compilation | "
                "median of five | limit |",
                "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
            ],
            measure(records),
            ["", "## Sums equal to the CPU's", "", "| fit | records x attributes | questions | |",
             "| --- | --- | --- | --- |"],
            compare(min(CHECKED, records)),
            every_question(),
            ["", "## From Parquet files", "",
             "| fit | records x attributes | reading, encoding, copying | from files to forest | ratio | "
             "limit |", "| --- | --- | ---: | ---: | ---: | ---: |"],
            from_files(records // 10),
            [""],
        )
    )  # fmt: skip
    REPORT.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
