"""A paradigm: a validated YAML file, ready to be compiled into trials."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..components import nearest
from ..errors import ParadigmError, Problem, SpanLabError
from . import library, yaml_text
from .expressions import FUNCTIONS, Template, is_expression
from .identity import digest
from .network_view import NetworkView
from .parts import Part, Reader, read_part
from .problems import show, validated
from .samplers import SAMPLERS, Sampler
from .schema import DatasetDesign, Head, Practice, SessionDesign, Source
from .timeline import COUNTERS, Node, read_timeline
from .yaml_text import Document, YamlPath

Generator = Literal["corrected", "published"]
GENERATORS: tuple[Generator, ...] = ("corrected", "published")
#: factors that are columns of the record by themselves
COLUMN_FACTORS = ("set_size", "list_length", "retention_steps")
_RESERVED = (*COUNTERS, "generator", *FUNCTIONS)
_MAX_EXTENDS = 8


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor with its levels; ``crossed`` with the others, or drawn at ``random`` for each trial."""

    levels: tuple[Any, ...]
    mode: Literal["crossed", "random"]


@dataclass(frozen=True, slots=True)
class Draw:
    """One named draw: a sampler, or an expression over what was drawn before."""

    name: str
    sampler: Part[Sampler] | None
    value: Template | None


@dataclass(frozen=True, slots=True, repr=False)
class Paradigm:
    """A paradigm, validated.

    ``hash`` covers the whole file (after ``extends``), so that a session knows whether its paradigm changed. ``data`` is the plain content of the file, from
    which the paradigm can be rebuilt (:func:`paradigm_from_data`).
    """

    name: str
    version: int
    title: str
    hash: str
    data: Mapping[str, Any]
    factors: Mapping[str, Factor]
    draws: tuple[Draw, ...]
    timeline: Node
    instructions: Mapping[str, str]
    source: Source
    domains: tuple[str, ...]
    functions: tuple[str, ...]
    characteristics: tuple[str, ...]
    network: NetworkView | None
    practice: Practice | None
    designs: Mapping[str, SessionDesign | DatasetDesign]
    set_size: Template | None
    list_length: Template | None
    reader: Reader = field(compare=False)

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
            for an unknown factor or level.
        """
        chosen = {name: (list(value) if isinstance(value, (list, tuple)) else [value]) for name, value in (restrict or {}).items()}
        for name, levels in chosen.items():
            for level in levels:
                self.level(name, level)
        crossed = {name: chosen.get(name, factor.levels) for name, factor in self.factors.items() if factor.mode == "crossed" or name in chosen}
        return [dict(zip(crossed, levels, strict=True)) for levels in itertools.product(*crossed.values())]

    def level(self, name: str, level: Any) -> Any:
        """``level`` itself, when it is one of the factor's.

        Raises
        ------
        SpanLabError
            for an unknown factor or level.
        """
        if name not in self.factors:
            there = f"; its factors are {', '.join(self.factors)}" if self.factors else "; it has no factors"
            raise SpanLabError(f"{self.name} has no factor '{name}'{nearest(name, self.factors) or there}")
        levels = self.factors[name].levels
        if not any(level == other and isinstance(level, bool) == isinstance(other, bool) for other in levels):
            raise SpanLabError(f"{self.name}: {name} cannot be {show(level)}; its levels are {', '.join(map(str, levels))}")
        return level


def load_paradigm(source: str | Path) -> Paradigm:
    """Load a paradigm by its name in the library, or from a YAML file.

    Raises
    ------
    ParadigmError
        with everything that is wrong with the file.
    SpanLabError
        when there is no such paradigm or file.
    """
    return build_paradigm(_resolve(_locate(source), 0))


def paradigm_from_data(data: Mapping[str, Any], name: str) -> Paradigm:
    """Rebuild a paradigm from the plain content of its file (``Paradigm.data``), as a session's record keeps it."""
    return build_paradigm(Document(dict(data), {}, name))


def _locate(source: str | Path) -> Path:
    text = str(source)
    if isinstance(source, str) and not any(mark in text for mark in ("/", "\\", ".")):
        path = library.path(text)
        if path is None:
            hint = nearest(text, library.list_paradigms()) or "; see spanlab list"
            raise SpanLabError(f"there is no paradigm '{text}'{hint} (a file of your own is given by its path, ending in .yaml)")
        return path
    path = Path(text)
    if path.is_dir() or not path.exists():
        raise SpanLabError(f"{text}: there is no such paradigm file")
    return path


def _resolve(path: Path, depth: int) -> Document:
    """The document with ``extends`` followed: the keys of the file itself override those of its base; null removes one."""
    document = yaml_text.read(path)
    if not isinstance(document.data, dict) or "extends" not in document.data:
        return document
    base_name = document.data["extends"]
    if not isinstance(base_name, str):
        raise ParadigmError([document.problem(("extends",), f"expected the name of a paradigm; found {show(base_name)}")])
    if depth >= _MAX_EXTENDS:
        raise ParadigmError([document.problem(("extends",), "paradigms extend one another in a circle, or too deeply")])
    beside = path.parent / base_name
    try:
        base = _resolve(beside if beside.is_file() else _locate(base_name), depth + 1)
    except ParadigmError:
        raise
    except SpanLabError as error:
        raise ParadigmError([document.problem(("extends",), str(error))]) from None
    own = {key: value for key, value in document.data.items() if key != "extends"}
    lines: dict[YamlPath, str] = dict(base.lines)
    merged = _merge(base.data, own, (), lines, document.lines) if isinstance(base.data, dict) else own
    lines[()] = document.where(())
    return Document(merged, lines, document.name)


