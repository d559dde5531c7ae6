"""Trials of the WorM benchmark that are not what they should be: named with file, data set, split,
number and key; and nothing half-imported stays behind."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Run, complaint
from worm_trials import SETS, trials_of, write_folder

from spanlab.core.errors import SpanLabError
from spanlab.extensions.replication.worm.folder import import_worm
from spanlab.extensions.replication.worm.names import TRIALS
from spanlab.paradigms.trials_file import TrialsFile

Change = Callable[[dict[str, Any]], Any]


def put(*path: Any, value: Any) -> Change:
    """Put a value at a place of a trial."""

    def change(trial: dict[str, Any]) -> None:
        part: Any = trial
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = value

    return change


def drop(*path: Any) -> Change:
    def change(trial: dict[str, Any]) -> None:
        part: Any = trial
        for key in path[:-1]:
            part = part[key]
        del part[path[-1]]

    return change


def first(name: str, **having: Any) -> int:
    """The number of the first golden trial that has these values."""
    return next(
        n for n, trial in enumerate(trials_of(SETS[name])) if all(trial[key] == value for key, value in having.items())
    )


SECOND = trials_of(SETS["vsr"])[1]["trial_id"]
WRONG: list[tuple[str, dict[str, Any], Change, str]] = [
    ("sfr", {}, drop("visible_cells"), "visible_cells: this key is missing"),
    ("sfr", {}, put("visible_cells", value=[1, 2]), "visible_cells: expected a list of 30; found one of 2"),
    ("sfr", {}, put("visible_cells", 3, value="7"), "visible_cells > 3: expected a whole number; found '7'"),
    ("sfr", {}, put("visible_cells", 3, value=100), "visible_cells: 100 is not among those"),
    ("sfr", {}, put("recall_gt", value=[]), "recall_gt: expected a list of 1; found one of 0"),
    ("sfr", {}, put("list_length", value=9), "recall_gt: expected a list of 9"),
    ("sfr", {}, put("grid_size", value=8), "grid_size: expected 10, as the other keys have it; found 8"),
    ("sfr", {"list_length": 8}, put("list_length", value=True), "list_length: expected a whole number; found true"),
    ("sc", {}, drop("list_length"), "list_length: this key is missing (and so is set_size)"),
    ("sc", {}, put("gt", value=2), "gt: expected one of 0, 1; found 2"),
    ("sc", {"gt": 1}, put("gt", value=0), "gt_item: expected symmetric with offset 0, or asymmetric with 2, 4, 6, 8"),
    ("sc", {"gt": 0}, put("gt", value=1), "gt_item: expected symmetric with offset 0"),
    ("sc", {}, put("set_size", value=12), "set_size: expected 10"),
    ("sc", {}, put("list_length", value=11), "gt_item: expected a list of 11"),
    ("si", {}, put("gt_line_segment", "4", value=[0, 0]), "gt_line_segment: the parts make another figure"),
    ("si", {}, put("memory_part_line_segment", 2, "1", value=[0]), "memory_part_line_segment > 2 > 1: expected a list of 2; found one of 1"),  # noqa: E501
    ("si", {}, drop("memory_part_line_segment", 2), "memory_length: expected 11, as the other keys have it; found 12"),
    ("si", {"gt": 1}, put("gt", value=0), "distractor_line_segment: expected keys from 0 to 12; found nothing"),
    ("si", {"gt": 0}, put("distractor_diff", value=1), "memory_part_line_segment: probe: expected the figure of the parts"),  # noqa: E501
    ("si", {}, put("part_size", value=5), "memory_part_line_segment > 0 > 2: this key is missing"),
    ("smu", {}, put("set_size", value=9), "set_size: expected 1 to 8 boxes; found 9"),
    ("smu", {}, put("updates", 0, 1, value="down"), "updates > 0 > 1: expected one of up_down, down_up"),
    ("smu", {}, put("updates", 2, value=[0]), "updates > 2: expected a list of 2; found one of 1"),
    ("smu", {"set_size": 3}, put("updates", 0, 0, value=3), "updates: update 1: expected a box from 0 to 2"),
    ("smu", {}, put("final_marker_state", "0", value=0), "probe_gt: expected [0]"),
    ("smu", {}, put("inital_marker_state", value={}), "inital_marker_state > 0: this key is missing"),
    ("smu", {}, put("marker_states", 3, "0", value=8), "marker_states: expected"),
    ("smu", {"set_size": 2}, put("probe_order", value=[0, 0]), "probe_order: expected the boxes 0 to 1 in some order"),
    ("smu", {"set_size": 2}, put("box_center_coords", "1", value=[13.0, 49.0]), "box_center_coords > 1: expected about [13.00, 48.00]"),  # noqa: E501
    ("sts", {}, put("gt", 1, value=0), "gt > 1: expected one of 1; found 0"),
    ("sts", {}, put("gt", 0, value=1), "gt > 0: expected one of 2; found 1"),
    ("sts", {}, drop("marker_location", "1"), "marker_location > 1: this key is missing"),
    ("sts", {}, put("marker_location", "0", value=1), "marker_location > 0: there is no marker at this step"),
    ("sts", {}, put("task_gt", 4, value="Up"), "task_gt > 4: expected one of Up_Down, Left_Right, Cue_Up_Down, Cue_Left_Right; found 'Up'"),  # noqa: E501
    ("sts", {}, put("variant", value="Alternate"), "variant: expected 'Cued'"),
    ("vir", {}, put("recognition_gt_index", value=4), "recognition_gt_index: 4 is not among those"),
    ("vir", {}, put("recognition_gt", value=2), "recognition_gt: 2 is not among those"),
    ("vir", {}, put("retention_interval", value=1), "retention_interval: vir: retention_steps cannot be 1"),
    ("vir", {}, put("distractor_item", 0, value=1), "distractor_item: distractor 1: expected a pattern that differs"),
    ("vir", {}, drop("memory_items", "2"), "memory_items > 2: this key is missing"),
    ("vir", {}, put("memory_items", "4", value=[]), "memory_items > 4: only keys from 0 to 3 can be here"),
    ("vir", {}, put("memory_items", "1", value=list(range(17))), "memory_items > 1: expected a list of 18; found one of 17"),  # noqa: E501
    ("vsr", {}, put("recall_gt", value=None), "recall_gt: expected a list of 2; found nothing"),
    ("vsr", {}, put("recall_gt", value=[3, 3]), "recall_gt: 3 occurs too often"),
    ("vsr", {}, put("memory_items", "0", 0, value=36), "memory_items: pattern 1: expected 18 different cells from 0 to 35"),  # noqa: E501
    ("vsrec", {}, put("distractor_diff", value=3), "distractor_diff: vsrec: pattern_distractor_difference cannot be 3"),
    ("vsrec", {}, put("distractor_diff", value=8), "distractor_items: distractor 1: expected a pattern that differs"),
    ("vsrec", {}, put("probe_variant", value="Recall"), "probe_variant: expected 'Recognition'"),
    ("cd_colour", {}, put("memory_array", "1", "color", value="blue"), "memory_array > 1 > color: expected one of red, green; found 'blue'"),  # noqa: E501
    ("cd_colour", {}, put("memory_array", "1", "size", value="small"), "memory_array > 1 > size: expected 'large'"),
    ("cd_colour", {}, put("memory_array", "1", "bar_coords", 0, value=None), "memory_array > 1 > bar_coords: expected four numbers"),  # noqa: E501
    ("cd_colour", {}, put("memory_array", "1", "dash", value=1), "memory_array > 1 > dash: bars have no such key"),
    ("cd_colour", {}, drop("probe_array", "2"), "probe_array > 2: this key is missing"),
    ("cd_colour", {"gt": 0}, put("gt", value=1), "probe_array: the answer is different, but 0 of 2 bars changed"),
    ("cd_colour", {}, put("conjunction_gt", value="Size"), "conjunction_gt: expected nothing, as the other keys have it; found 'Size'"),  # noqa: E501
    ("cd_conjunction", {"gt": 1}, put("conjunction_gt", value=None), "conjunction_gt: expected one of Color, Orientation, Size, Gap; found nothing"),  # noqa: E501
    ("cd_gap", {}, put("retention_interval", value=3), "retention_interval: cd: retention_steps cannot be 3"),
    ("cs", {}, put("variation", value="visual"), "variation: expected one of spatial-spatial"),
    ("cs", {"variation": "visual-visual"}, put("num_distractor", value=2), "num_distractor: expected one of 0, 1, 3, 5; found 2"),  # noqa: E501
    ("cs", {}, put("recall_gt_1", value=8), "recall_gt_1: expected a slot from 0 to 7; found 8"),
    ("cs", {}, put("memory_1_gt", value="049"), "memory_1_gt: expected a movement such as '048'"),
    ("cs", {}, put("memory_1_gt", value="040"), "memory_1_gt: expected a movement such as '048'"),
    ("cs", {}, put("memory_1_gt", value="013"), "_spatial_probe_distractor_order > 0: expected the seven arrows besides"),  # noqa: E501
    ("cs", {}, put("_spatial_probe_distractor_order", 1, value=["048"] * 7), "_spatial_probe_distractor_order > 1: expected the seven arrows"),  # noqa: E501
    ("cs", {"variation": "visual-visual"}, put("mem_distractor_2", 3, value=[1]), "mem_distractor_2 > 3: expected a list of 8; found one of 1"),  # noqa: E501
    ("cs", {"variation": "visual-visual", "num_distractor": 1}, put("distractor_gt_items", 0, value="#fff"), "distractor_gt_items: decision 1: '#fff' is"),  # noqa: E501
    ("cs", {"variation": "visual-visual", "num_distractor": 1}, put("distractor_gts", value=[0]), "distractor_gts: expected a list of 2; found one of 1"),  # noqa: E501
    ("vsr", {}, put("trial_id", value=7), "trial_id: expected a name such as test_000002; found 7"),
    ("vsr", {}, put("trial_id", value=SECOND), f"trial_id: a second trial called {SECOND}"),
]  # fmt: skip


@pytest.mark.sampled(10)
@pytest.mark.parametrize(
    ("name", "having", "change", "message"), WRONG, ids=[f"{name}-{message}" for name, _, _, message in WRONG]
)
def test_a_malformed_trial_is_named_with_its_key(
    tmp_path: Path, name: str, having: dict[str, Any], change: Change, message: str
) -> None:
    trials = trials_of(SETS[name])
    wrong = copy.deepcopy(trials[first(name, **having)])
    change(wrong)
    order = [trials[1], trials[2], wrong]
    folder = write_folder(tmp_path / "data", {SETS[name].folder: {"train": order[:2], "test": order}})
    with pytest.raises(SpanLabError) as told:
        import_worm(folder, tmp_path / "trials")
    start = f"{folder / SETS[name].folder / TRIALS} {SETS[name].folder} > test > 2: {message}"
    assert str(told.value).startswith(start), str(told.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"], "nothing is left"
    report = import_worm(folder, tmp_path / "trials", skip_malformed=True)
    assert [(one.set.split, one.trials, one.skipped) for one in report] == [("train", 2, 0), ("test", 2, 1)]
    assert str(report[1].named[0]).startswith(start)
    assert [one.name for one in TrialsFile(report[1].file)] == [order[0]["trial_id"], order[1]["trial_id"]]


def test_left_out_trials_are_counted(tmp_path: Path, run: Run) -> None:
    trials = trials_of(SETS["vsr"])
    for trial in trials[:9]:
        trial["recall_gt"] = 3
    folder = write_folder(tmp_path / "data", {SETS["vsr"].folder: {"train": trials}})
    told = complaint(*run("import", "worm", folder, "-o", "trials"))
    assert "Visual_Serial_Recall > train > 0: recall_gt" in told
    assert "--skip-malformed" in told
    status, out, err = run("import", "worm", folder, "-o", "trials", "--skip-malformed")
    assert (status, out) == (0, "trials/vsr.train.jsonl: 11 trials\n")
    assert [line[:9] for line in err.splitlines()[1:]] == ["left out:"] * 6
    assert "left out: 4 more trials of Visual_Serial_Recall, train" in err
    file = TrialsFile(tmp_path / "trials" / "vsr.train.jsonl")
    assert file.header.source == {
        "benchmark": "WorM",
        "data_set": "Visual_Serial_Recall",
        "split": "train",
        "skipped": 9,
        "notes": [],
    }
    assert len(list(file)) == 11


def test_a_split_without_a_good_trial_stops_the_import(tmp_path: Path) -> None:
    folder = write_folder(
        tmp_path / "data", {SETS["vsr"].folder: {"train": trials_of(SETS["vsr"]), "test": [{}, 1, None]}}
    )
    with pytest.raises(
        SpanLabError,
        match=r"none of the 3 trials of test can be read; the first: .* > test > 0: list_length: this key is missing",
    ):
        import_worm(folder, tmp_path / "trials", skip_malformed=True)
    assert not (tmp_path / "trials").exists()


BROKEN = [
    ("", "Expecting value: line 1 column 1"),
    ("[]", "expected the splits train, test, gen_test"),
    ("{", "Expecting property name enclosed in double quotes"),
    ('{"train" 1', "Expecting ':' delimiter"),
    ('{"train": {}}', "expected the splits train, test, gen_test"),
    ('{"train": [], "train": []}', "the key 'train' occurs twice"),
    ('{"train": [1 2]}', "Expecting ',' delimiter"),
    ('{"train": [{"a": 1, "a": 2}]}', "the key 'a' occurs twice"),
    ('{"train": [{"a": NaN}]}', "NaN is not a number"),
    ('{"train": [{"a": 1}', "Expecting ',' delimiter"),
    ('{"train": [{"a": ', "Expecting value: line 1 column 18"),
    ('{"train": []} {}', "Extra data"),
    ('{"train": [' + "[" * 100_000, "nested too deep"),
    ('{"train": [{}, {}, x]}', "Expecting value: line 1 column 20"),
    ('{"dev": [{}]}', "expected the splits train, test, gen_test; found 'dev'"),
    ('{"train": [], "test": [], "gen_test": []}', "holds no trials"),
    (b'{"train": ["\xff"]}', "is not UTF-8 text"),
]


@pytest.mark.parametrize(("content", "message"), BROKEN, ids=[message for _, message in BROKEN])
def test_files_that_are_no_lists_of_trials(tmp_path: Path, content: str | bytes, message: str) -> None:
    (folder := tmp_path / "data" / SETS["vsr"].folder).mkdir(parents=True)
    (folder / TRIALS).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(SpanLabError) as told:
        import_worm(tmp_path / "data", tmp_path / "trials", skip_malformed=True)
    assert str(folder / TRIALS) in str(told.value)
    assert message in str(told.value)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_files_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "data", {SETS["vsr"].folder: {"train": trials_of(SETS["vsr"])[:1]}})
    path = folder / SETS["vsr"].folder / TRIALS
    if os.name == "nt" or os.geteuid() == 0:
        path.unlink()
        path.mkdir()
        with pytest.raises(SpanLabError, match="holds no data set of WorM"):
            import_worm(folder, tmp_path / "trials")
        return
    path.chmod(0)
    with pytest.raises(SpanLabError, match=r"cannot be read: Permission denied"):
        import_worm(folder, tmp_path / "trials")
