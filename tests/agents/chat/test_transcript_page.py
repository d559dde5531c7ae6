"""Pages of conversations: replies by what became of them."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from pathlib import Path
from typing import Any

from chat_servers import Answer, Request, listening
from chat_stub import completion
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
