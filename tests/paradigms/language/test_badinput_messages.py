"""Every mistake in a paradigm file is told with file, line and key, what was expected and found,
and the nearest valid name."""

# ruff: noqa: E501

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command_line import Run, complaint
from paradigm_texts import PROBE, asked, problems, text

from spanlab.paradigms import load_paradigm
from spanlab.paradigms.language.yaml_source import parse, scalar
from spanlab.stimuli import STIMULI


def one(timeline: str, message: str, *, factors: str = "", draw: str = "", more: str = "") -> Any:
    return pytest.param(text(timeline, factors=factors, draw=draw, more=more), [message], id=message[:70])


def step(inside: str) -> str:
    return f"- {{phase: p, {inside}}}\n{PROBE}"


def ask(inside: str) -> str:
    return f"- {{phase: p, show: {{blank: {{}}}}, ask: {{{inside}}}}}"


def flow(inside: str) -> str:
    return f"- {inside}\n  do: [{{phase: p, show: {{blank: {{}}}}}}]\n{PROBE}"


UNKNOWN_KEYS = [
    one(PROBE, "small.yaml:7 tittle: unknown key 'tittle'; did you mean 'title'?", more="tittle: x"),
    one(PROBE, "small.yaml:7 set-size: unknown key 'set-size'; did you mean 'set_size'?", more="set-size: 3"),
    one(PROBE, "small.yaml:7 a [b]: unknown key 'a [b]'", more="'a [b]': 3"),
    one(PROBE, "small.yaml:7 1: unknown key '1'", more="1: 3"),
    one(PROBE, "small.yaml:7 source > studdy: unknown key 'studdy'; did you mean 'study'?", more="source: {studdy: x}"),
    one("- {phase: p, show: {blank: {}}, ms: 500}\n" + PROBE, "small.yaml:6 timeline step 1 > ms: unknown key 'ms': it stands within 'show'"),
    one(PROBE, "small.yaml:7 practice > at_least: unknown key 'at_least'; did you mean 'at_most'?", more="practice: {trials: 2, at_least: 3}"),
    one(PROBE, "small.yaml:7 practice > pass_: unknown key 'pass_'; did you mean 'pass'?", more="practice: {trials: 2, pass_: 0.5}"),
    one(PROBE, "small.yaml:9 designs > human > repetition: unknown key 'repetition'; did you mean 'repetitions'?", more="designs:\n  human:\n    repetition: 3"),
    one(PROBE, "small.yaml:7 designs > d > trian: unknown key 'trian'; did you mean 'train'?", more="designs: {d: {trian: 3}}"),
    one(PROBE, "small.yaml:7 designs > d > repetitions: unknown key 'repetitions'", more="designs: {d: {train: 3, repetitions: 2}}"),
    one(PROBE, "small.yaml:7 network > heads: unknown key 'heads'; did you mean 'head'?", more="network: {task: t, head: 9, heads: 1}"),
    one(PROBE, "small.yaml:6 factors > a > rndom: unknown key 'rndom'; did you mean 'random'?", factors="a: {rndom: [1], random: [2]}"),
    one(step("shwo: {blank: {}}, show: {blank: {}}"), "small.yaml:6 timeline step 1 > shwo: unknown key 'shwo'; did you mean 'show'?"),
    one(step("show: {matrix: {filled: [], colour_: red}}"), "small.yaml:6 timeline step 1 > show > matrix > colour_: unknown key 'colour_'; did you mean 'colour'?"),
    one(step("show: {matrx: {filled: []}}"), "small.yaml:6 timeline step 1 > show > matrx: unknown key or stimulus 'matrx'; did you mean 'matrix'?"),
    one(step("show: {sound: tone.mp3, ms: 500}"), "small.yaml:6 timeline step 1 > show > sound > file: a sound file ends in .wav, .flac or .ogg"),
    one(step("show: {letter: A, sund: tone.wav}"), "small.yaml:6 timeline step 1 > show > sund: unknown key or stimulus 'sund'; did you mean 'sound'?"),
    one(step("show: {blank: {}, sm: 5}"), f"small.yaml:6 timeline step 1 > show > sm: unknown key or stimulus 'sm' (known: {', '.join(sorted(STIMULI))})"),
    one(ask("choise: {options: 2}, answer: 0"), "small.yaml:6 timeline step 1 > ask > choise: unknown key or response kind 'choise'; did you mean 'choice'?"),
    one(ask("choice: {options: 2}, answer: 0, end: on_time"), "small.yaml:6 timeline step 1 > ask > end: unknown key or response kind 'end'; did you mean 'ends'?"),
    one(ask("choice: {options: 2, layuot: 2x1}, answer: 0"), "small.yaml:6 timeline step 1 > ask > choice > layuot: unknown key 'layuot'; did you mean 'layout'?"),
    one(PROBE, "small.yaml:6 draw > a > permutatoin: unknown key or sampler 'permutatoin'; did you mean 'permutation'?", draw="a: {permutatoin: {of: 3}}"),
    one(PROBE, "small.yaml:6 draw > a > permutation > tak: unknown key 'tak'; did you mean 'take'?", draw="a: {permutation: {of: 3, tak: 2}}"),
    one(step("feedback: {rigth: {blank: {}}, right: {blank: {}}, wrong: {blank: {}}}"), "small.yaml:6 timeline step 1 > feedback > rigth: unknown key 'rigth'; did you mean 'right'?"),
]  # fmt: skip

