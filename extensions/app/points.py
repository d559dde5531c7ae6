"""The marks of figures, points and bars, as links to the trials that they are computed from."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from html import escape, unescape
from typing import Any
from urllib.parse import quote, urlencode

import pandas as pd

from spanlab.analysis.figures import DrawnFigure, MarkedAnswers

from .shown import marked

#: An address that stays as it is while a figure is drawn, and is replaced afterwards.
_NOWHERE = "https://point.invalid/?"
_LINK = re.compile(r'<a xlink:href="https://point\.invalid/\?([^"]*)"[^>]*>(<path aria-label=")([^"]*)"')
#: What was drawn as a link, but leads nowhere: published people and models have no trials here.
_NO_LINK = re.compile(r'<a xlink:href="[^"]*"[^>]*>(<path[^>]*/>)</a>')
#: A group without marks, which would be read aloud as a mark without a name.
_NO_MARKS = re.compile(r'(<g[^>]*) role="graphics-symbol" aria-roledescription="[^"]* container"/>')
#: The fields of a figure's data that tell a mark from all others, by its role; the other fields are
#: its numbers.
_TELLING: Mapping[str, Sequence[str]] = {
    "curve": ("role", "agent", "panel", "measure", "part", "at"),
    "bar": ("role", "part", "x", "x2"),
    "point": ("role", "part", "criterion"),
    "signed": ("role", "answerer", "variant", "n", "x"),
    "unsigned": ("role", "answerer", "variant", "n", "x"),
}


def mark_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what tells the mark of a row of a figure's data from all others; nothing for lines and
    names, which are no marks."""
    return {name: row[name] for name in _TELLING.get(str(row.get("role")), ()) if name in row}


def answers_behind(figure: DrawnFigure, mark: Mapping[str, Any]) -> MarkedAnswers | None:
    """The answers behind a mark of a figure; None where the figure has no such mark, or it is
    nobody's who has trials here."""
    row = next((row for row in figure.spec["data"]["values"] if mark and mark_of(row) == mark), None)
    return None if row is None else figure.answers(row)


def with_links(figure: DrawnFigure) -> dict[str, Any]:
    """The declaration of a figure whose marks are links; those of published people and models are
    none."""
    rows = [
        row | {"trials": _NOWHERE + urlencode({"mark": json.dumps(mark)})}
        if (mark := mark_of(row)) and figure.answers(row)
        else row
        for row in figure.spec["data"]["values"]
    ]
    return {**_linked(figure.spec), "data": {"values": rows}}


def _linked(part: Any) -> Any:
    if isinstance(part, Mapping):
        changed = {key: value if key == "data" else _linked(value) for key, value in part.items()}
        mark = part.get("mark")
        if (mark.get("type") if isinstance(mark, Mapping) else mark) in ("point", "circle", "square", "bar"):
            changed["encoding"] = {**changed.get("encoding", {}), "href": {"field": "trials"}}
        return changed
    return [_linked(element) for element in part] if isinstance(part, list) else part


def addressed(svg: str, paradigm: str, figure: str) -> str:
    """A drawing with the addresses of the app in its links, each with the name of its mark."""

    def link(found: re.Match[str]) -> str:
        name = escape(re.sub(r"; (?:who: [^;]*|trials: .*)", "", unescape(found[3])), quote=True)
        return (
            f'<a href="/paradigms/{quote(paradigm)}/points?figure={quote(figure)}&amp;{found[1]}" aria-label="{name}">'
            f'{found[2]}{name}"'
        )

    return _NO_MARKS.sub(r"\1/>", _NO_LINK.sub(r"\1", _LINK.sub(link, svg)))


def trials_of(answers: pd.DataFrame) -> list[dict[str, str]]:
    """The trials of some answers, each once, by session and number: the name of the ``session``, the
    ``key`` of the trial in it, and the ``mark`` of those answers that the point or bar is computed from."""
    trials = [
        {"session": str(session), "key": _key(trial), "mark": marked([bool(one) for one in right.dropna()])}
        for (session, trial), right in answers.groupby(["session", "trial"], observed=True, sort=False)["correct"]
    ]
    return sorted(
        trials,
        key=lambda trial: (
            trial["session"],
            [int(sign) if sign.isdigit() else -1 for sign in re.split(r"(\d+)", trial["key"])],
            trial["key"],
        ),
    )


def _key(trial: Any) -> str:
    return str(int(trial)) if isinstance(trial, float) and trial.is_integer() else str(trial)
