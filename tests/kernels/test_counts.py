"""Kernels against their slow twins: compiled and not, from many threads, with a cache and without."""

import ctypes
import os
import pickle
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frith
from frith.domain import Categorical, Domain, Numeric
from frith.domain.encoding import Batch
from frith.engines import MemoryEngine
from frith.forest.voting import VOTES
from frith.growing.random_trees import grow_random_trees
from frith.kernels import ConfusionCounts, LeafCounts, RecordCount
from tests import twins
from tests.strategies import any_trees, domains, examples, forest_over, forests, trees

LABEL = Categorical("class", ("a", "b", "c"))
MIXED = Domain(
    (
        Categorical("color", ("red", "green", "blue")),
        Numeric("size", 0, 10, cells=16, missing=True),
        Categorical("zip", tuple(range(300))),  # codes of two bytes
    ),
    LABEL,
)


def random_batch(domain, rows, seed):
    """Legal codes, drawn evenly."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, a.size, rows) for a in domain.attributes]
    codes = np.column_stack(columns).astype(domain.code_type)
    return Batch(codes, rng.integers(0, domain.n_labels, rows).astype(domain.label_type))


def summed(kernel, batch):
    out = np.zeros(kernel.shape, dtype=np.int64)
    kernel.add(batch, out)
    return out


def twin(batch, domain, trees):
    records = zip(batch.codes.tolist(), batch.labels.tolist(), strict=True)
    return twins.leaf_counts(records, domain, trees)


# -- right sums ------------------------------------------------------------------------------------


@examples(60)
@given(st.data())
def test_leaf_counts_equal_the_twin(data):
    domain = data.draw(domains())
    grown = data.draw(trees(domain))
    batch = random_batch(domain, data.draw(st.integers(0, 30)), data.draw(st.integers(0, 99)))
    kernel = LeafCounts(grown, domain)
    counts = summed(kernel, batch)
    assert np.array_equal(counts, twin(batch, domain, grown))
    assert counts.sum() == len(batch) * kernel.l1
    assert summed(RecordCount(), batch).tolist() == [len(batch)]


@pytest.mark.parametrize("rows", [0, 1, 511, 512, 513, 1_300])
def test_blocks_of_records_meet_without_a_seam_in_the_twin(rows):
    grown = grow_random_trees(MIXED, 3, 2, np.random.default_rng(rows))
    batch = random_batch(MIXED, rows, seed=rows)
    assert np.array_equal(summed(LeafCounts(grown, MIXED), batch), twin(batch, MIXED, grown))


@examples(40)
@given(st.data())
def test_each_tree_has_a_height_of_its_own(data):
    """So a deep tree makes the others take no more steps."""
    domain = data.draw(domains())
    grown = data.draw(any_trees(domain))
    heights = grown.heights(domain)
    assert len(heights) == grown.n_trees

    def height(node):
        if grown.attribute[node] < 0:
            return 0
        return 1 + max(height(child) for child in grown.children(node, domain))

    assert heights.tolist() == [height(root) for root in grown.roots.tolist()]


def test_counts_are_added_to_what_is_there_as_in_the_twin():
    grown = grow_random_trees(MIXED, 2, 2, np.random.default_rng(0))
    first, second = (random_batch(MIXED, 40, seed) for seed in (1, 2))
    kernel = LeafCounts(grown, MIXED)
    out = np.full(kernel.shape, 5, dtype=np.int64)
    kernel.add(first, out)
    kernel.add(second, out)
    assert np.array_equal(out, 5 + twin(first, MIXED, grown) + twin(second, MIXED, grown))


def test_strided_and_read_only_codes_give_the_sums_of_the_twin():
    grown = grow_random_trees(MIXED, 2, 2, np.random.default_rng(0))
    batch = random_batch(MIXED, 60, seed=3)
    batch.codes.flags.writeable = False
    every_other = Batch(batch.codes[::2], batch.labels[::2])
    by_columns = Batch(np.asfortranarray(batch.codes), batch.labels)
    kernel = LeafCounts(grown, MIXED)
    for form in (batch, every_other, by_columns):
        assert np.array_equal(summed(kernel, form), twin(form, MIXED, grown))


@examples(40)
@given(st.data())
def test_one_record_moves_the_sums_by_the_stated_sensitivity(data):
    """Exactly: one cell of each tree by one, in the twin's leaf."""
    domain = data.draw(domains())
    grown = data.draw(any_trees(domain))
    kernel = LeafCounts(grown, domain)
    batch = random_batch(domain, 1, data.draw(st.integers(0, 99)))
    moved = summed(kernel, batch)
    assert np.abs(moved).sum() == kernel.l1 == grown.n_trees
    assert (moved**2).sum() == kernel.l2_squared == grown.n_trees


