"""Ten thousand mutated files, in every reader: a file is read or refused in a sentence, and nothing
appears outside of the folder in which it is read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from lab_displays import measured
from mutations import mutated
from study_files import STUDY
from worm_trials import SETS, trials_of, write_folder

from spanlab.agents.human.display.file import read_display, write_display
from spanlab.analysis.data.loading import load
from spanlab.core.errors import SpanLabError
from spanlab.exchange import FORMATS, Report
from spanlab.extensions.replication.nback.blocks import import_blocks
from spanlab.extensions.replication.nback.results import import_results
from spanlab.extensions.replication.worm.folder import import_worm
from spanlab.extensions.standards.sharing import Sharing
from spanlab.paradigms import load_paradigm, plan_session
from spanlab.paradigms.trials_file import TrialsFile, write_trials
from spanlab.sessions import read_responses, reopen, same_trials
from spanlab.sessions.evaluations.evaluation_set import EvaluationSet
from spanlab.sessions.plan import plan_trials
from spanlab.sessions.record.table import write_responses
from spanlab.sessions.replaying import recorded_agent
from spanlab.sessions.session import complete
from spanlab.sessions.studies.monitoring import overview
from spanlab.sessions.studies.study import load_study
from spanlab.sessions.transcripts.transcript import Transcript

REPOSITORY = Path(__file__).resolve().parents[2]
GOLDEN = REPOSITORY / "tests" / "golden"
SESSIONS = GOLDEN / "sessions"
QUIET = Report(done=lambda _: None, note=lambda _: None)
Read = Callable[[Path, Path], None]


def _paradigm(folder: Path, file: Path) -> None:
    paradigm = load_paradigm(file)
    for planned in plan_session(paradigm, seed=1, trials=1):
        planned.compile(paradigm, "corrected")


def _study(folder: Path, file: Path) -> None:
    load_study(folder / "study.yaml")


def _set_file(folder: Path, file: Path) -> None:
    EvaluationSet(file, folder / "data")


def _session(folder: Path, file: Path) -> None:
    (session,) = (folder / name for name in ("session",))
    ways = (
        same_trials,
        reopen,
        complete,
        read_responses,
        lambda path: recorded_agent(f"recorded:{path}"),
        _conversation,
        write_responses,
    )
    for way in ways:
        with suppress(SpanLabError):
            way(session)


def _conversation(session: Path) -> None:
    transcript = Transcript(session)
    for key in transcript.trials:
        transcript.talk(key)
    transcript.account()


def _status(folder: Path, file: Path) -> None:
    overview(load_study(folder / "studies" / "study.yaml"), folder / "studies")


def _bids(folder: Path, file: Path) -> None:
    load([folder / "set"])


def _worm(folder: Path, file: Path) -> None:
    import_worm(folder / "worm", folder / "new")


def _blocks(folder: Path, file: Path) -> None:
    import_blocks(folder / "sets" / "letters", folder / "new")


def _results(folder: Path, file: Path) -> None:
    import_results([file], folder / "new")


def _trials_file(folder: Path, file: Path) -> None:
    for _ in TrialsFile(file):
        pass


def _display(folder: Path, file: Path) -> None:
    read_display(file)


def _checkpoint(folder: Path, file: Path) -> None:
    pytest.importorskip("torch")
    from spanlab.agents.network.checkpoints_io.checkpoint import load

    load(folder / "laptop-span.pt")


def _make(folder: Path, what: str) -> None:
    """The files of a reader, as they should be."""
    folder.mkdir()
    if what == "paradigms":
        for name in ("vsr", "nback_verbal", "cd", "cs", "smu"):
            shutil.copy(REPOSITORY / "paradigms" / "library" / f"{name}.yaml", folder / f"my_{name}.yaml")
    elif what == "studies":
        (folder / "study.yaml").write_text(STUDY, encoding="utf-8")
    elif what == "status":
        shutil.copytree(SESSIONS / "studies", folder / "studies")
        shutil.copy(SESSIONS / "own.yaml", folder / "own.yaml")
    elif what == "set files":
        (folder / "set.yaml").write_text(SET_FILE, encoding="utf-8")
    elif what.startswith("session of "):
        shutil.copytree(SESSIONS / "finished" / what.removeprefix("session of "), folder / "session")
    elif what == "bids":
        sources = [str(SESSIONS / "finished" / name) for name in ("vsr-p01-s3", "cd-chance-s12")]
        FORMATS.get("bids")().write(sources, folder / "set", Sharing(), QUIET)
    elif what == "worm":
        write_folder(
            folder / "worm",
            {
                SETS[name].folder: {"test": trials_of(SETS[name])[:2]}
                for name in ("vsr", "cd_colour", "smu")
                if name in SETS
            },
        )
    elif what == "nback blocks":
        writes = FORMATS.get("nback").writes
        assert writes is not None
        FORMATS.get("nback")().write(
            ["nback_verbal"], folder / "sets", writes.options.model_validate({"blocks": 1}), QUIET
        )
    elif what == "nback results":
        blocks = json.loads((SESSIONS / "all_trials_verbal.json").read_text(encoding="utf-8"))
        (folder / "all_trials_verbal.json").write_text(json.dumps(dict(list(blocks.items())[:3])), encoding="utf-8")
    elif what == "trials files":
        chosen = plan_trials("vsr", 1, {}, 5)
        from spanlab.paradigms.compile import drawn_values
        from spanlab.paradigms.trials_file import GivenTrial

        given = [
            GivenTrial(str(one.trial), one.levels, drawn_values(chosen.paradigm, one.levels, one.seed))
            for one in chosen.plan
        ]
        write_trials(folder / "vsr.jsonl", chosen.paradigm, "corrected", "a test", given)
    elif what == "displays":
        write_display(measured(), folder / "display.yaml")
    else:
        for name in ("laptop-span.pt", "laptop-span.json"):
            shutil.copy(REPOSITORY / "agents" / "network" / "checkpoints" / name, folder / name)


SET_FILE = """\
paradigms: {vsr: {trials: 4}, cd: {set: {set_size: [2, 4]}}}
agents: [chat:scripted, chance]
settings: {plain: {}, warm: {temperature: 1}}
repeats: 2
budget: {max_cost: 1}
"""
#: what is read, how, and how many files are mutated
READERS: dict[str, tuple[Read, int]] = {
    "paradigms": (_paradigm, 1500),
    "studies": (_study, 800),
    "status": (_status, 300),
    "set files": (_set_file, 600),
    "session of vsr-p01-s3": (_session, 900),
    "session of vsr-chat-scripted-s31": (_session, 900),
    "session of vsr-network-laptop-s27": (_session, 600),
    "session of vsr-capacity-3-s16": (_session, 500),
    "bids": (_bids, 300),
    "worm": (_worm, 700),
    "nback blocks": (_blocks, 1100),
    "nback results": (_results, 500),
    "trials files": (_trials_file, 1000),
    "displays": (_display, 200),
    "checkpoints": (_checkpoint, 100),
}


def test_ten_thousand_files_are_mutated() -> None:
    assert sum(many for _, many in READERS.values()) == 10_000


@pytest.mark.parametrize("what", [one for one in READERS if one != "checkpoints"])
def test_the_files_are_read_as_they_should_be(tmp_path: Path, what: str) -> None:
    _make(tmp_path / "good", what)
    file = next(path for path in sorted((tmp_path / "good").rglob("*")) if path.is_file())
    READERS[what][0](tmp_path / "good", file)


def _try(tmp_path: Path, what: str, seeds: range) -> list[str]:
    """Mutate a file for each seed; which of them were neither read nor refused, with what came
    instead."""
    read, _ = READERS[what]
    _make(tmp_path / "good", what)
    files = sorted(
        path.relative_to(tmp_path / "good")
        for path in (tmp_path / "good").rglob("*")
        if path.is_file() and path.name != ".lock" and (what != "bids" or path.suffix == ".tsv")
    )
    faults: list[str] = []
    inside = tmp_path / "a" / "b" / "mutated"
    for seed in seeds:
        shutil.rmtree(inside, ignore_errors=True)
        shutil.copytree(tmp_path / "good", inside)
        file = inside / files[seed % len(files)]
        file.write_bytes(mutated(file.read_bytes(), f"{what} {seed}"))
        try:
            read(inside, file)
        except SpanLabError as error:
            faults += [] if str(error).strip() else [f"{what} {seed} ({file.name}): refused without a word"]
        except Exception as error:
            faults.append(f"{what} {seed} ({file.name}): {type(error).__name__}: {str(error)[:200]}")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "good"]
    assert [path.name for path in (tmp_path / "a").rglob("*") if inside not in path.parents] == ["b", "mutated"]
    return faults


@pytest.mark.parametrize("what", [one for one in READERS if one != "checkpoints"])
def test_some_mutated_files(tmp_path: Path, what: str) -> None:
    assert not _try(tmp_path, what, range(3))


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.1, pytest.param(1.0, marks=pytest.mark.soak)])
@pytest.mark.parametrize("what", READERS)
def test_many_mutated_files(tmp_path: Path, what: str, share: float) -> None:
    assert not _try(tmp_path, what, range(int(share * READERS[what][1])))
