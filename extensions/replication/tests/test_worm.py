"""Trials of the WorM benchmark, in and out: the very frames, labels and lengths that its own code
makes of them, and the same JSON again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import Run, complaint, output_of
from PIL import Image
from worm_trials import SETS, golden, hashed, model_steps, trials_of, write_folder

from spanlab.core.errors import SpanLabError
from spanlab.extensions.replication.command import networks_in
from spanlab.extensions.replication.pages.worm import network_scores
from spanlab.extensions.replication.worm.folder import export_worm, import_worm, write_data_set
from spanlab.extensions.replication.worm.names import ORIGIN, TRIALS
from spanlab.extensions.replication.worm.tasks import task_of
from spanlab.paradigms import (
    Generator,
    Paradigm,
    PlannedTrial,
    Trial,
    compile_trial,
    fingerprint,
    load_paradigm,
    network_arrays,
    plan_dataset,
    resolve_levels,
)
from spanlab.paradigms.compile import drawn_values
from spanlab.paradigms.trials_file import TrialsFile
from spanlab.stimuli.render.pixels import render

PARADIGMS = ["sc", "sfr", "si", "smu", "sts", "vir", "vsr", "vsrec", "cd", "cs"]
#: as the benchmark pads its trials
STEPS = 20


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All golden trials, imported."""
    root = tmp_path_factory.mktemp("worm")
    write_folder(root / "data", {one.folder: {"train": trials_of(one)} for one in SETS.values()})
    report = import_worm(root / "data", root / "trials")
    assert [(one.file.name, one.trials, one.skipped, dict(one.set.notes)) for one in report] == [
        (f"{name}.train.jsonl", 20, 0, {}) for name in SETS
    ]
    return root / "trials"


def compiled(file: TrialsFile) -> list[Trial]:
    return [compile_trial(file.paradigm, one.levels, 0, file.header.generator, one.draws) for one in file]


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_imported_trials_have_the_frames_labels_and_lengths_of_the_benchmark(imported: Path, name: str) -> None:
    file = TrialsFile(imported / f"{name}.train.jsonl")
    assert file.header.generator == "published"
    assert file.header.source == {
        "benchmark": "WorM",
        "data_set": SETS[name].folder,
        "split": "train",
        "skipped": 0,
        "notes": [],
    }
    trials, expected = compiled(file), golden()[SETS[name].folder]
    view = file.paradigm.network_view(trials[0].levels)
    assert view is not None
    arrays = network_arrays(view, trials, STEPS)
    assert arrays.frames.shape == (20, STEPS, 32, 32, 3)
    for row, (trial, entry) in enumerate(zip(trials, expected, strict=True)):
        assert [hashed(render(step.percept.for_machine.stimulus.scene())) for step in model_steps(trial)] == entry[
            "frames96"
        ]
        length = entry["length"]
        assert [hashed(frame) for frame in arrays.frames[row, :length]] == entry["frames32"]
        assert not arrays.frames[row, length:].any(), "padding is black"
        assert arrays.lengths[row] == length
        labels = arrays.labels[row]
        assert (np.flatnonzero(labels).tolist() if name == "sfr" else labels.tolist()) == entry["labels"]


@pytest.mark.parametrize("name", SETS)
def test_imported_trials_become_the_same_json(imported: Path, name: str) -> None:
    """Every key of the benchmark, down to the last digit of a coordinate; beyond them the second
    spelling of list lengths in spatial coordination."""
    task = task_of(SETS[name])
    for one, original in zip(TrialsFile(imported / f"{name}.train.jsonl"), trials_of(SETS[name]), strict=True):
        assert one.name == original["trial_id"]
        written = task.write(dict(one.levels), dict(one.draws))
        written |= {"trial_type": "train", "trial_id": one.name, **task.files(one.name, written)}
        if name == "sc":
            original |= {"set_size": original["list_length"], "max_set_size": original["max_list_length"]}
        assert json.loads(json.dumps(written)) == original


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", SETS)
def test_frames_are_in_the_files_that_the_json_names(imported: Path, tmp_path: Path, name: str) -> None:
    """The frames of the golden trials, read from the files in the order of the benchmark's steps."""
    file, task = TrialsFile(imported / f"{name}.train.jsonl"), task_of(SETS[name])
    write_data_set(SETS[name], tmp_path, file.paradigm, "published", {"test": list(file)[::4]})
    written = json.loads((tmp_path / TRIALS).read_text(encoding="utf-8"))
    assert list(written) == ["train", "test", "gen_test"]
    assert (written["train"], written["gen_test"]) == ([], [])
    named: set[str] = set()
    for content, entry in zip(written["test"], golden()[SETS[name].folder][::4], strict=True):
        found = []
        for step in task.steps(content):
            with Image.open(tmp_path / step if (tmp_path / step).exists() else tmp_path / "test" / step) as picture:
                assert (picture.mode, picture.size, picture.format) == ("RGB", (96, 96), "PNG")
                found.append(hashed(np.array(picture)))
        assert found == entry["frames96"]
        for key, names in content.items():
            if key.endswith(("fnames", "fname")):
                named |= {names} if isinstance(names, str) else set(names)
    assert {path.name for path in (tmp_path / "test").iterdir()} == named
    assert {path.name for path in tmp_path.iterdir()} == {"train", "test", "gen_test", TRIALS, *task.shared()}


