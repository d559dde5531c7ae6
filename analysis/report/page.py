"""The report: one self-contained page that opens offline, with the figures (SVG, PDF) and tables
(CSV) beside it; and its part on scores and error consistency."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from ...core.agent_kinds import PARTICIPANT
from ...core.atomic_files import aside, user_cache, write_whole, written_in
from ...core.doors import how_to_install
from ...core.errors import SpanLabError
from ..data.exclusions import Rule
from ..data.loading import Data, files_of, load
from ..data.numbers import counted, limits, missing, number, p_value, whole
from ..data.recipe import Recipe
from ..data.scoring import plural
from ..data.style import GROUP_MEANS, Look, listed, looks, of_kinds
from ..effects.registry import effect as effect_named
from ..figures.charts import SHAPES, can_draw, page_theme, vegalite_version
from ..inference import Margin, families_of
from ..model_vs_human.comparison import ceilings, distances
from ..model_vs_human.differences import at_common_conditions
from ..model_vs_human.score_layout import layout
from ..model_vs_human.scores import DECISIONS, scores
from ..nback.published import REFERENCE
from ..planned import Comparison, listed_as_planned
from ..stats.agreement import error_consistency, pairs_left_out
from .commands import ReportCommands
from .folder import WHOLE, Folder, finish, names_of_files
from .html_tables import PageColumn, PageTable, page_table, unread_columns, words_of
from .lab import exclusion_part, spans_part, spoilers, timing_part
from .overview import OverviewPicture, overview
from .paradigm import Numbers, ParadigmPart, anchor_of, numbers_of_all, part_of
from .sections import ReportSection, SectionRequest, added_sections
from .text import Remark, opening, opening_of_spans

#: Sections of further paradigms are folded.
OPEN_SECTIONS = 3


@dataclass(frozen=True)
class Options:
    """The options of a report.

    Parameters
    ----------
    practice, pilot : use these rows, too
    rules, rules_file : of exclusion, and the file that they were read from (for the commands that
        the page prints)
    margins : within which differences count as none, as they were declared
    planned : comparisons that are in no family with others
    recipe : what the columns of tables mean, as it was typed and as it was read
    accept_unread : test answers of which many replies could not be read all the same
    all_figures : write every figure as SVG and PDF, also those that are folded on the page
    """

    practice: bool = False
    pilot: bool = False
    rules: tuple[Rule, ...] = ()
    rules_file: Path | None = None
    margins: Mapping[str, Margin] = field(default_factory=dict[str, Margin])
    planned: tuple[Comparison, ...] = ()
    recipe: Recipe | None = None
    recipe_typed: tuple[str, ...] = ()
    accept_unread: bool = False
    all_figures: bool = False


def compare(
    paths: Sequence[str | Path],
    out: str | Path,
    options: Options = Options(),
    conversations: Sequence[Mapping[str, str]] = (),
    say: Callable[[str], None] = lambda text: None,
) -> Path:
    """Compare data: read them, draw the effects that they show beside published human curves, and
    write ``report.html``.

    Parameters
    ----------
    paths : session folders, data folders that hold sessions, or response tables (``.parquet``,
        ``.csv``)
    out : folder for the report, its figures and tables; made when needed
    conversations : the sessions of chat models: ``session``, ``agent`` and ``account`` (a sentence
        on what it took) of each
    say : gets what looks like a mistake in the data and was used all the same

    Returns
    -------
    Path
        of ``report.html``

    Raises
    ------
    SpanLabError
        when nothing can be read, a rule cannot be applied, or the folder cannot be written.
    """
    if not paths:
        raise SpanLabError("no session could be read; give sessions, folders that hold sessions, or response tables")
    import pandas as pd

    with pd.option_context(
        "mode.string_storage", "python"
    ):  # a page has thousands of small tables, for each of which Arrow takes longer
        return _compare(paths, Path(out), options, conversations, say)


def _compare(
    paths: Sequence[str | Path],
    place: Path,
    options: Options,
    conversations: Sequence[Mapping[str, str]],
    say: Callable[[str], None],
) -> Path:
    report = place / "report.html"
    if (place / WHOLE).is_dir():
        with aside(report):
            finish(place)
    data = load(
        paths,
        include_practice=options.practice,
        include_pilot=options.pilot,
        rules=options.rules,
        spans_suffice=True,
        recipe=options.recipe,
        accept_unread=options.accept_unread,
        whole=False,
    )
    for caution in data.cautions:
        say(caution)
    commands = ReportCommands(
        tuple(map(str, paths)),
        place,
        options.rules_file,
        options.practice,
        options.pilot,
        options.margins,
        options.planned,
        options.recipe_typed,
        options.accept_unread,
        options.all_figures,
    )
    with written_in(place, f"the report to {place}", "choose another folder with -o"), aside(report) as hidden:
        folder = Folder(hidden / "new")
        (folder.path / report.name).write_bytes(_page(data, folder, commands, options, conversations).encode())
        folder.replace(place)
    for text in _lacking(folder):
        say(text)
    return report


def _page(
    data: Data, folder: Folder, commands: ReportCommands, options: Options, conversations: Sequence[Mapping[str, str]]
) -> str:
    import jinja2

    items = data.scored.items
    met_by = items.groupby("paradigm", observed=True)["agent"].nunique()
    by_people = {*items[of_kinds(items["agent_kind"], lambda kind: kind.role == "person")]["paradigm"]}
    names = sorted(map(str, met_by.index), key=lambda name: (name not in by_people, -met_by[name], name))
    stems = names_of_files(names)
    numbers = numbers_of_all(data, names, options.margins, options.planned)
    families = families_of(claim for one in numbers.values() for claim in one.claims)
    styles = looks(
        [
            *items[["agent", "agent_kind"]].drop_duplicates().itertuples(index=False, name=None),
            *((agent, GROUP_MEANS) for part_numbers in numbers.values() for agent in part_numbers.printed),
        ]
    )
    drawn = {
        look.label: {**asdict(look), "number": place, "path": SHAPES.get(look.shape, SHAPES["circle"])}
        for place, look in enumerate(styles)
    }
    parts = [
        part_of(
            data,
            name,
            numbers[name],
            styles,
            drawn,
            stems[name],
            folder,
            commands,
            folded=number >= OPEN_SECTIONS,
        )
        for number, name in enumerate(names)
    ]
    common = {name: at_common_conditions(data, name, one.differences) for name, one in numbers.items()}
    first = (
        overview(numbers, common, data.titles, {name: anchor_of(stem) for name, stem in stems.items()}, drawn, folder)
        if names
        else None
    )
    spans = [one for one in data.spans if options.pilot or not one.facts.pilot]
    every = (*data.sessions, *(one.facts for one in spans))
    timing = timing_part(every, commands)
    spoilt = [Remark(text, warning=True) for text in spoilers(every, items, timing)]
    spoilt += _undescribed(data.titles, numbers)
    title, lead, facts = (
        opening(data.sessions, data.scored, names, any(one.printed and not one.nback for one in numbers.values()))
        if names or not spans
        else opening_of_spans(spans)
    )
    folders = [*map(Path, files_of(commands.data)[1])]
    added = added_sections(
        SectionRequest(
            folders, data, options.rules, folder.table, partial(folder.figure, table="", styles=styles), commands.added
        )
    )
    drawn_by_the_page = _drawn_by_the_page(parts, added, styles, sorted(map(str, items["agent"].unique())), first)
    shared = _shared(parts)
    parts = [replace(part, warnings=[note for note in part.warnings if note not in shared]) for part in parts]
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    here = files(__name__.rpartition(".")[0])
    return environment.from_string(here.joinpath("page.html.jinja").read_text("utf-8")).render(
        title=title,
        lead=lead,
        facts=facts,
        version=_version(),
        css=files("spanlab.core").joinpath("page.css").read_text("utf-8"),
        js=here.joinpath("page.js").read_text("utf-8"),
        vega=vega_script() if drawn_by_the_page["specs"] and can_draw() else "",
        figures=json.dumps(drawn_by_the_page, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c"),
        looks=list(drawn.values()),
        overview=first,
        open_sections=OPEN_SECTIONS,
        notes=[
            *spoilt,
            *shared,
            *(Remark(text, warning=True) for text in _lacking(folder)),
            *_on_families(families, options.planned),
            *_notes(data, names, len(spans)),
        ],
        parts=parts,
        compared=compared(data, folder, commands) if names else [],
        added=added,
        excluded=exclusion_part(data.exclusions, folder),
        spans=spans_part(spans, folder, bool(options.rules)),
        timing=timing,
        nback_reference=REFERENCE,
        references=sorted({reference for part in parts for reference in part.references}),
        sessions=every,
        conversations=conversations,
        view=commands.view(),
        command=commands.compare(),
    )


def _undescribed(titles: Mapping[str, str], numbers: Mapping[str, Numbers]) -> list[Remark]:
    """Say of which people means and intervals are no description."""
    return [
        Remark(f"{titles[name]}: {text}. Means and intervals do not describe them: look at single people.", True)
        for name, one in numbers.items()
        for text in one.undescribed
    ]


def _drawn_by_the_page(
    parts: Sequence[ParadigmPart],
    added: Sequence[ReportSection],
    styles: Sequence[Look],
    answerers: list[str],
    first: OverviewPicture | None,
) -> dict[str, Any]:
    """The figures as the page's script draws them, and whose marks can be switched off."""
    drawings = [
        *(figure.figure for part in parts for figure in part.figures),
        *(figure for one in added for figure in one.figures),
    ]
    return {
        "specs": {one.key: one.spec for one in drawings},
        "config": page_theme(styles),
        "named": {one.figure.key: one.named for part in parts for one in part.figures},
        "answerers": answerers,
        "overview": first.marks if first else [],
    }


