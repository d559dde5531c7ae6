"""Questionnaires and quizzes of a study: criterion, attempts, what happens otherwise, places, and
what people read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from session_tools import AtTheWindow, start
from study_files import Guest, sit

from spanlab.agents.base import Response
from spanlab.agents.interruptions import Abandoned
from spanlab.agents.registry import make_agent
from spanlab.core.errors import ParadigmError, SpanLabError
from spanlab.core.locale import languages
from spanlab.paradigms import Percept, load_paradigm
from spanlab.paradigms.preview.example import example_displays
from spanlab.sessions import Runner, read_responses, reopen
from spanlab.sessions.participant_flow import QuizNotPassedError
from spanlab.sessions.record.reader import read_events, read_session, trials_left
from spanlab.sessions.session import complete
from spanlab.sessions.studies.battery import Battery, QuizLeftError
from spanlab.sessions.studies.monitoring import overview
from spanlab.sessions.studies.study import Study, load_study
from spanlab.sessions.studies.visit_files import read_journal, states

QUIZ = """
paradigm: understood
version: 1
title: {en: Questions about the instructions, de: Fragen zur Anleitung}
timeline:
  - phase: keys
    show: {blank: {}}
    ask: {choice: {options: ["yes", "no"]}, answer: "yes", prompt: {en: Is j for yes?, de: Ist j für ja?}}
  - phase: order
    show: {blank: {}}
    ask: {choice: {options: ["yes", "no"]}, answer: "no", prompt: {en: Does the order matter?, de: Zählt die Reihenfolge?}}
  - phase: sure
    show: {blank: {}}
    ask: {rating: {from: 1, to: 5}, prompt: {en: How sure are you?, de: Wie sicher sind Sie?}}
