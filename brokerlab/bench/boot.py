"""How long until three brokers are ready: the lab's way against Kafka's stock way.

stock   `StorageTool format` for each node, then `-Xms1G -Xmx1G` and G1 as Kafka's scripts set
        them, Kafka's own timeouts
lab     what `brokerlab up` does for Kafka, proxy included

Both are judged by the same ready test, and take turns, so that a slow minute hits both.
"""

from __future__ import annotations

import contextlib
import os
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from brokerlab import archives, toolchain
from brokerlab.backends.local import LocalBackend
from brokerlab.kafka_cluster import KafkaCluster
from brokerlab.state import State, cache

# Lines of broker-1's log that end a phase of its boot, in order.
PHASES = {
    "the JVM starts and Kafka says its first word": r"",
    "the node takes part in the quorum": r"Completed transition to (Leader|Follower)State",
    "the broker is registered": r"Successfully registered broker",
    "the broker has caught up with the metadata": r"The broker has caught up",
    "the broker is unfenced": r"The broker has been unfenced",
}


def run(runs: int, progress: Callable[[str], None]) -> dict:
    archives.ensure_broker_archive(progress)
    stock, lab, formats, memory, phases = [], [], [], [], []
    for number in range(1, runs + 1):
        took, format_s = stock_boot()
        stock.append(took)
        formats.append(format_s)
        took, rss_mb, seen = lab_boot()
        lab.append(took)
        memory.append(rss_mb)
        phases.append(seen)
        progress(f"run {number} of {runs}: stock {stock[-1]:.2f} s, lab {lab[-1]:.2f} s")
    middle = statistics.median
    return {
        "stock_s": round(middle(stock), 3),
        "lab_s": round(middle(lab), 3),
        "ratio": round(middle(lab) / middle(stock), 3),
        "rss_mb": round(middle(memory), 1),
        "stock_format_s": round(middle(formats), 3),
        "runs": {"stock_s": [round(s, 3) for s in stock], "lab_s": [round(s, 3) for s in lab]},
        "lab_phases_s": {
            name: round(middle(p[name] for p in phases), 3)
            for name in phases[0]
            if all(name in p for p in phases)
        },
    }


@contextlib.contextmanager
def scratch_lab() -> Iterator[LocalBackend]:
    """A home that lives for one boot; the cache stays the user's."""
    cached = os.environ.get("BROKERLAB_CACHE")
    os.environ["BROKERLAB_CACHE"] = str(cache())
    with tempfile.TemporaryDirectory(prefix="brokerlab-boot-") as folder:
        backend = LocalBackend(State(Path(folder)))
        try:
            yield backend
        finally:
            backend.down()
            if cached is None:
                del os.environ["BROKERLAB_CACHE"]


def stock_boot() -> tuple[float, float]:
    """Seconds to ready, and how many of them went into formatting."""
    with scratch_lab() as backend:
        begin = time.monotonic()
        nodes = backend.plan_kafka("stock", "combined")
        for node in nodes:
            node.render()
            toolchain.format_storage(node.folder / "server.properties", node.entry["cluster_id"])
        formatted = time.monotonic()
        for node in nodes:
            node.start()
        KafkaCluster(backend.store).wait_until_ready()
        return time.monotonic() - begin, formatted - begin


def lab_boot() -> tuple[float, float, dict[str, float]]:
    with scratch_lab() as backend:
        begin, wall = time.monotonic(), time.time()
        backend.up(("kafka",), "lab", "combined")
        took = time.monotonic() - begin
        cluster = KafkaCluster(backend.store)
        rss_mb = sum(node.rss_mb for node in cluster.brokers)
        return took, rss_mb, read_phases(cluster.brokers[0].log, wall, took)


def read_phases(log: Path, began_at: float, took_s: float) -> dict[str, float]:
    """How long each phase took, by the broker's own log."""
    lines = log.read_text(errors="replace").splitlines()
    midnight = began_at - time.localtime(began_at).tm_hour * 3600
    midnight -= time.localtime(began_at).tm_min * 60 + time.localtime(began_at).tm_sec
    midnight = int(midnight)
    previous, phases = began_at, {}
    for name, pattern in PHASES.items():
        for line in lines:
            stamp = re.match(r"(\d\d):(\d\d):(\d\d)\.(\d{3}) ", line)
            if stamp and re.search(pattern, line):
                hours, minutes, seconds, millis = map(int, stamp.groups())
                moment = midnight + hours * 3600 + minutes * 60 + seconds + millis / 1000
                phases[name] = moment - previous
                previous = moment
                break
    phases["all brokers see each other"] = began_at + took_s - previous
    return phases
