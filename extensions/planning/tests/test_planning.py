"""``spanlab plan`` and ``spanlab methods`` as a laboratory types them: from nothing, from data of
one's own, before and after a study."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import Run, output_of
from observed import along, table, together
from session_tools import AtTheWindow, Guessing, Rehearsing, take
from study_files import Guest, study_in
from study_files import take as take_session

from spanlab.analysis.data.coding import Declared
from spanlab.core.errors import SpanLabError
from spanlab.extensions.planning import command
from spanlab.extensions.planning.methods import own_effects
from spanlab.paradigms import load_paradigm
from spanlab.sessions.studies.participants import find, withdraw

ROOT = Path(__file__).resolve().parents[3]
GOLDEN = ROOT / "tests" / "golden" / "sessions"


def pilot(folder: Path) -> Path:
    """Ten people who took a pilot study."""
    parts = []
    for at in range(10):
        own = float(np.random.RandomState(at).normal(0, 0.08))
        parts.append(
            table(
                along("set_size", {2: 0.85 + own / 2, 6: 0.7 + own}),
                40,
                agent="participant",
                kind="participant",
                participant=f"P{at}",
                seed=at,
            )
        )
    together(*parts).to_parquet(folder / "pilot.parquet")
    return folder / "pilot.parquet"


def test_a_study_is_planned_from_assumptions(run: Run, tmp_path: Path) -> None:
    printed = output_of(
        *run(
            "plan",
            "--accuracy",
            "75%",
            "--difference",
            "-8points",
            "--people",
            "8,24",
            "--trials",
            "24",
            "--margin",
            "10points",
            "--samples",
            "300",
            "-o",
            "plan",
        )
    )
    assert "75.0% and 67.0% right" in printed
    assert printed.count("Assumed, because nothing determines it") == 2
    assert "seed 1" in printed
    assert "alike within 10 points" in printed
    found = pd.read_csv(tmp_path / "plan" / "plan.csv")
    assert list(found["people"]) == [8, 24]
    assert found["power"].iloc[1] > found["power"].iloc[0]
    assert (found["n_simulated"] == 300).all()
    told = json.loads((tmp_path / "plan" / "plan.json").read_text(encoding="utf-8"))
    assert (told["accuracy"], told["seed"], told["samples"]) == (0.75, 1, 300)
    again = run(
        "plan",
        "--accuracy",
        "75%",
        "--difference",
        "-8points",
        "--people",
        "8,24",
        "--trials",
        "24",
        "--margin",
        "10points",
        "--samples",
        "300",
    )[1]
    assert printed.startswith(again)  # the same seed, the same numbers


@pytest.mark.slow
def test_a_study_is_planned_from_a_pilot(run: Run, tmp_path: Path) -> None:
    printed = output_of(
        *run("plan", pilot(tmp_path), "--people", "8", "--trials", "20", "--samples", "200", "--sd-item", "0")
    )
    assert "The difference is the one that was seen" in printed
    assert "(1 | participant)" in printed
    assert "Assumed, because nothing determines it" not in printed
    smaller = run(
        "plan",
        tmp_path / "pilot.parquet",
        "--difference",
        "-3points",
        "--people",
        "8",
        "--trials",
        "20",
        "--samples",
        "200",
        "--sd-item",
        "0",
    )[1]
    assert "one that was seen" not in smaller


@pytest.mark.slow
def test_tables_with_other_names_of_columns_are_read_as_they_are_mapped(run: Run, tmp_path: Path) -> None:
    pd.read_parquet(pilot(tmp_path)).rename(columns={"participant": "subject", "correct": "accuracy"}).to_csv(
        tmp_path / "own.csv", index=False
    )
    assert run("plan", "own.csv", "--samples", "50")[0] != 0
    few = ("--people", "8", "--trials", "20", "--samples", "200", "--sd-item", "0")
    status, printed, _ = run("plan", "own.csv", "--recipe", "subject=participant,accuracy=correct", *few)
    assert (status, printed) == (0, run("plan", tmp_path / "pilot.parquet", *few)[1])
    text = run("methods", "own.csv", "--recipe", "subject=participant,accuracy=correct")[1]
    assert "10 people took part" in text
    assert "--recipe is about data" in run("methods", "vsr", "--before", "--recipe", "subject=participant")[2]
    nothing = run("plan", "--accuracy", "75%", "--difference", "-5points", "--recipe", "subject=participant")[2]
    assert "--recipe is about data, and none are named" in nothing


@pytest.mark.parametrize(
    ("arguments", "said", "key"),
    [
        (
            ("--value", "d_prime", "--d-prime", "2", "--difference", "-0.4d'", "--margin", "0.3d'"),
            "d′ 2.00 and 1.60",
            "d_prime",
        ),
        (
            ("--value", "rt_ms", "--rt", "800", "--difference", "40ms", "--sd-trial", "300", "--accuracy", "90%"),
            "800 ms and 840 ms, 90% of answers",
            "rt",
        ),
    ],
)
def test_sensitivity_and_times_are_planned_from_assumptions(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], said: str, key: str
) -> None:
    printed = output_of(
        *run("plan", *arguments, "--people", "8,24", "--trials", "24", "--samples", "200", "-o", "plan")
    )
    assert said in printed
    assert "24 answers in each condition" in printed
    assert printed.count("Assumed, because nothing determines it") == (4 if key == "d_prime" else 3)
    assert "(tau) of 180 in ms" in printed or key == "d_prime"  # as large a part of the spread that was stated
    found = pd.read_csv(tmp_path / "plan" / "plan.csv")
    assert found["power"].iloc[1] > found["power"].iloc[0]
    assert key in json.loads((tmp_path / "plan" / "plan.json").read_text(encoding="utf-8"))


def test_times_are_planned_from_a_pilot(run: Run, tmp_path: Path) -> None:
    data, random = pd.read_parquet(pilot(tmp_path)), np.random.RandomState(1)
    data.assign(rt_ms=700 + 20 * data["set_size"].astype(float) + random.exponential(200, len(data))).to_parquet(
        tmp_path / "pilot.parquet"
    )
    printed = output_of(
        *run(
            "plan",
            "pilot.parquet",
            "--value",
            "rt_ms",
            "--people",
            "8",
            "--trials",
            "20",
            "--samples",
            "200",
            "--tau",
            "0",
        )
    )
    for words in ("vsr, 10 people, set_size 2 and 6", "The difference is the one that was seen", "(tau 0 ms)"):
        assert words in printed
    assert "Taken" not in printed


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--value", "d_prime", "--accuracy", "75%", "--difference", "-5points"), "--d-prime"),
        (("--value", "d_prime", "--d-prime", "2", "--difference", "-5points"), "such as -0.3d'"),
        (("--value", "rt_ms", "--rt", "800", "--difference", "-0.3d'"), "such as 40ms"),
        (("--value", "rt_ms", "--rt", "800", "--difference", "40ms", "--margin", "5points"), "such as 20ms"),
        (
            ("--value", "rt_ms", "--rt", "800", "--difference", "40ms", "--d-prime", "2"),
            "--d-prime is about --value d_prime",
        ),
        (("--accuracy", "75%", "--difference", "-5points", "--tau", "20"), "--tau is about --value rt_ms"),
        (("--value", "speed", "--accuracy", "75%"), "correct, d_prime or rt_ms"),
        ((), "what is to be simulated?"),
        (("--accuracy", "75%"), "what is to be simulated?"),
        (("--accuracy", "75", "--difference", "-5points"), "percent, or a share"),
        (("--accuracy", "75%", "--difference", "30points"), "between 0% and 100%"),
        (("--accuracy", "75%", "--difference", "-5points", "--people", "many"), "--people takes whole numbers"),
        (("--accuracy", "75%", "--difference", "-5points", "--margin", "20ms"), "percentage points"),
        (("--accuracy", "75%", "--difference", "-5points", "--by", "set_size"), "--by is about data"),
    ],
)
def test_a_plan_that_says_too_little_is_refused_in_a_sentence(run: Run, arguments: tuple[str, ...], why: str) -> None:
    status, _, complaint = run("plan", *arguments)
    assert status == 1
    assert why in complaint
    assert "Traceback" not in complaint


def test_methods_tell_what_was_recorded_and_mark_what_was_not(run: Run, tmp_path: Path) -> None:
    for name in ("vsr-p01-s3", "vsr-network-laptop-s27", "vsr-chat-scripted-s31"):
        shutil.copytree(GOLDEN / "finished" / name, tmp_path / "data" / name)
    (tmp_path / "rules.yaml").write_text(
        "exclude:\n  - {leave_out: answers, where: rt_ms, above: 60000, reason: too slow}\n", encoding="utf-8"
    )
    text = output_of(*run("methods", "data", "--exclude", "rules.yaml", "--margin", "5points"))
    assert "11 people took part" in output_of(*run("methods", "data", pilot(tmp_path))), (
        "one in a session, and ten in a table"
    )
    info = json.loads((tmp_path / "data" / "vsr-p01-s3" / "session.json").read_text(encoding="utf-8"))
    network = json.loads((tmp_path / "data" / "vsr-network-laptop-s27" / "session.json").read_text(encoding="utf-8"))
    for said in (
        "One person took part.",
        "[not recorded: age, gender",
        info["paradigm_hash"],
        info["versions"]["psychopy"],
        network["agent_settings"]["sha256"],
        "scripted server, not a model",
        "too slow",
        "Differences count as none within 5 points",
        "correct ~ agent * list_length",
        "Wilson, E. B. (1927)",
    ):
        assert said in text
    plain = run("methods", "data")[1]
    assert "No exclusion rule was applied." in plain
    assert "No margin was declared" in plain
    assert "Schuirmann" not in plain
    assert run("methods", "data", "-o", "text/methods.md")[1].strip().endswith("methods.md")
    assert (tmp_path / "text" / "methods.md").read_text(encoding="utf-8") == plain


def test_a_rehearsal_does_not_describe_the_sessions_of_people(run: Run, tmp_path: Path) -> None:
    data, cd = tmp_path / "data", load_paradigm("cd")
    take(data, cd, Rehearsing(Guessing()), 4, seed=9, levels={"set_size": 6}, participant="Q1", practice=False)
    alone = run("methods", "data")[1]
    assert "1 session of 4 trials each" in alone
    assert "All of this describes simulated participants." in alone
    person = take(data, cd, AtTheWindow(Guessing()), 8, levels={"set_size": 2}, participant="Q1", practice=False)
    rehearsal = " Not counted here, nor in the timing below: 1 session of simulated participants."
    task = run("methods", "data")[1].split("\n## ")[2]
    assert rehearsal in task
    assert task.replace(rehearsal, "") == run("methods", person.folder)[1].split("\n## ")[2]


def test_methods_say_what_the_record_has_of_consent_and_of_nobody_in_particular(run: Run, tmp_path: Path) -> None:
    study, data = study_in(tmp_path), tmp_path / "data"
    take_session(study, data, "p01")
    assert "Consent was given on a page before the first trial; the record has the text. Nobody refused it." in (
        text := run("methods", "data")[1]
    )
    assert "[not recorded: gender" not in text
    assert "compensation, ethics approval]" in text
    refusing = Guest()
    refusing.decides = ["refuse"]
    with pytest.raises(SpanLabError):
        take_session(study, data, "p02", guest=refusing)
    take_session(study, data, "p03")
    gone = find(data / study.name, "p03")
    assert gone is not None
    withdraw(data / study.name, gone, 3)
    take(data, load_paradigm("vsr"), AtTheWindow(Guessing()), 1, participant="p04", practice=False)
    text = run("methods", "data")[1].split("\n## ")[1]
    for words in (
        "before the first trial, by 1 of 2 people; the record has the text.",
        "1 person refused it and took no part. 1 person withdrew, and their data were removed.",
        "compensation, consent, ethics approval]",
    ):
        assert words in text
    assert not {name for name in ("p01", "p02", "p03", "p04") if name in text}


def test_methods_of_a_table_claim_nothing_of_sessions(run: Run, tmp_path: Path) -> None:
    text = run("methods", pilot(tmp_path))[1]
    for words in ("[not recorded: paradigm file", "[not recorded: versions of the software]", "10 people took part"):
        assert words in text
    assert "hash" not in text


def test_the_methods_are_written_before_there_are_data(run: Run, tmp_path: Path) -> None:
    text = output_of(*run("methods", "vsr", "--before"))
    assert text.count("[not decided: ") == 2
    for said in (
        "A session has 40 trials in 1 block.",
        "list length: 2 (5), 3 (5)",
        "correct ~ agent * list_length + random effects",
        "vsr: correct by serial position",
    ):
        assert said in text
    study = run("methods", GOLDEN / "studies" / "study.yaml", "--before", "--margin", "5points")[1]
    assert "The study is Two short tasks" in study
    assert "within 5 points" in study
    assert "Groups are compared" not in study
    text = (
        (GOLDEN / "studies" / "study.yaml").read_text(encoding="utf-8").replace("../own.yaml", str(GOLDEN / "own.yaml"))
    )
    (tmp_path / "groups.yaml").write_text(
        f"{text}\ngroups: [control, {{name: training, people: 12}}]\n", encoding="utf-8"
    )
    grouped = run("methods", tmp_path / "groups.yaml", "--before")[1]
    for words in (
        "control takes all paradigms",
        "training (12 people) takes all paradigms",
        "Groups are compared between people",
    ):
        assert words in grouped
    for arguments, why in (
        (("vsr", "cd"), "one paradigm or one study"),
        (("nothing",), "nothing"),
        (("vsr", "--by", "set_size"), "--by is about data"),
    ):
        status, _, complaint = run("methods", *arguments, "--before")
        assert status == 1
        assert why in complaint


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (
            "{paradigm: cd, trials: 10}",
            "in at most 5 blocks. Within people vary: feature: colour, conjunction, gap, orientation, size; set size:"
            " 2, 4, 6, 8, 10, 12. Which of the 30 combinations of these levels have 1 trial and which none is drawn for"
            " each session.",
        ),
        (
            "{paradigm: cd, trials: 10, set: {set_size: [2, 4, 6], feature: [size]}}",
            "in 1 block. Within people vary: set size: 2, 4, 6. Which of the 3 combinations of these levels have 4"
            " trials and which 3 is drawn for each session. Fixed: feature size.",
        ),
        (
            "{paradigm: cd, trials: 12, set: {set_size: [2, 4, 6], feature: [size]}}",
            "Within people vary, with numbers of trials: set size: 2 (4), 4 (4), 6 (4). Fixed: feature size.",
        ),
        (
            "{paradigm: digit_span, design: forward}",
            "A session has at most 14 trials in 1 block. From trial to trial the answers decide on list length (from 3"
            " on). Fixed: direction forward.",
        ),
    ],
)
def test_a_design_that_is_written_before_is_that_of_every_session(
    run: Run, tmp_path: Path, entry: str, said: str
) -> None:
    (tmp_path / "study.yaml").write_text(f"study: one\ntitle: One\nparadigms:\n  - {entry}\n", encoding="utf-8")
    assert said in run("methods", "study.yaml", "--before")[1]


def test_an_effect_of_the_file_says_measure_column_and_conditions(tmp_path: Path) -> None:
    content = {
        "factors": {"distance": [0, 4]},
        "effects": {
            "slower": {"of": "distance", "contrast": {"4": 0}, "value": "rt_ms"},
            "signal": {"of": "distance", "contrast": {"4": 0}, "value": "d_prime"},
        },
    }
    data: Any = SimpleNamespace(scored=SimpleNamespace(parts={"x": SimpleNamespace(of_file=Declared.read(content))}))
    assert command._of_file("slower", data, "", "") == ("rt_ms", "distance", '"0","4"')
    assert command._of_file("correct", data, "load", "a,b") == ("correct", "load", "a,b")
    for name, by, says in (("slower", "load", "leave out by and conditions"), ("signal", "", "give value d_prime")):
        with pytest.raises(SpanLabError, match=says):
            command._of_file(name, data, by, "")
    assert own_effects("x", Declared.read(content).effects)[0] == (
        "x: slower",
        "It compares distance 4 minus 0 in mean times.",
    )
