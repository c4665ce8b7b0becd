"""The notebooks of the gallery run in a kernel, as they stand, and show nothing that is not for showing."""

import json

import pytest

from benchmarks.gallery import GALLERY, run

NOTEBOOKS = sorted(GALLERY.glob("*.ipynb"))
PRIVATE = ("Saved output is a publication", "about your records")


def outputs(notebook):
    return [o for cell in notebook["cells"] for o in cell.get("outputs", ())]


def test_there_are_five_and_the_index_has_them():
    index = (GALLERY / "index.md").read_text(encoding="utf-8")
    assert len(NOTEBOOKS) == 5
    assert all(f"({path.name})" in index for path in NOTEBOOKS)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_runs_without_an_error_or_a_warning(path, tmp_path):
    seen = outputs(run(path, tmp_path))
    assert seen
    assert [o["text"] for o in seen if o.get("name") == "stderr"] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_what_is_kept_was_run_and_may_be_shown(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    kept = json.dumps(outputs(notebook))
    assert all(c["execution_count"] for c in notebook["cells"] if c["cell_type"] == "code")
    assert "text/html" in kept
    assert not any(words in kept for words in PRIVATE)
    assert "/tmp/" not in kept
