"""What a request takes, estimated from public sizes: shown, refused, and where a job is killed."""

from dataclasses import replace

import numpy as np
import pytest

from frith.client.kinds import JobKind
from frith.domain import Categorical, Domain, Numeric
from frith.growing.random_trees import grow_random_trees, random_tree_depth
from frith.learners import BY_NAME
from frith.privacy.budget import Budget
from frith.server.budget import tables
from frith.server.jobs import sizes
from frith.server.jobs.requests import ask_to_train
from tests.server.conftest import refused, said

HUGE = {"learner": "random-decision", "parameters": {"n_trees": 3_000, "max_depth": 9}}


@pytest.fixture
def domain(house):
    with house.database.read() as session:
        return tables.domain_of(tables.get_table(session, house.table))


def estimated(domain, learner="random-decision", kind=JobKind.TRAIN, epsilon="1", **parameters):
    asked = ask_to_train(kind, learner, Budget.of(epsilon), parameters, domain)
    return sizes.estimate(None, asked, domain)


def limited(house, domain, kind=JobKind.TRAIN, **parameters):
    asked = ask_to_train(kind, "random-decision", Budget.of("1"), parameters, domain)
    return sizes.limits(house.settings, None, asked, domain)


@pytest.mark.parametrize("kind", ["forests", "dry-runs", "quotes"])
def test_what_is_too_large_is_refused_before_anything_is_reserved_or_queued(house, kind):
    before = house.entries()
    message = refused(house.analyst.ask(house.table, kind=kind, **HUGE), "invalid")
    assert "cells, and this server allows 8,388,608" in message
    assert "nothing was charged" in message
    assert said(house.analyst.get("/v1/jobs")) == []
    assert house.entries() == before


def test_operators_set_what_is_too_large(house):
    for setting in ("job_cells", "job_bytes", "job_seconds"):
        house.set(**{"job_cells": 2**40, "job_bytes": 2**50, "job_seconds": 10**9, setting: 0})
        refused(house.analyst.ask(house.table), "invalid")
    house.set(job_seconds=10**9)
    said(house.analyst.ask(house.table), 202)


def test_a_quote_says_how_much_a_request_takes(house):
    forest = house.train()["id"]
    quote = said(house.analyst.ask(house.table, kind="quotes"))
    assert quote["estimate"]["cells"] > 0
    score = said(house.analyst.post(f"/v1/forests/{forest}/quotes", json={"epsilon": "0.1"}))
    assert score["estimate"]["cells"] == quote["estimate"]["cells"], "it walks the same trees"


@pytest.mark.parametrize("learner", sorted(BY_NAME))
def test_every_learner_as_it_is_offered_is_within_the_limits(house, domain, learner):
    for one in (domain, replace(domain, records=None)):
        for epsilon in ("0.001", "1", "100"):
            sizes.check(house.settings, estimated(one, learner, epsilon=epsilon))


@pytest.mark.parametrize(
    ("learner", "grows"),
    [("random-decision", "n_trees"), ("random-decision", "max_depth"), ("info-gain", "n_trees"),
     ("info-gain", "max_depth"), ("gini", "max_depth"), ("id3", "max_depth"), ("c45", "max_depth")],
)  # fmt: skip
def test_estimates_grow_with_what_is_asked(domain, learner, grows):
    less, more = (estimated(domain, learner, epsilon="10", **{grows: n}) for n in (2, 4))
    assert less.cells < more.cells
    assert less.bytes < more.bytes


def test_words_where_numbers_are_expected_are_left_to_the_learner(domain):
    for learner in BY_NAME:
        for name in ("n_trees", "max_depth", "bins", "min_support"):
            known = ask_to_train(JobKind.TRAIN, learner, Budget.of("1"), {}, domain)
            for value in ("some", 0.5, 0, None):
                if name in known.details["parameters"]:
                    assert estimated(domain, learner, **{name: value}).cells >= 0


def test_an_estimate_is_about_what_a_run_asks(house, domain):
    """The largest question of real runs has at most ten times, and at least a tenth of, its cells."""
    for learner, parameters in (("random-decision", {"n_trees": 4, "max_depth": 4}),
                                ("info-gain", {"n_trees": 2, "max_depth": 3})):  # fmt: skip
        job = house.train(learner=learner, parameters=parameters, epsilon="1")
        forest = said(house.analyst.get(f"/v1/forests/{job['id']}"))["forest"]
        leaves = sum(a < 0 for a in forest["trees"]["attribute"]) * domain.n_labels
        assert leaves / 10 <= estimated(domain, learner, **parameters).cells <= leaves * 40


def test_limits_are_a_margin_over_the_estimate_and_no_record_is_read_for_them(house, domain):
    small = limited(house, domain, n_trees=2, max_depth=2)
    large = limited(house, domain, n_trees=20, max_depth=5)
    assert sizes.LEAST_BYTES < small.bytes < large.bytes
    assert sizes.LEAST_SECONDS < small.seconds <= large.seconds
    undeclared = replace(domain, records=None)
    unknown = limited(house, undeclared, n_trees=2, max_depth=2)
    most = house.settings
    assert unknown.seconds == most.job_seconds
    assert unknown.bytes == sizes.LEAST_BYTES + sizes.MEMORY_MARGIN * most.job_bytes
    dry = limited(house, undeclared, JobKind.DRY_RUN, n_trees=2, max_depth=2)
    assert dry.seconds < unknown.seconds, "its records are made up, and counted"


def test_every_guarantee_names_the_limits_among_its_assumptions(house):
    forest = house.train()["id"]
    guarantee = said(house.analyst.get(f"/v1/forests/{forest}"))["forest"]["guarantee"]
    assert any("limit of time or memory" in line for line in guarantee["assumptions"])


ZIP = Domain(
    [
        Categorical("zip", tuple(map(str, range(1_000)))),
        Categorical("b", ("0", "1")),
        Numeric("n", 0, 1),
    ],
    Categorical("y", ("0", "1")),
)
MIXED = Domain(
    [*(Numeric(f"n{i}", 0, 1) for i in range(6)),
     *(Categorical(f"c{n}", tuple(map(str, range(n)))) for n in (9, 16, 7, 15, 6, 5, 2, 42))],
    Categorical("y", ("0", "1")),
)  # fmt: skip


@pytest.mark.parametrize("learner", sorted(BY_NAME))
@pytest.mark.parametrize("records", [1_000, 10_000, 100_000])
def test_one_attribute_of_many_values_is_not_taken_for_many(house, learner, records):
    """Before, a path was thought to ask for it again and again: billions of counters, all refused."""
    sizes.check(house.settings, estimated(replace(ZIP, records=records), learner, epsilon="0.1"))


@pytest.mark.parametrize(("domain", "records"), [(MIXED, 1_000), (MIXED, 100_000), (ZIP, 10_000)])
def test_random_trees_are_as_large_as_was_estimated(domain, records):
    """Before, those of categories and numbers were five times larger: a job could be killed for it."""
    domain = replace(domain, records=records)
    depth = random_tree_depth(domain, records, 40)
    grown = grow_random_trees(domain, 40, depth, np.random.default_rng(0))
    leaves = 2 * int((grown.attribute < 0).sum())
    assert 0.5 < estimated(domain, n_trees=40).cells / leaves < 2
