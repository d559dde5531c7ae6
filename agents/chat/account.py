"""What a chat session takes and costs: counted while it runs, from the replies themselves."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from .care import Care
from .messages import Reply

_MILLION = 1_000_000


class Prices(BaseModel):
    """What a million tokens cost, in any currency."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    input: float = Field(ge=0, allow_inf_nan=False, description="of a million tokens that the model reads")
    output: float = Field(ge=0, allow_inf_nan=False, description="of a million tokens that the model writes, its own reasoning included")
    cached_input: float | None = Field(
        default=None, ge=0, allow_inf_nan=False, description="of a million tokens that the server had read before and kept; as the others when not given"
    )

    def cost(self, prompt_tokens: int, completion_tokens: int, cached_tokens: int = 0) -> float:
        """What so many tokens cost; ``cached_tokens`` are among the ``prompt_tokens``."""
        cached = 0 if self.cached_input is None else min(cached_tokens, prompt_tokens)
        return ((prompt_tokens - cached) * self.input + cached * (self.cached_input or 0.0) + completion_tokens * self.output) / _MILLION


@dataclass
class Totals:
    """What was sent and what came, added up.

    Parameters
    ----------
    requests : requests that left, repeats after faults not counted
    replies : replies that came from the server and were paid for
    cached : replies that came from the response cache, and cost nothing
    faults : what went wrong on the way to replies, by the word for it
    prompt_tokens, completion_tokens : as the server counts them; of ``prompt_tokens`` the server had kept ``cached_tokens`` from earlier requests
    uncounted : replies whose tokens the server did not tell
    """

    requests: int = 0
    replies: int = 0
    cached: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    cached_tokens: int = 0
    uncounted: int = 0

    @property
    def tokens(self) -> int:
        """Tokens read and written."""
        return self.prompt_tokens + self.completion_tokens

    def add(self, reply: Reply) -> None:
        """Count a reply."""
        if reply.cached:
            self.cached += 1
            return
        self.replies += 1
        self.faults.update(reply.faults)
        self.uncounted += reply.prompt_tokens is None or reply.completion_tokens is None
        for name in ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens"):
            setattr(self, name, getattr(self, name) + (getattr(reply, name) or 0))

    def cost(self, prices: Prices | None) -> float | None:
        """What it cost; None without prices."""
        return None if prices is None else prices.cost(self.prompt_tokens, self.completion_tokens, self.cached_tokens)


