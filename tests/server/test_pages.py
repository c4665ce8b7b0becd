"""The pages: who may open them, what forged forms come to, and what they say."""

from __future__ import annotations

import importlib
import json
import re
from datetime import timedelta
from fractions import Fraction
from html import unescape
from html.parser import HTMLParser

import pytest
from starlette.testclient import TestClient

from frith import Categorical, Domain, Forest, Numeric
from frith.learners import BY_NAME
from frith.privacy.neighbors import RECORD
from frith.server.auth import members
from frith.server.auth.sessions import COOKIE
from frith.server.budget import tables
from frith.server.context import stamp
from frith.server.jobs import lifecycle
from frith.server.run.sample import ANALYST, CONNECTION
from frith.server.web.render import STATIC
from tests.server.conftest import HOST, domain_text, small_domain

HOSTILE = "<script>alert(1)</script>\"'&"


class Browser:
    """A signed-in browser that follows no redirect and knows its forms' CSRF text."""

    def __init__(self, house, token):
        self.client = TestClient(
            house.app, HOST, raise_server_exceptions=False, follow_redirects=False
        )
        answer = self.client.post("/sign-in", data={"token": token})
        assert answer.status_code == 303, answer.text
        self.cookie = answer.headers["set-cookie"]

    @property
    def csrf(self):
        return re.search(r'name="csrf" value="(\w+)"', self.get("/account").text)[1]

    def get(self, path, status=200):
        answer = self.client.get(path)
        assert answer.status_code == status, answer.text
        return answer

    def post(self, path, status=303, **fields):
        """Send a form; where a page asks whether to spend, agree, unless that page is wanted."""
        answer = self.client.post(path, data={"csrf": self.csrf} | fields)
        price = re.search(r'name="confirmed" value="([^"]+)"', answer.text)
        if price and status != 200:
            return self.post(path, status, **fields | {"confirmed": price[1]})
        assert answer.status_code == status, answer.text
        return answer

    def train(self, house, **fields):
        """The name of a forest that was asked for by the form, and is done."""
        quick = {"learner": "random-decision", "epsilon": "0.5", "random-decision-n_trees": "2"}
        job = job_of(self.post(f"/tables/{house.table}/forests", **quick | fields))
        house.work()
        return job


def job_of(answer):
    return answer.headers["location"].removeprefix("/jobs/")


@pytest.fixture
def analyst(house):
    return Browser(house, house.sample.analyst_token)


@pytest.fixture
def curator(house):
    return Browser(house, house.sample.curator_token)


# -- signing in and out ----------------------------------------------------------------------------


def test_pages_send_strangers_to_sign_in_and_back(house):
    stranger = TestClient(house.app, HOST, follow_redirects=False)
    for path in ("/", "/tables/nursery", "/curate", "/no/such/page", "/jobs/x/state"):
        answer = stranger.get(path)
        assert (answer.status_code, answer.headers["location"]) == (303, f"/sign-in?next={path}")
    form = stranger.get("/sign-in?next=/jobs").text
    assert 'name="next" value="/jobs"' in form
    token = house.sample.analyst_token
    assert (
        stranger.post("/sign-in", data={"token": token, "next": "/jobs"}).headers["location"]
        == "/jobs"
    )


@pytest.mark.parametrize(
    "path",
    [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "/\t/evil",
        "x",
        "",
    ],
)
def test_signing_in_leads_nowhere_else(house, path):
    stranger = TestClient(house.app, HOST, follow_redirects=False)
    fields = {"token": house.sample.analyst_token, "next": path}
    assert stranger.post("/sign-in", data=fields).headers["location"] == "/"
    assert "evil" not in stranger.get("/sign-in", params={"next": path}).text


def test_the_cookie_is_for_the_server_alone(house, analyst):
    assert {"HttpOnly", "Path=/", "SameSite=strict"} <= set(analyst.cookie.split("; "))
    assert "Secure" not in analyst.cookie
    house.set(secure_cookies=True)
    stranger = TestClient(house.app, "https://frith.test", follow_redirects=False)
    answer = stranger.post("/sign-in", data={"token": house.sample.analyst_token})
    assert "Secure" in answer.headers["set-cookie"].split("; ")


def test_a_wrong_token_is_told_so_and_guessing_is_slowed(house):
    house.set(failures_per_minute=3)
    stranger = TestClient(house.app, HOST, follow_redirects=False)
    said = [stranger.post("/sign-in", data={"token": f"frith_x_{i}"}) for i in range(5)]
    assert [a.status_code for a in said] == [401, 401, 401, 429, 429]
    assert "valid token" in said[0].text
    assert "wait a minute" in said[-1].text
    assert [a.headers.get("retry-after") for a in said] == [None] * 3 + ["60"] * 2
    assert all("set-cookie" not in a.headers for a in said)


def test_a_tampered_or_unknown_cookie_opens_nothing(house, analyst):
    stranger = TestClient(house.app, HOST, follow_redirects=False)
    real = analyst.client.cookies[COOKIE]
    for cookie in ("", "x", real[:-1], real + "0", real.upper(), '"\\', "a" * 10_000):
        answer = stranger.get("/", headers={"cookie": f"{COOKIE}={cookie}"})
        assert answer.status_code == 303, cookie


