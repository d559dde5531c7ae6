"""Sessions with a person at the screen that are not part of a study: seeds, trials, the record, and
the participant.

No two people in a data folder get the same trials of a paradigm unless the user asks for it.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from ..agents.window import WindowAgent
from ..core.errors import SpanLabError
from ..core.locale import languages
from ..paradigms import Generator, load_paradigm
from ..paradigms.identity import MAX_MASTER_SEED, digest
from .key_mapping import KeySetting, key_request
from .plan import ChosenTrials, plan_trials
from .record.reader import sessions_below
from .run import begin, session_stem
from .session import Session
from .triggers import trigger_request

#: seeds of first sessions in studies with a seed are below this one, and follow from the
#: participant's number; all others are from here on
LOWER_HALF = (MAX_MASTER_SEED + 1) // 2


#: the origin of a seed that was drawn at random, for the record of a session
DRAWN: Mapping[str, Any] = {"given": False, "independent": True}


@dataclass(frozen=True, slots=True)
class SessionSeed:
    """The seed of a session with a single paradigm.

    Parameters
    ----------
    seed : of the session
    number : of the session, among those that this participant has of the paradigm in this data
        folder, from 1; None where the seed was given
    """

    seed: int
    number: int | None = None

    def as_json(self) -> dict[str, Any]:
        """The origin of the seed, for the record of the session."""
        return {"given": True} if self.number is None else {**DRAWN, "session_number": self.number}


def seed_for(data: Path, paradigm: str, participant: str, names: Sequence[str] | None = None) -> SessionSeed:
    """Draw the seed of a participant's next session: at random, and unique in this folder.

    Parameters
    ----------
    names : of all sessions in the folder, where they are known
    """
    pattern = re.compile(re.escape(session_stem(paradigm, participant, 0)[:-1]) + r"\d+(-\d+)?")
    names = session_names(data) if names is None else names
    number = 1 + sum(pattern.fullmatch(name) is not None for name in names)
    in_use = seeds_taken(names, paradigm)
    return SessionSeed(next(seed for seed in random_seeds() if seed not in in_use), number)


def random_seeds() -> Iterator[int]:
    """Seeds from the randomness of the system. Nothing about a participant can be read from them,
    so they may be shared (:func:`.seed_independent`)."""
    return (LOWER_HALF + secrets.randbelow(LOWER_HALF) for _ in count())


def drawn_seeds(key: list[object]) -> Iterator[int]:
    """Seeds that follow from some names, in the order in which they are tried."""
    return (LOWER_HALF + int(digest([*key, attempt], length=8), 16) % LOWER_HALF for attempt in count(1))


def session_names(data: Path) -> list[str]:
    """The names of all sessions in a data folder, those of studies too."""
    return [folder.name for folder in sessions_below(data)]


def seeds_taken(names: Sequence[str], paradigm: str) -> set[int]:
    """The seeds of all sessions of a paradigm, by their names."""
    pattern = re.compile(re.escape(paradigm) + r"-.*-s(\d+)(-\d+)?")
    return {int(match[1]) for name in names if (match := pattern.fullmatch(name))}


@dataclass(frozen=True, slots=True)
class Seat:
    """Who sits down at a window: a person, or the simulated participant.

    Parameters
    ----------
    participant : identifier of the person
    window, simulate : as :func:`.seating.seat` takes them
    """

    participant: str
    window: Mapping[str, Any]
    simulate: str | None = None

    def who(self) -> str:
        """The person, or the simulated participant, as records of sessions name them.

        Raises
        ------
        SpanLabError
            when nobody takes part.
        """
        from ..agents.human.seating import parse_simulate

        if self.participant:
            return self.participant
        if self.simulate is None:
            raise SpanLabError(
                "who takes part? Give {participant} ID (or {simulate} capacity for a rehearsal)",
                names=["participant", "simulate"],
            )
        return f"simulated:{parse_simulate(self.simulate)[0]}"


def plan_for_somebody(
    data: Path,
    paradigm: str,
    who: str,
    *,
    seed: int | None = None,
    levels: Mapping[str, Sequence[Any]] | None = None,
    trials: int | None = None,
    design: str | None = None,
    generator: Generator | None = None,
) -> ChosenTrials:
    """Plan the trials of somebody at a window; what is None was not said. A seed that is not given
    is drawn (:func:`seed_for`).

    Parameters
    ----------
    data : folder for sessions
    paradigm : name in the library, or a YAML file

    Raises
    ------
    SpanLabError
        for what is unknown or impossible.
    """
    drawn = seed_for(data, load_paradigm(paradigm).name, who) if seed is None else SessionSeed(seed)
    chosen = plan_trials(paradigm, drawn.seed, levels, trials, design, generator or "corrected")
    return replace(chosen, extra={"seed_from": drawn.as_json()})


def begin_with_somebody(
    data: Path,
    chosen: ChosenTrials,
    seat: Seat,
    *,
    say: Callable[[str], None],
    levels: Mapping[str, Sequence[Any]] | None = None,
    language: str = "en",
    practice: bool = True,
    pilot: bool = False,
    keys: KeySetting | None = None,
) -> tuple[Session, WindowAgent]:
    """Begin the session of a person or of the simulated participant; the window is open when this
    returns.

    Parameters
    ----------
    data : folder for sessions
    chosen : from :func:`plan_for_somebody`
    say : takes sentences for whoever has started the session
    levels : those that were chosen for this session; None where none were

    Raises
    ------
    SpanLabError
        when there is no display, or something that was given is unknown, impossible or without
        meaning.
    """
    from ..agents.human.seating import seat as take_seat

    port = str(seat.window.get("triggers") or "")
    tell_unspoken(language, say)
    agent = take_seat(seat.simulate, chosen.seed, seat.window)
    extra = {**chosen.extra, "keys": key_request(keys or KeySetting(), seat.participant)}
    if port:
        extra["triggers"] = trigger_request(chosen.paradigm, port)
    asked = chosen.request(pilot)
    request = replace(
        asked, participant=seat.participant, language=language, practice=practice, levels=levels, extra=extra
    )
    return begin(data, chosen.paradigm, agent, chosen.plan, request), agent


def tell_unspoken(language: str, say: Callable[[str], None]) -> None:
    """Say when a session is in a language that the window and legends do not speak."""
    if language not in languages():
        say(
            f"spanlab: the window and legends are available in {', '.join(languages())}; their own texts are in"
            f" English, not in '{language}'"
        )
