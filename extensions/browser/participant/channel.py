"""The line between a session on the server and the page of its participant: commands go out, events
come in, and each event counts once.

A session runs in a thread and waits here for its page; the server hands over what arrives. A page
keeps every event until it is acknowledged. It is acknowledged when the session has come back for
the next thing, since what it was told before is on the disk by then; that a page was read, of which
nothing is recorded, at once.
"""

# pyright: strict, reportImplicitOverride=true
from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from spanlab.agents import TrialCut
from spanlab.core import SpanLabError

#: takes a message for the page
Send = Callable[[Mapping[str, Any]], None]
#: a page tells so many events of one trial or page at most, and so many that were acknowledged are
#: known when they come again
_MOST_PENDING, _MOST_NAMES = 2_000, 20_000
#: so many cuts of the line are remembered
_MOST_CUTS = 1_000
#: the type of the last message to a connection whose page has opened another one
REPLACED = "replaced"
#: the kind of event that a page of text was read: nothing of it is recorded
READ = "done"
#: why a trial cannot count any more of which the page was loaded anew
RELOADED = "reloaded"
#: seconds between two rounds of a server that has little to do; after how many it is late; and for
#: how many sessions let pages go first, at most
BEAT_S, _LATE_S, _PAGES_FIRST_S = 0.03, 0.1, 5.0
#: seconds between two looks at whether the page is still there
_LOOK_S = 1.0


class TooMuchError(SpanLabError):
    """A page sends more than any page of ours would."""


class PageGone(SpanLabError):  # noqa: N818 - named as what happened
    """The page was closed, or the server stops: the session ends here, and can be resumed with the
    same link."""


class PageIdle(PageGone):
    """Nothing has happened at the page for too long."""


@dataclass(frozen=True, slots=True)
class PageEvent:
    """Event of a page.

    Parameters
    ----------
    name : of the event, which no other has: of the loaded page, and its number there
    epoch : of the session thread that it is for
    command : that it belongs to
    kind : such as ``step``, ``done`` or ``choice``
    place : number of the step that it is about; -1 for none
    body : everything else
    """

    name: str
    epoch: str
    command: int
    kind: str
    place: int
    body: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        """The event in a form fit for JSON."""
        return {
            "event": self.name,
            "command": self.command,
            "kind": self.kind,
            "place": self.place,
            "body": dict(self.body),
        }


class Turns:
    """Turns to work: a few sessions of a server work at the same time, one of them at most begins,
    and none while pages wait for the server itself.

    Pages wait where somebody who has come sees nothing yet, and where the server is late to come
    round to its lines. Beginnings take long, so one turn is always left to sessions that come back
    with an answer, whose pages wait for its acknowledgement; and these go before sessions that
    prepare what comes next.

    Parameters
    ----------
    most : as many sessions work at the same time
    """

    def __init__(self, most: int) -> None:
        self._beginning = threading.Lock()
        self._changed = threading.Condition()
        self._free, self._arriving, self._answering = most, 0, 0
        self._beat: float | None = None

    def beat(self) -> None:
        """The server has come round to all its lines; it does so every :data:`BEAT_S` while it has
        little to do."""
        self._beat = time.monotonic()

    def arrive(self) -> None:
        """Somebody has come, and sees nothing yet."""
        with self._changed:
            self._arriving += 1

    def arrived(self) -> None:
        """Somebody who came has a first page."""
        with self._changed:
            self._arriving -= 1
            self._changed.notify_all()

    def acquire(self, begins: bool, answers: bool = True) -> None:
        """Wait for a turn.

        Parameters
        ----------
        begins : whether the session begins with it: then it waits for pages, too, a few seconds at
            most, since people may come all the time
        answers : whether it comes back with an answer
        """
        until = time.monotonic() + _PAGES_FIRST_S
        if begins:
            self._beginning.acquire()
            with self._changed:
                while time.monotonic() < until and (
                    self._arriving or (self._beat is not None and time.monotonic() - self._beat > _LATE_S)
                ):
                    self._changed.wait(_LATE_S)
        answers = answers and not begins
        with self._changed:
            self._answering += answers
            while not self._free or (self._answering and not answers):
                self._changed.wait(_LATE_S)
            self._answering -= answers
            self._free -= 1

    def release(self, began: bool) -> None:
        """Leave the turn to others.

        Parameters
        ----------
        began : whether the session began with it
        """
        with self._changed:
            self._free += 1
            self._changed.notify_all()
        if began:
            self._beginning.release()


