"""Faults: something bad done to a node for the length of a `with` block.

    with paused(kafka.followers("orders")):
        ...                                  # frozen here
                                             # running again, whatever happened above

A fault is written into the state before it acts and taken out after it is healed. Its owner is
the process that asked for it: when the owner dies inside the block, the next `up`, `status` or
`down` heals what it left. A fault of the command line has no owner and lasts until it is healed.
"""

from __future__ import annotations

import contextlib
import os
import time
import uuid
from collections.abc import Callable, Iterator

import psutil

from brokerlab.errors import FaultError, LabError
from brokerlab.nodes import process
from brokerlab.nodes.node import Node, attach
from brokerlab.proxy.control import ProxyControl
from brokerlab.proxy.wire import Rule
from brokerlab.state import State

LINKS = ("peers", "clients", "all")
DIRECTIONS = ("both", "replies")
#: called with {"f", "node", "type", "time"} at the start and the end of every fault
observers: list[Callable[[dict], None]] = []


@contextlib.contextmanager
def killed(*nodes: Node | list) -> Iterator[None]:
    """kill -9; started again, and ready, at the end of the block."""
    with _during("kill", nodes):
        yield


@contextlib.contextmanager
def paused(*nodes: Node | list) -> Iterator[None]:
    """Frozen by SIGSTOP: connected, silent, unaware."""
    with _during("pause", nodes):
        yield


@contextlib.contextmanager
def cut(*nodes: Node | list, links: str = "peers", direction: str = "both") -> Iterator[None]:
    """The network around a node is gone.

    `peers` separates it from the other nodes while clients still reach it; `clients` separates
    clients that came through the proxy; `direction="replies"` lets requests in and loses answers.
    """
    with _during("cut", nodes, links=links, direction=direction):
        yield


@contextlib.contextmanager
def slowed(*nodes: Node | list, latency_ms: float = 100, links: str = "peers") -> Iterator[None]:
    """Every message from and to the node is late by `latency_ms`, each way."""
    with _during("slow", nodes, links=links, latency_ms=latency_ms):
        yield


@contextlib.contextmanager
def _during(kind: str, nodes: tuple, **options: object) -> Iterator[None]:
    flat = [n for item in nodes for n in (item if isinstance(item, list | tuple) else [item])]
    begun: list[tuple[Node, str]] = []
    try:
        for node in flat:
            begun.append((node, begin(node, kind, owner=os.getpid(), **options)))
        yield
    finally:
        heal_faults(flat[0].store, [fault for _, fault in begun]) if begun else None


# What the context managers and the command line share


def begin(node: Node, kind: str, owner: int | None = None, **options: object) -> str:
    """Do a fault; return its id. It is in the state before anything happens to the node."""
    check_options(node, kind, options)
    fault_id = f"{kind}-{node.name}-{uuid.uuid4().hex[:8]}"
    whose = {"pid": owner, "created": psutil.Process(owner).create_time()} if owner else None
    record = {"node": node.name, "kind": kind, "options": options, "owner": whose}
    with node.store.edit() as data:
        data["faults"][fault_id] = {**record, "time": time.time_ns()}
    try:
        _act(node, kind, fault_id, options)
    except BaseException:
        _forget(node.store, [fault_id])
        raise
    _tell(kind, node.name, "start")
    return fault_id


def check_options(node: Node, kind: str, options: dict) -> None:
    if kind in ("cut", "slow"):
        if options.get("links", "peers") not in LINKS:
            raise FaultError(f"links={options['links']!r}: choose one of {', '.join(LINKS)}.")
        if options.get("direction", "both") not in DIRECTIONS:
            raise FaultError(f"direction={options['direction']!r}: choose both or replies.")
        if not node.entry.get("links"):
            raise FaultError(
                f"The links of {node.name} do not pass through the lab's proxy, so they cannot "
                "be cut or slowed. Kill or pause it instead (the lab profile has the proxy)."
            )
    if kind == "slow" and not 0 < float(options["latency_ms"]) <= 60_000:
        raise FaultError("latency_ms must be above 0 and at most 60000.")


def _act(node: Node, kind: str, fault_id: str, options: dict) -> None:
    if kind == "kill":
        node.kill()
    elif kind == "pause":
        node.pause()
    elif kind in ("cut", "slow"):
        ProxyControl(node.store).apply(Rule(fault_id, node.name, **options))
    else:
        raise FaultError(f"There is no fault {kind!r}: kill, pause, cut or slow.")


def heal_faults(state: State, ids: list[str]) -> list[str]:
    """Undo faults, all of them even when one cannot be undone; return what was healed."""
    faults = {i: f for i, f in state.read()["faults"].items() if i in ids}
    if not faults:
        return []
    errors: list[LabError] = []
    rules = [i for i, f in faults.items() if f["kind"] in ("cut", "slow")]
    if rules:
        ProxyControl(state).heal(rules)
    started = []
    for fault in faults.values():
        try:
            started += _undo(state, fault)
        except LabError as error:
            errors.append(error)
    for node in started:
        try:
            node.wait_until_ready()
        except LabError as error:
            errors.append(error)
    _forget(state, list(faults))
    for fault in faults.values():
        _tell(fault["kind"], fault["node"], "stop")
    if errors:
        raise FaultError("; ".join(str(error) for error in errors))
    return list(faults)


def _undo(state: State, fault: dict) -> list[Node]:
    entry = state.read()["nodes"].get(fault["node"])
    if entry is None:
        return []
    node = attach(state, entry)
    if fault["kind"] == "pause":
        node.resume()
    if fault["kind"] == "kill" and entry.get("wanted") != "stopped":
        return [node.start()]
    return []


def heal_node(node: Node) -> list[str]:
    """`brokerlab fault heal NODE`: end its faults; a dead or stopped node starts again."""
    ids = [i for i, f in node.store.read()["faults"].items() if f["node"] == node.name]
    healed = heal_faults(node.store, ids)
    if node.state == "paused":
        node.resume()
        healed.append(f"pause-{node.name}")
    if node.state in ("dead", "stopped"):
        node.start().wait_until_ready()
        healed.append(f"start-{node.name}")
    return healed


def abandoned(state: State, with_unowned: bool) -> list[str]:
    """Faults whose owner is gone; `with_unowned` adds those of the command line."""
    return [
        fault_id
        for fault_id, fault in state.read()["faults"].items()
        if (with_unowned if fault["owner"] is None else not _lives(fault["owner"]))
    ]


def _lives(owner: dict) -> bool:
    with contextlib.suppress(psutil.Error):
        found = psutil.Process(owner["pid"])
        same = abs(found.create_time() - owner["created"]) < process.START_TIME_SLACK_S
        return same and found.status() != psutil.STATUS_ZOMBIE
    return False


def _forget(state: State, ids: list[str]) -> None:
    with state.edit() as data:
        for fault_id in ids:
            data["faults"].pop(fault_id, None)


def _tell(kind: str, node: str, edge: str) -> None:
    for observer in list(observers):
        observer({"f": kind, "node": node, "type": edge, "time": time.time_ns()})
