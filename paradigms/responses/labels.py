"""Reading one of several labels in a reply. What could mean two of them, or the opposite of one, means none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from .wording import DASH_END, HEAD_END, alike, dashed, negated, undressed

#: So many characters may stand around a label that makes a whole reply, or its head.
_ROOM = 60
#: Letters and digits, and what such signs join to one word; the last is what stands for broken characters.
_WORD = re.compile("[^\\W_]+(?:[-‐‑/.'’\ufffd][^\\W_]+|\ufffd)*")
_JOINTS = re.compile("[-‐‑/.'’\ufffd]")
_NUMBER = re.compile(r"(\d+)(?:st|nd|rd|th)?")
#: what takes an answer back
_CORRECTS = re.compile(r"(?<![^\W_])(?:wait|actually|correction|sorry|hmm|no,|or|rather|oder|ou|doch|moment)(?![^\W_])", re.IGNORECASE)
_BEFORE = r"[^\S\n]*[*_`'\"“‘(\[]*"
_AFTER = r"[*_`'\"”’)\]]*"


def read_label(text: str, labels: Sequence[str]) -> int | None:
    """The number of the label that a reply gives, or None.

    It gives one when it is nothing else (whatever the case, quotes and bold type); when it begins with one, then a colon, a full stop, a bracket, a new line or
    *because*, and offers no other one after it; or when only one occurs in it, as a word or a number of its own, and nothing is denied there. Within a longer
    reply a single letter or sign means nothing ("a match", "m - maybe").
    """
    number = _whole(text, labels)
    if number is not None:
        return number
    room = max(map(len, labels)) + _ROOM
    start = text.lstrip()
    ends = [HEAD_END] if any(len(label) == 1 and not label.isdigit() for label in labels) else [HEAD_END, DASH_END]
    for end in sorted((end for pattern in ends for end in pattern.finditer(start, 0, room)), key=lambda end: end.start()):
        number = _whole(start[: end.start()], labels)
        if number is not None:
            return None if _offers_another(start[end.end() :], labels, number) else number
    return _only(text, labels)


def _whole(text: str, labels: Sequence[str]) -> int | None:
    """The label that a text is, but for what stands around it."""
    if text in labels:
        return labels.index(text)
    if len(text.strip()) > max(map(len, labels)) + _ROOM:
        return None
    for form in undressed(text):
        if form in labels:
            return labels.index(form)
        if like := _like(tuple(labels)).get(alike(form), ()):
            return like[0] if len(like) == 1 else None
    return None


@lru_cache(maxsize=512)
def _like(labels: tuple[str, ...]) -> dict[str, list[int]]:
    """The numbers of the labels, by what they have in common with all texts that are like them."""
    like: dict[str, list[int]] = {}
    for number, label in enumerate(labels):
        like.setdefault(alike(label), []).append(number)
    return like


def _only(text: str, labels: Sequence[str]) -> int | None:
    """The only label that occurs as a word or a number."""
    if negated(text, frozenset(label.lower() for label in labels)):
        return None
    found, numbers, unclear = _occurring(text, labels)
    if unclear or len(found) != 1:
        return None
    if all(label.isdigit() for label in labels) and len(numbers) > 1:
        return None
    return found.pop()


def _offers_another(rest: str, labels: Sequence[str], number: int) -> bool:
    """Whether what follows a label may mean another one."""
    found, _, unclear = _occurring(rest, labels)
    if unclear or (found - {number} and (all(label.isdigit() for label in labels) or _CORRECTS.search(rest))):
        return True
    rest = dashed(rest)
    # Words, letters and signs occur in reasons; they are offered as answers in a line of their own, before a colon, or after "or".
    others = [re.escape(dashed(label)) for n, label in enumerate(labels) if n != number and label.strip()]
    sign = rf"(?:{'|'.join(others)})"
    offered = rf"(?:\A|\n){_BEFORE}{sign}{_AFTER}[^\S\n]*(?:[:.)]|\n|\Z)|\s{sign}:|\bor\b{_BEFORE}{sign}(?!\w)"
    return re.search(offered, rest) is not None


def _occurring(text: str, labels: Sequence[str]) -> tuple[set[int], set[str], bool]:
    """The labels that occur in a text, all numbers in it, and whether a label is part of a word in which it may mean something else."""
    found: set[int] = set()
    numbers: set[str] = set()
    unclear = False
    # Labels of several words are taken out first, the longest first: "left" does not occur in "top left".
    several = sorted((label for label in labels if re.fullmatch(r"\w.*\W.*\w", label)), key=len, reverse=True)
    if several:
        pattern = re.compile("|".join(rf"\b(?i:{label[0]}){re.escape(label[1:])}\b" for label in several))
        found |= {number for match in pattern.finditer(text) if (number := _named(match[0], labels)) is not None}
        text = pattern.sub(" ", text)
    for match in _WORD.finditer(text):
        word = match[0]
        before = text[match.start() - 1] if match.start() else " "
        number = _named(word, labels)
        if any(character.isdigit() for character in word):
            plain = _NUMBER.fullmatch(word)
            if before in "-+−.,\ufffd":
                numbers.add(before + word)
            else:
                numbers.add(plain[1] if plain else word)
                number = _named(plain[1], labels) if plain else number
                found |= set() if number is None else {number}
        elif len(word) > 1:
            if number is not None:
                found.add(number)
                unclear |= before == "\ufffd"
            else:
                parts = [_named(part, labels) if len(part) > 1 else None for part in _JOINTS.split(word)]
                unclear |= any(part is not None for part in parts[1:]) or (parts[0] is not None and "\ufffd" in word + before)
                found |= set() if parts[0] is None else {parts[0]}
    return found, numbers, unclear


def _named(word: str, labels: Sequence[str]) -> int | None:
    """Which label a word is. One of some length may begin with a capital, as at the beginning of a sentence."""
    forms = (word, word[:1].lower() + word[1:]) if len(word) > 1 else (word,)
    return next((labels.index(form) for form in forms if form in labels), None)
