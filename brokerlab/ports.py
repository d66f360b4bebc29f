"""Free ports on loopback: the preferred one when nobody has it, else any free one.

Two labs that start at the same moment must not choose the same port, so a choice is
reserved in a file that all labs of one user share until the lab listens on it.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import socket
import tempfile
import time
from pathlib import Path

import psutil

from brokerlab.errors import PortError
from brokerlab.state import locked, write_json

LOOPBACK = "127.0.0.1"
RESERVED_FOR_S = 60
SOCKETS_LINGER_S = 3
# Below the range from which Linux and macOS take the source ports of outgoing connections.
ANY_FREE = range(20_000, 32_000)


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def answers(port: int, timeout_s: float = 0.5) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((LOOPBACK, port), timeout_s):
        return True
    return False


def owner_of(port: int) -> str:
    """Who listens on `port`, as far as this user may know."""
    with contextlib.suppress(psutil.Error):
        for link in psutil.net_connections("tcp"):
            if link.laddr and link.laddr.port == port and link.status == psutil.CONN_LISTEN:
                if link.pid:
                    return f"pid {link.pid} ({psutil.Process(link.pid).name()})"
                break
    return "another program"


def require_free(port: int, name: str) -> None:
    """A node that comes back must get its old port: its clients know no other.

    The threads of a killed process may hold its sockets for a moment after it is gone.
    """
    deadline = time.monotonic() + SOCKETS_LINGER_S
    while not is_free(port) and time.monotonic() < deadline:
        time.sleep(0.02)
    if not is_free(port):
        raise PortError(
            f"Port {port} of {name} is taken by {owner_of(port)}. Stop it, "
            "or start over on free ports with `brokerlab down` and `brokerlab up`."
        )


def choose(preferred: list[int | None]) -> list[int]:
    """One port for each entry: the preferred one, or any free one (None: any)."""
    folder = Path(tempfile.gettempdir()) / f"brokerlab-{os.getuid()}"
    with locked(folder / "ports.lock"):
        book = folder / "ports.json"
        try:
            reserved = {int(k): v for k, v in json.loads(book.read_text()).items()}
        except (OSError, ValueError):
            reserved = {}
        now = time.time()
        reserved = {port: until for port, until in reserved.items() if until > now}
        chosen = [_one(wish, reserved, now) for wish in preferred]
        write_json(book, reserved)
    return chosen


def _one(wish: int | None, reserved: dict[int, float], now: float) -> int:
    candidates = ([wish] if wish else []) + random.sample(ANY_FREE, 200)
    for port in candidates:
        if port not in reserved and is_free(port):
            reserved[port] = now + RESERVED_FOR_S
            return port
    raise PortError("No free port on 127.0.0.1 between 20000 and 32000. Close some programs.")
