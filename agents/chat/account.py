"""What a chat session takes and costs: counted while it runs, from the replies themselves."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from .care import Care
from .expected import CHARACTERS_PER_TOKEN, Expected
from .faults import Fault
from .messages import Reply, Taken

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

    Every departure of a request is counted, and each has one of three ends: a reply, a refusal (which nobody pays for), or nothing, where a reply may have been
    under way and have to be paid for. So ``requests`` are ``replies``, ``refused`` and ``lost`` together, and those that are still under way.

    Parameters
    ----------
    requests : departures, repeats after faults among them
    replies : replies that came from the server and were paid for
    cached : replies that came from the response cache, and cost nothing
    refused : departures that the server refused
    lost : departures that came to nothing, and may have been paid for: timed out, cut off, unreadable, or in flight when a program was killed
    faults : what went wrong on the way to replies, by the word for it
    prompt_tokens, completion_tokens : as the server counts them; of ``prompt_tokens`` the server had kept ``cached_tokens`` from earlier requests
    uncounted : replies whose tokens the server did not tell
    lost_uncounted : of ``lost``, those whose tokens the server did not tell
    dearest : of all replies, the most tokens that one read, and that one wrote
    models : how many replies came from which model, by the name that the server gives
    """

    requests: int = 0
    replies: int = 0
    cached: int = 0
    refused: int = 0
    lost: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    cached_tokens: int = 0
    uncounted: int = 0
    lost_uncounted: int = 0
    dearest: tuple[int, int] = (0, 0)
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
        self.uncounted += reply.prompt_tokens is None or reply.completion_tokens is None
        self.dearest = (max(self.dearest[0], reply.prompt_tokens or 0), max(self.dearest[1], reply.completion_tokens or 0))
        self._take(reply)

    def lose(self, taken: Taken | None) -> None:
        """Count a departure that came to nothing, with the tokens that the server told."""
        self.lost += 1
        if taken is None:
            self.lost_uncounted += 1
        else:
            self._take(taken)

    def _take(self, taken: Taken) -> None:
        for name in ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens"):
            setattr(self, name, getattr(self, name) + (getattr(taken, name) or 0))

    def cost(self, prices: Prices | None) -> float | None:
        """What it cost, as far as the server told; None without prices."""
        return None if prices is None else prices.cost(self.prompt_tokens, self.completion_tokens, self.cached_tokens)

    def cost_at_most(self, prices: Prices | None) -> float | None:
        """What it cost if everything that was lost had to be paid for like the dearest reply; None without prices."""
        return None if prices is None else (self.cost(prices) or 0.0) + self.lost_uncounted * prices.cost(*self.dearest)


