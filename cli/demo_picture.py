"""The first page of the demonstration: the curves of published people and models beside those of a network and of you. Part of the command line."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from ..core.agent_kinds import PARTICIPANT, SIMULATED
from ..core.atomic_files import write_whole
from ..core.errors import SpanLabError

#: The figures of the page: paradigm, figure, heading.
PICTURES = (
    ("vsr", "serial_position", "Serial position, with primacy and recency"),
    ("smu", "set_size", "Set size"),
    ("nback_spatial", "nback_published", "N-back, with a published language model"),
)
#: Widths of the figures on a page of 1,024 px, half of it and whole.
_NARROW_MM, _WIDE_MM = 130.0, 270.0
_STYLE = """
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 480px), 1fr)); gap: 22px 34px; margin: 12px 0 26px; }
.pictures figure { margin: 0; } .pictures .wide { grid-column: 1 / -1; } .pictures h2 { font-size: 20px; }
.pictures svg { width: 100%; height: auto; background: #fff; border-radius: 8px; }
:root { color-scheme: light; --paper: #fcfbf8; --raised: #ffffff; --ink: #1d1f24; --soft: #565c67; --line: #e3e0d8; --accent: #00558c; }
"""


def first_page(real: Sequence[Path], everything: Sequence[Path], report: Path, words: Sequence[str]) -> Path:
    """Write the first page: figures of what is real, and links to what is simulated or scripted.

    Parameters
    ----------
    real : sessions of networks, of chat models that are no script, and of a person
    everything : all sessions, which are shown where none is real
    report : the page of the report
    words : the result, in sentences
    """
    figures = []
    for paradigm, name, heading in PICTURES:
        wide = name == "nback_published"
        width_mm = _WIDE_MM if wide else _NARROW_MM
        drawn = _drawn(name, paradigm, real, width_mm) or _drawn(name, paradigm, everything, width_mm)
        if drawn:
            figures.append(f"<figure{' class=wide' * wide}><h2>{escape(heading)}</h2>{drawn}</figure>")
    css = files("spanlab.core").joinpath("page.css").read_text("utf-8")
    said = "".join(f"<li>{escape(sentence)}</li>" for sentence in words)
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>SpanLab: people and machines</title><style>{css}{_STYLE}</style></head><body><header><div class="bar">'
        '<span class="mark">SpanLab</span></div><h1>People and machines, one experiment</h1>'
        '<p class="lead">Published results of people and language models, next to what was run on this computer.</p></header><main>'
        f'<div class="pictures">{"".join(figures)}</div><section><h2>The result in words</h2><ul>{said}</ul>'
        "<details><summary>What is simulated or scripted</summary><p>The simulated participant and observers, guessing, and the scripted chat server "
        f'are in <a href="report/{report.name}">the whole report</a>, with every test and table.</p></details></section></main></body></html>\n'
    )
    path = report.parent.parent / "first.html"
    write_whole(path, page.encode())
    return path


def _drawn(name: str, paradigm: str, sessions: Sequence[Path], width_mm: float) -> str:
    """A figure as SVG, so wide that its letters keep their size on the page; empty where these sessions do not have it."""
    from ..analysis.figures.charts import draw
    from ..analysis.figures.sheet import Sheet
    from ..api import figure
    from ..sessions.record.reader import read_session

    chosen = [folder for folder in sessions if read_session(folder)["paradigm"] == paradigm]
    if not chosen:
        return ""
    try:
        drawn = figure(name, chosen, paradigm=paradigm)
        return draw(drawn.spec, drawn.agents, Sheet(width_mm=width_mm))
    except SpanLabError:
        return ""


def result_in_words(sessions: Sequence[Path]) -> list[str]:
    """For each paradigm the share of correct answers of everyone; where there are published people, at their set sizes, each with the same weight."""
    from ..analysis.data.style import listed
    from ..sessions.record.reader import read_session
    from ..sessions.result import SessionResult

    shares: dict[str, dict[str, float]] = {}
    titles: dict[str, str] = {}
    for folder in sessions:
        info, result = read_session(folder), SessionResult(folder)
        paradigm = str(info["paradigm"])
        name = {PARTICIPANT.name: "you", SIMULATED.name: "simulated participant"}.get(info["agent_kind"], str(info["agent"]))
        rows = result.responses
        rows = rows[~rows["practice"].astype(bool)]
        people = _published(paradigm)
        by_size = rows["correct"].astype("Float64").groupby(rows["set_size"]).mean()
        common = [size for size in by_size.index if size in people]
        at = f" at set sizes {listed([str(int(size)) for size in common])}" if common and len(common) < len(by_size) else ""
        titles[paradigm] = f"{info.get('paradigm_title', paradigm)}, correct{at}"
        told = shares.setdefault(paradigm, {})
        if common:
            told["published people"] = sum(people[size] for size in common) / len(common)
        told[name] = float(by_size[common].mean()) if common else result.accuracy
    return [f"{titles[paradigm]}: {', '.join(f'{name} {100 * share:.0f}%' for name, share in told.items())}." for paradigm, told in shares.items()]


def _published(paradigm: str) -> dict[int, float]:
    """The mean accuracy of published people by set size."""
    from ..human_data import published

    table = published(paradigm)
    if not len(table):
        return {}
    means = table.dropna(subset="set_size").groupby("set_size")["accuracy"].mean()
    return dict(zip(means.index.astype(int).tolist(), means.tolist(), strict=True))
