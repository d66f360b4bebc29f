"""The columnar twin of a history: a flat Arrow table, kept as Parquet or Arrow IPC.

One line of the table for each row of the history, and one for each event that has no row:

    index, time (ns)      of the event; all lines of one event repeat them
    process, actor        the number of a client, or a name such as "nemesis"; the other is null
    type, f               as in the JSONL format
    mop                   position of the micro-operation in the event's value
    shape                 how the row was written, see `columns.py`; null without a row
    key, offset, value    what the row says; `text` holds, as JSON, a value that is no integer
    rest                  JSON of what has no column, on the first line of an event only

Nothing is lost on the way there and back.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from brokerlab.errors import HistoryError
from brokerlab.history.columns import (
    NO_KEY,
    NO_OFFSET,
    ODD,
    ODD_END,
    ROW_DTYPES,
    TYPES,
    History,
    Rows,
)
from brokerlab.history.folding import check_index_order

SHAPES = ("sent", "sent-at", "asked", "nothing", "no-records", "read", "item", "items")
_NAMES = pa.dictionary(pa.int32(), pa.string())
SCHEMA = pa.schema(
    [
        ("index", pa.int64()),
        ("time", pa.int64()),
        ("process", pa.int64()),
        ("actor", pa.string()),
        ("type", _NAMES),
        ("f", _NAMES),
        ("mop", pa.int32()),
        ("shape", _NAMES),
        ("key", _NAMES),
        ("offset", pa.int64()),
        ("value", pa.int64()),
        ("text", pa.string()),
        ("rest", pa.string()),
    ]
)


def to_table(history: History) -> pa.Table:
    """The history as an Arrow table, for Spark or for a file."""
    lone = np.setdiff1d(np.arange(len(history)), history.rows.event)
    event = np.concatenate([history.rows.event, lone])
    order = np.argsort(event, kind="stable")
    event = event[order]
    row = np.concatenate([np.arange(len(history.rows)), np.full(len(lone), -1)])[order]
    columns = {
        "index": pa.array(history.index[event]),
        "time": pa.array(history.time[event]),
        **_process_columns(history, event),
        "type": _named(history.type[event], TYPES),
        "f": _named(history.f[event], history.fs),
        **_row_columns(history, row),
        "rest": _rest_column(history, event),
    }
    return pa.table(columns, schema=SCHEMA)


def from_table(table: pa.Table) -> History:
    """The history that a table of this form holds."""
    missing = set(SCHEMA.names) - set(table.column_names)
    if missing:
        raise HistoryError(
            f"The table is no history: it has no column {', '.join(sorted(missing))}."
        )
    table = table.select(SCHEMA.names).cast(SCHEMA).unify_dictionaries().combine_chunks()
    index = _numpy(table["index"])
    starts = np.flatnonzero(np.concatenate([[True], np.diff(index) != 0])[: len(index)])
    processes, process = _processes(table, starts)
    fs, f = _decoded(table["f"], starts)
    types, kind = _decoded(table["type"], starts)
    kind_codes = np.array([_type_code(name) for name in types], dtype="i1")
    event = np.cumsum(np.bincount(starts, minlength=len(index))) - 1
    rows, keys, odd_values = _rows(table, event)
    rest = table["rest"].take(pa.array(starts)).to_pylist()
    history = History(
        index=index[starts],
        time=_numpy(table["time"])[starts],
        process=process,
        type=kind_codes[kind],
        f=f,
        rows=rows,
        processes=processes,
        fs=fs,
        keys=keys,
        odd_values=odd_values,
        rest={at: json.loads(text) for at, text in enumerate(rest) if text is not None},
    )
    check_index_order(history, "row {} of the table", starts)
    return history


def write_table(history: History, path: str | Path) -> None:
    """Write the twin: `.parquet`, or `.arrow` for Arrow IPC."""
    table = to_table(history)
    if Path(path).suffix == ".parquet":
        pq.write_table(table, path, compression="zstd")
        return
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def read_table(path: str | Path) -> History:
    """Read the twin from `.parquet` or `.arrow`."""
    try:
        if Path(path).suffix == ".parquet":
            table = pq.read_table(path)
        else:
            with pa.memory_map(str(path)) as source:
                table = pa.ipc.open_file(source).read_all()
    except (OSError, pa.ArrowException) as error:
        raise HistoryError(f"The history {path} cannot be read: {error}.") from error
    return from_table(table)


def _process_columns(history: History, event: np.ndarray) -> dict[str, pa.Array]:
    numbers = pa.array([p if type(p) is int else None for p in history.processes], pa.int64())
    actors = pa.array([p if type(p) is str else None for p in history.processes], pa.string())
    code = pa.array(history.process[event])
    return {"process": numbers.take(code), "actor": actors.take(code)}


def _row_columns(history: History, row: np.ndarray) -> dict[str, pa.Array]:
    rows, lone = history.rows, row < 0
    taken = {name: _taken(getattr(rows, name), row) for name in ROW_DTYPES}
    odd = (taken["value"] < ODD_END) & ~lone
    texts = pa.array(history.odd_values, pa.string())
    text_at = np.where(odd, taken["value"] - ODD, 0)
    return {
        "mop": pa.array(taken["mop"], mask=lone),
        "shape": _named(taken["shape"], SHAPES, lone),
        "key": _named(taken["key"], history.keys, lone | (taken["key"] == NO_KEY)),
        "offset": pa.array(taken["offset"], mask=lone | (taken["offset"] == NO_OFFSET)),
        "value": pa.array(taken["value"], mask=lone | odd),
        "text": texts.take(pa.array(text_at, mask=~odd)),
    }


def _rest_column(history: History, event: np.ndarray) -> pa.Array:
    texts = np.full(len(event), None, dtype=object)
    positions = sorted(history.rest)
    for position, at in zip(positions, np.searchsorted(event, positions), strict=True):
        texts[at] = json.dumps(history.rest[position])
    return pa.array(texts, pa.string())


def _taken(column: np.ndarray, row: np.ndarray) -> np.ndarray:
    return np.append(column, column.dtype.type(0))[row]  # row -1 takes the zero at the end


def _named(codes: np.ndarray, names: list | tuple, mask: np.ndarray | None = None) -> pa.Array:
    indices = pa.array(codes.astype("i4"), mask=mask)
    return pa.DictionaryArray.from_arrays(indices, pa.array(names, pa.string()))


def _numpy(column: pa.ChunkedArray, missing: int = 0) -> np.ndarray:
    return pc.fill_null(column, missing).to_numpy()


def _decoded(column: pa.ChunkedArray, at: np.ndarray | None = None) -> tuple[list[str], np.ndarray]:
    """The names a column uses and, for the lines `at`, which; -1 for null."""
    if column.num_chunks == 0:
        return [], np.empty(0, "i4")
    array = column.chunk(0)
    codes = pc.fill_null(array.indices, -1).to_numpy().astype("i4")
    return array.dictionary.to_pylist(), codes if at is None else codes[at]


def _processes(table: pa.Table, starts: np.ndarray) -> tuple[list[int | str], np.ndarray]:
    numbers = table["process"].take(pa.array(starts)).combine_chunks().dictionary_encode()
    actors = table["actor"].take(pa.array(starts)).combine_chunks().dictionary_encode()
    number = pc.fill_null(numbers.indices, -1).to_numpy()
    actor = pc.fill_null(actors.indices, -1).to_numpy()
    code = np.where(number >= 0, number, actor + len(numbers.dictionary)).astype("i4")
    return numbers.dictionary.to_pylist() + actors.dictionary.to_pylist(), code


def _rows(table: pa.Table, event: np.ndarray) -> tuple[Rows, list[str], list[str]]:
    shapes, shape = _decoded(table["shape"])
    keys, key = _decoded(table["key"])
    has_row = shape >= 0
    odd = table["text"].is_valid().to_numpy()
    texts = table["text"].combine_chunks().dictionary_encode()
    value = _numpy(table["value"])
    if odd.any():
        codes = pc.fill_null(texts.indices, 0).to_numpy().astype("i8")
        value = np.where(odd, ODD + codes, value)
    shape_codes = np.array([SHAPES.index(name) for name in shapes] + [0], dtype="i1")
    rows = Rows(
        event=event[has_row],
        mop=_numpy(table["mop"])[has_row].astype("i4"),
        shape=shape_codes[shape[has_row]],
        key=key[has_row],
        offset=_numpy(table["offset"], NO_OFFSET)[has_row],
        value=value[has_row],
    )
    return rows, keys, texts.dictionary.to_pylist()


def _type_code(name: str) -> int:
    if name not in TYPES:
        raise HistoryError(f'The table is no history: it holds an event of type "{name}".')
    return TYPES.index(name)
