"""Charts, declared once in Vega-Lite: the same declaration is drawn by the browser (interactive,
light and dark) and written into files. There heading and legend are set around it, as wide as a
column of a journal, in a theme.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from xml.sax.saxutils import escape, quoteattr, unescape

from ...core.atomic_files import written_in
from ...core.doors import installed, need
from ...core.errors import SpanLabError
from ..data.style import Look

#: The Vega-Lite that figures are written in.
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
#: Font stack of figures; nothing is fetched.
FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, sans-serif"
#: Themes of files.
THEMES = ("light", "dark")
#: Pixels of a millimetre, as browsers and printers take them.
PX = 96 / 25.4
#: Columns of journals, in mm, as examples; other widths are as good.
NARROWEST, WIDEST = 40.0, 400.0
#: The longest side of a drawing, in px.
LARGEST = 30_000.0
#: Outlines of the figures' point shapes, for legends.
SHAPES = {
    "circle": "M-4.4 0a4.4 4.4 0 1 0 8.8 0a4.4 4.4 0 1 0-8.8 0Z",
    "square": "M-3.6-3.6H3.6V3.6H-3.6Z",
    "diamond": "M0-5.2L4.2 0L0 5.2L-4.2 0Z",
    "triangle-up": "M0-4.6L4.6 3.6H-4.6Z",
    "triangle-down": "M0 4.6L-4.6-3.6H4.6Z",
    "triangle-right": "M4.8 0L-3.6 4.6V-4.6Z",
    "triangle-left": "M-4.8 0L3.6-4.6V4.6Z",
    "cross": "M-1.5-4.2H1.5V-1.5H4.2V1.5H1.5V4.2H-1.5V1.5H-4.2V-1.5H-1.5Z",
    "wedge": "M0-4.5L-1.2 2.2H1.2Z",
    "stroke": "M-4.5-1.2H4.5V1.2H-4.5Z",
}
#: Widths of letters from the space to ~ in thousandths of the font size: those of Helvetica, which
#: Arial and Liberation Sans share.
_WIDTH_TABLE = """
278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556
556 278 278 584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778
722 667 611 722 667 944 667 667 611 278 278 278 469 556 333 556 556 500 556 556 278 556 556 222 222
500 222 833 556 556 556 556 333 500 278 556 500 722 500 500 500 334 260 334 584
"""
_WIDTHS = dict(zip(map(chr, range(32, 127)), map(int, _WIDTH_TABLE.split()), strict=True))
#: How much wider bold letters are.
_BOLD = 1.06


@dataclass(frozen=True)
class Sheet:
    """Layout of a figure in a file.

    Parameters
    ----------
    width_mm : as wide as this, with text at its size; as wide as the chart comes out when not given
    theme : ``light`` or ``dark``
    heading : whether title and caption stand above the chart
    dpi : dots per inch of pictures made of dots
    """

    width_mm: float | None = None
    theme: Literal["light", "dark"] = "light"
    heading: bool = True
    dpi: int = 300


#: How files look unless somebody asks for something else.
PLAIN = Sheet()


def sheet_for(
    width: str = "",
    theme: str = "light",
    heading: bool = True,
    dpi: int = 300,
) -> Sheet:
    """Check the options for how a figure looks.

    Raises
    ------
    SpanLabError
        for widths that are none, for themes that are not there, and for a number of dots that no
        picture has.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(mm|cm|in)", width.strip()) if width else None
    if width and match is None:
        raise SpanLabError(
            f"is a number and its unit, such as 88mm (one column) or 180mm (two), not '{width}'", option="width"
        )
    mm = None if match is None else float(match[1]) * {"mm": 1.0, "cm": 10.0, "in": 25.4}[match[2]]
    if mm is not None and not NARROWEST <= mm <= WIDEST:
        raise SpanLabError(f"is between {NARROWEST:.0f}mm and {WIDEST:.0f}mm, not {width}", option="width")
    if theme != "light" and theme != "dark":
        raise SpanLabError(f"is {' or '.join(THEMES)}, not '{theme}'", option="theme")
    if not 50 <= dpi <= 1200:
        raise SpanLabError(f"is between 50 and 1200, not {dpi}", option="dpi")
    return Sheet(mm, theme, heading, dpi)


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
        },
    }