def test_a_kernel_reads_only_the_attributes_it_names():
    grown = grow_random_trees(MIXED, 1, 1, np.random.default_rng(4))  # one question
    kernel = LeafCounts(grown, MIXED)
    batch = random_batch(MIXED, 50, seed=5)
    others = [a for a in range(3) if a not in kernel.attributes]
    blank = batch.codes.copy()
    blank[:, others] = 0
    assert len(others) == 2
    assert np.array_equal(summed(kernel, batch), summed(kernel, Batch(blank, batch.labels)))


# -- confusion matrices ----------------------------------------------------------------------------


def confusion_twin(batch, forest):
    records = zip(batch.codes.tolist(), batch.labels.tolist(), strict=True)
    return twins.confusion_counts(records, forest.trees, forest.values, forest.vote)


@pytest.mark.parametrize("vote", VOTES)
@examples(40)
@given(st.data())
def test_confusion_counts_equal_the_twin_for_every_vote(vote, data):
    domain = data.draw(domains())
    forest = forest_over(domain, data.draw(trees(domain)), vote, data.draw(st.integers(0, 999)))
    batch = random_batch(domain, data.draw(st.integers(0, 30)), data.draw(st.integers(0, 99)))
    counts = summed(ConfusionCounts(forest), batch)
    assert np.array_equal(counts, confusion_twin(batch, forest))
    assert counts.sum(axis=1).tolist() == [(batch.labels == k).sum() for k in range(len(counts))]


@pytest.mark.parametrize("vote", VOTES)
@pytest.mark.parametrize("rows", [0, 1, 4_095, 4_096, 4_097, 9_000])
def test_confusion_counts_are_what_the_forest_itself_decides(vote, rows):
    forest = forest_over(MIXED, grow_random_trees(MIXED, 3, 2, np.random.default_rng(0)), vote)
    batch = random_batch(MIXED, rows, seed=rows)
    expected = np.full((3, 3), 5, dtype=np.int64)
    kernel, out = ConfusionCounts(forest), expected.copy()
    np.add.at(expected, (batch.labels, forest.labels_of_codes(batch.codes)), 1)
    kernel.add(batch, out)
    assert np.array_equal(out, expected)
    sent = pickle.loads(pickle.dumps(kernel))  # as Spark sends it to its workers
    assert np.array_equal(summed(sent, batch), expected - 5)


@examples(40)
@given(st.data())
def test_one_record_is_in_one_cell_of_a_confusion_matrix(data):
    domain = data.draw(domains())
    kernel = ConfusionCounts(data.draw(forests(domain)))
    moved = summed(kernel, random_batch(domain, 1, data.draw(st.integers(0, 99))))
    assert np.abs(moved).sum() == kernel.l1 == 1
    assert (moved**2).sum() == kernel.l2_squared == 1


def test_a_confusion_matrix_reads_only_the_attributes_its_forest_asks():
    forest = forest_over(MIXED, grow_random_trees(MIXED, 1, 1, np.random.default_rng(4)))
    kernel, batch = ConfusionCounts(forest), random_batch(MIXED, 50, seed=5)
    blank = np.zeros_like(batch.codes)
    asked = list(kernel.attributes)
    blank[:, asked] = batch.codes[:, asked]
    assert len(asked) == 1
    assert np.array_equal(summed(kernel, batch), summed(kernel, Batch(blank, batch.labels)))


# -- threads ---------------------------------------------------------------------------------------


def test_calls_from_many_threads_at_once_give_right_sums():
    grown = grow_random_trees(MIXED, 5, 2, np.random.default_rng(1))
    batches = [random_batch(MIXED, 2_000, seed) for seed in range(8)]
    kernel = LeafCounts(grown, MIXED)
    alone = [summed(kernel, b) for b in batches]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda b: summed(kernel, b), batches * 5))
    assert all(np.array_equal(t, a) for t, a in zip(together, alone * 5, strict=True))


