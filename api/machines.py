"""Sessions with machines: one by one, or a set of them from a file."""

from __future__ import annotations

import csv
import functools
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from html import escape
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typing_extensions import Doc, TypeIs, Unpack, override

from ..core.agent_kinds import PARTICIPANT, kind_named
from ..core.errors import SpanLabError
from ..core.worker_pool import open_pool
from .options import (
    DataOption,
    DesignOption,
    GeneratorOption,
    LevelsOption,
    PathLike,
    Result,
    Settings,
    Sharing,
    Treatment,
    TrialsOption,
    Words,
    as_lists,
    as_path,
    in_words,
    leave_out,
    parse_generator,
    parse_prices,
    public,
    table_lines,
    watcher,
)

if TYPE_CHECKING:
    import pandas as pd
    import torch

    from ..agents.base import Agent
    from ..sessions.evaluations.evaluation_set import SetProgress
    from ..sessions.plan import ChosenTrials
    from ..sessions.run import Prepared
    from ..sessions.session import Session as OpenSession

    Taker = str | Agent | torch.nn.Module
    Takers = Taker | Sequence[Taker]
else:
    Taker, Takers = str, Words

#: Figures of a session in a notebook: the first that its answers give is drawn.
_FIRST_FIGURES = ("serial_position", "set_size", "nback_dprime", "error_distribution")
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


@dataclass(frozen=True)
class SessionResult:
    """A session that is over, as it is told; a notebook shows its first curve.

    Parameters
    ----------
    folder : of its record
    span : what an adaptive session has come to; None for others
    others : sessions of the other agents that took the same trials
    told : what is said in place of where its record is

    Examples
    --------
    >>> result = spanlab.replay("smu", agent="ideal", trials=4)
    >>> result.accuracy
    1.0
    """

    folder: Path
    span: Mapping[str, Any] | None = field(default=None, compare=False)
    others: tuple[SessionResult, ...] = field(default=(), compare=False)
    told: tuple[str, ...] = field(default=(), compare=False)

    @functools.cached_property
    def info(self) -> Mapping[str, Any]:
        """The content of ``session.json``."""
        from ..sessions.record.reader import read_session

        return read_session(self.folder)

    @functools.cached_property
    def responses(self) -> pd.DataFrame:
        """One row for each scored item (:func:`read_responses`)."""
        return read_responses(self.folder)

    @property
    def accuracy(self) -> float:
        """The share of scored items that were right, without practice and answers for which there is nothing right,
        such as intrusions; NaN where nothing was scored."""
        rows = self.responses
        scored = ~rows["practice"].astype(bool) & rows["correct_answer"].notna()
        return float(rows.loc[scored, "correct"].astype("Float64").mean())

    @override
    def __repr__(self) -> str:
        what = "" if self.told else f": {self.info['agent']}, {self.info['paradigm']}"
        return f"SessionResult({str(self.folder)!r}{what})"

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

    def _repr_html_(self) -> str:
        """What a notebook shows: who answered what, how many answers were right, and the first curve."""
        from .analysing import figure

        if self.told:
            return f"<p>{escape(str(self))}</p>"
        real = self.responses[~self.responses["practice"].astype(bool)]
        told = f"{real['trial'].nunique():,} trials, {len(real):,} answers"
        told += f", {100 * self.accuracy:.1f} % right" if self.accuracy == self.accuracy else ""
        head = (
            f"<p><b>{escape(str(self.info['agent']))}</b>: {escape(str(self.info['paradigm_title']))} ({told})."
            f" <code>{escape(str(self.folder))}</code></p>"
        )
        for name in _FIRST_FIGURES:
            with suppress(SpanLabError):
                return head + figure(name, self.folder).drawing._repr_svg_()
        return head

    def to_frame(self) -> pd.DataFrame:
        """One row for each scored item."""
        return self.responses

    def to_dict(self) -> dict[str, Any]:
        """Where its record is, who answered what, and what it came to."""
        if self.told:  # of several sessions
            return {"session": str(self.folder), "told": [*self.told]}
        accuracy = self.accuracy
        return {
            "session": str(self.folder),
            **{name: self.info[name] for name in ("agent", "paradigm", "seed")},
            "accuracy": accuracy if accuracy == accuracy else None,
            "span": self.span,
            "others": [other.to_dict() for other in self.others],
        }