def _on_families(families: Mapping[str, Sequence[float]], planned: Sequence[Comparison]) -> list[Remark]:
    """Return for how many claims together sentences hold, and which were taken out as planned."""
    several = [f"{kind} ({len(every)})" for kind, every in sorted(families.items()) if len(every) > 1]
    remarks: list[Remark] = []
    if several:
        remarks.append(
            Remark(
                "Intervals and p values in sentences are corrected for all claims of one kind on this page:"
                f" {listed(several)}; of those that it reports, at most one in twenty is false, on average."
                " Pictures and tables have those of single claims; tables also have those of all."
            )
        )
    if planned:
        remarks.append(Remark(listed_as_planned(planned)))
    return remarks


def _lacking(folder: Folder) -> list[str]:
    """What the folder lacks because figures cannot be drawn here, and what brings it."""
    if can_draw():
        return []
    files = f" These files are missing: {', '.join(folder.missing)}." if folder.missing else ""
    return [f"There are no pictures, only tables: vl-convert draws them; {how_to_install('figures')}.{files}"]


def _notes(data: Data, names: Sequence[str], spans: int) -> list[Remark]:
    """Return what holds for the whole page, warnings first.

    Parameters
    ----------
    spans : adaptive sessions in the table of spans
    """
    adaptive = {one.left_out for one in data.spans}
    notes = [Remark(text, warning=True) for text in (*data.cautions, *data.problems) if text not in adaptive]
    if not names and not spans:
        notes.append(Remark("There is nothing to draw: no scored answers are left.", warning=True))
    if spans and names:
        adaptive = plural(spans, "session is adaptive: it is", "sessions are adaptive: they are")
        notes.append(Remark(f"{adaptive} in the table of spans alone."))
    if pilots := len(data.spans) - spans:
        notes.append(Remark(f"{plural(pilots, 'adaptive session')} left out: pilot."))
    exclusion_notes = data.exclusions.notes if data.exclusions else ()
    scored_notes = (
        data.scored.notes if names or data.sessions or not spans else ()
    )  # of spans alone, there is no table to say anything about
    people = [facts for facts in data.sessions if facts.kind == PARTICIPANT.name]
    at_page = {facts.participant for facts in people if facts.browser}
    if at_page and (at_window := {facts.participant for facts in people if not facts.browser}):
        text = f"{plural(len(at_page), 'person', 'people')} took part in a browser, and {len(at_window)} at a window"
        notes.append(
            Remark(
                f"{text}. They are together in every figure. Their reaction times contain other delays: do not compare"
                " them.",
                warning=True,
            )
        )
    return [*notes, *map(Remark, (*exclusion_notes, *scored_notes))]


