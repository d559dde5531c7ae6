"""Which scripts people can read at the window: those of the shipped typeface, those of a font of
one's own, and those that are refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Run, complaint
from lab_pages import right
from session_tools import AtTheWindow
from study_files import Guest, study_in

from spanlab.agents.human import Participant, WindowOptions
from spanlab.agents.human.display.lettering import TextBlock, set_text
from spanlab.core.errors import ParadigmError, SpanLabError
from spanlab.paradigms import list_paradigms, load_paradigm, plan_session
from spanlab.paradigms.checking import check_paradigm
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.paradigms.paradigm import paradigm_from_data
from spanlab.paradigms.translation import untranslated
from spanlab.sessions import Request, begin
from spanlab.stimuli.render.fonts import undrawable, unreadable, use_font, width

ARMENIAN, GEORGIAN, JAPANESE = (
    "Համաձա՞յն եք",
    "თანახმა ხართ?",
    "この実験では、画面に出る図形を覚えていただきます。（約四十分）いつでもやめられます。",
)
#: what is told of a study in Armenian
STUDY = "study: s\ntitle: S\nlanguages: [en]\nparadigms: [{paradigm: vsr, practice: false}]\nconsent: {en: TEXT}\n"


@pytest.fixture(autouse=True)
def _shipped_typeface_afterwards() -> Iterator[None]:
    yield
    use_font(None)


@pytest.fixture(scope="module")
def dejavu() -> Path:
    """A font with Armenian and Georgian letters, and Hebrew ones."""
    return Path(pytest.importorskip("matplotlib").get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"


@pytest.fixture(scope="module")
def boxes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A font in which every Japanese sign is a box as wide as high."""
    builder = pytest.importorskip("fontTools.fontBuilder")
    pen = pytest.importorskip("fontTools.pens.ttGlyphPen")

    def box(size: int) -> Any:
        drawn = pen.TTGlyphPen(None)
        drawn.moveTo((100, 0))
        for point in ((100, size), (size, size), (size, 0)):
            drawn.lineTo(point)
        drawn.closePath()
        return drawn.glyph()

    signs = {ord(sign): f"u{ord(sign):04X}" for sign in JAPANESE}
    font = builder.FontBuilder(1000, isTTF=True)
    names = [".notdef", *dict.fromkeys(signs.values())]
    font.setupGlyphOrder(names)
    font.setupCharacterMap(signs)
    font.setupGlyf({name: box(400 if name == ".notdef" else 900) for name in names})
    font.setupHorizontalMetrics(dict.fromkeys(names, (1000, 100)))
    font.setupHorizontalHeader(ascent=900, descent=-100)
    font.setupNameTable({"familyName": "Boxes", "styleName": "Regular"})
    font.setupOS2()
    font.setupPost()
    path = tmp_path_factory.mktemp("font") / "boxes.ttf"
    font.save(path)
    return path


# -- what can be read ------------------------------------------------------------------------------

SHIPPED = {
    "French": "Où êtes-vous, cœur ? ç ï ÿ",
    "Polish, Czech, Hungarian": "Zażółć gęślą jaźń, příliš žluťoučký, őű",
    "Turkish, Baltic, Icelandic": "ğışİ āčēģīķļņšūž þðæ",
    "Greek without accents": "α β Ω",
    "Russian, Ukrainian, Serbian": "Привет, їжак, ђак",
}
REFUSED = {
    "ế": "the typeface has no 'ế' (U+1EBF); it has Latin, Greek and Cyrillic letters",
    "ώ": "the typeface has no 'ώ' (U+03CE)",
    "覚": "the typeface has no '覚' (U+899A)",
    "Ա": "the typeface has no 'Ա' (U+0531)",
    "שלום": "'ש' (U+05E9) is of a script that runs from right to left",
    "مرحبا": "'م' (U+0645) is of a script that runs from right to left",
    "नमस्ते": "'न' (U+0928) is of a script whose letters join or stack",
    "สวัสดี": "'ส' (U+0E2A) is of a script whose letters join or stack",
}


@pytest.mark.parametrize("text", SHIPPED.values(), ids=list(SHIPPED))
def test_the_shipped_typeface_has_what_the_documentation_says(text: str) -> None:
    assert unreadable(text) == ""


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_shown_is_refused_with_its_reason(text: str, tmp_path: Path) -> None:
    assert unreadable(f"Hello {text}").startswith(REFUSED[text])
    with pytest.raises(ParadigmError) as caught:
        study_in(tmp_path, STUDY.replace("TEXT", text))
    assert f"study.yaml:5 consent > en: {REFUSED[text]}" in str(caught.value)


def test_scripts_from_right_to_left_are_refused_with_any_font(dejavu: Path) -> None:
    use_font(dejavu)
    assert "runs from right to left" in unreadable("שלום")
    assert "does not have it either" in unreadable("覚")


# -- a font of one's own ---------------------------------------------------------------------------


@pytest.mark.parametrize("text", [ARMENIAN, GEORGIAN])
def test_a_study_names_a_font_for_the_letters_of_its_language(text: str, tmp_path: Path, dejavu: Path) -> None:
    assert study_in(tmp_path, STUDY.replace("TEXT", text) + f"font: {dejavu}\n").font == dejavu
    drawn, wide = np.asarray(set_text((TextBlock(text, 20),), 800)), width(text, 10)
    use_font(None)
    assert (undrawable(text), width(text, 10) == wide) == (text[0], False), "nothing is kept of the other font"
    assert drawn.shape != (boxes := np.asarray(set_text((TextBlock(text, 20),), 800))).shape or (drawn != boxes).any()