TYPES = [
    one(PROBE, "small.yaml:7 domains: expected a list; found 'visual'", more="domains: visual"),
    one(PROBE, "small.yaml:7 domains item 2: expected text; found 3", more="domains: [visual, 3]"),
    one(PROBE, "small.yaml:7 source: expected keys with values; found 'Avons'", more="source: Avons"),
    one(PROBE, "small.yaml:7 set_size: expected a whole number or an expression; found 'many'", more="set_size: many"),
    one(PROBE, "small.yaml:7 practice > trials: expected a whole number; found 'two'", more="practice: {trials: two}"),
    one(PROBE, "small.yaml:7 practice > trials: expected a number from 1; found 0", more="practice: {trials: 0}"),
    one(PROBE, "small.yaml:7 practice > feedback: expected true or false; found 'yes'", more="practice: {trials: 2, feedback: yes}"),
    one(PROBE, "small.yaml:7 practice > pass: expected a number up to 1.0; found 60", more="practice: {trials: 2, pass: 60}"),
    one(PROBE, "small.yaml:7 designs > d > order: expected 'shuffled' or 'fixed'; found 'random'", more="designs: {d: {order: random}}"),
    one(PROBE, "small.yaml:7 designs > d > interval: expected a number or keys with values; found 'long'", more="designs: {d: {interval: long}}"),
    one(PROBE, "small.yaml:7 designs > d > interval: the shortest duration (9) is longer than the longest (5)", more="designs: {d: {interval: {uniform: [9, 5]}}}"),
    one(PROBE, "small.yaml:7 designs > d > train: expected a whole number; found 1.5", more="designs: {d: {train: 1.5}}"),
    one(PROBE, "small.yaml:7 network > head: expected a number from 1; found 0", more="network: {task: t, head: 0}"),
    one(PROBE, "small.yaml:6 factors > a: expected a list; found 5", factors="a: 5"),
    one(PROBE, "small.yaml:6 factors > a: expected at least 1 value; found []", factors="a: []"),
    one(PROBE, "small.yaml:6 factors > a: the level 2 occurs twice; to have it more often than others, give weights, such as {2: 2, ...}", factors="a: [1, 2, 3, 2]"),
    one(PROBE, "small.yaml:6 factors > set_size item 2: the levels of set_size are whole numbers; found 'two'", factors="set_size: [1, two]"),
    one(PROBE, "small.yaml:6 draw > a: expected a sampler such as {box_areas: ...}; found 5", draw="a: 5"),
    one(PROBE, "small.yaml:6 draw > a > permutation > of: expected a number from 1; found 0", draw="a: {permutation: {of: 0}}"),
    one(PROBE, "small.yaml:6 draw > a > permutation > take: expected a whole number; found 'all'", draw="a: {permutation: {of: 4, take: all}}"),
    one(step("show: 5"), "small.yaml:6 timeline step 1 > show: expected a stimulus such as {arrow_array: ...}; found 5"),
    one(step("show: []"), "small.yaml:6 timeline step 1 > show: expected from 1 to 100 displays; found 0"),
    one(step("show: {matrix: 5}"), "small.yaml:6 timeline step 1 > show > matrix: expected keys with values (grid, filled, colour, margin, radius); found 5"),
    one(step("show: {matrix: {filled: [1, x]}}"), "small.yaml:6 timeline step 1 > show > matrix > filled item 2: expected a whole number; found 'x'"),
    one(step("show: {matrix: {filled: [99]}}"), "small.yaml:6 timeline step 1 > show > matrix: cell 99 is outside the 6 x 6 grid: cells are 0 to 35, row by row"),
    one(step("show: {blank: {}, ms: fast}"), "small.yaml:6 timeline step 1 > show > ms: expected a duration in ms above 0; found 'fast'"),
    one(step("show: {blank: {}, ms: 0}"), "small.yaml:6 timeline step 1 > show > ms: expected a duration in ms above 0; found 0"),
    one(step("show: {blank: {}, ms: {uniform: [5]}}"), "small.yaml:6 timeline step 1 > show > ms: expected {uniform: [shortest, longest]} in ms; found {'uniform': [5]}"),
    one(step("show: {blank: {}, for_machines: yes}"), "small.yaml:6 timeline step 1 > show > for_machines: expected true or false; found 'yes'"),
    one(step("show: {blank: {}}, model_steps: 3"), "small.yaml:6 timeline step 1 > model_steps: expected 0 (people only) or 1; found 3. A step that lasts longer is written with 'repeat'"),
    one("- {phase: p, show: {blank: {}}, record: {soa: 1}}\n" + PROBE, "small.yaml:8 conditions item 1: 'soa' is neither a factor nor recorded by a step (there are none)", more="conditions: [soa]"),
    one(step("show: {blank: {}}, record: 5"), "small.yaml:6 timeline step 1 > record: expected names with values, such as {serial_position: =number}; found 5"),
    one(ask("choice: {options: 2}, answer: 0}, record: {serial_position: first"), "small.yaml:6 timeline step 1 > record > serial_position: serial_position is a whole number; found 'first'"),
    one(step("show: {blank: {}}, record: {cells: [1, 2]}"), "small.yaml:6 timeline step 1 > record > cells: one number, word, true, false or null fits into the response table; found [1, 2]"),
    one(ask("choice: {options: 2}, answer: 0, ends: onanswer"), "small.yaml:6 timeline step 1 > ask > ends: expected on_answer or on_time; found 'onanswer'; did you mean 'on_answer'?"),
    one(ask("choice: {options: 2}, answer: 0, counts: all"), "small.yaml:6 timeline step 1 > ask > counts: expected first or last; found 'all'"),
    one(ask("choice: {options: [a, a]}, answer: a"), "small.yaml:6 timeline step 1 > ask > choice: options must be at least two different words"),
    one(ask("choice: {options: 9, layout: 2x2}, answer: 0"), "small.yaml:6 timeline step 1 > ask > choice: layout must be columns x rows with room for 9 options, such as 3x3 (or rows, such as 3+3+2); found '2x2'"),
    one(ask("choice: {options: 9, layout: 3x3, within: [93, 3, 3, 93]}, answer: 0"), "small.yaml:6 timeline step 1 > ask > choice > within: an area is [x0, y0, x1, y1], from its top left to its bottom right corner, within 0 to 96; found [93.0, 3.0, 3.0, 93.0]"),
    one(flow("repeat: many"), "small.yaml:6 timeline step 1 > repeat: expected a whole number from 0 to 10000, or an expression; found 'many'"),
    one(flow("when: maybe"), "small.yaml:6 timeline step 1 > when: expected an expression such as \"=distractors > 0\"; found 'maybe'"),
    one(flow("for: 5"), "small.yaml:6 timeline step 1 > for: expected 'item in list' or '(a, b) in zip(x, y)'; found 5"),
    one(flow("for: x of y"), "small.yaml:6 timeline step 1 > for: expected 'item in list' or '(a, b) in zip(x, y)'; found 'x of y'"),
    one("- 5", "small.yaml:6 timeline step 1: expected a step (phase, show, ask ...) or flow (for, when, else, repeat, do); found 5"),
]  # fmt: skip

