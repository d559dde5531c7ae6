"""Cards: what an agent did in a suite, beside people and published models, as plain JSON that
anybody can compute again."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spanlab.analysis.data import decoded
from spanlab.analysis.means import Apart, Contrast, place_of
from spanlab.core import SpanLabError, __version__, as_object
from spanlab.sessions.record import find_sessions, read_session

from .measures import (
    Answerer,
    Place,
    of_answers,
    of_published_models,
    of_published_people,
    shared_places,
    value_of,
    with_levels,
    without_spread,
)
from .suite import NBACK, Effect, Suite

if TYPE_CHECKING:
    from spanlab.analysis.data import Scored

#: Version of the form of cards.
FORM = 1
UNKNOWN = "people's spread unknown: no verdict"
UNREAD = "too many replies could not be read: no verdict"
BLUNT = "the margin does not tell these from guessing: no verdict"
#: What stands in the place of a verdict.
NO_VERDICTS = (UNKNOWN, UNREAD, BLUNT)
_WORDS = {"within the margin": "same", "beyond the margin": "differs", "undecided": "undecided"}
#: kinds of agents that stand for people
_PEOPLE = frozenset({"participant", "simulated"})


def judge(effect: Effect, agent: Contrast, other: Contrast) -> str:
    """``same``, ``differs`` or ``undecided``: two one-sided tests of the difference against the
    effect's margin."""
    from spanlab.analysis import equivalence_test

    difference = Apart(other, agent.value) if _without_spread(agent) else Apart(agent, other)
    return (
        "undecided"
        if math.isnan(difference.ends()[0])
        else _WORDS[equivalence_test(difference, effect.margin / effect.scale).verdict]
    )


def _without_spread(agent: Contrast) -> bool:
    """Return whether a slope or a difference has no interval, since all answers of the agent are
    alike; a share of right answers has an exact one."""
    return agent.se == 0 and not agent.share


def _number(value: float) -> float | None:
    """A number for JSON, with as many digits as are the same on every machine."""
    return None if value != value else round(float(value), 6)


def _ends(value: Contrast | float, scale: float) -> dict[str, float | None]:
    number, low, high = (value.value, *value.ends()) if isinstance(value, Contrast) else (value, math.nan, math.nan)
    return {"value": _number(number * scale), "low": _number(low * scale), "high": _number(high * scale)}


def _beside(effect: Effect, agent: Answerer, other: Answerer) -> dict[str, Any] | None:
    """An effect of an agent beside that of people or of a published model; None where they share
    too few conditions."""
    places = shared_places(agent, other)
    mine, theirs = value_of(effect, agent, places), value_of(effect, other, places)
    if not isinstance(mine, Contrast) or theirs is None:
        return None
    data = {"data": "published means", "n": None, "unit": ""}
    if isinstance(theirs, Contrast):
        data = {"data": "raw answers", "n": other.n, "unit": other.unit}
    low, high = _difference_ends(mine, theirs)
    scale = effect.scale
    return {
        "name": other.name,
        **data,
        "conditions": len(places),
        "agent": _ends(mine, scale),
        "reference": _ends(theirs, scale),
        "difference": {
            "value": _number(Apart(mine, theirs).value * scale),
            "low": _number(low * scale),
            "high": _number(high * scale),
        },
        "verdict": _verdict(effect, mine, theirs, _of_guessing(effect, agent, places)),
    }


def _verdict(effect: Effect, mine: Contrast, theirs: Contrast | float, guessing: float) -> str:
    """Return the verdict, or why there is none."""
    if not isinstance(theirs, Contrast):
        return UNKNOWN
    blunt = abs(guessing - theirs.value) * effect.scale <= effect.margin
    return BLUNT if blunt else judge(effect, mine, theirs)


def _of_guessing(effect: Effect, agent: Answerer, places: Sequence[Place]) -> float:
    """Return the effect of somebody who guesses; NaN where nobody knows."""
    guessing = value_of(effect, replace(agent, means=agent.chance, weighted=without_spread(agent.chance)), places)
    return float(guessing) if isinstance(guessing, float) else math.nan


def _difference_ends(agent: Contrast, other: Contrast | float) -> tuple[float, float]:
    """The interval of the difference of an agent from others; the others' alone where the agent has
    none (see :func:`_without_spread`)."""
    if _without_spread(agent) and isinstance(other, Contrast):
        low, high = other.ends()
        return agent.value - high, agent.value - low
    return Apart(agent, other).ends()


