"""The OpenAPI document against the server: what it does not say does not happen."""

import os
import shutil

import pytest
import schemathesis
from hypothesis import given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from frith.server.app import make_app
from frith.server.auth import members
from frith.server.jobs import upkeep
from frith.server.problems import STATUS
from frith.server.run.sample import with_sample
from frith.server.settings import Settings
from tests.server.conftest import HandClock, House, made_once, said

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    unsupported_method,
]
pytestmark = pytest.mark.xdist_group("openapi")  # one busy server for all of them
EXAMPLES = 200 if os.environ.get("FRITH_FULL") == "1" else 4
MODES = {"good": GenerationMode.POSITIVE, "bad": GenerationMode.NEGATIVE}


OPERATIONS = [
    (method.upper(), path, mode)
    for path, methods in made_once().openapi()["paths"].items()
    for method in methods
    for mode in MODES
    if path not in ("/health", "/ready")
    or mode != "bad"  # it takes nothing, so nothing can be wrong with it
]


@pytest.fixture(scope="module")
def busy(template, tmp_path_factory):
    """A server with jobs of every state, whose state the calls may change as they like."""
    folder = tmp_path_factory.mktemp("busy") / "house"
    shutil.copytree(template[0], folder)
    allowed = Settings(
        requests_per_second=10**9, failures_per_minute=10**9, queued_per_member=10**9
    )
    house = House(folder, template[1], with_sample(allowed, folder), HandClock(), make_app)
    house.forest = house.train(epsilon="0.1")["id"]
    score = said(house.analyst.post(f"/v1/forests/{house.forest}/scores", json={"epsilon": 1}), 202)
    house.work()
    house.train(parameters={"n_trees": 0})
    queued = said(house.analyst.ask(house.table, epsilon="0.3"), 202)["id"]
    house.add("bea")
    upkeep.mark_seen(house.context, "w")
    with house.database.write() as session:
        spare = members.issue_token(house.context, session, "bea").token.id
    raised = {"policy": {"epsilon": "50"}, "reason": "the second wave"}
    proposal = said(house.curator.post(f"/v1/tables/{house.table}/proposals", json=raised), 201)
    house.values = {
        "table": [house.table],
        "forest": [house.forest, queued],
        "job": [house.forest, score["id"], queued],
        "member": ["ana", "bea"],
        "token": [spare],
        "proposal": [proposal["id"]],
    }
    house.schema = schemathesis.openapi.from_dict(house.app.openapi())
    house.schema.app = house.app
    yield house
    house.database.close()


@pytest.mark.parametrize(("method", "path", "mode"), OPERATIONS, ids=lambda text: text)
def test_the_document_says_everything_that_happens(busy, method, path, mode):
    cases = busy.schema[path][method].as_strategy(generation_mode=MODES[mode])

    @settings(max_examples=EXAMPLES)
    @given(case=cases, data=st.data(), who=st.sampled_from(["curator", "analyst"]))
    def check(case, data, who):
        for name in case.path_parameters:
            there = [st.just(case.path_parameters[name]), st.sampled_from(busy.values[name])]
            case.path_parameters[name] = data.draw(st.one_of(*reversed(there)))
        token = {"Authorization": f"Bearer {getattr(busy, who).token}"}
        case.call_and_validate(headers=token, checks=CHECKS)

    check()


def test_the_document_says_who_one_must_be(busy):
    for path, methods in busy.app.openapi()["paths"].items():
        for operation in methods.values():
            assert ("security" in operation) == (path not in ("/health", "/ready")), path


def test_the_document_lists_every_way_to_refuse(busy):
    for path, methods in busy.app.openapi()["paths"].items():
        for operation in methods.values():
            if path not in ("/health", "/ready"):
                assert {str(s) for s in STATUS.values()} <= set(operation["responses"])
                for status in ("429", "503"):
                    assert "Retry-After" in operation["responses"][status]["headers"]
