"""The pages in a real browser, from registering a table to running out of budget."""

import re
from contextlib import contextmanager

import pytest

from frith import Forest
from frith.learners import BY_NAME

pytestmark = pytest.mark.xdist_group("browser")  # one server, one browser
PHONE = {"width": 375, "height": 780}
DESK = {"width": 1200, "height": 860}


class Browsing:
    """A page that notes down everything a browser complains about."""

    def __init__(self, page, url, shots):
        self.page, self._url, self._shots = page, url, shots
        self.complaints, self.seen = [], []
        page.set_default_timeout(60_000)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("response", self._response)
        page.on("requestfailed", self._failed)

    def open(self, path):
        self.page.goto(self._url + path)

    def click(self, name, role="button"):
        self.page.get_by_role(role, name=name, exact=True).first.click()

    def sign_in(self, token):
        self.open("/")
        assert "/sign-in" in self.page.url
        self.page.get_by_label("Token").fill(token)
        self.click("Sign in")
        self.page.wait_for_url(self._url + "/")

    def shoot(self, name):
        self.page.screenshot(path=self._shots / f"{name}.png", full_page=True)

    def train(self, table, learner, epsilon, **parameters):
        """Ask by the form, wait for the result, and return the forest's address."""
        self.open(f"/tables/{table}")
        self.page.get_by_label("learner").select_option(learner)
        self.page.locator("#epsilon").fill(epsilon)
        for name, value in parameters.items():
            self.page.get_by_text(f"Parameters of {learner}").click()
            self.page.get_by_label(name, exact=True).locator("visible=true").fill(value)
        self.click("Train")
        self.click("Spend it")
        self.page.wait_for_url(re.compile("/forests/"))
        return self.page.url.removeprefix(self._url)

    def _console(self, message):
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _response(self, response):
        self.seen.append(response.url)
        if response.status >= 400:
            self.complaints.append(f"{response.status} {response.url}")

    def _failed(self, request):
        if request.failure != "net::ERR_ABORTED":  # a page that was left while it still asked
            self.complaints.append(f"{request.failure} {request.url}")


@contextmanager
def browsing(browser, demo, shots, **options):
    with browser.new_context(**{"viewport": DESK, "accept_downloads": True} | options) as context:
        found = Browsing(context.new_page(), demo.url, shots)
        yield found
        assert found.complaints == []
        assert all(url.startswith(demo.url) for url in found.seen)


def register(b, name, source):
    """The curator's way: draft a domain from the file, review it, save, and grant the table."""
    b.open("/curate")
    b.click("Register a table", role="link")
    page = b.page
    page.get_by_label("name", exact=True).fill(name)
    page.get_by_label("title").fill("A second table")
    page.get_by_label("connection").select_option("data")
    page.get_by_label("table", exact=True).fill(source.name)
    page.get_by_label("label's column").fill("state")
    b.click("Draft a domain")
    text = page.locator("#domain-text")
    assert "learned = true" in text.input_value()
    assert page.get_by_text("This draft holds exact facts about people").is_visible()
    b.shoot("register-draft")
    reviewed = text.input_value().replace("learned = true\n", "")
    text.fill(re.sub(r"high = [\d.]+", "high = 120", reviewed))
    page.get_by_label("epsilon in all").fill("2")
    b.click("Register the reviewed table")
    page.wait_for_url(re.compile(f"/curate/tables/{name}"))
    page.get_by_label("own cap").fill("1.5")
    b.click("Grant")


@pytest.fixture(scope="module")
def source(data):
    """A table that a curator has on disk."""
    rows = [f"{i % 90},{'yes' if i % 3 else 'no'},{'ill' if i % 5 else 'well'}" for i in range(400)]
    path = data / "patients.csv"
    path.write_text("\n".join(["age,smokes,state", *rows]) + "\n")
    return path


@pytest.fixture(scope="module")
def clinic(browser, demo, shots, source):
    """A table that is granted to the analyst, with a cap of 1.5."""
    with browsing(browser, demo, shots) as b:
        b.sign_in(demo.curator)
        register(b, "clinic", source)
    return "clinic"


