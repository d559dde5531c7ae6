"""The report: one self-contained page that opens offline, with the figures (SVG, PDF) and tables (CSV) beside it."""

from __future__ import annotations

import functools
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path

from ..errors import SpanLabError
from .figures import page_theme, vegalite_version
from .gather import Gathered, gather
from .look import GROUP_MEANS, looks
from .names import name_agents
from .nback_published import REFERENCE
from .published import sources
from .resampling import RESAMPLES
from .section import curve_tables, section
from .story import Note, opening, timing_lines
from .table import Scored, score_table
from .tables import SHAPES


def compare(
    paths: Sequence[str | Path],
    out: str | Path,
    include_practice: bool = False,
    include_pilot: bool = False,
    command: str | None = None,
    conversations: Sequence[Mapping[str, str]] = (),
) -> Path:
    """Compare sessions: read them, draw their curves beside published human ones, and write ``report.html``.

    Parameters
    ----------
    paths : session folders, or data folders that hold sessions
    out : folder for the report, its figures and tables; made when needed
    include_practice, include_pilot : use these rows too
    command : the command to print for doing this again; ``spanlab compare ...`` when not given
    conversations : pages with conversations of chat models that stand in ``out`` by now: ``session``, ``agent``, ``account`` (a sentence on what the session
        took), ``href`` (empty when there is no page), ``trial`` and ``problem`` of each

    Returns
    -------
    Path
        of ``report.html``

    Raises
    ------
    SpanLabError
        when no session can be read or the folder cannot be written.
    """
    return write_report(paths, out, include_practice=include_practice, include_pilot=include_pilot, command=command, conversations=conversations)


def write_report(
    sessions: Sequence[str | Path],
    out: str | Path,
    *,
    include_practice: bool = False,
    include_pilot: bool = False,
    command: str | None = None,
    conversations: Sequence[Mapping[str, str]] = (),
) -> Path:
    """Write the report of sessions; see :func:`compare`."""
    out = Path(out)
    gathered = gather(sessions)
    scored = score_table(name_agents(gathered.responses, gathered.sessions), include_practice=include_practice, include_pilot=include_pilot)
    if command is None:
        options = ["--practice"] * include_practice + ["--pilot"] * include_pilot
        command = shlex.join(["spanlab", "compare", *map(str, sessions), "-o", str(out), *options])
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / "tables").mkdir(exist_ok=True)
        page = _page(gathered, scored, out, command, conversations)
        report = out / "report.html"
        report.write_text(page, encoding="utf-8")
    except OSError as error:
        raise SpanLabError(f"cannot write the report to {out}: {error.strerror or error}; choose another folder with -o") from None
    return report


def _page(gathered: Gathered, scored: Scored, out: Path, command: str, conversations: Sequence[Mapping[str, str]]) -> str:
    import jinja2

    met_by = scored.items.groupby("paradigm")["agent"].nunique()
    names = sorted(met_by.index, key=lambda name: (-met_by[name], name))
    human = {name: next((facts.human for facts in gathered.sessions if facts.paradigm == name and facts.human), name) for name in names}
    curves = {name: curve_tables(scored, name, human[name]) for name in names}
    met = scored.items[["agent", "agent_kind"]].drop_duplicates().itertuples(index=False, name=None)
    printed = [(agent, GROUP_MEANS) for one in curves.values() for agent in one["published"]]
    styles = looks([*met, *printed])
    number = {look.label: {**asdict(look), "number": place, "path": SHAPES.get(look.shape, SHAPES["circle"])} for place, look in enumerate(styles)}
    parts, specs = [], {}
    for name in names:
        part = section(gathered, scored, name, curves[name], styles, number, out)
        parts.append(part)
        specs |= {figure.key: figure.spec for figure in part["figures"]}
    problems = [Note(text, warning=True) for text in gathered.problems] + [Note(text) for text in scored.notes]
    if not names:
        problems.append(Note("There is nothing to draw: no scored answers are left.", warning=True))
    title, lead, facts = opening(gathered, scored, names)
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    here = files(__name__.rpartition(".")[0])
    return environment.from_string(here.joinpath("page.html.jinja").read_text("utf-8")).render(
        title=title,
        lead=lead,
        facts=facts,
        version=_version(),
        css=here.joinpath("page.css").read_text("utf-8"),
        js=here.joinpath("page.js").read_text("utf-8"),
        vega=_vega() if specs else "",
        figures=json.dumps({"specs": specs, "config": page_theme(styles)}, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c"),
        looks=list(number.values()),
        notes=problems,
        parts=parts,
        timing=timing_lines(gathered),
        resamples=RESAMPLES,
        nback_reference=REFERENCE,
        references=sorted({reference for name in names for _, reference in sources(human[name])}),
        sessions=gathered.sessions,
        conversations=conversations,
        command=command,
    )


@functools.cache
def _vega() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script, fit for a script element."""
    import vl_convert as vlc

    bundle = vlc.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=vegalite_version())
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("spanlab")
    except PackageNotFoundError:
        return ""
