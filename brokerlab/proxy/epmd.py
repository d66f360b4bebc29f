"""The Erlang port mapper (EPMD), as far as RabbitMQ nodes and their tools need it.

Erlang nodes find each other by name: each registers its distribution port with a mapper and
asks the mapper for the others'. This one belongs to one lab and hands out the proxy's port for
a node instead of the node's own, so that Erlang links can be cut like all others, two labs may
use the same node names, and no mapper daemon is left behind.

Requests (all start with a two-byte length): 120 register and stay connected, 122 ask for a
name's port, 110 list names.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct

REGISTER, ASK, NAMES = 120, 122, 110
REGISTERED_LONG, REGISTERED, ANSWER = 118, 121, 119


class Epmd:
    def __init__(self, links: dict) -> None:
        self.links = links
        self.nodes: dict[str, int] = {}
        self.facts: dict[str, bytes] = {}
        self.creation = 0

    def port_for(self, name: str) -> int:
        """Where others shall connect: the proxy's port when the node has a link, else its own."""
        own = self.nodes[name]
        for link in self.links.values():
            if link.target == own and link.kind == "peers":
                return link.listen
        return own

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            (length,) = struct.unpack("!H", await reader.readexactly(2))
            request = await reader.readexactly(length)
            if request[0] == REGISTER:
                await self.register(request[1:], reader, writer)
            elif request[0] == ASK:
                writer.write(self.lookup(request[1:].decode()))
            elif request[0] == NAMES:
                writer.write(self.names(writer.get_extra_info("sockname")[1]))
            await writer.drain()
        writer.close()

    async def register(
        self, body: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """A node is known for as long as it keeps this connection open."""
        port, _kind, _protocol, highest, _lowest, length = struct.unpack_from("!HBBHHH", body)
        name = body[10 : 10 + length].decode()
        self.creation += 1
        if highest >= 6:
            writer.write(struct.pack("!BBI", REGISTERED_LONG, 0, self.creation))
        else:
            writer.write(struct.pack("!BBH", REGISTERED, 0, self.creation % 3 + 1))
        await writer.drain()
        self.nodes[name] = port
        self.facts[name] = body[2:8]
        while await reader.read(64):
            pass
        if self.nodes.get(name) == port:
            del self.nodes[name], self.facts[name]

    def lookup(self, name: str) -> bytes:
        if name not in self.nodes:
            return struct.pack("!BB", ANSWER, 1)
        encoded = name.encode()
        return (
            struct.pack("!BBH", ANSWER, 0, self.port_for(name))
            + self.facts[name]
            + struct.pack("!H", len(encoded))
            + encoded
            + struct.pack("!H", 0)
        )

    def names(self, own_port: int) -> bytes:
        lines = "".join(f"name {n} at port {self.port_for(n)}\n" for n in self.nodes)
        return struct.pack("!I", own_port) + lines.encode()
