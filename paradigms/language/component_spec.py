"""Components as they stand in a file: ``{matrix: {grid: 6, filled: =pattern}}``, read once, built
many times.

Texts that say what depends on the factor levels (``{=expression}`` inside instructions) are read
and filled by the same reader.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from ...core.errors import MAX_PROBLEMS, ParadigmError, Problem
from ...core.json_values import LimitError, as_object
from ...core.registry import Component, Registry, nearest
from ...stimuli.own_files import Files
from ..trial import Prompt
from .diagnostics import in_order, listed, sentences, show
from .expressions import BRACED, Environment, ExpressionError, Template, spend
from .yaml_source import Document, YamlPath


def filled(text: str, levels: Mapping[str, Any], where: str) -> str:
    """A text from elsewhere with gaps like those of instructions, for the levels of a trial.

    Parameters
    ----------
    text : with gaps such as ``{=n}``
    levels : of every factor
    where : what messages say of its source

    Raises
    ------
    ParadigmError
        when an expression is wrong, or names no factor.
    """
    problems: list[Problem] = []
    reader = Reader(Document({}, {}, where), problems)
    template = reader.template(text, (), levels)
    if problems:
        raise ParadigmError(problems)
    return str(reader.fill(template, (), levels))


C = TypeVar("C", bound=Component)
M = TypeVar("M", bound=BaseModel)

#: names that every loop binds beside its own variables: the count from 0 and from 1
COUNTERS = ("index", "number")
#: how many components a part of the file remembers that it has built
_REMEMBERED = 64


class Reader:
    """Context for reading a part of the file: the document, and the list of problems.

    Parameters
    ----------
    document : the file
    problems : grows by everything that is found wrong
    """

    def __init__(self, document: Document, problems: list[Problem]) -> None:
        self.document = document
        self.problems = problems
        #: names of the factors of the paradigm
        self.factors: frozenset[str] = frozenset()
        #: the image and sound files of the paradigm, by name
        self.files: Files = {}

    def report(self, path: YamlPath, message: str) -> None:
        """Note a problem at ``path``; the same one is noted once."""
        problem = self.document.problem(path, message)
        if problem not in self.problems:
            self.problems.append(problem)
        if len(self.problems) > MAX_PROBLEMS:
            more = Problem(self.document.name, "", f"more than {MAX_PROBLEMS} problems; correct these first")
            raise ParadigmError([*in_order(self.problems)[:MAX_PROBLEMS], more])

    def validated(self, model: type[M], value: Any) -> M | None:
        """The model built from a value of the document's top; None after reporting what is wrong."""
        try:
            return model.model_validate(value)
        except ValidationError as error:
            for path, message in sentences(error, model, value):
                self.report(path, message)
            return None

    def public(self, variables: Iterable[str]) -> frozenset[str]:
        """Of the names that are known somewhere, those that may be told to whoever answers: levels
        of factors, and how often a loop has gone round."""
        names = frozenset(variables)
        drawn = as_object(as_object(self.document.data).get("draw"))
        counts = {
            name
            for name in names
            if name in COUNTERS
            or (name.endswith("_number") and name.removesuffix("_number") in names and name not in drawn)
        }
        return (names & self.factors) | counts

    def template(self, value: Any, path: YamlPath, variables: Iterable[str], gaps: Iterable[str] = ()) -> Template:
        """A value with expressions inside; ``gaps`` are names in braces that somebody else fills."""
        return Template(value, lambda below, message: self.report(path + tuple(below), message), variables, gaps)

    def fill(self, template: Template, path: YamlPath, env: Environment) -> Any:
        """Fill a template in; what goes wrong is reported with its line."""
        try:
            return template(env)
        except (ExpressionError, LimitError) as error:
            raise ParadigmError([self.document.problem(path, str(error))]) from None

    def spend(self, work: int, path: YamlPath) -> None:
        """Note that so many values are touched; when the trial has become too much work, that is
        reported with its line."""
        try:
            spend(work)
        except LimitError as error:
            raise ParadigmError([self.document.problem(path, str(error))]) from None

    def mapping(self, value: Any, path: YamlPath, keys: Iterable[str]) -> dict[str, Any] | None:
        """``value`` as a mapping with no other than these keys; None (and a report) when it is
        something else."""
        allowed = list(keys)
        if not isinstance(value, dict):
            self.report(path, f"expected keys with values ({', '.join(allowed)}); found {show(value)}")
            return None
        for key in value:
            if key not in allowed:
                self.report((*path, key), f"unknown key '{key}'{nearest(key, allowed)}")
        return value


