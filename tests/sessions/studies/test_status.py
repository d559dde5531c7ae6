"""Who has finished what; and people who withdraw: their data go, a note stays, their number is not
given again."""

from __future__ import annotations

import json
import re
import shutil
import stat
from pathlib import Path

import pytest
from command_line import Run, complaint
from study_files import FIELDS, STUDY, Guest, sit, study_in, take

from spanlab.core.atomic_files import only_writer
from spanlab.core.errors import SpanLabError
from spanlab.sessions import find_sessions, read_session
from spanlab.sessions.session import write_info
from spanlab.sessions.studies import visit_files
from spanlab.sessions.studies.monitoring import overview
from spanlab.sessions.studies.participants import people, register
from spanlab.sessions.studies.participants import withdraw as remove
from spanlab.sessions.studies.study import Study
from spanlab.sessions.studies.visit import VisitRequest, check_request


def cells(study: Study, data: Path) -> list[dict[str, str]]:
    table = overview(study, data)
    return [dict(zip(table.header, row, strict=True)) for row in table.rows]


def leaves_before_the_second(what: str) -> None:
    if "Break" in what:
        raise SpanLabError("left")


def test_the_table_says_how_far_everybody_is(study: Study, data: Path) -> None:
    take(study, data, "p01")
    take(study, data, "p01", session=2)
    with pytest.raises(SpanLabError):
        take(study, data, "p02", guest=Guest(leaves_before_the_second))
    take(study, data, "p02", existing="new")
    sit(study, data, "p03")
    take(study, data, "x1", kind="pilot")
    register(data / "pair", "p04", "person")
    rows = cells(study, data)
    assert [(row["no."], row["participant"], row["session"], row["finished"], row["note"]) for row in rows] == [
        ("1", "p01", "1", "yes", ""),
        ("1", "p01", "2", "yes", ""),
        ("2", "p02", "1", "no", ""),
        ("2", "p02", "1 (run 2)", "yes", ""),
        ("3", "p03", "1", "no", ""),
        ("4", "p04", "", "", ""),
        ("1", "x1", "1", "yes", "pilot"),
    ]
    assert [rows[0][name] for name in ("vsr", "cells", "long")] == ["2/2", "1/1", "1/1"]
    assert [rows[1][name] for name in ("vsr", "cells", "long")] == ["", "1/1", ""]
    first = study.order_for(2, 1)[0]
    assert {name: rows[2][name] for name in ("vsr", "cells", "long")} == {
        one.name: f"{len(one.plan(1))}/{len(one.plan(1))}" if one is first else "-" for one in study.paradigms
    }
    assert [rows[4][name] for name in ("vsr", "cells", "long")] == ["-", "-", "-"]
    assert len(rows[0]["begun"]) == len("2000-01-01")
    assert overview(study, data).summary == "pair: 4 participants, 1 through with every session, 0 withdrawn, 1 pilot"


