"""Whatever is typed after ``spanlab``: one clear sentence on stderr and a non-zero exit, or it
works; never a traceback."""

# ruff: noqa: E501

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import Run, complaint
from effort import at_most
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from paradigm_texts import PROBE, text

FUZZ = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


MISTAKES: list[tuple[str, str]] = [
    # what is typed; what is said
    ("shw vsr", "No such command 'shw'. Did you mean 'show'? (see spanlab --help)"),
    ("--nonsense", "No such option: --nonsense"),
    ("list more", "there is no paradigm 'more'; see spanlab list"),
    ("show", "Missing argument 'PARADIGM'. (see spanlab show --help)"),
    ("show vsr", "Missing option '-o'"),
    ("show vrs -o x.png", "there is no paradigm 'vrs'; did you mean 'vsr'?"),
    ("show nowhere.yaml -o x.png", "nowhere.yaml: there is no such paradigm file"),
    ("show folder/ -o x.png", "folder/ is a folder; a paradigm is one file, ending in .yaml"),
    ("show vsr -o folder", "cannot write folder: Is a directory"),
    ("show vsr -o nowhere/x.png", "cannot write nowhere/x.png: No such file or directory"),
    ("show vsr -o file/x.png", "cannot write file/x.png: Not a directory"),
    ("show vsr -o x.png --set list_length", "--set takes NAME=LEVEL, such as list_length=5; found 'list_length'"),
    ("show vsr -o x.png --set list_length=", "--set takes NAME=LEVEL, such as list_length=5; found 'list_length='"),
    ("show vsr -o x.png --set =5", "--set takes NAME=LEVEL, such as list_length=5; found '=5'"),
    ("show vsr -o x.png --set list_length=77", "vsr: list_length cannot be 77; its levels are 2, 3, 4, 5, 6, 7, 8, 9"),
    ("show vsr -o x.png --set list_length=three", "vsr: list_length cannot be 'three'"),
    ("show vsr -o x.png --set list_lenght=3", "vsr has no factor 'list_lenght'; did you mean 'list_length'?"),
    ("show vsr -o x.png --set list_length=3,4", "one trial has one level of 'list_length'; found 2"),
    ("show vsr -o x.png --set list_length=3 --set list_length=4", "--set names 'list_length' twice"),
    ("show vsr -o x.png --seed x", "Invalid value for '--seed'"),
    ("show vsr -o x.png --seed -1", "Invalid value for '--seed'"),
    ("show vsr -o x.png --seed 99999999999999999999999", "a seed is a whole number from 0 to 9223372036854775807"),
    ("show vsr -o x.png --generator public", "the generator is corrected or published; found 'public'"),
    ("show broken.yaml -o x.png", "broken.yaml:6 timeline step 1 > ask > anwser: unknown key or response kind 'anwser'; did you mean 'answer'?"),
    ("check", "which files? Name files of paradigms or studies"),
    ("check folder", "folder is a folder"),
    ("check empty", "empty the file is empty"),
    ("check nowhere.yaml", "nowhere.yaml: there is no such paradigm file"),
    ("check good.yaml broken.yaml", "broken.yaml:7 colour: unknown key 'colour'"),
    ("check impossible.yaml", "impossible.yaml:8 draw > a > permutation: cannot take 9 different ones of 3 (with n = 9, seed"),
    ("check /dev/zero", "cannot read /dev/zero: it is not an ordinary file"),
    ("list --parts matrx", "there is no part called 'matrx'; did you mean 'matrix'?"),
    ("run vsr", "who takes part? Give --participant ID"),
    ("run vrs --participant a", "there is no paradigm 'vrs'; did you mean 'vsr'?"),
    ("run vsr --participant a --design humans", "vsr has no design 'humans'; did you mean 'human'?"),
    ("run vsr --participant a --design published", "the design 'published' of vsr is a data set for networks"),
    ("run vsr --participant a --screen-width inf", "Invalid value for '--screen-width'"),
    ("replay vsr", "who takes the trials? Give --agent SPEC"),
    ("replay --agent ideal", "which paradigm? Name one (see spanlab list), or give --like SESSION"),
    ("replay vsr --agent idael", "unknown agent 'idael'; did you mean 'ideal'?"),
    ("replay vsr --agent ''", "who takes the trials? Give --agent SPEC"),
    ("replay vsr --agent ideal:5", "the agent 'ideal' takes nothing after a colon; found 'ideal:5'"),
    ("replay vsr --agent capacity:many", "capacity:PLACES takes a number of places, such as capacity:4; found 'many'"),
    ("replay vsr --agent capacity:0", "the capacity observer needs at least 1 place"),
    ("replay vsr --agent chat:", "which chat model? Name it after the colon"),
    ("replay vsr --agent chat:some-model", "no key for https://api.openai.com/v1: set the environment variable OPENAI_API_KEY"),
    ("replay vsr --agent chance --agent chat:some-model", "no key for"),
    ("replay vsr --agent ideal --chat temperature=0", "--chat is for chat agents, and there is none"),
    ("replay vsr --agent chat:x --chat temprature=0", "there is no setting 'temprature'"),
    ("replay vsr --agent chat:x --chat temperature", "--chat takes NAME=VALUE, each name once; found 'temperature'"),
    ("replay vsr --agent network:nowhere", "there is no network 'nowhere'"),
    ("replay vsr --agent network:file.pt", "file.pt"),
    ("replay vsr --agent network:folder", "there is no network 'folder'"),
    ("replay vsr --agent recorded:", "which session? Name its folder after the colon"),
    ("replay vsr --agent recorded:folder", "folder is not a session: it has no session.json"),
    ("replay vsr --agent ideal --trials 0", "Invalid value for '--trials'"),
    ("replay vsr --agent ideal --trials many", "Invalid value for '--trials'"),
    ("replay vsr --agent ideal --seed 99999999", "the seed must be between 0 and 1048575; found 99999999"),
    ("replay vsr --agent ideal --design nowhere", "vsr has no design 'nowhere'; there are human, span, published"),
    ("replay vsr --agent ideal --set list_length=5,5", "--set gives a level of 'list_length' twice; found 'list_length=5,5'"),
    ("replay vsr --agent ideal --set list_length=5,", "vsr: list_length cannot be nothing"),
    ("replay vsr --agent ideal --data file", "cannot write file: File exists; choose another folder with --data"),
    ("replay vsr --agent ideal --data file/below", "cannot write file/below: Not a directory; choose another folder with --data"),
    ("replay vsr --agent ideal --data /proc/nowhere", "cannot write /proc/nowhere: No such file or directory; choose another folder with --data"),
    ("replay --like nowhere --agent ideal", "nowhere is not a session: it has no session.json"),
    ("replay --like file --agent ideal", "file is not a session: it has no session.json"),
    ("replay --like folder --agent ideal --trials 3", "--like takes exactly the trials of that session"),
    ("replay --like nowhere --agent ideal --seed 3", "--like takes exactly the trials of that session"),
    ("replay --set-file good.yaml --max-cost 0", "leave out --max-cost"),
    (f"replay vsr --agent ideal --data {'x' * 300}", "File name too long"),
    (f"stats {'x' * 300}", "File name too long"),
    ("resume", "Missing argument 'FOLDER'"),
    ("resume nowhere", "nowhere is not a session: it has no session.json"),
    ("resume file", "file is not a session: it has no session.json"),
    ("resume folder", "folder is not a session: it has no session.json"),
    ("train nowhere.yaml", "there is no training config at nowhere.yaml"),
    ("train folder", "there is no training config at folder"),
    ("train empty", "empty the file is empty"),
    ("train good.yaml", "good.yaml:"),
    ("compare", "Missing argument 'DATA...'"),
    ("compare folder", "Missing option '-o'"),
    ("compare nowhere -o report", "nowhere: there is no session here"),
    ("compare folder -o report", "folder: there is no session here"),
    ("compare file -o report", "file: there is no session here"),
    ("demo -o file/below", "cannot write to file/below: Not a directory; choose another folder with -o"),
    ("demo -o /proc/nowhere", "cannot write to /proc/nowhere: No such file or directory; choose another folder with -o"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("typed", "said"), MISTAKES, ids=[typed for typed, _ in MISTAKES])
def test_a_mistake_is_one_clear_sentence(run: Run, things: None, typed: str, said: str) -> None:
    assert said in complaint(*run(*[argument.strip("'") for argument in typed.split()]))


def test_nothing_typed_shows_the_help(run: Run) -> None:
    status, out, err = run()
    assert status != 0
    assert "replay" in out + err
    assert "Traceback" not in out + err


def test_a_trial_that_is_too_long_for_a_picture_is_told(run: Run, tmp_path: Path) -> None:
    (tmp_path / "long.yaml").write_text(
        text(f"- {{repeat: 1000, do: [{{phase: p, show: {{text: {{text: =str(number)}}}}}}]}}\n{PROBE}"),
        encoding="utf-8",
    )
    assert "a picture has room for 1000 displays; this trial of small has 1001" in complaint(
        *run("show", "long.yaml", "-o", "x.png")
    )


@pytest.mark.slow
def test_paradigms_that_ship_are_checked_by_name(run: Run) -> None:
    assert run("check", "vsr", "sfr")[1].startswith(
        "vsr is fine (8 conditions, 48 trials compiled, all drawn)\nsfr is fine ("
    )


def test_a_screen_that_is_missing_is_told(run: Run) -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("only Linux has screens that can be missing")
    for arguments in (("run", "vsr", "--participant", "a"), ("run", "vsr", "--simulate", "capacity")):
        assert "there is no display (DISPLAY is not set)" in complaint(*run(*arguments))


@pytest.mark.slow
def test_a_server_that_refuses_is_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    err = complaint(*run("replay", "vsr", "--agent", "chat:some-model", "--trials", "1"))
    assert "no connection to http://127.0.0.1:9/v1" in err
    assert "sk-very-secret" not in err


REAL: list[tuple[list[str], int, str]] = [
    (
        ["show", "vrs", "-o", "x.png"],
        1,
        "spanlab: there is no paradigm 'vrs'; did you mean 'vsr'? (a file of your own is given by its path, ending in .yaml)\n",
    ),
    (["check", "broken.yaml", "nowhere.yaml"], 1, "broken.yaml:6 timeline step 1 > ask: 'answer' is missing"),
    (
        ["replay", "vsr", "--agent", "ideal", "--data", "file"],
        1,
        "spanlab: cannot write file: File exists; choose another folder with --data\n",
    ),
    (["resume", "folder"], 1, "spanlab: folder is not a session: it has no session.json\n"),
    (
        ["list", "--about", "spatail", "vsr"],
        1,
        "spanlab: no paradigm here is about 'spatail'. There are: list length,",
    ),
    (["list", "--timetable", "x"], 1, "spanlab: --timetable lists all that there is: leave out the names\n"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("arguments", "status", "said"), REAL, ids=[" ".join(arguments) for arguments, _, _ in REAL])
def test_the_real_command_says_the_same(
    tmp_path: Path, things: None, arguments: list[str], status: int, said: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "spanlab.cli", *arguments], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == status
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.skipif(sys.platform == "win32", reason="arguments are text there")
def test_names_that_are_no_text_are_refused(tmp_path: Path) -> None:
    for arguments in (
        [b"show", b"vsr", b"-o", b"\xff.png"],
        [b"replay", b"\xff.yaml", b"--agent", b"ideal"],
        [b"run", b"vsr", b"--participant", b"\xff"],
    ):
        done = subprocess.run(
            [sys.executable.encode(), b"-m", b"spanlab.cli", *arguments], capture_output=True, cwd=tmp_path
        )
        assert done.returncode == 1
        assert b"is not UTF-8 text" in done.stderr
        assert b"Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize(
    "encoding",
    ["ascii", pytest.param("latin-1", marks=pytest.mark.slow), pytest.param("utf-8", marks=pytest.mark.slow)],
)
def test_terminals_of_other_encodings_do_not_matter(tmp_path: Path, encoding: str) -> None:
    (file := tmp_path / "größe→.yaml").write_text(text(more="größe→: 1"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "spanlab.cli", "check", file],
        capture_output=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"},
    )
    assert done.returncode == 1
    assert b"unknown key" in done.stderr
    assert b"Traceback" not in done.stderr
    (good := tmp_path / "Übung→.yaml").write_text(text(), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "spanlab.cli", "check", good],
        capture_output=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"small is fine" in done.stdout


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="nothing is unwritable for the administrator")
def test_a_folder_that_may_not_be_written_is_told(run: Run, tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    assert "cannot write locked" in complaint(*run("replay", "vsr", "--agent", "ideal", "--data", "locked/data"))
    assert "cannot write locked/x.png: Permission denied" in complaint(*run("show", "vsr", "-o", "locked/x.png"))


# random command lines -----------------------------------------------------------------------------


#: values for options and arguments; ``good.yaml`` and one trial of chance are what may succeed
VALUES = st.one_of(
    st.sampled_from(
        [
            "vsr",
            "vrs",
            "good.yaml",
            "broken.yaml",
            "impossible.yaml",
            "file",
            "empty",
            "folder",
            "nowhere",
            "nowhere/x",
            "file/x",
            "/proc/x",
            ".",
            "folder/..",
            "",
        ]
    ),
    st.sampled_from(
        [
            "0",
            "1",
            "-1",
            "3",
            "99999999999999999999",
            "1e3",
            "nan",
            "inf",
            "0x1f",
            "true",
            "n=1",
            "n=1,2",
            "n=",
            "=1",
            "n=3",
            "m=1",
            "list_length=3",
            "a=b=c",
            ",",
        ]
    ),
    st.sampled_from(
        [
            "ideal",
            "chance",
            "capacity:2",
            "capacity:",
            "idael",
            "chat:",
            "chat:x",
            "network:nowhere",
            "network:file",
            "recorded:folder",
            ":",
            "simulated:x",
        ]
    ),
    st.sampled_from(
        [
            "human",
            "published",
            "corrected",
            "en",
            "xx",
            "x.png",
            "--",
            "-",
            "-o",
            "--set",
            "--help",
            "--version",
            "matrix",
            "matrx",
            "\u00e9\u2192",
            "a b",
            "*",
        ]
    ),
    # taken for a path, a value stays in the test's own folder: commands read whatever sessions they are pointed to
    st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=6).filter(
        lambda text: not text.startswith(("/", "~", "\\")) and ".." not in re.split(r"[/\\=]", text)
    ),
)
OPTIONS = {
    "show": ["-o", "--set", "--seed", "--generator", "--nonsense"],
    "check": ["--nonsense"],
    "list": ["--about", "--parts", "--timetable", "--formats", "--nonsense"],
    "replay": ["--agent", "--trials", "--seed", "--set", "--like", "--data", "--design", "--generator", "--pilot", "--chat", "--states", "--workers", "--scheduler",
               "--nonsense"],
    "run": ["--participant", "--set", "--seed", "--trials", "--design", "--data", "--generator", "--language", "--no-practice", "--simulate", "--screen-width"],
    "resume": ["--workers", "--scheduler", "--nonsense"],
    "train": ["-o", "--resume", "--steps", "--seed", "--recipe", "--toy", "--list", "--nonsense"],
    "sweep": ["-o", "--status", "--workers", "--scheduler", "--nonsense"],
    "compare": ["-o", "--practice", "--pilot", "--nonsense"],
    "stats": ["-o", "--by", "--paradigm", "--exclude", "--pilot", "--nonsense"],
    "demo": ["--nonsense"],
    "nonsense": ["--nonsense"],
}  # fmt: skip


@st.composite
def command_lines(draw: st.DrawFn) -> list[str]:
    command = draw(st.sampled_from([*OPTIONS, "replay", "replay", "show"]))
    line = [command]
    for _ in range(draw(st.integers(0, 5))):
        if draw(st.booleans()):
            line.append(draw(st.sampled_from(OPTIONS[command])))
        line.append(draw(VALUES))
    if command == "demo":
        line += ["-o", "file/below"]  # a demonstration takes minutes; this one ends before it begins
    if command == "replay":
        line += ["--trials", "1"]
    return line


@pytest.mark.slow
@given(line=command_lines())
@settings(FUZZ, max_examples=40)
def test_random_command_lines(run: Run, things: None, line: list[str]) -> None:
    with at_most(2000):
        status, out, err = run(*line)
    assert "Traceback" not in out + err
    if status != 0:
        assert err.strip() or "--help" in line
        assert status in (1, 2)


@pytest.mark.slow
@given(line=command_lines())
@settings(FUZZ, max_examples=3000)
def test_many_random_command_lines(run: Run, things: None, line: list[str]) -> None:
    status, out, err = run(*line)
    assert "Traceback" not in out + err
    assert status in (0, 1, 2)
