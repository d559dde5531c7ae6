"""The result of a session of a chat model, in a line for its end: accuracy, chance, people, and the
share of replies that could not be read."""

from __future__ import annotations

from pathlib import Path

from ...core.errors import SpanLabError
from ..data.loading import load
from ..data.unread import NOTED, unread_shares
from ..effects.curves import overall
from ..model_vs_human.differences import from_people


def session_result(folder: Path) -> list[str]:
    """Return the lines that end a session: its result, and a warning where more than :data:`.NOTED`
    of its replies could not be read.

    Without a scored answer there is no line.
    """
    try:
        data = load([folder])
    except SpanLabError:
        return []
    lines: list[str] = []
    for paradigm, part in data.scored.parts.items():
        table = overall(part)
        if not len(table):
            continue
        row, unread = table.iloc[0], unread_shares(part.items)
        parts = [f"{row['mean']:.0%} right"]
        parts += [f"chance {row['chance']:.0%}"] if row["chance"] == row["chance"] else []
        people = next(iter(from_people(data, paradigm).values()), None)
        if people is not None and people.people == people.people:
            parts.append(
                f"people {people.people:.0%}"
                f" ({people.against}{f', over the same {people.over}' if people.over else ''})"
            )
        share = float(unread["unread"].iloc[0]) if len(unread) else 0.0
        parts.append(f"{share:.0%} of {len(part.items):,} answers could not be read")
        lines.append(f"{row['agent']} in {paradigm}: {'; '.join(parts)}")
        if share > NOTED:
            wrong, guessed = (float(unread[name].iloc[0]) for name in ("all_wrong", "if_guessed"))
            upper = f" and {guessed:.0%} if they were guesses" if guessed == guessed else ""
            lines.append(
                f"WARNING: replies that could not be read count as wrong. The share of right answers is {wrong:.0%} if"
                f" all of them are wrong{upper}: look at them with spanlab transcript {folder}"
            )
    return lines
