"""A draft of the Methods section: what was done, how it was scored and tested. Each sentence comes
from the record; what is not recorded is a gap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd

from spanlab.analysis import Margin
from spanlab.analysis.data import Data, Head, SessionFacts, listed, plural
from spanlab.analysis.effects import EFFECTS, GROUP, GROUP_METHOD, ROC_METHOD
from spanlab.analysis.figures import GROUPS, ROC
from spanlab.analysis.report import protocols_of
from spanlab.analysis.stats import sort_cells
from spanlab.core import PARTICIPANT, SpanLabError, __version__, as_object, grouped, kind_named
from spanlab.sessions.record import browser_of
from spanlab.sessions.studies import people, read_head, read_journal, runs

from .chat_methods import ChatSession, chat_sentences, prompts_appendix


def consent(heads: Sequence[Head]) -> tuple[str, bool]:
    """Return sentences on consent, without anybody's identifier, and whether the record has that of
    everybody.

    Parameters
    ----------
    heads : sessions of people
    """
    everybody = {(_study_folder(head), str(head.session.get("participant"))) for head in heads}
    folders = sorted({folder for folder, _ in everybody if folder is not None})
    agreed = sum(folder is not None and "consent" in _answers(folder, name) for folder, name in everybody)
    sentences = []
    if agreed:
        share = "" if agreed == len(everybody) else f", by {agreed} of {len(everybody)} people"
        sentences.append(f"Consent was given on a page before the first trial{share}; the record has the text.")
    refused, withdrew = (sum(counts) for counts in zip((0, 0), *map(_gone, folders), strict=True))
    if agreed and not refused:
        sentences.append("Nobody refused it.")
    if refused:
        sentences.append(f"{plural(refused, 'person', 'people').capitalize()} refused it and took no part.")
    if withdrew:
        sentences.append(f"{plural(withdrew, 'person', 'people')} withdrew, and their data were removed.")
    return "".join(f" {sentence}" for sentence in sentences), bool(agreed) and agreed == len(everybody)


def _study_folder(head: Head) -> Path | None:
    """The folder of the study that a session belongs to; None of a session that lies in none."""
    try:
        read_head(head.folder.parent)
    except SpanLabError:
        return None
    return head.folder.parent.parent.parent


def _answers(folder: Path, name: str) -> list[str]:
    """What a participant of a study answered to the text of consent, in order: ``consent`` or
    ``refused``."""
    try:
        lines = [line for visit in runs(folder, name) for line in read_journal(visit)]
    except SpanLabError:
        return []
    return [line["event"] for line in lines if line["event"] in ("consent", "refused")]


def _gone(folder: Path) -> tuple[int, int]:
    """How many people refused to take part in a study, and how many withdrew."""
    try:
        registered = [person for person in people(folder) if person.kind == "person"]
    except SpanLabError:
        return 0, 0
    names: Iterable[str] = (person.name for person in registered if person.name and not person.withdrawn)
    refused = sum({*_answers(folder, name)} == {"refused"} for name in names)
    return refused, sum(bool(person.withdrawn) for person in registered)


#: Methods that are named in the text, and what to cite for them.
REFERENCES: Mapping[str, str] = {
    "Bamber, 1975": (
        "Bamber, D. (1975). The area above the ordinal dominance graph and the area below the receiver operating"
        " characteristic graph. Journal of Mathematical Psychology, 12, 387–415."
    ),
    "Cameron, Gelbach, & Miller, 2011": (
        "Cameron, A. C., Gelbach, J. B., & Miller, D. L. (2011). Robust inference with multiway clustering. Journal of"
        " Business & Economic Statistics, 29, 238–249."
    ),
    "Chung et al., 2013": (
        "Chung, Y., Rabe-Hesketh, S., Dorie, V., Gelman, A., & Liu, J. (2013). A nondegenerate penalized likelihood"
        " estimator for variance parameters in multilevel models. Psychometrika, 78, 685–709."
    ),
    "Clopper & Pearson, 1934": (
        "Clopper, C. J., & Pearson, E. S. (1934). The use of confidence or fiducial limits illustrated in the case of"
        " the binomial. Biometrika, 26, 404–413."
    ),
    "DeLong et al., 1988": (
        "DeLong, E. R., DeLong, D. M., & Clarke-Pearson, D. L. (1988). Comparing the areas under two or more correlated"
        " receiver operating characteristic curves: A nonparametric approach. Biometrics, 44, 837–845."
    ),
    "Dorfman & Alf, 1969": (
        "Dorfman, D. D., & Alf, E. (1969). Maximum-likelihood estimation of parameters of signal-detection theory and"
        " determination of confidence intervals: Rating-method data. Journal of Mathematical Psychology, 6, 487–496."
    ),
    "Gourevitch & Galanter, 1967": (
        "Gourevitch, V., & Galanter, E. (1967). A significance test for one parameter isosensitivity functions. "
        "Psychometrika, 32, 25–33."
    ),
    "Hautus, 1995": (
        "Hautus, M. J. (1995). Corrections for extreme proportions and their biasing effects on estimated values of d′."
        " Behavior Research Methods, Instruments, & Computers, 27, 46–51."
    ),
    "Hesterberg, 2015": (
        "Hesterberg, T. C. (2015). What teachers should know about the bootstrap. The American Statistician, 69,"
        " 371–386."
    ),
    "Holm, 1979": (
        "Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics,"
        " 6, 65–70."
    ),
    "Lancaster, 1961": (
        "Lancaster, H. O. (1961). Significance tests in discrete distributions. Journal of the American Statistical"
        " Association, 56, 223–234."
    ),
    "Schuirmann, 1987": (
        "Schuirmann, D. J. (1987). A comparison of the two one-sided tests procedure and the power approach for"
        " assessing the equivalence of average bioavailability. Journal of Pharmacokinetics and Biopharmaceutics, 15,"
        " 657–680."
    ),
    "Welch, 1947": (
        "Welch, B. L. (1947). The generalization of “Student's” problem when several different population variances are"
        " involved. Biometrika, 34, 28–35."
    ),
    "Welch, 1951": (
        "Welch, B. L. (1951). On the comparison of several mean values: An alternative approach. Biometrika, 38,"
        " 330–336."
    ),
    "Wilson, 1927": (
        "Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. Journal of the"
        " American Statistical Association, 22, 209–212."
    ),
}
#: Settings of agents that a paper tells, and what they are called there; others are in the record.
#: Those of chat models have sentences of their own.
_SETTINGS: Mapping[str, str] = {
    "model": "model",
    "provider": "provider",
    "endpoint": "endpoint",
    "reading": "reading of answers",
    "checkpoint": "checkpoint",
    "sha256": "SHA-256 of the checkpoint",
    "architecture": "architecture",
    "hidden": "hidden units",
    "parameters": "parameters",
}
GAP = "[not recorded: {}]"


def methods(
    data: Data, heads: Sequence[Head], margins: Sequence[Margin] = (), by: str | None = None, also: Sequence[str] = ()
) -> str:
    """The section as Markdown.

    Parameters
    ----------
    data : as they were loaded, with rules of exclusion applied
    heads : of the sessions among them
    margins : within which differences count as none
    by : the column of conditions of the mixed-effects models; chosen as ``spanlab stats`` chooses
        when not given
    also : rows that are in the analysis although they are left out by default: ``practice``,
        ``pilot``
    """
    names = sorted(data.scored.parts)
    text = ["# Methods", "", *_participants(data, heads), ""]
    for name in names:
        task_heads = [head for head in heads if head.session.get("paradigm") == name]
        task_facts = [facts for facts in data.sessions if facts.paradigm == name]
        text += [f"## {data.titles[name]}", "", *_task(name, task_heads, task_facts), ""]
    chats = [ChatSession.of(head.folder, head.session) for head in heads if _asked(head)]
    models = _models(data, heads, chats)
    text += ["## Models", "", *models, ""] if models else []
    text += [
        "## Exclusions",
        "",
        *_exclusions(data, also),
        "",
        "## Scores and tests",
        "",
        *scores_and_tests(_effects(data), margins),
        "",
    ]
    text += [_model(data, name, by) for name in names]
    text += ["", "## Software", "", *_software(heads)]
    text += ["", "## References", "", *(f"* {one}" for one in _references(heads, "\n".join(text)))]
    text += prompts_appendix(chats)
    return "\n".join(text) + "\n"


def _participants(data: Data, heads: Sequence[Head]) -> list[str]:
    heads = [head for head in heads if head.session.get("agent_kind") == PARTICIPANT.name]
    people = {str(head.session.get("participant")) for head in heads} - {"", "None"}
    items = data.scored.items
    analysed = set(items.loc[items["agent_kind"] == PARTICIPANT.name, "participant"].astype(str)) - {""}
    if not people and not analysed:
        return ["No people took part; the data are those of machines."]
    many = len(people | analysed)
    text = plural(many, "person took part", "people took part") if many != 1 else "One person took part"
    text += f", of whom {len(analysed)} are analysed." if len(analysed) != many else "."
    days = sorted({facts.started[:10] for facts in data.sessions if facts.started and facts.kind == PARTICIPANT.name})
    if days:
        when = f"from {days[0]} to {days[-1]}" if len(days) > 1 else f"on {days[0]}"
        text += f" Sessions were recorded {when} (UTC)."
    studies = sorted(
        {
            str(study.get("name") or study.get("study") or "")
            for head in heads
            if isinstance(study := head.session.get("study"), Mapping)
        }
        - {""}
    )
    text += f" They belong to the study {listed(studies)}." if studies else ""
    text += _groups(items[items["agent_kind"] == PARTICIPANT.name], heads)
    text += _in_browsers(heads)
    asked = {field for head in heads for field in as_object(as_object(head.session.get("study")).get("fields"))}
    text += f" The record has what the study asked them: {listed(sorted(asked))}." if asked else ""
    unknown = [name for name, fields in (("age", {"age"}), ("gender", {"gender", "sex"})) if not fields & asked]
    sentences, whole = consent(heads)
    unknown += ["recruitment", "compensation", *([] if whole else ["consent"]), "ethics approval"]
    return ["## Participants", "", f"{text}{sentences} {GAP.format(', '.join(unknown))}"]


def _groups(items: pd.DataFrame, heads: Sequence[Head]) -> str:
    """Say how many people are in each group, and who put them there; empty without groups."""
    if GROUP not in items.columns or not items[GROUP].notna().any():
        return ""
    names = items[GROUP].astype(object).where(items[GROUP].notna(), "").astype(str)
    people = items[names != ""].groupby(names[names != ""], sort=True)["participant"].nunique()
    counts = listed([f"{name} (n = {many})" for name, many in people.items()])
    assigned = any(isinstance(study := head.session.get("study"), Mapping) and study.get("group") for head in heads)
    how = (
        "the study assigned them in the order in which they came, with numbers kept balanced"
        if assigned
        else GAP.format("how they were assigned")
    )
    return f" Groups of different people: {counts}; {how}."


def _in_browsers(heads: Sequence[Head]) -> str:
    """Say which people sat at a page in a browser, and what their sessions say of it; empty where
    nobody did."""
    browsers, at_window, rates = dict[str, set[str]](), set[str](), set[int]()
    for head in heads:
        who, browser = str(head.session.get("participant")), browser_of(head.session)
        if browser is None:
            at_window.add(who)
        else:
            browsers.setdefault(str(browser), set()).add(who)
            hz = as_object(head.session.get("apparatus")).get("hz")
            rates |= {round(float(hz))} if isinstance(hz, int | float) else set()
    if not browsers:
        return ""
    text = (
        f" {plural(len(set[str]().union(*browsers.values())), 'person', 'people')} took part at a page in a browser: "
    )
    text += listed([f"{name} (n = {len(who)})" for name, who in sorted(browsers.items())])
    text += f"; screens at {_span(sorted(rates))} Hz" if rates else ""
    text += f". {plural(len(at_window), 'person', 'people')} took part at a window" if at_window else ""
    return f"{text}. {GAP.format('where people at browsers were, and how large they saw the displays')}"


def _task(name: str, heads: Sequence[Head], facts: Sequence[SessionFacts]) -> list[str]:
    """A paradigm: what it is, trials, levels, practice, timing."""
    if not heads:
        return [
            f"The data of {name} are a table without sessions."
            f" {GAP.format('paradigm file, trials as planned, timing, instructions and versions')}"
        ]
    heads, facts, rehearsals = _without_rehearsals(heads, facts)
    versions = Counter(
        (str(head.session.get("paradigm_version")), str(head.session.get("paradigm_hash"))) for head in heads
    )
    editions = listed([f"version {version}, hash {hash_}" for version, hash_ in versions])
    generators = listed(sorted({str(head.session.get("generator")) for head in heads}))
    text = f"The paradigm is `{name}` of SpanLab ({editions}), with trials of the {generators} generator."
    paradigm = as_object(heads[0].session.get("paradigm_data"))
    study = _source(paradigm).get("study")
    text += f" It follows {study}." if study else ""
    paragraphs = [text, _trials(heads, facts) + rehearsals, _phases(paradigm), *_timing(facts)]
    return [one for paragraph in paragraphs if paragraph for one in (paragraph, "")][:-1]


def _without_rehearsals(
    heads: Sequence[Head], facts: Sequence[SessionFacts]
) -> tuple[Sequence[Head], Sequence[SessionFacts], str]:
    """Return the sessions of a paradigm without those of simulated participants, who tell nothing
    of how people's displays were timed, and what is said of these; all where there are no others."""

    def rehearsed(kind: object) -> bool:
        return kind_named(str(kind)).role == "stand-in"

    simulated = sum(rehearsed(head.session.get("agent_kind")) for head in heads)
    if simulated == len(heads):
        return heads, facts, " All of this describes simulated participants."
    return (
        [head for head in heads if not rehearsed(head.session.get("agent_kind"))],
        [one for one in facts if not rehearsed(one.kind)],
        f" Not counted here, nor in the timing below: {plural(simulated, 'session')} of simulated participants."
        if simulated
        else "",
    )


