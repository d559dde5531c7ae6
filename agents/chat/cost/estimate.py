"""Estimate of what a chat session is going to take, before it starts: its conversations are held
with replies of our own, and what would be sent is counted.

Texts are counted by their words, numbers, signs and lines. A quarter of the letters, as is often
said, holds for prose. What models read here is full of grids, numbers and short lines, and has up to
2.4 times as many tokens. The weights below were fitted to what four tokenizers (o200k and cl100k of
OpenAI, those of DeepSeek V3 and of Claude 2) make of conversations in every paradigm of the library,
view ``words``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from typing_extensions import override

from ....core.event_loop import run_to_end
from ....core.json_values import where_given
from ....core.locale import sentence
from ....paradigms import Percept
from ....stimuli.kinds.files import ShownSound
from ...base import Rehearsal, TrialContext
from ..conversation import NOTEPAD_TEXT, TRIAL_TEXT
from ..episode import ChatEpisode
from ..messages import Message, Picture, Reply, Request, Sound, Text
from ..options import as_written
from ..reading.judge import Judge
from ..settings import ChatSettings
from ..transport.departure import Departures
from ..transport.paid_replies import Send
from ..transport.request_limits import RequestLimits
from .account import Account
from .totals import money, short

#: tokens of a word, of a number of up to three digits, of signs in a row, of each further sign
#: among them, and of a line's end
_WORD, _NUMBER, _SIGNS, _FURTHER, _LINE = 1.11, 1.51, 0.57, 0.05, 1.85
_WORDS, _NUMBERS, _IN_A_ROW, _LINES = (re.compile(text) for text in (r"[^\W\d_]+", r"\d{1,3}", r"[^\w\s]+|_+", r"\n+"))
#: letters that stand for words of their own, such as those of Chinese
_IDEOGRAPHS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
#: what the weights were off by, over paradigms and tokenizers: on average, and at worst
USUAL_ERROR, WORST_ERROR = 0.07, 0.34


@lru_cache(maxsize=4096)
def by_pieces(text: str) -> float:
    """About how many tokens a text has, by its words, numbers, signs and lines. A conversation sends
    its parts again and again."""
    signs = _IN_A_ROW.findall(text)
    ideographs = len(_IDEOGRAPHS.findall(text))
    words = len(_WORDS.findall(_IDEOGRAPHS.sub(" ", text) if ideographs else text)) + ideographs
    further = sum(map(len, signs)) - len(signs)
    return (
        words * _WORD
        + len(_NUMBERS.findall(text)) * _NUMBER
        + len(signs) * _SIGNS
        + further * _FURTHER
        + len(_LINES.findall(text)) * _LINE
    )


#: assumed: what a server adds to a message for its role
TOKENS_PER_MESSAGE = 4
#: assumed: tokens of a picture, and of each tile of so many pixels of it
PICTURE_TOKENS, TILE_TOKENS, TILE_PX = 85, 170, 512
#: assumed: tokens of a second of sound; servers count from 10 to 32
TOKENS_PER_SECOND = 32
#: assumed: tokens of the reasons that a model is asked for, and of its notes
REASONING_TOKENS = 150
#: of replies that give an answer, the share in which the rules find none, so that a judge is asked:
#: 4 of the 254 in tests/replies/fresh_second.jsonl
JUDGED_SHARE = 0.016


@dataclass(frozen=True, slots=True)
class JudgeEstimate:
    """Estimate of what a judge takes at most: when it has to read every reply, and every question
    is put again as often as it may be.

    Parameters
    ----------
    name : of the judge
    requests, prompt_tokens, completion_tokens : at most
    cost : at most; None when there are no prices
    share : of replies that give an answer, how many it is expected to be asked about; besides these
        it is asked about all that give none
    """

    name: str
    requests: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    share: float = JUDGED_SHARE

    def to_record(self) -> dict[str, Any]:
        """For the record."""
        bounds = {
            f"{name}_at_most": getattr(self, name)
            for name in ("requests", "prompt_tokens", "completion_tokens", "cost")
        }
        return {"name": self.name, **bounds, "expected_share": self.share}

    @override
    def __str__(self) -> str:
        cost = "cost unknown without prices" if self.cost is None else f"cost at most {money(self.cost)}"
        return (
            f"the judge {self.name} reads what the rules cannot: about {self.share:.1%} of the replies that give an"
            f" answer, and all that give none; at most {self.requests:,} requests, {short(self.prompt_tokens)} tokens"
            f" read and {short(self.completion_tokens)} written; {cost}"
        )


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimate of what a session takes.

    Parameters
    ----------
    conversations, requests, pictures : how many; a picture counts every time that it is sent
    prompt_tokens, completion_tokens : read and written; every request sends the whole conversation
        so far
    cost : None when there are no prices
    judge : what the judge takes besides, where there is one
    practice : how much of it was reckoned with, where there is some
    sounds : whether sounds are sent as sounds
    """

    conversations: int
    requests: int
    pictures: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    judge: JudgeEstimate | None = None
    practice: str = ""
    sounds: bool = False

    def to_record(self) -> dict[str, Any]:
        """For the record, with what was assumed."""
        return {
            **{name: value for name, value in asdict(self).items() if name not in ("judge", "practice", "sounds")},
            **where_given(practice=self.practice, judge=self.judge and self.judge.to_record()),
            "usual_error": USUAL_ERROR,
            "worst_error": WORST_ERROR,
            "assumed": {
                "tokens_per_message": TOKENS_PER_MESSAGE,
                "tokens_per_picture": PICTURE_TOKENS,
                "tokens_per_tile": TILE_TOKENS,
                "tile_px": TILE_PX,
                **where_given(tokens_per_second_of_sound=self.sounds and TOKENS_PER_SECOND),
                "reasoning_tokens": REASONING_TOKENS,
            },
        }

    @override
    def __str__(self) -> str:
        pictures = f", with {self.pictures:,} pictures" if self.pictures else ""
        cost = "cost unknown without prices (--price IN/OUT)" if self.cost is None else f"cost about {money(self.cost)}"
        error = f" (usually within {USUAL_ERROR:.0%}, at worst {WORST_ERROR:.0%} off)"
        beside = [what for what, there in (("a picture", self.pictures), ("a sound", self.sounds)) if there]
        guess = f" and the tokens of {' and '.join(beside)} are a guess" if beside else ""
        practice = self.practice and f" ({self.practice})"
        return (
            f"{self.requests:,} requests{practice} in {self.conversations:,}"
            f" conversation{'s' * (self.conversations != 1)}{pictures}; about {short(self.prompt_tokens)} tokens read"
            f" and {short(self.completion_tokens)} written{error}; a model's own reasoning is not counted{guess};"
            f" {cost}{'' if self.judge is None else f'; {self.judge}'}"
        )


