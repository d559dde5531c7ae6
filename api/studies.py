"""Studies: sessions of a battery, the status of a study, and withdrawals."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import typer

from ..core.errors import SpanLabError
from .options import DataOption, PathLike, Result, Words, progress_bar, public, tabled, with_display

if TYPE_CHECKING:
    from ..agents.window import WindowAgent
    from ..paradigms import Percept, ResponseKind, Trial
    from ..sessions.people import Seat
    from ..sessions.studies.battery import Battery
    from ..sessions.studies.monitoring import Monitor
    from ..sessions.studies.participants import Person
    from ..sessions.studies.study import Study, StudyParadigm
    from ..sessions.studies.visit import Visit, VisitRequest
    from ..sessions.studies.withdrawal import Belongings, Traces

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


def parse_fields(pairs: Sequence[str] | None) -> dict[str, str]:
    """``["age=23"]`` to ``{"age": "23"}``."""
    fields: dict[str, str] = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals or not name or not value.strip() or name in fields:
            raise SpanLabError(f"takes NAME=VALUE, each name once, such as age=23; found '{pair}'", option="field")
        fields[name] = value
    return fields


def run_study(
    file: str,
    data: Path,
    request: VisitRequest,
    seat: Seat,
    dialog: bool = True,
    as_before: bool = False,
) -> tuple[str, ...]:
    """Run a session of a study with the participant that the request or the dialog names.

    Parameters
    ----------
    dialog : whether somebody may be asked in a window who it is
    as_before : True where the window of a session that goes on is to be as it was, but for a port
        and a screen that are given
    """
    from ..agents.human import seating
    from ..sessions.studies.battery import Battery
    from ..sessions.studies.study import load_study
    from ..sessions.studies.visit import as_begun, foresee

    study, window = load_study(file), dict(seat.window)
    port = str(window.get("triggers") or "")
    for one in study.paradigms:
        _triggers(one, port)  # what is wrong with the codes of any is told before somebody sits down
    request = _visit_request(study, data, request, dialog)
    begun, settings = as_begun(study, data, request)
    if as_before and "fullscreen" in settings:  # what somebody without a window of ours took has none
        place = {**seating.window_again(settings, window.get("screen")), "triggers": port}
    else:
        place = {**seating.defaults_of_then(settings), **_window(begun, window)}
    agent = seating.seat(seat.simulate, 1, place)
    with ExitStack() as bars:

        def progress(session: Any) -> Callable[[int, int], None]:
            """A bar for each paradigm, one after the other."""
            bars.close()
            return bars.enter_context(progress_bar(f"{session.info['participant']} · {session.paradigm.name}"))

        ask = _asking(agent) if request.asked_later else None
        pilot = request.kind == "pilot"
        battery = Battery(
            foresee(study, data, request), agent, pilot, lambda one: _triggers(one, port), progress, ask=ask
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
        raise SpanLabError(
            f"{error}\nTo ask again, run the same command; nothing that identifies the participant is kept"
        ) from None
    except QuizLeftError as error:
        print(f"spanlab: {error}", file=sys.stderr)
    except (KeyboardInterrupt, SpanLabError) as error:
        what = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
        any_done = any(state.done for state in states(visit.folder).values())
        safe = "The finished trials are safe." if any_done else "No trial is finished yet."
        raise SpanLabError(f"{what}\n{safe} Continue with: {_again(visit.folder)}") from None
    return (str(visit.folder),)


def _tell_how(study: Study, visit: Visit, request: VisitRequest, goes_on: bool, data: Path) -> None:
    """Print what an assistant might not expect of a session, on stderr."""
    from ..sessions.studies.monitoring import finished_sessions
    from ..sessions.studies.visit_files import fields_due

    remarks: list[str] = []
    if goes_on:
        if visit.study.hash != study.hash:
            remarks.append("the study file has changed since this session began; it continues as it began")
        if any(value.strip() for value in request.fields.values()) and not fields_due(visit.folder):
            remarks.append("the entries about the participant stay as they were when the session began")
        if request.language not in ("", visit.language):
            remarks.append(f"it goes on in the language in which it began ({visit.language})")
    earlier = set(range(1, visit.session)) - finished_sessions(data / study.name, str(visit.person.name))
    if earlier:
        remarks.append(f"{visit.person.name} has not finished session {', '.join(map(str, sorted(earlier)))}")
    for sentence in remarks:
        print(f"spanlab: {sentence}", file=sys.stderr)


def _window(study: Study, window: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of the window: those of the options, or else those of the study's display
    file."""
    said = {
        "font": study.font and str(study.font),
        "buttons": study.buttons,
        "scanner": study.start and study.start.pulse,
    }
    usual = {"palette": study.palette, **{name: value for name, value in said.items() if value}}
    usual |= {"focus": study.focus} if study.focus != "needed" else {}
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


