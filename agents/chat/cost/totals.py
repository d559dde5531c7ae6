"""Totals of a chat session: prices, sums over its requests, and how they are told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field

from ....core.errors import SpanLabError, in_number
from ....core.json_values import where_given
from ....core.registry import StrictModel
from ...payments import Ledger, faults, in_vain, refused, taken_in_vain
from ..messages import Reply, Taken, stored_reply
from ..reading.extraction import cut_in_reasoning, reasoning_alone

_MILLION = 1_000_000
#: what a provider charges for tokens that are written to its cache, as a multiple of other input
#: tokens
_CACHE_WRITE = 1.25


class Prices(StrictModel):
    """Prices of a million tokens, in any currency."""

    input: float = Field(ge=0, allow_inf_nan=False, description="price of a million input tokens")
    output: float = Field(
        ge=0, allow_inf_nan=False, description="price of a million output tokens, hidden reasoning included"
    )
    cached_input: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description=(
            "price of a million input tokens that the server had cached; the price of other input tokens if not given"
        ),
    )
    cache_write: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description=(
            "price of a million input tokens that are written to the server's cache; 1.25 times the price of other"
            " input tokens if not given"
        ),
    )

    @classmethod
    def of(cls, pair: tuple[float, float] | None) -> Prices | None:
        """The prices that a program gives: of a million tokens read, and of a million written.

        Raises
        ------
        SpanLabError
            when it is no such pair.
        """
        if pair is None:
            return None
        try:
            read, written = pair
            return cls(input=read, output=written)
        except (TypeError, ValueError):  # pydantic's errors are such, too
            raise SpanLabError(
                f"price is what a million tokens cost, read and written, such as (0.5, 2); found {pair!r}"
            ) from None

    def cost(self, prompt_tokens: int, completion_tokens: int, cached_tokens: int = 0, kept_tokens: int = 0) -> float:
        """Return the cost of so many tokens; ``cached_tokens``, and ``kept_tokens``, which were
        written to the server's cache, are among the ``prompt_tokens``."""
        cached = 0 if self.cached_input is None else min(cached_tokens, prompt_tokens)
        kept = min(kept_tokens, prompt_tokens - cached)
        price = _CACHE_WRITE * self.input if self.cache_write is None else self.cache_write
        read = (prompt_tokens - cached - kept) * self.input + cached * (self.cached_input or 0.0) + kept * price
        return (read + completion_tokens * self.output) / _MILLION