def test_the_figure_of_spatial_coordination_is_written_too(imported: Path, tmp_path: Path) -> None:
    file = TrialsFile(imported / "sc.train.jsonl")
    one = next(iter(file))
    write_data_set(SETS["sc"], tmp_path, file.paradigm, "published", {"train": [one]})
    with Image.open(tmp_path / "train" / f"{one.name}_gt_pattern.png") as picture:
        green = (np.array(picture) == (58, 181, 74)).all(axis=2)
    cells = {(row, column) for row in range(10) for column in range(10) if green[3 + 9 * row + 4, 3 + 9 * column + 4]}
    assert cells == {divmod(cell, 10) for cell in one.draws["figure"]["cells"]}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("generator", ["published", "corrected"])
@pytest.mark.parametrize("name", PARADIGMS)
def test_export_then_import_gives_the_same_trials(tmp_path: Path, name: str, generator: Generator) -> None:
    """New trials of every condition, and of both splits: what comes back is what was drawn for
    them."""
    paradigm, seed = load_paradigm(name), 5
    sets = [data_set for data_set in SETS.values() if data_set.paradigm == name]
    many = len(paradigm.combinations(dict(sets[0].levels)))
    exported = export_worm(name, tmp_path / "data", (many, 3), seed, generator, frames=False)
    assert [one.folder.name for one in exported] == [data_set.folder for data_set in sets]
    assert all(one.trials == {"train": many, "test": 3, "gen_test": 0} and one.frames == 0 for one in exported)
    report = import_worm(tmp_path / "data", tmp_path / "trials")
    assert [(one.set.data_set, one.set.split, one.trials) for one in report] == [
        (one, split, n) for one in sets for split, n in (("train", many), ("test", 3))
    ]
    for one in report:
        assert not one.set.notes
        file = TrialsFile(one.file)
        assert file.header.generator == generator
        assert [trial.name for trial in file] == [f"{one.set.split}_{number:06d}" for number in range(one.trials)]
        split = "train" if one.set.split == "train" else "test"
        drawn = [
            new_trial(paradigm, planned, generator)
            for planned in plan_dataset(paradigm, seed, split, one.trials, dict(one.set.data_set.levels))
        ]
        assert sorted(map(fingerprint, compiled(file))) == sorted(map(fingerprint, drawn))


def new_trial(paradigm: Paradigm, planned: PlannedTrial, generator: Generator) -> Trial:
    """A trial as it is drawn, named as if its draws had been given."""
    levels = resolve_levels(paradigm, planned.levels, planned.seed)
    return compile_trial(paradigm, levels, 0, generator, drawn_values(paradigm, levels, planned.seed, generator))


def test_exported_trials_are_new_ones_that_fit_the_levels(tmp_path: Path) -> None:
    (one,) = export_worm("sfr", tmp_path, (24, 4), 7, "corrected", {"list_length": [3, 5]})
    train, test = (json.loads((one.folder / TRIALS).read_text(encoding="utf-8"))[split] for split in ("train", "test"))
    assert [trial["list_length"] for trial in train] == [3] * 12 + [5] * 12, "sorted by condition, as in the benchmark"
    cells = [str(trial["visible_cells"]) for trial in [*train, *test]]
    assert len(set(cells)) == 28
    assert one.frames == 12 * 4 + 12 * 6 + 2 * 4 + 2 * 6
    (other,) = export_worm("sfr", tmp_path / "other", (24, 4), 8, "corrected", {"list_length": [3, 5]}, frames=False)
    assert not set(cells) & {
        str(trial["visible_cells"])
        for trial in json.loads((other.folder / TRIALS).read_text(encoding="utf-8"))["train"]
    }


def test_both_spellings_of_list_lengths_are_read(tmp_path: Path) -> None:
    old = trials_of(SETS["sc"])
    for trial in old:
        trial["set_size"], trial["max_set_size"] = trial.pop("list_length"), trial.pop("max_list_length")
    for name, trials in (("new", trials_of(SETS["sc"])), ("old", old)):
        import_worm(write_folder(tmp_path / name, {SETS["sc"].folder: {"train": trials}}), tmp_path / f"{name}.trials")
    assert (tmp_path / "old.trials" / "sc.train.jsonl").read_bytes() == (
        tmp_path / "new.trials" / "sc.train.jsonl"
    ).read_bytes()


def test_keys_that_nobody_knows_are_told(tmp_path: Path, run: Run) -> None:
    trials = trials_of(SETS["vsr"])[:4]
    for trial in trials[:3]:
        trial["colour"] = "blue"
    root = write_folder(tmp_path / "data", {SETS["vsr"].folder: {"train": trials}})
    status, _, err = run("import", "worm", root, "-o", tmp_path / "trials")
    assert status == 0
    assert "NOTE Visual_Serial_Recall, train: the key 'colour' is not known here and was left out (3 times)" in err


