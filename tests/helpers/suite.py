"""What every test may count on: a home of its own for PsychoPy, and a screen that is not the
user's.

* Temporary files lie in memory where there is room for them: sessions wait for the disk after every
  trial, many thousand times in all.
* ``HOME`` points at a temporary folder (PsychoPy writes ``~/.psychopy3``); the real one is in
  ``REAL_HOME``, and caches stay where they are.
* The current folder is a temporary one, and whoever lists a folder in which others have their
  things (``/``, the home, the folder of temporary files) fails: a command that is pointed there
  reads every session on the computer.
* ``DISPLAY`` is unset: without the ``screen`` fixture, a test runs as on a machine without a
  display, also on a desktop.
* What earlier tests have loaded is not looked through again at every collection of garbage; trials
  at the window begin with one.
* Every event that is recorded in the tests' own process is held against its model.
* With ``TEST_TIMES=FILE`` in the environment, every test of a whole run writes a line there: its
  processor time with its programs', in seconds, and its name.
* ``screen`` starts one Xvfb per test process and sets ``DISPLAY`` for the test, so windows of
  parallel processes never see each other's keys.
"""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from command_line import Run, command_line, make_things
from hypothesis import settings
from longest import LONGEST
from sampled_cases import mark_others
from x_server import x_server

from spanlab.sessions.record import writer as recorder

if TYPE_CHECKING:
    from spanlab.sessions.studies.study import Study

#: what the conftest of every folder of tests takes
__all__ = [
    "_frozen",
    "_inside",
    "_xvfb",
    "data",
    "page_only",
    "pytest_collection_modifyitems",
    "repository",
    "run",
    "screen",
    "study",
    "things",
]

REPOSITORY = Path(__file__).resolve().parents[2]


def _temporary_files_in_memory() -> None:
    memory = Path("/dev/shm")
    if "TMPDIR" in os.environ or not sys.platform.startswith("linux") or not os.access(memory, os.W_OK):
        return
    room = os.statvfs(memory)
    if (
        room.f_bavail * room.f_frsize > 4 * 2**30 and not room.f_flag & os.ST_NOEXEC
    ):  # some tests run programs that they have written there
        os.environ["TMPDIR"], tempfile.tempdir = str(memory), None


_temporary_files_in_memory()


def _private_home() -> None:
    if "REAL_HOME" not in os.environ:
        os.environ["REAL_HOME"] = str(Path.home())
    home = tempfile.mkdtemp(prefix="spanlab-home-")
    owner = os.getpid()
    atexit.register(lambda: os.getpid() == owner and shutil.rmtree(home, ignore_errors=True))
    os.environ["HOME"] = home
    os.environ["PSYCHOPYNOPACKAGES"] = "1"  # else PsychoPy rewrites PYTHONPATH and PATH
    # what can be fetched or made again (fonts, shaders, the scripted chat server) is kept over runs
    os.environ.setdefault("XDG_CACHE_HOME", str(Path(os.environ["REAL_HOME"]) / ".cache"))


_private_home()
if sys.platform.startswith("linux"):
    os.environ.pop("DISPLAY", None)
    os.environ.pop("WAYLAND_DISPLAY", None)


def _of_others() -> frozenset[str]:
    """Folders in which others have their things."""
    shared = {
        "/",
        os.environ["REAL_HOME"],
        str(REPOSITORY.parent),
        tempfile.gettempdir(),
        "/tmp",
        "/var/tmp",
        "/dev/shm",
        "/home",
        "/root",
        "/Users",
    }
    return frozenset(os.path.realpath(one) for one in shared) - {os.path.realpath(one) for one in sys.path}


_OF_OTHERS = _of_others()


def _stay_inside(event: str, arguments: tuple[object, ...]) -> None:
    if event in ("os.listdir", "os.scandir") and isinstance(arguments[0], (str, os.PathLike)):
        folder = os.path.realpath(arguments[0])
        assert folder not in _OF_OTHERS, f"a test lists {folder}, in which others have their things"


