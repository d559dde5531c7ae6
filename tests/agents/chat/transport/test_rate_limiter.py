"""The rate limiter before a chat server, on a virtual clock: its limit, its budgets, who goes
first, and how it closes."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanlab.agents.chat.transport.departure import Bucket, Fault, RateLimiter, asked_wait
from spanlab.agents.chat.transport.endpoint import EndpointError
from spanlab.agents.interruptions import Stopped


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock stands still while anything is to be done, and else jumps to what
    is due next."""

    def __init__(self) -> None:
        super().__init__(_NoWaiting(self))
        self.clock = 0.0

    def time(self) -> float:
        return self.clock


class _NoWaiting(selectors.SelectSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        assert timeout is not None, "everybody waits for nothing"
        self._loop.clock += max(0.0, timeout)
        return []


def virtually(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """The result of some work on a virtual clock."""
    loop = VirtualLoop()
    try:
        return loop.run_until_complete(work())
    finally:
        loop.close()


# Budgets


@settings(max_examples=200, deadline=None)
@given(
    per_minute=st.integers(1, 2000),
    steps=st.lists(st.tuples(st.floats(0, 40), st.integers(1, 30)), max_size=40),
)
@pytest.mark.slow
def test_no_minute_ever_has_more_than_its_budget(per_minute: int, steps: list[tuple[float, int]]) -> None:
    """However long nobody asks, however many ask at once, and when one is held up on its way for up
    to a second: a server counts what arrives."""
    now, taken, bucket = 0.0, [], Bucket(per_minute, 0.0)
    for pause, several in steps:
        now += pause
        for _ in range(several):
            wait = bucket.wait(1, now)
            assert wait >= 0
            now += wait
            bucket.take(1, now)
            taken.append(now)
    for number, one in enumerate(taken[per_minute:]):
        assert one - taken[number] >= 61 - 1e-6


@settings(max_examples=100, deadline=None)
@given(per_minute=st.integers(60, 100_000), costs=st.lists(st.integers(1, 5000), min_size=1, max_size=60))
def test_tokens_of_any_minute_exceed_the_budget_by_one_request_at_most(per_minute: int, costs: list[int]) -> None:
    now, taken, bucket = 0.0, [], Bucket(per_minute, 0.0)
    for cost in costs:
        now += bucket.wait(cost, now)
        bucket.take(cost, now)
        taken.append((now, cost))
    for number, (begin, _) in enumerate(taken):
        assert sum(cost for at, cost in taken[number:] if at < begin + 60) <= per_minute + max(costs) + 1


@pytest.mark.parametrize("per_minute", [1, 7, 60, 600, 6000])
def test_a_budget_is_used_up(per_minute: int) -> None:
    """Somebody who always asks gets it, save what a first second holds."""
    now, count, bucket = 0.0, 0, Bucket(per_minute, 0.0)
    while now < 600:
        now += bucket.wait(1, now)
        bucket.take(1, now)
        count += 1
    assert 0.96 * 10 * per_minute <= count <= 10 * per_minute + 1


def test_tokens_are_estimated_before_and_settled_after() -> None:
    """1,000 expected and 100 taken, again and again: the budget of 6,000 a minute lets 60 through
    and not 6."""

    async def count(taken: float | None) -> int:
        limiter, done = RateLimiter(1000, tokens_per_minute=6000), 0
        async with asyncio.timeout(600):
            try:
                while True:
                    async with limiter.request(0, 1000) as one:
                        one.tokens = taken
                    done += 1
            except asyncio.CancelledError:
                return done

    async def counted(taken: float | None) -> int:
        task = asyncio.ensure_future(count(taken))
        await asyncio.sleep(599)
        task.cancel()
        return await task

    assert 565 <= virtually(lambda: counted(100.0)) <= 610
    assert 56 <= virtually(lambda: counted(None)) <= 61


# The number of requests at once


async def _one(limiter: RateLimiter, takes: float = 1.0, **fate: Any) -> None:
    async with limiter.request(0) as passed:
        await asyncio.sleep(takes)
        for name, value in fate.items():
            setattr(passed, name, value)


def test_a_burst_of_refusals_halves_the_number_once_and_replies_let_it_grow_again() -> None:
    async def work() -> list[int]:
        limiter, seen = RateLimiter(32), []
        await asyncio.gather(*(_one(limiter, busy=True) for _ in range(32)))  # all had left before the first came back
        seen.append(limiter.limit)
        await asyncio.gather(*(_one(limiter, busy=True) for _ in range(3)))
        seen.append(limiter.limit)
        for _ in range(20):
            await _one(limiter, busy=True)
        seen.append(limiter.limit)
        for _ in range(600):
            await _one(limiter, answered=True)
        return [*seen, limiter.limit]

    assert virtually(work) == [16, 8, 1, 32]


def test_nothing_leaves_for_as_long_as_the_server_asks() -> None:
    async def work() -> list[float]:
        limiter, times = RateLimiter(4), []
        await _one(limiter, takes=0.0, busy=True, wait_s=7.5)
        await asyncio.gather(*(_one(limiter, takes=0.0, answered=True) for _ in range(4)))
        times.append(asyncio.get_running_loop().time())
        return times

    assert virtually(work) == [pytest.approx(7.5)]


# Who goes first


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 20), min_size=2, max_size=40))
def test_older_trials_go_first(orders: list[int]) -> None:
    async def work() -> list[int]:
        limiter, went = RateLimiter(1), []

        async def ask(order: int) -> None:
            async with limiter.request(order):
                went.append(order)
                await asyncio.sleep(1)

        async with limiter.request(-1):
            tasks = [asyncio.ensure_future(ask(order)) for order in orders]
            await asyncio.sleep(0)
        await asyncio.gather(*tasks)
        return went

    assert virtually(work) == sorted(orders)


