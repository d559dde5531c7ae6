"""Checkpoints: weights and what they are, in one file without code. SpanLab's own, in half
precision or bytes, and those of the WorM benchmark."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ....core.errors import SpanLabError
from ....core.registry import nearest
from ....paradigms import random_vectors
from ....paradigms.word_vectors import DIMENSIONS, WordVectors
from ..settings import CompactSettings, Settings, Task, WormSettings
from .files import read_torch, write_atomically
from .published import NotPublishedError, PublishedCheckpoint, is_published, understand

if TYPE_CHECKING:
    from torch import Tensor

    from ..models import Network

FORMAT = "spanlab network"
VERSION = 1
Store = Literal["half", "bytes"]
#: A network that ships as a comparison: its task was solved before training by what was wired in.
WIRED = "wired-nback"
_ENDINGS = (".pt", ".pth", ".ckpt")


class TrainedOn(BaseModel):
    """Paradigms and levels that a network was trained on."""

    model_config = ConfigDict(extra="forbid")

    paradigms: dict[str, str] = Field(description="hash of each paradigm that it was trained on, by name")
    levels: dict[str, dict[str, list[Any]]] = Field(description="factor levels of each paradigm")
    steps: int = Field(ge=0, description="steps of training")
    trials: dict[str, int] = Field(description="trials seen in training, repeats counted, by paradigm")
    config: str = Field(description="hash of the training config")


class Vectors(BaseModel):
    """Vectors of words that a network reads. Random ones are made again from their seed; those of a
    file are kept with the weights, as they were."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(description="where they come from, as it is recorded")
    sha256: str | None = Field(description="of their file")
    seed: int | None = Field(description="of random vectors")
    words: list[str] = Field(description="words whose vectors are kept")


