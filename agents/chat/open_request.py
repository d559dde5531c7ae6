"""Further parts of a request, of which SpanLab knows nothing: fields and headers of one's own, and
protocols in files of one's own. No secret is written anywhere.

A header may name environment variables, such as ``$LAB_KEY``: their values are put in when a
request leaves, and the record has the names.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from ...core.errors import SpanLabError
from ...paradigms.language.yaml_source import parse, read

_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")
#: stands for the name of the conversation, as if it were a variable of the environment
CONVERSATION = "CONVERSATION"
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
#: names of what is secret, and values that look like it
SECRET_NAME = re.compile(
    r"authori[sz]ation|api[-_]?key|access[-_]?key|token$|secret|passw|credential|cookie|\bkey\b", re.IGNORECASE
)
SECRET_VALUE = re.compile(
    r"\b(?:[sp]k-|Bearer\s|Basic\s|gh[pousr]_|xox[a-z]-)|(?=[A-Za-z0-9_+/=-]*\d)(?=[A-Za-z0-9_+/=-]*[A-Za-z])[A-Za-z0-9_+/=-]{32,}"
)
#: what a request is made of, and what would make its reply unreadable
_OURS = frozenset(
    {
        "messages",
        "model",
        "stream",
        "stream_options",
        "n",
        "response_format",
        "max_completion_tokens",
        "prompt",
        "input",
    }
)
#: headers that belong to the transport
_TRANSPORT = frozenset({"content-type", "content-length", "host", "transfer-encoding", "connection"})
_ENDINGS = (".yaml", ".yml")
#: the wordings that ship: paraphrases of the instructions of the ten WorM tasks and of N-back
WORDINGS = ("plain", "formal", "brief", "friendly")


def fault_of_body(body: Mapping[str, Any], known: Collection[str]) -> str:
    """Say what is wrong with user-defined fields, in a sentence without their values; empty when
    nothing is.

    Parameters
    ----------
    known : settings that have a name of their own
    """
    for name, value in body.items():
        if name in known:
            return f"extra_body holds '{name}', which is a setting of its own: give {name}=... instead"
        if name in _OURS:
            return f"extra_body holds '{name}', which SpanLab sends itself: leave it out"
        if _secret_within({name: value}):
            return (
                f"extra_body holds what looks like a key ('{name}'): keys are read from the environment (key_variable,"
                " or extra_headers with $NAME)"
            )
    try:
        json.dumps(body, allow_nan=False)
    except (TypeError, ValueError):
        return "extra_body holds what cannot be sent as JSON"
    return ""


def fault_of_headers(headers: Mapping[str, str]) -> str:
    """Say what is wrong with user-defined headers, in a sentence without their values; empty when
    nothing is."""
    for name, value in headers.items():
        if not _HEADER.fullmatch(name):
            return "extra_headers: a name holds what no header's name may hold"
        if name.lower() in _TRANSPORT:
            return f"extra_headers: '{name}' belongs to the transport: leave it out"
        if not value.isascii() or not value.isprintable():
            return f"extra_headers: the value of '{name}' holds a line break or a character that no header may hold"
        if not _VARIABLE.search(value) and (SECRET_NAME.search(name) or SECRET_VALUE.search(value)):
            return (
                f"extra_headers: the value of '{name}' looks like a secret: put it into an environment variable, and"
                f" give its name, such as {name}: $LAB_KEY"
            )
        if SECRET_VALUE.search(_VARIABLE.sub("", value)):
            return (
                f"extra_headers: the value of '{name}' holds what looks like a secret beside a variable: put all of it"
                " into the variable"
            )
    return ""


def variables_of(headers: Mapping[str, str]) -> tuple[str, ...]:
    """The environment variables that headers name."""
    named = (found[1] or found[2] for value in headers.values() for found in _VARIABLE.finditer(value))
    return tuple(dict.fromkeys(name for name in named if name != CONVERSATION))


def filled_headers(headers: Mapping[str, str], conversation: str = "") -> dict[str, str]:
    """Headers as they are sent, with the values of the variables that they name, and with the name of
    the conversation.

    Raises
    ------
    SpanLabError
        when a variable is not set, or holds what no header may hold.
    """

    def value_of(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if name == CONVERSATION:
            return conversation
        value = os.environ.get(name, "").strip()
        if not value or not value.isascii() or not value.isprintable():
            del value
            raise SpanLabError(
                f"extra_headers: set the environment variable {name}; it is not set, or holds what no header may hold"
            ) from None
        return value

    return {name: _VARIABLE.sub(value_of, value) for name, value in headers.items()}


def _secret_within(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(
            (SECRET_NAME.search(str(name)) and isinstance(one, str)) or _secret_within(one)
            for name, one in value.items()
        )
    if isinstance(value, list):
        return any(map(_secret_within, value))
    return isinstance(value, str) and SECRET_VALUE.search(value) is not None


def written(name: str, value: Any) -> Any:
    """A value that a command line gives as text, where it stands for a list or a mapping: read as YAML reads it, ``{top_k: 5}`` or ``["\\n"]``.

    Raises
    ------
    SpanLabError
        when it cannot be read; its text is not repeated.
    """  # noqa: E501
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return parse(value, f"--chat {name}").data
    except SpanLabError:
        pass
    raise SpanLabError(
        f"chat settings: {name} cannot be read: give it as YAML or JSON in one line, such as {name}={{top_k: 5}}"
    )


def is_file(name: Any) -> bool:
    """Return whether a preset or instructions are named as a file."""
    return isinstance(name, str) and (name.lower().endswith(_ENDINGS) or "/" in name or os.sep in name)


def beside(folder: Path, values: Mapping[str, Any]) -> dict[str, Any]:
    """Chat settings whose files (a preset, instructions) lie beside the file that gives
    the settings.

    Parameters
    ----------
    folder : of that file
    values : settings by name, as they are given
    """

    def located(name: str, value: Any) -> Any:
        if name == "instructions" and isinstance(value, Mapping):
            return {
                paradigm: str(folder / Path(text).expanduser()) if _names_text(text) else text
                for paradigm, text in value.items()
            }
        if name in ("preset", "instructions") and is_file(value):
            return str(folder / Path(value).expanduser())
        return value

    return {name: located(name, value) for name, value in values.items()}


def preset_of_file(name: str) -> dict[str, Any]:
    """The settings of a preset in the user's file: ``settings`` and ``instructions`` by paradigm,
    each of them a text, or the name of a file beside it.

    Raises
    ------
    SpanLabError
        when it cannot be read.
    """
    path = Path(name).expanduser()
    data = _mapping(path, "a preset")
    if unknown := [key for key in data if key not in ("about", "settings", "instructions")]:
        raise SpanLabError(f"{path}: unknown key '{unknown[0]}'; a preset has settings, instructions and about")
    settings = data.get("settings") or {}
    if not isinstance(settings, Mapping):
        raise SpanLabError(f"{path}: expected settings by name below 'settings'")
    if "preset" in settings:
        raise SpanLabError(f"{path}: a preset cannot begin with another preset: write its settings out")
    if settings.get("instructions") and data.get("instructions"):
        raise SpanLabError(f"{path} has instructions twice: below 'settings', and by themselves; give them once")
    given = settings.get("instructions") or data.get("instructions") or {}
    return {**beside(path.parent, settings), **({"instructions": instructions_of(given, path.parent)} if given else {})}


def instructions_of(given: Any, folder: Path | None = None) -> Any:
    """Instructions by paradigm, where they are named as a file, or as a wording that ships.

    Parameters
    ----------
    folder : where files lie that these name; where the program runs when not given

    Raises
    ------
    SpanLabError
        when a file cannot be read.
    """
    if _names_text(given):
        raise SpanLabError(
            f"{given} does not say which paradigm it is for: give a YAML file of instructions by paradigm, with a line"
            f" such as vsr: {given}"
        )
    if given in WORDINGS:
        shipped = files("spanlab.agents.chat").joinpath("wordings", f"{given}.yaml").read_text(encoding="utf-8")
        return parse(shipped, f"{given}.yaml").data
    if is_file(given):
        path = (folder or Path()) / Path(given).expanduser()
        return instructions_of(_mapping(path, "instructions by paradigm"), path.parent)
    if isinstance(given, Mapping):
        return {name: text_of((folder or Path()) / text) if _names_text(text) else text for name, text in given.items()}
    return given


def _names_text(value: Any) -> bool:
    return isinstance(value, str) and "\n" not in value and value.lower().endswith((".txt", ".md"))


def _mapping(path: Path, what: str) -> Mapping[str, Any]:
    data = read(path, str(path)).data
    if not isinstance(data, Mapping):
        raise SpanLabError(f"{path} does not hold {what}: expected keys with values")
    return data


def text_of(path: Path) -> str:
    """A text file.

    Raises
    ------
    SpanLabError
        when it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8-sig").strip("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise SpanLabError(
            f"{path} cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}"
        ) from None
