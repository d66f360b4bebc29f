"""The proxy process: `python -m brokerlab.proxy.server CONFIG brokerlab.node=FOLDER`.

CONFIG is JSON: control_port, token, epmd_port (or null), links, state (path of state.json).
It is told what to do by JSON lines on its control port; each line carries the token.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from dataclasses import asdict
from pathlib import Path

from brokerlab.proxy.epmd import Epmd
from brokerlab.proxy.wire import Connection, Link, Rule, Side

LOOPBACK = "127.0.0.1"


class Proxy:
    def __init__(self, config: dict) -> None:
        self.config = config
        self.links: dict[int, Link] = {}
        self.servers: list[asyncio.Server] = []
        self.connections: set[Connection] = set()
        self.rules: dict[str, Rule] = {}
        self.epmd = Epmd(self.links)

    async def serve(self) -> None:
        loop = asyncio.get_running_loop()
        for link in self.config["links"]:
            await self.add_link(Link(**link))
        if port := self.config.get("epmd_port"):
            self.servers.append(await asyncio.start_server(self.epmd.answer, LOOPBACK, port))
        port = self.config["control_port"]
        self.servers.append(await asyncio.start_server(self.control, LOOPBACK, port))
        print(f"ready on control port {port}", flush=True)
        await loop.create_future()

    async def add_link(self, link: Link) -> None:
        if link.listen in self.links:
            return
        self.links[link.listen] = link
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: self.accept(link), LOOPBACK, link.listen)
        self.servers.append(server)

    def accept(self, link: Link) -> Side:
        connection = Connection(link, 0)
        connection.near = Near(connection, self)
        return connection.near

    async def reach(self, connection: Connection) -> None:
        """Connect to the node; until then nothing is read from whoever called."""
        loop = asyncio.get_running_loop()
        try:
            await loop.create_connection(
                lambda: self._far(connection), LOOPBACK, connection.link.target
            )
        except OSError:
            connection.abort()
            return
        if connection.near and connection.near.transport:
            connection.near.transport.resume_reading()
        else:
            connection.abort()

    @staticmethod
    def _far(connection: Connection) -> Side:
        connection.far = Side(connection, is_near=False)
        return connection.far

    # Rules

    def find_sources(self, connections: set[Connection]) -> None:
        """Which node opened a connection: on loopback only the source port can tell."""
        unknown = {c.peer_port: c for c in connections if c.source is None}
        if not unknown:
            return
        import psutil  # only when a rule is set: it would lengthen every boot

        with contextlib.suppress(OSError, ValueError):
            nodes = json.loads(Path(self.config["state"]).read_text())["nodes"].values()
            for node in nodes:
                with contextlib.suppress(psutil.Error, KeyError):
                    for link in psutil.Process(node["pid"]).net_connections("tcp"):
                        if link.laddr.port in unknown and link.raddr:
                            if link.raddr.port == unknown[link.laddr.port].link.listen:
                                unknown[link.laddr.port].source = node["name"]

    def apply_rules(self, connections: set[Connection]) -> int:
        """Give connections the rules that cover them now; abort what is cut."""
        if self.rules:
            self.find_sources(connections)
        aborted = 0
        for connection in list(connections):
            had = connection.rules
            connection.rules = [rule for rule in self.rules.values() if rule.covers(connection)]
            # A stream that lost bytes is beyond repair once the rule that ate them is gone.
            spoiled = connection.swallowed_bytes and not connection.loses_replies
            if connection.is_cut or (spoiled and had):
                connection.abort()
                aborted += 1
        return aborted

    # Control

    async def control(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while line := await reader.readline():
                try:
                    request = json.loads(line)
                    if request.pop("token", None) != self.config["token"]:
                        raise PermissionError("wrong token")
                    reply = await self.obey(request)
                except Exception as error:
                    reply = {"error": f"{type(error).__name__}: {error}"}
                writer.write(json.dumps(reply).encode() + b"\n")
                await writer.drain()
        writer.close()

    async def obey(self, request: dict) -> dict:
        verb = request.pop("verb")
        if verb == "rule":
            rule = Rule(**request)
            self.rules[rule.id] = rule
            return {"aborted": self.apply_rules(self.connections)}
        if verb == "heal":
            wanted = request.get("ids")
            gone = [i for i in self.rules if wanted is None or i in wanted]
            for rule_id in gone:
                del self.rules[rule_id]
            return {"healed": gone, "aborted": self.apply_rules(self.connections)}
        if verb == "link":
            await self.add_link(Link(**request))
            return {}
        if verb == "list":
            self.find_sources(self.connections)
            return {
                "rules": [asdict(rule) for rule in self.rules.values()],
                "epmd": self.epmd.nodes,
                "connections": [
                    {"source": c.source, "node": c.link.node, "kind": c.link.kind}
                    for c in self.connections
                ],
            }
        raise ValueError(f"unknown verb {verb}")


class Near(Side):
    """The accepting side: it is registered, judged by the rules, then connected onwards."""

    def __init__(self, connection: Connection, proxy: Proxy) -> None:
        super().__init__(connection, is_near=True)
        self.proxy = proxy

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.connection.peer_port = transport.get_extra_info("peername")[1]
        self.transport.pause_reading()
        self.proxy.connections.add(self.connection)
        if self.proxy.rules:
            self.proxy.apply_rules({self.connection})
        if not self.connection.is_cut:
            task = asyncio.get_running_loop().create_task(self.proxy.reach(self.connection))
            task.add_done_callback(lambda done: done.exception())

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.proxy.connections.discard(self.connection)


def main() -> None:
    config = json.loads(Path(sys.argv[1]).read_text())
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(Proxy(config).serve())


if __name__ == "__main__":
    main()