def test_what_the_typeface_has_looks_as_before(dejavu: Path) -> None:
    text = (TextBlock("Ein Satz, wie er immer war: Ω ж ő.", 20), TextBlock("Semibold", 30, weight="semibold"))
    before = set_text(text, 300).tobytes()
    use_font(dejavu)
    assert set_text(text, 300).tobytes() == before


def test_a_font_that_cannot_be_read_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "not.ttf").write_text("no font", encoding="utf-8")
    for name in ("not.ttf", "gone.ttf"):
        with pytest.raises(ParadigmError, match=rf"study\.yaml:6 font: .*{name} cannot be read as a font"):
            study_in(tmp_path, STUDY.replace("TEXT", "Hello") + f"font: {name}\n")
    with pytest.raises(SpanLabError, match="cannot be read as a font"):
        Participant(WindowOptions(font=str(tmp_path / "not.ttf")))


def test_the_font_is_among_the_settings_only_where_there_is_one(dejavu: Path) -> None:
    assert "font" not in Participant().settings()
    assert Participant(WindowOptions(font=str(dejavu))).settings()["font"] == str(dejavu)


# -- paradigms -------------------------------------------------------------------------------------

OWN = """
extends: cd
paradigm: own
title: {en: Own, hy: Սեփական}
instructions: {hy: Համաձա՞յն եք}
translations: {hy: {same: նույնը, different: տարբեր}}
"""


@pytest.mark.slow
def test_a_paradigm_that_people_cannot_read_is_told_by_check_and_before_a_session(tmp_path: Path, dejavu: Path) -> None:
    (file := tmp_path / "own.yaml").write_text(OWN, encoding="utf-8")
    with pytest.raises(ParadigmError) as caught:
        check_paradigm(file)
    assert "own.yaml:6 translations > hy > same: the typeface has no" in str(caught.value)
    assert "instructions" not in str(caught.value), "a browser sets pages in every script"
    paradigm = load_paradigm(file)
    plan = plan_session(paradigm, 1, SessionDesign(), levels={"feature": "size"}, trials=1)
    with pytest.raises(SpanLabError, match=r"own title > hy: the typeface has no 'Ս'"):
        begin(tmp_path / "data", paradigm, AtTheWindow(right), plan, Request(language="hy"))
    assert not (tmp_path / "data").exists()
    begin(tmp_path / "data", paradigm, AtTheWindow(right), plan, Request(language="en"))
    assert paradigm_from_data(paradigm.data, "own").hash == paradigm.hash, "data can be read without the font"
    use_font(dejavu)
    check_paradigm(file)
    begin(tmp_path / "data", paradigm, AtTheWindow(right), plan, Request(language="hy"))


def test_what_another_language_needs_is_told(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("check", "--language", "de")[:2] == (
        0,
        f"'de' lacks nothing: SpanLab's own sentences, and the texts of {len(list_paradigms())} paradigms\n",
    )
    complaints = complaint(*run("check", "--language", "fr"))
    for words in (
        "'fr' lacks:",
        "there is no file core/locale/fr.yaml; core/locale/en.yaml has what it needs",
        "vsr: there are no instructions",
        "cd: the timeline has texts or answers without a translation: same, different (translations)",
    ):
        assert words in complaints
    (tmp_path / "own.yaml").write_text(
        "extends: sfr\nparadigm: own\ninstructions: {fr: Regardez bien.}\n", encoding="utf-8"
    )
    complaints = complaint(*run("check", "--language", "fr", "own.yaml"))
    assert "own: there is no title" in complaints
    assert "vsr" not in complaints
    assert "which files?" in complaint(*run("check"))


def test_a_file_of_a_language_is_compared_sentence_by_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    from spanlab.core import locale

    original = locale._written
    changed = {**original("core/locale", "de"), "window.which": "Antwort", "window.extra": "mehr"}
    del changed["window.done"]
    monkeypatch.setattr(
        locale,
        "_written",
        lambda folder, language: changed if (folder, language) == ("core/locale", "de") else original(folder, language),
    )
    assert locale.missing_sentences("de") == [
        "core/locale/de.yaml: window.done is missing; in English: Done",
        "core/locale/de.yaml: window.extra is unknown",
        "core/locale/de.yaml: window.which has the gaps none, and in English {n}",
    ]


def test_the_assistant_is_told_when_the_window_does_not_speak_the_language(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spanlab.agents.human import seating

    (tmp_path / "own.yaml").write_text(
        "extends: sfr\nparadigm: own\ninstructions: {fr: Regardez bien.}\n", encoding="utf-8"
    )
    (tmp_path / "s.yaml").write_text(
        "study: s\ntitle: S\nlanguages: [fr, en]\nparadigms: [{paradigm: own.yaml, trials: 1, practice: false, set:"
        " {list_length: 1}}]\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(seating, "seat", lambda *_: Guest())
    told = "their own texts are in English, not in 'fr'"
    assert told in run("run", "s.yaml", "--participant", "p01")[2]
    assert told not in run("run", "s.yaml", "--participant", "p02", "--language", "en")[2]


def test_a_legend_that_a_language_lacks_is_told() -> None:
    from spanlab.paradigms.responses import Choice

    class English(Choice):
        def legend(self, reader: Any, language: str = "en") -> str:
            return super().legend(reader, "en")

    paradigm = load_paradigm("cd")
    kind = English.model_validate({"options": ("same", "different"), "keys": ("f", "j")})
    assert untranslated(paradigm.data, [kind], ("en", "de")) == ["'de': the legend of 'choice' is in English"]
