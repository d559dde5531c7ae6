"""The running account of a chat session: counted from the replies themselves, with the limits that
it was given."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..messages import Reply, Taken
from ..transport.faults import Fault
from ..transport.request_limits import RequestLimits
from .expected import CHARACTERS_PER_TOKEN, Expected
from .totals import Prices, Totals, duration, money, short, summary


class _Pace:
    """The pace at which replies come.

    Parameters
    ----------
    clock : seconds from any origin
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._began: float | None = None
        self._replies = 0

    def begin(self) -> None:
        """Note that a request leaves: the first one begins the time."""
        if self._began is None:
            self._began = self._clock()

    def count(self) -> None:
        """Note that a reply has come."""
        self._replies += 1

    def seconds_for(self, replies: int) -> float | None:
        """Seconds that so many further replies take at this pace; None while there is none."""
        if self._began is None or not self._replies:
            return None
        return max(0.0, replies * (self._clock() - self._began) / self._replies)


class Account:
    """The running account of one agent in one session, and the limits that it was given.

    A client :meth:`holds <hold>` what a request may take before it leaves, and tells of it what
    becomes of it.

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
        self.under_way: set[Held] = set()
        #: told once when replies come from another model than in earlier parts of the session
        self.warn: Callable[[str], None] = lambda sentence: None
        #: told whenever the account that shares the limits has something less under way
        self.freed: Callable[[], None] = lambda: None
        self._request_limits = request_limits
        self.pace = _Pace(clock)
        self._models: frozenset[str] = frozenset()
        self._beside: Account | None = None
        #: expectation of the tokens of the next requests
        self.size = Expected()
        # by reply, when it was foreseen: tokens read and written
        self._foreseen = (0.0, 0.0)
        # what was lost or never counted seems to have taken
        self._unknown = _Sum()

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
        self._beside, other._beside = other, self

    def hold(self, characters: int, at_most: int | None = None, batched: bool = False) -> Held:
        """Wait until a request is let in, and hold what it may take from then on.

        Parameters
        ----------
        characters : of the conversation
        at_most : so many tokens are written at most, where the request says so
        batched : whether it goes in a batch, at the price of batches
        """
        return Held(self, characters, at_most, batched)

    def sum_of(self, held: Sequence[Held]) -> tuple[float | None, float]:
        """Return what some requests are going to cost together (None without prices), and how many
        tokens they are going to have, with room for more."""
        together = sum((one.coming() for one in held), _Sum())
        return None if self.prices is None else together.cost, together.tokens

    def hold_batch(self, wanting: Sequence[Held], most: int) -> int:
        """Return how many of some requests, from the first on, may go in one batch; what they may
        take is held then.

        With a limit the first batch is one request, of which nothing is known but an estimate.
        Later ones hold as many as are surely within the limit, since all of a batch is under way at
        once.

        Parameters
        ----------
        most : in one batch
        """
        count = min(len(wanting), most)
        if self.limited:
            others = sum((held.coming() for held in self.all_under_way), _Sum())
            fitting, together = 0, others
            for held in wanting[: count if self.size.replies else 1]:
                together += held.coming()
                if self.beyond(together):
                    break
                fitting += 1
            count = fitting
        for held in wanting[:count]:
            self.under_way.add(held)
        return count

    def note_cached(self, reply: Reply) -> None:
        """A reply came from the cache; nothing left."""
        self.pace.begin()
        self.count(reply)

    @property
    def all_under_way(self) -> list[Held]:
        """Everything that is under way here, and in the account that shares the limits."""
        return [*self.under_way, *(() if self._beside is None else self._beside.under_way)]

    @property
    def limited(self) -> bool:
        """True if there is a limit of cost or tokens."""
        return self._request_limits.max_cost is not None or self._request_limits.max_tokens_in_all is not None

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
        self.pace.count()

    def _worth(self, prompt: float, completion: float) -> _Sum:
        """Return the worth of so many tokens."""
        cost = 0.0 if self.prices is None else self.prices.cost(math.ceil(prompt), math.ceil(completion))
        return _Sum(cost, prompt + completion)

    def _spent(self) -> _Sum:
        """The sum that was spent, with what is not known reckoned in."""
        own = _Sum(self.totals.cost(self.prices) or 0.0, self.totals.tokens) + self._unknown
        beside = self._beside
        return (
            own
            if beside is None
            else own + _Sum(beside.totals.cost(beside.prices) or 0.0, beside.totals.tokens) + beside._unknown
        )

    def coming(self, characters: int, at_most: int | None, surely: bool) -> _Sum:
        """Return what a request is going to take: as the longest so far, or (``surely``) with room
        for a longer one, since the others that leave with it could be."""
        if not self.size.replies:
            return self._worth(max(self._foreseen[0], characters / CHARACTERS_PER_TOKEN), self._foreseen[1])
        return self._worth(*self.size.most(characters, at_most, surely))

    def beyond(self, more: _Sum) -> str:
        """Name the limit that so much more would pass, in a sentence; empty when none would."""
        limit, most = self._request_limits.max_cost, self._request_limits.max_tokens_in_all
        spent = self._spent()
        lost = self.totals.lost
        reckoned = (
            f" (with {lost:,} {'request' if lost == 1 else 'requests'} that led to nothing and may have been paid for)"
            if lost
            else ""
        )
        if limit is not None and self.prices is not None and spent.cost + more.cost > limit:
            return (
                f"--max-cost {limit:g} is reached: {money(spent.cost)} was spent{reckoned}, and one more request could"
                " exceed it; give a higher --max-cost to continue"
            )
        if most is not None and spent.tokens + more.tokens > most:
            return (
                f"--max-tokens {most} is reached: {round(spent.tokens):,} tokens were taken{reckoned}, and one more"
                " request could exceed it; give a higher --max-tokens to continue"
            )
        return ""

    def exhausted(self, characters: int = 0, at_most: int | None = None) -> str:
        """Why no further request may leave, in a sentence; empty as long as one may, alone."""
        return self._refusal(self.coming(characters, at_most, surely=False))

    def _refusal(self, more: _Sum) -> str:
        if not self.limited:
            return ""
        if self.totals.uncounted and not self.size.replies and not self.totals.tokens:
            return (
                "the server does not report how many tokens it used, so a limit of cost or tokens cannot be kept; leave"
                " out --max-cost and --max-tokens"
            )
        return self.beyond(more)

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
        if not self.expected:
            return None
        return self.pace.seconds_for(self.expected - self.totals.replies - self.totals.cached)

    def summary(self) -> dict[str, Any]:
        """The account for the record."""
        return summary(self.totals, self.prices)


class Held:
    """The most that one departure of a request may take: held from the moment when it is let in
    until it is known what it took."""

    def __init__(self, account: Account, characters: int, at_most: int | None, batched: bool = False) -> None:
        self._account, self._characters, self._at_most = account, characters, at_most
        self._share = account.prices.batch_share if batched and account.prices is not None else 1.0
        #: why it may not leave, although it was let in
        self.refusal = ""
        #: whether it has left
        self.left = False

    def reserve(self, alone: bool) -> bool:
        """Let it in, if it may go beside what is under way; what it may take is held then. One that
        is ``alone`` always may, and is told ``refusal``.

        Of the first request nothing is known but an estimate, so with a limit it goes alone. Later
        ones go together, no more than twice as many as there were replies, as long as all of them,
        with room for longer replies than any so far, are within the limit; beyond that one after
        the other, those of an account that shares the limit among them. So a limit is passed by no
        more than one request.
        """
        account = self._account
        under_way = account.all_under_way
        if account.limited and alone and not under_way:
            self.refusal = account.exhausted(self._characters, self._at_most)
        elif account.limited:
            untried = not alone and len(account.under_way) >= 2 * account.size.replies
            if untried or account.beyond(sum([*(held.coming() for held in under_way), self.coming()], _Sum())):
                return False
        account.under_way.add(self)
        return True

    def coming(self) -> _Sum:
        """The sum that it is going to take, with room for more."""
        return self._worth(surely=True)

    def _worth(self, surely: bool) -> _Sum:
        found = self._account.coming(self._characters, self._at_most, surely)
        return _Sum(found.cost * self._share, found.tokens)

    def refused_alone(self) -> str:
        """Why it may not leave although nothing else is under way, in a sentence; for a request
        that no batch may hold."""
        return self._account._refusal(self.coming())

    def release(self) -> None:
        """It is known what became of it."""
        self._account.under_way.discard(self)
        if self._account._beside is not None:
            self._account._beside.freed()

    def leaves(self) -> None:
        """It leaves; again, when a server has sent it elsewhere."""
        if self.left:
            self._lose(None)
        self._account.pace.begin()
        self._account.totals.requests += 1
        self.left = True

    def arrives(self, reply: Reply) -> None:
        """Its reply is there."""
        account = self._account
        account.count(reply)
        if reply.prompt_tokens is not None and reply.completion_tokens is not None:
            account.size.learn(self._characters, reply.prompt_tokens, reply.completion_tokens)
        else:
            account._unknown += self._worth(surely=False)

    def fails(self, fault: Fault | None, in_doubt: bool = False) -> None:
        """It comes to nothing; without a fault, since nobody waits for it any more. ``in_doubt``:
        it may not have reached the server."""
        totals = self._account.totals
        if fault is not None:
            totals.faults[fault.word] += 1
        if not self.left:
            return
        if fault is None or fault.begun:
            self._lose(None if fault is None else fault.taken, in_doubt)
        else:
            totals.refused += 1

    def _lose(self, taken: Taken | None, in_doubt: bool = False) -> None:
        account = self._account
        account.totals.lose(taken, in_doubt)
        if taken is None:
            account._unknown += self._worth(surely=False)


@dataclass(frozen=True, slots=True)
class _Sum:
    """A cost and a number of tokens."""

    cost: float = 0.0
    tokens: float = 0.0

    def __add__(self, other: _Sum) -> _Sum:
        return _Sum(self.cost + other.cost, self.tokens + other.tokens)
