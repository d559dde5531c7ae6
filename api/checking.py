"""Files of paradigms and studies are checked before a session."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.errors import SpanLabError
from .options import Paths, Result, paths, public

if TYPE_CHECKING:
    from ..paradigms import Paradigm, Trial

#: answers from which the figures of a paradigm are told
_ENOUGH = 20_000


@public
def check(
    files: Annotated[Paths, typer.Argument(help="files of paradigms and studies", metavar="[FILE...]")] = (),
    *,
    language: Annotated[
        str,
        typer.Option(
            "--language",
            help=(
                "show what a language lacks: SpanLab's own sentences, and texts of these paradigms or of all that ship"
            ),
            metavar="xx",
        ),
    ] = "",
    details: Annotated[
        bool, typer.Option("--details", help="show the duration, and the figures that the data will have")
    ] = False,
) -> Result:
    """Check files of paradigms and studies, and report every problem with its file, line and key.

    Examples
    --------
    >>> print(spanlab.check("vsr"))
    vsr is fine (8 conditions, 48 trials compiled, all drawn)
    """
    if language:
        return _check_language(language, paths(files))
    if not files:
        raise SpanLabError(
            "which files? Name files of paradigms or studies, or give {language} xx to see what a language lacks",
            names=["language"],
        )
    from ..paradigms import list_paradigms
    from ..sessions.studies.study import is_study
    from .studies import check_study

    found = Result()
    for file in paths(files):
        try:
            source = file if os.path.exists(file) and str(file) not in list_paradigms() else str(file)
            report = check_study(file, details) if is_study(file) else _paradigm_checked(source, details)
        except SpanLabError as error:
            found.wrong.append(str(error))
        else:
            found.lines += [
                textwrap.fill(line, 80, initial_indent="  " * bool(n), subsequent_indent="    ")
                for n, line in enumerate(report)
            ]
    return found


def _how_long(paradigm: Paradigm) -> str:
    """Describe the expected duration of a session with people, and its basis."""
    from ..paradigms.duration import design_duration, minutes

    session, practice = design_duration(paradigm)
    more = f"; practice {minutes(practice.seconds)} more" if practice.trials else ""
    return (
        f"duration: about {minutes(session.seconds)} for {session.trials:,.0f} trials ({session.grounds}){more}; pages"
        " and pauses are not counted"
    )


def _proportions(paradigm: Paradigm) -> list[str]:
    """Describe the proportions in which levels come, where they do not come equally often."""
    once = sum(paradigm.weights(paradigm.combinations()))
    weighted = [
        f"{name} {' : '.join(f'{level} {weight}' for level, weight in zip(factor.levels, factor.weights, strict=True))}"
        for name, factor in paradigm.factors.items()
        if factor.weights
    ]
    exact = f"exact in every block of {once} trials, or a multiple of that; otherwise as near as can be"
    return [f"proportions: {'; '.join(weighted)} ({exact})"] if weighted else []


def _sounds(paradigm: Paradigm) -> list[str]:
    """Describe the number of sounds, and whether this computer can play them."""
    from ..stimuli.own_files import SoundFacts
    from ..stimuli.render.speaker import no_sound

    sounds = [facts for facts in paradigm.reader.files.values() if isinstance(facts, SoundFacts)]
    if not sounds:
        return []
    why = no_sound()
    here = (
        "this computer can play them"
        if why is None
        else f"this computer cannot play them ({why}), so sessions at the window are refused here"
    )
    shortest, longest = min(sound.ms for sound in sounds), max(sound.ms for sound in sounds)
    return [f"sounds: {len(sounds)} files of {shortest:,.0f} to {longest:,.0f} ms; {here}"]


def _check_language(language: str, files: list[Path]) -> Result:
    """The sentences that a language lacks, in SpanLab and in paradigms."""
    from ..core.locale import missing_sentences
    from ..paradigms import list_paradigms, load_paradigm
    from ..paradigms.translation import missing_texts

    lacking = missing_sentences(language)
    names = [str(file) for file in files] or list_paradigms()
    for name in names:
        paradigm = load_paradigm(name)
        lacking += [f"{paradigm.name}: {lack}" for lack in missing_texts(paradigm.data, language)]
    if lacking:
        return Result(wrong=[f"'{language}' lacks:", *(f"  {lack}" for lack in lacking)])
    return Result(
        [
            f"'{language}' lacks nothing: SpanLab's own sentences, and the texts of {len(names)}"
            f" paradigm{'s' * (len(names) != 1)}"
        ]
    )


def _unmet(effects: Mapping[str, Any], trials: Sequence[Trial]) -> list[str]:
    """The words of contrasts that none of some trials has, which may be misspelt."""
    from ..paradigms.language.schema import written

    met = {
        (name, str(written(value)))
        for trial in trials
        for values in (trial.levels, *(step.truth.record for step in trial.steps))
        for name, value in values.items()
        if effects
    }
    return [
        f"effects > {name}: none of {len(trials)} trials has '{word}' as {effect['of']}, so this may have no data"
        for name, effect in effects.items()
        for word in dict.fromkeys(str(written(word)) for pair in effect["contrast"].items() for word in pair)
        if (effect["of"], word) not in met
    ]


def _paradigm_checked(source: str | Path, details: bool) -> list[str]:
    """One line that says what was checked, and those of what is lacking; with details what the data
    will be like."""
    from ..analysis.figures.prospects import prospects
    from ..paradigms import load_paradigm
    from ..paradigms.checking import check_paradigm
    from ..paradigms.translation import illegible, untranslated
    from ..sessions.rehearsal import rehearsed
    from .studies import too_short

    trials: list[Trial] = []
    asked = 0

    def keep(paradigm: Paradigm, trial: Trial) -> None:
        nonlocal asked
        if asked < _ENOUGH:
            asked += sum(step.percept.ask is not None for step in trial.steps)
            trials.append(trial)

    line = check_paradigm(source, keep)
    paradigm = load_paradigm(source)
    kinds = dict.fromkeys(kind for trial in trials for kind in trial.kinds)
    more: list[str] = []
    if details:
        figures = prospects(rehearsed(trials).to_pandas(), trials[0].paradigm, paradigm.data).figures
        more = [_how_long(paradigm), *_proportions(paradigm), f"figures: {', '.join(figures) or 'none'}"]
    unset = {
        path[1]: f"language '{path[1]}' is for browsers alone: at the window {why}"
        for path, why in illegible(paradigm.data, paradigm.instructions)
    }
    lacking = [f"language {problem}" for problem in untranslated(paradigm.data, kinds, paradigm.instructions)]
    return [
        line,
        *more,
        *_sounds(paradigm),
        *too_short(step.percept for trial in trials for step in trial.steps),
        *unset.values(),
        *lacking,
        *_unmet(paradigm.data.get("effects") or {}, trials),
    ]