@dataclass
class _Count:
    """Count of what one conversation takes."""

    requests: int = 0
    pictures: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    judge_prompt_tokens: int = 0
    judge_completion_tokens: int = 0


@dataclass
class _Left:
    """The messages that a trial leaves in a conversation.

    Parameters
    ----------
    names : of its worked examples
    opening, shown : tokens and pictures of instructions and of examples, which others with the same
        ones do not repeat
    all : tokens and pictures of all that was said
    led : tokens of what is said before it, where others came before it
    """

    told: str
    names: frozenset[str]
    opening: np.ndarray
    shown: np.ndarray
    all: tuple[int, int]
    led: float


class Estimated(Protocol):
    """The parts of a chat agent that an estimate needs."""

    spending: Account
    model: str
    protocol: ChatSettings
    request_limits: RequestLimits
    judge: Judge | None

    def start(self, context: TrialContext, ask: Send | None = None) -> ChatEpisode: ...


def estimate(
    agent: Estimated,
    trials: Sequence[Rehearsal],
    practice: Sequence[Rehearsal] = (),
    order: Sequence[tuple[int, int]] = (),
    rounds: str = "",
) -> Estimate:
    """Estimate what a session takes when every reply is short and can be read at once.

    Parameters
    ----------
    agent : who is going to take it; no request is sent
    trials : one of each kind
    practice : the trials of one round of practice, where there is some
    order : of all trials of the session their block and number in ``trials``, where those of a
        block are one conversation
    rounds : how much of practice that is, in words
    """
    names = [field.name for field in fields(_Count)]
    total = dict.fromkeys(names, 0.0)
    held = [run_to_end(_hold(agent, one.context, one.percepts)) for one in trials]
    practised = [run_to_end(_hold(agent, one.context, one.percepts)) for one in practice]
    for (count, _), times in zip(
        [*held, *practised], [*(one.times for one in trials), *(1.0 for _ in practised)], strict=True
    ):
        for name in names:
            total[name] += times * getattr(count, name)
    carried = _carried(practised, [], None)
    if order:
        carried += _of_conversations(held, practised, order, agent.protocol.conversation_window)
    else:
        own = [left for _, left in practised]
        for (count, left), one in zip(held, trials, strict=True) if own else ():
            carried += one.times * count.requests * _again([*own, left])
    total["prompt_tokens"] += carried[0]
    total["pictures"] += carried[1]
    requests, pictures, read, written, *judged = (round(total[name]) for name in names)
    prices = agent.spending.prices
    cost = prices and prices.cost(read, written)
    conversations = (len({block for block, _ in order}) if order else round(sum(one.times for one in trials))) + bool(
        practice
    )
    judge = agent.judge and _of_judge(agent.judge, requests, *judged, times=1 + agent.protocol.reask)
    return Estimate(
        conversations,
        requests,
        pictures,
        read,
        written,
        cost,
        judge,
        rounds,
        _sounds(agent, [*trials, *practice]),
    )