def _shared(parts: Sequence[ParadigmPart]) -> list[Remark]:
    """Warnings that every paradigm has, which are said once."""
    if len(parts) < 2:
        return []
    return [note for note in parts[0].warnings if all(note in part.warnings for part in parts)]


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("spanlab")
    except PackageNotFoundError:
        return ""


@functools.cache
def vega_script() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script, fit for a script element. Bundling takes longer
    than drawing several figures and always gives the same result, so the bundle of these versions
    is kept in the user's cache; a damaged one is made again."""
    from importlib.metadata import version

    import vl_convert as vlc

    kept = user_cache() / f"vega-{version('vl-convert-python')}-{vegalite_version()}.js"
    with suppress(OSError, UnicodeDecodeError):
        stamp, _, script = kept.read_bytes().partition(b"\n")
        if stamp == _checksum(script):
            return script.decode()
    bundle = vlc.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=vegalite_version())
    script = bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    with suppress(SpanLabError):  # without a cache it takes its time again
        write_whole(kept, _checksum(script.encode()) + b"\n" + script.encode(), folders="all", together=True)
    return script


def _checksum(script: bytes) -> bytes:
    return b"// " + hashlib.sha256(script).hexdigest().encode()


# Scores and error consistency

_EACH = (
    "Pearson's correlation of each curve with the curve of every person, averaged over people, and the root of the mean"
    " squared difference; over the points that everybody has. People themselves are scored in the same way: their noise"
    " ceiling is given, too."
)
_PUBLISHED = (
    "Pearson's correlation and root mean square difference of each curve and people's, over the points that both have."
    " Only the means of published people are known, so there is no noise ceiling."
)


