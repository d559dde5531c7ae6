"""PsychoPy's and jsPsych's own tables: every scored answer comes over as it was, and what is
unclear is refused in a sentence."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command_line import Run, complaint

from spanlab.analysis.data.loading import load

#: trials of a PsychoPy experiment: the loop, conditions, what was pressed, its score, and when (s)
PRESSES: list[tuple[str, dict[str, Any], str | None, int, float | None]] = [
    ("practice", {"word": "red", "congruent": 0, "corrAns": "left"}, "left", 1, 0.61),
    ("trials", {"word": "red", "congruent": 0, "corrAns": "left"}, "left", 1, 0.5),
    ("trials", {"word": "blue", "congruent": 1, "corrAns": "right"}, "left", 0, 0.6128),
    ("trials", {"word": "blue", "congruent": 1, "corrAns": None}, None, 1, None),
    ("trials", {"word": "red", "congruent": 0, "corrAns": "left"}, None, 0, None),
]


def psychopy_text(person: str = "P01", date: str = "2026-03-01_10h00.00.000", **changes: str) -> str:
    """What PsychoPy's ExperimentHandler writes of these presses (the slow test below compares)."""
    loops = [
        f"{loop}.{name}" for loop in ("practice", "trials") for name in ("thisRepN", "thisTrialN", "thisN", "thisIndex")
    ]
    names = [
        "word",
        "congruent",
        "corrAns",
        *loops,
        "thisRow.t",
        "notes",
        "instr.started",
        "key_resp.keys",
        "key_resp.corr",
        "key_resp.rt",
    ]
    names += ["participant", "session", "date", "expName", "psychopyVersion"]
    lines, numbers = [",".join([*names, ""])], {"practice": 0, "trials": 0}
    for at, (loop, conditions, key, score, rt) in enumerate(PRESSES):
        who = {
            "participant": person,
            "session": "001",
            "date": date,
            "expName": "stroop",
            "psychopyVersion": "2026.2.5",
        }
        if at == 1:
            lines.append(",".join([*[str((who | {"instr.started": 1.2}).get(name, "")) for name in names], ""]))
        row = (
            who
            | conditions
            | {f"{loop}.{name}": numbers[loop] for name in ("thisRepN", "thisTrialN", "thisN", "thisIndex")}
        )
        row |= {"key_resp.keys": key, "key_resp.corr": score, "key_resp.rt": "" if rt is None else rt}
        numbers[loop] += 1
        lines.append(",".join([*[str(row.get(name, "")) for name in names], ""]))
    text = "\n".join(lines) + "\n"
    for old, new in changes.items():
        text = text.replace(old.replace("__", "."), new)
    return text


def psychopy(path: Path, text: str | None = None, name: str = "P01_stroop.csv") -> Path:
    file = path / name
    file.write_text(psychopy_text() if text is None else text, encoding="utf-8-sig")
    return file


