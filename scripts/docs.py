"""Fills the generated parts of the documentation from the code, where keys, parameters and columns
are declared.

    python scripts/docs.py            rewrites them
    python scripts/docs.py --check    says which are out of date, and exits with 1 when there are any

Pages of which the code says everything (``scripts/pages``) are written anew into ``docs/`` each time.
A generated part stands between ``<!-- begin NAME -->`` and ``<!-- end NAME -->``.
"""

from __future__ import annotations

import csv
import json
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, get_args

import docs_reference
import gallery
from pydantic import BaseModel

ROOT = Path(__file__).resolve().parent.parent
#: pages that are made whole, into docs/
PAGES = Path(__file__).resolve().parent / "pages"
_PART = re.compile(r"(<!-- begin (?P<name>[a-z_ ]+) -->\n).*?(<!-- end (?P=name) -->)", re.DOTALL)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(
        "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in line) + " |\n" for line in lines
    )


def columns() -> str:
    from spanlab.sessions.record.table import COLUMNS

    rows = [
        (
            f"`{column.name}`",
            column.type + (f" ({column.unit})" if column.unit else ""),
            "measured" if column.measured else "",
            column.meaning,
        )
        for column in COLUMNS
    ]
    return table(("column", "type", "", "meaning"), rows)


def events() -> str:
    """Every event with its keys, and what lies in them; what events share stands once."""
    from spanlab.sessions.record.events import AskedStep, Event, Notes, OfTrial, Score, ShownDisplay, ShownStep
    from spanlab.sessions.record.marking import fields_of

    shared = {field.name for model in (OfTrial, ShownStep) for field in fields_of(model)}
    of_trial = {field.name for field in fields_of(OfTrial)}
    named = [
        ("…with a question", model, shared) if model is AskedStep else (f"`{event_name(model)}`", model, of_trial)
        for model in get_args(Event)
    ]
    inside = [
        ("in `shown`", ShownDisplay, set[str]()),
        ("in `notes`", Notes, set[str]()),
        ("in `scores`", Score, set[str]()),
    ]
    return record_keys([("of a trial", OfTrial, set[str]()), *named, *inside], "event")


def session_keys() -> str:
    """The keys of ``session.json``, and what lies in them."""
    from spanlab.sessions.record.session_info import Keys, PlanEntry, SessionInfo, StaircasePlan

    inside = [("in `plan`", PlanEntry), ("in `keys`", Keys), ("in `adaptive`", StaircasePlan)]
    return record_keys([("", SessionInfo, set[str]()), *((name, model, set[str]()) for name, model in inside)], "")


def record_keys(models: Sequence[tuple[str, type, set[str]]], what: str) -> str:
    """The keys of models of the record, each model with its heading and without some keys."""
    from spanlab.sessions.record.marking import fields_of

    rows: list[tuple[str, ...]] = []
    for name, model, left_out in models:
        rows += [(name, "", "", " ".join((model.__doc__ or "").split()))] if name else []
        for field in fields_of(model):
            if field.name != "event" and field.name not in left_out:
                said = ", ".join(
                    filter(None, ("" if field.required else "not always", "measured" if field.holds.measured else ""))
                )
                rows.append(("", f"`{field.name}`", said, field.holds.meaning))
    return table((what, "key", "", "meaning"), rows)


def event_name(model: type) -> str:
    """How the file calls an event."""
    from spanlab.sessions.record.marking import fields_of

    return next(str(get_args(field.type)[0]) for field in fields_of(model) if field.name == "event")


def roc_columns() -> str:
    """The columns of the tables of curves."""
    from spanlab.analysis.effects.confidence import POINT_COLUMNS, ROC_COLUMNS

    rows = [
        (f"`{name}`", figure, meaning)
        for figure, columns in (("`roc`", ROC_COLUMNS), ("`zroc`", POINT_COLUMNS))
        for name, meaning in columns.items()
    ]
    return table(("column", "table", "meaning"), [row for row in rows if not row[0].endswith(("_low`", "_high`"))])


