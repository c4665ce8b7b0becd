"""Break the privacy code on purpose, one small change at a time, and see which test notices.

    python benchmarks/mutants.py [--limit N] [--only FILE] [--jobs J] [--report]

Each mutant is one change to the syntax tree of one file: an operator, a comparison's boundary, a
constant, `max` for `min`, a charge left out, a scale rounded to nearest. The package is copied once;
the mutated file is written into the copy, and the tests that are named for the file run against it
until one fails. Results go to docs/results/mutants.csv as they come, so a run resumes where it
stopped; docs/results/mutants.md lists every mutant with what killed it. A mutant that survives
must have an explanation below, or the script ends with exit code 1.
"""

from __future__ import annotations

import argparse
import ast
import copy
import csv
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from common import markdown_table

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "frith"
RESULTS = ROOT / "docs" / "results"
SECONDS = 240  # a mutant that takes longer than this is one that loops: killed by time

TESTS: dict[str, tuple[str, ...]] = {
    "privacy/exact.py": ("tests/privacy/test_exact.py", "tests/privacy/test_mechanisms.py"),
    "privacy/budget.py": ("tests/privacy/test_budget.py", "tests/test_curator.py"),
    "privacy/composition.py": ("tests/privacy/test_budget.py",),
    "privacy/mechanisms.py": (
        "tests/privacy/test_mechanisms.py", "tests/privacy/test_sign_choice.py",
        "tests/test_curator.py",
    ),
    "privacy/shares.py": ("tests/privacy/test_shares.py",),
    "privacy/polya.py": ("tests/privacy/test_shares.py",),
    "privacy/sources.py": (
        "tests/privacy/test_mechanisms.py", "tests/privacy/test_sign_choice.py",
        "tests/privacy/test_shares.py",
    ),
    "privacy/guarantee.py": (
        "tests/privacy/test_budget.py", "tests/test_curator.py", "tests/learners/test_published.py",
        "tests/learners/test_random_decision.py",
    ),
    "curator.py": ("tests/test_curator.py", "tests/audit/test_replay.py", "tests/test_scoring.py"),
    "kernels.py": (
        "tests/test_level_kernel.py", "tests/test_kernels.py", "tests/test_curator.py",
        "tests/test_scoring.py", "tests/audit/test_replay.py",
    ),
    "gradients.py": ("tests/test_gradients.py",),
    "label_gradients.py": ("tests/test_label_gradients.py", "tests/test_gradients.py"),
    "scores.py": ("tests/test_scores.py",),
}  # fmt: skip
"""Which tests stand guard over which file, the quickest first."""

ONLY: dict[str, str] = {
    "kernels.py": r"l1|l2_squared|most_asked|n_trees|take|shape|tree_of",
    "gradients.py": r"l1|l2_squared|most|_sum_gradients|_sum_cells|_place|probability_of",
    "label_gradients.py": r"_shrink|_probabilities|_sum_vectors|_sum_label_cells|shape",
    "scores.py": r"range_|mass|phi|_phi|criterion|split_scores|_gini_of_large",
    "privacy/guarantee.py": r"then|assuming|holds",
}
"""Of files that do more than keep a promise, the functions that say how far a record can move things."""

EXPLAINED: dict[str, str] = {}
"""Survivors that change nothing that matters, by `file:line change`, each with the reason."""
