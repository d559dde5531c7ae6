"""What ``mkdocs build`` does besides: documents link to files of the repository, and the site has
those, too.

A link that leads out of ``docs/`` gets a page ``source/PATH`` with the text of the file, or with
the list of a folder's files. The changes and the notes for contributors lie at the root of the
repository and are pages of the site. ``llms.txt`` at the site's root lists all pages of the menu, each
with its first sentence.
"""

from __future__ import annotations

import base64
import json
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.structure.files import Files

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
#: documents of the root, as pages
ROOT_PAGES = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
_LINK = re.compile(r"(?<=\]\()(?P<target>[^)#\s:]+)(?P<anchor>#[^)\s]*)?(?=\))")
_COMMENT = re.compile(r"^<!--.*?-->$", re.MULTILINE)
_LEXERS = {
    ".py": "python",
    ".yaml": "yaml",
    ".toml": "toml",
    ".cff": "yaml",
    ".R": "r",
    ".md": "markdown",
    ".ipynb": "json",
}
#: longer lists of files and longer files are not shown
_MOST = 200_000
#: the first sentence of each page, once it has been read
_FIRST: dict[str, str] = {}
_MENU: list[Any] = []
_NOT_PROSE = re.compile(
    r"```.*?```|<!--.*?-->|^[#|!<*-].*?$|^\[[^\]]*\]\([^)]*\)\{.*$|^\d+\..*?$", re.DOTALL | re.MULTILINE
)


#: The theme puts tables into boxes that scroll when they are first seen.
_SCROLLS = """new MutationObserver(() => {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) box.tabIndex = 0;
}).observe(document.body, {childList: true, subtree: true});"""
_SECTION = re.compile(
    r'<label class="md-nav__link" for="\w+" id="(\w+)"[^>]*>\s*<span class="md-ellipsis">\s*([^<]+?)\s*<'
)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that do not lie in ``docs/``."""
    from mkdocs.structure.files import File

    pages = {page: (ROOT / document).read_text(encoding="utf-8") for document, page in ROOT_PAGES.items()}
    wanted = {
        path for document in [*DOCS.glob("*.md"), *(ROOT / name for name in ROOT_PAGES)] for path in _outside(document)
    }
    for path in sorted(wanted):
        members = _members(path) if path.is_dir() else []
        pages[_page_of(path)] = _listing(path, members) if path.is_dir() else _text_of(path)
        pages.update({_page_of(member): _text_of(member) for member in members})
    for uri, text in pages.items():
        files.append(File.generated(config, uri, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links to pages of this site, and leave out comments: what is below one is a block of its
    own."""
    uri = page.file.src_uri
    _FIRST[uri] = first_sentence(markdown)
    if uri.startswith("source/"):
        return markdown
    folder = ROOT if uri in ROOT_PAGES.values() else DOCS
    return _LINK.sub(lambda found: _lead(found, folder), _COMMENT.sub("", markdown))


def first_sentence(markdown: str) -> str:
    """The first sentence of a page's text, without its links and emphasis."""
    prose = re.sub(r"\[([^\]]*)\]\([^)]*\)|[*`]", r"\1", _NOT_PROSE.sub("", markdown))
    text = " ".join(prose.strip().partition("\n\n")[0].split())
    return re.split(r"(?<=[.?!])\s", text)[0].rstrip(":")


def on_post_page(output: str, **_: Any) -> str:
    """What the theme leaves out for people who do not see or point: the names of its search and of its menus,
    headings of columns that are none, and tables that scroll by the keyboard."""
    named = output.replace(
        'data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"'
    )
    for label, section in _SECTION.findall(named):
        named = named.replace(f'aria-labelledby="{label}"', f'aria-label="{section}"')
    return re.sub(r"<th>\s*</th>", "<td></td>", named).replace("</body>", f"<script>{_SCROLLS}</script></body>")


def on_nav(nav: Any, **_: Any) -> None:
    """Remember the menu for ``llms.txt``."""
    _MENU[:] = nav.items


