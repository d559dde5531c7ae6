"""The effects of memory that SpanLab looks for, each declared once: figure, table, tests, scores, report and documentation all come from this registry.

An effect applies to whatever data have its columns, not to a list of paradigms, so variants of a paradigm have its figures too. N-back has tables of its own.
"""

from __future__ import annotations

from ...core.registry import Instances
from . import transforms
from .capacity import capacity_of, capacity_sums
from .effect import Effect

_ITEMS = "{} items"
_CUE_IGNORED = "somebody who ignores every cue and goes by the place of the marker alone"
_JUDGEMENTS = ("one task", "repetition", "switch")
_CONGRUENCES = ("congruent", "incongruent")
_COSTS = (("mixing cost", "one task", "repetition"), ("switch cost", "repetition", "switch"))
_COSTS_IN_TIME = (("mixing cost", "repetition", "one task"), ("switch cost", "switch", "repetition"))
_OURS = (
    Effect(
        name="serial_position",
        title="correct by serial position",
        paradigms=("vsr", "vsrec", "lsr", "sfr", "vir", "cs"),
        x="serial_position",
        x_title="serial position",
        panels=("list_length",),
        panel_labels=(_ITEMS,),
        needs=("list_length", "serial_position"),
        method="Proportion of items that were answered correctly at each position of the list, for each list length. In free recall an item is correct "
        "when it was recalled at all, in whatever order.",
    ),
    Effect(
        name="primacy_recency",
        title="primacy and recency",
        paradigms=("vsr", "vsrec", "lsr", "sfr"),
        x="list_length",
        x_title="list length",
        panels=("index",),
        panel_order=("primacy", "recency"),
        needs=("list_length", "serial_position"),
        prepare=transforms.ends_of_lists,
        value="stands_out",
        guessing=0.0,
        measure="first or last minus middle",
        human=False,
        method="Within each trial of three items or more: correct at the first (primacy) or the last position (recency) minus the mean of all positions "
        "between. 0 means no effect.",
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
        method="Proportion of trials in which every item was recalled and nothing else: in any order, and in the order of presentation.",
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
        method="What the first answer of each trial was: the first item of the list, one of its last four (which do not include the first), another item, or a "
        "cell that was not in the list. Trials without any answer are left out.",
    ),
    Effect(
        name="set_size",
        title="correct by set size",
        paradigms=("smu", "cd", "vsr", "vsrec", "lsr", "sfr", "vir", "sc"),
        x="set_size",
        x_title="set size",
        needs=("set_size",),
        method="Proportion correct by the number of items held in mind, everything else taken together.",
    ),
    Effect(
        name="retention_interval",
        title="correct by retention interval",
        paradigms=("vir", "cd"),
        x="retention_steps",
        x_title="retention interval (model steps)",
        panels=("set_size",),
        panel_labels=(_ITEMS,),
        needs=("retention_steps", "set_size"),
        method="Proportion correct by the number of empty steps between the last item and the probe, for each number of items.",
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
        method="Proportion correct at each position of the list, for each list length and retention interval (in model steps).",
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
        method="Proportion of the two stored items that were found among eight, by cognitive load: the share of the time between items that the decisions "
        "take. The decisions themselves, for which nothing need be held, are not among the answers.",
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
        method="Proportion of stored items found, where the decisions were of the same domain as the items and where they were of the other one. "
        "Trials without any decision are left out: no domain can conflict there.",
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
        method="Proportion of patterns told from their distractors, by the number of cells in which the two differ, for each list length.",
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
        method="Proportion correct by the number of bars, for each feature that may change; conjunction: any of the four may.",
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
        method="Trials in which any of four features may change: proportion correct by the number of bars, for each feature that did change. Where nothing "
        "changed, correct means that 'same' was said.",
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
        method="Proportion correct by the number of cells that break the symmetry, for each number of cells. At 0 the figure is symmetric, and correct means "
        "that 'symmetric' was said; a readiness to say so shows there and in all others, in opposite directions.",
    ),
    Effect(
        name="integrations",
        title="correct by number of parts",
        paradigms=("si",),
        x="list_length",
        x_title="parts to integrate",
        needs=("factor_part_size", "list_length"),
        method="Proportion correct by the number of parts in which the figure was shown.",
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
        without="cue_ignored",
        without_label=_CUE_IGNORED,
        method="Proportion correct in runs of one task, and in mixed runs after the same task (repetition) and after the other (switch). Mixing cost: one task "
        "minus repetition; switch cost: repetition minus switch. The first judgement of a run is neither, and is left out.",
    ),
    Effect(
        name="switching_time",
        title="time to switch and to mix",
        paradigms=("sts", "sts_congruency"),
        x="judgement",
        x_title="judgement",
        needs=("record_transition", "rt_ms"),
        prepare=transforms.timed_judgements,
        value="rt_ms",
        measure="reaction time (ms)",
        order=_JUDGEMENTS,
        differences=_COSTS_IN_TIME,
        human=False,
        method="Mean reaction time of correct judgements, in runs of one task, and in mixed runs after the same task and after the other.",
    ),
    Effect(
        name="congruency",
        title="correct by congruency",
        paradigms=("sts", "sts_congruency"),
        x="congruence",
        x_title="marker",
        needs=("record_transition", "record_congruent"),
        prepare=transforms.congruences,
        order=_CONGRUENCES,
        differences=(("congruency effect", "congruent", "incongruent"),),
        human=False,
        without="cue_ignored",
        without_label=_CUE_IGNORED,
        method="Proportion correct where both tasks have the same answer to the marker (congruent), and where they have not (incongruent). Congruency effect: "
        "congruent minus incongruent. The first judgement of a run is left out.",
    ),
    Effect(
        name="congruency_time",
        title="time by congruency",
        paradigms=("sts", "sts_congruency"),
        x="congruence",
        x_title="marker",
        needs=("record_transition", "record_congruent", "rt_ms"),
        prepare=transforms.timed_congruences,
        value="rt_ms",
        measure="reaction time (ms)",
        order=_CONGRUENCES,
        differences=(("congruency effect", "incongruent", "congruent"),),
        human=False,
        method="Mean reaction time of correct judgements, where both tasks have the same answer to the marker (congruent), and where they have not "
        "(incongruent). Congruency effect: incongruent minus congruent.",
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
        without="cue_ignored",
        without_label=_CUE_IGNORED,
        method="Proportion correct in runs of one task, and in mixed runs after the same task and after the other, for congruent and incongruent markers. "
        "Only where tasks have different answers (incongruent) does it take the right task to be right.",
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
        value="rt_ms",
        measure="reaction time (ms)",
        order=_JUDGEMENTS,
        differences=_COSTS_IN_TIME,
        human=False,
        method="Mean reaction time of correct judgements, in runs of one task, and in mixed runs after the same task and after the other, for congruent and "
        "incongruent markers.",
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
        sums=capacity_sums,
        make=capacity_of,
        measure="items (K)",
        human=False,
        method="From hit rate H (changes seen) and false-alarm rate F: Pashler's K = N (H − F) / (1 − F), for probes that show the whole display again, as in "
        "change detection here; Cowan's K = N (H − F), for probes of a single item, is put beside it.",
    ),
)
#: Every effect: those above, and those that other packages name in the entry points ``spanlab.effects``.
EFFECTS: Instances[Effect] = Instances("effect", "spanlab.effects", Effect, _OURS)


def effect(name: str) -> Effect:
    """The effect of that name.

    Raises
    ------
    SpanLabError
        when there is none; the message tells the nearest name.
    """
    return EFFECTS.get(name)
