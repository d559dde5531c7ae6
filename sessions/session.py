"""Beginning a session and coming back to it: the folder and its ``session.json``."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ..agents.base import Agent, ConcurrentAgent, Sentences, TrialContext, WindowAgent
from ..core.agent_kinds import kind_named
from ..core.atomic_files import first_free_folder, only_writer, write_json
from ..core.errors import SpanLabError, UnwritableError
from ..core.json_values import as_object
from ..paradigms import AnswerKeys, Generator, Paradigm, PlannedTrial, Trial, load_paradigm, paradigm_from_data, plan_practice, resolve_levels
from ..paradigms.compile import one_of_each
from ..paradigms.design import staircase_rule
from ..paradigms.language.component_spec import filled
from ..paradigms.language.diagnostics import listed
from ..paradigms.language.extends import in_library, own_hash
from ..paradigms.language.schema import SessionDesign
from ..paradigms.network_view import is_model_step
from ..paradigms.practice_levels import LevelsInUse, chosen_levels, levels_in_use, practice_levels
from ..paradigms.responses import ResponseKind
from ..paradigms.score_check import probe_trial
from ..paradigms.translation import illegible
from ..paradigms.triggers import Triggers, read_triggers, unanswerable
from ..stimuli import Stimulus
from .agent_checks import settings_hash, settings_of
from .compact_plan import compacted, expanded
from .file_copies import changed_files, copy_files, use_copies
from .key_mapping import answer_keys, check_answerable, check_buttons, check_keys
from .record.reader import FORMAT_VERSION, read_events, read_session, streams_of, trial_key, trials_left, trials_taken, write_responses
from .record.session_files import PARTS, parts_missing
from .record.session_info import OF_SOME_TRIALS
from .sent import sentences_of

#: what sessions with the first version of random streams need of a reader: ordinary ones, and large runs
_ORDINARY_FORMAT, _PARTS_FORMAT = 1, 2
_PACKAGES = ("numpy", "pillow", "psychopy", "torch", "openai")


def utc_now() -> str:
    """The wall clock (UTC, ISO 8601, ms)."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True, slots=True)
class Session:
    """A session that begins or goes on.

    ``plan`` holds its ordinary trials; practice is planned round by round while it runs.
    """

    folder: Path
    paradigm: Paradigm
    plan: tuple[PlannedTrial, ...]
    info: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.info["session"])

    @property
    def seed(self) -> int:
        return int(self.info["seed"])

    @property
    def stairs(self) -> list[PlannedTrial]:
        """The possible trials of an adaptive session, one at each level."""
        return _stairs(self.plan[0], self.info.get("adaptive"))

    @property
    def may_come(self) -> list[PlannedTrial]:
        """All possible trials; those of an adaptive session at every level."""
        rule = self.info.get("adaptive")
        return [*self.plan] if rule is None else [stair for planned in self.plan for stair in _stairs(planned, rule)]

    @property
    def design(self) -> SessionDesign:
        """The design by which the trials were planned."""
        return design_of(self.paradigm, str(self.info["design"]))

    @property
    def levels_in_use(self) -> LevelsInUse | None:
        """The levels that practice and examples keep to; None in records that do not say which were chosen."""
        chosen = self.info.get("chosen_levels")
        return None if chosen is None else levels_in_use(self.paradigm, self.design, chosen)

    def practice_round(self, number: int) -> list[PlannedTrial]:
        """The practice trials of one round (from 1)."""
        return plan_practice(self.paradigm, self.seed, number, self.info.get("practice_levels"))

    @property
    def trigger_codes(self) -> Triggers | None:
        """The trigger codes that are sent, if any."""
        recorded = self.info.get("triggers")
        return None if recorded is None else read_triggers(recorded["codes"], self.paradigm.timeline, f"{self.folder / 'session.json'}: the trigger codes")

    @property
    def answer_keys(self) -> AnswerKeys:
        """The keys with which the participant answers, and their names."""
        words: Mapping[str, str] = self.paradigm.translations.get(self.info["language"], {}) if kind_named(self.info["agent_kind"]).at_window else {}
        return replace(answer_keys(self.info.get("keys")), words=words)


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
    levels : levels of some factors that were chosen for this session, as the plan was told: practice and examples keep to them; None = as the plan has them
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


