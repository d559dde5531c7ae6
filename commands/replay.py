"""``spanlab replay`` and ``spanlab resume``: sessions with machines, and sessions that go on. Part of the command line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..arguments import (
    DataOption,
    DesignOption,
    GeneratorOption,
    SchedulerOption,
    SeedOption,
    SetOption,
    TrialsOption,
    TriggersOption,
    WorkersOption,
    parse_generator,
    parse_pairs,
    parse_prices,
)
from ..cluster import crew
from ..core.agent_kinds import CHAT, SIMULATED, kind_named
from ..errors import SpanLabError
from .chatting import (
    CacheOption,
    CareOption,
    ConcurrencyOption,
    FailOnErrorOption,
    MaxCostOption,
    MaxTokensOption,
    PriceOption,
    care_given,
    estimated,
    noted,
    take_up,
)
from .pairing import PairedOption, PairedTrials, paired_trials
from .run import DATA, given
from .running import begin_session, machine, person, plan_trials, run_session, window_again

if TYPE_CHECKING:
    from ..agents.protocol import Agent
    from ..paradigms import Paradigm, PlannedTrial
    from ..sessions import Request, Session

_FOR_CHAT = {"chat", "concurrency", "max_cost", "max_tokens", "price", "cache", "care", "fail_on_error", "retry_failed"}


def replay(
    context: typer.Context,
    paradigm: Annotated[
        str | None, typer.Argument(help="name in the library, or a YAML file; not needed with --like or --trials-from", metavar="[PARADIGM]")
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(
            "--agent", help="who takes the trials, such as ideal, network:laptop, chat:MODEL@PROVIDER or recorded:SESSION; may be repeated", metavar="SPEC"
        ),
    ] = None,
    trials: TrialsOption = None,
    seed: SeedOption = 1,
    set_: SetOption = None,
    like: Annotated[Path | None, typer.Option("--like", help="exactly the trials of this session", metavar="SESSION")] = None,
    trials_from: Annotated[Path | None, typer.Option("--trials-from", help="the trials of this file (see spanlab import)", metavar="FILE")] = None,
    paired_with: PairedOption = None,
    data: DataOption = DATA,
    design: DesignOption = None,
    generator: GeneratorOption = "corrected",
    chat: Annotated[
        list[str] | None,
        typer.Option("--chat", help="setting of chat agents, such as temperature=0 or preset=published-base; may be repeated", metavar="NAME=VALUE"),
    ] = None,
    concurrency: ConcurrencyOption = None,
    max_cost: MaxCostOption = None,
    max_tokens: MaxTokensOption = None,
    price: PriceOption = None,
    cache: CacheOption = None,
    fail_on_error: FailOnErrorOption = None,
    care: CareOption = None,
    pilot: Annotated[bool, typer.Option("--pilot", help="mark the data as pilot data")] = False,
    states: Annotated[bool, typer.Option("--states", help="keep the hidden states of networks, too")] = False,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
) -> None:
    """A session with a machine, or one with each of several: the same trials, step by step."""
    from ..paradigms import load_paradigm
    from ..sessions import Request

    if not agent:
        raise SpanLabError("who takes the trials? Give --agent SPEC, such as --agent ideal or --agent network:laptop")
    if not any(spec.startswith("chat:") for spec in agent):
        _refuse_chat(context)
    if paired_with is not None and (like is not None or trials_from is not None):
        raise SpanLabError("--paired-with makes trials of its own: leave out --like and --trials-from")
    if like is not None:
        if set_ or trials is not None or design is not None or trials_from is not None:
            raise SpanLabError("--like takes exactly the trials of that session: leave out --set, --trials, --trials-from and --design")
        loaded, plan, request = _like(like, paradigm, pilot)
    elif trials_from is not None:
        if set_ or design is not None:
            raise SpanLabError(
                "--trials-from takes the trials of that file as they are: leave out --set and --design (and choose some at random with --trials)"
            )
        loaded, plan, request = _from_file(trials_from, paradigm, seed, trials, generator, pilot)
    elif paradigm is None:
        raise SpanLabError("which paradigm? Name one (see spanlab list), or give --like SESSION or --trials-from FILE")
    elif paired_with is not None:
        typed = {"seed": seed if given(context, "seed") else None, "generator": generator if given(context, "generator") else None}
        loaded, plan, request = _paired(paired_trials(paradigm, paired_with, set_=set_, trials=trials, design=design, **typed), paradigm, pilot)
    else:
        loaded = load_paradigm(paradigm)
        plan = plan_trials(loaded, seed, set_, trials, design, generator)
        request = Request(seed=seed, generator=parse_generator(generator), design=design or "human", pilot=pilot, source=paradigm)
    treated = care_given(concurrency, max_cost, max_tokens, cache, fail_on_error, care)
    settings, prices = parse_pairs(chat, "--chat"), parse_prices(price, agent)
    # All of them before the first begins: a slip in the last name shows at once, and what all of them will cost.
    takers = [machine(spec, request.seed, settings, treated, prices.get(spec)) for spec in agent]
    shared_out = "--workers" if workers is not None else "--scheduler" if scheduler is not None else ""
    requests = [_asked_of(taker, loaded, plan, request, shared_out, states) for taker in takers]
    with crew(workers, scheduler) as found:
        for taker, asked in zip(takers, requests, strict=True):
            run_session(begin_session(data, loaded, taker, plan, asked), taker, found)


def _refuse_chat(context: typer.Context) -> None:
    """Options for chat agents, where there is none."""
    given = [name for name in context.params if name in _FOR_CHAT and context.params[name] not in (None, [], (), False)]
    if given:
        spelt = " and ".join("--" + name.replace("_", "-") for name in given)
        raise SpanLabError(f"{spelt} sets something for chat agents, and there is none; add --agent chat:MODEL, or leave it out")


def _asked_of(taker: Agent, paradigm: Paradigm, plan: list[PlannedTrial], request: Request, shared_out: str, states: bool) -> Request:
    """What is asked of one of several: that it can take the trials, and what its record is to say beside."""
    from ..sessions.parts import parts_for
    from ..sessions.session import try_out

    try_out(paradigm, taker, plan, request)
    large = parts_for(taker, paradigm, plan, request.generator, shared_out, states)
    return replace(request, extra={**request.extra, **noted(taker), **estimated(taker, paradigm, plan, request), **large})


def _like(session: Path, paradigm: str | None, pilot: bool) -> tuple[Paradigm, list[PlannedTrial], Request]:
    from ..sessions import Request, same_trials

    other = same_trials(session)
    info = other.info
    if paradigm is not None and paradigm != info["paradigm_source"] and paradigm != other.paradigm.name:
        raise SpanLabError(f"{session} is a session of {other.paradigm.name}, not of {paradigm}")
    extra = {key: info[key] for key in ("trials_from", "paired_with") if key in info}
    request = Request(
        seed=other.seed, generator=info["generator"], design=info["design"], pilot=pilot, like=other.name, source=info["paradigm_source"], extra=extra
    )
    return other.paradigm, list(other.plan), request


def _paired(found: PairedTrials, paradigm: str, pilot: bool) -> tuple[Paradigm, list[PlannedTrial], Request]:
    from ..sessions import Request

    request = Request(seed=found.seed, generator=found.generator, design=found.design, pilot=pilot, source=paradigm, extra=found.extra)
    return found.paradigm, found.plan, request


def _from_file(file: Path, paradigm: str | None, seed: int, trials: int | None, generator: str, pilot: bool) -> tuple[Paradigm, list[PlannedTrial], Request]:
    from ..paradigms.trials_file import TrialsFile, plan_given
    from ..sessions import Request

    opened = TrialsFile(file, paradigm)
    header = opened.header
    if generator not in ("corrected", header.generator):
        raise SpanLabError(f"the trials of {file} come from the {header.generator} generator: leave out --generator")
    request = Request(
        seed=seed,
        generator=header.generator,
        pilot=pilot,
        source=paradigm or header.paradigm,
        extra={"trials_from": {"file": file.name, "sha256": opened.sha256(), "source": header.source}},
    )
    return opened.paradigm, plan_given(opened, seed, trials), request


def resume(
    context: typer.Context,
    session: Annotated[Path, typer.Argument(help="folder of an unfinished session", metavar="SESSION")],
    triggers: TriggersOption = None,
    concurrency: ConcurrencyOption = None,
    max_cost: MaxCostOption = None,
    max_tokens: MaxTokensOption = None,
    price: PriceOption = None,
    cache: CacheOption = None,
    fail_on_error: FailOnErrorOption = None,
    care: CareOption = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="chat agents: ask again for the trials that could not be had")] = False,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
) -> None:
    """Go on with a session that was interrupted, at the next trial, with its own settings."""
    from ..sessions import complete, reopen
    from ..sessions.record import has_failed

    again = retry_failed and has_failed(session)
    if complete(session) and not again:
        print(f"nothing to do: every trial of {session} is finished")
        return
    opened = reopen(session)
    kind, settings = kind_named(opened.info["agent_kind"]), opened.info["agent_settings"]
    if triggers and "triggers" not in opened.info:
        raise SpanLabError(f"{session} began without trigger codes: leave out --triggers, or begin a new session")
    if kind is not CHAT:
        _refuse_chat(context)
    if kind.at_window:
        port = triggers or opened.info.get("triggers", {}).get("port", "")
        window = {**window_again(settings), "triggers": port}
        observer = opened.info["agent"].partition(":")[2] if kind is SIMULATED else None
        agent = person(observer, settings.get("seed", opened.seed), settings.get("speed", 1.0), window)
    elif kind is CHAT:
        opened, agent = _chat_again(opened, care_given(concurrency, max_cost, max_tokens, cache, fail_on_error, care, opened.info.get("care")), price)
    else:
        agent = machine(opened.info["agent"], opened.seed)
    if (workers is not None or scheduler is not None) and "parts" not in opened.info:
        raise SpanLabError(f"{session} is no large session, so it cannot be shared out: leave out --workers and --scheduler")
    with crew(workers, scheduler) as found:
        run_session(opened, agent, found, fresh=False, retry_failed=retry_failed)


def _chat_again(session: Session, care: dict[str, object], price: list[str] | None) -> tuple[Session, Agent]:
    """A chat agent as it was, but treated anew; and its session, whose record says so."""
    from ..agents.chat.settings import ChatSettings
    from ..agents.chat.totals import Prices
    from ..sessions.disk import only_writer
    from ..sessions.session import write_info

    info = session.info
    spec = info["agent"]
    settings = ChatSettings.recorded({name: value for name, value in info["agent_settings"].items() if name not in ("model", "endpoint", "provider")})
    before = Prices.model_validate(info["prices"]) if "prices" in info else None
    agent = machine(spec, session.seed, settings, care, parse_prices(price, [spec]).get(spec, before))
    now = {**info, **noted(agent)}
    if now != info:
        with only_writer(session.folder):
            write_info(session.folder, now)
        session = replace(session, info=now)
    take_up(agent, session)
    return session, agent
