"""``spanlab import`` and ``spanlab export``: other people's data, in and out. Part of the command line."""

from __future__ import annotations

import typer

_SETTINGS = {"no_args_is_help": True, "add_completion": False, "rich_markup_mode": None}

import_app = typer.Typer(help="Bring in trials, blocks and results that others have published.", **_SETTINGS)
export_app = typer.Typer(help="Write trials in the file formats of others.", **_SETTINGS)


@import_app.callback()
def _import() -> None: ...


@export_app.callback()
def _export() -> None: ...