def _trials(heads: Sequence[Head], facts: Sequence[SessionFacts]) -> str:
    counts = sorted({one.trials for one in facts})
    text = (
        f"{plural(len(heads), 'session')} of {_span(counts)} {'trials' if counts != [1] else 'trial'} each (practice"
        " not counted)"
    )
    levels: dict[str, set[str]] = {}
    for head in heads:
        for chosen in _levels(head.session.get("plan")):
            for factor, level in chosen.items():
                levels.setdefault(str(factor), set()).add(_plain(level))
    varied = [
        f"{factor.replace('_', ' ')} ({', '.join(sorted(values, key=level_order))})"
        for factor, values in levels.items()
        if len(values) > 1
    ]
    fixed = [
        f"{factor.replace('_', ' ')} {next(iter(values))}" for factor, values in levels.items() if len(values) == 1
    ]
    text += f", with {listed(varied)} varied" if varied else ""
    text += f", and {listed(fixed)} throughout" if fixed else ""
    designs = sorted({str(head.session.get("design")) for head in heads if head.session.get("design")})
    text += f" (design {listed(designs)})." if designs else "."
    languages = sorted({str(head.session.get("language")) for head in heads if head.session.get("language")})
    text += f" Instructions were in {listed(languages)} (language codes)." if languages else ""
    conditions = [f"{listed(who)} had {what}" for what, who in protocols_of(facts).items()]
    return text + (f" Practice and memory: {'; '.join(conditions)}." if conditions else "")


