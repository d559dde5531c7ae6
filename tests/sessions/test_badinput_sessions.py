"""Sessions that are damaged, finished or changed: told in one sentence by everything that reads
them."""

from __future__ import annotations

import copy
import json
import math
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from command_line import Run, complaint
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from paradigm_texts import text
from session_tools import ended_well

from spanlab.core.errors import SpanLabError
from spanlab.sessions import read_responses, reopen, same_trials
from spanlab.sessions.record.table import response_table, write_responses
from spanlab.sessions.replaying import recorded_agent
from spanlab.sessions.session import complete
from spanlab.sessions.transcripts.transcript import Transcript

FUZZ = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished session."""
    data = tmp_path_factory.mktemp("sessions")
    ended_well(
        subprocess.run(
            [
                sys.executable,
                "-m",
                "spanlab.cli",
                "replay",
                "sfr",
                "--agent",
                "chance",
                "--trials",
                "3",
                "--data",
                data,
            ],
            capture_output=True,
        )
    )
    return data / "sfr-chance-s1"


WRONG = st.sampled_from([None, 0, -1, 1.5, "x", "", [], {}, [1], {"a": 1}, True, 10**30, float("inf")])


def places(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, (*path, key))


def spoiled(draw: st.DrawFn, content: Any) -> Any:
    """A copy with one value missing or wrong; shallow ones more often."""
    content = copy.deepcopy(content)
    depth = draw(st.sampled_from([1, 2, 3, 9]))
    *above, key = draw(st.sampled_from([path for path in places(content) if len(path) <= depth]))
    holder = content
    for step in above:
        holder = holder[step]
    if draw(st.booleans()):
        del holder[key]
    else:
        holder[key] = draw(WRONG)
    return content


@st.composite
def damages(draw: st.DrawFn) -> Callable[[Path], None]:
    """Something that spoils a session's folder."""
    what = draw(st.sampled_from(["session", "event", "bytes", "table", "missing"]))

    def spoil(folder: Path) -> None:
        session, events, table = folder / "session.json", folder / "events.jsonl", folder / "responses.parquet"
        if what == "session":
            session.write_text(
                json.dumps(spoiled(draw, json.loads(session.read_text(encoding="utf-8")))), encoding="utf-8"
            )
        elif what == "event":
            lines = events.read_text(encoding="utf-8").splitlines()
            number = draw(st.integers(0, len(lines) - 1))
            lines[number] = json.dumps(spoiled(draw, json.loads(lines[number])))
            events.write_text("\n".join(lines) + "\n", encoding="utf-8")
            table.unlink()
        elif what == "missing":
            draw(st.sampled_from([session, events, table])).unlink()
        else:
            file = draw(st.sampled_from([session, events])) if what == "bytes" else table
            content = file.read_bytes()
            start = draw(st.integers(0, len(content)))
            file.write_bytes(
                content[:start] + draw(st.binary(max_size=4)) + content[start + draw(st.integers(0, 20)) :]
            )
            if what == "bytes":
                table.unlink()

    return spoil


def look_at(folder: Path) -> None:
    """Read a session in every way there is; only errors of ours may come."""
    for way in (
        same_trials,
        reopen,
        complete,
        read_responses,
        lambda path: recorded_agent(f"recorded:{path}"),
        write_responses,
    ):
        with suppress(SpanLabError):
            way(folder)


def test_a_trial_without_its_seed_is_refused_in_a_sentence(finished: Path, tmp_path: Path) -> None:
    events = Path(shutil.copytree(finished, tmp_path / "session")) / "events.jsonl"
    events.write_bytes(re.sub(rb'"seed": ?\d+', b'"seed":null', events.read_bytes()))
    with pytest.raises(SpanLabError, match=r"trial 1 of .* has no seed"):
        recorded_agent(f"recorded:{events.parent}")


@pytest.mark.slow
def test_names_of_columns_that_are_no_text(finished: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(finished, tmp_path / "session"))
    table = folder / "responses.parquet"
    table.write_bytes(table.read_bytes().replace(b"outcome", b"out\x80ome"))
    with pytest.raises(SpanLabError, match=r"responses\.parquet: .* delete that file"):
        read_responses(folder)


@pytest.mark.slow
@pytest.mark.parametrize("many", [800, pytest.param(4000, marks=pytest.mark.soak)])
def test_damaged_sessions(finished: Path, tmp_path: Path, many: int) -> None:
    def look(damage: Callable[[Path], None]) -> None:
        folder = tmp_path / "session"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(finished, folder)
        damage(folder)
        look_at(folder)

    settings(FUZZ, max_examples=many)(given(damages())(look))()


