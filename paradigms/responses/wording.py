"""What may stand around an answer in a reply: marks and quotes, dashes of all sorts, words that turn it into its opposite."""

from __future__ import annotations

import re
from collections.abc import Iterator

#: Where the head of a reply ends, and reasons begin.
HEAD_END = re.compile(r":(?!\d)|\.(?=\s)|[;(\n]|,?\s(?:because|since|as)\b")
#: And a dash, after answers that are not signs themselves; looked for from the beginning of what makes text bold, else every sign of many would be tried.
DASH_END = re.compile(r"(?<![*_`])[*_`]*\s[-–—]\s(?=[^\W\d_])")
#: What offers one answer beside another.
OR = re.compile(r"\b(?:or|oder|ou)\b|或", re.IGNORECASE)
_DASHES = dict.fromkeys(map(ord, "‐‑‒–—―−﹘﹣－"), "-")
#: Peeled off in this order, again and again: what ends a sentence, what makes text bold or code, what encloses it.
_SKINS = (("", ".!,;:"), ("*_`#", "*_`"), ("'\"“”„‘’‚«»()[]{}$", "'\"“”„‘’‚«»()[]{}$"))
_LAYERS = 4
#: also those without a width
_SPACES = " \t\r\n\u00a0\u200b\u2060\ufeff"
#: Words after which an answer may be one that is not meant.
_NEGATIONS = re.compile(
    r"(?<![^\W_])(?:not|no|nor|none|never|neither|cannot|without|except|unless|wrong|false|incorrect|opposite|other than|rather than|instead|"
    r"nicht|nie|niemals|weder|ohne|falsch|kein\w{0,2}|pas|jamais|aucun\w?|sans|tampoco|nunca|ninguno|sin)(?![^\W_])|n['’]t(?![^\W_])|不是|并非|不对|没有|不能|不知",
    re.IGNORECASE,
)


def dashed(text: str) -> str:
    """A text with every sort of dash as the one on the keyboard; no character is added or lost."""
    return text.translate(_DASHES)


def alike(text: str) -> str:
    """The same for texts that differ in nothing but case, spaces and the sort of dash."""
    return " ".join(dashed(text).casefold().split())


def undressed(text: str) -> Iterator[str]:
    """A text, and then the same with less and less around it: no quotes, no bold type, no full stop."""
    bare = text.strip()
    yield bare
    for front, back in _SKINS * _LAYERS:
        peeled = bare.lstrip(front + _SPACES).rstrip(back + _SPACES)
        if peeled and peeled != bare:
            bare = peeled
            yield bare


def negated(text: str, but: frozenset[str] = frozenset()) -> bool:
    """Whether a text says that something is not so; the words of ``but`` (in small letters) are answers themselves and do not count."""
    return any(match[0].lower() not in but for match in _NEGATIONS.finditer(text))
