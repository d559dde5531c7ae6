"""Commands under faults: nothing recorded is lost, nothing half is believed, and the next command works or says what to
do."""

from __future__ import annotations

import os
import platform
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from pathlib import Path

import pytest
from faults import CASES, FAULTS, disturbed
from session_tools import command

from spanlab.core.atomic_files import TakenError, first_free_folder, replacing, whole_file, whole_folder, write_whole
from spanlab.core.errors import SpanLabError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and limits of Unix")

#: what each fault needs of the system
_NEEDS = {"readonly": hasattr(os, "geteuid") and os.geteuid() == 0, "clock": shutil.which("faketime") is not None}
_POSSIBLE = [fault for fault in FAULTS if _NEEDS.get(fault, True)]


@pytest.mark.parametrize("fault", ["kill", *(pytest.param(name, marks=pytest.mark.slow) for name in ("term", "full"))])
def test_an_export_under_a_fault(fault: str) -> None:
    assert not disturbed("conversations", [fault], 1)


@pytest.mark.slow
@pytest.mark.usefixtures("screen")
@pytest.mark.parametrize("times", [1, pytest.param(2, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", CASES)
def test_every_command_under_every_fault(name: str, times: int) -> None:
    # libfaketime cannot set the clock under a window: it breaks its sleep, or moves the clock of intervals by which the
    # screen dates presses
    assert not disturbed(name, [fault for fault in _POSSIBLE if (name, fault) != ("run", "clock")], times)


@pytest.mark.soak
@pytest.mark.slow
@pytest.mark.usefixtures("screen")
@pytest.mark.parametrize("name", CASES)
def test_two_hundred_kills(name: str) -> None:
    assert not disturbed(name, ["kill"], 200 // len(CASES) + 1, seed=2)


def test_a_command_that_is_ended_says_so(tmp_path: Path) -> None:
    """Before a session begins, too: while its trials are planned."""
    arguments = ("replay", "vsr", "--agent", "chance", "--trials", "200000")
    program = subprocess.Popen(command(*arguments), cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    with pytest.raises(subprocess.TimeoutExpired):
        program.wait(4)
    program.send_signal(signal.SIGTERM)
    assert program.communicate(timeout=60)[1].decode().startswith("spanlab: interrupted")
    assert program.returncode == 130


def test_what_a_killed_process_of_this_computer_left_goes_with_the_next(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    here = platform.node()
    # of a process that lives, of other computers, and of nobody
    names = (f"{here}-{os.getpid()}-a", f"elsewhere-{dead.pid}-a", f"{here}-2-{dead.pid}-a", f"{here}-{10**30}-a")
    kept = {f".{name}.part" for name in names}
    for name in {*kept, f".{here}-{dead.pid}-a.part"}:
        (tmp_path / name).mkdir()
    first_free_folder(tmp_path, ["new"], lambda folder, name: None)
    assert {path.name for path in tmp_path.iterdir()} == {*kept, "new"}


@pytest.mark.parametrize("folder", [True, False])
def test_two_who_write_the_same_do_not_mix(tmp_path: Path, folder: bool) -> None:
    place = tmp_path / "out"

    def write(letter: str) -> str:
        try:
            if folder:
                with whole_folder(place) as made:
                    for number in range(40):
                        (made / str(number)).write_text(letter)
            else:
                with whole_file(place) as file:
                    file.writelines(letter for _ in range(10_000))
        except SpanLabError as error:
            return str(error)
        return letter

    with ThreadPoolExecutor(8) as pool:
        told = [*pool.map(write, "abcdefgh")]
    files = [*place.iterdir()] if folder else [place]
    assert len(files) == (40 if folder else 1)
    assert len({sign for file in files for sign in file.read_text()}) == 1
    assert {file.read_text()[0] for file in files} <= {*told}
    assert not [*tmp_path.glob(".*")]


def test_what_is_being_made_is_refused_to_others(tmp_path: Path) -> None:
    with whole_folder(tmp_path / "out") as made, pytest.raises(TakenError), whole_folder(tmp_path / "out"):
        (made / "x").touch()


@pytest.mark.parametrize(("target", "written"), [("", whole_file), ("thesis", replacing), ("new", replacing)])
def test_links_where_something_is_being_made_are_not_followed(
    tmp_path: Path, target: str, written: Callable[[Path], AbstractContextManager[object]]
) -> None:
    write_whole(tmp_path / "home" / "thesis", b"x", folders="own")
    (tmp_path / ".out.part").symlink_to(tmp_path / "home" / target)
    with suppress(SpanLabError), written(tmp_path / "out"):
        pass
    assert [(file.name, file.read_text()) for file in (tmp_path / "home").iterdir()] == [("thesis", "x")]