MISSING = [
    pytest.param("paradigm: small\nversion: 1\n", ["small.yaml:1 'title' is missing", "small.yaml:1 'timeline' is missing", "small.yaml:1 'instructions' is missing"], id="top"),
    one(step("show: {matrix: {}}"), "small.yaml:6 timeline step 1 > show > matrix: 'filled' is missing"),
    one("- {phase: p}\n" + PROBE, "small.yaml:6 timeline step 1: 'show' is missing: what is on the screen (blank: {} for nothing)"),
    one("- {show: {blank: {}}}\n" + PROBE, "small.yaml:6 timeline step 1: expected 'phase' with one word such as present or probe; found nothing"),
    one(step("show: {ms: 500}"), "small.yaml:6 timeline step 1 > show: expected exactly one stimulus, found none"),
    one(step("show: {blank: {}, fixation: {}}"), "small.yaml:6 timeline step 1 > show: expected exactly one stimulus, found 2 (blank, fixation)"),
    one(ask("choice: {options: 2}"), "small.yaml:6 timeline step 1 > ask: 'answer' is missing: the correct answer, for scoring (agents never see it)"),
    one(ask("choice: {options: 2}, answer: null"), "small.yaml:6 timeline step 1 > ask: 'answer' is missing: the correct answer, for scoring (agents never see it)"),
    one(ask("answer: 0"), "small.yaml:6 timeline step 1 > ask: expected exactly one response kind, found none"),
    one("- repeat: 3\n" + PROBE, "small.yaml:6 timeline step 1: nothing happens here: add 'do' with steps, or 'phase' and 'show'"),
    one("- {else: [{phase: q, show: {blank: {}}}], do: [{phase: p, show: {blank: {}}}]}\n" + PROBE, "small.yaml:6 timeline step 1 > else: 'else' needs a 'when' beside it"),
    one(step("feedback: {wrong: {blank: {}}}"), "small.yaml:6 timeline step 1 > feedback: 'right' is missing"),
    one(PROBE, "small.yaml:7 practice: 'trials' is missing", more="practice: {}"),
    one(PROBE, "small.yaml:6 draw > a > permutation: 'of' is missing", draw="a: {permutation: {}}"),
]  # fmt: skip

