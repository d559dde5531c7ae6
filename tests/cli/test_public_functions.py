"""A command is a public function: the same name, the same options, the same numbers."""

from __future__ import annotations

import errno
import inspect
import json
import os
import re
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import pytest
import typer
from command_line import Run, complaint, output_of
from typer import Typer

import spanlab
from spanlab.api.options import Result, declared, public
from spanlab.cli.app import command_line as whole_command_line
from spanlab.cli.command_table import COMMANDS, Commands, _added, _points, _shipped, as_command
from spanlab.sessions import find_sessions

#: commands with a command for each format, which one function stands for; names that Python has
FUNCTIONS = {"import": "import_data", "export": "export", "list": "catalogue"}
#: parameters of public functions
MOST = 15


@pytest.mark.parametrize("name", [one for one in (*COMMANDS, *_points()) if one != "study"])
def test_a_command_is_a_public_function(name: str) -> None:
    function = getattr(spanlab, FUNCTIONS.get(name, re.sub(r"\W", "_", name)))
    assert hasattr(function, "__wrapped__"), "declared once, by @public"
    if name not in ("import", "export"):
        assert (_shipped(COMMANDS[name]) if name in COMMANDS else _added(_points()[name])) is function
    assert len(inspect.signature(inspect.unwrap(function)).parameters) <= MOST
    assert all(one.help for one in declared(inspect.unwrap(function)).values())


def test_there_are_at_most_32_commands_at_the_top() -> None:
    assert len(Commands()) <= 32
    assert {"status", "monitor", "withdraw", "links", "note"} <= set(Commands("study"))
    assert whole_command_line() is whole_command_line()


def test_json_is_what_python_gets(run: Run) -> None:
    out = output_of(*run("list", "--timetable", "--json"))
    assert json.loads(out) == (listed := spanlab.catalogue(timetable=True)).to_dict()
    assert listed.to_frame().shape[1] == 4


def test_quiet_says_only_what_is_wrong(run: Run, tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text("paradigm: good\nextends: vsr\n", encoding="utf-8")
    (tmp_path / "bad.yaml").write_text("paradigm: bad\nextends: vsr\ncolour: red\n", encoding="utf-8")
    assert run("check", "good.yaml", "--quiet") == (0, "", "")
    assert "unknown key 'colour'" in complaint(*run("check", "good.yaml", "bad.yaml", "--quiet"))
    found = spanlab.check(["good.yaml", "bad.yaml"])
    assert "good is fine" in str(found)
    assert "unknown key 'colour'" in found.wrong[0]


def test_what_python_is_told_names_its_parameters() -> None:
    @public
    def mine(
        size: Annotated[int, typer.Option("--how-large", help="how large it is", min=1)] = 1,
        **more: object,
    ) -> Result:
        """Do something.

        Raises
        ------
        SpanLabError
            always
        """
        raise spanlab.SpanLabError("is too large", option="size")

    with pytest.raises(spanlab.SpanLabError, match=r"^size is too large$") as raised:
        mine(2)
    assert raised.value.option == "size"
    with pytest.raises(spanlab.SpanLabError, match="a paradigm of the library"):
        spanlab.new("paradigm", "vsr")  # pyright: ignore[reportArgumentType]
    command = Typer()
    command.command()(as_command(mine))
    with pytest.raises(spanlab.SpanLabError, match=r"^--how-large is too large$"):
        command(["--how-large", "3"], standalone_mode=False)
    assert "size : how large it is\n" in (mine.__doc__ or "")
    with pytest.raises(TypeError, match="unexpected keyword argument 'tirals'"):
        spanlab.replay("vsr", "ideal", tirals=4)  # pyright: ignore[reportCallIssue]


def test_what_was_read_is_not_replaced_and_a_table_named_twice_is_one(run: Run, tmp_path: Path) -> None:
    rows = [{"participant": f"P{n % 4}", "correct": n % 3 > 0, "load": n % 2 + 1} for n in range(48)]
    pd.DataFrame(rows).to_csv(tmp_path / "a.csv", index=False)
    before = (tmp_path / "a.csv").read_bytes()
    for command in (("figure", "conditions", "a.csv", "--along", "load"), ("scores", "a.csv")):
        assert "name another file" in complaint(*run(*command, "-o", "./a.csv"))
    assert (tmp_path / "a.csv").read_bytes() == before
    once, twice = (output_of(*run("stats", *files)) for files in (("a.csv",), ("a.csv", tmp_path / "a.csv")))
    assert once == twice


def test_a_session_that_may_not_be_read_is_named(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (spanlab.replay("vsr", "chance", trials=2, data=tmp_path / "data").folder for _ in "ab")
    scan = os.scandir

    def refusing(path: Any) -> Any:
        if Path(path) == second:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refusing)
    assert find_sessions([tmp_path / "data"]) == [first, second]


def test_a_folder_called_like_a_paradigm_hides_nothing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "vsr").mkdir()
    assert "vsr is fine" in output_of(*run("check", "vsr"))
