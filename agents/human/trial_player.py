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

from ...paradigms import Ask, Display, Percept, Prompt, ResponseKind, Verdict
from ...paradigms.responses.keys import is_button
from ...stimuli.kinds.plain import Tone
from ..base import Response, Shown
from ..interruptions import TrialCut
from .display.session_clock import CLOCK_JUMP
from .display.surface import ACKNOWLEDGE
from .input.answering import AnswerSheet, Press
from .input.refractory import TOO_SOON
from .pages.between_trials import pause
from .sounding import FIRST_AHEAD, Sounding
from .stage import OnScreen, Stage
from .step_account import StepAccount, time_of
from .triggers.marker import Marker

#: Seconds that a press needs at most to reach the program, as a rule (measured: 0.3 ms); so long
#: after a window has closed, presses in it are still waited for.
DELIVERY = 0.002
#: Seconds for which, after the last trial, presses are still waited for that come too late for a
#: question that nobody has answered.
LATE = 0.5
#: Seconds within which nobody goes on to the next display on purpose: a second click of a double
#: click is not taken for it.
GO_ON_AFTER = 0.2


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
        self._begun: OnScreen | None = None
        #: what is known of the sound of the display that has come on last
        self._sound_note: dict[str, Any] | None = None
        #: whether anything of the trial but fixation and empty screens has been seen
        self._item_seen = False
        self._sounding = Sounding(
            stage.speaker, stage.window.now, stage.clock.ms, lambda: stage.renderer.rings, stage.renderer.no_sound
        )
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
                self._hold(step, display, last=index == len(percept.displays) - 1)
                if step.over:
                    break
            self._acknowledge(step)
            if step.sheet is not None and step.over:
                step.ended_by = step.sheet.answered_by
            self.stage.presses.ended_by = step.ended_by if step.over or step.gone_on else None
            self._end(step)
        finally:
            gc.enable()
            if self.marker is not None:
                self.marker.record()
        return self._response(step)

    def _count(self, percept: Percept, ask: Ask) -> None:
        """Number the self-paced questions of a phase, so that two that look alike can be told
        apart; others follow the clock and have no number."""
        if ask.window_ms is not None:
            self._asked = 0
        elif self._asked_in == percept.phase:
            self._asked += 1
        else:
            self._asked = 1
        self._asked_in = percept.phase

    def _begin(self, percept: Percept) -> StepAccount:
        earlier, shown = self._step, []
        if percept.ask is not None:
            self._count(percept, percept.ask)
        self._place += 1
        first = percept.displays[0]
        if self._begun is not None:
            on, self._begun = self._begun, None
            if on.display != first:
                raise ValueError("the display that came is not the one that was announced")
            on.sink, on.index = shown, 0
        else:
            self.stage.presses.collect()
            self._await_sound(first)
            on = self._account(percept, 0, shown)
            self._bring_on(percept, self._place, on, lambda: self._draw_first(percept))
        sheet = self._sheet(percept.ask, on.onset) if percept.ask is not None else None
        self._step = step = StepAccount(
            percept,
            on.onset,
            sheet,
            shown,
            {"monotonic_s": round(time.monotonic(), 4)},
            self._asked,
            self._place,
            before=self.stage.presses.ended_by,
        )
        if any(isinstance(display.stimulus, Tone) for display in percept.displays):
            step.notes["tone"] = self.stage.renderer.tones
        self._note_sound(step, 0)
        for press in self.stage.presses.aside:
            step.notes.setdefault("before_trial", []).append(press.record(step.onset))
        self.stage.presses.aside, self.stage.presses.afterwards = [], None
        self._item_seen = self._item_seen or percept.model_step
        if earlier is not None:
            self._note_focus(earlier, on.onset)
        if self.stage.rested is not None:
            step.notes["interval_ms"] = round((on.onset - self.stage.rested) * 1000.0, 3)
            self.stage.rested = None
        jump = self.stage.clock.jump()
        if abs(jump) > CLOCK_JUMP * 1000:
            step.notes["clock_jump_ms"] = round(jump, 1)
        self._earlier = earlier
        self.stage.pointer(sheet is not None and sheet.surface.clickable)
        if sheet is not None:
            self.stage.tell("answer", on.onset)
        elif first.ms is None:
            self.stage.tell("go on", on.onset)
        return step

    def _sheet(self, ask: Ask, onset: float) -> AnswerSheet:
        return AnswerSheet(ask, onset, self.stage.surface.with_buttons(ask.kind) if self._questionnaire else None)

    def _bring_on(self, percept: Percept, place: int, on: OnScreen, draw: Callable[[], None]) -> float:
        """The change to the first display of a step, with the code that goes out within that flip."""
        within = self.marker.arm(percept.phase, place) if self.marker is not None else None
        if within is not None:
            self.stage.window.on_flip(within)
        at = self.stage.replace(on, draw)
        self._sound_note = self._sounding.came(at)
        if self.marker is not None:
            self.marker.landed(at)
        return at

    def _await_sound(self, first: Display) -> None:
        """Before a trial: schedule the sound of its first display, and wait until that is due."""
        grid = self.stage.window.grid
        if self.stage.on is not None or not self._sounding.to_schedule(first):
            return
        refreshes = grid.frames(FIRST_AHEAD * 1000)
        at = max(grid.due, self.stage.window.now()) + refreshes * grid.period
        self._sounding.foresee(first, at)
        while grid.due < at - grid.period / 2:
            self.stage.guard(self._guard)
            self.stage.flip(self.stage.backdrop)
        self.stage.guard(self._guard)

    def _note_sound(self, step: StepAccount, index: int) -> None:
        """Put what is known of the sound of a display on the record of its step."""
        if self._sound_note is not None:
            self._sound_note["display"] = index + 1
            step.notes.setdefault("sounds", []).append(self._sound_note)
            self._sound_note = None

    def _account(self, percept: Percept, index: int, sink: list[Shown]) -> OnScreen:
        ms = time_of(percept, index)
        planned = None if ms is None else self.stage.window.grid.frames(ms)
        marked = self.stage.patch is not None and self.stage.patch.patch.marks(percept.phase)
        return OnScreen(percept.displays[index], ms, planned, 0.0, 0.0, sink, index, marked=marked)

    def _change(self, step: StepAccount, index: int) -> None:
        """From one display of the step to the next."""
        display = step.percept.displays[index]
        step.ended_by = step.ended_by if step.gone_on else None
        step.gone_on = False
        at = self.stage.replace(
            self._account(step.percept, index, step.shown), lambda: self._draw(step, display, first=True)
        )
        self._sound_note = self._sounding.came(at)
        self._note_sound(step, index)
        if step.sheet is None and display.ms is None:
            self.stage.tell("go on", at)

    def _hold(self, step: StepAccount, display: Display, last: bool) -> None:
        """Keep a display on the screen until the refresh at which it is to be replaced."""
        stage, on = self.stage, self.stage.on
        assert on is not None
        refreshes = on.planned_frames
        window = step.percept.ask.window_ms if step.percept.ask is not None else None
        if last and step.sheet is not None:
            if window is None:
                refreshes = (
                    None
                    if refreshes is None or step.percept.ask is None or step.percept.ask.ends == "on_answer"
                    else refreshes
                )
            elif refreshes is None:  # a display before this one waited to be gone on from
                before = sum(shown.shown_frames for shown in step.shown[: on.index])
                refreshes = max(1, stage.window.grid.frames(window) - before)
        coming = (
            step.percept.displays[on.index + 1]
            if not last
            else None
            if self._coming is None
            else self._coming.displays[0]
        )
        while not (step.over or step.gone_on):
            final = refreshes is not None and on.refreshes + 1 >= refreshes
            self._sounding.look()
            if refreshes is not None and coming is not None:
                self._sounding.foresee(
                    coming, stage.window.grid.due + (refreshes - on.refreshes - 1) * stage.window.grid.period
                )
            if final and not step.waits:
                return
            if not final:
                stage.ready(lambda: self._draw(step, display), self._state(step, display))
            stage.guard(self._guard, lambda: self._attend_at_once(step))
            self._attend(step)
            if final or step.over or step.gone_on:
                return
            self._again(step, display)

    def _acknowledge(self, step: StepAccount) -> None:
        """Let a self-paced answer be seen for a moment before the step ends. Nothing that has a
        published or declared time is lengthened."""
        if (
            step.over
            and step.percept.ask is not None
            and step.percept.ask.window_ms is None
            and self.stage.on is not None
        ):
            display = self.stage.on.display
            for _ in range(self.stage.window.grid.frames(ACKNOWLEDGE * 1000)):
                self._again(step, display)
                self.stage.guard(self._guard, lambda: self._attend_at_once(step))
                self._attend(step)

    def _again(self, step: StepAccount, display: Display) -> None:
        """One more refresh of the same display; drawn now where it was not drawn ahead."""
        self.stage.ready(lambda: self._draw(step, display), self._state(step, display))
        self.stage.again()

    def _end(self, step: StepAccount) -> None:
        on = self.stage.on
        assert on is not None
        if self._coming is not None:
            percept, self._coming = self._coming, None
            display = percept.displays[0]
            self._begun = self._account(percept, 0, [])
            at = self._bring_on(percept, self._place + 1, self._begun, lambda: self._draw_display(display))
            self._settle(step, at)
        elif self._last:
            self._cleared = self.stage.replace(None, self.stage.backdrop)
            self._sounding.silence()
            self._settle(step, self._cleared)
        else:
            self._wait_for_window(step, on.display)
            # Not known yet what comes: account for it until the next refresh, and correct this when
            # the change has been made.
            grid = self.stage.window.grid
            on.put(grid.due, on.refreshes + 1)

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
            self.stage.guard(self._guard, lambda: self._attend_at_once(step))
            self._attend(step)
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
            at = self.stage.replace(None, self.stage.backdrop)
            self._sounding.silence()
        self._close(at)
        if self.marker is not None:
            self.marker.end(at)
        gc.enable()
        tidy()

    def cut(self) -> None:
        """The trial is cut off: as :meth:`finish`, but without an end that others are told of."""
        self.stage.presses.forget()
        self._sounding.silence()
        self._close(self.stage.replace(None, self.stage.backdrop))
        if self.marker is not None:
            self.marker.record()
        gc.enable()
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

    def _attend(self, step: StepAccount, until: float = float("inf")) -> None:
        """Let presses have their effect: on this step, or on the one before where they happened
        before this one came on."""
        for press in self.stage.presses.take():
            if press.time >= until or (press.escapes and until < math.inf):
                self.stage.presses.waiting.append(press)
            elif press.escapes:
                self._pause(step)
            elif press.time < step.onset:
                self._belongs_earlier(press)
            elif step.sheet is not None:
                if (
                    step.sheet.closes is None
                    and not step.sheet.complete
                    and self.stage.refractory.holds_off(press, step.before, step.onset)
                ):
                    step.sheet.refuse(press, TOO_SOON)
                    continue
                effect = step.sheet.take(press)
                if effect == "late":
                    step.notes.update(step.sheet.notes())
                elif effect in ("answer", "mark") and self.marker is not None:
                    value = step.sheet.presses[-1].get("value")
                    self.marker.answered(value, step.place, step.onset, press.time)
            else:
                step.notes.setdefault("presses", []).append(
                    {**press.record(step.onset), "does": self._go_on(step, press)}
                )

    def _attend_at_once(self, step: StepAccount) -> None:
        """While the next refresh is waited for, presses have their effect when they happen (their
        trigger codes do not wait for the frame); a pause waits."""
        if not any(press.escapes for press in self.stage.presses.waiting):
            self._attend(step)

    def _go_on(self, step: StepAccount, press: Press) -> str:
        on = self.stage.on
        if (
            on is None
            or on.display.ms is not None
            or not (press.device == "click" or press.key == "space" or is_button(press.key))
        ):
            return "nothing"
        before = step.before if on.index == 0 else step.ended_by
        if press.time - on.onset < GO_ON_AFTER or self.stage.refractory.holds_off(press, before, on.onset):
            return TOO_SOON
        step.gone_on, step.ended_by = True, press
        return "go on"

    def _belongs_earlier(self, press: Press) -> None:
        earlier = self._earlier
        if earlier is None:
            if self._step is not None:
                self._step.notes.setdefault("before_trial", []).append(press.record(self._step.onset))
            return
        ask = earlier.percept.ask
        if ask is None:
            earlier.notes.setdefault("presses", []).append({**press.record(earlier.onset), "does": "nothing"})
        elif earlier.open_until is not None and press.time <= earlier.open_until:
            # The machine passed it on only after the answer had been taken: never silently.
            earlier.notes.setdefault("passed_on_too_late", []).append(press.record(earlier.onset))
        elif ask.late == "record":
            earlier.notes.setdefault("late", []).append(press.record(earlier.onset))

    def _pause(self, step: StepAccount) -> None:
        """Escape: ask whether to leave; otherwise show the display again as if the pause had not
        been. Who has seen an item, and is still to be asked, has had time to rehearse it: the trial
        is cut off then."""
        stage, began = self.stage, self.stage.window.now()
        on, stage.on = stage.on, None
        assert on is not None
        on.put(began, on.refreshes)
        self._sounding.silence()
        paused: dict[str, Any] = {"at_ms": round((began - step.onset) * 1000, 1), "for_ms": None}
        step.notes.setdefault("paused", []).append(paused)
        nothing_left = self._last and (step.sheet is None or step.sheet.complete)
        cut = not self._questionnaire and self._item_seen and not nothing_left
        pause(stage, self.language, replaces=cut)  # raises Abandoned
        if cut:
            paused["for_ms"] = round((stage.window.now() - began) * 1000, 1)
            raise TrialCut("paused")
        stage.on = on
        display = on.display
        stage.flip(lambda: self._draw(step, display))
        stage.presses.forget()
        away = stage.window.now() - began
        paused["for_ms"] = round(away * 1000, 1)
        on.away += away
        stage.pointer(step.sheet is not None and step.sheet.surface.clickable)
        if step.sheet is not None:
            step.sheet.paused += away
            stage.tell("answer", stage.window.now())
        elif display.ms is None:
            stage.tell("go on", stage.window.now())

    # -- drawing -----------------------------------------------------------------------------------

    def _draw_display(self, display: Display) -> None:
        self.stage.renderer.draw(display.stimulus)
        grid = self.stage.window.grid
        self._sounding.due(display, max(grid.due, self.stage.window.now()), grid.period / 2)

    def _draw_first(self, percept: Percept) -> None:
        """The first frame of a step, whose account has not begun yet."""
        self._draw_display(percept.displays[0])
        if percept.ask is not None:
            self.stage.surface.draw(self._sheet(percept.ask, 0.0), self._asked, self.stage.presses.mouse.at, 0.0)
        elif percept.displays[0].ms is None:
            self.stage.surface.draw_hint()

    def _draw(self, step: StepAccount, display: Display, first: bool = False) -> None:
        if first:
            self._draw_display(display)
        else:
            self.stage.renderer.draw(display.stimulus)
        if step.sheet is not None:
            self.stage.surface.draw(step.sheet, step.number, self.stage.presses.mouse.at, self.stage.window.now())
        elif display.ms is None:
            self.stage.surface.draw_hint()

    def _state(self, step: StepAccount, display: Display) -> Hashable:
        """Everything on which :meth:`_draw` depends."""
        surface = (
            None
            if step.sheet is None
            else self.stage.surface.state(step.sheet, self.stage.presses.mouse.at, self.stage.window.now())
        )
        return id(step), id(display), surface

    # -- the answer --------------------------------------------------------------------------------

    def _response(self, step: StepAccount) -> Response | None:
        return None if step.sheet is None or step.percept.ask is None else step.sheet.response(step.notes)


def _trimmer() -> Any:
    """Return the function by which the C library of Linux gives free memory back; nothing on other
    systems, and with other libraries."""
    if not sys.platform.startswith("linux"):
        return lambda _: 0
    return getattr(ctypes.CDLL(None), "malloc_trim", lambda _: 0)


_trim = _trimmer()


def tidy() -> None:
    """Collect garbage, and give what is free back to the system: pictures of many sizes come and
    go, and would leave ever more holes in the memory of a long session."""
    gc.collect()
    _trim(0)