def _unread(effect: Effect, agent: Answerer, other: Answerer) -> dict[str, Any] | None:
    """Return the entry that stands beside an agent with which nobody can be compared, since too
    many of its replies could not be read."""
    beside = _beside(effect, agent, other)
    return (
        None
        if beside is None
        else beside | {"difference": {"value": None, "low": None, "high": None}, "verdict": UNREAD}
    )


def effect_entry(
    effect: Effect, agent: Answerer | None, references: Sequence[Answerer], tested: Answerer | None = None
) -> dict[str, Any]:
    """Return what a card says of one effect.

    Parameters
    ----------
    tested : the agent without sessions and conditions of which too many replies could not be read;
        None where nothing is left
    """
    entry: dict[str, Any] = {
        "paradigm": effect.paradigm,
        "effect": effect.effect,
        "unit": effect.unit,
        "margin": effect.margin,
        "chances": {people: {who: [*pair] for who, pair in rows.items()} for people, rows in effect.chances.items()},
    }
    if agent is None:
        return entry | {"agent": None, "against": []}
    others = [other for other in references if other.name != agent.name]
    pairs = [
        (_beside(effect, tested, other) if tested is not None else None) or _unread(effect, agent, other)
        for other in others
    ]
    against = [beside for beside in pairs if beside is not None]
    first = next((other for other in others if _beside(effect, agent, other) is not None), None)
    places = sorted(agent.means, key=str) if first is None else shared_places(agent, first)
    own = value_of(effect, agent, places)
    guessed = (
        value_of(effect, replace(agent, means=agent.guessed, weighted=without_spread(agent.guessed)), places)
        if agent.guessed
        else None
    )
    counts = [*agent.counts.values()]
    items = sum(count["n_items"] for count in counts)
    return entry | {
        "agent": None if own is None else _ends(own, effect.scale),
        "trials": sum(count["n_trials"] for count in counts),
        "answers": items,
        "unread": _number(sum(count["n_invalid"] for count in counts) / items) if items else None,
        **({"if_guessed": _number(float(guessed) * effect.scale)} if isinstance(guessed, float) else {}),
        "n": agent.n,
        "of": agent.unit,
        "against": against,
    }


def curves(paradigm: str, agent: Answerer, references: Sequence[Answerer]) -> dict[str, Any]:
    """The mean of each condition, of an agent and of those beside it."""
    everybody = [agent, *(other for other in references if other.name != agent.name)]
    return {
        "by": [*agent.by],
        "curves": [
            {
                "name": one.name,
                "points": [[*place, _number(mean)] for place, mean in sorted(one.means.items(), key=str)],
            }
            for one in everybody
        ],
    }


def sessions_of(suite: Suite, data: Path) -> list[tuple[Path, Mapping[str, Any]]]:
    """The sessions of a suite in a folder, in the order of the suite.

    Raises
    ------
    SpanLabError
        when there is none, or when two agents took it.
    """
    order = {name: number for number, name in enumerate(suite.paradigms)}
    there = (
        [(folder, as_object(dict(read_session(folder)))) for folder in find_sessions([data])] if data.exists() else []
    )
    there = [
        (folder, info)
        for folder, info in there
        if str(as_object(info.get("evaluation")).get("set", "")).startswith(f"{suite.suite}-{suite.version}-")
    ]
    if not there:
        raise SpanLabError(f"{data} has no session of the suite {suite.called}")
    agents = sorted({asked_of(info) for _, info in there})
    if len(agents) > 1:
        raise SpanLabError(
            f"{data} has sessions of several agents ({', '.join(agents)}): a card is of one of them; give each a folder"
            " of its own"
        )
    return sorted(there, key=lambda one: (order.get(str(one[1]["paradigm"]), len(order)), one[0].name))


def asked_of(info: Mapping[str, Any]) -> str:
    """The agent that was asked for: of networks that one name stands for, that name."""
    asked = as_object(info.get("agent_settings")).get("asked")
    return f"network:{asked}" if asked else str(info["agent"])


def hash_of(folder: Path) -> str:
    """SHA-256 of the events of a session."""
    file = folder / "events.jsonl"
    content = file.name.encode() + b"\0" + file.read_bytes() if file.exists() else b""
    return hashlib.sha256(content).hexdigest()


