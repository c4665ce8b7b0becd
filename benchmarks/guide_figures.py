"""The guide's two pictures and the README's, from what `make accuracy` and `make compare` measured.

    python benchmarks/guide_figures.py [--results FILE] [--peers FILE] [--out FOLDER] [--losses]

which_learner.svg: a need, the learner for it, and how far it is from the flagship at each epsilon.
beside_peers.svg: accuracy against epsilon, beside the private learners that one can install.
what_epsilon_costs.svg: how many points the flagship loses to noise. Learners and budgets that were
not measured yet are left blank and named. `--losses` prints the flagship's losses by records times
epsilon, for the tables that can be loaded.
"""

from __future__ import annotations

import argparse
from html import escape
from pathlib import Path

import numpy as np
import pandas as pd

RESULTS = Path(__file__).parents[1] / "docs" / "results"
EPSILONS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0)
FLAGSHIP = "forest"
NEEDS = {
    "forest": ("accuracy, and nothing to tune", "ForestClassifier"),
    "random-decision": (
        "one pass, batches that arrive later",
        "RandomDecisionForestClassifier",
    ),
    "signal": ("random trees that tune themselves", "SignalForestClassifier"),
    "gini": ("rules with counts at every node", "GiniForestClassifier"),
    "id3": ("one small tree to read", "ID3Classifier"),
    "c45": ("one tree, a budget you set level by level", "C45Classifier"),
    "info-gain": ("a few greedy trees by information gain", "InfoGainForestClassifier"),
}
_INK, _DIM, _LINE, _GREEN, _BLANK = "#1d2a22", "#64706a", "#d9d8cd", (35, 105, 74), "#f4f3ee"


def read(path: Path) -> pd.DataFrame:
    """Mean accuracy, in percent, of each table, learner and epsilon, without a delta."""
    rows = pd.read_csv(path)
    rows = rows[rows.delta == 0]
    return 100 * rows.groupby(["learner", "epsilon", "set"]).accuracy.mean()


def of(cells: pd.Series, learner: str, epsilon: float) -> pd.Series:
    """The accuracies of one learner at one epsilon, by table."""
    try:
        return cells.loc[learner, epsilon]
    except KeyError:
        return pd.Series(dtype=float)


def missing(cells: pd.Series) -> list[str]:
    """What has not been measured, in words."""
    tables = {e: set(of(cells, FLAGSHIP, e).index) for e in EPSILONS}
    said = []
    for learner in NEEDS:
        lacks = {e: len(tables[e] - set(of(cells, learner, e).index)) for e in EPSILONS}
        if all(of(cells, learner, e).empty for e in EPSILONS):
            said.append(f"{learner}: nothing measured")
        elif any(lacks.values()):
            words = ", ".join(f"{n} tables at {e:g}" for e, n in lacks.items() if n)
            said.append(f"{learner}: {words}")
    if of(cells, FLAGSHIP, np.inf).empty:
        said.append(f"{FLAGSHIP}: its limit without noise")
    return said


def losses(cells: pd.Series) -> list[str]:
    """Median and largest loss to noise, by records times epsilon."""
    from frith import datasets

    limit, rows = of(cells, FLAGSHIP, np.inf), []
    for name in [n for n in limit.index if n in datasets.names()]:
        domain = datasets.load(name)[2]
        kind = "two labels" if domain.n_labels == 2 else "more labels"
        for e in EPSILONS:
            size = 10 ** int(np.log10((domain.records or 1) * e))
            lost = limit[name] - of(cells, FLAGSHIP, e).get(name, np.nan)
            rows.append((kind, min(10_000, max(10, size)), lost))
    table = pd.DataFrame(rows, columns=["labels", "from", "lost"]).dropna()
    found = table.groupby(["labels", "from"]).lost.agg(["count", "median", "max"])
    return [
        f"{kind}, records x epsilon from {size:,}: {row['count']:.0f} cells, "
        f"median loss {row['median']:.1f}, largest {row['max']:.1f}"
        for (kind, size), row in found.iterrows()
    ]


# -- drawing -----------------------------------------------------------------------------------


def text(x: float, y: float, words: str, **style: str) -> str:
    given = {"fill": _INK, "font-size": "13"} | {k.replace("_", "-"): v for k, v in style.items()}
    return f'<text x="{x:g}" y="{y:g}" {_attributes(given)}>{escape(words)}</text>'


def rect(x: float, y: float, w: float, h: float, fill: str, **style: str) -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" fill="{fill}" {_attributes(style)}/>'


def path(points: list[tuple[float, float]], stroke: str, width: float, **style: str) -> str:
    line = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    more = _attributes(style)
    return f'<path d="{line}" fill="none" stroke="{stroke}" stroke-width="{width:g}" {more}/>'


