"""The events of a session: one model for each event of ``events.jsonl``, and a description of each
field.

To record a value, add a field here, and the line that fills it where the event happens. With
``InTable`` the field is also a column of the response table.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypeAlias, final

from pydantic import Field, StringConstraints, with_config
from typing_extensions import TypedDict  # pydantic wants this one below Python 3.12

from .marking import CLOSED, OPEN, Holds, InTable

#: How events name a trial.
TrialKey = Annotated[str, StringConstraints(pattern="^p?[0-9]{1,9}$")]
#: An item's answer, as a scalar; the first type that fits is the right one, which is known sooner
#: than the best.
Answer = Annotated[str | int | float | None, Field(union_mode="left_to_right")]
At = Annotated[str, Holds("wall-clock time (UTC, ISO 8601)", measured=True)]


class OfTrial(TypedDict):
    """in every event of a trial"""

    trial: Annotated[
        TrialKey,
        Holds("number of the trial; `p3` is the third practice trial"),
        InTable(
            loaded=True,
            type="integer",
            meaning="number of the trial in the session, from 1; practice trials are numbered separately",
        ),
    ]
    attempt: Annotated[int, Holds("number of the attempt at the trial, from 1")]


# -- the session -----------------------------------------------------------------------------------


@final
@with_config(CLOSED)
class SessionStart(TypedDict):
    """the session begins"""

    event: Literal["session_start"]
    at: At


@final
@with_config(CLOSED)
class Resumed(TypedDict):
    """the session is resumed after an interruption"""

    event: Literal["resumed"]
    paid_twice_at_most: NotRequired[
        Annotated[
            int,
            Holds("number of requests to a chat model that were sent but whose replies were not saved", measured=True),
        ]
    ]
    settings: NotRequired[
        Annotated[
            dict[str, Any],
            Holds("settings that were others when the session was resumed, such as the `screen`: old value, new value"),
        ]
    ]
    at: NotRequired[At]


@final
@with_config(CLOSED)
class Interrupted(TypedDict):
    """the session was stopped, or could not continue"""

    event: Literal["interrupted"]
    at: NotRequired[At]
    why: NotRequired[Annotated[str, Holds("the reason, in a sentence")]]


@final
@with_config(CLOSED)
class SessionEnd(TypedDict):
    """the session is complete"""

    event: Literal["session_end"]
    at: At


class Climbed(TypedDict):
    """the result of an adaptive session"""

    factor: Annotated[str, Holds("the factor that the staircase varied")]
    span: Annotated[float | None, Holds("the estimated span; null if there is none")]
    formula: Annotated[str, Holds("how the estimate is computed, in words")]
    reversals: Annotated[list[float], Holds("the levels at which the staircase changed direction")]
    trials: Annotated[int, Holds("number of trials")]
    correct_trials: Annotated[int, Holds("number of trials that counted as correct")]
    highest_reached: Annotated[float | None, Holds("the hardest level reached")]
    at_limit: Annotated[
        dict[str, int], Holds("number of trials at the easiest level (`lowest`) and at the hardest (`highest`)")
    ]
    rule: NotRequired[Annotated[str, Holds("`span` for a span test; a staircase if missing")]]


@final
@with_config(CLOSED)
class Span(Climbed):
    """an adaptive session ends"""

    event: Literal["span"]


@final
@with_config(OPEN)
class Note(TypedDict):
    """a remark that is not an answer; agents may add further keys"""

    event: Literal["note"]
    trial: NotRequired[Annotated[TrialKey, Holds("number of the trial")]]
    attempt: NotRequired[Annotated[int, Holds("number of the attempt")]]
    what: NotRequired[Annotated[str, Holds("what the remark is about")]]
    at: NotRequired[At]
    after_trial: NotRequired[
        Annotated[
            list[dict[str, Any]],
            Holds(
                "keys pressed after a trial, which had no effect, with times in ms from the onset of its last step",
                measured=True,
            ),
        ]
    ]


# -- trials ----------------------------------------------------------------------------------------


@final
@with_config(CLOSED)
class TrialStart(OfTrial):
    """a trial begins"""

    event: Literal["trial_start"]
    block: Annotated[int, Holds("block, from 1"), InTable(loaded=True)]
    practice: Annotated[bool, Holds("whether it is a practice trial"), InTable(loaded=True)]
    levels: Annotated[dict[str, Any], Holds("level of every factor")]
    seed: Annotated[int | None, Holds("seed of the trial; null for an import without seeds"), InTable()]
    trial_id: Annotated[
        str,
        Holds(
            "hash of paradigm, version, generator, factor levels, seed (and of given draws); empty for an import"
            " without seeds"
        ),
        InTable(loaded=True),
    ]
    set_size: Annotated[
        int | None, Holds("number of items to be held in memory, as the paradigm defines it"), InTable(loaded=True)
    ]
    list_length: Annotated[int | None, Holds("number of items presented one after another"), InTable(loaded=True)]
    started_at: Annotated[str, Holds("wall-clock time of the trial's start (UTC, ISO 8601)", measured=True), InTable()]


@with_config(CLOSED)
class ShownDisplay(TypedDict):
    """one display of a step, as it was actually shown"""

    planned_ms: NotRequired[Annotated[float | None, Holds("planned duration; null if self-paced", "ms")]]
    onset_ms: Annotated[
        float | None, Holds("onset of the step's first display on the session's clock", "ms", measured=True), InTable()
    ]
    shown_ms: Annotated[float | None, Holds("duration as shown", "ms", measured=True), InTable()]
    planned_frames: Annotated[
        int | None, Holds("planned duration at the measured refresh rate", "frames", measured=True), InTable()
    ]
    shown_frames: Annotated[int | None, Holds("duration as shown, in frames", "frames", measured=True), InTable()]
    dropped_frames: Annotated[int, Holds("number of late frames", "frames", measured=True)]
    onset_bound_ms: NotRequired[
        Annotated[
            float | None,
            Holds(
                "the longest time by which its picture may have appeared before that onset; null if unknown",
                "ms",
                measured=True,
            ),
        ]
    ]


class Feedback(TypedDict, total=False):
    """steps that show feedback"""

    feedback: Annotated[
        Literal["right", "wrong", "missed"],
        Holds("the feedback shown: right, wrong or missed"),
        InTable(
            name="feedback_shown",
            missing="",
            meaning="right, wrong or missed, if feedback on this answer was shown; empty otherwise",
        ),
    ]


class _Step(OfTrial, Feedback):
    event: Literal["step"]
    step: Annotated[int, Holds("step of the trial, from 1"), InTable(loaded=True)]
    phase: Annotated[str, Holds("phase of the step, such as probe"), InTable(loaded=True)]
    planned_ms: Annotated[
        float | None, Holds("planned duration of the step's first display; null if self-paced", "ms"), InTable()
    ]
    shown: NotRequired[
        Annotated[
            list[ShownDisplay],
            Holds("in a window: its displays in order", "frames", measured=True),
            InTable(
                name="dropped_frames",
                type="integer",
                cell=lambda shown: sum(display["dropped_frames"] for display in shown) if shown else None,
                meaning="number of late frames in the step",
            ),
        ]
    ]
    happened: NotRequired[Annotated[dict[str, Any], Holds("in a window: anything else that happened", measured=True)]]


@final
@with_config(CLOSED)
class ShownStep(_Step):
    """a step ends"""


@final
@with_config(OPEN)
class Notes(TypedDict, total=False):
    """the agent's notes on its answer; agents may add further keys"""

    extraction: Annotated[
        str,
        Holds(
            "how the answer was read from the reply: exact, first_character, tolerant, constrained, model or unread;"
            " empty except for chat models"
        ),
        InTable(missing=""),
    ]
    attempts: Annotated[
        int | None,
        Holds("number of replies to this question: 1, and 1 more for each repeat; null except for chat models"),
        InTable(),
    ]
    warm_up: Annotated[
        bool,
        Holds(
            "whether the question was a warm-up question at the start of a conversation; such rows are left out of"
            " curves"
        ),
        InTable(loaded=True, cell=bool, missing=False),
    ]
    latency_ms: Annotated[
        float | None,
        Holds("time from the request to the reply that was used; null except for chat models", "ms", measured=True),
        InTable(),
    ]
    prompt_tokens: Annotated[
        int | None,
        Holds("input tokens for this answer, over all attempts, as counted by the server", "tokens", measured=True),
        InTable(),
    ]
    completion_tokens: Annotated[
        int | None,
        Holds("output tokens for this answer, over all attempts, as counted by the server", "tokens", measured=True),
        InTable(),
    ]


