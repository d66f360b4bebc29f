"""The lab's memory.

home    the state folder (`.lab/`, or BROKERLAB_HOME): node folders, logs, runs, working copies
cache   jars and class-data archives, keyed by version and shared by homes (BROKERLAB_CACHE)
state   `state.json` in the home: which nodes exist, their pids and ports, which faults are active

Every node folder also holds a copy of its own entry (`node.json`), so that a damaged
state file can be rebuilt and `down` still finds every process.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

from brokerlab.errors import StateError

VERSION = 1


def project_root() -> Path | None:
    """The checkout this package was installed from, when there is one."""
    root = Path(__file__).resolve().parent.parent
    return root if (root / "pyproject.toml").exists() else None


def home() -> Path:
    """The state folder of this lab; it is not created here."""
    if chosen := os.environ.get("BROKERLAB_HOME"):
        return Path(chosen).expanduser().resolve()
    return (project_root() or Path.cwd()) / ".lab"


def cache() -> Path:
    """Where jars and archives live; several homes may share one."""
    if chosen := os.environ.get("BROKERLAB_CACHE"):
        return Path(chosen).expanduser().resolve()
    return home() / "cache"


def ensure_folder(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError(13, "not writable")
    except OSError as error:
        reason = error.strerror or error
        raise StateError(
            f"Cannot write to the lab's folder {path} ({reason}). "
            "Make it writable, or set BROKERLAB_HOME to a folder of yours."
        ) from error
    return path


@contextlib.contextmanager
def locked(path: Path, busy: str | None = None) -> Iterator[None]:
    """Hold an exclusive lock on `path`; with `busy`, refuse with that sentence instead of waiting."""
    ensure_folder(path.parent)
    with open(path, "a+") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (fcntl.LOCK_NB if busy else 0))
        except BlockingIOError as error:
            raise StateError(busy or "") from error
        try:
            yield
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)


def write_json(path: Path, data: object) -> None:
    """Replace `path` in one step; a reader sees the old file or the new one, never half of it."""
    ensure_folder(path.parent)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as handle:
            json.dump(data, handle, indent=1)
        partial.replace(path)
    except OSError as error:
        raise StateError(
            f"Cannot write {path} ({error.strerror}). Free some disk space or fix its permissions."
        ) from error


class State:
    """`state.json` of one home. `read()` looks, `edit()` changes it under a lock."""

    def __init__(self, folder: Path | None = None) -> None:
        self.home = folder or home()
        self.path = self.home / "state.json"
        self.rebuilt_from: Path | None = None

    @staticmethod
    def empty() -> dict:
        return {"version": VERSION, "backend": None, "nodes": {}, "helpers": {}, "faults": {}}

    def read(self) -> dict:
        try:
            data = json.loads(self.path.read_text())
            if not isinstance(data, dict) or not isinstance(data.get("nodes"), dict):
                raise ValueError("no table of nodes")
            return {**self.empty(), **data}
        except FileNotFoundError:
            return self.empty()
        except NotADirectoryError as error:
            raise StateError(
                f"{self.home} is not a folder. Set BROKERLAB_HOME to a folder of yours."
            ) from error
        except PermissionError as error:
            raise StateError(
                f"Cannot read {self.path}. Fix its permissions, or set BROKERLAB_HOME elsewhere."
            ) from error
        except ValueError:
            return self._rebuild()

    def _rebuild(self) -> dict:
        """A damaged state file is set aside and made again from the nodes' own copies."""
        self.rebuilt_from = self.path.with_name(f"state.json.damaged-{time.time_ns()}")
        with contextlib.suppress(FileNotFoundError):
            self.path.replace(self.rebuilt_from)
        data = self.empty()
        for copy in sorted(self.home.glob("nodes/*/node.json")):
            with contextlib.suppress(ValueError, KeyError, OSError):
                entry = json.loads(copy.read_text())
                room = "helpers" if entry["kind"] == "proxy" else "nodes"
                data[room][entry["name"]] = entry
                data["backend"] = data["backend"] or entry.get("backend", "local")
        if data["nodes"]:
            write_json(self.path, data)
        return data

    @contextlib.contextmanager
    def edit(self) -> Iterator[dict]:
        with locked(self.home / "state.lock"):
            data = self.read()
            yield data
            write_json(self.path, data)

    def put_node(self, entry: dict, room: str = "nodes") -> None:
        """Remember a node, in its folder first: a rebuild must never know less than the state."""
        write_json(self.home / "nodes" / entry["name"] / "node.json", entry)
        with self.edit() as data:
            data[room][entry["name"]] = entry
