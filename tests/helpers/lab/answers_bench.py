"""Answers in a real window, for ``tests/agents/human/test_real.py``: ``python answers_bench.py
SCENE[:ARGUMENT...]... > facts.json``."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
from PIL import Image

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # what all tests share

from conditions import some_conditions
from window_bench import BLANK, Bench, pattern, screenshot, timed

from spanlab.agents.base import TrialContext
from spanlab.agents.human import SimulatedParticipant, virtual_screen
from spanlab.agents.human.input.xtest import InputEvent
from spanlab.paradigms import Answer, AnswerKeys, Ask, Percept, Truth, compile_trial, load_paradigm
from spanlab.paradigms.responses import Cells, Choice, Continuous, SerialOrder, TypedText
from spanlab.stimuli import Stimulus

STEP_MS = 300
PRESSES = int(os.environ.get("PRESSES", "1000"))


def thousand(bench: Bench, presses: int = PRESSES) -> Any:
    """Presses of 5 to 400 ms, some two at once, some at the very borders of steps, made by another
    process; steps with and without questions."""
    random = np.random.RandomState(11)
    free = np.zeros(9)
    touches: list[tuple[float, int, float]] = []
    at = 0.3
    while len(touches) < presses:
        at += float(random.uniform(0.02, 0.1))
        if random.randint(4) == 0:  # close to where one step follows another, as far as that can be known beforehand
            at = max(at, round(at / STEP_MS * 1000) * STEP_MS / 1000 + float(random.uniform(-0.01, 0.01)))
        idle = [int(key) for key in random.permutation(9) if free[key] < at]
        for key in idle[: 1 + (random.randint(5) == 0)]:
            held = float(random.uniform(0.005, 0.4))
            touches.append((at, key, held))
            free[key] = at + held + 0.03
    touches = touches[:presses]
    ask = Ask(Choice.model_validate({"options": 9, "layout": "3x3"}), ends="on_time", window_ms=STEP_MS, counts="last")
    steps = int(touches[-1][0] * 1000 / STEP_MS) + 4
    percepts = [timed(pattern(number % 4), STEP_MS, ask if number % 3 else None) for number in range(steps)]
    codes = [bench.xtest._code(str(number + 1))[0] for number in range(9)]
    injector = subprocess.Popen(
        [sys.executable, "injector.py"],
        cwd=os.path.dirname(__file__),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    episode = bench.episode(percepts)
    start = time.monotonic() + 1.5
    clocks = [bench.stage.window.now() - time.monotonic()]
    assert injector.stdin is not None
    injector.stdin.write(json.dumps({"start": start, "codes": codes, "touches": touches}))
    injector.stdin.close()
    while time.monotonic() < start - 0.05:
        bench.stage.presses.collect()
    bench.stage.presses.forget()
    onsets, found = [], []
    for number, percept in enumerate(percepts):
        episode.announce_next(percepts[number + 1] if number + 1 < steps else None, last=number + 1 == steps)
        response = asyncio.run(episode.step(percept))
        notes = episode.notes()
        onsets.append(episode.player.onset)
        raw = response.raw["presses"] if response is not None else notes.get("presses", [])
        found.append((raw, notes))
    episode.finish()
    clocks.append(bench.stage.window.now() - time.monotonic())
    told = [
        [step, press["key"], onsets[step] + press["rt_ms"] / 1000 - clocks[0]]
        for step, (raw, notes) in enumerate(found)
        for press in [
            *raw,
            *notes.get("late", []),
            *(notes.get("presses", []) if raw is not notes.get("presses") else []),
        ]
    ]
    assert injector.stdout is not None
    injected = json.loads(injector.stdout.read())
    injector.wait(300)
    return {
        "touches": touches,
        "injected": injected,
        "told": told,
        "onsets": [onset - clocks[0] for onset in onsets],
        "asked": [percept.ask is not None for percept in percepts],
        "window_ms": STEP_MS,
        "drift_ms": (clocks[1] - clocks[0]) * 1000,
        "before": found[0][1].get("before_trial", []),
    }


class Told:
    """An observer that answers what it is told to."""

    name = "told"

    def __init__(self) -> None:
        self.answer: Answer | None = None

    def fresh(self, seed: int) -> Told:
        return self

    def choose(self, percept: Percept, truth: Truth) -> Answer | None:
        return self.answer if percept.ask is not None else None

    def settings(self) -> dict[str, Any]:
        return {}


def questions(name: str, conditions: int) -> Iterator[tuple[Percept, Truth]]:
    """One question of each sort that a paradigm asks."""
    paradigm = load_paradigm(name)
    seen = set()
    for levels in some_conditions(paradigm, conditions)[:conditions]:
        for step in compile_trial(paradigm, levels, seed=3).steps:
            if step.percept.ask is not None and step.percept.ask not in seen:
                alike = {(repr(asked.kind.surface()), asked.ends) for asked in seen}
                if (repr(step.percept.ask.kind.surface()), step.percept.ask.ends) not in alike:
                    seen.add(step.percept.ask)
                    yield step.percept, step.truth


def answers_to(ask: Ask, most: int) -> list[Answer]:
    """Every answer where there are few."""
    random = np.random.RandomState(3)
    if isinstance(ask.kind, Cells):
        return [ask.kind.guess(random) for _ in range(2)]
    if isinstance(ask.kind, SerialOrder):
        guess = ask.kind.guess(random)
        assert isinstance(guess, tuple)
        return [guess, (*guess[:-1], None)] if ask.kind.unknown else [guess]
    if isinstance(ask.kind, TypedText):
        return [str(ask.kind.guess(random))[:5]]
    if isinstance(ask.kind, Continuous):
        first = ask.kind.start
        return [first, *((first + step * ask.kind.period // most) % ask.kind.period for step in range(1, most))]
    values: list[Answer] = list(
        dict.fromkeys(
            [*(value for _, value in ask.kind.surface().keys), *(region.value for region in ask.kind.surface().regions)]
        )
    )
    return values if len(values) <= most else [values[n] for n in random.permutation(len(values))[:most]]


def answered(devices: str, conditions: str, most: str, names: str) -> Any:
    """Every sort of question of these paradigms is given every answer, by key and by mouse, with
    standard keys and swapped ones."""
    facts = []
    for by in devices.split(","):
        told = Told()
        agent = SimulatedParticipant(told, seed=4, speed=8.0, answers=by, say=lambda sentence: None)  # type: ignore[arg-type]
        for name in names.split(","):
            for percept, truth in questions(name, int(conditions)):
                assert percept.ask is not None
                if by == "mouse" and not percept.ask.kind.surface().regions and percept.ask.kind.surface().dial is None:
                    continue  # there is nothing to click on
                for swapped in (False, True) if by == "keys" else (False,):
                    keys = AnswerKeys(swapped)
                    kind = percept.ask.kind.with_keys(keys)
                    if swapped and kind is percept.ask.kind:
                        continue
                    episode = agent.start(TrialContext(name, name, "en", "", (percept.ask.kind,), keys=keys, seed=5))
                    episode.prepare(percept.displays)
                    for value in answers_to(percept.ask, int(most)):
                        told.answer = value
                        episode.announce_next(None, last=True)
                        response = asyncio.run(episode.step(percept, truth))
                        assert response is not None
                        facts.append(
                            {
                                "paradigm": name,
                                "by": by,
                                "swapped": swapped,
                                "told": value,
                                "keys": dict(kind.surface().keys),
                                "response": asdict(response),
                            }
                        )
                    episode.finish()
        agent.close()
    return facts


def deadlines(bench: Bench) -> Any:
    """Presses just before and just after the windows of change detection (2000 ms) and task
    switching (1500 ms) close; what comes next goes on undisturbed."""
    facts: dict[str, Any] = {}
    for name, levels in (
        ("sts", {"switch_probability": 0}),
        ("cd", {"feature": "colour", "set_size": 2, "retention_steps": 0}),
    ):
        percepts = [step.percept for step in compile_trial(load_paradigm(name), levels, seed=3).steps]
        first = next(number for number, percept in enumerate(percepts) if percept.ask is not None)
        ask = percepts[first].ask
        assert ask is not None
        assert ask.window_ms is not None
        window = ask.window_ms / 1000
        for when, after in (("before", -0.06), ("after", 0.06))[name == "cd" :]:
            for _ in range(12):  # a busy machine's hand may be too late for what it should meet: then once more
                bench.script = [[(window + after, InputEvent("f", hold=0.02))], [(0.3, InputEvent("j", hold=0.02))]]
                facts[f"{name} {when}"] = steps = bench.trial(percepts[first : first + 3])
                met = steps[0 if when == "before" else 1 : 2] if name == "sts" else []
                if all(step["injected"] for step in met) and (
                    when == "after" or steps[0]["injected"][0] < ask.window_ms - 10
                ):
                    break
            if name == "cd":
                bench.script = [[(0.3, InputEvent("j", hold=0.02))]]
                bench.agent.rest(300)
                facts[f"{name} {when}"] += bench.trial([percepts[first]], once=True)
    return facts


def signal(bench: Bench) -> Any:
    """The signal to begin recall, without a sound device: what is recorded, and how many pixels of
    the canvas are black meanwhile."""
    percepts = [step.percept for step in compile_trial(load_paradigm("sfr"), {"list_length": 3}, seed=3).steps]
    number = next(number for number, percept in enumerate(percepts) if percept.phase == "signal")
    black = []

    def look(stimulus: Stimulus) -> None:
        draw(stimulus)
        if not black:
            black.append(
                int((np.asarray(bench.stage.window.win._getFrame(buffer="back"))[:, :, :3].max(axis=2) < 40).sum())
            )

    draw, bench.stage.renderer.draw = bench.stage.renderer.draw, look  # type: ignore[method-assign]
    facts = bench.trial([percepts[number]])
    bench.stage.renderer.draw = draw  # type: ignore[method-assign]
    return {"steps": facts, "black": black[0], "apparatus": bench.agent.apparatus()}


def layouts(layout: str) -> Any:
    """The keys of N-back, of numbers and of letters that lie elsewhere, on a keyboard with other
    signs: pressed by sign."""
    subprocess.run(["setxkbmap", layout], check=True)
    bench = Bench()
    match = Choice.model_validate({"options": ["m", "-"], "keys": ["m", "minus"]})
    nine = Choice.model_validate({"options": 9, "layout": "3x3"})
    letters = Choice.model_validate({"options": ["A", "Y", "Z", "W"], "keys": ["a", "y", "z", "w"]})
    asked = [
        (match, "m"),
        (match, "minus"),
        (match, "num_subtract"),
        *((nine, str(n)) for n in range(1, 10)),
        (nine, "num_7"),
    ]
    asked += [(letters, letter) for letter in "ayzw"]
    bench.script = [[(0.1, InputEvent(key, hold=0.02))] for _, key in asked]
    facts = [
        step["response"]["value"]
        for step in bench.trial([timed(BLANK, 400, Ask(kind, window_ms=400)) for kind, _ in asked])
    ]
    names = bench.agent.apparatus()["key_names"]
    bench.close()
    return {"answers": facts, "names": names}


def boxes() -> Any:
    """Answers by button boxes: one that types, one on a serial line (a pseudo-terminal), one of
    PsychoPy's device layer (a stand-in, below)."""
    import pty

    keys = AnswerKeys(False, {"same": "button_1", "different": "button_3"})
    kind = Choice.model_validate({"options": ["same", "different"], "keys": ["f", "j"]})
    ends, device = pty.openpty()
    facts: dict[str, Any] = {}

    def typed(bench: Bench, button: int, at: float) -> None:
        bench.xtest.at(at, InputEvent(str(button), hold=0.02))

    def sent(bench: Bench, button: int, at: float) -> None:
        threading.Timer(at - bench.stage.window.now(), os.write, (ends, bytes([button, 0x80 + button]))).start()

    named = {
        "keys": ("keys:1+2+3", typed),
        "serial": (f"serial:{os.ttyname(device)}@115200,presses=0x01+0x02+0x03", sent),
    }
    for name, (address, press) in named.items():
        bench = Bench(buttons=address)
        bench.agent.ready()
        facts[name] = []
        for button in (1, 3, 2):

            def waits(
                for_what: str, onset: float, button: int = button, bench: Bench = bench, press: Any = press
            ) -> None:
                if for_what == "answer":
                    press(bench, button, onset + 0.2)
                else:
                    bench.xtest.at(onset + 0.5, InputEvent("space"))

            bench.waits = waits  # type: ignore[method-assign]
            percept = timed(BLANK, 500, Ask(kind, window_ms=500))
            response = None
            for _ in range(10):  # a busy machine presses late or looks late: the trial is then played again
                episode = bench.agent.start(TrialContext("box", "Box", "en", "", (kind,), keys=keys))
                response = asyncio.run(episode.step(percept))
                episode.finish()
                if response is not None and (response.rt_ms or (0 if response.raw["presses"] else 500)) < 300:
                    break
            assert response is not None
            facts[name].append(asdict(response))
        facts[f"{name} facts"] = bench.agent.apparatus()["buttons"]
        bench.close()
    return facts


