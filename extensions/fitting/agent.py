"""Models as agents: ``cognitive:slots?k=3.1&sd=18`` takes trials and answers as the model does with
these parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from spanlab.agents import Agent, AgentKind, AgentOptions, Episode, Response, TrialContext
from spanlab.analysis.stats import signal_of
from spanlab.core import SpanLabError, nearest
from spanlab.paradigms import Percept, Truth
from spanlab.paradigms.responses import ResponseKind

from .markers import ROLES, MovingMarkers
from .models import Model, models_named
from .trials import Kind, Trials

#: Words for a signal.
_SIGNALS = ("different", "m", "match", "present", "yes", "old", "change")
#: What an item is in a display: the first of these fields that it has.
_ITEM = ("at", "lit", "filled", "word", "symbol", "colours", "angles", "bars")
#: Paradigms whose items have to be understood, not only compared.
_UNREAD = re.compile("noise|reasoning|abstraction")


class Cognitive(Agent):
    """A cognitive model with parameters. It sees percepts and nothing else: from them it knows what
    was shown, and answers with the errors of the model."""

    kind: ClassVar[AgentKind] = AgentKind(
        "cognitive",
        help=(
            "a cognitive model with parameters: cognitive:slots?k=3.1&sd=18 (spanlab fit names those that fit your"
            " data)"
        ),
        role="yardstick",
        label="cognitive model",
        order=6,
    )

    def __init__(self, model: str, values: Mapping[str, float]) -> None:
        self.models = models_named(model)
        self.values = dict(values)
        self.name = f"cognitive:{model}" + (
            "?" + "&".join(f"{name}={value:g}" for name, value in values.items()) if values else ""
        )

    @classmethod
    @override
    def from_name(cls, detail: str, options: AgentOptions) -> Cognitive:
        """See :meth:`.Agent.from_name`: the model, and values of its parameters; those that are not
        given have their typical value."""
        name, _, given = detail.partition("?")
        if not name:
            raise SpanLabError("cognitive:MODEL takes the name of a model, such as cognitive:slots?k=3.1")
        values: dict[str, float] = {}
        for pair in filter(None, given.split("&")):
            parameter, _, number = pair.partition("=")
            try:
                values[parameter] = float(number)
            except ValueError:
                raise SpanLabError(
                    f"cognitive:{name} takes parameters as NAME=NUMBER, such as k=3.1; found '{pair}'"
                ) from None
        _check(models_named(name), values)
        return cls(name, values)

    @override
    def check_trial(self, context: TrialContext, steps: int) -> None:
        if _UNREAD.search(context.paradigm):
            raise SpanLabError(
                f"{self.name} compares items as they are shown, and those of {context.paradigm} have to be understood"
            )

    @override
    def check_questions(self, kinds: Sequence[ResponseKind]) -> None:
        asked = {kind: answers for kind in kinds if (answers := answers_of(kind)) is not None}
        if not asked:
            raise SpanLabError(f"{self.name} knows no answer to such questions: {kinds[0].question()}")
        for answers in asked.values():
            if not any(answers in model.kinds for model in self.models):
                raise SpanLabError(f"{self.name} is not a model of such questions ({answers}); see spanlab fit")

    @override
    def start(self, context: TrialContext) -> Remembering:
        return Remembering(self, context)

    @override
    def settings(self) -> Mapping[str, Any]:
        return {"model": self.models[0].name, "parameters": self.values}


def _check(models: list[Model], values: Mapping[str, float]) -> None:
    """Refuse parameters that a model does not have, and values beyond their bounds."""
    blank = Trials("order", np.array([1, 2]), np.array([0, 1]), np.zeros(2, int), {"once": np.zeros(2, int)})
    known = {parameter.name: parameter for model in models for parameter in model.parameters(blank)}
    for name, value in values.items():
        parameter = known.get(name) or known.get(name.rpartition("_")[0])
        if parameter is None:
            raise SpanLabError(
                f"{models[0].name} has no parameter '{name}'{nearest(name, known)}; there are {', '.join(known)}"
            )
        if not parameter.low <= value <= parameter.high:
            raise SpanLabError(
                f"{name} of {models[0].name} lies from {parameter.low:g} to {parameter.high:g}; found {value:g}"
            )


def answers_of(kind: ResponseKind) -> Kind | None:
    """Return the kind of answers that models have to a question; None where they only guess."""
    asked = kind.model_dump()
    options: Any = asked.get("options")
    if kind.name == "continuous":
        return "report"
    if kind.name == "sequence":
        return "order"
    if kind.name != "choice":
        return None
    if isinstance(options, tuple) and any(option in _SIGNALS for option in options):
        return "change" if "different" in options else "detection"
    return (
        "order" if isinstance(options, int) or asked["layout"] else None
    )  # items at places; words without places are judgements


class Remembering(Episode):
    """A model in one trial: it keeps what is shown exactly, and answers with the errors that the
    model makes."""

    def __init__(self, agent: Cognitive, context: TrialContext) -> None:
        self._agent = agent
        self._random = np.random.RandomState(context.seed % 2**32)
        lag = re.search(r"\b(\d)-back", context.instructions)
        self._lag = int(lag[1]) if lag else 0
        self._items: list[Any] = []
        self._markers = MovingMarkers()
        self._given: list[int] = []
        self._other: list[Any] = []

    @override
    async def step(self, percept: Percept, truth: Truth | None = None) -> Response | None:
        stimulus = percept.for_machine.stimulus.model_dump()
        item = next((stimulus[name] for name in _ITEM if stimulus.get(name) is not None), None)
        self._markers.see(stimulus)
        if percept.ask is None:
            if item is not None and self._items[-1:] != [item]:
                self._items.append(item)
            return None
        return Response(self._answer(percept.ask.kind, stimulus, item))

    def _answer(
        self, kind: ResponseKind, stimulus: Mapping[str, Any], item: Any
    ) -> int | str | tuple[int | str | None, ...]:
        asked, answers = kind.model_dump(), answers_of(kind)
        options: Any = asked.get("options")
        if answers == "report":
            return self._report(asked, stimulus["probed"])
        if kind.name == "sequence":
            positions = asked["positions"] or range(1, len(self._items) + 1)
            return tuple(
                self._in_order(position, options, self._items, once=not asked["repeats"]) for position in positions
            )
        if self._markers.now and any("updating" in model.kinds for model in self._agent.models):
            return self._moved(stimulus["probed"])
        if answers == "order":
            cells = stimulus.get("cells") or stimulus.get("places") or ()
            if not any(shown in cells for shown in self._items):
                raise SpanLabError(
                    f"{self._agent.name} looks for the items of the list among the options, and they are not shown"
                    " there"
                )
            places = list(range(len(cells))) if isinstance(options, int) else list(cells)
            return self._in_order(
                len(self._given) + 1, places, [places[cells.index(shown)] for shown in self._items if shown in cells]
            )
        return self._yes_or_no(options, item) if answers in ("detection", "change") else kind.guess(self._random)

    def _drawn(self, kind: Kind, load: int, beside: dict[str, np.ndarray]) -> Any:
        """One answer of the model to a question of some kind."""
        model = next(model for model in self._agent.models if kind in model.kinds)
        asked = Trials(kind, np.array([load]), np.array([0]), np.array([0]), beside)
        given = self._agent.values
        values = {p.name: given.get(f"{p.name}_{load}", given.get(p.name, p.typical)) for p in model.parameters(asked)}
        values = dict(given) | values  # some parameters, such as how often one attends, are of several loads alone
        return model.draw(values, asked, self._random)[0]

    def _report(self, asked: Mapping[str, Any], probed: int) -> int:
        """The value of the probed item on its circle, with the model's error."""
        period = 180 if asked["feature"] == "orientation" else 360
        shown = self._items[-1]
        others = [value for place, value in enumerate(shown) if value is not None and place != probed]
        turn = 2 * np.pi / period
        beside = {"others": (np.array([others], float).reshape(1, -1) - shown[probed]) * turn}
        error = float(self._drawn("report", len(others) + 1, beside)) / turn
        return int(round((shown[probed] + error) / asked["step"]) * asked["step"] % period)

    def _moved(self, box: int) -> int:
        """The cell that the model gives for the marker of a box: one of those that have the role
        which it draws."""
        roles = np.array(self._markers.roles(box))
        role = self._drawn(
            "updating", len(self._markers.now), {"cells": np.bincount(roles, minlength=len(ROLES))[None, :]}
        )
        return int(self._random.choice(np.flatnonzero(roles == role)))

    def _yes_or_no(self, options: tuple[str, ...], item: Any) -> str:
        """Answer whether the display is like the one so far back (N-back), not like the one before
        (change detection), or among those before."""
        yes, no = signal_of(options)
        kind: Kind = "detection"
        if self._lag:
            signal, load = self._items[-self._lag :][:1] == [item] and len(self._items) >= self._lag, self._lag
            self._items.append(item)
        elif yes == "different":
            kind, signal, load = "change", self._items[-1] != item, len(item)
        else:
            signal, load = item in self._items, len(self._items)
        return yes if self._drawn(kind, load, {"signal": np.array([int(signal)]), "size": np.array([np.pi])}) else no

    def _in_order(self, position: int, options: Any, items: list[Any], once: bool = False) -> Any:
        """The item that the model gives for a position of the list; where nothing may be given
        twice, something that was not given before."""
        options = [option for option in (range(options) if isinstance(options, int) else options) if option is not None]
        given = np.zeros((1, len(items)), bool)
        given[0, [place - 1 for place in self._given if place]] = True
        numbers = {"position": position, "stage": len(self._given), "options": len(options), "once": int(once)}
        chosen = int(
            self._drawn(
                "order", len(items), {**{name: np.array([number]) for name, number in numbers.items()}, "given": given}
            )
        )
        self._given.append(chosen)
        unlisted = [option for option in options if option not in items and not (once and option in self._other)]
        value = items[chosen - 1] if chosen else unlisted[self._random.randint(len(unlisted))]
        self._other += [] if chosen else [value]
        return value
