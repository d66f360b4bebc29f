"""Pictures with time from left to right: what clients were told, and how far readers are behind."""

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from brokerlab.pictures import look
from brokerlab.pictures.told import (
    as_faults,
    fault_words,
    faults_in,
    many,
    rows_of,
    start_of,
    what_clients_were_told,
)

STEPS_MS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000)
MOST_LINES = 7


def time_axis(axes: Axes, end_s: float) -> None:
    """Seconds from the beginning, with a little room at the end."""
    axes.set_xlim(0, end_s * 1.01 or 1)
    axes.set_xlabel("seconds since the start")


def count_axis(axes: Axes, label: str) -> None:
    """Whole numbers from zero, with commas."""
    axes.set_ylabel(label)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:,.0f}"))
    axes.grid(axis="y")


@look.drawn
def timeline(
    events: object,
    faults: object = None,
    *,
    title: str = "What clients were told, over time",
    key: str | None = None,
) -> look.Picture:
    """Acknowledged and read records over time, refusals and missing answers below.

    `events` is a history. Faults are taken from its nemesis events unless they are given.
    """
    events = rows_of(events)
    told = what_clients_were_told(events, key)
    if not any(told):
        return look.nothing(title, "The history holds no answer to a client.")
    faults = faults_in(events) if faults is None else as_faults(faults)
    end_s = (max(event["time"] for event in events) - start_of(events)) / 1e9
    step_s = _step_s(end_s)
    trouble = bool(told.refused or told.unanswered)
    picture = look.blank(title, 6.4 if trouble else 5.4)
    panels = picture.subplots(
        2 + trouble, 1, sharex=True, height_ratios=[2, 2, 1.1] if trouble else [1, 1]
    )
    _rate(panels[0], told.acked, step_s, end_s, "acknowledged", look.STYLES[0])
    _rate(panels[1], told.read, step_s, end_s, "read", look.STYLES[1])
    if trouble:
        _strip(panels[2], told.refused, told.unanswered)
    for axes in panels:
        time_axis(axes, end_s)
        look.shade(axes, faults, words=axes is panels[0])
        axes.label_outer()
    picture.supylabel(f"records per {_step_words(step_s)}", fontsize=15)
    counts = [f"{sum(n for _, n in part):,}" for part in told]
    look.describe(
        picture,
        f"{counts[0]} acknowledged, {counts[1]} read, {counts[2]} refused and "
        f"{counts[3]} without an answer in {end_s:.1f} seconds",
        fault_words(faults),
    )
    return picture


def _step_s(end_s: float) -> float:
    """A round step that cuts the time into at most about sixty pieces."""
    return next((ms for ms in STEPS_MS if ms * 60 >= end_s * 1_000), STEPS_MS[-1]) / 1_000


def _step_words(step_s: float) -> str:
    return f"{step_s * 1000:.0f} ms" if step_s < 1 else f"{step_s:.0f} s".replace("1 s", "second")


def _rate(
    axes: Axes, told: list, step_s: float, end_s: float, name: str, style: look.Style
) -> None:
    """Records in each step of time, as an outline that is filled and hatched."""
    edges = np.arange(max(1, math.ceil(end_s / step_s)) + 1) * step_s
    times, weights = [t for t, _ in told], [n for _, n in told]
    counts, _ = np.histogram(np.minimum(times, edges[-1]), bins=edges, weights=weights)
    axes.stairs(counts, edges, fill=True, fc=style.colour, ec="white", hatch=style.hatch, lw=0)
    axes.stairs(counts, edges, color=style.colour, lw=2.5)
    axes.set_title(f"{name}: {sum(weights):,} records", loc="left", fontweight="bold")
    count_axis(axes, "")


def _strip(axes: Axes, refused: list, unanswered: list) -> None:
    """Every refusal and every missing answer as a mark of its own."""
    kinds = (("no answer", unanswered, "|"), ("refused", refused, "x"))
    for row, (_, told, marker) in enumerate(kinds):
        times = [time for time, _ in told]
        axes.plot(times, [row] * len(times), marker, color=look.TROUBLE, mew=2.5, ms=10)
    axes.set_yticks([0, 1], [f"{name} ({sum(n for _, n in told):,})" for name, told, _ in kinds])
    axes.set_ylim(-0.6, 1.6)
    axes.tick_params(axis="y", length=0)


@look.drawn
def lag(
    samples: object, faults: object = (), *, title: str = "How far the readers are behind"
) -> look.Picture:
    """Lag of each partition over time: rows with `time_s`, `partition` (or `name`) and `lag`."""
    lines: dict[object, list[tuple[float, float]]] = {}
    for row in rows_of(samples):
        name = row["name"] if "name" in row else f"partition {row['partition']}"
        lines.setdefault(name, []).append((row["time_s"], row["lag"]))
    if not lines:
        return look.nothing(title, "No lag was sampled.")
    faults = as_faults(faults)
    picture = look.blank(title, 5.4)
    axes = picture.add_subplot()
    worst = sorted(lines, key=lambda name: -max(lag for _, lag in lines[name]))
    named = [name for name in lines if name in worst[:MOST_LINES]]
    for name in worst[MOST_LINES:]:
        axes.plot(*zip(*sorted(lines[name]), strict=True), color="#A6A6A6", lw=1.5)
    handles = [
        _lag_line(axes, name, lines[name], style) for name, style in look.styles_for(named).items()
    ]
    if len(lines) > MOST_LINES:
        handles.append(Line2D([], [], color="#A6A6A6", lw=1.5, label="smaller ones"))
    count_axis(axes, "records not yet read")
    time_axis(axes, max(time for line in lines.values() for time, _ in line))
    look.shade(axes, faults)
    look.legend_below(picture, handles, columns=3)
    peaks = {name: max(lag for _, lag in lines[name]) for name in named}
    words = "; ".join(f"{name} {peak:,.0f}" for name, peak in peaks.items())
    look.describe(
        picture, f"Lag of {many(len(lines), 'line')}. Highest: {words}", fault_words(faults)
    )
    return picture


def _lag_line(axes: Axes, name: object, points: list, style: look.Style) -> Line2D:
    (line,) = axes.plot(
        *zip(*sorted(points), strict=True),
        color=style.colour,
        ls=style.dashes,
        marker=style.marker,
        markevery=max(1, len(points) // 12),
        clip_on=False,
        label=look.short(name, 26),
    )
    return line
