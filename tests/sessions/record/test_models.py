"""The models of the record: everything else is read off them, and what does not fit them is said."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Annotated, Any, get_args

import pytest
from typing_extensions import TypedDict
from written_anew import STORED

from spanlab.analysis.data.door import COLUMNS as LOADED
from spanlab.core.errors import SpanLabError
from spanlab.paradigms.language.timeline import LIST_COLUMNS, WHOLE_COLUMNS
from spanlab.sessions.record.displays import TrialTiming
from spanlab.sessions.record.events import AskedStep, Event, Notes, OwnColumns, Score, ShownDisplay, TrialStart
from spanlab.sessions.record.marking import Holds, InTable, fields_of
from spanlab.sessions.record.reader import event_damage, read_events, session_damage
from spanlab.sessions.record.session_info import Keys, PlanEntry, SessionInfo, StaircasePlan
from spanlab.sessions.record.table import COLUMNS, ORDER, OWN_COLUMNS, columns_of
from spanlab.sessions.record.writer import Recorder

SOURCES = (SessionInfo, TrialStart, AskedStep, OwnColumns, Score, Notes, ShownDisplay, TrialTiming)
MODELS = (*get_args(Event), *SOURCES, StaircasePlan, Keys, PlanEntry)
START: dict[str, Any] = {
    **{
        "event": "trial_start",
        "trial": "1",
        "attempt": 1,
        "block": 1,
        "practice": False,
        "levels": {},
        "seed": 1,
        "trial_id": "a",
    },
    **{"set_size": 1, "list_length": None, "started_at": ""},
}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_field_says_what_it_holds(model: type) -> None:
    assert model.__doc__
    named_elsewhere = OWN_COLUMNS if model is OwnColumns else {"event"}
    assert not [
        field.name for field in fields_of(model) if not field.holds.meaning and field.name not in named_elsewhere
    ]


def test_the_columns_are_those_of_the_models() -> None:
    found, _ = columns_of(SOURCES, ORDER)
    assert found == COLUMNS
    assert len({column.name for column in COLUMNS}) == len(COLUMNS)
    assert tuple(column.name for column in COLUMNS if column.loaded) == LOADED
    assert {*WHOLE_COLUMNS, *LIST_COLUMNS} == OWN_COLUMNS


def test_a_field_more_is_a_column_more() -> None:
    class WithMore(TypedDict):
        """as a step, and one thing more"""

        pupil_mm: Annotated[float | None, Holds("diameter of the pupil", "mm", measured=True), InTable(loaded=True)]
        wink: Annotated[bool, Holds("whether somebody winked"), InTable(name="winked", missing=False)]

    place = ORDER.index("onset_ms")
    more, sources = columns_of((*SOURCES, WithMore), (*ORDER[:place], "pupil_mm", "winked", *ORDER[place:]))
    names = [column.name for column in more]
    place = names.index("rt_ms")
    assert names[place : place + 4] == ["rt_ms", "pupil_mm", "winked", "onset_ms"]
    assert [name for name in names if name not in ("pupil_mm", "winked")] == [column.name for column in COLUMNS]
    column = more[names.index("pupil_mm")]
    assert (column.type, column.unit, column.measured, column.loaded) == ("number", "mm", True, True)
    assert sources[-1].fill({"pupil_mm": 3.5}) == {"pupil_mm": 3.5, "winked": False}


def test_a_column_without_a_place_is_refused_and_a_place_without_a_column() -> None:
    class Lost(TypedDict):
        """of nowhere"""

        lost: Annotated[int, Holds("nothing"), InTable()]

    for models, order in (((*SOURCES, Lost), ORDER), (SOURCES, (*ORDER, "lost"))):
        with pytest.raises(TypeError, match="lost"):
            columns_of(models, order)
    with pytest.raises(TypeError, match="twice"):
        columns_of(SOURCES, (*ORDER, "phase"))


@pytest.mark.parametrize(
    ("event", "says"),
    [
        (None, "it is not an event"),
        ({}, "it is not an event"),
        ({"event": 3}, "it is not an event"),
        ({"event": "dance"}, "this version of spanlab knows no event 'dance'"),
        ({**START, "mood": "fine"}, "this version of spanlab knows no key 'mood' there"),
        ({name: value for name, value in START.items() if name != "seed"}, "'seed' is missing"),
        ({**START, "seed": "1"}, "'seed' has the wrong form"),
        ({**START, "seed": True}, "'seed' has the wrong form"),
        ({**START, "levels": []}, "'levels' has the wrong form"),
        ({**START, "trial": "x1"}, "'trial' has the wrong form"),
        ({**START, "trial": "1\n"}, "'trial' has the wrong form"),
        (START, None),
        ({"event": "note", "anything": [1, {"at": "all"}]}, None),
        ({"event": "note", "trial": "x"}, "'trial' has the wrong form"),
    ],
)
def test_what_does_not_fit_is_said(event: Any, says: str | None) -> None:
    assert event_damage(event) == says


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda step: step.pop("chance"), "'chance' is missing"),
        (lambda step: step["scores"][0].pop("answer"), "'answer' is missing"),
        (lambda step: step["scores"][0].update(answer=[1]), "'answer' has the wrong form"),
        (lambda step: step["scores"].append(3), "'scores' has the wrong form"),
        (lambda step: step.update(scores=3), "'scores' has the wrong form"),
        (lambda step: step["notes"].update(own="whatever"), None),
        (lambda step: step["notes"].update(attempts="two"), "'attempts' has the wrong form"),
        (lambda step: step.update(shown=[{}]), "'onset_ms' is missing"),
        (lambda step: step.update(rt_ms=5), None),
        (lambda step: step.update(feedbak="right"), "this version of spanlab knows no key 'feedbak' there"),
    ],
)
def test_what_does_not_fit_within_a_step_is_said(change: Any, says: str | None) -> None:
    step = next(
        event
        for event in map(json.loads, (STORED / "vsr-ideal-s11" / "events.jsonl").open(encoding="utf-8"))
        if "ask" in event
    )
    change(step)
    assert event_damage(step) == says


def test_what_does_not_fit_in_session_json_is_said() -> None:
    info = json.loads((STORED / "vsr-p01-s3" / "session.json").read_text(encoding="utf-8"))
    assert session_damage(info) is None
    assert session_damage({**info, "lab": "ours"}) is None
    assert session_damage({**info, "practice_levels": []}) == "'practice_levels' has the wrong form"
    assert session_damage({**info, "plan": {}}) == "'plan' has the wrong form"
    assert session_damage({**info, "plan": [{**info["plan"][0], "seed": None}]}) == "'seed' has the wrong form"
    assert session_damage({**info, "plan": [3]}) == "'plan' has the wrong form"
    assert session_damage({**info, "keys": {"sides": "x"}}) == "'why' is missing"


def test_it_is_said_where(tmp_path: Path) -> None:
    copy = Path(shutil.copytree(STORED / "vsr-ideal-s11", tmp_path / "copy"))
    events = copy / "events.jsonl"
    lines = events.read_text(encoding="utf-8").splitlines()
    lines[1] = lines[1].replace('{"event":"trial_start",', '{"event":"trial_start","mood":"fine",')
    events.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(
        SpanLabError, match=r"events\.jsonl:2 is damaged \(this version of spanlab knows no key 'mood' there\)"
    ):
        read_events(copy)


def test_what_could_not_be_read_back_is_not_written(tmp_path: Path) -> None:
    """What an agent gives is checked when it is written, and not when somebody wants to read it."""
    recorder = Recorder(tmp_path)
    recorder.write({"event": "session_start", "at": ""})
    recorder.commit()
    recorder.write({**START, "seed": "one"})  # type: ignore[typeddict-item]
    with pytest.raises(SpanLabError, match=r"cannot be recorded .*'seed' has the wrong form"):
        recorder.commit()
    recorder.finish()
    assert len(read_events(tmp_path)) == 1
