"""The command line: its commands, and how their errors are shown. Only the command line may import everything; each command imports what it needs."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Annotated, Protocol, runtime_checkable

import typer

from ..core.errors import SpanLabError
from ..core.version import __version__
from .commands.analysing import figure, scores
from .commands.checking import check
from .commands.comparing import compare
from .commands.display import display
from .commands.exchange import export_app, formats, import_app, migrate
from .commands.listing import list_, print_table, providers
from .commands.neural import neural
from .commands.planning import methods, plan
from .commands.preview import preview
from .commands.replay import batch, replay, resume
from .commands.reproduce import reproduce
from .commands.run import run, serve
from .commands.score_choices import score_choices
from .commands.starting import new
from .commands.statistics import stats
from .commands.study import monitor, status, withdraw
from .commands.sweep import sweep
from .commands.timing import timing
from .commands.training import train
from .commands.transcript import transcript
from .options import GeneratorOption, ParadigmArgument, SetOption
from .running import one_trial

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
    """Run the command line: every foreseen problem becomes one clear sentence on stderr and a non-zero exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a letter shows its number.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        for argument in sys.argv[1:]:
            if any("\ud800" <= sign <= "\udfff" for sign in argument):
                raise SpanLabError(f"the argument {argument!a} is not UTF-8 text; give the file or the person another name")
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
        if isinstance(error, _Complaint):
            message, context = error.format_message(), getattr(error, "ctx", None)
            hint = f" (see {context.command_path} --help)" if context is not None and "\n" not in message else ""
            _stop(f"{message}{hint}", error.exit_code)
        raise


@runtime_checkable
class _Complaint(Protocol):
    """A complaint of click's own about the command line; typer has click under one name or another."""

    exit_code: int

    def format_message(self) -> str: ...


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
app.command()(new)


@app.command()
def show(
    paradigm: ParadigmArgument,
    output: Annotated[Path, typer.Option("-o", "--output", help="PNG file to write", metavar="FILE")],
    set_: SetOption = None,
    seed: Annotated[int, typer.Option("--seed", help="seed of the trial", min=0)] = 1,
    generator: GeneratorOption = "corrected",
) -> None:
    """Draw one trial's timeline: every display, its phase, its ms, the question and the correct answer."""
    from ..paradigms.preview.sheet import trial_picture

    loaded, trial = one_trial(paradigm, set_, seed, generator)
    picture = trial_picture(trial, loaded)
    try:
        picture.save(output, format="PNG", dpi=picture.info["dpi"])
    except OSError as error:
        raise SpanLabError(f"cannot write {output}: {error.strerror or error}") from None
    print(output)


app.command()(check)


@app.command()
def parts(
    names: Annotated[list[str] | None, typer.Argument(help="stimuli, samplers or response kinds; all of them when none is named", metavar="[NAME...]")] = None,
    json_schema: Annotated[
        bool, typer.Option("--json-schema", help="a JSON Schema of paradigm files instead, for editors; spanlab parts --json-schema study: of study files")
    ] = False,
) -> None:
    """List what a paradigm file can draw, show and ask, with all parameters: types, defaults and a line of help."""
    from ..core.registry import describe, nearest
    from ..paradigms import RESPONSES, SAMPLERS
    from ..stimuli import STIMULI

    if json_schema:
        import json

        from ..paradigms.language.file_schema import file_schema
        from ..sessions.studies.schema import study_file_schema

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
app.command()(serve)
app.command()(preview)
app.command()(display)
app.command()(timing)
app.command()(status)
app.command()(monitor)
app.command()(withdraw)


app.command()(replay)
app.command()(resume)
app.command()(transcript)
app.command("score-choices")(score_choices)
app.command()(batch)
app.command()(providers)
app.command()(neural)


app.command()(train)
app.command()(sweep)


app.command()(compare)
app.command()(figure)
app.command()(scores)
app.command()(stats)
app.command()(plan)
app.command()(methods)
app.command()(reproduce)
app.command()(formats)
app.command()(migrate)


@app.command()
def timetable(csv: Annotated[Path | None, typer.Option("--csv", help="write the table to this file", metavar="FILE")] = None) -> None:
    """Show how long each phase lasts for people: the time-mapping table, rebuilt from the paradigms."""
    from ..paradigms import list_paradigms, load_paradigm
    from ..paradigms.preview.timetable import timetable as rows_of

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
    everything: Annotated[bool, typer.Option("--all", help="nine paradigms for machines instead of two (about three times as long)")] = False,
    output: Annotated[Path, typer.Option("-o", "--output", help="folder for sessions and report", metavar="DIR")] = Path("demo"),
) -> None:
    """Show everything in a few minutes: a participant, a scripted chat server, a network and simulated observers take the same trials; then the report."""
    from .demo import run_demo

    run_demo(output, me, everything)
