"""The person at the window, as an agent."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, ClassVar

from typing_extensions import override

from ...core.agent_kinds import PARTICIPANT, AgentKind
from ...core.errors import SpanLabError
from ...core.json_values import where_given
from ...core.locale import sentence
from ...paradigms import AnswerKeys, Percept, ResponseKind, Truth, Verdict
from ...paradigms.responses.keys import key_label
from ...paradigms.translation import Words, translated_display
from ...paradigms.trial import Display
from ...paradigms.triggers import Triggers
from ...stimuli import Stimulus
from ...stimuli.render.fonts import use_font
from ..base import Response, Shown, TrialContext
from ..payments import Journal
from ..window import Option, PageContent, WindowAgent, WindowEpisode
from .display.frames import complaints
from .display.patch import read_patch
from .display.surface import ACKNOWLEDGE
from .input.buttons import Box, open_box, read_box, read_pulse
from .input.keymap import Keymap
from .input.steps import GO_ON_AFTER, USUAL, Refractory, time_of
from .pages import between_trials
from .sounding import check_sounds
from .stage import Stage
from .trial_player import Player
from .triggers.marker import Marker
from .triggers.ports import read_address
from .triggers.sender import TriggerSender
from .window_options import USUAL_WINDOW, WindowOptions


def _psychopy_now() -> float:
    from psychopy import clock

    return float(clock.getTime())


def _to_stderr(sentence: str) -> None:
    print(f"spanlab: {sentence}", file=sys.stderr)


class Participant(WindowAgent):
    """A person at a PsychoPy window. Nothing is opened, and PsychoPy is not imported, before
    :meth:`open` (or the first trial or page).

    PsychoPy has to run in the main thread of the process.

    Parameters
    ----------
    options : of the window, and of what belongs to it
    name : how the agent is called in the record
    say : told, in a sentence, what is not as a lab would want it; printed to stderr when not given
    """

    kind: ClassVar[AgentKind] = PARTICIPANT

    def __init__(
        self,
        options: WindowOptions = USUAL_WINDOW,
        *,
        name: str = "participant",
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.name = name
        self.window_options = options
        if options.font:
            try:
                use_font(Path(options.font))
            except ValueError as error:
                raise SpanLabError(str(error)) from None
        self._differences: list[str] = []
        self._patch = read_patch(options.patch) if options.patch else None
        self._port = read_address(options.triggers) if options.triggers else None
        self._sender: TriggerSender | None = None
        #: the button box as it was named
        self.buttons = options.buttons
        #: where button box and scanner are, and what was opened of them
        self._addresses = [read_box(options.buttons)] if options.buttons else []
        self._addresses += [read_pulse(options.scanner)] if options.scanner else []
        self._boxes: list[Box] = []
        self._say = say or _to_stderr
        self._stage: Stage | None = None
        self._language = "en"
        self._apparatus: dict[str, Any] = {}
        #: everything that was said about the apparatus
        self.shown_sentences: list[str] = []

    # -- the stage ---------------------------------------------------------------------------------

    @override
    def open(self) -> Stage:
        """Open the window, when it is not open yet.

        Raises
        ------
        SpanLabError
            when there is no display, PsychoPy is not installed, or the canvas does not fit.
        """
        if self._stage is None:
            options = self.window_options
            self._stage = Stage(
                options.place,
                options.canvas,
                options.keyboard,
                self._tell,
                self._patch,
                options.palette,
                self._refractory_times(),
            )
            self._stage.presses.boxes = self._heard()
            self._stage.presses.needs_focus = options.focus == "needed"
            if options.display is not None:
                self._differences = options.display.differences(self._stage.apparatus())
        return self._stage

    def _heard(self) -> list[Box]:
        """The boxes whose presses are read, until :meth:`pulses` are asked for."""
        return [box for address, box in zip(self._addresses, self._boxes, strict=False) if not address.pulses]

    def _refractory_times(self) -> Refractory:
        """The refractory times that are in force."""
        return USUAL

    @override
    def ready(self) -> None:
        """Open the port for trigger codes, the button box and the line to the scanner, when they are
        not open yet, and see that they are still there.

        Raises
        ------
        SpanLabError
            when the port does not take codes (and is needed), or there is no such box.
        """
        self._boxes += [open_box(address, _psychopy_now) for address in self._addresses[len(self._boxes) :]]
        if self._stage is not None and not self._stage.presses.boxes:
            self._stage.presses.boxes = self._heard()
        for box in self._boxes:
            box.check()
        if self._port is not None:
            self._sender = self._sender or TriggerSender(self._port, self._tell)
            self._sender.check()

    @override
    def check_displays(self, stimuli: Iterable[Stimulus]) -> None:
        check_sounds(stimuli)

    @override
    def check_questions(self, kinds: Sequence[ResponseKind]) -> None:
        """Check before a session that this keyboard has the keys of all questions.

        Parameters
        ----------
        kinds : questions with the keys of the session

        Raises
        ------
        SpanLabError
            with an answer for which there is neither a key nor a place to click.
        """
        keymap = Keymap()
        for kind in kinds:
            surface = kind.surface()
            within_reach = {value for key, value in surface.keys if keymap.delivers(key)} | {
                region.value for region in surface.regions
            }
            lacking = next(((key, value) for key, value in surface.keys if value not in within_reach), None)
            if lacking is not None:
                layout = f" (layout {keymap.layout})" if keymap.layout else ""
                raise SpanLabError(
                    f"the answer '{kind.label(lacking[1])}' could not be given: this keyboard{layout} has no key"
                    f" '{lacking[0]}' that works without shift; name another key in the paradigm, or for this session,"
                    " such as --key ANSWER=KEY"
                )

    @override
    def still_ready(self) -> None:
        """Between two questions of a trial: whether the port for trigger codes has taken all of
        them, by what is known already.

        Raises
        ------
        SpanLabError
            when it has not, and is needed.
        """
        if self._sender is not None:
            self._sender.need()

    @override
    def over(self) -> None:
        """The last trial is over: wait a moment for presses that come too late for it, and tell the
        assistant what became of the trigger codes.

        Raises
        ------
        Abandoned
            when the participant presses Escape and leaves.
        """
        if (stage := self._stage) is not None:
            if stage.presses.late_until is not None and (left := stage.presses.late_until - stage.window.now()) > 0:
                self.rest(left * 1000.0)
            stage.presses.set_aside()
            stage.presses.note_aside()
            stage.presses.afterwards = stage.presses.late_until = None
        if self._sender is not None:
            self._sender.over()

    @override
    def concerns(self, percepts: Sequence[Percept]) -> None:
        """Before a session: tell the assistant, on a page, when the display is not the one that was
        measured, or cannot show a duration well.

        Parameters
        ----------
        percepts : what is going to be shown

        Raises
        ------
        SpanLabError
            as :meth:`open`.
        """
        stage = self.open()
        check_sounds((display.stimulus for percept in percepts for display in percept.displays), stage.speaker)
        durations = [
            (percept.phase, ms)
            for percept in percepts
            for index in range(len(percept.displays))
            if (ms := time_of(percept, index)) is not None
        ]
        for complaint in [
            *self._differences,
            *complaints(durations, stage.window.grid),
        ]:  # the terminal and the record speak English
            self._tell(complaint)
        other = (
            []
            if self.window_options.display is None
            else self.window_options.display.differences(stage.apparatus(), self._language)
        )
        if problems := [*other, *complaints(durations, stage.window.grid, self._language)]:
            text = "\n\n".join([*problems, sentence("window.mend", self._language)])
            self.page(PageContent(text, sentence("window.assistant", self._language)))

    @override
    def failure(self) -> str:
        """The failure of the display or a keyboard, in a sentence; empty while all is well."""
        return "" if self._stage is None else self._stage.watchdog.trouble

    def _tell(self, sentence: str) -> None:
        self.shown_sentences.append(sentence)
        self._say(sentence)

    @override
    def leave_screen(self) -> None:
        if self._stage is not None:
            self._apparatus = self.apparatus()
            self._stage.close()
            self._stage = None

    @override
    def close(self) -> None:
        """Close the window, and the port for trigger codes."""
        self.leave_screen()
        for opened in filter(None, (self._sender, *self._boxes)):
            opened.close()
        self._sender, self._boxes = None, []

    # -- trials ------------------------------------------------------------------------------------

    @override
    def start(self, context: TrialContext) -> ParticipantEpisode:
        return ParticipantEpisode(self._player(context), context.keys, self._sender, context.words)

    def _player(self, context: TrialContext) -> Player:
        """Everything that a trial needs is there."""
        self.ready()
        self._language = context.language
        kinds = tuple(kind.with_keys(context.keys) for kind in context.kinds)
        return Player(
            self.open(), context.language, kinds, self.window_options.guard_ms, context.prompts, context.questionnaire
        )

    # -- what is recorded --------------------------------------------------------------------------

    @override
    def settings(self) -> dict[str, Any]:
        """The declared settings, the same in every run. Measurements from the opened window are in
        :meth:`apparatus`."""
        options, place = self.window_options, self.window_options.place
        return {
            "fullscreen": place.fullscreen,
            "screen": place.screen,
            "window_px": None if place.fullscreen else list(place.size_px),
            "canvas_deg": options.canvas,
            "screen_width_cm": place.width_cm,
            "distance_cm": place.distance_cm,
            "paced_hz": place.paced_hz,
            "keyboard": options.keyboard,
            "guard_ms": options.guard_ms,
            **where_given(buttons=self.buttons, scanner=options.scanner),
            "acknowledge_ms": ACKNOWLEDGE * 1000,
            "go_on_not_before_ms": GO_ON_AFTER * 1000,
            "palette": options.palette,
            **({"focus": options.focus} if options.focus != "needed" else {}),
            **where_given(
                font=options.font,
                display=options.display and options.display.cited(),
                patch=self._patch and asdict(self._patch),
            ),
        }

    @override
    def may_change(self) -> frozenset[str]:
        """The settings that are constants of the program, and the screen, which may be chosen anew."""
        return frozenset({"acknowledge_ms", "go_on_not_before_ms", "reaction_times", "screen"})

    @override
    def apparatus(self) -> dict[str, Any]:
        """Facts and measurements: screen, refresh rate and how frames are timed, keyboard back end,
        versions, and every warning. Empty before the window is open."""
        if self._stage is None:
            return self._apparatus
        triggers = where_given(triggers=self._sender and self._sender.facts())
        for address, box in zip(self._addresses, self._boxes, strict=False):
            triggers["scanner" if address.pulses else "buttons"] = box.facts()
        measured = self.window_options.display
        return {
            **self._stage.apparatus(),
            "canvas_deg": self._stage.canvas_deg,
            **where_given(display=measured and {"hash": measured.hash, "differences": self._differences}),
            **triggers,
            "said": list(self.shown_sentences),
        }

    # -- pages -------------------------------------------------------------------------------------

    @override
    def speak(self, language: str) -> None:
        """The language of the window's own words, from the first page on. Nothing is a pulse before
        somebody asks for them."""
        self._language = language
        if self._stage is not None:
            self._stage.presses.boxes = self._heard()

    @override
    def page(self, page: PageContent) -> None:
        """Show a text until the participant goes on (space bar or click); it is spread over several
        pages when it is long.

        Raises
        ------
        Abandoned
            when the participant presses Escape and leaves.
        """
        between_trials.show(self.open(), page, self._language)

    @override
    def choose(self, title: str, text: str, options: Sequence[Option], *, usual: str, clicks: bool = True) -> str:
        """Show a text until one of its options is chosen, by its key or with a click on its button;
        nothing else ends it.

        Raises
        ------
        Abandoned
            when the participant presses Escape and leaves.
        """
        labelled = tuple(
            replace(option, label=f"{option.label}  ({key_label(option.key, self._language).upper()})")
            for option in options
        )
        return between_trials.show(
            self.open(), PageContent(text, title, options=labelled), self._language, clicks=clicks
        )

    @override
    def rest(self, ms: float, meanwhile: Callable[[], object] | None = None) -> None:
        """An empty screen for some time, such as between two trials.

        Parameters
        ----------
        meanwhile : done in this time, such as preparing the trial; where it takes longer, so does
            the rest

        Raises
        ------
        Abandoned
            when the participant presses Escape and leaves.
        """
        between_trials.rest(self.open(), self._language, ms / 1000.0, meanwhile)

    @override
    def await_pulse(self, pulse: str, at: int, page: PageContent) -> None:
        """Show a page until the scanner has sent so many pulses since the last call of :meth:`pulses`.

        Raises
        ------
        Abandoned
            when the participant presses Escape and leaves.
        """
        presses = self.open().presses
        between_trials.show_until(self.open(), page, self._language, lambda: len(presses.pulses) >= at)

    @override
    def pulses(self) -> list[float]:
        self.ready()
        stage = self.open()
        stage.presses.boxes = self._boxes
        stage.presses.collect()
        pulses, stage.presses.pulses = stage.presses.pulses, []
        return [round(stage.clock.ms(at), 3) for at in pulses]


class ParticipantEpisode(WindowEpisode):
    """One trial of the person at the window, who answers with ``keys``, and reads ``words`` in
    place of the texts of the trial."""

    def __init__(
        self,
        player: Player,
        keys: AnswerKeys | None = None,
        sender: TriggerSender | None = None,
        words: Words | None = None,
    ) -> None:
        super().__init__(keys, words)
        self.player = player
        self._sender = sender

    @override
    async def step(self, percept: Percept, truth: Truth | None = None) -> Response | None:
        """Show a step and take the answer.

        Raises
        ------
        Abandoned
            when the participant presses Escape and leaves.
        TrialCut
            when the participant has paused after the first item of the trial was seen.
        """
        return self.player.play(self.as_asked(percept))

    @override
    def prepare(self, displays: Sequence[Display]) -> None:
        """Upload every display that may come."""
        self.player.prepare([translated_display(display, self.words) for display in displays])

    @override
    def announce_next(self, percept: Percept | None, last: bool = False) -> None:
        """Announce the step after the next one, where it does not depend on the answer, or that
        there is none (see :meth:`Player.announce_next`)."""
        self.player.announce_next(None if percept is None else self.as_asked(percept), last)

    @override
    def shown(self) -> list[Shown]:
        """Return how each display of the last step was shown; displays that an answer cut off are
        not in it. The end of the last display is the planned one until it has been replaced; the
        list is then completed in place (at the latest by :meth:`finish`)."""
        return self.player.shown

    @override
    def notes(self) -> dict[str, Any]:
        """Return what else happened in the last step, fit for JSON: presses without effect, late
        presses, pauses, jumps of the clock. Completed in place like :meth:`shown`."""
        return self.player.notes

    @override
    def mark(self, codes: Triggers, write: Callable[[Mapping[str, Any]], None]) -> None:
        """Send these trigger codes in this trial, where there is a port for them; ``write`` takes
        the record of each."""
        if self._sender is not None:
            stage = self.player.stage
            self._sender.listen()
            self.player.marker = Marker(
                self._sender, codes, write, stage.window.now, lambda: stage.window.grid.due, stage.clock.ms
            )

    @override
    def attach(self, journal: Journal) -> None:
        """Set where presses after the trial are noted."""
        self.player.note_late = lambda presses: journal.note({"after_trial": presses})

    @override
    def judged(self, verdict: Verdict) -> None:
        """The last answer was judged: for trigger codes alone."""
        self.player.judged(verdict)

    @override
    def cut(self) -> None:
        """The trial is over, and does not count: clears the screen."""
        self.player.cut()

    @override
    def finish(self) -> None:
        """The trial is over: clears the screen."""
        self.player.finish()
