"""Lists over the API: the ledger's entries and exports, jobs and forests, a page at a time."""

from frith.ledger import Book
from frith.ledger.database import StoreError
from frith.server.budget import export
from tests.server.conftest import refused, said


def test_analysts_read_their_own_entries_and_curators_the_whole_chain(house):
    bea = house.add("bea", to=house.table)
    house.train()
    house.train(bea, epsilon="0.2")
    assert {e["account"] for e in said(bea.get("/v1/ledger"))} == {f"{house.table}/bea"}
    assert all(line.split(",")[1] in ("account", f"{house.table}/bea")
               for line in bea.get("/v1/ledger.csv").text.splitlines())  # fmt: skip
    whole = said(house.curator.get("/v1/ledger"))
    assert {e["account"] for e in whole} >= {house.table, house.own, f"{house.table}/bea"}
    verified = said(house.curator.get("/v1/ledger/verification"))
    assert verified["holds"]
    assert verified["entries"] == len(whole)


def test_a_ledger_is_read_a_page_at_a_time(house):
    bea = house.add("b_a", to=house.table)
    house.train(bea, epsilon="0.2")
    house.train(house.add("bxa", to=house.table))
    house.train(bea, epsilon="0.3")
    for person in (bea, house.curator):
        whole, read = said(person.get("/v1/ledger")), []
        query = {"limit": 2}
        while page := said(person.get("/v1/ledger", params=query)):
            assert len(page) <= 2
            read += page
            query["after"] = page[-1]["id"]
        assert read == whole
        assert len(whole) > 4
    for query in ({"limit": 0}, {"limit": 1001}, {"after": -1}, {"after": 2**63}, {"after": "x"}):
        refused(bea.get("/v1/ledger", params=query), "invalid")
    assert {e["account"] for e in said(bea.get("/v1/ledger"))} == {f"{house.table}/b_a"}


def test_an_export_is_whole_and_comes_in_parts(house, monkeypatch):
    house.train()
    whole = house.curator.get("/v1/ledger.csv")
    asked = []
    real = Book.page
    monkeypatch.setattr(export, "PAGE", 2)
    monkeypatch.setattr(Book, "page", lambda *a: asked.append(a[1:]) or real(*a))
    monkeypatch.setattr(Book, "entries", None)
    assert house.curator.get("/v1/ledger.csv").text == whole.text
    assert whole.headers["content-type"] == "text/csv; charset=utf-8"
    assert len(asked) >= 3
    assert house.add("na").get("/v1/ledger.csv").text == whole.text.splitlines()[0] + "\n"


def test_an_export_that_cannot_begin_says_so(house, monkeypatch):
    def locked(*_):
        raise StoreError("locked")

    monkeypatch.setattr(Book, "page", locked)
    refused(house.curator.get("/v1/ledger.csv"), "unavailable")


def ask_dry_runs(house, count):
    """Jobs for nothing, some of them asked at the same moment; the newest first."""
    found = []
    for number in range(count):
        seeded = {"n_trees": 1, "random_state": number}
        body = {"epsilon": "1", "learner": "random-decision", "parameters": seeded}
        found.append(said(house.analyst.post(f"/v1/tables/{house.table}/dry-runs", json=body), 202))
        house.clock.move(seconds=number % 2)
    return sorted(found, key=lambda job: (job["created"], job["id"]), reverse=True)


def test_jobs_and_forests_are_listed_in_pages(house):
    house.set(queued_per_member=10)
    jobs = [job["id"] for job in ask_dry_runs(house, 5)]
    house.work()

    def list_all(what, size):
        found = []
        while True:
            before = f"&before={found[-1]}" if found else ""
            page = said(house.analyst.get(f"/v1/{what}?limit={size}{before}"))
            found += [job["id"] for job in page]
            if len(page) < size:
                return found

    assert len(set(jobs)) == 5
    for what in ("jobs", "forests"):
        for size in (1, 2, 5, 6):
            assert list_all(what, size) == jobs
    bea = house.add("bea", to=house.table)
    refused(bea.get(f"/v1/jobs?before={jobs[0]}"), "not_found")
    refused(house.analyst.get("/v1/jobs?before=none"), "not_found")


def test_a_page_of_forests_is_full_though_some_are_not_shown_yet(house):
    house.set(queued_per_member=10, deliver_every=3600)
    jobs = [job["id"] for job in ask_dry_runs(house, 5)]
    house.work()
    assert said(house.analyst.get("/v1/forests?limit=2")) == []
    long_ago = dict.fromkeys(("created", "finished"), "2000-01-01T00:00:00+00:00")
    for job in jobs[2:]:
        house.change_job(job, **long_ago)
    listed = said(house.analyst.get("/v1/forests?limit=2"))
    assert [job["id"] for job in listed] == sorted(jobs[2:], reverse=True)[:2]
