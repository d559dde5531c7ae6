"""``session.json``: the agent, the paradigm and the plan of a session, with a description of each
key; and the browser in which a session was taken.

Other keys may stand beside these. What a study, a trigger port or a cost estimate records is
checked by the code that reads it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired

from annotated_types import MinLen
from pydantic import with_config
from typing_extensions import (
    TypedDict,  # pydantic wants this one below Python 3.12
    override,
)

from ...core.agent_kinds import RECORDED_KINDS
from ...core.json_values import as_object
from .marking import OPEN, Holds, InTable

_KINDS = f"{', '.join(kind.name for kind in RECORDED_KINDS)}, or the kind of an agent from another package"


def _sides(keys: Keys) -> str:
    return "swapped" if keys["swapped"] else "standard"


@with_config(OPEN)
class Keys(TypedDict):
    """the keys with which a person answers"""

    sides: Annotated[str, Holds("the sides on which the keys of two words lie")]
    why: Annotated[str, Holds("how the sides were decided")]
    swapped: Annotated[bool, Holds("whether they are swapped relative to the paradigm")]
    own: Annotated[dict[str, Any], Holds("keys that the laboratory chose")]


@with_config(OPEN)
class StaircasePlan(TypedDict):
    """the rule of an adaptive session"""

    factor: Annotated[str, Holds("the factor that the staircase varies")]
    stairs: Annotated[list[Any], Holds("its levels, from easy to hard")]
    start: Annotated[float, Holds("the level of the first trial")]
    share: Annotated[float, Holds("the proportion of items that must be right for a trial to count as correct")]
    up_after: NotRequired[
        Annotated[int, Holds("of a staircase: number of correct trials in a row after which the level goes up")]
    ]
    down_after: NotRequired[
        Annotated[int, Holds("of a staircase: number of other trials in a row after which the level goes down")]
    ]
    trials: Annotated[int, Holds("largest number of trials")]
    leave_out: NotRequired[
        Annotated[int, Holds("of a staircase: number of first reversals that are left out of the estimate")]
    ]
    reversals: NotRequired[
        Annotated[
            int | None, Holds("of a staircase: number of reversals after which the session ends; null for no such rule")
        ]
    ]
    rule: NotRequired[Annotated[str, Holds("`span` for the rule of span tests; a staircase if missing")]]
    lists: NotRequired[Annotated[int, Holds("of a span test: number of trials at each level")]]
    failures: NotRequired[
        Annotated[int, Holds("of a span test: number of wrong trials at one level after which the session ends")]
    ]


#: ``pass`` is a keyword in Python
_Pass = TypedDict("_Pass", {"pass": Annotated[float, Holds("the proportion of right answers that is asked for")]})


@with_config(OPEN)
class QuizRule(_Pass):
    """the criterion of a quiz"""

    attempts: Annotated[int, Holds("largest number of attempts, before an assistant decides")]
    otherwise: Annotated[
        str,
        Holds("what happens after the last attempt without success: `go_on`, `stop` (an assistant decides) or `leave`"),
    ]


@with_config(OPEN)
class PlanEntry(TypedDict):
    """a planned trial"""

    block: Annotated[int, Holds("block, from 1")]
    trial: Annotated[int, Holds("trial, from 1")]
    seed: Annotated[int, Holds("seed of the trial")]
    levels: Annotated[dict[str, Any], Holds("level of every factor")]
    practice: Annotated[bool, Holds("whether it is a practice trial")]
    interval_ms: Annotated[float, Holds("duration of the empty screen before the trial", "ms")]
    draws: NotRequired[Annotated[dict[str, Any], Holds("imported trials: the values of the draws")]]
    name: NotRequired[Annotated[str, Holds("imported trials: the name in the source")]]
    varies: NotRequired[Annotated[str, Holds("adaptive sessions: the factor that the staircase varies")]]


@with_config(OPEN)
class SessionInfo(TypedDict):
    """the content of `session.json`"""

    format_version: Annotated[int, Holds("version of this format")]
    session: Annotated[str, Holds("name of the session, unique within a data folder"), InTable(loaded=True)]
    participant: Annotated[str, Holds("identifier of the person; empty for machines"), InTable(loaded=True)]
    group: NotRequired[Annotated[str, Holds("studies with groups: the group of the participant"), InTable(loaded=True)]]
    agent_kind: Annotated[str, Holds(_KINDS), InTable(loaded=True)]
    agent: Annotated[str, Holds("the agent as named by the user, such as network:laptop"), InTable(loaded=True)]
    agent_settings_hash: Annotated[
        str, Holds("hash of all settings that affect the agent's answers"), InTable(loaded=True)
    ]
    oracle: Annotated[
        bool, Holds("whether the agent was given the correct answers (a simulated observer)"), InTable(loaded=True)
    ]
    agent_settings: Annotated[dict[str, Any], Holds("all settings that affect the agent's answers; no secrets")]
    label: NotRequired[Annotated[str, Holds("remark on this agent in figures, such as `scripted server, not a model`")]]
    paradigm: Annotated[str, Holds("short name of the paradigm"), InTable(loaded=True)]
    paradigm_version: Annotated[int, Holds("version of the paradigm"), InTable()]
    paradigm_hash: Annotated[str, Holds("hash of the whole paradigm file"), InTable(loaded=True)]
    paradigm_title: NotRequired[Annotated[str, Holds("title of the paradigm")]]
    paradigm_source: Annotated[str, Holds("name of the paradigm in the library, or its file")]
    paradigm_own_hash: NotRequired[
        Annotated[str, Holds("for the user's own file: hash of its content, without the paradigm that it extends")]
    ]
    paradigm_data: Annotated[dict[str, Any], Holds("the complete paradigm")]
    human: NotRequired[Annotated[str | None, Holds("the published human data that belong to the paradigm")]]
    generator: Annotated[str, Holds("trial generator: corrected or published"), InTable(loaded=True)]
    keys: NotRequired[
        Annotated[
            Keys,
            Holds("the keys with which a person answers"),
            InTable(
                type="string",
                cell=_sides,
                missing="",
                meaning=(
                    "whether the keys of two words were as in the paradigm (standard) or on opposite sides (swapped);"
                    " empty for machines"
                ),
            ),
        ]
    ]
    seed: Annotated[int | None, Holds("seed of the session; null for an import without seeds")]
    design: Annotated[str, Holds("name of the design")]
    language: Annotated[str, Holds("language of the instructions")]
    instructions: NotRequired[
        Annotated[str, Holds("the instructions before the first trial; they may change with the levels of factors")]
    ]
    sentences: NotRequired[Annotated[dict[str, Any], Holds("all other sentences that the agent reads")]]
    pilot: Annotated[bool, Holds("whether the session was marked as a pilot"), InTable(loaded=True)]
    practice: Annotated[bool, Holds("whether the session begins with practice")]
    chosen_levels: NotRequired[
        Annotated[dict[str, Any], Holds("sessions of people: the levels chosen for the session, by factor")]
    ]
    practice_levels: NotRequired[
        Annotated[
            list[dict[str, Any]],
            MinLen(1),
            Holds("sessions of people: the combinations of levels from which practice is drawn"),
        ]
    ]
    like: Annotated[str, Holds("the session whose trials were repeated; empty for new trials")]
    created: Annotated[str, Holds("wall-clock time of the start (UTC, ISO 8601)", measured=True)]
    versions: NotRequired[Annotated[dict[str, str], Holds("versions of the software", measured=True)]]
    apparatus: NotRequired[
        Annotated[dict[str, Any], Holds("the equipment in use: display, keyboard, processor", measured=True)]
    ]
    account: NotRequired[
        Annotated[dict[str, Any], Holds("chat models: requests, tokens and cost of the session", measured=True)]
    ]
    care: NotRequired[Annotated[dict[str, Any], Holds("chat models: request settings, such as rate limits")]]
    estimate: NotRequired[Annotated[dict[str, Any], Holds("chat models: the estimate of requests, tokens and cost")]]
    prices: NotRequired[Annotated[dict[str, Any], Holds("chat models: prices of tokens")]]
    seed_from: NotRequired[
        Annotated[
            dict[str, Any],
            Holds("where the seed comes from; `independent`: nothing about the participant can be read from it"),
        ]
    ]
    study: NotRequired[
        Annotated[dict[str, Any], Holds("sessions of a study: the study, and the participant's place in it")]
    ]
    set_aside: NotRequired[
        Annotated[
            dict[str, Any],
            Holds(
                "sessions of a study that were taken again: the `reason`, and when that was decided (`at`)",
                measured=True,
            ),
        ]
    ]
    reread: NotRequired[
        Annotated[
            dict[str, Any],
            Holds("copies whose stored replies were read again: the `reader`, and what it read differently"),
        ]
    ]
    evaluation: NotRequired[
        Annotated[
            dict[str, Any],
            Holds("sessions of a set file: the set, the entry, its settings, its wording and its repeat"),
        ]
    ]
    triggers: NotRequired[Annotated[dict[str, Any], Holds("trigger port and codes")]]
    start: NotRequired[
        Annotated[dict[str, Any], Holds("pulses of the scanner: what sends them, and with which of them trials begin")]
    ]
    trials_from: NotRequired[Annotated[dict[str, Any], Holds("imported trials: their file")]]
    fresh_of: NotRequired[
        Annotated[dict[str, Any], Holds("the session or the file with whose levels its trials were made anew")]
    ]
    published: NotRequired[Annotated[dict[str, Any], Holds("published results: their file")]]
    states: NotRequired[Annotated[bool, Holds("networks: whether their hidden states are stored beside the answers")]]
    score_fields: NotRequired[
        Annotated[
            dict[str, Any],
            Holds(
                "what its kinds of questions add to their scores: type, meaning and unit of each column `score_<name>`"
            ),
        ]
    ]
    adaptive: NotRequired[Annotated[StaircasePlan, Holds("adaptive sessions: the rule of the staircase")]]
    quiz: NotRequired[
        Annotated[QuizRule, Holds("quizzes of people: the criterion; the plan has the trials of one attempt")]
    ]
    plan: Annotated[list[PlanEntry], Holds("the planned trials")]


#: Keys that only some planned trials have: imported trials, and those of an adaptive session.
OF_SOME_TRIALS = frozenset(("draws", "name", "varies"))


#: how browsers and systems call themselves; those come first whose descriptions name others, too
_BROWSERS = (
    ("Edge", r"Edg(?:e|A|iOS)?/(\d+)"),
    ("Opera", r"(?:OPR|Opera)/(\d+)"),
    ("Samsung Internet", r"Samsung(?:Browser| Internet)/(\d+)"),
    ("Firefox", r"(?:Firefox|FxiOS)/(\d+)"),
    ("Chrome", r"(?:Chrome|CriOS)/(\d+)"),
    ("Safari", r"(?:Version/(?=.*Safari)|^Safari/)(\d+)"),
)
_SYSTEMS = (
    ("Android", "Android"),
    ("iOS", "iPhone|iPad|iOS"),
    ("macOS", "Macintosh|macOS"),
    ("Windows", "Windows"),
    ("ChromeOS", "CrOS|ChromeOS"),
    ("Linux", "Linux"),
)


@dataclass(frozen=True, slots=True)
class Browser:
    """A browser, as it describes itself; empty for what it does not say."""

    name: str
    version: str
    system: str

    @property
    def described(self) -> str:
        """As a browser would describe itself, in short: from this, :func:`browser_of` reads it
        again."""
        return f"{self.name}/{self.version} ({self.system})"

    @override
    def __str__(self) -> str:
        return f"{self.name or 'a browser'}{' ' * bool(self.version)}{self.version}{f' on {self.system}' if self.system else ''}"  # noqa: E501


def in_browser(info: Mapping[str, Any]) -> bool:
    """Return whether a session is one at a page in a browser (``spanlab serve``), from its
    ``session.json``."""
    return any(as_object(info.get(name)).get("window") == "browser" for name in ("agent_settings", "apparatus"))


def browser_of(info: Mapping[str, Any]) -> Browser | None:
    """The browser of a session, from its ``session.json``; None where it was taken in none."""
    if not in_browser(info):
        return None
    description = str(as_object(info.get("apparatus")).get("browser") or "")
    name, version = next(
        ((name, match[1]) for name, pattern in _BROWSERS if (match := re.search(pattern, description))), ("", "")
    )
    return Browser(name, version, next((system for system, pattern in _SYSTEMS if re.search(pattern, description)), ""))
