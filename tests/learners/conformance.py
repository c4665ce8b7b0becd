"""The learners every check runs over, and how each is made small for tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from frith import RandomDecisionForestClassifier
from frith.learners import PrivateForestClassifier

LEARNERS: dict[str, Callable[..., PrivateForestClassifier]] = {
    "random-decision": lambda *args, **kwargs: RandomDecisionForestClassifier(
        *args, **({"n_trees": 4} | kwargs)
    ),
}

NOISE: dict[str, str] = {
    check: "privacy noise is never seeded, so two fits differ"
    for check in (
        "check_classifier_data_not_an_array",
        "check_supervised_y_2d",
        "check_fit_idempotent",
        "check_methods_subset_invariance",
        "check_classifiers_train",  # asks for 83% accuracy on 300 records
    )
}
"""scikit-learn checks that demand determinism, or accuracy on a few hundred records."""


def learners(**kwargs: Any) -> dict[str, PrivateForestClassifier]:
    return {name: make(**kwargs) for name, make in LEARNERS.items()}