def instructions_for(agent: Agent, paradigm: Paradigm, language: str, levels: Mapping[str, Any]) -> str:
    """The instructions that an agent gets: the paradigm's own, in its language, or those that the agent's settings have in place of them.

    Raises
    ------
    SpanLabError
        when these settings are for other paradigms, or a gap in them cannot be filled.
    """
    wording = agent.instructions_for(paradigm.name)
    return (
        paradigm.instructions_in(language, levels, agent.kind.at_window)
        if wording is None
        else filled(wording, levels, f"{agent.name}: the instructions for {paradigm.name}")
    )


def brief(
    agent: Agent,
    paradigm: Paradigm,
    language: str,
    trial: Trial,
    seed: int = 0,
    keys: AnswerKeys | None = None,
    sentences: Mapping[str, Sentences] | None = None,
) -> TrialContext:
    """The context that an agent gets before a trial.

    Parameters
    ----------
    seed : of the agent's own randomness in this trial
    keys : with which keys a person answers
    sentences : what is said of kinds of questions, where it is not to be what it would be now
    """
    questions = [step.percept.ask for step in trial.steps if step.percept.ask is not None]
    kinds = tuple(dict.fromkeys(ask.kind for ask in questions))
    prompts = tuple(dict.fromkeys(ask.prompt for ask in questions if ask.prompt is not None))
    instructions, view = instructions_for(agent, paradigm, language, trial.levels), paradigm.network_view(trial.levels)
    words: Mapping[str, str] = paradigm.translations.get(language, {}) if agent.kind.at_window else {}
    context = TrialContext(paradigm.name, paradigm.title, language, instructions, kinds, view, seed, keys or AnswerKeys(), words, sentences or {})
    return replace(context, prompts=prompts, questionnaire=paradigm.is_questionnaire)


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
    names_in_use : names that the folder must not have, although there is none of that name in ``data``

    Raises
    ------
    SpanLabError
        when the folder cannot be written, or the paradigm has no instructions in the language.
    """
    if request.language not in paradigm.instructions:
        raise SpanLabError(f"{paradigm.name} has no instructions in '{request.language}'; there are {', '.join(paradigm.instructions)}")
    if not plan:
        raise SpanLabError("no trials to run")
    request = replace(request, practice=request.practice or practises(agent))
    kinds = try_out(paradigm, agent, plan, request)
    instructions = instructions_for(agent, paradigm, request.language, resolve_levels(paradigm, plan[0].levels, plan[0].seed))
    agent.ready()
    settings, rule = settings_of(agent), staircase_rule(paradigm, request.design, plan)
    info: dict[str, Any] = {
        "format_version": FORMAT_VERSION if paradigm.streams > 1 else _PARTS_FORMAT if PARTS in request.extra else _ORDINARY_FORMAT,
        "session": "",
        "participant": request.participant,
        "agent_kind": agent.kind.name,
        "agent": agent.name,
        "oracle": agent.kind.oracle,
        "agent_settings": settings,
        "agent_settings_hash": settings_hash(agent),
        "label": settings.get("label", ""),
        "paradigm": paradigm.name,
        "paradigm_version": paradigm.version,
        "paradigm_hash": paradigm.hash,
        "paradigm_title": paradigm.title,
        "paradigm_source": request.source or paradigm.name,
        **_of_own_file(request.source),
        "human": paradigm.source.human,
        "generator": request.generator,
        "streams": paradigm.streams,
        "seed": request.seed,
        "design": request.design,
        "language": request.language,
        # as told before the first trial; they may change with the levels of factors
        "instructions": instructions,
        "pilot": request.pilot,
        "practice": request.practice,
        "like": request.like,
        "created": now(),
        "versions": _versions(),
        **request.extra,
        **_levels_of_people(paradigm, agent, plan, request),
        **sentences_of(agent, paradigm, (*_stairs(plan[0], rule), *plan, *practice_of(paradigm, agent, plan, request)), request.generator, request.language),
        **_score_fields(kinds),
        **({} if rule is None else {"adaptive": rule}),
        **({"quiz": paradigm.quiz.to_record()} if paradigm.quiz is not None and agent.kind.at_window else {}),
        "plan": (compacted(plan, request.seed) if PARTS in request.extra else None) or [_planned(trial) for trial in plan],
        "paradigm_data": paradigm.data,
    }

    def fill(folder: Path, name: str) -> None:
        copy_files(folder, paradigm)
        info["session"] = name
        write_info(folder, info)

    names = _names(session_stem(paradigm.name, request.participant or agent.name, request.seed))
    try:
        folder = first_free_folder(data, (name for name in names if name not in names_in_use), fill)
    except UnwritableError as error:
        raise UnwritableError(f"{error}; choose another folder with --data") from None
    return Session(folder, paradigm, tuple(plan), info)


def _in_use(paradigm: Paradigm, plan: Sequence[PlannedTrial], request: Request) -> LevelsInUse:
    """The levels of the session, and which of them were chosen for it."""
    design = design_of(paradigm, request.design)
    return levels_in_use(paradigm, design, chosen_levels(paradigm, design, plan) if request.levels is None else request.levels)


def _score_fields(kinds: Collection[ResponseKind]) -> dict[str, Any]:
    """What the record says of the values that some kinds of questions add to their scores."""
    declared = {name: asdict(each) for kind in kinds for name, each in kind.score_fields.items()}
    return {"score_fields": declared} if declared else {}


def practises(agent: Agent) -> bool:
    """Whether a machine takes the paradigm's practice first; people at a window are asked elsewhere."""
    return isinstance(agent, ConcurrentAgent) and agent.practises