CLASHES = [
    one(step("show: {blank: {}}, do: [{phase: q, show: {blank: {}}}]"), "small.yaml:6 timeline step 1: 'do' already says what happens; move phase, show into a step below it"),
    one(step("show: {blank: {}}, model_steps: 0, ask: {choice: {options: 2}, answer: 0}"), "small.yaml:6 timeline step 1 > ask: a step with model_steps: 0 is for people only, so it cannot ask"),
    one(step("show: {blank: {}}, feedback: {right: {blank: {}}, wrong: {blank: {}}}"), "small.yaml:6 timeline step 1 > show: a feedback step has no 'show' beside its 'feedback'"),
    one(PROBE + "\n- {phase: f, feedback: {right: {blank: {}}, wrong: {blank: {}}}, ask: {choice: {options: 2}, answer: 0}}", "small.yaml:7 timeline step 2 > ask: a feedback step cannot ask"),
    one(step("show: [{blank: {}}, {blank: {}, ms: 5}]"), "small.yaml:6 timeline step 1 > show item 1: only the last display of a step may be without ms"),
    one(step("show: [{blank: {}, ms: 5, for_machines: true}, {blank: {}, for_machines: true}]"), "small.yaml:6 timeline step 1 > show: only one display of a step may be for machines"),
    one(PROBE, "small.yaml:8 draw > a: the name 'a' is taken by a factor", factors="a: [1]", draw="a: {one_of: 3}"),
    one(PROBE, "small.yaml:6 factors > index: the name 'index' is reserved", factors="index: [1]"),
    one(PROBE, "small.yaml:6 draw > len: the name 'len' is reserved", draw="len: {one_of: 3}"),
    one(PROBE, "small.yaml:6 factors > lambda: the name 'lambda' is reserved", factors="lambda: [1]"),
    one(PROBE, "small.yaml:6 factors > list length: 'list length' cannot be a name: use letters, digits and underscores, beginning with a letter", factors="list length: [1]"),
    one(PROBE, "small.yaml:6 factors > _a: '_a' cannot be a name: use letters, digits and underscores, beginning with a letter", factors="_a: [1]"),
    one(flow("for: number in [1]"), "small.yaml:6 timeline step 1 > for: the name 'number' is taken, or 'number_number'; choose another for this loop"),
    one(flow("for: len in [1]"), "small.yaml:6 timeline step 1 > for: the name 'len' is taken, or 'len_number'; choose another for this loop"),
    one(flow("for: (a, a) in [1]"), "small.yaml:6 timeline step 1 > for: the name 'a' is taken, or 'a_number'; choose another for this loop"),
    one(flow("for: x in [1]"), "small.yaml:8 timeline step 1 > for: the name 'x' is taken, or 'x_number'; choose another for this loop", factors="x_number: [1]"),
]  # fmt: skip

