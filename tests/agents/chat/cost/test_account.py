"""What chat sessions take and cost: the account, the estimate before, the limits, and all parts of
an interrupted session together."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from chat_servers import Answer, Request, Tap, listening
from command_line import Run, complaint, output_of
from hypothesis import given
from hypothesis import strategies as st

from spanlab.agents.chat import EndpointError, RequestLimits
from spanlab.agents.chat.cost.account import Account
from spanlab.agents.chat.cost.estimate import by_pieces
from spanlab.agents.chat.cost.totals import Prices, Totals, describe_account, duration, money, short, summary
from spanlab.agents.chat.messages import Reply, Taken
from spanlab.agents.chat.transport.departure import Departure, Fault
from spanlab.api.options import parse_prices
from spanlab.core.errors import SpanLabError
from spanlab.sessions import read_responses, read_session
from spanlab.sessions.record.table import COLUMNS

LASTING = [column.name for column in COLUMNS if not column.measured]
PRICES = Prices(input=2, output=10)
LATE = Fault("timeout", EndpointError("too late", permanent=False), begun=True)


def _reply(prompt: int | None = 100, completion: int | None = 5, **more: Any) -> Reply:
    return Reply(content="1", latency_ms=1, prompt_tokens=prompt, completion_tokens=completion, **more)


# sums ---------------------------------------------------------------------------------------------

replies = st.builds(
    _reply,
    st.none() | st.integers(0, 10_000),
    st.none() | st.integers(0, 1000),
    cached=st.booleans(),
    faults=st.lists(st.sampled_from(["server", "timeout"])),
)


@given(st.lists(replies, max_size=30))
@pytest.mark.slow
def test_totals_are_the_sum_of_what_was_paid_for(given_replies: list[Reply]) -> None:
    totals = Totals()
    for reply in given_replies:
        totals.add(reply)
    paid = [reply for reply in given_replies if not reply.cached]
    assert totals.replies == len(paid)
    assert totals.replies + totals.cached == len(given_replies)
    assert totals.prompt_tokens == sum(reply.prompt_tokens or 0 for reply in paid)
    assert totals.cost(None) is None
    assert totals.cost(PRICES) == pytest.approx(
        sum((reply.prompt_tokens or 0) * 2 + (reply.completion_tokens or 0) * 10 for reply in paid) / 1e6
    )
    assert json.loads(json.dumps(summary(totals, PRICES)))["replies"] == len(paid)


def test_tokens_that_the_server_had_kept_have_their_own_price() -> None:
    assert Prices(input=10, output=0).cost(1_000_000, 0, 400_000) == 10
    assert Prices(input=10, output=0, cached_input=1).cost(1_000_000, 0, 400_000) == pytest.approx(6.4)


def _taken(account: Account, reply: Reply, characters: int = 400) -> None:
    """One request leaves alone, and its reply comes."""
    held = Departure(account, characters)
    assert held.reserve(alone=True)
    assert not held.refusal
    held.leaves()
    held.ends(reply)
    held.release()


def _lost(account: Account, fault: Fault | None) -> None:
    """One request leaves alone and comes to nothing."""
    held = Departure(account, 400)
    assert held.reserve(alone=True)
    held.leaves()
    held.fails(fault)
    held.release()


def _spend(account: Account, random: np.random.RandomState, at_once: int, most: int, lost: float) -> tuple[int, int]:
    """A session with a limit of tokens: conversations that grow, replies of lengths that differ
    much, requests that are lost although a reply was written.

    What the server wrote in all, and what the dearest request took.
    """
    spent = dearest = 0
    under_way: list[tuple[Departure, int, Reply]] = []
    sizes = [400 * (1 + place % 12) for place in range(3000)]
    while sizes or under_way:
        held = Departure(account, sizes[0]) if sizes and len(under_way) < at_once else None
        if held is not None and held.reserve(alone=not under_way):
            if held.refusal:
                held.release()
                return spent, dearest
            held.leaves()
            characters = sizes.pop(0)
            read, written = round(characters / random.uniform(2.5, 5)), round(random.lognormal(4, 1))
            spent, dearest = spent + read + written, max(dearest, read + written)
            under_way.append((held, characters, _reply(read, written)))
            continue
        held, _, reply = under_way.pop(random.randint(len(under_way)))
        if random.uniform() < lost:
            held.fails(LATE)
        else:
            held.ends(reply)
        held.release()
    return spent, dearest


@pytest.mark.parametrize("lost", [0.0, 0.1])
def test_a_limit_is_passed_by_no_more_than_one_request(lost: float) -> None:
    """Whatever is under way, however conversations grow, and also when requests are lost that had
    to be paid for."""
    passed = 0
    for seed in range(24):
        random = np.random.RandomState(seed)
        most = int(random.choice([3_000, 20_000, 100_000]))
        account = Account(RequestLimits(max_tokens_in_all=most))
        account.foresee(requests=3000, prompt_tokens=3000 * 300, completion_tokens=3000)
        spent, dearest = _spend(account, random, at_once=int(random.choice([1, 8, 64])), most=most, lost=lost)
        assert spent <= most + dearest, (seed, most, spent, dearest)
        assert spent >= 0.5 * most, "and it is made use of"
        assert not account.under_way
        passed += spent > most
    assert passed <= 3, "and seldom passed at all"


def test_a_limit_says_what_it_is_and_how_to_go_on() -> None:
    account = Account(RequestLimits(max_cost=0.001), PRICES)
    _taken(account, _reply(200, 0))
    assert account.exhausted(400) == "", "a second one fits"
    said = (
        "max_cost 0.001 is reached: 0.0004 was spent, and one more request could exceed it; give a higher max_cost"
        " to continue"
    )
    assert account.exhausted(800) == said, "one that is twice as long does not"


def test_with_a_limit_the_first_request_goes_alone_and_goes_by_what_was_foreseen() -> None:
    account = Account(RequestLimits(max_tokens_in_all=1000))
    account.foresee(requests=100, prompt_tokens=30_000, completion_tokens=0)
    first, second = Departure(account, 400), Departure(account, 400)
    assert first.reserve(alone=True)
    assert not second.reserve(alone=False), "nothing is known yet"
    first.leaves()
    first.ends(_reply(10, 0))
    first.release()
    assert second.reserve(alone=False), "from then on by what is known"
    short = Account(RequestLimits(max_tokens_in_all=200))
    short.foresee(requests=100, prompt_tokens=30_000, completion_tokens=0)
    assert "is reached" in short.exhausted(400)


def test_what_was_lost_counts_as_if_it_had_to_be_paid_for() -> None:
    account = Account(RequestLimits(max_tokens_in_all=1000))
    _taken(account, _reply(300, 100))
    _lost(account, LATE)
    said = account.exhausted(400)
    assert (
        "max_tokens 1000 is reached: 800 tokens were taken (with 1 request that led to nothing and may have been paid"
        " for)" in said
    )
    counted = Account(RequestLimits(max_tokens_in_all=1000))
    _taken(counted, _reply(300, 100))
    _lost(counted, replace(LATE, taken=Taken(prompt_tokens=20, completion_tokens=5)))
    assert counted.exhausted(400) == "", "what the server describe_account is what counts"
    assert counted.totals.tokens == 425
    refused = Account(RequestLimits(max_tokens_in_all=1000))
    _taken(refused, _reply(300, 100))
    _lost(refused, replace(LATE, begun=False))
    assert refused.exhausted(400) == "", "nobody pays for a refusal"
    assert (refused.totals.requests, refused.totals.replies, refused.totals.refused, refused.totals.lost) == (
        2,
        1,
        1,
        0,
    )


def test_a_server_that_does_not_count_cannot_keep_a_limit() -> None:
    account = Account(RequestLimits(max_tokens_in_all=10_000))
    _taken(account, _reply(None, None))
    assert "does not report how many tokens" in account.exhausted(400)
    without = Account(RequestLimits())
    _taken(without, _reply(None, None))
    assert without.exhausted(400) == ""
    now_and_then = Account(RequestLimits(max_tokens_in_all=250))
    _taken(now_and_then, _reply(100, 0))
    assert now_and_then.exhausted(400) == ""
    _taken(now_and_then, _reply(None, None))
    assert "200 tokens were taken" in now_and_then.exhausted(400), (
        "one that is not counted is taken for one like the others"
    )


def test_an_account_goes_on_from_earlier_parts() -> None:
    earlier = Totals()
    earlier.add(_reply(900, 50))
    account = Account(RequestLimits(max_tokens_in_all=1000))
    account.carry(earlier)
    assert account.exhausted(400)
    lost = Totals()
    lost.add(_reply(450, 50))
    lost.lose(None)
    account = Account(RequestLimits(max_tokens_in_all=1000))
    account.carry(lost)
    assert account.exhausted(400), "what was in flight at a kill may have cost as much as the dearest"


@pytest.mark.parametrize(("seconds", "text"), [(5, "5 s"), (600, "10 min"), (7300, "2 h 2 min")])
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("amount", "text"), [(0, "0.00"), (1234.5, "1,234.50"), (0.0415, "0.0415"), (0.00001, "under 0.0001")]
)
def test_amounts(amount: float, text: str) -> None:
    assert money(amount) == text


@pytest.mark.parametrize(("count", "text"), [(950, "950"), (12_345, "12.3 k"), (4_560_000, "4.56 M")])
def test_counts(count: int, text: str) -> None:
    assert short(count) == text


def test_an_account_in_a_sentence() -> None:
    totals = Totals()
    totals.add(_reply())
    totals.faults["rate_limit"] += 1
    totals.lose(None)
    totals.lose(Taken(prompt_tokens=100, completion_tokens=5), in_doubt=True)
    text = describe_account({**summary(totals, PRICES), "trials_failed": 2, "failed": {"a filter blocks it": 2}})
    assert (
        text
        == "1 reply; 200 tokens read and 10 written; cost 0.0005; faults on the way: 1 rate limit; at most 2 requests"
        " paid for without a usable reply: too late, cut off, unreadable, or in flight when a run ended (then it"
        " cost 0.00075); 1 of them may or may not have reached the server; 2 trials failed (2 since a filter blocks it)"
    )


# prices -------------------------------------------------------------------------------------------


def test_prices_of_one_and_of_several() -> None:
    both = ["chat:a", "chat:b@ollama", "ideal"]
    assert parse_prices(["1/2.5"], both) == {
        "chat:a": Prices(input=1, output=2.5),
        "chat:b@ollama": Prices(input=1, output=2.5),
    }
    assert parse_prices(["chat:a=1/2", "chat:b@ollama=0/0"], both)["chat:b@ollama"] == Prices(input=0, output=0)
    assert parse_prices(None, both) == {}


@pytest.mark.parametrize("text", ["1", "1/2/3", "a/b", "-1/2", "1/nan", "1/inf", "/"])
def test_what_is_no_price(text: str) -> None:
    with pytest.raises(SpanLabError, match="price takes IN/OUT"):
        parse_prices([text], ["chat:a"])


def test_a_price_for_nobody_and_one_given_twice() -> None:
    with pytest.raises(SpanLabError, match="did you mean 'chat:gpt-4o'"):
        parse_prices(["chat:gpt-4=1/2"], ["chat:gpt-4o"])
    with pytest.raises(SpanLabError, match="twice"):
        parse_prices(["1/2", "chat:a=1/2"], ["chat:a"])


# whole sessions -----------------------------------------------------------------------------------


def _counted(messages: list[Mapping[str, Any]]) -> int:
    """Tokens as the estimate takes them: by pieces, and four for each message."""
    return math.ceil(sum(4 + by_pieces(message["content"]) for message in messages))


@contextmanager
def _server(monkeypatch: pytest.MonkeyPatch, usage: bool = True) -> Iterator[Tap]:
    """A server that always answers 1 and counts as the estimate does."""

    def answer(request: Request) -> Answer:
        message = {"role": "assistant", "content": "1"}
        body: dict[str, Any] = {
            "id": "x",
            "model": "served-1",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        }
        if usage:
            body["usage"] = {
                "prompt_tokens": _counted(request.body["messages"]),
                "completion_tokens": 1,
                "total_tokens": 0,
            }
        return 200, "application/json", json.dumps(body).encode()

    with listening(answer) as tap:
        monkeypatch.setenv("OPENAI_BASE_URL", tap.base_url)
        yield tap


def _table(folder: Path) -> pd.DataFrame:
    return (
        read_responses(folder)
        .sort_values(["trial", "step"], ignore_index=True)
        .reindex(columns=[name for name in LASTING if name != "session"])
    )


def test_the_estimate_is_what_would_really_be_sent(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with _server(monkeypatch) as tap:
        code, out, err = run(
            "replay", "vsr", "--agent", "chat:m", "--trials", "10", "--price", "2/10", "--chat", "instructions_as=user"
        )
    assert code == 0
    assert out.strip() == "data/vsr-chat-m-s1"
    info = read_session(tmp_path / out.strip())
    estimate, account = info["estimate"], info["account"]
    assert estimate["requests"] == account["requests"] == account["replies"] == len(tap.requests)
    assert estimate["conversations"] == 10
    assert estimate["prompt_tokens"] == pytest.approx(account["prompt_tokens"], rel=0.02)
    assert estimate["completion_tokens"] == account["completion_tokens"]
    assert estimate["cost"] == pytest.approx(account["cost"], rel=0.02)
    assert account["cost"] == pytest.approx((account["prompt_tokens"] * 2 + account["completion_tokens"] * 10) / 1e6)
    assert account["paid_twice_at_most"] == 0
    assert err.index("about") < err.index("tokens read and")
    assert f"{len(tap.requests)} replies" in err


@pytest.mark.slow
def test_the_estimate_counts_pictures_and_sends_nothing(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with _server(monkeypatch) as tap:
        options = ["--chat", "view=image", "--chat", "image_px=512", "--chat", "probe=off", "--max-tokens", "1"]
        code, _, err = run("replay", "smu", "--agent", "chat:m", "--trials", "2", *options)
    assert code == 1
    assert not tap.requests
    assert "pictures" in err
    assert "max_tokens 1 is reached: 0 tokens were taken" in err


@pytest.mark.slow
@pytest.mark.sampled(1)
@pytest.mark.parametrize("limit", ["cost", "tokens"])
def test_a_limit_stops_the_session_and_a_higher_one_goes_on(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, limit: str
) -> None:
    options = {"cost": ("--max-cost", "0.05", "0.5"), "tokens": ("--max-tokens", "25000", "250000")}[limit]
    with _server(monkeypatch) as tap:
        assert run("replay", "vsr", "--agent", "chat:m", "--trials", "16", "--price", "2/10", "--data", "whole")[0] == 0
        whole = len(tap.requests)
        tap.requests.clear()
        code, _, err = run(
            "replay", "vsr", "--agent", "chat:m", "--trials", "16", "--price", "2/10", options[0], options[1]
        )
        assert code == 1
        assert f"max_{limit} {options[1]} is reached" in err
        assert "spanlab resume data/vsr-chat-m-s1" in err
        account = read_session(tmp_path / "data" / "vsr-chat-m-s1")["account"]
        assert account["replies"] == len(tap.requests) < whole
        taken = {"cost": account["cost"], "tokens": account["prompt_tokens"] + account["completion_tokens"]}
        assert taken[limit] <= float(options[1])
        assert "is reached" in complaint(*run("resume", "data/vsr-chat-m-s1")), (
            "the limit is that of the session, not of a part of it"
        )
        output_of(*run("resume", "data/vsr-chat-m-s1", options[0], options[2]))
    assert len(tap.requests) == whole, "nothing was paid for twice"
    info = read_session(tmp_path / "data" / "vsr-chat-m-s1")
    assert info["account"]["replies"] == whole
    assert info["care"][{"cost": "max_cost", "tokens": "max_tokens_in_all"}[limit]] == float(options[2])
    pd.testing.assert_frame_equal(
        _table(tmp_path / "data" / "vsr-chat-m-s1"), _table(tmp_path / "whole" / "vsr-chat-m-s1")
    )


def test_a_limit_with_a_server_that_does_not_count(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with _server(monkeypatch, usage=False):
        assert "does not report how many tokens" in complaint(
            *run("replay", "vsr", "--agent", "chat:m", "--trials", "3", "--max-tokens", "100000")
        )


# before anything begins ---------------------------------------------------------------------------


@pytest.mark.slow
def test_who_cannot_take_the_trials_is_refused_before_any_folder_is_made(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert "was not trained on nback_verbal_feedback" in complaint(
        *run("replay", "nback_verbal_feedback", "--agent", "ideal", "--agent", "network:laptop", "--trials", "1")
    )
    assert not (tmp_path / "data").exists()
    with _server(monkeypatch) as tap:
        said = complaint(*run("replay", "vsr", "--agent", "chat:m", "--trials", "1", "--chat", "preset=published-base"))
        assert "published-base" in said
        assert not tap.requests
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--max-cost", "1"], "--max-cost needs the price of chat:m"),
        (["--max-cost", "0", "--price", "1/2"], "--max-cost: expected a number above 0"),
        (["--care", "timout_s=3"], "did you mean 'timeout_s'"),
        (["--care", "timeout_s=0"], "--care: "),
        (["--care", "concurrency=3", "--concurrency", "3"], "--care repeats concurrency: give each once"),
        (["--care", "timeout_s"], "--care takes NAME=VALUE"),
        (["--chat", "temprature=1"], "did you mean 'temperature'"),
        (["--chat", "preset=publshed-base"], "published-base"),
        (["--price", "cheap"], "--price takes IN/OUT"),
    ],
)
def test_slips_are_told_before_anything_begins(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: list[str], said: str
) -> None:
    with _server(monkeypatch) as tap:
        assert said in complaint(*run("replay", "vsr", "--agent", "chat:m", "--trials", "1", *arguments))
    assert not tap.requests
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    "option",
    [["--max-cost", "1"], ["--concurrency", "2"], ["--price", "1/2"], ["--cache", "x"], ["--care", "timeout_s=1"]],
)
def test_options_for_chat_agents_where_there_is_none(run: Run, option: list[str]) -> None:
    assert f"{option[0]} is for chat agents" in complaint(
        *run("replay", "vsr", "--agent", "ideal", "--trials", "1", *option)
    )
