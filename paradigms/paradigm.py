"""A paradigm: a validated YAML file, ready to be compiled into trials."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from keyword import iskeyword
from pathlib import Path
from typing import Any, Literal

from ..core.errors import ParadigmError, Problem, SpanLabError
from ..core.json_values import LimitError, as_object, in_a_list, is_whole, weigh
from ..core.registry import nearest
from .identity import canonical, digest
from .language.component_spec import COUNTERS, ComponentSpec, Reader, read_component
from .language.diagnostics import in_order, listed, show
from .language.expressions import FUNCTIONS, LITERALS, Template, is_expression, is_name
from .language.own_files import find_files, recorded_files, with_files, with_table
from .language.schema import (
    ANSWER,
    MAX_DRAWS,
    Adaptive,
    DatasetDesign,
    Example,
    Head,
    Practice,
    Quiz,
    RandomFactor,
    SessionDesign,
    Source,
    written,
)
from .language.timeline import Node, read_timeline
from .language.yaml_source import Document, YamlPath, levels_of, locate, resolve, titled
from .network_view import NetworkView
from .samplers import SAMPLERS, Sampler
from .translation import mistranslated
from .trial import Trial
from .triggers import Triggers, misplaced

Generator = Literal["corrected", "published"]
GENERATORS: tuple[Generator, ...] = ("corrected", "published")
#: draws by name, as plain values
Draws = Mapping[str, Any]
#: combinations of the levels of crossed factors
MAX_COMBINATIONS = 100_000
#: factors that are columns of the record by themselves
COLUMN_FACTORS = ("set_size", "list_length", "retention_steps")
#: in instructions: whether it is a person who reads them
FOR_PEOPLE = "for_people"
_RESERVED = (*COUNTERS, "generator", FOR_PEOPLE, *FUNCTIONS, *LITERALS)


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor with its levels; ``crossed`` with the others, or drawn at ``random`` for each trial.
    The levels of a crossed factor come equally often, or in the proportions of their ``weights``."""

    levels: tuple[Any, ...]
    mode: Literal["crossed", "random"]
    weights: tuple[int, ...] = ()

    @classmethod
    def read(cls, value: list[Any] | dict[str, int] | RandomFactor) -> Factor:
        """The factor of a validated file."""
        if isinstance(value, RandomFactor):
            return cls(tuple(value.random), "random")
        return cls(tuple(levels_of(value)), "crossed", tuple(as_object(value).values()))


@dataclass(frozen=True, slots=True)
class Draw:
    """One named draw: a sampler, or an expression over what was drawn before."""

    name: str
    sampler: ComponentSpec[Sampler] | None
    value: Template | None

    @property
    def is_random(self) -> bool:
        """True if it needs a stream; expressions, lists and arrangements follow from what was drawn
        before."""
        return self.sampler is not None and not self.sampler.cls.arranges


class GivenDrawError(SpanLabError):
    """Raised for a draw that was given and does not fit its paradigm.

    Parameters
    ----------
    paradigm, draw : their names
    why : what was expected and found
    """

    def __init__(self, paradigm: str, draw: str, why: str) -> None:
        self.draw, self.why = draw, why
        super().__init__(f"{paradigm}: the draw '{draw}' that was given: {why}")


