"""Published N-back results as sessions."""

from __future__ import annotations

import json
import math
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command_line import Run, complaint
from hypothesis import given, settings
from hypothesis import strategies as st
from nback_files import (
    LETTERS,
    UNLABELLED,
    abstraction_block,
    answered,
    counts,
    grid_text,
    identity_block,
    letter_results,
    never_run,
    noisy_grid,
    noisy_letter,
    write_results,
)

from spanlab.core.errors import SpanLabError
from spanlab.extensions.replication.nback import results as module
from spanlab.extensions.replication.nback.results import (
    NOISE,
    ShownGrid,
    ShownLetter,
    import_results,
    named,
    read_results,
    read_stimulus,
)
from spanlab.sessions import find_sessions, read_responses, read_session
from spanlab.sessions.session import complete


def table_of(folder: Path) -> pd.DataFrame:
    """The response table, with answers and levels as plain values."""
    table = read_responses(folder)
    for name in (
        "answer",
        "correct_answer",
        *(column for column in table.columns if column.startswith(("factor_", "record_"))),
    ):
        table[name] = [
            None if value is None else json.loads(value)
            for value in table[name].astype(object).where(table[name].notna(), None)
        ]
    return table


def counted(table: pd.DataFrame) -> dict[str, tuple[int, ...]]:
    """Hits, misses, false alarms and correct rejections of every block, by its key in the file."""
    found = {}
    for key, rows in table.assign(
        key=[f"{n}back_{block - 1}" for n, block in zip(table["factor_n"], table["block"], strict=True)]
    ).groupby("key"):
        pairs = list(zip(rows["correct_answer"], rows["answer"], strict=True))
        found[str(key)] = tuple(pairs.count(kind) for kind in (("m", "m"), ("m", "-"), ("-", "m"), ("-", "-")))
    return found


def test_a_file_becomes_a_session_like_any_other(tmp_path: Path) -> None:
    results = letter_results()
    (imported,) = import_results([write_results(tmp_path / "all_trials_verbal.json", results)], tmp_path / "data")
    assert (imported.blocks, imported.trials, imported.prefilled) == (6, 144, 0)
    assert find_sessions([tmp_path / "data"]) == [imported.folder]
    assert complete(imported.folder)
    info = read_session(imported.folder)
    assert (info["agent"], info["agent_kind"], info["oracle"], info["paradigm"]) == (
        "published:gpt-3.5-turbo",
        "published",
        False,
        "nback_verbal",
    )
    assert (info["generator"], info["published"]["file"], info["published"]["labels"]) == (
        "published",
        "all_trials_verbal.json",
        "as in the file",
    )
    table = table_of(imported.folder)
    trials = [(key, trial) for key, block in results.items() for trial in block]
    table = table.sort_values(["trial", "ask"])
    assert list(table["answer"]) == [trial["response"] for _, trial in trials]
    assert list(table["correct_answer"]) == [trial["target"] for _, trial in trials]
    assert list(table["correct"]) == [trial["correct"] for _, trial in trials]
    assert list(table["rt_ms"]) == [1000 * trial["rt"] for _, trial in trials]
    assert [f"{n}back_{block - 1}" for n, block in zip(table["factor_n"], table["block"], strict=True)] == [
        key for key, _ in trials
    ]
    assert set(table["factor_lures"]) == {"free"}
    assert counted(table) == {key: counts(block) for key, block in results.items()}


def test_answers_that_were_never_asked(tmp_path: Path) -> None:
    results = letter_results(blocks=2, length=30, prefilled=6)
    file = write_results(tmp_path / "all_trials_verbal_gpt-4.json", results)
    assert "Infinity" in file.read_text(encoding="utf-8")
    (imported,) = import_results([file], tmp_path / "data")
    assert (imported.prefilled, imported.model, imported.paradigm) == (36, "gpt-4", "nback_verbal")
    table = table_of(imported.folder)
    assert list(table["record_prefilled"]) == [number <= 6 for number in table["ask"]]
    assert table.loc[table["record_prefilled"].astype(bool), "rt_ms"].isna().all()
    assert table.loc[~table["record_prefilled"].astype(bool), "rt_ms"].between(400, 1400).all()
    assert counted(table) == {key: counts(block) for key, block in results.items()}
    assert set(table["factor_block_length"]) == {30}


