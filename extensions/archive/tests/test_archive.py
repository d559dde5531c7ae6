"""An archive of a study: the same report elsewhere, no word of who took part, and nothing lost on the way back."""

from __future__ import annotations

import json
import re
import shutil
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import study_files
from image_paradigms import FACES, write_faces
from study_files import STUDY, files, study_in

import spanlab
from spanlab.core import SpanLabError, make_folder, only_writer
from spanlab.extensions.archive.content import PEOPLE, Pseudonyms, data_files, list_people, people_of
from spanlab.extensions.archive.zipped import CONTENTS, Archive, write_archive
from spanlab.sessions.studies import people
from spanlab.sessions.studies.participants import register
from spanlab.sessions.studies.study import load_study

OWN = """
study: pair
title: Faces
paradigms: [own/faces.yaml, {paradigm: ../faces.yaml, as: outside}]
online: {admission: list, allow: ids.txt}
"""
NAMES = ("unmistakable-1", "7", "vsr")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study that three people have taken, two of them with names that stand for much else."""
    folder = tmp_path_factory.mktemp("lab")
    study = study_in(folder, STUDY)
    for name in NAMES:
        study_files.take(study, folder / "data", name)
    return folder


@pytest.fixture
def here(place: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(place, tmp_path / "lab"))


def archived(folder: Path, **options: Any) -> Path:
    file = folder / "pair.zip"
    spanlab.study_archive(folder / "study.yaml", file, data=folder / "data", **options)
    return file


def records(folder: Path) -> dict[str, bytes]:
    """The files of a study, locks and people apart."""
    return {name: text for name, text in files(folder).items() if not name.endswith((".lock", ".sqlite"))}


def report(data: Path, output: Path) -> dict[str, pd.DataFrame]:
    """The tables of a report, people apart."""
    spanlab.compare(data, output)
    tables = {file.name: pd.read_csv(file) for file in sorted((output / "tables").iterdir())}
    return {name: table for name, table in tables.items() if name not in ("codebook.csv", "scores_by_person.csv")}


def test_the_report_elsewhere_is_the_same(here: Path, tmp_path: Path) -> None:
    file = archived(here, licence="CC0")
    mine, theirs = report(here / "data" / "pair", tmp_path / "mine"), report(file, tmp_path / "theirs")
    assert mine.keys() == theirs.keys()
    for name, table in mine.items():
        pair = [one.drop(columns="participant", errors="ignore") for one in (table, theirs[name])]
        mine_, theirs_ = (one.sort_values([*one.columns], ignore_index=True) for one in pair)
        pd.testing.assert_frame_equal(mine_, theirs_, rtol=1e-9)
    with zipfile.ZipFile(file) as opened:
        contents = json.loads(opened.read(CONTENTS))
        assert {"study/study.yaml", "codebook.csv"} <= {*opened.namelist()}
    assert (contents["licence"], contents["pseudonymous"], contents["study"]) == ("CC0", True, "pair")
    assert contents["versions"]["spanlab"] == spanlab.__version__


def test_nothing_in_it_says_who_took_part(here: Path) -> None:
    session = next(here.glob("data/pair/unmistakable-1/*/*/session.json")).parent
    (session / "unmistakable.txt").write_text("unmistakable")
    (session / "events.jsonl").write_bytes((session / "events.jsonl").read_bytes().partition(b"\n")[0] + b"\n")
    assert "unmistakable.txt" in str(
        spanlab.study_archive(here / "study.yaml", here / "x.zip", data=here / "data").cautions
    )
    opened = Archive(here / "x.zip")
    for name in opened.files:
        text = f"{name}\n{opened.read(name).decode()}"
        assert "unmistakable" not in text
        assert not name.endswith(".jsonl") or all(map(json.loads, text.splitlines()[1:]))
        for part in re.findall(r'"participant": ?"([^"]*)"', text):
            assert re.fullmatch(r"s00[123]", part), name
        assert not re.search(r'"(age|sex|hours)": ?("|[0-9])', text) or name.startswith("study/")
    assert {name.split("/")[2] for name in opened.files if name.count("/") > 2} == {"s001", "s002", "s003"}
    spanlab_fields = Archive(archived(here, fields="age"))
    heads = [json.loads(spanlab_fields.read(name)) for name in spanlab_fields.files if name.endswith("battery.json")]
    assert [head["fields"] for head in heads] == [{"age": 23}] * 3
    drawn = Pseudonyms(here / "data" / "pair")
    register(here / "data" / "pair", "unmistakable-2", "person")
    shutil.copytree(session, session.with_name("cd-unmistakable-1-s9"))  # begun meanwhile
    files_ = drawn.applied(data_files(here / "data" / "pair"), [])
    assert not [name for name, content in files_ if b"unmistakable" in name.encode() + content]


def test_codes_of_triggers_stay_and_what_was_typed_does_not(here: Path) -> None:
    session = next(here.glob("data/pair/7/*/*/session.json")).parent
    info = json.loads((session / "session.json").read_text("utf-8"))
    (session / "session.json").write_text(json.dumps(info | {"set_aside": {"reason": "Anna", "at": ""}}))
    typed = (("came", "link"), ("code", "code"), ("skipped", "reason"), ("repeated", "reason"))
    for file, events in (
        (session / "events.jsonl", [{"event": "trigger", "code": 21, "levels": {"code": "x", "link": "y"}}]),
        (session.parent / "battery.jsonl", [{"event": event, key: "Anna"} for event, key in typed]),
    ):
        file.write_text(file.read_text("utf-8") + "".join(f"{json.dumps(event)}\n" for event in events))
    opened = Archive(archived(here))
    text = "".join(opened.read(name).decode() for name in opened.files)
    assert ('"code":21,"levels":{"code":"x","link":"y"}' in text, "Anna" in text) == (True, False)


def test_a_backup_comes_back_as_it_was(here: Path, tmp_path: Path) -> None:
    file, data = archived(here, real_ids=True), tmp_path / "elsewhere"
    before = file.read_bytes()
    spanlab.study_restore(file, data=data, output=tmp_path / "study")
    assert people(data / "pair") == people(here / "data" / "pair")
    assert [*data_files(here / "data" / "pair")][-1][0].endswith(PEOPLE)  # who comes meanwhile is in it
    assert {name for name in files(data) if "places" in name} == {"pair/places.sqlite"}
    assert records(data) == records(here / "data")
    assert [stat.S_IMODE(path.stat().st_mode) for path in (data / "pair", file)] == [0o700, 0o600]
    study_files.take(load_study(tmp_path / "study" / "study.yaml"), data, "p09")
    with pytest.raises(SpanLabError, match="p09/session-1/battery"):
        spanlab.study_restore(file, data=data, output=tmp_path / "again")
    assert [(data / "pair" / "p09").exists(), (tmp_path / "again").exists()] == [True, False]
    (here / "data" / "pair" / "scan:1.txt").touch()
    with pytest.raises(SpanLabError, match=r"could not be restored.*scan:1\.txt"):
        archived(here, real_ids=True)
    assert file.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b'{"participant": "unmist', b'{"note": "\xff"}\n', b'{"note": "\\ud800"}'])
def test_damaged_records_are_in_no_archive(here: Path, content: bytes) -> None:
    next(here.glob("data/pair/7/*/*/session.json")).write_bytes(content)
    with pytest.raises(SpanLabError, match=r"session\.json is damaged"):
        archived(here)


@pytest.mark.parametrize("real_ids", [True, False])
def test_a_study_with_files_of_its_own_comes_back(tmp_path: Path, real_ids: bool) -> None:
    lab, data = tmp_path / "lab", tmp_path / "data"
    make_folder(data / "pair")
    write_faces(tmp_path)
    write_faces(lab / "own", FACES.replace("draw:", "draw:\n  table: hues.csv"))
    for name, text in (("own/hues.csv", "hue\n1\n2\n"), ("ids.txt", "p01\n"), ("study.yaml", OWN)):
        (lab / name).write_text(text)
    said = spanlab.study_archive(lab / "study.yaml", tmp_path / "x.zip", data=data, real_ids=real_ids)
    assert [name in str(said.cautions) for name in ("ids.txt", "faces.yaml", "hues.csv")] == [not real_ids, True, False]
    spanlab.study_restore(tmp_path / "x.zip", data=tmp_path / "elsewhere", output=tmp_path / "restored")
    assert load_study(tmp_path / "restored" / "study.yaml").paradigms[0].paradigm.reader.files
    assert (tmp_path / "restored" / "ids.txt").exists() == real_ids


@pytest.mark.parametrize("changes", ["more", "longer", "meanwhile", "other", "none", "shorter", "running"])
def test_restoring_loses_nothing(here: Path, monkeypatch: pytest.MonkeyPatch, changes: str) -> None:
    file, folder = archived(here, real_ids=True), here / "data" / "pair"
    events = next(folder.glob("7/*/*/events.jsonl"))
    whole = events.read_bytes()
    if changes == "more":
        (folder / "further.txt").write_text("x")
    elif changes in ("longer", "meanwhile"):
        events.write_bytes(whole + b'{"event":"resumed"}\n')
    elif changes == "other":
        events.with_name("session.json").write_text("{}")
    elif changes in ("shorter", "running"):
        events.write_bytes(whole[: len(whole) // 2])
        shutil.rmtree(folder / "vsr")
    before = records(folder)
    if changes in ("none", "shorter"):
        running = next(folder.glob("unmistakable-1/*/*/events.jsonl"))
        with only_writer(running.parent), running.open("ab") as session:
            spanlab.study_restore(file, data=here / "data")
            session.write(b"recorded")
        assert running.read_bytes().endswith(b"recorded")
        assert (events.read_bytes(), (folder / "vsr").is_dir()) == (whole, True)
        return
    if changes == "meanwhile":  # after it was looked at
        monkeypatch.setattr("spanlab.extensions.archive.command._lost", lambda *_: [])
    with (
        only_writer(events.parent if changes == "running" else here),
        pytest.raises(SpanLabError, match=r"Nothing was written|in use|other data by now"),
    ):
        spanlab.study_restore(file, data=here / "data")
    assert records(folder) == before


def test_people_of_a_hostile_archive_are_not_listed(here: Path) -> None:
    folder = here / "data" / "pair"
    before = people(folder)
    for line in (
        b'{"participant":"../x","number":9,"kind":"person","at":""}',
        b'{"participant":"x","number":1180591620717411303424,"kind":"person","at":""}',
        b'{"participant":"x","number":9,"kind":"person","at":"\\ud800"}',
        b'{"number":9}',
        b"[]",
    ):
        with pytest.raises(SpanLabError, match="damaged"):
            list_people(folder, [*before, *people_of(line)])
        assert people(folder) == before


def pair(*files: tuple[str, bytes], study: str = "pair", old: bytes = b"", new: bytes = b"") -> Callable[[Path], None]:
    """Writes an archive of these files as somebody else might, unchecked, and something else in a place of it."""

    def write(place: Path) -> None:
        with pytest.MonkeyPatch.context() as unchecked:
            unchecked.setattr("spanlab.extensions.archive.zipped.Archive", Path)
            write_archive(place, files, {"study": study})
        place.write_bytes(place.read_bytes().replace(old, new))

    return write


#: a file that packing leaves as it is, and how the heads of files begin: with a version, and how they are packed
NOISE, HEAD = ("data/pair/x", bytes(range(256))), b"\x14\0\0\0\x08\0"


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("written", "why"),
    [
        (pair(("data/pair/../../../outside", b"x")), "not an ordinary file"),
        (pair(("data/pair/.", b"x")), "not an ordinary file"),
        (pair(("/outside", b"x")), "not an ordinary file"),
        (pair(("data//outside", b"x")), "not an ordinary file"),
        (pair(("C:\\outside", b"x")), "not an ordinary file"),
        (pair(("data/pair/zeros", bytes(40_000_000))), "would grow"),
        (pair(*((f"data/pair/{number}", bytes(999_999)) for number in range(4))), "would grow"),
        (pair(("codebook.csv", b"x"), ("codebook.csv", b"x")), "a file twice"),
        (pair(("data/pair/P01/x", b"x"), ("data/pair/p01/x", b"x")), "a file twice"),
        (pair(NOISE, old=HEAD, new=b"\x63\0\0\0\x08\0"), r"not an archive of a study: .*version 9\.9"),
        (pair(NOISE, old=HEAD, new=b"\x14\0\0\0\x0e\0"), "not an ordinary file"),
        (pair(("ü", b""), old="ü".encode(), new=b"\xff\xff"), "not an archive of a study"),
        (pair(NOISE, old=b"/x\1\0\1", new=b"/x\xff\0\1"), "data/pair/x cannot be read"),
        (pair(NOISE, old=b"\1\2\3\4\5", new=b"\5\4\3\2\1"), "data/pair/x cannot be read"),
        # with the same checksum, which a zip file has
        (pair(NOISE, old=b"\1\2\3\4\5", new=b"\x40\4\x72\xdf\4"), "damaged: data/pair/x is not what its list says"),
        (pair(NOISE, old=b"data/pair/x", new=b"data/pair/y"), "not in both"),
        # the permissions of a file, and those of a link
        (pair(NOISE, old=b"\0\0\x80\1", new=b"\0\0\x80\xa1"), "not an ordinary file"),
        (pair(("data/pair/a", b""), ("data/pair/a/b", b"")), "cannot write"),
        (pair(("data/pair/" + "a" * 300, b"")), "cannot write"),
        (lambda place: place.write_bytes(b"PK"), "not an archive of a study"),
        (pair(study="../outside"), "not an archive of a study"),
        (pair(study="out\0side"), "not an archive of a study"),
        *(
            (lambda place, text=text: zipfile.ZipFile(place, "w").writestr(CONTENTS, text), "not an archive of a study")
            for text in ("[]", '{"format": 2}', '{"format": 1, "study": "x", "files": {"a": 1}}', "[" * 100_000)
        ),
    ],
)
def test_hostile_archives_are_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: Callable[[Path], object], why: str
) -> None:
    monkeypatch.setattr("spanlab.extensions.archive.zipped._ALWAYS_IN_ALL", 3_000_000)
    written(tmp_path / "pair.zip")
    with pytest.raises(SpanLabError, match=why):
        spanlab.study_restore(tmp_path / "pair.zip", data=tmp_path / "elsewhere")
    with pytest.raises(SpanLabError, match=why):
        spanlab.compare(tmp_path / "pair.zip", tmp_path / "report")
    assert [*files(tmp_path)] == ["pair.zip"]
