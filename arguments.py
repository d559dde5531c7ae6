"""What the command line's arguments mean, and the bar that shows how far a command is. Part of the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .errors import SpanLabError

if TYPE_CHECKING:
    from .paradigms import Generator

ParadigmArgument = Annotated[str, typer.Argument(help="name in the library (spanlab list), or a YAML file", metavar="PARADIGM")]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", help="factor level(s): --set list_length=5 or --set list_length=3,4,5; may be repeated", metavar="NAME=LEVEL")
]
SeedOption = Annotated[int, typer.Option("--seed", help="seed of the session", min=0)]
DataOption = Annotated[Path, typer.Option("--data", help="folder for sessions", metavar="DIR")]
DesignOption = Annotated[str | None, typer.Option("--design", help="design in the paradigm's file; 'human' when not given")]
TriggersOption = Annotated[
    str | None,
    typer.Option("--triggers", help="port for trigger codes: serial:PORT[@BAUD], parallel:ADDRESS, lsl[:NAME] or dry[:FILE]", metavar="PORT"),
]
GeneratorOption = Annotated[str, typer.Option("--generator", help="corrected or published trials")]
TrialsOption = Annotated[int | None, typer.Option("--trials", help="number of trials, shared out over the factor levels", min=1, max=1_000_000)]


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar that appears when the work takes longer than two seconds."""
    import time

    began, bar, task = time.monotonic(), None, None

    def tell(done: int, total: int) -> None:
        nonlocal bar, task
        if bar is None and time.monotonic() - began > 2:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            bar = Progress(*columns, console=Console(stderr=True), transient=True)
            bar.start()
            task = bar.add_task(what, total=total)
        if bar is not None and task is not None:
            bar.update(task, completed=done, total=total)

    try:
        yield tell
    finally:
        if bar is not None:
            bar.stop()


def parse_levels(pairs: list[str] | None) -> dict[str, list[Any]]:
    """``["list_length=3,4"]`` to ``{"list_length": [3, 4]}``.

    Raises
    ------
    SpanLabError
        when a pair is not NAME=LEVEL, or a name comes twice.
    """
    from .paradigms.yaml_text import scalar

    levels: dict[str, list[Any]] = {}
    for pair in pairs or []:
        name, equals, values = pair.partition("=")
        if not equals or not name or not values:
            raise SpanLabError(f"--set takes NAME=LEVEL, such as list_length=5; found '{pair}'")
        if name in levels:
            raise SpanLabError(f"--set names '{name}' twice; give several levels as {name}=3,4")
        levels[name] = [scalar(value.strip()) for value in values.split(",")]
        if len(set(map(repr, levels[name]))) < len(levels[name]):
            raise SpanLabError(f"--set gives a level of '{name}' twice; found '{pair}'")
    return levels


def parse_settings(pairs: list[str] | None) -> dict[str, Any]:
    """``["temperature=0"]`` to ``{"temperature": 0}``; a value is read as YAML reads it, commas and all."""
    from .paradigms.yaml_text import scalar

    settings: dict[str, Any] = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals or not name or name in settings:
            raise SpanLabError(f"--chat takes NAME=VALUE, each name once; found '{pair}'")
        settings[name] = scalar(value)
    return settings


def parse_generator(name: str) -> Generator:
    from .paradigms.paradigm import GENERATORS

    for generator in GENERATORS:
        if name == generator:
            return generator
    raise SpanLabError(f"the generator is {' or '.join(GENERATORS)}; found '{name}'")