def test_signing_out_ends_the_session(house, analyst):
    cookie = analyst.client.cookies[COOKIE]
    assert analyst.post("/sign-out").headers["location"] == "/sign-in"
    again = TestClient(house.app, HOST, follow_redirects=False)
    assert again.get("/", headers={"cookie": f"{COOKIE}={cookie}"}).status_code == 303


def test_revoking_a_token_ends_its_sessions(house, analyst, curator):
    with house.database.read() as session:
        token = members.list_tokens(session, ANALYST)[0].id
    curator.post(f"/curate/members/tokens/{token}/revoke")
    analyst.get("/", status=303)


# -- forged forms ----------------------------------------------------------------------------------

POSTS = [
    "/sign-out", "/tables/nursery/forests", "/jobs/x/cancel", "/forests/x/scores",
    "/forests/x/updates", "/forests/x/rules", "/account/tokens", "/account/tokens/x/revoke",
    "/curate/register",
    "/curate/tables/nursery/policy", "/curate/tables/nursery/version",
    "/curate/tables/nursery/batches", "/curate/tables/nursery/grants",
    "/curate/tables/nursery/grants/ana/withdraw", "/curate/members", "/curate/members/ana/tokens",
    "/curate/members/tokens/x/revoke", "/curate/members/x/disable", "/curate/members/x/enable",
    "/curate/members/x/curates", "/curate/members/x/curates/nursery/end",
    "/curate/proposals/x/approve", "/curate/proposals/x/reject",
]  # fmt: skip


def test_every_form_that_changes_something_is_listed_here(house):
    found = set(re.findall(r'method="post" action="([^"]+)"', " ".join(_templates())))
    shapes = [re.sub(r"\{\{.*?\}\}", "[^/]+", action.split("#")[0]) for action in found]
    known = [s for s in shapes if s != "/sign-in" and not s.startswith("[^/]+")]
    assert known
    for shape in known:
        assert any(re.fullmatch(shape, post) for post in POSTS), shape


@pytest.mark.parametrize("path", POSTS)
def test_a_form_without_the_right_csrf_text_does_nothing(house, curator, path):
    before = _state(house)
    for fields in ({}, {"csrf": ""}, {"csrf": "x" * 32}, {"csrf": "ü"}):
        answer = curator.client.post(path, data=fields)
        assert answer.status_code == 403
        assert "form has expired" in answer.text
    for origin in (
        "https://evil.example",
        "null",
        "http://frith.test.evil.example",
        "http://[",
        "",
    ):
        answer = curator.client.post(path, data={"csrf": curator.csrf}, headers={"origin": origin})
        assert answer.status_code == 403, origin
        assert "another site" in answer.text
    assert _state(house) == before


def test_the_servers_own_origin_is_fine(house, analyst):
    analyst.client.headers["origin"] = HOST
    analyst.post("/account/tokens", status=200)
    evil = {"origin": "https://evil.example"}
    answer = analyst.client.post(
        "/sign-in", data={"token": house.sample.analyst_token}, headers=evil
    )
    assert answer.status_code == 403


def test_anothers_csrf_text_is_wrong(house, analyst, curator):
    answer = curator.client.post("/account/tokens", data={"csrf": analyst.csrf})
    assert answer.status_code == 403


def test_a_bearer_token_opens_no_page(house):
    stranger = house.stranger(authorization=f"Bearer {house.sample.curator_token}")
    assert stranger.get("/curate", follow_redirects=False).status_code == 303


# -- who may open what -----------------------------------------------------------------------------


def test_analysts_cannot_open_a_curators_page(house, analyst):
    for path in ("", "/register", f"/tables/{house.table}", "/members", "/jobs", "/ledger",
                 "/ledger.csv", "/ledger.json"):  # fmt: skip
        assert "nly an operator" in analyst.get(f"/curate{path}", status=403).text
    for path in POSTS:
        if path.startswith("/curate"):
            analyst.post(path, status=403)
    assert "/curate" not in analyst.get("/").text


def test_a_table_without_a_grant_is_a_table_that_is_not_there(house):
    other = Browser(house, house.add("bo").token)
    for path in ("/tables/{}", "/tables/{}/quote?epsilon=1"):
        real, none = (other.get(path.format(t), status=404) for t in (house.table, "no-such"))
        assert real.text == none.text
        assert real.headers == none.headers
    forms = [other.post(f"/tables/{t}/forests", status=404) for t in (house.table, "no-such")]
    assert forms[0].text.replace(other.csrf, "") == forms[1].text.replace(other.csrf, "")
    assert house.table not in other.get("/").text


def test_anothers_jobs_and_forests_are_not_there(house, analyst):
    forest = analyst.train(house)
    other = Browser(house, house.add("bo", to=house.table).token)
    for path in ("/jobs/{}", "/jobs/{}/state", "/forests/{}", "/forests/{}/forest.json",
                 "/forests/{}/model.onnx", "/forests/{}/rules.csv", "/forests/{}/picture.svg",
                 "/forests/{}/effects.svg", "/forests/{}/effects.csv", "/forests/{}/report.html",
                 "/forests/{}/certificate.html", "/forests/{}/card.md",
                 "/forests/{}/quote?epsilon=1"):  # fmt: skip
        real, none = (other.get(path.format(f), status=404) for f in (forest, "0" * 16))
        assert real.text == none.text
    other.post(f"/jobs/{forest}/cancel", status=404)
    assert forest not in other.get("/jobs").text


