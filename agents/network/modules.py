"""A torch module as a participant: frames in, logits out. It is given in Python, or made by a function
of the user's that is named on the command line (``torch:FILE.py:build``)."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import io
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal
from urllib.parse import parse_qsl

import numpy as np
from PIL import Image as Pillow
from pydantic import Field
from typing_extensions import override

from ...core.agent_kinds import NETWORK, AgentKind
from ...core.errors import SpanLabError
from ...core.registry import StrictModel
from ...paradigms import Percept, Truth
from ...paradigms.language.diagnostics import validated
from ...paradigms.network_view import NetworkView
from ...stimuli import Stimulus
from ...stimuli.kinds.files import refuse_sounds
from ...stimuli.render.pixels import drawn, network_frame, picture
from ...stimuli.scene import CANVAS
from ..at_once import BatchAgent, KeepStates
from ..base import Episode, Response, TrialContext
from .readout import one_thread, read_out, view_of
from .settings import FRAME, need_torch

if TYPE_CHECKING:
    import torch

#: What stands before the colon of a module that a function makes.
TORCH = "torch"
#: Trials that go through a module together, and how much memory their frames may take.
_BATCH, _BYTES = 128, 64_000_000
#: How far outputs may be apart that ought to be the same: what single precision can do in another
#: order of sums.
_ALIKE = 1e-3
#: The logits of a module: from-to (0-8), or a list.
Logits = str | Sequence[int]


class Frames(StrictModel):
    """The frames that a module gets at each step."""

    size: Annotated[int, Field(ge=8, le=512)] = Field(
        FRAME, description="side of a frame in pixels; with 32, frames are identical to those of the networks that ship"
    )
    colour: Literal["rgb", "grey"] = Field("rgb", description="three channels, or one (brightness)")

    @property
    def channels(self) -> int:
        return 3 if self.colour == "rgb" else 1

    def given(self, pixels: np.ndarray) -> np.ndarray:
        """Frames as a module takes them, float32, from pixels, uint8 (trials, steps, rows, columns, channels)."""
        return np.ascontiguousarray(np.moveaxis(pixels.astype(np.float32) / np.float32(255), -1, 2))


class Interface(StrictModel):
    """The inputs and outputs of a module.

    ``logits`` are its logits for the outputs of the paradigm's head, in their order. Where the head has one
    output, which stands for yes, two logits mean no and yes.
    """

    frames: Frames
    logits: Annotated[list[Annotated[int, Field(ge=0, le=99_999)]], Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class Outputs:
    """What a module gave for some trials: logits (trials, steps, outputs), and hidden states (trials, steps,
    units) where they were wanted."""

    logits: np.ndarray
    hidden: np.ndarray | None


class ModuleAgent(BatchAgent):
    """A torch module as a participant, in evaluation mode while it answers.

    Parameters
    ----------
    module : from float32 (trials, steps, channels, rows, columns) to logits (trials, steps, outputs)
    interface : its inputs and outputs
    name : as records and figures name it
    facts : where it comes from, for the record
    states : the submodule whose output is the hidden state; empty where it is what the module returns beside
        its logits

    Raises
    ------
    SpanLabError
        when its outputs are of another shape, too few, not finite, random, or depend on the trials beside or on
        frames that come later.
    """

    kind: ClassVar[AgentKind] = NETWORK
    batch_size = _BATCH

    def __init__(
        self, module: torch.nn.Module, interface: Interface, name: str, facts: Mapping[str, Any], states: str = ""
    ) -> None:
        self.name, self.interface, self.facts, self.states = name, interface, facts, states
        self.module = module
        self._shown = Shown(interface.frames)
        self._units = 0
        self._submodule()
        self._units = self._tried()

    @override
    def settings(self) -> dict[str, Any]:
        """The settings that shaped the answers: the class of the module, the hash of its weights, and how it
        takes frames."""
        return {**self.facts, "interface": self.interface.model_dump(mode="json", exclude_defaults=True)}

    @override
    def check_trial(self, context: TrialContext, steps: int) -> None:
        self._view(context)

    @override
    def check_displays(self, stimuli: Iterable[Stimulus]) -> None:
        refuse_sounds(stimuli, "networks")

    @override
    def start(self, context: TrialContext) -> ModuleEpisode:
        return ModuleEpisode(self, self._view(context))

    @property
    @override
    def hidden_units(self) -> int:
        return self._units

    @override
    def answer(
        self, contexts: Sequence[TrialContext], trials: Sequence[Sequence[Percept]], keep: KeepStates | None = None
    ) -> list[list[Response | None]]:
        answers: list[list[Response | None]] = [[None] * len(trial) for trial in trials]
        views = [self._view(context) for context in contexts]
        for lot in self._lots(trials):
            seen = [[percept for percept in trials[number] if percept.model_step] for number in lot]
            found = self.outputs(self.frames_of(seen), hidden=keep is not None)
            for row, number in enumerate(lot):
                step = -1
                for at, percept in enumerate(trials[number]):
                    step += percept.model_step
                    if percept.ask is not None:
                        answers[number][at] = self.response_to(found.logits[row, step], percept, views[number])
                if keep is not None and found.hidden is not None:
                    keep(number, found.hidden[row, : len(seen[row])])
        return answers

    def frames_of(self, trials: Sequence[Sequence[Percept]]) -> np.ndarray:
        """The frames of trials, uint8 (trials, steps, rows, columns, channels), black after the end of each."""
        frames = [self._shown.of(percepts) for percepts in trials]
        filled = np.zeros((len(frames), max(map(len, frames), default=0), *self._shown.shape), np.uint8)
        for row, one in enumerate(frames):
            filled[row, : len(one)] = one
        return filled

    def _lots(self, trials: Sequence[Sequence[Percept]]) -> Iterator[list[int]]:
        """The trials that go through the module together, by their numbers: of like length."""
        frames = self.interface.frames
        bytes_of_frame = 4 * frames.size**2 * frames.channels
        lot: list[int] = []
        for number in sorted(range(len(trials)), key=lambda number: len(trials[number])):
            if len(lot) == _BATCH or (len(lot) + 1) * len(trials[number]) * bytes_of_frame > _BYTES:
                yield lot
                lot = []
            lot.append(number)
        if lot:
            yield lot

    def response_to(self, logits: np.ndarray, percept: Percept, view: NetworkView) -> Response:
        """The answer that the logits at a question stand for."""
        assert percept.ask is not None
        return read_out(logits[self.interface.logits], percept.ask, view)

    def outputs(self, pixels: np.ndarray, hidden: bool = False, without: Sequence[int] = ()) -> Outputs:
        """What the module gives for frames, uint8 (trials, steps, rows, columns, channels).

        Parameters
        ----------
        hidden : whether hidden states are wanted
        without : units of the submodule that are at zero in what it gives

        Raises
        ------
        SpanLabError
            when it fails, or what comes of it is not what it should be.
        """
        import torch

        given = torch.from_numpy(self.interface.frames.given(pixels))
        fault, shape = f"{self.name} cannot be used: ", tuple(given.shape)
        try:
            with one_thread(), torch.inference_mode():
                found, states = self._passed(given, hidden, without)
        except SpanLabError:
            raise
        except Exception as error:
            raise SpanLabError(
                f"{fault}given frames of the shape {shape}, it fails ({_first(error)}); if it takes other ones, say so"
                " (frames)"
            ) from None
        if not isinstance(found, torch.Tensor):
            raise SpanLabError(
                f"{fault}it gives {type(found).__name__} instead of one tensor of logits, (trials, steps, logits)"
            )
        if found.ndim != 3 or tuple(found.shape[:2]) != shape[:2]:
            raise SpanLabError(
                f"{fault}for frames of the shape {shape} it gives outputs of the shape {tuple(found.shape)}; expected"
                " (trials, steps, logits)"
            )
        if found.shape[-1] <= max(self.interface.logits):
            raise SpanLabError(
                f"{fault}it gives {found.shape[-1]} logits at a step, and number {max(self.interface.logits)} is to be"
                " read, counted from 0"
            )
        logits = found.detach().to("cpu", torch.float32).numpy()
        if not np.isfinite(logits).all():
            raise SpanLabError(f"{fault}some of its outputs are not finite numbers")
        return Outputs(logits, None if states is None else self._as_states(states, shape[:2]))

    def _passed(self, frames: torch.Tensor, hidden: bool, without: Sequence[int]) -> tuple[Any, Any]:
        """What the module returns, and what its hidden states are taken from where they are wanted."""
        import torch

        parameter = next(self.module.parameters(), None)
        if parameter is not None:
            frames = frames.to(parameter.device, parameter.dtype if parameter.is_floating_point() else None)
        # Hooks of what was compiled would be compiled away.
        module = _plain(self.module) if hidden or without else self.module
        modes = [(part, part.training) for part in module.modules()]
        kept: list[Any] = []
        hook = None

        def taken(part: Any, given: Any, result: Any) -> Any:
            kept.append(result)
            if not without:
                return None
            first = result[0] if isinstance(result, tuple | list) else result
            silenced = first.index_fill(-1, torch.tensor(list(without), device=first.device), 0)
            return (silenced, *result[1:]) if isinstance(result, tuple | list) else silenced

        if (hidden or without) and self.states:
            hook = self._submodule().register_forward_hook(taken)
        module.eval()
        try:
            found = module(frames)
        finally:
            for part, training in modes:  # parts may be frozen while the whole is trained
                part.training = training
            if hook is not None:
                hook.remove()
        several = isinstance(found, tuple | list) and bool(found) and isinstance(found[0], torch.Tensor)
        logits = found[0] if several else found
        if not hidden:
            return logits, None
        if self.states:
            return logits, kept
        return logits, [found[1]] if several and len(found) > 1 else []

    def _submodule(self) -> torch.nn.Module:
        parts = dict(_plain(self.module).named_modules())
        if self.states not in parts:
            names = ", ".join(name for name in parts if name)
            raise SpanLabError(f"{self.name} has no submodule '{self.states}' for its hidden states; it has {names}")
        return parts[self.states]

    def _as_states(self, found: list[Any], leading: tuple[int, ...]) -> np.ndarray:
        """Hidden states (trials, steps, units), float32: of what a submodule gave once for all steps, or step by
        step.

        Raises
        ------
        SpanLabError
            when they are not numbers for each trial and step.
        """
        import torch

        tensors: list[Any] = [one[0] if isinstance(one, tuple | list) and one else one for one in found]
        fits = bool(tensors) and all(isinstance(one, torch.Tensor) for one in tensors)
        if fits and len(tensors) == leading[1] > 1 and all(one.shape[0] == leading[0] for one in tensors):
            tensors = [torch.stack(tensors, 1)]  # a cell that was called step by step
        if not fits or len(tensors) != 1 or tuple(tensors[0].shape[:2]) != leading or tensors[0].ndim < 3:
            shapes = ", ".join(str(tuple(one.shape)) for one in tensors[:3] if isinstance(one, torch.Tensor)) or "none"
            source = f"its submodule '{self.states}' gives" if self.states else "beside its logits it returns"
            raise SpanLabError(
                f"{self.name} has no hidden states (trials, steps, units) = ({leading[0]}, {leading[1]}, ...): {source}"
                f" {shapes}; name the submodule that gives them (states)"
            )
        return tensors[0].flatten(2).detach().to("cpu", torch.float32).numpy()

    def _tried(self) -> int:
        """Check with noise, before a session, that the module gives for each trial what it would give for it
        alone; returns how many units its hidden states have, 0 for none."""
        noise = np.random.RandomState(0)
        trials, steps, side = 4, 5, self.interface.frames.size
        shape = (trials, steps, side, side, self.interface.frames.channels)
        pixels, others = (noise.randint(0, 256, shape).astype(np.uint8) for _ in range(2))
        fault = f"{self.name} cannot be used: "
        found = self.outputs(pixels).logits
        if not np.array_equal(self.outputs(pixels).logits, found):
            raise SpanLabError(
                f"{fault}it gives other outputs for the same frames: something in it is random (dropout?), or it keeps"
                " a state from one call to the next; set it to evaluation, .eval(), and begin anew in each call"
            )
        for row in range(trials):
            beside = others.copy()
            beside[row] = pixels[row]
            if not _alike(self.outputs(beside).logits[row], found[row]):
                raise SpanLabError(f"{fault}{_BESIDE}")
        if not _alike(self.outputs(pixels[::-1].copy()).logits[::-1], found):
            raise SpanLabError(f"{fault}{_BESIDE}")
        for step in range(1, steps):
            later = pixels.copy()
            later[:, step:] = others[:, step:]
            if not _alike(self.outputs(later).logits[:, :step], found[:, :step]):
                raise SpanLabError(
                    f"{fault}its outputs depend on frames that come later; use a memory that only looks back"
                )
        if not self.states and not self._returns_states(pixels):
            return 0
        hidden = self.outputs(pixels, hidden=True).hidden
        assert hidden is not None
        return hidden.shape[-1]

    def _returns_states(self, pixels: np.ndarray) -> bool:
        try:
            return self.outputs(pixels, hidden=True).hidden is not None
        except SpanLabError:
            return False

    def _view(self, context: TrialContext) -> NetworkView:
        """Return what it sees of a paradigm.

        Raises
        ------
        SpanLabError
            when it has other outputs for it, or words would have to be read.
        """
        view, logits = view_of(context), self.interface.logits
        if view.input == "vectors":
            raise SpanLabError(
                f"{self.name} is shown frames, and in {context.paradigm} networks read the vectors of words; choose"
                " another paradigm"
            )
        if len(logits) != view.head and not (view.head == 1 and len(logits) == 2):
            wanted = "1 output (or 2, for no and yes)" if view.head == 1 else f"{view.head} outputs"
            raise SpanLabError(
                f"{self.name} has {len(logits)} logits for the task '{view.task}', and {context.paradigm} asks for"
                f" {wanted}; give 'logits'"
            )
        return view


_BESIDE = (
    "its outputs depend on the trials beside it in a batch; take out what mixes trials (a recurrent layer without"
    " batch_first=True, a normalisation over the batch, dynamic quantisation)"
)


def _alike(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.allclose(one, other, rtol=_ALIKE, atol=_ALIKE))


class ModuleEpisode(Episode):
    """One trial in a module: at each question it is shown the frames up to it."""

    def __init__(self, agent: ModuleAgent, view: NetworkView) -> None:
        self._agent, self._view = agent, view
        self._shown = Shown(agent.interface.frames)
        self._seen: list[Percept] = []

    @override
    async def step(self, percept: Percept, truth: Truth | None = None) -> Response | None:
        if not percept.model_step:
            return None
        self._seen.append(percept)
        if percept.ask is None:
            return None
        found = self._agent.outputs(self._shown.of(self._seen)[None])
        return self._agent.response_to(found.logits[0, -1], percept, self._view)


class Shown:
    """Displays as the frames that a module takes, each different one drawn once."""

    def __init__(self, frames: Frames) -> None:
        self.shape = (frames.size, frames.size, frames.channels)
        self._known: dict[Stimulus, np.ndarray] = {}

    def of(self, percepts: Sequence[Percept]) -> np.ndarray:
        """The frames of a trial, uint8 (steps, rows, columns, channels)."""
        drawn_ones = [self._frame(percept.for_machine.stimulus) for percept in percepts]
        return np.stack(drawn_ones) if drawn_ones else np.zeros((0, *self.shape), np.uint8)

    def _frame(self, stimulus: Stimulus) -> np.ndarray:
        if stimulus not in self._known:
            scene, side = stimulus.scene(), self.shape[0]
            if side == FRAME:
                image = Pillow.fromarray(network_frame(scene))
            elif side > CANVAS:
                image = picture(scene, side)
            else:
                image = drawn(scene).resize((side, side), Pillow.Resampling.BILINEAR)
            grey = self.shape[2] == 1
            self._known[stimulus] = np.array(image.convert("L") if grey else image).reshape(self.shape)
        return self._known[stimulus]


def module_agent(
    module: torch.nn.Module,
    views: Sequence[NetworkView],
    logits: Logits | None = None,
    frames: Mapping[str, Any] | None = None,
    states: str = "",
) -> ModuleAgent:
    """Return a torch module as an agent.

    Parameters
    ----------
    module : from float32 (trials, steps, channels, 32, 32) to logits (trials, steps, outputs), none of which
        depends on later frames; beside them it may return hidden states (trials, steps, units)
    views : what networks see of the paradigm that it takes, for each of its tasks
    logits : which of its outputs are those of the paradigm's head, in their order; the first ones when not given
    frames : how frames are given to it (``size``, ``colour``)
    states : the submodule whose output is the hidden state

    Raises
    ------
    SpanLabError
        when its outputs are not such logits.
    """
    import torch

    own = type(_plain(module))
    if any(isinstance(parameter, torch.nn.UninitializedParameter) for parameter in module.parameters()):
        raise SpanLabError(f"{own.__name__} has lazy layers without sizes: pass some frames through it first")
    facts = {
        "class": f"{own.__module__}.{own.__qualname__}",
        "parameters": sum(parameter.numel() for parameter in module.parameters()),
        "sha256": _hash_of(_plain(module)),
    }
    return ModuleAgent(module, _interface(views, logits, frames), f"network:{own.__name__}", facts, states)


def _interface(views: Sequence[NetworkView], logits: Logits | None, frames: Mapping[str, Any] | None) -> Interface:
    if not views:
        raise SpanLabError(
            "networks cannot take this paradigm: it has no 'network' section that says its task and head; add one to"
            " the file"
        )
    wanted: Any = range(max(2, *(view.head for view in views))) if logits is None else logits
    try:
        if isinstance(logits, str):
            first, _, last = logits.partition("-")
            wanted = range(int(first), int(last) + 1)
        read = [index(number) for number in wanted]
        if not read:
            raise ValueError("there are none")
    except (TypeError, ValueError):
        raise SpanLabError(f"logits: expected a list of numbers, or from-to such as 0-8; found {logits!r}") from None
    interface, problems = validated(Interface, {"frames": dict(frames or {}), "logits": read})
    if problems or not isinstance(interface, Interface):
        raise SpanLabError("; ".join(f"{'.'.join(map(str, path))}: {message}" for path, message in problems))
    return interface


def _plain(module: torch.nn.Module) -> torch.nn.Module:
    """A module as it was before it was compiled."""
    return getattr(module, "_orig_mod", module)


def _hash_of(module: torch.nn.Module) -> str:
    """The SHA-256 of a module's state, whatever it holds."""
    import torch

    digest = hashlib.sha256()
    for key, value in module.state_dict().items():
        digest.update(key.encode())
        try:
            digest.update(value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
        except (AttributeError, RuntimeError, NotImplementedError, TypeError):  # sparse, quantised, a state of its own
            buffer = io.BytesIO()
            torch.save(value, buffer)
            digest.update(buffer.getvalue())
    return digest.hexdigest()


def torch_agent(spec: str, views: Sequence[NetworkView]) -> ModuleAgent:
    """The module that a function of the user's makes, as an agent: ``torch:FILE.py:build``, or
    ``torch:package.module:build``, with options after a question mark, such as ``?weights=FILE&colour=grey``.

    It runs the user's code, and is for names that the user has typed, or written in Python.

    Raises
    ------
    SpanLabError
        when it cannot be made, its weights do not fit, or its outputs are not logits.
    """
    need_torch()
    import torch

    place, _, query = spec.removeprefix(f"{TORCH}:").partition("?")
    options: dict[str, Any] = dict(parse_qsl(query, keep_blank_values=True))
    source, _, name = place.rpartition(":")
    if not source or not name.isidentifier():
        raise SpanLabError(
            f"'{spec}' names no function: give torch:FILE.py:build or torch:package.module:build, where build() returns"
            " a torch.nn.Module"
        )
    try:
        home = _home(source)
        build = getattr(home, name, None)
        if not callable(build):
            raise SpanLabError(f"{source} has no function {name}")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)  # weights that are drawn are the same when the session goes on
            module = build()
    except SpanLabError:
        raise
    except Exception as error:
        raise SpanLabError(f"{spec} cannot be made: {type(error).__name__}: {_first(error)}") from error
    if not isinstance(module, torch.nn.Module):
        raise SpanLabError(f"{name}() of {source} returned {type(module).__name__}; expected a torch.nn.Module")
    weights = options.pop("weights", "")
    if weights:
        from .checkpoints_io.state_dicts import fill

        fill(module, Path(weights))
    if options.get("size", "").isdecimal():
        options["size"] = int(options["size"])
    logits, states = options.pop("logits", None), options.pop("states", "")
    agent = module_agent(module, views, logits, options, states)
    agent.name = spec
    file = getattr(home, "__file__", None)
    if file is not None:
        agent.facts = {**agent.facts, "source_sha256": hashlib.sha256(Path(file).read_bytes()).hexdigest()}
    return agent


def _home(source: str) -> ModuleType:
    """The module in which the function is: of a file, which may import what lies beside it, or installed."""
    if not source.endswith(".py"):
        return importlib.import_module(source)
    path = Path(source)
    if not path.is_file():
        raise SpanLabError(f"there is no file {path}")
    found = importlib.util.spec_from_file_location(path.stem, path)
    assert found is not None, "a file that ends in .py has a loader"
    assert found.loader is not None
    home = importlib.util.module_from_spec(found)
    sys.modules[path.stem] = home
    sys.path.insert(0, str(path.resolve().parent))
    try:
        found.loader.exec_module(home)
    finally:
        sys.path.remove(str(path.resolve().parent))
    return home


def _first(error: Exception) -> str:
    """The first line of what is wrong that says something."""
    lines = [line.strip() for line in str(error).split("\n") if line.strip()]
    telling = [line for line in lines if re.match(r"(\w*Error|RuntimeError|AssertionError)\b", line)]
    return [type(error).__name__, *lines[:1], *telling][-1][:200].rstrip(".;")
