"""Hidden states, for neural analysis: what the memory of a network holds at every step of every
trial, kept beside the responses of a large run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...core.errors import SpanLabError
from ...paradigms import Percept, is_model_step

#: the folder of a session's hidden states
STATES = "states"


class StatesLog:
    """Collects the hidden states of trials that are answered in batches.

    Parameters
    ----------
    units : how many each state has
    """

    def __init__(self, units: int) -> None:
        self._units = units
        self._trials: list[tuple[Sequence[Percept], np.ndarray]] = []

    def add(self, percepts: Sequence[Percept], hidden: np.ndarray) -> None:
        """Take the hidden states of a trial, float32 (steps that machines see, units)."""
        self._trials.append((percepts, hidden))

    def take(self, steps: Mapping[int, Sequence[int]], session: str) -> bytes:
        """The hidden states of the trials added since this was last asked, as a Parquet file.

        Parameters
        ----------
        steps : for the number of each of these trials in the session, in the order in which they
            were put, the numbers of the steps that were put
        session : name of the session, for the file
        """
        import pyarrow
        import pyarrow.parquet

        trials, self._trials = self._trials, []
        rows: list[tuple[int, int, str, bool]] = []
        for (number, numbers), (percepts, states) in zip(steps.items(), trials, strict=True):
            seen = [(step, percept) for step, percept in zip(numbers, percepts, strict=True) if is_model_step(percept)]
            assert len(seen) == len(states)
            rows += [(number, step, percept.phase, percept.ask is not None) for step, percept in seen]
        hidden = np.concatenate([states for _, states in trials]).astype(np.float32, copy=False)
        columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
        arrays = [
            pyarrow.array(columns[0], pyarrow.int64()),
            pyarrow.array(columns[1], pyarrow.int32()),
            pyarrow.array(columns[2], pyarrow.string()).dictionary_encode(),
            pyarrow.array(columns[3], pyarrow.bool_()),
            pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(hidden.ravel(), pyarrow.float32()), self._units),
        ]
        table = pyarrow.table(
            arrays, names=["trial", "step", "phase", "asked", "hidden"], metadata={"session": session}
        )
        sink = pyarrow.BufferOutputStream()
        # the bytes of equal weight of all numbers go together: so they can be compressed
        options: dict[str, Any] = {"use_dictionary": ["phase"], "use_byte_stream_split": ["hidden.list.element"]}
        pyarrow.parquet.write_table(table, sink, compression="zstd", **options)
        return sink.getvalue().to_pybytes()


@dataclass(frozen=True, slots=True)
class States:
    """Hidden states of some trials, one row for each step that the network saw; rows are in the
    order of trials and steps.

    Parameters
    ----------
    trial : number of the trial in the session, int64 (rows,); as in the response table
    step : number of the step in the trial, from 1, int32 (rows,); as in the response table
    phase : of the step, such as ``probe``, objects (rows,)
    asked : whether there was a question, bool (rows,)
    hidden : output of the memory (of its last layer) at that step, before any read-out, float32
        (rows, units)
    """

    trial: np.ndarray
    step: np.ndarray
    phase: np.ndarray
    asked: np.ndarray
    hidden: np.ndarray


def read_states(folder: str | Path) -> Iterator[States]:
    """The hidden states of a session, a chunk (as many trials as a part has) at a time, in the
    order of its trials. Of an unfinished session, those of its finished parts.

    Raises
    ------
    SpanLabError
        when none were kept, or a file is damaged.
    """
    files = sorted(
        path for path in (Path(folder) / STATES).glob("[0-9]*.parquet") if (Path(folder) / "parts" / path.name).exists()
    )
    if not files:
        raise SpanLabError(
            f"{folder} holds no hidden states; they are kept by: spanlab replay PARADIGM --agent network:FILE --states"
        )
    yield from map(_read, files)


def _read(path: Path) -> States:
    import pyarrow
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.read_table(path).combine_chunks()
        trial, step, asked = (table.column(name).to_numpy() for name in ("trial", "step", "asked"))
        hidden = table.column("hidden")
        units = hidden.type.list_size
        flat = [chunk.flatten().to_numpy(zero_copy_only=False) for chunk in hidden.chunks]
        numbers = np.concatenate(flat) if flat else np.empty(0, np.float32)
        phase = np.array(table.column("phase").to_pylist(), dtype=object)
    except (pyarrow.ArrowException, OSError, KeyError, AttributeError) as error:
        raise SpanLabError(
            f"{path} is damaged and cannot be read ({str(error).splitlines()[0]}); delete it and the file of the same"
            f" name in parts, and both are made again by: spanlab resume {path.parent.parent}"
        ) from None
    return States(trial, step, phase, asked, numbers.reshape(-1, units))
