"""Charts, declared once in Vega-Lite: the same declaration is drawn by the browser (interactive,
light and dark) and written as SVG and PDF."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...core.atomic_files import user_cache, write_whole
from ...core.errors import SpanLabError
from ..data.style import Look
from .sheet import PLAIN, PX, Sheet, composed, fitted, in_dark, legend_of, lettered, size_of

#: The Vega-Lite that figures are written in.
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
#: Font stack of figures; nothing is fetched.
FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, sans-serif"


def _theme(ink: str, soft: str, faint: str, grid: str, background: str | None, paper: str) -> dict[str, Any]:
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
        "axis": (
            text
            | {
                "domainColor": faint,
                "tickColor": faint,
                "gridColor": grid,
                "tickSize": 4,
                "labelPadding": 4,
                "titlePadding": 8,
            }
        ),
        "header": text | {"labelColor": ink, "labelFontSize": 12, "labelFontWeight": 600, "labelPadding": 4},
        "axisQuantitative": {"labelLimit": 0},  # numbers are short, and to find that out every text is measured
        "legend": (
            text
            | {
                "labelFontSize": 11.5,
                "labelLimit": 420,
                "symbolSize": 90,
                "symbolStrokeWidth": 2,
                "rowPadding": 4,
                "titleFontSize": 0,
            }
        ),
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
        "style": {
            "chance": {"color": soft},
            "soft": {"color": soft},
            "halo": {"color": paper, "stroke": paper, "strokeWidth": 3, "strokeJoin": "round"},
        },
    }


def print_theme(agents: Sequence[Look], sheet: Sheet = PLAIN) -> dict[str, Any]:
    """The Vega-Lite configuration of files: dark on white, unless another theme is asked for."""
    dark = sheet.theme == "dark"
    theme = (
        _theme("#eceef2", "#a9b0bc", "#4a515d", "#292d34", "#15171b", "#15171b")
        if dark
        else _theme("#1b1b1b", "#4a4a4a", "#b9b9b9", "#ececec", "#ffffff", "#ffffff")
    )
    if all(_widest(look.label) <= theme["legend"]["labelLimit"] / theme["legend"]["labelFontSize"] for look in agents):
        theme["legend"] |= {"labelLimit": 0}
    return theme | {"range": {"category": [look.dark if dark else look.light for look in agents]}}


def _widest(label: str) -> float:
    """Return how wide a label is at most, in font sizes. Where none can be too long there is no
    limit to hold, for which each would be measured again."""
    return sum(
        0.65 if sign.isascii() and (sign.islower() or not sign.isalpha()) and sign not in "mw@%&" else 1.1
        for sign in label
    )


def page_theme(agents: Sequence[Look]) -> dict[str, Any]:
    """The Vega-Lite configuration of a page: every colour is a CSS variable (``--ink``, ``--soft``,
    ``--faint``, ``--grid``, ``--agent-0`` ...)."""
    variables = _theme("var(--ink)", "var(--soft)", "var(--faint)", "var(--grid)", None, "var(--paper)")
    return variables | {"range": {"category": [f"var(--agent-{number})" for number in range(len(agents))]}}


def title_lines(title: str, subtitle: str) -> dict[str, Any]:
    """Title and lines below it, of a figure."""
    return {"text": title, "subtitle": [line for line in subtitle.split("\n") if line]}


def plain(spec: Mapping[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """A specification that was written as plain data, with its rows. Altair copies and checks each
    part of a chart whenever it is put into another one, which would be most of the time of a
    figure; those of a page are therefore written without it."""
    return {"$schema": SCHEMA, **spec, "data": {"values": rows}}


def declared(chart: Any, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """A chart as its specification. Its rows come in last, for Altair would copy and check each of
    them many times over; and what its parts were checked for when they were made, it is not checked
    for again: half of the time of a figure with many panels."""
    import altair as alt

    with alt.theme.enable("none"):
        spec = chart.to_dict(validate=False)
    spec.pop("config", None)
    return spec | {"data": {"values": rows}}


def panel_of(part: Mapping[str, Any], condition: str, heading: Mapping[str, Any]) -> dict[str, Any]:
    """A panel with the rows that meet a condition, and what stands above it."""
    return {**part, "transform": [{"filter": condition}], "title": heading}


def grid(
    panels: Sequence[Mapping[str, Any]],
    rows: list[dict[str, Any]],
    *,
    columns: int,
    spacing: tuple[int, int],
    title: Mapping[str, Any],
) -> dict[str, Any]:
    """Panels in rows as one specification.

    Parameters
    ----------
    rows : the data of all panels
    spacing : between rows and between columns, in px
    """
    params = {param["name"]: param for panel in panels for param in panel.get("params", ())}
    return {
        "$schema": SCHEMA,
        "title": title,
        "params": list(params.values()),
        "concat": [{name: value for name, value in panel.items() if name != "params"} for panel in panels],
        "columns": columns,
        "spacing": {"row": spacing[0], "column": spacing[1]},
        "bounds": "flush",
        "data": {"values": rows},
    }


def for_page(spec: dict[str, Any]) -> dict[str, Any]:
    """A declaration without title and legend, for a page that has both as text of its own."""

    def stripped(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: None if key == "legend" else stripped(value) for key, value in part.items()}
        return [stripped(element) for element in part] if isinstance(part, list) else part

    return {key: value if key == "data" else stripped(value) for key, value in spec.items() if key != "title"}


@functools.cache
def vegalite_version() -> str:
    """The newest Vega-Lite of :data:`SCHEMA` that vl-convert draws, such as ``6.4``."""
    import vl_convert as vlc

    major = SCHEMA.rpartition("/v")[2].removesuffix(".json")
    known = vlc.get_vegalite_versions()
    return ([version for version in known if version.split(".")[0] == major] or known)[-1]


@functools.cache
def vega_script() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script, fit for a script element. Bundling takes longer
    than drawing several figures and always gives the same result, so the bundle of these versions
    is kept in the user's cache; a damaged one is made again."""
    from importlib.metadata import version

    import vl_convert as vlc

    kept = user_cache() / f"vega-{version('vl-convert-python')}-{vegalite_version()}.js"
    with suppress(OSError, UnicodeDecodeError):
        stamp, _, script = kept.read_bytes().partition(b"\n")
        if stamp == _stamp(script):
            return script.decode()
    bundle = vlc.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=vegalite_version())
    script = bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    with suppress(SpanLabError):  # without a cache it takes its time again
        write_whole(kept, _stamp(script.encode()) + b"\n" + script.encode(), folders="all", together=True)
    return script