def rows_of(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


# -- PsychoPy --------------------------------------------------------------------------------------


def test_a_table_of_psychopy_becomes_a_response_table(run: Run, tmp_path: Path) -> None:
    psychopy(tmp_path)
    status, out, err = run(
        "import",
        "psychopy",
        "P01_stroop.csv",
        "-o",
        "a.csv",
        "--factors",
        "word,congruent",
        "--practice",
        "practice",
        "--chance",
        "0.5",
    )
    assert (status, out) == (0, "a.csv: 5 answers (1 of practice) of 1 participant in 1 session\n")
    assert err == "1 row without a scored answer (instructions, pauses ...) left out\n"
    rows = rows_of(tmp_path / "a.csv")
    assert {row["participant"] for row in rows} == {"P01"}
    assert {(row["agent_kind"], row["agent"], row["paradigm"], row["chance"]) for row in rows} == {
        ("participant", "participant", "stroop", "0.5")
    }
    assert [row["trial"] for row in rows] == ["1", "2", "3", "4", "5"]
    assert [row["practice"] for row in rows] == ["true", "false", "false", "false", "false"]
    assert [row["rt_ms"] for row in rows] == ["610.0", "500.0", "612.8", "", ""], "seconds become milliseconds"
    assert [row["correct"] for row in rows] == ["true", "true", "false", "true", "false"]
    assert [row["outcome"] for row in rows] == ["answered", "answered", "answered", "answered", "omitted"], (
        "to hold still was right once, and an omission once"
    )
    assert [row["answer"] for row in rows] == ['"left"', '"left"', '"left"', "", ""]
    assert [row["factor_word"] for row in rows] == ['"red"', '"red"', '"blue"', '"blue"', '"red"']
    assert [row["factor_congruent"] for row in rows] == ["0", "0", "1", "1", "0"]
    data = load([tmp_path / "a.csv"])
    assert data.cautions == ()
    assert data.scored.items["correct"].tolist() == [1.0, 0.0, 1.0, 0.0]


def test_several_people_are_one_table_and_are_compared(run: Run, tmp_path: Path) -> None:
    files = [psychopy(tmp_path, psychopy_text(f"P0{number}"), f"{number}.csv") for number in range(3)]
    assert (
        run("import", "psychopy", *files, "-o", "all.csv", "--factors", "congruent")[1]
        == "all.csv: 15 answers of 3 participants in 3 sessions\n"
    )
    status, out, err = run("figure", "conditions", "all.csv", "--along", "congruent")
    assert status == 0, err
    assert "People (n = 3)" in out


def test_only_columns_that_are_asked_for_are_taken_and_the_others_named(run: Run, tmp_path: Path) -> None:
    """Fields about a person stay behind."""
    text = psychopy_text().replace("expName", "age,expName", 1).replace(",stroop,", ",47,stroop,")
    psychopy(tmp_path, text)
    _, _, err = run("import", "psychopy", "P01_stroop.csv", "-o", "a.csv")
    assert "columns that are not used: age, congruent, word; --factors names those that are conditions" in err
    assert "47" not in (tmp_path / "a.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("changes", "options", "told"),
    [
        (
            {"participant": "who"},
            (),
            "has no column that names the participant (participant): give --participant COLUMN, or --participant FILE",
        ),
        ({"P01": "None"}, (), "participant: 'None' names nobody; give every person an identifier"),
        (
            {"key_resp__corr": "key_resp.right"},
            (),
            "no column ends in '.corr', so no answer is scored; in Builder, let the component 'store correct'",
        ),
        ({",0.61,": ",['0.6'],"}, (), ""),
        ({",0.61,": ",quick,"}, (), "key_resp.rt: expected one time; found 'quick'"),
        ({",0.61,": ",-0.61,"}, (), "key_resp.rt: expected one time; found '-0.61'"),
        ({",0.61,": ',"[0.61, 0.9]",'}, (), "key_resp.rt: several presses are stored ([0.61, 0.9])"),
        ({"left,1,0.61": "left,7,0.61"}, (), "key_resp.corr: expected 1 or 0, true or false; found '7'"),
        ({"expName": "name"}, (), "does not name the experiment: give --as NAME"),
        ({}, ("--practice", "warmup"), "has no such loop; it has practice, trials"),
        ({}, ("--practice", "colour=red"), "expected COLUMN=VALUE with a column of"),
        ({}, ("--practice", "word=gren"), "no answer in these files is practice; word has "),
        ({}, ("--response", "mouse"), "has no column mouse.corr; components with scores are key_resp"),
        ({}, ("--factors", "load"), "has no column load; it has"),
        ({"word,": "congruent,"}, (), "has several columns called congruent"),
    ],
)
def test_what_is_unclear_in_a_table_of_psychopy_is_refused(
    run: Run, tmp_path: Path, changes: dict[str, str], options: tuple[str, ...], told: str
) -> None:
    psychopy(tmp_path, psychopy_text(**changes))
    status, out, err = run("import", "psychopy", "P01_stroop.csv", "-o", "a.csv", *options)
    if not told:
        assert status == 0, "a list of one press is that press"
        return
    assert told in complaint(status, out, err)
    assert not (tmp_path / "a.csv").exists()


def test_malformed_rows_are_left_out_on_request(run: Run, tmp_path: Path) -> None:
    psychopy(tmp_path, psychopy_text(**{",0.61,": ",quick,"}))
    status, out, err = run("import", "psychopy", "P01_stroop.csv", "-o", "a.csv", "--skip-malformed")
    assert (status, out) == (0, "a.csv: 4 answers of 1 participant in 1 session\n")
    assert "P01_stroop.csv:2 key_resp.rt: expected one time; found 'quick'" in err


def test_the_same_session_in_two_files_is_refused_and_another_one_is_not(run: Run, tmp_path: Path) -> None:
    psychopy(tmp_path)
    psychopy(tmp_path, None, "copy.csv")
    psychopy(tmp_path, psychopy_text(date="2026-03-02_10h00.00.000"), "later.csv")
    status, out, err = run("import", "psychopy", "P01_stroop.csv", "copy.csv", "-o", "a.csv")
    assert "hold the same session" in complaint(status, out, err)
    assert (
        run("import", "psychopy", "P01_stroop.csv", "later.csv", "P01_stroop.csv", "-o", "a.csv")[1]
        == "a.csv: 10 answers of 1 participant in 2 sessions\n"
    )


def test_scores_that_contradict_the_right_answer_are_counted_and_kept(run: Run, tmp_path: Path) -> None:
    psychopy(tmp_path, psychopy_text(**{"left,1,0.5": "left,0,0.5"}))
    _, _, err = run("import", "psychopy", "P01_stroop.csv", "-o", "a.csv")
    assert "1 answer scored differently from the correct answer in the same row; the file's scores are used" in err
    assert rows_of(tmp_path / "a.csv")[1]["correct"] == "false"
    psychopy(tmp_path)
    assert "scored otherwise" not in run("import", "psychopy", "P01_stroop.csv", "-o", "b.csv")[2]


@pytest.mark.slow
def test_what_psychopy_itself_writes_is_read(run: Run, tmp_path: Path) -> None:
    data = pytest.importorskip("psychopy.data")
    info = {
        "participant": "P01",
        "session": "001",
        "date": "2026-03-01_10h00.00.000",
        "expName": "stroop",
        "psychopyVersion": "2026.2.5",
    }
    experiment = data.ExperimentHandler(
        name="stroop", extraInfo=info, savePickle=False, saveWideText=False, dataFileName=str(tmp_path / "unused")
    )
    for name in ("practice", "trials"):
        presses = [one for one in PRESSES if one[0] == name]
        loop = data.TrialHandler(trialList=[one[1] for one in presses], nReps=1, method="sequential", name=name)
        experiment.addLoop(loop)
        if name == "trials":
            experiment.addData("instr.started", 1.2)
            experiment.nextEntry()
        for _, (_, _, key, score, rt) in zip(
            loop, [*presses, PRESSES[0]], strict=False
        ):  # a loop is over when it has nothing left
            loop.addData("key_resp.keys", key)
            loop.addData("key_resp.corr", score)
            if rt is not None:
                loop.addData("key_resp.rt", rt)
            experiment.nextEntry()
    experiment.saveAsWideText(str(tmp_path / "real.csv"))
    psychopy(tmp_path)
    chosen = ("--factors", "word,congruent", "--practice", "practice")
    assert run("import", "psychopy", "real.csv", "-o", "from_real.csv", *chosen)[0] == 0
    assert run("import", "psychopy", "P01_stroop.csv", "-o", "from_text.csv", *chosen)[0] == 0
    assert (tmp_path / "from_real.csv").read_text(encoding="utf-8") == (tmp_path / "from_text.csv").read_text(
        encoding="utf-8"
    )


# -- jsPsych ---------------------------------------------------------------------------------------

TRIALS: list[dict[str, Any]] = [
    {
        "rt": 2015,
        "stimulus": "<p>Welcome</p>",
        "response": " ",
        "trial_type": "html-keyboard-response",
        "trial_index": 0,
        "time_elapsed": 2017,
    },
    {"rt": 512.4, "response": "f", "phase": "practice", "load": 2, "correct_response": "f", "correct": True},
    {"rt": 733, "response": "j", "phase": "test", "load": 2, "correct_response": "f", "correct": False},
    {"rt": None, "response": None, "phase": "test", "load": 4, "correct_response": "f", "correct": False},
    {"rt": None, "response": None, "phase": "test", "load": 4, "correct_response": None, "correct": True},
    {"rt": 901, "response": 1, "phase": "test", "load": 4, "correct_response": 1, "correct": True},
    {"rt": 4000, "response": {"age": "47"}, "trial_type": "survey-text"},
]


def jspsych_trials(person: str = "s7") -> list[dict[str, Any]]:
    return [
        {"trial_type": "html-keyboard-response", "trial_index": at, "subject": person, **trial}
        for at, trial in enumerate(TRIALS)
    ]


def as_csv(trials: list[dict[str, Any]]) -> str:
    """As jsPsych writes it: everything in quotes, missing values empty, null as a word, objects
    without their content."""
    names = list(dict.fromkeys(name for trial in trials for name in trial))

    def cell(value: Any) -> str:
        text = (
            "[object Object]"
            if isinstance(value, dict)
            else json.dumps(value)
            if isinstance(value, bool) or value is None
            else str(value)
        )
        return '"' + text.replace('"', '""') + '"'

    lines = [names, *[[trial.get(name, "") for name in names] for trial in trials]]
    return "".join(",".join(map(cell, line)) + "\r\n" for line in lines)


FORMS = {
    "data.json": lambda trials: json.dumps(trials),
    "data.csv": as_csv,
    "jatos.txt": lambda trials: "\n".join(json.dumps(some) for some in (trials[:3], trials[3:])) + "\n",
}


@pytest.mark.parametrize("name", FORMS)
def test_data_of_jspsych_become_a_response_table(run: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(FORMS[name](jspsych_trials()), encoding="utf-8")
    status, out, err = run(
        "import", "jspsych", name, "-o", "a.csv", "--as", "search", "--factors", "load", "--practice", "phase=practice"
    )
    assert (status, out) == (0, "a.csv: 5 answers (1 of practice) of 1 participant in 1 session\n"), err
    assert "2 rows without a scored answer (instructions, pauses ...) left out" in err
    rows = rows_of(tmp_path / "a.csv")
    assert {row["participant"] for row in rows} == {"s7"}
    assert [row["practice"] for row in rows] == ["true", "false", "false", "false", "false"]
    assert [float(row["rt_ms"]) if row["rt_ms"] else None for row in rows] == [512.4, 733, None, None, 901]
    assert [row["correct"] for row in rows] == ["true", "false", "false", "true", "true"]
    assert [row["outcome"] for row in rows] == ["answered", "answered", "omitted", "answered", "answered"]
    assert [row["factor_load"] for row in rows] == ["2", "2", "4", "4", "4"]
    assert [row["answer"].strip('"') for row in rows] == ["f", "j", "", "", "1"]
    assert load([tmp_path / "a.csv"]).scored.items["correct"].tolist() == [0.0, 0.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("change", "options", "told"),
    [
        ({"subject": None}, ("--as", "x"), "names nobody"),
        (
            {"subject": "7", "PROLIFIC_PID": "5f"},
            ("--as", "x"),
            "several columns may name the participant, and they differ: choose with --participant",
        ),
        ({"correct": "maybe"}, ("--as", "x"), "correct: expected 1 or 0, true or false; found 'maybe'"),
        ({"rt": "fast"}, ("--as", "x"), "rt: expected one time; found 'fast'"),
        ({}, (), "does not name the experiment: give --as NAME"),
        ({}, ("--as", "x", "--participant", "nobody"), "has no column that names the participant (nobody)"),
    ],
)
def test_what_is_unclear_in_data_of_jspsych_is_refused(
    run: Run, tmp_path: Path, change: dict[str, Any], options: tuple[str, ...], told: str
) -> None:
    trials = [{**trial, **(change if "correct" in trial else {})} for trial in jspsych_trials()]
    (tmp_path / "data.json").write_text(json.dumps(trials), encoding="utf-8")
    status, out, err = run("import", "jspsych", "data.json", "-o", "a.csv", *options)
    assert told in complaint(status, out, err)
    assert not (tmp_path / "a.csv").exists()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "cannot be read as JSON"),
        ("[1, 2]", "expected a list of trials, each an object"),
        ('[{"rt": 5}]', "no trial has a 'trial_type'"),
        ('[{"trial_type": "x"}]', "no trial has 'correct'"),
        ("[]", "no row has a scored answer"),
    ],
)
def test_files_that_are_not_jspsychs_are_refused(run: Run, tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "data.json").write_text(text, encoding="utf-8")
    status, out, err = run("import", "jspsych", "data.json", "-o", "a.csv", "--as", "x")
    assert told in complaint(status, out, err)


def test_a_file_may_name_its_participant_and_nothing_is_written_over(run: Run, tmp_path: Path) -> None:
    trials = [{name: value for name, value in trial.items() if name != "subject"} for trial in jspsych_trials()]
    for person in ("anna", "ben"):
        (tmp_path / f"{person}.json").write_text(json.dumps(trials), encoding="utf-8")
    words = ("import", "jspsych", "anna.json", "ben.json", "-o", "a.csv", "--as", "x", "--participant", "FILE")
    assert run(*words)[1] == "a.csv: 10 answers of 2 participants in 2 sessions\n"
    assert set(pd.read_csv(tmp_path / "a.csv")["participant"]) == {"anna", "ben"}
    status, out, err = run(*words)
    assert "a.csv is there already" in complaint(status, out, err)
    status, out, err = run(*[word.replace("a.csv", "data") for word in words])
    assert "-o names the response table that is written, such as answers.csv" in complaint(status, out, err)
