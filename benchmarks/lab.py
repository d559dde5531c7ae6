"""The lab's window on software OpenGL, under a virtual screen: making the largest trial of each
paradigm ready, and drawing its busiest display.

A trial has to be ready within the interval before it (1 s where a design says nothing), and the
work for a frame has to leave stage for the frame: under 4 ms. What a frame costs is drawing and
flip, without waiting for the refresh; an empty frame costs the flip alone, which on a graphics card
is nothing, and here is the copy of the whole window. Every kind of step is drawn as people see it:
with the answering surface, where a question is open. Where the system allows it, this runs at
real-time priority, as a session should.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from spanlab.agents.human import Participant, WindowOptions, virtual_screen
from spanlab.agents.human.input.answering import AnswerSheet
from spanlab.agents.human.stage import Stage
from spanlab.agents.human.trial_player import Player
from spanlab.paradigms import Paradigm, Percept, Step, Trial, compile_trial, list_paradigms, load_paradigm
from spanlab.paradigms.compile import DEFAULT_INTERVAL_MS
from spanlab.paradigms.trial import Display

FRAMES = 30


def largest(name: str) -> tuple[Paradigm, dict[str, Any], Trial]:
    """The condition whose trial has the most different stimuli, random factors at their largest
    levels."""
    paradigm = load_paradigm(name)
    combinations = paradigm.combinations({factor: declared.levels for factor, declared in paradigm.factors.items()})
    some = combinations if len(combinations) <= 60 else combinations[:: len(combinations) // 60]
    trials = [(levels, compile_trial(paradigm, levels, seed=7)) for levels in [*some, combinations[-1]]]
    levels, trial = max(
        trials,
        key=lambda pair: len(
            dict.fromkeys(display.stimulus for step in pair[1].steps for display in step.percept.displays)
        ),
    )
    return paradigm, levels, trial


def main() -> None:
    with suppress(AttributeError, OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    with virtual_screen(1280, 1024):
        agent = Participant(WindowOptions(width_cm=34.0), say=lambda sentence: None)
        stage = agent.open()
        window = stage.window
        print(
            f"canvas of {stage.canvas_px} pixels in a window of {window.size[0]} x {window.size[1]},"
            f" {window.apparatus()['opengl']['renderer']}"
        )
        longest, costliest = (0.0, ""), (0.0, "")
        empty = median_cost(stage, lambda: None)
        print(f"empty frame\t{empty * 1000:.2f}\tms/frame")
        for name in list_paradigms():
            paradigm, levels, trial = largest(name)
            kinds = tuple(dict.fromkeys(step.percept.ask.kind for step in trial.steps if step.percept.ask is not None))
            began = time.perf_counter()
            compile_trial(paradigm, levels, seed=8)
            player = Player(stage, "en", kinds, 3.0)
            player.prepare([display for step in trial.steps for display in step.percept.displays])
            ready = time.perf_counter() - began
            cost = max(frame_cost(stage, step.percept) for step in distinct(trial)) - empty
            print(f"{name}: largest trial made ready\t{ready * 1000:.0f}\tms")
            print(f"{name}: costliest display, above an empty frame\t{cost * 1000:.2f}\tms/frame", flush=True)
            longest, costliest = max(longest, (ready, name)), max(costliest, (cost, name))
        agent.close()
    print(
        f"all: largest trial made ready ({longest[1]}; the interval is {DEFAULT_INTERVAL_MS:g}"
        f" ms)\t{longest[0] * 1000:.0f}\tms"
    )
    print(f"all: costliest display, above an empty frame ({costliest[1]})\t{costliest[0] * 1000:.2f}\tms/frame")


def distinct(trial: Trial) -> list[Step]:
    """One step of each kind: phase, response kind and number of displays."""
    return list(
        {
            (step.percept.phase, step.percept.ask and step.percept.ask.kind, len(step.percept.displays)): step
            for step in trial.steps
        }.values()
    )


def frame_cost(stage: Stage, percept: Percept) -> float:
    """Seconds of work for one frame of the costliest display of a step (median)."""
    sheet = AnswerSheet(percept.ask, 0.0) if percept.ask is not None else None
    if sheet is not None and sheet.surface.several:
        sheet.marks.extend(
            [region.value for region in sheet.surface.regions][: (sheet.surface.take or len(sheet.surface.regions)) - 1]
        )

    def draw(display: Display) -> None:
        stage.renderer.draw(display.stimulus)
        if sheet is not None:
            stage.surface.draw(sheet, 2, stage.presses.mouse.at, stage.window.now())

    return max(median_cost(stage, partial(draw, display)) for display in percept.displays)


def median_cost(stage: Stage, draw: Callable[[], None]) -> float:
    """Seconds for one frame."""
    taken = []
    for _ in range(FRAMES):
        began = time.perf_counter()
        draw()
        stage.window.win.flip()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


if __name__ == "__main__":
    main()
