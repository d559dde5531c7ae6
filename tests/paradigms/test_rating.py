"""Ratings: a number without a right answer, in the same table as answers that have one, and in no
accuracy."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from chat_trials import converse
from paradigm_texts import old_or_new
from session_tools import AtTheWindow, Saying, start, take
from session_tools import spanlab as run_spanlab
from virtual_lab import VirtualStage, VirtualWindow, play

from spanlab.agents.base import Response
from spanlab.agents.chat import ChatSettings
from spanlab.agents.human.input.answering import AnswerSheet, Press
from spanlab.agents.registry import make_agent
from spanlab.analysis.data.scoring import score_table
from spanlab.core.errors import ParadigmError
from spanlab.paradigms import AnswerKeys, Ask, Paradigm, Percept, compile_trial, load_paradigm
from spanlab.paradigms.checking import check_paradigm
from spanlab.paradigms.responses import Rating
from spanlab.sessions import Runner, read_responses
from spanlab.sessions.record.reader import read_events

SURE = old_or_new(
    """\
instructions: {en: Remember the words., de: Merken Sie sich die Wörter.}
translations: {de: {I was guessing: geraten, absolutely sure: ganz sicher, old: alt, new: neu, right: richtig, wrong: falsch}}
practice: {trials: 4, feedback: true, pass: 0.9}
designs:
  human: {repetitions: 4, balance: [answer]}
""",  # noqa: E501
    lengths="[2, 4]",
)


def rating(**given: Any) -> Rating:
    return Rating.model_validate({"from": 1, "to": 6, "labels": {"1": "guessed", "6": "sure"}, **given})


@pytest.fixture
def sure(tmp_path: Path) -> Paradigm:
    (path := tmp_path / "sure.yaml").write_text(SURE, encoding="utf-8")
    return load_paradigm(path)


# -- the question ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("4", 4),
        ("**4**", 4),
        ("4.", 4),
        ("I am fairly sure: 5", 5),
        ("7", None),
        ("0", None),
        ("-3", None),
        ("3 or 4", None),
        ("not 4", None),
        ("sure", None),
        ("", None),
    ],
)
def test_one_number_is_read_and_nothing_else(reply: str, value: int | None) -> None:
    assert rating().parse(reply) == value


@pytest.mark.parametrize("scale", [(1, 7), (0, 10), (1, 10), (0, 100), (1, 2), (50, 60)])
def test_every_answer_is_written_read_clicked_and_pressed(scale: tuple[int, int]) -> None:
    kind = rating(**{"from": scale[0], "to": scale[1], "labels": {}})
    surface, ask = kind.surface(), Ask(kind)
    assert [region.value for region in surface.regions] == [*kind.values]
    for value in kind.values:
        assert kind.allows(value)
        assert kind.parse(kind.write(value)) == value == kind.answer_from_json(value)
        region = next(region for region in surface.regions if region.value == value)
        sheet = AnswerSheet(ask, 0.0)
        sheet.take(Press("click", 1.0, x=(region.x0 + region.x1) / 2, y=(region.y0 + region.y1) / 2))
        assert sheet.answer() == value
    keys = dict(surface.keys)
    assert len(keys) == len(surface.keys)
    assert set(keys.values()) in (set(), set(kind.values))
    assert bool(keys) == (scale in ((1, 7), (1, 10), (1, 2)))
    guesses = [kind.guess(np.random.RandomState(seed)) for seed in range(300)]
    assert min(guesses) == scale[0]
    assert all(kind.allows(guess) for guess in guesses)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("to: 6", "to: 1", "a scale has 2 to 101 numbers; found 1 to 1"),
        ("to: 6", "to: 300", "a scale has 2 to 101 numbers"),
        ("6: abs", "8: abs", "labels belong to numbers from 1 to 6; found 8"),
        ("6: absolutely sure", "6: ''", "each label has a number of its own"),
        ("6: absolutely sure", "6: 確か", "typeface"),
        ("to: 6,", "too: 6,", "did you mean 'to'"),
        (
            "prompt: {en: How sure are you?}",
            "answer: 3",
            r"sure.yaml:18 .*ask > answer: a rating has no correct answer: leave out 'answer'",
        ),
        (
            "set_size: =list_length",
            "set_size: =list_length\nnetwork: {task: sure, head: 2}",
            "networks cannot answer the question 'rating'",
        ),
    ],
)
def test_mistakes_are_told(tmp_path: Path, old: str, new: str, says: str) -> None:
    (path := tmp_path / "sure.yaml").write_text(SURE.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ParadigmError, match=says):
        check_paradigm(path)


def test_feedback_needs_an_answer_that_can_be_right(tmp_path: Path) -> None:
    path = tmp_path / "sure.yaml"
    before = SURE.index("  - phase: probe\n"), SURE.index("  - phase: confidence\n")
    alone = (
        (SURE[: before[0]] + SURE[before[1] :]).replace(", balance: [answer]", "").replace("old: alt, new: neu, ", "")
    )
    path.write_text(alone, encoding="utf-8")
    with pytest.raises(ParadigmError, match="there is no answer before this step"):
        check_paradigm(path)
    alone = re.sub(r"  - phase: feedback\n.*\n", "", alone).replace(", right: richtig, wrong: falsch", "")
    path.write_text(alone, encoding="utf-8")
    assert "fine" in check_paradigm(path), "a questionnaire asks for nothing that could be right"


def test_people_read_labels_and_keys_in_their_language(sure: Paradigm) -> None:
    kind = compile_trial(sure, {"list_length": 2}, 1).kinds[1]
    german = kind.with_keys(AnswerKeys(words=sure.translations["de"]))
    assert isinstance(german, Rating)
    assert german.labels == ((1, "geraten"), (6, "ganz sicher"))
    assert german.legend("participant", "de") == "Drücken Sie eine Taste von 1 bis 6, oder klicken Sie auf die Skala."
    assert kind.legend("words") == "Answer with one whole number from 1 to 6 (1 = I was guessing, 6 = absolutely sure)."


# -- sessions --------------------------------------------------------------------------------------


def rows_of(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of answers, and those of ratings."""
    table = read_responses(folder)
    return table[table["phase"] == "probe"], table[table["phase"] == "confidence"]


