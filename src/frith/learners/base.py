"""What every learner shares: scikit-learn's interface, and how it opens a curator."""

from __future__ import annotations

import reprlib
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from frith._progress import passes
from frith.curator import Curator, CuratorLike, Progress
from frith.domain import Attribute, Domain
from frith.domain.columns import as_table, columns_of
from frith.domain.draft import draft_attributes
from frith.domain.drafted import Draft
from frith.engines import Engine, open_table
from frith.engines.check import look_at_first
from frith.engines.spark import is_frame
from frith.errors import PrivacyLeakWarning
from frith.forest import Forest
from frith.forest.origin import Origin
from frith.learners import spending
from frith.learners.notebook import estimator_html
from frith.learners.notices import tell
from frith.learners.published.curator import AS_PUBLISHED, PublishedCurator
from frith.learners.session import ledger_for
from frith.learners.surroundings import assumptions_of_callers
from frith.privacy.budget import Budget

if TYPE_CHECKING:
    from frith.ledger import Ledger

NOT_COVERED = "parameters chosen on exact scores of the same records: not covered"


class PrivateForest(BaseEstimator, ABC):
    """An estimator that learns from releases of a curator and from nothing else.

    A learner implements `learn(curator)`. This class opens tables, budgets and ledgers, and makes
    scikit-learn's checks; `classifier.py` and `regressor.py` say what is done with labels.
    """

    domain: Domain | str | Path | None
    epsilon: Any
    delta: Any
    ledger: str | Path | None
    n_jobs: int | None
    device: str | None
    _session: Ledger | None = None
    """The ledger of the block that this was pickled in."""
    _progress: Progress | None = None
    """What shows the passes of a fit, while it runs."""

    @abstractmethod
    def learn(self, curator: CuratorLike) -> Forest:
        """The paper's algorithm: ask the curator, return a forest of what it released."""

    @abstractmethod
    def predict(self, X: Any) -> NDArray[Any]:
        """What is predicted for each record. Costs no budget."""

    @abstractmethod
    def _check_task(self, domain: Domain) -> None:
        """Raise, and name the learner to use, if the domain's label is of another kind."""

    @abstractmethod
    def _draft_label(self, name: str, y: NDArray[Any], classes: Any) -> Attribute:
        """Check y as scikit-learn does, and read a label off it."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        notices: bool = True,
        disjoint: bool = False,
        progress: bool | Progress = False,
        **not_offered: Any,
    ) -> Self:
        """Learn a forest within `epsilon` and `delta`.

        Afterwards it looks at the first records and writes to stderr what is probably a mistake in
        the domain (`frith.learners.notices`): for the holder of the records alone.

        Parameters
        ----------
        X : DataFrame, Arrow table, array or Engine
            The records, or what `frith.open_table` returned. Columns are matched by name if they
            have names, else by the domain's order. With a domain, a row of a list that does not
            have one cell for each attribute is a record of missing values.
        y : array-like or None, default=None
            The labels; None if the table has the domain's label column.
        notices : bool, default=True
            Whether to tell the holder of the records what looks wrong.
        disjoint : bool, default=False
            Declare that no protected unit of these records is in another fit of this process, so
            that `describe` does not add this one to the others. A ledger adds it all the same.
        progress : bool or callable, default=False
            Whether to show each pass over the records while it runs, in a terminal or a notebook: its
            number and its purpose, which are public. A function is called with each purpose.
        """
        _refuse(not_offered)
        budget = self._budget()
        engine = self._open(X, y)
        raw = engine.peek() if notices else None
        try:
            with passes("training", progress) as self._progress:
                curator = self._open_curator(engine, budget, "fit")
                self._keep(self.learn(curator), curator, disjoint)
        finally:
            self.__dict__.pop("_progress", None)
            self._forget()
        if raw is not None:
            tell(lambda: look_at_first(raw, engine.domain).notices)
        return self

    @classmethod
    def from_forest(cls, forest: Forest, receipt: Any = None, **parameters: Any) -> Self:
        """An estimator from a forest that was learned elsewhere: by a server, say, or saved.

        Reads releases only: costs no budget. The forest keeps its own guarantee, word for word.
        Attributes that a learner sets while it learns, beside the forest, are missing.

        Parameters
        ----------
        forest : Forest
            What was released. Its attributes are the columns to predict from.
        receipt : Receipt or None, default=None
            What the ledger gave for the forest.
        **parameters : Any
            Parameters of the estimator. Domain, epsilon and delta are the forest's unless given.
        """
        claim = forest.guarantee
        own = {"domain": forest.domain, "epsilon": claim.epsilon, "delta": claim.delta}
        model = cls(**(own | parameters))
        if model._declared_domain() not in (None, forest.domain):
            raise ValueError("the forest has another domain than the one given; pass no domain")
        model._name_columns(forest.domain)
        model._adopt(forest, receipt)
        return model

    def describe(self) -> str:
        """The forest in words, its price, and what all fits of this process cost together.

        Fits that are charged to a ledger have a receipt instead, and the ledger adds them up.
        """
        check_is_fitted(self)
        price = self.receipt_ or spending.together(self.forest_.guarantee.neighbors)
        return "\n".join([self.forest_.describe(), *([str(price)] if price else [])])

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The share of each column of the fitted table, from releases only; 0 if it is not declared."""
        check_is_fitted(self)
        importances = self.forest_.importances()
        names = getattr(self, "feature_names_in_", importances.index)
        return importances.reindex(names, fill_value=0.0).to_numpy()

    # -- in a notebook -------------------------------------------------------------------------

    def _repr_html_(self) -> str:
        return estimator_html(self)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    @property
    def _get_params_html(self) -> Any:
        """Not offered: scikit-learn's diagrams would parse docstrings, and warn of our headings."""
        raise AttributeError

    _get_fitted_attr_html = _get_params_html

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    # -- training ------------------------------------------------------------------------------

    def _budget(self, epsilon: Any = None) -> Budget:
        """What one fit or update may spend. Forms without a guarantee have no price: no ledger."""
        budget = Budget.of(self.epsilon if epsilon is None else epsilon, self.delta)
        if getattr(self, "as_published", False):
            if self.ledger is not None or self._charged is not None:
                raise ValueError(
                    "as_published keeps no guarantee, so a ledger has no price for it; pass no "
                    "ledger, and fit it outside of frith.budget and without FRITH_LEDGER"
                )
            if budget.delta:
                raise ValueError("the papers' own forms have no delta; pass delta=0")
        return budget

    def _open_curator(self, engine: Engine, budget: Budget, act: str) -> CuratorLike:
        progress = self._progress
        if getattr(self, "as_published", False):
            warnings.warn(f"{type(self).__name__}: {AS_PUBLISHED}", UserWarning, stacklevel=3)
            return PublishedCurator(engine, budget, progress=progress)
        purpose = f"{act} {type(self).__name__}"
        return Curator(engine, budget, ledger=self._charged, purpose=purpose, progress=progress)

    @property
    def _charged(self) -> Ledger | None:
        """The ledger that a fit is charged to, here and now."""
        return ledger_for(self.ledger, self._session)

    def __getstate__(self) -> dict[str, Any]:
        """Take the session's ledger along: a worker that unpickles this charges the same one."""
        session = ledger_for(None, self._session)
        return super().__getstate__() | ({} if session is None else {"_session": session})

    def __sklearn_clone__(self) -> Any:
        clone = super().__sklearn_clone__()
        if self._session is not None:
            clone._session = self._session
        return clone

    def _forget(self) -> None:
        """Drop what a fit holds of its table while it runs, also where a budget ends."""

    def _keep(self, forest: Forest, curator: CuratorLike, disjoint: bool = False) -> None:
        """Adopt a forest learned here; its parameters may have been tuned on the same records."""
        if curator.receipt is None:
            spending.add(curator.budget, curator.guarantee, disjoint=disjoint)
        guarantee = forest.guarantee.assuming(NOT_COVERED)
        for assumption in assumptions_of_callers():
            guarantee = guarantee.assuming(assumption)
        name, given = type(self).__name__, self.get_params(deep=False)
        origin = Origin.of(name, given, curator.receipt, forest.origin)
        self._adopt(replace(forest, guarantee=guarantee, origin=origin), curator.receipt)

    def _adopt(self, forest: Forest, receipt: Any) -> None:
        """Make `forest` the fitted model."""
        self._check_task(forest.domain)
        self.domain_ = forest.domain
        self.forest_ = forest
        self.receipt_ = receipt

    # -- tables --------------------------------------------------------------------------------

    def _open(self, X: Any, y: Any, *, reset: bool = True, classes: Any = None) -> Engine:
        """The table behind X and y; `reset` forgets what an earlier fit knew of its columns."""
        if isinstance(X, Engine):
            if y is not None:
                raise ValueError("an open table has its own labels; pass no y")
            if (self._declared_domain() if reset else self.domain_) not in (None, X.domain):
                raise ValueError("the open table has another domain than this learner; use one")
            self._check_task(X.domain)
            self._name_columns(X.domain)
            return open_table(X, X.domain, device=self.device)
        if type(X).__name__ == "LazyFrame":
            raise TypeError("a LazyFrame holds no records yet; pass X.collect()")
        if isinstance(X, str | Path) or is_frame(X):
            raise TypeError(
                "to train on files or Spark, open them: fit(frith.open_table(X, domain))"
            )
        domain = self._declared_domain() if reset else self.domain_
        if domain is None:
            X, y, domain = self._learn_domain(X, y, classes)
        else:
            self._check_task(domain)
            X = self._check_columns(X, y, domain, reset)
        return open_table(X, domain, y, threads=self.n_jobs, device=self.device)

    def _name_columns(self, domain: Domain) -> None:
        """The columns of a table that was not seen here are those its domain declares."""
        self.n_features_in_ = len(domain.attributes)
        self.feature_names_in_ = np.array(domain.names, dtype=object)

    def _declared_domain(self) -> Domain | None:
        if self.domain is None or isinstance(self.domain, Domain):
            return self.domain
        if isinstance(self.domain, str | Path):
            return Domain.load(self.domain)
        if isinstance(self.domain, Draft):
            raise TypeError(
                "a draft is to be reviewed first: draft.save('domain.toml'), review that file, then pass "
                "its name; draft.domain trains as it is, and the guarantee does not cover its values"
            )
        raise TypeError(
            f"domain is a Domain or the name of its file, not {reprlib.repr(self.domain)}; write "
            "epsilon=... for the budget"
        )

    def _check_columns(self, X: Any, y: Any, domain: Domain, reset: bool) -> Any:
        """Names and counts only: once there is a domain, no value of a record raises."""
        if not _is_table(X):
            X = as_table(X, len(domain.names))  # a list row by row, whatever its rows are
            if X.ndim != 2:
                raise ValueError(f"Expected 2D array, got {X.ndim}D array instead")
        inside = y is None and _is_table(X) and domain.label.name in _names(X)
        columns = _without_person(_without(X, domain.label.name) if inside else X, domain)
        validate_data(self, columns, reset=reset, skip_check_array=True)
        if y is None and not inside:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None; the "
                f"table has no label column {domain.label.name!r}"
            )
        return X if not _is_table(X) or _has_text_names(X) else X.to_numpy()

    def _learn_domain(self, X: Any, y: Any, classes: Any) -> tuple[Any, Any, Domain]:
        """scikit-learn's own checks, then a domain read off the data, with a warning."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        if _is_table(X):
            validate_data(self, X, skip_check_array=True)
        else:
            X = validate_data(self, X, dtype=None, ensure_all_finite="allow-nan")
        if not (_is_table(X) and _has_text_names(X)):
            cells = X.to_numpy() if _is_table(X) else X
            X = pd.DataFrame(cells, columns=[f"x{j}" for j in range(X.shape[1])])
        named = getattr(y, "name", None)
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        if pd.isna(y).any():
            raise ValueError("Input y contains NaN; drop those records, or declare a domain")
        names = _names(X)
        wanted = [named] if isinstance(named, str) and named else []
        name = next(n for n in (*wanted, "class", "label", "_label") if n not in names)
        label = self._draft_label(name, y, classes)
        warnings.warn(
            "no domain was given, so it is learned from the data: values, bounds and labels are "
            "not private; pass domain=, see `frith domain draft`",
            PrivacyLeakWarning,
            stacklevel=4,
        )
        attributes = draft_attributes(columns_of(X)[0], names)
        return X, y, Domain(attributes, label, learned=True)

    def _table_to_predict(self, X: Any) -> Any:
        """A table whose columns the forest can find by name."""
        if isinstance(X, str | Path | Engine):
            raise TypeError(
                "records to predict are a DataFrame, an Arrow table or an array; read the file first, or "
                "save the forest and run `frith predict FOREST FILE`"
            )
        if _is_table(X):
            X = _without_person(X, self.domain_)
            if _has_label_beside(X, self.domain_, getattr(self, "feature_names_in_", ())):
                X = _without(X, self.domain_.label.name)  # as in a table that `fit` takes without y
            validate_data(self, X, reset=False, skip_check_array=True)
            if hasattr(self, "feature_names_in_"):
                return X
            X = X.to_numpy() if hasattr(X, "to_numpy") else np.column_stack(X.columns)
        else:
            X = validate_data(self, X, reset=False, dtype=None, ensure_all_finite=False)
        if hasattr(self, "feature_names_in_"):
            return pd.DataFrame(X, columns=self.feature_names_in_)
        return X


def structure_rng(random_state: Any) -> np.random.Generator:
    """Randomness for public structure, the only thing a seed reaches."""
    seeds = check_random_state(random_state).randint(0, 2**32, size=8, dtype=np.uint64)
    return np.random.default_rng(seeds)


def _refuse(not_offered: dict[str, Any]) -> None:
    for name, value in not_offered.items():
        if name != "sample_weight":
            raise TypeError(f"fit() got an unexpected keyword argument {name!r}")
        if value is not None:
            raise TypeError(
                "sample_weight is not offered: a weighted record would count for more than the "
                "guarantee covers; repeat or drop records before fitting instead"
            )


def _is_table(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "shape")


def _names(table: Any) -> list[Any]:
    return list(getattr(table, "column_names", table.columns))


def _has_text_names(table: Any) -> bool:
    return all(isinstance(n, str) for n in _names(table))


def _without_person(table: Any, domain: Domain) -> Any:
    """Who a record is of says nothing about its label, so predictions do not ask for it."""
    named = domain.person is not None and _is_table(table) and domain.person.column in _names(table)
    return _without(table, domain.person.column) if domain.person and named else table


def _has_label_beside(table: Any, domain: Domain, attributes: Iterable[str]) -> bool:
    """Whether a table that names the attributes has the label's column too."""
    asked, names = {*attributes}, _names(table)
    return bool(asked) and domain.label.name not in asked and domain.label.name in names


def _without(table: Any, name: str) -> Any:
    return table.drop(columns=name) if hasattr(table, "iloc") else table.drop_columns([name])
