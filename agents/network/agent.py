"""A trained network as a participant: step by step with its own recurrent state, and in batches."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from typing_extensions import override

from ...core.agent_kinds import NETWORK, AgentKind
from ...core.errors import SpanLabError
from ...core.json_values import where_given
from ...paradigms import Percept, Truth
from ...paradigms.language import yaml_source
from ...paradigms.network_view import NetworkView
from ...stimuli import Stimulus
from ...stimuli.kinds.files import refuse_sounds
from ...stimuli.render.pixels import network_frame
from ..at_once import BatchAgent, KeepStates
from ..base import AgentOptions, Episode, Response, TrialContext
from .checkpoints_io.checkpoint import WIRED, Checkpoint, family_of, load, member_for
from .inputs.frames import NetworkFrames
from .inputs.words import Store, WordStore
from .readout import one_thread, read_out, view_of
from .settings import task_seen_in

if TYPE_CHECKING:
    from .models import State


#: The name that stands for all of them.
LIMITED = "limited"
_WITH_NOISE = re.compile(r"(?P<name>.+)@(?P<noise>\d+(?:\.\d+)?)(?P<relative>%?)")


#: Trials that go through the network together.
_BATCH = 128


class NetworkAgent(BatchAgent):
    """A trained network.

    Parameters
    ----------
    spec : name of a checkpoint that ships (``laptop``), or the path of one; ``network:`` in front
        is allowed
    noise : in its memory at each step; none when not given

    Raises
    ------
    SpanLabError
        when torch or the checkpoint is missing, the file is not a checkpoint, or noise cannot be
        added to its memory.
    """

    kind: ClassVar[AgentKind] = NETWORK
    batch_size = _BATCH

    def __init__(self, spec: str | Path, noise: MemoryNoise | None = None) -> None:
        self.name = str(spec) if str(spec).startswith("network:") else f"network:{spec}"
        self.checkpoint: Checkpoint = load(spec)
        self.network = self.checkpoint.network
        self.noise = noise
        #: the name that stands for several networks, by which this one was asked for; empty for its own
        self.asked = ""
        if noise is not None:
            from .models.noise import add_noise

            add_noise(self.network, noise.strength, noise.relative)

    @classmethod
    @override
    def from_name(cls, detail: str, options: AgentOptions) -> NetworkAgent:
        """SpanLab's own network or one of the WorM benchmark."""
        name, noise = name_and_noise(detail or "laptop")
        if name == LIMITED:
            limit = limit_for(options.tasks)
            name, noise = limit.network, MemoryNoise(limit.noise, relative=True) if noise is None else noise
        member = member_for(name, options.tasks)
        agent = cls(member, noise)
        # Records and figures name who answered.
        agent.name = f"network:{member}" + ("" if noise is None else f"@{noise.typed}")
        asked = detail or "laptop"
        agent.asked = "" if f"network:{asked}" == agent.name else asked
        return agent

    @classmethod
    @override
    def from_record(cls, detail: str, options: AgentOptions, info: Mapping[str, Any]) -> NetworkAgent:
        settings = info["agent_settings"]
        if "class" in settings:
            raise SpanLabError(
                f"{info['session']} was begun by a torch module ({settings['class']}), which no command can make: go on"
                " in Python, with spanlab.resume(SESSION, agent=MODULE)"
            )
        agent = cls.from_name(detail, options)
        agent.asked = settings.get("asked", "")
        return agent

    @override
    def settings(self) -> dict[str, Any]:
        """The settings that shaped the answers: the checkpoint and what is known of its training."""
        checkpoint, network = self.checkpoint, self.network
        settings = {
            "checkpoint": checkpoint.name,
            "sha256": checkpoint.sha256,
            "architecture": network.settings.architecture,
            "hidden": network.settings.hidden,
            "parameters": network.parameter_count,
            "tasks": list(network.tasks),
        }
        if self.asked:
            settings["asked"] = self.asked
        if origin := self._origin():
            settings["label"] = origin
        if self.noise is not None:
            settings |= {"noise": self.noise.strength, **where_given(noise_relative=self.noise.relative)}
        if checkpoint.trained is not None:
            trained = checkpoint.trained
            settings |= {
                "trained_on": dict(trained.paradigms),
                "trained_steps": trained.steps,
                "trained_trials": dict(trained.trials),
            }
        if checkpoint.published is not None:
            settings["worm"] = {
                **checkpoint.published.facts,
                "options": dict(network.settings.options),
                "notes": list(checkpoint.published.notes),
            }
        if checkpoint.vectors is not None:
            settings["vectors"] = checkpoint.vectors.described()
        return settings

    def _origin(self) -> str:
        """How a network came to be what it is, where it was not by training alone; for figures."""
        trained = self.checkpoint.trained
        facts = {
            "wired, not learned": self.checkpoint.name == WIRED,
            "untrained": trained is not None and not trained.steps,
            "noise added": self.noise is not None and self.noise.strength > 0,
        }
        return ", ".join(words for words, there in facts.items() if there)

    @override
    def introduction(self) -> list[str]:
        """Facts about a checkpoint of others in a line or two; of SpanLab's own, which have a card,
        only what must not be overlooked."""
        if self.checkpoint.published is not None:
            return self.checkpoint.published.lines(self.checkpoint.name, self.network.parameter_count)
        lines = [f"network:{self.asked} takes these trials as {self.name}"] if self.asked else []
        if self.checkpoint.name == WIRED:
            lines.append(f"{WIRED} was wired: it solved N-back tasks without noise before its training began")
        return lines

    @override
    def check_trial(self, context: TrialContext, steps: int) -> None:
        """Make sure, before a session, that this network can take such a trial.

        Parameters
        ----------
        steps : that machines see

        Raises
        ------
        SpanLabError
            when it cannot.
        """
        self._view(context)
        longest = self.network.memory.longest
        if longest is not None and steps > longest:
            raise SpanLabError(
                f"{self.name} takes trials of up to {longest} steps, and {context.paradigm} has trials of {steps};"
                " choose shorter ones (--set), or a network that takes longer ones"
            )

    @override
    def check_displays(self, stimuli: Iterable[Stimulus]) -> None:
        """Make sure, before a session, that no display has a sound.

        Raises
        ------
        SpanLabError
            when one has.
        """
        refuse_sounds(stimuli, "networks")

    @override
    def start(self, context: TrialContext) -> NetworkEpisode:
        """A fresh episode: its state is empty.

        Raises
        ------
        SpanLabError
            when this network cannot take this paradigm.
        """
        return NetworkEpisode(self, self._view(context), context.seed)

    @property
    @override
    def hidden_units(self) -> int:
        return self.network.settings.hidden

    @override
    def answer(
        self, contexts: Sequence[TrialContext], trials: Sequence[Sequence[Percept]], keep: KeepStates | None = None
    ) -> list[list[Response | None]]:
        """Many trials at once: for every trial one entry per percept, a Response exactly where it
        asks. Equal to stepping.

        Parameters
        ----------
        keep : given the number of each trial and its hidden states, float32 (steps that machines
            see, units)
        """
        views = [self._view(context) for context in contexts]
        answers: list[list[Response | None]] = [[] for _ in trials]
        for task in dict.fromkeys(view.task for view in views):
            of_task = sorted(
                (number for number, view in enumerate(views) if view.task == task),
                key=lambda number: len(trials[number]),
            )
            for start in range(0, len(of_task), _BATCH):
                numbers = of_task[start : start + _BATCH]
                batch = self._batch(
                    [views[n] for n in numbers], [trials[n] for n in numbers], [contexts[n].seed for n in numbers]
                )
                for number, (answered, hidden) in zip(numbers, batch, strict=True):
                    answers[number] = answered
                    if keep is not None:
                        keep(number, hidden)
        return answers

    def _batch(
        self, views: Sequence[NetworkView], trials: Sequence[Sequence[Percept]], seeds: Sequence[int]
    ) -> list[tuple[list[Response | None], np.ndarray]]:
        """Answers and hidden states in trials of one task, filled up to the length of the longest:
        what follows a trial's end cannot change them."""
        import torch

        from .speedups.sight import looked_at

        percepts = [[percept for percept in trial if percept.model_step] for trial in trials]
        store = self._store(views[0])
        index = store.add([percept.for_machine.stimulus for trial in percepts for percept in trial])
        steps = np.zeros((len(trials), max(1, max(map(len, percepts)))), np.int64)
        start = 0
        for row, trial in enumerate(percepts):
            steps[row, : len(trial)] = index[start : start + len(trial)]
            start += len(trial)
        if not start:  # trials without a step that machines see
            return [([None] * len(trial), np.empty((0, self.network.settings.hidden), np.float32)) for trial in trials]
        with torch.inference_mode():
            seen = looked_at(self.network, store.frames())
            passage = self.network(
                seen.at(torch.from_numpy(steps)), views[0].task, self.network.initial(len(trials), seeds)
            )
            logits, hidden = passage.logits.numpy(), passage.hidden.numpy()
        answers: list[tuple[list[Response | None], np.ndarray]] = []
        for row, trial in enumerate(trials):
            step = -1
            answered: list[Response | None] = []
            for percept in trial:
                step += percept.model_step
                answered.append(percept.ask and read_out(logits[row, step], percept.ask, views[row]))
            answers.append((answered, hidden[row, : step + 1]))
        return answers

    def _store(self, view: NetworkView) -> Store:
        """An empty store of what the network takes in: frames, or the words whose vectors it reads."""
        return WordStore(self.checkpoint.vectors, view.words) if view.input == "vectors" else NetworkFrames()

    def _view(self, context: TrialContext) -> NetworkView:
        view = view_of(context)
        known = self.network.tasks
        if view.task not in known:
            family = map(load, family_of(self.asked or self.name.removeprefix("network:"))[1:])
            taught = [
                name
                for one in (self.checkpoint, *family)
                for name in (one.network.tasks if one.trained is None else one.trained.paradigms)
            ]
            raise SpanLabError(
                f"{self.name} was not trained on {context.paradigm} (task '{view.task}'), but on"
                f" {', '.join(dict.fromkeys(taught))}; choose another network, or train one with spanlab train"
            )
        taken, given = known[view.task], task_seen_in(view)
        if (taken.outputs, taken.reads) != (given.outputs, given.reads):
            raise SpanLabError(
                f"{self.name} has {taken.told} for the task '{view.task}', and {context.paradigm} {given.told}; choose"
                " another network, or train one with spanlab train"
            )
        return view


