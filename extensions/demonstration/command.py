"""The demonstration: a participant and machines take the same trials, and one page shows the
results. It uses public functions, and a chat server of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import typer

from spanlab import SessionResult, compare, figure, replay, run
from spanlab.api import PathLike, public
from spanlab.api.options import one_trial
from spanlab.core import PARTICIPANT, SpanLabError, grouped, make_folder, write_whole
from spanlab.core.agent_kinds import NETWORK
from spanlab.core.doors import how_to_install, installed

SEED = 7
#: how many times as fast as people the simulated participant answers
SPEED = 3.0
#: what a part of the demonstration needs: its extra, the packages that are imported, and what is
#: left out without them
PARTS = {
    "lab": (("psychopy", "Xlib"), "the participant at the window"),
    "networks": (("torch",), "the network"),
    "chat": (("openai",), "the chat model"),
}
#: one list length, long enough for a middle that is harder than its ends, of which there is a
#: published human curve; and as many lists as few minutes hold
LENGTH = 6
LISTS = 8
#: paradigms that only machines take here: their levels, and how many trials
MACHINES: dict[str, tuple[dict[str, list[Any]], int]] = {
    "smu": ({}, 96),
    "nback_spatial": ({"lures": ["free"], "grid": [3], "block_length": [24]}, 12),
}


@public
def demo(
    me: Annotated[bool, typer.Option("--me", help="you are the participant (needs a screen)")] = False,
    output: Annotated[
        PathLike, typer.Option("-o", "--output", help="folder for sessions and report", metavar="DIR")
    ] = "demo",
) -> None:
    """Show everything in a few minutes: a participant, a scripted chat server, a network and
    simulated observers take the same trials; then the report.

    Examples
    --------
    It takes minutes, and needs nothing that is not installed:

    >>> spanlab.demo(output="demo")  # doctest: +SKIP
    """
    began = time.monotonic()
    if me:
        from spanlab.agents.human.display.window import need_window

        need_window()
    parts = _parts()
    asked = Path(output)
    free = (asked.with_name(f"{asked.name}-{n}") if n > 1 else asked for n in range(1, 1000))
    output = next(folder for folder in free if not folder.exists())
    make_folder(output, f"to {output}", "choose another folder with -o")
    data, like = output / "data", None
    with ExitStack() as stack:
        agents: list[Any] = ["ideal", "capacity", "chance"]
        agents += ["network:limited"] if "networks" in parts else []
        if "chat" in parts:
            agents.append(_scripted(stack))
        if "lab" in parts:
            like = _participant(data, me, stack)
        same: dict[str, Any] = {"like": like}
        if like is None:
            same = {"paradigm": "vsr", "levels": {"list_length": LENGTH}, "trials": LISTS, "seed": SEED}
        with _stage("machines: the same trials"):
            replay(agent=agents, data=data, say=_silent, **same)
        for name, (levels, count) in MACHINES.items():
            with _stage(f"machines: {count} trials of {name}"):
                replay(name, agents, levels=levels, trials=count, seed=SEED, data=data, say=_silent)
    with _stage("comparing"):
        report = compare([data], output / "report").file
    with _stage("drawing the first page"):
        first = first_page(data, report)
    print(
        f"\ndone in {time.monotonic() - began:.0f} s. Open {first.resolve()} in a browser; the whole report is"
        f" {report.resolve()}"
    )


def _silent(sentence: str) -> None:
    """Say nothing."""


def _parts() -> set[str]:
    """The extras that are installed; a line names each that is not, and what is left out without
    it."""
    there = {extra for extra, (packages, _) in PARTS.items() if all(map(installed, packages))}
    for extra in PARTS.keys() - there:
        how = how_to_install(extra).replace("install it", "install them")
        print(f"· without {PARTS[extra][1]}: it needs packages that are not installed; {how}", flush=True)
    return there


def _participant(data: Path, me: bool, stack: ExitStack) -> Path:
    """The session of visual serial recall of whoever sits at the screen."""
    asked: dict[str, Any] = {"levels": {"list_length": LENGTH}, "trials": LISTS, "seed": SEED, "data": data}
    who = "you" if me else "a simulated participant (real keys and clicks, invisible screen)"
    with _stage(f"{who}: {LISTS} lists of {LENGTH} patterns in a PsychoPy window"):
        if me:
            return run("vsr", "me", **asked).folder
        from spanlab.agents.human.display.window import virtual_screen

        # Even where there is a screen, the simulated participant has one of its own: its clicks must
        # not land in somebody's work.
        stack.enter_context(virtual_screen())
        return run("vsr", simulate=f"capacity@{SPEED:g}", practice=False, **asked).folder


def _scripted(stack: ExitStack) -> Any:
    """A chat model that answers by fixed rules."""
    from .scripted import ScriptedServer, demonstration_rules, first_option_rules

    trials = (one_trial(name, levels, SEED, None)[1] for name, (levels, _) in MACHINES.items() if name != "smu")
    return stack.enter_context(ScriptedServer([*demonstration_rules(), *first_option_rules(trials)])).agent()


@contextmanager
def _stage(what: str) -> Iterator[None]:
    """A line for a part of the demonstration, and how long it has taken."""
    print(f"· {what} ...", end="", flush=True)
    began = time.monotonic()
    try:
        yield
    except BaseException:
        print()
        raise
    print(f" {time.monotonic() - began:.1f} s", flush=True)


#: The figures of the page: paradigm, figure, its horizontal axis, and what is said of who did best
#: where on it.
PICTURES = (
    ("vsr", "serial_position", "serial_position", "scored highest on the {ordinal} item of the list"),
    ("smu", "set_size", "set_size", "scored highest at set size {number}"),
    ("nback_spatial", "nback_published", "n", "scored highest at {number}-back"),
)
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
#: Widths of the figures on a page of 1,024 px, half of it and whole, and on that of a telephone,
#: which has a drawing of its own.
_NARROW_MM, _WIDE_MM, _TELEPHONE_MM = 130.0, 270.0, 92.0
_STYLE = """
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 480px), 1fr)); gap: 22px 34px; margin: 12px 0 26px; }
.pictures figure { margin: 0; } .pictures .wide { grid-column: 1 / -1; } .pictures h2 { font-size: 20px; }
.pictures svg { width: 100%; height: auto; border-radius: 8px; }
.pictures .telephone, .pictures .dark { display: none; }
@media (max-width: 560px) { .pictures .telephone { display: block; } .pictures .desk { display: none; } }
@media (prefers-color-scheme: dark) { .pictures .dark { display: block; } .pictures .light { display: none; } }
"""  # noqa: E501


def first_page(data: Path, report: Path) -> Path:
    """Write the first page: figures of what is real, or of everybody where nobody is, and a link to
    the whole report."""
    from spanlab.sessions import find_sessions

    taken = [SessionResult(folder) for folder in find_sessions([data])]
    # networks and people: others are simulated or scripted
    real = [one for one in taken if one.info["agent_kind"] in (NETWORK.name, PARTICIPANT.name)]
    effects = _effects(data)
    figures = []
    for paradigm, name, axis, said in PICTURES:
        wide = name == "nback_published"
        widths_mm = {"desk": _WIDE_MM if wide else _NARROW_MM, "telephone": _TELEPHONE_MM}
        drawn = next(filter(None, (_drawn(name, paradigm, some, widths_mm) for some in (real, taken))), None)
        if drawn:
            shown, drawings = drawn
            best = f"<h2>{escape(said_best)}</h2>" if (said_best := _best(shown.to_frame(), axis, said)) else ""
            claimed = (
                _claimed(effects[paradigm], {look.label for look in shown.drawing.agents})
                if paradigm in effects
                else ""
            )
            figures.append(f"<figure{' class=wide' * wide}>{best}{claimed}{drawings}</figure>")
    css = files("spanlab.core").joinpath("page.css").read_text("utf-8")
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,'
        ' initial-scale=1"><title>SpanLab: people and'
        f' machines</title><style>{css}{_STYLE}</style></head><body><header><div class="bar"><span'
        ' class="mark">SpanLab</span></div><h1>People and machines, one experiment</h1></header><main><div'
        f' class="pictures">{"".join(figures)}</div><p>Published results of people and language models, next to what'
        " was run on this computer. The simulated participant and observers, guessing, and the scripted chat server"
        f' are in <a href="report/{report.name}">the whole report</a>, with every test and table.</p></main></body>'
        "</html>\n"
    )
    path = report.parent.parent / "first.html"
    write_whole(path, page.encode())
    return path


def _effects(data: Path) -> dict[str, Any]:
    """What the report claims of the effect of each paradigm."""
    from spanlab.analysis.data import load
    from spanlab.analysis.report.paradigm import numbers_of_all

    found = load([data])
    numbers = numbers_of_all(found, [*found.scored.parts])
    return {name: one.effect for name, one in numbers.items() if one.effect is not None}


def _claimed(effect: Any, shown: Set[str]) -> str:
    """The report's sentence on an effect, about who is in the figure; empty where it says nothing of
    them."""
    parts = [(words, tuple(one for one in claims if one.agent in shown)) for words, claims in effect.parts]
    name, rest = replace(effect, parts=tuple(part for part in parts if part[1])).sentence
    return f"<p><b>{escape(name)}</b>{escape(rest)}</p>" if any(claims for _, claims in parts) else ""


def _best(table: Any, axis: str, said: str) -> str:
    """Who scored highest where in a figure, in a sentence for each place, people first: what was observed,
    without a test. Of somebody who scored as high elsewhere nothing is said."""
    from spanlab.analysis.data import listed

    curves = table[table["measure"] == "accuracy"] if "measure" in table else table
    top = curves[curves["mean"] == curves.groupby("agent")["mean"].transform("max")]
    highest = top[~top.duplicated("agent", keep=False)].to_dict("records")
    highest.sort(key=lambda row: row["agent_kind"] == NETWORK.name)
    sentences = []
    for number, rows in grouped((int(row[axis]), row) for row in highest).items():
        who = listed([_called(row["agent"], row["agent_kind"]) for row in rows]) + " both" * (len(rows) == 2)
        did = said.format(number=number, ordinal=_ORDINALS[number - 1])
        right = listed([f"{row['mean']:.0%}" for row in rows])
        sentences.append(f"{who[0].upper()}{who[1:]} {did} ({right} right).")
    return " ".join(sentences)


def _called(agent: str, kind: str) -> str:
    """Somebody in a sentence for who has not seen a name of SpanLab's before."""
    name, _, what = agent.partition(" (")
    known = {"people)": f"people ({name})", "recomputed)": f"the language model {name}"}
    return "the network" if kind == NETWORK.name else known.get(what, name)


def _drawn(
    name: str, paradigm: str, sessions: Sequence[SessionResult], widths_mm: Mapping[str, float]
) -> tuple[Any, str] | None:
    """A figure, and its drawings as SVG for each kind of screen, so wide that its letters keep their
    size on the page, for light and dark; None where these sessions do not have it."""
    from spanlab.analysis.figures import Sheet, draw
    from spanlab.analysis.figures.charts import THEMES, held

    chosen = [one.folder for one in sessions if one.info["paradigm"] == paradigm]
    if not chosen:
        return None
    try:
        shown = figure(name, chosen, paradigm=paradigm)
        drawn = shown.drawing
        drawings = {
            (screen, theme): held(draw(drawn.spec, drawn.agents, Sheet(width_mm=width_mm, theme=theme)))
            for screen, width_mm in widths_mm.items()
            for theme in THEMES
        }
    except SpanLabError:
        return None
    return shown, "".join(
        f'<div class="{screen}"><div class="{theme}">'
        # clipping paths have other names than those of the other drawings of the page
        + drawing.replace('id="', f'id="{name}-{screen}-{theme}-').replace("url(#", f"url(#{name}-{screen}-{theme}-")
        + "</div></div>"
        for (screen, theme), drawing in drawings.items()
    )
