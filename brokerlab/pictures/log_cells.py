"""A log drawn as a row of cells, one for each offset, before and after the cleaner ran.

A *record* is `{offset, key, value}`. A *tombstone* is a record whose value is None: it deletes
its key. Every record keeps its offset, so an offset that was cleaned away stays an empty place.
"""

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle

from brokerlab.pictures import look
from brokerlab.pictures.told import absent, many, rows_of

# letters of the longest key or value -> cells that fit into a line
ROOM = {3: 16, 5: 11, 7: 8}
MOST_LINES = 4
HEIGHT = 1.0
STOREYS = {"before": 0.0, "after": 1.7}
LINE_HEIGHT = 3.5


@look.drawn
def compaction(
    before: object, after: object, *, title: str = "The log before and after compaction"
) -> look.Picture:
    """The same offsets twice: what was in the log, and what the cleaner left."""
    logs = {"before": _by_offset(before), "after": _by_offset(after)}
    offsets = sorted(logs["before"].keys() | logs["after"].keys())
    if not offsets:
        return look.nothing(title, "The log is empty.")
    letters = _letters(logs)
    width = min(ROOM[letters], max(8, len(offsets)))
    shown = offsets[: MOST_LINES * width]
    lines = [shown[n : n + width] for n in range(0, len(shown), width)]
    picture = look.blank(title, 1.5 + 2.05 * len(lines))
    axes = picture.add_subplot()
    axes.set_axis_off()
    keys = dict.fromkeys(record["key"] for log in logs.values() for record in log.values())
    styles = look.styles_for([key for key in keys if not absent(key)])
    for number, line in enumerate(lines):
        for name, log in logs.items():
            _storey(axes, name, line, log, number * LINE_HEIGHT + STOREYS[name], styles, letters)
    axes.set_xlim(-0.1 * width, width)
    axes.set_ylim(len(lines) * LINE_HEIGHT - 0.6, -0.5)
    _legend(picture, logs, len(offsets) - len(shown))
    _describe(picture, logs)
    return picture


def _by_offset(records: object) -> dict[int, Mapping]:
    return {int(record["offset"]): record for record in rows_of(records)}


def _letters(logs: dict[str, dict[int, Mapping]]) -> int:
    """How many letters a cell must hold: enough for the longest key or value, up to seven."""
    texts = [
        str(r[part]) for log in logs.values() for r in log.values() for part in ("key", "value")
    ]
    longest = max(len(text) for text in texts if text != "None") if set(texts) != {"None"} else 3
    return next((letters for letters in ROOM if longest <= letters), max(ROOM))


def _storey(
    axes: Axes,
    name: str,
    line: list[int],
    log: dict[int, Mapping],
    top: float,
    styles: dict,
    letters: int,
) -> None:
    """One line of cells, with its name at the left and the offsets above."""
    axes.text(
        -0.012 * ROOM[letters],
        top + HEIGHT / 2,
        name,
        ha="right",
        va="center",
        fontweight="bold",
        fontsize=16,
    )
    for column, offset in enumerate(line):
        axes.text(column + 0.5, top - 0.08, str(offset), ha="center", color=look.GREY, fontsize=12)
        if offset in log:
            record = log[offset]
            _cell(axes, column, top, record, styles.get(record["key"]), letters)
        else:
            frame = {"fc": "white", "ec": "#8C8C8C", "ls": (0, (3, 3)), "lw": 1.2, "gid": "removed"}
            axes.add_patch(Rectangle((column + 0.04, top), 0.92, HEIGHT, **frame))


def _cell(
    axes: Axes, column: int, top: float, record: Mapping, style: look.Style | None, letters: int
) -> None:
    tombstone = absent(record["value"])
    colour = style.colour if style and not tombstone else "white"
    axes.add_patch(
        Rectangle(
            (column + 0.04, top),
            0.92,
            HEIGHT,
            fc=colour,
            ec=look.TROUBLE if tombstone else look.BLACK,
            hatch="///" if tombstone else "",
            lw=1.6,
            gid="tombstone" if tombstone else "record",
        )
    )
    ink = look.ink_on(colour)
    key = "–" if absent(record["key"]) else look.short(record["key"], letters)
    value = "null" if tombstone else look.short(record["value"], letters)
    plain = {"ha": "center", "va": "center", "color": ink, "clip_on": True}
    ground = {"bbox": {"fc": "white", "ec": "none", "pad": 1}} if tombstone else {}
    axes.text(column + 0.5, top + 0.3, key, fontweight="bold", fontsize=14, **plain, **ground)
    axes.text(column + 0.5, top + 0.72, value, fontsize=13, **plain, **ground)


def _legend(picture: look.Picture, logs: dict, hidden: int) -> None:
    handles = [Patch(fc="white", ec="#8C8C8C", ls="--", label="removed by the cleaner")]
    if any(absent(record["value"]) for log in logs.values() for record in log.values()):
        handles.append(Patch(fc="white", ec=look.TROUBLE, hatch="///", label="tombstone"))
    if hidden:
        handles.append(Patch(fc="white", ec="white", label=f"{hidden:,} more offsets not drawn"))
    look.legend_below(picture, handles)


def _describe(picture: look.Picture, logs: dict[str, dict[int, Mapping]]) -> None:
    before, after = logs["before"], logs["after"]
    gone = sorted(before.keys() - after.keys())
    kept = {record["key"] for record in after.values()}
    removed = ", ".join(map(str, gone[:40])) + (" and so on" if len(gone) > 40 else "")
    look.describe(
        picture,
        f"{many(len(before), 'record')} before, {len(after):,} after, for {many(len(kept), 'key')}",
        f"Removed offsets: {removed}" if gone else "Nothing was removed",
    )
