"""The answers of a mixed-effects model as a table, and a script in R that fits the same model with
lme4 (and, where it is installed, with brms)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from ...core.atomic_files import written_in
from .mixed_model import PRIOR_SD, Cells
from .sensitivity_model import PRIOR_SD as PRIOR_SD_OF_SENSITIVITY
from .sensitivity_model import SensitivityModel

_SCRIPT = """# {title}
# SpanLab's model: {formula}
{explained}# lme4 maximises the likelihood without priors. SpanLab's {effects} have a normal prior (0, {prior_sd:g}) and its standard deviations
# a gamma prior (2, 2), and standard deviations are of the restricted likelihood; so {where}, and with few people, its estimates lie nearer to {nearer}.
# brms with those priors is the nearest to it:
#   brm({brms},
#       data = d, family = bernoulli({link}), prior = c(prior(normal(0, {prior_sd:g}), class = b), prior(gamma(2, 2), class = sd)))
library(lme4)
here <- gsub("~+~", " ", sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE)), fixed = TRUE)  # Rscript writes spaces so
folder <- if (length(here)) dirname(here) else "."
d <- read.csv(file.path(folder, "{stem}.csv"), colClasses = c(cell = "factor"{classes}))
model <- {call}
print(summary(model))
estimates <- coef(summary(model))
# Standard errors for the standard deviations as estimated; those of the summary have their uncertainty in them, too.
given <- sqrt(diag(as.matrix({vcov})))
named <- if (nlevels(d$cell) > 1) sub("^cell", "", sub(":half$", "", rownames(estimates))) else levels(d$cell)
{cells}write.csv(cells, file.path(folder, "{stem}_cells.csv"), row.names = FALSE)
{spread}"""  # noqa: E501
_SPREAD = """spread <- as.data.frame(VarCorr(model))
write.csv(data.frame(effect = spread$grp, sd = spread$sdcor), file.path(folder, "{stem}_random.csv"), row.names = FALSE)
"""
_CELLS = """cells <- data.frame(cell = named, estimate = estimates[, 1], se = given, se_of_summary = estimates[, 2])
"""
_SENSITIVITY_CELLS = """# Effects of cells are minus the {bias}; effects of cells by half are d'{scaled}.
halves <- grepl("(^|:)half$", rownames(estimates))
scale <- ifelse(halves, {scale}, -1)
cells <- data.frame(measure = ifelse(halves, "dprime", "{bias}"), cell = named,
                    estimate = scale * estimates[, 1], se = abs(scale) * given, se_of_summary = abs(scale) * estimates[, 2])
