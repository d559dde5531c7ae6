"""Files of word vectors in every form, made by the tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

#: words of a file, in its order: ours, and what else there is in such files
WORDS = ["the", "apple", "Apple", "größe", "lion", "of", "zebra"]
Vectors = dict[str, np.ndarray]


def some_vectors(words: Sequence[str] = WORDS) -> Vectors:
    numbers = np.random.RandomState(1).standard_normal((len(words), 300)).astype(np.float32)
    return dict(zip(words, numbers, strict=True))


def lines(vectors: Vectors, end: str = "\n", between: str = " ") -> str:
    return "".join(
        word + between + between.join(f"{number:.9g}" for number in vector) + end for word, vector in vectors.items()
    )


def word2vec_text(vectors: Vectors, end: str = "\n") -> bytes:
    return (f"{len(vectors)} 300\n" + lines(vectors, end)).encode()


def word2vec_binary(vectors: Vectors, end: bytes = b"") -> bytes:
    return f"{len(vectors)} 300\n".encode() + b"".join(
        word.encode() + b" " + vector.astype("<f4").tobytes() + end for word, vector in vectors.items()
    )


#: every form of file, by what it is called
FORMS: dict[str, Callable[[Vectors], bytes]] = {
    "word2vec text": word2vec_text,
    "word2vec text with spaces at the ends": lambda vectors: word2vec_text(vectors, " \n"),
    "word2vec binary": word2vec_binary,
    "word2vec binary with line breaks": lambda vectors: word2vec_binary(vectors, b"\n"),
    "glove": lambda vectors: lines(vectors).encode(),
    "glove with tabs": lambda vectors: lines(vectors, between="\t").encode(),
    "glove from Windows": lambda vectors: lines(vectors, "\r\n").encode(),
    "glove without the last line break": lambda vectors: lines(vectors).encode().rstrip(),
    "glove with words of several parts": lambda vectors: lines(
        {**vectors, "lion name@domain.com": -vectors["lion"], ". . .": vectors["of"]}
    ).encode(),
    "glove with a word twice": lambda vectors: (lines(vectors) + lines({"lion": -vectors["lion"]})).encode(),
}
