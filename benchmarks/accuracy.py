"""The scoreboard: our learners against the private tree learners one can install.

    python benchmarks/accuracy.py [--quick] [--fresh] [--only SETS] [--report]

Stratified 10-fold cross-validation over the classification tables at hand, epsilon from 0.05 to 2.
The flagship is repeated until the standard error of a cell is 0.3 points, or for 200 fits; other
learners have one run of 10 folds. Peers' figures are in peers_accuracy.csv, each with its setting.
Their delta is not 0 everywhere; where the best peer of a cell has one, ours is 1e-6 there.
Sets on which choices of ours were tuned are marked; believe the others.
"""

from __future__ import annotations

import argparse
import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import common
import numpy as np
import pandas as pd

from frith import Categorical, learners

EPSILONS = ("0.05", "0.1", "0.25", "0.5", "1", "2")
DELTA = "1e-06"
TUNED = (
    "car", "nursery", "mushroom", "adult", "magic", "pendigits", "telco_churn", "german_credit",
    "kr_vs_kp", "spambase",
)  # fmt: skip
CHECKED = (
    "votes", "tic_tac_toe", "krkopt", "connect4", "bank_marketing", "compas", "phishing",
    "default_credit_card", "electricity", "letter", "credit_approval", "breast_cancer_wisconsin",
    "balance_scale", "breast_cancer_diagnostic", "covertype_2v4", "covertype_first20k",
)  # fmt: skip
QUICK = ("car", "votes", "telco_churn", "kr_vs_kp", "tic_tac_toe", "mushroom")
PEERS = (
    "dpl_rf", "dpl_rf_d8", "dpl_dt", "dp_ebm", "privatree_d3", "privatree_d4", "dp_xgb",
    "dp_xgb_small", "srt_rf",
)  # fmt: skip
BESIDE = ("dpl_nb", "dpl_lr")
FLAGSHIP = "forest"
BOOSTING = "gradient boosting"  # scikit-learn's, exact: what a learner without noise can reach
OTHERS = tuple(name for name in learners.BY_NAME if name != FLAGSHIP)
LARGER = {"0.05": "0.25", "0.1": "0.5", "0.25": "1", "0.5": "2"}
TENFOLD = {"0.05": "0.5", "0.1": "1"}
STANDARD_ERROR, MOST_REPEATS = 0.003, 20
FLOORS = {
    "mushroom": (98.5, 99.0, 99.7), "nursery": (88.5, 90.0, 91.2), "car": (70.3, 76.9, 83.4),
    "votes": (91.0, 92.9, 95.3), "tic_tac_toe": (65.3, 68.7, 71.6), "adult": (83.6, 84.3, 85.0),
    "bank_marketing": (88.9, 89.4, 89.9), "connect4": (67.0, 70.2, 71.7),
    "krkopt": (28.3, 33.1, 36.6), "kr_vs_kp": (87.5, 91.2, 94.8),
    "credit_approval": (83.2, 85.5, 85.2), "magic": (78.0, 80.6, 82.7),
    "electricity": (75.6, 76.0, 76.3), "compas": (64.1, 65.8, 67.2),
    "phishing": (90.0, 91.5, 92.9), "telco_churn": (77.6, 78.5, 79.6),
    "default_credit_card": (81.9, 81.9, 81.9), "pendigits": (56.8, 69.2, 83.8),
    "letter": (34.6, 53.1, 65.5), "german_credit": (70.0, 70.2, 71.3),
    "spambase": (82.8, 86.9, 90.4), "breast_cancer_wisconsin": (88.7, 90.8, 96.8),
}  # fmt: skip
"""The best of several early sketches at epsilon 0.1, 0.25 and 1: what the flagship should reach."""

METRICS = {"accuracy": "spread", "auc": "auc_spread", "log_loss": "log_loss_spread"}
"""What is measured, each with the field that holds its standard deviation over folds."""

common.RESULT_FIELDS = (*METRICS, *METRICS.values())

# -- fits --------------------------------------------------------------------------------------


