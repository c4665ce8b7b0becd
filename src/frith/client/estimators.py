"""Fitted estimators made from a server's forests, and their ids on the server."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from frith.client.responses import ForestResponse, ScoreResponse
from frith.errors import FormatError

if TYPE_CHECKING:
    from frith.curator.confusion import Score
    from frith.curator.label_score import LabelScore
    from frith.curator.number_score import NumberScore
    from frith.learners import PrivateForest


def read_estimator(data: Any) -> PrivateForest:
    """A fitted estimator with the parameters, the receipt and the id of a server's forest."""
    from frith.forest import Forest
    from frith.forest.origin import Origin
    from frith.learners import learners_for

    found = ForestResponse.read(data)
    forest = Forest.from_json(found.forest)
    known = learners_for(forest.domain)
    if found.learner not in known:
        raise FormatError(
            f"this frith has no learner {found.learner!r}; upgrade it to read this forest"
        )
    kind = known[found.learner]
    origin = Origin.of(kind.__name__, found.parameters, found.receipt)
    forest = replace(forest, origin=origin)
    model: Any = kind.from_forest(forest, found.receipt, **found.parameters)
    model.remote_id_, model._from_server = found.id, forest
    return model


def read_score(data: Any) -> Score | LabelScore | NumberScore:
    return score_of(ScoreResponse.read(data).score)


def score_of(document: Any) -> Score | LabelScore | NumberScore:
    """A confusion matrix, scores of a label's probabilities, or errors of predicted numbers."""
    from frith.curator import confusion, label_score, number_score

    written = document.get("format") if isinstance(document, dict) else None
    if written == label_score.FORMAT:
        return label_score.LabelScore.from_json(document)
    if written == number_score.FORMAT:
        return number_score.NumberScore.from_json(document)
    return confusion.Score.from_json(document)


def id_of(forest: PrivateForest | str) -> str:
    """The id of a forest on the server, given the id itself or an estimator."""
    if isinstance(forest, str):
        return forest
    known = getattr(forest, "_from_server", None)
    if known is None or known is not getattr(forest, "forest_", None):
        raise ValueError(
            "the server does not have this forest: it was trained or updated elsewhere; pass an "
            "estimator that came from the server, or the id of a forest"
        )
    return str(forest.remote_id_)
