"""Trials per second of a network, in batches against step by step, with the same trials in the same run. Rendering the frames is part of both."""

from __future__ import annotations

import asyncio
import time

from spanlab.agents.network import NetworkAgent
from spanlab.agents.protocol import Briefing
from spanlab.paradigms import Trial, compile_trial, load_paradigm

PARADIGMS = ("vsr", "sfr", "smu")
TRIALS = 240


def main() -> None:
    agent = NetworkAgent("laptop")
    for name in PARADIGMS:
        paradigm = load_paradigm(name)
        combinations = paradigm.combinations()
        trials = [compile_trial(paradigm, combinations[seed % len(combinations)], seed) for seed in range(TRIALS)]
        briefing = Briefing(name, paradigm.title, "en", "", (), paradigm.network)
        # both once before the clock runs: tables of frames are filled, torch chooses its kernels
        batched(agent, briefing, trials[:20])
        stepped(agent, briefing, trials[:5])
        together = batched(agent, briefing, trials)
        apart = stepped(agent, briefing, trials)
        print(f"{name}: batched\t{together}\ttrials/s")
        print(f"{name}: step by step\t{apart}\ttrials/s")
        print(f"{name}: batched / step by step\t{together / apart}\tx")


def batched(agent: NetworkAgent, briefing: Briefing, trials: list[Trial]) -> float:
    """Trials per second in one batch."""
    percepts = [[step.percept for step in trial.steps] for trial in trials]
    began = time.perf_counter()
    agent.answer([briefing] * len(trials), percepts)
    return len(trials) / (time.perf_counter() - began)


def stepped(agent: NetworkAgent, briefing: Briefing, trials: list[Trial]) -> float:
    """Trials per second, one step at a time."""

    async def go() -> None:
        for trial in trials:
            mind = agent.start(briefing)
            for step in trial.steps:
                await mind.step(step.percept)

    began = time.perf_counter()
    asyncio.run(go())
    return len(trials) / (time.perf_counter() - began)


if __name__ == "__main__":
    main()
