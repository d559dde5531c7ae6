"""What a paradigm says of its conditions, and of questions that do not count, reaches tables,
figures and tests: with the paradigms of cognitive control, whose effects are planted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from openpyxl import Workbook
from paradigm_texts import PROBE, load, text
from PIL import Image
from session_tools import Saying, take

from spanlab import check, replay
from spanlab.agents.base import Response
from spanlab.agents.registry import make_agent
from spanlab.analysis.data.coding import Declared, decoded, varied
from spanlab.analysis.data.loading import load as load_data
from spanlab.analysis.data.scoring import Scored, score_table
from spanlab.analysis.effects.conditions import conditions_effect, effect_of_file
from spanlab.analysis.effects.effect import trends
from spanlab.analysis.figures.conditions_figure import unnamed
from spanlab.analysis.report.page import Options, compare
from spanlab.analysis.stats.likeness import likeness
from spanlab.analysis.stats.mixed_model import sort_cells
from spanlab.core.errors import ParadigmError
from spanlab.paradigms import Paradigm, Step, compile_trial, load_paradigm, plan_session
from spanlab.paradigms.language import own_files
from spanlab.sessions import read_responses, reopen
from spanlab.sessions.rehearsal import rehearsed

SWITCHING = """
factors: {kind: {new: 1, old: 2}, delay: [9, 1]}
draw: {lure: {one_of: {of: [near, far]}}}
timeline:
  - phase: probe
    show: {blank: {}}
    ask: {choice: {options: [a, b]}, answer: a}
    record: {lure: =lure}
