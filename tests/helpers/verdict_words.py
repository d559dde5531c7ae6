"""Words of verdict in what SpanLab prints, and the sentences that have such words without being verdicts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser

#: words with which something is judged
WORDS = re.compile(
    r"\b(pass(?:es|ed)?|fails?|failed|fine|ok|okay|valid|invalid|met|holds?|held|same|equal(?:s|ly)?|identical|unchanged|alike|equivalent|differs?|different"
    r"|significant(?:ly)?|distinguishable|indistinguishable|told apart|(?:above|below) (?:it|chance|guessing|the best blind guess|people)|undecided"
    r"|within the margin|reliab\w+|power|safe(?:ly)?|anonym\w*|pseudonym\w*|traced|lost|nothing lacks|lacks nothing|complete(?:ly)?|excluded|left out"
    r"|closest|ranks?|ranked|best|worst|better|worse|similar|close|agrees?|match(?:es|ed)?|verified|as published|within limits?|interval)\b",
    re.IGNORECASE,
)
#: tags inside a sentence
_INLINE = {"a", "abbr", "b", "code", "em", "i", "small", "span", "strong", "sub", "sup", "tspan", "time", "mark", "wbr"}
_NEXT_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-ZÄÖÜ“\"*`])|\s{2,}|\t")


def sentences(text: str) -> Iterator[str]:
    """The sentences and the cells of tables in a text."""
    for line in text.splitlines():
        yield from (" ".join(sentence.split()) for sentence in _NEXT_SENTENCE.split(line) if sentence.strip())


def undeclared(text: str, said: Iterable[str]) -> list[str]:
    """The sentences with a word of verdict that no declared sentence covers.

    Parameters
    ----------
    said : declared sentences, or parts of them, in which ``…`` stands for any text
    """
    patterns = [as_pattern(sentence) for sentence in said]
    return sorted({sentence for sentence in sentences(text) if WORDS.search(_without(sentence, patterns))})


def as_pattern(sentence: str) -> re.Pattern[str]:
    """The expression that a declared sentence is."""
    return re.compile(".*?".join(re.escape(text) for text in sentence.strip("… ").split("…")))


def _without(sentence: str, patterns: Iterable[re.Pattern[str]]) -> str:
    for pattern in patterns:
        sentence = pattern.sub("", sentence)
    return sentence


class Page(HTMLParser):
    """The readable text of a page, a line for each block."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self._silent = "", False
        self.feed(html)
        self.text = re.sub(" +", " ", self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent = tag in ("script", "style")
        self.text += "" if tag in _INLINE else "\n"

    def handle_endtag(self, tag: str) -> None:
        self._silent = False
        self.text += "" if tag in _INLINE else "\n"

    def handle_data(self, data: str) -> None:
        self.text += "" if self._silent else re.sub(r"\s+", " ", data)


#: parts of sentences that have a word of verdict and judge nothing: what something is, how it is made, what to do
EXPLANATIONS = (
    "no … for lack of columns",
    "nothing to compare",
    "Delayed Match to Sample",
    "Spatial N-back with Abstraction, Identical Excluded",
)
