"""Options of several commands and how they are read, the progress bar, and the end of a session on
the terminal."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import typer

from ..core.errors import SpanLabError
from .declared import PathLike

if TYPE_CHECKING:
    from ..agents.chat.cost.totals import Prices
    from ..paradigms import Generator, Paradigm, Trial
    from ..sessions.run import Watcher


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
SeedOption = Annotated[int, typer.Option("--seed", help="seed of the session", min=0)]
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
    names = [name for name, value in given.items() if value not in (None, "", (), False)]
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
    from ..core.json_values import as_levels

    return None if levels is None else {name: as_levels(value) for name, value in levels.items()}


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
    window |= {} if options.get("canvas") is None else {"size_deg": options["canvas"]}
    window |= {} if options.get("screen") is None else {"screen": options["screen"]}
    sizes = {name: options[name] for name in ("width_cm", "distance_cm") if options.get(name) is not None}
    if (display := options.get("display")) is None:
        return {"width_cm": None, **window, **sizes}
    if sizes:
        raise SpanLabError(
            f"{display} has the width and distance of the screen: leave out --screen-width and --distance, or"
            " measure again: spanlab display"
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
            f" leave out --screen, or measure that screen: spanlab display --screen {screen} -o FILE"
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


def result_in_words(folder: Path, info: Mapping[str, Any]) -> str:
    """Say how many answers of a session were right, read from its table without the packages of the
    analysis; empty where nothing was scored.

    Practice does not count, and neither do answers for which there is nothing right, such as
    ratings and intrusions.
    """
    table = folder / "responses.csv"
    if not table.exists():  # large sessions have parts
        return ""
    with table.open(encoding="utf-8", newline="") as file:
        rows = [
            row
            for row in csv.DictReader(file)
            if row["practice"] != "true" and row["correct"] and row["correct_answer"]
        ]
    if not rows:
        return ""
    right, chance = (
        sum(row["correct"] == "true" for row in rows),
        [float(row["chance"]) for row in rows if row["chance"]],
    )
    level = f"; chance {sum(chance) / len(chance):.0%}" if chance else ""
    return (
        f"{info['agent']}, {info['paradigm']}: {right:,} of {len(rows):,} answers right"
        f" ({right / len(rows):.0%}{level})"
    )


#: Options that are fields of ``RequestLimits``, and how these are called.
_LIMITS = {
    "concurrency": "concurrency",
    "max_cost": "max_cost",
    "max_wait": "max_wait_s",
    "adapt": "adapt",
    "max_tokens": "max_tokens_in_all",
    "cache": "cache",
    "fail_on_error": "fail_on_error",
}


def care_given(options: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The limits for requests to chat servers from the options, as fields of ``RequestLimits``.

    Parameters
    ----------
    before : what held before, in a session that goes on

    Raises
    ------
    SpanLabError
        naming everything that is unknown, out of bounds or said twice.
    """
    chosen = {field: options[name] for name, field in _LIMITS.items() if options.get(name) is not None}
    pairs = options.get("care") or {}
    twice = [name for name in pairs if name in chosen]
    if twice:
        raise SpanLabError(f"repeats {' and '.join(twice)}: give each once", option="care")
    values = {**chosen, **pairs}
    if not values:
        return dict(before or {})
    from ..agents.chat.transport.request_limits import RequestLimits

    names = {field: "--" + name.replace("_", "-") for name, field in _LIMITS.items() if name in options}
    RequestLimits.read(values, {**dict.fromkeys(["", *RequestLimits.model_fields], "--care"), **names})
    return {**(before or {}), **values}
