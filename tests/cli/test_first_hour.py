"""From a messy table to a forest and its report in six lines, by Python and by command line."""

import numpy as np
import pandas as pd
import pytest

import frith
from frith import Domain, Forest
from frith.forest.report import write_report


def passengers(n, rng):
    return pd.DataFrame({
        "PassengerId": np.arange(n), "Name": [f"Doe, Mx. Jo {i}" for i in range(n)],
        "Sex": rng.choice(["male", "female"], n), "Age": np.where(rng.random(n) < 0.2, np.nan, 30.5),
        "Fare": rng.lognormal(3, 1, n), "Cabin": [f"C{i}" if i % 3 else None for i in range(n)],
        "Survived": rng.choice([0, 1], n),
    })  # fmt: skip


def customers(n, rng):
    return pd.DataFrame({
        "customer_id": [f"{i:08x}" for i in rng.permutation(10 * n)[:n]],
        "active": rng.choice([True, False], n), "plan": rng.choice(["a", "b", "c"], n),
        "joined": pd.date_range("2020-01-01", periods=n, freq="h"),
        "spend": np.where(np.arange(n) == 5, 1e12, rng.uniform(0, 90, n)),
        "churn": rng.choice([True, False], n),
    })  # fmt: skip


def visits(n, rng):
    return pd.DataFrame({
        "visit": np.arange(n) + 10_000, "notes": [f"patient {i} said that it hurts" for i in range(n)],
        "smoker": pd.array(rng.choice([True, False, None], n), "boolean"),
        "town": rng.choice([f"town{i}" for i in range(12)], n), "score": rng.integers(0, 11, n),
        "outcome": rng.choice(["well", "ill"], n),
    })  # fmt: skip


def sensors(n, rng):
    return pd.DataFrame({
        "uuid": [f"dev-{i}" for i in range(n)], "reading": rng.lognormal(0, 3, n),
        "flag": rng.choice(["True", "False", "unknown"], n), "empty": [None] * n,
        "fault": rng.choice(["yes", "no"], n),
    })  # fmt: skip


MESSY = {
    "passengers": (passengers, "Survived", ["Sex", "Age", "Fare"], "Jo 17"),
    "customers": (customers, "churn", ["active", "plan", "joined", "spend"], "000000"),
    "visits": (visits, "outcome", ["smoker", "town", "score"], "hurts"),
    "sensors": (sensors, "fault", ["reading", "flag"], "dev-17"),
}


@pytest.fixture(params=[*MESSY])
def messy(request):
    make, label, kept, secret = MESSY[request.param]
    return make(600, np.random.default_rng(0)), label, kept, secret


@pytest.mark.filterwarnings("ignore::frith.PrivacyLeakWarning")
def test_python_takes_six_lines(messy, tmp_path, capsys):
    table, label, kept, secret = messy
    domain = frith.learn_domain(table, label)
    assert not frith.check(table, domain).notices
    model = frith.RandomDecisionForestClassifier(domain, epsilon=1).fit(table)
    model.forest_.save(tmp_path / "forest.json")
    write_report(model.forest_, tmp_path / "forest.html")

    assert list(domain.names) == kept
    assert capsys.readouterr().err == ""
    for name in ("forest.json", "forest.html"):
        assert secret not in (tmp_path / name).read_text()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_command_line_takes_six_lines(messy, tmp_path, run, kind):
    table, label, kept, secret = messy
    source, draft, forest = tmp_path / f"t.{kind}", tmp_path / "d.toml", tmp_path / "forest.json"
    table.to_csv(source, index=False) if kind == "csv" else table.to_parquet(source)

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
