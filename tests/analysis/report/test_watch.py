"""A report that is watched: made again when its data change, whole at every instant, and ended by
Ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command_line import command_line
from report_page import read

from spanlab.agents.oracles import Chance, IdealAgent
from spanlab.analysis.report import folder
from spanlab.analysis.report.watching import watch
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import load_paradigm, plan_session
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.sessions import Request, Runner, begin


def steps(*actions: Callable[[], object]) -> Callable[[float], None]:
    """A clock whose every wait does the next thing; after the last one somebody presses Ctrl-C."""
    left: Iterator[Callable[[], object]] = iter(actions)

    def sleep(seconds: float) -> None:
        assert seconds == 5.0
        action = next(left, None)
        if action is None:
            raise KeyboardInterrupt
        action()

    return sleep


def nothing() -> None:
    pass


def test_it_is_made_when_something_changed_and_only_then(tmp_path: Path) -> None:
    data, out, made = tmp_path / "data", tmp_path / "data" / "report", []
    (data / "one").mkdir(parents=True)
    out.mkdir()

    def make() -> None:
        made.append(len(list(data.rglob("*.jsonl"))))
        (out / f"table{len(made)}.csv").write_text("", encoding="utf-8")

    events = data / "one" / "events.jsonl"
    sleep = steps(
        nothing,
        lambda: events.write_text("1", encoding="utf-8"),
        nothing,
        lambda: (data / "one" / "lock.tmp").touch(),
        lambda: events.write_text("12", encoding="utf-8"),
        events.unlink,
    )
    assert watch(make, [data], every_s=5.0, sleep=sleep, say=lambda text: None, but=out) == 4
    assert made == [0, 1, 1, 0]


def test_data_that_cannot_be_used_yet_are_waited_for(tmp_path: Path) -> None:
    file, told = tmp_path / "answers.csv", []

    def make() -> None:
        if not file.exists():
            raise SpanLabError("no session could be read")

    assert (
        watch(
            make,
            [file],
            every_s=5.0,
            sleep=steps(nothing, lambda: file.write_text("x", encoding="utf-8"), nothing),
            say=told.append,
        )
        == 1
    )
    assert told == ["not yet: no session could be read", "made 1 time; looking again every 5 s (Ctrl-C ends)"]


def test_somebody_who_interrupts_the_making_ends_it(tmp_path: Path) -> None:
    def make() -> None:
        raise KeyboardInterrupt

    assert watch(make, [tmp_path], every_s=5.0, sleep=steps(), say=lambda text: None) == 0


@pytest.mark.slow
def test_compare_follows_sessions_that_come_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = command_line(tmp_path, monkeypatch, capsys)
    monkeypatch.setattr(folder, "save", lambda *_: [])
    vsr = load_paradigm("vsr")
    plan = plan_session(vsr, 3, SessionDesign(), trials=4)
    pages: list[str] = []

    def take(agent: IdealAgent | Chance) -> None:
        Runner(begin(tmp_path / "data", vsr, agent, plan, Request(3)), agent).run()

    def second() -> None:
        pages.append((tmp_path / "out" / "report.html").read_text(encoding="utf-8"))
        stamp = (tmp_path / "out" / "report.stamp.js").read_text(encoding="utf-8")
        assert f'data-watch="{stamp.split(chr(34))[1]}"' in pages[-1]
        take(IdealAgent())

    (tmp_path / "data").mkdir()
    sleep = steps(
        lambda: take(Chance()),
        second,
        lambda: pages.append((tmp_path / "out" / "report.html").read_text(encoding="utf-8")),
    )
    monkeypatch.setattr(time, "sleep", sleep)
    status, out, err = run("compare", "data", "-o", "out", "--watch", "--every", "5", "--no-models")
    monkeypatch.undo()
    assert status == 0
    assert "not yet: no session could be read" in err
    assert "made 2 times; looking again every 5 s (Ctrl-C ends)" in err
    assert out.splitlines() == ["out/report.html"] * 3
    assert ["ideal (simulated)" in page for page in pages] == [False, True]
    assert pages[0].count("data-watch=") == 1
    report = tmp_path / "out" / "report.html"
    assert "data-watch=" not in report.read_text(encoding="utf-8").split("<script", 1)[0]
    assert "needs no network connection" in read(report).text
    assert not (tmp_path / "out" / "report.stamp.js").exists()
    assert not list((tmp_path / "out").rglob("*.part"))
