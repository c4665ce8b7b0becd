"""Our learners and other people's on the same folds: accuracy, AUC and log loss against epsilon.

    python benchmarks/peers.py [--quick] [--only SETS] [--report]

Ours come from accuracy.py, which is run first and resumes; theirs are measured here: diffprivlib's forest
(in an environment of its own, since it does not import beside a current scikit-learn), interpret's DP-EBM
(two labels only, delta 1e-6), and scikit-learn's forest and boosting without privacy. Everybody gets the
same public domain. Writes peers.csv, peers.md and peers.png to docs/results; --quick a small run elsewhere.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import common
import numpy as np
import pandas as pd
from accuracy import CHECKED, EPSILONS, FLAGSHIP, OTHERS, QUICK, TUNED, cells_of

from frith import Categorical
from frith.encoding import columns_of, encode_label

ROOT = Path(__file__).resolve().parents[1]
OWN = ROOT / ".peers"
PINNED = ("diffprivlib==0.6.6", "scikit-learn<1.9")
PRIVATE = ("diffprivlib forest", "DP-EBM")
EXACT = ("scikit-learn forest", "scikit-learn boosting")
NEIGHBORS = {
    "diffprivlib forest": "pure epsilon; neighbors not stated by it",
    "DP-EBM": "(epsilon, 1e-6); neighbors not stated by it",
    "scikit-learn forest": "no privacy",
    "scikit-learn boosting": "no privacy",
}
FIELDS = ("accuracy", "spread", "auc", "log_loss")

# -- tables ------------------------------------------------------------------------------------


def export(name: str, folder: Path) -> None:
    """A table as numbers: codes of categories, bounds and labels from the public domain."""
    X, y, domain = common.load(name)
    columns, _ = columns_of(X)
    numbers, low, high = [], [], []
    for a in domain.attributes:
        if isinstance(a, Categorical):
            codes = encode_label(columns(a.name), Categorical(a.name, a.values))
            numbers.append(np.where(codes < 0, a.missing_code, codes).astype(float))
            low.append(0.0)
            high.append(float(a.size - 1))
        else:
            values = pd.to_numeric(X[a.name], errors="coerce").to_numpy(dtype=float)
            numbers.append(np.clip(np.nan_to_num(values, nan=a.low), a.low, a.high))
            low.append(a.low)
            high.append(a.high)
    fold = np.empty(len(y), dtype=int)
    for number, (_, test) in enumerate(common.folds(y, 0)):
        fold[test] = number
    codes = {v: i for i, v in enumerate(domain.label.values)}
    np.savez(
        folder / f"{name}.npz", X=np.column_stack(numbers), y=np.array([codes[v] for v in y]),
        fold=fold, low=low, high=high, classes=domain.n_labels,
        categorical=[isinstance(a, Categorical) for a in domain.attributes],
    )  # fmt: skip


# -- fits --------------------------------------------------------------------------------------


def own_python() -> Path:
    """The interpreter of an environment in which diffprivlib imports; made once."""
    python = OWN / "bin" / "python"
    if not (OWN / ".ready").exists():
        print(f"setting up {OWN.name} for {', '.join(PINNED)} (once)")
        subprocess.run([sys.executable, "-m", "venv", OWN], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PINNED], check=True)
        (OWN / ".ready").touch()
    return python


def wanted(names: list[str], epsilons: tuple[str, ...], folds: int) -> list[dict[str, Any]]:
    """Every fit; DP-EBM knows two labels only."""
    jobs = []
    for name in names:
        binary = common.load(name)[2].n_labels == 2
        private = [p for p in PRIVATE if binary or p != "DP-EBM"]
        jobs += [_job(name, p, e, folds) for p in private for e in epsilons]
        jobs += [_job(name, p, "inf", folds) for p in EXACT]
    return jobs


def _job(name: str, learner: str, epsilon: str, folds: int) -> dict[str, Any]:
    return {"set": name, "learner": learner, "epsilon": epsilon, "folds": folds}


def run(jobs: list[dict[str, Any]], folder: Path, path: Path) -> pd.DataFrame:
    """All jobs, two at a time, each learner where it imports; what is in `path` is not done again."""
    done = pd.read_csv(path, dtype={"epsilon": str}).to_dict("records") if path.is_file() else []
    known = {_key(row) for row in done}
    queue: SimpleQueue[dict[str, Any]] = SimpleQueue()
    missing = [job for job in jobs if _key(job) not in known]
    for job in missing:
        queue.put(job)
    lock = threading.Lock()

    def work() -> None:
        workers: dict[Path, subprocess.Popen[str]] = {}
        while True:
            try:
                job = queue.get_nowait()
            except Empty:
                break
            python = own_python() if job["learner"] == PRIVATE[0] else Path(sys.executable)
            result = _ask(workers, python, job, folder)
            with lock:
                done.append(result)
                pd.DataFrame(done).to_csv(path, index=False)
                print(
                    f"{len(done) - len(known)}/{len(missing)} {job['set']} {job['learner']} {job['epsilon']}"
                )
        for worker in workers.values():
            worker.stdin.close()  # type: ignore[union-attr]

    own_python()
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return pd.DataFrame(done)


def _key(row: dict[str, Any]) -> tuple[str, str, str, int]:
    return str(row["set"]), str(row["learner"]), str(row["epsilon"]), int(row["folds"])


def _ask(
    workers: dict[Path, Any], python: Path, job: dict[str, Any], folder: Path
) -> dict[str, Any]:
    if python not in workers:
        script = str(Path(__file__).with_name("peer_worker.py"))
        workers[python] = subprocess.Popen(
            [python, script, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
    worker = workers[python]
    worker.stdin.write(json.dumps(job) + "\n")
    worker.stdin.flush()
    line = worker.stdout.readline()
    if not line:
        del workers[python]
        return job | dict.fromkeys(FIELDS)
    return json.loads(line)


# -- words and pictures ------------------------------------------------------------------------

HEAD = """# Our learners and other people's, on the same folds

