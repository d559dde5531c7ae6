"""Sets of sessions from one file: one status, one budget, gone on with, whatever becomes of a model
in the middle."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from chat_servers import Answer, Request, Tap, listening
from chat_stub import completion
from session_tools import command

from spanlab.core.atomic_files import only_writer
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
        self.says = "2"

    def __call__(self, request: Request) -> Answer:
        model = request.body["model"]
        if model in self.refuses:
            return 403, "application/json", json.dumps({"error": {"message": "not for you"}}).encode()
        return 200, "application/json", completion(self.says, model, self.tokens)


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
    (path := folder / "models.yaml").write_text(
        text + "".join(f"{name}: {value}\n" for name, value in more.items()), encoding="utf-8"
    )
    return path


def test_the_status_tells_wordings_apart(run: Run, tmp_path: Path) -> None:
    (path := tmp_path / "words.yaml").write_text(
        "agents: [chat:a@ollama]\nparadigms: {vsr: {trials: 2}}\nwordings:\n"
        '  plain: {}\n  polite: {preamble: "Please."}\n',
        encoding="utf-8",
    )
    status, out, err = run("replay", "--set-file", path, "--status", "--data", tmp_path / "data")
    assert status == 0, err
    assert [line.split() for line in out.splitlines()[:3]] == [
        ["agent", "paradigm", "wording", "state"],
        ["chat:a@ollama", "vsr", "plain", "waiting"],
        ["chat:a@ollama", "vsr", "polite", "waiting"],
    ]


def test_a_model_that_refuses_does_not_stop_the_others(run: Run, lab: Lab, tap: Tap, tmp_path: Path) -> None:
    lab.refuses.add("a")
    path = written(tmp_path, "agents: [chat:a@here, chat:b@here]\nparadigms: {vsr: {trials: 1}}\n")
    status, out, err = run("replay", "--set-file", path, "--data", tmp_path / "data")
    assert status != 0
    assert "1 of 2 sessions are not done" in err
    assert "does not allow this key to use the model 'a'" in err
    assert "1 done" in out
    lab.refuses.clear()
    status, out, err = run("replay", "--set-file", path, "--data", tmp_path / "data")
    assert status == 0, err
    assert "2 done" in out


def test_what_was_spent_on_entries_that_are_removed_counts_for_the_budget(
    run: Run, lab: Lab, tap: Tap, tmp_path: Path
) -> None:
    text = "agents: [{}]\nparadigms: {{vsr: {{trials: 4, set: {{list_length: 3}}}}}}\ncare: {{concurrency: 1}}\n"
    lab.tokens = 299
    path = written(tmp_path, text.format("chat:a@here"), budget="{max_tokens: 5200}")
    assert run("replay", "--set-file", path, "--data", tmp_path / "data")[0] == 0
    written(tmp_path, text.format("chat:b@here"), budget="{max_tokens: 5200}")
    status, out, _ = run("replay", "--set-file", path, "--data", tmp_path / "data")
    assert status != 0
    assert "max_tokens 5200 of the set is reached: another request could go beyond it" in " ".join(out.split())
    assert 4200 <= len(tap.requests) * 300 <= 5200, "12 requests of the model that is removed, and some of the new one"
    assert "no longer in the file, but part of the budget: vsr-chat-a-here-s1; 3,600 tokens" in out
    written(tmp_path, text.format("chat:b@here"), budget="{max_tokens: 20000}")
    assert run("replay", "--set-file", path, "--data", tmp_path / "data")[0] == 0
    assert len(tap.requests) == 24


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("agents: []\nparadigms: {vsr: }\n", "agents"),
        ("agents: [ideal]\n", "paradigms"),
        ("agents: [ideal]\nparadigms: {vsr: }\nmodels: 3\n", "models"),
        ("agents: [ideal, ideal]\nparadigms: {vsr: }\n", "'ideal' is named twice"),
        ("agents: [ideal]\nparadigms: {vsr: }\nrepeats: 2\n", "repeats are for chat models"),
        (
            "agents: [chat:a@here]\nparadigms: {vsr: }\nprices: {chat:b@here: {input: 1, output: 1}}\n",
            "not one of the agents above",
        ),
        (
            "agents: [chat:a@here]\nparadigms: {vsr: }\nsettings: {x: {repeat: 2}}\n",
            "repeat is counted by repeats of this file",
        ),
        ("agents: [chat:a@here]\nparadigms: [vsr]\n", "models.yaml:2 paradigms: expected"),
        ("agents: [chat:a@here]\nparadigms: {vsr: }\nbudget: {max_cost: 1}\n", "needs the price"),
        ("agents: [chat:a@here]\nparadigms: {vsr: {set: {list_length: 77}}}\n", "77"),
        ("agents: [chat:a@here]\nparadigms: {vsr: }\nsettings: {x: {temprature: 1}}\n", "did you mean"),
        (
            "agents: [chat:a@here]\nparadigms: {nothere: }\n",
            "models.yaml:2 paradigms > nothere: there is no paradigm 'nothere'",
        ),
        (
            "agents: [chat:a@here]\nparadigms:\n  cd:\n  vsr: {trails: 3}\n",
            "models.yaml:4 paradigms > vsr > trails: unknown key 'trails'; did you mean 'trials'?",
        ),
        (
            "agents: [chat:a@here]\nparadigms:\n  vsr: {trials: many}\n",
            "models.yaml:3 paradigms > vsr > trials: expected a whole number; found 'many'",
        ),
        ("agents: [chat:a@here]\nparadigms:\n  vsr:\n  trials: 3\n", "models.yaml:4 paradigms > trials: expected"),
        ("agents: [chat:a@here]\nparadigms: []\n", "paradigms"),
        (
            (
                "agents: [chat:a@here]\nparadigms: {vsr: }\nsettings:\n  warm: {temperature: 1}\n  hot: {temperature:"
                " 1, label: x}\n"
            ),
            "models.yaml:5 settings > hot: these are the same settings as 'warm'",
        ),
        (
            "agents: [chat:a@here]\nparadigms: {vsr: }\nsettings:\n  warm: {temperature: lots}\n",
            "models.yaml:4 settings > warm: 'temperature'",
        ),
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
    assert "leave out PARADIGM and --agent" in run("replay", "vsr", "--agent", "ideal", "--set-file", path)[2]
    assert "leave out --chat" in run("replay", "--set-file", path, "--chat", "temperature=0")[2]
    assert "--status is for set files" in run("replay", "vsr", "--agent", "ideal", "--status")[2]
    assert "nowhere.yaml" in run("replay", "--set-file", tmp_path / "nowhere.yaml")[2]


OWN = "paradigm: mine\nextends: vsr\ntitle: Mine\n"


def test_files_of_ones_own_lie_beside_the_set_file_and_do_not_change_under_it(
    run: Run, lab: Lab, tap: Tap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run from another folder; a paradigm or a preset that has changed since the first session
    began does not mix with it."""
    (folder := tmp_path / "Auswertung für Käthe").mkdir()
    (folder / "mine.yaml").write_text(OWN, "utf-8")
    preset = "settings: {{preamble: '{}'}}\n"
    (folder / "müde.yaml").write_text(preset.format("Du bist müde."), "utf-8")
    (folder / "Anleitung.txt").write_text("Merke dir alles.\n", "utf-8")
    settings = "settings: {müde: {preset: müde.yaml, instructions: {mine: Anleitung.txt}}}\n"
    text = f"agents: [chat:a@here]\nparadigms: {{mine.yaml: {{trials: 1, set: {{list_length: 2}}}}}}\n{settings}"
    path = written(folder, text)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    status, _, err = run("replay", "--set-file", path, "--data", tmp_path / "data")
    assert status == 0, err
    assert tap.requests[0].body["messages"][0]["content"].startswith("Du bist müde.\n\nMerke dir alles.")
    before = len(tap.requests)

    (folder / "müde.yaml").write_text(preset.format("Du bist wach."), "utf-8")
    written(folder, text, repeats="2")
    status, _, err = run("replay", "--set-file", path, "--data", tmp_path / "data")
    assert status != 0
    assert "preamble changed since mine-chat-a-here-s1 began" in err
    (folder / "müde.yaml").write_text(preset.format("Du bist müde."), "utf-8")

    (folder / "mine.yaml").write_text(OWN.replace("Mine", "Another one"), "utf-8")
    status, _, err = run("replay", "--set-file", path, "--data", tmp_path / "data")
    assert status != 0
    assert "the paradigm mine.yaml has changed since mine-chat-a-here-s1 began" in err
    assert len(tap.requests) == before
    (folder / "mine.yaml").write_text(OWN, "utf-8")
    assert run("replay", "--set-file", path, "--data", tmp_path / "data")[0] == 0
    assert len(tap.requests) == 2 * before


