"""Is this source as fast as an earlier one? Both are timed in turns, in one run.

    python benchmarks/against.py COMMIT [--rounds 5]

Every round starts a fresh process for each source, lets it compile, and times the same work through
the public interface, short work several times. What counts is the ratio of the medians; over 1.10 the
script ends with exit code 1. Results go to docs/results/against.md.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REPORT = ROOT / "docs" / "results" / "against.md"
LIMIT = 1.10

WORK = """
import json, statistics, time
import numpy as np, pandas as pd
import frith
from frith import Categorical, Domain, Numeric

def table(n, labels, seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({f"x{i}": rng.normal(size=n).round(3) for i in range(12)})
    for i in range(6):
        frame[f"c{i}"] = rng.choice(list("abcdef"), n)
    score = frame.x0 + 2 * (frame.c0 == "a") - frame.x1 * (frame.c1 == "b") + rng.normal(size=n)
    edges = np.quantile(score, np.linspace(0, 1, labels + 1)[1:-1])
    frame["label"] = [f"l{k}" for k in np.searchsorted(edges, score)]
    return frame

def domain(labels, n):
    attributes = [Numeric(f"x{i}", -4, 4) for i in range(12)]
    attributes += [Categorical(f"c{i}", tuple("abcdef")) for i in range(6)]
    return Domain(attributes, Categorical("label", tuple(f"l{k}" for k in range(labels))), records=n)

def typical(work, seconds=2, most=15):
    "The median time of as many runs as fit into so many seconds, at least one."
    times = []
    while not times or (sum(times) < seconds and len(times) < most):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)

two, five = table(200_000, 2, 0), table(100_000, 5, 1)
small = {2: table(2_000, 2, 2), 5: table(2_000, 5, 3)}
tasks = {
    "ForestClassifier, 2 labels": (lambda d: frith.ForestClassifier(d, epsilon=1), two, 2),
    "ForestClassifier, 5 labels": (lambda d: frith.ForestClassifier(d, epsilon=1), five, 5),
    "GiniForestClassifier": (lambda d: frith.GiniForestClassifier(d, epsilon=1), two, 2),
    "C45Classifier": (lambda d: frith.C45Classifier(d, epsilon=1), two, 2),
    "RandomDecisionForestClassifier": (
        lambda d: frith.RandomDecisionForestClassifier(d, epsilon=1, random_state=0), two, 2),
}
found = {}
for name, (make, frame, labels) in tasks.items():
    warm = small[labels]
    make(domain(labels, len(warm))).fit(warm).predict(warm.drop(columns="label"))
    model, plain = make(domain(labels, len(frame))), frame.drop(columns="label")
    found[f"fit {name}"] = typical(lambda: model.fit(frame))
    found[f"predict {name}"] = typical(lambda: model.predict(plain))
print(json.dumps(found))
"""


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("commit", help="the earlier source")
    arguments.add_argument("--rounds", type=int, default=5)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        earlier = Path(folder) / "earlier"
        _git("worktree", "add", "--detach", str(earlier), options.commit)
        try:
            times = _measure({"earlier": earlier / "src", "now": ROOT / "src"}, options.rounds)
        finally:
            _git("worktree", "remove", "--force", str(earlier))
    ratios = {task: _ratio(times, task) for task in times["now"][0]}
    REPORT.write_text(_page(options, times, ratios), encoding="utf-8")
    print(REPORT.read_text())
    return 0 if max(ratios.values()) <= LIMIT else 1


def _measure(sources: dict[str, Path], rounds: int) -> dict[str, list[dict[str, float]]]:
    times: dict[str, list[dict[str, float]]] = {name: [] for name in sources}
    for number in range(rounds):
        for name, source in sources.items():
            times[name].append(_time(source))
            print(f"round {number + 1} of {rounds}: {name} timed", file=sys.stderr, flush=True)
    return times


def _time(source: Path) -> dict[str, float]:
    environment = os.environ | {"PYTHONPATH": str(source)}
    done = subprocess.run(
        [sys.executable, "-c", WORK], env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def _ratio(times: dict[str, list[dict[str, float]]], task: str) -> float:
    earlier, now = (statistics.median(t[task] for t in times[s]) for s in ("earlier", "now"))
    return now / earlier


def _page(options, times, ratios) -> str:
    rows = [
        f"| {task} | {statistics.median(t[task] for t in times['earlier']):.3f} | "
        f"{statistics.median(t[task] for t in times['now']):.3f} | {ratio:.2f} |"
        for task, ratio in ratios.items()
    ]
    return "\n".join(
        [
            "# As fast as before",
            "",
            f"Written by `benchmarks/against.py {options.commit}`: seconds, the median of "
            f"{options.rounds} rounds in turns, {os.cpu_count()} cores, compile time apart. The limit is a "
            f"ratio of {LIMIT}.",
            "",
            "| work | earlier | now | ratio |",
            "| --- | ---: | ---: | ---: |",
            *rows,
            "",
        ]
    )


def _git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True)


if __name__ == "__main__":
    sys.exit(main())