def acknowledged(bench: Bench) -> Any:
    """Green pixels on the screen before and while a click is acknowledged for the first time: its
    outline hides nothing but what it covers."""
    percept = next(
        step.percept
        for step in compile_trial(load_paradigm("vsr"), {"list_length": 5}, seed=3).steps
        if step.percept.ask is not None
    )
    empty = next(region for region in percept.ask.kind.surface().regions)  # type: ignore[union-attr]
    x, y = bench.stage.surface.to_pixels((empty.x0 + empty.x1) / 2, (empty.y0 + empty.y1) / 2)
    green: list[int] = []
    surface, window = bench.stage.surface, bench.stage.window
    draw, flip, skip = surface.draw, window.flip, window.skip
    acknowledged: list[bool] = []  # frame by frame, from the first of the question on

    def drawn(sheet: Any, *others: Any) -> None:
        acknowledged.append(sheet.acknowledged[0] is not None)
        draw(sheet, *others)

    def frame(show: Callable[[], Any]) -> Any:
        result = show()
        acknowledged.extend(acknowledged[-1:])  # until something else is drawn
        if len(green) < 2 and acknowledged[-4:] == [len(green) == 1] * 4:
            screen = screenshot().astype(int)
            green.append(int(((screen[:, :, 1] > 150) & (screen[:, :, 0] < 100)).sum()))
        return result

    bench.script = [[(0.5, InputEvent(x=x, y=y, hold=0.02))]]
    surface.draw, window.flip, window.skip = drawn, lambda: frame(flip), lambda: frame(skip)  # type: ignore[method-assign]
    bench.trial([percept], once=True)
    surface.draw, window.flip, window.skip = draw, flip, skip  # type: ignore[method-assign]
    return green


