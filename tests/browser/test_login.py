"""Signing in by a real issuer in a real browser: roles by groups, scopes, two-person raises, leaving."""

import contextlib
import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest
import uvicorn

from benchmarks.server_process import free_port
from frith.client.kinds import Role
from frith.ledger import log as reading
from frith.server.app import make_app
from frith.server.auth import members
from frith.server.auth.access import ROUTES
from frith.server.context import open_context
from frith.server.run.place import BACKLOG
from frith.server.run.sample import fill, with_sample
from frith.server.settings import Settings
from tests.hosting import silence
from tests.issuer import SECRET, running

pytestmark = pytest.mark.xdist_group("browser")
GROUPS = {"ops": "operator", "stewards": "curator", "research": "analyst", "inspectors": "auditor"}
PEOPLE = {"olga": "ops", "cora": "stewards", "rita": "research", "vera": "inspectors"}


class Place:
    """A server that its people sign in to by the issuer."""

    def __init__(self, context, url, sample):
        self.context, self.url, self.table = context, url, sample.table

    def lines(self):
        with self.context.database.read() as session:
            return reading.lines(self.context.book(session), limit=10**6)

    def member(self, name):
        with self.context.database.read() as session:
            return members.get_member(session, name)


@pytest.fixture(scope="module")
def issuer_port():
    return free_port()


@pytest.fixture(scope="module")
def place(browser, tmp_path_factory, issuer_port):
    folder, port = tmp_path_factory.mktemp("login"), free_port()
    url = f"http://127.0.0.1:{port}"
    settings = Settings(
        database=str(folder / "server.db"), port=port, public_url=url, oidc_client="frith",
        oidc_issuer=f"http://localhost:{issuer_port}", oidc_secret=SECRET, oidc_roles=GROUPS,
        oidc_scopes="openid profile groups", tokens_from_oidc=1,
    )  # fmt: skip
    context = open_context(with_sample(settings, folder))
    sample = fill(context, folder)
    config = uvicorn.Config(
        make_app(context), host="127.0.0.1", port=port, log_config=None, backlog=BACKLOG
    )
    server = uvicorn.Server(config)
    with silence():
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.02)
        yield Place(context, url, sample)
        server.should_exit = True
        thread.join()
    context.database.close()


@pytest.fixture(scope="module")
def issuer(place, issuer_port):
    with running(issuer_port, place.url) as found:
        for name, group in PEOPLE.items():
            found.set_groups(name, group)
        yield found


class Person:
    """Somebody's browser, with a session at the issuer of its own."""

    def __init__(self, context, place, name):
        self.page, self.place, self.name = context.new_page(), place, name
        self.page.set_default_timeout(60_000)

    def open(self, path):
        self.page.goto(self.place.url + path)

    def click(self, name, role="button"):
        self.page.get_by_role(role, name=name, exact=True).first.click()

    def enter(self, path="/"):
        """From the sign-in page to the issuer and back, signed in."""
        self.try_to_enter(path)
        self.page.wait_for_url(self.place.url + path)
        return self

    def try_to_enter(self, path="/"):
        self.open(path)
        self.click("Sign in with your organisation", role="link")
        self.page.locator("input[name=login]").fill(self.name)
        self.page.locator("input[name=password]").fill("any")
        self.page.get_by_role("button").first.click()
        self.page.get_by_role("button").first.click()  # lets the server know who they are

    def tabs(self):
        return self.page.get_by_role("navigation").get_by_role("link").all_inner_texts()


@pytest.fixture
def people(browser, place, issuer):
    with contextlib.ExitStack() as stack:

        def person(name):
            return Person(stack.enter_context(browser.new_context()), place, name)

        yield person


def test_groups_are_roles_and_every_role_has_its_own_pages(people, place):
    seen = {}
    for name, group in PEOPLE.items():
        seen[name] = people(name).enter().tabs()
        assert place.member(name).role == GROUPS[group]
        assert place.member(name).subject == name
    assert seen["rita"] == ["Tables", "History"]
    assert seen["cora"] == ["Tables", "History", "Curate", "Proposals", "All jobs"]
    assert seen["vera"] == ["Tables", "History", "Proposals", "All jobs", "Ledger", "Log"]
    assert set(seen["olga"]) >= {"Members", "Curate", "Ledger", "Log", "Proposals"}
    signed = [x for x in place.lines() if x.what == "sign in" and x.outcome == "done"]
    assert [x.entry.actor for x in signed[-4:]] == list(PEOPLE)


def test_who_has_no_group_of_ours_does_not_get_in(people, place, issuer):
    issuer.set_groups("mallory", "strangers")
    guest = people("mallory")
    guest.try_to_enter()
    guest.page.wait_for_url(re.compile("/callback"))
    assert "not a member here" in guest.page.content()
    guest.open("/account")
    assert "/sign-in" in guest.page.url


