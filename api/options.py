"""How a public function is declared once: its parameters are annotated with a line of help, from
which ``help()`` has its documentation and the command line its options. The options that several
have, and how they are read. What a function finds shows itself at a terminal, and is a table or a
dictionary for programs."""

from __future__ import annotations

import functools
import inspect
import os
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    NamedTuple,
    ParamSpec,
    TypedDict,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import typer
from typer.models import ParameterInfo
from typing_extensions import Doc, Unpack

from ..core.doors import entry_points_of
from ..core.errors import SpanLabError

if TYPE_CHECKING:
    import pandas as pd

    from ..agents.chat.cost.totals import Prices
    from ..paradigms import Generator, Paradigm, Trial
    from ..sessions.run import Watcher

_P = ParamSpec("_P")
_R = TypeVar("_R")

PathLike = str | Path
Paths = str | Path | Sequence[str | Path]
Words = str | Sequence[str]

#: columns of a terminal that notes fill
_WIDTH = 110
#: where the sections of a docstring begin
_SECTION = re.compile(r"^(Returns|Raises|Examples)\n-+$", re.MULTILINE)


class Declared(NamedTuple):
    """A parameter: what it may be, the line that says what it is, how it is typed on the command
    line (None where it cannot be), and what it is when it is not given."""

    annotation: Any
    help: str
    info: ParameterInfo | None
    default: Any

    @property
    def spelling(self) -> str:
        """The long form of the option; empty for an argument."""
        written = () if self.info is None else (self.info.default, *(self.info.param_decls or ()))
        return next((one.split("/")[0] for one in written if isinstance(one, str) and one.startswith("--")), "")


def declared(function: Callable[..., Any]) -> dict[str, Declared]:
    """The parameters of a public function, in order, those of an unpacked declaration one by one."""
    hints = {name: hint for name, hint in inspect.get_annotations(function).items() if name != "return"}
    types = get_type_hints(SimpleNamespace(__annotations__=hints), function.__globals__, include_extras=True)
    found: dict[str, Declared] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if get_origin(types[name]) is Unpack:
            fields = get_type_hints(get_args(types[name])[0], include_extras=True)
            found |= {one: _declared(hint, None) for one, hint in fields.items()}
        else:
            found[name] = _declared(types[name], parameter.default)
    return found


def _declared(annotation: Any, default: Any) -> Declared:
    what, *more = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    info = next((one for one in more if isinstance(one, ParameterInfo)), None)
    said = info.help or "" if info is not None else "".join(one.documentation for one in more if isinstance(one, Doc))
    return Declared(what, said, info, default)


