"""The files of fits: tables, pictures and one page (``spanlab fit -o``)."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spanlab.core import __version__, write_whole, written_in
from spanlab.exchange import csv_text

if TYPE_CHECKING:
    from .study import Study

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
