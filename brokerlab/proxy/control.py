"""Starting the proxy and telling it what to do."""

from __future__ import annotations

import json
import os
import secrets
import socket
import sys
from dataclasses import asdict

from brokerlab.errors import FaultError, LabError, NodeError
from brokerlab.nodes import process
from brokerlab.ports import LOOPBACK, choose
from brokerlab.proxy.wire import Link, Rule
from brokerlab.state import State, ensure_folder, write_json
from brokerlab.waiting import wait_until

NAME = "proxy"


class ProxyControl:
    """The proxy of one lab: a helper process, not a node that a lesson breaks."""

    def __init__(self, state: State) -> None:
        self.store = state
        self.folder = state.home / "nodes" / NAME
        self.config_file = self.folder / "proxy.json"

    @property
    def entry(self) -> dict | None:
        return self.store.read()["helpers"].get(NAME)

    def is_alive(self) -> bool:
        entry = self.entry
        return bool(entry and process.find(entry))

    def config(self) -> dict:
        try:
            return json.loads(self.config_file.read_text())
        except (OSError, ValueError):
            control, epmd = choose([None, None])
            return {
                "control_port": control,
                "epmd_port": epmd,
                "token": secrets.token_hex(16),
                "links": [],
                "state": str(self.store.path),
            }

    def start(self, links: list[Link] | None = None) -> None:
        """Start the proxy, or add links to the one that runs; a dead one comes back as it was."""
        config = self.config()
        if not self.is_alive():
            # Ports may have moved while everything was down: the nodes' links replace their old ones.
            moved = {link.node for link in links or []}
            config["links"] = [link for link in config["links"] if link["node"] not in moved]
        known = {link["listen"] for link in config["links"]}
        fresh = [link for link in links or [] if link.listen not in known]
        config["links"] += [asdict(link) for link in fresh]
        ensure_folder(self.folder)
        write_json(self.config_file, config)
        if self.is_alive():
            for link in fresh:
                self.ask("link", **asdict(link))
            return
        marker = f"brokerlab.node={self.folder}"
        argv = [sys.executable, "-m", "brokerlab.proxy.server", str(self.config_file), marker]
        log = self.folder / "proxy.log"
        env = {**os.environ, "PYTHONUNBUFFERED": "1"}
        found = process.spawn(argv, folder=self.folder, log=log, marker=marker, env=env)
        ports = {"control": config["control_port"], "epmd": config["epmd_port"]}
        entry = {"name": NAME, "kind": NAME, "ports": ports, "wanted": "running", **found}
        self.store.put_node(entry, room="helpers")

    def wait_until_ready(self) -> None:
        def answers() -> bool:
            if not self.is_alive():
                log = self.folder / "proxy.log"
                raise NodeError(f"The lab's proxy died; {log} says:\n{process.tail(log)}")
            try:
                self.ask("list")
            except OSError:
                return False
            return True

        wait_until(answers, 20, "the lab's proxy to answer", poll_s=0.02)

    def stop(self) -> None:
        if entry := self.entry:
            process.kill(entry)

    def ask(self, verb: str, **arguments: object) -> dict:
        config = self.config()
        line = json.dumps({"verb": verb, "token": config["token"], **arguments}) + "\n"
        with socket.create_connection((LOOPBACK, config["control_port"]), timeout=10) as link:
            link.sendall(line.encode())
            reply = json.loads(link.makefile().readline() or "{}")
        if "error" in reply:
            raise LabError(f"The lab's proxy refused: {reply['error']}")
        return reply

    def apply(self, rule: Rule) -> dict:
        try:
            return self.ask("rule", **asdict(rule))
        except OSError as error:
            raise FaultError(
                f"The lab's proxy does not answer, so {rule.node} cannot be cut off. "
                "`brokerlab up` starts it again."
            ) from error

    def heal(self, ids: list[str] | None = None) -> list[str]:
        """Remove rules; without `ids`, all of them. A dead proxy has no rules."""
        if not self.is_alive():
            return []
        return self.ask("heal", ids=ids)["healed"]
