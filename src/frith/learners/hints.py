"""One sentence for each parameter of a learner, as forms show it. The docstrings say more."""

from __future__ import annotations

from inspect import signature

from frith.learners.base import PrivateForest
from frith.learners.id3 import ID3Classifier
from frith.learners.info_gain import InfoGainForestClassifier
from frith.learners.random_decision import RandomDecisionForestClassifier

HINTS = {
    "allocation": 'The budget of each level: "arithmetic" gives deeper levels more, "geometric" less, '
    '"uniform" the same.',
    "as_published": "Learn as the paper does, without any guarantee.",
    "bins": "The number of equal-width parts of each number; their borders are its candidate cuts.",
    "center": "A public guess of the mean, for tiny budgets; the middle of the bounds if empty.",
    "consistent": "Make the counts of parents and children add up; costs nothing.",
    "coverage": "The share of new records whose label prediction sets hold; none are made if empty.",
    "criterion": 'The score of a split in private choices: "max", "gini" or "entropy".',
    "delta": "The chance of a miss that you allow; 0 asks for a pure guarantee.",
    "device": 'Where the records\' codes are added up: "cuda" for a GPU, the CPU if empty.',
    "domain": "What is public about the table.",
    "epsilon": "The budget of a fit, read exactly as written.",
    "held_out": "The share of the records that are held out for prediction intervals or sets.",
    "interval": "The share of new targets that prediction intervals cover; none are made if empty.",
    "ledger": "The ledger that every fit is charged to.",
    "loss": 'What is predicted: means ("squared") or quantiles ("quantile").',
    "max_depth": "The most splits on a path.",
    "max_features": "The share of the attributes that each tree may ask, drawn at random.",
    "mechanism": 'How a split is chosen privately: "permute-and-flip" or, as the sources say, '
    '"exponential"; the better one if empty.',
    "min_support": "The smallest noisy number of records of a node that is split.",
    "n_jobs": "The number of threads; all cores if empty.",
    "n_trees": "The number of trees.",
    "prune": "Prune by estimated errors after the counts are released; costs nothing.",
    "public": "A forest or a table of records that nobody protects: what is known beforehand.",
    "question_weights": "How much each attribute matters, by name; 1 where nothing is said.",
    "quantile": "The share of targets below the prediction, where quantiles are predicted.",
    "queries": 'What is asked: private choices of splits ("exponential") or noisy tables of every '
    'attribute ("counts").',
    "random_state": "Seeds the public shapes of the trees; noise has no seed.",
    "rules_share": "The share of the budget for counting a few readable rules; 0 counts none.",
    "size_share": "The share of the budget for a noisy number of records, if none is declared.",
    "split_share": "The share of the budget for choosing splits; the leaves get the rest.",
}
OWN: dict[type[PrivateForest], dict[str, str]] = {
    RandomDecisionForestClassifier: {
        "max_depth": "The most splits on a path; the paper's rule if empty."
    },
    ID3Classifier: {"max_depth": "The most splits on a path; one for every attribute if empty."},
    InfoGainForestClassifier: {
        "n_trees": "The number of trees; chosen from public facts if empty.",
        "max_depth": "The most splits on a path; chosen from public facts if empty.",
        "random_state": "Seeds which attributes each tree may ask; noise has no seed.",
    },
}
"""Where a learner's parameter differs from what others mean by its name."""


def parameter_hints(learner: type[PrivateForest]) -> dict[str, str]:
    """A sentence for each parameter of `learner`, in the order of its signature."""
    hints = HINTS | OWN.get(learner, {})
    return {name: hints[name] for name in signature(learner).parameters}