@dataclass(frozen=True)
class Compared:
    """One comparison: what it is, its tables, what was decided, and the command that makes it
    again."""

    title: str
    text: str
    tables: tuple[PageTable, ...]
    notes: tuple[str, ...]
    command: str


def compared(data: Data, folder: Folder, commands: ReportCommands) -> list[Compared]:
    """Every comparison that the data allow."""
    people = sorted({agent for agent, kind in _who(data) if kind == PARTICIPANT.name})
    parts = [
        _scores(data, "", folder, commands),
        *(_scores(data, name, folder, commands) for name in people),
        _curves(data, "", folder, commands),
        *(_curves(data, name, folder, commands) for name in people),
    ]
    return [part for part in (*parts, *_agreement(data, folder, commands)) if part is not None]


def _who(data: Data) -> list[tuple[str, str]]:
    return list(data.scored.items[["agent", "agent_kind"]].drop_duplicates().itertuples(index=False, name=None))


def _scores(data: Data, against: str, folder: Folder, commands: ReportCommands) -> Compared | None:
    table = scores(data.scored, human=data.human, against=against)
    if not len(table):
        return None
    name, people = "scores", "published people"
    further = " From RNN-96 on: as published (Sikarwar & Zhang, 2023, Table A3)."
    if against:
        name, people, further = "scores_against_people", f"“{against}”, measured here", ""
    file = folder.table(name, table)
    wide = layout(table, published=not against)
    rows = wide.assign(score=wide["task"] + " " + wide["score"]).drop(columns="task")
    side_by_side = PageTable(
        "Side by side",
        f"0 means the same as people. * p < .01 against guessing.{further}",
        tuple(map(str, rows.columns)),
        tuple(tuple(map(str, row)) for row in rows.itertuples(index=False, name=None)),
    )
    columns: list[PageColumn] = [
        ("score", lambda row: f"{row['task']} {row['score']}"),
        words_of("agent", "who"),
        ("value", lambda row: number(row["value"], 3)),
        ("95% interval", lambda row: limits(row["low"], row["high"], lambda one: f"{one:.3f}")),
        ("agent", lambda row: number(row["m"], 3)),
        ("people", lambda row: number(row["h"], 3)),
        ("guessing", lambda row: number(row["chance"], 3)),
        ("p", lambda row: p_value(row["p"])),
        ("n", lambda row: counted(row["n_units"], row["unit"])),
        *unread_columns(table),
        words_of("conditions"),
        words_of("note"),
    ]
    caption = (
        "The slopes (A) or means (B) behind each score, of the agent, people and guessing; p: against guessing,"
        " two-tailed, not corrected."
    )
    details = page_table(
        table, columns, "Intervals, and the values behind each score", caption, words=("who", "conditions"), file=file
    )
    return Compared(
        f"Scores against {people}",
        "A compares slopes and B compares means with people's: |(M − H) / H|, as in WorM.",
        (side_by_side, details),
        DECISIONS,
        commands.scores(file, against),
    )


