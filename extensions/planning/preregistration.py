"""The text of a preregistration, from a paradigm or a study alone: design, hypotheses and sample
size to fill in, and the analysis as SpanLab does it. Part of the command line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from spanlab.core import __version__

if TYPE_CHECKING:
    from spanlab.analysis.data import Rule
    from spanlab.analysis.stats import Margin
    from spanlab.paradigms import Paradigm, PlannedTrial
    from spanlab.sessions.studies import Group

#: What only the authors know.
GAP = "**[FILL IN: {}]**"
_SEED = 1


def preregistration(
    source: str, rules: Sequence[Rule] = (), rules_file: Path | None = None, margins: Sequence[Margin] = ()
) -> str:
    """The text as Markdown.

    Parameters
    ----------
    source : a paradigm of the library, its file, or the file of a study
    rules, rules_file : of exclusion, and their file
    margins : within which differences count as none
    """
    from spanlab.paradigms import load_paradigm, plan_session
    from spanlab.sessions.studies import is_study, load_study

    text = ["# Preregistration", ""]
    if is_study(source):
        study = load_study(source)
        named = [(one.name, one.paradigm, one.plan(_SEED, balanced=False)) for one in study.paradigms]
        designs = [
            _design(*of, _each_once(one.paradigm, one.entry.design, one.entry.set_))
            for of, one in zip(named, study.paradigms, strict=True)
        ]
        sessions = [", ".join(study.paradigms[at].name for at in taken) for taken in study.sessions]
        text += [
            (
                f"Study: {study.title} (`{study.name}`, hash {study.hash}). Sessions of each person:"
                f" {'; '.join(sessions)}. Order of paradigms: {study.order}."
            ),
            "",
        ]
        groups = study.groups
    else:
        paradigm = load_paradigm(source)
        named = [(paradigm.name, paradigm, plan_session(paradigm, _SEED))]
        designs = [_design(*named[0], _each_once(paradigm, None, {}))]
        groups = ()
    text += ["## Hypotheses", "", *_hypotheses([paradigm.title for _, paradigm, _ in named]), "", "## Design", ""]
    for (_, paradigm, _), design in zip(named, designs, strict=True):
        text += [f"**{paradigm.title}.** {design}", ""]
    text += _groups(groups)
    text += [
        "## Sample",
        "",
        _sample(groups),
        "",
        "## Exclusions",
        "",
        *_exclusions(rules, rules_file),
        "",
        "## Analysis",
        "",
        *_analysis(named, margins, groups),
        "",
    ]
    return "\n".join([*text, f"Made with SpanLab {__version__}."]) + "\n"


def _hypotheses(titles: Sequence[str]) -> list[str]:
    return [
        f"* {GAP.format(f'H1 on {title}: which conditions or answerers differ, in which measure, and in which direction')}"  # noqa: E501
        for title in titles
    ] + [f"* {GAP.format('which of these tests are confirmatory; all others are exploratory')}"]


def _each_once(paradigm: Paradigm, name: str | None, levels: Mapping[str, Any]) -> list[PlannedTrial]:
    """One trial of each combination of levels that a design leaves."""
    from spanlab.paradigms import plan_session, session_design

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
    from spanlab.analysis.data import plural

    from .methods import level_order

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
    study = (paradigm.data.get("source") or {}).get("study") if isinstance(paradigm.data.get("source"), dict) else None
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
    return (
        f"{text} {GAP.format('practice and its feedback, language, display and distance, and who meets which design')}"
    )


def _column(table: pd.DataFrame, paradigm: str) -> str:
    """The column of conditions that the model of such data takes."""
    from spanlab.analysis.data import plain_name, score_table
    from spanlab.analysis.stats import sort_cells

    somebody = {
        "agent": "somebody",
        "agent_kind": "participant",
        "participant": "P1",
        "session": "s1",
        "oracle": False,
        "correct": True,
    }
    return plain_name(sort_cells(score_table(table.assign(**somebody)), paradigm).by)


def _groups(groups: Sequence[Group]) -> list[str]:
    """The groups of a study: who takes what, and how people come into them."""
    if not groups:
        return []
    lines = []
    for group in groups:
        taken = "all paradigms" if group.paradigms is None else f"{', '.join(group.paradigms)}"
        levels = [
            f"{factor.replace('_', ' ')} {level} in {name}"
            for name, fixed in group.set_.items()
            for factor, level in fixed.items()
        ]
        lines.append(f"* {group.name}: {taken}" + (f", with {', '.join(levels)}" if levels else "") + ".")
    how = (
        "Between people vary the groups of the study. SpanLab assigns everybody to one, in the order in which they come"
        " and with numbers kept balanced:"
    )
    return [how, "", *lines, ""]


def _sample(groups: Sequence[Group]) -> str:
    sizes = [f"{group.people} in {group.name}" for group in groups if group.people is not None]
    each = f" (the study file allows {', '.join(sizes)})" if sizes else ""
    wanted = GAP.format(f"number of people{' in each group' if groups else ''}{each}, and of models and their settings")
    why = GAP.format(
        "why: the smallest effect of interest, the assumed spread, power and seed, as spanlab plan prints them"
    )
    return f"{wanted} {why} {GAP.format('when data collection ends, and whether anybody looks at data before')}"


def _exclusions(rules: Sequence[Rule], file: Path | None) -> list[str]:
    counted = "Practice, warm-up and pilot rows are not in any analysis; omitted and invalid answers count as wrong."
    if file is None:
        return [
            f"{counted} {GAP.format('rules of exclusion, as a file for --exclude; without one nobody is left out')}"
        ]
    lines = []
    for number, rule in enumerate(rules, start=1):
        bounds = [
            f"{word} {value:g}" for word, value in (("below", rule.below), ("above", rule.above)) if value is not None
        ]
        only = f", in {', '.join(rule.paradigms)}" if rule.paradigms else ""
        why = f" ({rule.reason})" if rule.reason else ""
        lines.append(
            f"{number}. Leave out {rule.leave_out} ({rule.whose}) where {rule.column or rule.where} is"
            f" {' or '.join(bounds)}{only}{why}."
        )
    return [
        f"{counted} The rules of `{file.name}` are applied in this order, each to what those before it left:",
        "",
        *lines,
    ]


def _analysis(
    named: Sequence[tuple[str, Paradigm, Sequence[PlannedTrial]]], margins: Sequence[Margin], groups: Sequence[Group]
) -> list[str]:
    """Say what SpanLab will compute of such data: figures and effects with their methods, model,
    intervals, tests."""
    from spanlab.analysis.effects import EFFECTS, GROUP_METHOD, ROC_METHOD
    from spanlab.analysis.figures import GROUPS, ROC, prospects
    from spanlab.paradigms import compile_trial
    from spanlab.sessions import rehearsed

    from .methods import MODEL, REFERENCES, scores_and_tests

    effects, formulas = [], []
    for name, paradigm, plan in named:
        trials = [compile_trial(paradigm, one.levels, one.seed) for one in plan if not one.practice]
        table = rehearsed(trials).to_pandas()
        shown = prospects.prospects(table, trials[0].paradigm).figures
        effects += [(f"{name}: {one.title}", one.method) for one in EFFECTS if one.name in shown]
        effects += [(f"{name}: {ROC.title}", ROC_METHOD)] if ROC.name in shown else []
        effects += [(f"{name}: {GROUPS.title}", GROUP_METHOD)] if groups else []
        varied = [
            factor
            for factor in paradigm.factors
            if len({str(one.levels.get(factor)) for one in plan if factor in one.levels}) > 1
        ]
        column = _column(table, trials[0].paradigm)
        formula = f"correct ~ agent{f' * {column}' if column else ''} + random effects"
        choice = f"--by: {column} is taken unless another of {', '.join(varied)} is named"
        others = f" {GAP.format(choice)}" if len(varied) > 1 else ""
        formulas += [
            (
                f"**{name}.** {MODEL.format(formula=formula)} Random effects of participants, participants in"
                " conditions, items, items in answerers and trials as taken are in the model where the data can tell"
                f" them, by the rules that SpanLab prints.{others}"
            ),
            "",
        ]
    text = [*scores_and_tests(effects, margins), "", *formulas]
    if not margins:
        text += [
            GAP.format(
                "margins within which differences count as none, for --margin, such as 5points; or that no claim of"
                " equivalence is made"
            ),
            "",
        ]
    used = sorted(whole for short, whole in REFERENCES.items() if short in "\n".join(text))
    return [*text, "## References", "", *(f"* {one}" for one in used)]