def score(job: dict[str, Any]) -> dict[str, Any]:
    """One run of 10 folds: means, and standard deviations over the folds."""
    from sklearn.metrics import log_loss, roc_auc_score

    X, y, domain = common.load(job["set"])
    accuracies, aucs, losses = [], [], []
    for train, test in common.folds(y, int(job["repeat"])):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = learner_of(job, domain)
            model.fit(X.iloc[train], y.iloc[train])
            proba = model.predict_proba(X.iloc[test])
        truth = y.iloc[test].to_numpy()
        accuracies.append(np.mean(model.predict(X.iloc[test]) == truth))
        losses.append(log_loss(truth, np.clip(proba, 1e-9, 1), labels=model.classes_))
        if len(model.classes_) == 2:
            aucs.append(roc_auc_score(truth == model.classes_[1], proba[:, 1]))
    found = {}
    for (metric, spread), values in zip(METRICS.items(), (accuracies, aucs, losses), strict=True):
        found[metric] = round(float(np.mean(values)), 6) if values else ""
        found[spread] = round(float(np.std(values, ddof=1)), 6) if values else ""
    return found


def learner_of(job: dict[str, Any], domain: Any) -> Any:
    if job["learner"] != BOOSTING:
        kind = learners.BY_NAME[job["learner"]]
        return kind(domain, epsilon=job["epsilon"], delta=job["delta"], n_jobs=1)
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    words = [a.name for a in domain.attributes if isinstance(a, Categorical)]
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    columns = make_column_transformer(
        (encoder, words), remainder="passthrough", verbose_feature_names_out=False
    )
    few = [len(words) <= 255 and a.size < 255 for a in domain.attributes if a.name in words]
    mask = [*few, *[False] * (len(domain.attributes) - len(words))]
    return make_pipeline(
        columns, HistGradientBoostingClassifier(categorical_features=mask, early_stopping=False)
    )


def job_of(name: str, learner: str, epsilon: str, delta: str, repeat: int) -> dict[str, Any]:
    return {
        "set": name, "learner": learner, "epsilon": epsilon, "delta": delta, "repeat": repeat
    }  # fmt: skip


def _measured(
    path: Path, cells: list[tuple[str, str, str]], resume: bool
) -> dict[tuple[str, str, str], int]:
    """How often an earlier run measured the flagship in each cell."""
    found = dict.fromkeys(cells, 0)
    if resume and path.is_file():
        rows = pd.read_csv(path, dtype=str)
        for row in rows[rows.learner == FLAGSHIP].itertuples():
            cell = (row.set, f"{float(row.epsilon):g}", f"{float(row.delta):g}")
            if cell in found:
                found[cell] += 1
    return found


def measure(names: list[str], options: argparse.Namespace) -> pd.DataFrame:
    """The flagship in rounds, until its cells are sharp; then the others, once."""
    path, resume = options.out / "accuracy.csv", not options.fresh
    cells = [(n, e, d) for n in names for e in EPSILONS for d in ("0", DELTA)]
    limit = [job_of(n, o, "inf", "0", 0) for o in (FLAGSHIP, BOOSTING) for n in names]
    small = sorted(names, key=common.cost)  # an interrupted run has whole sets
    others = [job_of(n, o, e, "0", 0) for n in small for o in OTHERS for e in EPSILONS]
    repeats = {c: max(1, k) for c, k in _measured(path, cells, resume).items()}
    most = 2 if options.quick else MOST_REPEATS
    while True:
        jobs = [job_of(n, FLAGSHIP, e, d, r) for (n, e, d), k in repeats.items() for r in range(k)]
        rows = common.run_jobs(jobs, score, path, resume)
        resume = True
        sharp = (
            cells_of(rows).set_index(["set", "epsilon", "delta"]).accuracy_error <= STANDARD_ERROR
        )
        blunt = [c for c in cells if not sharp[c] and repeats[c] < most]
        if not blunt:
            break
        repeats |= {c: min(most, 2 * repeats[c]) for c in blunt}
    rows = common.run_jobs([*jobs, *limit], score, path, resume=True)
    if options.flagship:
        return rows
    return common.run_jobs([*jobs, *limit, *others], score, path, resume=True)


# -- reading -----------------------------------------------------------------------------------


