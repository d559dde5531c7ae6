"""Analyses of variance: eight designs as afex has them, and tables of people as they come."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from command_line import Run, complaint, output_of

from spanlab.analysis.data.loading import load
from spanlab.analysis.stats.factorial import _measured, anova, contrasts_of, factorial
from spanlab.analysis.stats.likeness import likeness
from spanlab.core.errors import SpanLabError

#: Made up; the tables are those of afex 1.2-1 (R), with type III sums of squares and the correction of Greenhouse
#: and Geisser, and of emmeans 1.8.4 (multivariate model, Holm's correction): one, two and three factors within
#: people, groups of unequal size, and both.
DESIGNS: list[dict[str, Any]] = json.loads(
    (Path(__file__).resolve().parents[2] / "golden" / "afex.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("design", DESIGNS, ids=[f"{[*one['within']]}-{[*one['between']]}" for one in DESIGNS])
def test_tables_are_those_of_afex(design: dict[str, Any]) -> None:
    groups = {name: np.array(codes) for name, codes in design["between"].items()}
    table = anova(np.array(design["cells"]), design["within"], groups).set_index("effect")
    assert {*table.index} == {row["effect"] for row in design["afex"]}
    for row in design["afex"]:
        for name, value in row.items():
            if name != "effect" and value is not None:
                assert table.at[row["effect"], name] == pytest.approx(value, rel=1e-9, abs=1e-12), name
    many = {name: int(codes.max()) + 1 for name, codes in groups.items()} | design["within"]
    levels = {name: [f"{name}{level}" for level in range(number)] for name, number in many.items()}
    rows = contrasts_of(np.array(design["cells"]), [*groups.values()], levels)
    named = {tuple(row[:3]): row for row in rows[["factor", "at", "contrast", *NUMBERS]].to_numpy().tolist()}
    assert len(rows) == len(design["emmeans"])
    for factor, at, contrast, *numbers in design["emmeans"]:
        assert named[factor, f"{at[0]} {at}" if at else "", contrast][3:] == pytest.approx(numbers, rel=1e-7)


@pytest.mark.parametrize("design", DESIGNS, ids=[f"{[*one['within']]}-{[*one['between']]}" for one in DESIGNS])
def test_tables_with_missing_cells_are_those_of_afex_on_complete_people(design: dict[str, Any], tmp_path: Path) -> None:
    cells, missing = 500 + 300 * np.array(design["cells"]), {tuple(one) for one in design["missing"]}
    rows = [
        {f"{name}x": f"{name}{level}" for name, level in zip(design["within"], levels, strict=True)}
        | {f"{name}x": f"{name}{codes[person]}" for name, codes in design["between"].items()}
        | {"participant": f"P{person:02}", "correct": 1, "rt_ms": mean + step}
        for person, of_person in enumerate(cells)
        for at, (levels, mean) in enumerate(
            zip(product(*map(range, design["within"].values())), of_person, strict=True)
        )
        for step in (-7, 7)
        if (person, at) not in missing
    ]
    pd.DataFrame(rows).assign(trial=range(len(rows))).to_csv(tmp_path / "t.csv", index=False)
    factors, groups = ([f"{name}x" for name in design[which]] for which in ("within", "between"))
    table = factorial(load([tmp_path / "t.csv"]).scored, factors, groups, measure="mean rt").anova
    found = {frozenset(name[0] for name in row["effect"].split(":")): row for row in table.to_dict("records")}
    assert len(found) == len(design["afex_of_complete"])
    for row in design["afex_of_complete"]:
        for name in ("df", "df_error", "f", "p", "ges", "epsilon"):
            if row[name] is not None:
                expected = pytest.approx(row[name], rel=1e-9, abs=1e-12)
                assert found[frozenset(row["effect"].split(":"))][name] == expected, name


NUMBERS = ["estimate", "se", "df", "low", "high", "p_holm"]


def people(effect: float, interaction: float = 0.0, groups: int = 2, persons: int = 16) -> pd.DataFrame:
    """Twenty trials of each condition; ``effect`` is of the load, ``interaction`` of load and group."""
    random, rows = np.random.default_rng(5), []
    for person, load_, cue in product(range(persons), (1, 2), ("no", "yes")):
        chance = 0.7 + random.normal(0, 0.04) - effect * (load_ == 2) - interaction * (load_ == 2) * (person % groups)
        for right in random.random(20) < chance:
            rows.append(
                (f"P{person:02d}", len(rows), f"g{person % groups}", load_, cue, int(right), 500.0 + 50 * load_)
            )
    return pd.DataFrame(rows, columns=["participant", "trial", "group", "many", "cue", "correct", "rt_ms"])


def analysed(table: pd.DataFrame, tmp_path: Path, **options: Any) -> Any:
    table.to_csv(tmp_path / "t.csv", index=False)
    return factorial(load([tmp_path / "t.csv"]).scored, ["many", "cue"], ["group"], **options)


def test_what_is_planted_is_found_and_nothing_else(tmp_path: Path) -> None:
    table = analysed(people(0.25), tmp_path).anova.set_index("effect")
    assert table.loc["many", "p"] < 0.001
    assert (table.drop("many")["p"] > 0.01).all()
    table = analysed(people(0.1, interaction=0.5), tmp_path).anova.set_index("effect")
    assert table.loc["group:many", "p"] < 0.001
    times = analysed(people(0.1), tmp_path, measure="log rt").anova.set_index("effect")
    assert times.loc["many", "f"] > 1e6, "times differ by load alone"


def test_whoever_lacks_a_condition_is_left_out_and_counted(tmp_path: Path) -> None:
    table = people(0.2)
    found = analysed(
        table[~((table["participant"] == "P03") & (table["many"] == 2) & (table["cue"] == "yes"))], tmp_path
    )
    assert (found.people, found.left_out) == (15, 1)
    pd.testing.assert_frame_equal(found.anova, analysed(table[table["participant"] != "P03"], tmp_path).anova)


def test_the_mixed_model_of_times_is_that_of_lme4(tmp_path: Path) -> None:
    """Groups of five and nine, between 4 and 15 answers, and two people who lack a cell; estimates, standard
    errors, degrees of freedom and F are those of lmerTest 3.1-3 and emmeans."""
    random, rows = np.random.RandomState(4), list[dict[str, Any]]()
    for person in range(14):
        own, group = random.normal(0, 0.2), "old" if person % 3 == 0 else "young"
        for delay, cue in product((100, 400, 2000), ("no", "yes")):
            if person in (2, 5) and (delay, cue) == (400, "yes"):
                continue
            cell = own + random.normal(0, 0.12)
            for _ in range(random.randint(4, 16)):
                right = int(random.rand() < 0.85)
                mean = 6.2 + cell + 0.1 * (delay == 2000) + 0.05 * (cue == "yes") * (group == "old")
                rows.append({"participant": f"P{person:02d}", "group": group, "delay": delay, "cue": cue})
                rows[-1] |= {"trial": len(rows), "correct": right, "rt_ms": np.exp(mean + random.normal(0, 0.25))}
    pd.DataFrame(rows).to_csv(tmp_path / "t.csv", index=False)
    found = factorial(load([tmp_path / "t.csv"]).scored, ["delay", "cue"], ["group"], "log rt")
    mixed = found.mixed[found.mixed["at"] == ""].set_index("contrast")
    for contrast, estimate, se, df in (
        ("old minus young", -0.2125551, 0.1102419, 12.10541),
        ("100 minus 400", -0.02262875, 0.0345171, 62.17983),
        ("100 minus 2000", -0.18223639, 0.03336286, 57.41974),
        ("no minus yes", -0.02906402, 0.02759538, 57.52876),
    ):
        assert mixed["estimate"][contrast] == pytest.approx(estimate, abs=0.002)
        assert mixed["se"][contrast] == pytest.approx(se, rel=0.04)
        assert mixed["df"][contrast] == pytest.approx(df, rel=0.04)
    effects = dict(zip(found.terms["term"], found.terms["f"], strict=True))
    expected = {"group": 3.7175, "delay": 17.5213, "cue": 1.1093, "group:delay": 3.756, "group:delay:cue": 2.5344}
    assert {name: effects[name] for name in expected} == pytest.approx(expected, rel=0.005)


def test_levels_stand_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    table = people(0.2)
    table.assign(many=np.where(table["many"] == 1, 2000, 400)).to_csv(tmp_path / "t.csv", index=False)
    differences = likeness(load([tmp_path / "t.csv"]).scored.parts["t"], "t", "record_many")
    assert [text.partition(": ")[2] for text in differences["contrast"]] == ["2000 minus 400"]


def test_sensitivity_and_items_held_are_those_of_each_person(tmp_path: Path) -> None:
    random, rows = np.random.RandomState(7), list[dict[str, Any]]()
    for person, size, trial in product(range(9), (2, 6), range(30)):
        changed, right = bool(trial % 2), random.rand() < (0.95 if size == 2 else 0.7)
        words = ("different", "same") if changed else ("same", "different")
        rows.append({"participant": f"P{person}", "set_size": size, "trial": len(rows), "correct": int(right)})
        rows[-1] |= {"correct_answer": words[0], "answer": words[not right], "chance": 0.5}
    table = pd.DataFrame(rows)
    table.to_csv(tmp_path / "t.csv", index=False)
    scored = load([tmp_path / "t.csv"]).scored
    said = (table["answer"] == "different").groupby([table["participant"], table["set_size"], table["correct_answer"]])
    count, many = said.sum().unstack(), said.size().unstack()
    z = scipy.stats.norm.ppf((count + 0.5) / (many + 1))
    each, rates = pd.Series(z[:, 0] - z[:, 1], count.index).unstack(), count / many
    k = ((rates["different"] - rates["same"]) * rates.index.get_level_values("set_size")).unstack()
    for measure, values in (("d'", each), ("Cowan's K", k)):
        (row,) = factorial(scored, ["set_size"], [], measure).anova.to_dict("records")
        t = scipy.stats.ttest_rel(values[2], values[6]).statistic
        assert (row["f"], row["d_z"]) == pytest.approx((t**2, abs(t) / 3), rel=1e-9)
    with pytest.raises(SpanLabError, match="some people have several levels of set_size"):
        factorial(scored, [], ["set_size"], "accuracy")
    held = _measured(scored, "t", "Cowan's K")
    kept = _measured(
        replace(scored, items=scored.items.assign(outcome=np.where(np.arange(len(table)) % 7, "answered", "omitted"))),
        "t",
        "Cowan's K",
    )
    assert {*kept["changed"][kept["outcome"] == "omitted"]} == {True}, "silence is no false alarm"
    assert len(kept) < len(held)


def test_the_command_takes_several_conditions_and_groups(run: Run, tmp_path: Path) -> None:
    people(0.25).to_csv(tmp_path / "t.csv", index=False)
    out = output_of(*run("stats", "t.csv", "--by", "many", "--by", "cue", "--between", "group", "-o", "tables"))
    assert "t: analysis of variance of accuracy, 16 people" in out
    assert "group:many:cue" in out
    assert pd.read_csv(tmp_path / "tables" / "stats_anova_t.csv")["effect"].nunique() == 7
    assert "has no column 'manny'; did you mean 'many'" in complaint(
        *run("stats", "t.csv", "--by", "manny", "--by", "cue")
    )
    people(0.25).rename(columns={"many": "n"}).to_csv(tmp_path / "n.csv", index=False)
    assert "column 'n' of your file is read with --recipe n=factor_OTHER" in complaint(
        *run("stats", "n.csv", "--by", "n")
    )
    assert "factor_many" in run("stats", "n.csv", "--recipe", "n=factor_many", "--by", "many")[1]
    assert "t: analysis of variance of log rt" in run("stats", "t.csv", "--by", "many", "--measure", "log rt")[1]
    assert "--margin is for" in complaint(*run("stats", "t.csv", "--between", "group", "--margin", "5points"))
    people(0.25).assign(rt_ms=-1.0).to_csv(tmp_path / "e.csv", index=False)
    assert "too few people" in complaint(*run("stats", "e.csv", "--between", "group", "--measure", "mean rt"))
    people(0.0).assign(correct=1).to_csv(tmp_path / "e.csv", index=False)
    assert run("stats", "e.csv", "--by", "many", "--by", "cue")[2].count("\n") <= 1, "nothing of division by 0"
    people(0.25).rename(columns={"many": "set_size"}).to_csv(tmp_path / "n.csv", index=False)
    assert "correct ~ group * set_size" in run("stats", "n.csv", "--by", "set_size", "--between", "group")[1]
    four = [part for name in ("many", "cue", "group", "correct") for part in ("--by", name)]
    assert "one to 3 factors" in complaint(*run("stats", "t.csv", *four))
