"""Percepts and trials as bytes and hashes: equal bytes, equal trials."""

from __future__ import annotations

from typing import Any

from .identity import canonical, digest
from .trial import Ask, Display, Percept, Trial


def _display_data(display: Display) -> list[Any]:
    return [type(display.stimulus).name, display.stimulus.model_dump(mode="json"), display.ms, display.for_machines]


def _ask_data(ask: Ask | None) -> list[Any] | None:
    if ask is None:
        return None
    more = [] if ask.classes is None else [ask.classes]
    if not ask.scored:
        more = [*more, "unscored"]
    kind = ask.kind.model_dump(mode="json", exclude=set(ask.kind.beside_the_trial))
    return [type(ask.kind).name, kind, ask.ends, ask.window_ms, ask.no_answer_means, ask.counts, ask.late, *more]


def percept_bytes(percept: Percept) -> bytes:
    """A percept as bytes: equal bytes, equal percepts."""
    return canonical(
        [
            percept.phase,
            [_display_data(display) for display in percept.displays],
            _ask_data(percept.ask),
            percept.model_step,
        ]
    ).encode("ascii")


def fingerprint(trial: Trial) -> str:
    """A hash of everything in a trial: steps, percepts, truth. Golden tests hold it fixed over
    machines and numpy versions."""
    steps = [
        [
            percept_bytes(step.percept).decode("ascii"),
            step.truth.answer,
            dict(step.truth.record),
            step.truth.chance if step.truth.blind == step.truth.chance else [step.truth.chance, step.truth.blind],
            {verdict: percept_bytes(percept).decode("ascii") for verdict, percept in (step.feedback or {}).items()},
        ]
        for step in trial.steps
    ]
    return digest([trial.trial_id, trial.set_size, trial.list_length, dict(trial.levels), steps], length=32)
