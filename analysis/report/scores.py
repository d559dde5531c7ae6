"""Distances of answerers from people, on the page: scores A and B, distances of curves, errors on
the same trials, how alike people are among themselves."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.agent_kinds import PARTICIPANT
from ..data.loading import Data
from ..data.numbers import counted, limits, missing, number, p_value, whole
from ..effects.registry import effect as effect_named
from ..model_vs_human.comparison import ceilings, distances
from ..model_vs_human.score_layout import layout
from ..model_vs_human.scores import DECISIONS, scores
from ..stats.agreement import error_consistency, pairs_left_out
from .commands import ReportCommands
from .folder import Folder
from .html_tables import PageColumn, PageTable, page_table, unread_columns, words_of

_EACH = (
    "Pearson's correlation of each curve with the curve of every person, averaged over people, and the root of the mean"
    " squared difference; over the points that everybody has. People themselves are scored in the same way: their noise"
    " ceiling is given, too."
)
_PUBLISHED = (
    "Pearson's correlation and root mean square difference of each curve and people's, over the points that both have."
    " Only the means of published people are known, so there is no noise ceiling."
)


@dataclass(frozen=True)
class Compared:
    """One comparison: what it is, its tables, what was decided, and the command that makes it
    again."""

    title: str
    text: str
    tables: tuple[PageTable, ...]
    notes: tuple[str, ...]
    command: str


def compared(data: Data, folder: Folder, commands: ReportCommands) -> list[Compared]:
    """Every comparison that the data allow."""
    people = sorted({agent for agent, kind in _who(data) if kind == PARTICIPANT.name})
    parts = [
        _scores(data, "", folder, commands),
        *(_scores(data, name, folder, commands) for name in people),
        _curves(data, "", folder, commands),
        *(_curves(data, name, folder, commands) for name in people),
    ]
    return [part for part in (*parts, *_agreement(data, folder, commands)) if part is not None]


def _who(data: Data) -> list[tuple[str, str]]:
    return list(data.scored.items[["agent", "agent_kind"]].drop_duplicates().itertuples(index=False, name=None))


def _scores(data: Data, against: str, folder: Folder, commands: ReportCommands) -> Compared | None:
    table = scores(data.scored, human=data.human, against=against)
    if not len(table):
        return None
    name = "scores" if not against else "scores_against_people"
    file = folder.table(name, table)
    wide = layout(table, published=not against)
    rows = wide.assign(score=wide["task"] + " " + wide["score"]).drop(columns="task")
    side_by_side = PageTable(
        "Side by side",
        "0 means the same as people. * p < .01 against guessing."
        + ("" if against else " From RNN-96 on: as published (Sikarwar & Zhang, 2023, Table A3)."),
        tuple(map(str, rows.columns)),
        tuple(tuple(map(str, row)) for row in rows.itertuples(index=False, name=None)),
    )
    columns: list[PageColumn] = [
        ("score", lambda row: f"{row['task']} {row['score']}"),
        words_of("agent", "who"),
        ("value", lambda row: number(row["value"], 3)),
        ("95% interval", lambda row: limits(row["low"], row["high"], lambda one: f"{one:.3f}")),
        ("agent", lambda row: number(row["m"], 3)),
        ("people", lambda row: number(row["h"], 3)),
        ("guessing", lambda row: number(row["chance"], 3)),
        ("p", lambda row: p_value(row["p"])),
        ("n", lambda row: counted(row["n_units"], row["unit"])),
        *unread_columns(table),
        words_of("conditions"),
        words_of("note"),
    ]
    caption = (
        "The slopes (A) or means (B) behind each score, of the agent, people and guessing; p: against guessing,"
        " two-tailed, not corrected."
    )
    details = page_table(
        table, columns, "Intervals, and the values behind each score", caption, words=("who", "conditions"), file=file
    )
    who = f"“{against}”, measured here" if against else "published people"
    return Compared(
        f"Scores against {who}",
        "A compares slopes and B compares means with people's: |(M − H) / H|, as in WorM.",
        (side_by_side, details),
        DECISIONS,
        commands.scores(file, against),
    )


def _curves(data: Data, against: str, folder: Folder, commands: ReportCommands) -> Compared | None:
    """Distances of curves; ``spanlab scores`` prints them."""
    far = distances(data.scored, data.human, against)
    columns: list[PageColumn] = [
        words_of("agent", "who"),
        words_of("paradigm"),
        ("curve", lambda row: effect_named(row["effect"]).title),
        words_of("against"),
        ("points", lambda row: whole(row["n_points"])),
        ("r", lambda row: number(row["r"])),
        ("95% interval", lambda row: "" if missing(row["r_low"]) else limits(row["r_low"], row["r_high"])),
        (
            "noise ceiling",
            lambda row: "" if missing(row["ceiling_low"]) else limits(row["ceiling_low"], row["ceiling_high"]),
        ),
        ("RMSE", lambda row: number(row["rmse"], 3)),
        *unread_columns(far),
        words_of("note"),
    ]
    file = folder.table("curve_distances_from_people" if against else "curve_distances", far)
    return _part(
        f"Curves compared with {f'“{against}”' if against else 'published people'}",
        _EACH if against else _PUBLISHED,
        page_table(far, columns, "Correlation and distance", words=("paradigm", "curve", "against"), file=file),
        commands.scores(against=against),
    )


def _agreement(data: Data, folder: Folder, commands: ReportCommands) -> list[Compared | None]:
    """Errors, and people among themselves; ``spanlab scores`` prints them."""
    kappa = error_consistency(data.scored)
    ceiling = ceilings(data.scored)
    command = commands.scores()
    errors: list[PageColumn] = [
        words_of("agent", "who"),
        words_of("other", "and"),
        words_of("paradigm"),
        ("kappa", lambda row: number(row["kappa"])),
        ("95% interval", lambda row: limits(row["low"], row["high"])),
        ("people among themselves", lambda row: "" if missing(row["among_people"]) else number(row["among_people"])),
        ("same outcome", lambda row: number(row["observed"])),
        ("if independent", lambda row: number(row["expected"])),
        ("n", lambda row: counted(row["n_units"], row["unit"])),
        ("pairs", lambda row: whole(row["n_pairs"])),
        ("trials", lambda row: whole(row["n_trials"])),
        *unread_columns(kappa),
        words_of("note"),
    ]
    among: list[PageColumn] = [
        words_of("agent", "who"),
        words_of("paradigm"),
        ("curve", lambda row: effect_named(row["effect"]).title),
        ("people", lambda row: whole(row["people"])),
        ("points", lambda row: whole(row["n_points"])),
        ("r: lower to upper", lambda row: limits(row["r_low"], row["r_high"])),
        (
            "RMSE: of all, of the others",
            lambda row: (
                "–" if missing(row["rmse_low"]) else f"{number(row['rmse_low'], 3)}, {number(row['rmse_high'], 3)}"
            ),
        ),
    ]
    names = ("paradigm", "curve", "and")
    return [
        _part(
            "Errors on the same trials",
            "Cohen's kappa of right and wrong on the same items: 0 for two independent agents, 1 for the same errors."
            " It is undefined for somebody who is always right or always wrong. Kappa with people is given together"
            " with that of people among themselves, computed in the same way: the mean over pairs of one person and"
            " another; its interval is wider than it need be."
            + "".join(f" {sentence}" for sentence in pairs_left_out(data.scored)),
            page_table(kappa, errors, "Error consistency", words=names, file=folder.table("error_consistency", kappa)),
            command,
        ),
        _part(
            "People among themselves",
            "How close a curve can come to the curves of these people, who differ and took few trials. On average, no"
            " curve correlates with them more than the upper ceiling; the lower one is the correlation of each person"
            " with the mean of the others (Nili et al., 2014). In simulations people's own true curve was between the"
            " two in more than four of five samples, and never above. No curve has a smaller RMSE than the mean of"
            " all.",
            page_table(ceiling, among, "Noise ceilings", words=names, file=folder.table("noise_ceiling", ceiling)),
            command,
        ),
    ]


def _part(title: str, text: str, table: PageTable, command: str) -> Compared | None:
    return Compared(title, text, (table,), (), command) if table.rows else None
