"""Dice: chance that falls the same way on every Python and every platform.

Python promises that `Random(seed).random()` keeps its sequence between versions. It promises
nothing of the kind for `choice`, `randint` or `gauss`, so every draw here is made from `random()`.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count as count_from
from random import Random
from typing import TypeVar

Item = TypeVar("Item")

START = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)


class Dice:
    """One seeded source of chance. Each dataset has its own, so they do not disturb each other."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed).random

    def chance(self, share: float) -> bool:
        """True in about `share` of the calls."""
        return self._random() < share

    def between(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return low + int(self._random() * (high - low + 1))

    def pick(self, items: Sequence[Item]) -> Item:
        """One of the items, each as likely as the others."""
        return items[self.between(0, len(items) - 1)]

    def weighted(self, items: Sequence[Item], weights: Sequence[int]) -> Item:
        """One of the items, as likely as its weight says."""
        ticket = self.between(1, sum(weights))
        for item, weight in zip(items, weights, strict=True):
            ticket -= weight
            if ticket <= 0:
                return item
        raise ValueError("weights must be positive whole numbers")


def numbers(count: int | None) -> range | count_from:
    """1, 2, 3 ... up to count; without an end when count is None."""
    return count_from(1) if count is None else range(1, count + 1)


def moment(milliseconds: int) -> str:
    """The time so many milliseconds after the start of all datasets, as ISO 8601 in UTC."""
    text = (START + timedelta(milliseconds=milliseconds)).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
