"""A cluster as boxes: every broker with the partition replicas it holds, the leader marked.

A replica is the *leader*, *in sync* with it, or *behind*. A broker that is not running is dead,
paused or cut off, and says so.
"""

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, Patch, Rectangle

from brokerlab.pictures import look
from brokerlab.pictures.told import absent, rows_of

WIDTH, GAP, CELL = 3.0, 0.35, 0.62
MOST_ROWS = 14


@look.drawn
def cluster(
    brokers: object, partitions: object, *, title: str = "Where the replicas are"
) -> look.Picture:
    """Brokers side by side, a line for each partition.

    Brokers: ids, names, or rows with `id` (or `name`) and `state`. Partitions: rows with
    `partition` (and `topic`), `leader`, `replicas` and `isr`, all by broker id.
    """
    states = dict(_broker(broker) for broker in rows_of(brokers))
    rows = rows_of(partitions)
    if not states:
        return look.nothing(title, "There is no broker.")
    shown = rows[:MOST_ROWS]
    height = max(1, len(shown)) * CELL + 1.05
    picture = look.blank(title, 1.7 + 0.72 * height)
    axes = picture.add_subplot()
    axes.set_axis_off()
    axes.set_xlim(-0.1, len(states) * (WIDTH + GAP) - GAP + 0.1)
    axes.set_ylim(height + 0.1, -0.1)
    styles = look.styles_for(states)
    for column, (name, state) in enumerate(states.items()):
        left = column * (WIDTH + GAP)
        _broker_box(axes, left, height, name, state)
        for line, row in enumerate(shown):
            kind = _kind(row, name)
            if kind:
                _replica(axes, left, 0.95 + line * CELL, kind, row, styles[name])
    _legend(picture, len(rows) - len(shown))
    _describe(picture, states, rows)
    return picture


def _id(value: object) -> str:
    """Brokers are known by number or by name: 2 and broker-2 are the same."""
    return f"broker-{int(value)}" if isinstance(value, int | float) else str(value)


def _broker(broker: object) -> tuple[str, str]:
    if not isinstance(broker, Mapping):
        return _id(broker), "running"
    known_by = broker["name"] if "name" in broker else broker["id"]
    return _id(known_by), str(broker.get("state") or "running")


def _kind(row: Mapping, broker: str) -> str | None:
    """What a broker is to a partition: leader, in sync, behind, or nothing at all."""
    if not absent(row.get("leader")) and row["leader"] != -1 and _id(row["leader"]) == broker:
        return "leader"
    if broker not in map(_id, row["replicas"]):
        return None
    return "in sync" if broker in map(_id, row.get("isr", row["replicas"])) else "behind"


def _broker_box(axes: Axes, left: float, height: float, name: str, state: str) -> None:
    running = state == "running"
    axes.add_patch(
        FancyBboxPatch(
            (left, 0),
            WIDTH,
            height,
            boxstyle="round,pad=0,rounding_size=0.12",
            fc="white" if running else look.PALE,
            ec=look.BLACK if running else look.TROUBLE,
            ls="solid" if running else (0, (4, 3)),
            lw=2.5,
            gid="broker",
        )
    )
    words = look.short(name, 14) if running else f"✗ {look.short(name, 12)} {state}"
    colour = look.BLACK if running else look.TROUBLE_TEXT
    size = 16 if len(words) <= 16 else 13
    axes.text(
        left + WIDTH / 2, 0.45, words, ha="center", va="center", color=colour, fontweight="bold",
        fontsize=size,
    )  # fmt: skip


def _replica(
    axes: Axes, left: float, top: float, kind: str, row: Mapping, style: look.Style
) -> None:
    leads, behind = kind == "leader", kind == "behind"
    face = style.colour if leads else "white"
    axes.add_patch(
        Rectangle(
            (left + 0.12, top),
            WIDTH - 0.24,
            CELL - 0.1,
            fc=face,
            ec=look.TROUBLE if behind else look.GREY,
            hatch="///" if behind else "",
            lw=1.6,
            gid=f"replica {kind}",
        )
    )
    ground = {"bbox": {"fc": "white", "ec": "none", "pad": 1}} if behind else {}
    axes.text(
        left + WIDTH / 2, top + CELL / 2 - 0.05, f"{'★ ' if leads else ''}{_partition(row, 18)}",
        ha="center", va="center", color=look.ink_on(face), fontsize=14,
        fontweight="bold" if leads else "normal", **ground,
    )  # fmt: skip


def _partition(row: Mapping, limit: int) -> str:
    if row.get("topic"):
        return look.short(f"{row['topic']}-{row['partition']}", limit)
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
    for row in rows[:MOST_ROWS]:
        kinds = {name: _kind(row, name) for name in states}
        leader = next((name for name, kind in kinds.items() if kind == "leader"), "nobody")
        behind = [name for name, kind in kinds.items() if kind == "behind"]
        late = f", {' and '.join(behind)} behind" if behind else ""
        lines.append(f"{_partition(row, 99)} is led by {leader}{late}")
    look.describe(
        picture, f"{len(states)} brokers, {len(rows)} partitions", "; ".join(ill), "; ".join(lines)
    )
