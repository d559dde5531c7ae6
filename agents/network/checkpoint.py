"""Checkpoints: weights in half precision and what they are, in one file without code."""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...components import nearest
from ...errors import SpanLabError
from ...paradigms import WordVectors, random_vectors
from ...paradigms.word_vectors import DIMENSIONS
from .settings import ModelSettings, need_torch

if TYPE_CHECKING:
    from .model import Network

FORMAT = "spanlab network"
VERSION = 1
#: Larger files are not read: a network of the largest allowed sizes is far smaller.
MAX_BYTES = 2_000_000_000


class TrainedOn(BaseModel):
    """What a network was trained on."""

    model_config = ConfigDict(extra="forbid")

    paradigms: dict[str, str] = Field(description="hash of each paradigm that it was trained on, by name")
    levels: dict[str, dict[str, list[Any]]] = Field(description="factor levels of each paradigm")
    steps: int = Field(ge=0, description="steps of training")
    trials: dict[str, int] = Field(description="trials seen in training, repeats counted, by paradigm")
    config: str = Field(description="hash of the training config")


class Vectors(BaseModel):
    """Which vectors of words a network reads. Random ones are made again from their seed; those of a file are kept with the weights, as they were."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(description="where they come from, as it is recorded")
    sha256: str | None = Field(description="of their file")
    seed: int | None = Field(description="of random vectors")
    words: list[str] = Field(description="words whose vectors are kept")
    tasks: list[str] = Field(description="tasks in which they are read")


class Header(BaseModel):
    """The part of a checkpoint that is not weights."""

    model_config = ConfigDict(extra="forbid")

    format: str
    version: int
    name: str
    settings: ModelSettings
    tasks: dict[str, int]
    trained: TrainedOn
    vectors: Vectors | None = None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A loaded checkpoint.

    Parameters
    ----------
    header : what it is
    network : in float32 on the CPU, in evaluation mode
    sha256 : of the file
    bytes : size of the file
    vectors : of words, for networks that read them
    """

    header: Header
    network: Network
    sha256: str
    bytes: int
    vectors: WordVectors | None = None


def shipped() -> list[str]:
    """The names of the checkpoints that ship."""
    folder = resources.files(__name__.rpartition(".")[0]) / "checkpoints"
    return sorted(entry.name.removesuffix(".pt") for entry in folder.iterdir() if entry.name.endswith(".pt")) if folder.is_dir() else []


def locate(spec: str | Path) -> Path:
    """The file of a checkpoint that is given by its name in the package or by its path.

    Raises
    ------
    SpanLabError
        when there is none; names what there is.
    """
    text = str(spec).removeprefix("network:")
    path = Path(text)
    looks_like_path = isinstance(spec, Path) or path.suffix == ".pt" or "/" in text or "\\" in text
    if not looks_like_path:
        if text in shipped():
            return Path(str(resources.files(__name__.rpartition(".")[0]) / "checkpoints" / f"{text}.pt"))
        names = ", ".join(shipped()) or "none"
        raise SpanLabError(f"there is no network '{text}'{nearest(text, shipped())} (those that ship: {names}; your own is given by its file, ending in .pt)")
    if not path.is_file():
        raise SpanLabError(f"there is no checkpoint at {path}; spanlab train writes one, and these ship with SpanLab: {', '.join(shipped()) or 'none'}")
    return path


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that at any instant either the old one or the whole new one is there.

    Raises
    ------
    SpanLabError
        when the folder cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise SpanLabError(f"cannot write {path} ({error.strerror or error}); choose another folder") from None


