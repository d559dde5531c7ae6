"""Numbers in documents are those of the software."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import statements
import yaml

from spanlab.paradigms import list_paradigms

ROOT = Path(__file__).resolve().parents[2]
#: a document, the words around a number, and what is counted
COUNTED: list[tuple[str, str, Callable[[], int]]] = [
    ("README.md", r"ships with (\d+) paradigms", lambda: len(list_paradigms())),
]
#: statements that the core, and all of the package, may have: whoever adds takes something away
CORE, PACKAGE = 41_000, 55_000
#: words of a guide, and of all documents that are written by hand
GUIDE, DOCUMENTS = 1_500, 75_000


class Menu(yaml.SafeLoader):
    """mkdocs.yml, of which only the menu is read."""


Menu.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


@pytest.mark.parametrize(("document", "words", "count"), COUNTED)
def test_a_document_counts_rightly(document: str, words: str, count: Callable[[], int]) -> None:
    (said,) = re.findall(words, (ROOT / document).read_text(encoding="utf-8"))
    assert int(said.replace(",", "")) == count()


def test_the_house_grows_no_further() -> None:
    rooms = statements.by_room(ROOT)
    extensions = sum(count for room, count in rooms.items() if room.partition("/")[0] == statements.EXTENSIONS)
    assert rooms.total() - extensions <= CORE
    assert rooms.total() <= PACKAGE


def pages_of(entries: object) -> list[str]:
    """The pages below an entry of the menu."""
    if isinstance(entries, str):
        return [entries]
    inside = entries.values() if isinstance(entries, dict) else entries
    return [page for entry in inside for page in pages_of(entry)]  # type: ignore[union-attr]


def words(document: str) -> int:
    return len((ROOT / document).read_text(encoding="utf-8").split())


MENU = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Menu)["nav"]
(GUIDES,) = (entry["Guides"] for entry in MENU if "Guides" in entry)


@pytest.mark.parametrize("guide", pages_of(GUIDES))
def test_a_guide_is_read_at_one_go(guide: str) -> None:
    assert words(f"docs/{guide}") <= GUIDE


def test_ten_questions_have_short_answers() -> None:
    answers = (ROOT / "docs" / "questions-of-newcomers.md").read_text(encoding="utf-8").split("\n## ")[1:]
    assert len(answers) == 10
    assert max(len(answer.split()) for answer in answers) <= 120


def test_documents_are_not_a_book() -> None:
    """Apart from pages that are made by scripts."""
    made = {path.name for path in (ROOT / "scripts" / "pages").glob("*.md")} | {"limited.md", "capacity.md"}
    written = [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/decisions/*.md"), *ROOT.glob("extensions/*/README.md")]
    written += [ROOT / "CONTRIBUTING.md", ROOT / "human_data" / "README.md", ROOT / "examples" / "plugin" / "README.md"]
    assert words("README.md") <= 900
    assert sum(words(str(path)) for path in written if path.name not in made) + words("README.md") <= DOCUMENTS


def links_of(document: Path) -> set[Path]:
    """The files to which a document links."""
    if document.suffix != ".md" or not document.exists():
        return set()
    targets = re.findall(r"\]\(([^)#\s:]+)(?:#[^)\s]*)?\)", document.read_text(encoding="utf-8"))
    return {(document.parent / target).resolve() for target in targets}


def test_all_that_the_readme_names_is_two_clicks_from_the_first_page() -> None:
    """The menu is on every page."""
    reached = links_of(ROOT / "docs" / "index.md") | {ROOT / "docs" / page for page in pages_of(MENU)}
    reached |= {target for page in reached for target in links_of(page)}
    assert links_of(ROOT / "README.md") - reached == {ROOT / "docs" / "images" / "vsr_serial_position.svg"}
