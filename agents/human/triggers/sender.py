"""The line to the recorder: one code at a time, each for the width of its pulse."""

from __future__ import annotations

import statistics
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ....core.errors import SpanLabError
from .ports import Address, Port, PortLost, open_port

#: Seconds for which the line rests between two codes that need not come at once.
REST = 0.001


@dataclass(slots=True)
class Sending:
    """One code, and what became of it. Times are those of ``time.perf_counter``.

    Attributes
    ----------
    at : when the port had taken it; None as long as it waits, and when it was lost
    stamp : the time that went along with it, where the port has such a time (LSL)
    over : the code whose pulse it cut short, and for how long that had stood (s)
    lost : whether the port did not take it
    """

    code: int
    not_before: float = 0.0
    at: float | None = None
    stamp: float | None = None
    over: tuple[int, float] | None = None
    lost: bool = False

    @property
    def settled(self) -> bool:
        """True if the code has been sent or lost."""
        return self.at is not None or self.lost


@dataclass(slots=True)
class CodeCounts:
    """Counts of codes for the record.

    Attributes
    ----------
    sent, unsent : codes that the port has taken, and those that it has not
    cut : pulses that the next code cut short
    longest : the longest pulse (s)
    delays : ms from flips to the codes that belong to them
    """

    sent: int = 0
    unsent: int = 0
    cut: int = 0
    longest: float = 0.0
    delays: list[float] = field(default_factory=list)


