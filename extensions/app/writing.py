"""A paradigm while it is written: whenever its file is saved, its faults beside their lines, a trial to
play, the words that a chat model gets and the frames that a network gets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from PIL import Image

import spanlab
from spanlab.agents import TrialContext
from spanlab.agents.chat import ChatSettings, Conversation, Text
from spanlab.core import SpanLabError
from spanlab.paradigms import Paradigm, Trial, load_paradigm

from .shown import PLAYED, as_source, pictures, png_of

#: where a fault is, as messages name it
_LINE = re.compile(r"[^:\n]*:(\d+)\b")
#: pixels of a side: of the frames of networks, and as they are shown
_FRAME, _SHOWN = 32, 96


class Writing:
    """A file of a paradigm that somebody is writing.

    Parameters
    ----------
    file : of the paradigm
    """

    def __init__(self, file: Path) -> None:
        self.file = file

    def state(self) -> str:
        """By which it is seen that the file was saved."""
        try:
            found = self.file.stat()
        except OSError:
            return ""
        return f"{found.st_mtime_ns}.{found.st_size}"

    def faults(self) -> dict[str, Any]:
        """The lines of the file, and what ``spanlab check`` says of them."""
        try:
            lines = self.file.read_text(encoding="utf-8").splitlines()
            found = spanlab.check(self.file)
            wrong, said = "\n".join(found.wrong).splitlines(), found.lines
        except (OSError, UnicodeDecodeError, SpanLabError) as error:
            lines, wrong, said = [], [str(error)], []
        return {
            "lines": lines,
            "faults": [{"line": int(place[1]) if (place := _LINE.match(one)) else 0, "text": one} for one in wrong],
            "said": [] if wrong else said,
        }

    def trial(self, levels: Mapping[str, Any], number: int) -> dict[str, Any]:
        """A trial of the file as it is now: its displays, the words and the frames.

        Parameters
        ----------
        levels : of the factors; the middle one of each that is not named, or that there is no more

        Raises
        ------
        SpanLabError
            with the faults of the file.
        """
        paradigm = load_paradigm(str(self.file))
        factors = {name: list(factor.levels) for name, factor in paradigm.factors.items() if factor.mode == "crossed"}
        chosen = {
            name: levels[name] if levels.get(name) in known else known[len(known) // 2]
            for name, known in factors.items()
        }
        trial = spanlab.compile_trial(paradigm, chosen, number)
        return {
            "title": paradigm.title,
            "factors": {name: known for name, known in factors.items() if len(known) > 1},
            "levels": chosen,
            "pictures": [asdict(one) for one in pictures([step.percept for step in trial.steps], PLAYED)],
            "words": words_of(paradigm, trial),
            "frames": [
                as_source(png_of(Image.fromarray(frame).resize((_SHOWN, _SHOWN), Image.Resampling.NEAREST)))
                for frame in spanlab.render(trial, _FRAME)
            ],
        }


def words_of(paradigm: Paradigm, trial: Trial) -> list[tuple[str, str]]:
    """What a chat model gets in a trial with the usual settings, and the right answers: who says it,
    and the text."""
    language = "en" if "en" in paradigm.instructions else next(iter(paradigm.instructions))
    kinds = dict.fromkeys(step.percept.ask.kind for step in trial.steps if step.percept.ask is not None)
    instructions = paradigm.instructions_in(language, trial.levels, False)
    conversation = Conversation(
        TrialContext(paradigm.name, paradigm.title, language, instructions, tuple(kinds)), ChatSettings()
    )
    for step in trial.steps:
        percept = step.shown_after("right")
        if not percept.model_step:
            continue
        conversation.show(percept)
        if percept.ask is not None:
            conversation.ask(percept.ask.kind, conversation.prompt_of(percept.ask))
            conversation.hear("" if step.truth.answer is None else percept.ask.kind.write(step.truth.answer))
    return [
        (message.role, "\n\n".join(part.text for part in message.parts if isinstance(part, Text)))
        for message in conversation.ended().messages
    ]