def test_questions_from_many_threads_at_once_are_answered_alike():
    """The first of them encodes the table; the others wait for it."""
    rng = np.random.default_rng(0)
    rows = 5_000
    frame = pd.DataFrame(
        {
            "color": rng.choice(["red", "green", "pink"], rows),
            "size": rng.normal(5, 3, rows),
            "zip": rng.integers(0, 400, rows),
            "class": rng.choice(["a", "b", "x"], rows),
        }
    )
    grown = grow_random_trees(MIXED, 5, 2, rng)
    kernel = LeafCounts(grown, MIXED)
    expected = MemoryEngine(frame, MIXED, threads=1).aggregate(kernel)
    engine = MemoryEngine(frame, MIXED, threads=3, rows=700)
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: engine.aggregate(kernel), range(12)))
    assert expected.sum() == 5 * int((frame["class"] != "x").sum())
    assert all(np.array_equal(a, expected) for a in answers)


# -- other ways to run -----------------------------------------------------------------------------

SCRIPT = """
import numpy as np
import pyarrow as pa
import frith
from frith import Categorical, Domain
from frith.engines import MemoryEngine
from frith.forest.trees import Trees
from frith.kernels import LeafCounts
from frith.kernels.counts import _count_leaves

domain = Domain((Categorical("a", ("x", "y")),), Categorical("c", (0, 1)))
table = pa.table({"a": ["x", "y", "y"], "c": [0, 1, 0]})
trees = Trees(*(np.array(x, dtype=np.int32) for x in ([0], [0, -1, -1], [-1] * 3, [1, -1, -1])))
counts = MemoryEngine(table, domain, threads=1).aggregate(LeafCounts(trees, domain))
hits = sum(_count_leaves.stats.cache_hits.values())
print(frith.__file__, type(_count_leaves._cache).__name__, hits, counts.tolist(), sep="|")
"""


COUNTS = "[[1, 0], [1, 1]]"


def run_script(home, **kwargs):
    """Run SCRIPT with a home folder and no other setting of numba's; what it printed."""
    settings = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "XDG", "PYTHON"))}
    settings |= {"HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"} | kwargs.pop("env", {})
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=settings, capture_output=True, text=True, **kwargs
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().split("|")


@pytest.fixture
def installed(tmp_path):
    """A copy of the package, an empty home, and nothing that numba left in them."""
    package = tmp_path / "install" / "frith"
    source = Path(frith.__file__).parent
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "home").mkdir()
    yield package, tmp_path / "home"
    _set_writable(tmp_path, True)


def _set_writable(folder, writable):
    for path in [folder, *folder.rglob("*")]:
        mode = path.stat().st_mode
        path.chmod(mode | 0o200 if writable else mode & ~0o222)


def _obey_permissions():
    """Root may write anywhere; drop that right, for the process that is about to start."""
    if os.geteuid() == 0:
        for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
            if ctypes.CDLL(None).prctl(24, capability, 0, 0, 0):  # PR_CAPBSET_DROP
                raise OSError("cannot drop the right to write anywhere")


@pytest.mark.skipif(sys.platform != "linux", reason="drops root's rights by a call of Linux")
def test_a_read_only_install_without_a_home_compiles_in_memory(installed):
    package, home = installed
    for folder in (package, home):
        _set_writable(folder, False)
    before = sorted(package.rglob("*"))
    file, cache, hits, counts = run_script(
        home, env={"PYTHONPATH": str(package.parent)}, cwd="/", preexec_fn=_obey_permissions
    )
    assert Path(file).parent == package
    assert (cache, hits, counts) == ("NullCache", "0", COUNTS)
    assert sorted(package.rglob("*")) == before
    assert not list(home.iterdir())


def test_a_cache_folder_that_can_be_written_is_used_again(installed, tmp_path):
    package, home = installed
    env = {"PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    first, second = (run_script(home, env=env)[1:] for _ in range(2))
    assert list((tmp_path / "cache").rglob("*.nbi"))
    assert first[1:] == ["0", COUNTS]
    assert second[1:] == ["1", COUNTS]


def test_kernels_are_right_without_the_compiler():
    """As plain Python, so that coverage and tracebacks see into them."""
    tests = [__file__, "-k", "twin", "-p", "no:cacheprovider"]
    env = os.environ | {"NUMBA_DISABLE_JIT": "1", "FRITH_FULL": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *tests], env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    assert "deselected" in done.stdout
