"""A wheel holds one clean ``spanlab`` package, with its data, and nothing else; a source
distribution holds the repository, and its tests run there."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from session_tools import ended_well
from suite import checkout_files, copy_of_checkout

from spanlab.core.version import __version__

ROOT = Path(__file__).resolve().parents[2]
NOT_SHIPPED = {"tests", "benchmarks", "docs", "examples", "scripts", ".ci"}


@pytest.fixture(scope="module")
def files() -> list[str]:
    return checkout_files()


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the repository in a folder of their own."""
    return copy_of_checkout(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory, copied: Path) -> Path:
    """A wheel built from the files of the repository, in a copy, without the network."""
    out = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "-w",
        str(out),
        str(copied),
    ]
    ended_well(subprocess.run(command, capture_output=True, text=True))
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory, copied: Path) -> Path:
    """A source distribution of these files, unpacked."""
    out = tmp_path_factory.mktemp("sdist")
    code = f"from setuptools.build_meta import build_sdist; build_sdist({str(out)!r})"
    ended_well(subprocess.run([sys.executable, "-c", code], cwd=copied, capture_output=True, text=True))
    (built,) = out.glob("*.tar.gz")
    with tarfile.open(built) as archive:
        archive.extractall(out, filter="data")
    return out / built.name.removesuffix(".tar.gz")


def test_is_small(wheel: Path) -> None:
    assert wheel.stat().st_size < 40e6


def test_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"spanlab"}
    assert not [name for name in names if name.split("/")[1] in {*NOT_SHIPPED, "setup.py"}]
    assert not [
        name
        for name in names
        if name.startswith("spanlab/extensions/") and ("/tests/" in name or name.endswith("conftest.py"))
    ]
    assert not [name for name in names if "__pycache__" in name or name.endswith((".pyc", ".log.tmp"))]
    assert any(name.endswith("dist-info/licenses/LICENSE") for name in names)


def test_nothing_of_the_package_is_forgotten(wheel: Path, files: list[str]) -> None:
    """Every file in a folder of the package is shipped: code, paradigms, human data, fonts,
    checkpoints."""
    shipped = set(zipfile.ZipFile(wheel).namelist())
    folders = {
        package.split(".")[1] for package in runpy.run_path(str(ROOT / "setup.py"))["PACKAGES"] if "." in package
    }
    loose = {"__init__.py", "__init__.pyi", "__main__.py", "py.typed"}
    shipping = [name for name in files if name.split("/")[0] in folders or name in loose]
    # an extension has its tests and its README beside its code
    expected = {f"spanlab/{name}" for name in shipping if not re.match(r"extensions/\w+/(tests/|README\.md)", name)}
    assert sorted(expected - shipped) == []


def test_works_from_the_wheel_alone(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    # -S -P: neither the editable install nor the current folder; the packages that SpanLab needs
    # come from where they are
    packages = [path for path in sys.path if path.endswith("site-packages")]
    code = (
        f"import sys; sys.path[:0] = [{str(tmp_path)!r}]; sys.path += {packages!r}; import spanlab; from spanlab.cli"
        " import main; assert spanlab.__file__.startswith(sys.path[0]); sys.argv = ['spanlab', 'list']; main()"
    )
    done = ended_well(
        subprocess.run([sys.executable, "-S", "-P", "-c", code], capture_output=True, text=True, cwd=tmp_path)
    )
    assert {"vsr", "sfr", "smu"} <= {line.split()[0] for line in done.splitlines() if line.strip()}


@pytest.mark.slow
def test_a_source_distribution_holds_the_repository_and_its_tests_run(
    unpacked: Path, files: list[str], tmp_path: Path
) -> None:
    there = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    assert sorted({name for name in files if not name.startswith(".")} - there) == []
    (tmp_path / "spanlab").symlink_to(unpacked, target_is_directory=True)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    where = subprocess.run(
        [sys.executable, "-c", "import spanlab; print(spanlab.__file__)"],
        env=environment,
        cwd=unpacked,
        capture_output=True,
        text=True,
    )
    assert where.stdout.startswith(str(tmp_path)), "the tests would be of another SpanLab"
    done = ended_well(
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "tests/exchange", "tests/house/test_layers.py"],
            env=environment,
            cwd=unpacked,
            capture_output=True,
            text=True,
        )
    )
    assert " passed" in done


def test_a_citation_names_what_the_package_says() -> None:
    """The version stands in one place, so the citation has none."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors", "type"} <= citation.keys()
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    assert citation["license"] == project["license"]
    assert "version" not in citation
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
