"""``spanlab check`` and the look at keys before a session: dead keys, displays that cannot be
drawn, and which figures there will be."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from command_line import Run, complaint, output_of
from paradigm_texts import text

from spanlab.agents.human import Participant
from spanlab.agents.human.input import keymap
from spanlab.agents.human.input.keymap import Keymap
from spanlab.agents.oracles import IdealAgent
from spanlab.analysis.data.scoring import score_table
from spanlab.analysis.effects.registry import EFFECTS
from spanlab.analysis.figures.prospects import prospects
from spanlab.core.errors import SpanLabError
from spanlab.core.registry import Registry
from spanlab.paradigms import checking, compile_trial, list_paradigms, load_paradigm, plan_session
from spanlab.paradigms.checking import check_paradigm
from spanlab.paradigms.design import session_design
from spanlab.paradigms.responses import Choice
from spanlab.paradigms.responses.keys import KEY_NAMES, RESERVED, key_problem, own_key
from spanlab.sessions import Request, Runner, begin
from spanlab.sessions.record.table import read_responses
from spanlab.sessions.rehearsal import rehearsed
from spanlab.stimuli import STIMULI, Stimulus
from spanlab.stimuli.scene import Primitive


def two_keys(first: str, second: str) -> str:
    return text(
        f"- {{phase: probe, show: {{blank: {{}}}}, ask: {{choice: {{options: [same, other], keys: ['{first}',"
        f" '{second}']}}, answer: same}}}}"
    )


def test_a_network_section_that_a_training_refuses_is_refused_by_check(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    probe = "- {phase: probe, show: {blank: {}}, ask: {choice: {options: 4}, answer: 3}}"
    for section, fault in (
        ("task: small, head: 4, silent: 3", ""),
        ("task: small, head: 3", "small asks for class 3 of a head with 3 outputs"),
        ("task: small, head: 4, silent: 4", "small has a silent class 4 and a head with 4 outputs"),
        ("task: a.b, head: 4", "the task or head 'a.b' has a dot in its name"),
    ):
        file.write_text(text(probe, more=f"network: {{{section}}}"), encoding="utf-8")
        _, said, wrong = run("check", "small.yaml")
        assert ("is fine" in said) is (not fault)
        assert (f"small.yaml:7 network: {fault}" in wrong) is bool(fault)


# -- keys ------------------------------------------------------------------------------------------

WRONG = {
    ("nosuchkey", "space"): "there is no key 'nosuchkey'",
    ("escape", "space"): "'escape' is kept for the session itself (Escape pauses the session)",
    ("esc", "space"): "'esc' is kept for the session itself",
    ("Left", "right"): "there is no key 'Left'; did you mean 'left'?",
    ("enter", "space"): "there is no key 'enter'; did you mean 'return'?",
    ("spcae", "f"): "there is no key 'spcae'; did you mean 'space'?",
    ("A", "b"): "did you mean 'a'? (keys are identified without the shift key",
    ("?", "f"): "'?' needs the shift key",
    ("exclamation", "f"): "'exclamation' needs the shift key",
    ("-", "m"): "there is no key '-'; did you mean 'minus'?",
    ("ö", "f"): "'ö' is on the keyboards of some countries only",
}


@pytest.mark.parametrize(
    ("keys", "told"), WRONG.items(), ids=lambda value: "+".join(value) if isinstance(value, tuple) else ""
)
def test_keys_that_no_press_tells_of_are_refused_by_check_and_before_a_person_sits_down(
    keys: tuple[str, str], told: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "small.yaml").write_text(two_keys(*keys), encoding="utf-8")
    said = complaint(*run("check", "small.yaml"))
    assert told in said
    assert said.startswith(
        "spanlab: small.yaml:6 timeline step 1 > ask > choice > keys: the answer 'same' could not be given"
    )
    paradigm = load_paradigm(tmp_path / "small.yaml")
    plan = plan_session(paradigm, 1, session_design(paradigm, None), {}, 2)
    with pytest.raises(SpanLabError) as caught:
        begin(tmp_path / "data", paradigm, Participant(), plan, Request(participant="p"))
    assert told in str(caught.value)
    assert not (tmp_path / "data").exists()
    begin(tmp_path / "machines", paradigm, IdealAgent(), plan, Request())  # machines press no keys, and old files go on


def library(name: str) -> Path:
    """The folder of a package, which is not imported: that would need a display."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def test_the_table_of_keys_is_that_of_pyglet_and_psychtoolbox() -> None:
    source = (library("pyglet") / "window" / "key.py").read_text(encoding="utf-8")
    there = {name.lower().removeprefix("_") for name in re.findall(r"^(\w+) += 0x", source, re.MULTILINE)}
    assert there >= KEY_NAMES
    assert there >= set(RESERVED)
    source = (library("psychopy") / "hardware" / "keyboard.py").read_text(encoding="utf-8")
    tables: dict[str, Any] = {}
    for part in source.split("\nkeyNames")[1:]:
        name, _, table = part.partition(" = ")
        if name in ("Win", "Mac", "Linux"):
            tables[name] = ast.literal_eval(table[: table.index("}") + 1])
    assert set(tables["Linux"].values()) >= KEY_NAMES - {"plus"}
    assert KEY_NAMES - set(tables["Win"].values()) == keymap._NEVER_NAMED["win32"]
    assert KEY_NAMES - set(tables["Mac"].values()) == keymap._NEVER_NAMED["darwin"]
    assert {name: code for code, name in tables["Linux"].items() if name in keymap._PLACES} == keymap._PLACES
    assert not any(key_problem(name) for name in KEY_NAMES)


