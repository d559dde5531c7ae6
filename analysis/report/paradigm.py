"""One paradigm of a report: its figures, tables and notes, which are written on the way, the effect for
which it is used, as a claim about each person and model, and what is said of its N-back blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd

from ...core.agent_kinds import kind_named
from ...core.errors import SpanLabError, in_number
from ..data.coding import records
from ..data.loading import Data
from ..data.numbers import decimals, with_sign
from ..data.scoring import Scored, plural
from ..data.style import GROUP_MEANS, Look, listed, of_kinds, same_trials
from ..data.unread import testable, testable_cells, with_unread, withheld_notes
from ..effects.curves import intrusions, overall, primacy_recency, sources
from ..figures.effect_figure import ComputedEffect, panel_names
from ..figures.figure import Computed
from ..guessing import AgainstGuessing, against_guessing, guessing_table
from ..inference import NO_MARGINS, Claim, Margin, families_of, of_family
from ..means.over_people import two_groups, without_carriers
from ..model_vs_human.differences import Difference, from_people
from ..nback.cells import nback_cells
from ..nback.measures import GRID, OURS, describe_exceptions, gridded_blocks
from ..planned import Comparison, Planned
from . import html_tables as tables
from .commands import ReportCommands
from .figures import FigureOnPage, compute_figures, show_figures
from .folder import Folder
from .text import Remark, headline, like_for_like, percent, ranked

#: More than this many answerers make no sentence; people are still named.
_MOST = 6
#: Differences that are effects of their own, the first that there is.
_COSTS = (("task_switching", "switch cost"), ("congruency", "congruency effect"))


@dataclass(frozen=True)
class EffectClaims:
    """A paradigm's effect.

    Parameters
    ----------
    name : of the effect, with which the sentence begins
    parts : what is said of whom: words before, and claims, people first
    margin : within which differences count as none
    table : name of the effect in whose table of slopes and differences the claims stand; with the
        numbers of its rows
    """

    name: str
    parts: tuple[tuple[str, tuple[Claim, ...]], ...]
    margin: Margin | None = None
    table: tuple[str, tuple[int, ...]] = ("", ())

    def changed(self, change: Callable[[Claim], Claim]) -> EffectClaims:
        """The same with other claims."""
        return replace(self, parts=tuple((words, tuple(map(change, claims))) for words, claims in self.parts))

    @property
    def claims(self) -> tuple[Claim, ...]:
        return tuple(claim for _, claims in self.parts for claim in claims)

    def beside(self, table: pd.DataFrame) -> pd.DataFrame:
        """The table of slopes and differences, with what its claims are among all of their kind."""
        return table.join(pd.DataFrame([claim.columns() for claim in self.claims], index=self.table[1]))

    @property
    def sentence(self) -> tuple[str, str]:
        """The name, and the rest of the sentence."""
        parts = [words + ", ".join(self._said(*one) for one in enumerate(claims)) for words, claims in self.parts]
        return self.name, f": {'; '.join(filter(None, parts))}."

    def _said(self, place: int, claim: Claim) -> str:
        """``people (n = 9) +12 points (95% interval +8 to +16)``."""
        low, high = claim.interval_of_family
        value = with_sign(100 * claim.value, decimals(100 * low, 100 * high))
        text = f"{_called(claim.agent)} {value}{' points' * (not place)}"
        if low != low:
            reason, withheld, _ = claim.note.partition(": no interval")
            return text + (f" (no interval: {reason})" if withheld else " (no interval)")
        return f"{text} ({'' if place else '95% interval '}{claim.words(self.margin)})"


def effect_claims(
    effects: Sequence[ComputedEffect], scored: Scored, margins: Mapping[str, Margin] = NO_MARGINS
) -> EffectClaims | None:
    """The effect of a paradigm, of everybody but yardsticks; None where no effect is known or seen.

    Parameters
    ----------
    effects : that the paradigm shows
    scored : its answers, in which the ends of lists are looked for also where there is one list
        length only
    margins : within which differences count as none, as they were declared
    """
    if not scored.accept_unread:
        tested = testable(scored)
        if tested is not scored:
            effects = [
                replace(one, table=one.effect.table(tested, paradigm, human=""))
                for one in effects
                for paradigm in tested.parts
            ]
        effects, scored = [replace(one, table=testable_cells(one.table)) for one in effects], tested
    by_name = {one.effect.name: one for one in effects}
    points = margins.get("points")
    for name, contrast in _COSTS:
        if name in by_name and (found := _of_rows(by_name[name], _rows(by_name[name].trends, contrast))):
            claims, rows = found
            return EffectClaims(
                contrast[:1].upper() + contrast[1:], (("", claims),), points, table=(by_name[name].effect.name, rows)
            )
    if held := _ends(by_name, scored, points):
        return held
    slopes = (_slope(one) for one in effects if one.effect.value == "correct" and one.effect.averages)
    return next((slope for slope in slopes if slope), None)


def _ends(by_name: Mapping[str, ComputedEffect], scored: Scored, margin: Margin | None) -> EffectClaims | None:
    tested = testable(scored, ("list_length",))
    if not (by_name.keys() & {"primacy_recency", "serial_position"} and (tested.items["list_length"] >= 3).any()):
        return None
    table = primacy_recency(tested)
    table = table[table["mean"].notna()]
    shared = max(_shared_by_all(table, "list_length"), default=None)
    if shared is None:
        return None
    parts = []
    for index, end in (("primacy", "first"), ("recency", "last")):
        claims = few([*ranked(_telling(table[(table["list_length"] == shared) & (table["index"] == index)]))["claim"]])
        parts.append((f"the {end} item minus those in the middle, ", claims))
    if not all(claims for _, claims in parts):
        return None
    return EffectClaims(f"Primacy and recency in lists of {int(shared)}", tuple(parts), margin)


def _slope(one: ComputedEffect) -> EffectClaims | None:
    table = _rows(one.trends, "slope")
    if not len(table):
        return None
    where = ""
    if one.effect.panels:  # of several panels the last that everybody has
        names = panel_names(one.effect, one.table)
        of_panel = table.assign(_panel=[one.effect.panel(row) for row in records(table)])
        everybody = _telling(of_panel)["agent"].nunique()
        full = [
            name for name in names if _telling(of_panel[of_panel["_panel"] == name])["agent"].nunique() == everybody
        ]
        if not full:
            return None
        table, where = of_panel[of_panel["_panel"] == full[-1]], f" ({full[-1]})"
    found = _of_rows(one, table)
    if not found:
        return None
    step = {"set_size": "item", "list_length": "item", "serial_position": "place in the list"}
    lead = f"for each further {step.get(one.effect.x, f'unit of {one.effect.x_title}')}, "
    return EffectClaims(f"Slope of {one.effect.title}{where}", ((lead, found[0]),), table=(one.effect.name, found[1]))


def _of_rows(one: ComputedEffect, rows: pd.DataFrame) -> tuple[tuple[Claim, ...], tuple[int, ...]] | None:
    """Claims of rows of a table of slopes and differences, told from what guessing gives, and the
    numbers of these rows; None where there are none."""
    claims = {number: one.claims[number] for number in ranked(_telling(rows)).index}
    kept = few([*claims.values()])
    return (kept, tuple(int(number) for number, claim in claims.items() if claim in kept)) if kept else None


def few(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """The claims that make a sentence: of everybody, or where these are many of people; one trial is
    no headline."""
    several = [one for one in claims if one.n > 1]
    people = [one for one in several if kind_named(one.agent_kind).role == "person"]
    return tuple(several if len(several) <= _MOST else people)


def _rows(table: pd.DataFrame, contrast: str) -> pd.DataFrame:
    return table[(table["contrast"] == contrast) & table["value"].notna()] if len(table) else table


def _telling(table: pd.DataFrame) -> pd.DataFrame:
    """Rows of everybody but yardsticks and means of groups."""
    return table[of_kinds(table["agent_kind"], lambda kind: kind.role not in ("yardstick", "print"))]


def _shared_by_all(table: pd.DataFrame, column: str) -> list[float]:
    """The values of a column that everybody who is told has."""
    rows = _telling(table)
    many = rows.groupby(column, observed=True)["agent"].nunique()
    return [float(value) for value in many[many == rows["agent"].nunique()].index]


def _called(name: str) -> str:
    return name[:1].lower() + name[1:] if name.startswith("People (") else name


@dataclass(frozen=True)
class NBack:
    """The N-back blocks of one paradigm, and d' and rates of summed counts over N."""

    blocks: pd.DataFrame
    cells: pd.DataFrame

    def ends(self) -> Mapping[str, str]:
        """How d' changes from the lowest to the highest N, for each answerer, as the end of a
        sentence; without levels at which somebody always gave the same answer, whose d' is what the
        correction makes of it. Nothing of several sizes of the grid."""
        if GRID in self.blocks.columns and self.blocks[GRID].nunique() > 1:
            return {}
        part = self.cells[(self.cells["measure"] == "dprime_pooled") & self.cells["mean"].notna()]
        rates = self.cells.pivot_table(index=["agent", "n"], columns="measure", values="mean", observed=True)
        rates = rates.reindex(columns=["hit_rate", "false_alarm_rate"])  # of which there may be none
        always = rates[(rates["hit_rate"] == rates["false_alarm_rate"]) & rates["hit_rate"].isin([0, 1])].index
        part = part[~pd.MultiIndex.from_frame(part[["agent", "n"]]).isin(always)]
        said = {}
        for agent, curve in part.sort_values("n").groupby("agent"):
            first, *further = records(curve)
            places = (f"{one['mean']:.1f} at {one['n']}-back" for one in (first, *further[-1:]))
            said[str(agent)] = f"; d′ {', '.join(places)}"
        return said

    def notes(self) -> list[Remark]:
        """The limits of these numbers, and how answers were counted."""
        notes = [Remark(text) for text in describe_exceptions(self.blocks, OURS)]
        of_correction = self.cells["note"].str.contains("its size is the correction")
        empty = int(((self.cells["measure"] == "dprime_pooled") & of_correction).sum())
        if empty:
            whose = f"{plural(empty, 'd′', 'd′ values')} of somebody without any miss, hit or false alarm"
            text = f"{whose}: the size depends on the correction, and intervals are too narrow."
            notes.append(Remark(text, warning=True))
        return notes