NAMES = [
    one(flow("for: x in patern"), "small.yaml:8 timeline step 1 > for: '=patern' uses 'patern', which is not known here; did you mean 'pattern'?", draw="pattern: [1]"),
    one(step("show: {matrix: {filled: =cels}}"), "small.yaml:8 timeline step 1 > show > matrix > filled: '=cels' uses 'cels', which is not known here; did you mean 'cells'?", draw="cells: [1]"),
    one(step("show: {blank: {}}, record: {x: =number}"), "small.yaml:6 timeline step 1 > record > x: '=number' uses 'number', which is not known here (known: generator)"),
    one(ask("choice: {options: 9}, answer: =a, prompt: '{=a_number}'"), "small.yaml:9 timeline step 1 > ask > prompt > en: '=a_number' uses 'a_number', which is not known here", draw="a: {one_of: 4}\na_number: =a + 1"),
    one(ask("sequence: {options: 4, take: 2, positions: =order}, answer: [0, 1]"), "small.yaml:8 timeline step 1 > ask > sequence > positions: '=order' uses 'order', which is not known here", draw="order: {permutation: {of: [1, 2]}}"),
    one(PROBE, "small.yaml:6 draw > a: '=b + 1' uses 'b', which is not known here (known: generator)", draw="a: =b + 1\nb: {one_of: 3}"),
    one(PROBE, "small.yaml:7 set_size: '=n' uses 'n', which is not known here (known: generator)", more="set_size: =n"),
    one(PROBE, "small.yaml:7 practice > factors > b: there is no factor 'b'", more="practice: {trials: 1, factors: {b: 1}}"),
    one(PROBE, "small.yaml:9 practice > factors > a: 3 is not a level of 'a' (1, 2)", factors="a: [1, 2]", more="practice: {trials: 1, factors: {a: 3}}"),
    one(PROBE, "small.yaml:9 practice > factors > a: true is not a level of 'a' (1, 2)", factors="a: [1, 2]", more="practice: {trials: 1, factors: {a: true}}"),
    one(PROBE, "small.yaml:9 designs > d > factors > a: 3 is not a level of 'a' (1, 2)", factors="a: [1, 2]", more="designs: {d: {factors: {a: [1, 3]}}}"),
    one(PROBE, "small.yaml:9 designs > d > hold_out > lenght: there is no factor 'lenght'; did you mean 'length'?", factors="length: [1, 2]", more="designs: {d: {hold_out: {lenght: [1]}}}"),
    one(PROBE, "small.yaml:9 designs > d > blocked_by: there is no factor 'b'", factors="a: [1, 2]", more="designs: {d: {blocked_by: [b]}}"),
    one(PROBE, "small.yaml:9 designs > d > blocked_by: 'a' is drawn at random for each trial; give its levels under 'factors' here to cross it with the others",
        factors="a: {random: [1, 2]}", more="designs: {d: {blocked_by: [a]}}"),
]  # fmt: skip

