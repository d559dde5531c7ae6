"""``session.json``: who met what, each key with its help.

Whatever else a session keeps of itself may stand beside these keys: what a study, a port for triggers or an estimate of costs says is checked by those who read
it.
"""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from annotated_types import MinLen
from pydantic import with_config
from typing_extensions import TypedDict  # pydantic wants this one below Python 3.12

from ...core.agent_kinds import RECORDED_KINDS
from .marking import OPEN, Holds, InTable

_KINDS = f"{', '.join(kind.name for kind in RECORDED_KINDS)}, or that of an agent from another package"


def _sides(keys: Keys) -> str:
    return "swapped" if keys["swapped"] else "standard"


@with_config(OPEN)
class Keys(TypedDict):
    """with which keys a person answers"""

    sides: Annotated[str, Holds("which sides the keys of two words have")]
    why: Annotated[str, Holds("how that was decided")]
    swapped: Annotated[bool, Holds("whether they are not as in the paradigm")]
    own: Annotated[dict[str, Any], Holds("keys of the laboratory's own")]


@with_config(OPEN)
class Parts(TypedDict):
    """of a large session: its table lies in parts"""

    trials: Annotated[int, Holds("trials in a part")]
    states: Annotated[bool, Holds("whether hidden states are kept beside")]


@with_config(OPEN)
class Adaptive(TypedDict):
    """the rule of an adaptive session"""

    factor: Annotated[str, Holds("whose levels are the stairs")]
    stairs: Annotated[list[Any], Holds("the levels, the lowest first")]
    start: Annotated[float, Holds("the first trial's")]
    share: Annotated[float, Holds("of a trial's items that makes it a correct one")]
    up_after: Annotated[int, Holds("so many correct trials in a row lead to the next level")]
    down_after: Annotated[int, Holds("so many other trials in a row lead to the level before")]
    trials: Annotated[int, Holds("at most so many")]
    leave_out: Annotated[int, Holds("first reversals that are left out of the estimate")]
    reversals: Annotated[int | None, Holds("over after so many changes of direction; null for never")]


@with_config(OPEN)
class Planned(TypedDict):
    """a planned trial"""

    block: Annotated[int, Holds("block, from 1")]
    trial: Annotated[int, Holds("trial, from 1")]
    seed: Annotated[int, Holds("its seed")]
    levels: Annotated[dict[str, Any], Holds("level of every factor")]
    practice: Annotated[bool, Holds("whether it is practice")]
    interval_ms: Annotated[float, Holds("empty screen before it", "ms")]
    draws: NotRequired[Annotated[dict[str, Any], Holds("of a trial from elsewhere: what was drawn")]]
    name: NotRequired[Annotated[str, Holds("of a trial from elsewhere: what it is called there")]]
    varies: NotRequired[Annotated[str, Holds("of an adaptive session: the factor whose level the staircase decides")]]
    paired: NotRequired[Annotated[str, Holds("trial_id of the trial of another paradigm that has the same draws")]]


@with_config(OPEN)
class CompactPlan(TypedDict):
    """the plan of a large session, in little room"""

    trials: Annotated[int, Holds("how many")]
    levels: Annotated[list[Any], Holds("each combination once")]
    which: Annotated[str, Holds("which combination each trial has (uint32)")]
    seeds: Annotated[str, Holds("of each trial (int64), or `session`: they follow from the session's seed")]
    blocks: Annotated[str, Holds("of each trial (uint32)")]
    intervals_ms: Annotated[float | str, Holds("before each trial (float64), or one number for all", "ms")]


