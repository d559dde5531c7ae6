"""From presses and clicks to the answer to one question and its reaction time. This module knows
nothing of screens."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace
from typing import Any, Literal

from ....paradigms import Answer, Ask, Dial, Ordered, Region, Surface
from ...base import Response

#: Keys that end an answer of several values, or one on a dial.
CONFIRM_KEYS = ("return", "enter", "num_enter")
#: Keys that move the mark on a dial, each with by how many values, clockwise.
TURN_KEYS: Mapping[str, int] = {"left": -1, "right": 1, "down": -10, "up": 10}
#: Keys that take the last of several values in order back, and those that stand for "don't know" in
#: the place of one, where no value has them.
UNDO_KEYS = ("backspace", "delete")
UNKNOWN_KEYS = ("minus", "num_subtract")
#: The buttons below the canvas.
Button = Literal["", "done", "undo", "unknown"]
#: The value of a click on the done button, and of the buttons beside it where values are given in
#: order.
DONE: Button = "done"
UNDO: Button = "undo"
UNKNOWN: Button = "unknown"
#: where Tab leads from the text and from its buttons
_NEXT_BUTTON: Mapping[Button, Button] = {"": DONE, DONE: UNKNOWN, UNKNOWN: ""}


def control_keys(surface: Surface) -> dict[str, str]:
    """The keys of a question that stand for no answer, and what each does."""
    keys: dict[str, str] = {}
    if surface.several or surface.dial is not None:
        keys |= dict.fromkeys(CONFIRM_KEYS, "ends an answer")
    if surface.dial is not None:
        keys |= dict.fromkeys(TURN_KEYS, "turns a mark")
    if surface.ordered is not None:
        keys |= dict.fromkeys(UNDO_KEYS, "takes the last one back")
        if surface.ordered.unknown:
            keys |= dict.fromkeys(UNKNOWN_KEYS, "stands for what is not known")
        if surface.ordered.written:
            keys |= {"tab": "leads to the buttons below a text"}
    return keys


@dataclass(frozen=True, slots=True)
class Press:
    """One key or mouse button going down.

    Parameters
    ----------
    device : ``key`` or ``click``
    time : seconds on PsychoPy's clock
    key : the key's name, as PsychoPy calls it
    x, y : where the click was, in canvas units (it may lie outside the canvas)
    button : which button below the canvas the click hit; those beside the done button, where values
        are given in order
    held : whether the key was down already, so that only its repetition makes a press of it
    elsewhere : whether another window had the focus
    """

    device: Literal["key", "click"]
    time: float
    key: str = ""
    x: float = 0.0
    y: float = 0.0
    held: bool = False
    button: Button = ""
    elsewhere: bool = False

    @property
    def meant(self) -> bool:
        """True if somebody has made it on purpose, and for this window."""
        return not (self.held or self.elsewhere)

    @property
    def escapes(self) -> bool:
        """True if it asks for a pause."""
        return self.device == "key" and self.key == "escape" and self.meant

    def record(self, onset: float) -> dict[str, Any]:
        """The press in the form in which it is recorded, with its time from ``onset`` in ms."""
        rt = round((self.time - onset) * 1000.0, 3)
        if self.device == "key":
            return {"key": self.key, "rt_ms": rt, **({"held": True} if self.held else {})}
        place: dict[str, Any] = {"click": [round(self.x, 2), round(self.y, 2)]}
        if self.button == DONE:
            place["on"] = DONE
        return {**place, "rt_ms": rt}


def hit(regions: tuple[Region, ...], x: float, y: float) -> Region | None:
    """The region under a point; a point on a common border belongs to the region on its right or
    below."""
    return next((region for region in regions if region.x0 <= x < region.x1 and region.y0 <= y < region.y1), None)


class Writing:
    """A text that is being written: here one that is known already."""

    def __init__(self, text: str = "") -> None:
        self._text = text

    @property
    def text(self) -> str:
        """What was written so far."""
        return self._text

    @property
    def state(self) -> Hashable:
        """Everything that changes what is seen of it."""
        return None

    def insert(self, sign: str) -> None:
        """Put a sign where it is being written."""


@dataclass(slots=True)
class AnswerSheet:
    """The answer to one question as it comes about.

    Parameters
    ----------
    ask : the question
    onset : when it came on, in seconds on PsychoPy's clock
    answered_on : its surface with a button for each answer; without, it is answered as its kind
        declares

    Attributes
    ----------
    marks : the values given so far, in the order in which they were given
    presses : everything that was pressed, with what it did; fit for JSON
    late : presses after the window
    writing : what is written freely, and edited
    nothing : whether "no answer" was given in its place
    pointed : the button below the canvas on which keys are, where a text is written; Tab leads
        there, and Return presses it
    """

    ask: Ask
    onset: float
    answered_on: InitVar[Surface | None] = None
    marks: list[int | str | None] = field(default_factory=list)
    presses: list[dict[str, Any]] = field(default_factory=list)
    late: list[dict[str, Any]] = field(default_factory=list)
    answered_at: float | None = None
    #: the press that gave the answer
    answered_by: Press | None = None
    #: where keys have moved the mark on a dial, as the number of a value; None before the first of
    #: them
    turned_to: int | None = None
    #: the value acknowledged last, and when
    acknowledged: tuple[int | str | None, float] = (None, -math.inf)
    paused: float = 0.0
    writing: Writing = field(default_factory=Writing)
    nothing: bool = False
    pointed: Button = ""
    surface: Surface = field(init=False)
    #: whether each answer has a button below the canvas
    buttons: bool = field(init=False)

    def __post_init__(self, answered_on: Surface | None) -> None:
        self.buttons = answered_on is not None
        self.surface = answered_on or self.ask.kind.surface()

    @property
    def written(self) -> bool:
        """True if the answer is a text that is written freely."""
        return self.surface.ordered is not None and self.surface.ordered.written

    @property
    def given(self) -> Sequence[int | str | None]:
        """The values given so far."""
        if not self.written:
            return self.marks
        return [None if self.nothing else self.writing.text]

    @property
    def complete(self) -> bool:
        """True if an answer has been given."""
        return self.answered_at is not None

    def seen_at(self, now: float, seconds: float) -> int | str | None:
        """The value that was acknowledged at most so many seconds before a moment (s); None for none."""
        value, at = self.acknowledged
        return value if now - at < seconds else None

    @property
    def closes(self) -> float | None:
        """Time at which the window closes (s), or None when the question waits."""
        return None if self.ask.window_ms is None else self.onset + self.paused + self.ask.window_ms / 1000.0

    @property
    def may_finish(self) -> bool:
        """True if the done button is enabled."""
        if self.surface.take is not None:
            return len(self.marks) == self.surface.take
        return self.ask.kind.allows(self.ask.kind.answer_of(self.given))

    def take(self, press: Press) -> str:
        """Let a press have its effect and return what it did: ``answer``, ``mark``, ``unmark``,
        ``turn``, ``writes``, ``full``, ``used``, ``not yet``, ``extra``, ``late`` or ``nothing``."""
        if press.button == DONE and self.buttons:  # they lie where other questions have the done button
            press = replace(press, button="")
        entry = press.record(self.onset)
        if self.closes is not None and press.time > self.closes:
            if self.ask.late == "record":
                self.late.append(entry)
            return "late"
        answered = self.complete and self.ask.counts == "first"
        if answered and (self.surface.several or self.surface.dial is not None):
            effect = "extra"
        elif self.written:
            effect = self._write(press, entry)
        elif self.surface.dial is not None:
            effect = self._on_dial(self.surface.dial, press, entry)
        else:
            effect = self._several(press, entry) if self.surface.several else self._one(press, entry)
        if effect == "answer":
            self.answered_by = press
        if effect != "writes":  # the text is on record, its keys are not
            self.presses.append({**entry, "does": effect})
        return effect

    def refuse(self, press: Press, why: str) -> None:
        """Note a press that has no effect, and why."""
        if not self.written or press.device == "click":
            self.presses.append({**press.record(self.onset), "does": why})

    def _value(self, press: Press, entry: dict[str, Any]) -> int | str | None:
        if press.device == "key":
            value = next((value for key, value in self.surface.keys if key == press.key), None)
        elif press.button == DONE:
            value = None
        else:
            region = hit(self.surface.regions, press.x, press.y)
            value = region and region.value
        if value is not None:
            entry["value"] = value
        return value

    def _one(self, press: Press, entry: dict[str, Any]) -> str:
        value = self._value(press, entry)
        if value is None:
            return "nothing"
        if self.complete and self.ask.counts == "first":
            return "extra"
        return self._answered(value, press)

    def _on_dial(self, dial: Dial, press: Press, entry: dict[str, Any]) -> str:
        """A click answers with the value in its direction; keys move the mark, and Return answers
        with the value where it is."""
        if press.device == "click":
            value = dial.value_at(press.x, press.y)
        elif press.key in TURN_KEYS:
            before = dial.start if self.turned_to is None else self.turned_to
            self.turned_to = (before + TURN_KEYS[press.key]) % len(dial.values)
            entry["value"] = dial.values[self.turned_to]
            return "turn"
        elif press.key in CONFIRM_KEYS:
            if self.turned_to is None:
                return "not yet"
            value = dial.values[self.turned_to]
        else:
            value = None
        if value is None:
            return "nothing"
        entry["value"] = value
        return self._answered(value, press)

    def _answered(self, value: int | str, press: Press) -> str:
        self.marks[:] = [value]
        self.answered_at = press.time
        self.acknowledged = (value, press.time)
        return "answer"

    def _write(self, press: Press, entry: dict[str, Any]) -> str:
        """Keys write, but for Tab, which leads to the buttons and back, and Return on a button."""
        button = press.button
        if press.key == "tab":
            self.pointed = _NEXT_BUTTON[self.pointed]
            return "turn"
        if press.key in (*CONFIRM_KEYS, "space"):
            button = self.pointed
        if button not in (DONE, UNKNOWN):
            value = self._value(press, entry) if press.device == "click" else None
            if value is not None:
                self.writing.insert(str(value))
                return "mark"
            return "nothing" if press.device == "click" else "writes"
        entry["on"] = button
        self.nothing = button == UNKNOWN
        if not self.may_finish:
            return "not yet"
        self.answered_at = press.time
        return "answer"

    def _several(self, press: Press, entry: dict[str, Any]) -> str:
        if press.button == DONE or (press.device == "key" and press.key in CONFIRM_KEYS):
            if not self.may_finish:
                return "not yet"
            self.answered_at = press.time
            return "answer"
        value = self._value(press, entry)
        if self.surface.ordered is not None:
            return self._in_order(press, value, entry, self.surface.ordered)
        if value is None:
            return "nothing"
        if value in self.marks:
            self.marks.remove(value)
            self.answered_at = None
            return "unmark"
        if self.surface.take is not None and len(self.marks) >= self.surface.take:
            return "full"
        self.marks.append(value)
        self.answered_at = None
        self.acknowledged = (value, press.time)
        return "mark"

    def _in_order(self, press: Press, value: int | str | None, entry: dict[str, Any], ordered: Ordered) -> str:
        typed = press.key if press.device == "key" and value is None else ""
        if press.button == UNDO or typed in UNDO_KEYS:
            entry["on"] = UNDO
            if not self.marks:
                return "nothing"
            self.marks.pop()
            self.answered_at = None
            return "unmark"
        if ordered.unknown and (press.button == UNKNOWN or typed in UNKNOWN_KEYS):
            entry["on"] = UNKNOWN
            if ordered.joined:
                self.marks.clear()  # it stands for the whole text
        elif value is None:
            return "nothing"
        elif ordered.joined and self.marks == [None]:
            self.marks.clear()
        if value is not None and not ordered.repeats and value in self.marks:
            return "used"
        if len(self.marks) >= ordered.most:
            return "full"
        self.marks.append(value)
        self.answered_at = None
        self.acknowledged = (value, press.time)
        return "mark"

    def answer(self) -> Answer | None:
        """The answer as it stands: None when there is none. Marks of exactly the right number count
        even where the window closed before they were confirmed."""
        if self.surface.several:
            return self.ask.kind.answer_of(self.given) if self.complete or self.may_finish else None
        return self.marks[0] if self.complete else None

    @property
    def reaction_time_ms(self) -> float | None:
        """The time from the onset of the question to its answer, in ms; None without an answer, and
        after a pause, which such a time would contain."""
        return None if self.answered_at is None or self.paused else round((self.answered_at - self.onset) * 1000.0, 3)

    def response(self, notes: dict[str, Any]) -> Response:
        """The response as it stands, for the record.

        Parameters
        ----------
        notes : further facts of the step; those of the question are added
        """
        notes.update(self.notes())
        raw, value = {"presses": self.presses}, self.answer()
        if value is None:
            return Response(None, None, raw, "omitted", notes)
        if not self.ask.kind.allows(value):
            return Response(None, None, {**raw, "value": value}, "invalid", notes)
        return Response(value, self.reaction_time_ms, raw, "answered", notes)

    def notes(self) -> Mapping[str, Any]:
        """Further facts for the record, fit for JSON."""
        notes: dict[str, Any] = {}
        if self.late:
            notes["late"] = self.late
        if self.paused:
            notes["paused_ms"] = round(self.paused * 1000.0, 1)
        if self.surface.several and not self.complete and self.answer() is not None:
            notes["confirmed"] = False
        return notes
