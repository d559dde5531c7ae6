"""Sessions for sharing: whose they are, which of several they are, and what typed words are left
out."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from session_tools import AtTheWindow, take

from spanlab.agents.base import Response
from spanlab.core.errors import SpanLabError
from spanlab.exchange import FORMATS
from spanlab.exchange.format import Report
from spanlab.extensions.standards.sharing import Sharing, cell, gather
from spanlab.paradigms import Answer, Percept, load_paradigm

QUESTIONS = """
paradigm: questions
version: 1
title: Questions afterwards
timeline:
  - phase: effort
    show: {blank: {}}
    ask: {rating: {from: 1, to: 7}, prompt: {en: Did you try hard?, de: Haben Sie sich angestrengt?}}
  - phase: city
    show: {blank: {}}
    ask: {text: {most: 30}, answer: vienna}
  - phase: check
    show: {blank: {}}
    ask: {choice: {options: ["yes", "no"]}, answer: "yes"}
  - phase: recall
    show: {blank: {}}
    ask: {sequence: {options: [b, f, k], take: 2, layout: 3x1}, answer: [b, f]}
instructions: {en: Please answer some questions., de: Bitte beantworten Sie einige Fragen.}
questionnaire: true
"""
ANSWERS: dict[str, Answer] = {"rating": 3, "text": "geheim", "choice": "no", "sequence": ("f", "k")}


@pytest.fixture
def answered(tmp_path: Path) -> Callable[..., Path]:
    (path := tmp_path / "questions.yaml").write_text(QUESTIONS, encoding="utf-8")
    paradigm = load_paradigm(str(path))

    def say(percept: Percept, number: int) -> Response:
        assert percept.ask is not None
        return Response(ANSWERS[percept.ask.kind.name])

    def session(who: str, seed: int = 1, created: str = "", **fields: Any) -> Path:
        extra = {"study": {"study": "s", "session": seed, "fields": fields}} if fields else {}
        folder = take(tmp_path / "data", paradigm, AtTheWindow(say), 1, seed, participant=who, extra=extra).folder
        info = json.loads((folder / "session.json").read_text(encoding="utf-8"))
        (folder / "session.json").write_text(
            json.dumps({**info, "created": created or info["created"]}), encoding="utf-8"
        )
        return folder

    return session


def written(form: str, source: Path, output: Path, **options: Any) -> Path:
    writing = FORMATS.get(form)
    assert writing.writes is not None
    writing().write([str(source)], output, writing.writes.options(**options), Report())
    return output


def test_typed_words_alone_are_left_out(tmp_path: Path, answered: Callable[..., Path]) -> None:
    data = gather([str(answered("p01"))], Sharing(), Report(), tmp_path / "set")
    rows = {(row["phase"], row["serial_position"]): row["answer"] for row in data.rows(data.sessions[0])}
    assert rows == {
        ("effort", None): 3,
        ("city", None): "(other)",
        ("check", None): "no",
        ("recall", 1): "f",
        ("recall", 2): "k",
    }
    text = json.loads(written("psych101", tmp_path / "data", tmp_path / "text.jsonl").read_text(encoding="utf-8"))[
        "text"
    ]
    assert [word in text for word in ("<<no>>", "<<f k>>", "(other)", "geheim")] == [True, True, True, False]


def test_lists_of_symbols_come_back_from_bids_without_free_text(
    tmp_path: Path, run: Callable[..., tuple[int, str, str]]
) -> None:
    assert run("replay", "digit_span", "--agent", "chance", "--trials", "6")[0] == 0
    status, _, err = run("export", "bids", "data", "set")
    assert (status, "free text" in err) == (0, False)
    assert run("import", "table", "set", "-o", "back.csv")[0] == 0


def test_the_order_of_a_table_does_not_tell_whose_pseudonyms_they_are(
    tmp_path: Path, answered: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for who in ("ada", "ben", "cem"):
        answered(who)

    def backwards(_: object, people: list[str]) -> None:
        people.sort(reverse=True)

    monkeypatch.setattr(secrets.SystemRandom, "shuffle", backwards)
    data = gather([str(tmp_path / "data")], Sharing(), Report(), tmp_path / "set")
    assert [one.label for one in data.sessions] == ["001", "002", "003"]
    assert [one.info["participant"] for one in data.sessions] == ["cem", "ben", "ada"]


def test_sessions_of_one_participant_are_told_apart_and_keep_what_was_asked_in_each(
    tmp_path: Path, answered: Callable[..., Path]
) -> None:
    answered("p01", 2, "2026-03-01T10:00:00+00:00", age=31, sleep=4)
    answered("p01", 1, "2026-02-01T10:00:00+00:00", age=31, sleep=8)
    table = written("csv", tmp_path / "data", tmp_path / "table", fields="age,sleep")
    header, *lines = (table / "responses.csv").read_text(encoding="utf-8").splitlines()
    place = [header.split(",").index(name) for name in ("session", "study_session", "age", "sleep", "ask")]
    told = [tuple(line.split(",")[one] for one in place) for line in lines]
    assert sorted({one[:4] for one in told}) == [("1", "1", "31", "8"), ("2", "2", "31", "4")]
    assert "sleep,json," in (table / "codebook.csv").read_text(encoding="utf-8")
    bids = written("bids", tmp_path / "data", tmp_path / "bids", fields="age,sleep")
    assert (bids / "participants.tsv").read_text(encoding="utf-8").splitlines()[1].split("\t")[-2:] == ["31", "n/a"]
    beside = [
        json.loads(path.read_text(encoding="utf-8"))["SpanLab"]["Fields"]
        for path in sorted(bids.glob("sub-001/ses-*/beh/*_events.json"))
    ]
    assert beside == [{"age": 31, "sleep": 8}, {"age": 31, "sleep": 4}]


def test_words_have_the_questions_as_people_read_them(tmp_path: Path, answered: Callable[..., Path]) -> None:
    answered("p01")
    text = json.loads(written("psych101", tmp_path / "data", tmp_path / "text.jsonl").read_text(encoding="utf-8"))[
        "text"
    ]
    assert "Did you try hard? Answer with one whole number from 1 to 7." in text
    with pytest.raises(SpanLabError, match="exists; name a new file"):
        written("psych101", tmp_path / "data", tmp_path / "text.jsonl")


def noted(data: Path, **options: Any) -> tuple[set[str], str]:
    """The names of three people in a data set, and what is said about it."""
    notes: list[str] = []
    shared = gather([str(data)], Sharing(**options), Report(note=notes.append), data.parent / "set")
    return {one.label for one in shared.participants}, "\n".join(notes)


def test_pseudonyms_are_drawn_anew_for_every_data_set_and_no_table_of_them_is_kept(
    tmp_path: Path, answered: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for who in ("ada", "ben", "cem"):
        answered(who)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    order: list[list[str]] = []

    def turned(_: object, numbers: list[int]) -> None:
        numbers[:] = numbers[len(order) :] + numbers[: len(order)]
        order.append([f"{number:03d}" for number in numbers])

    monkeypatch.setattr(secrets.SystemRandom, "shuffle", turned)
    for _ in range(2):
        labels, said = noted(tmp_path / "data")
        assert labels == {"001", "002", "003"}
        assert "NOTE pseudonyms were drawn at random, and no table of them is kept" in said
        assert "identifiers" not in said.replace("Seeds and identifiers of trials", "")
    data = gather([str(tmp_path / "data")], Sharing(), Report(), tmp_path / "set")
    assert {one.info["participant"]: one.label for one in data.sessions} == dict(
        zip(("ada", "ben", "cem"), order[2], strict=True)
    )
    assert len(set(map(tuple, order))) == 3, "each data set has other numbers"
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before, (
        "nothing is written down"
    )


def test_a_key_file_and_real_identifiers_are_said(tmp_path: Path, answered: Callable[..., Path]) -> None:
    for who in ("ada", "ben", "cem"):
        answered(who)
    labels, said = noted(tmp_path / "data", key_file=tmp_path / "who.csv")
    assert labels == {"001", "002", "003"}
    assert f"NOTE {tmp_path / 'who.csv'} links pseudonyms to people: do not share it" in said
    assert (tmp_path / "who.csv").exists()
    assert "no table of them is kept" not in said
    labels, said = noted(tmp_path / "data", real_ids=True)
    assert labels == {"ada", "ben", "cem"}
    assert "NOTE participants keep their own identifiers" in said
    assert "pseudonyms were drawn" not in said


def test_identifiers_that_become_alike_are_both_named(tmp_path: Path, answered: Callable[..., Path]) -> None:
    answered("jm_01")
    answered("jm-01")
    with pytest.raises(SpanLabError, match="the identifiers 'jm-01' and 'jm_01' are the same in letters and digits"):
        gather([str(tmp_path / "data")], Sharing(real_ids=True), Report(), tmp_path / "set")


def test_no_cell_that_is_shared_is_a_formula() -> None:
    assert [cell(text) for text in ("=1+1", "@SUM(A1)", "-2+3", "-2.5", "-", "m")] == [
        "'=1+1",
        "'@SUM(A1)",
        "'-2+3",
        "-2.5",
        "-",
        "m",
    ]
