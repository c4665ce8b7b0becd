"""Masks: a message alone says nothing, all messages together say the sum, and no mask comes twice."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from frith.errors import FormatError
from frith.parties import Keys
from frith.parties.masks import PairMasks, Round, unmask
from tests.parties.people import NAMES, keyring
from tests.statistics import FALSE_FAILURE
from tests.strategies import examples

RINGS = {m: keyring(NAMES[:m]) for m in range(2, 7)}
int64 = st.integers(-(2**63), 2**63 - 1)


def make_round(ring, **changes):
    public = {name: key.public for name, key in ring.items()}
    return replace(Round("session", 1, 1, "ab" * 32, public), **changes)


def messages(keys, values, round=None):
    round = round or make_round(keys)
    return [PairMasks(keys[name], round).hide(v) for name, v in zip(keys, values, strict=True)]


# -- the sum -----------------------------------------------------------------------------------


@given(st.integers(2, 6), st.data())
@examples(30)
def test_the_unmasked_sum_is_exact_modulo_two_to_the_64(parties, data):
    cells = data.draw(st.integers(1, 5))
    rows = st.lists(int64, min_size=cells, max_size=cells)
    values = data.draw(st.lists(rows, min_size=parties, max_size=parties))
    hidden = messages(RINGS[parties], [np.array(v, dtype=np.int64) for v in values])
    total = unmask(data.draw(st.permutations(hidden)))
    expected = [(sum(column) + 2**63) % 2**64 - 2**63 for column in zip(*values, strict=True)]
    assert total.dtype == np.int64
    assert total.tolist() == expected


@pytest.mark.parametrize("parties", range(2, 7))
def test_negative_numbers_and_any_shape_are_summed(parties):
    rng = np.random.default_rng(parties)
    values = rng.integers(-1000, 1000, (parties, 4, 3, 2))
    assert np.array_equal(unmask(messages(RINGS[parties], values)), values.sum(axis=0))


def test_parties_named_in_another_order_have_the_same_masks():
    keys, values = RINGS[4], np.arange(8)
    public = {name: key.public for name, key in keys.items()}
    turned = dict(reversed(public.items()))
    for name in keys:
        a, b = (
            PairMasks(keys[name], make_round(keys, keys=k)).hide(values) for k in (public, turned)
        )
        assert np.array_equal(a, b)


def test_without_one_message_the_sum_is_noise():
    keys, values = RINGS[3], np.zeros((3, 4), dtype=np.int64)
    part = unmask(messages(keys, values)[:2])
    assert np.abs(part.astype(float)).min() > 2**20  # by chance: 4 in 2^43


# -- a message alone ---------------------------------------------------------------------------


def is_even(numbers, kinds):
    """Pearson's chi-squared test of numbers below `kinds` against equal chances."""
    counts = np.bincount(np.asarray(numbers, dtype=np.int64), minlength=kinds)
    expected = len(numbers) / kinds
    return chi2.sf(((counts - expected) ** 2 / expected).sum(), kinds - 1) >= FALSE_FAILURE


@pytest.mark.parametrize("value", [0, 7, -1, 2**62])
def test_every_byte_of_a_message_is_evenly_distributed_whatever_it_hides(value):
    values = np.full((2, 40_000), value, dtype=np.int64)
    for message in messages(RINGS[2], values):
        parts = message.view(np.uint8).reshape(-1, 8)
        for place in range(8):
            assert is_even(parts[:, place], 256)
        assert is_even(message & np.uint64(1023), 1024)
        assert is_even(message >> np.uint64(54), 1024)
        assert not is_even(values[0].view(np.uint64) >> np.uint64(54), 1024)  # unmasked, it shows


def test_messages_of_a_party_are_even_also_given_the_sum():
    """With three parties of one value each: the first message beside the known total."""
    values = np.full((3, 40_000), 5, dtype=np.int64)
    first, second, _ = messages(RINGS[3], values)
    assert is_even(first & np.uint64(1023), 1024)
    assert is_even((first + second) & np.uint64(1023), 1024)  # what is left of the total is hidden
    assert is_even((first - second) & np.uint64(1023), 1024)


