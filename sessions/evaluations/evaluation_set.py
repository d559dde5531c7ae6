"""A set of sessions: models x paradigms x settings x repeats, with one budget.

The progress of a set is read from its sessions: the record of each says to which set and which
entry it belongs. So the file may grow, and nothing can contradict the sessions. What is over stays,
what was begun goes on, and what is new begins.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from ...agents.base import Agent
from ...agents.chat.cost.totals import Prices
from ...agents.chat.open_request import beside
from ...agents.chat.settings import IN_NAME, ChatSettings
from ...agents.registry import options_of
from ...core.agent_kinds import kind_named
from ...core.atomic_files import TakenError, make_folder, only_writer
from ...core.errors import ParadigmError, Problem, SpanLabError
from ...core.json_values import as_object, in_a_list, where_given
from ...paradigms.identity import canonical, digest
from ...paradigms.language.diagnostics import in_order, validated
from ...paradigms.language.yaml_source import Document, YamlPath, in_library, read
from ..plan import ChosenTrials, choose_trials
from ..record.reader import failed_trials, find_sessions, finished_trials, is_practice, read_events, read_session
from ..run import Watcher, agent_again, begin, carry_out, make_machine, prepare
from ..session import Session, complete, reopen, settings_of
from ..transcripts.transcript import Transcript


class ParadigmEntry(BaseModel):
    """The options of a paradigm."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    set: dict[str, Any] = Field(default={}, description="levels of factors, each one level or a list, as with --set")
    trials: int | None = Field(
        default=None, ge=1, le=1_000_000, description="number of trials, distributed over the factor levels"
    )
    design: str | None = Field(default=None, description="design in the paradigm's file; human when not given")
    generator: Literal["corrected", "published"] | None = Field(
        default=None, description="corrected or published trials"
    )


class SetBudget(BaseModel):
    """The budget of all sessions of a set together."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_cost: float | None = Field(
        default=None, gt=0, description="the set stops before it costs more, in the currency of the prices"
    )
    max_tokens: int | None = Field(
        default=None, ge=1, description="the set stops before it uses more tokens, read and written"
    )


class SetFile(BaseModel):
    """The content of a set file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    agents: list[str] = Field(min_length=1, description="who takes the trials, as with --agent")
    paradigms: dict[str, ParadigmEntry] = Field(
        min_length=1,
        description="names in the library or files, and below each its set, trials, design and generator, if any",
    )
    settings: dict[str, dict[str, Any]] = Field(
        default={"": {}}, min_length=1, description="settings of chat models by a name of yours, as with --chat"
    )
    wordings: dict[str, dict[str, Any]] = Field(
        default={"": {}},
        min_length=1,
        description=(
            "the same task in other words, by a name of yours: settings of chat models that are sentences, or how"
            " options are written; each is crossed with settings and repeats"
        ),
    )
    repeats: int = Field(default=1, ge=1, le=1000, description="how often chat models take the same trials")
    seed: int = Field(default=1, ge=0, description="seed of the sessions")
    budget: SetBudget = Field(default=SetBudget(), description="max_cost and max_tokens of all sessions together")
    prices: dict[str, Prices] = Field(
        default={}, description="price of a million tokens by agent: input and output (and cached_input)"
    )
    care: dict[str, Any] = Field(default={}, description="limits for requests, as with --care")

    @field_validator("paradigms", "settings", "wordings", mode="before")
    @classmethod
    def _nothing_below(cls, value: Any) -> Any:
        """A name with nothing below it has an empty mapping."""
        nothing: dict[str, Any] = {}
        return {name: nothing if entry is None else entry for name, entry in as_object(value).items()} or value


def read_set(document: Document) -> SetFile:
    """The content of a set file.

    Raises
    ------
    ParadigmError
        with everything that is wrong with it, by line.
    """
    content, wrong = validated(SetFile, document.data)
    if not isinstance(content, SetFile):
        raise ParadigmError(in_order([document.problem(path, message) for path, message in wrong]))
    return content


#: the settings that a wording may have: sentences, where they stand, in which order and by which
#: signs options are named, and protocols with a name or a file
WORDS = frozenset(
    (
        "preset",
        "instructions",
        "preamble",
        "wording",
        "prompts",
        "option_order",
        "option_signs",
        "delivery",
        "instructions_as",
        "reask_text",
        "reasoning_text",
    )
)
#: under which key a session's record says to which set it belongs
KEY = "evaluation"

