"""What the app shows: the paradigms of the library, a trial of one to be played, which nobody takes,
and recorded trials to be looked at."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import numpy as np
from PIL.Image import Image

import spanlab
from spanlab.core import SpanLabError, __version__, kind_named, write_json
from spanlab.human_data import conditions
from spanlab.paradigms import Ask, Paradigm, Percept, Step, compile_trial, load_paradigm, plan_dataset
from spanlab.sessions import TakenTrial, same_trials, taken_trials
from spanlab.sessions.record import read_events, read_session
from spanlab.sessions.transcripts import Transcript
from spanlab.stimuli import BACKGROUND, Stimulus
from spanlab.stimuli.render import picture, render

from .web import RefusedError

#: pixels of a side: of displays that are played, of those of a strip, and of thumbnails
PLAYED, STRIP, THUMBNAIL = 480, 144, 192
#: so long is shown what waits for its participant (ms)
_SELF_PACED_MS = 1500.0


@dataclass(frozen=True, slots=True)
class ShownPicture:
    """A display.

    Parameters
    ----------
    source : a PNG file, as a ``data:`` address
    ms : for how long; a second and a half where the participant goes on
    self_paced : whether the participant goes on
    phase : of the trial
    asks : whether this is when the question is asked
    words : what it shows, in words
    """

    source: str
    ms: float
    self_paced: bool
    phase: str
    asks: bool
    words: str


def played(paradigm: Paradigm, levels: Mapping[str, Any], number: int) -> list[ShownPicture]:
    """The displays of a trial with these levels. It comes from the seeds of validation, of which no
    session has any.

    Raises
    ------
    SpanLabError
        for levels that there are not.
    """
    planned = next(
        iter(
            plan_dataset(paradigm, 0, "validation", 1, {name: [level] for name, level in levels.items()}, start=number)
        )
    )
    return pictures([step.percept for step in planned.compile(paradigm, "corrected").steps], PLAYED)


def pictures(percepts: Sequence[Percept], size_px: int) -> list[ShownPicture]:
    """The displays of steps, one after another."""
    return [
        ShownPicture(
            _png(display.stimulus, size_px),
            _SELF_PACED_MS if display.ms is None else display.ms,
            display.ms is None,
            percept.phase,
            percept.ask is not None,
            display.stimulus.words(),
        )
        for percept in percepts
        for display in percept.displays
    ]


@lru_cache(maxsize=64)
def thumbnail(name: str) -> bytes:
    """The display of a paradigm in which there is most to see, as a PNG file."""
    paradigm = load_paradigm(name)
    trial = compile_trial(paradigm, paradigm.combinations()[len(paradigm.combinations()) // 2], 0)
    stimuli = (display.stimulus for step in trial.steps for display in step.percept.displays)
    return png_of(picture(max(stimuli, key=_drawn).scene(), THUMBNAIL))


def _drawn(stimulus: Stimulus) -> int:
    """Count how many pixels of a small picture are not background."""
    return int((render(stimulus.scene()) != np.array(BACKGROUND)).any(axis=2).sum())


def png_of(image: Image) -> bytes:
    """An image as a PNG file."""
    drawn = io.BytesIO()
    image.save(drawn, "PNG")
    return drawn.getvalue()


def as_source(png: bytes) -> str:
    """A PNG file as a ``data:`` address."""
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")


def _png(stimulus: Stimulus, size_px: int) -> str:
    return as_source(png_of(picture(stimulus.scene(), size_px)))


Mark = Literal["right", "wrong", "partly", "unread", "none"]


@dataclass(frozen=True, slots=True)
class Spot:
    """Where an answer is on the picture of its question, in canvas units.

    Parameters
    ----------
    x, y, width, height : of its area
    number : its place in an order; empty where there is none
    """

    x: float
    y: float
    width: float
    height: float
    number: str = ""


#: half the side of the spot of a direction on a ring, in canvas units
_ON_A_RING = 5.0


def spots(ask: Ask, answer: Any) -> tuple[Spot, ...]:
    """Where an answer is on the picture of its question; nothing where it is words."""
    surface = ask.kind.surface()
    values = [value for value in (answer if isinstance(answer, list | tuple) else (answer,)) if value is not None]
    if surface.dial is not None:
        places = [surface.dial.place_of(value) for value in values if value in surface.dial.values]
        return tuple(Spot(x - _ON_A_RING, y - _ON_A_RING, 2 * _ON_A_RING, 2 * _ON_A_RING) for x, y in places)
    if surface.ordered is not None and (surface.ordered.labels or surface.ordered.written):
        return ()
    where = {region.value: region for region in surface.regions}
    return tuple(
        Spot(one.x0, one.y0, one.x1 - one.x0, one.y1 - one.y0, "" if surface.ordered is None else str(number))
        for number, value in enumerate(values, start=1)
        if (one := where.get(value)) is not None
    )


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question of a trial.

    Parameters
    ----------
    right : the right answer, in words; empty where there is none
    source : its picture, where answers are places on it; empty for others
    spots : where the right answer is
    """

    right: str
    source: str
    spots: tuple[Spot, ...]


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """An answer to a question of a trial.

    Parameters
    ----------
    answer : in words; empty where there was none
    mark : whether it was right
    rt_ms : reaction time; None where there is none
    outcome : answered, omitted, invalid ...
    reply : what a chat model wrote; empty for others
    spots : where it is on the picture of the question
    """

    answer: str
    mark: Mark
    rt_ms: float | None
    outcome: str
    reply: str
    spots: tuple[Spot, ...]