def practice_of(paradigm: Paradigm, agent: Agent, plan: Sequence[PlannedTrial], request: Request) -> list[PlannedTrial]:
    """The first round of practice of a machine; none of people, and where there is none."""
    return plan_practice(paradigm, request.seed, levels=practice_levels(_in_use(paradigm, plan, request))) if practises(agent) else []


def _levels_of_people(paradigm: Paradigm, agent: Agent, plan: Sequence[PlannedTrial], request: Request) -> dict[str, Any]:
    """What the record of a person's session says of the levels of practice and examples: they are the same when the session goes on."""
    if not agent.kind.at_window and not request.practice:
        return {}
    use = _in_use(paradigm, plan, request)
    return {"chosen_levels": use.chosen, **({"practice_levels": levels} if request.practice and (levels := practice_levels(use)) else {})}


def design_of(paradigm: Paradigm, name: str) -> SessionDesign:
    """The design of a session by the name in its record; one without wishes where the paradigm has none of that name."""
    design = paradigm.designs.get(name)
    return design if isinstance(design, SessionDesign) else SessionDesign()


def _of_own_file(source: str) -> dict[str, str]:
    """What is noted of a paradigm that is a file of the user's own: a hash of what the user has written, whatever the library says that it extends."""
    if not source or in_library(source):
        return {}
    try:
        return {"paradigm_own_hash": own_hash(source)}
    except SpanLabError:
        return {}  # the file has gone since it was read


def session_stem(paradigm: str, who: str, seed: int | None) -> str:
    """The beginning of a session's name; without the seed where it is not known."""
    return f"{paradigm}-{_slug(who)}" + ("" if seed is None else f"-s{seed}")


def _stairs(first: PlannedTrial, rule: Mapping[str, Any] | None) -> list[PlannedTrial]:
    return [] if rule is None else [replace(first, levels={**first.levels, rule["factor"]: level}) for level in rule["stairs"]]


