"""Small parts of the server by themselves: rates, settings, policies, names, amounts."""

import asyncio
import math
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest

from frith.errors import FormatError, SourceError
from frith.privacy.budget import Budget
from frith.server.auth import limits
from frith.server.auth.limits import ConcurrencyLimit, RateLimit
from frith.server.budget.accounts import largest_epsilon
from frith.server.budget.amounts import read_budget
from frith.server.budget.policies import Policy
from frith.server.context import check_name, stamp
from frith.server.jobs.requests import JobRequest
from frith.server.problems import STATUS, Problem
from frith.server.run.place import address
from frith.server.settings import Settings, load_settings


class Seconds:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


# -- rates -----------------------------------------------------------------------------------------


def test_a_bucket_holds_so_many_events_and_refills_evenly():
    clock = Seconds()
    rate = RateLimit(4, 2.0, clock)
    assert [rate.add("a") for _ in range(6)] == [True] * 4 + [False] * 2
    assert rate.is_full("a")
    clock.now += 0.5
    assert [rate.add("a") for _ in range(2)] == [True, False]
    clock.now += 100
    assert [rate.add("a") for _ in range(6)] == [True] * 4 + [False] * 2


def test_callers_have_buckets_of_their_own():
    rate = RateLimit(1, 60, Seconds())
    assert rate.add("a")
    assert rate.add("b")
    assert not rate.add("a")
    assert not rate.is_full("c")


def test_looking_at_a_bucket_adds_nothing():
    rate = RateLimit(1, 60, Seconds())
    assert not any(rate.is_full("a") for _ in range(10))
    assert rate.add("a")


def test_of_very_many_callers_the_oldest_are_forgotten(monkeypatch):
    monkeypatch.setattr(limits, "_REMEMBERED", 10)
    rate = RateLimit(1, 1e9, Seconds())
    for number in range(1000):
        rate.add(str(number))
    assert len(rate._levels) == 10
    assert rate.is_full("999")
    assert not rate.is_full("0")


def test_a_crowd_has_so_many_places_half_of_them_for_one_and_as_many_again_for_newcomers():
    concurrency = ConcurrencyLimit(3, patience=0)

    async def enter(*callers):
        async with AsyncExitStack() as inside:
            for caller in callers:
                await inside.enter_async_context(concurrency.place_for(caller))
            assert len(concurrency._inside) == len(callers)

    for callers in ("aab", "aabcde"):
        asyncio.run(enter(*callers))
    for callers, status in (("aaa", 429), ("aabb", 429), ("aabcdef", 503)):
        with pytest.raises(Problem) as caught:
            asyncio.run(enter(*callers))
        assert caught.value.headers == {"retry-after": "3"}
        assert caught.value.status == status
    assert not concurrency._inside


def test_who_finds_no_place_in_a_crowd_waits_for_one():
    concurrency, order = ConcurrencyLimit(1, patience=60), []

    async def enter(caller, seconds):
        async with concurrency.place_for(caller):
            order.append(caller)
            await asyncio.sleep(seconds)
            order.append(caller)

    async def both():
        await asyncio.gather(enter("a", 0.2), enter("b", 0.2), enter("c", 0))

    asyncio.run(both())
    assert order == ["a", "b", "a", "b", "c", "c"]
    assert not concurrency._inside


# -- settings --------------------------------------------------------------------------------------


def test_the_command_line_is_over_the_environment_is_over_the_file(tmp_path):
    path = tmp_path / "frith.toml"
    path.write_text('port = 1\nworkers = 1\nhost = "file"\nsecure_cookies = true\n')
    environment = {"FRITH_PORT": "2", "FRITH_WORKERS": "2", "FRITH_FULL": "1", "PORT": "9"}
    settings = load_settings(path, environment, port=3, workers=None)
    assert (settings.port, settings.workers, settings.host) == (3, 2, "file")
    assert settings.secure_cookies
    assert settings.token_days == Settings().token_days
    assert load_settings(None, {}) == Settings()