@with_config(OPEN)
class SessionInfo(TypedDict):
    """the content of `session.json`"""

    format_version: Annotated[int, Holds("version of this format")]
    session: Annotated[str, Holds("name of the session, unique within a data folder"), InTable(loaded=True)]
    participant: Annotated[str, Holds("identifier of the person; empty for machines"), InTable(loaded=True)]
    agent_kind: Annotated[str, Holds(_KINDS), InTable(loaded=True)]
    agent: Annotated[str, Holds("the agent as it was named, such as network:laptop"), InTable(loaded=True)]
    agent_settings_hash: Annotated[str, Holds("hash of everything that shaped the agent's answers"), InTable(loaded=True)]
    oracle: Annotated[bool, Holds("whether the agent was handed the truth (a simulated observer)"), InTable(loaded=True)]
    agent_settings: Annotated[dict[str, Any], Holds("everything that shaped the agent's answers; no secrets")]
    label: NotRequired[Annotated[str, Holds("what figures must say of this agent, such as `scripted server, not a model`")]]
    paradigm: Annotated[str, Holds("short name of the paradigm"), InTable(loaded=True)]
    paradigm_version: Annotated[int, Holds("version of the paradigm"), InTable()]
    paradigm_hash: Annotated[str, Holds("hash of the whole paradigm file"), InTable(loaded=True)]
    paradigm_title: NotRequired[Annotated[str, Holds("its title")]]
    paradigm_source: Annotated[str, Holds("its name in the library, or its file")]
    paradigm_own_hash: NotRequired[Annotated[str, Holds("of a file of one's own: hash of what was written in it, whatever it extends")]]
    paradigm_data: Annotated[dict[str, Any], Holds("the whole paradigm")]
    human: NotRequired[Annotated[str | None, Holds("the published human data that belong to it")]]
    generator: Annotated[str, Holds("corrected or published trial generator"), InTable(loaded=True)]
    keys: NotRequired[
        Annotated[
            Keys,
            Holds("with which keys a person answers"),
            InTable(
                type="string",
                cell=_sides,
                missing="",
                meaning="whether the keys of two words were as in the paradigm (standard) or had changed sides (swapped); empty for machines",
            ),
        ]
    ]
    streams: NotRequired[
        Annotated[
            int,
            Holds("version of the random streams from which the trial was drawn; 1 in older records, where trials of one seed were alike"),
            InTable(after="seed", missing=1),
        ]
    ]
    seed: Annotated[int, Holds("seed of the session")]
    design: Annotated[str, Holds("name of the design")]
    language: Annotated[str, Holds("of the instructions")]
    instructions: NotRequired[Annotated[str, Holds("as told before the first trial; they may change with the levels of factors")]]
    sentences: NotRequired[Annotated[dict[str, Any], Holds("what is said beside the instructions")]]
    pilot: Annotated[bool, Holds("whether the session was marked as a pilot"), InTable(loaded=True, after="practice")]
    practice: Annotated[bool, Holds("whether a person got practice first")]
    chosen_levels: NotRequired[Annotated[dict[str, Any], Holds("of a person's session: the levels that were chosen for it, by factor")]]
    practice_levels: NotRequired[
        Annotated[list[dict[str, Any]], MinLen(1), Holds("of a person's session: the combinations of levels from which practice is drawn")]
    ]
    like: Annotated[str, Holds("the session whose trials these are; empty where they are its own")]
    created: Annotated[str, Holds("wall-clock time of its beginning (UTC, ISO 8601)", measured=True)]
    versions: NotRequired[Annotated[dict[str, str], Holds("of the software", measured=True)]]
    apparatus: NotRequired[Annotated[dict[str, Any], Holds("what the agent really worked with: display, keyboard, processor", measured=True)]]
    account: NotRequired[Annotated[dict[str, Any], Holds("of chat models: what it took", measured=True)]]
    care: NotRequired[Annotated[dict[str, Any], Holds("of chat models: how the server was treated")]]
    estimate: NotRequired[Annotated[dict[str, Any], Holds("of chat models: what was foreseen")]]
    prices: NotRequired[Annotated[dict[str, Any], Holds("of chat models: what tokens cost")]]
    seed_from: NotRequired[Annotated[dict[str, Any], Holds("of a person's session: where its seed comes from")]]
    study: NotRequired[Annotated[dict[str, Any], Holds("of a session of a study: which one, and of whom")]]
    triggers: NotRequired[Annotated[dict[str, Any], Holds("port and codes of triggers")]]
    paired_with: NotRequired[Annotated[dict[str, Any], Holds("what it is paired with, and which draws are shared")]]
    trials_from: NotRequired[Annotated[dict[str, Any], Holds("of trials from elsewhere: their file")]]
    published: NotRequired[Annotated[dict[str, Any], Holds("of published results: their file")]]
    parts: NotRequired[Annotated[Parts, Holds("of a large session: how its table is stored")]]
    adaptive: NotRequired[Annotated[Adaptive, Holds("of an adaptive session: its rule")]]
    plan: Annotated[Any, Holds("the planned trials: a list, or of a large session what tells them in little room")]


#: What only some planned trials have: those from elsewhere, those of an adaptive session, and those that are paired with trials of another paradigm.
OF_SOME_TRIALS = frozenset(("draws", "name", "varies", "paired"))
