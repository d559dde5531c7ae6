"""Replies of chat models in one table: the command and the page say the same, and what a model wrote
stays text."""

from __future__ import annotations

import html
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from chat_servers import listening
from chat_stub import completion
from chromium import chromium
from session_tools import take
from starlette.testclient import TestClient

import spanlab
from spanlab.agents.chat import ChatAgent, ChatSettings, Endpoint, RequestLimits
from spanlab.core import SpanLabError
from spanlab.paradigms import load_paradigm
from spanlab.sessions.record import read_events

from ..index import SessionIndex
from ..replies import COLUMNS, Replies
from ..server import Gate, application
from .test_app import BASE, CHAT, GOLDEN, cut_short, let_in, tell


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A session of a chat model, and the same trials taken by an observer."""
    data = tmp_path / "data"
    shutil.copytree(GOLDEN / CHAT, data / CHAT)
    spanlab.replay(agent="ideal", like=data / CHAT, data=data, say=lambda _: None)
    return data


def data_of(bundle: Path, name: str) -> Any:
    """What a script of the bundle hands to the page."""
    text = (bundle / "data" / f"{name}.js").read_text("utf-8")
    assert "<" not in text, "no data end the page's script"
    found = re.fullmatch(r'spanlabData\("([^"]*)", (.*)\);\n', text, re.DOTALL)
    assert found is not None
    assert found[1] == name
    return json.loads(found[2])


def test_the_command_the_page_and_the_bundle_show_the_same(folder: Path, tmp_path: Path) -> None:
    made = spanlab.view(folder, output=tmp_path / "for_colleagues")
    client = let_in(folder)
    page = client.get("/replies/data/table").json()
    models = [dict(zip(COLUMNS, row, strict=True)) for row in page["rows"] if row[2] in page["models"]]
    assert made.to_dict()["replies"] == models
    assert data_of(tmp_path / "for_colleagues", "table")["rows"] == page["rows"]
    asked = [event for event in read_events(folder / CHAT) if event["event"] == "step" and "ask" in event]
    assert [(row["trial"], row["question"], row["reply"]) for row in models] == [
        (event["trial"], event["ask"], event["raw"]) for event in asked
    ]
    assert [row["tokens_read"] for row in models] == [event["notes"]["prompt_tokens"] for event in asked]
    assert [row["mark"] == "right" for row in models] == [event["scores"][0]["correct"] for event in asked]
    shown, talk = client.get(f"/replies/data/{CHAT}/1").json(), Replies(SessionIndex(folder)).conversation(CHAT, "1")
    assert data_of(tmp_path / "for_colleagues", f"{CHAT}/1") == shown
    assert [html.escape(turn.reply.content) in shown for turn in talk["turns"]] == [True, True]
    answers = {taker["who"]: taker["answers"] for taker in talk["takers"]}
    assert answers.keys() == {"chat:scripted", "ideal"}
    for question, given in zip(talk["questions"], answers["ideal"], strict=True):
        assert (given.answer, given.spots) == (question.right, question.spots)
        assert len(question.spots) == 1
    assert [turn.reply.content for turn in talk["turns"]] == [row["reply"] for row in models if row["trial"] == "1"]


def test_ten_thousand_replies_are_sorted_filtered_and_opened_in_a_browser(folder: Path, tmp_path: Path) -> None:
    spanlab.view(folder, output=tmp_path / "bundle")
    table = tmp_path / "bundle" / "data" / "table.js"
    begin, rows, end = re.split(r'(?<="rows":)(\[\[.*?\]\])(?=,"unread")', table.read_text("utf-8"))
    table.write_text(begin + json.dumps(json.loads(rows) * 2500) + end, encoding="utf-8")
    with chromium(tmp_path / "profile") as browser, browser.tab() as tab:
        tab.open((tmp_path / "bundle" / "index.html").as_uri())
        tab.until("document.querySelector('#at')?.textContent === '1 / 100'")
        for direction, trial in (("ascending", "1"), ("descending", "2")):
            tab.evaluate("document.querySelector('thead [data-column=trial]').click()")
            assert tab.evaluate("document.querySelector('[aria-sort]').ariaSort") == direction
            column = "document.querySelectorAll('#rows td:nth-child(4)')"
            assert tab.evaluate(f"Array.from({column}, (one) => one.textContent)") == [trial] * 100
        tab.evaluate(
            "(() => { const one = document.querySelector('#by-mark'); one.value = 'right';"
            " one.dispatchEvent(new Event('input', {bubbles: true})); })()"
        )
        assert tab.evaluate("document.querySelector('#at').textContent") == "1 / 50"
        tab.evaluate("document.querySelector('#rows button').click()")
        tab.until("document.querySelectorAll('dialog details[open]').length === 1")
        assert tab.evaluate("document.querySelectorAll('dialog details[data-ask]').length") == 2


def test_a_bundle_has_what_was_named_and_no_answers_of_people(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, place in (("vsr-p01-s3", "P01"), ("vsr-recorded-p01-s3", "replay"), (CHAT, "again")):
        shutil.copytree(GOLDEN / name, folder / "lab" / place)
    spanlab.view(folder, output=tmp_path / "whole")
    assert {row[0] for row in data_of(tmp_path / "whole", "table")["rows"]} == {
        CHAT,
        "lab/again",
        *(path.name for path in folder.glob("vsr-ideal-*")),
    }
    assert not [path for path in (tmp_path / "whole").rglob("*.js") if "p01" in path.read_text("utf-8").lower()]
    opened = list[Any]()
    monkeypatch.setattr("spanlab.extensions.app.command._open", lambda *given: opened.append(given[4]))
    spanlab.view(folder / CHAT)
    assert opened == [f"/replies?search={CHAT}"]
    monkeypatch.chdir(folder / CHAT)
    spanlab.view(".", output=tmp_path / "one")
    assert {row[0] for row in data_of(tmp_path / "one", "table")["rows"]} == {CHAT}
    assert [path.name for path in (tmp_path / "one" / "data").iterdir() if path.is_dir()] == [CHAT]


def test_an_odd_record_is_left_out_and_named_but_not_to_colleagues(folder: Path, tmp_path: Path) -> None:
    for name, change in (("p07", {"created": 1}), ("odd", {"prices": {"input": 1}})):
        shutil.copytree(GOLDEN / CHAT, folder / name)
        tell(folder / name, **change)
    events = shutil.copytree(GOLDEN / CHAT, folder / "not_a_number") / "events.jsonl"
    events.write_text(re.sub(r'"latency_ms": ?[0-9.]+', '"latency_ms": NaN', events.read_text("utf-8")), "utf-8")
    page = let_in(folder).get("/replies/data/table").json()
    assert (page["unread"], {row[2] for row in page["rows"]}) == (["p07", "odd", "not_a_number"], {"chat", "ideal"})
    cautions = [f"{name} is left out, as it cannot be read" for name in page["unread"]]
    assert spanlab.view(folder, output=tmp_path / "bundle").cautions == cautions
    assert data_of(tmp_path / "bundle", "table")["unread"] == []
    (tmp_path / "full" / "data" / CHAT / "1.js").mkdir(parents=True)
    with pytest.raises(SpanLabError, match="full cannot be written"):
        spanlab.view(folder, output=tmp_path / "full")


def test_what_a_model_wrote_is_text_and_an_unread_reply_is_called_so(tmp_path: Path) -> None:
    nasty = "</script><b>nobody knows</b>"
    with listening(lambda request: (200, "application/json", completion(nasty, "m", 10))) as tap:
        settings, limits = ChatSettings.read({"reask": 0}), RequestLimits(concurrency=1)
        agent = ChatAgent("m", settings, Endpoint(tap.base_url, key_variable=None), limits)
        take(tmp_path / "data", load_paradigm("vsr"), agent, 1, 4, {"list_length": [2]})
    rows = spanlab.view(tmp_path / "data", output=tmp_path / "bundle").to_frame()
    assert rows["mark"].tolist() == ["unread", "unread"]
    assert set(rows["reply"]) == {nasty}
    assert html.escape(nasty) in data_of(tmp_path / "bundle", f"{rows['session'].iloc[0]}/1")
    assert "nobody knows" not in (tmp_path / "bundle" / "index.html").read_text("utf-8")


def test_only_finished_trials_are_shown_and_only_folders_are_opened(folder: Path) -> None:
    client = let_in(folder)
    cut_short(folder / CHAT)
    assert client.get(f"/replies/data/{CHAT}/1").status_code == 200
    for address in (f"/replies/data/{CHAT}/2", "/replies/data/elsewhere/1", "/replies/data/../../etc/1"):
        assert client.get(address).status_code in (404, 422), address
    with pytest.raises(SpanLabError, match="is not a folder of sessions"):
        spanlab.view(folder / "nothing", output=folder / "out")


def test_a_link_leads_into_the_app_alone() -> None:
    gate = Gate()
    client = TestClient(application(Path(), "en", gate), base_url=BASE, client=("127.0.0.1", 50000))
    pages = dict.fromkeys(("//evil.example", "/\\evil.example", "https://evil.example", "/a b"), "/")
    for page, leads in {"/replies?search=a": "/replies?search=a", **pages}.items():
        assert client.get(gate.link("", page), follow_redirects=False).headers["location"] == leads, page
