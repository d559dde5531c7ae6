"""Names of answerers in figures and tables, whether they took the same trials, and how each is
drawn: the colour, dash and shape of its kind, the same in every figure and in light and dark."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...core.agent_kinds import CHANCE, IDEAL, KINDS, PARTICIPANT, PRINTED, SCRIPTED, SIMULATED, AgentKind, kind_named
from ...core.json_values import grouped
from .coding import analysed, as_text, groups
from .scoring import UNIT_SESSION, WORDING, plural
from .sessions import SessionFacts

#: Titles of paradigms whose record tells none.
_TITLES = {"vsr": "Visual Serial Recall", "sfr": "Spatial Free Recall", "smu": "Spatial Memory Updating"}


#: What an answerer is told by before it has a name: kind, agent and settings as recorded, and what
#: its session's label demands.
Raw = tuple[str, str, str, str]
#: Column in which :func:`labelled` puts what sessions' labels demand.
LABEL = "_label"
#: The columns of :data:`Raw`.
RAW = ("agent_kind", "agent", "agent_settings_hash", LABEL)


def labelled(responses: pd.DataFrame, sessions: Sequence[SessionFacts] = ()) -> pd.DataFrame:
    """The response table with the columns that names come from as text, and :data:`LABEL`."""
    table = responses.copy(deep=False)
    for name in ("agent", "agent_kind", "participant", "agent_settings_hash", "session", "paradigm"):
        table[name] = as_text(table[name]) if name in table.columns else ""
    together = pooled(sessions)
    labels = {facts.name: facts.label for facts in sessions} | {name: pool.label for name, pool in together.items()}
    demanded = pd.Index(sorted({"", *labels.values()}), dtype="str")
    codes, names = pd.factorize(table["session"])
    place = np.array([demanded.get_loc(labels.get(str(name), "")) for name in names] + [0], dtype=np.int64)
    table = table.assign(**{LABEL: pd.Categorical.from_codes(place[codes], categories=demanded)})
    if together:
        own = [together.get(str(name)) for name in names]
        for column, values in (
            ("agent_settings_hash", [None if pool is None else pool.settings_hash for pool in own]),
            (UNIT_SESSION, [str(name) if pool is None else pool.unit for name, pool in zip(names, own, strict=True)]),
        ):
            known = pd.Series(np.array([*values, None], dtype=object)[codes], index=table.index)
            table[column] = known.where(
                known.notna(), table[column].astype(object) if column in table.columns else ""
            ).astype("str")
    return table


@dataclass(frozen=True, slots=True)
class PooledSession:
    """Place of a session among those of one model in several wordings and repeats: these are one
    agent.

    Parameters
    ----------
    settings_hash, label : the same for all of them, in place of what their records have
    unit : the same for all repeats of a wording, and no wording's but its own
    """

    settings_hash: str
    label: str
    unit: str


def pooled(sessions: Sequence[SessionFacts]) -> dict[str, PooledSession]:
    """By the name of a session, what it is among those of its model; sessions of models that have
    neither several wordings nor repeats are not in it."""
    models = grouped((facts.model, facts) for facts in sessions if facts.model)
    pools = {}
    for model, members in models.items():
        wordings, repeats = {facts.wording for facts in members}, {facts.repeat for facts in members}
        if len(wordings) < 2 and len(repeats) < 2:
            continue
        key = hashlib.sha256(model.encode()).hexdigest()[:16]
        for facts in members:
            label = facts.label.removesuffix(f"repeat {facts.repeat}").removesuffix(", ")
            label = (
                label.removesuffix(facts.wording).removesuffix(", ") if len(wordings) > 1 and facts.wording else label
            )
            pools[facts.name] = PooledSession(
                key, label, f"{WORDING}{facts.wording} of {key}" if len(wordings) > 1 else key
            )
    return pools


def name_of_people(people: Iterable[tuple[str, str]]) -> str:
    """The name of all participants together: how many there are in each paradigm, or who the only
    one is.

    Parameters
    ----------
    people : paradigms, each with the identifier of a participant

    Examples
    --------
    >>> name_of_people([("vsr", "p1"), ("vsr", "p2"), ("sfr", "p3"), ("sfr", "p4")])
    'People (n = 2)'
    >>> name_of_people([("vsr", "p1"), ("vsr", "p2"), ("sfr", "p1")])
    'People (n = 1 to 2)'
    """
    known = {(paradigm, person) for paradigm, person in people if person}
    persons = {person for _, person in known}
    if len(persons) < 2:
        return f"Participant {next(iter(persons))}" if persons else "Participant"
    counts = sorted(Counter(paradigm for paradigm, _ in known).values())
    return f"People (n = {counts[0]})" if counts[0] == counts[-1] else f"People (n = {counts[0]} to {counts[-1]})"


def called(answerers: Iterable[tuple[str, Raw]], people: Iterable[tuple[str, str]]) -> dict[Raw, tuple[str, str]]:
    """The names of all answerers in figures, the same in every paradigm, and the kind of each
    answerer.

    People are one answerer. Oracles are called simulated, guessing is called guessing, and what a
    session's label demands is said (a scripted server's kind becomes ``scripted``). Agents of one
    name whose settings differ within a paradigm stay apart by the first digits of their settings'
    hash.

    Parameters
    ----------
    answerers : paradigms, each with somebody who answered in it
    people : paradigms, each with the identifier of a participant
    """
    everybody, crowd = set(answerers), name_of_people(people)
    settings = grouped(((paradigm, *raw[:2]), raw[2]) for paradigm, raw in everybody)
    several = {(kind, agent) for (_, kind, agent), hashes in settings.items() if len({*hashes}) > 1}

    def name(kind: str, agent: str, settings_hash: str, label: str) -> str:
        if kind == PARTICIPANT.name:
            return crowd
        apart = f" #{settings_hash[:6]}" if (kind, agent) in several else ""
        if kind == SIMULATED.name:
            how = agent.removeprefix("simulated").removeprefix(":")
            return "Simulated participant" + (f" ({how})" if how else "") + apart
        guessing = "guessing" if kind == CHANCE.name else ""
        suffix = label or ("simulated" if kind_named(kind).oracle else guessing)
        return f"{agent or kind}{apart}" + (f" ({suffix})" if suffix else "")

    return {raw: (name(*raw), SCRIPTED.name if "not a model" in raw[3] else raw[0]) for _, raw in everybody}


def people_of(table: pd.DataFrame) -> frozenset[tuple[str, str]]:
    """The paradigms of a table from :func:`labelled`, each with the identifier of a participant."""
    people = table.loc[table["agent_kind"] == PARTICIPANT.name, ["paradigm", "participant"]].drop_duplicates()
    return frozenset((str(paradigm), str(person)) for paradigm, person in people.itertuples(index=False, name=None))


def name_agents(responses: pd.DataFrame, sessions: Sequence[SessionFacts] = ()) -> pd.DataFrame:
    """The response table in which ``agent`` is the name that figures use (see :func:`called`)."""
    return named(labelled(responses, sessions))


def named(table: pd.DataFrame, include_practice: bool = True, include_pilot: bool = True) -> pd.DataFrame:
    """A table from :func:`labelled` (or several as one), with everybody called as in figures; people are counted whose
    rows are analysed."""
    number, first = groups(table, ["paradigm", *RAW])
    heads = table.iloc[first]
    raws: list[Raw] = [
        (str(a), str(b), str(c), str(d)) for a, b, c, d in heads[[*RAW]].itertuples(index=False, name=None)
    ]
    people = people_of(table[analysed(table, include_practice, include_pilot)])
    names = called(zip(map(str, heads["paradigm"]), raws, strict=True), people)
    for place, column in enumerate(("agent", "agent_kind")):
        kept_once = isinstance(table[column].dtype, pd.CategoricalDtype)
        codes, distinct = pd.factorize(pd.Index([names[raw][place] for raw in raws], dtype="str"))
        answerers = pd.Series(pd.Categorical.from_codes(codes[number], categories=distinct), index=table.index)
        table = table.assign(**{column: answerers if kept_once else answerers.astype("str")})
    return table.drop(columns=LABEL)


def title_of(paradigm: str, sessions: Sequence[SessionFacts] = ()) -> str:
    """The full title of a paradigm: as recorded, as known, or its short name."""
    recorded = next((facts.title for facts in sessions if facts.paradigm == paradigm and facts.title), "")
    return recorded or _TITLES.get(paradigm, paradigm or "unnamed paradigm")


def listed(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``; words that begin with a capital only because they are
    names of curves lose it inside."""
    names = [
        *names[:1],
        *(
            (
                name[0].lower() + name[1:]
                if name.startswith(("Participant", "People (", "Simulated participant"))
                else name
            )
            for name in names[1:]
        ),
    ]
    return " and ".join([*filter(None, [", ".join(names[:-1])]), *names[-1:]]) or "nobody"