@dataclass(frozen=True, slots=True, repr=False)
class Paradigm:
    """A paradigm, validated.

    ``hash`` covers the whole file (after ``extends``), so that a session knows whether its paradigm
    changed. ``data`` is the plain content of the file, from which the paradigm can be rebuilt
    (:func:`paradigm_from_data`). ``compiled`` are the trials that were compiled last, each with the draws
    that were given for it.
    """

    name: str
    version: int
    titles: Mapping[str, str]
    hash: str
    data: Mapping[str, Any]
    factors: Mapping[str, Factor]
    draws: tuple[Draw, ...]
    timeline: Node
    instructions: Mapping[str, Template]
    translations: Mapping[str, Mapping[str, str]]
    family: str | None
    source: Source
    domains: tuple[str, ...]
    functions: tuple[str, ...]
    characteristics: tuple[str, ...]
    network: NetworkView | None
    task: Template | None
    practice: Practice | None
    example: Example | None
    questionnaire: bool
    quiz: Quiz | None
    triggers: Triggers | None
    designs: Mapping[str, SessionDesign | DatasetDesign]
    set_size: Template | None
    list_length: Template | None
    reader: Reader = field(compare=False)
    compiled: dict[Hashable, tuple[Any, Trial]] = field(default_factory=dict, compare=False)

    @property
    def title(self) -> str:
        """The title in English, or in the first language that there is."""
        return titled(self.titles)

    def titled(self, language: str) -> str:
        """The title in a language (:func:`.yaml_source.titled`)."""
        return titled(self.titles, language)

    @property
    def is_questionnaire(self) -> bool:
        """True if it tests no memory: no example is shown, pages speak of questions and not of
        trials, and a pause cuts nothing off."""
        return self.questionnaire or self.quiz is not None

    def __repr__(self) -> str:
        return f"Paradigm({self.name!r}, version={self.version}, hash={self.hash!r})"

    def combinations(self, restrict: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Every combination of the levels of the crossed factors, in the order of the file.

        Parameters
        ----------
        restrict : levels to use for some factors: one level or a list of them

        Raises
        ------
        SpanLabError
            for an unknown factor or level, and where no level of a factor is given.
        """
        chosen: dict[str, list[Any]] = {}
        for name, value in (restrict or {}).items():
            levels = in_a_list(value)
            if not levels and name in self.factors:
                raise SpanLabError(
                    f"{self.name}: no level of {name} is given; its levels are {listed(self.factors[name].levels)}"
                )
            chosen[name] = [self.level(name, level) for level in levels or [None]]
        crossed = {
            name: chosen.get(name, factor.levels)
            for name, factor in self.factors.items()
            if factor.mode == "crossed" or name in chosen
        }
        if math.prod(len(levels) for levels in crossed.values()) > MAX_COMBINATIONS:
            raise SpanLabError(
                f"{self.name}: more than {MAX_COMBINATIONS} combinations of factor levels; choose some levels, or make"
                " some factors random"
            )
        return [dict(zip(crossed, levels, strict=True)) for levels in itertools.product(*crossed.values())]

    def weights(self, combinations: Sequence[Mapping[str, Any]]) -> list[int]:
        """How often each combination of levels comes, in the smallest whole numbers with the file's
        proportions: all 1 where no factor has weights."""
        weighted = {
            name: dict(zip(factor.levels, factor.weights, strict=True))
            for name, factor in self.factors.items()
            if factor.weights
        }
        weights = [
            math.prod(of_level[levels[name]] for name, of_level in weighted.items() if name in levels)
            for levels in combinations
        ]
        common = math.gcd(*weights)
        return [weight // common for weight in weights]

    def instructions_in(self, language: str, levels: Mapping[str, Any], for_people: bool = False) -> str:
        """The instructions in a language, for the levels of a trial, as machines or people read
        them."""
        template = self.instructions[language]
        return str(self.reader.fill(template, ("instructions", language), {**levels, FOR_PEOPLE: for_people}))

    def network_view(self, levels: Mapping[str, Any]) -> NetworkView | None:
        """Return the network's view of trials with these levels; None if there is nothing for
        networks."""
        if self.network is None or self.task is None:
            return None
        task = self.reader.fill(self.task, ("network", "task"), levels)
        return self.network.model_copy(update={"task": task, "head_name": self.network.shared_head})

    def level(self, name: str, level: Any) -> Any:
        """The level as the file writes it (5 for 5.0), when it is one of the factor's.

        Raises
        ------
        SpanLabError
            for an unknown factor or level.
        """
        if name not in self.factors:
            hint = f"; its factors are {listed(self.factors)}" if self.factors else "; it has no factors"
            raise SpanLabError(f"{self.name} has no factor '{name}'{nearest(name, self.factors) or hint}")
        factor_level = same_level(level, self.factors[name].levels)
        if factor_level is None:
            raise SpanLabError(
                f"{self.name}: {name} cannot be {show(level)}; its levels are {listed(self.factors[name].levels)}"
            )
        return factor_level

    def given(self, draws: Draws) -> dict[str, Any]:
        """Draws that somebody else has made, as values of the compiler's own.

        Raises
        ------
        SpanLabError
            for an unknown name, or a value that is not plain.
        """
        names = [draw.name for draw in self.draws]
        copies: dict[str, Any] = {}
        for name, value in draws.items():
            if name not in names:
                hint = f"; there are {listed(names)}" if names else "; it draws nothing"
                raise SpanLabError(f"{self.name} has no draw '{name}'{nearest(name, names) or hint}")
            try:
                weigh(value)
            except LimitError as error:
                raise GivenDrawError(self.name, name, str(error)) from None
            copies[name] = json.loads(canonical(value))
        return copies


def same_level(level: Any, levels: Iterable[Any]) -> Any:
    """The one of some levels that is equal to ``level`` (true is not 1), or None; no level is None."""
    return next(
        (other for other in levels if level == other and isinstance(level, bool) == isinstance(other, bool)), None
    )


def load_paradigm(source: str | Path) -> Paradigm:
    """Load a paradigm by its name in the library, or from a YAML file.

    Parameters
    ----------
    source : the name, or the file

    Returns
    -------
    the paradigm: :func:`compile_trial` makes trials of it

    Raises
    ------
    ParadigmError
        with everything that is wrong with the file.
    SpanLabError
        when there is no such paradigm or file.

    Examples
    --------
    >>> list(spanlab.load_paradigm("vsr").factors)
    ['list_length']
    """
    return build_paradigm(resolve(locate(source)))


def paradigm_from_data(data: Mapping[str, Any], name: str) -> Paradigm:
    """Rebuild a paradigm from the plain content of its file (``Paradigm.data``), as a session's
    record keeps it."""
    return build_paradigm(Document(dict(data), {}, name))


def build_paradigm(document: Document) -> Paradigm:
    """Validate a document and build the paradigm.

    Raises
    ------
    ParadigmError
        with everything that is wrong, at once.
    """
    problems: list[Problem] = []
    reader = Reader(document, problems)
    data = document.data
    if not isinstance(data, dict):
        raise ParadigmError(
            [
                document.problem(
                    (), f"expected a paradigm (keys with values, beginning with 'paradigm: NAME'); found {show(data)}"
                )
            ]
        )
    if "study" in data and not data.keys() & {"paradigm", "extends", "timeline"}:
        raise ParadigmError(
            [
                document.problem(
                    ("study",), "this is a study; a paradigm is needed here, such as one of those that the study names"
                )
            ]
        )
    if document.folder is not None:
        data = with_table(data, document.folder, reader.report)
        if problems:  # whatever uses its columns would be wrong, too
            raise ParadigmError(problems)
    reader.files = recorded_files(data) if document.folder is None else find_files(data, document.folder, reader.report)
    data = with_files(data, reader.files)
    head = reader.validated(Head, data)
    raw_factors: dict[Any, Any] = as_object(data.get("factors"))
    variables = set(raw_factors) | {"generator"}
    reader.factors = frozenset(raw_factors)
    for name, levels in raw_factors.items():
        _check_name(reader, ("factors", name), name, set())
        for n, level in enumerate(levels_of(levels)):
            if name in COLUMN_FACTORS and not is_whole(level):
                reader.report(("factors", name, n), f"the levels of {name} are whole numbers; found {show(level)}")
    draws = _read_draws(reader, data.get("draw"), variables)
    names = frozenset(variables)
    timeline = read_timeline(reader, data["timeline"], ("timeline",), names) if "timeline" in data else None
    sizes = {key: _read_size(reader, data, key, names) for key in ("set_size", "list_length")}
    of_levels = frozenset(raw_factors)
    instructions = {
        language: reader.template(text, ("instructions", language), of_levels | {FOR_PEOPLE})
        for language, text in as_object(data.get("instructions")).items()
        if isinstance(text, str)
    }
    task = None
    if isinstance(head, Head) and head.network is not None:
        named = head.network.task
        task = reader.template(f"{{{named}}}" if is_expression(named) else named, ("network", "task"), of_levels)
    if head is not None:
        steps = [] if timeline is None else list(timeline.steps())
        asks = (step.phase for step in steps if step.ask is not None and step.ask.scored)
        asking = list(dict.fromkeys(phase for phase in asks if isinstance(phase, str)))
        _check_designs(reader, head, raw_factors, asking)
        known = list(dict.fromkeys([*head.factors, *(name for step in steps for name in step.recorded)]))
        _check_conditions(reader, head, known, asking)
        _check_questionnaire(reader, head, asking)
    if isinstance(head, Head) and head.translations:
        for path, message in mistranslated(document, head.translations, head.instructions):
            reader.report(path, message)
    if isinstance(head, Head) and head.triggers is not None and timeline is not None:
        for path, message in misplaced(head.triggers, timeline):
            reader.report(("triggers", *path), message)
    if problems or head is None or timeline is None:
        raise ParadigmError(in_order(problems))
    assert isinstance(head, Head)
    return Paradigm(
        name=head.paradigm,
        version=head.version,
        titles={"en": head.title} if isinstance(head.title, str) else head.title,
        hash=digest(data),
        data=data,
        factors={name: Factor.read(value) for name, value in head.factors.items()},
        draws=draws,
        timeline=timeline,
        instructions=instructions,
        translations=head.translations,
        family=head.family,
        source=head.source,
        domains=tuple(head.domains),
        functions=tuple(head.functions),
        characteristics=tuple(head.characteristics),
        network=head.network,
        task=task,
        practice=head.practice,
        example=head.example,
        questionnaire=head.questionnaire,
        quiz=head.quiz,
        triggers=head.triggers,
        designs=head.designs,
        set_size=sizes["set_size"],
        list_length=sizes["list_length"],
        reader=reader,
    )


def _check_name(reader: Reader, path: YamlPath, name: Any, names: set[str]) -> None:
    if not is_name(name):
        reader.report(
            path, f"{show(name)} cannot be a name: use letters, digits and underscores, beginning with a letter"
        )
    elif name in _RESERVED or iskeyword(name):
        reader.report(path, f"the name '{name}' is reserved")
    elif name in names:
        reader.report(path, f"the name '{name}' is taken by a factor")


def _read_draws(reader: Reader, value: Any, variables: set[str]) -> tuple[Draw, ...]:
    """Read the draws in order; each may use the ones before it. ``variables`` grows by their names."""
    draws: list[Draw] = []
    for name, inner in itertools.islice(as_object(value).items(), MAX_DRAWS):
        path: YamlPath = ("draw", name)
        _check_name(reader, path, name, variables)
        if is_expression(inner) or isinstance(inner, list):
            draws.append(Draw(name, None, reader.template(inner, path, frozenset(variables))))
        else:
            component = read_component(reader, SAMPLERS, inner, path, frozenset(variables), {})
            if component is not None:
                draws.append(Draw(name, component[0], None))
        variables.add(name)
    return tuple(draws)


def _read_size(reader: Reader, data: Mapping[str, Any], key: str, variables: frozenset[str]) -> Template | None:
    value = data.get(key)
    if value is None:
        return None
    if not is_expression(value) and (isinstance(value, bool) or not isinstance(value, int)):
        reader.report((key,), f"expected a whole number or an expression; found {show(value)}")
    return reader.template(value, (key,), variables)


def _check_designs(reader: Reader, head: Any, factors: Mapping[str, Any], asking: Sequence[str]) -> None:
    def levels(path: YamlPath, chosen: Mapping[str, Any]) -> None:
        for name, value in chosen.items():
            if name not in factors:
                reader.report((*path, name), f"there is no factor '{name}'{nearest(name, factors)}")
                continue
            levels_of_factor = levels_of(factors[name])
            for level in in_a_list(value):
                if same_level(level, levels_of_factor) is None:
                    reader.report(
                        (*path, name), f"{show(level)} is not a level of '{name}' ({listed(levels_of_factor)})"
                    )

    if "en" not in head.instructions and head.instructions == {}:
        reader.report(("instructions",), "instructions are missing: at least one language, such as en")
    if head.practice is not None:
        levels(("practice", "factors"), head.practice.factors)
    if head.example is not None:
        levels(("example", "factors"), head.example.factors)
    for name, design in head.designs.items():
        path: YamlPath = ("designs", name)
        levels((*path, "factors"), design.factors)
        levels((*path, "hold_out"), design.hold_out)
        if isinstance(design, SessionDesign) and design.adaptive is not None:
            stair: Adaptive = design.adaptive
            key = "start" if stair.factor in factors else "factor"
            levels((*path, "adaptive", key), {stair.factor: stair.start})
        if isinstance(design, SessionDesign):
            _check_balance(reader, path, design, factors, asking)
        for key in ("blocked_by", "hold_out"):
            chosen = getattr(design, key, [])
            for factor in [chosen] if isinstance(chosen, str) else chosen:
                if factor not in factors:
                    if key != "hold_out":
                        reader.report((*path, key), f"there is no factor '{factor}'{nearest(factor, factors)}")
                elif isinstance(factors[factor], dict) and "random" in factors[factor] and factor not in design.factors:
                    reader.report(
                        (*path, key),
                        f"'{factor}' is drawn at random for each trial; give its levels under 'factors' here to cross"
                        " it with the others",
                    )


def _check_conditions(reader: Reader, head: Any, known: Sequence[str], asking: Sequence[str]) -> None:
    """Check that conditions and effects are of something that trials have; ``known`` are factors and
    recorded values, ``asking`` the phases with scored questions."""

    def check(path: YamlPath, name: str) -> None:
        if name not in known:
            hint = nearest(name, known) or f" ({listed(known) or 'there are none'})"
            reader.report(path, f"'{name}' is neither a factor nor recorded by a step{hint}")

    for n, name in enumerate(head.conditions):
        check(("conditions", n), name)
    for name, effect in head.effects.items():
        path: YamlPath = ("effects", name)
        if not is_name(name):
            reader.report(path, f"{show(name)} cannot be a name: use letters, digits and underscores")
        check((*path, "of"), effect.of)
        if effect.along is not None:
            check((*path, "along"), effect.along)
        if effect.phase is not None and effect.phase not in asking:
            hint = nearest(effect.phase, asking) or f"; these are: {listed(asking)}"
            reader.report((*path, "phase"), f"no question of the phase '{effect.phase}' is scored{hint}")
        factor = head.factors.get(effect.of)
        levels = [] if factor is None else [written(level) for level in Factor.read(factor).levels]
        for level in dict.fromkeys(part for pair in effect.contrast.items() for part in pair):
            if levels and level not in levels:
                reader.report((*path, "contrast"), f"'{level}' is not a level of '{effect.of}' ({listed(levels)})")


def _check_questionnaire(reader: Reader, head: Any, asking: Sequence[str]) -> None:
    """Check that the quiz and the attention checks fit the questions; ``asking`` are the phases
    with questions that have a right answer."""
    for n, phase in enumerate(head.attention_checks):
        if phase not in asking:
            hint = nearest(phase, asking) or (f"; there are {listed(asking)}" if asking else "")
            reader.report(("attention_checks", n), f"no question of the phase '{phase}' has a right answer{hint}")
    if head.questionnaire or head.quiz is not None:
        if head.practice is not None:
            reader.report(
                ("practice",),
                "questionnaires and quizzes have no practice; 'attempts' of 'quiz' says how often a quiz is taken",
            )
        if head.example is not None and head.example.show:
            reader.report(("example",), "questionnaires and quizzes show no example: leave 'example' out")
    if head.quiz is None:
        return
    if not asking:
        reader.report(("quiz",), "no question has a right answer, so there is nothing to pass")
    for name, design in head.designs.items():
        if isinstance(design, SessionDesign) and (
            design.adaptive is not None or design.blocks > 1 or design.blocked_by
        ):
            reader.report(
                ("designs", name), "the blocks of a quiz are its attempts: leave out adaptive, blocks and blocked_by"
            )


def _check_balance(
    reader: Reader, path: YamlPath, design: SessionDesign, factors: Mapping[str, Any], asking: Sequence[str]
) -> None:
    """Check that a design's answers and random factors fit the factors and questions of the
    paradigm; ``asking`` are the phases that ask."""
    for n, name in enumerate(design.balance):
        if name != ANSWER and name not in factors:
            reader.report(
                (*path, "balance", n), f"'{name}' is neither '{ANSWER}' nor a factor{nearest(name, [ANSWER, *factors])}"
            )
        elif name in design.balance[:n]:
            reader.report((*path, "balance", n), f"'{name}' occurs twice")
    if design.question is not None:
        if asking and design.question not in asking:
            reader.report(
                (*path, "question"),
                f"no step of the phase '{design.question}'"
                f" asks{nearest(design.question, asking) or '; these do: ' + listed(asking)}",
            )
    elif design.of_answers and len(asking) > 1:
        reader.report(
            (*path, "balance" if ANSWER in design.balance else "max_run"),
            f"trials ask in several phases ({listed(asking)}): say which is meant, such as question: {asking[-1]}",
        )
