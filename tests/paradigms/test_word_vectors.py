"""Vectors of words for networks: files of every form, malformed ones, random vectors, arrays."""

from __future__ import annotations

import gzip
import hashlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from vector_sets import FORMS, some_vectors, word2vec_binary, word2vec_text

from spanlab.core.errors import SpanLabError
from spanlab.paradigms import compile_trial, load_paradigm, network_arrays, random_vectors, read_vectors
from spanlab.paradigms.samplers.lists import nouns
from spanlab.stimuli import STIMULI

# -- files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_vectors(tmp_path: Path, form: str, packed: bool) -> None:
    content = FORMS[form](some_vectors())
    content = gzip.compress(content) if packed else content
    (file := tmp_path / "vectors.any").write_bytes(content)
    read = read_vectors(file, ["zebra", "lion", "größe", "lion"])
    expected = some_vectors()
    assert np.array_equal(
        read.of(["lion", "größe", "zebra", "lion"]),
        np.stack([expected[word] for word in ("lion", "größe", "zebra", "lion")]),
    )
    assert read.of([]).shape == (0, 300)
    assert set(read.table) == {"lion", "größe", "zebra"}
    assert read.described() == {"name": "vectors.any", "sha256": hashlib.sha256(content).hexdigest()}
    with pytest.raises(
        SpanLabError, match=r"no vectors for these words: apple; those of vectors\.any were read for 3 other words"
    ):
        read.of(["lion", "apple"])


def test_all_missing_words_are_named(tmp_path: Path) -> None:
    (file := tmp_path / "some.txt").write_bytes(FORMS["glove"](some_vectors()))
    with pytest.raises(
        SpanLabError,
        match=r"some\.txt has no vectors for 3 of the 5 words that are needed: leaf, moon, Zebra; choose another file",
    ):
        read_vectors(file, ["lion", "leaf", "apple", "moon", "Zebra"])


def broken(change: Callable[[list[bytes]], Any]) -> bytes:
    """A GloVe file in which some line was changed."""
    rows = FORMS["glove"](some_vectors()).splitlines(keepends=True)
    change(rows)
    return b"".join(rows)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it is empty"),
        (b"\n\n", "begins with an empty line"),
        (b"hello\n", "its first line is neither"),
        (b"paradigm: lsr version: 1\n", "its first line is neither"),
        (b"\x89PNG\r\n\x1a\n" + bytes(5000), "its first line is neither"),
        (b"PK\x03\x04rest", "zip archive; unpack it first"),
        (b"5 50\n", "vectors have 50 numbers, and networks here read vectors of 300"),
        (b"the" + b" 0.5" * 50 + b"\n", "vectors have 50 numbers"),
        (b"the" + b" 0.5" * 301 + b"\n", "vectors have 301 numbers"),
        (broken(lambda rows: rows.__setitem__(2, b"lion 0.5 0.5\n")), "line 3 has fewer than 300 numbers"),
        (broken(lambda rows: rows.insert(3, b"\n")), "line 4 has fewer than 300 numbers"),
        (
            broken(lambda rows: rows.__setitem__(-1, rows[-1][:900])),
            r"line 7 has fewer than 300 numbers \(the file may be incomplete\)",
        ),
        (broken(lambda rows: rows.__setitem__(4, rows[4].strip() + b" 0.5\n")), "line 5 has more than 300 numbers"),
        (
            broken(lambda rows: rows.__setitem__(4, b"lion" + b" 0.5" * 299 + b" half\n")),
            "line 5: 'half' is not a number",
        ),
        (
            broken(lambda rows: rows.__setitem__(4, b"lion" + b" 0.5" * 299 + b" nan\n")),
            "line 5: a number is infinite or none",
        ),
        (
            broken(lambda rows: rows.__setitem__(4, b"lion" + b" 0.5" * 299 + b" 1e99\n")),
            "line 5: a number is infinite or none",
        ),
        (
            broken(lambda rows: rows.__setitem__(4, b"lion" + b" 0.5" * 99_999 + b"\n")),
            "line 5 is longer than any line of such a file",
        ),
        (word2vec_text(some_vectors()).replace(b"7 300", b"9 300"), "it says that it holds 9 words, and holds 7"),
        (word2vec_text(some_vectors()).replace(b"7 300", b"5 300"), "it says that it holds 5 words, and holds 7"),
        (word2vec_text(some_vectors())[:-3000], "line 8 has fewer than 300 numbers"),
        (word2vec_binary(some_vectors())[:-1], "it says that it holds 7 words, and ends or is damaged in number 7"),
        (
            word2vec_binary(some_vectors()).replace(b"7 300", b"999999999999999999 300"),
            "ends or is damaged in number 8",
        ),
        (word2vec_binary(some_vectors()) + b"more", "it says that it holds 7 words, and goes on after them"),
        (
            word2vec_binary({**some_vectors(), "lion": np.full(300, np.nan)}),
            r"word 5 \('lion'\): a number is infinite or none",
        ),
        (gzip.compress(word2vec_binary(some_vectors()))[:-2000], "ended before"),
        (gzip.compress(word2vec_binary(some_vectors()))[:-8] + bytes(8), "CRC"),
        (b"\x1f\x8b" + b"nonsense" * 9, "compression"),
    ],
)
def test_a_malformed_file_is_told_with_its_place(tmp_path: Path, content: bytes, said: str) -> None:
    (file := tmp_path / "wrong.bin").write_bytes(content)
    with pytest.raises(
        SpanLabError, match=f"(?s)wrong.bin is not a file of word vectors that can be read.*{said}"
    ) as caught:
        read_vectors(file, ["lion"])
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_opened_are_told(tmp_path: Path) -> None:
    for path in (tmp_path / "none.txt", tmp_path):
        with pytest.raises(SpanLabError, match="cannot read the word vectors"):
            read_vectors(path, ["lion"])


