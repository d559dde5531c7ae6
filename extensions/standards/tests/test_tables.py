"""Tables that other programs write: every scored answer comes over as it was, what is inferred is
said, and what is unclear is refused in a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import Run, complaint

import spanlab
from spanlab.analysis.data.loading import Data, load
from spanlab.analysis.effects.registry import effect
from spanlab.analysis.nback.measures import nback_blocks
from spanlab.exchange.format import read_recipe

PSYCHOPY = (
    "word,congruent,corrAns,practice.thisN,trials.thisN,key_resp.keys,key_resp.corr,key_resp.rt,participant,session,"
    "date,expName,age\n"
    "red,0,left,0,NA,left,1,0.61,P01,001,d1,stroop,47\n"
    ",,,,,,,,P01,001,d1,stroop,47\n"
    "red,0,left,NA,0,left,1,0.5,P01,001,d1,stroop,47\n"
    "blue,1,right,NA,1,left,0,0.6128,P01,001,d1,stroop,47\n"
    "blue,1,,NA,2,None,1,,P01,001,d1,stroop,47\n"
    "red,0,left,NA,3,None,0,,P01,001,d1,stroop,47\n"
)


def psychopy(path: Path, text: str = PSYCHOPY, name: str = "P01_stroop.csv") -> Path:
    (file := path / name).write_text(text, encoding="utf-8-sig")
    return file


def answers(data: Data) -> pd.DataFrame:
    return data.scored.items


def test_a_table_of_psychopy_becomes_a_response_table(run: Run, tmp_path: Path) -> None:
    """R wrote NA in the columns of the loop that a row is not in."""
    psychopy(tmp_path)
    options = ("--factors", "word,congruent", "--practice", "practice", "--recipe", "chance:0.5")
    status, out, err = run("import", "table", "P01_stroop.csv", "-o", "a.csv", *options)
    assert (status, out) == (0, "a.csv: 5 answers (1 of practice) of 1 participant in 1 session\n")
    both = run("import", "table", "P01_stroop.csv", "-o", "b.csv", "--practice", "practice, trials")
    assert "5 answers (5 of practice)" in both[1]
    assert "is read as a table of PsychoPy: answers are the rows with a value in key_resp.corr." in err
    assert "1 row without a scored answer" in err
    assert "47" not in (tmp_path / "a.csv").read_text(encoding="utf-8"), "fields about a person stay behind"
    table = pd.read_csv(tmp_path / "a.csv", dtype=str, keep_default_na=False)
    assert set(table["participant"]) == {"P01"}
    assert set(table["paradigm"]) == {"stroop"}
    assert set(table["chance"]) == {"0.5"}
    assert table["trial"].tolist() == ["1", "2", "3", "4", "5"]
    assert table["practice"].tolist() == ["true", *["false"] * 4]
    assert table["rt_ms"].tolist() == ["610", "500", "612.8", "", ""], "seconds become milliseconds"
    assert table["correct"].tolist() == ["true", "true", "false", "true", "false"]
    assert table["outcome"].tolist() == ["answered"] * 4 + ["omitted"], "to hold still was right once"
    assert table["factor_word"].tolist() == ['"red"', '"red"', '"blue"', '"blue"', '"red"']
    assert table["factor_congruent"].tolist() == ["0", "0", "1", "1", "0"]
    data = load([tmp_path / "a.csv"])
    assert data.cautions == ()
    assert answers(data)["correct"].tolist() == [1.0, 0.0, 1.0, 0.0]


def test_several_components_in_a_row_are_several_answers_of_a_trial(tmp_path: Path) -> None:
    text = "a.keys,a.corr,a.rt,b.keys,b.corr,b.rt,participant,session,date,expName\nx,1,0.5,y,0,0.7,P1,1,d,e\n"
    items = answers(load([psychopy(tmp_path, text)]))
    assert items[["phase", "trial", "ask", "correct", "rt_ms"]].values.tolist() == [
        ["a", 1, 1, 1.0, 500.0],
        ["b", 1, 2, 0.0, 700.0],
    ]


def jspsych(number: int) -> list[dict[str, Any]]:
    return [
        {"trial_type": "instructions", "trial_index": 0, "rt": 900, "subject": f"S{number}"},
        *(
            {
                "trial_type": "html-keyboard-response",
                "trial_index": at,
                "response": "f" if at % 2 else None,
                "correct": bool(at % 2),
                "correct_response": "f",
                "rt": 400 + at if at % 2 else None,
                "subject": f"S{number}",
                "load": 2 * at,
            }
            for at in (1, 2, 3)
        ),
    ]


def test_jspsych_in_json_of_one_or_several_people(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(json.dumps(jspsych(1)), encoding="utf-8")
    (tmp_path / "jatos.txt").write_text("\n".join(json.dumps(jspsych(n)) for n in (1, 2)), encoding="utf-8")
    one, both = (answers(load([tmp_path / name])) for name in ("one.json", "jatos.txt"))
    assert one["correct"].tolist() == [1.0, 0.0, 1.0]
    assert one["outcome"].tolist() == ["answered", "omitted", "answered"]
    assert one["rt_ms"].dropna().tolist() == [401.0, 403.0]
    assert set(both["participant"]) == {"S1", "S2"}


EPRIME = """*** Header Start ***
Experiment: span
Subject: 7
Session: 1
*** Header End ***
\tLevel: 3
\t*** LogFrame Start ***
\tload: 4
\tProbe.ACC: 1
\tProbe.RT: 512
\tProbe.RESP: j
\tProbe.CRESP: j
\t*** LogFrame End ***
\tLevel: 3
\t*** LogFrame Start ***
\tload: 2
\tProbe.ACC: 0
\tProbe.RT: 0
\tProbe.RESP:
\tProbe.CRESP: f
\t*** LogFrame End ***
Level: 1
*** LogFrame Start ***
Clock: 1
*** LogFrame End ***
"""


def test_the_log_and_the_export_of_eprime(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text(EPRIME, encoding="utf-16")
    export = (
        "ExperimentName\tSubject\tSession\tload\tProbe.ACC\tProbe.RT\tProbe.RESP\tProbe.CRESP\n"
        "span\t7\t1\t4\t1\t512\tj\tj\nspan\t7\t1\t2\t0\t0\tNULL\tf\n"
    )
    (tmp_path / "export.txt").write_text(export, encoding="utf-16")
    (tmp_path / "edat.txt").write_text("C:\\data\\span-7-1.edat3\n" + export, encoding="utf-16")
    for name in ("log.txt", "export.txt", "edat.txt"):
        items = answers(load([tmp_path / name]))
        assert items[["participant", "paradigm", "outcome"]].values.tolist() == [
            ["7", "span", "answered"],
            ["7", "span", "omitted"],
        ]
        assert items["rt_ms"].iloc[0] == 512.0
        assert items["set_size"].tolist() == [4, 2]


def test_opensesame_and_labjs(tmp_path: Path) -> None:
    (tmp_path / "os.csv").write_text(
        "subject_nr,title,correct,response,response_time,correct_response,datetime,load\n"
        '3,wm,1,j,640.5,j,"d 1",4\n3,wm,0,None,3000,f,"d 1",2\n',
        encoding="utf-8",
    )
    opened = answers(load([tmp_path / "os.csv"]))
    assert opened[["participant", "paradigm", "correct", "rt_ms", "outcome"]].values.tolist() == [
        ["3", "wm", 1.0, 640.5, "answered"],
        ["3", "wm", 0.0, 3000.0, "omitted"],
    ]
    (tmp_path / "lab.csv").write_text(
        "sender,ended_on,duration,response,correct,correctResponse,participant_id\n"
        "intro,response,900,,,,p9\nprobe,response,505.2,same,true,same,p9\nprobe,timeout,2000,,false,same,p9\n",
        encoding="utf-8",
    )
    probes = answers(load([tmp_path / "lab.csv"]))
    assert probes[["participant", "correct", "rt_ms", "outcome"]].values.tolist() == [
        ["p9", 1.0, 505.2, "answered"],
        ["p9", 0.0, 2000.0, "omitted"],
    ]


@pytest.mark.parametrize("place", ["func", "eeg", "beh"])
def test_events_of_anybodys_bids(tmp_path: Path, place: str) -> None:
    (folder := tmp_path / "ds" / "sub-04" / "ses-2" / place).mkdir(parents=True)
    (tmp_path / "ds" / "dataset_description.json").write_text("{}", encoding="utf-8")
    (folder / "sub-04_ses-2_task-nback_run-1_events.tsv").write_text(
        "onset\tduration\ttrial_type\tresponse_time\taccuracy\n0\t0.5\ttarget\tn/a\t0\n2\t0.5\tnontarget\t0.51\t1\n",
        encoding="utf-8",
    )
    items = answers(load([tmp_path / "ds"]))
    assert items[["participant", "session", "paradigm", "correct"]].values.tolist() == [
        ["04", "2", "nback", 0.0],
        ["04", "2", "nback", 1.0],
    ]
    assert items["rt_ms"].dropna().tolist() == [510.0]
    assert set(items["record_trial_type"].astype(str)) == {"target", "nontarget"}
    assert items["record_match"].astype(str).tolist() == ["true", "false"]
    assert spanlab.compare(tmp_path / "ds", tmp_path / "page").files, "nothing says how many back"


ROWS = [(size, change, right) for size in (2, 8) for change in (1, 0) for right in (1, 0, 1)]
#: One person's change detection, as many would write it down.
PLAIN = pd.DataFrame(
    [
        {
            "subj": "S1",
            "setsize": size,
            "change": change,
            "resp": change if right else 1 - change,
            "acc": right,
            "rt": 0.5,
        }
        for size, change, right in ROWS
    ]
)


@pytest.mark.parametrize(
    "table",
    [
        PLAIN,
        PLAIN.assign(acc=PLAIN["acc"].map({1: "correct", 0: "incorrect"})),
        PLAIN.assign(acc=PLAIN["acc"].map({1: "T", 0: "F"})),
        PLAIN.assign(acc=100 * PLAIN["acc"]),
        PLAIN.assign(wrong=1 - PLAIN["acc"]).drop(columns="acc"),
        PLAIN.rename(columns={"subj": "Vpn", "setsize": "Set Size", "acc": "Korrekt", "rt": "Reaktionszeit"}),
        PLAIN.assign(
            change=PLAIN["change"].map({1: "change", 0: "no change"}),
            resp=PLAIN["resp"].map({1: "change", 0: "no change"}),
        ),
        PLAIN.assign(outcome=[("miss", "hit")[acc] if change else ("FA", "CR")[acc] for _, change, acc in ROWS]).drop(
            columns=["acc", "resp", "change"]
        ),
    ],
    ids=["0 and 1", "words", "T and F", "percent", "errors", "German", "no change", "hits and misses"],
)
def test_what_many_laboratories_write_is_read_as_it_is_meant(tmp_path: Path, table: pd.DataFrame) -> None:
    data = load([_written(table, tmp_path / "cd.csv")])
    items = answers(data)
    assert items["correct"].tolist() == [right for *_, right in ROWS]
    assert items["set_size"].tolist() == [size for size, *_ in ROWS]
    assert set(items["rt_ms"]) == {500.0}
    found = effect("sensitivity").table(data.scored, "cd")
    counts = found[found["measure"] == "d′"].groupby("set_size")[["hit_rate", "false_alarm_rate"]].first()
    assert counts.to_numpy().ravel().tolist() == pytest.approx([2 / 3, 1 / 3] * 2)


@pytest.mark.parametrize(
    "written",
    [
        PLAIN.to_csv(index=False, sep="|").encode(),
        PLAIN.assign(wort="Größe").to_csv(index=False, sep=";", decimal=",").encode("cp1252"),
        b"# exported by hand\n# twice\n" + PLAIN.to_csv(index=False).encode(),
        b"a title\n" + PLAIN.to_csv(index=False).replace("\n", "\n\n").encode(),
    ],
    ids=["bars", "Windows", "comments", "title"],
)
def test_text_of_other_programs_is_read(tmp_path: Path, written: bytes) -> None:
    (tmp_path / "t.csv").write_bytes(written)
    assert answers(load([tmp_path / "t.csv"]))["correct"].tolist() == [right for *_, right in ROWS]


@pytest.mark.parametrize("orient", ["records", "split", "columns", "index"])
def test_json_in_any_shape_of_pandas(tmp_path: Path, orient: Any) -> None:
    PLAIN.to_json(tmp_path / "t.json", orient=orient)
    assert answers(load([tmp_path / "t.json"]))["correct"].tolist() == [right for *_, right in ROWS]


@pytest.mark.parametrize(("scale", "period"), [(1.0, 360.0), (0.5, 180.0), (np.pi / 180, 360.0)])
def test_answers_on_a_circle_without_scores_have_errors(tmp_path: Path, scale: float, period: float) -> None:
    random = np.random.RandomState(3)
    target, away = random.uniform(0, 360, 120), random.normal(0, 20, 120)
    table = pd.DataFrame({"id": "S1", "target": scale * target, "response": scale * ((target + away) % 360)})
    data = load([_written(table, tmp_path / "t.csv")])
    assert answers(data)["error"].to_numpy() == pytest.approx(away * period / 360, abs=1e-6)
    assert any("angles of a circle" in said for said in data.cautions)


def test_estimates_are_no_angles_and_sizes_in_degrees_no_set_sizes(tmp_path: Path) -> None:
    random = np.random.RandomState(3)
    truth = random.uniform(0, 100, 120)
    table = pd.DataFrame({"id": "S1", "size": 1.5, "target": truth, "response": truth + random.normal(0, 9, 120)})
    items = answers(load([_written(table, tmp_path / "t.csv")]))
    assert "error" not in items.columns
    assert items["set_size"].isna().all()


LISTS = pd.DataFrame({"id": ["S1", "S2"], "presented": ["BCDF", "FGHJ"], "recalled": ["BDCF", "FGH-"]})


def test_a_recipe_is_suggested_for_lists_in_a_row(run: Run, tmp_path: Path) -> None:
    """Whole lists in one cell, and items beside each other: with the suggestion, positions and transpositions."""
    beside = {f"{name}{at + 1}": LISTS[name].str[at] for name in ("presented", "recalled") for at in range(4)}
    for table in (LISTS, pd.DataFrame({"id": LISTS["id"], **beside})):
        table.replace("-", None).to_csv(tmp_path / "t.csv", index=False)
        assert "--suggest" in complaint(*run("stats", "t.csv"))
        (tmp_path / "r.yaml").write_text(run("import", "table", "t.csv", "--suggest")[1], encoding="utf-8")
        data = load([tmp_path / "t.csv"], recipe=read_recipe(str(tmp_path / "r.yaml")))
        items = answers(data)
        assert items["correct"].tolist() == [1, 0, 0, 1, 1, 1, 1, 0]
        assert items["outcome"].tolist()[-1] == "omitted"
        assert set(items["list_length"]) == {4}
        moved = effect("transpositions").table(data.scored, "t").set_index("distance")["mean"]
        assert moved[1] == pytest.approx(1 / 8)


def test_lists_of_which_only_what_was_recalled_is_there(tmp_path: Path) -> None:
    """Serial positions in the order of recall; 9 is an intrusion, and 2 comes twice."""
    (tmp_path / "fr.txt").write_text("1 1 3 2 2 9\n1 2 1 0 0 0\n", encoding="utf-8")
    (tmp_path / "r.yaml").write_text(
        "names: [participant, trial, o1, o2, o3, o4]\nvalues: {list_length: 4}\n"
        "long: {number: output_position, columns: {serial_position: 'o{}'}}\n",
        encoding="utf-8",
    )
    scored = load([tmp_path / "fr.txt"], recipe=read_recipe(str(tmp_path / "r.yaml"))).scored
    items = scored.items.sort_values(["trial", "serial_position"])
    assert items["correct"].tolist() == [0, 1, 1, 0, 1, 0, 0, 0]
    assert items["output_position"].dropna().tolist() == [2, 1, 1]
    assert scored.intrusions["output_position"].tolist() == [4]
    first = effect("first_recalled").table(scored, "fr").set_index("recalled_first")["mean"]
    assert (first["first item"], first["last four"]) == (0.5, 0.5)


def test_questions_of_a_trial_that_nothing_numbers(tmp_path: Path) -> None:
    table = pd.DataFrame({"id": 1, "session": 1, "trial": [1, 1, 2, 2] * 2, "acc": [1, 0, 1, 1, 0, 0, 1, 0]})
    data = load([_written(table.assign(RT=range(501, 509)), tmp_path / "t.csv")])
    assert answers(data)[["block", "trial", "ask"]].to_numpy().tolist() == [
        [block, trial, ask] for block in (1, 2) for trial in (1, 2) for ask in (1, 2)
    ]
    assert sum("begin again" in said or "questions of a trial" in said for said in data.cautions) == 2


def test_errors_beside_each_other_are_suggested_with_their_times(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("sub,trial,err1,rt1,err2,rt2\n4,1,10,0.5,-170.5,0.75\n", encoding="utf-8")
    (tmp_path / "r.yaml").write_text(run("import", "table", "t.csv", "--suggest")[1], encoding="utf-8")
    items = answers(load([tmp_path / "t.csv"], recipe=read_recipe(str(tmp_path / "r.yaml"))))
    assert items[["ask", "error", "rt_ms"]].to_numpy().tolist() == [[1, 10, 500], [2, -170.5, 750]]


def test_a_suggestion_has_what_is_known_where_something_is_missing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("sub,RT,verdict\n4,500,fine\n", encoding="utf-8")
    (tmp_path / "r.yaml").write_text(run("import", "table", "t.csv", "--suggest")[1], encoding="utf-8")
    recipe = read_recipe(str(tmp_path / "r.yaml"))
    assert recipe is not None
    assert recipe.columns == {"participant": "sub", "rt_ms": "RT"}


def test_positions_from_0_and_items_that_scores_name(tmp_path: Path) -> None:
    table = pd.DataFrame({"id": "S1", "trial": [1] * 3 + [2] * 3, "position": [0, 1, 2] * 2, "letter": [*"BCDFGH"]})
    table = table.assign(response=[*"CBDFGH"], acc=[0, 0, 1, 1, 1, 1])
    data = load([_written(table, tmp_path / "t.csv")])
    items = answers(data)
    assert items[["serial_position", "list_length"]].to_numpy().tolist() == [[1, 3], [2, 3], [3, 3]] * 2
    assert items["correct_answer"].astype(str).tolist() == [*"BCDFGH"]
    assert len(effect("transpositions").table(data.scored, "t"))


@pytest.mark.parametrize("how", [{"n": "2", "type": ("nontarget", "target")}, {"level": "2-back", "is_target": (0, 1)}])
def test_nback_says_what_matches_and_how_many_back(tmp_path: Path, how: dict[str, Any]) -> None:
    (levels, level), (kinds, (no, yes)) = how.items()
    matches = [False, False, True, False, True, False]
    table = pd.DataFrame({"id": "S1", levels: level, kinds: [yes if match else no for match in matches], "acc": 1})
    assert nback_blocks(load([_written(table, tmp_path / "t.csv")]).scored)[
        ["n", "hits", "false_alarms"]
    ].to_numpy().tolist() == [[2, 2, 0]]


def test_a_program_s_table_has_its_set_size_and_levels_in_brackets(tmp_path: Path) -> None:
    table = pd.DataFrame({"Subject": [1, 1], "Session": 1, "SetSize": [2, 4]})
    table = table.assign(**{"Probe.ACC[Trial]": [1, 0], "Probe.RT[Trial]": [500, 600], "Probe.RESP[Trial]": ["j", "f"]})
    assert answers(load([_written(table, tmp_path / "t.csv")]))[
        ["set_size", "correct", "rt_ms"]
    ].to_numpy().tolist() == [[2, 1, 500], [4, 0, 600]]


def test_a_file_without_a_header_needs_names_and_says_so_once(run: Run, tmp_path: Path) -> None:
    (tmp_path / "cd.dat").write_text("1 5 0 1\n1 4 1 1\n2 2 0 0\n", encoding="utf-8")
    assert "has no header" in complaint(*run("stats", "cd.dat"))
    _, out, _ = run("import", "table", "cd.dat", "--suggest")
    assert "  - column 4  # 1, 1, 0" in out
    (tmp_path / "r.yaml").write_text(
        "names: [participant, set_size, change, said]\ncolumns: {correct: change == said}\nvalues: {paradigm: cd}\n",
        encoding="utf-8",
    )
    items = answers(load([tmp_path / "cd.dat"], recipe=read_recipe(str(tmp_path / "r.yaml"))))
    assert items[["participant", "set_size", "correct"]].to_numpy().tolist() == [["1", 5, 0], ["1", 4, 1], ["2", 2, 1]]


def test_a_recipe_makes_a_wide_table_long_and_calculates(tmp_path: Path) -> None:
    (file := tmp_path / "sub-12_lists.csv").write_text(
        "list,item1,item2,resp1,resp2,t1,t2\n1,a,b,a,-9,0.5,1.5\n2,c,d,d,d,0.25,9.0\n", encoding="utf-8"
    )
    (tmp_path / "r.yaml").write_text(
        "columns: {participant: 'FILE: sub-(\\d+)', trial: list}\n"
        "long: {number: serial_position, columns: {correct_answer: 'item{}', answer: 'resp{}', rt_ms: 't{}'}}\n"
        "units: {rt_ms: s}\nmissing: ['-9']\nkeep: list < 3\n",
        encoding="utf-8",
    )
    items = answers(load([file], recipe=read_recipe(str(tmp_path / "r.yaml"))))
    assert items[["participant", "trial", "serial_position", "correct", "outcome", "rt_ms"]].values.tolist() == [
        ["12", 1, 1, 1.0, "answered", 500.0],
        ["12", 1, 2, 0.0, "omitted", 1500.0],
        ["12", 2, 1, 0.0, "answered", 250.0],
        ["12", 2, 2, 1.0, "answered", 9000.0],
    ]


def test_a_calculation_replaces_a_column_of_the_same_name(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,acc,rt_ms\n1,1,0.5\n", encoding="utf-8")
    assert answers(load([tmp_path / "t.csv"], recipe=read_recipe("rt_ms * 1000=rt_ms")))["rt_ms"].tolist() == [500.0]


def test_a_calculation_runs_no_code(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,acc\n1,1\n", encoding="utf-8")
    for wanted in ("__import__('os').getcwd()", "acc.sum()", "[acc]", "acc if acc else 0"):
        (recipe := tmp_path / "r.yaml").write_text(json.dumps({"columns": {"correct": wanted}}), encoding="utf-8")
        with pytest.raises(Exception, match="has no column"):
            load([tmp_path / "t.csv"], recipe=read_recipe(str(recipe)))


def wheel(errors: list[float], **more: object) -> pd.DataFrame:
    return pd.DataFrame({"subject": "P1", "set_size": 3, "error": errors, **more})


def test_angles_are_degrees_the_shorter_way_round(tmp_path: Path) -> None:
    file = tmp_path / "wheel.csv"
    cases: list[tuple[list[float], list[float], float]] = [
        ([-170.0, 190.0, 350.0, 20.5], [-170.0, -170.0, -10.0, 20.5], 360.0),
        ([0.1, -3.1, 1.5707963], [5.7296, -177.6169, 90.0], 360.0),
        ([89.0, -85.0, 3.0], [89.0, -85.0, 3.0], 180.0),
    ]
    for given, degrees, period in cases:
        wheel(given).to_csv(file, index=False)
        data = load([file])
        assert answers(data)["error"].tolist() == pytest.approx(degrees, abs=1e-3)
        assert set(answers(data)["period"]) == {period}
        assert answers(data)["correct"].tolist() == [float(abs(one) <= period / 8) for one in degrees]
        assert any("(period)" in said for said in data.cautions)
    assert any("beyond half a circle" in said for said in load([_written(wheel([10.0, 200.0]), file)]).cautions)


def _written(table: pd.DataFrame, file: Path) -> Path:
    table.to_csv(file, index=False)
    return file


@pytest.mark.parametrize(("times", "said"), [([0.51, 1.2], True), ([510.0, 1200.0], False)])
def test_times_in_seconds_become_milliseconds(tmp_path: Path, times: list[float], said: bool) -> None:
    data = load([_written(pd.DataFrame({"subject": "P1", "acc": [1, 0], "RT": times}), tmp_path / "t.csv")])
    assert answers(data)["rt_ms"].tolist() == [510.0, 1200.0]
    assert any("taken as seconds" in sentence for sentence in data.cautions) is said


def test_a_cell_that_begins_like_a_formula_is_none(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('subject,acc\n"=HYPERLINK(1)",1\n', encoding="utf-8")
    assert run("import", "table", "t.csv", "-o", "a.csv")[0] == 0
    assert pd.read_csv(tmp_path / "a.csv")["participant"].tolist() == ["'=HYPERLINK(1)"]
    assert set(answers(load([tmp_path / "a.csv"]))["participant"]) == {"=HYPERLINK(1)"}, "read again, it is what it was"


@pytest.mark.parametrize(
    ("text", "options", "told"),
    [
        (PSYCHOPY.replace("participant", "who"), (), "has no column that names the participant"),
        (PSYCHOPY.replace("P01", "None"), (), "no column that names the participant"),
        (PSYCHOPY.replace(",1,0.5,", ",maybe,0.5,"), (), "which is neither true nor false"),
        (PSYCHOPY, ("--practice", "nowhere"), "it has practice, trials"),
        (PSYCHOPY, ("--factors", "wrod"), "has no column 'wrod'; did you mean 'word'?"),
        ("subject,acc,acc\n1,1,1\n", (), "several columns called acc"),
    ],
)
def test_what_is_unclear_is_refused(run: Run, tmp_path: Path, text: str, options: tuple[str, ...], told: str) -> None:
    psychopy(tmp_path, text)
    assert told in complaint(*run("import", "table", "P01_stroop.csv", "-o", "a.csv", *options))
    assert not (tmp_path / "a.csv").exists()
