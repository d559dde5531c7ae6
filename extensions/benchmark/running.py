"""The sessions of a suite: what they will cost, and taking them, with the set files of ``spanlab
replay --set-file``."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spanlab.core import SpanLabError, write_whole
from spanlab.sessions import Watcher
from spanlab.sessions.evaluations import EvaluationSet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .suite import Suite

#: The address of the server that chat:MODEL asks.
_URL = "OPENAI_BASE_URL"


class Plan:
    """Plan of what an agent is going to take.

    Parameters
    ----------
    suite : what there is to take
    agent : a name of an agent
    data : folder for the sessions
    watcher : shows progress

    Raises
    ------
    SpanLabError
        when the agent can take nothing, with the reason.
    """

    def __init__(
        self, suite: Suite, agent: str, data: Path, watcher: Watcher, prices: Mapping[str, Any] | None = None
    ) -> None:
        self.suite, self.agent, self.data = suite, agent, data
        self.refused: dict[str, str] = {}
        self.cost = {"sessions": 0.0, "requests": 0.0, "tokens": 0.0, "cost": 0.0}
        self._watcher, self._prices = watcher, dict(prices or {})
        self._parts: dict[str, list[str]] = {}
        self._refusals()
        if not any(self._parts.values()):
            raise SpanLabError(
                f"{agent} can take no part of the suite {suite.called}: {next(iter(self.refused.values()))}"
            )

    def _refusals(self) -> None:
        """Try each paradigm out, and note what the agent cannot take and what the rest will cost."""
        quiet = Watcher(_silent)
        for name, part in self.suite.parts.items():
            self._parts[name] = []
            for paradigm in part.paradigms:
                try:
                    forecast = self._set(name, [paradigm], trial=True).check(quiet)
                except SpanLabError as error:
                    self.refused[paradigm] = re.sub(r"^.*?: ", "", str(error).splitlines()[0], count=1)
                    continue
                self._parts[name].append(paradigm)
                for key, value in forecast.items():
                    self.cost[key] += value

    def _set(
        self, name: str, paradigms: Sequence[str], trial: bool = False, budget: Mapping[str, float] | None = None
    ) -> EvaluationSet:
        """The set file of a part, and what it stands for."""
        part = self.suite.parts[name]
        content: dict[str, Any] = {
            "agents": [self.agent],
            "paradigms": {one: part.paradigms[one] for one in paradigms},
            "seed": self.suite.seed,
        }
        if self.agent.startswith("chat:"):
            content["settings"] = {name: part.settings}
            prices = {self.agent: self._prices} if self._prices else {}
            asked = {"wordings": part.wordings, "prices": prices, "budget": dict(budget or {})}
            content |= {key: value for key, value in asked.items() if value}
        file = self.data / f"{self.suite.suite}-{self.suite.version}-{name}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())  # JSON is YAML
        return EvaluationSet(file, self.data)

    def run(self, max_cost: float | None = None) -> list[Any]:
        """Take what has not been taken; a part of a session that was interrupted goes on.

        Returns
        -------
        the progress of each session

        Raises
        ------
        SpanLabError
            when sessions are left.
        """
        progress: list[Any] = []
        for name, paradigms in self._parts.items():
            if paradigms:
                spent = sum(one.cost or 0.0 for one in progress)
                budget = {"max_cost": max(max_cost - spent, 1e-9)} if max_cost is not None else None
                progress += self._set(name, paradigms, budget=budget).run(self._watcher)
        left = [one for one in progress if one.state != "done"]
        if left:
            raise SpanLabError(
                f"{len(left)} of {len(progress)} sessions are not done ({left[0].why or left[0].state}); run the same"
                " command to continue with them"
            )
        return progress


def _silent(sentence: str) -> None:
    """Say nothing."""


def agent_at(address: str, model: str, models: Callable[[str], list[str]] | None = None) -> str:
    """The chat agent behind a web address; requests of this process go there from now on.

    Parameters
    ----------
    model : its name; the only one that the server has when empty
    models : asks a server for its models

    Raises
    ------
    SpanLabError
        when the server has several models and none was named, or does not answer.
    """
    if not model:
        there = (models or models_at)(address)
        if len(there) != 1:
            listed = "\n".join(f"  spanlab benchmark {address} --model {name}" for name in there[:12])
            raise SpanLabError(
                f"{address} has {len(there)} models; name one:\n{listed}"
                if there
                else f"{address} lists no models; name one with --model NAME"
            )
        model = there[0]
    os.environ[_URL] = address
    return f"chat:{model}"


def models_at(address: str) -> list[str]:
    """The names of the models of a server, as it lists them.

    Raises
    ------
    SpanLabError
        when it does not answer, or answers something else.
    """
    from urllib.request import Request, urlopen

    key = os.environ.get("OPENAI_API_KEY", "").strip()
    request = Request(f"{address.rstrip('/')}/models", headers={"Authorization": f"Bearer {key}"} if key else {})
    try:
        with urlopen(request, timeout=20) as reply:
            return sorted(str(entry["id"]) for entry in json.load(reply)["data"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SpanLabError(
            f"{address} does not say which models it has ({error}); is the server running? Or name one with --model"
            " NAME"
        ) from None
