"""Draws the pictures of the gallery: one trial of every paradigm, as ``spanlab show`` draws it,
small enough for a web page.

    python scripts/gallery.py            draws those that are missing or show another trial than they should
    python scripts/gallery.py --all      draws all of them, after a change of how trials are drawn
    python scripts/gallery.py --check    says which are missing, out of date, or of no paradigm, and exits with 1 when there are any

What a picture shows is written in the file, as a hash of all displays, times and answers. The page
around the pictures is filled in by ``scripts/docs.py``.
"""  # noqa: E501

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, PngImagePlugin

from spanlab.paradigms import Paradigm, Trial, compile_trial, list_paradigms, load_paradigm
from spanlab.paradigms.identity import digest
from spanlab.paradigms.language.yaml_source import library_file as library_path
from spanlab.paradigms.preview.sheet import frames_of, trial_picture

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "images" / "gallery"
WIDTH = 1600
#: Of the palette of each picture: colours taken as they are, and colours between them.
EXACT, COLOURS = 48, 80
#: Families of paradigms, in the order of the page.
FAMILIES = ("WorM", "WorM variants", "N-back", "Continuous report", "Span tests", "Recognition", "Cognitive control")
_BLOCK = {"n": 2, "lures": "low", "block_length": 24}
#: For every paradigm the levels and the seed of the trial that is shown.
SHOWN: dict[str, tuple[dict[str, Any], int]] = {
    "cd": ({"feature": "colour", "set_size": 4, "retention_steps": 6}, 2),
    "cd_noise": ({"feature": "orientation", "set_size": 4, "retention_steps": 6}, 2),
    "continuous_colour": ({"set_size": 3}, 2),
    "continuous_orientation": ({"set_size": 3}, 2),
    "corsi": ({"direction": "forward", "list_length": 4}, 1),
    "cs": ({"storage": "spatial", "distractor_domain": "visual", "load": 3}, 1),
    "axcpt": ({"trial_type": "BX", "delay_ms": 1000}, 1),
    "flanker": ({"flankers": "incongruent"}, 1),
    "keep_track": ({"set_size": 2}, 1),
    "retro_cue": ({"cue": "valid", "set_size": 4}, 1),
    "task_switching": ({"cue_ms": 100}, 1),
    "two_lists": ({"probe_kind": "intrusion", "relevant_length": 3, "irrelevant_length": 3, "cue_ms": 600}, 1),
    "delayed_match": ({"retention_steps": 2, "difference": 6}, 1),
    "digit_span": ({"direction": "backward", "list_length": 4}, 1),
    "lsr": ({"list_length": 5}, 1),
    "lsr_long": ({"list_length": 12}, 1),
    "lsr_published": ({"list_length": 5}, 1),
    "lsr_published_long": ({"list_length": 12}, 1),
    "nback_abstraction": (_BLOCK, 1),
    "nback_abstraction_strict": (_BLOCK, 1),
    "nback_spatial": ({**_BLOCK, "grid": 5}, 1),
    "nback_spatial_feedback": (_BLOCK, 1),
    "nback_spatial_noise": (_BLOCK, 1),
    "nback_spatial_reasoning": (_BLOCK, 1),
    "nback_verbal": (_BLOCK, 1),
    "nback_verbal_feedback": (_BLOCK, 1),
    "nback_verbal_noise": (_BLOCK, 1),
    "nback_verbal_reasoning": (_BLOCK, 1),
    "operation_span": ({"list_length": 3}, 1),
    "running_span": ({"set_size": 4}, 1),
    "sc": ({"list_length": 10}, 1),
    "sfr": ({"list_length": 8}, 1),
    "si": ({"part_size": 3}, 1),
    "smu": ({"set_size": 4}, 1),
    "sternberg": ({"set_size": 3}, 1),
    "sts": ({"switch_probability": 0.2}, 3),
    "sts_congruency": ({"switch_probability": 0.2, "congruent_share": 0.25}, 1),
    "symmetry_span": ({"list_length": 3}, 1),
    "vir": ({"list_length": 4, "retention_steps": 2}, 1),
    "vsr": ({"list_length": 4}, 1),
    "vsrec": ({"list_length": 4, "pattern_distractor_difference": 6}, 1),
}


@cache
def paradigm_of(name: str) -> Paradigm:
    """A paradigm of the library, read once."""
    return load_paradigm(name)


def shown(name: str) -> Trial:
    """The trial in the picture."""
    if name not in SHOWN:
        raise SystemExit(f"scripts/gallery.py does not say which trial of '{name}' to show: add it to SHOWN")
    levels, seed = SHOWN[name]
    return compile_trial(paradigm_of(name), levels, seed)


def content(name: str) -> str:
    """A hash of what the picture shows."""
    trial = shown(name)
    frames = [
        [
            frame.phase,
            frame.after,
            frame.time,
            frame.people_only,
            [type(frame.stimulus).name, frame.stimulus.model_dump(mode="json")],
            None if frame.ask is None else [frame.ask.kind.question(), frame.answer],
        ]
        for frame in frames_of(trial)
    ]
    return digest([paradigm_of(name).title, trial.trial_id, frames], length=32)


def command(name: str) -> str:
    """What to type for the picture, larger."""
    levels, seed = SHOWN[name]
    settings = "".join(f" --set {factor}={level}" for factor, level in levels.items())
    return f"spanlab show {name}{settings} --seed {seed} -o {name}.png"


