"""Which key went to which partition, and how unevenly the partitions were filled."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.ticker import FuncFormatter, MaxNLocator

from brokerlab.pictures import look
from brokerlab.pictures.told import many, rows_of

MOST_KEYS = 12
MOST_COLUMNS_WITH_NUMBERS = 12
BLUES = LinearSegmentedColormap.from_list("blues", ["white", look.SKY, look.BLUE, "#00314D"])

Counts = dict[object, dict[object, int]]


@look.drawn
def partition_heatmap(
    counts: object, *, title: str = "Records of each key in each partition"
) -> look.Picture:
    """Records by key and partition, with the total of each partition above.

    `counts` is `{key: {partition: records}}`, or rows with `key`, `partition` and `count`.
    The keys with most records are shown; the others share one row.
    """
    table = _table(counts)
    if not table:
        return look.nothing(title, "No record was counted.")
    partitions = sorted({p for row in table.values() for p in row}, key=_by_number)
    keys = sorted(table, key=lambda key: (-sum(table[key].values()), str(key)))
    names, grid = _grid(table, keys, partitions)
    picture = look.blank(title, 3.4 + 0.42 * len(names))
    top, bottom = picture.subplots(2, 1, height_ratios=[1.7, 0.42 * len(names)], sharex=True)
    _totals(top, grid.sum(axis=0))
    _cells(bottom, grid, names, partitions)
    picture.get_layout_engine().set(hspace=0.0, h_pad=0.06)
    pairs = list(zip(partitions, grid.sum(axis=0), strict=True))
    pairs = (
        pairs
        if len(pairs) <= 12
        else [max(pairs, key=lambda p: p[1]), min(pairs, key=lambda p: p[1])]
    )
    totals = ", ".join(f"partition {p} {n:,}" for p, n in pairs)
    split = sum(1 for row in table.values() if sum(1 for n in row.values() if n) > 1)
    look.describe(
        picture,
        f"{many(len(keys), 'key')} and {many(int(grid.sum()), 'record')} in "
        f"{many(len(partitions), 'partition')}: "
        f"{totals}",
        f"In more than one partition: {many(split, 'key')}",
    )
    return picture


def _table(counts: object) -> Counts:
    if isinstance(counts, Mapping):
        return {key: dict(row) for key, row in counts.items()}
    table: Counts = {}
    for row in rows_of(counts):
        line = table.setdefault(row["key"], {})
        line[row["partition"]] = line.get(row["partition"], 0) + int(row["count"])
    return table


def _by_number(partition: object) -> tuple:
    return (0, partition, "") if isinstance(partition, int | np.integer) else (1, 0, str(partition))


def _grid(table: Counts, keys: list, partitions: list) -> tuple[list[str], np.ndarray]:
    """The rows to show: a name and a number for each partition."""
    rows = [[table[key].get(p, 0) for p in partitions] for key in keys]
    names = ["no key" if key is None else look.short(key, 20) for key in keys]
    if len(rows) > MOST_KEYS:
        rest = np.array(rows[MOST_KEYS - 1 :]).sum(axis=0)
        rows = [*rows[: MOST_KEYS - 1], rest]
        names = [*names[: MOST_KEYS - 1], f"{len(keys) - MOST_KEYS + 1:,} other keys"]
    return names, np.array(rows)


def _totals(axes: Axes, totals: np.ndarray) -> None:
    axes.bar(range(len(totals)), totals, color=look.BLUE, width=0.9)
    axes.set_title("records in the partition", loc="left", color=look.GREY)
    axes.set_ylim(0, max(1, totals.max()) * 1.28)
    axes.tick_params(bottom=False, labelbottom=False)
    axes.yaxis.set_major_locator(MaxNLocator(3, integer=True))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:,.0f}"))
    if len(totals) <= MOST_COLUMNS_WITH_NUMBERS:
        axes.spines["left"].set_visible(False)
        axes.set_yticks([])
        for column, total in enumerate(totals):
            axes.text(column, total, f"{total:,}", ha="center", va="bottom", fontweight="bold")


def _cells(axes: Axes, grid: np.ndarray, names: list[str], partitions: list) -> None:
    # The row of all other keys may be darker than the scale; it must not set it.
    most = max(1, grid[: MOST_KEYS - 1].max())
    axes.imshow(grid, cmap=BLUES, vmin=0, vmax=most, aspect="auto")
    axes.set_yticks(range(len(names)), names)
    every = -(-len(partitions) // 16)
    axes.set_xticks(range(0, len(partitions), every), [str(p) for p in partitions[::every]])
    axes.set_xlabel("partition")
    axes.set_yticks(np.arange(len(names) + 1) - 0.5, minor=True)
    axes.set_xticks(np.arange(len(partitions) + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="#BFBFBF", lw=1)
    axes.tick_params(which="both", length=0)
    if len(partitions) > MOST_COLUMNS_WITH_NUMBERS:
        return
    for (row, column), count in np.ndenumerate(grid):
        if count:
            ink = look.ink_on(to_hex(BLUES(min(1.0, count / most))))
            axes.text(column, row, f"{count:,}", ha="center", va="center", color=ink, fontsize=14)
