"""The images of a session's paradigm, copied into its folder, so that its trials can be shown again as they were whatever becomes of the laboratory's files."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ..core.atomic_files import write_whole
from ..core.errors import SpanLabError
from ..paradigms import Paradigm, load_paradigm
from ..stimuli.image_files import SUFFIXES, content_of, remember, suffix_of

#: the folder of the copies, in the folder of a session; each is named by the hash of its content
FOLDER = "images"


def copy_images(folder: Path, paradigm: Paradigm) -> None:
    """Copy the images of a paradigm into the folder of a new session.

    Raises
    ------
    SpanLabError
        when one has changed since the paradigm was read, or cannot be written.
    """
    images = paradigm.reader.images
    if images:
        (folder / FOLDER).mkdir(exist_ok=True)
    for name, facts in images.items():
        write_whole(folder / FOLDER / f"{facts.sha256}{suffix_of(facts.sha256)}", content_of(facts.sha256, name), together=True)


def use_copies(folder: Path, paradigm: Paradigm, needed: bool = False) -> None:
    """Take the images of a recorded paradigm from the folder of its session.

    Parameters
    ----------
    needed : whether all of them are going to be shown, so that a missing one stops everything now

    Raises
    ------
    SpanLabError
        when a copy no longer has its content, or one that is needed is missing.
    """
    for name, facts in paradigm.reader.images.items():
        for suffix in SUFFIXES:
            copy = folder / FOLDER / f"{facts.sha256}{suffix}"
            if not copy.is_file():
                continue
            if hashlib.sha256(copy.read_bytes()).hexdigest() != facts.sha256:
                raise SpanLabError(f"{copy} has changed: it is not the image {name} that was shown in this session. Restore the original file")
            remember(facts.sha256, copy)
        if needed:
            content_of(facts.sha256, name)


def changed_images(then: Paradigm, source: str) -> list[str]:
    """The images of a file of a paradigm that are not what they were, in words for a message."""
    try:
        before, after = then.reader.images, load_paradigm(source).reader.images
    except SpanLabError:
        return []  # the file itself has changed, and is wrong now
    changed = [f"{name} has changed" for name in before if name in after and after[name] != before[name]]
    return [*changed, *(f"{name} is gone" for name in before if name not in after), *(f"{name} is new" for name in after if name not in before)]
