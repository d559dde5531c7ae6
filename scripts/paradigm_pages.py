"""Makes the site's page of each paradigm, and the wall of all of them.

python scripts/paradigm_pages.py [NAME ...]     writes docs/paradigm/, and what scripts/site_pages/trials.py writes
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path

import gallery
from site_pages import lines, people
from site_pages import trials as take_trials

import spanlab
from spanlab.analysis.figure_catalogue import FIGURES
from spanlab.core import SpanLabError
from spanlab.paradigms import Paradigm
from spanlab.paradigms.language.yaml_source import library_file as library_path
from spanlab.stimuli.render import picture

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "paradigm"
FIDELITY = FOLDER.parent / "fidelity.md"
#: pixels of a picture on the wall
_SMALL = 192
_WALL = """# Paradigms

{count} paradigms ship with SpanLab. A few trials of each can be taken here: nothing is installed, and nothing is sent.

"""

#: what a picture in a page carries and nobody sees there, half of its bytes
_UNSEEN = re.compile(r' (?:aria-[a-z]+|role|pointer-events)="[^"]*"| opacity="1"')


def curve(name: str) -> str:
    """Draw the first figure that a paradigm has, of N-back the one with chat models; return what it is called."""
    others = ["nback_published"] if gallery.paradigm_of(name).family == "N-back" else []
    for figure in [*others, *(one.name for one in FIGURES.on_page()), "conditions"]:
        with suppress(SpanLabError):
            to = FOLDER / f"{name}.svg"
            spanlab.figure(figure, take_trials.sessions(name), paradigm=name, output=to, width="180mm", title=False)
            drawn = to.read_text(encoding="utf-8")
            to.write_text(_UNSEEN.sub("", re.sub(r"(\d+\.\d\d)\d+", r"\1", drawn)), encoding="utf-8")
            return figure
    raise SystemExit(f"{name} has no figure")


def flaws(paradigm: Paradigm) -> str:
    """What is known to be wrong with the published trials, from the table of the document."""
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", FIDELITY.read_text(encoding="utf-8"), re.MULTILINE)
    family = paradigm.family or ""
    found = [
        f"* {fault} `corrected`: {mended}"
        for where, fault, mended in rows
        if f"`{paradigm.name}`" in where or (family == "N-back" and where.startswith("N-back"))
    ]
    found = [one for one in found if len(one) > 80]  # the table of sizes has numbers alone
    differs = "[Fidelity](../fidelity.md) has their sizes, and what else differs from the papers."
    none = "No fault of the published trials is known. [Fidelity](../fidelity.md) says what differs from the papers."
    return "\n".join(found) + f"\n\n{differs}" if found else none


def page(name: str) -> str:
    """What there is to know of a paradigm, and how to run it."""
    paradigm = gallery.paradigm_of(name)
    source = library_path(name)
    figure, trials = curve(name), take_trials.length(paradigm)
    assert source is not None
    parts = [
        f"# {paradigm.title}",
        gallery.about(name),
        f"[Take a few trials](../take/{name}.html){{ .md-button .md-button--primary }}",
        f"![One trial, display by display](../images/gallery/{name}.png)",
        "## Who remembers what",
        f"![{figure.replace('_', ' ')}: machines, and published people or chat models where there are any]({name}.svg)",
        f"Each machine took the same {trials}. Bars are 95 % intervals over these. Hollow points are published: means"
        " of people, or chat models, who took other trials. The dotted line is guessing. Observers knew the answers.",
        *people.curves(name, FOLDER),
        "## Flaws",
        flaws(paradigm),
        "## Run it",
        f"```console\n$ spanlab run {name} --participant p01\n$ spanlab replay {name} --agent network:laptop"
        f"\n$ spanlab replay {name} --agent chat:MODEL@PROVIDER\n$ spanlab compare data\n```",
        "## The file",
        "This is the whole paradigm. [Writing a paradigm](../paradigms.md) explains every key.",
        lines.explained(source.read_text(encoding="utf-8")),
    ]
    return "\n\n".join(parts) + "\n"


def thumbnail(name: str) -> None:
    """The first display in which something is to be remembered."""
    trial = gallery.shown(name)
    step = next((step for step in trial.steps if step.percept.model_step), trial.steps[0])
    picture(step.percept.for_machine.stimulus.scene(), _SMALL).save(FOLDER / f"{name}.png", optimize=True)


def wall(names: Sequence[str]) -> str:
    """All paradigms, family by family."""
    text, family = _WALL.format(count=len(names)), None
    for name in names:
        paradigm: Paradigm = gallery.paradigm_of(name)
        if paradigm.family != family:
            text += ("</div>\n\n" if family is not None else "") + f'## {paradigm.family}\n\n<div class="wall">\n'
            family = paradigm.family
        image = f'<img src="{name}.png" alt="" width="{_SMALL}" height="{_SMALL}" loading="lazy">'
        text += f'<a href="{name}.html">{image}<span>{paradigm.title}</span></a>\n'
    return text + "</div>\n"


def make(name: str) -> None:
    """Write all that the site has of one paradigm."""
    take_trials.write_files(take_trials.taken(name))
    (FOLDER / f"{name}.md").write_text(page(name), encoding="utf-8")
    thumbnail(name)


def main(names: Sequence[str]) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    take_trials.FOLDER.mkdir(parents=True, exist_ok=True)
    take_trials.bundle()
    with ProcessPoolExecutor() as pool:
        list(pool.map(make, names or gallery.in_order()))
    made = [name for name in gallery.in_order() if (FOLDER / f"{name}.md").exists()]
    (FOLDER / "index.md").write_text(wall(made), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
