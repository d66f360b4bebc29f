"""One question to one broker.

A client library asks whichever broker it likes, follows redirects and retries. A lesson about a
broker that is cut off must ask exactly that broker and get exactly its answer, stale or not.
The bytes are kafka-python's; only the socket is ours.
"""

from __future__ import annotations

import socket
from typing import Any

from brokerlab.ports import LOOPBACK


def ask(port: int, request: Any, timeout_s: float = 2.0) -> Any:
    """Send `request` (a kafka-python message) to the broker on `port`; raise OSError on silence."""
    from kafka.protocol.parser import KafkaProtocol

    protocol = KafkaProtocol(client_id="brokerlab")
    protocol.send_request(request)
    with socket.create_connection((LOOPBACK, port), timeout_s) as link:
        link.settimeout(timeout_s)
        link.sendall(protocol.send_bytes())
        while True:
            data = link.recv(65_536)
            if not data:
                raise ConnectionResetError(f"the broker on port {port} closed the connection")
            if responses := protocol.receive_bytes(data):
                return responses[0][1]


def metadata(port: int, topics: list[str] | None, timeout_s: float = 2.0) -> Any:
    """The cluster as the broker on `port` sees it; no topics for an empty list."""
    from kafka.protocol.metadata import MetadataRequest

    wanted = None
    if topics is not None:
        wanted = [MetadataRequest.MetadataRequestTopic(name=topic) for topic in topics]
    request = MetadataRequest[9](
        topics=wanted,
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=False,
        include_topic_authorized_operations=False,
    )
    return ask(port, request, timeout_s)


def quorum(port: int, timeout_s: float = 2.0) -> Any:
    """The metadata quorum as the broker on `port` is told: leader, epoch, voters."""
    from kafka.protocol.admin.cluster import DescribeQuorumRequest

    topic = DescribeQuorumRequest.TopicData
    request = DescribeQuorumRequest[1](
        topics=[
            topic(
                topic_name="__cluster_metadata", partitions=[topic.PartitionData(partition_index=0)]
            )
        ]
    )
    return ask(port, request, timeout_s).topics[0].partitions[0]