COMPILING = [
    one(flow("for: x in n"), "small.yaml:8 timeline step 1 > for: expected a list to loop over; found 2 (with seed 1)", draw="n: =1 + 1"),
    one(flow("for: (a, b) in [[1, 2], [3]]"), "small.yaml:6 timeline step 1 > for: expected 2 values for (a, b); found [3] (with seed 1)"),
    one(flow("for: (a, b) in zip([1], [1, 2])"), "small.yaml:6 timeline step 1 > for: '=zip([1], [1, 2])': zip of lists of different lengths (1, 2) (with seed 1)"),
    one(flow("when: =n"), "small.yaml:8 timeline step 1 > when: expected true or false; found 'no' (with seed 1)", draw="n: {one_of: {of: [no, no]}}"),
    one(flow("repeat: =1 / 2"), "small.yaml:6 timeline step 1 > repeat: expected a whole number from 0 to 10000; found 0.5 (with seed 1)"),
    one(PROBE, "small.yaml:6 draw > a > permutation: cannot take 4 different ones of 3 (with seed 1)", draw="a: {permutation: {of: 3, take: =2 + 2}}"),
    one(PROBE, "small.yaml:6 draw > a > permutation: cannot take 4 different ones of 3", draw="a: {permutation: {of: 3, take: 4}}"),
    one(PROBE, "small.yaml:6 draw > a > matrix_patterns: too many different patterns: 9 out of only 1 possible ones", draw="a: {matrix_patterns: {count: 9, grid: 2, filled: 4}}"),
    one(step("show: {matrix: {filled: '=[1, 1]'}}"), "small.yaml:6 timeline step 1 > show > matrix: cell 1 is given twice (with seed 1)"),
    one(step("show: {blank: {}, ms: =0 - 1}"), "small.yaml:6 timeline step 1 > show > ms: expected a duration in ms above 0; found -1 (with seed 1)"),
    one(ask("choice: {options: 2}, answer: 2"), "small.yaml:6 timeline step 1 > ask > answer: 2 is not an answer that can be given to 'choice' (positions count from 0) (with seed 1)"),
    one(ask("choice: {options: 2}, answer: 1.0"), "small.yaml:6 timeline step 1 > ask > answer: 1.0 is not an answer that can be given to 'choice' (positions count from 0) (with seed 1)"),
    one(ask("choice: {options: [a, b]}, answer: c"), "small.yaml:6 timeline step 1 > ask > answer: 'c' is not an answer that can be given to 'choice' (positions count from 0) (with seed 1)"),
    one(ask("choice: {options: [a, b]}, answer: a, no_answer_means: c"), "small.yaml:6 timeline step 1 > ask > no_answer_means: 'c' is not an answer that can be given to 'choice' (positions count from 0) (with seed 1)"),
    one(ask("cells: {grid: 2, take: 2}, answer: [[0], [1]]"), "small.yaml:6 timeline step 1 > ask > answer: [[0], [1]] is not an answer that can be given to 'cells' (positions count from 0) (with seed 1)"),
    one(ask("choice: {options: 2}, answer: 0, ends: on_time"), "small.yaml:6 timeline step 1 > ask > ends: a step that ends on time needs ms on every display (with seed 1)"),
    one(ask("choice: {options: 2}, answer: 0, chance: 2"), "small.yaml:6 timeline step 1 > ask > chance: expected a probability; found 2 (with seed 1)"),
    one(ask("choice: {options: 2}, answer: 0, window_ms: -1"), "small.yaml:6 timeline step 1 > ask > window_ms: expected a duration in ms above 0; found -1 (with seed 1)"),
    one("- {phase: p, show: {blank: {}}}", "small.yaml:5 timeline: a trial without a question: no step asks (with seed 1)"),
    one("- {for: 'x in []', do: [{phase: p, show: {blank: {}}}]}", "small.yaml:5 timeline: a trial without steps (with seed 1)"),
    one(PROBE, "small.yaml:7 set_size: expected a whole number; found 0.5 (with seed 1)", more="set_size: =1 / 2"),
    one(PROBE, "small.yaml:6 draw > a: '=1 / 0': division by zero (with seed 1)", draw="a: =1 / 0"),
    one(PROBE, "small.yaml:7 draw > b: '=a[3]': there is no place 3: the list has 2, counted from 0 (with seed 1)", draw="a: [1, 2]\nb: '=a[3]'"),
    one(PROBE, "small.yaml:7 draw > b: '=a.finl': no field 'finl'; did you mean 'final'? (with seed 1)", draw="a: {marker_walk: {boxes: 1, updates: 1}}\nb: =a.finl"),
    one(ask("choice: {options: 2}, answer: 0}, record: {serial_position: =1 / 2"), "small.yaml:6 timeline step 1 > record > serial_position: serial_position is a whole number; found 0.5 (with seed 1)"),
]  # fmt: skip


