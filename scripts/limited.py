"""Networks with a limited memory: how much noise each has, and how far it is from people.

python scripts/limited.py choose                  # the noise, by the rule below: agents/network/checkpoints/limited.yaml
python scripts/limited.py write -o FOLDER         # curves and scores of what was chosen: card, docs/limited.md and its figures

The rule, which was fixed before any of the curves that are shown was drawn. Each network has the one of the strengths in ``STRENGTHS`` that brings its accuracy
nearest to people's at the middle load: of the loads for which there are published people, the middle one, or the mean of the two middle ones. Loads and other
levels are people's. It is chosen on trials of the stream of validation seeds, and what is shown comes from other seeds. There are no published people for
N-back in SpanLab: there the accuracy at n = 2 is to be half-way between the best blind guess and 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from capacity import cell, table_of

import spanlab
from spanlab.agents.network import NetworkAgent
from spanlab.agents.network.checkpoints_io.checkpoint import load as load_network
from spanlab.agents.network.checkpoints_io.checkpoint import member_for
from spanlab.agents.network.checkpoints_io.limited import Limit
from spanlab.agents.network.inputs.data import make_pool, task_of
from spanlab.agents.network.inputs.frames import FrameStore
from spanlab.agents.network.models.noise import add_noise
from spanlab.agents.network.training.evaluation import evaluate
from spanlab.human_data.published import published
from spanlab.paradigms import load_paradigm

ROOT = Path(__file__).resolve().parent.parent
CHECKPOINTS = ROOT / "agents" / "network" / "checkpoints"
#: Strengths of the noise that are tried.
STRENGTHS = (0.0, 0.025, 0.05, 0.075, 0.1, 0.125, 0.15, 0.175, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0)
#: Seed of the trials on which noise is chosen, and how many there are for each combination of levels.
SEED, EACH = 2026, 60


@dataclass(frozen=True)
class Studied:
    """A paradigm with a limited network.

    Parameters
    ----------
    load : the factor that is the load
    levels : those of people, and for N-back all
    effect : what is drawn
    """

    load: str
    levels: Mapping[str, Any]
    effect: str


STUDIED = {
    "vsr": Studied("list_length", {"list_length": [3, 4, 5, 6]}, "serial_position"),
    "smu": Studied("set_size", {"set_size": [1, 2, 3, 4]}, "set_size"),
    "cd": Studied("set_size", {"set_size": [2, 4, 6], "retention_steps": 6}, "features"),
    "vir": Studied("list_length", {"list_length": 4, "retention_steps": [0, 5]}, "serial_position_retention"),
    "nback_spatial": Studied("n", {"grid": 3, "lures": ["none", "high"]}, "nback_measures"),
}


def wanted(paradigm: str) -> tuple[list[Any], float]:
    """The middle loads of a paradigm, and the accuracy that the rule asks for there."""
    people = published(paradigm)
    if people.empty:
        return [2], (1 + 2 / 3) / 2
    by_load = people.groupby(STUDIED[paradigm].load)["accuracy"].mean().sort_index()
    middle = by_load.iloc[(len(by_load) - 1) // 2 : len(by_load) // 2 + 1]
    return middle.index.tolist(), float(middle.mean())


def choose() -> None:
    """Choose the noise of each network by the rule, and write the file of limits."""
    lines = ["# network:limited is networks of network:laptop with noise in their memory. Written by scripts/limited.py choose, by the rule that stands there."]
    for name, studied in STUDIED.items():
        paradigm, (loads, aim) = load_paradigm(name), wanted(name)
        levels = {**studied.levels, studied.load: loads}
        combinations = paradigm.combinations(levels)
        pool = make_pool(paradigm, FrameStore(), "validation", SEED, EACH * len(combinations), levels, "corrected")
        tasks = sorted({task_of(paradigm, combination) for combination in paradigm.combinations({})})
        source = member_for("laptop", tasks)
        network = load_network(source).network
        found = {}
        for strength in STRENGTHS:
            add_noise(network, strength)
            rows = evaluate(network, pool)
            found[strength] = float(np.mean([np.mean([row.accuracy for row in rows if row.levels[studied.load] == load]) for load in loads]))
        strength = min(found, key=lambda one: abs(found[one] - aim))
        limit = Limit(paradigm=name, tasks=tasks, network=source, noise=strength)
        lines += [f"- {{paradigm: {name}, tasks: [{', '.join(tasks)}], network: {source}, noise: {strength:g}}}"]
        print(f"{name}: {limit.network} with noise {strength:g} is right in {found[strength]:.3f} at {studied.load} {loads}, where {aim:.3f} is asked for")
    (CHECKPOINTS / "limited.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("do", choices=["choose"])
    parser.parse_args()
    choose()


if __name__ == "__main__":
    main()