def test_a_view_of_some_attributes_shows_no_others(house):
    some = Browser(house, house.add("bo", to=house.table, columns=["health"]).token)
    text = some.get(f"/tables/{house.table}").text
    assert "health" in text
    assert "has_nurs" not in text
    job = job_of(some.post(f"/tables/{house.table}/forests", epsilon="1", learner="gini"))
    house.work()
    assert "has_nurs" not in some.get(f"/forests/{job}").text


# -- what pages hold -------------------------------------------------------------------------------


class Strict(HTMLParser):
    """Collects what a strict content security policy would stop, and inputs without a label."""

    def __init__(self):
        super().__init__()
        self.bad, self.labels, self.inputs = [], set(), set()

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "style" or (tag == "script" and "src" not in given):
            self.bad.append(tag)
        self.bad += [n for n in given if n == "style" or n.startswith("on")]
        for name in ("src", "href", "action"):
            link = given.get(name) or "/"
            if not re.match(r"/(?!/)|[#?]", link):
                self.bad.append(link)
        if tag == "label" and "for" in given:
            self.labels.add(given["for"])
        typed = given.get("type") not in ("hidden", "checkbox") and "aria-label" not in given
        if tag in ("input", "select", "textarea") and typed:
            self.inputs.add(given.get("id"))


def check(answer):
    """What every page keeps to."""
    page = Strict()
    page.feed(answer.text)
    assert page.bad == []
    assert page.inputs <= page.labels
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == "no-store"
    assert 'name="viewport"' in answer.text
    return answer


def test_every_page_opens_for_its_role_and_keeps_to_the_policy(house, analyst, curator):
    forest = analyst.train(house)
    label = job_of(
        analyst.post(
            f"/forests/{forest}/scores", epsilon="0.4", what="probabilities", by="parents",
            positive="not_recom",
        )
    )  # fmt: skip
    score = job_of(analyst.post(f"/forests/{forest}/scores", epsilon="0.5"))
    house.work()
    shown = analyst.get(f"/forests/{forest}").text
    assert f'id="score-{label}"' in shown
    for words in ("<th>auc</th>", "Calibration", "By parents", "not_recom: predicted"):
        assert words in shown
    assert (
        analyst.get(f"/jobs/{score}/state").json()["result"] == f"/forests/{forest}#score-{score}"
    )
    shared = ["/", "/jobs", f"/jobs/{forest}", f"/jobs/{score}", f"/forests/{forest}", "/account",
              f"/forests/{forest}?tree=1&rules=100&label=0", f"/tables/{house.table}"]  # fmt: skip
    own = ["", "/register", f"/tables/{house.table}", "/members", "/jobs", "/ledger"]
    for path in shared:
        check(analyst.get(path))
    for path in [*shared, *(f"/curate{p}" for p in own)]:
        check(curator.get(path))
    stranger = TestClient(house.app, HOST)
    check(stranger.get("/sign-in"))
    check(analyst.get("/no-such-page", status=404))
    assert "chain holds" in curator.get("/curate/ledger").text
    assert 'class="line color-0"' in curator.get(f"/curate/tables/{house.table}").text


def test_problems_of_pages_are_pages_and_of_the_api_are_json(house, analyst):
    assert analyst.get("/nothing", status=404).headers["content-type"].startswith("text/html")
    wrong = analyst.client.delete("/jobs")
    assert (wrong.status_code, "Back to the tables" in wrong.text) == (405, True)
    assert "text/html" in analyst.get("/forests/x?tree=-1", status=422).headers["content-type"]
    assert house.analyst.get("/v1/nothing").json()["code"] == "not_found"
    too_much = analyst.client.post("/account/tokens", content=b"x" * 2_000_000)
    assert (too_much.status_code, "<h1>" in too_much.text) == (413, True)


def test_static_files_are_served_to_anyone_and_hold_no_inline_style(house):
    stranger = TestClient(house.app, HOST)
    for file in STATIC.iterdir():
        answer = stranger.get(f"/static/{file.name}")
        assert (answer.status_code, answer.content) == (200, file.read_bytes())
        assert "http" not in answer.text.replace("http://www.w3.org/2000/svg", "")
    assert "style" not in stranger.get("/static/mark.svg").text
    for path in ("/static/../render.py", "/static/%2e%2e/render.py", "/static/", "/static/x"):
        assert stranger.get(path, follow_redirects=False).status_code in (303, 404)


def test_hostile_texts_are_shown_and_not_run(house, analyst, curator):
    domain = {
        "format": "frith-domain/1",
        "label": {"name": "class", "values": [HOSTILE, "b"]},
        "attributes": [{"name": HOSTILE, "values": [HOSTILE, "1"]}],
    }
    path = house.folder / "hostile.csv"
    path.write_text(f'"{HOSTILE.replace(chr(34), chr(34) * 2)}",class\n1,b\n')
    fields = {"name": "hostile", "title": HOSTILE, "connection": "sample", "table": path.name, "epsilon": "2",
              "learners": [*BY_NAME], "domain": json.dumps(domain)}  # fmt: skip
    curator.post("/curate/register", **fields)
    curator.post("/curate/tables/hostile/grants", member=ANALYST, columns=HOSTILE)
    analyst.post("/account/tokens", status=200, note=HOSTILE)
    job = job_of(analyst.post("/tables/hostile/forests", epsilon="1", learner="gini"))
    house.work()
    pages = [analyst.get(p) for p in ("/", "/account", "/tables/hostile", f"/forests/{job}")]
    pages += [curator.get(f"/curate{p}") for p in ("", "/tables/hostile", "/members")]
    pages.append(curator.post("/curate/register", status=409, **fields))
    pages.append(analyst.post("/tables/hostile/forests", status=422, epsilon=HOSTILE, learner="x"))
    for answer in pages:
        check(answer)
        assert "<script>alert" not in answer.text
    assert all(HOSTILE in unescape(answer.text) for answer in pages[:4])
    picture = analyst.get(f"/forests/{job}/picture.svg")
    assert "<script>" not in picture.text


