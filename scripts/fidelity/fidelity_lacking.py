"""How far an observer gets who lacks one thing: a table of ``tables.md``, made by
``fidelity_tables.py``.

Each row is an :class:`~fidelity_observers.Observer`. Where what is left tells nothing but how many
candidates there are, the observer guesses among them.
"""

from __future__ import annotations

from collections.abc import Iterator

from fidelity_observers import Observer, measured
from lacking_lists import list_observers
from lacking_nback import nback_observers
from lacking_space import space_observers
from lacking_spans import span_observers

from spanlab.paradigms import Generator

GENERATORS: tuple[Generator, ...] = ("published", "corrected")
#: Standard errors below this are written as no error: every single answer was right, or every one
#: wrong.
_NONE = 1e-12


def observers() -> Iterator[Observer]:
    """All rows of the table, in order."""
    yield from space_observers()
    yield from list_observers()
    yield from nback_observers()
    yield from span_observers()


def percent(share: float, error: float | None = None) -> str:
    """In per cent, with its standard error where it has one."""
    text = f"{100 * share:.1f}".removesuffix(".0")
    return f"{text} %" if error is None or error < _NONE else f"{text} ± {100 * error:.1f} %"


def head(observer: Observer) -> tuple[str, ...]:
    """What a row is about: paradigms, condition, what is lacking, and what is used."""
    first, *variants = observer.paradigms
    return (f"`{first}`{' and its variants' if variants else ''}", observer.condition, observer.lacks, observer.uses)


def row(observer: Observer) -> tuple[str, ...]:
    """A row of the table."""
    found = [measured(observer, generator, observer.trials) for generator in GENERATORS]
    return (
        *head(observer),
        percent(found[-1].chance),
        *(percent(score.right, score.error) for score in found),
        f"{observer.trials:,}",
    )


HEADER = ("paradigm", "condition", "lacks", "goes by", "uniform guess", "`published`", "`corrected`", "trials")


def table() -> str:
    """All rows, as the page has them."""
    lines = [HEADER, ("---",) * len(HEADER), *map(row, observers())]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)