def keys(declared: dict[str, str]) -> str:
    return table(("key", "meaning"), [(f"`{key}`", meaning) for key, meaning in declared.items()])


def fields(model: type[BaseModel]) -> str:
    """The keys of a part of a paradigm file."""
    rows = []
    for name, field in model.model_fields.items():
        default = "required" if field.is_required() else _written(field.get_default(call_default_factory=True))
        rows.append((f"`{field.alias or name}`", default, field.description or ""))
    return table(("key", "default", "meaning"), rows)


def _written(value: Any) -> str:
    if value is None or value in ({}, []) or isinstance(value, BaseModel):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def components(registry: Any) -> str:
    """Every component of a registry with its parameters."""
    from spanlab.core.registry import describe

    parts = []
    for component in describe(registry):
        text = f"### `{component.name}`\n\n{component.summary}\n"
        if component.shorthand:
            text += f"A bare value sets `{component.shorthand}`.\n"
        rows = [
            (
                f"`{parameter.name}`",
                parameter.type,
                "required" if parameter.required else "" if parameter.default is None else f"`{parameter.default}`",
                parameter.help,
            )
            for parameter in component.parameters
        ]
        parts.append(text + ("\n" + table(("parameter", "type", "default", "meaning"), rows) if rows else ""))
    return "\n".join(parts)


def chat_providers() -> str:
    """The providers that ship."""
    from spanlab.agents.chat.providers import shipped

    rows = [
        (
            f"`{name}`",
            provider.base_url,
            f"`{provider.key_variable}`" if provider.key_variable else "none needed",
            f"`{provider.default_model}`" if provider.default_model else "",
        )
        for name, provider in shipped().items()
    ]
    return table(("provider", "address", "key", "default model"), rows)


def chat_settings() -> str:
    """Every setting of a chat agent, with its choices."""
    from spanlab.agents.chat.settings import PREAMBLES, REASONS, ChatSettings

    ours = {"preamble": "fits the view", "reasoning_text": "fits the reasoning"}
    rows = []
    for name, field in ChatSettings.model_fields.items():
        choices = [
            f"`{choice}`"
            for kind in (field.annotation, *get_args(field.annotation))
            for choice in get_args(kind)
            if isinstance(choice, str)
        ]
        meaning = (field.description or "") + (f" ({', '.join(choices)})" if choices else "")
        rows.append(
            (
                f"`{name}`",
                ours.get(name)
                or (_written(field.get_default(call_default_factory=True)) if field.default != "" else ""),
                meaning,
            )
        )
    sentences = [
        (f"`{setting}: {choice}`", text)
        for setting, texts in (("view", PREAMBLES), ("reasoning", REASONS))
        for choice, text in texts.items()
        if text
    ]
    return (
        table(("setting", "default", "meaning"), rows)
        + "\n"
        + table(("chosen", "the sentence that goes with it, when none is given"), sentences)
    )


def chat_presets() -> str:
    """The presets of chat agents: what they are, for which paradigms, and the settings in which
    they differ from the defaults."""
    from spanlab.agents.chat.settings import presets

    rows = []
    for name, preset in presets().items():
        settings = ", ".join(
            f"`{key}: {_plain(value)}`" for key, value in preset.settings.items() if key != "instructions"
        )
        paradigms = ", ".join(f"`{paradigm}`" for paradigm in preset.settings.get("instructions", ())) or "all"
        rows.append((f"`{name}`", preset.about, paradigms, settings))
    return table(("preset", "what it is", "paradigms", "settings in which it differs"), rows)


def _plain(value: Any) -> str:
    return '""' if value == "" else str(value)


def functions() -> str:
    from spanlab.paradigms.language.expressions import FUNCTIONS

    return ", ".join(f"`{name}`" for name in sorted(FUNCTIONS)) + "\n"


def agents() -> str:
    from spanlab.agents.registry import AGENTS

    lines = (f"* `{kind.name}`: {kind.help}" for kind in AGENTS.kinds())
    return "".join(
        textwrap.fill(line, 100, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False) + "\n"
        for line in lines
    )