def test_a_picture_has_a_policy_of_its_own(house, analyst):
    forest = analyst.train(house)
    for query in ("", "?tree=0"):
        picture = analyst.get(f"/forests/{forest}/picture.svg{query}")
        assert picture.text.startswith("<svg")
        policy = "default-src 'none'; style-src 'unsafe-inline'"
        assert picture.headers["content-security-policy"] == policy
    analyst.get(f"/forests/{forest}/picture.svg?tree=99", status=404)
    analyst.get(f"/forests/{forest}?tree=99", status=404)


# -- asking ----------------------------------------------------------------------------------------


def test_the_price_is_told_as_epsilon_moves(house, analyst):
    quote = analyst.get(f"/tables/{house.table}/quote?epsilon=1.5&learner=gini").json()
    assert quote["granted"]
    assert quote["text"] == "Costs epsilon 1.5, and leaves 38.5 of your 40."
    assert quote["share"] == 1.5 / 40
    assert "e^1.5 (about 4.48) times as likely" in quote["meaning"]
    for wrong, said in (("41", "ask for at most epsilon 40"), ("x", "finite amount"),
                        ("0.001", "at least epsilon 0.01"), ("inf", "finite amount")):  # fmt: skip
        quote = analyst.get(f"/tables/{house.table}/quote?epsilon={wrong}").json()
        assert not quote["granted"]
        assert said in quote["text"]
    page = analyst.post(f"/tables/{house.table}/forests", status=200, kind="quote", epsilon="3")
    assert "Costs epsilon 3, and leaves 37 of your 40." in page.text
    assert house.work() == 0


def test_a_form_spends_only_the_price_that_was_agreed_to(house, analyst):
    forest = analyst.train(house)
    before = house.spent(house.own)
    train = (f"/tables/{house.table}/forests", {"learner": "gini", "epsilon": "1"})
    for path, fields in (train, (f"/forests/{forest}/scores", {"epsilon": "1"}),
                         (f"/forests/{forest}/updates", {"epsilon": "1", "batch": "later"})):  # fmt: skip
        for sure in ({}, {"confirmed": "0.9"}):
            page = check(analyst.post(path, status=200, **fields | sure))
            assert "Costs epsilon 1, and leaves" in page.text
            assert f'action="{path}"' in page.text
        assert house.spent(house.own) == before
        assert house.work() == 0
    path, fields = train
    job_of(analyst.post(path, **fields | {"confirmed": "1"}))
    assert house.spent(house.own) == (before[0], before[1] + 1)


def test_a_budget_with_a_delta_is_told_in_percents(house, analyst):
    house.register("soft", epsilon="1", delta="1e-6")
    quote = analyst.get("/tables/soft/quote?epsilon=0.5&delta=1e-6").json()
    assert re.match(r"Costs 2\d\.\d\d% of your budget\. What is left would pay for one more request",
                    quote["text"])  # fmt: skip
    assert 'name="delta"' in check(analyst.get("/tables/soft")).text
    assert "%" in analyst.get("/").text


@pytest.mark.parametrize("learner", BY_NAME)
def test_every_learner_trains_by_the_form(house, analyst, learner):
    forest = analyst.train(house, learner=learner, epsilon="2")
    text = check(analyst.get(f"/forests/{forest}")).text
    assert "epsilon 2" in text
    assert "times as likely" in text
    assert Forest.from_json(analyst.get(f"/forests/{forest}/forest.json").json()).guarantee.holds


def test_parameters_are_those_of_the_chosen_learner(house, analyst):
    fields = {"random-decision-n_trees": "3", "random-decision-height": "2", "gini-n_trees": "7"}
    forest = analyst.train(house, **fields)
    document = analyst.get(f"/forests/{forest}/forest.json").json()
    assert len(document["trees"]["roots"]) == 3
    again = {"random-decision-size_share": "0.05"}  # its default, spelled out
    assert analyst.train(house, **fields | again) == forest
    for name, value in (("n_trees", "many"), ("size_share", "x"), ("n_trees", "99999999")):
        wrong = {"learner": "random-decision", "epsilon": "0.5", f"random-decision-{name}": value}
        answer = analyst.post(f"/tables/{house.table}/forests", status=422, **wrong)
        assert name in re.search(r'role="alert">(.*?)</div>', answer.text, re.DOTALL)[1]
        assert f'value="{value}"' in answer.text


def test_a_mechanism_is_a_choice_that_may_be_left_open(house, analyst):
    page = analyst.get(f"/tables/{house.table}").text
    offered = re.search(r'<select id="id3-mechanism".*?</select>', page)[0]
    assert "automatic (default)" in offered
    assert re.findall(r"<option>([^<]+)", offered) == ["permute-and-flip", "exponential"]
    forest = analyst.train(house, learner="id3", **{"id3-mechanism": "exponential"})
    document = analyst.get(f"/forests/{forest}/forest.json").json()
    assert document["origin"]["parameters"]["mechanism"] == "exponential"


