"""A RabbitMQ topology, left to right: exchanges, then bindings as arrows, then queues.

A *binding* leads from an exchange to a queue or to another exchange, and carries a binding key.
A *dead-letter* arrow leads from a queue back to an exchange. Counts are what flowed: messages
that an exchange took, that a queue holds.
"""

from collections.abc import Mapping
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from brokerlab.pictures import look
from brokerlab.pictures.told import rows_of

BOX_WIDTH = 2.5
COLUMN = 5.0
PORT = 0.5
DEFAULT = "(default)"


class Box(NamedTuple):
    """An exchange or a queue and where it stands. Ports are places where arrows end."""

    name: str
    kind: str
    column: int
    middle: float
    ports: int

    @property
    def left(self) -> float:
        return self.column * COLUMN

    @property
    def height(self) -> float:
        return max(1.15, self.ports * PORT + 0.25)


class Arrow(NamedTuple):
    """A binding: from a box to a box, with its key."""

    source: str
    target: str
    key: str


@look.drawn
def rabbitmq_topology(
    exchanges: object,
    bindings: object,
    queues: object,
    counts: Mapping[str, int] | None = None,
    *,
    title: str = "How messages are routed",
) -> look.Picture:
    """Exchanges, bindings and queues with the counts that flowed.

    Exchanges: names, or rows with `name` and `type`. Bindings: rows with `source`, `destination`
    and `routing_key`, as the management API gives them. Queues: names, or rows with `name` and,
    if there is one, `dead_letter_exchange`. Counts: `{exchange or queue: messages}`.
    """
    kinds = {_name(e): _field(e, "type") or "exchange" for e in rows_of(exchanges)}
    dead = {_name(q): _field(q, "dead_letter_exchange") for q in rows_of(queues)}
    arrows = [_arrow(binding) for binding in rows_of(bindings)]
    if not kinds and not dead:
        return look.nothing(title, "There is no exchange and no queue.")
    for arrow in arrows:
        kinds.setdefault(arrow.source, "exchange")
        if arrow.target not in kinds and arrow.target not in dead:
            dead[arrow.target] = None
    boxes = _place(kinds, dead, arrows)
    depth = max(box.middle + box.height / 2 for box in boxes.values())
    backwards = [(queue, target) for queue, target in dead.items() if target in kinds]
    picture = look.blank(title, 1.1 + 0.62 * (depth + 0.55 * len(backwards)))
    axes = picture.add_subplot()
    axes.set_axis_off()
    axes.set_xlim(-0.15, max(box.left for box in boxes.values()) + BOX_WIDTH + 0.15)
    axes.set_ylim(depth + 0.25 + 0.55 * len(backwards), -0.1)
    _draw_arrows(axes, arrows, boxes)
    for lane, (queue, target) in enumerate(backwards):
        _draw_dead_letter(axes, boxes[queue], boxes[target], depth + 0.3 + 0.55 * lane)
    for box in boxes.values():
        _draw_box(axes, box, (counts or {}).get(box.name))
    _describe(picture, kinds, dead, arrows, counts or {})
    return picture


def _name(thing: object) -> str:
    name = thing["name"] if isinstance(thing, Mapping) else thing
    return str(name) or DEFAULT


def _field(thing: object, field: str) -> str | None:
    return thing.get(field) if isinstance(thing, Mapping) else None


def _arrow(binding: Mapping) -> Arrow:
    source, key = binding["source"] or DEFAULT, binding.get("routing_key") or ""
    if not key and binding.get("arguments"):
        key = ", ".join(f"{k}={v}" for k, v in binding["arguments"].items())
    return Arrow(str(source), str(binding["destination"]), str(key))


def _place(kinds: dict, queues: dict, arrows: list[Arrow]) -> dict[str, Box]:
    """Give every box a column and a height: sources left, queues in the last column."""
    columns = {name: 0 for name in kinds}
    for _ in kinds:  # exchange to exchange: as many rounds as there can be steps
        for arrow in arrows:
            if arrow.target in kinds and columns[arrow.source] + 1 < len(kinds):
                columns[arrow.target] = max(columns[arrow.target], columns[arrow.source] + 1)
    last = max(columns.values(), default=-1) + 1
    ports = {name: sum(arrow.target == name for arrow in arrows) for name in [*kinds, *queues]}
    boxes = _stack({}, [(q, "queue", last, ports[q]) for q in _in_order(queues, arrows, kinds)])
    for column in range(last - 1, -1, -1):
        members = [name for name in kinds if columns[name] == column]
        wanted = {name: _pull(name, arrows, boxes) for name in members}
        members.sort(key=lambda name: wanted[name])
        stack = [(name, str(kinds[name]), column, ports[name]) for name in members]
        boxes |= _stack(wanted, stack)
    top = min(box.middle - box.height / 2 for box in boxes.values())
    return {name: box._replace(middle=box.middle - top) for name, box in boxes.items()}


def _in_order(queues: dict, arrows: list[Arrow], kinds: dict) -> list[str]:
    """Queues in the order of the exchanges that feed them, so that few arrows cross."""
    rank = {name: place for place, name in enumerate(kinds)}
    feeders = {q: [rank[a.source] for a in arrows if a.target == q] for q in queues}
    return sorted(queues, key=lambda q: sum(feeders[q]) / len(feeders[q]) if feeders[q] else 99)


