"""Studies: sessions of a battery, the status of a study, and withdrawals."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import typer

from ..core.errors import SpanLabError
from ..core.event_loop import ENDING, catching
from .data import tabled
from .declared import PathLike, Result, Words, public
from .options import DataOption, progress_bar, with_display

if TYPE_CHECKING:
    from ..agents.window import WindowAgent
    from ..paradigms import Paradigm, Percept, ResponseKind, Trial
    from ..sessions.studies.battery import Battery
    from ..sessions.studies.monitoring import MonitoredSession
    from ..sessions.studies.participants import Kind
    from ..sessions.studies.study import Study, StudyParadigm
    from ..sessions.studies.visit import Visit, VisitRequest

DATA = Path("data")

StudyArgument = Annotated[PathLike, typer.Argument(help="study file (YAML)", metavar="STUDY")]


class VisitOptions(TypedDict, total=False):
    """Which session of a study it is, and of whom."""

    session: Annotated[str, typer.Option("--session", help="studies: number of the session", metavar="N")]
    number: Annotated[
        str,
        typer.Option("--number", help="studies: the participant's number; by default the next free one", metavar="N"),
    ]
    field: Annotated[
        Words,
        typer.Option(
            "--field",
            help="studies: what the study asks about the participant, such as age=23; may be repeated",
            metavar="NAME=VALUE",
        ),
    ]
    existing: Annotated[
        str,
        typer.Option(
            "--existing",
            help="studies: what to do if the session already has data: resume, new or stop",
            metavar="WHAT",
        ),
    ]
    dialog: Annotated[
        bool, typer.Option("--dialog/--no-dialog", help="studies: ask in a window when no participant is given")
    ]


@dataclass(frozen=True, slots=True)
class StudyOptions:
    """The arguments and options of ``spanlab run STUDY``."""

    participant: str
    session: str
    number: str
    fields: Mapping[str, str]
    existing: str
    dialog: bool
    language: str
    pilot: bool
    simulate: str | None


def parse_fields(pairs: Sequence[str] | None) -> dict[str, str]:
    """``["age=23"]`` to ``{"age": "23"}``."""
    fields: dict[str, str] = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals or not name or not value.strip() or name in fields:
            raise SpanLabError(f"--field takes NAME=VALUE, each name once, such as age=23; found '{pair}'")
        fields[name] = value
    return fields


def run_study(
    file: str, data: Path, options: StudyOptions, speed: float, window: dict[str, Any], as_before: bool = False
) -> tuple[str, ...]:
    """Run a session of a study with the participant that the options or the dialog name.

    Parameters
    ----------
    as_before : True where the window of a session that goes on is to be as it was, but for a port
        and a screen in ``window``
    """
    from ..agents.human.seating import defaults_of_then, seat, window_again
    from ..sessions.studies.battery import Battery
    from ..sessions.studies.study import load_study
    from ..sessions.studies.visit import as_begun, foresee

    study = load_study(file)
    port = str(window.get("triggers") or "")
    for one in study.paradigms:
        _triggers(one, port)  # what is wrong with the codes of any is told before somebody sits down
    kind: Kind = "simulated" if options.simulate is not None else "pilot" if options.pilot else "person"
    request = _visit_request(study, data, options, kind)
    begun, settings = as_begun(study, data, request)
    if as_before and "fullscreen" in settings:  # what somebody without a window of ours took has none
        place = {**window_again(settings, window.get("screen")), "triggers": port}
    else:
        place = {**defaults_of_then(settings), **_window(begun, window)}
    agent = seat(options.simulate, 1, speed, place)
    with _telling() as progress:
        ask = _asking(agent) if request.asked_later else None
        battery = Battery(
            foresee(study, data, request), agent, options.pilot, lambda one: _triggers(one, port), progress, ask=ask
        )
        return _take(battery, study, data, request)


def _take(battery: Battery, study: Study, data: Path, request: VisitRequest) -> tuple[str, ...]:
    """Try out what can go wrong, begin the session (only then is there a folder and a number), and
    run it; what is said at its end."""
    from ..sessions.people import tell_unspoken
    from ..sessions.run import say_on_stderr
    from ..sessions.studies.battery import NoConsentError, QuizLeftError
    from ..sessions.studies.visit import sit_down
    from ..sessions.studies.visit_files import states

    agent = battery.agent
    try:
        if not battery.visit.finished:
            battery.try_out()
            agent.open()
        visit, goes_on = sit_down(study, data, request)
    except BaseException:
        agent.close()
        raise
    battery.visit = visit
    name = (
        f"{visit.person.name} (number"
        f" {visit.person.number}{', group ' + visit.person.group if visit.person.group else ''})"
    )
    order = " ".join(paradigm.name for paradigm in visit.order)
    print(f"spanlab: {name}, session {visit.session}{' goes on' if goes_on else ''}: {order}", file=sys.stderr)
    _tell_how(study, visit, request, goes_on, data)
    tell_unspoken(visit.language, say_on_stderr)
    if goes_on and visit.finished:
        agent.close()
        return (f"nothing to do: session {visit.session} of {visit.person.name} is finished",)
    try:
        battery.run()
    except NoConsentError as error:
        raise SpanLabError(f"{error}\nTo ask again: {_again(sys.argv[1:], visit)}") from None
    except QuizLeftError as error:
        print(f"spanlab: {error}", file=sys.stderr)
    except (KeyboardInterrupt, SpanLabError) as error:
        what = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
        safe = (
            "The finished trials are safe."
            if any(state.done for state in states(visit.folder).values())
            else "No trial is finished yet."
        )
        raise SpanLabError(f"{what}\n{safe} Continue with: {_again(sys.argv[1:], visit)}") from None
    return (str(visit.folder),)


def _tell_how(study: Study, visit: Visit, request: VisitRequest, goes_on: bool, data: Path) -> None:
    """Print what an assistant might not expect of a session, on stderr."""
    from ..sessions.studies.monitoring import finished_sessions
    from ..sessions.studies.visit_files import fields_due

    remarks: list[str] = []
    if goes_on:
        if visit.study.hash != study.hash:
            remarks.append("the study file has changed since this session began; it continues as it began")
        if request.language.strip() not in ("", visit.language):
            remarks.append(f"it continues in '{visit.language}', as it began")
        if any(value.strip() for value in request.fields.values()) and not fields_due(visit.folder):
            remarks.append("the entries about the participant stay as they were when the session began")
    earlier = set(range(1, visit.session)) - finished_sessions(data / study.name, str(visit.person.name))
    if earlier:
        remarks.append(f"{visit.person.name} has not finished session {', '.join(map(str, sorted(earlier)))}")
    for sentence in remarks:
        print(f"spanlab: {sentence}", file=sys.stderr)


def _window(study: Study, window: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of the window: those of the options, or else those of the study's display
    file."""
    from ..sessions.people import check_patch

    check_patch(
        window.get("patch") or "",
        (
            planned.compile(one.paradigm, "corrected")
            for one in study.paradigms
            for planned in one.plan(1, balanced=False)
        ),
    )
    study_font = {} if study.font is None else {"font": str(study.font)}
    box = {"buttons": study.buttons} if study.buttons else {}
    usual = {"palette": study.palette, "refractory": study.refractory, **study_font, **box}
    window = {**usual, **window}
    if study.display is None or "display" in window:
        return window
    if window.get("width_cm") is not None or "distance_cm" in window:
        print(
            f"spanlab: the options give the width and distance of the screen, so {study.display} is not used",
            file=sys.stderr,
        )
        return window
    return with_display({name: value for name, value in window.items() if name != "width_cm"}, study.display)


