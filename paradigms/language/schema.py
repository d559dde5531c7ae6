"""The keys of a paradigm file, outside the timeline: declared once, validated and documented from
here."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    Tag,
    model_validator,
)

from ...core.errors import in_number
from ...core.registry import StrictModel
from ..network_view import NetworkView
from ..triggers import Triggers
from .yaml_source import levels_of

#: no experiment has more
MAX_FACTORS, MAX_DRAWS = 50, 200
#: what stands for the correct answers in designs
ANSWER = "answer"

Scalar = StrictBool | StrictInt | StrictFloat | StrictStr
Title = Annotated[str, Field(min_length=1, max_length=200)]
Shown = Annotated[str, Field(min_length=1, max_length=4000)]


def _distinct(levels: list[Any]) -> list[Any]:
    values: set[tuple[bool, Any]] = set()
    for level in levels:
        if (isinstance(level, bool), level) in values:
            raise ValueError(
                f"the level {level!r} occurs twice; to have it more often than others, give weights, such as"
                f" {{{level}: 2, ...}}"
            )
        values.add((isinstance(level, bool), level))
    return levels


Levels = Annotated[list[Scalar], Field(min_length=1), AfterValidator(_distinct)]


def _weighted(weights: dict[str, int]) -> dict[str, int]:
    _distinct(levels_of(weights))
    return weights


#: levels in these proportions
Weights = Annotated[dict[str, Annotated[int, Field(ge=1, le=1000)]], Field(min_length=1), AfterValidator(_weighted)]
Milliseconds = Annotated[float, Field(gt=0, le=86_400_000)]


class RandomFactor(StrictModel):
    """A factor whose level is drawn for each trial instead of being crossed with the others."""

    random: Levels = Field(description="levels, each equally likely")


def _form_of(value: Any) -> str:
    """A list of levels, levels at random (a list under a key), or levels with weights."""
    if not isinstance(value, dict):
        return "random-factor" if isinstance(value, RandomFactor) else "level-list"
    return "random-factor" if any(isinstance(inner, list) for inner in value.values()) else "level-weights"


FactorLevels = Annotated[
    Annotated[Levels, Tag("level-list")]
    | Annotated[RandomFactor, Tag("random-factor")]
    | Annotated[Weights, Tag("level-weights")],
    Discriminator(_form_of),
]


class Uniform(StrictModel):
    """A duration drawn for each trial."""

    uniform: Annotated[list[Milliseconds], Field(min_length=2, max_length=2)] = Field(
        description="shortest and longest, in ms"
    )

    @model_validator(mode="after")
    def _ordered(self) -> Uniform:
        if self.uniform[0] > self.uniform[1]:
            raise ValueError(
                f"the shortest duration ({self.uniform[0]:g}) is longer than the longest ({self.uniform[1]:g})"
            )
        return self


class Practice(StrictModel):
    """Practice trials before the session."""

    trials: Annotated[int, Field(ge=1, le=1000)] = Field(description="trials in one round")
    factors: dict[str, Scalar] = Field(
        default_factory=dict,
        description=(
            "factor levels of practice trials, unless other levels were chosen for the session; all other factors"
            " follow the session"
        ),
    )
    feedback: bool = Field(default=True, description="whether people get feedback after each trial")
    pass_: Annotated[float, Field(ge=0, le=1)] | None = Field(
        default=None, alias="pass", description="proportion correct at which practice ends"
    )
    at_most: Annotated[int, Field(ge=1, le=100)] = Field(
        default=1, description="largest number of rounds, if the criterion is not reached"
    )
    otherwise: Literal["go_on", "stop"] = Field(
        default="go_on",
        description=(
            "what happens if the last round does not reach the criterion either: go_on to the trials, or stop until the"
            " assistant decides"
        ),
    )


class Example(StrictModel):
    """The pictured example on the first page of instructions."""

    factors: dict[str, Scalar] = Field(
        default_factory=dict,
        description=(
            "factor levels of the example, unless others were chosen for the session; other factors have the levels of"
            " practice, or the first in use"
        ),
    )
    seed: Annotated[int, Field(ge=0, le=9999)] = Field(
        default=0, description="seed of the trial that is shown; no session has any of these trials"
    )
    answer: Scalar | None = Field(
        default=None,
        description=(
            "a correct answer that must occur in the example: it is the first trial, from the seed on, with a question"
            " that has this answer"
        ),
    )
    show: bool = Field(
        default=True,
        description="whether there is an example",
    )
    each: Annotated[int, Field(ge=1, le=6)] | None = Field(
        default=None,
        description=(
            "largest number of displays of a phase in the example; all of the trial when not given, where there are not"
            " too many of them for a page"
        ),
    )


class Quiz(StrictModel):
    """The criterion of a quiz, whose questions people answer again until they reach it."""

    pass_: Annotated[float, Field(gt=0, le=1)] = Field(
        default=1, alias="pass", description="proportion of right answers that is asked for"
    )
    attempts: Annotated[int, Field(ge=1, le=100)] = Field(
        default=1, description="largest number of attempts; the instructions come again before each one"
    )
    otherwise: Literal["go_on", "stop", "leave"] = Field(
        default="go_on",
        description=(
            "what happens if the last attempt does not reach the criterion either: go_on, stop until the assistant"
            " decides, or leave: the participant is thanked, and the session (of the study) is over"
        ),
    )

    def to_record(self) -> dict[str, Any]:
        """The criterion as the record of a session keeps it."""
        return {"pass": self.pass_, "attempts": self.attempts, "otherwise": self.otherwise}


class Breaks(StrictModel):
    """Pauses within a session, besides those between blocks."""

    trials: Annotated[int, Field(ge=1)] | None = Field(default=None, description="number of trials between pauses")
    minutes: Annotated[float, Field(gt=0, le=1440)] | None = Field(default=None, description="minutes between pauses")
    seconds: Annotated[float, Field(ge=0, le=3600)] = Field(default=0, description="minimum duration of a pause")
    accuracy: bool = Field(
        default=False, description="whether the pause shows how many answers were correct since the last one"
    )


#: what belongs to one rule alone
_OF_ONE_RULE = {
    "span": ("lists", "failures"),
    "staircase": ("up_after", "down_after", "trials", "reversals", "leave_out"),
}


class Adaptive(StrictModel):
    """Levels of one factor that follow from how the trials before went: by a staircase, or by the
    rule of span tests."""

    rule: Literal["staircase", "span"] = Field(
        default="staircase",
        description=(
            "staircase (up and down), or span (a number of lists at each level, until too many of one level are wrong)"
        ),
    )
    factor: str = Field(
        description=(
            "the factor, such as list_length; its levels in use, from easy to hard in the order of the file, are the"
            " steps of the staircase"
        )
    )
    start: StrictInt | StrictFloat = Field(description="level of the first trial")
    up_after: Annotated[int, Field(ge=1, le=20)] = Field(
        default=2, description="number of correct trials in a row after which the next level follows"
    )
    down_after: Annotated[int, Field(ge=1, le=20)] = Field(
        default=1, description="number of other trials in a row after which the level before follows"
    )
    lists: Annotated[int, Field(ge=1, le=20)] = Field(
        default=2, description="of the rule span: number of trials at each level"
    )
    failures: Annotated[int, Field(ge=1, le=20)] | None = Field(
        default=None,
        description=(
            "of the rule span: number of wrong trials at one level after which the session ends; all of them when not"
            " given"
        ),
    )
    trials: Annotated[int, Field(ge=1, le=10_000)] = Field(
        default=40, description="largest number of trials; of the rule span as many as the levels need"
    )
    reversals: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None, description="number of reversals after which the session ends"
    )
    share: Annotated[float, Field(gt=0, le=1)] = Field(
        default=1, description="proportion of items that must be right for a trial to count as correct"
    )
    leave_out: Annotated[int, Field(ge=0, le=100)] = Field(
        default=2, description="number of first reversals that are left out of the estimate"
    )

    @model_validator(mode="after")
    def _of_one_rule(self) -> Adaptive:
        other = "span" if self.rule == "staircase" else "staircase"
        if wrong := [name for name in _OF_ONE_RULE[other] if name in self.model_fields_set]:
            raise ValueError(f"{', '.join(wrong)} {in_number(len(wrong), 'belongs', 'belong')} to the rule '{other}'")
        if self.failures is not None and self.failures > self.lists:
            raise ValueError(f"failures ({self.failures}) cannot be more than the lists at a level ({self.lists})")
        return self

    def to_record(self, trials: int, stairs: list[int | float]) -> dict[str, Any]:
        """The rule as the record of a session keeps it: what belongs to it, and nothing else."""
        options = {"rule", "lists"} if self.rule == "span" else {"up_after", "down_after", "reversals", "leave_out"}
        entry = self.model_dump(include={"factor", "start", "share", "trials", *options})
        failures = {"failures": self.failures or self.lists} if self.rule == "span" else {}
        return {**entry, **failures, "stairs": stairs, "trials": trials}


class MaxRun(StrictModel):
    """Separate limits of runs."""

    levels: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="largest number of trials in a row with the same levels"
    )
    answer: Annotated[int, Field(ge=1)] | None = Field(
        default=None,
        description="largest number of questions in a row with the same correct answer, over the whole session",
    )


class SessionDesign(StrictModel):
    """The trials of a session."""

    repetitions: Annotated[int, Field(ge=1, le=100_000)] = Field(
        default=1, description="number of trials of each combination of factor levels, in each block"
    )
    blocks: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=1, description="number of blocks, each with the whole set"
    )
    order: Literal["shuffled", "fixed"] = Field(default="shuffled", description="order of trials within a block")
    blocked_by: list[str] = Field(default_factory=list, description="factors that stay the same within a block")
    block_order: Literal["shuffled", "fixed"] = Field(
        default="shuffled", description="order of these blocks; fixed: that of the levels in the file"
    )
    max_run: Annotated[int, Field(ge=1)] | MaxRun | None = Field(
        default=None,
        description="largest number of trials in a row with the same levels; or separate limits for levels and answer",
    )
    balance: list[str] = Field(
        default_factory=list,
        description=(
            "what occurs equally often, besides crossed levels: answer (the correct one), and factors that are drawn at"
            " random"
        ),
    )
    question: str | None = Field(
        default=None,
        description="the phase whose question balance and max_run refer to, if trials have questions in several phases",
    )
    interval: Milliseconds | Uniform | None = Field(
        default=None, description="ms between trials, for people; default 1000"
    )
    factors: dict[str, Levels] = Field(default_factory=dict, description="levels used by this design, if not all")
    hold_out: dict[str, Levels] = Field(default_factory=dict, description="levels left out")
    breaks: Breaks | None = Field(default=None, description="pauses within the session, for people")
    adaptive: Adaptive | None = Field(default=None, description="a staircase chooses the levels of one factor")

    @model_validator(mode="after")
    def _one_order(self) -> SessionDesign:
        both = [
            name
            for name in ("repetitions", "blocks", "order", "blocked_by", "max_run", "balance", "question")
            if name in self.model_fields_set
        ]
        if self.adaptive is not None and both:
            raise ValueError(f"an adaptive design decides trial by trial: leave out {', '.join(both)}")
        if self.question is not None and not self.of_answers:
            raise ValueError(
                "'question' says which answers balance and max_run refer to: add balance: [answer] or max_run: {answer:"
                " 4}, or leave it out"
            )
        return self

    @property
    def run_of_levels(self) -> int | None:
        """At most so many trials with the same levels in a row."""
        return self.max_run.levels if isinstance(self.max_run, MaxRun) else self.max_run

    @property
    def run_of_answers(self) -> int | None:
        """At most so many questions with the same answer in a row."""
        return self.max_run.answer if isinstance(self.max_run, MaxRun) else None

    @property
    def of_answers(self) -> bool:
        """True if the design wishes anything of answers."""
        return ANSWER in self.balance or self.run_of_answers is not None

    @property
    def unchosen(self) -> SessionDesign:
        """The design without its wishes for answers and random factors."""
        return (
            self.model_copy(update={"balance": [], "max_run": self.run_of_levels, "question": None})
            if self.chooses
            else self
        )

    @property
    def chooses(self) -> bool:
        """True if the seeds of trials are chosen, and not simply counted."""
        return bool(self.balance) or self.run_of_answers is not None


class DatasetDesign(StrictModel):
    """The number of trials of a data set, distributed evenly over the combinations of factor
    levels."""

    train: Annotated[int, Field(ge=0, le=10**9)] = Field(description="training trials")
    validation: Annotated[int, Field(ge=0, le=10**9)] = Field(default=0, description="validation trials")
    test: Annotated[int, Field(ge=0, le=10**9)] = Field(default=0, description="test trials")
    factors: dict[str, Levels] = Field(default_factory=dict, description="levels used by this design, if not all")
    hold_out: dict[str, Levels] = Field(default_factory=dict, description="levels left out of training")


#: A design with ``train`` is a data set, any other a session; so a mistake in one is not told as a
#: mistake in both.
Design = Annotated[
    Annotated[SessionDesign, Tag("session-design")] | Annotated[DatasetDesign, Tag("dataset-design")],
    Discriminator(
        lambda value: (
            "dataset-design"
            if isinstance(value, DatasetDesign) or (isinstance(value, dict) and "train" in value)
            else "session-design"
        )
    ),
]


def written(level: Any) -> Any:
    """A level as the keys of a file write it: all of them are text."""
    if isinstance(level, bool):
        return str(level).lower()
    return f"{level:.15g}" if isinstance(level, int | float) else level


class EffectOfFile(StrictModel):
    """An effect of a paradigm's own, for figures, tests and sentences."""

    of: str = Field(description="the factor or recorded value whose levels are compared, such as transition")
    contrast: Annotated[dict[str, Annotated[str, BeforeValidator(written)]], Field(min_length=1, max_length=6)] = Field(
        description="levels that are compared: {switch: repeat} is switch minus repeat"
    )
    along: str | None = Field(
        default=None, description="a factor or recorded value, for each level of which the effect is shown"
    )
    phase: str | None = Field(
        default=None, description="the phase whose questions it is about, if trials have scored questions in several"
    )
    value: Literal["correct", "rt_ms", "rt_median", "d_prime"] = Field(
        default="correct",
        description=(
            "what is compared: right answers, mean or median reaction times of right answers, or d_prime: the first"
            " level is the signal, the other one the noise"
        ),
    )
    caption: Annotated[str, Field(max_length=400)] | None = Field(
        default=None, description="what it shows, in a sentence"
    )

    @model_validator(mode="after")
    def _comparable(self) -> EffectOfFile:
        if same := next((one for one, other in self.contrast.items() if one == other), ""):
            raise ValueError(f"'{same}' is compared with itself")
        if self.value == "d_prime" and len(self.contrast) > 1:
            raise ValueError("d_prime has one signal and one noise; write an effect for each further pair")
        return self


