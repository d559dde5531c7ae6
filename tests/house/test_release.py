"""What a stranger does with a release: installs it in a clean environment, away from the
repository, and uses it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import HTTPCookieProcessor, build_opener

import pytest
from session_tools import ended_well
from suite import copy_of_checkout

ROOT = Path(__file__).resolve().parents[2]
#: what is done with a new installation, and what it prints
STEPS = (
    ("replay vsr --set list_length=3,4 --agent ideal --agent capacity --agent chance --trials 20", "data/vsr-ideal-s1"),
    ("new paradigm mine", "mine.yaml"),
    ("check mine.yaml", "mine is fine"),
    ("show vsr -o vsr.png", "vsr.png"),
    ("figure serial_position data -o curve.csv", "curve.csv"),
    ("stats data --by list_length", "nothing can be compared"),
    ("methods data", "SpanLab"),
    ("export bids data -o bids", "3 sessions"),
    ("export csv data -o csv", "3 sessions"),
    ("export nback nback_verbal blocks --blocks 2", "blocks"),
    ("compare data -o report", "report/report.html"),
)

pytestmark = pytest.mark.slow


def uv() -> str:
    """The program that makes environments: the one of this computer, or of this environment."""
    found = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if found is None:
        pytest.skip("uv is not installed")
    return found


def interpreter(version: str) -> str:
    """A Python of this version that works."""
    folders = Path(os.environ.get("REAL_HOME", Path.home())) / ".pyenv" / "versions"
    for candidate in (
        sys.executable,
        shutil.which(f"python{version}"),
        *sorted(map(str, folders.glob(f"{version}.*/bin/python"))),
    ):
        asked = [candidate or "false", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        done = subprocess.run(asked, capture_output=True, text=True)
        if done.returncode == 0 and done.stdout.strip() == version:
            return str(candidate)
    pytest.skip(f"there is no Python {version} here")


def installed(folder: Path, version: str, *wanted: str) -> Path:
    """A new environment with these packages and nothing else; its folder of programs."""
    subprocess.run([uv(), "venv", "-q", "--python", interpreter(version), folder], check=True)
    lines = subprocess.run(
        [sys.executable, ROOT / "scripts" / "pip_settings.py"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    end = lines.index("--")
    variables = {"UV_NATIVE_TLS": "true", **dict(line.split("=", 1) for line in lines[:end])}
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    install = [uv(), "pip", "install", "-q", "--python", programs / "python", *lines[end + 1 :], *wanted]
    ended_well(subprocess.run(install, env={**os.environ, **variables}, capture_output=True, text=True))
    return programs


def use(programs: Path, folder: Path, *arguments: str) -> str:
    """What a command of this environment prints."""
    folder.mkdir(exist_ok=True)
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "DISPLAY", "VIRTUAL_ENV")}
    done = subprocess.run([programs / "spanlab", *arguments], cwd=folder, env=clean, capture_output=True, text=True)
    assert done.returncode == 0, f"{arguments}\n{done.stdout}\n{done.stderr[-3000:]}"
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


def uses_everything(programs: Path, folder: Path) -> None:
    for typed, printed in STEPS:
        assert printed in use(programs, folder, *typed.split()), typed


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[Path]:
    """Where an environment is made; it is large, so it is not kept."""
    yield tmp_path / "environment"
    shutil.rmtree(tmp_path / "environment", ignore_errors=True)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheel and the source distribution of the files of the repository, built in a copy."""
    source, out = copy_of_checkout(tmp_path_factory.mktemp("source")), tmp_path_factory.mktemp("dist")
    code = (
        f"from setuptools.build_meta import build_sdist, build_wheel; build_sdist({str(out)!r});"
        f" build_wheel({str(out)!r})"
    )
    ended_well(subprocess.run([sys.executable, "-c", code], cwd=source, capture_output=True, text=True))
    return {"wheel": next(out.glob("*.whl")), "sdist": next(out.glob("*.tar.gz"))}


#: operating systems, as uv names them
SYSTEMS = ("windows", "aarch64-apple-darwin", "x86_64-manylinux_2_28", "aarch64-manylinux_2_28")


