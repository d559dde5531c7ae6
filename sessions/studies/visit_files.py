"""The files of a session of a study: its head, its journal and its ordinary sessions; where they
are, how far they are, and what an assistant decides about them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core.atomic_files import append_line, only_writer, read_lines
from ...core.errors import SpanLabError
from ...core.json_values import as_object
from ...core.registry import nearest
from ..record.quiz import QuizState, attention_checks
from ..record.reader import quiz_on_record, read_events, read_session, trials_done
from ..session import day_here, utc_now, write_info

#: in the folder of a session of a study: what it is, and what happened around its paradigms
HEAD, JOURNAL = "battery.json", "battery.jsonl"
_FOLDER = re.compile(r"session-([1-9][0-9]?)(?:-run-([1-9][0-9]{0,3}))?")


@dataclass(frozen=True, slots=True)
class State:
    """The progress of one paradigm of a session.

    ``practice`` says so where its criterion was not reached; ``quiz`` is the state of a quiz;
    ``checks`` counts the attention checks that were answered correctly, and all of them.
    """

    folder: Path
    done: int
    planned: int
    finished: bool
    practice: str = ""
    quiz: QuizState | None = None
    checks: tuple[int, int] = (0, 0)

    @property
    def progress(self) -> str:
        """Trials done of trials planned. A staircase has so many trials at most: what is told once
        it is over is how many were taken."""
        return f"{self.done} (over)" if self.finished and self.done < self.planned else f"{self.done}/{self.planned}"


def runs(study_folder: Path, name: str, session: int | None = None) -> list[Path]:
    """The folders of a participant's sessions (or of all runs of one), in order."""
    folders: list[tuple[int, int, Path]] = []
    folder = study_folder / name
    for path in folder.iterdir() if folder.is_dir() else ():
        match = _FOLDER.fullmatch(path.name)
        if match and (path / HEAD).exists() and session in (None, int(match[1])):
            folders.append((int(match[1]), int(match[2] or 1), path))
    return [path for _, _, path in sorted(folders)]


def latest_visits(folder: Path) -> list[Path] | None:
    """The sessions of a study in a folder of its data (that of the study, of a participant, or of
    the session itself), each in its last run.

    Returns
    -------
    None for a folder that is not a study's
    """
    heads = (
        [folder / HEAD]
        if (folder / HEAD).exists()
        else [*folder.glob(f"session-*/{HEAD}"), *folder.glob(f"[!.]*/session-*/{HEAD}")]
    )
    if not heads:
        return None
    begun = [(read_head(path.parent), path.parent) for path in heads]
    last = {
        (head["participant"], head["session"]): visit
        for head, visit in sorted(begun, key=lambda one: int(one[0]["run"]))
    }
    return sorted(last.values())


def read_head(folder: Path) -> dict[str, Any]:
    """Read what a session of a study is.

    Raises
    ------
    SpanLabError
        when its file is damaged.
    """
    path = folder / HEAD
    try:
        head = as_object(json.loads(path.read_text(encoding="utf-8") if path.is_file() else "{}"))
        if any(not isinstance(head.get(key), kind) for key, kind in _HEAD_KEYS.items()):
            raise ValueError("a part of it is missing")
    except (OSError, ValueError, RecursionError) as error:
        raise SpanLabError(f"{path} cannot be read ({error}); restore it from a copy") from None
    return head


def read_journal(folder: Path) -> list[dict[str, Any]]:
    """Return the events between the paradigms of a session, in order; each line has an ``event``
    and its time (``at``).

    Raises
    ------
    SpanLabError
        when a line is damaged.
    """
    file = folder / JOURNAL
    lines = read_lines(file) if file.is_file() or not file.exists() else [dict[str, Any]()]
    for number, line in enumerate(lines, start=1):
        if not isinstance(line.get("event"), str) or not isinstance(line.get("at", ""), str):
            raise SpanLabError(f"{file}:{number} is damaged; restore the file from a copy")
    return lines


_HEAD_KEYS: dict[str, type] = {
    "order": list,
    **dict.fromkeys(("study", "study_hash", "participant", "language", "created", "kind"), str),
    **dict.fromkeys(("session", "run", "participant_number"), int),
    **dict.fromkeys(("fields", "study_data"), dict),
}


def states(folder: Path, state: Callable[[Path], tuple[str, State] | None] | None = None) -> dict[str, State]:
    """The progress of each paradigm of a session that was begun, by its name in the study.

    Parameters
    ----------
    state : as :func:`state_of`, which it is when not given
    """
    found = map(state or state_of, sorted(path.parent for path in folder.glob("[!.]*/session.json")))
    return dict(sorted(named for named in found if named is not None))


def state_of(path: Path) -> tuple[str, State] | None:
    """The progress of a paradigm's session, and the paradigm's name in the study; None for a session that somebody
    has put here, or that was taken again."""
    info = read_session(path)
    of_study = info.get("study")
    if not isinstance(of_study, dict) or not isinstance(name := of_study.get("paradigm"), str) or "set_aside" in info:
        return None
    events = read_events(path)
    done, left = trials_done(info, events)
    practice, checks = _practice_of(info, events), attention_checks(info, events)
    return name, State(path, done, len(info["plan"]), not left, practice, quiz_on_record(info, events), checks)


