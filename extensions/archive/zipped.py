"""The file of an archive: which files are in it, each with its size and hash. What comes from elsewhere is checked
before anything is written."""

from __future__ import annotations

import hashlib
import json
import re
import stat
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from spanlab.core import STRICT_JSON, SpanLabError, as_object, written_in
from spanlab.core.atomic_files import aside, ordinary, replacing, sync_folder

#: the list of what is in an archive
CONTENTS = "archive.json"
FORMAT = 1
#: names of files in an archive: no way out of the folder, nothing that a system reads otherwise
_NAME = re.compile(r"(?!.*(^|/)\.{0,2}(/|$))[^/\\:\x00-\x1f][^\\:\x00-\x1f]{0,400}")
#: names of studies, which are identifiers as those of participants are
_STUDY = re.compile("[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
#: text is packed to a fiftieth at most; a file that grows more was made to grow
_MOST_GROWTH, _ALWAYS = 200, 1_000_000
_MOST_GROWTH_IN_ALL, _ALWAYS_IN_ALL = 60, 1_000_000_000
#: a file is in memory as a whole while it is checked
_MOST_FILES, _MOST_BYTES, _MOST_OF_A_FILE = 1_000_000, 50_000_000_000, 1_000_000_000


def write_archive(
    path: Path, files: Iterable[tuple[str, bytes]], about: Mapping[str, Any], mode: int = 0o666
) -> dict[str, Any]:
    """Write an archive, whole or not at all, and return what its list says. It is on the disk then, and one that can
    be read again.

    Parameters
    ----------
    files : names in the archive, and contents
    about : what its list says besides
    mode : permissions of the file from its creation on, as far as the system's mask leaves them
    """
    listed: dict[str, list[Any]] = {}
    with aside(path) as hidden:
        with (
            replacing(hidden / path.name, mode=mode) as partial,
            zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as made,
        ):
            for name, content in files:
                listed[name] = [len(content), hashlib.sha256(content).hexdigest()]
                made.writestr(name, content)
            contents = {"format": FORMAT, **about, "files": listed}
            made.writestr(CONTENTS, json.dumps(contents, indent=1, ensure_ascii=False))
        try:
            Archive(hidden / path.name)
        except SpanLabError as error:
            raise SpanLabError(f"this archive could not be restored, and is not kept: {error}") from None
        (hidden / path.name).replace(path)
        sync_folder(path.parent)
    return contents


class Archive:
    """An archive that somebody has given us.

    Raises
    ------
    SpanLabError
        when it is none, or not what its list says.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = zipfile.ZipFile(ordinary(path))
            infos = self._file.infolist()
        except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile) as error:
            raise SpanLabError(f"{path} is not an archive of a study: {error}") from None
        self._infos = {info.filename: info for info in infos}
        if len({name.casefold() for name in self._infos}) < len(infos) or len(infos) > _MOST_FILES:
            raise SpanLabError(f"{path} has a file twice, or more than {_MOST_FILES:,}: not an archive of a study")
        for info in infos:
            self._check(info)
        most = min(_MOST_BYTES, max(_ALWAYS_IN_ALL, _MOST_GROWTH_IN_ALL * path.stat().st_size))
        if (size := sum(info.file_size for info in infos)) > most:
            raise SpanLabError(f"{path} would grow to {size:,} bytes, so nothing is unpacked")
        self.contents = self._contents()
        self.files: dict[str, list[Any]] = self.contents["files"]
        if other := sorted(self._infos.keys() ^ {*self.files, CONTENTS}):
            raise SpanLabError(f"{path} is damaged: {other[0]} is in the list or in the file, but not in both")

    def _check(self, info: zipfile.ZipInfo) -> None:
        name, kind = info.filename, stat.S_IFMT(info.external_attr >> 16)
        packed = info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        if not _NAME.fullmatch(name) or kind not in (0, stat.S_IFREG) or not packed:
            raise SpanLabError(f"{self.path}: {name!r} is not an ordinary file in the archive: nothing is unpacked")
        if info.file_size > min(_MOST_OF_A_FILE, max(_ALWAYS, _MOST_GROWTH * info.compress_size)):
            raise SpanLabError(f"{self.path}: {name} would grow to {info.file_size:,} bytes, so nothing is unpacked")

    def _contents(self) -> dict[str, Any]:
        try:
            contents = as_object(json.loads(self._bytes(CONTENTS), **STRICT_JSON))
        except (KeyError, ValueError, RecursionError):
            contents = {}
        listed = as_object(contents.get("files"))
        entries = all(isinstance(one, list) and [*map(type, one)] == [int, str] for one in listed.values())
        named = isinstance(study := contents.get("study"), str) and _STUDY.fullmatch(study)
        if contents.get("format") != FORMAT or not named or not entries:
            raise SpanLabError(f"{self.path} is not an archive of a study that this version of spanlab can read")
        return contents

    def _bytes(self, name: str) -> bytes:
        try:
            with self._file.open(name) as file:
                return file.read(self._infos[name].file_size)
        except (OSError, ValueError, RuntimeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise SpanLabError(f"{self.path}: {name} cannot be read: {error}") from None

    def read(self, name: str) -> bytes:
        """The content of a file.

        Raises
        ------
        SpanLabError
            when it is not what the list says.
        """
        content = self._bytes(name)
        if self.files[name] != [len(content), hashlib.sha256(content).hexdigest()]:
            raise SpanLabError(f"{self.path} is damaged: {name} is not what its list says; take another copy")
        return content

    def below(self, folder: str) -> list[str]:
        """The names of the files in a folder of the archive, relative to it."""
        return [name.removeprefix(folder) for name in self.files if name.startswith(folder)]

    def unpack(self, folder: str, place: Path) -> None:
        """Write the files of a folder of the archive.

        Raises
        ------
        SpanLabError
            when one is not what the list says, or cannot be written.
        """
        for name in self.below(folder):
            with written_in((place / name).parent, f"{folder}{name} of {self.path}"):
                (place / name).write_bytes(self.read(folder + name))
