"""The front of the command line: help in panels, completion, and what is refused in plain words."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import Run, complaint

from spanlab.cli.app import command_line, first_sentence, plain_words
from spanlab.cli.command_table import PANELS, TITLES


def test_help_is_in_panels_with_whole_sentences_within_80_columns(run: Run) -> None:
    status, out, err = run("--help")
    assert (status, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    words, group = " ".join(out.split()), command_line()
    context = group.make_context("spanlab", [], resilient_parsing=True)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        assert first_sentence(command.help or "") in words, name
    assert [title for title in TITLES.values() if f"{title}:" in out] == [*TITLES.values()][: len(PANELS)]
    assert "  benchmark " in out[out.index("Machines:") : out.index("Compare:")], (
        "a command of an extension stands where its package says"
    )


@pytest.mark.slow
def test_commands_and_options_are_completed() -> None:
    def completed(words: str) -> set[str]:
        environment = {
            **os.environ,
            "_SPANLAB_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split()) - 1),
        }
        code = "import sys; sys.argv = ['spanlab']; from spanlab.cli import main; main()"
        return {
            *subprocess.run(
                [sys.executable, "-c", code], env=environment, capture_output=True, text=True
            ).stdout.split()
        }

    assert completed("spanlab rep") >= {"replay"}
    assert completed("spanlab figure --ba") == {"--bars"}


def test_figures_are_listed(run: Run) -> None:
    status, out, err = run("figure", "--list")
    assert (status, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    assert {"serial_position", "set_size", "roc"} <= {line.split()[0] for line in out.splitlines()}
    assert "spanlab figure --list names them" in complaint(*run("figure"))


def test_files_that_would_not_be_what_they_are_called_are_refused(run: Run, tmp_path: Path) -> None:
    assert "a trial is drawn as a .png, or a film as a .gif; found 'x.jpg'" in complaint(
        *run("show", "vsr", "-o", "x.jpg")
    )
    assert not (tmp_path / "x.jpg").exists()
    assert run("show", "vsr", "-o", "x.gif")[0] == 0
    assert (tmp_path / "x.gif").read_bytes().startswith(b"GIF")
    (tmp_path / "data").mkdir()
    assert "cannot be written into its own data" in complaint(*run("compare", "data", "-o", "data"))


def test_a_beginning_of_names_is_answered_with_the_names(run: Run) -> None:
    said = complaint(*run("replay", "nback", "--agent", "ideal"))
    assert "there is no paradigm 'nback'; there are nback_abstraction, " in said
    assert "nback_verbal" in said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            ["replay", "vsr", "--agent", "chat:x", "--chat", "temperature=hot"],
            "'temperature': expected a number; found 'hot'",
        ),
        (
            ["replay", "vsr", "--agent", "chat:x", "--chat", "view=tactile"],
            "'view': expected 'words', 'image' or 'both'; found 'tactile'",
        ),
        (
            ["replay", "vsr", "--agent", "ideal", "--trials", "0"],
            "Invalid value for '--trials': expected a number from 1",
        ),
        (
            ["replay", "vsr", "--agent", "ideal", "--trials", "x"],
            "Invalid value for '--trials': expected a whole number",
        ),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else "said",
)
def test_values_are_refused_in_plain_words(run: Run, line: list[str], said: str) -> None:
    told = complaint(*run(*line))
    assert said in told
    assert "Input should" not in told


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["run", "study.yml"], "study.yml: there is no such paradigm file"),
        (["gui"], "there is no command 'gui'; the app is opened by spanlab app"),
        (["replay", "vsr", "--agnet", "ideal"], "No such option: --agnet; did you mean '--agent'? (see"),
        (["replay", "vsr", "--model", "m"], "No such option: --model; name a chat model with --agent chat:MODEL"),
        (["compare", "data", "--limit", "5"], "No such option: --limit (see"),
        (["compare", "data", "--model", "m"], "a chat model takes trials with spanlab replay PARADIGM --agent chat:"),
        (["check", "consent.yaml"], "consent.yaml:4 consent: expected a text for each language, such as en: ..."),
    ],
)
def test_slips_are_told_with_what_was_meant(run: Run, tmp_path: Path, line: list[str], said: str) -> None:
    (tmp_path / "consent.yaml").write_text("study: s\ntitle: S\nparadigms: [vsr]\nconsent: text\n", encoding="utf-8")
    assert said in complaint(*run(*line))


def test_plain_words() -> None:
    assert plain_words("Input should be less than or equal to 5 (x)") == "expected a number up to 5 (x)"
    assert plain_words("Input should be greater than 0") == "expected a number above 0"
    assert plain_words("Input should be a valid number, unable to parse string") == "expected a number"
