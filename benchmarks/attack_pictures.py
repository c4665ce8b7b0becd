"""Pictures of the attack scoreboard: one panel a table, a line a forest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from attack_sizes import EPSILONS, FLAGSHIP, GREEDY, PEER, RANDOM, SKLEARN

PUBLISHED = {
    "adult": {"0.1": 0.291, "1": 0.199, "10": 0.100, "random": 0.254},
    "compas": {"0.1": 0.274, "1": 0.132, "10": 0.045, "random": 0.208},
    "credit": {"0.1": 0.312, "1": 0.239, "10": 0.141, "random": 0.264},
}
"""Errors that the paper reports for its own forests of ten trees of depth 5, 100 records."""
SHOWN = (FLAGSHIP, RANDOM, GREEDY, PEER)


def _panels(names: list[str]) -> Any:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        1, len(names), figsize=(4.3 * len(names), 3.6), squeeze=False, sharey=True
    )
    for axis, name in zip(axes[0], names, strict=True):
        axis.set_title(name, loc="left")
        axis.set_xscale("log")
        axis.set_xlabel("epsilon")
        axis.spines[["top", "right"]].set_visible(False)
    return figure, axes[0]


def _lines(axis: Any, rows: pd.DataFrame, systems: tuple[str, ...], column: str) -> None:
    for system in systems:
        of = rows[(rows.system == system) & rows.epsilon.isin(EPSILONS)]
        mean = of.assign(at=of.epsilon.astype(float)).groupby("at")[column].mean()
        if len(mean):
            axis.plot(mean.index, mean, marker="o", markersize=3, label=system)


def draw_reconstruction(rows: pd.DataFrame, path: Path) -> None:
    names = list(dict.fromkeys(rows.table))
    figure, axes = _panels(names)
    for axis, name in zip(axes, names, strict=True):
        of = rows[rows.table == name]
        _lines(axis, of, SHOWN, "error")
        known = {float(e): v for e, v in PUBLISHED[name].items() if e != "random"}
        axis.plot(
            list(known), list(known.values()), linestyle=":", color="black", label="published"
        )
        axis.axhline(of.random.mean(), color="gray", linestyle="--", label="random guess")
        axis.axhline(of.fresh.mean(), color="gray", linestyle="-.", label="100 others")
    axes[0].set_ylabel("share of wrong attributes")
    _save(figure, axes, path)


def draw_membership(rows: pd.DataFrame, path: Path) -> None:
    names = list(dict.fromkeys(rows.table))
    figure, axes = _panels(names)
    for axis, name in zip(axes, names, strict=True):
        of = rows[rows.table == name]
        _lines(axis, of, (FLAGSHIP, RANDOM, PEER), "lira_auc")
        plain = of[of.system == SKLEARN]
        if len(plain):
            axis.axhline(plain.lira_auc.mean(), color="gray", linestyle="--", label=SKLEARN)
        axis.axhline(0.5, color="black", linewidth=0.6)
    axes[0].set_ylabel("AUC of LiRA")
    _save(figure, axes, path)


def _save(figure: Any, axes: Any, path: Path) -> None:
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=4, frameon=False, fontsize=8)
    figure.subplots_adjust(bottom=0.3, left=0.06, right=0.99, top=0.92, wspace=0.08)
    figure.savefig(path, dpi=110)
