"""Differentially private decision forests, from a laptop to a cluster.

>>> import frith
>>> "ForestClassifier" in dir(frith)
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from frith._version import __version__ as __version__

if TYPE_CHECKING:
    from frith.client import connect
    from frith.domain import Categorical, Date, Domain, Numeric, Ordered, Person
    from frith.engines import open_table
    from frith.engines.check import check
    from frith.engines.draft import draft_domain, learn_domain
    from frith.errors import BudgetExceeded, FrithError, PrivacyLeakWarning, RemoteError
    from frith.forest import Forest
    from frith.learners import (
        C45Classifier,
        ForestClassifier,
        ForestRegressor,
        GiniForestClassifier,
        ID3Classifier,
        InfoGainForestClassifier,
        RandomDecisionForestClassifier,
        RandomDecisionForestRegressor,
        SignalForestClassifier,
    )
    from frith.learners.private_domain import draft_privately
    from frith.learners.private_score import private_score
    from frith.learners.search import PrivateSearchCV
    from frith.learners.session import budget
    from frith.ledger import Ledger
    from frith.privacy import Budget, Guarantee

# Names are imported when first used, so that `import frith` and the command line start fast.
_HOMES = {
    "Budget": "frith.privacy",
    "BudgetExceeded": "frith.errors",
    "C45Classifier": "frith.learners",
    "Categorical": "frith.domain",
    "Date": "frith.domain",
    "Domain": "frith.domain",
    "Forest": "frith.forest.forest",
    "ForestClassifier": "frith.learners",
    "ForestRegressor": "frith.learners",
    "FrithError": "frith.errors",
    "GiniForestClassifier": "frith.learners",
    "Guarantee": "frith.privacy",
    "ID3Classifier": "frith.learners",
    "InfoGainForestClassifier": "frith.learners",
    "Ledger": "frith.ledger",
    "Numeric": "frith.domain",
    "Ordered": "frith.domain",
    "Person": "frith.domain",
    "PrivacyLeakWarning": "frith.errors",
    "PrivateSearchCV": "frith.learners.search",
    "RandomDecisionForestClassifier": "frith.learners",
    "RandomDecisionForestRegressor": "frith.learners",
    "RemoteError": "frith.errors",
    "SignalForestClassifier": "frith.learners",
    "budget": "frith.learners.session",
    "check": "frith.engines.check",
    "connect": "frith.client",
    "draft_domain": "frith.engines.draft",
    "draft_privately": "frith.learners.private_domain",
    "learn_domain": "frith.engines.draft",
    "open_table": "frith.engines",
    "private_score": "frith.learners.private_score",
}
__all__ = [
    "Budget",
    "BudgetExceeded",
    "C45Classifier",
    "Categorical",
    "Date",
    "Domain",
    "Forest",
    "ForestClassifier",
    "ForestRegressor",
    "FrithError",
    "GiniForestClassifier",
    "Guarantee",
    "ID3Classifier",
    "InfoGainForestClassifier",
    "Ledger",
    "Numeric",
    "Ordered",
    "Person",
    "PrivacyLeakWarning",
    "PrivateSearchCV",
    "RandomDecisionForestClassifier",
    "RandomDecisionForestRegressor",
    "RemoteError",
    "SignalForestClassifier",
    "budget",
    "check",
    "connect",
    "draft_domain",
    "draft_privately",
    "learn_domain",
    "open_table",
    "private_score",
]


_ROOMS = ("audit", "datasets", "parties")


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"frith.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'frith' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_ROOMS})