instructions: {en: Read this with care., de: Lesen Sie dies genau.}
translations: {de: {"yes": ja, "no": nein}}
quiz: {pass: 1, attempts: 2, otherwise: go_on}
attention_checks: [keys]
"""  # noqa: E501


class Answering(Guest):
    """Somebody who gives these answers to questions with two words, in order, and 3 to ratings;
    leaves before the answer ``stop``."""

    def __init__(self, *answers: str) -> None:
        super().__init__()
        self._given: Iterator[str] = iter(answers)

        def say(percept: Percept, number: int) -> Response:
            assert percept.ask is not None
            if percept.ask.kind.name == "rating":
                return Response(3, 400.0)
            if percept.ask.kind.name != "choice" or percept.phase not in ("keys", "order"):
                return self._answer(percept, number)
            if (word := next(self._given)) == "stop":
                raise Abandoned
            return Response(word, 400.0)

        self.say = say


def study_with(folder: Path, otherwise: str = "go_on", text: str = QUIZ, place: str = "") -> Study:
    """The quiz, and a task after it."""
    (folder / "understood.yaml").write_text(
        text.replace("otherwise: go_on", f"otherwise: {otherwise}"), encoding="utf-8"
    )
    (folder / "study.yaml").write_text(
        "study: checked\ntitle: A task\nlanguages: [en, de]\nparadigms:\n"
        "  - understood.yaml\n  - {paradigm: vsr, set: {list_length: 2}, trials: 1, practice: false}\n",
        encoding="utf-8",
    )
    return load_study(folder / "study.yaml")


def run_with(folder: Path, study: Study, guest: Guest, existing: str = "", **wanted: Any) -> Path:
    visit = sit(study, folder / "data", existing=existing, fields={}, **wanted)
    Battery(visit, guest).run()
    return visit.folder


def quizzes(folder: Path) -> list[tuple[int, int, int, bool]]:
    session = states(folder)["understood"].folder
    return [
        (event["attempt"], event["right"], event["items"], event["passed"])
        for event in read_events(session)
        if event["event"] == "quiz"
    ]


def test_a_quiz_is_taken_again_until_it_is_passed(tmp_path: Path) -> None:
    guest = Answering("yes", "yes", "yes", "no")
    folder = run_with(tmp_path, study_with(tmp_path), guest)
    assert quizzes(folder) == [(1, 1, 2, False), (2, 2, 2, True)]
    titles = [what.removeprefix("page: ") for what in guest.happened if not what.startswith("trial: vsr")]
    quiz = "Questions about the instructions"
    assert titles[:5] == [quiz, "trial: understood", "Once more", quiz, "trial: understood"]
    assert "1 of 2 answers were right." in guest.pages[1]
    assert "Read this with care." in guest.pages[2]
    table = read_responses(states(folder)["understood"].folder)
    assert table["block"].tolist() == [1, 1, 1, 2, 2, 2]
    assert table["trial"].tolist() == [1, 1, 1, 2, 2, 2]
    assert table["correct"].astype(object).where(table["correct"].notna(), None).tolist() == [
        True,
        False,
        None,
        True,
        True,
        None,
    ]
    assert [line["event"] for line in read_journal(folder)] == ["begun", "finished"]
    header, (row,) = (
        overview(load_study(tmp_path / "study.yaml"), tmp_path / "data").header,
        overview(load_study(tmp_path / "study.yaml"), tmp_path / "data").rows,
    )
    said = dict(zip(header, row, strict=True))
    assert said["understood"] == "1/1"
    assert said["checks"] == "2/2"
    assert said["note"] == "understood: quiz passed (2 of 2 right in attempt 2)"


def test_without_success_the_session_goes_on_and_the_record_says_so(tmp_path: Path) -> None:
    guest = Answering("no", "yes", "no", "yes")
    folder = run_with(tmp_path, study := study_with(tmp_path), guest)
    assert quizzes(folder) == [(1, 0, 2, False), (2, 0, 2, False)]
    assert "trial: vsr" in guest.happened
    assert "quiz not passed, went on (0 of 2 right in attempt 2)" in overview(study, tmp_path / "data").rows[0][-1]
    assert overview(study, tmp_path / "data").rows[0][-3] == "0/2"


def test_who_does_not_pass_may_leave(tmp_path: Path) -> None:
    study, guest = study_with(tmp_path, "leave"), Answering("no", "no", "yes", "yes")
    with pytest.raises(QuizLeftError, match=r"understood: quiz not passed, left \(1 of 2 right in attempt 2\)"):
        run_with(tmp_path, study, guest)
    assert guest.pages[-1].startswith("Thank you: Thank you for taking part. Too few of your answers were right")
    assert not any("vsr" in what for what in guest.happened)
    folder = tmp_path / "data" / "checked" / "p01" / "session-1"
    assert complete(states(folder)["understood"].folder)
    with pytest.raises(QuizLeftError):  # and it stays so
        run_with(tmp_path, study, Answering(), existing="resume")
    assert [line["event"] for line in read_journal(folder)] == ["begun", "left", "resumed"]
    row = overview(study, tmp_path / "data").rows[0]
    assert row[-2] == "no"
    assert "left" in row[-1]


def test_who_does_not_pass_and_leaves_leaves_a_place(tmp_path: Path) -> None:
    study_with(tmp_path, "leave")
    file = tmp_path / "study.yaml"
    file.write_text(file.read_text(encoding="utf-8") + "people: 1\n", encoding="utf-8")
    study = load_study(file)
    with pytest.raises(QuizLeftError):
        run_with(tmp_path, study, Answering("no", "no", "yes", "yes"))
    assert "did not pass a quiz" in overview(study, tmp_path / "data").rows[0][-1]
    assert "places: 0 of 1 taken" in overview(study, tmp_path / "data").summary
    run_with(tmp_path, study, Answering("yes", "no"), participant="p02")
    assert "places: 1 of 1 taken" in overview(study, tmp_path / "data").summary


def test_an_assistant_may_decide(tmp_path: Path) -> None:
    study, guest = study_with(tmp_path, "stop"), Answering("no", "no", "no", "no", "yes", "no")
    guest.decides = ["leave"]
    with pytest.raises(QuizNotPassedError, match="1 of 2 right in attempt 2"):
        run_with(tmp_path, study, guest)
    folder = tmp_path / "data" / "checked" / "p01" / "session-1"
    session = states(folder)["understood"].folder
    assert trials_left(read_session(session), read_events(session)) == 1
    assert "waits for the assistant" in overview(study, tmp_path / "data").rows[0][-1]
    guest.decides = ["again"]
    run_with(tmp_path, study, guest, existing="resume")
    assert guest.offered == [("again", "go_on", "leave")] * 2
    assert quizzes(folder) == [(1, 1, 2, False), (2, 1, 2, False), (3, 2, 2, True)]
    assert [event["decided"] for event in read_events(session) if event["event"] == "quiz_decision"] == [
        "leave",
        "again",
    ]


def test_or_let_somebody_go_on(tmp_path: Path) -> None:
    guest = Answering("no", "no", "no", "no")
    guest.decides = ["go_on"]
    folder = run_with(tmp_path, study_with(tmp_path, "stop"), guest)
    assert "trial: vsr" in guest.happened
    assert complete(states(folder)["understood"].folder)


def test_an_interrupted_attempt_goes_on_and_none_is_lost(tmp_path: Path) -> None:
    study = study_with(tmp_path)
    with pytest.raises(SpanLabError):
        run_with(tmp_path, study, Answering("no", "no", "yes", "stop"))
    guest = Answering("yes", "no")
    assert quizzes(run_with(tmp_path, study, guest, existing="resume")) == [(1, 1, 2, False), (2, 2, 2, True)]


def test_an_attempt_that_a_kill_left_without_its_note_gets_it(tmp_path: Path) -> None:
    study = study_with(tmp_path)
    with pytest.raises(SpanLabError):
        run_with(tmp_path, study, Answering("no", "no", "stop"))
    folder = tmp_path / "data" / "checked" / "p01" / "session-1"
    events = states(folder)["understood"].folder / "events.jsonl"
    lines = events.read_text(encoding="utf-8").splitlines(keepends=True)
    ends = next(number for number, line in enumerate(lines) if '"quiz"' in line)
    events.write_text("".join(lines[:ends]), encoding="utf-8")
    run_with(tmp_path, study, Answering("yes", "no"), existing="resume")
    assert quizzes(folder) == [(1, 1, 2, False), (2, 2, 2, True)]


def test_a_share_may_be_enough_and_one_attempt_is_the_usual(tmp_path: Path) -> None:
    study = study_with(tmp_path, text=QUIZ.replace("pass: 1, attempts: 2, otherwise: go_on", "pass: 0.5"))
    assert quizzes(run_with(tmp_path, study, Answering("yes", "yes"))) == [(1, 1, 2, True)]
    assert overview(study, tmp_path / "data").rows[0][-1] == "understood: quiz passed (1 of 2 right)"


def test_machines_take_a_quiz_once(tmp_path: Path) -> None:
    study_with(tmp_path)
    agent = make_agent("chance")
    session = start(tmp_path / "data", load_paradigm(tmp_path / "understood.yaml"), agent, 1)
    Runner(session, agent).run()
    assert "quiz" not in session.info
    assert complete(session.folder)
    assert len(read_responses(session.folder)) == 3


# -- words -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", languages())
def test_pages_of_questionnaires_speak_of_questions(tmp_path: Path, language: str) -> None:
    """By itself, so that the last page is there, too."""
    text = QUIZ.replace("pass: 1, attempts: 2, otherwise: go_on", "attempts: 2")
    for kind in (
        text,
        re.sub("quiz:.*", "questionnaire: true\ndesigns: {human: {repetitions: 2, breaks: {trials: 1}}}", text),
    ):
        (tmp_path / "one.yaml").write_text(kind, encoding="utf-8")
        paradigm = load_paradigm(tmp_path / "one.yaml")
        assert paradigm.is_questionnaire
        assert example_displays(paradigm, language, {}) == []
        guest = Answering("yes", "yes", "yes", "yes")
        agent: AtTheWindow = guest
        session = start(
            tmp_path / language / kind[-9:-2].strip(),
            paradigm,
            agent,
            1 if "quiz:" in kind else 2,
            language=language,
            practice=True,
            participant="p1",
        )
        Runner(reopen(session.folder), agent).run()
        assert len(guest.pages) == 4 if "quiz:" in kind else 3
        for page in guest.pages:
            assert not re.search(r"(?i)trial|practi|durchg|übung|übe", page), page


def test_a_task_without_practice_has_no_page_about_its_real_trials(tmp_path: Path) -> None:
    (tmp_path / "bare.yaml").write_text(
        QUIZ.replace("quiz: {pass: 1, attempts: 2, otherwise: go_on}\n", ""), encoding="utf-8"
    )
    guest = Answering("yes", "no")
    session = start(tmp_path, load_paradigm(tmp_path / "bare.yaml"), guest, 1, practice=True, participant="p1")
    Runner(session, guest).run()
    assert [what for what in guest.happened if "Ready" in what] == []


def test_a_questionnaire_says_to_the_window_that_pauses_cut_nothing(tmp_path: Path) -> None:
    study_with(tmp_path)
    guest = Answering("yes", "no")
    Runner(start(tmp_path, load_paradigm(tmp_path / "understood.yaml"), guest, 1, participant="p1"), guest).run()
    assert [context.questionnaire for context, _ in guest.seen] == [True]


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (
            ("attention_checks: [keys]", "attention_checks: [key]"),
            r"no question of the phase 'key' has a right answer; did you mean 'keys'",
        ),
        (
            ("attention_checks: [keys]", "attention_checks: [sure]"),
            r"no question of the phase 'sure' has a right answer; there are keys, order",
        ),
        (("attempts: 2", "attempts: 0"), "attempts"),
        (("otherwise: go_on", "otherwise: again"), "otherwise"),
        (("attention_checks: [keys]", "practice: {trials: 1}"), "questionnaires and quizzes have no practice"),
        (("attention_checks: [keys]", "example: {seed: 3}"), "show no example"),
        (("attention_checks: [keys]", "designs: {human: {blocks: 2}}"), "the blocks of a quiz are its attempts"),
    ],
)
def test_what_cannot_be_is_refused_with_the_file(tmp_path: Path, changed: tuple[str, str], says: str) -> None:
    with pytest.raises(ParadigmError, match=says):
        study_with(tmp_path, text=QUIZ.replace(*changed))


def test_a_quiz_without_right_answers_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(
        re.sub(r"  - phase: (keys|order)\n.*\n.*\n", "", QUIZ).replace("attention_checks: [keys]\n", ""),
        encoding="utf-8",
    )
    with pytest.raises(ParadigmError, match="nothing to pass"):
        load_paradigm(tmp_path / "one.yaml")


# -- places ----------------------------------------------------------------------------------------


def placed(folder: Path, order: str, places: Sequence[str]) -> Study:
    entries = [
        f"  - {{paradigm: vsr, as: t{n}, set: {{list_length: 2}}, trials: 1{f', place: {place}' if place else ''}}}\n"
        for n, place in enumerate(places)
    ]
    (folder / "study.yaml").write_text(
        f"study: s\ntitle: s\norder: {order}\nkeys: counterbalanced\nparadigms:\n{''.join(entries)}", encoding="utf-8"
    )
    return load_study(folder / "study.yaml")


def test_first_and_last_stay_and_the_others_are_balanced(tmp_path: Path) -> None:
    study = placed(tmp_path, "latin_square", ["last", "", "", "", "first", "", "last"])
    orders = [[one.name for one in study.order_for(number, 1)] for number in range(1, 5)]
    assert {order[0] for order in orders} == {"t4"}
    assert {tuple(order[5:]) for order in orders} == {("t0", "t6")}, "in the order of the file"
    for position in range(1, 5):
        assert sorted(order[position] for order in orders) == ["t1", "t2", "t3", "t5"]
    pairs = [(order[n], order[n + 1]) for order in orders for n in range(1, 4)]
    assert len(set(pairs)) == 12, "each follows each other one once"
    sides = [study.keys_for(f"p{number}", number)["swapped"] for number in range(1, 9)]
    assert sides == [False] * 4 + [True] * 4, "the sides change once each of the four orders was used"


@pytest.mark.parametrize("order", ["latin_square", "shuffled"])
def test_all_may_have_their_place(tmp_path: Path, order: str) -> None:
    study = placed(tmp_path, order, ["last", "first"])
    assert [[one.name for one in study.order_for(number, 1)] for number in (1, 2)] == [["t1", "t0"]] * 2
    assert study.keys_for("p2", 2)["swapped"]


def test_places_mean_nothing_in_a_fixed_order(tmp_path: Path) -> None:
    with pytest.raises(ParadigmError, match=r"study.yaml:8 paradigms item 3 > place.*order: fixed"):
        placed(tmp_path, "fixed", ["", "", "last"])