def test_ratings_are_rows_of_the_table_and_in_no_accuracy(tmp_path: Path, sure: Paradigm) -> None:
    session = take(tmp_path, sure, make_agent("capacity:2"), 40, seed=3)
    answers, ratings = rows_of(session.folder)
    assert len(answers) == len(ratings) == 40
    assert ratings["correct"].isna().all()
    assert ratings["correct_answer"].isna().all()
    assert ratings["chance"].isna().all()
    values = ratings["answer"].astype(int)
    assert set(values) == {1, 6}, "the limited observer knows when it guesses"
    right = answers["correct"].astype(bool).to_numpy()
    assert right[values.to_numpy() == 6].all()
    assert 0 < right[values.to_numpy() == 1].mean() < 1
    found = score_table(read_responses(session.folder))
    assert len(found.items) == 40
    assert "40 ratings of confidence put beside the answer before." in found.notes
    assert found.items["confidence"].tolist() == values.tolist()
    assert {*zip(ratings["scale_from"], ratings["scale_to"], strict=True)} == {(1, 6)}
    assert answers[["scale_from", "scale_to"]].isna().all(axis=None)
    assert found.items["correct"].mean() == pytest.approx(right.mean())
    assert read_responses(session.folder)["correct"].mean() == pytest.approx(right.mean())


def test_a_rating_that_was_left_out_is_no_wrong_answer(tmp_path: Path, sure: Paradigm) -> None:
    def answered(percept: Percept, number: int) -> Response:
        return Response("old") if number == 1 else Response(None, outcome="omitted") if number == 2 else Response("old")

    session = take(tmp_path, sure, Saying(answered), 8)
    answers, ratings = rows_of(session.folder)
    assert set(ratings["outcome"]) == {"omitted"}
    assert len(score_table(read_responses(session.folder)).items) == len(answers) == 8


def test_feedback_and_practice_are_about_the_answer_before(tmp_path: Path, sure: Paradigm) -> None:
    def answered(percept: Percept, number: int) -> Response:
        return Response("old" if percept.phase == "probe" else 2, 500.0)

    person = AtTheWindow(answered)
    session = start(tmp_path, sure, person, 6, participant="p1", practice=True)
    Runner(session, person).run()
    table = read_responses(session.folder)
    answers, ratings = table[(table["phase"] == "probe")], table[table["phase"] == "confidence"]
    assert (ratings["feedback_shown"].to_numpy() == np.where(answers["correct"], "right", "wrong")).all()
    (practice,) = [event for event in read_events(session.folder) if event["event"] == "practice"]
    assert practice["items"] == 4, "four answers are counted, and no ratings"


