"""Protocols of the N-back study, read from the user's own copy of its notebooks: what was sent to
the models becomes a preset file for each notebook.

Notebooks are read as Python and never run. A block is a loop that begins with ``messages = [...]``;
what it appends to ``messages`` are the turns. Whatever is written in another way than this reader
knows is refused, with the notebook and the level.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from spanlab.core import SpanLabError, grouped, write_whole, written_in

#: The paradigm of each notebook, and the size of its grid where the paradigm has several.
PARADIGMS: Mapping[str, tuple[str, int | None]] = {
    "verbal": ("nback_verbal", None),
    "verbal_with_noise": ("nback_verbal_noise", None),
    "verbal_with_feedback": ("nback_verbal_feedback", None),
    "verbal_think_by_step": ("nback_verbal_reasoning", None),
    "verbal_other_models": ("nback_verbal", None),
    **{f"spatial_{size}*{size}": ("nback_spatial", size) for size in (3, 4, 5, 7)},
    "spatial_with_noise": ("nback_spatial_noise", None),
    "spatial_with_feedback": ("nback_spatial_feedback", None),
    "spatial_think_by_step": ("nback_spatial_reasoning", None),
    "spatial_abstraction": ("nback_abstraction", None),
    "spatial_abstraction_2": ("nback_abstraction_strict", None),
}
#: Sampling settings that a call may have, under the same names here and there.
_SAMPLING = ("temperature", "top_p", "max_tokens", "seed", "stop", "frequency_penalty", "presence_penalty")
#: those that are settings of chat models; others are further fields of a request
_SETTINGS = ("temperature", "max_tokens")
#: A reply that cannot be read is asked for again without end.
_WITHOUT_END = 1000


@dataclass(frozen=True, slots=True)
class LevelProtocol:
    """Protocol of a notebook in the blocks of one level.

    Parameters
    ----------
    n : the level
    role, instructions : of the first message
    first_turn, turn : words of the first question and of the others, with ``{shown}`` and
        ``{before}`` (feedback)
    reask, reask_text : how often an unreadable reply is asked for again, and how
    prefilled : questions at the beginning of a block that are not put: their right answers are
        written into the conversation
    """

    n: int
    role: str
    instructions: str
    first_turn: str
    turn: str
    reask: int
    reask_text: str
    prefilled: int

    @property
    def turns(self) -> tuple[str, ...]:
        """Everything but the instructions, which a preset has once for all of its levels."""
        return (self.role, self.first_turn, self.turn, str(self.reask), self.reask_text, str(self.prefilled))


@dataclass(frozen=True, slots=True)
class NotebookProtocol:
    """Protocol of a notebook: its levels, and the sampling settings of its calls."""

    name: str
    levels: tuple[LevelProtocol, ...]
    sampling: Mapping[str, Any]


def read_notebook(path: Path) -> NotebookProtocol:
    """Return the protocol in a notebook.

    Raises
    ------
    SpanLabError
        when it is no such notebook, or says something in a way that is not known here.
    """
    if path.stem not in PARADIGMS:
        raise SpanLabError(f"{path}: no notebook of the study has this name; they are {', '.join(PARADIGMS)}")
    levels: dict[int, LevelProtocol] = {}
    sampling: dict[str, Any] = {}
    for tree in _cells(path):
        sampling |= _sampling(tree, path)
        for loop in tree.body:
            if isinstance(loop, ast.For) and (opening := _opening(loop)) is not None:
                level = _level(loop, opening, path)
                levels[level.n] = level
    if not levels:
        raise SpanLabError(f"{path}: there is no block here (a loop that begins with messages = [...])")
    return NotebookProtocol(path.stem, tuple(levels[n] for n in sorted(levels)), sampling)


def _cells(path: Path) -> Iterator[ast.Module]:
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SpanLabError(f"{path} cannot be read as a notebook: {error}") from None
    for source in sources:
        plain = "\n".join("" if re.match(r"\s*[%!]", line) else line for line in source.split("\n"))
        try:
            yield ast.parse(plain)
        except SyntaxError as error:
            if "messages" in plain:
                raise SpanLabError(
                    f"{path}: a cell with messages is not Python (line {error.lineno}: {error.msg})"
                ) from None


def _sampling(tree: ast.Module, path: Path) -> dict[str, Any]:
    """The sampling settings of the calls of a server."""
    sampling: dict[str, Any] = {}
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "create":
            for keyword in (one for one in call.keywords if one.arg not in ("model", "messages")):
                if keyword.arg not in _SAMPLING or not isinstance(keyword.value, ast.Constant):
                    raise SpanLabError(
                        f"{path}: the call of the server has {keyword.arg}={ast.unparse(keyword.value)}, which no"
                        " preset can say"
                    )
                sampling[keyword.arg] = keyword.value.value
    return sampling


def _opening(loop: ast.For) -> ast.Dict | None:
    """The first message of a block, in the loop over blocks."""
    for statement in loop.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="messages")], value=ast.List(elts=[ast.Dict() as message])):
                return message
            case _:
                continue
    return None


def _level(loop: ast.For, opening: ast.Dict, path: Path) -> LevelProtocol:
    found = [
        re.match(r"(\d)back_", node.value)
        for node in ast.walk(loop)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    numbers = {int(match[1]) for match in found if match}
    if len(numbers) != 1:
        raise SpanLabError(f"{path}: a block belongs to no level, or to several ({sorted(numbers)})")
    n = numbers.pop()
    where = f"{path}, {n}-back"
    role, content = _message(opening, where)
    instructions = _words(content, {}, where)
    if "{shown}" in instructions or "{before}" in instructions:
        raise SpanLabError(f"{where}: the first message depends on a trial")
    inner = next((part for part in loop.body if isinstance(part, ast.For)), None)
    if inner is None:
        raise SpanLabError(f"{where}: there is no loop over trials")
    turns = _Turns(where)
    turns.read(inner.body, first=None, again=0)
    if not turns.turn:
        raise SpanLabError(f"{where}: no turn is sent")
    return LevelProtocol(
        n,
        role,
        instructions,
        turns.first_turn or turns.turn,
        turns.turn,
        turns.reask,
        turns.reask_text,
        turns.prefilled,
    )


class _Turns:
    """The turns of a trial, found by walking through the statements of its loop."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.turn = self.first_turn = self.reask_text = ""
        self.reask = self.prefilled = 0
        self._inputs: dict[bool | None, str] = {}

    def read(self, statements: Sequence[ast.stmt], first: bool | None, again: int) -> None:
        """Read statements, of which it is known whether they are for the first trial, and how often
        a reply has been asked for again there."""
        for statement in statements:
            match statement:
                case ast.If(
                    test=ast.Compare(left=ast.Name(id="i"), ops=[ast.Lt()], comparators=[ast.Constant(value=int(many))])
                ):
                    self.prefilled = many
                    self.read(statement.orelse, first, again)
                case ast.If(
                    test=ast.Compare(left=ast.Name(id="i"), ops=[ast.Eq()], comparators=[ast.Constant(value=0)])
                ):
                    self.read(statement.body, True, again)
                    self.read(statement.orelse, False, again)
                case ast.If():
                    self.read(statement.body, first, again)
                    self.read(statement.orelse, first, again)
                case ast.While():
                    self.read(statement.body, first, _WITHOUT_END)
                case ast.Assign(targets=[ast.Name(id="input")], value=value):
                    self._inputs[first] = _words(value, {}, self.where)
                case ast.Expr(
                    value=ast.Call(
                        func=ast.Attribute(value=ast.Name(id="messages"), attr="append"), args=[ast.Dict() as message]
                    )
                ):
                    self._append(message, first, again)
                case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="messages")))):
                    raise SpanLabError(
                        f"{self.where}: messages are changed in a way that is not known here:"
                        f" {ast.unparse(statement)[:80]}"
                    )
                case _:
                    continue

    def _append(self, message: ast.Dict, first: bool | None, again: int) -> None:
        role, content = _message(message, self.where)
        if role == "assistant":
            return  # the model's own reply, or what is read in it
        if role != "user":
            raise SpanLabError(f"{self.where}: a turn of the role {role}")
        if isinstance(content, ast.Constant):
            self.reask, self.reask_text = max(again, 1), str(content.value)
            return
        if not (isinstance(content, ast.Name) and content.id == "input"):
            self.turn = _words(content, {}, self.where)
            return
        self.turn = self._inputs.get(False) or self._inputs.get(None, "")
        self.first_turn = self._inputs.get(True, self.turn)


