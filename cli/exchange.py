"""``spanlab import`` and ``spanlab export``, with a command for each format that reads or writes
something."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from inspect import Parameter, Signature, unwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer
from typing_extensions import override

from ..api.exchange import export, import_data
from ..api.listing import all_formats
from ..api.options import LevelsOption, parse_generator, parse_levels
from .making import QUIET, SETTINGS, parameter, show, spelt

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from ..exchange import Format, Options, Side


class Formats(Mapping[str, Any]):
    """The commands of one direction, made from what the formats declare when one of them is asked
    for."""

    def __init__(self, imports: bool) -> None:
        self._imports = imports

    def _sides(self) -> dict[str, tuple[Format[Any, Any], Side]]:
        sides = ((one, one.reads if self._imports else one.writes) for one in all_formats())
        return {one.name: (one, side) for one, side in sides if side is not None}

    @override
    def __getitem__(self, name: str) -> Any:
        return _command(*self._sides()[name], self._imports)

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._sides())

    @override
    def __len__(self) -> int:
        return len(self._sides())


#: where each content of an import goes
_GOES = {
    "trials": (("-o", "--output"), "new folder for the trials files", "DIR"),
    "presets": (("-o", "--output"), "folder for the preset files", "DIR"),
    "table": (("-o", "--output"), "new response table", "FILE.csv"),
    "sessions": (("-o", "--output", "--data"), "folder for sessions", "DATA"),
}


def _command(format_: Format[Any, Any], side: Side, imports: bool) -> Any:
    """The command of one side of a format."""
    fields = side.options.model_fields
    call = unwrap(import_data if imports else export)

    def run(_quiet: bool = False, **given: Any) -> None:
        sources, output = given.pop("_sources"), given.pop("_output")
        with spelt({"levels": "--set"}):
            found = call(format_.name, sources, output, **_read(side.options, given))
        show(found, quiet=_quiet)

    place = (
        _GOES.get(side.content, _GOES["sessions"])
        if imports
        else (("-o", "--output"), side.target.help, side.target.metavar)
    )
    parameters = [
        parameter(
            "_sources", Annotated[list[Path], typer.Argument(help=side.source.help, metavar=side.source.metavar)]
        ),
        parameter("_output", Annotated[Path | None, typer.Option(*place[0], help=place[1], metavar=place[2])], None),
        *(_option(name, field) for name, field in fields.items()),
        parameter("_quiet", QUIET, False),
    ]
    run.__dict__["__signature__"] = Signature(parameters)
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__doc__ = side.help
    app = typer.Typer(**SETTINGS)
    app.command(format_.name)(run)
    return typer.main.get_command(app)


def _option(name: str, field: FieldInfo) -> Parameter:
    """An option as its field declares it."""
    from ..exchange.format import Flag, Levels

    if field.annotation == Levels:
        return parameter(name, Annotated[list[str] | None, get_args(LevelsOption)[1]], None)
    flag = next((constraint for constraint in field.metadata if isinstance(constraint, Flag)), Flag())
    written = flag.name or f"--{name.replace('_', '-')}"
    if field.annotation is bool:
        written += f"/--no-{written.removeprefix('--')}" if field.default else ""
    bounds = {
        bound: value
        for constraint in field.metadata
        for bound in ("ge", "le")
        if (value := getattr(constraint, bound, None)) is not None
    }
    option = typer.Option(
        written, help=field.description, metavar=flag.metavar or None, min=bounds.get("ge"), max=bounds.get("le")
    )
    default = Parameter.empty if field.is_required() else field.get_default(call_default_factory=True)
    return parameter(name, Annotated[_as_typed(field.annotation), option], default)


def _as_typed(annotation: Any) -> Any:
    """The type of an option for a field. The name of a generator is checked later, so that its
    error message is the usual one."""
    from ..paradigms import Generator

    return {Generator: str, Generator | None: str | None}.get(annotation, annotation)


def _read(model: type[Options], given: dict[str, Any]) -> dict[str, Any]:
    """What was typed, as the options of a format are."""
    from ..exchange.format import Levels

    for name, field in model.model_fields.items():
        if field.annotation == Levels:
            given[name] = parse_levels(given[name])
        elif _as_typed(field.annotation) != field.annotation and given[name] is not None:
            given[name] = parse_generator(given[name])
    return given
