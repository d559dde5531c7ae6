"""Sessions: the folder, its ``session.json``, and coming back to it.

The images and sounds of a paradigm are copied into the folder, so that trials can be shown again as
they were."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from ..agents.base import Agent, Sentences, TrialContext
from ..core.agent_kinds import kind_named
from ..core.atomic_files import only_writer, write_json, write_whole
from ..core.errors import SpanLabError, shortened
from ..core.json_values import as_object
from ..core.locale import texts_for_people
from ..paradigms import STANDARD_KEYS, AnswerKeys, Paradigm, PlannedTrial, Trial, load_paradigm, plan_practice
from ..paradigms.design import LevelsInUse, levels_in_use
from ..paradigms.identity import canonical, digest
from ..paradigms.language.component_spec import filled
from ..paradigms.language.own_files import KINDS, own_hash
from ..paradigms.language.schema import SessionDesign
from ..paradigms.language.yaml_source import in_library
from ..paradigms.paradigm import paradigm_from_data
from ..paradigms.responses import SerialOrder
from ..paradigms.triggers import Triggers, read_triggers
from ..stimuli.own_files import content_of, remember, suffix_of
from .record.reader import read_events, read_session, trial_key, trials_left, trials_taken
from .record.session_info import OF_SOME_TRIALS
from .record.table import tables_are_there, write_responses

#: the entry of ``session.json`` on the sentences beside those of the paradigm: those of pages and legends, and those
#: about a machine's questions, with which a session goes on
SENTENCES, PAGES, QUESTIONS = "sentences", "pages", "questions"


def utc_now() -> str:
    """The wall clock (UTC, ISO 8601, ms)."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def minute_here(moment: str) -> str:
    """The day and minute of a moment in a record, by the clock on the wall of this computer."""
    return f"{datetime.fromisoformat(moment).astimezone():%Y-%m-%d %H:%M}"


def day_here(moment: str) -> str:
    """The day of a moment in a record, by the clock on the wall of this computer."""
    return minute_here(moment)[:10]


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
        return stairs_of(self.plan[0], self.info.get("adaptive"))

    @property
    def may_come(self) -> list[PlannedTrial]:
        """All possible trials; those of an adaptive session at every level."""
        rule = self.info.get("adaptive")
        return [*self.plan] if rule is None else [stair for planned in self.plan for stair in stairs_of(planned, rule)]

    @property
    def design(self) -> SessionDesign:
        """The design by which the trials were planned."""
        return design_of(self.paradigm, str(self.info["design"]))

    @property
    def levels_in_use(self) -> LevelsInUse:
        """The levels that practice and examples keep to."""
        return levels_in_use(self.paradigm, self.design, self.info["chosen_levels"])

    def practice_round(self, number: int) -> list[PlannedTrial]:
        """The practice trials of one round (from 1)."""
        return plan_practice(self.paradigm, self.seed, number, self.info.get("practice_levels"))

    @property
    def trigger_codes(self) -> Triggers | None:
        """The trigger codes that are sent, if any."""
        recorded = self.info.get("triggers")
        return recorded and read_triggers(
            recorded["codes"], self.paradigm.timeline, f"{self.folder / 'session.json'}: the trigger codes"
        )

    @property
    def answer_keys(self) -> AnswerKeys:
        """The keys with which the participant answers, and their names."""
        words: Mapping[str, str] = (
            self.paradigm.translations.get(self.info["language"], {})
            if kind_named(self.info["agent_kind"]).at_window
            else {}
        )
        return replace(recorded_keys(self.info.get("keys")), words=words)


def recorded_keys(record: Mapping[str, Any] | None) -> AnswerKeys:
    """The keys from the record of a session; those of the paradigm where the record has none."""
    return STANDARD_KEYS if record is None else AnswerKeys(bool(record["swapped"]), dict(record["own"]))


