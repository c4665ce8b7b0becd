"""A budget too small for what a forest would ask is refused before anything is charged, or asks for less."""

import itertools

import numpy as np
import pandas as pd
import pytest

from frith import (
    Budget,
    Categorical,
    Domain,
    ForestClassifier,
    ForestRegressor,
    Ledger,
    Numeric,
    Person,
    open_table,
)
from frith.curator import Curator
from frith.engines import MemoryEngine
from frith.errors import DomainError, OutsideWindow
from frith.parties import OpenSum, train_together

ROWS = 300
X = np.random.default_rng(0).random(ROWS)
TABLE = pd.DataFrame(
    {
        "who": np.arange(ROWS) // 3,
        "x": X,
        "number": X,
        "two": np.where(X > 0.5, "l1", "l0"),
        "six": [f"l{int(6 * v)}" for v in X],
    }
)
LABELS = {
    "number": Numeric("number", 0, 1),
    "two": Categorical("two", ("l0", "l1")),
    "six": Categorical("six", tuple(f"l{i}" for i in range(6))),
}


def outcome(tmp_path, label, epsilon, records=None, per_person=1, **more):
    """Whether a fit ended, and whether it was charged."""
    kind = ForestRegressor if label == "number" else ForestClassifier
    person = Person("who", records=per_person)
    domain = Domain([Numeric("x", 0, 1)], LABELS[label], records=records, person=person)
    path = tmp_path / "budget.db"
    Ledger.create(path, epsilon=10, records_per_person=per_person)
    model = kind(domain, epsilon=epsilon, ledger=path, n_jobs=1, **more)
    try:
        model.fit(TABLE[["who", "x", label]], notices=False)
    except OutsideWindow:
        return False, Ledger(path).remaining != 10
    return True, Ledger(path).remaining != 10


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize(
    ("epsilon", "records", "per_person"),
    [
        *itertools.product(["1e-9", "1e-8", "1e-6"], [10**13, 2**47], [1]),
        *itertools.product(["1e-9", "1e-7"], [None, 10**13], [100, 1_000]),
    ],
)
def test_no_question_is_too_small_once_another_was_paid_for(
    tmp_path, label, epsilon, records, per_person
):
    is_fitted, is_charged = outcome(tmp_path, label, epsilon, records, per_person)
    assert is_fitted == is_charged


@pytest.mark.parametrize("label", LABELS)
def test_many_records_with_a_tiny_epsilon_get_fewer_steps(tmp_path, label):
    assert outcome(tmp_path, label, "1e-8", 2**47) == (True, True)


@pytest.mark.parametrize(
    ("size_share", "rules_share"), [("0.9", 0), ("0.98", 0), ("0.02", "0.97"), ("0.5", "0.45")]
)
def test_a_large_share_for_something_else_leaves_fewer_steps(tmp_path, size_share, rules_share):
    for label in ("two", "six"):
        shares = {"size_share": size_share, "rules_share": rules_share}
        folder = tmp_path / label
        folder.mkdir()
        assert outcome(folder, label, "0.1", **shares) == (True, True)
        folder = tmp_path / f"{label} of many"
        folder.mkdir()
        assert outcome(folder, label, "1e-5", 10**9, **shares) == (True, True)


class Repeated(MemoryEngine):
    """Every record of a table many times."""

    times = 1

    def aggregate(self, kernel):
        return super().aggregate(kernel) * self.times


def test_steps_after_a_look_at_the_labels_have_what_it_left(tmp_path):
    """A look takes a twentieth; before, steps were planned as if it had cost nothing."""
    names = tuple("abcdefgh")
    y = np.where(X < 0.8, "a", np.random.default_rng(0).choice(list(names[1:]), ROWS))
    table = pd.DataFrame({"x": X, "z": X[::-1], "y": y})
    numbers = [Numeric("x", 0, 1), Numeric("z", 0, 1)]
    domain = Domain(numbers, Categorical("y", names), records=2_000_000)
    engine = Repeated(table, domain)
    engine.times = 2_000_000 // ROWS
    for epsilon in ("0.0019", "0.0022", "0.0025"):
        asked = ForestClassifier(domain, epsilon=epsilon, n_jobs=1).fit(engine, notices=False)
        assert asked.forest_.guarantee.asked[0].purpose == "labels"


@pytest.mark.parametrize("size_share", ["0.02", "0.5", "0.9", "0.98"])
def test_a_number_of_records_that_took_most_leaves_a_mean(size_share):
    domain = Domain([Numeric("x", 0, 1)], LABELS["number"])
    engine = Repeated(TABLE[["x", "number"]], domain)
    engine.times = 10**11 // ROWS
    model = ForestRegressor(domain, epsilon="1e-8", size_share=size_share, n_jobs=1)
    assert model.fit(engine, notices=False).forest_.guarantee.asked


@pytest.mark.parametrize("epsilon", ["1e-9", "1e-8"])
@pytest.mark.parametrize(("label", "records"), [("two", None), ("number", 2**47)])
def test_parties_are_refused_before_any_of_them_is_charged(tmp_path, label, records, epsilon):
    """They add up what others choose from: sums of every attribute, of which each record is in one."""
    columns = [f"x{i}" for i in range(200)]
    table = pd.DataFrame(dict.fromkeys(columns, X)).assign(**{label: TABLE[label]})
    domain = Domain([Numeric(name, 0, 1) for name in columns], LABELS[label], records=records)
    paths = [tmp_path / name for name in ("one.db", "two.db")]
    parties = {}
    for i, path in enumerate(paths):
        Ledger.create(path, epsilon=1)
        part = open_table(table.iloc[i::2], domain)
        parties[path.stem] = Curator(part, Budget.of(epsilon), ledger=Ledger(path))
    kind = ForestRegressor if label == "number" else ForestClassifier
    is_trained = True
    try:
        train_together(kind(domain), OpenSum(parties, disjoint=True))
    except OutsideWindow:
        is_trained = False
    assert [Ledger(path).remaining != 1 for path in paths] == [is_trained] * 2


@pytest.mark.parametrize("records", [None, ROWS])
def test_rules_too_small_to_count_are_refused_before_the_fit(tmp_path, records):
    assert outcome(tmp_path, "two", 1, records, rules_share="1e-16") == (False, False)


def test_a_target_whose_square_is_no_number_is_refused_with_the_domain():
    Domain([Numeric("x", 0, 1)], Numeric("y", -1e140, 1e140))
    with pytest.raises(DomainError, match="larger unit"):
        Domain([Numeric("x", 0, 1)], Numeric("y", 0, 1e141))
