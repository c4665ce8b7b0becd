"""The stages of the speed benchmark; each runs in a process of its own and prints one JSON line.

Apart, because a peak of memory belongs to a process, and because compilation happens once in one.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

N_ATTRIBUTES, VALUES, LABELS = 10, ("a", "b", "c", "d", "e"), ("no", "yes")
N_TREES, HEIGHT, THREADS, SEED = 10, 5, 2, 0
ROW_GROUP = 1_000_000


def synthetic(rows: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Codes and labels, a row group at a time: even values, a label that three attributes decide.

    The label is whether the sum of the first two codes and of a random one is above its mean.
    """
    rng = np.random.default_rng(SEED)
    for start in range(0, rows, ROW_GROUP):
        count = min(ROW_GROUP, rows - start)
        codes = rng.integers(0, len(VALUES), (count, N_ATTRIBUTES), dtype=np.uint8)
        chance = rng.integers(0, len(VALUES), count, dtype=np.uint8)
        yield codes, (codes[:, 0] + codes[:, 1] + chance > 6).astype(np.uint8)


def whole(rows: int) -> tuple[np.ndarray, np.ndarray]:
    codes, labels = zip(*synthetic(rows), strict=True)
    return np.concatenate(codes), np.concatenate(labels)


def frame(rows: int) -> Any:
    """The table as a DataFrame of categoricals."""
    import pandas as pd

    codes, labels = whole(rows)
    columns = {
        f"x{j}": pd.Categorical.from_codes(codes[:, j].astype(np.int8), list(VALUES))
        for j in range(N_ATTRIBUTES)
    }
    return pd.DataFrame(columns | {"y": pd.Categorical.from_codes(labels.astype(np.int8), LABELS)})


def declared(rows: int) -> Any:
    from frith import Categorical, Domain

    attributes = [Categorical(f"x{j}", VALUES) for j in range(N_ATTRIBUTES)]
    return Domain(attributes, Categorical("y", LABELS), records=rows)


def estimator(rows: int) -> Any:
    from frith import RandomDecisionForestClassifier

    return RandomDecisionForestClassifier(
        declared(rows), n_trees=N_TREES, max_depth=HEIGHT, random_state=SEED, n_jobs=THREADS
    )


def leaf_counts(domain: Any) -> Any:
    from frith.growing.random_trees import grow_random_trees
    from frith.kernels import LeafCounts

    rng = np.random.default_rng(SEED)
    return LeafCounts(grow_random_trees(domain, N_TREES, HEIGHT, rng), domain)


def times(work: Callable[[], Any], repeats: int) -> list[float]:
    """Seconds of each repeat; the best is the least disturbed by other work on the machine."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return seconds


# -- stages ------------------------------------------------------------------------------------


def first_fit() -> dict[str, Any]:
    """The first fit and predict of a process, which compile or load kernels, and the second."""
    table = frame(1_000)
    model = estimator(1_000)
    first, second = times(lambda: model.fit(table).predict(table.drop(columns="y")), 2)
    return {"first": first, "second": second}


def memory(rows: int, repeats: int) -> dict[str, Any]:
    """Encode, pass, noise, whole fits and predictions of records in memory."""
    from fractions import Fraction

    from frith.engines.memory import MemoryEngine
    from frith.kernels import RecordCount
    from frith.privacy.mechanisms import DiscreteLaplace
    from frith.privacy.sources import OpenDPSource

    first_fit()  # compiled before anything is timed
    table, model = frame(rows), estimator(rows)
    domain, X = declared(rows), table.drop(columns="y")
    kernel = leaf_counts(domain)

    def encode() -> None:
        # a fresh engine encodes at its first question, and counting records asks for nothing more
        MemoryEngine(table, domain, threads=THREADS).aggregate(RecordCount())

    engine = MemoryEngine(table, domain, threads=THREADS)
    sums = engine.aggregate(kernel)
    noise = DiscreteLaplace(Fraction(1), kernel.l1)
    result = {
        "encode": times(encode, repeats),
        "pass": times(lambda: engine.aggregate(kernel), repeats),
        "noise": times(lambda: OpenDPSource().perturb(sums, noise, THREADS), repeats),
        "fit from codes": times(lambda: model.fit(engine), repeats),
        "fit from DataFrame": times(lambda: model.fit(table), repeats),
    }
    forest = model.forest_
    codes = forest.encode(X, THREADS)
    result |= {
        "predict from codes": times(lambda: forest.labels_of_codes(codes, THREADS), repeats),
        "predict from DataFrame": times(lambda: model.predict(X), repeats),
    }
    return result | {"rows": rows, "cells": int(sums.size)}


def sklearn(rows: int, repeats: int) -> dict[str, Any]:
    """scikit-learn's forest on the integer codes, as it is and held to our height."""
    from sklearn.ensemble import RandomForestClassifier

    codes, labels = whole(rows)

    def fit(depth: int | None) -> None:
        forest = RandomForestClassifier(
            n_estimators=N_TREES, max_depth=depth, n_jobs=THREADS, random_state=SEED
        )
        forest.fit(codes, labels)

    return {
        "fit": times(lambda: fit(None), repeats),
        "fit with max_depth": times(lambda: fit(HEIGHT), repeats),
        "rows": rows,
    }


def write_parquet(path: str, rows: int) -> dict[str, Any]:
    """String columns, in row groups of at most a million, one in memory at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [*(f"x{j}" for j in range(N_ATTRIBUTES)), "y"]
    schema = pa.schema([(name, pa.string()) for name in names])
    with pq.ParquetWriter(path, schema) as writer:
        for codes, labels in synthetic(rows):
            columns = [np.array(VALUES, dtype=object)[codes[:, j]] for j in range(N_ATTRIBUTES)]
            columns.append(np.array(LABELS, dtype=object)[labels])
            arrays = [pa.array(column, pa.string()) for column in columns]
            writer.write_table(pa.table(arrays, schema=schema), row_group_size=ROW_GROUP)
    return {"bytes": Path(path).stat().st_size, "rows": rows}


def parquet_pass(path: str, rows: int, repeats: int) -> dict[str, Any]:
    """The pass over a file, with the peak memory of this process, imports included."""
    from frith import open_table

    domain = declared(rows)
    kernel = leaf_counts(domain)
    engine = open_table(path, domain, threads=THREADS)
    seconds = times(lambda: engine.aggregate(kernel), repeats)
    return {"seconds": seconds, "rows": rows, "peak MB": _peak_megabytes()}


def parquet_fit(path: str, rows: int) -> dict[str, Any]:
    """A whole fit from a file, once."""
    from frith import open_table

    seconds = times(
        lambda: estimator(rows).fit(open_table(path, declared(rows), threads=THREADS)), 1
    )
    return {"seconds": seconds, "rows": rows, "peak MB": _peak_megabytes()}


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_000  # kilobytes on Linux


STAGES = {
    stage.__name__: stage
    for stage in (first_fit, memory, sklearn, write_parquet, parquet_pass, parquet_fit)
}

if __name__ == "__main__":
    name, arguments = sys.argv[1], json.loads(sys.argv[2])
    print(json.dumps(STAGES[name](*arguments)))
