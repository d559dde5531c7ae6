"""Networks that are not SpanLab's: the description of their frames and outputs, and how they take
trials.

One comes as a program in a file with a description, or as a class of another package (entry points
``spanlab.networks``). Either way it is frames in, logits out: SpanLab shows it the trials and reads
its answers, and knows nothing of what is in between.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator
from typing_extensions import override

from ...core.doors import entry_points_of
from ...core.errors import ParadigmError, SpanLabError
from ...core.overrides import check_overrides
from ...core.registry import Registry, StrictModel
from ...paradigms.language import yaml_source
from ...paradigms.language.diagnostics import validated
from .checkpoints_io.programs import Program, is_program, read_program
from .readout import one_thread
from .settings import FRAME, need_torch

if TYPE_CHECKING:
    import torch

#: How far outputs may be apart that ought to be the same: what single precision can do in another
#: order of sums.
_ALIKE = 1e-3
_RANGE = re.compile(r"(\d{1,5})\s*-\s*(\d{1,5})")

Place = Annotated[int, Field(ge=0, le=99_999)]
Count = Annotated[int, Field(ge=1, le=100_000)]


class Frames(StrictModel):
    """The frames that a network gets at each step."""

    size: Annotated[int, Field(ge=8, le=512)] = Field(
        FRAME, description="side of a frame in pixels; with 32, frames are identical to those of the networks that ship"
    )
    colour: Literal["rgb", "grey"] = Field("rgb", description="three channels, or one (brightness)")
    values: Literal["unit", "bytes"] = Field(
        "unit", description="range of values: unit from 0 to 1, bytes from 0 to 255; both in single precision"
    )
    order: Literal["channels_first", "channels_last"] = Field(
        "channels_first", description="dimensions of a frame: (channels, rows, columns) or (rows, columns, channels)"
    )
    mean: list[float] = Field(
        default_factory=list, description="subtracted from the values of each channel; nothing if not given"
    )
    spread: list[float] = Field(
        default_factory=list, description="divisor of the values of each channel after that; 1 if not given"
    )

    @property
    def channels(self) -> int:
        return 3 if self.colour == "rgb" else 1

    @model_validator(mode="after")
    def _fits(self) -> Frames:
        for name, values in (("mean", self.mean), ("spread", self.spread)):
            if values and len(values) != self.channels:
                raise ValueError(
                    f"{name} has {len(values)} numbers, and {self.colour} frames have {self.channels} channels"
                )
        if any(value <= 0 for value in self.spread):
            raise ValueError("spread has to be above 0")
        return self


class Outputs(StrictModel):
    """Places of the outputs of one task among a network's logits."""

    logits: list[Place] = Field(
        description=(
            "the network's logit for each output of the paradigm's head, in their order: a list, or from-to (0-8)."
            " Where the head has one output, which stands for yes, two logits mean no and yes"
        )
    )
    number: Place | None = Field(None, description="number that tells the network the task, if it knows several")

    @field_validator("logits", mode="before")
    @classmethod
    def _unfolded(cls, value: Any) -> Any:
        found = _RANGE.fullmatch(value.strip()) if isinstance(value, str) else None
        if isinstance(value, str) and (found is None or int(found[1]) > int(found[2])):
            raise ValueError(f"expected a list of numbers, or from-to such as 0-8; found '{value[:40]}'")
        return list(range(int(found[1]), int(found[2]) + 1)) if found else value


