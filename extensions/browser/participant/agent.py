"""The person at a page in a browser, as an agent: the window's pages, trials and answers, with a
page that another computer shows."""

# pyright: strict, reportImplicitOverride=true
from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import asdict
from typing import Any, ClassVar

from typing_extensions import override

from spanlab.agents import Option, PageContent, Response, Shown, TrialContext, TrialCut, WindowAgent, WindowEpisode
from spanlab.agents.human.input import USUAL, Press
from spanlab.agents.human.pages import Strip, heading
from spanlab.core import PARTICIPANT, AgentKind, SpanLabError
from spanlab.core.locale import sentence
from spanlab.paradigms import Ask, Percept, Truth
from spanlab.paradigms.preview import ExampleDisplay
from spanlab.paradigms.responses import AnswerKeys, ResponseKind, is_button
from spanlab.paradigms.translation import Words
from spanlab.stimuli import Stimulus
from spanlab.stimuli.kinds import ShownSound
from spanlab.stimuli.render import PaletteName

from .channel import READ, RELOADED, Channel
from .drawing import ExamplePicture
from .evidence import TimeWitness, Told
from .frames import FrameStore, TrialPictures, random_name
from .messages import COLOURS_OF_PAGES, Beginning, choices, paragraphs, touch_legend, trial_message, words
from .replacements import Replacements
from .reports import EndReport, PulseReport, StepReading, StepReport, checked
from .screen import PageScreen

#: After so many trials in a row in which page and server did not agree on what was pressed,
#: something is wrong with the page.
_DISAGREEMENTS = 3


def check_displays_at_page(stimuli: Iterable[Stimulus]) -> None:
    """Check that a page can show displays.

    Raises
    ------
    SpanLabError
        for sounds of one's own.
    """
    if any(isinstance(stimulus, ShownSound) for stimulus in stimuli):
        raise SpanLabError(
            "a page in a browser does not play sounds from files; take the session at the window (spanlab run)"
        )


def check_answerable_at_page(kinds: Sequence[ResponseKind]) -> None:
    """Check that a page has what it takes to answer.

    Raises
    ------
    SpanLabError
        for a button box, and for questions that take any number of marks in any order.
    """
    for kind in kinds:
        surface = kind.surface()
        if any(is_button(key) for key, _ in surface.keys):
            raise SpanLabError(
                "a page in a browser has no button box: leave keys such as button_1 out, or take the session at the"
                " window (spanlab run)"
            )
        if surface.several and surface.take is None and surface.ordered is None:
            raise SpanLabError(
                f"a page in a browser cannot take answers of the kind '{type(kind).name}' with an open number of marks;"
                " take the session at the window"
            )