def _levels(plan: Any) -> Iterable[Mapping[str, Any]]:
    """The combinations of levels of a plan, practice left out where the plan tells it."""
    if isinstance(plan, list):
        return [one.get("levels") or {} for one in plan if isinstance(one, Mapping) and not one.get("practice")]
    if isinstance(plan, Mapping):
        return [one for one in plan.get("levels") or [] if isinstance(one, Mapping)]
    return []


def _phases(paradigm: Mapping[str, Any]) -> str:
    """Durations that stand in the paradigm as numbers."""
    durations: list[str] = []

    def walk(node: Any, phase: str) -> None:
        for step in node if isinstance(node, list) else []:
            if isinstance(step, Mapping):
                here = str(step.get("phase") or phase)
                ms = as_object(step.get("show")).get("ms")
                if isinstance(ms, int | float) and not isinstance(ms, bool):
                    durations.append(f"{here} {ms:g} ms")
                for inside in step.values():
                    walk(inside, here)

    walk(paradigm.get("timeline"), "")
    return (
        "Planned durations of displays that the paradigm gives as numbers (a display may be repeated):"
        f" {', '.join(dict.fromkeys(durations))}."
        if durations
        else ""
    )


def _timing(facts: Sequence[SessionFacts]) -> list[str]:
    """Say how precisely displays were shown, at windows and in browsers apart."""
    light, keys = "when light left the screen", "when keys closed, unless measured with a photodiode"
    at_window = _timing_in("At the window", [one for one in facts if not one.browser], f"{light} and {keys}")
    in_browsers = _timing_in(
        "In browsers", [one for one in facts if one.browser], f"{light}, and when keys and touches were made"
    )
    return [*at_window, *([""] if at_window and in_browsers else []), *in_browsers]


