"""The network: an eye that keeps positions, a recurrent part, and one linear head per task.

It sees one 32 × 32 frame per step and nothing else (in tasks with words: it reads the vector of one word); whatever it knows of earlier frames is in its
recurrent state.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...paradigms.word_vectors import DIMENSIONS
from .memory import State, memory
from .settings import FRAME, ModelSettings


class Seen(NamedTuple):
    """What the eye makes of frames.

    Parameters
    ----------
    summary : (n, settings.summary): the whole frame, from the retina
    overview : (n, settings.code): the whole frame at low resolution
    glimpses : (n, settings.windows ** 2, settings.code): the windows at full resolution, row by row
    context : (n, settings.context): what kind of frame it is, from overview and glimpses
    """

    summary: Tensor
    overview: Tensor
    glimpses: Tensor
    context: Tensor

    def at(self, index: Tensor) -> Seen:
        """The frames with these numbers, in the shape of ``index``."""
        flat = index.reshape(-1)
        return Seen(*(part.index_select(0, flat).reshape(*index.shape, *part.shape[1:]) for part in self))


class Retina(nn.Module):
    """Pixels to decorrelated components of equal variance.

    The components are the principal ones of the frames that a network is trained on, so that what is rare or small in a frame (a marker of one pixel) weighs
    as much as what is large (whitening; Simoncelli & Olshausen, 2001, Annual Review of Neuroscience 24, on efficient coding). They are set before
    training and stay as they are.
    """

    #: variance (of pixels from 0 to 1) that is taken for noise: the rounding of pixels to whole numbers and a margin
    NOISE = 1e-5

    mean: Tensor
    components: Tensor

    def __init__(self, components: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(FRAME * FRAME * 3))
        self.register_buffer("components", torch.zeros(FRAME * FRAME * 3, components))

    @torch.no_grad()
    def fit(self, samples: Sequence[Tensor]) -> None:
        """Set the components from frames, uint8 (n, 32, 32, 3): one sample per task, all of the same weight."""
        pixels = torch.cat([frames.flatten(1).float() / 255 for frames in samples])
        weights = torch.cat([torch.full((len(frames), 1), 1 / (len(frames) * len(samples))) for frames in samples])
        mean = (pixels * weights).sum(0)
        centred = (pixels - mean) * weights.sqrt()
        if len(centred) < centred.shape[1]:
            values, sides = torch.linalg.eigh(centred @ centred.T)
            vectors = centred.T @ sides / values.clamp(min=1e-9).sqrt()
        else:
            values, vectors = torch.linalg.eigh(centred.T @ centred)
        values, vectors = values.flip(0), vectors.flip(1)
        count = min(self.components.shape[1], len(values))
        scale = (values[:count].clamp(min=0) + self.NOISE).rsqrt() * (values[:count] > self.NOISE / 10)
        self.mean.copy_(mean)
        self.components.zero_()
        self.components[:, :count] = vectors[:, :count] * scale

    def forward(self, frames: Tensor) -> Tensor:
        """Frames, uint8 (n, 32, 32, 3), to components (n, k)."""
        return (frames.flatten(1).float() / 255 - self.mean) @ self.components


class Eye(nn.Module):
    """What is made of a frame before anything is remembered.

    A summary of the whole frame comes from the retina. Beside it, one set of convolutional filters reads every window of the frame, and the whole frame at
    low resolution: the kernels are as large as a window and move by whole windows, and windows keep their order, so that positions are kept. As the
    overview and the windows are read by the same weights, a thing seen large and the same thing seen small get similar codes.
    """

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__()
        self.windows, self.side = settings.windows, settings.window_px
        self.retina = Retina(settings.components)
        self.summary = nn.Linear(settings.components, settings.summary)
        self.filters = nn.Conv2d(3, settings.filters, self.side, stride=self.side)
        self.code = nn.Linear(settings.filters, settings.code)
        self.code_norm = nn.LayerNorm(settings.code, elementwise_affine=False)
        self.context = nn.Linear((self.windows**2 + 1) * settings.code, settings.context)
        self.context_norm = nn.LayerNorm(settings.context)

    def forward(self, frames: Tensor) -> Seen:
        """``frames``: uint8 (n, 32, 32, 3); scaled to 0..1 here, and centred."""
        pixels = frames.permute(0, 3, 1, 2).float() / 255 - 0.6
        whole = functional.interpolate(pixels, size=(self.side, self.side), mode="area")
        fine = functional.interpolate(pixels, size=(self.windows * self.side, self.windows * self.side), mode="bilinear")
        found = torch.cat([self.filters(whole).flatten(2), self.filters(fine).flatten(2)], 2).transpose(1, 2)
        codes = self.code_norm(self.code(functional.relu(found)))
        context = functional.relu(self.context_norm(self.context(codes.flatten(1))))
        return Seen(self.summary(self.retina(frames)), codes[:, 0], codes[:, 1:], context)


class Reader(nn.Module):
    """What is made of a word before anything is remembered: its vector in the terms of the eye, as a summary, as a thing seen, and as the kind of thing.

    Vectors are brought to one length, since files differ in it by far; nothing (zeros) stays nothing. There are no windows to look into.
    """

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__()
        self.windows, self.code = settings.windows**2, settings.code
        self.summary = nn.Linear(DIMENSIONS, settings.summary)
        self.overview = nn.Linear(DIMENSIONS, settings.code)
        self.overview_norm = nn.LayerNorm(settings.code, elementwise_affine=False)
        self.context = nn.Linear(DIMENSIONS, settings.context)
        self.context_norm = nn.LayerNorm(settings.context)

    def forward(self, vectors: Tensor) -> Seen:
        """``vectors``: float32 (n, 300)."""
        even = functional.normalize(vectors, dim=1) * math.sqrt(DIMENSIONS)
        nowhere = even.new_zeros(len(even), self.windows, self.code)
        context = functional.relu(self.context_norm(self.context(even)))
        return Seen(self.summary(even), self.overview_norm(self.overview(even)), nowhere, context)


class Network(nn.Module):
    """An eye, a recurrent part, a read-out and a head per task.

    Parameters
    ----------
    settings : sizes
    tasks : size of the head of each task, by name; their order is that of the task embedding
    reading : those of the tasks in which vectors of words are read; there is an eye when there are other tasks, and a reader when there are such
    """

    def __init__(self, settings: ModelSettings, tasks: Mapping[str, int], reading: Collection[str] = ()) -> None:
        super().__init__()
        self.settings = settings
        self.tasks = dict(tasks)
        self.reading = frozenset(reading)
        if not self.tasks.keys() <= self.reading:
            self.eye = Eye(settings)
        self.task_embedding = nn.Embedding(len(self.tasks), settings.embedding)
        self.memory = memory(settings, settings.summary + settings.code + settings.embedding)
        # Which part of the state matters depends on what is seen now: the gate opens and closes units for the read-out, the state itself is left alone.
        self.gate = nn.Linear(settings.context, settings.hidden)
        matches = settings.windows**2 if settings.match else 0
        if settings.match:
            self.template = nn.Linear(settings.hidden, settings.code)
            self.template_norm = nn.LayerNorm(settings.code, elementwise_affine=False)
            self.match_scale = nn.Parameter(torch.tensor(5.0))
            if settings.start == "delay_line":  # a template starts out as something that was seen, not as a sum over the trial
                with torch.no_grad():
                    self.template.weight[:, settings.delay_line.slots * settings.delay_line.width :] *= 0.1
        self.heads = nn.ModuleDict({task: nn.Linear(settings.hidden + matches, size) for task, size in self.tasks.items()})
        with torch.no_grad():
            for task, size in self.tasks.items():
                if size == matches:  # as many answers as windows: an answer starts out as the place that matches
                    self.heads[task].weight[:, settings.hidden :] = torch.eye(size)  # type: ignore[index, operator]
        if self.reading:
            self.reader = Reader(settings)

    def see(self, frames: Tensor) -> Seen:
        """What the eye makes of frames, uint8 (n, 32, 32, 3), or the reader of vectors, float32 (n, 300)."""
        return self.eye(frames) if frames.dtype == torch.uint8 else self.reader(frames)

    @torch.no_grad()
    def expect(self, task: str, frequencies: Sequence[float], exclusive: bool) -> None:
        """Let a head begin with how often each of its outputs is wanted, so that learning need not begin with that."""
        wanted = torch.tensor(frequencies, dtype=torch.float32).clamp(1e-3, 1 - 1e-3)
        self.heads[task].bias.copy_(wanted.log() if exclusive else wanted.logit())  # type: ignore[operator, union-attr]

    @property
    def parameter_count(self) -> int:
        return sum(parameter.numel() for parameter in self.parameters())

    def initial(self, batch: int) -> State:
        """The state before the first step of ``batch`` trials."""
        return self.memory.initial(batch, self.gate.weight)

    def forward(self, seen: Seen, task: str, state: State | None = None) -> tuple[Tensor, State]:
        """Go through steps of one task.

        Parameters
        ----------
        seen : of shape (batch, steps, ...)
        task : whose embedding and head are used
        state : from the steps before; None at the start of the trials

        Returns
        -------
        logits (batch, steps, head) and the state after the last step
        """
        batch, steps = seen.summary.shape[:2]
        row = torch.tensor(list(self.tasks).index(task), device=seen.summary.device)
        name = self.task_embedding(row).expand(batch, steps, -1)
        before = self.initial(batch) if state is None else state
        held, after = self.memory(torch.cat([seen.overview, seen.summary, name], -1), before)
        held = held * torch.sigmoid(self.gate(seen.context))
        features = [held]
        if self.settings.match:
            template = self.template_norm(self.template(held))
            features.append((seen.glimpses @ template.unsqueeze(-1)).squeeze(-1) * (self.match_scale / self.settings.code))
        return self.heads[task](torch.cat(features, -1)), after


def build(settings: ModelSettings, tasks: Mapping[str, int], seed: int, reading: Collection[str] = ()) -> Network:
    """A fresh network; the same for the same seed, without touching torch's global random state."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Network(settings, tasks, reading)


def describe(network: Network) -> dict[str, Any]:
    """Sizes of a network, fit for JSON."""
    return {"settings": network.settings.model_dump(mode="json"), "tasks": network.tasks, "parameters": network.parameter_count}


def rounded_half(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Weights in half precision, as they are kept on disk."""
    return {name: tensor.detach().to("cpu", torch.float16).clone() for name, tensor in state.items()}


def finite(state: Mapping[str, Tensor]) -> bool:
    return all(math.isfinite(float(tensor.float().abs().sum())) for tensor in state.values())