def taps(bench: Bench) -> Any:
    """A finger: the pointer is somewhere else, and goes down at once where it means to, without
    having been there before."""
    from Xlib import X, display
    from Xlib.ext import xtest

    server: Any = display.Display()
    left, top = bench.stage.window.corner()
    wide, high = bench.stage.window.size

    def tap(x: float, y: float) -> None:
        place = round(left + wide / 2 + x - 0.5), round(top + high / 2 - y - 0.5)
        server.screen().root.warp_pointer(*place)
        xtest.fake_input(server, X.ButtonPress, 1)
        xtest.fake_input(server, X.ButtonRelease, 1)
        server.screen().root.warp_pointer(left + 3, top + 3)
        server.sync()

    kind = Choice.model_validate({"options": 9, "layout": "3x3"})
    regions = list(kind.surface().regions)
    cells = Cells(grid=10, take=2, within=(3.0, 3.0, 93.0, 93.0))
    facts = []
    middle = {
        region.value: bench.stage.surface.to_pixels((region.x0 + region.x1) / 2, (region.y0 + region.y1) / 2)
        for region in regions
    }
    small = {
        region.value: bench.stage.surface.to_pixels((region.x0 + region.x1) / 2, (region.y0 + region.y1) / 2)
        for region in cells.surface().regions
    }
    for number in range(9):
        bench.waits = lambda for_what, onset, number=number: threading.Timer(0.25, tap, middle[number]).start()  # type: ignore[method-assign]
        facts += bench.trial([timed(BLANK, None, Ask(kind))])
    bench.episode([timed(BLANK, None, Ask(cells))]).finish()

    def three(for_what: str, onset: float) -> None:
        for after, place in ((0.25, small[37]), (0.4, small[92]), (0.55, bench.stage.surface.done_middle())):
            threading.Timer(after, tap, place).start()

    bench.waits = three  # type: ignore[method-assign]
    facts += bench.trial([timed(BLANK, None, Ask(cells))])
    del bench.waits  # other scenes have scripts
    server.close()
    return facts


