"""Practice, worked examples and instructions keep to the levels that a session uses: in plain
sessions and in studies, and the same when it goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Run, output_of
from paradigm_texts import load, text
from session_tools import AtTheWindow, Guessing, starts
from study_files import Guest, study_in
from study_files import take as take_study

from spanlab.agents.window import PageContent
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import Paradigm, load_paradigm, plan_practice, plan_session
from spanlab.paradigms.design import levels_in_use, practice_levels, session_design
from spanlab.paradigms.preview.example import example_levels
from spanlab.sessions import Request, Runner, Session, begin, read_session, reopen
from spanlab.sessions.practice import result_of
from spanlab.sessions.studies.visit_files import states


class Seeing(AtTheWindow):
    """Somebody at a window who keeps the first page with what is pictured on it."""

    def __init__(self, answers: float = float("inf")) -> None:
        super().__init__(Guessing(answers))
        self.pictured: list[Any] = []

    def page(self, page: PageContent) -> None:
        super().page(page)
        self.pictured.append(page.example or None)


def begun(
    folder: Path, paradigm: Paradigm, chosen: dict[str, Any], design: str = "human", trials: int | None = 2
) -> Session:
    """A person's session as ``spanlab run --set`` begins it."""
    plan = plan_session(paradigm, 3, session_design(paradigm, design), chosen, trials)
    return begin(
        folder, paradigm, AtTheWindow(Guessing()), plan, Request(seed=3, design=design, practice=True, levels=chosen)
    )


def practised(folder: Path) -> list[dict[str, Any]]:
    """The levels of the practice trials that were begun."""
    return [event["levels"] for event in starts(folder) if event["practice"]]


# -- what the issue is -----------------------------------------------------------------------------


def test_a_session_of_one_feature_practises_that_feature(tmp_path: Path) -> None:
    session = begun(tmp_path, load_paradigm("cd"), {"feature": ["colour"]})
    person = Seeing()
    Runner(session, person).run()
    assert {
        (levels["feature"], levels["set_size"], levels["retention_steps"]) for levels in practised(session.folder)
    } == {("colour", 2, 6)}
    told = [page for page in person.pages if page.startswith("Change Detection")]
    assert len(told) == 1, "the instructions do not change on the way"
    assert "its colour has changed" in told[0]
    assert "gap" not in told[0]


def test_a_study_of_one_feature_practises_that_feature(tmp_path: Path) -> None:
    entries = (
        "  - {paradigm: cd, set: {feature: colour}, trials: 2}\n  - {paradigm: vsr, set: {list_length: [5, 6, 7]},"
        " trials: 2}\n"
    )
    study = study_in(tmp_path, f"study: s\ntitle: One\nparadigms:\n{entries}")
    guest = Guest()
    visit = take_study(study, tmp_path / "data", fields={}, guest=guest)
    folders = {name: state.folder for name, state in states(visit.folder).items()}
    assert {levels["feature"] for levels in practised(folders["cd"])} == {"colour"}
    assert {levels["list_length"] for levels in practised(folders["vsr"])} == {5}
    assert not any("black gap" in page for page in guest.pages)
    assert read_session(folders["cd"])["chosen_levels"] == {"feature": ["colour"]}
    assert read_session(folders["vsr"])["practice_levels"] == [{"list_length": 5}]


@pytest.mark.slow
def test_practice_is_the_same_when_a_session_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cd = load_paradigm("cd")
    whole = begun(tmp_path / "whole", cd, {"feature": ["colour", "size"]})
    Runner(whole, AtTheWindow(Guessing())).run()
    left = begun(tmp_path / "left", cd, {"feature": ["colour", "size"]})
    with pytest.raises(SpanLabError, match="gone"):
        Runner(left, AtTheWindow(Guessing(2))).run()
    assert len(practised(left.folder)) == 3

    def changed(*_: Any) -> list[dict[str, Any]]:
        raise AssertionError("what practice uses stands in the record")

    monkeypatch.setattr("spanlab.sessions.plan.practice_levels", changed)
    Runner(reopen(left.folder), AtTheWindow(Guessing())).run()

    def taken(session: Session) -> dict[str, dict[str, Any]]:
        return {event["trial"]: event["levels"] for event in starts(session.folder)}

    features = [levels["feature"] for levels in practised(whole.folder)]
    assert set(features) == {"colour", "size"}
    assert [taken(left)[f"p{n}"]["feature"] for n in range(1, 7)] == features[:6]
    attempts = [(event["trial"], event["attempt"]) for event in starts(left.folder)][:4]
    assert attempts == [("p1", 1), ("p2", 1), ("p3", 1), ("p3", 2)]


def test_damaged_levels_are_told(tmp_path: Path) -> None:
    session = begun(tmp_path, load_paradigm("vsr"), {"list_length": [5]})
    file = session.folder / "session.json"
    info = json.loads(file.read_text(encoding="utf-8"))
    for wrong in ([], [3], {}):
        file.write_text(json.dumps({**info, "practice_levels": wrong}), encoding="utf-8")
        with pytest.raises(SpanLabError, match="practice_levels"):
            reopen(session.folder)


