"""The gallery shows every paradigm as it is now, and folds long trials without losing anything."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
from conditions import some_conditions
from paradigm_texts import asked, text, trial
from PIL import Image

from spanlab.paradigms import compile_trial, list_paradigms, load_paradigm
from spanlab.paradigms.preview.sheet import Frame, frames_of

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


def test_the_page_shows_every_paradigm_once(gallery: ModuleType) -> None:
    text = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
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


def test_a_picture_of_another_trial_is_noticed(
    gallery: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    levels, seed = gallery.SHOWN["vsr"]
    monkeypatch.setitem(gallery.SHOWN, "vsr", (levels, seed + 1))
    assert gallery.stale("vsr") == "out of date"
    monkeypatch.setattr(gallery, "FOLDER", tmp_path)
    assert gallery.stale("vsr") == "missing"
    gallery.draw("vsr")
    assert gallery.stale("vsr") is None
    (tmp_path / "old.png").touch()
    assert gallery.left_over() == ["old.png"]


# what is drawn ------------------------------------------------------------------------------------


def named(frames: list[Frame]) -> list[tuple[int, int]]:
    """Of what is only named: how many steps, and how long each lasts."""
    found = [re.fullmatch(r"\w+ (?:(\d+) × )?(\d+) ms", what) for frame in frames for what in frame.then]
    return [(int(one[1] or 1), int(one[2])) for one in found if one is not None]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", list_paradigms())
def test_nothing_is_lost_when_a_trial_is_folded(name: str) -> None:
    paradigm = load_paradigm(name)
    for levels in some_conditions(paradigm, 6):
        compiled = compile_trial(paradigm, levels, 5)
        frames = frames_of(compiled)
        times = [display.ms or 0 for step in compiled.steps for display in step.percept.displays]
        drawn = sum(frame.copies * sum(ms or 0 for ms in frame.ms) for frame in frames)
        assert drawn + sum(steps * ms for steps, ms in named(frames)) == pytest.approx(sum(times), abs=len(times))
        numbers = [
            number for frame in frames if frame.first and frame.last for number in range(frame.first, frame.last + 1)
        ]
        assert numbers == sorted(set(numbers))
        assert len(numbers) + sum(steps for steps, _ in named(frames)) == len(compiled.steps)
        assert [frame.first for frame in frames if frame.ask is not None] == [
            step.index + 1 for step in compiled.steps if step.percept.ask is not None
        ]
        assert len(frames) <= 40


def folded(tmp_path: Path, timeline: str) -> list[tuple[str, str, int]]:
    """Time, numbers and how much is named, of all displays of a timeline with a question at its
    end."""
    return [(frame.time, frame.number, len(frame.then)) for frame in frames_of(trial(tmp_path, text(asked(timeline))))]


def test_equal_displays_in_a_row_are_one(tmp_path: Path) -> None:
    timeline = """
    - {repeat: 6, phase: retention, show: {blank: {}, ms: 150}}
    - {phase: retention, show: {blank: {}, ms: 200}}
    - {phase: other, show: {blank: {}, ms: 200}}
    - {repeat: 2, phase: other, show: {blank: {}}}
    - {phase: other, show: [{letter: a, ms: 500}, {blank: {}, ms: 2500}]}
    - {phase: other, show: [{letter: a, ms: 500}, {blank: white, ms: 2500}]}
    - {phase: other, show: [{letter: a, ms: 500}, {blank: {}}]}
    """
    assert folded(tmp_path, timeline) == [
        ("6 × 150 ms", "1–6", 0),
        ("200 ms", "7", 0),
        ("200 ms", "8", 0),
        ("self-paced", "9", 0),
        ("self-paced", "10", 0),
        ("500 + 2500 ms", "11", 0),
        ("500 ms", "12", 0),
        ("2500 ms", "", 0),
        ("500 ms", "13", 0),
        ("self-paced", "", 0),
        ("self-paced", "14", 0),
    ]


def test_in_long_trials_what_comes_between_is_drawn_once(tmp_path: Path) -> None:
    """Intervals for people and empty screens; never what is to be remembered, even when it comes
    again."""
    timeline = """
    - for: letter in ['a', 'b', 'a', 'a', 'b', 'a', 'b', 'a', 'b', 'a']
      do:
      - {phase: present, show: {letter: =letter, ms: 500}}
      - {phase: interval, model_steps: 0, show: {letter: +, ms: 250}}
    """
    frames = folded(tmp_path, timeline)
    assert frames == [
        ("500 ms", "1", 0),
        ("250 ms", "2", 0),
        *(("500 ms", str(number), 1) for number in range(3, 21, 2)),
        ("self-paced", "21", 0),
    ]
    short = timeline.replace(", 'b', 'a', 'b', 'a', 'b', 'a']", "]")
    assert [number for _, number, _ in folded(tmp_path, short)] == [str(number) for number in range(1, 10)]
