"""The signs on the keys: Psychtoolbox names a key by its place on a US keyboard, but people look
for the sign that they were told to press."""

from __future__ import annotations

import os
import sys
from string import ascii_lowercase, digits
from typing import Any

from ....paradigms.responses.text import KEY_NAMES

#: Signs by their code in X (Latin 1), as PsychoPy calls them.
_SIGNS = {
    **{ord(sign): sign for sign in ascii_lowercase + digits},
    **{
        ord(sign): name
        for sign, name in (
            ("-", "minus"),
            ("+", "plus"),
            ("=", "equal"),
            (",", "comma"),
            (".", "period"),
            ("/", "slash"),
        )
    },
    **{
        ord(sign): name
        for sign, name in (
            (";", "semicolon"),
            ("'", "apostrophe"),
            ("[", "bracketleft"),
            ("]", "bracketright"),
            ("\\", "backslash"),
        )
    },
}
#: the others of Latin 1: keys that have them are not what stands at their places on a US keyboard
_LATIN_SIGNS = {code: KEY_NAMES.get(chr(code), chr(code)) for code in range(0x21, 0x100)} | _SIGNS
_DIGITS = frozenset(digits)
#: Where signs are on a US keyboard, by Psychtoolbox's codes under X.
_PLACES: dict[str, int] = {
    **{name: code for code, name in enumerate("1234567890", start=11)},
    **{name: code for code, name in enumerate(("minus", "equal"), start=21)},
    **{name: code for code, name in enumerate((*"qwertyuiop", "bracketleft", "bracketright"), start=25)},
    **{name: code for code, name in enumerate((*"asdfghjkl", "semicolon", "apostrophe"), start=39)},
    "backslash": 52,
    **{name: code for code, name in enumerate((*"zxcvbnm", "comma", "period", "slash"), start=53)},
}
#: Keys that Psychtoolbox never names on a system, because it has no name for them or another one.
_NEVER_NAMED: dict[str, frozenset[str]] = {
    "win32": frozenset({"plus", "rshift", "num_decimal", "num_enter"}),
    "darwin": frozenset({"plus", "rctrl", "lalt", "ralt", "insert"}),
}
#: From so many letters on that are told by their signs, a keyboard has the Latin alphabet.
_LATIN = 20
#: What Psychtoolbox's codes are above those of X.
_ABOVE_X = 1


class Keymap:
    """The signs on the keys of this computer's keyboard, as far as they can be known: under X on
    Linux.

    A key that has a digit with the shift key counts as that digit where it has none without (French
    keyboards). Keys whose signs have no name here (those of other alphabets, the keypad, arrows)
    keep the name that Psychtoolbox gives them.
    """

    def __init__(self) -> None:
        #: the signs on keys by their codes; empty where keys are named by their places on a US keyboard
        self.signs: dict[int, str] = {}
        #: as X tells it, such as ``de`` or ``us``; empty where nothing is known
        self.layout = ""
        if sys.platform.startswith("linux") and os.environ.get("DISPLAY"):
            try:
                from Xlib import display
            except ImportError:
                return
            try:
                server = display.Display()
            except Exception:  # Xlib raises its own kinds; names by place are used then, and the record says so
                return
            try:
                self._read(server)
            finally:
                server.close()

    def _read(self, server: Any) -> None:
        first, last = server.display.info.min_keycode, server.display.info.max_keycode
        for keycode, keysyms in enumerate(server.get_keyboard_mapping(first, last - first + 1), start=first):
            name, code = named(keysyms[0], keysyms[1]), keycode + _ABOVE_X
            if name in _SIGNS.values() or (name and code in _PLACES.values()):
                self.signs[code] = name
        rules = server.screen().root.get_full_property(server.intern_atom("_XKB_RULES_NAMES"), 0)
        parts = [] if rules is None else bytes(rules.value).decode("latin-1").split("\0")
        self.layout = parts[2] if len(parts) > 2 else ""

    def name(self, code: int, place: str) -> str:
        """The name of a key from Psychtoolbox's code; ``place`` is what Psychtoolbox calls it."""
        return self.signs.get(code, place)

    def delivers(self, name: str) -> bool:
        """Return whether a press of the key of this name can come, without the shift key, as far as
        that can be known.

        On a keyboard with Latin letters every sign has to be on a key of its own. On others, keys
        whose signs have no name here count by their places.
        """
        if not self.signs:
            return name not in _NEVER_NAMED.get(sys.platform, ())
        signs = set(self.signs.values())
        if name in signs or name not in _SIGNS.values():
            return True
        latin = sum(sign in signs for sign in ascii_lowercase) >= _LATIN
        return not latin and name in _PLACES and _PLACES[name] not in self.signs


def named(plain: int, shifted: int) -> str:
    """The name of a key from the signs on it (as X numbers them), without and with the shift key;
    empty when there is none."""
    without, with_shift = _LATIN_SIGNS.get(plain, ""), _LATIN_SIGNS.get(shifted, "")
    return with_shift if with_shift in _DIGITS and without not in _DIGITS else without
