"""What the pages of the two papers say: each sentence that judges is declared."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Run
from docs_verdicts import declared
from verdict_words import EXPLANATIONS, Page, undeclared

pytestmark = pytest.mark.slow
#: what the pages explain, in words that elsewhere judge
OF_THE_PAGES = (
    "interval was different",
    "These hold settings and code against the paper",
    "Counts of blocks: two countings of the raw answers agree",
    "the means in it are held against print in the table above",
    "as published, to the last printed digit, or within a margin that was fixed before",
    "differs: the difference is given",
    "same as published",
    "A network of a published make must first be above the best blind guess in the task",
    "Its score is the same if the whole interval is within a margin of the printed value",
    "The decisions themselves, for which nothing need be held, are not among the",
    (
        "trials here follow the same rules, and at scale 1 their frames are those of the published code to the pixel,"
        " which tests hold"
    ),
    (
        "so that their scores hang on people's curves and on the definitions alone; where the model was not quite"
        " there, or means were taken otherwise, the last digits differ"
    ),
    "number of cells in which the two differ",
    "Training one as published takes … million trials",
    "people as published; the curves",
)


@pytest.mark.parametrize(
    "typed", ["reproduce nback -o page --agent chance --trials 2", "reproduce worm -o page --agent chance --trials 16"]
)
def test_what_a_page_says_judges_only_as_declared(typed: str, tmp_path: Path, run: Run) -> None:
    status, out, err = run(*typed.split())
    assert status == 0, err
    said = [sentence for _, rule in declared() for sentence in rule.says]
    page = Page((tmp_path / "page" / "index.html").read_text(encoding="utf-8")).text
    assert undeclared("\n".join([out, err, page]), [*said, *EXPLANATIONS, *OF_THE_PAGES]) == []
