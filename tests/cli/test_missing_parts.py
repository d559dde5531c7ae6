"""What cannot start leaves nothing behind: packages that are not installed, displays that do not
answer, ports that do not open."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import Run, complaint
from session_tools import ended_well

from spanlab.agents.oracles import IdealAgent
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import load_paradigm, plan_session
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.sessions import Request, Session, begin
from spanlab.sessions.run import Watcher, carry_out, has_finished, remove_unused

#: takes lines of [missing packages, environment, arguments] and gives for each: exit status,
#: complaint, what lies in the folder
_COMMANDS = """
import contextlib, io, json, os, sys

class Missing:
    names = frozenset()
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)

missing = Missing()
sys.meta_path.insert(0, missing)
from spanlab.cli import main
for line in sys.stdin:
    names, environment, arguments = json.loads(line)
    missing.names = frozenset(names)
    for name in [name for name in sys.modules if name.partition(".")[0] in missing.names]:
        del sys.modules[name]
    os.environ.update(environment)
    sys.argv, out, err = ["spanlab", *arguments], io.StringIO(), io.StringIO()
    status = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as end:
        status = end.code
    except BaseException as error:
        err.write(f"Traceback: {error!r}")
    for name in environment:
        os.environ.pop(name)
    print(json.dumps([status, err.getvalue(), sorted(os.listdir("."))]), flush=True)
"""

NO_DISPLAY: dict[str, str] = {}
DEAD = {"DISPLAY": ":97"}
KEY = {"OPENAI_API_KEY": "x"}
RUN = ["run", "vsr", "--participant", "p", "--trials", "2"]
SIMULATED = ["run", "vsr", "--simulate", "ideal", "--trials", "2"]

CASES: list[tuple[list[str], dict[str, str], list[str], str]] = [
    (
        ["psychopy"],
        NO_DISPLAY,
        RUN,
        "a window for participants needs PsychoPy, which is not installed; install it with: pip install 'spanlab[lab]'",
    ),
    (["psychopy"], DEAD, RUN, "needs PsychoPy, which is not installed"),
    (["psychopy"], DEAD, SIMULATED, "needs PsychoPy, which is not installed"),
    (["Xlib"], NO_DISPLAY, SIMULATED, "the simulated participant needs python-xlib, which is not installed"),
    (["psychopy"], NO_DISPLAY, ["run", "study.yaml", "--participant", "p"], "needs PsychoPy, which is not installed"),
    (["psychopy"], NO_DISPLAY, ["display"], "a window for participants needs PsychoPy, which is not installed"),
    (
        ["serial"],
        NO_DISPLAY,
        [*RUN, "--triggers", "serial:COM3"],
        "'serial:COM3' needs pyserial, which is not installed",
    ),
    (["serial"], NO_DISPLAY, [*RUN, "--buttons", "serial:COM3", "--key", "1=button_1"], "'serial:COM3' needs pyserial"),
    (["pylsl"], NO_DISPLAY, [*RUN, "--triggers", "lsl"], "'lsl' needs pylsl, which is not installed"),
    (["psychopy"], NO_DISPLAY, ["demo", "--me"], "a window for participants needs PsychoPy, which is not installed"),
    ([], NO_DISPLAY, ["demo", "--me"], "there is no display"),
    *(
        (
            ["torch"],
            NO_DISPLAY,
            ["reproduce", paper, "-o", "page", "--trials", "2"],
            "networks need PyTorch, which cannot be imported here",
        )
        for paper in ("worm", "nback")
    ),
    (
        ["openai"],
        NO_DISPLAY,
        ["replay", "vsr", "--agent", "chat:x"],
        "a chat model needs the openai package, which is not installed",
    ),
    (
        ["openai"],
        KEY,
        ["replay", "vsr", "--agent", "chat:x"],
        "a chat model needs the openai package, which is not installed",
    ),
    (
        [],
        NO_DISPLAY,
        ["replay", "vsr", "--agent", "chance", "--agent", "chat:x"],
        "no key for https://api.openai.com/v1",
    ),
    (
        ["torch"],
        NO_DISPLAY,
        ["replay", "vsr", "--agent", "network:laptop"],
        "install it with: pip install 'spanlab[networks]'",
    ),
    (
        [],
        NO_DISPLAY,
        ["replay", "vsr", "--agent", "chance", "--agent", "network:nosuch"],
        "there is no network 'nosuch'",
    ),
]
if sys.platform.startswith("linux"):
    CASES += [
        ([], NO_DISPLAY, RUN, "there is no display (DISPLAY is not set)"),
        ([], DEAD, SIMULATED, "no window can be opened on the display ':97'"),
    ]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[int, str, list[str]]]:
    """What came of each case, all in one process of their own."""
    folder = tmp_path_factory.mktemp("nothing")
    (folder / "study.yaml").write_text("study: s\ntitle: S\nparadigms: [vsr]\n", encoding="utf-8")
    asked = "".join(json.dumps([names, environment, arguments]) + "\n" for names, environment, arguments, _ in CASES)
    clean = {
        name: value
        for name, value in os.environ.items()
        if name not in ("DISPLAY", "WAYLAND_DISPLAY", "OPENAI_API_KEY", "OPENAI_BASE_URL")
    }
    done = ended_well(
        subprocess.run(
            [sys.executable, "-c", _COMMANDS], input=asked, capture_output=True, text=True, cwd=folder, env=clean
        )
    )
    return [json.loads(line) for line in done.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize(
    "number", range(len(CASES)), ids=lambda number: " ".join([*CASES[number][0], *CASES[number][1], *CASES[number][2]])
)
def test_what_is_missing_is_named_and_nothing_is_left_behind(
    number: int, answers: list[tuple[int, str, list[str]]]
) -> None:
    status, said, left = answers[number]
    assert status == 1, said
    assert CASES[number][3] in said
    assert "Traceback" not in said
    assert "safe" not in said
    assert left == ["study.yaml"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Xvfb")
@pytest.mark.usefixtures("screen")
def test_a_trigger_port_that_does_not_open_leaves_nothing_behind(run: Run, tmp_path: Path) -> None:
    said = complaint(*run(*RUN, "--triggers", f"serial:{tmp_path / 'none'}"))
    assert "cannot be opened" in said
    assert "safe" not in said
    assert list(tmp_path.iterdir()) == []


def begun(folder: Path, agent: IdealAgent) -> Session:
    paradigm = load_paradigm("sc")
    return begin(folder, paradigm, agent, plan_session(paradigm, 1, SessionDesign(), trials=2), Request())


class Fails(IdealAgent):
    """Cannot take the trial of this number."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._left = number

    def start(self, context):  # type: ignore[no-untyped-def]
        self._left -= 1
        if self._left < 0:
            raise SpanLabError("the window cannot be opened")
        return super().start(context)


