"""Run the notebooks of the gallery and keep what they show.

    python benchmarks/gallery.py [NAME ...]

Each runs in a kernel of its own and in an empty folder; its outputs go into the notebook, which the site
shows. Their tables are public or made up: outputs of private records have no place there.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient

GALLERY = Path(__file__).resolve().parents[1] / "docs" / "gallery"
_SECONDS = 600  # for one cell


def run(path: Path, folder: str | Path) -> nbformat.NotebookNode:
    """The notebook with the outputs of a run in `folder`; raises where a cell does."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=_SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute()
    return notebook


def tidy(notebook: nbformat.NotebookNode) -> None:
    """Leave out what changes from run to run and tells nothing: times, and the version of Python."""
    notebook.metadata = nbformat.from_dict(
        {k: v for k, v in notebook.metadata.items() if k == "kernelspec"}
    )
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({})
        for output in cell.get("outputs", ()):
            for kind, text in output.get("data", {}).items():
                output["data"][kind] = re.sub(r"/tmp/[\w./-]+/(?=[\w-]+\.db)", "", text)


def main() -> None:
    for path in sorted(GALLERY.glob("*.ipynb")):
        if sys.argv[1:] and path.stem not in sys.argv[1:]:
            continue
        start = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            notebook = run(path, folder)
        tidy(notebook)
        nbformat.write(notebook, path)
        print(f"{path.stem}: {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
