"""The Python interface: functions that run the same sessions and make the same records and figures
as the commands.

>>> import spanlab
>>> result = spanlab.replay("vsr", agent="ideal", trials=4)
>>> result.accuracy
1.0
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from typing_extensions import TypeIs

from ..core.errors import SpanLabError
from ..core.json_values import as_levels

if TYPE_CHECKING:
    import numpy as np
    import torch

    from ..agents.base import Agent
    from ..agents.network.training.run import TrainingResult
    from ..paradigms import Generator, Trial
    from ..sessions.request import ChosenTrials
    from ..sessions.result import SessionResult
    from ..sessions.session import Session

_P = ParamSpec("_P")
_R = TypeVar("_R")

Levels = Mapping[str, Any]
PathLike = str | Path
Paths = PathLike | Sequence[PathLike]


def _for_python(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let messages name parameters of Python where they name options of the command line."""

    @functools.wraps(function)
    def called(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return function(*args, **kwargs)
        except SpanLabError as error:
            text = re.sub(
                r"--([a-z][a-z-]*[a-z])",
                lambda match: {"set": "levels"}.get(match[1], match[1].replace("-", "_")),
                str(error),
            )
            if text == str(error):
                raise
            raise SpanLabError(text) from None

    return called


@_for_python
def replay(
    paradigm: str | None = None,
    agent: str | Agent | torch.nn.Module = "",
    *,
    logits: str | Sequence[int] | None = None,
    frames: Mapping[str, Any] | None = None,
    trials: int | None = None,
    seed: int | None = None,
    levels: Levels | None = None,
    design: str | None = None,
    generator: Generator | None = None,
    like: PathLike | None = None,
    trials_from: PathLike | None = None,
    paired_with: PathLike | None = None,
    fresh: bool = False,
    data: PathLike = "data",
    chat: Mapping[str, Any] | None = None,
    care: Mapping[str, Any] | None = None,
    price: tuple[float, float] | None = None,
    pilot: bool = False,
    states: bool | str = False,
    say: Callable[[str], None] | None = None,
) -> SessionResult:
    """A session with a machine, as ``spanlab replay`` runs it: with estimate, account and record.

    Works in notebooks, too; :func:`replay_async` is for programs with an event loop of their own.

    Parameters
    ----------
    paradigm : name in the library, or a YAML file; not needed with ``like`` or ``trials_from``
    agent : who takes the trials: a name such as ``ideal``, ``network:laptop`` or
        ``chat:MODEL@PROVIDER``, ``torch:FILE.py:build``, an agent of your own, or a torch module
        from frames (trials, steps, 3, 32, 32) to logits (trials, steps, outputs)
    logits : of a torch module: which of its outputs are those of the paradigm's head, such as
        ``"0-8"``; the first ones when not given
    frames : of a torch module: how frames are given to it, such as ``{"colour": "grey"}``
    trials : number of trials, shared out over the factor levels; as many as the design has when not
        given
    seed : of the session; 1, or that of the other session, when not given
    levels : levels of some factors, such as ``{"list_length": [3, 4]}``
    design : of the paradigm's file; ``human`` when not given
    generator : ``corrected`` or ``published`` trials; corrected when not given
    like : exactly the trials of this session
    trials_from : the trials of this file
    paired_with : the blocks of this session, or of this paradigm with the same seed
    fresh : with ``like`` or ``trials_from``, new trials with the same levels
    data : folder for sessions
    chat, care : settings of chat agents, and how their servers are treated, by name
        (``care={"max_cost": 2.5}``)
    price : what a million tokens cost, read and written
    pilot : mark the data as pilot data
    states : keep the hidden states of networks, too; of a torch module by the name of the submodule
        that gives them, or True for what it returns beside its logits
    say : takes the sentences that the command prints on stderr, which is where they go when not
        given

    Returns
    -------
    the session when it is over

    Raises
    ------
    SpanLabError
        for what is unknown or impossible, and when something has stopped a session; what was
        finished is safe, and :func:`resume` goes on.

    Examples
    --------
    >>> result = spanlab.replay("vsr", agent="ideal", trials=6, levels={"list_length": [3, 4]})
    >>> result.responses.groupby("list_length")["correct"].mean().tolist()
    [1.0, 1.0]
    """
    from ..sessions.request import choose_trials
    from ..sessions.result import SessionResult
    from ..sessions.run import Watcher, make_machine, prepare, replay_sessions, say_on_stderr

    if isinstance(agent, str) and not agent:
        raise SpanLabError("who takes the trials? Give agent, such as agent='ideal' or agent='network:laptop'")
    chosen = choose_trials(
        paradigm,
        seed=seed,
        levels=_as_lists(levels),
        trials=trials,
        design=design,
        generator=generator,
        like=None if like is None else Path(like),
        trials_from=None if trials_from is None else Path(trials_from),
        paired_with=paired_with,
        fresh=fresh,
    )
    watcher = Watcher(say or say_on_stderr)
    given = (
        None
        if isinstance(agent, str)
        else _made_in_python(agent, chosen, logits, frames, chat or care or price, states)
    )
    if given is None and (logits is not None or frames is not None):
        raise SpanLabError(_FOR_MODULES)
    taker = given or make_machine(
        str(agent), chosen.seed, watcher.say, chosen, typed=True, chat=chat, care=care, price=price
    )
    request = prepare(taker, chosen, chosen.request(pilot), watcher.say, bool(states))
    ((session, span),) = replay_sessions(Path(data), [(chosen, taker, request)], watcher, given is not None)
    return SessionResult(session.folder, span)


_FOR_MODULES = "logits and frames are for torch modules: leave them out"


def _made_in_python(
    agent: object,
    trials: ChosenTrials | Session,
    logits: str | Sequence[int] | None,
    frames: object,
    options: object,
    states: bool | str = False,
) -> Agent:
    """An agent that is no name: somebody's own, or a torch module.

    Parameters
    ----------
    options : of agents that are made by their name; whatever was given of them

    Raises
    ------
    SpanLabError
        when it is neither, or something was given that is not for it.
    """
    from ..agents.base import Agent

    if isinstance(agent, str):
        if not agent.startswith("torch:"):
            raise SpanLabError(f"'{agent}' is made again by its name: leave agent out")
        from ..sessions.run import make_machine

        return make_machine(agent, trials.seed, trials=trials, typed=True)
    if _is_module(agent):
        from ..agents.network.modules import module_agent

        if not isinstance(frames, Mapping | None):
            raise SpanLabError(f'frames says how frames are given, such as {{"colour": "grey"}}; found {frames!r}')
        from ..sessions.run import network_views

        given = cast("Mapping[str, Any] | None", frames)
        taker = module_agent(agent, network_views(trials), logits, given, states if isinstance(states, str) else "")
    elif not isinstance(agent, Agent):
        made = f"; the class makes one: {agent.__name__}(...)" if isinstance(agent, type) else ""
        raise SpanLabError(
            f"agent is a name such as 'ideal', an agent of your own or a torch module; found {agent!r}{made}"
        )
    elif logits is not None or frames is not None:
        raise SpanLabError(_FOR_MODULES)
    else:
        taker = agent
    if options:
        raise SpanLabError(
            f"{taker.name} has already been made, so its chat, care and price cannot be chosen here: leave them out"
        )
    return taker


def _is_module(agent: object) -> TypeIs[torch.nn.Module]:
    """Return True for a torch module; torch is not imported for that."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(agent, torch.nn.Module)


def _as_lists(levels: Levels | None) -> dict[str, list[Any]] | None:
    return None if levels is None else {name: as_levels(value) for name, value in levels.items()}


#: Figures of a session in a notebook: the first that its answers give is drawn.
_FIRST_FIGURES = ("serial_position", "set_size", "nback_dprime", "error_distribution", "load")


def session_page(result: SessionResult) -> str:
    """A session as a notebook shows it: who answered what, how many answers were right, and its
    first curve.

    Parameters
    ----------
    result : of a session that is over
    """
    from html import escape

    from .analysing import figure

    info, rows = result.info, result.responses
    real = rows[~rows["practice"].astype(bool)]
    told = f"{real['trial'].nunique():,} trials, {len(real):,} answers"
    told += f", {100 * result.accuracy:.1f} % right" if result.accuracy == result.accuracy else ""
    head = (
        f"<p><b>{escape(str(info['agent']))}</b>: {escape(str(info['paradigm_title']))} ({told})."
        f" <code>{escape(str(result.folder))}</code></p>"
    )
    for name in _FIRST_FIGURES:
        try:
            drawn = figure(name, result.folder)
        except SpanLabError:
            continue
        return head + drawn._repr_svg_()  # pyright: ignore[reportPrivateUsage]
    return head


async def replay_async(
    paradigm: str | None = None, agent: str | Agent | torch.nn.Module = "", **options: Any
) -> SessionResult:
    """:func:`replay` in a thread of its own, for programs with an event loop: other tasks go on
    meanwhile."""
    import asyncio

    return await asyncio.to_thread(replay, paradigm, agent, **options)


@_for_python
def run(
    paradigm: str,
    participant: str = "",
    *,
    simulate: str | None = None,
    speed: float = 1.0,
    trials: int | None = None,
    seed: int | None = None,
    levels: Levels | None = None,
    design: str | None = None,
    generator: Generator | None = None,
    paired_with: PathLike | None = None,
    language: str = "en",
    practice: bool = True,
    pilot: bool = False,
    data: PathLike = "data",
    window: Mapping[str, Any] | None = None,
    say: Callable[[str], None] | None = None,
) -> SessionResult:
    """A session with somebody at the screen, as ``spanlab run PARADIGM`` runs it. Studies are run
    from the command line.

    Parameters
    ----------
    paradigm : name in the library, or a YAML file
    participant : identifier of the person
    simulate : an observer that presses real keys in the window instead of a person: ``ideal``,
        ``capacity:PLACES``, ``precision:SD`` or ``chance``
    speed : how much faster than a person the simulated participant answers
    trials, levels, design, generator, paired_with : as for :func:`replay`
    seed : of the session; drawn at random when not given
    language : of the instructions
    practice : begin with practice
    pilot : mark the data as pilot data
    data : folder for sessions
    window : how somebody sits at it: ``fullscreen``, ``width_cm``, ``distance_cm`` and the other
        fields of ``WindowOptions``
    say : takes sentences; stderr when not given

    Raises
    ------
    SpanLabError
        when there is no display, for what is unknown or impossible, and when something has stopped
        the session; :func:`resume` goes on.
    """
    from ..sessions.people import begin_with_somebody
    from ..sessions.result import SessionResult
    from ..sessions.run import Watcher, carry_out, say_on_stderr

    session, agent = begin_with_somebody(
        Path(data),
        paradigm,
        participant,
        simulate=simulate,
        speed=speed,
        window=window or {},
        say=say or say_on_stderr,
        seed=seed,
        levels=_as_lists(levels),
        trials=trials,
        design=design,
        generator=generator,
        paired_with=paired_with,
        language=language,
        practice=practice,
        pilot=pilot,
    )
    return SessionResult(session.folder, carry_out(session, agent, Watcher(say or say_on_stderr)))


@_for_python
def resume(
    session: PathLike,
    *,
    agent: str | Agent | torch.nn.Module | None = None,
    logits: str | Sequence[int] | None = None,
    frames: Mapping[str, Any] | None = None,
    care: Mapping[str, Any] | None = None,
    price: tuple[float, float] | None = None,
    retry_failed: bool = False,
    say: Callable[[str], None] | None = None,
) -> SessionResult:
    """Go on with a session that was interrupted, at the next trial, with its own settings; one that
    is over is given back as it is.

    Parameters
    ----------
    session : folder of the session
    agent, logits, frames : the agent of your own or torch module that began it, or its
        ``torch:FILE.py:build``, as for :func:`replay`; agents that have another name are made by it
        again
    care, price : of chat agents, from now on
    retry_failed : ask again for the trials that failed
    say : takes sentences; stderr when not given

    Raises
    ------
    SpanLabError
        when it cannot go on, and when something has stopped it again.

    Examples
    --------
    >>> result = spanlab.replay("vsr", agent="chance", trials=4)
    >>> spanlab.resume(result.folder) == result
    True
    """
    from ..agents.registry import check_options
    from ..sessions import complete, reopen
    from ..sessions.record.reader import has_failed
    from ..sessions.result import SessionResult
    from ..sessions.run import Watcher, agent_again, carry_out, say_on_stderr

    folder = Path(session)
    again = retry_failed and has_failed(folder)
    if complete(folder) and not again:
        return SessionResult(folder)
    watcher = Watcher(say or say_on_stderr)
    opened = reopen(folder)
    given = None if agent is None else _made_in_python(agent, opened, logits, frames, care or price)
    if given is None:
        check_options(opened.info["agent"], {"care": care, "price": price}, {"retry_failed": retry_failed})
    before = opened.info.get("care", {})
    care = {**before, **(care or {})}
    opened, taker = agent_again(opened, {"care": care, "price": price}, watcher.say, given=given)
    span = carry_out(opened, taker, watcher, fresh=False, retry_failed=retry_failed, given=given is not None)
    return SessionResult(folder, span)


async def resume_async(session: PathLike, **options: Any) -> SessionResult:
    """:func:`resume` in a thread of its own, for programs with an event loop."""
    import asyncio

    return await asyncio.to_thread(resume, session, **options)


def inspect_task(paradigm: str, **options: Any) -> Any:
    """Return a paradigm as a task of inspect_ai, which any of its models takes.

    Parameters
    ----------
    paradigm : name in the library, or a YAML file
    options : trials, seed, levels, design, generator, as for :func:`replay`, and ``chat``: settings
        of chat agents

    Raises
    ------
    SpanLabError
        when inspect_ai is not installed, and for what is unknown or impossible.
    """
    from ..exchange.registry import FORMATS

    return FORMATS.get("inspect")().task(paradigm, **options)


@_for_python
def train(
    config: PathLike,
    output: PathLike | None = None,
    *,
    resume: bool = False,
    steps: int | None = None,
    seed: int | None = None,
) -> TrainingResult | None:
    """Train a network by a config or a preset, as ``spanlab train`` does.

    Parameters
    ----------
    config : training config (YAML), or the name of a preset
    output : folder for checkpoint, log and card; ``runs/NAME`` when not given
    resume : go on from the last saved state
    steps, seed : instead of what the config says

    Returns
    -------
    what the run left; None in processes that only help

    Raises
    ------
    SpanLabError
        for what is wrong with the config, or when the run cannot go on.
    """
    from ..agents.network.settings import need_torch
    from ..agents.network.training.presets import changed, config_named

    need_torch()
    from ..agents.network.training.train import train as train_network

    read = config_named(config)
    given = {key: value for key, value in (("steps", steps), ("seed", seed)) if value is not None}
    command_line = " ".join(
        ["spanlab train", Path(config).name, *(f"--{name} {value}" for name, value in given.items())]
    )
    return train_network(changed(read, **given) if given else read, out=output, resume=resume, command=command_line)


def render(trial: Trial, size_px: int = 96) -> np.ndarray:
    """Render the displays of a trial that a machine sees, as pixels.

    Parameters
    ----------
    trial : from :func:`compile_trial`
    size_px : width and height of each frame; 32 gives the frames of networks

    Returns
    -------
    array of shape (steps, size_px, size_px, 3), 8 bits a channel

    Examples
    --------
    >>> trial = spanlab.compile_trial(spanlab.load_paradigm("vsr"), {"list_length": 3}, seed=1)
    >>> spanlab.render(trial, 32).shape
    (6, 32, 32, 3)
    """
    import numpy as np

    from ..stimuli.render.pixels import network_frame, picture

    scenes = [step.percept.for_machine.stimulus.scene() for step in trial.steps if step.percept.model_step]
    return np.stack(
        [network_frame(scene) if size_px == 32 else np.asarray(picture(scene, size_px)) for scene in scenes]
    )
