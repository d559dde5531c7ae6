"""``spanlab score-choices``. Part of the command line."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typing_extensions import Unpack

from spanlab.api import PathLike, Paths, Result, Words, as_path, paths, public, watcher, words
from spanlab.api.machines import care_given, prices_of
from spanlab.api.options import Settings, Treatment
from spanlab.core import SpanLabError, in_number

if TYPE_CHECKING:
    from .bits import ChoiceBits
    from .scoring import ChoiceScores


class ScoringOptions(Treatment, total=False):
    """How the models are asked and treated."""

    chat: Annotated[
        Settings | None,
        typer.Option(
            "--chat",
            help="setting of the models, such as likelihoods=prompt or conversation=trial; may be repeated",
            metavar="NAME=VALUE",
        ),
    ]


@public
def score_choices(
    session: Annotated[
        Paths, typer.Argument(help="folders of the sessions whose answers are scored", metavar="SESSION...")
    ],
    agent: Annotated[
        Words,
        typer.Option("--agent", help="the model: chat:MODEL or chat:MODEL@PROVIDER; may be repeated", metavar="SPEC"),
    ],
    *,
    output: Annotated[
        PathLike | None,
        typer.Option("-o", "--output", help="folder for the record; beside the session when not given", metavar="DIR"),
    ] = None,
    **options: Unpack[ScoringOptions],
) -> Result:
    """Score people's answers by chat models: bits per choice, given each person's history, against
    chance and a blind guess.

    Examples
    --------
    Only chat models say how probable an answer is:

    >>> spanlab.score_choices("data/vsr-P01-s1", "ideal")
    Traceback (most recent call last):
    ...
    spanlab.core.errors.SpanLabError: choices are scored by chat models: give agent chat:MODEL, not ideal
    """
    from spanlab.agents.chat import ChatAgent
    from spanlab.agents.registry import options_of
    from spanlab.sessions import make_machine

    from .bits import choice_bits, over_people
    from .scoring import TABLE, note_summary
    from .scoring import score_choices as score

    names, sessions = list(dict.fromkeys(words(agent))), list(dict.fromkeys(paths(session)))
    limits, prices = care_given(options), prices_of(options.get("price"), names)
    watching = watcher()
    # people remember their trials
    settings = {"conversation": "session", **(options.get("chat") or {})}

    def model(spec: str) -> ChatAgent:
        if "chat" in options_of(spec):
            taker = make_machine(spec, 1, watching.say, chat=settings, care=limits, price=prices.get(spec))
            if isinstance(taker, ChatAgent):
                return taker
        raise SpanLabError(f"choices are scored by chat models: give {{agent}} chat:MODEL, not {spec}", names=["agent"])

    if output is not None and len(names) * len(sessions) > 1:
        raise SpanLabError(
            "-o is the folder of one session and one model: leave it out, and each record is beside its session"
        )
    for spec in names:  # a slip in the last one shows before the first is asked
        model(spec).close()
    # by model and paradigm: whose answers, and what came of them
    done: dict[tuple[str, str], list[tuple[str, ChoiceBits]]] = {}
    found = Result()
    rows: list[dict[str, Any]] = []
    for spec, folder in itertools.product(names, sessions):
        scored = score(folder, model(spec), as_path(output), watching)
        bits = choice_bits(scored.folder / TABLE)
        found.lines += _lines(note_summary(scored, bits.to_record()), bits)
        rows.append({"session": str(folder), "agent": spec, **bits.to_record()})
        some = done.setdefault((spec, str(scored.info["paradigm"])), [])
        some.append((str(scored.info["participant"] or scored.info["session"]), bits))
    found.lines += [
        f"{paradigm}, {spec}: {over_people([bits for _, bits in some], [who for who, _ in some])}"
        for (spec, paradigm), some in done.items()
        if len(some) > 1
    ]
    found.tables = {"choices": rows}
    return found


def _lines(scored: ChoiceScores, bits: ChoiceBits) -> Iterator[str]:
    yield f"answers of {scored.info['participant'] or scored.info['answered_by']}, {scored.info['agent']}: {bits}"
    for why, count in scored.left_out.items():
        yield f"left out: {count:,} {in_number(count, 'answer')} ({why})"
    yield str(scored.folder)