@pytest.mark.sampled(45)
@pytest.mark.parametrize(("content", "expected"), [*UNKNOWN_KEYS, *TYPES, *MISSING, *CLASHES, *NAMES, *COMPILING])
def test_mistakes_are_told_with_line_and_key(run: Run, tmp_path: Path, content: str, expected: list[str]) -> None:
    assert problems(tmp_path, content) == expected
    err = complaint(*run("check", "small.yaml"))
    for line in expected:
        assert line.split(" (with seed")[0] in err


YAML: list[tuple[str | bytes, str]] = [
    ("", "small.yaml the file is empty"),
    ("# nothing\n", "small.yaml the file is empty"),
    ("- a\n- b\n", "small.yaml:1 expected a paradigm (keys with values, beginning with 'paradigm: NAME'); found ['a', 'b']"),
    ("just words\n", "small.yaml:1 expected a paradigm (keys with values, beginning with 'paradigm: NAME'); found 'just words'"),
    ("paradigm: a\nversion: 1\nparadigm: b\n", "small.yaml:3 duplicate key 'paradigm'; it is already at small.yaml:1"),
    ("a: [1, 2\nb: 3\n", "small.yaml:2 not valid YAML: while parsing a flow sequence did not find expected ',' or ']'"),
    ("a: 1\n b: 2\n", "small.yaml:2 not valid YAML: mapping values are not allowed in this context"),
    ("a: 'open\nb: 2\n", "small.yaml:3 not valid YAML: while scanning a quoted scalar found unexpected end of stream"),
    ("a:\n\t- b\n", "small.yaml:2 not valid YAML: the line is indented with a tab; use spaces"),
    ("a: &x 1\nb: *y\n", "small.yaml:2 b: unknown alias '*y'"),
    ("a: &x [*x]\n", "small.yaml:1 a item 1: unknown alias '*x'"),
    ("a: !!python/object:os.system 1\n", "small.yaml:1 a: tags such as tag:yaml.org,2002:python/object:os.system are not understood; write plain values"),
    ("a: !mine {b: 1}\n", "small.yaml:1 a: tags such as !mine are not understood; write plain values"),
    ("a: &b {c: 1}\nd:\n  <<: *b\n", "small.yaml:3 d: merge keys (<<) are not understood; use 'extends' for variants"),
    ("? [a]\n: b\n", "small.yaml:1 a key must be a word"),
    ("a: 1\n---\nb: 2\n", "small.yaml:2 a second document begins here; one paradigm is one document"),
    (b"a: 1\nb: \xff\n", "small.yaml:2 not UTF-8 text (byte 9: 0xff); save the file as UTF-8"),
    ("a: 1".encode("utf-16"), "small.yaml:1 not UTF-8 text (byte 1: 0xff); save the file as UTF-8"),
    (b"a: 1\n\nb: x\x00y\n", r"small.yaml:3 not valid YAML: the character '\x00' is not allowed in it"),
    (b"a: 1\nb: \x1b[31m\n", r"small.yaml:2 not valid YAML: the character '\x1b' is not allowed in it"),
    ("extends: [vsr]\n", "small.yaml:1 extends: expected the name of a paradigm; found ['vsr']"),
    ("extends: nowhere.yaml\n", "small.yaml:1 extends: nowhere.yaml: there is no such paradigm file"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "expected"), YAML, ids=[repr(content)[:30] for content, _ in YAML])
def test_what_is_no_yaml_is_told_with_its_line(tmp_path: Path, content: str | bytes, expected: str) -> None:
    assert problems(tmp_path, content) == [expected]