def test_what_is_kept_of_records_changes_no_answer(study: Study, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    take(study, data, "p01")
    visit, kept = take(study, data, "p02"), data / ".app" / "pair-status.json"
    rows = cells(study, data)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    whole = kept.read_text(encoding="utf-8")
    with monkeypatch.context() as nothing_changed:
        nothing_changed.setattr(visit_files, "read_events", lambda _: pytest.fail("read again"))
        assert cells(study, data) == rows
    for wrong in ("", "[]", "{", whole[:-9], whole.replace(", 2, 2, true,", ", 1, 2, false,")):
        kept.write_text(wrong, encoding="utf-8")
        assert cells(study, data) == rows
        assert kept.read_text(encoding="utf-8") == whole
    kept.unlink()
    kept.mkdir()  # and nothing can be kept
    assert cells(study, data) == rows
    kept.rmdir()
    cells(study, data)
    events = next(visit.folder.glob("vsr-*")) / "events.jsonl"
    lines = events.read_text(encoding="utf-8").splitlines(keepends=True)
    last = max(number for number, line in enumerate(lines) if '"trial_start"' in line)
    events.write_text("".join(lines[:last]), encoding="utf-8")
    changed = cells(study, data)
    assert [row["vsr"] for row in changed if row["session"] == "1"] == ["2/2", "1/2"]
    shutil.rmtree(data / ".app")
    assert cells(study, data) == changed


def test_a_damaged_record_does_not_hide_the_others(study: Study, data: Path) -> None:
    damaged = take(study, data, "p01")
    take(study, data, "p02")
    for file in damaged.folder.glob("vsr-*/session.json"):
        file.write_text("{", encoding="utf-8")
    first, second = cells(study, data)
    assert (first["participant"], first["finished"]) == ("p01", "")
    assert "session.json cannot be read" in first["note"]
    assert second["finished"] == "yes"


def test_a_damaged_record_can_be_removed(run: Run, study: Study) -> None:
    damaged = take(study, Path("data"), "p01")
    for file in damaged.folder.glob("vsr-*/session.json"):
        file.write_text("{", encoding="utf-8")
    assert "cannot be read" in run("study", "withdraw", "study.yaml", "p01", "--yes")[1]
    assert people(Path("data/pair"))[0].sessions == 3
    assert not (Path("data/pair") / "p01").exists()


def test_the_command_prints_it(run: Run, study: Study) -> None:
    status, out, _ = run("study", "status", "study.yaml")
    assert (status, out) == (0, "nobody has taken part in pair yet (in data/pair)\n")
    take(study, Path("data"), "p01")
    out = run("study", "status", "study.yaml")[1]
    assert out.splitlines()[0].split() == [
        "no.",
        "participant",
        "session",
        "begun",
        "vsr",
        "cells",
        "long",
        "finished",
    ]
    assert out.splitlines()[1].split()[:3] == ["1", "p01", "1"]
    assert "through with every session" in out


def killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_withdrawing_removes_everything_and_leaves_a_note(run: Run, study: Study) -> None:
    data = Path("data")
    take(study, data, "p01")
    take(study, data, "p02")
    take(study, data, "p02", session=2)
    out = run("study", "withdraw", "study.yaml", "p02", "--yes")[1]
    for line in (
        "data/pair/p02",
        "session-1: cells 1/1 trials, long 1/1 trials, vsr 2/2 trials",
        "session-2: cells 1/1 trials",
        "p02 has withdrawn",
    ):
        assert line in out
    assert not (data / "pair" / "p02").exists()
    assert len(find_sessions([data])) == 3
    left = b"".join(
        path.read_bytes() for path in (data / "pair").rglob("*") if path.is_file() and "p01" not in path.parts
    )
    assert not re.search(b"female|hours", left), "no personal data are left but the identifier"
    row = cells(study, data)[-1]
    assert row["participant"] == "p02"
    assert re.fullmatch("withdrew .*, data of 4 paradigms removed", row["note"])
    # the number is not given again, the identifier neither
    assert register(data / "pair", "p03", "person").number == 3
    assert "withdrew from the study" in check_request(study, data, VisitRequest("p02"))["participant"]
    assert "belonged to somebody who withdrew" in check_request(study, data, VisitRequest("p09", number="2"))["number"]
    assert "nothing is left" in complaint(*run("study", "withdraw", "study.yaml", "p02", "--yes"))


@pytest.mark.parametrize("name", ["PRIV0", "P01", "7", "p-a1b2"])
def test_withdrawing_finds_what_else_names_the_participant(run: Run, study: Study, name: str) -> None:
    data = Path("data")
    take(study, data, name)
    take(study, data, "other")
    own, *_ = sorted(data.glob(f"pair/{name}/session-1/vsr-*"))
    for agent in ("chance", f"recorded:{own}"):
        assert run("replay", "--like", own, "--agent", agent, "--data", data)[0] == 0
    (like,), (given,) = data.glob("vsr-chance-*"), data.glob("vsr-recorded-*")
    assert run("replay", "--like", given, "--agent", f"recorded:{given}", "--data", data)[0] == 0
    report, job, subject = (
        data / "report",
        data / ".app" / "jobs" / "20260101-000000-000000",
        f"sub-{name.replace('-a', 'A')}",
    )
    for file, text in {
        data / ".app" / "sessions.json": json.dumps({"participant": name}),
        job / "job.json": json.dumps({"arguments": ["run", "--participant", name, "--field", "age=23"]}, indent=1),
        job / "printed.txt": "spanlab: somebody (number 1), session 1\n",
        report / "a.csv": f"participant,correct\n{name},7\n",
        report / "b.csv": "participant,correct\nother,7\n",
        report / "c.tsv": f"correct\tparticipant_id\n1\t{name}\n",
        report / f"{subject}_beh.tsv": "correct\n1\n",
        report / "d.json": json.dumps({"of": subject}),
        report / "e.json": json.dumps({"of": f"{subject}7"}),
        report / "f.zip": "",
        report / f"scores-{name}.png": "",
        report / f"{own.name}-choices" / "choices.csv": "correct\n1\n",
    }.items():
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_text(text, encoding="utf-8")
    status, out, _ = run("study", "withdraw", "study.yaml", name, "--yes", "--forget-id")
    files = ("a.csv", "c.tsv", "d.json", f"scores-{name}.png", f"{subject}_beh.tsv", f"{own.name}-choices/choices.csv")
    named = [report / file for file in files if len(name) > 3 or "scores" not in file]  # a short one stands for much
    named = [file for file in named if file.exists()]
    assert [line for line in out.splitlines() if line.startswith("  data/report")] == [f"  {file}" for file in named]
    assert (status, str(like) in out, f"cannot be searched: {report / 'f.zip'}" in out) == (0, True, True)
    assert not [*data.glob("vsr-recorded-*")], "the same answers, however often they were given again"
    assert not [file for file in (data / ".app").rglob("*") if file.is_file() and file.name != "pair-status.json"]
    assert read_session(like)["like"] == "(withdrawn)"
    shutil.rmtree(report)
    said = f'"participant": ?"{name}"' if name.isdigit() else name
    left = [path.read_text("utf-8", "replace") for path in data.rglob("*") if path.is_file()]
    assert not [text for text in left if re.search(f"{own.name}|{said}", text)]


def test_sessions_outside_studies_can_be_withdrawn(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    data, elsewhere = Path("data"), Path("elsewhere")
    for folder in (data / "vsr-7-s1", data / "vsr-8-s1", data / "sfr-7-s1", data / "vsr-7-s2", elsewhere / "vsr-7-s1"):
        paradigm, name, _ = folder.name.split("-")
        assert run("replay", paradigm, "--agent", "chance", "--trials", "2", "--data", folder.parent)[0] == 0
        (made,) = folder.parent.glob(f"{paradigm}-chance-*")
        info = read_session(made.rename(folder))
        write_info(folder, {**info, "session": folder.name, "participant": name, "agent_kind": "participant"})
    (data / "vsr-7-s2" / "session.json").write_text("{", encoding="utf-8")
    assert run("replay", "vsr", "--agent", "chance", "--trials", "2", "--seed", "5")[0] == 0
    complaint(*run("study", "withdraw", "vsr", "", "--yes"))
    (data / "linked").symlink_to(elsewhere.resolve())
    (data / ".app").symlink_to(elsewhere.resolve())
    assert "7 has no session of cd in data" in complaint(*run("study", "withdraw", "cd", "7", "--yes"))
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", killed)
        run("study", "withdraw", "vsr", "7", "--yes")
    assert [folder.name for folder in data.glob(".withdrawn*")] == [".withdrawn-vsr-7-s1"]
    status, out, _ = run("study", "withdraw", "vsr", "7", "--yes")
    assert (status, "7 has withdrawn from vsr" in out) == (0, True)
    stay = [line for line in out.partition("Other sessions of 7 stay")[2].splitlines() if line.startswith("  ")]
    assert stay == ["  data/sfr-7-s1", "  data/vsr-7-s2"]
    left = {data / name for name in ("sfr-7-s1", "vsr-7-s2", "vsr-8-s1", "vsr-chance-s5")}
    assert {*data.glob("*-s?"), *data.glob(".withdrawn*")} == left
    assert len(find_sessions([elsewhere])) == 1, "whatever links lead there"


def test_the_identifier_may_be_forgotten_too(run: Run, study: Study) -> None:
    take(study, Path("data"), "p01")
    take(study, Path("data"), "p02")
    assert "number 1 has withdrawn" in run("study", "withdraw", "study.yaml", "p01", "--yes", "--forget-id")[1]
    assert not [path for path in Path("data").rglob("*") if path.is_file() and b"p01" in path.read_bytes()]
    assert not list(Path("data").rglob("*p01*"))
    assert [(person.name, person.number, bool(person.withdrawn)) for person in people(Path("data/pair"))] == [
        (None, 1, True),
        ("p02", 2, False),
    ]
    assert register(Path("data/pair"), "p01", "person").number == 3


def test_what_a_refusal_and_a_rehearsal_leave_behind(run: Run, study: Study) -> None:
    """Somebody refuses and withdraws, and a rehearsal gives its identifier back to a person."""
    data, refusing = Path("data"), Guest()
    refusing.decides = ["refuse"]
    with pytest.raises(SpanLabError):
        take(study, data, "p01", guest=refusing)
    assert overview(study, data).summary.startswith("pair: 1 participant, ")
    assert "session-1: no trial" in run("study", "withdraw", "study.yaml", "refused-person-1", "--yes")[1]
    assert cells(study, data)[-1]["note"].endswith(", all data removed")
    sit(study, data, "V01", kind="simulated")
    assert "spanlab study withdraw --forget-id" in check_request(study, data, VisitRequest("V01"))["participant"]
    run("study", "withdraw", "study.yaml", "V01", "--yes", "--forget-id")
    assert not check_request(study, data, VisitRequest("V01", "1", fields=FIELDS))


def test_nothing_is_removed_without_a_yes(run: Run, study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    take(study, Path("data"), "p01")
    for typed, told in (
        (("p01",), "nothing was removed: give --yes"),
        (("p02", "--yes"), "has no participant 'p02'"),
        (("P01", "--yes"), "there is 'p01'"),
    ):
        assert told in complaint(*run("study", "withdraw", "study.yaml", *typed))
    assert len(find_sessions(["data"])) == 3
    assert not people(Path("data/pair"))[0].withdrawn


def test_who_is_at_the_screen_cannot_be_removed(run: Run, study: Study) -> None:
    visit = take(study, Path("data"), "p01")
    with only_writer(visit.folder):
        assert "in use by another process" in complaint(*run("study", "withdraw", "study.yaml", "p01", "--yes"))
    assert not people(Path("data/pair"))[0].withdrawn
    assert len(find_sessions(["data"])) == 3


def test_a_withdrawal_that_was_cut_short_is_completed(
    study: Study, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(study, data, "p01")
    folder = data / "pair"
    (person,) = people(folder)

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            remove(folder, person, 3)
    with pytest.raises(SpanLabError, match="no session here"):
        find_sessions([data])  # what is left is hidden from every reader
    (again,) = people(folder)
    remove(folder, again, 0)
    assert sorted(path.name for path in folder.iterdir()) == [".lock", "places.sqlite"]
    assert people(folder)[0].sessions == 3


def test_numbers_are_not_given_anew_when_the_list_of_participants_is_lost(run: Run, study: Study) -> None:
    take(study, Path("data"), "p01")
    folder = Path("data/pair")
    (folder / "places.sqlite").rename(folder / "mislaid")
    for name in ("p02", "p01"):
        with pytest.raises(SpanLabError, match=r"places\.sqlite does not list p01, but the folder has data of them"):
            sit(study, Path("data"), name)
    out = run("study", "status", "study.yaml")[1]
    assert out.splitlines()[1].split()[:2] == ["?", "p01"]
    assert "does not know of" in out
    (folder / "mislaid").rename(folder / "places.sqlite")
    take(study, Path("data"), "p02")
    assert [one.number for one in people(folder)] == [1, 2]


def test_paradigms_of_an_older_study_file_are_told(tmp_path: Path, study: Study, data: Path) -> None:
    take(study, data, "p01")
    newer = study_in(
        tmp_path,
        STUDY.replace("as: cells", "as: places").replace(
            "[vsr, cells, long], [cells]", "[vsr, places, long], [places]"
        ),
    )
    (row,) = cells(newer, data)
    assert (row["places"], row["note"]) == ("", "older study file, cells 1/1")
