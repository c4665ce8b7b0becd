"""A chain that was cut short, put back or written anew does not pass its witness."""

import json
import socket
import sqlite3
import threading
from contextlib import closing
from fractions import Fraction

import pytest

from frith import Budget, Ledger
from frith.errors import FormatError, SourceError
from frith.ledger.anchored import Anchors, open_anchors
from frith.ledger.anchors import Anchor, Record, Signer, new_key, read_trusted
from frith.ledger.backup import back_up, put_back
from frith.ledger.book import Book
from frith.ledger.database import Database
from frith.ledger.entries import hash_of
from frith.ledger.witness import FileWitness, UrlWitness, WitnessError
from frith.ledger.witnessing import make_server
from frith.privacy.neighbors import neighbors_of

NEIGHBORS = neighbors_of(None)


def make_key(folder, name="key.pem"):
    pem, public = new_key()
    (folder / name).write_bytes(pem)
    return folder / name, public


@pytest.fixture
def signer(tmp_path):
    return Signer.load(make_key(tmp_path)[0])


@pytest.fixture(params=["file", "url"])
def witness(request, tmp_path, signer):
    """A file, and the same behind HTTP."""
    file = tmp_path / "witness.jsonl"
    if request.param == "file":
        yield FileWitness(file)
        return
    with make_server(file, frozenset({signer.key}), "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield UrlWitness(f"http://127.0.0.1:{server.server_port}/")
        server.shutdown()


@pytest.fixture
def anchors(witness, signer):
    return Anchors(witness, frozenset(), signer)


@pytest.fixture
def place(tmp_path):
    Ledger.create(tmp_path / "ledger.db", epsilon=10)
    return tmp_path / "ledger.db"


def charge(place, times=1):
    for _ in range(times):
        Ledger(place).charge(Budget.of("0.1"), "a fit", NEIGHBORS)


def anchor(anchors, place, **more):
    database = Database(place)
    with database.read() as session:
        found = Book(session.connection()).verify()
    assert found.holds
    anchors.write(found.entries, found.head, **more)
    database.close()


def doubts(anchors, place, *, whole=True):
    database = Database(place)
    try:
        return anchors.doubts(database, whole=whole)
    finally:
        database.close()


def write_anew(place, purpose="another"):
    """Edit the second entry and work out every hash after it, as somebody who has read our code would."""
    with closing(sqlite3.connect(place)) as file:
        triggers = file.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in triggers:
            file.execute(f"DROP TRIGGER {name}")
        file.execute("UPDATE entry SET purpose = ? WHERE id = 2", (purpose,))
        columns = "id, account, kind, request, amount, spent, held, purpose, at, salt"
        previous = ""
        for row in file.execute(f"SELECT {columns} FROM entry ORDER BY id").fetchall():
            *fields, said, at, salt = row
            fields[4:7] = map(Fraction, fields[4:7])
            previous = hash_of(previous, salt, (*fields, "epsilon", said, at))
            file.execute("UPDATE entry SET hash = ? WHERE id = ?", (previous, row[0]))
        file.execute("UPDATE ledger_head SET hash = ?", (previous,))
        file.commit()


def test_a_chain_that_goes_on_from_its_anchors_passes(anchors, place):
    anchor(anchors, place)
    charge(place, 3)
    anchor(anchors, place)
    charge(place)
    assert doubts(anchors, place) == []
    assert doubts(anchors, place, whole=False) == []


def test_a_chain_written_anew_verifies_and_does_not_pass_its_witness(anchors, place):
    charge(place, 3)
    anchor(anchors, place)
    write_anew(place)
    assert Ledger(place).verify().holds, "its own hashes tell nothing"
    (found,) = doubts(anchors, place)
    assert "entry 4 is not the one that was anchored" in found
    assert "put back a copy" in found


def test_a_chain_that_was_rolled_back_does_not_pass_even_after_it_has_grown_again(
    anchors, place, tmp_path
):
    charge(place)
    copy = tmp_path / "copy.db"
    back_up(Database(place), copy)
    charge(place, 2)
    anchor(anchors, place)
    assert "ends at entry 2, and had 4" in doubts(anchors, copy)[0]
    charge(copy, 5)
    assert "entry 4 is not the one" in doubts(anchors, copy)[0]


def test_an_old_backup_is_not_put_back_where_the_database_was_lost(anchors, place, tmp_path):
    charge(place)
    copy, good = tmp_path / "copy.db", tmp_path / "good.db"
    back_up(Database(place), copy)
    charge(place)
    back_up(Database(place), good)
    anchor(anchors, place)
    place.unlink()
    with pytest.raises(SourceError, match=r"is not put back.*had 3.*docs/runbook\.md"):
        put_back(copy, Database(place), anchors=anchors)
    assert not place.exists() or not place.stat().st_size
    put_back(good, Database(place), anchors=anchors)
    assert Ledger(place).verify().holds
    put_back(copy, Database(place), anchors=anchors, forget=True)


def test_what_is_given_up_is_given_up_once_and_stays_to_be_read(anchors, witness, place, tmp_path):
    charge(place)
    anchor(anchors, place)
    copy = tmp_path / "copy.db"
    back_up(Database(place), copy)
    charge(place)
    anchor(anchors, place)
    anchor(anchors, copy, forgets="the disk burned")
    charge(copy, 3)
    anchor(anchors, copy)
    assert doubts(anchors, copy) == []
    assert [a.forgets for a in anchors.read().given_up] == ["the disk burned"]
    line = next(line for line in witness.lines() if "burned" in line)
    back_up(Database(copy), tmp_path / "older.db")
    charge(copy)
    anchor(anchors, copy)
    witness.add(line)  # the same line again, by somebody who may add lines
    assert "ends at entry 5, and had 6" in doubts(anchors, tmp_path / "older.db")[0]
    assert "ends at entry 5, and had 6" in doubts(anchors, tmp_path / "older.db", whole=False)[0]


def test_an_empty_database_in_place_of_one_that_was_anchored_does_not_pass(
    anchors, place, tmp_path
):
    anchors.write(0, "")
    assert doubts(anchors, place) == [], "it has grown since"
    charge(place)
    anchor(anchors, place)
    Database(tmp_path / "new.db").upgrade()
    assert "ends at entry 0, and had 2" in doubts(anchors, tmp_path / "new.db")[0]


def test_a_witness_without_an_anchor_is_a_finding(anchors, place):
    assert "frith anchor begin" in doubts(anchors, place)[0]


def test_lines_that_nobody_signed_are_a_finding_and_count_for_nothing(place, signer, tmp_path):
    witness = FileWitness(tmp_path / "witness.jsonl")
    anchors = Anchors(witness, frozenset(), signer)
    anchor(anchors, place)
    stranger = Signer.load(make_key(tmp_path, "other.pem")[0])
    good = signer.sign(1, "00", "2030-01-01")
    changed = json.loads(good.to_line()) | {"hash": "11"}
    for line in (stranger.sign(1, "00", "2030-01-01").to_line(), json.dumps(changed)):
        witness.add(line)
    assert ["not signed by a trusted key" in text for text in doubts(anchors, place)] == [True]
    trusting = Anchors(witness, frozenset({stranger.key}), signer)
    assert "entry 1 is not the one" in doubts(trusting, place)[-1]


@pytest.mark.parametrize(
    "line", ['{"format": "frith-anch', "[]", "null", "\x00", "[" * 50_000, "{}"]
)
def test_torn_lines_hide_no_other_line(place, signer, tmp_path, line):
    file = tmp_path / "witness.jsonl"
    anchors = Anchors(FileWitness(file), frozenset(), signer)
    anchor(anchors, place)
    with file.open("a") as out:
        out.write(line)  # broke off: no end of line
    charge(place)
    anchor(anchors, place)
    assert doubts(anchors, place) == []
    record = anchors.read(whole=True)
    assert (record.last.entry, record.torn) == (2, 1)


def test_a_witness_that_loses_lines_is_found_by_whoever_has_read_them(place, signer, tmp_path):
    file = tmp_path / "witness.jsonl"
    anchors = Anchors(FileWitness(file), frozenset(), signer)
    anchor(anchors, place)
    before = file.read_text()
    charge(place)
    anchor(anchors, place)
    assert doubts(anchors, place) == []
    file.write_text(before)
    assert "no longer holds the anchor of entry 2" in doubts(anchors, place)[0]
    file.unlink()
    assert "no longer holds the anchor of entry 2" in doubts(anchors, place, whole=False)[0]


def test_a_long_witness_is_read_at_its_end_alone(place, signer, tmp_path, monkeypatch):
    witness = FileWitness(tmp_path / "witness.jsonl")
    anchors = Anchors(witness, frozenset(), signer)
    for i in range(300):
        witness.add(signer.sign(0, "", f"{i}").to_line())
    monkeypatch.setattr("frith.ledger.witness._TAIL_BYTES", 2_000)
    assert doubts(anchors, place) == []
    anchor(anchors, place)
    whole = []
    read = witness.lines
    monkeypatch.setattr(
        witness, "lines", lambda tail=False: whole.append(not tail) or read(tail=tail)
    )
    assert doubts(anchors, place, whole=False) == []
    assert anchors.read().last.entry == 1
    assert not any(whole)


def test_what_cannot_be_reached_is_said_and_not_taken_for_empty(place, signer, tmp_path):
    for witness in (UrlWitness("http://127.0.0.1:1/"), FileWitness(tmp_path)):
        anchors = Anchors(witness, frozenset(), signer)
        with pytest.raises(WitnessError):
            doubts(anchors, place)
        with pytest.raises(WitnessError):
            anchors.write(1, "")


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n{line}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{size}\r\n{line}\r\n",
        b"HTTP/1.0 200 OK\r\n\r\n{line}",
        b"no answer at all\r\n\r\n",
    ],
)
def test_an_answer_that_breaks_off_is_no_shorter_witness(place, signer, answer):
    """What is missing may be the anchor that a rolled back chain lacks."""
    line = signer.sign(0, "", "2026-01-01").to_line().encode() + b"\n"
    said = answer.replace(b"{line}", line).replace(b"{size}", f"{len(line):x}".encode())
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            connection, _ = server.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(said)

        thread = threading.Thread(target=serve)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        with pytest.raises(WitnessError):
            doubts(Anchors(UrlWitness(url), frozenset(), signer), place)
        thread.join()


