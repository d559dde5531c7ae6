"""How often the intervals of the page hold what was planted, and how often its tests cry wolf: simulations with known truth, seeds fixed.

    python benchmarks/coverage.py [SHARE] [WORD ...]

Intervals say 95 of 100, tests 5 of 100. ``SHARE`` takes that part of the samples only; with words, only rows are made again that have one of them in their
first two columns. The table in ``docs/statistics.md`` is written anew, row by row, and says how many samples each has. Designs with few people and few
sessions (``_few.py``) are kept in ``coverage_few.json``, from which ``scripts/docs.py`` makes their table in the document.
"""

from __future__ import annotations

import json
import os
import sys
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import _few
import numpy as np
from _samples import (
    Once,
    Random,
    capacity,
    ceiling,
    correlation_with_people,
    dprime_of_a_machine,
    dprime_of_people,
    dprime_over_n,
    from_people,
    guessing,
    guessing_alone,
    habit,
    kappa_of,
    lesion,
    mean_time,
    nback_measures,
    of_model,
    omnibus,
    score,
    share_of_people,
    share_of_trials,
    slope,
    switch_cost,
    times,
    times_over_people,
)
from _samples_of_figures import (
    alike_with_people,
    along,
    equivalence_of,
    forced_choice,
    free_recall,
    intervals_within_people,
    of_probit,
    reliability_of,
    serial_recall,
)
from scipy.special import ndtri

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "statistics.md"
FEW = Path(__file__).resolve().parent / "coverage_few.json"
BEGIN, END = "<!-- measured by benchmarks/coverage.py -->", "<!-- end of what was measured -->"
#: Samples: of most rows, of those that take longer, of figures that are made whole, of models, and of those of sensitivity.
SAMPLES, FEWER, FIGURES, MODELS, PROBIT = 2000, 1000, 500, 400, 200
HOLDS, SIZE, BETWEEN, ABOUT = "interval holds", "test rejects", "between", "one standard error holds"
_MODEL, _CEILED, _FAR = (8,), (8, 3.9), (8, 1.5)
_UP, _FALLS = {"network": 4.0}, {"fall": -0.3, "network": None}
#: What is asked, of whom, what is counted, samples, how one sample is made, and which of its answers it is. Rows that are made alike share their samples.
CASES: Sequence[tuple[str, str, str, int, Callable[..., Once], tuple[Any, ...], dict[str, Any], str]] = (
    ("share of right answers", "24 trials of 4 items, 60%", HOLDS, SAMPLES, share_of_trials, (24, 4, 0.6), {}, ""),
    ("share of right answers", "24 trials of 1 item, 85%", HOLDS, SAMPLES, share_of_trials, (24, 1, 0.85), {}, ""),
    ("share of right answers", "24 trials of 1 item, 95%", HOLDS, SAMPLES, share_of_trials, (24, 1, 0.95), {}, ""),
    ("share of right answers", "8 people, 48 trials, 60%", HOLDS, SAMPLES, share_of_people, (8, 48, 0.6), {}, ""),
    ("share of right answers", "20 people, 48 trials, 90%", HOLDS, SAMPLES, share_of_people, (20, 48, 0.9), {}, ""),
    ("slope of an effect", "8 people", HOLDS, SAMPLES, slope, (8, "held"), {}, ""),
    ("slope of an effect", "48 trials of a machine", HOLDS, SAMPLES, slope, (0, "held"), {}, ""),
    ("slope of an effect against guessing", "8 people", SIZE, SAMPLES, slope, (8, "size"), {}, ""),
    ("slope of an effect against guessing", "48 trials of a machine", SIZE, SAMPLES, slope, (0, "size"), {}, ""),
    ("do conditions differ at all (Friedman)", "8 people", SIZE, SAMPLES, omnibus, (8,), {}, ""),
    ("do conditions differ at all (Kruskal–Wallis)", "48 trials of a machine", SIZE, SAMPLES, omnibus, (0,), {}, ""),
    ("do two conditions differ at all (Wilcoxon)", "8 people, in time", SIZE, SAMPLES, switch_cost, (8, 40, 0.0), {}, "ranks"),
    ("difference of two conditions", "8 people, in time", HOLDS, SAMPLES, switch_cost, (8, 40, 60.0), {}, "held"),
    ("difference of two conditions", "40 and 40 answers of one person, in time", HOLDS, SAMPLES, switch_cost, (0, 40, 60.0), {}, "held"),
    ("difference of two conditions", "8 people, in time", SIZE, SAMPLES, switch_cost, (8, 40, 0.0), {}, "test"),
    ("difference of two conditions", "40 and 40 answers of one person, in time", SIZE, SAMPLES, switch_cost, (0, 40, 0.0), {}, "test"),
    ("difference from people", "8 people, 24 trials of a machine at 50%", HOLDS, SAMPLES, from_people, (8, 24, 0.5), {}, ""),
    ("difference from people", "8 people, 16 trials of a machine at 98%", HOLDS, SAMPLES, from_people, (8, 16, 0.98), {}, ""),
    ("difference from published people", "24 trials of a machine at 50%", HOLDS, SAMPLES, from_people, (0, 24, 0.5), {}, ""),
    ("share against guessing", "a machine, 24 lists of 4, one of nine", SIZE, SAMPLES, guessing, (0, 24, 4, 1 / 9), {}, ""),
    ("share against guessing", "a machine, 96 questions with two answers", SIZE, SAMPLES, guessing_alone, (96, 0.5), {}, ""),
    ("share against guessing", "a machine, 400 questions, blind guess 67%", SIZE, SAMPLES, guessing_alone, (400, 0.67), {}, ""),
    ("share against guessing", "8 people, 24 lists of 4, one of nine", SIZE, SAMPLES, guessing, (8, 24, 4, 1 / 9), {}, ""),
    ("share against guessing", "20 people, 3 questions, one of nine", SIZE, SAMPLES, guessing, (20, 3, 1, 1 / 9), {}, ""),
    ("d′ against 0", "8 people, 60 questions, half of them 'match'", SIZE, SAMPLES, habit, (8, 60, 0.5), {}, ""),
    ("d′ against 0", "8 people, 60 questions, 'no match' in 97%", SIZE, SAMPLES, habit, (8, 60, 0.03), {}, ""),
    ("d′ against 0", "a machine, 96 questions, half of them 'match'", SIZE, SAMPLES, habit, (0, 96, 0.5), {}, ""),
    ("d′", "8 people, 60 questions, d′ = 1.5", HOLDS, SAMPLES, dprime_of_people, (8, 60, 1.5), {}, ""),
    ("d′", "a machine, 96 questions, d′ = 1.5", HOLDS, SAMPLES, dprime_of_a_machine, (96, 1.5), {}, ""),
    ("d′ over N", "12 blocks", HOLDS, SAMPLES, nback_measures, (12,), {}, "dprime_pooled"),
    ("criterion over N", "12 blocks", HOLDS, SAMPLES, nback_measures, (12,), {}, "criterion_pooled"),
    ("hits over N", "12 blocks", HOLDS, SAMPLES, nback_measures, (12,), {}, "hit_rate"),
    ("false alarms over N", "12 blocks", HOLDS, SAMPLES, nback_measures, (12,), {}, "false_alarm_rate"),
    ("right answers over N", "12 blocks", HOLDS, SAMPLES, nback_measures, (12,), {}, "accuracy"),
    ("does d′ differ over N (Kruskal–Wallis)", "12 blocks at each of 3", SIZE, SAMPLES, dprime_over_n, (3, 12), {}, "whole"),
    ("does d′ differ over N (any pair, Bonferroni)", "12 blocks at each of 3", SIZE, SAMPLES, dprime_over_n, (3, 12), {}, "pairs"),
    ("items held (K)", "8 people, 120 trials", HOLDS, SAMPLES, capacity, (8,), {}, ""),
    ("items held (K)", "a machine, 96 trials", HOLDS, SAMPLES, capacity, (0,), {}, ""),
    ("score A", "48 trials of a machine, published people", HOLDS, SAMPLES, score, ("A", 0, 0), {}, "held"),
    ("score A", "48 trials of a machine, 8 people", HOLDS, SAMPLES, score, ("A", 0, 8), {}, "held"),
    ("score A", "8 people, published people", HOLDS, SAMPLES, score, ("A", 8, 0), {}, "held"),
    ("score B", "48 trials of a machine, published people", HOLDS, SAMPLES, score, ("B", 0, 0), {}, "held"),
    ("score B", "48 trials of a machine, 8 people", HOLDS, SAMPLES, score, ("B", 0, 8), {}, "held"),
    ("score B", "8 people, published people", HOLDS, SAMPLES, score, ("B", 8, 0), {}, "held"),
    ("score A against guessing", "48 trials of a machine, one of nine", SIZE, SAMPLES, score, ("A", 0, 0), {}, "size"),
    ("score B against guessing", "48 trials of a machine, one of nine", SIZE, SAMPLES, score, ("B", 0, 0), {}, "size"),
    ("score B against guessing", "8 people, one of nine", SIZE, SAMPLES, score, ("B", 8, 0), {}, "size"),
    ("kappa", "two machines, 96 trials", HOLDS, FEWER, kappa_of, (0, True), {}, ""),
    ("kappa", "a machine with 8 people, 96 trials", HOLDS, FEWER, kappa_of, (8, True), {}, ""),
    ("kappa", "8 people among themselves, 96 trials", HOLDS, FEWER, kappa_of, (8, False), {}, ""),
    ("correlation with people's curves", "a given curve, 12 people", HOLDS, SAMPLES, correlation_with_people, (12,), {}, ""),
    ("noise ceilings", "people's true curve, 10 people", BETWEEN, SAMPLES, ceiling, (10,), {}, ""),
    ("model, term condition", "8 people", SIZE, MODELS, of_model, _MODEL, {}, "term condition"),
    ("model, term agent", "8 people and a network", SIZE, MODELS, of_model, _MODEL, {}, "term agent"),
    ("model, term agent × condition", "8 people and a network", SIZE, MODELS, of_model, _MODEL, {}, "term agent x condition"),
    ("model, two agents", "8 people and a network", HOLDS, MODELS, of_model, _MODEL, {}, "held agents"),
    ("model, two agents", "8 people and a network", SIZE, MODELS, of_model, _MODEL, {}, "test agents"),
    ("model, two agents in a condition", "8 people and a network", HOLDS, MODELS, of_model, _MODEL, {}, "held agents in condition"),
    ("model, two agents in any of 3 conditions (Holm)", "8 people and a network", SIZE, MODELS, of_model, _MODEL, {}, "family"),
    ("model, slope", "8 people", HOLDS, MODELS, of_model, _MODEL, _FALLS, "held trend People"),
    ("model, slope", "8 people", SIZE, MODELS, of_model, _MODEL, {}, "test trend People"),
    ("model, difference of slopes", "8 people and a network", HOLDS, MODELS, of_model, _MODEL, {}, "held trends"),
    ("model, SD of participants", "8 people and a network", ABOUT, MODELS, of_model, _MODEL, {}, "about participant"),
    ("model, SD of items", "8 people and a network", ABOUT, MODELS, of_model, _MODEL, {}, "about item"),
    ("model near 100%, term condition", "8 people and a network at 98%", SIZE, MODELS, of_model, _CEILED, {}, "term condition"),
    ("model near 100%, term agent", "8 people and a network at 98%", SIZE, MODELS, of_model, _CEILED, {}, "term agent"),
    ("model near 100%, term agent × condition", "8 people and a network at 98%", SIZE, MODELS, of_model, _CEILED, {}, "term agent x condition"),
    ("model near 100%, two agents", "8 people and a network at 98%", SIZE, MODELS, of_model, _CEILED, {}, "test agents"),
    ("model near 100%, two agents", "8 people and a network at 98%", HOLDS, MODELS, of_model, _CEILED, {}, "held agents"),
    ("model near 100%, two agents", "8 people at 82%, a network at 99.6%", HOLDS, MODELS, of_model, _FAR, _UP, "held agents"),
    ("model near 100%, two agents in a condition", "8 people and a network at 98%", HOLDS, MODELS, of_model, _CEILED, {}, "held agents in condition"),
    ("model near 100%, two agents in a condition", "8 people at 82%, a network at 99.6%", HOLDS, MODELS, of_model, _FAR, _UP, "held agents in condition"),
    ("model near 100%, in any of 3 conditions (Holm)", "8 people and a network at 98%", SIZE, MODELS, of_model, _CEILED, {}, "family"),
    ("model near 100%, slope", "8 people at 98%", SIZE, MODELS, of_model, _CEILED, {}, "test trend People"),
    ("model near 100%, slope", "a network at 98%", HOLDS, MODELS, of_model, _CEILED, {}, "held trend net"),
    ("model near 100%, difference of slopes", "8 people at 82%, a network at 99.6%", HOLDS, MODELS, of_model, _FAR, _UP, "held trends"),
    ("reaction times, mean of a condition", "8 people, 40 answers", HOLDS, SAMPLES, mean_time, (8, 40), {}, ""),
    ("reaction times, mean of a condition", "one person, 40 answers", HOLDS, SAMPLES, mean_time, (0, 40), {}, ""),
    ("reaction times, mu", "200 times", HOLDS, FEWER, times, (200,), {}, "mu"),
    ("reaction times, sigma", "200 times", HOLDS, FEWER, times, (200,), {}, "sigma"),
    ("reaction times, tau", "200 times", HOLDS, FEWER, times, (200,), {}, "tau"),
    ("reaction times, mean mu", "8 people, 100 times", HOLDS, FEWER, times_over_people, (8, 100), {}, "mu"),
    ("reaction times, mean sigma", "8 people, 100 times", HOLDS, FEWER, times_over_people, (8, 100), {}, "sigma"),
    ("reaction times, mean tau", "8 people, 100 times", HOLDS, FEWER, times_over_people, (8, 100), {}, "tau"),
    ("lesion of a cluster", "6 of 24 units like any others", SIZE, SAMPLES, lesion, (24, 6, 60), {}, ""),
    ("right answers along a column, slope", "8 people, 120 questions", HOLDS, FIGURES, along, ("correct", 8, 10, True), {}, "held slope"),
    ("right answers along a column, difference of panels", "8 people, 120 questions", HOLDS, FIGURES, along, ("correct", 8, 10, True), {}, "held panels"),
    ("right answers along a column, panels' slopes", "8 people, 120 questions", HOLDS, FIGURES, along, ("correct", 8, 10, True), {}, "held slopes"),
    ("right answers along a column, difference of two names", "8 people, 120 questions", HOLDS, FIGURES, along, ("correct", 8, 10, True), {}, "held pair"),
    ("right answers along a column, slope", "8 people, 120 questions", SIZE, FIGURES, along, ("correct", 8, 10, False), {}, "test slope"),
    ("right answers along a column, difference of panels", "8 people, 120 questions", SIZE, FIGURES, along, ("correct", 8, 10, False), {}, "test panels"),
    ("right answers along a column, panels' slopes", "8 people, 120 questions", SIZE, FIGURES, along, ("correct", 8, 10, False), {}, "test slopes"),
    ("right answers along a column, difference of two names", "8 people, 120 questions", SIZE, FIGURES, along, ("correct", 8, 10, False), {}, "test pair"),
    ("right answers along a column, slope", "one person, 240 questions", HOLDS, FIGURES, along, ("correct", 0, 20, True), {}, "held slope"),
    ("right answers along a column, difference of panels", "one person, 240 questions", HOLDS, FIGURES, along, ("correct", 0, 20, True), {}, "held panels"),
    ("right answers along a column, panels' slopes", "one person, 240 questions", HOLDS, FIGURES, along, ("correct", 0, 20, True), {}, "held slopes"),
    ("right answers along a column, difference of two names", "one person, 240 questions", HOLDS, FIGURES, along, ("correct", 0, 20, True), {}, "held pair"),
    ("right answers along a column, slope", "one person, 240 questions", SIZE, FIGURES, along, ("correct", 0, 20, False), {}, "test slope"),
    ("right answers along a column, difference of panels", "one person, 240 questions", SIZE, FIGURES, along, ("correct", 0, 20, False), {}, "test panels"),
    ("right answers along a column, panels' slopes", "one person, 240 questions", SIZE, FIGURES, along, ("correct", 0, 20, False), {}, "test slopes"),
    ("right answers along a column, difference of two names", "one person, 240 questions", SIZE, FIGURES, along, ("correct", 0, 20, False), {}, "test pair"),
    ("mean time along a column, slope", "8 people, 120 questions", HOLDS, FIGURES, along, ("rt_ms", 8, 10, True), {}, "held slope"),
    ("mean time along a column, difference of panels", "8 people, 120 questions", HOLDS, FIGURES, along, ("rt_ms", 8, 10, True), {}, "held panels"),
    ("mean time along a column, panels' slopes", "8 people, 120 questions", HOLDS, FIGURES, along, ("rt_ms", 8, 10, True), {}, "held slopes"),
    ("mean time along a column, difference of two names", "8 people, 120 questions", HOLDS, FIGURES, along, ("rt_ms", 8, 10, True), {}, "held pair"),
    ("mean time along a column, slope", "8 people, 120 questions", SIZE, SAMPLES, along, ("rt_ms", 8, 10, False), {}, "test slope"),
    ("mean time along a column, difference of panels", "8 people, 120 questions", SIZE, SAMPLES, along, ("rt_ms", 8, 10, False), {}, "test panels"),
    ("mean time along a column, panels' slopes", "8 people, 120 questions", SIZE, SAMPLES, along, ("rt_ms", 8, 10, False), {}, "test slopes"),
    ("mean time along a column, difference of two names", "8 people, 120 questions", SIZE, SAMPLES, along, ("rt_ms", 8, 10, False), {}, "test pair"),
    ("mean time along a column, slope", "one person, 240 questions", HOLDS, FIGURES, along, ("rt_ms", 0, 20, True), {}, "held slope"),
    ("mean time along a column, difference of panels", "one person, 240 questions", HOLDS, FIGURES, along, ("rt_ms", 0, 20, True), {}, "held panels"),
    ("mean time along a column, panels' slopes", "one person, 240 questions", HOLDS, FIGURES, along, ("rt_ms", 0, 20, True), {}, "held slopes"),
    ("mean time along a column, difference of two names", "one person, 240 questions", HOLDS, FIGURES, along, ("rt_ms", 0, 20, True), {}, "held pair"),
    ("mean time along a column, slope", "one person, 240 questions", SIZE, FIGURES, along, ("rt_ms", 0, 20, False), {}, "test slope"),
    ("mean time along a column, difference of panels", "one person, 240 questions", SIZE, FIGURES, along, ("rt_ms", 0, 20, False), {}, "test panels"),
    ("mean time along a column, panels' slopes", "one person, 240 questions", SIZE, FIGURES, along, ("rt_ms", 0, 20, False), {}, "test slopes"),
    ("mean time along a column, difference of two names", "one person, 240 questions", SIZE, FIGURES, along, ("rt_ms", 0, 20, False), {}, "test pair"),
    ("median time along a column, slope", "8 people, 120 questions", HOLDS, FIGURES, along, ("rt_median", 8, 10, True), {}, "held slope"),
    ("median time along a column, difference of panels", "8 people, 120 questions", HOLDS, FIGURES, along, ("rt_median", 8, 10, True), {}, "held panels"),
    ("median time along a column, panels' slopes", "8 people, 120 questions", HOLDS, FIGURES, along, ("rt_median", 8, 10, True), {}, "held slopes"),
    ("median time along a column, difference of two names", "8 people, 120 questions", HOLDS, FIGURES, along, ("rt_median", 8, 10, True), {}, "held pair"),
    ("median time along a column, slope", "8 people, 120 questions", SIZE, FIGURES, along, ("rt_median", 8, 10, False), {}, "test slope"),
    ("median time along a column, difference of panels", "8 people, 120 questions", SIZE, FIGURES, along, ("rt_median", 8, 10, False), {}, "test panels"),
    ("median time along a column, panels' slopes", "8 people, 120 questions", SIZE, FIGURES, along, ("rt_median", 8, 10, False), {}, "test slopes"),
    ("median time along a column, difference of two names", "8 people, 120 questions", SIZE, FIGURES, along, ("rt_median", 8, 10, False), {}, "test pair"),
    ("d′ along a column, slope", "8 people, 240 questions", HOLDS, FIGURES, along, ("d_prime", 8, 20, True), {}, "held slope"),
    ("d′ along a column, difference of panels", "8 people, 240 questions", HOLDS, FIGURES, along, ("d_prime", 8, 20, True), {}, "held panels"),
    ("d′ along a column, panels' slopes", "8 people, 240 questions", HOLDS, FIGURES, along, ("d_prime", 8, 20, True), {}, "held slopes"),
    ("d′ along a column, slope", "8 people, 240 questions", SIZE, FIGURES, along, ("d_prime", 8, 20, False), {}, "test slope"),
    ("d′ along a column, difference of panels", "8 people, 240 questions", SIZE, FIGURES, along, ("d_prime", 8, 20, False), {}, "test panels"),
    ("d′ along a column, panels' slopes", "8 people, 240 questions", SIZE, FIGURES, along, ("d_prime", 8, 20, False), {}, "test slopes"),
    ("d′ along a column, difference of two names", "8 people, 240 questions", SIZE, FIGURES, along, ("d_prime", 8, 20, False), {}, "test pair"),
    ("d′ along a column, slope", "one person, 240 questions", HOLDS, FIGURES, along, ("d_prime", 0, 20, True), {}, "held slope"),
    ("d′ along a column, difference of panels", "one person, 240 questions", HOLDS, FIGURES, along, ("d_prime", 0, 20, True), {}, "held panels"),
    ("d′ along a column, panels' slopes", "one person, 240 questions", HOLDS, FIGURES, along, ("d_prime", 0, 20, True), {}, "held slopes"),
    ("d′ along a column, slope", "one person, 240 questions", SIZE, FIGURES, along, ("d_prime", 0, 20, False), {}, "test slope"),
    ("d′ along a column, difference of panels", "one person, 240 questions", SIZE, FIGURES, along, ("d_prime", 0, 20, False), {}, "test panels"),
    ("d′ along a column, panels' slopes", "one person, 240 questions", SIZE, FIGURES, along, ("d_prime", 0, 20, False), {}, "test slopes"),
    ("d′ along a column, difference of two names", "one person, 240 questions", SIZE, FIGURES, along, ("d_prime", 0, 20, False), {}, "test pair"),
    ("intervals within people", "8 people, 3 conditions in time", HOLDS, SAMPLES, intervals_within_people, (8,), {}, ""),
    ("choice between two sides, d′", "8 people, 120 questions", HOLDS, FIGURES, forced_choice, (8, 20, -0.1), {}, "d′"),
    ("choice between two sides, side bias", "8 people, 120 questions", HOLDS, FIGURES, forced_choice, (8, 20, -0.1), {}, "side bias"),
    ("choice between two sides, slope of d′", "8 people, 120 questions", HOLDS, FIGURES, forced_choice, (8, 20, -0.1), {}, "held d′"),
    ("choice between two sides, slope of d′", "8 people, 120 questions", SIZE, FIGURES, forced_choice, (8, 20, 0.0), {}, "test d′"),
    ("choice between two sides, slope of side bias", "8 people, 120 questions", SIZE, FIGURES, forced_choice, (8, 20, 0.0), {}, "test side bias"),
    ("choice between two sides, d′", "one person, 120 questions", HOLDS, FIGURES, forced_choice, (0, 20, -0.1), {}, "d′"),
    ("choice between two sides, side bias", "one person, 120 questions", HOLDS, FIGURES, forced_choice, (0, 20, -0.1), {}, "side bias"),
    ("choice between two sides, slope of d′", "one person, 120 questions", HOLDS, FIGURES, forced_choice, (0, 20, -0.1), {}, "held d′"),
    ("choice between two sides, slope of d′", "one person, 120 questions", SIZE, FIGURES, forced_choice, (0, 20, 0.0), {}, "test d′"),
    ("choice between two sides, slope of side bias", "one person, 120 questions", SIZE, FIGURES, forced_choice, (0, 20, 0.0), {}, "test side bias"),
    ("transpositions, distance 1", "8 people, 24 lists", HOLDS, FIGURES, serial_recall, (8, 24), {}, "distance 1"),
    ("transpositions, distance 3", "8 people, 24 lists", HOLDS, FIGURES, serial_recall, (8, 24), {}, "distance 3"),
    ("transpositions, distance 5", "8 people, 24 lists", HOLDS, FIGURES, serial_recall, (8, 24), {}, "distance 5"),
    ("errors of serial recall, transpositions", "8 people, 24 lists", HOLDS, FIGURES, serial_recall, (8, 24), {}, "transposition"),
    ("errors of serial recall, intrusions", "8 people, 24 lists", HOLDS, FIGURES, serial_recall, (8, 24), {}, "intrusion"),
    ("errors of serial recall, omissions", "8 people, 24 lists", HOLDS, FIGURES, serial_recall, (8, 24), {}, "omission"),
    ("errors of serial recall, slope of transpositions", "8 people, 24 lists", HOLDS, FIGURES, serial_recall, (8, 24), {}, "held transposition"),
    ("transpositions, distance 1", "one person, 48 lists", HOLDS, FIGURES, serial_recall, (0, 48), {}, "distance 1"),
    ("transpositions, distance 3", "one person, 48 lists", HOLDS, FIGURES, serial_recall, (0, 48), {}, "distance 3"),
    ("transpositions, distance 5", "one person, 48 lists", HOLDS, FIGURES, serial_recall, (0, 48), {}, "distance 5"),
    ("errors of serial recall, transpositions", "one person, 48 lists", HOLDS, FIGURES, serial_recall, (0, 48), {}, "transposition"),
    ("errors of serial recall, intrusions", "one person, 48 lists", HOLDS, FIGURES, serial_recall, (0, 48), {}, "intrusion"),
    ("errors of serial recall, omissions", "one person, 48 lists", HOLDS, FIGURES, serial_recall, (0, 48), {}, "omission"),
    ("errors of serial recall, slope of transpositions", "one person, 48 lists", HOLDS, FIGURES, serial_recall, (0, 48), {}, "held transposition"),
    ("first recall, position 1", "8 people, 12 lists of 6", HOLDS, FIGURES, free_recall, (8, 12, 0.5), {}, "first_recall 1"),
    ("first recall, position 4", "8 people, 12 lists of 6", HOLDS, FIGURES, free_recall, (8, 12, 0.5), {}, "first_recall 4"),
    ("lag-CRP, lag −3", "8 people, 12 lists of 6", HOLDS, FIGURES, free_recall, (8, 12, 0.5), {}, "lag_crp -3.0"),
    ("lag-CRP, lag +1", "8 people, 12 lists of 6", HOLDS, FIGURES, free_recall, (8, 12, 0.5), {}, "lag_crp 1.0"),
    ("lag-CRP, lag +4", "8 people, 12 lists of 6", HOLDS, FIGURES, free_recall, (8, 12, 0.5), {}, "lag_crp 4.0"),
    ("temporal clustering, as recalled", "8 people, 12 lists of 6", HOLDS, FIGURES, free_recall, (8, 12, 0.5), {}, "temporal_clustering as recalled"),
    ("temporal clustering, minus shuffled", "8 people, 12 lists of 6", HOLDS, FIGURES, free_recall, (8, 12, 0.5), {}, "held clustering"),
    ("temporal clustering, minus shuffled", "8 people, 12 lists of 6", SIZE, FIGURES, free_recall, (8, 12, 0.0), {}, "test clustering"),
    ("first recall, position 1", "one person, 48 lists of 6", HOLDS, FIGURES, free_recall, (0, 48, 0.5), {}, "first_recall 1"),
    ("first recall, position 4", "one person, 48 lists of 6", HOLDS, FIGURES, free_recall, (0, 48, 0.5), {}, "first_recall 4"),
    ("lag-CRP, lag −3", "one person, 48 lists of 6", HOLDS, FIGURES, free_recall, (0, 48, 0.5), {}, "lag_crp -3.0"),
    ("lag-CRP, lag +1", "one person, 48 lists of 6", HOLDS, FIGURES, free_recall, (0, 48, 0.5), {}, "lag_crp 1.0"),
    ("lag-CRP, lag +4", "one person, 48 lists of 6", HOLDS, FIGURES, free_recall, (0, 48, 0.5), {}, "lag_crp 4.0"),
    ("temporal clustering, as recalled", "one person, 48 lists of 6", HOLDS, FIGURES, free_recall, (0, 48, 0.5), {}, "temporal_clustering as recalled"),
    ("temporal clustering, minus shuffled", "one person, 48 lists of 6", HOLDS, FIGURES, free_recall, (0, 48, 0.5), {}, "held clustering"),
    ("temporal clustering, minus shuffled", "one person, 48 lists of 6", SIZE, FIGURES, free_recall, (0, 48, 0.0), {}, "test clustering"),
    ("probit model, d′ of two agents", "8 people and a network", HOLDS, PROBIT, of_probit, (8, 0.6, -0.15), {}, "held d′ agents"),
    ("probit model, d′ of two agents", "8 people and a network", SIZE, PROBIT, of_probit, (8, 0.0, 0.0), {}, "test d′ agents"),
    ("probit model, slope of d′", "8 people", HOLDS, PROBIT, of_probit, (8, 0.6, -0.15), {}, "held d′ trend People"),
    ("probit model, slope of d′", "8 people", SIZE, PROBIT, of_probit, (8, 0.0, 0.0), {}, "test d′ trend People"),
    ("probit model, difference of slopes of d′", "8 people and a network", SIZE, PROBIT, of_probit, (8, 0.0, 0.0), {}, "test d′ trends"),
    ("probit model, criterion of two agents", "8 people and a network", HOLDS, PROBIT, of_probit, (8, 0.6, -0.15), {}, "held criterion agents"),
    ("probit model, criterion of two agents", "8 people and a network", SIZE, PROBIT, of_probit, (8, 0.0, 0.0), {}, "test criterion agents"),
    ("probit model, slope of criterion", "8 people", HOLDS, PROBIT, of_probit, (8, 0.6, -0.15), {}, "held criterion trend People"),
    ("probit model, slope of criterion", "8 people", SIZE, PROBIT, of_probit, (8, 0.0, 0.0), {}, "test criterion trend People"),
    ("probit model, difference of slopes of criterion", "8 people and a network", SIZE, PROBIT, of_probit, (8, 0.0, 0.0), {}, "test criterion trends"),
    ("reliability of halves", "12 people, 80 questions", HOLDS, FEWER, reliability_of, (12, 40), {}, "split half"),
    ("reliability of two sessions", "12 people, 40 questions in each", HOLDS, FEWER, reliability_of, (12, 40), {}, "retest"),
    ("reliability of halves", "30 people, 80 questions", HOLDS, FEWER, reliability_of, (30, 40), {}, "split half"),
    ("reliability of two sessions", "30 people, 40 questions in each", HOLDS, FEWER, reliability_of, (30, 40), {}, "retest"),
    ("alike within a margin (two one-sided tests)", "20 people who differ by the margin", SIZE, SAMPLES, equivalence_of, (20,), {}, ""),
    ("alike within a margin (two one-sided tests)", "a network and 20 people, the margin apart", SIZE, SAMPLES, alike_with_people, (20, 400, 8.0), {}, ""),
)
Row = tuple[str, str, str, float, int]


