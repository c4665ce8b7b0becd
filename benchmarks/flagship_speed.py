"""CPU time and memory of both flagships against DP-EBM's, on a million records of 20 numbers.

    python benchmarks/flagship_speed.py [--quick]

Needs the `bench` extra. All fit the same array at epsilon 1 and delta 1e-6 in processes of their own,
bounds given, encoding included, otherwise with their defaults: ours with the grid of 1,024 cells a number
and its own cuts, DP-EBM with 32 bins. CPU time is that of all threads.
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
from typing import Any

import numpy as np

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"
ATTRIBUTES = 20
FASTER, BYTES_A_CELL = 15.0, 4.0
DELTA = 1e-6
REACH = 8.0  # the declared bounds of the number, either way


def table(rows: int, task: str) -> tuple[np.ndarray, np.ndarray]:
    """Numbers in [0, 1), and what some of them and one pair of them speak about: a label, or a number."""
    rng = np.random.default_rng(0)
    X = rng.random((rows, ATTRIBUTES))
    odds = 3 * (X[:, 0] - 0.5) + 2 * np.sin(6 * X[:, 1]) + 4 * (X[:, 2] - 0.5) * (X[:, 3] - 0.5)
    if task == "regressor":
        return X, np.clip(odds + rng.normal(size=rows), -REACH, REACH)
    return X, (rng.random(rows) < 1 / (1 + np.exp(-odds))).astype(np.int64)


def memory(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field))


def ours(rows: int, task: str) -> dict[str, float]:
    from frith import Categorical, Domain, ForestClassifier, ForestRegressor, Numeric

    X, y = table(rows, task)
    numbers = [Numeric(f"x{j}", 0, 1) for j in range(ATTRIBUTES)]
    is_number = task == "regressor"
    label = Numeric("y", -REACH, REACH) if is_number else Categorical("y", (0, 1))
    learner = ForestRegressor if is_number else ForestClassifier
    model = learner(Domain(numbers, label, records=rows), epsilon=1, delta=DELTA)
    model.fit(X[:2_000], y[:2_000])  # compiles
    before = memory("VmRSS")
    found = _timed(model, X, y)
    return found | {"bytes": (memory("VmHWM") - before) / X.size}


def ebm(rows: int, task: str) -> dict[str, float]:
    from interpret import privacy

    X, y = table(rows, task)
    bounds = dict.fromkeys(range(ATTRIBUTES), (0.0, 1.0))
    own = {"epsilon": 1, "delta": DELTA, "n_jobs": 1, "privacy_bounds": bounds}
    if task == "regressor":
        reach = (-REACH, REACH)
        model = privacy.DPExplainableBoostingRegressor(
            **own, privacy_target_min=reach[0], privacy_target_max=reach[1]
        )
    else:
        model = privacy.DPExplainableBoostingClassifier(**own)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _timed(model, X, y)


def _timed(model: Any, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    started, clock = time.process_time(), time.perf_counter()
    model.fit(X, y)
    seconds, wall = time.process_time() - started, time.perf_counter() - clock
    return {"cpu": seconds, "wall": wall, "score": float(model.score(X[:100_000], y[:100_000]))}


def main() -> int:
    parser = argparse.ArgumentParser(description="Both flagships' speed against DP-EBM's.")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the records")
    parser.add_argument("--fit", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args()
    if options.fit:
        who, task = options.fit
        print(json.dumps({"ours": ours, "ebm": ebm}[who](options.rows, task)))
        return 0
    rows = 50_000 if options.quick else options.rows
    learners, checks = [], []
    for task, name in (("classifier", "ForestClassifier"), ("regressor", "ForestRegressor")):
        own, theirs = (_run(who, task, rows) for who in ("ours", "ebm"))
        learners += [(name, own), (f"DP-EBM, {task}", theirs)]
        ratio, peak = theirs["cpu"] / own["cpu"], own["bytes"]
        checks += [
            (f"{name}: CPU time of DP-EBM over ours", ratio, f"at least {FASTER:g}", ratio >= FASTER),
            (f"{name}: peak memory above the input, bytes a cell", peak, f"under {BYTES_A_CELL:g}",
             peak < BYTES_A_CELL),
        ]  # fmt: skip
    lines = [
        "# The flagships against DP-EBM: time and memory\n",
        f"{rows:,} records of {ATTRIBUTES} numbers, epsilon 1, delta 1e-6; interpret-core "
        f"{version('interpret-core')}. Made by `python benchmarks/flagship_speed.py`. All with their "
        "default cuts. The score is the share of right labels, or R2, of 100,000 of the records "
        "that were learned from.\n",
        "| learner | CPU seconds | wall seconds | score |",
        "|---|--:|--:|--:|",
        *(
            f"| {name} | {r['cpu']:.1f} | {r['wall']:.1f} | {r['score']:.3f} |"
            for name, r in learners
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


def _run(who: str, task: str, rows: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--fit", who, task, "--rows", str(rows)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


if __name__ == "__main__":
    sys.exit(main())