# -- random vectors --------------------------------------------------------------------------------


def test_a_random_vector_depends_on_word_and_seed_alone() -> None:
    one, other = random_vectors(), random_vectors()
    other.of(["zebra", "apple"])
    assert np.array_equal(one.of(["apple"]), other.of(["apple"]))
    assert np.array_equal(one.of(["lion", "apple"])[1], one.of(["apple"])[0])
    words = np.frombuffer(hashlib.sha256(b"word vectors|0|apple").digest(), "<u4")
    numbers = np.random.RandomState(words).standard_normal(300)
    assert np.allclose(one.of(["apple"])[0], numbers / math.sqrt(float((numbers**2).sum())), rtol=1e-6)
    assert one.of(["apple"])[0, :3].tolist() == pytest.approx([-0.01674781, -0.04153477, 0.06099185], abs=1e-7)
    assert one.described() == {"name": "random unit vectors, seed 0", "sha256": None}
    assert not np.allclose(random_vectors(1).of(["apple"]), one.of(["apple"]))


def test_random_vectors_have_length_one_and_nothing_in_common() -> None:
    table = random_vectors().of(nouns())
    assert table.dtype == np.float32
    products = table @ table.T
    assert np.allclose(np.diag(products), 1, atol=1e-6)
    assert np.abs(products - np.diag(np.diag(products))).max() < 0.35
    assert abs(float(table.mean())) < 0.002


# -- arrays ----------------------------------------------------------------------------------------


def test_long_lists_need_thirty_two_steps() -> None:
    paradigm = load_paradigm("lsr_long")
    trials = [compile_trial(paradigm, {"list_length": 16}, 1)]
    view = paradigm.network_view(trials[0].levels)
    assert view is not None
    assert network_arrays(view, trials, steps=32).frames.shape == (1, 32, 300)
    with pytest.raises(SpanLabError, match="lsr_long has 32 steps; 20 are too few"):
        network_arrays(view, trials)


def test_words_are_read_and_letters_and_texts_are_not() -> None:
    shown = [
        STIMULI.get(name).model_validate(parameters)
        for name, parameters in (("word", {"word": "lion"}), ("letter", {"symbol": "k"}), ("text", {"text": "lion"}))
    ]
    shown += [STIMULI.get("word_array").model_validate({"places": ("lion", None, None, None)}), STIMULI.get("blank")()]
    assert [stimulus.shown_words() for stimulus in shown] == [("lion",), (), (), ("lion",), ()]
    assert random_vectors().shown(shown).any(1).tolist() == [True, False, False, True, False]


def test_all_words_are_read_again_where_a_paradigm_holds_them_side_by_side() -> None:
    paradigm = load_paradigm("lsr_published")
    trial = compile_trial(paradigm, {"list_length": 4}, 1)
    view = paradigm.network_view(trial.levels)
    assert view is not None
    arrays = network_arrays(view, [trial], steps=8)
    steps = arrays.frames[0].reshape(8, 9, 300)
    shown, probes = steps[:4, 0], steps[4:]
    assert not steps[:4, 1:].any(), "one word a step, and zeros beside it"
    assert (probes == probes[0]).all()
    assert not probes[0, 4:].any()
    assert np.array_equal(probes[0, arrays.labels[0, 4:]], shown), "each answer is the place of its word"
    assert not random_vectors().shown([trial.steps[-1].percept.for_machine.stimulus]).any(), "too many for one"
