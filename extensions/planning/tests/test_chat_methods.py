"""What a Methods section says of chat models: no setting is left out, and dates, practice, served
models and prompts are those of the record."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import pytest
from command_line import Run

from spanlab.agents.chat import ChatSettings
from spanlab.extensions.planning.chat_methods import SENTENCES, ChatSession, chat_sentences, prompts_appendix
from spanlab.sessions.record import read_events

GOLDEN = Path(__file__).resolve().parents[3] / "tests" / "golden" / "sessions"
#: Two values for each setting whose values cannot be enumerated; one that is added needs a line
#: here and a sentence.
VALUES: Mapping[str, tuple[Any, Any]] = {
    "preset": ("published-base", "mine.yaml"),
    "temperature": (0.0, 0.7),
    "max_tokens": (20, 300),
    "extra_body": ({"mirostat": 2}, {"mirostat": 1}),
    "extra_headers": ({"X-Project": "memory"}, {"X-Project": "other"}),
    "instructions": ({"vsr": "Remember."}, {"vsr": "Remember well."}),
    "preamble": ("", "You are a tired student."),
    "image_px": (96, 1024),
    "turn": ("{shown}", "Now: {shown}"),
    "first_turn": ("{shown}", "First: {shown}"),
    "reasoning_text": ("Why?", "Reasons first."),
    "judge": ("reader@lab", "other@lab"),
    "reask": (0, 100),
    "reask_text": ("Again.", "Please answer again."),
    "warm_up": (6, 3),
    "conversation_window": (20, 5),
    "examples": (3, 1),
    "retention_load": (500, 2000),
    "interference": (1, 5),
    "repeat": (2, 3),
    "label": ("scripted server, not a model", "pilot"),
}


def text_of(settings: Mapping[str, Any], **more: Any) -> str:
    session = ChatSession(
        {"agent": "chat:m", "agent_settings": {**ChatSettings.read({}).model_dump(mode="json"), **settings}}, **more
    )
    return "\n".join([*chat_sentences([session]), *prompts_appendix([session])])


def values_of(name: str) -> tuple[Any, ...]:
    field = ChatSettings.model_fields[name]
    named = [value for value in get_args(field.annotation) if isinstance(value, str)]
    if isinstance(field.default, bool):
        return (not field.default,)
    return VALUES.get(name) or tuple(value for value in named if value != field.default)


@pytest.mark.parametrize("name", ChatSettings.model_fields)
def test_each_setting_that_is_not_the_default_changes_the_text(name: str) -> None:
    texts = [text_of({}), *(text_of({name: value}) for value in values_of(name))]
    assert len(texts) >= 2
    assert len(set(texts)) == len(texts), name


def test_there_is_a_sentence_for_each_setting_and_for_nothing_else() -> None:
    assert set(SENTENCES) == set(ChatSettings.model_fields)
    assert "read as before" not in text_of({}), "nothing is said of what nobody changed"


def test_what_was_not_set_is_said_to_be_the_server_s() -> None:
    left = "Left to the server, whose defaults are unknown: "
    assert f"{left}temperature and length of replies." in text_of({})
    assert f"{left}length of replies." in text_of({"temperature": 0.0})
    assert "The sampling temperature was 0.0." in text_of({"temperature": 0.0})
    assert left not in text_of({"temperature": 1.0, "max_tokens": 9})


def test_sentences_of_ours_that_follow_from_other_settings_are_no_changes() -> None:
    seen = ChatSettings.read({"view": "image", "reasoning": "before"}).model_dump(mode="json")
    assert "The instructions were preceded by" not in text_of(seen)
    assert "Reasons were asked for in these words" not in text_of(seen)
    assert "reason in writing before it answered" in text_of(seen)


def test_a_list_that_can_still_be_read_is_said_to_be() -> None:
    there = "everything that it had been shown in the trial was still in its context"
    assert there in text_of({})
    assert there in text_of({"retention_load": 2000, "interference": 3})
    assert there not in text_of({"notepad": True})


def replies(*served: tuple[str | None, str | None]) -> list[dict[str, Any]]:
    return [{"trial": "1", "reply": {"served_model": model, "fingerprint": system}} for model, system in served]


def test_snapshots_and_fingerprints_are_named_with_their_changes() -> None:
    steady = text_of({}, replies=replies(*[("m-2026-01-01", "fp_1")] * 3))
    assert "The server called the model `m-2026-01-01`." in steady
    assert "The fingerprint of its system was `fp_1`, and it changed during no session." in steady
    moved = text_of({}, replies=replies(("m-1", "fp_1"), ("m-1", "fp_2"), ("m-2", "fp_2")))
    assert "`m-1` (replies 1 to 2) then `m-2` (replies 3 to 3)" in moved
    assert "`fp_1` (replies 1 to 1) then `fp_2` (replies 2 to 3); it changed during 1 session." in moved
    assert "It gave no fingerprint of its system." in text_of({}, replies=replies(("m-1", None)))
    assert "[not recorded: which model the server says it used]" in text_of({})


def test_practice_is_told_with_its_criterion_and_what_became_of_it() -> None:
    info = {
        "agent_settings": {"practice": "feedback"},
        "paradigm_data": {"practice": {"trials": 2, "pass": 0.6, "at_most": 3}},
    }
    over = [{"event": "practice", "rounds": 3, "passed": False}]
    text = " ".join(chat_sentences([ChatSession(info, over)]))
    assert (
        "A round of practice had 2 trials; 60% of its answers had to be right, in up to 3 rounds; 3 rounds, not passed."
        in text
    )
    assert "passed" in " ".join(chat_sentences([ChatSession(info, [{**over[0], "passed": True}])]))


def test_the_section_has_dates_and_the_prompts_as_they_were_sent(run: Run, tmp_path: Path) -> None:
    name = "vsr-chat-scripted-s31"
    shutil.copytree(GOLDEN / "finished" / name, tmp_path / "data" / name)
    text = run("methods", "data")[1]
    (folder,) = (tmp_path / "data").iterdir()
    times = sorted(str(event["at"]) for event in read_events(folder) if "at" in event)
    first, last = times[0][:16].replace("T", " "), times[-1][:16].replace("T", " ")
    said = f"Recorded on {first}" if first == last else f"Recorded from {first} to {last}"
    assert f"{said} (UTC)." in text
    assert "Replies were read by version 1 of SpanLab's reader." in text
    lines = [
        json.loads(line)
        for line in (tmp_path / "data" / name / "transcripts.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    first = next(line for line in lines if "reply" in line)
    for message in first["sent"]:
        for part in message["parts"]:
            assert part["text"] in text
    assert text.count(first["sent"][0]["parts"][1]["text"]) == 1, "instructions that all trials have are printed once"
    assert text.index("## References") < text.index("## Appendix: prompts")


@pytest.mark.slow
def test_conversations_that_cannot_be_read_are_not_called_unrecorded_alone(run: Run, tmp_path: Path) -> None:
    name = "vsr-chat-scripted-s31"
    shutil.copytree(GOLDEN / "finished" / name, folder := tmp_path / "data" / name)
    assert "conversations cannot be read" not in run("methods", "data")[1]
    (folder / "transcripts.jsonl").write_text('{"trial": "1", "reply"\n' * 3, encoding="utf-8")
    assert (
        "[A session's conversations cannot be read, so nothing is known about them here: " in run("methods", "data")[1]
    )