class Turn:
    """A session's turn to work: all others wait for theirs, and keep nobody from an
    acknowledgement.

    Parameters
    ----------
    turns : of all sessions; None where they do not wait for one another
    """

    def __init__(self, turns: Turns | None = None) -> None:
        self._turns, self._taken, self._arriving = turns, False, False
        #: whether the session has begun, and whether it does so in the turn that it has
        self._begun = self._begins = False

    def arrive(self) -> None:
        """The participant has come, and sees nothing yet: others let the session go first until it
        waits for its page."""
        if self._turns is not None:
            self._arriving = True
            self._turns.arrive()

    @contextmanager
    def idle(self) -> Generator[None]:
        """The session waits, and others work meanwhile."""
        self.end()
        try:
            yield
        finally:
            if self._turns is not None:
                self._begins = not self._begun
                self._turns.acquire(self._begins)
                self._taken = self._begun = True

    def step_back(self) -> None:
        """Let sessions that come back with an answer go first."""
        if self._turns is not None and self._taken:
            self.end()
            self._turns.acquire(False, answers=False)
            self._begins, self._taken = False, True

    def end(self) -> None:
        """The session does not work any more, or not for now."""
        if self._turns is None:
            return
        if self._arriving:
            self._arriving = False
            self._turns.arrived()
        if self._taken:
            self._taken = False
            self._turns.release(self._begins)