@pytest.mark.slow
def test_from_the_benchmark_to_a_session(tmp_path: Path, run: Run) -> None:
    """Import, replay and export at the command line."""
    root = write_folder(tmp_path / "data", {one.folder: {"train": trials_of(one)[:4]} for one in SETS.values()})
    assert run("import", "worm", root, "-o", "trials")[0] == 0
    for name in ("si", "cd_gap", "cs", "sts"):
        out = output_of(
            *run(
                "replay",
                "--trials-from",
                f"trials/{name}.train.jsonl",
                "--agent",
                "ideal",
                "--agent",
                "chance",
            )
        )
        session = json.loads((tmp_path / out.split()[0] / "session.json").read_text(encoding="utf-8"))
        assert session["generator"] == "published"
        assert [trial["name"] for trial in session["plan"]] == [
            trial["trial_id"] for trial in trials_of(SETS[name])[:4]
        ]
        table = (tmp_path / out.split()[0] / "responses.csv").read_text(encoding="utf-8").splitlines()
        correct = table[0].split(",").index('"correct"')
        assert {line.split(",")[correct] for line in table[1:]} == {"true"}


@pytest.mark.slow
@pytest.mark.parametrize("units", [96, 256, 1024])
@pytest.mark.parametrize("architecture", ["RNN", "GRU", "LSTM", "TRF"])
def test_a_network_of_the_authors_form_takes_imported_trials_and_is_held_against_its_row(
    imported: Path, tmp_path: Path, run: Run, architecture: str, units: int
) -> None:
    worm_networks = pytest.importorskip("worm_networks")
    (tmp_path / "theirs").mkdir()
    worm_networks.write(tmp_path / "theirs" / f"{architecture.lower()}_{units}.pth", architecture, units)
    (agent,) = networks_in(tmp_path / "theirs")
    out = output_of(*run("replay", "--trials-from", imported / "smu.train.jsonl", "--agent", agent))
    rows = network_scores([tmp_path / out.split()[-1]], []).rows
    published = {row.what[:2]: row for row in rows if row.what[2].endswith(f"({architecture}-{units})")}
    assert {("smu", "A_setsize"), ("smu", "B_setsize")} == set(published)
    assert {row.verdict for row in published.values()} == {"not resolved"}, "its weights are a formula: it guesses"


def test_export_at_the_command_line(tmp_path: Path, run: Run) -> None:
    out = output_of(
        *run(
            "export",
            "worm",
            "cd",
            "made",
            "--train",
            "2",
            "--test",
            "1",
            "--set",
            "feature=gap",
            "--set",
            "set_size=4",
            "--generator",
            "published",
        )
    )
    folder = SETS["cd_gap"].folder
    assert out == f"made/{folder}: 2 training and 1 test trials, 7 frames\n"
    assert json.loads((tmp_path / "made" / folder / ORIGIN).read_text(encoding="utf-8")) == {
        "paradigm": "cd",
        "paradigm_version": load_paradigm("cd").version,
        "generator": "published",
        "seed": 1,
    }
    assert (
        run("export", "worm", "sfr", "made", "--no-frames")[1]
        == "made/Spatial_Free_Recall: 100 training and 20 test trials, no frames\n"
    )
    for arguments, told in (
        (("cd", "made", "--set", "feature=gap"), f"made/{folder} exists; name a new folder"),
        (("lsr", "made"), "WorM has no data set of 'lsr'; it has sc, sfr, si, smu, sts, vir, vsr, vsrec, cd, cs"),
        (
            ("sts", "made", "--set", "switch_probability=0"),
            "no data set of sts with these levels (its trials have switch_probability = 0.2)",
        ),
        (("vsr", "made", "--set", "list_length=1"), "list_length cannot be 1"),
        (("vsr", "made", "--set", "length=1"), "no factor 'length'"),
        (("vsr", "made", "--generator", "best"), "the generator is corrected or published"),
        (("vsr", "file", "--train", "1"), "cannot write file"),
    ):
        (tmp_path / "file").touch()
        assert told in complaint(*run("export", "worm", *arguments))
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == sorted([folder, "Spatial_Free_Recall"]), (
        "nothing half-made is left"
    )


def test_what_spanlab_notes_beside_its_trials_is_checked(tmp_path: Path) -> None:
    (one,) = export_worm("sfr", tmp_path / "data", (1, 0), frames=False)
    for text, told in (
        ('{"generator": "best"}', "does not say which generator"),
        ("[]", "does not say which generator"),
        ("{", "cannot be read"),
    ):
        (one.folder / ORIGIN).write_text(text, encoding="utf-8")
        with pytest.raises(SpanLabError, match=told):
            import_worm(tmp_path / "data", tmp_path / "trials")