def test_downloads_are_files(house, analyst):
    forest = analyst.train(house)
    for path, kind in (("forest.json", "application/json"), ("model.onnx", "application/octet-stream"),
                       ("rules.csv", "text/csv"), ("report.html", "text/html"),
                       ("certificate.html", "text/html"), ("card.md", "text/markdown")):  # fmt: skip
        answer = analyst.get(f"/forests/{forest}/{path}")
        assert answer.headers["content-type"].startswith(kind)
        assert answer.headers["content-disposition"].startswith('attachment; filename="forest-')
    assert "confidence_low" in analyst.get(f"/forests/{forest}/rules.csv").text.splitlines()[0]


def test_a_forest_of_scores_shows_its_effects(house, analyst):
    forest, counts = analyst.train(house, learner="forest"), analyst.train(house)
    page = analyst.get(f"/forests/{forest}").text
    assert 'id="effects"' in page
    for columns in (1, 3):
        picture = analyst.get(f"/forests/{forest}/effects.svg?columns={columns}")
        assert picture.headers["content-type"] == "image/svg+xml"
        assert "opinion" in picture.text
    table = analyst.get(f"/forests/{forest}/effects.csv").text
    assert table.startswith("attribute,value,at_least,below,role,label,effect,noise")
    assert 'id="effects"' not in analyst.get(f"/forests/{counts}").text
    for path in ("effects.svg", "effects.csv"):
        assert "holds label counts" in analyst.get(f"/forests/{counts}/{path}", status=404).text


def test_papers_name_the_receipt_and_how_the_forest_was_learned(house, analyst):
    forest = analyst.train(house, learner="forest", epsilon="0.75")
    receipt = house.analyst.job(forest)["receipt"]
    for path in ("report.html", "certificate.html", "card.md"):
        said = re.sub(r"\\|<[^>]+>", "", analyst.get(f"/forests/{forest}/{path}").text)
        for fact in ("ForestClassifier", receipt["hash"], receipt["account"], "epsilon 0.75"):
            assert fact in said, path


def test_running_out_of_budget_is_told_kindly(house, analyst):
    answer = analyst.post(
        f"/tables/{house.table}/forests", status=409, epsilon="41", learner="gini"
    )
    assert "The budget does not cover this" in answer.text
    assert "ask for at most epsilon 40" in answer.text
    assert "Nothing was charged" in answer.text
    assert 'value="41"' in check(answer).text
    forest = analyst.train(house, epsilon="40")
    assert "Your budget on this table is used up" in analyst.get(f"/tables/{house.table}").text
    assert "used up" in analyst.get("/").text
    answer = analyst.post(f"/forests/{forest}/scores", status=409, epsilon="1")
    assert "you have no budget left" in answer.text.lower()
    assert analyst.get(f"/forests/{forest}/forest.json").status_code == 200


def test_a_dry_run_is_free_and_says_what_it_is(house, analyst):
    forest = analyst.train(house, kind="dry-run")
    text = analyst.get(f"/forests/{forest}").text
    assert "says nothing about the table" in text
    assert "Ask for a score" not in text
    assert house.spent(house.own)[0] == 0


def test_a_forms_reason_is_as_short_as_the_apis(house, analyst, curator):
    """A reason is written into the ledger, for ever and for free."""
    forest, long = analyst.train(house), {"epsilon": "0.3", "reason": '"' * 201}
    train, raised = f"/tables/{house.table}/forests", f"/curate/tables/{house.table}/policy"
    for kind in ("train", "dry-run"):
        assert "at most 200" in analyst.post(train, 422, kind=kind, **long).text
    assert "at most 200" in analyst.post(f"/forests/{forest}/scores", 422, **long).text
    raise_ = long | {"epsilon": "50", "learners": "forest"}
    assert "at most 200" in curator.post(raised, 422, **raise_).text
    analyst.post(train, kind="dry-run", **long | {"reason": '"' * 200})


def test_a_queued_job_can_be_cancelled_and_a_done_one_cannot(house, analyst):
    queued = job_of(analyst.post(f"/tables/{house.table}/forests", epsilon="1", learner="gini"))
    assert "Cancel" in check(analyst.get(f"/jobs/{queued}")).text
    assert analyst.get(f"/jobs/{queued}/state").json()["state"] == "queued"
    assert analyst.get(f"/forests/{queued}", status=303).headers["location"] == f"/jobs/{queued}"
    analyst.post(f"/jobs/{queued}/cancel")
    assert "reservation are cancelled" in analyst.get(f"/jobs/{queued}?done=cancelled").text
    done = analyst.train(house)
    assert "nly a job that has not ended" in analyst.post(f"/jobs/{done}/cancel", status=409).text


def test_a_random_decision_forest_takes_a_batch(house, analyst):
    forest = analyst.train(house)
    text = analyst.get(f"/forests/{forest}").text
    assert "The batch has a budget of its own." in text
    updated = job_of(analyst.post(f"/forests/{forest}/updates", batch="later", epsilon="1"))
    house.work()
    assert "Updated forest" in check(analyst.get(f"/forests/{updated}")).text
    text = check(analyst.get(f"/tables/{house.table}")).text
    assert "has a budget of its own. 2% is spent: you can still ask for epsilon 39 in all." in text
    wrong = analyst.post(f"/forests/{forest}/updates", status=404, batch="none", epsilon="1")
    assert "no such batch" in wrong.text
    for name, batch, text in ((forest, "none", "no such batch"), (updated, "later", "already"),
                              (analyst.train(house, learner="id3"), "later", "random-decision")):  # fmt: skip
        quote = analyst.get(f"/forests/{name}/quote?epsilon=1&batch={batch}").json()
        assert not quote["granted"]
        assert text in quote["text"]


