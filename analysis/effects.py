"""The effects of memory that SpanLab looks for, each declared once: figure, table, tests, scores, report and documentation all come from this registry.

An effect applies to whatever data have its columns, not to a list of paradigms, so variants of a paradigm have its figures too. N-back has tables of its own
(:mod:`.nback`).
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..components import nearest
from ..errors import SpanLabError
from . import derived
from .capacity import capacity
from .columns import coded, decoded
from .curves import averages, primacy_recency
from .look import GROUP_MEANS
from .published import published_curve
from .table import Scored, plural, score_table

if TYPE_CHECKING:
    import pandas as pd

#: Names of conditions in the order in which figures show them.
Order = tuple[str, ...]


@dataclass(frozen=True)
class Effect:
    """One effect.

    Parameters
    ----------
    name : as ``spanlab figure`` knows it
    title : of its figure, after the paradigm's
    paradigms : of the library, that have it; for the documentation only
    x, x_title : the column along the horizontal axis, and what it is called there
    panels : columns of which every combination has a panel of its own
    needs : further columns without which there is no effect
    method : how it is computed, in plain sentences
    prepare : from scored items to rows that are averaged; as they are when not given
    make : from prepared items to the whole table, where it is no average
    value : the column that is averaged: ``correct``, or ``rt_ms``
    measure : what the vertical axis says
    order : of the conditions, where the horizontal axis has names and no numbers
    differences : of such conditions, each with its name: the first condition minus the second
    panel_order : of the panels, where they have names
    panel_said : how the value of each panel column is said; ``{}`` stands for it
    human : whether published human curves are put beside it
    """

    name: str
    title: str
    paradigms: tuple[str, ...]
    x: str
    x_title: str
    method: str
    panels: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    prepare: Callable[[Scored], Scored] | None = None
    make: Callable[[Scored], pd.DataFrame] | None = None
    value: str = "correct"
    measure: str = "correct"
    order: Order = ()
    differences: tuple[tuple[str, str, str], ...] = ()
    panel_order: Order = ()
    panel_said: tuple[str, ...] = ()
    human: bool = True

    @property
    def by(self) -> tuple[str, ...]:
        """The columns that span its cells: panels, then the horizontal axis."""
        return (*self.panels, self.x)

    def applies(self, responses: pd.DataFrame | Scored) -> list[str]:
        """The paradigms among the responses that show this effect: they have its columns, and more than one condition along its axis."""
        return [name for name, part in _scored(responses).parts.items() if not self._checked(part, name)[0]]

    def missing(self, responses: pd.DataFrame | Scored, paradigm: str) -> str:
        """Why a paradigm does not show this effect, in a sentence; empty when it does."""
        return self._checked(_of(_scored(responses), paradigm), paradigm)[0]

    def _checked(self, scored: Scored | None, paradigm: str) -> tuple[str, Scored]:
        """Why there is no such effect in a paradigm, and its rows as they are averaged."""
        if scored is None or not len(scored.items):
            return f"{paradigm} has no scored answers.", scored  # type: ignore[return-value]
        if derived.is_nback(scored.items):
            return f"{paradigm} is an N-back paradigm, which has figures of its own.", scored
        lacking = [name for name in self.needs if name not in scored.items.columns or not scored.items[name].notna().any()]
        if lacking:
            return f"{paradigm} has no {' and no '.join(lacking)}.", scored
        ready = self.prepared(scored)
        found = [] if self.x not in ready.items.columns else coded(ready.items[self.x])[1]
        if len(found) < 2:
            many = f"only one value of {self.x_title} ({found[0]})" if found else f"no {self.x_title}"
            return f"{paradigm} has {many}, so there is nothing to compare.", ready
        if self.value not in ready.items.columns or not ready.items[self.value].notna().any():
            return f"{paradigm} has no {self.measure}.", ready
        return "", ready

    def table(self, responses: pd.DataFrame | Scored, paradigm: str, *, human: str | None = None, **options: Any) -> pd.DataFrame:
        """The tidy table of the effect in one paradigm.

        Parameters
        ----------
        responses : a response table, or one that :func:`.score_table` has sorted
        human : name of the published human data that belong to it; the paradigm's name when not given, no people when empty
        options : ``who``, ``level``, ``resamples`` and ``seed``, as in :func:`.accuracy`

        Returns
        -------
        pandas.DataFrame
            who, the columns of :attr:`by`, ``mean``, ``sem``, ``low``, ``high``, ``chance``, ``unit``, ``n_units``, counts and ``note``; empty, with the same
            columns, where the effect does not apply. Published people are rows whose ``agent_kind`` is ``group means``.
        """
        import pandas as pd

        missing, ready = self._checked(_of(_scored(responses), paradigm), paradigm)
        if missing:
            return published_curve("", self.by)
        table = self.make(ready, **options) if self.make else averages(ready, self.by, value=self.value, **options)
        if not self.human:
            return table
        printed = published_curve(paradigm if human is None else human, self.by).assign(paradigm=paradigm)
        for name in self.panels:
            printed = printed[printed[name].isin(table[name].unique())]
        return pd.concat([table, printed], ignore_index=True) if len(printed) else table

    def notes(self, responses: pd.DataFrame | Scored, paradigm: str, table: pd.DataFrame) -> list[str]:
        """What must be known of a table: items in no cell, few units, missing people."""
        missing, prepared = self._checked(_of(_scored(responses), paradigm), paradigm)
        if missing:
            return [missing]
        notes, ready = [], prepared.items
        lost = int(ready[[*self.by, self.value]].isna().any(axis=1).sum()) if self.make is None else 0
        if lost and self.value == "correct":
            notes.append(f"{plural(lost, 'item')} without {self.x_title} left out.")
        own = table[table["agent_kind"] != GROUP_MEANS]
        rough = int((own["interval"].eq("none") | own["note"].fillna("").str.startswith("only ")).sum())
        if rough:
            notes.append(f"{plural(rough, 'point')} of {len(own)} with a rough interval or none; the table says which.")
        if self.human and len(own) == len(table):
            notes.append("No digitised human data are published for these conditions.")
        return notes

    def command(self, data: Sequence[Any], paradigm: str, file: str) -> str:
        """The command that draws it again."""
        return shlex.join(["spanlab", "figure", self.name, *map(str, data), "--paradigm", paradigm, "-o", file])

    def panel(self, row: Mapping[Any, Any]) -> str:
        """What the panel of a row of its table is called."""
        said = self.panel_said or ("{}",) * len(self.panels)
        return ", ".join(_said(words, row[name]) for words, name in zip(said, self.panels, strict=True))

    def prepared(self, scored: Scored) -> Scored:
        """Scored items of one paradigm with the columns of this effect, as they are averaged."""
        items = scored.items
        plain = {name: decoded(items[name]) for name in (*self.by, *self.needs) if name.startswith(("factor_", "record_")) and name in items.columns}
        scored = Scored(items.assign(**plain), scored.intrusions, ()) if plain else scored
        return self.prepare(scored) if self.prepare else scored


def _said(words: str, value: Any) -> str:
    whole = isinstance(value, float) and value.is_integer()
    text = words.format(int(value) if whole else value)
    return text.replace("1 items", "1 item").replace(" 1 items", " 1 item") if text.startswith("1 items") else text


def _scored(responses: pd.DataFrame | Scored) -> Scored:
    return responses if isinstance(responses, Scored) else score_table(responses)


def _of(scored: Scored, paradigm: str) -> Scored | None:
    return scored.parts.get(paradigm)


def ready(effect: Effect, responses: pd.DataFrame | Scored, paradigm: str) -> Scored:
    """The rows of one paradigm that an effect is averaged over."""
    scored = _scored(responses)
    return effect.prepared(scored.parts[paradigm])


def paradigms_of(responses: pd.DataFrame | Scored) -> list[str]:
    """The paradigms of scored answers, by name."""
    return list(_scored(responses).parts)


def _ends(scored: Scored, **options: Any) -> pd.DataFrame:
    """Primacy and recency as a curve table; nobody who guesses has any."""
    return primacy_recency(scored, **options).assign(chance=0.0)


_ITEMS = "{} items"
EFFECTS: tuple[Effect, ...] = (
    Effect(
        name="serial_position",
        title="correct by serial position",
        paradigms=("vsr", "vsrec", "lsr", "sfr", "vir", "cs"),
        x="serial_position",
        x_title="serial position",
        panels=("list_length",),
        panel_said=(_ITEMS,),
        needs=("list_length", "serial_position"),
        method="Proportion of items that were answered correctly at each position of the list, for each list length. In free recall an item is correct "
        "when it was recalled at all, in whatever order.",
    ),
    Effect(
        name="primacy_recency",
        title="primacy and recency",
        paradigms=("vsr", "vsrec", "lsr", "sfr"),
        x="list_length",
        x_title="list length",
        panels=("index",),
        panel_order=("primacy", "recency"),
        needs=("list_length", "serial_position"),
        prepare=derived.whole_lists,
        make=_ends,
        value="primacy",
        measure="first or last minus middle",
        human=False,
        method="Within each trial of three items or more: correct at the first (primacy) or the last position (recency) minus the mean of all positions "
        "between. 0 means no effect.",
    ),
    Effect(
        name="free_recall",
        title="whole lists recalled",
        paradigms=("sfr",),
        x="list_length",
        x_title="list length",
        panels=("criterion",),
        panel_order=("in any order", "in order"),
        needs=("list_length", "serial_position", "output_position"),
        prepare=derived.whole_recall,
        measure="trials with the whole list",
        human=False,
        method="Proportion of trials in which every item was recalled and nothing else: in any order, and in the order of presentation.",
    ),
    Effect(
        name="first_recalled",
        title="what was recalled first",
        paradigms=("sfr",),
        x="list_length",
        x_title="list length",
        panels=("recalled_first",),
        panel_order=("first item", "last four", "another item", "not an item"),
        needs=("list_length", "serial_position", "output_position"),
        prepare=derived.recalled_first,
        measure="trials",
        human=False,
        method="What the first answer of each trial was: the first item of the list, one of its last four (which do not include the first), another item, or a "
        "cell that was not in the list. Trials without any answer are left out.",
    ),
    Effect(
        name="set_size",
        title="correct by set size",
        paradigms=("smu", "cd", "vsr", "vsrec", "lsr", "sfr", "vir", "sc"),
        x="set_size",
        x_title="set size",
        needs=("set_size",),
        method="Proportion correct by the number of items held in mind, everything else taken together.",
    ),
    Effect(
        name="retention_interval",
        title="correct by retention interval",
        paradigms=("vir", "cd"),
        x="retention_steps",
        x_title="retention interval (model steps)",
        panels=("set_size",),
        panel_said=(_ITEMS,),
        needs=("retention_steps", "set_size"),
        method="Proportion correct by the number of empty steps between the last item and the probe, for each number of items.",
    ),
    Effect(
        name="serial_position_retention",
        title="serial positions by retention interval",
        paradigms=("vir",),
        x="serial_position",
        x_title="serial position",
        panels=("list_length", "retention_steps"),
        panel_said=(_ITEMS, "retention {}"),
        needs=("retention_steps", "list_length", "serial_position"),
        method="Proportion correct at each position of the list, for each list length and retention interval (in model steps).",
    ),
    Effect(
        name="cognitive_load",
        title="correct by cognitive load",
        paradigms=("cs",),
        x="record_cognitive_load",
        x_title="cognitive load",
        panels=("factor_storage", "factor_distractor_domain"),
        panel_said=("{} storage", "{} decisions"),
        needs=("factor_storage", "factor_distractor_domain", "record_cognitive_load", "serial_position"),
        prepare=derived.probes,
        method="Proportion of the two stored items that were found among eight, by cognitive load: the share of the time between items that the decisions "
        "take. The decisions themselves, for which nothing need be held, are not among the answers.",
    ),
    Effect(
        name="domain_conflict",
        title="same and other domain",
        paradigms=("cs",),
        x="domains",
        x_title="domain of the decisions",
        panels=("factor_storage", "factor_load"),
        panel_said=("{} storage", "load {}"),
        needs=("factor_storage", "factor_distractor_domain", "factor_load", "serial_position"),
        prepare=derived.domains,
        order=("the same", "the other"),
        differences=(("conflict", "the other", "the same"),),
        human=False,
        method="Proportion of stored items found, where the decisions were of the same domain as the items and where they were of the other one. "
        "Trials without any decision are left out: no domain can conflict there.",
    ),
    Effect(
        name="memory_resolution",
        title="correct by pattern–distractor difference",
        paradigms=("vsrec",),
        x="factor_pattern_distractor_difference",
        x_title="cells that differ",
        panels=("list_length",),
        panel_said=(_ITEMS,),
        needs=("factor_pattern_distractor_difference", "list_length"),
        method="Proportion of patterns told from their distractors, by the number of cells in which the two differ, for each list length.",
    ),
    Effect(
        name="features",
        title="correct by feature and set size",
        paradigms=("cd",),
        x="set_size",
        x_title="set size",
        panels=("factor_feature",),
        panel_order=("colour", "orientation", "size", "gap", "conjunction"),
        needs=("factor_feature", "set_size"),
        method="Proportion correct by the number of bars, for each feature that may change; conjunction: any of the four may.",
    ),
    Effect(
        name="conjunctions",
        title="conjunctions by what changed",
        paradigms=("cd",),
        x="set_size",
        x_title="set size",
        panels=("change",),
        panel_order=("colour", "orientation", "size", "gap", "nothing"),
        needs=("factor_feature", "record_changed_feature", "set_size"),
        prepare=derived.conjunctions,
        human=False,
        method="Trials in which any of four features may change: proportion correct by the number of bars, for each feature that did change. Where nothing "
        "changed, correct means that 'same' was said.",
    ),
    Effect(
        name="symmetry_offset",
        title="correct by symmetry offset",
        paradigms=("sc",),
        x="record_symmetry_offset",
        x_title="cells out of symmetry (0: symmetric)",
        panels=("list_length",),
        panel_said=("{} cells",),
        needs=("record_symmetry_offset", "list_length"),
        method="Proportion correct by the number of cells that break the symmetry, for each number of cells. At 0 the figure is symmetric, and correct means "
        "that 'symmetric' was said; a readiness to say so shows there and in all others, in opposite directions.",
    ),
    Effect(
        name="integrations",
        title="correct by number of parts",
        paradigms=("si",),
        x="list_length",
        x_title="parts to integrate",
        needs=("factor_part_size", "list_length"),
        method="Proportion correct by the number of parts in which the figure was shown.",
    ),
    Effect(
        name="task_switching",
        title="switching and mixing",
        paradigms=("sts",),
        x="judgement",
        x_title="judgement",
        needs=("record_transition",),
        prepare=derived.judgements,
        order=("one task", "repetition", "switch"),
        differences=(("mixing cost", "one task", "repetition"), ("switch cost", "repetition", "switch")),
        human=False,
        method="Proportion correct in runs of one task, and in mixed runs after the same task (repetition) and after the other (switch). Mixing cost: one task "
        "minus repetition; switch cost: repetition minus switch. The first judgement of a run is neither, and is left out.",
    ),
    Effect(
        name="switching_time",
        title="time to switch and to mix",
        paradigms=("sts",),
        x="judgement",
        x_title="judgement",
        needs=("record_transition", "rt_ms"),
        prepare=derived.timed_judgements,
        value="rt_ms",
        measure="reaction time (ms)",
        order=("one task", "repetition", "switch"),
        differences=(("mixing cost", "repetition", "one task"), ("switch cost", "switch", "repetition")),
        human=False,
        method="Mean reaction time of correct judgements, in runs of one task, and in mixed runs after the same task and after the other.",
    ),
    Effect(
        name="capacity",
        title="items held (K)",
        paradigms=("cd",),
        x="set_size",
        x_title="set size",
        panels=("formula",),
        panel_order=("Pashler", "Cowan"),
        needs=("set_size", "correct_answer"),
        prepare=derived.detections,
        make=capacity,
        measure="items (K)",
        human=False,
        method="From hit rate H (changes seen) and false-alarm rate F: Pashler's K = N (H − F) / (1 − F), for probes that show the whole display again, as in "
        "change detection here; Cowan's K = N (H − F), for probes of a single item, is put beside it.",
    ),
)


def effect(name: str) -> Effect:
    """The effect of that name.

    Raises
    ------
    SpanLabError
        when there is none; the message lists those that there are.
    """
    known = {one.name: one for one in EFFECTS}
    if name not in known:
        raise SpanLabError(f"there is no figure called '{name}'{nearest(name, known) or ''}; there are {', '.join(known)}")
    return known[name]
