"""Words of verdict in what SpanLab prints, and the sentences that have such words without being
verdicts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser

#: words with which something is judged
WORDS = re.compile(
    r"\b(pass(?:es|ed)?|fails?|failed|fine|ok|okay|valid|invalid|met|holds?|held|same|equal(?:s|ly)?|identical|unchanged|alike|equivalent|differs?|different"
    r"|significant(?:ly)?|distinguishable|indistinguishable|told apart|(?:above|below) (?:it|chance|guessing|the best"
    r" blind guess|people)|undecided"
    r"|within the margin|reliab\w+|power|safe(?:ly)?|anonym\w*|pseudonym\w*|traced|lost|nothing lacks|lacks"
    r" nothing|complete(?:ly)?|excluded|left out"
    r"|closest|ranks?|ranked|best|worst|better|worse|similar|close|agrees?|match(?:es|ed)?|verified|as published|within"
    r" limits?|interval)\b",
    re.IGNORECASE,
)
#: tags inside a sentence
_INLINE = {"a", "abbr", "b", "code", "em", "i", "small", "span", "strong", "sub", "sup", "tspan", "time", "mark", "wbr"}
_NEXT_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-ZÄÖÜ“\"*`])|\s{2,}|\t")

_NOTE = re.compile(r"^· .*(?:\n  \S.*)+", re.MULTILINE)


def sentences(text: str) -> Iterator[str]:
    """The sentences and the cells of tables in a text; notes that a terminal has broken into lines
    are put together."""
    whole = _NOTE.sub(lambda note: note[0].replace("\n  ", " "), text)
    for line in whole.splitlines():
        yield from (" ".join(sentence.split()) for sentence in _NEXT_SENTENCE.split(line) if sentence.strip())


def undeclared(text: str, said: Iterable[str]) -> list[str]:
    """The sentences with a word of verdict that no declared sentence covers.

    Parameters
    ----------
    said : declared sentences, or parts of them, in which ``…`` stands for any text
    """
    patterns = [
        as_pattern(sentence) for sentence in sorted(said, key=len, reverse=True)
    ]  # a longer one may hold a shorter one
    return sorted({sentence for sentence in sentences(text) if WORDS.search(_without(sentence, patterns))})


def as_pattern(sentence: str) -> re.Pattern[str]:
    """The expression that a declared sentence is, in capitals or not; one that begins with ``=`` is
    a whole cell or sentence."""
    if sentence.startswith("="):
        return re.compile(f"^{'.*?'.join(re.escape(text) for text in sentence[1:].split('…'))}$", re.IGNORECASE)
    return re.compile(".*?".join(re.escape(text) for text in sentence.strip("… ").split("…")), re.IGNORECASE)


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


#: parts of sentences that have a word of verdict and judge nothing: what something is called, how
#: it is made, what to do
EXPLANATIONS = (
    # names of paradigms, figures and columns
    "Delayed Match to Sample",
    "Spatial N-back with Abstraction, Identical Excluded",
    "retention interval",
    "items held (K)",
    "Items held (K)",
    "Items held (Pashler's K, … shown)",
    "items held (K):",
    "=percentile rank",
    "=alike",
    "=alike?",
    "Alike: two one-sided t-tests (TOST) at 5% within the margin that was declared; undecided is not a verdict",
    "same and other domain",
    "=over the same",
    "=best blind guess",
    "=power",
    "=worst",
    "=held out",
    "=reliability",
    "What these answers say of the models (held-out answers)",
    "all equally frequent",
    ", power … (… to …)",
    "&power=…&",
    # texts that people and models are told
    "Either all are the same as before, or one of them is different",
    "For every letter, decide whether it is the same as the letter two before it",
    "Answer m (match) if it is",
    "Is the second array the same or different?",
    "rarely says that an item matches",
    "texts or answers without a translation: …",
    "Where nothing changed, correct means that 'same' was said",
    "=ok",
    # how figures and numbers are made
    "no … for lack of columns",
    "nothing to compare",
    "(the same), so there is nothing to compare",
    "the same figure is in …",
    "by the number of items to be held in memory",
    "the same answers with the recalled positions shuffled among themselves",
    "Mean percentile rank of each transition",
    "trials without any recalled item are left out",
    "Trials without any answer are left out",
    "answers that were never asked for are left out",
    "The first N items of a block, which have nothing to match",
    "items at the start of blocks, before there was one N back, left out of hits",
    "block without any counted match",
    "decisions that needed no memory (set size 0) left out",
    "answered wrongly are left out; none is left out as too short or too long",
    "none are left out as too short or too long",
    "rows are in no analysis",
    "Lures do not match the item N back",
    "a hit is a match that was called a match",
    "to a match is a miss",
    "to a match it is a miss",
    "as if the item had been said not to match",
    "Zero is chance, below zero worse than chance",
    "with the same weight",
    "Grey: the best blind guess, or chance if the record has no better one",
    (
        "On the right: the difference from people in percentage points, over the conditions that both have, with its"
        " 95% interval"
    ),
    "from the same standard error as the test beside them",
    "seeds and identifiers of trials are left out, so these trials cannot be made again",
    "Kappa with people is given together with that of people among themselves, computed in the same way",
    "Cohen's kappa of right and wrong on the same items: 0 for two independent agents, 1 for the same errors",
    "People themselves are scored in the same way",
    "From RNN-96 on: as published",
    "Models from RNN-96 on: as published",
    "who differ and took few trials",
    "Practice and pilot rows are left out unless asked for, …",
    "nobody has more than … block at one N",
    "draws it all the same",
    "same and other domain",
    "has only one value of …, so there is nothing to compare",
    "A dash: the units are not all of one kind, or differ between conditions",
    "0 means the same as people",
    "Proportions correct would not mean the same as in other sessions, so these sessions are left out of …",
    "to know how close a model can come to people",
    "Difference from people: A of slopes, B of means; 0 means the same as people",
    "How close a curve can come to the curves of these people, who differ and took few trials",
    "This page holds everything that it shows",
    "in the same unit: the share of the time",
    "same unit: the share of the time",
    "cut at the same place",
    "M may well equal H",
    "for the same conditions; degrees of freedom",
    "is recorded for the same conditions",
    "under the same conditions",
    "The proportion of right answers is compared with the best blind guess",
    "a uniform guess …, the best blind guess …",
    "Grey: what the best blind guess reaches",
    "The sessions used … different …",
    "Sessions were told … different texts",
    "This page contains everything that it shows",
    "people with a flat curve left out",
    "not the same in all conditions",
    "No margin was declared, so that nothing is called equivalent",
    "No margin was declared (--margin): there is no verdict on equivalence",
    '"not told apart" is not "alike"',
    "Groups of different people",
    "several different population variances",
    "the power approach for assessing the equivalence",
    "which conditions or answerers differ",
    "power and seed, as spanlab plan prints them",
    "which of these tests are confirmatory; all others are exploratory",
    "where there is no difference it should find one",
    "of so many simulated studies",
    "what each column holds",
    "Each holds a … grid or is empty",
    "Capitals and small letters count as the same",
    # networks and what their units do
    "accuracy on held-out trials",
    "## Held-out accuracy",
    "for each task on the accuracy of held-out trials",
    "then left as they are",
    "with the same … filters",
    "tell same from different",
    (
        "Some answers can be guessed better than blindly by somebody who sees the frames and remembers nothing (in vsr,"
        " only positions that hold a pattern"
    ),
    "so compare every accuracy with the best blind guess and",
    "The best blind guess is the best fixed answer",
    "which had the highest mean gain over the best blind guess in validation",
    "| best blind guess |",
    "left out of clusters, projections and preferences",
    "drop_sem is the standard error of the differences in the same trials",
    "As published, each row is first brought to the range from 0 to 1",
    "are of the same numbers; distances between far groups mean nothing",
    "How much accuracy is lost without the units of one cluster",
    "what is lost without some of them",
    "in the same trials",
    "has different states in different trials",
    "at two items of the same list",
    "at two items of the same trial",
    "of the same list: mean cosine over trials",
    "States that stay similar to the first one suggest",
    "have no variance and are left out",
    "if they end the trial",
    "Steps at which memory is tested are left out",
    "the memory itself continues unchanged",
    "Units that take part in the same tasks",
    "the same states, coloured by the task",
    "Which tasks have similar embeddings",
    "all units have the same normalised task variance",
    "left out of the task variance; take more trials",
)