conditions: [lure, kind]
"""


def always(answer: str) -> Saying:
    return Saying(lambda percept, number: Response(answer, 400.0, {}, "answered", {}))


def of_text(folder: Path, content: str) -> Paradigm:
    return load(folder, f"paradigm: small\nversion: 1\ntitle: Small\ninstructions: {{en: Do it.}}\n{content}")


def test_conditions_of_the_file_are_those_of_figures_and_tests_in_its_order(tmp_path: Path) -> None:
    take(tmp_path / "data", of_text(tmp_path, SWITCHING), always("a"), 60, seed=1)
    data = load_data([tmp_path / "data"])
    part = data.scored.parts["small"]
    assert part.conditions == ["record_lure", "factor_kind"]
    effect = conditions_effect(part, "small")
    assert (effect.x, effect.panels) == ("record_lure", ("factor_kind",))
    assert effect.panel_order == ("new", "old")  # of the file; the alphabet's would be the same
    assert sort_cells(data.scored, "small").by == "record_lure"


def test_levels_stand_in_the_order_of_the_file(tmp_path: Path) -> None:
    paradigm = of_text(
        tmp_path,
        SWITCHING.replace("{new: 1, old: 2}", "[zero, a, m]").replace("[lure, kind]", "[kind]")
        + "effects: {cost: {of: kind, contrast: {m: zero, a: zero}}}\n",
    )
    take(tmp_path / "data", paradigm, make_agent("ideal"), 24, seed=1)
    part = load_data([tmp_path / "data"]).scored.parts["small"]
    assert conditions_effect(part, "small").order == ("zero", "a", "m")
    assert effect_of_file(part, "small", "cost").order == ("zero", "a", "m")


@pytest.mark.parametrize(
    ("factor", "lure", "conditions"),
    [
        ("delay: [9, 1]", "{one_of: {of: [near, far]}}", ["factor_delay", "factor_kind", "record_lure"]),
        ("delay: [9, 1]", "{one_of: 100}", ["factor_delay", "factor_kind"]),  # too many values
        ("slot: [0, 1, 2, 3]", "=['near', 'near', 'near', 'far'][slot]", ["factor_kind", "record_lure"]),  # a dummy
    ],
)
def test_without_conditions_factors_and_what_is_recorded_are_taken(
    tmp_path: Path, factor: str, lure: str, conditions: list[str]
) -> None:
    content = SWITCHING.replace("conditions: [lure, kind]\n", "").replace("delay: [9, 1]", factor)
    paradigm = of_text(tmp_path, content.replace("{one_of: {of: [near, far]}}", f'"{lure}"' if "=" in lure else lure))
    take(tmp_path / "data", paradigm, make_agent("ideal"), 60, seed=1)
    data = load_data([tmp_path / "data"])
    assert data.scored.parts["small"].conditions == conditions
    shown = {name for wish in unnamed(data, "small", ()) for name in (wish.along, wish.by) if wish.value == "correct"}
    assert shown - {""} == {*conditions}


def test_conditions_that_nobody_records_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParadigmError, match=r"conditions item 1: 'lurre' is neither a factor nor recorded .* 'lure'"):
        of_text(tmp_path, SWITCHING.replace("[lure, kind]", "[lurre]"))


def test_a_question_with_score_false_is_recorded_and_in_no_accuracy(tmp_path: Path) -> None:
    session = take(tmp_path, load_paradigm("axcpt"), always("other"), 40, seed=2)
    table = read_responses(session.folder)
    cues, probes = (table[table["phase"] == phase] for phase in ("cue", "probe"))
    assert len(cues) == len(probes) == 40
    assert cues["correct"].isna().all()
    assert set(cues["answer"]) == {'"other"'} or set(cues["answer"]) == {"other"}
    assert probes["correct"].mean() == pytest.approx(0.3)  # who always says other
    data = load_data([session.folder])
    assert set(data.scored.items["phase"]) == {"probe"}
    assert any("without a score left out" in note for note in data.scored.notes)


def test_questions_of_two_phases_are_told_apart(tmp_path: Path) -> None:
    """A press that is always right, and a guess: averaged, they would be three quarters."""
    cue = "  - {phase: cue, show: {blank: {}}, ask: {choice: {options: [go, stop]}, answer: go}}\n"
    probe = "  - {phase: probe, show: {blank: {}}, ask: {choice: {options: [a, b]}, answer: =side}}\n"
    content = f"factors: {{kind: [new, old]}}\ndraw: {{side: {{one_of: {{of: [a, b]}}}}}}\ntimeline:\n{cue}{probe}"
    paradigm = of_text(tmp_path, content)
    answers = Saying(
        lambda percept, number: Response("go" if percept.phase == "cue" else "a", 400.0, {}, "answered", {})
    )
    take(tmp_path / "data", paradigm, answers, 60, seed=1)
    scored = load_data([tmp_path / "data"]).scored
    part = scored.parts["small"]
    assert part.conditions == ["factor_kind", "phase"]
    cells = sort_cells(scored, "small")
    assert (cells.table["n"].sum(), cells.notes[0]) == (
        60,
        "Of questions in several phases, only those of the last one: probe.",
    )
    means = conditions_effect(part, "small").table(part, "small").groupby("phase")["mean"].mean()
    assert means["cue"] == 1
    assert 0.3 < means["probe"] < 0.7
    assert set(part.main.items["phase"]) == {"probe"}
    page = compare([tmp_path / "data"], tmp_path / "report", Options()).read_text(encoding="utf-8")
    assert "Overall numbers are of the questions of the phase “probe”" in page


LEVELS = """
factors: {distance: [0, 4], mirrored: [true, false]}
draw: {side: {one_of: {of: [a, b]}}}
timeline:
  - {phase: cue, show: {blank: {}}, ask: {choice: {options: [go, stop]}, answer: go}}
  - {phase: probe, show: {blank: {}}, ask: {choice: {options: [a, b]}, answer: "='a' if distance == 0 else 'b'"}}
effects:
  distant: {of: distance, contrast: {4: 0}, phase: probe}
  mirror: {of: mirrored, contrast: {true: false}, phase: probe}
  presses: {of: distance, contrast: {4: 0}, phase: cue}
  usual: {of: distance, contrast: {4: 0}}
