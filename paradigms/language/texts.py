"""Texts that say what depends on the factor levels: ``{=expression}`` inside instructions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...core.errors import ParadigmError, Problem
from .component_spec import Reader
from .diagnostics import show
from .expressions import Template
from .yaml_source import Document, YamlPath

_PLACE = re.compile(r"\{=(.*?)\}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class LevelText:
    """A text with gaps that factor levels fill, such as ``the letter {=n} back``."""

    path: YamlPath
    parts: tuple[str | Template, ...]

    @classmethod
    def read(cls, reader: Reader, text: str, path: YamlPath, known: frozenset[str]) -> LevelText:
        """Read a text; wrong expressions are reported. ``known`` are the names of the factors."""
        pieces = _PLACE.split(text)
        return cls(path, tuple(piece if number % 2 == 0 else reader.template(f"={piece}", path, known) for number, piece in enumerate(pieces)))

    def fill(self, reader: Reader, levels: Mapping[str, Any]) -> str:
        """The text for these levels.

        Raises
        ------
        ParadigmError
            when an expression fails, or gives no number or word.
        """
        return "".join(part if isinstance(part, str) else self._written(reader, part, levels) for part in self.parts)

    def _written(self, reader: Reader, part: Template, levels: Mapping[str, Any]) -> str:
        value = reader.fill(part, self.path, levels)
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise ParadigmError([reader.document.problem(self.path, f"expected a number or a word within the text; found {show(value)}")])
        return str(value)


def filled(text: str, levels: Mapping[str, Any], where: str) -> str:
    """A text from elsewhere with gaps like those of instructions, for the levels of a trial.

    Parameters
    ----------
    text : with gaps such as ``{=n}``
    levels : of every factor
    where : what messages say of its source

    Raises
    ------
    ParadigmError
        when an expression is wrong, or names no factor.
    """
    problems: list[Problem] = []
    reader = Reader(Document({}, {}, where), problems)
    read = LevelText.read(reader, text, (), frozenset(levels))
    if problems:
        raise ParadigmError(problems)
    return read.fill(reader, levels)