def print_theme(agents: Sequence[Look], sheet: Sheet = PLAIN) -> dict[str, Any]:
    """The Vega-Lite configuration of files: dark on white, unless another theme is asked for."""
    dark = sheet.theme == "dark"
    theme = (
        _theme("#eceef2", "#a9b0bc", "#4a515d", "#292d34", "#15171b")
        if dark
        else _theme("#1b1b1b", "#4a4a4a", "#b9b9b9", "#ececec", "#ffffff")
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
    variables = _theme("var(--ink)", "var(--soft)", "var(--faint)", "var(--grid)", None)
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


def can_draw() -> bool:
    """Return whether vl-convert is installed, which draws figures."""
    return installed("vl_convert")


def _vl_convert() -> Any:
    try:
        import vl_convert
    except ImportError:
        need("figures", "vl_convert", "a figure")
        raise
    return vl_convert


@functools.cache
def vegalite_version() -> str:
    """The newest Vega-Lite of :data:`SCHEMA` that vl-convert draws, such as ``6.4``."""
    vlc = _vl_convert()

    major = SCHEMA.rpartition("/v")[2].removesuffix(".json")
    known = vlc.get_vegalite_versions()
    return ([version for version in known if version.split(".")[0] == major] or known)[-1]


def save(spec: dict[str, Any], stem: Path, agents: Sequence[Look]) -> list[Path]:
    """Write a declared chart as ``<stem>.svg`` and ``<stem>.pdf``, in the print theme; needs no
    browser and no network.

    Returns
    -------
    list of Path
        the files written
    """
    vlc = _vl_convert()

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
    if sheet.theme == "dark":
        chart = recoloured(chart, {look.light: look.dark for look in agents})
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
    vlc = _vl_convert()

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
    vlc = _vl_convert()

    kinds = {
        ".svg": lambda drawn: drawn.encode(),
        ".pdf": vlc.svg_to_pdf,
        ".png": lambda drawn: vlc.svg_to_png(drawn, scale=72 / 96, ppi=sheet.dpi),
    }
    if file.suffix.lower() not in (*kinds, ".html"):
        raise SpanLabError(f"figures are written as {', '.join(kinds)} or .html; found '{file.name}'")
    if file.suffix.lower() == ".html" and sheet != PLAIN:
        raise SpanLabError(
            "--width, --theme, --no-title and --dpi are for .svg, .pdf and .png; a page follows its reader's settings"
        )
    drawn = (
        page(spec, agents).encode()
        if file.suffix.lower() == ".html"
        else kinds[file.suffix.lower()](draw(spec, agents, sheet))
    )
    with written_in(file.parent, str(file)):
        file.write_bytes(drawn)
    return file


def page(spec: dict[str, Any], agents: Sequence[Look]) -> str:
    """A declared chart as a page of its own, with everything that it needs inside."""
    vlc = _vl_convert()

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


def text_width(text: str, size: float) -> float:
    """About how wide a text is in px."""
    return size / 1000 * sum(_WIDTHS.get(one, 1000 if ord(one) > 0x2E7F else 600) for one in text)


def held(svg: str) -> str:
    """A drawing for a page: its texts are as wide as they were measured, also where the browser has
    neither Helvetica nor a typeface of its widths, and another one would be cut off or lie on marks.
    (In a file whose words somebody may change, they would be squeezed.)"""

    def measured(text: re.Match[str]) -> str:
        look, size, words = text.groups()
        wide = text_width(unescape(words), float(size)) * (_BOLD if re.search('font-weight="(bold|600)"', look) else 1)
        return f'<text{look} textLength="{wide:.1f}" lengthAdjust="spacingAndGlyphs">{words}</text>'

    return re.sub(r'<text((?=[^>]* font-size="([\d.]+)px")[^>]*)>([^<]{2,})</text>', measured, svg)


def wrapped(text: str, size: float, width: float) -> list[str]:
    """A text in lines that are no wider than ``width`` px."""
    lines: list[str] = []
    for word in text.split():
        if lines and text_width(f"{lines[-1]} {word}", size) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def fitted(spec: Mapping[str, Any], width: float) -> dict[str, Any]:
    """A declaration whose panels fit side by side into ``width`` px: as many in a row as stay
    legible."""
    axis, gap = 54.0, 16.0
    if "facet" in spec:
        panels = list(spec["facet"]["sort"])
        least = min(width - axis, max(100.0, max((text_width(name, 12) for name in panels), default=0.0)))
        most = max(1, min(len(panels), int((width - axis + gap) // (least + gap))))
        rows = -(-len(panels) // most)
        columns = -(-len(panels) // rows)
        wide = min(300.0, (width - axis - gap * (columns - 1)) / columns)
        high = min(150.0, max(96.0, wide * 0.8))
        return {
            **spec,
            "columns": columns,
            "spec": {**spec["spec"], "width": wide, "height": high},
        }
    if "concat" in spec:
        between, every = 46.0, spec.get("columns") or len(spec["concat"])
        columns = max(1, min(every, int((width + between) // (100 + between))))
        while every % columns:
            columns -= 1
        wide = (width - between * columns) / columns
        panels = [{**panel, "width": wide, "height": min(150.0, max(96.0, wide * 0.8))} for panel in spec["concat"]]
        return {**spec, "concat": panels, "columns": columns, "spacing": {**spec.get("spacing", {}), "column": between}}
    if "layer" in spec or "mark" in spec:
        wide = width - axis
        return {**spec, "width": wide, "height": max(120.0, min(wide * 0.57, 300.0))}
    return dict(spec)


def recoloured(spec: Mapping[str, Any], colours: Mapping[str, str]) -> dict[str, Any]:
    """A declaration with other colours, by those that it has; its rows stay as they are."""

    def changed(part: Any) -> Any:
        if isinstance(part, Mapping):
            return {key: changed(value) for key, value in part.items()}
        if isinstance(part, list):
            return [changed(element) for element in part]
        return colours.get(part, part) if isinstance(part, str) else part

    return {key: value if key == "data" else changed(value) for key, value in spec.items()}


def legend_of(spec: Mapping[str, Any], agents: Sequence[Look]) -> list[Look]:
    """The answerers in the legend of a declaration, people first; empty where it has no legend, or
    one of something else."""
    rows = [row for row in spec.get("data", {}).get("values", ()) if isinstance(row, Mapping)]
    there = {row["agent"] for row in rows if "agent" in row}
    thin = {row["agent"] for row in rows if row.get("crowd")}
    if not there <= {look.label for look in agents} or not _has_legend(spec):
        return []
    off = {name for one in spec.get("params", ()) if one.get("name") == "hidden" for name in one.get("value") or ()}
    return [look for look in reversed(agents) if look.label in there - off - thin]


def _has_legend(part: Any) -> bool:
    if isinstance(part, Mapping):
        return any(
            (key == "legend" and isinstance(value, Mapping)) or (key != "data" and _has_legend(value))
            for key, value in part.items()
        )
    return isinstance(part, list) and any(map(_has_legend, part))


def size_of(svg: str) -> tuple[float, float]:
    """Width and height of a drawn chart, in px.

    Raises
    ------
    SpanLabError
        when it has none, or is so large (:data:`LARGEST`) that converting it would take all memory.
    """
    head = svg.partition(">")[0]
    sides = [float(match[1]) for name in ("width", "height") if (match := re.search(rf' {name}="([^"]+)"', head))]
    if len(sides) < 2 or not all(0 < side <= LARGEST for side in sides):
        drawn = " by ".join(f"{side:.3g}" for side in sides) or "of no size"
        raise SpanLabError(f"the drawing came out {drawn} px; at most {LARGEST:,.0f} px a side can be written")
    return sides[0], sides[1]


def composed(
    svg: str, title: Mapping[str, Any] | str | None, legend: Sequence[Look], sheet: Sheet, theme: Mapping[str, Any]
) -> str:
    """A drawn chart with its heading above and its legend below, as one picture.

    Parameters
    ----------
    svg : the chart, without either
    title : of the declaration: ``text`` and ``subtitle``
    legend : whom it names
    theme : the configuration that the chart was drawn with
    """
    wide, high = size_of(svg)
    body = svg.partition(">")[2]
    pad = 6.0
    whole, left, small = max(wide, 420.0), 0.0, False
    if sheet.width_mm is not None:
        whole, small = max(wide, sheet.width_mm * PX), sheet.width_mm < 120
        left = (whole - wide) / 2
    look, ink, soft = theme["title"], theme["title"]["color"], theme["title"]["subtitleColor"]
    parts: list[str] = []
    top = pad
    if sheet.heading and title:
        words = title if isinstance(title, Mapping) else {"text": title}
        size, below = (12.0, 9.0) if small else (look["fontSize"], look["subtitleFontSize"])
        subtitle = words.get("subtitle") or []
        for line in wrapped(str(words.get("text", "")), size * _BOLD, whole - 2 * pad):
            top += size * 1.2
            parts.append(_text(line, pad, top - 3, size, ink, look["font"], "bold"))
        for line in wrapped(" ".join([subtitle] if isinstance(subtitle, str) else subtitle), below, whole - 2 * pad):
            top += below * 1.3
            parts.append(_text(line, pad, top - 2, below, soft, look["font"]))
        top += 8
    parts.append(f'<g transform="translate({left:.2f},{top:.2f})">{body.rpartition("</svg>")[0]}</g>')
    top += high
    x, row = pad, 16.0
    for one in legend:
        size = 9.5 if small else 11.5
        need = 36 + text_width(one.label, size) + 14
        if x > pad and x + need > whole - pad + 14:
            x, top = pad, top + row
        colour = one.dark if sheet.theme == "dark" else one.light
        fill = theme["background"] if one.hollow else colour
        dash = f' stroke-dasharray="{one.dash[0]} {one.dash[1]}"' if one.dash[0] > 1 else ""
        parts.append(
            f'<g transform="translate({x:.2f},{top + 8:.2f})"><path d="M0 0H28" stroke="{colour}"'
            f' stroke-width="{one.width}"{dash}/>'
            f'<path d="{SHAPES.get(one.shape, SHAPES["circle"])}" transform="translate(14 0)" stroke="{colour}"'
            f' stroke-width="1.4" fill="{fill}"/>'
            f"{_text(one.label, 34, size * 0.35, size, ink, look['font'])}</g>"
        )
        x += need
    tall = top + (row if legend else 0) + pad
    unit = (
        [f"{sheet.width_mm:g}mm", f"{tall * (sheet.width_mm * PX / whole) / PX:.3f}mm"]
        if sheet.width_mm is not None
        else [f"{whole:g}", f"{tall:g}"]
    )
    ground = theme["background"]
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" class="marks"'
        f' version="1.1" width="{unit[0]}" height="{unit[1]}" viewBox="0 0 {whole:g} {tall:g}"><rect width="{whole:g}"'
        f' height="{tall:g}" fill="{ground}"/>{"".join(parts)}</svg>'
    )


def _text(words: str, x: float, y: float, size: float, colour: str, font: str, weight: str = "") -> str:
    heavy = f' font-weight="{weight}"' if weight else ""
    return (
        f'<text x="{x:.2f}" y="{y:.2f}" font-family={quoteattr(font)} font-size="{size:g}px"{heavy}'
        f' fill="{colour}">{escape(words)}</text>'
    )
