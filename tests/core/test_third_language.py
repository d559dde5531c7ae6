"""Another language is one file: a copy of the English one with every value changed is complete, and
no English sentence is left in the window."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest
import yaml
from command_line import Run
from lab_pages import right
from session_tools import AtTheWindow

import spanlab.paradigms.library as library
from spanlab.core import locale
from spanlab.paradigms import Paradigm, load_paradigm, plan_session
from spanlab.paradigms.design import session_design
from spanlab.sessions import Request, Runner, begin
from spanlab.sessions.studies.study import load_study
from spanlab.sessions.studies.visit import VisitRequest, questions

#: The name of the language, and the letter that its words are made of.
XX, LETTER = "xx", "ø"
#: The timeline of a paradigm that ships, whose question is asked in the third language, too.
_TIMELINE = re.sub(
    r"prompt: \{en: (.*?), de: ",
    r'prompt: {en: \1, xx: "øøøøø {ordinal}?", de: ',
    (Path(library.__file__).parent / "vsr.yaml").read_text(encoding="utf-8").partition("timeline:")[2],
).partition("\nnetwork:")[0]
_TIMELINE = re.sub(r"( +)why:\n", r'\1why:\n\1  xx: "øøø øøøøø."\n', _TIMELINE)
OWN = f"""
extends: vsr
paradigm: own
title: {{en: Own, xx: øøø}}
instructions: {{en: Look., xx: "øøøø øø øøø."}}
practice: {{trials: 1, factors: {{list_length: 2}}, pass: 1, at_most: 2, otherwise: go_on}}
designs: {{human: {{factors: {{list_length: [2]}}, repetitions: 3, breaks: {{trials: 2, seconds: 1, accuracy: true}}}}}}
timeline:{_TIMELINE}
"""
STUDY = """
study: s
title: S
languages: [xx]
fields: [{name: years, label: {xx: øøøø}, type: whole, range: [1, 9]}]
paradigms: [{paradigm: own.yaml, trials: 1, practice: false, set: {list_length: 2}}]
"""


def translated(text: str) -> str:
    """A sentence of the other language, with the same gaps."""
    parts = []
    for written, name, spec, conversion in Formatter().parse(text):
        parts.append(re.sub(r"\w", LETTER, written))
        if name is not None:
            parts.append(f"{{{name}{f'!{conversion}' if conversion else ''}{f':{spec}' if spec else ''}}}")
    return "".join(parts)


@pytest.fixture
def third(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """SpanLab with a file of sentences in a third language."""
    copies: dict[str, Path] = {}
    for name, original in locale.folders().items():
        copies[name] = folder = tmp_path / name
        folder.mkdir(parents=True)
        for language in locale.languages():
            (folder / f"{language}.yaml").write_text(
                (original / f"{language}.yaml").read_text(encoding="utf-8"), encoding="utf-8"
            )
        sections = yaml.load((folder / "en.yaml").read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
        changed = {
            section: {key: translated(text) for key, text in texts.items()} for section, texts in sections.items()
        }
        if "study" in changed:
            changed["study"] |= {"agree_key": "å", "refuse_key": "ø"}
        (folder / f"{XX}.yaml").write_text(yaml.dump(changed, allow_unicode=True), encoding="utf-8")
    caches = (locale.languages, locale._written, locale.sentences)
    monkeypatch.setattr(locale, "_FOLDER", copies["core/locale"])
    monkeypatch.setattr(locale, "folders", lambda: copies)
    for cached in caches:
        cached.cache_clear()
    yield
    monkeypatch.undo()
    for cached in caches:
        cached.cache_clear()


def test_each_folder_says_what_a_language_lacks_there(third: None, tmp_path: Path) -> None:
    """A language is one file in the core, and one in each extension that has sentences."""
    (tmp_path / "extensions" / "browser" / "locale" / f"{XX}.yaml").unlink()
    locale._written.cache_clear()
    (problem,) = locale.missing_sentences(XX)
    assert problem.startswith(
        f"there is no file extensions/browser/locale/{XX}.yaml; extensions/browser/locale/en.yaml has what it needs"
    )
    locale.sentences.cache_clear()
    assert locale.sentence("online.start", XX) == locale.sentence("online.start", "en")
    assert locale.sentence("window.go_on", XX) != locale.sentence("window.go_on", "en")


@pytest.fixture
def own(tmp_path: Path) -> Paradigm:
    (tmp_path / "own.yaml").write_text(OWN, encoding="utf-8")
    return load_paradigm(tmp_path / "own.yaml")


def english(texts: Iterator[str] | list[str]) -> list[str]:
    """Texts with a word in English letters; names of units are international."""
    return [text for text in texts if re.search(r"[A-Za-z]{2,}", re.sub(r"\b(ms|Hz|Spanlab|SpanLab)\b", "", text))]


def test_a_copy_with_other_words_is_complete(third: None, own: Paradigm, run: Run, tmp_path: Path) -> None:
    assert locale.languages() == ("de", "en", XX)
    assert locale.missing_sentences(XX) == []
    status, out, _ = run("check", "--language", XX, str(tmp_path / "own.yaml"))
    assert (status, out.splitlines()[0]) == (
        0,
        f"'{XX}' lacks nothing: SpanLab's own sentences, and the texts of 1 paradigm",
    )


@pytest.mark.slow
def test_the_dialog_speaks_it(third: None, own: Paradigm, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(STUDY, encoding="utf-8")
    asked = questions(load_study(tmp_path / "s.yaml"), tmp_path / "data", "person", VisitRequest())
    assert len(asked) > 3
    assert not english(
        [text for question in asked for text in (question.label, question.hint, *question.choices.values())]
    )


@pytest.mark.slow
def test_every_page_is_in_it(third: None, own: Paradigm, tmp_path: Path) -> None:
    agent = AtTheWindow(right)
    session = begin(
        tmp_path / "data", own, agent, plan_session(own, 1, session_design(own, None)), Request(language=XX)
    )
    Runner(session, agent).run()
    assert len([text for text in agent.pages if LETTER in text]) > 1
    assert not english(agent.pages)
