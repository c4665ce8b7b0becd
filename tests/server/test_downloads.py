"""Large releases: packed before the transaction, downloaded in bounded memory, not shown on pages."""

import json
import os
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import pytest

from benchmarks.server_process import ServerProcess
from frith.forest import Forest
from frith.server.jobs.downloads import forest_alone, unpacked, with_fields
from frith.server.jobs.journal import pack, unpack
from frith.server.run import worker
from frith.server.run.cage import used_bytes
from frith.server.schema import Release
from tests.server.conftest import refused, said
from tests.server.test_pages import Browser

FULL = os.environ.get("FRITH_FULL") == "1"


def large_document(n_bytes):
    """A document of about this length, half of which does not compress."""
    text = os.urandom(n_bytes // 4).hex() + '\\,"learner":é' * (n_bytes // 26)
    return {"forest": {"a": text, "learner": [1]}, "learner": "gini", "parameters": {"bins": 2}}


def change_release(context, document):
    with context.database.write() as session:
        release = session.query(Release).one()
        release.document = pack(document)


def test_a_download_is_the_stored_document_with_its_id_and_receipt(house):
    job = house.train()
    with house.database.read() as session:
        stored = unpack(session.query(Release).one().document)
    got = said(house.analyst.get(f"/v1/forests/{job['id']}"))
    assert got == stored | {"id": job["id"], "receipt": job["receipt"]}
    page = Browser(house, house.analyst.token).get(f"/forests/{job['id']}/forest.json")
    whole = json.loads(page.text)
    assert whole == stored["forest"] | {"origin": whole["origin"]}
    assert page.text.endswith("}\n")
    Forest.from_json(page.json())


@pytest.mark.parametrize("n_bytes", [40, 2**18, 2**18 + 11, 2**20])
def test_pieces_of_a_document_put_together_are_the_document(n_bytes):
    document = large_document(n_bytes)
    packed = pack(document)
    assert (
        json.loads(b"".join(with_fields({"id": "x"}, unpacked([packed])))) == {"id": "x"} | document
    )
    assert json.loads(b"".join(forest_alone([packed[:9], packed[9:]]))) == document["forest"]


def test_a_download_takes_no_more_memory_than_a_few_pieces():
    packed = pack(large_document(30_000_000))
    for pieces in (unpacked([packed]), forest_alone([packed])):
        tracemalloc.start()
        length = sum(len(piece) for piece in pieces)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert length > 29_000_000
        assert most < 4_000_000


def test_what_is_too_large_to_show_can_be_downloaded(house):
    forest = house.train()["id"]
    house.set(shown_bytes=100)
    browser = Browser(house, house.analyst.token)
    for path in ("", "/picture.svg", "/model.onnx", "/rules.csv"):
        answer = browser.client.get(f"/forests/{forest}{path}")
        assert answer.status_code == 413
        assert "download it as JSON" in answer.text
    refused(house.analyst.get(f"/v1/forests/{forest}/importances"), "too_large")
    assert said(house.analyst.get(f"/v1/forests/{forest}"))["id"] == forest
    assert browser.get(f"/forests/{forest}/forest.json").status_code == 200
    quote = house.analyst.post(f"/v1/forests/{forest}/quotes", json={"epsilon": "0.1"})
    assert said(quote)["granted"], "a price needs no forest"


def test_nobody_waits_while_a_large_document_is_packed(house, monkeypatch):
    packing, packed = threading.Event(), threading.Event()

    def slowly(document):
        packing.set()
        assert packed.wait(60)
        return pack(document)

    monkeypatch.setattr(worker, "pack", slowly)
    job = said(house.analyst.ask(house.table), 202)["id"]
    thread = threading.Thread(target=house.worker.work_once)
    thread.start()
    assert packing.wait(60)
    bea = house.add("bea", to=house.table)
    said(bea.ask(house.table, epsilon="0.2"), 202)
    packed.set()
    thread.join()
    assert house.analyst.job(job)["state"] == "done"


def test_large_downloads_at_once_leave_the_server_small(tmp_path):
    n_bytes = 340_000_000 if FULL else 40_000_000
    with ServerProcess(tmp_path, epsilon="4") as server:
        body = {"epsilon": "0.1", "learner": "random-decision"}
        with server.client(server.sample.analyst_token) as client:
            job = client.post(f"/v1/tables/{server.table}/forests", json=body).json()["id"]
            client.get_until_done(job)
            context = server.context()
            change_release(context, large_document(n_bytes))
            context.database.close()
            client.get(f"/v1/forests/{job}/quotes")
        idle, most, done = used_bytes(server.process.pid), 0, threading.Event()

        def watch():
            nonlocal most
            while not done.wait(0.02):
                most = max(most, used_bytes(server.process.pid))

        def download(token):
            with (
                server.client(token) as client,
                client.stream("GET", f"/v1/forests/{job}") as answer,
            ):
                return sum(len(piece) for piece in answer.iter_bytes())

        threading.Thread(target=watch).start()
        tokens = [server.sample.analyst_token, server.sample.curator_token]
        with ThreadPoolExecutor(4) as pool:
            lengths = list(pool.map(download, tokens * 2))
        done.set()
    assert min(lengths) > 0.9 * n_bytes
    assert most - idle < (300_000_000 if FULL else 150_000_000)