def test_a_curator_registers_a_table_and_grants_it(browser, demo, shots, source):
    with browsing(browser, demo, shots) as b:
        b.open("/")
        b.shoot("sign-in")
        b.sign_in(demo.curator)
        register(b, "patients", source)
        assert b.page.get_by_text("The grant is saved.").is_visible()
        assert b.page.locator("#grants tbody").get_by_text("ana").is_visible()
        b.shoot("review-new")


def test_an_analyst_sees_the_price_as_epsilon_moves(browser, demo, shots, clinic):
    with browsing(browser, demo, shots) as b:
        b.sign_in(demo.analyst)
        b.shoot("tables")
        b.open(f"/tables/{clinic}")
        b.page.locator("#epsilon").fill("0.25")
        b.page.get_by_text("Costs epsilon 0.25, and leaves 1.25 of your 1.5.").wait_for()
        slider = b.page.locator("input[type=range]")
        slider.focus()
        slider.press("End")
        b.page.get_by_text("Costs epsilon 1.5, and leaves 0 of your 1.5.").wait_for()
        assert b.page.locator("#epsilon").input_value() == "1.5"
        b.shoot("table-quote")


def test_every_learner_trains_and_its_forest_is_read(browser, demo, shots, tmp_path):
    with browsing(browser, demo, shots) as b:
        b.sign_in(demo.analyst)
        for learner in BY_NAME:
            b.train(demo.table, learner, "0.25")
            assert b.page.locator("#rules tbody tr").count() > 0
            assert b.page.locator("#importances tbody tr").count() > 0
            assert _is_drawn(b.page)
            b.shoot(f"forest-{learner}")
        for name, suffix in (("Forest (JSON)", "json"), ("Model (ONNX)", "onnx")):
            with b.page.expect_download() as download:
                b.click(name, role="link")
            download.value.save_as(tmp_path / f"forest.{suffix}")
        assert Forest.load(tmp_path / "forest.json").guarantee.holds
        assert (tmp_path / "forest.onnx").stat().st_size > 1000


def test_progress_dry_runs_scores_and_updates(browser, demo, shots):
    with browsing(browser, demo, shots) as b:
        b.sign_in(demo.analyst)
        b.open(f"/tables/{demo.table}")
        b.page.get_by_label("learner").select_option("gini")
        b.click("Dry run")
        b.page.wait_for_url(re.compile("/jobs/"))
        b.shoot("job")
        b.page.wait_for_url(re.compile("/forests/"))
        assert b.page.get_by_text("says nothing about the table").is_visible()
        address = b.train(demo.table, "random-decision", "0.5", n_trees="8")
        assert b.page.get_by_text("8 trees").is_visible()
        b.click("First tree", role="link")
        b.click("Next", role="link")
        assert _is_drawn(b.page)
        assert b.page.get_by_role("heading", name=re.compile("Tree 1 of 8")).is_visible()
        b.page.locator("#score-epsilon").fill("0.2")
        b.click("Ask for a score")
        assert b.page.get_by_text("What is spent does not come back").is_visible()
        b.shoot("confirm")
        b.click("Spend it")
        b.page.wait_for_url(re.compile(f"{address}#score-"))
        assert b.page.get_by_text(re.compile(r"[\d.]+% accurate")).is_visible()
        b.shoot("forest-scored")
        b.click("Update")
        b.click("Spend it")
        b.page.wait_for_url(re.compile("/jobs/|/forests/"))
        b.page.wait_for_url(re.compile("/forests/(?!" + address.split("/")[-1] + ")"))
        b.open("/jobs")
        b.shoot("history")
        b.open("/account")
        b.page.get_by_label("note").fill("<script>alert(1)</script>")
        b.click("Create a token")
        assert b.page.get_by_label("the new token").input_value().startswith("frith_")
        b.shoot("account")


def test_running_out_of_budget_is_told_kindly(browser, demo, shots, source):
    with browsing(browser, demo, shots) as b:
        b.sign_in(demo.curator)
        register(b, "small", source)
        b.click("Sign out")
        b.sign_in(demo.analyst)
        b.train("small", "forest", "1.5")
        b.open("/tables/small")
        assert b.page.get_by_text("Your budget on this table is used up").is_visible()
        b.page.get_by_text("Not possible now").wait_for()
        b.shoot("used-up")
        b.click("Train")
        assert b.page.get_by_text("The budget does not cover this").is_visible()
        assert b.page.get_by_text("the curator can raise it").first.is_visible()
        b.shoot("over-budget")
        refused = [c for c in b.complaints if "409" in c]
        assert len(refused) == len(b.complaints) > 0
        b.complaints.clear()  # the refusal itself