def test_a_result_is_held_back_until_its_time(house, analyst):
    house.set(deliver_every=60)
    analyst = Browser(house, house.sample.analyst_token)
    forest = analyst.train(house)
    assert analyst.get(f"/jobs/{forest}/state").json() == {
        "state": "running", "passes": 0, "doing": "", "result": None,
    }  # fmt: skip
    assert "fixed schedule" in analyst.get(f"/jobs/{forest}").text
    analyst.get(f"/forests/{forest}", status=303)
    house.clock.move(seconds=61)
    analyst.get(f"/forests/{forest}")


def test_a_forest_outlives_its_grant_but_nothing_more_can_be_asked(house, analyst, curator):
    forest = analyst.train(house)
    curator.post(f"/curate/tables/{house.table}/grants/{ANALYST}/withdraw")
    text = analyst.get(f"/forests/{forest}").text
    assert "Ask for a score" not in text
    analyst.post(f"/forests/{forest}/scores", status=404, epsilon="1")


# -- the curator's work ----------------------------------------------------------------------------


def test_a_table_is_drafted_reviewed_and_registered(house, curator, analyst):
    path = house.folder / "people.csv"
    path.write_text(
        "age;sex;seen;town;ill\n" + "41;f;2024-01-01;a;yes\n17;m;2024-03-01;b;no\n" * 30
    )
    fields = {"name": "people", "connection": "sample", "table": "people.csv", "label": "ill",
              "epsilon": "1", "learners": ["forest", "gini"], "leave_out": "sex\ntown"}  # fmt: skip
    drafted = curator.post("/curate/register", status=200, draft="yes", **fields)
    assert "exact facts about people" in check(drafted).text
    assert ">sex\ntown</textarea>" in drafted.text
    draft = unescape(re.search(r'name="domain"[^>]*>(.*?)</textarea>', drafted.text, re.DOTALL)[1])
    assert "Left out: 'sex', as asked." in draft
    assert 'delimiter = ";"' in draft
    refused = curator.post("/curate/register", status=422, domain=draft, **fields)
    assert "learned = true" in refused.text
    reviewed = draft.replace("learned = true\n", "")
    curator.post("/curate/register", domain=reviewed, **fields)
    assert "people" not in analyst.get("/").text
    curator.post("/curate/tables/people/grants", member=ANALYST, columns=["age"], epsilon="0.5")
    text = analyst.get("/tables/people").text
    assert "15 to 45" in text
    assert "epsilon 0.5" in analyst.get("/").text
    assert ">gini<" in text
    assert ">id3<" not in text


def test_a_table_is_registered_column_by_column(house, curator, lines):
    rows = [f"{i},{20 + i % 60},{'n' if i % 2 else 's'},{i % 3}" for i in range(300)]
    (house.folder / "visits.csv").write_text("\n".join(["id,age,ward,ill", *rows]) + "\n")
    fields = {"name": "visits", "connection": CONNECTION, "table": "visits.csv", "label": "ill",
              "epsilon": "1", "learners": ["id3"]}  # fmt: skip
    drafted = check(curator.post("/curate/register", status=200, draft="yes", **fields))
    assert drafted.headers["cache-control"] == "no-store"
    assert re.search(r'<td>id <span class="tag bad">left out</span></td>', drafted.text)
    carried = unescape(re.search(r'name="columns-draft" value="([^"]*)"', drafted.text)[1])
    names = [c["name"] for c in [json.loads(carried)["domain"]["label"],
                                 *json.loads(carried)["domain"]["attributes"]]]  # fmt: skip
    age, ward = names.index("age"), names.index("ward")
    fields |= {"columns-draft": carried, f"column-{age}-low": "0", f"column-{age}-high": "120",
               f"column-{ward}-values": "n\ns\nw"}  # fmt: skip
    answer = curator.post("/curate/register", status=422, columns="yes", **fields)
    assert "declare the label and at least one attribute public" in answer.text.lower()
    fields |= {"column-0-public": "on", f"column-{age}-public": "on"}
    shown = check(curator.post("/curate/register", status=200, columns="yes", **fields))
    text = unescape(re.search(r'name="domain"[^>]*>(.*?)</textarea>', shown.text, re.DOTALL)[1])
    assert "ward" not in text, "it was not declared public"
    assert "learned" not in text
    seen = unescape(re.search(r'name="columns-shown" value="([^"]*)"', shown.text)[1])
    fields |= {"columns-shown": seen, "domain": text}
    later = fields | {f"column-{age}-high": "90"}  # what the text does not say
    answer = curator.post("/curate/register", status=422, **later)
    assert "preview the public file again" in answer.text
    curator.post("/curate/register", **fields)
    with house.database.read() as session:
        domain = tables.domain_of(tables.get_table(session, "visits"))
    assert domain.names == ("age",)
    assert (domain.attributes[0].low, domain.attributes[0].high) == (0, 120)
    assert not any("ward" in str(line) for line in lines), "nothing of it is logged"


