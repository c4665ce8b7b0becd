"""`frith show`."""

import json

import pytest

from frith import Forest
from frith.privacy import Budget, Guarantee
from frith.privacy.neighbors import person_neighbors
from frith.privacy.promise import promise


def test_a_forest_is_described_in_words(run, forest):
    words = " ".join(run("show", forest).stdout.split())
    assert "epsilon=5.0 differential privacy" in words
    assert "at most e^5 (about 148) times as likely" in words
    assert "20 trees, depth 3" in words
    assert "labels in the leaves" in words
    assert "discrete Laplace" in words
    for name in ("color", "round", "size", "good"):
        assert name in words


def test_json_holds_the_guarantee_and_the_domain(run, forest):
    said = json.loads(run("show", forest, "--json").stdout)
    loaded = Forest.load(forest)
    assert said["guarantee"] == loaded.guarantee.to_json()
    assert said["domain"] == loaded.domain.to_json()
    assert (said["trees"]["count"], said["trees"]["max_depth"]) == (20, 3)
    assert said["trees"]["leaves"] == len(loaded.trees.leaves)


@pytest.mark.parametrize("text", ["{}", "not json", '{"format": "frith-forest/1"}'])
def test_what_is_no_forest_is_explained(run, tmp_path, text):
    path = tmp_path / "forest.json"
    path.write_text(text)
    assert run("show", path, code=2).stderr.startswith("error: ")


def test_the_promise_names_what_is_protected():
    pure = Budget.of(1)
    assert "2.72) times as likely with one record" in promise(Guarantee(pure.epsilon))
    approximate = Budget.of(1, "1e-6")
    both = Guarantee(approximate.epsilon, approximate.delta, person_neighbors(3))
    assert "likely (plus 1e-06) with one person's records" in promise(both)
    assert promise(Guarantee(float("inf"))).startswith("No guarantee")
