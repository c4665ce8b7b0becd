"""The learners: scikit-learn estimators written against the curator, a file each."""

from collections.abc import Mapping

from frith.domain import Domain
from frith.learners.base import PrivateForest
from frith.learners.c45 import C45Classifier
from frith.learners.classifier import PrivateForestClassifier
from frith.learners.forest import ForestClassifier
from frith.learners.gini import GiniForestClassifier
from frith.learners.id3 import ID3Classifier
from frith.learners.info_gain import InfoGainForestClassifier
from frith.learners.random_decision import RandomDecisionForestClassifier
from frith.learners.random_decision_regressor import RandomDecisionForestRegressor
from frith.learners.regressor import ForestRegressor
from frith.learners.signal import SignalForestClassifier

BY_NAME: dict[str, type[PrivateForestClassifier]] = {
    "forest": ForestClassifier,
    "random-decision": RandomDecisionForestClassifier,
    "signal": SignalForestClassifier,
    "gini": GiniForestClassifier,
    "id3": ID3Classifier,
    "c45": C45Classifier,
    "info-gain": InfoGainForestClassifier,
}
"""The classifiers, by the name they have outside Python."""

REGRESSORS: dict[str, type[PrivateForest]] = {
    "forest": ForestRegressor,
    "random-decision": RandomDecisionForestRegressor,
}
"""The learners that predict a number, by the same names."""


def learners_for(domain: Domain) -> Mapping[str, type[PrivateForest]]:
    """The learners that predict this kind of label, by the name they have outside Python."""
    return REGRESSORS if domain.has_target else BY_NAME


__all__ = [
    "BY_NAME",
    "REGRESSORS",
    "C45Classifier",
    "ForestClassifier",
    "ForestRegressor",
    "GiniForestClassifier",
    "ID3Classifier",
    "InfoGainForestClassifier",
    "PrivateForest",
    "PrivateForestClassifier",
    "RandomDecisionForestClassifier",
    "RandomDecisionForestRegressor",
    "SignalForestClassifier",
    "learners_for",
]