def made_alike(cases: Sequence[int]) -> list[list[int]]:
    """Cases by how their samples are made."""
    found: dict[str, list[int]] = {}
    for case in cases:
        _, _, _, samples, make, arguments, options, _ = CASES[case]
        found.setdefault(f"{make.__name__}{arguments}{options}{samples}", []).append(case)
    return list(found.values())


def run(alike: Sequence[int], samples: int) -> dict[int, tuple[float, int]]:
    """Of each of some cases that are made alike how often, in percent, and in how many samples there was something to count."""
    _, _, _, _, make, arguments, options, _ = CASES[alike[0]]
    once, random = make(*arguments, **options), Random(zlib.crc32(f"{make.__name__}{arguments}{options}".encode()))
    answers = [once(random) for _ in range(samples)]
    found = {}
    for case in alike:
        each = np.array([answer.get(CASES[case][-1], np.nan) if isinstance(answer, dict) else answer for answer in answers])
        known = np.isfinite(each)
        found[case] = (100 * float(each[known].mean()) if known.any() else float("nan"), int(known.sum()))
    return found


def error_of(percent: float, samples: int) -> float:
    """Half of the 95 % interval of a percentage of so many samples (Wilson)."""
    z, p = float(ndtri(0.975)), percent / 100
    return 100 * z / (1 + z**2 / samples) * float(np.sqrt(p * (1 - p) / samples + z**2 / (4 * samples**2)))