def cells_of(rows: pd.DataFrame) -> pd.DataFrame:
    """One row for each set, learner, epsilon and delta: means, and standard errors over all fits."""
    rows = rows.assign(
        **{amount: [f"{float(v):g}" for v in rows[amount]] for amount in ("epsilon", "delta")}
    )
    for field in (*METRICS, *METRICS.values()):
        rows[field] = pd.to_numeric(rows[field]) if field in rows else np.nan
    groups = rows.groupby(["set", "learner", "epsilon", "delta"], sort=False)
    cells = groups[list(METRICS)].mean()
    cells["fits"] = common.FOLDS * groups.size()
    for metric, spread in METRICS.items():
        variance = groups[spread].apply(lambda s: np.mean(s**2)) / cells.fits
        between = groups[metric].var(ddof=1) / groups.size()  # of runs that kept no spread of folds
        cells[f"{metric}_error"] = np.sqrt(variance.fillna(between))
    return cells.reset_index()


@dataclass(frozen=True)
class Board:
    """What was measured of us, beside what was measured of the peers."""

    ours: pd.DataFrame
    peers: pd.DataFrame

    @classmethod
    def read(cls, rows: pd.DataFrame) -> Board:
        peers = pd.read_csv(Path(__file__).parent / "peers_accuracy.csv")
        peers["epsilon"] = peers.eps.map(lambda e: f"{e:g}")
        return cls(cells_of(rows), peers[peers.learner.isin(PEERS)])

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys(self.ours.set))

    @property
    def compared(self) -> list[str]:
        return [n for n in self.names if n in set(self.peers.dataset)]

    def our(self, name: str, epsilon: str, delta: str, learner: str = FLAGSHIP) -> pd.Series | None:
        o = self.ours
        found = o[(o.set == name) & (o.learner == learner) & (o.epsilon == epsilon)]
        found = found[found.delta == delta]
        return None if found.empty else found.iloc[0]

    def best_peer(self, name: str, epsilon: str, by: str = "acc_mean") -> pd.Series | None:
        p = self.peers[(self.peers.dataset == name) & (self.peers.epsilon == epsilon)]
        p = p.dropna(subset=[by])
        return None if p.empty else p.loc[p[by].idxmax()]

    def reaches(self, name: str, ours: str, theirs: str, delta: str | None) -> bool | None:
        """Whether our accuracy is at least the best peer's, within one standard error of both.

        Without a delta, ours is 1e-6 where the best peer has one.
        """
        peer = self.best_peer(name, theirs)
        if peer is None:
            return None
        rule = delta if delta is not None else DELTA if peer.delta > 0 else "0"
        mine = self.our(name, ours, rule)
        if mine is None:
            return None
        error = np.hypot(mine.accuracy_error, peer.acc_std / np.sqrt(peer.folds))
        return bool(mine.accuracy >= peer.acc_mean - error)

    def share(self, pairs: dict[str, str], names: list[str], delta: str | None) -> str:
        cells = [self.reaches(n, a, b, delta) for n in names for a, b in pairs.items()]
        known = [c for c in cells if c is not None]
        return f"{100 * np.mean(known):.0f}% of {len(known)}" if known else "none"


def majority(name: str) -> float:
    return common.majority_accuracy(name, 1)


# -- words -------------------------------------------------------------------------------------

HEAD = """# Accuracy at every budget

Stratified 10-fold cross-validation; accuracies in percent. The flagship is `ForestClassifier`, without
any parameter but its budget. A peer is a private tree learner that can be installed: diffprivlib's
forest and tree, interpret's DP-EBM, PrivaTree, dp-xgboost, Smooth Random Trees, each in the better of
the settings tried (`benchmarks/peers_accuracy.csv`). "At least" is within one standard error of the
difference, from the spread of folds and repeats. Tuned sets are those that any choice of ours was made
on; the others were only checked.

Made by `make accuracy`; every run is in `accuracy.csv`.
"""


def report(board: Board, out: Path) -> None:
    parts = [HEAD, shares(board), grid(board), floors(board), aucs(board), losses(board)]
    parts.append(limits(board))
    (out / "accuracy.md").write_text("\n".join(parts), encoding="utf-8")
    print(f"wrote {out / 'accuracy.md'}")
    plot(board, out / "accuracy.png")


