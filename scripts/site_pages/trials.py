"""Makes the pages of the site on which a few trials of each paradigm can be taken, without a server.

``scripts/paradigm_pages.py`` writes them into ``docs/take/``.

Others take the same trials; their sessions are kept in ``runs/site/``, so that a second run makes the pages at once.
The player is that of the browser laboratory, bundled with ``recorded.js`` in the place of its line to a server. Each
paradigm has two files: what is shown (``NAME.trials.js``), and what is right (``NAME.right.js``), which the page asks
for when the first answer is to be judged.
"""

from __future__ import annotations

import base64
import io
import itertools
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import page_tools
import pandas as pd
from PIL import Image

import spanlab
from spanlab.core import SpanLabError
from spanlab.extensions.browser.participant.frames import FrameStore, TrialPictures
from spanlab.extensions.browser.participant.messages import COLOURS_OF_PAGES, paragraphs, trial_message, words
from spanlab.paradigms import Paradigm, Step, Trial, compile_trial, load_paradigm

OURS = Path(__file__).resolve().parent
ROOT = OURS.parent.parent
FOLDER = ROOT / "docs" / "take"
#: sessions of those who take the same trials, one folder for each paradigm
SESSIONS = ROOT / "runs" / "site"
PAGE = ROOT / "extensions" / "browser" / "participant" / "page"
KIT = ROOT / "core" / "kit"
#: pixels of a canvas; pages show it as large as there is room
SIZE_PX = 480
#: trials that a visitor takes, and trials of the sessions that they are the first of
FEW, TRIALS, SEED = 5, 60, 11
#: blocks of questions: one is enough for a visitor, and so many make a session
BLOCKS = 8
#: who took the same trials, and what a page calls them
OTHERS = {
    "chance": "Guessing",
    "capacity:3": "An observer who keeps three items",
    "network:laptop": "A small network ({agent})",
}


@dataclass(frozen=True)
class Taken:
    """Trials, and what others made of them."""

    paradigm: Paradigm
    trials: Sequence[Trial]
    others: Mapping[str, str]


def in_blocks(paradigm: Paradigm) -> bool:
    """Whether a trial is a block of questions."""
    return paradigm.family == "N-back"


def length(paradigm: Paradigm) -> str:
    """The length of a session, in words."""
    return f"{BLOCKS} blocks" if in_blocks(paradigm) else f"{TRIALS} trials"


def sessions(name: str) -> Path:
    """The folder with the sessions of those who take a paradigm here; they take it now where they have not yet."""
    folder = SESSIONS / name
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        many = BLOCKS if in_blocks(load_paradigm(name)) else TRIALS
        first = spanlab.replay(name, agent="chance", trials=many, seed=SEED, data=folder)
        for agent in OTHERS.keys() - {"chance"}:
            with suppress(SpanLabError):  # not everybody can take every paradigm
                spanlab.replay(agent=agent, like=first.folder, data=folder)
        (folder / "complete").touch()
    return folder


def taken(name: str) -> Taken:
    """A few trials of a paradigm, with the answers of those who take them here."""
    folder, paradigm = sessions(name), load_paradigm(name)
    plans = [json.loads(file.read_text(encoding="utf-8")) for file in folder.glob("*/session.json")]
    plan = next(one["plan"] for one in plans if one["agent"] == "chance")
    trials = [compile_trial(paradigm, entry["levels"], entry["seed"]) for entry in plan if not entry.get("practice")]
    trials = trials[: 1 if in_blocks(paradigm) else FEW]
    answers = spanlab.read_responses(folder)
    answers = answers[answers["trial_id"].isin([trial.trial_id for trial in trials])]
    others = {
        OTHERS[taker].format(agent=str(agent).removeprefix("network:")): in_words(rows)
        for taker in reversed(OTHERS)
        for agent, rows in answers.groupby("agent")
        if str(agent).partition(":")[0] == taker.partition(":")[0]
    }
    return Taken(paradigm, trials, others)


def in_words(rows: pd.DataFrame) -> str:
    """How answers went, in the words of the page's own results."""
    if "error_deg" in rows and rows["error_deg"].notna().any():
        errors = rows["error_deg"].dropna().abs()
        return f"{errors.mean():.0f}° off on average, of {len(errors)}"
    scored = rows["correct"].dropna()
    return f"{scored.sum():.0f} of {len(scored)} right ({100 * scored.mean():.0f} %)"


def right(trial: Trial) -> dict[int, dict[str, Any]]:
    """What is right, by the number of the step."""
    known: dict[int, dict[str, Any]] = {}
    for number, step in enumerate(trial.steps):
        ask, answer = step.percept.ask, step.truth.answer
        if ask is None or not ask.scored or answer is None:
            continue
        surface = ask.kind.surface()
        known[number] = {
            "answer": list(ask.kind.values_of(answer)) if surface.several else answer,
            "none": ask.no_answer_means,
            "degrees": None if surface.dial is None else surface.dial.degrees,
        }
    return known


