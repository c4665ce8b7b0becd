"""Write one file of every format that people keep, and what each of them means.

python -m tests.formats.write FOLDER
"""

from __future__ import annotations

import json
import sqlite3
import sys
import tempfile
import time
import warnings
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import httpx2
import numpy as np

import frith
from frith import Categorical, Domain, Ledger, Numeric, Person
from frith.curator import Curator
from frith.curator.confusion import score_confusion
from frith.curator.scoring import ScoreRequest, score_forest
from frith.learners import BY_NAME, REGRESSORS
from frith.parties import Keys, make_structure, merge, release
from frith.parties.masks import Round
from frith.privacy import Budget
from tests.hosting import hosted
from tests.tables import small_domain, small_table

COLUMNS = ["color", "round", "size"]
ASKED = small_table(12, seed=5)[COLUMNS]
"""The records that every forest is asked about."""


def many_colors(domain: Domain) -> Domain:
    """A color has eight values, so that splits are by sets of them."""
    colors = Categorical("color", tuple(f"c{i}" for i in range(8)))
    return replace(domain, attributes=(colors, *domain.attributes[1:]))


def colored(table):
    """The same records with eight colors."""
    codes = table["color"].map({"red": 0, "green": 3, "blue": 6}) + np.arange(len(table)) % 2
    return table.assign(color=[f"c{i}" for i in codes])


def facts(forest) -> dict:
    """What a forest means, in plain values."""
    table = colored(ASKED) if len(forest.domain.attributes[0].values) == 8 else ASKED
    proba = None if forest.domain.has_target else forest.predict_proba(table).round(9).tolist()
    return {
        "vote": forest.vote,
        "epsilon": str(forest.guarantee.epsilon),
        "delta": str(forest.guarantee.delta),
        "neighbors": forest.guarantee.neighbors,
        "assumptions": list(forest.guarantee.assumptions),
        "questions": len(forest.guarantee.asked),
        "trees": forest.trees.n_trees,
        "leaves": len(forest.trees.leaves),
        "rules": forest.trees.n_nodes,  # rules and sub-rules, also those that say nothing
        "predicted": list(forest.predict(table)),
        "probabilities": proba,  # of labels; a number has none
    }


def write_forests(folder: Path) -> dict:
    domain, table = small_domain(records=400), small_table(400)
    expected = {}
    for learner in ("random-decision", "signal", "gini", "id3"):
        model = BY_NAME[learner](domain, epsilon=1).fit(table[COLUMNS], table["good"])
        name = f"forest-{model.forest_.vote}.json"
        model.forest_.save(folder / name)
        expected[name] = facts(model.forest_)
    boosted = BY_NAME["forest"](many_colors(replace(domain, records=40_000)), epsilon=2)
    forest = boosted.fit(colored(table)[COLUMNS], table["good"]).forest_
    forest.save(folder / "forest-product.json")
    expected["forest-product.json"] = facts(forest)
    return expected | write_number(folder)


def write_number(folder: Path) -> dict:
    """A forest that predicts a number: the weight of something by its color, shape and size."""
    domain, table = small_domain(records=400), colored(small_table(400))
    weight = table["size"].fillna(3) * 2 + 5 * (table["round"] == "yes")
    numbers = replace(many_colors(domain), label=Numeric("weight", 0, 30))
    forest = REGRESSORS["forest"](numbers, epsilon=3).fit(table[COLUMNS], weight).forest_
    forest.save(folder / "forest-sum.json")
    return {"forest-sum.json": facts(forest)}


def write_domains(folder: Path) -> dict:
    domain = Domain(
        [
            Categorical("ward", ("north", "south", "other"), other="other", missing="other"),
            Categorical("beds", (1, 2, 3)),
            Numeric("age", 0, 120, missing=True),
            Numeric("income", 0, 1_000_000, scale="log", cells=64),
        ],
        Categorical("outcome", ("well", "ill")),
        person=Person("patient", records=3),
        records=2_000,
    )
    domain.save(folder / "domain.toml")
    (folder / "domain.json").write_text(json.dumps(domain.to_json(), indent=1) + "\n")
    meant = {
        "names": list(domain.names),
        "labels": list(domain.label.values),
        "sizes": [a.size for a in domain.attributes],
        "person": [domain.person.column, domain.person.records],
        "records": domain.records,
        "fingerprint": domain.fingerprint,
    }
    return {"domain.toml": meant, "domain.json": meant}


def write_parties(folder: Path) -> dict:
    domain = small_domain(records=400)
    structure = make_structure(domain, n_trees=2, random_state=0)
    structure.save(folder / "structure.json")
    releases = []
    for seed, party in enumerate(("north", "south")):
        table = frith.open_table(small_table(200, seed=seed), domain)
        releases.append(release(structure, table, party=party, epsilon="1/2"))
        releases[-1].save(folder / f"release-{party}.json")
    keys = [Keys.new(party) for party in ("north", "south", "harbor")]
    round_ = Round("a" * 32, 1, 2, "b" * 64, {k.party: k.public for k in keys})
    (folder / "round.json").write_text(json.dumps(round_.to_json(), indent=1) + "\n")
    return {
        "structure.json": {
            "hash": structure.hash,
            "merged": facts(merge(structure, releases, disjoint=True)),
        },
        "round.json": {"describes": round_.describe().hex(), "honest": round_.honest},
    }