def _visit_request(study: Study, data: Path, options: StudyOptions, kind: Kind) -> VisitRequest:
    from ..sessions.studies.visit import VisitRequest, check_request

    several = len(study.sessions) > 1
    request = VisitRequest(
        participant=options.participant,
        session=options.session or ("1" if not several or kind == "simulated" else ""),
        number=options.number,
        language=options.language,
        fields=options.fields,
        existing=options.existing,
        kind=kind,
    )
    if not options.participant and kind != "simulated" and options.dialog and _display():
        return _asked(study, data, request)
    wrong = check_request(study, data, request)
    if wrong:
        expected = {
            field.name: f" ({field.expected()})" for field in study.fields if not options.fields.get(field.name)
        }
        lines = [
            f"  --{name}: {why}" if name in _OPTIONS else f"  --field {name}=...: {why}{expected.get(name, '')}"
            for name, why in wrong.items()
        ]
        how = (
            ""
            if options.participant or kind == "simulated" or _display()
            else " (there is no display for the dialog: DISPLAY is not set)"
        )
        raise SpanLabError("\n".join([f"{study.name} cannot begin{how}:", *lines]))
    return request


_OPTIONS = ("participant", "session", "number", "language", "existing")


def _display() -> bool:
    return not sys.platform.startswith("linux") or bool(os.environ.get("DISPLAY"))


def _asked(study: Study, data: Path, request: VisitRequest) -> VisitRequest:
    from ..agents.human.pages.dialog import ask
    from ..sessions.studies.visit import answered, check_request, questions

    def check(typed: Mapping[str, str]) -> Mapping[str, str]:
        return check_request(study, data, answered(study, request.kind, typed, request.session), study.languages[0])

    typed = ask(study.title, questions(study, data, request.kind, request), check, study.languages[0])
    if typed is None:
        raise SpanLabError("cancelled: no participant was entered, and no session was begun")
    return answered(study, request.kind, typed, request.session)


def _asking(agent: WindowAgent) -> Callable[[Visit], Mapping[str, Any]]:
    """Return a function that asks the participant the study's questions in a dialog, after consent."""
    from ..agents.human.pages.dialog import ask
    from ..sessions.studies.schema import read_typed
    from ..sessions.studies.visit import about_participant, to_ask
    from ..sessions.studies.visit_files import known_fields

    def answers(visit: Visit) -> Mapping[str, Any]:
        fields, language = visit.study.fields, visit.language
        known = known_fields(visit.folder.parent.parent, str(visit.person.name))
        if not (due := to_ask(fields, known)):
            return visit.fields
        agent.leave_screen()
        with catching(signal.SIG_DFL, *ENDING):  # the dialog's own loop would not let a handler run
            typed = ask(
                visit.study.title,
                [about_participant(field, language) for field in due],
                lambda typed: read_typed(fields, typed, known, language)[1],
                language,
            )
        if typed is None:
            raise SpanLabError(f"cancelled: the questions about {visit.person.name} were not answered")
        return read_typed(fields, typed, known)[0]

    return answers


def _triggers(entry: StudyParadigm, port: str) -> dict[str, Any]:
    from ..sessions.triggers import trigger_request

    return {"triggers": trigger_request(entry.paradigm, port, entry.entry.triggers)} if port else {}


class _telling:  # noqa: N801 - a context manager, named as it reads
    """A progress bar for each paradigm, one after the other."""

    def __init__(self) -> None:
        self._bar: Any = None

    def __enter__(self) -> Any:
        def begins(session: Any) -> Any:
            self._end()
            self._bar = progress_bar(f"{session.info['participant']} · {session.paradigm.name}")
            return self._bar.__enter__()

        return begins

    def _end(self) -> None:
        if self._bar is not None:
            self._bar.__exit__(None, None, None)
            self._bar = None

    def __exit__(self, *error: object) -> None:
        self._end()


#: options of which the command that goes on has its own; True where a value follows
_REPLACED = {
    "--participant": True,
    "--session": True,
    "--number": True,
    "--field": True,
    "--existing": True,
    "--dialog": False,
    "--no-dialog": False,
}


def _again(typed: Sequence[str], visit: Visit) -> str:
    """The command that goes on: what was typed, for this participant and session; ``resume`` as it
    was typed."""
    from ..sessions.studies.visit_files import fields_due

    if typed[:1] == ["resume"]:
        return shlex.join(["spanlab", *typed])
    kept: list[str] = []
    left = iter(typed)
    not_kept_yet = fields_due(visit.folder)
    for word in left:
        name, equals, _ = word.partition("=")
        if name not in _REPLACED or (name == "--field" and not_kept_yet):
            kept.append(word)
        elif _REPLACED[name] and not equals:
            next(left, None)
    return shlex.join(
        [
            "spanlab",
            *kept,
            "--participant",
            str(visit.person.name),
            "--session",
            str(visit.session),
            "--existing",
            "resume",
        ]
    )


