"""One table in every form that an engine can open."""

from __future__ import annotations

import contextlib
import itertools
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

from frith.engines import FileEngine, MemoryEngine
from tests import twins


def arrow(table):
    """{column: cells} as an Arrow table with the types that the cells have."""
    return pa.table({name: pa.array(cells) for name, cells in table.items()})


def objects(cells):
    column = np.empty(len(cells), dtype=object)
    column[:] = cells
    return column


def frame(table):
    return pd.DataFrame({name: pd.Series(cells) for name, cells in table.items()})


def spelled(table):
    """Every cell as text, as a file of another writer may hold it."""
    return {name: [twins.text_of(c) for c in cells] for name, cells in table.items()}


def texts(table):
    """An Arrow table of nothing but text."""
    return pa.table({k: pa.array(v, pa.string()) for k, v in spelled(table).items()})


def coded(table):
    """An Arrow table of nothing but dictionaries."""
    return pa.table({k: texts(table)[k].dictionary_encode() for k in table})


def csv(table, quote=True):
    """The bytes of a CSV file; a missing cell is an empty one."""
    rows = [list(table), *zip(*spelled(table).values(), strict=True)]
    return b"".join(b",".join(_csv_cell(c, quote) for c in row) + b"\n" for row in rows)


def _csv_cell(text, quote):
    if text is None:
        return b""
    return ('"' + text.replace('"', '""') + '"').encode() if quote else text.encode()


def write(table, path):
    """Write {column: cells} or an Arrow table in the format of the path's suffix."""
    data = table if isinstance(table, pa.Table) else arrow(table)
    if path.suffix == ".parquet":
        pq.write_table(data, path, row_group_size=5)
    elif path.suffix == ".feather":
        pyarrow.feather.write_feather(data, str(path), chunksize=5)
    else:
        path.write_bytes(csv(table))
    return path


def cut(table, *places):
    """The table in parts."""
    rows = len(next(iter(table.values())))
    ends = [0, *(p * rows // 4 for p in places), rows]
    return [{k: v[a:b] for k, v in table.items()} for a, b in itertools.pairwise(ends)]


# -- engines: a context manager of (table, domain, threads, rows) each -------------------------------


@contextlib.contextmanager
def from_frame(table, domain, **kwargs):
    yield MemoryEngine(frame(table), domain, **kwargs)


@contextlib.contextmanager
def from_objects(table, domain, **kwargs):
    columns = {name: objects(cells) for name, cells in table.items()}
    yield MemoryEngine(pd.DataFrame(columns, dtype=object), domain, **kwargs)


@contextlib.contextmanager
def from_arrow(table, domain, **kwargs):
    """In chunks, an empty one among them."""
    whole = arrow(table)
    parts = [whole.slice(0, 2), whole.slice(0, 0), whole.slice(2)]
    yield MemoryEngine(pa.concat_tables(parts), domain, **kwargs)


@contextlib.contextmanager
def from_array(table, domain, **kwargs):
    """An array has no names: attributes in the domain's order, and the labels beside them."""
    columns = [objects(table[name]) for name in domain.names]
    yield MemoryEngine(
        np.column_stack(columns), domain, objects(table[domain.label.name]), **kwargs
    )


def _from_one_file(suffix):
    @contextlib.contextmanager
    def opened(table, domain, **kwargs):
        with tempfile.TemporaryDirectory() as folder:
            path = write(table, Path(folder) / f"table{suffix}")
            yield FileEngine(path, domain, newlines_in_cells=True, **kwargs)

    return opened


def _from_folder(suffix):
    """Files of one folder that differ in their types: as they are, texts, and dictionaries."""

    @contextlib.contextmanager
    def opened(table, domain, **kwargs):
        first, second, third = cut(table, 1, 2)
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "deep" / "down").mkdir(parents=True)
            write(first, Path(folder) / f"a{suffix}")
            write(texts(second), Path(folder) / f"b{suffix}")
            write(coded(third), Path(folder) / "deep" / "down" / f"c{suffix}")
            yield FileEngine(folder, domain, **kwargs)

    return opened


@contextlib.contextmanager
def from_pattern(table, domain, **kwargs):
    with tempfile.TemporaryDirectory() as folder:
        for i, part in enumerate(cut(table, 1, 1, 2)):
            write(part, Path(folder) / f"part-{i}.csv")
        write({"other": [1]}, Path(folder) / "not-this.csv")
        yield FileEngine(f"{folder}/part-*.csv", domain, newlines_in_cells=True, **kwargs)


ENGINES = {
    "frame": from_frame,
    "objects": from_objects,
    "arrow": from_arrow,
    "array": from_array,
    "parquet": _from_one_file(".parquet"),
    "feather": _from_one_file(".feather"),
    "csv": _from_one_file(".csv"),
    "folder of parquet": _from_folder(".parquet"),
    "folder of feather": _from_folder(".feather"),
    "pattern of csv": from_pattern,
}
WITH_NAMES = {name: engine for name, engine in ENGINES.items() if name != "array"}
