"""What a request may hold beside what SpanLab knows of: from the command line and from files,
recorded, and without a secret in anything that is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chat_servers import Answer, Request, listening
from chat_stub import completion

from spanlab.agents.chat import ChatSettings
from spanlab.core.errors import SpanLabError
from spanlab.sessions import find_sessions, read_session

Run = Callable[..., Any]
SECRET = "s3cret-value-of-this-laboratory-0042"


def three(request: Request) -> Answer:
    return 200, "application/json", completion("3", "m", 10)


def test_what_is_given_on_the_command_line_and_in_files_goes_out_and_is_recorded(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LAB_KEY", SECRET)
    (tmp_path / "told.txt").write_text("Remember all of it.\n", encoding="utf-8")
    (tmp_path / "mine.yaml").write_text(
        "about: ours\nsettings:\n  preamble: You are tired.\n  extra_body: {top_k: 5}\n  extra_headers: {X-Lab-Key:"
        " $LAB_KEY, X-Project: memory}\ninstructions: {vsr: told.txt}\n",
        encoding="utf-8",
    )
    with listening(three) as tap:
        monkeypatch.setenv("OPENAI_BASE_URL", tap.base_url)
        options = [
            f"preset={tmp_path / 'mine.yaml'}",
            'extra_body={mirostat: 2, nested: {deep: [1]}, stop: ["\\n", END]}',
        ]
        chat = [word for option in options for word in ("--chat", option)]
        status, out, err = run(
            "replay", "vsr", "--agent", "chat:m", "--trials", "1", "--data", tmp_path / "data", *chat
        )
    assert status == 0, err
    body, headers = tap.requests[0].body, tap.requests[0].headers
    assert {name: body[name] for name in ("stop", "mirostat", "nested")} == {
        "stop": ["\n", "END"],
        "mirostat": 2,
        "nested": {"deep": [1]},
    }
    assert body["messages"][0]["content"].startswith("You are tired.\n\nRemember all of it.")
    assert (headers["x-lab-key"], headers["x-project"]) == (SECRET, "memory")
    (folder,) = find_sessions([tmp_path / "data"])
    settings = read_session(folder)["agent_settings"]
    assert settings["extra_headers"] == {"X-Lab-Key": "$LAB_KEY", "X-Project": "memory"}
    assert settings["extra_body"] == {"mirostat": 2, "nested": {"deep": [1]}, "stop": ["\n", "END"]}
    assert settings["instructions"] == {"vsr": "Remember all of it."}
    assert SECRET not in out + err + "".join(
        path.read_text("utf-8", "replace") for path in folder.rglob("*") if path.is_file()
    )


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"extra_headers": {"Authorization": "Bearer abcdef"}},
            "looks like a secret: put it into an environment variable",
        ),
        ({"extra_headers": {"X-Lab-Key": "abcdef"}}, "looks like a secret"),
        ({"extra_headers": {"X-Note": "sk-abcdef0123"}}, "looks like a secret"),
        ({"extra_headers": {"X-Note": "$A sk-abcdef0123"}}, "beside a variable"),
        ({"extra_headers": {"Content-Type": "text/plain"}}, "belongs to the transport"),
        ({"extra_headers": {"X-A": "one\ntwo"}}, "a line break"),
        ({"extra_body": {"messages": []}}, "SpanLab sends itself"),
        ({"extra_body": {"temperature": 1}}, "a setting of its own: give temperature=... instead"),
        ({"extra_body": {"api_key": "abcdef"}}, "looks like a key"),
        ({"extra_body": {"deep": [{"password": "abcdef"}]}}, "looks like a key"),
        ({"extra_body": "{abcdef"}, "extra_body cannot be read"),
        ({"extra_headers": {"X-A": {"abcdef": 1}}}, "extra_headers.X-A"),
        ({"instructions": "told.txt"}, "told.txt does not say which paradigm it is for"),
        ({"preset": "nowhere/abcde.yaml"}, "nowhere/abcde.yaml"),
        ({"preset": "abcde"}, "a file of your own ends in .yaml"),
    ],
)
def test_what_cannot_go_out_is_told_without_its_value(values: dict[str, Any], said: str) -> None:
    with pytest.raises(SpanLabError, match=said.replace(".", r"\.")) as caught:
        ChatSettings.read(values)
    assert "abcdef" not in str(caught.value)


def test_a_variable_that_is_not_set_is_told_before_anything_begins(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.delenv("LAB_KEY", raising=False)
    _, out, err = run(
        "replay",
        "vsr",
        "--agent",
        "chat:m",
        "--trials",
        "1",
        "--data",
        tmp_path / "data",
        "--chat",
        "extra_headers={X-Lab-Key: $LAB_KEY}",
    )
    assert "set the environment variable LAB_KEY" in out + err
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("settings: {preset: default}", "cannot begin with another preset"),
        ("temperature: 0", "unknown key 'temperature'"),
        ("- 1", "expected keys with values"),
        ("settings: {temperatur: 0}", "there is no setting 'temperatur', did you mean 'temperature'"),
        ("instructions: {vsr: lost.txt}", "lost.txt cannot be read"),
        ("settings: [", "mine.yaml"),
        ("settings: {instructions: {vsr: a}}\ninstructions: {vsr: b}", "has instructions twice"),
    ],
)
def test_a_faulty_preset_is_told_in_a_sentence(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(SpanLabError) as caught:
        ChatSettings.read({"preset": str(tmp_path / "mine.yaml")})
    assert said.split(",")[0] in str(caught.value)


def test_what_other_editors_write_is_read_and_files_that_a_preset_names_lie_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From Windows: a byte order mark, its line ends, a name in capitals, umlauts; and the program
    runs in another folder."""
    (folder := tmp_path / "Müde Studentin").mkdir()
    (folder / "PERSONA.YAML").write_bytes(
        b"\xef\xbb\xbf"
        + "about: müde\r\nsettings:\r\n  preamble: |\r\n    Du bist müde.\r\n    Antworte kurz.\r\n  likelihoods:"
        " echo\r\n  instructions:\r\n    vsr: Anleitung.TXT\r\n    cd: Vergleiche.\r\n".encode()
    )
    (folder / "Anleitung.TXT").write_bytes(b"\xef\xbb\xbf" + "Merke dir alles.\r\nAchte auf die Größe.\r\n".encode())
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    settings = ChatSettings.read({"preset": str(folder / "PERSONA.YAML")})
    assert settings.preamble == "Du bist müde.\nAntworte kurz.\n"
    assert settings.instructions == {"vsr": "Merke dir alles.\nAchte auf die Größe.", "cd": "Vergleiche."}
    beside = ChatSettings.read({"instructions": {"vsr": str(folder / "Anleitung.TXT")}})
    assert beside.instructions == {"vsr": "Merke dir alles.\nAchte auf die Größe."}, (
        "the text of a file, and never its name"
    )
    again = ChatSettings.read(
        {
            "preset": str(folder / "PERSONA.YAML"),
            "instructions": None,
            "extra_body": None,
            "extra_headers": None,
        }
    )
    assert not again.instructions
