"""Fold: from an object of the JSONL format to columns. `unfolding.py` is the way back.

This is the slow, complete way: it takes every shape the format allows and says what is wrong
with the others. The common lines of large files go through `lines.py` instead.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from brokerlab.errors import HistoryError
from brokerlab.history.columns import (
    ASKED,
    EVENT_DTYPES,
    ITEM,
    ITEMS,
    MOP_OPERATIONS,
    NEMESIS,
    NO_KEY,
    NO_OFFSET,
    NO_RECORDS,
    NOTHING,
    ODD,
    ODD_END,
    QUEUE_OPERATIONS,
    READ,
    ROW_DTYPES,
    SENT,
    SENT_AT,
    TYPES,
    History,
    Rows,
)

INTEGER_END = 2**63
_TYPE_CODES = {name: code for code, name in enumerate(TYPES)}
_FIELDS = frozenset({"index", "time", "process", "type", "f"})
_ABSENT = object()


class Folder:
    """Folds objects into columns, one after the other."""

    def __init__(self) -> None:
        self._events: list[tuple] = []
        self._rows: list[tuple] = []
        self._codes: dict[str, dict] = {"process": {}, "f": {}, "key": {}, "odd": {}}
        self._rest: dict[int, dict[str, Any]] = {}

    def __len__(self) -> int:
        return len(self._events)

    def add(self, op: Any, where: str, indexed: bool = True) -> None:
        """Fold one object. `where` names it in an error; without `indexed` it needs no index."""
        if not isinstance(op, dict):
            raise HistoryError(f"{where}: an event is a JSON object, not {_shown(op)}.")
        index = _natural(op, "index", where) if indexed else 0
        time_ns = _natural(op, "time", where)
        kind = _TYPE_CODES.get(op["type"]) if isinstance(op.get("type"), str) else None
        if kind is None:
            raise HistoryError(f'{where}: "type" is one of {", ".join(TYPES)}; {_has(op, "type")}.')
        f, process = op.get("f"), op.get("process")
        if not isinstance(f, str):
            raise HistoryError(f'{where}: "f" is the name of an operation; {_has(op, "f")}.')
        if not isinstance(process, str) and not _is_integer(process):
            what = 'the number of a client, or "nemesis"'
            raise HistoryError(f'{where}: "process" is {what}; {_has(op, "process")}.')
        value = op.get("value", _ABSENT)
        if process != NEMESIS and f in MOP_OPERATIONS:
            self._add_mops(value, where)
            value = _ABSENT
        elif process != NEMESIS and f in QUEUE_OPERATIONS:
            value = self._add_items(value, op.get("queue"), where)
        self._keep_rest(op, f, value)
        self._events.append(
            (index, time_ns, self._code("process", process), kind, self._code("f", f))
        )

    def history(self) -> History:
        """What was folded so far."""
        events = _columns(self._events, EVENT_DTYPES)
        rows = Rows(**_columns(self._rows, ROW_DTYPES))
        tables = {name: list(codes) for name, codes in self._codes.items()}
        return History(
            **events,
            rows=rows,
            processes=tables["process"],
            fs=tables["f"],
            keys=tables["key"],
            odd_values=tables["odd"],
            rest=self._rest,
        )

    def _keep_rest(self, op: dict, f: str, value: Any) -> None:
        queue_in_column = f in QUEUE_OPERATIONS and value is _ABSENT and "value" in op
        rest = {
            name: field
            for name, field in op.items()
            if name not in _FIELDS
            and name != "value"
            and not (queue_in_column and name == "queue" and isinstance(field, str))
        }
        if value is not _ABSENT:
            rest["value"] = value
        if rest:
            self._rest[len(self._events)] = rest

    def _add_mops(self, value: Any, where: str) -> None:
        if not isinstance(value, list):
            raise HistoryError(
                f'{where}: the "value" of send, poll and txn is a list of micro-operations such as '
                f'["send", "orders-0", 17]; this is {_shown(value)}.'
            )
        for position, mop in enumerate(value):
            if not isinstance(mop, list) or not mop:
                raise HistoryError(f"{where}: {_shown(mop)} is not a micro-operation.")
            if mop[0] == "send" and len(mop) == 3 and isinstance(mop[1], str):
                self._add_send(position, mop, where)
            elif mop[0] == "poll" and len(mop) <= 2:
                self._add_poll(position, mop[1] if len(mop) == 2 else _ABSENT, where)
            else:
                raise HistoryError(
                    f'{where}: {_shown(mop)} is neither ["send", key, value] nor ["poll", records].'
                )

    def _add_send(self, position: int, mop: list, where: str) -> None:
        key = self._code("key", mop[1])
        if isinstance(mop[2], list):
            offset, value = self._pair(mop[2], where)
            self._row(position, SENT_AT, key, offset, value)
        else:
            self._row(position, SENT, key, NO_OFFSET, self._value(mop[2], where))

    def _add_poll(self, position: int, records: Any, where: str) -> None:
        if records is _ABSENT:
            self._row(position, ASKED, NO_KEY, NO_OFFSET, 0)
            return
        if not isinstance(records, dict):
            raise HistoryError(
                f"{where}: a poll returns {{key: [[offset, value], ...]}}, not {_shown(records)}."
            )
        if not records:
            self._row(position, NOTHING, NO_KEY, NO_OFFSET, 0)
        for name, pairs in records.items():
            key = self._code("key", name)
            if not isinstance(pairs, list):
                raise HistoryError(f"{where}: {_shown(pairs)} is not a list of [offset, value].")
            if not pairs:
                self._row(position, NO_RECORDS, key, NO_OFFSET, 0)
            for pair in pairs:
                offset, value = self._pair(pair, where)
                self._row(position, READ, key, offset, value)

    def _add_items(self, value: Any, queue: Any, where: str) -> Any:
        """Fold the value of a queue operation; give back what does not fit the columns."""
        if value is _ABSENT or value is None or value == [] or isinstance(value, dict):
            return value
        key = self._code("key", queue) if isinstance(queue, str) else NO_KEY
        if not isinstance(value, list):
            self._row(0, ITEM, key, NO_OFFSET, self._value(value, where))
            return _ABSENT
        for position, item in enumerate(value):
            self._row(position, ITEMS, key, NO_OFFSET, self._value(item, where))
        return _ABSENT

    def _pair(self, pair: Any, where: str) -> tuple[int, int]:
        if not isinstance(pair, list) or len(pair) != 2:
            raise HistoryError(f"{where}: {_shown(pair)} is not [offset, value].")
        offset, value = pair
        if offset is None:
            return NO_OFFSET, self._value(value, where)
        if not _is_integer(offset) or offset < 0:
            raise HistoryError(
                f"{where}: {_shown(offset)} is not an offset; an unknown one is null."
            )
        return offset, self._value(value, where)

    def _value(self, value: Any, where: str) -> int:
        if _is_integer(value) and value >= ODD_END:
            return value
        if isinstance(value, list | dict):
            raise HistoryError(f"{where}: {_shown(value)} is not a value: use a number or a text.")
        return ODD + self._code("odd", json.dumps(value))

    def _row(self, position: int, shape: int, key: int, offset: int, value: int) -> None:
        self._rows.append((len(self._events), position, shape, key, offset, value))

    def _code(self, table: str, name: Any) -> int:
        codes = self._codes[table]
        return codes.setdefault(name, len(codes))


def check_index_order(history: History, where: str, positions: np.ndarray) -> None:
    """Refuse indexes that repeat or go back: sorting them would guess at what happened.

    `where` is a format such as "line {}", filled with the position of the offending event.
    """
    bad = np.flatnonzero(np.diff(history.index) <= 0)
    if len(bad) == 0:
        return
    before, this = (int(history.index[bad[0] + step]) for step in (0, 1))
    place = where.format(int(positions[bad[0] + 1]))
    what = "appears twice" if this == before else f"comes after index {before}"
    raise HistoryError(f"{place}: index {this} {what}; indexes only ever increase.")


def _columns(rows: list[tuple], dtypes: dict[str, str]) -> dict[str, np.ndarray]:
    if not rows:
        return {name: np.empty(0, dtype) for name, dtype in dtypes.items()}
    columns = zip(*rows, strict=True)
    return {
        name: np.array(column, dtype=dtype)
        for (name, dtype), column in zip(dtypes.items(), columns, strict=True)
    }


def _natural(op: dict, name: str, where: str) -> int:
    number = op.get(name)
    if not _is_integer(number) or number < 0:
        raise HistoryError(f'{where}: "{name}" is a whole number; {_has(op, name)}.')
    return number


def _is_integer(value: Any) -> bool:
    return type(value) is int and -INTEGER_END <= value < INTEGER_END


def _has(op: dict, name: str) -> str:
    return f"this event has {_shown(op[name])}" if name in op else "this event has none"


def _shown(value: Any) -> str:
    if value is _ABSENT:
        return "missing"
    text = json.dumps(value, default=repr)
    return text if len(text) <= 60 else text[:57] + "..."
