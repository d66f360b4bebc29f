"""A RabbitMQ topology, left to right: exchanges, then bindings as arrows, then queues.

A *binding* leads from an exchange to a queue or to another exchange, and carries a binding key.
A *dead-letter* arrow leads from a queue back to an exchange. Counts are what flowed: messages
that an exchange took, that a queue holds.
"""

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from brokerlab.pictures import look
from brokerlab.pictures.boxes import BOX_WIDTH, COLUMN, DEFAULT, PORT, Arrow, Box, place
from brokerlab.pictures.told import many, rows_of

LANE = 0.45
PIXELS = 970  # of a picture's width, less its margins
WHITE_GROUND = {"fc": "white", "ec": "none", "pad": 2}


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
        if arrow.target not in kinds:
            dead.setdefault(arrow.target, None)
    boxes = place(kinds, list(dead), arrows)
    backwards = [(boxes[q], boxes[target]) for q, target in dead.items() if target in kinds]
    picture = _draw(title, boxes, arrows, backwards, counts or {})
    _describe(picture, kinds, dead, arrows, counts or {})
    return picture


def _draw(
    title: str, boxes: dict[str, Box], arrows: list[Arrow], backwards: list, counts: Mapping
) -> look.Picture:
    depth = max(box.middle + box.height / 2 for box in boxes.values())
    right = max(box.left for box in boxes.values()) + BOX_WIDTH
    margin = 0.15 + LANE * len(backwards)
    picture = look.blank(title, 1.1 + 0.62 * (depth + margin))
    axes = picture.add_subplot()
    axes.set_axis_off()
    axes.set(xlim=(-margin, right + margin), ylim=(depth + margin, -0.1))
    pixels = PIXELS / (right + 2 * margin)
    _draw_arrows(axes, arrows, boxes, pixels)
    # The lowest queue takes the inner lane, so that no lane is crossed on the right.
    backwards.sort(key=lambda way: -way[0].middle)
    for number, (queue, exchange) in enumerate(backwards, 1):
        _draw_dead_letter(axes, queue, exchange, (right, depth), LANE * number)
    for box in boxes.values():
        _draw_box(axes, box, counts.get(box.name), pixels)
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


def _draw_arrows(axes: Axes, arrows: list[Arrow], boxes: dict[str, Box], pixels: float) -> None:
    """Each arrow ends at a port of its own; its key stands on the last, level piece."""
    letters = int((COLUMN - BOX_WIDTH - 1.1) * pixels / 10)
    for target in boxes.values():
        arriving = [arrow for arrow in arrows if arrow.target == target.name]
        arriving.sort(key=lambda arrow: (boxes[arrow.source].middle, arrow.key))
        for number, arrow in enumerate(arriving):
            source = boxes[arrow.source]
            port = target.middle + (number - (len(arriving) - 1) / 2) * PORT
            start = source.left + BOX_WIDTH
            line = {"color": look.GREY, "lw": 2.2, "zorder": 1}
            axes.plot([start, start + 0.55], [source.middle, port], **line)
            ends = ((start + 0.55, port), (target.left, port))
            tip = {"arrowstyle": "-|>", "mutation_scale": 20, "shrinkA": 0, "shrinkB": 0}
            axes.add_patch(FancyArrowPatch(*ends, **tip, **line))
            if arrow.key:
                middle, key = (start + target.left + 0.35) / 2, look.short(arrow.key, letters)
                style = {"ha": "center", "va": "center", "fontsize": 13, "bbox": WHITE_GROUND}
                axes.text(middle, port, key, **style)


def _draw_dead_letter(
    axes: Axes, queue: Box, exchange: Box, corner: tuple[float, float], lane: float
) -> None:
    """Around the outside: right of the queues, below everything, in at the exchange's left."""
    right, below, left = corner[0] + lane, corner[1] + lane, -lane
    style = {"color": look.TROUBLE, "lw": 2.2, "zorder": 0.5}
    across = [corner[0], right, right, left, left, exchange.left - 0.12]
    down = [queue.middle, queue.middle, below, below, exchange.middle, exchange.middle]
    axes.plot(across, down, ls=(0, (3, 2)), gid="dead letters", **style)
    axes.plot([exchange.left - 0.12], [exchange.middle], marker=">", ms=12, **style)
    axes.text(
        (left + right) / 2,
        below,
        f"dead letters of {look.short(queue.name, 22)}",
        ha="center",
        va="center",
        color=look.TROUBLE_TEXT,
        fontsize=13,
        bbox=WHITE_GROUND,
    )


def _draw_box(axes: Axes, box: Box, count: int | None, pixels: float) -> None:
    queue = box.kind == "queue"
    shape = FancyBboxPatch(
        (box.left, box.middle - box.height / 2),
        BOX_WIDTH,
        box.height,
        boxstyle=f"round,pad=0,rounding_size={0.1 if queue else 0.5}",
        fc="#DCEBF5" if queue else "#FBE9C6",
        ec=look.BLUE if queue else look.ORANGE,
        lw=2.5,
        zorder=2,
        gid="queue" if queue else "exchange",
    )
    axes.add_patch(shape)
    if count is None:
        under = box.kind
    else:
        under = f"holds {count:,}" if queue else f"{box.kind}, {count:,} in"
    name = look.short(box.name, int(BOX_WIDTH * pixels / 12.5) - 2)
    style = {"ha": "center", "va": "center", "zorder": 3, "fontsize": 14}
    centre = box.left + BOX_WIDTH / 2
    axes.text(centre, box.middle - 0.22, name, fontweight="bold", **style)
    axes.text(centre, box.middle + 0.26, under, **style)


def _describe(
    picture: look.Picture, kinds: dict, queues: dict, arrows: list[Arrow], counts: Mapping
) -> None:
    routes = [f"{a.source} to {a.target}" + (f" by {a.key}" if a.key else "") for a in arrows]
    holds = [f"{name} {counts[name]:,}" for name in [*kinds, *queues] if name in counts]
    dead = [f"{queue} to {target}" for queue, target in queues.items() if target]
    look.describe(
        picture,
        f"{many(len(kinds), 'exchange')}, {many(len(arrows), 'binding')}, "
        f"{many(len(queues), 'queue')}",
        f"Bindings: {'; '.join(routes)}" if routes else "",
        f"Dead letters: {'; '.join(dead)}" if dead else "",
        f"Messages: {', '.join(holds)}" if holds else "",
    )
