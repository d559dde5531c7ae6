"""Files of weights: read without running anything in them, written so that a kill leaves the old
file or the whole new one."""

from __future__ import annotations

import io
import pickletools
import warnings
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ....core.atomic_files import ordinary, write_whole
from ....core.errors import SpanLabError
from ..settings import need_torch

#: Larger files are not read: a network of the largest allowed sizes is far smaller.
MAX_BYTES = 2_000_000_000
#: Largest description of what is in a file; a network's has some thousand bytes, an optimizer's
#: some ten thousand.
_MAX_DESCRIPTION = 50_000_000

#: The only things that a file may name: what tensors, dictionaries and numbers are put together
#: from. All of it is inert.
_STORAGES = ("Double", "Float", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool")
_NUMBERS = {"numpy.core.multiarray scalar", "numpy._core.multiarray scalar", "numpy dtype", "_codecs encode"}
_MAY_NAME = {
    "collections OrderedDict",
    "torch._utils _rebuild_tensor_v2",
    "torch._utils _rebuild_parameter",
    "torch.storage UntypedStorage",
    "torch Size",
    *(f"torch {kind}Storage" for kind in _STORAGES),
    *_NUMBERS,
}


class RefusedError(Exception):
    """Raised when a file is not read; the message is the end of a sentence."""


def write_atomically(path: Path, content: bytes | memoryview) -> None:
    """Write a file so that at any instant either the old one or the whole new one is there.

    Raises
    ------
    SpanLabError
        when the folder cannot be written.
    """
    write_whole(path, content, "choose another folder", folders="all", together=True)


def remove_leftovers(folder: Path, name: str) -> None:
    """Remove half-written files of a network after a kill."""
    for path in folder.glob(f".{name}.*.part"):
        with suppress(OSError):
            path.unlink()


def read_content(path: Path, what: str) -> bytes:
    """The bytes of a file of a network.

    Raises
    ------
    SpanLabError
        when it cannot be read, or is too large to be one.
    """
    try:
        if ordinary(path).stat().st_size > MAX_BYTES:
            raise SpanLabError(
                f"{path} is larger than any {what} that SpanLab takes ({MAX_BYTES // 10**9} GB); check that it is the"
                " right file"
            )
        return path.read_bytes()
    except OSError as error:
        raise SpanLabError(f"cannot read the {what} {path}: {error.strerror or error}") from None


def read_torch(path: Path, what: str) -> tuple[Mapping[str, Any], bytes]:
    """The dictionary in a file that torch saved, read without running any code in it, and the
    file's bytes.

    The file is looked through before torch reads it: what it names, and that it does not grow when
    it is unpacked. Then torch reads weights only.

    Raises
    ------
    SpanLabError
        when the file cannot be read, is no such file, or holds more than plain values and tensors.
    """
    need_torch()
    import torch

    content = read_content(path, what)
    try:
        look_through(content)
        with warnings.catch_warnings(), torch.serialization.safe_globals(_numbers()):
            warnings.simplefilter("ignore")
            data = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
        if not isinstance(data, dict):
            raise RefusedError("it holds something else")
    except RefusedError as refused:
        raise SpanLabError(f"{path} is not a {what} that SpanLab can use: {refused}; {_ADVICE}") from None
    except (
        Exception,
        RecursionError,
    ) as error:  # torch raises many kinds for a file that is none; all mean the same to the user
        reason = (
            "it holds code or objects, which are not loaded"
            if "weights_only" in str(error) or "Unsupported" in str(error)
            else _DAMAGED
        )
        raise SpanLabError(f"{path} is not a {what} that SpanLab can use: {reason}; {_ADVICE}") from None
    return data, content


_DAMAGED = "it is damaged or something else"
_ADVICE = (
    "give a file of weights, such as spanlab train, the WorM benchmark or torch.save(module.state_dict(), FILE) writes"
)


def look_through(content: bytes) -> None:
    """Look through the parts of a file that torch saved, before anything is put together from it.

    Raises
    ------
    RefusedError
        why it is not opened, as the end of a sentence.
    """
    if not zipfile.is_zipfile(io.BytesIO(content)):
        pickled = "it holds code or objects, which are not loaded (PyTorch before 1.6 wrote files in that way, too)"
        raise RefusedError(pickled if content[:1] == b"\x80" else _DAMAGED)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        _check_archive(archive, len(content))
        descriptions = [entry for entry in archive.infolist() if entry.filename.rpartition("/")[2] == "data.pkl"]
        if len(descriptions) != 1 or descriptions[0].file_size > _MAX_DESCRIPTION:
            raise RefusedError(_DAMAGED)
        _check_names(archive.read(descriptions[0]))


def _check_archive(archive: zipfile.ZipFile, size: int) -> None:
    """Check that an archive holds no more than its size, and that nothing in it was damaged.

    Parameters
    ----------
    size : of the file

    Raises
    ------
    RefusedError
        when it would grow as it is unpacked, or when something in it does not have the checksum
        that was written with it, which PyTorch does not look at.
    """
    entries = archive.infolist()
    if any(entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size for entry in entries):
        raise RefusedError("it is compressed, which PyTorch's files never are")
    if sum(entry.file_size for entry in entries) > size:
        raise RefusedError("it says that it holds more than its size")
    if (changed := archive.testzip()) is not None:
        raise RefusedError(f"it is damaged (the checksum of {changed[:80]} is wrong)")


def _check_names(description: bytes) -> None:
    """Read through a pickle, as text and without following it, for the names of things that it
    would call."""
    for code, argument, _ in pickletools.genops(description):
        if code.name == "GLOBAL":
            name = str(argument)
            # and types of numpy's numbers, which the accuracies in published checkpoints may be
            of_numbers = name.startswith("numpy.dtypes ") and name.endswith("DType")
            if name not in _MAY_NAME and not (of_numbers and name.removeprefix("numpy.dtypes ").isalnum()):
                raise RefusedError("it holds code or objects, which are not loaded")
        elif code.name in ("STACK_GLOBAL", "INST", "OBJ", "NEWOBJ", "NEWOBJ_EX", "EXT1", "EXT2", "EXT4", "PERSID"):
            raise RefusedError("it holds code or objects, which are not loaded")


def _numbers() -> list[Any]:
    """Return the functions that numpy's numbers are put together by, under the names that older and
    newer numpy give it."""
    import numpy as np

    scalar = np.float64(0).__reduce__()[0]  # type: ignore[index]
    kinds = [type(np.dtype(name)) for name in ("float64", "float32", "int64", "int32", "bool")]
    return [(scalar, "numpy.core.multiarray.scalar"), (scalar, "numpy._core.multiarray.scalar"), np.dtype, *kinds]
