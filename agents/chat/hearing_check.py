"""Check that sounds reach a model: before a session with sounds the server is sent one, and must
count it.

The same question is sent without a sound and with a tone of one second: a sound that arrives makes
the request longer. Whether the model understands what it hears is for the trials to show.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.errors import SpanLabError
from ...stimuli.sound_files import tone_file
from ..base import Journal
from .messages import Message, Part, Request, Sound, Text, chained
from .settings import ChatSettings
from .transport.endpoint import EndpointError
from .transport.paid_replies import PaidReplies, Send
from .vision_check import CHARACTERS_PER_TOKEN, NOT_SENT, KeptReplies

_QUESTION = "Is there a sound in this message? Answer with yes or no and nothing else."
_TONE_HZ, _TONE_MS = 440, 1000
#: the numbers of its questions among those before the first trial; pictures have the ones below
_FIRST = 11


class HearingCheck:
    """The check of one model.

    Parameters
    ----------
    model, where : its name and its address
    settings : the protocol
    """

    def __init__(self, model: str, where: str, settings: ChatSettings) -> None:
        self._model, self._where, self._settings = model, where, settings
        self._tokens: int | None = None

    @property
    def result(self) -> Mapping[str, Any]:
        """The result, for the record; nothing when nothing was checked."""
        return {} if self._tokens is None else {"hearing": {"tokens_per_second": self._tokens}}

    async def run(self, send: Send, journal: Journal | None = None) -> None:
        """Send a sound, once, where the settings want it. Replies that were kept are not paid for
        again.

        Raises
        ------
        SpanLabError
            when sounds do not reach the model.
        """
        if self._settings.sounds == "words" or self._settings.hearing_check == "off" or self._tokens is not None:
            return
        sound = Sound(tone_file(_TONE_HZ, _TONE_MS), _TONE_MS, 1)
        without = await self._reply((), 0, send, journal)
        try:
            with_sound = await self._reply((sound,), 1, send, journal)
        except EndpointError as error:
            raise EndpointError(
                f"{error} (this was a request with a sound; without one there was a reply)",
                error.permanent,
                error.status,
            ) from None
        if without is None or with_sound is None:
            raise SpanLabError(
                f"{self._where} does not count tokens, so it is unknown whether sounds reach the model; if you know"
                " that they do, set hearing_check to off"
            )
        tokens = with_sound - without
        if tokens <= 0:
            raise SpanLabError(
                f"{self._where} silently drops sounds: a request to '{self._model}' has no more tokens with a sound"
                " than without; choose a model that takes sounds, or set sounds to words"
            )
        if tokens * CHARACTERS_PER_TOKEN > sound.characters:
            raise SpanLabError(
                f"{self._where} gives '{self._model}' the text of a sound's file to read instead of the sound: one"
                f" makes a request {tokens} tokens longer; choose a model that takes sounds, or set sounds to words"
            )
        self._tokens = tokens

    async def _reply(self, parts: tuple[Part, ...], number: int, send: Send, journal: Journal | None) -> int | None:
        """The tokens of a request."""
        message = Message("user", (*parts, Text(_QUESTION)))
        options = {name: value for name, value in self._settings.sampling().items() if name not in NOT_SENT}
        request = Request(
            (message,),
            options,
            chained(chained(chained("", self._model), message.stored()), options),
            f"hearing-{number}",
        )
        paid = PaidReplies(send)
        if journal is not None:
            paid.attach(KeptReplies(journal, request.identity, False))
        return (await paid.reply(request, _FIRST + number)).prompt_tokens