"""


def test_effects_compare_numbers_and_truth_values_in_the_questions_of_one_phase(tmp_path: Path) -> None:
    """Always a: right at distance 0, wrong at 4; presses to the cue are always right."""
    answers = Saying(
        lambda percept, number: Response("go" if percept.phase == "cue" else "a", 400.0, {}, "answered", {})
    )
    take(tmp_path / "data", of_text(tmp_path, LEVELS), answers, 40, seed=1)
    scored = load_data([tmp_path / "data"]).scored
    for name, planted in {"distant": -1, "mirror": 0, "presses": 0, "usual": -1}.items():
        (row,) = trends(effect_of_file(scored.parts["small"], "small", name), scored, "small").to_dict("records")
        assert row["value"] == pytest.approx(planted), name
    with pytest.raises(ParadigmError, match=r"'5' is not a level of 'distance' \(0, 4\)"):
        of_text(tmp_path, LEVELS.replace("{4: 0}", "{5: 0}"))
    with pytest.raises(ParadigmError, match=r"no question of the phase 'prob' is scored; did you mean 'probe'\?"):
        of_text(tmp_path, LEVELS.replace("{4: 0}, phase: probe", "{4: 0}, phase: prob"))


def test_levels_that_no_effect_compares_are_in_the_figure_of_conditions(tmp_path: Path) -> None:
    content = """
factors: {change: [none, colour, place]}
timeline:
  - {phase: probe, show: {blank: {}}, ask: {choice: {options: [a, b]}, answer: a}}
effects: {cost: {of: change, contrast: {colour: none%s}}}
"""
    for more, drawn in (("", ["cost", "correct"]), (", place: none", ["cost"])):
        data = tmp_path / f"data{len(more)}"
        take(data, of_text(tmp_path, content % more), always("a"), 12, seed=1)
        assert [wish.value for wish in unnamed(load_data([data]), "small", []) if "rt" not in wish.value] == drawn


def test_parts_of_a_session_that_are_called_phases_count_all() -> None:
    """A table of one's own: each trial has one question, in the learning phase or at the test."""
    rows = {"trial": range(20), "ask": 1, "phase": ["learn"] * 10 + ["test"] * 10, "correct": [True, False] * 10}
    whose = {"agent": "a", "agent_kind": "participant", "participant": "p", "paradigm": "own", "outcome": "answered"}
    scored = score_table(pd.DataFrame({**rows, **whose}))
    assert scored.main is scored


def test_score_takes_yes_or_no(tmp_path: Path) -> None:
    with pytest.raises(ParadigmError, match="ask > score: expected true or false; found 'never'"):
        load(tmp_path, text(PROBE.replace("answer: 0", "answer: 0, score: never")))


# -- the paradigms ---------------------------------------------------------------------------------


def stimulus(step: Step) -> Any:
    """The first display of a step, of whatever kind."""
    return step.percept.displays[0].stimulus


def test_proportions_of_the_ax_cpt_are_exact_in_every_block() -> None:
    plan = plan_session(load_paradigm("axcpt"), 7)
    for block in {trial.block for trial in plan}:
        kinds = Counter(trial.levels["trial_type"] for trial in plan if trial.block == block)
        assert kinds == {"AX": 35, "AY": 5, "BX": 5, "BY": 5}


@pytest.mark.parametrize("levels", [{"trial_type": kind, "delay_ms": 5000} for kind in ("AX", "AY", "BX", "BY")])
def test_letters_of_the_ax_cpt_are_what_the_trial_is_called(levels: dict[str, Any]) -> None:
    for seed in range(20):
        trial = compile_trial(load_paradigm("axcpt"), levels, seed)
        cue, probe = (trial.steps[n].percept.displays[0].stimulus.words()[0] for n in (0, -1))
        assert (cue == "A", probe == "X") == (levels["trial_type"][0] == "A", levels["trial_type"][1] == "X")
        assert trial.steps[-1].truth.answer == ("target" if levels["trial_type"] == "AX" else "other")
        assert sum(step.percept.displays[0].ms or 0 for step in trial.steps[1:-1]) == 4500