def written() -> dict[tuple[str, ...], str]:
    """The rows that the document has, by their first three columns."""
    lines = DOCUMENT.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0].strip().splitlines()[2:]
    return {tuple(cell.strip() for cell in line.strip("|").split("|"))[:3]: line for line in lines}


def write(rows: dict[tuple[str, ...], str]) -> None:
    """The document with these rows, in the order of the cases."""
    lines = ["| what | of | | % | ± | samples |", "| --- | --- | --- | --- | --- | --- |"]
    lines += [rows[case[:3]] for case in CASES if case[:3] in rows]
    before, rest = DOCUMENT.read_text(encoding="utf-8").split(BEGIN)
    DOCUMENT.write_text(before + BEGIN + "\n" + "\n".join(lines) + "\n" + END + rest.split(END)[1], encoding="utf-8")


def few(pool: ProcessPoolExecutor, words: Sequence[str], share: float) -> None:
    """Make the designs with few units again, and write what was measured."""
    kept = {(row["asked"], row["whom"], row["size"]): row for row in json.loads(FEW.read_text(encoding="utf-8"))} if FEW.exists() else {}
    jobs = {}
    for at, design in enumerate(_few.DESIGNS):
        if not words or any(word in f"{design.asked}, {design.whom}" for word in words):
            for size in design.sizes:
                seed = zlib.crc32(f"{design.asked}, {design.whom}, {size}".encode())
                jobs[pool.submit(_few.measured, at, size, max(20, round(share * design.sets)), seed)] = design, size
    for job in as_completed(jobs):
        design, size = jobs[job]
        kept[design.asked, design.whom, size] = {"asked": design.asked, "whom": design.whom, "counted": design.counted, "size": size} | job.result()
        _keep(kept)