class NetworkEpisode(Episode):
    """One trial in a network: the recurrent state goes from step to step."""

    def __init__(self, agent: NetworkAgent, view: NetworkView, seed: int) -> None:
        self._network = agent.network
        self._view = view
        self._words = agent.checkpoint.vectors if view.input == "vectors" else None
        self._state: State = agent.network.initial(1, [seed])

    @override
    async def step(self, percept: Percept, truth: Truth | None = None) -> Response | None:
        """See the frame of one step; answer when asked. Steps that only people get are not seen."""
        if not percept.model_step:
            return None
        import torch

        with one_thread(), torch.inference_mode():
            seen = self._network.see(torch.from_numpy(self._frame(percept.for_machine.stimulus))).at(
                torch.zeros(1, 1, dtype=torch.int64)
            )
            passage = self._network(seen, self._view.task, self._state)
        self._state = passage.state
        return percept.ask and read_out(passage.logits[0, 0].numpy(), percept.ask, self._view)

    def _frame(self, stimulus: Stimulus) -> np.ndarray:
        """Return the input of the network at one step: a frame, uint8 (1, 32, 32, 3), or vectors,
        float32 (1, 300 × words)."""
        return (
            network_frame(stimulus.scene())[None]
            if self._words is None
            else self._words.shown([stimulus], self._view.words)
        )


