"""The lab: everything that runs for one person, and what a notebook asks of it.

    lab = brokerlab.up()
    lab.kafka.leader(topic)      a node, with verbs
    lab.rabbitmq                 the RabbitMQ cluster
    lab.spark                    a Spark session
    lab.topic("orders")          a new topic under a fresh name
"""

from __future__ import annotations

import functools
import html
import os
import uuid
from collections.abc import Callable
from typing import Any

from brokerlab import toolchain
from brokerlab.backends.local import SERVICES, LocalBackend
from brokerlab.errors import LabError
from brokerlab.kafka_cluster import KafkaCluster
from brokerlab.nodes.node import Node, attach
from brokerlab.state import State, ensure_folder, locked
from brokerlab.waiting import wait_until


def up(
    *,
    profile: str | None = None,
    controllers: str | None = None,
    services: tuple[str, ...] = SERVICES,
    progress: Callable[[str], None] | None = None,
) -> Lab:
    """Start the lab, or attach to the one that runs; heal what a dead notebook left broken."""
    state = State()
    ensure_folder(state.home)
    backend = LocalBackend(state, progress or toolchain.quiet)
    with locked(state.home / "up.lock"):
        backend.up(tuple(services), profile, controllers)
        with state.edit() as data:
            data["backend"] = backend.name
    return Lab(state)


def attached() -> Lab:
    """The lab as it is now, nothing started and nothing healed."""
    return Lab(State())


class Lab:
    def __init__(self, state: State) -> None:
        self.store = state
        self.backend = LocalBackend(state)
        self.kafka = KafkaCluster(state)

    # Addresses

    @property
    def bootstrap_servers(self) -> str:
        return self.kafka.bootstrap_servers

    @functools.cached_property
    def rabbitmq(self):
        from brokerlab.rabbit_cluster import RabbitCluster

        return RabbitCluster(self.store, self.backend.proxy)

    @property
    def amqp_url(self) -> str | None:
        return self.rabbitmq.amqp_url if self._has("rabbitmq") else None

    @property
    def spark_remote(self) -> str | None:
        if chosen := os.environ.get("SPARK_REMOTE"):
            return chosen
        return self.node("spark").remote if self._has("spark") else None

    @functools.cached_property
    def spark(self):
        """A Spark session on the lab's server, or on SPARK_REMOTE."""
        from brokerlab.nodes.spark import session

        if not self.spark_remote:
            raise LabError("This lab has no Spark. `brokerlab up` starts it.")
        return session(self.spark_remote)

    # Nodes

    @property
    def nodes(self) -> list[Node]:
        return [attach(self.store, entry) for entry in self.store.read()["nodes"].values()]

    def node(self, name: str) -> Node:
        return self.backend.node(name)

    def _has(self, kind: str) -> bool:
        return any(e["kind"] == kind for e in self.store.read()["nodes"].values())

    # What a lesson makes

    def topic(
        self, name: str, partitions: int = 1, replicas: int = 3, **config: object
    ) -> str:
        """Create a topic under a fresh name and wait until every broker knows its leaders.

        `config` takes topic settings with underscores: `min_insync_replicas=2`.
        """
        from kafka.admin import KafkaAdminClient, NewTopic

        fresh = self.fresh(name)
        settings = {key.replace("_", "."): str(value) for key, value in config.items()}
        admin = KafkaAdminClient(bootstrap_servers=self.bootstrap_servers.split(","))
        try:
            admin.create_topics(
                [NewTopic(fresh, partitions, replicas, topic_configs=settings)]
            )
        finally:
            admin.close()
        self._wait_for_topic(fresh, partitions)
        return fresh

    def _wait_for_topic(self, name: str, partitions: int) -> None:
        def known_everywhere() -> bool:
            views = [self.kafka.view(node, name) for node in self.kafka.answering()]
            return all(
                len(view) == partitions and all(p.leader and p.isr == p.replicas for p in view)
                for view in views
            )

        wait_until(known_everywhere, 30, f"all brokers to know the topic {name}")

    def group(self, name: str = "group") -> str:
        """A fresh consumer group name."""
        return self.fresh(name)

    @staticmethod
    def fresh(name: str) -> str:
        return f"{name}-{uuid.uuid4().hex[:6]}"

    # The whole

    def start_jupyter(self, progress: Callable[[str], None] = toolchain.quiet) -> Node:
        """JupyterLab on the learner's working copies, opened at the first notebook."""
        from brokerlab import workcopies

        root = workcopies.make_copies(self.store.home)
        first = workcopies.notebook_path("00")
        self.backend.progress = progress
        with locked(self.store.home / "up.lock"):
            return self.backend.start_jupyter(str(root), f"notebooks/{first.name}")

    def down(self) -> list[str]:
        return self.backend.down()

    def status(self) -> dict[str, Any]:
        """What `brokerlab status --json` prints."""
        data = self.store.read()
        jupyter = data["nodes"].get("jupyter")
        runs = jupyter and self.node("jupyter").pid
        return {
            "backend": data["backend"],
            "nodes": [node.describe() for node in self.nodes],
            "bootstrap_servers": self.bootstrap_servers or None,
            "amqp_url": self.amqp_url,
            "spark_remote": self.spark_remote,
            "jupyter_url": self.node("jupyter").url if runs else None,
        }

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(node.name)}</td><td>{node.state}</td>"
            f"<td>127.0.0.1:{node.port}</td></tr>"
            for node in self.nodes
        )
        return (
            "<table><thead><tr><th>node</th><th>state</th><th>address</th></tr></thead>"
            f"<tbody>{rows}</tbody></table>"
        )

    def __repr__(self) -> str:
        return "\n".join(f"{n.name:<14}{n.state:<9}127.0.0.1:{n.port}" for n in self.nodes)
