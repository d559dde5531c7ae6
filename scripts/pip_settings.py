"""What pip's configuration says (files and environment), as arguments of ``uv pip install``, which
does not read it. For the set-up; only the standard library.

Prints one argument a line, ``NAME=VALUE`` for what belongs into the environment first, and a line
``--`` between the two. Ends with 1, and says why, where something is set that uv cannot be told:
then pip has to do it.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

#: settings with one value or several, and the option of uv that stands for each value
_OPTIONS = {
    "index-url": "--default-index",
    "extra-index-url": "--index",
    "find-links": "--find-links",
    "trusted-host": "--allow-insecure-host",
    "only-binary": "--only-binary",
    "no-binary": "--no-binary",
    "constraint": "--constraints",
}
#: settings that are on or off
_FLAGS = {"no-index": "--no-index", "no-cache-dir": "--no-cache", "pre": "--prerelease=allow"}
#: settings that uv reads from the environment
_VARIABLES = {
    "cert": ("SSL_CERT_FILE",),
    "proxy": ("HTTP_PROXY", "HTTPS_PROXY"),
    "timeout": ("UV_HTTP_TIMEOUT",),
    "default-timeout": ("UV_HTTP_TIMEOUT",),
}
#: settings that do not change what is installed, or from where
_WITHOUT_EFFECT = frozenset(
    {
        *(
            "disable-pip-version-check",
            "no-input",
            "no-color",
            "quiet",
            "verbose",
            "progress-bar",
            "root-user-action",
            "require-virtualenv",
            "retries",
        ),
        *(
            "cache-dir",
            "no-warn-script-location",
            "no-warn-conflicts",
            "use-pep517",
            "prefer-binary",
            "compile",
            "no-compile",
            "break-system-packages",
        ),
        *("log", "config-file", "no-python-version-warning", "exists-action"),
    }
)


class Untold(Exception):  # noqa: N818 - it says what it is
    """Something is set that uv cannot be told."""


def settings(lines: Iterable[str]) -> dict[str, str]:
    """Settings by name from what ``pip config list`` prints: those of ``install`` go before
    ``global``, those of the environment before both.

    Parameters
    ----------
    lines : such as ``global.index-url='https://...'``
    """
    found: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}
    for line in lines:
        name, equals, value = line.partition("=")
        section, dot, key = name.strip().partition(".")
        if equals and dot and section in found:
            found[section][key] = str(ast.literal_eval(value.strip()))
    return {**found["global"], **found["install"], **found[":env:"]}


def for_uv(given: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """What is to stand in uv's environment, and its arguments.

    Raises
    ------
    Untold
        with the first setting that cannot be passed on.
    """
    variables: dict[str, str] = {}
    arguments: list[str] = []
    for name, value in given.items():
        if name in _OPTIONS:
            values = value.replace(",", " ").split() if name in ("only-binary", "no-binary") else value.split()
            for one in values:
                arguments += [_OPTIONS[name], str(Path(one).expanduser()) if one.startswith("~") else one]
        elif name in _FLAGS:
            if value.strip().lower() in ("1", "true", "yes", "on"):
                arguments.append(_FLAGS[name])
        elif name in _VARIABLES:
            variables |= dict.fromkeys(_VARIABLES[name], value)
        elif name not in _WITHOUT_EFFECT:
            raise Untold(f"pip has the setting {name}")
    if "--index" in arguments:
        arguments += ["--index-strategy", "unsafe-best-match"]  # as pip does: the best version, wherever it is
    return variables, arguments


def main() -> int:
    """Print what uv is to be told."""
    done = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True)
    if done.returncode:
        print("pip cannot say how it is configured", file=sys.stderr)
        return 1
    try:
        variables, arguments = for_uv(settings(done.stdout.splitlines()))
    except Untold as error:
        print(error, file=sys.stderr)
        return 1
    print("\n".join([*(f"{name}={value}" for name, value in variables.items()), "--", *arguments]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
