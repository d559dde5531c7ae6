"""Hidden states, for neural analysis: what the memory of a network holds at every step of every
trial, kept beside the answers of a session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...core.atomic_files import write_whole
from ...core.errors import SpanLabError
from ...paradigms import Step

#: the folder of a session's hidden states
STATES = "states"


def write_states(
    folder: Path, trials: Sequence[tuple[int, Sequence[Step]]], hidden: Sequence[np.ndarray], session: str
) -> None:
    """Write the hidden states of trials that were answered together into the folder of their session.

    Parameters
    ----------
    trials : their numbers and the steps that the network saw
    hidden : of each of them, float32 (steps, units)
    session : its name, for the file

    Raises
    ------
    SpanLabError
        when the file cannot be written.
    """
    import pyarrow
    import pyarrow.parquet

    rows: list[tuple[int, int, str, bool]] = []
    for (number, steps), states in zip(trials, hidden, strict=True):
        seen = [(step.index + 1, step.percept) for step in steps if step.percept.model_step]
        assert len(seen) == len(states)
        rows += [(number, step, percept.phase, percept.ask is not None) for step, percept in seen]
    numbers = np.concatenate(hidden).astype(np.float32, copy=False)
    trial, step, phase, asked = zip(*rows, strict=True)
    arrays = [
        pyarrow.array(trial, pyarrow.int64()),
        pyarrow.array(step, pyarrow.int32()),
        pyarrow.array(phase, pyarrow.string()).dictionary_encode(),
        pyarrow.array(asked, pyarrow.bool_()),
        pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(numbers.ravel(), pyarrow.float32()), numbers.shape[1]),
    ]
    table = pyarrow.table(arrays, names=["trial", "step", "phase", "asked", "hidden"], metadata={"session": session})
    sink = pyarrow.BufferOutputStream()
    # the bytes of equal weight of all numbers go together: so they can be compressed
    options: dict[str, Any] = {"use_dictionary": ["phase"], "use_byte_stream_split": ["hidden.list.element"]}
    pyarrow.parquet.write_table(table, sink, compression="zstd", **options)
    write_whole(
        folder / STATES / f"{trials[0][0]:08d}.parquet",
        sink.getvalue().to_pybytes(),
        "free some space, or check the disk",
        folders="own",
    )


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
    """The hidden states of a session, a chunk (trials that were answered together) at a time, in the
    order of its trials. Of an interrupted session, those of the trials under way may be among them.

    Raises
    ------
    SpanLabError
        when none were kept, or a file is damaged.
    """
    files = sorted((Path(folder) / STATES).glob("[0-9]*.parquet"))
    if not files:
        raise SpanLabError(
            f"{folder} holds no hidden states; they are kept by: spanlab replay PARADIGM --agent network:FILE --states"
        )
    # A session that went on in the middle of a batch has answered the rest of it anew.
    yield from map(_read, files, [*(int(file.stem) for file in files[1:]), None])


def _read(path: Path, end: int | None) -> States:
    """The states of a file, before those of the trial with which the next file begins."""
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
            f"{path} is damaged and cannot be read ({str(error).splitlines()[0]}); restore it from a copy, or take"
            " the trials again (spanlab replay --like)"
        ) from None
    before = slice(None) if end is None else slice(int(np.searchsorted(trial, end)))
    return States(*(column[before] for column in (trial, step, phase, asked, numbers.reshape(-1, units))))
