"""What an effect of memory is: from scored items to a tidy table, its notes, and the command that draws it again. Which there are: :mod:`.effects`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .columns import coded, decoded
from .curves import averages
from .look import GROUP_MEANS
from .nback import has_blocks
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
    value : the column that is averaged, such as ``correct`` or ``rt_ms``
    guessing : what somebody who guesses has on average, where the record does not tell it
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
    guessing: float | None = None
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
        if has_blocks(scored.items):
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
        if self.guessing is not None:
            table = table.assign(chance=self.guessing)
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
