"""Scenes in a real window with real keys and clicks, for the tests of the lab: ``python
lab_bench.py SCENE... > facts.json``.

PsychoPy wants the main thread, and its keyboard stays with the first display it meets, so the
scenes run in a process of their own under a virtual screen.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from dial_scene import dials
from image_paradigms import write_faces
from window_bench import BLANK, CROSS, NINE, Bench, pattern, screenshot, timed

from spanlab.agents import Abandoned, PageContent
from spanlab.agents.base import TrialContext
from spanlab.agents.human import SimulatedParticipant, virtual_screen
from spanlab.agents.human.input.xtest import InputEvent, XTestInput
from spanlab.agents.human.pages.between_trials import lay_out
from spanlab.agents.interruptions import TrialCut
from spanlab.agents.window import Option
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import Ask, Percept, Truth, compile_trial, load_paradigm
from spanlab.paradigms.responses import Cells, SerialOrder, TypedText
from spanlab.paradigms.trial import Display

# -- scenes ----------------------------------------------------------------------------------------


def durations(bench: Bench) -> Any:
    """Displays of many lengths, one after another; a step with two displays among them."""
    lengths = [50, 100, 17, 250, 333, 410, 33, 8, 120, 200]
    percepts = [timed(pattern(number), ms) for number, ms in enumerate(lengths)]
    percepts.insert(3, Percept("two", (Display(CROSS, 100), Display(BLANK, 150))))
    return {announce: bench.trial(percepts, announce == "announced") for announce in ("announced", "unannounced")}


def short_presses(bench: Bench) -> Any:
    """Presses of 5 ms, faster than a person can give them."""
    ask = Ask(NINE, ends="on_time", window_ms=2900, counts="last")
    times = np.cumsum(np.random.RandomState(1).uniform(0.03, 0.07, 50)) + 0.1
    bench.script = [[(float(when), InputEvent(str(1 + number % 9), hold=0.005)) for number, when in enumerate(times)]]
    return bench.trial([timed(pattern(1), 2900, ask)])


def borders(bench: Bench, announce: bool = True) -> Any:
    """Presses at the very moments at which one step follows another."""
    ask = Ask(NINE, ends="on_time", window_ms=100, counts="first")
    percepts = [timed(pattern(number % 3), 100, ask) for number in range(24)]
    start = bench.stage.window.now() + 0.2
    random = np.random.RandomState(2)
    for number in range(21):
        bench.xtest.at(
            start + number * 0.1 + float(random.uniform(0, 0.1)), InputEvent(str(1 + number % 9), hold=0.005)
        )
    return bench.trial(percepts, announce, once=True)


def unannounced_borders(bench: Bench) -> Any:
    return borders(bench, announce=False)


def nine_clicks(bench: Bench) -> Any:
    """A click on each of nine positions, and each of nine keys."""
    regions = NINE.surface().regions
    percepts = [timed(pattern(1), None, Ask(NINE)) for _ in range(18)]
    for region in regions:
        x, y = bench.stage.surface.to_pixels(region.x0 + 4, region.y1 - 3)
        bench.script.append([(0.25, InputEvent(x=x, y=y, hold=0.005))])
    bench.script += [
        [(0.12, InputEvent(key, hold=0.005))] for key in ("1", "2", "3", "num_4", "num_5", "num_6", "7", "8", "9")
    ]
    script, steps = list(bench.script), list[dict[str, Any]]()
    for _ in range(
        6
    ):  # how late a press is known depends on two processes, which a busy machine keeps waiting: then once more
        bench.script = list(script)
        steps = bench.trial(percepts)
        if np.median([step["response"]["rt_ms"] - step["injected"][0] for step in steps[9:] if step["injected"]]) < 2:
            break
    return steps


def cells(bench: Bench) -> Any:
    """Mark, take away, mark too many, press Done too early; then Done. And once more with Return."""
    kind = Cells(grid=10, take=3, within=(3.0, 3.0, 93.0, 93.0))
    middle = {
        region.value: bench.stage.surface.to_pixels((region.x0 + region.x1) / 2, (region.y0 + region.y1) / 2)
        for region in kind.surface().regions
    }
    bench.episode([timed(BLANK, None, Ask(kind))]).finish()
    done = bench.stage.surface.done_middle()
    places = [middle[12], middle[99], done, middle[99], middle[0], middle[57], middle[40], done]
    bench.script = [[(0.3 + 0.12 * number, InputEvent(x=x, y=y, hold=0.03)) for number, (x, y) in enumerate(places)]]
    bench.script.append(
        [
            (0.3 + 0.12 * n, InputEvent(x=middle[cell][0], y=middle[cell][1], hold=0.03))
            for n, cell in enumerate((5, 4, 3))
        ]
        + [(0.8, InputEvent("return"))]
    )
    return bench.trial([timed(BLANK, None, Ask(kind)), timed(BLANK, None, Ask(kind))])


def busy(bench: Bench) -> Any:
    """Three clicks and the key that confirms them come while the program is busy; it sees all four
    at once."""
    kind = Cells(grid=10, take=3, within=(3.0, 3.0, 93.0, 93.0))
    middle = {
        region.value: bench.stage.surface.to_pixels((region.x0 + region.x1) / 2, (region.y0 + region.y1) / 2)
        for region in kind.surface().regions
    }
    again = [
        (1.6 + 0.1 * number, InputEvent("return", hold=0.02)) for number in range(50)
    ]  # were the answer lost, nobody would be waited for
    touches = [
        (0.2 + 0.1 * number, InputEvent(x=middle[cell][0], y=middle[cell][1], hold=0.03))
        for number, cell in enumerate((12, 57, 40))
    ]
    waits, freed = bench.waits, []

    def work(for_what: str, onset: float) -> None:
        waits(for_what, onset)
        done = len(bench.xtest.done)
        while len(bench.xtest.done) < done + 4:
            time.sleep(0.05)
        time.sleep(0.2)
        freed.append((bench.stage.window.now() - onset) * 1000)

    bench.script, bench.waits = [[*touches, (0.5, InputEvent("return", hold=0.02)), *again]], work  # type: ignore[method-assign]
    try:
        (step,) = bench.trial([timed(BLANK, None, Ask(kind))], once=True)
    finally:
        bench.waits = waits  # type: ignore[method-assign]
    return {"step": step, "freed": freed}


def ordered(bench: Bench) -> Any:
    """Digits in order: typed with a slip that is taken back, one left open, the same key kept down;
    clicked; places clicked twice; a word typed and clicked."""
    digits = SerialOrder.model_validate({"options": list("123456789"), "take": 4})
    places = SerialOrder.model_validate({"options": 9, "layout": "3x3", "take": 3, "repeats": False})
    word = TypedText.model_validate({"most": 8})
    middle = {
        kind: {
            region.value: bench.stage.surface.to_pixels((region.x0 + region.x1) / 2, (region.y0 + region.y1) / 2)
            for region in kind.surface().regions
        }
        for kind in (digits, places, word)
    }
    percepts = [timed(BLANK, None, Ask(kind)) for kind in (digits, digits, places, word)]
    bench.episode(percepts).finish()
    surface = bench.stage.surface
    done, undo, unknown = surface.done_middle(), surface.beside_middle("undo"), surface.beside_middle("unknown")

    def clicked(places: Sequence[tuple[float, float]]) -> list[tuple[float, InputEvent]]:
        return [(0.3 + 0.15 * number, InputEvent(x=x, y=y, hold=0.03)) for number, (x, y) in enumerate(places)]

    typed = ["3", "num_7", "8", "backspace", "minus", "return", "4", "5", "return"]
    bench.script = [
        [(0.3 + 0.12 * number, InputEvent(key, hold=0.02)) for number, key in enumerate(typed)],
        clicked(
            [
                undo,
                middle[digits]["9"],
                middle[digits]["9"],
                undo,
                unknown,
                middle[digits]["1"],
                done,
                middle[digits]["2"],
                done,
            ]
        ),
        clicked([middle[places][0], middle[places][0], middle[places][8], middle[places][4], done]),
        [
            (0.3, InputEvent("d", hold=0.02)),
            *(
                (when + 0.15, event)
                for when, event in clicked([middle[word]["o"], undo, middle[word]["o"], middle[word]["g"], done])
            ),
        ],
    ]
    return bench.trial(percepts)


def omission(bench: Bench) -> Any:
    """Nobody answers in time; then somebody answers too late; then an answer ends a timed step
    early."""
    quiet = Ask(NINE, window_ms=200)
    late = Ask(NINE, ends="on_time", window_ms=200)
    bench.script = [[], [(0.35, InputEvent("5", hold=0.005))], [(0.2, InputEvent("4", hold=0.005))]]
    return bench.trial(
        [
            timed(pattern(1), 200, quiet),
            timed(pattern(2), 500, late),
            timed(pattern(3), 1500, Ask(NINE, window_ms=1500)),
        ]
    )


def counting(bench: Bench) -> Any:
    """Two answers to one question: the first counts, or the last."""
    bench.script = [[(0.1, InputEvent("2", hold=0.005)), (0.2, InputEvent("3", hold=0.005))] for _ in range(2)]
    asks = [Ask(NINE, ends="on_time", window_ms=400, counts=counts) for counts in ("first", "last")]
    return bench.trial([timed(pattern(1), 400, ask) for ask in asks])


def self_paced(bench: Bench) -> Any:
    """Displays that wait: the space bar, a click, a double click that must not skip a display, a
    key that means nothing."""
    click = InputEvent(x=0, y=0, hold=0.01)
    bench.script = [
        [(0.4, InputEvent("space", hold=0.02))],
        [(0.4, click), (0.46, click)],
        [(0.3, InputEvent("x")), (0.5, InputEvent("space"))],
    ]
    return bench.trial([timed(pattern(number), None) for number in range(3)], announce=False)


def double_clicks(bench: Bench) -> Any:
    """The second halves of double clicks and of double presses fall into the next question; then
    somebody answers it."""
    click, five, six, last = (
        InputEvent(x=0, y=0, hold=0.03),
        InputEvent("5", hold=0.03),
        InputEvent("6", hold=0.003),
        InputEvent("7", hold=0.03),
    )
    told = []
    for first, second, gap in ((click, click, 0.17), (click, click, 0.2), (five, five, 0.2), (five, six, 0.19)):
        bench.script = [[(0.3, first), (0.3 + gap, second), (1.2, last)]]
        told.append(bench.trial([timed(pattern(1), None, Ask(NINE)) for _ in range(2)]))
        bench.agent.rest(50)
    return told


def escape(bench: Bench) -> Any:
    """Escape in a question: go on, where nothing of the trial had been seen and where something
    had; then leave."""
    go_on = [[(0.3, InputEvent("escape"))], [(0.6, InputEvent("space"))], [(0.3, InputEvent("7"))]]
    bench.script = list(go_on)
    stayed = bench.trial([replace(timed(pattern(1), None, Ask(NINE)), model_step=False)], once=True)
    ends = []
    for script in (go_on, [[(0.3, InputEvent("escape"))], [(0.6, InputEvent("l"))]]):
        bench.script = list(script)
        try:
            bench.trial([timed(pattern(1), None, Ask(NINE))], once=True)
        except (Abandoned, TrialCut) as error:
            ends.append(str(error))
    return {"stayed": stayed, "cut": ends[0], "left": ends[1]}


def escape_between(bench: Bench) -> Any:
    """Escape, once each: when a short rest has begun, before it begins, after the last answer of a
    trial, and while what is done in a rest takes longer than the rest; what the window waited for
    then."""
    percept = timed(pattern(1), None, Ask(NINE))
    stage, go_on, told = bench.stage, [[(0.6, InputEvent("space"))]], []

    def press(late: float = 0.0) -> None:
        done = len(bench.xtest.done)
        bench.xtest.at(stage.window.now() + late, InputEvent("escape"))
        while not late and len(bench.xtest.done) == done:
            time.sleep(0.05)
        time.sleep(0.0 if late else 0.2)

    def rest(late: float, meanwhile: Callable[[], None] | None = None) -> None:
        before = len(bench.told)
        if meanwhile is None:
            press(late)
        if mind is not None:
            mind.finish()
        bench.script = list(go_on)
        bench.agent.rest(250 if meanwhile is None else 50, meanwhile)
        told.append(bench.told[before:])
        bench.script = []
        bench.agent.rest(50)

    mind = None
    rest(0.05)
    rest(0.0)
    mind, bench.script = bench.episode([percept]), [[(0.3, InputEvent("5"))]]
    asyncio.run(mind.step(percept))
    rest(0.0)
    mind = None
    rest(0.0, press)
    return told


def pixels(bench: Bench) -> Any:
    """What is on the screen, against the picture of the scene."""
    from spanlab.stimuli.render.pixels import picture

    differences = []
    faces = write_faces(Path(tempfile.mkdtemp()))
    for name, levels in (
        ("vsr", {"list_length": 5}),
        ("sfr", {"list_length": 3}),
        ("smu", {"set_size": 5}),
        (faces, {"list_length": 3}),
    ):
        stimulus = compile_trial(load_paradigm(name), levels, seed=2).steps[0].percept.displays[0].stimulus
        episode = bench.episode([timed(stimulus, 50)])
        episode.player.play(timed(stimulus, 50))
        screen = screenshot()
        size = bench.stage.canvas_px
        top, left = (screen.shape[0] - size) // 2, (screen.shape[1] - size) // 2
        wanted = np.array(picture(stimulus.scene(), size))
        differences.append(int(np.abs(screen[top : top + size, left : left + size].astype(int) - wanted).max()))
        episode.finish()
        uploads = bench.stage.renderer.uploads
        episode = bench.episode([timed(stimulus, 50)])
        episode.finish()
        differences.append(bench.stage.renderer.uploads - uploads)
    return differences


def surroundings(bench: Bench) -> Any:
    """What is beside the canvas, between two trials and on a page; and the canvas while the screen
    rests."""
    from spanlab.stimuli.scene import BACKGROUND

    bench.agent.rest(100)
    screen = screenshot()
    middle = [tuple(int(value) for value in screen[y, x]) for y, x in ((384, 512), (10, 10))]
    return {"canvas": middle[0] == BACKGROUND, "beside": middle[1] == BACKGROUND}


def pages(bench: Bench) -> Any:
    """A long text on several pages, with a step back; a rest."""
    bench.script = [[(0.5, InputEvent("space"))], [(0.5, InputEvent("left"))], [(0.5, InputEvent(x=5, y=5))]] + [
        [(0.4, InputEvent("space"))]
    ] * 20
    before = len(bench.told)
    bench.agent.page(
        PageContent(
            "\n\n".join(f"# Part {number}\n\n" + "Words and more words. " * 24 for number in range(3)), "A long text"
        )
    )
    turned = len(bench.told) - before
    bench.script = []
    start = bench.stage.window.now()
    bench.agent.rest(300)
    return {
        "turned": turned,
        "rest_ms": (bench.stage.window.now() - start) * 1000,
        "apparatus": bench.agent.apparatus(),
    }


def choices(bench: Bench) -> Any:
    """Pages with options: what does not choose, and what does."""
    stage, told = bench.stage, len(bench.told)
    options = (Option("agree", "I agree", "a"), Option("refuse", "I do not agree", "n"))
    labelled = tuple(Option(one.name, f"{one.label}  ({one.key.upper()})", one.key) for one in options)
    boxes = lay_out(PageContent("Text.", "Title", options=labelled), "en", stage.window.size, stage.letter_px)[
        -1
    ].buttons
    agree, refuse = (InputEvent(x=(x0 + x1) / 2, y=(y0 + y1) / 2) for x0, y0, x1, y1 in boxes)
    beside = InputEvent(x=boxes[0][0] - 6, y=boxes[0][1] - 6)
    nothing = [InputEvent("space"), InputEvent("return"), InputEvent("right"), InputEvent(x=0, y=0), beside]
    found = []
    for clicks, last in ((True, refuse), (True, agree), (True, InputEvent("n")), (False, InputEvent("f4"))):
        options = options if clicks else (Option("agree", "Once more", "f2"), Option("refuse", "Go on", "f4"))
        touches = [*nothing, *([] if clicks else [agree, refuse]), last]
        bench.script = [[(0.4 + 0.12 * number, touch) for number, touch in enumerate(touches)]]
        done = len(bench.xtest.done)
        chosen = bench.agent.choose("Title", "Text.", options, usual="agree", clicks=clicks)
        ended = stage.window.now()
        time.sleep(0.2)  # the last key is still held when the page ends, and is counted once it was let go
        found.append((chosen, len(touches) - sum(when <= ended for _, when in bench.xtest.done_since(done))))
    # A long text: the last of its pages alone has the buttons, and a press that turns a page is not
    # an answer.
    bench.script = [[(0.4, InputEvent("space"))] if number < 9 else [] for number in range(9)]
    bench.script[1] = [(0.4, InputEvent("a"))]
    long = "\n\n".join("Words and more words. " * 24 for number in range(3))
    options = (Option("agree", "I agree", "a"), Option("refuse", "I do not agree", "n"))
    found.append((bench.agent.choose("Title", long, options, usual="agree"), 0))
    return {"chosen": found, "told": bench.told[told:]}


SCENES: dict[str, Callable[[Bench], Any]] = {
    scene.__name__: scene
    for scene in (
        durations,
        short_presses,
        borders,
        unannounced_borders,
        nine_clicks,
        cells,
        ordered,
        dials,
        busy,
        omission,
        counting,
        self_paced,
        double_clicks,
        escape,
        escape_between,
        pixels,
        pages,
        choices,
        surroundings,
    )
}


def simulated(observer: str, paradigms: Sequence[tuple[str, dict[str, int]]]) -> Any:
    """A simulated participant takes trials; what it answered and what an observer without a window
    answers."""
    agent = SimulatedParticipant(observer, seed=4, speed=4.0, say=lambda sentence: None)
    facts = []
    for name, levels in paradigms:
        trial = compile_trial(load_paradigm(name), levels, seed=3)
        kinds = tuple(dict.fromkeys(step.percept.ask.kind for step in trial.steps if step.percept.ask is not None))
        episode = agent.start(TrialContext(name, name, "en", "", kinds, seed=17))
        episode.prepare([display for step in trial.steps for display in step.percept.displays])
        memory = agent.observer.fresh(17)
        for step in trial.steps:
            intended = memory.choose(step.percept, step.truth)
            response = asyncio.run(episode.step(step.percept, step.truth))  # type: ignore[arg-type]
            if response is not None:
                facts.append(
                    {"paradigm": name, "intended": intended, "correct": step.truth.answer, "response": asdict(response)}
                )
        episode.finish()
    settings, apparatus = agent.settings(), agent.apparatus()
    agent.close()
    return {"answers": facts, "settings": settings, "apparatus": apparatus}


def numb() -> dict[str, Any]:
    """The hands of a simulated participant cannot do what they are told: what is said of it, and
    whether somebody else had to answer first."""
    agent = SimulatedParticipant("ideal", say=lambda sentence: None)
    agent._events = lambda move: [InputEvent("nosuchkey")]  # type: ignore[method-assign]
    stage, ask = agent.open(), Ask(NINE)
    helper = XTestInput(stage.window.now, stage.window.size, stage.window.corner)
    episode = agent.start(TrialContext("bench", "Bench", "en", "", (NINE,)))
    helper.at(stage.window.now() + 5, InputEvent("5"))  # were nothing noticed, nobody would be waited for
    try:
        asyncio.run(episode.step(timed(BLANK, None, ask), Truth(4)))
        return {"said": "nothing"}
    except SpanLabError as error:
        return {"said": str(error), "helped": len(helper.done)}
    finally:
        helper.close()
        agent.close()


def main(names: list[str]) -> None:
    facts: dict[str, Any] = {}
    with virtual_screen(1024, 768):
        if names[0].startswith("simulated:"):
            facts["simulated"] = simulated(
                names[0].partition(":")[2],
                [("vsr", {"list_length": 2}), ("sfr", {"list_length": 3}), ("smu", {"set_size": 2})],
            )
        elif names == ["numb"]:
            facts["numb"] = numb()
        else:
            keyboard = "event" if names[0] == "event" else "ptb"
            bench = Bench(keyboard=keyboard)
            for name in names[names[0] == "event" :]:
                bench.script.clear()
                try:
                    facts[name] = SCENES[name](bench)
                except Exception:
                    facts[name] = {"error": traceback.format_exc()}
                bench.xtest.cancel()
                bench.agent.rest(100)
            bench.close()
            if "pages" in names:  # a second window in the same process
                bench = Bench(keyboard=keyboard)
                facts["reopened"] = counting(bench)
                bench.close()
    print(json.dumps(facts, default=lambda value: value.item() if hasattr(value, "item") else str(value)))


if __name__ == "__main__":
    main(sys.argv[1:])