class QuestionText:
    """A text of a step for people, by language: with gaps such as ``{ordinal}`` that are filled
    when it is read, and others, ``{=...}``, that trials fill.

    Parameters
    ----------
    texts : by language
    path : where they stand
    counts : whether one of them says the how-manieth it is
    """

    def __init__(self, reader: Reader, texts: Template, path: YamlPath, counts: bool) -> None:
        self._reader, self._texts, self._path, self.counts = reader, texts, path, counts
        self._constant = self._filled({}) if texts.constant else None

    @classmethod
    def read(
        cls, reader: Reader, value: Any, path: YamlPath, variables: Iterable[str], gaps: Sequence[str], counted: bool
    ) -> QuestionText | None:
        """Read a text, or one for each language; what is wrong is reported.

        Parameters
        ----------
        variables : names that expressions may use
        gaps : names of gaps without an expression
        counted : whether there is a loop, so that it can be said the how-manieth it is
        """
        if value is None:
            return None
        texts = {"en": value} if isinstance(value, str) else value
        if (
            not isinstance(texts, dict)
            or not texts
            or not all(isinstance(part, str) and part.strip() for item in texts.items() for part in item)
        ):
            reader.report(
                path,
                "expected a text, or one for each language, such as {en: Which came {ordinal}?}; found"
                f" {show(value)}",
            )
            return None
        counts = False
        for language, text in texts.items():
            for gap in BRACED.findall(text):
                counts |= gap in ("ordinal", "position")
                if gap not in gaps:
                    reader.report(
                        (*path, language),
                        f"there is no gap '{{{gap}}}' here{nearest(gap, gaps)}; there are {listed(gaps)}, and {{=...}}"
                        " for expressions",
                    )
        if counts and not counted:
            reader.report(
                path, "{ordinal} and {position} count the rounds of a loop ('for' or 'repeat'), and the step is in none"
            )
        return cls(reader, reader.template(texts, path, variables, gaps), path, counts)

    def prompt(self, env: Environment) -> Prompt:
        """The texts for one step of a trial.

        Raises
        ------
        ParadigmError
            when an expression fails, or gives no number or word.
        """
        texts = self._filled(env) if self._constant is None else self._constant
        return Prompt(texts, env.get("number") if self.counts else None)

    def _filled(self, env: Environment) -> tuple[tuple[str, str], ...]:
        texts = self._reader.fill(self._texts, self._path, env)
        return tuple((language, " ".join(str(text).split())) for language, text in texts.items())


class ComponentSpec(Generic[C]):
    """One component in the file: its class and its parameters, some of them expressions."""

    __slots__ = ("_built", "_constant", "_path", "_reader", "_template", "cls")

    def __init__(self, reader: Reader, cls: type[C], parameters: Any, path: YamlPath, variables: Iterable[str]) -> None:
        self._reader, self._path, self.cls = reader, path, cls
        self._constant: C | None = None
        self._built: dict[bytes, C] = {}
        if parameters is None:
            parameters = {}
        if not isinstance(parameters, dict):
            if not cls.shorthand:
                reader.report(
                    path, f"expected keys with values ({', '.join(cls.model_fields)}); found {show(parameters)}"
                )
                parameters = {}
                self._template = reader.template({}, path, variables)
                return
            parameters = {cls.shorthand: parameters}
        self._template = reader.template(parameters, path, variables)
        self._check(parameters)

    @property
    def constant(self) -> bool:
        """True if it is the same in every trial."""
        return self._constant is not None

    def _check(self, parameters: dict[str, Any]) -> None:
        """Check the parameters that are plain values now; the others are checked when they are
        filled in."""
        dynamic = {key for key, value in parameters.items() if not Template(value, lambda *_: None).constant}
        try:
            built = self.cls.model_validate(
                {key: _PENDING if key in dynamic else value for key, value in parameters.items()}
            )
        except ValidationError as error:
            if all(
                item["type"] != "extra_forbidden" and item["loc"][:1] and item["loc"][0] in dynamic
                for item in error.errors(include_url=False, include_context=False, include_input=False)
            ):
                return
            for below, message in sentences(error, self.cls, parameters):
                if not (below and below[0] in dynamic and "unknown key" not in message):
                    self._reader.report(self._path + below, message)
        else:
            if not dynamic:
                self._constant = built

    def build(self, env: Environment) -> C:
        """The component, with its parameters filled in. Components never change, so that equal
        parameters (many steps show and ask the same) give the same one.

        Raises
        ------
        ParadigmError
            with file, line and key.
        """
        if self._constant is not None:
            return self._constant
        values = self._reader.fill(self._template, self._path, env)
        try:
            key = marshal.dumps(
                values, 2
            )  # unlike ==, it tells 1 from true and 1.0; version 2 depends on the values alone
        except ValueError:
            return self._validated(values)  # a component from elsewhere has given a value of its own sort
        built = self._built.get(key)
        if built is None:
            built = self._validated(values)
            if len(self._built) >= _REMEMBERED:
                self._built.pop(next(iter(self._built)), None)
            self._built[key] = built
        return built

    def _validated(self, values: Any) -> C:
        try:
            return self.cls.model_validate(values)
        except ValidationError as error:
            document = self._reader.document
            raise ParadigmError(
                [document.problem(self._path + below, message) for below, message in sentences(error, self.cls, values)]
            ) from None


_PENDING = object()


def read_component(
    reader: Reader,
    registry: Registry[C],
    value: Any,
    path: YamlPath,
    variables: Iterable[str],
    beside: Mapping[str, str],
) -> tuple[ComponentSpec[C], dict[str, Any]] | None:
    """Read ``{NAME: parameters, ...}`` with the keys ``beside`` (and their help) next to the
    component's name.

    Returns the component and the values beside it, or None after reporting what is wrong.
    """
    if not isinstance(value, dict):
        reader.report(
            path, f"expected a {registry.sort} such as {{{next(iter(registry), 'NAME')}: ...}}; found {show(value)}"
        )
        return None
    names = [key for key in value if key in registry]
    for key in value:
        if key not in registry and key not in beside:
            hint = nearest(key, [*registry, *beside]) or f" (known: {listed(sorted(registry), 40)})"
            reader.report((*path, key), f"unknown key or {registry.sort} '{key}'{hint}")
    if len(names) != 1:
        if names or all(key in beside for key in value):
            description = f"found {len(names)} ({', '.join(names)})" if names else "found none"
            reader.report(path, f"expected exactly one {registry.sort}, {description}")
        return None
    name = names[0]
    component = ComponentSpec(reader, registry.get(name), value[name], (*path, name), variables)
    return component, {key: inner for key, inner in value.items() if key in beside}
