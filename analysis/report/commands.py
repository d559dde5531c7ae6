"""The commands that reproduce parts of a report, as the user types them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..data.recipe import OPTION
from ..inference import Margin
from ..planned import Comparison


@dataclass(frozen=True)
class ReportCommands:
    """Commands for the data of a report.

    Parameters
    ----------
    data : sessions, folders and tables, as they were given
    out : folder of the report
    exclude : file of exclusion rules, None where there is none
    practice, pilot : whether these rows are used, too
    margins : within which differences count as none, as they were declared
    planned : comparisons that were named beforehand
    recipe : what the columns of tables mean, as it was typed
    accept_unread : whether answers of which many replies could not be read are tested all the same
    all_figures : every figure is written, also those that are folded on the page
    """

    data: tuple[str, ...]
    out: Path
    exclude: Path | None = None
    practice: bool = False
    pilot: bool = False
    margins: Mapping[str, Margin] = field(default_factory=dict[str, Margin])
    planned: tuple[Comparison, ...] = ()
    recipe: tuple[str, ...] = ()
    accept_unread: bool = False
    all_figures: bool = False

    @property
    def margin_options(self) -> list[str]:
        """The options that declare the margins."""
        return [word for one in self.margins.values() for word in ("--margin", one.typed)]

    @property
    def rows(self) -> list[str]:
        """The options that select the rows."""
        rules = [] if self.exclude is None else ["--exclude", str(self.exclude)]
        names = [word for typed in self.recipe for word in (OPTION, typed)]
        return [
            *rules,
            *names,
            *["--practice"] * self.practice,
            *["--pilot"] * self.pilot,
            *["--accept-unread"] * self.accept_unread,
        ]

    def figure(self, name: str, paradigm: str, file: str, asked: Sequence[str] = ()) -> str:
        """The command for a figure; ``file`` is its name in the report's folder, ``asked`` holds
        further options."""
        return self._with_rows(
            shlex.join(
                [
                    "spanlab",
                    "figure",
                    name,
                    *self.data,
                    "--paradigm",
                    paradigm,
                    *asked,
                    *self.margin_options,
                    "-o",
                    str(self.out / file),
                ]
            )
        )

    def scores(self, file: str = "", against: str = "") -> str:
        """The command for scores against people (published ones unless somebody is named). What
        goes beyond the paper is printed with them only."""
        named = ["--against", against] if against else []
        written = ["-o", str(self.out / file)] if file else []
        return self._with_rows(shlex.join(["spanlab", "scores", *self.data, *named, *written]))

    def stats(self, paradigm: str) -> str:
        """The command for the mixed-effects model of a paradigm."""
        return self._with_rows(
            shlex.join(["spanlab", "stats", *self.data, "--paradigm", paradigm, *self.margin_options])
        )

    def added(self, name: str, *options: str) -> str:
        """A command that another package adds, for these data and rules; ``options`` follow the
        data."""
        rules = [] if self.exclude is None else ["--exclude", str(self.exclude)]
        return shlex.join(["spanlab", name, *self.data, *rules, *options])

    def view(self) -> str:
        """The command that shows the conversations."""
        return shlex.join(["spanlab", "view", self.data[0]])

    def timing(self, sessions: Sequence[str]) -> str:
        """The command for the timing verdicts of sessions."""
        return shlex.join(["spanlab", "timing", *sessions])

    def compare(self) -> str:
        """The command for the whole report."""
        asked = [word for one in self.planned for word in ("--planned", one.typed)]
        asked += ["--all-figures"] * self.all_figures
        return self._with_rows(
            shlex.join(["spanlab", "compare", *self.data, *self.margin_options, "-o", str(self.out), *asked])
        )

    def _with_rows(self, command: str) -> str:
        return f"{command} {shlex.join(self.rows)}" if self.rows else command
