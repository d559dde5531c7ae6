"""The command line, and how errors are shown on it. Only the command line may import everything;
each command imports what it needs."""

from __future__ import annotations

import functools
import gc
import io
import re
import sys
from typing import Annotated, Any, Protocol, runtime_checkable

import typer
from typer.core import TyperGroup
from typing_extensions import override

from ..core.errors import SpanLabError
from ..core.event_loop import ending_as_ctrl_c
from ..core.registry import nearest
from ..core.version import __version__
from .command_table import SETTINGS, TITLES, Commands, panel_of


class _Front(TyperGroup):
    """The command line, whose help lists the commands in panels, each with a whole sentence."""

    @override
    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] in _ELSEWHERE and args[0] not in self.commands:
            raise SpanLabError(f"there is no command '{args[0]}'; {_ELSEWHERE[args[0]]}")
        return super().resolve_command(ctx, args)

    @override
    def format_commands(self, ctx: Any, formatter: Any) -> None:
        panels: dict[str, list[tuple[str, str]]] = {panel: [] for panel in TITLES}
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                panels[panel_of(name)].append((name, first_sentence(command.help or "")))
        for panel, rows in panels.items():
            if rows:
                with formatter.section(TITLES[panel]):
                    formatter.write_dl(rows)


def first_sentence(text: str) -> str:
    """The first sentence of a help text, in one line."""
    return re.split(r"(?<=[.!?])\s", " ".join(text.split()), maxsplit=1)[0]


app = typer.Typer(
    name="spanlab",
    help=(
        "One working-memory experiment for people and machines: run it in the lab, replay it against models, compare"
        " the curves."
    ),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    cls=_Front,
    **{**SETTINGS, "add_completion": True},
)


@functools.cache
def command_line() -> TyperGroup:
    """The command line as click has it: made once in a process, each command when it is used."""
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    group.commands = Commands()
    return group


#: what typer makes of Ctrl-C
_INTERRUPTED = 130


def main() -> None:
    """Run the command line: every foreseen problem becomes one clear sentence on stderr and a
    non-zero exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a letter shows its number.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        for argument in sys.argv[1:]:
            if any("\ud800" <= sign <= "\udfff" for sign in argument):
                raise SpanLabError(
                    f"the argument {argument!a} is not UTF-8 text; give the file or the person another name"
                )
        with ending_as_ctrl_c():
            if command_line()(standalone_mode=False, prog_name="spanlab") == _INTERRUPTED:
                raise KeyboardInterrupt
    except SpanLabError as error:
        _stop(str(error), 1)
    except KeyboardInterrupt:
        _stop("interrupted", _INTERRUPTED)
    except typer.Abort:
        _stop("stopped", 130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    except Exception as error:
        if isinstance(error, _Complaint):
            message, context = plain_words(error.format_message()), getattr(error, "ctx", None)
            unknown = getattr(error, "option_name", None)
            if unknown is not None:
                options = {name for one in context.command.params for name in one.opts} if context else set()
                meant = [
                    hint
                    for hint in _ELSEWHERE.get(unknown, "").splitlines()
                    if options & {*hint.split()} or "spanlab" in hint
                ]
                message = f"No such option: {unknown}" + (
                    f"; {meant[0]}" if meant else nearest(unknown, getattr(error, "possibilities", None) or ())
                )
            hint = f" (see {context.command_path} --help)" if context is not None and "\n" not in message else ""
            _stop(f"{message}{hint}", error.exit_code)
        raise
    finally:
        gc.freeze()  # the process ends now: nothing is searched once more for circles of unused objects


#: What the library says that checks types, and what is said here.
_WORDS = (
    (r"Input should be greater than or equal to (\S+)", r"expected a number from \1"),
    (r"Input should be less than or equal to (\S+)", r"expected a number up to \1"),
    (r"Input should be greater than (\S+)", r"expected a number above \1"),
    (r"Input should be less than (\S+)", r"expected a number below \1"),
    (r"Input should be a valid integer[^()]*", "expected a whole number"),
    (r"Input should be a valid number[^()]*", "expected a number"),
    (r"Input should be ", "expected "),
)
#: options of programs that do the like, and what is given here: where a command has such an option, or by
#: another command
_ELSEWHERE = {
    "--model": (
        "name a chat model with --agent chat:MODEL\n"
        "a chat model takes trials with spanlab replay PARADIGM --agent chat:MODEL"
    ),
    "--limit": "give the number of trials with --trials",
    "--temperature": "give --chat temperature=NUMBER",
    "gui": "the app is opened by spanlab app",
    "view": "conversations are shown by spanlab transcript, and everything else by spanlab app",
}


def plain_words(message: str) -> str:
    """A complaint about an option without the words of the library that found it."""
    for pattern, words in _WORDS:
        message = re.sub(pattern, words, message)
    return message


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
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="show the version")
    ] = False,
) -> None: ...