def same_trials(items: pd.DataFrame) -> tuple[bool | None, str]:
    """Return whether all answerers (each person included) took the same trials of one paradigm, and
    a sentence that says so.

    Returns
    -------
    (same, sentence)
        ``same`` is None where the table cannot tell.
    """
    trials = items["trial_id"].to_numpy(object)
    by_person: Any = items.groupby(["agent", "participant"], observed=True).indices
    taken = grouped((str(agent), frozenset(trials[rows]) - {""}) for (agent, _), rows in by_person.items())
    everybody = [trials for sets in taken.values() for trials in sets]
    if not everybody:
        return None, "Nobody took any trial."
    if not all(everybody):
        return None, "The record does not say which trials were taken, so it is unknown whether they were the same."
    shared = len(frozenset.intersection(*everybody))
    if len({*everybody}) > 1:
        alike = grouped((_taken(sets), agent) for agent, sets in taken.items())
        parts = [f"{listed(agents)} took {what}" for what, agents in alike.items()]
        return False, (
            f"Not everybody took the same trials: {'; '.join(parts)}; {shared or 'none'} of them were taken by"
            " everybody."
        )
    count = plural(shared, "trial")
    if len(everybody) == 1:
        return True, f"{listed([*taken])} took {count}."
    files = {*items["paradigm_hash"].unique()} - {""} if "paradigm_hash" in items.columns else set()
    if len(files) > 1:
        return None, (
            f"The same {count} come from {len(files)} versions of the paradigm file, so it is unknown whether displays"
            " and times were the same."
        )
    return True, f"Everybody took exactly the same {count}."


