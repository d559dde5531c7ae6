"""Sessions as logs of inspect_ai: read back with its own reader, with the conversation, the answers
and the scores, and no answer in what a model was sent."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import Run, complaint
from typing_extensions import override

from spanlab.agents.chat import ChatAgent, ChatSettings, Outgoing, Reply, RequestLimits, SendHook
from spanlab.paradigms import load_paradigm, plan_session
from spanlab.sessions import Request, Runner, begin, read_responses

GOLDEN = Path(__file__).resolve().parents[3] / "tests" / "golden" / "sessions" / "finished"
PERSON, CHAT, OBSERVER = GOLDEN / "vsr-p01-s3", GOLDEN / "vsr-chat-scripted-s31", GOLDEN / "cd-capacity-2-s12"


@pytest.fixture
def log_reader() -> Any:
    return pytest.importorskip(
        "inspect_ai.log", reason="inspect_ai is not installed: nothing here shows that its reader takes our logs"
    )


def logs_in(reader: Any, folder: Path) -> dict[str, Any]:
    """All logs of a folder by the model in them, as the viewer finds them."""
    return {
        log.eval.model: log
        for log in (reader.read_eval_log(info, resolve_attachments=True) for info in reader.list_eval_logs(str(folder)))
    }


def without_truth(log: Any) -> str:
    """What a log says beside targets and scores."""
    return json.dumps([sample.model_dump(mode="json", exclude={"target", "scores"}) for sample in log.samples])


def test_logs_come_back_with_conversations_answers_and_scores(tmp_path: Path, run: Run, log_reader: Any) -> None:
    status, out, err = run("export", "inspect", PERSON, CHAT, OBSERVER, "logs")
    assert status == 0, err
    assert "practice trials are left out" in err
    logs = logs_in(log_reader, tmp_path / "logs")
    assert set(logs) == {"person/sub-001", "chat:scripted", "capacity:2"}
    assert out.startswith(f"logs: 3 logs, {sum(len(log.samples) for log in logs.values())} samples")
    for folder, model in ((PERSON, "person/sub-001"), (CHAT, "chat:scripted"), (OBSERVER, "capacity:2")):
        log = logs[model]
        rows = read_responses(folder).query("not practice and not warm_up")
        by_trial = rows.groupby("trial")["correct"].mean()
        assert {sample.id: sample.scores["spanlab_items"].value for sample in log.samples} == {
            str(key): share for key, share in by_trial.items()
        }
        (score,) = log.results.scores
        assert score.metrics["mean"].value == pytest.approx(by_trial.mean())
        assert score.metrics["stderr"].value == pytest.approx(by_trial.std() / len(by_trial) ** 0.5)
        assert (log.status, log.eval.task, log.results.completed_samples) == (
            "success",
            f"spanlab_{rows['paradigm'].iloc[0]}",
            len(by_trial),
        )
        for sample in log.samples:
            items = sample.scores["spanlab_items"].metadata["items"]
            recorded = rows[rows["trial"] == int(sample.id)]
            assert [item["correct"] for item in items] == recorded["correct"].tolist()
            assert [item.get("answer") for item in items] == [
                None if text is None else json.loads(text) for text in recorded["answer"].astype(object)
            ]
            safe = model != "person/sub-001"  # an older session: its trials may tell who took part
            assert sample.metadata.get("trial_id") == (recorded["trial_id"].iloc[0] if safe else None), model
            assert sample.messages[: len(sample.input)] == sample.input
            assert len(sample.target) == recorded["ask"].nunique()
    assert logs["chat:scripted"].eval.metadata["caution"] == "scripted server, not a model"
    assert not re.search(
        r"p01|2026-11-22",
        without_truth(logs["person/sub-001"]) + logs["person/sub-001"].eval.model_dump_json(exclude={"created"}),
    )


def test_a_chat_models_messages_are_those_that_were_sent(tmp_path: Path, run: Run, log_reader: Any) -> None:
    assert run("export", "inspect", CHAT, "logs")[0] == 0
    ((_, log),) = logs_in(log_reader, tmp_path / "logs").items()
    lines = [json.loads(line) for line in (CHAT / "transcripts.jsonl").read_text(encoding="utf-8").splitlines()]
    for sample in log.samples:
        wanted = []
        for line in (one for one in lines if one["trial"] == sample.id and "reply" in one):
            new = line["sent"][1:] if wanted else line["sent"]
            wanted += [(message["role"], "\n\n".join(part["text"] for part in message["parts"])) for message in new]
            wanted.append(("assistant", line["reply"]["content"]))
        assert [(message.role, message.text) for message in sample.messages] == wanted
        replies = [line["reply"] for line in lines if line["trial"] == sample.id and "reply" in line]
        assert sample.model_usage["chat:scripted"].total_tokens == sum(
            reply["prompt_tokens"] + reply["completion_tokens"] for reply in replies
        )


class Three(SendHook):
    """Always answers 3."""

    name = "three"

    @override
    async def send(self, request: Outgoing) -> Reply:
        return Reply(content="3", prompt_tokens=10, completion_tokens=1, latency_ms=0)


def test_pictures_are_the_files_that_were_sent(tmp_path: Path, run: Run, log_reader: Any) -> None:
    vsr = load_paradigm("vsr")
    settings = ChatSettings.read({"view": "both", "image_px": 96, "probe": "off"})
    agent = ChatAgent("m", settings, request_limits=RequestLimits(concurrency=1), hook=Three())
    session = begin(
        tmp_path / "data", vsr, agent, plan_session(vsr, seed=4, levels={"list_length": [3]}, trials=2), Request(seed=4)
    )
    Runner(session, agent).run()
    assert run("export", "inspect", session.folder, "logs")[0] == 0
    ((_, log),) = logs_in(log_reader, tmp_path / "logs").items()
    read: dict[str, list[str]] = {}
    for sample in log.samples:
        for part in (
            part
            for message in sample.messages
            if not isinstance(message.content, str)
            for part in message.content
            if part.type == "image"
        ):
            file = base64.b64decode(part.image.removeprefix("data:image/png;base64,"))
            read.setdefault(sample.id, []).append(hashlib.sha256(file).hexdigest())
    kept: dict[str, list[str]] = {}
    for line in map(json.loads, (session.folder / "transcripts.jsonl").read_text(encoding="utf-8").splitlines()):
        pictures = [
            part["picture"]["sha256"]
            for message in line.get("sent", ())
            for part in message["parts"]
            if "picture" in part
        ]
        kept.setdefault(line["trial"], []).extend(pictures)
    assert read == kept
    assert [len(pictures) for pictures in kept.values()] == [6, 6]


def test_no_correct_answer_of_the_record_is_in_a_conversation(tmp_path: Path, run: Run, log_reader: Any) -> None:
    """A copy whose correct answers are forged has the same conversations."""
    forged = tmp_path / "copy" / "vsr-p01-s3"
    shutil.copytree(PERSON, forged)
    events = forged / "events.jsonl"
    events.write_text(
        re.sub(r'("correct_answer": ?)\d', r"\g<1>1", events.read_text(encoding="utf-8")), encoding="utf-8"
    )
    texts = []
    for name, folder in (("true", PERSON), ("forged", forged)):
        status, _, err = run("export", "inspect", folder, name)
        assert status == 0, err
        ((_, log),) = logs_in(log_reader, tmp_path / name).items()
        texts.append(without_truth(log))
    assert texts[0] == texts[1]


def test_without_inspect_one_sentence_says_what_to_install(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spanlab.core.doors.installed", lambda _: False)
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    said = complaint(*run("export", "inspect", PERSON, "logs"))
    assert said.strip().endswith(
        "a log of inspect_ai needs the inspect-ai package, which is not installed; install it with: pip install"
        " 'spanlab[inspect]'"
    )
    assert not (tmp_path / "logs").exists()
