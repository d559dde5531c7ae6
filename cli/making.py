"""Commands are made from public functions: what is typed becomes the function's parameters, and
what it finds is printed."""

from __future__ import annotations

import functools
import json
import operator
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import Parameter, Signature, unwrap
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from ..api.options import (
    Declared,
    Levels,
    PathLike,
    Paths,
    Price,
    Settings,
    Words,
    declared,
    parse_levels,
    parse_pairs,
    summary,
)
from ..core.errors import SpanLabError

#: how what Python takes is typed
_TYPED: dict[Any, Any] = {
    PathLike: Path,
    Paths: list[Path],
    Words: list[str],
    Levels: list[str],
    Settings: list[str],
    Price: list[str],
    bool | str: bool,
    int | Sequence[int]: list[int],
}
#: what every command line of SpanLab has
SETTINGS: dict[str, Any] = {"add_completion": False, "rich_markup_mode": None}
JSON = Annotated[bool, typer.Option("--json", help="print the numbers as JSON", show_default=False)]
QUIET = Annotated[bool, typer.Option("--quiet", help="print nothing but warnings and errors", show_default=False)]


def as_command(function: Callable[..., Any]) -> Callable[..., None]:
    """The command of a public function, as typer takes it."""
    function = unwrap(function)
    options = {name: one for name, one in declared(function).items() if one.info is not None}
    finds = function.__annotations__.get("return") not in (None, "None")

    def command(_context: typer.Context, **typed: Any) -> None:
        as_json, quiet = typed.pop("_json", False), typed.pop("_quiet", False)
        with spelt({name: one.spelling or name.upper() for name, one in options.items()}):
            given = {
                name: _read(options[name], value)
                for name, value in typed.items()
                if getattr(_context.get_parameter_source(name), "name", "DEFAULT") != "DEFAULT"
            }
            found = function(**given)
        show(found, as_json=as_json, quiet=quiet)

    parameters = [parameter("_context", typer.Context)]
    for name, one in options.items():
        parameters.append(parameter(name, Annotated[_typed(one), one.info], _default(one)))
    if finds:
        parameters += [parameter("_json", JSON, False), parameter("_quiet", QUIET, False)]
    command.__dict__["__signature__"] = Signature(parameters)
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    command.__doc__ = summary(function)
    return command


@contextmanager
def spelt(spellings: Mapping[str, str]) -> Iterator[None]:
    """Errors spell options as they are typed."""
    try:
        yield
    except SpanLabError as error:
        error.spellings = spellings
        raise


def show(result: Any, *, as_json: bool = False, quiet: bool = False) -> None:
    """Print what a function found: cautions and summary on the error stream, then what it says, or
    its numbers.

    Raises
    ------
    SpanLabError
        with what is wrong.
    """
    for caution in getattr(result, "cautions", ()):
        print(caution, file=sys.stderr)
    for line in () if quiet else getattr(result, "summary", ()):
        print(line, file=sys.stderr)
    if as_json:
        print(json.dumps(result.to_dict(), ensure_ascii=False, indent=1))
    elif result is not None and not quiet and (text := str(result)):
        print(text)
    if wrong := getattr(result, "wrong", ()):
        raise SpanLabError("\n".join(wrong))


def parameter(name: str, annotation: Any, default: Any = Parameter.empty) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _alone(annotation: Any) -> Any:
    """A type without None."""
    kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
    return functools.reduce(operator.or_, kinds) if type(None) in get_args(annotation) else annotation


def _typed(one: Declared) -> Any:
    kind = _TYPED.get(_alone(one.annotation))
    if kind is None:
        return one.annotation
    return kind if one.default is Parameter.empty else kind | None


def _default(one: Declared) -> Any:
    if one.default == ():
        return None
    is_place = isinstance(one.default, str) and _TYPED.get(_alone(one.annotation)) is Path
    return Path(one.default) if is_place else one.default


def _read(one: Declared, value: Any) -> Any:
    kind = _alone(one.annotation)
    if kind == Settings:
        return parse_pairs(value, one.spelling)
    return parse_levels(value) if kind == Levels else value
