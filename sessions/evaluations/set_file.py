"""A set of sessions in one file: models x paradigms x settings x repeats, with one budget.

The progress of a set is read from its sessions: the record of each says to which set and which entry it belongs. So the file may grow, and nothing can
contradict the sessions. What is over stays, what was begun goes on, and what is new begins.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from ...agents.base import Agent
from ...agents.chat.cost.totals import Prices
from ...core.agent_kinds import CHAT
from ...core.errors import ParadigmError, SpanLabError
from ...core.json_values import as_levels, as_list, as_object
from ...core.worker_pool import SerialPool
from ...paradigms.identity import digest
from ...paradigms.language.diagnostics import in_order, validated
from ...paradigms.language.yaml_source import read
from ..chosen_trials import ChosenTrials, choose_trials
from ..conduct import Watcher, agent_again, carry_out, make_machine, prepare
from ..record.reader import failed_trials, find_sessions, finished_trials, is_practice, read_events, read_session
from ..session import Session, begin, complete, reopen
from ..transcripts import Transcript

#: under which key a session's record says to which set it belongs
KEY = "evaluation"

State = Literal["done", "stopped", "begun", "waiting"]


def _entries(named: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """What is said of each name; nothing said is an empty mapping."""
    nothing: dict[str, Any] = {}
    return {name: entry or nothing for name, entry in named}


def _silent(sentence: str) -> None:
    """Say nothing."""


class ParadigmEntry(BaseModel):
    """How a paradigm is taken."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    set: dict[str, Any] = Field(default={}, description="levels of factors, each one level or a list, as with --set")
    trials: int | None = Field(default=None, ge=1, le=1_000_000, description="number of trials, distributed over the factor levels")
    design: str | None = Field(default=None, description="design in the paradigm's file; human when not given")
    generator: Literal["corrected", "published"] | None = Field(default=None, description="corrected or published trials")


