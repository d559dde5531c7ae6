"""Sets of sessions from one file: one status, one budget, gone on with, whatever becomes of a model in the middle."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from chat_servers import Answer, Request, Tap, listening
from chat_stub import completion

from spanlab.sessions import find_sessions, read_responses, read_session

Run = Callable[..., Any]
FILE = """\
agents: [chat:a@here, chat:b@here, ideal]
paradigms:
  vsr: {set: {list_length: [2, 3]}, trials: 2}
  cd: {set: {set_size: 2, retention_steps: 6}, trials: 1}
settings:
  plain: {temperature: 0}
  tired: {preamble: You are tired.}
repeats: 2
"""


class Lab:
    """A server of two models, of which one may refuse or charge much."""

    def __init__(self) -> None:
        self.refuses: set[str] = set()
        self.tokens = 10

    def __call__(self, request: Request) -> Answer:
        model = request.body["model"]
        if model in self.refuses:
            return 403, "application/json", json.dumps({"error": {"message": "not for you"}}).encode()
        return 200, "application/json", completion("2", model, self.tokens)


@pytest.fixture
def lab() -> Lab:
    return Lab()


@pytest.fixture
def tap(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tap]:
    with listening(lab) as tap:
        (tmp_path / "providers.yaml").write_text(f"providers:\n  here: {{base_url: '{tap.base_url}'}}\n", "utf-8")
        monkeypatch.setenv("SPANLAB_PROVIDERS", str(tmp_path / "providers.yaml"))
        yield tap


def written(folder: Path, text: str = FILE, **more: str) -> Path:
    path = folder / "models.yaml"
    path.write_text(text + "".join(f"{name}: {value}\n" for name, value in more.items()), encoding="utf-8")
    return path


@pytest.mark.slow
def test_every_combination_is_a_session_and_the_same_command_goes_on(run: Run, tap: Tap, tmp_path: Path) -> None:
    path = written(tmp_path)
    status, out, err = run("replay", "--set-file", path, "--status", "--data", tmp_path / "data")
    assert (status, tap.requests) == (0, [])
    assert "18 waiting" in out
    status, out, err = run("replay", "--set-file", path, "--data", tmp_path / "data", "--report", tmp_path / "report")
    assert status == 0, err
    assert "18 of 18 sessions to begin: about" in err
    assert "18 done" in out
    folders = find_sessions([tmp_path / "data"])
    infos = [read_session(folder) for folder in folders]
    assert Counter((info["agent"], info["paradigm"]) for info in infos) == {
        **{(agent, paradigm): 4 for agent in ("chat:a@here", "chat:b@here") for paradigm in ("vsr", "cd")},
        **{("ideal", paradigm): 1 for paradigm in ("vsr", "cd")},
    }
    told = {info["agent_settings"]["label"] for info in infos if info["agent"] != "ideal"}
    assert told == {f"{name}, repeat {number}" for name in ("plain", "tired") for number in (1, 2)}
    assert {info["agent_settings"]["repeat"] for info in infos if info["agent"] != "ideal"} == {1, 2}
    assert len({tuple(read_responses(folder)["trial_id"]) for folder in folders if read_session(folder)["paradigm"] == "vsr"}) == 1, "the same trials for all"
    page = (tmp_path / "report" / "report.html").read_text("utf-8")
    assert "tired, repeat 2" in page
    before = len(tap.requests)
    status, out, err = run("replay", "--set-file", path, "--data", tmp_path / "data")
    assert status == 0, err
    assert len(tap.requests) == before
    assert len(find_sessions([tmp_path / "data"])) == 18
    path.write_text(FILE.replace("chat:b@here, ideal", "chat:b@here, ideal, chance"), "utf-8")
    status, out, err = run("replay", "--set-file", path, "--data", tmp_path / "data")
    assert status == 0, err
    assert "20 done" in out, "what is new in the file begins, and nothing else"
    assert len(tap.requests) == before


def test_a_model_that_refuses_does_not_stop_the_others(run: Run, lab: Lab, tap: Tap, tmp_path: Path) -> None:
    lab.refuses.add("a")
    path = written(tmp_path, "agents: [chat:a@here, chat:b@here]\nparadigms: vsr\n".replace("vsr", "{vsr: {trials: 1}}"))
    status, out, err = run("replay", "--set-file", path, "--data", tmp_path / "data")
    assert status != 0
    assert "1 of 2 sessions are not done" in err
    assert "does not allow this key to use the model 'a'" in err
    assert "1 done" in out
    lab.refuses.clear()
    status, out, err = run("replay", "--set-file", path, "--data", tmp_path / "data")
    assert status == 0, err
    assert "2 done" in out


def test_a_budget_holds_for_all_sessions_and_a_higher_one_goes_on(run: Run, lab: Lab, tap: Tap, tmp_path: Path) -> None:
    text = "agents: [chat:a@here, chat:b@here, ideal]\nparadigms: {vsr: {trials: 4, set: {list_length: 3}}}\ncare: {concurrency: 1}\n"
    path = written(tmp_path, text, budget="{max_tokens: 5200}")
    lab.tokens = 299
    status, out, err = run("replay", "--set-file", path, "--data", tmp_path / "data")
    assert status != 0
    taken = len(tap.requests) * 300
    assert 4200 <= taken <= 5200, "12 requests of the first model, and some of the second"
    assert "stopped" in out
    assert "2 done" in out, "whoever costs nothing goes on"
    status, out, err = run("replay", "--set-file", path, "--data", tmp_path / "data")
    assert status != 0
    assert len(tap.requests) * 300 == taken, "nothing more is sent"
    for folder in find_sessions([tmp_path / "data"]):  # as after a kill, which writes no account
        info = json.loads((folder / "session.json").read_text("utf-8"))
        info.pop("account", None)
        (folder / "session.json").write_text(json.dumps(info), "utf-8")
    status, out, err = run("replay", "--set-file", path, "--data", tmp_path / "data")
    assert len(tap.requests) * 300 == taken, "what was spent is known all the same"
    written(tmp_path, text, budget="{max_tokens: 20000}")
    status, out, err = run("replay", "--set-file", path, "--data", tmp_path / "data")
    assert status == 0, err
    assert len(tap.requests) == 24, "nothing is asked twice"
    assert "3 done; 7,200 tokens" in out


def test_one_of_everything_from_another_editor(run: Run, tap: Tap, tmp_path: Path) -> None:
    """With a byte order mark and line ends of Windows, names instead of lists."""
    path = tmp_path / "one.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + b"agents: chat:a@here\r\nparadigms: vsr\r\nrepeats: 1\r\n")
    status, out, err = run("replay", "--set-file", path, "--data", tmp_path / "data", "--status")
    assert status == 0, err
    assert "1 waiting" in out
    path.write_bytes(b"\xef\xbb\xbf" + b"agents: chat:a@here\r\nparadigms:\r\n  - vsr: {trials: 1}\r\n")
    status, out, err = run("replay", "--set-file", path, "--data", tmp_path / "data")
    assert status == 0, err
    (folder,) = find_sessions([tmp_path / "data"])
    assert read_session(folder)["agent_settings"]["label"] == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("agents: []\nparadigms: vsr\n", "agents"),
        ("agents: ideal\n", "paradigms"),
        ("agents: ideal\nparadigms: vsr\nmodels: 3\n", "models"),
        ("agents: [ideal, ideal]\nparadigms: vsr\n", "'ideal' is named twice"),
        ("agents: ideal\nparadigms: vsr\nrepeats: 2\n", "repeats are for chat models"),
        ("agents: chat:a@here\nparadigms: vsr\nprices: {chat:b@here: {input: 1, output: 1}}\n", "none of the agents above"),
        ("agents: chat:a@here\nparadigms: vsr\nsettings: {x: {repeat: 2}}\n", "repeat is counted by repeats of this file"),
        ("agents: chat:a@here\nparadigms: [vsr, vsr]\n", "each paradigm can be named once"),
        ("agents: chat:a@here\nparadigms: vsr\nbudget: {max_cost: 1}\n", "needs the price"),
        ("agents: chat:a@here\nparadigms: {vsr: {set: {list_length: 77}}}\n", "77"),
        ("agents: chat:a@here\nparadigms: vsr\nsettings: {x: {temprature: 1}}\n", "did you mean"),
        ("agents: chat:a@here\nparadigms: nothere\n", "nothere"),
    ],
)
def test_slips_show_before_anything_begins(run: Run, tap: Tap, tmp_path: Path, text: str, said: str) -> None:
    status, _, err = run("replay", "--set-file", written(tmp_path, text), "--data", tmp_path / "data")
    assert status != 0
    assert said in err
    assert "Traceback" not in err
    assert not tap.requests
    assert not (tmp_path / "data").exists()


def test_what_the_file_says_is_not_said_beside_it(run: Run, tap: Tap, tmp_path: Path) -> None:
    path = written(tmp_path)
    assert "leave out --agent and PARADIGM" in run("replay", "vsr", "--agent", "ideal", "--set-file", path)[2]
    assert "leave out --chat" in run("replay", "--set-file", path, "--chat", "temperature=0")[2]
    assert "--status is for set files" in run("replay", "vsr", "--agent", "ideal", "--status")[2]
    assert "nowhere.yaml" in run("replay", "--set-file", tmp_path / "nowhere.yaml")[2]
