"""A comparison in plain sentences: headline numbers, and everything that makes it less than like
for like."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ...core.agent_kinds import PARTICIPANT, kind_named
from ...core.errors import in_number
from ..data.coding import records
from ..data.numbers import decimals, with_sign
from ..data.scoring import Scored, plural
from ..data.sessions import ONE_SITTING, READABLE, WHOLE_BLOCK, SessionFacts, SpanFacts
from ..data.style import GROUP_MEANS, listed, of_kinds, same_trials, title_of
from ..data.unread import bounds_in_words
from ..effects.curves import Guessing
from ..guessing import SAME, AgainstGuessing
from ..inference import Margin
from ..means.bootstrap import FEW
from ..model_vs_human.differences import Difference
from ..stats.agreement import MOST_ANSWERERS

_WHERE = {
    "above": "are above it",
    "not told apart": "are not distinguishable from it",
    "below": "are below it",
    "not tested": "are not tested, since what was left out depended on how right it was",
}

#: A report names so many paradigms in its first sentence, and counts more.
MOST_TITLES, MOST_IN_TITLE = 6, 3

#: What a sentence says of networks that may give answers that nobody allowed.
ALL_CLASSES = "over all classes"

#: what the label of a session says of its repetition
_REPEAT = re.compile(r"(?:^|, )repeat \d+$")


@dataclass(frozen=True)
class Remark:
    """A remark on what a comparison can show; ``warning`` when it limits the conclusions."""

    text: str
    warning: bool = False


def percent(value: float | None) -> str:
    """``62%``; a dash where there is no number."""
    return "–" if value is None or value != value else f"{100 * value:.0f}%"


def between(low: float, high: float) -> str:
    """``50–74%``; empty where there is no interval, and for one from 0 to 100%, which says nothing."""
    return "" if low != low or high != high or (low < 0.005 and high >= 0.995) else f"{100 * low:.0f}–{100 * high:.0f}%"


def ranked(table: pd.DataFrame) -> pd.DataFrame:
    """A curve table with people first, then models, then simulated observers, then guessing."""
    place = [kind_named(str(kind)).order for kind in table["agent_kind"]]
    names = table["agent"].astype(str).tolist()
    return table.iloc[sorted(range(len(table)), key=lambda at: (place[at], names[at]))]


def headline(
    overall: pd.DataFrame,
    by_set_size: pd.DataFrame,
    differences: Mapping[str, Difference],
    guessed: Sequence[AgainstGuessing],
    blind: float,
    margin: Margin | None = None,
) -> list[tuple[str, str]]:
    """A sentence for each person, model or stand-in of one paradigm, and one for all yardsticks
    (simulated observers, guessing) together.

    Parameters
    ----------
    overall, by_set_size : curve tables of the paradigm
    differences : how far somebody is from people, by ``agent``
    guessed : everybody against guessing
    blind : the share of right answers of the best blind guess; NaN where the record does not give
        it
    margin : of right answers within which differences count as none, where one was declared

    Returns
    -------
    list of (str, str)
        the name with which a sentence begins (empty for the yardsticks), and the rest of it
    """
    sentences, yardsticks = [], []
    verdicts = {one.share.agent: one for one in guessed}
    rows = records(ranked(overall))
    roles = {row["agent_kind"]: kind_named(row["agent_kind"]).role for row in rows}
    machines = [row for row in rows if roles[row["agent_kind"]] not in ("yardstick", "person")]
    several = len(machines) > MOST_ANSWERERS
    for row in rows:
        if several and roles[row["agent_kind"]] not in ("yardstick", "person"):
            continue
        if roles[row["agent_kind"]] == "yardstick":
            yardsticks.append(f"{row['agent']} {percent(row['mean'])}")
            continue
        verdict = verdicts.get(row["agent"])
        ends = (row["low"], row["high"]) if verdict is None else verdict.share.interval_of_family
        interval = between(*ends)
        text = f" got {percent(row['mean'])} right" + (f" (95% interval {interval})" if interval else "") + _unread(row)
        text += verdict.sentence if verdict else ""
        text += _fall(by_set_size[by_set_size["agent"] == row["agent"]])
        sentences.append((row["agent"], text + _from_people(differences.get(row["agent"]), margin) + "."))
    if several:
        sentences.append(
            (
                "",
                _all_together(machines, [verdicts[row["agent"]].where for row in machines if row["agent"] in verdicts]),
            )
        )
    chance = overall["chance"].mean()
    if chance == chance:
        yardsticks.append(f"a uniform guess {percent(chance)}")
        if blind > chance + SAME:
            yardsticks.append(f"the best blind guess {percent(blind)}")
    if yardsticks:
        sentences.append(("", f"For comparison: {', '.join(yardsticks)}."))
    return sentences


def _unread(row: Mapping[Any, Any]) -> str:
    """Say what unread replies leave open, to follow a share in a sentence; empty where there are
    none."""
    share = row.get("unread", 0.0)
    return f" ({bounds_in_words(share, row['mean'], row['if_guessed'])})" if share > 0 else ""


def _all_together(rows: Sequence[Mapping[Any, Any]], verdicts: Sequence[str]) -> str:
    """One sentence for answerers who are too many for a sentence each."""
    ordered = sorted(rows, key=lambda row: row["mean"])
    lowest, highest = ordered[0], ordered[-1]
    low, high = (percent(ordered[round(share * (len(ordered) - 1))]["mean"]) for share in (0.25, 0.75))
    counts = [f"{verdicts.count(where)} {words}" for where, words in _WHERE.items() if verdicts.count(where)]
    text = (
        f"{len(rows)} agents got from {percent(lowest['mean'])} ({lowest['agent']}) to {percent(highest['mean'])} right"
        f" ({highest['agent']})"
        f", half of them from {low} to {high}."
    )
    return (
        text + (f" Compared with guessing, {listed(counts)}." if counts else "") + " The tables below list all of them."
    )


def _from_people(difference: Difference | None, margin: Margin | None = None) -> str:
    """Return how far somebody is from people, to end a sentence with."""
    if difference is None:
        return ""
    claim = difference.claim
    points, low, high = (100 * bound for bound in (claim.value, *claim.interval_of_family))
    digits = decimals(low, high)
    where = f"over the same {difference.over}" if difference.over else "in all"
    if abs(points) < 0.5 and not digits:
        far = f"as many as {difference.against} {where}, to half a point"
    else:
        far = f"{abs(points):.{digits}f} points {'above' if points > 0 else 'below'} {difference.against} {where}"
    if low != low:
        return f"; {far} ({'; '.join(filter(None, [f'no interval: {claim.note}', difference.left_out]))})"
    interval = f"95% interval {with_sign(low, digits)} to {with_sign(high, digits)}"
    verdict = claim.verdict(margin) if margin is not None else ""
    details = "; ".join(filter(None, [interval, plural(claim.n, claim.unit), difference.left_out, verdict]))
    if not claim.told:
        far = f"difference {with_sign(points, digits)} points"
        return f"; not distinguishable from {difference.against} {where} ({far}, {details})"
    return f"; {far} ({details})"


def _fall(curve: pd.DataFrame) -> str:
    """Return how accuracy went from the smallest to the largest set size."""
    curve = curve.dropna(subset=["mean"])
    if len(curve) < 2:
        return ""
    curve = curve.sort_values("set_size")
    first, last = curve.iloc[0], curve.iloc[-1]
    if abs(first["mean"] - last["mean"]) < 0.005:
        return (
            f"; {percent(first['mean'])} at {first['set_size']} and at {last['set_size']} items"
            if first["mean"] < 1
            else ""
        )
    return (
        f"; {percent(first['mean'])} at {plural(first['set_size'], 'item')}, {percent(last['mean'])} at"
        f" {last['set_size']}"
    )


def like_for_like(
    scored: Scored,
    paradigm: str,
    overall: pd.DataFrame,
    cells: pd.DataFrame,
    sessions: Sequence[SessionFacts],
    has_published: bool,
    readouts: Sequence[str] = (),
) -> list[Remark]:
    """Everything that limits the comparison within one paradigm, warnings first.

    Parameters
    ----------
    scored : all items (agents named by ``style.name_agents``)
    overall, cells : curve tables of this paradigm: overall, and by its finest cells
    readouts : how networks were read out, in sentences
    """
    items = scored.parts[paradigm].items
    recorded = items[["session", "agent"]].drop_duplicates().astype(str)
    names = dict(zip(recorded["session"], recorded["agent"], strict=True))
    there = [facts for facts in sessions if facts.paradigm == paradigm and facts.name in names]
    notes = [
        *_on_trials(scored, paradigm, items),
        *_on_answerers(overall),
        *(Remark(f"Session {facts.name} is a pilot.", warning=True) for facts in there if facts.pilot),
    ]
    notes += [*_protocols(there, names), *_contexts(there, names)]
    notes += [*(Remark(text, warning=ALL_CLASSES in text) for text in readouts), *_on_cells(cells), *_on_items(items)]
    if has_published:
        notes.append(
            Remark(
                "Published people saw other trials under other conditions; their points are group means read off"
                " printed figures, without a spread."
            )
        )
    else:
        notes.append(
            Remark("No digitised human data are published for this paradigm, so no published human curve is drawn.")
        )
    notes += [Remark(text) for text in filter(None, [Guessing.of(items).sentence])]
    return sorted(notes, key=lambda note: not note.warning)


def _on_trials(scored: Scored, paradigm: str, items: pd.DataFrame) -> Iterator[Remark]:
    """Yield remarks on the trials: whether they were the same, who took them, and from which files
    they are."""
    same, sentence = same_trials(items)
    if same is False or same is None:
        yield Remark(sentence, warning=True)
    people = (
        scored.items.loc[scored.items["agent_kind"] == PARTICIPANT.name, ["paradigm", "participant"]]
        .groupby("paradigm", observed=True)["participant"]
        .nunique()
    )
    if people.nunique() > 1 and paradigm in people.index:
        yield Remark(f"{plural(int(people[paradigm]), 'person', 'people')} took part in this paradigm.")
    for column, word, length in (
        ("paradigm_hash", "versions of the paradigm file", 8),
        ("generator", "trial generators", None),
    ):
        values = sorted({*items[column].unique()} - {""})
        if len(values) > 1:
            named = listed([value[:length] for value in values])
            yield Remark(f"The sessions used {len(values)} different {word} ({named}).", warning=True)


def _on_answerers(overall: pd.DataFrame) -> Iterator[Remark]:
    """Yield remarks on answerers that are neither people nor models."""
    oracles = sorted(
        overall.loc[
            overall["oracle"].fillna(False).astype(bool) | of_kinds(overall["agent_kind"], lambda kind: kind.oracle),
            "agent",
        ]
    )
    if oracles:
        were = in_number(len(oracles), "is a simulated observer that was", "are simulated observers that were")
        yield Remark(
            f"{listed(oracles)} {were} given the correct answers. Such results are yardsticks and say nothing about"
            " people or models.",
            warning=True,
        )
    scripted = sorted(overall.loc[of_kinds(overall["agent_kind"], lambda kind: kind.role == "script"), "agent"])
    if scripted:
        yield Remark(
            f"{listed(scripted)} comes from a scripted server. This shows that the software works, not what a model"
            " can do.",
            warning=True,
        )


def _on_cells(cells: pd.DataFrame) -> Iterator[Remark]:
    """Yield a remark on cells of few units."""
    few = cells[(cells["n_units"] < FEW) & (cells["agent_kind"] != GROUP_MEANS)]
    if len(few):
        everybody = sorted(few["agent"].unique())
        answering = cells.loc[cells["agent_kind"] != GROUP_MEANS, "agent"].nunique()
        named = f" of {_listed_or_counted(everybody, MOST_ANSWERERS, 'agent')}"
        which = "Some cells" if len(everybody) == answering else f"Some cells{named}"
        yield Remark(f"{which} have only {_span(few)}: interpret single points with care.", warning=True)


def _on_items(items: pd.DataFrame) -> Iterator[Remark]:
    """Yield remarks on what items lack, and on what they are averaged over."""
    unplaced = int(items["serial_position"].isna().sum())
    if 0 < unplaced < len(items):
        yield Remark(
            f"{plural(unplaced, 'item')} without a serial position: left out of serial-position curves.", warning=True
        )
    if len(items) and items["chance"].isna().all():
        yield Remark("The record has no chance level, so no chance line is drawn.", warning=True)
    averaged = [
        name.removeprefix("factor_")
        for name in items.columns
        if name.startswith("factor_") and items[name].astype(str)[items[name].notna()].nunique() > 1
    ]
    if averaged:
        yield Remark(f"Averaged over {listed(averaged)}.")


def protocols_of(sessions: Sequence[SessionFacts], names: Mapping[str, str] | None = None) -> dict[str, list[str]]:
    """By practice and memory, who had them: people and chat models. A model that had several has
    the names of its settings beside its own.

    Parameters
    ----------
    names : of agents in figures by session, for models whose settings have no name
    """
    return _had([(facts, facts.protocol) for facts in sessions if facts.protocol], names)


def _had(conditions: Sequence[tuple[SessionFacts, str]], names: Mapping[str, str] | None) -> dict[str, list[str]]:
    """By condition, in words, who had it."""
    several = {
        agent
        for agent, count in Counter(agent for agent, _ in {(facts.agent, words) for facts, words in conditions}).items()
        if count > 1
    }
    found: dict[str, set[str]] = {}
    for facts, words in conditions:
        label = _REPEAT.sub("", facts.label)
        alone = (names or {}).get(facts.name, facts.agent) if not facts.label else facts.agent
        model = f"{facts.agent} ({label})" if label else alone
        who = model if facts.agent in several else facts.agent
        found.setdefault(words, set()).add("people" if facts.kind == PARTICIPANT.name else who)
    return {words: sorted(found[words]) for words in sorted(found)}


def _contexts(sessions: Sequence[SessionFacts], names: Mapping[str, str]) -> list[Remark]:
    """Return what this comparison is where chat models take part: their prompt, and whether they
    could still read what people had to remember."""
    contexts = _had([(facts, facts.context) for facts in sessions if facts.context], names)
    if not contexts:
        return []
    had = "; ".join(
        f"{_listed_or_counted(who, MOST_ANSWERERS, 'model')} had {words}" for words, who in contexts.items()
    )
    people = any(facts.kind == PARTICIPANT.name or facts.human for facts in sessions)
    beside = " People had only their memory." if people else ""
    return [
        Remark(
            f"What this comparison is: {had}.{beside}", warning=people and any(READABLE in words for words in contexts)
        )
    ]


def _protocols(sessions: Sequence[SessionFacts], names: Mapping[str, str] | None = None) -> list[Remark]:
    """Return what practice and memory people and chat models had: a warning where these are not the
    same."""
    alike = protocols_of(sessions, names)
    protocols = "; ".join(
        f"{_listed_or_counted(who, MOST_ANSWERERS, 'model')} had {what}" for what, who in alike.items()
    )
    models, unequal = any({*who} - {"people"} for who in alike.values()), unequal_protocols(sessions)
    return [Remark(f"Practice and memory: {protocols}.", warning=unequal)] if models or unequal else []


def unequal_protocols(sessions: Sequence[SessionFacts]) -> bool:
    """Return whether people had other practice or memory of earlier trials than chat models, or
    than other people."""
    alike = protocols_of(sessions)
    people = {what for what, who in alike.items() if "people" in who}
    models = {
        what.replace(WHOLE_BLOCK, ONE_SITTING) if what.endswith(WHOLE_BLOCK) else what
        for what, who in alike.items()
        if {*who} - {"people"}
    }
    return len(people) > 1 or bool(people and models and people != models)


def _span(cells: pd.DataFrame) -> str:
    spans = []
    for unit, group in cells.groupby(cells["unit"].where(cells["unit"] != "", "trial"), sort=True):
        low, high = int(group["n_units"].min()), int(group["n_units"].max())
        spans.append(plural(high, str(unit)) if low == high else f"{low} to {plural(high, str(unit))}")
    return " or ".join(spans)


def _listed_or_counted(names: Sequence[str], most: int, word: str) -> str:
    """Names in a sentence; more than so many are counted."""
    return listed(names) if len(names) <= most else plural(len(names), word)


def opening(
    sessions: Sequence[SessionFacts], scored: Scored, names: Sequence[str], published: bool = False
) -> tuple[str, str, list[str]]:
    """Title, first paragraph and the line of facts of a report on these paradigms; of published people,
    too, where its figures show them (``published``)."""
    items = scored.items
    agents = ranked(items[["agent", "agent_kind"]].drop_duplicates())
    verdicts = [same_trials(items[items["paradigm"] == name])[0] for name in names]
    if not names:
        return "Nothing to compare yet", "There is no scored answer in these data.", [plural(len(sessions), "session")]
    roles = [kind_named(kind).role for kind in agents["agent_kind"]]
    there = {
        "people": published or "person" in roles,
        "a simulated participant": "stand-in" in roles,
        "machines": any(role not in ("person", "stand-in") for role in roles),
    }
    who = listed([words for words, are in there.items() if are])
    alone = len(agents) == 1
    called = [title_of(name, sessions) for name in names]
    titles, short = (_listed_or_counted(called, most, "paradigm") for most in (MOST_TITLES, MOST_IN_TITLE))
    title = f"{short}: {agents['agent'].iloc[0] if alone else who}"
    words = [
        (
            f"{agent} ({what})"
            if kind_named(kind).role in ("model", "replay") and (what := kind_named(kind).label)
            else agent
        )
        for agent, kind in agents.itertuples(index=False, name=None)
    ]
    if len(words) > MOST_ANSWERERS:
        counts = Counter(kind_named(kind).described for kind in agents["agent_kind"])
        words = [f"{len(words)} agents ({', '.join(f'{kind}: {count}' for kind, count in counts.items())})"]
    lead = f"{listed(words)} took {titles}."
    if len(names) == 1 and all(verdicts) and not alone:
        lead += " Everybody took exactly the same trials, so the curves can be read side by side."
    elif all(verdicts) and not alone:
        lead += " Within each paradigm everybody took exactly the same trials, so the curves can be read side by side."
    facts = [
        plural(items["session"].nunique(), "session"),
        plural(len(agents), "agent"),
        plural(len(names), "paradigm"),
        f"{len(items):,} scored items",
    ]
    return title, lead, facts + _recorded(sessions)


def _recorded(sessions: Sequence[SessionFacts]) -> list[str]:
    """From when to when sessions were recorded; nothing where nobody knows."""
    days = sorted({facts.started[:10] for facts in sessions if facts.started})
    return [f"recorded {' to '.join(dict.fromkeys((days[0], days[-1])))}"] if days else []


def opening_of_spans(spans: Sequence[SpanFacts]) -> tuple[str, str, list[str]]:
    """Title, first paragraph and the line of facts of a report on adaptive sessions alone."""
    sessions = [span.facts for span in spans]
    people = sorted({facts.participant for facts in sessions if facts.kind == PARTICIPANT.name})
    machines = sorted({facts.agent for facts in sessions if facts.kind != PARTICIPANT.name})
    who = " and ".join([*["people"] * bool(people), *["machines"] * bool(machines)]).capitalize()
    answerers = [plural(len(people), "participant")] * bool(people) + (
        machines if len(machines) <= MOST_ANSWERERS else [f"{len(machines)} machines"]
    )
    titles = sorted({facts.title or facts.paradigm for facts in sessions})
    took = f"{listed(answerers)} took {_listed_or_counted(titles, MOST_TITLES, 'paradigm')}."
    lead = f"{took} All sessions are adaptive: the result of each is a span."
    facts = [
        plural(len(sessions), "session"),
        plural(len(people) + len(machines), "agent"),
        plural(len(titles), "paradigm"),
    ]
    return f"{who}: spans", lead, facts + _recorded(sessions)
