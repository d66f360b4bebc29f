"""Where the boxes of a topology stand, so that arrows are short and boxes never touch.

A *box* is an exchange or a queue. A *port* is a place on its left side where one arrow ends.
"""

from collections.abc import Mapping
from typing import NamedTuple

BOX_WIDTH = 2.5
COLUMN = 5.0
PORT = 0.5
DEFAULT = "(default)"
ANYWHERE = 1e6


class Box(NamedTuple):
    """An exchange or a queue and where it stands."""

    name: str
    kind: str
    column: int
    middle: float
    ports: int

    @property
    def left(self) -> float:
        """The left edge."""
        return self.column * COLUMN

    @property
    def height(self) -> float:
        """Tall enough for two lines of text and for all ports."""
        return max(1.15, self.ports * PORT + 0.25)


class Arrow(NamedTuple):
    """A binding: from an exchange to a queue or another exchange, with its key."""

    source: str
    target: str
    key: str


def place(kinds: Mapping[str, str], queues: list[str], arrows: list[Arrow]) -> dict[str, Box]:
    """A box for every exchange and queue: queues last, an exchange just before what it feeds."""
    steps = _steps_before_a_queue(kinds, arrows)
    last = max(steps.values(), default=0)
    ports = {name: sum(arrow.target == name for arrow in arrows) for name in [*kinds, *queues]}
    ordered = _few_crossings(queues, arrows, list(kinds))
    boxes = _stack([Box(name, "queue", last, 0.0, ports[name]) for name in ordered], {})
    for step in range(1, last + 1):
        members = [name for name in kinds if steps[name] == step]
        wanted = {name: _pull(name, arrows, boxes) for name in members}
        members.sort(key=lambda name: wanted[name])
        column = [Box(name, str(kinds[name]), last - step, 0.0, ports[name]) for name in members]
        boxes |= _stack(column, wanted)
    top = min(box.middle - box.height / 2 for box in boxes.values())
    return {name: box._replace(middle=box.middle - top) for name, box in boxes.items()}


def _steps_before_a_queue(kinds: Mapping[str, str], arrows: list[Arrow]) -> dict[str, int]:
    """1 for an exchange that feeds queues only, 2 for one that feeds such an exchange ..."""
    steps = dict.fromkeys(kinds, 1)
    for _ in kinds:  # a chain cannot be longer than this, and a circle must end
        for arrow in arrows:
            if arrow.target in kinds and steps[arrow.target] < len(kinds):
                steps[arrow.source] = max(steps[arrow.source], steps[arrow.target] + 1)
    return steps


def _few_crossings(queues: list[str], arrows: list[Arrow], exchanges: list[str]) -> list[str]:
    """Queues in the order of the exchanges that feed them; what nobody feeds comes last."""

    def rank(queue: str) -> float:
        feeders = [exchanges.index(arrow.source) for arrow in arrows if arrow.target == queue]
        return sum(feeders) / len(feeders) if feeders else len(exchanges)

    return sorted(queues, key=rank)


def _pull(name: str, arrows: list[Arrow], boxes: dict[str, Box]) -> float:
    """The height at which a box's arrows would be shortest."""
    ends = [boxes[a.target].middle for a in arrows if a.source == name and a.target in boxes]
    return sum(ends) / len(ends) if ends else ANYWHERE


def _stack(column: list[Box], wanted: Mapping[str, float]) -> dict[str, Box]:
    """Boxes from top to bottom, near their wanted height but never on one another."""
    boxes, floor = {}, 0.0
    for box in column:
        middle = floor + box.height / 2
        if wanted.get(box.name, ANYWHERE) < ANYWHERE:
            middle = max(middle, wanted[box.name])
        boxes[box.name] = box._replace(middle=middle)
        floor = middle + box.height / 2 + 0.4
    return boxes
