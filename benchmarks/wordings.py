"""How often the mixed model of chat models in several wordings holds their difference, and how
often it claims one.

Run: ``python benchmarks/wordings.py [SETS]``. In each set two models take the same trials twice in
each wording, as in ``wordings_intervals.py``, which counts the other intervals; their
answers are scored, named and fitted as those of a folder of sessions are. Half of the sets have no
difference, half one of 0.6 logits.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from wordings_intervals import simulated

from spanlab.analysis.data.scoring import Scored, score_table
from spanlab.analysis.data.sessions import SessionFacts
from spanlab.analysis.data.style import name_agents
from spanlab.analysis.stats.mixed_contrasts import contrasts
from spanlab.analysis.stats.mixed_model import mixed_model
from spanlab.sessions.record.table import COLUMNS

REPEATS, TRIALS, SD_TRIAL, SD_OWN, GAP = 2, 60, 0.8, 0.4, 0.6
AGENTS = ("chat:a", "chat:b")
Shape = tuple[int, int, int, float, float, float]


def facts_of(agent: str, wording: int, repeat: int) -> SessionFacts:
    """Return a session as a set file with wordings and repeats makes it."""
    texts: dict[str, Any] = dict.fromkeys(("participant", "paradigm", "title", "instructions", "human", "started"), "")
    return SessionFacts(
        folder=Path(),
        name=f"{agent} {wording} {repeat}",
        kind="chat",
        agent=agent,
        label=f"wording {wording}, repeat {repeat + 1}",
        oracle=False,
        pilot=False,
        trials=TRIALS,
        planned=TRIALS,
        finished=True,
        timing=None,
        model=f"set {agent}",
        wording=f"wording {wording}",
        repeat=repeat + 1,
        **texts,
    )


def answers(scores: tuple[np.ndarray, np.ndarray]) -> Scored:
    """Return the answers of both models, scored, with their sessions named."""
    parts, sessions = [], []
    for agent, right in zip(AGENTS, scores, strict=True):
        for wording, repeat in np.ndindex(right.shape[:2]):
            sessions.append(facts_of(agent, wording, repeat))
            trial = np.arange(right.shape[2])
            columns = {"session": sessions[-1].name, "participant": "", "agent_kind": "chat", "agent": agent}
            columns |= {"agent_settings_hash": f"{wording}{repeat}", "oracle": False, "paradigm": "vsr"}
            columns |= {"paradigm_version": 1, "paradigm_hash": "p" * 8, "generator": "corrected", "block": 1}
            columns |= {"trial": trial + 1, "trial_id": [f"t{at}" for at in trial], "seed": trial + 1, "step": 1}
            columns |= {"ask": 1, "phase": "probe", "practice": False, "pilot": False, "set_size": 4, "chance": 0.04}
            correct = right[wording, repeat].astype(bool)
            columns |= {"serial_position": 1, "correct_answer": "3", "answer": np.where(correct, "3", "4")}
            parts.append(pd.DataFrame(columns | {"outcome": "answered", "correct": correct}, index=trial))
    table = pd.concat(parts, ignore_index=True).reindex(columns=[column.name for column in COLUMNS])
    return score_table(name_agents(table, sessions))


def counted(shape: Shape, gap: float, random: np.random.Generator) -> dict[str, float]:
    """Return whether a set's interval of the difference (logits) holds it, and whether p < .05."""
    table = contrasts(mixed_model(answers(simulated(shape, gap, random)), "vsr", ""))
    (difference,) = table[table["kind"] == "agents"].to_dict("records")  # the first minus the second
    return {"held": difference["low"] <= -gap <= difference["high"], "claimed": difference["p"] < 0.05}


def main(sets: int) -> None:
    """Print a row for each design: per cent of sets that held the difference and that claimed one,
    without a difference and with it."""
    print("| wordings | SD of wordings | no difference: held, claimed | difference: held, claimed |", flush=True)
    for sd in (0.3, 0.6, 0.0):
        for wordings in (5, 3, 2):
            shape = (wordings, REPEATS, TRIALS, sd, SD_TRIAL, SD_OWN)
            shown = []
            for gap in (0.0, GAP):
                random = np.random.default_rng([wordings, round(10 * sd), round(10 * gap)])
                rates = pd.DataFrame([counted(shape, gap, random) for _ in range(sets)]).mean()
                shown.append(f"{100 * rates['held']:.1f}, {100 * rates['claimed']:.1f}")
            print(f"| {wordings} | {sd} |", " | ".join(shown), "|", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
