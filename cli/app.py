"""The command line: its commands, and how their errors are shown. Only the command line may import everything; each command imports what it needs."""

from __future__ import annotations

import functools
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Protocol, runtime_checkable

import typer

from ..core.errors import SpanLabError
from ..core.version import __version__
from .commands.analysing import figure, scores
from .commands.checking import check
from .commands.comparing import compare
from .commands.display import display, timing
from .commands.exchange import export_app, formats, import_app, migrate
from .commands.listing import list_, parts, providers, timetable
from .commands.neural import neural
from .commands.planning import methods, plan
from .commands.preview import preview, show
from .commands.replay import batch, replay, resume
from .commands.reproduce import reproduce
from .commands.run import run, serve
from .commands.score_choices import score_choices
from .commands.starting import new
from .commands.statistics import stats
from .commands.study import monitor, status, withdraw
from .commands.training import sweep, train
from .commands.transcript import transcript

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


@functools.cache
def _command() -> Callable[..., object]:
    """All commands, made once in a process: it takes longer than most of them."""
    return typer.main.get_command(app)


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
        _command()(standalone_mode=False, prog_name="spanlab")
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
app.command()(show)
app.command()(check)
app.command()(parts)
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
app.command()(timetable)


@app.command()
def demo(
    me: Annotated[bool, typer.Option("--me", help="you are the participant (needs a screen)")] = False,
    browser: Annotated[bool, typer.Option("--browser", help="the simulated participant sits at a page in Chromium, not at a PsychoPy window")] = False,
    everything: Annotated[bool, typer.Option("--all", help="nine paradigms for machines instead of two (about three times as long)")] = False,
    output: Annotated[Path, typer.Option("-o", "--output", help="folder for sessions and report", metavar="DIR")] = Path("demo"),
) -> None:
    """Show everything in a few minutes: a participant, a scripted chat server, a network and simulated observers take the same trials; then the report."""
    from .demo import run_demo

    run_demo(output, me, everything, browser)
