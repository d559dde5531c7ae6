"""The timeline language, through loading and compiling small files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from paradigm_texts import PROBE, asked, load, problems, recorded, text, trial

from spanlab.core.errors import SpanLabError
from spanlab.paradigms import compile_trial, fingerprint, load_paradigm, resolve_levels
from spanlab.paradigms.paradigm import paradigm_from_data


def note(expression: str, name: str = "x") -> str:
    """A step that records the value of an expression."""
    return f'{{phase: note, show: {{blank: {{}}, ms: 1}}, record: {{{name}: "{expression}"}}}}'


def values(
    folder: Path,
    *expressions: str,
    draw: str = "",
    factors: str = "",
    levels: dict[str, Any] | None = None,
    seed: int = 1,
) -> list[Any]:
    """The values of expressions, recorded by one step each."""
    steps = "\n".join(f"- {note(expression)}" for expression in expressions)
    return recorded(trial(folder, text(f"{steps}\n{PROBE}", draw=draw, factors=factors), levels, seed))


# factors ------------------------------------------------------------------------------------------


def test_crossed_factors_make_combinations_in_the_order_of_the_file(tmp_path: Path) -> None:
    paradigm = load(tmp_path, text(factors="a: [1, 2]\nb: [x, y, z]\nc: {random: [7, 8]}"))
    assert [(one["a"], one["b"]) for one in paradigm.combinations()] == [
        (1, "x"),
        (1, "y"),
        (1, "z"),
        (2, "x"),
        (2, "y"),
        (2, "z"),
    ]
    assert all("c" not in one for one in paradigm.combinations())
    assert paradigm.combinations({"a": 2, "b": ["z", "x"]}) == [{"a": 2, "b": "z"}, {"a": 2, "b": "x"}]
    assert {one["c"] for one in paradigm.combinations({"c": [7, 8]})} == {7, 8}


def test_random_factors_follow_the_seed_and_the_crossed_levels_unless_given(tmp_path: Path) -> None:
    paradigm = load(tmp_path, text(factors="a: [1, 2]\nc: {random: [0, 1, 2, 3]}"))
    drawn, other = (
        [compile_trial(paradigm, {"a": level}, seed).levels["c"] for seed in range(200)] for level in (1, 2)
    )
    assert drawn == [compile_trial(paradigm, {"a": 1}, seed).levels["c"] for seed in range(200)]
    assert 25 < sum(one == two for one, two in zip(drawn, other, strict=True)) < 75
    assert min(drawn.count(level) for level in range(4)) > 25
    assert compile_trial(paradigm, {"a": 1, "c": 3}, 0).levels == {"a": 1, "c": 3}
    assert resolve_levels(paradigm, {"a": 1}, 5) == compile_trial(paradigm, {"a": 1}, 5).levels


def test_a_crossed_factor_must_be_chosen_and_one_level_is_a_choice(tmp_path: Path) -> None:
    paradigm = load(tmp_path, text(factors="a: [1, 2]\nb: [5]"))
    with pytest.raises(SpanLabError, match=r"small: choose a level of 'a' \(1, 2\)"):
        compile_trial(paradigm, {}, 1)
    assert compile_trial(paradigm, {"a": 2}, 1).levels == {"a": 2, "b": 5}


def test_levels_are_used_as_the_file_writes_them(tmp_path: Path) -> None:
    paradigm = load(tmp_path, text(factors="a: [1, 2.5, yes, 'true', true]"))
    whole = compile_trial(paradigm, {"a": 1.0}, 1)
    assert whole.trial_id == compile_trial(paradigm, {"a": 1}, 1).trial_id
    assert type(whole.levels["a"]) is int
    assert {compile_trial(paradigm, {"a": level}, 1).trial_id for level in (1, 2.5, "yes", "true", True)} == {
        compile_trial(paradigm, {"a": level}, 1).trial_id for level in paradigm.factors["a"].levels
    }
    with pytest.raises(SpanLabError, match=r"a cannot be false; its levels are 1, 2\.5, yes, true, true"):
        compile_trial(paradigm, {"a": False}, 1)
    with pytest.raises(SpanLabError, match="small has no factor 'aa'; did you mean 'a'"):
        compile_trial(paradigm, {"aa": 1}, 1)


# draws --------------------------------------------------------------------------------------------


DRAWS = "deck: {permutation: {of: 50}}\npick: {one_of: 1000}"


def test_each_draw_has_a_stream_of_its_own(tmp_path: Path) -> None:
    before = values(tmp_path, "=str(deck[0])", "=pick", draw=DRAWS, seed=3)
    more = f"first: {{one_of: 1000}}\n{DRAWS}\nlast: {{several: {{of: 9, count: 30}}}}"
    assert values(tmp_path, "=str(deck[0])", "=pick", draw=more, seed=3) == before
    assert (
        values(tmp_path, "=str(deck[0])", "=pick", draw="pick: {one_of: 1000}\ndeck: {permutation: {of: 50}}", seed=3)
        == before
    )
    assert values(tmp_path, "=pick", draw="cards: {permutation: {of: 50}}\npick: {one_of: 1000}", seed=3) == before[1:]


def test_seeds_and_only_seeds_change_draws(tmp_path: Path) -> None:
    drawn = [values(tmp_path, *(f"=deck[{n}]" for n in range(50)), draw=DRAWS, seed=seed) for seed in (1, 2, 1)]
    assert drawn[0] == drawn[2] != drawn[1]
    assert sorted(drawn[0]) == sorted(drawn[1]) == list(range(50))


def test_a_draw_may_use_factors_and_earlier_draws_and_be_an_expression_or_a_list(tmp_path: Path) -> None:
    draw = """
        deck: {permutation: {of: 9, take: =n}}
        top: {one_of: =deck}
        twice: "=[2 * card for card in deck]"
        mixed: [1, =n, [=top]]
    """
    found = values(tmp_path, "=len(deck)", "=top in deck", "=twice == [2 * card for card in deck]", "=mixed == [1, n, [top]]", draw=draw, factors="n: [3, 4]",  # noqa: E501
                   levels={"n": 4})  # fmt: skip
    assert found == [4, True, True, True]


# flow ---------------------------------------------------------------------------------------------


def test_loops_count_from_0_and_1_and_by_name(tmp_path: Path) -> None:
    timeline = """
        - for: letter in ['a', 'b', 'c']
          do:
            - {phase: note, show: {blank: {}}, record: {x: "=[letter, index, number, letter_number] == [letter, index, index + 1, number] and index"}}
            - for: (i, j) in zip([7, 8], range(2))
              phase: note
              show: {blank: {}}
              record: {x: =letter + str(letter_number) + str(i) + str(i_number) + str(index) + str(j)}
    """  # noqa: E501
    assert recorded(trial(tmp_path, text(asked(timeline)))) == [
        0,
        "a17100",
        "a18211",
        1,
        "b27100",
        "b28211",
        2,
        "c37100",
        "c38211",
    ]


def test_a_step_may_stand_in_the_loop_itself(tmp_path: Path) -> None:
    timeline = (
        "- for: cell in range(4)\n  phase: present\n  show: {matrix: {grid: 2, filled: '=[cell]'}, ms: 100}\n" + PROBE
    )
    one = trial(tmp_path, text(timeline))
    assert [step.percept.phase for step in one.steps] == ["present"] * 4 + ["probe"]
    assert [step.index for step in one.steps] == [0, 1, 2, 3, 4]
    assert [step.percept.displays[0].stimulus.model_dump()["filled"] for step in one.steps[:4]] == [
        (0,),
        (1,),
        (2,),
        (3,),
    ]


def test_repeat_counts_and_takes_expressions(tmp_path: Path) -> None:
    timeline = (
        f"- repeat: '=n + 1'\n  do:\n    - {note('=number')}\n- repeat: 0\n  do: [{note('=99')}]\n-"
        f" {note('=n')}\n{PROBE}"
    )
    assert recorded(trial(tmp_path, text(timeline, factors="n: [2, 3]"), {"n": 3})) == [1, 2, 3, 4, 3]


def test_when_chooses_for_each_round_of_a_loop(tmp_path: Path) -> None:
    timeline = f"""
        - for: n in range(5)
          when: =n % 2 == 0
          do: [{note("=n")}]
          else: [{note("=-n")}]
        - when: =False
          do: [{note("=100")}]
        - when: true
          do: [{note("=200")}]
        {PROBE}
    """
    assert recorded(trial(tmp_path, text(timeline))) == [0, -1, 2, -3, 4, 200]


def test_when_is_asked_before_repeat(tmp_path: Path) -> None:
    timeline = f"- when: =go\n  repeat: 3\n  do: [{note('=number')}]\n{PROBE}"
    paradigm = load(tmp_path, text(timeline, factors="go: [true, false]"))
    assert [recorded(compile_trial(paradigm, {"go": go}, 1)) for go in (True, False)] == [[1, 2, 3], []]


def test_loops_over_nothing_make_no_steps(tmp_path: Path) -> None:
    one = trial(
        tmp_path, text(f"- for: x in range(0)\n  do: [{note('=x')}]\n- for: x in []\n  do: [{note('=x')}]\n{PROBE}")
    )
    assert len(one.steps) == 1


# expressions --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("=1 + 2 * 3 - 4 / 2", 5.0),
        ("=7 // 2 + 7 % 4 + 2 * 5", 16),
        ("=-3 + +4", 1),
        ("=1 < 2 <= 2 != 3", True),
        ("=not (True and False or True)", False),
        ("='a' if 2 in [1, 2] else 'b'", "a"),
        ("='abc'[1] + 'x' * 3", "bxxx"),
        ("=[1, 2, 3][-1]", 3),
        ("=len([1, 2, 3][1:])", 2),
        ("=None is None", True),
        ("=sum([n * n for n in range(4) if n != 2])", 10),
        ("=len([[a, b] for a in range(3) for b in range(a)])", 3),
        ("=max(1, 5) + min([4, 2])", 7),
        ("=sorted([3, 1, 2])[0]", 1),
        ("=str(12) + str(true_)", "12true"),
        ("=zip([1, 2], ['a', 'b'])[1][1]", "b"),
        ("=len(without([1, 2, 3, 2], 2, 3))", 1),
        ("=len(distinct([3, 1, 3, 'a', 1])) + distinct([5, 7, 5])[1]", 10),
        ("=len(range(2, 20, 5))", 4),
        ("={'a': 5}['a'] + {'b': 6}.b", 11),
        ("=items[1].symbol == items[1]['symbol']", True),
        ("=(1, 2)[0] + len((1, 2))", 3),
        ("= 1 + 1 ", 2),
    ],
)
def test_expressions(tmp_path: Path, expression: str, value: Any) -> None:
    draw = "items: {nback_block: {symbols: [p, q, r], n: 1, length: 5, matches: 2}}\ntrue_: =True"
    assert values(tmp_path, expression, draw=draw) == [value]


def test_the_generator_is_a_name_and_part_of_the_identity(tmp_path: Path) -> None:
    paradigm = load(tmp_path, text(f"- {note('=generator')}\n{PROBE}"))
    both = [compile_trial(paradigm, {}, 1, generator) for generator in ("corrected", "published")]
    assert [recorded(one) for one in both] == [["corrected"], ["published"]]
    assert both[0].trial_id != both[1].trial_id
    with pytest.raises(SpanLabError, match=r"corrected or published; found 'publishd'; did you mean 'published'\?"):
        compile_trial(paradigm, {}, 1, "publishd")  # type: ignore[arg-type]


# steps --------------------------------------------------------------------------------------------


def test_display_sequences_and_the_one_for_machines(tmp_path: Path) -> None:
    timeline = """
        - phase: a
          show: [{letter: B, ms: 500}, {blank: {}, ms: 2500}]
        - phase: b
          show: [{blank: {}, ms: 100}, {letter: C, ms: 200, for_machines: true}, {blank: white}]
          ask: {choice: {options: 2}, answer: 1}
    """
    first, second = (step.percept for step in trial(tmp_path, text(timeline)).steps)
    assert [display.ms for display in first.displays] == [500, 2500]
    assert type(first.for_machine.stimulus).name == "letter"
    assert [display.ms for display in second.displays] == [100, 200, None]
    assert second.for_machine is second.displays[1]
    assert second.displays[2].stimulus.model_dump()["colour"] == "white"


def test_durations_may_be_drawn_computed_or_left_to_the_participant(tmp_path: Path) -> None:
    timeline = """
        - {phase: a, show: {blank: {}, ms: {uniform: [500, 1500]}}}
        - for: n in range(3)
          phase: b
          show: {blank: {}, ms: {uniform: [500, 1500]}}
        - {phase: c, show: {blank: {}, ms: =100 * 3}}
        - {phase: d, show: {blank: {}, ms: none}}
        - {phase: e, show: {blank: {}}}
    """
    paradigm = load(tmp_path, text(asked(timeline)))
    seen = []
    for seed in range(60):
        a, *b, c, d, e, _ = (step.percept.displays[0].ms for step in compile_trial(paradigm, {}, seed).steps)
        assert (c, d, e) == (300, None, None)
        assert len({a, *b}) == 4
        seen += [a, *b]
    assert all(500 <= ms <= 1500 for ms in seen)
    assert min(seen) < 560
    assert max(seen) > 1440


def test_drawn_durations_of_one_step_do_not_depend_on_another(tmp_path: Path) -> None:
    step = "- {phase: a, show: {blank: {}, ms: {uniform: [500, 1500]}}}\n"
    one = trial(tmp_path, text(step + PROBE)).steps[0]
    two = trial(tmp_path, text(step + PROBE + "\n" + step)).steps
    assert two[0].percept.displays[0].ms == one.percept.displays[0].ms != two[2].percept.displays[0].ms


@pytest.mark.parametrize(
    ("show", "beside", "window", "ends"),
    [
        ("{blank: {}, ms: 700}", "", 700, "on_answer"),
        ("[{letter: B, ms: 500}, {blank: {}, ms: 2500}]", "ends: on_time", 3000, "on_time"),
        ("[{letter: B, ms: 500}, {blank: {}}]", "", None, "on_answer"),
        ("{blank: {}}", "window_ms: 1200", 1200, "on_answer"),
        ("{blank: {}, ms: 700}", "window_ms: none", None, "on_answer"),
        ("{blank: {}, ms: 700}", "window_ms: null", None, "on_answer"),
        ("{blank: {}, ms: 700}", "window_ms: =200 + 100, ends: on_time", 300, "on_time"),
    ],
)
def test_windows_for_answers(tmp_path: Path, show: str, beside: str, window: float | None, ends: str) -> None:
    one = trial(
        tmp_path,
        text(
            f"- {{phase: p, show: {show}, ask: {{choice: {{options: 2}}, answer: 1{', ' if beside else ''}{beside}}}}}"
        ),
    )
    ask = one.steps[0].percept.ask
    assert ask is not None
    assert (ask.window_ms, ask.ends) == (window, ends)


def test_questions_declare_what_counts(tmp_path: Path) -> None:
    ask = (
        "{choice: {options: [go, stop]}, answer: stop, no_answer_means: stop, counts: last, late: ignore, chance: 0.25}"
    )
    step = trial(tmp_path, text(f"- {{phase: p, show: {{blank: {{}}, ms: 900}}, ask: {ask}}}")).steps[0]
    assert step.percept.ask is not None
    assert (step.percept.ask.no_answer_means, step.percept.ask.counts, step.percept.ask.late) == (
        "stop",
        "last",
        "ignore",
    )
    assert (step.truth.answer, step.truth.chance) == ("stop", 0.25)
    assert trial(tmp_path, text()).steps[0].truth.chance == pytest.approx(1 / 9)


def test_an_answer_of_several_cells(tmp_path: Path) -> None:
    step = trial(
        tmp_path,
        text("- {phase: p, show: {blank: {}}, ask: {cells: {grid: 3, take: 2}, answer: '=[8, n]'}}", draw="n: =4 - 1"),
    ).steps[0]
    assert step.truth.answer == (8, 3)


def test_people_only_steps_and_records(tmp_path: Path) -> None:
    timeline = "- {phase: fixation, model_steps: 0, show: {fixation: {}, ms: 500}}\n" + PROBE.replace(
        "ask:", "record: {serial_position: 3, note: x}, ask:"
    )
    one = trial(tmp_path, text(timeline, factors="set_size: [4]"))
    assert [step.percept.model_step for step in one.steps] == [False, True]
    assert one.steps[1].truth.record == {"serial_position": 3, "note": "x"}
    assert one.steps[1].truth.levels["set_size"] == 4
    assert one.asks == 1


def test_sizes_come_from_factors_or_expressions(tmp_path: Path) -> None:
    one = trial(tmp_path, text(factors="n: [2, 3]", more="set_size: =n + 1\nlist_length: 7"), {"n": 3})
    assert (one.set_size, one.list_length) == (4, 7)
    two = trial(tmp_path, text(factors="list_length: [5]"))
    assert (two.set_size, two.list_length) == (None, 5)


FEEDBACK = """
- {phase: probe, show: {blank: {}}, ask: {choice: {options: 9}, answer: 0}}
- phase: feedback
  feedback:
    right: {text: right, ms: 500}
    wrong: [{text: wrong, ms: 300}, {blank: {}, ms: 200}]