def test_a_colluder_still_sees_nothing_of_the_others_alone():
    """Of three parties the last takes off its own masks; the pair of the others has one more."""
    keys, round = RINGS[3], make_round(RINGS[3])
    ada, bo, cy = keys
    values = np.full(40_000, 9, dtype=np.int64)
    message = PairMasks(keys[ada], round).hide(values)
    known = PairMasks(keys[cy], round)._mask(ada, values.shape)
    left = message + known  # ada has taken that mask off, as cy's name is greater
    assert is_even(left & np.uint64(1023), 1024)
    theirs = PairMasks(keys[bo], round)._mask(ada, values.shape)
    assert np.array_equal((left + theirs).view(np.int64), values)  # with both there is nothing


# -- rounds ------------------------------------------------------------------------------------


def changed_rounds(keys):
    others = {n: k for n, k in make_round(keys).keys.items() if n != NAMES[3]}
    return {
        "session": {"session": "another"}, "attempt": {"attempt": 2}, "question": {"question": 2},
        "about": {"about": "cd" * 32}, "colluders": {"colluders": 2}, "parties": {"keys": others},
    }  # fmt: skip


@pytest.mark.parametrize("what", changed_rounds(RINGS[4]))
def test_another_round_has_other_masks(what):
    keys, values = RINGS[4], np.zeros(4, dtype=np.int64)
    here, there = make_round(keys), make_round(keys, **changed_rounds(keys)[what])
    for a in NAMES[:3]:
        for b in NAMES[:3]:
            if a != b:
                masks = [PairMasks(keys[a], r)._mask(b, values.shape) for r in (here, there)]
                assert not np.any(masks[0] == masks[1])


def test_another_key_has_other_masks():
    keys, again = RINGS[3], keyring(NAMES[:3])
    masks = [PairMasks(k["ada"], make_round(k))._mask("bo", (4,)) for k in (keys, again)]
    assert not np.any(masks[0] == masks[1])


def test_parties_that_disagree_about_the_round_get_noise():
    keys, values = RINGS[3], np.ones((3, 4), dtype=np.int64)
    round = make_round(keys)
    hidden = messages(keys, values, round)
    hidden[1] = PairMasks(keys["bo"], replace(round, attempt=2)).hide(values[1])
    assert np.abs(unmask(hidden).astype(float)).min() > 2**20


def test_a_peer_with_another_key_is_refused_by_name():
    keys = RINGS[3]
    forged = make_round(keys).keys | {"cy": Keys.new("cy").public}
    with pytest.raises(ValueError, match="the key of cy is not the one that ada knows"):
        PairMasks(keys["ada"], make_round(keys, keys=forged))


def test_a_peer_that_is_not_known_is_refused_by_name():
    keys = RINGS[3]
    more = make_round(keys).keys | {"mallory": Keys.new("mallory").public}
    with pytest.raises(ValueError, match="the key of mallory is not the one that ada knows"):
        PairMasks(keys["ada"], make_round(keys, keys=more))


@pytest.mark.parametrize("own", [None, Keys.new("ada").public], ids=["no key", "another key"])
def test_a_round_without_ones_own_key_is_refused(own):
    keys = RINGS[3]
    named = {n: k for n, k in make_round(keys).keys.items() if n != "ada"}
    with pytest.raises(ValueError, match="does not name ada with its own key"):
        PairMasks(keys["ada"], make_round(keys, keys=named | ({"ada": own} if own else {})))


@pytest.mark.parametrize("colluders", [0, 3, 4, -1])
def test_at_least_one_colludes_and_fewer_than_all(colluders):
    with pytest.raises(ValueError, match="at least 1 colludes"):
        make_round(RINGS[3], colluders=colluders)


# -- rounds from outside -----------------------------------------------------------------------

