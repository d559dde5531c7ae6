"""Half-way sessions go on as they were begun, whatever has become of the library, of wordings and
of defaults; only a user's own file refuses."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from chat_servers import Tap, forwarding, listening
from command_line import Run, output_of
from golden_sessions import table_of
from golden_tables import FOLDER, assert_same, read_table, stored
from session_tools import AtTheWindow, Saying, lasting, start, take

from spanlab.agents.base import Response
from spanlab.agents.chat import settings
from spanlab.agents.chat.settings import PREAMBLES, ChatSettings
from spanlab.agents.human import WindowOptions
from spanlab.agents.oracles import Chance
from spanlab.core.errors import SpanLabError
from spanlab.extensions.demonstration.scripted import ScriptedServer
from spanlab.paradigms import Percept, load_paradigm
from spanlab.paradigms.language import yaml_source
from spanlab.paradigms.responses.cells import Cells
from spanlab.paradigms.responses.choice import Choice
from spanlab.sessions import Runner, Session, read_session, reopen
from spanlab.sessions.record.reader import read_events
from spanlab.sessions.run import Watcher, carry_out
from spanlab.sessions.session import complete, settings_hash


def ninth(percept: Percept, number: int) -> Response:
    return Response(number % 9)


def stopping(after: int) -> Callable[[int, int], None]:
    """Ctrl-C after so many trials."""

    def tell(done: int, total: int) -> None:
        if done >= after:
            raise KeyboardInterrupt

    return tell


def interrupted(session: Session, agent: Any, after: int = 2) -> Path:
    with pytest.raises(KeyboardInterrupt):
        Runner(session, agent, stopping(after)).run()
    return session.folder


@pytest.fixture
def changed_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Lets a paradigm of the library become another one: other instructions, words and draws,
    another version."""

    def change(name: str) -> None:
        text = yaml_source.library_file(name)
        assert text is not None
        data = yaml.safe_load(Path(str(text)).read_text(encoding="utf-8"))
        data["version"] += 1
        data["instructions"] = {"en": "Now for something completely different.", "de": "Und jetzt etwas ganz anderes."}
        data["factors"]["list_length"] = list(reversed(data["factors"]["list_length"]))
        data["timeline"][0]["show"]["ms"] = 10
        changed = tmp_path / "library" / f"{name}.yaml"
        changed.parent.mkdir()
        changed.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
        found = yaml_source.library_file
        monkeypatch.setattr(yaml_source, "library_file", lambda other: changed if other == name else found(other))
        assert load_paradigm(name).version == data["version"]

    return change


# -- the paradigm ----------------------------------------------------------------------------------


def test_a_changed_library_does_not_touch_a_session(tmp_path: Path, changed_library: Callable[[str], None]) -> None:
    agent = Saying(ninth)
    wanted = take(tmp_path / "undisturbed", load_paradigm("vsr"), Saying(ninth), 5, source="vsr")
    folder = interrupted(start(tmp_path / "data", load_paradigm("vsr"), agent, 5, source="vsr"), agent)
    changed_library("vsr")
    again = Saying(ninth)
    Runner(reopen(folder), again).run()
    pd.testing.assert_frame_equal(lasting(folder), lasting(wanted.folder))
    assert {context.instructions for context, _ in agent.seen} == {context.instructions for context, _ in again.seen}


OWN = "extends: vsr\nparadigm: mine\ntitle: Mine\ndesigns:\n  human: {repetitions: 1}\n"


def test_what_a_user_has_changed_refuses_and_what_the_library_has_changed_below_it_does_not(
    tmp_path: Path, changed_library: Callable[[str], None]
) -> None:
    (file := tmp_path / "mine.yaml").write_text(OWN, encoding="utf-8")
    agent = Saying(ninth)
    folder = interrupted(start(tmp_path / "data", load_paradigm(file), agent, 5, source=str(file)), agent)
    file.write_text(OWN.replace("Mine", "Ours"), encoding="utf-8")
    with pytest.raises(
        SpanLabError, match=r"the paradigm mine \(.*mine.yaml\) has changed since .* began .* Restore the old file"
    ):
        reopen(folder)
    file.write_text("# as it was\n" + OWN, encoding="utf-8")
    changed_library("vsr")
    assert load_paradigm(file).hash != read_session(folder)["paradigm_hash"]
    Runner(reopen(folder), Saying(ninth)).run()
    assert complete(folder)


