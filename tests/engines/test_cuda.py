"""A GPU engine: every kind of question on a simulated GPU, and what is said where there is none."""

import os
import subprocess
import sys

import pytest
from numba import cuda

import frith
from frith.engines.gpu_loops import pack
from frith.forest.trees import Trees
from tests.tables import small_domain, small_table


def test_every_question_has_the_sums_of_the_cpu_on_a_simulated_gpu():
    simulated = {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.engines.both_engines", "14"],
        env=os.environ | simulated, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2_000:]
    assert done.stdout.startswith("agreed on CellSums, ConfusionCounts, CorrectCounts")


@pytest.mark.skipif(cuda.is_available(), reason="there is a GPU here")
def test_without_a_gpu_it_is_said_what_to_do():
    with pytest.raises(frith.errors.SourceError, match="there is no GPU that CUDA can use here"):
        frith.open_table(small_table(), small_domain(), device="cuda")


def test_other_devices_are_refused():
    with pytest.raises(ValueError, match="device='cuda' or by none"):
        frith.open_table(small_table(), small_domain(), device="tpu")


def test_trees_that_do_not_fit_into_words_are_refused():
    tree = Trees([0], [2**14, -1, -1], [0, -1, -1], [1, -1, -1])
    with pytest.raises(frith.errors.SourceError, match="leave out device='cuda'"):
        pack(tree)
