"""Our learners and other people's on the same folds: accuracy, AUC and log loss against epsilon.

    python benchmarks/peers.py [--quick] [--only SETS] [--theirs] [--report]

Ours come from accuracy.py, which is run first and resumes; theirs are measured here: diffprivlib's forest
(in an environment of its own, since it does not import beside a current scikit-learn), interpret's DP-EBM
(two labels only, delta 1e-6), and scikit-learn's forest and boosting without privacy. Everybody gets the
same public domain. Writes peers.csv, and a page and a picture a metric, to docs/results; --quick a small
run elsewhere.
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
from accuracy import CHECKED, EPSILONS, FLAGSHIP, METRICS, OTHERS, QUICK, TUNED, cells_of

from frith import Categorical
from frith._jit import available_threads
from frith.domain.columns import columns_of
from frith.domain.encoding import encode_label

ROOT = Path(__file__).resolve().parents[1]
OWN = ROOT / ".peers"
PEER_FOLDS = 5  # of our ten: their fits take hours
PINNED = ("diffprivlib==0.6.6", "scikit-learn<1.8")  # its logistic regression needs `multi_class`
PRIVATE = ("diffprivlib forest", "DP-EBM")
EXACT = ("scikit-learn forest", "scikit-learn boosting")
SETTINGS = {
    "ours": "one record added or removed, delta 0; defaults, as everybody has",
    "diffprivlib forest": "delta 0, its documents name no neighbors; 10 trees of depth 5; bounds given",
    "DP-EBM": "delta 1e-6, its documents name no neighbors; two labels only; bounds and types given",
    "scikit-learn forest": "no privacy; 100 trees",
    "scikit-learn boosting": "no privacy; HistGradientBoosting, categories marked, no early stopping",
}

# -- tables ------------------------------------------------------------------------------------


def as_numbers(name: str) -> dict[str, Any]:
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
    codes = {v: i for i, v in enumerate(domain.label.values)}
    return {
        "X": np.column_stack(numbers), "y": np.array([codes[v] for v in y]), "low": low, "high": high,
        "classes": domain.n_labels,
        "categorical": [isinstance(a, Categorical) for a in domain.attributes],
    }  # fmt: skip


def export(name: str, folder: Path) -> None:
    table = as_numbers(name)
    fold = np.empty(len(table["y"]), dtype=int)
    for number, (_, test) in enumerate(common.folds(common.load(name)[1], 0)):
        fold[test] = number
    np.savez(folder / f"{name}.npz", fold=fold, **table)


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
    for name in sorted(names, key=common.cost):  # an interrupted run has whole sets
        binary = common.load(name)[2].n_labels == 2
        private = [p for p in PRIVATE if binary or p != "DP-EBM"]
        jobs += [_job(name, p, e, folds) for p in private for e in epsilons]
        jobs += [_job(name, p, "inf", folds) for p in EXACT]
    return jobs


def _job(name: str, learner: str, epsilon: str, folds: int) -> dict[str, Any]:
    return {"set": name, "learner": learner, "epsilon": epsilon, "folds": folds}


def run(jobs: list[dict[str, Any]], folder: Path, path: Path) -> pd.DataFrame:
    """All jobs, one a core, each learner where it imports; what is in `path` is not done again."""
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
            result = ask(workers, job, folder)
            with lock:
                done.append(result)
                pd.DataFrame(done).to_csv(path, index=False)
                print(
                    f"{len(done) - len(known)}/{len(missing)} {job['set']} {job['learner']} {job['epsilon']}"
                )
        for worker in workers.values():
            worker.stdin.close()  # type: ignore[union-attr]

    own_python()
    threads = [threading.Thread(target=work) for _ in range(available_threads())]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return pd.DataFrame(done)


def _key(row: dict[str, Any]) -> tuple[str, str, str, int]:
    return str(row["set"]), str(row["learner"]), str(row["epsilon"]), int(row["folds"])


def ask(workers: dict[Path, Any], job: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The job's row, by a worker in an environment that its learner imports in."""
    is_own = job["learner"].startswith("diffprivlib")
    python = own_python() if is_own else Path(sys.executable)
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
        return job | dict.fromkeys((*METRICS, *METRICS.values()))
    return json.loads(line)


# -- words and pictures ------------------------------------------------------------------------

