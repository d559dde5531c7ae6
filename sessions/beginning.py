"""Beginning a session: request, plan, checks, sentences, record, each made once and in this order."""

from __future__ import annotations

import itertools
import platform
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ..agents.base import Agent, ConcurrentAgent, WindowAgent
from ..core.atomic_files import first_free_folder
from ..core.errors import SpanLabError, UnwritableError
from ..core.locale import texts_for_people
from ..paradigms import Generator, Paradigm, PlannedTrial, Trial, is_model_step, plan_practice, resolve_levels
from ..paradigms.compile import one_of_each
from ..paradigms.design import staircase_rule
from ..paradigms.language.own_files import own_hash
from ..paradigms.library import in_library
from ..paradigms.practice_levels import LevelsInUse, chosen_levels, levels_in_use, practice_levels
from ..paradigms.responses import ResponseKind
from ..paradigms.score_check import probe_trial
from ..paradigms.translation import illegible
from ..paradigms.triggers import read_triggers, unanswerable
from ..stimuli import Stimulus
from .agent_checks import settings_hash, settings_of
from .key_mapping import check_answerable, check_buttons, check_keys
from .record.reader import FORMAT_VERSION
from .record.session_files import PARTS
from .session import (
    PAGES,
    QUESTIONS,
    SENTENCES,
    Session,
    brief,
    copy_files,
    design_of,
    instructions_for,
    plan_for_record,
    recorded_keys,
    sentences_for_people,
    stairs_of,
    utc_now,
    write_info,
)

#: what sessions with the first version of random streams need of a reader: ordinary ones, and large
#: runs
_ORDINARY_FORMAT, _PARTS_FORMAT = 1, 2
_PACKAGES = ("numpy", "pillow", "psychopy", "torch", "openai")


@dataclass(frozen=True, slots=True)
class Request:
    """The request for a new session.

    Parameters
    ----------
    seed : of the session
    generator : corrected or published
    participant : identifier of the person, empty for machines
    design : name of the design, for the record
    language : of the instructions
    pilot : whether the data are pilot data
    practice : whether people get practice first
    levels : levels of some factors that were chosen for this session, as the plan was told:
        practice and examples keep to them; None = as the plan has them
    like : the session whose trials these are, when it is so
    source : the paradigm's name or file, to find it again
    """

    seed: int = 1
    generator: Generator = "corrected"
    participant: str = ""
    design: str = ""
    language: str = "en"
    pilot: bool = False
    practice: bool = False
    levels: Mapping[str, Any] | None = None
    like: str = ""
    source: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class SessionPlan:
    """A plan of a session, with what follows from it.

    Parameters
    ----------
    trials : its ordinary trials
    request : for the session
    """

    paradigm: Paradigm
    agent: Agent
    trials: Sequence[PlannedTrial]
    request: Request

    @cached_property
    def rule(self) -> dict[str, Any] | None:
        """The rule of an adaptive design; None for others."""
        return staircase_rule(self.paradigm, self.request.design, self.trials)

    @property
    def stairs(self) -> list[PlannedTrial]:
        """The possible first trials of an adaptive session, one at each level."""
        return stairs_of(self.trials[0], self.rule)

    @cached_property
    def levels(self) -> LevelsInUse:
        """The levels of the session, and which of them were chosen for it."""
        design, chosen = design_of(self.paradigm, self.request.design), self.request.levels
        return levels_in_use(
            self.paradigm, design, chosen_levels(self.paradigm, design, self.trials) if chosen is None else chosen
        )

    @cached_property
    def practice(self) -> Sequence[PlannedTrial]:
        """The first round of practice; none where there is none."""
        return (
            plan_practice(self.paradigm, self.request.seed, levels=practice_levels(self.levels))
            if self.request.practice or practises(self.agent)
            else ()
        )

    @property
    def asked(self) -> list[PlannedTrial]:
        """The trials whose questions a machine is asked: those of practice only if it takes
        practice."""
        return [*self.stairs, *self.trials, *(self.practice if practises(self.agent) else ())]


