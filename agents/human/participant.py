"""The person at the window, as an agent."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, get_args

from typing_extensions import override

from ...core.agent_kinds import PARTICIPANT, AgentKind
from ...core.errors import SpanLabError
from ...core.locale import sentence
from ...paradigms import AnswerKeys, Display, Percept, ResponseKind, Truth, Verdict
from ...paradigms.preview.example import ExampleDisplay
from ...paradigms.responses.keys import key_label
from ...paradigms.translation import Words, translated_display, translated_percept
from ...paradigms.triggers import Triggers
from ...stimuli import Stimulus
from ...stimuli.render.fonts import use_font
from ...stimuli.render.palette import PALETTES, PaletteName
from ..base import Journal, Option, Response, SettingRules, Shown, TrialContext, WindowAgent, WindowEpisode
from .display.file import DisplayFile
from .display.patch import read_patch
from .display.rounding import complaints
from .display.surface import ACKNOWLEDGE
from .display.theme import THEMES, ThemeName
from .display.window import Screen
from .input.buttons import Box, open_box, read_box
from .input.keyboard import Backend
from .input.keymap import Keymap
from .input.refractory import USUAL, Refractory
from .pages import between_trials
from .sounding import check_sounds
from .stage import CanvasSize, Looks, Stage
from .step_account import time_of
from .trial_player import GO_ON_AFTER, Player
from .triggers.address import read_address
from .triggers.marker import Marker
from .triggers.sender import TriggerSender

#: The settings that the first records had, the simulated participant's included.
# fmt: off
_FIRST_SETTINGS = frozenset((
    "fullscreen", "screen", "window_px", "canvas_deg", "screen_width_cm", "distance_cm", "paced_hz", "keyboard", "guard_ms", "buttons",
    "acknowledge_ms", "go_on_not_before_ms", "theme", "palette", "display", "patch", "observer", "seed", "speed", "answers", "reaction_times",
))
# fmt: on
_CONSTANTS = frozenset({"acknowledge_ms", "go_on_not_before_ms", "reaction_times"})
#: systems number their screens anew when one is plugged in
_ANEW = frozenset({"screen"})

#: Width of the canvas where the screen was measured, and nobody says otherwise.
USUAL_DEG = 10.0


def _psychopy_now() -> float:
    from psychopy import clock

    return float(clock.getTime())


def _to_stderr(sentence: str) -> None:
    print(f"spanlab: {sentence}", file=sys.stderr)


class Participant(WindowAgent):
    """A person at a PsychoPy window. Nothing is opened, and PsychoPy is not imported, before :meth:`open` (or the first trial or page).

    PsychoPy has to run in the main thread of the process.

    Parameters
    ----------
    fullscreen : cover the screen; otherwise a window of ``size_px``
    screen : number of the screen, from 0
    size_deg : width and height of the canvas, in degrees of visual angle, or ``largest``: as large as the window allows; when not given, 10 where the screen
        was measured, and else ``largest``
    width_cm : visible width of the screen, measured; when not given, 53.1 cm are assumed, and that is said and recorded
    distance_cm : from the eyes to the screen
    size_px : width and height of the window where it is not full screen
    paced_hz : rate at which flips are paced by the clock where they do not wait for the screen
    keyboard : ``ptb`` (Psychtoolbox, precise to about a millisecond) or ``event`` (PsychoPy's event module, precise to one frame)
    guard_ms : how long before a refresh the next frame is drawn
    display : the display that was measured (:func:`.file.read_display`): its width, distance and screen hold, and it is told when another one is found
    patch : a square for a photodiode, such as ``upper-left:2`` (:func:`.patch.read_patch`); none when empty
    theme : colours around the canvas: ``standard``, ``dark`` or ``light``; what is on the canvas stays as it is
    palette : colours of the stimuli: ``published``, or ``safe`` for people who cannot tell red from green (recorded: it changes what is seen)
    triggers : port for trigger codes, such as ``serial:/dev/ttyUSB0@115200``; none when empty. Which codes are sent is a matter of the session
    font : file of a font for letters that the shipped typeface has not; none when empty
    buttons : a button box, such as ``keys:1+2`` or ``serial:COM3@115200`` (:mod:`.buttons`); none when empty
    refractory : how soon after its onset a self-paced step takes presses, where a press has ended the step before
    name : how the agent is called in the record
    say : told, in a sentence, what is not as a lab would want it; printed to stderr when not given
    """

    kind: ClassVar[AgentKind] = PARTICIPANT

    def __init__(
        self,
        *,
        fullscreen: bool = True,
        screen: int = 0,
        size_deg: CanvasSize | None = None,
        width_cm: float | None = None,
        distance_cm: float = 57.0,
        size_px: tuple[int, int] = (1024, 768),
        paced_hz: float = 60.0,
        keyboard: Backend = "ptb",
        guard_ms: float = 3.0,
        display: DisplayFile | None = None,
        patch: str = "",
        theme: ThemeName = "standard",
        palette: PaletteName = "published",
        font: str = "",
        triggers: str = "",
        buttons: str = "",
        refractory: Refractory = USUAL,
        name: str = "participant",
        say: Callable[[str], None] | None = None,
    ) -> None:
        if (isinstance(size_deg, int | float) and size_deg <= 0) or distance_cm <= 0 or paced_hz <= 0 or (width_cm is not None and width_cm <= 0):
            raise SpanLabError("the size of the canvas, the width of the screen, the distance and the rate must be above 0")
        if keyboard not in get_args(Backend):
            raise SpanLabError(f"the keyboard is read by 'ptb' (precise) or 'event'; found '{keyboard}'")
        if theme not in THEMES or palette not in PALETTES:
            raise SpanLabError(f"themes are {', '.join(THEMES)}, and palettes {', '.join(PALETTES)}; found '{theme}' and '{palette}'")
        self.name = name
        self._looks = Looks(theme, palette)
        self._font = font
        if font:
            try:
                use_font(Path(font))
            except ValueError as error:
                raise SpanLabError(str(error)) from None
        if display is not None:
            screen, width_cm, distance_cm = display.screen.number, display.screen.width_cm, display.screen.distance_cm
        self._screen = Screen(fullscreen, screen, size_px, width_cm, distance_cm, paced_hz)
        self._display = display
        self._differences: list[str] = []
        self._patch = read_patch(patch) if patch else None
        #: in degrees, or as large as the window allows where nobody has said how wide the screen is: degrees mean nothing there
        self._size_deg: CanvasSize = size_deg if size_deg is not None else USUAL_DEG if width_cm is not None else "largest"
        self._keyboard: Backend = keyboard
        self._guard_ms = guard_ms
        self._refractory = refractory
        self._port = read_address(triggers) if triggers else None
        self._sender: TriggerSender | None = None
        #: the button box as it was named
        self.buttons = buttons
        self._box_address = read_box(buttons) if buttons else None
        self._box: Box | None = None
        self._say = say or _to_stderr
        self._stage: Stage | None = None
        self._language = "en"
        self._apparatus: dict[str, Any] = {}
        #: everything that was said about the apparatus
        self.shown_sentences: list[str] = []

    # -- the stage --------------------------------------------------------------------------------------------------------------------------------

    @override
    def open(self) -> Stage:
        """Open the window, when it is not open yet.

        Raises
        ------
        SpanLabError
            when there is no display, PsychoPy is not installed, or the canvas does not fit.
        """
        if self._stage is None:
            self._stage = Stage(self._screen, self._size_deg, self._keyboard, self._tell, self._patch, self._looks, self._refractory_times())
            self._stage.box = self._box
            if self._display is not None:
                self._differences = self._display.differences(self._stage.apparatus())
        return self._stage

    def _refractory_times(self) -> Refractory:
        """The refractory times that are in force."""
        return self._refractory

    @override
    def ready(self) -> None:
        """Open the port for trigger codes and the button box, when they are not open yet, and see that they are still there.

        Raises
        ------
        SpanLabError
            when the port does not take codes (and is needed), or there is no such box.
        """
        if self._box_address is not None:
            if self._box is None:
                self._box = open_box(self._box_address, _psychopy_now)
                if self._stage is not None:
                    self._stage.box = self._box
            self._box.check()
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
            within_reach = {value for key, value in surface.keys if keymap.delivers(key)} | {region.value for region in surface.regions}
            lacking = next(((key, value) for key, value in surface.keys if value not in within_reach), None)
            if lacking is not None:
                layout = f" (layout {keymap.layout})" if keymap.layout else ""
                raise SpanLabError(
                    f"the answer '{kind.write(lacking[1])}' could not be given: this keyboard{layout} has no key '{lacking[0]}' that works without shift; "
                    "name another key in the paradigm, or for this session, such as --key ANSWER=KEY"
                )

    @override
    def still_ready(self) -> None:
        """Between two questions of a trial: whether the port for trigger codes has taken all of them, by what is known already.

        Raises
        ------
        SpanLabError
            when it has not, and is needed.
        """
        if self._sender is not None:
            self._sender.need()

    @override
    def over(self) -> None:
        """The last trial is over: wait a moment for presses that come too late for it, and tell the assistant what became of the trigger codes.

        Raises
        ------
        Abandoned
            when the participant presses Escape and leaves.
        """
        if (stage := self._stage) is not None:
            if stage.late_until is not None and (left := stage.late_until - stage.window.now()) > 0:
                self.rest(left * 1000.0)
            stage.set_aside()
            stage.note_aside()
            stage.afterwards = stage.late_until = None
        if self._sender is not None:
            self._sender.over()

    @override
    def concerns(self, percepts: Sequence[Percept]) -> None:
        """Before a session: tell the assistant, on a page, when the display is not the one that was measured, or cannot show a duration well.

        Parameters
        ----------
        percepts : what is going to be shown

        Raises
        ------
        SpanLabError
            when a phase is to be marked by the corner patch and does not come; and as :meth:`open`.
        """
        if self._patch is not None:
            self._patch.check({percept.phase for percept in percepts})
        stage = self.open()
        check_sounds((display.stimulus for percept in percepts for display in percept.displays), stage.speaker)
        durations = [(percept.phase, ms) for percept in percepts for index in range(len(percept.displays)) if (ms := time_of(percept, index)) is not None]
        for complaint in [*self._differences, *complaints(durations, stage.window.grid)]:  # the terminal and the record speak English
            self._tell(complaint)
        other = [] if self._display is None else self._display.differences(stage.apparatus(), self._language)
        if problems := [*other, *complaints(durations, stage.window.grid, self._language)]:
            self.page(sentence("window.assistant", self._language), "\n\n".join([*problems, sentence("window.mend", self._language)]))

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
        for opened in filter(None, (self._sender, self._box)):
            opened.close()
        self._sender = self._box = None

    # -- trials ----------------------------------------------------------------------------------------------------------------------------------

    @override
    def start(self, context: TrialContext) -> ParticipantEpisode:
        return ParticipantEpisode(self._player(context), context.keys, self._sender, context.words)

    def _player(self, context: TrialContext) -> Player:
        """Everything that a trial needs is there."""
        self.ready()
        self._language = context.language
        kinds = tuple(kind.with_keys(context.keys) for kind in context.asks)
        return Player(self.open(), context.language, kinds, self._guard_ms, context.prompts, cuts=not context.questionnaire)

    # -- what is recorded ------------------------------------------------------------------------------------------------------------------------

    @override
    def settings(self) -> dict[str, Any]:
        """The declared settings, the same in every run. Measurements from the opened window are in :meth:`apparatus`."""
        return {
            "fullscreen": self._screen.fullscreen,
            "screen": self._screen.screen,
            "window_px": None if self._screen.fullscreen else list(self._screen.size_px),
            "canvas_deg": self._size_deg,
            "screen_width_cm": self._screen.width_cm,
            "distance_cm": self._screen.distance_cm,
            "paced_hz": self._screen.paced_hz,
            "keyboard": self._keyboard,
            "guard_ms": self._guard_ms,
            **({"buttons": self.buttons} if self.buttons else {}),
            "acknowledge_ms": ACKNOWLEDGE * 1000,
            "go_on_not_before_ms": GO_ON_AFTER * 1000,
            # The usual times are among what is found (:meth:`apparatus`): sessions from before there were any go on with them.
            **({} if self._refractory == USUAL else {"refractory": self._refractory.record()}),
            "theme": self._looks.theme,
            "palette": self._looks.palette,
            **({"font": self._font} if self._font else {}),
            **({} if self._display is None else {"display": self._display.cited()}),
            **({} if self._patch is None else {"patch": self._patch.settings()}),
        }

    @override
    def setting_rules(self) -> SettingRules:
        """The settings that were added after the first records, and those that are constants of the program."""
        later = {name for name in self.settings() if name not in _FIRST_SETTINGS and not name.startswith("observer_")}
        usual = type(self)().settings() if later else {}
        return SettingRules({name: usual[name] for name in later if name in usual}, _CONSTANTS, _ANEW)

    @override
    def apparatus(self) -> dict[str, Any]:
        """Facts and measurements: screen, refresh rate and how frames are timed, keyboard back end, versions, and every warning. Empty before the window
        is open."""
        if self._stage is None:
            return self._apparatus
        triggers = {} if self._sender is None else {"triggers": self._sender.facts()}
        triggers |= {} if self._box is None else {"buttons": self._box.facts()}
        display = {} if self._display is None else {"display": {"hash": self._display.hash, "differences": self._differences}}
        return {**self._stage.apparatus(), "canvas_deg": self._stage.canvas_deg, **display, **triggers, "said": list(self.shown_sentences)}

    # -- pages -----------------------------------------------------------------------------------------------------------------------------------

    @override
    def speak(self, language: str) -> None:
        """The language of the window's own words, from the first page on."""
        self._language = language

    @override
    def page(
        self,
        title: str,
        text: str,
        footer: str = "",
        *,
        example: Sequence[ExampleDisplay] = (),
        after: str = "",
        progress: float | None = None,
        least: float = 0.0,
    ) -> None:
        """Show a text until the participant goes on (space bar or click); it is spread over several pages when it is long.

        Raises
        ------
        Abandoned
            when the participant presses Escape and leaves.
        """
        between_trials.show(self.open(), between_trials.Page(text, title, footer, tuple(example), after, progress, least), self._language)

    @override
    def choose(self, title: str, text: str, options: Sequence[Option], *, usual: str, clicks: bool = True) -> str:
        """Show a text until one of its options is chosen, by its key or with a click on its button; nothing else ends it.

        Raises
        ------
        Abandoned
            when the participant presses Escape and leaves.
        """
        labelled = tuple(replace(option, label=f"{option.label}  ({key_label(option.key, self._language).upper()})") for option in options)
        return between_trials.show(self.open(), between_trials.Page(text, title, options=labelled), self._language, clicks=clicks)

    @override
    def rest(self, ms: float, meanwhile: Callable[[], object] | None = None) -> None:
        """An empty screen for some time, such as between two trials.

        Parameters
        ----------
        meanwhile : done in this time, such as preparing the trial; where it takes longer, so does the rest

        Raises
        ------
        Abandoned
            when the participant presses Escape and leaves.
        """
        between_trials.show(self.open(), between_trials.Page(""), self._language, seconds=ms / 1000.0, meanwhile=meanwhile)


class ParticipantEpisode(WindowEpisode):
    """One trial of the person at the window, who answers with ``keys``, and reads ``words`` in place of the texts of the trial."""

    def __init__(self, player: Player, keys: AnswerKeys | None = None, sender: TriggerSender | None = None, words: Words | None = None) -> None:
        self.player = player
        self._words = words or {}
        self._keys = keys or AnswerKeys()
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

    def as_asked(self, percept: Percept) -> Percept:
        """The percept with the keys and in the language of this participant, which only the window and its legend know of."""
        percept = translated_percept(percept, self._words)
        ask = percept.ask
        kind = ask.kind.with_keys(self._keys) if ask is not None else None
        return percept if ask is None or kind is None or kind is ask.kind else replace(percept, ask=replace(ask, kind=kind))

    @override
    def prepare(self, displays: Sequence[Display]) -> None:
        """Upload every display that may come."""
        self.player.prepare([translated_display(display, self._words) for display in displays])

    @override
    def announce_next(self, percept: Percept | None, last: bool = False) -> None:
        """Announce the step after the next one, where it does not depend on the answer, or that there is none (see :meth:`Player.announce_next`)."""
        self.player.announce_next(None if percept is None else self.as_asked(percept), last)

    @override
    def shown(self) -> list[Shown]:
        """How each display of the last step was shown; displays that an answer cut off are not in it. The end of the last display is the planned one until it
        has been replaced; the list is then completed in place (at the latest by :meth:`finish`)."""
        return self.player.shown

    @override
    def notes(self) -> dict[str, Any]:
        """What else happened in the last step, fit for JSON: presses without effect, late presses, pauses, jumps of the clock. Completed in place like
        :meth:`shown`."""
        return self.player.notes

    @override
    def mark(self, codes: Triggers, write: Callable[[Mapping[str, Any]], None]) -> None:
        """Send these trigger codes in this trial, where there is a port for them; ``write`` takes the record of each."""
        if self._sender is not None:
            stage = self.player.stage
            self._sender.listen()
            self.player.marker = Marker(self._sender, codes, write, stage.window.now, lambda: stage.window.grid.due, stage.ms)

    @override
    def attach(self, journal: Journal) -> None:
        """Where to note what is pressed after the trial."""
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
