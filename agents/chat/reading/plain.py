"""Part of a reply that may be its answer: everything that is there, without what is asked, doubted
or only talked about.

A tolerant reader looks for the one answer in a reply. Questions back, requests, doubts and
conditions name answers without giving them, and so do numbers of patterns, rows and grids. They are
taken away here, before anything is read; nothing is ever added.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from ....paradigms import ResponseKind
from ....paradigms.responses import Rating

_CJK = "\u3040-\u30ff\u3400-\u9fff"
_BESIDE_CJK = re.compile(rf"(?<=[{_CJK}])(?=[0-9A-Za-z\-])|(?<=[0-9A-Za-z\-])(?=[{_CJK}])")
_STOPS = str.maketrans({"。": ".", "、": ",", "「": '"', "」": '"', "¿": " ", "¡": " "})
#: tokens of chat templates that some servers leave in a reply
TOKENS = re.compile(r"<\|[a-z_ ]{2,30}\|>|</?s>|<(?:eos|end_of_turn|bos)>|\[/?INST\]")

_WORD = r"(?<![^\W_])(?:{})(?![^\W_])"
#: what asks for something or gives an example, in five languages
_REQUESTS = re.compile(
    _WORD.format(
        r"could you|can you|would you|will you|can i|could i|may i|should i|shall i|please|show me|let me|i(?:'d|"
        r" would)? need|i'm ready|i am ready|ready|"
        r"for example|for instance|e\.g|zum beispiel|par exemple|por ejemplo|"
        r"understood|könnt\w*|kannst|kann ich|darf ich|bitte|soll ich|pou[rv]\w*-vous|peux-tu|puis-je|s'il vous"
        r" plaît|podría\w*|puede\w*|puedo|por favor"
    )
    + "|请|可以再|能再|能否|例如|比如",
    re.IGNORECASE,
)
#: what doubts, restricts or supposes
_DOUBTS = re.compile(
    _WORD.format(
        r"almost|nearly|mostly|largely|partly|roughly|hardly|barely|scarcely|seldom|fail(?:s|ed)?|lack(?:s|ed)?|stop(?:s|ped)?|perhaps|maybe|possibly|might|"
        r"could be|could have|either|neither|whether|if|otherwise|unless|although|(?:they|it|this|that|there)"
        r" would|(?:it|"
        r"they)'d|not sure|unsure|uncertain|guessing|"
        r"forgot|forgotten|apart from|aside from|except\w*|save for|but for|without|close to|similar|far from|anything"
        r" but|"
        r"nothing but|hope|supposed|somewhere|between|"
        r"asked|wonder\w*|remember only|only remember|(?:counts? as|(?:is|are) called|means) [^.!?]{1,80}\bwhen|"
        r"fast|beinahe|nahezu|vielleicht|möglicherweise|wahrscheinlich|entweder|ob|falls|wenn|vergessen|außer|bis"
        r" auf|unsicher|"
        r"presque|peut-être|soit|si|sauf|oublié|quizás?|tal vez|casi|acaso|salvo|excepto|olvid\w+|sea|seguro"
    )
    + "|可能|也许|几乎|差不多|或者|还是|如果|忘",
    re.IGNORECASE,
)
#: what says that something is gone or muddled, also of numbers
_LOST = re.compile(
    _WORD.format(
        r"lost|lose|losing|missed|confus\w+|muddled|mix(?:ed|ing)? up|verloren|verlier\w*|verwechs\w+|perdu\w*|"
        r"confond\w*|perd[ií]\w*|confund\w*"
    )
    + r"|\b(?:only|just|nur|bloß|seulement|solo|solamente)\b[^.!?\n]*\b(?:beginning|start|end|first|last|anfang|ende|"
    r"début|fin|principio|final)\b",
    re.IGNORECASE,
)
_SENTENCES = re.compile(r"[^.!?;:\n]*(?:[.:](?=\d)[^.!?;:\n]*)*(?:[.!?;:\n]+|\Z)")
_SENTENCES_OF_CELLS = re.compile(r"(?:[^.!?:\n]|[.:](?=\d))*(?:[.!?:\n]+|\Z)")

_THINGS = (
    r"patterns?|items?|pictures?|images?|displays?|trials?|steps?|rounds?|rows?|columns?|col|grids?|stimul(?:us|i)|squares?|options?|figures?|shapes?|"
    r"matri(?:x|ces)|lists?|muster\w*|bild\w*|zeilen?|spalten?|reihen?|elemente?s?|schritte?|motifs?|lignes?|colonnes?|essais?|éléments?|"
    r"patr[oó]n(?:es)?|filas?|columnas?|elementos?|im[aá]gen(?:es)?|celdas|cells|zellen|cases|positions|posiciones|positionen|places|dots|bars|letters|words|"
    r"numbers|times|seconds"
)
#: numbers that count or name something else than a position
_OTHER_NUMBERS = re.compile(
    r"\b\d+ ?(?:x|×|by|mal|par|por) ?\d+\b|\bnumbers? \d+ (?:to|through|bis|à|-) \d+\b"
    rf"|\b(?:{_THINGS})(?: no\.| number| #)? ?\d+(?:st|nd|rd|th)?\b"
    rf"|\b\d+(?:st|nd|rd|th|er|ère|e|ème|º|ª)? (?:\w+ )?(?:{_THINGS})\b|\b\d+\. (?=muster|bild|zeile|spalte|reihe)"
    r"|\b(?:from|between|von|de|zwischen|entre|del) \d+ (?:to|and|bis|und|à|et|a|al|y) \d+\b|\b\d+(?: to |-| bis"
    r" )\d+(?= (?:cells|positions))"
    r"|\b(?:loading|processing|thinking|generating|step|part|page|turn|attempt|message|question)(?: no\.| number| #)?:?"
    r" ?\d+ ?(?:/|(?:out )?of) ?\d+\b"
    r"|(?<=\d) (?:out )?of \d+\b|\b\d+ [*+\-/] \d+(?: [*+\-/] \d+)* ?=|\(\d+ ?[*+\-] ?\d+\)(?: ?[*+\-] ?\d+)* ?="
    r"|第 ?\d+ ?(?:个|张|幅)?(?:图案|图|项|次|行|列)|(?:图案|图|项目) ?\d+|(?<!第)(?<!第 )\b\d+ ?(?:个|张|幅)"
    r" ?(?:图案|格子|图|位置)",
    re.IGNORECASE,
)
_COUNTED_CELLS = re.compile(
    r"\b\d+ ?(?:x|×|by|mal|par|por) ?\d+\b|\b\d+ (?:\w+"
    r" )?(?:cells?|squares?|positions?|items?|displays?|zellen?|felder|cases?|celdas?|casillas?)\b"
    r"|\b(?:display|step|cell|item|square|schritt|zelle|étape|paso) \d+ ?(?=[:.)])|\d+ ?个(?:格子|单元格)",
    re.IGNORECASE,
)
_ROWS = (
    (re.compile(r"\b(?:zeile|ligne|fila)\b", re.I), "row"),
    (re.compile(r"\b(?:spalte|colonne|columna)\b", re.I), "column"),
)
_CHINESE_CELL = re.compile(r"第? ?(\d+) ?行[,，]? ?第? ?(\d+) ?列")
#: a position that is called so counts, and numbers beside it do not
_POSITION = re.compile(
    r"\b(?:positions?|place|cell|slot|spot|location|number|posici[oó]n|platz|stelle|feld|num[eé]ro|n[uú]mero|nummer)"
    r"(?: no\.| number| is| was| :|:| ist| est| es)?"
    r"[ *_`'\"#(]*(\d+)\b|第 ?(\d+) ?(?:个)?(?:位置|格)|位置 ?(?:是|为|:)? ?(\d+)",
    re.IGNORECASE,
)
_SAYS = re.compile(r"\b(?:is|so|therefore|thus|ist|also|est|donc|es)\b|是", re.IGNORECASE)
#: words that stand before an answer that another thing is told by
_BESIDE = (
    r"(?:after|before|following|preceding|follows|precedes|next to|beside|between|rhymes"
    r" with|like|than|nach|vor|après|avant|después de|antes de)"
)
#: a word that is none of these says of what an adjective is told: "the same colours" are not the
#: same displays
_NOUN = (
    r"(?= (?!(?:one|ones|because|since|as|and|so|or|but|not|nor|answer|in|on|at|again|from|now|here|with|by|to|than|then|when|for|this|that|if|is|was|"  # noqa: E501
    r"oder|und|et|y|ou|o)\b)"
    r"[a-z])"
)
#: what else a word may mean that is also an answer, where something stands before it or after it
_IDIOMS: dict[str, tuple[str, str]] = {
    "right": (
        r"\b(?:that(?:'s| is)|this is|you(?:'re| are)|i(?:'m| am)|all|quite|exactly|is that|is this) ",
        r"(?:,? (?:let|now|after|before|away|so|then|here|i)\b|!? ?,)",
    ),
    "left": (
        r"\b(?:nothing|something|anything|what(?:'s| is| was)|have|has|had)(?: \w+)? ",
        r"(?= (?:of|to|for|behind|over|out)\b)",
    ),
    "true": (r"", r"(?= that\b)"),
    "blue": (r"\bfeel(?:s|ing)? ", ""),
    "same": (r"", _NOUN),
    "different": (r"", _NOUN),
}
#: A single word and the answer in brackets behind it, at the head: "Match (m). The letters ..."
_IN_BRACKETS = re.compile(
    r"\A\W*(?!(?:not?|nicht|kein\w*|pas|{labels})\b)[^\W\d_]+ \([*\"']*({labels})[*\"']*\)(?=[.:\n]|\Z)"
)


def names_position(sentence: str) -> bool:
    """Return whether a sentence names a position."""
    return _POSITION.search(sentence) is not None and _SAYS.search(sentence) is not None


def plain(text: str, kind: ResponseKind) -> str:
    """The parts of a text that may be an answer to a question of this kind.

    Parameters
    ----------
    text : a reply, or what is left of it without its reasoning
    kind : what was asked
    """
    labels = kind.written_answers()
    if all(unicodedata.normalize("NFKC", label) == label for label in labels):
        text = unicodedata.normalize("NFKC", text)
    text = _BESIDE_CJK.sub(" ", TOKENS.sub(" ", text).translate(_STOPS))
    text = re.sub(r"[^\S\n]+", " ", text)
    if not labels:
        return _cells(text)
    if isinstance(kind, Rating):  # doubts are what it is about, and its numbers count nothing else
        return "".join(
            sentence
            for sentence in _SENTENCES.findall(text)
            if not sentence.strip().endswith("?") and not _REQUESTS.search(sentence)
        )
    whole = "|".join(map(re.escape, sorted(labels, key=len, reverse=True)))
    text = "".join(
        sentence if _says(sentence, whole) else "\n" * ("\n" in sentence) for sentence in _SENTENCES.findall(text)
    )
    text = re.sub(_IN_BRACKETS.pattern.replace("{labels}", whole), r"\1", text, count=1, flags=re.IGNORECASE)
    if all(label.isdigit() for label in labels):
        return _positions(text)
    if any("/" in label for label in labels):
        text = re.sub(r" ?/ ?", "/", text)
    if all(len(label) > 1 for label in labels):
        text = _words(text, labels, whole)
    return text


def _says(sentence: str, labels: str) -> bool:
    """Return whether a sentence says something, and does not ask, doubt or suppose."""
    bare = sentence.strip()
    return not (bare.endswith("?") or any(pattern.search(bare) for pattern in (_REQUESTS, _DOUBTS, _LOST)))


def _cells(text: str) -> str:
    text = "".join(
        sentence
        for sentence in _SENTENCES_OF_CELLS.findall(text)
        if not sentence.strip().endswith("?") and not _REQUESTS.search(sentence) and not _LOST.search(sentence)
    )
    text = _CHINESE_CELL.sub(r"\1,\2", text)
    for pattern, word in _ROWS:
        text = pattern.sub(word, text)
    return _COUNTED_CELLS.sub(" ", text)


def _positions(text: str) -> str:
    """A text in which numbers are left that may be positions."""
    text = _OTHER_NUMBERS.sub(" ", text)
    lines = []
    for line in text.split("\n"):
        named = {next(filter(None, match.groups())) for match in _POSITION.finditer(line)}
        if len(named) == 1:
            (answer,) = named
            others = set(re.findall(r"(?<![\d.,+\-−])\d+(?![\d])", line))
            # the one that is called a position, and nothing that denies it
            line = line if others <= named else re.sub(rf"(?<!\d)(?!{answer}\b)\d+(?:st|nd|rd|th)?\b", " ", line)
        lines.append(line)
    return "\n".join(lines)


def _words(text: str, labels: Sequence[str], whole: str) -> str:
    """A text without answers that are only spoken of: beside which another thing stands, with which
    one is contrasted, or in another sense of the word."""
    text = re.sub(rf"\b{_BESIDE} (?:the |a |an |le |la |el |dem |der )?[\"'“]?(?i:{whole})\b", " ", text)
    text = re.sub(rf"\b((?i:{whole}))([\"'”*]*),? (?:and |but )?not (?:the |a )?(?i:{whole})\b", r"\1\2", text)
    for label in labels:
        before, after = _IDIOMS.get(label.lower(), ("", ""))
        if before:
            text = re.sub(rf"{before}{re.escape(label)}(?=[ .!,;]|\Z)", " ", text, flags=re.IGNORECASE)
        if after:
            text = re.sub(rf"\b{re.escape(label)}{after}", " ", text, flags=re.IGNORECASE)
        if label.endswith("ic"):
            text = re.sub(rf"\b({re.escape(label)})al\b", r"\1", text, flags=re.IGNORECASE)
    return text