def instructions_for(agent: Agent, paradigm: Paradigm, language: str, levels: Mapping[str, Any]) -> str:
    """The instructions that an agent gets: the paradigm's own, in its language, or those that the
    agent's settings have in place of them.

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
    keys: AnswerKeys = STANDARD_KEYS,
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
    # where items of the right answer stood says how many there will be
    kinds = tuple(
        dict.fromkeys(
            ask.kind.model_copy(update={"positions": None}) if isinstance(ask.kind, SerialOrder) else ask.kind
            for ask in questions
        )
    )
    prompts = tuple(dict.fromkeys(ask.prompt for ask in questions if ask.prompt is not None))
    instructions, view = instructions_for(agent, paradigm, language, trial.levels), paradigm.network_view(trial.levels)
    words: Mapping[str, str] = paradigm.translations.get(language, {}) if agent.kind.at_window else {}
    context = TrialContext(
        paradigm.name,
        paradigm.title,
        language,
        instructions,
        kinds,
        view,
        seed,
        keys,
        words,
        sentences or {},
    )
    return replace(context, prompts=prompts, questionnaire=paradigm.is_questionnaire)


def sentences_for_people(language: str) -> dict[str, Any]:
    """The sentences that a participant reads besides the texts of a paradigm or a study, for the
    record."""
    return {SENTENCES: {PAGES: texts_for_people(language)}}


def questions_of(info: Mapping[str, Any]) -> Mapping[str, Sentences]:
    """The sentences about each kind of question for a chat model, from the record."""
    return info.get(SENTENCES, {}).get(QUESTIONS, {})


def design_of(paradigm: Paradigm, name: str) -> SessionDesign:
    """The design of a session by the name in its record; one without wishes where the paradigm has
    none of that name."""
    design = paradigm.designs.get(name)
    return design if isinstance(design, SessionDesign) else SessionDesign()


def stairs_of(first: PlannedTrial, rule: Mapping[str, Any] | None) -> list[PlannedTrial]:
    return (
        []
        if rule is None
        else [replace(first, levels={**first.levels, rule["factor"]: level}) for level in rule["stairs"]]
    )


def complete(folder: str | Path) -> bool:
    """Return whether a session is complete. A response table that is missing because the program
    was killed is written now.

    Raises
    ------
    SpanLabError
        when the session cannot be read, is running, or the table cannot be written.
    """
    folder = Path(folder)
    if trials_left(read_session(folder), read_events(folder)):
        return False
    if not tables_are_there(folder):
        with only_writer(folder):
            write_responses(folder)
    return True


def reopen(folder: str | Path) -> Session:
    """Open a session to go on with it, with the paradigm, plan and sentences in its record,
    whatever has changed in the library since.

    Raises
    ------
    SpanLabError
        when it cannot be read, or a file of the user's own has changed since: nobody knows then
        which of the two was meant.
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
        raise SpanLabError(
            f"the paradigm {stored.name} ({source}) has changed since {folder} began (hash {then} then, {now}"
            " now), so the session cannot go on: its trials would not be the same. Restore the old file, or"
            " start a new session"
        )
    use_copies(folder, stored, needed=True)
    return Session(folder, stored, _plan_of(info), info)


def same_trials(folder: str | Path) -> Session:
    """Open a session whose trials another agent is to take; interrupted trials are those that
    replaced them."""
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
    """The paradigm from the record of a session, with its images and sounds from the session's
    folder."""
    paradigm = stored_paradigm(info)
    use_copies(folder, paradigm)
    return paradigm


def stored_paradigm(info: Mapping[str, Any]) -> Paradigm:
    """The paradigm from the record of a session."""
    return paradigm_from_data(info["paradigm_data"], info["paradigm"])


def _as_taken(planned: PlannedTrial, start: Mapping[str, Any] | None) -> PlannedTrial:
    if start is None or (start["seed"] == planned.seed and not planned.varies):
        return planned
    return replace(planned, levels=start["levels"], seed=start["seed"], varies="")


def plan_for_record(plan: Sequence[PlannedTrial]) -> list[dict[str, Any]]:
    """A plan as ``session.json`` has it; what only trials from elsewhere have is left out of
    others."""
    return [
        {name: value for name, value in asdict(trial).items() if name not in OF_SOME_TRIALS or value not in (None, "")}
        for trial in plan
    ]


def _plan_of(info: Mapping[str, Any]) -> tuple[PlannedTrial, ...]:
    if info["seed"] is None:
        raise SpanLabError(
            f"the trials of {info['session']} cannot be made again: it was imported from data without seeds"
        )
    names = [part.name for part in fields(PlannedTrial)]
    return tuple(
        PlannedTrial(**{name: trial[name] for name in names if name in trial or name not in OF_SOME_TRIALS})
        for trial in info["plan"]
    )


def write_info(folder: Path, info: Mapping[str, Any]) -> None:
    """Write ``session.json``, whole or not at all."""
    write_json(folder / "session.json", info)


#: the folders of the copies, in the folder of a session; each copy is named by the hash of its
#: content
FOLDERS = tuple(kind.nouns for kind in KINDS)