class TriggerSender:
    """An open port with the thread that ends pulses and sends what had to wait.

    Parameters
    ----------
    address : the port, and how it is to be used
    say : told, in a sentence, when the port dies

    Raises
    ------
    SpanLabError
        when the port cannot be opened, or does not take its test pulse.
    """

    def __init__(self, address: Address, say: Callable[[str], None]) -> None:
        self.address = address
        self._say = say
        self.port: Port = open_port(address)
        self._change = threading.Condition()
        self._waiting: deque[Sending] = deque()
        self._standing: Sending | None = None
        self._rests_until = 0.0
        self._open = True
        #: why the port takes no more codes; empty as long as it does
        self.lost = ""
        self._loss_reported = self._listened = False
        self.counts = CodeCounts()
        self._test()
        self._thread = threading.Thread(target=self._work, name="triggers", daemon=True)
        self._thread.start()

    def _test(self) -> None:
        """A pulse with the test code: it shows that the port takes codes, and to whoever watches
        the recorder that they arrive."""
        try:
            if self.address.test:
                self.port.write(self.address.test)
                self.port.check()
                if self._pulse:
                    time.sleep(self._pulse)
                    self.port.write(0)
            self.port.check()
        except PortLost as error:
            self.port.close()
            raise SpanLabError(
                f"the {self.port.name} does not take trigger codes ({error}), so nothing was begun; repair it, or"
                " rehearse with --triggers dry"
            ) from None

    @property
    def _pulse(self) -> float:
        """Seconds for which a code stands on the line; 0 where the port has no pulses."""
        return self.address.pulse_ms / 1000.0 if self.port.pulses else 0.0

    # -- sending -----------------------------------------------------------------------------------

    def at_once(self, sending: Sending) -> None:
        """Send a code now, whatever stands on the line."""
        with self._change:
            self._put(sending)
            if self._pulse:
                self._change.notify_all()

    def soon(self, sending: Sending) -> None:
        """Send a code as soon as the line is free: now, when it is."""
        with self._change:
            now = time.perf_counter()
            if self._idle and now >= max(self._rests_until, sending.not_before):
                self._put(sending)
            else:
                self._waiting.append(sending)
            self._change.notify_all()

    def settle(self, most: float = 0.2) -> None:
        """Wait until nothing stands on the line and nothing waits for it, at most for so many
        seconds, or the pulses of a trial's last codes."""
        with self._change:
            self._change.wait_for(lambda: self._idle, max(most, 4 * self._pulse))

    @property
    def _idle(self) -> bool:
        return self._standing is None and not self._waiting

    def _put(self, sending: Sending) -> None:
        if self.lost:
            sending.lost = True
            self.counts.unsent += 1
            return
        before, self._standing = self._standing, None
        try:
            sending.stamp = self.port.write(sending.code)
        except PortLost as error:
            self.lost, sending.lost = str(error), True
            self.counts.unsent += 1
            return
        sending.at = time.perf_counter()
        self.counts.sent += 1
        if before is not None and before.at is not None:
            self.counts.cut += 1
            sending.over = before.code, sending.at - before.at
        if self._pulse:
            self._standing = sending

    # -- the thread --------------------------------------------------------------------------------

    def _work(self) -> None:
        with self._change:
            while self._open:
                self._change.wait(self._due())

    def _due(self) -> float | None:
        """Do what is due, and tell in how many seconds there is more to do; None when nothing is
        foreseen."""
        while True:
            now = time.perf_counter()
            if self._standing is not None:
                ends = (self._standing.at or now) + self._pulse
                if now < ends:
                    return ends - now
                self._rest(self._standing)
            elif self._waiting:
                left = max(self._rests_until, self._waiting[0].not_before) - now
                if left > 0:
                    return left
                self._put(self._waiting.popleft())
            else:
                self._change.notify_all()
                return None

    def _rest(self, standing: Sending) -> None:
        self._standing = None
        try:
            self.port.write(0)
        except PortLost as error:
            self.lost = self.lost or str(error)
        now = time.perf_counter()
        self._rests_until = now + REST
        if standing.at is not None:
            self.counts.longest = max(self.counts.longest, now - standing.at)

    # -- the port ----------------------------------------------------------------------------------

    def tell(self) -> None:
        """Report once that the port has failed. Never called from the thread."""
        if self.lost and not self._loss_reported:
            self._loss_reported = True
            self._say(
                f"The {self.port.name} takes no more trigger codes ({self.lost}). The session stops when this trial is"
                " over, at the latest."
            )

    def need(self) -> None:
        """Check that the port has taken every code, by what is known without asking it.

        Raises
        ------
        SpanLabError
            when it has not.
        """
        if self.lost:
            self.tell()
            raise SpanLabError(
                f"the {self.port.name} takes no more trigger codes ({self.lost}), so the session stops here; repair it"
                " before you continue"
            )

    def over(self) -> None:
        """Report that the port has failed after the last trial, when there is nothing left to stop."""
        self.settle()
        self._look()
        if self.lost:
            self._loss_reported = True
            sent, unsent = self.counts.sent, self.counts.unsent
            missing = f"{unsent} of {sent + unsent} codes did not go out" if unsent else "all codes had gone out before"
            self._say(
                f"The {self.port.name} takes no more trigger codes ({self.lost}): {missing}. All trials are finished;"
                " the record says which codes were sent."
            )

    def _look(self) -> None:
        """Ask the port whether it is still there."""
        with self._change:
            if not self.lost:
                try:
                    self.port.check()
                except PortLost as error:
                    self.lost = str(error)

    def listen(self) -> None:
        """Report once if nobody receives the codes of the trial that begins."""
        if not self._listened and not self.port.heard:
            self._say(f"Nobody records the {self.port.name}: the trial begins, and its trigger codes go nowhere.")
        self._listened = True

    def check(self) -> None:
        """Check that the port is still there.

        Raises
        ------
        SpanLabError
            when it is not.
        """
        self._look()
        self.need()

    def facts(self) -> dict[str, Any]:
        """The port and how many codes were sent, cut or lost, fit for JSON. ``delay_ms``: from the
        time of a flip to the moment at which the port had taken its code."""
        address, counts = self.address, self.counts
        pulses = (
            {"pulse_ms": address.pulse_ms, "longest_pulse_ms": round(counts.longest * 1000, 3), "cut_short": counts.cut}
            if self._pulse
            else {}
        )
        delays = (
            {"median": round(statistics.median(counts.delays), 3), "longest": round(max(counts.delays), 3)}
            if counts.delays
            else {}
        )
        return {
            "port": self.port.name,
            "kind": address.kind,
            **self.port.facts(),
            **pulses,
            "test_code": address.test,
            "lost": self.lost,
            "sent": counts.sent,
            "not_sent": counts.unsent,
            "delay_ms": delays,
        }

    def close(self) -> None:
        """Send what waits, put the line to rest, and let go of the port."""
        self.settle()
        with self._change:
            self._open = False
            self._change.notify_all()
        self._thread.join(2)
        if not self.lost and self._pulse:
            with suppress(PortLost):
                self.port.write(0)
        self.port.close()
