"""A forest: its guarantee, its rules, its pictures, and the forms that ask for more."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from sqlalchemy.orm import Session

from frith.client.estimators import score_of
from frith.client.kinds import JobKind, ProblemCode
from frith.curator.scoring import ScoreRequest
from frith.forest import Forest
from frith.forest.report.facts import NOT_THE_SAME, facts_of, recipe, spent_rows
from frith.growing.rule_tree import margin_of_rules
from frith.privacy.budget import Budget
from frith.server.auth.caller import HEAVY
from frith.server.budget import tables
from frith.server.budget.amounts import read_budget
from frith.server.budget.member_view import View
from frith.server.jobs import forests, history
from frith.server.jobs.forests import Released
from frith.server.problems import Problem
from frith.server.web.confirming import confirm, is_confirmed
from frith.server.web.downloads import IMAGE, download, find
from frith.server.web.forms import EMPTY, Form, PostedForm, read_reason
from frith.server.web.page_request import Page, PageRequest
from frith.server.web.prices import price
from frith.server.web.tables import own_account, slider

router = APIRouter()
Tree = Annotated[int | None, Query(ge=0, le=100_000)]
_RULES = 20  # shown at first
_MAX_RULES = 10_000  # in a download, the clearest
SCORE, RULES = forests.About(JobKind.SCORE), forests.About(JobKind.RULES)


@router.get("/forests/{forest}", dependencies=HEAVY)
def show_forest(
    forest: str,
    page: Page,
    tree: Tree = None,
    label: Annotated[int | None, Query(ge=0, le=100_000)] = None,
    rules: Annotated[int, Query(ge=1, le=1000)] = _RULES,
) -> Response:
    """Show a forest; `label` is the index of the label whose rules to list."""
    try:
        return _forest_page(page, forest, tree=tree, label=label, n_rules=rules)
    except Problem as problem:
        if problem.code != ProblemCode.NOT_READY:
            raise
        return page.go("jobs", forest)


@router.get("/forests/{forest}/picture.svg", dependencies=HEAVY)
def show_picture(forest: str, page: Page, tree: Tree = None) -> Response:
    picture = find(page, forest).draw(tree)
    return Response(picture, headers=IMAGE, media_type="image/svg+xml")


@router.get("/forests/{forest}/forest.json", dependencies=HEAVY)
def download_json(forest: str, page: Page) -> Response:
    """The file that `frith show` and `Forest.load` read."""
    text = find(page, forest).download()
    return download(StreamingResponse(text, media_type="application/json"), f"{forest}.json")


@router.get("/forests/{forest}/model.onnx", dependencies=HEAVY)
def download_onnx(forest: str, page: Page) -> Response:
    model = find(page, forest).to_onnx()
    return download(Response(model, media_type="application/octet-stream"), f"{forest}.onnx")


@router.get("/forests/{forest}/rules.csv", dependencies=HEAVY)
def download_rules(forest: str, page: Page) -> Response:
    rules = find(page, forest).rules()[:_MAX_RULES]
    return download(Response(rules.to_csv(), media_type="text/csv"), f"{forest}-rules.csv")


@router.get("/forests/{forest}/quote")
def quote(
    forest: str,
    page: Page,
    epsilon: str = "",
    delta: str = "",
    batch: str | None = None,
    rules: bool = False,
) -> JSONResponse:
    """What a score, an update with a batch or counts of rules would cost."""
    about = SCORE if batch is None else forests.About(JobKind.UPDATE, batch)
    with page.read() as session:
        found = forests.find_forest(page.context, session, forest, page.member)
        view = tables.see(session, found.job.table, page.member)
        price = _price(page, session, found, view, RULES if rules else about, epsilon, delta)
        return JSONResponse(price)


@router.post("/forests/{forest}/scores", dependencies=HEAVY)
def score(form: PostedForm, forest: str, page: Page) -> Response:
    return _ask(page, forest, form, "score", _scoring(form), "Score")


@router.post("/forests/{forest}/updates", dependencies=HEAVY)
def update(form: PostedForm, forest: str, page: Page) -> Response:
    about = forests.About(JobKind.UPDATE, form.text("batch"))
    return _ask(page, forest, form, "update", about, "Update")


@router.post("/forests/{forest}/rules", dependencies=HEAVY)
def count_rules(form: PostedForm, forest: str, page: Page) -> Response:
    return _ask(page, forest, form, "counted", RULES, "Count the rules of")


def _scoring(form: Form) -> forests.About:
    """A confusion matrix, or scores of one label's probabilities."""
    if form.text("what") != "probabilities":
        return SCORE
    by = (form.text("by"),) if form.text("by") else ()
    asked = ScoreRequest(None, by, form.text("positive") or None)
    return forests.About(JobKind.SCORE, scoring=asked)


def _ask(
    page: PageRequest, forest: str, form: Form, at: str, about: forests.About, verb: str
) -> Response:
    question = _confirm(page, forest, form, at, about, verb)
    if question is not None:
        return question
    try:
        budget = read_budget(form.text("epsilon"), form.text("delta") or "0")
        reason = read_reason(form)
        with page.act("ask", forest) as session:
            job = forests.ask(
                page.context, session, forest, page.member, budget, about, reason=reason
            )
    except Problem as problem:
        return _forest_page(page, forest, form=form, problem=problem, at=at)
    return page.go("jobs", job.id)