@dataclass(frozen=True, slots=True)
class TakenBy:
    """A trial as somebody took it.

    Parameters
    ----------
    who, session, key : who, in which session, and the trial's key there
    answers : one for each question
    conversation : what a chat model read and wrote, by whom; empty for others
    """

    who: str
    session: str
    key: str
    answers: list[GivenAnswer]
    conversation: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class LookedAt:
    """A finished trial of a session, beside the same trial in others, as its page has it.

    Parameters
    ----------
    paradigm, titles : of the session; titles by language
    key, levels : of the trial
    before, after : the keys of the trials before and after it; empty at the ends
    strip : its displays
    takers : the session it was opened from first
    """

    paradigm: str
    titles: Mapping[str, str]
    key: str
    before: str
    after: str
    levels: Mapping[str, Any]
    strip: list[ShownPicture]
    questions: list[AskedQuestion]
    takers: list[TakenBy]


def look_at(data: Path, path: str, key: str, others: Sequence[tuple[str, str]], who: str) -> LookedAt:
    """Look at a finished trial of a session.

    Parameters
    ----------
    others : path and answerer of the sessions that may have it
    who : the answerer of this session

    Raises
    ------
    SpanLabError
        when the session has no such trial, or it is not finished: before that nobody sees what is
        right.
    """
    session = same_trials(data / path)
    taken = {trial.key: trial for trial in taken_trials(session, read_events(data / path), practice=True)}
    if key not in taken:
        raise RefusedError("trial", session=path, trial=key)
    trial, keys = taken[key], list(taken)
    at = keys.index(key)
    return LookedAt(
        paradigm=session.paradigm.name,
        titles=session.paradigm.titles,
        key=key,
        before=keys[at - 1] if at else "",
        after=keys[at + 1] if at + 1 < len(keys) else "",
        levels=trial.start["levels"],
        strip=pictures([step.percept for step in trial.trial.steps], STRIP),
        questions=[question_of(step) for step in trial.trial.steps if step.percept.ask is not None],
        takers=[
            _taken_by(data, who, path, trial),
            *(
                _taken_by(data, name, other, same)
                for other, name in others
                if other != path and (same := _same(data / other, trial)) is not None
            ),
        ],
    )


def question_of(step: Step) -> AskedQuestion:
    """The question of a step that asks."""
    percept, answer = step.percept, step.truth.answer
    ask = percept.ask
    if ask is None:
        raise ValueError("nothing is asked in this step")
    surface = ask.kind.surface()
    at_places = surface.dial is not None or (bool(surface.regions) and surface.ordered is None) or surface.several
    source = _png(percept.for_machine.stimulus, STRIP) if at_places else ""
    if answer is None:
        return AskedQuestion("", source, ())
    return AskedQuestion(_written(ask, answer), source, spots(ask, answer))


def _same(folder: Path, trial: TakenTrial) -> TakenTrial | None:
    """The same trial in another session, if it is finished there."""
    wanted = trial.start["trial_id"]
    with suppress(SpanLabError):
        events = read_events(folder)
        if any(event["event"] == "trial_start" and event["trial_id"] == wanted for event in events):
            return next(
                (
                    one
                    for one in taken_trials(same_trials(folder), events, practice=True)
                    if one.start["trial_id"] == wanted
                ),
                None,
            )
    return None


def _taken_by(data: Path, who: str, path: str, trial: TakenTrial) -> TakenBy:
    """What somebody answered in a trial."""
    asks = [step.percept.ask for step in trial.trial.steps if step.percept.ask is not None]
    return TakenBy(
        who,
        path,
        trial.key,
        [given_answer(ask, line) for ask, line in zip(asks, trial.questions, strict=False)],
        _conversation(data / path, read_session(data / path)["agent_kind"], trial.key),
    )