def test_switches_are_half_of_the_digits_and_no_digit_comes_twice() -> None:
    for seed in range(20):
        trial = compile_trial(load_paradigm("task_switching"), {"cue_ms": 100}, seed)
        asked = [step for step in trial.steps if step.percept.ask is not None]
        assert Counter(step.truth.record["transition"] for step in asked) == {"start": 1, "switch": 8, "repeat": 8}
        tasks = [step.truth.record["task"] for step in asked]
        for before, step, task in zip(tasks, asked[1:], tasks[1:], strict=False):
            assert (before != task) == (step.truth.record["transition"] == "switch")


def test_an_intrusion_is_a_word_of_the_other_list_and_kinds_come_2_to_1_to_1() -> None:
    paradigm = load_paradigm("two_lists")
    plan = plan_session(paradigm, 3)
    assert Counter(one.levels["probe_kind"] for one in plan) == {"positive": 72, "intrusion": 36, "new": 36}
    for one in plan[:40]:
        trial = one.compile(paradigm, "corrected")
        shown, word = trial.steps[0].percept.displays[0].stimulus.words(), trial.steps[-1].percept.displays[0].stimulus
        assert (word.words().split()[0] in shown.replace("\n", " ").split()) == (one.levels["probe_kind"] != "new")


def test_keep_track_asks_for_the_last_word_of_a_category() -> None:
    for seed in range(20):
        trial = compile_trial(load_paradigm("keep_track"), {"set_size": 4}, seed)
        words = [stimulus(step).parts[0].show.word for step in trial.steps if step.percept.phase == "present"]
        for step in (step for step in trial.steps if step.percept.ask is not None):
            options = [word for word in stimulus(step).places if word is not None]
            last = [word for word in words if word in options][-1]
            assert isinstance(step.truth.answer, int)
            assert options[step.truth.answer] == last == step.truth.record["word"]
            assert step.truth.record["updates"] == sum(word in options for word in words)
            assert step.truth.record["words_since"] == 14 - words.index(last)


def test_a_retro_cue_points_at_the_place_that_is_tested() -> None:
    for seed in range(20):
        trial = compile_trial(load_paradigm("retro_cue"), {"cue": "valid", "set_size": 4}, seed)
        bar = stimulus(next(step for step in trial.steps if step.percept.phase == "cue"))
        probe = stimulus(trial.steps[-1])
        (place,) = (n for n, colour in enumerate(probe.colours) if colour is not None)
        direction = np.array([np.sin(np.radians(45 * place)), -np.cos(np.radians(45 * place))])
        assert np.dot(np.array([bar.x - 48, bar.y - 48]), direction) > 5
        assert bar.angle == 45 * place % 180


def test_flankers_point_as_they_are_called() -> None:
    for flankers, signs in (("congruent", 1), ("incongruent", 2), ("neutral", 2)):
        for seed in range(10):
            trial = compile_trial(load_paradigm("flanker"), {"flankers": flankers}, seed)
            row = stimulus(trial.steps[-1]).symbol
            assert len(row) == 5
            assert len(set(row)) == signs
            assert trial.steps[-1].truth.answer == {"<": "left", ">": "right"}[row[2]]
            assert ("-" in row) == (flankers == "neutral")


# -- a table of conditions -------------------------------------------------------------------------

OF_TABLE = """
draw:
  table: items.csv
  side: {one_of: 2}
timeline:
  - phase: probe
    show: {image: {file: =picture, words: a picture}}
    ask: {choice: {options: [old, new]}, answer: =kind}
    record: {kind: =kind, load: =load}
conditions: [kind]
designs: {human: {repetitions: 2}}
"""


def with_items(folder: Path, content: str, name: str = "items.csv") -> Paradigm:
    for number in (1, 2, 3):
        Image.new("RGB", (8, 8), (number, 0, 0)).save(folder / f"{number}.png")
    (folder / name).write_text(content, encoding="utf-8")
    return of_text(folder, OF_TABLE.replace("items.csv", name))


