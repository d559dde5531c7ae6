"""A paradigm as a task of inspect_ai, which takes the trials and writes its own log."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from spanlab.agents.chat import ChatAgent, ChatSettings
from spanlab.agents.chat.transport import InspectHook
from spanlab.core import SpanLabError, need
from spanlab.paradigms import Generator, PlannedTrial, Trial
from spanlab.sessions import brief, plan_trials, utc_now
from spanlab.sessions.plan import try_out
from spanlab.sessions.practice import items_of
from spanlab.sessions.replaying import walk

if TYPE_CHECKING:
    from spanlab.sessions.trial_log import Judged


#: settings that need the trials before, which a sample of inspect_ai does not have
_OF_SESSIONS = {"practice": "none", "conversation": "trial", "examples": 0}


def inspect_task(
    paradigm: str,
    *,
    trials: int | None = None,
    seed: int = 1,
    levels: Mapping[str, Any] | None = None,
    design: str | None = None,
    generator: Generator = "corrected",
    chat: Mapping[str, Any] | None = None,
) -> Any:
    """A paradigm as an ``inspect_ai.Task``: each sample is a trial, which any model of inspect_ai
    takes step by step; its log holds the scores of the items.

    The right answers are the targets of the samples, for the log, and go to no model.

    Parameters
    ----------
    paradigm : name in the library, or a YAML file
    trials, seed, levels, design, generator : as for :func:`spanlab.replay`
    chat : settings of chat agents; practice, examples and one conversation for a block need a
        session

    Raises
    ------
    SpanLabError
        when inspect_ai is not installed, and for what is unknown or impossible.

    Examples
    --------
    It needs inspect_ai:

    >>> task = spanlab.inspect_task("vsr", trials=4)  # doctest: +SKIP
    """
    need("inspect", "inspect_ai", "a task of inspect_ai")
    settings = ChatSettings.read(chat or {})
    for name, alone in _OF_SESSIONS.items():
        if settings.model_dump()[name] != alone:
            raise SpanLabError(
                f"inspect_ai takes each trial by itself: leave out {name}, or take a session with --agent"
                " chat:inspect/PROVIDER/MODEL"
            )
    wanted = {
        name: list(value) if isinstance(value, (list, tuple)) else [value] for name, value in (levels or {}).items()
    }
    chosen = plan_trials(paradigm, seed, wanted, trials, design, generator)
    loaded = chosen.paradigm
    by_number = {str(planned.trial): planned for planned in chosen.plan}
    # a model that nobody asks: whether replies to these questions can be read
    request = chosen.request()
    try_out(loaded, ChatAgent("model", settings, hook=InspectHook("mockllm/model")), chosen.plan, request)
    inspect, models, datasets, scorers, solvers = (
        importlib.import_module(f"inspect_ai{name}") for name in ("", ".model", ".dataset", ".scorer", ".solver")
    )

    def compiled(planned: PlannedTrial) -> Trial:
        return planned.compile(loaded, generator)

    @solvers.solver(name="spanlab_trial")
    def take() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            trial = compiled(by_number[str(state.sample_id)])
            agent = ChatAgent(str(state.model), settings, hook=InspectHook(models.get_model()))
            steps = [step for step in trial.steps if step.percept.model_step]
            judged = await walk(agent, brief(agent, loaded, request.language, trial, trial.seed), steps)
            await agent.teardown()
            state.store.set(
                "spanlab",
                {"answers": [_answer(one) for one in judged], "taken_at": utc_now(), "settings": agent.settings()},
            )
            state.output = models.ModelOutput.from_content(
                str(state.model), "\n".join(str(one.response.raw) for one in judged)
            )
            return state

        return solve

    @scorers.scorer(metrics=[scorers.mean(), scorers.stderr()], name="spanlab_items")
    def items() -> Any:
        async def score(state: Any, target: Any) -> Any:
            answers = state.store.get("spanlab")["answers"]
            right = [one for answer in answers for one in items_of(answer["scores"])]
            share = sum(right) / len(right) if right else 0.0
            return scorers.Score(
                value=share, answer="; ".join(answer["said"] for answer in answers), metadata={"answers": answers}
            )

        return score

    samples = []
    for planned in chosen.plan:
        trial = compiled(planned)
        right = [
            step.percept.ask.kind.write(step.truth.answer)
            for step in trial.steps
            if step.percept.ask is not None and step.truth.answer is not None
        ]
        about = {"trial_id": trial.trial_id, "seed": trial.seed, "levels": dict(trial.levels)}
        samples.append(
            datasets.Sample(
                id=str(planned.trial), input=f"{loaded.name}, trial {planned.trial}", target=right, metadata=about
            )
        )
    facts = {
        "paradigm": loaded.name,
        "paradigm_hash": loaded.hash,
        "seed": seed,
        "design": chosen.design,
        "generator": generator,
    }
    return inspect.Task(dataset=samples, solver=take(), scorer=items(), name=f"spanlab_{loaded.name}", metadata=facts)


def _answer(judged: Judged) -> dict[str, Any]:
    """One answer for the log."""
    response = judged.response
    return {
        "said": str(response.raw),
        "value": response.value,
        "outcome": response.outcome,
        "verdict": judged.verdict,
        "scores": list(judged.scores),
    }
