"""Expected tokens of a request, from its length and from what those before it took."""

from __future__ import annotations

import math

from ..messages import Part, Picture, Request, Text

#: how many characters a token is taken to have, until the server has told, and a picture
CHARACTERS_PER_TOKEN = 4.0
CHARACTERS_PER_PICTURE = 4000
#: a conversation that grows is not made of the same words as its beginning, and a reply may be
#: longer than all before it: by so much after one reply, and by less with every further one
_READ_ROOM, _WRITTEN_ROOM = 1.0, 4.0


class Expected:
    """Record of what requests took so far.

    Attributes
    ----------
    replies : how many were counted
    most_written : tokens of the longest reply
    """

    def __init__(self) -> None:
        self.replies = 0
        self.most_written = 0
        self._characters = 0
        self._prompt = 0
        self._completion = 0
        self._densest = 0.0

    def learn(self, characters: int, prompt_tokens: int, completion_tokens: int) -> None:
        """Note what a request really took."""
        self.replies += 1
        self._characters += characters
        self._prompt += prompt_tokens
        self._completion += completion_tokens
        self._densest = max(self._densest, prompt_tokens / max(1, characters))
        self.most_written = max(self.most_written, completion_tokens)

    def tokens(self, characters: int) -> float:
        """About how many a request and its reply will have."""
        per_token = self._characters / self._prompt if self._prompt else CHARACTERS_PER_TOKEN
        return characters / per_token + (self._completion / self.replies if self.replies else 0.0)

    def most(self, characters: int, at_most: int | None = None, surely: bool = True) -> tuple[float, float]:
        """Return how many tokens may be read and written at most, as the longest so far; or
        ``surely``, with room for longer ones.

        Parameters
        ----------
        at_most : so many are written at most, where the request says so
        """
        read = characters * self._densest
        written = float(self.most_written)
        if surely:
            unseen = 1 / math.sqrt(max(1, self.replies))
            read, written = read * (1 + _READ_ROOM * unseen), written * (1 + _WRITTEN_ROOM * unseen)
        return read, written if at_most is None else min(written, at_most)


def characters(request: Request) -> int:
    """The length of a conversation, a picture counted as so many characters."""
    return sum(_characters(part) for message in request.messages for part in message.parts)


def _characters(part: Part) -> int:
    return (
        len(part.text)
        if isinstance(part, Text)
        else CHARACTERS_PER_PICTURE * (1 if isinstance(part, Picture) else math.ceil(part.ms / 10_000))
    )
