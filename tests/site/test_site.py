"""The documentation as a site: it is built without a warning, every link leads somewhere, nothing
comes from elsewhere, and its search works from the disk."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import pytest
from chromium import visited
from typing_extensions import override

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("material") is None, reason="the extra docs is not installed"),
]


@dataclass
class Page(HTMLParser):
    """What a page links to, what it loads, and the places in it that can be linked to."""

    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    places: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.places |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "link" and values.get("rel") in ("stylesheet", "icon", "preload", "preconnect"):
            self.loads.append(values["href"])
        elif "src" in values:
            self.loads.append(values["src"])


def build(configuration: Path, out: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(configuration), "-d", str(out)]
    return subprocess.run(
        command, cwd=out.parent, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site") / "built"
    subprocess.run([sys.executable, ROOT / "scripts" / "docs.py"], check=True)
    shown = re.findall(r"\(paradigm/(\w+)\.svg\)", (ROOT / "docs" / "index.md").read_text(encoding="utf-8"))
    subprocess.run([sys.executable, ROOT / "scripts" / "paradigm_pages.py", *shown], check=True)
    done = build(ROOT / "mkdocs.yml", out)
    assert done.returncode == 0, done.stderr[-3000:]
    return out


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    """Every page that the site makes; pages of reports, which documents show as they are, have
    tests of their own."""
    found = {}
    for path in site.rglob("*.html"):
        if "reproduction" not in path.parts:
            found[path] = page = Page()
            page.feed(path.read_text(encoding="utf-8"))
    return found


def test_every_link_leads_somewhere(site: Path, pages: dict[Path, Page]) -> None:
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or path.name == "404.html":
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            placed = pages.get(target)
            if not target.is_file() or (
                parts.fragment and placed is not None and unquote(parts.fragment) not in placed.places
            ):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert sum(len(page.links) for page in pages.values()) > 3000
    assert broken == []


def test_every_document_is_a_page_and_in_the_menu(site: Path, pages: dict[Path, Page]) -> None:
    there = {path.stem for path in (ROOT / "docs").glob("*.md")} | {"changelog", "contributing"}
    assert {path.stem for path in pages if path.parent == site} == there | {"404"}
    assert there <= {Path(urlsplit(link).path).stem or "index" for link in pages[site / "commands.html"].links}
    assert (site / "source" / "agents" / "base.py.html").exists()


def test_nothing_comes_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    """Neither fonts nor scripts nor pictures: a page can be read without a network, and nobody
    learns that it is read."""
    assert not {
        load
        for page in pages.values()
        for load in page.loads
        if urlsplit(load).scheme not in ("", "data") or load.startswith("//")
    }
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert not re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", styles)


def test_the_first_page_and_the_site_are_light(site: Path) -> None:
    text = (site / "index.html").read_text(encoding="utf-8")
    parts = {site / name for name in re.findall(r'(?:src|href)="([^":#?]+\.(?:css|js|svg|png|webp|gif))"', text)}
    assert len(text.encode()) + sum(part.stat().st_size for part in parts) <= 500_000
    assert sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) <= 40_000_000


def test_search_tables_and_headings_are_there_for_those_who_do_not_see_or_point(site: Path) -> None:
    text = (site / "analysis.html").read_text(encoding="utf-8")
    assert 'role="dialog" aria-label="Search"' in text
    assert "box.tabIndex = 0" in text
    assert not re.search(r"<th>\s*</th>", text)


def test_a_dead_link_is_no_site(tmp_path: Path) -> None:
    """Which shows that the build above would have failed."""
    for name in ("docs", "scripts", "CHANGELOG.md", "CONTRIBUTING.md", "mkdocs.yml"):
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, tmp_path / name)
    for name in ("start.md", "hour.md"):
        with (tmp_path / "docs" / name).open("a", encoding="utf-8") as file:
            file.write("\n[Nowhere](nowhere.md) and [no place](glossary.md#nowhere).\n")
    done = build(tmp_path / "mkdocs.yml", tmp_path / "built")
    assert done.returncode != 0
    assert "nowhere.md" in done.stderr
    assert "'glossary.md#nowhere'" in done.stderr


def visit(page: str, profile: Path) -> str:
    """What a browser has made of a page that it opened from the disk, without a network."""
    done = visited(page, profile)
    assert [line for line in done.stderr.splitlines() if "CONSOLE" in line] == []
    return done.stdout


#: what newcomers ask, and a page that answers it
ASKED = {
    "own table": "exchange",
    "own images": "media",
    "own words": "questions-of-newcomers",
    "my own network": "networks",
    "vllm server": "servers",
    "eye tracker": "questions-of-newcomers",
    "eeg": "triggers",
    "prolific": "recruiting",
    "exclude participants": "questions-of-newcomers",
    "power": "questions-of-newcomers",
    "citation": "citing",
}


@pytest.mark.parametrize("asked", ASKED)
def test_search_finds_what_newcomers_ask(site: Path, tmp_path: Path, asked: str) -> None:
    """Among the first four pages, and from the disk."""
    page = visit(f"{(site / 'index.html').as_uri()}?q={quote(asked)}", tmp_path)
    found = re.findall(r'href="[^"]*?([\w-]+)\.html', page.partition("md-search-result__list")[2])
    assert ASKED[asked] in [*dict.fromkeys(found)][:4]


def test_a_list_for_programs_names_every_page_of_the_menu(site: Path, pages: dict[Path, Page]) -> None:
    lines = re.findall(r"^- \[[^\]]+\]\(([^)]+)\)(: .+)?$", (site / "llms.txt").read_text("utf-8"), re.MULTILINE)
    assert {name for name, _ in lines} >= {path.name for path in pages if path.parent == site} - {"404.html"}
    assert [name for name, said in lines if not said] == []


def test_pages_fit_a_phone(site: Path, tmp_path: Path) -> None:
    """No page is wider than a window of 390 pixels: tables and code scroll by themselves."""
    names = [
        "index",
        "start",
        "hour",
        "glossary",
        "commands",
        "functions",
        "paradigms",
        "chat",
        "chat-reading",
        "statistics",
        "gallery",
        "record",
    ]
    frames = "".join(f"<iframe src='{name}.html' width=390 height=800></iframe>" for name in names)
    copied = tmp_path / "built"
    shutil.copytree(site, copied)
    for name in names:
        page = copied / f"{name}.html"
        asked = (
            f"<script>addEventListener('load', () => parent.postMessage(['{name}',"
            " document.documentElement.scrollWidth], '*'))</script></body>"
        )
        page.write_text(page.read_text(encoding="utf-8").replace("</body>", asked), encoding="utf-8")
    listener = (
        "addEventListener('message', (event) => { document.getElementById('said').textContent += event.data.join(' ') +"
        " ';' })"
    )
    said = f"<pre id=said></pre><script>{listener}</script>"
    (copied / "phone.html").write_text(f"<!doctype html><body>{said}{frames}", encoding="utf-8")
    found = re.search(r'<pre id="said">(.*?)</pre>', visit((copied / "phone.html").as_uri(), tmp_path / "profile"))
    assert found is not None
    widths = dict(one.split(" ") for one in found[1].split(";") if one)
    assert widths.keys() == set(names)
    assert max(map(int, widths.values())) <= 390, widths
