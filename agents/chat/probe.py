"""Probe of sight and hearing: before a session with pictures or sounds the server is sent some, which
must reach the model.

Some servers drop pictures and sounds without a word, and the model then answers from the words
alone. The same question is sent without and with them: what arrives makes the request longer, and a
model that sees reads the letters in pictures. Each picture has four letters; a guess among 16
letters would be right once in 65,536 times, and two of three must be. Whether the model understands
what it hears is for the trials to show.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ...core.errors import SpanLabError
from ...stimuli import STIMULI, Stimulus
from ...stimuli.own_files import tone_file
from ..payments import Journal
from .messages import Message, Part, Picture, Reply, Request, Sound, Text, chained
from .settings import ChatSettings
from .transport.endpoint import EndpointError
from .transport.paid_replies import PaidReplies, Send

#: what the pictures show: capital letters that look like no others
LETTERS = ("KRHX", "MFCT", "WNLD")
#: how many of the pictures must be read
MUST_READ = 2
_WHICH = (
    "Which four capital letters does the picture show? Answer with these letters and nothing else; if there is no"
    " picture, answer with the word none."
)
_HEARD = "Is there a sound in this message? Answer with yes or no and nothing else."
_TONE_HZ, _TONE_MS = 440, 1000
#: A picture or sound that makes a request longer by a token for so few of its characters was not
#: seen or heard but spelt out: some servers hand the model the text of its file. (Texts of files
#: come to one or two characters a token; pictures of this kind to a few hundred tokens, and their
#: files to thousands of characters.)
_CHARACTERS_PER_TOKEN = 3
#: settings that are about answers to trials, and would cut these replies short
_NOT_SENT = ("max_tokens", "logprobs", "top_logprobs")
#: of its conversations, for servers that remember them
_NAMES = {"picture": "vision", "sound": "hearing"}
#: the numbers of its questions among those before the first trial: of pictures, and of sounds
_PICTURES, _SOUNDS = 1, 11


class Probe:
    """The probe of one model.

    Parameters
    ----------
    model, where : its name and its address
    settings : the protocol; pictures are sent as those of trials are
    """

    def __init__(self, model: str, where: str, settings: ChatSettings) -> None:
        self._model, self._where, self._settings = model, where, settings
        #: what was found, for the record; nothing where nothing was looked for
        self.found: dict[str, Any] = {}

    async def run(self, send: Send, journal: Journal | None = None) -> None:
        """Look and listen, once, where the settings want it. Replies that were kept are not paid
        for again, unless nothing was seen by them.

        Raises
        ------
        SpanLabError
            when pictures or sounds do not reach the model.
        """
        settings = self._settings
        if settings.probe == "off":
            return
        if settings.view != "words" and "vision" not in self.found:
            fault = await self._look(send, journal)
            if fault and journal is not None and journal.replies():
                fault = await self._look(send, journal, anew=True)
            if fault:
                raise SpanLabError(fault)
        if settings.sounds != "words" and "hearing" not in self.found and (fault := await self._listen(send, journal)):
            raise SpanLabError(fault)

    async def _look(self, send: Send, journal: Journal | None, anew: bool = False) -> str:
        """Show pictures; say what is wrong, in a sentence."""
        reads = self._settings.probe == "read"
        letters = LETTERS if reads else LETTERS[:1]
        pictures = [
            Picture(letter_picture(shown), number, self._settings.image_px)
            for number, shown in enumerate(letters, start=1)
        ]
        tokens, replies = await self._more_tokens(_WHICH, "picture", pictures, _PICTURES, send, journal, anew)
        read = sum(_reads(reply.content, shown) for reply, shown in zip(replies, letters, strict=True))
        self.found["vision"] = {"pictures": len(letters), "read": read, "tokens_per_picture": tokens}
        if reads and read >= MUST_READ:
            return ""
        told = f"the model '{self._model}' read {read} of {len(letters)} test pictures"
        other = "choose a model that sees, or set view to words"
        characters = len(pictures[0].file()) * 4 // 3  # three bytes are four characters in base64
        fault = self._fault("picture", tokens, characters, other)
        if not fault and reads:
            fault = (
                f"pictures arrive at {self._where} (one makes a request {tokens} tokens longer), but they were not"
                f" read: {told}; choose another model, raise image_px, or set probe to tokens if it need not read"
                " letters"
            )
        elif tokens is None:
            fault = f"{told}, and {fault}; {other}" if reads else f"{fault}; set probe to read"
        if fault:
            del self.found["vision"]
        return fault

    async def _listen(self, send: Send, journal: Journal | None) -> str:
        """Send a sound; say what is wrong, in a sentence."""
        sound = Sound(tone_file(_TONE_HZ, _TONE_MS), _TONE_MS, 1)
        tokens, _ = await self._more_tokens(_HEARD, "sound", [sound], _SOUNDS, send, journal)
        fault = self._fault(
            "sound", tokens, sound.characters, "choose a model that takes sounds, or set sounds to words"
        )
        if tokens is None:
            fault += "; if you know that they do, set probe to off"
        if not fault:
            self.found["hearing"] = {"tokens_per_second": tokens}
        return fault

    def _fault(self, what: str, tokens: int | None, characters: int, other: str) -> str:
        """Say what is wrong by the number of tokens, in a sentence; empty when nothing is.

        Parameters
        ----------
        tokens : how many more a request has; None: the server does not count
        characters : of the file, as it is sent
        other : what to do
        """
        if tokens is None:
            return f"{self._where} does not count tokens, so it is unknown whether {what}s reach the model"
        if tokens <= 0:
            return (
                f"{self._where} silently drops {what}s: a request to '{self._model}' has no more tokens with a {what}"
                f" than without; {other}"
            )
        if tokens * _CHARACTERS_PER_TOKEN > characters:
            return (
                f"{self._where} gives '{self._model}' the text of a {what}'s file to read instead of the {what}: one"
                f" makes a request {tokens} tokens longer (its file has {characters} characters); {other}"
            )
        return ""

    async def _more_tokens(
        self,
        question: str,
        what: str,
        parts: Sequence[Part],
        first: int,
        send: Send,
        journal: Journal | None,
        anew: bool = False,
    ) -> tuple[int | None, list[Reply]]:
        """How many more tokens a request has with the first part than without (None where the
        server does not count), and the replies to all of them."""
        without = await self._reply((), question, f"{_NAMES[what]}-0", first, send, journal, anew)
        fault: EndpointError | None = None
        replies: list[Reply] = []
        try:
            for number, part in enumerate(parts, start=1):
                name = f"{_NAMES[what]}-{number}"
                replies.append(await self._reply((part,), question, name, first + number, send, journal, anew))
        except EndpointError as error:
            fault = error
        if fault is not None:
            raise EndpointError(
                f"{fault} (this was a request with a {what}; without one there was a reply)",
                fault.permanent,
                fault.status,
            )
        counts = (without.prompt_tokens, replies[0].prompt_tokens)
        return (None if counts[0] is None or counts[1] is None else counts[1] - counts[0]), replies

    async def _reply(
        self,
        parts: tuple[Part, ...],
        question: str,
        name: str,
        number: int,
        send: Send,
        journal: Journal | None,
        anew: bool,
    ) -> Reply:
        message = Message("user", (*parts, Text(question)))
        options = {key: value for key, value in self._settings.sampling().items() if key not in _NOT_SENT}
        identity = chained(chained(chained("", self._model), message.stored()), options)
        paid = PaidReplies(send)
        if journal is not None:
            paid.attach(journal, "" if anew else identity)
        return await paid.reply(Request((message,), options, identity, name), number)


def letter_picture(letters: str) -> Stimulus:
    """The picture of some letters."""
    return STIMULI.get("letter").model_validate({"symbol": letters})


def _reads(reply: str, letters: str) -> bool:
    """Return whether a reply names the letters one after the other, in whatever spelling."""
    between = "[^A-Za-z0-9]{0,3}"
    return re.search(f"(?<![A-Za-z]){between.join(letters)}(?![A-Za-z])", reply, re.IGNORECASE) is not None
