"""Who holds a partition, over time: one row a partition, one band for as long as somebody holds it.

A *band* is `{partition, holder, start_s, end_s}`. A *gap* is the time between two bands of a
partition: nobody reads it, or nobody leads it. Gaps are hatched, and the milliseconds of silence
stand at the end of the row.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle

from brokerlab.pictures import look
from brokerlab.pictures.over_time import time_axis
from brokerlab.pictures.told import absent, as_faults, fault_words, many, rows_of


class Band(NamedTuple):
    """Somebody held a partition from start_s to end_s."""

    partition: object
    holder: object
    start_s: float
    end_s: float


@look.drawn
def group_assignment(
    assignments: object,
    faults: object = (),
    *,
    title: str = "Which member reads which partition",
    end_s: float | None = None,
) -> look.Picture:
    """Assignment of partitions to members over time, with the milliseconds of silence.

    Rows: `partition`, `member`, `start_s`, `end_s` (None: still assigned). Rows with a `protocol`
    get a panel for each protocol, on one time axis.
    """
    rows = rows_of(assignments)
    if end_s is None:
        end_s = max(
            (t for r in rows for t in (r["start_s"], r["end_s"]) if not absent(t)), default=0
        )
    panels: dict[str, list[Band]] = {}
    for row in rows:
        until = end_s if absent(row["end_s"]) else row["end_s"]
        band = Band(row["partition"], row["member"], row["start_s"], until)
        panels.setdefault(str(row.get("protocol") or ""), []).append(band)
    if not panels:
        return look.nothing(title, "Nobody was assigned a partition.")
    return _draw(panels, as_faults(faults), title, ("member", "nobody reads"), end_s)


@look.drawn
def leader_moves(
    samples: object, faults: object = (), *, title: str = "Who leads each partition"
) -> look.Picture:
    """The leader of each partition over time: `(time_s, partition, leader or None)` samples."""
    rows = [_sample(row) for row in rows_of(samples)]
    if not rows:
        return look.nothing(title, "No leader was sampled.")
    bands = _bands_of_samples(rows)
    end_s = max(time for time, _, _ in rows)
    return _draw({"": bands}, as_faults(faults), title, ("leader", "no leader"), end_s)


def _sample(row: object) -> tuple:
    if isinstance(row, Mapping):
        row = (row["time_s"], row["partition"], row["leader"])
    time_s, partition, leader = row
    if absent(leader) or leader == -1:
        leader = None
    elif isinstance(leader, int | float):
        leader = f"broker-{int(leader)}"
    return time_s, partition, leader


def _bands_of_samples(rows: list[tuple]) -> list[Band]:
    """A band lasts from the first sample that names a leader to the next that does not."""
    bands: list[Band] = []
    for partition in dict.fromkeys(partition for _, partition, _ in rows):
        seen = sorted(((t, who) for t, p, who in rows if p == partition), key=lambda s: s[0])
        begin_s, holder = seen[0]
        for time_s, who in [*seen[1:], (seen[-1][0], object())]:
            if who != holder:
                # A row of nobody's at the edge is kept: it is a gap that has no second band.
                bands.append(Band(partition, holder, begin_s, time_s))
                begin_s, holder = time_s, who
    return bands


def _gaps(bands: list[Band]) -> list[Band]:
    """The times between two holders, and the times held by nobody."""
    held = sorted((b for b in bands if b.holder is not None), key=lambda b: b.start_s)
    between = [
        Band(first.partition, None, first.end_s, second.start_s) for first, second in pairwise(held)
    ]
    first_s, last_s = (held[0].start_s, held[-1].end_s) if held else (0.0, 0.0)
    edges = [b for b in bands if b.holder is None and not first_s <= b.start_s < last_s]
    return [gap for gap in between + edges if gap.end_s - gap.start_s > 0.0005]


def _draw(
    panels: dict[str, list[Band]], faults: list, title: str, words: tuple[str, str], end_s: float
) -> look.Picture:
    holders = {b.holder for bands in panels.values() for b in bands if b.holder is not None}
    styles = look.styles_for(sorted(holders, key=str))
    sizes = [len({band.partition for band in bands}) for bands in panels.values()]
    picture = look.blank(title, 2.3 + 0.5 * sum(sizes) + 0.55 * len(panels))
    all_axes = picture.subplots(len(panels), 1, sharex=True, squeeze=False, height_ratios=sizes)[
        :, 0
    ]
    labels, told = [], []
    for axes, (name, bands) in zip(all_axes, panels.items(), strict=True):
        more_labels, sentence = _panel(axes, bands, styles)
        labels += more_labels
        told.append(f"{name}: {sentence}" if name else sentence)
        axes.set_title(name, loc="left", fontweight="bold")
        time_axis(axes, end_s)
        look.shade(axes, faults, words=axes is all_axes[0])
        if axes is not all_axes[-1]:
            axes.set_xlabel("")
    handles = [
        Patch(fc=style.colour, hatch=style.hatch, ec="white", label=look.short(holder, 30))
        for holder, style in styles.items()
    ]
    if any("Silence" in sentence for sentence in told):
        handles.append(Patch(fc="white", ec=look.TROUBLE, hatch="///", label=words[1]))
    look.legend_below(picture, handles)
    look.drop_what_does_not_fit(picture, labels)
    look.describe(
        picture,
        f"{many(len(holders), words[0])} over {end_s:.1f} seconds",
        *told,
        fault_words(faults),
    )
    return picture


def _panel(axes: Axes, bands: list[Band], styles: dict) -> tuple[list, str]:
    """Draw the rows of one panel; give the texts in bands, and a sentence about the silence."""
    partitions = sorted({band.partition for band in bands}, key=_by_number)
    place = {partition: row for row, partition in enumerate(partitions)}
    labels, silences = [], []
    for band in (band for band in bands if band.holder is not None):
        labels.append(_bar(axes, band, place[band.partition], styles[band.holder]))
    for partition in partitions:
        gaps = _gaps([band for band in bands if band.partition == partition])
        for gap in gaps:
            _bar(axes, gap, place[partition], None)
        silences.append([round((gap.end_s - gap.start_s) * 1_000) for gap in gaps])
    axes.set_yticks(range(len(partitions)), [_partition_name(p) for p in partitions])
    axes.set_ylim(len(partitions) - 0.45, -0.55)
    axes.tick_params(axis="y", length=0)
    right = axes.secondary_yaxis("right")
    right.set_yticks(range(len(partitions)), [_silence(gaps) for gaps in silences])
    right.tick_params(length=0, colors=look.TROUBLE_TEXT)
    right.spines["right"].set_visible(False)
    words = [
        f"{_partition_name(p)} {sum(g):,} ms"
        for p, g in zip(partitions, silences, strict=True)
        if g
    ]
    return labels, f"Silence: {', '.join(words)}" if words else "No silence"


def _bar(axes: Axes, band: Band, row: int, style: look.Style | None) -> tuple:
    bar = Rectangle(
        (band.start_s, row - 0.38),
        band.end_s - band.start_s,
        0.76,
        fc=style.colour if style else "white",
        ec="white" if style else look.TROUBLE,
        hatch=style.hatch if style else "///",
        lw=1.5,
        zorder=2,
        gid="band" if style else "gap",
    )
    axes.add_patch(bar)
    if style is None:
        return ()
    text = axes.text(
        (band.start_s + band.end_s) / 2,
        row,
        look.short(band.holder, 18),
        ha="center",
        va="center",
        color=look.ink_on(style.colour),
        fontsize=14,
        fontweight="bold",
        zorder=3,
        bbox={"fc": style.colour, "ec": "none", "pad": 2},
    )
    return text, band.start_s, band.end_s


def _by_number(partition: object) -> tuple:
    return (0, partition, "") if isinstance(partition, int) else (1, 0, str(partition))


def _partition_name(partition: object) -> str:
    return f"partition {partition}" if isinstance(partition, int) else look.short(partition, 20)


def _silence(gaps: list[int]) -> str:
    if len(gaps) > 2:
        return f"silent {sum(gaps):,} ms\nin {len(gaps)} gaps"
    return f"silent {' + '.join(f'{gap:,}' for gap in gaps)} ms" if gaps else ""