def _session_entry(folder: Path, info: Mapping[str, Any], suite: Suite) -> dict[str, Any]:
    paradigm, part = (
        str(info["paradigm"]),
        next(part for part in suite.parts.values() if info["paradigm"] in part.paradigms),
    )
    settings = as_object(info.get("agent_settings"))
    practised = settings.get("practice") == "feedback"
    protocol = (
        part.about
        if "practice" in settings
        else "the same trials, one after another; this kind of agent takes no practice"
    )
    wording = str(as_object(info.get("evaluation")).get("wording") or "")
    label = f" ({settings['label']})" if "label" in settings else ""
    return {
        "session": folder.name,
        "answered": f"{info['agent']}{label}",
        **({"wording": wording} if wording else {}),
        "paradigm": paradigm,
        "paradigm_version": info["paradigm_version"],
        "paradigm_hash": info["paradigm_hash"],
        "generator": info["generator"],
        "seed": info["seed"],
        "spanlab": as_object(info.get("versions")).get("spanlab", ""),
        "protocol": protocol,
        "practice": practised,
        "agent_settings_hash": info.get("agent_settings_hash", ""),
        "record_sha256": hash_of(folder),
    }


def card_of(
    suite: Suite,
    data: Path,
    people: Path | None = None,
    refused: Mapping[str, str] | None = None,
    accept_unread: bool = False,
) -> dict[str, Any]:
    """The card of the sessions in a folder.

    Parameters
    ----------
    people : a laboratory's own people, as sessions or a response table
    refused : paradigms that the agent could not take, with the reasons
    accept_unread : whether there are verdicts also where many replies could not be read

    Raises
    ------
    SpanLabError
        when there is no session of the suite, or people cannot be read.
    """
    from spanlab.analysis.data import load

    sessions = sessions_of(suite, data)
    agent = asked_of(sessions[0][1])
    scored = load([folder for folder, _ in sessions], accept_unread=accept_unread).scored
    scored = replace(scored, items=scored.items.assign(agent=agent))
    own_people = load([people]).scored if people is not None else None
    info = sessions[0][1]
    head = {
        "name": agent,
        "kind": info["agent_kind"],
        "oracle": bool(info.get("oracle", False)),
        "settings": _settings(
            [as_object(one.get("agent_settings")) for _, one in sessions],
            str(as_object(info.get("evaluation")).get("wording") or ""),
        ),
    }
    wordings = sorted({str(as_object(one.get("evaluation")).get("wording") or "") for _, one in sessions} - {""})
    further = ({"wordings": wordings} if len(wordings) > 1 else {}) | ({"accept_unread": True} if accept_unread else {})
    taken = {str(one["paradigm"]) for _, one in sessions}
    body = _body(suite, scored, agent, own_people, taken)
    reasons = {name: (refused or {}).get(name, "not taken") for name in suite.paradigms if name not in taken}
    entries = [_session_entry(folder, one, suite) for folder, one in sessions]
    return (
        _framed(suite, head) | further | {"sessions": entries, "not_taken": reasons, "people": _people(people)} | body
    )


def _settings(sessions: Sequence[Mapping[str, Any]], wording: str) -> dict[str, Any]:
    """The plain settings of an agent; where it had a wording, those alone that all of its sessions
    share."""
    plain = {name: value for name, value in sessions[0].items() if isinstance(value, str | int | float | bool)}
    return {
        name: value
        for name, value in plain.items()
        if not wording or all(other.get(name) == value for other in sessions)
    }


def _people(people: Path | None) -> dict[str, str] | None:
    if people is None:
        return None
    files = [people] if people.is_file() else sorted(people.rglob("events.jsonl"))
    return {"name": people.name, "sha256": hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()}


def _framed(suite: Suite, agent: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "card": FORM,
        "suite": {"name": suite.suite, "version": suite.version, "sha256": suite.sha256},
        "spanlab": __version__,
        "agent": dict(agent),
    }


def _body(suite: Suite, scored: Scored, name: str, people: Scored | None, taken: set[str]) -> dict[str, Any]:
    effects: list[dict[str, Any]] = []
    pictures: dict[str, Any] = {}
    counts = {"trials": 0, "comparable": 0}
    for paradigm in suite.paradigms:
        agent = tested = None
        if paradigm in taken:
            agent, tested = (of_answers(scored, paradigm, name, tested=only) for only in (False, True))
        references = references_of(paradigm, people and _at_levels(people, scored, paradigm))
        entries = [
            effect_entry(effect, agent, references, tested) for effect in suite.effects if effect.paradigm == paradigm
        ]
        effects += entries
        if agent is not None:
            pictures[paradigm] = curves(paradigm, agent, references)
            _count(
                counts,
                scored,
                paradigm,
                agent,
                references,
                [effect for effect in suite.effects if effect.paradigm == paradigm],
            )
    return counts | {"effects": effects, "curves": pictures}


