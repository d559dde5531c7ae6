"""Statement of a reply, in the words of the question: JSON, corrections, opposites and the talk
around an answer, put into the form that a reader expects.

Models write the same answer in many forms: ``{"answer": "8", "confidence": 0.9}``, *It's 3. No
wait, 8.*, *The arrays are identical.* Each function here brings one form back to the allowed
answers, or takes away what is none. Nothing is guessed: what stays unclear stays so for the reader.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ....paradigms import Answer, ResponseKind
from ....paradigms.responses import Cells, Choice, Continuous, Rating, SerialOrder, TypedText
from ....paradigms.responses.sequence import BLANK
from ....paradigms.responses.wording import with_gaps
from .constrained import object_of

#: Keys under which models put the answer in a JSON object of their own, the first one that is
#: there.
_KEYS = (
    "answer",
    "final_answer",
    "response",
    "result",
    "choice",
    "prediction",
    "antwort",
    "réponse",
    "respuesta",
    "答案",
)
_KEYS_OF_KIND: Mapping[type[ResponseKind], tuple[str, ...]] = {
    Choice: ("position", "option", "selection", "match", "label", "word", "side", "colour", "color"),
    Rating: ("rating", "confidence", "score", "value"),
    Continuous: ("colour", "color", "orientation", "angle", "degrees", "hue", "number", "value"),
    SerialOrder: ("sequence", "order", "items", "digits", "letters", "recall", "positions", "places", "blocks"),
    Cells: ("cells", "squares", "positions"),
    TypedText: ("digits", "text", "word"),
}
#: What takes back what was said before it, and what says that something was meant.
_CORRECTION = re.compile(
    r"(?:[.,;:!?—–]|\.\.\.|…|-)\s*"
    r"(?:no,? wait|wait,? no|wait|no,? let me (?:say|go with)|no,? make (?:it|that)|hold on|actually|"
    r"scratch that|correction|oops|sorry,?(?: i (?:meant|mean))?|i (?:mean|meant)|"
    r"nein,? moment|moment,? nein|korrektur|non,? attends|perdón|不对)(?:,? (?:that is|that's|it is|it's|it should be|i"
    r" meant|the answer is))?[,:.!]*\s+",
    re.IGNORECASE,
)
_DANGLING = re.compile(
    r"(?<![^\W_])(?:is|are|was|were|the|a|an|and|or|of|to|in|with|at|has|have|it|but|that|which|because|then)\Z",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"^ *(\d{1,2})[.)] +(?=[A-Za-z])", re.MULTILINE)
_MEANT = re.compile(
    r"\A\W*(?:i (?:meant|mean)|sorry,? i (?:meant|mean)|sorry,? i made a mistake[:,.]?|correction)[ :,]+", re.IGNORECASE
)
_CONTRAST = re.compile(
    r"(?:,|;)? (?:and )?not (?:the )?(?:position |place |option )?[*\"']*{label}[*\"']*(?: one)?(?=\W*(?:\Z|[.,;]))",
    re.IGNORECASE,
)
_NOT_BUT = re.compile(
    r"\bnot (?:at |in )?(?:the )?(?:position |place |option )?[*\"']*{label}[*\"']*(?: one)?(?:,|;)? (?:but )?(?=(?:the"
    r" |position |place |option )?)",
    re.IGNORECASE,
)
#: Answers in other words, where a reply is nothing else; and a yes or no before more.
_IN_OTHER_WORDS: Mapping[str, str] = {
    **dict.fromkeys(("ja", "oui", "sí", "yep", "yeah", "yup", "是", "是的", "对"), "yes"),
    **dict.fromkeys(("nein", "non", "nope", "nah", "不", "不是", "否"), "no"),
    **dict.fromkeys(("gleich", "identisch", "identique", "identiques", "iguales", "igual", "相同"), "same"),
    **dict.fromkeys(
        ("verschieden", "unterschiedlich", "différent", "différents", "diferente", "diferentes", "不同"), "different"
    ),
    **dict.fromkeys(("wahr", "richtig", "vrai", "verdadero"), "true"),
    **dict.fromkeys(("falsch", "faux", "falso"), "false"),
    **dict.fromkeys(("rot", "rouge", "rojo", "红色"), "red"),
    **dict.fromkeys(("blau", "bleu", "azul", "蓝色"), "blue"),
    **dict.fromkeys(("links", "gauche", "izquierda"), "left"),
    **dict.fromkeys(("rechts", "droite", "derecha"), "right"),
    **dict.fromkeys(("symmetrisch", "symétrique", "simétrico", "simétrica", "对称"), "symmetric"),
    **dict.fromkeys(("asymmetrisch", "asymétrique", "asimétrico", "asimétrica", "不对称"), "asymmetric"),
}
#: An answer in another language at the head of a reply, before reasons.
_BEFORE_REASONS = re.compile(
    r"\A\W*([^\W\d_]+?)[*_`\"']*(?:[.!]\s+|(?:[,:] ?| )(?:weil|denn|parce que|car|porque)(?=\s)|,? ?因为)",
    re.IGNORECASE,
)
#: Rows and columns of a grid of three by three, as places in it are named.
_ROW_NAMES: Mapping[str, int] = {"top": 0, "upper": 0, "middle": 1, "center": 1, "centre": 1, "bottom": 2, "lower": 2}
_COLUMN_NAMES: Mapping[str, int] = {"left": 0, "center": 1, "centre": 1, "middle": 1, "right": 2}
_PLACE_NAME = re.compile(rf"\b({'|'.join(_ROW_NAMES)})[ -]({'|'.join(_COLUMN_NAMES)})\b")
_PLACES = re.compile(rf"\A\W*{_PLACE_NAME.pattern}(?:, {_PLACE_NAME.pattern})*[*_`]*(?:[.!\n]\s*|\Z)", re.IGNORECASE)
_STATEMENT = re.compile(r"\A\W*the (?:statement|claim|sentence|equation) (?:is|was) ([a-z]+)(?=[:.])", re.IGNORECASE)
_DIGITS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_DIGIT_ALONE = re.compile(rf"(?:position|place|option|number|pattern) ({'|'.join(_DIGITS)})", re.IGNORECASE)
_REASON = re.compile(r",? (?:because|since)\b[^.!?\n]*", re.IGNORECASE)
_WITHOUT = re.compile(r", not \d+\b")
_THOUGHT = re.compile(
    r"\bi (?:first|initially) (?:thought|said) [^.,;\n]*,? but (?:now )?(?:it is|it's|i think)(?= )", re.IGNORECASE
)
_GIVES = re.compile(r"\b(?:gives?|yields?|becomes?|is|ergibt|donne|da)\b:?(?=[\s*]*[A-Z0-9])")
#: Talk about the task instead of an answer.
_TALK = re.compile(
    r"\b(?:problem|worry|worries|no need|no idea|no information|not sure|i understand|understood|ready|let's|let us|let"
    r" me know|of course|go ahead|continue|"
    r"begin|start|memori[sz]ed?|will remember|take your time|happy to|looking forward|noted|instructions?|no digits|no"
    r" list|depends|i will (?:check|judge))\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?\n]*(?:[.](?=\d)[^.!?\n]*)*(?:[.!?\n]+|\Z)")
_HEDGE = re.compile(
    r"\A\W*(?:(?:hmm|well|okay|ok|so|sure)[,.]? )?(?:(?:i(?: would|'d)? (?:think|believe|guess|suppose|say)|"
    r"(?:my (?:best )?(?:guess|answer|choice) (?:is|would be))|"
    r"probably|likely|it's|it is|it was)[,:]? ?(?:(?:that )?(?:it'?s|it is|it was|the answer is) )?)",
    re.IGNORECASE,
)
#: The part of a display of which a sentence may speak instead of the whole.
_PART = re.compile(
    r"\A\W*(?:all |only |both |each |every )?(?:the"
    r" )?(?:first|second|third|fourth|last|top|bottom|middle|upper|lower|other|\d+(?:st|nd|rd|th))? ?"
    r"(?:bars?|rows?|columns?|lines?|cells?|items?|colou?rs?|lengths?)(?: \d+(?:(?:,| and| to|-) ?\d+)*)? "
    r"(?:is|are|was|were|has|have|looks?|seems?|stays?|remains?)\b",
    re.IGNORECASE,
)
_ALL = re.compile(r"\A\W*(?:all|both|each|every)\b", re.IGNORECASE)
_NOT = r"(?:not|n['’]t|never)(?: (?:at all|the|a|quite|exactly|completely|entirely|perfectly|really|both))*"
#: Of two answers that are opposites, other words for each; what is denied first.
_OPPOSITES: Mapping[frozenset[str], tuple[tuple[str, str], ...]] = {
    frozenset({"same", "different"}): (
        (
            rf"\b(?:is|are|was|were|do|does|look|have|has)?(?: )?{_NOT} (?:same|identical|alike|equal|match(?:ing)?)\b",
            "different",
        ),
        (
            (
                rf"\b(?:\w+ )?{_NOT} (?:different|differ|changed?)\b|\bnothing (?:has |was"
                r" )?(?:changed|different)\b|\bno (?:changes?|differences?)\b"
            ),
            "same",
        ),
        (r"\b(?:exactly |completely )?(?:identical|alike)\b", "same"),
        (r"\bdiffers?\b", "different"),
        (r"\b(?:nicht|no son|no es|pas) (?:identisch|iguale?s?|identiques?|idénticos?)\b", "different"),
        (r"\b(?:différente?s?|diferentes?|unterschiedlich|verschieden)\b", "different"),
        (r"\b(?:identisch|iguales|identiques|idénticos)\b", "same"),
    ),
    frozenset({"symmetric", "asymmetric"}): (
        (rf"\b(?:is|are|was)?(?: )?{_NOT} symmetric(?:al)?\b|\bnot (?:a )?mirror (?:image|symmetric)\b", "asymmetric"),
        (rf"\b(?:is|are|was)?(?: )?{_NOT} asymmetric(?:al)?\b", "symmetric"),
    ),
    frozenset({"true", "false"}): (
        (rf"\b(?:is|was)?(?: )?{_NOT} (?:true|correct|right)\b", "false"),
        (rf"\b(?:is|was)?(?: )?{_NOT} (?:false|incorrect|wrong)\b", "true"),
        (r"\b(?:incorrect|wrong)\b", "false"),
        (r"[^.!?\n;]*(?:=|≠)[^.!?\n;]*?(?=(?:,? so|,? therefore|→|;|\.|\n|\Z))", " "),
    ),
}
_PLACE = r"(?:places?|positions?|circles?|squares?|locations?|outlines?|items?|box(?:es)?|bars?)"
#: Numbers in a reply on a scale that say where something was, and not what.
_WHERE = re.compile(
    rf"\(?\b(?:at |in |of |for |from )?(?:the )?{_PLACE} ?(?:at |in |no\.? ?|number |nr\.? ?)?(?:{_PLACE} )?#?\d+(?:"
    r" (?:clockwise|from the top))?\)?:?"
    rf"|\bat \d+(?= is thick)|\brgb\([^)]*\)|\bcolou?r \d+ is \d+ degrees\b[^.]*|\b(?:colour|color) 0 is\b[^.]*",
    re.IGNORECASE,
)
_VERBS = (
    "matches|holds|shows|contains|looks|seems|corresponds|appears|remains|fits|equals|starts|begins|comes|does|gives|goes|differs|always|perhaps|plus|degrees|"
    "degs|grados|degrés|this|stays|belongs|wins|makes|suits|across|besides|likes|is|was|has"
)
#: A number before a plural counts things, and so does one that is offered beside it (3 or 4
#: things).
_PLURALS = (
    "ziffern|zahlen|buchstaben|stellen|wörter|bilder|muster|felder|farben|balken|elemente|striche|linien|punkte|"
    "animali|lettere|numeri|cifre"
)
_COUNT = re.compile(
    r"(?<![\w.,])(?<!position )(?<!place )(?<!cell )(?<!number )(?<!option )(?:\d+ (?:(?:out )?of (?:the"
    r" )?|(?:or|to) ))?"
    rf"\d+ (?:(?!and|is|was|of|to)[a-zéèü]+ )?(?:(?!(?:{_VERBS})\b)[a-zéèü]{{3,}}s|(?:{_PLURALS}))\b"
    r"|(?<![\w.,])前 ?\d+ ?[个位]|(?<![\w.,])\d+ ?(?:个|位)(?=数字|数|字母|颜色|格)",
    re.IGNORECASE,
)
#: Words after which a number may be an answer. After any other it is a bound, a count or a part:
#: "more than 45", "has 360 degrees", "began with 30".
_GIVE = re.compile(
    r"a|about|actually|an|angle|answer|antwort|approx|approximately|are|around|at|bar|be|believe|beträgt|betrug|"
    r"blue|boxed|but|by|ca|choice|choose|circa|code|color|colour|confidence|couleur|de|degree|"
    r"degrees|die|digits|dirais|el|environ|era|es|est|estimate|etwa|farbe|figure|for|gebe|guess|"
    r"hmm|hue|is|ist|it|la|le|lautet|lautete|level|los|me|my|near|nearly|no|nombre|number|numéro|número|of|"
    r"ok|okay|only|orientation|plutôt|que|rating|read|recall|red|remember|respuesta|roughly|"
    r"réponse|sage|saw|say|sequence|serait|sería|so|sorry|sure|text|that|the|then|think|to|"
    r"turned|typed|unas|ungefähr|unos|wait|war|was|were|winkel|would|write|wäre|yes|zahl|ziffern|"
    r"était",
    re.IGNORECASE,
)
_BEFORE_NUMBER = re.compile(
    r"(?<![^\W\d_])(?P<word>[A-Za-zÀ-ÿ]+)[^\w.,:;!?\n]*(?<![\w.,])\d"
    r"|(?P<bound>超过|至少|至多|不到|不足|大于|小于|多于|少于) ?\d"
)
_GO_WITH = re.compile(r"\b(?:go|going|answer|respond|reply) with(?= \d)", re.IGNORECASE)
#: Before a number on a scale, what makes it a count or a bound.
_NO_RATING = re.compile(
    r"\b(?:in|than|least|most|last|answered|seen|recall(?:ed)?|remember(?:ed)?|had|missed)[ *_`\"']*(?<![\w.,])\d",
    re.IGNORECASE,
)
#: A sign within digits that stands for one that is not known.
_OPEN_DIGIT = re.compile(r"\d[?_*…]+\d")
#: "No" before a noun or a verb is no answer: "No further information", "No sé".
_NO_OF = re.compile(
    r"(?:\A|(?<=[.!?\n] ))\W*no (?!(?:it|this|that|the|there|they|he|she|i|we|you|not|yes|is|was|because|since|as|and|"
    r"but|or|match|such|digit|letter|item|number)\b|\d)[^\W\d_]+[^.!?\n]*[.!?\n]*",
    re.IGNORECASE,
)
_SEVERAL = re.compile(
    r"\b(?:positions|places|cells|options|boxes|blocks|numbers) \d+(?:, \d+)*,? (?:and|or|&) \d+", re.IGNORECASE
)
_CALLED = re.compile(r"\b(?:option|box|choice|answer option) (?:no\.? |number )?#?(?=\d)", re.IGNORECASE)
_INTERJECTION = re.compile(r"(?:\A|(?<=[.!?] ))\W{0,5}(?:no|yes|okay|ok|hmm|well|right),\s+", re.IGNORECASE)
_BACKWARDS = re.compile(
    r"(?:revers\w*|backwards?|opposite(?: order)?|umgekehrt\w*|rückwärts|à l'envers|ordre inverse|orden inverso|al"
    r" revés|倒序|反向|相反)"
    r"[^\d\n]*?(?=[\s:*]*[A-Z0-9_?]\b)",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"\([^()]{1,200}\)")
_OF_ITEMS = re.compile(
    r"\b(?:(?<!\d )(?:blocks|places|positions|squares|numbers|digits|letters)"  # before which there is no count
    r"|block|place|position|square|number|digit|letter|first|then|next|finally|lastly|again|followed by)\b,?:?",
    re.IGNORECASE,
)


def as_stated(text: str, kind: ResponseKind) -> str:
    """A reply in the words of the question, without what takes itself back and without talk about
    the task."""
    text = _THOUGHT.sub("", _corrected(unnumbered(text) if kind.written_answers() else text))
    text = unfinished(text, kind.written_answers())
    if isinstance(kind, SerialOrder | Choice) and (kind.layout, kind.options) == ("3x3", 9):
        text = _places(text)
    if isinstance(kind, SerialOrder):
        return _sequence(text, kind)
    if isinstance(kind, Continuous):
        text = _WHERE.sub(" ", _INTERJECTION.sub("", _without_denied(text, r"\d+")))
        return _giving(_SEVERAL.sub(" ", _COUNT.sub(" ", text)))
    if isinstance(kind, TypedText):
        bare = text.strip(" .*`\"'")
        if _OPEN_DIGIT.search(bare):
            return ""
        joined = re.fullmatch(r"\d(?:[ ,\-]+\d)+|\d{1,3}(?:,\d{3})+", bare)
        if kind.characters != "digits":
            return _COUNT.sub(" ", text)
        return re.sub(r"[ ,\-]", "", bare) if joined else _giving(_COUNT.sub(" ", text))
    labels = kind.written_answers()
    if not labels:
        return text
    bare = text.strip(" \n.!*`\"'。").casefold()
    if isinstance(kind, Rating):
        if _NO_RATING.search(text):
            return ""
        return next((str(point) for point, words in kind.labels if words.casefold() == bare), _COUNT.sub(" ", text))
    if (word := _word_before_reasons(text, labels)) is not None:
        return word
    if all(label.isdigit() for label in labels):
        digit = _DIGIT_ALONE.fullmatch(bare)
        return str(_DIGITS.index(digit[1]) + 1) if digit else _position(text)
    if (word := _IN_OTHER_WORDS.get(bare)) in labels:
        return str(word)
    return _label(text, labels)


def _places(text: str) -> str:
    """A reply that begins with nothing but names of places in a grid of three by three, with the
    numbers of these."""
    head = _PLACES.match(text)
    if head is None or _PLACE_NAME.search(text[head.end() :].casefold()):
        return text
    places = _PLACE_NAME.findall(head[0].casefold())
    numbers = [str(3 * _ROW_NAMES[row] + _COLUMN_NAMES[column] + 1) for row, column in places]
    return ", ".join(numbers) + ". " + text[head.end() :]


def _word_before_reasons(text: str, labels: tuple[str, ...]) -> str | None:
    """A reply that begins with an answer in another language, before a full stop or *because*, with
    the word of the question; None where it does not, or names another answer as well."""
    if (head := _BEFORE_REASONS.match(text)) is None:
        return None
    word = _IN_OTHER_WORDS.get(head[1].casefold())
    if word not in labels or word in ("yes", "no"):
        return None
    rest = text[head.end() :]
    named = {_IN_OTHER_WORDS.get(other.casefold(), other.casefold()) for other in re.findall(r"[^\W\d_]+", rest)}
    return f"{word}. {rest}" if not named & ({*labels} - {word}) else None


def unlisted(text: str, labels: tuple[str, ...]) -> str:
    """A text without a list of all answers, each in a line of its own behind a number or a dash."""
    sign = "|".join(re.escape(label) for label in sorted(labels, key=len, reverse=True))
    listed = re.compile(rf"(?:^ *(?:\d+[.)]|[-*•]) +[*_`'\"]*(?:{sign})[*_`'\".,;]* *(?:\n|\Z))+", re.MULTILINE)
    return listed.sub(lambda lines: "\n" if len(lines[0].strip().split("\n")) >= len(labels) else lines[0], text)


def _giving(text: str) -> str:
    """A text whose numbers may all be an answer; empty where one is a bound, a count or a part."""
    befores = _BEFORE_NUMBER.finditer(_GO_WITH.sub("is", text))
    gives = all(before["bound"] is None and _GIVE.fullmatch(before["word"]) for before in befores)
    return text if gives else ""


def _corrected(text: str) -> str:
    """Return what is left of a reply that takes back what it said."""
    ends = [match.end() for match in _CORRECTION.finditer(text)]
    return _MEANT.sub("", text[ends[-1] :] if ends and text[ends[-1] :].strip() else text)


def unfinished(text: str, labels: tuple[str, ...]) -> str:
    """A text without its last sentence, if that breaks off."""
    last = re.search(r"[^.!?\n]*\Z", text.rstrip())
    dangling = _DANGLING.search(text.rstrip())
    if last is None or dangling is None or dangling[0].lower() in {label.lower() for label in labels}:
        return text
    return text.rstrip()[: last.start()]


def unnumbered(text: str) -> str:
    """Sentences without the numbers of their lines, where these run from 1."""
    numbers = [match[1] for match in _NUMBERED.finditer(text)]
    return (
        _NUMBERED.sub("", text)
        if len(numbers) > 1 and numbers == [str(at) for at in range(1, len(numbers) + 1)]
        else text
    )


def _without_denied(text: str, label: str) -> str:
    """A text without an answer that is denied to be replaced by another: "not 5 but 2"."""
    return re.sub(_NOT_BUT.pattern.replace("{label}", label), "", text, flags=re.IGNORECASE)


def _position(text: str) -> str:
    text = _COUNT.sub(" ", _SEVERAL.sub(" ", _CALLED.sub("", text)))
    text = re.sub(_CONTRAST.pattern.replace("{label}", r"\d+"), "", text, flags=re.IGNORECASE)
    text = _without_denied(text, r"\d+")
    return (
        _HEDGE.sub("", _INTERJECTION.sub("", text))
        if re.fullmatch(r"\W*\d+\W*", _HEDGE.sub("", text))
        else _INTERJECTION.sub("", text)
    )


@lru_cache(maxsize=256)
def _forms(labels: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns of an answer that ends a reply as its conclusion, and of a bare one."""
    sign = "|".join(re.escape(label) for label in sorted(labels, key=len, reverse=True))
    dressed = rf"[*_`'\"“”(\[ ]*(?P<label>{sign})[*_`'\"“”)\].!✓✅ ]*"
    return (
        re.compile(
            r"(?:(?:\bso|\btherefore|\bhence|\bthus|:|→|=>|—|–|\balso|\bdonc)\s*(?:it is |it's |the answer is |my"
            rf" (?:best )?(?:guess|answer|choice) is )?)(?<![\w]){dressed}\Z",
            re.IGNORECASE,
        ),
        re.compile(dressed, re.IGNORECASE),
    )


