"""``spanlab replay`` and ``spanlab resume``: sessions with machines, and sessions that go on. Part of
the command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from ..core.errors import SpanLabError
from ..core.worker_pool import open_pool
from .options import (
    CacheOption,
    CareOption,
    ConcurrencyOption,
    DataOption,
    DesignOption,
    FailOnErrorOption,
    GeneratorOption,
    MaxCostOption,
    MaxTokensOption,
    PairedOption,
    PriceOption,
    SchedulerOption,
    SetOption,
    TrialsOption,
    TriggersOption,
    WorkersOption,
    care_given,
    parse_generator,
    parse_levels,
    parse_pairs,
    parse_prices,
    print_session,
    terminal,
)
from .people import DATA, given
from .studies import WayOn, decide, lines_to_go_on, recorded_by, run_study, ways_on

#: parameters of the commands, with the option of agents that they belong to
_OPTIONS_OF_AGENTS = {
    "chat": "chat",
    "price": "price",
    **dict.fromkeys(
        (
            "concurrency",
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


def replay(
    context: typer.Context,
    paradigm: Annotated[
        str | None,
        typer.Argument(
            help="name in the library, or a YAML file; not needed with --like or --trials-from", metavar="[PARADIGM]"
        ),
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(
            "--agent",
            help=(
                "who takes the trials, such as ideal, network:laptop, chat:MODEL@PROVIDER or recorded:SESSION; may be"
                " repeated"
            ),
            metavar="SPEC",
        ),
    ] = None,
    trials: TrialsOption = None,
    seed: Annotated[
        list[int] | None,
        typer.Option("--seed", help="seed of the session; may be repeated: one session for each", min=0),
    ] = None,
    set_: SetOption = None,
    like: Annotated[
        Path | None, typer.Option("--like", help="take exactly the trials of this session", metavar="SESSION")
    ] = None,
    trials_from: Annotated[
        Path | None,
        typer.Option("--trials-from", help="take the trials of this file (see spanlab import)", metavar="FILE"),
    ] = None,
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh",
            help=(
                "with --like or --trials-from: new trials with the same levels, to find out whether a model knows those"
                " (contamination)"
            ),
        ),
    ] = False,
    paired_with: PairedOption = None,
    data: DataOption = DATA,
    design: DesignOption = None,
    generator: GeneratorOption = "corrected",
    chat: Annotated[
        list[str] | None,
        typer.Option(
            "--chat",
            help="setting of chat agents, such as temperature=0 or preset=published-base; may be repeated",
            metavar="NAME=VALUE",
        ),
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
    set_file: Annotated[
        Path | None,
        typer.Option(
            "--set-file", help="sessions of several models, paradigms and settings, from a YAML file", metavar="FILE"
        ),
    ] = None,
    status: Annotated[
        bool, typer.Option("--status", help="with --set-file: only show the progress of its sessions")
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option("--report", help="with --set-file: write a report of its finished sessions", metavar="DIR"),
    ] = None,
) -> None:
    """Give the same trials, step by step, to one or several machines; each gets its own session."""
    if set_file is not None:
        from .set_files import run_set

        if others := [
            name
            for name in context.params
            if name not in ("set_file", "status", "report", "data") and given(context, name)
        ]:
            spelt = " and ".join(
                "PARADIGM" if name == "paradigm" else "--" + name.strip("_").replace("_", "-") for name in others
            )
            raise SpanLabError(f"the set file already says this: leave out {spelt}")
        run_set(set_file, data, status, report)
        return
    if status or report is not None:
        raise SpanLabError(
            f"{'--status' if status else '--report'} is for set files: give --set-file FILE (spanlab compare writes the"
            " report of any data)"
        )
    from ..agents.registry import options_of
    from ..sessions.request import choose_trials
    from ..sessions.run import make_machine, prepare, replay_sessions, spread_sessions

    if not agent:
        raise SpanLabError("who takes the trials? Give --agent SPEC, such as --agent ideal or --agent network:laptop")
    _refuse_options(context, agent)
    choose = partial(
        choose_trials,
        paradigm,
        levels=parse_levels(set_),
        trials=trials,
        design=design,
        generator=parse_generator(generator) if given(context, "generator") else None,
        like=like,
        trials_from=trials_from,
        paired_with=paired_with,
        fresh=fresh,
    )
    limits = care_given(concurrency, max_cost, max_tokens, cache, fail_on_error, care)
    settings, prices = parse_pairs(chat, "--chat"), parse_prices(price, agent)
    watcher = terminal()
    # All of them before the first begins: a slip in the last name shows at once, and what all of
    # them will cost.
    prepared = []
    for chosen, spec in product([choose(seed=one) for one in seed or [None]], agent):
        values = {"chat": settings, "care": limits, "price": prices.get(spec)}
        options = {name: values[name] for name in options_of(spec)}
        taker = make_machine(spec, chosen.seed, trials=chosen, typed=True, **options)
        prepared.append((chosen, taker, prepare(taker, chosen, chosen.request(pilot), watcher.say, states)))
    if workers is None and scheduler is None:
        for session, span in replay_sessions(data, prepared, watcher):
            print_session(session, span)
        return
    with open_pool(workers, scheduler) as pool:
        for session, span in spread_sessions(data, prepared, pool):
            print_session(session, span)


def _refuse_options(context: typer.Context, agents: Sequence[str]) -> None:
    """Refuse options that none of some agents takes."""
    from ..agents.registry import kinds_with, options_of

    taken = {option for spec in agents for option in options_of(spec)}
    refused = [
        name
        for name, option in _OPTIONS_OF_AGENTS.items()
        if option not in taken and context.params.get(name) not in (None, [], (), False)
    ]
    if refused:
        spelt, kinds = (
            " and ".join("--" + name.strip("_").replace("_", "-") for name in refused),
            kinds_with(_OPTIONS_OF_AGENTS[refused[0]]),
        )
        raise SpanLabError(f"{spelt} is for {kinds} agents, and there is none; add --agent chat:MODEL, or leave it out")


def resume(
    context: typer.Context,
    session: Annotated[
        Path,
        typer.Argument(
            help="folder of an unfinished session, of a session of a study, or with one of these; or a study file",
            metavar="FOLDER",
        ),
    ],
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
        str | None,
        typer.Option(
            "--agent",
            help="the torch:FILE.py:build that began it: your code runs only where you name it",
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
    concurrency: ConcurrencyOption = None,
    max_cost: MaxCostOption = None,
    max_tokens: MaxTokensOption = None,
    price: PriceOption = None,
    cache: CacheOption = None,
    fail_on_error: FailOnErrorOption = None,
    care: CareOption = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="chat agents: ask again for trials that failed")
    ] = False,
) -> None:
    """Continue whatever was interrupted, with its next trial and its own settings: a session with a
    person or a machine, or a session of a study."""
    from ..sessions import complete, reopen
    from ..sessions.record.reader import has_failed
    from ..sessions.run import agent_again, carry_out, make_machine

    session = folder = recorded_by(session)
    if skip or repeat:
        decide(session, skip, repeat, reason)
    elif reason:
        raise SpanLabError("--reason goes with --skip or --repeat")
    if not (session / "session.json").exists():
        ways = ways_on(session)
        if ways is not None:
            _resume_study(session, ways, {"triggers": triggers or "", **({} if screen is None else {"screen": screen})})
            return
        session = _only_unfinished(folder)
    over = complete(session)
    failed = over and has_failed(session)
    if over and not (failed and retry_failed):
        of_others = f"trials of {session} failed, and all others are finished; --retry-failed tries them again"
        print(f"nothing to do: {of_others if failed else f'every trial of {folder} is finished'}")
        _tell_rest(session)
        return
    opened = reopen(session)
    if triggers and "triggers" not in opened.info:
        raise SpanLabError(f"{session} began without trigger codes: leave out --triggers, or begin a new session")
    spec, before = opened.info["agent"], opened.info.get("care")
    _refuse_options(context, [spec])
    limits = care_given(concurrency, max_cost, max_tokens, cache, fail_on_error, care, before)
    watcher = terminal()
    if agent is not None and agent != spec:
        raise SpanLabError(f"{session} was begun by {spec}; leave out --agent, or give that")
    typed = make_machine(agent, opened.seed, trials=opened, typed=True) if agent is not None else None
    prices = parse_prices(price, [spec]).get(spec)
    opened, taker = agent_again(
        opened, {"care": limits, "price": prices}, watcher.say, triggers or "", screen, given=typed
    )
    print_session(opened, carry_out(opened, taker, watcher, fresh=False, retry_failed=retry_failed))
    _tell_rest(session)


def _resume_study(folder: Path, ways: Sequence[WayOn], window: dict[str, Any]) -> None:
    """Go on with the only unfinished session of a study in a folder.

    Raises
    ------
    SpanLabError
        where there are several, or where it needs more than this command; the message has what goes
        on with each.
    """
    if not ways:
        print(f"nothing to do: every session of the study in {folder} is over")
    elif len(ways) == 1 and ways[0].study:
        run_study(ways[0].study, ways[0].data, ways[0].options, 1.0, window, as_before=True)
    else:
        raise SpanLabError(
            "\n".join(
                [
                    f"{folder} is a folder of a study; continue each session with its own command:",
                    *(way.line for way in ways),
                ]
            )
        )


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
    if len(left) > 1:
        raise SpanLabError(
            "\n".join(
                [
                    f"{folder} has several unfinished sessions; continue each with its own command:",
                    *(f"spanlab resume {one}" for one in left),
                ]
            )
        )
    return left[0] if left else next(filter(has_failed, inside), inside[0])


def _tell_rest(session: Path) -> None:
    """Of a session of a study: what goes on with the paradigms that are left."""
    for line in lines_to_go_on(session.resolve().parent) or []:
        print(f"spanlab: it belongs to a session of a study; continue that with: {line}", file=sys.stderr)