def save(path: Path, network: Network, name: str, trained: TrainedOn, vectors: WordVectors | None = None) -> str:
    """Write a checkpoint, atomically; returns its SHA-256. The vectors of words from a file are kept in full precision."""
    import torch

    from .model import rounded_half

    assert (vectors is None) == (not network.reading), "a network that reads words comes with their vectors"
    header = Header(format=FORMAT, version=VERSION, name=name, settings=network.settings, tasks=network.tasks, trained=trained)
    data: dict[str, Any] = {**header.model_dump(mode="json", exclude={"vectors"}), "weights": rounded_half(network.state_dict())}
    if vectors is not None:
        words = sorted(vectors.table) if vectors.seed is None else []
        kept = Vectors(**vectors.described(), seed=vectors.seed, words=words, tasks=sorted(network.reading))
        data |= {"vectors": kept.model_dump(mode="json"), "vector_table": torch.from_numpy(vectors.of(words))}
    buffer = io.BytesIO()
    torch.save(data, buffer)
    write_atomically(path, buffer.getvalue())
    return hashlib.sha256(buffer.getvalue()).hexdigest()


def read_torch(path: Path, what: str) -> tuple[Mapping[str, Any], bytes]:
    """The dictionary in a file that torch saved, read without running any code in it, and the file's bytes.

    Raises
    ------
    SpanLabError
        when the file cannot be read, is no such file, or holds more than plain values and tensors.
    """
    need_torch()
    import torch

    try:
        if path.stat().st_size > MAX_BYTES:
            raise SpanLabError(f"{path} is larger than any {what} of SpanLab ({MAX_BYTES // 10**9} GB); check that it is the right file")
        content = path.read_bytes()
    except OSError as error:
        raise SpanLabError(f"cannot read the {what} {path}: {error.strerror or error}") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many kinds for a file that is no checkpoint; all mean the same to the user
        reason = (
            "it holds code or objects, which are not loaded"
            if "weights_only" in str(error) or "Unsupported" in str(error)
            else "it is damaged or something else"
        )
        raise SpanLabError(f"{path} is no {what} of SpanLab: {reason}; give a file that spanlab train has written") from None
    if not isinstance(data, dict):
        raise SpanLabError(f"{path} is no {what} of SpanLab: it holds something else; give a file that spanlab train has written")
    return data, content


def load(spec: str | Path) -> Checkpoint:
    """Load a checkpoint by its name in the package (``laptop``) or from a file.

    Raises
    ------
    SpanLabError
        when torch or the file is missing, or the file is not a checkpoint of this kind, or its weights do not fit.
    """
    path = locate(spec)
    data, content = read_torch(path, "checkpoint")
    from .model import build, finite

    if data.get("format") != FORMAT:
        raise SpanLabError(f"{path} is no checkpoint of SpanLab (it does not say '{FORMAT}'); give a file that spanlab train has written")
    if data.get("version") != VERSION:
        raise SpanLabError(
            f"{path} has checkpoint format {data.get('version')!r}, and this SpanLab reads {VERSION}; use the SpanLab that wrote it, or a newer one"
        )
    try:
        header = Header.model_validate({key: value for key, value in data.items() if key not in ("weights", "vector_table")})
        network = build(header.settings, header.tasks, seed=0, reading=header.vectors.tasks if header.vectors is not None else ())
        weights = {name: tensor.float() for name, tensor in data["weights"].items()}
        network.load_state_dict(weights, strict=True)
        vectors = None if header.vectors is None else _vectors(header.vectors, data["vector_table"])
    except (ValidationError, KeyError, AttributeError, TypeError, ValueError, RuntimeError) as error:
        first = str(error).splitlines()[0]
        raise SpanLabError(f"{path} is a damaged checkpoint: its weights and its description do not fit together ({first}); train it again") from None
    if not finite(weights):
        raise SpanLabError(f"{path} is a damaged checkpoint: some weights are not finite; train it again")
    network.eval()
    network.requires_grad_(False)
    return Checkpoint(header, network, hashlib.sha256(content).hexdigest(), len(content), vectors)


def _vectors(header: Vectors, table: Any) -> WordVectors:
    """The vectors that a checkpoint keeps."""
    if header.seed is not None:
        return random_vectors(header.seed)
    found = table.float().numpy()
    if found.shape != (len(header.words), DIMENSIONS) or not np.isfinite(found).all():
        raise ValueError("the vectors of words")
    return WordVectors(header.name, header.sha256, dict(zip(header.words, found, strict=True)))