def nback_results(scored: Scored) -> NBack | None:
    """The results of one paradigm; None when it has no N-back blocks of a known N."""
    if not scored.blocks:
        return None
    blocks = gridded_blocks(scored, OURS)
    over = (GRID, "n") if GRID in blocks.columns else ("n",)
    if blocks.empty:  # nothing says how many back
        return None
    return NBack(blocks, nback_cells(blocks, over, OURS, measures=("hit_rate", "false_alarm_rate", "dprime_pooled")))


@dataclass(frozen=True)
class Numbers:
    """A paradigm in numbers.

    Parameters
    ----------
    scored : its answers
    overall : everything together, people first
    guessed : everybody against guessing
    intrusions, intruded : answers that were not asked for, by list length and in all
    figures : those that it has, by name and in their order
    absent, failed : why it lacks others, and why some could not be computed
    nback : N-back results, None for other paradigms
    differences : how far everybody is from people
    margins : within which differences count as none, as they were declared
    effect : what the paradigm is taken for; None where nothing is known
    """

    scored: Scored
    overall: pd.DataFrame
    guessed: Sequence[AgainstGuessing]
    intrusions: pd.DataFrame
    intruded: pd.DataFrame
    figures: Mapping[str, Computed]
    absent: tuple[str, ...]
    failed: tuple[str, ...]
    nback: NBack | None
    differences: Mapping[str, Difference]
    margins: Mapping[str, Margin] = field(default_factory=dict[str, Margin])
    effect: EffectClaims | None = None

    @property
    def claims(self) -> list[Claim]:
        """Everything that sentences on the page tell from something."""
        return [
            *(one.claim for one in self.guessed if not one.chosen),
            *(one.claim for one in self.differences.values()),
            *(self.effect.claims if self.effect else ()),
        ]

    def among(self, families: Mapping[str, tuple[float, ...]]) -> Numbers:
        """The same, each claim among all of its kind on the page."""
        made = self.changed(partial(of_family, families=families))
        shown = made.effect and self.figures.get(made.effect.table[0])
        if not made.effect or not isinstance(shown, ComputedEffect):
            return made
        return replace(
            made,
            figures={**self.figures, made.effect.table[0]: replace(shown, trends=made.effect.beside(shown.trends))},
        )

    def changed(self, change: Callable[[Claim], Claim]) -> Numbers:
        """The same with other claims."""
        differences = {name: replace(one, claim=change(one.claim)) for name, one in self.differences.items()}
        return replace(
            self,
            guessed=[one.changed(change) for one in self.guessed],
            differences=differences,
            effect=self.effect and self.effect.changed(change),
        )

    @cached_property
    def blind(self) -> float:
        """The share of right answers of the best blind guess, averaged within trials first, as that
        of everybody; NaN where the record does not give it."""
        items = self.scored.items
        if "blind" not in items.columns:
            return float("nan")
        known = items[items["blind"].astype(float).notna() & items["chance"].astype(float).notna()]
        trials = known["unit_trial"].where(
            known["unit_trial"] >= 0, -1 - np.arange(len(known))
        )  # an answer whose trial is not known counts by itself
        return (
            float(known["blind"].astype(float).groupby(trials.to_numpy()).mean().mean()) if len(known) else float("nan")
        )

    @property
    def undescribed(self) -> list[str]:
        """Whom a mean does not describe: people who carry an effect, or consist of two groups."""
        said = []
        claims = self.effect.claims if self.effect else ()
        for name, one in ((claim.agent, claim.each) for claim in claims if claim.each):
            many, rest = without_carriers(np.array(one.values), one.noise)
            if many:
                whole, rest = (with_sign(100 * float(value), 0) for value in (np.mean(one.values), rest))
                who = f"{many} of {len(one.values)} in {name} {in_number(many, 'carries', 'carry')} the effect"
                said.append(f"{who}: {whole} points with them, {rest} without")
        for claim in (one.share for one in self.guessed):
            found = two_groups(np.array(claim.each.values), claim.each.answers) if claim.each else None
            if claim.each and found:
                low, high = (percent(value) for value in found[1:])
                both = f"{found[0]} at {low}, {len(claim.each.values) - found[0]} at {high}"
                said.append(f"{claim.agent} are two groups ({both}) rather than spread around one mean")
        return said

    @property
    def printed(self) -> list[str]:
        """Names of the published curves that its figures show."""
        return sorted(
            {look.label for figure in self.figures.values() for look in figure.looks if look.kind == GROUP_MEANS}
        )

    @property
    def effects(self) -> list[ComputedEffect]:
        """The effects that the paradigm shows."""
        return [figure for figure in self.figures.values() if isinstance(figure, ComputedEffect)]


