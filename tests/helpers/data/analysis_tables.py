"""Response tables with planted effects, in the declared columns of the record."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from spanlab.sessions.record.table import COLUMNS

Probability = Callable[[int, int], float]


def responses(
    probability: Probability,
    *,
    agent: str = "network:test",
    kind: str = "network",
    participant: str = "",
    paradigm: str = "vsr",
    lengths: Iterable[int] = (3, 4, 5),
    repetitions: int = 10,
    seed: int = 0,
    chance: float | None = 1 / 9,
    session: str = "",
    spread: float = 0.0,
) -> pd.DataFrame:
    """Trials whose item at position k of a list of L is correct with ``probability(L, k)``;
    ``spread`` shifts all items of a trial together."""
    random = np.random.RandomState(seed)
    rows, trial = [], 0
    for length in lengths:
        for repetition in range(repetitions):
            trial += 1
            shift = random.uniform(-spread, spread)
            for position in range(1, length + 1):
                correct = bool(random.rand() < probability(length, position) + shift)
                rows.append(
                    {
                        "session": session or f"{paradigm}-{agent}-{participant}",
                        "participant": participant,
                        "agent_kind": kind,
                        "agent": agent,
                        "agent_settings_hash": "0" * 8,
                        "oracle": kind in ("ideal", "capacity", "simulated"),
                        "paradigm": paradigm,
                        "paradigm_version": 1,
                        "paradigm_hash": "p" * 8,
                        "generator": "corrected",
                        "block": 1,
                        "trial": trial,
                        "trial_id": f"{length}-{repetition}",
                        "seed": trial,
                        "step": length + position,
                        "ask": position,
                        "phase": "probe",
                        "practice": False,
                        "pilot": False,
                        "set_size": length,
                        "list_length": length,
                        "serial_position": position,
                        "chance": length / 100 if chance is None else chance,
                        "correct_answer": "3",
                        "answer": "3" if correct else "4",
                        "outcome": "answered",
                        "correct": correct,
                    }
                )
    return pd.DataFrame(rows, columns=[column.name for column in COLUMNS])


def better_in_a(many: int, few: int) -> pd.DataFrame:
    """Twelve people who are all better with cue A than with B: half of them 90 % and 80 % right, the
    others 60 % and 50 %. Good people have ``few`` trials with A and ``many`` with B, the others the
    reverse."""
    tables = []
    for number in range(12):
        good = number < 6
        for cue, right in (("A", 0.9 if good else 0.6), ("B", 0.8 if good else 0.5)):
            trials = few if good == (cue == "A") else many
            table = responses(
                lambda *_: 0.0, kind="participant", participant=f"P{number}", lengths=(1,), repetitions=trials
            )
            shift = 0 if cue == "A" else 1000
            tables.append(
                table.assign(
                    agent="participant",
                    trial=table["trial"] + shift,
                    trial_id=f"{number}-{cue}-" + table["trial_id"],
                    correct=np.arange(trials) < round(right * trials),
                    factor_cue=f'"{cue}"',
                )
            )
    return mixed(*tables)


def mixed(*tables: pd.DataFrame) -> pd.DataFrame:
    """Several tables as one."""
    return pd.concat([table.astype(object) for table in tables], ignore_index=True)
