"""What regressors share: a label with public bounds, and predictions within them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from frith.domain import Categorical, Domain, Numeric
from frith.domain.draft import draft_target
from frith.errors import DomainError
from frith.learners.base import PrivateForest


class PrivateForestRegressor(RegressorMixin, PrivateForest):
    """A regressor that learns from releases of a curator and from nothing else."""

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The number predicted for each record, within the declared bounds. Costs no budget.

        In the label's own unit, also where its scale is "log": there, the exponential of a logarithm.
        """
        check_is_fitted(self)
        return self.forest_.predict(self._table_to_predict(X), self.n_jobs)

    def explain(self, X: Any) -> pd.DataFrame:
        """What each attribute adds to each record's prediction; see `Forest.explain`.

        A row adds up to the prediction before it is clipped to the declared bounds, or to its natural
        logarithm if the label's scale is "log": there, exp(contribution) is a factor. Costs no budget,
        and is exact about X: a private X is not covered by the guarantee.
        """
        check_is_fitted(self)
        return self.forest_.explain(self._table_to_predict(X))

    # -- targets -------------------------------------------------------------------------------

    def _check_task(self, domain: Domain) -> None:
        if isinstance(domain.label, Categorical):
            raise DomainError(
                f"{type(self).__name__} predicts a number between public bounds, and the label "
                f"{domain.label.name!r} has {domain.label.size} declared values; use "
                "ForestClassifier, or declare the label's low and high"
            )

    def _draft_label(self, name: str, y: NDArray[Any], classes: Any) -> Numeric:
        numbers = y.astype(np.float64)
        if not np.isfinite(numbers).all():
            raise ValueError("Input y contains infinity; drop those records, or declare a domain")
        return draft_target(numbers, name)
