"""Check that a server really sees: before a session with pictures it is shown some that it must
read.

Some servers drop pictures without a word, and the model then answers from the words alone. The same
question is sent without a picture and with pictures of letters: a picture that arrives makes the
request longer, and a model that sees reads the letters. Each picture has four letters; a guess
among 16 letters would be right once in 65,536 times, and two of three must be.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...core.errors import SpanLabError
from ...stimuli import STIMULI, Stimulus
from ..base import Journal
from .messages import Message, Part, Picture, Reply, Request, Text, chained
from .settings import ChatSettings
from .transport.endpoint import EndpointError
from .transport.paid_replies import PaidReplies, Send

#: What the pictures show: capital letters that look like no others.
LETTERS = ("KRHX", "MFCT", "WNLD")
#: How many of the pictures must be read.
MUST_READ = 2
_QUESTION = (
    "Which four capital letters does the picture show? Answer with these letters and nothing else; if there is no"
    " picture, answer with the word none."
)
#: A picture that makes a request longer by a token for so few of its characters was not seen but
#: spelt out: some servers hand the model the text of its file. (Texts of files come to one or two
#: characters a token; pictures of this kind to a few hundred tokens, and their files to thousands
#: of characters.)
CHARACTERS_PER_TOKEN = 3
#: Settings that are about answers to trials, and would cut these replies short.
NOT_SENT = ("max_tokens", "max_completion_tokens", "logprobs", "top_logprobs")


@dataclass(frozen=True, slots=True)
class Sight:
    """Finding of the check.

    Parameters
    ----------
    shown : how many pictures were shown
    read : how many of them were read
    tokens : how many tokens longer a request is with a picture; None: the server does not count
    characters : how many characters the file of a picture has, as it is sent
    """

    shown: int
    read: int
    tokens: int | None
    characters: int

    @property
    def spelt_out(self) -> bool:
        """True if the text of the file seems to have reached the model, and not the picture."""
        return self.tokens is not None and self.tokens * CHARACTERS_PER_TOKEN > self.characters


class VisionCheck:
    """The check of one model.

    Parameters
    ----------
    model, where : its name and its address
    settings : the protocol; the pictures are sent as those of trials are
    """

    def __init__(self, model: str, where: str, settings: ChatSettings) -> None:
        self._model, self._where, self._settings = model, where, settings
        self._sight: Sight | None = None

    @property
    def found(self) -> Mapping[str, Any]:
        """Finding for the record; nothing when nothing was looked for."""
        if self._sight is None:
            return {}
        return {
            "vision": {
                "pictures": self._sight.shown,
                "read": self._sight.read,
                "tokens_per_picture": self._sight.tokens,
            }
        }

    async def run(self, send: Send, journal: Journal | None = None) -> None:
        """Look, once, where the settings want it. Replies that were kept are not paid for again,
        unless nothing was seen by them.

        Raises
        ------
        SpanLabError
            when pictures are not seen.
        """
        if self._settings.view == "words" or self._settings.vision_check == "off" or self._sight is not None:
            return
        sight = await self._look(send, journal)
        if self._wrong(sight) is not None and journal is not None and journal.replies():
            sight = await self._look(send, journal, anew=True)
        if (wrong := self._wrong(sight)) is not None:
            raise SpanLabError(wrong)
        self._sight = sight

    async def _look(self, send: Send, journal: Journal | None, anew: bool = False) -> Sight:
        letters = LETTERS if self._settings.vision_check == "read" else LETTERS[:1]
        without = await self._reply(self._request(None), 1, send, journal, anew)
        replies = []
        fault: EndpointError | None = None
        try:
            for number, shown in enumerate(letters, start=1):
                replies.append(await self._reply(self._request(shown, number), number + 1, send, journal, anew))
        except EndpointError as error:
            fault = error
        if fault is not None:
            raise EndpointError(
                f"{fault} (this was a request with a picture; without one there was a reply)",
                fault.permanent,
                fault.status,
            )
        counted = (
            None
            if without.prompt_tokens is None or replies[0].prompt_tokens is None
            else replies[0].prompt_tokens - without.prompt_tokens
        )
        read = sum(_reads(reply.content, shown) for reply, shown in zip(replies, letters, strict=True))
        characters = (
            len(Picture(letter_picture(letters[0]), 1, self._settings.image_px).file()) * 4 // 3
        )  # three bytes are four characters in base64
        return Sight(len(letters), read, counted, characters)

    def _request(self, letters: str | None, number: int = 0) -> Request:
        parts: list[Part] = []
        if letters is not None:
            parts.append(Picture(letter_picture(letters), number, self._settings.image_px, self._settings.image_detail))
        message = Message("user", (*parts, Text(_QUESTION)))
        options = {name: value for name, value in self._settings.sampling().items() if name not in NOT_SENT}
        return Request(
            (message,),
            options,
            chained(chained(chained("", self._model), message.stored()), options),
            f"vision-{number}",
        )

    async def _reply(self, request: Request, question: int, send: Send, journal: Journal | None, anew: bool) -> Reply:
        paid = PaidReplies(send)
        if journal is not None:
            paid.attach(KeptReplies(journal, request.identity, anew))
        return await paid.reply(request, question)

    def _wrong(self, sight: Sight) -> str | None:
        """Say what is wrong, in a sentence; None when nothing is."""
        reads = self._settings.vision_check == "read"
        if reads and sight.read >= MUST_READ:
            return None
        read = f"the model '{self._model}' read {sight.read} of {sight.shown} test pictures"
        if sight.tokens is None:
            doubt = f"{self._where} does not count tokens, so it is unknown whether pictures reach the model"
            return (
                f"{read}, and {doubt}; choose a model that sees, or set view to words"
                if reads
                else f"{doubt}; set vision_check to read"
            )
        if sight.tokens <= 0:
            return (
                f"{self._where} silently drops pictures: a request to '{self._model}' has no more tokens with a picture"
                " than without; choose a model that sees, or set view to words"
            )
        if sight.spelt_out:
            return (
                f"{self._where} gives '{self._model}' the text of a picture's file to read instead of the picture: one"
                f" makes a request {sight.tokens} tokens longer (its file has {sight.characters} characters); choose a"
                " model that sees, or set view to words"
            )
        if not reads:
            return None
        return (
            f"pictures arrive at {self._where} (one makes a request {sight.tokens} tokens longer), but they were not"
            f" read: {read}; choose another model, raise image_px, or set vision_check to tokens if it need not read"
            " letters"
        )


def letter_picture(letters: str) -> Stimulus:
    """The picture of some letters."""
    return STIMULI.get("letter").model_validate({"symbol": letters})


def _reads(reply: str, letters: str) -> bool:
    """Return whether a reply names the letters one after the other, in whatever spelling."""
    between = "[^A-Za-z0-9]{0,3}"
    return re.search(f"(?<![A-Za-z]){between.join(letters)}(?![A-Za-z])", reply, re.IGNORECASE) is not None


class KeptReplies:
    """The part of a journal that is about one request."""

    def __init__(self, journal: Journal, request: str, anew: bool) -> None:
        self._journal, self._request, self._anew = journal, request, anew

    def replies(self) -> Sequence[Mapping[str, Any]]:
        return (
            []
            if self._anew
            else [line for line in self._journal.replies() if line.get("request") == self._request][-1:]
        )

    def begun(self, line: Mapping[str, Any]) -> None:
        self._journal.begun(line)

    def gone(self, line: Mapping[str, Any]) -> None:
        self._journal.gone(line)

    def refused(self, line: Mapping[str, Any]) -> None:
        self._journal.refused(line)

    def lost(self, line: Mapping[str, Any]) -> None:
        self._journal.lost(line)

    def unsent(self, line: Mapping[str, Any]) -> None:
        self._journal.unsent(line)

    async def keep(self, line: Mapping[str, Any]) -> None:
        await self._journal.keep(line)

    def note(self, event: Mapping[str, Any]) -> None:
        self._journal.note(event)