def _pull(name: str, arrows: list[Arrow], boxes: dict[str, Box]) -> float:
    """The height at which a box's arrows would be shortest."""
    ends = [boxes[a.target].middle for a in arrows if a.source == name and a.target in boxes]
    return sum(ends) / len(ends) if ends else 1e6


def _stack(wanted: Mapping[str, float], stack: list[tuple]) -> dict[str, Box]:
    """Boxes from top to bottom, near their wanted height but never on one another."""
    boxes, floor = {}, 0.0
    for name, kind, column, ports in stack:
        box = Box(name, kind, column, 0.0, ports)
        middle = floor + box.height / 2
        if wanted.get(name, 1e6) < 1e6:
            middle = max(middle, wanted[name])
        boxes[name] = box._replace(middle=middle)
        floor = middle + box.height / 2 + 0.4
    return boxes


def _draw_arrows(axes: Axes, arrows: list[Arrow], boxes: dict[str, Box]) -> None:
    """Each arrow ends at a port of its own; its key stands on the last, level piece."""
    for target in boxes.values():
        arriving = [arrow for arrow in arrows if arrow.target == target.name]
        arriving.sort(key=lambda arrow: (boxes[arrow.source].middle, arrow.key))
        for place, arrow in enumerate(arriving):
            source = boxes[arrow.source]
            port = target.middle + (place - (len(arriving) - 1) / 2) * PORT
            start = source.left + BOX_WIDTH
            bend = start + 0.55
            axes.plot([start, bend], [source.middle, port], color=look.GREY, lw=2.2, zorder=1)
            tip = FancyArrowPatch(
                (bend, port), (target.left, port), arrowstyle="-|>", mutation_scale=20,
                color=look.GREY, lw=2.2, shrinkA=0, shrinkB=0, zorder=1,
            )  # fmt: skip
            axes.add_patch(tip)
            if arrow.key:
                _key_on(axes, (bend + target.left) / 2 - 0.1, port, arrow.key)


def _key_on(axes: Axes, x: float, y: float, key: str) -> None:
    ground = {"fc": "white", "ec": "none", "pad": 2}
    axes.text(x, y, look.short(key, 17), ha="center", va="center", fontsize=13, bbox=ground)


def _draw_dead_letter(axes: Axes, queue: Box, exchange: Box, lane: float) -> None:
    """Down from the queue, back to the left, up to the exchange: below everything else."""
    down, up = queue.left + BOX_WIDTH * 0.75, exchange.left + BOX_WIDTH * 0.25
    style = {"color": look.TROUBLE, "lw": 2.2, "ls": (0, (3, 2)), "zorder": 0.5}
    axes.plot([down, down, up], [queue.middle, lane, lane], **style)
    tip = FancyArrowPatch(
        (up, lane), (up, exchange.middle + exchange.height / 2),
        arrowstyle="-|>", mutation_scale=20, shrinkA=0, shrinkB=0, **style,
    )  # fmt: skip
    axes.add_patch(tip)
    ground = {"fc": "white", "ec": "none", "pad": 2}
    words = {"color": look.TROUBLE_TEXT, "fontsize": 13, "ha": "center", "va": "center"}
    axes.text((down + up) / 2, lane, "dead letters", bbox=ground, **words)


def _draw_box(axes: Axes, box: Box, count: int | None) -> None:
    queue = box.kind == "queue"
    axes.add_patch(
        FancyBboxPatch(
            (box.left, box.middle - box.height / 2),
            BOX_WIDTH,
            box.height,
            boxstyle="round,pad=0,rounding_size=0.1" if queue else "round,pad=0,rounding_size=0.5",
            fc="#DCEBF5" if queue else "#FBE9C6",
            ec=look.BLUE if queue else look.ORANGE,
            lw=2.5,
            zorder=2,
            gid="queue" if queue else "exchange",
        )
    )
    amount = "" if count is None else f"{count:,}"
    under = f"holds {amount}" if queue else f"{box.kind}, {amount} in"
    if count is None:
        under = box.kind
    middle = {"ha": "center", "va": "center", "zorder": 3}
    centre = box.left + BOX_WIDTH / 2
    axes.text(
        centre,
        box.middle - 0.22,
        look.short(box.name, 17),
        fontsize=14,
        fontweight="bold",
        **middle,
    )
    axes.text(centre, box.middle + 0.26, under, fontsize=14, **middle)


def _describe(
    picture: look.Picture, kinds: dict, queues: dict, arrows: list[Arrow], counts: Mapping
) -> None:
    routes = [f"{a.source} to {a.target}" + (f" by {a.key}" if a.key else "") for a in arrows]
    holds = [f"{name} {counts[name]:,}" for name in [*kinds, *queues] if name in counts]
    look.describe(
        picture,
        f"{len(kinds)} exchanges, {len(arrows)} bindings, {len(queues)} queues",
        f"Bindings: {'; '.join(routes)}" if routes else "",
        f"Messages: {', '.join(holds)}" if holds else "",
    )
