"""Plays the steps of one trial at the window: every display for its frames, every press to the step
in which it happened."""

from __future__ import annotations

import ctypes
import gc
import math
import sys
import time
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from ...paradigms import Percept, Prompt, ResponseKind, Verdict
from ...paradigms.trial import Display
from ...stimuli.kinds.plain import Tone
from ..base import Response, Shown
from ..interruptions import TrialCut
from .display.frames import CLOCK_JUMP
from .display.surface import ACKNOWLEDGE
from .input.answering import UNKNOWN, AnswerSheet, Press
from .input.steps import StepAccount, time_of
from .pages.between_trials import pause
from .sounding import FIRST_AHEAD, Sounding
from .stage import OnScreen, Stage
from .triggers.marker import Marker

#: Seconds that a press needs at most to reach the program, as a rule (measured: 0.3 ms); so long
#: after a window has closed, presses in it are still waited for.
DELIVERY = 0.002
#: Seconds for which, after the last trial, presses are still waited for that come too late for a
#: question that nobody has answered.
LATE = 0.5


class Player:
    """One trial at the window.

    Parameters
    ----------
    stage : the open window
    language : of the window's own words
    kinds : the response kinds of the trial
    guard_ms : how long before a refresh the next frame is drawn
    prompts : what its questions ask in words
    questionnaire : whether the trial tests no memory: a pause then cuts nothing off, and answers
        that have a key have a button, too
    """

    def __init__(
        self,
        stage: Stage,
        language: str,
        kinds: Sequence[ResponseKind],
        guard_ms: float,
        prompts: Sequence[Prompt] = (),
        questionnaire: bool = False,
    ) -> None:
        self.stage = stage
        self._questionnaire = questionnaire
        self.language = language
        self._guard = guard_ms / 1000.0
        self._asked = self._place = 0
        self._asked_in = ""
        #: sends trigger codes, where there is a port for them
        self.marker: Marker | None = None
        self._step: StepAccount | None = None
        self._earlier: StepAccount | None = None
        self._coming: Percept | None = None
        self._last = False
        self._cleared: float | None = None
        self._begun: StepAccount | None = None
        #: whether anything of the trial but fixation and empty screens has been seen
        self._item_seen = False
        self._sounding = Sounding(stage)
        #: takes what is pressed after the trial and came too late for it, fit for JSON
        self.note_late: Callable[[list[dict[str, Any]]], None] | None = None
        stage.surface.prepare(kinds, language, prompts, questionnaire)

    def prepare(self, displays: Sequence[Display]) -> None:
        """Upload every display that may come. Collects garbage too, so that it is not done between
        frames."""
        self.stage.renderer.prepare(display.stimulus for display in displays)
        gc.collect()

    def announce_next(self, percept: Percept | None, last: bool = False) -> None:
        """Announce the step after the one that is played next, where it does not depend on the
        answer, or that this one is the ``last``. The change (to the next step's first display, or
        to an empty screen) is then made on the very frame on which it is due, before the step
        returns.

        Where it is not known what comes, and nobody has answered when the frame has to be drawn on
        which the window closes, the display stays for one refresh more: an answer in the window
        counts, and decides what comes.
        """
        self._coming, self._last = percept, last

    @property
    def shown(self) -> list[Shown]:
        """The displays of the last step. The end of its last display is the planned one until that
        display has been replaced; the list is then completed in place."""
        return self._step.shown if self._step is not None else []

    @property
    def onset(self) -> float:
        """Time at which the last step came on, in seconds on PsychoPy's clock."""
        return self._step.onset if self._step is not None else 0.0

    @property
    def notes(self) -> dict[str, Any]:
        """Whatever else happened in the last step, fit for JSON; completed in place until the next
        step has begun."""
        return self._step.notes if self._step is not None else {}

    # -- one step ----------------------------------------------------------------------------------

    def play(self, percept: Percept) -> Response | None:
        """Take one step; a Response exactly when there is a question.

        Raises
        ------
        Abandoned
            when the participant leaves.
        TrialCut
            when the participant has paused after the first item of the trial was seen.
        """
        gc.disable()
        try:
            step = self._begin(percept)
            for index, display in enumerate(percept.displays):
                if index:
                    self._change(step, index)
                self._hold(step, display)
                if step.over:
                    break
            self._acknowledge(step)
            self.stage.presses.ended_by = step.ending
            self._end(step)
        finally:
            gc.enable()
            if self.marker is not None:
                self.marker.record()
        return step.sheet and step.sheet.response(step.notes)

    def _account(self, percept: Percept) -> StepAccount:
        """The account of a step that is about to come on.

        The self-paced questions of a phase are numbered, so that two that look alike can be told
        apart; others follow the clock and have no number.
        """
        ask, stage = percept.ask, self.stage
        sheet = None
        if ask is not None:
            self._asked = self._asked + 1 if self._asked_in == percept.phase else 1
            if ask.window_ms is not None:
                self._asked = 0
            self._asked_in = percept.phase
            sheet = AnswerSheet(ask, 0.0, stage.surface.with_buttons(ask.kind) if self._questionnaire else None)
        self._place += 1
        return StepAccount(
            percept, 0.0, sheet, stage.refractory, stage.presses.ended_by, number=self._asked, place=self._place
        )

    def _begin(self, percept: Percept) -> StepAccount:
        stage, earlier = self.stage, self._step
        if self._begun is None:
            stage.presses.collect()
            self._await_sound(percept.displays[0])
            step = self._account(percept)
            self._bring_on(step)
        else:
            step, self._begun = self._begun, None
            if step.percept != percept:
                raise ValueError("the step that came is not the one that was announced")
        self._step, self._earlier = step, earlier
        step.notes["monotonic_s"] = round(time.monotonic(), 4)
        if any(isinstance(display.stimulus, Tone) for display in percept.displays):
            step.notes["tone"] = stage.renderer.tones
        for press in stage.presses.aside:
            step.notes.setdefault("before_trial", []).append(press.record(step.onset))
        stage.presses.aside, stage.presses.afterwards = [], None
        self._item_seen = self._item_seen or percept.model_step
        if earlier is not None:
            self._note_focus(earlier, step.onset)
        if stage.rested is not None:
            step.notes["interval_ms"] = round((step.onset - stage.rested) * 1000.0, 3)
            stage.rested = None
        jump = stage.clock.jump()
        if abs(jump) > CLOCK_JUMP * 1000:
            step.notes["clock_jump_ms"] = round(jump, 1)
        self._invite(step, percept.displays[0], step.onset)
        return step

    def _invite(self, step: StepAccount, display: Display, at: float) -> None:
        """The window waits for somebody from now on, where it does."""
        sheet = step.sheet
        self.stage.pointer(sheet is not None and (sheet.surface.clickable or sheet.written))
        self.stage.surface.write_in(sheet)
        if sheet is not None:
            self.stage.tell("answer", at)
        elif display.ms is None:
            self.stage.tell("go on", at)

    def _bring_on(self, step: StepAccount) -> float:
        """The change to the first display of a step, with the code that goes out within that flip."""
        if self.marker is not None:
            within = self.marker.arm(step.percept.phase, step.place)
            if within is not None:
                self.stage.window.on_flip(within)
        step.onset = self._put_on(step, 0)
        if step.sheet is not None:
            step.sheet.onset = step.onset
        if self.marker is not None:
            self.marker.landed(step.onset)
        return step.onset

    def _put_on(self, step: StepAccount, index: int) -> float:
        """Bring a display of a step on the screen, and return when it came."""
        stage, display = self.stage, step.percept.displays[index]
        ms = time_of(step.percept, index)
        planned = None if ms is None else stage.window.grid.frames(ms)
        on = OnScreen(display, ms, planned, 0.0, 0.0, step.shown, index)
        at = stage.replace(on, lambda: self._draw(step, display, first=True))
        note = self._sounding.came(at)
        if note is not None:
            note["display"] = index + 1
            step.notes.setdefault("sounds", []).append(note)
        return at

    def _await_sound(self, first: Display) -> None:
        """Before a trial: schedule the sound of its first display, and wait until that is due."""
        grid = self.stage.window.grid
        if self.stage.on is not None or not self._sounding.to_schedule(first):
            return
        at = max(grid.due, self.stage.window.now()) + grid.frames(FIRST_AHEAD * 1000) * grid.period
        self._sounding.foresee(first, at)
        while grid.due < at - grid.period / 2:
            self.stage.guard(self._guard)
            self.stage.flip(lambda: None)
        self.stage.guard(self._guard)

    def _change(self, step: StepAccount, index: int) -> None:
        """From one display of the step to the next."""
        step.next_display()
        at = self._put_on(step, index)
        if step.sheet is None and step.percept.displays[index].ms is None:
            self.stage.tell("go on", at)

    def _refreshes(self, step: StepAccount, on: OnScreen) -> int | None:
        """For how many refreshes a display stays; None where that is up to the participant."""
        ask, planned = step.percept.ask, on.planned_frames
        if ask is None or on.index + 1 < len(step.percept.displays):
            return planned
        if ask.window_ms is None:
            return None if ask.ends == "on_answer" else planned
        if planned is not None:
            return planned
        # a display before this one waited to be gone on from
        before = sum(shown.shown_frames for shown in step.shown[: on.index])
        return max(1, self.stage.window.grid.frames(ask.window_ms) - before)

    def _hold(self, step: StepAccount, display: Display) -> None:
        """Keep a display on the screen until the refresh at which it is to be replaced."""
        stage, on = self.stage, self.stage.on
        assert on is not None
        grid, refreshes = stage.window.grid, self._refreshes(step, on)
        following = step.percept.displays[on.index + 1 :] or (() if self._coming is None else self._coming.displays)
        while not (step.over or step.gone_on):
            final = refreshes is not None and on.refreshes + 1 >= refreshes
            self._sounding.look()
            if refreshes is not None and following:
                self._sounding.foresee(following[0], grid.due + (refreshes - on.refreshes - 1) * grid.period)
            if final and not step.waits:
                return
            if not final:
                stage.ready(lambda: self._draw(step, display), self._state(step, display))
            self._await_refresh(step)
            if final or step.over or step.gone_on:
                return
            self._again(step, display)

    def _await_refresh(self, step: StepAccount) -> None:
        """Wait until shortly before the next refresh; presses have their effect when they happen
        (their trigger codes do not wait for the frame), but for a pause, which waits."""

        def attend_at_once() -> None:
            if not any(press.escapes for press in self.stage.presses.waiting):
                self._attend(step)

        self.stage.guard(self._guard, attend_at_once)
        self._attend(step)

    def _acknowledge(self, step: StepAccount) -> None:
        """Let a self-paced answer be seen for a moment before the step ends. Nothing that has a
        published or declared time is lengthened."""
        ask, on = step.percept.ask, self.stage.on
        if step.over and ask is not None and ask.window_ms is None and on is not None:
            for _ in range(self.stage.window.grid.frames(ACKNOWLEDGE * 1000)):
                self._again(step, on.display)
                self._await_refresh(step)

    def _again(self, step: StepAccount, display: Display) -> None:
        """One more refresh of the same display; drawn now where it was not drawn ahead."""
        self.stage.ready(lambda: self._draw(step, display), self._state(step, display))
        self.stage.again()

    def _end(self, step: StepAccount) -> None:
        on = self.stage.on
        assert on is not None
        if self._coming is not None:
            percept, self._coming = self._coming, None
            self._begun = self._account(percept)
            self._settle(step, self._bring_on(self._begun))
        elif self._last:
            self._cleared = self.stage.clear()
            self._sounding.silence()
            self._settle(step, self._cleared)
        else:
            self._wait_for_window(step, on.display)
            # Not known yet what comes: account for it until the next refresh, and correct this when
            # the change has been made.
            on.put(self.stage.window.grid.due, on.refreshes + 1)

    def _settle(self, step: StepAccount, at: float) -> None:
        """The step has made way at ``at``: what was pressed before is still its own, and whatever
        is pressed as long as its window is open and unanswered."""
        until = at
        if step.open_until is not None:
            until = max(at, math.nextafter(step.open_until, math.inf))
            end = min(
                until + DELIVERY, self.stage.window.now() + self.stage.window.grid.period
            )  # no clock that is set meanwhile holds this up
            while (left := end - self.stage.window.now()) > 0:
                self.stage.presses.collect()
                self.stage.window.sleep(min(left, 0.0005))
        self.stage.presses.collect()
        self._attend(step, until=until)

    def _wait_for_window(self, step: StepAccount, display: Display) -> None:
        """Keep the display for the refreshes that it takes until no answer can come any more, where
        the answer decides what comes."""
        waited = 0
        while (
            waited < 2
            and step.open_until is not None
            and self.stage.window.grid.due - self._guard < step.open_until + DELIVERY
        ):
            self._again(step, display)
            waited += 1
            self._await_refresh(step)
        if waited:
            step.notes["waited_frames"] = waited

    def judged(self, verdict: Verdict) -> None:
        """The answer to the last step was judged: for trigger codes alone."""
        if self.marker is not None and self._step is not None:
            self.marker.judged(verdict, self._step.place)

    def finish(self) -> None:
        """The trial is over: clear the screen, close the account of the last display, and tidy up."""
        self.stage.presses.collect()
        at, self._cleared = self._cleared, None
        if at is None:
            at = self.stage.clear()
            self._sounding.silence()
        self._close(at)
        if self.marker is not None:
            self.marker.end(at)
        tidy()

    def cut(self) -> None:
        """The trial is cut off: as :meth:`finish`, but without an end that others are told of."""
        self.stage.presses.forget()
        self._sounding.silence()
        self._close(self.stage.clear())
        if self.marker is not None:
            self.marker.record()
        tidy()

    def _close(self, at: float) -> None:
        """Close the account of the last step; the screen was cleared at ``at`` (s)."""
        last, self._step = self._step, None
        if last is None:
            return
        self._note_focus(last, at)
        self.stage.presses.collect()
        self._earlier = last
        for press in self.stage.presses.take():
            if press.escapes:
                self.stage.presses.waiting.append(press)  # who has pressed it waits for the pause
            elif press.time < at:
                self._belongs_earlier(press)
            else:
                self.stage.presses.aside.append(press)
        closed = (
            last.sheet.closes
            if last.sheet is not None and not last.sheet.complete and last.sheet.ask.late == "record"
            else None
        )
        self.stage.presses.late_until = None if closed is None else closed + LATE
        if (note := self.note_late) is not None:
            self.stage.presses.afterwards = lambda presses: note([press.record(last.onset) for press in presses])

    def _note_focus(self, step: StepAccount, until: float) -> None:
        """Note when the window had lost the focus within a step that lasted ``until`` (s)."""
        for lost, back in self.stage.focus.away(step.onset, until):
            away = {"at_ms": round((lost - step.onset) * 1000.0, 1), "for_ms": round((back - lost) * 1000.0, 1)}
            step.notes.setdefault("focus_lost", []).append(away)

    # -- presses -----------------------------------------------------------------------------------

    def _attend(self, step: StepAccount, until: float = math.inf) -> None:
        """Let presses have their effect: on this step, or on the one before where they happened
        before this one came on."""
        on = self.stage.on
        showing = on is not None and on.sink is step.shown
        for press in self.stage.presses.take():
            if press.time >= until or (press.escapes and until < math.inf):
                self.stage.presses.waiting.append(press)
            elif press.escapes:
                self._pause(step)
            elif press.time < step.onset:
                self._belongs_earlier(press)
            elif on is not None and showing:
                self._take(step, press, on.index, on.onset)
            else:
                self._take(step, press, len(step.percept.displays), step.onset)

    def _take(self, step: StepAccount, press: Press, display: int, onset: float) -> None:
        does = step.take(press, display, onset)
        if step.sheet is not None and does in ("answer", "mark") and self.marker is not None:
            value = step.sheet.presses[-1].get("value", UNKNOWN if does == "mark" else None)
            self.marker.answered(value, step.place, step.onset, press.time)

    def _belongs_earlier(self, press: Press) -> None:
        if self._earlier is not None:
            self._earlier.take_late(press)
        elif self._step is not None:
            self._step.notes.setdefault("before_trial", []).append(press.record(self._step.onset))

    def _pause(self, step: StepAccount) -> None:
        """Escape: ask whether to leave; otherwise show the display again as if the pause had not
        been. Who has seen an item, and is still to be asked, has had time to rehearse it: the trial
        is cut off then."""
        stage, began = self.stage, self.stage.window.now()
        on, stage.on = stage.on, None
        assert on is not None
        on.put(began, on.refreshes)
        self._sounding.silence()
        stage.surface.write_in(None)
        paused: dict[str, Any] = {"at_ms": round((began - step.onset) * 1000, 1), "for_ms": None}
        step.notes.setdefault("paused", []).append(paused)
        nothing_left = self._last and (step.sheet is None or step.sheet.complete)
        cut = not self._questionnaire and self._item_seen and not nothing_left
        pause(stage, self.language, replaces=cut)  # raises Abandoned
        if cut:
            paused["for_ms"] = round((stage.window.now() - began) * 1000, 1)
            raise TrialCut("paused")
        stage.on = on
        stage.flip(lambda: self._draw(step, on.display))
        stage.presses.forget()
        away = stage.window.now() - began
        paused["for_ms"] = round(away * 1000, 1)
        on.away += away
        if step.sheet is not None:
            step.sheet.paused += away
        self._invite(step, on.display, stage.window.now())

    # -- drawing -----------------------------------------------------------------------------------

    def _draw(self, step: StepAccount, display: Display, first: bool = False) -> None:
        """A display with what is asked; with its sound where this is its ``first`` frame."""
        stage = self.stage
        stage.renderer.draw(display.stimulus)
        if first:
            grid = stage.window.grid
            self._sounding.due(display, max(grid.due, stage.window.now()), grid.period / 2)
        if step.sheet is not None:
            stage.surface.draw(step.sheet, step.number, stage.presses.mouse.at, stage.window.now())
        elif display.ms is None:
            stage.surface.draw_hint()

    def _state(self, step: StepAccount, display: Display) -> Hashable:
        """Everything on which :meth:`_draw` depends."""
        surface = None
        if step.sheet is not None:
            surface = self.stage.surface.state(step.sheet, self.stage.presses.mouse.at, self.stage.window.now())
        return id(step), id(display), surface


#: by which the C library of Linux gives free memory back; other libraries have no such function
_trim: Any = getattr(ctypes.CDLL(None), "malloc_trim", bool) if sys.platform.startswith("linux") else bool


def tidy() -> None:
    """Collect garbage, and give what is free back to the system: pictures of many sizes come and
    go, and would leave ever more holes in the memory of a long session."""
    gc.collect()
    _trim(0)
