"""Study files: what a good one means, and everything that is wrong with a bad one, at once."""

# ruff: noqa: E501

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import paradigm_texts
import pytest
from command_line import Run, complaint, output_of
from effort import HANGS_S
from study_files import STUDY, study_in

import spanlab
from spanlab.agents.network.checkpoints_io.files import read_content
from spanlab.core.errors import ParadigmError, SpanLabError
from spanlab.sessions import read_session
from spanlab.sessions.studies.schema import COMMON, FieldPart, read_typed
from spanlab.sessions.studies.study import is_study, load_study, study_from_data
from spanlab.sessions.studies.visit import VisitRequest, questions, sit_down
from spanlab.sessions.studies.visit_files import read_head, read_journal
from spanlab.stimuli.render.fonts import use_font


def test_a_study_is_what_its_file_says(tmp_path: Path) -> None:
    study = study_in(tmp_path)
    assert (study.name, study.title, study.languages, study.order, study.seed) == (
        "pair",
        "Two tasks",
        ("en", "de"),
        "latin_square",
        4,
    )
    assert [one.name for one in study.paradigms] == ["vsr", "cells", "long"]
    assert study.sessions == ((0, 1, 2), (1,))
    assert [field.name for field in study.fields] == ["age", "sex", "hours", "note"]
    assert sorted(trial.levels["list_length"] for trial in study.paradigms[0].plan(7)) == [2, 3]
    assert {trial.levels["list_length"] for trial in study.paradigms[2].plan(7)} == {4}


def test_the_shortest_study(tmp_path: Path) -> None:
    study = study_in(tmp_path, "study: s\ntitle: S\nparadigms: [sfr]\n")
    assert (study.languages, study.order, study.sessions, study.fields, study.consent) == (
        ("en",),
        "fixed",
        ((0,),),
        (),
        None,
    )


def test_a_study_is_rebuilt_from_its_data_with_the_same_hash(tmp_path: Path) -> None:
    study = study_in(tmp_path)
    again = study_from_data(study.data, study.file)
    assert (again.hash, again.sessions, again.fields) == (study.hash, study.sessions, study.fields)
    assert study_in(tmp_path, STUDY.replace("Rest.", "Rest!")).hash != study.hash


def test_paradigm_files_are_seen_from_the_study_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "own.yaml").write_text("extends: vsr\nparadigm: own\n", encoding="utf-8")
    study = study_in(tmp_path, "study: s\ntitle: S\nparadigms: [deep/own.yaml]\n")
    assert [one.name for one in study.paradigms] == ["own"]
    monkeypatch.chdir(tmp_path / "deep")
    assert load_study("../study.yaml").paradigms[0].paradigm.hash == study.paradigms[0].paradigm.hash


def test_what_is_a_study(tmp_path: Path) -> None:
    for name, text in (
        ("a", "study: x"),
        ("b", "paradigm: x"),
        ("c", "extends: vsr"),
        ("d", "- study"),
        ("e", ": : :"),
        ("f", ""),
    ):
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    assert [name for name in "abcdefg" if is_study(tmp_path / f"{name}.yaml")] == ["a"]
    assert not is_study("vsr")
    assert not is_study(tmp_path)