def shares(board: Board) -> str:
    same = {e: e for e in EPSILONS}
    rows = []
    for words, delta in (
        ("delta 0, 1e-6 where the best peer has one", None),
        ("delta 0 everywhere", "0"),
        ("delta 1e-6 everywhere", DELTA),
    ):
        for kind, names in (("all", None), ("tuned", TUNED), ("checked", CHECKED)):
            chosen = [n for n in board.compared if names is None or n in names]
            row = [board.share(p, chosen, delta) for p in (same, LARGER, TENFOLD)]
            rows.append([f"{words}: {kind}", *row])
    head = ["cells at least the best peer's", "same epsilon", "4 to 5 times ours", "10 times ours"]
    return "## Against the best peer\n\n" + common.markdown_table(head, rows)


def grid(board: Board) -> str:
    rows = []
    for name in board.names:
        mark = "" if name in TUNED else " (checked)"
        ours, pure, peer = [], [], []
        for e in EPSILONS:
            a, b, p = board.our(name, e, "0"), board.our(name, e, DELTA), board.best_peer(name, e)
            ours.append(
                "" if a is None else f"{100 * a.accuracy:.1f} ± {100 * a.accuracy_error:.1f}"
            )
            pure.append(
                "" if b is None else f"{100 * b.accuracy:.1f} ± {100 * b.accuracy_error:.1f}"
            )
            peer.append("" if p is None else f"{100 * p.acc_mean:.1f} {p.learner}")
        rows += [[f"{name}{mark}, delta 0", *ours], [f"{name}, delta 1e-6", *pure]]
        rows += [[f"{name}, best peer", *peer]] if any(peer) else []
        rows += _others(board, name)
        rows.append([f"{name}, majority label", *[f"{100 * majority(name):.1f}"] * len(EPSILONS)])
    return "## Every cell\n\n" + common.markdown_table(["epsilon", *EPSILONS], rows)


def _others(board: Board, name: str) -> list[list[str]]:
    """The best other learner of ours in each cell."""
    o = board.ours[(board.ours.set == name) & board.ours.learner.isin(OTHERS)]
    if o.empty:
        return []
    cells = [o[o.epsilon == e].sort_values("accuracy") for e in EPSILONS]
    best = [
        "" if c.empty else f"{100 * c.accuracy.iloc[-1]:.1f} {c.learner.iloc[-1]}" for c in cells
    ]
    return [[f"{name}, best other of ours", *best]]


def floors(board: Board) -> str:
    rows, met, under = [], [], []
    for name, least in FLOORS.items():
        cells = [board.our(name, e, "0") for e in ("0.1", "0.25", "1")]
        if any(c is None for c in cells):
            continue
        gaps = [100 * c.accuracy - f for c, f in zip(cells, least, strict=True)]
        met += [g >= -0.3 for g in gaps]
        rows.append([name, *(f"{f:.1f} {g:+.1f}" for f, g in zip(least, gaps, strict=True))])
    for name in board.names:
        for e in EPSILONS:
            for delta in ("0", DELTA):
                cell = board.our(name, e, delta)
                if cell is not None and cell.accuracy < majority(name) - 0.005:
                    gap = 100 * (cell.accuracy - majority(name))
                    under.append(f"{name} at {e}, delta {delta}: {gap:+.1f}")
    words = f"Within 0.3 points in {sum(met)} of {len(met)} cells.\n\n" + common.markdown_table(
        ["floor and what we add to it", "0.1", "0.25", "1"], rows
    )
    listed = "; ".join(under) or "none"
    return f"## Floors\n\n{words}\nMore than 0.5 points under the majority label: {listed}.\n"


def aucs(board: Board) -> str:
    """Cells of binary sets in which our AUC is at least the best peer's."""
    found, rows = [], []
    for name in board.compared:
        row = [name]
        for e in EPSILONS:
            peer = board.best_peer(name, e, "auc_mean")
            if peer is None:
                break
            mine = board.our(name, e, DELTA if peer.delta > 0 else "0")
            if mine is None or np.isnan(mine.auc):
                break
            found.append(mine.auc >= peer.auc_mean)
            row.append(f"{100 * mine.auc:.1f} / {100 * peer.auc_mean:.1f}")
        rows += [row] if len(row) > 1 else []
    share = f"{100 * np.mean(found):.0f}% of {len(found)}" if found else "no"
    table = common.markdown_table(["ours / best peer's", *EPSILONS], rows)
    return f"## AUC\n\nAt least the best peer's in {share} cells.\n\n{table}"


