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
    },
}

#: Languages that the window speaks; for others it says things in English.
LANGUAGES = tuple(_WORDS)


def word(key: str, language: str, **values: object) -> str:
    """One sentence of the window in a language (English where it is not spoken)."""
    return _WORDS.get(language, _WORDS["en"])[key].format(**values)