PRIVATE_LEARNERS = (FLAGSHIP, *OTHERS, *PRIVATE)
PAGES = {"accuracy": "peers.md", "auc": "peers_auc.md", "log_loss": "peers_log_loss.md"}
WORDS = {
    "accuracy": "Accuracy, in percent",
    "auc": "Area under the ROC curve, in percent; sets of two labels",
    "log_loss": "Log loss, in nats: less is better",
}
HEAD = """# Our learners and other people's: {title}

{words}. Means over stratified folds: ten of ours, of which the other learners have the first
five; ± is the standard error over folds (and repeats, where a cell has several). Everybody is given the same
public domain: bounds, categories and labels. Sets marked (checked) had no say in any choice of ours. Made by
`make compare`; every figure is in `peers.csv` and `accuracy.csv`. The same for {links}.
"""


def cells(names: list[str], theirs: pd.DataFrame) -> pd.DataFrame:
    """Ours at delta 0 and theirs: a row a set, learner and epsilon, with means and errors."""
    ours = cells_of(pd.read_csv(common.RESULTS / "accuracy.csv", keep_default_na=False))
    ours = ours[ours.set.isin(names) & (ours.delta == "0")]
    theirs = theirs[theirs.set.isin(names)].dropna(subset=["accuracy"]).copy()
    for metric, spread in METRICS.items():
        theirs[f"{metric}_error"] = theirs[spread] / np.sqrt(theirs.folds)
    together = pd.concat([ours, theirs]).set_index(["set", "learner", "epsilon"])
    return together[~together.index.duplicated(keep="last")].sort_index()


def report(names: list[str], found: pd.DataFrame, out: Path) -> None:
    """A page and a picture for each metric."""
    settings = "\n".join(f"- {name}: {words}" for name, words in SETTINGS.items())
    for metric, page in PAGES.items():
        others = [m for m in PAGES if m != metric]
        links = " and ".join(f"[{_title(m)}]({PAGES[m]})" for m in others)
        title = _title(metric)
        head = HEAD.format(title=title, words=WORDS[metric], links=links)
        shown = [n for n in names if found.loc[n][metric].notna().any()]
        picture = f"peers_{metric}.png"
        plot(shown, found, metric, out / picture)
        parts = [
            head, f"{settings}\n- versions: {_versions()}\n", f"![{title} against epsilon]({picture})\n",
            "## Means over sets\n", means(shown, found, metric), "## Every set\n",
            every(shown, found, metric),
        ]  # fmt: skip
        (out / page).write_text("\n".join(parts), encoding="utf-8")
        print(f"wrote {out / page}")


def summary(names: list[str], found: pd.DataFrame) -> str:
    """For the README: the flagship's accuracy beside each other learner's, on the sets it takes."""
    rows = []
    for peer in PRIVATE:
        sets = [n for n in names if (n, peer) in found.index.droplevel(2)]
        for learner in (FLAGSHIP, peer):
            values = [[*_values(found, sets, learner, e, "accuracy").values()] for e in EPSILONS]
            who = "`ForestClassifier`" if learner == FLAGSHIP else peer
            rows.append(
                [f"{who}, mean of {len(sets)} sets", *(f"{100 * np.mean(v):.1f}" for v in values)]
            )
        wins = [np.mean([_at_least(found, n, peer, e) for n in sets]) for e in EPSILONS]
        rows.append(
            ["sets on which ours is at least as accurate", *(f"{100 * w:.0f}%" for w in wins)]
        )
    return common.markdown_table(["accuracy in percent at epsilon", *EPSILONS], rows)


def _at_least(found: pd.DataFrame, name: str, peer: str, epsilon: str) -> bool:
    """Whether the flagship reaches a peer, within one standard error of the difference."""
    ours, theirs = (_point(found, name, who, epsilon, "accuracy") for who in (FLAGSHIP, peer))
    if ours is None or theirs is None:
        return theirs is None
    return bool(ours[0] >= theirs[0] - np.hypot(ours[1], theirs[1]))


def means(names: list[str], found: pd.DataFrame, metric: str) -> str:
    """Learners' means over the sets on which all of them were measured; DP-EBM's are fewer."""
    rows = []
    for everybody in (tuple(p for p in PRIVATE_LEARNERS if p != "DP-EBM"), PRIVATE_LEARNERS):
        values = {p: [_values(found, names, p, e, metric) for e in EPSILONS] for p in everybody}
        sets = [n for n in names if all(n in v for of in values.values() for v in of)]
        for learner in everybody if sets else ():
            shown = [np.mean([v[n] for n in sets]) for v in values[learner]]
            rows.append(
                [f"{learner}, {len(sets)} sets", *(_number(float(v), metric) for v in shown)]
            )
    return common.markdown_table([f"mean {_title(metric)}", *EPSILONS], rows)


def _title(metric: str) -> str:
    return "AUC" if metric == "auc" else metric.replace("_", " ")