def test_a_curator_sees_who_spent_what_and_that_the_ledger_holds(browser, demo, shots):
    with browsing(browser, demo, shots) as b:
        b.sign_in(demo.curator)
        b.train(demo.table, "gini", "0.1")
        b.open("/curate")
        b.shoot("curate")
        b.open(f"/curate/tables/{demo.table}")
        assert b.page.locator("svg.steps path.line").count() >= 1
        b.shoot("review-spent")
        b.open("/curate/ledger")
        assert b.page.get_by_text("The chain holds").is_visible()
        b.shoot("ledger")
        b.open("/curate/members")
        b.page.get_by_label("name", exact=True).fill("bo")
        b.click("Add")
        assert b.page.locator("#member-bo").is_visible()
        b.shoot("members")
        b.open("/curate/jobs")
        b.shoot("all-jobs")


def test_a_phone_reads_every_page(browser, demo, shots):
    options = {"viewport": PHONE, "is_mobile": True, "has_touch": True, "color_scheme": "dark"}
    with browsing(browser, demo, shots, **options) as b:
        b.sign_in(demo.curator)
        forest = b.train(demo.table, "gini", "0.12")
        pages = {
            "tables": "/", "table": f"/tables/{demo.table}", "forest": forest, "jobs": "/jobs",
            "account": "/account", "curate": "/curate", "register": "/curate/register",
            "review": f"/curate/tables/{demo.table}", "members": "/curate/members",
            "ledger": "/curate/ledger",
        }  # fmt: skip
        for name, path in pages.items():
            b.open(path)
            b.shoot(f"phone-{name}")
            wide = b.page.evaluate("document.documentElement.scrollWidth")
            assert wide <= PHONE["width"], f"{path} is wider than a phone"
        b.click("Sign out")
        assert "/sign-in" in b.page.url


@pytest.mark.parametrize(
    ("size", "view", "epsilon"), [("desk", DESK, "0.3"), ("phone", PHONE, "0.31")]
)
def test_effects_and_papers_fit_their_paper(browser, demo, shots, tmp_path, size, view, epsilon):
    with browsing(browser, demo, shots, viewport=view) as b:
        b.sign_in(demo.analyst)
        b.train(demo.table, "forest", epsilon)
        assert _is_drawn(b.page, "effects")
        assert b.page.evaluate("document.documentElement.scrollWidth") <= view["width"]
        b.shoot(f"effects-{size}")
        for name in ("Report (HTML)", "Certificate (HTML)"):
            with b.page.expect_download() as download:
                b.click(name, role="link")
            download.value.save_as(tmp_path / f"{name.split()[0].lower()}.html")
    with browser.new_context(viewport=view) as context:
        page = context.new_page()
        for name in ("report", "certificate"):
            page.goto(f"file://{tmp_path / name}.html")
            page.screenshot(path=shots / f"{name}-{size}.png", full_page=True)
            assert page.evaluate("document.documentElement.scrollWidth") <= view["width"], name
        sheets = re.findall(rb"/Type\s*/Page\b(?!s)", page.pdf(prefer_css_page_size=True))
        assert len(sheets) == 1, "a certificate is one sheet of paper"


def test_what_the_policy_stops_would_be_heard(browser, demo, shots):
    with browsing(browser, demo, shots) as b:
        b.open("/sign-in")
        for inside in ("<p style='color: red'>", "<img src='https://evil.example/x.png'>"):
            b.page.evaluate("text => document.body.insertAdjacentHTML('beforeend', text)", inside)
        wanted = ("inline style", "evil.example")
        for _ in range(600):  # until both were told, for a minute at most
            if all(any(w in text for text in b.complaints) for w in wanted):
                break
            b.page.wait_for_timeout(100)
        assert any("inline style" in text for text in b.complaints)
        assert any("evil.example" in text for text in b.complaints)
        b.complaints.clear()


def _is_drawn(page, section="picture"):
    """Whether the picture has loaded and is one."""
    image = page.locator(f"#{section} .paper img")
    image.scroll_into_view_if_needed()
    return image.evaluate("image => image.decode().then(() => image.naturalWidth)") > 100
