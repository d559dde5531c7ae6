"""A network that is not SpanLab's as a participant: displays become the frames that it takes, and
its logits answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from PIL import Image as Pillow
from typing_extensions import override

from ...core.agent_kinds import NETWORK, AgentKind
from ...core.errors import SpanLabError
from ...paradigms import NetworkView, Percept, Truth, is_model_step
from ...stimuli import Stimulus
from ...stimuli.kinds.files import refuse_sounds
from ...stimuli.render.pixels import drawn, network_frame, picture
from ...stimuli.scene import CANVAS
from ..base import BatchAgent, Episode, KeepStates, Response, TrialContext
from .foreign import Foreign, Interface, run
from .readout import read_out, view_of
from .settings import FRAME

#: Trials that go through a network together, and how much memory their frames may take.
_BATCH, _BYTES = 128, 64_000_000
#: The number of a trial, its steps that are shown, and those of them whose answers are read.
_Row = tuple[int, list[int], list[int]]


class ForeignAgent(BatchAgent):
    """A network that is not SpanLab's, as a participant."""

    kind: ClassVar[AgentKind] = NETWORK
    batch_size = _BATCH

    def __init__(self, foreign: Foreign, name: str) -> None:
        self.name = name if name.startswith("network:") else f"network:{name}"
        self.foreign = foreign

    @override
    def settings(self) -> dict[str, Any]:
        """The settings that shaped the answers: the author of the network, the hash of its file,
        and its description."""
        return {
            "network": self.foreign.name,
            **self.foreign.facts,
            "interface": self.foreign.interface.model_dump(mode="json", exclude_defaults=True),
        }

    @override
    def introduction(self) -> list[str]:
        return list(self.foreign.lines)

    @override
    def check_trial(self, context: TrialContext, steps: int) -> None:
        self._view(context)
        interface = self.foreign.interface
        if interface.steps is not None and interface.step_ms is None and steps > interface.steps:
            raise SpanLabError(
                f"{self.name} takes trials of up to {interface.steps} steps, and {context.paradigm} has trials of"
                f" {steps}; choose shorter ones (--set), or export it with more steps"
            )

    @override
    def check_displays(self, stimuli: Iterable[Stimulus]) -> None:
        refuse_sounds(stimuli, "networks")

    @override
    def start(self, context: TrialContext) -> ForeignEpisode:
        return ForeignEpisode(self, self._view(context))

    @override
    def answer(
        self, contexts: Sequence[TrialContext], trials: Sequence[Sequence[Percept]], keep: KeepStates | None = None
    ) -> list[list[Response | None]]:
        answers: list[list[Response | None]] = [[None] * len(trial) for trial in trials]
        shown = _Shown(self.foreign.interface)
        for task, lots in self._lots(contexts, trials):
            for lot in lots:
                frames = [shown.of([trials[number][step] for step in steps]) for number, steps, _ in lot]
                logits = self.logits_of([pixels for pixels, _ in frames], task)
                for (number, steps, asked), (_, spans), found in zip(lot, frames, logits, strict=True):
                    for step in asked:
                        percept = trials[number][step]
                        assert percept.ask is not None
                        at = steps.index(step)
                        answers[number][step] = read_out(
                            self.outputs_at(found, spans[at], task), percept.ask, self._view(contexts[number])
                        )
        return answers

    def _lots(
        self, contexts: Sequence[TrialContext], trials: Sequence[Sequence[Percept]]
    ) -> Iterator[tuple[str, list[list[_Row]]]]:
        """For each task, the trials that go through the network together."""
        views = [self._view(context) for context in contexts]
        for task in dict.fromkeys(view.task for view in views):
            rows: list[_Row] = []
            for number, trial in enumerate(trials):
                if views[number].task != task:
                    continue
                steps = [step for step, percept in enumerate(trial) if is_model_step(percept)]
                asked = [step for step in steps if trial[step].ask is not None]
                if self.foreign.interface.answers == "each_step":
                    rows += [(number, steps, asked)] if asked else []
                else:  # the frames up to each question, and no others
                    rows += [(number, [one for one in steps if one <= step], [step]) for step in asked]
            rows.sort(key=lambda row: len(row[1]))
            frame = 4 * self.foreign.interface.frames.size**2 * self.foreign.interface.frames.channels
            lots: list[list[_Row]] = [[]]
            for row in rows:
                same = (
                    self.foreign.interface.answers == "each_step" or not lots[-1] or len(lots[-1][0][1]) == len(row[1])
                )
                if len(lots[-1]) == _BATCH or (len(lots[-1]) + 1) * len(row[1]) * frame > _BYTES or not same:
                    lots.append([])
                lots[-1].append(row)
            yield task, [lot for lot in lots if lot]

    def logits_of(self, trials: Sequence[np.ndarray], task: str) -> list[np.ndarray]:
        """The logits of some trials, each (steps, logits); where only the last step has any, (1,
        logits).

        Parameters
        ----------
        trials : frames of each, uint8 (steps, rows, columns, channels); where only the last step
            answers, all that are taken at once have the same length
        """
        interface = self.foreign.interface
        longest = max(len(one) for one in trials)
        if interface.steps is not None and longest > interface.steps:
            raise SpanLabError(
                f"{self.name} takes trials of up to {interface.steps} steps, and with steps of {interface.step_ms:g} ms"
                f" this one has {longest}"
            )
        if (
            interface.answers == "last_step" and interface.steps is None and len({len(one) for one in trials}) > 1
        ):  # with step_ms, equally many displays may differ in time
            return [logits for one in trials for logits in self.logits_of([one], task)]
        steps, many = interface.steps or longest, interface.trials or len(trials)
        found: list[np.ndarray] = []
        for start in range(0, len(trials), many):
            part = trials[start : start + many]
            filled = np.zeros((interface.trials or len(part), steps, *trials[0].shape[1:]), np.uint8)
            for row, one in enumerate(part):
                if interface.answers == "each_step":
                    filled[row, : len(one)] = one
                else:  # filled up in front, so that the question comes last
                    filled[row, steps - len(one) :] = one
            logits = run(self.foreign, filled, task)[: len(part)]
            found += list(logits if interface.answers == "each_step" else logits[:, None])
        return found

    def outputs_at(self, logits: np.ndarray, span: tuple[int, int], task: str) -> np.ndarray:
        """The outputs of the paradigm's head at a question.

        Parameters
        ----------
        logits : of the trial, (steps, logits)
        span : the steps of the question, from and up to
        """
        interface = self.foreign.interface
        if interface.answers == "last_step":
            at = logits[-1]
        else:
            outputs = logits[span[0] : span[1]]
            at = outputs.mean(0) if interface.read == "mean" else outputs[0 if interface.read == "first" else -1]
        return at[interface.tasks[task].logits]

    def _view(self, context: TrialContext) -> NetworkView:
        """Return what it sees of a paradigm.

        Raises
        ------
        SpanLabError
            when it does not know the task, has other outputs for it, or words would have to be
            read.
        """
        view, interface = view_of(context), self.foreign.interface
        if view.input == "vectors":
            raise SpanLabError(
                f"{self.name} is shown frames, and in {context.paradigm} networks read the vectors of words; choose"
                " another paradigm"
            )
        if view.task not in interface.tasks:
            raise SpanLabError(
                f"{self.name} does not know the task '{view.task}' of {context.paradigm} (its description has"
                f" {', '.join(interface.tasks)}); add the task, if the network can do it, or choose another paradigm"
            )
        logits = interface.tasks[view.task].logits
        if len(logits) != view.head and not (view.head == 1 and len(logits) == 2):
            wanted = "1 output (or 2, for no and yes)" if view.head == 1 else f"{view.head} outputs"
            raise SpanLabError(
                f"{self.name} has {len(logits)} logits for the task '{view.task}', and {context.paradigm} asks for"
                f" {wanted}; correct 'logits' in its description"
            )
        return view


