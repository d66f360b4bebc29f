"""Histories written as files of one JSON object a line."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from brokerlab.history.columns import ODD_END, SENT, SENT_AT, TYPES, History, Rows
from brokerlab.history.unfolding import unfold_events

BLOCK_EVENTS = 50_000


def write_jsonl(history: History, path: str | Path) -> None:
    """Write a history; a name that ends in `.gz` is compressed."""
    path = Path(path)
    # The time of writing is left out of the gzip header, so that equal histories give equal files.
    with path.open("wb") as file:
        if path.suffix != ".gz":
            file.writelines(_texts(history))
            return
        with gzip.GzipFile(fileobj=file, mode="wb", mtime=0, filename="") as zipped:
            zipped.writelines(_texts(history))


def _texts(history: History) -> Iterator[bytes]:
    for start in range(0, len(history), BLOCK_EVENTS):
        yield _block(history, start, min(start + BLOCK_EVENTS, len(history))).encode()


def _block(history: History, start: int, end: int) -> str:
    """The lines of some events: single sends by Arrow, many at a time; the others one by one."""
    first, last = np.searchsorted(history.rows.event, [start, end])
    rows = Rows(**{name: column[first:last] for name, column in vars(history.rows).items()})
    simple = _single_sends(history, rows, start, end)
    lines = np.empty(end - start, dtype=object)
    events = rows.event[simple] - start
    lines[events] = _send_lines(history, rows, simple)
    others = np.setdiff1d(np.arange(end - start), events) + start
    for position, op in zip(others.tolist(), unfold_events(history, others), strict=True):
        lines[position - start] = json.dumps(op)
    return "\n".join(lines.tolist()) + "\n"


def _single_sends(history: History, rows: Rows, start: int, end: int) -> np.ndarray:
    """Positions in `rows` of sends that are all there is to their event."""
    count = np.bincount(rows.event - start, minlength=end - start)
    is_send = history.f_is("send")[start:end]
    is_send &= [type(history.processes[code]) is int for code in history.process[start:end]]
    has_rest = [event - start for event in history.rest if start <= event < end]
    is_send[has_rest] = False
    single = (count == 1) & is_send
    plain = (rows.value >= ODD_END) & np.isin(rows.shape, (SENT, SENT_AT))
    plain &= (rows.shape == SENT) | (rows.offset >= 0)
    return np.flatnonzero(single[rows.event - start] & plain)


def _send_lines(history: History, rows: Rows, simple: np.ndarray) -> np.ndarray:
    event = rows.event[simple]
    types, keys = (
        pa.array([json.dumps(name) for name in names]) for names in (TYPES, history.keys)
    )
    processes = pa.array([str(name) for name in history.processes])
    value = _texts_of(rows.value[simple])
    pair = pc.binary_join_element_wise("[", _texts_of(rows.offset[simple]), ", ", value, "]", "")
    lines = pc.binary_join_element_wise(
        '{"index": ',
        _texts_of(history.index[event]),
        ', "time": ',
        _texts_of(history.time[event]),
        ', "process": ',
        processes.take(pa.array(history.process[event])),
        ', "type": ',
        types.take(pa.array(history.type[event])),
        ', "f": "send", "value": [["send", ',
        keys.take(pa.array(rows.key[simple])),
        ", ",
        pc.if_else(pa.array(rows.shape[simple] == SENT), value, pair),
        "]]}",
        "",
    )
    return lines.to_numpy(zero_copy_only=False)


def _texts_of(numbers: np.ndarray) -> pa.Array:
    return pa.array(numbers).cast(pa.string())