def _taken(sets: Sequence[frozenset[str]]) -> str:
    """The numbers of trials of the people (or the machine) under one name, in words."""
    fewest, most = min(map(len, sets)), max(map(len, sets))
    each = plural(most, "trial") if fewest == most else f"{fewest} to {plural(most, 'trial')}"
    return each if len({*sets}) == 1 else f"{each} each, {len(frozenset.union(*sets))} in all"


#: Kind of published human data in curve tables; sessions of the kind ``published`` hold what a
#: model answered in published results, trial by trial.
GROUP_MEANS = PRINTED.name


@dataclass(frozen=True, slots=True)
class Look:
    """Style of one curve.

    Parameters
    ----------
    label, kind : of the agent
    light, dark : its colour on white and on black
    dash : lengths of strokes and gaps in px; ``(1, 0)`` is solid
    width : of the line in px
    shape : of its points, as Vega names them
    size : area of its points in px²
    hollow : whether its points are outlines
    faint : whether its intervals step back behind those of people and models (guessing and oracles)
    """

    label: str
    kind: str
    light: str
    dark: str
    dash: tuple[int, int]
    width: float
    shape: str
    size: int
    hollow: bool = False
    faint: bool = False


_SOLID, _DASHED = (1, 0), (6, 3)
#: The kind in the look of a condition, where lines are conditions and no answerers.
CONDITION = "condition"

#: Colours (on white, on black) and shapes of conditions, where lines are conditions and no
#: answerers: after Okabe & Ito, as above; ordered ones from dark to light along viridis, without
#: its pale end.
_NAMED = (
    *(
        ("#0069b0", "#5cb3f0"),
        ("#c84a00", "#ff8c42"),
        ("#00805c", "#37e0b0"),
        ("#b5488c", "#ec97c8"),
        ("#b07c00", "#f0c04a"),
    ),
    *(("#2b2b2b", "#f2f2f2"), ("#4d9fd6", "#a3d5f8")),
)
_ORDERED = (
    *(("#440154", "#d7a8ea"), ("#482475", "#c3a9ee"), ("#414487", "#a9abe8"), ("#355f8d", "#94bde6")),
    *(("#2a788e", "#6fc7de"), ("#21918c", "#63d6d0"), ("#22a884", "#5fe0bd"), ("#7ab51d", "#b4e36a")),
)
_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right")
_DRAWN = [kind.name for kind in KINDS]


