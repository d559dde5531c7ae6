"""Published N-back results of language models (Gong, Wan & Wang, AAAI 2024): printed means, and the
four counts of each of their blocks."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import pandas as pd

from ..data.coding import records
from ..data.scoring import WHO
from .cells import nback_cells
from .measures import PUBLISHED, Rules, measured

#: The study's own model; all other models took letters only, in other blocks under another
#: protocol.
STUDY_MODEL = "gpt-3.5-turbo"
OTHER_MODELS = "verbal_other_models"
#: For each figure of the study, what it compares: (variant, model); None for all models of the
#: variant.
FAMILIES: dict[str, tuple[tuple[str, str | None], ...]] = {
    "verbal": tuple(
        (name, STUDY_MODEL) for name in ("verbal", "verbal_with_noise", "verbal_think_by_step", "verbal_with_feedback")
    ),
    "spatial": tuple(
        (name, STUDY_MODEL)
        for name in ("spatial_3x3", "spatial_with_noise", "spatial_think_by_step", "spatial_with_feedback")
    ),
    "grid size": tuple((f"spatial_{grid}x{grid}", STUDY_MODEL) for grid in (3, 4, 5, 7)),
    "abstraction": tuple(
        (name, STUDY_MODEL) for name in ("spatial_3x3", "spatial_abstraction", "spatial_abstraction_2")
    ),
    "models": (("verbal(first 30 blocks)", STUDY_MODEL), (OTHER_MODELS, None)),
}
#: Paradigms of the study, by the names of their variants there.
_VARIANTS = {
    "nback_verbal": "verbal",
    "nback_verbal_noise": "verbal_with_noise",
    "nback_verbal_feedback": "verbal_with_feedback",
    "nback_verbal_reasoning": "verbal_think_by_step",
    "nback_spatial_noise": "spatial_with_noise",
    "nback_spatial_feedback": "spatial_with_feedback",
    "nback_spatial_reasoning": "spatial_think_by_step",
    "nback_abstraction": "spatial_abstraction",
    "nback_abstraction_strict": "spatial_abstraction_2",
}
REFERENCE = (
    "Gong, D., Wan, X., & Wang, D. (2024). Working memory capacity of ChatGPT: An empirical study. AAAI Conference on"
    " Artificial Intelligence."
)


def published_blocks() -> pd.DataFrame:
    """The four counts of every published block, by ``variant``, ``model``, ``n`` and ``block``
    (from 0), with d' as it was published and signed."""
    return _read("nback_blocks.csv")


def published_results() -> pd.DataFrame:
    """Published means and standard errors over blocks, by ``variant``, ``model`` and ``n``: rates
    in percent, d' without its sign."""
    return _read("nback_results.csv")


def printed_means() -> pd.DataFrame:
    """The tables that the authors' notebooks print, as text with its digits: ``notebook``, ``n``,
    and mean and standard error of the four measures."""
    return _read("nback_printed.csv", as_text=True).astype({"n": int})


def printed_tests() -> pd.DataFrame:
    """The tests that the authors' notebook on all experiments prints, as text with its digits:
    ``family``, ``test``, ``variant``, ``model``, ``n``, ``statistic``, ``p`` and ``effect``."""
    return _read("nback_printed_tests.csv", as_text=True)


def _read(name: str, *, as_text: bool = False) -> pd.DataFrame:
    with files("spanlab.analysis").joinpath("published", name).open("rb") as file:
        return pd.read_csv(file, dtype=str if as_text else None)


def variant_of(paradigm: str, grid: int | None = None) -> str:
    """The study's name for a paradigm; empty where the study did not have it."""
    if paradigm == "nback_spatial":
        return f"spatial_{grid}x{grid}" if grid in (3, 4, 5, 7) else ""
    return _VARIANTS.get(paradigm, "")


def layout(blocks: pd.DataFrame, rules: Rules = PUBLISHED) -> pd.DataFrame:
    """Means and standard errors over blocks in the layout of the published table: rates in percent;
    d' as the rules have it, signed beside it.

    Parameters
    ----------
    blocks : with ``variant``, ``model``, ``n`` and counts, or from :func:`.measures.nback_blocks`
        with these columns added
    """
    who = ("variant", "model")
    given = blocks if "hit_rate" in blocks.columns else measured(blocks, rules)
    cells = nback_cells(
        given,
        rules=rules,
        who=who,
        measures=("hit_rate", "false_alarm_rate", "accuracy", "dprime_abs", "dprime"),
        unit="block",
        resamples=2,
    )
    names = {
        "hit_rate": "hit_rate",
        "false_alarm_rate": "fa_rate",
        "accuracy": "accuracy",
        "dprime_abs": "dprime",
        "dprime": "dprime_signed",
    }
    rows: list[dict[str, Any]] = []
    for key, cell in cells.groupby([*who, "n"], sort=False):
        measures = cell.set_index("measure")
        row: dict[str, Any] = dict(zip((*who, "n"), key, strict=True)) | {"blocks": int(measures["n_blocks"].iloc[0])}
        row["trials"] = int(measures["n_items"].iloc[0]) // row["blocks"]
        for measure, name in names.items():
            scale = 1 if name.startswith("dprime") else 100
            row |= {
                f"{name}_mean": scale * float(measures["mean"][measure]),
                f"{name}_sem": scale * float(measures["sem"][measure]),
            }
        rows.append(row | {"blocks_with_negative_dprime": int(measures["n_negative"]["dprime"])})
    return pd.DataFrame(rows)


def recomputed_cells(paradigm: str, grid: int | None = None) -> pd.DataFrame:
    """The study's means for a paradigm, recomputed from its raw answers, as a table of cells
    without intervals: ``agent`` is the model.

    Of other models than the study's own there are letters only.
    """
    from ..data.style import GROUP_MEANS

    variant, results = variant_of(paradigm, grid), published_results()
    wanted = results["variant"].eq(variant) | (results["variant"].eq(OTHER_MODELS) & (variant == "verbal"))
    rows = []
    for row in records(results[wanted]):
        for measure, name, scale in (
            ("hit_rate", "hit_rate", 100),
            ("false_alarm_rate", "fa_rate", 100),
            ("accuracy", "accuracy", 100),
            ("dprime_abs", "dprime", 1),
        ):
            rows.append(
                dict(zip(WHO, (paradigm, GROUP_MEANS, recomputed_name(row["model"])), strict=True))
                | {
                    "n": row["n"],
                    "measure": measure,
                    "rules": PUBLISHED.name,
                    "oracle": False,
                    "unit": "block",
                    "n_units": row["blocks"],
                }
                | {
                    "n_blocks": row["blocks"],
                    "n_items": row["blocks"] * row["trials"],
                    "mean": row[f"{name}_mean"] / scale,
                    "sem": row[f"{name}_sem"] / scale,
                }
                | {
                    "interval": "none",
                    "note": (
                        f"mean recomputed from the study's raw answers; s.e.m. {row[f'{name}_sem']:.2f}"
                        + (" points" if scale == 100 else "")
                    ),
                }
            )
    return pd.DataFrame(rows)


def recomputed_name(model: str) -> str:
    """The name of a model of the study in figures."""
    return f"{model} (recomputed)"
