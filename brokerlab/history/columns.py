"""A history in memory: columns instead of objects, so that millions of events fit.

event   one line of a history: an `invoke`, or the `ok` / `fail` / `info` that answers it.
mop     a micro-operation, one element of an operation's value: a send, or a poll.
row     one value an event speaks of: a record sent, a record read, an item of a queue.
shape   how a row was written down, so that writing it again gives the same line.
rest    what the columns have no room for: an event's other fields, and the values of faults,
        assignments and drains, as plain JSON objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

TYPES = ("invoke", "ok", "fail", "info")
INVOKE, OK, FAIL, INFO = range(4)

MOP_OPERATIONS = frozenset({"send", "poll", "txn"})
QUEUE_OPERATIONS = frozenset({"enqueue", "dequeue"})
NEMESIS = "nemesis"

# Shapes. `SENT` is ["send", key, value], `SENT_AT` is ["send", key, [offset, value]],
# `ASKED` is ["poll"], `NOTHING` is ["poll", {}], `NO_RECORDS` is ["poll", {key: []}], `READ` is
# one [offset, value] of a poll, `ITEM` the bare value of a queue, `ITEMS` one of a list of them.
SENT, SENT_AT, ASKED, NOTHING, NO_RECORDS, READ, ITEM, ITEMS = range(8)

NO_OFFSET = -1
NO_KEY = -1

# A value that is not a 64-bit integer is kept as JSON text in `odd_values`; its column then
# holds ODD + the position there. No real value comes near: the format refuses such integers.
ODD = -(2**63)
ODD_END = ODD + 2**32

EVENT_DTYPES = {"index": "i8", "time": "i8", "process": "i4", "type": "i1", "f": "i4"}
ROW_DTYPES = {"event": "i8", "mop": "i4", "shape": "i1", "key": "i4", "offset": "i8", "value": "i8"}


@dataclass(eq=False)
class Rows:
    """One entry a value, in the order of events and, inside an event, as written."""

    event: np.ndarray
    mop: np.ndarray
    shape: np.ndarray
    key: np.ndarray
    offset: np.ndarray
    value: np.ndarray

    def __len__(self) -> int:
        return len(self.event)


@dataclass(eq=False)
class History:
    """Events as columns. `process`, `f` and `rows.key` are positions in the tables below."""

    index: np.ndarray
    time: np.ndarray
    process: np.ndarray
    type: np.ndarray
    f: np.ndarray
    rows: Rows
    processes: list[int | str] = field(default_factory=list)
    fs: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    odd_values: list[str] = field(default_factory=list)
    rest: dict[int, dict[str, Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.index)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The events as the objects of the JSONL format."""
        from brokerlab.history.unfolding import unfold

        return unfold(self)

    @classmethod
    def from_ops(cls, ops: Iterable[dict[str, Any]]) -> History:
        """A history from objects of the JSONL format; malformed ones raise HistoryError."""
        from brokerlab.history.folding import Folder, check_index_order

        folder = Folder()
        for position, op in enumerate(ops):
            folder.add(op, f"event {position}")
        history = folder.history()
        check_index_order(history, "event {}", np.arange(len(history)))
        return history

    def f_is(self, *names: str) -> np.ndarray:
        """For each event, whether its `f` is one of `names` and a client did it."""
        wanted = [code for code, name in enumerate(self.fs) if name in names]
        clients = [code for code, name in enumerate(self.processes) if name != NEMESIS]
        return np.isin(self.f, wanted) & np.isin(self.process, clients)

    def value_of(self, code: int) -> Any:
        """The value that a code in `rows.value` stands for."""
        if code >= ODD_END:
            return int(code)
        import json

        return json.loads(self.odd_values[int(code) - ODD])


def empty_history() -> History:
    """A history without events."""
    events = {name: np.empty(0, dtype) for name, dtype in EVENT_DTYPES.items()}
    return History(**events, rows=empty_rows())


def empty_rows() -> Rows:
    """No rows."""
    return Rows(**{name: np.empty(0, dtype) for name, dtype in ROW_DTYPES.items()})


def merge(parts: list[History], order: list[np.ndarray]) -> History:
    """One history of several, its events sorted by `order` (an array for each part).

    Events that tie keep the order of the parts. Indexes are taken over as they are.
    """
    if not parts:
        return empty_history()
    tables = {name: _Table() for name in ("processes", "fs", "keys", "odd_values")}
    pieces = [_recoded(part, tables) for part in parts]
    ranks = np.concatenate(order)
    old_from_new = np.argsort(ranks, kind="stable")
    new_from_old = np.empty_like(old_from_new)
    new_from_old[old_from_new] = np.arange(len(ranks))
    columns = {
        name: np.concatenate([events[name] for events, _ in pieces])[old_from_new]
        for name in EVENT_DTYPES
    }
    starts = np.cumsum([0] + [len(part) for part in parts])
    rest = {
        int(new_from_old[start + position]): extra
        for part, start in zip(parts, starts[:-1], strict=True)
        for position, extra in part.rest.items()
    }
    rows = _merged_rows([rows for _, rows in pieces], starts, new_from_old)
    lists = {name: table.names for name, table in tables.items()}
    return History(**columns, rows=rows, rest=rest, **lists)


def _merged_rows(parts: list[dict], starts: np.ndarray, new_from_old: np.ndarray) -> Rows:
    columns = {name: np.concatenate([part[name] for part in parts]) for name in ROW_DTYPES}
    shift = np.repeat(starts[:-1], [len(part["event"]) for part in parts])
    columns["event"] = new_from_old[columns["event"] + shift]
    if np.any(np.diff(columns["event"]) < 0):
        in_order = np.argsort(columns["event"], kind="stable")
        columns = {name: column[in_order] for name, column in columns.items()}
    return Rows(**columns)


class _Table:
    """Names in the order of their first appearance."""

    def __init__(self) -> None:
        self.names: list = []
        self._codes: dict = {}

    def recode(self, names: list) -> np.ndarray:
        """The codes that `names` have here; the last entry serves code -1, "none"."""
        codes = []
        for name in names:
            if name not in self._codes:
                self._codes[name] = len(self.names)
                self.names.append(name)
            codes.append(self._codes[name])
        return np.array([*codes, -1], dtype="i4")


def _recoded(part: History, tables: dict[str, _Table]) -> tuple[dict, dict]:
    """The columns of `part`, its codes replaced by those of the common tables."""
    events = {name: getattr(part, name) for name in EVENT_DTYPES}
    events["process"] = tables["processes"].recode(part.processes)[part.process]
    events["f"] = tables["fs"].recode(part.fs)[part.f]
    rows = {name: getattr(part.rows, name) for name in ROW_DTYPES}
    rows["key"] = tables["keys"].recode(part.keys)[part.rows.key]
    if part.odd_values:
        codes = tables["odd_values"].recode(part.odd_values).astype("i8")
        odd = part.rows.value < ODD_END
        rows["value"] = part.rows.value.copy()
        rows["value"][odd] = ODD + codes[part.rows.value[odd] - ODD]
    return events, rows
