"""Charts, declared once with Altair: the same declaration is drawn by the browser (interactive, light and dark) and written as SVG and PDF."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .look import PUBLISHED, Look

if TYPE_CHECKING:
    import pandas as pd

#: Font stack of figures; nothing is fetched.
FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, sans-serif"
_PANEL = (190, 150)
#: Distance of neighbouring agents at one position, as a share of a panel's width.
_DODGE = 0.016


def _theme(ink: str, soft: str, faint: str, grid: str, background: str | None) -> dict[str, Any]:
    text = {"labelColor": soft, "titleColor": soft, "labelFont": FONT, "titleFont": FONT, "labelFontSize": 11, "titleFontSize": 11.5, "titleFontWeight": "normal"}
    return {
        "background": background,
        "font": FONT,
        "view": {"stroke": None},
        "axis": text | {"domainColor": faint, "tickColor": faint, "gridColor": grid, "tickSize": 4, "labelPadding": 4, "titlePadding": 8},
        "header": text | {"labelColor": ink, "labelFontSize": 12, "labelFontWeight": 600, "labelPadding": 4},
        "legend": text | {"labelFontSize": 11.5, "labelLimit": 420, "symbolSize": 90, "symbolStrokeWidth": 2, "rowPadding": 4, "titleFontSize": 0},
        "title": {"color": ink, "subtitleColor": soft, "font": FONT, "subtitleFont": FONT, "fontSize": 15, "subtitleFontSize": 11.5, "anchor": "start", "offset": 14, "subtitlePadding": 5},
        "style": {"chance": {"stroke": soft, "fill": soft, "font": FONT, "fontSize": 10.5}},
    }  # fmt: skip


def print_theme(agents: Sequence[Look]) -> dict[str, Any]:
    """The Vega-Lite configuration of files: dark on white."""
    return _theme("#1b1b1b", "#4a4a4a", "#b9b9b9", "#ececec", "#ffffff") | {"range": {"category": [look.light for look in agents]}}


def page_theme(agents: Sequence[Look]) -> dict[str, Any]:
    """The Vega-Lite configuration of a page: every colour is a CSS variable (``--ink``, ``--soft``, ``--faint``, ``--grid``, ``--agent-0`` ...)."""
    variables = _theme("var(--ink)", "var(--soft)", "var(--faint)", "var(--grid)", None)
    return variables | {"range": {"category": [f"var(--agent-{number})" for number in range(len(agents))]}}


def serial_position_chart(curve: pd.DataFrame, agents: Sequence[Look], *, title: str, subtitle: str = "", columns: int = 4) -> Any:
    """Accuracy by serial position, one panel per list length.

    Parameters
    ----------
    curve : a curve table over ``list_length`` and ``serial_position`` (published points may be among its rows)
    agents : how each agent looks, in drawing order; those that are not in the curve are left out of figure and legend, but keep their colours
    columns : panels in a row

    Returns
    -------
    altair.FacetChart
    """
    import altair as alt

    rows = _points(curve, "serial_position", agents, panel="list_length")
    panels = [_panel(length) for length in sorted(curve["list_length"].unique())]
    facet = alt.Facet("panel:N", header=alt.Header(title=None, labelAnchor="start"), sort=panels)
    facets = _layers(agents, curve, "serial_position", "serial position").facet(facet=facet, columns=max(1, min(columns, len(panels))), data=alt.InlineData(values=rows))
    return facets.resolve_scale(x="independent").properties(title=_title(title, subtitle), spacing={"row": 18, "column": 16})


def set_size_chart(curve: pd.DataFrame, agents: Sequence[Look], *, title: str, subtitle: str = "", x_title: str = "set size") -> Any:
    """Accuracy by set size, one panel.

    Parameters
    ----------
    curve : a curve table over ``set_size``

    Returns
    -------
    altair.LayerChart
    """
    import altair as alt

    chart = _layers(agents, curve, "set_size", x_title, width=440, height=250)
    return chart.properties(data=alt.InlineData(values=_points(curve, "set_size", agents)), title=_title(title, subtitle))


def _panel(length: Any) -> str:
    return f"{int(length)} item{'' if int(length) == 1 else 's'}"


def _title(title: str, subtitle: str) -> Any:
    import altair as alt

    return alt.TitleParams(text=title, subtitle=[line for line in subtitle.split("\n") if line])


def _number(value: Any) -> float | None:
    return None if value is None or value != value else float(value)


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f}%"


def _points(curve: pd.DataFrame, over: str, agents: Sequence[Look], panel: str | None = None) -> list[dict[str, Any]]:
    """The rows of a chart: one per point of each curve (agents side by side, so that intervals do not hide each other) and one per stretch of the chance line."""
    rows: list[dict[str, Any]] = []
    present = [look for look in agents if look.label in set(curve["agent"])]
    # people in the middle, on the true position; machines to both sides
    places = {look.label: (1 if rank % 2 else -1) * ((rank + 1) // 2) for rank, look in enumerate(reversed(present))}
    widest = 0.7 / max(1, len(present))
    for look in present:
        for row in curve[curve["agent"] == look.label].sort_values([name for name in (panel, over) if name]).to_dict("records"):
            mean, low, high = _number(row["mean"]), _number(row["low"]), _number(row["high"])
            if mean is None:
                continue
            count = _number(row["n_units"])
            gap = min(widest, (float(row[panel]) if panel else float(curve[over].nunique())) * _DODGE)
            rows.append(
                {
                    "role": "curve",
                    "agent": look.label,
                    "x": float(row[over]) + gap * places[look.label],
                    "at": int(row[over]),
                    "mean": mean,
                    "low": low,
                    "high": high,
                    "hollow": look.hollow,
                    "faint": look.faint,
                    "correct": _percent(mean),
                    "range": f"{_percent(low)} to {_percent(high)}" if low is not None else (row["note"] or "none"),
                    "n": "not published" if count is None else f"{count:.0f} {row['unit']}{'' if count == 1 else 's'}",
                }
                | ({"panel": _panel(row[panel])} if panel else {})
            )
    guessed = curve.dropna(subset=["chance"])
    keys = [panel, over] if panel else [over]
    for key, level in guessed.groupby(keys)["chance"].mean().items():
        values = key if isinstance(key, tuple) else (key,)
        rows.append({"role": "chance", "x": float(values[-1]) - 0.5, "x2": float(values[-1]) + 0.5, "mean": float(level)} | ({"panel": _panel(values[0])} if panel else {}))
    return rows


def _layers(agents: Sequence[Look], curve: pd.DataFrame, over: str, x_title: str, *, width: int = _PANEL[0], height: int = _PANEL[1]) -> Any:
    """The layers that all figures share: chance, intervals, lines, points. The parameter ``hidden`` lists agents that are switched off, ``intervals`` shows the bars."""
    import altair as alt

    labels = [look.label for look in agents]
    hidden = alt.param(name="hidden", value=[])
    intervals = alt.param(name="intervals", value=True)
    domain = alt.Scale(domain=labels)
    legend = alt.Legend(orient="bottom", columns=3, title=None, symbolOpacity=1, values=[label for label in labels[::-1] if label in set(curve["agent"])])
    colour = alt.Color("agent:N", scale=domain, legend=legend)

    def each(values: Sequence[Any]) -> alt.Scale:
        return alt.Scale(type="ordinal", domain=labels, range=list(values))

    x = alt.X("x:Q", title=x_title, scale=alt.Scale(zero=False, nice=False, padding=6), axis=alt.Axis(grid=False, values=[int(one) for one in sorted(curve[over].dropna().unique())], format="d", labelOverlap="parity"))
    y = alt.Y("mean:Q", title="correct", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%", tickCount=5))
    order = alt.Order("at:Q")
    tooltip = [
        alt.Tooltip("agent:N", title="who"),
        alt.Tooltip("at:Q", title=x_title),
        alt.Tooltip("correct:N"),
        alt.Tooltip("range:N", title="95 % interval"),
        alt.Tooltip("n:N"),
    ]
    base = alt.Chart().transform_filter("datum.role == 'curve' && indexof(hidden, datum.agent) < 0")
    widths = alt.StrokeWidth("agent:N", scale=each([look.width for look in agents]), legend=None)
    dashes = alt.StrokeDash("agent:N", scale=each([list(look.dash) for look in agents]), legend=legend)
    shapes = alt.Shape("agent:N", scale=each([look.shape for look in agents]), legend=legend)
    sizes = alt.Size("agent:N", scale=each([look.size for look in agents]), legend=None)
    guess = alt.Chart().transform_filter("datum.role == 'chance'").mark_rule(style="chance", strokeDash=[1.5, 2.5], strokeWidth=1.2).encode(x=x, x2="x2:Q", y=y)
    spread = base.transform_filter("intervals").mark_rule(strokeWidth=1.3, opacity=0.55).encode(
        x=x, y=alt.Y("low:Q", title="correct"), y2="high:Q", color=colour, strokeOpacity=alt.condition("datum.faint", alt.value(0.4), alt.value(1))
    )
    lines = base.mark_line(strokeCap="butt", opacity=0.95).encode(x=x, y=y, color=colour, strokeDash=dashes, strokeWidth=widths, order=order)
    fill = alt.condition("datum.hollow", alt.value(0), alt.value(1))
    points = base.mark_point(filled=True, opacity=1, strokeWidth=1.4).encode(
        x=x, y=y, color=colour, stroke=alt.Stroke("agent:N", scale=domain, legend=None), fillOpacity=fill, shape=shapes, size=sizes, tooltip=tooltip
    )
    return alt.layer(guess, spread, lines, points).properties(width=width, height=height).add_params(hidden, intervals)


def for_page(spec: dict[str, Any]) -> dict[str, Any]:
    """A declaration without title and legend, for a page that has both as text of its own."""

    def stripped(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: None if key == "legend" else stripped(value) for key, value in part.items()}
        return [stripped(one) for one in part] if isinstance(part, list) else part

    return {key: value if key == "data" else stripped(value) for key, value in spec.items() if key != "title"}


def declaration(chart: Any) -> dict[str, Any]:
    """The chart as a Vega-Lite specification without configuration, fit for JSON."""
    import altair as alt

    with alt.data_transformers.enable("default", max_rows=None, consolidate_datasets=False), alt.theme.enable("none"):
        spec = chart.to_dict()
    spec.pop("config", None)
    return spec


def vegalite_version() -> str:
    """The Vega-Lite version that Altair writes and vl-convert draws, such as ``6.4``."""
    import altair as alt
    import vl_convert as vlc

    wanted = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    known = vlc.get_vegalite_versions()
    same = [version for version in known if version.split(".")[0] == wanted.split(".")[0]]
    return wanted if wanted in known else (same or known)[-1]


def save(chart: Any, stem: Path, agents: Sequence[Look]) -> list[Path]:
    """Write a chart as ``<stem>.svg`` and ``<stem>.pdf``, in the print theme; needs no browser and no network.

    Returns
    -------
    list of Path
        the files written
    """
    import vl_convert as vlc

    spec, version, config = declaration(chart), vegalite_version(), print_theme(agents)
    stem.parent.mkdir(parents=True, exist_ok=True)
    svg, pdf = stem.with_suffix(".svg"), stem.with_suffix(".pdf")
    svg.write_text(vlc.vegalite_to_svg(spec, vl_version=version, config=config), encoding="utf-8")
    pdf.write_bytes(vlc.vegalite_to_pdf(spec, vl_version=version, config=config))
    return [svg, pdf]
