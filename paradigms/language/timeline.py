"""The timeline of a paradigm: flow (for, repeat, when/else, do) around steps, read once and
unrolled for every trial.

A step is what is shown, what is asked and what is recorded, as it stands in the file.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from keyword import iskeyword
from typing import Any, cast

import numpy as np

from ...core.errors import ParadigmError
from ...core.json_values import as_object, is_number, is_whole
from ...core.registry import as_tuple, nearest
from ...stimuli import STIMULI, Stimulus
from ...stimuli.kinds.files import ShownSound
from ..responses import RESPONSES, ResponseKind
from ..trial import Ask, Display, Percept, Reason, Step, Truth, Verdict
from .component_spec import COUNTERS, ComponentSpec, QuestionText, Reader, read_component
from .diagnostics import show
from .expressions import FUNCTIONS, LITERALS, Environment, Template, is_expression, is_name
from .yaml_source import YamlPath

#: no experiment has more
MAX_STEPS, MAX_DISPLAYS = 10_000, 100
STEP_KEYS: dict[str, str] = {
    "phase": "name of the phase, such as present, retention or probe",
    "show": "one display, or several in sequence",
    "feedback": "instead of show: one display for each verdict (right, wrong, missed) on the last answer",
    "ask": "the question, at most one",
    "record": "further values for the response table, such as serial_position",
    "model_steps": "0 for what only people get; 1 otherwise",
}
DISPLAY_KEYS: dict[str, str] = {
    "ms": (
        "duration: a number, an expression or {uniform: [shortest, longest]}; sound = as long as the display's sound;"
        " none = self-paced"
    ),
    "for_machines": "true for the display that machines get, when it is not the first",
}
ASK_KEYS: dict[str, str] = {
    "answer": "the correct answer",
    "score": "false for a question whose answer is recorded and not scored, such as a press that is always the same",
    "ends": "on_answer or on_time",
    "window_ms": "response window; if not given, the total duration of the displays; none = self-paced",
    "no_answer_means": "the answer that silence stands for",
    "counts": "which press counts: first or last",
    "late": "presses after the window: record or ignore",
    "chance": "probability that a uniformly random answer is correct, if it differs from that of the response kind",
    "blind": "accuracy of the best blind guess, if it is not chance",
    "prompt": (
        "the wording of the question, by language; {ordinal} and {position} give its number in the loop, {=...} may use"
        " factors and loop counts"
    ),
    "why": (
        "only for the worked example in the instructions: why the answer is right, by language; {answer} is the answer,"
        " {=...} may use everything"
    ),
    "frames": (
        "only for the worked example in the instructions: areas to frame in its picture, such as what has changed, each"
        " as [x0, y0, x1, y1]"
    ),
    "way": (
        "only for worked examples and pictures after practice: the way of what has to be followed, drawn as a line"
        " through points [x, y]"
    ),
    "compare": (
        "only for pictures after practice: the display with which that of the question is compared, counted back among"
        " those of its kind; 0 for none"
    ),
    "classes": "for networks: the class of each allowed answer in the task's head; 0, 1, ... if not given",
}
#: columns of the response table for which a step may record a list of answers, and those for which
#: it may record a whole number
LIST_COLUMNS = ("non_targets",)
WHOLE_COLUMNS = ("set_size", "list_length", "retention_steps", "serial_position", "output_position")
VERDICTS: tuple[Verdict, ...] = ("right", "wrong", "missed")
#: the stimulus that a display may have beside another one, and the duration of a display that is as
#: long as it
SOUND = "sound"
#: by so many ms a sound may last longer than its display, whose duration is rounded to refreshes
#: anyway
_LONGER_MS = 1.0

#: gives the random stream of a duration that is drawn
Streams = Callable[[str], np.random.RandomState]


class DisplaySpec:
    """One display in the file."""

    def __init__(self, reader: Reader, value: Any, path: YamlPath, variables: frozenset[str]) -> None:
        self.reader, self.path = reader, path
        self.stimulus: ComponentSpec[Stimulus] | None = None
        self.ms: Template | None = None
        self.uniform: tuple[float, float] | None = None
        self.for_machines = False
        self.always: Display | None = None  # what it is in every trial, once it has been built
        self.sound: ComponentSpec[Stimulus] | None = None  # beside another stimulus
        self.as_long_as_sound = False
        self.has_sound = isinstance(value, dict) and SOUND in value
        if isinstance(value, dict) and self.has_sound and any(key != SOUND and key in STIMULI for key in value):
            self.sound = ComponentSpec(reader, STIMULI.get(SOUND), value[SOUND], (*path, SOUND), variables)
            value = {key: inner for key, inner in value.items() if key != SOUND}
            if "tone" in value:
                reader.report(
                    (*path, "tone"),
                    "a display has one sound: leave out 'tone' or 'sound', or show one display after another",
                )
        read = read_component(reader, STIMULI, value, path, variables, DISPLAY_KEYS)
        if read is None:
            return
        self.stimulus, beside = read
        if "for_machines" in beside:
            self.for_machines = beside["for_machines"]
            if not isinstance(self.for_machines, bool):
                reader.report((*path, "for_machines"), f"expected true or false; found {show(self.for_machines)}")
        self._read_ms(beside.get("ms"), (*path, "ms"), variables)

    @property
    def timed(self) -> bool:
        """True if the display has a duration of its own."""
        return self.ms is not None or self.uniform is not None or self.as_long_as_sound

    def _read_ms(self, value: Any, path: YamlPath, variables: frozenset[str]) -> None:
        if value is None or value == "none":
            return
        if value == SOUND:
            self.as_long_as_sound = True
            if not self.has_sound:
                self.reader.report(
                    path,
                    "'ms: sound' is as long as the sound of the display, which has none: add 'sound', or a number",
                )
            return
        if isinstance(value, dict):
            bounds = value.get("uniform")
            good = (
                set(value) == {"uniform"}
                and isinstance(bounds, list)
                and len(bounds) == 2
                and all(_is_ms(bound) for bound in bounds)
            )
            if not good or bounds is None or bounds[0] > bounds[1]:
                self.reader.report(path, f"expected {{uniform: [shortest, longest]}} in ms; found {show(value)}")
                return
            self.uniform = (float(bounds[0]), float(bounds[1]))
            return
        self.ms = self.reader.template(value, path, variables)
        if self.ms.constant and not _is_ms(value):
            self.reader.report(path, f"expected a duration in ms above 0; found {show(value)}")

    def build(self, env: Environment, streams: Streams) -> Display:
        assert self.stimulus is not None
        if self.always is not None:
            return self.always
        ms: float | None = None
        if self.uniform is not None:
            low, high = self.uniform
            ms = round(low + (high - low) * float(streams(f"ms:{'/'.join(map(str, self.path))}").random_sample()), 3)
        elif self.ms is not None:
            ms = self.reader.fill(self.ms, (*self.path, "ms"), env)
            if ms is not None and not _is_ms(ms):
                raise ParadigmError(
                    [
                        self.reader.document.problem(
                            (*self.path, "ms"), f"expected a duration in ms above 0; found {show(ms)}"
                        )
                    ]
                )
            ms = None if ms is None else float(ms)
        stimulus = self._bound(self.stimulus.build(env))
        if self.sound is not None:
            sound = self._bound(self.sound.build(env))
            assert isinstance(sound, ShownSound)
            stimulus = sound.model_copy(update={"visual": stimulus})
        if isinstance(stimulus, ShownSound):
            ms = self._with_sound(stimulus, ms)
        display = Display(stimulus, ms, self.for_machines)
        if all(spec is None or spec.constant for spec in (self.stimulus, self.sound, self.ms)) and self.uniform is None:
            self.always = display
        return display

    def _bound(self, stimulus: Stimulus) -> Stimulus:
        try:
            return stimulus.bound(self.reader.files)
        except ValueError as error:
            raise ParadigmError([self.reader.document.problem((*self.path, stimulus.name), str(error))]) from None

    def _with_sound(self, sound: ShownSound, ms: float | None) -> float | None:
        """The duration of a display with a sound, which is never cut off by it."""
        if self.as_long_as_sound:
            return round(sound.ms, 3)
        if ms is not None and sound.ms > ms + _LONGER_MS:
            why = (
                f"the sound lasts {sound.ms:,.0f} ms and would be cut off after {ms:,.0f} ms: make the display longer"
                " (ms: sound), or cut the sound"
            )
            raise ParadigmError([self.reader.document.problem((*self.path, "ms"), why)])
        return ms


class AskSpec:
    """The question in the file."""

    def __init__(self, reader: Reader, value: Any, path: YamlPath, variables: frozenset[str]) -> None:
        self.reader, self.path = reader, path
        self.kind: ComponentSpec[ResponseKind] | None = None
        read = read_component(reader, RESPONSES, value, path, variables, ASK_KEYS)
        if read is None:
            return
        self.kind, beside = read
        self.counted = beside.get("score", True)
        if not isinstance(self.counted, bool):
            reader.report((*path, "score"), f"expected true or false; found {show(self.counted)}")
        self.settings = {
            key: beside[key] for key in beside if key in ("ends", "counts", "late") and beside[key] is not None
        }
        for key, allowed in (
            ("ends", ("on_answer", "on_time")),
            ("counts", ("first", "last")),
            ("late", ("record", "ignore")),
        ):
            if key in self.settings and beside[key] not in allowed:
                reader.report(
                    (*path, key),
                    f"expected {' or '.join(allowed)}; found {show(beside[key])}{nearest(beside[key], allowed)}",
                )
        # an order that is drawn would tell where the items of the right answer stood
        orders = as_object(as_object(value).get("sequence")).get("positions")
        reader.template(orders, (*path, "sequence", "positions"), reader.public(variables))
        if not self.kind.cls.scored and beside.get("answer") is not None:
            reader.report((*path, "answer"), f"a {self.kind.cls.name} has no correct answer: leave out 'answer'")
        elif self.kind.cls.scored and beside.get("answer") is None:
            reader.report(path, "'answer' is missing: the correct answer, for scoring (agents never see it)")
        templates = {
            key: reader.template(beside[key], (*path, key), variables)
            for key in ("answer", "window_ms", "no_answer_means", "chance", "blind", "classes")
            if beside.get(key) is not None
        }
        self.constant = {key: template({}) for key, template in templates.items() if template.constant}
        self.varying = [(key, template, (*path, key)) for key, template in templates.items() if not template.constant]
        self.self_paced = "window_ms" in beside and beside["window_ms"] in (None, "none")
        self.prompt = QuestionText.read(
            reader,
            beside.get("prompt"),
            (*path, "prompt"),
            reader.public(variables),
            ("ordinal", "position"),
            "number" in variables,
        )
        self.why = QuestionText.read(
            reader,
            beside.get("why"),
            (*path, "why"),
            variables,
            ("ordinal", "position", "answer"),
            "number" in variables,
        )
        self.frames, self.way = (
            reader.template(beside.get(key, []), (*path, key), variables) for key in ("frames", "way")
        )
        self.compare = reader.template(beside.get("compare", 0), (*path, "compare"), variables)

    @property
    def scored(self) -> bool:
        """True if there is a correct answer, and it counts."""
        return self.kind is None or (self.kind.cls.scored and self.counted)

    def answer(self, env: Environment) -> Any:
        """The correct answer alone, as it stands in the record; not looked at."""
        value = self.constant.get("answer")
        for key, template, path in self.varying:
            if key == "answer":
                value = self.reader.fill(template, path, env)
        return as_tuple(value)

    def reason(self, env: Environment) -> Reason:
        """Return the reason why the answer is right, for a worked example; empty where the file
        gives none."""
        text = self.why and self.why.prompt(env)
        frames = self._numbers("frames", self.frames, env, 4, "areas, each as [x0, y0, x1, y1]")
        way = self._numbers("way", self.way, env, 2, "points, each as [x, y]")
        compare = self.reader.fill(self.compare, (*self.path, "compare"), env)
        if type(compare) is not int or compare < 0:
            raise self._wrong("compare", f"expected a whole number from 0; found {show(compare)}")
        return Reason(
            text, tuple((x0, y0, x1, y1) for x0, y0, x1, y1 in frames), tuple((x, y) for x, y in way), compare
        )

    def _numbers(self, key: str, template: Template, env: Environment, many: int, what: str) -> list[list[float]]:
        """Return what a file gives as a list of places on the canvas, each of so many numbers."""
        given = self.reader.fill(template, (*self.path, key), env)
        if not isinstance(given, list) or not all(
            isinstance(place, list) and len(place) == many and all(map(is_number, place)) for place in given
        ):
            raise self._wrong(key, f"expected a list of {what}; found {show(given)}")
        return given

    def build(self, env: Environment, displays: tuple[Display, ...]) -> tuple[Ask, Truth]:
        assert self.kind is not None
        kind = self.kind.build(env)
        value = dict(self.constant)
        for key, template, path in self.varying:
            value[key] = self.reader.fill(template, path, env)
        answer = self._answer(kind, value.get("answer"), "answer") if kind.scored else None
        silence = (
            None
            if value.get("no_answer_means") is None
            else self._answer(kind, value["no_answer_means"], "no_answer_means")
        )
        total = _total(displays)
        window = None if self.self_paced else value.get("window_ms", total)
        if window is not None and not _is_ms(window):
            raise self._wrong("window_ms", f"expected a duration in ms above 0; found {show(window)}")
        chance = self._probability(value, "chance", kind.chance()) if kind.scored else None
        blind = None if chance is None else self._probability(value, "blind", chance)
        if self.settings.get("ends") == "on_time" and total is None:
            raise self._wrong("ends", "a step that ends on time needs ms on every display")
        ask = Ask(
            kind,
            window_ms=None if window is None else float(window),
            no_answer_means=silence,
            classes=self._classes(value.get("classes")),
            prompt=self.prompt and self.prompt.prompt(env),
            scored=self.counted,
            **cast(dict[str, Any], self.settings),
        )
        return ask, Truth(answer=answer, chance=chance, blind=blind)

    def _probability(self, value: dict[str, Any], key: str, usual: float) -> float:
        probability = value.get(key, usual)
        if isinstance(probability, bool) or not isinstance(probability, (int, float)) or not 0 <= probability <= 1:
            raise self._wrong(key, f"expected a probability; found {show(probability)}")
        return float(probability)

    def _classes(self, value: Any) -> tuple[int, ...] | None:
        if value is None:
            return None
        if (
            not isinstance(value, list)
            or not all(is_whole(number) and number >= 0 for number in value)
            or len(set(value)) < len(value)
        ):
            raise self._wrong(
                "classes", f"expected different whole numbers from 0, one for each allowed answer; found {show(value)}"
            )
        return tuple(value)

    def _answer(self, kind: ResponseKind, value: Any, key: str) -> Any:
        answer = as_tuple(value)
        if not kind.allows(answer):
            raise self._wrong(
                key, f"{show(value)} is not an answer that can be given to '{kind.name}' (positions count from 0)"
            )
        return answer

    def _wrong(self, key: str, message: str) -> ParadigmError:
        return ParadigmError([self.reader.document.problem((*self.path, key), message)])


class Node(ABC):
    """A node of the timeline: a step, a sequence, a loop or a condition."""

    @abstractmethod
    def unroll(self, env: dict[str, Any]) -> Iterator[tuple[StepSpec, dict[str, Any]]]:
        """The steps in order, each with the names that hold for it."""

    @abstractmethod
    def steps(self) -> Iterator[StepSpec]:
        """Every step as it stands in the file, once, whether it happens or not."""


class StepSpec(Node):
    """One step in the file."""

    def __init__(self, reader: Reader, value: dict[str, Any], path: YamlPath, variables: frozenset[str]) -> None:
        self.reader, self.path = reader, path
        self.phase = value.get("phase", "")
        if not isinstance(self.phase, str) or not self.phase.isidentifier():
            reader.report(
                (*path, "phase") if "phase" in value else path,
                f"expected 'phase' with one word such as present or probe; found {show(value.get('phase'))}",
            )
        self.model_step = value.get("model_steps", 1) != 0
        if value.get("model_steps", 1) not in (0, 1) or isinstance(value.get("model_steps"), bool):
            reader.report(
                (*path, "model_steps"),
                f"expected 0 (people only) or 1; found {show(value['model_steps'])}. A step that lasts longer is"
                " written with 'repeat'",
            )
        self.displays: list[DisplaySpec] = []
        self.feedback: dict[Verdict, list[DisplaySpec]] | None = None
        self.ask: AskSpec | None = None
        if "feedback" in value:
            self._read_feedback(value, path)
        elif "show" not in value:
            reader.report(path, "'show' is missing: what is on the screen (blank: {} for nothing)")
        else:
            self.displays = self._read_displays(value["show"], (*path, "show"), variables)
        if value.get("ask") is not None:
            self.ask = AskSpec(reader, value["ask"], (*path, "ask"), variables)
            if not self.model_step:
                reader.report((*path, "ask"), "a step with model_steps: 0 is for people only, so it cannot ask")
            if "feedback" in value:
                reader.report((*path, "ask"), "a feedback step cannot ask")
        self.record_path = (*path, "record")
        self.record = self._read_record(value.get("record"), self.record_path, variables)
        #: names of what it records in a row of the table, which only questions have
        self.recorded = tuple(value["record"]) if self.record is not None and self.ask is not None else ()
        #: about what building the step costs, in values touched
        self.cost = 20 + 30 * sum(len(displays) for displays in (self.displays, *(self.feedback or {}).values()))

    def unroll(self, env: dict[str, Any]) -> Iterator[tuple[StepSpec, dict[str, Any]]]:
        yield self, env

    def steps(self) -> Iterator[StepSpec]:
        yield self

    def _read_record(self, value: Any, path: YamlPath, variables: frozenset[str]) -> Template | None:
        if value is None:
            return None
        if not isinstance(value, dict) or not all(is_name(key) for key in value):
            self.reader.report(
                path, f"expected names with values, such as {{serial_position: =number}}; found {show(value)}"
            )
            return None
        for key, inner in value.items():
            wrong = None if is_expression(inner) else _unrecordable(key, inner)
            if wrong is not None:
                self.reader.report((*path, key), wrong)
        return self.reader.template(value, path, variables)

    def _recorded(self, env: Environment) -> dict[str, Any]:
        if self.record is None:
            return {}
        record = self.reader.fill(self.record, self.record_path, env)
        for name, value in record.items():
            wrong = _unrecordable(name, value)
            if wrong is not None:
                raise ParadigmError([self.reader.document.problem((*self.record_path, name), wrong)])
        return record

    def _read_displays(self, value: Any, path: YamlPath, variables: frozenset[str]) -> list[DisplaySpec]:
        if isinstance(value, list):
            if not 1 <= len(value) <= MAX_DISPLAYS:
                self.reader.report(path, f"expected from 1 to {MAX_DISPLAYS} displays; found {len(value)}")
            displays = [
                DisplaySpec(self.reader, entry, (*path, n), variables) for n, entry in enumerate(value[:MAX_DISPLAYS])
            ]
        else:
            displays = [DisplaySpec(self.reader, value, path, variables)]
        for n, display in enumerate(displays[:-1]):
            if not display.timed and display.stimulus is not None:
                self.reader.report((*path, n), "only the last display of a step may be without ms")
        if sum(display.for_machines is True for display in displays) > 1:
            self.reader.report(path, "only one display of a step may be for machines")
        return displays

    def _read_feedback(self, value: dict[str, Any], path: YamlPath) -> None:
        if "show" in value:
            self.reader.report((*path, "show"), "a feedback step has no 'show' beside its 'feedback'")
        outcomes = self.reader.mapping(value["feedback"], (*path, "feedback"), VERDICTS)
        if outcomes is None:
            return
        # No expressions here: feedback may say whether the answer was right, and nothing else.
        self.feedback = {}
        for verdict in VERDICTS:
            source = "wrong" if verdict == "missed" and verdict not in outcomes else verdict
            if source not in outcomes:
                self.reader.report((*path, "feedback"), f"'{verdict}' is missing")
                continue
            where = (*path, "feedback", source)
            if not Template(outcomes[source], lambda *_: None).constant:
                self.reader.report(
                    where, "feedback takes no expressions: it may reveal whether the answer was right, and nothing else"
                )
                continue
            self.feedback[verdict] = self._read_displays(outcomes[source], where, frozenset())

    def build(
        self, index: int, env: Environment, streams: Streams, asked_before: bool, levels: Mapping[str, Any]
    ) -> Step:
        """The compiled step; ``levels`` are the factor levels of the trial, for the truth.

        Raises
        ------
        ParadigmError
            when an expression or a component cannot be filled in.
        """
        record = self._recorded(env)
        if self.feedback is not None:
            if not asked_before:
                raise ParadigmError(
                    [
                        self.reader.document.problem(
                            (*self.path, "feedback"), "there is no answer before this step to give feedback on"
                        )
                    ]
                )
            percepts: dict[Verdict, Percept] = {
                verdict: Percept(
                    self.phase, tuple(display.build(env, streams) for display in displays), None, self.model_step
                )
                for verdict, displays in self.feedback.items()
            }
            return Step(index, percepts["missed"], Truth(record=record, levels=levels), percepts)
        displays = tuple(display.build(env, streams) for display in self.displays)
        if self.ask is None:
            return Step(
                index, Percept(self.phase, displays, None, self.model_step), Truth(record=record, levels=levels)
            )
        ask, truth = self.ask.build(env, displays)
        return Step(
            index,
            Percept(self.phase, displays, ask, self.model_step),
            Truth(truth.answer, record, truth.chance, levels, truth.blind),
        )


def _unrecordable(name: str, value: Any) -> str | None:
    """Why a value does not fit the response table: a cell holds one value, and some columns hold
    whole numbers."""
    if name in WHOLE_COLUMNS and value is not None and not is_whole(value):
        return f"{name} is a whole number; found {show(value)}"
    if name in LIST_COLUMNS:
        plain = isinstance(value, list) and all(
            isinstance(one, (int, float, str)) and not isinstance(one, bool) for one in value
        )
        return None if plain or value is None else f"{name} is a list of answers; found {show(value)}"
    if isinstance(value, (list, tuple, dict)):
        return f"one number, word, true, false or null fits into the response table; found {show(value)}"
    return None


def _is_ms(value: Any) -> bool:
    return is_number(value) and 0 < value <= 86_400_000


def _total(displays: tuple[Display, ...]) -> float | None:
    total = 0.0
    for display in displays:
        if display.ms is None:
            return None
        total += display.ms
    return total


#: keys that are looked for beside a part of a step, and stand within it
_WITHIN: dict[str, Mapping[str, str]] = {"show": DISPLAY_KEYS, "ask": ASK_KEYS}
FLOW_KEYS = ("for", "when", "else", "repeat", "do")

_NAME = r"[A-Za-z][A-Za-z0-9_]*"
_FOR = re.compile(rf"\s*(?P<names>{_NAME}|\(\s*{_NAME}(\s*,\s*{_NAME})+\s*\))\s+in\s+(?P<list>\S.*)", re.DOTALL)


_COUNT = f"a whole number from 0 to {MAX_STEPS}"


def _is_count(times: Any) -> bool:
    return is_whole(times) and 0 <= times <= MAX_STEPS


class NodeList(Node):
    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes

    def unroll(self, env: dict[str, Any]) -> Iterator[tuple[StepSpec, dict[str, Any]]]:
        for node in self.nodes:
            yield from node.unroll(env)

    def steps(self) -> Iterator[StepSpec]:
        for node in self.nodes:
            yield from node.steps()


class For(Node):
    """``for: item in list``, ``for: (a, b) in zip(x, y)``, or without names, ``repeat: 3``."""

    def __init__(self, reader: Reader, path: YamlPath, names: tuple[str, ...], items: Template, body: Node) -> None:
        self.reader, self.path, self.names, self.items, self.body = reader, path, names, items, body

    def unroll(self, env: dict[str, Any]) -> Iterator[tuple[StepSpec, dict[str, Any]]]:
        for index, bound in enumerate(self._turns(self.reader.fill(self.items, self.path, env))):
            self.reader.spend(len(env), self.path)
            yield from self.body.unroll({**env, **bound, "index": index, "number": index + 1})

    def _turns(self, items: Any) -> Iterator[dict[str, Any]]:
        """What the names stand for in each turn."""
        if not self.names:
            if not _is_count(items):
                raise self._wrong(f"expected {_COUNT}; found {show(items)}")
            yield from ({} for _ in range(items))
            return
        if not isinstance(items, list):
            raise self._wrong(f"expected a list to loop over; found {show(items)}")
        for number, item in enumerate(items, start=1):
            values = [item] if len(self.names) == 1 else item
            if not isinstance(values, list) or len(values) != len(self.names):
                raise self._wrong(
                    f"expected {len(self.names)} values for ({', '.join(self.names)}); found {show(item)}"
                )
            yield {**dict(zip(self.names, values, strict=True)), f"{self.names[0]}_number": number}

    def steps(self) -> Iterator[StepSpec]:
        return self.body.steps()

    def _wrong(self, message: str) -> ParadigmError:
        return ParadigmError([self.reader.document.problem(self.path, message)])


class When(Node):
    """``when: =condition`` with an optional ``else``."""

    def __init__(self, reader: Reader, path: YamlPath, test: Template, body: Node, otherwise: Node | None) -> None:
        self.reader, self.path, self.test, self.body, self.otherwise = reader, path, test, body, otherwise

    def unroll(self, env: dict[str, Any]) -> Iterator[tuple[StepSpec, dict[str, Any]]]:
        holds = self.reader.fill(self.test, self.path, env)
        if isinstance(holds, str):  # also "no" is a text, and would hold
            raise ParadigmError(
                [self.reader.document.problem(self.path, f"expected true or false; found {show(holds)}")]
            )
        if (chosen := self.body if holds else self.otherwise) is not None:
            yield from chosen.unroll(env)

    def steps(self) -> Iterator[StepSpec]:
        yield from self.body.steps()
        if self.otherwise is not None:
            yield from self.otherwise.steps()


def read_timeline(reader: Reader, value: Any, path: YamlPath, variables: frozenset[str]) -> Node:
    """Read a list of steps and flow items; ``variables`` are the names that exist there."""
    if not isinstance(value, list) or not value:
        reader.report(path, f"expected a list of steps; found {show(value)}")
        return NodeList([])
    return NodeList([_read_item(reader, item, (*path, n), variables) for n, item in enumerate(value)])


def _read_item(reader: Reader, value: Any, path: YamlPath, variables: frozenset[str]) -> Node:
    if not isinstance(value, dict):
        reader.report(
            path, f"expected a step (phase, show, ask ...) or flow ({', '.join(FLOW_KEYS)}); found {show(value)}"
        )
        return NodeList([])
    for key in value:
        if key not in FLOW_KEYS and key not in STEP_KEYS:
            within = next((part for part, keys in _WITHIN.items() if key in keys), "")
            way = f": it stands within '{within}'" if within else nearest(key, (*FLOW_KEYS, *STEP_KEYS))
            reader.report((*path, key), f"unknown key '{key}'{way}")
    inner = variables
    names: tuple[str, ...] = ()
    items = None
    if "for" in value:
        names, items = _read_for(reader, value["for"], (*path, "for"), variables)
        inner = variables | {*names, *COUNTERS, *(f"{name}_number" for name in names[:1])}
    test = (
        reader.template(_condition(reader, value["when"], (*path, "when")), (*path, "when"), inner)
        if "when" in value
        else None
    )
    otherwise = None
    if "else" in value:
        if test is None:
            reader.report((*path, "else"), "'else' needs a 'when' beside it")
        otherwise = read_timeline(reader, value["else"], (*path, "else"), inner)
    times = None
    if "repeat" in value:
        times = reader.template(value["repeat"], (*path, "repeat"), inner)
        if times.constant and not _is_count(value["repeat"]):
            reader.report((*path, "repeat"), f"expected {_COUNT}, or an expression; found {show(value['repeat'])}")
        inner = inner | {*COUNTERS}
    node = _read_body(reader, value, path, inner)
    if times is not None:
        node = For(reader, (*path, "repeat"), (), times, node)
    if test is not None:
        node = When(reader, (*path, "when"), test, node, otherwise)
    if items is not None:
        node = For(reader, (*path, "for"), names, items, node)
    return node


def _read_body(reader: Reader, value: dict[str, Any], path: YamlPath, variables: frozenset[str]) -> Node:
    step_keys = [key for key in value if key in STEP_KEYS]
    if "do" not in value:
        if not step_keys and any(key in value for key in FLOW_KEYS):
            reader.report(path, "nothing happens here: add 'do' with steps, or 'phase' and 'show'")
            return NodeList([])
        return StepSpec(reader, {key: value[key] for key in step_keys}, path, variables)
    if step_keys:
        reader.report(path, f"'do' already says what happens; move {', '.join(step_keys)} into a step below it")
    return read_timeline(reader, value["do"], (*path, "do"), variables)


def _read_for(
    reader: Reader, value: Any, path: YamlPath, variables: frozenset[str]
) -> tuple[tuple[str, ...], Template | None]:
    match = _FOR.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        reader.report(path, f"expected 'item in list' or '(a, b) in zip(x, y)'; found {show(value)}")
        return (), None
    names = tuple(re.findall(_NAME, match["names"]))
    for name in names:
        if (
            name in variables
            or name in COUNTERS
            or name in FUNCTIONS
            or name in LITERALS
            or iskeyword(name)
            or names.count(name) > 1
            or (name == names[0] and f"{name}_number" in variables)
        ):
            reader.report(path, f"the name '{name}' is taken, or '{name}_number'; choose another for this loop")
    return names, reader.template("=" + match["list"].removeprefix("="), path, variables)


def _condition(reader: Reader, value: Any, path: YamlPath) -> Any:
    if not is_expression(value) and not isinstance(value, bool):
        reader.report(path, f'expected an expression such as "=distractors > 0"; found {show(value)}')
    return value
