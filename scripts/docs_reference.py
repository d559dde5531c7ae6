"""Reference pages made from declarations: every command with its options, every public function
with its parameters."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: sections of docstrings, as they are headed in the code
_SECTIONS = re.compile(r"^(Parameters|Returns|Raises|Examples)\n-+\n", re.MULTILINE)
_ROLE = re.compile(r":\w+:`([^`]+)`")


def commands() -> str:
    """Every command, with its arguments and options."""
    from spanlab.cli.app import command_line

    return "\n".join(_commands(command_line(), "spanlab"))


def _commands(group: Any, path: str) -> Iterator[str]:
    context = group.make_context(path, [], resilient_parsing=True)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        if hasattr(command, "list_commands"):  # a group of commands of typer's or of click's
            yield from _commands(command, f"{path} {name}")
            continue
        inside = context.__class__(command, parent=context, info_name=name)
        records = [record for parameter in command.params if (record := parameter.get_help_record(inside)) is not None]
        rows = [(f"`{_form(form)}`", _range(_cell(meaning))) for form, meaning in records]
        yield f"## `{path} {name}`\n\n{' '.join((command.help or '').split())}\n"
        if rows:
            yield "| argument or option | meaning |\n| --- | --- |\n" + "".join(
                f"| {form} | {meaning} |\n" for form, meaning in rows
            )


def _form(form: str) -> str:
    """An argument or an option as it is typed; types that are not named by SpanLab are in words of
    ours."""
    place = {"int": " N", "float": " X"}
    named = re.sub(r" <(\w+)[^>]*>$", lambda found: place.get(found[1], " VALUE") if form.startswith("-") else "", form)
    return named.replace("|", "\\|")


def _range(meaning: str) -> str:
    """The range of a number in words."""
    both = re.sub(r"(-?[\d.]+)(?:&lt;=|<=)x(?:&lt;=|<=)(-?[\d.]+)", r"\1 to \2", meaning)
    return re.sub(r"x(?:&lt;=|<=)(-?[\d.]+)", r"at most \1", re.sub(r"x>=(-?[\d.]+)", r"at least \1", both))


def _cell(text: str) -> str:
    """A text for a cell of a table; what Markdown would take for a tag, it takes for text."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def public_functions() -> str:
    """Every public name of ``spanlab``, from its docstring."""
    import spanlab

    return "\n".join(_entry(name, getattr(spanlab, name)) for name in sorted(spanlab.__all__, key=str.lower))


def _entry(name: str, thing: Any) -> str:
    kind = inspect.isclass(thing)
    signature = "" if kind and issubclass(thing, Exception) else _signature(name, thing)
    parts = [f"## `{name}`\n", f"```text\n{signature}\n```\n" if signature else "", _described(thing)]
    if kind and not issubclass(thing, Exception):
        for member, value in vars(thing).items():
            described = getattr(value, "func", getattr(value, "fget", value))
            if not member.startswith("_") and inspect.isfunction(described):
                parts.append(f"### `{name}.{member}`\n\n{_described(described)}")
    return "\n".join(filter(None, parts))


def _signature(name: str, thing: Any) -> str:
    """The call of a function: a parameter to a line where one line would be long."""
    shown: list[str] = []
    for parameter in inspect.signature(thing).parameters.values():
        if (
            parameter.kind is parameter.KEYWORD_ONLY
            and "*" not in shown
            and not any(one.startswith("*") for one in shown)
        ):
            shown.append("*")
        star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        shown.append(
            star + parameter.name + ("" if parameter.default is parameter.empty else f"={parameter.default!r}")
        )
    line = f"{name}({', '.join(shown)})"
    return line if len(line) <= 88 else f"{name}(\n" + "".join(f"    {one},\n" for one in shown) + ")"


def _described(thing: Any) -> str:
    """A docstring as Markdown."""
    text = _ROLE.sub(r"`\1`", inspect.getdoc(thing) or "").replace("``", "`")
    before, *rest = _SECTIONS.split(text)
    said = [before.strip() + "\n"]
    for heading, body in zip(rest[::2], rest[1::2], strict=True):
        said.append(f"**{heading}**\n\n{_section(heading, body.strip())}")
    return "\n".join(said)


def _section(heading: str, body: str) -> str:
    if heading == "Examples":
        return f"```pycon\n{body}\n```\n"
    if heading == "Parameters":
        pairs = [line.split(" : ", 1) for line in re.sub(r"\n +", " ", body).splitlines() if " : " in line]
        return "| parameter | meaning |\n| --- | --- |\n" + "".join(
            f"| `{name}` | {_cell(meaning)} |\n" for name, meaning in pairs
        )
    if heading == "Raises":
        raised = [" ".join(line.split()) for line in re.sub(r"\n +", " : ", body).splitlines()]
        return (
            "\n".join(
                f"* `{name}`: {meaning.replace(' : ', ' ')}"
                for name, _, meaning in (line.partition(" : ") for line in raised)
            )
            + "\n"
        )
    return " ".join(body.split()) + "\n"


#: the files of the example package, by what they show
PLUGIN = {
    "project": "pyproject.toml",
    "paradigm": "rings.yaml",
    "stimulus": "spanlab_example/gap_ring.py",
    "response": "spanlab_example/count.py",
    "agent": "spanlab_example/stubborn.py",
    "event": "spanlab_example/guess.py",
    "cell": "spanlab_example/leaky.py",
    "effect": "spanlab_example/session_course.py",
    "format": "spanlab_example/lab_json.py",
    "command": "spanlab_example/slowest.py",
}


def plugin_file(what: str) -> str:
    """A file of the example package."""
    path = Path(__file__).resolve().parent.parent / "examples" / "plugin" / PLUGIN[what]
    language = {".py": "python", ".yaml": "yaml", ".toml": "toml"}[path.suffix]
    return f"```{language}\n{path.read_text(encoding='utf-8')}```\n"