class Source(StrictModel):
    """The origin of the paradigm."""

    benchmark: str | None = Field(default=None, description="section of the benchmark paper")
    study: str | None = Field(default=None, description="the human study it follows")
    human: str | None = Field(default=None, description="published human curve in human_data, by name")
    ours: dict[str, str] = Field(
        default_factory=dict, description="phases whose durations the papers leave open, and the source of SpanLab's"
    )


class Head(StrictModel):
    """Everything at the top of a paradigm file but factors, draws, timeline and designs, which have
    readers of their own."""

    paradigm: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,40}$")] = Field(
        description="short name: small letters, digits, underscores"
    )
    version: Annotated[int, Field(ge=1)] = Field(description="number that increases whenever trials change")
    title: Title | Annotated[dict[str, Title], Field(min_length=1)] = Field(
        description="full title, or one for each language"
    )
    family: Annotated[str, Field(min_length=1, max_length=40)] | None = Field(
        default=None, description="the family of paradigms that it belongs to, such as WorM"
    )
    source: Source = Field(default_factory=lambda: Source(), description="the origin of the paradigm")
    domains: list[str] = Field(default_factory=list, description="visual, spatial, verbal, temporal")
    functions: list[str] = Field(default_factory=list, description="storage, integration, supervision, updating ...")
    characteristics: list[str] = Field(default_factory=list, description="characteristics of memory that it measures")
    factors: Annotated[dict[str, FactorLevels], Field(max_length=MAX_FACTORS)] = Field(
        default_factory=dict, description="factors and their levels"
    )
    draw: Annotated[dict[str, Any], Field(max_length=MAX_DRAWS)] = Field(
        default_factory=dict, description="what is drawn once per trial: a sampler, or an expression"
    )
    timeline: Annotated[list[Any], Field(min_length=1)] = Field(description="the steps")
    set_size: int | str | None = Field(
        default=None, description="number of items to be held in memory, usually an expression"
    )
    list_length: int | str | None = Field(
        default=None,
        description="number of items presented, usually an expression; the factor of that name if not given",
    )
    conditions: list[str] = Field(
        default_factory=list,
        description=(
            "factors and recorded values that figures, tests and scores are about, the most important first; if not"
            " given, all factors, and recorded values with few levels"
        ),
    )
    effects: dict[str, EffectOfFile] = Field(
        default_factory=dict, description="effects that figures, tests and sentences are about, by name"
    )
    network: NetworkView | None = Field(default=None, description="what a network sees")
    instructions: dict[str, str] = Field(
        description="neutral instructions by language; SpanLab adds how to answer for each kind of agent"
    )
    translations: dict[str, Annotated[dict[Shown, Shown], Field(min_length=1)]] = Field(
        default_factory=dict,
        description=(
            "translations of texts on the screen and of answers in words, by language: {de: {correct: richtig, same:"
            " gleich}}; machines and the record use the original words"
        ),
    )
    practice: Practice | None = Field(default=None, description="practice trials")
    example: Example | None = Field(
        default=None, description="the worked example in the instructions, if it differs from the usual one"
    )
    questionnaire: bool = Field(
        default=False,
        description=(
            "true for questions that test no memory: there is no example, pages speak of questions and not of trials,"
            " and a pause cuts nothing off"
        ),
    )
    quiz: Quiz | None = Field(
        default=None,
        description="for a questionnaire with right answers: its criterion, and what happens if people do not reach it",
    )
    attention_checks: list[str] = Field(
        default_factory=list,
        description=(
            "phases whose questions are attention checks; spanlab study status counts how many were answered correctly"
        ),
    )
    images: str | list[str] | dict[str, Any] = Field(
        default_factory=list,
        description=(
            "folders and files with images of one's own, from the folder of the paradigm, where expressions choose"
            " among them; images that are named in displays, factors and draws need not be listed"
        ),
    )
    sounds: str | list[str] | dict[str, Any] = Field(
        default_factory=list,
        description="the same for sounds of one's own",
    )
    triggers: Triggers | None = Field(
        default=None, description="codes for an EEG amplifier, an eye tracker or another recorder"
    )
    designs: dict[str, Design] = Field(default_factory=dict, description="named designs; 'human' is the default")