class ForeignEpisode(Episode):
    """One trial in a network that is not SpanLab's: at each question it is shown the frames up to
    it."""

    def __init__(self, agent: ForeignAgent, view: NetworkView) -> None:
        self._agent, self._view = agent, view
        self._shown = _Shown(agent.foreign.interface)
        self._seen: list[Percept] = []

    @override
    async def step(self, percept: Percept, truth: Truth | None = None) -> Response | None:
        if not is_model_step(percept):
            return None
        self._seen.append(percept)
        if percept.ask is None:
            return None
        pixels, spans = self._shown.of(self._seen)
        (logits,) = self._agent.logits_of([pixels], self._view.task)
        return read_out(self._agent.outputs_at(logits, spans[-1], self._view.task), percept.ask, self._view)


def shown_frames(interface: Interface, percepts: Sequence[Percept]) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """The frames of one trial as a network takes them, uint8 (steps, rows, columns, channels), and
    the steps of each display, from and up to."""
    return _Shown(interface).of(percepts)


class _Shown:
    """Displays as the frames that a network takes, each different one drawn once."""

    def __init__(self, interface: Interface) -> None:
        self.interface = interface
        self._known: dict[Stimulus, np.ndarray] = {}

    def of(self, percepts: Sequence[Percept]) -> tuple[np.ndarray, list[tuple[int, int]]]:
        """The frames of a trial, uint8 (steps, rows, columns, channels), and for each display the
        steps that it takes, from and up to."""
        frames: list[np.ndarray] = []
        spans: list[tuple[int, int]] = []
        for percept in percepts:
            display = percept.for_machine
            if self.interface.step_ms is None:
                many = 1
            elif display.ms is None:
                many = self.interface.unpaced_steps
            else:
                many = max(1, round(display.ms / self.interface.step_ms))
            spans.append((len(frames), len(frames) + many))
            frames += [self._frame(display.stimulus)] * many
        return np.stack(frames), spans

    def _frame(self, stimulus: Stimulus) -> np.ndarray:
        if stimulus not in self._known:
            scene, side = stimulus.scene(), self.interface.frames.size
            if side == FRAME:
                image = Pillow.fromarray(network_frame(scene))
            elif side > CANVAS:
                image = picture(scene, side)
            else:
                image = drawn(scene).resize((side, side), Pillow.Resampling.BILINEAR)
            pixels = np.array(image if self.interface.frames.colour == "rgb" else image.convert("L"))
            self._known[stimulus] = pixels.reshape(side, side, -1)
        return self._known[stimulus]
