"""The protocol of a chat session as declared settings: whatever shapes the answers, and nothing
secret.

Presets are protocols that have a name, in ``presets.yaml``.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, model_validator

from ...core.errors import SpanLabError
from ...core.registry import nearest
from ...paradigms.language.diagnostics import expectation, show
from ...paradigms.language.yaml_source import parse
from .open_request import (
    fault_of_body,
    fault_of_headers,
    instructions_of,
    is_file,
    preset_of_file,
    written,
)

_FILE = "presets.yaml"


@dataclass(frozen=True, slots=True)
class Preset:
    """A protocol that has a name.

    Parameters
    ----------
    about : what it is, in a few sentences
    settings : those in which it differs from the defaults
    """

    about: str
    settings: Mapping[str, Any]


@functools.cache
def presets() -> Mapping[str, Preset]:
    """All presets, by name."""
    data = parse(files("spanlab.agents.chat").joinpath(_FILE).read_text(encoding="utf-8"), _FILE).data
    return {
        name: Preset(one["about"], {**one["settings"], **{key: one[key] for key in ("instructions",) if key in one}})
        for name, one in data.items()
    }


def preset(name: str) -> Mapping[str, Any]:
    """The settings of a preset, without those that are as the defaults have them.

    Raises
    ------
    SpanLabError
        for an unknown name, or a file that cannot be read.
    """
    if is_file(name):
        return preset_of_file(name)
    known = presets()
    if name not in known:
        hint = nearest(name, known) or "; there are " + ", ".join(known)
        raise SpanLabError(f"chat settings: there is no preset '{name}'{hint} (a file of your own ends in .yaml)")
    return known[name].settings


#: The sentence before a paradigm's instructions, by view.
PREAMBLES: Mapping[str, str] = {
    "words": "Each display is described in words.",
    "image": "Each display is a picture.",
    "both": "Each display is described in words, and a picture of it follows.",
}
#: How reasons are asked for.
REASONS: Mapping[str, str] = {
    "none": "",
    "after": "Give the answer first, alone in its own line; after it explain step by step how you came to it.",
    "before": "First think step by step in writing; then give the answer alone in the last line.",
}
#: recorded with the settings of an agent, and said by its name
IN_NAME = frozenset({"model", "endpoint", "provider"})
#: tells the validators that settings come from a record
_RECORDED = "recorded"


class ChatSettings(BaseModel):
    """Settings of how a trial is put to a chat model and how its replies are read.

    Sampling settings that are None are not sent, so that the server's own default holds (some
    models refuse any other).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    preset: str = Field(
        default="", description="the preset that the other settings start from; empty if none was chosen"
    )

    temperature: float | None = Field(default=None, ge=0, description="sampling temperature; not sent if not given")
    max_tokens: int | None = Field(default=None, ge=1, description="longest reply in tokens; not sent if not given")
    extra_body: Mapping[str, Any] = Field(
        default={},
        description=(
            "further fields of every request, under the server's names, such as {top_p: 0.9, stop: [END]}; with"
            " {logprobs: true, top_logprobs: 20} the record has the probabilities of the allowed answers"
        ),
    )
    extra_headers: Mapping[str, str] = Field(
        default={},
        description=(
            "further headers of every request; $NAME stands for an environment variable, of which only the name is"
            " recorded, and $CONVERSATION for the name of the conversation, for servers that remember conversations"
        ),
    )
    likelihoods: Literal["none", "prompt", "echo", "top"] = Field(
        default="none",
        description=(
            "request the probability of each allowed answer with each question: from the probabilities of what is sent"
            " (prompt: prompt_logprobs of vLLM; echo: a completion endpoint), or from the most probable first tokens of"
            " a reply (top)"
        ),
    )
    instructions_as: Literal["system", "developer", "user"] = Field(
        default="system",
        description=(
            "role of the instructions; with user they begin the first user message, or with separate delivery are a"
            " separate message"
        ),
    )
    instructions: Mapping[str, str] = Field(
        default={},
        description=(
            "instructions by paradigm, replacing its own; {=n} stands for a factor's level; other paradigms are then"
            " refused; or a wording that ships: plain, formal, brief, friendly"
        ),
    )
    prompts: bool = Field(
        default=False,
        description=(
            "whether a question begins with the paradigm's wording, as for people, such as 'Which word came first?'"
        ),
    )
    preamble: str = Field(
        default="", description="sentence before the instructions; if not given, one that fits the view; may be empty"
    )
    view: Literal["words", "image", "both"] = Field(default="words", description="how displays reach the model")
    image_px: int = Field(default=512, ge=96, le=2048, description="width and height of a picture, in pixels")
    probe: Literal["read", "tokens", "off"] = Field(
        default="read",
        description=(
            "what is checked before a session with pictures or sounds: that the model reads pictures and that sounds"
            " reach it, that both reach it (the request has more tokens), or nothing"
        ),
    )
    sounds: Literal["words", "audio"] = Field(
        default="words",
        description=(
            "how sounds reach the model: described in words, or as sounds (input_audio of chat completions), for models"
            " that take them"
        ),
    )
    wording: Literal["full", "bare"] = Field(
        default="full",
        description=(
            "full: the instructions and every question say how to answer; bare: only the instructions and the stimuli"
            " are sent"
        ),
    )
    option_order: Literal["declared", "reversed", "rotated"] = Field(
        default="declared",
        description=(
            "in which order a question between words names its options: as the paradigm has them, from the last to the"
            " first, or the first one last"
        ),
    )
    option_signs: Literal["words", "letters", "digits"] = Field(
        default="words",
        description=(
            "how the options of a question between words are answered: as words, or by a letter (A, B) or a digit (1,"
            " 2) for each"
        ),
    )
    turn: str = Field(
        default="",
        description=(
            "with wording bare: a question's message in these words, {shown} for what it is about, {before} for what"
            " was shown since the last answer; instructions are then sent as they are written, with line breaks around"
            " them"
        ),
    )
    first_turn: str = Field(
        default="", description="with turn: the words of the first question of a trial; those of turn if not given"
    )
    delivery: Literal["merged", "separate", "acknowledged"] = Field(
        default="merged",
        description=(
            "the steps between two questions are parts of one user message, one message each, or one message each with"
            " a scripted reply between them"
        ),
    )
    history: Literal["full", "without_reasons", "extracted"] = Field(
        default="full",
        description=(
            "what the model sees of its earlier replies: all of each, only the line with the answer where it gave"
            " reasons, or only the answer that was read in it"
        ),
    )
    reasoning: Literal["none", "after", "before"] = Field(
        default="none", description="whether the model is asked for reasons, after or before the answer"
    )
    reasoning_text: str = Field(
        default="",
        description=(
            "the sentence that asks for reasons, at every question (bare: in the instructions); a default if not given"
        ),
    )

    extraction: Literal["strict", "first_character", "tolerant"] = Field(
        default="tolerant",
        description=(
            "how an answer is read: the reply must be the answer alone; its first character is the answer; the only"
            " allowed answer in it counts"
        ),
    )
    judge: str = Field(
        default="",
        description=(
            "another model, MODEL or MODEL@PROVIDER, that reads the replies in which the tolerant rule finds no answer"
        ),
    )
    constrained: Literal["none", "json"] = Field(
        default="none",
        description="whether the server must restrict the answer to a JSON schema of the allowed answers",
    )
    reask: int = Field(
        default=1,
        ge=0,
        le=1000,
        description="how often a question is repeated after a reply that cannot be read as an answer",
    )
    reask_text: str = Field(
        default="That could not be read as an answer. {question}",
        min_length=1,
        description="message when a question is repeated; {question} stands for the question",
    )
    warm_up: int = Field(
        default=0,
        ge=0,
        le=1000,
        description=(
            "number of questions at the start of a conversation that are asked like all others but marked as warm-up"
        ),
    )

    practice: Literal["none", "feedback"] = Field(
        default="none",
        description=(
            "feedback: the paradigm's practice comes first, with the same criterion and the same feedback after each"
            " trial as for people; every conversation then begins with it"
        ),
    )
    conversation: Literal["trial", "session"] = Field(
        default="trial",
        description=(
            "whether each trial starts a new conversation, or a conversation spans all trials of a block, as a person's"
            " session does"
        ),
    )
    conversation_window: int | None = Field(
        default=None,
        ge=1,
        description=(
            "with conversation session: number of earlier trials that are sent again; practice and examples always are;"
            " all trials if not given"
        ),
    )
    examples: int = Field(
        default=0,
        ge=0,
        le=100,
        description=(
            "number of worked examples before a trial: other trials, with the right answers as if the model had given"
            " them"
        ),
    )

    notepad: bool = Field(
        default=False,
        description=(
            "whether the model writes notes before the first question of a trial; what it was shown is then dropped,"
            " and only its notes are sent again"
        ),
    )
    retention_load: int = Field(
        default=0,
        ge=0,
        le=200_000,
        description=(
            "length (in tokens, about) of an irrelevant text between the list and the first question of a trial"
        ),
    )
    interference: int = Field(
        default=0,
        ge=0,
        le=100,
        description=(
            "number of sums to do, one a turn, between the list and the first question of a trial; they are not scored"
        ),
    )

    repeat: int = Field(
        default=1,
        ge=1,
        description="number of this repetition of the same trials; keeps their replies apart in a cache",
    )
    label: str = Field(
        default="", description="remark on this agent in figures and tables, such as 'scripted server, not a model'"
    )

    @model_validator(mode="before")
    @classmethod
    def _filled(cls, values: Any, info: ValidationInfo) -> Any:
        """Under what is given, the settings of the preset that it names, and sentences of ours:
        whatever holds is recorded, also what nobody chose."""
        if not isinstance(values, Mapping) or info.context == _RECORDED:
            return values
        if values.get("instructions"):
            values = {**values, "instructions": instructions_of(values["instructions"])}
        if name := values.get("preset"):
            values = {**preset(str(name)), **values}
        values = {
            key: written(key, value) if key in ("extra_body", "extra_headers") else value
            for key, value in values.items()
        }
        ours = {
            "preamble": PREAMBLES.get(values.get("view", "words"), ""),
            "reasoning_text": REASONS.get(values.get("reasoning", "none"), ""),
        }
        empty = {
            "preamble": "",
            "reasoning_text": "",
            "instructions": {},
            "extra_body": {},
            "extra_headers": {},
            "label": "",
        }  # given without a value, as on a command line
        return {
            **ours,
            **{name: empty[name] if value is None and name in empty else value for name, value in values.items()},
        }

    @model_validator(mode="after")
    def _consistent(self) -> ChatSettings:
        if self.judge.strip() and self.extraction != "tolerant":
            raise ValueError(
                "a judge reads what the tolerant rule cannot: leave out judge, or set extraction to tolerant"
            )
        if self.prompts and self.wording == "bare":
            raise ValueError("with wording bare, questions have no text: set prompts to false, or wording to full")
        if self.wording == "bare" and (self.option_order, self.option_signs) != ("declared", "words"):
            raise ValueError(
                "with wording bare, nothing names the options: leave out option_order and option_signs, or set wording"
                " to full"
            )
        if self.turn and (self.wording != "bare" or self.view != "words" or self.sounds != "words" or self.examples):
            raise ValueError(
                "turn puts what is shown into words of yours: set wording to bare, view and sounds to words, and"
                " examples to 0"
            )
        if (self.turn and "{shown}" not in self.turn) or (self.first_turn and "{shown}" not in self.first_turn):
            raise ValueError("turn and first_turn need {shown}, where the words of what is shown stand")
        if self.first_turn and not self.turn:
            raise ValueError(
                "first_turn is for the first question of a trial, and turn for the others: give turn as well"
            )
        if self.reasoning == "before" and self.extraction == "first_character":
            raise ValueError(
                "with reasons before the answer, the first character of a reply is not the answer: set extraction to"
                " tolerant, or reasoning to after"
            )
        if self.likelihoods != "none" and (self.constrained != "none" or self.reasoning != "none"):
            raise ValueError("likelihoods are those of bare answers: set constrained and reasoning to none")
        if self.likelihoods != "none" and self.option_signs != "words":
            raise ValueError("likelihoods are those of the words: set option_signs to words")
        if self.likelihoods == "echo" and self.view != "words":
            raise ValueError("a completion endpoint reads text alone: set view to words, or likelihoods to prompt")
        if self.likelihoods == "echo" and self.sounds == "audio":
            raise ValueError("a completion endpoint reads text alone: set sounds to words, or likelihoods to prompt")
        if fault := fault_of_body(self.extra_body, type(self).model_fields) or fault_of_headers(self.extra_headers):
            raise ValueError(fault)
        if (self.notepad or self.retention_load or self.interference) and self.turn:
            raise ValueError(
                "turn puts all that is sent into words of yours: leave out notepad, retention_load and interference"
            )
        if self.notepad and (self.conversation == "session" or self.practice != "none" or self.examples):
            raise ValueError(
                "with notepad a conversation begins anew at each question's notes: set conversation to trial, practice"
                " to none and examples to 0"
            )
        if self.conversation_window is not None and self.conversation == "trial":
            raise ValueError(
                "conversation_window needs conversation=session: it is the number of earlier trials of a session that"
                " are sent again"
            )
        return self

    @classmethod
    def read(cls, values: Mapping[str, Any], recorded: bool = False) -> ChatSettings:
        """Settings from plain values, such as those of a command line.

        Parameters
        ----------
        recorded : whether they are those of a session, and are left as they were: presets and sentences
            of ours may have changed since

        Raises
        ------
        SpanLabError
            naming every setting that is unknown or out of bounds.
        """
        try:
            return cls.model_validate(dict(values), context=_RECORDED if recorded else "")
        except ValidationError as error:
            found = error.errors(include_url=False)
        problems = []
        for problem in found:
            key = ".".join(str(part) for part in problem["loc"])
            if (
                problem["type"] == "extra_forbidden"
            ):  # its value is not repeated: it may be a key that does not belong here
                hint = (
                    nearest(key, cls.model_fields)
                    or f"; what a server takes itself goes into extra_body={{{key}: ...}}"
                )
                problems.append(f"there is no setting '{key}'{hint}")
            elif key.startswith("extra_"):
                problems.append(f"'{key}': {expectation(problem)}")
            else:
                problems.append(
                    f"'{key}': {expectation(problem)}; found {show(problem['input'])}" if key else expectation(problem)
                )
        raise SpanLabError(f"chat settings: {'; '.join(problems)}")

    @classmethod
    def of_session(cls, info: Mapping[str, Any]) -> ChatSettings:
        """The settings of a session with a chat model, from the content of its ``session.json``."""
        return cls.read(
            {name: value for name, value in info["agent_settings"].items() if name not in IN_NAME}, recorded=True
        )

    def wording_for(self, paradigm: str) -> str | None:
        """The instructions for a paradigm in place of its own; None: its own.

        Raises
        ------
        SpanLabError
            when there are instructions for other paradigms only.
        """
        if not self.instructions:
            return None
        if paradigm not in self.instructions:
            whose = f"the preset '{self.preset}' has" if self.preset else "the chat settings have"
            raise SpanLabError(
                f"{whose} instructions for {', '.join(self.instructions)} only, not for {paradigm}; choose another"
                " preset or one of these paradigms"
            )
        return self.instructions[paradigm]

    def sampling(self) -> dict[str, Any]:
        """The sampling arguments of a request: those that are set."""
        return {**self.model_dump(include={"temperature", "max_tokens"}, exclude_none=True), **self.extra_body}