def copy_files(folder: Path, paradigm: Paradigm) -> None:
    """Copy the images and sounds of a paradigm into the folder of a new session.

    Raises
    ------
    SpanLabError
        when one has changed since the paradigm was read, or cannot be written.
    """
    for name, facts in paradigm.reader.files.items():
        (folder / facts.nouns).mkdir(exist_ok=True)
        write_whole(
            folder / facts.nouns / f"{facts.sha256}{suffix_of(facts.sha256)}",
            content_of(facts.sha256, name, facts.noun),
            together=True,
        )


def use_copies(folder: Path, paradigm: Paradigm, needed: bool = False) -> None:
    """Take the images and sounds of a recorded paradigm from the folder of its session.

    Parameters
    ----------
    needed : whether all of them are going to be shown, so that a missing one stops everything now

    Raises
    ------
    SpanLabError
        when a copy does not have its content of then, or one that is needed is nowhere.
    """
    for name, facts in paradigm.reader.files.items():
        for suffix in facts.suffixes:
            copy = folder / facts.nouns / f"{facts.sha256}{suffix}"
            if not copy.is_file():
                continue
            if hashlib.sha256(copy.read_bytes()).hexdigest() != facts.sha256:
                verb = "shown" if facts.noun == "image" else "played"
                raise SpanLabError(
                    f"{copy} has changed: it is not the {facts.noun} {name} that was {verb} in this session. Restore"
                    " the original file"
                )
            remember(facts.sha256, copy)
        if needed:
            content_of(facts.sha256, name, facts.noun)


FAULT = "this is a fault of the agent"


def for_record(what: str, agent: Agent, content: object) -> dict[str, Any]:
    """A value from an agent as it goes into ``session.json``.

    Parameters
    ----------
    what : how a message calls it, such as ``settings``

    Raises
    ------
    SpanLabError
        when it is not a mapping that is fit for JSON.
    """
    if not isinstance(content, Mapping):
        raise SpanLabError(f"{what} of {agent.name}: {found(content)}; expected a mapping: {FAULT}")
    try:
        json.dumps(content, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise SpanLabError(f"{what} of {agent.name} cannot be recorded ({error}): {FAULT}") from None
    return dict(cast("Mapping[str, Any]", content))


def found(value: object) -> str:
    """A value and its type, in a message."""
    if value is None:
        return "None"
    return (
        f"{shortened(repr(value))} ({type(value).__module__.replace('builtins', '')}.{type(value).__name__})".replace(
            "(.", "("
        )
    )


def settings_of(agent: Agent) -> dict[str, Any]:
    """The settings that shaped an agent's answers."""
    return for_record("the settings", agent, agent.settings())


def settings_hash(agent: Agent) -> str:
    """The hash of everything that shaped an agent's answers."""
    return digest([agent.kind.name, agent.name, settings_of(agent)])


def changed_settings(agent: Agent, info: Mapping[str, Any], where: object) -> dict[str, list[Any]]:
    """Return the changes since a session began in settings that may change, with old and new
    values.

    Parameters
    ----------
    info : content of ``session.json``
    where : the session's folder, for a message

    Raises
    ------
    SpanLabError
        when the agent is another one, or has settings that somebody chose otherwise.
    """
    settings = settings_of(agent)
    if settings_hash(agent) == info["agent_settings_hash"]:
        return {}
    may_change, then = agent.may_change(), as_object(info.get("agent_settings"))
    if (agent.kind.name, agent.name) != (info["agent_kind"], info["agent"]):
        raise SpanLabError(
            f"{where} was begun by {info['agent']} with other settings, so it cannot be resumed with {agent.name}:"
            " begin a new one"
        )
    changed: dict[str, list[Any]] = {}
    other: list[str] = []
    for name in {**then, **settings}:
        if name in then and name in settings and _same(then[name], settings[name]):
            continue
        if name in may_change:
            changed[name] = [then.get(name), settings.get(name)]
        else:
            other.append(f"{name} was {_short(then.get(name))} and is {_short(settings.get(name))}")
    if other:
        raise SpanLabError(
            f"{where} was begun with other settings, so it cannot be resumed with these ({'; '.join(other)}): give the"
            " settings it began with, or begin a new session"
        )
    return changed


def _same(one: Any, other: Any) -> bool:
    """Return whether two settings are equal, also when one of them was in a record."""
    return canonical(one) == canonical(other)


def _short(value: Any) -> str:
    """A setting in a message."""
    return shortened("not set" if value is None else str(value))
