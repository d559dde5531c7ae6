"""Fingerprints of trials: run as a program, prints one JSON object {paradigm: {"levels seed generator": fingerprint}}.

``python tests/golden_trials.py --write`` writes them to ``golden_trials.json`` beside this file: do that only when trials are meant to change, and raise the
paradigm's version then. Needs nothing but what the compiler needs.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Literal

from conditions import some_conditions

from spanlab.paradigms import compile_trial, fingerprint, list_paradigms, load_paradigm

GOLDEN = Path(__file__).with_suffix(".json")
SEEDS = (0, 1, 2**53 - 1)
GENERATORS: tuple[Literal["corrected", "published"], ...] = ("corrected", "published")


def fingerprints() -> dict[str, dict[str, str]]:
    """Combinations of factor levels of every paradigm that ships (all, or of many some that stand for all), with a few seeds and both generators."""
    found: dict[str, dict[str, str]] = {}
    for name in list_paradigms():
        paradigm = load_paradigm(name)
        found[name] = {
            f"{json.dumps(levels)} {seed} {generator}": fingerprint(compile_trial(paradigm, levels, seed, generator))
            for levels in some_conditions(paradigm, 16)
            for seed in SEEDS
            for generator in GENERATORS
        }
    return found


if __name__ == "__main__":
    text = json.dumps(fingerprints(), indent=1, sort_keys=True)
    if "--write" in sys.argv:
        GOLDEN.write_text(text + "\n", encoding="utf-8")
    else:
        print(text)
