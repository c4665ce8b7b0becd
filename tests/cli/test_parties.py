"""`frith structure`, `release`, `merge`, `join`, and what `show` says of several parties."""

import json

import numpy as np
import pytest

from frith import Forest, Ledger
from frith.parties import PartyRelease, Structure
from tests.tables import small_domain, small_table

PARTIES = ("ada", "bo", "cy")


@pytest.fixture
def office(desk, run):
    """The desk with a structure, and a table of each party's."""
    make(run, desk, "structure.json")
    whole = small_table(400)
    for i, party in enumerate(PARTIES):
        whole[i::3].to_parquet(desk / f"{party}.parquet")
    return desk


def make(run, desk, name, *more, code=0):
    return run("structure", "--domain", desk / "domain.toml", "--trees", 4, "--max-depth", 2,
               "--seed", 0, "-o", desk / name, *more, code=code)  # fmt: skip


def release(run, desk, party, *more, epsilon="0.5", code=0):
    return run("release", desk / "structure.json", desk / f"{party}.parquet", "--party", party,
               "--epsilon", epsilon, "--force", "-o", desk / f"{party}.json", *more, code=code)  # fmt: skip


def merge(run, desk, *more, parties=PARTIES, code=0):
    return run("merge", desk / "structure.json", *(desk / f"{p}.json" for p in parties),
               "-o", desk / "forest.json", *more, code=code)  # fmt: skip


# -- the whole way -----------------------------------------------------------------------------


def test_three_parties_make_one_forest(run, office):
    for party in PARTIES:
        said = release(run, office, party)
        assert f"of {party}:" in said.stdout
        assert "epsilon=0.5 differential privacy" in said.stdout
        assert "frith merge" in said.stdout
    words = merge(run, office).stdout
    assert "epsilon=1.5 differential privacy" in words
    for party in PARTIES:
        assert f"share of {party}: epsilon=0.5" in words
    forest = Forest.load(office / "forest.json")
    total = sum(PartyRelease.load(office / f"{p}.json").values for p in PARTIES)
    assert np.array_equal(forest.values[forest.trees.leaves], total)
    assert forest.trees == Structure.load(office / "structure.json").trees


def test_any_order_of_releases_gives_the_same_file(run, office):
    for party in PARTIES:
        release(run, office, party)
    merge(run, office)
    first = (office / "forest.json").read_bytes()
    merge(run, office, parties=PARTIES[::-1])
    assert (office / "forest.json").read_bytes() == first


def test_disjoint_people_are_a_declaration(run, office):
    for party in PARTIES:
        release(run, office, party)
    words = " ".join(merge(run, office, "--disjoint").stdout.split())
    assert "epsilon=0.5 differential privacy" in words
    assert "disjoint in protected units" in words


def test_show_lists_the_parties_shares(run, office):
    for party, epsilon in zip(PARTIES, ("0.5", "0.25", "1/3"), strict=True):
        release(run, office, party, epsilon=epsilon)
    merge(run, office)
    words = run("show", office / "forest.json").stdout
    assert "Each party's share" in words
    for party, epsilon in zip(PARTIES, ("0.5", "0.25", "1/3"), strict=True):
        assert any(line.split()[:2] == [party, epsilon] for line in words.splitlines())
    said = json.loads(run("show", office / "forest.json", "--json").stdout)
    assert [p["party"] for p in said["guarantee"]["parties"]] == list(PARTIES)


def test_show_says_nothing_of_parties_where_there_is_one(run, forest):
    assert "party" not in run("show", forest).stdout


# -- structures --------------------------------------------------------------------------------


def test_a_structure_is_the_same_for_the_same_seed(run, desk):
    said = json.loads(make(run, desk, "a.json", "--json").stdout)
    make(run, desk, "b.json")
    assert Structure.load(desk / "a.json") == Structure.load(desk / "b.json")
    made = Structure.load(desk / "a.json")
    assert said == {
        "path": str(desk / "a.json"), "hash": made.hash, "learner": "random-decision", "trees": 4,
        "leaves": len(made.trees.leaves), "domain": made.domain.fingerprint,
    }  # fmt: skip


def test_a_signal_structure_finds_its_own_shape(run, desk):
    where = ("--domain", desk / "domain.toml", "--learner", "signal", "-o", desk / "s.json")
    run("structure", *where, "--epsilon", 5, "--seed", 0)
    assert Structure.load(desk / "s.json").learner == "signal"
    assert "finds its own max_depth" in run("structure", *where, "--max-depth", 2, code=2).stderr


def test_a_structure_needs_a_declared_number_of_records_or_a_height(run, desk):
    small_domain().save(desk / "domain.toml")
    result = run("structure", "--domain", desk / "domain.toml", "-o", desk / "s.json", code=2)
    assert "declare the number of records" in result.stderr


# -- releases ----------------------------------------------------------------------------------


def test_a_release_is_charged_to_the_partys_own_ledger(run, office):
    Ledger.create(office / "ledger", epsilon=1)
    said = json.loads(release(run, office, "ada", "--ledger", office / "ledger", "--json").stdout)
    made = PartyRelease.load(office / "ada.json")
    assert said["receipt"] == made.receipt.to_json()
    assert (said["party"], said["id"], said["hash"]) == ("ada", made.id, made.hash)
    words = release(run, office, "ada", "--ledger", office / "ledger").stdout
    assert "receipt 3: epsilon 0.5 charged, 1 spent in all" in words
    (office / "ada.json").unlink()
    refusal = release(run, office, "ada", "--ledger", office / "ledger", code=3)
    assert "has epsilon 0 left and this asks for 0.5" in refusal.stderr
    assert not (office / "ada.json").exists()