def test_words_of_one_letter_have_their_own_keys_where_there_are_such() -> None:
    def keys(*words: str) -> list[str]:
        return [key for key, _ in Choice.model_validate({"options": list(words)}).surface().keys]

    assert keys("A", "B") == ["a", "b"]
    assert keys("m", "-") == ["m", "minus", "num_subtract"]
    assert keys("ö", "ä") == ["1", "2"]
    assert keys("<", ">") == ["1", "2"]
    assert keys("a", "A") == ["1", "2"]
    assert own_key("same") == ""


def keyboard(signs: Iterable[str], places: dict[str, str] | None = None) -> Keymap:
    """A keymap that tells these signs; ``places``: where they are, by the name of the key on a US
    keyboard."""
    made = Keymap()
    made.signs = {keymap._PLACES[(places or {}).get(sign, sign)]: sign for sign in signs}
    made.layout = "test"
    return made


LETTERS = "abcdefghijklmnopqrstuvwxyz"


def test_what_a_keyboard_delivers_depends_on_its_signs() -> None:
    german = keyboard(
        [*LETTERS, *"1234567890", "comma", "period", "minus", "plus"],
        {"y": "z", "z": "y", "minus": "slash", "plus": "bracketright"},
    )
    assert all(map(german.delivers, ("y", "z", "minus", "plus", "space", "left", "num_5", "f1", "button_1")))
    assert not any(map(german.delivers, ("slash", "semicolon", "equal")))  # those need shift there
    russian = keyboard("1234567890")
    assert all(map(russian.delivers, ("f", "j", "semicolon", "1")))  # by place: its letters have no names here
    assert not russian.delivers("plus")


def test_a_key_that_this_keyboard_lacks_stops_before_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    german = keyboard([*LETTERS, "comma", "period", "minus"], {"minus": "slash"})
    monkeypatch.setattr("spanlab.agents.human.participant.Keymap", lambda: german)
    kind = Choice.model_validate({"options": ["yes", "no"], "keys": ["slash", "z"]})
    with pytest.raises(
        SpanLabError,
        match=(
            r"the answer 'yes' could not be given: this keyboard \(layout test\) has no key 'slash' that works without"
            r" shift"
        ),
    ):
        Participant().check_questions([kind])
    Participant().check_questions([Choice.model_validate({"options": ["yes", "no"], "keys": ["minus", "z"]})])
    Participant().check_questions(
        [Choice.model_validate({"options": 2, "layout": "2x1", "keys": ["slash", "z"]})]
    )  # it can be clicked
    french = keyboard([*LETTERS, "comma"])
    monkeypatch.setattr("spanlab.agents.human.participant.Keymap", lambda: french)
    Participant().check_questions([Choice.model_validate({"options": ["m", "-"]})])  # there - is on the number pad


# -- displays --------------------------------------------------------------------------------------


