"""What classifiers share: labels with declared values, and their probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from frith.domain import Categorical, Domain, Numeric, class_array
from frith.errors import DomainError
from frith.forest import Forest
from frith.learners.base import PrivateForest
from frith.learners.prior import reweighted


class PrivateForestClassifier(ClassifierMixin, PrivateForest):
    """A classifier that learns from releases of a curator and from nothing else."""

    def predict(
        self, X: Any, *, class_prior: Any = None, trained_prior: Any = None
    ) -> NDArray[Any]:
        """The most probable label of each record, the first in domain order where labels tie.

        Reads releases only: costs no budget. `class_prior` is as in `predict_proba`.
        """
        check_is_fitted(self)
        if class_prior is None:
            return self.forest_.predict(self._table_to_predict(X), self.n_jobs)
        proba = self.predict_proba(X, class_prior=class_prior, trained_prior=trained_prior)
        return self.classes_[proba.argmax(axis=1)]

    def predict_proba(
        self, X: Any, *, class_prior: Any = None, trained_prior: Any = None
    ) -> NDArray[np.float64]:
        """Label probabilities, columns in the order of `classes_`. Costs no budget.

        Parameters
        ----------
        X : DataFrame, Arrow table or array
            The records to predict.
        class_prior : dict, "balanced" or None, default=None
            The share of each label where the forest is used, if it is another than in training.
            Probabilities are multiplied by new over old shares, and add up to 1 again.
        trained_prior : dict or None, default=None
            The shares in training, if they are public. None takes what the forest counted.
        """
        check_is_fitted(self)
        proba = self.forest_.predict_proba(self._table_to_predict(X), self.n_jobs)
        if class_prior is not None:
            proba = reweighted(proba, self.forest_, class_prior, trained_prior)
        order = self._class_order
        return proba if np.array_equal(order, np.arange(len(order))) else proba[:, order]

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of `predict_proba`, minus infinity where that is 0. Costs no budget."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def explain(self, X: Any, label: Any = None) -> pd.DataFrame:
        """What each attribute adds to each record's prediction; see `Forest.explain`.

        A row adds up to the log-odds of `label`, by default of the second of two `classes_`.
        Costs no budget, and is exact about X: a private X is not covered by the guarantee.
        """
        check_is_fitted(self)
        if label is None and len(self.classes_) == 2:
            label = self.classes_[1]
        return self.forest_.explain(self._table_to_predict(X), label)

    # -- labels --------------------------------------------------------------------------------

    def _check_task(self, domain: Domain) -> None:
        if isinstance(domain.label, Numeric):
            raise DomainError(
                f"{type(self).__name__} predicts one of declared values, and the label "
                f"{domain.label.name!r} is a number between {domain.label.low:g} and "
                f"{domain.label.high:g}; use ForestRegressor, or declare the label's values"
            )

    def _draft_label(self, name: str, y: NDArray[Any], classes: Any) -> Categorical:
        if y.dtype == object and len({isinstance(label, str) for label in y}) > 1:
            raise ValueError("y mixes texts and numbers; make all labels one of the two")
        try:
            check_classification_targets(y)
        except ValueError as error:
            raise ValueError(f"{error} To predict a number, use ForestRegressor.") from None
        seen = np.unique(y if classes is None else np.concatenate([np.asarray(classes), y]))
        return Categorical(name, tuple(seen.tolist()))

    def _adopt(self, forest: Forest, receipt: Any) -> None:
        """Classes are sorted, as scikit-learn's scorers assume."""
        super()._adopt(forest, receipt)
        labels = class_array(forest.domain.label_values)
        self._class_order = np.argsort(labels, kind="stable")
        self.classes_ = labels[self._class_order]
