"""A commented start for a paradigm, a study, an agent or a package; one trial as a picture, as pixels,
and a paradigm as a task of inspect_ai."""

from __future__ import annotations

import keyword
import re
from enum import StrEnum
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.atomic_files import make_folder, whole_file, whole_folder
from ..core.errors import SpanLabError
from .options import GeneratorOption, LevelsOption, ParadigmArgument, PathLike, Result, one_trial, public

if TYPE_CHECKING:
    import numpy as np

    from ..paradigms import Trial

_NAME = re.compile("[a-z][a-z0-9_]{0,40}")


class Kind(StrEnum):
    """The things that ``spanlab new`` can create."""

    PARADIGM = "paradigm"
    STUDY = "study"
    AGENT = "agent"
    PLUGIN = "plugin"


#: what to do next, a line each
_NEXT = {
    Kind.PARADIGM: (
        "spanlab check {path}",
        "spanlab show {path} -o trial.png",
        "spanlab replay {path} --agent ideal --agent chance --trials 40",
    ),
    Kind.STUDY: ("spanlab check {path}", "spanlab run {path} --simulate capacity@8"),
    Kind.AGENT: ("pip install -e {path}", "spanlab replay vsr --agent {dashed} --agent chance --trials 40"),
    Kind.PLUGIN: (
        "pip install -e {path}",
        "spanlab replay cd --agent {dashed}-first --trials 40",
        "spanlab figure {name}_course data -o course.svg",
    ),
}


@public
def new(
    kind: Annotated[
        Kind,
        typer.Argument(
            help="paradigm or study (one YAML file), agent or plugin (a Python package)",
            metavar="paradigm|study|agent|plugin",
        ),
    ],
    name: Annotated[str, typer.Argument(help="short name: small letters, digits, underscores", metavar="NAME")],
    output: Annotated[
        PathLike | None, typer.Option("-o", "--output", help="folder in which it is made", metavar="DIR")
    ] = None,
) -> Result:
    """Write a commented file to start from: a paradigm, a study, an agent or a plugin that works as
    it is.

    Examples
    --------
    >>> spanlab.new("paradigm", "my_letters").file
    PosixPath('my_letters.yaml')
    >>> print(spanlab.check("my_letters.yaml"))
    my_letters is fine (3 conditions, 18 trials compiled, all drawn)
    """
    if keyword.iskeyword(name):
        raise SpanLabError(
            f"'{name}' cannot be the name, because it is a word of Python: choose another one, such as my_{name}"
        )
    if not _NAME.fullmatch(name):
        simpler = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
        such = f", such as {simpler}" if _NAME.fullmatch(simpler) and not keyword.iskeyword(simpler) else ""
        raise SpanLabError(
            f"'{name}' cannot be the name: use small letters, digits and underscores, and begin with a letter{such}"
        )
    kind = Kind(kind)
    _check_free(kind, name)
    words = {
        "NAME": name,
        "DASHED": name.replace("_", "-"),
        "TITLE": name.replace("_", " ").capitalize(),
        "CLASS": name.title().replace("_", ""),
    }
    whole = kind in (Kind.AGENT, Kind.PLUGIN)
    folder = Path(output or ".")
    path = folder / (name if whole else f"{name}.yaml")
    if path.exists():
        raise SpanLabError(f"{path} exists already: give another name, or another folder with -o")
    make_folder(folder, f"to {folder}")
    templates = files("spanlab.api") / "templates"
    if whole:
        with whole_folder(path) as made:
            for template in (templates / kind).iterdir():
                (made / _filled(template.name.removesuffix(".txt"), words)).write_text(
                    _filled(template.read_text(encoding="utf-8"), words), encoding="utf-8"
                )
    else:
        with whole_file(path) as file:
            file.write(_filled((templates / f"{kind}.yaml").read_text(encoding="utf-8"), words))
    further = [f"  {line}".format(path=path, name=name, dashed=words["DASHED"]) for line in _NEXT[kind]]
    return Result([str(path), *further], files=[path])


def _check_free(kind: Kind, name: str) -> None:
    """Make sure that the name is not that of something else.

    Raises
    ------
    SpanLabError
        when it is.
    """
    taken = None
    if kind is Kind.PARADIGM:
        from ..paradigms import list_paradigms

        taken = "a paradigm of the library" if name in list_paradigms() else None
    elif kind in (Kind.AGENT, Kind.PLUGIN):
        from ..agents.registry import AGENTS
        from ..core.agent_kinds import KINDS

        if name.replace("_", "-") in {*AGENTS, *(agent_kind.name for agent_kind in KINDS)}:
            taken = "a kind of agent"
        elif find_spec(name) is not None:
            taken = "a Python module that is installed here"
    if taken is not None:
        raise SpanLabError(f"'{name}' is the name of {taken}: choose another one")


def _filled(text: str, words: dict[str, Any]) -> str:
    return re.sub("|".join(words), lambda match: words[match[0]], text)


@public
def show(
    paradigm: ParadigmArgument,
    output: Annotated[
        PathLike, typer.Option("-o", "--output", help="file to write: .png, or .gif for a film", metavar="FILE")
    ],
    *,
    levels: LevelsOption = None,
    seed: Annotated[int, typer.Option("--seed", help="seed of the trial", min=0)] = 1,
    generator: GeneratorOption = None,
) -> Result:
    """Draw one trial's timeline: every display, its phase, its ms, the question and the correct
    answer; or write the trial as a film that takes as long as it does for people.

    Examples
    --------
    >>> spanlab.show("vsr", "trial.png", levels={"list_length": 3}).file.name
    'trial.png'
    """
    from ..paradigms.preview.sheet import trial_picture, write_film

    file = Path(output)
    if (kind := file.suffix.lower()) not in ("", ".png", ".gif"):
        raise SpanLabError(f"a trial is drawn as a .png, or a film as a .gif; found '{file.name}'")
    loaded, trial = one_trial(paradigm, levels, seed, generator)
    if kind == ".gif":
        write_film(trial, file)
        return Result([str(file)], files=[file])
    picture = trial_picture(trial, loaded)
    try:
        picture.save(file, format="PNG", dpi=picture.info["dpi"])
    except OSError as error:
        raise SpanLabError(f"cannot write {output}: {error.strerror or error}") from None
    return Result([str(file)], files=[file])


def render(trial: Trial, size_px: int = 96) -> np.ndarray:
    """Render the displays of a trial that a machine sees, as pixels.

    Parameters
    ----------
    trial : from :func:`compile_trial`
    size_px : width and height of each frame; 32 gives the frames of networks

    Returns
    -------
    array of shape (steps, size_px, size_px, 3), 8 bits a channel

    Examples
    --------
    >>> trial = spanlab.compile_trial(spanlab.load_paradigm("vsr"), {"list_length": 3}, seed=1)
    >>> spanlab.render(trial, 32).shape
    (6, 32, 32, 3)
    """
    import numpy as np

    from ..stimuli.render.pixels import network_frame, picture

    scenes = [step.percept.for_machine.stimulus.scene() for step in trial.steps if step.percept.model_step]
    return np.stack(
        [network_frame(scene) if size_px == 32 else np.asarray(picture(scene, size_px)) for scene in scenes]
    )
