"""A node: one real server process and its verbs `start stop kill pause resume`.

A node is made from its entry in the state, so that any process (a notebook, the command
line, a test) can attach to a node that another one started.
"""

from __future__ import annotations

import importlib
import os
import shutil
import signal
from typing import Any

import psutil

from brokerlab.errors import NodeError
from brokerlab.nodes import process
from brokerlab.ports import require_free
from brokerlab.state import State, ensure_folder
from brokerlab.waiting import wait_until

_kinds: dict[str, type[Node]] = {}
# Loaded when a node of that kind is met: a question to a broker should not pay for the others.
_modules = {
    "broker": "kafka",
    "controller": "kafka",
    "rabbitmq": "rabbitmq",
    "spark": "spark",
    "jupyter": "jupyter",
}


def attach(state: State, entry: dict) -> Node:
    """The node that an entry of the state describes."""
    importlib.import_module(f"brokerlab.nodes.{_modules[entry['kind']]}")
    return _kinds[entry["kind"]](state, entry)


class Node:
    kind = ""
    #: seconds a node may take from start to ready on a busy two-core machine
    ready_timeout_s = 90.0
    #: seconds it gets to stop cleanly before it is killed
    stop_timeout_s = 20.0

    def __init_subclass__(cls) -> None:
        if cls.kind:
            _kinds[cls.kind] = cls

    def __init__(self, state: State, entry: dict) -> None:
        self.store = state
        self.entry = entry
        self.name: str = entry["name"]
        self.folder = state.home / "nodes" / self.name
        self.log = self.folder / f"{self.name}.log"

    # What a kind of node has to say about itself

    def prepare(self) -> None:
        """Write the node's files; called before every start."""

    def argv(self) -> list[str]:
        raise NotImplementedError

    def env(self) -> dict[str, str]:
        return dict(os.environ)

    def is_ready(self) -> bool:
        """One real question to the server; never only whether a port is open."""
        raise NotImplementedError

    # Verbs

    @property
    def marker(self) -> str:
        return f"brokerlab.node={self.folder}"

    @property
    def port(self) -> int:
        return next(iter(self.entry["ports"].values()))

    def start(self) -> Node:
        """Start the process; `wait_until_ready` tells when it answers."""
        self.refresh()
        if process.find(self.entry):
            return self
        ensure_folder(self.folder)
        for port in self.entry["ports"].values():
            require_free(port, self.name)
        self.prepare()
        found = process.spawn(
            self.argv(), folder=self.folder, log=self.log, marker=self.marker, env=self.env()
        )
        self.entry.update(found, wanted="running")
        self.remember()
        return self

    def wait_until_ready(self, timeout_s: float | None = None) -> Node:
        limit_s = timeout_s or self.ready_timeout_s
        wait_until(self._ready_or_dead, limit_s, f"{self.name} to answer (its log: {self.log})")
        return self

    def _ready_or_dead(self) -> bool:
        if process.find(self.entry) is None:
            raise NodeError(
                f"{self.name} died while starting; the end of {self.log} says:\n"
                f"{process.tail(self.log)}"
            )
        return self.is_ready()

    def stop(self, graceful: bool = True) -> None:
        """End the process and keep its data; `graceful` lets it say goodbye to its cluster."""
        self.refresh()
        self.entry["wanted"] = "stopped"
        self.remember()
        process.resume(self.entry)
        if graceful:
            process.terminate(self.entry, self.stop_timeout_s)
        else:
            process.kill(self.entry)

    def kill(self) -> None:
        """kill -9: no goodbye, no flush."""
        self.refresh()
        if not process.find(self.entry):
            raise NodeError(f"{self.name} is not running, so it cannot be killed.")
        process.kill(self.entry)

    def pause(self) -> None:
        """Freeze the process (SIGSTOP): it keeps its connections and says nothing."""
        self.refresh()
        process.pause(self.entry, self.name)

    def resume(self) -> None:
        self.refresh()
        process.resume(self.entry)

    def clean(self) -> None:
        """Delete the node's folder; only a stopped node can be cleaned."""
        if process.find(self.entry):
            raise NodeError(f"{self.name} is running: stop it before its data is deleted.")
        shutil.rmtree(self.folder, ignore_errors=True)

    # Questions

    @property
    def state(self) -> str:
        self.refresh()
        found = process.find(self.entry)
        if found is None:
            return "stopped" if self.entry.get("wanted") == "stopped" else "dead"
        if process.is_paused(found):
            return "paused"
        faults = self.store.read()["faults"].values()
        cut = any(f["node"] == self.name and f["kind"] == "cut" for f in faults)
        return "cut" if cut else "running"

    @property
    def process(self) -> psutil.Process | None:
        return process.find(self.entry)

    @property
    def pid(self) -> int | None:
        found = self.process
        return found.pid if found else None

    @property
    def rss_mb(self) -> float:
        found = self.process
        return process.rss_mb(found) if found else 0.0

    # Memory

    def refresh(self) -> None:
        """Take what another process may have changed: a restart gives a node a new pid."""
        known = self.store.read()["nodes"].get(self.name)
        if known:
            self.entry.update(known)

    def remember(self) -> None:
        self.store.put_node(self.entry)

    def signal(self, signum: signal.Signals) -> bool:
        return process.send(self.entry, signum)

    def describe(self) -> dict[str, Any]:
        """The row that `brokerlab status --json` prints."""
        return {
            "name": self.name,
            "kind": self.kind,
            "pid": self.pid,
            "port": self.port,
            "state": self.state,
            "rss_mb": self.rss_mb,
        }

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name} {self.state} on 127.0.0.1:{self.port}>"