@pytest.mark.slow
def test_names_of_ones_own_and_repeats_are_told_apart_in_figures(run: Run, tap: Tap, tmp_path: Path) -> None:
    text = (
        "agents: [chat:a@here]\nparadigms: {vsr: {trials: 1, set: {list_length: 2}}}\nrepeats: 2\nsettings: {x: {label:"
        " as at home}, y: {temperature: 0}}\n"
    )
    assert run("replay", "--set-file", written(tmp_path, text), "--data", tmp_path / "data")[0] == 0
    labels = {read_session(folder)["agent_settings"]["label"] for folder in find_sessions([tmp_path / "data"])}
    assert labels == {"as at home, repeat 1", "as at home, repeat 2", "y, repeat 1", "y, repeat 2"}


def test_the_model_that_reads_replies_counts_for_the_budget(run: Run, lab: Lab, tap: Tap, tmp_path: Path) -> None:
    """Its tokens are among those of the set, and what it takes in one session is not there for the
    next."""
    text = (
        "agents: [chat:a@here, chat:b@here]\nparadigms: {vsr: {trials: 2, set: {list_length: 2}}}\ncare: {concurrency:"
        " 1}\n"
    )
    text += "settings: {read: {judge: judge@here, reask: 0}}\n"
    lab.says = "who knows"
    lab.tokens = 299
    path = written(tmp_path, text)
    assert run("replay", "--set-file", path, "--data", tmp_path / "whole")[0] == 0
    assert [request.body["model"] for request in tap.requests].count("judge") == 8
    assert "2 done; 4,800 tokens" in run("replay", "--set-file", path, "--data", tmp_path / "whole", "--status")[1]
    tap.requests.clear()
    written(tmp_path, text, budget="{max_tokens: 2400}")
    assert run("replay", "--set-file", path, "--data", tmp_path / "some")[0] != 0
    assert len(tap.requests) == 8, "one session takes the whole budget"