@cache
def _look_at_folders() -> None:
    """Once in a process, and for good: hooks cannot be removed."""
    sys.addaudithook(_stay_inside)


def _declared_as_installed() -> None:
    """What the extensions declare is found through the installed package: after a change of
    pyproject.toml it has to be installed anew."""
    declared = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    for group, points in declared.items():
        installed = {
            point.name: point.value
            for point in entry_points(group=group)
            if point.dist is not None and point.dist.name == "spanlab"
        }
        assert points == installed, f"the group {group} has changed since SpanLab was installed here: run make setup"


_declared_as_installed()


@pytest.fixture(scope="session", autouse=True)
def _inside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The current folder is one of the tests' own."""
    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("current"))
    _look_at_folders()
    yield
    os.chdir(before)


@pytest.fixture(scope="module", autouse=True)
def _frozen() -> None:
    """What was loaded so far is there to stay: a collection of garbage does not look through it."""
    gc.collect()
    gc.freeze()


recorder.CHECK_ALL = True

# A shell that starts the tests in the background makes them, and every program that they start,
# deaf to Ctrl-C; some tests press it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The quick suite tries the same forty examples every time; "make test-all" tries others, and more.
settings.register_profile("same", derandomize=True, deadline=None, database=None, max_examples=40)
settings.register_profile("others", deadline=None, print_blob=True)
settings.load_profile("same")


_ARRANGED = pytest.StashKey[bool]()


@pytest.hookimpl(tryfirst=True)  # before slow tests are left out
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sampled tests keep a few cases in the quick part; the longest files come first, the others in
    their order. Each folder of tests asks for it, and the first one does it."""
    if config.stash.get(_ARRANGED, False):
        return
    config.stash[_ARRANGED] = True
    mark_others(items)
    place = {REPOSITORY / f"{name}.py": number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path, len(LONGEST)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[object]:
    """The processor time of a test, wherever it is asked for: a busy machine makes tests last
    longer, and hardly work more."""
    before = sum(os.times()[:4])
    result = yield
    if "TEST_TIMES" in os.environ:
        with open(os.environ["TEST_TIMES"], "a", encoding="utf-8") as times:
            times.write(f"{sum(os.times()[:4]) - before:.2f}\t{item.nodeid}\n")
    return result


def checkout_files() -> list[str]:
    """The names of the files that git tracks, or would when told to add everything; without git the test is skipped."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [name for name in listed.stdout.split("\0") if name and (REPOSITORY / name).is_file()]


def copy_of_checkout(folder: Path) -> Path:
    """A folder with a copy of each."""
    for name in checkout_files():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(REPOSITORY / name, folder / name)
    return folder


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the repository."""
    return REPOSITORY


@pytest.fixture(scope="session")
def _xvfb() -> Iterator[str]:
    """One X server for this test process; its display, such as ``:3``."""
    with x_server("1280x1024") as server:
        yield server.display


@pytest.fixture
def screen(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """A display for the test, not the user's own on Linux; None on macOS and Windows, where the
    real screen is used."""
    if not sys.platform.startswith("linux"):
        return None
    display = request.getfixturevalue("_xvfb")
    monkeypatch.setenv("DISPLAY", display)
    return display


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line in this process: exit status, what it printed, what it complained about."""
    return command_line(tmp_path, monkeypatch, capsys)


@pytest.fixture
def things(tmp_path: Path) -> None:
    """Things that are not what a command wants, and a paradigm that is."""
    make_things(tmp_path)


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """A small study of two tasks, in a file."""
    from study_files import study_in

    return study_in(tmp_path)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Where data are kept; not there yet."""
    return tmp_path / "data"


@pytest.fixture
def page_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of what a page says: figures are declared, but not drawn into files."""
    monkeypatch.setattr("spanlab.analysis.report.folder.save", lambda *_: [])