class Faulty(Stimulus):
    """Cannot be drawn from a size of 3 on, nor said from 5 on."""

    name: ClassVar[str] = "faulty"
    size: int

    def primitives(self) -> Iterator[Primitive]:
        if self.size == 3:
            raise ZeroDivisionError("no size")
        return iter(())

    def words(self) -> str:
        if self.size == 5:
            raise KeyError("size")
        return str(self.size)


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> Registry[Stimulus]:
    monkeypatch.setattr(STIMULI, "_known", {**STIMULI._known, "faulty": Faulty})
    return STIMULI


PROBE = "- {phase: probe, show: {faulty: {size: =n}}, ask: {choice: {options: 9}, answer: 0}}"


@pytest.mark.usefixtures("faulty")
@pytest.mark.parametrize(
    ("levels", "told"),
    [
        ("[1, 2, 3]", "cannot be drawn (ZeroDivisionError: no size), in step 1 of a trial with n = 3"),
        ("[4, 5]", "cannot be shown in pixels and in words (KeyError"),
    ],
)
def test_a_stimulus_that_raises_is_found_by_check_and_ends_without_traceback(
    levels: str, told: str, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "mine.yaml").write_text(text(PROBE, factors=f"n: {levels}"), encoding="utf-8")
    said = complaint(*run("check", "mine.yaml"))
    assert said.startswith("spanlab: mine.yaml:8 timeline step 1 > show > faulty: ")
    assert "'faulty' cannot be " in said
    assert told in said
    if "drawn" in told:
        with pytest.raises(SpanLabError, match=r"the stimulus 'faulty' cannot be drawn \(ZeroDivisionError: no size\)"):
            Faulty(size=3).scene()


@pytest.mark.usefixtures("faulty")
def test_levels_drawn_at_random_are_looked_at_before_further_seeds_or_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where trials are huge, fewer are compiled: then three seeds of one condition matter less than
    a level that nobody has tried."""
    (tmp_path / "mine.yaml").write_text(
        text(PROBE, factors="n: {random: [1, 2, 4, 6, 7, 8, 9, 10, 11, 12, 13, 3]}"), encoding="utf-8"
    )
    monkeypatch.setattr(checking, "work_done", lambda: 1)
    monkeypatch.setattr(checking, "_MAX_WORK", 14)
    with pytest.raises(SpanLabError, match="with n = 3"):
        check_paradigm(tmp_path / "mine.yaml")
    monkeypatch.setattr(checking, "_MAX_WORK", 10)
    assert check_paradigm(tmp_path / "mine.yaml").endswith(
        "small is fine (1 condition, 10 trials compiled, without 4 levels drawn at random, all drawn)"
    )


@pytest.mark.usefixtures("faulty")
def test_a_stimulus_that_can_be_drawn_passes_and_levels_drawn_at_random_are_looked_at_too(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(text(PROBE, factors="n: [1, 2]"), encoding="utf-8")
    assert check_paradigm(tmp_path / "mine.yaml").endswith(
        "small is fine (2 conditions, 12 trials compiled, all drawn)"
    )
    (tmp_path / "mine.yaml").write_text(
        text(PROBE, factors="n: {random: [1, 2, 4, 6, 7, 8, 9, 10, 11, 12, 13, 3]}"), encoding="utf-8"
    )
    with pytest.raises(SpanLabError, match="with n = 3"):
        check_paradigm(tmp_path / "mine.yaml")


def test_a_study_looks_at_the_library_once_and_at_files_of_ones_own_each_time(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A study that is being written is checked at every pause."""
    own, looked_at = tmp_path / "mine.yaml", list[str]()
    own.write_text(two_keys("f", "j"), encoding="utf-8")
    (tmp_path / "s.yaml").write_text("study: s\ntitle: S\nparadigms: [flanker, ./mine.yaml]\n", encoding="utf-8")
    monkeypatch.setattr(checking, "check_paradigm", lambda *given: (looked_at.append(given[0]), check_paradigm(*given)))
    assert all("s is fine" in run("check", "s.yaml")[1] for _ in range(2))
    assert (looked_at.count("flanker") < 2, [Path(one).name for one in looked_at].count(own.name)) == (True, 2)


