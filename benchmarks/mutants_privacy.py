"""What `mutants.py` breaks unless told otherwise: the privacy code, and which tests stand guard over it."""

from __future__ import annotations

TESTS: dict[str, tuple[str, ...]] = {
    "privacy/exact.py": ("tests/privacy/test_exact.py",),
    "privacy/window.py": ("tests/privacy/test_window.py",),
    "privacy/budget.py": (
        "tests/privacy/test_budget.py", "tests/privacy/test_window.py",
        "tests/curator/test_curator.py",
    ),
    "privacy/composition.py": ("tests/privacy/test_budget.py",),
    "privacy/mechanisms.py": (
        "tests/privacy/test_sources.py", "tests/privacy/test_mechanisms.py",
        "tests/privacy/test_sign_choice.py",
    ),
    "privacy/labeling.py": ("tests/privacy/test_labeling.py",),
    "privacy/shares.py": ("tests/privacy/test_shares.py",),
    "privacy/polya.py": ("tests/privacy/test_shares.py",),
    "privacy/sources.py": (
        "tests/privacy/test_mechanisms.py", "tests/privacy/test_sign_choice.py",
        "tests/privacy/test_labeling.py", "tests/privacy/test_shares.py",
        "tests/privacy/test_sources.py",
    ),
    "privacy/laplace_draws.py": (
        "tests/privacy/test_laplace_draws.py", "tests/privacy/test_choice_draws.py",
    ),
    "privacy/choice_draws.py": ("tests/privacy/test_choice_draws.py",),
    "privacy/gaussian_draws.py": ("tests/privacy/test_gaussian_draws.py",),
    "privacy/thresholds.py": ("tests/privacy/test_thresholds.py",),
    "kernels/quantiles.py": (
        "tests/kernels/test_quantiles.py", "tests/kernels/test_closed.py",
        "tests/kernels/test_measured.py",
    ),
    "curator/drafting.py": (
        "tests/curator/test_drafting.py", "tests/learners/test_private_domain.py",
    ),
    "privacy/rebuilding.py": ("tests/privacy/test_rebuilding.py",),
    "_amounts.py": ("tests/privacy/test_exact.py",),
    "privacy/promise.py": ("tests/privacy/test_promise.py", "tests/cli/test_show.py"),
    "privacy/guarantee.py": (
        "tests/privacy/test_budget.py", "tests/curator/test_curator.py",
        "tests/learners/test_published.py", "tests/learners/test_random_decision.py",
    ),
    "curator/curator.py": (
        "tests/curator/test_curator.py", "tests/curator/test_choices.py",
        "tests/kernels/test_closed.py", "tests/curator/test_confusion.py",
        "tests/parties/test_joint.py", "tests/learners/test_choice_mechanism.py",
    ),
    "curator/pricing.py": ("tests/curator/test_curator.py", "tests/privacy/test_shares.py"),
    "forest/trees.py": ("tests/kernels/test_closed.py", "tests/kernels/test_hostile.py"),
    "kernels/counts.py": (
        "tests/kernels/test_sensitivities.py", "tests/kernels/test_counts.py",
        "tests/kernels/test_closed.py",
    ),
    "kernels/levels.py": (
        "tests/kernels/test_sensitivities.py", "tests/kernels/test_levels.py",
        "tests/kernels/test_closed.py",
    ),
    "kernels/choices.py": (
        "tests/kernels/test_choices.py", "tests/kernels/test_closed.py", "tests/kernels/test_measured.py",
        "tests/curator/test_choices.py", "tests/curator/test_curator.py",
    ),
    "kernels/naming.py": (
        "tests/kernels/test_choices.py", "tests/kernels/test_naming.py",
        "tests/kernels/test_measured.py",
    ),
    "kernels/partitions.py": (
        "tests/kernels/test_choices.py", "tests/kernels/test_naming.py",
        "tests/kernels/test_measured.py",
    ),
    "kernels/strengths.py": ("tests/kernels/test_choices.py", "tests/kernels/test_naming.py"),
    "kernels/closed.py": ("tests/kernels/test_closed.py", "tests/curator/test_curator.py"),
    "kernels/measuring.py": ("tests/kernels/test_measured.py", "tests/kernels/test_hostile.py"),
    "kernels/gradients.py": ("tests/kernels/test_gradients.py",),
    "kernels/label_gradients.py": (
        "tests/kernels/test_label_gradients.py", "tests/kernels/test_gradients.py",
    ),
    "kernels/criteria.py": ("tests/kernels/test_criteria.py",),
    "kernels/residuals.py": ("tests/kernels/test_residuals.py", "tests/kernels/test_measured.py"),
}  # fmt: skip
"""Which tests stand guard over which file, the quickest first."""

ONLY: dict[str, str] = {
    "forest/trees.py": r"check|_check_arrays|_check_splits|_check_family|read_integers|widths",
    "kernels/counts.py": r"l1|l2_squared|shape|__post_init__",
    "kernels/levels.py": r"l1|l2_squared|most_asked|n_trees|take|shape|__post_init__",
    "kernels/choices.py": r"range_|reach|n_trees|scores|weights|options|__post_init__|_check_splits",
    "kernels/naming.py": r"range_|n_trees|scores|node_weights|__post_init__|check_all_asked|both_sides",
    "kernels/partitions.py": r"parts|scores|weights|__post_init__",
    "kernels/strengths.py": r"range_|l1|l2_squared|shape|__post_init__|_count_right",
    "kernels/gradients.py": r"l1|l2_squared|max_gradient|_sum_gradients|_sum_cells|_place|probability_of",
    "kernels/label_gradients.py": r"_shrink|_probabilities|_sum_vectors|_sum_label_cells|shape",
    "kernels/criteria.py": r"range_|mass|phi_table|_phi|criterion|split_scores|_gini_of_large|_are_large",
    "privacy/guarantee.py": r"then|assuming|holds",
}
"""Of files that do more than keep a promise, the functions that say how far a record can move things."""