def test_a_set_runs_once_at_a_time(run: Run, tap: Tap, tmp_path: Path) -> None:
    path = written(tmp_path, "agents: [ideal]\nparadigms: {vsr: {trials: 1}}\n")
    (tmp_path / "data" / ".sets" / "models").mkdir(parents=True)
    with only_writer(tmp_path / "data" / ".sets" / "models"):
        status, _, err = run("replay", "--set-file", path, "--data", tmp_path / "data")
    assert status != 0
    assert "models runs in" in err
    assert run("replay", "--set-file", path, "--data", tmp_path / "data")[0] == 0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="kills by signal")
def test_a_whole_evaluation_with_a_kill_a_model_that_refuses_and_a_budget(
    run: Run, lab: Lab, tap: Tap, tmp_path: Path
) -> None:
    """As in a lab: killed in the middle of a session, out of budget later, and at its end one
    report; nothing that was paid for is asked again."""
    text = (
        "agents: [chat:a@here, chat:b@here, chat:never@here, ideal]\nparadigms:\n  vsr: {trials: 4, set: {list_length:"
        " 3}}\n  cd: {trials: 4, set: {set_size: 2}}\nsettings:\n  schlicht: {temperature: 0}\n  geübt: {practice:"
        " none, preamble: Sie sind geübt.}\nrepeats: 2\ncare: {concurrency: 2}\n"
    )
    lab.refuses.add("never")
    lab.tokens = 99
    path, data = written(tmp_path, text), tmp_path / "data"
    program = subprocess.Popen(
        command("replay", "--set-file", path, "--data", data), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while len(tap.requests) < 30:
        assert program.poll() is None
        time.sleep(0.02)
    program.kill()
    program.wait()
    killed = sum(request.body["model"] != "never" for request in tap.requests)
    status, out, _ = run("replay", "--set-file", path, "--data", data, "--status")
    assert "1 begun" in out

    written(tmp_path, text, budget="{max_tokens: 9000}")
    status, out, _ = run("replay", "--set-file", path, "--data", data)
    assert status != 0
    assert "max_tokens 9000 of the set is reached" in out
    paid = sum(request.body["model"] != "never" for request in tap.requests)
    assert 85 <= paid <= 92, "9,000 tokens, at 100 for each of the requests"

    written(tmp_path, text)
    status, out, _ = run("replay", "--set-file", path, "--data", data)
    assert status != 0
    assert "does not allow this key to use the model 'never'" in " ".join(out.split())
    assert "8 stopped" in out
    # two models, two settings, twice; four lists of three, and four displays; the judgements of
    # changes are asked twice, since 2 is no answer
    asked = 2 * 2 * 2 * (4 * 3 + 4 * 2)
    sent = sum(request.body["model"] != "never" for request in tap.requests)
    assert asked <= sent <= asked + 2, "no more than what was under way at the kill is asked twice"
    assert killed < paid < sent
    assert len([read_session(folder) for folder in find_sessions([data])]) == 2 * (3 * 4 + 1)
    lists = {
        tuple(read_responses(folder)["trial_id"])
        for folder in find_sessions([data])
        if read_session(folder)["paradigm"] == "vsr"
    }
    assert len({frozenset(one) for one in lists if one}) == 1, "the same trials for all who answered"
    assert run("compare", data, "-o", tmp_path / "report")[0] == 0
    page = (tmp_path / "report" / "report.html").read_text("utf-8")
    assert all(f"{name}, repeat {number}" in page for name in ("schlicht", "geübt") for number in (1, 2))