class BrowserParticipant(WindowAgent):
    """A person at a page.

    Parameters
    ----------
    channel : the line to the page
    frames : the server's frames
    screen : gives the screen of the page, as it was told last
    palette : as at the window
    """

    kind: ClassVar[AgentKind] = PARTICIPANT
    #: the offer was checked before anybody came; the trials of a visit are compiled when they are
    #: needed
    compiles_ahead = False
    in_browser = True
    #: draws the name of a picture
    name_picture = staticmethod(random_name)

    def __init__(
        self,
        channel: Channel,
        frames: FrameStore,
        screen: Callable[[], PageScreen],
        palette: PaletteName = "published",
    ) -> None:
        self.name = "participant"
        self.channel = channel
        self.frames = frames
        self.screen = screen
        self.palette: PaletteName = palette
        self.language = "en"
        self.rest_ms: float | None = None
        #: the press that ended the last step
        self.ended_by: Press | None = None
        self.disagreements = 0
        #: the server's view of the times that the page reports
        self.witness = TimeWitness()
        self.replacements = Replacements()
        #: the page that was read before the session began; it does not show it once more
        self._read: PageContent | None = None
        #: the key of the scanner's pulses, and those that nobody has taken (ms)
        self._pulse = ""
        self._pulses: list[float] = []
        self._lock = threading.Lock()
        #: PNG files of the trial or page that the page shows, by name; some are still being drawn
        self._pictures: dict[str, Future[bytes]] = {}

    # -- pictures ----------------------------------------------------------------------------------

    def picture(self, name: str) -> Future[bytes] | None:
        """A PNG file that the page may ask for, as soon as it is drawn; None for anything else."""
        with self._lock:
            return self._pictures.get(name)

    def _publish(self, pictures: Mapping[str, Future[bytes]]) -> None:
        with self._lock:
            self._pictures = dict(pictures)

    # -- for the record ----------------------------------------------------------------------------

    @override
    def settings(self) -> dict[str, Any]:
        """The declared settings, the same at every visit; measurements are in :meth:`apparatus`."""
        return {"window": "browser", "palette": self.palette}

    @override
    def apparatus(self) -> dict[str, Any]:
        """Browser and screen, as the page has told."""
        screen = self.screen()
        return {
            **screen.facts,
            "canvas_px": screen.canvas_px,
            "refractory": asdict(USUAL),
            "focus": "watched",
        }

    @override
    def check_displays(self, stimuli: Iterable[Stimulus]) -> None:
        """Check that the page can show them.

        Raises
        ------
        SpanLabError
            for sounds of one's own.
        """
        check_displays_at_page(stimuli)

    @override
    def check_questions(self, kinds: Sequence[ResponseKind]) -> None:
        """Check that the page has what it takes to answer.

        Raises
        ------
        SpanLabError
            for a button box, and for questions that take any number of marks in any order.
        """
        check_answerable_at_page(kinds)

    # -- pages -------------------------------------------------------------------------------------

    @property
    def touched(self) -> bool:
        """True if people answer with their fingers."""
        return bool(self.screen().facts["touch"])

    @override
    def how_to_answer(self, ask: Ask, language: str) -> tuple[str, str]:
        if not self.touched:
            return super().how_to_answer(ask, language)
        surface = ask.kind.surface()
        changes = surface.several or ask.counts == "last"
        final = ask.kind.finality(ask.counts, language) if changes else sentence("touch.first", language)
        return touch_legend(surface, language), final

    @override
    def speak(self, language: str) -> None:
        self.language, self._pulse = language, ""
        self.channel.command("language", self._manner())

    @override
    def page(self, page: PageContent) -> None:
        read, self._read = self._read, None
        if read == page:
            return
        content = {
            "title": page.title,
            "text": paragraphs(page.text),
            "footer": page.footer or sentence("window.go_on", self.language),
            "example": self._example(page.example),
            "example_title": heading(page.example, self.language),
            "after": paragraphs(page.after),
            "progress": page.progress,
            "least": page.least,
            "options": [],
        }
        self.ask("page", content, READ)

    def show_first(self, page: PageContent, language: str) -> None:
        """Show the first page of a session before that begins."""
        self.speak(language)
        self.page(page)
        self._read = page

    def ask(self, what: str, content: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
        """Have the page do something, and wait until the participant has done it."""
        self.ended_by = None
        self.rest_ms = None
        return self.channel.wait(self.channel.command(what, {**content, **self._manner()}), kind)

    def _manner(self) -> dict[str, Any]:
        """Looks and language of the page, with every command: a page that was loaded anew has heard
        nothing else."""
        return {
            "language": self.language,
            "words": words(self.language),
            "colours": COLOURS_OF_PAGES,
            "pulse": self._pulse,
        }

    def _example(self, example: Sequence[ExampleDisplay]) -> dict[str, Any] | None:
        screen = self.screen()
        strip = Strip.within(example, (screen.column_px, round(screen.high_px * 0.6)), screen.letter_px)
        if strip is None:
            return None
        name = self.name_picture()
        picture = ExamplePicture(tuple(example), strip, self.language, self.palette)
        self._publish({name: self.frames.get(picture, self.channel.epoch)})  # the page does not wait for it
        return {"frame": name, "width": strip.width, "height": strip.height}

    @override
    def choose(self, title: str, text: str, options: Sequence[Option], *, usual: str, clicks: bool = True) -> str:
        if not clicks:  # it is for an assistant to decide, and there is none
            self.page(PageContent(text, title))
            return ""
        content = {
            "title": title,
            "text": paragraphs(text),
            "options": choices(options),
            "footer": "",
            "example": None,
            "after": [],
            "progress": None,
            "least": 0,
        }
        name = str(self.ask("choose", content, "choice").get("name"))
        if name not in {option.name for option in options}:
            raise SpanLabError(
                "the page chose something that was not offered: the session ends here, and can be resumed"
            )
        return name

    @override
    def rest(self, ms: float, meanwhile: Callable[[], object] | None = None) -> None:
        """The page keeps its screen empty for so long before the trial that comes next, and until
        it has that."""
        self.rest_ms = ms
        if meanwhile is not None:
            meanwhile()

    @override
    def recorded(self) -> None:
        self.channel.on_disk()

    @override
    def await_pulse(self, pulse: str, at: int, page: PageContent) -> None:
        self._pulse = pulse
        body = self.ask("scanner", {"title": page.title, "texts": [page.text], "at": at}, "pulses")
        self.note_pulses(checked(PulseReport, body))

    def note_pulses(self, report: StepReport | EndReport | PulseReport) -> None:
        """Keep the pulses of a scanner that the page has told of."""
        self._pulses += report.pulses

    @override
    def pulses(self) -> list[float]:
        pulses, self._pulses = self._pulses, []
        return pulses

    @override
    def over(self) -> None:
        self.channel.command("wait", self._manner())

    # -- trials ------------------------------------------------------------------------------------

    @override
    def start(self, context: TrialContext) -> BrowserEpisode:
        self.prepare_trial(context)
        return BrowserEpisode(self, context.keys, context.words, cuts=not context.questionnaire)

    def prepare_trial(self, context: TrialContext) -> None:
        """Before every trial.

        Raises
        ------
        TooManyReplacementsError
            when more trials had to be replaced than the study allows.
        """
        self.language = context.language
        self.replacements.check()
        if (seconds := self.replacements.wait_s()) > 0:
            self.channel.pause(seconds)

    def send_trial(
        self, steps: Sequence[Sequence[Percept]], cuts: bool = True, beginning: Beginning | None = None
    ) -> tuple[int, int]:
        """Send all that may be seen of a trial, before it begins, and wait until it is drawn.
        Returns the number of the command, and the width of the pictures in pixels.

        Parameters
        ----------
        cuts : whether an interruption cuts the trial off
        beginning : where a page goes on that was loaded anew; None for a trial that begins
        """
        made = TrialPictures(self.frames, self.screen().canvas_px, self.palette, self.name_picture, self.channel.epoch)
        message = trial_message(steps, made, self.language, self.rest_ms, cuts, beginning or Beginning(), self.touched)
        self._publish(made.pictures)
        send = self.channel.command if beginning is None else self.channel.again
        command = send("trial", {**message, "canvas_px": made.size_px, **self._manner()})
        with self.channel.turn.idle():
            made.wait()  # the page fetches what is drawn meanwhile
        return command, made.size_px


class BrowserEpisode(WindowEpisode):
    """One trial at a page.

    Parameters
    ----------
    cuts : whether an interruption cuts the trial off; a questionnaire goes on with the question
        under way
    """

    def __init__(
        self, agent: BrowserParticipant, keys: AnswerKeys | None = None, words: Words | None = None, cuts: bool = True
    ) -> None:
        super().__init__(keys, words)
        self._agent, self._cuts = agent, cuts
        self._steps: list[list[Percept]] = []
        self._asked: list[list[Percept]] = []
        self._command = self._size_px = 0
        self._place = -1
        self._began = 0.0
        self._reading: StepReading | None = None

    @override
    def expect(self, steps: Sequence[Sequence[Percept]]) -> None:
        """Send the whole trial: the page plays it by itself, but for what depends on the server's
        verdict."""
        self._steps = [list(alternatives) for alternatives in steps]
        self._asked = [[self.as_asked(percept) for percept in alternatives] for alternatives in steps]
        self._command, self._size_px = self._agent.send_trial(self._asked, self._cuts)

    @override
    async def step(self, percept: Percept, truth: Truth | None = None) -> Response | None:
        """Wait until the page has played a step, and read what it tells.

        Raises
        ------
        TrialCut
            when the trial cannot count: the page was loaded anew, was hidden, or does not agree
            with the server about what was pressed.
        PageGone
            when the participant has left.
        """
        agent, channel = self._agent, self._agent.channel
        self._place += 1
        place = self._place
        which = self._steps[place].index(percept)
        self.about_to_play()
        if place == 0:
            self._begin()
        elif len(self._steps[place]) > 1:
            channel.add("verdict", {"trial": self._command, "step": place, "show": which})
        reloads = 0
        while True:
            try:
                report: StepReport = checked(StepReport, channel.wait(self._command, "step", place))
                agent.note_pulses(report)
                break
            except TrialCut as cut:
                if self._cuts or cut.why != RELOADED:
                    self._cut(which)
                    raise
            reloads += 1
            self._go_on_from(place, which)
        if self._reading is not None:
            self._reading.complete(report.closing, report.earlier)
        reading = StepReading(self._asked[place][which], report, agent.ended_by)
        self._reading = reading
        told = Told(channel.heard_at, channel.cut_for(self._began), agent.screen().period_ms)
        reading.step.notes.update(agent.witness.look(self._asked[place][which], report, reading, told))
        if place == 0 or reloads:
            reading.step.notes["canvas_px"] = self._size_px
        if reloads:
            reading.step.notes["reloaded"] = reloads
        agent.ended_by = reading.step.ending
        if not reading.agrees:
            agent.disagreements += 1
            if agent.disagreements >= _DISAGREEMENTS:
                raise SpanLabError(
                    "page and server do not agree on what was pressed, three times in a row: the session ends here, and"
                    " can be resumed"
                )
            agent.replacements.add()
            raise TrialCut("page and server disagree")
        response = reading.response()
        if response is not None:
            agent.disagreements = 0
        return response

    def about_to_play(self) -> None:
        """Called when the page is about to play a step, and once more where it begins that step
        anew."""

    @property
    def at(self) -> tuple[int, int]:
        """The number of the command that the page carries out, and that of the step."""
        return self._command, self._place

    def _go_on_from(self, place: int, which: int) -> None:
        """The page was loaded anew: it shows the step under way once more, and goes on from there."""
        self._agent.ended_by = None  # its time is one of the page before
        self._command, self._size_px = self._agent.send_trial(self._asked, self._cuts, Beginning(place, which))
        self.about_to_play()
        self._begin()

    def _begin(self) -> None:
        """Let the page begin, and take the time: nothing that it reports can have been earlier."""
        channel = self._agent.channel
        self._began = channel.clock()
        self._agent.witness.trial_begins(self._began)
        channel.add("begin", {"trial": self._command}, begins=True)

    def _cut(self, which: int) -> None:
        """Take in what the page has told of the step in which it cut the trial off."""
        self._agent.replacements.add()
        self._agent.ended_by = None
        body = self._agent.channel.cut_body(self._command)
        self._reading = None
        if body is not None and body.get("report") is not None and 0 <= self._place < len(self._asked):
            report: StepReport = checked(StepReport, body["report"])
            self._reading = StepReading(self._asked[self._place][which], report, None)

    @override
    def shown(self) -> list[Shown] | None:
        return None if self._reading is None else self._reading.step.shown

    @override
    def notes(self) -> dict[str, Any]:
        return {} if self._reading is None else self._reading.step.notes

    @override
    def finish(self) -> None:
        try:
            report: EndReport = checked(EndReport, self._agent.channel.wait(self._command, "end"))
            self._agent.note_pulses(report)
        except TrialCut:
            return  # loaded anew after the last answer: nothing of the trial is missing but how long its last display was on the screen  # noqa: E501
        if self._reading is not None:
            self._reading.complete(report.closing, report.earlier)
