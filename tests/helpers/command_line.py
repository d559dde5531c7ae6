"""The command line in the test's own process, and things to give to it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from paradigm_texts import PROBE, text

from spanlab.cli import main

#: takes arguments; gives exit status, what was printed, what was complained about
Run = Callable[..., tuple[int, str, str]]


def command_line(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """``spanlab`` in a folder, without keys and servers."""
    monkeypatch.chdir(folder)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["spanlab", *map(str, arguments)])
        try:
            main()
            status = 0
        except SystemExit as end:
            status = int(end.code or 0)
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


def make_things(folder: Path) -> None:
    """Things that are not what a command wants, and a paradigm that is."""
    (folder / "file").write_text("x", encoding="utf-8")
    (folder / "empty").touch()
    (folder / "folder").mkdir()
    (folder / "good.yaml").write_text(text(factors="n: [1, 2]"), encoding="utf-8")
    (folder / "broken.yaml").write_text(text(PROBE.replace("answer", "anwser"), more="colour: red"), encoding="utf-8")
    (folder / "impossible.yaml").write_text(
        text(draw="a: {permutation: {of: 3, take: =n}}", factors="n: [1, 9]"), encoding="utf-8"
    )


def output_of(status: int, out: str, err: str) -> str:
    """What was printed, after checking that nothing went wrong."""
    assert status == 0, err
    return out


def complaint(status: int, out: str, err: str) -> str:
    """What was complained about, after checking that it was said properly."""
    assert status != 0, f"exit 0 with {out!r}"
    assert "Traceback" not in err + out
    assert err.strip()
    return err