def _sounds(agent: Estimated, trials: Sequence[Rehearsal]) -> bool:
    stimuli = (percept.for_machine.stimulus for one in trials for percept in one.percepts)
    return agent.protocol.sounds == "audio" and any(isinstance(stimulus, ShownSound) for stimulus in stimuli)


def _again(lefts: Sequence[_Left]) -> np.ndarray:
    """Tokens and pictures that every request of the last of some trials has besides its own: those
    of the trials before it in the conversation, whose instructions are not repeated."""
    told, names, found = None, frozenset[str](), np.zeros(2)
    for place, left in enumerate(lefts):
        last = place == len(lefts) - 1
        found = found + (np.zeros(2) if last else np.array(left.all)) - (left.opening if told == left.told else 0)
        found = found + (np.array([left.led, 0]) if place else 0) - (left.shown if left.names <= names else 0)
        told, names = left.told, names | left.names
    return found


def _carried(held: Sequence[tuple[_Count, _Left]], before: Sequence[_Left], window: int | None) -> np.ndarray:
    """Tokens and pictures that trials in one conversation have besides their own."""
    found = np.zeros(2)
    for place, (count, left) in enumerate(held):
        earlier = [one for _, one in held[max(0, place - window) if window is not None else 0 : place]]
        found = found + count.requests * _again([*before, *earlier, left])
    return found


def _of_conversations(
    held: Sequence[tuple[_Count, _Left]],
    practised: Sequence[tuple[_Count, _Left]],
    order: Sequence[tuple[int, int]],
    window: int | None,
) -> np.ndarray:
    """Tokens and pictures that the trials of blocks have besides their own."""
    found = np.zeros(2)
    for block in dict.fromkeys(block for block, _ in order):
        found = found + _carried(
            [held[kind] for one, kind in order if one == block], [left for _, left in practised], window
        )
    return found


def _of_judge(judge: Judge, requests: int, read: int, written: int, times: int) -> JudgeEstimate:
    """Estimate what a judge takes when it reads every reply, and every question is put so many
    times."""
    prices = judge.account.prices
    cost = prices and prices.cost(times * read, times * written)
    return JudgeEstimate(judge.name, times * requests, times * read, times * written, cost)


async def _hold(agent: Estimated, context: TrialContext, percepts: Sequence[Percept]) -> tuple[_Count, _Left]:
    count = _Count()
    answer, kind, judge = "", None, agent.judge
    settings = agent.protocol
    reasons = " ".join(["because"] * REASONING_TOKENS)
    longest = settings.max_tokens or math.inf

    async def reply(request: Request, departures: Departures | None = None) -> Reply:
        count.requests += 1
        tokens, pictures = sent(request.messages)
        count.prompt_tokens += tokens
        count.pictures += pictures
        noting = settings.notepad and request.messages[-1].parts[-1] == Text(NOTEPAD_TEXT)
        written = (
            [reasons]
            if noting
            else {"none": [answer], "after": [answer, reasons], "before": [reasons, answer]}[settings.reasoning]
        )
        count.completion_tokens += int(min(max(1, by_pieces("\n".join(written))), longest))
        if judge is not None and kind is not None:  # what a judge gets to read is not a bare answer
            count.judge_prompt_tokens += sent(judge.request(kind, f"{reasons}\n{answer}", request).messages)[0]
            count.judge_completion_tokens += max(1, math.ceil(by_pieces(answer)))
        return Reply(content="\n".join(written), latency_ms=0)

    episode = agent.start(context, reply)
    opening = np.array(sent(agent.start(replace(context, examples=()), reply).conversation.opening()))
    shown = np.array(sent(episode.conversation.opening())) - opening
    random = np.random.RandomState(1)
    for percept in percepts:
        if percept.ask is not None:
            # any answer that is allowed: what was right is not known here, and all are about as
            # long
            kind = as_written(percept.ask.kind, settings)
            answer = kind.write(kind.guess(random))
        await episode.step(percept)
    led = f"{TRIAL_TEXT} {sentence('session.right', context.language) if context.practice else ''}"
    return count, _Left(
        context.instructions,
        frozenset(example.name for example in context.examples),
        opening,
        shown,
        sent(episode.conversation.ended().messages),
        by_pieces(led),
    )


def sent(messages: Sequence[Message]) -> tuple[int, int]:
    """Count the tokens and the pictures of messages; those of pictures by what is assumed."""
    tokens, pictures = 0.0, 0
    for message in messages:
        shown = [part for part in message.parts if isinstance(part, Picture)]
        words = "\n\n".join(part.text for part in message.parts if isinstance(part, Text))
        pictures += len(shown)
        tokens += TOKENS_PER_MESSAGE + by_pieces(words)
        tokens += sum(TOKENS_PER_SECOND * part.ms / 1000 for part in message.parts if isinstance(part, Sound))
        tokens += sum(PICTURE_TOKENS + TILE_TOKENS * math.ceil(part.size_px / TILE_PX) ** 2 for part in shown)
    return math.ceil(tokens), pictures
