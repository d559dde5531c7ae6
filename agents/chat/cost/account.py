"""The running account of a chat session: counted from the replies themselves, with the limits that
it was given."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from ..messages import Part, Picture, Reply, Request, Taken, Text
from ..transport.request_limits import RequestLimits
from .totals import Prices, Totals, duration, money, short

#: how many characters a token is taken to have, until the server has told, and a picture
CHARACTERS_PER_TOKEN = 4.0
CHARACTERS_PER_PICTURE = 4000
#: a conversation that grows is not made of the same words as its beginning, and a reply may be
#: longer than all before it: by so much after one reply, and by less with every further one
_READ_ROOM, _WRITTEN_ROOM = 1.0, 4.0


class Expected:
    """Record of what requests took so far.

    Attributes
    ----------
    replies : how many were counted
    most_written : tokens of the longest reply
    """

    def __init__(self) -> None:
        self.replies = 0
        self.most_written = 0
        self._characters = 0
        self._prompt = 0
        self._completion = 0
        self._densest = 0.0

    def learn(self, characters: int, prompt_tokens: int, completion_tokens: int) -> None:
        """Note what a request really took."""
        self.replies += 1
        self._characters += characters
        self._prompt += prompt_tokens
        self._completion += completion_tokens
        self._densest = max(self._densest, prompt_tokens / max(1, characters))
        self.most_written = max(self.most_written, completion_tokens)

    def tokens(self, characters: int) -> float:
        """About how many a request and its reply will have."""
        per_token = self._characters / self._prompt if self._prompt else CHARACTERS_PER_TOKEN
        return characters / per_token + (self._completion / self.replies if self.replies else 0.0)

    def most(self, characters: int, at_most: int | None = None, surely: bool = True) -> tuple[float, float]:
        """Return how many tokens may be read and written at most, as the longest so far; or
        ``surely``, with room for longer ones.

        Parameters
        ----------
        at_most : so many are written at most, where the request says so
        """
        read = characters * self._densest
        written = float(self.most_written)
        if surely:
            unseen = 1 / math.sqrt(max(1, self.replies))
            read, written = read * (1 + _READ_ROOM * unseen), written * (1 + _WRITTEN_ROOM * unseen)
        return read, written if at_most is None else min(written, at_most)


def characters(request: Request) -> int:
    """The length of a conversation, a picture counted as so many characters."""
    return sum(_characters(part) for message in request.messages for part in message.parts)


def _characters(part: Part) -> int:
    if isinstance(part, Text):
        return len(part.text)
    return CHARACTERS_PER_PICTURE * (1 if isinstance(part, Picture) else math.ceil(part.ms / 10_000))


class UnderWay(Protocol):
    """What is under way, and what it is going to take."""

    def coming(self) -> Sum: ...


class Account:
    """The running account of one agent in one session, and the limits that it was given.

    What a request may take is held before it leaves, until it is known what became of it.

    Parameters
    ----------
    request_limits : with the limits, if any
    prices : of the model, when they are known
    clock : seconds from any origin, for the time that is left
    """

    def __init__(
        self, request_limits: RequestLimits, prices: Prices | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.totals = Totals()
        self.prices = prices
        #: replies that the whole session is expected to take, when it was estimated
        self.expected: int | None = None
        #: what is under way
        self.under_way: set[UnderWay] = set()
        #: told once when replies come from another model than in earlier parts of the session
        self.warn: Callable[[str], None] = lambda sentence: None
        #: told whenever the account that shares the limits has something less under way
        self.freed: Callable[[], None] = lambda: None
        self._request_limits = request_limits
        self._clock = clock
        # when the first request left, and the replies since then
        self._began: float | None = None
        self._replies = 0
        self._models: frozenset[str] = frozenset()
        #: this account, and the one with which it shares the limits
        self._sharing: list[Account] = [self]
        #: expectation of the tokens of the next requests
        self.size = Expected()
        # by reply, when it was foreseen: tokens read and written
        self._foreseen = (0.0, 0.0)
        # what was lost or never counted seems to have taken
        self._unknown = Sum()

    def foresee(self, requests: int, prompt_tokens: int, completion_tokens: int) -> None:
        """Note what the whole session is expected to take (see :mod:`.estimate`): for the time that
        is left, and for limits until the first reply has come."""
        self.expected = requests
        self._foreseen = (prompt_tokens / max(1, requests), completion_tokens / max(1, requests))

    def carry(self, earlier: Totals) -> None:
        """Go on from what earlier parts of the session took: limits hold for the session as a
        whole."""
        self.totals = earlier
        self._models = frozenset(earlier.models)
        self.size.most_written = max(self.size.most_written, earlier.dearest[1])
        for _ in range(earlier.lost_uncounted + earlier.uncounted):
            self._unknown += self._worth(*earlier.dearest)

    def share(self, other: Account) -> None:
        """Have the limits hold for what this and another account say together."""
        self._sharing, other._sharing = [self, other], [other, self]

    def note_cached(self, reply: Reply) -> None:
        """A reply came from the cache; nothing left."""
        self._begin()
        self.count(reply)

    @property
    def all_under_way(self) -> list[UnderWay]:
        """Everything that is under way here, and in the account that shares the limits."""
        return [one for account in self._sharing for one in account.under_way]

    @property
    def limited(self) -> bool:
        """True if there is a limit of cost or tokens."""
        return self._request_limits.max_cost is not None or self._request_limits.max_tokens_in_all is not None

    def begins(self) -> None:
        """A request leaves."""
        self._begin()
        self.totals.requests += 1

    def _begin(self) -> None:
        """The first request begins the time."""
        if self._began is None:
            self._began = self._clock()

    def arrives(self, reply: Reply, characters: int, at_most: int | None) -> None:
        """Its reply is there."""
        self.count(reply)
        if reply.prompt_tokens is not None and reply.completion_tokens is not None:
            self.size.learn(characters, reply.prompt_tokens, reply.completion_at_most or reply.completion_tokens)
        else:
            self._unknown += self.coming(characters, at_most, surely=False)

    def lose(self, characters: int, at_most: int | None, taken: Taken | None, in_doubt: bool = False) -> None:
        """It has come to nothing, and may have to be paid for; ``in_doubt``: it may not have
        reached the server."""
        self.totals.lose(taken, in_doubt)
        if taken is None:
            self._unknown += self.coming(characters, at_most, surely=False)

    def release(self, one: UnderWay) -> None:
        """Nothing is held for it any more."""
        self.under_way.discard(one)
        for account in self._sharing[1:]:
            account.freed()

    def count(self, reply: Reply) -> None:
        """Count a reply."""
        if self._models and reply.served_model and reply.served_model not in self._models:
            before = ", ".join(sorted(self._models))
            self.warn(
                f"WARNING: so far the replies of this session came from {before}, and now {reply.served_model} answers"
                " at the same address. The session goes on; its account says how many replies came from which model,"
                " and the record which answer"
            )
            self._models = frozenset()
        self.totals.add(reply)
        self._replies += 1

    def _worth(self, prompt: float, completion: float) -> Sum:
        """Return the worth of so many tokens."""
        cost = 0.0 if self.prices is None else self.prices.cost(math.ceil(prompt), math.ceil(completion))
        return Sum(cost, prompt + completion)

    def _own(self) -> Sum:
        """The sum that this account has spent, with what is not known reckoned in."""
        totals = self.totals
        return (
            Sum(totals.cost(self.prices) or 0.0, totals.tokens) + self._worth(0, totals.doubtful_tokens) + self._unknown
        )

    def coming(self, characters: int, at_most: int | None, surely: bool) -> Sum:
        """Return what a request is going to take: as the longest so far, or (``surely``) with room
        for a longer one, since the others that leave with it could be."""
        if not self.size.replies:
            return self._worth(max(self._foreseen[0], characters / CHARACTERS_PER_TOKEN), self._foreseen[1])
        return self._worth(*self.size.most(characters, at_most, surely))

    def beyond(self, more: Sum) -> str:
        """Name the limit that so much more would pass, in a sentence; empty when none would."""
        limit, most = self._request_limits.max_cost, self._request_limits.max_tokens_in_all
        spent = sum((account._own() for account in self._sharing), Sum())
        lost = f"{self.totals.lost:,} request{'s' * (self.totals.lost != 1)}"
        reckoned = f" (with {lost} that led to nothing and may have been paid for)" if self.totals.lost else ""
        if limit is not None and self.prices is not None and spent.cost + more.cost > limit:
            return (
                f"max_cost {limit:g} is reached: {money(spent.cost)} was spent{reckoned}, and one more request could"
                " exceed it; give a higher max_cost to continue"
            )
        if most is not None and spent.tokens + more.tokens > most:
            return (
                f"max_tokens {most} is reached: {round(spent.tokens):,} tokens were taken{reckoned}, and one more"
                " request could exceed it; give a higher max_tokens to continue"
            )
        return ""

    def exhausted(self, characters: int = 0, at_most: int | None = None) -> str:
        """Why no further request may leave, in a sentence; empty as long as one may, alone."""
        if not self.limited:
            return ""
        counted = self.size.replies or (self.totals.prompt_tokens and self.totals.completion_tokens)
        if self.totals.uncounted and not counted:
            return (
                "the server does not report how many tokens it used, so a limit of cost or tokens cannot be kept; leave"
                " out max_cost and max_tokens"
            )
        return self.beyond(self.coming(characters, at_most, surely=False))

    def tally(self) -> str:
        """The state of the account in a few words, for the line that shows progress."""
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
        """Seconds that are left at the pace so far; None while there is none."""
        if not self.expected or self._began is None or not self._replies:
            return None
        left = self.expected - self.totals.replies - self.totals.cached
        return max(0.0, left * (self._clock() - self._began) / self._replies)


@dataclass(frozen=True, slots=True)
class Sum:
    """A cost and a number of tokens."""

    cost: float = 0.0
    tokens: float = 0.0

    def __add__(self, other: Sum) -> Sum:
        return Sum(self.cost + other.cost, self.tokens + other.tokens)