def buttons(bench: Bench) -> Any:
    """Questions of a questionnaire whose answers are words: each is clicked, after a click beside
    all of them; and one is typed. The screen is kept in the folder PICTURES, where one is named."""
    facts = []
    frequency = ("never", "rarely", "sometimes", "often", "nearly always", "always", "I would rather not say")
    for name, options in (("two", ("yes", "no")), ("seven", frequency)):
        kind = Choice.model_validate({"options": options, **({"keys": ("f", "j")} if name == "two" else {})})
        percept = timed(BLANK, None, Ask(kind))
        context = TrialContext("questions", "Questions", "en", "", (kind,), questionnaire=True)
        surface = bench.stage.surface.with_buttons(kind)
        regions = {region.value: region for region in surface.regions} if surface is not None else {}
        for value in (*kind.values, "typed"):
            episode = bench.agent.start(context)
            region = regions.get(value)
            if region is None:
                touches = [(0.4, InputEvent("j" if name == "two" else "7", hold=0.02))]
            else:
                (x0, y0), (x1, y1) = (
                    bench.stage.surface.to_pixels(region.x0, region.y0),
                    bench.stage.surface.to_pixels(region.x1, region.y1),
                )
                touches = [
                    (0.3, InputEvent(x=x0 - 4, y=y0 + 4, hold=0.02)),
                    (0.7, InputEvent(x=(x0 + x1) / 2, y=(y0 + y1) / 2, hold=0.02)),
                ]
            bench.script = [touches]
            if value in ("no", "often") and (folder := os.environ.get("PICTURES")):
                threading.Timer(
                    0.6, lambda folder=folder, name=name: Image.fromarray(screenshot()).save(f"{folder}/{name}.png")
                ).start()
            response = asyncio.run(episode.step(percept))
            assert response is not None
            episode.finish()
            facts.append({"question": name, "meant": value, **asdict(response)})
    return facts


SCENES = {one.__name__: one for one in (thousand, deadlines, signal, acknowledged, taps, buttons)}  # at one window
ALONE: dict[str, Callable[..., Any]] = {
    one.__name__: one for one in (answered, boxes, layouts)
}  # with windows of their own


def main(scenes: list[str]) -> None:
    facts: dict[str, Any] = {}
    with virtual_screen(1024, 768):
        if at_one := [scene for scene in scenes if scene in SCENES]:
            bench = Bench()
            facts |= {name: SCENES[name](bench) for name in at_one}
            bench.close()
        for scene in scenes:
            name, *arguments = scene.split(":")
            if name in ALONE:
                facts[name] = ALONE[name](*arguments)
    print(json.dumps(facts, default=lambda value: value.item() if hasattr(value, "item") else str(value)))


if __name__ == "__main__":
    main(sys.argv[1:])
