"""Trials, results and sessions in formats of others."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typing_extensions import Doc

from ..core.errors import SpanLabError
from .options import PathLike, Paths, Result, as_path, paths, public

if TYPE_CHECKING:
    from ..exchange import Format

FormatName = Annotated[str, Doc("name of the format; spanlab list --formats names them")]
FormatOptions = Annotated[Any, Doc("of the format, as its command has them")]


@public
def export(
    format_name: FormatName,
    sources: Annotated[Paths, Doc("what is written in this format: sessions, folders of sessions, or paradigms")],
    output: Annotated[PathLike | None, Doc("where to")] = None,
    **options: FormatOptions,
) -> Result:
    """Write trials and sessions in another file format.

    Examples
    --------
    >>> result = spanlab.replay("vsr", "ideal", trials=2, levels={"list_length": 3})
    >>> print(spanlab.export("csv", result.folder, "tables"))
    tables: 1 session of 1 participant, 6 rows
    """
    return _exchanged(format_name, sources, output, options, imports=False)


@public
def import_data(
    format_name: FormatName,
    sources: Annotated[Paths, Doc("files or folders in this format")],
    output: Annotated[PathLike | None, Doc("folder or file for what is read")] = None,
    **options: FormatOptions,
) -> Result:
    """Read trials, results and sessions that others have published.

    Examples
    --------
    >>> from pathlib import Path
    >>> table = Path("lab.csv")
    >>> _ = table.write_text("subject,accuracy\\np1,1\\np1,0\\np2,1\\n")
    >>> print(spanlab.import_data("table", table, "answers.csv"))
    answers.csv: 3 answers of 2 participants in 1 session
    """
    return _exchanged(format_name, sources, output, options, imports=True)


def _exchanged(
    name: str, sources: Paths, output: PathLike | None, options: Mapping[str, Any], *, imports: bool
) -> Result:
    """One side of a format at work.

    Raises
    ------
    SpanLabError
        when the format has no such side, what is to be read or where it is written is missing, or
        the format takes one source and there are several.
    """
    from ..exchange import FORMATS, Report
    from ..paradigms.language.diagnostics import validated

    format_, found = FORMATS.get(name)(), Result()
    side = format_.reads if imports else format_.writes
    if side is None:
        raise SpanLabError(f"{name} is not {'read' if imports else 'written'}; see spanlab list --formats")
    places, place = paths(sources), as_path(output)
    if place is None and len(places) > 1 and not imports:  # an export goes to the last place that is named
        *places, place = places
    if place is None and side.content != "table":
        raise SpanLabError("where to? Name it with -o, such as -o shared")
    if len(places) > 1 and not side.source.many:
        raise SpanLabError(f"this format takes one {side.source.metavar} at a time; found {len(places)}")
    chosen, problems = validated(side.options, dict(options))
    if chosen is None:
        raise SpanLabError(
            "\n".join(f"{{{'.'.join(map(str, path))}}}: {message}" for path, message in problems),
            names=[".".join(map(str, path)) for path, _ in problems],
        )
    report = Report(found.lines.append, found.cautions.append)
    if imports:
        format_.read(places, place or Path(), chosen, report)
    else:
        format_.write([str(one) for one in places], place or Path(), chosen, report)
    found.files = [] if place is None else [place]
    return found


def all_formats() -> Iterator[Format[Any, Any]]:
    """Every format; a package that cannot be loaded hinders no other."""
    from ..exchange import FORMATS

    try:
        names = list(FORMATS)
    except SpanLabError as error:
        print(f"NOTE {error}", file=sys.stderr)
        names = FORMATS.loaded()
    for name in names:
        yield FORMATS.get(name)()
