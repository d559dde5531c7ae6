"""Pages of conversations: replies by what became of them, and
several pages where there are many."""

from __future__ import annotations

import html
import itertools
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from chat_servers import Answer, Request, listening
from chat_stub import completion
from command_line import Run
from session_tools import take

from spanlab.agents.chat import ChatAgent, ChatSettings, Endpoint, RequestLimits
from spanlab.paradigms import load_paradigm
from spanlab.sessions.transcripts.pages import write_page
from spanlab.sessions.transcripts.transcript import Transcript

REPLIES = ["3", "</script><b>nobody knows</b>", "none of them", "7", "<!-- <script> 2"]


def told_in_turn(folder: Path, trials: int = 4, **settings: Any) -> tuple[Any, list[dict[str, Any]]]:
    """A session whose replies come in turn, some of them unreadable; and every request that it
    sent."""
    numbers = itertools.count()

    def say(request: Request) -> Answer:
        return 200, "application/json", completion(REPLIES[next(numbers) % len(REPLIES)], "m", 10)

    with listening(say) as tap:
        agent = ChatAgent(
            "m", ChatSettings.read(settings), Endpoint(tap.base_url, key_variable=None), RequestLimits(concurrency=1)
        )
        session = take(folder, load_paradigm("vsr"), agent, trials, 4, {"list_length": [2]})
    return session, [request.body for request in tap.requests]


def test_replies_can_be_shown_by_what_became_of_them(tmp_path: Path) -> None:
    session, _ = told_in_turn(tmp_path)
    read = Transcript(session.folder)
    page = write_page(read, read.trials, tmp_path / "page.html").read_text("utf-8")
    assert "<b>nobody" not in page, "a reply ends no script and begins no element"
    turns = [turn for key in read.trials for turn in read.talk(key).turns]
    unread = sum(turn.again or turn.mark == "unread" for turn in turns)
    counts = {
        "all": len(turns),
        "wrong": sum(turn.mark == "wrong" for turn in turns),
        "invalid": sum(turn.mark == "unread" for turn in turns),
        "unread": unread,
    }
    shown = dict(re.findall(r'data-show="(\w+)".*?<span class="count">(\d+)</span>', page))
    assert {name: int(count) for name, count in shown.items()} == counts
    assert 0 < counts["invalid"] < counts["unread"]
    kinds = Counter(kind for text in re.findall(r'class="turn" data-kinds="([^"]*)"', page) for kind in text.split())
    assert kinds == counts


def test_above_a_thousand_replies_there_are_several_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    session, _ = told_in_turn(tmp_path / "data", trials=6)
    monkeypatch.setattr("spanlab.sessions.transcripts.pages._MOST_REPLIES", 7)
    status, out, err = run("transcript", session.folder, "-o", tmp_path / "page.html")
    assert status == 0, err
    assert out.strip() == str(tmp_path / "page.html")
    read = Transcript(session.folder)
    pages = sorted(tmp_path.glob("page*.html"))
    texts = {path.name: path.read_text("utf-8") for path in pages}
    assert {"page.html", "page-2.html"} < set(texts)
    trials = [
        re.findall(r'<section id="trial-(\w+)"', texts[name])
        for name in ["page.html", *sorted(set(texts) - {"page.html"})]
    ]
    assert [key for part in trials for key in part] == read.trials, "every conversation once, whole and in order"
    assert all(sum(read.replies(key) for key in part) <= 7 for part in trials)
    # each page says of all of them how many replies of each kind they have, so that a filter leads
    # to the next one
    told = [
        [json.loads(html.unescape(counts)) for counts in re.findall(r'data-counts="([^"]*)"', texts[name])]
        for name in texts
    ]
    assert all(one == told[0] for one in told)
    whole = write_page(read, read.trials[:1], tmp_path / "one.html").read_text("utf-8")
    assert 'data-counts="' not in whole, "one page says nothing of others"
    turns = {key: read.talk(key).turns for key in read.trials}
    for part, counts in zip(trials, told[0], strict=True):
        some = [turn for key in part for turn in turns[key]]
        unread = sum(turn.again or turn.mark == "unread" for turn in some)
        kinds = {"all": len(some), "wrong": sum(turn.mark in ("wrong", "partly") for turn in some), "unread": unread}
        assert counts == {
            **{kind: count for kind, count in kinds.items() if count},
            **({"invalid": counts["invalid"]} if "invalid" in counts else {}),
        }
    assert all(read.outcomes(key) == [(turn.mark, turn.again) for turn in turns[key]] for key in read.trials)
    assert 'href="page-2.html"' in texts["page.html"]
    assert 'href="page.html"' in texts["page-2.html"]
