"""The files of fits: tables, pictures and one page (``spanlab fit -o``), and fits that are kept beside the
sessions (``--save``), which the report shows as long as the answers are those that were fitted.

Fits and recovery take minutes, and a report is made often: the report makes none of them, it shows
what was kept.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spanlab.analysis.report import PageColumn, ReportSection, page_table
from spanlab.core import SpanLabError, __version__, write_whole, written_in
from spanlab.exchange import csv_text

from .trials import cells_of

if TYPE_CHECKING:
    import pandas as pd

    from spanlab.analysis.report import PageTable, SectionRequest

    from .reading import Answerer
    from .study import Study

#: The file in the first folder of the data, and the number of its format.
FILE, FORMAT = "models-of-memory.json", 1
#: Answerers of a group that the tables list one by one.
_MOST = 40


def tables(studies: Sequence[Study]) -> dict[str, list[dict[str, Any]]]:
    """The fits of each answerer, and how well parameters are recovered."""
    return {
        "fits": [row for study in studies for row in study.rows()],
        "recovery": [
            {"paradigm": study.paradigm, **asdict(row)} for study in studies for row in study.recovery.parameters
        ],
    }


def write(studies: Sequence[Study], folder: Path) -> list[Path]:
    """Write all files of some fits.

    Returns
    -------
    their paths

    Raises
    ------
    SpanLabError
        when they cannot be written.
    """
    import jinja2
    import pandas as pd

    from spanlab.analysis.figures import save_as

    from .picture import curves_picture, parameters_picture

    pictures = {}
    paths = []
    for study in studies:
        for name, spec in (("parameters", parameters_picture(study)), ("curves", curves_picture(study))):
            path = save_as(spec, folder / f"{study.paradigm}-{name}.svg")
            paths += [path, save_as(spec, folder / f"{study.paradigm}-{name}.pdf")]
            pictures[study.paradigm, name] = base64.b64encode(path.read_bytes()).decode()
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(files(__package__ or "").joinpath("page.html.jinja").read_text("utf-8"))
    css = files("spanlab.core").joinpath("page.css").read_text("utf-8")
    models = dict.fromkeys(one.fit.model for study in studies for one in study.fitted[0])
    page = template.render(studies=studies, models=models, pictures=pictures, css=css, version=__version__, most=_MOST)
    fits, recovery = map(pd.DataFrame, tables(studies).values())
    with written_in(folder):
        for name, text in (
            ("fit.csv", csv_text(fits)),
            ("recovery.csv", csv_text(recovery)),
            ("fit.html", page),
        ):
            write_whole(folder / name, text.encode())
            paths.append(folder / name)
    return paths


def with_answers(spec: Mapping[str, Any], everybody: Sequence[Answerer], items: pd.DataFrame) -> dict[str, Any]:
    """A picture of fits whose points state their answers: a parameter those that it was fitted to,
    a point of a curve those that it is the mean of.

    Parameters
    ----------
    everybody : the answerers of its paradigm
    items : their scored answers
    """
    trials = items.drop_duplicates("unit_trial").set_index("unit_trial")[["session", "trial"]]
    rows = [_stated(row, everybody, trials) for row in spec["data"]["values"]]
    return {**spec, "data": {**spec["data"], "values": rows}}


def _stated(row: Mapping[str, Any], everybody: Sequence[Answerer], trials: pd.DataFrame) -> dict[str, Any]:
    if "answerer" in row:
        members = [one for one in everybody if (one.name, one.person) == (row["answerer"], row["kind"] == "person")]
        units = [one.trials.trial for one in members]
    elif "line" in row and "people" in row:
        members = [one for one in everybody if one.person == row["people"] and row["group"] in ("", one.name)]
        cells = [(one.trials.trial, cells_of(one.trials)) for one in members]
        units = [trial[rows[row["line"], row["x"]]] for trial, rows in cells if (row["line"], row["x"]) in rows]
    else:
        return dict(row)
    wanted = set(np.concatenate([*units, np.array([], int)]).tolist())
    if not wanted or not wanted <= set(trials.index) or -1 in wanted:
        return dict(row)  # of tables, whose trials cannot be told apart
    places = {"serial_position": row["x"]} if members[0].trials.kind == "order" and "line" in row else {}
    where = [{**condition, **places} for condition in _where(trials, wanted)]
    return {**row, "answers": {"paradigm": members[0].paradigm, "where": where}}


def _where(trials: pd.DataFrame, wanted: set[int]) -> Iterable[dict[str, Any]]:
    """Some trials as conditions: whole sessions together, then the trials of the others."""
    whole: list[str] = []
    some: list[dict[str, Any]] = []
    for session, of_session in trials.groupby("session", observed=True):
        chosen = of_session["trial"][of_session.index.isin(wanted)].tolist()
        if len(chosen) == len(of_session):
            whole.append(str(session))
        elif chosen:
            some.append({"session": str(session), "trial": chosen})
    return [*([{"session": whole}] if whole else []), *some]


def digest(everybody: Sequence[Answerer]) -> str:
    """A hash of who answered what in a paradigm: as long as it is the same, fits are of these
    answers."""
    found = hashlib.sha256()
    for one in sorted(everybody, key=lambda one: one.name):
        _, trial = np.unique(one.trials.trial, return_inverse=True)  # numbers of trials depend on what else was read
        columns = {"load": one.trials.load, "trial": trial, "answer": one.trials.answer, **one.trials.beside}
        found.update(json.dumps([one.paradigm, one.name, one.person, one.trials.kind, one.trials.levels]).encode())
        for name in sorted(columns):
            found.update(name.encode() + np.ascontiguousarray(columns[name], float).tobytes())
    return found.hexdigest()


def save(studies: Sequence[Study], folder: Path) -> Path:
    """Keep fits in a folder of sessions; those of other paradigms that are kept there stay.

    Raises
    ------
    SpanLabError
        when the file cannot be written, or holds something else.
    """
    kept = stored(folder) | {study.paradigm: _written(study) for study in studies}
    path = folder / FILE
    try:
        write_whole(path, json.dumps({"format": FORMAT, "paradigms": kept}, allow_nan=False).encode())
    except OSError as error:
        raise SpanLabError(f"cannot write {path}: {error.strerror or error}") from None
    return path


def _written(study: Study) -> dict[str, Any]:
    from .picture import curves_picture, parameters_picture

    tables = {
        "Parameters of models": study.parameter_table(_MOST),
        "Criteria": study.criteria_table(_MOST),
        "How frequent the models are among people": study.selection_table(),
        "Recovery of parameters": study.recovery_table(),
        "Recovery of models": study.confusion_table(),
    }
    return {
        "answers": digest([fits[0].answerer for fits in study.fitted]),
        "described": study.described,
        "sentences": [*study.predictions(), *study.tells()],
        "tables": {title: table for title, table in tables.items() if table[1]},
        "figures": {"parameters": parameters_picture(study), "curves": curves_picture(study)},
    }


def stored(folder: Path) -> dict[str, dict[str, Any]]:
    """Return what is kept in a folder, by paradigm; empty where there is nothing.

    Raises
    ------
    SpanLabError
        when the file cannot be read, or is of another format.
    """
    path = folder / FILE
    if not path.exists():
        return {}
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SpanLabError(f"{path} cannot be read ({error}); delete it and fit again") from None
    if not isinstance(kept, dict) or kept.get("format") != FORMAT:
        raise SpanLabError(f"{path} is of another version of SpanLab; delete it and fit again")
    return kept["paradigms"]


def section(request: SectionRequest) -> ReportSection | None:
    """Return the fits that are kept beside the data; None where there are none. Fits of other
    answers than those of the report are named and not shown."""
    kept = {paradigm: study for folder in request.folders for paradigm, study in stored(folder).items()}
    if not kept:
        return None
    from .picture import CURVES, PARAMETERS
    from .reading import answerers

    everybody, _ = answerers(request.data)
    shown = {
        name: study
        for name, study in kept.items()
        if study["answers"] == digest([one for one in everybody if one.paradigm == name])
    }
    notes = [f"{name}: {text}" for name, study in shown.items() for text in (study["described"], *study["sentences"])]
    other = [
        f"{name}: the models were fitted to other answers than those of this page, and are not shown. Fit again."
        for name in kept
        if name not in shown
    ]
    captions = {"parameters": PARAMETERS, "curves": CURVES}
    parts = request.data.scored.parts
    of_paradigm = {name: [one for one in everybody if one.paradigm == name] for name in shown}
    figures = [
        request.figure(
            f"{name}-models-{figure}",
            with_answers(spec, of_paradigm[name], parts[name].items),
            f"{name}: {figure} of the fitted models",
            captions[figure],
        )
        for name, study in shown.items()
        for figure, spec in study["figures"].items()
    ]
    tables = [
        _table(request, name, title, *table)
        for name, study in shown.items()
        for title, table in study["tables"].items()
    ]
    return ReportSection(
        title="Models of memory",
        text=(
            "What kind of memory would give such answers? Models were fitted to each person and machine, and recovery"
            " shows what the design can distinguish."
        ),
        figures=tuple(figures),
        tables=tuple(tables),
        notes=(*notes, *other),
        command=request.command("fit", "--save"),
    )


def _table(
    request: SectionRequest, paradigm: str, title: str, head: Sequence[str], rows: Sequence[Sequence[str]]
) -> PageTable:
    import pandas as pd

    frame = pd.DataFrame([list(row) for row in rows], columns=list(head))
    file = request.table(f"{paradigm}_{title.lower().replace(' ', '_')}", frame)
    columns = [_column(name) for name in head]
    return page_table(
        frame,
        columns,
        f"{paradigm}: {title.lower()}",
        words=("model", "parameter", "parameters (95% intervals)"),
        file=file,
    )


def _column(name: str) -> PageColumn:
    def say(row: Mapping[Any, Any]) -> str:
        return str(row[name])

    return name, say