def test_everything_is_told_at_once_and_in_the_order_of_lines(tmp_path: Path) -> None:
    content = """\
paradigm: Small
version: one
title: ""
factors:
  a: [1, 1]
draw:
  x: {one_off: 3}
  y: =z
timeline:
  - phase: p
    show: {blank: {colour: grren}}
  - phase: q
    show: {blank: {}, ms: no}
    ask: {choice: {options: 1}, answer: =w}
instructions: {}
practice: {trials: 2, factors: {b: 1}}
"""
    assert problems(tmp_path, content) == [
        "small.yaml:1 paradigm: expected small letters (a to z), digits and underscores, at most 41, beginning with a letter; found 'Small'",
        "small.yaml:2 version: expected a whole number; found 'one'",
        "small.yaml:3 title: expected at least 1 character; found ''",
        "small.yaml:5 factors > a: the level 1 occurs twice; to have it more often than others, give weights, such as {1: 2, ...}",
        "small.yaml:7 draw > x > one_off: unknown key or sampler 'one_off'; did you mean 'one_of'?",
        "small.yaml:8 draw > y: '=z' uses 'z', which is not known here (known: a, generator, x)",
        "small.yaml:11 timeline step 1 > show > blank > colour: unknown colour 'grren'; did you mean 'green'? (one of red, green, blue, yellow, orange, purple, pink, cyan, brown, gray, black, white, ink, or '#rrggbb')",
        "small.yaml:13 timeline step 2 > show > ms: expected a duration in ms above 0; found 'no'",
        "small.yaml:14 timeline step 2 > ask > choice > options: expected a number from 2; found 1",
        "small.yaml:14 timeline step 2 > ask > answer: '=w' uses 'w', which is not known here (known: a, generator, x, y)",
    ]


def test_duplicate_keys_are_told_together(tmp_path: Path) -> None:
    assert problems(tmp_path, "a: 1\na: 2\nb:\n  c: 1\n  c: 2\n") == [
        "small.yaml:2 duplicate key 'a'; it is already at small.yaml:1",
        "small.yaml:5 b: duplicate key 'c'; it is already at small.yaml:4",
    ]


def test_a_hundred_problems_are_enough(tmp_path: Path) -> None:
    found = problems(tmp_path, text(more="\n".join(f"k{n}: x" for n in range(500))))
    assert len(found) == 101
    assert found[0] == "small.yaml:7 k0: unknown key 'k0'"
    assert found[-1] == "small.yaml more than 100 problems; correct these first"


def test_messages_are_single_clean_lines_of_some_length(tmp_path: Path) -> None:
    found = problems(
        tmp_path, text(more=f'"\\e[31mred\\n": 1\n"{"x" * 600}": 2\ndomains: ["{"y" * 5000}", "a\\nb", 3]')
    )
    assert len(found) == 3
    assert found[0] == r"small.yaml:7 \x1b[31mred\n: unknown key '\x1b[31mred\n'"
    assert all(len(line) < 1600 for line in found)


def test_scalars_are_those_of_yaml_1_2() -> None:
    words = {
        "no": "no",
        "off": "off",
        "yes": "yes",
        "y": "y",
        "012": "012",
        "0x1f": "0x1f",
        "1_000": "1_000",
        "1:30": "1:30",
        "2024-01-01": "2024-01-01",
    }
    values = {
        "12": 12,
        "-3": -3,
        "+4": 4,
        "0": 0,
        "1.5": 1.5,
        "-.5": -0.5,
        "1e3": 1000.0,
        "true": True,
        "False": False,
        "null": None,
        "~": None,
        "": None,
    }
    others = {".inf": ".inf", "nan": "nan", "1e999": "1e999", "9" * 60: "9" * 60, "=": "=", "<<": "<<", "tRue": "tRue"}
    for word, value in {**words, **values, **others}.items():
        assert scalar(word) == value
        assert type(scalar(word)) is type(value)
    document = parse("a: no\nb: 012\nc: 'true'\nd: \"3\"\ne: |\n  5\nf: ! 7\ng: 1.0\n", "t.yaml").data
    assert document == {"a": "no", "b": "012", "c": "true", "d": "3", "e": "5\n", "f": "7", "g": 1.0}


def test_words_that_look_like_something_else_reach_the_trial_as_they_stand(tmp_path: Path) -> None:
    timeline = asked("- {phase: p, show: {blank: {}}, ask: {choice: {options: [no, 012]}, answer: no}}")
    (path := tmp_path / "small.yaml").write_text(text(timeline, factors="a: [no, 012, 1.0, true]"), encoding="utf-8")
    assert load_paradigm(path).factors["a"].levels == ("no", "012", 1.0, True)
