"""Reading an answer from a reply. The declared rule is applied strictly, and a reply that could
mean two answers has none."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from ....core.errors import SpanLabError
from ....paradigms import Answer, ResponseKind
from ....paradigms.responses import Rating, SerialOrder
from ....paradigms.responses.wording import DASH_END, HEAD_END, alike, negated, undressed
from ..messages import Reply
from ..options import SignedChoice, as_written
from ..settings import ChatSettings
from .constrained import loosely, read_constrained
from .plain import TOKENS as _TOKENS
from .plain import names_position, plain
from .stated import as_stated, json_answer, json_object, unfinished, unlisted, unnumbered

#: How an answer was read: the reply was the answer and nothing else; its first character counted;
#: it was found within the reply; the reply was JSON of the form that was asked for; another model
#: has read it; or there is no answer in it.
How = Literal["exact", "first_character", "tolerant", "constrained", "model", "unread"]

#: The version of this reading, which is in the record. It is raised with whatever changes what is
#: read in any reply.
READER = 1
#: Of a longer reply only the end is read where the answer stands, and nothing where nothing but an
#: answer was asked for.
LONGEST = 20_000
#: Where reasoning begins and ends in a reply, as models and servers mark it.
_TAG = re.compile(
    r"<(?P<a>/?) ?(?:think(?:ing)?|thoughts?|reasoning|reflection|scratchpad)"
    r" ?>|\[(?P<b>/?)THINK(?:ING)?\]|[◁<](?P<c>/?)think[▷>]"
    r"|<\|(?:begin|(?P<d>end))_of_thought\|>"
    r"|<(?:\|channel>(?:thought|analysis|thinking)|(?P<e>channel)\|>)",
    re.IGNORECASE,
)
#: Channels in which open models write: reasoning in one, and what is meant for the reader in the
#: last.
_FINAL = re.compile(
    r"(?:<\|start\|>)?(?:assistant)?<\|channel\|>final(?:[^<]{0,20})<\|message\|>|(?<=\S)assistantfinal|\Aassistantfinal"
)
_CHANNEL = re.compile(r"<\|channel\|>(?:analysis|commentary)|\Aanalysis(?=\S)")
_LEFT_OVER = re.compile(
    r"<\|(?:start|end|return|message|channel|im_end|im_start|eot_id|begin_of_solution|end_of_solution|constrain)\|>(?:assistant|analysis|final)?"
)
#: Where a reply says that its answer comes: "Answer: ...", "the answer is ...", an <answer> tag, a
#: LaTeX box.
_MARKER = re.compile(
    r"(?P<tag><answer>)|(?P<box>\\boxed ?\{)"
    r"|(?<![^\W_])(?:answer|response|result|choice|antwort|ergebnis|réponse|résultat|respuesta|resultado)(?:"
    r" (?:correcte?a?|final|finale|richtige))?"
    r"(?![^\W_])[*_`\"']{0,4}"
    r"(?: ?[:=]| (?:is|was|(?:would|will|must) be|ist|lautet|wäre|est|es|sería)(?![^\W_]) ?:?)[*_`]{0,4}"
    r"|(?<![^\W_])i(?:'d|'ll| would| will)? (?:answer|say|choose|pick|select|respond|go)(?: with)?(?= )"
    r"|(?:答案|回答|结果) ?(?:是|为|应该是)? ?[:=]?(?= ?[^\W_]| ?-)",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[\n.!?;]")
_HEADING = re.compile(r"[ #*_]*(?:the |my |final ){0,2}(?:answer|response)[ *_:]*|```\w*", re.IGNORECASE)
_SENTENCE_END = re.compile(
    r"[.!?:;] (?:(?:so|thus|hence|therefore),? )?|,? (?:so|thus|hence|therefore),? ", re.IGNORECASE
)
_CONCLUSION = re.compile(
    r"(?:\A|(?<=[.;,] ))(?:therefore|thus|hence|so|in conclusion|conclusion)(?![^\W_])", re.IGNORECASE
)
#: A last line after reasons that announces more of them.
_GOES_ON = re.compile(r"\A\W*(?:so |now )?(?:i (?:will |'ll )?(?:now |then )|let me |let's |next,? i )", re.IGNORECASE)
#: Where sentences end, numbers with a point or a colon apart, and how a reply ends that breaks off
#: within a sum or a list.
_STOP = re.compile(r"[.!?;:](?!\d)")
_WITHIN = re.compile(r"(?:[+/=×÷,(]|\b(?:plus|minus))\Z", re.IGNORECASE)
_SHOULD_BE = re.compile(r"\A\W*(?:so )?it (?:should|must) be (?=\W*\d)", re.IGNORECASE)
#: A number in another spelling, and what may announce it.
_NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_PADDED = re.compile(r"0*(\d+)(?:\.0+)?")
_ANNOUNCED = re.compile(r"\A\W*(?:the |my )?answer(?: is|:)\W*", re.IGNORECASE)
_SHORT = 60
#: How far back it is looked whether an announcement is denied, how many heads of a line may be the
#: answer, and in how many words there are no reasons.
_BACK, _HEADS, _FEW = 80, 20, 3


@dataclass(frozen=True, slots=True)
class Reading:
    """The answer that was read in a reply.

    Parameters
    ----------
    value : the answer, or None when there is no unambiguous one
    how : by which rule it was read. With ``constrained: json`` anything but ``constrained`` says
        that the reply was not JSON of the form that was asked for: the server did not hold the
        model to it, and the declared rule was applied to what it wrote.
    answer_text : the answer as it is written, which an ``extracted`` history keeps; the full text
        when there is none
    """

    value: Answer | None
    how: How
    answer_text: str


def check_extraction(kind: ResponseKind, settings: ChatSettings) -> None:
    """Make sure, before a session, that replies to such a question can be read in the declared way.

    Raises
    ------
    SpanLabError
        in one sentence that says which setting does not fit, and what to do.
    """
    json = settings.constrained == "json"
    if json and kind.answer_schema() is None:
        raise SpanLabError(
            f"chat settings: the response kind '{kind.name}' has no JSON Schema of an answer, so constrained cannot be"
            " json; set it to none"
        )
    answers = kind.written_answers()
    if settings.extraction == "first_character" and not (answers and all(len(answer) == 1 for answer in answers)):
        such = f" ('{next(answer for answer in answers if len(answer) != 1)[:40]}')" if answers else ""
        raise SpanLabError(
            f"chat settings: extraction first_character needs answers of one character; '{kind.name}' has longer"
            f" ones{such}: set it to tolerant"
        )
    if settings.extraction == "strict" and settings.reasoning != "none" and not json:
        raise SpanLabError(
            "chat settings: extraction strict reads nothing but a bare answer, and reasons are asked for as well; set"
            " extraction to tolerant"
        )


def read(kind: ResponseKind, text: str, settings: ChatSettings, cut: bool = False) -> Reading:
    """Read an answer by the declared rule.

    * ``strict``: the whole reply, but for space around it, is an answer as it is written.
    * ``first_character``: so, or else its first character is one. The published runs with GPT-3.5
      took the first character of the raw reply, those with other models that of the reply without
      space around it. Here the raw one counts; if it is not an answer, the first one that is not a
      space does. The two rules differ only where a reply begins with a space or a new line, which
      with GPT-3.5 stopped a run or put the question again.
    * ``tolerant``: so, or else the answer is found within the reply (``kind.parse``, "Answer: ...",
      tags and boxes). Where reasons come before the answer it stands last, where they come after it
      first; else anywhere. Two different candidates are not an answer.

    With ``constrained: json`` JSON of the form that was asked for comes before all of these. A judge is
    asked elsewhere (:mod:`.judge`).

    Parameters
    ----------
    kind : what was asked
    text : the reply, without the reasoning that :func:`split_reasoning` takes away
    settings : the protocol
    cut : whether the reply ended at the largest number of tokens: then reasons may be without their
        answer, and its last word may be half of another
    """
    json = settings.constrained == "json"
    value, how = None, "unread"
    if json and (value := read_constrained(kind, text, settings)) is not None:
        how = "constrained"
    elif (value := _exact(kind, text)) is not None:
        how = "exact"
    elif settings.extraction == "first_character" and (value := _first_character(kind, text)) is not None:
        how = "first_character"
    elif settings.extraction == "tolerant" and (plain := loosely(text) if json else text) is not None:
        # a JSON object keeps reasons apart, and its answer is all that is left here
        value = _tolerant(kind, plain, settings.reasoning if plain is text else "none")
        if (
            value is not None
            and settings.reasoning == "none"
            and isinstance(kind, SignedChoice)
            and kind.names_another(text, value)
        ):
            value = None
        how = "unread" if value is None else "tolerant"
    if value is None or (cut and how in ("exact", "tolerant") and _may_go_on(kind, text, value, settings)):
        return Reading(None, "unread", text)
    return Reading(value, how, kind.write(value))


def read_reply(kind: ResponseKind, reply: Reply, settings: ChatSettings) -> tuple[str, Reading]:
    """Return a reply without its reasoning, and the answer that is read in it."""
    _, rest = split_reasoning(reply)
    return rest, read(as_written(kind, settings), rest, settings, cut=reply.finish_reason == "length")


def split_reasoning(reply: Reply) -> tuple[str | None, str]:
    """The reasoning in a reply, and the rest, in which the answer is read.

    Reasoning is what the server delivered as such, and what stands in ``<think>`` (or
    ``<thinking>``) blocks. A closing tag alone has its opening one in the prompt
    (some chat templates put it there): all before it is reasoning. After an opening tag that is
    never closed there is no answer: the reply was cut, and all of it is reasoning.
    """
    content = reply.content
    thoughts = [reply.reasoning] if reply.reasoning else []
    content, before = _last_channel(content)
    thoughts += before
    rest: list[str] = []
    depth = end = 0
    for tag in _TAG.finditer(content):
        closing = any(tag.groups())
        piece = content[end : tag.start()]
        if depth or not closing:
            (thoughts if depth else rest).append(piece)
        else:
            thoughts += [*rest, piece]
            rest = []
        depth = max(0, depth - 1) if closing else depth + 1
        end = tag.end()
    if depth:
        thoughts += [*rest, content[end:]]
        rest = []
    else:
        rest.append(content[end:])
    reasoning = "\n\n".join(thought.strip() for thought in thoughts if thought.strip())
    return reasoning or None, "".join(rest).strip() if end or content != reply.content else content


def cut_in_reasoning(reply: Reply) -> bool:
    """Return whether a reply ended at its longest before its reasoning did."""
    if reply.finish_reason != "length":
        return False
    reasoning, rest = split_reasoning(reply)
    return reasoning is not None and not rest.strip()


def reasoning_alone(reply: Reply) -> bool:
    """Return whether a server has put all of a reply where it puts reasoning."""
    whole = reply.finish_reason != "length" and bool((reply.reasoning or "").strip())
    return whole and not reply.content.strip() and not reply.refusal


def _last_channel(content: str) -> tuple[str, list[str]]:
    """Return what a model wrote in its last channel, and what it wrote before. A reply that is cut
    within its reasoning has nothing in the last one."""
    finals = list(_FINAL.finditer(content))
    if finals:
        final = finals[-1]
        before = _LEFT_OVER.sub(" ", _CHANNEL.sub(" ", content[: final.start()]))
        return _LEFT_OVER.sub("", content[final.end() :]), [before]
    if (channel := _CHANNEL.search(content)) is not None and "<|" in channel[0]:
        return "", [_LEFT_OVER.sub(" ", content)]
    return (
        _LEFT_OVER.sub("", content)
        if "<|" in content and "of_thought" not in content
        else re.sub(r"<\|(?:begin|end)_of_solution\|>", "", content)
    ), []


def _exact(kind: ResponseKind, text: str) -> Answer | None:
    """The answer that the whole text is, as it is written."""
    bare = text.strip()
    if len(bare) > LONGEST:
        return None
    answers = kind.written_answers()
    if answers and bare not in answers and text not in answers:
        return None
    value = kind.parse(text if text in answers else bare)
    return value if value is not None and kind.write(value).strip() == bare else None


def _first_character(kind: ResponseKind, text: str) -> Answer | None:
    """The answer that the first character is: the raw one, or else the first that is not a space."""
    answers = kind.written_answers()
    first = next((character for character in (text[:1], text.lstrip()[:1]) if character in answers), None)
    return first and kind.parse(first)


def _tolerant(kind: ResponseKind, text: str, reasoning: str) -> Answer | None:
    """The answer within a text: in the place where it was asked for, else wherever it is clear that
    it is the answer, and the only one."""
    if reasoning == "none" and len(text) > LONGEST:
        return None
    if (number := _spelt(kind, text)) is not None:
        return number
    if (found := json_object(text)) is not None:
        return json_answer(found, kind)
    text = text[-LONGEST:] if reasoning == "before" else text[:LONGEST]
    if (stated := _stated(kind, _TOKENS.sub(" ", text), reasoning)) is None:
        return None
    text = plain(stated, kind)
    anywhere = _sole([kind.parse(text), *_marked(kind, text)])
    lines = [line for line in text.split("\n") if line.strip()]
    if reasoning == "none" or not lines:
        return anywhere
    candidates = _last(kind, text, lines) if reasoning == "before" else _first(kind, text, lines)
    if candidates:
        return _sole(candidates) if None not in candidates else None
    # Reasons may name one answer alone, without giving it.
    clear = not kind.written_answers() or anywhere in (_bare(kind, text), _head(kind, lines[0]), *_marked(kind, text))
    return anywhere if clear else None


def _stated(kind: ResponseKind, text: str, reasoning: str) -> str | None:
    """A reply in the words of the question: all of it, or beside reasons the line where the answer
    was asked for; None where that line says nothing."""
    if labels := kind.written_answers():
        text = unlisted(text, labels).replace("。", ". ")
    if reasoning == "none":
        return as_stated(text, kind)
    lines = (unnumbered(text) if kind.written_answers() else text).rstrip().split("\n")
    at = -1 if reasoning == "before" else next((number for number, line in enumerate(lines) if line.strip()), 0)
    line = lines[at]
    goes_on = unfinished(line, kind.written_answers()) != line or (_GOES_ON.match(line) and not re.search(r"\d", line))
    if reasoning == "before" and (goes_on or _breaks_off(kind, line)):
        return None
    lines[at] = as_stated(line, kind)
    return None if line.strip() and not lines[at].strip() else "\n".join(lines)


def _breaks_off(kind: ResponseKind, line: str) -> bool:
    """Return whether a last line breaks off: within a sum or a list, or in a sentence that neither
    begins nor ends with an answer and announces none."""
    if _WITHIN.search(line.rstrip()):
        return True
    sentence = _STOP.split(line.rstrip(" *_`"))[-1]
    words = sentence.split()
    if not sentence[-1:].isalpha() or len(words) <= _FEW or _MARKER.search(sentence):
        return False
    if _head(kind, sentence) is not None or (isinstance(kind, SerialOrder) and words[-1] in kind.labels):
        return False
    ends = (" ".join(words[-count:]) for count in range(1, _FEW + 1))
    return all(kind.parse(as_stated(end, kind)) is None for end in ends)


def _marked(kind: ResponseKind, text: str) -> list[Answer | None]:
    """Read after each place at which a text says that its answer comes, up to the next such
    place."""
    markers = [
        marker
        for marker in _MARKER.finditer(text)
        if not negated(_SENTENCE.split(text[max(0, marker.start() - _BACK) : marker.start()])[-1])
    ]
    ends = [*(marker.start() for marker in markers), len(text)][1:]
    values: list[Answer | None] = []
    known: dict[str, Answer | None] = {}
    for marker, end in zip(markers, ends, strict=True):
        passage = text[marker.end() : end]
        if marker["tag"]:
            passage = re.split("</answer>", passage, maxsplit=1, flags=re.IGNORECASE)[0]
        elif marker["box"]:
            passage = re.sub(r"\A ?\\(?:text|mathrm|mathbf)\w* ?\{", "", passage).partition("}")[0]
        if passage not in known:
            known[passage] = kind.parse(passage)
        values.append(known[passage])
    return values


def _last(kind: ResponseKind, text: str, lines: list[str]) -> list[Answer | None]:
    """Read what stands last, after reasons: in the last line, in its last sentence, or after the
    last place at which the answer is announced.

    Nothing when no answer is given there; None among them stands for one that cannot be read.
    """
    line = lines[-1]
    if (value := _bare(kind, line)) is not None:
        return [value]
    if _MARKER.search(line):
        return _marked(kind, line)[-1:] or [None]
    ends = [0, *(end.end() for end in _SENTENCE_END.finditer(line))]
    sentence = None if negated(line) else _bare(kind, _SHOULD_BE.sub("", line[ends[-1] :]))
    concluded = [kind.parse(line[conclusion.start() :]) for conclusion in _CONCLUSION.finditer(line)][-1:]
    called = kind.parse(line[ends[-1] :]) if names_position(line[ends[-1] :]) and not negated(line) else None
    headed = _head(kind, line) if isinstance(kind, Rating) else None  # what follows a rating says how it is meant
    return [
        value
        for value in (sentence, *concluded, called, headed, _short(kind, line), *_marked(kind, text)[-1:])
        if value is not None
    ]


def _first(kind: ResponseKind, text: str, lines: list[str]) -> list[Answer | None]:
    """Read what stands first, before reasons: in the first line, or at its head; and what is
    announced as the answer further on.

    Nothing when no answer is given there; None among them stands for a list of what there may be.
    """
    first, *more = lines[1:] if len(lines) > 1 and _HEADING.fullmatch(lines[0]) else lines
    value = _head(kind, first)
    if value is None and (marker := _MARKER.search(first)) is not None and not negated(first[: marker.start()]):
        value = _head(kind, first[marker.end() :])
    if value is None:
        value = _short(kind, first)
    if value is None:
        return []
    others = "|".join(re.escape(answer) for answer in kind.written_answers() if answer != kind.write(value))
    listed = rf"(?<![^\W_])(?:{others}) ?:|\bor [*_`'\"(]*(?:{others})(?![^\W_])"
    if others and (
        re.search(listed, first, re.IGNORECASE)
        or any(re.match(rf"\W*(?:{others}) ?:", line, re.IGNORECASE) for line in more)
    ):
        return [None]
    return [value, *(other for other in _marked(kind, text) if other is not None)]


def _short(kind: ResponseKind, line: str) -> Answer | None:
    """The answer in a line too short for reasons, such as "Position 3", or in one for answers that
    are not words."""
    if len(line.split()) > _FEW and kind.written_answers():
        return None
    return kind.parse(line) if _head(kind, line) is None else None


def _head(kind: ResponseKind, line: str) -> Answer | None:
    """The answer with which a line begins, before reasons; a rating only where nothing in the line
    takes it back."""
    if isinstance(kind, Rating) and kind.parse(line) is None:
        return None
    ends = list(islice(HEAD_END.finditer(line), _HEADS))
    if all(len(answer) > 1 or answer.isdigit() for answer in kind.written_answers()):  # no single letters and signs
        ends += islice(DASH_END.finditer(line), 1)
    heads = (line[: end.start()] for end in sorted(ends, key=lambda end: end.start()))
    return next((value for head in (line, *heads) if (value := _bare(kind, head)) is not None), None)


def _bare(kind: ResponseKind, text: str) -> Answer | None:
    """The answer that a text is, but for what stands around it."""
    value = kind.parse(text)
    return value if value is not None and alike(kind.write(value)) in map(alike, undressed(text)) else None


def _spelt(kind: ResponseKind, text: str) -> Answer | None:
    """The answer of a reply that is nothing but a number in another spelling: seven, 07, 7.0."""
    answers = kind.written_answers()
    for bare in undressed(_ANNOUNCED.sub("", text.strip())) if len(text) < _SHORT else ():
        word = bare.casefold()
        number = _PADDED.fullmatch(word)
        digits = str(_NUMBERS.index(word)) if word in _NUMBERS else ""
        digits = digits if number is None else number[1]
        if digits in answers and word not in answers:
            return kind.parse(digits)
    return None


def bare_answer(kind: ResponseKind, text: str) -> Answer | None:
    """The answer that a whole text is, whatever the case and the quotes around it."""
    value = _exact(kind, text)
    return value if value is not None else _bare(kind, text)


def _sole(values: Iterable[Answer | None]) -> Answer | None:
    """The only answer among several readings; None when there is none, or another."""
    found = {value for value in values if value is not None}
    return found.pop() if len(found) == 1 else None


def _may_go_on(kind: ResponseKind, text: str, value: Answer, settings: ChatSettings) -> bool:
    """Return whether a reply that was cut may have meant to say another answer than the one that is
    read in it."""
    if settings.reasoning == "before":
        return True
    end, written = text.rstrip(), kind.write(value)
    answers = kind.written_answers()
    if not answers:
        return end[-1:].isalnum() or end.endswith((",", ";", ":", "-", "–", "|", ">", "/"))
    return end.endswith(written) and any(answer != written and answer.startswith(written) for answer in answers)
