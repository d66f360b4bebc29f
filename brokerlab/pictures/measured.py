"""Curves of something measured against a setting: throughput, latency, size.

A *series* is one line. Repeated measurements at one place are drawn as their median, with a bar
from the smallest to the largest, so that nobody takes noise for a finding.
"""

from collections.abc import Mapping, Sequence
from statistics import median

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from brokerlab.pictures import look
from brokerlab.pictures.told import absent, rows_of

MOST_TICKS = 7

Points = dict[object, dict[object, list[float]]]


@look.drawn
def curves(
    points: object,
    x: str,
    y: str | Sequence[str],
    series: str | None = None,
    *,
    title: str = "What was measured",
    labels: Mapping[str, str] | None = None,
    log_x: bool = False,
    log_y: bool = False,
) -> look.Picture:
    """One panel for each column in `y`, one line for each value of the column `series`.

    `labels` gives the columns names in plain words: `{"linger_ms": "linger.ms"}`.
    Places on the x axis are evenly spaced when they are not numbers, or when `log_x` is asked for
    and there is a zero among them, which has no logarithm.
    """
    columns = [y] if isinstance(y, str) else list(y)
    rows = [row for row in rows_of(points) if not all(absent(row.get(c)) for c in columns)]
    words = {name: name.replace("_", " ") for name in [x, *columns]} | dict(labels or {})
    if not rows:
        return look.nothing(title, f"Nothing was measured for {words[x]}.")
    picture = look.blank(title, 5.6)
    panels = picture.subplots(1, len(columns), squeeze=False)[0]
    names = list(dict.fromkeys(row[series] for row in rows)) if series else [""]
    styles = look.styles_for(names)
    told = []
    for axes, column in zip(panels, columns, strict=True):
        measured = _gather(rows, x, column, series)
        _panel(axes, measured, styles, log_x, log_y)
        axes.set_xlabel(words[x])
        axes.set_title(look.balanced(words[column], 72 // len(columns)), loc="left", pad=12)
        told.append(_sentence(words[column], words[x], measured))
    if series:
        look.legend_below(picture, [_handle(name, styles[name]) for name in names])
    look.describe(picture, *told)
    return picture


def _gather(rows: list, x: str, column: str, series: str | None) -> Points:
    """{series: {place: measurements}}, in the order given."""
    found: Points = {}
    for row in rows:
        if not absent(row.get(column)):
            line = found.setdefault(row[series] if series else "", {})
            line.setdefault(row[x], []).append(float(row[column]))
    return found


def _panel(axes: Axes, measured: Points, styles: dict, log_x: bool, log_y: bool) -> None:
    places = list(dict.fromkeys(place for line in measured.values() for place in line))
    even = True
    if all(isinstance(place, int | float) for place in places):
        places.sort()
        even = log_x and places[0] <= 0
    spot = {place: number if even else place for number, place in enumerate(places)}
    for name, line in measured.items():
        at = [place for place in places if place in line]
        _line(axes, [spot[place] for place in at], [line[place] for place in at], styles[name])
    _across(axes, spot, even, log_x and not even)
    _upwards(axes, log_y)


def _line(axes: Axes, at: list, runs: list[list[float]], style: look.Style) -> None:
    middles = [median(run) for run in runs]
    below = [middle - min(run) for middle, run in zip(middles, runs, strict=True)]
    above = [max(run) - middle for middle, run in zip(middles, runs, strict=True)]
    axes.errorbar(
        at,
        middles,
        yerr=[below, above] if any(below + above) else None,
        color=style.colour,
        ls=style.dashes,
        marker=style.marker,
        ms=9,
        capsize=5,
        elinewidth=2,
        capthick=2,
    )


def _number(value: float, _: int = 0) -> str:
    """A number as people write it: 12,000 and 0.8 and 2.5."""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def _across(axes: Axes, spot: dict, even: bool, log_x: bool) -> None:
    if log_x:
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter(NullFormatter())
    if even or (log_x and len(spot) <= MOST_TICKS):
        names = [p if isinstance(p, str) else _number(p) for p in spot]
        axes.set_xticks(list(spot.values()), [look.short(name, 12) for name in names])
    else:
        axes.xaxis.set_major_formatter(FuncFormatter(_number))


def _upwards(axes: Axes, log_y: bool) -> None:
    if log_y:
        axes.set_yscale("log")
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_ylim(0, (axes.get_ylim()[1] or 1) * 1.05)
        axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(FuncFormatter(_number))
    axes.grid(axis="y")


def _handle(name: object, style: look.Style) -> Line2D:
    label = look.short(name, 34)
    drawn = {"color": style.colour, "ls": style.dashes, "marker": style.marker, "ms": 9}
    return Line2D([], [], label=label, **drawn)


def _sentence(column: str, x: str, measured: Points) -> str:
    """The ends of every line in words."""
    parts = []
    for name, line in measured.items():
        (first, low), *_, (last, high) = [*line.items(), *line.items()]
        ends = f"{_number(median(low))} at {x} {first}, {_number(median(high))} at {last}"
        parts.append(f"{name}: {ends}" if name != "" else ends)
    return f"{column}. {'; '.join(parts)}"