@pytest.mark.parametrize(
    "text",
    [
        "port = 'many'", "port = 80.5", "port = true", "port = -1", "port = [1]", "port = 1979-05-27",
        "lease_seconds = nan", "lease_seconds = inf", "lease_seconds = -0.5", "host = 1", "host = []",
        "secure_cookies = 'maybe'", "secure_cookies = 2", "prot = 1", "[server]\nport = 1", "port =",
    ],
)  # fmt: skip
def test_a_setting_that_cannot_be_is_named(tmp_path, text):
    path = tmp_path / "frith.toml"
    path.write_text(text)
    name = text.split(" =")[0] if "[" not in text[:1] else "server"
    with pytest.raises(FormatError, match=name if text != "port =" else "TOML"):
        load_settings(path, {})


def test_a_variable_that_cannot_be_is_named_without_its_value():
    for name, value in (("PORT", "hunter2"), ("WORKERS", "-1"), ("LEASE_SECONDS", "nan")):
        with pytest.raises(FormatError, match=name.lower()) as caught:
            load_settings(None, {f"FRITH_{name}": value})
        assert value not in str(caught.value)


def test_settings_that_are_not_there_are_said_to_be(tmp_path):
    with pytest.raises(SourceError, match=r"nothing\.toml"):
        load_settings(tmp_path / "nothing.toml", {})


def test_booleans_are_words():
    for word, value in (("yes", True), ("TRUE", True), ("1", True), ("no", False), ("0", False)):
        assert load_settings(None, {"FRITH_SECURE_COOKIES": word}).secure_cookies is value


def test_cookies_need_tls_where_there_is_tls():
    assert not Settings().cookies_need_tls
    assert Settings(secure_cookies=True).cookies_need_tls
    assert Settings(tls_certificate="c.pem").cookies_need_tls
    assert address(Settings(tls_certificate="c.pem", host="::1")) == "https://[::1]:8080"


# -- policies --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bad",
    [
        {"epsilon": "inf"}, {"epsilon": "1", "request_epsilon": "2"}, {"epsilon": "1", "learners": ()},
        {"epsilon": "1", "least_epsilon": "0"}, {"epsilon": "1", "learners": ("oracle",)},
        {"epsilon": "1", "renewal_days": 0}, {"epsilon": "1", "analyst_epsilon": "1.0001"},
    ],
)  # fmt: skip
def test_a_policy_that_cannot_be_is_refused(bad):
    with pytest.raises(Problem):
        Policy(**bad)


def test_a_policy_checks_a_request_by_public_facts():
    policy = Policy("4", request_epsilon="1", least_epsilon="0.5", learners=("id3",))
    policy.check("id3", Budget.of("1"))
    policy.check(None, Budget.of("0.5"))
    for learner, budget in (
        ("gini", Budget.of("1")),
        ("id3", Budget.of("1.1")),
        ("id3", Budget.of("0.4")),
        ("id3", Budget.of("1", "1e-9")),
        ("id3", Budget.of(math.inf)),
    ):
        with pytest.raises(Problem):
            policy.check(learner, budget)


def test_periods_are_counted_from_the_start():
    start = datetime(2030, 1, 1, tzinfo=UTC)
    policy = Policy("1", renewal_days=30, renewal_start=start.isoformat())
    second = timedelta(seconds=1)
    for now, period in (
        (start, 0),
        (start + timedelta(days=30) - second, 0),
        (start + timedelta(days=30), 1),
        (start + timedelta(days=300), 10),
        (start - timedelta(days=99), 0),
    ):
        assert policy.period(now) == period
    assert Policy("1").period(start) is None
    assert "k times epsilon 1.0" in policy.renewal


def test_a_cap_is_ones_own_else_the_policys_else_the_whole():
    assert Policy("4").analyst_budget().epsilon == 4
    assert Policy("4", analyst_epsilon="2").analyst_budget().epsilon == 2
    assert Policy("4", analyst_epsilon="2").analyst_budget("1").epsilon == 1


# -- names, times, amounts -------------------------------------------------------------------------


