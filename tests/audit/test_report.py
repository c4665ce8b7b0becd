"""What an audit says: as data and as a page."""

import json
import math
from fractions import Fraction

import pytest

from frith import Budget
from frith.audit.html import audit_page, summary
from frith.audit.ladder import audit_learner
from frith.audit.outcomes import Outcome, Report, Status, versions

OUTCOMES = (
    Outcome("replay", "x", Status.PASSED, "fine <b>", seconds=1.0),
    Outcome("small world", "x", Status.FAILED, "bad", loss=math.inf),
    Outcome("black box", "x", Status.PASSED, "so so", loss=0.4, confidence=0.95),
    Outcome("canaries", "x", Status.PASSED, "better", loss=0.6, confidence=0.95, seconds=0.5),
)


def report():
    return Report("x", Budget.of("1/3", 1e-6), "quick", OUTCOMES)


def test_a_report_states_claim_bounds_rungs_time_and_versions():
    data = json.loads(json.dumps(report().to_json()))
    assert data["claimed"] == {"epsilon": "1/3", "delta": "1e-06"}
    assert (data["measured"]["loss"], data["measured"]["confidence"]) == (0.6, 0.95)
    assert data["computed"]["loss"] == "inf"
    assert (data["passed"], data["seconds"]) == (False, 1.5)
    assert data["versions"] == versions()
    assert [o["status"] for o in data["outcomes"]] == ["passed", "failed", "passed", "passed"]


def test_the_status_of_a_rung_is_the_worst_of_its_forms():
    both = (Outcome("replay", "a", Status.PASSED, ""), Outcome("replay", "b", Status.FAILED, ""))
    told = Report("x", Budget.of(1), "quick", both)
    assert told.status_of("replay") == "failed"
    assert told.status_of("canaries") == "not checked"


def test_a_rung_that_checked_nothing_did_not_pass():
    fine, nothing = (
        Outcome(r, "a", s, "") for r, s in (("replay", Status.PASSED), ("x", Status.NOT_CHECKED))
    )
    assert Report("x", Budget.of(1), "quick", (fine,)).passed
    assert not Report("x", Budget.of(1), "quick", (fine, nothing)).passed
    part = Outcome("x", "a part of it", Status.PASSED, "")
    assert Report("x", Budget.of(1), "quick", (fine, nothing, part)).passed
    assert not Report("x", Budget.of(1), "quick", ()).passed


def test_the_page_stands_alone_and_shows_text_as_text():
    text = audit_page([report()])
    assert "fine &lt;b&gt;" in text
    assert "<b>" not in text
    assert "http" not in text
    assert "<script" not in text
    assert "Finding nothing proves nothing" in text
    assert "at least 0.600, at 95% confidence" in " ".join(summary(report()))


def test_an_unknown_learner_is_refused():
    with pytest.raises(ValueError, match="there are forest"):
        audit_learner("oak", Budget.of(Fraction(1)))
