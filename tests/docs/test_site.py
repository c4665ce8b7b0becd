"""The site: built strictly, whole from a folder, and searched there in a real browser."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.browser.conftest import ARGUMENTS, CHROMIUM

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.xdist_group("site")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site, and what was said while it was built."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    return folder, done


class Loads(HTMLParser):
    """What a page loads by itself, and where its links lead."""

    def __init__(self, page: Path):
        super().__init__()
        self.loaded: list[str] = []
        self.linked: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = {name: value or "" for name, value in attrs}
        self.loaded += [
            given[name] for name in ("src", "srcset", "data", "poster") if name in given
        ]
        if "href" in given:
            (self.linked if tag == "a" else self.loaded).append(given["href"])


def test_the_site_builds_without_a_warning(site):
    _, done = site
    assert done.returncode == 0, done.stderr
    assert not re.search(r"^(WARNING|ERROR)", done.stderr, re.MULTILINE), done.stderr


def test_no_page_loads_anything_from_another_host(site):
    folder, _ = site
    pages = list(folder.rglob("*.html"))
    assert len(pages) > 60
    for page in pages:
        for place in Loads(page).loaded:
            assert not re.match(r"(https?:)?//", place), f"{page.name} loads {place}"
    for style in folder.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*['\"]?(https?:)?//", style.read_text()), style
    for drawing in folder.rglob("*.svg"):
        assert not re.search(r"href|<script|url\(", drawing.read_text()), drawing


def test_the_reference_has_what_people_import(site):
    import frith

    folder, _ = site
    text = "".join(p.read_text(encoding="utf-8") for p in folder.glob("api/*.html"))
    for name in frith.__all__:
        assert f".{name}" in text, f"the reference says nothing about {name}"


# -- in a browser, from a folder -------------------------------------------------------------------

DESK, PHONE = (1280, 900), (390, 844)
LOOKED_AT = ("index.html", "guide/start.html", "api/learners.html", "results/peers.html")


@pytest.fixture(scope="module")
def browser():
    if not Path(CHROMIUM).exists():
        what = "chromium is not installed: apt-get install chromium"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(what)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield opened
        opened.close()


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_pages_fit_the_window_and_ask_no_other_host(site, browser, size):
    folder, _ = site
    page = browser.new_page(viewport=dict(zip(("width", "height"), size, strict=True)))
    asked, failed = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: failed.append(error))
    for name in LOOKED_AT:
        page.goto((folder / name).as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0], name
    page.close()
    assert failed == []
    assert [url for url in asked if not url.startswith(("file:", "data:", "about:"))] == []


def test_the_site_is_searched_from_a_folder(site, browser):
    folder, _ = site
    page = browser.new_page()
    page.goto((folder / "index.html").as_uri())
    page.click("[data-md-component=search-query]")
    page.wait_for_selector("text=Type to start searching", timeout=240_000)
    page.keyboard.type("private quantile")
    page.wait_for_selector(".md-search-result__link[href*='mechanisms']", timeout=240_000).click()
    page.wait_for_url("**/proofs/mechanisms.html*")
    assert "A quantile is a private choice" in page.inner_text("main")
    page.close()
