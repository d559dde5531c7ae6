"""``spanlab import`` and ``spanlab export``: other people's data, in and out. Part of the command line."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...core.errors import SpanLabError
from ..options import GeneratorOption, ParadigmArgument, SetOption, parse_generator, parse_levels

if TYPE_CHECKING:
    from ...core.errors import Problem
    from ...exchange.nback.published_sessions import ImportedResults

_SETTINGS = {"no_args_is_help": True, "add_completion": False, "rich_markup_mode": None}

import_app = typer.Typer(help="Bring in trials, blocks and results that others have published.", **_SETTINGS)
export_app = typer.Typer(help="Write trials in the file formats of others.", **_SETTINGS)


SkipOption = Annotated[bool, typer.Option("--skip-malformed", help="leave out what is malformed, instead of importing nothing")]
AsOption = Annotated[str | None, typer.Option("--as", help="the paradigm, when names do not say it, or another one is meant", metavar="PARADIGM")]


@import_app.callback()
def _import() -> None: ...


@export_app.callback()
def _export() -> None: ...


def tell_left_out(problems: Iterable[Problem]) -> None:
    """What was malformed and skipped on request, on stderr."""
    for problem in problems:
        print(f"left out: {problem}", file=sys.stderr)


@import_app.command("worm")
def import_worm(
    folder: Annotated[Path, typer.Argument(help="data folder of WorM, with a folder for each data set", metavar="FOLDER")],
    output: Annotated[Path, typer.Option("-o", "--output", help="new folder for the trials files", metavar="DIR")],
    skip_malformed: SkipOption = False,
    seed: Annotated[int, typer.Option("--seed", help="for what the files leave open: the order of arrows in complex span", min=0)] = 1,
) -> None:
    """Trials of the WorM benchmark (data_rand_trials.json of each task), for replay --trials-from: one file for each split of each data set."""
    from ...exchange.worm.folder import import_worm as bring_in
    from ...exchange.worm.folder import other_folders

    for one in bring_in(folder, output, skip_malformed, seed, lambda name: print(f"reading {name} ...", file=sys.stderr, flush=True)):
        where = f"{one.data_set.folder}, {one.split}"
        tell_left_out(one.named)
        if one.skipped > len(one.named):
            print(f"left out: {one.skipped - len(one.named)} more trials of {where}", file=sys.stderr)
        for note, many in one.notes.items():
            print(f"NOTE {where}: {note} ({many} times)", file=sys.stderr)
        print(f"{output / one.file}: {_plural(one.trials, 'trial')}")
    for name in other_folders(folder):
        print(f"NOTE {name} is no published data set of WorM and was left out", file=sys.stderr)


@export_app.command("worm")
def export_worm(
    paradigm: Annotated[str, typer.Argument(help="sfr, cd, vir, vsr, vsrec, cs, sc, si, smu or sts", metavar="PARADIGM")],
    folder: Annotated[Path, typer.Argument(help="data folder, to which the folder of the data set is added", metavar="DIR")],
    train: Annotated[int | None, typer.Option("--train", help="training trials [default: 100]", min=1)] = None,
    test: Annotated[int | None, typer.Option("--test", help="test trials [default: 20]", min=0)] = None,
    design: Annotated[str | None, typer.Option("--design", help="'published' for as many trials as the benchmark has")] = None,
    seed: Annotated[int, typer.Option("--seed", help="seed of the data set", min=0)] = 1,
    generator: GeneratorOption = "corrected",
    set_: SetOption = None,
    frames: Annotated[bool, typer.Option("--frames/--no-frames", help="draw the frames, or write the trials only")] = True,
) -> None:
    """A data folder as WorM's own code reads it: trials in JSON and frames in PNG files."""
    from ...exchange.worm import writer as worm
    from ...paradigms import load_paradigm

    worm.data_sets_of(paradigm)
    if design is not None and (train is not None or test is not None):
        raise SpanLabError("--design says how many trials there are: leave out --train and --test")
    if design not in (None, "published"):
        raise SpanLabError(f"the design of a data folder is 'published'; found '{design}'")
    sizes = worm.published_sizes(load_paradigm(paradigm)) if design else (worm.TRAIN if train is None else train, worm.TEST if test is None else test)
    for one in worm.export_worm(paradigm, folder, sizes, seed, parse_generator(generator), parse_levels(set_), frames):
        counted = f"{one.trials['train']} training and {one.trials['test']} test trials"
        print(f"{one.folder}: {counted}, {f'{one.frames} frames' if frames else 'no frames'}")