@given(damage=damages())
@settings(FUZZ, max_examples=12)
@pytest.mark.slow
def test_commands_on_damaged_sessions(run: Run, finished: Path, tmp_path: Path, damage: Callable[[Path], None]) -> None:
    folder = tmp_path / "data" / "session"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(finished, folder)
    damage(folder)
    for line in (["resume", folder], ["replay", "--like", folder, "--agent", "chance", "--data", tmp_path / "new"]):
        status, out, err = run(*line)
        assert "Traceback" not in out + err
        assert status == 0 or err.strip()


@pytest.mark.slow
def test_comparing_damaged_sessions(run: Run, finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished, tmp_path / "data" / "session")
    (tmp_path / "data" / "session" / "responses.parquet").write_bytes(b"PAR1")
    assert "is damaged and cannot be read" in complaint(*run("compare", "data", "-o", "report"))
    (tmp_path / "data" / "session" / "session.json").write_text("{}", encoding="utf-8")
    assert "is not the record of a session" in complaint(*run("compare", "data", "-o", "report"))


def test_a_report_that_cannot_be_written_is_told(run: Run, finished: Path, things: None) -> None:
    assert "cannot write the report to file: File exists; choose another folder with -o" in complaint(
        *run("compare", finished, "-o", "file")
    )
    assert "cannot write the report to /proc/nowhere" in complaint(*run("compare", finished, "-o", "/proc/nowhere"))


def test_a_finished_session_and_a_changed_paradigm(run: Run, things: None, tmp_path: Path) -> None:
    assert run("replay", "good.yaml", "--agent", "chance", "--data", "data")[0] == 0
    session = tmp_path / "data" / "small-chance-s1"
    assert run("resume", session)[:2] == (0, f"nothing to do: every trial of {session} is finished\n")
    events = (session / "events.jsonl").read_text(encoding="utf-8")
    (session / "events.jsonl").write_text(events[: events.index('"trial_end","trial":"2"') - 3], encoding="utf-8")
    (tmp_path / "good.yaml").write_text(text(factors="n: [1, 2, 3]"), encoding="utf-8")
    err = complaint(*run("resume", session))
    assert "the paradigm small (good.yaml) has changed since" in err
    assert "Restore the old file, or start a new session" in err


GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "sessions"
DEEP = "[" * 100_000


@pytest.mark.parametrize("name", ["session.json", "events.jsonl", "transcripts.jsonl"])
def test_what_is_nested_too_deeply_is_damaged(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "session"
    shutil.copytree(GOLDEN / "finished" / "vsr-chat-scripted-s31", folder)
    file = folder / name
    first, _, rest = file.read_text(encoding="utf-8").partition("\n")
    file.write_text(DEEP if name == "session.json" else f"{first}\n{DEEP}\n{rest}", encoding="utf-8")
    with pytest.raises(SpanLabError, match=rf"{name}.*(is damaged|cannot be read)"):
        Transcript(folder)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"latency_ms":', '"latency":', "'latency_ms' is missing"),
        ('"finish_reason":"stop"', '"finish_reason":1', "'finish_reason' has the wrong form"),
        ('"role":"system"', '"rule":"system"', "'role' is missing"),
        ('"parts":[', '"party":[', "'parts' is missing"),
    ],
)
def test_a_damaged_reply_is_named_with_its_line(tmp_path: Path, old: str, new: str, told: str) -> None:
    folder = tmp_path / "session"
    shutil.copytree(GOLDEN / "finished" / "vsr-chat-scripted-s31", folder)
    file = folder / "transcripts.jsonl"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(SpanLabError, match=rf"transcripts\.jsonl:\d+ is damaged \({told}\)"):
        Transcript(folder)


def test_damaged_files_of_a_study_are_named_in_its_status(tmp_path: Path, run: Run) -> None:
    shutil.copytree(GOLDEN / "studies", tmp_path / "studies")
    shutil.copy(GOLDEN / "own.yaml", tmp_path / "own.yaml")
    sittings = sorted((tmp_path / "studies" / "golden").glob("*/session-1"))
    journal = sittings[0] / "battery.jsonl"
    journal.write_text(journal.read_text(encoding="utf-8").replace('"event"', '"evnet"', 1), encoding="utf-8")
    (sittings[1] / "battery.json").write_text(DEEP, encoding="utf-8")
    status, out, err = run("study", "status", "studies/study.yaml", "--data", "studies")
    assert (status, err) == (0, "")
    assert "battery.jsonl:1 is damaged" in out
    assert "battery.json cannot be read" in out


@pytest.mark.parametrize(
    ("name", "cell"), [("list_length", [1]), ("list_length", math.inf), ("agent", 3), ("correct", "x")]
)
def test_a_cell_of_another_type_is_refused_by_the_name_of_its_column(name: str, cell: Any) -> None:
    """A record may hold anything under the name of a column; its table may not."""
    with pytest.raises(SpanLabError, match=f"the record is damaged: {name} is a "):
        response_table([{name: cell}])