def public(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """A function of ``spanlab``: its documentation has its parameters."""
    parameters = declared(function)
    signature = _signature(function, parameters)

    @functools.wraps(function)
    def called(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        signature.bind(*args, **kwargs)
        return function(*args, **kwargs)

    doc = inspect.cleandoc(function.__doc__ or "")
    place = found.start() if (found := _SECTION.search(doc)) else len(doc)
    lines = "\n".join(
        textwrap.fill(f"{name} : {one.help}", 100, subsequent_indent="    ") for name, one in parameters.items()
    )
    section = f"\n\nParameters\n----------\n{lines}\n\n" if lines else "\n\n"
    called.__dict__["__signature__"] = signature
    called.__doc__ = f"{doc[:place].rstrip()}{section}{doc[place:]}".rstrip() + "\n"
    return called


def _signature(function: Callable[..., Any], parameters: Mapping[str, Declared]) -> inspect.Signature:
    """The signature as ``help()`` shows it: types without what only the command line needs."""
    known = inspect.signature(function)
    kinds = {name: known.parameters[name].kind for name in parameters if name in known.parameters}
    shown = [
        inspect.Parameter(
            name, kinds.get(name, inspect.Parameter.KEYWORD_ONLY), default=one.default, annotation=one.annotation
        )
        for name, one in parameters.items()
    ]
    return known.replace(parameters=shown)


def summary(function: Callable[..., Any]) -> str:
    """What a function does: its docstring without the sections."""
    doc = inspect.cleandoc(inspect.unwrap(function).__doc__ or "")
    return doc[: found.start()] if (found := _SECTION.search(doc)) else doc


def part(options: Mapping[str, Any], of: Any) -> dict[str, Any]:
    """Those of some options that a declaration has."""
    return {name: value for name, value in options.items() if name in of.__annotations__}


def paths(given: Paths) -> list[Path]:
    """The paths that were given, each once."""
    opened = map(_opened, map(Path, [given] if isinstance(given, str | Path) else given))
    return [*{os.path.realpath(path): path for path in opened}.values()]


def _opened(path: Path) -> Path:
    """A path to data; of a file that another package opens, such as an archive, the folder with what is in it."""
    try:
        there = path.is_file()
    except OSError as error:  # of a folder that may not be looked into, or a name that is too long
        raise SpanLabError(f"cannot read {path}: {error.strerror}") from None
    openers = entry_points_of("spanlab.archives").select(name=path.suffix[1:]) if there else ()
    return next((opener.load()(path) for opener in openers), path)


def as_path(given: PathLike | None) -> Path | None:
    """A path; None where none is given."""
    return None if given is None else Path(given)


def words(given: Words) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


@dataclass
class Result:
    """What a public function found. It shows itself at a terminal and in a notebook.

    Parameters
    ----------
    lines : what it says
    tables : its numbers, the most important table first
    files : what was written
    cautions : what looks like a mistake in what was given
    wrong : what is not as it should be; the command fails
    """

    lines: list[str] = field(default_factory=list)
    tables: Mapping[str, pd.DataFrame | Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    files: list[Path] = field(default_factory=list)
    cautions: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return "\n".join(self.lines)

    __repr__ = __str__

    @property
    def file(self) -> Path:
        """The first of the files that were written: the page of a report."""
        return self.files[0]

    def to_frame(self, table: str = "") -> pd.DataFrame:
        """A table of its numbers, the first when none is named."""
        import pandas as pd

        return pd.DataFrame(self.tables[table or next(iter(self.tables))])

    def to_dict(self) -> dict[str, Any]:
        """All its tables, as lists of rows, and the files that were written."""
        tables = {name: records(table) for name, table in self.tables.items()}
        return {**tables, "files": [str(path) for path in self.files], "cautions": self.cautions, "wrong": self.wrong}


def records(table: Any) -> list[dict[str, Any]]:
    """The rows of a table as JSON can have them: what is missing is None."""
    rows = table.to_dict("records") if hasattr(table, "to_dict") else table
    return [{str(name): _plain(value) for name, value in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return value if isinstance(value, str | int | float | bool | list | dict | None) else str(value)


def table_lines(header: Sequence[str], rows: Iterable[Sequence[str]], width: int | None = None) -> Iterator[str]:
    """A table with columns as wide as their content; those that are empty in every row are left
    out. With a ``width``, the last column is broken into lines within it."""
    cells = [*rows]
    kept = [at for at in range(len(header)) if not cells or any(row[at] for row in cells)]
    lines = [[line[at] for at in kept] for line in (header, *cells)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    start = sum(widths[:-1]) + 2 * (len(widths) - 1)
    for line in lines:
        first, *further = textwrap.wrap(line[-1], width - start) or [""] if width else [line[-1]]
        yield "  ".join(cell.ljust(wide) for cell, wide in zip((*line[:-1], first), widths, strict=True)).rstrip()
        yield from (" " * start + text for text in further)


def tabled(
    name: str, header: Sequence[str], rows: Iterable[Sequence[str]], width: int | None = None, after: str = ""
) -> Result:
    """A list of things as a table, with what is said below it."""
    cells = [*rows]
    below = ["", *after.splitlines()] if after else []
    lines = [*table_lines(header, cells, width), *below]
    return Result(lines, {name: [dict(zip(header, row, strict=True)) for row in cells]})


def frame_lines(table: pd.DataFrame) -> Iterator[str]:
    """A data frame as a table for the terminal, without columns in which nothing stands."""

    def cell(value: Any) -> str:
        if value is None or str(value) in ("<NA>", "nan"):
            return "–"
        if isinstance(value, float):
            if value.is_integer() and abs(value) >= 1:
                return f"{value:.0f}"
            return f"{value:.2g}" if 0 < abs(value) < 0.001 else f"{value:.3f}"
        return str(value)

    known = table.replace("", None).dropna(axis="columns", how="all").columns if len(table) else table.columns
    names = [str(name).removeprefix("factor_").removeprefix("record_") for name in known]
    return table_lines(names, [[cell(value) for value in row] for row in table[known].itertuples(index=False)])


def note_lines(notes: Sequence[str]) -> list[str]:
    """Notes below tables, after an empty line."""
    told = [textwrap.fill(note, _WIDTH, subsequent_indent="  ", initial_indent="· ") for note in notes]
    return ["", *told] if told else []


#: levels of factors by name, settings by name, and what a million tokens cost: (0.5, 2), "0.5/2" or "AGENT=0.5/2"
Levels = Mapping[str, Any | Sequence[Any]]
Settings = Mapping[str, Any]
Price = tuple[float, float] | str | Sequence[str]
ParadigmArgument = Annotated[
    str, typer.Argument(help="name in the library (spanlab list), or a YAML file", metavar="PARADIGM")
]
LevelsOption = Annotated[
    Levels | None,
    typer.Option(
        "--set",
        help="factor level(s): --set list_length=5 or --set list_length=3,4,5; may be repeated",
        metavar="NAME=LEVEL",
    ),
]
DataOption = Annotated[PathLike, typer.Option("--data", help="folder for sessions", metavar="DIR")]
DesignOption = Annotated[
    str | None, typer.Option("--design", help="design in the paradigm's file; 'human' when not given")
]
TriggersOption = Annotated[
    str | None,
    typer.Option(
        "--triggers",
        help="port for trigger codes: serial:PORT[@BAUD], parallel:ADDRESS, lsl[:NAME] or dry",
        metavar="PORT",
    ),
]
GeneratorOption = Annotated[
    str | None,
    typer.Option(
        "--generator", help="trials with the published flaws corrected, or as published", metavar="corrected|published"
    ),
]
TrialsOption = Annotated[
    int | None,
    typer.Option("--trials", help="number of trials, shared out over the factor levels", min=1, max=1_000_000),
]


class Sharing(TypedDict, total=False):
    """How large work is shared."""

    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            help="share the work among this many local processes",
            min=1,
            max=10_000,
        ),
    ]
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler",
            help="share the work among the workers of a Dask scheduler: tcp://HOST:PORT",
            metavar="ADDRESS",
        ),
    ]


class Treatment(TypedDict, total=False):
    """How servers of chat models are treated."""

    concurrency: Annotated[
        int | None,
        typer.Option(
            "--concurrency",
            help="chat agents: parallel requests (32); halved when the server is too busy",
            min=1,
        ),
    ]
    max_wait: Annotated[
        float | None,
        typer.Option(
            "--max-wait",
            help="chat agents: stop when a server asks to be left alone for longer (600)",
            metavar="SECONDS",
        ),
    ]
    adapt: Annotated[
        bool | None,
        typer.Option("--adapt", help="chat agents: no system message for models that refuse one; the account says so"),
    ]
    max_cost: Annotated[
        float | None,
        typer.Option("--max-cost", help="chat agents: stop each session before it costs more (needs a price)"),
    ]
    max_tokens: Annotated[
        int | None,
        typer.Option(
            "--max-tokens",
            help="chat agents: stop each session before it uses more tokens in total, read and written",
            min=1,
        ),
    ]
    price: Annotated[
        Price | None,
        typer.Option(
            "--price",
            help="chat agents: price of a million tokens, read and written; for one of several agents AGENT=IN/OUT",
            metavar="IN/OUT",
        ),
    ]
    cache: Annotated[
        PathLike | None,
        typer.Option(
            "--cache", help="chat agents: folder in which replies are kept for reuse by other sessions", metavar="DIR"
        ),
    ]
    fail_on_error: Annotated[
        float | None,
        typer.Option(
            "--fail-on-error",
            help="chat agents: stop when more than this share of trials fail (0.1)",
            metavar="SHARE",
            min=0,
            max=1,
        ),
    ]
    care: Annotated[
        Settings | None,
        typer.Option(
            "--care",
            help="limits for requests to a chat server, such as timeout_s=60 or max_retries=2; may be repeated",
            metavar="NAME=VALUE",
        ),
    ]


def leave_out(given: Mapping[str, Any], why: str) -> None:
    """Refuse options that were given and mean nothing here.

    Raises
    ------
    SpanLabError
        with all of them.
    """
    names = [name for name, value in given.items() if value is not False and value not in (None, "", ())]
    if names:
        raise SpanLabError(f"leave out {in_words(names)}: {why}", names=names)


def in_words(names: Sequence[str]) -> str:
    """Parameters in the text of an error, which spells them."""
    return " and ".join(f"{{{name}}}" for name in names)


@contextmanager
def progress_bar(what: str, tally: Callable[[], str] | None = None) -> Iterator[Callable[[int, int], None]]:
    """A progress bar at a terminal.

    Parameters
    ----------
    tally : a text beside it that is asked for as often as the bar is drawn, in place of the time
        that is left
    """
    import sys

    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Beside(ProgressColumn):
        def render(self, task: object) -> Text:
            return Text(tally() if tally is not None else "", overflow="ellipsis")

    beside = TimeRemainingColumn() if tally is None else Beside()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(16), MofNCompleteColumn(), beside)
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def as_lists(levels: Levels | None) -> dict[str, list[Any]] | None:
    """Levels of factors, each a list."""
    from ..core.json_values import in_a_list

    return None if levels is None else {name: in_a_list(value) for name, value in levels.items()}


def parse_levels(pairs: list[str] | None) -> dict[str, list[Any]]:
    """``["list_length=3,4"]`` to ``{"list_length": [3, 4]}``.

    Raises
    ------
    SpanLabError
        when a pair is not NAME=LEVEL, or a name comes twice.
    """
    from ..paradigms.language.yaml_source import scalar

    levels: dict[str, list[Any]] = {}
    for pair in pairs or []:
        name, equals, values = pair.partition("=")
        if not equals or not name or not values:
            raise SpanLabError(f"takes NAME=LEVEL, such as list_length=5; found '{pair}'", option="levels")
        if name in levels:
            raise SpanLabError(f"names '{name}' twice; give several levels as {name}=3,4", option="levels")
        levels[name] = [scalar(value.strip()) for value in values.split(",")]
        if len(set(map(repr, levels[name]))) < len(levels[name]):
            raise SpanLabError(f"gives a level of '{name}' twice; found '{pair}'", option="levels")
    return levels


def parse_pairs(pairs: list[str] | None, option: str) -> dict[str, Any]:
    """``["temperature=0"]`` to ``{"temperature": 0}``; a value is read as YAML reads it, commas and
    all.

    Raises
    ------
    SpanLabError
        when a pair is not NAME=VALUE, or a name comes twice.
    """
    from ..paradigms.language.yaml_source import scalar

    settings: dict[str, Any] = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals or not name or name in settings:
            raise SpanLabError(f"{option} takes NAME=VALUE, each name once; found '{pair}'")
        settings[name] = scalar(value)
    return settings


def parse_prices(typed: str | Sequence[str] | None, agents: Sequence[str]) -> dict[str, Prices]:
    """``["0.5/2"]``, or ``["chat:a=0.5/2"]`` for one of several agents, to the prices of each chat
    agent that has prices.

    Raises
    ------
    SpanLabError
        when a price is none, or is for nobody.
    """
    from ..agents.chat.cost.totals import Prices

    chats = [spec for spec in agents if spec.startswith("chat:")]
    if isinstance(typed, str):
        typed = [typed]
    prices_of: dict[str, Prices] = {}
    for text in typed or []:
        spec, equals, price = text.rpartition("=")
        if equals and spec not in chats:
            from ..core.registry import nearest

            raise SpanLabError(
                f"is for the agent '{spec}', but this command runs no such agent{nearest(spec, chats)}", option="price"
            )
        numbers = price.split("/")
        try:
            read, written = (float(number) for number in numbers)
            prices = Prices(input=read, output=written)
        except ValueError:  # pydantic's errors are such, too
            raise SpanLabError(
                "takes IN/OUT, the cost of a million tokens read and written, such as 0.5/2, or AGENT=IN/OUT;"
                f" found '{text}'",
                option="price",
            ) from None
        for model in [spec] if equals else chats:
            if model in prices_of:
                raise SpanLabError(f"gives the price of '{model}' twice", option="price")
            prices_of[model] = prices
    return prices_of


def parse_generator(name: str) -> Generator:
    from ..paradigms.paradigm import GENERATORS

    for generator in GENERATORS:
        if name == generator:
            return generator
    raise SpanLabError(f"the generator is {' or '.join(GENERATORS)}; found '{name}'")


def window_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the window from the options.

    Raises
    ------
    SpanLabError
        when the display file cannot be read, or the same is said twice.
    """
    window: dict[str, Any] = {"fullscreen": not options.get("windowed", False), "patch": options.get("patch") or ""}
    given = {"size_deg": options.get("canvas"), "screen": options.get("screen")}
    window |= {name: value for name, value in given.items() if value is not None}
    sizes = {name: options[name] for name in ("width_cm", "distance_cm") if options.get(name) is not None}
    if (display := options.get("display")) is None:
        return {"width_cm": None, **window, **sizes}
    if sizes:
        raise SpanLabError(
            f"{display} has the width and distance of the screen: leave out {in_words([*sizes])}, or measure again:"
            " spanlab display",
            names=[*sizes],
        )
    return with_display(window, Path(display))


def with_display(window: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """The settings of the window with a display file.

    Raises
    ------
    SpanLabError
        when the file cannot be read, or is of another screen than the one on which the window is to
        open.
    """
    from ..agents.human.display.file import read_display

    display, screen = read_display(file), window.get("screen")
    if screen is not None and screen != display.screen.number:
        raise SpanLabError(
            f"{file} was measured on screen {display.screen.number}, and the window is to open on screen {screen}:"
            f" leave out {{screen}}, or measure that screen: spanlab display --screen {screen} -o FILE",
            names=["screen"],
        )
    return {**window, "display": display}


def one_trial(paradigm: str, levels: Levels | None, seed: int, generator: str | None) -> tuple[Paradigm, Trial]:
    """One trial to look at: the middle level of every factor that was not set.

    Raises
    ------
    SpanLabError
        when several levels of a factor are given.
    """
    from ..paradigms import compile_trial, load_paradigm

    loaded = load_paradigm(paradigm)
    asked = as_lists(levels) or {}
    for name, values in asked.items():
        if len(values) > 1:
            raise SpanLabError(f"one trial has one level of '{name}'; found {len(values)}")
    chosen = {
        name: factor.levels[len(factor.levels) // 2]
        for name, factor in loaded.factors.items()
        if factor.mode == "crossed"
    } | {name: values[0] for name, values in asked.items()}
    return loaded, compile_trial(loaded, chosen, seed, parse_generator(generator or "corrected"))


def watcher(say: Callable[[str], None] | None = None) -> Watcher:
    """Who is told what a session does: somebody of Python's, or the terminal."""
    from ..sessions.run import Watcher

    return Watcher(bar=progress_bar) if say is None else Watcher(say)