def _visit_request(study: Study, data: Path, request: VisitRequest, dialog: bool) -> VisitRequest:
    from ..sessions.studies.visit import check_request

    somebody = request.participant or request.kind == "simulated"
    if not request.session and (len(study.sessions) == 1 or request.kind == "simulated"):
        request = replace(request, session="1")
    if not somebody and dialog and _display():
        return _asked(study, data, request)
    if wrong := check_request(study, data, request):
        expected = {
            field.name: f" ({field.expected()})" for field in study.fields if not request.fields.get(field.name)
        }
        lines = [
            f"  {{{name}}}: {why}" if name in _OPTIONS else f"  {{field}} {name}=...: {why}{expected.get(name, '')}"
            for name, why in wrong.items()
        ]
        how = "" if somebody or _display() else " (there is no display for the dialog: DISPLAY is not set)"
        raise SpanLabError("\n".join([f"{study.name} cannot begin{how}:", *lines]), names=[*_OPTIONS, "field"])
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


def _again(visit: Path) -> str:
    """What goes on with a session of a study. How somebody sits at the window is known once a
    paradigm has begun, and what was asked about the participant once it is kept."""
    from ..sessions.studies.visit_files import fields_due, states

    if states(visit) and not fields_due(visit):
        return f"spanlab resume {shlex.quote(str(visit))}"
    head = f"--participant {visit.parent.name} --session {visit.name.split('-')[1]} --existing resume"
    return f"the same command with {head}"


def unfinished(folder: Path) -> list[Path] | None:
    """The unfinished sessions of a study in a folder of its data; None for a folder that is not a
    study's."""
    from ..sessions.studies.visit_files import finished_on_record, latest_visits, read_journal

    visits = latest_visits(folder.resolve())
    if visits is None:
        return None
    return [
        visit
        for visit in visits
        if not finished_on_record(visit) and all(line["event"] != "left" for line in read_journal(visit))
    ]


def resume_visit(visit: Path, window: dict[str, Any]) -> tuple[str, ...]:
    """Go on with a session of a study.

    Raises
    ------
    SpanLabError
        where this takes more than the record has; the message says how it goes on.
    """
    from ..sessions.people import Seat
    from ..sessions.record.reader import read_session
    from ..sessions.record.session_info import in_browser
    from ..sessions.studies.visit import VisitRequest
    from ..sessions.studies.visit_files import fields_due, read_head, states

    head, infos = read_head(visit), [read_session(state.folder) for state in states(visit).values()]
    data, here = visit.parents[2], Path.cwd()
    data = data.relative_to(here) if data.is_relative_to(here) else data
    file = _study_file(head["study"], here, visit.parents[3])
    if any(map(in_browser, infos)):
        raise SpanLabError(
            f"{head['participant']} opens the same link again, while this runs: spanlab serve {file or 'STUDY.yaml'}"
            f" --data {data}"
        )
    who = f"--participant {head['participant']} --session {head['session']} --existing resume --data {data}"
    if fields_due(visit):
        raise SpanLabError(
            f"{visit} lacks what the study asks about the participant: spanlab run {file or 'STUDY.yaml'} {who} --field"
            " NAME=VALUE"
        )
    if not file:
        raise SpanLabError(f"the file of the study {head['study']} is not here: spanlab run STUDY.yaml {who}")
    simulate = None
    if head["kind"] == "simulated":
        simulate = infos[-1]["agent"].removeprefix("simulated:") if infos else "capacity"
    request = VisitRequest(head["participant"], str(head["session"]), existing="resume", kind=head["kind"])
    return run_study(file, data, request, Seat(head["participant"], window, simulate), as_before=True)


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
            f"{{skip}} and {{repeat}} are for one session of a study, such as data/STUDY/P01/session-1, and {folder} is"
            " none",
            names=["skip", "repeat"],
        )
    if skip:
        visit_files.skip(visits[0], skip, reason)
    if repeat:
        visit_files.repeat(visits[0], repeat, reason)


def _study_file(name: str, *folders: Path) -> str:
    """The file of a study, looked for in some folders; empty where it is in none."""
    from ..core.json_values import as_object
    from ..paradigms.language.yaml_source import read
    from ..sessions.studies.study import is_study

    files = (path for folder in folders for path in sorted(folder.glob("*.y*ml")))
    return next((str(path) for path in files if is_study(path) and as_object(read(path).data).get("study") == name), "")


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