def draw(name: str) -> None:
    """Write the picture of a paradigm."""
    page = trial_picture(shown(name), paradigm_of(name))
    about = PngImagePlugin.PngInfo()
    about.add_text("content", content(name))
    FOLDER.mkdir(parents=True, exist_ok=True)
    _small(page).save(FOLDER / f"{name}.png", optimize=True, pnginfo=about)


def _small(page: Image.Image) -> Image.Image:
    """A smaller picture with a palette, in which the colours of large areas and of text are exact."""
    small = page.resize((WIDTH, round(page.height * WIDTH / page.width)), Image.Resampling.LANCZOS)
    found = page.getcolors(page.width * page.height) or []
    exact = [colour for _, colour in sorted(found, key=lambda one: one[0], reverse=True)[:EXACT]]
    between = small.quantize(COLOURS, method=Image.Quantize.MEDIANCUT).getpalette() or []
    palette = np.array([*exact, *zip(*[iter(between)] * 3, strict=True)], np.int32)
    # The nearest colours by hand: Pillow's own search leaves out the last bits, and white would be
    # gray.
    packed, where = np.unique(np.asarray(small, np.int32) @ [1 << 16, 1 << 8, 1], return_inverse=True)
    colours = packed[:, None] >> [16, 8, 0] & 255
    nearest = np.concatenate(
        [
            ((part[:, None] - palette) ** 2).sum(2).argmin(1)
            for part in np.array_split(colours, 1 + len(colours) // 4096)
        ]
    )
    few = Image.fromarray(nearest[where.reshape(-1)].astype(np.uint8).reshape(small.height, small.width))
    few.putpalette(palette.astype(np.uint8).tobytes())
    return few


def stale(name: str) -> str | None:
    """What is wrong with the picture of a paradigm, or None."""
    file = FOLDER / f"{name}.png"
    if not file.exists():
        return "missing"
    with Image.open(file) as picture:
        return None if picture.info.get("content") == content(name) else "out of date"


def left_over() -> list[str]:
    """Pictures of no paradigm."""
    return sorted(file.name for file in FOLDER.glob("*") if file.stem not in list_paradigms() or file.suffix != ".png")


# the page -----------------------------------------------------------------------------------------


def in_order() -> list[str]:
    """All paradigms, family by family."""
    families = {name: paradigm_of(name).family for name in list_paradigms()}
    return [
        name
        for family in (*FAMILIES, *sorted({str(family_name) for family_name in families.values()} - {*FAMILIES}))
        for name in families
        if str(families[name]) == family
    ]


def about(name: str) -> str:
    """What the line at the top of a paradigm's file says beyond its title."""
    file = library_path(name)
    first = "" if file is None else file.read_text(encoding="utf-8").partition("\n")[0]
    if not first.startswith("# "):
        raise SystemExit(f"{name}.yaml does not begin with a line that says what it is (# ...)")
    line = first.removeprefix("# ").partition(" One trial is a block")[0]
    said = line.partition(": ")[2] or line
    return said[0].upper() + said[1:]


def page() -> str:
    """Every paradigm with its line, its picture and what to type for it."""
    text, family = "", None
    for name in in_order():
        paradigm = paradigm_of(name)
        if paradigm.family != family:
            family = paradigm.family
            text += f"## {family}\n\n"
        text += (
            f"### {paradigm.title}\n\n{about(name)}\n\n![{paradigm.title}: one trial](images/gallery/{name}.png)\n\n"
        )
        text += f"`{command(name)}` (version {paradigm.version}, trial `{shown(name).trial_id}`)\n\n"
    return text.rstrip() + "\n"


def overview() -> Iterator[tuple[tuple[str, ...], list[tuple[str, ...]]]]:
    """Two tables, each with its header: paradigms by what they test, and functions by domains."""
    paradigms = {name: paradigm_of(name) for name in in_order()}
    domains, functions = (
        sorted({one for paradigm in paradigms.values() for one in getattr(paradigm, what)})
        for what in ("domains", "functions")
    )
    rows = []
    for name, paradigm in paradigms.items():
        marks = ["●" if one in paradigm.domains else "" for one in domains] + [
            "●" if one in paradigm.functions else "" for one in functions
        ]
        rows.append(
            (
                f"[`{name}`](#{_anchor(paradigm.title)})",
                str(paradigm.family),
                *marks,
                ", ".join(paradigm.characteristics),
            )
        )
    yield ("paradigm", "family", *domains, *functions, "characteristics"), rows
    yield (
        ("", *domains),
        [
            (
                function,
                *(
                    ", ".join(
                        f"`{name}`"
                        for name, one in paradigms.items()
                        if function in one.functions and domain in one.domains
                    )
                    for domain in domains
                ),
            )
            for function in functions
        ],
    )


def _anchor(title: str) -> str:
    """The link to a heading, as Git hosts make it."""
    return "".join(sign for sign in title.lower().replace(" ", "-") if sign.isalnum() or sign == "-")


def main(arguments: list[str]) -> int:
    wrong = {name: problem for name in list_paradigms() if (problem := stale(name)) is not None}
    if "--check" in arguments:
        for name, problem in wrong.items():
            print(f"{name}.png is {problem}")
        for name in left_over():
            print(f"{name} is of no paradigm")
        return 1 if wrong or left_over() else 0
    for name in list_paradigms() if "--all" in arguments else wrong:
        draw(name)
        print(FOLDER / f"{name}.png")
    for name in left_over():
        (FOLDER / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
