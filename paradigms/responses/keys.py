"""Which keys a person presses for which answer, where a session does not leave that to the paradigm: sides swapped, keys of one's own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from string import ascii_lowercase, digits
from types import MappingProxyType
from typing import TYPE_CHECKING

from ...core.locale import sentence

if TYPE_CHECKING:
    from .base import ResponseKind

#: Keys with names of several letters, as PsychoPy calls them, and what is printed on them where that says more than the name.
_SIGNS: dict[str, str] = {
    "minus": "-",
    "plus": "+",
    "equal": "=",
    "comma": ",",
    "period": ".",
    "slash": "/",
    "semicolon": ";",
    "apostrophe": "'",
    "bracketleft": "[",
    "bracketright": "]",
    "backslash": "\\",
    "left": "←",
    "right": "→",
    "up": "↑",
    "down": "↓",
}
_OTHERS = {"space", "return", "tab", "backspace", "lshift", "rshift", "lctrl", "rctrl", "lalt", "ralt", "home", "end", "pageup", "pagedown", "insert", "delete"}
_KEYPAD = {f"num_{name}" for name in (*digits, "add", "subtract", "multiply", "divide", "decimal", "enter")}
_FUNCTION = {f"f{number}" for number in range(1, 13)}
#: Every key that may be given to an answer. Escape is left to the pause.
KEY_NAMES = frozenset({*ascii_lowercase, *digits, *_SIGNS, *_OTHERS, *_KEYPAD, *_FUNCTION})
#: keys whose names depend on the language
_NAMED = frozenset({"space", "return"})
_BUTTON = re.compile(r"button_([1-9]\d?)")


def is_key(name: str) -> bool:
    """Whether an answer may be given with a key of this name (``button_1`` ... are those of a button box)."""
    return name in KEY_NAMES or _BUTTON.fullmatch(name) is not None


def is_button(name: str) -> bool:
    """Whether this is a button of a button box."""
    return _BUTTON.fullmatch(name) is not None


def key_label(name: str, language: str = "en") -> str:
    """A key as people are told of it: ``minus`` is ``-``."""
    if (match := _BUTTON.fullmatch(name)) is not None:
        return sentence("keys.button", language, n=match[1])
    return sentence(f"keys.{name}", language) if name in _NAMED else _SIGNS.get(name, name)


@dataclass(frozen=True, slots=True)
class AnswerKeys:
    """The keys with which one person answers.

    Parameters
    ----------
    swapped : whether the two keys of every question with two words change sides (where the paradigm does not tie them to sides, and where the keys are not the
        words themselves)
    own : keys by answer, as people and models write it (``same``; ``1`` is the first position), in place of those of the paradigm; they are swapped, too
    """

    swapped: bool = False
    own: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def kind_for(self, kind: ResponseKind) -> ResponseKind:
        """The same question with these keys: for the window and for what people read. Answers and scores are those of ``kind``.

        Raises
        ------
        ValueError
            when two of its answers would have the same key.
        """
        return kind.with_keys(self)
