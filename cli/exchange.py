"""``spanlab import`` and ``spanlab export``, with a command for each format that reads or writes
something. Part of the command line."""

from __future__ import annotations

from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup
from typing_extensions import override

from ..api.listing import all_formats
from ..api.options import SetOption, parse_generator, parse_levels
from ..core.errors import SpanLabError
from .command_table import SETTINGS

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from ..exchange import Format, Options, Side


class _Formats(TyperGroup):
    """The commands of one direction, made from what the formats declare when one of them is asked
    for."""

    imports: bool

    @override
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        self.commands.clear()  # the command line is made once in a process: formats may have gone since
        for format_ in all_formats():
            side = format_.reads if self.imports else format_.writes
            if side is not None:
                self.add_command(_command(format_, side, self.imports), format_.name)
        return super().parse_args(ctx, args)


class _Imports(_Formats):
    imports = True


class _Exports(_Formats):
    imports = False


import_app = typer.Typer(
    help="Read trials, results and sessions that others have published: spanlab import FORMAT SOURCE... -o PLACE.",
    cls=_Imports,
    no_args_is_help=True,
    **SETTINGS,
)
export_app = typer.Typer(
    help="Write trials and sessions in other file formats: spanlab export FORMAT SOURCE... -o PLACE.",
    cls=_Exports,
    no_args_is_help=True,
    **SETTINGS,
)


@import_app.callback()
def _import() -> None: ...


@export_app.callback()
def _export() -> None: ...


def _command(format_: Format[Any, Any], side: Side, imports: bool) -> Any:
    """The command of one side of a format."""
    from ..exchange import Report

    fields = side.options.model_fields

    def run(**given: Any) -> None:
        sources, output = _places(given.pop("_sources"), given.pop("_output"), side, imports)
        options = _options(side.options, given)
        call = format_.read if imports else format_.write
        call(sources, output, options, Report())

    sources = _parameter(
        "_sources", list[Path if imports else str], typer.Argument(help=side.source.help, metavar=side.source.metavar)
    )
    output = _output(side, imports)
    parameters = [sources, output, *(_option(name, field) for name, field in fields.items())]
    run.__dict__["__signature__"] = Signature(parameters)
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__doc__ = side.help
    app = typer.Typer(**SETTINGS)
    app.command(format_.name)(run)
    return typer.main.get_command(app)


def _places(sources: list[Any], output: Path | None, side: Side, imports: bool) -> tuple[list[Any], Path]:
    """Return what is read and where it is written; an export without -o goes to the last place that
    is named.

    Raises
    ------
    SpanLabError
        when either is missing, or a format takes one source and there are several.
    """
    if output is None and len(sources) > 1 and not imports:
        *sources, last = sources
        output = Path(last)
    if output is None and side.content != "table":
        raise SpanLabError("where to? Name it with -o, such as -o shared")
    if len(sources) > 1 and not side.source.many:
        raise SpanLabError(f"this format takes one {side.source.metavar} at a time; found {len(sources)}")
    return sources, output or Path()


def _output(side: Side, imports: bool) -> Parameter:
    if not imports:
        return _parameter(
            "_output",
            Path | None,
            typer.Option("-o", "--output", help=side.target.help, metavar=side.target.metavar),
            None,
        )
    if side.content == "trials":
        return _parameter(
            "_output",
            Path | None,
            typer.Option("-o", "--output", help="new folder for the trials files", metavar="DIR"),
            None,
        )
    if side.content == "presets":
        return _parameter(
            "_output",
            Path | None,
            typer.Option("-o", "--output", help="folder for the preset files", metavar="DIR"),
            None,
        )
    if side.content == "table":
        return _parameter(
            "_output", Path | None, typer.Option("-o", "--output", help="new response table", metavar="FILE.csv"), None
        )
    return _parameter(
        "_output",
        Path | None,
        typer.Option("-o", "--output", "--data", help="folder for sessions", metavar="DATA"),
        None,
    )


def _option(name: str, field: FieldInfo) -> Parameter:
    """An option as its field declares it."""
    from ..exchange.format import Flag, Levels

    if field.annotation == Levels:
        return Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=SetOption)
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
    annotation = _as_typed(field.annotation)
    return _parameter(
        name,
        annotation,
        option,
        Parameter.empty if field.is_required() else field.get_default(call_default_factory=True),
    )


def _as_typed(annotation: Any) -> Any:
    """The type of an option for a field. The name of a generator is checked later, so that its
    error message is the usual one."""
    from ..paradigms import Generator

    return {Generator: str, Generator | None: str | None}.get(annotation, annotation)


def _parameter(name: str, annotation: Any, info: Any, default: Any = Parameter.empty) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[annotation, info])


def _options(model: type[Options], given: dict[str, Any]) -> Any:
    """The options of a format from what was typed."""
    from ..exchange.format import Levels
    from ..paradigms.language.diagnostics import validated

    for name, field in model.model_fields.items():
        if field.annotation == Levels:
            given[name] = parse_levels(given[name])
        elif _as_typed(field.annotation) != field.annotation and given[name] is not None:
            given[name] = parse_generator(given[name])
    options, problems = validated(model, given)
    if options is None:
        raise SpanLabError(
            "\n".join(f"--{'.'.join(map(str, path)).replace('_', '-')}: {message}" for path, message in problems)
        )
    return options
