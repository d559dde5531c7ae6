"""The paradigms of the library, as the app shows them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import spanlab
from spanlab.core import SpanLabError, __version__, write_json
from spanlab.human_data import conditions
from spanlab.paradigms import Paradigm, compile_trial, load_paradigm


@dataclass(frozen=True, slots=True)
class Card:
    """A paradigm on the wall.

    Parameters
    ----------
    name, title : of the paradigm
    domains, functions : what it is about
    people : whether people's results are published
    network : whether a network that ships knows it
    """

    name: str
    title: str
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
                self._cards = tuple(
                    Card(one.name, one.title, one.domains, one.functions, bool(conditions(one.name)), one.name in known)
                    for one in paradigms
                )
            return self._cards

    def card(self, name: str) -> Card:
        """One of them."""
        return next(card for card in self.cards() if card.name == name)

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


def _network_knows(paradigm: Paradigm) -> bool:
    """Return whether one of the networks that ship was trained on all that a paradigm sets
    networks."""
    trials = (compile_trial(paradigm, levels, 0) for levels in paradigm.combinations())
    views = [paradigm.network_view(trial.steps[0].truth.levels) for trial in trials]
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


def factors(name: str) -> dict[str, Sequence[Any]]:
    """The factors of a paradigm with several levels, in its order."""
    return {
        factor: declared.levels for factor, declared in load_paradigm(name).factors.items() if len(declared.levels) > 1
    }
