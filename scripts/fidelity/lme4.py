"""Fits the mixed-effects models of data that ship with lme4 too, and writes how far its estimates
are from SpanLab's into ``docs/measurements.md``.

    python scripts/fidelity/lme4.py            fits all of them (minutes) and writes the table; needs Rscript with lme4 (apt install r-base-core r-cran-lme4)

Data: published counts of N-back blocks (24 answers each; ``analysis/published/nback_blocks.csv``),
and recorded sessions of people (``tests/golden/sessions``). Both sides
maximise the likelihood without priors, so that the models are the same; what SpanLab prints, with
its priors and the restricted likelihood, stands beside. Logistic models are compared by Laplace's
approximation on both sides. In probit models lme4 takes the expected curvature for it, SpanLab the
observed one; with one random effect the script has lme4 integrate by quadrature (25 nodes) instead,
which is as good as exact.
"""  # noqa: E501

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from spanlab.analysis.data.loading import load
from spanlab.analysis.data.scoring import Scored, score_table
from spanlab.analysis.data.style import of_kinds
from spanlab.analysis.stats.laplace import Fit, Laplace, Probit, fit
from spanlab.analysis.stats.mixed_model import PRIOR_SD, Cells, sort_cells
from spanlab.analysis.stats.r_export import write_r, write_r_of_sensitivity
from spanlab.analysis.stats.sensitivity_model import sensitivity_model

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "measurements.md"
BEGIN, END = "<!-- measured by scripts/fidelity/lme4.py -->", "<!-- end of what lme4 has -->"
#: Tasks of the published study whose right answers are compared, and those whose sensitivity is.
LOGISTIC = (
    "verbal",
    "verbal_with_noise",
    "verbal_with_feedback",
    "verbal_think_by_step",
    "spatial_3x3",
    "spatial_7x7",
    "spatial_abstraction",
    "spatial_with_noise",
)
PROBIT = ("spatial_4x4", "spatial_with_feedback")
#: Recorded paradigms of people.
RECORDED = ("vsr", "signs")


@dataclass(frozen=True)
class Compared:
    """One data set, fitted twice.

    Parameters
    ----------
    name, model, answers : the data, the model in the notation of R, and how many answers there are
    estimates, errors : of each fixed effect, the difference of the estimates in lme4's standard
        errors, and the ratio of the standard errors
    sds, theirs : standard deviations of the random effects: SpanLab's without priors, and lme4's
    printed : the difference of what SpanLab prints (with priors, restricted likelihood) from lme4,
        in lme4's standard errors
    """

    name: str
    model: str
    answers: int
    estimates: np.ndarray
    errors: np.ndarray
    sds: tuple[float, ...]
    theirs: tuple[float, ...]
    printed: np.ndarray

    @property
    def row(self) -> str:
        spread = (
            ", ".join(f"{mine:.3f} and {other:.3f}" for mine, other in zip(self.sds, self.theirs, strict=True))
            or "none"
        )
        cells = (
            self.name,
            f"`{self.model.replace('|', chr(92) + '|')}`",
            f"{self.answers:,}",
            str(len(self.estimates)),
            f"{np.abs(self.estimates).max():.4f}",
        )
        return (
            f"| {' | '.join(cells)} | {100 * np.abs(self.errors - 1).max():.2f} | {spread} |"
            f" {np.abs(self.printed).max():.2f} |"
        )


def blocks(task: str) -> pd.DataFrame:
    """The answers of the published blocks of a task, one by one: a block is a trial as taken."""
    table = pd.read_csv(ROOT / "analysis" / "published" / "nback_blocks.csv")
    rows = []
    for at, block in enumerate(table[table["variant"] == task].to_dict("records")):
        for name, answer, right in (
            ("hits", "match", True),
            ("misses", "match", False),
            ("false_alarms", "no match", False),
            ("correct_rejections", "no match", True),
        ):
            rows += [(block["model"], int(block["n"]), at + 1, f'"{answer}"', right)] * int(block[name])
    made = pd.DataFrame(rows, columns=["agent", "factor_n", "trial", "correct_answer", "correct"])
    fixed = {
        "paradigm": "nback",
        "agent_kind": "chat",
        "participant": "",
        "session": "published",
        "practice": False,
        "chance": 0.5,
        "trial_id": "",
        "rt_ms": np.nan,
    }
    asked = made.groupby("trial").cumcount() + 1
    return made.assign(**fixed, step=asked, ask=asked, outcome="answered")


def recorded(paradigm: str) -> Scored:
    """What people answered in the sessions that ship."""
    found = load(
        [ROOT / "tests" / "golden" / "sessions" / name for name in ("finished", "half", "studies")],
        include_practice=True,
    ).scored.parts[paradigm]
    return Scored(
        found.items[of_kinds(found.items["agent_kind"], lambda kind: kind.role == "person")].reset_index(drop=True),
        found.intrusions,
        (),
    )


def _fits(
    kind: type[Laplace], right: np.ndarray, of: np.ndarray, fixed: np.ndarray, levels: list[np.ndarray]
) -> tuple[Fit, Fit]:
    """Without priors, by the whole likelihood; and as SpanLab prints it."""
    return fit(kind(right, of, fixed, levels), restricted=False, penalised=False), fit(
        kind(right, of, fixed, levels, prior_sd=PRIOR_SD)
    )


def _run(script: Path, folder: Path) -> None:
    done = subprocess.run(["Rscript", str(script)], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"Rscript failed:\n{done.stderr}")