@dataclass(frozen=True)
class ParadigmPart:
    """A paradigm on the page.

    Parameters
    ----------
    paradigm, title, anchor : its names
    same : that everybody took the same trials, in a sentence; empty where a warning says that it is
        not so
    effect : what the paradigm is taken for, in a sentence: its name, and the rest
    headline : sentences: a name, and what is said of it
    instructions, instructions_note : what people and models were told, and how far this holds for
        all of them; empty where it does
    figures : with their tables
    overall, lost, unread, intruded : rows of the table of everything together, and whether it has
        columns for lost answers, unread replies and intrusions
    tables : further tables
    model : the command for the mixed-effects model
    warnings, notes : what limits the comparison
    nback : whether it is an N-back paradigm
    references : of published people
    """

    paradigm: str
    title: str
    anchor: str
    same: str
    effect: tuple[str, str]
    headline: list[tuple[str, str]]
    instructions: str
    instructions_note: str
    figures: list[FigureOnPage]
    overall: list[dict[str, Any]]
    overall_file: str
    lost: bool
    unread: bool
    intruded: bool
    tables: list[tables.PageTable]
    model: str
    warnings: list[Remark]
    notes: list[Remark]
    nback: bool
    references: list[str]


def numbers_of_all(
    data: Data,
    names: Sequence[str],
    margins: Mapping[str, Margin] = NO_MARGINS,
    planned: Sequence[Comparison] = (),
) -> dict[str, Numbers]:
    """Every table of some paradigms; each claim is one of all of its kind in these.

    Raises
    ------
    SpanLabError
        for a comparison that was planned and that these data do not have.
    """
    numbers = {name: numbers_of(data, name, margins) for name in names}
    for one in planned:
        there = numbers.get(one.paradigm)
        if there is None or not any(one.names(claim, one.paradigm) for claim in there.claims):
            who = sorted({claim.agent for claim in there.claims}) if there else list(numbers)
            raise SpanLabError(
                f"{one.paradigm}/{one.what}/{one.agent} is not a comparison on this page, which has {listed(who)}",
                option="planned",
            )
    numbers = {name: one.changed(Planned(planned, name).claim) for name, one in numbers.items()}
    families = families_of(claim for one in numbers.values() for claim in one.claims)
    return {name: one.among(families) for name, one in numbers.items()}