def last_sign(folder: Path) -> float:
    """Return the time of the last write in a session of a study (seconds since the epoch); 0 for
    never."""
    return max((changed_at(folder), *(changed_at(path.parent) for path in folder.glob("[!.]*/session.json"))))


def changed_at(folder: Path) -> float:
    """Return the time of the last write to a record in a folder (seconds since the epoch); 0 for
    never."""
    return max((path.stat().st_mtime for path in folder.glob("*.json*") if path.exists()), default=0.0)


def completed(folder: Path) -> bool:
    """Return whether every paradigm of a session is finished, or was skipped."""
    return all_taken(read_head(folder)["order"], states(folder), skipped(read_journal(folder)))


def all_taken(order: Iterable[str], progress: Mapping[str, State], gone: Mapping[str, str]) -> bool:
    """Return whether every paradigm is finished, or was skipped."""
    return all(name in gone or (name in progress and progress[name].finished) for name in order)


def skipped(journal: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the paradigms of a session that an assistant has skipped, each with the reason."""
    reasons: dict[str, str] = {}
    for line in journal:
        if line["event"] == "skipped":
            reasons[str(line["paradigm"])] = str(line["reason"])
        elif line["event"] == "repeated":
            reasons.pop(str(line["paradigm"]), None)
    return reasons


def finished_on_record(folder: Path) -> bool:
    """Return whether the journal says that the session is over, and that nothing of it was to be
    taken again since."""
    events = [line["event"] for line in read_journal(folder) if line["event"] in ("finished", "repeated")]
    return bool(events) and events[-1] == "finished"


def _practice_of(info: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> str:
    """That practice was not passed, where it is so, and whether the session went on all the same."""
    passed = [event["passed"] for event in events if event["event"] == "practice"]
    if not passed or passed[-1]:
        return ""
    decided = [event["decided"] for event in events if event["event"] == "practice_decision"]
    goes_on = (
        "go_on" in decided or as_object(info["paradigm_data"].get("practice")).get("otherwise", "go_on") == "go_on"
    )
    return "practice not passed, went on" if goes_on else "practice not passed"


def refused(journal: Iterable[Mapping[str, Any]]) -> str:
    """Return the date on which the participant refused to take part in a session; empty if there is
    none, or consent came later."""
    answers = [line for line in journal if line["event"] in ("consent", "refused")]
    return day_here(answers[-1]["at"]) if answers and answers[-1]["event"] == "refused" else ""


def fields_due(folder: Path) -> bool:
    """Return whether the questions about the participant are still to be answered in a session that
    was begun: they come once the participant has agreed."""
    return "fields_later" in read_head(folder)


def known_fields(study_folder: Path, name: str) -> dict[str, Any]:
    """The participant's fields from all sessions; the latest values count."""
    heads = sorted((read_head(folder) for folder in runs(study_folder, name)), key=lambda head: head["created"])
    return {name: value for head in heads for name, value in head["fields"].items()}


# -- decisions of an assistant about a session that is not running ----------------------------------


def skip(visit: Path, paradigm: str, reason: str, now: Callable[[], str] = utc_now) -> None:
    """Skip a paradigm of a session: what is finished of it stays, and the session goes on with the
    next one.

    Parameters
    ----------
    visit : folder of the session of the study
    paradigm : its name in the study
    reason : in words, for the record

    Raises
    ------
    SpanLabError
        for an unknown paradigm, one that is finished, or an empty reason, and while the session is
        running.
    """
    _check_decision(visit, paradigm, reason, "--skip")
    with only_writer(visit):
        state = states(visit).get(paradigm)
        if state is not None and state.finished:
            raise SpanLabError(f"--skip: {paradigm} is finished, so nothing of it can be skipped")
        append_line(visit / JOURNAL, {"event": "skipped", "paradigm": paradigm, "reason": reason.strip(), "at": now()})


def repeat(visit: Path, paradigm: str, reason: str, now: Callable[[], str] = utc_now) -> None:
    """Have a paradigm of a session taken again, from its beginning and with other trials: its
    session is set aside, and kept.

    Parameters
    ----------
    visit, paradigm, reason : as of :func:`skip`

    Raises
    ------
    SpanLabError
        as :func:`skip`, but for a paradigm that has not begun instead of one that is finished.
    """
    _check_decision(visit, paradigm, reason, "--repeat")
    with only_writer(visit):
        state = states(visit).get(paradigm)
        if state is None:
            raise SpanLabError(f"--repeat: {paradigm} has not begun, so it cannot be repeated")
        with only_writer(state.folder):
            at = now()
            append_line(
                visit / JOURNAL,
                {
                    "event": "repeated",
                    "paradigm": paradigm,
                    "session": state.folder.name,
                    "reason": reason.strip(),
                    "at": at,
                },
            )
            write_info(state.folder, {**read_session(state.folder), "set_aside": {"reason": reason.strip(), "at": at}})


def _check_decision(visit: Path, paradigm: str, reason: str, option: str) -> None:
    order = read_head(visit)["order"]
    if paradigm not in order:
        raise SpanLabError(
            f"{option}: the session has no paradigm '{paradigm}'{nearest(paradigm, order)}; it has {', '.join(order)}"
        )
    if not reason.strip():
        raise SpanLabError(f"{option} needs --reason TEXT, which is recorded")