def _label(text: str, labels: tuple[str, ...]) -> str:
    """A text with words for answers: in other words, at its end as a conclusion, or after a hedge;
    without sentences that say something else."""
    concluded, bare = _forms(labels)
    if (statement := _STATEMENT.match(text)) and statement[1].lower() in labels:
        text = statement[1] + text[statement.end() :]
    hedged = _HEDGE.sub("", text, count=1)
    if hedged != text and (match := bare.fullmatch(hedged.strip())):
        return match["label"]
    lowered = frozenset(label.lower() for label in labels)
    if lowered == {"yes", "no"}:
        return _yes_or_no(text, concluded)
    if len(lowered) == 2 and (end := concluded.search(text.rstrip())) and not text.rstrip().endswith("?"):
        before = text.rstrip()[: end.start()]
        denied = re.search(
            r"\b(?:answer|response|choice|result)\b[^.\n]*(?:\bnot\b|n['’]t\b|\bnever\b)[^.\n]*\Z",
            before,
            re.IGNORECASE,
        )
        if not denied and not re.search(rf"(?<!\w)(?:{'|'.join(map(re.escape, labels))})(?!\w)", before, re.IGNORECASE):
            return end["label"]
    kept = _SENTENCE.findall(text)
    if lowered in _OPPOSITES:
        kept = [
            _in_words(sentence, _OPPOSITES[lowered])
            for sentence in kept
            if not _PART.match(sentence) or _ALL.match(sentence) or re.search(r"\bso\b", sentence)
        ]
    text = "".join(kept)
    if lowered == {"left", "right"}:
        text = _without_denied(text, "(?:left|right)")
    return text