@dataclass
class Totals:
    """Sums of what was sent and of what came.

    Every departure of a request is counted, and each has one of three ends: a reply, a refusal
    (which nobody pays for), or nothing, where a reply may have been under way and have to be paid
    for. So ``requests`` are ``replies``, ``refused`` and ``lost`` together, and those that are
    still under way.

    Parameters
    ----------
    requests : departures, repeats after faults among them
    replies : replies that came from the server and were paid for
    cached : replies that came from the response cache, and cost nothing
    refused : departures that the server refused
    lost : departures that came to nothing, and may have been paid for: timed out, cut off,
        unreadable, or in flight when a program was killed
    in_doubt : of ``lost``, those that may or may not have reached the server
    faults : what went wrong on the way to replies, by the word for it
    prompt_tokens, completion_tokens : as the server counts them; of ``prompt_tokens`` the server
        had kept ``cached_tokens`` from earlier requests
    doubtful_tokens : tokens that may have been written besides ``completion_tokens``, by what servers
        say of reasoning
    uncounted : replies whose tokens the server did not tell
    lost_uncounted : of ``lost``, those whose tokens the server did not tell
    dearest : of all replies, the most tokens that one read, and that one wrote
    cut, reasoning_alone : of the replies, those that ended at their longest within their reasoning, and
        those whose text stands where the server puts reasoning
    models : how many replies came from which model, by the name that the server gives
    """

    requests: int = 0
    replies: int = 0
    cached: int = 0
    refused: int = 0
    lost: int = 0
    in_doubt: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    doubtful_tokens: int = 0
    uncounted: int = 0
    lost_uncounted: int = 0
    dearest: tuple[int, int] = (0, 0)
    cut: int = 0
    reasoning_alone: int = 0
    models: Counter[str] = field(default_factory=Counter)

    @property
    def tokens(self) -> int:
        """Tokens read and written."""
        return self.prompt_tokens + self.completion_tokens

    def add(self, reply: Reply) -> None:
        """Count a reply; what went wrong before it came is counted when it does (``faults``)."""
        if reply.served_model:
            self.models[reply.served_model] += 1
        if reply.cached:
            self.cached += 1
            return
        self.replies += 1
        self.cut += cut_in_reasoning(reply)
        self.reasoning_alone += reasoning_alone(reply)
        self.uncounted += reply.prompt_tokens is None or reply.completion_tokens is None
        self.dearest = (
            max(self.dearest[0], reply.prompt_tokens or 0),
            max(self.dearest[1], reply.completion_at_most or reply.completion_tokens or 0),
        )
        self._add(reply)

    def lose(self, taken: Taken | None, in_doubt: bool = False) -> None:
        """Count a departure that came to nothing, with the tokens that the server told;
        ``in_doubt``: it may not have reached the server."""
        self.lost += 1
        self.in_doubt += in_doubt
        if taken is None:
            self.lost_uncounted += 1
        else:
            self._add(taken)

    def _add(self, taken: Taken) -> None:
        for name in ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens", "cache_write_tokens"):
            setattr(self, name, getattr(self, name) + (getattr(taken, name) or 0))
        self.doubtful_tokens += max(0, (taken.completion_at_most or 0) - (taken.completion_tokens or 0))

    def cost(self, prices: Prices | None) -> float | None:
        """Return the cost, as far as the server told; None without prices."""
        if prices is None:
            return None
        return prices.cost(self.prompt_tokens, self.completion_tokens, self.cached_tokens, self.cache_write_tokens)

    def cost_at_most(self, prices: Prices | None) -> float | None:
        """Return the cost if everything that was lost had to be paid for like the dearest reply, and
        whatever is in doubt was written; None without prices."""
        if prices is None:
            return None
        known = (self.cost(prices) or 0.0) + prices.cost(0, self.doubtful_tokens)
        return known + self.lost_uncounted * prices.cost(*self.dearest)


def totals_of(
    lines: Sequence[Mapping[str, Any]], replies: Mapping[str, Sequence[Mapping[str, Any]]], judge: bool = False
) -> Totals:
    """Add up what was sent and what came, from the lines of transcripts.

    Parameters
    ----------
    replies : those of the lines that are replies, by trial
    judge : of the model that reads replies, in place of the one that is asked
    """
    totals = Totals()
    lines_of_kind = [line for line in lines if ("judge" in line) == judge]
    for line in (line for some in replies.values() for line in some if ("judge" in line) == judge):
        totals.add(stored_reply(line["reply"]))
    lost_tokens, lost = taken_in_vain(lines_of_kind), in_vain(lines_of_kind)
    for tokens in (*map(Taken.model_validate, lost_tokens), *[None] * (lost.count - len(lost_tokens))):
        totals.lose(tokens)
    totals.in_doubt = lost.in_doubt
    totals.refused = refused(lines_of_kind)
    totals.faults.update(faults(lines_of_kind))
    totals.requests = totals.replies + totals.refused + totals.lost
    return totals


def account_of(ledger: Ledger) -> dict[str, Any]:
    """The account of a session for its record, with the prices with which it began."""
    info = ledger.info
    prices, judge_prices = (
        (recorded := info.get(key)) and Prices.model_validate(recorded) for key in ("prices", "judge_prices")
    )
    name = info["agent_settings"].get("judge", "")
    of_judge = summary(totals_of(ledger.lines, ledger.replies, judge=True), judge_prices)
    judge = where_given(judge=name and {"name": name, **of_judge})
    failed = {"trials_failed": len(ledger.failed), "failed": dict(Counter(ledger.failed.values()))}
    return {**summary(totals_of(ledger.lines, ledger.replies), prices), **judge, **failed}


