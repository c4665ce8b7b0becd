"""From a messy file to a forest and its report on the pages: draft, check, register, grant, ask, read."""

import re
from html import unescape

import numpy as np
import pytest

from frith import Forest
from frith.server.run.sample import ANALYST, CURATOR
from tests.messy import MESSY
from tests.server.test_pages import Browser, job_of


@pytest.mark.parametrize("name", MESSY)
def test_the_pages_take_six_steps(house, name):
    make, label, kept, secret = MESSY[name]
    make(600, np.random.default_rng(0)).to_csv(
        house.folder / f"{name}.csv.gz", sep=";", index=False
    )
    curator = Browser(house, house.sample.curator_token)
    analyst = Browser(house, house.sample.analyst_token)
    fields = {"name": name, "connection": "sample", "table": f"{name}.csv.gz", "label": label,
              "epsilon": "1", "learners": ["random-decision"]}  # fmt: skip

    drafted = curator.post("/curate/register", status=200, draft="yes", **fields).text
    draft = unescape(re.search(r'name="domain"[^>]*>(.*?)</textarea>', drafted, re.DOTALL)[1])
    reviewed = draft.replace("learned = true\n", "")
    checked = curator.post("/curate/register", status=200, check="yes", domain=reviewed, **fields)
    curator.post("/curate/register", domain=reviewed, **fields)
    grant = {"member": ANALYST, "columns": kept, "epsilon": "1"}
    curator.post(f"/curate/tables/{name}/grants", **grant)
    asked = {"learner": "random-decision", "epsilon": "1"}
    job = job_of(analyst.post(f"/tables/{name}/forests", **asked))
    house.work()
    report = analyst.get(f"/forests/{job}/report.html").text

    forest = Forest.from_json(analyst.get(f"/forests/{job}/forest.json").json())
    assert "600 records" in checked.text
    assert "Saved output is a publication" in checked.text
    assert "note:" not in checked.text
    assert list(forest.domain.names) == kept
    assert forest.guarantee.epsilon == 1
    assert secret not in draft + report
    lines = house.curator.get("/v1/log", params={"actor": CURATOR}).json()["lines"]
    looked = [line for line in lines if line["action"] in ("draft domain", "check domain")]
    assert {line["target"] for line in looked} == {f"sample/{name}.csv.gz"}
    assert len(looked) == 2
    assert secret not in str(lines)
