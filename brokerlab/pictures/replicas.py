"""A cluster as boxes: every broker with the partition replicas it holds, the leader marked.

A replica is the *leader*, *in sync* with it, or *behind*. A broker that is not running is dead,
paused or cut off, and says so.
"""

from collections.abc import Mapping
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, Patch, Rectangle

from brokerlab.pictures import look
from brokerlab.pictures.told import absent, many, rows_of

WIDTH, GAP, CELL = 3.0, 0.35, 0.62
PIXELS = 960  # of a picture's width, less its margins
MOST_ROWS = 14
MOST_TOLD = 6


class Sizes(NamedTuple):
    """How high the boxes are, and how many pixels wide a broker is."""

    head: float
    height: float
    pixels: float


@look.drawn
def cluster(
    brokers: object, partitions: object, *, title: str = "Where the replicas are"
) -> look.Picture:
    """Brokers side by side, a line for each partition.

    Brokers: ids, names, or rows with `name` (or `id`) and `state`. Partitions: rows with
    `partition` (and `topic`), `leader`, `replicas` and `isr`, by broker id or name.
    """
    states = dict(_broker(broker) for broker in rows_of(brokers))
    rows = rows_of(partitions)
    if not states:
        return look.nothing(title, "There is no broker.")
    shown = rows[:MOST_ROWS]
    head = 0.95 if set(states.values()) == {"running"} else 1.35
    height = head + max(1, len(shown)) * CELL + 0.1
    sizes = Sizes(head, height, PIXELS * WIDTH / (len(states) * (WIDTH + GAP)))
    picture = look.blank(title, 1.6 + 0.72 * height)
    axes = picture.add_subplot()
    axes.set_axis_off()
    axes.set(xlim=(-0.1, len(states) * (WIDTH + GAP) - GAP + 0.1), ylim=(height + 0.1, -0.1))
    styles = look.styles_for(states)
    for column, (name, state) in enumerate(states.items()):
        left = column * (WIDTH + GAP)
        _broker_box(axes, left, sizes, name, state)
        for line, row in enumerate(shown):
            kind = _kind(row, name)
            if kind:
                top = head + line * CELL
                _replica(axes, (left, top), kind, _partition(row), styles[name], sizes)
    _legend(picture, len(rows) - len(shown))
    _describe(picture, states, rows)
    return picture


def _id(value: object) -> str:
    """Brokers are known by number or by name: 2 and broker-2 are the same."""
    return str(value) if isinstance(value, str) else f"broker-{int(value)}"


def _broker(broker: object) -> tuple[str, str]:
    if not isinstance(broker, Mapping):
        return _id(broker), "running"
    known_by = broker["name"] if "name" in broker else broker["id"]
    return _id(known_by), str(broker.get("state") or "running")


def _kind(row: Mapping, broker: str) -> str | None:
    """What a broker is to a partition: leader, in sync, behind, or nothing at all."""
    leader = row.get("leader")
    if not absent(leader) and leader != -1 and _id(leader) == broker:
        return "leader"
    if broker not in map(_id, row["replicas"]):
        return None
    return "in sync" if broker in map(_id, row.get("isr", row["replicas"])) else "behind"


def _broker_box(axes: Axes, left: float, sizes: Sizes, name: str, state: str) -> None:
    running = state == "running"
    box = FancyBboxPatch(
        (left, 0),
        WIDTH,
        sizes.height,
        boxstyle="round,pad=0,rounding_size=0.12",
        fc="white" if running else look.PALE,
        ec=look.BLACK if running else look.TROUBLE,
        ls="solid" if running else (0, (4, 3)),
        lw=2.5,
        gid="broker",
    )
    axes.add_patch(box)
    words = look.short(name, int(sizes.pixels / 14.5))
    axes.text(
        left + WIDTH / 2,
        sizes.head / 2,
        words if running else f"{words}\n✗ {state}",
        ha="center",
        va="center",
        color=look.BLACK if running else look.TROUBLE_TEXT,
        fontweight="bold",
        fontsize=16,
    )


def _replica(
    axes: Axes, corner: tuple[float, float], kind: str, name: str, style: look.Style, sizes: Sizes
) -> None:
    leads, behind = kind == "leader", kind == "behind"
    face = style.colour if leads else "white"
    left, top = corner
    cell = Rectangle(
        (left + 0.12, top),
        WIDTH - 0.24,
        CELL - 0.1,
        fc=face,
        ec=look.TROUBLE if behind else look.GREY,
        hatch="///" if behind else "",
        lw=1.6,
        gid=f"replica {kind}",
    )
    axes.add_patch(cell)
    name = look.short(name, int(sizes.pixels * 0.9 / 12.5) - 3)
    axes.text(
        left + WIDTH / 2,
        top + CELL / 2 - 0.05,
        f"★ {name}" if leads else name,
        ha="center",
        va="center",
        color=look.ink_on(face),
        fontsize=14,
        fontweight="bold" if leads else "normal",
        bbox={"fc": "white", "ec": "none", "pad": 1} if behind else None,
    )


def _partition(row: Mapping) -> str:
    if row.get("topic"):
        return f"{row['topic']}-{row['partition']}"
    return f"partition {row['partition']}"


def _legend(picture: look.Picture, hidden: int) -> None:
    handles = [
        Patch(fc=look.GREY, ec=look.GREY, label="★ leader"),
        Patch(fc="white", ec=look.GREY, label="follower in sync"),
        Patch(fc="white", ec=look.TROUBLE, hatch="///", label="follower behind"),
    ]
    if hidden > 0:
        handles.append(Patch(fc="white", ec="white", label=f"{hidden:,} more not drawn"))
    look.legend_below(picture, handles)


def _describe(picture: look.Picture, states: dict[str, str], rows: list[Mapping]) -> None:
    ill = [f"{name} is {state}" for name, state in states.items() if state != "running"]
    lines = []
    for row in rows[:MOST_TOLD]:
        kinds = {name: _kind(row, name) for name in states}
        leader = next((name for name, kind in kinds.items() if kind == "leader"), "nobody")
        behind = [name for name, kind in kinds.items() if kind == "behind"]
        late = f", {' and '.join(behind)} behind" if behind else ""
        lines.append(f"{_partition(row)} is led by {leader}{late}")
    if len(rows) > MOST_TOLD:
        lines.append(f"and {len(rows) - MOST_TOLD:,} more")
    size = f"{many(len(states), 'broker')}, {many(len(rows), 'partition')}"
    look.describe(picture, size, "; ".join(ill), "; ".join(lines))
