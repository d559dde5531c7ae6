"""What there is: paradigms, parts of paradigms, durations, providers and formats."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.errors import SpanLabError
from ..paradigms.language.yaml_source import card, titled
from ..paradigms.language.yaml_source import list_paradigms as shipped
from .exchange import all_formats
from .options import Result, Words, progress_bar, public, tabled, words

if TYPE_CHECKING:
    from ..paradigms import Paradigm
    from ..paradigms.chance import ChanceRow

_LEGEND = """
items: scored in this phase of one trial
chance: expected share of right items when every answer is a uniform guess
best blind guess: the same for somebody who knows paradigm, condition and which question it is, but has not looked
all right: probability that uniform guesses have all of them right"""


@public
def catalogue(
    names: Annotated[
        Words,
        typer.Argument(
            help="names in the library, or YAML files; with --parts, parts; all that ship when none is given",
            metavar="[PARADIGM...]",
            show_default=False,
        ),
    ] = (),
    *,
    about: Annotated[
        Words,
        typer.Option(
            "--about",
            help="only those of this family, domain, function or characteristic; may be repeated, to match all",
            metavar="NAME",
            show_default=False,
        ),
    ] = (),
    chance: Annotated[
        bool, typer.Option("--chance", help="show the chance level and the best blind guess in each condition instead")
    ] = False,
    human: Annotated[
        bool,
        typer.Option(
            "--human", help="show the levels for which results of people have been published instead, and the study"
        ),
    ] = False,
    parts: Annotated[
        bool,
        typer.Option("--parts", help="list what a paradigm file can draw, show and ask, with all parameters instead"),
    ] = False,
    timetable: Annotated[
        bool, typer.Option("--timetable", help="show how long each phase lasts for people instead, as published")
    ] = False,
    providers: Annotated[
        bool, typer.Option("--providers", help="list the providers of chat models, chat:MODEL@NAME, instead")
    ] = False,
    formats: Annotated[
        bool, typer.Option("--formats", help="list the formats that can be read and written instead")
    ] = False,
) -> Result:
    """List the paradigms of the library, one per line, or what else there is to choose from.

    Examples
    --------
    >>> spanlab.catalogue(["vsr", "nback_verbal"], about="verbal").to_frame()["name"].tolist()
    ['nback_verbal']
    >>> spanlab.catalogue("vsr", chance=True).to_frame()["chance"].tolist()
    ['0.1111']
    """
    named = words(names)
    if parts:
        return _parts(named)
    views = {"timetable": timetable, "providers": providers, "formats": formats}
    if view := next((name for name, wanted in views.items() if wanted), ""):
        if named:
            raise SpanLabError("lists all that there is: leave out the names", option=view)
        return {"timetable": _timetable, "providers": _providers, "formats": _formats}[view]()
    sources = named or shipped()
    cards = {source: card(source) if source in shipped() else _loaded(source).data for source in sources}
    for topic in words(about):
        cards = _about(cards, topic)
    if chance:
        header = ("paradigm", "phase", "condition", "generator", "items", "chance", "best blind guess", "all right")
        return tabled("chance", header, _chance(list(cards)), after=_LEGEND)
    if human:
        from ..human_data import conditions

        rows = [row for source in cards for row in conditions(source)]
        if not rows:
            raise SpanLabError(
                "no results of people have been published for these paradigms; spanlab list --human names those that"
                " have some"
            )
        return tabled("human", ("paradigm", "study", "of", "levels"), rows, width=100)
    ordered = sorted(
        cards.values(), key=lambda data: (data.get("family") is None, data.get("family") or "", data["paradigm"])
    )
    header = ("name", "family", "title", "domains", "functions", "factors")
    rows = [
        (
            data["paradigm"],
            data.get("family", ""),
            titled(data["title"]),
            *(", ".join(data.get(key, [])) for key in header[3:5]),
            factors(data),
        )
        for data in ordered
    ]
    found = tabled("paradigms", header, rows)
    found.lines = [*_family_lines(ordered)]
    return found


def _family_lines(cards: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Names and titles below their families, within the width of a terminal."""
    widest = max(len(data["paradigm"]) for data in cards)
    for family, members in itertools.groupby(cards, lambda data: str(data.get("family") or "Other paradigms")):
        yield family
        for data in members:
            yield f"  {data['paradigm'].ljust(widest)}  {titled(data['title'])}"[:80]


def factors(data: Mapping[str, Any]) -> str:
    """The factors of a paradigm's file with their levels, in short."""
    from ..paradigms.language.yaml_source import levels_of

    return "; ".join(
        f"{name} {'random ' if isinstance(levels, dict) and 'random' in levels else ''}{compact(levels_of(levels))}"
        for name, levels in data.get("factors", {}).items()
    )


def compact(levels: Sequence[Any]) -> str:
    """Levels in a row, whole numbers that follow one another as ``1-8``."""
    runs: list[list[Any]] = []
    for level in levels:
        if runs and all(type(entry) is int for entry in (level, runs[-1][-1])) and level == runs[-1][-1] + 1:
            runs[-1].append(level)
        else:
            runs.append([level])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(_written, run)) for run in runs)


def _written(level: Any) -> str:
    return str(level).lower() if isinstance(level, bool) else str(level)


def _loaded(source: str) -> Paradigm:
    from ..paradigms import load_paradigm

    return load_paradigm(source)


