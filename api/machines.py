"""Sessions with machines, and sessions that go on."""

from __future__ import annotations

import functools
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typing_extensions import Doc, TypeIs, Unpack, override

from ..core.agent_kinds import PARTICIPANT, kind_named
from ..core.errors import SpanLabError
from ..core.worker_pool import open_pool
from ..sessions.result import SessionResult
from .declared import PathLike, Words, public
from .options import (
    DataOption,
    DesignOption,
    GeneratorOption,
    LevelsOption,
    Settings,
    Sharing,
    Treatment,
    TrialsOption,
    TriggersOption,
    as_lists,
    care_given,
    in_words,
    leave_out,
    parse_generator,
    parse_prices,
    result_in_words,
    watcher,
)

if TYPE_CHECKING:
    import pandas as pd
    import torch

    from ..agents.base import Agent
    from ..sessions.request import ChosenTrials
    from ..sessions.run import Prepared
    from ..sessions.session import Session as OpenSession

    Taker = str | Agent | torch.nn.Module
    Takers = Taker | Sequence[Taker]
else:
    Taker, Takers = str, Words

#: options of sessions, with the option of agents that they belong to
_OPTIONS_OF_AGENTS = {
    "chat": "chat",
    "price": "price",
    **dict.fromkeys(
        (
            "concurrency",
            "max_wait",
            "adapt",
            "max_cost",
            "max_tokens",
            "cache",
            "care",
            "fail_on_error",
            "retry_failed",
        ),
        "care",
    ),
}


@dataclass(frozen=True, repr=False)
class Taken(SessionResult):
    """A session that is over, as it is told.

    Parameters
    ----------
    others : sessions of the other agents that took the same trials
    told : what is said in place of where its record is
    """

    others: tuple[Taken, ...] = field(default=(), compare=False)
    told: tuple[str, ...] = field(default=(), compare=False)

    @functools.cached_property
    def summary(self) -> list[str]:
        """What it has come to, in sentences."""
        own = [] if self.told or self.span is not None else self._in_words()
        return [*own, *(line for other in self.others for line in other.summary)]

    def _in_words(self) -> list[str]:
        if kind_named(self.info["agent_kind"]).converses:
            from ..analysis.report.ending import session_result

            return list(session_result(self.folder))
        if self.info["agent_kind"] == PARTICIPANT.name:
            return []
        return [words for words in [result_in_words(self.folder, self.info)] if words]

    @override
    def __str__(self) -> str:
        from ..sessions.record.staircase import describe_span

        span = [describe_span(self.span)] if self.span is not None else []
        return "\n".join([*(self.told or (*span, str(self.folder))), *map(str, self.others)])

    def to_frame(self) -> pd.DataFrame:
        """One row for each scored item."""
        return self.responses

    def to_dict(self) -> dict[str, Any]:
        """Where its record is, who answered what, and what it came to."""
        accuracy = self.accuracy
        return {
            "session": str(self.folder),
            **{name: self.info[name] for name in ("agent", "paradigm", "seed")},
            "accuracy": accuracy if accuracy == accuracy else None,
            "span": self.span,
            "others": [other.to_dict() for other in self.others],
        }


class GivenInPython(Treatment, total=False):
    """What only programs give."""

    logits: Annotated[
        str | Sequence[int] | None,
        Doc(
            "of a torch module: which of its outputs are those of the paradigm's head, such as '0-8'; the first ones"
            " when not given"
        ),
    ]
    frames: Annotated[
        Mapping[str, Any] | None, Doc("of a torch module: how frames are given to it, such as {'colour': 'grey'}")
    ]
    say: Annotated[
        Callable[[str], None] | None, Doc("takes the sentences that the command prints on stderr, in their place")
    ]


class ReplayOptions(GivenInPython, Sharing, total=False):
    """How chat models are asked and treated, how large work is shared, and sets of sessions."""

    chat: Annotated[
        Settings | None,
        typer.Option(
            "--chat",
            help="setting of chat agents, such as temperature=0 or preset=published-base; may be repeated",
            metavar="NAME=VALUE",
        ),
    ]
    set_file: Annotated[
        PathLike | None,
        typer.Option(
            "--set-file", help="sessions of several models, paradigms and settings, from a YAML file", metavar="FILE"
        ),
    ]
    status: Annotated[bool, typer.Option("--status", help="with --set-file: only show the progress of its sessions")]