Stratified folds, the same for everybody; accuracy in percent, with the standard error over folds (and
repeats, for ours). Everybody is given the same public domain: bounds, categories and labels. Our guarantees
are for one record added or removed, delta 0. Made by `python benchmarks/peers.py`; every figure is in
`peers.csv` and `accuracy.csv`. Sets marked (checked) had no say in any choice of ours.
"""


def report(names: list[str], theirs: pd.DataFrame, out: Path) -> None:
    ours = _ours(names)
    rows = []
    for name in names:
        for learner in (FLAGSHIP, *OTHERS, *PRIVATE):
            cells = [_cell(ours, theirs, name, learner, e) for e in EPSILONS]
            if any(cells):
                mark = "" if name in TUNED else " (checked)"
                rows.append([f"{name}{mark}, {learner}", *cells])
        rows += [
            [f"{name}, {learner}", *[_cell(ours, theirs, name, learner, "inf")] * len(EPSILONS)]
            for learner in EXACT
        ]
    settings = "\n".join(f"- {name}: {words}" for name, words in NEIGHBORS.items())
    text = f"{HEAD}\n{settings}\n- versions: {_versions()}\n\n"
    text += common.markdown_table(["accuracy at epsilon", *EPSILONS], rows)
    (out / "peers.md").write_text(text, encoding="utf-8")
    plot(names, ours, theirs, out / "peers.png")
    print(f"wrote {out / 'peers.md'}")


def _ours(names: list[str]) -> pd.DataFrame:
    path = common.RESULTS / "accuracy.csv"
    rows = pd.read_csv(path, keep_default_na=False)
    cells = cells_of(rows[rows.set.isin(names)])
    return cells[cells.delta == "0"]


def _point(
    ours: pd.DataFrame, theirs: pd.DataFrame, name: str, learner: str, epsilon: str
) -> tuple[float, float] | None:
    found = ours[(ours.set == name) & (ours.learner == learner) & (ours.epsilon == epsilon)]
    if len(found):
        return float(found.accuracy.iloc[0]), float(found.error.iloc[0])
    found = theirs[(theirs.set == name) & (theirs.learner == learner) & (theirs.epsilon == epsilon)]
    found = found.dropna(subset=["accuracy"])
    if found.empty:
        return None
    row = found.iloc[-1]
    return float(row.accuracy), float(row.spread) / np.sqrt(float(row.folds))


def _cell(ours: pd.DataFrame, theirs: pd.DataFrame, name: str, learner: str, epsilon: str) -> str:
    point = _point(ours, theirs, name, learner, epsilon)
    return "" if point is None else f"{100 * point[0]:.1f} ± {100 * point[1]:.1f}"


def plot(names: list[str], ours: pd.DataFrame, theirs: pd.DataFrame, path: Path) -> None:
    """Small multiples: one panel a set, a line and a 95% band a learner."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    colors = dict(zip((FLAGSHIP, *OTHERS, *PRIVATE), plt.colormaps["tab10"].colors, strict=False))
    width = 4
    height = -(-len(names) // width)
    figure, axes = plt.subplots(
        height, width, figsize=(14, 2.7 * height), squeeze=False, layout="constrained", sharex=True
    )
    for axis in axes.flat[len(names) :]:
        axis.set_visible(False)
    x = [float(e) for e in EPSILONS]
    for axis, name in zip(axes.flat, names, strict=False):
        for learner, color in colors.items():
            points = [_point(ours, theirs, name, learner, e) for e in EPSILONS]
            known = [(a, *p) for a, p in zip(x, points, strict=True) if p is not None]
            if known:
                at, mean, error = (np.array(v) for v in zip(*known, strict=True))
                bold = 2.2 if learner == FLAGSHIP else 1.0
                axis.plot(at, 100 * mean, color=color, linewidth=bold, label=learner)
                axis.fill_between(
                    at, 100 * (mean - 2 * error), 100 * (mean + 2 * error), color=color, alpha=0.15
                )
        axis.set_xscale("log")
        axis.set_title(name, loc="left", fontsize=9)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
    figure.savefig(path, dpi=110)


def _versions() -> str:
    found = []
    for package in ("frith", "interpret-core", "scikit-learn"):
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"{package} missing")
    return ", ".join([*found, *PINNED])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few sets, two folds, elsewhere")
    parser.add_argument("--only", nargs="*", help="some sets")
    parser.add_argument("--report", action="store_true", help="only write the report")
    options = parser.parse_args()
    out = Path(tempfile.gettempdir()) / "frith-quick" if options.quick else common.RESULTS
    out.mkdir(parents=True, exist_ok=True)
    names = common.loadable(options.only or (QUICK if options.quick else (*TUNED, *CHECKED)))
    epsilons, folds = (("0.1", "1"), 2) if options.quick else (EPSILONS, common.FOLDS)
    if not options.report and not options.quick:
        script = str(Path(__file__).with_name("accuracy.py"))
        subprocess.run([sys.executable, script], check=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            export(name, Path(folder))
        jobs = [] if options.report else wanted(names, epsilons, folds)
        theirs = run(jobs, Path(folder), out / "peers.csv")
    report(names, theirs, out)


if __name__ == "__main__":
    main()