@dataclass(frozen=True)
class MemoryNoise:
    """Normal noise in the cells of a network's memory at each step.

    Parameters
    ----------
    strength : its standard deviation
    relative : whether that is in proportion to what a cell holds
    """

    strength: float
    relative: bool = False

    @property
    def typed(self) -> str:
        """As it follows the name of a network: ``0.2``, or ``20%`` of what a cell holds."""
        return f"{100 * self.strength:g}%" if self.relative else f"{self.strength:g}"


class NoiseLimit(BaseModel):
    """Noise of a network in the tasks of a paradigm."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    paradigm: str = Field(description="paradigm for whose trials the noise was chosen")
    tasks: list[str] = Field(description="tasks of networks in which it is used")
    network: str = Field(description="name of the network that ships")
    noise: Annotated[float, Field(ge=0)] = Field(
        description="standard deviation of the noise in each cell at each step, as a share of what the cell holds"
    )


def limits() -> list[NoiseLimit]:
    """The limits that ship, in the order of their file."""
    file = resources.files("spanlab.agents.network") / "checkpoints" / f"{LIMITED}.yaml"
    return TypeAdapter(list[NoiseLimit]).validate_python(
        yaml_source.parse(file.read_text(encoding="utf-8"), f"{LIMITED}.yaml").data
    )


def limit_for(tasks: Collection[str]) -> NoiseLimit:
    """The limit that is used in these tasks.

    Raises
    ------
    SpanLabError
        when there is none, or the tasks have different ones.
    """
    known = limits()
    found = [limit for limit in known if set(tasks) & set(limit.tasks)]
    if len(found) == 1 and set(tasks) <= set(found[0].tasks):
        return found[0]
    raise SpanLabError(
        f"network:{LIMITED} takes one of {', '.join(limit.paradigm for limit in known)} at a time; choose one of these,"
        " or another network with noise (laptop@20%)"
    )


def name_and_noise(name: str) -> tuple[str, MemoryNoise | None]:
    """A network's name and the noise that is given with it: ``laptop@0.2`` adds 0.2 to ``laptop``,
    ``laptop@20%`` has 20% of what a cell holds.

    Examples
    --------
    >>> name_and_noise("laptop@20%"), name_and_noise("laptop")
    (('laptop', MemoryNoise(strength=0.2, relative=True)), ('laptop', None))
    """
    found = _WITH_NOISE.fullmatch(name)
    if not found:
        return name, None
    relative = bool(found["relative"])
    return found["name"], MemoryNoise(float(found["noise"]) / (100 if relative else 1), relative)