def _message(message: ast.Dict, where: str) -> tuple[str, ast.expr]:
    """The role and the content of a message."""
    parts = {
        key.value: value
        for key, value in zip(message.keys, message.values, strict=True)
        if isinstance(key, ast.Constant)
    }
    role = parts.get("role")
    if set(parts) != {"role", "content"} or not isinstance(role, ast.Constant):
        raise SpanLabError(f"{where}: a message is no role with a content: {ast.unparse(message)[:80]}")
    return str(role.value), parts["content"]


def _words(value: ast.expr, names: Mapping[str, str], where: str) -> str:
    """A text as a preset has it: what is shown and the feedback are gaps.

    Raises
    ------
    SpanLabError
        when it is put together in another way.
    """
    match value:
        case ast.Constant(value=str(text)):
            if "{shown}" in text or "{before}" in text:
                raise SpanLabError(f"{where}: a text holds a gap of SpanLab's: {text[:80]}")
            return text
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _words(left, names, where) + _words(right, names, where)
        case ast.JoinedStr(values=values):
            return "".join(
                _words(part.value if isinstance(part, ast.FormattedValue) else part, names, where) for part in values
            )
        case ast.Subscript(slice=ast.Constant(value="stimulus")):
            return "{shown}"
        case ast.Name(id="feedback"):
            return "{before}"
        case _:
            raise SpanLabError(
                f"{where}: a text is put together in a way that is not known here: {ast.unparse(value)[:80]}"
            )


