"""``spanlab resume`` of any folder goes on with what is unfinished in it, or tells the commands
that do; the assistant's decisions are on record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from chat_envelopes import body
from chat_servers import listening
from command_line import Run, complaint, output_of
from study_files import STUDY, AwayError, Guest, sit, study_in

from spanlab.analysis.data.loading import load
from spanlab.core.atomic_files import only_writer
from spanlab.core.errors import SpanLabError
from spanlab.sessions import run as run_module
from spanlab.sessions.record.reader import find_sessions, read_session
from spanlab.sessions.record.table import COLUMNS, read_responses
from spanlab.sessions.studies import visit as visit_module
from spanlab.sessions.studies.battery import Battery
from spanlab.sessions.studies.study import Study
from spanlab.sessions.studies.visit_files import completed, read_head, read_journal, states


def leaves(at: int) -> Callable[[str], None]:
    """Somebody who goes when so many pages and trials have come."""
    left = [at]

    def one(what: str) -> None:
        left[0] -= 1
        if not left[0]:
            raise AwayError("away")

    return one


def interrupted(study: Study, data: Path, who: str = "p01", at: int = 4) -> Path:
    """A session of which a paradigm has begun and nothing is finished."""
    visit = sit(study, data, who)
    with pytest.raises(AwayError):
        Battery(visit, Guest(leaves(at))).run()
    return visit.folder


def test_a_session_goes_on_at_the_window_that_it_began_at(
    study: Study, data: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the width of the screen and the distance of then; and what is told when it is interrupted
    again is the command that was typed."""
    from spanlab.agents.human import seating

    visit = interrupted(study, data)
    sat: list[Mapping[str, Any]] = []
    then = {"fullscreen": False, "screen_width_cm": 52.0, "distance_cm": 61.0, "palette": "safe", "screen": 0}
    leaving = leaves(2)
    monkeypatch.setattr(visit_module, "as_begun", lambda *_: (study, then))
    monkeypatch.setattr(seating, "seat", lambda simulate, seed, window: sat.append(window) or Guest(leaving))
    monkeypatch.setattr("sys.argv", ["spanlab", "resume", str(visit)])
    said = complaint(*run("resume", visit))
    (window,) = sat
    assert {name: window[name] for name in ("fullscreen", "width_cm", "distance_cm", "palette")} == {
        "fullscreen": False,
        "width_cm": 52.0,
        "distance_cm": 61.0,
        "palette": "safe",
    }
    assert said.rstrip().endswith(f"Continue with: spanlab resume {visit.relative_to(Path.cwd())}")


def test_an_ordinary_session_of_a_study_tells_what_goes_on_with_the_rest(study: Study, data: Path, run: Run) -> None:
    visit = interrupted(study, data, at=8)
    finished = next(folder for folder in find_sessions([visit]) if (folder / "responses.csv").exists())
    status, out, err = run("resume", finished)
    assert (status, out) == (0, f"nothing to do: every trial of {finished} is finished\n")
    assert f"it belongs to a session of a study; continue that with: spanlab resume {visit.resolve()}\n" in err


