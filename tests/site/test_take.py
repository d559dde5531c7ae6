"""The pages of the site on which trials are taken: nothing of the truth lies in what is shown, and whoever answers
rightly is told so."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spanlab.paradigms import Truth, compile_trial, list_paradigms, load_paradigm

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


@pytest.fixture
def take(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.syspath_prepend(SCRIPTS)
    from site_pages import trials as take_trials

    monkeypatch.setattr(take_trials, "FOLDER", tmp_path / "take")
    monkeypatch.setattr(take_trials, "SESSIONS", tmp_path / "sessions")
    (tmp_path / "take").mkdir()
    return take_trials


@pytest.mark.parametrize("name", ["vsr", "cd", "continuous_colour", "sternberg"])
def test_what_is_shown_does_not_depend_on_what_is_right(take: Any, name: str) -> None:
    """A trial with another truth, and the same percepts, has the same page to the letter."""
    paradigm = load_paradigm(name)
    levels = {factor: factor_levels.levels[0] for factor, factor_levels in paradigm.factors.items()}
    trial = compile_trial(paradigm, levels, 3)
    other = replace(trial, steps=tuple(replace(step, truth=Truth(answer="?")) for step in trial.steps))
    shown, told = (take.recording(take.Taken(paradigm, [one], {})) for one in (trial, other))
    assert shown == told
    assert take.right(trial) != take.right(other)


@pytest.mark.parametrize("name", list_paradigms())
def test_a_page_has_the_whole_file_and_a_sentence_on_its_lines(take: Any, name: str) -> None:
    from site_pages.lines import sentences

    text = (SCRIPTS.parent / "paradigms" / "library" / f"{name}.yaml").read_text(encoding="utf-8")
    shown = list(sentences(text))
    for (line, _), whole in zip(shown, text.splitlines(), strict=True):
        assert whole.startswith(line)
        assert re.fullmatch(r" *(# .*)?", whole[len(line) :])
    said = [said for line, said in shown if re.match(r" {0,4}(- )?[a-z_]+:", line)]
    assert sum(map(bool, said)) > 0.9 * len(said)
    assert not [one for one in said if one and not (one[0] == one[0].upper() and one[-1] in ".?!")]


@pytest.mark.slow
@pytest.mark.soaked(6)
@pytest.mark.parametrize("name", ["cd", "vsr", "continuous_colour", "corsi", "task_switching", "sfr"])
@pytest.mark.parametrize("wrongly", [False, True])
def test_right_answers_are_told_so(take: Any, tmp_path: Path, name: str, wrongly: bool) -> None:
    """In Chromium, from the disk: hands that know what is right have all of it right, and hands that answer each
    question with what was right for the one before have not."""
    from chromium import chromium
    from hands import Decision, Hands

    if take.page_tools.tool("esbuild") is None:
        pytest.skip("esbuild is not there")
    paradigm = load_paradigm(name)
    levels = {factor: factor_levels.levels[0] for factor, factor_levels in paradigm.factors.items()}
    trials = [compile_trial(paradigm, levels, seed) for seed in (1, 2, 3)]
    made = take.Taken(paradigm, trials, {"Somebody": "1 of 2 right (50 %)"})
    take.bundle()
    take.write_files(made)
    commands: list[int] = []

    def decided(command: int, step: int) -> Decision | None:
        if command not in commands:
            commands.append(command)
        asked = trials[commands.index(command)].steps[step]
        assert asked.percept.ask is not None
        answered = trials[commands.index(command) - wrongly].steps[step].truth.answer
        return Decision(asked.percept.ask, answered, after_s=0.4, between_s=0.2)

    with chromium(tmp_path / "profile") as browser, browser.window() as tab:
        tab.open((take.FOLDER / f"{name}.html").as_uri())
        tab.until("document.querySelector('#sheet button') !== null")
        said = Hands(tab, decided).go(120)
        asked_for_truth = tab.evaluate("[...document.scripts].filter(s => s.src.endsWith('.right.js')).length")
    assert "Somebody\t1 of 2 right" in said
    assert asked_for_truth == 1
    if paradigm.name.startswith("continuous"):
        assert ("\t0° off" in said) is not wrongly
    else:
        hits, of = map(int, re.search(r"You\s+(\d+) of (\d+) right", said).groups())  # pyright: ignore[reportOptionalMemberAccess]
        assert (hits == of) is not wrongly
