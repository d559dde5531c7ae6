"""Networks from their settings: the compact one, with an eye that keeps positions and a read-out that
compares the memory with what is seen now, and those of the WorM benchmark.

Those of the WorM benchmark (Sikarwar & Zhang, 2023, NeurIPS) have the same layers in the same
order, with the same starting weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from typing_extensions import override

from ....core.errors import SpanLabError
from ....paradigms.word_vectors import DIMENSIONS
from ..settings import FRAME, CompactSettings, DelayLine, Task, WormSettings, most_words
from .encoders import Seen, WormEye, WormReader, even
from .heads import Heads
from .memories import Cell, architecture_and_options, memory
from .network import Network, Place


class Retina(nn.Module):
    """Pixels to decorrelated components of equal variance.

    The components are the principal ones of the frames that a network is trained on, so that what
    is rare or small in a frame (a marker of one pixel) weighs as much as what is large (whitening;
    Simoncelli & Olshausen, 2001, Annual Review of Neuroscience 24, on efficient coding). They are
    set before training and stay as they are.
    """

    #: variance (of pixels from 0 to 1) that is taken for noise: the rounding of pixels to whole
    #: numbers and a margin
    NOISE = 1e-5

    mean: Tensor
    components: Tensor

    def __init__(self, components: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(FRAME * FRAME * 3))
        self.register_buffer("components", torch.zeros(FRAME * FRAME * 3, components))

    @torch.no_grad()
    def fit(self, samples: Sequence[Tensor]) -> None:
        """Set the components from frames, uint8 (n, 32, 32, 3): one sample per task, all of the
        same weight."""
        pixels = torch.cat([frames.flatten(1).float() / 255 for frames in samples])
        weights = torch.cat([torch.full((len(frames), 1), 1 / (len(frames) * len(samples))) for frames in samples])
        mean = (pixels * weights).sum(0)
        centred = (pixels - mean) * weights.sqrt()
        if len(centred) < centred.shape[1]:
            values, sides = _decomposed(centred @ centred.T)
            vectors = centred.T @ sides / values.clamp(min=1e-9).sqrt()
        else:
            values, vectors = _decomposed(centred.T @ centred)
        values, vectors = values.flip(0), vectors.flip(1)
        count = min(self.components.shape[1], len(values))
        scale = (values[:count].clamp(min=0) + self.NOISE).rsqrt() * (values[:count] > self.NOISE / 10)
        self.mean.copy_(mean)
        self.components.zero_()
        self.components[:, :count] = vectors[:, :count] * scale

    @override
    def forward(self, frames: Tensor) -> Tensor:
        """Frames, uint8 (n, 32, 32, 3), to components (n, k)."""
        return (frames.flatten(1).float() / 255 - self.mean) @ self.components


def _decomposed(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors of a symmetric matrix. Frames of one task may have so many equal
    ones that single precision does not get there."""
    try:
        values, vectors = torch.linalg.eigh(matrix)
    except RuntimeError:  # LinAlgError is one
        values, vectors = torch.linalg.eigh(matrix.double())
    return values.to(matrix.dtype), vectors.to(matrix.dtype)