def test_nothing_said_depends_on_the_records(run, office):
    first = release(run, office, "ada", "--delta", "1e-6")
    small_table(3, seed=9).to_parquet(office / "ada.parquet")
    other = release(run, office, "ada", "--delta", "1e-6")

    def without_id(result):
        return [line for line in result.stdout.splitlines() if "release " not in line]

    assert without_id(first) == without_id(other)
    assert first.stderr == other.stderr == "release of ada, pass 1: labels in the leaves\n"


def test_exact_counts_are_not_for_other_parties(run, office):
    assert "finite epsilon" in release(run, office, "ada", epsilon="inf", code=2).stderr
    assert not (office / "ada.json").exists()


def test_an_output_that_cannot_be_written_costs_nothing(run, office):
    Ledger.create(office / "ledger", epsilon=1)
    for place in ("structure.json", "ada.parquet", "ledger", "nowhere/r.json"):
        release(run, office, "ada", "--ledger", office / "ledger", "-o", office / place, code=2)
    assert Ledger(office / "ledger").spent == 0


# -- what is refused ---------------------------------------------------------------------------


def test_a_release_of_another_structure_is_refused_by_name(run, office):
    release(run, office, "ada")
    make(run, office, "structure.json", "--seed", 1)
    release(run, office, "bo")
    result = merge(run, office, parties=("bo", "ada"), code=2)
    assert "error: the release of ada is of another structure" in result.stderr
    assert not (office / "forest.json").exists()


def test_a_repeated_release_is_refused_by_name(run, office):
    release(run, office, "ada")
    words = merge(run, office, parties=("ada", "ada"), code=2).stderr
    assert "the release of ada is given twice" in words


def test_a_changed_release_is_refused_by_name_and_file(run, office):
    release(run, office, "ada")
    said = json.loads((office / "ada.json").read_text())
    said["values"][0][0] += 1
    (office / "ada.json").write_text(json.dumps(said))
    words = merge(run, office, parties=("ada",), code=2).stderr
    assert f"{office / 'ada.json'}: the release of ada was changed" in words


@pytest.mark.parametrize("text", ["{}", "not json", '{"format": "frith-release/1"}'])
def test_what_is_no_release_is_named(run, office, text):
    (office / "ada.json").write_text(text)
    words = merge(run, office, parties=("ada",), code=2).stderr
    assert words.startswith(f"error: {office / 'ada.json'}")
    assert words.count("ada.json") == 1


def test_files_in_the_wrong_places_are_explained(run, office):
    release(run, office, "ada")
    result = run("merge", office / "ada.json", office / "structure.json",
                 "-o", office / "forest.json", code=2)  # fmt: skip
    assert "this is not a frith structure" in result.stderr


# -- vertically --------------------------------------------------------------------------------


def train_part(run, desk, party, *columns, epsilon=1):
    domain = small_domain(records=400)
    kept = tuple(a for a in domain.attributes if a.name in columns)
    type(domain)(kept, domain.label, records=400).save(desk / f"{party}.toml")
    run("train", desk / "table.parquet", "--domain", desk / f"{party}.toml", "--epsilon", epsilon,
        "--learner", "random-decision", "--max-depth", 1, "-o", desk / f"{party}.json")  # fmt: skip


def test_forests_over_different_attributes_vote_together(run, desk):
    train_part(run, desk, "ada", "color", "round")
    train_part(run, desk, "bo", "size", epsilon="0.5")
    words = run("join", desk / "ada.json", desk / "bo.json", "-o", desk / "joint.json").stdout
    assert "epsilon=1.5 differential privacy" in words
    assert "share of ada: epsilon=1.0" in words
    assert "share of bo: epsilon=0.5" in words
    joint = Forest.load(desk / "joint.json")
    assert set(joint.domain.names) == {"color", "round", "size"}
    assert joint.trees.n_trees == 20
    said = json.loads(run("join", desk / "ada.json", desk / "bo.json", "-o", desk / "joint.json",
                          "--json").stdout)  # fmt: skip
    assert said["guarantee"]["epsilon"] == "1.5"
    run("predict", desk / "joint.json", desk / "table.csv")


def test_parties_whose_files_have_one_name_are_told_apart(run, desk):
    for folder, column in (("north", "color"), ("south", "size")):
        train_part(run, desk, folder, column)
        (desk / folder).mkdir()
        (desk / f"{folder}.json").rename(desk / folder / "forest.json")
    run("join", desk / "north" / "forest.json", desk / "south" / "forest.json",
        "-o", desk / "joint.json")  # fmt: skip
    assert len(Forest.load(desk / "joint.json").guarantee.parties) == 2


def test_attributes_that_are_declared_differently_are_refused_by_name(run, desk):
    train_part(run, desk, "ada", "color", "round")
    domain = small_domain()
    color = type(domain.attributes[0])("color", ("red", "green"))
    type(domain)((color,), domain.label, records=400).save(desk / "bo.toml")
    run("train", desk / "table.parquet", "--domain", desk / "bo.toml", "--epsilon", 1,
        "--learner", "random-decision", "-o", desk / "bo.json")  # fmt: skip
    result = run("join", desk / "ada.json", desk / "bo.json", "-o", desk / "joint.json", code=2)
    assert "bo declares attribute 'color' differently" in result.stderr