def test_lines_of_a_cell_stay_lines(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text('story,kind\n"first\nsecond",old\n', encoding="utf-8")
    assert own_files._table(tmp_path / "items.csv") == [{"story": "first\nsecond", "kind": "old"}]


@pytest.mark.parametrize("comma", [",", ";"])
def test_rows_of_a_table_are_conditions_with_weights(tmp_path: Path, comma: str) -> None:
    table = "picture,kind,load,weight\n1.png,old,1,3\n2.png,new,2,1\n3.png,old,,1\n".replace(",", comma)
    paradigm = with_items(tmp_path, table)
    plan = plan_session(paradigm, 1)
    assert Counter(one.levels["table_row"] for one in plan) == {1: 6, 2: 2, 3: 2}
    for one in plan:
        truth = one.compile(paradigm, "corrected").steps[0].truth
        assert truth.answer == ("new" if one.levels["table_row"] == 2 else "old")
        assert truth.record["load"] == {1: 1, 2: 2, 3: None}[one.levels["table_row"]]
    session = take(tmp_path / "data", paradigm, always("old"), 10, seed=1)
    (tmp_path / "items.csv").unlink()  # trials are those of the record
    assert compile_trial(reopen(session.folder).paradigm, {"table_row": 2}, 5).steps[0].truth.answer == "new"
    part = load_data([tmp_path / "data"]).scored.parts["small"]
    assert part.conditions == ["record_kind"]
    assert "factor_table_row" not in varied(part.items, {})


def test_a_table_may_be_a_workbook(tmp_path: Path) -> None:
    book = Workbook()
    assert book.active is not None
    for row in (("word", "kind"), ("apple", "old"), ("pear", "new")):
        book.active.append(row)
    book.save(tmp_path / "items.xlsx")
    book.active.append((datetime(2024, 1, 2), "new"))
    book.save(tmp_path / "dates.xlsx")
    content = OF_TABLE.replace("items.csv", "items.xlsx").replace(
        "{image: {file: =picture, words: a picture}}", "{word: =word}"
    )
    paradigm = of_text(tmp_path, content.replace(", load: =load", ""))
    with pytest.raises(ParadigmError, match=r"dates\.xlsx"):
        of_text(tmp_path, content.replace("items", "dates"))
    assert [compile_trial(paradigm, {"table_row": n}).steps[0].truth.answer for n in (1, 2)] == ["old", "new"]


@pytest.mark.parametrize(
    ("content", "name", "says"),
    [
        ("a b,kind\n1,2\n", "items.csv", "the column 'a b' cannot be a name"),
        ("kind,kind\n1,2\n", "items.csv", "each name once"),
        ("kind\n", "items.csv", "1 to 5000 rows; found 0"),
        ("kind,load\nold\n", "items.csv", "line 2 has 1 cells, and the line with the names 2"),
        ("kind\nold\n", "items.txt", "a .csv or an .xlsx file"),
        ("kind\nold\n", "items.xlsx", "it is no workbook"),
        ("kind,weight\nold,0\nnew,2\n", "items.csv", "line 2: a weight is a whole number from 1; found 0"),
    ],
)
def test_tables_that_are_none_are_told_with_their_line(tmp_path: Path, content: str, name: str, says: str) -> None:
    with pytest.raises(ParadigmError, match=re.escape(says)):
        with_items(tmp_path, content, name)


def test_a_table_that_is_not_there_is_told_with_the_nearest_name(tmp_path: Path) -> None:
    (tmp_path / "item.csv").write_text("kind\nold\n", encoding="utf-8")
    with pytest.raises(ParadigmError, match=r"'items.csv': there is no such table .*; did you mean 'item.csv'\?"):
        of_text(tmp_path, OF_TABLE)


# -- what the literature expects is found ----------------------------------------------------------


def twelve_people(name: str, share: Callable[[Mapping[str, Any]], float]) -> Scored:
    """The answers of twelve people to a session each, right as often as is planted in a row."""
    paradigm, random, tables = load_paradigm(name), np.random.RandomState(1), []
    for number in range(12):
        table = rehearsed([one.compile(paradigm, "corrected") for one in plan_session(paradigm, number)]).to_pandas()
        written = [one for one in map(str, table.columns) if one.startswith(("factor_", "record_"))]
        plain = table.assign(**{one: decoded(table[one]) for one in written})
        shares = [share({str(name): value for name, value in row.items()}) for row in plain.to_dict("records")]
        right = pd.Series(random.random_sample(len(table)) < shares, table.index).astype("boolean")
        tables.append(
            table.assign(
                session=f"s{number}",
                participant=f"P{number}",
                agent_kind="participant",
                agent="participant",
                correct=right.where(table["correct"].notna()),
            )
        )
    return replace(score_table(pd.concat(tables, ignore_index=True)), declared={name: Declared.read(paradigm.data)})


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("name", "column", "shares", "larger", "smaller"),
    [
        ("axcpt", "factor_trial_type", {"AX": 0.95, "AY": 0.75, "BX": 0.8, "BY": 0.97}, "BY", "AY"),
        ("retro_cue", "factor_cue", {"valid": 0.9, "neutral": 0.75}, "valid", "neutral"),
        ("two_lists", "factor_probe_kind", {"positive": 0.9, "intrusion": 0.75, "new": 0.97}, "new", "intrusion"),
        (
            "flanker",
            "factor_flankers",
            {"congruent": 1, "neutral": 0.95, "incongruent": 0.8},
            "congruent",
            "incongruent",
        ),
        ("task_switching", "record_transition", {"start": 0.9, "repeat": 0.95, "switch": 0.85}, "repeat", "switch"),
    ],
)
def test_what_is_planted_is_found(name: str, column: str, shares: dict[str, float], larger: str, smaller: str) -> None:
    scored = twelve_people(name, lambda row: shares[row[column]])
    effect = conditions_effect(scored.parts[name], name, along=column)
    rows = {str(row["contrast"]): row for row in trends(effect, scored, name).to_dict("records")}
    sign = 1 if f"{larger} minus {smaller}" in rows else -1
    row = rows[f"{larger} minus {smaller}" if sign > 0 else f"{smaller} minus {larger}"]
    assert row["low"] < (sign * (shares[larger] - shares[smaller])) < row["high"]
    assert row["p"] < 0.001