class Channel:
    """The line to one page.

    Parameters
    ----------
    epoch : names this session thread; events for an earlier one belong to a trial that does not
        count any more
    keep : keeps an event that comes too late to count; it is on the disk when this returns, or
        false comes back, and :meth:`acknowledge` is called later
    patience_s : for how long a session waits for a page that is gone
    idle_s : for how long it waits for a page that is there and tells nothing; None for ever
    clock : the server's own clock (s), by which events are stamped when they arrive
    turns : what :class:`Turn` takes; the session has its first turn when its first page was read
    """

    def __init__(
        self,
        epoch: str,
        keep: Callable[[PageEvent], bool | None],
        patience_s: float = 600.0,
        idle_s: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        turns: Turns | None = None,
    ) -> None:
        self.epoch = epoch
        self.turn = Turn(turns)
        self.clock = clock
        #: when the event that was waited for last arrived
        self.heard_at = 0.0
        self._arrived: dict[str, float] = {}
        #: when the line was cut, and when it was back
        self._cuts: deque[tuple[float, float]] = deque(maxlen=_MOST_CUTS)
        self._cut_since: float | None = None
        self._keep, self._patience = keep, patience_s
        self._changed = threading.Condition()
        self._count = 0
        #: the commands that a page has to know now: one, and what was added to it
        self._open: list[dict[str, Any]] = []
        self._events: dict[tuple[int, str, int], PageEvent] = {}
        #: events by their names, until they are acknowledged; and the names of those that are
        self._pending: dict[str, PageEvent] = {}
        self._acknowledged: OrderedDict[str, None] = OrderedDict()
        self._send: Send | None = None
        self._instance = ""
        self._since = self._told_at = time.monotonic()
        self._idle = idle_s
        self._begun = False
        #: whether the page has ever done what it was told to do
        self.acted = False
        self._cut = self._closed = ""

    # -- the side of the session -------------------------------------------------------------------

    def command(self, what: str, content: Mapping[str, Any]) -> int:
        """Have the page do something else than before; what it has told until now is on the disk,
        and acknowledged. Returns the number of the command."""
        with self._changed:
            self._acknowledge(list(self._pending))
            self._clear()
            return self._add(what, content)

    def again(self, what: str, content: Mapping[str, Any]) -> int:
        """Have a page that was loaded anew do the rest of what it did. What it has told of it is
        not acknowledged yet: it may not be on the disk.

        Returns
        -------
        the number of the command
        """
        with self._changed:
            self._clear()
            return self._add(what, content)

    def on_disk(self) -> None:
        """Acknowledge what the page has told until now: all of it is on the disk. What the session does next takes
        longer, and waits for others."""
        with self._changed:
            self._acknowledge(list(self._pending))
        self.turn.step_back()

    def hold(self, title: str, text: str) -> None:
        """Show a text and nothing else, and acknowledge nothing: what the page has told is not on
        the disk."""
        with self._changed:
            self._clear()
            self._count += 1
            self._open.append(
                {"type": "refused", "c": self._count, "what": "hold", "title": title, "texts": [text], "final": False}
            )
            self._tell(self._open[0])

    def pause(self, seconds: float) -> None:
        """Wait for a while.

        Raises
        ------
        PageGone
            when the page has been away for too long, or the server stops.
        """
        until = time.monotonic() + seconds
        with self.turn.idle(), self._changed:
            while (left := until - time.monotonic()) > 0:
                self._check_present()
                self._changed.wait(min(left, _LOOK_S))

    def set_aside(self) -> None:
        """Keep what the page has told and no session has come to record, and acknowledge it.

        Raises
        ------
        SpanLabError
            when it cannot be written; what was not kept is not acknowledged.
        """
        with self._changed:
            pending = list(self._pending.values())
        for event in pending:
            self._keep(event)
            with self._changed:
                self._acknowledge([event.name])

    def _clear(self) -> None:
        self._open.clear()
        self._events.clear()
        self._arrived.clear()
        self._begun = False
        self._cut = ""

    def add(self, what: str, content: Mapping[str, Any], begins: bool = False) -> int:
        """Say something more about the command that the page carries out.

        Parameters
        ----------
        begins : whether the participant sees something from here on that cannot be shown again
        """
        with self._changed:
            self._begun = self._begun or begins
            return self._add(what, content)

    def _add(self, what: str, content: Mapping[str, Any]) -> int:
        self._count += 1
        message = {"type": "do", "c": self._count, "what": what, **content}
        self._open.append(message)
        self._tell(message)
        return self._count

    def wait(self, command: int, kind: str, place: int = -1) -> Mapping[str, Any]:
        """Wait for an event of a command.

        Raises
        ------
        TrialCut
            when the trial under way cannot count any more: the page was loaded anew, or was hidden.
        PageGone
            when the page has been away for too long, or the server stops.
        """
        with self.turn.idle(), self._changed:
            while True:
                if (event := self._events.pop((command, kind, place), None)) is not None:
                    self.heard_at = self._arrived[event.name]
                    if kind == READ:
                        self._acknowledge([event.name])
                    return event.body
                if (leave := self._events.get((command, "leave", -1))) is not None:
                    raise PageGone(str(leave.body.get("why") or "the participant left the session"))
                if (cut := self._events.get((command, "cut", -1))) is not None:
                    raise TrialCut(str(cut.body.get("why")))
                if self._cut:
                    raise TrialCut(self._cut)
                self._check_present()
                self._changed.wait(_LOOK_S)

    def _check_present(self) -> None:
        if self._closed:
            raise PageGone(self._closed)
        if self._send is None and time.monotonic() - self._since > self._patience:
            raise PageGone("the page was closed")
        if self._idle is not None and time.monotonic() - self._told_at > self._idle:
            raise PageIdle(f"nothing has happened at the page for {self._idle / 60:g} minutes")

    def cut_body(self, command: int) -> Mapping[str, Any] | None:
        """The page's report on the step in which it cut a trial off; None where the page has not
        cut it."""
        with self._changed:
            cut = self._events.get((command, "cut", -1))
            return None if cut is None else cut.body

    def cut_for(self, since: float) -> float:
        """For how long (s) the line was cut between a moment of the clock and now."""
        with self._changed:
            now = self.clock()
            under_way = [] if self._cut_since is None else [(self._cut_since, now)]
            return sum(max(0.0, end - max(begin, since)) for begin, end in (*self._cuts, *under_way))

    # -- the side of the server --------------------------------------------------------------------

    @property
    def in_use(self) -> bool:
        """True if a page is connected."""
        return self._send is not None

    @property
    def doing(self) -> tuple[str, str]:
        """The last command to the page, and the title that it shows; empty before the first
        command."""
        with self._changed:
            first = self._open[0] if self._open else {}
            return str(first.get("what", "")), str(first.get("title", ""))

    def belongs_to(self, instance: str) -> bool:
        """Return True if this loaded page is the one that was connected last."""
        return self._instance == instance

    def attach(self, send: Send, instance: str, last: int) -> None:
        """Connect a page, and tell it what it does not know.

        Parameters
        ----------
        send : takes messages for the page
        instance : names the page as it was loaded: another one has forgotten the trial that was on
            the screen
        last : the number of the last command that the page knows
        """
        with self._changed:
            anew = instance != self._instance
            if self._send is not None and self._send is not send:
                self._send({"type": REPLACED})
            if self._cut_since is not None:
                self._cuts.append((self._cut_since, self.clock()))
                self._cut_since = None
            self._send, self._instance = send, instance
            if anew and self._begun:
                self._cut, self._begun = RELOADED, False
                self._open.clear()
            for message in self._open:
                if anew or message["c"] > last:
                    self._tell(message)
            self._changed.notify_all()

    def detach(self, send: Send) -> None:
        """The connection of a page has ended."""
        with self._changed:
            if self._send is send:
                self._send, self._since = None, time.monotonic()
                self._cut_since = self.clock()

    def take(self, event: PageEvent) -> None:
        """Take an event of the page. One that was taken before does nothing; one that comes too
        late to count is kept beside the record."""
        if not self.hear(event):
            self.keep(event)

    def hear(self, event: PageEvent) -> bool:
        """Take an event of the page, without the disk. False where it comes too late to count, and
        is to be kept (:meth:`keep`)."""
        with self._changed:
            self._told_at = time.monotonic()
            if event.name in self._acknowledged:
                self._acknowledge([event.name])
                return True
            if event.name in self._pending:
                return True
            if event.epoch == self.epoch and any(event.command == message["c"] for message in self._open):
                if len(self._pending) >= _MOST_PENDING:
                    raise TooMuchError("a page has reported more than one trial can contain")
                self._pending[event.name] = event
                self.acted = True
                self._arrived[event.name] = self.clock()
                self._events.setdefault((event.command, event.kind, event.place), event)
                self._changed.notify_all()
                return True
        return False

    def keep(self, event: PageEvent) -> None:
        """Keep an event that comes too late to count, beside the record."""
        if self._keep(event) is not False:
            self.acknowledge(event)

    def acknowledge(self, event: PageEvent) -> None:
        """Tell the page that an event which comes too late to count is kept."""
        with self._changed:
            self._acknowledge([event.name])

    def close(self, why: str) -> None:
        """End the wait of the session."""
        with self._changed:
            self._closed = why
            self._changed.notify_all()

    def _acknowledge(self, names: list[str]) -> None:
        for name in names:
            self._pending.pop(name, None)
            self._acknowledged[name] = None
        while len(self._acknowledged) > _MOST_NAMES:
            self._acknowledged.popitem(last=False)
        if names:
            self._tell({"type": "ack", "n": names})

    def _tell(self, message: Mapping[str, Any]) -> None:
        if self._send is not None:
            self._send(message)
