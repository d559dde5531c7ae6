"""The Methods section before there are data, from a paradigm or a study alone: the design, and the
analysis as SpanLab will do it. Part of the command line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from spanlab.analysis.data import listed, plain_name, plural, score_table
from spanlab.analysis.effects import EFFECTS, GROUP_METHOD, ROC_METHOD
from spanlab.analysis.figures import GROUPS, ROC, prospects
from spanlab.analysis.stats import sort_cells
from spanlab.core import __version__, as_object
from spanlab.paradigms import compile_trial, load_paradigm, plan_session
from spanlab.paradigms.design import session_design
from spanlab.sessions.rehearsal import rehearsed
from spanlab.sessions.studies import is_study, load_study

from .methods import MODEL, REFERENCES, level_order, own_effects, scores_and_tests

if TYPE_CHECKING:
    from spanlab.analysis import Margin
    from spanlab.analysis.data import Rule
    from spanlab.paradigms import Paradigm, PlannedTrial
    from spanlab.sessions.studies.schema import Group

#: What only the authors know.
GAP = "[not decided: {}]"
_SEED = 1


def methods_before(
    source: str, rules: Sequence[Rule] = (), rules_file: Path | None = None, margins: Sequence[Margin] = ()
) -> str:
    """The section as Markdown.

    Parameters
    ----------
    source : a paradigm of the library, its file, or the file of a study
    rules, rules_file : of exclusion, and their file
    margins : within which differences count as none
    """
    groups: Sequence[Group] = ()
    about = ""
    if is_study(source):
        study = load_study(source)
        named = [(one.name, one.paradigm, one.plan(_SEED, balanced=False)) for one in study.paradigms]
        each_once = [_each_once(one.paradigm, one.entry.design, one.entry.set_) for one in study.paradigms]
        sessions = "; ".join(", ".join(study.paradigms[at].name for at in taken) for taken in study.sessions)
        about = f" The study is {study.title} (`{study.name}`, hash {study.hash}), with sessions of each person:"
        about += f" {sessions}. Order of paradigms: {study.order}."
        groups = study.groups
    else:
        paradigm = load_paradigm(source)
        named = [(paradigm.name, paradigm, plan_session(paradigm, _SEED))]
        each_once = [_each_once(paradigm, None, {})]
    people = GAP.format("how many people, models and settings, and why; who is asked, and when data collection ends")
    text = ["# Methods", "", "## Participants", "", f"{people}{about}{_groups(groups)}", ""]
    for (name, paradigm, plan), once in zip(named, each_once, strict=True):
        text += [f"## {paradigm.title}", "", _design(name, paradigm, plan, once), ""]
    text += ["## Exclusions", "", *_exclusions(rules, rules_file), "", "## Scores and tests", ""]
    effects, models = _analysis(named, bool(groups))
    text += [*scores_and_tests(effects, margins), "", *models]
    text += ["## Software", "", f"This section was made with SpanLab {__version__}.", "", "## References", ""]
    used = sorted(whole for short, whole in REFERENCES.items() if short in "\n".join(text))
    return "\n".join([*text, *(f"* {one}" for one in used)]) + "\n"


def _each_once(paradigm: Paradigm, name: str | None, levels: Mapping[str, Any]) -> list[PlannedTrial]:
    """One trial of each combination of levels that a design leaves."""
    design = session_design(paradigm, name).unchosen
    return plan_session(paradigm, _SEED, design.model_copy(update={"repetitions": 1, "blocks": 1}), levels)


def _design(name: str, paradigm: Paradigm, plan: Sequence[PlannedTrial], combinations: Sequence[PlannedTrial]) -> str:
    """Trials, levels, blocks and practice, as every session is planned: numbers that are drawn for
    each session are not those of any one.

    Parameters
    ----------
    plan : of one session
    combinations : one trial of each combination of levels
    """
    real = [trial for trial in plan if not trial.practice]
    practice = len(plan) - len(real)
    moved = {trial.varies for trial in real} - {""}
    each, rest = divmod(len(real), len(combinations))
    drawn = bool(rest) and not moved
    levels: dict[str, Counter[str]] = {}
    for trial in combinations if drawn else real:
        for factor, level in trial.levels.items():
            levels.setdefault(factor, Counter())[str(level)] += 1
    text = f"Paradigm `{name}`, version {paradigm.version}, hash {paradigm.hash}."
    study = as_object(paradigm.data.get("source")).get("study")
    text += f" It follows {study}." if study else ""
    uncertain = drawn and not each
    blocks = len({trial.block for trial in (combinations if uncertain else real)})
    text += (
        f" A session has {'at most ' if moved else ''}{plural(len(real), 'trial')} in"
        f" {'at most ' if uncertain and blocks > 1 else ''}{blocks} block{'s' * (blocks != 1)}"
    ) + (f", after {plural(practice, 'trial')} of practice." if practice else ".")
    varied = [
        f"{factor.replace('_', ' ')}:"
        f" {', '.join(level if drawn else f'{level} ({counts[level]})' for level in sorted(counts, key=level_order))}"
        for factor, counts in levels.items()
        if len(counts) > 1
    ]
    fixed = [
        f"{factor.replace('_', ' ')} {next(iter(counts))}"
        for factor, counts in levels.items()
        if len(counts) == 1 and factor not in moved
    ]
    followed = [f"{factor.replace('_', ' ')} (from {real[0].levels[factor]} on)" for factor in sorted(moved)]
    if varied:
        text += f" Within people vary{'' if drawn else ', with numbers of trials'}: {'; '.join(varied)}."
    elif not moved:
        text += " No factor varies in a session of this design."
    if drawn:
        text += (
            f" Which of the {len(combinations)} combinations of these levels have {each + 1}"
            f" {'trial' if each == 0 else 'trials'} and which {each or 'none'} is drawn for each session."
        )
    text += f" From trial to trial the answers decide on {', '.join(followed)}." if followed else ""
    text += f" Fixed: {', '.join(fixed)}." if fixed else ""
    free = [factor for factor, one in paradigm.factors.items() if factor not in levels]
    text += f" Drawn at random for each trial: {', '.join(one.replace('_', ' ') for one in free)}." if free else ""
    text += " Trials follow from seeds, which are recorded with every session."
    return text


def _column(table: pd.DataFrame, paradigm: str) -> str:
    """The column of conditions that the model of such data takes."""

    somebody = {
        "agent": "somebody",
        "agent_kind": "participant",
        "participant": "P1",
        "session": "s1",
        "oracle": False,
        "correct": True,
    }
    return plain_name(sort_cells(score_table(table.assign(**somebody)), paradigm).by)


def _groups(groups: Sequence[Group]) -> str:
    """The groups of a study: who takes what, and how people come into them."""
    if not groups:
        return ""
    said = []
    for group in groups:
        taken = "all paradigms" if group.paradigms is None else ", ".join(group.paradigms)
        levels = [
            f"{factor.replace('_', ' ')} {level} in {name}"
            for name, fixed in group.set_.items()
            for factor, level in fixed.items()
        ]
        many = "" if group.people is None else f" ({plural(group.people, 'person', 'people')})"
        said.append(f"{group.name}{many} takes {taken}" + (f", with {', '.join(levels)}" if levels else ""))
    return (
        f" Groups of different people: {'; '.join(said)}. SpanLab assigns everybody to one, in the order in which they"
        " come and with numbers kept balanced."
    )


def _exclusions(rules: Sequence[Rule], file: Path | None) -> list[str]:
    counted = "Practice, warm-up and pilot rows are not in any analysis; omitted and invalid answers count as wrong."
    if file is None:
        return [f"{counted} {GAP.format('rules of exclusion (--exclude); without them nobody is left out')}"]
    lines = []
    for number, rule in enumerate(rules, start=1):
        bounds = [
            f"{word} {value:g}" for word, value in (("below", rule.below), ("above", rule.above)) if value is not None
        ]
        only = f", in {', '.join(rule.paradigms)}" if rule.paradigms else ""
        why = f" ({rule.reason})" if rule.reason else ""
        judged = f"{number}. Leave out {rule.leave_out} ({rule.whose}) where {rule.column or rule.where} is"
        lines.append(f"{judged} {' or '.join(bounds)}{only}{why}.")
    applied = f"The rules of `{file.name}` are applied in this order, each to what those before it left:"
    return [f"{counted} {applied}", "", *lines]


def _analysis(
    named: Sequence[tuple[str, Paradigm, Sequence[PlannedTrial]]], grouped: bool
) -> tuple[list[tuple[str, str]], list[str]]:
    """The effects that such data show with their methods, and the mixed model of each paradigm."""
    effects: list[tuple[str, str]] = []
    models: list[str] = []
    for name, paradigm, plan in named:
        trials = [compile_trial(paradigm, one.levels, one.seed) for one in plan if not one.practice]
        table = rehearsed(trials).to_pandas()
        foreseen = prospects.prospects(table, trials[0].paradigm, paradigm.data)
        shown = foreseen.figures
        effects += [(f"{name}: {one.title}", one.method) for one in EFFECTS if one.name in shown]
        effects += own_effects(name, foreseen.effects)
        effects += [(f"{name}: {ROC.title}", ROC_METHOD)] if ROC.name in shown else []
        effects += [(f"{name}: {GROUPS.title}", GROUP_METHOD)] if grouped else []
        column = _column(table, trials[0].paradigm)
        varied = [
            factor
            for factor in paradigm.factors
            if len({str(one.levels.get(factor)) for one in plan if factor in one.levels}) > 1
        ]
        formula = f"correct ~ agent{f' * {column}' if column else ''} + random effects"
        others = f" --by takes another of {listed(varied)}." if len(varied) > 1 else ""
        models += [
            (
                f"**{name}.** {MODEL.format(formula=formula)} Random effects are in the model where the data can tell"
                f" them, by the rules that SpanLab prints.{others}"
            ),
            "",
        ]
    return effects, models
