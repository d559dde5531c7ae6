"""``spanlab score-choices``: the probability that a chat model gives to a person's answers. Part of the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...core.agent_kinds import CHAT
from ...core.errors import SpanLabError
from ..chatting import CacheOption, CareOption, ConcurrencyOption, MaxCostOption, MaxTokensOption, PriceOption, care_given
from ..options import parse_pairs, parse_prices
from ..running import terminal


def score_choices(
    session: Annotated[Path, typer.Argument(help="folder of the session whose answers are scored", metavar="SESSION")],
    agent: Annotated[str, typer.Option("--agent", help="the model: chat:MODEL or chat:MODEL@PROVIDER", metavar="SPEC")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="folder for the record; beside the session when not given", metavar="DIR")] = None,
    chat: Annotated[
        list[str] | None,
        typer.Option("--chat", help="setting of the model, such as likelihoods=prompt or conversation=trial; may be repeated", metavar="NAME=VALUE"),
    ] = None,
    concurrency: ConcurrencyOption = None,
    max_cost: MaxCostOption = None,
    max_tokens: MaxTokensOption = None,
    price: PriceOption = None,
    cache: CacheOption = None,
    care: CareOption = None,
) -> None:
    """Score a person's answers by a chat model: bits per choice, given that person's history, against chance and a blind guess."""
    from ...agents.chat.agent import ChatAgent
    from ...analysis.model_vs_human.choice_bits import choice_bits
    from ...sessions.conduct import make_machine
    from ...sessions.evaluations.choices import TABLE, note_summary
    from ...sessions.evaluations.choices import score_choices as score

    treated, prices = care_given(concurrency, max_cost, max_tokens, cache, None, care), parse_prices(price, [agent])
    watcher = terminal()
    # people remember their trials
    settings = {"conversation": "session", **parse_pairs(chat, "--chat")}
    taker = make_machine(agent, 1, settings, treated, prices.get(agent), watcher.say) if agent.partition(":")[0] == CHAT.name else None
    if not isinstance(taker, ChatAgent):
        raise SpanLabError(f"choices are scored by chat models: give --agent chat:MODEL, not {agent}")
    scored = score(session, taker, output, watcher)
    bits = choice_bits(scored.folder / TABLE)
    scored = note_summary(scored, bits.to_record())
    print(f"answers of {scored.info['participant'] or scored.info['answered_by']}, {scored.info['agent']}: {bits}")
    for why, count in scored.left_out.items():
        print(f"left out: {count:,} {'answer' if count == 1 else 'answers'} ({why})")
    print(scored.folder)