def _in_words(sentence: str, words: tuple[tuple[str, str], ...]) -> str:
    """A sentence in which each answer stands in the word of the question, without a yes or no
    before it and without reasons behind it."""
    sentence = _WITHOUT.sub("", _REASON.sub("", _INTERJECTION.sub("", sentence)))
    for pattern, label in words:
        sentence = re.sub(pattern, f" {label} " if label.strip() else label, sentence, flags=re.IGNORECASE)
    return sentence


def _yes_or_no(text: str, concluded: re.Pattern[str]) -> str:
    """The word with which a reply begins where a statement about the question follows, or with
    which it ends as a conclusion."""
    first = re.match(r"\W*([^\W\d_]+)\s*[,.!:。,—–]", text)
    if first is not None and (word := _IN_OTHER_WORDS.get(first[1].casefold())) in ("yes", "no"):
        text = f"{word}. {text[first.end() :]}"
    kept = "".join(sentence for sentence in _SENTENCE.findall(text) if not sentence.strip().endswith("?"))
    kept = _NO_OF.sub("", kept)
    head = re.match(r"\W*(yes|no)\b(?=\W*(?:[,.!:;\n—–-]|\Z))", kept, re.IGNORECASE)
    end = concluded.search(kept.rstrip())
    if (
        head is None
        and end is not None
        and re.search(rf":\W*(?!{end['label']})(?:yes|no)\b", kept[: end.start()], re.IGNORECASE)
    ):
        return ""
    if head is None:
        return (
            end["label"]
            if end is not None and not _TALK.search(kept)
            else "".join(one for one in _SENTENCE.findall(kept) if not _TALK.search(one))
        )
    rest = kept[head.end() :]
    if (
        _TALK.search(rest)
        or re.search(r"\b(?:please|could you|can you|show me)\b", rest, re.IGNORECASE)
        or (end is not None and end["label"].lower() != head[1].lower())
    ):
        return ""
    other = {"yes": "no", "no": "yes"}[head[1].lower()]
    stands = re.search(
        rf"(?:\A|[\n.;:,]|\band|\bor) *[*_`'\"]*{other}\b(?! (?:digit|other|doubt|such|one))", rest, re.IGNORECASE
    )
    return "" if stands else head[1]


