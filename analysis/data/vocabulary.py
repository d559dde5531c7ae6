"""What others call what the response table has: names of columns, words for right and wrong, codes of
answers, and how experiment programs name their columns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

#: What others call our columns, in small letters without signs between them; the likeliest first.
_LIKE = {
    "participant": (
        "participant participantid subject subj sub subjectid subjectnr subjectno subjectnumber participantnr ppt ppn"
        " pp vp vpn vpnr versuchsperson proband pid sid id subjidx observer obs teilnehmer"
    ),
    "correct": (
        "correct accuracy acc corr iscorrect trialcorrect right score korrekt richtig sdt sdtcategory antwortkorrekt"
    ),
    "rt_ms": (
        "rtms rt reactiontime reactiontimems responsetime responsetimems latency rts rtsec reaktionszeit"
        " reaktionszeitms"
    ),
    "answer": (
        "answer response resp keypress key choice responseangle reportedangle responsevalue responsecolor"
        " responsecolour reportedcolor reportedcolour reported"
    ),
    "correct_answer": (
        "correctanswer correctresponse corrans correctans correctkey corrresp cresp solution target targetangle"
        " targetvalue targetcolor targetcolour truth groundtruth wahrheit"
    ),
    "trial": "trial trialnumber trialnr trialno trialnum trialindex trialid",
    "block": "block blocknumber blocknr blk durchgangsblock",
    "set_size": "setsize memoryload load nitems numitems ss size setgrösse setgröße setgroesse",
    "list_length": "listlength length seqlength sequencelength ll",
    "serial_position": "serialposition serialpos serpos position itemposition",
    "output_position": "outputposition outputpos recallposition",
    "error": "error deviation err responseerror incorrect wrong iserror",
    "session": "session sessionid run visit sess",
    "practice": "practice ispractice training",
    "group": "group",
    "factor_n": "nback nlevel",
    "paradigm": "paradigm task experiment exp expname",
    "agent": "agent model system",
    "agent_kind": "agentkind kind agenttype",
}
SYNONYMS = {name: words.split() for name, words in _LIKE.items()}
#: Columns that an effect knows under these names: no column of somebody else's becomes one.
TAKEN = frozenset(
    ("match", "transition", "congruent", "reverse", "item", "lure_lag", "scale", "signal", "prefilled", "n")
)
#: Of a program's table, whose other columns have names of its own.
OF_DESIGNS = ("set_size", "list_length")
#: Outcomes of detection: whether there was a signal, and whether the answer was right.
OUTCOMES = {
    **dict.fromkeys(("hit", "hits"), (True, True)),
    **dict.fromkeys(("miss", "misses"), (True, False)),
    **dict.fromkeys(("fa", "false alarm", "false_alarm", "falsealarm"), (False, False)),
    **dict.fromkeys(("cr", "correct rejection", "correct_rejection", "correctrejection"), (False, True)),
}
#: What stands for a right answer, and for a wrong one, besides yes and no.
VERDICTS = {
    **{word: right for word, (_, right) in OUTCOMES.items()},
    **dict.fromkeys(
        ("correct", "right", "richtig", "korrekt", "ja", "oui", "sí", "si", "ok", "t", "100", "100.0", "100%"), True
    ),
    **dict.fromkeys(("incorrect", "wrong", "error", "inkorrekt", "nein", "non", "ko", "f", "0%"), False),
}
#: What others call the answers to yes-no questions.
ANSWERS = {
    "y": "yes",
    "n": "no",
    **dict.fromkeys(("different", "change", "changed", "diff", "different trial", "change trial"), "different"),
    **dict.fromkeys(("same", "no change", "nochange", "no_change", "no-change", "unchanged", "identical"), "same"),
}
#: By the name of a column that says with 1 and 0 what is right: what 1 and 0 stand for.
CODED = {
    **dict.fromkeys(("change", "changed", "ischange", "changetrial", "different"), ("different", "same")),
    **dict.fromkeys(("same", "issame"), ("same", "different")),
    **dict.fromkeys(("old", "isold", "probeold"), ("old", "new")),
    **dict.fromkeys(("present", "targetpresent", "probepresent"), ("present", "absent")),
    **dict.fromkeys(("match", "probematch"), ("match", "no match")),
    **dict.fromkeys(("signal", "issignal"), ("yes", "no")),
}
#: Of N-back, how many back: ``2-back``, ``2back``; names of columns that hold a number alone; and of columns that
#: say whether an item matches.
BACK, BACKS, MATCHES = re.compile(r"(\d+)[-_ ]?back"), ("n", "level", "nlevel"), ("istarget", "ismatch")
#: Names of columns of what was shown and given in lists.
SHOWN = ("presented", "item", "list", "stimulus", "stim", "word", "letter", "digit")
GIVEN = ("recalled", "recall", "report")
#: What stands for an item that was not given, in a list in one cell.
NOTHING_GIVEN = frozenset(("", "-", "_", "?", "*", "."))
#: What N-back tables call items that match, and others.
MATCH, NO_MATCH = "target", frozenset(("nontarget", "non-target", "non_target", "lure", "foil", "distractor"))


def folded_name(name: Any) -> str:
    """A name of a column in small letters, without signs between them."""
    return re.sub(r"[\W_]+", "", str(name).casefold())


@dataclass(frozen=True)
class Program:
    """How a program names its columns.

    Parameters
    ----------
    marks : patterns, each of which names one of its columns
    score : of columns of scores; its group is the component
    answers, times, expected : of a component (``{}``); the first one that is there
    ms : how many ms its unit of time has
    participants, sessions, paradigms : columns that may say so
    """

    name: str
    marks: tuple[str, ...]
    score: str
    answers: tuple[str, ...]
    times: tuple[str, ...]
    ms: float
    participants: tuple[str, ...]
    sessions: tuple[str, ...] = ()
    paradigms: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()


EXPECTED = (
    "{}.CRESP",
    *("corrAns", "correctAns", "corr_ans", "correct_ans", "correct_key", "correct_choice"),
    *("correct_response", "correct_answer", "correctResponse", "correctAnswer", "CorrectAnswer", "CorrectResponse"),
)
_PROLIFIC = ("PROLIFIC_PID", "prolific_pid", "worker_id", "workerId")
PROGRAMS = (
    Program(
        "PsychoPy",
        (r".+\.corr",),
        r"(.+)\.corr",
        ("{}.keys", "{}.clicked_name", "{}.response", "{}.text"),
        ("{}.rt", "{}.time"),
        1000.0,
        ("participant",),
        ("session", "date"),
        ("expName",),
    ),
    Program(
        "E-Prime",
        (r".+\.ACC", "Subject"),
        r"(.+)\.ACC",
        ("{}.RESP",),
        ("{}.RT",),
        1.0,
        ("Subject",),
        ("Session",),
        ("ExperimentName", "Experiment"),
    ),
    Program(
        "OpenSesame",
        ("subject_nr", r"correct(_.+)?"),
        r"correct((?:_(?!response$|answer$).+)?)",
        ("response{}",),
        ("response_time{}",),
        1.0,
        ("subject_nr",),
        ("datetime",),
        ("title", "experiment_file"),
    ),
    Program(
        "jsPsych",
        ("trial_type", "correct", "trial_index|time_elapsed|internal_node_id|rt"),
        "correct()",
        ("response", "key_press"),
        ("rt",),
        1.0,
        ("participant", "participant_id", "subject", "subject_id", *_PROLIFIC),
        ("session_id",),
    ),
    Program(
        "lab.js",
        ("sender", "correct", "duration"),
        "correct()",
        ("response",),
        ("duration",),
        1.0,
        ("participant", "participant_id", "subject", "url.participant", *_PROLIFIC, "id"),
        ("session_id", "timestamp_session"),
    ),
)