def begin(
    data: Path,
    paradigm: Paradigm,
    agent: Agent,
    plan: Sequence[PlannedTrial],
    request: Request,
    now: Callable[[], str] = utc_now,
    names_in_use: Collection[str] = (),
) -> Session:
    """Make the folder of a new session, never one that exists.

    Parameters
    ----------
    data : folder for sessions
    names_in_use : names that the folder must not have, although there is none of that name in
        ``data``

    Raises
    ------
    SpanLabError
        when the folder cannot be written, or the paradigm has no instructions in the language.
    """
    if request.language not in paradigm.instructions:
        raise SpanLabError(
            f"{paradigm.name} has no instructions in '{request.language}'; there are {', '.join(paradigm.instructions)}"
        )
    if not plan:
        raise SpanLabError("no trials to run")
    planned = SessionPlan(paradigm, agent, plan, replace(request, practice=request.practice or practises(agent)))
    kinds = check_plan(planned)
    instructions = instructions_for(
        agent, paradigm, request.language, resolve_levels(paradigm, plan[0].levels, plan[0].seed)
    )
    agent.ready()
    info = {
        **_agent_entries(agent, paradigm, request),
        **_paradigm_entries(paradigm, request.source),
        **_session_entries(planned, instructions, now()),
        **request.extra,
        **_levels_entries(planned),
        **_sentences_of(agent, paradigm, planned.asked, request.generator, request.language),
        **_score_fields(kinds),
        **({} if planned.rule is None else {"adaptive": planned.rule}),
        **({"quiz": paradigm.quiz.to_record()} if paradigm.quiz is not None and agent.kind.at_window else {}),
        "plan": plan_for_record(plan, request.seed, PARTS in request.extra),
        "paradigm_data": paradigm.data,
    }

    def fill(folder: Path, name: str) -> None:
        copy_files(folder, paradigm)
        write_info(folder, info | {"session": name})

    stem = session_stem(paradigm.name, request.participant or agent.name, request.seed)
    names = itertools.chain([stem], (f"{stem}-{number}" for number in range(2, 100_000)))
    try:
        folder = first_free_folder(data, (name for name in names if name not in names_in_use), fill)
    except UnwritableError as error:
        raise UnwritableError(f"{error}; choose another folder with --data") from None
    return Session(folder, paradigm, tuple(plan), info | {"session": folder.name})


def _agent_entries(agent: Agent, paradigm: Paradigm, request: Request) -> dict[str, Any]:
    """The entries of ``session.json`` about the agent."""
    settings = settings_of(agent)
    return {
        "format_version": _format_version(paradigm, PARTS in request.extra),
        "session": "",
        "participant": request.participant,
        "agent_kind": agent.kind.name,
        "agent": agent.name,
        "oracle": agent.kind.oracle,
        "agent_settings": settings,
        "agent_settings_hash": settings_hash(agent),
        "label": settings.get("label", ""),
    }


def _format_version(paradigm: Paradigm, in_parts: bool) -> int:
    """The oldest format that can hold a session: of a paradigm with newer random streams, with a
    table in parts, or of any other."""
    if paradigm.streams > 1:
        return FORMAT_VERSION
    return _PARTS_FORMAT if in_parts else _ORDINARY_FORMAT


def _paradigm_entries(paradigm: Paradigm, source: str) -> dict[str, Any]:
    """The entries of ``session.json`` about the paradigm."""
    return {
        "paradigm": paradigm.name,
        "paradigm_version": paradigm.version,
        "paradigm_hash": paradigm.hash,
        "paradigm_title": paradigm.title,
        "paradigm_source": source or paradigm.name,
        **_of_own_file(source),
        "human": paradigm.source.human,
    }


def _session_entries(plan: SessionPlan, instructions: str, created: str) -> dict[str, Any]:
    """The entries of ``session.json`` about the session itself.

    Parameters
    ----------
    instructions : before the first trial; they may change with the levels of factors
    """
    request = plan.request
    return {
        "generator": request.generator,
        "streams": plan.paradigm.streams,
        "seed": request.seed,
        "design": request.design,
        "language": request.language,
        "instructions": instructions,
        "pilot": request.pilot,
        "practice": request.practice,
        "like": request.like,
        "created": created,
        "versions": _versions(),
    }


def _levels_entries(plan: SessionPlan) -> dict[str, Any]:
    """The entries about the levels of practice and examples, for people and where there is
    practice: they are the same when the session goes on."""
    if not plan.agent.kind.at_window and not plan.request.practice:
        return {}
    levels = practice_levels(plan.levels) if plan.request.practice else None
    return {"chosen_levels": plan.levels.chosen, **({"practice_levels": levels} if levels else {})}


def _score_fields(kinds: Collection[ResponseKind]) -> dict[str, Any]:
    """The entry about the values that some kinds of questions add to their scores."""
    declared = {name: asdict(score) for kind in kinds for name, score in kind.score_fields.items()}
    return {"score_fields": declared} if declared else {}


def _sentences_of(
    agent: Agent, paradigm: Paradigm, plan: Sequence[PlannedTrial], generator: Any, language: str
) -> dict[str, Any]:
    """The sentences that an agent reads besides the paradigm's instructions, for the record: pages
    and legends of people, legends and questions of chat models.

    Returns
    -------
    nothing for agents that do not read
    """
    if agent.kind.at_window:
        return sentences_for_people(language)
    if not agent.kind.reads:
        return {}
    kinds: dict[ResponseKind, None] = {}
    for planned in plan:
        kinds |= dict.fromkeys(
            step.percept.ask.kind for step in planned.compile(paradigm, generator).steps if step.percept.ask is not None
        )
    return {
        SENTENCES: {
            QUESTIONS: dict(agent.sentences(kinds)),
            # a machine that practises is told what people read on the pages around practice
            **({PAGES: texts_for_people(language)} if practises(agent) else {}),
        }
    }