def try_out(paradigm: Paradigm, agent: Agent, plan: Sequence[PlannedTrial], request: Request) -> Collection[ResponseKind]:
    """Compile before anybody sits down, so that a fault in the file does not show up in the session: every trial for people and every trial whose draws are
    given, one of each kind for machines. Agents that may be unable to take some trials are asked.

    Returns
    -------
    the kinds of questions that came

    Raises
    ------
    SpanLabError
        for what is wrong with a trial, and when the agent cannot take one.
    """
    kinds: dict[ResponseKind, None] = {}
    for planned in (*_stairs(plan[0], staircase_rule(paradigm, request.design, plan)), *(plan if agent.kind.at_window else one_of_each(plan))):
        trial = planned.compile(paradigm, request.generator)
        probe_trial(trial)
        agent.check_trial(brief(agent, paradigm, request.language, trial), sum(is_model_step(step.percept) for step in trial.steps))
        agent.check_displays(_seen_by(agent, trial))
        kinds |= dict.fromkeys(step.percept.ask.kind for step in trial.steps if step.percept.ask is not None)
    if practises(agent) and paradigm.practice is None:
        raise SpanLabError(f"{paradigm.name} has no practice: leave out --chat practice=feedback, or use a paradigm with practice (key practice:)")
    if request.practice or practises(agent):
        for planned in plan_practice(paradigm, request.seed, levels=practice_levels(_in_use(paradigm, plan, request))):
            trial = planned.compile(paradigm, request.generator)
            agent.check_displays(_seen_by(agent, trial))
            kinds |= dict.fromkeys(step.percept.ask.kind for step in trial.steps if step.percept.ask is not None)
    for path, why in illegible(paradigm.data, [request.language]) if agent.kind.at_window else ():
        raise SpanLabError(f"{paradigm.name} {' > '.join(map(str, path))}: {why}")
    keys = answer_keys(request.extra.get("keys"))
    if "keys" in request.extra:
        check_keys(keys, kinds, others="study" in request.extra)
        if isinstance(agent, WindowAgent):
            check_buttons(keys, agent.buttons)
    as_asked = [kind.with_keys(keys) for kind in kinds] if agent.kind.at_window else list(kinds)
    if agent.kind.at_window:
        check_answerable(as_asked)
    agent.check_questions(as_asked)
    if "triggers" in request.extra:
        codes = read_triggers(request.extra["triggers"]["codes"], paradigm.timeline, "trigger codes")
        # Those of the file may be for answers to trials that this session does not have; others were meant for this session.
        if (wrong := unanswerable(codes, kinds, paradigm.triggers)) is not None:
            raise SpanLabError(f"trigger codes responses: {wrong}")
    return kinds.keys()


def _seen_by(agent: Agent, trial: Trial) -> list[Stimulus]:
    """The displays of a trial that an agent gets: people get all."""
    if agent.kind.at_window:
        return [display.stimulus for step in trial.steps for percept in step.percepts for display in percept.displays]
    return [percept.for_machine.stimulus for step in trial.steps for percept in step.percepts if is_model_step(percept)]


def complete(folder: str | Path) -> bool:
    """Whether a session is complete. A response table that is missing because the program was killed is written now.

    Raises
    ------
    SpanLabError
        when the session cannot be read, is running, or the table cannot be written.
    """
    folder = Path(folder)
    info = read_session(folder)
    if PARTS in info:
        return not parts_missing(folder, info)
    if trials_left(info, read_events(folder)):
        return False
    if not all((folder / name).exists() for name in ("responses.csv", "responses.parquet")):
        with only_writer(folder):
            write_responses(folder)
    return True