@dataclass(frozen=True, slots=True)
class WayOn:
    """Continuation of an unfinished session of a study.

    Parameters
    ----------
    visit : folder of the session
    line : the command, with what must be said of it
    study : file of the study; empty where this command alone cannot go on: it is not here,
        questions are due, or people come by a link
    options : what would be typed after it
    data : data folder
    """

    visit: Path
    line: str
    study: str
    options: StudyOptions
    data: Path


def lines_to_go_on(folder: Path) -> list[str] | None:
    """Return the lines on each unfinished session of a study in a folder of its data; None for a
    folder that is not a study's."""
    ways = ways_on(folder)
    return None if ways is None else [way.line for way in ways]


def recorded_by(file: Path) -> Path:
    """The folder of a study's data, by the file of the study; any other path as it is.

    Raises
    ------
    SpanLabError
        where nobody has taken part in the study yet, as far as the default folder of data tells.
    """
    from ..sessions.studies.study import is_study, load_study
    from ..sessions.studies.visit_files import latest_visits

    if not file.is_file() or not is_study(file):
        return file
    folder = DATA / load_study(file).name
    if not latest_visits(folder.resolve()):
        raise SpanLabError(
            f"nobody has taken part in this study yet in {folder}; if its data are elsewhere, give their folder in"
            f" place of {file.name}"
        )
    return folder


def ways_on(folder: Path) -> list[WayOn] | None:
    """Return the continuation of each unfinished session of a study in a folder of its data; None
    for a folder that is not a study's."""
    from ..sessions.studies.visit_files import finished_on_record, latest_visits, read_journal

    visits = latest_visits(folder.resolve())
    if visits is None:
        return None
    over = [
        visit
        for visit in visits
        if finished_on_record(visit) or any(line["event"] == "left" for line in read_journal(visit))
    ]
    return [_way_on(visit) for visit in visits if visit not in over]


def _way_on(visit: Path) -> WayOn:
    from ..sessions.record.reader import read_session
    from ..sessions.record.session_info import in_browser
    from ..sessions.studies.visit_files import fields_due, read_head, states

    head, infos = read_head(visit), [read_session(state.folder) for state in states(visit).values()]
    data, here = visit.parents[2], Path.cwd()
    shown = data.relative_to(here) if data.is_relative_to(here) else data
    file, absent = _study_file(head["study"], here, data.parent)
    pilot, simulate = (
        head["kind"] == "pilot",
        (
            (infos[-1]["agent"].removeprefix("simulated:") if infos else "capacity")
            if head["kind"] == "simulated"
            else None
        ),
    )
    options = StudyOptions(head["participant"], str(head["session"]), "", {}, "resume", False, "", pilot, simulate)
    if any(map(in_browser, infos)):
        line = (
            f"{head['participant']} opens the same link again, while this runs:"
            f" {shlex.join(['spanlab', 'serve', file, '--data', str(shown)])}{absent}"
        )
        return WayOn(visit, line, "", options, data)
    words = [
        "spanlab",
        "run",
        file,
        "--participant",
        head["participant"],
        "--session",
        str(head["session"]),
        "--existing",
        "resume",
    ]
    words += ["--data", str(shown)] if shown != DATA else []
    words += ["--pilot"] if pilot else []
    words += ["--simulate", simulate] if simulate is not None else []
    due = fields_due(visit)
    line = f"{shlex.join(words)}{' with --field NAME=VALUE for each question about the participant' if due else ''}{absent}"  # noqa: E501
    return WayOn(visit, line, "" if absent or due else file, options, shown)