class Interface(StrictModel):
    """The inputs and outputs of a network."""

    about: str = Field("", description="description in a sentence or two; recorded with every session")
    frames: Frames = Field(Frames.model_validate({}), description="form of the frame at each step")
    steps: Count | None = Field(
        None, description="fixed number of steps; shorter trials are padded with black frames. Any number if not given"
    )
    trials: Count | None = Field(None, description="fixed number of trials in a batch. Any number if not given")
    step_ms: Annotated[float, Field(gt=0)] | None = Field(
        None,
        description=(
            "duration of a step: a display of 500 ms takes 5 steps of 100 ms. If not given, each display is one step,"
            " as published"
        ),
    )
    unpaced_steps: Count = Field(1, description="with step_ms: steps of a display that stays until the answer")
    answers: Literal["each_step", "last_step"] = Field(
        "each_step",
        description=(
            "each_step: (trials, steps, logits), none of which may depend on later frames; last_step: (trials, logits),"
            " and SpanLab shows it the frames up to each question"
        ),
    )
    read: Literal["last", "first", "mean"] = Field(
        "last", description="with step_ms: the step of a question at which the answer is read"
    )
    tasks: Annotated[dict[str, Outputs], Field(min_length=1)] = Field(
        description="the tasks that it knows, as named in the network sections of paradigms"
    )

    @model_validator(mode="after")
    def _agrees(self) -> Interface:
        numbered = [one.number is not None for one in self.tasks.values()]
        if any(numbered) and not all(numbered):
            raise ValueError("some tasks have a number and some have none; give all of them one, or none")
        if self.answers == "last_step" and self.read != "last":
            raise ValueError("answers: last_step has no other steps to read; leave out 'read'")
        if self.step_ms is None and (self.read != "last" or self.unpaced_steps != 1):
            raise ValueError("'read' and 'unpaced_steps' mean something with step_ms only; give it, or leave them out")
        return self

    @property
    def numbered(self) -> bool:
        """True if the network gets the number of the task."""
        return any(one.number is not None for one in self.tasks.values())

    @property
    def least(self) -> int:
        """The smallest number of logits that it has to give."""
        return 1 + max(max(one.logits) for one in self.tasks.values())


class NetworkDescription(Interface):
    """A program in a file, described."""

    network: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=80)] = Field(
        description="name of the network"
    )
    program: str = Field(
        description="its file, relative to this one: a program written by torch.export.save or torch.jit.save"
    )
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = Field(
        None, description="SHA-256 of the file; any other file is refused"
    )


class OwnNetwork(ABC):
    """A network of another package, which an entry point of the group ``spanlab.networks`` names."""

    #: as it is called after ``network:``
    name: ClassVar[str] = ""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        check_overrides(cls)

    @classmethod
    @abstractmethod
    def load(cls, file: Path | None) -> OwnNetwork:
        """The network, in evaluation mode.

        Parameters
        ----------
        file : what stands after its name (``network:NAME:FILE``); None when nothing does
        """

    @abstractmethod
    def interface(self) -> Interface:
        """The inputs and outputs of the network."""

    @abstractmethod
    def logits(self, frames: torch.Tensor, numbers: torch.Tensor | None) -> torch.Tensor:
        """Its outputs, as :attr:`Interface.answers` says.

        Parameters
        ----------
        frames : float32 (trials, steps, channels, rows, columns), or with the channels last
        numbers : int64 (trials,), the number of each trial's task; None where tasks have none
        """

    def facts(self) -> Mapping[str, Any]:
        """Return what else is to be kept with every session (a version, how it was trained), fit
        for JSON."""
        return {}


OWN_NETWORKS: Registry[OwnNetwork] = Registry("network", "spanlab.networks")


@dataclass(frozen=True, slots=True)
class Foreign:
    """A network that is not SpanLab's, ready to take trials.

    Parameters
    ----------
    name : of the network
    interface : what it takes in and gives out
    network : that does it
    facts : where it comes from, for the record
    lines : what is said of it before a session
    """

    name: str
    interface: Interface
    network: OwnNetwork
    facts: Mapping[str, Any]
    lines: tuple[str, ...]


def foreign_network(detail: str) -> Foreign | None:
    """The network of another package or in a described program that a name stands for; None where
    it stands for neither.

    Parameters
    ----------
    detail : what stands after ``network:``

    Raises
    ------
    SpanLabError
        when it cannot be loaded, or does not do what its description says.
    """
    if detail.endswith((".yaml", ".yml")):
        return tried(_described(Path(detail)))
    if is_program(Path(detail)):
        described = Path(detail).with_suffix(".yaml").name
        raise SpanLabError(
            f"{detail} is a program, and SpanLab has to be told what goes into it and what comes out: say so in a"
            f" description, such as {described} (see 'Networks' in the documentation), and give that:"
            f" network:{described}"
        )
    name, _, file = detail.partition(":")
    if not re.fullmatch(r"[\w.-]+", name) or not _installed(name):
        return None
    return tried(_of_package(name, Path(file) if file else None))


