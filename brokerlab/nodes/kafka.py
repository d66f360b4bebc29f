"""Kafka brokers and controllers as processes.

combined    a node that is broker and controller at once; three of them are the default
isolated    separate `controller-1..3`, so that two brokers may die and the metadata lives
profile     `lab` boots fast and fails over in seconds; `stock` runs Kafka's own flags, threads
            and timeouts, and does not pass through the proxy
"""

from __future__ import annotations

import shutil
from pathlib import Path

from brokerlab import toolchain
from brokerlab.nodes.node import Node
from brokerlab.proxy.wire import Link
from brokerlab.state import State, ensure_folder

LAB_FLAGS = [
    "-Xms48m",
    "-Xmx384m",
    "-XX:+UseSerialGC",  # stock G1 keeps threads and memory that three small brokers cannot spare
    "-XX:TieredStopAtLevel=1",  # C1 only: a broker that lives for minutes never earns C2 back
    "-XX:-UsePerfData",
    "-Djava.awt.headless=true",
]
STOCK_FLAGS = [  # what kafka-server-start.sh and kafka-run-class.sh of Kafka 4.3 set
    "-Xms1G",
    "-Xmx1G",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
]
# Kafka names nodes by number; controllers of their own get numbers that no broker has.
CONTROLLER_ID_BASE = 100
ARCHIVE = "broker"


class KafkaNode(Node):
    stop_timeout_s = 30.0

    @property
    def node_id(self) -> int:
        return self.entry["node_id"]

    @property
    def data(self) -> Path:
        """The folder with the partitions' segment files."""
        return self.folder / "data"

    def prepare(self) -> None:
        if not (self.data / "meta.properties").exists():
            seed_storage(self.data, self.entry["cluster_id"], self.node_id)
        self.render()

    def render(self) -> None:
        """Write the node's settings where it and `StorageTool` read them."""
        ensure_folder(self.folder)
        (self.folder / "server.properties").write_text(render(self.entry, self.data))
        shutil.copy(toolchain.TEMPLATES / "log4j2.properties", self.folder)

    def argv(self) -> list[str]:
        stock = self.entry["profile"] == "stock"
        flags = STOCK_FLAGS if stock else LAB_FLAGS + toolchain.archive_option(ARCHIVE)
        return java_command(self.folder, flags, self.marker)

    def wipe(self) -> None:
        """Forget all records and metadata; the next start formats anew."""
        shutil.rmtree(self.data, ignore_errors=True)

    def is_ready(self) -> bool:
        from brokerlab import ask

        try:
            reply = ask.metadata(self.port, [])
        except OSError:
            return False
        return any(broker.node_id == self.node_id for broker in reply.brokers)


class BrokerNode(KafkaNode):
    kind = "broker"


class ControllerNode(KafkaNode):
    kind = "controller"

    def is_ready(self) -> bool:
        # A controller serves no clients; the brokers that reach it show that it is there.
        from brokerlab.ports import answers

        return answers(self.port)


def java_command(folder: Path, flags: list[str], marker: str) -> list[str]:
    return [
        toolchain.java(),
        *flags,
        f"-D{marker}",
        f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}",
        "-cp",
        toolchain.classpath(),
        "kafka.Kafka",
        str(folder / "server.properties"),
    ]


def seed_storage(data: Path, cluster_id: str, node_id: int) -> None:
    """Format without a JVM: the seed's files, with this node's ids."""
    ensure_folder(data)
    seed = toolchain.storage_seed()
    for path in seed.iterdir():
        if path.name not in ("meta.properties",):
            shutil.copy(path, data)
    directory_id = toolchain.new_cluster_id()
    (data / "meta.properties").write_text(
        f"version=1\ncluster.id={cluster_id}\nnode.id={node_id}\ndirectory.id={directory_id}\n"
    )


def listener_ports(entry: dict) -> list[str]:
    """The listeners a node opens, by its roles."""
    names = {"broker": ["CLIENT", "PROXIED", "REPL"], "controller": ["CONTROLLER"]}
    return [name for role in entry["roles"].split(",") for name in names[role]]


def render(entry: dict, data: Path) -> str:
    """`server.properties` of a node."""
    ports, links = entry["ports"], entry["links"]
    names = listener_ports(entry)
    bound = [f"{name}://127.0.0.1:{ports[name.lower()]}" for name in names]
    shown = [f"{n}://127.0.0.1:{links.get(n.lower()) or ports[n.lower()]}" for n in names]
    voters = [
        # A node speaks to itself directly and to its peers through the proxy.
        f"{v['id']}@127.0.0.1:{v['port'] if v['id'] == entry['node_id'] else v['link']}"
        for v in entry["voters"]
    ]
    template = (toolchain.TEMPLATES / "server.properties").read_text()
    tuning = (toolchain.TEMPLATES / f"tuning-{entry['profile']}.properties").read_text()
    filled = template.format(
        roles=entry["roles"],
        node_id=entry["node_id"],
        voters=",".join(voters),
        rack=entry.get("rack", ""),
        listeners=",".join(bound),
        advertised=",".join(shown),
        data=data,
        tuning=tuning,
    )
    if entry["roles"] == "controller":
        filled = filled.replace("inter.broker.listener.name=REPL\n", "")
    extra = "".join(f"{key}={value}\n" for key, value in entry.get("settings", {}).items())
    return filled + ("\n# --- asked for by this lab\n" + extra if extra else "")


def plan(
    state: State, ports: dict[str, dict[str, int]], *, profile: str, controllers: str
) -> list[dict]:
    """The entries of a new cluster. `ports` maps a node's name to its ports and `link_*` ports."""
    cluster_id = toolchain.new_cluster_id()
    entries: list[dict] = []
    for name, own in ports.items():
        kind, number = name.split("-")
        roles = kind if controllers == "isolated" else "broker,controller"
        node_id = int(number) + (CONTROLLER_ID_BASE if kind == "controller" else 0)
        listening = {k: v for k, v in own.items() if not k.startswith("link_")}
        links = {k.removeprefix("link_"): v for k, v in own.items() if k.startswith("link_")}
        entries.append(
            {
                "name": name, "kind": kind, "node_id": node_id, "roles": roles,
                "profile": profile, "cluster_id": cluster_id,
                "ports": listening, "links": links, "rack": f"rack-{number}",
                "wanted": "running", "backend": "local",
            }
        )  # fmt: skip
    voters = voters_of(entries)
    return [{**entry, "voters": voters} for entry in entries]


def voters_of(entries: list[dict]) -> list[dict]:
    """The metadata quorum: every node that is a controller, by its own port and by its link."""
    voting = [entry for entry in entries if "controller" in entry["roles"]]
    return [
        {
            "id": entry["node_id"],
            "port": entry["ports"]["controller"],
            "link": entry["links"].get("controller", entry["ports"]["controller"]),
        }
        for entry in voting
    ]


def links_of(entry: dict) -> list[Link]:
    """What the proxy must forward for a node."""
    kinds = {"proxied": "clients", "repl": "peers", "controller": "peers"}
    return [
        Link(listen, entry["ports"][listener], entry["name"], kinds[listener])
        for listener, listen in entry["links"].items()
    ]