def on_post_build(config: Any) -> None:
    """Write ``llms.txt``: what there is to read, for programs that read."""
    lines = [f"# {config.site_name}", "", f"> {config.site_description}", "", *_listed(_MENU, 2)]
    (Path(config.site_dir) / "llms.txt").write_text(
        re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n", encoding="utf-8"
    )


def _listed(entries: list[Any], level: int) -> list[str]:
    """A line for each page of the menu, a heading for each section."""
    lines: list[str] = []
    for entry in entries:
        if entry.children:
            lines += ["", f"{'#' * level} {entry.title}", "", *_listed(entry.children, level + 1)]
        else:
            said = _FIRST.get(entry.file.src_uri, "")
            lines.append(f"- [{entry.title}]({entry.url})" + (f": {said}" if said else ""))
    return lines


def _lead(found: re.Match[str], folder: Path) -> str:
    """A link of a document in ``folder``, for a page at the root of the site."""
    path, anchor = (folder / found["target"]).resolve(), found["anchor"] or ""
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS).as_posix() + anchor
    if path.is_relative_to(ROOT) and path.exists():
        return _page_of(path) + anchor
    return found[0]


def _outside(document: Path) -> list[Path]:
    """The files and folders of the repository, but not of ``docs/``, that a document links to."""
    targets = [
        (document.parent / found["target"]).resolve() for found in _LINK.finditer(document.read_text(encoding="utf-8"))
    ]
    return [
        path
        for path in targets
        if path.is_relative_to(ROOT) and not path.is_relative_to(DOCS) and path.exists() and path.name not in ROOT_PAGES
    ]


def _page_of(path: Path) -> str:
    """The page of a file or folder of the repository."""
    name = path.relative_to(ROOT).as_posix()
    return ROOT_PAGES.get(name) or f"source/{name}{'/index.md' if path.is_dir() else '.md'}"


def _members(folder: Path) -> list[Path]:
    """The texts that lie in a folder."""
    return sorted(path for path in folder.iterdir() if path.suffix in _LEXERS and path.stat().st_size < _MOST)


def _text_of(path: Path) -> str:
    """A page with the text of a file, in a fence that is longer than any in it; a notebook as its
    cells."""
    if path.suffix == ".ipynb":
        return _HEAD + "\n\n".join(_cell(cell) for cell in json.loads(path.read_text(encoding="utf-8"))["cells"])
    text = path.read_text(encoding="utf-8")
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall(r"^`{3,}", text, re.MULTILINE))])
    return (
        f"{_HEAD}#"
        f" {path.relative_to(ROOT).as_posix()}\n\n{fence}{_LEXERS.get(path.suffix, 'text')}\n{text.rstrip()}\n{fence}\n"
    )


def _cell(cell: dict[str, Any]) -> str:
    text = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return text
    outputs = [_shown(output["data"]) for output in cell["outputs"] if "data" in output]
    return "\n\n".join([f"```python\n{text}\n```", *outputs])


def _shown(data: dict[str, Any]) -> str:
    """An output of a notebook in its richest form: a picture, a table, or text."""
    said = {kind: "".join(value) for kind, value in data.items()}
    if "image/svg+xml" in said:
        coded = base64.b64encode(said["image/svg+xml"].encode()).decode()
        return f'<p><img alt="" src="data:image/svg+xml;base64,{coded}"></p>'
    if "image/png" in said:
        return f'<p><img alt="" src="data:image/png;base64,{"".join(said["image/png"].split())}"></p>'
    if "text/html" in said:
        html = re.sub(r"<style.*?</style>", "", said["text/html"], flags=re.DOTALL)
        return '<div class="output">' + re.sub(r"\n\s*", "", html) + "</div>"
    return f"```text\n{said['text/plain']}\n```"


def _listing(folder: Path, members: list[Path]) -> str:
    here = posixpath.dirname(_page_of(folder))
    lines = [f"* [{path.name}]({posixpath.relpath(_page_of(path), here)})\n" for path in members]
    return f"{_HEAD}# {folder.relative_to(ROOT).as_posix()}\n\n{''.join(lines)}"


#: these pages are found by links; searches are for documents
_HEAD = "---\nsearch: {exclude: true}\n---\n\n"