def reopen(folder: str | Path) -> Session:
    """Open a session to go on with it, with the paradigm, plan and sentences in its record, whatever has changed in the library since.

    Raises
    ------
    SpanLabError
        when it cannot be read, or a file of the user's own has changed since: nobody knows then which of the two was meant.
    """
    folder = Path(folder)
    info = read_session(folder)
    source, stored = info["paradigm_source"], stored_paradigm(info)
    then, now = info.get("paradigm_own_hash", stored.hash), None
    if not in_library(source):
        try:
            now = own_hash(source) if "paradigm_own_hash" in info else load_paradigm(source).hash
        except SpanLabError:
            now = None  # the file is gone or broken: the session carries its own copy
    if now is not None and now != then:
        files = changed_files(stored, source)
        which = f"; {listed(files, 3)}" if files else ""
        raise SpanLabError(
            f"the paradigm {stored.name} ({source}) has changed since {folder} began (hash {then} then, {now} now{which}), so the session cannot go on: "
            "its trials would not be the same. Restore the old file, or start a new session"
        )
    use_copies(folder, stored, needed=True)
    return Session(folder, stored, _plan_of(info), info)


def same_trials(folder: str | Path) -> Session:
    """Open a session whose trials another agent is to take; interrupted trials are those that replaced them."""
    info = read_session(folder)
    plan = _plan_of(info)
    if kind_named(info["agent_kind"]).at_window or "adaptive" in info:
        begun = trials_taken(read_events(folder))
        if "adaptive" in info:
            plan = tuple(planned for planned in plan if trial_key(False, planned.trial) in begun)
        plan = tuple(_as_taken(planned, begun.get(trial_key(planned.practice, planned.trial))) for planned in plan)
    return Session(Path(folder), _paradigm_in(Path(folder), info), plan, info)


def planned_as_begun(folder: str | Path) -> Session:
    """Open a session with its trials as they were planned, including interrupted ones."""
    info = read_session(folder)
    return Session(Path(folder), _paradigm_in(Path(folder), info), _plan_of(info), info)


def _paradigm_in(folder: Path, info: Mapping[str, Any]) -> Paradigm:
    """The paradigm from the record of a session, with its images and sounds from the session's folder."""
    paradigm = stored_paradigm(info)
    use_copies(folder, paradigm)
    return paradigm


def stored_paradigm(info: Mapping[str, Any]) -> Paradigm:
    """The paradigm from the record of a session, with the random streams of that time, so that its trials are the same."""
    return paradigm_from_data(info["paradigm_data"], info["paradigm"], streams_of(info))


def _as_taken(planned: PlannedTrial, start: Mapping[str, Any] | None) -> PlannedTrial:
    if start is None or (start["seed"] == planned.seed and not planned.varies):
        return planned
    return replace(planned, levels=start["levels"], seed=start["seed"], varies="")


def _planned(trial: PlannedTrial) -> dict[str, Any]:
    """A planned trial for the record; what only trials from elsewhere have is left out of others."""
    fields = asdict(trial)
    return {name: value for name, value in fields.items() if name not in OF_SOME_TRIALS or value not in (None, "")}


def _plan_of(info: Mapping[str, Any]) -> tuple[PlannedTrial, ...]:
    if info["seed"] is None:
        raise SpanLabError(f"the trials of {info['session']} cannot be made again: it was imported from data without seeds")
    plan: Any = info["plan"]
    if not isinstance(plan, list):
        return expanded(as_object(plan), info["seed"])
    names = [part.name for part in fields(PlannedTrial)]
    return tuple(PlannedTrial(**{name: trial[name] for name in names if name in trial or name not in OF_SOME_TRIALS}) for trial in info["plan"])


def write_info(folder: Path, info: Mapping[str, Any]) -> None:
    """Write ``session.json``, whole or not at all."""
    write_json(folder / "session.json", info)


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower()[:60] or "agent"


def _names(stem: str) -> Iterable[str]:
    yield stem
    for n in range(2, 100_000):
        yield f"{stem}-{n}"


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version(), "system": f"{platform.system()} {platform.release()}"}
    for package in ("spanlab", *_PACKAGES):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions
