"""A look at any page and condition: with the token alone, and nothing of it is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="needs the extra 'web': pip install 'spanlab[web]'")

from scripted_page import ScriptedPage, hello, until

from spanlab.core.errors import SpanLabError
from spanlab.extensions.browser.visits.messages import Hello
from spanlab.extensions.browser.visits.offers import ParadigmOffer, StudyOffer
from spanlab.extensions.browser.visits.previews import wished_study
from spanlab.extensions.browser.visits.visits import Refusal, Visit, VisitDesk
from spanlab.sessions.studies.study import load_study

STUDY = """
study: looked_at
title: Looked at
languages: [en, de]
paradigms:
  - {paradigm: vsr, set: {list_length: 2}, trials: 1, practice: false}
  - {paradigm: sternberg, trials: 1, practice: false}
groups:
  - {name: short, people: 1}
  - {name: long, people: 1, set: {vsr: {list_length: 5}}}
breaks: {text: {en: Have a rest., de: Ruhen Sie sich aus.}}
consent: {en: You take part of your own free will., de: Sie nehmen freiwillig teil.}
debrief: {en: This was about memory., de: Es ging um das Gedächtnis.}
online: {admission: links, endings: {no_consent: {code: N0}}}
"""


@pytest.fixture
def desk(tmp_path: Path) -> VisitDesk:
    (file := tmp_path / "looked_at.yaml").write_text(STUDY, encoding="utf-8")
    (tmp_path / "data").mkdir()
    return VisitDesk(StudyOffer.checked(load_study(file), tmp_path / "data"), print)


def looked(desk: VisitDesk, **wishes: str) -> list[dict[str, Any]]:
    """What a page is told in a preview, but for language and acknowledgements."""
    visit = desk.join(
        Hello.model_validate(hello("preview-1", link={"preview": desk.preview_token, **wishes})), lambda message: None
    )
    assert isinstance(visit, Visit)
    page = ScriptedPage(visit.channel)
    assert page.over.wait(120)
    until(lambda: visit.over)
    page.close()
    told = [json.loads(line) for line in page.lines]
    return [message for message in told if message.get("what") in ("choose", "page", "trial", "end")]


@pytest.mark.parametrize(
    ("page", "first"),
    [
        ("consent", "You take part"),
        ("instructions", "Visual Serial Recall"),
        ("trial", "trial"),
        ("break", "Have a rest"),
        ("debrief", "about memory"),
    ],
)
def test_a_preview_begins_at_the_wished_page_and_keeps_nothing(desk: VisitDesk, page: str, first: str) -> None:
    told = looked(desk, page=page, language="en")
    assert first in json.dumps(told[0]) if page != "trial" else told[0]["what"] == "trial"
    assert told[-1]["what"] == "end"
    assert not any((desk.offer.data).iterdir())
    assert desk.offer.places() == (0, 2)
    desk.close()


def test_groups_levels_languages_and_endings(desk: VisitDesk) -> None:
    def length(**wishes: str) -> int:
        trial = next(
            message for message in looked(desk, page="trial", paradigm="vsr", **wishes) if message["what"] == "trial"
        )
        return sum(step[0]["phase"] == "present" for step in trial["steps"])

    assert [length(group="short"), length(group="long"), length(set="list_length:4")] == [2, 5, 4]
    assert "freiwillig" in json.dumps(looked(desk, language="de", page="consent")[0])
    (end,) = looked(desk, ending="no_consent")
    assert end["code"] == "N0"
    desk.close()


def test_only_who_has_the_token_may_look(desk: VisitDesk) -> None:
    for wrong in ("", "x", "é"):
        assert isinstance(
            desk.join(Hello.model_validate(hello("preview-1", link={"preview": wrong})), lambda message: None), Refusal
        )
    desk.close()


@pytest.mark.parametrize(
    "wishes", [{"group": "none"}, {"paradigm": "none"}, {"language": "fr"}, {"set": "list_length:100"}]
)
def test_what_a_study_does_not_have_cannot_be_seen(desk: VisitDesk, wishes: dict[str, str]) -> None:
    assert isinstance(desk.offer, StudyOffer)
    with pytest.raises(SpanLabError):
        wished_study(desk.offer.study, wishes)


def test_a_paradigm_is_seen_without_a_study(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    desk = VisitDesk(ParadigmOffer.checked("vsr", tmp_path / "data", trials=1, practice=False), print)
    assert looked(desk, page="trial")[0]["what"] == "trial"
    assert not any((tmp_path / "data").iterdir())
    desk.close()
