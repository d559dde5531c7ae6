"""What is written in the repository speaks of the project alone, and the house rules of files hold."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from suite import checkout_files

ROOT = Path(__file__).resolve().parents[2]
#: Paths of one machine, and talk about how the project was made. (Written so that this file does
#: not contain them.)
FOREIGN = re.compile(
    "|".join(
        [
            r"/wor" + r"k/",
            r"(?<![\w-])share" + r"d/",
            r"(?i:issue) ?" + r"#\d",
            r"/hom" + r"e/\w+/",
            r"/roo" + r"t/",
            r"(?i:scratch)" + r"/",
        ]
    )
)


def tracked() -> list[Path]:
    return [ROOT / name for name in checkout_files()]


def text(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        return None


def test_no_file_speaks_of_one_machine_or_of_how_it_was_made() -> None:
    assert not [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
        for path in tracked()
        for number, line in enumerate((text(path) or "").splitlines(), 1)
        if FOREIGN.search(line)
    ]


def test_no_secrets_and_no_large_files() -> None:
    key = re.compile(r"\b(sk|ghp|hf)[-_][A-Za-z0-9]{20,}")
    assert not [str(path) for path in tracked() if key.search(text(path) or "")]
    assert not [str(path) for path in tracked() if path.stat().st_size > 10 * 2**20]


def test_links_between_documents_lead_somewhere() -> None:
    """Pages that are made from the code are not kept: those of ``scripts/pages``, and of paradigms."""
    broken, pages = [], ROOT / "scripts" / "pages"
    for path in tracked():
        if path.suffix == ".md":
            for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text(path) or ""):
                if re.match(r"[a-z]+:|paradigm/", target) or (pages / Path(target).name).exists():
                    continue
                folder = ROOT / "docs" if path.parent == pages else path.parent
                if not (folder / target).exists():
                    broken.append(f"{path.relative_to(ROOT)}: {target}")
    assert not broken


def test_constraints_are_exact_and_portable() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")]
    form = re.compile(r"^[a-z0-9]+([-.][a-z0-9]+)*==[0-9a-z.]+( ; sys_platform (==|!=) '(linux|darwin|win32)')?$")
    assert not [line for line in lines if not form.match(line)]
    assert lines == sorted(lines, key=lambda line: line.split("==")[0])


def test_scripts_can_be_run() -> None:
    for name in [".ci/run", "scripts/setup.sh"]:
        assert os.access(ROOT / name, os.X_OK), name
        subprocess.run(["bash", "-n", ROOT / name], check=True)
