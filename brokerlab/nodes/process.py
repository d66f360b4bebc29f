"""Processes the lab started, and only those.

entry   what the state remembers of a process: pid, start time, marker
marker  a string on the process's command line (the node's folder): with the start time it
        tells our process from a stranger that was given the same pid later

Nothing here signals a pid that does not match its entry in both.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

import psutil

from brokerlab.errors import NodeError
from brokerlab.waiting import wait_until

# Start times are computed from the boot time, which the clock's corrections may move.
START_TIME_SLACK_S = 2.0
_children: dict[int, subprocess.Popen] = {}


def spawn(
    argv: list[str], *, folder: Path, log: Path, marker: str, env: dict[str, str], fds: tuple = ()
) -> dict:
    """Start a process that outlives this one; return its entry."""
    if not any(marker in word for word in argv):
        raise ValueError(f"the marker {marker!r} must stand on the command line")
    with open(log, "ab") as output:
        child = subprocess.Popen(
            argv,
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=fds,
        )
    _children[child.pid] = child
    try:
        created = psutil.Process(child.pid).create_time()
    except psutil.Error:
        created = time.time()
    return {"pid": child.pid, "created": created, "marker": marker}


def find(entry: dict) -> psutil.Process | None:
    """The living process of an entry, or None when it is gone or the pid is a stranger's."""
    pid = entry.get("pid")
    if not pid:
        return None
    if (child := _children.get(pid)) and child.poll() is not None:
        return None
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        if abs(process.create_time() - entry["created"]) > START_TIME_SLACK_S:
            return None
        # Between fork and exec the child still shows our own command line.
        mine = any(entry["marker"] in word for word in process.cmdline()) or pid in _children
        return process if mine else None
    except psutil.Error:
        return None


def is_paused(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return process.status() == psutil.STATUS_STOPPED
    return False


def rss_mb(process: psutil.Process) -> float:
    with contextlib.suppress(psutil.Error):
        return round(process.memory_info().rss / 1e6, 1)
    return 0.0


def send(entry: dict, signum: int) -> bool:
    """Signal the entry's process; False when it is already gone."""
    if process := find(entry):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(signum)
            return True
    return False


def kill(entry: dict) -> None:
    """SIGKILL, and wait until the kernel has buried it."""
    if send(entry, signal.SIGKILL):
        wait_until(lambda: find(entry) is None, 20, f"pid {entry['pid']} to die", poll_s=0.01)


def terminate(entry: dict, timeout_s: float) -> bool:
    """SIGTERM and wait; SIGKILL after `timeout_s`. True when it went by itself."""
    send(entry, signal.SIGCONT)
    send(entry, signal.SIGTERM)
    deadline = time.monotonic() + timeout_s
    while find(entry):
        if time.monotonic() > deadline:
            kill(entry)
            return False
        time.sleep(0.02)
    return True


def pause(entry: dict, name: str) -> None:
    if not send(entry, signal.SIGSTOP):
        raise NodeError(f"{name} is not running, so it cannot be paused. `brokerlab up` starts it.")
    wait_until(lambda: (p := find(entry)) is None or is_paused(p), 10, f"{name} to stop", 0.005)


def resume(entry: dict) -> None:
    if send(entry, signal.SIGCONT):
        wait_until(lambda: (p := find(entry)) is None or not is_paused(p), 10, "SIGCONT", 0.005)


def strays(home: Path) -> list[psutil.Process]:
    """Processes of this home that carry a node's marker, whether the state knows them or not."""
    prefix, found = f"{home}/nodes/", []
    own = {os.getpid(), *(p.pid for p in psutil.Process().parents())}
    for process in psutil.process_iter(["pid", "cmdline", "username"]):
        words = process.info["cmdline"] or []
        if process.pid not in own and any(f"brokerlab.node={prefix}" in word for word in words):
            found.append(process)
    return found


def tail(log: Path, lines: int = 12) -> str:
    """The end of a log, for an error message."""
    with contextlib.suppress(OSError), open(log, "rb") as handle:
        handle.seek(0, os.SEEK_END)
        handle.seek(max(0, handle.tell() - 16_384))
        return b"\n".join(handle.read().splitlines()[-lines:]).decode(errors="replace")
    return ""
