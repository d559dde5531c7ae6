"""Messages to a page, as JSON: trials made of percepts, questions as their surfaces declare them,
and pages of text. Nothing here knows the truth."""

# pyright: strict
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from spanlab.agents import Option
from spanlab.agents.human.display import ACKNOWLEDGE, COLOURS
from spanlab.agents.human.input import GO_ON_AFTER, USUAL, time_of
from spanlab.core.locale import sentence
from spanlab.paradigms import Ask, Percept
from spanlab.paradigms.responses import Surface
from spanlab.stimuli import Colour

from .frames import TrialPictures

#: So many questions of a phase can be told apart by their number.
_NUMBERED = 12


def css(colour: Colour) -> str:
    """A colour as style sheets write it."""
    return "#{:02x}{:02x}{:02x}".format(*colour)


#: The colours of the page, by their names in its style sheet.
COLOURS_OF_PAGES = {name: css(colour) for name, colour in COLOURS.items()}


def words(language: str) -> dict[str, Any]:
    """The sentences that the page needs itself."""
    window = ("go_on", "done", "undo", "unknown", "nothing")
    pauses = ("pause", "pause_more", "pause_replaces", "continue", "leave")
    counted = ("marked_any", "enter_more", "mark_more")
    online = (
        *(
            "start",
            "start_body",
            "next",
            "connecting",
            "lost",
            "unfit",
            "saving",
            "code",
            "redirect",
            "field_needed",
            "choose",
            "send",
            "interrupted",
        ),
        *("again", "again_yes", "again_no", "refused_title", "refused"),
    )
    return {
        **{name: sentence(f"window.{name}", language) for name in (*window, *pauses, "enter_one", "mark_one")},
        **{name: sentence(f"window.{name}", language, n="{n}") for name in counted},
        **{name: sentence(f"online.{name}", language) for name in online},
    }


@dataclass(frozen=True, slots=True)
class Beginning:
    """Place at which a page begins a trial.

    Parameters
    ----------
    first : number of the step
    show : which of the percepts that may be shown in it
    """

    first: int = 0
    show: int = 0


def trial_message(
    steps: Sequence[Sequence[Percept]],
    made: TrialPictures,
    language: str,
    rest_ms: float | None,
    cuts: bool = True,
    beginning: Beginning = Beginning(),
    touch: bool = False,
) -> dict[str, Any]:
    """A trial as the page plays it.

    Parameters
    ----------
    steps : of each step what may be shown: one percept, or one for each verdict on the answer
        before
    made : makes pictures known to the page
    cuts : whether an interruption cuts the trial off
    touch : whether people answer with their fingers
    """
    return {
        "rest_ms": rest_ms,
        "cuts": cuts,
        **asdict(beginning),
        "steps": [[percept_message(one, made, language, touch) for one in alternatives] for alternatives in steps],
        "refractory": asdict(USUAL),
        "acknowledge_ms": ACKNOWLEDGE * 1000,
        "go_on_after_ms": GO_ON_AFTER * 1000,
    }


def percept_message(percept: Percept, made: TrialPictures, language: str, touch: bool) -> dict[str, Any]:
    """Return what the page shows in a step: frames, times and the question."""
    return {
        "item": percept.model_step,
        "phase": percept.phase,
        "displays": [
            {**made.frame(display), "ms": time_of(percept, number)} for number, display in enumerate(percept.displays)
        ],
        "ask": None
        if percept.ask is None
        else {**ask_message(percept.ask, language, touch), "overlay": made.overlay(percept.ask.kind.surface())},
    }


def touch_legend(surface: Surface, language: str) -> str:
    """How a question is answered with a finger."""
    manner = "place" if surface.regions else "button"
    if surface.dial is not None:
        manner = "dial"
    elif surface.ordered is not None:
        manner = "written" if surface.ordered.written else "order"
    elif surface.several:
        manner = "cells"
    return sentence(f"touch.{manner}", language)


def ask_message(ask: Ask, language: str, touch: bool = False) -> dict[str, Any]:
    """A question as its surface declares it."""
    kind = ask.kind
    surface = kind.surface()
    values = dict.fromkeys(value for _, value in surface.keys)
    return {
        "window_ms": ask.window_ms,
        "ends": ask.ends,
        "counts": ask.counts,
        "legend": touch_legend(surface, language)
        if touch
        else f"{kind.legend('participant', language)} {kind.finality(ask.counts, language)}".rstrip(),
        "prompt": None if ask.prompt is None else ask.prompt.text_in(language),
        "which": [sentence("window.which", language, n=number) for number in range(2, _NUMBERED + 1)],
        "buttons": _answer_buttons(surface, {value: kind.label(value) for value in values}),
        "labels": [[value, kind.label(value)] for value in values],
        "surface": surface_message(surface),
    }


def _answer_buttons(surface: Surface, labels: Mapping[int | str, str]) -> list[dict[str, str]]:
    """Buttons for fingers, where keys alone give the answers: each stands for the first key of its
    value."""
    if surface.regions or surface.dial is not None:
        return []
    buttons: list[dict[str, str]] = []
    for value, label in labels.items():
        key = next(key for key, stands_for in surface.keys if stands_for == value)
        buttons.append({"key": key, "label": label})
    return buttons


def surface_message(surface: Surface) -> dict[str, Any]:
    """The surface, fit for JSON."""
    return {
        "keys": [[key, value] for key, value in surface.keys],
        "regions": [[region.value, region.x0, region.y0, region.x1, region.y1] for region in surface.regions],
        "several": surface.several,
        "take": surface.take,
        "outlined": surface.outlined,
        "ordered": None if surface.ordered is None else asdict(surface.ordered),
        "dial": None if surface.dial is None else asdict(surface.dial),
    }


def paragraphs(text: str) -> list[list[str]]:
    """A text as the page sets it: for each line whether it is a heading (``h``) or a paragraph
    (``p``), and its words."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    return [["h", line[2:].strip()] if line.startswith("# ") else ["p", line] for line in lines]


def choices(options: Sequence[Option]) -> list[dict[str, str]]:
    """The ways on from a page."""
    return [{"name": option.name, "label": option.label, "key": option.key} for option in options]
