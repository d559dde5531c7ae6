"""What happens in a session: one model for each event of ``events.jsonl``, each field with its help.

A value that is to be recorded is a field here and the line that fills it where it happens; with ``InTable`` it is a column of the response table, too.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypeAlias, final

from pydantic import Field, StringConstraints, with_config
from typing_extensions import TypedDict  # pydantic wants this one below Python 3.12

from .marking import CLOSED, OPEN, Cell, Holds, InTable


def _number(key: str) -> int:
    return int(key.removeprefix("p"))


def _dropped(shown: list[Shown]) -> Cell:
    return sum(display["dropped_frames"] for display in shown) if shown else None


#: How events name a trial.
TrialKey = Annotated[str, StringConstraints(pattern="^p?[0-9]{1,9}$")]
#: An item's answer, as a scalar; the first type that fits is the right one, which is known sooner than the best.
Answer = Annotated[str | int | float | None, Field(union_mode="left_to_right")]
At = Annotated[str, Holds("wall-clock time (UTC, ISO 8601)", measured=True)]


class OfTrial(TypedDict):
    """in every event of a trial"""

    trial: Annotated[
        TrialKey,
        Holds("of which trial; `p3` is the third of practice"),
        InTable(loaded=True, after="block", type="integer", cell=_number, meaning="trial in the session, from 1; practice trials have their own numbers"),
    ]
    attempt: Annotated[int, Holds("number of the attempt at the trial, from 1")]


# -- the session ---------------------------------------------------------------------------------------------------------------------------------


@final
@with_config(CLOSED)
class SessionStart(TypedDict):
    """the session begins"""

    event: Literal["session_start"]
    at: At


@final
@with_config(CLOSED)
class Resumed(TypedDict):
    """it goes on after an interruption"""

    event: Literal["resumed"]
    paid_twice_at_most: NotRequired[Annotated[int, Holds("requests to a chat model that had left and whose replies were not kept", measured=True)]]
    constants: NotRequired[Annotated[dict[str, Any], Holds("what this version of SpanLab does otherwise than the one that began the session: then, now")]]
    sentences: NotRequired[Annotated[str, Holds("where the questions come from when the record does not keep them: `of the transcripts` or `of now`")]]
    at: NotRequired[At]


@final
@with_config(CLOSED)
class Interrupted(TypedDict):
    """it was stopped, or could not go on"""

    event: Literal["interrupted"]
    at: NotRequired[At]
    why: NotRequired[Annotated[str, Holds("the reason, in a sentence")]]


@final
@with_config(CLOSED)
class SessionEnd(TypedDict):
    """nothing is left to do"""

    event: Literal["session_end"]
    at: At


class Climbed(TypedDict):
    """what an adaptive session has come to"""

    factor: Annotated[str, Holds("whose levels were the stairs")]
    span: Annotated[float | None, Holds("the estimate; null when there is none")]
    formula: Annotated[str, Holds("how it follows, in words")]
    reversals: Annotated[list[float], Holds("the levels at which the staircase changed its direction")]
    trials: Annotated[int, Holds("trials that were taken")]
    correct_trials: Annotated[int, Holds("those that counted as correct")]
    highest_reached: Annotated[float | None, Holds("the highest level that was reached")]
    at_limit: Annotated[dict[str, int], Holds("how often it was at the `lowest` and the `highest` level")]


@final
@with_config(CLOSED)
class Span(Climbed):
    """an adaptive session is over"""

    event: Literal["span"]


@final
@with_config(OPEN)
class Note(TypedDict):
    """something worth keeping that is no answer; agents may say more in it than stands here"""

    event: Literal["note"]
    trial: NotRequired[Annotated[TrialKey, Holds("of which trial")]]
    attempt: NotRequired[Annotated[int, Holds("at which attempt")]]
    what: NotRequired[Annotated[str, Holds("what it is about")]]
    missing: NotRequired[Annotated[int, Holds("of a large run that begins or goes on: parts that are missing")]]
    by: NotRequired[Annotated[str, Holds("of a large run: who takes them", measured=True)]]
    part: NotRequired[Annotated[int, Holds("of a large run: a part that was written")]]
    rows: NotRequired[Annotated[int, Holds("of a large run: how many rows it has")]]
    at: NotRequired[At]
    after_trial: NotRequired[
        Annotated[list[dict[str, Any]], Holds("what was pressed after a trial and meant nothing, in ms from the onset of its last step", measured=True)]
    ]


# -- trials --------------------------------------------------------------------------------------------------------------------------------------


class Paired(TypedDict, total=False):
    """of trials that are paired with others"""

    paired: Annotated[
        str,
        Holds("trial_id of the trial of another paradigm that had the same draws (--paired-with); empty for all other trials"),
        InTable(name="paired_trial_id", after="trial_id", missing=""),
    ]


@final
@with_config(CLOSED)
class TrialStart(OfTrial, Paired):
    """a trial begins"""

    event: Literal["trial_start"]
    block: Annotated[int, Holds("block, from 1"), InTable(loaded=True, after="keys")]
    practice: Annotated[bool, Holds("whether it was practice"), InTable(loaded=True, after="phase")]
    levels: Annotated[dict[str, Any], Holds("level of every factor")]
    seed: Annotated[int, Holds("seed of the trial"), InTable(after="paired_trial_id")]
    trial_id: Annotated[
        str,
        Holds("hash of paradigm, version, generator, factor levels, seed and streams (and of the draws, where these were given)"),
        InTable(loaded=True, after="trial"),
    ]
    set_size: Annotated[int | None, Holds("number of items held in mind, as the paradigm defines it"), InTable(loaded=True, after="pilot")]
    list_length: Annotated[int | None, Holds("number of items presented one after another"), InTable(loaded=True)]
    started_at: Annotated[str, Holds("wall-clock time of the trial's start (UTC, ISO 8601)", measured=True), InTable(after="completion_tokens")]


@with_config(CLOSED)
class Shown(TypedDict):
    """one display of a step, as it was really shown"""

    planned_ms: NotRequired[Annotated[float | None, Holds("planned duration; null when self-paced", "ms")]]
    onset_ms: Annotated[float | None, Holds("onset of the step's first display on the session's clock", "ms", measured=True), InTable(after="rt_ms")]
    shown_ms: Annotated[float | None, Holds("duration for which it was shown", "ms", measured=True), InTable(after="planned_ms")]
    planned_frames: Annotated[int | None, Holds("planned duration at the measured refresh rate", "frames", measured=True), InTable()]
    shown_frames: Annotated[int | None, Holds("frames for which it was shown", "frames", measured=True), InTable()]
    dropped_frames: Annotated[int, Holds("frames that came late", "frames", measured=True)]
    onset_bound_ms: NotRequired[
        Annotated[float | None, Holds("by how much its picture can have come on before that onset, at most; null where nobody knows", "ms", measured=True)]
    ]


class Feedback(TypedDict, total=False):
    """of steps that show feedback"""

    feedback: Annotated[
        Literal["right", "wrong", "missed"],
        Holds("which feedback was shown: right, wrong or missed"),
        InTable(
            name="feedback_shown",
            after="correct",
            missing="",
            meaning="right, wrong or missed, when feedback on this answer was shown; empty otherwise",
        ),
    ]


class _Step(OfTrial, Feedback):
    event: Literal["step"]
    step: Annotated[int, Holds("step of the trial, from 1"), InTable(loaded=True, after="streams")]
    phase: Annotated[str, Holds("phase of the step, such as probe"), InTable(loaded=True, after="ask")]
    planned_ms: Annotated[float | None, Holds("planned duration of the step's first display; null when self-paced", "ms"), InTable(after="onset_ms")]
    shown: NotRequired[
        Annotated[
            list[Shown],
            Holds("at a window, its displays in order", "frames", measured=True),
            InTable(name="dropped_frames", after="shown_frames", type="integer", cell=_dropped, meaning="frames that came late during the step"),
        ]
    ]
    happened: NotRequired[Annotated[dict[str, Any], Holds("at a window, what else happened", measured=True)]]


@final
@with_config(CLOSED)
class ShownStep(_Step):
    """a step is over"""


@final
@with_config(OPEN)
class Notes(TypedDict, total=False):
    """what an agent notes of its answer; agents may say more in it than stands here"""

    extraction: Annotated[
        str,
        Holds("how the answer was read from a reply: exact, first_character, tolerant, constrained or unread; empty unless chat"),
        InTable(after="feedback_shown", missing=""),
    ]
    attempts: Annotated[int | None, Holds("replies to this question: 1, and 1 more each time that it was put again; null unless chat"), InTable()]
    warm_up: Annotated[
        bool,
        Holds("whether the question came before those that count in a conversation; such rows are left out of curves"),
        InTable(loaded=True, cell=bool, missing=False),
    ]
    latency_ms: Annotated[
        float | None, Holds("time from a request to the reply that was used; null unless chat", "ms", measured=True), InTable(after="trial_unfocused_ms")
    ]
    prompt_tokens: Annotated[
        int | None, Holds("tokens read by the model for this answer, over all its attempts, as the server counts them", "tokens", measured=True), InTable()
    ]
    completion_tokens: Annotated[
        int | None, Holds("tokens written by the model for this answer, over all its attempts, as the server counts them", "tokens", measured=True), InTable()
    ]


@with_config(CLOSED)
class Score(TypedDict):
    """one answered item"""

    answer: Annotated[Answer, Holds("the answer given; null when there was none"), InTable(loaded=True, after="correct_answer")]
    correct_answer: Annotated[Answer, Holds("the correct answer; null for an intrusion"), InTable(loaded=True, after="blind")]
    correct: Annotated[bool, Holds("whether the item was answered correctly"), InTable(loaded=True, after="outcome")]
    serial_position: Annotated[int | None, Holds("position of the asked item in presentation, from 1"), InTable(loaded=True, after="list_length")]
    output_position: Annotated[int | None, Holds("position of the item in the answer, from 1"), InTable(loaded=True)]
    edit_distance: NotRequired[
        Annotated[
            int,
            Holds(
                "of sequences and texts: how many insertions, deletions and substitutions of single items or characters turn the whole answer into the right "
                "one; the same in all rows of the question"
            ),
            InTable(loaded=True, after="correct"),
        ]
    ]


@with_config(OPEN)
class Given(TypedDict):
    """what an agent gave: types cannot see to it, since agents may come from elsewhere"""

    outcome: Annotated[
        Literal["answered", "omitted", "invalid"],
        Holds("answered, omitted (the window passed) or invalid (an answer outside the allowed ones)"),
        InTable(loaded=True, after="answer"),
    ]
    value: Annotated[Any, Holds("the whole answer")]
    rt_ms: Annotated[
        float | None,
        Holds("reaction time from the onset of the question; null where none means something", "ms", measured=True),
        InTable(loaded=True, after="warm_up"),
    ]
    raw: Annotated[Any, Holds("its raw form: key, click, text, logits", measured=True)]
    notes: Annotated[Notes, Holds("what the agent noted of its answer", measured=True)]


@final
@with_config(CLOSED)
class AskedStep(_Step, Given):
    """a step with a question is over: a row of the response table for each of its scores; all keys of a step, and these"""

    ask: Annotated[int, Holds("question of the trial, from 1"), InTable(loaded=True, after="step")]
    chance: Annotated[
        float | None,
        Holds("probability that a uniform guess among the allowed answers scores this item as correct"),
        InTable(loaded=True, after="retention_steps"),
    ]
    blind: NotRequired[
        Annotated[
            float | None,
            Holds("that of the best guess of somebody who knows paradigm, condition and question, but has not looked; null in older records"),
            InTable(loaded=True),
        ]
    ]
    record: Annotated[dict[str, Any], Holds("what the paradigm records of the question")]
    scores: Annotated[list[Score], Holds("a score for each item")]


class OwnColumns(TypedDict, total=False):
    """what is a column by its own name, be it the level of a factor or recorded by the paradigm"""

    set_size: int
    list_length: int
    retention_steps: Annotated[int, Holds("empty steps between the last item and the probe"), InTable(loaded=True, after="output_position")]
    serial_position: int
    output_position: int


@final
@with_config(CLOSED)
class TrialEnd(OfTrial):
    """the trial is finished; a trial without this line, or with fewer steps in the file, does not count and is taken again"""

    event: Literal["trial_end"]
    steps: Annotated[int, Holds("how many steps it has")]


@final
@with_config(CLOSED)
class TrialFailed(OfTrial):
    """a trial could not be had (chat models); it has no rows in the table"""

    event: Literal["trial_failed"]
    why: Annotated[str, Holds("the reason, in a sentence")]


@final
@with_config(CLOSED)
class TrialCut(OfTrial):
    """the trial was cut off within a step, and is replaced: the next attempt follows"""

    event: Literal["trial_cut"]
    why: Annotated[str, Holds("because of what: `paused`")]
    step: Annotated[int, Holds("within which step")]
    phase: NotRequired[Annotated[str, Holds("of which phase")]]
    shown: NotRequired[Annotated[list[Shown], Holds("what was shown of it", measured=True)]]
    happened: NotRequired[Annotated[dict[str, Any], Holds("what happened in it", measured=True)]]


@final
@with_config(CLOSED)
class KeptReply(OfTrial):
    """a reply was paid for (chat models), in sessions of older versions; newer ones have `transcripts.jsonl`"""

    event: Literal["reply"]
    reply: Annotated[dict[str, Any], Holds("the reply, with what it answers")]


#: a key that Python has a use of its own for
_For = TypedDict("_For", {"for": Annotated[str, Holds("what it is for: trial_start, phase, response, verdict or trial_end")]})


@final
@with_config(CLOSED)
class Trigger(OfTrial, _For):
    """a trigger code was sent"""

    event: Literal["trigger"]
    step: Annotated[int, Holds("in which step")]
    code: Annotated[int, Holds("the code")]
    what: Annotated[str, Holds("which phase, answer or verdict")]
    flip_ms: Annotated[float | None, Holds("onset of the step on the session's clock", "ms", measured=True)]
    sent_ms: Annotated[float | None, Holds("when it was sent, on the session's clock; null when the port did not take it", "ms", measured=True)]
    delay_ms: Annotated[float | None, Holds("time from what it stands for to its sending", "ms", measured=True)]
    lsl_s: NotRequired[Annotated[float, Holds("when it was sent, on LSL's clock", "s", measured=True)]]
    over: NotRequired[Annotated[dict[str, Any], Holds("which code's pulse it cut short, and how long after that one", measured=True)]]


# -- people --------------------------------------------------------------------------------------------------------------------------------------


@final
@with_config(CLOSED)
class Practice(TypedDict):
    """practice is over"""

    event: Literal["practice"]
    rounds: NotRequired[Annotated[int, Holds("how many rounds there were")]]
    right: NotRequired[Annotated[int, Holds("right items of the last round")]]
    items: NotRequired[Annotated[int, Holds("items of the last round")]]
    passed: Annotated[bool, Holds("whether the criterion was reached")]


@final
@with_config(CLOSED)
class PracticeDecision(TypedDict):
    """practice was not passed, and the assistant has decided"""

    event: Literal["practice_decision"]
    rounds: NotRequired[Annotated[int, Holds("how many rounds there had been")]]
    decided: Annotated[str, Holds("`again`, `go_on` or `leave`")]


@final
@with_config(CLOSED)
class Break(TypedDict):
    """a pause within the session is over"""

    event: Literal["break"]
    trials_done: NotRequired[Annotated[int, Holds("after how many trials")]]
    for_ms: NotRequired[Annotated[float, Holds("how long it was", "ms", measured=True)]]


Event: TypeAlias = (
    SessionStart
    | Resumed
    | Interrupted
    | SessionEnd
    | TrialStart
    | ShownStep
    | AskedStep
    | TrialEnd
    | TrialFailed
    | TrialCut
    | KeptReply
    | Trigger
    | Practice
    | PracticeDecision
    | Break
    | Span
    | Note
)
