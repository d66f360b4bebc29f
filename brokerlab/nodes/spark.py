"""Spark as a node: a Spark Connect server on loopback, with the Kafka connector on board.

A notebook's session is a connection to this server, so it costs half a second, not the start
of a JVM. The server is told to be ready by a real client (`spark_warmup`), which then reads
once from Kafka, so that the first learner does not pay for loading the connector's classes.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

from brokerlab import toolchain
from brokerlab.nodes.node import Node
from brokerlab.state import ensure_folder

OPENED = [  # packages of the JDK that Spark reaches into; the list of its own launcher
    "java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio",
    "java.util", "java.util.concurrent", "java.util.concurrent.atomic", "jdk.internal.ref",
    "sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar",
]  # fmt: skip
FLAGS = [
    "-Xms192m",
    "-Xmx1536m",
    "-XX:+UseParallelGC",
    "-XX:-UsePerfData",
    "-XX:+IgnoreUnrecognizedVMOptions",
    "--add-modules=jdk.incubator.vector",
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED),
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "-Djdk.reflect.useDirectMethodHandle=false",
    "-Dio.netty.tryReflectionSetAccessible=true",
]
ARCHIVE = "spark"


def spark_home() -> Path:
    """PySpark carries a whole Spark; it is found without importing it."""
    found = importlib.util.find_spec("pyspark")
    return Path(found.origin).parent


def classpath() -> str:
    """Spark's own jars, then what the Kafka connector adds to them."""
    own = sorted(spark_home().joinpath("jars").glob("*.jar"))
    names = {jar.name.rsplit("-", 1)[0] for jar in own}
    extra = [
        jar
        for jar in sorted(toolchain.jar_set("spark").glob("*.jar"))
        if jar.name.rsplit("-", 1)[0] not in names
    ]
    return os.pathsep.join(str(jar) for jar in own + extra)


class SparkNode(Node):
    kind = "spark"
    ready_timeout_s = 180.0

    @property
    def remote(self) -> str:
        return f"sc://127.0.0.1:{self.port}"

    @property
    def ready_file(self) -> Path:
        return self.folder / "ready.json"

    def prepare(self) -> None:
        for name in ("scratch", "warehouse", "checkpoints"):
            ensure_folder(self.folder / name)
        self.ready_file.unlink(missing_ok=True)
        template = (toolchain.TEMPLATES / "spark.conf").read_text()
        conf = template.format(port=self.port, folder=self.folder)
        (self.folder / "spark.conf").write_text(conf)

    def argv(self) -> list[str]:
        return [
            toolchain.java(),
            *FLAGS,
            *self.archive_flags(),
            f"-D{self.marker}",
            f"-Dlog4j2.configurationFile={toolchain.TEMPLATES / 'spark-log4j2.properties'}",
            "-cp",
            classpath(),
            "org.apache.spark.deploy.SparkSubmit",
            "--properties-file",
            str(self.folder / "spark.conf"),
            "--class",
            "org.apache.spark.sql.connect.service.SparkConnectServer",
            "spark-internal",
        ]

    def archive_flags(self) -> list[str]:
        return toolchain.archive_option(ARCHIVE)

    def env(self) -> dict[str, str]:
        return {**os.environ, "SPARK_HOME": str(spark_home()), "SPARK_LOCAL_IP": "127.0.0.1"}

    def start(self) -> SparkNode:
        before = self.pid
        super().start()
        if self.pid != before:
            self.warm_up()
        return self

    def warm_up(self) -> None:
        """A client in the background: it waits for the server, says so, then loads the rest."""
        brokers = [
            f"127.0.0.1:{entry['ports']['client']}"
            for entry in self.store.read()["nodes"].values()
            if entry["kind"] == "broker"
        ]
        with open(self.folder / "warmup.log", "ab") as log:
            subprocess.Popen(
                [sys.executable, "-m", "brokerlab.nodes.spark_warmup", self.remote,
                 str(self.ready_file), str(self.pid), ",".join(brokers)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def is_ready(self) -> bool:
        with contextlib.suppress(OSError, ValueError):
            return json.loads(self.ready_file.read_text())["pid"] == self.pid
        return False


def session(remote: str):
    """A session on a Spark Connect server; one for each process."""
    from pyspark.sql import SparkSession

    return SparkSession.builder.remote(remote).getOrCreate()
