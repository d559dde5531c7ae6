"""The report: one self-contained page that opens offline, with the figures (SVG, PDF) and tables (CSV) beside it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import SpanLabError
from . import tables
from .curves import accuracy_by_serial_position, accuracy_by_set_size, intrusions, overall, primacy_recency
from .figures import declaration, for_page, page_theme, save, serial_position_chart, set_size_chart, vegalite_version
from .gather import Gathered, gather
from .look import PUBLISHED, Look, looks
from .names import listed, name_agents, same_trials, title_of
from .published import published_curve, sources
from .resampling import RESAMPLES
from .story import KINDS, Note, between, headline, like_for_like, percent, ranked, timing_sentence
from .table import Scored, plural, score_table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class _Figure:
    key: str
    title: str
    caption: str
    stem: str
    table: str
    spec: dict[str, Any]


def compare(paths: Sequence[str | Path], out: str | Path, include_practice: bool = False, include_pilot: bool = False, command: str | None = None) -> Path:
    """Compare sessions: read them, draw their curves beside published human ones, and write ``report.html``.

    Parameters
    ----------
    paths : session folders, or data folders that hold sessions
    out : folder for the report, its figures and tables; made when needed
    include_practice, include_pilot : use these rows too
    command : the command to print for doing this again; ``spanlab compare ...`` when not given

    Returns
    -------
    Path
        of ``report.html``

    Raises
    ------
    SpanLabError
        when no session can be read or the folder cannot be written.
    """
    return write_report(paths, out, include_practice=include_practice, include_pilot=include_pilot, command=command)


def write_report(sessions: Sequence[str | Path], out: str | Path, *, include_practice: bool = False, include_pilot: bool = False, command: str | None = None) -> Path:
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
        page = _page(gathered, scored, out, command)
        report = out / "report.html"
        report.write_text(page, encoding="utf-8")
    except OSError as error:
        raise SpanLabError(f"cannot write the report to {out}: {error.strerror or error}; choose another folder with -o") from None
    return report


def _page(gathered: Gathered, scored: Scored, out: Path, command: str) -> str:
    import jinja2

    met_by = scored.items.groupby("paradigm")["agent"].nunique()
    names = sorted(met_by.index, key=lambda name: (-met_by[name], name))
    human = {name: next((facts.human for facts in gathered.sessions if facts.paradigm == name and facts.human), name) for name in names}
    curves = {name: _curves(scored, name, human[name]) for name in names}
    met = scored.items[["agent", "agent_kind"]].drop_duplicates().itertuples(index=False, name=None)
    printed = [(agent, PUBLISHED) for one in curves.values() for agent in one["published"]]
    styles = looks([*met, *printed])
    number = {look.label: {**asdict(look), "number": place, "path": tables.SHAPES.get(look.shape, tables.SHAPES["circle"])} for place, look in enumerate(styles)}
    parts, specs = [], {}
    for name in names:
        part = _part(gathered, scored, name, curves[name], styles, number, out)
        parts.append(part)
        specs |= {figure.key: figure.spec for figure in part["figures"]}
    problems = [Note(text, warning=True) for text in gathered.problems] + [Note(text) for text in scored.notes]
    if not names:
        problems.append(Note("There is nothing to draw: no scored answers are left.", warning=True))
    title, lead, facts = _opening(gathered, scored, names)
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    here = files(__package__)
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
        timing=_timing(gathered),
        method=_method(scored),
        references=sorted({reference for name in names for _, reference in sources(human[name])}),
        sessions=gathered.sessions,
        command=command,
    )


def _curves(scored: Scored, paradigm: str, human: str) -> dict[str, Any]:
    """All curve tables of one paradigm."""
    import pandas as pd

    own = Scored(scored.items[scored.items["paradigm"] == paradigm], scored.intrusions[scored.intrusions["paradigm"] == paradigm], ())
    position, size = ("list_length", "serial_position"), ("set_size",)
    result: dict[str, Any] = {"own": own, "overall": overall(own), "primacy": primacy_recency(own), "intrusions": intrusions(own), "intruded": intrusions(own, ())}
    published: set[str] = set()
    for key, by, curve in (("position", position, accuracy_by_serial_position(own)), ("size", size, accuracy_by_set_size(own))):
        printed = published_curve(human, by).assign(paradigm=paradigm) if len(curve) else published_curve("", by)
        printed = printed[printed["list_length"].isin(curve["list_length"].unique())] if key == "position" else printed
        published |= set(printed["agent"])
        result[key] = pd.concat([curve, printed], ignore_index=True) if len(printed) else curve
    return result | {"published": sorted(published)}


def _part(gathered: Gathered, scored: Scored, paradigm: str, curves: dict[str, Any], styles: Sequence[Look], number: dict[str, Any], out: Path) -> dict[str, Any]:
    """Everything that the page says of one paradigm; figures and tables are written on the way."""
    title = title_of(paradigm, gathered.sessions)
    anchor = re.sub(r"[^A-Za-z0-9]+", "-", paradigm).strip("-") or "paradigm"
    stem = re.sub(r"[^A-Za-z0-9]+", "_", paradigm).strip("_") or "paradigm"
    position, size, own = curves["position"], curves["size"], curves["own"]
    same, sentence = same_trials(own.items)
    total = ranked(curves["overall"])
    for name, table in (("overall", total), ("serial_position", position), ("set_size", size), ("primacy_recency", curves["primacy"]), ("intrusions", curves["intrusions"])):
        if len(table):
            table.to_csv(out / "tables" / f"{stem}_{name}.csv", index=False)
    dashed = "Dotted: chance."
    bars = "Bars: 95% intervals (faint for simulated observers and guessing)."
    no_human = "" if curves["published"] else " No digitised human data are published for this paradigm."
    figures = []
    if len(position):
        caption = f"One panel for each list length. {bars} {dashed}{no_human}"
        chart = serial_position_chart(position, styles, title=f"{title}: correct by serial position", subtitle=_wrapped(caption))
        figures.append(_Figure(f"{stem}-position", "Correct by serial position", caption, f"figures/{stem}_serial_position", f"tables/{stem}_serial_position.csv", _saved(chart, out, f"{stem}_serial_position", styles)))  # fmt: skip
    if len(size):
        caption = f"All positions together. {bars} {dashed}{no_human}"
        word = "list length" if own.items["list_length"].notna().all() else "set size"
        chart = set_size_chart(size, styles, title=f"{title}: correct by {word}", subtitle=_wrapped(caption), x_title=f"{word} (items)")
        figures.append(_Figure(f"{stem}-size", f"Correct by {word}", caption, f"figures/{stem}_set_size", f"tables/{stem}_set_size.csv", _saved(chart, out, f"{stem}_set_size", styles)))  # fmt: skip
    notes = like_for_like(scored, paradigm, total, position if len(position) else size, gathered.sessions, bool(curves["published"]))
    if not len(position):
        notes.append(Note("This paradigm has no serial positions, so there is no serial-position curve."))
    return {
        "paradigm": paradigm,
        "title": title,
        "anchor": anchor,
        "same": sentence if same else "Not everybody took the same trials." if same is False else sentence,
        "headline": headline(total, size),
        "instructions": next((facts.instructions for facts in gathered.sessions if facts.paradigm == paradigm and facts.instructions), ""),
        "figures": figures,
        "overall": tables.overall_rows(total, curves["intruded"], number),
        "lost": bool(total["n_omitted"].sum() + total["n_invalid"].sum()),
        "intruded": bool(len(curves["intruded"])),
        "tables": tables.details(curves),
        "notes": notes,
    }


def _saved(chart: Any, out: Path, name: str, agents: Sequence[Look]) -> dict[str, Any]:
    """Write a chart's files; gives its declaration for the page."""
    save(chart, out / "figures" / name, agents)
    return for_page(declaration(chart))