def summary(totals: Totals, prices: Prices | None) -> dict[str, Any]:
    """Totals for a record: fit for JSON."""
    counted = (
        "requests",
        "replies",
        "cached",
        "refused",
        "prompt_tokens",
        "completion_tokens",
        "reasoning_tokens",
        "cached_tokens",
        "cache_write_tokens",
        "doubtful_tokens",
    )
    return {
        **{name: getattr(totals, name) for name in counted},
        "without_token_counts": totals.uncounted,
        "cut_in_reasoning": totals.cut,
        "reasoning_alone": totals.reasoning_alone,
        "retries": dict(sorted(totals.faults.items())),
        "paid_twice_at_most": totals.lost,
        "in_doubt": totals.in_doubt,
        "models": dict(sorted(totals.models.items())),
        "cost": totals.cost(prices),
        "cost_at_most": totals.cost_at_most(prices),
        "prices": prices and prices.model_dump(exclude_none=True),
    }


def describe_account(account: Mapping[str, Any]) -> str:
    """An account as :func:`summary` gives it, in a sentence."""
    parts = [f"{account['replies']:,} {in_number(account['replies'], 'reply', 'replies')}"]
    if account["cached"]:
        parts.append(f"{account['cached']:,} more from the cache")
    parts.append(f"{account['prompt_tokens']:,} tokens read and {account['completion_tokens']:,} written")
    if account["without_token_counts"]:
        parts.append(f"(the server did not count those of {account['without_token_counts']:,} replies)")
    of_all = f"{account['replies']:,} replies"
    if cut := account.get("cut_in_reasoning"):
        parts.append(f"{cut:,} of {of_all} ended at their longest within their reasoning: raise max_tokens")
    if alone := account.get("reasoning_alone"):
        parts.append(
            f"the server put all of {alone:,} of {of_all} into its reasoning field: turn thinking or its parser of"
            " reasoning off"
        )
    if account["cost"] is not None:
        parts.append(f"cost {money(account['cost'])}")
    if account["retries"]:
        by_fault = ", ".join(f"{count:,} {fault.replace('_', ' ')}" for fault, count in account["retries"].items())
        parts.append(f"faults on the way: {by_fault}")
    twice = account.get("paid_twice_at_most")
    if twice:
        reckoned = account.get("cost_at_most")
        cost = (
            f" (then it cost {money(reckoned)})" if reckoned is not None and reckoned > (account["cost"] or 0) else ""
        )
        requests = f"{twice:,} {in_number(twice, 'request')}"
        doubt = account.get("in_doubt")
        doubtful = f"; {doubt:,} of them may or may not have reached the server" if doubt else ""
        parts.append(
            f"at most {requests} paid for without a usable reply: too late, cut off, unreadable, or in flight when"
            f" a run ended{cost}{doubtful}"
        )
    if account.get("judge"):
        judge = account["judge"]
        parts.append(f"the judge {judge['name']}: {describe_account({**judge, 'judge': None})}")
    if len(account.get("models", ())) > 1:
        parts.append(
            "replies came from " + ", ".join(f"{model} ({count:,})" for model, count in account["models"].items())
        )
    if account.get("trials_failed"):
        failed = account["trials_failed"]
        reasons = "; ".join(f"{count:,} since {why}" for why, count in account["failed"].items())
        parts.append(f"{failed:,} {in_number(failed, 'trial')} failed ({reasons})")
    return "; ".join(parts)


def money(amount: float) -> str:
    """An amount with as many places as it needs."""
    if amount >= 10 or amount == 0:
        return f"{amount:,.2f}"
    return f"{amount:.4g}" if amount >= 0.0001 else "under 0.0001"


def short(count: int) -> str:
    """``950``, ``12.3 k``, ``4.56 M``."""
    if count >= _MILLION:
        return f"{count / _MILLION:.2f} M"
    return f"{count / 1000:.1f} k" if count >= 10_000 else f"{count:,}"


def duration(seconds: float) -> str:
    """``45 s``, ``12 min``, ``3 h 20 min``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