def _sequence(text: str, kind: SerialOrder) -> str:
    """The part of a reply that gives a sequence: without asides, a line of its own, or what follows
    a word that says that the order is reversed."""
    gapped = with_gaps(text, kind.labels, BLANK if kind.unknown else "", None if kind.free else kind.take)
    if gapped is None:
        return ""
    outside = _ASIDE.sub(lambda aside: " " if re.search(r"[A-Za-z]{2}", aside[0]) else aside[0], gapped)
    text = outside if re.search(r"\w", outside) else gapped
    known = {label.casefold() for label in kind.labels} | {BLANK, "and"}
    lines = [re.findall(r"[^\W_]+", line.casefold()) for line in text.split("\n")]
    bare = [at for at, words in enumerate(lines) if len(words) > 1 and {*words} <= known]
    if len(bare) == 1 and len(list(filter(None, lines))) > 1:
        return text.split("\n")[bare[0]]
    reversed_at = [match.end() for match in _BACKWARDS.finditer(text)]
    if reversed_at and re.search(r"\w", text[reversed_at[-1] :]):
        text = text[reversed_at[-1] :]
        text = text[gives.end() :] if (gives := _GIVES.search(text)) else text
    return _OF_ITEMS.sub(" ", text)


# -- JSON ------------------------------------------------------------------------------------------


