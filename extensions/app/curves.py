"""The curves of a paradigm's sessions, drawn anew when a session has gone on."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Generic, Literal, TypeVar

import pandas as pd

import spanlab
from spanlab.analysis.data import load
from spanlab.analysis.figures import Sheet, draw
from spanlab.analysis.figures import prospects as figures_of
from spanlab.core import SpanLabError

from .index import SessionLine
from .points import PointTrial, addressed, narrowing, trials_of, with_links

#: As wide as the page has figures, so that their letters are as large as its own.
_WIDTH_MM = 200.0
Theme = Literal["light", "dark"]
Made = TypeVar("Made")
#: so many things of a kind are kept
_KEPT = 40


@dataclass(frozen=True, slots=True)
class Curve:
    """A figure.

    Parameters
    ----------
    name : as ``spanlab figure`` knows it
    title, caption : of the figure
    svg : the drawing, whose points are links to their trials; empty where there is none yet
    notes : what must be known
    """

    name: str
    title: str
    caption: str
    svg: str
    notes: tuple[str, ...]


class Curves:
    """The figures of the sessions of a data folder."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._names: _Kept[tuple[str, ...]] = _Kept()
        self._curves: _Kept[Curve] = _Kept()

    def names(self, lines: Sequence[SessionLine]) -> tuple[str, ...]:
        """The figures that these sessions of one paradigm have."""
        return self._names.made(_states(lines), lambda: figures_of.prospects(spanlab.read_responses(self._folders(lines)), lines[0].paradigm).figures)

    def curve(self, name: str, lines: Sequence[SessionLine], theme: Theme) -> Curve:
        """A figure of these sessions of one paradigm."""
        return self._curves.made((name, theme, *_states(lines)), lambda: self._drawn(name, lines, theme))

    def _drawn(self, name: str, lines: Sequence[SessionLine], theme: Theme) -> Curve:
        try:
            paradigm = lines[0].paradigm
            figure = spanlab.figure(name, self._folders(lines), paradigm=paradigm)
            agents = frozenset(self._items(lines)["agent"].astype(str))
            drawn = draw(with_links(figure.spec, figure.table, agents), figure.agents, Sheet(width_mm=_WIDTH_MM, theme=theme))
            return Curve(name, figure.title, figure.caption, addressed(drawn, paradigm), tuple(figure.notes))
        except SpanLabError as error:
            return Curve(name, name, "", "", (str(error),))

    def trials(self, lines: Sequence[SessionLine], agent: str, conditions: Mapping[str, Any]) -> tuple[dict[str, Any], list[PointTrial]]:
        """The trials of these sessions of one paradigm behind a point, and the conditions that select them."""
        items = self._items(lines)
        return narrowing(items, conditions), [*trials_of(items, agent, conditions)]

    def _items(self, lines: Sequence[SessionLine]) -> pd.DataFrame:
        return load(self._folders(lines)).scored.parts[lines[0].paradigm].items

    def _folders(self, lines: Sequence[SessionLine]) -> list[Path]:
        return [self._data / line.path for line in lines]


class _Kept(Generic[Made]):
    """What was made last, by what it was made from. One thing is made at a time: drawing takes a whole processor."""

    def __init__(self) -> None:
        self._things: OrderedDict[tuple[str, ...], Made] = OrderedDict()
        self._lock = Lock()

    def made(self, key: tuple[str, ...], make: Callable[[], Made]) -> Made:
        """The thing with this key, which is made if there is none."""
        with self._lock:
            if key not in self._things:
                self._things[key] = make()
                if len(self._things) > _KEPT:
                    self._things.popitem(last=False)
            self._things.move_to_end(key)
            return self._things[key]


def _states(lines: Sequence[SessionLine]) -> tuple[str, ...]:
    return tuple(f"{line.path} {line.state}" for line in lines)