def decide(folder: Path, skip: str, repeat: str, reason: str) -> None:
    """Skip a paradigm of the session of a study in a folder, or have it taken again.

    Raises
    ------
    SpanLabError
        where that is not possible, or the folder has several sessions.
    """
    from ..sessions.studies import visit_files
    from ..sessions.studies.visit_files import latest_visits

    visits = latest_visits(folder.resolve())
    if visits is None or len(visits) != 1:
        raise SpanLabError(
            f"--skip and --repeat are for one session of a study, such as data/STUDY/P01/session-1, and {folder} is"
            " none"
        )
    if skip:
        visit_files.skip(visits[0], skip, reason)
    if repeat:
        visit_files.repeat(visits[0], repeat, reason)


def _study_file(name: str, *folders: Path) -> tuple[str, str]:
    """The file of a study, looked for in some folders; and what must be said where it is in none."""
    from ..core.json_values import as_object
    from ..paradigms.language.yaml_source import read
    from ..sessions.studies.study import is_study

    for file in (path for folder in folders for path in sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")])):
        if is_study(file) and as_object(read(file).data).get("study") == name:
            return str(file.relative_to(folders[0]) if file.is_relative_to(folders[0]) else file), ""
    return "STUDY.yaml", f" (STUDY.yaml stands for the file of the study {name}, which is not here)"


def too_short(percepts: Iterable[Percept]) -> list[str]:
    """Say which displays a usual screen of 60 Hz cannot show as they are planned."""
    from ..agents.human.display.frames import FrameGrid, complaints
    from ..agents.human.input.steps import time_of

    planned = {
        (percept.phase, ms): None
        for percept in percepts
        for index in range(len(percept.displays))
        if (ms := time_of(percept, index)) is not None
    }
    return complaints(planned, FrameGrid(60.0))


def check_study(file: Path, details: bool = False) -> list[str]:
    """Validate a study, and compile trials of its paradigms; one line that says what was checked,
    and those of what is lacking or, with details, durations."""
    from ..agents.human.display.file import read_display
    from ..paradigms import AnswerKeys
    from ..paradigms.checking import check_paradigm
    from ..paradigms.translation import untranslated
    from ..sessions.key_mapping import check_answerable, check_buttons, check_keys
    from ..sessions.studies.battery import consent_pages
    from ..sessions.studies.study import load_study

    study = load_study(file)
    if study.display is not None:
        try:
            read_display(study.display)
        except SpanLabError as error:
            raise SpanLabError(f"{file.name} display: {error}") from None
    if study.keys.own or study.buttons:
        steps = [
            step
            for one in study.paradigms
            for planned in one.plan(1, balanced=False)
            for step in planned.compile(one.paradigm, one.entry.generator).steps
        ]
        try:
            keys = AnswerKeys(custom=dict(study.keys.own))
            kinds_asked = dict.fromkeys(step.percept.ask.kind for step in steps if step.percept.ask is not None)
            check_keys(keys, kinds_asked)
            as_asked = [kind.with_keys(keys) for kind in kinds_asked]
            check_answerable(as_asked)
            if study.buttons:
                check_buttons(keys, study.buttons, as_asked, consent_pages(study))
        except SpanLabError as error:
            raise SpanLabError(f"{file.name} keys: {error}") from None
    problems: list[str] = []
    short: list[str] = []
    for source, paradigm in {one.source: one.paradigm for one in study.paradigms}.items():
        kinds: dict[ResponseKind, None] = {}
        percepts: list[Percept] = []

        def note(
            _: Paradigm,
            trial: Trial,
            kinds: dict[ResponseKind, None] = kinds,
            percepts: list[Percept] = percepts,
        ) -> None:
            kinds.update(dict.fromkeys(trial.kinds))
            percepts.extend(step.percept for step in trial.steps)

        check_paradigm(source, note)
        short += [f"{paradigm.name}, {one}" for one in too_short(percepts)]
        problems += [
            one if "the window" in one else f"{paradigm.name}, {one}"
            for one in untranslated(paradigm.data, kinds, study.languages)
        ]
    for group in [one.name for one in study.groups] or [""]:
        for one in study.of_group(group).paradigms_in_use:
            try:
                one.plan(1)
            except SpanLabError as error:
                of_group = f"groups > {group} > " if group else ""
                raise SpanLabError(f"{file.name} {of_group}paradigms > {one.name}: {error}") from None
    groups = f", {len(study.groups)} groups" if study.groups else ""
    several = "s" if len(study.sessions) > 1 else ""
    paradigms = f"{len(study.paradigms)} paradigm{'s' * (len(study.paradigms) != 1)}"
    line = (
        f"{'' if file.stem == study.name else f'{file.name}: '}{study.name} is fine ({paradigms}, {len(study.sessions)}"
        f" session{several}{groups})"
    )
    return [
        line,
        *(_how_long(study) if details else ()),
        *short,
        *(f"language {one}" for one in dict.fromkeys(problems)),
    ]


def _how_long(study: Study) -> Iterable[str]:
    """Print the expected duration of each session, in each group."""
    from ..paradigms import plan_practice
    from ..paradigms.duration import Duration, duration_of, minutes

    for group in [one.name for one in study.groups] or [""]:
        as_taken = study.of_group(group)
        lasting: dict[str, Duration] = {}
        adaptive: set[str] = set()
        for one in as_taken.paradigms_in_use:
            plan = one.plan(1, balanced=False)
            adaptive |= {one.name} if any(planned.varies for planned in plan) else set()
            practice = plan_practice(one.paradigm, 1) if one.entry.practice else []
            lasting[one.name] = duration_of(one.paradigm, [*plan, *practice], one.entry.generator)
        for number, taken in enumerate(as_taken.sessions, start=1):
            names = [study.paradigms[n].name for n in taken]
            breaks = (study.breaks.seconds if study.breaks is not None else 0.0) * (len(names) - 1)
            whole, assumed = (
                sum(lasting[name].seconds for name in names) + breaks,
                sum(lasting[name].assumed_s for name in names),
            )
            rest_of = [name for name in names if name in adaptive]
            counted = (
                f"; {' and '.join(rest_of)} adaptive, counted as the most trials, each like the first"
                if rest_of
                else ""
            )
            session = f"session {number}" if len(study.sessions) > 1 else "session"
            parts = ", ".join(f"{name} {minutes(lasting[name].seconds)}" for name in names)
            rest = f"; {minutes(assumed)} of it assumed for self-paced answers and steps" if assumed else ""
            yield (
                f"{session}{f' of group {group}' if group else ''}: about {minutes(whole)} ({parts}{rest}{counted};"
                " pages and pauses are not counted)"
            )


@public
def study_status(study: StudyArgument, *, data: DataOption = "data") -> Result:
    """Show who has finished what in a study."""
    from ..sessions.studies.monitoring import overview
    from ..sessions.studies.study import load_study

    table = overview(load_study(study), Path(data))
    if not table.rows:
        return Result([f"nobody has taken part in {table.study} yet (in {Path(data) / table.study})"])
    return tabled("participants", table.header, table.rows, after=table.summary)


@public
def study_monitor(
    study: StudyArgument,
    *,
    data: DataOption = "data",
    once: Annotated[
        bool,
        typer.Option("--once", help="print the table once and end, as it also does when the output is not a terminal"),
    ] = False,
    every: Annotated[
        float, typer.Option("--every", help="seconds between updates", min=0.2, max=3600, metavar="S")
    ] = 2.0,
    everything: Annotated[
        bool, typer.Option("--all", help="show sessions without a sign in the last 24 hours, too")
    ] = False,
) -> Result:
    """Show the sessions of a study while they run: progress, accuracy, displays and trigger codes.
    It reads the records and writes nothing."""
    from ..analysis.data.timing import timing_in_short
    from ..sessions.studies.monitoring import Monitor
    from ..sessions.studies.study import load_study

    loaded = load_study(study)
    folder, look = Path(data) / loaded.name, Monitor(loaded, Path(data), timing_in_short).look
    if once or not sys.stdout.isatty():
        return shown_once(loaded.name, folder, look, everything)
    show_live(loaded.name, folder, look, every, everything)
    return Result()


@public
def study_withdraw(
    study: StudyArgument,
    participant: Annotated[str, typer.Argument(help="identifier of the participant", metavar="PARTICIPANT")],
    *,
    data: DataOption = "data",
    yes: Annotated[bool, typer.Option("--yes", help="do not ask for confirmation")] = False,
    forget: Annotated[
        bool, typer.Option("--forget-id", help="keep only the number, not the identifier, in the note that remains")
    ] = False,
) -> Result:
    """Remove the data of a participant who withdraws, and leave a note about it."""
    from ..sessions.session import day_here
    from ..sessions.studies.monitoring import belongings
    from ..sessions.studies.participants import find, left_over
    from ..sessions.studies.participants import withdraw as remove
    from ..sessions.studies.study import load_study

    loaded = load_study(study)
    folder = Path(data) / loaded.name
    person = find(folder, participant)
    if person is None:
        raise SpanLabError(
            f"{loaded.name} has no participant '{participant}' in {folder}; see spanlab study status {study}"
        )
    if person.name != participant:
        raise SpanLabError(f"{loaded.name} has no participant '{participant}'; there is '{person.name}'")
    owned = belongings(folder, person)
    if person.withdrawn and not owned.files and not forget and not left_over(folder):
        raise SpanLabError(f"{participant} withdrew on {day_here(person.withdrawn)}; nothing is left")
    print(f"To be removed permanently: {owned.files} files ({owned.size / 1e6:.1f} MB) in {folder / participant}")
    print(*(f"  {line}" for line in owned.lines), sep="\n")
    if not yes:
        if not sys.stdin.isatty():
            raise SpanLabError("nothing was removed: give --yes, or answer at a terminal")
        typer.confirm(f"Remove all data of {participant}?", abort=True)
    owned.check_idle()
    remove(folder, person, owned.sessions, forget)
    called = f"number {person.number}" if forget else participant
    return Result(
        [
            f"{called} has withdrawn; a note is in {folder / 'participants.jsonl'}. Remove reports, exports and copies"
            " elsewhere yourself."
        ]
    )


def shown_once(name: str, folder: Path, look: Callable[[float], list[MonitoredSession]], everything: bool) -> Result:
    """The table as it is now."""
    from ..sessions.studies.monitoring import describe_standings, standings, table_of

    now = time.time()
    seen = look(now)
    table = table_of(seen, now, everything)
    if not table.rows:
        which = "is" if everything else "had a sign in the last 24 hours"
        return Result([f"no session of {name} {which} in {folder}{_older(table.left_out)}"])
    below = f"{name}: {describe_standings(standings(seen))}{_older(table.left_out)}"
    return tabled("sessions", table.header, list(table.rows), after=below)


def show_live(
    name: str, folder: Path, look: Callable[[float], list[MonitoredSession]], every: float, everything: bool
) -> None:
    """Draw the table again and again, until Ctrl-C."""
    from rich.console import Group
    from rich.live import Live
    from rich.table import Table
    from rich.text import Text

    from ..sessions.studies.monitoring import describe_standings, standings, table_of

    with Live(refresh_per_second=4, screen=False) as live:
        try:
            while True:
                now = time.time()
                seen = look(now)
                rows = table_of(seen, now, everything)
                table = Table(*(rows.header or ("waiting for a session",)), box=None, pad_edge=False)
                for line, state in zip(rows.rows, rows.states, strict=True):
                    table.add_row(*(Text(cell) for cell in line), style=_style(state))
                clock = time.strftime("%H:%M:%S", time.localtime(now))
                counts = f": {describe_standings(standings(seen))}" if seen else ""
                live.update(
                    Group(
                        Text(
                            f"{name} in {folder}, {clock}{counts}{_older(rows.left_out)} (Ctrl-C ends this; nothing is"
                            " written)\n",
                            style="dim",
                        ),
                        table,
                    )
                )
                time.sleep(every)
        except KeyboardInterrupt:
            return


def _style(state: str) -> str:
    alarming = {"silent": "yellow", "interrupted": "yellow", "dropped out": "yellow", "unreadable": "red"}
    return {"running": "bold", "finished": "dim", **alarming}.get(state, "")


def _older(many: int) -> str:
    return f"; {many} older {'row' if many == 1 else 'rows'} with --all" if many else ""