def _kinds(paradigms: Iterable[StudyParadigm]) -> list[ResponseKind]:
    """The questions of some paradigms."""
    asks = (
        step.percept.ask
        for one in paradigms
        for planned in one.plan(1, balanced=False)
        for step in planned.compile(one.paradigm, one.entry.generator).steps
    )
    return list(dict.fromkeys(ask.kind for ask in asks if ask is not None))


def _looked_at(source: str) -> tuple[list[ResponseKind], list[str]]:
    """Check a paradigm; the kinds of its questions, and which displays a usual screen cannot show."""
    from ..paradigms.checking import check_paradigm

    trials: list[Trial] = []
    check_paradigm(source, lambda _, trial: trials.append(trial))
    return (
        [*dict.fromkeys(kind for trial in trials for kind in trial.kinds)],
        too_short(step.percept for trial in trials for step in trial.steps),
    )


#: it does not change, and a study that is being written is checked at every pause
_of_the_library = cache(_looked_at)


def check_study(file: Path, details: bool = False) -> list[str]:
    """Validate a study, and compile trials of its paradigms; one line that says what was checked,
    and those of what is lacking or, with details, durations."""
    from ..agents.human.display.file import read_display
    from ..agents.human.input.buttons import check_box
    from ..paradigms import AnswerKeys
    from ..paradigms.language.yaml_source import in_library
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
    if study.keys.own or study.buttons or study.start:
        keys = AnswerKeys(custom=dict(study.keys.own))
        kinds_asked = _kinds(study.paradigms)
        try:
            check_keys(keys, kinds_asked)
            as_asked = [kind.with_keys(keys) for kind in kinds_asked]
            check_answerable(as_asked)
            if study.buttons:
                check_buttons(keys, study.buttons, as_asked, consent_pages(study))
            if study.start is not None:
                scanned = _kinds(one for one in study.paradigms if one.entry.scanned)
                as_asked = [kind.with_keys(keys) for kind in scanned]
                check_box(study.start.pulse, as_asked, consent_pages(study), pulses=True)
        except SpanLabError as error:
            raise SpanLabError(f"{file.name} keys: {error}") from None
    problems, short = list[str](), list[str]()
    for source, paradigm in {one.source: one.paradigm for one in study.paradigms}.items():
        kinds, too_brief = (_of_the_library if in_library(source) else _looked_at)(source)
        short += [f"{paradigm.name}, {one}" for one in too_brief]
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
    """Show who has finished what in a study.

    Examples
    --------
    >>> study = spanlab.new("study", "my_study").file
    >>> print(spanlab.study_status(study))
    nobody has taken part in my_study yet (in data/my_study)
    """
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
        bool, typer.Option("--all", help="also show sessions that have recorded nothing in the last 24 hours")
    ] = False,
) -> Result:
    """Show the sessions of a study while they run: progress, accuracy, displays and trigger codes.
    It reads the records and writes nothing.

    Examples
    --------
    >>> study = spanlab.new("study", "my_study").file
    >>> print(spanlab.study_monitor(study, once=True))
    no session of my_study recorded anything in the last 24 hours in data/my_study
    """
    from ..analysis.data.timing import timing_in_short
    from ..sessions.studies.monitoring import Monitor
    from ..sessions.studies.study import load_study

    loaded = load_study(study)
    monitor = Monitor(loaded, Path(data), timing_in_short)
    if once or not sys.stdout.isatty():
        return _now(monitor, loaded.name, Path(data), everything)
    from rich.live import Live
    from rich.text import Text

    with Live(refresh_per_second=4) as live, suppress(KeyboardInterrupt):
        while True:
            table = _now(monitor, loaded.name, Path(data), everything)
            live.update(Text(f"{time.strftime('%H:%M:%S')} (Ctrl-C ends this; nothing is written)\n\n{table}"))
            time.sleep(every)
    return Result()


def _now(monitor: Monitor, name: str, data: Path, everything: bool) -> Result:
    """The sessions of a study as they are now."""
    from ..sessions.studies.monitoring import describe_standings, standings, table_of

    now = time.time()
    seen = monitor.look(now)
    table = table_of(seen, now, everything)
    rows = "row" if table.left_out == 1 else "rows"
    older = f"; {table.left_out} older {rows} with --all" if table.left_out else ""
    if not table.rows:
        which = "is" if everything else "recorded anything in the last 24 hours"
        return Result([f"no session of {name} {which} in {data / name}{older}"])
    below = f"{name}: {describe_standings(standings(seen))}{older}"
    return tabled("sessions", table.header, list(table.rows), after=below)