HEAD = "study: s\ntitle: S\n"
BAD: list[tuple[str, list[str]]] = [
    ("study: S 1\ntitle: ''\nparadigms: []", ["study.yaml:1 study:", "study.yaml:2 title: expected at least 1 character;", "study.yaml:3 paradigms: expected at least 1 value; found []"]),
    ("study: s", ["study.yaml:1 'title' is missing", "study.yaml:1 'paradigms' is missing"]),
    (HEAD + "paradigms: [vsrr]\norder: latin", ["study.yaml:3 paradigms item 1: there is no paradigm 'vsrr'; did you mean 'vsr'?", "study.yaml:4 order: expected 'fixed', 'latin_square' or 'shuffled'; found 'latin'"]),
    (HEAD + "paradigms: [vsr, nowhere.yaml]", ["study.yaml:3 paradigms item 2: ", "nowhere.yaml: there is no such paradigm file"]),
    (HEAD + "paradigms:\n  - {paradigm: vsr, pratice: no}", ["study.yaml:4 paradigms item 1 > pratice: unknown key 'pratice'; did you mean 'practice'?"]),
    (HEAD + "paradigms:\n  - {paradigm: vsr, set: {list_length: [2, 77]}}", ["study.yaml:4 paradigms item 1 > set > list_length: vsr: list_length cannot be 77"]),
    (HEAD + "paradigms:\n  - {paradigm: vsr, set: {length: 2}}", ["paradigms item 1 > set > length: vsr has no factor 'length'; did you mean 'list_length'?"]),
    (HEAD + "paradigms:\n  - {paradigm: vsr, design: humans}", ["study.yaml:4 paradigms item 1 > design: vsr has no design 'humans'; did you mean 'human'?"]),
    (HEAD + "paradigms:\n  - {paradigm: vsr, design: published}", ["the design 'published' of vsr is a data set for networks"]),
    (HEAD + "paradigms: [vsr, vsr]", ["study.yaml:3 paradigms item 2: 'vsr' occurs twice; give each one a name of its own, such as as: vsr_2"]),
    (HEAD + "paradigms: [vsr, sfr]\nsessions: [[vsr], [sfrr, vsr, vsr], []]", ["sessions item 2 item 1: the study has no paradigm 'sfrr'; did you mean 'sfr'?", "sessions item 2 item 3: 'vsr' occurs twice in a session", "sessions item 3: a session needs at least one paradigm", "paradigms item 2: 'sfr' is in no session"]),
    (HEAD + "paradigms: [vsr]\nsessions: 0", ["study.yaml:4 sessions: "]),
    (HEAD + "paradigms: [vsr]\nlanguages: [en, fr]", ["study.yaml:3 paradigms item 1: vsr has no instructions in 'fr'; there are en, de"]),
    (HEAD + "paradigms: [vsr]\nlanguages: [en, de, de]\nconsent: {en: x}\nbreaks: {text: {de: x, fr: y}}", ["languages item 3: 'de' occurs twice", "consent: there is no text in 'de'", "breaks > text: there is no text in 'en'", "breaks > text > fr: 'fr' is not a language of the study"]),
    (HEAD + "paradigms: [vsr]\nfields: [agee, {name: x, label: {en: X}, type: chioce}]", ["there is no common field 'agee'; did you mean 'age'?", "fields item 2 > type: expected 'text', 'whole', 'number', 'choice' or 'yes_no'; found 'chioce'"]),
    (HEAD + "paradigms: [vsr]\nfields: [age, age, {name: session, label: {en: X}}, {name: x, label: {en: X}, type: choice}]", ["fields item 2: the field 'age' occurs twice", "fields item 3: 'session' is asked in every study", "fields item 4: 'choices' belong to the type choice, and it needs them"]),
    (HEAD + "paradigms: [vsr]\nfields: [{name: x, label: {en: X}, type: whole, range: [9, 1]}]", ["fields item 1: the range begins (9) above its end (1)"]),
    (HEAD + "paradigms: [vsr]\nfields: [{name: x, label: {en: X}, range: [1, 9]}]", ["a range is for the types whole and number"]),
    (HEAD + "paradigms: [vsr]\nlanguages: [en, de]\nfields: [{name: x, label: {en: X}}]", ["the field 'x' has no words in 'de', a language of the study"]),
    (HEAD + "paradigms: [vsr]\nbreaks: {text: {en: x}, seconds: -1}\ndisplya: x", ["breaks > seconds: expected a number from 0", "unknown key 'displya'"]),
    (HEAD + "paradigms: [vsr]\npalette: save", ["study.yaml:4 palette: expected 'published' or 'safe'; found 'save'"]),
    ("study: con\ntitle: S\nparadigms: [vsr]", ["study.yaml:1 study: the folder of the data cannot be called 'con': Windows reserves the name 'con'; use another one"]),
    (HEAD + "paradigms: [vsr]\nlanguages: [en]\nconsent: {en: Ja 😀}\nbreaks: {text: {en: 休息}}", ["study.yaml:5 consent > en: the typeface has no '😀' (U+1F600)", "study.yaml:6 breaks > text > en: the typeface has no '休'"]),
    (HEAD + "paradigms: [vsr]\nfields: [{name: Größe, label: {en: X}, type: number, range: [a, 2]}, 3]", ["study.yaml:4 fields item 1 > name: expected small letters (a to z), digits and underscores", "study.yaml:4 fields item 1 > range item 1: expected a whole number or a number; found 'a'", "study.yaml:4 fields item 2: expected keys with values; found 3"]),
    ("- study", ["expected a study (keys with values, beginning with 'study: NAME')"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), BAD, ids=[said[0][:60] for _, said in BAD])
def test_everything_wrong_is_told_at_once(tmp_path: Path, text: str, said: list[str]) -> None:
    with pytest.raises(ParadigmError) as caught:
        study_in(tmp_path, text)
    message = str(caught.value)
    assert len(message.splitlines()) == len([one for one in said if not one.startswith("nowhere")]), message
    for sentence in said:
        assert sentence in message


def test_problems_of_a_paradigm_file_are_told_with_its_own_lines(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("extends: vsr\nparadigm: own\ncolour: red\n", encoding="utf-8")
    with pytest.raises(ParadigmError, match=r"own.yaml:3 colour: unknown key"):
        study_in(tmp_path, HEAD + "paradigms: [own.yaml]")


@pytest.mark.slow
def test_a_fault_of_the_file_is_told_by_run_and_by_check(run: Run, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(HEAD + "paradigms: [vsrr]", encoding="utf-8")
    for command in (("run", "s.yaml", "--participant", "a"), ("check", "s.yaml"), ("study", "status", "s.yaml")):
        assert "s.yaml:3 paradigms item 1: there is no paradigm 'vsrr'" in complaint(*run(*command))
    (tmp_path / "good.yaml").write_text(STUDY, encoding="utf-8")
    assert "good.yaml: pair is fine" in output_of(*run("check", "good.yaml"))


@pytest.mark.slow
def test_keys_for_answers_that_no_question_has_are_told_by_check(run: Run, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(
        HEAD + "paradigms: [{paradigm: cd, trials: 3}, vsr]\nkeys: {own: {sam: s}}", encoding="utf-8"
    )
    assert "s.yaml keys: the key 's' is given to 'sam', which is not an answer" in complaint(*run("check", "s.yaml"))
    (tmp_path / "s.yaml").write_text(
        HEAD + "paradigms: [{paradigm: cd, trials: 3}, vsr]\nkeys: {own: {same: s}}", encoding="utf-8"
    )
    assert run("check", "s.yaml")[0] == 0


def test_balance_that_the_chosen_levels_cannot_have_is_told_by_check(run: Run, tmp_path: Path) -> None:
    ask = "{choice: {options: [left, right]}, answer: \"=['left', 'right'][side if a == 1 else 0]\"}"
    paradigm = paradigm_texts.text(
        f"- {{phase: probe, show: {{blank: {{}}}}, ask: {ask}}}", factors="a: [1, 2]", draw="side: {one_of: 2}"
    )
    (tmp_path / "small.yaml").write_text(
        f"{paradigm}designs: {{human: {{repetitions: 4, balance: [answer], factors: {{a: [1]}}}}}}\n"
    )
    for level, status in ((1, 0), (2, 1)):
        (study := tmp_path / "study.yaml").write_text(
            f"study: s\ntitle: S\nparadigms: [{{paradigm: small.yaml, set: {{a: {level}}}}}]\n"
        )
        found, _, err = run("check", study)
        assert found == status, err
    assert "study.yaml paradigms > small: small: balance: among" in err
    assert "(a = 2) there was none with the answer right" in err


def test_a_study_is_no_paradigm_and_a_paradigm_no_study(run: Run, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(STUDY, encoding="utf-8")
    (tmp_path / "p.yaml").write_text("extends: vsr\nparadigm: p\n", encoding="utf-8")
    for command in (("show", "s.yaml", "-o", "x.png"), ("replay", "s.yaml", "--agent", "ideal"), ("list", "s.yaml")):
        assert (
            complaint(*run(*command))
            == "spanlab: s.yaml:2 study: this is a study; a paradigm is needed here, such as one of those that the study names\n"
        )
    assert "p.yaml:1 this is a paradigm; a study is needed here" in complaint(*run("study", "status", "p.yaml"))


# -- fields ----------------------------------------------------------------------------------------


def field(**keys: object) -> FieldPart:
    return FieldPart.model_validate({"name": "x", "label": {"en": "X"}, **keys})


@pytest.mark.parametrize(
    ("asked", "typed", "value"),
    [
        (COMMON["age"], " 23 ", 23),
        (COMMON["sex"], "f", "f"),
        (field(type="number", range=[0, 24]), "7,5", 7.5),
        (field(type="number"), "-1.25", -1.25),
        (field(type="yes_no"), "no", False),
        (field(type="choice", choices=["a", "b"]), "b", "b"),
        (field(), "Ada, née Byron", "Ada, née Byron"),
    ],
)
def test_what_fits_is_read(asked: FieldPart, typed: str, value: object) -> None:
    assert asked.read(typed) == value
    assert type(asked.read(typed)) is type(value)


@pytest.mark.parametrize(
    ("asked", "typed", "said"),
    [
        (COMMON["age"], "23.5", "expected a whole number from 1 to 120; found '23.5'"),
        (COMMON["age"], "0", "expected a whole number from 1 to 120"),
        (COMMON["age"], "1_0", "expected a whole number"),
        (COMMON["age"], "٢٣", "expected a whole number"),
        (COMMON["sex"], "female", "expected one of f, m, x, unsaid; found 'female'"),
        (field(type="number"), "nan", "expected a number; found 'nan'"),
        (field(type="yes_no"), "maybe", "expected yes or no"),
        (field(), "a\nb", "expected one line"),
        (field(), "a" * 501, "expected one line of at most 500 characters"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_was_expected(asked: FieldPart, typed: str, said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("(", r"\(")):
        asked.read(typed)


@pytest.mark.parametrize("said", ["normal", "red_green", "other", "unsure"])
def test_whoever_sees_colours_otherwise_says_so_and_takes_part(tmp_path: Path, said: str) -> None:
    """At the window and in browsers, which ask the same questions, in the language of the visit."""
    text = "languages: [de]\nparadigms: [{paradigm: continuous_colour, trials: 1}]\nfields: [colour_vision]\n"
    study, data = study_in(tmp_path, f"study: s\ntitle: S\n{text}"), tmp_path / "data"
    (asked,) = [one for one in questions(study, data, "person", VisitRequest("P1")) if one.name == "colour_vision"]
    assert (asked.required, asked.label[:10]) == (True, "Können Sie")
    assert said in asked.choices
    visit, _ = sit_down(study, data, VisitRequest("P1", fields={"colour_vision": said}))
    assert (read_head(visit.folder)["fields"], visit.names) == ({"colour_vision": said}, ("continuous_colour",))


def test_what_was_asked_once_is_known_later_and_may_be_said_anew() -> None:
    asked = [COMMON["age"], field(name="hours", type="number", each_session=True), field(name="free", required=False)]
    known = {"age": 23, "hours": 8.0}
    assert read_typed(asked, {"hours": "6"}, known) == ({"age": 23, "hours": 6.0}, {})
    assert read_typed(asked, {"hours": "6", "age": "24", "free": ""}, known)[0] == {"age": 24, "hours": 6.0}
    assert read_typed(asked, {}, known)[1] == {"hours": "this is required"}
    assert set(read_typed(asked, {"agee": "3"}, {})[1]) == {"agee", "age", "hours"}


@pytest.mark.parametrize(
    "text",
    [
        "study: s\nparadigms: [vsr]",
        HEAD + "paradigms: []",
        HEAD + "paradigms: [{paradigm: vsr, pratice: no}]",
        HEAD + "paradigms: [vsr]\npalete: safe",
        HEAD + "paradigms: [vsr]\npalette: red",
        HEAD + "paradigms: [vsr]\norder: latin",
        HEAD + "paradigms: [vsr]\nkeys: sideways",
        HEAD + "paradigms: [vsr]\nsessions: 0",
        HEAD + "paradigms: [vsr]\nfields: [agee]",
        HEAD + "paradigms: [vsr]\nbreaks: {seconds: 3}",
    ],
)
def test_mistakes_are_told_with_their_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "study.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ParadigmError, match=r"study\.yaml:\d+ "):
        load_study(tmp_path / "study.yaml")


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such files")
def test_what_is_no_ordinary_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "session").mkdir()
    of_session = [f"session/{name}" for name in ("session.json", "battery.json", "battery.jsonl")]
    for name in ("study.yaml", "table.csv", "study.zip", "font.ttf", "weights.pt", *of_session):
        os.mkfifo(tmp_path / name)
    said: list[str] = []

    def look(reads: Callable[[Path], object], path: Path) -> None:
        try:
            reads(path)
        except (SpanLabError, ValueError) as error:
            said.append(str(error))

    for reads, name, why in (
        (read_session, "session", "has no session.json"),
        (read_head, "session", "battery.json cannot be read"),
        (read_journal, "session", "battery.jsonl:1 is damaged"),
        (load_study, "study.yaml", "not an ordinary file"),
        (lambda path: spanlab.compare(path, path.parent), "table.csv", "not an ordinary file"),
        (spanlab.study_restore, "study.zip", "not an ordinary file"),
        (use_font, "font.ttf", "not an ordinary file"),
        (lambda path: read_content(path, "file"), "weights.pt", "not an ordinary file"),
    ):
        looking = threading.Thread(target=look, args=(reads, tmp_path / name), daemon=True)
        looking.start()
        looking.join(HANGS_S)
        assert why in said.pop()
