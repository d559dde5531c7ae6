"""Study files, read and checked: the paradigms that participants take, sessions and their order,
questions and texts."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...core.errors import ParadigmError, Problem, SpanLabError
from ...core.json_values import as_list, as_object, in_a_list
from ...core.registry import nearest
from ...paradigms import Paradigm, PlannedTrial, load_paradigm, plan_session
from ...paradigms.design import session_design
from ...paradigms.identity import digest
from ...paradigms.language.diagnostics import in_order, listed, show, validated
from ...paradigms.language.yaml_source import Document, YamlPath, in_library, read
from ...paradigms.translation import illegible
from ...stimuli.render.palette import PaletteName
from ..key_mapping import KeySetting, key_request
from ..people import LOWER_HALF, drawn_seeds, random_seeds
from ..triggers import trigger_request
from .participants import Kind, misnamed
from .schema import (
    COMMON,
    Breaks,
    Entry,
    FieldPart,
    Group,
    Online,
    Order,
    Start,
    StudyFile,
    missing_texts,
    order_of,
    rows,
)

_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")
#: what the dialog asks of every study
_BUILT_IN = ("participant", "session", "number", "language", "existing")


@dataclass(frozen=True, slots=True)
class StudyParadigm:
    """One paradigm of a study, loaded."""

    name: str
    source: str
    paradigm: Paradigm
    entry: Entry

    def plan(self, seed: int, balanced: bool = True) -> list[PlannedTrial]:
        """The trials of a session.

        Parameters
        ----------
        balanced : false leaves out what the design wishes of answers and random factors, which
            takes most of the time: for those who only look at the levels
        """
        design = session_design(self.paradigm, self.entry.design)
        return plan_session(
            self.paradigm,
            seed,
            design if balanced else design.unchosen,
            self.entry.set_,
            self.entry.trials,
            self.entry.generator,
        )


@dataclass(frozen=True, slots=True)
class Study:
    """A study, validated.

    ``hash`` covers the study file; every paradigm has its own. ``sessions`` holds for each session
    the numbers of its paradigms (from 0). ``mode`` are the permissions of its data folder, from its
    creation on, as far as the system's mask leaves them.
    """

    name: str
    title: str
    hash: str
    data: Mapping[str, Any]
    file: Path
    languages: tuple[str, ...]
    paradigms: tuple[StudyParadigm, ...]
    order: Order
    seed: int | None
    keys: KeySetting
    groups: tuple[Group, ...]
    display: Path | None
    buttons: str
    start: Start | None
    palette: PaletteName
    focus: str
    font: Path | None
    sessions: tuple[tuple[int, ...], ...]
    breaks: Breaks | None
    consent: Mapping[str, str] | None
    debrief: Mapping[str, str] | None
    fields: tuple[FieldPart, ...]
    online: Online | None
    people: int | None
    mode: int

    @property
    def drop_out_s(self) -> float | None:
        """Without a sign for so long (s), somebody who has not finished counts as a drop-out; None
        where nobody does."""
        minutes = self.online and self.online.drop_out_minutes
        return None if minutes is None else 60.0 * minutes

    def of_group(self, name: str) -> Study:
        """The study as a group takes it: its paradigms, with its levels; in a study without groups
        (no name) as it is.

        Raises
        ------
        SpanLabError
            when the study has no such group.
        """
        if not name and not self.groups:
            return self
        group = next((candidate for candidate in self.groups if candidate.name == name), None)
        if group is None:
            raise SpanLabError(
                f"{self.name} has no group '{name}'; it has"
                f" {listed([candidate.name for candidate in self.groups]) or 'none'}"
            )
        paradigms = tuple(
            (
                replace(
                    taken, entry=taken.entry.model_copy(update={"set_": {**taken.entry.set_, **group.set_[taken.name]}})
                )
                if taken.name in group.set_
                else taken
            )
            for taken in self.paradigms
        )
        numbers = {n for n, taken in enumerate(paradigms) if group.paradigms is None or taken.name in group.paradigms}
        return replace(
            self,
            paradigms=paradigms,
            sessions=tuple(tuple(n for n in session if n in numbers) for session in self.sessions),
        )

    @property
    def paradigms_in_use(self) -> list[StudyParadigm]:
        """The paradigms that are taken in any session: all of them, unless this is the study of a
        group."""
        return [taken for n, taken in enumerate(self.paradigms) if any(n in session for session in self.sessions)]

    def order_for(self, number: int, session: int) -> list[StudyParadigm]:
        """The paradigms of a session in the order of a participant (by number, or by the place in a
        group)."""
        first, moved, last = self._by_place(session)
        ordered = [moved[part] for part in order_of(self.order, len(moved), self.name, number, session, self.seed)]
        return [self.paradigms[n] for n in (*first, *ordered, *last)]

    def _by_place(self, session: int) -> tuple[list[int], list[int], list[int]]:
        """The paradigms of a session that stay first, those that the order moves, and those that
        stay last, by their numbers."""
        numbers = self.sessions[session - 1]
        places = [self.paradigms[n].entry.place for n in numbers]
        first, moved, last = (
            [n for n, place in zip(numbers, places, strict=True) if place == position]
            for position in ("first", None, "last")
        )
        return first, moved, last

    def keys_for(self, person: str, number: int) -> dict[str, Any]:
        """The keys with which a participant answers in all sessions, for ``Request.extra["keys"]``.
        Sides change once every order has been used."""
        moved = [len(self._by_place(session)[1]) for session in range(1, len(self.sessions) + 1)]
        orders = math.lcm(*(rows(parts) for parts in moved)) if self.order == "latin_square" else 1
        return key_request(self.keys, person, number, orders)

    @property
    def most_participants(self) -> int | None:
        """The largest number for which the study's seed has seeds; None where they are drawn at
        random."""
        return None if self.seed is None else LOWER_HALF // (len(self.sessions) * len(self.paradigms))

    def seeds_for(self, number: int, session: int, name: str, run: int = 1, kind: Kind = "person") -> Iterator[int]:
        """Seeds for one paradigm in one session of one participant, in the order in which they are
        tried: the first is different wherever one of these differs, and is had unless another
        session of the data folder has it.

        They follow from the seed of the study; without one, they are drawn at random, so that
        nothing about a participant can be read from them. A session that is begun anew (``run``
        above 1), and those of pilots and rehearsals, who are counted by themselves, get trials that
        nobody else has: their seeds come from the other half of all seeds.

        Raises
        ------
        SpanLabError
            when the number is too large for the study.
        """
        if self.seed is None:
            return random_seeds()
        others = drawn_seeds([self.name, self.seed, number, session, name, run, kind])
        if run > 1 or kind != "person":
            return others
        most = self.most_participants
        if most is not None and number > most:
            raise SpanLabError(
                f"the study {self.name} has seeds for {most} participants; the number {number} is too high"
            )
        part = next(n for n, paradigm in enumerate(self.paradigms) if paradigm.name == name)
        index = ((number - 1) * len(self.sessions) + session - 1) * len(self.paradigms) + part
        # Studies begin at different places, so that two of them in one data folder do not give
        # their first participants the same trials.
        start = int(digest([self.name], length=8), 16)
        return itertools.chain([(start + self.seed - 1 + index) % LOWER_HALF], others)


def is_study(source: str | Path) -> bool:
    """Return whether this is a study file: YAML with the key ``study``. A file that cannot be read
    is not."""
    try:
        if not Path(source).is_file():
            return False
        data = read(Path(source)).data
    except (SpanLabError, OSError):
        return False
    return isinstance(data, dict) and "study" in data


def load_study(file: str | Path) -> Study:
    """Load a study from its file, with all of its paradigms.

    Raises
    ------
    ParadigmError
        with everything that is wrong with the file and the paradigms that it names.
    SpanLabError
        when the file cannot be read.
    """
    path = Path(file)
    return build_study(read(path), path)


def study_from_data(data: Mapping[str, Any], file: Path) -> Study:
    """Rebuild a study from the plain content of its file (``Study.data``), as a session's record
    keeps it; paradigm files are where the study file was."""
    return build_study(Document(dict(data), {}, file.name), file)


def build_study(document: Document, file: Path) -> Study:
    """Validate a document and build the study.

    Raises
    ------
    ParadigmError
        with everything that is wrong, at once.
    """
    from ...stimuli.render.fonts import use_font  # loads Pillow

    data = as_object(document.data)
    if not data:
        raise ParadigmError(
            [
                document.problem(
                    (),
                    f"expected a study (keys with values, beginning with 'study: NAME'); found {show(document.data)}",
                )
            ]
        )
    if "study" not in data and data.keys() & {"paradigm", "extends", "timeline"}:
        raise ParadigmError(
            [
                document.problem(
                    (),
                    "this is a paradigm; a study is needed here: a file that names paradigms, beginning with 'study:"
                    " NAME'",
                )
            ]
        )
    faults = validated(StudyFile, data)[1]
    problems = [document.problem(path, message) for path, message in faults]
    # What pydantic let pass is looked at more closely, whatever else is wrong.
    amiss = {path[:n] for path, _ in faults for n in (1, 2)}
    fine = {key: value for key, value in data.items() if (key,) not in amiss}
    checked = StudyFile.model_validate({"study": "x", "title": "x", "paradigms": ["x"], **fine})
    try:
        use_font(None if checked.font is None else file.parent / checked.font)
    except ValueError as error:
        problems.append(document.problem(("font",), str(error)))
    faulty = {path for path, _ in faults}
    entries, field_entries = (
        {n: item for n, item in enumerate(as_list(data.get(key))) if (key, n) not in amiss and (key,) not in faulty}
        for key in ("paradigms", "fields")
    )
    paradigms = [_load(document, file, n, entry, checked.languages, problems) for n, entry in entries.items()]
    loaded = [paradigm for paradigm in paradigms if paradigm is not None]
    names = [paradigm.name for paradigm in loaded]
    if len(loaded) == len(as_list(data.get("paradigms"))):
        problems += [document.problem(path, message) for path, message in _misnamed(checked, names)]
    if misnamed(checked.study):
        problems.append(
            document.problem(
                ("study",), f"the folder of the data cannot be called '{checked.study}': {misnamed(checked.study)}"
            )
        )
    problems += [document.problem(path, message) for path, message in _texts_amiss(checked)]
    fields, wrong = _fields(field_entries, checked.languages)
    problems += [document.problem(path, message) for path, message in wrong]
    if problems:
        raise ParadigmError(in_order(problems))
    every = tuple(range(len(loaded)))
    built = Study(
        name=checked.study,
        title=checked.title,
        hash=digest(data),
        data=data,
        file=file,
        languages=tuple(checked.languages),
        paradigms=tuple(loaded),
        order=checked.order,
        seed=checked.seed,
        keys=checked.keys,
        groups=tuple(_groups(checked)),
        display=None if checked.display is None else file.parent / checked.display,
        buttons=checked.buttons,
        start=checked.start,
        palette=checked.palette,
        focus=checked.focus,
        font=None if checked.font is None else file.parent / checked.font,
        sessions=(
            (every,) * checked.sessions
            if isinstance(checked.sessions, int)
            else tuple(tuple(names.index(name) for name in session) for session in checked.sessions)
        ),
        breaks=checked.breaks,
        consent=checked.consent,
        debrief=checked.debrief,
        fields=tuple(fields),
        online=checked.online,
        people=checked.people,
        mode=0o777 if checked.shared else 0o700,
    )
    if checked.order == "fixed" and (placed := [n for n, taken in enumerate(loaded) if taken.entry.place is not None]):
        message = (
            "with order: fixed the paradigms come in the order of the file: leave 'place' out, or choose order:"
            " latin_square or shuffled"
        )
        raise ParadigmError([document.problem(("paradigms", n, "place"), message) for n in placed])
    if amiss_in_groups := [document.problem(path, message) for path, message in _groups_amiss(built)]:
        raise ParadigmError(in_order(amiss_in_groups))
    return built


def _groups(checked: StudyFile) -> Iterator[Group]:
    """The groups of a study; a name alone stands for a group that takes everything."""
    for named in checked.groups or ():
        yield (
            Group.model_construct(name=named, people=None, paradigms=None, set_={}) if isinstance(named, str) else named
        )


def _groups_amiss(study: Study) -> Iterator[tuple[YamlPath, str]]:
    """List the problems of the groups of a study that is right otherwise."""
    names = [taken.name for taken in study.paradigms]
    for n, group in enumerate(study.groups):
        path: YamlPath = ("groups", n)
        if any(group.name == other.name for other in study.groups[:n]):
            yield path, f"the group '{group.name}' occurs twice"
            continue
        if not _NAME.fullmatch(group.name):
            yield (
                path,
                (
                    "a group's name has small letters, digits and underscores, and begins with a letter; found"
                    f" '{group.name}'"
                ),
            )
            continue
        unknown = [
            (key, name)
            for key, several in (("paradigms", group.paradigms or ()), ("set", group.set_))
            for name in several
            if name not in names
        ]
        for key, name in unknown:
            yield (
                (*path, key),
                f"the study has no paradigm '{name}'{nearest(name, names) or '; it has ' + listed(names)}",
            )
        idle = [
            name for name in group.set_ if name in names and group.paradigms is not None and name not in group.paradigms
        ]
        for name in idle:
            yield (*path, "set", name), f"the group does not take '{name}'"
        levels = [
            amiss
            for taken in study.paradigms
            for amiss in _levels_amiss(taken.paradigm, group.set_.get(taken.name, {}), (*path, "set", taken.name))
        ]
        yield from levels
        if unknown or levels:
            continue
        as_taken = study.of_group(group.name)
        for session, paradigms in enumerate(as_taken.sessions, start=1):
            if not paradigms:
                yield path, f"the group '{group.name}' has no paradigm in session {session}"
        for taken in as_taken.paradigms_in_use:
            try:
                taken.plan(1, balanced=False)
            except SpanLabError as error:
                yield (*path, "set", taken.name) if taken.name in group.set_ else path, str(error)
    for n, name in enumerate(names):
        if study.groups and all(group.paradigms is not None and name not in group.paradigms for group in study.groups):
            yield ("paradigms", n), f"no group takes '{name}'"
    if study.groups:
        for n, field in enumerate(study.fields):
            if field.name == "group":
                yield (
                    ("fields", n),
                    (
                        "the study has groups, to which participants are assigned: leave out the field 'group', or give"
                        " it another name"
                    ),
                )


def _levels_amiss(paradigm: Paradigm, chosen: Mapping[str, Any], path: YamlPath) -> Iterator[tuple[YamlPath, str]]:
    """Chosen levels that a paradigm does not have; of each factor the first."""
    for factor, levels in chosen.items():
        for level in in_a_list(levels):
            try:
                paradigm.level(factor, level)
            except SpanLabError as error:
                yield (*path, factor), str(error)
                break


def _load(
    document: Document, file: Path, n: int, named: Any, languages: Sequence[str], problems: list[Problem]
) -> StudyParadigm | None:
    """One paradigm of the study, or None with its problems added."""
    entry = Entry(paradigm=named) if isinstance(named, str) else Entry.model_validate(named)
    path: YamlPath = ("paradigms", n)
    below: YamlPath = path if isinstance(named, str) else (*path, "paradigm")
    # A name is one of the library; whatever looks like a file is looked for beside the study.
    source = entry.paradigm if in_library(entry.paradigm) else str(file.parent / entry.paradigm)
    before = len(problems)
    try:
        paradigm = load_paradigm(source)
    except ParadigmError as error:
        problems += error.problems
        return None
    except SpanLabError as error:
        problems.append(document.problem(below, str(error)))
        return None
    problems += [
        *(
            document.problem(
                below,
                f"{paradigm.name} has no instructions in '{language}'; there are {', '.join(paradigm.instructions)}",
            )
            for language in languages
            if language not in paradigm.instructions
        ),
        *(
            document.problem(below, f"{paradigm.name} {' > '.join(map(str, place))}: {why}")
            for place, why in illegible(paradigm.data, dict.fromkeys(languages), browser=True)
        ),
    ]
    problems += [document.problem(at, why) for at, why in _levels_amiss(paradigm, entry.set_, (*path, "set"))]
    if entry.triggers:
        try:
            trigger_request(paradigm, "", entry.triggers)
        except SpanLabError as error:
            problems.append(document.problem((*path, "triggers"), str(error)))
    paradigm_of_study = StudyParadigm(entry.as_ or paradigm.name, source, paradigm, entry)
    if len(problems) == before:
        try:
            paradigm_of_study.plan(1, balanced=False)
        except SpanLabError as error:
            problems.append(document.problem((*path, "design") if entry.design else path, str(error)))
    return paradigm_of_study


def _misnamed(checked: StudyFile, names: Sequence[str]) -> Iterator[tuple[YamlPath, str]]:
    """Paradigms that share a name, and names in sessions that stand for none."""
    for n, name in enumerate(names):
        if name in names[:n]:
            yield ("paradigms", n), f"'{name}' occurs twice; give each one a name of its own, such as as: {name}_2"
    if isinstance(checked.sessions, int):
        return
    for session, of_session in enumerate(checked.sessions):
        if not of_session:
            yield ("sessions", session), "a session needs at least one paradigm"
        for n, name in enumerate(of_session):
            if name not in names:
                yield (
                    ("sessions", session, n),
                    f"the study has no paradigm '{name}'{nearest(name, names) or '; it has ' + listed(names)}",
                )
            elif name in of_session[:n]:
                yield ("sessions", session, n), f"'{name}' occurs twice in a session"
    for n, name in enumerate(names):
        if not any(name in of_session for of_session in checked.sessions):
            yield ("paradigms", n), f"'{name}' is in no session"


def _texts_amiss(checked: StudyFile) -> Iterator[tuple[YamlPath, str]]:
    """Languages that stand twice, pages that lack one of them, pages in a language that the study
    does not have, and letters that pages cannot show."""
    from ...stimuli.render.fonts import unreadable  # loads a typeface

    for n, language in enumerate(checked.languages):
        if language in checked.languages[:n]:
            yield ("languages", n), f"'{language}' occurs twice"
    pages: dict[YamlPath, Mapping[str, str] | None] = {
        ("consent",): checked.consent,
        ("debrief",): checked.debrief,
        ("breaks", "text"): checked.breaks.text if checked.breaks else None,
    }
    for path, texts in pages.items():
        for language in dict.fromkeys(checked.languages):
            if texts is not None and language not in texts:
                yield path, f"there is no text in '{language}', a language of the study"
        for language, text in (texts or {}).items():
            if why := unreadable(text):
                yield (*path, language), why
            if language not in checked.languages:
                hint = (
                    nearest(language, checked.languages)
                    or f"; its languages are {listed(dict.fromkeys(checked.languages))}"
                )
                yield (*path, language), f"'{language}' is not a language of the study{hint}"


def _fields(
    field_values: Mapping[int, Any], languages: Sequence[str]
) -> tuple[list[FieldPart], list[tuple[YamlPath, str]]]:
    """The fields of a study, and what is wrong with them."""
    fields: list[FieldPart] = []
    wrong: list[tuple[YamlPath, str]] = []
    for n, named in field_values.items():
        path: YamlPath = ("fields", n)
        field = COMMON.get(named) if isinstance(named, str) else FieldPart.model_validate(named)
        if field is None:
            hint = nearest(named, COMMON) or f"; there are {listed(COMMON)}"
            wrong.append((path, f"there is no common field '{named}'{hint} (others need name, label and type)"))
            continue
        lacks = missing_texts(field, languages)
        if lacks is not None:
            wrong.append((path, f"the field '{field.name}' has no words in '{lacks}', a language of the study"))
        if field.name in _BUILT_IN:
            wrong.append((path, f"'{field.name}' is asked in every study"))
        elif any(field.name == other.name for other in fields):
            wrong.append((path, f"the field '{field.name}' occurs twice"))
        fields.append(field)
    return fields, wrong