def test_blocks_that_were_never_run_or_not_finished_are_left_out_and_told(tmp_path: Path, run: Run) -> None:
    results = letter_results(blocks=4, levels=(2, 1))
    results["2back_1"] = never_run(results["2back_1"])
    results["1back_3"] = never_run(results["1back_3"])
    results["1back_0"] = never_run(results["1back_0"], since=13)
    results["1back_2"] = results["1back_2"][:20]
    results["2back_3"] = []
    write_results(tmp_path / "all_trials_verbal_Vicuna-13B.json", results)
    status, out, err = run("import", "nback-results", "all_trials_verbal_Vicuna-13B.json", "-o", "data")
    assert status == 0
    assert out == "data/nback_verbal-published-vicuna-13b-s1: nback_verbal by Vicuna-13B, 3 blocks, 72 answers\n"
    assert "3 blocks never run (2back_1, 2back_3, 1back_3)" in err
    assert "2 blocks not finished (1back_0, 1back_2)" in err
    assert counted(table_of(tmp_path / "data")) == {
        key: counts(results[key]) for key in ("2back_0", "2back_2", "1back_1")
    }
    assert read_session(tmp_path / "data" / "nback_verbal-published-vicuna-13b-s1")["published"]["unfinished"] == [
        "1back_0",
        "1back_2",
    ]


@pytest.mark.parametrize(
    ("name", "paradigm", "model"),
    [
        ("all_trials_verbal", "nback_verbal", "gpt-3.5-turbo"),
        ("all_trials_verbal_noise", "nback_verbal_noise", "gpt-3.5-turbo"),
        ("all_trials_verbal_feedback", "nback_verbal_feedback", "gpt-3.5-turbo"),
        ("all_trials_verbal_think_by_step", "nback_verbal_reasoning", "gpt-3.5-turbo"),
        ("all_trials_spatial_3*3", "nback_spatial", "gpt-3.5-turbo"),
        ("all_trials_spatial_7x7", "nback_spatial", "gpt-3.5-turbo"),
        ("all_trials_spatial_with_noise", "nback_spatial_noise", "gpt-3.5-turbo"),
        ("all_trials_spatial_feedback", "nback_spatial_feedback", "gpt-3.5-turbo"),
        ("all_trials_spatial_think_by_step", "nback_spatial_reasoning", "gpt-3.5-turbo"),
        ("all_trials_spatial_abstraction", "nback_abstraction", "gpt-3.5-turbo"),
        ("all_trials_spatial_abstraction_2", "nback_abstraction_strict", "gpt-3.5-turbo"),
        ("all_trials_verbal_gpt-4", "nback_verbal", "gpt-4"),
        ("all_trials_verbal_chatglm-6b_v1.0", "nback_verbal", "chatglm-6b_v1.0"),
        ("all_trials_spatial_gpt-4", None, None),
        ("all_trials_auditory", None, None),
        ("results", None, None),
    ],
)
def test_what_names_of_files_say(name: str, paradigm: str | None, model: str | None) -> None:
    assert named(Path(f"{name}.json")) == (paradigm, model)


def grids(size: int, seed: int, n: int = 1) -> tuple[list[str], str]:
    items, labels = identity_block(n, seed, size * size - (24 if size == 7 else 0))
    return [grid_text(item, size) for item in items], labels


@pytest.mark.parametrize(
    "name",
    [
        "verbal_noise",
        "spatial_with_noise",
        "verbal_feedback",
        "spatial_feedback",
        "spatial_5*5",
        "spatial_7*7",
        "abstraction",
        "abstraction_2",
    ],
)
def test_variants_show_what_was_sent_and_count_as_the_file_counts(tmp_path: Path, name: str) -> None:
    stimuli: dict[str, tuple[list[str], str]] = {}
    for n in (2, 1, 3):
        items, labels = identity_block(n, n, 9) if name.startswith("spatial") else identity_block(n, n)
        if name == "verbal_noise":
            stimuli[f"{n}back_0"] = [noisy_letter(item, 50 * n + number) for number, item in enumerate(items)], labels
        elif name == "spatial_with_noise":
            stimuli[f"{n}back_0"] = [noisy_grid(item, 50 * n + number) for number, item in enumerate(items)], labels
        elif name == "verbal_feedback":
            stimuli[f"{n}back_0"] = items, labels
        elif name == "spatial_feedback":
            stimuli[f"{n}back_0"] = [grid_text(item, 3) for item in items], labels
        elif name.startswith("spatial"):
            stimuli[f"{n}back_0"] = grids(int(name[8]), n, n)
        else:
            items, labels = abstraction_block(n, 5 * n, identical=name == "abstraction")
            stimuli[f"{n}back_0"] = [grid_text(item, 3) for item in items], labels
    results = {key: answered(*block, seed=3) for key, block in stimuli.items()}
    file = write_results(tmp_path / f"all_trials_{'spatial_' if name.startswith('abs') else ''}{name}.json", results)
    (imported,) = import_results([file], tmp_path / "data")
    assert counted(table_of(imported.folder)) == {key: counts(block) for key, block in results.items()}
    session = read_session(imported.folder)
    for planned, (sent, _) in zip(session["plan"], stimuli.values(), strict=True):
        draws = planned["draws"]
        if name == "verbal_noise":
            assert draws["shown"] == sent
        for number, (item, text) in enumerate(zip(draws["items"], sent, strict=True)):
            cell = item["symbol"]
            if "|" in text:
                signs = [sign for sign in text if sign not in "`| "]
                assert signs.index("X") == cell
                if "noise" in draws:
                    assert draws["noise"][number] == [
                        [place, sign] for place, sign in enumerate(signs) if sign not in "_X"
                    ]
            else:
                assert cell in text


