"""The core without an extension: its folder and its entry points are gone, and everything else is
as before."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from spanlab.core.version import __version__

ROOT = Path(__file__).resolve().parents[2]
NOT_COPIED = shutil.ignore_patterns(
    ".*", "tests", "benchmarks", "docs", "examples", "scripts", "build", "runs", "data", "*.egg-info", "__pycache__"
)
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
EXTENSIONS = sorted(path.parent.name for path in (ROOT / "extensions").glob("*/__init__.py"))


def added(extension: str, group: str) -> list[str]:
    """The names that an extension adds to a group of entry points."""
    return [
        name
        for name, place in DECLARED.get(group, {}).items()
        if f"{place}.".startswith(f"spanlab.extensions.{extension}.")
    ]


def copied_without(extension: str, site: Path) -> Path:
    """A copy of the package without an extension, as an installer would leave it, in a folder for
    ``PYTHONPATH``."""
    package = site / "spanlab"
    shutil.copytree(ROOT, package, ignore=NOT_COPIED)
    shutil.copytree(ROOT / "analysis" / "data", package / "analysis" / "data", dirs_exist_ok=True)
    shutil.rmtree(package / "extensions" / extension)
    (information := site / f"spanlab-{__version__}.dist-info").mkdir()
    (information / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: spanlab\nVersion: {__version__}\n", encoding="utf-8"
    )
    groups = {
        group: {name: place for name, place in points.items() if name not in added(extension, group)}
        for group, points in DECLARED.items()
    }
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in points.items())
        for group, points in groups.items()
    ]
    (information / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    return site


def test_each_extension_is_tried() -> None:
    """Every folder is an extension with a README, and adds something by an entry point."""
    assert {path.parent.name for path in (ROOT / "extensions").glob("*/README.md")} == set(EXTENSIONS)
    assert [name for name in EXTENSIONS if not any(added(name, group) for group in DECLARED)] == []
    assert set(DECLARED["spanlab.panels"]) <= set(DECLARED["spanlab.commands"]), (
        "these name panels of the help page, and no code"
    )
    of_extensions = {
        place for group, points in DECLARED.items() if group != "spanlab.panels" for place in points.values()
    }
    assert {place.split(".")[2] for place in of_extensions} == set(EXTENSIONS)


def python(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(site)}
    return subprocess.run(
        [sys.executable, *arguments], cwd=site.parent, env=environment, capture_output=True, text=True
    )


@pytest.mark.slow
@pytest.mark.soaked(5)
@pytest.mark.parametrize("extension", EXTENSIONS)
def test_the_core_works_without_an_extension(extension: str, tmp_path: Path) -> None:
    site = copied_without(extension, tmp_path / "site")
    files = (path.relative_to(site).with_suffix("") for path in (site / "spanlab").rglob("*.py"))
    core = sorted(
        ".".join(file.parts).removesuffix(".__init__")
        for file in files
        if file.parts[1] != "extensions" and file.name != "__main__"
    )
    assert len(core) > 300
    loads = (
        f"import importlib, spanlab\nassert spanlab.__file__.startswith({str(site)!r})\nfor name in {core!r}:"
        " importlib.import_module(name)"
    )
    done = python(site, "-c", loads)
    assert done.returncode == 0, done.stderr
    for command in (
        "list",
        "check vsr",
        "list --formats",
        "replay vsr --agent ideal --trials 4",
        "replay vsr --agent chance --trials 4",
        "compare data -o report",
        "--help",
    ):
        done = python(site, "-m", "spanlab", *command.split())
        assert done.returncode == 0, f"{command}: {done.stderr}"
        if command == "list --formats":
            assert not [
                name
                for name in added(extension, "spanlab.formats")
                if re.search(rf"^{name} ", done.stdout, re.MULTILINE)
            ]
    assert (tmp_path / "report" / "report.html").exists()
    for command in added(extension, "spanlab.commands"):
        gone = python(site, "-m", "spanlab", *command.split("."), "vsr")
        assert gone.returncode != 0
        assert re.search(rf"no (such )?command '{command.rpartition('.')[2]}'", gone.stderr, re.IGNORECASE)
        assert "Traceback" not in gone.stderr


@pytest.mark.slow
def test_with_all_of_them_the_commands_are_there(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    said = python(tmp_path / "site", "-m", "spanlab", "--help").stdout
    assert [
        command
        for command in DECLARED["spanlab.commands"]
        if "." not in command and not re.search(rf"^ +{command} ", said, re.MULTILINE)
    ] == []