def _wrapped(text: str, width: int = 100) -> str:
    import textwrap

    return "\n".join(textwrap.wrap(text, width))


def _opening(gathered: Gathered, scored: Scored, names: Sequence[str]) -> tuple[str, str, list[str]]:
    """Title, first paragraph and the line of facts."""
    items = scored.items
    agents = ranked(items[["agent", "agent_kind"]].drop_duplicates())
    people = bool((agents["agent_kind"] == "participant").any())
    verdicts = [same_trials(items[items["paradigm"] == name])[0] for name in names]
    if not names:
        return "Nothing to compare yet", "None of the sessions holds a scored answer.", [plural(len(gathered.sessions), "session")]
    who = "People and machines" if people and agents["agent_kind"].ne("participant").any() else "People" if people else "Machines"
    alone = len(agents) == 1
    title = f"{agents['agent'].iloc[0]}" if alone else f"{who}, the same trials" if all(verdicts) else f"{who}, side by side"
    words = [f"{agent} ({KINDS.get(kind, kind)})" if kind in ("network", "chat", "recorded") else agent for agent, kind in agents.itertuples(index=False, name=None)]
    lead = f"{listed(words)} took {listed([title_of(name, gathered.sessions) for name in names])}."
    if len(names) == 1 and all(verdicts) and not alone:
        lead += " Everybody took exactly the same trials, so the curves can be read side by side."
    elif all(verdicts) and not alone:
        lead += " Within each paradigm everybody took exactly the same trials, so the curves can be read side by side."
    days = sorted({facts.started[:10] for facts in gathered.sessions if facts.started})
    facts = [plural(len(gathered.sessions), "session"), plural(len(agents), "answerer"), plural(len(names), "paradigm"), f"{len(items):,} scored items"]
    return title, lead, facts + ([f"recorded {days[0]}" + (f" to {days[-1]}" if len(days) > 1 else "")] if days else [])


def _timing(gathered: Gathered) -> list[str]:
    shown: dict[str, list[Any]] = {}
    for facts in gathered.sessions:
        if facts.timing is not None:
            who = "People at the window" if facts.kind == "participant" else "Simulated participant at the window" if facts.kind == "simulated" else facts.agent
            shown.setdefault(who, []).append(facts.timing)
    return [timing_sentence(who, timings) for who, timings in sorted(shown.items())]


def _method(scored: Scored) -> list[str]:
    units = "participants where an agent is several people, trials otherwise"
    return [
        "An item counts as correct when the recorded answer was; omitted and invalid answers count as wrong. Answers that were not asked for in free recall (intrusions) are no items; they "
        "are counted apart. Practice and pilot rows are left out unless asked for.",
        f"Accuracy is averaged within each trial, then within each participant, then across participants. Standard errors and intervals treat these as independent: {units}; never the items of one trial.",
        f"95% intervals are expanded percentile bootstrap intervals ({RESAMPLES:,} resamples, fixed seed; Hesterberg, 2015). Where every unit is at 0% or at 100% there is nothing to resample, and the "
        "far end is the exact binomial limit (Clopper & Pearson, 1934). A single unit has no interval.",
        "The chance line is the probability that a blind guess scores the item, as the paradigm computes it.",
        "Primacy is the accuracy at the first position minus the mean of the middle positions (2 to L−1), recency that of the last position minus the same mean, within lists of three or more that "
        "were answered in full.",
    ]


def _vega() -> str:
    import vl_convert as vlc

    bundle = vlc.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=vegalite_version())
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("spanlab")
    except PackageNotFoundError:
        return ""
