"""What a session leaves behind: its rows, columns, tables and session.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet
import pytest
from session_tools import GO_NOGO, AtTheWindow, Saying, lasting, start, take

from spanlab.agents.base import Response
from spanlab.agents.oracles import Chance, IdealAgent
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import Paradigm, Percept, compile_trial, load_paradigm, plan_practice, plan_session
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.sessions import Request, Runner, begin, read_responses, read_session, reopen
from spanlab.sessions.record.reader import read_events
from spanlab.sessions.record.table import COLUMNS, Column, read_table

SFR, SMU, VSR = (load_paradigm(name) for name in ("sfr", "smu", "vsr"))
ARROW = {"string": "string", "integer": "int64", "number": "double", "boolean": "bool", "json": "string"}


@pytest.fixture
def gonogo(tmp_path: Path) -> Paradigm:
    (file := tmp_path / "gonogo.yaml").write_text(GO_NOGO, encoding="utf-8")
    return load_paradigm(file)


def press(key: str | None, **more: Any) -> Response:
    """The keys x and - count, no key is silence, and any other key is none that is allowed."""
    counts = key in ("x", "-")
    return Response(
        key if counts else None,
        raw=key,
        outcome="omitted" if key is None else "answered" if counts else "invalid",
        **more,
    )


# -- rows ------------------------------------------------------------------------------------------


def test_one_row_an_answer(tmp_path: Path) -> None:
    agent = Saying(lambda percept, number: Response(number - 1, rt_ms=100.0 * number, raw=f"key {number}"))
    session = take(
        tmp_path, VSR, agent, plan_session(VSR, 5, SessionDesign(), levels={"list_length": 4}, trials=2), seed=5
    )
    table = read_responses(session.folder)
    trials = [compile_trial(VSR, planned.levels, planned.seed) for planned in session.plan]
    probes = [step for trial in trials for step in trial.steps if step.percept.ask is not None]
    assert len(table) == len(probes) == 8
    assert list(table["answer"]) == ["0", "1", "2", "3"] * 2
    assert list(table["correct_answer"]) == [str(step.truth.answer) for step in probes]
    assert list(table["correct"]) == [step.truth.answer == (number % 4) for number, step in enumerate(probes)]
    assert list(table["serial_position"]) == list(table["ask"]) == [1, 2, 3, 4] * 2
    assert list(table["step"]) == [5, 6, 7, 8] * 2
    assert list(table["trial"]) == [1] * 4 + [2] * 4
    assert list(table["trial_id"]) == [trial.trial_id for trial in trials for _ in range(4)]
    assert list(table["seed"]) == [trial.seed for trial in trials for _ in range(4)]
    assert list(table["rt_ms"]) == [100.0, 200.0, 300.0, 400.0] * 2
    assert list(table["chance"]) == [1 / 9] * 8
    assert set(table["phase"]) == {"probe"}
    assert set(table["outcome"]) == {"answered"}
    assert set(table["list_length"]) == set(table["set_size"]) == {4}
    assert not table["practice"].any()
    assert table["planned_ms"].isna().all(), "the probe is self-paced"


def test_free_recall_has_a_row_for_each_presented_item_and_each_intrusion(tmp_path: Path) -> None:
    plan = plan_session(SFR, 1, SessionDesign(), levels={"list_length": 5}, trials=1)
    shown = compile_trial(SFR, plan[0].levels, plan[0].seed).steps[-1].truth.answer
    assert isinstance(shown, tuple)
    strange = [cell for cell in range(100) if cell not in shown][:2]
    given = (shown[3], strange[0], shown[0], shown[4], strange[1])  # two of five missed, two intrusions
    session = take(tmp_path, SFR, Saying(lambda percept, number: Response(given)), plan)
    rows = read_responses(session.folder)[["serial_position", "output_position", "correct_answer", "answer", "correct"]]
    expected = [
        *(
            (n, given.index(cell) + 1, str(cell), str(cell), True)
            if cell in given
            else (n, None, str(cell), None, False)
            for n, cell in enumerate(shown, 1)
        ),
        (None, 2, None, str(strange[0]), False),
        (None, 5, None, str(strange[1]), False),
    ]
    pd.testing.assert_frame_equal(rows, pd.DataFrame(expected, columns=rows.columns), check_dtype=False)


def test_an_answer_that_an_agent_calls_invalid_is_invalid_and_silence_is_omitted(tmp_path: Path) -> None:
    unread = Response(None, outcome="invalid")
    answers = {
        1: unread,
        2: Response(None, outcome="omitted"),
        3: unread,
        4: Response("1", raw="one?", outcome="invalid"),
        5: unread,
    }
    session = take(
        tmp_path,
        VSR,
        Saying(lambda percept, number: answers[number]),
        plan_session(VSR, 1, SessionDesign(), levels={"list_length": 5}, trials=1),
    )
    table = read_responses(session.folder)
    assert list(table["outcome"]) == ["invalid", "omitted", "invalid", "invalid", "invalid"]
    assert table["answer"].isna().all()
    assert not table["correct"].any()
    raws = [event["raw"] for event in read_events(session.folder) if event["event"] == "step" and "ask" in event]
    assert raws == [None, None, None, "one?", None], "what was really said is kept"


# -- silence, feedback, late presses ---------------------------------------------------------------


def test_silence_may_be_an_answer_and_feedback_tells_how_it_went(tmp_path: Path, gonogo: Paradigm) -> None:
    """Go/no-go: nothing is pressed at the first sign, x at the second, and the third is answered
    with a key that does not count."""
    replies = {1: press(None), 2: press("x", rt_ms=312.5), 3: press("q")}
    agent = Saying(lambda percept, number: replies[number])
    table = read_responses(take(tmp_path, gonogo, agent, 8).folder)
    signs = table["record_sign"].map(json.loads)
    first, second, third = (table["serial_position"] == n for n in (1, 2, 3))
    assert set(table.loc[first, "answer"]) == {'"-"'}
    assert set(table.loc[first, "outcome"]) == {"answered"}, "silence means no"
    assert (table.loc[first, "correct"] == (signs[first] == "stop")).all()
    assert (table.loc[second, "correct"] == (signs[second] == "go")).all()
    assert set(table.loc[second, "rt_ms"]) == {312.5}
    assert set(table.loc[third, "outcome"]) == {"invalid"}
    assert not table.loc[third, "correct"].any()
    assert set(signs[first]) == set(signs[second]) == {"go", "stop"}, "both signs came up"
    assert (table["feedback_shown"] == table["correct"].map({True: "right", False: "wrong"})).all()
    # What the agent saw of it is what the record says it was shown.
    seen = [
        percept.displays[0].stimulus.text  # type: ignore[attr-defined]
        for _, percepts in agent.seen
        for percept in percepts
        if percept.phase == "feedback"
    ]
    assert seen == list(table["feedback_shown"])
    assert set(table["planned_ms"]) == {100.0}
    assert set(table["factor_hand"]) == {'"left"', '"right"'}


def test_an_omission_is_told_as_missed(tmp_path: Path) -> None:
    text = GO_NOGO.replace(', no_answer_means: "-"', "")
    (file := tmp_path / "must_answer.yaml").write_text(text, encoding="utf-8")
    table = read_responses(take(tmp_path, load_paradigm(file), Saying(lambda percept, number: press(None)), 2).folder)
    assert set(table["outcome"]) == {"omitted"}
    assert set(table["feedback_shown"]) == {"missed"}
    assert table["answer"].isna().all()
    assert not table["correct"].any()


def test_what_happened_at_the_window_is_kept(tmp_path: Path, gonogo: Paradigm) -> None:
    agent = AtTheWindow(lambda percept, number: press("x", rt_ms=401.0, notes={"held_ms": 80.0}))
    session = take(tmp_path, gonogo, agent, 2, participant="p07")
    table = read_responses(session.folder)
    assert set(table["onset_ms"]) == {1000.0}
    assert set(table["shown_frames"]) == set(table["planned_frames"]) == {6}
    assert set(table["dropped_frames"]) == {2}, "over both displays of the step"
    assert set(table["participant"]) == {"p07"}
    asked = [event for event in read_events(session.folder) if event["event"] == "step" and "ask" in event]
    assert all(event["happened"] == {"late": [{"key": "x", "rt_ms": 700.0}]} for event in asked), "late presses"
    assert all(event["notes"] == {"held_ms": 80.0} for event in asked)
    assert all(len(event["shown"]) == 2 for event in asked)
    phases = [percept.phase for percept in agent.seen[0][1]]
    assert phases == ["fixation", *["probe", "feedback"] * 3], "people get the steps that are for people only"


def test_machines_do_not_get_what_is_for_people_only(tmp_path: Path, gonogo: Paradigm) -> None:
    agent = Saying(lambda percept, number: press("x"))
    table = read_responses(take(tmp_path, gonogo, agent, 1).folder)
    assert [percept.phase for percept in agent.seen[0][1]] == ["probe", "feedback"] * 3
    assert list(table["step"]) == [2, 4, 6], "steps are numbered as in the trial, for everybody"


# -- practice --------------------------------------------------------------------------------------


def test_practice_until_it_goes_well(tmp_path: Path, gonogo: Paradigm) -> None:
    """The first round goes wrong, the second well: no third; then the ordinary trials."""
    trials = 0

    def answer(percept: Percept, number: int) -> Response:
        nonlocal trials
        trials += number == 1
        text = percept.for_machine.stimulus.text  # type: ignore[attr-defined]
        right = "x" if text == "go" else "-"
        return press(right if trials > 2 else "-" if right == "x" else "x")

    agent = AtTheWindow(answer)
    table = read_responses(take(tmp_path, gonogo, agent, 4, participant="p1", practice=True).folder)
    practice, main = table[table["practice"]], table[~table["practice"]]
    assert practice.groupby("trial", sort=False)["correct"].mean().to_dict() == {1: 0, 2: 0, 3: 1, 4: 1}
    assert list(practice["block"].unique()) == [1, 2]
    assert set(practice["factor_hand"]) == {'"left"'}
    planned = [trial for round_ in (1, 2) for trial in plan_practice(gonogo, 1, round_)]
    assert list(dict.fromkeys(practice["seed"])) == [trial.seed for trial in planned]
    assert list(main["trial"].unique()) == [1, 2, 3, 4]
    assert table["practice"].is_monotonic_decreasing, "practice comes first"
    assert not set(practice["seed"]) & set(main["seed"])
    headings = [page.split(":")[0] for page in agent.pages]
    assert headings == [
        "Go or not",
        "Practice",
        "Practice",
        "Practice",
        "Once more",
        "Practice",
        "Practice",
        "Ready",
        "Thank you",
    ]
    assert "0 of 3 correct" in agent.pages[2]
    assert "All correct" in agent.pages[-3]


def test_practice_that_was_interrupted_goes_on_where_it_was(tmp_path: Path, gonogo: Paradigm) -> None:
    """Stopped at every question in turn, the session ends with the same trials, other stimuli
    apart; practice that went well is not asked for again."""

    def right(percept: Percept, number: int) -> Response:
        return press("x" if percept.for_machine.stimulus.text == "go" else "-")  # type: ignore[attr-defined]

    undisturbed = take(tmp_path / "a", gonogo, AtTheWindow(right), 3, practice=True)
    drawn = ["seed", "trial_id", "answer", "correct_answer", "record_sign"]
    wanted = lasting(undisturbed.folder, without=drawn)
    assert wanted["practice"].sum() == 6
    reasons: list[str] = []

    def stopping(percept: Percept, number: int) -> Response:
        nonlocal left
        left -= 1
        if left < 0:
            raise SpanLabError("the power is gone")
        return right(percept, number)

    session = start(tmp_path / "b", gonogo, AtTheWindow(right), 3, practice=True)
    while True:
        left = 4
        try:
            Runner(reopen(session.folder), AtTheWindow(stopping)).run()
            break
        except SpanLabError as error:
            reasons.append(str(error))
    assert reasons == ["the power is gone"] * 4
    pd.testing.assert_frame_equal(lasting(session.folder, without=drawn), wanted)


# -- columns and files -----------------------------------------------------------------------------


@pytest.mark.parametrize("paradigm", [VSR, SFR, SMU], ids=lambda paradigm: paradigm.name)
def test_columns_are_those_declared_with_their_types(tmp_path: Path, paradigm: Paradigm) -> None:
    session = take(tmp_path, paradigm, Chance(), 6)
    schema = pyarrow.parquet.read_schema(session.folder / "responses.parquet")
    extra = [name for name in schema.names if name not in {column.name for column in COLUMNS}]
    assert schema.names == [column.name for column in COLUMNS] + extra
    assert extra == sorted(extra)
    assert all(name.startswith(("factor_", "record_")) for name in extra)
    declared: list[Column] = [*COLUMNS, *(Column(name, "json", "") for name in extra)]
    assert {column.name: str(schema.field(column.name).type) for column in declared} == {
        column.name: ARROW[column.type] for column in declared
    }
    for column in declared:
        if column.type == "json":
            for cell in (
                pyarrow.parquet.read_table(session.folder / "responses.parquet")[column.name].drop_null().to_pylist()
            ):
                json.loads(cell)


def test_csv_and_parquet_hold_the_same(tmp_path: Path, gonogo: Paradigm) -> None:
    """Read back with nothing but the declared types, the CSV gives the Parquet table: words with
    quotes, nulls, times and all."""
    agent = AtTheWindow(lambda percept, number: press(["x", None, "q"][number % 3], rt_ms=1000 / 3))
    folder = take(tmp_path, gonogo, agent, 4, participant='Ana "the first", 1').folder
    parquet = read_table(folder)
    kinds = {"string": str, "json": str, "integer": "Int64", "number": float, "boolean": bool}
    types = {column.name: kinds[column.type] for column in COLUMNS}
    csv = pd.read_csv(
        folder / "responses.csv",
        dtype={name: types.get(name, str) for name in parquet.column_names},
        na_values=[""],
        keep_default_na=False,
    )
    expected = parquet.to_pandas()
    assert list(csv.columns) == list(expected.columns)
    for name in csv.columns:
        left = csv[name].astype(object).where(csv[name].notna(), None)
        right = expected[name].astype(object).where(expected[name].notna(), None).replace("", None)
        assert list(left) == list(right), name


def test_session_json_says_who_what_and_with_which_versions(tmp_path: Path) -> None:
    plan = plan_session(VSR, 11, SessionDesign(), trials=16)
    session = begin(
        tmp_path,
        VSR,
        IdealAgent(),
        plan,
        Request(seed=11, pilot=True, design="human"),
        now=lambda: "2031-02-03T04:05:06.789+00:00",
    )
    info = read_session(session.folder)
    assert info["format_version"] == 1
    assert info["session"] == session.folder.name == "vsr-ideal-s11"
    assert (info["agent_kind"], info["agent"], info["oracle"]) == ("ideal", "ideal", True)
    assert (info["paradigm"], info["paradigm_version"], info["paradigm_hash"], info["generator"]) == (
        "vsr",
        1,
        VSR.hash,
        "corrected",
    )
    assert (info["seed"], info["pilot"], info["practice"], info["language"], info["created"]) == (
        11,
        True,
        False,
        "en",
        "2031-02-03T04:05:06.789+00:00",
    )
    assert {"python", "system", "spanlab", "numpy"} <= set(info["versions"])
    assert [(trial["seed"], trial["levels"]) for trial in info["plan"]] == [
        (trial.seed, trial.levels) for trial in plan
    ]
    assert info["paradigm_data"] == VSR.data
    assert reopen(session.folder).plan == tuple(plan)


def test_no_secrets_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from spanlab.agents.chat import ChatAgent

    secret = "not-for-" + "anybody-1234"
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    agent = ChatAgent("some-model")
    start(tmp_path, VSR, agent, 2)
    agent.close()
    written = [file.read_text(encoding="utf-8") for file in tmp_path.rglob("*") if file.is_file()]
    assert written
    assert not any(secret in text for text in written)


def test_what_the_agent_worked_with_is_kept_from_the_first_trial_on(tmp_path: Path, gonogo: Paradigm) -> None:
    """A kill must not lose what was found about the screen."""
    after_each = []

    def answer(percept: Percept, number: int) -> Response:
        after_each.append(read_session(session.folder).get("apparatus"))
        return press("x")

    session = start(tmp_path, gonogo, AtTheWindow(answer), 3)
    Runner(session, AtTheWindow(answer)).run()
    assert after_each[0] is None
    assert after_each[3] == {"refresh_hz": 60.0, "trials_so_far": 1}
    assert read_session(session.folder)["apparatus"] == {"refresh_hz": 60.0, "trials_so_far": 3}


def test_the_same_request_gives_the_same_table(tmp_path: Path) -> None:
    first, second = (take(tmp_path / name, SFR, Chance(), 12, seed=3) for name in "ab")
    pd.testing.assert_frame_equal(lasting(first.folder), lasting(second.folder))
    other = lasting(take(tmp_path, SFR, Chance(), 12, seed=4).folder)
    assert not set(other["trial_id"]) & set(lasting(first.folder)["trial_id"])


def test_sessions_of_several_paradigms_read_as_one_table(tmp_path: Path, gonogo: Paradigm) -> None:
    folders = [take(tmp_path, paradigm, agent, 6).folder for paradigm, agent in ((VSR, Chance()), (SMU, IdealAgent()))]
    folders.append(take(tmp_path, gonogo, Saying(lambda percept, number: press("x")), 6).folder)
    table = read_responses(tmp_path)
    assert list(table.columns[: len(COLUMNS)]) == [column.name for column in COLUMNS]
    assert set(table["session"]) == {folder.name for folder in folders}
    assert {"factor_hand", "record_probed_box", "record_sign"} <= set(table.columns)


def test_a_second_session_of_the_same_name_gets_another_folder(tmp_path: Path) -> None:
    names = [start(tmp_path, VSR, Chance(), 1).name for _ in range(3)]
    assert names == ["vsr-chance-s1", "vsr-chance-s1-2", "vsr-chance-s1-3"]


def test_a_recorded_value_that_does_not_fit_its_column_is_refused_before_anybody_sits_down(tmp_path: Path) -> None:
    (file := tmp_path / "odd.yaml").write_text(
        GO_NOGO.replace("serial_position: =number", "serial_position: =item"), encoding="utf-8"
    )
    with pytest.raises(SpanLabError, match=r"serial_position is a whole number; found '(stop|go)'"):
        start(tmp_path / "data", load_paradigm(file), Chance(), 1)
    assert not (tmp_path / "data").exists()
