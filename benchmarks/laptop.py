"""The accuracy table of the networks that ship, made again: other trials than those of their cards,
through the same door as any replay.

    python benchmarks/laptop.py [TRIALS] [NETWORK ...]       40 trials of each combination of levels when not given, and all networks that ship

Each row of a card has a standard error, and so has what is measured here. Differences in such
errors should be those of chance: beyond two in one of 20 rows.
"""  # noqa: E501

from __future__ import annotations

import json
import math
import sys
import tempfile
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

import spanlab
from spanlab.agents.network.checkpoints_io.checkpoint import shipped

#: Seed of these trials. Sessions and tests of networks draw from seeds of different purposes, so
#: that no trial is one of a card.
SEED = 11


def main(trials: int, names: list[str]) -> None:
    for name in names:
        card = json.loads(
            (resources.files("spanlab.agents.network") / "checkpoints" / f"{name}.json").read_text(encoding="utf-8")
        )
        differences = [difference(name, row, trials) for row in card["test"]]
        beyond = float(np.mean(np.abs(differences) > 2))
        print(f"network:{name}, combinations of levels\t{len(differences)}\trows")
        print(
            f"network:{name}, mean difference from the card\t{np.mean(differences):.3f}\tstandard errors (0 ±"
            f" {2 / math.sqrt(len(differences)):.2f})"
        )
        print(
            f"network:{name}, rows that differ by more than two standard errors\t{100 * beyond:.1f}\t% (about 5 by"
            " chance)"
        )


def difference(name: str, row: dict[str, Any], trials: int) -> float:
    """How far accuracy is from that of a row of the card, in standard errors of the difference."""
    with tempfile.TemporaryDirectory() as folder:
        session = spanlab.replay(
            row["paradigm"],
            f"network:{name}",
            levels=row["levels"],
            trials=trials,
            seed=SEED,
            data=Path(folder),
            say=lambda _: None,
        )
        table = session.responses
    means = table.groupby("trial")["correct"].mean()
    # Near 0 and 1 few trials have no spread; then as many as there were, and one that is right and
    # one that is wrong.
    floor = math.sqrt((1 / (trials + 2)) * (1 - 1 / (trials + 2)) / trials)
    error = math.hypot(max(row["se"], floor), max(float(means.std(ddof=1)) / math.sqrt(len(means)), floor))
    return (float(means.mean()) - row["accuracy"]) / error


if __name__ == "__main__":
    numbers = [word for word in sys.argv[1:] if word.isdigit()]
    main(int(numbers[0]) if numbers else 40, [word for word in sys.argv[1:] if not word.isdigit()] or shipped())