def answer_mark(line: Mapping[str, Any]) -> Mark:
    """What became of a recorded answer."""
    if line["outcome"] == "invalid":
        return "unread"
    return marked([score["correct"] for score in line["scores"] if score["correct"] is not None])


def marked(right: Sequence[bool]) -> Mark:
    """The mark of what was asked: whether all, some or none of it was right."""
    if not right:
        return "none"
    if all(right):
        return "right"
    return "partly" if any(right) else "wrong"


def given_answer(ask: Ask, line: Mapping[str, Any]) -> GivenAnswer:
    """A recorded answer to a question."""
    value = line["value"]
    answer = "" if value is None else _written(ask, value)
    reply = line["raw"] if isinstance(line["raw"], str) else ""
    return GivenAnswer(answer, answer_mark(line), line["rt_ms"], line["outcome"], reply, spots(ask, value))


def _conversation(folder: Path, kind: str, key: str) -> tuple[tuple[str, str], ...]:
    """Return what a chat model read and wrote in a trial: who says it, and the text; none for
    others."""
    if not kind_named(kind).converses:
        return ()
    talk = Transcript(folder).talk(key)
    said: list[tuple[str, str]] = []
    for turn in talk.turns:
        said += [
            (message.role, "\n".join(part if isinstance(part, str) else f"[{part.words}]" for part in message.parts))
            for message in turn.sent
        ]
        said.append(("assistant", turn.reply.content))
    return tuple(said)


def _written(ask: Ask, answer: Any) -> str:
    try:
        return ask.kind.write(tuple(answer) if isinstance(answer, list) else answer)
    except (ValueError, TypeError, IndexError, KeyError):
        return str(answer)


@dataclass(frozen=True, slots=True)
class Card:
    """A paradigm on the wall.

    Parameters
    ----------
    name : of the paradigm
    titles : by language
    domains, functions : what it is about
    people : whether people's results are published
    network : whether a network that ships knows it
    """

    name: str
    titles: Mapping[str, str]
    domains: tuple[str, ...]
    functions: tuple[str, ...]
    people: bool
    network: bool


class Catalogue:
    """The paradigms of the library.

    Parameters
    ----------
    kept : a file that keeps which paradigms a network knows, since it takes seconds to look; it can
        be deleted at any time
    """

    def __init__(self, kept: Path) -> None:
        self._kept = kept
        self._lock = Lock()
        self._cards: tuple[Card, ...] = ()

    def cards(self) -> tuple[Card, ...]:
        """All of them."""
        with self._lock:
            if not self._cards:
                paradigms = [load_paradigm(name) for name in spanlab.list_paradigms()]
                known = self._known(paradigms)
                self._cards = tuple(_card(one, one.name in known) for one in paradigms)
            return self._cards

    def card(self, paradigm: Paradigm) -> Card:
        """One of them, or one of somebody's own."""
        return next((card for card in self.cards() if card.name == paradigm.name), None) or _card(
            paradigm, _network_knows(paradigm)
        )

    def _known(self, paradigms: Sequence[Paradigm]) -> frozenset[str]:
        """The names of those that a network knows."""
        key = {"version": __version__, "paradigms": {one.name: one.hash for one in paradigms}}
        with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            kept = json.loads(self._kept.read_text(encoding="utf-8"))
            if kept["of"] == key:
                return frozenset(kept["known"])
        known = [one.name for one in paradigms if _network_knows(one)]
        with suppress(OSError, SpanLabError):
            self._kept.parent.mkdir(parents=True, exist_ok=True)
            write_json(self._kept, {"of": key, "known": known}, together=True)
        return frozenset(known)


def _card(one: Paradigm, network: bool) -> Card:
    return Card(one.name, one.titles, one.domains, one.functions, bool(conditions(one.name)), network)


def _network_knows(paradigm: Paradigm) -> bool:
    """Return whether one of the networks that ship was trained on all that a paradigm sets
    networks."""
    views = [
        paradigm.network_view(compile_trial(paradigm, levels, 0).steps[0].truth.levels)
        for levels in paradigm.combinations()
    ]
    return all(view is not None for view in views) and any(
        {view.task for view in views if view is not None} <= known for known in _networks()
    )


@lru_cache(maxsize=1)
def _networks() -> tuple[frozenset[str], ...]:
    """The tasks of each network that ships; none where PyTorch is missing."""
    try:
        from spanlab.agents.network.checkpoints_io import family_of, load

        return tuple(frozenset(load(name).network.tasks) for name in family_of("laptop"))
    except (SpanLabError, ImportError):
        return ()


def factors(paradigm: Paradigm) -> dict[str, Sequence[Any]]:
    """The factors of a paradigm with several levels, in its order."""
    return {factor: declared.levels for factor, declared in paradigm.factors.items() if len(declared.levels) > 1}
