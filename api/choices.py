"""``spanlab score-choices``: the probability that chat models give to people's answers. Part of the
command line."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..core.errors import SpanLabError
from .options import (
    CacheOption,
    CareOption,
    ConcurrencyOption,
    MaxCostOption,
    MaxTokensOption,
    PriceOption,
    care_given,
    parse_pairs,
    parse_prices,
    terminal,
)

if TYPE_CHECKING:
    from ..analysis.model_vs_human.choice_bits import ChoiceBits
    from ..sessions.evaluations.choices import ChoiceScores


def score_choices(
    session: Annotated[
        list[Path], typer.Argument(help="folders of the sessions whose answers are scored", metavar="SESSION...")
    ],
    agent: Annotated[
        list[str],
        typer.Option("--agent", help="the model: chat:MODEL or chat:MODEL@PROVIDER; may be repeated", metavar="SPEC"),
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="folder for the record; beside the session when not given", metavar="DIR"),
    ] = None,
    chat: Annotated[
        list[str] | None,
        typer.Option(
            "--chat",
            help="setting of the models, such as likelihoods=prompt or conversation=trial; may be repeated",
            metavar="NAME=VALUE",
        ),
    ] = None,
    concurrency: ConcurrencyOption = None,
    max_cost: MaxCostOption = None,
    max_tokens: MaxTokensOption = None,
    price: PriceOption = None,
    cache: CacheOption = None,
    care: CareOption = None,
) -> None:
    """Score people's answers by chat models: bits per choice, given each person's history, against
    chance and a blind guess."""
    from ..agents.chat.agent import ChatAgent
    from ..agents.registry import options_of
    from ..analysis.model_vs_human.choice_bits import choice_bits, over_people
    from ..sessions.evaluations.choices import TABLE, note_summary
    from ..sessions.evaluations.choices import score_choices as score
    from ..sessions.run import make_machine

    limits, prices = care_given(concurrency, max_cost, max_tokens, cache, None, care), parse_prices(price, agent)
    watcher = terminal()
    # people remember their trials
    settings = {"conversation": "session", **parse_pairs(chat, "--chat")}

    def model(spec: str) -> ChatAgent:
        taker = (
            make_machine(spec, 1, watcher.say, chat=settings, care=limits, price=prices.get(spec))
            if "chat" in options_of(spec)
            else None
        )
        if not isinstance(taker, ChatAgent):
            raise SpanLabError(f"choices are scored by chat models: give --agent chat:MODEL, not {spec}")
        return taker

    pairs = list(itertools.product(dict.fromkeys(agent), dict.fromkeys(session)))
    if output is not None and len(pairs) > 1:
        raise SpanLabError(
            "-o is the folder of one session and one model: leave it out, and each record is beside its session"
        )
    for spec in dict.fromkeys(agent):  # a slip in the last one shows before the first is asked
        model(spec).close()
    # by model and paradigm: whose answers, and what came of them
    done: dict[tuple[str, str], list[tuple[str, ChoiceBits]]] = {}
    failed = 0
    for spec, folder in pairs:
        try:
            scored = score(folder, model(spec), output, watcher)
            bits = choice_bits(scored.folder / TABLE)
        except SpanLabError as error:
            if len(pairs) == 1 or str(error).startswith("interrupted"):
                raise
            failed += 1
            watcher.say(f"{folder}, {spec}: {error}")
            continue
        _print(note_summary(scored, bits.to_record()), bits)
        done.setdefault((spec, str(scored.info["paradigm"])), []).append(
            (str(scored.info["participant"] or scored.info["session"]), bits)
        )
    for (spec, paradigm), some in done.items():
        if len(some) > 1:
            print(f"{paradigm}, {spec}: {over_people([bits for _, bits in some], [person for person, _ in some])}")
    if failed:
        raise SpanLabError(
            f"{failed:,} of {len(pairs):,} could not be scored; what is finished is saved; run the same command to"
            " continue"
        )


def _print(scored: ChoiceScores, bits: ChoiceBits) -> None:
    print(f"answers of {scored.info['participant'] or scored.info['answered_by']}, {scored.info['agent']}: {bits}")
    for why, count in scored.left_out.items():
        print(f"left out: {count:,} {'answer' if count == 1 else 'answers'} ({why})")
    print(scored.folder)