def test_unlabelled_matches_are_told(tmp_path: Path, run: Run) -> None:
    write_results(tmp_path / "all_trials_verbal.json", {"1back_7": answered(list(UNLABELLED[0]), UNLABELLED[1], 1)})
    status, _, err = run("import", "nback-results", "all_trials_verbal.json", "-o", "data")
    assert status == 0
    assert "NOTE all_trials_verbal.json 1back, block 7: trial 2 matches, and its label says that it does not" in err
    assert "NOTE 1 unlabelled match in all" in err


@pytest.mark.slow  # the figures
def test_it_is_compared_like_any_other(tmp_path: Path, run: Run) -> None:
    write_results(tmp_path / "all_trials_verbal.json", letter_results(1))
    run("import", "nback-results", "all_trials_verbal.json", "-o", "data")
    run("replay", "--like", "data/nback_verbal-published-gpt-3-5-turbo-s1", "--agent", "ideal", "--data", "data")
    status, out, err = run("compare", "data", "-o", "report")
    assert (status, err) == (0, "")
    assert "published:gpt-3.5-turbo (model, published answers)" in Path(out.strip()).read_text(encoding="utf-8")


def wrong(change: Any) -> Any:
    """A file with one thing wrong."""
    results: Any = deepcopy(letter_results(1))
    return change(results) or results