@public
def replay(
    paradigm: Annotated[
        str | None,
        typer.Argument(
            help="name in the library, or a YAML file; not needed with --like or --trials-from", metavar="[PARADIGM]"
        ),
    ] = None,
    agent: Annotated[
        Takers,
        typer.Option(
            "--agent",
            help=(
                "who takes the trials, such as ideal, network:laptop, chat:MODEL@PROVIDER or recorded:SESSION; may be"
                " repeated"
            ),
            metavar="SPEC",
        ),
    ] = (),
    *,
    trials: TrialsOption = None,
    seed: Annotated[
        int | Sequence[int] | None,
        typer.Option("--seed", help="seed of the session; may be repeated: one session for each", min=0),
    ] = None,
    levels: LevelsOption = None,
    like: Annotated[
        PathLike | None, typer.Option("--like", help="take exactly the trials of this session", metavar="SESSION")
    ] = None,
    trials_from: Annotated[
        PathLike | None,
        typer.Option("--trials-from", help="take the trials of this file (see spanlab import)", metavar="FILE"),
    ] = None,
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh",
            help=(
                "with --like or --trials-from: new trials with the same levels, to find out whether a model already"
                " knows the old ones (contamination)"
            ),
        ),
    ] = False,
    data: DataOption = "data",
    design: DesignOption = None,
    generator: GeneratorOption = None,
    pilot: Annotated[bool, typer.Option("--pilot", help="mark the data as pilot data")] = False,
    states: Annotated[
        bool | str,
        typer.Option("--states", help="keep the hidden states of networks, too"),
    ] = False,
    **options: Unpack[ReplayOptions],
) -> Taken:
    """Give the same trials, step by step, to one or several machines; each gets its own session.

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
    status = options.pop("status", False)
    if (set_file := options.get("set_file")) is not None:
        of_set = {"paradigm": paradigm, "agent": agent, "trials": trials, "seed": seed, "levels": levels, "like": like}
        of_set |= {"trials_from": trials_from, "fresh": fresh, "design": design}
        of_set |= {"generator": generator, "pilot": pilot, "states": states}
        leave_out({**of_set, **options, "set_file": None, "say": None}, "the set file already says this")
        from .set_files import run_set

        return cast("Taken", run_set(Path(set_file), Path(data), status))
    if status:
        raise SpanLabError("is for set files: give --set-file FILE", option="status")
    from ..agents.registry import options_of
    from ..sessions.request import choose_trials
    from ..sessions.run import make_machine, prepare, replay_sessions, spread_sessions

    takers: list[Taker] = [*agent] if isinstance(agent, list | tuple) else [cast("Taker", agent)]
    if not takers or takers[0] == "":
        raise SpanLabError(
            "who takes the trials? Give {agent} SPEC, such as {agent} ideal or {agent} network:laptop", names=["agent"]
        )
    names = [taker for taker in takers if isinstance(taker, str)]
    choose = functools.partial(
        choose_trials,
        paradigm,
        levels=as_lists(levels),
        trials=trials,
        design=design,
        generator=None if generator is None else parse_generator(generator),
        like=None if like is None else Path(like),
        trials_from=None if trials_from is None else Path(trials_from),
        fresh=fresh,
    )
    if len(names) == len(takers):
        _refuse_options(options, names)
    if names and (options.get("logits") is not None or options.get("frames") is not None):
        raise SpanLabError(_FOR_MODULES)
    watching = watcher(options.get("say"))
    values: dict[str, Any] = {"chat": options.get("chat") or {}, "care": care_given(options)}
    prices = prices_of(options.get("price"), names)
    # All of them before the first begins: a slip in the last name shows at once, and what all of
    # them will cost.
    prepared: list[Prepared] = []
    seeds: list[int | None] = [seed] if seed is None or isinstance(seed, int) else [*seed]
    for chosen, taker in product([choose(seed=one) for one in seeds], takers):
        if isinstance(taker, str):
            of_it = {name: {**values, "price": prices.get(taker)}[name] for name in options_of(taker)}
            made = make_machine(taker, chosen.seed, watching.say, chosen, typed=True, **of_it)
        else:
            made = _made_in_python(taker, chosen, options, states)
        prepared.append((chosen, made, prepare(made, chosen, chosen.request(pilot), watching.say, bool(states))))
    workers, scheduler = options.get("workers"), options.get("scheduler")
    if workers is None and scheduler is None:
        ended = list(replay_sessions(Path(data), prepared, watching, len(names) < len(takers)))
    else:
        with open_pool(workers, scheduler) as pool:
            ended = list(spread_sessions(Path(data), prepared, pool))
    over = [Taken(session.folder, span) for session, span in ended]
    return Taken(over[0].folder, over[0].span, tuple(over[1:]))


def prices_of(price: Any, names: Sequence[str]) -> dict[str, Any]:
    """What a million tokens of each agent cost; what Python gives is checked by the agent."""
    if price is None:
        return {}
    typed = isinstance(price, str) or (isinstance(price, list | tuple) and all(isinstance(one, str) for one in price))
    return parse_prices(price, names) if typed else dict.fromkeys(names, price)


def _refuse_options(options: Mapping[str, Any], agents: Sequence[str]) -> None:
    """Refuse options that none of some agents takes."""
    from ..agents.registry import kinds_with, options_of

    taken = {option for spec in agents for option in options_of(spec)}
    refused = [name for name, option in _OPTIONS_OF_AGENTS.items() if option not in taken and options.get(name)]
    if refused:
        kinds = kinds_with(_OPTIONS_OF_AGENTS[refused[0]])
        raise SpanLabError(
            f"{in_words(refused)} is for {kinds} agents, and there is none; add {{agent}} chat:MODEL, or leave it out",
            names=[*refused, "agent"],
        )


_FOR_MODULES = "logits and frames are for torch modules: leave them out"


def _made_in_python(
    agent: object, trials: ChosenTrials | OpenSession, options: Mapping[str, Any], states: bool | str = False
) -> Agent:
    """An agent that is no name: somebody's own, or a torch module.

    Raises
    ------
    SpanLabError
        when it is neither, or something was given that is not for it.
    """
    from ..agents.base import Agent

    frames, logits = options.get("frames"), options.get("logits")
    if _is_module(agent):
        from ..agents.network.modules import module_agent
        from ..sessions.run import network_views

        if not isinstance(frames, Mapping | None):
            raise SpanLabError(f'frames says how frames are given, such as {{"colour": "grey"}}; found {frames!r}')
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
    if any(options.get(name) for name in _OPTIONS_OF_AGENTS if name != "retry_failed"):
        raise SpanLabError(
            f"{taker.name} has already been made, so its chat, care and price cannot be chosen here: leave them out"
        )
    return taker


def _is_module(agent: object) -> TypeIs[torch.nn.Module]:
    """Return True for a torch module; torch is not imported for that."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(agent, torch.nn.Module)


