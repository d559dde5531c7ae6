"""What answerers are called in figures and tables, and whether they took the same trials."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...core.agent_kinds import CHANCE, PARTICIPANT, SCRIPTED, SIMULATED, kind_named
from .coding import groups
from .sessions import SessionFacts
from .scoring import as_text, plural

if TYPE_CHECKING:
    import pandas as pd

#: Titles of paradigms whose record tells none.
_TITLES = {"vsr": "Visual Serial Recall", "sfr": "Spatial Free Recall", "smu": "Spatial Memory Updating"}


#: What an answerer is told by before it has a name: kind, agent and settings as recorded, and what its session's label demands.
Raw = tuple[str, str, str, str]
#: Column in which :func:`labelled` puts what sessions' labels demand.
LABEL = "_label"
#: The columns of :data:`Raw`.
RAW = ("agent_kind", "agent", "agent_settings_hash", LABEL)


def labelled(responses: pd.DataFrame, sessions: Sequence[SessionFacts] = ()) -> pd.DataFrame:
    """The response table with the columns that names come from as text, and :data:`LABEL`."""
    import pandas as pd

    table = responses.copy(deep=False)
    for name in ("agent", "agent_kind", "participant", "agent_settings_hash", "session", "paradigm"):
        table[name] = as_text(table[name]) if name in table.columns else ""
    labels = {facts.name: facts.label for facts in sessions if facts.label}
    demanded = pd.Index(sorted({"", *labels.values()}), dtype="str")
    codes, names = pd.factorize(table["session"])
    place = np.array([demanded.get_loc(labels.get(str(name), "")) for name in names] + [0], dtype=np.int8)
    return table.assign(**{LABEL: pd.Categorical.from_codes(place[codes], categories=demanded)})


def called(answerers: Iterable[tuple[str, Raw]], people: Collection[str]) -> dict[Raw, tuple[str, str]]:
    """What figures call everybody, the same in every paradigm, and the kind of answerer that each is.

    People are one answerer. Oracles are called simulated, guessing is called guessing, and what a session's label demands is said (a scripted server's kind
    becomes ``scripted``). Agents of one name whose settings differ within a paradigm stay apart by the first digits of their settings' hash.

    Parameters
    ----------
    answerers : paradigms, each with somebody who answered in it
    people : identifiers of all participants
    """
    everybody = set(answerers)
    known = sorted(one for one in people if one)
    crowd = f"People (n = {len(known)})" if len(known) > 1 else f"Participant {known[0]}" if known else "Participant"
    settings: dict[tuple[str, str, str], set[str]] = {}
    for paradigm, (kind, agent, settings_hash, _) in everybody:
        settings.setdefault((paradigm, kind, agent), set()).add(settings_hash)
    several = {(kind, agent) for (_, kind, agent), found in settings.items() if len(found) > 1}

    def name(kind: str, agent: str, settings_hash: str, label: str) -> str:
        if kind == PARTICIPANT.name:
            return crowd
        apart = f" #{settings_hash[:6]}" if (kind, agent) in several else ""
        if kind == SIMULATED.name:
            how = agent.removeprefix("simulated").removeprefix(":")
            return "Simulated participant" + (f" ({how})" if how else "") + apart
        said = label or ("simulated" if kind_named(kind).oracle else "guessing" if kind == CHANCE.name else "")
        return f"{agent or kind}{apart}" + (f" ({said})" if said else "")

    return {raw: (name(*raw), SCRIPTED.name if "not a model" in raw[3] else raw[0]) for _, raw in everybody}


def name_agents(responses: pd.DataFrame, sessions: Sequence[SessionFacts] = ()) -> pd.DataFrame:
    """The response table with ``agent`` replaced by what figures call it (see :func:`called`)."""
    return named(labelled(responses, sessions))


def named(table: pd.DataFrame) -> pd.DataFrame:
    """A table from :func:`labelled` (or several as one), with everybody called as in figures."""
    import pandas as pd

    people = set(table.loc[table["agent_kind"] == PARTICIPANT.name, "participant"])
    number, first = groups(table, ["paradigm", *RAW])
    heads = table.iloc[first]
    raws: list[Raw] = [(str(a), str(b), str(c), str(d)) for a, b, c, d in heads[[*RAW]].itertuples(index=False, name=None)]
    names = called(zip(map(str, heads["paradigm"]), raws, strict=True), people)
    for place, column in enumerate(("agent", "agent_kind")):
        kept_once = isinstance(table[column].dtype, pd.CategoricalDtype)
        codes, distinct = pd.factorize(pd.Index([names[raw][place] for raw in raws], dtype="str"))
        said = pd.Series(pd.Categorical.from_codes(codes[number], categories=distinct), index=table.index)
        table = table.assign(**{column: said if kept_once else said.astype("str")})
    return table.drop(columns=LABEL)


def title_of(paradigm: str, sessions: Sequence[SessionFacts] = ()) -> str:
    """The full title of a paradigm: as recorded, as known, or its short name."""
    recorded = next((facts.title for facts in sessions if facts.paradigm == paradigm and facts.title), "")
    return recorded or _TITLES.get(paradigm, paradigm or "unnamed paradigm")


def listed(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``; words that begin with a capital only because they are names of curves lose it inside."""
    names = [*names[:1], *(name[0].lower() + name[1:] if name.startswith(("Participant", "People (", "Simulated participant")) else name for name in names[1:])]
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1] if names else "nobody"


