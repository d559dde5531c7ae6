"""The errors a user may meet. Each one is a sentence that says what happened and what to do.

The command line prints these without a traceback; anything else that escapes is a bug of ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


def shortened(text: str, longest: int = 60) -> str:
    """Text as part of a message, cut where it is long."""
    return text if len(text) <= longest else text[: longest - 3] + "..."


def in_number(many: int, one: str, several: str = "") -> str:
    """The word that goes with a number: ``row`` with 1, ``rows`` with 2."""
    return one if many == 1 else several or f"{one}s"


class SpanLabError(Exception):
    """A problem that the user can mend. ``str(error)`` is the whole message.

    Parameters
    ----------
    message : a sentence; where it begins with an option, without that
    option : the parameter of a public function with which the sentence begins
    names : further parameters of which it speaks, each as ``{name}``

    Python reads the names of parameters; the command line sets ``spellings``, how they are typed.
    """

    def __init__(self, message: str = "", option: str = "", names: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.option, self.names = option, tuple(names)
        self.spellings: Mapping[str, str] = {}

    def __str__(self) -> str:
        text = str(self.args[0])
        for name in self.names:
            text = text.replace(f"{{{name}}}", self.spellings.get(name, name))
        return f"{self.spellings.get(self.option, self.option)} {text}" if self.option else text


class UnwritableError(SpanLabError):
    """The disk refuses: it is full, or something is wrong with it."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong in a file.

    Parameters
    ----------
    where : file and line, such as ``vsr.yaml:14``
    key : the key or step that it concerns, such as ``timeline step 2 > show``
    message : what was expected, what was found, and the nearest valid name when there is one
    """

    where: str
    key: str
    message: str

    def __str__(self) -> str:
        return _one_line(f"{self.where} {self.key}: {self.message}" if self.key else f"{self.where} {self.message}")


def _one_line(text: str, longest: int = 1500) -> str:
    """Text from a file as part of a message: one line, nothing that steers a terminal, not endless."""
    text = "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii") for sign in text[: longest + 1]
    )
    return text if len(text) <= longest else text[:longest] + "..."


#: of one file; whoever meets so many mends the first ones first
MAX_PROBLEMS = 100


class ParadigmError(SpanLabError):
    """Everything that is wrong with a paradigm file, reported at once."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))
