"""The learners, one file per paper: scikit-learn classifiers written against the curator."""

from frith.learners.base import PrivateForestClassifier
from frith.learners.random_decision import RandomDecisionForestClassifier

__all__ = ["PrivateForestClassifier", "RandomDecisionForestClassifier"]