@public
def study_withdraw(
    study: Annotated[
        PathLike,
        typer.Argument(help="study file, or the paradigm of a session outside studies", metavar="STUDY_OR_PARADIGM"),
    ],
    participant: Annotated[str, typer.Argument(help="identifier of the participant", metavar="PARTICIPANT")],
    *,
    data: DataOption = "data",
    yes: Annotated[bool, typer.Option("--yes", help="do not ask for confirmation")] = False,
    forget: Annotated[
        bool, typer.Option("--forget-id", help="keep only the number, not the identifier, in the note that remains")
    ] = False,
) -> Result:
    """Remove the data of a participant who withdraws, and what else in the data folder names the
    participant; a study keeps a note about it.

    Examples
    --------
    >>> study = spanlab.new("study", "my_study").file
    >>> spanlab.study_withdraw(study, "P01", yes=True)
    Traceback (most recent call last):
    ...
    spanlab.core.errors.SpanLabError: my_study has no participant 'P01' in data/my_study; see ...
    """
    from ..paradigms.language.yaml_source import in_library
    from ..sessions.studies import withdrawal
    from ..sessions.studies.participants import PLACES
    from ..sessions.studies.participants import withdraw as leave
    from ..sessions.studies.study import is_study

    root, study = Path(data), str(study)
    alone = in_library(study) or (Path(study).is_file() and not is_study(study))
    person, folder, place = None if alone else _withdrawing(study, participant, root, forget), root, root
    if person is None:
        owned = withdrawal.of_paradigm(root, study, participant)
    else:
        folder = root / person[0]
        place = folder / participant
        owned = withdrawal.in_study(folder, person[1])
    found = withdrawal.traces(root, participant, owned)
    if not (person or owned.folders or found.replays):
        raise SpanLabError(f"{participant} has no session of {study} in {root} outside studies")
    lines = _removal(owned, found, place)
    if not yes:
        print(*lines, sep="\n")
        lines.clear()
        if not sys.stdin.isatty():
            raise SpanLabError("nothing was removed: give {yes}, or answer at a terminal", names=["yes"])
        typer.confirm(f"Remove all data of {participant}?", abort=True)
    owned.check_idle()
    found.clear()
    if person is None:
        withdrawal.remove(owned.folders)
        told = f"{participant} has withdrawn from {study}."
    else:
        leave(folder, person[1], len(owned.names), forget)
        called = f"number {person[1].number}" if forget else participant
        told = f"{called} has withdrawn; a note is in {folder / PLACES}."
    lines += [
        f"{told} Remove exports and copies elsewhere yourself; a server that runs keeps its notices until it is ended."
    ]
    for line, paths in (
        ("These files name the participant, too; make them again, or remove them:", found.files),
        (f"Other sessions of {participant} stay; name their paradigm or study to remove them:", found.others),
    ):
        lines += [line, *(f"  {path}" for path in paths)] if paths else []
    packed = f"These files cannot be searched: {', '.join(map(str, found.packed))}"
    return Result([*lines, *[packed] * bool(found.packed)])


def _removal(owned: Belongings, found: Traces, place: Path) -> list[str]:
    """What is going to be removed, which is said before anybody agrees to it."""
    lines = [f"To be removed permanently: {owned.files} files ({owned.size / 1e6:.1f} MB) in {place}"]
    lines += [f"  {line}" for line in owned.lines]
    for line, paths in (
        ("the same answers, given again by a program, or left by an interrupted withdrawal", found.replays),
        ("made again when it is needed", found.kept),
        ("has the same trials; the name of the session is taken out", found.linked),
    ):
        lines += [f"  {path}: {line}" for path in paths]
    return lines


def _withdrawing(study: str, participant: str, data: Path, forget: bool) -> tuple[str, Person]:
    """The name of a study, and who withdraws from it.

    Raises
    ------
    SpanLabError
        when there is no such participant, or nothing is left to remove.
    """
    from ..sessions.session import day_here
    from ..sessions.studies.participants import find, left_over
    from ..sessions.studies.study import load_study
    from ..sessions.studies.withdrawal import in_study

    loaded = load_study(study)
    folder = data / loaded.name
    person = find(folder, participant)
    if person is None:
        raise SpanLabError(
            f"{loaded.name} has no participant '{participant}' in {folder}; see spanlab study status {study}"
        )
    if person.name != participant:
        raise SpanLabError(f"{loaded.name} has no participant '{participant}'; there is '{person.name}'")
    if person.withdrawn and not in_study(folder, person).files and not forget and not left_over(folder):
        raise SpanLabError(f"{participant} withdrew on {day_here(person.withdrawn)}; nothing is left")
    return loaded.name, person
