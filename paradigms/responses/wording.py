"""Answers in the text of a reply: marks and quotes around them, words that turn them into their
opposite, symbols in order.

A reply that could mean two answers has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

#: Where the head of a reply ends, and reasons begin.
HEAD_END = re.compile(r":(?!\d)|\.(?=\s)|[;(\n]|,?\s(?:because|since|as)\b")
#: And a dash, after answers that are not signs themselves; looked for from the beginning of what
#: makes text bold, else every sign of many would be tried.
DASH_END = re.compile(r"(?<![*_`])[*_`]*\s[-–—]\s(?=[^\W\d_])")
#: What offers one answer beside another.
OR = re.compile(r"\b(?:or|oder|ou)\b|或", re.IGNORECASE)
_DASHES = dict.fromkeys(map(ord, "‐‑‒–—―−﹘﹣－"), "-")
#: Peeled off in this order, again and again: what ends a sentence, what makes text bold or code,
#: what encloses it.
_SKINS = (("", ".!,;:"), ("*_`#", "*_`"), ("'\"“”„‘’‚«»()[]{}$", "'\"“”„‘’‚«»()[]{}$"))
_LAYERS = 4
#: also those without a width
_SPACES = " \t\r\n\u00a0\u200b\u2060\ufeff"
#: Words after which an answer may be one that is not meant.
_NEGATIONS = re.compile(
    r"(?<![^\W_])(?:not|no|nor|none|never|neither|cannot|without|except|unless|wrong|false|incorrect|opposite|other"
    r" than|rather than|instead|"
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
    """A text, and then the same with less and less around it: no quotes, no bold type, no full
    stop."""
    bare = text.strip()
    yield bare
    for front, back in _SKINS * _LAYERS:
        peeled = bare.lstrip(front + _SPACES).rstrip(back + _SPACES)
        if peeled and peeled != bare:
            bare = peeled
            yield bare


def negated(text: str, but: frozenset[str] = frozenset()) -> bool:
    """Return whether a text says that something is not so; the words of ``but`` (in small letters)
    are answers themselves and do not count."""
    return any(match[0].lower() not in but for match in _NEGATIONS.finditer(text))


#: What may stand between two symbols of one sequence, and what is no part of any word.
_BETWEEN = re.compile(r"(?:[\s,;|/>→+·•]|-+>?|(?<![^\W_])(?:and|then|und|dann|et|puis|y)(?![^\W_]))*", re.IGNORECASE)
_DRESS = str.maketrans(dict.fromkeys("*_`\"'“”„‘’«»()[]{}<$#", " "))
_TOKEN = re.compile(r"[^\W_]+")
_NUMBERED = re.compile(r"(?:^|(?<=[,;])) *\|? *(\d{1,3})(?:[.):]| \|) +(?=\S)", re.MULTILINE)
#: A line of a list: one item after a dash or another sign, which is then no gap.
_BULLET = re.compile(r"^[ \t]*[-*+•][ \t]+(?=\S+[ \t\r]*$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Run:
    """Symbols that follow one another with nothing but separators between them."""

    values: tuple[int | None, ...]
    whole: bool


def read_symbols(text: str, labels: Sequence[str], blank: str, take: int | None) -> tuple[int | None, ...] | None:
    """The numbers of the symbols that a reply gives in order (None for an item left open), or None
    when it does not clearly give one sequence.

    Symbols are separated by spaces, commas, dashes, arrows or line breaks; single characters may
    also be written together. Lines may be numbered from 1.

    Parameters
    ----------
    labels : the symbols, each a word of letters and digits
    blank : the word for an item that is left open; empty where none may be
    take : how many there have to be; None where there may be any number
    """
    text = dashed(text)
    if negated(text, frozenset({blank})) or OR.search(text):
        return None
    gapped = with_gaps(_without_bullets(without_line_numbers(text, _NUMBERED, least=2)), labels, blank, take)
    if gapped is None:
        return None
    text = gapped.translate(_DRESS)
    bare = any(sign.isdigit() for sign in text) and not any(sign.isalpha() for sign in text)  # a list of numbers alone
    if bare and not all(  # a number is a symbol, or several of one digit written together
        number in labels or all(digit in labels for digit in number) for number in re.findall(r"\d+", text)
    ):
        return None
    runs = _runs(text, labels, blank)
    if len(runs) == 1 and runs[0].whole:
        return runs[0].values if take in (None, len(runs[0].values)) else None
    # Within a longer reply, one symbol by itself may count or name something else.
    sequences = [run.values for run in runs if len(run.values) > 1]
    if not sequences and take == 1 and len(runs) == 1 and all(label.isdigit() for label in labels):
        return runs[0].values
    return sequences[0] if len(set(sequences)) == 1 and take in (None, len(sequences[0])) else None


#: How models write an item that they leave open.
_GAP = re.compile(
    r"[\[(<]?(?:_+|\?+|\*|-+|\.{2,}|…|x|n/a|none|null|nil|missing|unknown|skip(?:ped)?|idk|don't know|blank)[\])>]?",
    re.IGNORECASE,
)
_PIECE = re.compile(r"[\[(<]?(?:don't know|[^\s,;|→>]+)")


def with_gaps(text: str, labels: Sequence[str], blank: str, take: int | None) -> str | None:
    """A text in which an item that is left open stands as ``blank``; None where there is one and
    none may be.

    A line of nothing but symbols and gaps is one, also after a colon; a dash is a gap where spaces
    or commas are around it, but not where there is one between all symbols, unless there have to be
    so many items (``take``).
    """
    if re.fullmatch(r"\W*\w+(?: -+>? \w+)+\W*", text) and take != len(text.split()):
        text = re.sub(" -+>? ", " ", text)
    known = {label.casefold() for label in labels} | {"and", "then"}
    lines = []
    for line in text.split("\n"):
        start, colon, rest = line.partition(":")
        if not colon or re.search(r"[A-Za-zé]{3}", start) is None:
            start, colon, rest = "", "", line
        bare = (
            rest.strip().strip("*`\"'.")
            if not rest.strip().startswith(("*", "_")) or rest.strip().startswith("**")
            else rest.strip()
        )
        pieces = _PIECE.findall(bare.replace("-_-", " _ ").replace("-?-", " ? "))
        gaps = [piece.casefold() not in known and _GAP.fullmatch(piece) is not None for piece in pieces]
        symbols = sum(
            piece.casefold() in known or (len(piece) > 1 and set(piece.casefold()) <= known) for piece in pieces
        )
        if (
            any(gaps)
            and symbols >= 1
            and all(
                gap or piece.casefold().strip(".") in known or _parts(piece, known)
                for piece, gap in zip(pieces, gaps, strict=True)
            )
        ):
            if not blank:
                return None
            lines.append(
                start + colon + " " + " ".join(blank if gap else piece for piece, gap in zip(pieces, gaps, strict=True))
            )
        else:
            lines.append(line)
    return "\n".join(lines)


def _parts(piece: str, known: set[str]) -> bool:
    """Return whether a piece is several symbols with dashes between them."""
    return all(part in known for part in piece.casefold().split("-"))


def without_line_numbers(text: str, numbered: re.Pattern[str], least: int) -> str:
    """A list without the numbers of its lines, where there are so many and they run from 1."""
    numbers = [int(match[1]) for match in numbered.finditer(text)]
    return numbered.sub("", text) if len(numbers) >= least and numbers == [*range(1, len(numbers) + 1)] else text


def _without_bullets(text: str) -> str:
    """A list without the signs before its lines, where at least two lines of one item have one; in
    a single row, a dash before the first item is a gap."""
    return _BULLET.sub("", text) if len(_BULLET.findall(text)) > 1 else text


def _runs(text: str, labels: Sequence[str], blank: str) -> list[_Run]:
    exact: dict[str, int | None] = {label: number for number, label in enumerate(labels)}
    loose = {label.casefold(): number for label, number in exact.items()}
    if len(loose) < len(exact):
        loose = dict(exact)  # capitals and small letters are two symbols
    if blank:
        exact[blank] = loose[blank] = None
    alone = _BETWEEN.sub("", _TOKEN.sub("", text)).strip(" .!:") == "" and all(
        _values(word, exact, loose, True) is not None for word in _TOKEN.findall(text)
    )
    runs: list[list[int | None]] = []
    end: int | None = None
    for token in _TOKEN.finditer(text):
        values = _values(token[0], exact, loose, alone)
        if values is None:
            if _BETWEEN.fullmatch(token[0]) is None:
                end = None
            continue
        if end is not None and _BETWEEN.fullmatch(text, end, token.start()):
            runs[-1] += values
        else:
            runs.append(list(values))
        end = token.end()
    return [_Run(tuple(run), alone) for run in runs]


def _values(
    word: str, exact: Mapping[str, int | None], loose: Mapping[str, int | None], alone: bool
) -> list[int | None] | None:
    """The symbols that a word stands for. In a longer reply a letter counts only as it is written
    in the question, and letters that are written together only where they are capitals."""
    if word in exact:
        return [exact[word]]
    if word.casefold() in loose and (alone or len(word) > 1):
        return [loose[word.casefold()]]
    characters = exact if not alone or all(character in exact for character in word) else loose
    together = [character if character in characters else character.casefold() for character in word]
    if all(character in characters and len(character) == 1 for character in together) and (
        alone or word.isdigit() or word.isupper()
    ):
        return [characters[character] for character in together]
    return None