def test_a_witness_that_is_too_long_is_not_read_in_part(place, signer, tmp_path, monkeypatch):
    witness = FileWitness(tmp_path / "witness.jsonl")
    for i in range(9):
        witness.add(signer.sign(0, "", f"{i}").to_line())
    monkeypatch.setattr("frith.ledger.witness._MOST_BYTES", 2_000)
    with pytest.raises(WitnessError):
        doubts(Anchors(witness, frozenset(), signer), place)


def test_the_witness_server_keeps_what_a_trusted_key_signed_and_nothing_else(signer, tmp_path):
    file = tmp_path / "witness.jsonl"
    stranger = Signer.load(make_key(tmp_path, "other.pem")[0])
    with make_server(file, frozenset({signer.key}), "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        witness = UrlWitness(f"http://127.0.0.1:{server.server_port}/")
        for line in (stranger.sign(1, "a", "now").to_line(), "no anchor", "x" * 5_000):
            with pytest.raises(WitnessError):
                witness.add(line)
        assert not file.exists()
        witness.add(signer.sign(1, "a", "now").to_line())
        assert len([line for line in witness.lines() if line]) == 1
        server.shutdown()


def test_the_witness_server_keeps_a_line_once_however_often_it_is_sent(signer, tmp_path):
    """Whoever can read its lines could otherwise fill its disk with them."""
    file = tmp_path / "witness.jsonl"
    first, second = (signer.sign(i, "a", "now").to_line() for i in (1, 2))

    def kept():
        return [line for line in file.read_text().split("\n") if line]

    for begun in range(2):  # also one that is started again
        with make_server(file, frozenset({signer.key}), "127.0.0.1", 0) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            witness = UrlWitness(f"http://127.0.0.1:{server.server_port}/")
            for line in (first, second, first, second):
                witness.add(line)
            assert kept() == [first, second]
            if begun:
                file.write_text(f"{first}\n")
                witness.add(first)
                witness.add(second)
                assert kept() == [first, second], "a line that was lost is kept again"
            server.shutdown()


def test_the_end_of_a_long_witness_is_read_without_the_rest(signer, tmp_path, monkeypatch):
    file = tmp_path / "witness.jsonl"
    lines = [signer.sign(i, "a", "now").to_line() for i in range(20)]
    whole, read = [], FileWitness.lines

    def note(self, *, tail=False):
        whole.append(not tail)
        return read(self, tail=tail)

    with make_server(file, frozenset({signer.key}), "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        witness = UrlWitness(f"http://127.0.0.1:{server.server_port}/")
        for line in lines:
            witness.add(line)
        monkeypatch.setattr(FileWitness, "lines", note)
        monkeypatch.setattr("frith.ledger.witness._TAIL_BYTES", 5 * len(lines[0]))
        monkeypatch.setattr("frith.ledger.witness._TAIL_LINES", 3)
        assert witness.lines(tail=True) == [*lines[-3:], ""]
        assert whole == [False]
        monkeypatch.setattr("frith.ledger.witness._TAIL_LINES", 9)
        assert witness.lines(tail=True) == [*lines[-9:], ""]
        assert witness.lines() == [*lines, ""]
        server.shutdown()


def test_an_anchor_is_signed_in_all_its_parts(signer):
    good = signer.sign(7, "ab", "2026-01-01T00:00:00+00:00", "why")
    record = Record(frozenset({signer.key}))
    record.add([good.to_line()])
    assert record.anchors == [good]
    for part, other in {
        "entry": 8,
        "hash": "ac",
        "at": "2027",
        "forgets": "",
        "key": "00" * 32,
    }.items():
        record = Record(frozenset({signer.key, "00" * 32}))
        record.add([json.dumps(json.loads(good.to_line()) | {part: other})])
        assert record.anchors == [], part
    for part, other in {"entry": "7", "hash": 1, "forgets": None, "more": 1, "format": "x"}.items():
        with pytest.raises(FormatError):
            Anchor.from_line(json.dumps(json.loads(good.to_line()) | {part: other}))


def test_settings_of_anchors_that_cannot_work_are_refused(tmp_path):
    path, public = make_key(tmp_path)
    assert open_anchors("") is None
    assert open_anchors(str(tmp_path / "w"), str(path), public) is not None
    assert open_anchors(str(tmp_path / "w"), trusted=public) is not None
    for wrong in (("", str(path)), (str(tmp_path / "w"),), (str(tmp_path / "w"), "", "abc")):
        with pytest.raises(FormatError):
            open_anchors(*wrong)
    with pytest.raises(SourceError):
        open_anchors("ftp://x", str(path))
    with pytest.raises(SourceError):
        open_anchors("w", str(tmp_path / "none.pem"))
    (tmp_path / "bad.pem").write_text("no key")
    with pytest.raises(FormatError):
        open_anchors("w", str(tmp_path / "bad.pem"))
    assert read_trusted(f"{public}, {public.upper()}") == {public}
