"""What the record has of consent in studies: for how many people it has their yes, and how many
refused or withdrew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from spanlab.analysis.data import Head, plural
from spanlab.core import SpanLabError
from spanlab.sessions.studies import people, read_head, read_journal, runs


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