def _values(
    found: pd.DataFrame, names: list[str], learner: str, epsilon: str, metric: str
) -> dict[str, float]:
    points = {name: _point(found, name, learner, epsilon, metric) for name in names}
    return {name: p[0] for name, p in points.items() if p is not None}


def every(names: list[str], found: pd.DataFrame, metric: str) -> str:
    rows = []
    for name in names:
        mark = "" if name in TUNED else " (checked)"
        for learner in (*PRIVATE_LEARNERS, *EXACT):
            at = ["inf"] * len(EPSILONS) if learner in EXACT else EPSILONS
            points = [_point(found, name, learner, e, metric) for e in at]
            if any(points):
                rows.append([f"{name}{mark}, {learner}", *(_cell(p, metric) for p in points)])
    return common.markdown_table(["epsilon", *EPSILONS], rows)


def _point(
    found: pd.DataFrame, name: str, learner: str, epsilon: str, metric: str
) -> tuple[float, float] | None:
    if (name, learner, epsilon) not in found.index:
        return None
    row = found.loc[(name, learner, epsilon)]
    return None if pd.isna(row[metric]) else (float(row[metric]), float(row[f"{metric}_error"]))


def _number(value: float, metric: str) -> str:
    return f"{value:.3f}" if metric == "log_loss" else f"{100 * value:.1f}"


def _cell(point: tuple[float, float] | None, metric: str) -> str:
    if point is None:
        return ""
    error = "" if np.isnan(point[1]) else f" ± {_number(point[1], metric)}"
    return _number(point[0], metric) + error


def plot(names: list[str], found: pd.DataFrame, metric: str, path: Path) -> None:
    """Small multiples: one panel a set, a line and a 95% band a learner."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    colors = dict(zip(PRIVATE_LEARNERS, plt.colormaps["tab10"].colors, strict=False))
    width, scale = 4, 1 if metric == "log_loss" else 100
    height = -(-len(names) // width)
    figure, axes = plt.subplots(
        height, width, figsize=(14, 2.7 * height), squeeze=False, layout="constrained", sharex=True
    )
    for axis in axes.flat[len(names) :]:
        axis.set_visible(False)
    for axis, name in zip(axes.flat, names, strict=False):
        for learner, color in colors.items():
            points = [_point(found, name, learner, e, metric) for e in EPSILONS]
            known = [(float(e), *p) for e, p in zip(EPSILONS, points, strict=True) if p is not None]
            if known:
                at, mean, error = (np.array(v) for v in zip(*known, strict=True))
                bold = 2.2 if learner == FLAGSHIP else 1.0
                axis.plot(at, scale * mean, color=color, linewidth=bold, label=learner)
                low, high = (scale * (mean + side * 1.96 * error) for side in (-1, 1))
                axis.fill_between(at, low, high, color=color, alpha=0.15)
        axis.set_xscale("log")
        if metric == "log_loss":  # a peer's may be so large that nothing else would be seen
            axis.set_ylim(top=2 * _point(found, name, FLAGSHIP, EPSILONS[0], metric)[0])  # type: ignore[index]
        axis.set_title(name, loc="left", fontsize=9)
        axis.spines[["top", "right"]].set_visible(False)
    legend: dict[str, Any] = {}
    for axis in axes.flat:
        handles, labels = axis.get_legend_handles_labels()
        legend |= dict(zip(labels, handles, strict=True))
    figure.legend(
        legend.values(), legend.keys(), loc="outside lower center", ncols=5, frameon=False
    )
    figure.savefig(path, dpi=110)
    plt.close(figure)


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
    parser.add_argument("--theirs", action="store_true", help="without measuring ours")
    parser.add_argument("--report", action="store_true", help="only write the report")
    options = parser.parse_args()
    out = Path(tempfile.gettempdir()) / "frith-quick" if options.quick else common.RESULTS
    out.mkdir(parents=True, exist_ok=True)
    names = common.loadable(options.only or (QUICK if options.quick else (*TUNED, *CHECKED)))
    epsilons, folds = (("0.1", "1"), 2) if options.quick else (EPSILONS, PEER_FOLDS)
    if not (options.report or options.quick or options.theirs):
        script = str(Path(__file__).with_name("accuracy.py"))
        some = ["--only", ",".join(options.only)] if options.only else []
        subprocess.run([sys.executable, script, *some], check=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            export(name, Path(folder))
        jobs = [] if options.report else wanted(names, epsilons, folds)
        theirs = run(jobs, Path(folder), out / "peers.csv")
    found = cells(names, theirs)
    report(names, found, out)
    if not options.quick and not options.only:
        common.write_between(ROOT / "README.md", "beside others", summary(names, found))


if __name__ == "__main__":
    main()