#: maps whose entries are inherited one by one; every other value is replaced as a whole
_MERGED = ((), ("factors",), ("draw",), ("instructions",), ("designs",), ("source",), ("network",), ("practice",))


def _merge(base: dict[str, Any], own: dict[str, Any], path: YamlPath, lines: dict[YamlPath, str], own_lines: Mapping[YamlPath, str]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in own.items():
        below = (*path, key)
        if below in _MERGED and isinstance(value, dict) and isinstance(base.get(key), dict):
            merged[key] = _merge(base[key], value, below, lines, own_lines)
            continue
        for old in [known for known in lines if known[: len(below)] == below]:
            del lines[old]
        lines.update({known: line for known, line in own_lines.items() if known[: len(below)] == below})
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = value
    return merged


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
        raise ParadigmError([document.problem((), f"expected a paradigm (keys with values, beginning with 'paradigm: NAME'); found {show(data)}")])
    head, found = validated(Head, data)
    for path, message in found:
        reader.report(path, message)
    factors = data.get("factors")
    raw_factors: dict[Any, Any] = factors if isinstance(factors, dict) else {}
    known = set(raw_factors) | {"generator"}
    for name in raw_factors:
        _check_name(reader, ("factors", name), name, set())
    draws = _read_draws(reader, data.get("draw"), known)
    names = frozenset(known)
    timeline = read_timeline(reader, data["timeline"], ("timeline",), names) if "timeline" in data else None
    sizes = {key: _read_size(reader, data, key, names) for key in ("set_size", "list_length")}
    if head is not None:
        _check_designs(reader, head, raw_factors)
    if problems or head is None or timeline is None:
        raise ParadigmError(_in_order(problems))
    assert isinstance(head, Head)
    return Paradigm(
        name=head.paradigm,
        version=head.version,
        title=head.title,
        hash=digest(data),
        data=data,
        factors={
            name: Factor(tuple(value), "crossed") if isinstance(value, list) else Factor(tuple(value.random), "random") for name, value in head.factors.items()
        },
        draws=draws,
        timeline=timeline,
        instructions=head.instructions,
        source=head.source,
        domains=tuple(head.domains),
        functions=tuple(head.functions),
        characteristics=tuple(head.characteristics),
        network=head.network,
        practice=head.practice,
        designs=head.designs,
        set_size=sizes["set_size"],
        list_length=sizes["list_length"],
        reader=reader,
    )


def _in_order(problems: list[Problem]) -> list[Problem]:
    def line(problem: Problem) -> tuple[str, int]:
        name, _, number = problem.where.rpartition(":")
        return (name, int(number)) if number.isdigit() else (problem.where, 0)

    return sorted(problems, key=line)


def _check_name(reader: Reader, path: YamlPath, name: Any, taken: set[str]) -> None:
    if not isinstance(name, str) or not name.isidentifier() or name.startswith("_"):
        reader.report(path, f"{show(name)} cannot be a name: use letters, digits and underscores")
    elif name in _RESERVED:
        reader.report(path, f"the name '{name}' is reserved")
    elif name in taken:
        reader.report(path, f"the name '{name}' is taken by a factor")


def _read_draws(reader: Reader, value: Any, known: set[str]) -> tuple[Draw, ...]:
    """Read the draws in order; each may use the ones before it. ``known`` grows by their names."""
    draws: list[Draw] = []
    for name, inner in value.items() if isinstance(value, dict) else ():
        path: YamlPath = ("draw", name)
        _check_name(reader, path, name, known)
        if is_expression(inner) or isinstance(inner, list):
            draws.append(Draw(name, None, reader.template(inner, path, frozenset(known))))
        else:
            part = read_part(reader, SAMPLERS, inner, path, frozenset(known), {})
            if part is not None:
                draws.append(Draw(name, part[0], None))
        known.add(name)
    return tuple(draws)


def _read_size(reader: Reader, data: Mapping[str, Any], key: str, known: frozenset[str]) -> Template | None:
    value = data.get(key)
    if value is None:
        return None
    if not is_expression(value) and (isinstance(value, bool) or not isinstance(value, int)):
        reader.report((key,), f"expected a whole number or an expression; found {show(value)}")
    return reader.template(value, (key,), known)


def _check_designs(reader: Reader, head: Any, factors: Mapping[str, Any]) -> None:
    def levels(path: YamlPath, wanted: Mapping[str, Any]) -> None:
        for name, value in wanted.items():
            if name not in factors:
                reader.report((*path, name), f"there is no factor '{name}'{nearest(name, factors)}")
                continue
            there = factors[name] if isinstance(factors[name], list) else factors[name].get("random", [])
            for level in value if isinstance(value, list) else [value]:
                if level not in there:
                    reader.report((*path, name), f"{show(level)} is not a level of '{name}' ({', '.join(map(str, there))})")

    if "en" not in head.instructions and head.instructions == {}:
        reader.report(("instructions",), "instructions are missing: at least one language, such as en")
    if head.practice is not None:
        levels(("practice", "factors"), head.practice.factors)
    for name, design in head.designs.items():
        path: YamlPath = ("designs", name)
        levels((*path, "factors"), design.factors)
        levels((*path, "hold_out"), design.hold_out)
        for key in ("blocked_by", "per"):
            wanted = getattr(design, key, [])
            for factor in [wanted] if isinstance(wanted, str) else wanted:
                if factor not in factors:
                    reader.report((*path, key), f"there is no factor '{factor}'{nearest(factor, factors)}")
