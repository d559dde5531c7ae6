"""The hands of a simulated participant at a page in a real browser: they turn pages, and press or
click what was decided."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from chromium import Tab

from spanlab.agents.human import Move, moves
from spanlab.core import SpanLabError
from spanlab.paradigms import Ask

#: With what answers are given: with ``both``, keys and mouse take turns at random.
By = Literal["keys", "mouse", "touch", "both"]
_TURNS: tuple[By, By] = ("keys", "mouse")
#: To a display that is self-paced without a question (s): the page takes no press within a fifth of
#: a second.
_GO_ON_S = 0.25
#: From one look at the page to the next (s).
_LOOK_S = 0.02

#: What a page shows, as far as hands have to know.
_LOOK = """JSON.stringify({
  stage: !document.getElementById("stage").hidden,
  waits: document.getElementById("stage").dataset.waits ?? "",
  notice: !document.getElementById("notice").hidden,
  names: [...document.querySelectorAll("#sheet button:enabled, #sheet a.button")].map(b => b.dataset.name ?? "redirect"),
  buttons: document.querySelectorAll("#sheet button").length, form: document.querySelector("form") !== null,
  ended: document.body.dataset.ended === "true",
  text: document.getElementById("sheet").innerText,
})"""  # noqa: E501


@dataclass(frozen=True, slots=True)
class Decision:
    """Answer to a question, and its time.

    Parameters
    ----------
    ask : the question, as it is asked
    value : the answer; None for none
    after_s : from the moment at which the question is noticed to the first press
    between_s : from one press to the next, where several make the answer
    """

    ask: Ask
    value: Any
    after_s: float = _GO_ON_S
    between_s: float = 0.0


def _plain(keys: Sequence[str]) -> str:
    """The key of the main block, of those that stand for the same."""
    return next((key for key in keys if not key.startswith("num_")), keys[0])


class Clock:
    """The clock by which hands act: that of the computer."""

    def wait(self, tab: Tab, waits: str, seconds: float) -> None:
        """Let time pass while the page waits for something."""
        time.sleep(seconds)

    def done(self, tab: Tab, waits: str) -> None:
        """Do what the page has waited for."""


class Hands:
    """Somebody who takes a visit in a tab: turns pages, and answers what is asked.

    Parameters
    ----------
    decided : gives what was decided for a step of a command; None as long as that is not known
    by : with what answers are given; where there is nothing to click, with keys, and the other way
        round
    fields : what is typed in answer to questions about the participant
    seed : of the turns of keys and mouse
    """

    def __init__(
        self,
        tab: Tab,
        decided: Callable[[int, int], Decision | None],
        by: By = "keys",
        fields: Mapping[str, str] | None = None,
        clock: Clock | None = None,
        seed: int = 1,
    ) -> None:
        self.tab, self._decided, self._fields = tab, decided, fields or {}
        self._by: By = by
        self._clock, self._random = clock or Clock(), np.random.RandomState(seed)
        self._done: set[str] = set()
        #: called before each look; true ends the visit here, and None has another look before
        #: anything is done
        self.meanwhile: Callable[[Mapping[str, Any]], bool | None] = lambda look: False

    def go(self, seconds: float = 400.0) -> str:
        """Take the visit until its last page; gives the text of that.

        Raises
        ------
        SpanLabError
            when it does not come within so many seconds.
        """
        last, look = time.monotonic() + seconds, dict[str, Any]()
        while time.monotonic() < last:
            look = json.loads(self.tab.evaluate(_LOOK))
            if end := self.meanwhile(look):
                return str(look["text"])
            if end is None:
                continue
            if look["notice"]:
                self._push("#notice [data-key=' ']")
            elif look["stage"]:
                self._trial(look["waits"])
            elif look["ended"]:
                return str(look["text"])
            elif look["form"]:
                for name, value in self._fields.items():
                    self.tab.evaluate(
                        f"document.querySelector('[name={name}]') && (document.querySelector('[name={name}]').value ="
                        f" {json.dumps(value)})"
                    )
                self._push("form [data-name=send]")
            elif "agree" in look["names"]:
                self._push("#sheet [data-name=agree]")
            elif "on" in look["names"]:
                self._push("#sheet [data-name=on]")
            time.sleep(_LOOK_S)
        raise SpanLabError(f"the visit in the browser does not end: {look}; {self.tab.complaints}")

    def _push(self, selector: str) -> None:
        """Push a button of a page."""
        self.tab.evaluate(
            f"(() => {{ const b = document.querySelector({json.dumps(selector)}); b?.scrollIntoView(); b?.click();"
            " })()"
        )

    def _trial(self, waits: str) -> None:
        what, _, where = waits.partition(" ")
        if not where or waits in self._done:
            return
        if what == "on":
            self._done.add(waits)
            self._clock.wait(self.tab, waits, _GO_ON_S)
            self.tab.press("space")
            self._clock.done(self.tab, waits)
        elif what == "answer":
            command, _, step = where.partition(":")
            if (decision := self._decided(int(command), int(step))) is not None:
                self._done.add(waits)
                if decision.value is not None:
                    self._clock.wait(self.tab, waits, decision.after_s)
                    self.answer(decision)
                self._clock.done(self.tab, waits)

    def answer(self, decision: Decision) -> None:
        """Press or click what stands for an answer."""
        by = self._by if self._by != "both" else _TURNS[int(self._random.randint(2))]
        for number, move in enumerate(moves(decision.ask, decision.value, _plain)):
            if number:
                time.sleep(decision.between_s)
            if move.text:
                self.tab.write(move.text)
            elif self._presses(move, by):
                for key in move.keys:
                    self.tab.press(key)
            elif move.place is not None:
                self._point(*move.place, by)
            else:
                self._button(move.button or move.keys[0], by)

    @staticmethod
    def _presses(move: Move, by: By) -> bool:
        """Return whether a move is made with keys; buttons below a text are clicked."""
        if not move.keys or "tab" in move.keys:
            return False
        return by == "keys" or (by == "mouse" and not (move.place or move.button))

    def _button(self, name: str, by: By) -> None:
        place = self.tab.middle(f"#buttons [data-name='{name}']")
        if place is None:
            raise SpanLabError(f"the page has no button '{name}'")
        self._at(*place, by)

    def _point(self, x: float, y: float, by: By) -> None:
        """Click or touch a place on the canvas."""
        left, top, side = self.tab.evaluate(
            "(() => { const b = document.getElementById('canvas').getBoundingClientRect(); return [b.left, b.top,"
            " b.width]; })()"
        )
        self._at(left + x / 96 * side, top + y / 96 * side, by)

    def _at(self, x: float, y: float, by: By) -> None:
        (self.tab.touch if by == "touch" else self.tab.click)(x, y)


#: A clock for a page that does not depend on how busy the computer is: refreshes of exactly 1/60 s
#: follow one another as fast as they are drawn, and time stands still from 24 frames after
#: something is waited for on (400 ms, as at the virtual window) until the hands have done it, and
#: set ``released``.
WARP = """(() => {
  const period = 1000 / 60, draw = new Map(), stamps = new WeakMap();
  let now = 1000, count = 0, presses = 0, waits = "", since = 0;
  globalThis.released = globalThis.held = "";
  performance.now = () => now;
  Object.defineProperty(Event.prototype, "timeStamp", { get() {
    if (!stamps.has(this)) stamps.set(this, now + 0.001 * ++presses);
    return stamps.get(this);
  } });
  globalThis.requestAnimationFrame = (call) => { draw.set(++count, call); return count; };
  globalThis.cancelAnimationFrame = (number) => draw.delete(number);
  const channel = new MessageChannel();
  const again = () => channel.port2.postMessage(0);
  channel.port1.onmessage = () => {
    const shown = document.getElementById("stage")?.dataset.waits ?? "";
    if (shown !== waits) { waits = shown; since = 0; }
    globalThis.held = /^(answer|on) /.test(waits) && since >= 24 && globalThis.released !== waits ? waits : "";
    if (globalThis.held || !draw.size) { setTimeout(again, 4); return; }
    [now, since, presses] = [now + period, since + 1, 0];
    const calls = [...draw.values()];
    draw.clear();
    for (const call of calls) call(now);
    if (waits) again(); else setTimeout(again, 8); // between trials nothing is in a hurry
  };
  again();
})()"""


class Warp(Clock):
    """A clock of their own for the pages that are opened in a tab from now on: see :data:`WARP`."""

    def __init__(self, tab: Tab) -> None:
        tab.ask("Page.addScriptToEvaluateOnNewDocument", source=WARP)

    def wait(self, tab: Tab, waits: str, seconds: float) -> None:
        """Until time stands still."""
        tab.until(f"globalThis.held === {json.dumps(waits)}")

    def done(self, tab: Tab, waits: str) -> None:
        """Time goes on."""
        tab.evaluate(f"globalThis.released = {json.dumps(waits)}")