#: what is wrong, and how it is told
MALFORMED: dict[str, tuple[Any, str]] = {
    "key": (
        lambda r: r.update({"2-back_0": r["1back_0"]}),
        "2-back_0: this is not a name of a block; expected names such as 1back_0",
    ),
    "key without a number": (lambda r: r.update({"2back": r["1back_0"]}), "2back: this is not a name of a block"),
    "no list": (lambda r: r.update({"2back_0": {}}), "2back_0: expected a list of trials; found {}"),
    "no object": (
        lambda r: r["2back_0"].__setitem__(4, 3),
        "2back_0 > trial 5: expected the fields stimulus, target, response, correct, rt; found 3",
    ),
    "missing": (lambda r: r["2back_0"][4].pop("rt") and None, "2back_0 > trial 5: 'rt' is missing"),
    "unknown": (
        lambda r: r["2back_0"][4].update(raw="m."),
        "2back_0 > trial 5: unknown key 'raw'; expected stimulus, target",
    ),
    "target": (lambda r: r["2back_0"][4].update(target="M"), "2back_0 > trial 5: target: expected m or -; found 'M'"),
    "no target": (lambda r: r["2back_0"][4].update(target=""), "2back_0 > trial 5: target: expected m or -; found ''"),
    "response": (
        lambda r: r["2back_0"][4].update(response="match"),
        "2back_0 > trial 5: response: expected m or -; found 'match'",
    ),
    "no response": (
        lambda r: r["2back_0"][4].update(response=None),
        "2back_0 > trial 5: response: expected m or -; found nothing",
    ),
    "a list as response": (
        lambda r: r["2back_0"][4].update(response=["m"]),
        "2back_0 > trial 5: response: expected m or -",
    ),
    "correct": (
        lambda r: r["2back_0"][4].update(correct=1),
        "2back_0 > trial 5: correct: expected true or false; found 1",
    ),
    "contradiction": (
        lambda r: r["2back_0"][4].update(target="-", response="m", correct=True),
        "2back_0 > trial 5: the file contradicts itself: target -, response m, and correct is true",
    ),
    "time": (
        lambda r: r["2back_0"][4].update(rt="0.5"),
        "2back_0 > trial 5: rt: expected seconds, or Infinity for an answer that was never",
    ),
    "negative time": (lambda r: r["2back_0"][4].update(rt=-1), "2back_0 > trial 5: rt: expected seconds"),
    "no number": (lambda r: r["2back_0"][4].update(rt=math.nan), "2back_0 > trial 5: rt: expected seconds"),
    "days": (lambda r: r["2back_0"][4].update(rt=10**400), "2back_0 > trial 5: rt: expected seconds"),
    "true": (lambda r: r["2back_0"][4].update(rt=True), "2back_0 > trial 5: rt: expected seconds"),
    "wrong and never asked": (
        lambda r: r["2back_0"][4].update(target="-", response="m", correct=False, rt=math.inf),
        "2back_0 > trial 5: an answer that was never asked (rt is Infinity) is the target; this one is not",
    ),
    "a hole": (
        lambda r: r["2back_0"][4].update(response="", correct="", rt=""),
        "2back_0 > trial 5: nothing was answered here, though later trials of the block were",
    ),
    "half a hole": (lambda r: r["2back_0"][4].update(rt=""), "2back_0 > trial 5: rt: expected seconds"),
    "no stimulus": (
        lambda r: r["2back_0"][4].update(stimulus=5),
        "2back_0 > trial 5: stimulus: expected text; found 5",
    ),
    "empty stimulus": (
        lambda r: r["2back_0"][4].update(stimulus=""),
        "2back_0: trial 5: expected one letter, alone or among the noise signs",
    ),
    "two letters": (lambda r: r["2back_0"][4].update(stimulus="bc"), "2back_0: trial 5: expected one letter"),
    "a vowel": (lambda r: r["2back_0"][4].update(stimulus="a"), "2back_0: item 5: 'a' is not among the symbols"),
    "noise": (
        lambda r: r["2back_0"][4].update(stimulus=r["2back_0"][4]["stimulus"] + "#"),
        "2back_0: trial 5: there is noise around the item, and nback_verbal has none",
    ),
    "a grid": (
        lambda r: r["2back_0"][4].update(stimulus=grid_text(1, 3)),
        "2back_0: letters and grids, or grids of different sizes, in one block",
    ),
    "grids": (
        lambda r: r.update({"2back_0": answered(*grids(3, 1, 2), seed=1)}),
        "2back_0: nback_verbal has 2-back blocks of 24 letters, not",
    ),
    "label": (
        lambda r: r.update({"2back_0": answered(list(LETTERS[:12] * 2), "-" * 16 + "m" * 8, 1)}),
        "2back_0: item 17 is labelled 'm', and does not match the one 2 back",
    ),
    "matches": (
        lambda r: r.update({"2back_0": answered(list(LETTERS[:12] * 2), "-" * 24, 1)}),
        "2back_0: expected 8 matches; found 0",
    ),
    "level": (
        lambda r: r.update({"4back_0": r["1back_0"]}),
        "4back_0: nback_verbal: n cannot be 4; its levels are 1, 2, 3",
    ),
    "length": (
        lambda r: r.update({"2back_0": answered(list(LETTERS * 2), "-" * 40, 1)}),
        "2back_0: nback_verbal: block_length cannot be 40; its levels",
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_malformed_is_named_with_file_key_and_trial(tmp_path: Path, name: str) -> None:
    change, said = MALFORMED[name]
    file = write_results(tmp_path / "all_trials_verbal.json", wrong(lambda results: change(results)))
    with pytest.raises(SpanLabError) as error:
        import_results([file], tmp_path / "data")
    assert f"{file} {said}" in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ":1 is not JSON"),
        ("[]", "holds no results; expected an object with blocks"),
        ("{}", "holds no results"),
        ('{"1back_0": [],\n "1back_1"}', ":2 is not JSON"),
        ('{"1back_0": [], "1back_0": []}', "the key '1back_0' occurs twice"),
        ('{"1back_0": [{"rt": 1, "rt": 2}]}', "the key 'rt' occurs twice"),
        ('{"1back_0": []}', "holds no finished block that can be read"),
        ("[" * 100_000, "nested too deeply"),
        ('{"1back_0": ' + "9" * 5000 + "}", "is not JSON that can be read"),
        (b"\xff\xfe{}", "is not a text file"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_files_that_hold_no_results(tmp_path: Path, text: str | bytes, said: str) -> None:
    (file := tmp_path / "all_trials_verbal.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SpanLabError) as error:
        import_results([file], tmp_path / "data")
    assert str(error.value).startswith(str(file)) or said.startswith("holds no finished")
    assert said in str(error.value)
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("import nback-results", "Missing argument 'FILE...'"),
        ("import nback-results all_trials_verbal.json", "where to? Name it with -o"),
        (
            "import nback-results all_trials_nowhere.json -o data",
            "the name of all_trials_nowhere.json does not say enough about these results",
        ),
        (
            "import nback-results all_trials_verbal_x.json -o data",
            "all_trials_verbal_x.json cannot be read: No such file or directory",
        ),
        ("import nback-results folder -o data --as nback_verbal --model x", "folder cannot be read: Is a directory"),
        ("import nback-results all_trials_verbal.json -o file", "file exists; name a new folder"),
        ("import nback-results all_trials_verbal.json -o data --as vsr", "1back_0: vsr is not an N-back paradigm"),
        (
            "import nback-results all_trials_verbal.json -o data --as nback_verbal_noise",
            "1back_0: nback_verbal_noise: the draw 'shown' that was given: 1: expected from 3 to 6",
        ),
        ("import nback-results all_trials_verbal.json -o data --as nback", "nback"),
    ],
)
def test_mistakes_are_one_clear_sentence(tmp_path: Path, run: Run, things: None, typed: str, said: str) -> None:
    write_results(tmp_path / "all_trials_verbal.json", letter_results(1))
    before = sorted(tmp_path.rglob("*"))
    assert said in complaint(*run(*typed.split()))
    assert sorted(tmp_path.rglob("*")) == before


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["", "m", "-", "b", "M", "#b"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["1back_0", "stimulus", "target", "response", "correct", "rt"]), inner, max_size=6
        )
    ),
    max_leaves=8,
)


