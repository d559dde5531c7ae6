"""The answers of a mixed-effects model as a table, and a script in R that fits the same model with lme4 (and, where it is installed, with brms)."""

from __future__ import annotations

import re
from pathlib import Path

from ...core.errors import SpanLabError
from .mixed_model import PRIOR_SD, Cells

_SCRIPT = """# {title}
# SpanLab's model: {formula}
# lme4 maximises the likelihood without priors. SpanLab's cells have a normal prior (0, {prior_sd:g}) and its standard deviations a gamma prior (2, 2),
# and standard deviations are of the restricted likelihood; so near 0% and 100%, and with few people, its estimates lie nearer to even odds.
# brms with those priors is the nearest to it:
#   brm({brms}, data = d, family = bernoulli(),
#       prior = c(prior(normal(0, {prior_sd:g}), class = b), prior(gamma(2, 2), class = sd)))
library(lme4)
here <- sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))
folder <- if (length(here)) dirname(here) else "."
d <- read.csv(file.path(folder, "{stem}.csv"), colClasses = c(cell = "factor"{classes}))
model <- {call}
print(summary(model))
estimates <- coef(summary(model))
# Standard errors for the standard deviations as estimated; those of the summary have their uncertainty in them, too.
given <- sqrt(diag(as.matrix({vcov})))
cells <- data.frame(cell = sub("^cell", "", rownames(estimates)), estimate = estimates[, 1], se = given, se_of_summary = estimates[, 2])
write.csv(cells, file.path(folder, "{stem}_cells.csv"), row.names = FALSE)
{spread}"""
_SPREAD = """spread <- as.data.frame(VarCorr(model))
write.csv(data.frame(effect = spread$grp, sd = spread$sdcor), file.path(folder, "{stem}_random.csv"), row.names = FALSE)
"""


def write_r(cells: Cells, folder: Path) -> list[Path]:
    """Write the data and the script of a model, and return their paths. Cells are called ``agent | condition``.

    A random effect that some answers do not have (machines are not participants) is multiplied by a column that is 0 for these.

    Raises
    ------
    SpanLabError
        when the folder cannot be written.
    """
    stem = re.sub(r"[^A-Za-z0-9]+", "_", cells.paradigm).strip("_") or "paradigm"
    names = {name: re.sub(r"[^a-z]+", "_", name) for name in cells.components}
    called = [f"{agent} | {condition}" if cells.by else str(agent) for agent, condition in zip(cells.table["agent"], cells.table["condition"], strict=True)]
    table = cells.items[["correct"]].astype(int).assign(cell=[called[at] for at in cells.items["cell"]])
    for name in ("agent", "condition"):
        table[name] = [cells.table[name].iloc[at] for at in cells.items["cell"]]
    terms = []
    for name, column in names.items():
        levels = cells.items[name].to_numpy()
        table = table.assign(**{column: levels + 1})
        if (levels < 0).any():
            table = table.assign(**{f"has_{column}": (levels >= 0).astype(int)})
        terms.append(f"(0 + has_{column} | {column})" if (levels < 0).any() else f"(1 | {column})")
    formula = " + ".join(["correct ~ 0 + cell", *terms])
    control = ', control = glmerControl(optimizer = "bobyqa", optCtrl = list(maxfun = 1e5))'
    call = f"glmer({formula}, data = d, family = binomial{control})" if terms else f"glm({formula}, data = d, family = binomial)"
    script = _SCRIPT.format(
        title=f"{cells.paradigm}: right answers",
        formula=cells.formula,
        prior_sd=PRIOR_SD,
        brms=formula,
        stem=stem,
        classes="".join(f', {column} = "factor"' for column in names.values()),
        call=call,
        vcov="vcov(model, use.hessian = FALSE)" if terms else "vcov(model)",
        spread=_SPREAD.format(stem=stem) if terms else "",
    )
    paths = [folder / f"{stem}.csv", folder / f"{stem}.R"]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        table.to_csv(paths[0], index=False)
        paths[1].write_text(script, encoding="utf-8")
    except OSError as error:
        raise SpanLabError(f"cannot write {folder}: {error.strerror or error}") from None
    return paths