@import_app.command("nback")
def import_nback(
    folder: Annotated[Path, typer.Argument(help="sets of N-back blocks (letters/1back/0.txt), one set, or one level of a set", metavar="FOLDER")],
    output: Annotated[Path, typer.Option("-o", "--output", help="new folder for the trials files", metavar="DIR")],
    as_: AsOption = None,
    generator: Annotated[str | None, typer.Option("--generator", help="whose blocks they are: published or corrected; found out when not given")] = None,
    seed: Annotated[int, typer.Option("--seed", help="of what is random besides the items, such as noise", min=0)] = 1,
    skip_malformed: SkipOption = False,
) -> None:
    """N-back block files (two lines: items and labels) as trials files, for spanlab replay --trials-from."""
    from ...exchange.nback.sets import import_blocks

    chosen = None if generator is None else parse_generator(generator)
    for imported in import_blocks(folder, output, as_, chosen, seed, skip_malformed):
        tell_left_out(imported.left_out)
        _tell_unlabelled(imported.unlabelled.items(), "item")
        print(f"{imported.file}: {_plural(imported.blocks, 'block')}, {imported.generator}")


@import_app.command("nback-results")
def import_nback_results(
    files: Annotated[list[Path], typer.Argument(help="per-trial results of the N-back study, such as all_trials_verbal.json", metavar="FILE...")],
    data: Annotated[Path, typer.Option("-o", "--output", "--data", help="folder for sessions", metavar="DATA")],
    as_: AsOption = None,
    model: Annotated[str | None, typer.Option("--model", help="whose results they are, when the file's name does not say it", metavar="MODEL")] = None,
    skip_malformed: SkipOption = False,
) -> None:
    """Published N-back results as ordinary sessions, one for each file, of agents called published:MODEL."""
    from ...exchange.nback.published_sessions import import_results

    for imported in import_results(files, data, model, as_, skip_malformed):
        _tell_results(imported)


@export_app.command("nback")
def export_nback(
    paradigm: ParadigmArgument,
    output: Annotated[Path, typer.Argument(help="folder for the sets of blocks", metavar="DIR")],
    blocks: Annotated[int, typer.Option("--blocks", help="blocks of each level", min=1, max=100_000)] = 50,
    n: Annotated[str | None, typer.Option("--n", help="levels, such as 1,2,3; all of them when not given", metavar="N,...")] = None,
    length: Annotated[int, typer.Option("--block-length", help="items in a block", min=2)] = 24,
    lures: Annotated[str, typer.Option("--lures", help="level of lures: none, low, high or free")] = "free",
    generator: GeneratorOption = "corrected",
    seed: Annotated[int, typer.Option("--seed", help="of the blocks", min=0)] = 1,
) -> None:
    """Blocks of an N-back paradigm as files of two lines (items, labels), in the layout of the published sets."""
    from ...exchange.nback.sets import export_blocks
    from ...paradigms import load_paradigm

    levels = None if n is None else [_level(text.strip()) for text in n.split(",")]
    written = export_blocks(load_paradigm(paradigm), output, blocks, levels, length, lures, parse_generator(generator), seed)
    for path, many in written.items():
        print(f"{path}: {_plural(many, 'block')}")


def _level(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 4):
        raise SpanLabError(f"--n takes whole numbers, such as 1,2,3; found '{text}'")
    return int(text)


def _plural(many: int, word: str) -> str:
    return f"{many} {word}{'' if many == 1 else 's' if not word.endswith('ch') else 'es'}"


def _tell_unlabelled(blocks: Iterable[tuple[str, tuple[int, ...]]], what: str) -> None:
    """One line for each level and place; names of blocks end with their number (``letters/1back/15``, ``1back_15``)."""
    alike: dict[tuple[str, tuple[int, ...]], list[str]] = {}
    many = 0
    for name, places in blocks:
        level, number = re.split(r"[/_](?=[0-9]+$)", name)
        alike.setdefault((level, places), []).append(number)
        many += len(places)
    for (level, places), numbers in alike.items():
        there = f"block{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}"
        print(f"NOTE {level}, {there}: {what} {', '.join(map(str, places))} matches, and its label says that it does not", file=sys.stderr)
    if many:
        print(f"NOTE {_plural(many, 'unlabelled match')} in all; answers are scored by the labels of the files", file=sys.stderr)


def _tell_results(imported: ImportedResults) -> None:
    if not imported.new:
        print(f"{imported.file} has been imported before: {imported.folder}", file=sys.stderr)
        return
    tell_left_out(imported.left_out)
    for what, keys in (("never run", imported.never_run), ("not finished", imported.unfinished)):
        if keys:
            print(f"left out: {imported.file}: {_plural(len(keys), 'block')} {what} ({', '.join(keys)})", file=sys.stderr)
    _tell_unlabelled([(f"{imported.file.name} {key}", places) for key, places in imported.unlabelled], "trial")
    if imported.prefilled:
        print(f"NOTE {_plural(imported.prefilled, 'answer')} of {imported.model} were never asked (record_prefilled)", file=sys.stderr)
    print(f"{imported.folder}: {imported.paradigm} by {imported.model}, {_plural(imported.blocks, 'block')}, {_plural(imported.trials, 'answer')}")
