"""The log of one client's polls: a file to which every poll appends one frame.

frame   a time, a kind and a length, then the body; all in 64-bit words.
        A frame of kind KEY_NAME gives the next key its number. The frames of a poll hold, for each
        key: its number, how many records, then their offsets and values.

Each frame is one `write` to a file opened for appending: whole, in order, and out of the
process's hands when the call returns.
"""

from __future__ import annotations

import os
import threading
from array import array
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from time import monotonic_ns

from brokerlab.errors import HistoryError

INVOKE_FRAME, OK_FRAME, FAIL_FRAME, INFO_FRAME, KEY_NAME = range(5)
FRAME_WORDS = 3
Records = Mapping[str, Iterable[tuple[int, int]]]


class PollLog:
    """Records every poll of one consumer: `invoke`, then `ok` (or `info`, `fail`) with records."""

    def __init__(self, folder: Path, process: int) -> None:
        name = f"{process}-{os.getpid()}-{os.urandom(4).hex()}.polls"
        self._file = os.open(
            folder / name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND, 0o644
        )
        os.write(self._file, array("q", [process]).tobytes())
        self._lock = threading.Lock()
        self._keys: dict[str, int] = {}

    def invoke(self) -> None:
        """A poll begins."""
        self._write(INVOKE_FRAME, array("q"))

    def ok(self, records: Records) -> None:
        """The poll returned `{"topic-partition": [(offset, value), ...]}`, possibly empty."""
        self._write(OK_FRAME, self._body(records))

    def fail(self, records: Records | None = None) -> None:
        """The poll certainly had no effect: its transaction was aborted."""
        self._write(FAIL_FRAME, self._body(records or {}))

    def info(self, records: Records | None = None) -> None:
        """Nobody knows whether the poll moved the consumer on."""
        self._write(INFO_FRAME, self._body(records or {}))

    def close(self) -> None:
        """Let go of the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _body(self, records: Records) -> array:
        body = array("q")
        for key, pairs in records.items():
            try:
                flat = array("q", chain.from_iterable(pairs))
            except (TypeError, OverflowError) as error:
                what = "an offset and a value that is a 64-bit integer"
                raise HistoryError(f"A record of {key} that was read is not {what}.") from error
            body.append(self._key(key))
            body.append(len(flat) // 2)
            body += flat
        return body

    def _key(self, name: str) -> int:
        code = self._keys.get(name)
        if code is None:
            with self._lock:
                if name not in self._keys:
                    text = name.encode()
                    padded = array("q", text + bytes(-len(text) % 8))
                    self._write(KEY_NAME, array("q", [len(text)]) + padded)
                    self._keys[name] = len(self._keys)
                code = self._keys[name]
        return code

    def _write(self, kind: int, body: array) -> None:
        if self._file < 0:
            raise HistoryError("This log of polls is closed.")
        frame = array("q", [monotonic_ns(), kind, len(body)]) + body
        data = memoryview(frame).cast("B")
        written = os.write(self._file, data)
        if written != len(data):
            raise HistoryError("The disk is full: a poll was recorded only in part.")
