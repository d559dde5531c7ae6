"""Sessions in words (psych101, chat-jsonl) and as one table (csv, read by R)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from command_line import Run, complaint, output_of
from session_tools import ended_well

from spanlab.core.locale import sentence
from spanlab.sessions import read_responses

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "sessions"
PERSON, CHAT = GOLDEN / "finished" / "vsr-p01-s3", GOLDEN / "finished" / "vsr-chat-scripted-s31"
EVERYTHING = [GOLDEN / part for part in ("finished", "half", "studies")]


def test_text_has_every_answer_marked_and_nothing_else_marked(tmp_path: Path, run: Run) -> None:
    status, out, err = run("export", "psych101", PERSON, CHAT, "text.jsonl", "--no-practice")
    assert status == 0, err
    assert "NOTE 1 session of machines is left out; --machines writes them, too" in err
    (line,) = (tmp_path / "text.jsonl").read_text(encoding="utf-8").splitlines()
    found = json.loads(line)
    assert list(found) == ["text", "experiment", "participant"]
    assert (found["experiment"], found["participant"]) == ("vsr", "001")
    table = read_responses(PERSON).query("not practice")
    given = [str(1 + json.loads(one)) for one in table["answer"].dropna()]  # in words, positions count from 1
    assert re.findall("<<(.*?)>>", found["text"]) == given
    assert out == f"text.jsonl: 1 session, {len(given)} marked choices\n"
    assert found["text"].count("(no answer)") == int(table["answer"].isna().sum())
    assert found["text"].count("You will see some patterns") == 1


def test_practice_is_told_with_its_results(tmp_path: Path, run: Run) -> None:
    assert run("export", "psych101", PERSON, "with.jsonl")[0] == 0
    assert run("export", "psych101", PERSON, "without.jsonl", "--no-practice")[0] == 0
    practised, text = (
        json.loads((tmp_path / name).read_text(encoding="utf-8"))["text"] for name in ("with.jsonl", "without.jsonl")
    )
    assert len(practised) > 1.5 * len(text)
    begins = sentence("session.main_body", "en")
    assert practised.count(begins) == 1
    before, after = practised.split(begins)
    assert before.count("<<") == int(read_responses(PERSON)["practice"].sum())
    assert after.count("<<") == text.count("<<")
    assert len(re.findall(r"\d of \d correct", before)) == read_responses(PERSON).query("practice")["trial"].nunique()
    assert not re.search("\\d of \\d correct", after)


def test_a_conversation_for_each_trial_has_the_instructions(tmp_path: Path, run: Run) -> None:
    status, _, err = run("export", "chat-jsonl", PERSON, "talk", "--per", "trial")
    assert status == 0
    assert "practice trials are left out" in err
    lines = (tmp_path / "talk" / "conversations.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == read_responses(PERSON).query("not practice")["trial"].nunique()
    assert all("You will see some patterns" in line for line in lines)


def test_no_correct_answer_of_the_record_gets_into_the_words(tmp_path: Path, run: Run) -> None:
    """A copy of the session whose correct answers are forged gives the same text, to the byte."""
    forged = tmp_path / "forged" / "vsr-p01-s3"
    shutil.copytree(PERSON, forged)
    for path in forged.glob("events*.jsonl"):
        path.write_text(
            re.sub(r'("correct_answer": ?)\d', r"\g<1>1", path.read_text(encoding="utf-8")), encoding="utf-8"
        )
    for name, folder in (("true.jsonl", PERSON), ("forged.jsonl", forged)):
        assert run("export", "psych101", folder, name)[0] == 0
    assert (tmp_path / "true.jsonl").read_bytes() == (tmp_path / "forged.jsonl").read_bytes()


def test_only_machines_are_refused_without_asking_for_them(run: Run) -> None:
    assert "--machines writes those of machines" in complaint(*run("export", "psych101", CHAT, "text.jsonl"))


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R")
def test_r_reads_what_is_written(tmp_path: Path, run: Run) -> None:
    out = output_of(*run("export", "csv", *EVERYTHING, "set"))
    table = read_responses(EVERYTHING)
    assert out.endswith(f"{len(table)} rows\n")
    said = """source("set/spanlab.R"); a <- read_spanlab("set"); code <- attr(a, "codebook")
    cat(nrow(a), sum(a$correct), sum(a$rt_ms, na.rm = TRUE))
    cat("", is.logical(a$record_match), is.numeric(a$factor_load), is.factor(a$agent), all(code$meaning != ""))"""
    done = ended_well(
        subprocess.run(["Rscript", "-e", said], cwd=tmp_path, capture_output=True, text=True, check=False)
    )
    rows, correct, times, *types = done.split()
    assert (int(rows), int(correct)) == (len(table), int(table["correct"].sum()))
    assert float(times) == pytest.approx(table["rt_ms"].sum(), rel=1e-5)
    assert types == ["TRUE"] * 4
