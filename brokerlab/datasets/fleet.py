"""Truck positions: a fleet reports where it is; a few trucks report far more than the others.

*event time* is when a position was measured, *sent time* when it left the truck. Most leave at
once. A position is *out of order* when it leaves a few seconds later, and *late* when the truck
was in a tunnel and it leaves half a minute or more later: what watermarks are about.
"""

import heapq
from collections.abc import Iterator
from itertools import count as count_from

from brokerlab.datasets.dice import Dice, moment, numbers

DRIVERS = (
    "Ada Okafor",
    "Ben Lindqvist",
    "Chiara Rossi",
    "Deniz Kaya",
    "Emeka Obi",
    "Farah Haddad",
    "Goran Petrovic",
    "Hana Sato",
    "Ines Duarte",
    "Jonas Weber",
)
HEADINGS = ((1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1))
HOT_WEIGHTS = (12, 9, 6)
OUT_OF_ORDER_MS = (1_500, 6_000)
LATE_MS = (30_000, 180_000)


class Truck:
    """One truck on its way: it keeps a heading for a while, then turns."""

    def __init__(self, number: int, dice: Dice) -> None:
        self.truck_id = f"truck-{number:02d}"
        self.driver = DRIVERS[(number - 1) % len(DRIVERS)]
        self.sent = 0
        self._dice = dice
        self._heading = dice.pick(HEADINGS)
        self._speed_kmh = dice.between(40, 80)
        self._lat = dice.between(47_500_000, 54_500_000)
        self._lon = dice.between(6_500_000, 14_500_000)

    def measure(self, clock_ms: int) -> dict:
        """Drive on for a moment and note the position. Degrees are counted in millionths."""
        self._speed_kmh = min(90, max(0, self._speed_kmh + self._dice.between(-6, 6)))
        if self._dice.chance(0.1):
            self._heading = self._dice.pick(HEADINGS)
        self._lat += self._heading[0] * self._speed_kmh * 5
        self._lon += self._heading[1] * self._speed_kmh * 8
        return {
            "truck_id": self.truck_id,
            "driver": self.driver,
            "lat": self._lat / 1_000_000,
            "lon": self._lon / 1_000_000,
            "speed_kmh": self._speed_kmh,
            "event_time": moment(clock_ms),
        }


def trucks(
    count: int | None = None,
    seed: int = 7,
    trucks: int = 20,
    hot: int = 3,
    late: float = 0.05,
    out_of_order: float = 0.02,
) -> Iterator[dict]:
    """Positions in the order in which they are sent. Key: `truck_id`.

    The first `hot` trucks (at most three) send more than all others of the usual twenty together.
    `sequence` counts a truck's rows in the order sent, so a reader can prove that none moved.
    """
    reports = _reports(Dice(seed), trucks, hot, late, out_of_order)
    for _ in numbers(count):
        truck, row, sent_ms = next(reports)
        truck.sent += 1
        yield {
            "truck_id": row.pop("truck_id"),
            "driver": row.pop("driver"),
            "sequence": truck.sent,
            **row,
            "sent_time": moment(sent_ms),
        }


def _reports(
    dice: Dice, trucks: int, hot: int, late: float, out_of_order: float
) -> Iterator[tuple[Truck, dict, int]]:
    """(truck, position, when sent), in the order sent, without an end."""
    fleet = [Truck(number, dice) for number in range(1, trucks + 1)]
    weights = [*HOT_WEIGHTS[:hot], *[1] * trucks][:trucks]
    held: list[tuple[int, int, Truck, dict]] = []
    clock_ms = 0
    for tick in count_from():
        clock_ms += dice.between(500, 1_500)
        while held and held[0][0] <= clock_ms:
            sent_ms, _, truck, row = heapq.heappop(held)
            yield truck, row, sent_ms
        truck = dice.weighted(fleet, weights)
        row = truck.measure(clock_ms)
        delay_ms = _delay_ms(dice, late, out_of_order)
        if delay_ms:
            # The tick breaks ties, so that heapq never has to compare two trucks.
            heapq.heappush(held, (clock_ms + delay_ms, tick, truck, row))
        else:
            yield truck, row, clock_ms


def _delay_ms(dice: Dice, late: float, out_of_order: float) -> int:
    """How long a position waits in the truck; nearly always not at all."""
    if dice.chance(late):
        return dice.between(*LATE_MS)
    if dice.chance(out_of_order):
        return dice.between(*OUT_OF_ORDER_MS)
    return 0
