"""The time-mapping table, rebuilt from the paradigms: how long one step of each phase lasts for
people."""

from __future__ import annotations

from dataclasses import dataclass

from ..compile import compile_trial
from ..paradigm import Paradigm

PUBLISHED = "published (WorM, Table A2)"


@dataclass(frozen=True, slots=True)
class TableRow:
    """Duration of one phase: ``ms`` is a number, several in sequence (``500 + 2500``), or
    ``variable`` for self-paced steps."""

    task: str
    phase: str
    ms: str
    source: str


def timetable(paradigm: Paradigm) -> list[TableRow]:
    """The rows of one paradigm, phases in order of first occurrence over all factor combinations,
    those of random factors included."""

    def spelt(shown: tuple[float | None, ...]) -> str:
        return "variable" if None in shown else " + ".join(f"{ms:g}" for ms in shown if ms is not None)

    return [
        TableRow(
            paradigm.name,
            phase,
            " or ".join(dict.fromkeys(map(spelt, listed))),
            f"ours: {paradigm.source.ours[phase]}" if phase in paradigm.source.ours else PUBLISHED,
        )
        for phase, listed in durations(paradigm).items()
    ]


def durations(paradigm: Paradigm) -> dict[str, list[tuple[float | None, ...]]]:
    """Phase to the durations of its displays (ms, None for self-paced ones), in every form in which
    they occur over all factor combinations, those of random factors included."""
    by_phase: dict[str, list[tuple[float | None, ...]]] = {}
    for levels in paradigm.combinations({name: factor.levels for name, factor in paradigm.factors.items()}):
        for step in compile_trial(paradigm, levels, seed=0).steps:
            shown = tuple(display.ms for display in step.percept.displays)
            forms = by_phase.setdefault(step.percept.phase, [])
            if shown not in forms:
                forms.append(shown)
    return by_phase
