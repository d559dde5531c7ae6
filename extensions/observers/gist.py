"""Observers of the gist: of everything that was shown they keep a sum, a number, the first or the
last display, and no list of items.

They see percepts and nothing else. What they reach shows how much of a task can be done without
memory for its items; a curve over the load does not tell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from spanlab.agents import Agent, AgentKind, AgentOptions, Episode, Response, TrialContext
from spanlab.core import SpanLabError, nearest
from spanlab.core.agent_kinds import Mark
from spanlab.paradigms import Answer, Ask, Percept
from spanlab.paradigms.responses import Cells, Choice, Continuous, SerialOrder
from spanlab.stimuli import Stimulus

#: the kind of these agents, in records and figures
OBSERVER = AgentKind(
    name="observer",
    help="remembers the gist but no items: observer:sum, observer:filled, observer:first, observer:last",
    role="yardstick",
    label="gist alone",
    order=7,
    mark=Mark(
        light=("#8a6d3b", "#b08d57", "#6b4f1d", "#c9a56b"),
        dark=("#c2a36b", "#9a7b45", "#e0c48f", "#7c6131"),
        dash=(2, 2),
        width=1.4,
        shape="diamond",
        size=38,
    ),
)
#: What each observer keeps.
GISTS: Mapping[str, str] = {
    "sum": "how often each element was shown, over all displays together",
    "filled": "how many elements were shown, and not which",
    "first": "the first display with something in it",
    "last": "the last display with something in it",
}
_SAME, _SEEN, _SYMMETRIC = ("same", "different"), (("m", "-"), ("yes", "no")), ("symmetric", "asymmetric")
#: By kind of display: the attribute that holds its elements.
_ELEMENTS = {
    "Matrix": "filled",
    "Bars": "bars",
    "Figure": "lines",
    "Squares": "red",
    "Letter": "symbol",
    "LetterGrid": "at",
    "Word": "word",
    "Blocks": "lit",
    "Dot": "cell",
    "SwitchBoxes": "cue",
}
#: By kind of display: the attribute that holds a value for each place.
_PLACED = {"Boxes": "markers", "ColourPatches": "colours", "BarPatches": "angles"}

Elements = tuple[Hashable, ...]


def elements(stimulus: Stimulus) -> Elements:
    """Return what a display holds: filled cells, bars, a letter, ...; nothing where a display shows
    no items.

    Examples
    --------
    >>> from spanlab.stimuli.kinds.arrays import Matrix
    >>> elements(Matrix(filled=(1, 7)))
    (1, 7)
    """
    kind = type(stimulus).__name__
    if kind in _PLACED:
        values = getattr(stimulus, _PLACED[kind]) or ()
        return tuple((place, value) for place, value in enumerate(values) if value is not None)
    value = getattr(stimulus, _ELEMENTS[kind]) if kind in _ELEMENTS else None
    if kind == "Letter":  # noise stands around the letter; a digit is a letter, too
        value = "".join(sign for sign in str(value) if sign.isalnum()) or None
    if isinstance(value, tuple):
        return value
    return () if value is None else (value,)


def alternatives(stimulus: Stimulus) -> list[Elements | None]:
    """Return what the options of a question stand for, in their order, where a display shows it;
    None for an empty place."""
    kind = type(stimulus).__name__
    if kind == "SideBySide":
        return [tuple(getattr(stimulus, side)) for side in ("left", "right")]
    shown = {"PatternArray": "cells", "WordArray": "places"}.get(kind)
    places = getattr(stimulus, shown) if shown else ()
    return [value if value is None or isinstance(value, tuple) else (value,) for value in places]


@dataclass
class Gist:
    """Memory of a trial that an observer keeps.

    Parameters
    ----------
    keeps : one of :data:`GISTS`
    held : elements and how often they were shown; of the first or the last display alone where
        these are kept, and empty for one who keeps the number
    displays : with something in them, so far
    shown : elements in all of them
    """

    keeps: str
    held: Counter[Hashable] = field(default_factory=Counter)
    displays: int = 0
    shown: int = 0

    def take(self, own: Elements) -> None:
        """Take in a display."""
        if not own:
            return
        self.displays += 1
        self.shown += len(own)
        if self.keeps == "sum":
            self.held.update(own)
        elif self.keeps == "last" or (self.keeps == "first" and self.displays == 1):
            self.held = Counter(own)

    def alike(self, own: Elements) -> bool:
        """Return whether a display is what is held, as far as it can be known."""
        return len(own) == self.shown if self.keeps == "filled" else Counter(own) == self.held

    def known(self, own: Elements) -> bool | None:
        """Return whether a display was seen before, as far as it can be known; None where it
        cannot."""
        if self.keeps == "filled":
            return None
        return all(self.held[one] for one in own) if self.keeps == "sum" else Counter(own) == self.held

    def familiarity(self, own: Elements) -> float:
        """Return how much an alternative is like what is held: the mean count of its elements, or
        how near its number of elements is to that of a display."""
        if self.keeps == "filled":
            return -abs(len(own) - self.shown / max(1, self.displays))
        return sum(self.held[one] for one in own) / max(1, len(own))


class GistObserver(Agent):
    """Keeps the gist of a trial and none of its items: ``observer:sum``, ``observer:filled``,
    ``observer:first`` or ``observer:last``.

    Whatever the gist does not tell is guessed.
    """

    kind: ClassVar[AgentKind] = OBSERVER

    def __init__(self, keeps: str) -> None:
        if keeps not in GISTS:
            raise SpanLabError(
                f"unknown observer '{keeps}'{nearest(keeps, GISTS)}; there are"
                f" {', '.join(f'observer:{name}' for name in GISTS)}"
            )
        self.keeps, self.name = keeps, f"observer:{keeps}"

    @classmethod
    @override
    def from_name(cls, detail: str, options: AgentOptions) -> GistObserver:
        return cls(detail)

    @override
    def start(self, context: TrialContext) -> GistEpisode:
        return GistEpisode(self.keeps, context.seed)

    @override
    def settings(self) -> dict[str, Any]:
        return {"keeps": GISTS[self.keeps]}


class GistEpisode(Episode):
    """One trial of an observer of the gist."""

    def __init__(self, keeps: str, seed: int) -> None:
        self._gist = Gist(keeps)
        self._random = np.random.RandomState(seed % 2**32)
        self._asked = 0

    @override
    async def step(self, percept: Percept, truth: Any = None) -> Response | None:
        if not percept.model_step:
            return None
        stimulus = percept.for_machine.stimulus
        if percept.ask is None:
            self._gist.take(elements(stimulus))
            return None
        answer, kind = self._answer(percept.ask, stimulus), percept.ask.kind
        # whether something on display is symmetric is seen: nothing has to be remembered
        if not isinstance(kind, Choice) or kind.options not in (_SYMMETRIC, _SYMMETRIC[::-1]):
            self._gist.take(elements(stimulus))
        return Response(answer)

    def _answer(self, ask: Ask, stimulus: Stimulus) -> Answer:
        """The answer that the gist tells, or a guess."""
        kind = ask.kind
        self._asked += 1
        found: Answer | None = None
        if isinstance(kind, Choice):
            found = self._chosen(kind, stimulus)
        elif isinstance(kind, SerialOrder):
            found = self._list(kind)
        elif isinstance(kind, Cells):
            found = self._cells(kind)
        elif isinstance(kind, Continuous):
            found = self._at_place(getattr(stimulus, "probed", None))
        return kind.guess(self._random) if found is None else found

    def _chosen(self, kind: Choice, stimulus: Stimulus) -> Answer | None:
        gist, own, options = self._gist, elements(stimulus), kind.options
        shown = alternatives(stimulus)
        if shown:
            return self._most_familiar(options, shown)
        if isinstance(options, int):
            return self._at_place(getattr(stimulus, "probed", None))
        pair = tuple(sorted(str(option) for option in options))
        if pair == tuple(sorted(_SAME)):
            return _SAME[not gist.alike(own)]
        if pair == tuple(sorted(_SYMMETRIC)):
            symmetric = _symmetric(own or (tuple(gist.held) if gist.keeps == "sum" else ()))
            return None if symmetric is None else _SYMMETRIC[not symmetric]
        for yes, no in _SEEN:
            if pair == tuple(sorted((yes, no))):
                known = gist.known(own) if gist.displays else False
                return None if known is None else (no, yes)[known]
        return self._by_cue(options, stimulus)

    def _most_familiar(self, options: Any, shown: Sequence[Elements | None]) -> Answer | None:
        """The alternative that is most like what is held; of several, one at random."""
        names = list(range(options)) if isinstance(options, int) else list(options)
        # a display may have more places than there are options: the last ones are empty
        scores = {name: self._gist.familiarity(own) for name, own in zip(names, shown, strict=False) if own is not None}
        if (
            self._gist.keeps in ("first", "last")
            and len(scores) > 2
            and self._asked != (1 if self._gist.keeps == "first" else len(scores))
        ):
            scores = {
                name: 0.0 for name, score in scores.items() if score < 1
            }  # items are asked for in their order, and it is another one's turn
        best = [name for name, score in scores.items() if score > max(scores.values()) - 1e-9]
        return best[self._random.randint(len(best))]

    def _at_place(self, place: int | None) -> Answer | None:
        """The value that was shown at a place: a box's marker, a colour, an angle."""
        found = [one[1] for one in self._gist.held if isinstance(one, tuple) and len(one) == 2 and one[0] == place]
        return None if place is None or len(found) != 1 else _number(found[0])

    def _by_cue(self, options: Any, stimulus: Stimulus) -> Answer | None:
        """Return which of two answers a cue asks for, with a marker in one of four boxes; the cue
        that was shown most often, if several are held."""
        marker, cues = (
            getattr(stimulus, "marker", None),
            Counter({cue: count for cue, count in self._gist.held.items() if cue in ("up_down", "left_right")}),
        )
        if marker is None or not cues:
            return None
        return options[marker // 2 if cues.most_common(1)[0][0] == "up_down" else marker % 2]

    def _list(self, kind: SerialOrder) -> Answer | None:
        """A list with what is held: all of it in random order, or the first or last item in its
        place; the rest is guessed."""
        answer = list(kind.guess(self._random))  # type: ignore[arg-type]
        held = [item for item in self._gist.held if item in kind.values]
        if not held:
            return None
        if self._gist.keeps == "sum":
            chosen = [held[place] for place in self._random.permutation(len(held))][: len(answer)]
            rest = [item for item in answer if item not in chosen]
            return tuple((chosen + rest)[: len(answer)])  # type: ignore[return-value]
        positions = list(kind.positions or range(1, len(answer) + 1))
        place = 1 if self._gist.keeps == "first" else max(positions)
        if place not in positions[: len(answer)]:
            return tuple(answer)
        at = positions.index(place)
        if not kind.repeats and held[0] in answer:
            answer[answer.index(held[0])] = answer[at]
        answer[at] = held[0]  # type: ignore[call-overload]
        return tuple(answer)

    def _cells(self, kind: Cells) -> Answer | None:
        """The cells that are held, then guesses."""
        held = list(self._gist.held)
        rest = [cell for cell in kind.guess(self._random) if cell not in held]  # type: ignore[union-attr]
        return tuple((held + rest)[: kind.take])  # type: ignore[return-value]


def _symmetric(cells: Sequence[Hashable], side: int = 10) -> bool | None:
    """Return whether filled cells of a grid are symmetric about its vertical midline; None for no
    cells."""
    filled = {cell for cell in cells if isinstance(cell, int)}
    return {cell // side * side + side - 1 - cell % side for cell in filled} == filled if filled else None


def _number(value: Any) -> Any:
    """A value as an answer: angles are whole degrees."""
    return int(value) if isinstance(value, float) else value