def test_records_of_a_table_are_shown_to_its_curators_alone(house):
    house.add("cora", "curator")
    with house.database.write() as session:
        token = members.issue_token(house.context, session, "cora").text
    cora = Browser(house, token)
    fields = {"connection": CONNECTION, "table": "records.parquet", "label": "class"}
    for button in ({"draft": "yes"}, {"check": "yes", "domain": domain_text(small_domain())}):
        answer = cora.post("/curate/register", status=422, **fields | button)
        assert "only its curators look at them" in answer.text


def test_a_domain_is_checked_against_the_records_before_it_is_registered(house, curator, analyst):
    (house.folder / "people.csv").write_text("age,ill\n" + "41,True\nold,False\n" * 30)
    domain = Domain([Numeric("age", 0, 120)], Categorical("ill", ("yes", "no")))
    fields = {"connection": "sample", "table": "people.csv", "domain": domain.to_toml()}
    answer = check(curator.post("/curate/register", status=200, check="yes", **fields))
    report, kept = answer.text, answer.headers["cache-control"]
    assert kept == "no-store"
    analyst.post("/curate/register", status=403, check="yes", **fields)
    for said in (
        "exact facts about people",
        "no record has one of the declared labels",
        "hold no number",
    ):
        assert said in report
    assert "people" not in curator.get("/curate").text
    wrong = curator.post("/curate/register", status=422, check="yes", **fields | {"domain": "x"})
    assert "format" in wrong.text or "TOML" in wrong.text
    absent = curator.post(
        "/curate/register", status=422, check="yes", **fields | {"table": "no.csv"}
    )
    assert "connection has no" in absent.text


def test_a_name_that_cannot_be_is_told_in_words(curator):
    wrong = {"name": "My table", "connection": "sample", "table": "t.csv", "epsilon": "1"}
    said = curator.post("/curate/register", status=422, domain="x", **wrong).text
    assert "at most 63 lower-case letters" in said


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "ame the table and the label"),
        ({"table": "t", "label": "y", "connection": "elsewhere"}, "nly files can be drafted from"),
        ({"table": "/no/such/file.csv", "label": "y"}, "connection has no"),
        ({"table": "../house/records.parquet", "label": "y"}, "connection has no"),
        ({"table": "records.parquet", "label": "nope"}, "no label column"),
        ({"table": "broken.parquet", "label": "y"}, "cannot be read"),
    ],
)
def test_what_cannot_be_drafted_is_said(house, curator, fields, said):
    (house.folder / "broken.parquet").write_text("secret")
    filled = {"connection": "sample"} | fields
    answer = curator.post("/curate/register", status=422, draft="yes", **filled)
    assert said in answer.text
    assert str(house.folder) not in answer.text
    assert "secret" not in answer.text


def test_policies_versions_and_batches_are_changed_by_forms(house, curator, analyst):
    table = f"/curate/tables/{house.table}"
    curator.post(f"{table}/policy", epsilon="30", delta="0.0", request_epsilon="2",
                 learners=["forest", "gini"])  # fmt: skip
    assert (
        "at most epsilon 2" in analyst.get(f"/tables/{house.table}/quote?epsilon=3").json()["text"]
    )
    kept = curator.post(
        f"{table}/policy", status=422, epsilon="5", request_epsilon="9", learners="c45"
    )
    assert 'value="9"' in check(kept).text
    assert (
        curator.post(f"{table}/policy", status=422, epsilon="5").text.count("earners are some of")
        == 1
    )
    curator.post(f"{table}/version")
    assert "Version 2" in curator.get(f"{table}?done=version").text
    source = {"connection": "sample", "table": "later.parquet"}
    curator.post(f"{table}/batches", name="more", **source, disjoint="on")
    assert "more" in curator.get(table).text
    curator.post(f"{table}/batches", status=409, name="more", **source)
    curator.post(f"{table}/batches", status=422, name="No Name", **source)
    none = curator.post(f"{table}/grants", status=422, member=ANALYST)
    assert "view of no attribute" in none.text


def test_members_and_tokens_are_made_by_forms_and_a_token_is_shown_once(house, curator):
    curator.post("/curate/members", name="bo", role="analyst")
    curator.post("/curate/members", status=409, name="bo", role="analyst")
    curator.post("/curate/members", status=422, name="Bo!", role="analyst")
    shown = check(curator.post("/curate/members/bo/tokens", status=200, note="desk", days="3"))
    token = re.search(r'value="(frith_\w+)"', shown.text)[1]
    assert token not in curator.get("/curate/members").text
    Browser(house, token).get("/")
    curator.post("/curate/members/bo/tokens", status=422, days="9999")
    curator.post("/curate/members/nobody/tokens", status=404)


def test_an_edited_ledger_shows(house, curator, analyst):
    analyst.train(house)
    with house.database.write() as session:
        run = session.connection().exec_driver_sql
        for (name,) in run("SELECT name FROM sqlite_master WHERE type = 'trigger'").all():
            run(f"DROP TRIGGER {name}")  # whoever owns the file can
        run("UPDATE entry SET amount = '1/8' WHERE id = 3")
    assert "The chain is broken" in curator.get("/curate/ledger").text
    assert curator.get("/curate/ledger.csv").text.splitlines()[0].startswith("id,account")
    assert curator.get("/curate/ledger.json").json()[2]["amount"] == "0.125"


