"""The scores of each participant as a table that can be shared: ``spanlab export scores``."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field
from typing_extensions import override

from spanlab.core import SpanLabError
from spanlab.exchange import Flag, Format, Options, Place, Report, Side, counted

from .score_table import ScoreTable

_SESSIONS = Place("sessions, or folders of sessions such as data", "DATA...", many=True)


class ScoresOptions(Options):
    """Options of what is told of participants beside their scores."""

    real_ids: Annotated[bool, Field(description="share the participants' identifiers instead of pseudonyms")] = False
    fields: Annotated[
        str | None, Field(description="answers about people to share, such as age,sex"), Flag(metavar="FIELD,...")
    ] = None


class Scores(Format[Options, ScoresOptions]):
    """Scores of participants, with pseudonyms drawn at random and without what they said of
    themselves unless it is asked for."""

    name = "scores"
    writes = Side(
        "sessions",
        "A row of scores for each participant, a codebook and correlations.",
        ScoresOptions,
        _SESSIONS,
        Place("new or empty folder", "DIR"),
    )

    @override
    def write(self, sources: Sequence[str], output: Path, options: ScoresOptions, report: Report) -> None:
        from .files import gathered, write

        if output.exists() and any(output.iterdir()):
            raise SpanLabError(f"{output} is not empty: give a new folder")
        scores, _, _ = gathered([Path(source) for source in sources])
        fields = [name.strip() for name in (options.fields or "").split(",") if name.strip()]
        if scores.simulated:
            report.note(scores.simulated)
        shared = _shared(scores, fields, options.real_ids)
        if not options.real_ids:
            report.note("pseudonyms were drawn at random, and no table of them is kept")
        write(shared, output)
        report.done(f"{output}: {counted(len(shared.rows), 'participant')}, {counted(len(shared.codebook), 'column')}")


def _shared(scores: ScoreTable, fields: Sequence[str], real_ids: bool) -> ScoreTable:
    """The scores without fields that nobody asked for, under other names.

    Raises
    ------
    SpanLabError
        when a field is unknown, or nobody has a score.
    """
    personal = [name for name, column in scores.codebook.items() if column["source"] == "participant"]
    if unknown := [name for name in fields if name not in personal]:
        raise SpanLabError(
            f"--fields: these sessions have no answer about people called '{unknown[0]}'; they have"
            f" {', '.join(personal) or 'none'}"
        )
    if not scores.rows:
        raise SpanLabError("no participant has a score in these data; machines are not participants")
    hidden = set(personal) - set(fields)
    people = list(scores.rows)
    if not real_ids:
        secrets.SystemRandom().shuffle(people)
    names = {
        person: person if real_ids else f"sub-{number:0{len(str(len(people)))}}"
        for number, person in enumerate(people, start=1)
    }
    rows = {
        names[person]: {name: value for name, value in scores.rows[person].items() if name not in hidden}
        for person in people
    }
    return ScoreTable(rows, {name: column for name, column in scores.codebook.items() if name not in hidden})
