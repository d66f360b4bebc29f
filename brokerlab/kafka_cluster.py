"""The Kafka cluster as a lesson sees it: brokers, leaders, followers, in-sync replicas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from brokerlab import ask
from brokerlab.errors import LabError, NodeError, WaitTimeout
from brokerlab.nodes import process
from brokerlab.nodes.kafka import BrokerNode, ControllerNode, KafkaNode
from brokerlab.nodes.node import attach
from brokerlab.state import State
from brokerlab.waiting import wait_until


@dataclass(frozen=True)
class Partition:
    """One partition as the brokers describe it; ids are broker numbers."""

    topic: str
    partition: int
    leader: int | None
    epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


class KafkaCluster:
    """Three brokers and their quorum. Every answer is asked for anew, nothing is remembered."""

    def __init__(self, state: State) -> None:
        self.store = state

    # Nodes

    @property
    def nodes(self) -> list[KafkaNode]:
        entries = self.store.read()["nodes"].values()
        return [attach(self.store, e) for e in entries if e["kind"] in ("broker", "controller")]

    @property
    def brokers(self) -> list[BrokerNode]:
        return [node for node in self.nodes if isinstance(node, BrokerNode)]

    @property
    def controllers(self) -> list[ControllerNode]:
        """Controllers of their own; empty when the brokers are controllers too."""
        return [node for node in self.nodes if isinstance(node, ControllerNode)]

    def broker(self, node_id: int) -> BrokerNode:
        for node in self.brokers:
            if node.node_id == node_id:
                return node
        raise NodeError(f"There is no broker {node_id}; the lab has {[n.name for n in self.brokers]}.")

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"127.0.0.1:{node.port}" for node in self.brokers)

    @property
    def proxied_servers(self) -> str:
        """The same brokers through the proxy: for clients that a lesson cuts off."""
        links = [node.entry["links"].get("proxied") for node in self.brokers]
        if not all(links):
            raise LabError("The stock profile has no proxied listener. Use the lab profile.")
        return ",".join(f"127.0.0.1:{link}" for link in links)

    # Questions

    def answering(self) -> Iterator[BrokerNode]:
        """Brokers worth asking: alive, not frozen, not cut off."""
        faults = self.store.read()["faults"].values()
        cut = {f["node"] for f in faults if f["kind"] == "cut"}
        brokers = sorted(self.brokers, key=lambda node: node.name in cut)
        for node in brokers:
            found = process.find(node.entry)
            if found and not process.is_paused(found):
                yield node

    def partitions(self, topic: str, timeout_s: float = 30.0) -> list[Partition]:
        """All partitions of a topic, by the newest leader epoch any broker knows."""
        newest: dict[int, Partition] = {}

        def found() -> bool:
            for node in self.answering():
                for seen in self.view(node, topic):
                    known = newest.get(seen.partition)
                    if known is None or seen.epoch > known.epoch or known.leader is None:
                        newest[seen.partition] = seen
            return bool(newest)

        wait_until(found, timeout_s, f"a broker that knows the topic {topic}")
        return [newest[number] for number in sorted(newest)]

    def view(self, node: BrokerNode, topic: str) -> list[Partition]:
        """What this one broker believes; a broker that is cut off may believe old things."""
        try:
            reply = ask.metadata(node.port, [topic])
        except OSError:
            return []
        return [
            Partition(
                topic, p.partition_index, p.leader_id if p.leader_id >= 0 else None,
                p.leader_epoch, tuple(p.replica_nodes), tuple(p.isr_nodes),
            )
            for t in reply.topics if not t.error_code for p in t.partitions
        ]  # fmt: skip

    def partition(self, topic: str, partition: int = 0) -> Partition:
        for seen in self.partitions(topic):
            if seen.partition == partition:
                return seen
        raise LabError(f"The topic {topic} has no partition {partition}.")

    def leader(self, topic: str, partition: int = 0, timeout_s: float = 30.0) -> BrokerNode:
        """The broker that leads a partition; waits while there is none."""
        known = wait_until(
            lambda: self.partition(topic, partition).leader,
            timeout_s,
            f"a leader of {topic}-{partition}",
        )
        return self.broker(known)

    def followers(self, topic: str, partition: int = 0) -> list[BrokerNode]:
        seen = self.partition(topic, partition)
        return [self.broker(i) for i in seen.replicas if i != seen.leader]

    def isr(self, topic: str, partition: int = 0) -> list[BrokerNode]:
        return [self.broker(i) for i in self.partition(topic, partition).isr]

    def controller(self, timeout_s: float = 30.0) -> KafkaNode:
        """The node that leads the metadata quorum."""
        node_id = wait_until(self.quorum_leader, timeout_s, "a leader of the metadata quorum")
        return next(node for node in self.nodes if node.node_id == node_id)

    def quorum_leader(self) -> int | None:
        """The number of the node that leads the metadata quorum, by the newest epoch known."""
        newest = (-1, None)
        for node in self.answering():
            try:
                seen = ask.quorum(node.port)
            except OSError:
                continue
            if not seen.error_code and seen.leader_id > 0:
                newest = max(newest, (seen.leader_epoch, seen.leader_id))
        return newest[1]

    def leads(self) -> dict[int, int]:
        """How many partitions each broker leads; empty when no broker answers."""
        counts: dict[int, int] = {}
        for node in self.answering():
            try:
                reply = ask.metadata(node.port, None)
            except OSError:
                continue
            counts = dict.fromkeys((broker.node_id for broker in reply.brokers), 0)
            for topic in reply.topics:
                for partition in topic.partitions:
                    if partition.leader_id in counts:
                        counts[partition.leader_id] += 1
            break
        return counts

    # Waiting

    def wait_until_ready(self, timeout_s: float = 90.0) -> KafkaCluster:
        """Every broker that should run sees all the others, and the quorum has a leader."""
        wanted = [n for n in self.brokers if n.entry.get("wanted") != "stopped"]
        ids = {node.node_id for node in wanted}
        waiting = {node.name: node for node in wanted}

        def ready() -> bool:
            for node in list(waiting.values()):
                if process.find(node.entry) is None:
                    node._ready_or_dead()
                if not sees(node, ids):
                    return False
                del waiting[node.name]
            return self.quorum_leader() is not None

        try:
            wait_until(ready, timeout_s, "all brokers to see each other", poll_s=0.02)
        except WaitTimeout as error:
            raise NodeError(
                f"{', '.join(waiting) or 'The quorum'} not ready after {timeout_s:g} s; "
                f"`brokerlab logs {next(iter(waiting), 'broker-1')}` shows why."
            ) from error
        return self

    def wait_until_in_sync(self, topic: str, timeout_s: float = 60.0) -> None:
        """Every replica of every partition is back in the in-sync set."""

        def whole() -> bool:
            return all(
                p.leader is not None and set(p.isr) == set(p.replicas)
                for p in self.partitions(topic)
            )

        wait_until(whole, timeout_s, f"all replicas of {topic} to be in sync")


def sees(node: BrokerNode, ids: set[int]) -> bool:
    """The broker itself lists all brokers as alive."""
    try:
        reply = ask.metadata(node.port, [])
    except OSError:
        return False
    return ids <= {broker.node_id for broker in reply.brokers}
