"""What answerers are called in figures and tables, and whether they took the same trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .columns import groups
from .gather import SessionFacts
from .table import as_text, plural

if TYPE_CHECKING:
    import pandas as pd

_ORACLES = ("ideal", "capacity", "simulated")
#: Titles of paradigms whose record tells none.
_TITLES = {"vsr": "Visual Serial Recall", "sfr": "Spatial Free Recall", "smu": "Spatial Memory Updating"}


def name_agents(responses: pd.DataFrame, sessions: Sequence[SessionFacts] = ()) -> pd.DataFrame:
    """The response table with ``agent`` replaced by what figures call it, the same in every paradigm.

    People are one answerer. Oracles are called simulated, guessing is called guessing, and what a session's label demands is said (a scripted server's kind
    becomes ``scripted``). Agents of one name whose settings differ within a paradigm stay apart by the first digits of their settings' hash.
    """
    import pandas as pd

    table = responses.copy(deep=False)
    for name in ("agent", "agent_kind", "participant", "agent_settings_hash", "session", "paradigm"):
        table[name] = as_text(table[name]) if name in table.columns else ""
    labels = {facts.name: facts.label for facts in sessions if facts.label}
    people = sorted({one for one in table.loc[table["agent_kind"] == "participant", "participant"] if one})
    crowd = f"People (n = {len(people)})" if len(people) > 1 else f"Participant {people[0]}" if people else "Participant"
    number, first = groups(table, ["agent_kind", "agent", "agent_settings_hash", "session", "paradigm"])
    who = table.iloc[first][["agent_kind", "agent", "agent_settings_hash", "session", "paradigm"]].astype(str)
    machines = who[who["agent_kind"] != "participant"]
    settings = machines.groupby(["paradigm", "agent_kind", "agent"])["agent_settings_hash"].nunique()
    several = {(kind, agent) for _, kind, agent in settings[settings > 1].index}

    def called(kind: str, agent: str, settings_hash: str, label: str) -> str:
        if kind == "participant":
            return crowd
        apart = f" #{settings_hash[:6]}" if (kind, agent) in several else ""
        if kind == "simulated":
            how = agent.removeprefix("simulated").removeprefix(":")
            return "Simulated participant" + (f" ({how})" if how else "") + apart
        said = label or ("simulated" if kind in _ORACLES else "guessing" if kind == "chance" else "")
        return f"{agent or kind}{apart}" + (f" ({said})" if said else "")

    names: list[str] = []
    kinds: list[str] = []
    for kind, agent, settings_hash, session, _ in who.itertuples(index=False, name=None):
        label = labels.get(session, "")
        names.append(called(kind, agent, settings_hash, label))
        kinds.append("scripted" if "not a model" in label else kind)
    for column, values in (("agent", names), ("agent_kind", kinds)):
        kept_once = isinstance(table[column].dtype, pd.CategoricalDtype)
        codes, distinct = pd.factorize(pd.Index(values, dtype="str"))
        said = pd.Series(pd.Categorical.from_codes(codes[number], categories=distinct), index=table.index)
        table[column] = said if kept_once else said.astype("str")
    return table


def title_of(paradigm: str, sessions: Sequence[SessionFacts] = ()) -> str:
    """The full title of a paradigm: as recorded, as known, or its short name."""
    recorded = next((facts.title for facts in sessions if facts.paradigm == paradigm and facts.title), "")
    return recorded or _TITLES.get(paradigm, paradigm or "unnamed paradigm")


def listed(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``; words that begin with a capital only because they are names of curves lose it inside."""
    names = [*names[:1], *(name[0].lower() + name[1:] if name.startswith(("Participant", "People (", "Simulated participant")) else name for name in names[1:])]
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1] if names else "nobody"


def trials_taken(items: pd.DataFrame) -> Mapping[str, frozenset[str]]:
    """Which trials each agent took (trial identifiers), of the items of one paradigm."""
    known = items[items["trial_id"] != ""]
    return {agent: frozenset(known.loc[known["agent"] == agent, "trial_id"]) for agent in sorted(items["agent"].unique())}


def same_trials(items: pd.DataFrame) -> tuple[bool | None, str]:
    """Whether all agents took the same trials of one paradigm, and a sentence that says it.

    Returns
    -------
    (same, sentence)
        ``same`` is None where the table cannot tell.
    """
    taken = trials_taken(items)
    if not taken:
        return None, "Nobody took any trial."
    if not all(taken.values()):
        return None, "The record does not tell which trials were taken, so nobody can tell whether they were the same."
    groups: dict[frozenset[str], list[str]] = {}
    for agent, trials in taken.items():
        groups.setdefault(trials, []).append(agent)
    if len(groups) == 1:
        (trials,) = groups
        count = plural(len(trials), "trial")
        return True, f"{listed(list(taken))} took {count}." if len(taken) == 1 else f"Everybody took exactly the same {count}."
    largest = max(groups, key=lambda trials: (len(groups[trials]), len(trials)))
    parts = []
    for trials, agents in sorted(groups.items(), key=lambda group: (group[0] != largest, group[1])):
        count = plural(len(trials), "trial")
        if trials == largest:
            parts.append(f"{listed(agents)} took {'the same ' if len(agents) > 1 else ''}{count}")
        else:
            shared = len(trials & largest)
            parts.append(f"{listed(agents)} took {count}, {'none' if not shared else 'all' if shared == len(trials) else shared} of them among those")
    return False, "Not everybody took the same trials: " + "; ".join(parts) + "."