@with_config(CLOSED)
class Score(TypedDict):
    """one answered item"""

    answer: Annotated[Answer, Holds("the answer given; null if there was none"), InTable(loaded=True)]
    correct_answer: Annotated[
        Answer, Holds("the correct answer; null for an intrusion and a rating"), InTable(loaded=True)
    ]
    correct: Annotated[
        bool | None,
        Holds("whether the item was answered correctly; null where there is no right answer (ratings)"),
        InTable(loaded=True),
    ]
    serial_position: Annotated[
        int | None, Holds("serial position of the tested item in the list, from 1"), InTable(loaded=True)
    ]
    output_position: Annotated[
        int | None, Holds("output position of the item in the answer, from 1"), InTable(loaded=True)
    ]
    edit_distance: NotRequired[
        Annotated[
            int,
            Holds(
                "sequences and texts: smallest number of insertions, deletions and substitutions of single items or"
                " characters that turn the whole answer into the right one; the same in all rows of the question"
            ),
            InTable(loaded=True),
        ]
    ]
    error: NotRequired[
        Annotated[
            float | None,
            Holds(
                "continuous report: signed distance from the correct answer to the answer, clockwise positive, the"
                " shorter way round; null without an answer, and for all other questions",
                "degrees",
            ),
            InTable(loaded=True),
        ]
    ]
    period: NotRequired[
        Annotated[
            float | None,
            Holds(
                "continuous report: after how many degrees answers repeat (180 for orientations, 360 for colours and"
                " locations)",
                "degrees",
            ),
            InTable(loaded=True),
        ]
    ]
    tolerance: NotRequired[
        Annotated[
            float | None,
            Holds(
                "continuous report: `correct` says whether the error is at most this, as the paradigm declares",
                "degrees",
            ),
            InTable(loaded=True),
        ]
    ]
    scale_from: NotRequired[
        Annotated[
            int | None,
            Holds("ratings: the lowest number of the scale; null for all other questions"),
            InTable(loaded=True),
        ]
    ]
    scale_to: NotRequired[
        Annotated[int | None, Holds("ratings: the highest number of the scale"), InTable(loaded=True)]
    ]
    more: NotRequired[
        Annotated[
            dict[str, Any],
            Holds("values that only this kind of question has, as it declares them: columns `score_<name>`"),
        ]
    ]