def test_a_users_base_refuses_too(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(OWN, encoding="utf-8")
    (file := tmp_path / "mine.yaml").write_text("extends: base.yaml\nparadigm: ours\n", encoding="utf-8")
    agent = Saying(ninth)
    folder = interrupted(start(tmp_path / "data", load_paradigm(file), agent, 5, source=str(file)), agent)
    (tmp_path / "base.yaml").write_text(OWN.replace("Mine", "Ours"), encoding="utf-8")
    with pytest.raises(SpanLabError, match="has changed since"):
        reopen(folder)


# -- settings --------------------------------------------------------------------------------------


class Ruled(Saying):
    """An agent with a setting that nobody chooses."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(ninth, settings=settings)

    def may_change(self) -> frozenset[str]:
        return frozenset({"refresh"})


def test_other_settings_are_another_agent(tmp_path: Path) -> None:
    before = Saying(ninth, settings={"depth": 1})
    assert settings_hash(Ruled({"depth": 1, "patience": 4})) != settings_hash(before)
    folder = interrupted(start(tmp_path, load_paradigm("vsr"), before, 5), before)
    with pytest.raises(SpanLabError, match=r"patience was not set and is 4\): give the settings it began with"):
        Runner(reopen(folder), Ruled({"depth": 1, "patience": 4}))
    with pytest.raises(SpanLabError, match="depth was 1 and is 2"):
        Runner(reopen(folder), Ruled({"depth": 2}))


def test_what_nobody_chooses_may_change_and_is_told(tmp_path: Path) -> None:
    before = Ruled({"refresh": 60})
    folder = interrupted(start(tmp_path, load_paradigm("vsr"), before, 5), before)
    said: list[str] = []
    Runner(reopen(folder), Ruled({"refresh": 50}), say=said.append).run()
    assert "refresh was 60 and is 50" in "".join(said)
    assert [event["settings"] for event in read_events(folder) if event["event"] == "resumed"] == [
        {"refresh": [60, 50]}
    ]


def test_the_window_has_the_settings_of_then(monkeypatch: pytest.MonkeyPatch) -> None:
    from spanlab.agents.human import participant
    from spanlab.agents.human.participant import Participant
    from spanlab.agents.human.seating import window_again
    from spanlab.agents.human.simulated import SimulatedParticipant
    from spanlab.sessions.session import changed_settings

    for made in (
        Participant(WindowOptions(fullscreen=False, width_cm=31.0)),
        SimulatedParticipant("capacity:3", WindowOptions(fullscreen=True), answers="keys"),
    ):
        info = {
            "agent_kind": made.kind.name,
            "agent": made.name,
            "agent_settings": json.loads(json.dumps(made.settings())),
            "agent_settings_hash": settings_hash(made),
        }
        more: dict[str, Any] = (
            {"observer": "capacity:3", "name": made.name} if isinstance(made, SimulatedParticipant) else {}
        )
        with monkeypatch.context() as changed:
            # what were defaults are others now, and one constant
            usual = WindowOptions.__init__.__kwdefaults__
            assert usual is not None
            others = {"size_deg": 8.0, "guard_ms": 5.0, "size_px": (800, 600), "paced_hz": 75.0}
            changed.setattr(WindowOptions.__init__, "__kwdefaults__", {**usual, **others})
            assert WindowOptions().guard_ms == 5.0
            changed.setattr(participant, "GO_ON_AFTER", 0.5)
            window = window_again(info["agent_settings"])
            more |= {name: window.pop(name) for name in ("answers",) if name in window}
            again: Any = type(made)(options=WindowOptions(**window), **more)
            assert again.settings() == {**made.settings(), "go_on_not_before_ms": 500.0}
            assert changed_settings(again, info, "here") == {"go_on_not_before_ms": [200.0, 500.0]}


def test_another_screen_may_be_chosen_when_a_session_goes_on(tmp_path: Path) -> None:
    from spanlab.agents.human.participant import Participant
    from spanlab.agents.human.seating import window_again

    class OnScreen(AtTheWindow):
        """Somebody without a window, with the settings of a window."""

        def __init__(self, **window: Any) -> None:
            super().__init__(ninth)
            self.window = Participant(WindowOptions(**{"fullscreen": False, **window}))
            self.name = self.window.name

        def settings(self) -> dict[str, Any]:
            return self.window.settings()

        def may_change(self) -> frozenset[str]:
            return self.window.may_change()

    first = OnScreen(screen=1)
    folder = interrupted(
        start(tmp_path, load_paradigm("vsr"), first, 4, levels={"list_length": [2]}, practice=False, participant="p1"),
        first,
    )
    settings = read_session(folder)["agent_settings"]
    with pytest.raises(SpanLabError, match="distance_cm was"):
        Runner(reopen(folder), OnScreen(screen=0, distance_cm=99))
    said: list[str] = []
    Runner(reopen(folder), OnScreen(**window_again(settings, screen=0)), say=said.append).run()
    assert any("goes on with other settings than it began with: screen was 1 and is 0" in sentence for sentence in said)
    assert [event["settings"] for event in read_events(folder) if event["event"] == "resumed"] == [{"screen": [1, 0]}]
    assert complete(folder)


def test_a_screen_is_for_people_alone(run: Run, tmp_path: Path) -> None:
    before = Chance()
    status, _, err = run(
        "resume", interrupted(start(tmp_path, load_paradigm("vsr"), before, 3), before), "--screen", "1"
    )
    assert status == 1
    assert "takes" in err
    assert "without a window: leave out --screen" in err


# -- chat models -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


def sent(tap: Tap) -> list[Any]:
    return [request.body["messages"] for request in tap.requests]


CHAT = (
    "replay",
    "vsr",
    "--agent",
    "chat:scripted",
    "--set",
    "list_length=3",
    "--trials",
    "4",
    "--concurrency",
    "1",
    "--data",
)


@pytest.fixture(
    params=[
        (),
        ("wording=bare", "instructions_as=user"),
        ("delivery=acknowledged", "reasoning=after", "preset=asked-again"),
    ]
)
def halves(
    request: pytest.FixtureRequest, run: Run, tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, Callable[[], list[Any]]]:
    """A session that a server stopped within its third trial, by command; and what resuming it
    sends, given as a function."""
    told = settings.preset("published-base")
    monkeypatch.setattr(
        "spanlab.agents.chat.settings.preset",
        lambda name: {"reask_text": "Once more."} if name == "asked-again" else told,
    )
    forward, left = forwarding(server.root), [8]

    def moody(asked: Any) -> Any:
        left[0] -= 1
        return forward(asked) if left[0] >= 0 else (401, "application/json", b'{"error": {"message": "no such key"}}')

    with listening(moody) as tap:
        monkeypatch.setenv("OPENAI_BASE_URL", tap.base_url)
        chat = [word for setting in request.param for word in ("--chat", setting)]
        status, _, err = run(*CHAT, "data", *chat, "--chat", "label=scripted server, not a model")
        assert status == 1, err
        folder = tmp_path / "data" / "vsr-chat-scripted-s1"
        assert (
            sum("reply" in line for line in (folder / "transcripts.jsonl").read_text(encoding="utf-8").splitlines())
            == 8
        )

    def resumed() -> list[Any]:
        with listening(forwarding(server.root)) as again:
            monkeypatch.setenv("OPENAI_BASE_URL", again.base_url)
            output_of(*run("resume", folder))
            assert complete(folder)
            return sent(again)

    return folder, resumed


def reworded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that is said to a chat model is said in other words, presets and defaults are
    others, and there is a setting more."""
    monkeypatch.setattr(Choice, "question", lambda self: "Which?")
    monkeypatch.setattr(Choice, "legend", lambda self, reader, language="en": f"Well, {reader}.")
    monkeypatch.setattr(Cells, "question", lambda self: "Where?")
    for view in PREAMBLES:
        monkeypatch.setitem(PREAMBLES, view, "Look.")  # type: ignore[arg-type]

    def gone(name: str) -> dict[str, Any]:
        raise SpanLabError(f"there is no preset {name} any more")

    monkeypatch.setattr("spanlab.agents.chat.settings.preset", gone)
    monkeypatch.setattr(ChatSettings.model_fields["reask_text"], "default", "Again.")
    ChatSettings.model_rebuild(force=True)


@pytest.fixture
def rebuilt() -> Iterator[None]:
    """The settings are those of the program again, afterwards."""
    yield
    ChatSettings.model_rebuild(force=True)


@pytest.mark.sampled(1)
def test_a_chat_model_is_sent_the_words_of_then(
    rebuilt: None,
    halves: tuple[Path, Callable[[], list[Any]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    changed_library: Callable[[str], None],
) -> None:
    folder, resumed = halves
    shutil.copytree(folder, tmp_path / "copy")
    wanted = resumed()
    assert len(wanted) == 4
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "copy", folder)
    changed_library("vsr")
    with monkeypatch.context() as then:
        reworded(then)
        assert resumed() == wanted


# -- networks --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["half/vsr-network-laptop-s24", "half/vsr-capacity-3-s25"])
def test_a_network_goes_on_with_the_trials_of_then(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, changed_library: Callable[[str], None], name: str
) -> None:
    shutil.copytree(FOLDER, copy := tmp_path / "golden")
    monkeypatch.chdir(copy)
    changed_library("vsr")
    output_of(*run("resume", name))
    assert_same(read_table(table_of(copy / name)), stored("resumed", name))


# -- every kind of answer --------------------------------------------------------------------------


# -- signals, and another process ------------------------------------------------------------------


def test_who_waited_for_another_process_records_no_interruption(tmp_path: Path) -> None:
    session = start(tmp_path, load_paradigm("vsr"), Saying(ninth), 2)
    waiting = Runner(reopen(session.folder), Saying(ninth))
    Runner(session, Saying(ninth)).run()
    before = read_events(session.folder)
    waiting.run()
    assert read_events(session.folder) == before


def test_a_program_that_is_told_to_end_says_how_to_go_on(tmp_path: Path) -> None:
    """SIGTERM, in the middle of a session of an agent that asks nobody."""

    def told_to_end(percept: Percept, number: int) -> Response:
        if len(agent.seen) == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return ninth(percept, number)

    before = signal.signal(signal.SIGTERM, lambda number, frame: pytest.fail("it would have ended without a word"))
    agent = Saying(told_to_end)
    try:
        session = start(tmp_path, load_paradigm("vsr"), agent, 3)
        with pytest.raises(SpanLabError, match="interrupted; the finished trials are safe"):
            carry_out(session, agent, Watcher(lambda sentence: None))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert [event["event"] for event in read_events(session.folder)][-1] == "interrupted"