def _stamp(script: bytes) -> bytes:
    return b"// " + hashlib.sha256(script).hexdigest().encode()


def save(spec: dict[str, Any], stem: Path, agents: Sequence[Look]) -> list[Path]:
    """Write a declared chart as ``<stem>.svg`` and ``<stem>.pdf``, in the print theme; needs no
    browser and no network.

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


def draw(spec: dict[str, Any], agents: Sequence[Look], sheet: Sheet = PLAIN) -> str:
    """A declared chart as SVG text, in the print theme. Heading and legend are set around it here:
    Vega would measure each of their words many times over."""
    theme = print_theme(agents, sheet)
    legend, title = legend_of(spec, agents), spec.get("title")
    chart = {key: value for key, value in (for_page(spec) if legend else spec).items() if key != "title"}
    chart = lettered(chart) if sheet.letters else chart
    chart = in_dark(chart, agents) if sheet.theme == "dark" else chart
    if sheet.width_mm is None:
        return composed(_drawn(chart, agents, theme), title, legend, sheet, theme)
    room = wanted = sheet.width_mm * PX
    drawn = ""
    for _ in range(3):  # what axes take is known when they are drawn
        drawn = _drawn(fitted(chart, room), agents, theme)
        wide, _ = size_of(drawn)
        if wide <= wanted:
            break
        room -= wide - wanted + 1
    return composed(drawn, title, legend, sheet, theme)


def _drawn(spec: Mapping[str, Any], agents: Sequence[Look], theme: Mapping[str, Any]) -> str:
    """A chart as Vega draws it, whose size is known to be one that can be written."""
    import vl_convert as vlc

    svg = vlc.vega_to_svg(
        _with_plain_legend(vlc.vegalite_to_vega(dict(spec), vl_version=vegalite_version(), config=dict(theme)), agents)
    )
    size_of(svg)
    return svg


def save_as(spec: dict[str, Any], file: Path, agents: Sequence[Look] = (), sheet: Sheet = PLAIN) -> Path:
    """Write a declared chart to a file whose name ends in ``.svg``, ``.pdf``, ``.png`` or ``.html``
    (a page that tells the numbers, and needs no network).

    Raises
    ------
    SpanLabError
        when the name ends otherwise, or the file cannot be written.
    """
    import vl_convert as vlc

    kinds = {
        ".svg": lambda drawn: drawn.encode(),
        ".pdf": vlc.svg_to_pdf,
        ".png": lambda drawn: vlc.svg_to_png(drawn, scale=72 / 96, ppi=sheet.dpi),
    }
    if file.suffix.lower() not in (*kinds, ".html"):
        raise SpanLabError(f"figures are written as {', '.join(kinds)} or .html; found '{file.name}'")
    if file.suffix.lower() == ".html" and sheet != PLAIN:
        raise SpanLabError(
            "--width, --theme, --no-title, --letters and --dpi are for .svg, .pdf and .png; a page follows its reader's"
            " settings"
        )
    drawn = (
        page(spec, agents).encode()
        if file.suffix.lower() == ".html"
        else kinds[file.suffix.lower()](draw(spec, agents, sheet))
    )
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(drawn)
    except OSError as error:
        raise SpanLabError(f"cannot write {file}: {error.strerror or error}") from None
    return file


def page(spec: dict[str, Any], agents: Sequence[Look]) -> str:
    """A declared chart as a page of its own, with everything that it needs inside."""
    import vl_convert as vlc

    drawing = _with_plain_legend(
        vlc.vegalite_to_vega(spec, vl_version=vegalite_version(), config=print_theme(agents)), agents
    )
    return vlc.vega_to_html(drawing, bundle=True)


def _with_plain_legend(drawing: dict[str, Any], agents: Sequence[Look]) -> dict[str, Any]:
    """A compiled chart whose legend shows points as they are drawn: Vega-Lite would dash their
    outlines like the lines, and fill the hollow ones."""
    hollow = json.dumps([look.label for look in agents if look.hollow])
    for legend in drawing.get("legends", []):
        for channel in ("strokeDash", "strokeWidth"):
            legend.pop(channel, None)
        legend.setdefault("encode", {}).setdefault("symbols", {})["update"] = {
            "fillOpacity": {"signal": f"indexof({hollow}, datum.value) < 0 ? 1 : 0"}
        }
    return drawing
