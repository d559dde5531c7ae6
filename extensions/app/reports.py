"""Reports of chosen sessions, made by ``spanlab compare``: the page as it was written, with marks
that say which trials are behind them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import Any

from spanlab.analysis.figures import MarkedAnswers
from spanlab.core import make_folder, write_json

from .curves import Curves
from .index import SessionLine
from .jobs import Job, Jobs, file_inside
from .points import mark_of
from .web import RefusedError

#: The first picture of a report, whose marks have numbers in the page itself.
OVERVIEW = "overview"
#: Which sessions were chosen, and in which state they were.
_CHOSEN = "chosen.json"
_NAME = re.compile(r"all|[0-9a-f]{16}")
_FIGURES = re.compile(r'(<script type="application/json" id="figures">)(.*?)(</script>)', re.S)
#: What a report may link to in its folder.
_FILE = re.compile(r"(?:figures|tables|conversations)/[\w.,@+=-]+\.(svg|pdf|csv|html)")
KINDS = {
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
    "csv": "text/csv; charset=utf-8",
    "html": "text/html; charset=utf-8",
}
#: A report runs in a sandbox: it has scripts of its own, but is no page of the app, and can neither
#: ask it for anything nor send anything anywhere.
SANDBOX = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline';"
    " img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)


@dataclass(frozen=True, slots=True)
class Report:
    """A report.

    Parameters
    ----------
    name : of its folder
    sessions : paths of those that were chosen, with their states when it was begun
    job : that made it last
    """

    name: str
    sessions: Mapping[str, str]
    job: Job

    def changed(self, lines: Sequence[SessionLine]) -> bool:
        """Return whether a session has gone on, or is gone, since the report was begun."""
        return dict(self.sessions) != {line.path: line.state for line in lines if line.path in self.sessions}


class Reports:
    """The reports of a data folder.

    Parameters
    ----------
    data : the folder; reports are in ``.app/reports`` below it, and can be made again
    """

    def __init__(self, data: Path, jobs: Jobs, curves: Curves) -> None:
        self._data, self._jobs, self._curves = data, jobs, curves
        self._folder = data / ".app" / "reports"
        self._starting = Lock()

    def arguments(
        self, chosen: Sequence[SessionLine], lines: Sequence[SessionLine], rules: Sequence[str] = ()
    ) -> list[str]:
        """The arguments of ``spanlab compare``: the same sessions have the same report.

        Parameters
        ----------
        rules : the options that leave out data

        Raises
        ------
        SpanLabError
            when no session is chosen, or none has a finished trial.
        """
        if not any(line.done for line in chosen):
            raise RefusedError("report")
        everything = len(chosen) == len(lines)
        about = "\n".join([*sorted(line.path for line in chosen), *rules])
        name = "all" if everything and not rules else hashlib.sha256(about.encode()).hexdigest()[:16]
        return [
            "compare",
            *([str(self._data)] if everything else [str(self._data / line.path) for line in chosen]),
            *rules,
            "-o",
            str(self._folder / name),
        ]

    def start(self, arguments: Sequence[str], chosen: Sequence[SessionLine], about: str = "") -> Job:
        """Make a report, unless it is being made.

        Parameters
        ----------
        about : the study that it is of; empty for chosen sessions

        Raises
        ------
        SpanLabError
            when its folder cannot be written.
        """
        name = Path(arguments[-1]).name
        with self._starting:
            if (report := self.report(name)) is not None and report.job.state == "runs":
                return report.job
            folder = self._folder / name
            make_folder(folder, f"the report to {folder}")
            # with another app
            write_json(folder / _CHOSEN, {"sessions": {line.path: line.state for line in chosen}}, together=True)
            return self._jobs.start(arguments, about)

    def all(self) -> list[Report]:
        """All reports, the newest first, without those of which it cannot be read what they are of
        (:meth:`unread`)."""
        return [report for report in self._read() if isinstance(report, Report)]

    def unread(self) -> list[str]:
        """The names of the reports of which it cannot be read what they are of."""
        return [name for name in self._read() if isinstance(name, str)]

    def _read(self) -> Iterator[Report | str]:
        seen: set[str] = set()
        for job in self._jobs.all():
            if _NAME.fullmatch(job.report) and job.report not in seen:
                seen.add(job.report)
                try:
                    chosen = json.loads(file_inside(self._folder, f"{job.report}/{_CHOSEN}").read_text("utf-8"))
                    yield Report(job.report, dict(chosen["sessions"].items()), job)
                except FileNotFoundError:
                    continue  # it was deleted, and can be made again
                except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
                    yield job.report

    def report(self, name: str) -> Report | None:
        """The report of a name; None where there is none."""
        return next((report for report in self.all() if report.name == name), None)

    def page(self, name: str) -> str:
        """The page of a report that is made, with marks that say which trials are behind them;
        empty where there is none."""
        try:
            return _with_marks(file_inside(self._folder, f"{name}/report.html").read_text(encoding="utf-8"))
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return ""

    def file(self, name: str, path: str) -> tuple[bytes, str]:
        """A file of a report, and its kind.

        Raises
        ------
        OSError
            when there is none, or it is none that reports have.
        """
        found = _FILE.fullmatch(path)
        if found is None:
            raise FileNotFoundError(path)
        return file_inside(self._folder, f"{name}/{path}").read_bytes(), found[1]

    def answers(self, report: Report, lines: Sequence[SessionLine], figure: str, number: int) -> MarkedAnswers | None:
        """The answers behind a mark of a report; None where it has no such mark.

        Parameters
        ----------
        lines : the sessions of the report that are still there
        figure, number : the mark's, among those of the page
        """
        try:
            exclude = report.job.option("--exclude")
            drawn = _figures_of(file_inside(self._folder, f"{report.name}/report.html").read_text(encoding="utf-8"))
            if figure == OVERVIEW:
                return self._curves.stated(drawn[OVERVIEW][number], lines, exclude)
            row = drawn["specs"][figure]["data"]["values"][number]
            if "answers" in row:
                return self._curves.stated(row["answers"], lines, exclude)
            return self._curves.answers([*drawn["named"][figure], "--exclude", exclude], lines, mark_of(row))
        except (OSError, ValueError, TypeError, KeyError, IndexError, AttributeError):
            return None


def _figures_of(page: str) -> dict[str, Any]:
    """Return what the page of a report draws."""
    found = _FIGURES.search(page)
    return {} if found is None else json.loads(found[2])


@lru_cache(maxsize=2)
def _with_marks(page: str) -> str:
    """A report whose marks have numbers where somebody in it has trials here, and which tells the
    page around it what was chosen."""
    drawn = _figures_of(page)
    answerers = set(drawn["answerers"])
    for figure, spec in drawn["specs"].items():
        for number, row in enumerate(spec["data"]["values"]):
            mark = mark_of(row) if figure in drawn["named"] else {}
            if "answers" in row or (mark and ("agent" not in mark or {mark["agent"], mark.get("panel")} & answerers)):
                row["mark"] = number
    numbered = json.dumps(drawn, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    script = (files("spanlab.extensions.app") / "page" / "inside.js").read_text("utf-8")
    page = _FIGURES.sub(lambda found: found[1] + numbered + found[3], page, count=1)
    whole, _, end = page.rpartition("</body>")
    return f"{whole}<script>{script}</script></body>{end}"