def _timing_in(where: str, facts: Sequence[SessionFacts], unknown: str) -> list[str]:
    timings = [one.timing for one in facts if one.timing is not None]
    displays = [display for one in timings for display in one.timed]
    if not displays:
        return []
    off, dropped = sum(display.off != 0 for display in displays), sum(one.dropped for one in timings)
    errors = [display.shown_ms - display.planned_ms for display in displays]
    mean, worst = fmean(errors), max(errors, key=abs)
    longer = "longer" if mean > 0 else "shorter"
    text = (
        f"{where} {len(displays):,} displays with a planned duration were shown, on average {abs(mean):.1f} ms"
        f" {longer} than planned; "
        f"{off:,} were off by a frame or more, at most by {abs(worst):.1f} ms, and {plural(dropped, 'frame')} came"
        " late. These are times of the computer; "
    )
    return [text + GAP.format(unknown)]


def _asked(head: Head) -> bool:
    """Return whether SpanLab asked a chat model in this session, and knows what it sent."""
    return kind_named(str(head.session.get("agent_kind"))).converses and "published" not in head.session


def _models(data: Data, heads: Sequence[Head], chats: Sequence[ChatSession]) -> list[str]:
    """Machines, with their settings."""
    lines: dict[str, None] = {}
    for head in heads:
        session = head.session
        kind = kind_named(str(session.get("agent_kind")))
        if kind.role == "person" or _asked(head):
            continue
        text = _machine(session, kind.label or kind.name)
        if session.get("label"):
            text += f". **{session['label']}**"
        text += ". A yardstick, in no test" if kind.yardstick else ""
        text += ". It was given the correct answers: a yardstick, in no test" if session.get("oracle") else ""
        lines[f"{text}."] = None
    groups = grouped((_machine(chat.info, "chat model"), chat) for chat in chats)
    asked = [f"{machine}. {' '.join(chat_sentences(sessions))}" for machine, sessions in groups.items()]
    failed = sum(sum(facts.failed.values()) for facts in data.sessions)
    return [
        *lines,
        *asked,
        *([f"Of the chat models' trials {failed:,} could not be obtained."] if chats and failed else []),
    ]