def verdicts(steps: Sequence[Step]) -> dict[int, list[str]]:
    """The verdicts after which something of its own is shown, in the order of what is shown."""
    return {number: list(step.feedback) for number, step in enumerate(steps) if step.feedback is not None}


def recording(taken: Taken) -> dict[str, Any]:
    """All that the page shows."""
    paradigm, language = taken.paradigm, "en"
    frames = FrameStore()
    pictures: dict[str, str] = {}
    trials: list[dict[str, Any]] = []
    number = itertools.count()
    for trial in taken.trials:
        made = TrialPictures(frames, SIZE_PX, "published", name=lambda: f"p{next(number)}")
        message = trial_message([step.percepts for step in trial.steps], made, language, 800)
        one_of = {}  # equal pictures are kept once
        for name, future in made.pictures.items():
            data = small(future.result())
            one_of[name] = next((known for known, kept in pictures.items() if kept == data), name)
            pictures.setdefault(one_of[name], data)
        trials.append(renamed(message, one_of))
    instructions = paradigm.instructions_in(language, taken.trials[0].levels, for_people=True)
    manner = {"language": language, "words": words(language), "colours": COLOURS_OF_PAGES}
    start = "These trials are taken here, on this page. Nothing is sent to anybody, or kept."
    manner["words"] = {**manner["words"], "start_body": start}
    return {
        "title": paradigm.title,
        "start": {"title": paradigm.title, "identifiers": [], "needed": False, "keep": [], "wishes": [], **manner},
        "manner": manner,
        "instructions": {
            "title": paradigm.title, "text": paragraphs(instructions), "footer": "", "example": None, "after": [],
            "progress": None, "least": 0, "options": [],
        },
        "trials": trials,
        "verdicts": [verdicts(trial.steps) for trial in taken.trials],
        "pictures": pictures,
        "right": f"{paradigm.name}.right.js",
        "home": f"../paradigm/{paradigm.name}.html",
        "others": [{"who": who, "said": said} for who, said in taken.others.items()],
    }  # fmt: skip


def small(png: bytes) -> str:
    """A picture in as few bytes as it takes with the same pixels, as text."""
    with Image.open(io.BytesIO(png)) as image:
        few = image.convert("RGBA") if image.mode == "RGBA" else image.convert("RGB")
        if few.mode == "RGB" and (found := few.getcolors(256)) is not None and len(found) <= 256:
            few = few.quantize(len(found), dither=Image.Dither.NONE)
        out = io.BytesIO()
        few.save(out, "PNG", optimize=True)
    return base64.b64encode(min(out.getvalue(), png, key=len)).decode()


def renamed(message: Any, names: Mapping[str, str]) -> Any:
    """A message with other names of pictures."""
    if isinstance(message, dict):
        return {
            key: names.get(value, value) if key in ("frame", "ring", "overlay") else renamed(value, names)
            for key, value in message.items()
        }
    return [renamed(value, names) for value in message] if isinstance(message, list) else message


def bundle() -> None:
    """The player, as one script that also runs where the site lies on a disk."""
    esbuild, node = page_tools.tool("esbuild"), page_tools.node()
    if esbuild is None or node is None:
        raise SystemExit("esbuild is not there: .venv/bin/python scripts/page_tools.py install")
    with tempfile.TemporaryDirectory() as folder:
        for file in [*PAGE.glob("*.js"), KIT / "kit.js"]:
            shutil.copy(file, folder)
        shutil.copy(OURS / "recorded.js", Path(folder) / "link.js")
        command = [node, str(esbuild / "bin" / "esbuild"), f"{folder}/main.js", "--bundle", "--minify", "--format=iife"]
        subprocess.run([*command, "--log-level=warning", f"--outfile={FOLDER / 'player.js'}"], check=True)
    styles = "\n".join(
        file.read_text(encoding="utf-8") for file in (KIT / "kit.css", PAGE / "page.css", OURS / "take.css")
    )
    (FOLDER / "player.css").write_text(re.sub(r"@font-face \{.*?\}\n", "", styles), encoding="utf-8")


def page(name: str, title: str) -> str:
    """The page of a paradigm: the laboratory's, with the trials beside it."""
    body = (PAGE / "index.html").read_text(encoding="utf-8").partition("<body>\n")[2].partition("\n</body>")[0]
    text = (OURS / "take.html").read_text(encoding="utf-8")
    return text.replace("{title}", f"{title}: take a few trials").replace("{name}", name).replace("{body}", body)


def write_files(made: Taken) -> None:
    """Write the files of one paradigm."""
    name = made.paradigm.name
    shown = json.dumps(recording(made), separators=(",", ":"), ensure_ascii=False)
    truth = json.dumps([right(trial) for trial in made.trials], separators=(",", ":"))
    (FOLDER / f"{name}.trials.js").write_text(f"window.spanlabTrials = {shown};\n", encoding="utf-8")
    (FOLDER / f"{name}.right.js").write_text(f"window.spanlabRight = {truth};\n", encoding="utf-8")
    (FOLDER / f"{name}.html").write_text(page(name, made.paradigm.title), encoding="utf-8")