def practises(agent: Agent) -> bool:
    """Return whether a machine takes the paradigm's practice first; people at a window are asked
    elsewhere."""
    return isinstance(agent, ConcurrentAgent) and agent.practises


def _of_own_file(source: str) -> dict[str, str]:
    """Return the record of a user's own paradigm file: a hash of the user's text, whatever library
    paradigm it extends."""
    if not source or in_library(source):
        return {}
    try:
        return {"paradigm_own_hash": own_hash(source)}
    except SpanLabError:
        return {}  # the file has gone since it was read


def session_stem(paradigm: str, who: str, seed: int | None) -> str:
    """The beginning of a session's name; without the seed where it is not known."""
    return f"{paradigm}-{_slug(who)}" + ("" if seed is None else f"-s{seed}")


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower()[:60] or "agent"


def try_out(
    paradigm: Paradigm, agent: Agent, plan: Sequence[PlannedTrial], request: Request
) -> Collection[ResponseKind]:
    """Check that an agent can take a session, before it is there (:func:`check_plan`)."""
    return check_plan(SessionPlan(paradigm, agent, plan, request))


def check_plan(plan: SessionPlan) -> Collection[ResponseKind]:
    """Compile before anybody sits down, so that a fault in the file does not show up in the
    session: every trial for people and every trial whose draws are given, one of each kind for
    machines and for people at a page, which has to come soon. Agents that may be unable to take
    some trials are asked.

    Returns
    -------
    the kinds of questions that came

    Raises
    ------
    SpanLabError
        for what is wrong with a trial, and when the agent cannot take one.
    """
    paradigm, agent, request = plan.paradigm, plan.agent, plan.request
    kinds: dict[ResponseKind, None] = {}

    def look_at(trial: Trial) -> None:
        agent.check_displays(_seen_by(agent, trial))
        kinds.update(dict.fromkeys(step.percept.ask.kind for step in trial.steps if step.percept.ask is not None))

    ahead = agent.kind.at_window and not (isinstance(agent, WindowAgent) and not agent.compiles_ahead)
    for planned in (*plan.stairs, *(plan.trials if ahead else one_of_each(plan.trials))):
        trial = planned.compile(paradigm, request.generator)
        probe_trial(trial)
        agent.check_trial(
            brief(agent, paradigm, request.language, trial), sum(is_model_step(step.percept) for step in trial.steps)
        )
        look_at(trial)
    if practises(agent) and paradigm.practice is None:
        raise SpanLabError(
            f"{paradigm.name} has no practice: leave out --chat practice=feedback, or use a paradigm with practice (key"
            " practice:)"
        )
    for planned in plan.practice:
        look_at(planned.compile(paradigm, request.generator))
    for path, why in illegible(paradigm.data, [request.language]) if agent.kind.at_window else ():
        raise SpanLabError(f"{paradigm.name} {' > '.join(map(str, path))}: {why}")
    _check_answers(plan, kinds)
    if "triggers" in request.extra:
        codes = read_triggers(request.extra["triggers"]["codes"], paradigm.timeline, "trigger codes")
        # Those of the file may be for answers to trials that this session does not have; others
        # were meant for this session.
        if (wrong := unanswerable(codes, kinds, paradigm.triggers)) is not None:
            raise SpanLabError(f"trigger codes responses: {wrong}")
    return kinds.keys()


def _check_answers(plan: SessionPlan, kinds: Collection[ResponseKind]) -> None:
    """Check that every question can be answered, with the keys of the session."""
    agent, extra = plan.agent, plan.request.extra
    keys = recorded_keys(extra.get("keys"))
    if "keys" in extra:
        check_keys(keys, kinds, others="study" in extra)
        if isinstance(agent, WindowAgent):
            check_buttons(keys, agent.buttons)
    as_asked = [kind.with_keys(keys) for kind in kinds] if agent.kind.at_window else list(kinds)
    if agent.kind.at_window:
        check_answerable(as_asked)
    agent.check_questions(as_asked)


def _seen_by(agent: Agent, trial: Trial) -> list[Stimulus]:
    """The displays of a trial that an agent gets: people get all."""
    if agent.kind.at_window:
        return [display.stimulus for step in trial.steps for percept in step.percepts for display in percept.displays]
    return [percept.for_machine.stimulus for step in trial.steps for percept in step.percepts if is_model_step(percept)]


def _versions() -> dict[str, str]:
    return {**_installed()}


@cache
def _installed() -> dict[str, str]:
    """The versions of Python, system and packages; reading them takes longer than anything else at
    the beginning of a session."""
    versions = {"python": platform.python_version(), "system": f"{platform.system()} {platform.release()}"}
    for package in ("spanlab", *_PACKAGES):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions
