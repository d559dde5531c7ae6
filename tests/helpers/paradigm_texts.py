"""Small paradigms as YAML texts, for tests of the language and of what happens to mistakes in it."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from spanlab.core.errors import SpanLabError
from spanlab.paradigms import Generator, Paradigm, Trial, compile_trial, load_paradigm

#: one step with a question, as the last item of a timeline
PROBE = "- {phase: probe, show: {blank: {}}, ask: {choice: {options: 9}, answer: 0}}"


def text(timeline: str = PROBE, *, factors: str = "", draw: str = "", more: str = "") -> str:
    """A paradigm's text. ``timeline`` is a YAML list, ``factors`` and ``draw`` are mappings,
    ``more`` holds further keys; all with lines of their own."""
    parts = ["paradigm: small", "version: 1", "title: A small one", "instructions: {en: Do it.}"]
    for key, value in (("factors", factors), ("draw", draw), ("timeline", timeline)):
        if value:
            parts += [f"{key}:", textwrap.indent(textwrap.dedent(value).strip("\n"), "  ")]
    if more:
        parts.append(textwrap.dedent(more).strip("\n"))
    return "\n".join(parts) + "\n"


def asked(timeline: str) -> str:
    """A timeline that ends with a question."""
    return textwrap.dedent(timeline).strip("\n") + "\n" + PROBE


def load(folder: Path, content: str | bytes, name: str = "small.yaml") -> Paradigm:
    """Write a file and load it as a paradigm."""
    (path := folder / name).write_bytes(
        content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    )
    return load_paradigm(path)


def trial(
    folder: Path, content: str, levels: dict[str, Any] | None = None, seed: int = 1, generator: Generator = "corrected"
) -> Trial:
    """Write a file, load it, and compile one trial."""
    return compile_trial(load(folder, content), levels, seed, generator)


def recorded(one: Trial, name: str = "x") -> list[Any]:
    """What the steps of a trial record under a name, steps without it left out."""
    return [step.truth.record[name] for step in one.steps if name in step.truth.record]


def problems(folder: Path, content: str | bytes, levels: dict[str, Any] | None = None) -> list[str]:
    """The lines of the message that a broken file gets, when it is loaded or compiled."""
    try:
        compile_trial(load(folder, content), levels, 1)
    except SpanLabError as error:
        return str(error).split("\n")
    raise AssertionError("nothing was found wrong")


def old_or_new(more: str, *, lengths: str, after: str = "") -> str:
    """Recognition of words with a rating of confidence: the paradigm ``sure``.

    Parameters
    ----------
    more : further keys of the paradigm, instructions among them
    lengths : of the lists
    after : steps after the feedback, as items of the timeline
    """
    words = "[tree, house, river, stone, cloud, table, horse, paper]"
    return f"""\
paradigm: sure
version: 1
title: Old or new, and how sure
factors:
  list_length: {lengths}
draw:
  words: {{several: {{of: {words}, count: =list_length}}}}
  probe: {{one_of: {{of: {words}}}}}
timeline:
  - for: item in words
    phase: present
    show: {{word: =item, ms: 100}}
  - phase: probe
    show: {{word: =probe}}
    ask: {{choice: {{options: [old, new]}}, answer: "='old' if probe in words else 'new'"}}
  - phase: confidence
    show: {{blank: {{}}}}
    ask: {{rating: {{from: 1, to: 6, labels: {{1: I was guessing, 6: absolutely sure}}}}, prompt: {{en: How sure are you?}}}}
  - phase: feedback
    feedback: {{right: {{text: right, ms: 50}}, wrong: {{text: wrong, ms: 50}}}}
{after}set_size: =list_length
{more}"""  # noqa: E501


def short(ms: int, interval: int, *, before: str = "", ask: str = "", more: str = "") -> str:
    """Visual serial recall with displays of so many ms, for a window.

    Parameters
    ----------
    interval : ms between trials
    before : a step before the list, as an item of the timeline
    ask : further keys of the questions
    more : further keys of the paradigm
    """
    return f"""
extends: vsr
paradigm: short
timeline:{before and f"{chr(10)}  - {before}"}
  - for: pattern in patterns
    phase: present
    show: {{matrix: {{grid: 6, filled: =pattern, colour: green}}, ms: {ms}}}
  - for: slot in slots
    phase: probe
    show: {{pattern_array: {{grid: 6, cells: =display, colour: green}}}}
    ask: {{choice: {{options: 9, layout: 3x3}}, answer: =slot{ask and f", {ask}"}}}
    record: {{serial_position: =number}}
designs:
  human: {{interval: {interval}}}
{more}
"""


SHORT = short(33, 17, more="practice: {trials: 2, factors: {list_length: 2}, feedback: true, pass: 1, at_most: 2}")

#: The digits of a list in order, then one of them typed, then an angle: every answer that is not
#: one key or click. Displays are short.
ANSWERS = """
paradigm: answers
version: 1
title: {en: Digits and angles, de: Ziffern und Winkel}
factors:
  list_length: [2, 3]
draw:
  symbols: "=['1', '2', '3', '4', '5']"
  digits: {permutation: {of: =symbols, take: =list_length}}
  angle: {one_of: 180}
  start: {one_of: 180}
  cells: {place: {items: "=[angle]", at: "=[0]", of: 8}}
timeline:
  - for: digit in digits
    phase: present
    show: {letter: =digit, ms: 33}
    record: {serial_position: =number}
  - {phase: bar, show: {bar_patches: {angles: =cells}, ms: 33}}
  - phase: order
    show: {blank: {}}
    ask: {sequence: {options: =symbols, take: =list_length, layout: 5x1}, answer: =digits}
  - phase: typed
    show: {blank: {}}
    ask: {text: {characters: digits, most: 6}, answer: "=digits[0]", prompt: {en: "Which digit came first?", de: "Welche Ziffer kam zuerst?"}}
  - phase: dial
    show: {report_wheel: {wheel: plain, filled: [0], probed: 0, outline: circle, size: 15}}
    ask: {continuous: {feature: orientation, tolerance: 22, start: =start, bins: 60}, answer: =angle}
set_size: =list_length
instructions: {en: Remember the digits and how the bar is turned., de: "Merken Sie sich die Ziffern, und wie der Balken gedreht ist."}
practice: {trials: 2, factors: {list_length: 2}, feedback: true, pass: 1, at_most: 2}
designs:
  human: {repetitions: 5, interval: 17}
"""  # noqa: E501