class Account:
    """The running account of one agent in one session, and the limits that it was given.

    A client tells it of every request (:meth:`leaves`), of every reply (:meth:`arrives`), and of requests that come to nothing (:meth:`fails`).

    Parameters
    ----------
    care : with the limits, if any
    prices : of the model, when they are known
    clock : seconds from any origin, for the time that is left
    """

    def __init__(self, care: Care, prices: Prices | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.totals = Totals()
        self.prices = prices
        #: replies that the whole session is expected to take, when it was estimated
        self.expected: int | None = None
        self.in_flight = 0
        self._care = care
        self._clock = clock
        self._began: float | None = None
        self._here = 0
        # what one reply cost and took at most; before the first reply, what was foreseen
        self._dearest = (0.0, 0.0)
        self._foreseen = (0.0, 0.0)

    def foresee(self, requests: int, tokens: int, cost: float | None) -> None:
        """What the whole session is expected to take (see :mod:`.estimate`): for the time that is left, and for limits until the first reply has come."""
        self.expected = requests
        self._foreseen = ((cost or 0.0) / max(1, requests), tokens / max(1, requests))

    def carry(self, earlier: Totals) -> None:
        """Go on from what earlier parts of the session took: limits hold for the session as a whole."""
        self.totals = earlier

    def leaves(self) -> None:
        """A request leaves."""
        if self._began is None:
            self._began = self._clock()
        self.totals.requests += 1
        self.in_flight += 1

    def arrives(self, reply: Reply) -> None:
        """The reply to a request that left is there."""
        self.in_flight -= 1
        self._count(reply)

    def found(self, reply: Reply) -> None:
        """A reply came from the cache; nothing left."""
        if self._began is None:
            self._began = self._clock()
        self._count(reply)

    def fails(self, *faults: str) -> None:
        """A request that left comes to nothing, after these faults."""
        self.in_flight -= 1
        self.totals.faults.update(faults)

    def _count(self, reply: Reply) -> None:
        self.totals.add(reply)
        self._here += 1
        if not reply.cached:
            prompt, completion = reply.prompt_tokens or 0, reply.completion_tokens or 0
            cost = 0.0 if self.prices is None else self.prices.cost(prompt, completion, reply.cached_tokens or 0)
            self._dearest = (max(cost, self._dearest[0]), max(prompt + completion, self._dearest[1]))

    def exhausted(self) -> str:
        """Why no further request may leave, in a sentence; empty as long as one may.

        Requests under way count as much as the dearest reply so far, so that a limit is kept and not only noticed; before the first reply as much as was
        foreseen.
        """
        limit, most = self._care.max_cost, self._care.max_tokens_in_all
        if limit is None and most is None:
            return ""
        if self.totals.uncounted:
            return "the server does not tell how many tokens it took, so a limit of cost or tokens cannot be kept; leave out --max-cost and --max-tokens"
        coming = self.in_flight + 1
        dearest = self._dearest if self._here else self._foreseen
        cost, tokens = self.totals.cost(self.prices), self.totals.tokens
        if limit is not None and cost is not None and cost + coming * dearest[0] > limit:
            return f"--max-cost {limit:g} is reached: {money(cost)} was spent, and one more request could go beyond it; give a higher --max-cost to go on"
        if most is not None and tokens + coming * dearest[1] > most:
            return f"--max-tokens {most} is reached: {tokens:,} tokens were taken, and one more request could go beyond it; give a higher --max-tokens to go on"
        return ""

    def tally(self) -> str:
        """How it stands, in a few words: for the line that shows progress."""
        totals = self.totals
        done = totals.replies + totals.cached
        parts = [f"{done:,}{f' of about {self.expected:,}' if self.expected else ''} replies"]
        if totals.cached:
            parts.append(f"{totals.cached:,} from the cache")
        parts.append(f"{short(totals.tokens)} tokens")
        cost = totals.cost(self.prices)
        if cost is not None:
            parts.append(f"cost {money(cost)}")
        if totals.faults:
            parts.append(f"{totals.faults.total():,} repeated")
        parts.append(f"{self.in_flight} under way")
        left = self.seconds_left()
        if left is not None:
            parts.append(f"{duration(left)} left")
        return " · ".join(parts)

    def seconds_left(self) -> float | None:
        """How long it goes on at the pace so far; None while there is none."""
        if not self.expected or self._began is None or not self._here:
            return None
        left = self.expected - self.totals.replies - self.totals.cached
        return max(0.0, left * (self._clock() - self._began) / self._here)

    def summary(self) -> dict[str, Any]:
        """The account for the record."""
        return summary(self.totals, self.prices)


def summary(totals: Totals, prices: Prices | None) -> dict[str, Any]:
    """Totals for a record: fit for JSON."""
    return {
        **{name: getattr(totals, name) for name in ("requests", "replies", "cached", "prompt_tokens", "completion_tokens", "reasoning_tokens")},
        "cached_tokens": totals.cached_tokens,
        "without_token_counts": totals.uncounted,
        "retries": dict(sorted(totals.faults.items())),
        "cost": totals.cost(prices),
        "prices": None if prices is None else prices.model_dump(exclude_none=True),
    }


def told(account: Mapping[str, Any]) -> str:
    """An account as :func:`summary` gives it, in a sentence."""
    parts = [f"{account['replies']:,} {'reply' if account['replies'] == 1 else 'replies'}"]
    if account["cached"]:
        parts.append(f"{account['cached']:,} more from the cache")
    parts.append(f"{account['prompt_tokens']:,} tokens read and {account['completion_tokens']:,} written")
    if account["without_token_counts"]:
        parts.append(f"(the server did not count those of {account['without_token_counts']:,} replies)")
    if account["cost"] is not None:
        parts.append(f"cost {money(account['cost'])}")
    if account["retries"]:
        by_fault = ", ".join(f"{count:,} {fault.replace('_', ' ')}" for fault, count in account["retries"].items())
        parts.append(f"repeated after faults: {by_fault}")
    twice = account.get("paid_twice_at_most")
    if twice:
        parts.append(f"at most {twice:,} {'request' if twice == 1 else 'requests'} paid for twice, in flight at an interruption")
    return "; ".join(parts)


def money(amount: float) -> str:
    """An amount with as many places as it needs."""
    return f"{amount:,.2f}" if amount >= 10 or amount == 0 else f"{amount:.4g}" if amount >= 0.0001 else "under 0.0001"


def short(count: int) -> str:
    """``950``, ``12.3 k``, ``4.56 M``."""
    return f"{count / _MILLION:.2f} M" if count >= _MILLION else f"{count / 1000:.1f} k" if count >= 10_000 else f"{count:,}"


def duration(seconds: float) -> str:
    """``45 s``, ``12 min``, ``3 h 20 min``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