def of_kinds(column: pd.Series, question: Callable[[AgentKind], bool]) -> pd.Series:
    """Return which rows belong to a kind of answerer for which a condition holds, such as ``lambda
    kind: kind.yardstick``."""
    return column.isin([name for name in column.unique() if question(kind_named(str(name)))])


def unasked(agents: Sequence[Look]) -> list[str]:
    """Return who of those in a figure is shown only to somebody who asks: guessing, of which the
    line of chance tells, and the oracle without errors. Where there are only yardsticks, all are
    shown."""
    others = [look for look in agents if look.kind != GROUP_MEANS and not kind_named(look.kind).yardstick]
    return [look.label for look in agents if look.kind in (CHANCE.name, IDEAL.name)] if others else []


#: Of more machines than this in one figure, none has points, intervals or a place in its legend.
MOST_MACHINES = 20


def crowd(agents: Sequence[Look]) -> list[str]:
    """The machines of a figure that has too many for each line to be followed
    (:data:`MOST_MACHINES`): they are drawn thin; nobody where there are fewer."""
    machines = [
        look.label
        for look in agents
        if look.kind != CONDITION and kind_named(look.kind).role in ("model", "script", "replay")
    ]
    return machines if len(machines) > MOST_MACHINES else []


def thin_lines(agents: Sequence[Look]) -> str:
    """The sentence of a caption about :func:`crowd`, after a space; empty where there is none."""
    many = len(crowd(agents))
    return f" Thin lines: {many} machines, without points and bars; the table has all of them." if many else ""


def competitors(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of everybody but yardsticks; where there is nobody else, of all but guessing, and
    all rows where that is alone."""
    for aside in (lambda kind: kind.yardstick, lambda kind: kind.name == CHANCE.name):
        kept = table[~of_kinds(table["agent_kind"], aside)]
        if len(kept):
            return kept
    return table


def looks(agents: Iterable[tuple[str, str]]) -> list[Look]:
    """Looks for agents, in drawing order: guessing first, people last and so on top.

    Parameters
    ----------
    agents : label and kind of each; several of one kind get different shades, and a second shape
        from the fourth on
    """
    ranked = sorted(
        sorted(set(agents), reverse=True), key=lambda agent: _DRAWN.index(agent[1]) if agent[1] in _DRAWN else -1
    )
    result = []
    for label, kind in ranked:
        mark = kind_named(kind).mark
        number = sorted(name for name, other in ranked if other == kind).index(label)
        shapes = (mark.shape, "circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
        again = number // len(mark.light)
        result.append(
            Look(
                label,
                kind,
                mark.light[number % len(mark.light)],
                mark.dark[number % len(mark.dark)],
                mark.dash,
                mark.width,
                shapes[again % len(shapes)],
                mark.size,
                kind == GROUP_MEANS,
                kind_named(kind).yardstick,
            )
        )
    return result


def condition_looks(labels: Sequence[str], *, ordered: bool = False) -> list[Look]:
    """Looks for conditions, in drawing order: the last one first, so that a legend begins with the
    first one.

    Parameters
    ----------
    labels : of the conditions, in their order
    ordered : whether they are steps of one scale (list lengths), and so from dark to light
    """
    looks_of = []
    for number, label in enumerate(labels):
        colours = _ORDERED if ordered else _NAMED
        place = round(number * (len(colours) - 1) / max(1, len(labels) - 1)) if ordered else number % len(colours)
        dash = _SOLID if ordered or number < len(colours) else _DASHED
        looks_of.append(
            Look(
                label,
                CONDITION,
                *colours[place],
                dash,
                2.0,
                _SHAPES[(number + 3 * (number // len(_NAMED))) % len(_SHAPES)],
                46,
            )
        )
    return looks_of[::-1]
