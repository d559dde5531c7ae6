"""Files of a laboratory's own (images, sounds): their names, and their content by its hash.

A display names a file by the SHA-256 of its content and by nothing else, so that neither the name
of a file nor its folder reaches anybody who answers. Where a file with this content lies is known
here, for as long as the program runs.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, Self, TypeVar, cast

from ..core.errors import SpanLabError
from ..core.registry import nearest


@dataclass(frozen=True, slots=True)
class FileFacts:
    """The facts about a file without its content.

    Parameters
    ----------
    sha256 : of the file's content
    """

    #: what one is called, and what several are: the key of a paradigm that lists them, and the
    #: folder of their copies in a session
    noun: ClassVar[str]
    nouns: ClassVar[str]
    #: how the names of such files end, and one of them as an example
    suffixes: ClassVar[Sequence[str]]
    instance: ClassVar[str]
    #: the largest file, in bytes
    most_bytes: ClassVar[int]

    sha256: str

    def to_record(self) -> dict[str, Any]:
        """As a paradigm keeps it."""
        return asdict(self)

    @classmethod
    def recorded(cls, value: Any) -> Self | None:
        """The facts that a paradigm keeps; None where somebody has written something else."""
        names = {field.name for field in fields(cls)}
        return cls(**value) if isinstance(value, Mapping) and set(cast("Mapping[str, Any]", value)) == names else None

    @classmethod
    def read(cls, path: Path) -> Self:
        """Look at a file, and remember where it lies.

        Raises
        ------
        ValueError
            when it cannot be used as it is.
        """
        content = _read_content(path, cls)
        sha256 = hashlib.sha256(content).hexdigest()
        if (cls, sha256) not in _LOOKED_AT:
            _LOOKED_AT[cls, sha256] = cls(sha256, *cls.measured(content))
        remember(sha256, path)
        return cast(Self, _LOOKED_AT[cls, sha256])

    @staticmethod
    def measured(content: bytes) -> tuple[int, ...]:
        """The facts besides the hash.

        Raises
        ------
        ValueError
            when a file with this content cannot be used as it is.
        """
        raise NotImplementedError


#: contents that were looked at, by their hash
_LOOKED_AT: dict[tuple[type[FileFacts], str], FileFacts] = {}
_Facts = TypeVar("_Facts", bound=FileFacts)
#: The files of a paradigm, by name.
Files = Mapping[str, FileFacts]


def name_problem(name: str, kind: type[FileFacts]) -> str:
    """Why a text cannot be the name of a file of a paradigm; empty when it can."""
    path = PurePosixPath(name)
    if "\\" in name:
        return f"write folders with /, as in {kind.instance}"
    if path.is_absolute() or re.match(r"[A-Za-z]:", name) or ".." in path.parts:
        return (
            f"{kind.nouns} lie in the folder of the paradigm, or in folders below it: write the path from there, as in"
            f" {kind.instance}; copy the file there if need be"
        )
    if path.suffix.lower() not in kind.suffixes:
        article = "an" if kind.noun[0] in "aeiou" else "a"
        return f"{article} {kind.noun} file ends in {', '.join(kind.suffixes[:-1])} or {kind.suffixes[-1]}"
    return ""


def checked_name(kind: type[FileFacts]) -> Callable[[str], str]:
    """Return a validator that refuses a text that cannot be the name of a file of this kind, with a
    ValueError."""

    def check(name: str) -> str:
        if problem := name_problem(name, kind):
            raise ValueError(problem)
        return name

    return check


def facts_named(files: Files, name: str, kind: type[_Facts]) -> _Facts:
    """Return the facts about a file of a paradigm.

    Raises
    ------
    ValueError
        when the paradigm has no such file; the message names the nearest.
    """
    facts = files.get(name)
    if isinstance(facts, kind):
        return facts
    near = nearest(name, [other for other, one in files.items() if isinstance(one, kind)])
    raise ValueError(
        f"'{name}' is not among the {kind.nouns} of this paradigm{near}; those that an expression may choose lie in the"
        f" folders that the file names at its top, such as {kind.nouns}: [{PurePosixPath(kind.instance).parent}]"
    )


def without_paradigm(name: str, kind: type[FileFacts]) -> SpanLabError:
    """The error of a display that asks for a file by its name and belongs to no paradigm."""
    return SpanLabError(f"the {kind.noun} '{name}' belongs to a paradigm, and is looked for in its folder")


#: by the hash of a content: the files in which it was seen
_PLACES: dict[str, dict[Path, None]] = {}


def remember(sha256: str, path: Path) -> None:
    """Note that a file should have the content with this hash; it is looked at when it is needed."""
    _PLACES.setdefault(sha256, {})[path] = None


def _read_content(path: Path, kind: type[FileFacts]) -> bytes:
    """The content of a file.

    Raises
    ------
    ValueError
        when it is missing, or too large.
    """
    try:
        if (size := path.stat().st_size) > kind.most_bytes:
            raise ValueError(
                f"the file has {size / 1e6:.1f} MB; {kind.nouns} have at most {kind.most_bytes // 1_000_000} MB: save"
                " it smaller"
            )
        return path.read_bytes()
    except OSError as error:
        raise ValueError(f"the file cannot be read: {error.strerror or error}") from None


def content_of(sha256: str, name: str = "", noun: str = "image") -> bytes:
    """The content with a hash, from one of the files in which it was seen.

    Parameters
    ----------
    name : of the file, for a message
    noun : what it is, for a message

    Raises
    ------
    SpanLabError
        when none of them has it any more.
    """
    places = _PLACES.get(sha256, {})
    for path in places:
        try:
            content = path.read_bytes()
        except OSError:
            continue
        if hashlib.sha256(content).hexdigest() == sha256:
            return content
    article = "an" if noun[0] in "aeiou" else "a"
    which = f"the {noun} {name}" if name else f"{article} {noun}"
    changed = [str(path) for path in places if path.exists()]
    if changed:
        raise SpanLabError(
            f"{which} has changed: {changed[0]} does not have the recorded content (SHA-256 {sha256[:16]}...); restore"
            " the original file"
        )
    where = f"; it was at {', '.join(map(str, places))}" if places else ""
    raise SpanLabError(
        f"{which} is missing: no file with its content is known (SHA-256 {sha256[:16]}...){where}. Put it back"
    )


def suffix_of(sha256: str) -> str:
    """Return the suffix of the file with this content."""
    return next((path.suffix.lower() for path in _PLACES.get(sha256, {})), "")