@settings(max_examples=60)
@given(
    st.dictionaries(st.sampled_from(["1back_0", "3back_12", "x"]), st.lists(JSON, max_size=3) | JSON, min_size=1),
    st.data(),
)
@pytest.mark.slow
def test_any_json_is_read_or_told_to_be_wrong(
    tmp_path_factory: pytest.TempPathFactory, content: Any, data: st.DataObject
) -> None:
    results = read_results(write_results(tmp_path_factory.getbasetemp() / "fuzzed.json", content))
    told = {problem.key.partition(" > ")[0] for problem in results.problems}
    assert {block.key for block in results.blocks} | set(results.unfinished) | set(results.never_run) | told == set(
        content
    )


@settings(max_examples=60)
@given(st.integers(2, 9), st.data())
def test_grids_are_read_as_they_were_sent(size: int, data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(1, size * size), min_size=1, max_size=min(size * size, 8), unique=True))
    marks = dict(zip(places[1:], data.draw(st.permutations(NOISE)), strict=False))
    text = grid_text(places[0], size, marks)
    assert len(text) == size * (2 * size + 1) + size - 1 + 8
    assert read_stimulus(text) == ShownGrid(places[0] - 1, size, {place - 1: sign for place, sign in marks.items()})


@given(st.sampled_from(LETTERS), st.integers(0, 1000))
def test_letters_are_read_as_they_were_sent(letter: str, seed: int) -> None:
    assert read_stimulus(letter) == ShownLetter(letter, letter)
    text = noisy_letter(letter, seed)
    assert read_stimulus(text) == ShownLetter(letter, text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("##b", "a noise sign occurs twice in '##b'"),
        ("#", "expected one letter"),
        ("1", "expected one letter"),
        ("``` |_|_| |_|_| ```", "expected one X in the grid; found 0"),
        ("``` |X|X| |_|_| ```", "expected one X in the grid; found 2"),
        ("``` |X|_| |_| ```", "expected a square grid"),
        ("``` |X|_| |_|_| |_|_| ```", "expected a square grid"),
        ("``` |X|? | ```", "expected a square grid"),
        ("``` |X|?| |_|_| ```", "'?' in a cell is none of the noise signs"),
        ("``` |X|#| |_|#| ```", "a noise sign occurs twice in the grid"),
        ("|", "expected a square grid"),
    ],
)
def test_stimuli_that_were_never_sent(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        read_stimulus(text)


def test_an_interrupted_import_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: object) -> None:
        raise KeyboardInterrupt

    file = write_results(tmp_path / "all_trials_verbal.json", letter_results(1))
    monkeypatch.setattr(module.Runner, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        import_results([file], tmp_path / "data")
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
