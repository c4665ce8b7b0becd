"""From a messy table to a forest and its report in six lines, by Python and by command line."""

import numpy as np
import pytest

import frith
from frith import Domain, Forest
from frith.forest.report import write_report
from tests.messy import MESSY, sensors


@pytest.fixture(params=[*MESSY])
def messy(request):
    make, label, kept, secret = MESSY[request.param]
    return make(600, np.random.default_rng(0)), label, kept, secret


@pytest.fixture(params=["csv", "parquet"])
def source(request, messy, tmp_path):
    table, path = messy[0], tmp_path / f"t.{request.param}"
    table.to_csv(path, index=False) if request.param == "csv" else table.to_parquet(path)
    return path


def test_python_takes_six_lines(messy, source, tmp_path, capsys):
    _, label, kept, secret = messy
    domain = frith.draft_domain(source, label).domain
    notices = frith.check(source, domain).notices
    table = frith.open_table(source, domain)
    model = frith.RandomDecisionForestClassifier(domain, epsilon=1).fit(table)
    model.forest_.save(tmp_path / "forest.json")
    write_report(model.forest_, tmp_path / "forest.html")

    assert notices == []
    assert list(domain.names) == kept
    assert frith.draft_domain(messy[0], label).domain.names == domain.names
    assert capsys.readouterr().err == ""
    for name in ("forest.json", "forest.html"):
        assert secret not in (tmp_path / name).read_text()


def test_the_command_line_takes_six_lines(messy, source, tmp_path, run):
    _, label, kept, secret = messy
    draft, forest = tmp_path / "d.toml", tmp_path / "forest.json"
    run("domain", "draft", source, "--label", label, "-o", draft)
    draft.write_text(draft.read_text().replace("learned = true\n", ""))
    checked = run("check", source, "--domain", draft, code=int("spend" in kept))  # the outlier
    learner = ("--learner", "random-decision")
    run("train", source, "--domain", draft, "--epsilon", 1, *learner, "-o", forest)
    run("report", forest)

    assert list(Domain.load(draft).names) == kept
    assert "note:" not in checked.stdout
    assert Forest.load(forest).guarantee.holds
    for path in (draft, forest, forest.with_suffix(".html")):
        assert secret not in path.read_text()


def test_booleans_are_the_same_code_in_csv_and_parquet(tmp_path):
    table = sensors(60, np.random.default_rng(0)).assign(flag=[True, False, None] * 20)
    table["flag"] = table["flag"].astype("boolean")
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet")
    attributes = [frith.Categorical("flag", ("True", "False", "unknown"), missing="unknown")]
    domain = Domain(attributes, frith.Categorical("fault", ("yes", "no")))
    for source in (table, tmp_path / "t.csv", tmp_path / "t.parquet"):
        flag = frith.check(source, domain).findings[0]
        assert (flag.missing, flag.outside) == (20, 0)
