"""The demonstration: a participant and machines take the same trials, and one page shows the
results. Part of the command line."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..agents.base import Agent
from ..agents.observers import make_observer
from ..core.agent_kinds import NETWORK, PARTICIPANT, SIMULATED
from ..core.atomic_files import write_whole
from ..core.doors import entry_points_of
from ..core.errors import SpanLabError
from ..core.extras import how_to_install, installed, need
from ..paradigms import Paradigm, PlannedTrial, Trial, load_paradigm, network_tasks, plan_session
from ..paradigms.language.schema import SessionDesign
from ..sessions import Request, Runner, Session, begin, find_sessions, read_session
from ..sessions.key_mapping import KeySetting, key_request
from ..sessions.people import SessionSeed
from ..sessions.request import ChosenTrials
from ..sessions.run import remove_unused

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
REPETITIONS = 8
#: trials of the paradigms that only machines take here, and the levels that they have where these
#: are not all
MACHINE_TRIALS = 96
LEVELS: dict[str, dict[str, list[Any]]] = {
    "smu": {},
    "nback_spatial": {"lures": ["free"], "grid": [3], "block_length": [24]},
}
#: paradigms for which the scripted server has rules of its own
RULED = frozenset({"vsr", "sfr", "smu"})
#: the other paradigms of ``--all``; blocks of N-back have twenty-four questions each
ALL_LEVELS: dict[str, dict[str, list[Any]]] = {
    "sfr": {"list_length": [4, 8, 12]},
    "vsrec": {"list_length": [2, 4, 6]},
    "vir": {"list_length": [4], "retention_steps": [0, 5]},
    "cd": {"feature": ["orientation"], "set_size": [2, 4, 6, 12]},
    "si": {"part_size": [2, 4, 6, 12]},
    "sc": {},
    "lsr_long": {"list_length": [4, 8, 12, 16]},
    "nback_verbal": {"lures": ["none"]},
}
BLOCKS = 12
#: the network with noise in its memory, and which of these paradigms it takes
LIMITED = "limited"
_LIMITED_TAKES = frozenset({"vsr", "smu", "cd", "vir", "nback_spatial"})


def run_demo(output: Path, me: bool = False, everything: bool = False, browser: bool = False) -> Path:
    """A participant's session of visual serial recall; the same trials for machines; two more
    paradigms for machines, or ten; the report.

    Whoever needs a package that is not installed is left out, and a line says so.

    Parameters
    ----------
    output : folder for sessions and report; a fresh one beside it when it is taken
    me : whether somebody sits at the screen
    everything : whether machines take the paradigms of :data:`ALL_LEVELS`, too
    browser : whether the simulated participant sits at a page in Chromium, instead of the PsychoPy
        window

    Returns
    -------
    the report's ``report.html``

    Raises
    ------
    SpanLabError
        when a part that is needed is missing; the message says what to do.
    """
    from ..agents.chat.scripted import ScriptedServer, demonstration_rules, first_option_rules
    from ..agents.human.display.window import need_window
    from ..agents.oracles import CapacityAgent, Chance, IdealAgent
    from ..analysis.report.page import compare
    from ..sessions.transcripts.pages import report_pages

    began = time.monotonic()
    if me and browser:
        raise SpanLabError(
            "--me makes you the participant at the window, --browser a simulated one at a page: choose one of them"
        )
    if me:
        need("lab", "psychopy", "a window for participants")
        need_window()
    at_page = _page_demonstration() if browser else None
    parts = _parts(me, browser)
    vsr = load_paradigm("vsr")
    plan = plan_session(vsr, SEED, SessionDesign(repetitions=REPETITIONS, interval=500.0), {"list_length": [LENGTH]})
    with ExitStack() as stack:
        output = stack.enter_context(_fresh(output))
        machines = _machine_sessions(everything)
        chat: list[Agent] = []
        if "chat" in parts:
            rules = [*demonstration_rules(), *first_option_rules(_others(machines))]
            chat = [stack.enter_context(ScriptedServer(rules)).agent()]
        data, like = output / "data", ""
        if at_page is not None:
            with _stage(
                f"a simulated participant at a page in Chromium: {len(plan)} trials of visual serial recall, about"
                f" {_minutes(plan)}"
            ):
                chosen = ChosenTrials(vsr, [*plan], SEED, "corrected", "demo", vsr.name)
                like = at_page.take_in_browser(
                    data, vsr, chosen, make_observer("capacity"), SEED, SPEED, 10 * _seconds(plan)
                )
        elif "lab" in parts:
            person, label = _participant(me, stack)
            with _stage(
                f"{label}: {len(plan)} trials of visual serial recall in a PsychoPy window, about {_minutes(plan)}"
            ) as tell:
                extra = {
                    "seed_from": SessionSeed(SEED).as_json(),
                    "keys": key_request(KeySetting(), "me" if me else ""),
                }
                request = Request(SEED, participant="me" if me else "", design="demo", practice=me, extra=extra)
                like = _take(begin(data, vsr, person, plan, request), person, tell).name
        for agent in (
            IdealAgent(),
            CapacityAgent(),
            Chance(),
            *_networks(parts, vsr, plan),
            *chat,
        ):
            with _stage(f"{agent.name}: the same trials"):
                _take(begin(data, vsr, agent, plan, Request(SEED, design="demo", like=like)), agent)
        for paradigm, trials in machines:
            for agent in (
                IdealAgent(),
                CapacityAgent(),
                Chance(),
                *_networks(parts, paradigm, trials),
                *chat,
            ):
                with _stage(f"{agent.name}: {len(trials)} trials of {paradigm.name}"):
                    _take(begin(data, paradigm, agent, trials, Request(SEED, design="demo")), agent)
        with _stage("comparing"):
            report = compare([data], output / "report", conversations=report_pages([data], output / "report"))
        sessions = find_sessions([data])
        words = result_in_words(sessions)
        with _stage("drawing the first page"):
            first = first_page([folder for folder in sessions if _real(folder)], sessions, report, words)
    print("", *words, sep="\n")
    print(
        f"\ndone in {time.monotonic() - began:.0f} s. Open {first.resolve()} in a browser; the whole report is"
        f" {report.resolve()}"
    )
    return report


def _real(folder: Path) -> bool:
    """Return True for a session of a network or a person that is not simulated or scripted."""
    return read_session(folder)["agent_kind"] in (NETWORK.name, PARTICIPANT.name)


def _parts(me: bool, browser: bool) -> set[str]:
    """The extras that are installed; a line names each that is not, and what is left out without
    it."""
    there = set[str]()
    for extra, (packages, what) in PARTS.items():
        if browser and extra == "lab":
            continue
        if all(installed(package) for package in packages if package != "Xlib" or not me):
            there.add(extra)
        else:
            print(
                f"· without {what}: it needs packages that are not installed;"
                f" {how_to_install(extra).replace('install it', 'install them')}",
                flush=True,
            )
    return there


def _networks(parts: set[str], paradigm: Paradigm, trials: Sequence[PlannedTrial]) -> list[Agent]:
    """The network with noise in its memory, or in the paradigms that it does not take one without;
    none where PyTorch is not installed."""
    if "networks" not in parts:
        return []
    from ..agents.base import AgentOptions
    from ..agents.network.agent import NetworkAgent

    name = LIMITED if paradigm.name in _LIMITED_TAKES else "laptop"
    return [NetworkAgent.from_name(name, AgentOptions(tasks=network_tasks(paradigm, trials)))]


def _machine_sessions(everything: bool) -> list[tuple[Paradigm, list[PlannedTrial]]]:
    """The paradigms that machines alone take, with their trials."""
    planned = []
    for name, levels in ((LEVELS | ALL_LEVELS) if everything else LEVELS).items():
        paradigm = load_paradigm(name)
        count = BLOCKS if name.startswith("nback") else MACHINE_TRIALS
        planned.append((paradigm, plan_session(paradigm, SEED, SessionDesign(), levels, trials=count)))
    return planned


def _others(machines: Sequence[tuple[Paradigm, Sequence[PlannedTrial]]]) -> Iterator[Trial]:
    """The trials of the paradigms for which the scripted server has no rules of its own."""
    for paradigm, trials in machines:
        if paradigm.name not in RULED:
            yield from (planned.compile(paradigm, "corrected") for planned in trials)


@contextmanager
def _fresh(output: Path) -> Iterator[Path]:
    """A folder that holds nothing yet: what was recorded is never overwritten. Where nothing comes
    to be in it, it goes again."""
    taken, n = output, 1
    try:
        while taken.exists() and (not taken.is_dir() or any(taken.iterdir())):
            n += 1
            taken = output.with_name(f"{output.name}-{n}")
        made = [folder for folder in (taken, *taken.parents) if not folder.exists()]
        taken.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SpanLabError(
            f"cannot write to {output}: {error.strerror or error}; choose another folder with -o"
        ) from None
    try:
        yield taken
    finally:
        for folder in (taken / "data", *made):
            with suppress(OSError):  # it holds something, or is not there
                folder.rmdir()


def _participant(me: bool, stack: ExitStack) -> tuple[Agent, str]:
    if me:
        from ..agents.human.participant import Participant

        return Participant(), "you"
    from ..agents.human.display.screen import virtual_screen
    from ..agents.human.simulated import SimulatedParticipant

    # Even where there is a screen, the simulated participant has one of its own: its clicks must
    # not land in somebody's work.
    stack.enter_context(virtual_screen())
    simulated = SimulatedParticipant("capacity", seed=SEED, speed=SPEED, say=lambda sentence: None)
    return simulated, "a simulated participant (real keys and clicks, invisible screen)"


def _page_demonstration() -> Any:
    """The demonstration that an extension has for ``--browser``, when all that it needs is there.

    Raises
    ------
    SpanLabError
        when it is not; the message says how to install it.
    """
    for point in entry_points_of("spanlab.demonstrations").select(name="browser"):
        demonstration = point.load()
        demonstration.check()
        return demonstration
    raise SpanLabError("a participant in a browser needs the extension 'browser', which is not installed")


def _take(session: Session, agent: Agent, tell: Callable[[int, int], None] | None = None) -> Session:
    try:
        Runner(session, agent, progress=tell).run()
    except SpanLabError:
        remove_unused(session.folder)
        raise
    return session


def _seconds(plan: Sequence[PlannedTrial]) -> float:
    return sum(1 + planned.levels["list_length"] * (1.55 + 0.6) for planned in plan)


def _minutes(plan: Sequence[PlannedTrial]) -> str:
    return f"{_seconds(plan) / 60:.0f} min"


@contextmanager
def _stage(what: str) -> Iterator[Callable[[int, int], None]]:
    """A line for a part of the demonstration; what it yields says how many trials of a participant
    are over."""
    print(f"· {what} ...", end="", flush=True)
    began, live = time.monotonic(), sys.stdout.isatty()

    def tell(done: int, total: int) -> None:
        doing = f"trial {done} of {total} is over: {LENGTH} patterns seen, {LENGTH} positions clicked"
        print(f"\r    {doing}\x1b[K" if live else f"\n    {doing}", end="", flush=True)

    try:
        yield tell
    except BaseException:
        print()
        raise
    print(f" {time.monotonic() - began:.1f} s", flush=True)


#: The figures of the page: paradigm, figure, heading.
PICTURES = (
    ("vsr", "serial_position", "Serial position, with primacy and recency"),
    ("smu", "set_size", "Set size"),
    ("nback_spatial", "nback_published", "N-back, with a published language model"),
)
#: Widths of the figures on a page of 1,024 px, half of it and whole, and on that of a telephone,
#: which has a drawing of its own.
_NARROW_MM, _WIDE_MM, _TELEPHONE_MM = 130.0, 270.0, 92.0
_STYLE = """
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 480px), 1fr)); gap: 22px 34px; margin: 12px 0 26px; }
.pictures figure { margin: 0; } .pictures .wide { grid-column: 1 / -1; } .pictures h2 { font-size: 20px; }
.pictures svg { width: 100%; height: auto; background: #fff; border-radius: 8px; }
.pictures .telephone { display: none; }
@media (max-width: 560px) { .pictures .telephone { display: block; } .pictures .desk { display: none; } }
:root { color-scheme: light; --paper: #fcfbf8; --raised: #ffffff; --ink: #1d1f24; --soft: #565c67; --line: #e3e0d8; --accent: #00558c; }
"""  # noqa: E501


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
        widths_mm = {"desk": _WIDE_MM if wide else _NARROW_MM, "telephone": _TELEPHONE_MM}
        drawings = _drawn(name, paradigm, real, widths_mm) or _drawn(name, paradigm, everything, widths_mm)
        if drawings:
            figures.append(f"<figure{' class=wide' * wide}><h2>{escape(heading)}</h2>{drawings}</figure>")
    css = files("spanlab.core").joinpath("page.css").read_text("utf-8")
    said = "".join(f"<li>{escape(sentence)}</li>" for sentence in words)
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,'
        ' initial-scale=1"><title>SpanLab: people and'
        f' machines</title><style>{css}{_STYLE}</style></head><body><header><div class="bar"><span'
        ' class="mark">SpanLab</span></div><h1>People and machines, one experiment</h1><p class="lead">Published'
        " results of people and language models, next to what was run on this computer.</p></header><main><div"
        f' class="pictures">{"".join(figures)}</div><section><h2>The result in'
        f" words</h2><ul>{said}</ul><details><summary>What is simulated or scripted</summary><p>The simulated"
        f' participant and observers, guessing, and the scripted chat server are in <a href="report/{report.name}">the'
        " whole report</a>, with every test and table.</p></details></section></main></body></html>\n"
    )
    path = report.parent.parent / "first.html"
    write_whole(path, page.encode())
    return path


def _drawn(name: str, paradigm: str, sessions: Sequence[Path], widths_mm: Mapping[str, float]) -> str:
    """A figure as SVG for each kind of screen, so wide that its letters keep their size on the
    page; empty where these sessions do not have it."""
    from ..analysis.figures.charts import Sheet, draw, held
    from ..sessions.record.reader import read_session
    from .analysing import figure

    chosen = [folder for folder in sessions if read_session(folder)["paradigm"] == paradigm]
    if not chosen:
        return ""
    try:
        drawn = figure(name, chosen, paradigm=paradigm).drawing
        drawings = {
            screen: held(draw(drawn.spec, drawn.agents, Sheet(width_mm=width_mm)))
            for screen, width_mm in widths_mm.items()
        }
    except SpanLabError:
        return ""
    return "".join(
        f'<div class="{screen}">{_with_own_names(drawing, f"{name}-{screen}")}</div>'
        for screen, drawing in drawings.items()
    )


def _with_own_names(svg: str, name: str) -> str:
    """A drawing whose clipping paths have other names than those of the other drawings of the page."""
    return svg.replace('id="', f'id="{name}-').replace("url(#", f"url(#{name}-")


def result_in_words(sessions: Sequence[Path]) -> list[str]:
    """For each paradigm the share of correct answers of everyone; where there are published people,
    at their set sizes, each with the same weight."""
    from ..analysis.data.style import listed
    from ..sessions.record.reader import read_session
    from ..sessions.result import SessionResult

    shares: dict[str, dict[str, float]] = {}
    titles: dict[str, str] = {}
    for folder in sessions:
        info, result = read_session(folder), SessionResult(folder)
        paradigm = str(info["paradigm"])
        name = {PARTICIPANT.name: "you", SIMULATED.name: "simulated participant"}.get(
            info["agent_kind"], str(info["agent"])
        )
        rows = result.responses
        rows = rows[~rows["practice"].astype(bool)]
        people = _published(paradigm)
        by_size = rows["correct"].astype("Float64").groupby(rows["set_size"]).mean()
        common = [size for size in by_size.index if size in people]
        at = (
            f" at set sizes {listed([str(int(size)) for size in common])}"
            if common and len(common) < len(by_size)
            else ""
        )
        titles[paradigm] = f"{info.get('paradigm_title', paradigm)}, correct{at}"
        told = shares.setdefault(paradigm, {})
        if common:
            told["published people"] = sum(people[size] for size in common) / len(common)
        told[name] = float(by_size[common].mean()) if common else result.accuracy
    return [
        f"{titles[paradigm]}: {', '.join(f'{name} {100 * share:.0f}%' for name, share in told.items())}."
        for paradigm, told in shares.items()
    ]


def _published(paradigm: str) -> dict[int, float]:
    """The mean accuracy of published people by set size."""
    from ..human_data import published

    table = published(paradigm)
    if not len(table):
        return {}
    means = table.dropna(subset="set_size").groupby("set_size")["accuracy"].mean()
    return dict(zip(means.index.astype(int).tolist(), means.tolist(), strict=True))
