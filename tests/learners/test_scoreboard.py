"""Beside whom the scoreboard puts the flagship: nobody is picked by the folds that they are compared on."""

from pathlib import Path

import pandas as pd
import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
MAJORITY = 0.5


@pytest.fixture(autouse=True)
def path(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def rows(learner, accuracies, epsilon=1.0):
    """One cell of a learner: its accuracy in each fold."""
    return pd.DataFrame(
        {"set": "t", "learner": learner, "epsilon": epsilon, "repeat": 0, "fold": fold,
         "accuracy": accuracy, "auc": accuracy, "majority": MAJORITY}
        for fold, accuracy in enumerate(accuracies)
    )  # fmt: skip


def test_who_is_best_on_one_fold_alone_is_not_picked_there():
    from scoreboard_beside import picked

    others = pd.concat([rows("lucky", [1.0, 0.5, 0.5]), rows("steady", [0.7, 0.7, 0.7])])
    assert picked(others, "accuracy").tolist() == [0.7, 0.5, 0.5]


def test_who_failed_in_a_fold_is_left_out_of_its_cell():
    from scoreboard_beside import picked

    others = pd.concat([rows("broken", [0.9, None, 0.9]), rows("steady", [0.7, 0.7, 0.7])])
    assert picked(others, "accuracy").tolist() == [0.7, 0.7, 0.7]


@pytest.mark.parametrize(
    ("own", "is_reached"),
    [([0.6, 0.8, 0.7], True), ([0.55, 0.75, 0.65], True), ([0.6, 0.6, 0.6], False)],
)
def test_a_cell_is_reached_within_one_error_of_the_difference(own, is_reached):
    """Its mean is level; below by less than its error; below by 0.1 without any."""
    from scoreboard_beside import SAME, picked, reached

    best = picked(rows("steady", [0.7, 0.7, 0.7]), "accuracy")
    assert reached(rows("forest", own), best, "accuracy", SAME).tolist() == [is_reached]


def test_others_at_a_larger_epsilon_stand_beside_a_smaller_one():
    from scoreboard_beside import LARGER, picked, reached

    best = picked(rows("steady", [0.7, 0.7, 0.7], epsilon=1.0), "accuracy")
    for epsilon, count in ((0.25, 1), (1.0, 0), (0.5, 0)):
        assert len(reached(rows("forest", [0.8] * 3, epsilon), best, "accuracy", LARGER)) == count


def test_a_cell_says_something_if_anybody_is_better_than_the_most_frequent_label():
    from scoreboard_beside import says_something

    noise = rows("noise", [0.4, 0.6, 0.53])
    assert not says_something(noise)
    assert says_something(pd.concat([noise, rows("good", [0.6, 0.62, 0.61])])) == {("t", 1.0)}


def test_the_page_has_shares_of_both_halves_and_what_was_left_out():
    from scoreboard_beside import beside

    own, others = rows("forest", [0.8, 0.82, 0.81]), rows("steady", [0.7, 0.7, 0.7])
    page = beside(own, others, {"t": "checked"})
    assert "| checked | 100% of 1 |  |  | 100% of 1 | 0 |" in page
    flat = beside(rows("forest", [0.5] * 3), rows("steady", [0.4, 0.5, 0.6]), {"t": "tuned"})
    assert "| tuned |  |  |  |  | 1 |" in flat
