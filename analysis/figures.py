"""Charts, declared once with Altair: the same declaration is drawn by the browser (interactive, light and dark) and written as SVG and PDF."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import SpanLabError
from .look import Look

if TYPE_CHECKING:
    import pandas as pd

#: Font stack of figures; nothing is fetched.
FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, sans-serif"
_PANEL = (190, 150)
#: Distance of neighbouring agents at one position, as a share of a panel's width.
_DODGE = 0.016


def _theme(ink: str, soft: str, faint: str, grid: str, background: str | None) -> dict[str, Any]:
    text = {
        "labelColor": soft,
        "titleColor": soft,
        "labelFont": FONT,
        "titleFont": FONT,
        "labelFontSize": 11,
        "titleFontSize": 11.5,
        "titleFontWeight": "normal",
    }
    return {
        "background": background,
        "font": FONT,
        "view": {"stroke": None},
        "axis": text | {"domainColor": faint, "tickColor": faint, "gridColor": grid, "tickSize": 4, "labelPadding": 4, "titlePadding": 8},
        "header": text | {"labelColor": ink, "labelFontSize": 12, "labelFontWeight": 600, "labelPadding": 4},
        "legend": text | {"labelFontSize": 11.5, "labelLimit": 420, "symbolSize": 90, "symbolStrokeWidth": 2, "rowPadding": 4, "titleFontSize": 0},
        "title": {
            "color": ink,
            "subtitleColor": soft,
            "font": FONT,
            "subtitleFont": FONT,
            "fontSize": 15,
            "subtitleFontSize": 11.5,
            "anchor": "start",
            "offset": 14,
            "subtitlePadding": 5,
        },
        "style": {"chance": {"color": soft}},
    }


def print_theme(agents: Sequence[Look]) -> dict[str, Any]:
    """The Vega-Lite configuration of files: dark on white."""
    return _theme("#1b1b1b", "#4a4a4a", "#b9b9b9", "#ececec", "#ffffff") | {"range": {"category": [look.light for look in agents]}}


def page_theme(agents: Sequence[Look]) -> dict[str, Any]:
    """The Vega-Lite configuration of a page: every colour is a CSS variable (``--ink``, ``--soft``, ``--faint``, ``--grid``, ``--agent-0`` ...)."""
    variables = _theme("var(--ink)", "var(--soft)", "var(--faint)", "var(--grid)", None)
    return variables | {"range": {"category": [f"var(--agent-{number})" for number in range(len(agents))]}}


def serial_position_chart(curve: pd.DataFrame, agents: Sequence[Look], *, title: str, subtitle: str = "", columns: int = 4) -> dict[str, Any]:
    """Accuracy by serial position, one panel per list length.

    Parameters
    ----------
    curve : a curve table over ``list_length`` and ``serial_position`` (published points may be among its rows)
    agents : how each agent looks, in drawing order; those that are not in the curve are left out of figure and legend, but keep their colours
    columns : panels in a row

    Returns
    -------
    dict
        the declaration: a Vega-Lite specification without configuration, fit for JSON
    """
    import altair as alt

    panels = [_panel(length) for length in sorted(curve["list_length"].unique())]
    facet = alt.Facet("panel:N", header=alt.Header(title=None, labelAnchor="start"), sort=panels)
    layers = curve_layers(agents, curve, "serial_position", "serial position")
    facets = layers.facet(facet=facet, columns=max(1, min(columns, len(panels))), data=alt.InlineData(values=[])).resolve_scale(x="independent")
    rows = curve_points(curve, "serial_position", agents, panel="list_length")
    return declared(facets.properties(title=title_lines(title, subtitle), spacing={"row": 68, "column": 16}, bounds="flush"), rows)


def set_size_chart(curve: pd.DataFrame, agents: Sequence[Look], *, title: str, subtitle: str = "", x_title: str = "set size") -> dict[str, Any]:
    """Accuracy by set size, one panel.

    Parameters
    ----------
    curve : a curve table over ``set_size``

    Returns
    -------
    dict
        the declaration, as of :func:`serial_position_chart`
    """
    import altair as alt

    layers = curve_layers(agents, curve, "set_size", x_title, width=440, height=250)
    return declared(layers.properties(title=title_lines(title, subtitle), data=alt.InlineData(values=[])), curve_points(curve, "set_size", agents))


def _panel(length: Any) -> str:
    if isinstance(length, str):
        return length
    return f"{int(length)} item{'' if int(length) == 1 else 's'}"


def title_lines(title: str, subtitle: str) -> Any:
    """Title and lines below it, of a figure."""
    import altair as alt

    return alt.TitleParams(text=title, subtitle=[line for line in subtitle.split("\n") if line])


def _plain(value: Any) -> int | float:
    return int(value) if float(value).is_integer() else float(value)


def _number(value: Any) -> float | None:
    return None if value is None or value != value else float(value)


def percent_said(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f}%"


def curve_points(
    curve: pd.DataFrame, over: str, agents: Sequence[Look], panel: str | None = None, said: Callable[[float | None], str] = percent_said
) -> list[dict[str, Any]]:
    """The rows of a chart: one per point of each curve (agents side by side, so that intervals do not hide each other) and those of the chance line.

    ``said`` turns a value into the words that are shown when somebody points at it.
    """
    rows: list[dict[str, Any]] = []
    drawn = set(curve["agent"])
    present = [look for look in agents if look.label in drawn]
    # people in the middle, on the true position; machines to both sides
    places = {look.label: (1 if rank % 2 else -1) * ((rank + 1) // 2) for rank, look in enumerate(reversed(present))}
    widest = 0.7 / max(1, len(present))
    grid = sorted(curve[over].dropna().astype(float).unique())
    step = min((right - left for left, right in pairwise(grid)), default=1.0)
    cells: dict[str, list[dict[Any, Any]]] = {}
    for row in curve.sort_values([name for name in (panel, over) if name]).to_dict("records"):
        cells.setdefault(row["agent"], []).append(row)
    for look in present:
        for row in cells[look.label]:
            mean, low, high = _number(row["mean"]), _number(row["low"]), _number(row["high"])
            if mean is None:
                continue
            count = _number(row["n_units"])
            many = row[panel] if panel and not isinstance(row[panel], str) else len(grid)
            gap = min(widest, float(many) * _DODGE) * step
            rows.append(
                {
                    "role": "curve",
                    "agent": look.label,
                    "x": float(row[over]) + gap * places[look.label],
                    "at": _plain(row[over]),
                    "mean": mean,
                    "low": low,
                    "high": high,
                    "hollow": look.hollow,
                    "faint": look.faint,
                    "correct": said(mean),
                    "range": f"{said(low)} to {said(high)}" if low is not None else (row["note"] or "none"),
                    "n": "not published" if count is None else f"{count:.0f} {row['unit']}{'' if count == 1 else 's'}",
                }
                | ({"panel": _panel(row[panel])} if panel else {})
            )
    return rows + _chance_rows(curve, over, panel, step)


def _chance_rows(curve: pd.DataFrame, over: str, panel: str | None, step: float) -> list[dict[str, Any]]:
    """The chance line of each panel: through the mean chance of every cell, half a step beyond the first and the last."""
    guessed = curve.dropna(subset=["chance"])
    rows: list[dict[str, Any]] = []
    for name, part in guessed.groupby(panel) if panel else [(None, guessed)]:
        line = [(float(x), float(level)) for x, level in part.groupby(over)["chance"].mean().reset_index().itertuples(index=False)]
        line = [(line[0][0] - step / 2, line[0][1]), *line, (line[-1][0] + step / 2, line[-1][1])] if line else []
        rows += [{"role": "chance", "x": x, "at": x, "mean": level} | ({"panel": _panel(name)} if panel else {}) for x, level in line]
    return rows


#: The vertical axis of proportions, with room for points at 0 and at 100%.
PROPORTIONS: dict[str, Any] = {"title": "correct", "domain": [-0.04, 1.05], "format": "%", "values": [0, 0.2, 0.4, 0.6, 0.8, 1]}


def curve_layers(
    agents: Sequence[Look],
    curve: pd.DataFrame,
    over: str,
    x_title: str,
    *,
    width: int = _PANEL[0],
    height: int = _PANEL[1],
    vertical: Mapping[str, Any] = PROPORTIONS,
    called: str = "correct",
    names: Sequence[str] = (),
) -> Any:
    """The layers that all figures share: chance, intervals, lines, points. ``vertical`` is their vertical axis, and ``called`` the name of what it shows;
    ``names`` are those of the places 1, 2, ... along the horizontal axis, where these are no numbers.

    Its parameters: ``hidden`` lists agents that are switched off, ``intervals`` says whether bars are shown.
    """
    import altair as alt

    labels, drawn = [look.label for look in agents], set(curve["agent"])
    hidden = alt.param(name="hidden", value=[])
    intervals = alt.param(name="intervals", value=True)
    domain = alt.Scale(domain=labels)
    legend = alt.Legend(orient="bottom", columns=3, title=None, symbolOpacity=1, values=[label for label in labels[::-1] if label in drawn])
    colour = alt.Color("agent:N", scale=domain, legend=legend)

    places = [_plain(one) for one in sorted(curve[over].dropna().unique())]
    labels_of: dict[str, Any] = {"labelExpr": f"{json.dumps(list(names))}[datum.value - 1]"} if names else {}
    whole = all(isinstance(one, int) for one in places)
    labels_of = labels_of or ({"format": "d"} if whole else {"format": "~g", "tickCount": 5})
    labels_of = labels_of | ({"values": places} if whole else {})

    def each(values: Sequence[Any]) -> alt.Scale:
        return alt.Scale(type="ordinal", domain=labels, range=list(values))

    x = alt.X(
        "x:Q",
        title=x_title,
        scale=alt.Scale(zero=False, nice=False, padding=6),
        axis=alt.Axis(grid=False, labelOverlap="parity", **labels_of),
    )
    height_axis = {
        "title": vertical["title"],
        "scale": alt.Scale(domain=vertical["domain"], nice=False, zero=False),
        "axis": alt.Axis(format=vertical["format"], values=vertical["values"], labelOverlap=False),
    }
    y = alt.Y("mean:Q", **height_axis)
    order = alt.Order("at:Q")
    tooltip = [
        alt.Tooltip("agent:N", title="who"),
        alt.Tooltip("at:Q", title=x_title),
        alt.Tooltip("correct:N", title=called),
        alt.Tooltip("range:N", title="95% interval"),
        alt.Tooltip("n:N"),
    ]
    base = alt.Chart().transform_filter("datum.role == 'curve' && indexof(hidden, datum.agent) < 0")
    widths = alt.StrokeWidth("agent:O", scale=each([look.width for look in agents]), legend=None)
    dashes = alt.StrokeDash("agent:N", scale=each([list(look.dash) for look in agents]), legend=None)
    shapes = alt.Shape("agent:N", scale=each([look.shape for look in agents]), legend=legend)
    sizes = alt.Size("agent:O", scale=each([look.size for look in agents]), legend=None)
    guess = (
        alt.Chart().transform_filter("datum.role == 'chance'").mark_line(style="chance", strokeDash=[1.5, 2.5], strokeWidth=1.2).encode(x=x, y=y, order=order)
    )
    spread = (
        base.transform_filter("intervals")
        .mark_rule(strokeWidth=1.3, opacity=0.55)
        .encode(x=x, y=alt.Y("low:Q", **height_axis), y2="high:Q", color=colour, strokeOpacity=alt.condition("datum.faint", alt.value(0.4), alt.value(1)))
    )
    lines = base.mark_line(strokeCap="butt", opacity=0.95).encode(x=x, y=y, color=colour, strokeDash=dashes, strokeWidth=widths, order=order)
    fill = alt.condition("datum.hollow", alt.value(0), alt.value(1))
    points = base.mark_point(filled=True, opacity=1, strokeWidth=1.4).encode(
        x=x, y=y, color=colour, stroke=alt.Stroke("agent:N", scale=domain, legend=None), fillOpacity=fill, shape=shapes, size=sizes, tooltip=tooltip
    )
    return alt.layer(guess, spread, lines, points).properties(width=width, height=height).add_params(hidden, intervals)


def declared(chart: Any, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """A chart as its specification. Its rows come in last, for Altair would copy and check each of them many times over."""
    import altair as alt

    with alt.theme.enable("none"):
        spec = chart.to_dict()
    spec.pop("config", None)
    return spec | {"data": {"values": rows}}


def for_page(spec: dict[str, Any]) -> dict[str, Any]:
    """A declaration without title and legend, for a page that has both as text of its own."""

    def stripped(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: None if key == "legend" else stripped(value) for key, value in part.items()}
        return [stripped(one) for one in part] if isinstance(part, list) else part

    return {key: value if key == "data" else stripped(value) for key, value in spec.items() if key != "title"}


def vegalite_version() -> str:
    """The Vega-Lite version that Altair writes and vl-convert draws, such as ``6.4``."""
    import altair as alt
    import vl_convert as vlc

    wanted = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    known = vlc.get_vegalite_versions()
    same = [version for version in known if version.split(".")[0] == wanted.split(".")[0]]
    return wanted if wanted in known else (same or known)[-1]


def save(spec: dict[str, Any], stem: Path, agents: Sequence[Look]) -> list[Path]:
    """Write a declared chart as ``<stem>.svg`` and ``<stem>.pdf``, in the print theme; needs no browser and no network.

    Returns
    -------
    list of Path
        the files written
    """
    import vl_convert as vlc

    stem.parent.mkdir(parents=True, exist_ok=True)
    svg, pdf = stem.with_suffix(".svg"), stem.with_suffix(".pdf")
    drawn = draw(spec, agents)
    svg.write_text(drawn, encoding="utf-8")
    pdf.write_bytes(vlc.svg_to_pdf(drawn))
    return [svg, pdf]


def draw(spec: dict[str, Any], agents: Sequence[Look]) -> str:
    """A declared chart as SVG text, in the print theme."""
    import vl_convert as vlc

    return vlc.vega_to_svg(_with_plain_legend(vlc.vegalite_to_vega(spec, vl_version=vegalite_version(), config=print_theme(agents)), agents))


def save_as(spec: dict[str, Any], file: Path, agents: Sequence[Look] = ()) -> Path:
    """Write a declared chart to a file whose name ends in ``.svg``, ``.pdf``, ``.png`` or ``.html`` (a page that tells the numbers, and needs no network).

    Raises
    ------
    SpanLabError
        when the name ends otherwise, or the file cannot be written.
    """
    import vl_convert as vlc

    kinds = {".svg": lambda drawn: drawn.encode(), ".pdf": vlc.svg_to_pdf, ".png": lambda drawn: vlc.svg_to_png(drawn, scale=2)}
    if file.suffix.lower() not in (*kinds, ".html"):
        raise SpanLabError(f"figures are written as {', '.join(kinds)} or .html; found '{file.name}'")
    drawn = page(spec, agents).encode() if file.suffix.lower() == ".html" else kinds[file.suffix.lower()](draw(spec, agents))
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(drawn)
    except OSError as error:
        raise SpanLabError(f"cannot write {file}: {error.strerror or error}") from None
    return file


def page(spec: dict[str, Any], agents: Sequence[Look]) -> str:
    """A declared chart as a page of its own, with everything that it needs inside."""
    import vl_convert as vlc

    drawing = _with_plain_legend(vlc.vegalite_to_vega(spec, vl_version=vegalite_version(), config=print_theme(agents)), agents)
    return vlc.vega_to_html(drawing, bundle=True)


def _with_plain_legend(drawing: dict[str, Any], agents: Sequence[Look]) -> dict[str, Any]:
    """A compiled chart whose legend shows points as they are drawn: Vega-Lite would dash their outlines like the lines, and fill the hollow ones."""
    hollow = json.dumps([look.label for look in agents if look.hollow])
    for legend in drawing.get("legends", []):
        for channel in ("strokeDash", "strokeWidth"):
            legend.pop(channel, None)
        legend.setdefault("encode", {}).setdefault("symbols", {})["update"] = {"fillOpacity": {"signal": f"indexof({hollow}, datum.value) < 0 ? 1 : 0"}}
    return drawing
