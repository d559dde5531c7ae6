"""The questions before a session of a study begins: built-in ones, then the fields of the study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...agents.human.pages.dialog import Question
from ...core.locale import languages, sentence
from .fields import FieldPart
from .participants import Kind, next_number, people
from .study import Study
from .visit import VisitRequest

#: what languages call themselves for which there is no file
_NAMES = {"fr": "français", "es": "español", "it": "italiano", "nl": "Nederlands", "pt": "português", "pl": "polski"}


def questions(study: Study, data: Path, kind: Kind, request: VisitRequest) -> list[Question]:
    """The questions of the dialog, in the study's first language, filled with what is known
    already. Those about the participant come later, where the study asks for consent: once the
    participant has agreed."""
    language = study.languages[0]

    def say(key: str, **values: object) -> str:
        return sentence(f"dialog.{key}", language, **values)

    free = next_number(people(data / study.name), kind)
    form = [
        Question("participant", say("participant"), value=request.participant, required=True),
        Question("number", say("number"), value=request.number, hint=say("free", number=free)),
        Question(
            "existing",
            say("existing"),
            {name: say(name) for name in ("stop", "resume", "new")},
            request.existing or "stop",
            late=True,
        ),
    ]
    if len(study.sessions) > 1:
        form.insert(
            1,
            Question(
                "session",
                say("session"),
                {str(n + 1): str(n + 1) for n in range(len(study.sessions))},
                request.session,
                required=True,
            ),
        )
    if len(study.languages) > 1:
        called = {
            code: sentence("language.name", code) if code in languages() else _NAMES.get(code, code)
            for code in study.languages
        }
        form.insert(-1, Question("language", say("language"), called, request.language or language, required=True))
    return (
        form
        if study.consent is not None
        else form + [about_participant(field, language, request.fields.get(field.name, "")) for field in study.fields]
    )


def about_participant(field: FieldPart, language: str, value: str = "") -> Question:
    """The question of a field.

    Parameters
    ----------
    value : what stands there at first
    """
    hint = sentence("dialog.range", language, low=field.range[0], high=field.range[1]) if field.range else ""
    return Question(field.name, field.label[language], field.labels(language), value, field.required, hint)


def to_ask(fields: Sequence[FieldPart], known: Mapping[str, Any]) -> list[FieldPart]:
    """The fields that are asked in a session; what is asked once, and is known from earlier
    sessions, is not."""
    return [field for field in fields if field.each_session or field.name not in known]


def answered(study: Study, kind: Kind, typed: Mapping[str, str], session: str) -> VisitRequest:
    """Turn what was typed into a request for a session."""
    built_in = {name: typed.get(name, "") for name in ("participant", "number", "language", "existing")}
    fields = {field.name: typed[field.name] for field in study.fields if field.name in typed}
    return VisitRequest(
        session=typed.get("session", session),
        fields=fields,
        kind=kind,
        asked_later=study.consent is not None,
        **built_in,
    )
