"""``spanlab list --parts``, and the JSON Schema of paradigm files that follows from what is declared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from paradigm_texts import text

from spanlab.cli import app
from spanlab.paradigms import RESPONSES, SAMPLERS, list_paradigms
from spanlab.paradigms.language.file_schema import file_schema
from spanlab.paradigms.language.yaml_source import parse, read
from spanlab.paradigms.library import path as library_path
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


@pytest.fixture(scope="module")
def schema() -> jsonschema.Draft202012Validator:
    made = file_schema()
    jsonschema.Draft202012Validator.check_schema(made)
    return jsonschema.Draft202012Validator(made)


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


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = said(capsys, monkeypatch, "list", "--parts", "--json-schema")
    assert code == 0
    assert json.loads(out) == file_schema()
    assert said(capsys, monkeypatch, "list", "--parts", "--json-schema", "paradigm") == (0, out, "")
    for wrong in (("matrix",), ("study", "paradigm")):
        code, _, told = said(capsys, monkeypatch, "list", "--parts", *wrong, "--json-schema")
        assert (code, "whole files" in told) == (1, True)


@pytest.mark.parametrize("name", list_paradigms())
@pytest.mark.slow
def test_shipped_paradigms_fit_the_schema(schema: jsonschema.Draft202012Validator, name: str) -> None:
    file = library_path(name)
    assert file is not None
    schema.validate(read(file).data)


@pytest.mark.slow
def test_drafts_and_variants_fit_the_schema(schema: jsonschema.Draft202012Validator, repository: Path) -> None:
    for draft in (repository / "tests" / "drafts").glob("*.yaml"):
        schema.validate(read(draft).data)
    schema.validate({"extends": "vsr", "paradigm": "short", "factors": {"list_length": [2, 3]}, "practice": None})


BROKEN: list[tuple[str, str]] = [
    ("", "no_such: 1"),
    ("- {phase: p, show: {matrix: {grid: 6, filled: [1], color: red}}}", ""),
    ("- {phase: p, show: {matrix: {grid: six, filled: [1]}}}", ""),
    ("- {phase: p, show: {matrix: {grid: 6}}}", ""),
    ("- {phase: p, show: {blank: {}, matrix: {filled: []}}}", ""),
    ("- {phase: p, show: {ms: 5}}", ""),
    ("- {phase: p, show: {blank: {}, ms: -5}}", ""),
    ("- {phase: p, show: {blank: {}}, ask: {choice: {options: 9}, answr: 0}}", ""),
    ("- {phase: p, show: {blank: {}}, ask: {choice: {options: 9}, answer: 0, ends: never}}", ""),
    ("- {phase: p, shw: {blank: {}}}", ""),
    ("- {for: x in y, du: [{phase: p, show: {blank: {}}}]}", ""),
    ("", "draw: {a: {permutation: {off: 5}}}"),
    ("", "designs: {human: {repetition: 5}}"),
    ("", "set_size: [1]"),
]


@pytest.mark.parametrize(("timeline", "more"), BROKEN)
def test_mistakes_do_not_fit_the_schema(schema: jsonschema.Draft202012Validator, timeline: str, more: str) -> None:
    content: Any = parse(text(timeline, more=more) if timeline else text(more=more), "t.yaml").data
    assert not schema.is_valid(content)


def test_expressions_fit_wherever_values_do(schema: jsonschema.Draft202012Validator) -> None:
    timeline = """
        - phase: p
          show: {matrix: {grid: =g, filled: [1, =c]}, ms: =t}
          ask: {choice: {options: =n, layout: 3x3, within: [0, =x, 96, =y]}, answer: =a, window_ms: =w}
        - {phase: q, show: {boxes: {count: =n, arrow: {box: =b, direction: =d}}}}
        - {phase: r, show: =whatever}
    """
    content: Any = parse(text(timeline), "t.yaml").data
    assert [list(error.absolute_path)[:2] for error in schema.iter_errors(content)] == [["timeline", 2]]
