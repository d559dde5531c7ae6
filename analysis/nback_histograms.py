"""How d′ of N-back blocks is distributed: histograms with densities, signed and without its sign."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .curve_marks import PANEL
from .figures import grid, panel_of, panel_part, title_lines
from .look import Look
from .table import plural

if TYPE_CHECKING:
    import pandas as pd

#: Width of a bar, in d′.
BIN = 0.5
#: Points of a density.
_POINTS = 121
#: Fewer different values have no density.
_FEW = 3


def dprime_summary(blocks: pd.DataFrame) -> pd.DataFrame:
    """For everybody, variant and N: how many blocks, mean and standard deviation of d′ signed and without its sign, and how many blocks are below 0."""
    import pandas as pd

    rows = []
    keys = ["agent", "variant", "n"]
    for key, part in blocks.groupby(keys, sort=False):
        own = part[np.isfinite(part["dprime"].astype(float))]
        row: dict[str, Any] = dict(zip(keys, key, strict=True)) | {"blocks": len(own)}
        for name in ("dprime", "dprime_abs"):
            values = own[name].astype(float)
            row |= {f"{name}_mean": values.mean(), f"{name}_sd": values.std(ddof=1)}
        lost = len(part) - len(own)
        rows.append(row | {"below_0": int((own["dprime"] < 0).sum()), "note": f"{plural(lost, 'block')} without d′ left out" if lost else ""})
    return pd.DataFrame(rows)


def dprime_histograms(blocks: pd.DataFrame, agents: Sequence[Look], *, title: str, subtitle: str = "") -> dict[str, Any]:
    """Histograms of blocks' d′: a row of panels for each answerer and variant, a panel for each N.

    Parameters
    ----------
    blocks : with ``agent``, ``variant``, ``n``, ``dprime`` and ``dprime_abs``
    agents : how each agent looks, in drawing order

    Returns
    -------
    dict
        the declaration: a Vega-Lite specification without configuration, fit for JSON
    """

    levels = [int(n) for n in sorted(blocks["n"].unique())]
    several = blocks["variant"].nunique() > 1
    signed = blocks["dprime"].astype(float)
    finite = signed[np.isfinite(signed)]
    low = min(-1.0, np.floor(finite.min() / BIN) * BIN) if len(finite) else -1.0
    high = max(1.0, np.ceil(finite.abs().max() / BIN) * BIN) if len(finite) else 1.0
    panels: list[tuple[str, str, Look, int]] = []
    rows: list[dict[str, Any]] = []
    top = 1.0
    for look in list(agents)[::-1]:
        for variant in dict.fromkeys(blocks["variant"]):
            own = blocks[(blocks["agent"] == look.label) & (blocks["variant"] == variant)]
            for n in levels if len(own) else ():
                values = own.loc[own["n"] == n, "dprime"].to_numpy(float)
                place = len(panels)
                found = _bars(values, low, high) + _densities(values, low, high)
                top = max([top, *(row["count"] for row in found)])
                rows += [row | {"part": place} for row in found]
                heading = (f"{look.label}, {variant}" if several else look.label) if n == levels[0] else " "
                panels.append((heading, f"{n}-back", look, place))
    last = len(panels) - len(levels)

    @cache
    def made(colour: str, x_title: str, y_title: str) -> dict[str, Any]:
        return panel_part(_layers(colour, (low, high), (0, top * 1.08), x_title, y_title))

    drawn = [
        panel_of(
            made(look.light, "d′ of a block" if place >= last else "", "blocks" if not place % len(levels) else ""),
            f"datum.part == {place}",
            {"text": heading, "subtitle": level, "fontSize": 12, "fontWeight": 600, "subtitleFontSize": 11.5, "anchor": "start", "frame": "group", "offset": 8},
        )
        for heading, level, look, place in panels
    ]
    return grid(drawn, rows, columns=len(levels), spacing=(78, 40), title=title_lines(title, subtitle))


def _layers(colour: str, across: tuple[float, float], up: tuple[float, float], x_title: str, y_title: str) -> Any:
    """Bars and densities of one panel, over these ranges."""
    import altair as alt

    over = alt.Scale(domain=list(across), nice=False)
    axis = alt.Axis(grid=False, tickMinStep=1, format="d")
    x = alt.X("x:Q", title=x_title or None, scale=over, axis=axis)
    binned = alt.X("x:Q", title=x_title or None, scale=over, axis=axis, bin="binned")
    y = alt.Y("count:Q", title=y_title or None, scale=alt.Scale(domain=list(up), nice=False), axis=alt.Axis(tickMinStep=1, format="d", tickCount=4))
    tooltip = [alt.Tooltip("range:N", title="d′"), alt.Tooltip("count:Q", title="blocks")]
    filled = alt.Chart().transform_filter("datum.role == 'signed'").mark_bar(color=colour, opacity=0.35)
    outlined = alt.Chart().transform_filter("datum.role == 'unsigned'").mark_bar(filled=False, stroke=colour, strokeWidth=1, strokeDash=[3, 2])
    line = alt.Chart().transform_filter("datum.role == 'signed density'").mark_line(color=colour, strokeWidth=2, clip=True)
    dashed = alt.Chart().transform_filter("datum.role == 'unsigned density'").mark_line(color=colour, strokeWidth=1.6, strokeDash=[5, 3], clip=True)
    zero = alt.Chart().mark_rule(style="chance", strokeDash=[1.5, 2.5], strokeWidth=1.2).encode(x=alt.datum(0, scale=over))
    bars = (one.encode(x=binned, x2="x2:Q", y=y, tooltip=tooltip) for one in (filled, outlined))
    return alt.layer(*bars, zero, line.encode(x=x, y=y), dashed.encode(x=x, y=y)).properties(width=PANEL[0], height=PANEL[1] * 0.7)


def _bars(values: np.ndarray, low: float, high: float) -> list[dict[str, Any]]:
    edges = np.arange(low, high + BIN / 2, BIN)
    known = values[np.isfinite(values)]
    rows: list[dict[str, Any]] = []
    for role, own in (("signed", known), ("unsigned", np.abs(known))):
        counts, _ = np.histogram(own, edges)
        for count, left in zip(counts, edges, strict=False):
            if count:
                rows.append({"role": role, "x": float(left), "x2": float(left + BIN), "count": int(count), "range": f"{left:g} to {left + BIN:g}"})
    return rows


def _densities(values: np.ndarray, low: float, high: float) -> list[dict[str, Any]]:
    """Densities in blocks a bar; that of absolute values folds at 0, below which there are none."""
    from scipy import stats

    known = values[np.isfinite(values)]
    at = np.linspace(low, high, _POINTS)
    rows: list[dict[str, Any]] = []
    for role, own in (("signed density", known), ("unsigned density", np.abs(known))):
        if len(np.unique(own)) < _FEW:
            continue
        kernel = stats.gaussian_kde(own)
        heights = kernel(at) if role == "signed density" else np.where(at >= 0, kernel(at) + kernel(-at), np.nan)
        rows += [{"role": role, "x": float(x), "count": float(y) * len(own) * BIN} for x, y in zip(at, heights, strict=True) if np.isfinite(y)]
    return rows
