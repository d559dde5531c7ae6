"""BIDS data sets as sessions: what was exported comes back column by column, and what cannot is
refused with its place."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from command_line import Run, complaint

from spanlab.exchange import FORMATS, Report
from spanlab.extensions.standards.bids_sessions import BidsReading
from spanlab.extensions.standards.bids_tables import MalformedError, parsed_cell
from spanlab.extensions.standards.sharing import Sharing
from spanlab.sessions import read_session, write_info
from spanlab.sessions.record.columns import replacements
from spanlab.sessions.record.reader import COLUMNS, find_sessions, read_events, read_table, write_responses

GOLDEN = Path(__file__).resolve().parents[3] / "tests" / "golden" / "sessions"
FINISHED = GOLDEN / "finished"
PERSON, CHAT, LARGE, OWN = (
    FINISHED / name for name in ("vsr-p01-s3", "sfr-chat-scripted-s32", "vsr-network-laptop-s27", "signs-p02-s4")
)
QUIET = Report(done=lambda _: None, note=lambda _: None)
#: what BIDS cannot hold, as docs/exchange.md says: names, and times beyond a microsecond
LOST = {"session", "participant", "agent"}
ROUNDED = {"rt_ms": 0.0005}


def there_and_back(folder: Path, session: Path, free_text: bool = True) -> Path:
    """A session, exported and imported again."""
    FORMATS.get("bids")().write(
        [str(session)], folder / "set", Sharing(free_text=free_text, dates=True, with_seeds=True), QUIET
    )
    FORMATS.get("bids")().read([folder / "set"], folder / "back", BidsReading(), QUIET)
    (imported,) = find_sessions([folder / "back"])
    return imported


def columns(session: Path) -> dict[str, list[Any]]:
    table = read_table(session).to_pandas()
    return {str(name): table[name].astype(object).where(table[name].notna(), None).tolist() for name in table.columns}


def assert_same(found: dict[str, list[Any]], wanted: dict[str, list[Any]]) -> None:
    for name, cells in wanted.items():
        if name in ROUNDED:
            assert found[name] == [
                None if cell is None else pytest.approx(cell, abs=ROUNDED[name]) for cell in cells
            ], name
        elif name not in LOST:
            assert found[name] == cells, name


def check(folder: Path, session: Path) -> None:
    imported = there_and_back(folder, session)
    wanted, found = columns(session), columns(imported)
    assert_same(found, wanted)
    assert set(found) - set(wanted) <= {column.name for column in COLUMNS}, "columns that an older table did not have"
    old, new = read_session(session), read_session(imported)
    for key in (
        "agent_kind",
        "paradigm",
        "paradigm_version",
        "paradigm_hash",
        "generator",
        "design",
        "language",
        "seed",
        "oracle",
        "pilot",
        "paradigm_data",
    ):
        assert new[key] == old[key], key
    # a second round changes nothing more, to the byte
    second = there_and_back(folder / "again", imported)
    assert (second / "responses.csv").read_bytes() == (imported / "responses.csv").read_bytes()
    assert finished_rows(folder / "set") == finished_rows(folder / "again" / "set"), "with every display"


def finished_rows(data_set: Path) -> list[dict[str, str]]:
    """The rows of tables with onsets, without trials that were cut off."""
    tables = [path.read_text(encoding="utf-8").splitlines() for path in sorted(data_set.rglob("*_events.tsv"))]
    return [
        row
        for lines in tables
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        if row["trial_counts"] == "true"
    ]


@pytest.mark.parametrize("session", [PERSON, CHAT, OWN], ids=lambda one: one.name)
def test_what_was_exported_comes_back_column_by_column(tmp_path: Path, session: Path) -> None:
    check(tmp_path, session)


@pytest.mark.parametrize(("window", "reloads"), [("browser", 1), ("pyglet", None)])
def test_how_often_a_trial_was_cut_off_comes_back(tmp_path: Path, window: str, reloads: int | None) -> None:
    """Of a trial that was begun three times, twice in vain."""
    session = tmp_path / PERSON.name
    shutil.copytree(PERSON, session)
    info = read_session(session)
    write_info(session, {**info, "apparatus": {**info["apparatus"], "window": window}})
    lines = [json.loads(line) for line in (session / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    at = next(number for number, event in enumerate(lines) if event["event"] == "trial_start" and event["trial"] == "2")
    start = lines[at]
    cuts = [
        event
        for attempt, why in ((1, "reloaded"), (2, "hidden"))
        for event in (
            {**start, "seed": start["seed"] + attempt, "attempt": attempt},
            {"event": "trial_cut", "trial": "2", "attempt": attempt, "why": why, "step": 1},
        )
    ]
    third = [{**event, "attempt": 3} if event.get("trial") == "2" else event for event in lines[at:]]
    (session / "events.jsonl").write_text(
        "".join(f"{json.dumps(event)}\n" for event in [*lines[:at], *cuts, *third]), encoding="utf-8"
    )
    write_responses(session)
    before = columns(session)
    counted = zip(before["trial"], before["trial_cuts"], before["trial_reloads"], strict=True)
    assert {cell for cell in counted if cell[1]} == {(2, 2, reloads)}
    imported = there_and_back(tmp_path, session)
    after = columns(imported)
    for name in ("trial_cuts", "trial_reloads"):
        assert after[name] == before[name], name
    assert replacements(read_events(imported)) == replacements(read_events(session)) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "session",
    find_sessions([GOLDEN / part for part in ("finished", "half", "studies")]),
    ids=lambda one: "/".join(one.parts[-2:]),
)
def test_sessions_of_every_kind_come_back(tmp_path: Path, session: Path) -> None:
    check(tmp_path, session)


@pytest.mark.slow
def test_imported_answers_are_replayed_and_scored_as_any(tmp_path: Path, run: Run) -> None:
    assert run("export", "bids", PERSON, "set", "--with-seeds")[0] == 0
    status, out, err = run("import", "bids", "set", "-o", "data")
    assert (status, err) == (0, "")
    folder, _, rows = out.strip().partition(": ")
    assert rows == f"{len(columns(PERSON)['correct'])} answered items"
    status, again, err = run("replay", "--like", folder, "--agent", f"recorded:{folder}", "--data", "again")
    assert status == 0, err
    found, wanted = columns(tmp_path / again.strip()), columns(PERSON)
    kept = [place for place, practice in enumerate(wanted["practice"]) if not practice]
    for name in ("trial_id", "answer", "correct_answer", "correct", "serial_position"):
        assert found[name] == [wanted[name][place] for place in kept]
    assert run("import", "bids", "set", "-o", "data")[1] == f"{folder}: it was imported before\n"


def edited(folder: Path, change: Callable[[list[str]], Sequence[str]]) -> None:
    """Change the lines of the only table of a data set."""
    (path,) = folder.rglob("sub-*_*.tsv")
    path.write_text("\n".join(change(path.read_text(encoding="utf-8").splitlines())) + "\n", encoding="utf-8")


def renamed(names: dict[str, str]) -> Callable[[list[str]], list[str]]:
    return lambda lines: ["\t".join(names.get(name, name) for name in lines[0].split("\t")), *lines[1:]]


def without(*names: str) -> Callable[[list[str]], list[str]]:
    def cut(lines: list[str]) -> list[str]:
        kept = [place for place, name in enumerate(lines[0].split("\t")) if name not in names]
        return ["\t".join(line.split("\t")[place] for place in kept) for line in lines]

    return cut


def put(row: int, name: str, text: str) -> Callable[[list[str]], list[str]]:
    def change(lines: list[str]) -> list[str]:
        cells = lines[row].split("\t")
        cells[lines[0].split("\t").index(name)] = text
        return [*lines[:row], "\t".join(cells), *lines[row + 1 :]]

    return change


@pytest.fixture
def data_set(tmp_path: Path, run: Run) -> Path:
    assert run("export", "bids", FINISHED / "vsr-ideal-s11", "set", "--dates")[0] == 0
    return tmp_path / "set"


def test_a_data_set_of_somebody_else_is_refused_by_its_missing_columns_or_mapped(
    tmp_path: Path, run: Run, data_set: Path
) -> None:
    edited(data_set, renamed({"seed": "trial_seed", "answer": "response"}))
    said = complaint(*run("import", "bids", "set", "-o", "data"))
    assert "_beh.tsv lacks the columns seed, answer\n" in said
    assert "--columns seed=trial_seed,answer=response" in said
    assert run("import", "bids", "set", "-o", "data", "--columns", "seed=trial_seed,answer=response")[0] == 0
    assert_same(columns(next((tmp_path / "data").iterdir())), columns(FINISHED / "vsr-ideal-s11"))
    foreign = tmp_path / "foreign" / "sub-01" / "beh"
    foreign.mkdir(parents=True)
    (tmp_path / "foreign" / "dataset_description.json").write_text(
        '{"Name": "x", "BIDSVersion": "1.10.0"}', encoding="utf-8"
    )
    assert "has no table of answers" in complaint(*run("import", "bids", "foreign", "-o", "other"))
    (foreign / "sub-01_task-flanker_events.tsv").write_text(
        "onset\tduration\ttrial_type\tresponse_time\n0.5\t1\tcongruent\t0.4\n", encoding="utf-8"
    )
    said = complaint(*run("import", "bids", "foreign", "-o", "other"))
    assert (
        "lacks the columns block, trial, practice, seed, trial_id, step, ask, outcome, answer, correct, generator,"
        " event_type" in said
    )
    assert "is not a BIDS data set" in complaint(*run("import", "bids", "nowhere", "-o", "other"))
    assert "expected NAME=THEIRS" in complaint(*run("import", "bids", "set", "-o", "other", "--columns", "seed"))
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (put(1, "correct", "false"), r"line 2: the answer '\d' does not come out as it was scored"),
        (put(2, "serial_position", "9"), "line 3: serial_position is 9, and comes out as"),
        (put(1, "seed", "12"), "line 2: its seed and levels do not give the trial"),
        (put(1, "trial", "one"), "line 2: expected a whole number; found one"),
        (put(1, "response_time", "soon"), "line 2: expected a number; found soon"),
        (put(1, "value", '{"a": 1}'), "does not come out as it was scored"),
        (put(1, "value", "["), "line 2: value is JSON"),
        (put(1, "step", "99"), "found step 99"),
        (put(1, "generator", "mine"), "generator is corrected or published; found mine"),
        (without("factor_list_length", "list_length"), "the level of list_length is missing"),
        (lambda lines: [*lines, "one\tcell"], "it has 2 cells, and the first line"),
    ],
    ids=range(11),
)
def test_what_does_not_come_out_is_told_with_its_place_and_leaves_nothing(
    tmp_path: Path, run: Run, data_set: Path, change: Callable[[list[str]], Sequence[str]], told: str
) -> None:
    edited(data_set, change)
    said = complaint(*run("import", "bids", "set", "-o", "data"))
    assert re.search(told, said), said
    assert "nothing was imported" in said
    assert not (tmp_path / "data").exists()


def test_sessions_without_what_they_need_are_left_out_on_request(tmp_path: Path, run: Run) -> None:
    """An answer that was not shared cannot be scored again."""
    shutil.copytree(FINISHED / "cd-chance-s12", tmp_path / "sessions" / "one")
    shutil.copytree(FINISHED / "vsr-ideal-s11", tmp_path / "sessions" / "two")
    assert run("export", "bids", "sessions", "set")[0] == 0
    edited(tmp_path / "set" / "sub-chance", lambda lines: put(1, "answer", "(other)")(put(1, "value", "n/a")(lines)))
    said = complaint(*run("import", "bids", "set", "-o", "data"))
    assert "free text may have been left out" in said
    status, out, err = run("import", "bids", "set", "-o", "data", "--skip-malformed")
    assert status == 0
    assert out.startswith(str(Path("data") / "vsr-ideal-s11"))
    assert err.startswith("left out: ")


SEEDS = ("seed", "trial_id", "paired_trial_id")


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "session",
    [PERSON, OWN, *(FINISHED / name for name in ("cd-chance-s12", "nback_verbal-ideal-s17"))],
    ids=lambda one: one.name,
)
def test_answers_come_back_without_seeds_and_their_trials_do_not(tmp_path: Path, run: Run, session: Path) -> None:
    assert run("export", "bids", session, "set", "--no-seeds", "--dates", "--free-text")[0] == 0
    about = json.loads(next((tmp_path / "set").rglob("sub-*_run-1_*.json")).read_text(encoding="utf-8"))["SpanLab"]
    assert ("Seed" in about, about["Seeds"]) == (False, "left out")
    status, out, err = run("import", "bids", "set", "-o", "data")
    assert (status, err) == (
        0,
        "NOTE 1 session without seeds: the answers can be analysed, but the trials cannot be made again\n",
    )
    folder = out.partition(": ")[0]
    # how long a machine's display would have been shown to people is known from the trial alone
    wanted = {
        name: cells
        for name, cells in columns(session).items()
        if name not in SEEDS and (name, session in (PERSON, OWN)) != ("planned_ms", False)
    }
    found = columns(tmp_path / folder)
    assert [set(found[name]) for name in SEEDS] == [{None}, {""}, {""}]
    assert_same(found, wanted)
    for command in (
        ("resume", folder),
        ("replay", "--like", folder, "--agent", "ideal"),
        ("replay", "vsr", "--agent", f"recorded:{folder}"),
    ):
        status, out, err = run(*command)
        assert "nothing to do" in out or "cannot be made again: it was imported from data without seeds" in err, command
    assert run("export", "bids", folder, "again", "--dates", "--free-text", "--no-seeds")[0] == 0
    assert finished_rows(tmp_path / "again") == finished_rows(tmp_path / "set")
    status, _, err = run("compare", folder, "-o", "report")
    assert status == 0, err


def test_a_table_that_lacks_its_seeds_without_saying_so_is_refused(tmp_path: Path, run: Run, data_set: Path) -> None:
    edited(data_set, without("seed", "trial_id"))
    assert "lacks the columns seed, trial_id" in complaint(*run("import", "bids", "set", "-o", "other"))


def test_groups_are_with_the_participants_and_come_back(tmp_path: Path) -> None:
    for name, source in (("in_group", PERSON), ("model", CHAT)):
        shutil.copytree(source, tmp_path / "data" / name)
    person = tmp_path / "data" / "in_group"
    info = json.loads((person / "session.json").read_text(encoding="utf-8"))
    (person / "session.json").write_text(json.dumps({**info, "group": "training"}), encoding="utf-8")
    write_responses(person)
    FORMATS.get("bids")().write([str(tmp_path / "data")], tmp_path / "set", Sharing(free_text=True, dates=True), QUIET)
    with (tmp_path / "set" / "participants.tsv").open(encoding="utf-8") as file:
        people = {row["participant_type"]: row["group"] for row in csv.DictReader(file, delimiter="\t")}
    assert people == {"person": "training", "machine": "n/a"}
    described = json.loads((tmp_path / "set" / "participants.json").read_text(encoding="utf-8"))
    assert "group of the participant" in described["group"]["Description"]
    FORMATS.get("bids")().read([tmp_path / "set"], tmp_path / "back", BidsReading(), QUIET)
    groups = {
        read_session(folder)["agent_kind"]: read_session(folder).get("group")
        for folder in find_sessions([tmp_path / "back"])
    }
    assert groups == {"participant": "training", "chat": None}
    back = next(folder for folder in find_sessions([tmp_path / "back"]) if read_session(folder).get("group"))
    assert set(columns(back)["group"]) == {"training"}
    for form, table in (("csv", "responses.csv"), ("psychds", None)):
        FORMATS.get(form)().write([str(tmp_path / "data")], tmp_path / form, Sharing(free_text=True), QUIET)
        files = [tmp_path / form / table] if table else sorted((tmp_path / form / "data").glob("*.csv"))
        rows = [row for path in files for row in csv.DictReader(path.open(encoding="utf-8", newline=""))]
        assert {(row["participant_type"], row["group"]) for row in rows} == {("person", "training"), ("machine", "")}
    codebook = (tmp_path / "csv" / "codebook.csv").read_text(encoding="utf-8")
    assert "group,string,,studies with groups: the group of the participant" in codebook
    variables = json.loads((tmp_path / "psychds" / "dataset_description.json").read_text(encoding="utf-8"))[
        "variableMeasured"
    ]
    assert [one["name"] for one in variables].count("group") == 1


def test_a_number_that_is_too_large_is_refused_or_text(tmp_path: Path) -> None:
    """No number of a record is infinite: JSON has none, and the import would end in an error."""
    with pytest.raises(MalformedError, match="the number is too large"):
        parsed_cell("9" * 400, "number", tmp_path, "row 1")
    assert parsed_cell("1e999", "json", tmp_path, "row 1") == "1e999"
    assert parsed_cell("[1, 2.5]", "json", tmp_path, "row 1") == (1, 2.5)
