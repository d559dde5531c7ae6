"""What the window itself says to the participant, by language. Instructions come from the paradigm, legends from the response kinds."""

from __future__ import annotations

from typing import Final

_WORDS: Final[dict[str, dict[str, str]]] = {
    "en": {
        "go_on": "Press the space bar or click to go on.",
        "example": "Example",
        "your_turn": "your answer",
        "next": "Space bar or click: next page      Left arrow key: back",
        "done": "Done",
        "marked": "{n} of {take} marked",
        "marked_any": "{n} marked",
        "which": "Answer {n}",
        "pause": "Paused",
        "pause_more": "Do you want to go on, or to leave the session? What you have finished is saved.",
        "continue": "Go on  (space bar)",
        "leave": "Leave  (L)",
        "self_paced": "self-paced",
        "until_answer": "until the answer",
        "correct": "correct: {answer}",
        "preview": "Space bar: next display · Left arrow: back · Escape: leave",
        "preview_answer": "Space bar: next display · Left arrow: back · A: answer · Escape: leave",
        "assistant": "For the assistant",
        "mend": "Leave with Escape to mend this, or go on: the record of the session says it.",
        "refresh": "1 refresh",
        "refreshes": "{n} refreshes",
        "rounding": "{phase}: {planned} ms are shown for {frames}, {shown} ms ({error} ms, {share})",
        "at_rate": "{what} at {hz} Hz.",
        "other_screen": "Screen {now} is used, and screen {then} was measured.",
        "other_size": "The screen has {now} pixels now, and had {then} when it was measured.",
        "unsynchronised": "Flips do not wait for the screen now; they did when it was measured ({then} Hz).",
        "synchronised": "Flips wait for the screen now ({now} Hz); they did not when it was measured, so that its rate is not known.",
        "other_rate": "The screen is refreshed at {now} Hz now, and was at {then} Hz when it was measured.",
        "other_keyboard": "Keys are read by '{now}' now, and were by '{then}' when the display was measured.",
        "other_graphics": "'{now}' draws now; it was '{then}' when the display was measured.",
    },
    "de": {
        "go_on": "Weiter mit der Leertaste oder einem Klick.",
        "example": "Beispiel",
        "your_turn": "Ihre Antwort",
        "next": "Leertaste oder Klick: nächste Seite      Pfeiltaste links: zurück",
        "done": "Fertig",
        "marked": "{n} von {take} markiert",
        "marked_any": "{n} markiert",
        "which": "Antwort {n}",
        "pause": "Angehalten",
        "pause_more": "Möchten Sie weitermachen oder die Sitzung verlassen? Was Sie abgeschlossen haben, ist gespeichert.",
        "continue": "Weiter  (Leertaste)",
        "leave": "Verlassen  (L)",
        "self_paced": "bis zum Weitermachen",
        "until_answer": "bis zur Antwort",
        "correct": "richtig: {answer}",
        "preview": "Leertaste: nächste Anzeige · Pfeil links: zurück · Esc: verlassen",
        "preview_answer": "Leertaste: nächste Anzeige · Pfeil links: zurück · A: Antwort · Esc: verlassen",
        "assistant": "Für die Versuchsleitung",
        "mend": "Verlassen Sie die Sitzung mit Escape, um das zu beheben, oder machen Sie weiter: Das Protokoll der Sitzung hält es fest.",
        "refresh": "1 Bildwechsel",
        "refreshes": "{n} Bildwechsel",
        "rounding": "{phase}: {planned} ms werden {frames} lang gezeigt, {shown} ms ({error} ms, {share})",
        "at_rate": "{what}, bei {hz} Hz.",
        "other_screen": "Jetzt läuft Bildschirm {now}, gemessen wurde Bildschirm {then}.",
        "other_size": "Der Bildschirm hat jetzt {now} Pixel, bei der Messung waren es {then}.",
        "unsynchronised": "Bildwechsel warten jetzt nicht auf den Bildschirm; bei der Messung taten sie es ({then} Hz).",
        "synchronised": "Bildwechsel warten jetzt auf den Bildschirm ({now} Hz); bei der Messung taten sie es nicht, seine Rate war also unbekannt.",
        "other_rate": "Der Bildschirm läuft jetzt mit {now} Hz, bei der Messung waren es {then} Hz.",
        "other_keyboard": "Tasten werden jetzt durch '{now}' gelesen, bei der Messung durch '{then}'.",
        "other_graphics": "Jetzt zeichnet '{now}', bei der Messung '{then}'.",
    },
}

#: Languages that the window speaks; for others it says things in English.
LANGUAGES = tuple(_WORDS)


def word(key: str, language: str, **values: object) -> str:
    """One sentence of the window in a language (English where it is not spoken)."""
    return _WORDS.get(language, _WORDS["en"])[key].format(**values)