def result_in_words(folder: Path, info: Mapping[str, Any]) -> str:
    """Say how many answers of a session were right, read from its table without the packages of the
    analysis; empty where nothing was scored.

    Practice does not count, and neither do answers for which there is nothing right, such as
    ratings and intrusions.
    """
    table = folder / "responses.csv"
    if not table.exists():  # large sessions have parts
        return ""
    with table.open(encoding="utf-8", newline="") as file:
        rows = [
            row
            for row in csv.DictReader(file)
            if row["practice"] != "true" and row["correct"] and row["correct_answer"]
        ]
    if not rows:
        return ""
    right, chance = (
        sum(row["correct"] == "true" for row in rows),
        [float(row["chance"]) for row in rows if row["chance"]],
    )
    level = f"; chance {sum(chance) / len(chance):.0%}" if chance else ""
    return (
        f"{info['agent']}, {info['paradigm']}: {right:,} of {len(rows):,} answers right"
        f" ({right / len(rows):.0%}{level})"
    )


def read_responses(data: str | Path | Iterable[str | Path], columns: Sequence[str] | None = None) -> pd.DataFrame:
    """The answers of sessions, or of data folders full of sessions: one row for each scored item.

    Answers are values and not the JSON text of the files: a number, a word, a list of cells.

    Parameters
    ----------
    data : sessions, or folders that hold sessions
    columns : those to read, such as ``["correct", "set_size"]``; all when not given
        (``docs/record.md`` says what they mean)

    Raises
    ------
    SpanLabError
        when a session cannot be read.

    Examples
    --------
    >>> result = spanlab.replay("vsr", agent="ideal", trials=2)
    >>> set(result.responses["answer"].map(type))
    {<class 'int'>}
    """
    from ..sessions.record.table import COLUMNS
    from ..sessions.record.table import read_responses as read_table

    table = read_table(data, columns)
    types = {column.name: column.type for column in COLUMNS}
    for name in table.columns:
        if types.get(str(name), "json") == "json":
            table[name] = [json.loads(text) if isinstance(text, str) else None for text in table[name]]
    return table


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
) -> SessionResult:
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
        return cast("SessionResult", run_set(Path(set_file), Path(data), status))
    if status:
        raise SpanLabError("is for set files: give {set_file} FILE", option="status", names=["set_file"])
    from ..agents.registry import options_of
    from ..sessions.plan import choose_trials
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
        like=as_path(like),
        trials_from=as_path(trials_from),
        fresh=fresh,
    )
    if len(names) == len(takers):
        refuse_options(options, names)
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
            made = made_in_python(taker, chosen, options, states)
        prepared.append((chosen, made, prepare(made, chosen, chosen.request(pilot), watching.say, bool(states))))
    workers, scheduler = options.get("workers"), options.get("scheduler")
    if workers is None and scheduler is None:
        ended = list(replay_sessions(Path(data), prepared, watching, len(names) < len(takers)))
    else:
        with open_pool(workers, scheduler) as pool:
            ended = list(spread_sessions(Path(data), prepared, pool))
    over = [SessionResult(session.folder, span) for session, span in ended]
    return SessionResult(over[0].folder, over[0].span, tuple(over[1:]))


def prices_of(price: Any, names: Sequence[str]) -> dict[str, Any]:
    """What a million tokens of each agent cost; what Python gives is checked by the agent."""
    if price is None:
        return {}
    typed = isinstance(price, str) or (isinstance(price, list | tuple) and all(isinstance(one, str) for one in price))
    return parse_prices(price, names) if typed else dict.fromkeys(names, price)


#: Options that are fields of ``RequestLimits``, and how these are called.
_LIMITS = {
    "concurrency": "concurrency",
    "max_cost": "max_cost",
    "max_wait": "max_wait_s",
    "adapt": "adapt",
    "max_tokens": "max_tokens_in_all",
    "cache": "cache",
    "fail_on_error": "fail_on_error",
}