def presets_of(protocol: NotebookProtocol) -> dict[str, dict[str, Any]]:
    """Return the preset files of a notebook, by name: one, or one for each group of levels whose
    turns differ."""
    groups = grouped((level.turns, level) for level in protocol.levels)
    presets: dict[str, dict[str, Any]] = {}
    for levels in groups.values():
        numbers = "" if len(groups) == 1 else "-" + "".join(str(level.n) for level in levels)
        presets[protocol.name.replace("*", "x") + numbers] = _preset(protocol, levels)
    return presets


def _preset(protocol: NotebookProtocol, levels: Sequence[LevelProtocol]) -> dict[str, Any]:
    paradigm, grid = PARADIGMS[protocol.name]
    first = levels[0]
    beside = f" and grid == {grid}" if grid else ""
    # braces within a text would end the gap
    texts = [repr(level.instructions).replace("{", "\\x7b").replace("}", "\\x7d") for level in levels]
    choices = " else ".join(f"{text} if n == {level.n}{beside}" for text, level in zip(texts, levels, strict=True))
    settings: dict[str, Any] = {
        "instructions_as": first.role,
        "preamble": "",
        "wording": "bare",
        "turn": first.turn,
        "delivery": "separate" if first.role == "user" else "merged",
        "history": "extracted",
        "extraction": "first_character",
        "reask": first.reask,
        **{name: value for name, value in protocol.sampling.items() if name in _SETTINGS},
    }
    if further := {name: value for name, value in protocol.sampling.items() if name not in _SETTINGS}:
        settings["extra_body"] = further
    if first.first_turn != first.turn:
        settings["first_turn"] = first.first_turn
    if first.reask_text:
        settings["reask_text"] = first.reask_text
    if first.prefilled:
        settings["warm_up"] = first.prefilled
    numbers = ", ".join(str(level.n) for level in levels)
    about = (
        f"Imported from {protocol.name}.ipynb of the N-back study, word for word, for n = {numbers}"
        + (f" and grid = {grid}" if grid else "")
        + "."
    )
    if first.prefilled:
        about += (
            f" The notebook writes the right answers to the first {first.prefilled} questions itself; here the model is"
            " asked, and they are marked."
        )
    # of another level there is no text: the empty list has no item, and that is said before the
    # session
    return {"about": about, "settings": settings, "instructions": {paradigm: "{=" + choices + " else [][0]}"}}


def write_presets(protocols: Sequence[NotebookProtocol], folder: Path) -> list[Path]:
    """Write the preset files of notebooks and return their paths.

    Raises
    ------
    SpanLabError
        when one is there already, or cannot be written.
    """
    contents = {
        folder / f"{name}.yaml": preset for protocol in protocols for name, preset in presets_of(protocol).items()
    }
    if there := [path for path in contents if path.exists()]:
        raise SpanLabError(f"{there[0]} is there already: give another folder with -o")
    with written_in(folder, f"to {folder}"):
        for path, preset in contents.items():
            write_whole(path, yaml.safe_dump(preset, allow_unicode=True, sort_keys=False, width=10_000).encode())
    return list(contents)
