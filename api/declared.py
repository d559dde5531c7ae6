"""How a public function is declared once: its parameters are annotated with a line of help, from
which ``help()`` has its documentation and the command line its options. What it finds shows itself
at a terminal, and is a table or a dictionary for programs."""

from __future__ import annotations

import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, ParamSpec, TypeVar, get_args, get_origin, get_type_hints

from typer.models import ParameterInfo
from typing_extensions import Doc, Unpack

if TYPE_CHECKING:
    import pandas as pd

_P = ParamSpec("_P")
_R = TypeVar("_R")

PathLike = str | Path
Paths = str | Path | Sequence[str | Path]
Words = str | Sequence[str]

#: where the sections of a docstring begin
_SECTION = re.compile(r"^(Returns|Raises|Examples)\n-+$", re.MULTILINE)


class Declared(NamedTuple):
    """A parameter: what it may be, the line that says what it is, how it is typed on the command
    line (None where it cannot be), and what it is when it is not given."""

    annotation: Any
    help: str
    info: ParameterInfo | None
    default: Any

    @property
    def spelling(self) -> str:
        """The long form of the option; empty for an argument."""
        written = () if self.info is None else (self.info.default, *(self.info.param_decls or ()))
        return next((one.split("/")[0] for one in written if isinstance(one, str) and one.startswith("--")), "")


def declared(function: Callable[..., Any]) -> dict[str, Declared]:
    """The parameters of a public function, in order, those of an unpacked declaration one by one."""
    hints = {name: hint for name, hint in inspect.get_annotations(function).items() if name != "return"}
    types = get_type_hints(SimpleNamespace(__annotations__=hints), function.__globals__, include_extras=True)
    found: dict[str, Declared] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if get_origin(types[name]) is Unpack:
            options = get_args(types[name])[0]
            fields = get_type_hints(options, include_extras=True)
            found |= {one: _declared(hint, None) for one, hint in fields.items()}
        else:
            found[name] = _declared(types[name], parameter.default)
    return found


def _declared(annotation: Any, default: Any) -> Declared:
    what, *more = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    info = next((one for one in more if isinstance(one, ParameterInfo)), None)
    said = info.help or "" if info is not None else "".join(one.documentation for one in more if isinstance(one, Doc))
    return Declared(what, said, info, default)


def public(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """A function of ``spanlab``: its documentation has its parameters."""
    parameters = declared(function)
    signature = _signature(function, parameters)

    @functools.wraps(function)
    def called(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        signature.bind(*args, **kwargs)
        return function(*args, **kwargs)

    doc = inspect.cleandoc(function.__doc__ or "")
    place = found.start() if (found := _SECTION.search(doc)) else len(doc)
    lines = "\n".join(
        textwrap.fill(f"{name} : {one.help}", 100, subsequent_indent="    ") for name, one in parameters.items()
    )
    section = f"\n\nParameters\n----------\n{lines}\n\n" if lines else "\n\n"
    called.__dict__["__signature__"] = signature
    called.__doc__ = f"{doc[:place].rstrip()}{section}{doc[place:]}".rstrip() + "\n"
    return called


def _signature(function: Callable[..., Any], parameters: Mapping[str, Declared]) -> inspect.Signature:
    """The signature as ``help()`` shows it: types without what only the command line needs."""
    known = inspect.signature(function)
    kinds = {name: known.parameters[name].kind for name in parameters if name in known.parameters}
    shown = [
        inspect.Parameter(
            name, kinds.get(name, inspect.Parameter.KEYWORD_ONLY), default=one.default, annotation=one.annotation
        )
        for name, one in parameters.items()
    ]
    return known.replace(parameters=shown)


def summary(function: Callable[..., Any]) -> str:
    """What a function does: its docstring without the sections."""
    doc = inspect.cleandoc(inspect.unwrap(function).__doc__ or "")
    return doc[: found.start()] if (found := _SECTION.search(doc)) else doc


def part(options: Mapping[str, Any], of: Any) -> dict[str, Any]:
    """Those of some options that a declaration has."""
    return {name: value for name, value in options.items() if name in of.__annotations__}


def paths(given: Paths) -> list[Path]:
    return [Path(given)] if isinstance(given, str | Path) else [Path(path) for path in given]


def words(given: Words) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


@dataclass
class Result:
    """What a public function found. It shows itself at a terminal and in a notebook.

    Parameters
    ----------
    lines : what it says
    tables : its numbers, the most important table first
    files : what was written
    cautions : what looks like a mistake in what was given
    wrong : what is not as it should be; the command fails
    """

    lines: list[str] = field(default_factory=list)
    tables: Mapping[str, pd.DataFrame | Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    files: list[Path] = field(default_factory=list)
    cautions: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return "\n".join(self.lines)

    __repr__ = __str__

    @property
    def file(self) -> Path:
        """The first of the files that were written: the page of a report."""
        return self.files[0]

    def to_frame(self, table: str = "") -> pd.DataFrame:
        """A table of its numbers, the first when none is named."""
        import pandas as pd

        return pd.DataFrame(self.tables[table or next(iter(self.tables))])

    def to_dict(self) -> dict[str, Any]:
        """All its tables, as lists of rows, and the files that were written."""
        tables = {name: records(table) for name, table in self.tables.items()}
        return {**tables, "files": [str(path) for path in self.files], "cautions": self.cautions, "wrong": self.wrong}


def records(table: Any) -> list[dict[str, Any]]:
    """The rows of a table as JSON can have them: what is missing is None."""
    rows = table.to_dict("records") if hasattr(table, "to_dict") else table
    return [{str(name): _plain(value) for name, value in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return value if isinstance(value, str | int | float | bool | list | dict | None) else str(value)