PLAIN = make_round(RINGS[3]).to_json()


def test_a_round_is_read_back_as_it_was():
    round = make_round(RINGS[3], colluders=2)
    again = Round.from_json(json.loads(json.dumps(round.to_json())))
    assert again == round
    assert again.describe() == round.describe()


def test_a_round_is_fixed_once_it_was_checked():
    keys = dict(PLAIN["keys"])
    round = Round(**PLAIN | {"keys": keys})
    keys.clear()
    assert len(round.keys) == 3
    with pytest.raises(TypeError):
        round.keys["ada"] = "0" * 64


LONG = {f"p{i}": "0" * 64 for i in range(101)}


@pytest.mark.parametrize(("change", "reason"), [
    ({"session": 1}, "session"), ({"session": ""}, "session"), ({"session": "x" * 65}, "session"),
    ({"session": "a\n"}, "session"), ({"session": "\ud800"}, "session"),
    ({"attempt": 0}, "attempt"), ({"attempt": True}, "attempt"), ({"attempt": 1.0}, "attempt"),
    ({"attempt": 10**7}, "attempt"), ({"attempt": "1"}, "attempt"), ({"attempt": None}, "attempt"),
    ({"question": -1}, "question"), ({"question": 10**400}, "question"),
    ({"about": "ab" * 31}, "64 digits"), ({"about": "AB" * 32}, "64 digits"),
    ({"about": "ab" * 32 + "\n"}, "64 digits"), ({"about": 7}, "64 digits"),
    ({"keys": []}, "keys"), ({"keys": LONG}, "2 to 100 parties"), ({"keys": {}}, "fewer than all"),
    ({"keys": {"ada": "0" * 64}}, "fewer than all"), ({"keys": {"": "0" * 64}}, "name"),
    ({"keys": {"a": "0" * 63, "b": "0" * 64}}, "key"), ({"keys": {"a": None}}, "key"),
    ({"keys": {1: "0" * 64}}, "name"), ({"keys": {"a\0": "0" * 64}}, "name"),
    ({"colluders": 3}, "fewer than all"), ({"colluders": 0}, "at least 1 colludes"),
    ({"colluders": True}, "colluders"), ({"colluders": "1"}, "colluders"),
    ({"unit": "rho"}, "exactly session, attempt, question, about, keys, colluders"),
])  # fmt: skip
def test_a_malformed_round_is_refused_with_what_it_should_be(change, reason):
    with pytest.raises(FormatError, match=reason):
        Round.from_json(PLAIN | change)


@pytest.mark.parametrize("name", PLAIN)
def test_a_round_without_a_field_is_refused(name):
    with pytest.raises(FormatError, match="exactly"):
        Round.from_json({n: v for n, v in PLAIN.items() if n != name})


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=70)
hexes = st.text("0123456789abcdef", min_size=63, max_size=65)
values = st.recursive(
    scalars | hexes,
    lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=3), v, max_size=3),
    max_leaves=5,
)


@given(values | st.dictionaries(st.sampled_from([*PLAIN, "unit"]), values))
@examples(300)
def test_anything_else_is_a_format_error_or_a_round_that_reads_back(data):
    """Mutations of a legal round, and values that are no round at all."""
    for said in (data, PLAIN | data if isinstance(data, dict) else data):
        try:
            round = Round.from_json(said)
        except FormatError:
            continue
        assert round.to_json() == said
        assert Round.from_json(round.to_json()).describe() == round.describe()


# -- keys --------------------------------------------------------------------------------------


def test_keys_are_read_back_and_keep_their_secret_to_themselves():
    key = RINGS[3]["ada"]
    again = Keys.load("ada", key.secret, key.peers)
    assert again.public == key.public
    assert key.secret not in repr(key) + str(key)
    assert "ada" not in key.peers
    round = make_round(RINGS[3])
    assert np.array_equal(PairMasks(again, round).hide(np.arange(3)),
                          PairMasks(key, round).hide(np.arange(3)))  # fmt: skip