def picture(width: float, height: float, title: str, parts: list[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" '
        f'font-family="system-ui, sans-serif"><title>{escape(title)}</title>\n'
        + rect(0, 0, width, height, "#fffefa")
        + "\n"
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _attributes(style: dict[str, str]) -> str:
    return " ".join(f'{name}="{escape(value)}"' for name, value in style.items())


def which_learner(cells: pd.Series) -> str:
    """A row a learner: the need, its name, and its cells."""
    left, top, row, cell = 560, 74, 40, 72
    width, height = left + cell * len(EPSILONS) + 16, top + row * len(NEEDS) + 58
    parts = [
        text(16, 28, "You need", font_weight="600"),
        text(312, 28, "so take", font_weight="600"),
        text(left, 28, "Points against ForestClassifier, at each epsilon", font_weight="600"),
    ]
    parts += [
        text(left + cell * (i + 0.5), 58, f"at {e:g}", text_anchor="middle", font_size="12")
        for i, e in enumerate(EPSILONS)
    ]
    for place, (learner, (need, name)) in enumerate(NEEDS.items()):
        y = top + row * place
        parts.append(path([(16, y), (width - 16, y)], _LINE, 1))
        parts.append(text(16, y + 25, need))
        parts.append(path([(284, y + 20), (300, y + 20)], _DIM, 1.5))
        parts.append(path([(295, y + 15), (300, y + 20), (295, y + 25)], _DIM, 1.5))
        parts.append(text(312, y + 25, name, font_weight="600"))
        parts += [
            _cell(cells, learner, e, left + cell * i, y, cell, row) for i, e in enumerate(EPSILONS)
        ]
    tables = len(of(cells, FLAGSHIP, 1.0))
    y = top + row * len(NEEDS) + 24
    parts.append(
        text(
            16, y, f"Means over the tables that both were measured on, {tables} at most; the first row "
            "is its own mean accuracy in percent.", fill=_DIM, font_size="12",
        )
    )  # fmt: skip
    parts.append(
        text(16, y + 18, "Blank: not measured yet. Small: on so many tables.", fill=_DIM, font_size="12")
    )  # fmt: skip
    return picture(width, height, "Which learner when", parts)


def _cell(
    cells: pd.Series, learner: str, epsilon: float, x: float, y: float, w: float, h: float
) -> str:
    mine, flagship = of(cells, learner, epsilon), of(cells, FLAGSHIP, epsilon)
    both = mine.index.intersection(flagship.index)
    box = (x + 2, y + 3, w - 4, h - 6)
    if both.empty:
        return rect(*box, _BLANK)
    gap = float((mine[both] - flagship[both]).mean())
    words = f"{flagship.mean():.1f}%" if learner == FLAGSHIP else f"{gap:+.1f}"
    strength = max(0.0, min(1.0, 1 + gap / 20))  # 20 points behind is white
    color = "#" + "".join(f"{round(255 - strength * (255 - c) * 0.55):02x}" for c in _GREEN)
    said = [text(x + w / 2, y + 25, words, text_anchor="middle")]
    if len(both) < len(flagship):
        said.append(
            text(x + w - 6, y + 34, f"{len(both)}", text_anchor="end", fill=_DIM, font_size="9")
        )
    return rect(*box, color) + "".join(said)


def what_epsilon_costs(cells: pd.Series) -> str:
    """Points that the flagship loses to noise: a line a table, and the middle of all."""
    width, height, left, right, top, bottom = 760, 420, 64, 24, 56, 56
    limit = of(cells, FLAGSHIP, np.inf)
    lost = pd.DataFrame({e: limit - of(cells, FLAGSHIP, e) for e in EPSILONS}).dropna()
    parts = [text(16, 28, "What privacy costs ForestClassifier", font_weight="600", font_size="15")]
    if lost.empty:
        parts.append(text(16, 60, "not measured yet", fill=_DIM))
        return picture(width, height, "What epsilon costs", parts)
    most = 10 * np.ceil(np.nanmax(lost.to_numpy()) / 10)
    least = min(0.0, 5 * np.floor(np.nanmin(lost.to_numpy()) / 5))
    place = np.log(np.array(EPSILONS))
    xs = left + (width - left - right) * (place - place[0]) / (place[-1] - place[0])

    def y_of(points: float) -> float:
        return top + (height - top - bottom) * (points - least) / (most - least)

    for tick in np.arange(np.ceil(least / 10) * 10, most + 1, 10):
        parts.append(path([(left, y_of(tick)), (width - right, y_of(tick))], _LINE, 1))
        said = "no loss" if tick == 0 else f"-{tick:.0f}"
        parts.append(text(left - 8, y_of(tick) + 4, said, text_anchor="end", font_size="12"))
    for row in lost.to_numpy():
        points = [(x, y_of(v)) for x, v in zip(xs, row, strict=True)]
        parts.append(path(points, "#9fb8ab", 1))
    middle = lost.median()
    points = [(x, y_of(v)) for x, v in zip(xs, middle, strict=True)]
    parts.append(path(points, "#23694a", 3))
    for (x, y), v in zip(points, middle, strict=True):
        parts.append(text(x, y + 20, f"{-v:.1f}", text_anchor="middle", font_size="13",
                          font_weight="600", fill="#174d36", stroke="#fffefa", stroke_width="4",
                          paint_order="stroke"))  # fmt: skip
    for x, e in zip(xs, EPSILONS, strict=True):
        parts.append(text(x, height - 32, f"{e:g}", text_anchor="middle", font_size="12"))
    words = (
        f"epsilon. Points of accuracy under the same learner without noise; a line each for "
        f"{len(lost)} tables, the bold one is their median."
    )
    parts.append(text(16, height - 10, words, fill=_DIM, font_size="12"))
    return picture(width, height, "What epsilon costs", parts)


PEERS = {
    "ForestClassifier": ("#23694a", 3.5),
    "DP-EBM": ("#b5651d", 2),
    "diffprivlib forest": ("#7a6fa8", 2),
}


def beside_peers(cells: pd.Series, peers: pd.DataFrame) -> str:
    """Mean accuracy over the tables that all of them were measured on, and without privacy."""
    width, height, left, right, top, bottom = 780, 380, 56, 196, 60, 56
    means = 100 * peers.groupby(["learner", "epsilon", "set"]).accuracy.mean()
    limit = of(means, "scikit-learn forest", np.inf)
    lines = {n: {e: of(means, n, e) for e in EPSILONS} for n in PEERS if n != "ForestClassifier"}
    lines = {"ForestClassifier": {e: of(cells, FLAGSHIP, e) for e in EPSILONS}} | lines
    measured = [set(found.index) for line in lines.values() for found in line.values()]
    tables = sorted(set.intersection(set(limit.index), *measured))
    title = f"Accuracy against epsilon, mean of {len(tables)} tables"
    parts = [text(16, 28, title, font_weight="600", font_size="15")]
    if not tables:
        parts.append(text(16, 60, "not measured yet", fill=_DIM))
        return picture(width, height, title, parts)
    known = {n: [line[e][tables].mean() for e in EPSILONS] for n, line in lines.items()}
    exact = float(limit[tables].mean())
    lowest = 5 * np.floor(min(map(min, known.values())) / 5)
    place = np.log(np.array(EPSILONS))
    xs = left + (width - left - right) * (place - place[0]) / (place[-1] - place[0])

    def y_of(percent: float) -> float:
        return height - bottom - (height - top - bottom) * (percent - lowest) / (95 - lowest)

    for tick in np.arange(lowest, 96, 5):
        parts.append(path([(left, y_of(tick)), (width - right, y_of(tick))], _LINE, 1))
        parts.append(
            text(left - 8, y_of(tick) + 4, f"{tick:.0f}%", text_anchor="end", font_size="12")
        )
    parts.append(
        path(
            [(left, y_of(exact)), (width - right, y_of(exact))],
            _DIM,
            1.5,
            **{"stroke-dasharray": "5 4"},
        )
    )
    parts.append(text(width - right + 10, y_of(exact) + 4, f"no privacy {exact:.1f}", fill=_DIM))
    for name, percents in known.items():
        color, thick = PEERS[name]
        points = [(x, y_of(p)) for x, p in zip(xs, percents, strict=True)]
        parts.append(path(points, color, thick))
        said = f"{name} {percents[-1]:.1f}"
        parts.append(
            text(width - right + 10, points[-1][1] + 4, said, fill=color, font_weight="600")
        )
    for x, e in zip(xs, EPSILONS, strict=True):
        parts.append(text(x, height - 32, f"{e:g}", text_anchor="middle", font_size="12"))
    words = (
        "epsilon: less is more private. Dashed: a scikit-learn forest without any privacy. "
        "DP-EBM has a delta of 1e-6, the others none."
    )
    parts.append(text(16, height - 10, words, fill=_DIM, font_size="12"))
    return picture(width, height, title, parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=RESULTS / "accuracy.csv")
    parser.add_argument("--peers", type=Path, default=RESULTS / "peers.csv")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--losses", action="store_true")
    options = parser.parse_args()
    cells = read(options.results)
    for name, draw in (
        ("which_learner", which_learner),
        ("what_epsilon_costs", what_epsilon_costs),
    ):
        (options.out / f"{name}.svg").write_text(draw(cells), encoding="utf-8")
    drawn = beside_peers(cells, pd.read_csv(options.peers))
    (options.out / "beside_peers.svg").write_text(drawn, encoding="utf-8")
    for words in missing(cells):
        print(f"not measured yet: {words}")
    for words in losses(cells) if options.losses else ():
        print(words)


if __name__ == "__main__":
    main()