@with_config(OPEN)
class Given(TypedDict):
    """what an agent returned, checked when it is written because agents may come from other
    packages"""

    outcome: Annotated[
        Literal["answered", "omitted", "invalid"],
        Holds("answered, omitted (no answer within the response window) or invalid (not an allowed answer)"),
        InTable(loaded=True),
    ]
    value: Annotated[Any, Holds("the whole answer")]
    rt_ms: Annotated[
        float | None,
        Holds("reaction time from the onset of the question; null if it has no meaning", "ms", measured=True),
        InTable(loaded=True),
    ]
    raw: Annotated[Any, Holds("the answer in raw form: key, click, text, logits", measured=True)]
    notes: Annotated[Notes, Holds("the agent's notes on its answer", measured=True)]


@final
@with_config(CLOSED)
class AskedStep(_Step, Given):
    """a step with a question ends: each of its scores is a row of the response table; it has all
    keys of a step, and these"""

    ask: Annotated[int, Holds("number of the question in the trial, from 1"), InTable(loaded=True)]
    chance: Annotated[
        float | None,
        Holds("probability that a uniform guess among the allowed answers scores this item as correct"),
        InTable(loaded=True),
    ]
    blind: NotRequired[
        Annotated[
            float | None,
            Holds(
                "the same probability for the best blind guess: by somebody who knows paradigm, condition and question"
                " but saw nothing"
            ),
            InTable(loaded=True),
        ]
    ]
    record: Annotated[dict[str, Any], Holds("what the paradigm records with the question")]
    scores: Annotated[list[Score], Holds("one score for each item")]


class OwnColumns(TypedDict, total=False):
    """columns with a fixed name, whether the level of a factor or recorded by the paradigm"""

    set_size: int
    list_length: int
    retention_steps: Annotated[
        int, Holds("number of empty steps between the last item and the probe"), InTable(loaded=True)
    ]
    serial_position: int
    output_position: int
    non_targets: Annotated[
        list[Any],
        Holds(
            "correct answers of the other items, about which the question could have been asked instead, as a list;"
            " null where the paradigm does not say"
        ),
        InTable(loaded=True),
    ]


@final
@with_config(CLOSED)
class TrialEnd(OfTrial):
    """the trial ends; a trial without this line, or with fewer steps in the file, does not count
    and is repeated"""

    event: Literal["trial_end"]
    steps: Annotated[int, Holds("number of steps of the trial")]


@final
@with_config(CLOSED)
class TrialFailed(OfTrial):
    """a trial failed (chat models); it has no rows in the table"""

    event: Literal["trial_failed"]
    why: Annotated[str, Holds("the reason, in a sentence")]


@final
@with_config(CLOSED)
class TrialCutOff(OfTrial):
    """the trial was cut off within a step and is replaced: the next attempt follows"""

    event: Literal["trial_cut"]
    why: Annotated[
        str,
        Holds(
            "the reason: `paused`; in a browser also `hidden`, `reloaded` and `page and server disagree`; `unknown`"
            " where an imported data set has none"
        ),
    ]
    step: NotRequired[Annotated[int, Holds("number of the step; an imported data set does not say it")]]
    phase: NotRequired[Annotated[str, Holds("phase of the step")]]
    shown: NotRequired[Annotated[list[ShownDisplay], Holds("the displays shown until then", measured=True)]]
    happened: NotRequired[Annotated[dict[str, Any], Holds("anything else that happened in the step", measured=True)]]