class Account:
    """The running account of one agent in one session, and the limits that it was given.

    A client :meth:`holds <hold>` what a request may take before it leaves, and tells of it what becomes of it.

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
        #: what is under way
        self.under_way: set[Held] = set()
        #: told once when replies come from another model than in earlier parts of the session
        self.warn: Callable[[str], None] = lambda sentence: None
        self._care = care
        self._clock = clock
        self._models: frozenset[str] = frozenset()
        self._beside: Account | None = None
        self._began: float | None = None
        self._here = 0
        self._size = Expected()
        # by reply, when it was foreseen: tokens read and written
        self._foreseen = (0.0, 0.0)
        # what was lost or never counted seems to have taken
        self._unknown = _Sum()

    @property
    def size(self) -> Expected:
        """How many tokens requests are going to take."""
        return self._size

    def foresee(self, requests: int, prompt_tokens: int, completion_tokens: int) -> None:
        """What the whole session is expected to take (see :mod:`.estimate`): for the time that is left, and for limits until the first reply has come."""
        self.expected = requests
        self._foreseen = (prompt_tokens / max(1, requests), completion_tokens / max(1, requests))

    def carry(self, earlier: Totals) -> None:
        """Go on from what earlier parts of the session took: limits hold for the session as a whole."""
        self.totals = earlier
        self._models = frozenset(earlier.models)
        self._size.most_written = max(self._size.most_written, earlier.dearest[1])
        for _ in range(earlier.lost_uncounted + earlier.uncounted):
            self._unknown += self._worth(*earlier.dearest)

    def share(self, other: Account) -> None:
        """Have the limits hold for what this and another account say together."""
        self._beside, other._beside = other, self

    def hold(self, characters: int, at_most: int | None = None) -> Held:
        """What a request may take is held from now on, as soon as it is let in.

        Parameters
        ----------
        characters : of the conversation
        at_most : so many tokens are written at most, where the request says so
        """
        return Held(self, characters, at_most)

    def found(self, reply: Reply) -> None:
        """A reply came from the cache; nothing left."""
        self._begin()
        self.take(reply)

    @property
    def all_under_way(self) -> list[Held]:
        """What is under way here, and in the account that shares the limits."""
        return [*self.under_way, *(() if self._beside is None else self._beside.under_way)]

    @property
    def limited(self) -> bool:
        """Whether there is a limit of cost or tokens."""
        return self._care.max_cost is not None or self._care.max_tokens_in_all is not None

    def take(self, reply: Reply) -> None:
        """Count a reply."""
        if self._models and reply.served_model and reply.served_model not in self._models:
            before = ", ".join(sorted(self._models))
            self.warn(
                f"WARNING: so far the replies of this session came from {before}, and now {reply.served_model} answers at the same address. "
                "The session goes on; its account says how many replies came from which model, and the record which answer"
            )
            self._models = frozenset()
        self.totals.add(reply)
        self._here += 1

    def _begin(self) -> None:
        if self._began is None:
            self._began = self._clock()

    def _worth(self, prompt: float, completion: float) -> _Sum:
        """What so many tokens are worth."""
        cost = 0.0 if self.prices is None else self.prices.cost(math.ceil(prompt), math.ceil(completion))
        return _Sum(cost, prompt + completion)

    def _spent(self) -> _Sum:
        """What was spent, with what is not known reckoned in."""
        own = _Sum(self.totals.cost(self.prices) or 0.0, self.totals.tokens) + self._unknown
        beside = self._beside
        return own if beside is None else own + _Sum(beside.totals.cost(beside.prices) or 0.0, beside.totals.tokens) + beside._unknown

    def coming(self, characters: int, at_most: int | None, surely: bool) -> _Sum:
        """What a request is going to take: as the longest so far, or (``surely``) with room for a longer one, since the others that leave with it could be."""
        if not self._size.replies:
            return self._worth(max(self._foreseen[0], characters / CHARACTERS_PER_TOKEN), self._foreseen[1])
        return self._worth(*self._size.most(characters, at_most, surely))

    def beyond(self, more: _Sum) -> str:
        """Which limit would be passed by so much more, in a sentence; empty when none would."""
        limit, most = self._care.max_cost, self._care.max_tokens_in_all
        spent = self._spent()
        lost = self.totals.lost
        reckoned = f" (with {lost:,} {'request' if lost == 1 else 'requests'} that came to nothing and may have been paid for)" if lost else ""
        if limit is not None and self.prices is not None and spent.cost + more.cost > limit:
            return (
                f"--max-cost {limit:g} is reached: {money(spent.cost)} was spent{reckoned}, and one more request could go beyond it; "
                "give a higher --max-cost to go on"
            )
        if most is not None and spent.tokens + more.tokens > most:
            return (
                f"--max-tokens {most} is reached: {round(spent.tokens):,} tokens were taken{reckoned}, and one more request could go beyond it; "
                "give a higher --max-tokens to go on"
            )
        return ""

    def exhausted(self, characters: int = 0, at_most: int | None = None) -> str:
        """Why no further request may leave, in a sentence; empty as long as one may, alone."""
        if not self.limited:
            return ""
        if self.totals.uncounted and not self._size.replies and not self.totals.tokens:
            return "the server does not tell how many tokens it took, so a limit of cost or tokens cannot be kept; leave out --max-cost and --max-tokens"
        return self.beyond(self.coming(characters, at_most, surely=False))

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
            parts.append(f"{totals.faults.total():,} faults")
        parts.append(f"{len(self.under_way)} under way")
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


class Held:
    """What one departure of a request may take: held from the moment when it is let in until it is known what it took."""

    def __init__(self, account: Account, characters: int, at_most: int | None) -> None:
        self._account, self._characters, self._at_most = account, characters, at_most
        #: why it may not leave, although it was let in
        self.refusal = ""
        #: whether it has left
        self.left = False

    def reserve(self, alone: bool) -> bool:
        """Whether it may go in beside what is under way; what it may take is held then. One that is ``alone`` always may, and is told ``refusal``.

        Of the first request nothing is known but an estimate, so with a limit it goes alone. Later ones go together, no more than twice as many as there were
        replies, as long as all of them, with room for longer replies than any so far, are within the limit; beyond that one after the other. So a limit is
        passed by no more than one request.
        """
        account = self._account
        if account.limited and alone:
            self.refusal = account.exhausted(self._characters, self._at_most)
        elif account.limited:
            under_way = [held.coming() for held in account.all_under_way]
            if len(account.under_way) >= 2 * account.size.replies or account.beyond(sum([*under_way, self.coming()], _Sum())):
                return False
        account.under_way.add(self)
        return True

    def coming(self) -> _Sum:
        """What it is going to take, with room for more."""
        return self._account.coming(self._characters, self._at_most, surely=True)

    def release(self) -> None:
        """It is known what became of it."""
        self._account.under_way.discard(self)

    def leaves(self) -> None:
        """It leaves; again, when a server has sent it elsewhere."""
        if self.left:
            self._lose(None)
        self._account._begin()
        self._account.totals.requests += 1
        self.left = True

    def arrives(self, reply: Reply) -> None:
        """Its reply is there."""
        account = self._account
        account.take(reply)
        if reply.prompt_tokens is not None and reply.completion_tokens is not None:
            account._size.learn(self._characters, reply.prompt_tokens, reply.completion_tokens)
        else:
            account._unknown += account.coming(self._characters, self._at_most, surely=False)

    def fails(self, fault: Fault | None) -> None:
        """It comes to nothing; without a fault, since nobody waits for it any more."""
        totals = self._account.totals
        if fault is not None:
            totals.faults[fault.word] += 1
        if not self.left:
            return
        if fault is None or fault.begun:
            self._lose(None if fault is None else fault.taken)
        else:
            totals.refused += 1

    def _lose(self, taken: Taken | None) -> None:
        account = self._account
        account.totals.lose(taken)
        if taken is None:
            account._unknown += account.coming(self._characters, self._at_most, surely=False)


@dataclass(frozen=True, slots=True)
class _Sum:
    """A cost and a number of tokens."""

    cost: float = 0.0
    tokens: float = 0.0

    def __add__(self, other: _Sum) -> _Sum:
        return _Sum(self.cost + other.cost, self.tokens + other.tokens)


def summary(totals: Totals, prices: Prices | None) -> dict[str, Any]:
    """Totals for a record: fit for JSON."""
    counted = ("requests", "replies", "cached", "refused", "prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens")
    return {
        **{name: getattr(totals, name) for name in counted},
        "without_token_counts": totals.uncounted,
        "retries": dict(sorted(totals.faults.items())),
        "paid_twice_at_most": totals.lost,
        "models": dict(sorted(totals.models.items())),
        "cost": totals.cost(prices),
        "cost_at_most": totals.cost_at_most(prices),
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
        parts.append(f"faults on the way: {by_fault}")
    twice = account.get("paid_twice_at_most")
    if twice:
        reckoned = account.get("cost_at_most")
        cost = f" (then it cost {money(reckoned)})" if reckoned is not None and reckoned > (account["cost"] or 0) else ""
        requests = f"{twice:,} {'request' if twice == 1 else 'requests'}"
        parts.append(f"at most {requests} paid for in vain: too late, cut off, unreadable, or in flight at an end{cost}")
    if account.get("judge"):
        judge = account["judge"]
        parts.append(f"the judge {judge['name']}: {told({**judge, 'judge': None})}")
    if len(account.get("models", ())) > 1:
        parts.append("replies came from " + ", ".join(f"{model} ({count:,})" for model, count in account["models"].items()))
    if account.get("trials_failed"):
        failed = account["trials_failed"]
        reasons = "; ".join(f"{count:,} since {why}" for why, count in account["failed"].items())
        parts.append(f"{failed:,} {'trial' if failed == 1 else 'trials'} could not be had ({reasons})")
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
