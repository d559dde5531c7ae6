"""Trials of a paradigm as batches of tensors, for models that are trained in PyTorch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

from typing_extensions import override

from spanlab.agents.network import arrays_of, longest_trial, need_torch
from spanlab.core import SpanLabError
from spanlab.paradigms import Generator, Split, compile_trial, load_paradigm, plan_dataset
from spanlab.paradigms.paradigm import paradigm_from_data

need_torch()
from torch import Tensor, distributed, from_numpy  # noqa: E402
from torch.utils.data import IterableDataset, get_worker_info  # noqa: E402

if TYPE_CHECKING:
    from spanlab.paradigms import PlannedTrial, Trial


class Batch(NamedTuple):
    """Some trials of a paradigm.

    Parameters
    ----------
    frames : float32 (trials, steps, 3, 32, 32), from 0 to 1, black after the end of a trial;
        (trials, steps, 300) where words are read
    targets : int64 (trials, steps): the class that is wanted at each step; (trials, outputs), 1
        where wanted, for questions with several answers
    mask : bool (trials, steps): the steps that enter the loss
    lengths : int64 (trials,): steps of each trial
    """

    frames: Tensor
    targets: Tensor
    mask: Tensor
    lengths: Tensor


class Dataset(IterableDataset[Batch]):
    """Batches of trials of a paradigm, drawn anew for each batch and the same for the same seed.

    Training, validation and test trials cannot be the same ones. A ``DataLoader`` with workers
    takes each batch once; give it ``batch_size=None``, because batches are made here. Processes of
    ``torch.distributed`` share the batches as ``DistributedSampler`` does: each has as many, and
    where they do not come out even, the first ones come again.

    Parameters
    ----------
    paradigm : name in the library, or a YAML file
    batch_size : trials in a batch
    batches : in one pass; None for as many as are asked for
    split : ``train``, ``validation`` or ``test``
    levels : levels of some factors, such as ``{"list_length": [3, 4]}``; all when not given
    seed : of the trials
    generator : ``corrected`` or ``published`` trials
    rank, ranks : which of how many processes this is; those of ``torch.distributed`` when not given

    Raises
    ------
    SpanLabError
        when torch is missing, the paradigm is unknown, or networks cannot take it.

    Examples
    --------
    >>> import spanlab
    >>> batch = next(iter(spanlab.Dataset("vsr", batch_size=8, levels={"list_length": 3})))
    >>> batch.frames.shape, batch.targets.shape
    (torch.Size([8, 6, 3, 32, 32]), torch.Size([8, 6]))
    """

    def __init__(
        self,
        paradigm: str,
        *,
        batch_size: int = 64,
        batches: int | None = None,
        split: Split = "train",
        levels: Mapping[str, Any] | None = None,
        seed: int = 1,
        generator: Generator = "corrected",
        rank: int | None = None,
        ranks: int | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(paradigm, str | PathLike):
            raise SpanLabError(f"a data set is of one paradigm: make one for each; found {paradigm!r}")
        if (rank is None) != (ranks is None) or not 0 <= (rank or 0) < (1 if ranks is None else ranks):
            raise SpanLabError(f"rank is a number from 0, below ranks; found rank={rank}, ranks={ranks}")
        if not isinstance(batch_size, int) or batch_size < 1:
            raise SpanLabError(f"a batch has one trial or more, a whole number; found batch_size={batch_size}")
        self.paradigm = load_paradigm(paradigm)
        self.batch_size, self.batches, self.seed = batch_size, batches, seed
        self.split: Split = split
        self.generator: Generator = generator
        self._given = None if rank is None or ranks is None else (rank, ranks)
        self._levels = {
            name: list(value) if isinstance(value, list | tuple) else [value] for name, value in (levels or {}).items()
        }
        self.view = self._view()
        next(plan_dataset(self.paradigm, seed, split, 1, self._levels))  # what is wrong is said at once

    def _view(self) -> Any:
        """View that networks have of the paradigm.

        Raises
        ------
        SpanLabError
            when they cannot take it, or when its tasks have heads of different sizes.
        """
        views = [self.paradigm.network_view(levels) for levels in self.paradigm.combinations(self._levels)]
        known = [view for view in views if view is not None]
        if not known:
            raise SpanLabError(
                f"networks cannot take {self.paradigm.name}: the paradigm has no 'network' section that says its task"
                " and head"
            )
        if len({view.head for view in known}) > 1:
            raise SpanLabError(
                f"the tasks of {self.paradigm.name} have heads of different sizes; choose levels of one of them"
            )
        return known[0]

    @property
    def outputs(self) -> int:
        """Number of logits that a model gives at each step: those of the paradigm's head, or two
        (no and yes) where the head has one output."""
        return max(self.view.head, 2)

    @property
    def seq_len(self) -> int:
        """The steps of the longest trial."""
        return longest_trial(self.paradigm, self._levels, self.generator)

    @property
    def share(self) -> tuple[int, int]:
        """Which of how many processes takes its share of the batches."""
        if self._given is not None:
            return self._given
        if distributed.is_available() and distributed.is_initialized():
            return distributed.get_rank(), distributed.get_world_size()
        return 0, 1

    @override
    def __getstate__(self) -> dict[str, Any]:
        """A paradigm is read again from its text, and the process whose worker this is is told."""
        paradigm = self.paradigm
        return {**vars(self), "paradigm": (paradigm.data, paradigm.name), "_given": self.share}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({**state, "paradigm": paradigm_from_data(*state["paradigm"])})

    def trials(self, number: int) -> list[Trial]:
        """The trials of one batch, by its number from 0."""
        planned: Iterator[PlannedTrial] = plan_dataset(
            self.paradigm, self.seed, self.split, self.batch_size, self._levels, start=number * self.batch_size
        )
        return [compile_trial(self.paradigm, one.levels, one.seed, self.generator) for one in planned]

    def batch(self, number: int) -> Batch:
        """One batch, by its number from 0."""
        arrays = arrays_of(self.view, self.trials(number))
        frames = from_numpy(arrays.frames)
        if frames.ndim == 5:
            frames = frames.permute(0, 1, 4, 2, 3).float() / 255
        return Batch(frames, from_numpy(arrays.labels), from_numpy(arrays.trained), from_numpy(arrays.lengths))

    @override
    def __iter__(self) -> Iterator[Batch]:
        worker = get_worker_info()
        turn, step = (0, 1) if worker is None else (worker.id, worker.num_workers)
        rank, ranks = self.share
        while self.batches is None or turn < len(self):
            number = turn * ranks + rank
            yield self.batch(number if self.batches is None else number % self.batches)
            turn += step

    def __len__(self) -> int:
        if self.batches is None:
            raise TypeError("this data set goes on as long as batches are asked for: give batches=N for a length")
        return -(-self.batches // self.share[1])
