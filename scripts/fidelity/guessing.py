"""Writes ``analysis/published/guessing.csv``: how far guessing gets in every condition of the
library, from compiled trials and what paradigms declare.

    python scripts/fidelity/guessing.py            rewrites the file
    python scripts/fidelity/guessing.py --check    says whether it is out of date, and exits with 1 when it is

A guesser who is ``blind`` knows the paradigm, the condition and which question it is, but has not
looked: what paradigm files declare under ``blind`` (tests hold it against guessers who learn from
hundreds of trials). One who only ``saw the places`` knows which places items or patterns had, and
nothing else. One who ``ignored the cues`` sees everything but which of two tasks is to be done.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator
from pathlib import Path

from spanlab.api.listing import condition_of
from spanlab.paradigms import compile_trial, list_paradigms, load_paradigm
from spanlab.paradigms.chance import chance_rows
from spanlab.paradigms.samplers.updating import TaskSequence

FILE = Path(__file__).resolve().parents[2] / "analysis" / "published" / "guessing.csv"
HEADER = ("paradigm", "generator", "guesser", "phase", "condition", "chance", "right")
#: Paradigms in which knowing the places alone helps: where in a trial they can be counted (phase,
#: stimulus, its key).
PLACES = {"vsr": ("probe", "pattern_array", "cells"), "sfr": ("present", "squares", "green")}
#: Paradigms in which cues may be ignored, with the draw that holds cues and markers.
CUED = {"sts": "sequence", "sts_congruency": "sequence"}


def rows() -> Iterator[tuple[str, ...]]:
    """The rows of the file."""
    for name in list_paradigms():
        paradigm = load_paradigm(name)
        for row in chance_rows(paradigm):
            generator = row.generators[0] if len(row.generators) == 1 else ""
            yield (
                name,
                generator,
                "blind",
                row.phase,
                condition_of(paradigm, row),
                f"{row.chance:.6g}",
                f"{row.blind:.6g}",
            )
        if name in PLACES:
            for length in paradigm.factors["list_length"].levels:
                right, chance = saw_the_places(name, length)
                yield name, "", "saw the places", "probe", f"list_length {length}", f"{chance:.6g}", f"{right:.6g}"
        if name in CUED:
            shares = paradigm.factors["congruent_share"].levels if "congruent_share" in paradigm.factors else (None,)
            for share in shares:
                condition = "all" if share is None else f"congruent_share {share}"
                yield name, "", "ignored the cues", "probe", condition, "0.5", f"{ignored_the_cues(name, share):.6g}"


def ignored_the_cues(name: str, share: float | None) -> float:
    """What somebody gets right who goes by the place of the marker: all of the congruent ones, and
    half of the others."""
    paradigm = load_paradigm(name)
    (draw,) = (draw for draw in paradigm.draws if draw.name == CUED[name])
    levels = {factor: declared.levels[0] for factor, declared in paradigm.factors.items()} | (
        {} if share is None else {"congruent_share": share}
    )
    sampler = draw.sampler.build(levels) if draw.sampler is not None else None
    if not isinstance(sampler, TaskSequence):
        raise SystemExit(f"{name}: '{draw.name}' is not a sequence of tasks")
    congruent = 0.5 if sampler.congruent is None else sampler.congruent
    return congruent + (1 - congruent) / 2


def saw_the_places(name: str, length: int) -> tuple[float, float]:
    """What somebody gets right who chooses among the places at which something was, and chance."""
    phase, stimulus, key = PLACES[name]
    trial = compile_trial(load_paradigm(name), {"list_length": length}, 1)
    shown = next(step for step in trial.steps if step.percept.phase == phase).percept.displays[0].stimulus
    asked = next(step for step in trial.steps if step.percept.ask is not None)
    if type(shown).__name__.lower() != stimulus.replace("_", "") or asked.truth.chance is None:
        raise SystemExit(f"{name}: no {stimulus} where it was looked for")
    places = sum(cell is not None for cell in getattr(shown, key)) + len(getattr(shown, "red", ()))
    return (1 / places if name == "vsr" else length / places), asked.truth.chance


def main() -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows(rows())
    if "--check" in sys.argv[1:]:
        if FILE.read_text(encoding="utf-8") != text.getvalue():
            sys.exit(f"{FILE.name} is out of date: python scripts/fidelity/guessing.py")
        return
    FILE.write_text(text.getvalue(), encoding="utf-8")


if __name__ == "__main__":
    main()
