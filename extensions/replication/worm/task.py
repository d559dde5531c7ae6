"""One task of the WorM benchmark: the keys of its trials in JSON and their meaning here, and the
file with the frame of each step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from spanlab.stimuli import Stimulus

from .fields import Fields

Levels = dict[str, Any]
Draws = dict[str, Any]
Json = dict[str, Any]


@dataclass(slots=True)
class Reading:
    """The context in which trials are read.

    Parameters
    ----------
    seed : for what a file leaves open
    trial : name of the trial
    notes : what has to be said, with the number of times that it happened
    """

    seed: int
    trial: str = ""
    notes: Counter[str] = field(default_factory=Counter)


class WormTask:
    """The base of every task.

    ``keys`` says under which key of the JSON a draw or factor level is (the first one, when there
    are several), to tell what is wrong; factors that are not there have the same name.
    """

    paradigm: ClassVar[str]
    keys: ClassVar[Mapping[str, str]]

    def read(self, trial: Fields, reading: Reading) -> tuple[Levels, Draws]:
        """Factor levels (but for those that the whole data set has) and draws of a trial in JSON.

        Raises
        ------
        MalformedError
            when something is missing, or does not fit.
        """
        raise NotImplementedError

    def write(self, levels: Levels, draws: Draws) -> Json:
        """A trial in JSON, without names of files."""
        raise NotImplementedError

    def files(self, name: str, trial: Json) -> Json:
        """The keys of a trial in JSON that hold names of files."""
        raise NotImplementedError

    def steps(self, trial: Json) -> list[str]:
        """For each step of a trial the file with its frame; files may stand for several steps."""
        return [*trial["memory_stim_fnames"], *trial["probe_stim_fnames"]]

    def shared(self) -> dict[str, Stimulus]:
        """Frames that all trials share, by file."""
        return {}

    def extra(self, name: str, draws: Draws) -> dict[str, Stimulus]:
        """Frames that are not steps of the trial, by file."""
        return {}