def _spread(folder: Path, file: str, effects: Mapping[str, str]) -> tuple[float, ...]:
    """lme4's standard deviations, in the order of ours."""
    path = folder / file
    found = pd.read_csv(path).set_index("effect")["sd"] if path.exists() else pd.Series(dtype=float)
    return tuple(float(found[name]) for name in effects.values())


def right_answers(name: str, cells: Cells, folder: Path) -> Compared:
    """The logistic model of a table, by the script that ``spanlab stats --r`` writes."""
    _, script = write_r(cells, folder)
    _run(script, folder)
    theirs = pd.read_csv(folder / f"{script.stem}_cells.csv").set_index("cell")
    rows = cells.items.groupby(["cell", *cells.components])["correct"].agg(["sum", "size"]).reset_index()
    levels = [rows[one].to_numpy() for one in cells.components]
    plain, printed = _fits(
        Laplace,
        rows["sum"].to_numpy(float),
        rows["size"].to_numpy(float),
        np.eye(len(cells.table))[rows["cell"].to_numpy()],
        levels,
    )
    called = [
        f"{row['agent']} | {row['condition']}" if cells.by else str(row["agent"])
        for row in cells.table.to_dict("records")
    ]
    effects = {one: one.replace(" ", "_") for one in cells.components}
    return _compared(
        name,
        cells.formula,
        cells,
        theirs.loc[called],
        plain,
        printed,
        _spread(folder, f"{script.stem}_random.csv", effects),
    )


def sensitivity(name: str, scored: Scored, folder: Path) -> Compared:
    """The probit model of a table, by the script that ``spanlab stats --r`` writes: d' and
    criterion of every cell."""
    found = sensitivity_model(scored, "nback", "factor_n")
    assert found.cells is not None
    _, script = write_r_of_sensitivity(found, folder)
    _run(script, folder)
    cells, items, many = found.cells, found.cells.items, len(found.cells.table)
    theirs = pd.read_csv(folder / f"{script.stem}_cells.csv").set_index(["measure", "cell"])
    rows = items.groupby(["cell", "signal", *cells.components])["correct"].agg(["sum", "size"]).reset_index()
    where, half = np.eye(many)[rows["cell"].to_numpy()], rows["signal"].to_numpy(float)[:, None] - 0.5
    levels = [rows[one].to_numpy() for one in cells.components]
    plain, printed = _fits(
        Probit, rows["sum"].to_numpy(float), rows["size"].to_numpy(float), np.hstack([where * half, -where]), levels
    )
    called = [
        f"{row['agent']} | {row['condition']}" if cells.by else str(row["agent"])
        for row in cells.table.to_dict("records")
    ]
    wanted = theirs.loc[[(measure, cell) for measure in ("dprime", "criterion") for cell in called]]
    effects = {one: one.replace(" ", "_") for one in cells.components}
    formula = found.formula.partition(": ")[2]
    return _compared(
        name, formula, cells, wanted, plain, printed, _spread(folder, f"{script.stem}_random.csv", effects)
    )


def _compared(
    name: str, formula: str, cells: Cells, theirs: pd.DataFrame, plain: Fit, printed: Fit, sds: tuple[float, ...]
) -> Compared:
    estimate, se = theirs["estimate"].to_numpy(float), theirs["se"].to_numpy(float)
    mine = np.sqrt(np.diag(plain.covariance))[: len(estimate)]
    away = (plain.fixed[: len(estimate)] - estimate) / se
    return Compared(
        name,
        formula,
        len(cells.items),
        away,
        mine / se,
        tuple(map(float, plain.sd)),
        sds,
        (printed.fixed[: len(estimate)] - estimate) / se,
    )


def compare() -> Iterator[Compared]:
    """Every data set, one after the other."""
    with tempfile.TemporaryDirectory(prefix="spanlab-lme4-") as made:
        for task in LOGISTIC:
            folder = Path(made) / task
            yield right_answers(
                f"N-back, {task.replace('_', ' ')}", sort_cells(score_table(blocks(task)), "nback", "factor_n"), folder
            )
        for task in PROBIT:
            yield sensitivity(
                f"N-back, {task.replace('_', ' ')}: sensitivity",
                score_table(blocks(task)),
                Path(made) / f"probit {task}",
            )
        for paradigm in RECORDED:
            yield right_answers(f"people, {paradigm}", sort_cells(recorded(paradigm), paradigm), Path(made) / paradigm)


def able() -> bool:
    """Whether lme4 can be asked here."""
    return (
        shutil.which("Rscript") is not None
        and not subprocess.run(["Rscript", "-e", "library(lme4)"], capture_output=True, check=False).returncode
    )


def main() -> None:
    if not able():
        sys.exit("there is no Rscript with lme4 here: apt install r-base-core r-cran-lme4")
    head = (
        "data",
        "model",
        "answers",
        "fixed effects",
        "largest difference of an estimate (SE)",
        "of an SE (%)",
        "SD, SpanLab and lme4",
        "as printed (SE)",
    )
    lines = [f"| {' | '.join(head)} |", f"| {' | '.join(['---'] * len(head))} |"]
    for one in compare():
        print(one.row, flush=True)
        lines.append(one.row)
    before, rest = DOCUMENT.read_text(encoding="utf-8").split(BEGIN)
    DOCUMENT.write_text(before + BEGIN + "\n" + "\n".join(lines) + "\n" + END + rest.split(END)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
