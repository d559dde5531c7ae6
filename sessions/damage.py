"""What a record must hold to be read: found out before anything relies on it, so that damage is told in a sentence. It imports no sibling either."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

#: keys with the types that their values may have
Keys = Mapping[str, tuple[type, ...]]

_SESSION_KEYS: Keys = {
    **dict.fromkeys(("session", "participant", "agent_kind", "agent", "agent_settings_hash", "paradigm", "paradigm_hash", "paradigm_source"), (str,)),
    **dict.fromkeys(("generator", "design", "language", "like", "created"), (str,)),
    **dict.fromkeys(("oracle", "pilot", "practice"), (bool,)),
    **dict.fromkeys(("paradigm_version", "seed"), (int,)),
    **dict.fromkeys(("agent_settings", "paradigm_data"), (dict,)),
    "plan": (list, dict),
}
#: the keys of answers, where there are people
_ANSWER_KEYS: Keys = {**dict.fromkeys(("sides", "why"), (str,)), "swapped": (bool,), "own": (dict,)}
_PLAN_KEYS: Keys = {
    **dict.fromkeys(("block", "trial", "seed"), (int,)),
    "levels": (dict,),
    "practice": (bool,),
    "interval_ms": (int, float),
}
#: what only trials from elsewhere have
OF_GIVEN_TRIALS: Keys = {"draws": (dict,), "name": (str,)}
#: what only some planned trials have: those from elsewhere, those of an adaptive session, and those that are paired with trials of another paradigm
OF_SOME_TRIALS: Keys = {**OF_GIVEN_TRIALS, "varies": (str,), "paired": (str,)}
#: the plan and the parts of large sessions
_COMPACT_KEYS: Keys = {
    "trials": (int,),
    "levels": (list,),
    **dict.fromkeys(("which", "seeds", "blocks"), (str,)),
    "intervals_ms": (int, float, str),
}
_PARTS_KEYS: Keys = {"trials": (int,), "states": (bool,)}
_ADAPTIVE_KEYS: Keys = {
    "factor": (str,),
    "stairs": (list,),
    **dict.fromkeys(("start", "share"), (int, float)),
    **dict.fromkeys(("up_after", "down_after", "trials", "leave_out"), (int,)),
    "reversals": (int, type(None)),
}
_OF_TRIAL: Keys = {"trial": (str,), "attempt": (int,)}
_EVENT_KEYS: dict[str, Keys] = {
    "trial_start": {
        **_OF_TRIAL,
        **dict.fromkeys(("block", "seed"), (int,)),
        **dict.fromkeys(("set_size", "list_length"), (int, type(None))),
        **dict.fromkeys(("trial_id", "started_at"), (str,)),
        "practice": (bool,),
        "levels": (dict,),
    },
    "step": {**_OF_TRIAL, "step": (int,), "phase": (str,), "planned_ms": (int, float, type(None))},
    "trial_end": {**_OF_TRIAL, "steps": (int,)},
    "trial_failed": {**_OF_TRIAL, "why": (str,)},
    "trial_cut": {**_OF_TRIAL, "step": (int,), "why": (str,)},
    "reply": {**_OF_TRIAL, "reply": (dict,)},
    "practice": {"passed": (bool,)},
    "practice_decision": {"decided": (str,)},
    "trigger": {
        **_OF_TRIAL,
        **dict.fromkeys(("step", "code"), (int,)),
        **dict.fromkeys(("for", "what"), (str,)),
        **dict.fromkeys(("flip_ms", "sent_ms", "delay_ms"), (int, float, type(None))),
    },
}
_TRANSCRIPT_KEYS: Keys = {**_OF_TRIAL, "ask": (int,), "request": (str,)}
_REPLY_KEYS: Keys = {"sent": (list,), "reply": (dict,)}
_ASK_KEYS: Keys = {
    "ask": (int,),
    "outcome": (str,),
    "value": (object,),
    "raw": (object,),
    **dict.fromkeys(("rt_ms", "chance"), (int, float, type(None))),
    **dict.fromkeys(("notes", "record"), (dict,)),
    "scores": (list,),
}
_SCORE_KEYS: Keys = {
    **dict.fromkeys(("answer", "correct_answer"), (int, str, float, type(None))),
    "correct": (bool,),
    **dict.fromkeys(("serial_position", "output_position"), (int, type(None))),
}
#: what only newer records have of a display
_SHOWN_SINCE: Keys = {"onset_bound_ms": (int, float, type(None))}
_SHOWN_KEYS: Keys = dict.fromkeys(("onset_ms", "shown_ms", "planned_frames", "shown_frames", "dropped_frames"), (int, float, type(None)))


def _misfit(value: Any, keys: Keys, optional: Keys | None = None) -> str | None:
    """What keeps a part of a record from being read: a key that is missing, or of a wrong type."""
    if not isinstance(value, dict):
        return "keys with values are missing"
    for key, types in {**keys, **(optional or {})}.items():
        if key not in value:
            if key in keys:
                return f"'{key}' is missing"
            continue
        if not isinstance(value[key], types) or (isinstance(value[key], bool) and bool not in types and object not in types):
            return f"'{key}' is not what it should be"
    return None


def session_damage(session: Mapping[str, Any]) -> str | None:
    """Why the content of ``session.json`` cannot be read, or None."""
    misfit = _misfit(session, _SESSION_KEYS, {"keys": (dict,), "streams": (int,), "chosen_levels": (dict,), "practice_levels": (list,), "sentences": (dict,)})
    if (
        misfit is None
        and "practice_levels" in session
        and not (session["practice_levels"] and all(isinstance(one, dict) for one in session["practice_levels"]))
    ):
        misfit = "'practice_levels' is not what it should be"
    if misfit is None and "keys" in session:
        misfit = _misfit(session["keys"], _ANSWER_KEYS)
    if misfit is None and "adaptive" in session:
        misfit = _misfit(session["adaptive"], _ADAPTIVE_KEYS)
    if misfit is None and "parts" in session:
        misfit = _misfit(session["parts"], _PARTS_KEYS) or (None if session["parts"]["trials"] > 0 else "a part without trials")
    if misfit is None and isinstance(session["plan"], dict):
        return _misfit(session["plan"], _COMPACT_KEYS) if "parts" in session else "'plan' is not what it should be"
    return misfit or next(filter(None, (_misfit(trial, _PLAN_KEYS, OF_SOME_TRIALS) for trial in session["plan"])), None)


def transcript_damage(line: Any) -> str | None:
    """Why a line of ``transcripts.jsonl`` cannot be read, or None."""
    without_reply = isinstance(line, dict) and any(line.get(end) is True for end in ("begun", "gone", "refused", "lost", "unsent"))
    return _misfit(line, _TRANSCRIPT_KEYS if without_reply else {**_TRANSCRIPT_KEYS, **_REPLY_KEYS}) or _trial_misfit(line)


def _trial_misfit(line: Mapping[str, Any]) -> str | None:
    """What is wrong with the name of a trial."""
    return None if re.fullmatch(r"p?[0-9]{1,9}", str(line["trial"])) else "'trial' is not what it should be"


def event_damage(event: Any) -> str | None:
    """Why a line of ``events.jsonl`` cannot be read, or None."""
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        return "it is no event"
    misfit = _misfit(event, _EVENT_KEYS.get(event["event"], {}))
    if misfit is None and "trial" in event:
        misfit = _trial_misfit(event)
    parts: list[tuple[Any, Keys, Keys]] = []
    if misfit is None and event["event"] in ("step", "trial_cut"):
        shown = event.get("shown", [])
        parts += [(one, _SHOWN_KEYS, _SHOWN_SINCE) for one in (shown if isinstance(shown, list) else [None])]
        if "ask" in event:
            misfit = _misfit(event, _ASK_KEYS, {"blind": (int, float, type(None))})
            parts += [(one, _SCORE_KEYS, {}) for one in event["scores"]] if misfit is None else []
    return misfit or next(filter(None, (_misfit(one, keys, optional) for one, keys, optional in parts)), None)