# -- which levels ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "design", "chosen", "expected"),
    [
        ("vsr", "human", {}, {"list_length": {3}}),  # as the file wishes
        ("vsr", "human", {"list_length": [3, 8]}, {"list_length": {3}}),  # the wish is in use
        ("vsr", "human", {"list_length": [5, 6, 7]}, {"list_length": {5}}),  # the next above
        ("vsr", "human", {"list_length": 2}, {"list_length": {2}}),  # the highest
        ("vsr", "span", {}, {"list_length": {3}}),
        (
            "cd",
            "human",
            {},
            {
                "feature": {"colour", "orientation", "size", "gap", "conjunction"},
                "set_size": {2},
                "retention_steps": {6},
            },
        ),
        ("cd", "human", {"retention_steps": [0, 12]}, {"set_size": {2}, "retention_steps": {12}}),
        (
            "cd",
            "human",
            {"set_size": [8, 12], "feature": "gap"},
            {"feature": {"gap"}, "set_size": {8}, "retention_steps": {6}},
        ),
        (
            "cs",
            "human",
            {"storage": "visual", "load": [0, 3]},
            {"storage": {"visual"}, "distractor_domain": {"spatial", "visual"}, "load": {3}},
        ),
        ("nback_spatial", "human", {}, {"n": {1}, "grid": {3}, "lures": {"none"}, "block_length": {24}}),
        (
            "nback_spatial",
            "human",
            {"n": 3, "grid": [4, 7], "lures": ["low", "high"]},
            {"n": {3}, "grid": {4}, "lures": {"low", "high"}, "block_length": {24}},
        ),
        (
            "vsrec",
            "human",
            {},
            {"list_length": {3}, "pattern_distractor_difference": {10}},
        ),  # easier than any trial, as the file wishes
        ("vsrec", "human", {"pattern_distractor_difference": [2, 4]}, {"pattern_distractor_difference": {4}}),
        ("sts", "human", {"switch_probability": 0}, {"switch_probability": {0}}),
    ],
)
def test_levels_of_practice(name: str, design: str, chosen: dict[str, Any], expected: dict[str, set[Any]]) -> None:
    paradigm = load_paradigm(name)
    use = levels_in_use(paradigm, session_design(paradigm, design), chosen)
    levels = practice_levels(use)
    assert {factor: {one[factor] for one in levels} for factor in expected} == expected
    assert all(trial.levels in levels for number in (1, 2) for trial in plan_practice(paradigm, 5, number, levels))
    for factor in chosen:  # examples, too
        wanted = chosen[factor] if isinstance(chosen[factor], list) else [chosen[factor]]
        assert example_levels(paradigm, "en", {**levels[0]}, use)[factor] in wanted, factor


def test_practice_of_whole_sessions_is_what_it_was() -> None:
    """Where nothing was chosen and the design leaves nothing out, old and new ways plan the same
    trials."""
    for name in ("vsr", "sfr", "smu", "cd", "sc", "si", "sts", "cs", "lsr", "vir", "nback_verbal", "nback_spatial"):
        paradigm = load_paradigm(name)
        use = levels_in_use(paradigm, session_design(paradigm), {})
        assert plan_practice(paradigm, 9, 2, practice_levels(use)) == plan_practice(paradigm, 9, 2), name


def test_practice_follows_the_design(tmp_path: Path) -> None:
    designs = """
    practice: {trials: 30, factors: {b: x}}
    designs:
      human: {factors: {a: [1, 2], c: [7]}, hold_out: {a: [2]}}
      climb: {adaptive: {factor: a, start: 2}, factors: {b: [y]}}
    """
    paradigm = load(tmp_path, text(factors="a: [1, 2, 3]\nb: [x, y]\nc: {random: [7, 8]}", more=designs))
    by_design = {
        name: practice_levels(levels_in_use(paradigm, session_design(paradigm, name), {}))
        for name in ("human", "climb")
    }
    assert by_design == {"human": [{"a": 1, "b": "x", "c": 7}], "climb": [{"a": 2, "b": "x"}]}
    session = begun(tmp_path / "data", paradigm, {}, "climb", 4)
    Runner(session, AtTheWindow(Guessing())).run()
    assert {(levels["a"], levels["b"]) for levels in practised(session.folder)} == {(2, "x")}


def test_practice_that_cannot_be_compiled_is_told_before_anybody_sits_down(tmp_path: Path) -> None:
    probe = "- {phase: probe, show: {blank: {}}, ask: {choice: {options: 3}, answer: =a}}"
    paradigm = load(
        tmp_path,
        text(
            probe,
            factors="a: [1, 2, 9]",
            more="practice: {trials: 1, factors: {a: 9}}\ndesigns: {human: {factors: {a: [1, 2]}}}",
        ),
    )
    with pytest.raises(SpanLabError, match="9 is not an answer that can be given"):
        begun(tmp_path / "data", paradigm, {})
    assert not (tmp_path / "data").exists()


def test_the_command_line_practises_what_was_set(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanlab.agents.human.seating.seat", lambda *_: Seeing())
    # a single trial says little of the levels in use: --set does
    out = output_of(*run("run", "vsr", "--participant", "a", "--set", "list_length=4,5,9", "--trials", "1"))
    assert {levels["list_length"] for levels in practised(Path(out.split()[-1]))} == {4}
    out = output_of(*run("run", "cd", "--participant", "a", "--trials", "1"))
    assert len({levels["feature"] for levels in practised(Path(out.split()[-1]))}) > 1


def test_practice_says_how_far_off_a_continuous_report_was() -> None:
    right = {"answer": 10, "correct_answer": 350, "correct": True, "error": 20.0}
    wrong = {"answer": 100, "correct_answer": 350, "correct": False, "error": -110.0}
    missed = {"answer": None, "correct_answer": 350, "correct": False}
    assert result_of([[right]], "en") == "All correct.\n\nDistance from the right answer: 20°."
    assert result_of([[wrong]], "de") == "0 von 1 richtig.\n\nAbstand von der richtigen Antwort: 110°."
    assert result_of([[missed]], "en") == "0 of 1 correct."
