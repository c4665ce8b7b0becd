"""CPU time and memory of the flagship against DP-EBM, on a million records of 20 numbers.

    python benchmarks/flagship_speed.py [--quick]

Needs the `peers` extra. Both fit the same array at epsilon 1 and delta 1e-6 in a process of their
own, bounds given, encoding included; CPU time is that of all threads.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"
ATTRIBUTES, CUTS = 20, 20
FASTER, BYTES_A_CELL = 15.0, 4.0
DELTA = 1e-6


def table(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers in [0, 1), and a label that some of them and one pair of them speak about."""
    rng = np.random.default_rng(0)
    X = rng.random((rows, ATTRIBUTES))
    odds = 3 * (X[:, 0] - 0.5) + 2 * np.sin(6 * X[:, 1]) + 4 * (X[:, 2] - 0.5) * (X[:, 3] - 0.5)
    return X, (rng.random(rows) < 1 / (1 + np.exp(-odds))).astype(np.int64)


def memory(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field))


def fit_forest(rows: int) -> dict[str, float]:
    from frith import Categorical, Domain, ForestClassifier, Numeric

    X, y = table(rows)
    domain = Domain(
        [Numeric(f"x{j}", 0, 1, cells=CUTS + 1) for j in range(ATTRIBUTES)],
        Categorical("y", (0, 1)),
        records=rows,
    )
    ForestClassifier(domain, epsilon=1, delta=DELTA).fit(X[:2_000], y[:2_000])  # compiles
    before = memory("VmRSS")
    started, clock = time.process_time(), time.perf_counter()
    model = ForestClassifier(domain, epsilon=1, delta=DELTA).fit(X, y)
    seconds, wall = time.process_time() - started, time.perf_counter() - clock
    peak = (memory("VmHWM") - before) / X.size
    return {"cpu": seconds, "wall": wall, "bytes": peak, "accuracy": _accuracy(model, X, y)}


def fit_ebm(rows: int) -> dict[str, float]:
    from interpret.privacy import DPExplainableBoostingClassifier

    X, y = table(rows)
    model = DPExplainableBoostingClassifier(
        epsilon=1, delta=DELTA, max_bins=CUTS + 1, n_jobs=1,
        privacy_bounds=dict.fromkeys(range(ATTRIBUTES), (0.0, 1.0)),
    )  # fmt: skip
    started, clock = time.process_time(), time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    seconds, wall = time.process_time() - started, time.perf_counter() - clock
    return {"cpu": seconds, "wall": wall, "accuracy": _accuracy(model, X, y)}


def _accuracy(model: object, X: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean(model.predict(X[:100_000]) == y[:100_000]))  # type: ignore[attr-defined]


def main() -> int:
    parser = argparse.ArgumentParser(description="The flagship's speed against DP-EBM.")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the records")
    parser.add_argument("--fit", choices=("forest", "ebm"), help=argparse.SUPPRESS)
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args()
    if options.fit:
        print(json.dumps({"forest": fit_forest, "ebm": fit_ebm}[options.fit](options.rows)))
        return 0
    rows = 50_000 if options.quick else options.rows
    forest, ebm = (_run(kind, rows) for kind in ("forest", "ebm"))
    ratio = ebm["cpu"] / forest["cpu"]
    checks = [
        ("CPU time of DP-EBM over ours", ratio, f"at least {FASTER:g}", ratio >= FASTER),
        ("peak memory above the input, bytes a cell", forest["bytes"], f"under {BYTES_A_CELL:g}",
         forest["bytes"] < BYTES_A_CELL),
    ]  # fmt: skip
    lines = [
        "# The flagship against DP-EBM: time and memory\n",
        f"{rows:,} records of {ATTRIBUTES} numbers, epsilon 1, delta 1e-6; interpret-core "
        f"{version('interpret-core')}. Made by `python benchmarks/flagship_speed.py`.\n",
        "| learner | CPU seconds | wall seconds | accuracy on its own records |",
        "|---|--:|--:|--:|",
        *(
            f"| {name} | {r['cpu']:.1f} | {r['wall']:.1f} | {100 * r['accuracy']:.1f}% |"
            for name, r in (("ForestClassifier", forest), ("DP-EBM", ebm))
        ),
        "\n| check | measured | bound | |",
        "|---|--:|--:|---|",
        *(f"| {w} | {m:.2f} | {b} | {'PASS' if ok else 'FAIL'} |" for w, m, b, ok in checks),
    ]
    out = Path(tempfile.gettempdir()) / "frith-quick" if options.quick else RESULTS
    out.mkdir(parents=True, exist_ok=True)
    (out / "flagship_speed.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))
    return 0 if options.quick or all(ok for *_, ok in checks) else 1


def _run(kind: str, rows: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--fit", kind, "--rows", str(rows)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


if __name__ == "__main__":
    sys.exit(main())
