"""``spanlab list --parts``: it follows from what is declared."""

from __future__ import annotations

import pytest

from spanlab.cli import app
from spanlab.paradigms import RESPONSES, SAMPLERS
from spanlab.stimuli import STIMULI


def said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.argv", ["spanlab", *arguments])
    code = 0
    try:
        app.main()
    except SystemExit as stop:
        code = int(stop.code or 0)
    out, err = capsys.readouterr()
    return code, out, err


def test_parts_lists_everything_with_its_help(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = said(capsys, monkeypatch, "list", "--parts")
    assert (code, err) == (0, "")
    for registry in (STIMULI, SAMPLERS, RESPONSES):
        for name in registry:
            assert f"\n{name}: " in out
            for field in registry.get(name).model_fields.values():
                assert field.description is not None
                assert f": {field.description}\n" in out


def test_parts_by_name(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = said(capsys, monkeypatch, "list", "--parts", "choice", "permutation")
    assert code == 0
    assert "take (whole number from 0; not given by default): number to draw; all if not given" in out
    assert "\nchoice: One answer out of several.\n" in out
    assert "matrix" not in out
    assert said(capsys, monkeypatch, "list", "--parts", "permutations") == (
        1,
        "",
        "spanlab: there is no part called 'permutations'; did you mean 'permutation'?\n",
    )