def _installed(name: str) -> bool:
    return any(point.name == name for point in entry_points_of(OWN_NETWORKS.group)) or name in OWN_NETWORKS


def _of_package(name: str, file: Path | None) -> Foreign:
    if file is not None and not file.is_file():
        raise SpanLabError(
            f"there is no file {file}; 'network:{name}:FILE' names the file that the package's network '{name}' is to"
            " load"
        )
    need_torch()
    cls = OWN_NETWORKS.get(name)
    try:
        network = cls.load(file)
        interface = network.interface()
        more = dict(network.facts())
    except SpanLabError:
        raise
    except Exception as error:
        raise SpanLabError(f"the network '{name}' of another package cannot be loaded: {_first(error)}") from error
    if not isinstance(interface, Interface):
        raise SpanLabError(
            f"{cls.__name__}.interface gave {interface!r}; expected an Interface. This is a fault of the network's"
            " package"
        )
    point = next((one for one in entry_points_of(OWN_NETWORKS.group) if one.name == name), None)
    package = (
        f"{point.dist.name} {point.dist.version}" if point is not None and point.dist is not None else cls.__module__
    )
    facts = {"package": package, "class": f"{cls.__module__}.{cls.__qualname__}"}
    if file is not None:
        facts |= {"checkpoint": file.name, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
    whence = f"{name}: a network of the package {package}, which loads and runs it with code of its own"
    return Foreign(name, interface, network, facts | ({"told": more} if more else {}), (whence,))


def _described(path: Path) -> Foreign:
    described = read_description(path)
    need_torch()
    program = read_program(path.parent / described.program, described.sha256)
    kind = "torch.export" if program.kind == "exported" else "TorchScript"
    facts = {"checkpoint": program.name, "sha256": program.sha256, "program": kind}
    summary = (
        f"{described.network}: {program.name} is a program ({kind}, SHA-256 {program.sha256[:12]}...), which runs with"
        " your rights: only use programs from people you trust"
    )
    interface = Interface.model_validate(described.model_dump(exclude={"network", "program", "sha256"}))
    return Foreign(described.network, interface, _Program(interface, program), facts, (summary,))


def read_description(path: Path) -> NetworkDescription:
    """Read the description of a program.

    Raises
    ------
    SpanLabError
        when the file cannot be read, or with everything that is wrong with it: file, line and key.
    """
    if not path.is_file():
        raise SpanLabError(
            f"there is no description of a network at {path}; it says which program the network is, and what goes in"
            " and out (see 'Networks' in the documentation)"
        )
    document = yaml_source.read(path)
    if not isinstance(document.data, dict):
        raise ParadigmError(
            [
                document.problem(
                    (), "expected the description of a network (keys with values, beginning with 'network: NAME')"
                )
            ]
        )
    described, found = validated(NetworkDescription, document.data)
    if found or not isinstance(described, NetworkDescription):
        raise ParadigmError([document.problem(place, message) for place, message in found])
    return described


class _Program(OwnNetwork):
    """A program in a file."""

    name: ClassVar[str] = "a program"

    def __init__(self, interface: Interface, program: Program) -> None:
        self._interface, self._program = interface, program

    @classmethod
    @override
    def load(cls, file: Path | None) -> OwnNetwork:
        raise NotImplementedError("a program is read with its description")

    @override
    def interface(self) -> Interface:
        return self._interface

    @override
    def logits(self, frames: torch.Tensor, numbers: torch.Tensor | None) -> torch.Tensor:
        return self._program.run(frames) if numbers is None else self._program.run(frames, numbers)


def tried(foreign: Foreign) -> Foreign:
    """Check with noise, before a session, that a network does what its description says.

    Raises
    ------
    SpanLabError
        when its outputs are of another shape, too few, not finite, random, depend on the trials
        beside, or on frames that come later.
    """
    interface = foreign.interface
    noise = np.random.RandomState(0)
    steps, trials = interface.steps or 5, interface.trials or 3
    side, channels = interface.frames.size, interface.frames.channels
    pixels = noise.randint(0, 256, (trials, steps, side, side, channels)).astype(np.uint8)
    task = next(iter(interface.tasks))
    fault = f"network:{foreign.name} cannot be used: "
    found = run(foreign, pixels, task)
    if not np.array_equal(run(foreign, pixels, task), found):
        raise SpanLabError(
            f"{fault}it gives other outputs for the same frames; put it into evaluation mode (eval) before it is saved,"
            " so that nothing in it is random"
        )
    other = pixels.copy()
    other[1:] = noise.randint(0, 256, other[1:].shape)
    if _apart(run(foreign, other, task)[:1], found[:1]):
        raise SpanLabError(
            f"{fault}its outputs in one trial depend on the trials beside it; put it into evaluation mode (eval) before"
            " it is saved"
        )
    if interface.answers == "each_step" and steps > 1:
        other = pixels.copy()
        other[:, -1] = 255 - other[:, -1]
        if _apart(run(foreign, other, task)[:, :-1], found[:, :-1]):
            raise SpanLabError(
                f"{fault}its outputs depend on frames that come later, so that it would know a trial's end before it is"
                " there; with answers: last_step it is shown the frames up to each question and no others"
            )
    return foreign


def _apart(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.abs(one - other).max(initial=0.0) > _ALIKE * max(1.0, float(np.abs(other).max(initial=0.0))))


def run(foreign: Foreign, pixels: np.ndarray, task: str) -> np.ndarray:
    """The logits of trials of one task, float32 (trials, steps, logits), or (trials, logits) where
    only the last step has any.

    Parameters
    ----------
    pixels : uint8 (trials, steps, rows, columns, channels); as many trials and steps as the network
        takes

    Raises
    ------
    SpanLabError
        when it fails, or what comes of it is not what was declared.
    """
    import torch

    interface, frames = foreign.interface, foreign.interface.frames
    values = pixels.astype(np.float32)
    values = values / np.float32(255) if frames.values == "unit" else values
    values = values - np.array(frames.mean, np.float32) if frames.mean else values
    values = values / np.array(frames.spread, np.float32) if frames.spread else values
    given = torch.from_numpy(
        np.ascontiguousarray(np.moveaxis(values, -1, 2) if frames.order == "channels_first" else values)
    )
    number = interface.tasks[task].number
    numbers = None if number is None else torch.full((len(pixels),), number, dtype=torch.int64)
    fault, shape = f"network:{foreign.name} cannot be used: ", tuple(given.shape)
    try:
        with one_thread(), torch.inference_mode():
            found = foreign.network.logits(given, numbers)
    except SpanLabError:
        raise
    except Exception as error:
        beside = " and a number of the task for each trial" if interface.numbered else ""
        raise SpanLabError(
            f"{fault}given frames of the shape {shape}{beside}, it fails ({_first(error)}); if it takes other ones, say"
            " so in its description (frames, steps, trials, tasks)"
        ) from None
    wanted = "(trials, steps, logits)" if interface.answers == "each_step" else "(trials, logits)"
    if not isinstance(found, torch.Tensor):
        raise SpanLabError(f"{fault}it gives {type(found).__name__} instead of one tensor of logits, {wanted}")
    leading = shape[:2] if interface.answers == "each_step" else shape[:1]
    if tuple(found.shape[:-1]) != leading or found.ndim != len(leading) + 1:
        raise SpanLabError(
            f"{fault}for frames of the shape {shape} it gives outputs of the shape {tuple(found.shape)}, and its"
            f" description says {wanted}"
        )
    if found.shape[-1] < interface.least:
        raise SpanLabError(
            f"{fault}it gives {found.shape[-1]} logits at a step, and its description uses the number"
            f" {interface.least - 1}, counted from 0"
        )
    logits = found.detach().to("cpu", torch.float32).numpy()
    if not np.isfinite(logits).all():
        raise SpanLabError(f"{fault}some of its outputs are not finite numbers")
    return logits


def _first(error: Exception) -> str:
    """The first line of what is wrong that says something."""
    lines = [line.strip() for line in str(error).split("\n") if line.strip()]
    telling = [line for line in lines if re.match(r"(\w*Error|RuntimeError|AssertionError)\b", line)]
    return (telling[-1] if telling else lines[0] if lines else type(error).__name__)[:200].rstrip(".;")
