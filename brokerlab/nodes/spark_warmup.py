"""The first client of a Spark server: `python -m brokerlab.nodes.spark_warmup REMOTE READY PID BROKERS`.

It writes READY when its first query was answered, then reads one (absent or empty) topic range
through the Kafka source. It ends by itself when the server's process is gone.
"""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path

import psutil

from brokerlab.state import write_json

GIVE_UP_S = 180


def main() -> None:
    remote, ready_file, pid, brokers = sys.argv[1:5]
    from pyspark.sql import SparkSession

    deadline = time.monotonic() + GIVE_UP_S
    port = int(remote.rsplit(":", 1)[1])
    from brokerlab.ports import answers

    while not answers(port):
        if time.monotonic() > deadline or not psutil.pid_exists(int(pid)):
            return
        time.sleep(0.05)
    spark = SparkSession.builder.remote(remote).getOrCreate()
    spark.range(3).selectExpr("sum(id)").collect()
    write_json(Path(ready_file), {"pid": int(pid), "when": time.time()})
    if brokers:
        with contextlib.suppress(Exception):
            read_kafka(spark, brokers)
    with contextlib.suppress(Exception):
        spark.createDataFrame([(1, "a")], ["n", "s"]).groupBy("s").count().toPandas()
    spark.stop()


def read_kafka(spark, brokers: str) -> None:
    """`__consumer_offsets` may not exist yet; then the connector still loads and complains."""
    frame = (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", brokers)
        .option("subscribePattern", "brokerlab-warmup|__consumer_offsets")
        .load()
    )
    frame.groupBy("topic", "partition").count().collect()


if __name__ == "__main__":
    main()