def test_names_can_stand_in_a_path_a_file_and_an_account():
    for name in ("a", "0", "a-b_c", "a" * 63):
        assert check_name("table", name) == name
    for name in (
        "",
        "A",
        "-a",
        "a/b",
        "a+b",
        "a@1",
        "a b",
        "a\n",
        "a" * 64,
        "é",
        "a.b",
        "..",
        "a\0",
    ):
        with pytest.raises(Problem):
            check_name("table", name)


def test_stored_times_sort_like_times():
    times = [
        datetime(2030, 1, 1, tzinfo=UTC) + timedelta(milliseconds=k)
        for k in (0, 1, 999, 1000, 10**7)
    ]
    assert sorted(map(stamp, times)) == list(map(stamp, times))
    assert len({len(stamp(t)) for t in times}) == 1


def test_amounts_are_fractions_of_what_was_written():
    assert read_budget("1/3", "1e-6") == Budget(Fraction(1, 3), Fraction(1, 10**6))
    assert read_budget(0.1).epsilon == Fraction(1, 10)
    for bad in ("1e100", "inf", "", "1/0", "-1", "1e-100", "0", True, "\u0661"):
        with pytest.raises(Problem):
            read_budget(bad)


def test_a_request_is_the_same_text_whoever_writes_it():
    one = JobRequest("train", read_budget("0.5"), {"b": 1, "a": {"y": 1, "x": 2}})
    other = JobRequest("train", read_budget("1/2"), {"a": {"x": 2, "y": 1}, "b": 1})
    assert one.hash == other.hash
    assert JobRequest.read(one.body) == one
    assert (
        one.hash != JobRequest("train", read_budget("0.5"), {"b": 1.0, "a": {"y": 1, "x": 2}}).hash
    )


def test_every_problem_has_a_status_of_a_refusal():
    assert all(400 <= status < 500 or status in (501, 503) for status in STATUS.values())
    problem = Problem("over_budget", "no", left="1")
    assert problem.to_json() == {"code": "over_budget", "message": "no", "left": "1"}


# -- advice ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["epsilon", "rho"])
@pytest.mark.parametrize("delta", ["0", "1e-6", "1e-3"])
@pytest.mark.parametrize("left", ["0.123456", "1", "1e-9", "9.9999", "1/3"])
def test_the_most_that_can_be_asked_is_granted_and_a_little_more_is_not(unit, delta, left):
    if unit == "epsilon" and delta != "0":
        return
    most = largest_epsilon(Fraction(left), unit, Fraction(delta))
    if most is None:  # rho as small as this buys nothing with such a delta
        assert Budget.of("1e-9", delta).cost_in(unit) > Fraction(left)
        return
    assert Budget.of(most, delta).cost_in(unit) <= Fraction(left)
    assert Budget.of(Fraction(most) * Fraction("1.01"), delta).cost_in(unit) > Fraction(left)
    assert len(most.partition("e")[0].replace(".", "").strip("0")) <= 4


def test_with_nothing_left_nothing_can_be_asked():
    assert largest_epsilon(Fraction(0), "epsilon", Fraction(0)) is None
    assert largest_epsilon(Fraction(0), "rho", Fraction("1e-6")) is None


def test_a_request_has_no_larger_delta_than_its_table():
    policy = Policy("4", "1e-6", request_epsilon="1/10")
    policy.check(None, Budget.of("0.1", "1e-6"))
    policy.check(None, Budget.of("0.1"))
    with pytest.raises(Problem, match="at most delta 1e-6"):
        policy.check(None, Budget.of("0.1", "2e-6"))


def test_fractions_that_would_make_sums_long_are_refused():
    assert read_budget("1/999").epsilon == Fraction(1, 999)
    for fine in ("1/1000", "1/999999937"):
        with pytest.raises(Problem, match="such as"):
            read_budget(fine)
    total = sum((read_budget(f"1/{d}").epsilon ** 2 / 2 for d in range(1, 1000)), Fraction(0))
    assert total.denominator < 10**2_000, "the ledger's limit"
