"""What people are told around the trials, by language. Instructions come from the paradigm, legends from the response kinds."""

from __future__ import annotations

from typing import Final

_TEXTS: Final[dict[str, dict[str, str]]] = {
    "en": {
        "practice": "Practice",
        "practice_body": "We begin with some practice. You will be told how you did.",
        "practice_silent": "We begin with some practice.",
        "main": "Ready",
        "main_body": "Now the real trials begin.",
        "right": "All correct.",
        "some": "{right} of {all} correct.",
        "again": "Once more",
        "again_body": "Let us practise that again.",
        "stopped": "Thank you",
        "stopped_body": "The practice ends here. Please tell the experimenter.",
        "break": "Pause",
        "break_body": "{done} of {all} trials are done. Take a rest, and go on when you like.",
        "break_open": "{done} trials are done. Take a rest, and go on when you like.",
        "accuracy": "Since the last pause, {percent} % of your answers were correct.",
        "thanks": "Thank you",
        "thanks_body": "That was the last trial.",
    },
    "de": {
        "practice": "Übung",
        "practice_body": "Wir beginnen mit etwas Übung. Danach erfahren Sie jeweils, wie gut es ging.",
        "practice_silent": "Wir beginnen mit etwas Übung.",
        "main": "Bereit",
        "main_body": "Jetzt beginnen die eigentlichen Durchgänge.",
        "right": "Alles richtig.",
        "some": "{right} von {all} richtig.",
        "again": "Noch einmal",
        "again_body": "Wir üben das noch einmal.",
        "stopped": "Vielen Dank",
        "stopped_body": "Die Übung endet hier. Bitte sagen Sie der Versuchsleitung Bescheid.",
        "break": "Pause",
        "break_body": "{done} von {all} Durchgängen sind geschafft. Ruhen Sie sich aus und machen Sie weiter, wann Sie möchten.",
        "break_open": "{done} Durchgänge sind geschafft. Ruhen Sie sich aus und machen Sie weiter, wann Sie möchten.",
        "accuracy": "Seit der letzten Pause waren {percent} % Ihrer Antworten richtig.",
        "thanks": "Vielen Dank",
        "thanks_body": "Das war der letzte Durchgang.",
    },
}

#: Languages with these texts; others hear them in English.
LANGUAGES = tuple(_TEXTS)


def text(key: str, language: str, **values: object) -> str:
    """One text in a language (English where there is none)."""
    return _TEXTS.get(language, _TEXTS["en"])[key].format(**values)
