"""Every paradigm that ships, in every condition, with both generators: it compiles, and who knows
the answers makes no mistake."""

from __future__ import annotations

import pytest
from conditions import some_conditions

from spanlab.paradigms import Generator, compile_trial, list_paradigms, load_paradigm
from spanlab.paradigms.paradigm import GENERATORS

PARADIGMS = list_paradigms()
#: Families of tasks with a literature of their own, and of these the ones that nobody has published
#: data sets of for networks.
OF_LABS = ("Continuous report", "Span tests", "Recognition", "Cognitive control")
OF_PEOPLE = ("Span tests", "Recognition", "Cognitive control")


def test_the_library_is_complete() -> None:
    worm = {"sfr", "cd", "vir", "vsr", "vsrec", "cs", "sc", "si", "smu", "sts"}
    variants = {"cd_noise", "lsr", "lsr_long", "lsr_published", "lsr_published_long", "sts_congruency"}
    verbal = {f"nback_verbal{variant}" for variant in ("", "_noise", "_feedback", "_reasoning")}
    spatial = {f"nback_spatial{variant}" for variant in ("", "_noise", "_feedback", "_reasoning")}
    continuous = {"continuous_colour", "continuous_orientation"}
    spans = {"digit_span", "corsi", "operation_span", "symmetry_span", "running_span"}
    control = {"axcpt", "retro_cue", "task_switching", "keep_track", "two_lists", "flanker"}
    labs = continuous | spans | control | {"sternberg", "delayed_match"}
    assert (
        set(PARADIGMS) == worm | variants | verbal | spatial | {"nback_abstraction", "nback_abstraction_strict"} | labs
    )


@pytest.mark.slow
@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize("name", PARADIGMS)
def test_every_combination_of_levels_compiles(name: str, generator: Generator) -> None:
    paradigm = load_paradigm(name)
    for seed, levels in enumerate(paradigm.combinations()):
        trial = compile_trial(paradigm, levels, seed, generator)
        assert trial.asks
        for step in trial.steps:
            ask, answer = step.percept.ask, step.truth.answer
            if ask is not None:
                assert answer is not None
                assert ask.kind.allows(answer)


@pytest.mark.slow
@pytest.mark.parametrize("name", PARADIGMS)
def test_a_file_says_all_that_a_list_of_paradigms_needs(name: str) -> None:
    paradigm = load_paradigm(name)
    assert {"en", "de"} <= set(paradigm.instructions)
    assert paradigm.family in ("WorM", "WorM variants", "N-back", *OF_LABS)
    assert paradigm.domains
    assert set(paradigm.domains) <= {"visual", "spatial", "verbal", "temporal"}
    assert paradigm.functions
    assert set(paradigm.functions) <= {"storage", "integration", "supervision", "updating", "processing"}
    assert paradigm.characteristics
    assert paradigm.practice is not None
    if paradigm.family in OF_LABS:
        assert paradigm.source.study
    else:
        assert paradigm.source.benchmark
    assert {"human"} | (set() if paradigm.family in OF_PEOPLE else {"published"}) <= set(paradigm.designs)
    trial = compile_trial(paradigm, some_conditions(paradigm)[0], 1)
    #: words in several places, which no network of frames or vectors reads
    words = name in ("keep_track", "task_switching", "two_lists")
    assert (paradigm.network is None) == words or any(
        step.percept.ask.kind.not_for_networks for step in trial.steps if step.percept.ask is not None
    )
    for levels in some_conditions(paradigm):
        told = {
            language: paradigm.instructions_in(language, compile_trial(paradigm, levels, 1).levels)
            for language in paradigm.instructions
        }
        assert all("{=" not in text and len(text) > 60 for text in told.values())