"""  # noqa: E501


@dataclass(frozen=True)
class _Model:
    """Parts of a script in R.

    Parameters
    ----------
    stem : how the files are called
    table, components : the answers, and the columns of random effects among them
    fixed : left side and fixed effects of the formula
    terms : random effects in the notation of R
    link : of the family, empty for the logistic one
    """

    stem: str
    table: pd.DataFrame
    components: tuple[str, ...]
    fixed: str
    terms: tuple[str, ...]
    link: str = ""

    @property
    def formula(self) -> str:
        return " + ".join([self.fixed, *self.terms])

    @property
    def call(self) -> str:
        family = f'binomial("{self.link}")' if self.link else "binomial"
        if not self.terms:
            return f"glm({self.formula}, data = d, family = {family})"
        # over one random effect lme4 can integrate as good as exactly; its Laplace approximation
        # takes the expected curvature where the link is not logistic
        nodes = ", nAGQ = 25" if self.link and len(self.terms) == 1 else ""
        control = 'control = glmerControl(optimizer = "bobyqa", optCtrl = list(maxfun = 1e5))'
        return f"glmer({self.formula},\n               data = d, family = {family}{nodes}, {control})"

    def parts(self) -> dict[str, str]:
        """Return what both scripts have in common."""
        classes = "".join(f', {column} = "factor"' for column in self.components)
        vcov = "vcov(model, use.hessian = FALSE)" if self.terms else "vcov(model)"
        spread = _SPREAD.format(stem=self.stem) if self.terms else ""
        return {
            "stem": self.stem,
            "classes": classes,
            "call": self.call,
            "vcov": vcov,
            "spread": spread,
            "brms": self.formula,
        }


def write_r(cells: Cells, folder: Path) -> list[Path]:
    """Write the data and the script of the model of right answers, and return their paths. Cells
    are called ``agent | condition``.

    A random effect that some answers do not have (machines are not participants) is multiplied by a
    column that is 0 for these.

    Raises
    ------
    SpanLabError
        when the folder cannot be written.
    """
    model = _model(cells, _stem(cells.paradigm), "correct ~ 0 + cell")
    script = _SCRIPT.format(
        title=f"{cells.paradigm}: right answers",
        formula=cells.formula,
        explained="",
        effects="cells",
        prior_sd=PRIOR_SD,
        where="near 0% and 100%",
        nearer="even odds",
        link="",
        cells=_CELLS,
        **model.parts(),
    )
    return _write(model, script, folder)


def write_r_of_sensitivity(model: SensitivityModel, folder: Path) -> list[Path]:
    """Write data and script of the probit model of sensitivity, beside those of right answers;
    their paths, none where there is no such model.

    ``half`` is 1/2 where the first word was true and -1/2 elsewhere, so that its effect is d'.

    Raises
    ------
    SpanLabError
        when the folder cannot be written.
    """
    if model.cells is None or model.fit is None:
        return []
    model_data = _model(
        model.cells, f"{_stem(model.cells.paradigm)}_sensitivity", "said ~ 0 + cell + cell:half", "probit"
    )
    bias = "side bias" if model.forced else "criterion"
    explained = (
        f'# said: whether "{model.words[0]}" was the answer; half: 1/2 where that was true, -1/2 where it was'
        f' "{model.words[1]}".\n'
    )
    script = _SCRIPT.format(
        title=f"{model.cells.paradigm}: sensitivity and {bias}",
        formula=model.formula,
        explained=explained,
        effects=f"d' and {bias}",
        prior_sd=PRIOR_SD_OF_SENSITIVITY,
        where="where hits or false alarms are near 0% or 100%",
        nearer="0",
        link='"probit"',
        cells=_SENSITIVITY_CELLS.format(
            bias=bias, scaled=" times the square root of 2" * model.forced, scale="1 / sqrt(2)" if model.forced else "1"
        ),
        **model_data.parts(),
    )
    return _write(model_data, script, folder)


def _stem(paradigm: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", paradigm).strip("_") or "paradigm"


def _model(cells: Cells, stem: str, fixed: str, link: str = "") -> _Model:
    """The answers as a table for R: what was answered, its cell, and each random effect."""
    names = {name: re.sub(r"[^a-z]+", "_", name) for name in cells.components}
    called = [
        f"{agent} | {condition}" if cells.by else str(agent)
        for agent, condition in zip(cells.table["agent"], cells.table["condition"], strict=True)
    ]
    if len(called) == 1:  # R has no contrasts for a factor of one level
        fixed = fixed.replace("0 + cell", "1").replace("cell:half", "half")
    items = cells.items
    right = items[["correct"]].astype(
        int if items["correct"].isin([0, 1]).all() else float
    )  # means over repeats lie between 0 and 1
    table = right.rename(columns={"correct": fixed.partition(" ")[0]}).assign(cell=[called[at] for at in items["cell"]])
    if "signal" in items.columns:
        table["half"] = items["signal"].to_numpy(float) - 0.5
    for name in ("agent", "condition"):
        table[name] = [cells.table[name].iloc[at] for at in items["cell"]]
    terms = []
    for name, column in names.items():
        levels = items[name].to_numpy()
        table = table.assign(**{column: levels + 1})
        if (levels < 0).any():
            table = table.assign(**{f"has_{column}": (levels >= 0).astype(int)})
        terms.append(f"(0 + has_{column} | {column})" if (levels < 0).any() else f"(1 | {column})")
    return _Model(stem, table, tuple(names.values()), fixed, tuple(terms), link)


def _write(model: _Model, script: str, folder: Path) -> list[Path]:
    paths = [folder / f"{model.stem}.csv", folder / f"{model.stem}.R"]
    with written_in(folder):
        model.table.to_csv(paths[0], index=False)
        paths[1].write_text(script, encoding="utf-8")
    return paths