def resolves(system: str, version: str, *extras: str, built_here: str = "") -> bool:
    """Whether all dependencies have wheels for a system and a Python; one of them may be built."""
    lines = subprocess.run(
        [sys.executable, ROOT / "scripts" / "pip_settings.py"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    end = lines.index("--")
    # what is pinned here is pinned for this system
    where = [one for one in lines[end + 1 :] if one != "--constraints" and not one.endswith("constraints.txt")]
    command = [uv(), "pip", "compile", "-q", "--python-platform", system, "--python-version", version]
    command += ["--only-binary", ":all:", *(["--no-binary", built_here] if built_here else [])]
    command += [part for extra in extras for part in ("--extra", extra)]
    variables = {"UV_NATIVE_TLS": "true", **dict(line.split("=", 1) for line in lines[:end])}
    done = subprocess.run(
        [*command, *where, ROOT / "pyproject.toml"], env={**os.environ, **variables}, capture_output=True, text=True
    )
    assert done.returncode == 0 or "no usable wheels" in " ".join(done.stderr.split()), done.stderr[-2000:]
    return done.returncode == 0


@pytest.mark.parametrize("version", ["3.11", "3.13"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_every_dependency_has_a_wheel(system: str, version: str) -> None:
    """Nothing has to be compiled, on systems that are not here either."""
    assert resolves(system, version, "networks", "chat")


def test_where_the_window_can_be_installed() -> None:
    """As docs/packaging.md says: esprima is pure Python without a wheel; pywinhook has wheels for
    Python 3.11 alone, and psychtoolbox for Linux on Intel."""
    assert resolves("windows", "3.11", "lab", built_here="esprima")
    assert resolves("aarch64-apple-darwin", "3.13", "lab", built_here="esprima")
    assert resolves("x86_64-manylinux_2_28", "3.13", "lab", built_here="esprima")
    assert not resolves("windows", "3.12", "lab", built_here="esprima")
    assert not resolves("aarch64-manylinux_2_28", "3.12", "lab", built_here="esprima")


@pytest.mark.soaked(2)
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_the_wheel_alone_replays_analyses_and_reports(
    built: dict[str, Path], environment: Path, tmp_path: Path, version: str
) -> None:
    programs = installed(environment, version, str(built["wheel"]))
    there = subprocess.run([programs / "python", "-c", "import torch"], capture_output=True, text=True)
    assert "No module named 'torch'" in there.stderr
    assert use(programs, tmp_path / "used", "--version").startswith("spanlab ")
    uses_everything(programs, tmp_path / "used")
    app = subprocess.Popen(
        [programs / "spanlab", "app", "--no-browser", "--port", "0"],
        cwd=tmp_path / "used",
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert app.stdout is not None
        address = re.search(r"http://\S+", app.stdout.readline())
        assert address is not None
        with build_opener(HTTPCookieProcessor()).open(address[0]) as page:  # as a browser, which keeps its cookie
            assert page.status == 200
    finally:
        app.terminate()
        app.wait()
    size = sum(file.stat().st_size for file in environment.rglob("*") if file.is_file() and not file.is_symlink())
    assert size < 480e6


def test_the_demonstration_goes_without_what_is_not_installed(
    built: dict[str, Path], environment: Path, tmp_path: Path
) -> None:
    said = use(installed(environment, "3.11", str(built["wheel"])), tmp_path / "used", "demo")
    for extra, what in (
        ("lab", "the participant at the window"),
        ("networks", "the network"),
        ("chat", "the chat model"),
    ):
        assert (
            f"without {what}: it needs packages that are not installed; install them with: pip install"
            f" 'spanlab[{extra}]'" in said
        )
    assert (tmp_path / "used" / "demo" / "report" / "report.html").stat().st_size > 50_000
    assert len(list((tmp_path / "used" / "demo" / "data").iterdir())) == 9


def test_the_source_distribution_is_installed(built: dict[str, Path], environment: Path, tmp_path: Path) -> None:
    programs = installed(environment, "3.11", str(built["sdist"]))
    assert (
        use(programs, tmp_path / "used", "replay", "vsr", "--agent", "ideal", "--trials", "4").splitlines()[0]
        == "data/vsr-ideal-s1"
    )
    # what messages about missing parts say works although no index has SpanLab
    pip = [sys.executable, "-m", "pip", "--python", programs / "python", "install", "--dry-run", "spanlab[chat]"]
    assert " openai-" in subprocess.run(pip, capture_output=True, text=True).stdout.rpartition("Would install")[2]


def test_the_oldest_dependencies_that_are_allowed_are_enough(
    built: dict[str, Path], environment: Path, tmp_path: Path
) -> None:
    """Each dependency in the oldest version that ``pyproject.toml`` allows."""
    programs = installed(environment, "3.11", "--resolution", "lowest-direct", *["-r", str(ROOT / "pyproject.toml")])
    subprocess.run(
        [uv(), "pip", "install", "-q", "--python", programs / "python", "--no-deps", str(built["wheel"])], check=True
    )
    versions = subprocess.run(
        [uv(), "pip", "freeze", "--python", programs / "python"], capture_output=True, text=True, check=True
    ).stdout
    assert "numpy==2.0.0" in versions
    uses_everything(programs, tmp_path / "used")
