"""The wordings that ship: every paradigm has each of them, in every condition, with the answers
that the questions ask for."""

from __future__ import annotations

import itertools

import pytest

from spanlab.agents.chat import ChatAgent, ChatSettings
from spanlab.agents.chat.open_request import WORDINGS
from spanlab.paradigms import load_paradigm
from spanlab.sessions.session import instructions_for

PARADIGMS = ("cd", "cs", "sc", "sfr", "si", "smu", "sts", "vir", "vsr", "vsrec", "nback_verbal", "nback_spatial")
#: Words that an answer must be able to be taken from, and the parts of the task that must be said.
SAID = {
    "cd": ("same", "different"),
    "cs": ("eight",),
    "sc": ("symmetric", "asymmetric", "10"),
    "sfr": ("order", "red"),
    "si": ("same", "different", "red frame"),
    "smu": ("arrow", "red", "3 by 3"),
    "sts": ('"top/left"', '"bottom/right"'),
    "vir": ("left", "right"),
    "vsr": ("3 by 3", "first", "last"),
    "vsrec": ("left", "right", "last"),
    "nback_verbal": (" m ", "(m", " - ", "answer -"),
    "nback_spatial": (" m ", "(m", " - ", "answer -"),
}
#: In either form.
EITHER = {"nback_verbal", "nback_spatial"}


@pytest.mark.parametrize("name", WORDINGS)
@pytest.mark.slow
def test_every_paradigm_has_each_wording_in_every_condition(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:1/v1")
    agent = ChatAgent("m", ChatSettings.read({"instructions": name}))
    assert sorted(agent.settings()["instructions"]) == sorted(PARADIGMS)
    for paradigm_name in PARADIGMS:
        paradigm = load_paradigm(paradigm_name)
        factors = {key: factor.levels for key, factor in paradigm.factors.items()}
        seen = set()
        for levels in itertools.islice(itertools.product(*factors.values()), 400):
            text = instructions_for(agent, paradigm, "en", dict(zip(factors, levels, strict=True)))
            assert "{=" not in text
            said = [word for word in SAID[paradigm_name] if word in text.casefold()]
            assert said if paradigm_name in EITHER else len(said) == len(SAID[paradigm_name]), (paradigm_name, text)
            seen.add(text)
        own = {
            instructions_for(ChatAgent("m"), paradigm, "en", dict(zip(factors, levels, strict=True)))
            for levels in itertools.islice(itertools.product(*factors.values()), 400)
        }
        assert len(seen) == len(own), "says as many different things as the paradigm's own"
        assert not seen & own


def test_a_wording_that_ships_is_named() -> None:
    assert ChatSettings.read({"instructions": "brief"}).instructions["cd"].startswith("Remember the bars")
