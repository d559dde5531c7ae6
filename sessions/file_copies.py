"""The images and sounds of a session's paradigm, copied into its folder, so that its trials can be shown again as they were whatever becomes of the
laboratory's files."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ..core.atomic_files import write_whole
from ..core.errors import SpanLabError
from ..paradigms import Paradigm, load_paradigm
from ..paradigms.language.own_files import KINDS
from ..stimuli.own_files import content_of, remember, suffix_of

#: the folders of the copies, in the folder of a session; each copy is named by the hash of its content
FOLDERS = tuple(kind.nouns for kind in KINDS)


def copy_files(folder: Path, paradigm: Paradigm) -> None:
    """Copy the images and sounds of a paradigm into the folder of a new session.

    Raises
    ------
    SpanLabError
        when one has changed since the paradigm was read, or cannot be written.
    """
    for name, facts in paradigm.reader.files.items():
        (folder / facts.nouns).mkdir(exist_ok=True)
        write_whole(folder / facts.nouns / f"{facts.sha256}{suffix_of(facts.sha256)}", content_of(facts.sha256, name, facts.noun), together=True)


def use_copies(folder: Path, paradigm: Paradigm, needed: bool = False) -> None:
    """Take the images and sounds of a recorded paradigm from the folder of its session.

    Parameters
    ----------
    needed : whether all of them are going to be shown, so that a missing one stops everything now

    Raises
    ------
    SpanLabError
        when a copy does not have its content of then, or one that is needed is nowhere.
    """
    for name, facts in paradigm.reader.files.items():
        for suffix in facts.suffixes:
            copy = folder / facts.nouns / f"{facts.sha256}{suffix}"
            if not copy.is_file():
                continue
            if hashlib.sha256(copy.read_bytes()).hexdigest() != facts.sha256:
                given = "shown" if facts.noun == "image" else "played"
                raise SpanLabError(f"{copy} has changed: it is not the {facts.noun} {name} that was {given} in this session. Restore the original file")
            remember(facts.sha256, copy)
        if needed:
            content_of(facts.sha256, name, facts.noun)


def changed_files(then: Paradigm, source: str) -> list[str]:
    """The images and sounds of a file of a paradigm that are not what they were, in words for a message."""
    try:
        before, after = then.reader.files, load_paradigm(source).reader.files
    except SpanLabError:
        return []  # the file itself has changed, and is wrong now
    changed = [f"{name} has changed" for name in before if name in after and after[name] != before[name]]
    return [*changed, *(f"{name} is gone" for name in before if name not in after), *(f"{name} is new" for name in after if name not in before)]