def _about(cards: Mapping[str, Mapping[str, Any]], topic: str) -> dict[str, Mapping[str, Any]]:
    """Those that are of a family, domain, function or characteristic.

    Raises
    ------
    SpanLabError
        when there is none.
    """
    from ..core.registry import nearest

    topics = {source: [*_topics(data)] for source, data in cards.items()}
    chosen = {source: cards[source] for source, its in topics.items() if topic.casefold() in map(str.casefold, its)}
    if not chosen:
        there = sorted({one for its in topics.values() for one in its}, key=str.casefold)
        hint = nearest(topic.casefold(), map(str.casefold, there)) or "."
        raise SpanLabError(f"no paradigm here is about '{topic}'{hint} There are: {', '.join(there)}")
    return chosen


def _topics(data: Mapping[str, Any]) -> Iterator[str]:
    yield from [data["family"]] if data.get("family") else []
    for key in ("domains", "functions", "characteristics"):
        yield from data.get(key, [])


def _chance(sources: Sequence[str]) -> list[tuple[str, ...]]:
    from ..paradigms.chance import chance_rows

    rows = []
    with progress_bar("guessing") as tell:
        for number, source in enumerate(sources):
            tell(number, len(sources))
            paradigm = _loaded(source)
            rows += [(paradigm.name, *_chance_cells(paradigm, row)) for row in chance_rows(paradigm)]
    return rows


def condition_of(paradigm: Paradigm, row: ChanceRow) -> str:
    """The conditions that share a row, as far as they are not all: ``set_size 1-4``."""
    some = {name: levels for name, levels in row.levels.items() if len(levels) < len(paradigm.factors[name].levels)}
    return "; ".join(f"{name} {compact(levels)}" for name, levels in some.items()) or "all"


def _chance_cells(paradigm: Paradigm, row: ChanceRow) -> tuple[str, ...]:
    generator = row.generators[0] if len(row.generators) == 1 else "both"
    items, all_right = (
        ("about " if row.varies else "") + _range(*ends) for ends in ((row.items, "d"), (row.all_right, ".2g"))
    )
    return row.phase, condition_of(paradigm, row), generator, items, f"{row.chance:.4g}", f"{row.blind:.4g}", all_right


def _range(ends: tuple[float, float], form: str) -> str:
    low, high = (format(end, form) for end in ends)
    return low if low == high else f"{low} to {high}"


def _providers() -> Result:
    """The named providers of chat models: chat:MODEL@NAME, or chat:@NAME for the default model."""
    from ..agents.chat.providers import FILE_VARIABLE, own_file
    from ..agents.chat.providers import providers as known
    from ..agents.chat.transport.endpoint import Endpoint

    rows = []
    for name, provider in known().items():
        endpoint = Endpoint(provider.base_url, provider.key_variable, name)
        there = "set" if endpoint.has_key else "not set"
        key = "none needed" if provider.key_variable is None else f"{provider.key_variable} ({there})"
        limits = ", ".join(
            f"{value:,} {limit.replace('_', ' ')}"
            for limit, value in provider.limits.model_dump(exclude_none=True).items()
        )
        rows.append((name, endpoint.public, key, provider.default_model or "", limits, ", ".join(provider.prices)))
    path = own_file()
    own = (
        f"providers of your own: {path} ({'read' if path.exists() else 'there is none'}; {FILE_VARIABLE} names"
        " another file)"
    )
    return tabled("providers", ("name", "address", "key", "default model", "limits", "prices of"), rows, after=own)


def _formats() -> Result:
    """The formats that can be read and written, one per line."""
    rows = [
        (format_.name, verb, side.content, side.help)
        for format_ in all_formats()
        for verb, side in (("import", format_.reads), ("export", format_.writes))
        if side is not None
    ]
    return tabled("formats", ("format", "command", "of", "what it does"), rows)


def _parts(names: Sequence[str]) -> Result:
    """What a paradigm file can draw, show and ask: types, defaults and a line of help."""
    from ..core.registry import describe, nearest
    from ..paradigms import RESPONSES, SAMPLERS
    from ..stimuli import STIMULI

    sorts = {
        "draw: samplers": describe(SAMPLERS),
        "show: stimuli": describe(STIMULI),
        "ask: response kinds": describe(RESPONSES),
    }
    known = {part.name for described in sorts.values() for part in described}
    for name in names:
        if name not in known:
            raise SpanLabError(
                f"there is no part called '{name}'{nearest(name, known) or '; see spanlab list --parts'}"
            )
    found, rows = Result(), []
    for sort, described in sorts.items():
        chosen = [part for part in described if not names or part.name in names]
        found.lines += [sort, ""] if chosen else []
        found.lines += [f"{part}\n" for part in chosen]
        rows += [{"sort": sort, "name": part.name, "about": str(part)} for part in chosen]
    found.tables = {"parts": rows}
    return found


def _timetable() -> Result:
    """How long each phase lasts for people: the time-mapping table, rebuilt from the paradigms."""
    from ..paradigms import list_paradigms, load_paradigm
    from ..paradigms.duration import timetable as rows_of

    rows = [row for name in list_paradigms() for row in rows_of(load_paradigm(name))]
    cells = [(row.task, row.phase, row.ms, row.source) for row in rows]
    return tabled("timetable", ("task", "phase", "ms", "source"), cells)