def composition() -> str:
    """What the trials of each paradigm have: conditions, steps of a model, questions."""
    from spanlab.paradigms import compile_trial

    rows = []
    for name in gallery.in_order():
        paradigm = gallery.paradigm_of(name)
        random = {factor: declared.levels for factor, declared in paradigm.factors.items() if declared.mode == "random"}
        conditions = paradigm.combinations(random)
        trials = [
            [compile_trial(paradigm, levels, seed) for seed in range(max(1, 60 // len(conditions)))]
            for levels in conditions
        ]
        steps = [[sum(step.percept.model_step for step in trial.steps) for trial in alike] for alike in trials]
        questions = [[trial.asks for trial in alike] for alike in trials]
        rows.append(
            (f"`{name}`", str(len(paradigm.combinations())), ", ".join(random), _range(steps), _range(questions))
        )
    return table(("paradigm", "conditions", "drawn for each trial", "steps", "questions"), rows)


def _range(found: Sequence[Sequence[int]]) -> str:
    """Of numbers in several trials of each condition: from the least to the most."""
    least, most = min(map(min, found)), max(map(max, found))
    about = "about " if any(len(set(alike)) > 1 for alike in found) else ""
    return f"{about}{least} to {most}" if least < most else str(least)


def ours() -> str:
    """Durations that the papers leave open; variants that share one share a row."""
    from spanlab.paradigms.duration import timetable

    names: dict[tuple[str, ...], list[str]] = {}
    for name in gallery.in_order():
        for row in timetable(gallery.paradigm_of(name)):
            if row.source.startswith("ours: "):
                names.setdefault((row.phase, row.ms, row.source.removeprefix("ours: ")), []).append(f"`{name}`")
    return table(
        ("paradigm", "phase", "ms", "where from"), [(", ".join(several), *cells) for cells, several in names.items()]
    )


def exclusion_measures() -> str:
    """What rules of exclusion can measure, and of what."""
    from spanlab.analysis.data.exclusions import MEASURES

    return table(
        ("measure", "of", "meaning"),
        [(f"`{name}`", ", ".join(levels), meaning) for name, (levels, meaning) in MEASURES.items()],
    )


def random_effects() -> str:
    """The random effects of mixed models, and when each is in the model."""
    from spanlab.analysis.stats.mixed_model import COMPONENTS

    return table(("random effect", "in the model when"), COMPONENTS.items())


def units() -> str:
    """Whose units are what."""
    from spanlab.analysis.inference import UNITS

    return table(("who answers", "units"), UNITS.items())


def rules() -> str:
    """How each quantity is estimated and judged."""
    from spanlab.analysis.inference import RULES

    header = ("quantity", "estimator", "interval", "compared with", "family")
    return table(header, [(one.quantity, one.estimator, one.interval, one.null, one.family) for one in RULES.values()])


def mixed_contrasts() -> str:
    """The contrasts of mixed models."""
    from spanlab.analysis.stats.mixed_contrasts import KINDS

    return table(("kind", "meaning"), [(f"`{name}`", meaning) for name, meaning in KINDS.items()])


def effects() -> str:
    """The effects that ship: where they are found, along what, and in which panels."""
    from spanlab.analysis.effects.registry import EFFECTS
    from spanlab.analysis.figures.worm import column_label

    rows = []
    for declared in EFFECTS:
        along = f"{declared.x_title} ({', '.join(declared.order)})" if declared.order else declared.x_title
        panels = ", ".join(declared.panel_order) or " and ".join(column_label(name) for name in declared.panels)
        rows.append((f"`{declared.name}`", ", ".join(declared.paradigms), along, panels))
    return table(("name", "in", "along", "panels"), rows)


def nback_figures() -> str:
    """The figures of N-back blocks: what they show, and how."""
    from spanlab.analysis.figure_catalogue import FIGURES

    lines = [
        (f"`{figure.name}`", figure.title, figure.line.removeprefix(f"N-back: {figure.title}").strip(" ()"))
        for figure in FIGURES
        if figure.name.startswith("nback_")
    ]
    return table(("name", "shows", "how"), lines)


def paper_figures() -> str:
    """The figures of the benchmark's paper: what their lines are, along what, and which conditions
    they show."""
    from spanlab.analysis.figures.worm import PAPER_FIGURES, column_label

    rows = []
    for figure in PAPER_FIGURES:
        varied = [name for name in figure.effect.panels if len(dict(figure.keeps).get(name, (1, 2))) > 1]
        lines = " and ".join(map(column_label, varied)) if figure.conditions else "answerers, in one panel"
        rows.append((f"`{figure.name}`", lines, figure.effect.x_title, figure.kept))
    return table(("name", "lines", "along", "only"), rows)


def overview(number: int) -> str:
    """One of the two tables of all paradigms."""
    return table(*list(gallery.overview())[number])


def coverage() -> str:
    """How often intervals held and tests rejected, as ``benchmarks/coverage.py`` measured it: a row
    for each quantity."""
    with (ROOT / "benchmarks" / "coverage.csv").open(encoding="utf-8", newline="") as file:
        measured = list(csv.DictReader(file))
    counted: dict[str, dict[str, list[float]]] = {}
    for row in measured:
        what, how = re.split(r", (?![^(]*\))", row["what"])[0], row["counted"]
        if how not in ("interval holds", "test rejects"):
            what += f" ({how})"
        counted.setdefault(what, {}).setdefault("rejected" if how == "test rejects" else "held", []).append(
            float(row["percent"])
        )
    lines = [
        (what, str(sum(map(len, found.values()))), *(least_to_most(found.get(how, ())) for how in ("held", "rejected")))
        for what, found in counted.items()
    ]
    return table(("quantity", "rows", "held", "rejected"), lines)


def few_units() -> str:
    """Intervals over few people and few sessions, as ``benchmarks/coverage.py`` measured them."""
    rows = json.loads((ROOT / "benchmarks" / "coverage_few.json").read_text(encoding="utf-8"))
    parts = []
    for whose, sizes in (("people", (3, 5, 8, 24)), ("sessions", (2, 3, 5, 20))):
        of = [row for row in rows if ("sessions" in row["whom"]) == (whose == "sessions")]
        cells: dict[tuple[str, str], dict[int, list[float]]] = {}
        for row in of:
            counted = "held" if row["counted"] == "interval holds" else "rejected"
            cells.setdefault((row["asked"], counted), {}).setdefault(row["size"], []).append(row["percent"])
        lines = [(*key, *(least_to_most(known.get(size, ())) for size in sizes)) for key, known in cells.items()]
        parts.append(table((f"what, by number of {whose}", "", *map(str, sizes)), lines))
    return "\n".join(parts)


def least_to_most(percents: Sequence[float]) -> str:
    """The lowest and the highest of some percentages."""
    ends = sorted({f"{end:.1f}" for end in (min(percents), max(percents))}, key=float) if percents else []
    return " to ".join(ends)


def generators() -> dict[str, Callable[[], str]]:
    """Every generated part by its name."""
    from spanlab.agents.chat import RequestLimits
    from spanlab.agents.chat.providers import Provider
    from spanlab.agents.network.modules import Frames
    from spanlab.analysis.data.exclusions import Rule
    from spanlab.paradigms import RESPONSES, SAMPLERS
    from spanlab.paradigms.language import schema
    from spanlab.paradigms.language import timeline as steps
    from spanlab.paradigms.network_view import NetworkView
    from spanlab.paradigms.triggers import Triggers
    from spanlab.sessions.evaluations.evaluation_set import ParadigmEntry, SetFile
    from spanlab.sessions.studies.schema import Entry, FieldPart, Group, StudyFile
    from spanlab.stimuli import STIMULI

    return {
        "columns": columns,
        "events": events,
        "session keys": session_keys,
        "exclusion rule": lambda: fields(Rule),
        "exclusion measures": exclusion_measures,
        "effects": effects,
        "roc columns": roc_columns,
        "paper figures": paper_figures,
        "nback figures": nback_figures,
        "random effects": random_effects,
        "units": units,
        "rules": rules,
        "mixed contrasts": mixed_contrasts,
        "chat providers": chat_providers,
        "provider keys": lambda: fields(Provider),
        "set file keys": lambda: "\n\n".join([fields(SetFile), fields(ParadigmEntry)]),
        "chat care": lambda: fields(RequestLimits),
        "chat settings": chat_settings,
        "chat presets": chat_presets,
        "agents": agents,
        "functions": functions,
        "head": lambda: fields(schema.Head),
        "source": lambda: fields(schema.Source),
        "practice": lambda: fields(schema.Practice),
        "example": lambda: fields(schema.Example),
        "quiz": lambda: fields(schema.Quiz),
        "effects of a file": lambda: fields(schema.EffectOfFile),
        "breaks": lambda: fields(schema.Breaks),
        "adaptive": lambda: fields(schema.Adaptive),
        "session design": lambda: fields(schema.SessionDesign),
        "dataset design": lambda: fields(schema.DatasetDesign),
        "network": lambda: fields(NetworkView),
        "own network frame keys": lambda: fields(Frames),
        "triggers": lambda: fields(Triggers),
        "study keys": lambda: fields(StudyFile),
        "study paradigm keys": lambda: fields(Entry),
        "study group keys": lambda: fields(Group),
        "study field keys": lambda: fields(FieldPart),
        "step keys": lambda: keys(steps.STEP_KEYS),
        "display keys": lambda: keys(steps.DISPLAY_KEYS),
        "ask keys": lambda: keys(steps.ASK_KEYS),
        "stimuli": lambda: components(STIMULI),
        "samplers": lambda: components(SAMPLERS),
        "responses": lambda: components(RESPONSES),
        "overview": lambda: overview(0),
        "functions by domains": lambda: overview(1),
        "gallery": gallery.page,
        "commands": docs_reference.commands,
        "public functions": docs_reference.public_functions,
        **{f"plugin {what}": partial(docs_reference.plugin_file, what) for what in docs_reference.PLUGIN},
        "coverage": coverage,
        "few units": few_units,
        "ours": ours,
        "composition": composition,
    }


def filled(text: str, parts: dict[str, Callable[[], str]]) -> str:
    """``text`` with every generated part made anew."""
    return _PART.sub(lambda match: match[1] + parts[match["name"]]() + match[3], text)


def made_pages(parts: dict[str, Callable[[], str]] | None = None) -> dict[str, str]:
    """The pages that are the code's alone, by name: they are not kept in the repository."""
    made = parts or generators()
    return {path.name: filled(path.read_text("utf-8"), made) for path in sorted(PAGES.glob("*.md"))}


def main(arguments: list[str]) -> int:
    parts, seen = generators(), set[str]()
    for path in PAGES.glob("*.md"):
        seen |= {match["name"] for match in _PART.finditer(path.read_text(encoding="utf-8"))}
    if "--check" not in arguments:
        for name, text in made_pages(parts).items():
            (ROOT / "docs" / name).write_text(text, encoding="utf-8")
    stale: list[str] = []
    made = {path.name for path in PAGES.glob("*.md")}
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        if path.name in made:
            continue
        text = path.read_text(encoding="utf-8")
        seen |= {match["name"] for match in _PART.finditer(text)}
        new = filled(text, parts)
        if new != text:
            stale.append(path.name)
            if "--check" not in arguments:
                path.write_text(new, encoding="utf-8")
    if unused := set(parts) - seen:
        print(f"generated, and in no document: {', '.join(sorted(unused))}")
    if stale:
        print(("out of date: " if "--check" in arguments else "rewritten: ") + ", ".join(stale))
    return 1 if unused or (stale and "--check" in arguments) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