def care_given(options: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The limits for requests to chat servers from the options, as fields of ``RequestLimits``.

    Parameters
    ----------
    before : what held before, in a session that goes on

    Raises
    ------
    SpanLabError
        naming everything that is unknown, out of bounds or said twice.
    """
    chosen = {field: options[name] for name, field in _LIMITS.items() if options.get(name) is not None}
    pairs = options.get("care") or {}
    twice = [name for name in pairs if name in chosen]
    if twice:
        raise SpanLabError(f"repeats {' and '.join(twice)}: give each once", option="care")
    values = {**chosen, **pairs}
    if not values:
        return dict(before or {})
    from ..agents.chat.transport.request_limits import RequestLimits

    RequestLimits.read(values, {field: name for name, field in _LIMITS.items() if name in options})
    return {**(before or {}), **values}


def refuse_options(options: Mapping[str, Any], agents: Sequence[str]) -> None:
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


def made_in_python(
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


def run_set(file: Path, data: Path, status: bool) -> Result:
    """Run a set, or show its progress.

    Raises
    ------
    SpanLabError
        when something is wrong with the file.
    """
    from ..agents.chat.cost.totals import money, short
    from ..sessions.evaluations.evaluation_set import EvaluationSet

    evaluation_set = EvaluationSet(file, data)
    watching = watcher()
    if status:
        progress: Sequence[SetProgress] = evaluation_set.progress()
    else:
        check = evaluation_set.check(watching)
        if check["sessions"]:
            cost = f"; cost about {money(check['cost'])}" if check["cost"] else ""
            requests = f": about {check['requests']:,.0f} requests and {short(round(check['tokens']))} tokens{cost}"
            watching.say(
                f"{file.name}: {check['sessions']:,.0f} of {len(evaluation_set.entries):,} sessions to begin"
                f"{requests if check['requests'] else ''}"
            )
        progress = evaluation_set.run(watching)
    rows = [_row(session) for session in progress]
    shown = [
        {
            **row,
            "trials": f"{row['trials']:,} of {row['planned']:,}" if row["planned"] else "",
            "tokens": short(row["tokens"]) if row["tokens"] else "",
            "cost": "" if row["cost"] is None else money(row["cost"]),
            "failed": row["failed"] or "",
            "repeat": "" if row["repeat"] == 1 else row["repeat"],
        }
        for row in rows
    ]
    header = (
        "agent",
        "paradigm",
        "settings",
        "wording",
        "repeat",
        "state",
        "trials",
        "failed",
        "tokens",
        "cost",
        "why",
    )
    lines = list(table_lines(header, [[str(row[name]) for name in header] for row in shown], width=140))
    states = [session.state for session in progress]
    counts = {state: states.count(state) for state in ("done", "stopped", "begun", "waiting")}
    lines.append(", ".join(f"{count:,} {state}" for state, count in counts.items() if count) + _taken(progress))
    if removed := evaluation_set.removed():
        names = ", ".join(session.folder.name for session in removed if session.folder is not None)
        lines.append(f"no longer in the file, but part of the budget: {names}{_taken(removed)}")
    found = Result(lines, {"sessions": rows})
    left = len(states) - counts["done"]
    if left and not status:
        found.wrong = [
            f"{left:,} of {len(states):,} sessions are not done; what is finished is saved; run the same command to"
            " continue"
        ]
    return found


def _row(session: SetProgress) -> dict[str, Any]:
    """A session of a set, for programs."""
    entry = ("agent", "paradigm", "settings", "wording", "repeat")
    progress = ("state", "trials", "planned", "failed", "tokens", "cost", "why")
    return {
        **{name: getattr(session.entry, name) for name in entry},
        **{name: getattr(session, name) for name in progress},
        "session": session.folder,
    }


def _taken(progress: Sequence[SetProgress]) -> str:
    """Describe the total cost of some sessions."""
    from ..agents.chat.cost.totals import money, short

    tokens, cost = sum(session.tokens for session in progress), sum(session.cost or 0.0 for session in progress)
    return (f"; {short(tokens)} tokens" if tokens else "") + (f"; cost {money(cost)}" if cost else "")
