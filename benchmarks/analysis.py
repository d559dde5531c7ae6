"""A million answers from one Parquet file to every curve and score: seconds and memory; and
whether a quarter and a half of them take a quarter and a half.

    python benchmarks/analysis.py [ROWS] [FOLDER]

The table has the columns of the record. Answerers are three networks that took many trials of
visual serial recall, spatial memory updating, change detection, visual serial recognition, complex
span, spatial coordination and task switching, in the proportions of the benchmark's test sets.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet

from spanlab.analysis.data.loading import load
from spanlab.analysis.data.scoring import Scored
from spanlab.analysis.effects.registry import EFFECTS
from spanlab.analysis.model_vs_human.comparison import distances
from spanlab.analysis.model_vs_human.scores import scores

ROWS = 1_000_000
CHUNK = 500_000
SHARES = {"vsr": 0.3, "smu": 0.2, "cd": 0.15, "vsrec": 0.15, "cs": 0.05, "sc": 0.05, "sts": 0.1}
AGENTS = ("network:one", "network:two", "network:three")


def texts(codes: np.ndarray, values: list[str]) -> pyarrow.Array:
    return pyarrow.DictionaryArray.from_arrays(pyarrow.array(codes.astype(np.int32)), pyarrow.array(values)).cast(
        pyarrow.string()
    )


def chunk(paradigm: str, agent: str, rows: int, first: int, random: np.random.RandomState) -> pyarrow.Table:
    """Whole trials of one paradigm and agent, about ``rows`` rows; trials are numbered from
    ``first``."""
    trials = rows // {"vsr": 5, "smu": 4, "cd": 1, "vsrec": 5, "cs": 2, "sc": 1, "sts": 16}[paradigm] + 1
    size = random.randint(2, 10, size=trials) if paradigm in ("vsr", "vsrec") else random.randint(1, 9, size=trials)
    asked = {
        "cd": np.ones(trials, int),
        "sc": np.ones(trials, int),
        "cs": np.full(trials, 2),
        "sts": np.full(trials, 16),
    }.get(paradigm, size)
    trial = np.repeat(np.arange(trials), asked)
    ask = np.arange(len(trial)) - np.repeat(np.cumsum(asked) - asked, asked) + 1
    size = np.repeat(size, asked)
    many = len(trial)
    nothing = pyarrow.nulls(many, pyarrow.int64())
    drawn = random.rand(many)
    correct = drawn < np.clip(1.05 - 0.08 * size, 0.2, 0.98)
    placed = paradigm in ("vsr", "vsrec", "cs")
    listed = {"vsr": size, "vsrec": size, "cs": np.full(many, 2), "sc": 8 + 2 * (size % 5 + 1)}.get(paradigm)
    held = {"cd": 2 * (size % 6 + 1), "sts": None, "cs": np.full(many, 2)}.get(
        paradigm, listed if listed is not None else size
    )
    per_trial = np.random.RandomState(first).randint(0, 1 << 30, size=trials)[trial]
    answers = ['"same"', '"different"'] if paradigm == "cd" else ["3", "4"]
    columns: dict[str, object] = {
        "session": texts(np.zeros(many), [f"{paradigm}-{agent}"]),
        "participant": texts(np.zeros(many), [""]),
        "agent_kind": texts(np.zeros(many), ["network"]),
        "agent": texts(np.zeros(many), [agent]),
        "agent_settings_hash": texts(np.zeros(many), ["0123456789abcdef"]),
        "oracle": np.zeros(many, bool),
        "paradigm": texts(np.zeros(many), [paradigm]),
        "paradigm_version": np.ones(many, np.int64),
        "paradigm_hash": texts(np.zeros(many), ["0123456789abcdef"]),
        "generator": texts(np.zeros(many), ["corrected"]),
        "block": np.ones(many, np.int64),
        "trial": trial + first,
        "trial_id": texts(trial, [f"{number:016x}" for number in range(first, first + trials)]),
        "seed": trial + first,
        "step": ask,
        "ask": ask,
        "phase": texts(np.zeros(many), ["probe"]),
        "practice": np.zeros(many, bool),
        "pilot": np.zeros(many, bool),
        "set_size": nothing if held is None else held,
        "list_length": nothing if listed is None else listed,
        "serial_position": ask if placed else nothing,
        "output_position": nothing,
        "retention_steps": (per_trial % 4 * 6) if paradigm == "cd" else nothing,
        "chance": np.full(many, 1 / 9 if paradigm in ("vsr", "smu") else 0.5),
        "correct_answer": texts(random.randint(0, 2, size=many), answers),
        "answer": texts(random.randint(0, 2, size=many), answers),
        "outcome": texts(np.zeros(many), ["answered"]),
        "correct": correct,
        "warm_up": np.zeros(many, bool),
        "rt_ms": pyarrow.nulls(many, pyarrow.float64()),
    }
    domains = ['"spatial"', '"visual"']
    features = ['"colour"', '"orientation"', '"size"', '"gap"', '"conjunction"']
    factors = {
        "factor_feature": ("cd", per_trial % 5, features),
        "record_changed_feature": ("cd", per_trial % 4, features[:4]),
        "factor_pattern_distractor_difference": ("vsrec", per_trial % 3, ["2", "4", "6"]),
        "factor_storage": ("cs", per_trial % 2, domains),
        "factor_distractor_domain": ("cs", per_trial // 2 % 2, domains),
        "factor_load": ("cs", per_trial // 4 % 4, ["0", "1", "3", "5"]),
        "record_cognitive_load": (
            "cs",
            per_trial // 4 % 4,
            ["0.0", "0.17894736842105263", "0.5368421052631579", "0.8947368421052632"],
        ),
        "record_symmetry_offset": ("sc", per_trial % 5, ["0", "2", "4", "6", "8"]),
        "record_transition": ("sts", random.randint(0, 3, size=many), ['"repeat"', '"switch"', '"start"']),
        "factor_switch_probability": ("sts", per_trial % 2, ["0.2", "0"]),
    }
    for name, (where, codes, values) in factors.items():
        columns[name] = texts(codes, values) if where == paradigm else pyarrow.nulls(many, pyarrow.string())
    return pyarrow.table(columns)


def write(file: Path, rows: int) -> int:
    """Write a table of about ``rows`` rows; how many it has."""
    random, total, writer, first = np.random.RandomState(1), 0, None, 1
    for paradigm, share in SHARES.items():
        for agent in AGENTS:
            left = round(rows * share / len(AGENTS))
            while left > 0:
                table = chunk(paradigm, agent, min(CHUNK, left), first, random)
                writer = writer or pyarrow.parquet.ParquetWriter(file, table.schema)
                writer.write_table(table)
                left, total, first = left - table.num_rows, total + table.num_rows, first + table.num_rows
    assert writer is not None
    writer.close()
    return total


class Laps:
    """Seconds and processor time since the last one, and the most memory that this process has had
    so far."""

    def __init__(self) -> None:
        self.mark, self.used = time.perf_counter(), time.process_time()

    def tell(self, what: str) -> None:
        now, busy = time.perf_counter(), time.process_time()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"{now - self.mark:7.1f} s, {busy - self.used:6.1f} s of processor time  {what} (peak so far {peak:.1f}"
            " GiB)",
            flush=True,
        )
        self.mark, self.used = time.perf_counter(), time.process_time()


def curves(scored: Scored) -> int:
    """Every curve of a table; how many points they have."""
    return sum(len(effect.table(scored, paradigm)) for effect in EFFECTS for paradigm in effect.applies(scored))


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(tempfile.mkdtemp(prefix="spanlab-analysis-"))
    for many in (rows // 4, rows // 2, rows):
        file = folder / f"responses-{many}.parquet"
        if not file.exists():
            print(f"writing {write(file, many):,} rows: {file.stat().st_size / 1e6:.0f} MB")
        laps = Laps()
        data = load([file])
        laps.tell(f"{len(data.scored.items):,} rows read")
        laps.tell(f"all curves: {curves(data.scored)} points")
    laps.tell(f"scores: {len(scores(data.scored))} rows")
    laps.tell(f"distances: {len(distances(data.scored))} rows")


if __name__ == "__main__":
    main()
