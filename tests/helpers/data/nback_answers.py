"""Published N-back answers, and N-back response tables with planted answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from spanlab.sessions.record.table import COLUMNS

GOLDEN = Path(__file__).resolve().parents[2] / "golden"


def write_published(folder: Path) -> list[Path]:
    """The published answers of two models as files of results, as they were published but for the
    times."""
    files = []
    for name, blocks in json.loads((GOLDEN / "nback_answers.json").read_text(encoding="utf-8")).items():
        if name == "source":
            continue
        results = {key: _trials(*block) for key, block in blocks.items()}
        files.append(folder / name)
        files[-1].write_text(json.dumps(results), encoding="utf-8")
    return files


def _trials(items: str, labels: str, answers: str, prefilled: int) -> list[dict[str, Any]]:
    return [
        {
            "stimulus": item,
            "target": label,
            "response": answer,
            "correct": answer == label,
            "rt": float("inf") if number < prefilled else 0.5,
        }
        for number, (item, label, answer) in enumerate(zip(items, labels, answers, strict=True))
    ]


def block_rows(
    labels: str,
    answers: Sequence[str | None],
    *,
    n: int = 2,
    trial: int = 1,
    lags: Iterable[int | None] = (),
    agent: str = "network:test",
    kind: str = "network",
    participant: str = "",
    paradigm: str = "nback_verbal",
    prefilled: int = 0,
    **more: object,
) -> pd.DataFrame:
    """The rows of a block: labels ``m`` and ``-``; answers ``m``, ``-``, None (omitted) or anything
    else (invalid)."""
    rows = []
    lures = [*lags] or [None] * len(labels)
    for place, (label, answer, lag) in enumerate(zip(labels, answers, lures, strict=True), start=1):
        outcome = "omitted" if answer is None else "answered" if answer in ("m", "-") else "invalid"
        rows.append(
            {
                "session": f"{paradigm}-{agent}-{participant}",
                "participant": participant,
                "agent_kind": kind,
                "agent": agent,
                "oracle": False,
                "paradigm": paradigm,
                "generator": "corrected",
                "block": trial,
                "trial": trial,
                "trial_id": f"{n}-{trial}",
                "step": place,
                "ask": place,
                "practice": False,
                "pilot": False,
                "set_size": n,
                "list_length": len(labels),
                "serial_position": place,
                "chance": 0.5,
                "correct_answer": json.dumps(label),
                "answer": json.dumps(answer),
                "outcome": outcome,
                "correct": answer == label,
                "factor_n": str(n),
                "record_match": json.dumps(label == "m"),
                "record_lure_lag": None if lag is None else str(lag),
                "record_prefilled": json.dumps(place <= prefilled),
            }
            | more
        )
    names = [column.name for column in COLUMNS]
    return pd.DataFrame(rows, columns=[*names, *(name for name in rows[0] if name not in names)])


def planted_counts(
    random: np.random.RandomState,
    blocks: int,
    dprime: float,
    criterion: float = 0.3,
    n: int = 2,
    agent: str = "a",
    **more: object,
) -> pd.DataFrame:
    """Blocks of 24 items with 8 matches of an observer of equal variances, as a table of blocks."""
    from scipy.special import ndtr

    hits = random.binomial(8, ndtr(dprime / 2 - criterion), blocks)
    alarms = random.binomial(16 - n, ndtr(-dprime / 2 - criterion), blocks)
    table = {
        "paradigm": "p",
        "agent_kind": "network",
        "agent": agent,
        "n": n,
        "hits": hits,
        "misses": 8 - hits,
        "false_alarms": alarms,
    }
    return pd.DataFrame(table | {"correct_rejections": 16 - n - alarms} | more)