class Header(BaseModel):
    """The part of SpanLab's own checkpoints that is not weights."""

    model_config = ConfigDict(extra="forbid")

    format: str
    version: int
    name: str
    settings: Settings
    tasks: dict[str, Task]
    trained: TrainedOn
    vectors: Vectors | None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A loaded checkpoint.

    Parameters
    ----------
    name : of the network
    network : in float32 on the CPU, in evaluation mode
    sha256 : of the file
    bytes : size of the file
    trained : what it was trained on; not known of others' checkpoints
    vectors : of words, for networks that read them
    published : what was found, in a checkpoint of the WorM benchmark
    store : how SpanLab's own keep weights
    """

    name: str
    network: Network
    sha256: str
    bytes: int
    trained: TrainedOn | None
    vectors: WordVectors | None = None
    published: PublishedCheckpoint | None = None
    store: Store = "half"


def shipped() -> list[str]:
    """The names of the checkpoints that ship."""
    folder = resources.files("spanlab.agents.network") / "checkpoints"
    return (
        sorted(entry.name.removesuffix(".pt") for entry in folder.iterdir() if entry.name.endswith(".pt"))
        if folder.is_dir()
        else []
    )


def family_of(name: str) -> list[str]:
    """The networks that a name stands for: of those that ship, ``laptop`` stands for all whose
    names begin with ``laptop-``, too, and for :data:`WIRED`."""
    members = [name, *(one for one in shipped() if one.startswith(f"{name}-"))] if name in shipped() else [name]
    return [*members, WIRED] if name == "laptop" else members


def member_for(name: str, tasks: Collection[str]) -> str:
    """Return which network a name stands for when it is given these tasks.

    Parameters
    ----------
    tasks : of the trials to take

    Returns
    -------
    str
        of the family the one that knows all tasks and the fewest beside them, and the name itself
        where none does or it has no family.
    """
    family = family_of(name)
    if len(family) == 1 or not tasks:
        return name
    known = {one: set(load(one).network.tasks) for one in family}
    return min((one for one in family if set(tasks) <= known[one]), key=lambda one: len(known[one]), default=name)


def locate(spec: str | Path) -> Path:
    """The file of a checkpoint that is given by its name in the package or by its path.

    Raises
    ------
    SpanLabError
        when there is none; names what there is.
    """
    text = str(spec).removeprefix("network:")
    path = Path(text)
    looks_like_path = isinstance(spec, Path) or path.suffix in _ENDINGS or "/" in text or "\\" in text
    if not looks_like_path:
        if text in shipped():
            return Path(str(resources.files("spanlab.agents.network") / "checkpoints" / f"{text}.pt"))
        names = ", ".join(shipped()) or "none"
        raise SpanLabError(
            f"there is no network '{text}'{nearest(text, shipped())} (those that ship: {names}; your own is given by"
            f" its file, ending in {', '.join(_ENDINGS)})"
        )
    if path.is_dir():
        raise SpanLabError(f"{path} is a folder, and a checkpoint is a file: give one of the files in it")
    if not path.is_file():
        raise SpanLabError(
            f"there is no checkpoint at {path}; spanlab train writes one, and these ship with SpanLab:"
            f" {', '.join(shipped()) or 'none'}"
        )
    return path


def save(
    path: Path,
    network: Network,
    name: str,
    trained: TrainedOn,
    vectors: WordVectors | None = None,
    store: Store = "half",
) -> str:
    """Write a checkpoint, atomically; returns its SHA-256. The vectors of words from a file are
    kept in full precision."""
    import torch

    assert (vectors is None) == (not network.reading), "a network that reads words comes with their vectors"
    words = sorted(vectors.table) if vectors is not None and vectors.seed is None else []
    kept = vectors and Vectors(**vectors.described(), seed=vectors.seed, words=words)
    header = Header(
        format=FORMAT,
        version=VERSION,
        name=name,
        settings=cast("CompactSettings | WormSettings", network.settings),
        tasks=dict(network.tasks),
        trained=trained,
        vectors=kept,
    )
    table = {} if vectors is None else {"vector_table": torch.from_numpy(vectors.of(words))}
    weights = {key: tensor.detach().to("cpu") for key, tensor in network.state_dict().items()}
    stored, scales = pack(weights) if store == "bytes" else (_halved(weights), {})
    buffer = io.BytesIO()
    torch.save({**header.model_dump(mode="json"), "weights": stored, "scales": scales, **table}, buffer)
    write_atomically(path, buffer.getvalue())
    return hashlib.sha256(buffer.getvalue()).hexdigest()


def load(spec: str | Path) -> Checkpoint:
    """Load a checkpoint by its name in the package (``laptop``) or from a file of SpanLab or of the
    WorM benchmark.

    Raises
    ------
    SpanLabError
        when torch or the file is missing, or the file is no such checkpoint, or its weights do not
        fit.
    """
    path = locate(spec)
    data, content = read_torch(path, "checkpoint")
    digest, size = hashlib.sha256(content).hexdigest(), len(content)
    if data.get("format") != FORMAT and is_published(data):
        try:
            found = understand(data)
            network = _filled(found.settings, found.tasks, found.weights, size, {})
        except (
            NotPublishedError,
            SpanLabError,
            ValidationError,
            KeyError,
            ValueError,
            TypeError,
            RuntimeError,
            IndexError,
        ) as error:
            raise SpanLabError(
                f"{path} looks like a checkpoint of the WorM benchmark, but {_first(error)}; give one that its training"
                " wrote"
            ) from None
        return Checkpoint(found.facts.get("run") or path.stem, network, digest, size, None, published=found)
    if data.get("format") != FORMAT:
        raise SpanLabError(
            f"{path} is not a checkpoint that SpanLab knows: it has neither SpanLab's mark ('{FORMAT}') nor the weights"
            " of a network of the WorM benchmark; give a file that spanlab train or that benchmark has written"
        )
    if data.get("version") != VERSION:
        shown = data.get("version") if isinstance(data.get("version"), int) else "of another kind"
        raise SpanLabError(
            f"{path} has checkpoint format {shown}, and this SpanLab reads {VERSION}; use the SpanLab that wrote it"
        )
    try:
        header = Header.model_validate(
            {key: value for key, value in data.items() if key not in ("weights", "scales", "vector_table")}
        )
        scales = data["scales"]
        network = _filled(header.settings, header.tasks, data["weights"], size, scales)
        if bool(network.reading) != (header.vectors is not None):
            raise SpanLabError("the vectors of words that it reads are missing, or it has some and reads none")
        vectors = header.vectors and _vectors(header.vectors, data["vector_table"])
    except (SpanLabError, ValidationError, KeyError, AttributeError, TypeError, ValueError, RuntimeError) as error:
        raise SpanLabError(f"{path} is a damaged checkpoint: {_first(error)}; train it again") from None
    return Checkpoint(header.name, network, digest, size, header.trained, vectors, store="bytes" if scales else "half")


def _filled(
    settings: CompactSettings | WormSettings,
    tasks: Mapping[str, Task],
    weights: Mapping[str, Any],
    size: int,
    scales: Mapping[str, Any],
) -> Network:
    """A network with these weights, in float32. Names and shapes are compared before any memory is
    taken for it.

    Parameters
    ----------
    scales : of the weights that are bytes

    Raises
    ------
    SpanLabError
        when they do not fit, as the middle of a sentence.
    """
    import torch

    from ..models.build import empty

    network = empty(settings, tasks)
    expected = {name: tensor.shape for name, tensor in network.state_dict().items()}
    for name, shape in expected.items():
        tensor, scale = weights.get(name), scales.get(name)
        if not isinstance(tensor, torch.Tensor):
            raise SpanLabError(f"the weights {name} are missing")
        in_bytes = tensor.dtype == torch.int8
        if tensor.layout != torch.strided or not (in_bytes or tensor.is_floating_point()) or tensor.shape != shape:
            raise SpanLabError(
                f"the weights {name} have the shape {_sides(tensor.shape)}, and this network needs {_sides(shape)}"
            )
        needed = (-(-shape.numel() // BLOCK),)  # of scales: one for each block
        if in_bytes != isinstance(scale, torch.Tensor) or (
            scale is not None and not (scale.is_floating_point() and scale.shape == needed)
        ):
            raise SpanLabError(f"the scales of the weights {name} do not fit")
    for known in (weights, scales):
        if more := [name for name in known if name not in expected]:
            raise SpanLabError(f"it has weights that this network has no place for ({str(more[0])[:60]!r})")
    if sum(tensor.numel() * tensor.element_size() for tensor in (*weights.values(), *scales.values())) > size:
        raise SpanLabError(
            "its weights are larger than the file that they come from"
        )  # one number that stands for many takes no space until it is copied
    full = {
        name: (
            unpack(weights[name], scales[name])
            if name in scales
            else weights[name].to(torch.float32, copy=True, memory_format=torch.contiguous_format)
        )
        for name in expected
    }
    if not all(torch.isfinite(tensor).all() for tensor in full.values()):
        raise SpanLabError("some weights are not finite")
    network.load_state_dict(full, strict=True, assign=True)
    network.eval()
    network.requires_grad_(False)
    return network


def _sides(shape: Any) -> str:
    return " x ".join(str(side) for side in list(shape)[:6]) or "of a single number"


def _first(error: Exception) -> str:
    """The first line of what is wrong."""
    if isinstance(error, ValidationError):
        found = error.errors(include_url=False, include_input=False)[0]
        return (
            f"its description does not fit ({'.'.join(str(part)[:40] for part in found['loc'][:4])}:"
            f" {found['msg'][:120]})"
        )
    if isinstance(error, KeyError):
        return "a part of it is missing"
    return str(error).split("\n")[0][:300] or "it cannot be understood"


def _vectors(header: Vectors, table: Any) -> WordVectors:
    """The vectors that a checkpoint keeps."""
    if header.seed is not None:
        return random_vectors(header.seed)
    if tuple(table.shape) != (len(header.words), DIMENSIONS) or not np.isfinite(found := table.float().numpy()).all():
        raise ValueError("the vectors of words do not fit")
    return WordVectors(header.name, header.sha256, dict(zip(header.words, found, strict=True)))


def _halved(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Weights in half precision."""
    import torch

    return {name: tensor.to(torch.float16).clone() for name, tensor in weights.items()}