@public
def resume(
    session: Annotated[
        PathLike,
        typer.Argument(
            help="an unfinished session, a session of a study, or a folder that contains one",
            metavar="FOLDER",
        ),
    ],
    *,
    skip: Annotated[str, typer.Option("--skip", help="studies: skip the rest of this paradigm", metavar="NAME")] = "",
    repeat: Annotated[
        str,
        typer.Option(
            "--repeat", help="studies: repeat this paradigm; its earlier data are kept, and set aside", metavar="NAME"
        ),
    ] = "",
    reason: Annotated[
        str, typer.Option("--reason", help="why it is skipped or repeated, for the record", metavar="TEXT")
    ] = "",
    triggers: TriggersOption = None,
    agent: Annotated[
        Taker | None,
        typer.Option(
            "--agent",
            help="the network of your own that began it (torch:FILE.py:build): your code runs only if you name it",
            metavar="SPEC",
        ),
    ] = None,
    screen: Annotated[
        int | None,
        typer.Option(
            "--screen",
            help="people: number of the screen on which the window opens, from 0; by default the one on which it began",
            min=0,
            max=99,
        ),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="chat agents: ask again for trials that failed")
    ] = False,
    **options: Unpack[GivenInPython],
) -> Taken:
    """Continue whatever was interrupted, with its next trial and its own settings: a session with a
    person or a machine, or a session of a study.

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
    from ..sessions import complete, reopen
    from ..sessions.record.reader import has_failed
    from ..sessions.run import agent_again, carry_out, make_machine
    from .studies import decide, resume_visit, unfinished

    folder = place = Path(session)
    if skip or repeat:
        decide(folder, skip, repeat, reason)
    elif reason:
        raise SpanLabError("goes with --skip or --repeat", option="reason")
    if not (folder / "session.json").exists():
        if (visits := unfinished(folder)) is not None:
            if not visits:
                return Taken(folder, told=(f"nothing to do: every session of the study in {folder} is over",))
            window = {"triggers": triggers or "", **({} if screen is None else {"screen": screen})}
            return Taken(folder, told=resume_visit(_only(visits, folder), window))
        folder = _only_unfinished(place)
    over = complete(folder)
    failed = over and has_failed(folder)
    if over and not (failed and retry_failed):
        of_others = f"trials of {folder} failed, and all others are finished; --retry-failed tries them again"
        _tell_rest(folder)
        said = f"nothing to do: {of_others if failed else f'every trial of {place} is finished'}"
        return Taken(folder, told=(said,))
    opened = reopen(folder)
    if triggers and "triggers" not in opened.info:
        raise SpanLabError(f"{folder} began without trigger codes: leave out --triggers, or begin a new session")
    spec, before = opened.info["agent"], opened.info.get("care")
    given: Agent | None = None
    watching = watcher(options.get("say"))
    if isinstance(agent, str) and agent != spec:
        raise SpanLabError(f"{folder} was begun by {spec}; leave out --agent, or give that")
    if isinstance(agent, str) and not agent.startswith("torch:"):
        agent = None
    if isinstance(agent, str):
        given = make_machine(agent, opened.seed, trials=opened, typed=True)
    elif agent is not None:
        given = _made_in_python(agent, opened, options)
    else:
        _refuse_options({**options, "retry_failed": retry_failed}, [spec])
    values = {"care": care_given(options, before), "price": prices_of(options.get("price"), [spec]).get(spec)}
    opened, taker = agent_again(opened, values, watching.say, triggers or "", screen, given=given)
    own = given is not None and not isinstance(agent, str)
    span = carry_out(opened, taker, watching, fresh=False, retry_failed=retry_failed, given=own)
    _tell_rest(folder)
    return Taken(folder, span)


def _only_unfinished(folder: Path) -> Path:
    """The only unfinished session in a folder that is none itself; of finished ones the first with
    failed trials, or else the first; the folder where it has no sessions.

    Raises
    ------
    SpanLabError
        where several are unfinished, with the command for each.
    """
    from ..sessions import complete
    from ..sessions.record.reader import find_sessions, has_failed

    try:
        inside = find_sessions([folder])
    except SpanLabError:
        return folder
    left = [session for session in inside if not complete(session)]
    return _only(left, folder) if left else next(filter(has_failed, inside), inside[0])


def _only(left: Sequence[Path], folder: Path) -> Path:
    """The unfinished session of a folder.

    Raises
    ------
    SpanLabError
        where there are several, with the command for each.
    """
    if len(left) > 1:
        commands = [f"spanlab resume {shlex.quote(str(one))}" for one in left]
        several = f"{folder} has several unfinished sessions; continue each with its own command:"
        raise SpanLabError("\n".join([several, *commands]))
    return left[0]


def _tell_rest(session: Path) -> None:
    """Of a session of a study: what goes on with the paradigms that are left."""
    from .studies import unfinished

    for visit in unfinished(session.resolve().parent) or []:
        again = f"spanlab resume {shlex.quote(str(visit))}"
        print(f"spanlab: it belongs to a session of a study; continue that with: {again}", file=sys.stderr)