def test_where_there_is_too_much_to_draw_the_line_says_how_much_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spanlab.paradigms.checking._MAX_LOOKED_AT", 6)
    factors = f"n: [{', '.join(map(str, range(1, 21)))}]"
    (tmp_path / "many.yaml").write_text(
        text(
            "- {phase: probe, show: {text: {text: \"='a' if n > 50 else 'b'\"}}, ask: {choice: {options: 9},"
            " answer: 0}}",
            factors=factors,
        ),
        encoding="utf-8",
    )
    assert "all drawn" in check_paradigm(tmp_path / "many.yaml")  # all look alike
    (tmp_path / "many.yaml").write_text(
        text(
            "- {phase: probe, show: {matrix: {grid: 6, filled: '=[n]'}}, ask: {choice: {options: 9}, answer: 0}}",
            factors=factors,
        ),
        encoding="utf-8",
    )
    assert "20 conditions, 120 trials compiled, 5 conditions drawn" in check_paradigm(tmp_path / "many.yaml")


def test_the_last_of_many_combinations_is_compiled_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    levels = f"[{', '.join(map(str, range(1, 21)))}]"
    (tmp_path / "many.yaml").write_text(
        text(
            draw="x: {permutation: {of: 9, take: =50 if a * b == 380 else 1}}", factors=f"{{a: {levels}, b: {levels}}}"
        ),
        encoding="utf-8",
    )
    with pytest.raises(SpanLabError, match=r"cannot take 50 different ones of 9 \(with a = 19, b = 20"):
        check_paradigm(tmp_path / "many.yaml")
    monkeypatch.setattr("spanlab.paradigms.checking._MAX_COMBINATIONS", 30)
    assert "400 conditions, 600 trials compiled of the first 300 conditions alone" in check_paradigm(
        tmp_path / "many.yaml"
    )


# -- figures ---------------------------------------------------------------------------------------


def told_of(name: str, seeds: int = 3) -> Any:
    paradigm = load_paradigm(name)
    trials = [compile_trial(paradigm, levels, seed) for levels in paradigm.combinations() for seed in range(seeds)]
    return prospects(rehearsed(trials).to_pandas(), paradigm.name, paradigm.data)


#: Paradigms with a factor that no effect shows: the share of congruent markers, how different the
#: other pattern is, the direction of recall.
UNNAMED = ("sts_congruency", "delayed_match", "digit_span", "corsi")
UNNAMED += ("axcpt", "retro_cue", "task_switching", "keep_track", "two_lists", "flanker")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "name", [name for name in list_paradigms() if "nback" not in name and name not in ("cd_noise", "lsr_long")]
)
def test_the_figures_foretold_are_those_of_the_registry(name: str) -> None:
    told = told_of(name)
    assert {effect.name for effect in EFFECTS if name in effect.paradigms} <= {*told.figures}
    assert ("conditions" in told.figures) == (name in UNNAMED)
    others = {"conditions", "error_distribution", "reaction_time", *load_paradigm(name).data.get("effects", {})}
    assert {*told.figures} <= {*(effect.name for effect in EFFECTS), *others}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["vsr", "sfr", "sts"])
def test_the_figures_foretold_are_those_that_a_session_has(name: str, tmp_path: Path) -> None:
    paradigm = load_paradigm(name)
    session = begin(
        tmp_path,
        paradigm,
        IdealAgent(),
        plan_session(paradigm, 3, session_design(paradigm, None), {}, 40),
        Request(seed=3),
    )
    Runner(session, IdealAgent()).run()
    scored = score_table(read_responses(session.folder))
    timed = {"reaction_time", *(effect.name for effect in EFFECTS if "rt_ms" in (effect.value, *effect.needs))}
    timed |= {"first_recall", "lag_crp", "temporal_clustering"}  # all of people
    assert {effect.name for effect in EFFECTS if effect.applies(scored)} - timed == {*told_of(name).figures} - timed


SHORT = """
paradigm: fast
version: 1
title: Fast
timeline:
  - phase: flash
    show: {blank: {}, ms: MS}
  - phase: probe
    show: {blank: {}}
    ask: {rating: {to: 5}, prompt: {en: How?}}
instructions: {en: Please answer.}
designs: {human: {repetitions: 1}}
"""


@pytest.mark.parametrize(("ms", "told"), [("10", True), ("40", True), ("100", False), ("16.7", False)])
def test_a_display_that_no_usual_screen_can_show_as_planned_is_told(
    tmp_path: Path, run: Run, ms: str, told: bool
) -> None:
    (file := tmp_path / "fast.yaml").write_text(SHORT.replace("MS", ms), encoding="utf-8")
    out = output_of(*run("check", file))
    assert (f"flash: {ms} ms are shown as" in out) is told
