"""Conversation with a chat model: a pure function of the context, of the percepts and of its own
replies."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...core.errors import SpanLabError
from ...paradigms import Ask, Percept, ResponseKind, WorkedExample
from ...stimuli import Stimulus
from ...stimuli.kinds.files import ShownSound, seen_in
from ...stimuli.own_files import wav_file
from ..base import Sentences, TrialContext
from .messages import Message, Part, Picture, Request, Role, Sound, Text, chained
from .options import as_written
from .reading.constrained import json_sentence
from .reading.extraction import Reading
from .settings import ChatSettings


@dataclass(frozen=True, slots=True)
class Past:
    """One trial of a conversation that is over.

    Parameters
    ----------
    instructions : the instructions under which it was taken
    messages : what was sent in it and what the model said, from its first message on
    instructed, led : whether these messages hold the instructions, and what was said around
        practice
    examples : names of the worked examples that they hold
    left : what was shown after the last question (what became of the answer, where a paradigm tells
        it), to be sent with what comes next
    """

    instructions: tuple[str, ...]
    messages: tuple[Message, ...]
    instructed: bool = False
    led: bool = False
    examples: tuple[str, ...] = ()
    left: tuple[tuple[Part, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Before:
    """Messages before a trial in its conversation.

    Parameters
    ----------
    practice : practice trials
    trials : trials of its block
    remarks : sentences after practice, or between practice trials
    """

    practice: tuple[Past, ...] = ()
    trials: tuple[Past, ...] = ()
    remarks: tuple[str, ...] = ()


#: sentences of ours: before worked examples, before a trial that is not the first of its conversation,
#: between messages that a scripted reply keeps apart, in place of an empty reply (servers refuse empty
#: messages), and for notes
EXAMPLES_TEXT = "Some examples with the right answers come first."
TRIAL_TEXT = "A new trial begins."
ACKNOWLEDGEMENT = "ok"
EMPTY_REPLY = "(empty reply)"
NOTEPAD_TEXT = (
    "Write down now whatever you need for the questions that follow. You will not see the displays again, only your"
    " notes."
)


class Conversation:
    """One conversation: one trial, and whatever came before it in the same conversation.

    It only ever grows: a message that was sent once is sent again as it was, unless the model's
    notes take the place of all of them. What is shown between two replies is gathered, and becomes
    messages when a reply is wanted.

    Parameters
    ----------
    context : what the agent is told before the trial
    settings : the protocol
    model : the model's name, a part of the identity of every request
    name : of the conversation, for servers with a memory
    before : what comes before the trial
    """

    def __init__(
        self,
        context: TrialContext,
        settings: ChatSettings,
        model: str = "",
        name: str = "",
        before: Before | None = None,
    ) -> None:
        self._settings = settings
        self._name = name
        self.language = context.language
        self._sentences = context.sentences
        #: of the agent's own randomness in this trial
        self.seed = context.seed
        self._messages: list[Message] = []
        self._waiting: list[tuple[Part, ...]] = []  # messages of the user in the making, one for each step
        self._shown = 0
        self._in_turn: list[
            str
        ] = []  # words of what was shown since the last question, for a turn in words of the settings
        self._turns = 0
        self._start = self._chain = chained("", model)
        self._instruction_texts = self._instructions(context)
        self._open(context, before or Before())

    def _instructions(self, context: TrialContext) -> tuple[str, ...]:
        """Return what is told before the trial."""
        settings = self._settings
        if settings.wording == "full":
            parts = [
                settings.preamble,
                context.instructions,
                *dict.fromkeys(self._wording_of(kind)["legend"] for kind in context.kinds),
            ]  # each legend once
        else:
            forms = dict.fromkeys(self._wording_of(kind)["form"] for kind in context.kinds)
            parts = [settings.preamble, context.instructions, settings.reasoning_text, *forms]
        return tuple(part if settings.turn else part.strip("\n") for part in parts if part.strip())

    def _open(self, context: TrialContext, before: Before) -> None:
        """Say again what was said before the trial; then what is new: instructions where they are
        others than before, examples that were not shown yet."""
        last: tuple[str, ...] | None = None
        shown: set[str] = set()
        earlier = (*before.practice, *before.trials)
        for past in earlier:
            if past.instructions != last and not past.instructed:
                self._instruct(past.instructions)
            if before.trials and past is before.trials[0] and not past.led:
                self.lead(*before.remarks)
            self._recall(past)
            last = past.instructions
            shown.update(past.examples)
        #: of the messages, how many were sent before this trial
        self.past, self._left = len(self._messages), tuple(self._waiting)
        self._instructed = last != self._instruction_texts
        if self._instructed:
            self._instruct(self._instruction_texts)
        self._led = context.practice or not before.trials
        if self._led:
            self.lead(*before.remarks)
        examples = [example for example in context.examples if example.name not in shown]
        self._examples = tuple(example.name for example in examples)
        if examples:
            self.lead(EXAMPLES_TEXT)
        for example in examples:
            self._show_example(example)
        if earlier or examples:
            self.lead(TRIAL_TEXT)

    def _instruct(self, texts: tuple[str, ...]) -> None:
        """Give instructions: in their own role where they open the conversation, else within it."""
        if texts and not self._messages and not self._waiting and self._settings.instructions_as != "user":
            self._say(self._settings.instructions_as, tuple(map(Text, texts)))
        else:
            self.lead(*texts)

    def forget_all_but(self, notes: str) -> None:
        """Begin anew with the instructions, and with the model's own notes in place of all that it
        was shown."""
        self._messages, self._chain = [], self._start
        self._waiting.clear()
        self._instruct(self._instruction_texts)
        self.lead(f"Your notes:\n{notes if notes.strip() else EMPTY_REPLY}")

    def lead(self, *sentences: str) -> None:
        """Say something of ours before what is shown next."""
        if parts := tuple(Text(sentence) for sentence in sentences if sentence.strip()):
            self._waiting.append(parts)

    def _recall(self, past: Past) -> None:
        """Send a trial again that is over, after what waits to be said before it."""
        first, rest = past.messages[0], past.messages[1:]
        if first.role == "user" and (self._waiting or self._settings.delivery == "acknowledged"):
            self._waiting.append(first.parts)
            self._send()
        else:
            self._say(first.role, first.parts)
        for message in rest:
            self._say(message.role, message.parts)
        self._waiting += past.left

    def _show_example(self, example: WorkedExample) -> None:
        """Show a trial with its right answers, as if the model had given them."""
        answers = iter(example.answers)
        for step, percept in enumerate(example.percepts, start=1):
            self._waiting.append(self._display(percept, step, example.name))
            if percept.ask is not None:
                self.ask(percept.ask.kind, self.prompt_of(percept.ask))
                self.hear(as_written(percept.ask.kind, self._settings).write(next(answers)))

    def opening(self) -> tuple[Message, ...]:
        """Messages before the first display: instructions and examples."""
        return (*self._messages[self.past :], *(Message("user", parts) for parts in self._waiting[len(self._left) :]))

    def ended(self) -> Past:
        """The trial when it is over, to be sent again before others."""
        messages, left = self._messages[self.past :], self._left
        if left and self._settings.delivery == "merged":
            messages[0] = Message(messages[0].role, messages[0].parts[sum(map(len, left)) :])
        elif left:
            messages = messages[len(left) * (2 if self._settings.delivery == "acknowledged" else 1) :]
        return Past(
            self._instruction_texts, tuple(messages), self._instructed, self._led, self._examples, tuple(self._waiting)
        )

    def prompt_of(self, ask: Ask) -> str:
        """Return what the paradigm itself says of a question, where the settings have it said."""
        return ask.prompt.text_in(self.language) if ask.prompt is not None and self._settings.prompts else ""

    def show(self, percept: Percept) -> None:
        """Show the display of a step."""
        self._shown += 1
        if self._settings.turn:
            self._in_turn += [part.text for part in self._display(percept, self._shown) if isinstance(part, Text)]
        else:
            self._waiting.append(self._display(percept, self._shown))

    def _display(self, percept: Percept, step: int, example: str = "") -> tuple[Part, ...]:
        """A display of the trial, or of an example."""
        stimulus, settings = percept.for_machine.stimulus, self._settings
        parts: list[Part] = []
        check_said(stimulus, settings)
        visual = seen_in(stimulus)
        if settings.view != "image":
            parts.append(Text(visual.words().strip("\n")))
        if settings.view != "words":
            parts.append(Picture(visual, step, settings.image_px, example))
        if isinstance(stimulus, ShownSound) and settings.sounds == "audio":
            parts += [
                Text(f"A sound is played for {stimulus.ms / 1000:.3g} s:"),
                Sound(wav_file(stimulus.sha256, stimulus.volume), stimulus.ms, step, example),
            ]
        elif isinstance(stimulus, ShownSound):
            parts.append(Text(stimulus.sound_words()))
        return tuple(parts)

    def ask(self, kind: ResponseKind, asked: str = "") -> None:
        """Put the question to what was shown last; ``asked`` is what the paradigm itself says of
        it."""
        if self._settings.turn:
            self._waiting.append((Text(self._turn()),))
        if self._settings.wording == "full":
            question = Text(" ".join(filter(None, (asked, self._wording_of(kind)["question"]))))
            if self._waiting:
                self._waiting[-1] = (*self._waiting[-1], question)
            else:
                self._waiting.append((question,))

    def _turn(self) -> str:
        """Return what was shown since the last question, in the words that the settings have for
        it."""
        *before, shown = self._in_turn
        words = self._settings.first_turn if self._settings.first_turn and not self._turns else self._settings.turn
        self._turns += 1
        self._in_turn = []
        return words.replace("{before}", " ".join(before)).replace("{shown}", shown)

    def ask_again(self, kind: ResponseKind, asked: str = "") -> None:
        """Put the question again after a reply that could not be read: now in words, whatever the
        wording, unless the settings have it said without."""
        question = " ".join(filter(None, (asked, self._wording_of(kind)["question"])))
        self._waiting.append((Text(self._settings.reask_text.replace("{question}", question)),))

    def _wording_of(self, kind: ResponseKind) -> Sentences:
        """Return what is said of a kind of question: as the context says, or else as it is now."""
        return self._sentences.get(kind.record_key()) or sentences_of(kind, self._settings)

    def hear(self, reply: str) -> None:
        """Keep what the model is going to see again of its reply. Servers refuse empty messages:
        something else stands for an empty reply."""
        self._send()
        self._say("assistant", (Text(reply if reply.strip() else EMPTY_REPLY),))

    def draw(self) -> None:
        """Draw the pictures that are going to be sent next, which takes some 20 ms each and may be
        done in a thread."""
        for message in self._waiting:
            for part in message:
                if isinstance(part, Picture):
                    part.file()

    def request(self, options: Mapping[str, Any]) -> Request:
        """The conversation so far as a request: whatever was shown and asked is part of it from now
        on.

        Parameters
        ----------
        options : everything else that is sent and shapes the reply
        """
        self._send()
        return Request(tuple(self._messages), options, chained(self._chain, dict(options)), self._name, self.seed)

    @property
    def messages(self) -> tuple[Message, ...]:
        """Messages that were sent, and what the model said to them."""
        return tuple(self._messages)

    def _send(self) -> None:
        """Make messages of what was gathered."""
        if self._settings.delivery == "merged":
            parts = tuple(part for message in self._waiting for part in message)
            if parts:
                self._say("user", parts)
        else:
            for message in self._waiting:
                if self._settings.delivery == "acknowledged" and self._messages and self._messages[-1].role == "user":
                    self._say("assistant", (Text(ACKNOWLEDGEMENT),))
                self._say("user", message)
        self._waiting.clear()

    def _say(self, role: Role, parts: tuple[Part, ...]) -> None:
        message = Message(role, parts)
        self._messages.append(message)
        self._chain = chained(self._chain, message.stored())


def check_said(stimulus: Stimulus, settings: ChatSettings) -> None:
    """Refuse a display that words do not describe, where words are all that goes out.

    Raises
    ------
    SpanLabError
        which says what to do.
    """
    visual = stimulus.visual if isinstance(stimulus, ShownSound) else stimulus
    if isinstance(stimulus, ShownSound) and settings.sounds == "words" and not stimulus.description:
        raise SpanLabError(
            "a display has a sound without words, and this model reads what is heard: give the sound 'words', which say"
            " what is heard in it, or use a model that takes sounds (--chat sounds=audio)"
        )
    if settings.view == "words" and not visual.said_in_words:
        raise SpanLabError(
            f"the display '{visual.name}' has an image without words, and this model reads words: give it 'words',"
            " which say what is seen in the image, or use a model that sees (--chat view=image)"
        )


def sentences_of(kind: ResponseKind, settings: ChatSettings) -> Sentences:
    """Return what is said of a kind of question; where nothing but stimuli goes out, reasons and
    form are asked for in the instructions."""
    kind = as_written(kind, settings)
    form = json_sentence(kind, settings)
    beside = [settings.reasoning_text, form] if settings.wording == "full" else []
    return {
        "legend": kind.legend("words"),
        "question": " ".join(filter(None, [kind.question(), *beside])),
        "form": form,
    }


def remembered(text: str, reading: Reading, settings: ChatSettings) -> str:
    """Return what a model sees again of its reply: all of it, its part with the answer, or the
    answer that was read in it. Of a reply that could not be read, all."""
    if reading.value is None:
        return text
    if settings.history == "extracted":
        return reading.answer_text
    if settings.reasoning == "none" or settings.history == "full":
        return text
    if reading.how == "constrained":
        return reading.answer_text  # the reasons are a part of the JSON
    lines = text.strip().splitlines()
    return lines[0] if settings.reasoning == "after" else lines[-1]


@dataclass
class Memory:
    """Memory of an agent.

    Parameters
    ----------
    whole : whether the trials of a block are one conversation
    window : so many of them are sent again; None: all
    """

    whole: bool
    window: int | None = None
    _name: str = field(default_factory=lambda: uuid.uuid4().hex)
    _practice: list[Past] = field(default_factory=list[Past])
    _blocks: dict[int, list[Past]] = field(default_factory=dict[int, list[Past]])
    _remarks: list[str] = field(default_factory=list[str])

    def tell(self, sentence: str) -> None:
        """Have something said before the next trial; after practice, before the first trial of
        every conversation."""
        self._remarks.append(sentence)

    def before(self, context: TrialContext) -> Before:
        """Return what comes before a trial."""
        trials = [] if context.practice else self._blocks.get(context.block, [])
        kept = trials if self.window is None else trials[-self.window :]
        return Before(tuple(self._practice), tuple(kept), tuple(self._remarks))

    def keep(self, context: TrialContext, past: Past) -> None:
        """Remember a trial that is over."""
        if context.practice:
            self._practice.append(past)
            self._remarks.clear()
        elif self.whole:
            self._blocks.setdefault(context.block, []).append(past)

    def name(self, context: TrialContext) -> str:
        """The name of the conversation to which a trial belongs, for servers with a memory."""
        if context.practice:
            return f"{self._name}-practice"
        return f"{self._name}-{context.block}" if self.whole else uuid.uuid4().hex