class CompactEye(nn.Module):
    """Encoder of frames, before anything is remembered.

    A summary of the whole frame comes from the retina. Beside it, one set of convolutional filters
    reads every window of the frame, and the whole frame at low resolution: the kernels are as large
    as a window and move by whole windows, and windows keep their order, so that positions are kept.
    As the overview and the windows are read by the same weights, a thing seen large and the same
    thing seen small get similar codes.

    The memory takes in the overview (n, code) and the summary (n, summary). Beside these are the
    glimpses (n, windows ** 2, code), the windows at full resolution, row by row; and the context
    (n, context): what kind of frame it is, from overview and glimpses.
    """

    def __init__(self, settings: CompactSettings) -> None:
        super().__init__()
        self.windows, self.side = settings.windows, settings.window_px
        self.retina = Retina(settings.components)
        self.summary = nn.Linear(settings.components, settings.summary)
        self.filters = nn.Conv2d(3, settings.filters, self.side, stride=self.side)
        self.code = nn.Linear(settings.filters, settings.code)
        self.code_norm = nn.LayerNorm(settings.code, elementwise_affine=False)
        self.context = nn.Linear((self.windows**2 + 1) * settings.code, settings.context)
        self.context_norm = nn.LayerNorm(settings.context)

    @override
    def forward(self, frames: Tensor) -> Seen:
        """``frames``: uint8 (n, 32, 32, 3); scaled to 0..1 here, and centred."""
        pixels = frames.permute(0, 3, 1, 2).float() / 255 - 0.6
        whole = functional.interpolate(pixels, size=(self.side, self.side), mode="area")
        fine = functional.interpolate(
            pixels, size=(self.windows * self.side, self.windows * self.side), mode="bilinear"
        )
        found = torch.cat([self.filters(whole).flatten(2), self.filters(fine).flatten(2)], 2).transpose(1, 2)
        codes = self.code_norm(self.code(functional.relu(found)))
        context = functional.relu(self.context_norm(self.context(codes.flatten(1))))
        return Seen(torch.cat([codes[:, 0], self.summary(self.retina(frames))], -1), (codes[:, 1:], context))


class CompactReader(nn.Module):
    """Encoder of words, before anything is remembered: its vector in the terms of the eye, as a
    thing seen, as a summary, and as the kind of thing.

    There are no windows to look into.
    """

    def __init__(self, settings: CompactSettings, words: int) -> None:
        super().__init__()
        self.windows, self.code = settings.windows**2, settings.code
        numbers = DIMENSIONS * words
        self.summary = nn.Linear(numbers, settings.summary)
        self.overview = nn.Linear(numbers, settings.code)
        self.overview_norm = nn.LayerNorm(settings.code, elementwise_affine=False)
        self.context = nn.Linear(numbers, settings.context)
        self.context_norm = nn.LayerNorm(settings.context)

    @override
    def forward(self, vectors: Tensor) -> Seen:
        """``vectors``: float32 (n, 300 × words)."""
        known = even(vectors, self.summary.in_features)
        nowhere = known.new_zeros(len(known), self.windows, self.code)
        context = functional.relu(self.context_norm(self.context(known)))
        return Seen(torch.cat([self.overview_norm(self.overview(known)), self.summary(known)], -1), (nowhere, context))


