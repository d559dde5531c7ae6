"""Simulated observers with planted effects, in the columns of the record: whatever the analysis
estimates must come back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

#: What a trial asks: a list of items, each with its columns, its probability of being right, and
#: its reaction time (None: not measured).
Trial = Callable[[np.random.RandomState], Sequence[tuple[Mapping[str, Any], float, float | None]]]


def table(
    trial: Trial,
    trials: int,
    *,
    agent: str = "network:test",
    kind: str = "network",
    participant: str = "",
    paradigm: str = "vsr",
    seed: int = 0,
) -> pd.DataFrame:
    """``trials`` trials of somebody; factors and recorded values are JSON text, as in the record."""
    random = np.random.RandomState(seed)
    rows = []
    for number in range(1, trials + 1):
        for ask, (columns, right, ms) in enumerate(trial(random), start=1):
            plain = {
                name: json.dumps(value) if name.startswith(("factor_", "record_")) else value
                for name, value in columns.items()
            }
            rows.append(
                {
                    "session": f"{paradigm}-{agent}-{participant}",
                    "participant": participant,
                    "agent_kind": kind,
                    "agent": agent,
                    "agent_settings_hash": "0" * 8,
                    "oracle": False,
                    "paradigm": paradigm,
                    "block": 1,
                    "trial": number,
                    "trial_id": f"{paradigm}-{number}",
                    "step": ask,
                    "ask": ask,
                    "practice": False,
                    "pilot": False,
                    "set_size": None,
                    "list_length": None,
                    "serial_position": None,
                    "output_position": None,
                    "retention_steps": None,
                    "chance": 0.5,
                    "correct_answer": '"x"',
                    "answer": '"x"',
                    "outcome": "answered",
                    "correct": bool(random.rand() < right),
                    "rt_ms": ms,
                    **plain,
                }
            )
    return pd.DataFrame(rows)


def rows_by(found: pd.DataFrame, *columns: str) -> dict[Any, dict[str, Any]]:
    """The rows of a table by their values in some columns; plain values where there is one column,
    tuples where there are several."""
    rows: dict[Any, dict[str, Any]] = {}
    for one in found.to_dict("records"):
        found_by = tuple(one[name] for name in columns)
        key = found_by if len(columns) > 1 else found_by[0]
        assert key not in rows, f"several rows are {key}"
        rows[key] = {str(name): value for name, value in one.items()}
    return rows


def together(*tables: pd.DataFrame) -> pd.DataFrame:
    """Several tables as one."""
    return pd.concat([one.astype(object) for one in tables], ignore_index=True)


def change_detection(held: float, guess: float = 0.4, sizes: Sequence[int] = (2, 4, 6, 8)) -> Trial:
    """Somebody who holds ``held`` bars of a display, sees a change of any of them, and else says
    "different" with probability ``guess``."""

    def trial(random: np.random.RandomState) -> list[tuple[dict[str, Any], float, None]]:
        size, changed = int(random.choice(sizes)), bool(random.rand() < 0.5)
        seen = min(1.0, held / size)
        different = seen + (1 - seen) * guess if changed else guess
        columns = {
            "set_size": size,
            "retention_steps": int(random.choice([0, 6])),
            "factor_feature": str(random.choice(["colour", "conjunction"])),
            "record_changed_feature": "colour" if changed else None,
            "correct_answer": json.dumps("different" if changed else "same"),
        }
        return [(columns, different if changed else 1 - different, None)]

    return trial


def switching(
    accuracy: Mapping[str, float], times: Mapping[str, float], congruent: tuple[float, float] | None = None
) -> Trial:
    """Runs of eight judgements, half of the runs with switches; accuracy and mean reaction time for
    ``one task``, ``repetition`` and ``switch``.

    ``congruent`` is what half of the judgements have more of accuracy and of time, because both
    tasks have the same answer; not recorded when not given.
    """

    def trial(random: np.random.RandomState) -> list[tuple[dict[str, Any], float, float]]:
        mixed, asked = bool(random.rand() < 0.5), []
        for number in range(8):
            transition = "start" if not number else "switch" if mixed and random.rand() < 0.4 else "repeat"
            kind = "one task" if not mixed else "switch" if transition == "switch" else "repetition"
            right = 0.0 if transition == "start" else accuracy[kind]  # a first judgement that was counted would show
            columns = {"record_transition": transition, "factor_switch_probability": 0.4 if mixed else 0}
            ms = times[kind] + random.normal(0, 80)
            if congruent is not None:
                alike = bool(random.rand() < 0.5)
                columns["record_congruent"] = alike
                right, ms = right + congruent[0] * alike * (transition != "start"), ms + congruent[1] * alike
            asked.append((columns, right, ms))
        return asked

    return trial


def along(column: str, accuracy: Mapping[Any, float], **always: Any) -> Trial:
    """One question a trial, right with the probability that belongs to a level of ``column``."""
    levels = list(accuracy)

    def trial(random: np.random.RandomState) -> list[tuple[dict[str, Any], float, None]]:
        level = levels[random.randint(len(levels))]
        return [({**always, column: level}, accuracy[level], None)]

    return trial


def recall(
    presented: Sequence[int], answer: Sequence[int], number: int = 1, *, length: int | None = None
) -> pd.DataFrame:
    """One trial of spatial free recall: the cells presented and the cells recalled, both in order."""
    length = len(presented)
    base = table(lambda random: [], 0)
    rows: list[dict[str, Any]] = []
    common = {
        **{
            "session": "s",
            "participant": "",
            "agent_kind": "network",
            "agent": "network:test",
            "paradigm": "sfr",
            "block": 1,
            "trial": number,
        },
        **{
            "trial_id": f"t{number}",
            "step": length + 1,
            "ask": 1,
            "practice": False,
            "pilot": False,
            "list_length": length,
            "set_size": length,
        },
        **{"chance": length / 100, "outcome": "answered", "oracle": False},
    }
    for place, cell in enumerate(presented, start=1):
        found = answer.index(cell) + 1 if cell in answer else None
        rows.append(
            {
                **common,
                "serial_position": place,
                "output_position": found,
                "correct_answer": str(cell),
                "correct": found is not None,
            }
        )
        rows[-1]["answer"] = str(cell) if found else None
    rows += [
        {
            **common,
            "serial_position": None,
            "output_position": place,
            "correct_answer": None,
            "answer": str(cell),
            "correct": False,
        }
        for place, cell in enumerate(answer, start=1)
        if cell not in presented
    ]
    return pd.concat([base, pd.DataFrame(rows)], ignore_index=True)
