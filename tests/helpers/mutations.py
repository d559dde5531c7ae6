"""Mutated files: seeded changes of bytes, words, lines and numbers, and texts that are hostile
where somebody trusts them."""

from __future__ import annotations

import random
import re

#: what paths, pages, tables, shells, YAML and JSON may stumble over
HOSTILE = (
    "../../outside",
    "/etc/passwd",
    "<script>alert(1)</script>",
    "=HYPERLINK(1)",
    "$(touch outside)",
    "{{7*7}}",
    "%s%n",
    "\u202e",
    "\x00",
    "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
    "NaN",
    "Infinity",
    "1e999",
    "-1",
    "0",
    "99999999999999999999",
    "9223372036854775808",
    "null",
    "true",
    "''",
    "[]",
    "{}",
    "[" * 2000,
    '{"a":' * 2000,
    "&a [*a]",
    "!!python/object/apply:os.system [id]",
    "n/a",
    "\t",
    "\n",
)


def mutated(content: bytes, seed: str) -> bytes:
    """The content after one to three changes, which follow from the seed alone."""
    chance = random.Random(seed)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        content = chance.choice((_bytes, _cut, _doubled, _ended, _word, _word, _number, _lines, _key))(content, chance)
    return content


def _place(content: bytes, chance: random.Random) -> int:
    return chance.randrange(len(content) + 1)


def _bytes(content: bytes, chance: random.Random) -> bytes:
    start = _place(content, chance)
    return content[:start] + chance.randbytes(chance.randint(1, 6)) + content[start + chance.randint(0, 6) :]


def _cut(content: bytes, chance: random.Random) -> bytes:
    start = _place(content, chance)
    return content[:start] + content[start + chance.choice((1, 4, 40, 400)) :]


def _doubled(content: bytes, chance: random.Random) -> bytes:
    start = _place(content, chance)
    return content[:start] + content[start : start + chance.choice((1, 8, 80, 800))] * 2 + content[start:]


def _ended(content: bytes, chance: random.Random) -> bytes:
    return content[: _place(content, chance)]


def _found(pattern: bytes, content: bytes, chance: random.Random) -> tuple[int, int]:
    """Where a match near some place begins and ends."""
    start = _place(content, chance)
    match = re.search(pattern, content[start : start + 5000]) or re.search(pattern, content[:5000])
    found = (0, 0) if match is None else match.span()
    return (
        (start + found[0], start + found[1])
        if match is not None and content[start : start + 5000][slice(*found)] == match[0]
        else found
    )


def _word(content: bytes, chance: random.Random) -> bytes:
    start, end = _found(rb"[^\s\",:\[\]{}]+", content, chance)
    return content[:start] + chance.choice(HOSTILE).encode("utf-8", "replace") + content[end:]


def _number(content: bytes, chance: random.Random) -> bytes:
    start, end = _found(rb"-?[0-9]+(\.[0-9]+)?", content, chance)
    new = chance.choice(
        (b"-1", b"0", b"1", b"2", b"1.5", b"1e400", b"99999999999999999999", b'"x"', b"[1]", b"null", b"true")
    )
    return content[:start] + new + content[end:]


def _lines(content: bytes, chance: random.Random) -> bytes:
    lines = content.split(b"\n")
    one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    if chance.random() < 0.5:
        del lines[one]
    else:
        lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


def _key(content: bytes, chance: random.Random) -> bytes:
    """A key with another's name: a value of a wrong kind at its place."""
    keys = re.findall(rb"\"?([A-Za-z_]{2,30})\"?:", content[:200_000])
    if not keys:
        return content
    start, end = _found(rb"[A-Za-z_]{2,30}(?=\"?:)", content, chance)
    return content[:start] + chance.choice(keys) + content[end:]