def numbers_of(data: Data, paradigm: str, margins: Mapping[str, Margin] = NO_MARGINS) -> Numbers:
    """Every table of one paradigm."""
    scored = data.scored.parts[paradigm]
    figures, absent, failed = compute_figures(data, paradigm, margins)
    return Numbers(
        scored=scored,
        overall=with_unread(ranked(overall(scored.main))),
        guessed=against_guessing(scored.main),
        intrusions=intrusions(scored),
        intruded=intrusions(scored, ()),
        figures=figures,
        absent=tuple(absent),
        failed=tuple(failed),
        nback=nback_results(scored),
        differences=from_people(data, paradigm),
        margins=margins,
        effect=effect_claims([one for one in figures.values() if isinstance(one, ComputedEffect)], scored, margins),
    )


def part_of(
    data: Data,
    paradigm: str,
    numbers: Numbers,
    styles: Sequence[Look],
    looks: Mapping[str, Any],
    stem: str,
    folder: Folder,
    commands: ReportCommands,
    folded: bool = False,
) -> ParadigmPart:
    """Everything on the page about one paradigm; figures and tables are written on the way."""
    title = data.titles[paradigm]
    same, sentence = same_trials(numbers.scored.items)
    total = numbers.overall
    overall_file = folder.table(f"{stem}_overall", total)
    intruding = folder.table(f"{stem}_intrusions", numbers.intrusions)
    figures, undrawn = show_figures(numbers.figures, paradigm, title, stem, styles, folder, commands, folded)
    details = [tables.intrusion_table(numbers.intrusions, intruding)] if len(numbers.intrusions) else []
    if numbers.guessed:
        guessed = guessing_table(numbers.guessed, numbers.scored)
        details.append(tables.guessing_table(guessed, folder.table(f"{stem}_guessing", guessed)))
    limits = [Remark(text, warning=True) for text in (*undrawn, *withheld_notes(numbers.scored))]
    notes = [*limits, *_notes(data, paradigm, numbers), *map(Remark, numbers.failed)]
    sizes = numbers.figures.get("set_size")
    sentences = headline(
        total,
        total.iloc[:0] if sizes is None else sizes.table,
        numbers.differences,
        numbers.guessed,
        numbers.blind,
        numbers.margins.get("points"),
    )
    if numbers.nback is not None:
        folder.table(f"{stem}_nback_blocks", numbers.nback.blocks)
        notes += numbers.nback.notes()
        sentences = _with_ends(sentences, numbers.nback.ends())
    instructions, how = _instructions(data, paradigm)
    return ParadigmPart(
        paradigm=paradigm,
        title=title,
        anchor=anchor_of(stem),
        same=sentence if same else "",
        effect=numbers.effect.sentence if numbers.effect else ("", ""),
        headline=sentences,
        instructions=instructions,
        instructions_note=how,
        figures=figures,
        overall=tables.overall_rows(total, numbers.intruded, looks),
        overall_file=overall_file,
        lost=bool(total["n_omitted"].sum() + total["n_invalid"].sum()),
        unread="unread" in total.columns,
        intruded=bool(len(numbers.intruded)),
        tables=details,
        model=commands.stats(paradigm),
        warnings=[note for note in notes if note.warning],
        notes=[note for note in notes if not note.warning],
        nback=numbers.nback is not None,
        references=sorted(
            {reference for _, reference in sources(data.human.get(paradigm, paradigm)) if numbers.printed}
        ),
    )