class CompactNetwork(Network):
    """The eye, the task's name, a memory, and a read-out through a gate and a template."""

    name_first = False
    settings: CompactSettings
    eye: CompactEye

    def __init__(self, settings: CompactSettings, tasks: Mapping[str, Task]) -> None:
        super().__init__(settings, tasks)
        if self.seeing:
            self.eye = CompactEye(settings)
        self.task_embedding = nn.Embedding(len(self.tasks), settings.embedding)
        self.memory = memory(
            settings.architecture,
            settings.options,
            settings.summary + settings.code + settings.embedding,
            settings.hidden,
        )
        if settings.start == "delay_line":
            self.memory.start_as_delay_line(settings.delay_line, settings.code)
        elif settings.start == "orthogonal":
            self.memory.start_orthogonal()
        # Which part of the state matters depends on what is seen now: the gate opens and closes
        # units for the read-out, the state itself is left alone.
        self.gate = nn.Linear(settings.context, settings.hidden)
        matches = settings.windows**2 if settings.match else 0
        if settings.match:
            self.template = nn.Linear(settings.hidden, settings.code)
            self.template_norm = nn.LayerNorm(settings.code, elementwise_affine=False)
            self.match_scale = nn.Parameter(torch.tensor(5.0))
            if (
                settings.start == "delay_line"
            ):  # a template starts out as something that was seen, not as a sum over the trial
                with torch.no_grad():
                    self.template.weight[:, settings.delay_line.slots * settings.delay_line.width :] *= 0.1
        if settings.products:
            self.factor_state = nn.Linear(settings.hidden, settings.products)
            self.factor_seen = nn.Linear(settings.hidden + settings.code + settings.summary, settings.products)
            self.factor_norm = nn.LayerNorm(settings.products, elementwise_affine=False)
            if settings.compared:
                self._start_compared(settings.delay_line)
            elif settings.start == "delay_line":
                self._start_aligned(settings.delay_line.slots * settings.delay_line.width)
        self.heads = Heads(self.tasks, settings.hidden + matches + settings.products)
        with torch.no_grad():
            for head in self.heads.values():
                if (
                    head.out_features == matches
                ):  # as many answers as windows: an answer starts out as the place that matches
                    head.weight[:, settings.hidden : settings.hidden + matches].zero_().fill_diagonal_(1)  # type: ignore[index, operator]
        if self.reading:
            self.reader = CompactReader(settings, most_words(tasks))

    @override
    def features(self, hidden: Tensor, seen: Seen) -> Tensor:
        glimpses, context = seen.beside
        open_ = hidden * torch.sigmoid(self.gate(context))
        features = [open_]
        if self.settings.match:
            template = self.template_norm(self.template(open_))
            features.append((glimpses @ template.unsqueeze(-1)).squeeze(-1) * (self.match_scale / self.settings.code))
        if self.settings.products:
            state, now = self.factor_state(open_), self.factor_seen(torch.cat([open_, seen.inputs], -1))
            features.append(self.factor_norm(state) * self.factor_norm(now))
        return torch.cat(features, -1)

    @torch.no_grad()
    def _start_aligned(self, first: int) -> None:
        """Let products begin as what a unit holds, times what it would take in now, for the units
        from ``first`` on, which sum over the trial."""
        assert isinstance(self.memory, Cell), "only recurrent cells start as a delay line"
        entering = self.memory.gate("candidate", self.memory.cell.all_weights[0][0])[first:]
        entering[:, : self.settings.code] *= 0.1
        entering[:, self.settings.code + self.settings.summary :] *= 0.1
        count = min(len(entering), self.settings.products)
        self.factor_state.weight[:count] *= 0.1
        self.factor_state.weight[:count, first : first + count].fill_diagonal_(1)
        self.factor_seen.weight[:count] *= 0.1
        self.factor_seen.weight[:count, self.settings.hidden :] = entering[
            :count, : self.settings.code + self.settings.summary
        ]

    @torch.no_grad()
    def _start_compared(self, line: DelayLine) -> None:
        """Let products begin as what each unit of the delay line holds, times what would enter the
        line at that unit now.

        Whatever was seen a number of steps ago is then compared with what is seen now, before
        anything is learned. The delay line takes in the summary of the frame, and little else, so
        that what all frames share does not hide what differs.
        """
        assert isinstance(self.memory, Cell), "only recurrent cells start as a delay line"
        code, units, width = self.settings.code, line.slots * line.width, line.width
        after = code + self.settings.summary
        entering, recurrent, *biases = self.memory.cell.all_weights[0]
        entering = self.memory.gate("candidate", entering)
        entering[:width, :code] *= 0.1
        entering[:width, code:after] *= 10  # the delay line began with a tenth
        entering[:width, after:] *= 0.5
        self.memory.gate("candidate", recurrent)[:width] *= 0.1
        for bias in biases:
            self.memory.gate("candidate", bias)[:units] = 0
        for factor in (self.factor_state, self.factor_seen):
            factor.weight[:units] *= 0.01
            nn.init.zeros_(factor.bias)
        self.factor_state.weight[:units, :units].fill_diagonal_(1)
        self.factor_seen.weight[:units, self.settings.hidden :] = entering[torch.arange(units) % width, :after]

    @override
    def begin(
        self,
        samples: Sequence[Tensor],
        expected: Mapping[str, tuple[Sequence[float], bool]],
        places: Mapping[str, Mapping[int, Place]] | None = None,
    ) -> None:
        """Set the components of the retina; let heads begin with how often each of their outputs is
        wanted, and with what matches where their answers are."""
        for head, (frequencies, exclusive) in expected.items():
            self.heads.expect(head, frequencies, exclusive)
        if self.settings.aligned and self.settings.match:
            first = self.settings.hidden
            for head, own in (places or {}).items():
                for output, place in own.items():
                    self.heads.read(head, output, first, _windows_at(place, self.settings.windows))
        if samples:
            self.eye.retina.fit(samples)
            if (
                self.settings.products and not self.settings.compared
            ):  # an empty frame is nothing, so that what was seen before an interval is what is left after it
                self.eye.retina.mean.copy_(
                    torch.cat([frames.flatten(1) for frames in samples]).float().div(255).median(0).values
                )
                nn.init.zeros_(self.eye.summary.bias)


