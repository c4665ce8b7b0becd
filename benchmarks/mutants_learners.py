"""What `mutants.py --set learners` breaks: the papers' learners and the steps that they share.

Which tests stand guard over which file, and one break by hand for each equation of the papers. The
flagship's own steps are not here: no paper says what they should be.
"""

from __future__ import annotations

TESTS: dict[str, tuple[str, ...]] = {
    "learners/signal.py": (
        "tests/learners/test_signal.py", "tests/learners/test_published.py",
        "tests/learners/test_limits.py",
    ),
    "learners/random_decision.py": (
        "tests/learners/test_random_decision.py", "tests/learners/test_limits.py",
    ),
    "learners/public_trees.py": (
        "tests/learners/test_info_gain.py", "tests/learners/test_random_decision.py",
    ),
    "learners/gini.py": (
        "tests/learners/test_gini.py", "tests/learners/test_choice_mechanism.py",
        "tests/learners/test_references.py", "tests/learners/test_limits.py",
    ),
    "learners/id3.py": (
        "tests/learners/test_id3.py", "tests/learners/test_choice_mechanism.py",
        "tests/learners/test_references.py", "tests/learners/test_limits.py",
    ),
    "learners/c45.py": (
        "tests/learners/test_published.py", "tests/learners/test_references.py",
        "tests/learners/test_limits.py",
    ),
    "learners/info_gain.py": (
        "tests/learners/test_info_gain.py", "tests/learners/test_choice_mechanism.py",
        "tests/learners/test_references.py", "tests/learners/test_limits.py",
    ),
    "learners/published/gini.py": (
        "tests/learners/test_gini.py", "tests/learners/test_published.py",
    ),
    "learners/published/c45.py": ("tests/learners/test_published.py",),
    "learners/published/curator.py": (
        "tests/learners/test_published.py", "tests/learners/test_gini.py",
    ),
    "growing/allocation.py": ("tests/growing/test_allocation.py",),
    "growing/builder.py": ("tests/growing/test_builder.py", "tests/learners/test_signal.py"),
    "growing/consistency.py": ("tests/growing/test_consistency.py",),
    "growing/gain.py": (
        "tests/growing/test_gain.py", "tests/learners/test_published.py",
    ),
    "growing/grower.py": (
        "tests/learners/test_gini.py", "tests/kernels/test_levels.py",
        "tests/learners/test_references.py",
    ),
    "growing/pruning.py": (
        "tests/growing/test_pruning.py", "tests/learners/test_signal.py", "tests/learners/test_id3.py",
        "tests/growing/test_random_trees.py", "tests/learners/test_references.py",
    ),
    "growing/random_trees.py": (
        "tests/growing/test_random_trees.py", "tests/learners/test_signal.py",
    ),
    "growing/table_tree.py": (
        "tests/growing/test_table_tree.py", "tests/learners/test_id3.py",
        "tests/learners/test_references.py",
    ),
    "forest/voting.py": (
        "tests/forest/test_voting.py",
        "tests/learners/test_signal.py", "tests/learners/test_gini.py",
        "tests/learners/test_random_decision.py", "tests/kernels/test_counts.py",
    ),
}  # fmt: skip
"""Which tests stand guard over which file, the quickest first."""

ONLY: dict[str, str] = {
    "forest/voting.py": r"proba_of_codes|labels_of_codes|label_weights|node_shares|speakers|leaf_values|"
    r"_add_leaves|_most_confident|find_speakers|_decide",
}
"""Of files that do more than a paper asks for, the functions that a paper describes."""

