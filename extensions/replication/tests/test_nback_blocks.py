"""N-back block files, in and out."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Run, complaint
from hypothesis import given
from hypothesis import strategies as st
from nback_files import UNLABELLED, block_text, identity_block, write_block, write_letters

from spanlab.core.errors import SpanLabError
from spanlab.exchange import format as formats
from spanlab.extensions.replication.nback.blocks import (
    LineError,
    Lines,
    export_blocks,
    import_blocks,
    name_of,
    read_lines,
    set_named,
    write_lines,
)
from spanlab.paradigms import compile_trial, load_paradigm
from spanlab.paradigms.trials_file import GivenTrial, TrialsFile

FAMILY = [
    "verbal",
    "verbal_noise",
    "verbal_feedback",
    "verbal_reasoning",
    "spatial",
    "spatial_noise",
    "spatial_feedback",
    "spatial_reasoning",
]
PARADIGMS = [*(f"nback_{name}" for name in FAMILY), "nback_abstraction", "nback_abstraction_strict"]


def trials_of(path: Path) -> dict[str, GivenTrial]:
    return {trial.name: trial for trial in TrialsFile(path)}


def test_letters_become_trials_that_show_and_score_what_the_files_say(tmp_path: Path) -> None:
    write_letters(tmp_path / "letters")
    (imported,) = import_blocks(tmp_path / "letters", tmp_path / "out")
    assert (imported.trials, imported.set.generator, imported.set.unlabelled, imported.named) == (
        6,
        "published",
        {},
        [],
    )
    trials = trials_of(imported.file)
    assert list(trials) == [f"letters/{n}back/{b}" for n in (1, 2, 3) for b in (0, 1)]
    paradigm = load_paradigm("nback_verbal")
    for n in (1, 2, 3):
        items, labels = identity_block(n, 100 * n + 1)
        one = trials[f"letters/{n}back/1"]
        assert one.levels == {"n": n, "lures": "free", "block_length": 24}
        trial = compile_trial(paradigm, one.levels, 5, "published", one.draws)
        asks = [step for step in trial.steps if step.percept.ask is not None]
        assert [step.truth.answer for step in asks] == list(labels)
        assert [step.percept.displays[0].stimulus.model_dump()["symbol"] for step in asks] == items


def test_lags_are_those_of_the_items(tmp_path: Path) -> None:
    write_letters(tmp_path / "letters", blocks=6)
    (imported,) = import_blocks(tmp_path / "letters", tmp_path / "out")
    lags = 0
    for one in TrialsFile(imported.file):
        n, items = one.levels["n"], one.draws["items"]
        for position, item in enumerate(items):
            alike = [
                lag
                for lag in (n - 1, n + 1)
                if 0 < lag <= position and items[position - lag]["symbol"] == item["symbol"]
            ]
            assert item["lag"] == (alike[0] if alike and item["label"] == "-" else None)
            lags += item["lag"] is not None
    assert lags > 5


def test_unlabelled_matches_are_told_and_scored_by_the_label(tmp_path: Path, run: Run) -> None:
    write_block(tmp_path, "letters/1back/0.txt", block_text(*UNLABELLED))
    write_block(tmp_path, "letters/1back/3.txt", block_text(*UNLABELLED))
    write_block(tmp_path, "letters/1back/4.txt", block_text(*identity_block(1, 8)))
    status, out, err = run("import", "nback", "letters", "-o", "out")
    assert (status, out) == (0, "out/nback_verbal.jsonl: 3 blocks, published\n")
    assert err.splitlines() == [
        "NOTE letters/1back, blocks 0, 3: item 2 matches, and its label says that it does not",
        "NOTE 2 unlabelled matches in all; answers are scored by the labels of the files",
    ]
    file = TrialsFile(tmp_path / "out" / "nback_verbal.jsonl")
    assert isinstance(file.header.source, dict)
    assert (file.header.source["labels"], file.header.source["unlabelled_matches"]) == ("as in the files", 2)
    assert [item["label"] for item in next(iter(file)).draws["items"]] == list(UNLABELLED[1])


@pytest.mark.sampled(8)
@pytest.mark.parametrize("generator", ["corrected", "published"])
@pytest.mark.parametrize("name", PARADIGMS)
def test_export_then_import_gives_the_same_blocks(tmp_path: Path, name: str, generator: str) -> None:
    paradigm = load_paradigm(name)
    written = export_blocks(
        paradigm,
        tmp_path / "sets",
        3,
        length=30 if name == "nback_verbal" else 24,
        generator=generator,  # type: ignore[arg-type]
        seed=4,
    )
    sizes = paradigm.factors["grid"].levels if "grid" in paradigm.factors else [None]
    assert [path.name for path in written] == [name_of(name, size) for size in sizes]
    assert set(written.values()) == {9}
    known = {set_named(path.name).paradigm for path in written}  # type: ignore[union-attr]
    plain = known == {name}
    for number, folder in enumerate([tmp_path / "sets"] if plain else sorted(written)):
        (imported,) = import_blocks(folder, tmp_path / f"out{number}", None if plain else name)
        for one in TrialsFile(imported.file):
            text = (tmp_path / "sets" / f"{one.name}.txt").read_text(encoding="ascii")
            items, grid = one.draws["items"], one.levels.get("grid")
            shown = [item["symbol"] if grid is None else str(item["symbol"] + 1) for item in items]
            assert text == block_text(shown, "".join(item["label"] for item in items), comma=(grid or 0) > 3)
            assert sum(item["label"] == "m" for item in items) == len(items) // 3
        assert imported.set.generator == (
            "published" if generator == "published" or 7 not in sizes else imported.set.generator
        )


def test_blocks_with_cells_that_published_ones_never_use_are_of_the_other_generator(tmp_path: Path) -> None:
    items, labels = identity_block(2, 1, 49)
    place = next(n for n, label in enumerate(labels) if label == "-" and "m" not in labels[n + 2 : n + 3])
    items[place] = 42
    write_block(tmp_path, "grids_7x7/2back/0.txt", block_text(items, labels, comma=True))
    assert import_blocks(tmp_path / "grids_7x7", tmp_path / "out")[0].set.generator == "corrected"
    with pytest.raises(
        SpanLabError, match=rf"0\.txt:1 item {place + 1} is '42'; published blocks of 7 x 7 never use 27 and 42"
    ):
        import_blocks(tmp_path / "grids_7x7", tmp_path / "out2", generator="published")


@pytest.mark.parametrize("ending", ["\n", "", "\r\n"])
def test_ends_of_lines_do_not_matter(ending: str) -> None:
    items, labels = identity_block(1, 3)
    line = "\r\n" if ending == "\r\n" else "\n"
    assert read_lines("".join(items) + line + labels + ending) == Lines(tuple(items), tuple(labels), separated=False)


@given(st.lists(st.tuples(st.integers(1, 49).map(str), st.sampled_from("m-")), min_size=2, max_size=40), st.booleans())
@pytest.mark.slow
def test_lines_are_read_as_they_were_written(pairs: list[tuple[str, str]], separated: bool) -> None:
    items, labels = zip(*(pair if separated else (pair[0][0], pair[1]) for pair in pairs), strict=True)
    lines = Lines(items, labels, separated)
    assert read_lines(write_lines(lines)) == lines


@given(st.text(st.sampled_from("bc1m-,\n\r "), max_size=30) | st.text(max_size=30))
def test_any_text_is_a_block_or_told_to_be_none(text: str) -> None:
    found: Lines | LineError
    try:
        found = read_lines(text)
    except LineError as error:
        found = error
    assert found.line in (1, 2, 3) if isinstance(found, LineError) else len(found.items) == len(found.labels)


ITEMS, LABELS = identity_block(2, 1)
LINE = "".join(ITEMS)
FIRST_MATCH = LABELS.index("m")
#: what a file holds, the line that is wrong, and what is said of it
MALFORMED: dict[str, tuple[str | bytes, int, str]] = {
    "empty": ("", 1, "expected two lines, items and labels; the file is empty"),
    "one line": (LINE + "\n", 1, "expected two lines, items and labels; found 1 lines"),
    "three lines": (f"{LINE}\n{LABELS}\n{LABELS}\n", 3, "expected two lines, items and labels; found 3 lines"),
    "no items": (f"\n{LABELS}\n", 1, "items are missing"),
    "no labels": (f"{LINE}\n\n", 2, "labels are missing"),
    "few labels": (f"{LINE}\n{LABELS[:-1]}\n", 2, "23 labels for 24 items"),
    "many labels": (f"{LINE}\n{LABELS}-\n", 2, "25 labels for 24 items"),
    "few items": (f"{LINE[:-1]}\n{LABELS}\n", 2, "24 labels for 23 items"),
    "unknown label": (f"{LINE}\n{LABELS[:5]}x{LABELS[6:]}\n", 2, "label 6 is 'x'; a label is m (a match) or -"),
    "capital label": (f"{LINE}\n{LABELS.replace('m', 'M', 1)}\n", 2, f"label {FIRST_MATCH + 1} is 'M'"),
    "vowel": (
        f"a{LINE[1:]}\n{LABELS}\n",
        1,
        "item 1 is 'a'; the letters of nback_verbal are b c d f g h j k l n p q r s t v w x y z",
    ),
    "capital": (
        f"{LINE.upper()}\n{LABELS}\n",
        1,
        f"item 1 is '{LINE[0].upper()}'; the letters of nback_verbal are b c d",
    ),
    "the letter m": (f"m{LINE[1:]}\n{LABELS}\n", 1, "item 1 is 'm'"),
    "spaces": (f"{' '.join(ITEMS)}\n{' '.join(LABELS)}\n", 2, "label 2 is ' '"),
    "a number": ("1" * 24 + f"\n{LABELS}\n", 1, "item 1 is '1'"),
    "items with commas": (
        f"{','.join(ITEMS)}\n{LABELS}\n",
        2,
        "the labels are not separated by commas, and the items are",
    ),
    "labels with commas": (
        f"{LINE}\n{','.join(LABELS)}\n",
        2,
        "the labels are separated by commas, and the items are not",
    ),
    "a comma at the end": (f"{','.join(ITEMS)},\n{','.join(LABELS)},\n", 2, "label 25 is ''"),
    "a match that is none": (
        f"{'bcdf' * 6}\n{'-' * 16}{'m' * 8}\n",
        2,
        "item 17 is labelled 'm', and does not match the one 2 back",
    ),
    "a match without a past": (
        f"{LINE}\nm{LABELS[1:].replace('m', '-', 1)}\n",
        2,
        "item 1 is labelled 'm', and does not match the one 2 back",
    ),
    "too few matches": (f"{LINE}\n{LABELS.replace('m', '-', 1)}\n", 2, "expected 8 matches; found 7"),
    "20 items": (
        f"{LINE[:20]}\n{LABELS[:20]}\n",
        1,
        "nback_verbal: block_length cannot be 20; its levels are 24, 30. For blocks of other lengths extend",
    ),
    "no text": (f"{LINE}\n".encode() + b"\xff\xfe", 2, "this is not text"),
    "a mark at the beginning": (b"\xef\xbb\xbf" + f"{LINE}\n{LABELS}\n".encode(), 2, "24 labels for 25 items"),
    "very long": ("b" * 200_000, 1, "the file is longer than 100000 bytes: it is not a block"),
}


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_file_is_named_with_its_line_and_skipped_on_request_only(
    tmp_path: Path, run: Run, name: str
) -> None:
    text, line, said = MALFORMED[name]
    write_block(tmp_path, "letters/2back/0.txt", block_text(*identity_block(2, 2)))
    write_block(tmp_path, "letters/2back/1.txt", text)
    told = complaint(*run("import", "nback", "letters", "-o", "out"))
    assert f"letters/2back/1.txt:{line} {said}" in told
    assert "nothing was imported" in told
    assert sorted(path.name for path in tmp_path.iterdir()) == ["letters"]
    status, out, err = run("import", "nback", "letters", "-o", "out", "--skip-malformed")
    assert (status, out) == (0, "out/nback_verbal.jsonl: 1 block, published\n")
    assert f"left out: letters/2back/1.txt:{line} {said}" in err
    assert list(trials_of(tmp_path / "out" / "nback_verbal.jsonl")) == ["letters/2back/0"]


@pytest.mark.parametrize(
    ("name", "items", "said"),
    [
        ("grids_5x5/1back", ["26"], "item 1 is '26'; the positions of a grid of 5 x 5 are 1 to 25"),
        ("grids_5x5/1back", ["0"], "item 1 is '0'"),
        ("grids_5x5/1back", ["01"], "item 1 is '01'"),
        ("grids_5x5/1back", [" 1"], "item 1 is ' 1'"),
        ("grids_5x5/1back", ["-1"], "item 1 is '-1'"),
        ("grids_5x5/1back", ["²"], "item 1 is '²'"),
        ("grids_5x5/1back", ["9" * 5000], "item 1 is '999"),
        ("grids_5x5/1back", ["b"], "item 1 is 'b'"),
        ("grids_6x6/1back", ["1"], "nback_spatial: grid cannot be 6; its levels are 3, 4, 5, 7"),
        ("grids_5x5/4back", ["1"], "nback_spatial: n cannot be 4; its levels are 1, 2, 3"),
        ("grids_5x5_abstraction/1back", ["1"], "nback_abstraction: grid cannot be 5"),
    ],
)
def test_wrong_positions_and_sets(tmp_path: Path, name: str, items: list[str], said: str) -> None:
    rest, labels = identity_block(1, 5, 25)
    write_block(tmp_path, f"{name}/0.txt", block_text([*items, *rest[1:]], labels, comma=True))
    with pytest.raises(SpanLabError) as error:
        import_blocks(tmp_path, tmp_path / "out")
    assert f"0.txt:1 {said}" in str(error.value)


def test_positions_of_large_grids_need_commas(tmp_path: Path) -> None:
    write_block(tmp_path, "grids_4*4/1back/0.txt", block_text(*identity_block(1, 5, 9)))
    with pytest.raises(SpanLabError, match=r"0\.txt:1 positions in a grid of 4 x 4 are separated by commas"):
        import_blocks(tmp_path, tmp_path / "out")


def test_folders_of_sets_one_set_and_one_level(tmp_path: Path) -> None:
    write_letters(tmp_path / "all" / "letters")
    for size, cross in ((3, "*"), (5, "x"), (7, "×")):
        write_block(
            tmp_path / "all",
            f"grids_{size}{cross}{size}/1back/10.txt",
            block_text(*identity_block(1, size, 9), comma=size > 3),
        )
    (tmp_path / "all" / "README.md").write_text("about", encoding="utf-8")
    (tmp_path / "all" / "letters" / ".DS_Store").touch()
    (tmp_path / "all" / "letters" / "1back" / ".DS_Store").touch()
    everything = import_blocks(tmp_path / "all", tmp_path / "out1")
    assert {(one.file.name, one.trials) for one in everything} == {
        ("nback_verbal.jsonl", 6),
        ("nback_spatial.jsonl", 3),
    }
    assert {one.levels["grid"] for one in TrialsFile(tmp_path / "out1" / "nback_spatial.jsonl")} == {3, 5, 7}
    (one_set,) = import_blocks(tmp_path / "all" / "letters", tmp_path / "out2")
    (one_level,) = import_blocks(tmp_path / "all" / "letters" / "2back", tmp_path / "out3")
    assert list(trials_of(one_level.file).values()) == [one for one in TrialsFile(one_set.file) if one.levels["n"] == 2]


def test_a_set_of_another_name_needs_a_paradigm(tmp_path: Path, run: Run) -> None:
    write_letters(tmp_path / "mine", levels=(1,))
    assert "the name of the set 'mine' does not say whose blocks these are; import it with --as PARADIGM" in complaint(
        *run("import", "nback", "mine", "-o", "out")
    )
    assert run("import", "nback", "mine", "-o", "out", "--as", "nback_verbal_feedback")[0] == 0
    assert run("import", "nback", "mine", "-o", "noise", "--as", "nback_verbal_noise", "--seed", "2")[0] == 0
    (first, second) = TrialsFile(tmp_path / "noise" / "nback_verbal_noise.jsonl")
    assert all(
        item["symbol"] in text and len(text) >= 4
        for item, text in zip(first.draws["items"], first.draws["shown"], strict=True)
    )
    assert first.draws["shown"] != second.draws["shown"]
    assert "nback_spatial has a factor 'grid' (3, 4, 5, 7)" in complaint(
        *run("import", "nback", "mine", "-o", "other", "--as", "nback_spatial")
    )
    assert "item 1 is" in complaint(*run("import", "nback", "mine", "-o", "other", "--as", "nback_abstraction"))
    assert "vsr is not an N-back paradigm" in complaint(*run("import", "nback", "mine", "-o", "other", "--as", "vsr"))
    assert "nback_verbl" in complaint(*run("import", "nback", "mine", "-o", "other", "--as", "nback_verbl"))


def test_blocks_of_other_lengths_by_a_paradigm_that_extends_ours(tmp_path: Path, run: Run) -> None:
    items, labels = identity_block(2, 1, length=12)
    write_block(tmp_path, "letters/2back/0.txt", block_text(items, labels))
    (tmp_path / "short.yaml").write_text(
        "extends: nback_verbal\nparadigm: short\nfactors: {block_length: [12]}\npractice: null\ndesigns: null\n",
        encoding="utf-8",
    )
    status, out, err = run("import", "nback", "letters", "-o", "out", "--as", "short.yaml")
    assert (status, out, err) == (0, "out/short.jsonl: 1 block, published\n", "")
    status, out, err = run("replay", "short.yaml", "--trials-from", "out/short.jsonl", "--agent", "ideal")
    assert (status, err) == (0, "ideal, short: 12 of 12 answers right (100%; chance 50%)\n")


def test_stray_folders_among_sets_and_levels_are_told(tmp_path: Path) -> None:
    write_letters(tmp_path / "letters", levels=(1,))
    (tmp_path / "letters" / "2-back").mkdir()
    with pytest.raises(SpanLabError, match="2-back no level of a set; expected folders such as 1back here"):
        import_blocks(tmp_path / "letters", tmp_path / "out")
    (tmp_path / "grids").mkdir()
    with pytest.raises(SpanLabError, match="grids no set of blocks"):
        import_blocks(tmp_path, tmp_path / "out")


def test_everything_malformed_is_told_at_once_and_nothing_good_is_left(tmp_path: Path, run: Run) -> None:
    for number in range(5):
        write_block(tmp_path, f"letters/1back/{number}.txt", "bb\n-")
    assert complaint(*run("import", "nback", "letters", "-o", "out")).count("1 labels for 2 items") == 5
    assert "not one block of letters can be read" in complaint(
        *run("import", "nback", "letters", "-o", "out", "--skip-malformed")
    )
    assert not (tmp_path / "out").exists()


def test_an_interrupted_import_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    write_letters(tmp_path / "letters")
    monkeypatch.setattr(formats, "write_trials", interrupted)
    with pytest.raises(KeyboardInterrupt):
        import_blocks(tmp_path / "letters", tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["letters"]
