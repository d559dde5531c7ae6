"""Answer keys of a session that differ from those of the paradigm: sides swapped, or other keys."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_lowercase, digits
from types import MappingProxyType

from ...core.locale import sentence
from ...core.registry import nearest

#: Keys with names of several letters, as PsychoPy calls them, and what is printed on them where
#: that says more than the name.
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
}
_OTHERS = {
    "left",
    "right",
    "up",
    "down",
    "space",
    "return",
    "tab",
    "backspace",
    "lshift",
    "rshift",
    "lctrl",
    "rctrl",
    "lalt",
    "ralt",
    "home",
    "end",
    "pageup",
    "pagedown",
    "insert",
    "delete",
}
_KEYPAD = {f"num_{name}" for name in (*digits, "add", "subtract", "multiply", "divide", "decimal", "enter")}
_FUNCTION = {f"f{number}" for number in range(1, 13)}
#: Every key that may be given to an answer, as the window tells it: always without the shift key.
KEY_NAMES = frozenset({*ascii_lowercase, *digits, *_SIGNS, *_OTHERS, *_KEYPAD, *_FUNCTION})
#: keys whose names depend on the language
_NAMED = frozenset({"space", "return", "left", "right", "up", "down"})
_BUTTON = re.compile(r"button_([1-9]\d?)")
#: Keys that a session keeps for itself, and what for.
RESERVED: dict[str, str] = {"escape": "Escape pauses the session"}
#: What these keys are called elsewhere.
_ALSO_CALLED: dict[str, str] = {
    **{sign: name for name, sign in _SIGNS.items()},
    **{
        " ": "space",
        "spacebar": "space",
        "enter": "return",
        "numpad_enter": "num_enter",
        "esc": "escape",
        "del": "delete",
        "ins": "insert",
    },
    **{"shift": "lshift", "ctrl": "lctrl", "control": "lctrl", "alt": "lalt"},
    **{"page_up": "pageup", "page_down": "pagedown", "pgup": "pageup", "pgdn": "pagedown"},
    **{f"{prefix}{digit}": f"num_{digit}" for prefix in ("numpad_", "kp_", "numpad", "kp") for digit in digits},
    **{f"arrow{joint}{way}": way for joint in ("", "_") for way in ("left", "right", "up", "down")},
}
#: Signs that most keyboards have only together with the shift key, and what pyglet calls them.
_SHIFTED: dict[str, str] = {
    **{
        "!": "exclamation",
        '"': "doublequote",
        "#": "hash",
        "$": "dollar",
        "%": "percent",
        "&": "ampersand",
        "(": "parenleft",
        ")": "parenright",
    },
    **{
        "*": "asterisk",
        ":": "colon",
        "<": "less",
        ">": "greater",
        "?": "question",
        "@": "at",
        "^": "asciicircum",
        "_": "underscore",
    },
    **{"{": "braceleft", "|": "bar", "}": "braceright", "~": "asciitilde"},
}


def is_key(name: str) -> bool:
    """Return whether an answer may be given with a key of this name (``button_1`` ... are those of
    a button box)."""
    return name in KEY_NAMES or _BUTTON.fullmatch(name) is not None


def key_problem(name: str) -> str:
    """Why an answer cannot be given with a key of this name, in a sentence; empty when it can."""
    if is_key(name):
        return ""
    called = _ALSO_CALLED.get(name.lower(), name.lower())
    if called in RESERVED:
        return f"'{name}' is kept for the session itself ({RESERVED[called]}); take another key"
    if name in _SHIFTED or name in _SHIFTED.values():
        return (
            f"'{name}' needs the shift key, and a press is identified by its key alone; take a key that needs no shift"
        )
    if called in KEY_NAMES:
        why = (
            " (keys are identified without the shift key, so letters are lower case)"
            if name.isupper() and len(name) == 1
            else ""
        )
        return f"there is no key '{name}'; did you mean '{called}'?{why}"
    if len(name) == 1 and name.isalpha():
        return (
            f"'{name}' is on the keyboards of some countries only; take a letter from a to z, a digit, or a key such as"
            " left, space or num_5"
        )
    hint = (
        nearest(called, sorted(KEY_NAMES))
        or "; keys are called as PsychoPy calls them, such as f, space or num_5 (see 'In the lab' in the documentation)"
    )
    return f"there is no key '{name}'{hint}"


def own_key(word: str) -> str:
    """The key on which a word of one letter or sign stands: ``m`` for ``m`` and ``M``, ``minus``
    for ``-``; empty where there is no such key."""
    called = _ALSO_CALLED.get(word, word.lower())
    return called if len(word) == 1 and called in KEY_NAMES else ""


def own_keys(words: Sequence[str]) -> tuple[str, ...]:
    """The keys on which words of one letter or sign stand; none where one has no key to itself."""
    keys = tuple(map(own_key, words))
    return keys if all(keys) and len(set(keys)) == len(keys) else ()


def is_button(name: str) -> bool:
    """Return whether this is a button of a button box."""
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
    swapped : whether the two keys of every question with two words change sides (where the paradigm
        does not tie them to sides, and where the keys are not the words themselves)
    words : what the person reads in place of answers that are words, in their language; what is
        recorded stays as it is
    custom : keys by answer, as people and models write it (``same``; ``1`` is the first position),
        in place of those of the paradigm; they are swapped, too
    """

    swapped: bool = False
    custom: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    words: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


#: the keys that a paradigm declares
STANDARD_KEYS = AnswerKeys()