EQUATIONS: tuple[tuple[str, str, str, str], ...] = (
    ("DP-RF, equation 5: root two", "learners/signal.py",
     "np.sqrt(2) * tau / amount", "tau / amount"),
    ("DP-RF, equation 5: the number of labels", "learners/signal.py",
     "curator.domain.n_labels * (curator.records_per_unit * noise)",
     "curator.records_per_unit * noise"),
    ("DP-RF, equation 8: epsilon is divided by tau", "learners/signal.py",
     "np.sqrt(2) * tau / amount", "np.sqrt(2) / amount"),
    ("DP-RF, equation 9: delta squared", "learners/signal.py",
     "float(Fraction(sum(useful), len(useful))) ** 2", "float(Fraction(sum(useful), len(useful)))"),
    ("DP-RF, equation 9: the most trees", "learners/signal.py",
     "max(fitting, default=1)", "min(fitting, default=1)"),
    ("DP-RF, equation 10: the root of the leaves", "growing/pruning.py",
     "leaf_noise * np.sqrt(n_leaves)", "leaf_noise * n_leaves"),
    ("DP-RF, equation 10: the number of labels", "growing/pruning.py",
     "counts.shape[1] * leaf_noise", "leaf_noise"),
    ("DP-RF, section 4.5: nothing is pruned", "learners/signal.py",
     "return prune_unreliable(forest, leaf_noise=math.sqrt(leaves.variance))", "return forest"),
    ("DP-RF, section 4.6: the leaf predicts", "learners/signal.py",
     'vote="confident"', 'vote="shares"'),
    ("DP-RF, section 4.7: ties are left to the first tree", "forest/voting.py",
     "elif share == best and c != label:", "elif share > 2:"),
    ("DP-RF, section 4.4: roots are not distinct", "growing/random_trees.py",
     "rng.permutation(useful)[:n_trees]", "rng.choice(useful, n_trees)"),
    ("DPDF, equation 9: 2 delta - 1 questions", "learners/gini.py",
     "Fraction(1, 2 * max_depth + 1)", "Fraction(1, 2 * max_depth + 2)"),
    ("DPDF, equation 10: divided by tau", "learners/published/gini.py",
     "Fraction(1, (2 * max_depth + 1) * n_trees)", "Fraction(1, (2 * max_depth + 1))"),
    ("DPDF, equation 11: Delta of Theorem 1", "learners/published/gini.py",
     "1 - (noisy / (noisy + 1)) ** 2 - (1 / (noisy + 1)) ** 2", "1 - (noisy / (noisy + 1)) ** 2"),
    ("DPDF, equation 8: 2 Delta", "learners/published/gini.py",
     "2 * sensitivity / float(epsilon)", "sensitivity / float(epsilon)"),
    ("DPDF, Algorithm 1: distinct roots", "learners/gini.py",
     "allowed[group] & ~taken", "allowed[group]"),
    ("DPDF, equation 27: pruning", "growing/pruning.py",
     "quality[node] < average - 1e-12", "quality[node] <= average"),
    ("DPDF, section 3: the weighted vote", "learners/gini.py",
     'vote="weighted"', 'vote="shares"'),
    ("DPDF, as published: the weighted vote", "learners/published/gini.py",
     'vote="weighted"', 'vote="shares"'),
    ("DPDF, Algorithm 1: a minimum size", "learners/gini.py",
     "size >= self.min_support", "size > self.min_support"),
    ("DiffPID3: epsilon / (2 (d + 1))", "learners/id3.py",
     "Fraction(1, 2 * (depth + 1))", "Fraction(1, 2 * depth + 3)"),
    ("DiffPID3: the least size of a node", "learners/id3.py",
     "widest * grower.domain.n_labels * float", "grower.domain.n_labels * float"),
    ("ID3 from counts: shares by tables asked", "learners/id3.py",
     "[max(1, k - i) for i in range(depth)]", "[1 for i in range(depth)]"),
    ("C4.5, section 2.1: arithmetic shares", "growing/allocation.py",
     "for i in range(1, levels + 1)]\n    raise", "for i in range(levels, 0, -1)]\n    raise"),
    ("C4.5, section 2.3: the scale of the exponential step", "learners/published/c45.py",
     "2 / float(share * half)", "1 / float(share * half)"),
    ("C4.5, section 2.1: half for the tables", "learners/published/c45.py",
     "half = shown.budget.total / 2", "half = shown.budget.total"),
    ("C4.5, equation 5: the entropy of the split", "growing/gain.py",
     "split[:, columns] = _bits(parts)", "split[:, columns] = size[:, None] + 0 * _bits(parts)"),
    ("C4.5, equation 4: what is left after the split", "growing/gain.py",
     "after = _bits(table).sum(axis=1, keepdims=True)",
     "after = _bits(table).max(axis=1, keepdims=True)"),
    ("Private-RDT, section 5.1: floor(k / 2)", "growing/random_trees.py",
     "min(uses // 2, ", "min(uses, "),
    ("Private-RDT, section 5.1: floor(log_b n) - 1", "growing/random_trees.py",
     "floor_log(n_records, branches) - 1)", "floor_log(n_records, branches))"),
    ("Private-RDT, Algorithm 3: counts are summed", "learners/random_decision.py",
     'vote="counts"', 'vote="shares"'),
    ("Private-RDT, Algorithm 5: the batch is added", "learners/random_decision.py",
     "self._grown.plus(batch, disjoint=disjoint)", "batch"),
    ("US 10,726,153: leaves get what the splits left", "learners/info_gain.py",
     "splits / depth,", "splits / (depth + 1),"),
    ("US 10,726,153: by information gain", "learners/info_gain.py",
     'criterion("entropy", n)', 'criterion("gini", n)'),
)  # fmt: skip
"""What is broken by hand: an item of a paper, its file, its text, and the text with the break."""