@settings(max_examples=50, deadline=None)
@given(
    limit=st.integers(1, 8),
    requests=st.lists(
        st.tuples(st.integers(0, 9), st.floats(0, 3), st.floats(0, 3), st.booleans()), min_size=1, max_size=40
    ),
)
@pytest.mark.slow
def test_no_more_than_the_limit_are_under_way_and_nobody_is_forgotten(
    limit: int, requests: list[tuple[int, float, float, bool]]
) -> None:
    """Also when some of those who wait or are under way give up."""

    async def work() -> tuple[int, int]:
        limiter, most, inside = RateLimiter(limit, requests_per_minute=600), 0, 0

        async def ask(order: int, begins: float, takes: float) -> None:
            nonlocal most, inside
            await asyncio.sleep(begins)
            async with limiter.request(order):
                inside += 1
                most = max(most, inside)
                try:
                    await asyncio.sleep(takes)
                finally:
                    inside -= 1

        tasks = [asyncio.ensure_future(ask(order, begins, takes)) for order, begins, takes, _ in requests]
        for task, (_, begins, takes, gives_up) in zip(tasks, requests, strict=True):
            if gives_up:
                asyncio.get_running_loop().call_later(begins + takes / 2, task.cancel)
        await asyncio.gather(*tasks, return_exceptions=True)
        return most, limiter.under_way

    most, left = virtually(work)
    assert most <= limit
    assert left == 0


def test_a_gate_that_stops_lets_nothing_in_and_those_inside_out() -> None:
    async def work() -> tuple[list[str], float]:
        limiter, ends = RateLimiter(2), []

        async def ask(order: int) -> None:
            try:
                async with limiter.request(order):
                    await asyncio.sleep(10)
                    ends.append("answered")
            except Stopped as error:
                ends.append(str(error))

        async def trial() -> None:
            try:
                async with limiter.place():
                    await asyncio.sleep(10)
                    ends.append("trial")
            except Stopped as error:
                ends.append(str(error))

        async def again() -> None:
            with pytest.raises(Stopped):
                await limiter.pause(1000)

        tasks = [
            asyncio.ensure_future(one)
            for one in (*(ask(order) for order in range(5)), *(trial() for _ in range(3)), again())
        ]
        await asyncio.sleep(1)
        limiter.stop("enough")
        limiter.stop("and again")
        await asyncio.gather(*tasks)
        with pytest.raises(Stopped):
            async with limiter.request(0):
                pass
        return sorted(ends), asyncio.get_running_loop().time()

    ends, took = virtually(work)
    assert ends == ["answered"] * 2 + ["enough"] * 4 + ["trial"] * 2
    assert took == pytest.approx(10)


# What a server asks for


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}, 30),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT", "date": "Wed, 21 Oct 2026 07:28:25 GMT"}, 5),
        ({"retry-after": "Wed, 21 Oct 2026 07:20:00 GMT"}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_how_long_a_server_asks_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert asked_wait(headers, datetime(2026, 10, 21, 7, 28, 0, tzinfo=UTC)) == seconds


@given(st.text(max_size=30), st.text(max_size=30))
def test_whatever_a_server_says_there_is_a_wait_or_none(after: str, date: str) -> None:
    asked = asked_wait({"retry-after": after, "date": date})
    assert asked is None or asked >= 0


def test_pauses_grow_and_differ_and_keep_to_what_was_asked() -> None:
    def fault(wait_s: float | None = None) -> Fault:
        return Fault("rate_limit", EndpointError("busy"), True, wait_s)

    middle = [sum(fault().pause(before, str(seed)) for seed in range(200)) / 200 for before in range(12)]
    assert all(later > 1.5 * earlier for earlier, later in pairwise(middle[:7])), "twice as long each time"
    assert max(fault().pause(before, "x") for before in range(100)) <= 60
    assert len({fault().pause(3, str(seed)) for seed in range(50)}) == 50, (
        "those that failed together do not come back together"
    )
    assert fault().pause(3, "x") == fault().pause(3, "x")
    assert 5 <= fault(5.0).pause(0, "x") <= 5.5, "never earlier than asked"
