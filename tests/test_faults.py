"""Faults against real brokers: each does what its name says, and is gone after its block."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import KafkaError
from kafka.structs import TopicPartition

import brokerlab
from brokerlab import cut, killed, paused, slowed, wait_until
from brokerlab.errors import FaultError, NodeError
from brokerlab.nodes import process

pytestmark = pytest.mark.lab


def producer_for(servers: str, **settings) -> KafkaProducer:
    defaults = {
        "acks": "all", "enable_idempotence": False, "retries": 0, "request_timeout_ms": 8_000,
        "delivery_timeout_ms": 10_000, "linger_ms": 0,
    }  # fmt: skip
    return KafkaProducer(bootstrap_servers=servers.split(","), **{**defaults, **settings})


def values_of(servers: str, topic: str) -> list[bytes]:
    consumer = KafkaConsumer(bootstrap_servers=servers.split(","), auto_offset_reset="earliest")
    try:
        where = [TopicPartition(topic, p) for p in consumer.partitions_for_topic(topic)]
        consumer.assign(where)
        ends = consumer.end_offsets(where)
        found: list[bytes] = []
        while any(consumer.position(tp) < ends[tp] for tp in where):
            for records in consumer.poll(timeout_ms=500).values():
                found += [record.value for record in records]
        return found
    finally:
        consumer.close()


def test_a_killed_leader_is_replaced_and_comes_back(lab):
    topic = lab.topic("orders")
    leader = lab.kafka.leader(topic)
    with killed(leader):
        assert leader.state == "dead"
        successor = wait_until(
            lambda: (now := lab.kafka.leader(topic)).name != leader.name and now,
            30, "another leader",
        )  # fmt: skip
        assert successor.state == "running"
    assert leader.state == "running"
    lab.kafka.wait_until_in_sync(topic)


def test_a_paused_node_keeps_its_process_and_is_running_again_afterwards(lab):
    node = lab.kafka.brokers[1]
    pid = node.pid
    with paused(node):
        assert node.state == "paused"
    assert (node.state, node.pid) == ("running", pid)


def test_a_fault_is_healed_when_the_block_raises(lab):
    node = lab.kafka.brokers[0]
    with pytest.raises(ZeroDivisionError), paused(node):
        raise ZeroDivisionError
    assert node.state == "running"
    assert lab.store.read()["faults"] == {}


def test_paused_followers_and_a_dead_leader_lose_every_acks_1_record(lab):
    topic = lab.topic("orders")
    leader, followers = lab.kafka.leader(topic), lab.kafka.followers(topic)
    producer = producer_for(f"127.0.0.1:{leader.port}", acks=1)
    producer.send(topic, b"before", partition=0).get(10)
    wait_until(lambda: high_watermark(lab, topic) == 1, 10, "replication of the first record")
    with paused(followers):
        time.sleep(0.3)  # fetches that were parked at the leader expire after 200 ms
        sent = [producer.send(topic, b"%d" % n, partition=0) for n in range(200)]
        assert len([future.get(5) for future in sent]) == 200
        leader.kill()
    producer.close(timeout=1)
    try:
        survivor = lab.kafka.leader(topic)
        wait_until(lambda: lab.kafka.leader(topic).name != leader.name, 30, "another leader")
        assert survivor is not None
        servers = ",".join(f"127.0.0.1:{n.port}" for n in followers)
        assert values_of(servers, topic) == [b"before"]
    finally:
        leader.start().wait_until_ready()


def high_watermark(lab, topic: str) -> int:
    consumer = KafkaConsumer(bootstrap_servers=lab.bootstrap_servers.split(","))
    try:
        return consumer.end_offsets([TopicPartition(topic, 0)])[TopicPartition(topic, 0)]
    finally:
        consumer.close()


def test_a_leader_cut_from_its_peers_still_accepts_acks_1_while_the_others_elect_a_new_one(lab):
    topic = lab.topic("orders")
    old = lab.kafka.leader(topic)
    zombie = producer_for(f"127.0.0.1:{old.port}", acks=1, metadata_max_age_ms=600_000)
    zombie.send(topic, b"before", partition=0).get(10)
    wait_until(lambda: high_watermark(lab, topic) == 1, 10, "replication of the first record")
    with cut(old, links="peers"):
        assert old.state == "cut"
        new = wait_until(
            lambda: next(
                (
                    p.leader
                    for n in lab.kafka.brokers if n.name != old.name
                    for p in lab.kafka.view(n, topic) if p.leader not in (None, old.node_id)
                ),
                None,
            ),
            30, "the others to elect",
        )  # fmt: skip
        believes = lab.kafka.view(old, topic)[0].leader
        acknowledged = zombie.send(topic, b"to the zombie", partition=0).get(10)
        assert believes == old.node_id != new
        assert acknowledged.offset == 1
    zombie.close(timeout=1)
    lab.kafka.wait_until_in_sync(topic)
    assert values_of(lab.bootstrap_servers, topic) == [b"before"]


def test_lost_replies_make_duplicates_of_appended_records(lab):
    topic = lab.topic("orders")
    leader = lab.kafka.leader(topic)
    producer = producer_for(
        lab.kafka.proxied_servers, retries=20, request_timeout_ms=1_000, retry_backoff_ms=100,
        delivery_timeout_ms=30_000, max_in_flight_requests_per_connection=1,
    )  # fmt: skip
    producer.send(topic, b"first", partition=0).get(10)
    with cut(leader, links="clients", direction="replies"):
        future = producer.send(topic, b"again", partition=0)
        wait_until(lambda: high_watermark(lab, topic) == 2, 30, "the record to be appended")
        assert not future.is_done
    future.get(30)
    producer.close(timeout=5)
    assert values_of(lab.bootstrap_servers, topic) == [b"first", b"again", b"again"]


def test_clients_behind_the_proxy_cannot_reach_a_broker_that_is_cut_from_clients(lab):
    topic = lab.topic("orders")
    leader = lab.kafka.leader(topic)
    producer = producer_for(
        lab.kafka.proxied_servers, request_timeout_ms=1_500, delivery_timeout_ms=2_000
    )
    producer.send(topic, b"reached", partition=0).get(10)
    with cut(leader, links="clients"), pytest.raises(KafkaError):
        producer.send(topic, b"not reached", partition=0).get(10)
    producer.close(timeout=2)
    assert values_of(lab.bootstrap_servers, topic) == [b"reached"]


def test_a_slowed_follower_delays_acks_all_by_its_latency(lab):
    topic = lab.topic("orders")
    producer = producer_for(lab.bootstrap_servers)
    producer.send(topic, b"warm", partition=0).get(10)
    begin = time.monotonic()
    with slowed(lab.kafka.followers(topic)[0], latency_ms=400):
        producer.send(topic, b"slow", partition=0).get(10)
        assert time.monotonic() - begin >= 0.4
    producer.close()


def test_a_fault_that_cannot_be_done_is_refused_and_not_remembered(lab):
    node = lab.kafka.brokers[0]
    with pytest.raises(FaultError, match="choose one of"), cut(node, links="moon"):
        pass
    with pytest.raises(FaultError, match="latency_ms"), slowed(node, latency_ms=-1):
        pass
    with killed(node), pytest.raises(NodeError, match="not running"), paused(node):
        pass
    assert lab.store.read()["faults"] == {}


def test_a_kernel_killed_inside_paused_leaves_nodes_that_the_next_up_heals(lab):
    script = (
        "import brokerlab, time\n"
        "lab = brokerlab.up(services=('kafka',))\n"
        "with brokerlab.paused(lab.kafka.brokers[2]):\n"
        "    print('frozen', flush=True); time.sleep(600)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "frozen\n"
        assert lab.kafka.brokers[2].state == "paused"
        brokerlab.up(services=("kafka",))
        assert lab.kafka.brokers[2].state == "paused", "its owner lives: nobody may heal it"
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    brokerlab.up(services=("kafka",))
    assert lab.kafka.brokers[2].state == "running"
    assert lab.store.read()["faults"] == {}


def test_a_kernel_killed_inside_cut_leaves_links_that_the_next_up_heals(lab):
    script = (
        "import brokerlab, os, signal\n"
        "lab = brokerlab.up(services=('kafka',))\n"
        "with brokerlab.cut(lab.kafka.brokers[0]):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", script], timeout=60)
    assert lab.kafka.brokers[0].state == "cut"
    assert len(lab.backend.proxy.ask("list")["rules"]) == 1
    brokerlab.up(services=("kafka",))
    assert lab.kafka.brokers[0].state == "running"
    assert lab.backend.proxy.ask("list")["rules"] == []


def test_a_stale_pid_that_belongs_to_another_program_is_never_signalled(lab):
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        import psutil

        entry = dict(lab.kafka.brokers[0].entry)
        entry.update(pid=stranger.pid, created=psutil.Process(stranger.pid).create_time())
        assert process.find(entry) is None
        assert not process.send(entry, signal.SIGKILL)
        process.kill(entry)
        process.terminate(entry, 1)
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()
