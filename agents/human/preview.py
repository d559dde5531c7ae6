"""Stepping through one trial in the window, display by display, at one's own pace: what it looks
like there. Nothing is answered or recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ...core.locale import sentence
from ...paradigms import AnswerKeys, Display, Percept, Trial, Truth
from ...paradigms.translation import Words, translated_display
from .display.lettering import TextBlock, set_text
from .input.answering import AnswerSheet
from .sounding import Sounding
from .stage import Stage


@dataclass(frozen=True, slots=True)
class View:
    """One display of the trial.

    Parameters
    ----------
    phase : of its step; of feedback with the verdict that brings it
    number : number of the question that it puts, 0 without one
    """

    display: Display
    phase: str
    percept: Percept
    truth: Truth
    number: int = 0


def views(trial: Trial) -> list[View]:
    """Every display of a trial in sequence; of feedback all that may come."""
    return list(_views(trial))


def _views(trial: Trial) -> Iterator[View]:
    number = 0
    for step in trial.steps:
        number += step.percept.ask is not None
        for verdict, percept in step.feedback.items() if step.feedback is not None else [("", step.percept)]:
            phase = f"{percept.phase}: {verdict}" if verdict else percept.phase
            for display in percept.displays:
                yield View(display, phase, percept, step.truth, number if percept.ask is not None else 0)


class Preview:
    """One trial at the window.

    Parameters
    ----------
    stage : the open window
    language : of legends and of the preview's own words
    words : texts of the trial, each with what is read in its place in this language
    """

    def __init__(self, stage: Stage, trial: Trial, language: str = "en", words: Words | None = None) -> None:
        self._stage, self._language = stage, language
        self.views = [replace(view, display=translated_display(view.display, words or {})) for view in views(trial)]
        self.number = 0
        self.answer_shown = False
        self._keys = AnswerKeys(words=words or {})
        kinds = dict.fromkeys(
            step.percept.ask.kind.with_keys(self._keys) for step in trial.steps if step.percept.ask is not None
        )
        prompts = dict.fromkeys(
            step.percept.ask.prompt
            for step in trial.steps
            if step.percept.ask is not None and step.percept.ask.prompt is not None
        )
        stage.surface.prepare(tuple(kinds), language, prompts)
        stage.renderer.prepare(view.display.stimulus for view in self.views)

    def run(self) -> None:
        """Show one display after another until Escape is pressed, or the last one is left."""
        while 0 <= self.number < len(self.views):
            step = self._show(self.views[self.number])
            if step == 0:
                return
            self.number = max(0, self.number + step)
            self.answer_shown = False

    def caption(self) -> str:
        """The caption of a display: its number, its phase, how long it lasts."""
        view = self.views[self.number]
        ms = (
            sentence("window.until_answer" if view.number else "window.self_paced", self._language)
            if view.display.ms is None
            else f"{view.display.ms:g} ms"
        )
        return f"{self.number + 1} / {len(self.views)} · {view.phase} · {ms}"

    def answer(self) -> str:
        """The correct answer to the question on the screen, in words; empty where nothing is asked."""
        view = self.views[self.number]
        if view.percept.ask is None or view.truth.answer is None:
            return ""
        kind, answer = view.percept.ask.kind.with_keys(self._keys), view.truth.answer
        written = kind.write(answer) if isinstance(answer, tuple) else kind.label(answer)
        return sentence("window.correct", self._language, answer=written)

    def _show(self, view: View) -> int:
        """Show one display; 1 for the next one, -1 for the one before, 0 to leave."""
        stage = self._stage
        stage.presses.forget()
        stage.pointer(False)
        draw = self._drawer(view)
        sounding = Sounding(stage)
        sounding.due(view.display, stage.window.now(), 0)
        stage.tell("page", at := stage.replace(None, draw))
        sounding.came(at)
        while True:
            stage.guard(0.003)
            for press in stage.presses.take():
                name = "space" if press.device == "click" else press.key
                if name == "escape":
                    return 0
                if name in ("space", "right", "return"):
                    return 1
                if name in ("left", "backspace") and self.number:
                    return -1
                if name == "a" and self.answer():
                    self.answer_shown = not self.answer_shown
                    draw = self._drawer(view)
                    stage.tell("page", stage.replace(None, draw))
            stage.ready(draw, id(draw))
            stage.again()

    def _drawer(self, view: View) -> Callable[[], None]:
        stage, letter = self._stage, self._stage.letter_px
        width, height = stage.window.size
        edge = height // 2 - round(1.6 * letter)
        ask = view.percept.ask
        sheet = None if ask is None else AnswerSheet(replace(ask, kind=ask.kind.with_keys(self._keys)), 0.0)
        keys = sentence("window.preview_answer" if self.answer() else "window.preview", self._language)
        above = [TextBlock(self.caption(), letter, weight="semibold")]
        if self.answer_shown:
            above.append(TextBlock(self.answer(), letter, stage.theme.accent_strong, weight="semibold"))
        top, bottom = (
            stage.pictures.once(set_text(tuple(blocks), width - 2 * letter, theme=stage.theme))
            for blocks in (above, [self._muted(keys)])
        )

        def draw() -> None:
            stage.renderer.draw(view.display.stimulus)
            if sheet is not None:
                stage.surface.draw(sheet, view.number, (-width, -height), 0.0)
            elif view.display.ms is None:
                stage.surface.draw_hint()
            self._put(top, edge - float(top.size[1]) / 2 + letter)
            self._put(bottom, -edge)

        return draw

    def _muted(self, text: str) -> TextBlock:
        return TextBlock(text, round(self._stage.letter_px * 0.9), self._stage.theme.muted)

    def _put(self, picture: Any, y: float) -> None:
        self._stage.pictures.draw(picture, 0, round(y))