def json_object(text: str) -> dict[str, Any] | None:
    """The JSON object that a reply is, in a fence or not; None where it is none, or gives a key
    twice."""
    inner = text.strip()
    fenced = re.fullmatch(r"```\w*\s*(.*?)\s*```", inner, re.DOTALL)
    inner = fenced[1] if fenced else inner
    return object_of(inner) if inner.startswith("{") else None


def json_text(found: Mapping[str, Any], kind: ResponseKind) -> str:
    """Return what a JSON object gives as its answer, as text; empty where it gives none."""
    by_name = {str(key).strip().lower(): value for key, value in found.items()}
    names = (*_KEYS, *next((keys for of, keys in _KEYS_OF_KIND.items() if isinstance(kind, of)), ()))
    key = next((name for name in names if name in by_name), None)
    if key is None and isinstance(kind, Cells) and {"row", "column"} <= {*by_name}:
        return _written([[by_name["row"], by_name["column"]]], kind)
    return "" if key is None else _written(by_name[key], kind)


def _written(value: Any, kind: ResponseKind) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int):
        return str(value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else str(value)
    if isinstance(value, list):
        if isinstance(kind, Cells):
            return "; ".join(",".join(map(str, one)) if isinstance(one, list) else str(one) for one in value)
        if isinstance(kind, SerialOrder) and all(one is None or isinstance(one, str | int) for one in value):
            return " ".join("blank" if one is None else str(one) for one in value)
        return "; ".join(map(str, value))
    return ""


def json_answer(found: Mapping[str, Any], kind: ResponseKind) -> Answer | None:
    """The answer that a JSON object gives."""
    return kind.parse(json_text(found, kind))