"""


def test_feedback_has_a_display_for_each_verdict(tmp_path: Path) -> None:
    step = trial(tmp_path, text(FEEDBACK)).steps[1]
    assert step.feedback is not None
    said = {
        verdict: [display.stimulus.words() for display in step.shown_after(verdict).displays]
        for verdict in ("right", "wrong", "missed")
    }
    assert "right" in said["right"][0]
    assert "wrong" in said["wrong"][0]
    assert said["missed"] == said["wrong"], "without a display of its own, a missed answer is told as a wrong one"
    assert step.percept == step.feedback["missed"]
    assert step.percept.ask is None


def test_feedback_reveals_nothing_else(tmp_path: Path) -> None:
    expression = FEEDBACK.replace("{text: right, ms: 500}", "{text: =str(number), ms: 500}")
    assert problems(tmp_path, text(expression)) == [
        "small.yaml:9 timeline step 2 > feedback > right: feedback takes no expressions: it may reveal whether the"
        " answer was right, and nothing else"
    ]
    early = "\n".join(FEEDBACK.strip().split("\n")[1:]) + "\n" + PROBE
    assert problems(tmp_path, text(early)) == [
        "small.yaml:7 timeline step 1 > feedback: there is no answer before this step to give feedback on (with seed 1)"
    ]


# the whole file -----------------------------------------------------------------------------------


def test_extends_inherits_overrides_and_removes(tmp_path: Path) -> None:
    (tmp_path / "variant.yaml").write_text(
        "extends: vsr\nparadigm: vsr_short\ntitle: Short\nfactors: {list_length: [2, 3]}\ninstructions: {de: null, fr:"
        " Bonjour}\ndesigns: {human: {repetitions: 1}, published: null}\npractice: null\n",
        encoding="utf-8",
    )
    variant, base = load_paradigm(tmp_path / "variant.yaml"), load_paradigm("vsr")
    assert (variant.name, variant.title, variant.version) == ("vsr_short", "Short", base.version)
    assert variant.factors["list_length"].levels == (2, 3)
    assert list(variant.instructions) == ["en", "fr"]
    assert (list(variant.designs), variant.practice) == (["human", "span"], None)
    assert variant.network == base.network
    assert [step.percept.phase for step in compile_trial(variant, {"list_length": 2}, 1).steps] == ["present"] * 2 + [
        "probe"
    ] * 2
    assert variant.hash != base.hash


def test_extends_follows_files_beside_it_and_messages_name_the_right_file(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(text(factors="a: [1]", draw="n: {one_of: 5}"), encoding="utf-8")
    (tmp_path / "middle.yaml").write_text("extends: base.yaml\nversion: 2\n", encoding="utf-8")
    paradigm = load(tmp_path, "extends: middle.yaml\nfactors:\n  b: [2]\n")
    assert (paradigm.version, list(paradigm.factors)) == (2, ["a", "b"])
    assert problems(tmp_path, "extends: middle.yaml\ndraw:\n  m: =zz\n  n: {oneof: 5}\n") == [
        "small.yaml:3 draw > m: '=zz' uses 'zz', which is not known here (known: a, generator, n)",
        "small.yaml:4 draw > n > oneof: unknown key or sampler 'oneof'; did you mean 'one_of'?",
    ]
    assert problems(tmp_path, "extends: middle.yaml\nfactors: {a: null, n: [1]}\n") == [
        "base.yaml:8 draw > n: the name 'n' is taken by a factor"
    ]


def test_circles_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("extends: b.yaml\n", encoding="utf-8")
    (tmp_path / "b.yaml").write_text("extends: a.yaml\n", encoding="utf-8")
    with pytest.raises(
        SpanLabError, match=r"[ab]\.yaml:1 extends: paradigms extend one another in a circle, or too deeply"
    ):
        load_paradigm(tmp_path / "a.yaml")
    assert problems(tmp_path, "extends: vrs\n") == [
        "small.yaml:1 extends: there is no paradigm 'vrs'; did you mean 'vsr'? (a file of your own is given by its"
        " path, ending in .yaml)"
    ]


def test_a_paradigm_is_rebuilt_from_its_data(tmp_path: Path) -> None:
    paradigm = load(
        tmp_path,
        text(
            f"- for: x in deck\n  do: [{note('=x')}]\n{PROBE}", draw="deck: {permutation: {of: 5}}", factors="a: [1, 2]"
        ),
    )
    again = paradigm_from_data(paradigm.data, "small")
    assert again.hash == paradigm.hash
    assert [fingerprint(compile_trial(one, {"a": 2}, 8)) for one in (paradigm, again)] == [
        fingerprint(compile_trial(paradigm, {"a": 2}, 8))
    ] * 2


def test_the_hash_covers_content_and_not_layout(tmp_path: Path) -> None:
    plain = load(tmp_path, text())
    assert load(tmp_path, "# a comment\n" + text().replace("\n", "\r\n")).hash == plain.hash
    assert load(tmp_path, b"\xef\xbb\xbf" + text().encode()).hash == plain.hash
    assert load(tmp_path, text().replace("Do it.", "Do it!")).hash != plain.hash


@pytest.mark.parametrize("name", ["cs", "sts", "nback"])
def test_the_drafts_of_more_paradigms_compile(repository: Path, name: str) -> None:
    paradigm = load_paradigm(repository / "tests" / "drafts" / f"{name}.yaml")
    for levels in paradigm.combinations():
        one = compile_trial(paradigm, levels, 3)
        assert fingerprint(one) == fingerprint(compile_trial(paradigm, levels, 3))
        assert one.asks >= 2


def test_what_is_built_again_is_told_apart_by_type_too(tmp_path: Path) -> None:
    """1 and true and 1.0 are equal to Python, and not the same parameter."""
    content = text(
        asked("- for: x in values\n  phase: p\n  show: {boxes: {count: =x}, ms: 1}"),
        draw="values: [1, 2, =flag]",
        factors="flag: [1, true]",
    )
    paradigm = load(tmp_path, content)
    good = compile_trial(paradigm, {"flag": 1}, 1)
    assert good.steps[0].percept.displays == good.steps[2].percept.displays
    with pytest.raises(SpanLabError, match="count: expected a whole number"):
        compile_trial(paradigm, {"flag": True}, 1)
    assert compile_trial(paradigm, {"flag": 1}, 1) == good