def _machine(session: Mapping[str, Any], kind: str) -> str:
    """A machine, and the settings of it that every kind has."""
    settings = as_object(session.get("agent_settings"))
    values = [
        f"{words} {_plain(settings[key])}"
        for key, words in _SETTINGS.items()
        if settings.get(key) not in (None, "", [], {})
    ]
    text = f"* `{session.get('agent')}` ({kind})" + (f": {', '.join(values)}" if values else "")
    return f"{text}; settings hash {session.get('agent_settings_hash')}"


def _exclusions(data: Data, also: Sequence[str]) -> list[str]:
    left = [name for name in ("practice", "pilot") if name not in also]
    paragraphs = [
        f"Warm-up{' and ' + listed(left) if left else ''} rows are not in any analysis; omitted and invalid answers"
        " count as wrong."
    ]
    paragraphs += [f"Rows of {listed([*also])} are in the analysis, as requested."] if also else []
    if data.exclusions is None:
        paragraphs.append("No exclusion rule was applied.")
    else:
        paragraphs += ["Rules were applied in this order:", "", *(f"* {note}" for note in data.exclusions.notes)]
    return [*paragraphs, *(["", *(f"* {problem}" for problem in data.problems)] if data.problems else [])]


def own_effects(name: str, declared: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Effects that the file of a paradigm declares, and what each compares."""
    return [
        (f"{name}: {one.name.replace('_', ' ')}", f"{one.caption} It compares {one.compared}.".strip())
        for one in declared.values()
    ]


def _effects(data: Data) -> list[tuple[str, str]]:
    """Effects that the data show, and how each is computed."""
    methods_of = []
    for name in sorted(data.scored.parts):
        methods_of += [
            (f"{name}: {effect.title}", effect.method) for effect in EFFECTS if not effect.missing(data.scored, name)
        ]
        methods_of += own_effects(name, data.scored.parts[name].of_file.effects)
        methods_of += [(f"{name}: {ROC.title}", ROC_METHOD)] if not ROC.missing(data.scored, name) else []
        methods_of += [(f"{name}: {GROUPS.title}", GROUP_METHOD)] if not GROUPS.missing(data.scored, name) else []
    return methods_of


def scores_and_tests(effects: Sequence[tuple[str, str]], margins: Sequence[Margin]) -> list[str]:
    """Say how the scores, intervals and tests on the page are computed.

    Parameters
    ----------
    effects : names, and how each is computed where that is particular
    """
    paragraphs = [
        (
            "Accuracy is averaged within each trial, then within each participant, then over participants. Units of"
            " standard errors and intervals are participants where an answerer is several people, sessions where a"
            " machine has taken several, and trials otherwise; where several took the same trials, what these add to"
            " the variance is added (Cameron, Gelbach, & Miller, 2011). 95% intervals of shares are score intervals"
            " (Wilson, 1927) for as many independent answers as have the variance between units, with Student's t for"
            " their number, and with a wider end towards one half, where the spread of people is larger; binomial ones"
            " with mid-p (Lancaster, 1961) where each unit is right or wrong, and exact ones (Clopper & Pearson, 1934)"
            " where all are alike. Those of other means are Student's."
        ),
        "",
        (
            "Slopes and differences of conditions are tested by two-tailed t tests over these units, against what"
            " guessing gives, with the standard error of their intervals (that of Bell & McCaffrey, 2002, where units"
            " lack a condition). p is 1 minus the level at which the interval ends at the value tested against. In"
            " sentences p values are corrected for all claims of one kind (false discovery rate; Benjamini &"
            " Hochberg, 1995), with the intervals that belong to them (Benjamini & Yekutieli, 2005); in tables p"
            " values of single claims are not corrected. Where shares are near 0 or 100 %, the limit"
            " further from 0 may lie where the combined limits of the shares do."
        ),
    ]
    if any("d′" in method or "d′" in name for name, method in effects):
        paragraphs[-1] += (
            " d′ and criterion are computed with half an answer added to each count (log-linear; Hautus, 1995); of one"
            " person or machine, with standard errors of Gourevitch & Galanter, 1967."
        )
    paragraphs[-1] += (
        f" Differences count as none within {listed([one.words for one in margins])}, by two one-sided t tests at 5%"
        " (Schuirmann, 1987)."
        if margins
        else " No margin was declared, so that nothing is called equivalent."
    )
    particular = [f"* {name}: {method}" for name, method in effects if method]
    return [*paragraphs, *(["", "Computed in particular:", "", *particular] if particular else [])]


MODEL = (
    "Answerers and conditions are compared by a mixed-effects logistic model (`{formula}`), fitted by Laplace's"
    " approximation, with normal priors of cells (standard deviation 3 in log odds) and gamma priors of standard"
    " deviations (shape 2, rate 2; Chung et al., 2013). Terms are tested by likelihood ratios, contrasts by t tests"
    " with Satterthwaite's degrees of freedom; p values are corrected within each kind of contrast (Holm, 1979)."
)


def _model(data: Data, name: str, by: str | None) -> str:
    cells = sort_cells(data.scored, name, by)
    return (
        f"**{name}.** "
        + (MODEL.format(formula=cells.formula) if len(cells.table) else "Only yardsticks answered; there is no model.")
        + "\n"
    )


def _software(heads: Sequence[Head]) -> list[str]:
    versions_of: dict[str, set[str]] = {}
    for head in heads:
        for name, version in as_object(head.session.get("versions")).items():
            versions_of.setdefault(str(name), set()).add(str(version))
    packages = ", ".join(
        f"{name} {' and '.join(sorted(versions))}" for name, versions in versions_of.items() if name != "spanlab"
    )
    recorded = (
        f"Sessions were recorded with SpanLab {' and '.join(sorted(versions_of['spanlab']))} ({packages})."
        if "spanlab" in versions_of
        else GAP.format("versions of the software")
    )
    return [f"{recorded} This section and the analysis were made with SpanLab {__version__}."]


def _references(heads: Sequence[Head], text: str) -> list[str]:
    references = {whole for short, whole in REFERENCES.items() if short in text}
    for head in heads:
        study = _source(as_object(head.session.get("paradigm_data"))).get("study")
        references |= {str(study)} if study else set()
    return sorted(references)


def _source(paradigm: Mapping[str, Any]) -> Mapping[str, Any]:
    return as_object(paradigm.get("source"))


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value))
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) and value >= 10_000 else str(value)


def level_order(text: str) -> tuple[int, float, str]:
    """Return the place of a level among others: numbers by their size, then words."""
    try:
        return 0, float(text), ""
    except ValueError:
        return 1, 0.0, text


def _span(counts: Sequence[int]) -> str:
    if not counts:
        return "an unknown number of"
    return f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