def losses(board: Board) -> str:
    """Where log loss does not beat that of the label frequencies."""
    worse = []
    for name in board.names:
        y = common.load(name)[1]
        shares = y.value_counts(normalize=True).to_numpy()
        base = float(-(shares * np.log(shares)).sum())
        for e in EPSILONS:
            cell = board.our(name, e, "0")
            if cell is not None and cell.log_loss > base:
                worse.append(f"{name} at {e} ({cell.log_loss:.3f}, not {base:.3f})")
    return f"## Log loss\n\nAbove that of the label frequencies: {'; '.join(worse) or 'nowhere'}.\n"


def limits(board: Board) -> str:
    """Without noise, beside gradient boosting."""
    rows = []
    for name in board.names:
        mine = board.our(name, "inf", "0")
        theirs = board.our(name, "inf", "0", BOOSTING)
        if mine is not None and theirs is not None:
            gap = 100 * (theirs.accuracy - mine.accuracy)
            rows.append(
                [name, f"{100 * mine.accuracy:.1f}", f"{100 * theirs.accuracy:.1f}", f"{gap:+.1f}"]
            )
    head = ["epsilon = inf", "ours", "HistGradientBoosting", "gap"]
    return f"## The limit without noise\n\n{common.markdown_table(head, rows)}\n{LIMIT_WORDS}"


LIMIT_WORDS = """Both without tuning; gradient boosting makes 100 trees a label. Gaps over 3 points have two
reasons. On krkopt and connect4, positions on a board, a label depends on many attributes together: more
than questions that are chosen one at a time, by sums over one attribute, lead to. On magic, electricity,
letter and covertype_first20k it depends on numbers more finely than some forty public cuts tell; gradient
boosting cuts where the records are, which a private learner would have to pay for.
"""


def plot(board: Board, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names, columns = board.names, 4
    figure, axes = plt.subplots(
        -(-len(names) // columns), columns, squeeze=False, layout="constrained",
        figsize=(4 * columns, 2.9 * -(-len(names) // columns)),
    )  # fmt: skip
    for axis in axes.flat:
        axis.set_visible(False)
    for axis, name in zip(axes.flat, names, strict=False):
        axis.set_visible(True)
        axis.set_xscale("log")
        x = [float(e) for e in EPSILONS]
        for delta, style, words in (("0", "-", "frith"), (DELTA, "--", "frith, delta 1e-6")):
            cells = [board.our(name, e, delta) for e in EPSILONS]
            y = [np.nan if c is None else 100 * c.accuracy for c in cells]
            axis.plot(x, y, style, color=common.LINE, label=words)
        peers = [board.best_peer(name, e) for e in EPSILONS]
        if any(p is not None for p in peers):
            y = [np.nan if p is None else 100 * p.acc_mean for p in peers]
            axis.plot(x, y, ":", color=common.GUIDE, marker=".", label="best peer")
        axis.axhline(100 * majority(name), color="#bbbbbb", linewidth=0.8)
        axis.set_title(name, loc="left", fontsize=10, fontweight="bold")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0][0].legend(fontsize=7)
    common.save(figure, path)
    plt.close(figure)


def main() -> None:
    for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(threads, "1")  # a process a core: more threads would only wait
    more = common.FRESH | {
        "--flagship": common.flag("without our other learners"),
        "--report": common.flag("only write what was measured"),
        "--only": {"help": "sets, with commas between"},
    }
    options = common.parse_options("Accuracy against the peers.", more)
    wanted = options.only.split(",") if options.only else QUICK if options.quick else None
    names = common.loadable(list(wanted or (*TUNED, *CHECKED)))
    if options.report:
        rows = pd.read_csv(options.out / "accuracy.csv", keep_default_na=False)
    else:
        rows = measure(names, options)
    report(Board.read(rows), options.out)


if __name__ == "__main__":
    main()
