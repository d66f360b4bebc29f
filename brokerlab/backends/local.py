"""The local backend: every node a process of this user, on loopback, without Docker."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable

from brokerlab import archives, faults, toolchain
from brokerlab.errors import LabError, NodeError, PortError
from brokerlab.kafka_cluster import KafkaCluster
from brokerlab.nodes import kafka, process
from brokerlab.nodes.node import Node, attach
from brokerlab.ports import choose, is_free, owner_of
from brokerlab.proxy.control import ProxyControl
from brokerlab.state import State

SERVICES = ("kafka", "rabbitmq", "spark")
BROKERS = 3
FIRST_PORT = 9092
BROKER_PORTS = ["client", "proxied", "repl", "controller"]
LINK_PORTS = ["link_proxied", "link_repl", "link_controller"]


class LocalBackend:
    name = "local"

    def __init__(self, state: State, progress: Callable[[str], None] = toolchain.quiet) -> None:
        self.store = state
        self.progress = progress
        self.proxy = ProxyControl(state)
        self.started: list[Node] = []

    # Up

    def up(self, services: tuple[str, ...], profile: str | None, controllers: str | None) -> None:
        """Start what is missing of the lab, in parallel, and wait until all of it answers."""
        try:
            self._start(services, profile, controllers)
        except BaseException:
            # A half-started lab helps nobody: what this call started goes, the rest stays.
            for node in self.started:
                with contextlib.suppress(LabError):
                    node.stop(graceful=False)
            raise

    def _start(
        self, services: tuple[str, ...], profile: str | None, controllers: str | None
    ) -> None:
        self.heal(with_unowned=True)
        waiting: list[Callable[[], object]] = []
        if "kafka" in services:
            waiting += self._start_kafka(profile, controllers)
        if "spark" in services and not os.environ.get("SPARK_REMOTE"):
            waiting += self._start_spark()
        if "rabbitmq" in services:
            waiting += self._start_rabbitmq()
        for wait in waiting:
            wait()

    def _start_kafka(self, profile: str | None, controllers: str | None) -> list[Callable]:
        entries = [
            e for e in self.store.read()["nodes"].values() if e["kind"] in ("broker", "controller")
        ]
        if entries and self._differs(entries, profile, controllers):
            self.progress("stopping the cluster that runs with other settings")
            self.remove([attach(self.store, entry) for entry in entries])
            entries = []
        toolchain.jar_set("kafka", self.progress)
        archives.ensure_broker_archive(self.progress)
        if not entries:
            planned = self.plan_kafka(profile or "lab", controllers or "combined")
            entries = [node.entry for node in planned]
        elif not any(process.find(entry) for entry in entries):
            self._move_taken_ports(entries)
        self.proxy.start([link for entry in entries for link in kafka.links_of(entry)])
        # Controllers first: brokers ask for them at once.
        nodes = [attach(self.store, entry) for entry in entries]
        nodes.sort(key=lambda node: node.kind != "controller")
        if self.launch(nodes):
            self.progress(f"starting {', '.join(n.name for n in nodes)}")
            return [self.proxy.wait_until_ready, KafkaCluster(self.store).wait_until_ready]
        return []

    @staticmethod
    def _differs(entries: list[dict], profile: str | None, controllers: str | None) -> bool:
        isolated = any(entry["kind"] == "controller" for entry in entries)
        runs_as = "isolated" if isolated else "combined"
        return (profile or entries[0]["profile"]) != entries[0]["profile"] or (
            controllers or runs_as
        ) != runs_as

    def plan_kafka(self, profile: str, controllers: str) -> list[Node]:
        """The nodes of a new cluster, not started yet."""
        base = first_port()
        ports: dict[str, dict[str, int]] = {}
        link_ports = LINK_PORTS if profile == "lab" else []
        isolated = controllers == "isolated"
        for number in range(1, BROKERS + 1):
            names = (BROKER_PORTS[:3] if isolated else BROKER_PORTS) + link_ports
            if isolated:
                names = [name for name in names if name != "link_controller"]
            wishes = [base + number - 1] + [None] * (len(names) - 1)
            ports[f"broker-{number}"] = dict(zip(names, choose(wishes), strict=True))
        for number in range(1, BROKERS + 1 if isolated else 1):
            names = ["controller"] + [n for n in link_ports if n == "link_controller"]
            chosen = choose([None] * len(names))
            ports[f"controller-{number}"] = dict(zip(names, chosen, strict=True))
        entries = kafka.plan(self.store, ports, profile=profile, controllers=controllers)
        for entry in entries:
            # The seat of a cluster that was taken down may hold another cluster's data.
            shutil.rmtree(self.store.home / "nodes" / entry["name"], ignore_errors=True)
            self.store.put_node(entry)
        return [attach(self.store, entry) for entry in entries]

    def _move_taken_ports(self, entries: list[dict]) -> None:
        """A cluster that was down may find its ports taken; nobody is connected, so it moves."""
        for entry in entries:
            for room in ("ports", "links"):
                for name, port in entry[room].items():
                    if not is_free(port) and not (room == "links" and self.proxy.is_alive()):
                        (entry[room][name],) = choose([None])
        voters = kafka.voters_of(entries)
        for entry in entries:
            entry["voters"] = voters
            self.store.put_node(entry)

    def _start_spark(self) -> list[Callable]:
        toolchain.jar_set("spark", self.progress)
        node = self._single("spark", "spark", lambda: {"connect": choose([15002])[0]})
        if self.launch([node]):
            self.progress("starting spark")
            return [node.wait_until_ready]
        return []

    def _start_rabbitmq(self) -> list[Callable]:
        from brokerlab.rabbit_cluster import RabbitCluster

        rabbit = RabbitCluster(self.store, self.proxy)
        fresh = rabbit.start()
        self.started += fresh
        if fresh:
            self.progress("starting " + ", ".join(node.name for node in fresh))
            return [rabbit.wait_until_ready]
        return []

    def start_jupyter(self, root: str, opens: str) -> Node:
        node = self._single("jupyter", "jupyter", lambda: {"http": choose([8888])[0]})
        node.entry.update(root=root, opens=opens)
        if self.launch([node]):
            self.progress("starting jupyter")
        node.wait_until_ready()
        return node

    def _single(self, name: str, kind: str, ports: Callable[[], dict[str, int]]) -> Node:
        """The node of a kind that exists once: as the state knows it, or new."""
        entry = self.store.read()["nodes"].get(name)
        if entry is None or (
            process.find(entry) is None and not all(is_free(p) for p in entry["ports"].values())
        ):
            entry = {"name": name, "kind": kind, "ports": ports(), "backend": self.name}
        return attach(self.store, entry)

    def launch(self, nodes: list[Node]) -> bool:
        """Start those that do not run; remember them, so that a failure can take them back."""
        idle = [node for node in nodes if process.find(node.entry) is None]
        for node in idle:
            node.start()
            self.started.append(node)
        return bool(idle)

    # Heal, stop, forget

    def heal(self, with_unowned: bool) -> list[str]:
        """End what a dead owner left behind; also frozen processes that no fault explains."""
        healed = faults.heal_faults(self.store, faults.abandoned(self.store, with_unowned))
        data = self.store.read()
        explained = {fault["node"] for fault in data["faults"].values()}
        for name, entry in data["nodes"].items():
            found = process.find(entry)
            if found and process.is_paused(found) and name not in explained and with_unowned:
                process.resume(entry)
                healed.append(f"pause-{name}")
        if not data["faults"]:
            self.proxy.heal()
        return healed

    def remove(self, nodes: list[Node]) -> None:
        """Stop nodes quickly and forget them; the data of a course is disposable."""
        for node in nodes:
            node.stop(graceful=False)
            node.clean()
        with self.store.edit() as data:
            for node in nodes:
                data["nodes"].pop(node.name, None)

    def down(self, graceful: bool = False) -> list[str]:
        """Stop every process of this lab, also those the state does not know."""
        data = self.store.read()
        stopped = []
        for name, entry in data["nodes"].items():
            if process.find(entry):
                attach(self.store, entry).stop(graceful=graceful or entry["kind"] == "jupyter")
                stopped.append(name)
        if self.proxy.is_alive():
            self.proxy.stop()
        for stray in process.strays(self.store.home):
            with contextlib.suppress(Exception):
                stray.kill()
                stopped.append(f"pid {stray.pid}")
        with self.store.edit() as data:
            data["faults"].clear()
        return stopped

    def reset(self, services: tuple[str, ...] = SERVICES) -> None:
        """Back to empty: no topics, no groups, no queues; the same ports."""
        faults.heal_faults(self.store, list(self.store.read()["faults"]))
        nodes = KafkaCluster(self.store).nodes
        self.progress("emptying the brokers")
        for node in nodes:
            node.stop(graceful=False)
        cluster_id = toolchain.new_cluster_id()
        for node in nodes:
            node.wipe()
            node.entry["cluster_id"] = cluster_id
            node.remember()
        if any(e["kind"] == "rabbitmq" for e in self.store.read()["nodes"].values()):
            from brokerlab.rabbit_cluster import RabbitCluster

            RabbitCluster(self.store, self.proxy).reset()
        self.up(services, None, None)

    def node(self, name: str) -> Node:
        nodes = self.store.read()["nodes"]
        if name not in nodes:
            have = ", ".join(nodes) or "none: `brokerlab up` starts them"
            raise NodeError(f"There is no node {name!r}; nodes of this lab: {have}.")
        return attach(self.store, nodes[name])


def first_port() -> int:
    """BROKERLAB_PORT, when set, is an order and not a wish."""
    chosen = os.environ.get("BROKERLAB_PORT")
    if not chosen:
        return FIRST_PORT
    if not chosen.isdigit() or not 1024 <= int(chosen) <= 65_000:
        raise PortError(f"BROKERLAB_PORT={chosen} is not a port between 1024 and 65000.")
    for port in range(int(chosen), int(chosen) + BROKERS):
        if not is_free(port):
            raise PortError(
                f"Port {port} is taken by {owner_of(port)}. Stop it, or set BROKERLAB_PORT elsewhere."
            )
    return int(chosen)