def _confirm(
    page: PageRequest, forest: str, form: Form, at: str, about: forests.About, verb: str
) -> HTMLResponse | None:
    """The page that asks whether to spend; None after the answer, or if the request will be refused."""
    with page.read() as session:
        try:
            found = forests.find_forest(page.context, session, forest, page.member)
            view = tables.see(session, found.job.table, page.member)
            read_reason(form)
        except Problem:
            return None
        epsilon, delta = form.text("epsilon"), form.text("delta")
        said = _price(page, session, found, view, about, epsilon, delta)
        if is_confirmed(form, said):
            return None
        apart = about.batch if about.batch in tables.list_disjoint(session, view.name) else None
        account = own_account(page, session, view, apart)
    return confirm(page, form, said, account, f"{verb} a forest on {view.name}.",
                   f"/forests/{forest}#{at}")  # fmt: skip


def _forest_page(
    page: PageRequest,
    forest: str,
    *,
    tree: int | None = None,
    label: int | None = None,
    n_rules: int = _RULES,
    form: Form = EMPTY,
    problem: Problem | None = None,
    at: str = "",
) -> HTMLResponse:
    with page.read() as session:
        found = forests.find_forest(page.context, session, forest, page.member)
        said = history.describe(page.context, session, found.job)
        scores = _scores(page, session, found)
        asking = _asking(page, session, found, form, at)
    return page.show(
        "forest.html", problem.status if problem else 200,
        found=found, job=said, scores=scores, asking=asking, form=form, problem=problem, at=at,
        **_read(found.forest(), tree, label, n_rules),
    )  # fmt: skip


def _read(forest: Forest, tree: int | None, label: int | None, n_rules: int) -> dict[str, Any]:
    """The template's values about the forest itself."""
    important = forest.importances(errors=True).sort_values("importance", ascending=False)
    return {
        "forest": forest,
        "effects_unit": forest.effects().unit if forest.domain.has_target else "",
        **({} if forest.domain.has_target else _of_labels(forest, tree, label, n_rules)),
        "importances": list(important.itertuples()),
        "facts": [*facts_of(forest), *spent_rows(forest)],
        "recipe": recipe(forest),
        "not_the_same": NOT_THE_SAME,
        "never_asked": [
            n for a, n in enumerate(forest.domain.names) if a not in forest.trees.asked
        ],
    }


def _of_labels(forest: Forest, tree: int | None, label: int | None, n_rules: int) -> dict[str, Any]:
    """What a forest of labels has: pictures of its trees, and rules."""
    labels, n_trees = forest.domain.label_values, forest.trees.n_trees
    for what, place, count in (("trees", tree, n_trees), ("labels", label, len(labels))):
        if place is not None and place >= count:
            raise Problem(ProblemCode.NOT_FOUND, f"the forest has {count} {what}, counted from 0")
    rules = forest.rules(label=None if label is None else labels[label])
    return {
        "tree": tree,
        "label": label,
        "counted": forest.measured.rules() if forest.measured else None,
        "rules_margin": margin_of_rules(Fraction(1, 5), len(labels)),
        "n_rules": len(rules),
        "rules": rules[:n_rules],
    }


def _scores(page: PageRequest, session: Session, found: Released) -> list[dict[str, Any]]:
    context = page.context
    return [
        {
            "job": history.describe(context, session, job),
            "score": score_of(history.released(context, session, job)["score"]),
        }
        for job in forests.list_scores(context, session, found.job)
    ]


def _asking(
    page: PageRequest, session: Session, found: Released, form: Form, at: str
) -> dict[str, Any] | None:
    """The template's values for the forms that ask for more; None if the member may not ask."""
    if found.job.member != page.member.name or found.is_dry:
        return None
    try:
        view = tables.see(session, found.job.table, page.member)
    except Problem:  # the grant was withdrawn; the forest stays
        return None
    is_number = view.domain.has_target
    batches = [] if is_number else tables.list_batches(session, view.name)
    batch = form.text("batch") or (batches[0].name if batches else "")
    forms = {"score": (SCORE, "0.1"), "update": (forests.About(JobKind.UPDATE, batch), "0.5"),
             "counted": (RULES, "0.2")}  # fmt: skip
    forms = {"score": forms["score"]} if is_number else forms
    epsilon = {name: (form.text("epsilon") if at == name else "") or usual
               for name, (_, usual) in forms.items()}  # fmt: skip
    return {
        "view": view,
        "account": own_account(page, session, view),
        "slider": slider(view),
        "batches": batches if found.learner == "random-decision" else [],
        "epsilon": epsilon,
        "price": {
            name: _price(page, session, found, view, about, epsilon[name])
            for name, (about, _) in forms.items()
        },
    }


def _price(
    page: PageRequest,
    session: Session,
    found: Released,
    view: View,
    about: forests.About,
    epsilon: str,
    delta: str = "",
) -> dict[str, Any]:
    def check(budget: Budget) -> str | None:
        return forests.ask_about(session, found, view, budget, about)[1]

    return price(page, session, view, epsilon, delta, check)
