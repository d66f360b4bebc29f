"""Learn Kafka and RabbitMQ by breaking them.

    import brokerlab
    lab = brokerlab.up()

Names are loaded when they are first used: attaching to a running lab should not pay for
everything that the course can do.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_homes = {
    "up": "lab",
    "Lab": "lab",
    "killed": "faults",
    "paused": "faults",
    "cut": "faults",
    "slowed": "faults",
    "wait_until": "waiting",
    "judge": "claims",
    "holds_if": "claims",
    "dated_if": "claims",
    "depends_on": "claims",
    "LabError": "errors",
}
__all__ = sorted(_homes)


def __getattr__(name: str) -> Any:
    if name not in _homes:
        raise AttributeError(f"module 'brokerlab' has no attribute {name!r}")
    return getattr(importlib.import_module(f"brokerlab.{_homes[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_homes])
