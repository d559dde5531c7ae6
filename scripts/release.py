"""Builds what a release consists of, and checks it: python scripts/release.py

In ``dist/``: the wheel, the source distribution, ``sbom.json`` (what a bare installation of the wheel
brings, CycloneDX), ``codemeta.json``, ``notes.md`` (the section of the changelog) and ``SHA256SUMS``.
It ends with 1 where a check fails: twine's of the metadata, check-wheel-contents' of the files,
cffconvert's of CITATION.cff, and that the wheel runs a session in an environment that has nothing else.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
_TOOLS = ("build", "twine", "check-wheel-contents", "cyclonedx-bom")


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    """Run a program; where it fails the release ends."""
    print("release:", *command, flush=True)
    subprocess.run([str(part) for part in command], cwd=cwd, check=True)


def environment(folder: Path) -> Path:
    """A new virtual environment, and the folder of its programs."""
    venv.create(folder, with_pip=True)
    return folder / ("Scripts" if os.name == "nt" else "bin")


def section(changelog: str, version: str) -> str:
    """What a changelog says of a version.

    Examples
    --------
    >>> section("# Changelog\\n\\n## 0.2.0\\n\\nNew.\\n\\n## 0.1.0\\n\\nOld.\\n", "0.2.0")
    'New.'
    """
    found = re.search(rf"^## \[?{re.escape(version)}\b[^\n]*\n(.*?)(?=^## |\Z)", changelog, re.DOTALL | re.MULTILINE)
    if found is None:
        sys.exit(f"release: CHANGELOG.md has no section '## {version}'")
    return found[1].strip()


def codemeta(project: dict[str, object], version: str) -> dict[str, object]:
    """The project in the words of codemeta."""
    return {
        "@context": "https://w3id.org/codemeta/3.0",
        "@type": "SoftwareSourceCode",
        "name": "SpanLab",
        "version": version,
        "description": project["description"],
        "license": "https://spdx.org/licenses/MIT",
        "programmingLanguage": "Python",
        "keywords": project["keywords"],
        "author": [{"@type": "Organization", "name": "The SpanLab authors"}],
    }


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = re.findall(r"__version__ = \"(.+)\"", (ROOT / "core" / "version.py").read_text(encoding="utf-8"))[0]
    notes = section((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory() as temporary:
        tools = environment(Path(temporary) / "tools")
        run(tools / "python", "-m", "pip", "install", "--quiet", *_TOOLS)
        # in an environment of its own: it needs a jsonschema that the others do not take
        citation = environment(Path(temporary) / "citation")
        run(citation / "python", "-m", "pip", "install", "--quiet", "cffconvert", "jsonschema<4")
        run(citation / "cffconvert", "--validate", "-i", "CITATION.cff")
        run(tools / "python", "-m", "build", "--outdir", DIST)
        (wheel,) = DIST.glob("*.whl")
        run(tools / "twine", "check", "--strict", *DIST.iterdir())
        # the compiled stubs of doors are data to it, and the package's folder is the repository's
        run(tools / "check-wheel-contents", wheel)
        bare = environment(Path(temporary) / "bare")
        run(bare / "python", "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt", wheel)
        run(bare / "spanlab", "replay", "vsr", "--agent", "ideal", "--trials", "4", cwd=Path(temporary))
        sbom = DIST / "sbom.json"
        run(tools / "cyclonedx-py", "environment", bare / "python", "--output-reproducible", "-o", sbom)
    (DIST / "notes.md").write_text(notes + "\n", encoding="utf-8")
    (DIST / "codemeta.json").write_text(json.dumps(codemeta(project, version), indent=1) + "\n", encoding="utf-8")
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(DIST.iterdir())]
    (DIST / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")
    if "urls" not in project:
        print("release: the project has no public home; name it in [project.urls] and CITATION.cff before publishing")
    print("release:", *sorted(file.name for file in DIST.iterdir()), sep="\n  ")


if __name__ == "__main__":
    main()