#: Weights that share a scale, in the order in which they lie in the file.
BLOCK = 32
_LARGEST = 127


def pack(weights: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Weights as they are written, and the scales of those that are bytes: matrices. Others
    (biases, scales of the network's own) are in half precision."""
    import torch

    stored, scales = {}, {}
    for name, tensor in weights.items():
        if tensor.ndim < 2:
            stored[name] = tensor.to(torch.float16).clone()
            continue
        blocks = _blocks(tensor.float())
        scale = (blocks.abs().amax(1) / _LARGEST).to(torch.float16)
        # Of a scale that is too small for half precision nothing is left.
        whole = torch.nan_to_num(blocks / scale.float()[:, None], nan=0.0, posinf=0.0, neginf=0.0)
        stored[name] = (
            whole.round()
            .clamp(-_LARGEST, _LARGEST)
            .to(torch.int8)
            .flatten()[: tensor.numel()]
            .reshape(tensor.shape)
            .clone()
        )
        scales[name] = scale
    return stored, scales


def unpack(whole: Tensor, scale: Tensor) -> Tensor:
    """The weights that bytes stand for, in float32."""
    return (_blocks(whole.float()) * scale.float()[:, None]).flatten()[: whole.numel()].reshape(whole.shape).clone()


def _blocks(tensor: Tensor) -> Tensor:
    """A matrix row after row, in blocks; the last one is filled with zeros."""
    import torch

    flat = tensor.flatten()
    return torch.nn.functional.pad(flat, (0, -len(flat) % BLOCK)).view(-1, BLOCK)
