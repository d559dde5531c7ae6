"""The figure of a session's timing: planned and shown durations, onsets, reaction times between
refreshes, the two clocks, late frames by trial."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt

from ..data.timing import SessionTiming, TimingVerdict

_WIDE, _HIGH = 330, 165
_DOT, _OFF, _LINE = "#0069b0", "#c84a00", "#8a8a8a"
_BINS = 12


def timing_chart(sessions: Sequence[SessionTiming], verdicts: Sequence[TimingVerdict]) -> dict[str, Any]:
    """The timing of one session, or of several together.

    Returns
    -------
    dict
        the declaration: a Vega-Lite specification without configuration, fit for JSON
    """
    alt.data_transformers.disable_max_rows()
    panels = [panel(sessions) for panel in (_planned_and_shown, _errors, _onsets, _reaction_times, _clocks, _drops)]
    title = alt.TitleParams(
        text=_title(sessions, verdicts), subtitle=_subtitle(sessions, verdicts), anchor="start", offset=18
    )
    chart = (
        alt.concat(*panels, columns=2, spacing={"row": 86, "column": 74}, bounds="flush")
        .resolve_scale(color="independent")
        .properties(title=title)
    )
    with alt.theme.enable("none"):
        spec = chart.to_dict()
    spec.pop("config", None)
    return spec


def _title(sessions: Sequence[SessionTiming], verdicts: Sequence[TimingVerdict]) -> str:
    if len(sessions) == 1:
        return f"Timing of {sessions[0].name}: {'pass' if verdicts[0].holds else 'look'}"
    return (
        f"Timing of {len(sessions)} sessions: {sum(verdict.holds for verdict in verdicts)} pass,"
        f" {sum(not verdict.holds for verdict in verdicts)} to look at"
    )


def _subtitle(sessions: Sequence[SessionTiming], verdicts: Sequence[TimingVerdict]) -> list[str]:
    timed = [display for session in sessions for display in session.displays.timed]
    on = sum(not display.off for display in timed)
    lines = [
        f"{on:,} of {len(timed):,} timed displays on plan; {sum(session.displays.dropped for session in sessions):,}"
        " frames late"
    ]
    findings = (
        verdicts[0].look if len(verdicts) == 1 else ()
    )  # of several sessions, each verdict is a line on the terminal
    return lines + [line if len(line) <= 120 else line[:117] + "..." for line in findings[:5]]


def _chart(values: Iterable[dict[str, Any]], title: str) -> Any:
    title_ = alt.TitleParams(text=title, fontSize=12, fontWeight=600, offset=8, frame="group", anchor="start")
    return alt.Chart(alt.InlineData(values=list(values))).properties(width=_WIDE, height=_HIGH, title=title_)


def _rule(at: float, dash: Sequence[float] = (1.5, 2.5)) -> Any:
    return (
        alt.Chart(alt.InlineData(values=[{"y": at}]))
        .mark_rule(color=_LINE, strokeDash=list(dash), strokeWidth=1.1)
        .encode(y="y:Q")
    )


def _colour() -> Any:
    return alt.condition("datum.off != 0", alt.value(_OFF), alt.value(_DOT))


def _planned_and_shown(sessions: Sequence[SessionTiming]) -> Any:
    seen = {
        (display.planned_ms, round(display.shown_ms, 1), display.off)
        for session in sessions
        for display in session.displays.timed
    }
    values = [{"planned": planned, "shown": shown, "off": off} for planned, shown, off in sorted(seen)]
    longest = max(max(value["planned"], value["shown"]) for value in values)
    same = alt.Chart(alt.InlineData(values=[{"planned": at, "shown": at} for at in (0, longest)]))
    points = _chart(values, "Planned and shown").mark_point(filled=True, size=34, opacity=0.75)
    x, y = alt.X("planned:Q", title="planned, ms", axis=alt.Axis(grid=False)), alt.Y("shown:Q", title="shown, ms")
    return alt.layer(
        same.mark_line(color=_LINE, strokeDash=[1.5, 2.5], strokeWidth=1.1).encode(x=x, y=y),
        points.encode(x=x, y=y, color=_colour()),
    )


def _errors(sessions: Sequence[SessionTiming]) -> Any:
    """Shown minus planned refreshes in ms: how many displays at each planned duration."""
    values = [
        {"planned": f"{display.planned_ms:g}", "error": round(error, 2), "off": display.off}
        for session in sessions
        for display, error in session.duration_errors()
    ]
    order = [
        f"{ms:g}" for ms in sorted({display.planned_ms for session in sessions for display in session.displays.timed})
    ]
    points = (
        _chart(values, "Shown minus planned refreshes")
        .mark_point(filled=True, size=12, opacity=0.45)
        .transform_calculate(beside="random() - 0.5")
        .encode(
            x=alt.X(
                "planned:N", title="planned, ms", sort=order, axis=alt.Axis(grid=False, labelAngle=0, labelOverlap=True)
            ),
            xOffset=alt.XOffset("beside:Q", scale=alt.Scale(domain=[-1, 1])),
            y=alt.Y("error:Q", title="ms"),
            color=_colour(),
        )
    )
    return alt.layer(_rule(0), points)


def _onsets(sessions: Sequence[SessionTiming]) -> Any:
    values = [
        {"since": round(since, 3), "error": round(error, 2), "off": int(abs(error) > session.frame_ms / 2)}
        for session in sessions
        for since, error, _ in session.onset_errors()
    ]
    points = _chart(values, "Onsets against the plan of their trial").mark_point(filled=True, size=12, opacity=0.5)
    x = alt.X("since:Q", title="since the first display in a row with given times, s", axis=alt.Axis(grid=False))
    return alt.layer(_rule(0), points.encode(x=x, y=alt.Y("error:Q", title="ms"), color=_colour()))


def _reaction_times(sessions: Sequence[SessionTiming]) -> Any:
    """Draw where reaction times fall between two refreshes; where a simulated participant noted
    when it pressed, how far the recorded times are from that."""
    errors = [
        press.rt_ms - press.injected_ms
        for session in sessions
        for press in session.presses
        if press.injected_ms is not None
    ]
    if errors:
        values = [{"error": round(max(-20.0, min(20.0, error)), 3)} for error in errors]
        bars = _chart(values, f"Recorded minus real time of {len(errors):,} answers").mark_bar(color=_DOT, opacity=0.8)
        extent = [max(-20, math.floor(min(-1.0, *errors))), min(20, math.ceil(max(4.0, *errors)))]
        more = " (20 and beyond together)" if extent[1] == 20 else ""
        x = alt.X(
            "error:Q", bin=alt.Bin(step=0.25, extent=extent), title=f"ms{more}", axis=alt.Axis(grid=False, tickCount=6)
        )
        return bars.encode(x=x, y=alt.Y("count()", title="answers"))
    shares = [(press.rt_ms / session.frame_ms) % 1.0 for session in sessions for press in session.presses]
    counts = [sum(int(share * _BINS) == place for share in shares) for place in range(_BINS)]
    values = [{"at": place / _BINS, "to": (place + 1) / _BINS, "count": count} for place, count in enumerate(counts)]
    bars = _chart(values, f"Where {len(shares):,} reaction times fall between two refreshes").mark_bar(
        color=_DOT, opacity=0.8
    )
    x = alt.X("at:Q", title="share of a refresh", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(grid=False, format="%"))
    return alt.layer(bars.encode(x=x, x2="to:Q", y=alt.Y("count:Q", title="answers")), _rule(len(shares) / _BINS))


def _clocks(sessions: Sequence[SessionTiming]) -> Any:
    values = [
        {"at": round(at / 60.0, 4), "ms": round(ms, 3), "session": session.name}
        for session in sessions
        for at, ms in session.clock
    ]
    lines = _chart(values, "The clock of onsets and presses against the computer's own").mark_line(
        color=_DOT, strokeWidth=1.2, opacity=0.8
    )
    x = alt.X("at:Q", title="minutes", axis=alt.Axis(grid=False))
    return alt.layer(
        _rule(0),
        lines.encode(
            x=x,
            y=alt.Y("ms:Q", title="ms", scale=alt.Scale(domainMin=-5, domainMax=5, clamp=False)),
            detail="session:N",
        ),
    )


def _drops(sessions: Sequence[SessionTiming]) -> Any:
    counts = [late for session in sessions for late in session.displays.drops.values()]
    values = [{"trial": place, "late": late} for place, late in enumerate(counts, start=1) if late]
    bars = _chart(values, "Late frames in each trial").mark_bar(
        color=_OFF, opacity=0.85, size=max(1.5, min(8.0, 0.7 * _WIDE / len(counts)))
    )
    x = alt.X(
        "trial:Q",
        title="trial, in order" + (" over all sessions" if len(sessions) > 1 else ""),
        axis=alt.Axis(grid=False, values=_whole(1, len(counts)), format="d"),
    )
    x = x.scale(domain=[0.5, len(counts) + 0.5], nice=False)
    most = max([1, *counts])
    y = alt.Y("late:Q", title="late frames", axis=alt.Axis(values=_whole(0, most), format="d")).scale(domain=[0, most])
    return bars.encode(x=x, y=y)


def _whole(first: int, last: int) -> list[int]:
    """About six whole numbers for an axis."""
    step = max(1, round((last - first) / 6))
    return list(range(first, last + 1, step))