def questionnaire(repository: Path) -> str:
    """The one in the documentation."""
    text = (repository / "docs" / "questions.md").read_text(encoding="utf-8")
    return next(
        block
        for block in re.findall(r"```yaml\n(.*?)```", text, flags=re.DOTALL)
        if block.startswith("paradigm: after_the_task")
    )


def test_a_questionnaire_says_nothing_before_it_asks(tmp_path: Path, repository: Path) -> None:
    def answered(percept: Percept, number: int) -> Response:
        return Response("no" if percept.phase == "check" else 7, 900.0)

    pages: dict[bool, str] = {}
    for shown in (False, True):
        (path := tmp_path / "after.yaml").write_text(
            questionnaire(repository).replace("questionnaire: true\n", "" if shown else "questionnaire: true\n"),
            encoding="utf-8",
        )
        check_paradigm(path)
        person = AtTheWindow(answered)
        session = start(tmp_path, load_paradigm(path), person, 1, participant="p1", language="de")
        Runner(session, person).run()
        pages[shown] = " ".join(person.pages)
        assert read_responses(session.folder)["correct"].isna().tolist() == [True, False]
        assert not read_responses(session.folder)["correct"].dropna().any()
    for secret in ("Ja", "angestrengt"):
        assert secret in pages[True]
        assert secret not in pages[False]
    how = "Drücken Sie eine Taste von 1 bis 7, oder klicken Sie auf die Skala."
    assert how in pages[True]
    assert how not in pages[False], "it is not said to which of the two kinds of questions it belongs"


def test_models_are_asked_in_words(sure: Paradigm) -> None:
    trial = compile_trial(sure, {"list_length": 2}, 1)
    replies = iter(["old", "I would say 5"])
    asked = [*converse(trial, sure, lambda messages: next(replies), ChatSettings())]
    assert [answer for _, _, answer in asked] == ["old", 5]
    assert "Answer with one whole number from 1 to 6 (1 = I was guessing, 6 = absolutely sure)." in str(
        asked[1][1][-1]["content"]
    )


# -- at the window ---------------------------------------------------------------------------------


@pytest.mark.parametrize("top", [6, 100])
def test_at_the_window_a_press_or_a_click_is_the_answer_to_the_millisecond(tmp_path: Path, top: int) -> None:
    (path := tmp_path / "sure.yaml").write_text(SURE.replace("to: 6", f"to: {top}"), encoding="utf-8")
    stage = VirtualStage(VirtualWindow(60.0))
    random = np.random.RandomState(1)
    given: list[tuple[Any, float]] = []

    def person(ask: Ask) -> tuple[Any, float]:
        given.append((ask.kind.guess(random), float(random.uniform(0.3, 1))))
        return given[-1]

    told = [
        one
        for seed in range(6)
        for one in play(stage, compile_trial(load_paradigm(path), {"list_length": 2}, seed), person)
    ]
    answers = [response for _, response, _, _ in told if response is not None]
    assert [answer.value for answer in answers] == [value for value, _ in given]
    assert [answer.rt_ms for answer in answers] == pytest.approx([1000 * after for _, after in given], abs=0.01)


@pytest.mark.slow
def test_ratings_are_shared_as_they_were_given(tmp_path: Path, sure: Paradigm) -> None:
    session = take(tmp_path / "data", sure, make_agent("chance"), 6)
    shared = run_spanlab("export", "bids", tmp_path / "data", tmp_path / "bids")
    assert shared.returncode == 0, shared.stderr
    assert "free text" not in shared.stdout + shared.stderr
    (file,) = (tmp_path / "bids").rglob("*_beh.tsv")
    columns = ["trial_id", "step", "answer", "outcome"]
    there, ours = pd.read_csv(file, sep="\t", dtype=str), read_responses(session.folder)[columns]
    words = ours.astype(str).assign(answer=ours["answer"].str.strip(chr(34)))
    pd.testing.assert_frame_equal(there[columns], words, check_dtype=False)
