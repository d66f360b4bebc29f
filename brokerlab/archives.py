"""Making class-data archives: boot once with recording on, use it a little, stop."""

from __future__ import annotations

import tempfile
from pathlib import Path

from brokerlab import toolchain
from brokerlab.errors import SetupError
from brokerlab.nodes import kafka, process, spark
from brokerlab.ports import choose
from brokerlab.state import State, locked


def ensure_broker_archive(progress: toolchain.Progress = toolchain.quiet) -> None:
    """The archive that makes a broker boot in a third of the time."""
    target = toolchain.archive(kafka.ARCHIVE)
    if target.exists():
        return
    toolchain.jar_set("kafka", progress)
    toolchain.storage_seed(progress)
    with locked(target.with_suffix(".lock")):
        if not target.exists():
            progress("recording the classes of a booting broker (once)")
            with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
                _record(State(Path(scratch)), target)


def _record(state: State, target: Path) -> None:
    names = ["client", "proxied", "repl", "controller"]
    ports = dict(zip(names, choose([None] * len(names)), strict=True))
    (entry,) = kafka.plan(state, {"broker-1": ports}, profile="lab", controllers="combined")
    entry["settings"] = dict.fromkeys(
        [
            "offsets.topic.replication.factor",
            "transaction.state.log.replication.factor",
            "transaction.state.log.min.isr",
            "default.replication.factor",
        ],
        1,
    )
    node = kafka.BrokerNode(state, entry)
    partial = target.with_suffix(".part")
    recording = [f"-XX:ArchiveClassesAtExit={partial}"]
    node.argv = lambda: kafka.java_command(  # type: ignore[method-assign]
        node.folder, kafka.LAB_FLAGS + recording, node.marker
    )
    try:
        node.start().wait_until_ready()
        _use(f"127.0.0.1:{node.port}")
        if not process.terminate(node.entry, 60) or not partial.exists():
            raise SetupError(f"The class archive was not written: {process.tail(node.log, 3)}")
        partial.rename(target)
    finally:
        process.kill(node.entry)


def ensure_spark_archive(progress: toolchain.Progress = toolchain.quiet) -> None:
    """The same for the Spark server: its classes are many, and its boot is the longest."""
    target = toolchain.archive(spark.ARCHIVE)
    if target.exists():
        return
    with locked(target.with_suffix(".lock")):
        if not target.exists():
            progress("recording the classes of a booting Spark server (once)")
            with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
                _record_spark(State(Path(scratch)), target)


def _record_spark(state: State, target: Path) -> None:
    (port,) = choose([None])
    node = spark.SparkNode(state, {"name": "spark", "kind": "spark", "ports": {"connect": port}})
    partial = target.with_suffix(".part")
    node.archive_flags = lambda: [f"-XX:ArchiveClassesAtExit={partial}"]  # type: ignore[method-assign]
    try:
        node.start().wait_until_ready()
        if not process.terminate(node.entry, 90) or not partial.exists():
            raise SetupError(f"The class archive was not written: {process.tail(node.log, 3)}")
        partial.rename(target)
    finally:
        process.kill(node.entry)


def _use(servers: str) -> None:
    """Touch what every notebook touches, so that its classes are in the archive too."""
    from confluent_kafka import Consumer, Producer
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": servers})
    for future in admin.create_topics([NewTopic("warm", 2, 1)]).values():
        future.result(30)
    # A broker that has just started answers "loading" at first; that is no news.
    quiet = {"log_level": 0, "bootstrap.servers": servers}
    producer = Producer({**quiet, "enable.idempotence": True})
    for number in range(100):
        producer.produce("warm", key=str(number), value=b"x")
    producer.flush(30)
    consumer = Consumer({**quiet, "group.id": "warm", "auto.offset.reset": "earliest"})
    try:
        consumer.subscribe(["warm"])
        consumer.consume(100, 15)
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()
