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
    Places on the x axis that are not numbers are drawn as they come, evenly spaced.
    """
    rows, columns = rows_of(points), [y] if isinstance(y, str) else list(y)
    rows = [row for row in rows if not all(absent(row.get(column)) for column in columns)]
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
        axes.set_title(look.balanced(words[column], 60 // len(columns)), loc="left", pad=12)
        told.append(_sentence(words[column], words[x], measured))
    if series:
        look.legend_below(picture, [_handle(name, styles[name]) for name in names])
    look.describe(picture, *told)
    return picture


def _gather(rows: list, x: str, column: str, series: str | None) -> Points:
    """{series: {place: measurements}}, places in order."""
    found: Points = {}
    for row in rows:
        if not absent(row.get(column)):
            line = found.setdefault(row[series] if series else "", {})
            line.setdefault(row[x], []).append(float(row[column]))
    return found


def _panel(axes: Axes, measured: Points, styles: dict, log_x: bool, log_y: bool) -> None:
    places = list(dict.fromkeys(place for line in measured.values() for place in line))
    numeric = all(isinstance(place, int | float) for place in places)
    spot = {place: place if numeric else number for number, place in enumerate(places)}
    for name, line in measured.items():
        style = styles[name]
        at = sorted(line, key=lambda place: spot[place])
        middles = [median(line[place]) for place in at]
        reach = [[m - min(line[p]) for p, m in zip(at, middles, strict=True)]]
        reach.append([max(line[p]) - m for p, m in zip(at, middles, strict=True)])
        axes.errorbar(
            [spot[place] for place in at], middles, yerr=reach if any(map(any, reach)) else None,
            color=style.colour, ls=style.dashes, marker=style.marker, ms=9,
            capsize=5, elinewidth=2, capthick=2,
        )  # fmt: skip
    _scales(axes, places, numeric, log_x and numeric and min(places) > 0, log_y)


def _scales(axes: Axes, places: list, numeric: bool, log_x: bool, log_y: bool) -> None:
    plain = FuncFormatter(lambda n, _: f"{n:,.0f}" if n >= 10 or n == int(n) else f"{n:g}")
    if log_x:
        axes.set_xscale("log")
    if not numeric or (log_x and len(places) <= 7):
        at = sorted(places) if numeric else range(len(places))
        axes.set_xticks(
            list(at),
            [f"{p:,}" if numeric else look.short(p, 12) for p in at_names(places, numeric)],
        )
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.xaxis.set_major_formatter(plain)
    if log_y:
        axes.set_yscale("log")
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_ylim(0, axes.get_ylim()[1] * 1.05)
        axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(plain)
    axes.grid(axis="y")


def at_names(places: list, numeric: bool) -> list:
    return sorted(places) if numeric else places


def _handle(name: object, style: look.Style) -> Line2D:
    return Line2D(
        [], [], color=style.colour, ls=style.dashes, marker=style.marker, ms=9,
        label=look.short(name, 34),
    )  # fmt: skip


def _sentence(column: str, x: str, measured: Points) -> str:
    """The ends of every line in words."""
    parts = []
    for name, line in measured.items():
        first, last = (list(line)[0], list(line)[-1])
        ends = f"{median(line[first]):,.4g} at {x} {first}, {median(line[last]):,.4g} at {last}"
        parts.append(f"{name}: {ends}" if name != "" else ends)
    return f"{column}. {'; '.join(parts)}"