class Budget(BaseModel):
    """What all sessions of a set may take together."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_cost: float | None = Field(default=None, gt=0, description="the set stops before it costs more, in the currency of the prices")
    max_tokens: int | None = Field(default=None, ge=1, description="the set stops before it uses more tokens, read and written")


class SetFile(BaseModel):
    """The content of a set file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    agents: list[str] = Field(min_length=1, description="who takes the trials, as with --agent; one name, or a list")
    paradigms: dict[str, ParadigmEntry] = Field(min_length=1, description="names in the library or files, each with set, trials, design and generator")
    settings: dict[str, dict[str, Any]] = Field(default={"": {}}, min_length=1, description="settings of chat models by a name of yours, as with --chat")
    repeats: int = Field(default=1, ge=1, le=1000, description="how often chat models take the same trials")
    seed: int = Field(default=1, ge=0, description="seed of the sessions")
    budget: Budget = Field(default=Budget(), description="max_cost and max_tokens of all sessions together")
    prices: dict[str, Prices] = Field(default={}, description="price of a million tokens by agent: input and output (and cached_input)")
    care: dict[str, Any] = Field(default={}, description="limits for requests, as with --care")

    @field_validator("agents", mode="before")
    @classmethod
    def _one_agent(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @field_validator("paradigms", mode="before")
    @classmethod
    def _one_paradigm(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {value: {}}
        if listed := as_list(value):
            named: list[tuple[Any, Any]] = []
            for one in listed:
                if not (isinstance(one, str) or len(as_object(one)) == 1):
                    return value
                named += [(one, {})] if isinstance(one, str) else as_object(one).items()
            if len({name for name, _ in named}) < len(named):
                raise ValueError("each paradigm can be named once; give its levels as a list")
            return _entries(named)
        return _entries(as_object(value).items()) or value

    @field_validator("settings", mode="before")
    @classmethod
    def _no_settings(cls, value: Any) -> Any:
        return _entries(as_object(value).items()) or value


@dataclass(frozen=True, slots=True)
class Entry:
    """One session of a set.

    Parameters
    ----------
    agent, paradigm : as the file names them
    settings : their name in the file; empty for agents that have none, and where the file has none
    repeat : which repetition, from 1
    chat : settings of the chat model
    id : the same for the same session, whatever else is in the file
    """

    agent: str
    paradigm: str
    settings: str
    repeat: int
    chat: Mapping[str, Any]
    id: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one session of a set is.

    Parameters
    ----------
    folder : of the session; None before it begins
    trials, failed : finished, and not obtained
    planned : trials in all
    cost, tokens : so far
    why : what has stopped it
    """

    entry: Entry
    state: State
    folder: Path | None = None
    trials: int = 0
    failed: int = 0
    planned: int = 0
    cost: float | None = None
    tokens: int = 0
    why: str = ""


class EvaluationSet:
    """The sessions of a set file.

    Parameters
    ----------
    path : the file
    data : folder for the sessions

    Raises
    ------
    ParadigmError
        with everything that is wrong with the file, by line.
    """

    def __init__(self, path: Path, data: Path) -> None:
        document = read(path, str(path))
        found, wrong = validated(SetFile, document.data)
        if wrong or not isinstance(found, SetFile):
            raise ParadigmError(in_order(document.problem(where, message) for where, message in wrong))
        self.file, self._data, self._name = found, data, path.stem
        unknown = [name for name in found.prices if name not in found.agents]
        twice = [name for name in found.agents if found.agents.count(name) > 1]
        chats = any(agent.partition(":")[0] == CHAT.name for agent in found.agents)
        problems = [document.problem(("prices", name), f"'{name}' is none of the agents above") for name in unknown]
        problems += [document.problem(("agents",), f"'{twice[0]}' is named twice")] if twice else []
        problems += [
            document.problem((key,), f"{key} are for chat models, and there is none among the agents")
            for key in ("settings", "repeats", "budget", "prices", "care")
            if not chats and key in (document.data or {})
        ]
        for name in found.settings if chats else ():
            if "repeat" in found.settings[name]:
                problems.append(document.problem(("settings", name, "repeat"), "repeat is counted by repeats of this file: leave it out"))
        if problems:
            raise ParadigmError(in_order(problems))
        self.entries = list(self._entries())

    def _entries(self) -> Iterator[Entry]:
        file = self.file
        for paradigm, agent in itertools.product(file.paradigms, file.agents):
            chat = agent.partition(":")[0] == CHAT.name
            for settings, repeat in itertools.product(file.settings, range(1, file.repeats + 1)) if chat else [("", 1)]:
                given = dict(file.settings[settings]) if chat else {}
                told = ", ".join(filter(None, (settings if len(file.settings) > 1 else "", f"repeat {repeat}" if file.repeats > 1 else "")))
                chosen = {**({"label": told} if told else {}), **given, **({"repeat": repeat} if repeat > 1 else {})} if chat else {}
                # what shapes the trials and the answers; a label is a name for them
                shaped = {name: value for name, value in chosen.items() if name != "label"}
                key = digest([agent, paradigm, file.paradigms[paradigm].model_dump(), shaped, repeat, file.seed], length=16)
                yield Entry(agent, paradigm, settings, repeat, chosen, key)

    def progress(self) -> list[Progress]:
        """How far every session is, by what is recorded."""
        begun: dict[str, Path] = {}
        for folder in find_sessions([self._data]) if any(self._data.glob("*/session.json")) else ():
            noted = as_object(dict(read_session(folder)).get(KEY))
            if noted:
                begun.setdefault(str(noted.get("entry")), folder)
        return [self._of(entry, begun.get(entry.id)) for entry in self.entries]

    def _of(self, entry: Entry, folder: Path | None) -> Progress:
        if folder is None:
            return Progress(entry, "waiting")
        info, events = read_session(folder), read_events(folder)
        over = complete(folder)
        # of a session that was killed the replies tell, and not the account of an earlier part
        chat = info["agent_kind"] == CHAT.name
        account = info["account"] if over and "account" in info else Transcript(folder).account() if chat else {}
        in_batches = account.get("in_batches", {})
        cost, more = account.get("cost_at_most"), in_batches.get("cost_at_most")
        ended = next((event for event in reversed(events) if event["event"] in ("interrupted", "session_end")), None)
        return Progress(
            entry,
            "done" if over else "stopped" if ended is not None and ended["event"] == "interrupted" else "begun",
            folder,
            sum(not is_practice(key) for key in finished_trials(events)),
            len(failed_trials(events)),
            len(info["plan"]),
            cost if more is None else (cost or 0.0) + more,
            account.get("prompt_tokens", 0) + account.get("completion_tokens", 0) + in_batches.get("tokens_at_most", 0),
            "" if over or ended is None or ended["event"] != "interrupted" else str(ended.get("why", "")),
        )

    def chosen(self, entry: Entry) -> ChosenTrials:
        """The trials of a session."""
        wanted = self.file.paradigms[entry.paradigm]
        levels = {name: as_levels(value) for name, value in wanted.set.items()}
        return choose_trials(entry.paradigm, seed=self.file.seed, levels=levels, trials=wanted.trials, design=wanted.design, generator=wanted.generator)

    def _care(self, spent: tuple[float, int]) -> dict[str, Any]:
        """How servers are treated, with what is left of the budget as the limit of one session."""
        budget = self.file.budget
        left: dict[str, Any] = {}
        if budget.max_cost is not None:
            left["max_cost"] = budget.max_cost - spent[0]
        if budget.max_tokens is not None:
            left["max_tokens_in_all"] = budget.max_tokens - spent[1]
        return {**self.file.care, **left}

    def _exhausted(self, spent: tuple[float, int]) -> str:
        budget = self.file.budget
        if budget.max_cost is not None and spent[0] >= budget.max_cost:
            return f"max_cost {budget.max_cost:g} of the set is reached"
        if budget.max_tokens is not None and spent[1] >= budget.max_tokens:
            return f"max_tokens {budget.max_tokens} of the set is reached"
        return ""

    def _agent(self, entry: Entry, chosen: ChosenTrials, care: Mapping[str, Any], say: Callable[[str], None]) -> Agent:
        chat = entry.agent.partition(":")[0] == CHAT.name
        return make_machine(entry.agent, self.file.seed, entry.chat if chat else None, care if chat else None, self.file.prices.get(entry.agent), say, chosen)

    def check(self, watcher: Watcher) -> dict[str, float]:
        """Make every agent of what has not begun, and try out and estimate its session, before the first one begins: a slip in the last entry shows at once.

        Returns
        -------
        what these sessions are going to take: ``sessions``, ``requests``, ``tokens`` and ``cost``

        Raises
        ------
        SpanLabError
            for what is wrong, with the entry.
        """
        found = {"sessions": 0.0, "requests": 0.0, "tokens": 0.0, "cost": 0.0}
        quiet = replace(watcher, say=_silent)
        for one in self.progress():
            if one.state != "waiting":
                continue
            chosen = self.chosen(one.entry)
            try:
                agent = self._agent(one.entry, chosen, self._care((0.0, 0)), quiet.say)
                request = prepare(agent, chosen, chosen.request(), quiet.say)
            except SpanLabError as error:
                raise SpanLabError(f"{named(one.entry)}: {error}") from None
            agent.close()
            estimate: Any = request.extra.get("estimate", {})
            found["sessions"] += 1
            found["requests"] += estimate.get("requests", 0)
            found["tokens"] += estimate.get("prompt_tokens", 0) + estimate.get("completion_tokens", 0)
            found["cost"] += estimate.get("cost") or 0.0
        return found

    def run(self, watcher: Watcher) -> Sequence[Progress]:
        """Take every session that is not over. One that a model refuses is left behind with its reason, and the others go on; a budget that is reached ends the
        set.

        Returns
        -------
        how far every session is
        """
        reasons: dict[str, str] = {}
        ended = ""
        for entry in self.entries:
            progress = self.progress()
            one = next(found for found in progress if found.entry.id == entry.id)
            if one.state == "done":
                continue
            others = [found for found in progress if found.entry.id != entry.id]
            spent = sum(found.cost or 0.0 for found in others), sum(found.tokens for found in others)
            ended = self._exhausted(spent) if entry.agent.partition(":")[0] == CHAT.name else ""
            if ended:
                reasons[entry.id] = ended
                continue
            agent: Agent | None = None
            try:
                session, agent, fresh = self._opened(one, self._care(spent), watcher)
                carry_out(session, agent, watcher, SerialPool(), fresh=fresh)
            except SpanLabError as error:
                if str(error).startswith("interrupted"):
                    raise SpanLabError("interrupted; what is finished is saved. The same command goes on") from None
                reasons[entry.id] = str(error).partition("\n")[0]
                watcher.say(f"{named(entry)}: {reasons[entry.id]}")
        return [replace(one, why=one.why or reasons.get(one.entry.id, "")) for one in self.progress()]

    def _opened(self, one: Progress, care: Mapping[str, Any], watcher: Watcher) -> tuple[Session, Agent, bool]:
        """The session of an entry with its agent: a new one, or the one that was begun; and whether it is new."""
        if one.folder is not None:
            session, agent = agent_again(reopen(one.folder), care, self.file.prices.get(one.entry.agent), watcher.say)
            return session, agent, False
        chosen = self.chosen(one.entry)
        agent = self._agent(one.entry, chosen, care, watcher.say)
        request = prepare(agent, chosen, chosen.request(), watcher.say)
        noted = {"set": self._name, "entry": one.entry.id, "settings": one.entry.settings, "repeat": one.entry.repeat}
        request = replace(request, extra={**request.extra, KEY: noted})
        return begin(self._data, chosen.paradigm, agent, chosen.plan, request), agent, True


def named(entry: Entry) -> str:
    """An entry in words."""
    parts = [entry.agent, entry.paradigm, entry.settings, f"repeat {entry.repeat}" if entry.repeat > 1 else ""]
    return ", ".join(filter(None, parts))