def test_charges_to_look_at_are_named(house, curator):
    with house.database.write() as session:
        book = house.context.book(session)
        book.charge(house.table, Fraction("1e-15"), "by hand", RECORD)
    text = check(curator.get("/curate/ledger")).text
    assert "The chain holds" in text
    assert "Charges to look at" in text
    assert "outside the window of amounts" in text


def test_a_long_ledger_has_pages(house, curator, analyst, monkeypatch):
    analyst.train(house)
    whole = curator.get("/curate/ledger.json").json()
    assert [e["id"] for e in whole] == list(range(1, len(whole) + 1))
    assert len(whole) > 4
    page = importlib.import_module("frith.server.web.curate.ledger")
    monkeypatch.setattr(page, "_SHOWN", 2)
    monkeypatch.setattr("frith.server.budget.export.PAGE", 2)
    assert curator.get("/curate/ledger.json").json() == whole
    address, seen = "/curate/ledger", []
    while address:
        text = check(curator.get(address)).text
        assert ("The chain holds" in text) == (address == "/curate/ledger")
        seen += [int(i) for i in re.findall(r'<tr><td class="number">(\d+)', text)]
        older = re.search(r'href="(/curate/ledger\?before=\d+)"', text)
        address = older and older[1]
    assert seen == list(range(len(whole), 0, -1))
    assert "Nothing is written before that" in curator.get("/curate/ledger?before=1").text


def test_a_member_is_disabled_and_enabled_on_the_page(house, curator, analyst):
    shut_out = "/curate/members/ana/disable"
    assert shut_out in curator.get("/curate/members").text
    assert "members/carla/disable" not in curator.get("/curate/members").text
    curator.post(shut_out)
    text = check(curator.get("/curate/members?done=disabled")).text
    assert "all their tokens are revoked" in text
    assert "members/ana/tokens" not in text
    assert analyst.client.get("/jobs").headers["location"].startswith("/sign-in")
    curator.post("/curate/members/ana/enable")
    assert "members/ana/tokens" in curator.get("/curate/members").text


def test_a_running_job_is_stopped_on_its_page(house, curator, analyst):
    quick = {"learner": "random-decision", "epsilon": "0.5", "random-decision-n_trees": "2"}
    job = job_of(analyst.post(f"/tables/{house.table}/forests", **quick))
    with house.database.write() as session:
        lifecycle.take(house.context, session, "w")
        lifecycle.start(house.context, session, job, "w", [])
    for person in (analyst, curator):
        assert "Stop</button>" in check(person.get(f"/jobs/{job}")).text
    analyst.post(f"/jobs/{job}/cancel")
    assert "The job was stopped, and its charge is kept" in analyst.get(f"/jobs/{job}").text


def test_a_long_history_has_pages(house, curator, analyst, monkeypatch):
    monkeypatch.setattr("frith.server.jobs.history.PAGE", 2)
    done = {analyst.train(house, epsilon=epsilon) for epsilon in ("0.1", "0.2", "0.3")}
    for person, start in ((analyst, "/jobs"), (curator, "/curate/jobs")):
        address, seen = start, []
        while address:
            text = check(person.get(address)).text
            assert (f'href="{start}">Newest' in text) == (address != start)
            seen += re.findall(r'<td><a href="/jobs/(\w+)"', text)
            older = re.search(rf'href="({start}\?before=\w+)"', text)
            address = older and older[1]
        assert len(seen) == 3
        assert set(seen) == done
        last = check(person.get(f"{start}?before={seen[-1]}")).text
        assert "There are no older requests" in last


def test_how_long_a_job_took_is_for_curators_alone(house, curator, analyst):
    job = analyst.train(house)
    start = house.clock.time
    times = [stamp(start + timedelta(seconds=s)) for s in (1, 4.2)]
    house.change_job(job, started=times[0], finished=times[1])
    text = check(curator.get("/curate/jobs")).text
    assert ">took</th>" in text
    assert ">3.2 s</td>" in text
    for path in ("/", "/jobs", f"/jobs/{job}", f"/jobs/{job}/state", f"/tables/{house.table}",
                 f"/forests/{job}"):  # fmt: skip
        assert not re.search(r"\btook\b|3\.2 s", analyst.get(path).text), path
    answers = [house.analyst.get(f"/v1/{path}").text for path in ("jobs", f"jobs/{job}", "forests")]
    assert not [a for a in answers if any(time in a for time in times)]
    house.set(deliver_every=3600)
    assert "3.2 s" not in Browser(house, house.sample.curator_token).get("/curate/jobs").text


def test_passwords_in_sources_are_masked(house, curator):
    with house.database.write() as session:
        tables.get_table(session, house.table).source = "postgresql://u:hunter2@host/db?table=t"
    assert "hunter2" not in curator.get(f"/curate/tables/{house.table}").text


# -- helpers ---------------------------------------------------------------------------------------


def _templates():
    return [path.read_text() for path in (STATIC.parent / "templates").rglob("*.html")]


def _state(house):
    """Everything that a form could have changed."""
    with house.database.read() as session:
        tokens = [(t.id, t.revoked) for t in members.list_tokens(session)]
        names = [m.name for m in members.list_members(session)]
        table = tables.get_table(session, house.table)
        grants = [g.member for g in tables.list_grants(session, house.table)]
        return tokens, names, table.version, table.policy, grants, len(house.entries())
