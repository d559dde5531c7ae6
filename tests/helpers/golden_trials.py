"""Fingerprints of trials: run as a program, prints one JSON object {paradigm: {"levels seed
generator": fingerprint}}; with ``--last`` those of the last seed alone.

``python tests/helpers/golden_trials.py --write`` writes them to ``tests/golden/trials.json``: do
that only when trials are meant to change, and raise the paradigm's version then. Needs nothing but
what the compiler needs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from conditions import some_conditions

from spanlab.paradigms import compile_trial, fingerprint, list_paradigms, load_paradigm

FILE = Path(__file__).resolve().parents[1] / "golden" / "trials.json"
SEEDS = (0, 1, 2**53 - 1)
GENERATORS: tuple[Literal["corrected", "published"], ...] = ("corrected", "published")


def fingerprints(seeds: Sequence[int] = SEEDS) -> dict[str, dict[str, str]]:
    """Combinations of factor levels of every paradigm that ships (all, or of many some that stand
    for all), with a few seeds and both generators."""
    found: dict[str, dict[str, str]] = {}
    for name in list_paradigms():
        paradigm = load_paradigm(name)
        found[name] = {
            f"{json.dumps(levels)} {seed} {generator}": fingerprint(compile_trial(paradigm, levels, seed, generator))
            for levels in some_conditions(paradigm, 16)
            for seed in seeds
            for generator in GENERATORS
        }
    return found


if __name__ == "__main__":
    found = fingerprints(SEEDS[-1:] if "--last" in sys.argv else SEEDS)
    if "--write" in sys.argv:
        FILE.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    else:
        print(json.dumps(found))