def _curves(data: Data, against: str, folder: Folder, commands: ReportCommands) -> Compared | None:
    """Distances of curves; ``spanlab scores`` prints them."""
    far = distances(data.scored, data.human, against)
    columns: list[PageColumn] = [
        words_of("agent", "who"),
        words_of("paradigm"),
        ("curve", lambda row: effect_named(row["effect"]).title),
        words_of("against"),
        ("points", lambda row: whole(row["n_points"])),
        ("r", lambda row: number(row["r"])),
        ("95% interval", lambda row: "" if missing(row["r_low"]) else limits(row["r_low"], row["r_high"])),
        (
            "noise ceiling",
            lambda row: "" if missing(row["ceiling_low"]) else limits(row["ceiling_low"], row["ceiling_high"]),
        ),
        ("RMSE", lambda row: number(row["rmse"], 3)),
        *unread_columns(far),
        words_of("note"),
    ]
    name, people, text = "curve_distances", "published people", _PUBLISHED
    if against:
        name, people, text = "curve_distances_from_people", f"“{against}”", _EACH
    file = folder.table(name, far)
    return _part(
        f"Curves compared with {people}",
        text,
        page_table(far, columns, "Correlation and distance", words=("paradigm", "curve", "against"), file=file),
        commands.scores(against=against),
    )


def _agreement(data: Data, folder: Folder, commands: ReportCommands) -> list[Compared | None]:
    """Errors, and people among themselves; ``spanlab scores`` prints them."""
    kappa = error_consistency(data.scored)
    ceiling = ceilings(data.scored)
    command = commands.scores()
    errors: list[PageColumn] = [
        words_of("agent", "who"),
        words_of("other", "and"),
        words_of("paradigm"),
        ("kappa", lambda row: number(row["kappa"])),
        ("95% interval", lambda row: limits(row["low"], row["high"])),
        ("people among themselves", lambda row: "" if missing(row["among_people"]) else number(row["among_people"])),
        ("same outcome", lambda row: number(row["observed"])),
        ("if independent", lambda row: number(row["expected"])),
        ("n", lambda row: counted(row["n_units"], row["unit"])),
        ("pairs", lambda row: whole(row["n_pairs"])),
        ("trials", lambda row: whole(row["n_trials"])),
        *unread_columns(kappa),
        words_of("note"),
    ]
    among: list[PageColumn] = [
        words_of("agent", "who"),
        words_of("paradigm"),
        ("curve", lambda row: effect_named(row["effect"]).title),
        ("people", lambda row: whole(row["people"])),
        ("points", lambda row: whole(row["n_points"])),
        ("r: lower to upper", lambda row: limits(row["r_low"], row["r_high"])),
        (
            "RMSE: of all, of the others",
            lambda row: (
                "–" if missing(row["rmse_low"]) else f"{number(row['rmse_low'], 3)}, {number(row['rmse_high'], 3)}"
            ),
        ),
    ]
    names = ("paradigm", "curve", "and")
    return [
        _part(
            "Errors on the same trials",
            "Cohen's kappa of right and wrong on the same items: 0 for two independent agents, 1 for the same errors."
            " It is undefined for somebody who is always right or always wrong. Kappa with people is given together"
            " with that of people among themselves, computed in the same way: the mean over pairs of one person and"
            " another; its interval is wider than it need be."
            + "".join(f" {sentence}" for sentence in pairs_left_out(data.scored)),
            page_table(kappa, errors, "Error consistency", words=names, file=folder.table("error_consistency", kappa)),
            command,
        ),
        _part(
            "People among themselves",
            "How close a curve can come to the curves of these people, who differ and took few trials. On average, no"
            " curve correlates with them more than the upper ceiling; the lower one is the correlation of each person"
            " with the mean of the others (Nili et al., 2014). In simulations people's own true curve was between the"
            " two in more than four of five samples, and never above. No curve has a smaller RMSE than the mean of"
            " all.",
            page_table(ceiling, among, "Noise ceilings", words=names, file=folder.table("noise_ceiling", ceiling)),
            command,
        ),
    ]


def _part(title: str, text: str, table: PageTable, command: str) -> Compared | None:
    return Compared(title, text, (table,), (), command) if table.rows else None
