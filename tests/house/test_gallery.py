"""The gallery shows every paradigm as it is now, and folds long trials without losing anything."""

from __future__ import annotations

import importlib.util
import re
import runpy
from pathlib import Path
from types import ModuleType

import pytest
from paradigm_texts import asked, text, trial
from PIL import Image

from spanlab.paradigms import list_paradigms, load_paradigm
from spanlab.paradigms.preview.sheet import frames_of

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "images" / "gallery"


@pytest.fixture(scope="module")
def gallery() -> ModuleType:
    """The script that draws the pictures."""
    spec = importlib.util.spec_from_file_location("gallery", ROOT / "scripts" / "gallery.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", list_paradigms())
def test_every_paradigm_has_its_picture(gallery: ModuleType, name: str) -> None:
    assert gallery.stale(name) is None, "run: python scripts/gallery.py && python scripts/docs.py"
    with Image.open(PICTURES / f"{name}.png") as picture:
        assert picture.width <= 1600
        assert picture.mode == "P"
        assert picture.convert("RGB").getpixel((1, 1)) == (255, 255, 255)


def test_pictures_are_small_and_of_paradigms_only(gallery: ModuleType) -> None:
    assert gallery.left_over() == []
    assert sum(file.stat().st_size for file in PICTURES.iterdir()) < 3_000_000


@pytest.mark.slow
def test_the_page_shows_every_paradigm_once(gallery: ModuleType) -> None:
    text = runpy.run_path(str(ROOT / "scripts" / "docs.py"))["made_pages"]()["gallery.md"]
    assert re.findall(r"\(images/gallery/(\w+)\.png\)", text) == gallery.in_order()
    assert sorted(gallery.in_order()) == list_paradigms()
    anchors = {gallery._anchor(heading) for heading in re.findall(r"^### (.+)$", text, flags=re.MULTILINE)}
    assert set(re.findall(r"\]\(#([\w-]+)\)", text)) == anchors
    for name in list_paradigms():
        assert f"(version {load_paradigm(name).version}, trial `{gallery.shown(name).trial_id}`)" in text, (
            "run: python scripts/docs.py"
        )


def test_the_overview_is_that_of_the_files(gallery: ModuleType) -> None:
    (header, rows), (domains, cells) = gallery.overview()
    for row in rows:
        match = re.match(r"\[`(\w+)`\]", row[0])
        assert match is not None
        paradigm = load_paradigm(match[1])
        assert row[1] == paradigm.family
        marked = {column for column, cell in zip(header, row, strict=True) if cell == "●"}
        assert marked == {*paradigm.domains, *paradigm.functions}
        assert row[-1] == ", ".join(paradigm.characteristics)
        for function, *there in cells:
            for domain, names in zip(domains[1:], there, strict=True):
                assert (f"`{match[1]}`" in names.split(", ")) == (
                    function in paradigm.functions and domain in paradigm.domains
                )
    assert len(rows) == len(list_paradigms())


# what is drawn ------------------------------------------------------------------------------------


def folded(tmp_path: Path, timeline: str) -> list[tuple[str, str]]:
    """Time and phase of all displays of a timeline with a question at its end."""
    return [(frame.time, frame.phase) for frame in frames_of(trial(tmp_path, text(asked(timeline))))]


def test_equal_displays_in_a_row_are_one(tmp_path: Path) -> None:
    timeline = """
    - {repeat: 6, phase: retention, show: {blank: {}, ms: 150}}
    - {phase: retention, show: {blank: {}, ms: 200}}
    - {phase: other, show: {blank: {}, ms: 200}}
    - {phase: other, show: {letter: a, ms: 500}}
    """
    assert folded(tmp_path, timeline)[:-1] == [
        ("6 × 150 ms", "retention"),
        ("200 ms", "retention"),
        ("200 ms", "other"),
        ("500 ms", "other"),
    ]


def test_what_only_people_see_between_others_is_drawn_once(tmp_path: Path) -> None:
    """Never what is to be remembered, even when it comes again."""
    timeline = """
    - for: letter in ['a', 'b', 'a']
      do:
      - {phase: present, show: {letter: =letter, ms: 500}}
      - {phase: interval, model_steps: 0, show: {letter: +, ms: 250}}
    """
    present = ("500 ms", "present")
    assert folded(tmp_path, timeline)[:-1] == [present, ("250 ms", "interval"), present, present]
