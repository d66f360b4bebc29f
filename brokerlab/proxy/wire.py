"""Connections through the proxy, and the rules that break them."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field

HIGH_WATER_BYTES = 1 << 20


@dataclass(frozen=True)
class Rule:
    """A cut, or a delay when `latency_ms` is not zero, on the links of one node."""

    id: str
    node: str
    links: str = "peers"  # peers, clients, all
    direction: str = "both"  # both, replies
    latency_ms: float = 0.0

    def covers(self, connection: Connection) -> bool:
        if self.links not in ("all", connection.link.kind):
            return False
        if self.direction == "replies":
            return connection.link.node == self.node
        return self.node in (connection.link.node, connection.source)


@dataclass(frozen=True)
class Link:
    """Whoever connects to `listen` reaches `target`, a port of `node`."""

    listen: int
    target: int
    node: str
    kind: str = "peers"


@dataclass(eq=False)
class Connection:
    """One client and one server socket, tied together."""

    link: Link
    peer_port: int
    source: str | None = None
    near: Side | None = None  # towards whoever connected
    far: Side | None = None  # towards the node
    rules: list[Rule] = field(default_factory=list)
    swallowed_bytes: int = 0

    @property
    def latency_s(self) -> float:
        return sum(rule.latency_ms for rule in self.rules) / 1000

    @property
    def loses_replies(self) -> bool:
        return any(rule.direction == "replies" and not rule.latency_ms for rule in self.rules)

    @property
    def is_cut(self) -> bool:
        return any(rule.direction == "both" and not rule.latency_ms for rule in self.rules)

    def abort(self) -> None:
        for side in (self.near, self.far):
            if side and side.transport:
                side.transport.abort()


class Side(asyncio.Protocol):
    """One of the two sockets of a connection; what it reads, the other one writes."""

    def __init__(self, connection: Connection, is_near: bool) -> None:
        self.connection = connection
        self.is_near = is_near
        self.transport: asyncio.Transport | None = None
        self.held: deque[tuple[float, bytes | None]] = deque()

    @property
    def other(self) -> Side | None:
        return self.connection.far if self.is_near else self.connection.near

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        self.transport.set_write_buffer_limits(high=HIGH_WATER_BYTES)

    def data_received(self, data: bytes) -> None:
        connection = self.connection
        if connection.rules or self.held:
            if connection.loses_replies and not self.is_near:
                connection.swallowed_bytes += len(data)
                return
            if self.held or connection.latency_s:
                self.hold(data)
                return
        self.pass_on(data)

    def pass_on(self, data: bytes | None) -> None:
        other = self.other
        if other is None or other.transport is None or other.transport.is_closing():
            return
        if data is None:
            other.transport.close()
        else:
            other.transport.write(data)

    def hold(self, data: bytes | None) -> None:
        """Delay by the rules' latency; a queue keeps the order whatever the clock does."""
        loop = asyncio.get_running_loop()
        due = loop.time() + self.connection.latency_s
        self.held.append((due, data))
        if len(self.held) == 1:
            loop.call_at(due, self.release)

    def release(self) -> None:
        loop = asyncio.get_running_loop()
        while self.held and self.held[0][0] <= loop.time():
            self.pass_on(self.held.popleft()[1])
        if self.held:
            loop.call_at(self.held[0][0], self.release)

    def pause_writing(self) -> None:
        if self.other and self.other.transport:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other and self.other.transport:
            self.other.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        if self.held:
            self.hold(None)
        else:
            self.pass_on(None)