def test_levels_in_words_are_told_without_the_quotes_of_the_record() -> None:
    contrasts = likeness(twelve_people("flanker", lambda row: 0.8).parts["flanker"], "flanker", "factor_flankers")[
        "contrast"
    ]
    assert any("incongruent minus congruent" in text for text in contrasts)
    assert not any('"' in text for text in contrasts)


# -- effects of the file ---------------------------------------------------------------------------

#: shares of right answers, by what a row records
PLANTED: dict[str, Callable[[Mapping[str, Any]], float]] = {
    "axcpt": lambda row: {"AX": 0.95, "AY": 0.75, "BX": 0.8, "BY": 0.97}[row["factor_trial_type"]],
    "retro_cue": lambda row: {"valid": 0.9, "neutral": 0.75}[row["factor_cue"]],
    "two_lists": lambda row: {"positive": 0.9, "intrusion": 0.75, "new": 0.97}[row["factor_probe_kind"]],
    "flanker": lambda row: {"congruent": 1, "neutral": 0.95, "incongruent": 0.8}[row["factor_flankers"]],
    "task_switching": lambda row: (
        0.95 if row["record_transition"] != "switch" else {100: 0.7, 900: 0.9}[row["factor_cue_ms"]]
    ),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("paradigm", "name", "differences"),
    [
        ("axcpt", "ay_errors", {1000: -0.22, 5000: -0.22}),
        ("axcpt", "bx_errors", {1000: -0.17, 5000: -0.17}),
        ("retro_cue", "retro_cue_benefit", {2: 0.15, 4: 0.15, 6: 0.15}),
        ("two_lists", "intrusion_cost", {100: -0.22, 600: -0.22, 2000: -0.22}),
        ("flanker", "flanker_effect", {None: -0.2}),
        ("task_switching", "switch_cost", {100: -0.25, 900: -0.05}),
    ],
)
def test_effects_of_the_library_are_found_in_twelve_people(
    paradigm: str, name: str, differences: dict[int | None, float]
) -> None:
    scored = twelve_people(paradigm, PLANTED[paradigm])
    effect = effect_of_file(scored.parts[paradigm], paradigm, name)
    rows = [row for row in trends(effect, scored, paradigm).to_dict("records") if row["contrast"] != "slope"]
    assert {row["contrast"] for row in rows} == {name.replace("_", " ")}
    found = {row.get(effect.panels[0]) if effect.panels else None: row for row in rows}
    assert found.keys() == differences.keys()
    for level, planted in differences.items():
        assert found[level]["low"] < planted < found[level]["high"]
    assert min(row["p"] for row in rows) < 0.001
    assert effect.method.startswith(load_paradigm(paradigm).data["effects"][name]["caption"])


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            "{of: lurre, contrast: {near: far}}",
            "'lurre' is neither a factor nor recorded by a step.*'lure'",
        ),
        ("{of: kind, contrast: {new: odl}}", "'odl' is not a level of 'kind' \\(new, old\\)"),
        ("{of: kind, contrast: {new: new}}", "'new' is compared with itself"),
        ("{of: kind, contrast: {new: old}, along: dely}", "'dely' is neither a factor"),
        ("{of: kind, contrast: {new: old}, value: speed}", "expected 'correct', 'rt_ms', 'rt_median' or 'd_prime'"),
    ],
)
def test_effects_of_what_there_is_not_are_refused(line: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(ParadigmError, match=says):
        of_text(tmp_path, f"{SWITCHING}effects: {{cost: {line}}}\n")


def test_words_of_contrasts_that_no_trial_records_are_told_by_check(tmp_path: Path) -> None:
    for word, told in (("far", False), ("fra", True)):
        of_text(tmp_path, f"{SWITCHING}effects: {{cost: {{of: lure, contrast: {{near: {word}}}}}}}\n")
        assert (f"has '{word}' as lure, so this may have no data" in str(check(tmp_path / "small.yaml"))) == told


def test_a_page_of_few_trials_says_which_effects_it_cannot_have(tmp_path: Path) -> None:
    """Three trials of AX-CPT are AX, so that nothing of AY and BY is there to compare."""
    taken = replay(
        "axcpt", "ideal", trials=3, levels={"trial_type": "AX", "delay_ms": 1000}, data=tmp_path, say=lambda _: None
    )
    page = compare([taken.folder], tmp_path / "report", Options())
    assert "no effect ay_errors: these data of axcpt have no answers at" in page.read_text(encoding="utf-8")


def test_levels_drawn_at_random_and_inherited_effects_are_looked_at(tmp_path: Path) -> None:
    random = SWITCHING.replace("{new: 1, old: 2}", "{random: [new, old]}")
    with pytest.raises(ParadigmError, match=r"'odl' is not a level of 'kind' \(new, old\)"):
        of_text(tmp_path, f"{random}effects: {{cost: {{of: kind, contrast: {{new: odl}}}}}}\n")
    more = "effects: {ay_errors: null, more: {of: trial_type, contrast: {AX: BX}}}"
    content = f"extends: axcpt\nparadigm: mine\nversion: 1\n{more}\n"
    (tmp_path / "mine.yaml").write_text(content, encoding="utf-8")
    assert [*load_paradigm(tmp_path / "mine.yaml").data["effects"]] == ["bx_errors", "d_context", "more"]
