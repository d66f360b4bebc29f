"""Waiting for a condition, never for time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from brokerlab.errors import WaitTimeout

T = TypeVar("T")


def wait_until(
    condition: Callable[[], T],
    timeout_s: float = 30.0,
    message: str = "the condition",
    poll_s: float = 0.05,
) -> T:
    """Return the first true value of `condition()`; raise WaitTimeout naming `message`."""
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= deadline:
            raise WaitTimeout(f"Waited {timeout_s:g} s for {message}, and it did not happen.")
        time.sleep(poll_s)
