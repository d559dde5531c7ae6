"""The curves of a paradigm's sessions, drawn anew when a session has gone on."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, Generic, Literal, TypeVar

import spanlab
from spanlab.analysis.data import Data, load
from spanlab.analysis.figures import DrawnFigure, MarkedAnswers, Sheet, draw
from spanlab.analysis.figures import prospects as figures_of
from spanlab.analysis.report import stated_answers
from spanlab.api import read_rules
from spanlab.core import SpanLabError, as_object
from spanlab.sessions.record import read_session

from .index import SessionLine
from .points import addressed, answers_behind, with_links

#: As wide as the page has figures, so that their letters are as large as its own.
_WIDTH_MM = 200.0
Theme = Literal["light", "dark"]
Made = TypeVar("Made")
#: so many things of a kind are kept, and so many times all answers of some sessions
_KEPT, _KEPT_ANSWERS = 40, 2


class Curves:
    """The figures of the sessions of a data folder."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._names: Kept[tuple[str, ...]] = Kept()
        self._figures: Kept[DrawnFigure] = Kept()
        self._curves: Kept[str] = Kept()
        self._read: Kept[Data] = Kept(_KEPT_ANSWERS)

    def names(self, lines: Sequence[SessionLine]) -> tuple[str, ...]:
        """The figures that these sessions of one paradigm have."""
        folders = self._folders(lines)

        return self._names.made(
            states(lines),
            lambda: (
                figures_of.prospects(spanlab.read_responses(folders), lines[0].paradigm, _content(folders[0])).figures
            ),
        )

    def curve(self, name: str, lines: Sequence[SessionLine], theme: Theme) -> str:
        """The drawing of a figure of these sessions of one paradigm, whose points and bars are links to
        their trials; empty where there is none yet."""
        return self._curves.made((name, theme, *states(lines)), lambda: self._drawn(name, lines, theme))

    def _drawn(self, name: str, lines: Sequence[SessionLine], theme: Theme) -> str:
        try:
            figure = self.figure((name, lines[0].paradigm), lines)
            return addressed(
                draw(with_links(figure), figure.agents, Sheet(width_mm=_WIDTH_MM, theme=theme)),
                lines[0].paradigm,
                name,
            )
        except SpanLabError:
            return ""

    def figure(self, named: Sequence[str], lines: Sequence[SessionLine]) -> DrawnFigure:
        """A figure of some sessions.

        Parameters
        ----------
        named : its name, its paradigm, and options of ``spanlab figure``, each with its value
        """
        name, paradigm, *options = named
        asked = dict(zip(options[::2], options[1::2], strict=True))
        along, by, value, exclude = (asked.get(option, "") for option in ("--along", "--by", "--value", "--exclude"))
        if name in as_object(_content(self._folders(lines)[0]).get("effects")):  # the paradigm's file declares it
            name, value = "conditions", name
        return self._figures.made(
            (*named, *map(str, read_rules(exclude or None)), *states(lines)),
            lambda: (
                spanlab.figure(
                    name,
                    self._folders(lines),
                    paradigm=paradigm,
                    along=along,
                    by=by,
                    value=value,
                    exclude=exclude or None,
                ).drawing
            ),
        )

    def answers(
        self, named: Sequence[str], lines: Sequence[SessionLine], mark: Mapping[str, Any]
    ) -> MarkedAnswers | None:
        """The answers behind a mark of a figure of some sessions; None where it has no such mark,
        or there is no such figure."""
        try:
            return answers_behind(self.figure(named, lines), mark)
        except SpanLabError:
            return None

    def stated(self, stated: Mapping[str, Any], lines: Sequence[SessionLine], exclude: str) -> MarkedAnswers | None:
        """The answers that a mark states itself; None where these sessions have none of the kind.

        Parameters
        ----------
        exclude : the file of rules that leave out data; empty where there is none
        """
        try:
            rules = read_rules(exclude or None)
            data = self._read.made(
                (*map(str, rules), *states(lines)), lambda: load(self._folders(lines), spans_suffice=True, rules=rules)
            )
            return stated_answers(data.scored, stated)
        except SpanLabError:
            return None

    def _folders(self, lines: Sequence[SessionLine]) -> list[Path]:
        return [self._data / line.path for line in lines]


def _content(folder: Path) -> dict[str, Any]:
    """The content of the paradigm's file, as a session keeps it."""
    return as_object(read_session(folder).get("paradigm_data"))


class Kept(Generic[Made]):
    """The thing that was made last, by what it was made from. One thing is made at a time: drawing
    takes a whole processor.

    Parameters
    ----------
    most : so many things are kept
    """

    def __init__(self, most: int = _KEPT) -> None:
        self._most = most
        self._things: OrderedDict[tuple[str, ...], Made] = OrderedDict()
        self._lock = Lock()

    def made(self, key: tuple[str, ...], make: Callable[[], Made]) -> Made:
        """The thing with this key, which is made if there is none."""
        with self._lock:
            if key not in self._things:
                self._things[key] = make()
                if len(self._things) > self._most:
                    self._things.popitem(last=False)
            self._things.move_to_end(key)
            return self._things[key]


def states(lines: Sequence[SessionLine]) -> tuple[str, ...]:
    """By which it is seen that any of some sessions has changed."""
    return tuple(f"{line.path} {line.state}" for line in lines)
