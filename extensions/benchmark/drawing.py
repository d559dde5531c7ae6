"""Pictures and pages of cards: one SVG that stands alone, a page of a card, and a page of several
cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from spanlab.core import SpanLabError, __version__, grouped, write_json, write_whole

from .card import NO_VERDICTS, UNKNOWN

_WIDTH = 920
_ROW = 24
#: Further height of a row where replies could not be read.
_BOUNDS = 11
_TOP = 92
_CHARTS = 214
_STYLE = """
.bc-paper{fill:var(--paper,#ffffff)}.bc-ink{fill:var(--ink,#1d1f24)}.bc-soft{fill:var(--soft,#565c67)}.bc-agent{fill:var(--accent,#00558c)}
.bc-line{stroke:var(--accent,#00558c);fill:none;stroke-width:2}.bc-ref{stroke:var(--ink,#1d1f24);fill:none;stroke-width:1.6;stroke-dasharray:4 3}
.bc-other{stroke:var(--faint,#aab0ba);fill:none;stroke-width:1.2}.bc-grid{stroke:var(--line,#e3e0d8);stroke-width:1}
.bc-people{fill:var(--paper,#ffffff);stroke:var(--ink,#1d1f24);stroke-width:1.5}
text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif}
"""  # noqa: E501
#: In the small charts at the top: the paradigm, what is along the bottom, and the title. Of several
#: that a card has, the first of each kind is drawn.
_PICTURES = (
    (("vsr", "serial_position", "Serial position", 6.0), ("vsrec", "serial_position", "Serial position", None)),
    (("smu", "set_size", "Set size (updating)", None), ("cd", "set_size", "Set size (change detection)", None)),
    (("nback_verbal", "n", "N-back, letters: d′", None), ("nback_spatial", "n", "N-back, 3 × 3 grid: d′", None)),
)


def write_card(card: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write a card as JSON, picture and page.

    Returns
    -------
    their paths

    Raises
    ------
    SpanLabError
        when they cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "card.json", card)
    write_whole(folder / "card.svg", picture(card).encode())
    return [folder / "card.json", folder / "card.svg", write_page(folder / "card.html", page([card]))]


def write_page(path: Path, text: str) -> Path:
    """Write a page.

    Raises
    ------
    SpanLabError
        when its name is not that of a page, or it cannot be written.
    """
    if path.suffix != ".html":
        raise SpanLabError(f"-o names a page, such as cards.html; found {path}")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text.encode())
    return path


def gallery(cards: Sequence[Mapping[str, Any]]) -> str:
    """A page of several cards: one table of all effects, then each card."""
    return page(sorted(cards, key=lambda card: (card["agent"]["kind"], card["agent"]["name"])))


def page(cards: Sequence[Mapping[str, Any]]) -> str:
    """A page of one or several cards, which opens offline."""
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(files(__package__ or "").joinpath("page.html.jinja").read_text("utf-8"))
    css = files("spanlab.core").joinpath("page.css").read_text("utf-8")
    return template.render(
        cards=cards,
        pictures=[picture(card) for card in cards],
        css=css,
        version=__version__,
        number=_number,
        interval=_interval,
        bounds=bounds,
        unknown=UNKNOWN,
    )


def _number(value: float | None, digits: int = 1) -> str:
    return "" if value is None else f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


def _digits(unit: str) -> int:
    return 2 if "d′" in unit else 1


def _interval(entry: Mapping[str, Any] | None, unit: str = "") -> str:
    """A number with its interval."""
    if entry is None or entry["value"] is None:
        return ""
    digits = _digits(unit)
    ends = (
        ""
        if entry["low"] is None or entry["high"] is None
        else f" [{_number(entry['low'], digits)}, {_number(entry['high'], digits)}]"
    )
    return _number(entry["value"], digits) + ends


def bounds(effect: Mapping[str, Any]) -> str:
    """Say what replies that could not be read leave open about a number of the agent, to follow it;
    empty where all could be read."""
    if not effect.get("unread"):
        return ""
    guessed = effect.get("if_guessed")
    upper = f", as guesses {_number(guessed, _digits(effect['unit']))}" if guessed is not None else ""
    return f"; {100 * effect['unread']:.0f} % unread{upper}"


def picture(card: Mapping[str, Any]) -> str:
    """A card as an SVG that stands alone; in a page it takes the page's colours."""
    charts = _charts(card)
    top = _TOP + (_CHARTS if charts else 0)
    shown = [effect for effect in card["effects"] if effect["agent"] is not None]
    row = _ROW + (_BOUNDS if any(effect.get("unread") for effect in shown) else 0)
    height = top + 34 + row * len(shown) + 56
    parts = [*_head(card), *charts, *_effects(shown, top, row), *_foot(card, height)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
        ' role="img" aria-label="Benchmark card of'
        f' {escape(card["agent"]["name"], quote=True)}"><style>{_STYLE}</style><rect class="bc-paper" width="{_WIDTH}"'
        f' height="{height}"/>{"".join(parts)}</svg>\n'
    )


def _text(
    x: float, y: float, text: str, look: str = "bc-ink", size: float = 13, anchor: str = "start", weight: int = 400
) -> str:
    return (
        f'<text class="{look}" x="{x:g}" y="{y:g}" font-size="{size:g}" text-anchor="{anchor}"'
        f' font-weight="{weight}">{escape(text)}</text>'
    )


def _head(card: Mapping[str, Any]) -> list[str]:
    agent, suite = card["agent"], card["suite"]
    kind = f"{agent['kind']}{', an oracle: it is given the right answers' if agent['oracle'] else ''}"
    trials = (
        f"{card['trials']:,} {'blocks' if agent['kind'] == 'published' else 'trials'}, {card['comparable']:,} of them"
        " comparable"
    )
    return [
        _text(28, 40, agent["name"], size=24, weight=650),
        _text(28, 62, f"{kind} · suite {suite['name']}, version {suite['version']} · {trials}", "bc-soft"),
        _text(
            28, 81, f"wordings: {', '.join(card['wordings'])}" if "wordings" in card else _networks(card), "bc-soft", 12
        ),
    ]


def _networks(card: Mapping[str, Any]) -> str:
    """The networks that answered, where the card's name stands for several."""
    took = grouped((one["answered"].removeprefix("network:"), one["paradigm"]) for one in card["sessions"])
    return " · ".join(f"{name}: {', '.join(paradigms)}" for name, paradigms in took.items()) if len(took) > 1 else ""


def _foot(card: Mapping[str, Any], height: float) -> list[str]:
    left = ", ".join(card["not_taken"])
    note = f"Not taken: {left}. " if left else ""
    marks = "● agent with 95 % interval   ○ your people, published means or, for N-back, the first published model"
    return [
        _text(28, height - 30, marks, "bc-soft", 11.5),
        _text(28, height - 12, f"{note}spanlab {card['spanlab']}", "bc-soft", 11.5),
    ]


def _charts(card: Mapping[str, Any]) -> list[str]:
    """The small charts at the top: those of the pictures for which the card has curves."""
    chosen = [next((one for one in several if one[0] in card["curves"]), None) for several in _PICTURES]
    shown = [one for one in chosen if one is not None]
    return [
        part
        for number, (paradigm, along, title, length) in enumerate(shown)
        for part in _chart(card["curves"][paradigm], along, title, length, 28 + number * 294.0)
    ]


def _chart(curves: Mapping[str, Any], along: str, title: str, length: float | None, left: float) -> list[str]:
    lines = [(curve["name"], _means(curves["by"], curve["points"], along, length)) for curve in curves["curves"]]
    lines = [(name, points) for name, points in lines if points]
    sensitivity = along == "n"
    values = [value for _, points in lines for _, value in points]
    low, high, ticks, scale, unit, other = 0.0, 1.0, (0, 0.5, 1), 100, " %", "bc-ref"
    if sensitivity:
        low, high, ticks, scale, unit, other = min(0.0, *values), max(5.0, *values), range(6), 1, "", "bc-other"
    xs = sorted({x for _, points in lines for x, _ in points})
    width, height, top = 230.0, 128.0, _TOP + 34.0

    def at(x: float, value: float) -> tuple[float, float]:
        across = (x - xs[0]) / (xs[-1] - xs[0]) if len(xs) > 1 else 0.5
        return left + 34 + across * (width - 12), top + height * (1 - (value - low) / (high - low))

    heading = title + (f", lists of {length:g}" if length is not None and any(name != "" for name, _ in lines) else "")
    parts = [_text(left, top - 16, heading, size=13, weight=600)]
    for tick in ticks:
        y = at(xs[0], tick)[1]
        parts += [
            f'<line class="bc-grid" x1="{left + 30:g}" x2="{left + 30 + width:g}" y1="{y:.1f}" y2="{y:.1f}"/>',
            _text(left + 26, y + 4, f"{scale * tick:g}{unit}", "bc-soft", 11, "end"),
        ]
    parts += [_text(at(x, low)[0], top + height + 16, f"{x:g}", "bc-soft", 11, "middle") for x in xs if x == int(x)]
    for number, (_, points) in reversed([*enumerate(lines)]):
        look = ("bc-line", other, "bc-other")[min(number, 2)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*point) for point in points))
        parts.append(f'<polyline class="{look}" points="{path}"/>')
        if number < 2 and not (sensitivity and number):
            mark = "bc-agent" if number == 0 else "bc-people"
            parts += [
                f'<circle class="{mark}" cx="{x:.1f}" cy="{y:.1f}" r="3.6"/>'
                for x, y in (at(*point) for point in points)
            ]
    beside = f"grey: {len(lines) - 1} others" if len(lines) > 2 else ""
    if len(lines) > 1 and not sensitivity:
        beside = f"○ {lines[1][0]}"
    return [*parts, _text(left + 34, top + height + 34, beside, "bc-soft", 11)]


def _means(
    by: Sequence[str], points: Sequence[Sequence[Any]], along: str, length: float | None
) -> list[tuple[float, float]]:
    """Means over conditions at each level of a column; of lists of one length where it is given."""
    sums: dict[float, list[float]] = {}
    for *place, value in points:
        where = dict(zip(by, place, strict=True))
        if value is not None and (length is None or where.get("list_length", length) == length):
            sums.setdefault(float(where[along]), []).append(value)
    return sorted((x, sum(values) / len(values)) for x, values in sums.items())


def _effects(effects: Sequence[Mapping[str, Any]], top: float, row: float) -> list[str]:
    parts = [
        _text(x, top + 18, title, "bc-soft", 11.5, anchor)
        for x, title, anchor in (
            (28, "effect", "start"),
            (470, "agent", "start"),
            (640, "beside", "start"),
            (892, "verdict", "end"),
        )
    ]
    for number, effect in enumerate(effects):
        parts += _effect(effect, top + 34 + row * number)
    return parts


def _effect(effect: Mapping[str, Any], y: float) -> list[str]:
    """One row: name, agent and reference on an axis of its own kind, numbers, verdict."""
    middle, unit = y + 12, effect["unit"]
    beside = effect["against"][0] if effect["against"] else None
    low, high = _domain(effect, beside)
    left, width = 226.0, 226.0

    def at(value: float) -> float:
        return left + width * (min(max(value, low), high) - low) / (high - low)

    parts = [
        f'<line class="bc-grid" x1="28" x2="892" y1="{y:g}" y2="{y:g}"/>',
        _text(28, middle + 4, f"{effect['paradigm']}: {effect['effect']}", size=12.5),
    ]
    parts.append(f'<line class="bc-grid" x1="{at(0):.1f}" x2="{at(0):.1f}" y1="{y + 3:g}" y2="{y + _ROW - 3:g}"/>')
    agent = effect["agent"]
    if agent["low"] is not None and agent["high"] is not None:
        parts.append(
            f'<line class="bc-line" x1="{at(agent["low"]):.1f}" x2="{at(agent["high"]):.1f}" y1="{middle:g}"'
            f' y2="{middle:g}"/>'
        )
    if beside is not None:
        parts.append(f'<circle class="bc-people" cx="{at(beside["reference"]["value"]):.1f}" cy="{middle:g}" r="4.4"/>')
    if agent["value"] is not None:
        parts.append(f'<circle class="bc-agent" cx="{at(agent["value"]):.1f}" cy="{middle:g}" r="3.6"/>')
    parts.append(_text(470, middle + 4, _interval(agent, unit), size=12))
    if effect.get("unread"):
        parts.append(_text(470, middle + 16, bounds(effect).removeprefix("; "), "bc-soft", 9.5))
    if beside is not None:
        verdict = "no verdict" if beside["verdict"] in NO_VERDICTS else beside["verdict"]
        parts += [
            _text(
                640,
                middle + 4,
                f"{_number(beside['reference']['value'], _digits(unit))}  {_short(beside['name'])}",
                "bc-soft",
                12,
            ),
            _text(892, middle + 4, verdict, "bc-soft", 12, "end"),
        ]
    return parts


def _short(name: str) -> str:
    return name if len(name) <= 22 else name[:21] + "…"


def _domain(effect: Mapping[str, Any], beside: Mapping[str, Any] | None) -> tuple[float, float]:
    """The axis of a row: 0 to 100 of accuracies, else 0 in the middle."""
    if effect["effect"] == "accuracy":
        return 0.0, 100.0
    values = [effect["agent"][name] for name in ("value", "low", "high")] + (
        [beside["reference"]["value"]] if beside is not None else []
    )
    reach = max([2 * effect["margin"], *(abs(value) for value in values if value is not None)])
    return (-1.0, max(5.0, reach)) if effect["unit"] == "d′" else (-reach, reach)
