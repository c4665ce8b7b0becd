"""Forests: the release and what is derived from it, free; scores, updates and counts of rules, charged.

Training starts from a table: see `tables.py`.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse

from frith.client import requests, responses
from frith.client.kinds import JobKind
from frith.client.responses import ForestResponse, JobResponse, PredictionResponse
from frith.curator.scoring import ScoreRequest
from frith.server.api.jobs import Limit
from frith.server.api.tables import Key
from frith.server.auth.caller import HEAVY, Before, Called, Caller
from frith.server.budget.amounts import read_budget
from frith.server.jobs import forests, history
from frith.server.jobs.downloads import unpacked, with_fields
from frith.server.problems import invalid

router = APIRouter(tags=["forests"])


@router.get("/forests")
def list_forests(
    caller: Called, before: Before = None, limit: Limit = history.PAGE
) -> list[JobResponse]:
    """Your forests, the newest first, one page at a time."""
    context = caller.context
    with caller.read() as session:
        found = forests.list_forests(context, session, caller.member, before, limit)
        return history.describe_all(context, session, found)


@router.get("/forests/{forest}", dependencies=HEAVY, response_model=ForestResponse)
def get_forest(forest: str, caller: Called) -> Response:
    """A forest with its guarantee, and your receipt."""
    found = _find(forest, caller)
    receipt = None if found.receipt is None else found.receipt.to_json()
    text = with_fields({"id": found.id, "receipt": receipt}, unpacked(found.packed()))
    return StreamingResponse(text, media_type="application/json")


@router.get("/forests/{forest}/rules", dependencies=HEAVY)
def get_rules(
    forest: str, caller: Called, top: Annotated[int, Query(ge=1, le=1000)] = 50
) -> dict[str, Any]:
    """The forest's clearest rules, with their noise; the counted ones, if any were counted."""
    return _find(forest, caller).rules()[:top].to_json()


@router.get("/forests/{forest}/importances", dependencies=HEAVY)
def get_importances(forest: str, caller: Called) -> dict[str, float]:
    """The importance of each attribute, computed from releases alone."""
    return {str(k): float(v) for k, v in _find(forest, caller).forest().importances().items()}


@router.get("/forests/{forest}/effects", dependencies=HEAVY)
def get_effects(forest: str, caller: Called) -> dict[str, Any]:
    """The effects of a forest of scores, by attribute and by pair of attributes. Free."""
    return _find(forest, caller).effects().to_json()


@router.get(
    "/forests/{forest}/picture.svg",
    dependencies=HEAVY,
    response_class=Response,
    responses={200: {"content": {"image/svg+xml": {"schema": {"type": "string"}}}}},
)
def get_picture(
    forest: str,
    caller: Called,
    tree: Annotated[int | None, Query(ge=0, le=100_000)] = None,
) -> Response:
    """A picture of one tree, or of the whole forest."""
    return Response(_find(forest, caller).draw(tree), media_type="image/svg+xml")


@router.get(
    "/forests/{forest}/model.onnx",
    dependencies=HEAVY,
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}}},
)
def get_onnx(forest: str, caller: Called) -> Response:
    """The forest as an ONNX model."""
    return Response(_find(forest, caller).to_onnx(), media_type="application/octet-stream")


@router.post("/forests/{forest}/predictions", dependencies=HEAVY)
def predict(forest: str, asked: requests.PredictionRequest, caller: Called) -> PredictionResponse:
    """Predict labels and probabilities, or numbers, for your own records. Free."""
    return forests.predict(_find(forest, caller).forest(), asked.records)


@router.post("/forests/{forest}/quotes")
def quote(forest: str, asked: requests.QuoteRequest, caller: Called) -> responses.Quote:
    """What a score of this forest, an update with a batch or counts of its rules would cost. Free."""
    context, budget = caller.context, read_budget(asked.epsilon, asked.delta)
    if asked.batch is not None and asked.rules:
        raise invalid("a quote is for an update or for counts of rules; ask for each apart")
    kind = JobKind.RULES if asked.rules else JobKind.UPDATE if asked.batch else JobKind.SCORE
    about = forests.About(kind, asked.batch or "")
    with caller.read() as session:
        return forests.quote(context, session, forest, caller.member, budget, about)


@router.post("/forests/{forest}/scores", status_code=202)
def score(
    forest: str, asked: requests.ScoreRequest, caller: Called, key: Key = None
) -> JobResponse:
    """Ask for a noisy confusion matrix of this forest on its table, or for scores of its probabilities.

    Naming metrics, attributes or a label asks for the latter: AUC, log loss, Brier score, calibration and
    rates in groups, with 95% intervals. A forest that predicts a number is scored by R2, RMSE and MAE, with
    standard errors. Charged.
    """
    scoring = None
    if asked.metrics is not None or asked.by or asked.positive is not None:
        scoring = ScoreRequest(asked.metrics, tuple(asked.by), asked.positive)
    return _ask(forest, asked, caller, forests.About(JobKind.SCORE, scoring=scoring), key)


@router.post("/forests/{forest}/updates", status_code=202)
def update(
    forest: str, asked: requests.UpdateRequest, caller: Called, key: Key = None
) -> JobResponse:
    """Ask for this random decision forest with a batch's records added. Charged."""
    return _ask(forest, asked, caller, forests.About(JobKind.UPDATE, asked.batch), key)


@router.post("/forests/{forest}/rules", status_code=202)
def count_rules(
    forest: str, asked: requests.BudgetRequest, caller: Called, key: Key = None
) -> JobResponse:
    """Ask for this forest with a few of its rules counted on its table. Charged."""
    return _ask(forest, asked, caller, forests.About(JobKind.RULES), key)


def _ask(
    forest: str,
    asked: requests.BudgetRequest,
    caller: Caller,
    about: forests.About,
    key: str | None,
) -> JobResponse:
    context, budget = caller.context, read_budget(asked.epsilon, asked.delta)
    with caller.act("ask", forest) as session:
        job = forests.ask(context, session, forest, caller.member, budget, about, key, asked.reason)
        return history.describe(context, session, job)


def _find(forest: str, caller: Caller) -> forests.Released:
    with caller.read() as session:
        return forests.find_forest(caller.context, session, forest, caller.member)