def trials_taken(items: pd.DataFrame) -> Mapping[str, Mapping[str, frozenset[str]]]:
    """Which trials everybody took (trial identifiers), of the items of one paradigm: by agent and person (empty for machines)."""
    found: dict[str, dict[str, frozenset[str]]] = {}
    for (agent, person), own in items.groupby(["agent", "participant"], sort=True, observed=True)["trial_id"]:
        found.setdefault(str(agent), {})[str(person)] = frozenset(own.unique()) - {""}
    return found


def same_trials(items: pd.DataFrame) -> tuple[bool | None, str]:
    """Whether everybody took the same trials of one paradigm, each of several people, too, and a sentence that says it.

    Returns
    -------
    (same, sentence)
        ``same`` is None where the table cannot tell.
    """
    taken = trials_taken(items)
    if not taken:
        return None, "Nobody took any trial."
    if not all(trials for people in taken.values() for trials in people.values()):
        return None, "The record does not tell which trials were taken, so nobody can tell whether they were the same."
    groups: dict[frozenset[str], list[str]] = {}
    varied: dict[str, list[frozenset[str]]] = {}
    for agent, people in taken.items():
        sets = list(people.values())
        if len(set(sets)) > 1:
            varied[agent] = sets
        else:
            groups.setdefault(sets[0], []).append(agent)
    if len(groups) == 1 and not varied:
        (trials,) = groups
        count = plural(len(trials), "trial")
        alone = len(taken) == 1 and len(next(iter(taken.values()))) == 1
        return True, f"{listed(list(taken))} took {count}." if alone else f"Everybody took exactly the same {count}."
    parts = []
    if groups:
        largest = max(groups, key=lambda trials: (len(groups[trials]), len(trials)))
        for trials, agents in sorted(groups.items(), key=lambda group: (group[0] != largest, group[1])):
            count = plural(len(trials), "trial")
            if trials == largest:
                parts.append(f"{listed(agents)} took {'the same ' if len(agents) > 1 else ''}{count}")
            else:
                shared = len(trials & largest)
                parts.append(f"{listed(agents)} took {count}, {'none' if not shared else 'all' if shared == len(trials) else shared} of them among those")
    for agent, sets in varied.items():
        fewest, most = min(map(len, sets)), max(map(len, sets))
        each = plural(most, "trial") if fewest == most else f"{fewest} to {plural(most, 'trial')}"
        everybody = len(frozenset.intersection(*sets))
        parts.append(f"{listed([agent])} took {each} each, {len(frozenset.union(*sets))} in all, {everybody or 'none'} of which all of these people took")
    return False, "Not everybody took the same trials: " + "; ".join(parts) + "."
