"""Reads the folder that a `Recorder` wrote, also while it is written or after its writer died."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np

from brokerlab.errors import HistoryError
from brokerlab.history.columns import (
    ASKED,
    FAIL,
    INFO,
    INVOKE,
    ITEM,
    NO_KEY,
    NO_OFFSET,
    NO_RECORDS,
    NOTHING,
    OK,
    READ,
    SENT,
    SENT_AT,
    History,
    Rows,
    empty_rows,
    merge,
)
from brokerlab.history.folding import Folder
from brokerlab.history.polls import FRAME_WORDS, INVOKE_FRAME, KEY_NAME
from brokerlab.history.sends import (
    DONE_NS,
    DONE_PARTITION,
    ERROR,
    HEADER_BYTES,
    INVOKED_NS,
    OFFSET,
    OUTCOME,
    PARTITION,
    ROW_WORDS,
    VALUE,
)

CLOCK_FILE = "clock.json"
EVENTS_FILE = "events.jsonl"
UNKNOWN = "?"
_TYPE_OF_OUTCOME = np.array([OK, FAIL, INFO], dtype="i1")


def is_folder(path: str | Path) -> bool:
    """Whether a recorder has written here."""
    return (Path(path) / CLOCK_FILE).is_file()


def read_folder(folder: str | Path) -> History:
    """All events of a recorder's folder, sorted by time and numbered."""
    folder = Path(folder)
    if not is_folder(folder):
        raise HistoryError(f"{folder} holds no history: it has no {CLOCK_FILE}.")
    epoch_ns = json.loads((folder / CLOCK_FILE).read_text())["epoch_ns"]
    parts = [_read_events(folder / EVENTS_FILE)]
    for path in sorted(folder.glob("*.sends")):
        parts += _read_sends(path)
    parts += [_read_polls(path) for path in sorted(folder.glob("*.polls"))]
    history = merge(parts, [part.time for part in parts])
    history.time = history.time + epoch_ns
    history.index = np.arange(len(history))
    return history


def _read_events(path: Path) -> History:
    folder = Folder()
    lines = path.read_bytes().split(b"\n") if path.exists() else [b""]
    for number, line in enumerate(lines[:-1], 1):
        try:
            folder.add(json.loads(line), f"{path}: line {number}", indexed=False)
        except ValueError as error:
            raise HistoryError(f"{path}: line {number}: not a JSON object.") from error
    if lines[-1]:
        warnings.warn(f"{path}: the last line is half-written; dropped.", stacklevel=2)
    return folder.history()


