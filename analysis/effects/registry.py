"""The memory effects that SpanLab looks for, each declared once. Figures, tables, tests, scores,
report and documentation all come from this registry.

An effect applies to whatever data have its columns, not to a list of paradigms, so variants of a
paradigm have its figures too. N-back has tables of its own.
"""

from __future__ import annotations

from ...core.registry import Instances
from . import recall, transforms
from .capacity import Capacity
from .curves import Averages, EndsOfLists
from .effect import Effect
from .sensitivity import Sensitivity

_ITEMS = "{} items"
_CUE_IGNORED = "somebody who ignores every cue and goes by the stimulus alone"
_JUDGEMENTS = ("one task", "repetition", "switch")
_CONGRUENCES = ("congruent", "incongruent")
_COSTS = (("mixing cost", "one task", "repetition"), ("switch cost", "repetition", "switch"))
_COSTS_IN_TIME = (("mixing cost", "repetition", "one task"), ("switch cost", "switch", "repetition"))
_DETECTED = Sensitivity(("measure", "set_size"))
_PARTS = Sensitivity(("measure", "list_length"))
_OF_ALL = Sensitivity(("measure", "questions"))
_CHOSEN = Sensitivity(("measure", "set_size"), "forced choice", ("d′", "side bias"))
_DETECTION = (
    "A hit is something to detect (a change, an asymmetry, a difference, an old item) that was reported, a false alarm"
    " a report where it was not there: d′ = z(H) − z(F), criterion = −(z(H) + z(F)) / 2, above 0 for somebody who"
    " rarely reports it. Half an answer is added to each count (log-linear)."
)
_UNSIZED = Effect(
    name="sensitivity_overall",
    title="sensitivity and criterion of all questions",
    x="questions",
    x_title="questions",
    panels=("measure",),
    panel_order=_OF_ALL.measures,
    needs=("correct_answer",),
    prepare=_OF_ALL.unsized_rows,
    estimator=_OF_ALL,
    measure="d′ or criterion",
    order=("all",),
    human=False,
    method=_DETECTION,
    alone=True,
)
_OURS = (
    Effect(
        name="serial_position",
        title="correct by serial position",
        paradigms=(
            "vsr",
            "vsrec",
            "lsr",
            "sfr",
            "vir",
            "cs",
            "digit_span",
            "corsi",
            "operation_span",
            "symmetry_span",
            "running_span",
        ),
        x="serial_position",
        x_title="serial position",
        panels=("list_length",),
        panel_labels=(_ITEMS,),
        needs=("list_length", "serial_position"),
        method=(
            "Proportion of items that were answered correctly at each position of the list, for each list length. In"
            " free recall an item is correct when it was recalled at all, in whatever order."
        ),
    ),
    Effect(
        name="primacy_recency",
        title="primacy and recency",
        paradigms=("vsr", "vsrec", "lsr", "sfr", "digit_span", "corsi", "operation_span", "symmetry_span"),
        x="list_length",
        x_title="list length",
        panels=("index",),
        panel_order=("primacy", "recency"),
        needs=("list_length", "serial_position"),
        prepare=transforms.ends_of_lists,
        estimator=EndsOfLists("stands_out", guessing=0.0),
        measure="first or last minus middle",
        human=False,
        method=(
            "Within each trial of three items or more: correct at the first (primacy) or the last position (recency)"
            " minus the mean of all positions between. 0 means no effect."
        ),
        alone=True,
    ),
    Effect(
        name="free_recall",
        title="whole lists recalled",
        paradigms=("sfr",),
        x="list_length",
        x_title="list length",
        panels=("criterion",),
        panel_order=("in any order", "in order"),
        needs=("list_length", "serial_position", "output_position"),
        prepare=transforms.whole_recall,
        measure="trials with the whole list",
        human=False,
        method=(
            "Proportion of trials in which every item was recalled and nothing else: in any order, and in the order of"
            " presentation."
        ),
        alone=True,
    ),
    Effect(
        name="first_recalled",
        title="what was recalled first",
        paradigms=("sfr",),
        x="list_length",
        x_title="list length",
        panels=("recalled_first",),
        panel_order=("first item", "last four", "another item", "not an item"),
        needs=("list_length", "serial_position", "output_position"),
        prepare=transforms.recalled_first,
        measure="trials",
        human=False,
        method=(
            "What the first answer of each trial was: the first item of the list, one of its last four (which do not"
            " include the first), another item, or something that was not in the list. Trials without any answer are"
            " left out."
        ),
        alone=True,
    ),
    Effect(
        name="set_size",
        title="correct by set size",
        paradigms=("smu", "cd", "vsr", "vsrec", "lsr", "sfr", "vir", "sc", "sternberg"),
        x="set_size",
        x_title="set size",
        needs=("set_size",),
        method="Proportion correct by the number of items to be held in memory, averaged over everything else.",
    ),
    Effect(
        name="retention_interval",
        title="correct by retention interval",
        paradigms=("vir", "cd", "delayed_match"),
        x="retention_steps",
        x_title="retention interval (model steps)",
        panels=("set_size",),
        panel_labels=(_ITEMS,),
        needs=("retention_steps", "set_size"),
        method=(
            "Proportion correct by the number of empty steps between the last item and the probe, for each number of"
            " items."
        ),
    ),
    Effect(
        name="serial_position_retention",
        title="serial positions by retention interval",
        paradigms=("vir",),
        x="serial_position",
        x_title="serial position",
        panels=("list_length", "retention_steps"),
        panel_labels=(_ITEMS, "retention {}"),
        needs=("retention_steps", "list_length", "serial_position"),
        method=(
            "Proportion correct at each position of the list, for each list length and retention interval (in model"
            " steps)."
        ),
    ),
    Effect(
        name="cognitive_load",
        title="correct by cognitive load",
        paradigms=("cs",),
        x="record_cognitive_load",
        x_title="cognitive load",
        panels=("factor_storage", "factor_distractor_domain"),
        panel_labels=("{} storage", "{} decisions"),
        needs=("factor_storage", "factor_distractor_domain", "record_cognitive_load", "serial_position"),
        prepare=transforms.probes,
        method=(
            "Proportion of the two stored items that were found among eight, by cognitive load: the share of the time"
            " between items that the decisions take. The decisions themselves, for which nothing need be held, are not"
            " among the answers."
        ),
    ),
    Effect(
        name="domain_conflict",
        title="same and other domain",
        paradigms=("cs",),
        x="domains",
        x_title="domain of the decisions",
        panels=("factor_storage", "factor_load"),
        panel_labels=("{} storage", "load {}"),
        needs=("factor_storage", "factor_distractor_domain", "factor_load", "serial_position"),
        prepare=transforms.domains,
        order=("the same", "the other"),
        differences=(("conflict", "the other", "the same"),),
        human=False,
        method=(
            "Proportion of stored items found, where the decisions were of the same domain as the items and where they"
            " were of the other one. Trials without any decision are left out: no domain can conflict there."
        ),
    ),
    Effect(
        name="memory_resolution",
        title="correct by pattern–distractor difference",
        paradigms=("vsrec",),
        x="factor_pattern_distractor_difference",
        x_title="cells that differ",
        panels=("list_length",),
        panel_labels=(_ITEMS,),
        needs=("factor_pattern_distractor_difference", "list_length"),
        method=(
            "Proportion of patterns distinguished from their distractors, by the number of cells in which the two"
            " differ, for each list length."
        ),
    ),
    Effect(
        name="features",
        title="correct by feature and set size",
        paradigms=("cd",),
        x="set_size",
        x_title="set size",
        panels=("factor_feature",),
        panel_order=("colour", "orientation", "size", "gap", "conjunction"),
        needs=("factor_feature", "set_size"),
        method=("Proportion correct by the number of items, for each feature; conjunction: any feature may differ."),
    ),
    Effect(
        name="conjunctions",
        title="conjunctions by what changed",
        paradigms=("cd",),
        x="set_size",
        x_title="set size",
        panels=("change",),
        panel_order=("colour", "orientation", "size", "gap", "nothing"),
        needs=("factor_feature", "record_changed_feature", "set_size"),
        prepare=transforms.conjunctions,
        human=False,
        method=(
            "Trials in which any of four features may change: proportion correct by the number of bars, for each"
            " feature that did change. Where nothing changed, correct means that 'same' was said."
        ),
    ),
    Effect(
        name="symmetry_offset",
        title="correct by symmetry offset",
        paradigms=("sc",),
        x="record_symmetry_offset",
        x_title="cells out of symmetry (0: symmetric)",
        panels=("list_length",),
        panel_labels=("{} cells",),
        needs=("record_symmetry_offset", "list_length"),
        method=(
            "Proportion correct by the number of cells that break the symmetry, for each number of cells. At 0 the"
            " figure is symmetric, and correct means that 'symmetric' was said; a readiness to say so shows there and"
            " in all others, in opposite directions."
        ),
    ),
    Effect(
        name="integrations",
        title="correct by number of parts",
        paradigms=("si",),
        x="list_length",
        x_title="parts to integrate",
        needs=("factor_part_size", "list_length"),
        method="Proportion correct by the number of parts in which something was shown.",
    ),
    Effect(
        name="task_switching",
        title="switching and mixing",
        paradigms=("sts", "sts_congruency"),
        x="judgement",
        x_title="judgement",
        needs=("record_transition",),
        prepare=transforms.judgements,
        order=_JUDGEMENTS,
        differences=_COSTS,
        human=False,
        estimator=Averages(without="cue_ignored", without_label=_CUE_IGNORED),
        method=(
            "Proportion correct in runs of one task, and in mixed runs after the same task (repetition) and after the"
            " other (switch). Mixing cost: one task minus repetition; switch cost: repetition minus switch. The first"
            " judgement of a run is neither, and is left out."
        ),
    ),
    Effect(
        name="switching_time",
        title="time to switch and to mix",
        paradigms=("sts", "sts_congruency"),
        x="judgement",
        x_title="judgement",
        needs=("record_transition", "rt_ms"),
        prepare=transforms.timed_judgements,
        estimator=Averages("rt_ms"),
        measure="reaction time (ms)",
        order=_JUDGEMENTS,
        differences=_COSTS_IN_TIME,
        human=False,
        method=(
            "Mean reaction time of correct judgements, in runs of one task, and in mixed runs after the same task and"
            " after the other."
        ),
    ),
    Effect(
        name="congruency",
        title="correct by congruency",
        paradigms=("sts", "sts_congruency"),
        x="congruence",
        x_title="stimulus",
        needs=("record_transition", "record_congruent"),
        prepare=transforms.congruences,
        order=_CONGRUENCES,
        differences=(("congruency effect", "congruent", "incongruent"),),
        human=False,
        estimator=Averages(without="cue_ignored", without_label=_CUE_IGNORED),
        method=(
            "Proportion correct where both tasks have the same answer to the stimulus (congruent), and where they do"
            " not (incongruent). Congruency effect: congruent minus incongruent. The first judgement of a run is left"
            " out."
        ),
    ),
    Effect(
        name="congruency_time",
        title="time by congruency",
        paradigms=("sts", "sts_congruency"),
        x="congruence",
        x_title="stimulus",
        needs=("record_transition", "record_congruent", "rt_ms"),
        prepare=transforms.timed_congruences,
        estimator=Averages("rt_ms"),
        measure="reaction time (ms)",
        order=_CONGRUENCES,
        differences=(("congruency effect", "incongruent", "congruent"),),
        human=False,
        method=(
            "Mean reaction time of correct judgements, where both tasks have the same answer to the stimulus"
            " (congruent), and where they do not (incongruent). Congruency effect: incongruent minus congruent."
        ),
    ),
    Effect(
        name="switching_by_congruency",
        title="switching and mixing by congruency",
        paradigms=("sts", "sts_congruency"),
        x="judgement",
        x_title="judgement",
        panels=("congruence",),
        panel_order=_CONGRUENCES,
        needs=("record_transition", "record_congruent"),
        prepare=transforms.congruences,
        order=_JUDGEMENTS,
        differences=_COSTS,
        human=False,
        estimator=Averages(without="cue_ignored", without_label=_CUE_IGNORED),
        method=(
            "Proportion correct in runs of one task, and in mixed runs after the same task and after the other, for"
            " congruent and incongruent stimuli. Only where tasks have different answers (incongruent) does it take the"
            " right task to be right."
        ),
    ),
    Effect(
        name="switching_time_by_congruency",
        title="time to switch and to mix by congruency",
        paradigms=("sts", "sts_congruency"),
        x="judgement",
        x_title="judgement",
        panels=("congruence",),
        panel_order=_CONGRUENCES,
        needs=("record_transition", "record_congruent", "rt_ms"),
        prepare=transforms.timed_congruences,
        estimator=Averages("rt_ms"),
        measure="reaction time (ms)",
        order=_JUDGEMENTS,
        differences=_COSTS_IN_TIME,
        human=False,
        method=(
            "Mean reaction time of correct judgements, in runs of one task, and in mixed runs after the same task and"
            " after the other, for congruent and incongruent stimuli."
        ),
    ),
    Effect(
        name="capacity",
        title="items held (K)",
        paradigms=("cd",),
        x="set_size",
        x_title="set size",
        panels=("formula",),
        panel_order=("Pashler", "Cowan"),
        needs=("set_size", "correct_answer"),
        prepare=transforms.detections,
        estimator=Capacity(),
        measure="items (K)",
        human=False,
        method=(
            "From hit rate H (changes seen) and false-alarm rate F: Pashler's K = N (H − F) / (1 − F), for probes that"
            " show the whole display again; Cowan's K = N (H − F), for probes of a single"
            " item, is shown beside it."
        ),
        alone=True,
    ),
    Effect(
        name="transpositions",
        title="transpositions by distance",
        paradigms=("vsr", "lsr", "digit_span", "corsi", "operation_span", "symmetry_span"),
        x="distance",
        x_title="distance from the right position",
        panels=("list_length",),
        panel_labels=(_ITEMS,),
        needs=("list_length", "serial_position", "correct_answer", "answer"),
        prepare=recall.transpositions,
        measure="answered, for each item at that distance",
        human=False,
        method=(
            "How often an item from this many positions earlier or later was answered, divided by the number of such"
            " items in the list. Only where every position has an answer of its own and answers name items."
        ),
    ),
    Effect(
        name="recall_errors",
        title="kinds of errors in serial recall",
        paradigms=("vsr", "lsr", "digit_span", "corsi", "operation_span", "symmetry_span"),
        x="list_length",
        x_title="list length",
        panels=("error",),
        panel_order=recall.ERRORS,
        needs=("list_length", "serial_position", "correct_answer", "answer"),
        prepare=recall.error_kinds,
        measure="answers",
        human=False,
        method=(
            "Share of all positions at which another item of the list was answered (transposition), something that was"
            " not in it (intrusion), or nothing that is an answer (omission)."
        ),
        alone=True,
    ),
    Effect(
        name="list_scores",
        title="scores of whole lists",
        paradigms=("digit_span", "corsi", "operation_span", "symmetry_span", "running_span"),
        x="asked_for",
        x_title="items asked for",
        panels=("score",),
        panel_order=recall.LIST_SCORES,
        needs=("serial_position", "output_position", "edit_distance"),
        prepare=recall.list_scores,
        measure="score",
        human=False,
        method=(
            "Of answers in order. Items in place: the share of items at their right place, whose mean over lists is the"
            " partial-credit score with each list weighted alike (Conway et al., 2005). Whole list: whether all of them"
            " are, the all-or-nothing score. Edit score: 1 minus the edit distance of the answer per item of the list,"
            " at least 0; an item that was left out or too many costs once, and not also the places after it."
        ),
    ),
    Effect(
        name="first_recall",
        title="probability of first recall",
        paradigms=("sfr",),
        x="serial_position",
        x_title="serial position",
        panels=("list_length",),
        panel_labels=(_ITEMS,),
        needs=("list_length", "serial_position", "output_position"),
        prepare=recall.first_recalls,
        measure="recalled first",
        human=False,
        method=(
            "How often each position was the first answer, of people and chat models, who answer in an order; trials"
            " without any recalled item are left out."
        ),
    ),
    Effect(
        name="lag_crp",
        title="transitions by lag (lag-CRP)",
        paradigms=("sfr",),
        x="lag",
        x_title="lag between one recalled item and the next",
        panels=("list_length",),
        panel_labels=(_ITEMS,),
        needs=("list_length", "serial_position", "output_position"),
        prepare=recall.lags,
        measure="taken, where possible",
        human=False,
        method=(
            "How often the next recalled item came from this many positions later (or earlier) in the list, among the"
            " cases in which it could, of people and chat models. Dotted: the same answers with the"
            " recalled positions shuffled among themselves, which keeps all spatial distances."
        ),
    ),
    Effect(
        name="temporal_clustering",
        title="temporal clustering",
        paradigms=("sfr",),
        x="clustering",
        x_title="recalled positions",
        panels=("list_length",),
        panel_labels=(_ITEMS,),
        order=recall.CLUSTERING,
        differences=(("clustering", *recall.CLUSTERING),),
        needs=("list_length", "serial_position", "output_position"),
        prepare=recall.clusters,
        measure="percentile rank",
        human=False,
        method=(
            "Mean percentile rank of each transition's distance in the list among those that were possible (1: always"
            " the nearest), of people and chat models. Shuffled: the same answers with the recalled positions shuffled"
            " among themselves, which keeps all spatial distances."
        ),
    ),
    Effect(
        name="sensitivity",
        title="sensitivity and criterion",
        paradigms=("cd", "sc"),
        x="set_size",
        x_title="set size",
        panels=("measure",),
        panel_order=_DETECTED.measures,
        needs=("set_size", "correct_answer"),
        prepare=_DETECTED.rows,
        estimator=_DETECTED,
        measure="d′ or criterion",
        human=False,
        method=_DETECTION,
        alone=True,
        instead=_UNSIZED,
    ),
    _UNSIZED,
    Effect(
        name="sensitivity_parts",
        title="sensitivity and criterion by number of parts",
        paradigms=("si",),
        x="list_length",
        x_title="parts to integrate",
        panels=("measure",),
        panel_order=_PARTS.measures,
        needs=("factor_part_size", "list_length", "correct_answer"),
        prepare=_PARTS.rows,
        estimator=_PARTS,
        measure="d′ or criterion",
        human=False,
        method=_DETECTION,
    ),
    Effect(
        name="forced_choice",
        title="sensitivity and side bias",
        paradigms=("vir", "vsrec"),
        x="set_size",
        x_title="set size",
        panels=("measure",),
        panel_order=_CHOSEN.measures,
        needs=("set_size", "correct_answer"),
        prepare=_CHOSEN.rows,
        estimator=_CHOSEN,
        measure="d′ or side bias",
        human=False,
        method=(
            "A choice between two sides, both of which are shown: d′ = (z(H) − z(F)) / √2, with H and F how often the"
            " first side (left, first, top) was said where it was right and where it was wrong; without a side bias"
            " this is √2 z(correct). Side bias = −(z(H) + z(F)) / 2, above 0 for somebody who prefers the second side."
            " Half an answer is added to each count (log-linear)."
        ),
    ),
    Effect(
        name="calibration",
        title="correct by confidence",
        x="confidence",
        x_title="rating of confidence",
        needs=("confidence",),
        prepare=transforms.rated_answers,
        human=False,
        by_choice=True,
        method=(
            "Proportion of right answers for each rating of confidence that follows the answer in the same trial;"
            " ratings on a slider in ten equal parts of the scale. Questions without a rating are left out. Ratings are"
            " chosen by those who answer: somebody who is never unsure has no answers there."
        ),
    ),
)
#: Every effect: those above, and those that other packages name in the entry points
#: ``spanlab.effects``.
EFFECTS: Instances[Effect] = Instances("effect", "spanlab.effects", Effect, _OURS)


def effect(name: str) -> Effect:
    """The effect with that name.

    Raises
    ------
    SpanLabError
        when there is none; the message tells the nearest name.
    """
    return EFFECTS.get(name)
