"""What presses and clicks mean, how time becomes frames, how text is set: without a screen."""

from __future__ import annotations

import pytest

from spanlab.agents.human.display.frames import FrameGrid
from spanlab.agents.human.display.lettering import TextBlock, balanced, set_text
from spanlab.agents.human.input.answering import DONE, AnswerSheet, Button, Press, hit
from spanlab.paradigms import Ask
from spanlab.paradigms.responses import Cells, Choice
from spanlab.stimuli.render.fonts import width

NINE = Choice.model_validate({"options": 9, "layout": "3x3"})
PAIR = Cells.model_validate({"grid": 4, "take": 2})


def key(name: str, ms: float) -> Press:
    return Press("key", 10 + ms / 1000, key=name)


def click(x: float, y: float, ms: float, button: Button = "") -> Press:
    return Press("click", 10 + ms / 1000, x=x, y=y, button=button)


def sheet(ask: Ask) -> AnswerSheet:
    return AnswerSheet(ask, onset=10.0)


@pytest.mark.parametrize(
    ("hz", "ms", "frames"),
    [
        (60, 1550, 93),
        (60, 750, 45),
        (60, 8, 1),
        (60, 0, 1),
        (60, 25, 2),
        (144, 100, 14),
        (59.94, 1550, 93),
        (120, 8.4, 1),
    ],
)
def test_the_nearest_whole_frame(hz: float, ms: float, frames: int) -> None:
    assert FrameGrid(hz).frames(ms) == frames


def test_a_late_flip_counts_as_the_refreshes_that_it_missed() -> None:
    grid = FrameGrid(50)
    assert grid.tick(1.0) == 1
    assert [grid.tick(time) for time in (1.021, 1.039, 1.081, 1.1)] == [1, 1, 2, 1]


def test_a_paced_grid_stays_on_the_clock() -> None:
    grid = FrameGrid(50, paced=True)
    grid.tick(1.0)
    for n in range(1, 101):
        assert grid.tick(1.0 + n * 0.02 + 0.004) == 1  # every flip 4 ms late
    assert grid.due == pytest.approx(1.0 + 101 * 0.02)


def test_a_key_and_a_click_mean_the_same_position() -> None:
    for press in (key("6", 500), key("num_6", 500), click(80, 40, 500)):
        one = sheet(Ask(NINE))
        assert one.take(press) == "answer"
        assert one.answer() == 5
        assert one.answered_at == pytest.approx(10.5)


def test_borders_belong_to_one_region_only() -> None:
    regions = NINE.surface().regions
    for x, y in ((32, 5), (5, 32), (64, 64), (32, 32), (31.999, 32)):
        assert sum(region.x0 <= x < region.x1 and region.y0 <= y < region.y1 for region in regions) == 1
    found = hit(regions, 32, 32)
    assert found is not None
    assert found.value == 4
    assert hit(regions, -1, 5) is None
    assert hit(regions, 96, 5) is None


def test_the_first_answer_counts_or_the_last() -> None:
    first, last = (
        sheet(Ask(NINE, ends="on_time", window_ms=1000)),
        sheet(Ask(NINE, ends="on_time", window_ms=1000, counts="last")),
    )
    assert [first.take(key(name, ms)) for name, ms in (("x", 50), ("2", 100), ("3", 200))] == [
        "nothing",
        "answer",
        "extra",
    ]
    assert [last.take(key(name, ms)) for name, ms in (("2", 100), ("3", 200))] == ["answer", "answer"]
    assert (first.answer(), last.answer()) == (1, 2)
    assert [press["does"] for press in first.presses] == ["nothing", "answer", "extra"]
    assert last.answered_at == pytest.approx(10.2)


def test_late_presses_are_recorded_or_ignored_but_never_answers() -> None:
    for late, kept in (("record", 1), ("ignore", 0)):
        one = sheet(Ask(NINE, window_ms=300, late=late))  # type: ignore[arg-type]
        assert one.take(key("2", 301)) == "late"
        assert one.answer() is None
        assert len(one.late) == kept


def test_cells_are_marked_unmarked_and_confirmed() -> None:
    one = sheet(Ask(PAIR))
    centre = {cell: (12 + 24 * (cell % 4), 12 + 24 * (cell // 4)) for cell in range(16)}
    steps = [
        click(*centre[5], 100),
        click(*centre[0], 200),
        click(*centre[9], 300),
        click(*centre[5], 400),
        key("return", 450),
        click(*centre[9], 500),
    ]
    assert [one.take(press) for press in steps] == ["mark", "mark", "full", "unmark", "not yet", "mark"]
    assert one.may_finish
    assert not one.complete
    assert one.take(click(200, 100, 600, button=DONE)) == "answer"
    assert one.answer() == (0, 9)  # in the order of marking
    assert one.take(click(*centre[1], 700)) == "extra"


def test_marks_of_the_right_number_count_when_the_window_closes_before_they_are_confirmed() -> None:
    one, other = (sheet(Ask(PAIR, window_ms=1000)) for _ in range(2))
    for press in (click(5, 5, 100), click(90, 90, 200)):
        one.take(press)
    other.take(click(5, 5, 100))
    assert one.answer() == (0, 15)
    assert one.notes()["confirmed"] is False
    assert other.answer() is None


def test_a_pause_moves_the_end_of_the_window() -> None:
    one = sheet(Ask(NINE, window_ms=300))
    one.paused = 2.0
    assert one.take(key("3", 2200)) == "answer"


def test_lines_are_of_about_equal_length() -> None:
    text = "Click on the cells in any order; click again to take a mark away. Then click on Done or press Return."
    lines = balanced(text, 18, 700)
    assert len(lines) == 2
    assert " ".join(lines) == text
    lengths = [width(line, 18) for line in lines]
    assert max(lengths) <= 700
    assert min(lengths) > 0.7 * max(lengths)


def test_text_has_even_sides_so_that_it_lies_on_whole_pixels() -> None:
    for text in ("a", "A longer one", "W" * 30):
        picture = set_text((TextBlock(text, 17),), 400)
        assert picture.width % 2 == picture.height % 2 == 0
