"""An agent: it gets one percept after another, and answers those that ask."""

import numpy as np

from spanlab.agents import Agent, AgentKind, Episode, Response


class Stubborn(Agent):
    kind = AgentKind(
        "stubborn", help="guesses once in each trial, and repeats it", role="yardstick", label="repeats itself"
    )

    def start(self, context):
        return Repetition(context.seed)


class Repetition(Episode):
    def __init__(self, seed):
        self.seed = seed % 2**32
        self.note = lambda event: None

    def attach(self, journal):
        self.note = journal.note

    async def step(self, percept, truth=None):
        if percept.ask is None:
            return None
        self.note({"event": "guess", "chance": percept.ask.kind.chance()})
        return Response(percept.ask.kind.guess(np.random.RandomState(self.seed)))
