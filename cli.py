"""The command line: its commands, and how their errors are told. The command line alone may import everything; each command imports what it needs."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import __version__
from .arguments import (
    DataOption,
    DesignOption,
    GeneratorOption,
    ParadigmArgument,
    SeedOption,
    SetOption,
    TrialsOption,
    TriggersOption,
    parse_generator,
    parse_settings,
)
from .commands.display import display
from .commands.exchange import export_app, import_app
from .commands.listing import list_, print_table
from .commands.preview import preview
from .commands.run import DATA, run
from .commands.running import begin_session, machine, one_trial, person, plan_trials, run_session, window_again
from .commands.study import status, withdraw
from .commands.timing import timing
from .errors import SpanLabError

if TYPE_CHECKING:
    from .paradigms import Paradigm, PlannedTrial
    from .sessions import Request

app = typer.Typer(
    name="spanlab",
    help="One working-memory experiment for people and machines: run it in the lab, replay it against models, compare the curves.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(import_app, name="import")
app.add_typer(export_app, name="export")


def main() -> None:
    """Entry point: every foreseen problem is one clear sentence on stderr and a non-zero exit."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a letter shows its number.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        for argument in sys.argv[1:]:
            if any("\ud800" <= one <= "\udfff" for one in argument):
                raise SpanLabError(f"the argument {argument!a} is no UTF-8 text; give the file or the person another name")
        app(standalone_mode=False, prog_name="spanlab")
    except SpanLabError as error:
        _stop(str(error), 1)
    except KeyboardInterrupt:
        _stop("interrupted", 130)
    except typer.Abort:
        _stop("stopped", 130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    except Exception as error:
        # click's own complaints about the command line
        if hasattr(error, "format_message") and hasattr(error, "exit_code"):
            context = getattr(error, "ctx", None)
            message = error.format_message()  # type: ignore[attr-defined]
            hint = f" (see {context.command_path} --help)" if context is not None and "\n" not in message else ""
            _stop(f"{message}{hint}", error.exit_code)  # type: ignore[attr-defined]
        raise


def _stop(message: str, code: int) -> None:
    print(f"spanlab: {message}" if "\n" not in message else message, file=sys.stderr)
    sys.exit(code)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"spanlab {__version__}")
        raise typer.Exit


@app.callback()
def _options(version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="show the version")] = False) -> None: ...


app.command("list")(list_)


@app.command()
def show(
    paradigm: ParadigmArgument,
    output: Annotated[Path, typer.Option("-o", "--output", help="PNG file to write", metavar="FILE")],
    set_: SetOption = None,
    seed: Annotated[int, typer.Option("--seed", help="seed of the trial", min=0)] = 1,
    generator: GeneratorOption = "corrected",
) -> None:
    """A picture of one trial's timeline: every display, its phase, its ms, the question and the correct answer."""
    from .paradigms.picture import trial_picture

    loaded, trial = one_trial(paradigm, set_, seed, generator)
    picture = trial_picture(trial, loaded)
    try:
        picture.save(output, format="PNG", dpi=picture.info["dpi"])
    except OSError as error:
        raise SpanLabError(f"cannot write {output}: {error.strerror or error}") from None
    print(output)


@app.command()
def check(files: Annotated[list[Path], typer.Argument(help="files of paradigms and studies", metavar="FILE...")]) -> None:
    """Check files of paradigms and studies: every problem with its file, line and key."""
    from .commands.study import check_study
    from .paradigms.checking import check_paradigm
    from .sessions.study import is_study

    problems: list[str] = []
    for file in files:
        try:
            report = check_study(file) if is_study(file) else check_paradigm(file if os.path.exists(file) else str(file))
        except SpanLabError as error:
            problems.append(str(error))
        else:
            print(report)
    if problems:
        raise SpanLabError("\n".join(problems))


