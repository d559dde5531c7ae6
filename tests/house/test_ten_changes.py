"""Ten changes that a stranger makes: seven from a package of their own, three in a copy of SpanLab.

A stimulus, a response kind, an agent, a network cell, an effect, a format and a command come from ``examples/plugin``, which
``test_extending.py`` installs and uses. A column of the record is added by ``tests/sessions/test_column.py``, as the
documents say. A provider and a language are added here, and the tests that apply run in the copy.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: the part of the example package that makes a change, by its group of entry points
FROM_A_PACKAGE = {
    "stimulus": "spanlab.stimuli",
    "response kind": "spanlab.responses",
    "agent": "spanlab.agents",
    "network cell": "spanlab.architectures",
    "effect": "spanlab.effects",
    "format": "spanlab.formats",
    "command": "spanlab.commands",
}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the repository, which is the ``spanlab`` of programs that run in it."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (tmp_path / "copy" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "copy" / name).write_bytes((ROOT / name).read_bytes())
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "spanlab").symlink_to(tmp_path / "copy", target_is_directory=True)
    return tmp_path / "copy"


def python(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(copy.parent / "path"), "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"}
    return subprocess.run([sys.executable, *arguments], cwd=copy, env=environment, capture_output=True, text=True)


def spanlab(copy: Path, *arguments: str) -> str:
    done = python(copy, "-m", "spanlab", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def passes(copy: Path, *tests: str) -> None:
    """Run tests of the copy, which are of its own SpanLab."""
    done = python(copy, "-c", "import spanlab; print(spanlab.__file__)")
    assert done.stdout.startswith(str(copy.parent)), "the tests would be of another SpanLab"
    done = python(copy, "-m", "pytest", "-q", "-x", *tests)
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout


def test_the_example_package_makes_seven_of_the_changes() -> None:
    project = tomllib.loads((ROOT / "examples" / "plugin" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(project["entry-points"]) == set(FROM_A_PACKAGE.values())
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    assert [name for name in FROM_A_PACKAGE if not re.search(rf"^\| \[{name}\]", page, re.MULTILINE)] == []


@pytest.mark.slow
def test_a_provider_is_an_entry_of_one_file(copy: Path) -> None:
    with (copy / "agents" / "chat" / "providers.yaml").open("a", encoding="utf-8") as file:
        file.write("  basement:\n    base_url: http://localhost:9999/v1\n    default_model: tiny\n")
    listed = spanlab(copy, "providers")
    assert re.search(r"^basement .*http://localhost:9999/v1", listed, re.MULTILINE)
    passes(copy, "tests/agents/chat/test_providers.py", "tests/house/test_layers.py")


@pytest.mark.slow
def test_a_language_is_one_file_in_the_core_and_one_in_each_extension_that_has_sentences(copy: Path) -> None:
    before = python(copy, "-m", "spanlab", "check", "--language", "xx")
    places = re.findall(r"there is no file (\S+/xx\.yaml)", before.stderr)
    assert places == ["core/locale/xx.yaml", *(f"{path.parent.relative_to(copy)}/xx.yaml" for path in sorted(copy.glob("extensions/*/locale/en.yaml")))]
    assert len(places) > 1
    for number, place in enumerate(places, 1):
        (copy / place).write_text((copy / place).with_name("en.yaml").read_text(encoding="utf-8"), encoding="utf-8")
        after = python(copy, "-m", "spanlab", "check", "--language", "xx").stderr
        assert [other for other in places if f"there is no file {other}" in after] == places[number:]
    assert "vsr: there are no instructions" in after, "what is left is the texts of paradigms"
    passes(copy, "tests/core/test_sentences.py", "-k", "gaps or twice or said")
