"""``spanlab benchmark``: an agent takes a suite, and a card shows how it compares. Part of the
command line."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spanlab.api import PathLike, Result, Words, as_path, public, table_lines, watcher, words
from spanlab.api.options import tabled
from spanlab.core import SpanLabError, as_object, make_folder, write_json
from spanlab.paradigms.language import read

if TYPE_CHECKING:
    from .suite import Suite

#: differences that are listed
_MOST = 12


def problems_of(card: Mapping[str, Any], suite: Suite, data: str, people: Path | None = None) -> list[str]:
    """Find what a card says otherwise than its record; empty where nothing is.

    Raises
    ------
    SpanLabError
        when there is nothing to compute it from.
    """
    from .card import card_of, differences, published_cards, sessions_of

    if card["suite"] != {"name": suite.suite, "version": suite.version, "sha256": suite.sha256}:
        of = card["suite"]
        return [
            f"the card is of suite {of['name']} {of['version']} ({of['sha256'][:12]}), and this one is {suite.called}"
            f" ({suite.sha256[:12]}); give it as --suite"
        ]
    if data == "published":
        again = next((one for one in published_cards(suite) if one["agent"]["name"] == card["agent"]["name"]), None)
        if again is None:
            raise SpanLabError(f"there are no published answers of {card['agent']['name']}")
        return _cut([*differences(dict(card), again)])
    if card["people"] is not None and people is None:
        raise SpanLabError(
            f"the card compares with people of its own ({card['people']['name']}): give their data with --people"
        )
    again = card_of(suite, Path(data), people, card["not_taken"], bool(card.get("accept_unread")))
    record = [
        problem
        for folder, _ in sessions_of(suite, Path(data))
        for problem in (*agent_problems(folder), *table_problems(folder))
    ]
    return _cut([*record, *differences({**card, "spanlab": ""}, {**again, "spanlab": ""})])


def agent_problems(folder: Path) -> Iterator[str]:
    """Find where the agent and the settings of a session are not those of their hash."""
    from spanlab.paradigms import digest
    from spanlab.sessions.record import read_session

    info = read_session(folder)
    kind, name = info["agent_kind"], info["agent"]
    if digest([kind, name, info["agent_settings"]]) != info["agent_settings_hash"]:
        yield f"{folder.name}: its agent_settings_hash is not that of {name} with the settings that it names"


def table_problems(folder: Path) -> Iterator[str]:
    """Find where the tables of a session say otherwise than its events."""
    from spanlab.sessions.record import read_events, read_session, read_table, response_rows

    if not (folder / "events.jsonl").exists():
        return
    events, stored = response_rows(read_session(folder), read_events(folder)), read_table(folder)
    yield from _first_difference(f"{folder.name}: its table", events, stored.to_pylist(), stored.column_names)
    if (copy := folder / "responses.csv").exists():
        with copy.open(encoding="utf-8", newline="") as lines:
            reader = csv.DictReader(lines)
            rows, names = list(reader), list(reader.fieldnames or ())
        yield from _first_difference(f"{folder.name}: its {copy.name}", events, rows, names)


def _first_difference(
    table: str, events: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]], names: Sequence[str]
) -> Iterator[str]:
    """Find the first cell of a table that its events give otherwise; older tables lack columns."""
    if len(events) != len(rows):
        yield f"{table} has {len(rows)} rows, and its events give {len(events)}"
        return
    for number, (given, kept) in enumerate(zip(events, rows, strict=True), 1):
        for name in names:
            if not _same(given.get(name), kept[name]):
                yield f"{table} has in row {number} {name} {kept[name]!r}, and its events say {given.get(name)!r}"
                return


def _same(given: Any, kept: Any) -> bool:
    """Return whether a cell is what events give: as it is, as JSON, or as a CSV file has it, all of
    whose cells are texts."""
    if given == kept or (given != given and kept != kept):
        return True
    if not isinstance(kept, str):
        return False
    if given is None:
        return kept == ""
    if isinstance(given, int | float) and not isinstance(given, bool):
        with suppress(ValueError):
            return float(kept) == given
    return kept == json.dumps(given)


def _cut(problems: list[str]) -> list[str]:
    return problems if len(problems) <= _MOST else [*problems[:_MOST], f"and {len(problems) - _MOST} more"]


@public
def benchmark(
    targets: Annotated[
        Words,
        typer.Argument(
            help=(
                "an agent, such as network:laptop or chat:MODEL, or a server's address; with --compare and --verify:"
                " cards"
            ),
            metavar="AGENT",
        ),
    ],
    *,
    go: Annotated[
        bool, typer.Option("--go", help="start the benchmark of a chat model; without it, only the cost is shown")
    ] = False,
    model: Annotated[
        str, typer.Option("--model", help="with the address of a server: which of its models", metavar="NAME")
    ] = "",
    people: Annotated[
        PathLike | None,
        typer.Option(
            "--people", help="your own people, as sessions or a table, for verdicts against them", metavar="DATA"
        ),
    ] = None,
    data: Annotated[
        PathLike | None,
        typer.Option("--data", help="folder for the sessions; benchmark/AGENT when not given", metavar="DIR"),
    ] = None,
    output: Annotated[
        PathLike | None,
        typer.Option("-o", "--output", help="folder for the card; with --compare a page (.html)", metavar="PATH"),
    ] = None,
    suite: Annotated[
        PathLike | None,
        typer.Option(
            "--suite", help="findings, or a suite of your own, in place of the one that ships", metavar="FILE"
        ),
    ] = None,
    price: Annotated[
        str | None,
        typer.Option("--price", help="price of a million tokens, read and written, such as 0.5/2", metavar="IN/OUT"),
    ] = None,
    max_cost: Annotated[float | None, typer.Option("--max-cost", help="stop before it costs more", min=0)] = None,
    accept_unread: Annotated[
        bool,
        typer.Option(
            "--accept-unread",
            help=(
                "give verdicts also for sessions and conditions in which more than 20% of the replies could not be read"
            ),
        ),
    ] = False,
    compare: Annotated[
        bool, typer.Option("--compare", help="compare cards, or folders of cards; -o writes them as a page")
    ] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="recompute a card from its sessions: CARD DATA (or CARD published)")
    ] = False,
) -> Result:
    """Give an agent the benchmark, and write its card.

    Examples
    --------
    >>> found = spanlab.benchmark("ideal", go=True)
    >>> [file.name for file in found.files]
    ['card.json', 'card.svg', 'card.html']
    """
    from .card import card_of
    from .drawing import write_card
    from .findings import SHIPPED, compared, read_findings
    from .running import Plan, agent_at
    from .suite import read_suite

    named, place = words(targets), as_path(output)
    if compare and verify:
        raise SpanLabError("shows several cards, --verify computes one again: give one of them", option="compare")
    if compare:
        return _compare(named, place)
    own_suite = None if suite is None or str(suite) == SHIPPED else Path(suite)
    of_findings = str(suite) == SHIPPED or (own_suite is not None and "findings" in as_object(read(own_suite).data))
    chosen: Any = read_findings(own_suite) if of_findings else read_suite(own_suite)
    own = as_path(people)
    if verify:
        return _verify(named, chosen, own)
    if len(named) > 1:
        raise SpanLabError("the benchmark is for one agent at a time; compare their cards with --compare")
    agent = agent_at(named[0], model) if named[0].startswith(("http://", "https://")) else named[0]
    sessions = Path("benchmark") / _file_name(agent) if data is None else Path(data)
    plan = Plan(chosen, agent, sessions, watcher(), _prices(price))
    found = Result([f"{paradigm} is left out: {reason}" for paradigm, reason in plan.refused.items()])
    found.lines.append(_cost(plan, chosen))
    if plan.cost["requests"] and not go:
        found.lines.append("nothing has been asked yet; add --go to begin")
        return found
    plan.run(max_cost)
    if of_findings:
        return _findings(compared(chosen, sessions, accept_unread), found, place or sessions)
    card = card_of(chosen, sessions, own, plan.refused, accept_unread)
    found.tables = {"effects": card["effects"]}
    found.files = [Path(file) for file in write_card(card, place or sessions)]
    found.lines += [*shown(card), *map(str, found.files)]
    return found


def _findings(rows: list[dict[str, Any]], found: Result, folder: Path) -> Result:
    """The findings as a table, and as a file."""
    cells = [
        (row["finding"], *(_said(row[who]) for who in ("people", "agent")), f"{row['margin']:g}", row["verdict"])
        for row in rows
    ]
    make_folder(folder, f"findings to {folder}", "choose another folder with -o")
    file = folder / "findings.json"
    write_json(file, {"findings": rows})
    found.tables, found.files = {"findings": rows}, [file]
    found.lines += [*table_lines(("finding", "people", "agent", "margin", "verdict"), cells), str(file)]
    return found


def _said(value: dict[str, float] | None) -> str:
    if value is None:
        return ""
    digits = 2 * (abs(value["mean"]) < 10)
    mean, low, high = (f"{value[name]:.{digits}f}" for name in ("mean", "low", "high"))
    return f"{mean} [{low}, {high}]"


def _cost(plan: Any, suite: Any) -> str:
    cost = plan.cost
    money = f", {cost['cost']:.2f} at these prices" if cost["cost"] else ""
    requests = (
        f": about {cost['requests']:,.0f} requests and {cost['tokens'] / 1e6:.1f} million tokens{money}"
        if cost["requests"]
        else ""
    )
    sessions = f"{cost['sessions']:.0f} sessions" if cost["sessions"] else "all sessions are complete"
    return f"{suite.title} (version {suite.version}), {plan.agent}: {sessions}{requests}"


def _prices(price: str | None) -> dict[str, float]:
    if price is None:
        return {}
    try:
        read, written = (float(part) for part in price.split("/"))
    except ValueError:
        raise SpanLabError(f"takes IN/OUT, such as 0.5/2; found '{price}'", option="price") from None
    return {"input": read, "output": written}


def _file_name(agent: str) -> str:
    import re

    return re.sub(r"[^A-Za-z0-9._-]+", "-", agent).strip("-.") or "agent"


def shown(card: dict[str, Any]) -> Iterator[str]:
    """The effects of a card as a table."""
    from .drawing import bounds

    rows = []
    for effect in card["effects"]:
        beside = ["", "", "not taken" if effect["agent"] is None else ""]
        for first in effect["against"][:1]:
            beside = [first["name"], interval(first["reference"]), first["verdict"]]
        rows.append((effect["paradigm"], effect["effect"], interval(effect["agent"]) + bounds(effect), *beside))
    return table_lines(("paradigm", "effect", "agent", "beside", "theirs", "verdict"), rows)


def interval(value: dict[str, float | None] | None) -> str:
    """A number with its interval, in short."""
    if value is None or value["value"] is None:
        return ""
    number, low, high = (
        None if part is None else round(part, 1) + 0.0 for part in (value["value"], value["low"], value["high"])
    )
    return f"{number:.1f}" if low is None or high is None else f"{number:.1f} [{low:.1f}, {high:.1f}]"


def _compare(targets: list[str], output: Path | None) -> Result:
    from .card import read_card
    from .drawing import bounds, gallery, write_page

    files = [
        file
        for target in targets
        for file in (sorted(Path(target).rglob("card.json")) if Path(target).is_dir() else [Path(target)])
    ]
    if not files:
        raise SpanLabError(f"there is no card.json in {', '.join(targets)}")
    cards = [read_card(file) for file in files]
    names = [card["agent"]["name"] for card in cards]
    suites = {(card["suite"]["name"], card["suite"]["version"], card["suite"]["sha256"]) for card in cards}
    if len(suites) > 1:
        raise SpanLabError(
            "these cards are of different suites, or of different versions of one: their numbers cannot be compared"
        )
    header = ("paradigm", "effect", *names)
    rows = [
        (effect["paradigm"], effect["effect"], *(interval(one["agent"]) + bounds(one) for one in (effect, *others)))
        for effect, *others in zip(*(card["effects"] for card in cards), strict=True)
    ]
    found = tabled("cards", header, rows)
    if output is not None:
        found.files = [write_page(output, gallery(cards))]
        found.lines += map(str, found.files)
    return found


def _verify(targets: list[str], suite: Any, people: Path | None) -> Result:
    from .card import read_card

    if len(targets) != 2:
        raise SpanLabError(
            "takes a card and the folder of its sessions: spanlab benchmark --verify CARD DATA (or CARD published)",
            option="verify",
        )
    card, data = read_card(Path(targets[0])), targets[1]
    problems = problems_of(card, suite, data, people)
    if problems:
        return Result(wrong=[f"{targets[0]} does not agree with {data}:", *(f"  {problem}" for problem in problems)])
    return Result([f"{targets[0]} agrees with {data}: every number was computed again"])