@app.command()
def parts(
    names: Annotated[list[str] | None, typer.Argument(help="stimuli, samplers or response kinds; all of them when none is named", metavar="[NAME...]")] = None,
    json_schema: Annotated[
        bool, typer.Option("--json-schema", help="a JSON Schema of paradigm files instead, for editors; spanlab parts --json-schema study: of study files")
    ] = False,
) -> None:
    """What a paradigm file can draw, show and ask, with all parameters: types, defaults and a line of help."""
    from .components import describe, nearest
    from .paradigms import RESPONSES, SAMPLERS
    from .stimuli import STIMULI

    if json_schema:
        import json

        from .paradigms.file_schema import file_schema
        from .sessions.study_schema import study_file_schema

        files = {"paradigm": file_schema, "study": study_file_schema}
        if len(names or []) > 1 or any(name not in files for name in names or []):
            raise SpanLabError("--json-schema describes whole files: name none of the parts, but paradigm (which it means when nothing is named) or study")
        print(json.dumps(files[names[0] if names else "paradigm"](), indent=1))
        return
    sorts = {"draw: samplers": describe(SAMPLERS), "show: stimuli": describe(STIMULI), "ask: response kinds": describe(RESPONSES)}
    known = {part.name for described in sorts.values() for part in described}
    for name in names or []:
        if name not in known:
            raise SpanLabError(f"there is no part called '{name}'{nearest(name, known) or '; see spanlab parts'}")
    for sort, described in sorts.items():
        chosen = [part for part in described if not names or part.name in names]
        if chosen:
            print(f"{sort}\n")
        for part in chosen:
            print(f"{part}\n")


app.command()(run)
app.command()(preview)
app.command()(display)
app.command()(timing)
app.command()(status)
app.command()(withdraw)


@app.command()
def replay(
    paradigm: Annotated[
        str | None, typer.Argument(help="name in the library, or a YAML file; not needed with --like or --trials-from", metavar="[PARADIGM]")
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option("--agent", help="who takes the trials, such as ideal, network:laptop, chat:MODEL or recorded:SESSION; may be repeated", metavar="SPEC"),
    ] = None,
    trials: TrialsOption = None,
    seed: SeedOption = 1,
    set_: SetOption = None,
    like: Annotated[Path | None, typer.Option("--like", help="exactly the trials of this session", metavar="SESSION")] = None,
    trials_from: Annotated[Path | None, typer.Option("--trials-from", help="the trials of this file (see spanlab import)", metavar="FILE")] = None,
    data: DataOption = DATA,
    design: DesignOption = None,
    generator: GeneratorOption = "corrected",
    chat: Annotated[
        list[str] | None, typer.Option("--chat", help="setting of chat agents, such as temperature=0; may be repeated", metavar="NAME=VALUE")
    ] = None,
    pilot: Annotated[bool, typer.Option("--pilot", help="mark the data as pilot data")] = False,
) -> None:
    """A session with a machine: the same trials, step by step."""
    from .sessions import Request

    if not agent:
        raise SpanLabError("who takes the trials? Give --agent SPEC, such as --agent ideal or --agent network:laptop")
    if chat and not any(spec.startswith("chat:") for spec in agent):
        raise SpanLabError("--chat sets something for chat agents, and there is none; add --agent chat:MODEL, or leave it out")
    if like is not None:
        if set_ or trials is not None or design is not None or trials_from is not None:
            raise SpanLabError("--like takes exactly the trials of that session: leave out --set, --trials, --trials-from and --design")
        loaded, plan, request = _like(like, paradigm, pilot)
    elif trials_from is not None:
        if set_ or design is not None:
            raise SpanLabError(
                "--trials-from takes the trials of that file as they are: leave out --set and --design (and choose some at random with --trials)"
            )
        loaded, plan, request = _from_file(trials_from, paradigm, seed, trials, generator, pilot)
    elif paradigm is None:
        raise SpanLabError("which paradigm? Name one (see spanlab list), or give --like SESSION or --trials-from FILE")
    else:
        loaded, plan = plan_trials(paradigm, seed, set_, trials, design)
        request = Request(seed=seed, generator=parse_generator(generator), design=design or "human", pilot=pilot, source=paradigm)
    # All of them before the first begins: a slip in the last name shows at once.
    for taker in [machine(spec, request.seed, parse_settings(chat)) for spec in agent]:
        run_session(begin_session(data, loaded, taker, plan, request), taker)


def _like(session: Path, paradigm: str | None, pilot: bool) -> tuple[Paradigm, list[PlannedTrial], Request]:
    from .sessions import Request, same_trials

    other = same_trials(session)
    info = other.info
    if paradigm is not None and paradigm != info["paradigm_source"] and paradigm != other.paradigm.name:
        raise SpanLabError(f"{session} is a session of {other.paradigm.name}, not of {paradigm}")
    extra = {key: info[key] for key in ("trials_from",) if key in info}
    request = Request(
        seed=other.seed, generator=info["generator"], design=info["design"], pilot=pilot, like=other.name, source=info["paradigm_source"], extra=extra
    )
    return other.paradigm, list(other.plan), request


