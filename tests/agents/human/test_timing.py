"""Display files, durations in refreshes, the corner patch, and the verdict on a session's timing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_line import Run, output_of
from effort import HANGS_S
from hypothesis import given
from hypothesis import strategies as st
from lab_displays import FOUND, measured
from processes import bench
from session_tools import ended_well

from spanlab.agents.human import Participant, WindowOptions
from spanlab.agents.human.display.file import cited_display, read_display, write_display
from spanlab.agents.human.display.frames import LARGE, FrameGrid, complaints
from spanlab.agents.human.display.patch import CORNERS, Patch, PatchView, read_patch
from spanlab.agents.human.seating import window_again
from spanlab.analysis.data.timing import SessionTiming, TimedPress, read_timings, verdict
from spanlab.core.errors import SpanLabError
from spanlab.sessions.record.displays import read_displays

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Xvfb")


def test_a_missed_refresh_does_not_spoil_the_rate() -> None:
    for missed in (0, 7):
        refresh = measured(59.94, missed=missed).refresh
        assert refresh.hz == pytest.approx(59.94, abs=0.001)
        assert refresh.missed == missed


def test_without_vsync_no_rate_is_guessed() -> None:
    refresh = measured(1700, vsync=False).refresh
    assert refresh.hz is None
    assert refresh.trouble == "no beat"
    assert refresh.flips_hz == 1700


def test_a_display_file_comes_back_as_it_was_and_keeps_its_hash(tmp_path: Path) -> None:
    one = measured()
    write_display(one, tmp_path / "display.yaml")
    assert read_display(tmp_path / "display.yaml") == one
    assert cited_display(json.loads(json.dumps(one.cited()))).hash == one.hash
    later = one.model_copy(update={"made": one.made.model_copy(update={"at": "later", "machine": "another"})})
    assert later.hash == one.hash
    assert "machine" not in json.dumps(one.cited())
    with pytest.raises(SpanLabError, match="--replace"):
        write_display(one, tmp_path / "display.yaml")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"screen": {"width_cm": "wide"}}, "display.yaml:.*width_cm"),
        ({"colour": "red"}, "unknown key 'colour'"),
        ({"spanlab_display": 99}, "spanlab_display"),
        ({"refresh": {"hz": None}}, "a rate exactly where"),
        ({"screen": {"resolution_px": [1920]}}, "the width and the height"),
    ],
)
def test_a_broken_display_file_is_refused_by_line_and_key(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    write_display(measured(), tmp_path / "display.yaml")
    data = yaml.safe_load((tmp_path / "display.yaml").read_text(encoding="utf-8"))
    for key, value in change.items():
        data[key] = {**data[key], **value} if isinstance(value, dict) else value
    (tmp_path / "display.yaml").write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    with pytest.raises(SpanLabError, match=message):
        read_display(tmp_path / "display.yaml")


@pytest.mark.parametrize(
    ("now", "told"),
    [
        ({}, ""),
        ({"measured_hz": 60.5}, ""),  # within 1 %
        ({"measured_hz": 75.0}, "75.00 Hz; it refreshed at 60.00 Hz"),
        ({"screen_px": [1280, 1024]}, "now has 1280 x 1024 pixels"),
        ({"screen": 1}, "Screen 1 is in use"),
        ({"vsync": False, "measured_hz": 900.0}, "no longer wait"),
        ({"keyboard": "event"}, "now read by 'event'"),
        ({"opengl": {"renderer": "llvmpipe"}}, "'llvmpipe' now draws"),
    ],
)
def test_another_display_is_told(now: dict[str, Any], told: str) -> None:
    found = measured().differences(FOUND | {"measured_hz": 60.0} | now)
    assert len(found) == bool(told)
    assert all(told in sentence for sentence in found)


def test_a_display_file_gives_size_and_distance_and_is_cited() -> None:
    settings = Participant(WindowOptions(display=measured())).settings()
    assert (settings["screen_width_cm"], settings["distance_cm"]) == (53.0, 60.0)
    assert settings["display"]["hash"] == measured().hash
    assert "display" not in Participant().settings()


def test_a_session_with_a_display_file_goes_on_at_the_screen_that_was_measured() -> None:
    settings = json.loads(json.dumps(Participant(WindowOptions(display=measured())).settings()))
    there = measured().screen.number
    assert Participant(WindowOptions(**window_again(settings, screen=there))).settings() == settings
    with pytest.raises(
        SpanLabError,
        match=(
            f"cites a display file of screen {there}, and its window cannot open on screen {there + 1}: leave out"
            " --screen"
        ),
    ):
        window_again(settings, screen=there + 1)
    elsewhere = window_again(Participant(WindowOptions(screen=2)).settings(), screen=0)
    assert Participant(WindowOptions(**elsewhere)).settings()["screen"] == 0


@given(ms=st.floats(1, 5000), hz=st.sampled_from([59.94, 60, 75, 120, 144]))
def test_rounding_errs_by_half_a_refresh_at_most_and_large_shares_are_told(ms: float, hz: float) -> None:
    grid, frame = FrameGrid(hz), 1000 / hz
    shown = grid.frames(ms) * frame
    assert abs(shown - ms) <= frame / 2 + 1e-6 or ms < frame / 2
    assert bool(complaints([("x", ms)], grid)) == (ms < frame * (1 - 1e-6) or abs(shown - ms) > LARGE * ms)


def test_durations_that_a_display_cannot_show_are_told_once() -> None:
    told = complaints([("mask", 8.0), ("mask", 8.0), ("present", 1550.0), ("present", 100.0)], FrameGrid(75))
    assert told == [
        "mask: 8 ms are shown as 1 refresh, 13.3 ms (+5.3 ms, +67%) at 75.00 Hz.",
        "present: 100 ms are shown as 8 refreshes, 106.7 ms (+6.7 ms, +7%) at 75.00 Hz.",
    ]


def test_the_patch_is_read_and_wrong_ones_are_refused() -> None:
    assert read_patch("upper-left") == Patch("upper-left", 2.0)
    for corner in CORNERS:
        assert read_patch(f"{corner}:3.25") == Patch(corner, 3.25)
    for wrong in ("left", "upper-left:0", "upper-left:wide", "upper-left:99", "upper-left:2:probe"):
        with pytest.raises(SpanLabError):
            read_patch(wrong)


def test_the_patch_never_lies_on_the_canvas() -> None:
    class Pictures:
        once = staticmethod(lambda image: image)

    assert PatchView(Patch("upper-left", 2.0), Pictures(), (1280, 1024), 700, 30.0).px == 60  # type: ignore[arg-type]
    with pytest.raises(SpanLabError, match=r"room for 9\.7 cm"):
        PatchView(Patch("upper-left", 9.8), Pictures(), (1280, 1024), 700, 30.0)  # type: ignore[arg-type]


FRAME = 1000 / 60


def step(
    trial: int, number: int, onset: float, planned: int, shown: int, dropped: int = 0, **more: Any
) -> dict[str, Any]:
    one = {
        "planned_ms": planned * FRAME,
        "onset_ms": onset,
        "shown_ms": shown * FRAME,
        "planned_frames": planned,
        "shown_frames": shown,
        "dropped_frames": dropped,
    }
    return {"event": "step", "trial": str(trial), "attempt": 1, "step": number, "phase": "x", "shown": [one], **more}


def session(events: list[dict[str, Any]], keyboard: str = "ptb", by_screen: bool = True, **more: Any) -> SessionTiming:
    facts: dict[str, Any] = {"presses": (), "clock": (), "jumps_ms": (), "differences": (), "notes": ()} | more
    return SessionTiming("s", read_displays(events), 60.0, by_screen, None, keyboard, **facts)


def a_row(count: int, off: dict[int, tuple[int, int]] | None = None, trial: int = 1) -> list[dict[str, Any]]:
    """Displays of 6 refreshes, one after another; ``off``: of some, refreshes too many and those
    recorded as late."""
    events, onset = [], 100.0
    for number in range(count):
        more, dropped = (off or {}).get(number, (0, 0))
        events.append(step(trial, number + 1, onset, 6, 6 + more, dropped))
        onset += (6 + more) * FRAME
    return events


def alone(count: int, ms: float) -> list[dict[str, Any]]:
    """A display of 6 refreshes in each trial, with nothing before and after it from which the rate
    would be known; it lasts for so many ms."""
    events = [step(number + 1, 1, 1000.0 * number, 6, 6) for number in range(count)]
    for event in events:
        event["shown"][0]["shown_ms"] = ms
    return events


def test_single_displays_pass_at_the_planned_rate() -> None:
    assert verdict(session(alone(40, 100.2))).holds
    assert verdict(session(alone(1, 100.0))).holds
    assert not verdict(session(alone(1, 120.0))).holds


def test_a_session_on_plan_passes() -> None:
    found = verdict(session(a_row(300)))
    assert found.holds
    assert "300 of 300 timed displays on plan" in found.line


@pytest.mark.parametrize(
    ("made", "look"),
    [
        (session(a_row(100, {5: (1, 1)})), "1 of 100 timed displays (1.0%)"),
        (session(a_row(1000, {5: (-1, 0)})), "1 display off plan without a recorded late frame"),
        (session(a_row(300), by_screen=False), "did not wait for the screen"),
        (session(a_row(300), keyboard="event"), "precise to a refresh only"),
        (session(a_row(300), jumps_ms=(12.0, -80.0)), "2 times, by -80 ms at most"),
        (session(a_row(300), notes=({"passed_on_too_late": []},)), "too late to count"),
        (session(a_row(300), differences=("Screen 1 is used.",)), "Screen 1"),
        (session(alone(40, 120.0)), "240 refreshes took 4,800 ms, and durations were planned for 60.00 Hz"),
        (session(a_row(300), keyboard="", presses=(TimedPress(500.0),)), "does not say how keys were read"),
    ],
)
def test_what_is_not_as_it_should_be_is_to_be_looked_at(made: SessionTiming, look: str) -> None:
    found = verdict(made)
    assert not found.holds
    assert look in found.line
    assert found.line.startswith("s: look")


def test_onsets_that_add_up_are_seen() -> None:
    events = a_row(300)
    for number, event in enumerate(events):
        event["shown"][0]["onset_ms"] += (
            number * 0.2
        )  # a fifth of a ms with each display, and no frame to account for it
    assert "onsets are up to" in verdict(session(events)).line


def test_displays_that_an_answer_or_a_pause_cut_off_are_no_timed_ones() -> None:
    cut = step(1, 2, 200.0, 90, 30, ask=1, outcome="answered", rt_ms=480.0)
    whole = step(1, 3, 700.0, 90, 90, ask=2, outcome="omitted", rt_ms=None)
    paused = step(1, 4, 2200.0, 6, 9, happened={"paused": [{}]})
    waited = step(1, 5, 2350.0, 6, 7, notes={"waited_frames": 1})
    short = step(1, 6, 2500.0, 90, 30, ask=3, outcome="answered", rt_ms=100.0)  # the answer came long before
    displays = read_displays([*a_row(1), cut, whole, paused, waited, short])
    assert (displays.cut, displays.paused) == (1, 1)
    assert [display.off for display in displays.timed] == [0, 0, 0, -60]


def test_what_an_answer_ended_late_is_no_timed_display_where_the_record_says_why() -> None:
    """A page in a busy browser draws late, or hears late of a press: the display is not off its
    plan."""

    def ended(**more: Any) -> dict[str, Any]:
        return step(1, 2, 200.0, 90, 30, ask=1, outcome="answered", rt_ms=380.0, **more)  # 7 refreshes before the end

    late = ended()
    late["shown"][0]["dropped_frames"] = 5
    heard = ended(notes={"heard_after_ms": 80.0})
    assert [read_displays([*a_row(1), one]).cut for one in (late, heard, ended())] == [1, 1, 0]


def test_reaction_times_that_keep_step_with_the_screen_are_seen() -> None:
    clumped = tuple(TimedPress(300.0 + FRAME * (n % 17), None) for n in range(100))
    free = tuple(TimedPress(300.0 + 7.31 * n, None) for n in range(100))
    assert "clump" in verdict(session(a_row(300), presses=clumped)).line
    assert verdict(session(a_row(300), presses=free)).holds


def folder(path: Path, events: list[dict[str, Any]], **info: Any) -> Path:
    path.mkdir(parents=True)
    base = {
        "format_version": 1,
        "session": path.name,
        "plan": [],
        "apparatus": {"hz": 60.0, "frames_by": "screen", "keyboard": "ptb"},
    }
    (path / "session.json").write_text(json.dumps({**_whole(), **base, **info}), encoding="utf-8")
    (path / "events.jsonl").write_text(
        "".join(json.dumps({"planned_ms": 1.0, **event}) + "\n" for event in events), encoding="utf-8"
    )
    return path


def _whole() -> dict[str, Any]:
    """What every record has."""
    names = (
        "participant",
        "agent_kind",
        "agent",
        "agent_settings_hash",
        "paradigm",
        "paradigm_hash",
        "paradigm_source",
        "generator",
        "design",
        "language",
    )
    return {
        **dict.fromkeys(names, "x"),
        "oracle": False,
        "pilot": False,
        "practice": False,
        "paradigm_version": 1,
        "seed": 1,
        "agent_settings": {},
        "paradigm_data": {},
        "created": "2026-01-01",
        "versions": {},
        "like": "",
        "label": "",
        "human": "",
        "paradigm_title": "X",
        "instructions": "",
    }


def test_the_command_tells_the_verdict(tmp_path: Path, run: Run) -> None:
    folder(tmp_path / "data" / "good", a_row(200))
    folder(tmp_path / "data" / "bad", a_row(100, {5: (1, 1)}) + a_row(50, trial=2))
    out = output_of(*run("timing", "data"))
    for words in ("good: pass", "bad: look", "1 of 2 sessions pass"):
        assert words in out


def test_what_has_no_timing_is_told(tmp_path: Path, run: Run) -> None:
    folder(tmp_path / "data" / "machine", [])
    status, _, err = run("timing", "data")
    assert status == 1
    assert "only sessions at a window" in err
    folder(tmp_path / "data" / "good", a_row(20))
    _, out, _ = run("timing", "data")
    assert "without timed displays: machine" in out


@linux
@pytest.mark.slow
def test_the_patch_is_white_on_first_frames_and_black_otherwise_and_the_canvas_is_as_without() -> None:
    found = bench("lab/timing_bench", "patch", seconds=HANGS_S)
    assert found["canvas_as_without"]
    assert {tuple(corner) for corner in found["corners"]} == {(255, 255), (0, 0)}
    assert [corner for corner in found["corners"] if corner[0]] == [[255, 255]] * 3  # three displays, a frame each
    assert found["corners"][0] == [255, 255]


@pytest.mark.slow
@linux
def test_a_display_is_measured_and_cited(screen: str, run: Run, tmp_path: Path) -> None:
    made = "from spanlab.cli import main; import sys; sys.argv = ['spanlab', *sys.argv[1:]]; main()"
    options = ["--screen-width", "34", "--distance", "57", "--seconds", "1", "-o", "display.yaml"]
    done = ended_well(
        subprocess.run(
            [sys.executable, "-c", made, "display", *options],
            capture_output=True,
            text=True,
            timeout=HANGS_S,
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
        )
    )
    assert "cannot be known" in done  # there is no vsync under Xvfb, and nothing is made up
    found = read_display(tmp_path / "display.yaml")
    assert found.refresh.hz is None
    assert found.refresh.paced_hz == 60.0
    assert found.screen.resolution_px == (1280, 1024)
    assert found.keyboard.backend == "ptb"
    status, _, err = run("display", "--screen-width", "34", "--distance", "57")
    assert status == 1
    assert "--replace" in err


@linux
@pytest.mark.slow
def test_no_picture_is_seen_before_the_bound_of_its_time_stamp() -> None:
    """As another program sees the screen, however busy the machine is."""
    facts = bench("lab/timing_bench", "watch", 200)
    pairs = [(late, bound) for late, bound in zip(facts["late_ms"], facts["bound_ms"], strict=True) if abs(late) < 50]
    assert len(pairs) > 150  # the watcher itself may have been away
    print(sorted(late for late, _ in pairs)[-3:], sorted(bound for _, bound in pairs)[-3:])
    assert all(late <= bound + 0.2 for late, bound in pairs)


def test_nothing_timed_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SpanLabError, match="no session"):
        read_timings([tmp_path])
