"""Commands are made from public functions: what is typed becomes the function's parameters, and what
it finds is printed. Below, the commands by name: SpanLab's, and those that other packages add
through entry points of the group ``spanlab.commands``. Each is made when it is used; ``import`` and
``export`` have one for each format that reads or writes something."""

from __future__ import annotations

import functools
import json
import operator
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from inspect import Parameter, Signature, unwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer
from typer.core import TyperCommand
from typing_extensions import override

from ..api.exchange import all_formats, export, import_data
from ..api.options import (
    Declared,
    Levels,
    LevelsOption,
    PathLike,
    Paths,
    Price,
    Settings,
    Words,
    declared,
    parse_generator,
    parse_levels,
    parse_pairs,
    summary,
)
from ..core.doors import entry_points_of
from ..core.errors import SpanLabError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from pydantic.fields import FieldInfo

    from ..exchange import Format, Side


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
    return _with_options(function, options, summary(function), finds)


def _with_options(
    function: Callable[..., Any], options: Mapping[str, Declared], doc: str, finds: bool = True
) -> Callable[..., None]:
    """A command with these options, of a function that takes them by name."""

    def command(_context: typer.Context, **typed: Any) -> None:
        as_json, quiet = typed.pop("_json", False), typed.pop("_quiet", False)
        with spelt({name: one.spelling or name.upper() for name, one in options.items()}):
            given = {
                name: _value(options[name], value)
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
    command.__doc__ = doc
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
        print(json.dumps(result.to_dict(), indent=1))
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
    kind = str if _names_generator(one) else _TYPED.get(_alone(one.annotation))
    if kind is None:
        return one.annotation
    return kind if one.default is Parameter.empty else kind | None


def _default(one: Declared) -> Any:
    if one.default == ():
        return None
    is_place = isinstance(one.default, str) and _TYPED.get(_alone(one.annotation)) is Path
    return Path(one.default) if is_place else one.default


def _names_generator(one: Declared) -> bool:
    """Return whether an option is a name that is checked later, so that its error message is the usual one."""
    return "corrected" in get_args(_alone(one.annotation))


def _value(one: Declared, value: Any) -> Any:
    kind = _alone(one.annotation)
    if kind == Settings:
        return parse_pairs(value, one.spelling)
    if _names_generator(one):
        return parse_generator(value)
    return parse_levels(value) if kind == Levels else value


GROUP = "spanlab.commands"
#: The entry points in which other packages say under which panel of the help page their commands
#: stand: ``serve = "people"``.
PANELS_OF_OTHERS = "spanlab.panels"
#: Groups of commands, which are named with a point (``study.status``), and what each is for.
GROUPS = {
    "study": "Look after a study while people take part, and afterwards: spanlab study status STUDY.",
    "import": "Read trials, results and sessions that others have published: spanlab import FORMAT SOURCE... -o PLACE.",
    "export": "Write trials and sessions in other file formats: spanlab export FORMAT SOURCE... -o PLACE.",
}
#: Panels of the help page, in its order: of each command the module, and the
#: function or the group of commands that it has there.
PANELS = {
    "make": {
        "list": "api.listing:catalogue",
        "show": "api.starting:show",
        "new": "api.starting:new",
        "check": "api.checking:check",
    },
    "people": {
        "run": "api.people:run",
        "display": "api.screens:display",
        "timing": "api.screens:timing",
        "study": "",
        "study.status": "api.studies:study_status",
        "study.monitor": "api.studies:study_monitor",
        "study.withdraw": "api.studies:study_withdraw",
    },
    "machines": {
        "replay": "api.machines:replay",
        "resume": "api.people:resume",
        "transcript": "api.transcripts:transcript",
        "train": "api.training:train",
    },
    "compare": {
        "compare": "api.analysing:compare",
        "figure": "api.analysing:figure",
        "scores": "api.analysing:scores",
        "stats": "api.statistics:stats",
    },
    "data": {
        "import": "",
        "export": "",
    },
}
#: The panel of commands of other packages that name none.
OTHERS = "others"
#: What the panels are called on the help page.
TITLES = {
    "make": "Paradigms: look at them, write them",
    "people": "People",
    "machines": "Machines",
    "compare": "Compare",
    "data": "Exchange data with other software",
    OTHERS: "Commands of other packages",
}
COMMANDS = {name: place for panel in PANELS.values() for name, place in panel.items()}


class Commands(MutableMapping[str, Any]):
    """Commands by name, as typer keeps them: those at the top, or those of a group. One that
    another package adds cannot take the name of one of SpanLab's."""

    def __init__(self, group: str = "") -> None:
        self._group = group
        self._made: dict[str, Any] = {}

    @override
    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def _make(self, name: str) -> Any:
        if not self._group and name in GROUPS:
            group = typer.main.get_group(typer.Typer(help=GROUPS[name], no_args_is_help=True, **SETTINGS))
            commands = Commands(name) if name == "study" else Formats(imports=name == "import")
            group.name, group.commands = name, cast("Any", commands)
            return group
        whole = f"{self._group}.{name}" if self._group else name
        return _made(name, _shipped(COMMANDS[whole]) if whole in COMMANDS else _added(_points()[whole]))

    def _names(self) -> list[str]:
        return [
            name for group, _, name in (name.rpartition(".") for name in COMMANDS | _points()) if group == self._group
        ]

    @override
    def __setitem__(self, name: str, command: Any) -> None:
        self._made[name] = command

    @override
    def __delitem__(self, name: str) -> None:
        raise TypeError("commands cannot be removed")

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    @override
    def __len__(self) -> int:
        return len(self._names())


@functools.cache
def _points() -> dict[str, EntryPoint]:
    """The commands of other packages, by name; looked for when SpanLab has no command of a name, or
    when all are listed."""
    points: dict[str, EntryPoint] = {}
    for point in sorted(entry_points_of(GROUP), key=lambda point: point.name):
        if point.name in COMMANDS or point.name in points:
            print(
                f"NOTE the command '{point.name}' of {_package(point)} is left out: there is one of this name already",
                file=sys.stderr,
            )
        else:
            points[point.name] = point
    return points


def panel_of(name: str) -> str:
    """The panel of the help page under which a command stands."""
    for panel, commands in PANELS.items():
        if name in commands:
            return panel
    chosen = _panels_of_others().get(name, OTHERS)
    return chosen if chosen in PANELS else OTHERS


@functools.cache
def _panels_of_others() -> dict[str, str]:
    """The panels that other packages name for their commands; reading them once is a third of the
    help page."""
    return {point.name: point.value for point in entry_points_of(PANELS_OF_OTHERS)}


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value


def _shipped(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(f"spanlab.{module}"), name)


def _added(point: EntryPoint) -> Any:
    """Load the command that an entry point names. If it cannot be loaded, return a command that
    says so: the others still work."""
    try:
        return point.load()
    except Exception as error:
        message = (
            f"the command '{point.name}' of {_package(point)} cannot be loaded ({error}); repair or uninstall that"
            " package"
        )

        def broken() -> None:
            raise SpanLabError(message)

        broken.__doc__ = f"Cannot be loaded: {error}"
        return broken


class _Once(TyperCommand):
    """A command whose options count once: a second ``--by`` never replaces the first without a
    word."""

    @override
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        given = [arg.partition("=")[0] for arg in args]
        for one in self.params:
            times = sum(given.count(option) for option in one.opts)
            if times > 1 and one.nargs == 1 and not (getattr(one, "multiple", True) or getattr(one, "is_flag", False)):
                raise SpanLabError(f"{one.opts[-1]} is given {times} times, and takes one value")
        return super().parse_args(ctx, args)


def _made(name: str, command: typer.Typer | Callable[..., Any]) -> Any:
    """A command, or a group of commands, as click has it."""
    if not isinstance(command, typer.Typer):
        app = typer.Typer(**SETTINGS)
        app.command(name, cls=_Once)(as_command(command) if hasattr(command, "__wrapped__") else command)
        return typer.main.get_command(app)
    group = typer.main.get_group(command)
    group.name = name
    return group


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
    place = (
        _GOES.get(side.content, _GOES["sessions"])
        if imports
        else (("-o", "--output"), side.target.help, side.target.metavar)
    )
    source = typer.Argument(help=side.source.help, metavar=side.source.metavar)
    options = {
        "sources": Declared(list[Path], side.source.help, source, Parameter.empty),
        "output": Declared(Path | None, place[1], typer.Option(*place[0], help=place[1], metavar=place[2]), None),
        **{name: _option(name, field) for name, field in side.options.model_fields.items()},
    }
    call = functools.partial(unwrap(import_data if imports else export), format_.name)
    app = typer.Typer(**SETTINGS)
    app.command(format_.name, cls=_Once)(_with_options(call, options, side.help))
    return typer.main.get_command(app)


def _option(name: str, field: FieldInfo) -> Declared:
    """An option as its field declares it."""
    from ..exchange.format import Flag
    from ..exchange.format import Levels as LevelsOfFormat

    said = field.description or ""
    if field.annotation == LevelsOfFormat:
        return Declared(Levels | None, said, get_args(LevelsOption)[1], None)
    flag = next((constraint for constraint in field.metadata if isinstance(constraint, Flag)), Flag())
    written = flag.name or f"--{name.replace('_', '-')}"
    if field.annotation is bool and field.default:
        written += f"/--no-{written.removeprefix('--')}"
    bounds = {
        bound: value
        for constraint in field.metadata
        for bound in ("ge", "le")
        if (value := getattr(constraint, bound, None)) is not None
    }
    option = typer.Option(written, help=said, metavar=flag.metavar or None, min=bounds.get("ge"), max=bounds.get("le"))
    default = Parameter.empty if field.is_required() else field.get_default(call_default_factory=True)
    return Declared(field.annotation, said, option, default)
