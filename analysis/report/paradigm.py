"""One paradigm of a report: its figures, tables and notes; figures and tables are written on
the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ..data.loading import Data
from ..data.scoring import Scored
from ..data.style import GROUP_MEANS, Look, same_trials
from ..data.unread import with_unread, withheld_notes
from ..effects.curves import intrusions, overall, sources
from ..figures.effect_figure import ComputedEffect
from ..figures.figure import Computed
from ..guessing import AgainstGuessing, against_guessing, among_all, guessing_table
from ..inference import NO_MARGINS, Claim, Margin, of_family, sizes_of_families
from ..model_vs_human.differences import Difference, from_people
from . import html_tables as tables
from .commands import ReportCommands
from .effect_sentences import EffectClaims, effect_claims
from .figures import FigureOnPage, compute_figures, show_figures
from .folder import Folder
from .nback import NBack, nback_results
from .text import Remark, headline, like_for_like, ranked


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

    def among(self, sizes: Mapping[str, int]) -> Numbers:
        """The same, each claim among all of its kind on the page."""
        effect = self.effect.among(sizes) if self.effect else None
        figures = dict(self.figures)
        shown = effect and figures.get(effect.table[0])
        if effect and isinstance(shown, ComputedEffect):
            figures[effect.table[0]] = replace(shown, trends=effect.beside(shown.trends))
        return replace(
            self,
            figures=figures,
            guessed=among_all(self.guessed, sizes),
            differences={
                name: replace(one, claim=of_family(one.claim, sizes)) for name, one in self.differences.items()
            },
            effect=effect,
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


def numbers_of_all(data: Data, names: Sequence[str], margins: Mapping[str, Margin] = NO_MARGINS) -> dict[str, Numbers]:
    """Every table of some paradigms; each claim is one of all of its kind in these."""
    numbers = {name: numbers_of(data, name, margins) for name in names}
    sizes = sizes_of_families(claim for one in numbers.values() for claim in one.claims)
    return {name: one.among(sizes) for name, one in numbers.items()}


def numbers_of(data: Data, paradigm: str, margins: Mapping[str, Margin] = NO_MARGINS) -> Numbers:
    """Every table of one paradigm."""
    scored = data.scored.parts[paradigm]
    figures, absent, failed = compute_figures(data, paradigm, margins)
    return Numbers(
        scored=scored,
        overall=with_unread(ranked(overall(scored))),
        guessed=against_guessing(scored),
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
        same="" if same is False else sentence,
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
        references=(
            sorted({reference for _, reference in sources(data.human.get(paradigm, paradigm))})
            if numbers.printed
            else []
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
    cells = [effect.table for effect in numbers.effects if effect.effect.value == "correct"]
    published = bool(numbers.printed) and numbers.nback is None
    notes = like_for_like(
        data.scored,
        paradigm,
        numbers.overall,
        cells[0] if cells else numbers.overall,
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
    return [*notes, *map(Remark, numbers.absent)]


def _with_ends(sentences: list[tuple[str, str]], ends: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(name, rest.removesuffix(".") + ends[name] + "." if name in ends else rest) for name, rest in sentences]
