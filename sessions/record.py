"""The record of a session: its folder, its columns, and how to read it back. Everything that reads sessions starts here.

A session is one folder:

``session.json``
    who, what, the paradigm with its hash, seed, design, the planned trials, versions, display and agent settings; no secrets.
``events.jsonl``
    one line a step; the truth of what happened, from which everything else can be rebuilt.
``responses.parquet``, ``responses.csv``
    one row per answered item, written when the session is finished.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: The version of this format. Readers accept this one and all older ones.
FORMAT_VERSION = 1

ColumnType = Literal["string", "integer", "number", "boolean", "json"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the response table.

    ``measured`` columns hold what the machine or the person happened to take (times, frames, latency); all others are the same in every run of the same session.
    Columns of type ``json`` hold a scalar of any type as JSON text (answers may be numbers or words).
    """

    name: str
    type: ColumnType
    meaning: str
    unit: str = ""
    measured: bool = False


COLUMNS: tuple[Column, ...] = (
    Column("session", "string", "name of the session, unique within a data folder"),
    Column("participant", "string", "identifier of the person; empty for machines"),
    Column("agent_kind", "string", "participant, simulated, chat, network, chance, ideal, capacity or recorded"),
    Column("agent", "string", "the agent as it was named, such as network:laptop"),
    Column("agent_settings_hash", "string", "hash of everything that shaped the agent's answers"),
    Column("oracle", "boolean", "whether the agent was handed the truth (a simulated observer)"),
    Column("paradigm", "string", "short name of the paradigm"),
    Column("paradigm_version", "integer", "version of the paradigm"),
    Column("paradigm_hash", "string", "hash of the whole paradigm file"),
    Column("generator", "string", "corrected or published trial generator"),
    Column("block", "integer", "block, from 1"),
    Column("trial", "integer", "trial in the session, from 1; practice trials have their own numbers"),
    Column("trial_id", "string", "hash of paradigm, version, generator, factor levels and seed"),
    Column("seed", "integer", "seed of the trial"),
    Column("step", "integer", "step of the trial, from 1"),
    Column("ask", "integer", "question of the trial, from 1"),
    Column("phase", "string", "phase of the step, such as probe"),
    Column("practice", "boolean", "whether it was practice"),
    Column("pilot", "boolean", "whether the session was marked as a pilot"),
    Column("set_size", "integer", "number of items held in mind, as the paradigm defines it"),
    Column("list_length", "integer", "number of items presented one after another"),
    Column("serial_position", "integer", "position of the asked item in presentation, from 1"),
    Column("output_position", "integer", "position of the item in the answer, from 1"),
    Column("retention_steps", "integer", "empty steps between the last item and the probe"),
    Column("chance", "number", "probability that a blind guess scores this item as correct"),
    Column("correct_answer", "json", "the correct answer; null for an intrusion"),
    Column("answer", "json", "the answer given; null when there was none"),
    Column("outcome", "string", "answered, omitted (the window passed) or invalid (an answer outside the allowed ones)"),
    Column("correct", "boolean", "whether the item was answered correctly"),
    Column("feedback_shown", "string", "right, wrong or missed, when feedback on this answer was shown; empty otherwise"),
    Column("rt_ms", "number", "reaction time from the onset of the question; null where none means something", "ms", True),
    Column("onset_ms", "number", "onset of the step's first display on the session's clock", "ms", True),
    Column("planned_ms", "number", "planned duration of the step's first display; null when self-paced", "ms"),
    Column("shown_ms", "number", "duration for which it was shown", "ms", True),
    Column("planned_frames", "integer", "planned duration at the measured refresh rate", "frames", True),
    Column("shown_frames", "integer", "frames for which it was shown", "frames", True),
    Column("dropped_frames", "integer", "frames that came late during the step", "frames", True),
    Column("started_at", "string", "wall-clock time of the trial's start (UTC, ISO 8601)", "", True),
)
"""The declared columns; factors that are not among them follow as ``factor_<name>`` and further recorded values as ``record_<name>`` (type ``json``)."""