def _from_file(file: Path, paradigm: str | None, seed: int, trials: int | None, generator: str, pilot: bool) -> tuple[Paradigm, list[PlannedTrial], Request]:
    from .paradigms.trials_file import TrialsFile, plan_given
    from .sessions import Request

    opened = TrialsFile(file, paradigm)
    header = opened.header
    if generator not in ("corrected", header.generator):
        raise SpanLabError(f"the trials of {file} come from the {header.generator} generator: leave out --generator")
    request = Request(
        seed=seed,
        generator=header.generator,
        pilot=pilot,
        source=paradigm or header.paradigm,
        extra={"trials_from": {"file": file.name, "sha256": opened.sha256(), "source": header.source}},
    )
    return opened.paradigm, plan_given(opened, seed, trials), request


@app.command()
def resume(
    session: Annotated[Path, typer.Argument(help="folder of an unfinished session", metavar="SESSION")],
    triggers: TriggersOption = None,
) -> None:
    """Go on with a session that was interrupted, at the next trial."""
    from .sessions import complete, reopen

    if complete(session):
        print(f"nothing to do: every trial of {session} is finished")
        return
    opened = reopen(session)
    kind, settings = opened.info["agent_kind"], opened.info["agent_settings"]
    if triggers and "triggers" not in opened.info:
        raise SpanLabError(f"{session} began without trigger codes: leave out --triggers, or begin a new session")
    if kind in ("participant", "simulated"):
        port = triggers or opened.info.get("triggers", {}).get("port", "")
        window = {**window_again(settings), "triggers": port}
        observer = opened.info["agent"].partition(":")[2] if kind == "simulated" else None
        agent = person(observer, settings.get("seed", opened.seed), settings.get("speed", 1.0), window)
    else:
        chat = {name: value for name, value in settings.items() if name not in ("model", "endpoint")} if kind == "chat" else None
        agent = machine(opened.info["agent"], opened.seed, chat)
    run_session(opened, agent)


@app.command()
def train(
    config: Annotated[Path, typer.Argument(help="training configuration (YAML)", metavar="CONFIG")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="folder for checkpoint, log and card; runs/NAME when not given", metavar="DIR")] = None,
    resume_: Annotated[bool, typer.Option("--resume", help="go on from the last checkpoint")] = False,
) -> None:
    """Train a network on paradigms."""
    from .agents.network.training import train_from_file

    train_from_file(config, output, resume=resume_)


@app.command()
def compare(
    data: Annotated[list[Path], typer.Argument(help="sessions, or folders full of sessions", metavar="DATA...")],
    output: Annotated[Path, typer.Option("-o", "--output", help="folder for the report", metavar="DIR")],
    practice: Annotated[bool, typer.Option("--practice", help="include practice trials")] = False,
    pilot: Annotated[bool, typer.Option("--pilot", help="include pilot sessions")] = False,
) -> None:
    """Curves of people and machines side by side: report.html, figures and tables."""
    from .analysis.report import compare as write

    print(write(data, output, include_practice=practice, include_pilot=pilot))


@app.command()
def timetable(csv: Annotated[Path | None, typer.Option("--csv", help="write it to this file", metavar="FILE")] = None) -> None:
    """How long each phase lasts for people: the time-mapping table, rebuilt from the paradigms."""
    from .paradigms import list_paradigms, load_paradigm
    from .paradigms.timetable import timetable as rows_of

    rows = [row for name in list_paradigms() for row in rows_of(load_paradigm(name))]
    header, cells = ("task", "phase", "ms", "source"), [(row.task, row.phase, row.ms, row.source) for row in rows]
    if csv is None:
        print_table(header, cells)
        return
    import csv as csv_module

    try:
        with csv.open("w", newline="", encoding="utf-8") as file:
            csv_module.writer(file).writerows([header, *cells])
    except OSError as error:
        raise SpanLabError(f"cannot write {csv}: {error.strerror or error}") from None
    print(csv)


@app.command()
def demo(
    me: Annotated[bool, typer.Option("--me", help="you are the participant (needs a screen)")] = False,
    output: Annotated[Path, typer.Option("-o", "--output", help="folder for sessions and report", metavar="DIR")] = Path("demo"),
) -> None:
    """A few minutes: a participant, a scripted chat server, a network and simulated observers take the same trials; then the report."""
    from .demo import run_demo

    run_demo(output, me)


if __name__ == "__main__":
    main()