def test_a_paradigm_is_skipped_or_taken_again_with_its_reason_on_record(
    study: Study, data: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spanlab.agents.human import seating

    monkeypatch.setattr(seating, "seat", lambda *_: Guest())
    visit = interrupted(study, data, at=6)
    begun, left = (
        next(iter(states(visit))),
        next(name for name in read_head(visit)["order"] if name not in states(visit)),
    )
    for options, wrong in (
        (("--skip", "nothing", "--reason", "x"), "has no paradigm 'nothing'"),
        (("--skip", left), "needs --reason"),
        (("--repeat", left, "--reason", "x"), "has not begun"),
        (("--reason", "x"), "--reason goes with"),
    ):
        assert wrong in complaint(*run("resume", visit, *options))
    first = states(visit)[begun].folder
    output_of(*run("resume", visit, "--skip", left, "--repeat", begun, "--reason", "fire alarm"))
    journal = [(line["event"], line.get("paradigm"), line.get("reason")) for line in read_journal(visit)]
    assert ("skipped", left, "fire alarm") in journal
    assert ("repeated", begun, "fire alarm") in journal
    assert left not in states(visit)
    assert completed(visit)
    again = states(visit)[begun].folder
    assert again != first
    assert read_session(first)["set_aside"]["reason"] == "fire alarm"  # kept, and in no curve
    assert read_session(again)["seed"] != read_session(first)["seed"]
    gathered = load([visit])
    assert first.name not in {facts.name for facts in gathered.sessions}
    assert any(f"{first} was set aside" in problem for problem in gathered.problems)
    _, out, _ = run("study", "status", "study.yaml")
    assert f"{left} skipped: fire alarm" in out
    assert f"{begun} taken again: fire alarm" in out
    assert "nothing to do" in run("resume", visit)[1]
    status, _, _ = run("resume", visit, "--repeat", left, "--reason", "now there is time")
    assert status != 0, "it has not begun, so that there is nothing to repeat"


def test_a_session_cannot_begin_anew_beside_itself(study: Study, data: Path) -> None:
    visit = interrupted(study, data)
    with only_writer(visit), pytest.raises(SpanLabError, match="is running, so it cannot start afresh"):
        sit(study, data, existing="new")
    assert sit(study, data, existing="new").run == 2


def test_a_data_folder_goes_on_where_one_session_is_unfinished(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in ("1", "2"):
        assert run("replay", "vsr", "--agent", "ideal", "--trials", "2", "--seed", seed)[0] == 0
    folders = sorted((tmp_path / "data").iterdir())
    cut_back(folders[0])
    status, out, err = run("resume", tmp_path / "data")
    assert (status, out.strip()) == (0, str(tmp_path / "data" / folders[0].name)), err
    for folder in folders:
        cut_back(folder)
    said = complaint(*run("resume", tmp_path / "data"))
    assert [line for line in said.splitlines() if line.startswith("spanlab resume")] == [
        f"spanlab resume {folder}" for folder in folders
    ]


@pytest.mark.parametrize(
    "taker",
    [
        "ideal",
        pytest.param("network", marks=pytest.mark.slow),
        pytest.param("chat", marks=pytest.mark.slow),
        "person",
        "study",
    ],
)
def test_one_command_goes_on_with_whatever_was_interrupted(
    taker: str, study: Study, data: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given the folder of the session, or one that has nothing else unfinished; the table is that
    of a session without the interruption."""
    from spanlab.agents.human import seating

    monkeypatch.setattr(seating, "seat", lambda *_: Guest())
    monkeypatch.setattr(seating, "window_again", lambda *_: {})
    with listening(lambda heard: (200, "application/json", body({"role": "assistant", "content": "1"}))) as tap:
        monkeypatch.setenv("OPENAI_BASE_URL", tap.base_url)
        if taker == "study":
            folder = interrupted(study, data, at=6)
        elif taker == "person":
            output_of(*run("run", "vsr", "--participant", "p01", "--trials", "4", "--no-practice", "--data", data))
            (folder,) = find_sessions([data])
        else:
            agent = {"ideal": "ideal", "network": "network:laptop", "chat": "chat:m"}[taker]
            output_of(*run("replay", "vsr", "--agent", agent, "--trials", "4", "--seed", "1", "--data", data))
            (folder,) = find_sessions([data])
        before = None if taker == "study" else read_responses(folder)
        if before is not None:
            cut_back(folder)
        output_of(*run("resume", data if taker == "ideal" else folder))
        assert "nothing to do" in run("resume", folder)[1]
    if before is None:
        assert completed(folder)
    else:
        same = [column.name for column in COLUMNS if not column.measured]
        after = read_responses(folder)
        if (
            taker == "person"
        ):  # who answers as it comes, and whose cut trial another one has replaced, as its items had been seen
            before, after, same = (
                before[before["trial"] < 4],
                after[after["trial"] < 4],
                ["trial", "trial_id", "seed", "step", "correct_answer", "outcome"],
            )
        assert after[same].equals(before[same])
        assert after["trial"].nunique() == (3 if taker == "person" else 4)


def cut_back(session: Path) -> None:
    """Undo the last trial of a session, as a kill leaves it."""
    events = (session / "events.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    last = max(number for number, line in enumerate(events) if '"trial_start"' in line)
    (session / "events.jsonl").write_text("".join(events[: last + 1]), encoding="utf-8")
    for table in session.glob("responses.*"):
        table.unlink()


def test_without_the_study_file_and_before_the_questions_it_is_said(tmp_path: Path, data: Path, run: Run) -> None:
    study = study_in(tmp_path, STUDY)
    visit = sit(study, data, kind="pilot")
    study.file.rename(tmp_path / "study.txt")
    said = complaint(*run("resume", visit.folder))
    assert "lacks what the study asks about the participant: spanlab run STUDY.yaml --participant p01" in said
    assert said.endswith("--field NAME=VALUE\n")


def test_a_display_file_that_is_not_there_is_refused(tmp_path: Path, run: Run) -> None:
    (tmp_path / "study.yaml").write_text(
        "study: s\ntitle: S\nparadigms: [vsr]\ndisplay: room-2.yaml\n", encoding="utf-8"
    )
    said = complaint(*run("check", "study.yaml"))
    assert "study.yaml display: there is no display file at" in said
    assert "room-2.yaml" in said


# -- folders are made with their first file --------------------------------------------------------


def test_nobody_sees_a_session_folder_without_its_first_file(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, seen = run_module.write_info, list[list[str]]()

    def look(folder: Path, info: object) -> None:
        write(folder, info)  # type: ignore[arg-type]
        seen.append([path.name for path in (tmp_path / "data").glob("[!.]*")])

    monkeypatch.setattr(run_module, "write_info", look)
    for _ in range(2):
        assert run("replay", "vsr", "--agent", "ideal", "--trials", "1")[0] == 0
    assert seen == [[], ["vsr-ideal-s1"]]
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == ["vsr-ideal-s1", "vsr-ideal-s1-2"]
