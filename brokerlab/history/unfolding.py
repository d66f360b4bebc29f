"""Unfold: from columns back to the objects of the JSONL format."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np

from brokerlab.history.columns import (
    ASKED,
    EVENT_DTYPES,
    ITEM,
    MOP_OPERATIONS,
    NEMESIS,
    NO_KEY,
    NO_OFFSET,
    NOTHING,
    READ,
    ROW_DTYPES,
    SENT,
    SENT_AT,
    TYPES,
    History,
)


BLOCK_EVENTS = 20_000


def unfold(history: History) -> Iterator[dict[str, Any]]:
    """The events of a history as objects of the JSONL format."""
    # Columns become Python objects a block at a time, to keep memory flat.
    for start in range(0, len(history), BLOCK_EVENTS):
        yield from unfold_events(history, np.arange(start, min(start + BLOCK_EVENTS, len(history))))


def unfold_events(history: History, positions: np.ndarray) -> Iterator[dict[str, Any]]:
    """The events at some positions, which increase, as objects."""
    columns = (getattr(history, name)[positions].tolist() for name in EVENT_DTYPES)
    events = zip(positions.tolist(), *columns, strict=True)
    rows_of = _rows_of(history, positions)
    for position, index, time_ns, process, kind, f in events:
        op: dict[str, Any] = {
            "index": index,
            "time": time_ns,
            "process": history.processes[process],
            "type": TYPES[kind],
            "f": history.fs[f],
        }
        rows = rows_of.get(position, [])
        if op["process"] != NEMESIS and op["f"] in MOP_OPERATIONS:
            op["value"] = [_mop(history, list(mop)) for _, mop in groupby(rows, itemgetter(1))]
        elif rows:
            _unfold_items(history, op, rows)
        op.update(history.rest.get(position, {}))
        yield op


def _rows_of(history: History, positions: np.ndarray) -> dict[int, list[tuple]]:
    wanted = np.zeros(len(history) + 1, dtype=bool)
    wanted[positions] = True
    if len(positions):
        first, last = np.searchsorted(history.rows.event, [positions[0], positions[-1] + 1])
        chosen = first + np.flatnonzero(wanted[history.rows.event[first:last]])
    else:
        chosen = np.empty(0, "i8")
    columns = (getattr(history.rows, name)[chosen].tolist() for name in ROW_DTYPES)
    return {event: list(rows) for event, rows in groupby(zip(*columns, strict=True), itemgetter(0))}


def _mop(history: History, rows: list[tuple]) -> list:
    _, _, shape, key, offset, value = rows[0]
    if shape == SENT:
        return ["send", history.keys[key], history.value_of(value)]
    if shape == SENT_AT:
        return ["send", history.keys[key], _pair(history, offset, value)]
    if shape == ASKED:
        return ["poll"]
    records: dict[str, list] = {}
    for _, _, shape, key, offset, value in rows:
        if shape == NOTHING:
            continue
        pairs = records.setdefault(history.keys[key], [])
        if shape == READ:
            pairs.append(_pair(history, offset, value))
    return ["poll", records]


def _pair(history: History, offset: int, value: int) -> list:
    return [None if offset == NO_OFFSET else offset, history.value_of(value)]


def _unfold_items(history: History, op: dict, rows: list[tuple]) -> None:
    values = [history.value_of(row[5]) for row in rows]
    op["value"] = values[0] if rows[0][2] == ITEM else values
    if rows[0][3] != NO_KEY:
        op["queue"] = history.keys[rows[0][3]]