def _read_sends(path: Path) -> list[History]:
    """The invokes of a segment, and the completions."""
    with path.open("rb") as file:
        header = json.loads(file.read(HEADER_BYTES).rstrip(b"\0") or b"null")
        if header is None:  # killed between making the file and writing its header
            return []
        words = np.fromfile(file, dtype="i8")
    table = words[: len(words) // ROW_WORDS * ROW_WORDS].reshape(-1, ROW_WORDS)
    # Copied, because a writer that lives on may complete rows while we look.
    table = table[table[:, INVOKED_NS] != 0]
    done = table[table[:, DONE_NS] != 0]
    invokes = _send_events(header, table, np.full(len(table), INVOKE, "i1"), INVOKED_NS)
    types = _TYPE_OF_OUTCOME[done[:, OUTCOME]]
    completions = _send_events(header, done, types, DONE_NS)
    completions.rest = _errors(path.parent / header["errors"], done[:, ERROR])
    return [invokes, completions]


def _send_events(header: dict, table: np.ndarray, types: np.ndarray, time_word: int) -> History:
    count = len(table)
    offset = np.where(types == INVOKE, NO_OFFSET, table[:, OFFSET])
    if header["f"] == "send":
        keys, key = _keys_of(header["topic"], table)
        shape = np.where(offset == NO_OFFSET, SENT, SENT_AT)
    else:
        keys, key = [header["topic"]], np.zeros(count, "i4")
        offset, shape = np.full(count, NO_OFFSET), np.full(count, ITEM)
    rows = Rows(
        event=np.arange(count),
        mop=np.zeros(count, "i4"),
        shape=shape.astype("i1"),
        key=key,
        offset=offset.astype("i8"),
        value=table[:, VALUE],
    )
    return History(
        index=np.zeros(count, "i8"),
        time=table[:, time_word],
        process=np.zeros(count, "i4"),
        type=types,
        f=np.zeros(count, "i4"),
        rows=rows,
        processes=[header["process"]],
        fs=[header["f"]],
        keys=keys,
    )


def _keys_of(topic: str, table: np.ndarray) -> tuple[list[str], np.ndarray]:
    """The key of each row. The broker's word comes first, then the caller's, then "?"."""
    told = table[:, DONE_PARTITION] * (table[:, DONE_NS] != 0)
    partition = np.where(told > 0, told, table[:, PARTITION]) - 1
    partitions, key = np.unique(partition, return_inverse=True)
    names = [f"{topic}-{number if number >= 0 else UNKNOWN}" for number in partitions.tolist()]
    return names, key.astype("i4")


def _errors(path: Path, codes: np.ndarray) -> dict[int, dict]:
    failed = np.flatnonzero(codes)
    if len(failed) == 0:
        return {}
    texts = [json.loads(line) for line in path.read_text().splitlines()]
    return {int(at): {"error": texts[codes[at] - 1]} for at in failed}


def _read_polls(path: Path) -> History:
    words = np.fromfile(path, dtype="i8")
    events: list[tuple[int, int]] = []
    rows: list[Rows] = []
    keys: list[str] = []
    at = 1
    while at + FRAME_WORDS <= len(words):
        time_ns, kind, length = words[at : at + FRAME_WORDS].tolist()
        body = words[at + FRAME_WORDS : at + FRAME_WORDS + length]
        if len(body) < length:
            warnings.warn(f"{path}: the last poll is half-written; dropped.", stacklevel=2)
            break
        at += FRAME_WORDS + length
        if kind == KEY_NAME:
            keys.append(body[1:].tobytes()[: int(body[0])].decode())
            continue
        rows += _poll_rows(len(events), kind, body)
        events.append((time_ns, kind))
    times, kinds = np.array(events, dtype="i8").reshape(-1, 2).T
    count = len(events)
    return History(
        index=np.zeros(count, "i8"),
        time=times,
        process=np.zeros(count, "i4"),
        type=kinds.astype("i1"),
        f=np.zeros(count, "i4"),
        rows=_joined(rows),
        processes=words[:1].tolist() or [0],
        fs=["poll"],
        keys=keys,
    )


def _poll_rows(event: int, kind: int, body: np.ndarray) -> list[Rows]:
    if len(body) == 0:
        shape = ASKED if kind == INVOKE_FRAME else NOTHING
        return [_run(event, shape, NO_KEY, np.array([NO_OFFSET, 0]))]
    runs, at = [], 0
    while at < len(body):
        key, count = body[at : at + 2].tolist()
        pairs = body[at + 2 : at + 2 + 2 * count]
        at += 2 + 2 * count
        empty = count == 0
        shape = NO_RECORDS if empty else READ
        runs.append(_run(event, shape, key, np.array([NO_OFFSET, 0]) if empty else pairs))
    return runs


def _run(event: int, shape: int, key: int, pairs: np.ndarray) -> Rows:
    count = len(pairs) // 2
    return Rows(
        event=np.full(count, event, "i8"),
        mop=np.zeros(count, "i4"),
        shape=np.full(count, shape, "i1"),
        key=np.full(count, key, "i4"),
        offset=pairs[0::2],
        value=pairs[1::2],
    )


def _joined(parts: list[Rows]) -> Rows:
    if not parts:
        return empty_rows()
    return Rows(**{name: np.concatenate([vars(p)[name] for p in parts]) for name in vars(parts[0])})