def _windows_at(place: Place, windows: int) -> Tensor:
    """Return how much of each window, row by row, a part of the screen covers."""
    edges = torch.arange(windows) / windows
    left, top, right, bottom = place
    across, down = (
        ((edges + 1 / windows).clamp(max=high) - edges.clamp(min=low)).clamp(min=0) * windows
        for low, high in ((left, right), (top, bottom))
    )
    return (down[:, None] * across).flatten()


class WormNetwork(Network):
    """A convolutional eye, the task's name, a memory, and linear heads that read its hidden state."""

    name_first = True

    def __init__(self, settings: WormSettings, tasks: Mapping[str, Task]) -> None:
        super().__init__(settings, tasks)
        published = architecture_and_options(settings.architecture, settings.options)[0]
        inputs = settings.inputs or published.published_inputs or settings.hidden
        if inputs <= settings.embedding:
            raise SpanLabError(
                f"a memory that takes in {inputs} numbers has no room for the {settings.embedding} that name the task;"
                " make 'inputs' larger"
            )
        if self.seeing:
            self.eye = WormEye(inputs - settings.embedding)
        self.memory = memory(settings.architecture, settings.options, inputs, settings.hidden)
        self.heads = Heads(self.tasks, settings.hidden)
        self.task_embedding = nn.Embedding(len(self.tasks), settings.embedding)
        if self.reading:
            self.reader = WormReader(inputs - settings.embedding, most_words(tasks))
        if published.published_xavier:
            self._start_with_xavier()

    @torch.no_grad()
    def _start_with_xavier(self) -> None:
        """All weights from a normal distribution by their numbers of inputs and outputs (the gates
        of a cell as one matrix), all biases zero."""
        for parameter in self.parameters():
            if parameter.ndim > 1:
                nn.init.xavier_normal_(parameter)
            else:
                parameter.zero_()


def build(settings: CompactSettings | WormSettings, tasks: Mapping[str, Task], seed: int) -> Network:
    """A fresh network; the same for the same seed, without touching torch's global random state.

    Raises
    ------
    SpanLabError
        for an unknown architecture, options that it does not take, or sizes that do not go
        together.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return WormNetwork(settings, tasks) if isinstance(settings, WormSettings) else CompactNetwork(settings, tasks)


def check_architecture(settings: CompactSettings | WormSettings) -> None:
    """Check that sizes, architecture and its options go together, whatever the tasks.

    Raises
    ------
    SpanLabError
        when they do not.
    """
    empty(settings, {"any": Task(1, "any")})


def empty(settings: CompactSettings | WormSettings, tasks: Mapping[str, Task]) -> Network:
    """The network without weights: it has their names and shapes, and takes no memory."""
    with torch.device("meta"), _NothingDrawn():
        return build(settings, tasks, seed=0)


class _NothingDrawn(TorchFunctionMode):
    """Starting weights are not drawn. Where there is nothing to fill, PyTorch would load its whole
    compiler for that, which takes a second or two."""

    @override
    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is torch.Tensor.normal_ or getattr(func, "__module__", "") == nn.init.__name__:
            return args[0] if args else (kwargs or {})["tensor"]
        return func(*args, **(kwargs or {}))
