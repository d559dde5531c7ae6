"""The set-up says what is missing in one sentence. (That it works is shown by the environment in
which these tests run.)"""

from __future__ import annotations

import importlib.util
import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the set-up is for Debian and Ubuntu")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The files that the set-up reads, somewhere else."""
    for name in (
        "Makefile",
        "pyproject.toml",
        "constraints.txt",
        "scripts/setup.sh",
        "scripts/pip_settings.py",
        "scripts/installed.py",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def make(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", *arguments], cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True
    )


def test_no_fitting_python(copy: Path) -> None:
    (old := copy / "python3").write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    done = make(copy, "demo", PYTHON=str(old))
    assert done.returncode != 0
    assert "setup: no Python 3.11 or 3.12" in done.stderr
    assert "PYTHON=/path/to/python3.12 make setup" in done.stderr
    assert not (copy / ".venv").exists()


@pytest.mark.slow
def test_no_network(copy: Path) -> None:
    """pip's own words, then ours; and nothing that a second run would take for a finished set-up."""
    done = make(copy, "setup", PIP_NO_INDEX="1", PIP_FIND_LINKS="", PIP_CONFIG_FILE=os.devnull)
    assert done.returncode != 0
    assert "setup: the packages could not be installed" in done.stderr
    assert not (copy / ".venv" / ".set-up").exists()


def test_help_names_every_target(copy: Path) -> None:
    targets = {
        line.split(":")[0]
        for line in (copy / "Makefile").read_text().splitlines()
        if line and line[0].isalpha() and ":" in line and "=" not in line
    }
    shown = make(copy, "help").stdout
    assert {f"make {target}" for target in targets - {"help"}} <= {
        word for line in shown.splitlines() for word in _phrases(line)
    }


def _phrases(line: str) -> list[str]:
    return [f"{a} {b}" for a, b in itertools.pairwise(line.split())]


def module(name: str) -> ModuleType:
    """A script of the set-up as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_what_pip_is_told_is_told_to_uv() -> None:
    pip_settings = module("pip_settings")
    listed = [
        "global.index-url='https://mirror.example/simple'",
        "global.extra-index-url='file:///opt/one https://two.example/simple'",
        "global.find-links='/of/the/file'",
        "install.find-links='/of/install'",
        ":env:.find-links='/wheels\\n~/mine'",
        ":env:.cert='/etc/ssl/own.crt'",
        "global.trusted-host='mirror.example'",
        ":env:.default-timeout='180'",
        ":env:.disable-pip-version-check='1'",
        "freeze.timeout='10'",
        "global.no-index='false'",
        "global.proxy='http://proxy:3128'",
        "global.constraint='/etc/pip/constraints.txt'",
    ]
    variables, arguments = pip_settings.for_uv(pip_settings.settings(listed))
    assert variables == {
        "SSL_CERT_FILE": "/etc/ssl/own.crt",
        "UV_HTTP_TIMEOUT": "180",
        "HTTP_PROXY": "http://proxy:3128",
        "HTTPS_PROXY": "http://proxy:3128",
    }
    assert arguments == [
        *(
            "--default-index",
            "https://mirror.example/simple",
            "--index",
            "file:///opt/one",
            "--index",
            "https://two.example/simple",
        ),
        *(
            "--find-links",
            "/wheels",
            "--find-links",
            str(Path("~/mine").expanduser()),
            "--allow-insecure-host",
            "mirror.example",
            "--constraints",
            "/etc/pip/constraints.txt",
        ),
        *("--index-strategy", "unsafe-best-match"),
    ]
    assert pip_settings.for_uv({}) == ({}, [])
    for name in ("client-cert", "require-hashes", "platform"):
        with pytest.raises(pip_settings.Untold, match=name):
            pip_settings.for_uv({name: "x"})


def packages(place: Path) -> None:
    """Three packages: one that is whole, one with a file that is cut off, and one whose list a kill
    has prevented."""
    for name, size in (("whole", 5), ("cut_off", 9), ("begun", 5)):
        (info := place / f"{name}-1.0+cpu.dist-info").mkdir(parents=True)
        (place / f"{name}.py").write_text("x = 1", encoding="utf-8")
        (info / "METADATA").write_text("Name: x\n", encoding="utf-8")
        if name != "begun":
            lines = [
                f"{name}.py,sha256=abc,{size}",
                f"{info.name}/METADATA,,",
                f"__pycache__/{name}.pyc,,",
                f"{info.name}/RECORD,,",
            ]
            (info / "RECORD").write_text("\n".join(lines), encoding="utf-8")


def test_packages_that_a_kill_has_left_half_done_are_found_and_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    installed = module("installed")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    place = tmp_path / f"lib/python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    packages(place)
    (constraints := tmp_path / "constraints.txt").write_text(
        "# tested\nwhole==1.0\nelsewhere==3 ; sys_platform == 'amiga'\n", encoding="utf-8"
    )
    assert installed.check(constraints) == 1
    assert installed.mend() == 0
    assert sorted(path.name for path in installed.folders()) == ["whole-1.0+cpu.dist-info"]
    assert installed.check(constraints) == 0
    constraints.write_text("whole==1.1 ; sys_platform != 'amiga'\n", encoding="utf-8")
    assert installed.check(constraints) == 1
    said = capsys.readouterr()
    assert "cut_off-1.0+cpu is not whole, and is installed again" in said.out
    assert "whole is 1.0 and not 1.1" in said.err