def anchor_of(stem: str) -> str:
    """The anchor of a paradigm on the page."""
    return f"paradigm-{stem}"


def _instructions(data: Data, paradigm: str) -> tuple[str, str]:
    """The instructions, and a sentence in case they were not the same in all sessions and all the
    time."""
    sessions = [facts for facts in data.sessions if facts.paradigm == paradigm and facts.instructions]
    texts = list(dict.fromkeys(facts.instructions for facts in sessions))
    if not texts:
        return "", ""
    remark = (
        "As shown before the first trial; the text changes with the conditions."
        if any(facts.changing for facts in sessions)
        else ""
    )
    several = (
        f"Sessions were told {len(texts)} different texts; this is that of {sessions[0].name}."
        if len(texts) > 1
        else ""
    )
    return texts[0], " ".join(filter(None, (several, remark)))


def _notes(data: Data, paradigm: str, numbers: Numbers) -> list[Remark]:
    cells = (effect.table for effect in numbers.effects if effect.effect.value == "correct")
    published = bool(numbers.printed) and numbers.nback is None
    notes = like_for_like(
        data.scored,
        paradigm,
        numbers.overall,
        next(cells, numbers.overall),
        data.sessions,
        published,
        data.readouts.get(paradigm, ()),
    )
    if not numbers.effects and numbers.nback is None:
        notes.append(
            Remark(
                "No condition varies in these answers in a way that any figure shows, so there are only overall"
                " numbers.",
                warning=True,
            )
        )
    if numbers.scored.main is not numbers.scored:
        phase = numbers.scored.main.items["phase"].iloc[0]
        notes.append(Remark(f"Overall numbers are of the questions of the phase “{phase}”, the last of each trial."))
    return [*notes, *map(Remark, numbers.absent)]


def _with_ends(sentences: list[tuple[str, str]], ends: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(name, rest.removesuffix(".") + ends[name] + "." if name in ends else rest) for name, rest in sentences]
