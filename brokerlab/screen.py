"""What the command line shows: tables a person likes to look at, and progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psutil
from rich.console import Console
from rich.table import Table

from brokerlab.lab import Lab

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)
MARKS = {"running": "green", "paused": "yellow", "cut": "yellow", "dead": "red", "stopped": "dim"}


@contextmanager
def progress(title: str) -> Iterator[Callable[[str], None]]:
    """A spinner in a terminal, plain lines in a log; either way the seconds of each step."""
    begin = time.monotonic()
    if not err.is_terminal:
        yield lambda line: err.print(f"[{time.monotonic() - begin:5.1f} s] {line}", markup=False)
        return
    with err.status(title) as status:

        def tell(line: str) -> None:
            err.print(f"[dim]{time.monotonic() - begin:5.1f} s[/] {line}")
            status.update(f"{title}: {line}")

        yield tell


def ago(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def status_table(lab: Lab) -> Table:
    table = Table(box=None, pad_edge=False)
    for column, side in (("node", "left"), ("state", "left"), ("pid", "right"), ("port", "right"),
                         ("RSS MB", "right"), ("up for", "right"), ("leads", "left")):  # fmt: skip
        table.add_column(column, justify=side)
    led = _led(lab)
    for node in lab.nodes:
        state = node.state
        found = node.process
        table.add_row(
            node.name,
            f"[{MARKS[state]}]{state}[/]",
            str(node.pid or "-"),
            str(node.port),
            f"{node.rss_mb:.0f}" if found else "-",
            _uptime(found),
            led.get(node.name, ""),
        )
    return table


def _uptime(found: psutil.Process | None) -> str:
    try:
        return ago(time.time() - found.create_time()) if found else "-"
    except psutil.Error:
        return "-"


def _led(lab: Lab) -> dict[str, str]:
    """What each broker leads: the quorum, and how many partitions."""
    counts = lab.kafka.leads()
    if not counts:
        return {}
    words = {
        node.name: f"{counts.get(node.node_id, 0)} partitions" for node in lab.kafka.brokers
    }
    quorum = lab.kafka.quorum_leader()
    for node in lab.kafka.nodes:
        if node.node_id == quorum:
            rest = words.get(node.name)
            words[node.name] = "the quorum" + (f", {rest}" if rest else "")
    return words


def doctor_table(report: dict) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("", "what", "found", "needed", "what to do"):
        table.add_column(column, overflow="fold")
    for check in report["checks"]:
        mark = "[green]ok[/]" if check["ok"] else ("[red]no[/]" if check["required"] else "-")
        fix = "" if check["ok"] else check["fix"]
        table.add_row(mark, check["name"], check["found"], check["needed"], fix)
    return table