def write_score(folder: Path, forest) -> dict:
    table = frith.open_table(small_table(400), forest.domain)
    score = score_confusion(Curator(table, Budget.of("1/4")), forest)
    (folder / "score.json").write_text(json.dumps(score.to_json(), indent=1) + "\n")
    return {
        "score.json": {
            "accuracy": score.accuracy,
            "error": score.accuracy_error,
            "epsilon": str(score.guarantee.epsilon),
        }
    }


def told(score) -> dict:
    """What a score of a label means, in plain values."""
    rates = [{"group": row["group"], "recall": str(row["recall"])} for row in score.by("color")]
    return {
        "positive": score.positive,
        "epsilon": str(score.guarantee.epsilon),
        "values": {name: str(getattr(score, name)) for name in ("accuracy", "auc", "brier")},
        "log_loss": str(score.log_loss),
        "curve": [str(point.share) for point in score.calibration],
        "by color": rates,
    }


def write_label_score(folder: Path, forest) -> dict:
    table = frith.open_table(small_table(400), forest.domain)
    asked = ScoreRequest(by=("color",), positive="yes")
    score = score_forest(Curator(table, Budget.of("2")), forest, asked)
    (folder / "label-score.json").write_text(json.dumps(score.to_json(), indent=1) + "\n")
    return {"label-score.json": told(score)}


def dump(database: Path, file: Path) -> None:
    with closing(sqlite3.connect(database)) as connection:
        file.write_text("\n".join(connection.iterdump()) + "\n", encoding="utf-8")


def write_ledger(folder: Path, scratch: Path) -> dict:
    place, table = scratch / "ledger.db", small_table(400)
    ledger = Ledger.create(place, epsilon=1)
    learner = BY_NAME["id3"](small_domain(records=400), epsilon="1/3", ledger=place)
    learner.fit(table[COLUMNS], table["good"])
    ledger.set_budget(2)
    learner.fit(table[COLUMNS], table["good"])
    dump(place, folder / "ledger.sql")
    return {
        "ledger.sql": {
            "remaining": str(ledger.remaining),
            "spent": str(ledger.spent),
            "neighbors": ledger.neighbors,
            "entries": [entry.to_json() for entry in ledger.entries()],
        }
    }


def write_server(folder: Path, scratch: Path) -> dict:
    """What a client and a server say to each other, and the database that is left."""
    said = []
    with hosted(scratch) as host:
        name, token = host.add_table()
        headers = {"authorization": f"Bearer {token}"}
        with httpx2.Client(base_url=host.url, headers=headers) as client:

            def ask(method, path, body=None):
                answer = client.request(method, path, json=body)
                said.append(
                    {"method": method, "path": path, "body": body, "status": answer.status_code,
                     "answer": answer.json()}
                )  # fmt: skip
                return answer.json()

            def done(job):
                while client.get(f"/v1/jobs/{job['id']}").json()["state"] in ("queued", "running"):
                    time.sleep(0.05)
                return ask("GET", f"/v1/jobs/{job['id']}")

            for path in ("me", "learners", "tables", f"tables/{name}", f"tables/{name}/budget"):
                ask("GET", f"/v1/{path}")
            wanted = {"learner": "id3", "epsilon": "0.5", "delta": "0", "parameters": {}}
            ask("POST", f"/v1/tables/{name}/quotes", wanted)
            forest = done(ask("POST", f"/v1/tables/{name}/forests", wanted))["id"]
            ask("GET", f"/v1/forests/{forest}")
            score = done(ask("POST", f"/v1/forests/{forest}/scores", {"epsilon": "0.1"}))["id"]
            ask("GET", f"/v1/scores/{score}")
            with host.no_work():
                job = ask("POST", f"/v1/tables/{name}/forests", wanted | {"epsilon": "1/4"})
                ask("POST", f"/v1/jobs/{job['id']}/cancel")
            ask("POST", f"/v1/tables/{name}/forests", wanted | {"epsilon": "100"})
            ask("GET", "/v1/ledger")
    (folder / "api.json").write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
    dump(scratch / "server.db", folder / "server.sql")
    account = Ledger(scratch / "server.db", name)
    return {
        "server.sql": {
            "table": name,
            "spent": str(account.spent),
            "remaining": str(account.remaining),
            "entries": sum(e.kind != "terms" for e in account.all_entries()),
        },
        "api.json": {"table": name, "forest": forest, "score": score, "cancelled": job["id"]},
    }


def write(folder: Path) -> None:
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
        scratch = Path(place)
        expected = write_forests(folder)
        shares = frith.Forest.load(folder / "forest-shares.json")
        expected |= write_domains(folder) | write_parties(folder) | write_score(folder, shares)
        expected |= write_label_score(folder, shares)
        expected |= write_ledger(folder, scratch) | write_server(folder, scratch)
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