def test_a_raise_takes_two_people(people, place):
    olga, cora = people("olga").enter(), people("cora").enter()
    olga.open("/curate/members")
    card = olga.page.locator("#member-cora")
    card.get_by_label("curates also").select_option(place.table)
    card.get_by_role("button", name="Save").click()
    cora.open(f"/curate/tables/{place.table}")
    cora.page.locator("#p-epsilon").fill("9")
    cora.page.locator("#p-reason").fill("the second wave of the study")
    cora.click("Save the policy")
    assert "is proposed" in cora.page.content()
    assert cora.page.get_by_role("button", name="Approve").count() == 0
    assert budget(place) == 4
    olga.open("/curate/proposals")
    assert "the second wave of the study" in olga.page.content()
    olga.click("Approve")
    assert "Approved" in olga.page.content()
    assert budget(place) == 9
    line = next(x for x in reversed(place.lines()) if x.what == "approve raise")
    assert (line.entry.actor, line.event.more["proposer"]) == ("olga", "cora")


def budget(place):
    with place.context.database.read() as session:
        return place.context.book(session).state(place.table).total


def test_a_token_of_one_scope_does_no_more(people, place):
    vera = people("vera").enter("/account")
    vera.page.get_by_label("audit", exact=True).check()
    vera.click("Create a token")
    token = vera.page.locator("#token-shown").input_value()

    def status(path):
        request = urllib.request.Request(
            place.url + path, headers={"authorization": f"Bearer {token}"}
        )
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            return direct.open(request, timeout=120).status
        except urllib.error.HTTPError as error:
            return error.code

    assert status("/v1/log") == 200
    assert status("/v1/tables") == 403
    assert status("/metrics") == 403


def test_who_signs_out_at_the_issuer_and_leaves_is_out(people, place, issuer):
    issuer.set_groups("leo", "research")
    leo = people("leo").enter()
    leo.open("/account")
    assert leo.page.url == place.url + "/account"
    leo.page.goto(f"{issuer.url}/session/end")
    leo.page.get_by_role("button").first.click()
    leo.page.get_by_text("Sign-out Success").first.wait_for()
    ended = [line for line in place.lines() if line.what == "sign out" and line.target == "leo"]
    assert [line.entry.actor for line in ended] == ["(issuer)"], "the issuer has said so"
    leo.open("/account")
    assert "/sign-in" in leo.page.url, "at once: no time has passed"
    assert leo.page.get_by_role("navigation").count() == 0
    issuer.remove("leo")
    leo.open("/account")
    assert leo.page.get_by_role("navigation").count() == 0


def test_who_signs_out_where_no_message_comes_is_out_when_the_issuer_is_asked_again(
    people, place, issuer
):
    issuer.set_groups("mia", "research")
    mia = people("mia").enter()
    mia.page.context.clear_cookies(domain="localhost")  # the issuer's session is over
    expire(place, "mia")
    mia.open("/account")
    assert "/sign-in" in mia.page.url, "the issuer was asked"
    assert mia.page.get_by_role("navigation").count() == 0


def test_who_lost_the_group_loses_the_role_when_the_issuer_is_asked_again(people, place, issuer):
    issuer.set_groups("nora", "ops")
    nora = people("nora").enter()
    assert "Members" in nora.tabs()
    issuer.set_groups("nora", "research")
    expire(place, "nora")
    nora.open("/")
    nora.page.wait_for_url(place.url + "/")
    assert nora.tabs() == ["Tables", "History"], "renewed without a question, with another role"
    issuer.set_groups("nora", "nothing")
    expire(place, "nora")
    nora.open("/")
    assert "not a member here" in nora.page.content()
    assert place.member("nora").disabled


def expire(place, name):
    """Half of the session's time passes."""
    with place.context.database.write() as session:
        for token in members.list_tokens(session, name):
            token.created = "2020-01-01T00:00:00.000+00:00"


def test_a_login_that_another_browser_began_is_not_finished(people, place):
    """A link with somebody else's code and state: the cookie is not there."""
    rita = people("rita")
    rita.open("/sign-in/oidc/callback?code=x&state=y")
    assert "failed" in rita.page.content() or "valid token" in rita.page.content()
    rita.enter()
    rita.open("/sign-in/oidc/callback?code=x&state=y")
    assert rita.page.get_by_role("navigation").count() == 0


def test_every_page_is_refused_or_shown_as_the_table_says(people, place):
    """Every page without a parameter, in the browser of every role."""
    pages = [r.removeprefix("GET ") for r in ROUTES if r.startswith("GET /") and "{" not in r]
    pages = [p for p in pages if not p.startswith(("/v1", "/metrics")) and "." not in p]
    assert len(pages) > 8
    for name, group in PEOPLE.items():
        person, role = people(name).enter(), Role(GROUPS[group])
        for path in pages:
            answer = person.page.goto(place.url + path)
            allowed = role in ROUTES[f"GET {path}"].roles
            assert answer.status == (200 if allowed else 403), (name, path)