def _count(
    counts: dict[str, int],
    scored: Scored,
    paradigm: str,
    agent: Answerer,
    references: Sequence[Answerer],
    effects: Sequence[Effect],
) -> None:
    """Count the trials, and those in conditions that a reference has, too."""
    items = scored.parts[paradigm].items
    total = int(items["unit_trial"].nunique())
    places = {place for other in references for place in shared_places(agent, other)}
    columns = [("factor_n" if name == "n" else name) for name in agent.by]
    if "factor_n" in columns and "factor_n" not in items.columns:
        columns = ["set_size"]
    rows = with_levels(items, columns)[[*columns, "unit_trial"]].drop_duplicates()
    inside = {row["unit_trial"] for row in rows.to_dict("records") if place_of(row, columns) in places}
    counts["trials"] += total
    counts["comparable"] += len(inside)


def _at_levels(people: Scored, scored: Scored, paradigm: str) -> Scored:
    """People's answers in the conditions that an agent had, also those that its effects do not tell apart."""
    theirs, ours = (one.items[one.items["paradigm"] == paradigm] for one in (people, scored))
    for name in theirs.columns.intersection(ours.columns):
        if name in ("list_length", "set_size", "retention_steps") or name.startswith("factor_"):
            theirs = theirs[decoded(theirs[name]).isin(decoded(ours[name]))]
    return replace(people, items=theirs.reset_index(drop=True))


def references_of(paradigm: str, people: Scored | None = None) -> list[Answerer]:
    """Those with whom an agent is compared in a paradigm: a laboratory's people, published people,
    published models."""
    references = []
    if people is not None and (own := of_answers(people, paradigm, "", _PEOPLE)) is not None:
        several = own.unit == "participant"  # of one person alone, nobody knows how far people are apart
        references.append(
            Answerer(
                f"your people ({own.n if several else 1})",
                own.by,
                own.weighted if several else without_spread(own.means),
                own.means,
                True,
                own.counts,
                own.n,
                own.unit,
            )
        )
    if (printed := of_published_people(paradigm)) is not None:
        references.append(printed)
    return references + of_published_models(paradigm)


def published_cards(suite: Suite) -> Iterator[dict[str, Any]]:
    """The cards of the N-back study's language models, from their published answers."""
    models = {name: of_published_models(name) for name in NBACK if name in suite.paradigms}
    for model in sorted({one.name for answerers in models.values() for one in answerers}):
        taken = {
            name: next((one for one in answerers if one.name == model), None) for name, answerers in models.items()
        }
        effects = [
            effect_entry(one, taken.get(one.paradigm), models.get(one.paradigm, []), taken.get(one.paradigm))
            for one in suite.effects
        ]
        pictures = {name: curves(name, agent, models[name]) for name, agent in taken.items() if agent is not None}
        blocks = sum(
            count["n_trials"] for agent in taken.values() if agent is not None for count in agent.counts.values()
        )
        reasons = {name: "no published answers of this model" for name in suite.paradigms if taken.get(name) is None}
        head = {"name": model, "kind": "published", "oracle": False, "settings": {}}
        yield _framed(suite, head) | {
            "sessions": [], "source": "Gong, Wan and Wang (2024): published answers, block by block", "not_taken": reasons, "people": None,  # noqa: E501
            "trials": blocks, "comparable": blocks, "effects": effects, "curves": pictures,
        }  # fmt: skip


def read_card(path: Path) -> dict[str, Any]:
    """A card from its file.

    Raises
    ------
    SpanLabError
        when it is none.
    """
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SpanLabError(f"{path} cannot be read as a card: {getattr(error, 'strerror', None) or error}") from None
    if as_object(card).get("card") != FORM or "effects" not in card:
        raise SpanLabError(f"{path} is not a card of spanlab benchmark")
    return card


def differences(first: Any, second: Any, at: str = "") -> Iterator[str]:
    """Say where two cards differ, in words; numbers that agree to six digits are the same."""
    if isinstance(first, dict) and isinstance(second, dict):
        for key in first.keys() | second.keys():
            yield from differences(first.get(key), second.get(key), f"{at}.{key}" if at else str(key))
    elif isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        for number, (one, other) in enumerate(zip(first, second, strict=True)):
            name = (
                f"{one['paradigm']} {one['effect']}" if isinstance(one, dict) and "effect" in one else str(number + 1)
            )
            yield from differences(one, other, f"{at} {name}")
    elif isinstance(first, float | int) and isinstance(second, float | int) and not isinstance(first, bool):
        if not math.isclose(first, second, rel_tol=1e-6, abs_tol=2e-6):
            yield f"{at}: {first} on the card, {second} from the record"
    elif first != second:
        yield f"{at}: {first!r} on the card, {second!r} from the record"