#: ``for`` is a keyword in Python
_For = TypedDict(
    "_For", {"for": Annotated[str, Holds("what the code marks: trial_start, phase, response, verdict or trial_end")]}
)


@final
@with_config(CLOSED)
class Trigger(OfTrial, _For):
    """a trigger code was sent"""

    event: Literal["trigger"]
    step: Annotated[int, Holds("number of the step")]
    code: Annotated[int, Holds("the trigger code")]
    what: Annotated[str, Holds("the phase, answer or verdict")]
    flip_ms: Annotated[float | None, Holds("onset of the step on the session's clock", "ms", measured=True)]
    sent_ms: Annotated[
        float | None,
        Holds("time of sending on the session's clock; null if the port did not accept it", "ms", measured=True),
    ]
    delay_ms: Annotated[float | None, Holds("time from the marked event to sending", "ms", measured=True)]
    lsl_s: NotRequired[Annotated[float, Holds("time of sending on LSL's clock", "s", measured=True)]]
    over: NotRequired[
        Annotated[
            dict[str, Any],
            Holds("the code whose pulse it cut short, and how long after that code it came", measured=True),
        ]
    ]


# -- people ----------------------------------------------------------------------------------------


@final
@with_config(CLOSED)
class PracticeResult(TypedDict):
    """practice ends"""

    event: Literal["practice"]
    rounds: NotRequired[Annotated[int, Holds("number of rounds")]]
    right: NotRequired[Annotated[int, Holds("number of right items in the last round")]]
    items: NotRequired[Annotated[int, Holds("number of items in the last round")]]
    passed: Annotated[bool, Holds("whether the criterion was reached")]


@final
@with_config(CLOSED)
class PracticeDecision(TypedDict):
    """practice was not passed, and the assistant has decided"""

    event: Literal["practice_decision"]
    rounds: NotRequired[Annotated[int, Holds("number of rounds until then")]]
    decided: Annotated[str, Holds("`again`, `go_on` or `leave`")]


@final
@with_config(CLOSED)
class QuizAttempt(TypedDict):
    """an attempt at a quiz ends"""

    event: Literal["quiz"]
    attempt: Annotated[int, Holds("number of the attempt, from 1; the `block` of its trials")]
    right: Annotated[int, Holds("number of right answers")]
    items: Annotated[int, Holds("number of answers that could be right")]
    passed: Annotated[bool, Holds("whether the criterion was reached")]


@final
@with_config(CLOSED)
class QuizDecision(TypedDict):
    """a quiz was not passed, and the assistant has decided"""

    event: Literal["quiz_decision"]
    attempt: Annotated[int, Holds("number of attempts until then")]
    decided: Annotated[str, Holds("`again`, `go_on` or `leave`")]


@final
@with_config(CLOSED)
class Break(TypedDict):
    """a break within the session ends"""

    event: Literal["break"]
    trials_done: NotRequired[Annotated[int, Holds("number of trials before the break")]]
    for_ms: NotRequired[Annotated[float, Holds("duration of the break", "ms", measured=True)]]


@final
@with_config(CLOSED)
class ScanStart(TypedDict):
    """the scanner has sent the pulse with which trials begin"""

    event: Literal["scan_start"]
    pulse: Annotated[int, Holds("number of that pulse since the session waited for the scanner, from 1")]
    first_ms: Annotated[float, Holds("time of the first of these pulses on the session's clock", "ms", measured=True)]
    at_ms: Annotated[float, Holds("time of that pulse on the session's clock", "ms", measured=True)]


@final
@with_config(CLOSED)
class Pulses(TypedDict):
    """pulses of the scanner that came since the last such event"""

    event: Literal["pulses"]
    first: Annotated[int, Holds("number of the first of them in the sitting, from 1")]
    at_ms: Annotated[list[float], Holds("their times on the session's clock", "ms", measured=True)]


@final
@with_config(CLOSED)
class Volumes(TypedDict):
    """the trials are over, and the volumes of the scanner were counted"""

    event: Literal["volumes"]
    pulses: Annotated[int, Holds("number of pulses from the first one that the session waited for", measured=True)]
    every_ms: Annotated[float | None, Holds("median time from one pulse to the next", "ms", measured=True)]
    lost: Annotated[
        int,
        Holds("number of pulses that are missing in gaps of up to ten volumes; a longer gap is a pause", measured=True),
    ]


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
    | TrialCutOff
    | Trigger
    | PracticeResult
    | PracticeDecision
    | QuizAttempt
    | QuizDecision
    | Break
    | ScanStart
    | Pulses
    | Volumes
    | Span
    | Note
)