def _keep(kept: dict[tuple[str, str, int], Any]) -> None:
    """Write what was measured of the designs with few units, in their order."""
    order = [(design.asked, design.whom, size) for design in _few.DESIGNS for size in design.sizes]
    FEW.write_text("[\n" + ",\n".join(json.dumps(kept[key]) for key in order if key in kept) + "\n]\n", encoding="utf-8")


def main() -> None:
    share = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    chosen = [at for at, case in enumerate(CASES) if not sys.argv[2:] or any(word in f"{case[0]}, {case[1]}" for word in sys.argv[2:])]
    os.environ["OMP_NUM_THREADS"] = "1"
    rows = written()
    with ProcessPoolExecutor(2) as pool:
        few(pool, sys.argv[2:], share)
        jobs = [pool.submit(run, alike, max(20, round(share * CASES[alike[0]][3]))) for alike in made_alike(chosen)]
        for job in as_completed(jobs):
            for case, (percent, many) in job.result().items():
                what, whose, counted, *_ = CASES[case]
                print(f"{what}, {whose}\t{percent:.1f}\t% ({counted}, ± {error_of(percent, many):.1f})", flush=True)
                rows[what, whose, counted] = f"| {what} | {whose} | {counted} | {percent:.1f} | {error_of(percent, many):.1f} | {many:,} |"
            write(rows)
    print(f"docs/{DOCUMENT.name} has the table")


if __name__ == "__main__":
    main()