State = Literal["done", "stopped", "begun", "waiting"]


def _shaping(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that shape the trials and the answers: a label is a name for them."""
    return {name: value for name, value in settings.items() if name != "label"}


def _silent(sentence: str) -> None:
    """Say nothing."""


@dataclass(frozen=True, slots=True)
class SetEntry:
    """One session of a set.

    Parameters
    ----------
    agent, paradigm : as the file names them
    settings : their name in the file; empty for agents that have none, and where the file has none
    repeat : which repetition, from 1
    chat : settings of the chat model
    id : the same for the same session, whatever else is in the file
    wording : its name in the file; empty where the file has none
    """

    agent: str
    paradigm: str
    settings: str
    repeat: int
    chat: Mapping[str, Any]
    id: str
    wording: str = ""


@dataclass(frozen=True, slots=True)
class SetProgress:
    """The progress of one session of a set.

    Parameters
    ----------
    folder : of the session; None before it begins
    trials, failed : finished, and not obtained
    planned : trials in all
    cost, tokens : so far
    why : what has stopped it
    """

    entry: SetEntry
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
        self._document = document = read(path, str(path))
        self.file = declared = read_set(document)
        self._data, self._name, self._folder = data, path.stem, path.parent
        self._trials: dict[str, ChosenTrials] = {}
        unknown = [name for name in declared.prices if name not in declared.agents]
        twice = [name for name in declared.agents if declared.agents.count(name) > 1]
        with_settings = any(map(options_of, declared.agents))
        problems = [document.problem(("prices", name), f"'{name}' is not one of the agents above") for name in unknown]
        problems += [document.problem(("agents",), f"'{name}' is named twice") for name in twice[:1]]
        problems += [
            document.problem((key,), f"{key} are for chat models, and there is none among the agents")
            for key in ("settings", "wordings", "repeats", "budget", "prices", "care")
            if not with_settings and key in (document.data or {})
        ]
        shapes: dict[str, str] = {}
        for name, settings in declared.settings.items() if with_settings else ():
            if "repeat" in settings:
                problems.append(
                    document.problem(
                        ("settings", name, "repeat"), "repeat is counted by repeats of this file: leave it out"
                    )
                )
            alike = shapes.setdefault(digest(_shaping(settings)), name)
            if alike != name:
                problems.append(
                    document.problem(
                        ("settings", name), f"these are the same settings as '{alike}': leave them out, or use repeats"
                    )
                )
        problems += self._faults_of_wordings()
        if problems:
            raise ParadigmError(in_order(problems))
        self.entries = list(self._entries())

    def _faults_of_wordings(self) -> Iterator[Problem]:
        """Yield what is wrong with wordings: settings that are no sentences, or that the settings
        of the file have as well, and two that are alike."""
        shapes: dict[str, str] = {}
        chosen = {name for settings in self.file.settings.values() for name in settings}
        for name, words in self.file.wordings.items():
            for key in words:
                if key not in WORDS:
                    yield self._document.problem(
                        ("wordings", name, key),
                        f"a wording has sentences and how options are written ({', '.join(sorted(WORDS))}): move"
                        f" '{key}' to settings",
                    )
                elif key in chosen:
                    yield self._document.problem(
                        ("wordings", name, key), f"'{key}' stands in settings, too: leave it out of one of them"
                    )
            alike = shapes.setdefault(digest(words), name)
            if alike != name:
                yield self._document.problem(
                    ("wordings", name), f"this is the same wording as '{alike}': leave it out, or use repeats"
                )

    def _entries(self) -> Iterator[SetEntry]:
        file = self.file
        for paradigm, agent in itertools.product(file.paradigms, file.agents):
            chat = bool(options_of(agent))
            for settings, words, repeat in (
                itertools.product(file.settings, file.wordings, range(1, file.repeats + 1)) if chat else [("", "", 1)]
            ):
                chat_settings = {**file.settings[settings], **file.wordings[words]} if chat else {}
                number = {"repeat": repeat} if repeat > 1 else {}
                key = digest(
                    [
                        agent,
                        paradigm,
                        file.paradigms[paradigm].model_dump(),
                        {**_shaping(chat_settings), **number},
                        repeat,
                        file.seed,
                    ],
                    length=16,
                )
                name = str(chat_settings.get("label") or (settings if len(file.settings) > 1 else ""))
                label = ", ".join(filter(None, (name, words, f"repeat {repeat}" if file.repeats > 1 else "")))
                chosen: dict[str, Any] = {}
                if chat:
                    chosen = {**beside(self._folder, chat_settings), **number, **where_given(label=label)}
                yield SetEntry(agent, paradigm, settings, repeat, chosen, key, words)

    def progress(self) -> list[SetProgress]:
        """The progress of every session, from its record."""
        begun: dict[str, Path] = {}
        for info, folder in self._recorded():
            begun.setdefault(str(info[KEY].get("entry")), folder)
        return [self._of(entry, begun.get(entry.id)) for entry in self.entries]

    def removed(self) -> list[SetProgress]:
        """Sessions of this set whose entries are not in the file any more; what they took counts
        for the budget."""
        ids = {entry.id for entry in self.entries}
        return [
            self._of(
                SetEntry(info["agent"], info["paradigm"], link["settings"], link["repeat"], {}, link["entry"]), folder
            )
            for info, folder in self._recorded()
            if (link := info[KEY])["set"] == self._name and link["entry"] not in ids
        ]

    def _recorded(self) -> Iterator[tuple[Mapping[str, Any], Path]]:
        """Sessions that belong to a set, with their records."""
        for folder in find_sessions([self._data]) if any(self._data.glob("*/session.json")) else ():
            info: Mapping[str, Any] = dict(read_session(folder))
            if as_object(info.get(KEY)):
                yield info, folder

    def _of(self, entry: SetEntry, folder: Path | None) -> SetProgress:
        if folder is None:
            return SetProgress(entry, "waiting")
        info, events = read_session(folder), read_events(folder)
        over = complete(folder)
        # of a session that was killed the replies tell, and not the account of an earlier part
        by_replies = kind_named(info["agent_kind"]).converses and not (over and "account" in info)
        account = Transcript(folder).account() if by_replies else info.get("account", {})
        # what the model has taken, and what the one that reads its replies has taken
        parts = [part for part in (account, account.get("judge")) if part]
        costs = [part["cost_at_most"] for part in parts if part.get("cost_at_most") is not None]
        ended = next((event for event in reversed(events) if event["event"] in ("interrupted", "session_end")), None)
        state: State = "done" if over else "begun"
        why = ""
        if not over and ended is not None and ended["event"] == "interrupted":
            state, why = "stopped", self._in_words(str(ended.get("why", "")))
        return SetProgress(
            entry,
            state,
            folder,
            sum(not is_practice(key) for key in finished_trials(events)),
            len(failed_trials(events)),
            len(info["plan"]),
            math.fsum(costs) if costs else None,
            sum(
                part.get(name, 0) for part in parts for name in ("prompt_tokens", "completion_tokens", "tokens_at_most")
            ),
            why,
        )

    def chosen(self, paradigm: str) -> ChosenTrials:
        """The trials of a paradigm, the same for everybody; a file of one's own lies beside the set
        file."""
        if paradigm not in self._trials:
            entry = self.file.paradigms[paradigm]
            levels = {name: in_a_list(value) for name, value in entry.set.items()}
            self._trials[paradigm] = choose_trials(
                paradigm if in_library(paradigm) else str(self._folder / paradigm),
                seed=self.file.seed,
                levels=levels,
                trials=entry.trials,
                design=entry.design,
                generator=entry.generator,
            )
        return self._trials[paradigm]

    def _care(self, spent: tuple[float, int]) -> dict[str, Any]:
        """Return the request limits, with the rest of the budget as the limit of one session."""
        budget = self.file.budget
        limits: dict[str, Any] = {}
        if budget.max_cost is not None:
            limits["max_cost"] = budget.max_cost - spent[0]
        if budget.max_tokens is not None:
            limits["max_tokens_in_all"] = budget.max_tokens - spent[1]
        return {**self.file.care, **limits}

    def _in_words(self, why: str) -> str:
        """Why a session stopped, in words; a limit that was the rest of the budget is reported as
        the set's."""
        for name in ("max_cost", "max_tokens"):
            limit = getattr(self.file.budget, name)
            if limit is not None and why.startswith(f"{name} "):
                return f"{name} {limit} of the set is reached: another request could go beyond it"
        return why

    def _exhausted(self, spent: tuple[float, int]) -> str:
        budget = self.file.budget
        if budget.max_cost is not None and spent[0] >= budget.max_cost:
            return f"max_cost {budget.max_cost} of the set is reached"
        if budget.max_tokens is not None and spent[1] >= budget.max_tokens:
            return f"max_tokens {budget.max_tokens} of the set is reached"
        return ""

    def _agent(self, entry: SetEntry, care: Mapping[str, Any], say: Callable[[str], None]) -> Agent:
        values: dict[str, Any] = {"chat": entry.chat, "care": care, "price": self.file.prices.get(entry.agent)}
        chosen = {name: values[name] for name in options_of(entry.agent)}
        return make_machine(entry.agent, self.file.seed, say, self.chosen(entry.paradigm), **chosen)

    def check(self, watcher: Watcher) -> dict[str, float]:
        """Make every agent of what has not begun, and try out and estimate its session, before the
        first one begins: a slip in the last entry shows at once.

        Returns
        -------
        what these sessions are going to take: ``sessions``, ``requests``, ``tokens`` and ``cost``

        Raises
        ------
        ParadigmError
            for what is wrong with the paradigms and the settings, by line.
        SpanLabError
            for what else is wrong, with the entry.
        """
        progress = self.progress()
        waiting = [standing.entry for standing in progress if standing.state == "waiting"]
        self._check_parts(waiting)
        begun = [
            (standing.entry, read_session(standing.folder)) for standing in progress if standing.folder is not None
        ]
        forecast = {"sessions": 0.0, "requests": 0.0, "tokens": 0.0, "cost": 0.0}
        quiet = replace(watcher, say=_silent)
        # repeats are alike
        for _, repeats in itertools.groupby(
            waiting, lambda entry: (entry.paradigm, entry.agent, entry.settings, entry.wording)
        ):
            entry, *others = repeats
            chosen = self.chosen(entry.paradigm)
            try:
                agent = self._agent(entry, self._care((0.0, 0)), quiet.say)
                request = prepare(agent, chosen, chosen.request(), quiet.say)
            except SpanLabError as error:
                raise SpanLabError(f"{named(entry)}: {error}") from None
            agent.close()
            for other, info in begun:
                self._check_alike(entry, settings_of(agent), other, info)
            estimate: Any = request.extra.get("estimate", {})
            sessions = 1 + len(others)
            forecast["sessions"] += sessions
            forecast["requests"] += sessions * estimate.get("requests", 0)
            forecast["tokens"] += sessions * (estimate.get("prompt_tokens", 0) + estimate.get("completion_tokens", 0))
            forecast["cost"] += sessions * (estimate.get("cost") or 0.0)
        return forecast

    def _check_parts(self, waiting: Sequence[SetEntry]) -> None:
        """Check the paradigms and settings that are still needed.

        Raises
        ------
        ParadigmError
            with everything that is wrong with them, by line.
        """
        problems: list[Problem] = []
        for name in dict.fromkeys(entry.paradigm for entry in waiting):
            try:
                self.chosen(name)
            except ParadigmError as error:
                problems += error.problems
            except SpanLabError as error:
                problems.append(self._document.problem(("paradigms", name), str(error)))
        for path, chat in {_path(entry): entry.chat for entry in waiting if options_of(entry.agent)}.items():
            try:
                ChatSettings.read(chat)
            except ParadigmError as error:
                problems += error.problems
            except SpanLabError as error:
                problems.append(self._document.problem(path, str(error).removeprefix("chat settings: ")))
        if problems:
            raise ParadigmError(in_order(problems))

    def _check_alike(
        self, entry: SetEntry, settings: Mapping[str, Any], other: SetEntry, info: Mapping[str, Any]
    ) -> None:
        """Make sure that a session which is to begin has what is the same in one that has begun:
        paradigms and settings are also in files, which may change.

        Parameters
        ----------
        settings : of its agent
        info : the record of the other session

        Raises
        ------
        SpanLabError
            when it has not.
        """
        if entry.paradigm == other.paradigm and info["paradigm_hash"] != self.chosen(entry.paradigm).paradigm.hash:
            raise SpanLabError(
                f"{named(entry)}: the paradigm {entry.paradigm} has changed since {info['session']} began, so that"
                " trials would not be the same for all. Restore the file, or begin the set in another folder (--data)"
            )
        if (entry.agent, entry.settings, entry.wording) == (other.agent, other.settings, other.wording) and options_of(
            entry.agent
        ):
            now, then = (
                {name: standing[name] for name in _shaping(standing) if name not in IN_NAME}
                for standing in (settings, info["agent_settings"])
            )
            changed = [
                name
                for name in now
                if name in then and canonical(now[name]) != canonical(then[name]) and name not in ("preset", "repeat")
            ]
            if changed:
                raise SpanLabError(
                    f"{named(entry)}: {' and '.join(changed)} changed since {info['session']} began (a preset, or"
                    " another file that the settings name). Restore the file, or begin the set in another folder"
                    " (--data)"
                )

    def run(self, watcher: Watcher) -> Sequence[SetProgress]:
        """Take every session that is not over. One that a model refuses is left behind with its
        reason, and the others go on; a budget that is reached ends the set.

        Returns
        -------
        how far every session is

        Raises
        ------
        SpanLabError
            when it is interrupted, and when the same set runs in the same folder already.
        """
        lock = self._data / ".sets" / self._name
        make_folder(lock, f"sessions to {self._data}", "choose another folder with --data")
        with ExitStack() as stack:
            try:
                stack.enter_context(only_writer(lock))
            except TakenError:
                raise SpanLabError(f"{self._name} runs in {self._data} already; --status shows how far it is") from None
            return self._run(watcher)

    def _run(self, watcher: Watcher) -> Sequence[SetProgress]:
        reasons: dict[str, str] = {}
        progress = {standing.entry.id: standing for standing in self.progress()}
        removed = self.removed()
        for entry in self.entries:
            standing = progress[entry.id]
            if standing.state == "done":
                continue
            others = [*removed, *(other for other in progress.values() if other is not standing)]
            spent = sum(other.cost or 0.0 for other in others), sum(other.tokens for other in others)
            ended = self._exhausted(spent) if options_of(entry.agent) else ""
            if ended:
                reasons[entry.id] = ended
                continue
            folder = standing.folder
            try:
                session, agent, fresh = self._opened(standing, self._care(spent), watcher)
                folder = session.folder
                carry_out(session, agent, watcher, fresh=fresh)
            except SpanLabError as error:
                if str(error).startswith("interrupted"):
                    raise SpanLabError("interrupted; what is finished is saved. The same command goes on") from None
                reasons[entry.id] = self._in_words(str(error).partition("\n")[0])
                watcher.say(f"{named(entry)}: {reasons[entry.id]}")
            progress[entry.id] = self._of(entry, folder if folder is not None and folder.exists() else None)
        return [
            replace(standing, why=standing.why or reasons.get(standing.entry.id, "")) for standing in progress.values()
        ]

    def _opened(self, standing: SetProgress, care: Mapping[str, Any], watcher: Watcher) -> tuple[Session, Agent, bool]:
        """The session of an entry with its agent: a new one, or the one that was begun; and whether
        it is new."""
        if standing.folder is not None:
            values = {"care": care, "price": self.file.prices.get(standing.entry.agent)}
            session, agent = agent_again(
                reopen(standing.folder),
                {name: value for name, value in values.items() if name in options_of(standing.entry.agent)},
                watcher.say,
            )
            return session, agent, False
        chosen = self.chosen(standing.entry.paradigm)
        agent = self._agent(standing.entry, care, watcher.say)
        request = prepare(agent, chosen, chosen.request(), watcher.say)
        link = {
            "set": self._name,
            "entry": standing.entry.id,
            "settings": standing.entry.settings,
            "repeat": standing.entry.repeat,
            **where_given(wording=standing.entry.wording),
        }
        request = replace(request, extra={**request.extra, KEY: link})
        return begin(self._data, chosen.paradigm, agent, chosen.plan, request), agent, True


def _path(entry: SetEntry) -> YamlPath:
    """Return where the settings of an entry stand in the file; those of a wording count before
    others."""
    return ("wordings", entry.wording) if entry.wording else ("settings", entry.settings)


def named(entry: SetEntry) -> str:
    """An entry in words."""
    parts = [
        entry.agent,
        entry.paradigm,
        entry.settings,
        entry.wording,
        f"repeat {entry.repeat}" if entry.repeat > 1 else "",
    ]
    return ", ".join(filter(None, parts))
