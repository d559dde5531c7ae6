"""An event: what an agent records beside its answers. Its marked field is a column of the response
table."""

from typing import Annotated, Literal

from pydantic import with_config

from spanlab.sessions.record import CLOSED, Holds, InTable, OfTrial


@with_config(CLOSED)
class Guess(OfTrial):
    """the agent guesses"""

    event: Literal["guess"]
    chance: Annotated[float, Holds("probability that the guess is right"), InTable()]