def test_a_session_that_could_not_start_is_removed_and_one_with_trials_is_kept(tmp_path: Path) -> None:
    agent = Fails(0)
    session = begun(tmp_path, agent)
    with pytest.raises(SpanLabError) as caught:
        carry_out(session, agent, Watcher())
    assert str(caught.value) == "the window cannot be opened\nNo session was begun, and nothing was saved."
    assert list(tmp_path.iterdir()) == []
    agent = Fails(1)
    session = begun(tmp_path, agent)
    with pytest.raises(SpanLabError) as caught:
        carry_out(session, agent, Watcher())
    assert (
        str(caught.value)
        == f"the window cannot be opened\nThe finished trials are safe. Continue with: spanlab resume {session.folder}"
    )
    assert has_finished(session.folder)


def test_a_session_that_was_there_before_is_never_removed(tmp_path: Path) -> None:
    agent = Fails(0)
    session = begun(tmp_path, agent)
    with pytest.raises(SpanLabError) as caught:
        carry_out(session, agent, Watcher(), fresh=False)
    assert (
        str(caught.value)
        == f"the window cannot be opened\nNo trial is finished yet. Continue with: spanlab resume {session.folder}"
    )
    (session.folder / "notes.txt").write_text("of somebody", encoding="utf-8")
    assert not remove_unused(session.folder)
    (session.folder / "notes.txt").unlink()
    events = (session.folder / "events.jsonl").read_text(encoding="utf-8")
    (session.folder / "events.jsonl").write_text(
        events + '{"event":"note","what":"somebody wrote this"}\n', encoding="utf-8"
    )
    assert not remove_unused(session.folder)
    assert not remove_unused(tmp_path / "none")
