"""Formats as classes: those that ship, one of another package, and what is told when one is wrong."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import Run, complaint

from spanlab import exchange
from spanlab.core.errors import SpanLabError
from spanlab.exchange import (
    FORMATS,
    Format,
    Options,
    Report,
    Side,
)
from spanlab.exchange.format import FormatRegistry
from spanlab.paradigms import compile_trial
from spanlab.paradigms.compile import drawn_values
from spanlab.paradigms.trials_file import TrialsFile
from spanlab.sessions.plan import plan_trials

ROOT = Path(__file__).resolve().parents[2]


def documented() -> tuple[str, dict[str, str]]:
    """The format of the example package: the module, and an entry point for it alone."""
    return (ROOT / "examples" / "plugin" / "spanlab_example" / "lab_json.py").read_text(encoding="utf-8"), {
        "lab-json": "lab_json:LabJson"
    }


def install(site: Path, module: str, points: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with a format, as an installer leaves it, for a program that has just begun."""
    (folder := site / "spanlab_lab_json-1.0.dist-info").mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: spanlab-lab-json\nVersion: 1.0\n", encoding="utf-8")
    lines = [f"{name} = {target}\n" for name, target in points.items()]
    (folder / "entry_points.txt").write_text("[spanlab.formats]\n" + "".join(lines), encoding="utf-8")
    (site / "lab_json.py").write_text(module, encoding="utf-8")
    monkeypatch.syspath_prepend(site)
    monkeypatch.delitem(sys.modules, "lab_json", raising=False)
    monkeypatch.setattr(exchange, "FORMATS", FormatRegistry("format", "spanlab.formats"))


def test_a_format_of_another_package_is_one_small_file(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The example of the documentation: trials come as they were written."""
    module, points = documented()
    assert len(module.splitlines()) <= 24
    install(tmp_path / "site", module, points, monkeypatch)
    assert "lab-json  " in run("import", "--help")[1]
    planned = plan_trials("vsr", 4, {"list_length": [2, 5]}, 6, generator="published")
    written = trials_json(planned)
    (tmp_path / "trials.json").write_text(json.dumps(written), encoding="utf-8")
    assert run("import", "lab-json", "trials.json", "-o", "imported") == (0, "imported/vsr.jsonl: 6 trials\n", "")
    back = TrialsFile(tmp_path / "imported" / "vsr.jsonl")
    assert back.header.generator == "published"
    again = [compile_trial(back.paradigm, one.levels, 0, "published", one.draws).steps for one in back]
    assert again == [one.compile(planned.paradigm, "published").steps for one in planned.plan]
    # what is wrong is told, and leaves nothing behind
    assert "Did you mean 'lab-json'?" in complaint(*run("import", "labjson", "trials.json", "-o", "other"))
    written["trials"][1]["levels"] = {}
    (tmp_path / "trials.json").write_text(json.dumps(written), encoding="utf-8")
    assert "the level of 'list_length' is missing" in complaint(
        *run("import", "lab-json", "trials.json", "-o", "other")
    )
    assert sorted(one.name for one in tmp_path.iterdir()) == ["imported", "site", "trials.json"]


def trials_json(planned: Any) -> dict[str, Any]:
    """Planned trials as the laboratory's programs write them."""
    trials = [
        {
            "name": f"trial {number}",
            "levels": one.levels,
            "draws": drawn_values(planned.paradigm, one.levels, one.seed, planned.generator),
        }
        for number, one in enumerate(planned.plan)
    ]
    return {"task": planned.paradigm.name, "generator": planned.generator, "trials": trials}


def test_a_broken_package_is_named_and_hinders_no_other_format(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, points = documented()
    install(tmp_path / "site", module + "\nimport no_such_module\n", points, monkeypatch)
    status, out, err = run("import", "--help")
    assert (status, "nback-results" in out, "lab-json" in out) == (0, True, False)
    assert "NOTE the format 'lab-json' of spanlab-lab-json cannot be loaded (No module named 'no_such_module'" in err
    assert run("export", "nback", "nback_verbal", "sets", "--blocks", "1", "--n", "1")[:2] == (
        0,
        "sets/letters: 1 block\n",
    )


class Given(Format):
    """Reads what a test wants."""

    name = "given"
    reads = Side("trials", "What a test wants.", Options)


def test_what_a_format_does_not_do_it_refuses() -> None:
    assert [
        (name, FORMATS.get(name).reads is not None, FORMATS.get(name).writes is not None)
        for name in ("worm", "nback", "nback-results")
    ] == [
        ("worm", True, True),
        ("nback", True, True),
        ("nback-results", True, False),
    ]
    with pytest.raises(SpanLabError, match="the format 'nback-results' cannot be written: it reads results"):
        FORMATS.get("nback-results")().write(["data"], Path("out"), Options(), Report())
    with pytest.raises(SpanLabError, match="unknown format 'nbak'; did you mean 'nback'"):
        FORMATS.get("nbak")


@pytest.mark.parametrize(
    ("cls", "told"),
    [
        (dict, "is not a subclass of Format"),
        (type("Nameless", (Given,), {"name": ""}), "Nameless needs a name of small letters, digits and hyphens"),
        (type("Spaced", (Given,), {"name": "my format"}), "found 'my format'"),
        (type("Idle", (Format,), {"name": "idle"}), "Idle neither reads nor writes anything"),
        (type("Mine", (Given,), {"name": "given"}), "two format classes are called 'given'"),
    ],
)
def test_classes_that_cannot_be_registered(cls: Any, told: str) -> None:
    registry = FormatRegistry("format", "spanlab.formats")
    registry.register(type("Theirs", (Given,), {"name": "given"}))
    with pytest.raises(ValueError, match=told):
        registry.register(cls)
