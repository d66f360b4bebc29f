"""The log of one client's sends: a memory-mapped file that outlives a killed writer.

row       eight 64-bit words for one record: what was asked, and later what was told.
handle    the number by which a row is completed.
segment   one file of rows. A full one is followed by another.

A store into a shared memory map is in the kernel's hands at once: after `invoke` has returned, a
`kill -9` cannot take the row away (only the machine's own crash can). The time is written last and
a row without a time does not count, so nothing is ever half there.

Threads may share a log: the next row comes from an `itertools.count`, which the interpreter lock
makes atomic. A forked child goes on in a file of its own.
"""

from __future__ import annotations

import json
import mmap
import os
import threading
import weakref
from collections.abc import Sequence
from itertools import count, islice
from pathlib import Path
from time import monotonic_ns

import numpy as np

from brokerlab.errors import HistoryError

HEADER_BYTES = 4096
ROW_WORDS = 8
SEGMENT_BITS = 21
SEGMENT_WORDS = 1 << SEGMENT_BITS  # 262,144 rows, 16 MB; the file is sparse
SEGMENT_MASK = SEGMENT_WORDS - 1

# The words of a row. Partitions are stored plus one and `ok` is stored as zero: a fresh page
# is all zeros, so the commonest row needs the fewest stores.
INVOKED_NS, VALUE, PARTITION, DONE_NS, OUTCOME, OFFSET, DONE_PARTITION, ERROR = range(ROW_WORDS)
OUTCOME_OK, OUTCOME_FAIL, OUTCOME_INFO = range(3)
UNKNOWN_PARTITION = -1
UNKNOWN_OFFSET = -1


class _Segment:
    """One mapped file; `free` gives the first word of the next free row."""

    __slots__ = ("base", "free", "map", "table", "words")

    def __init__(self, path: Path, header: bytes, base: int) -> None:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o644)
        try:
            size = HEADER_BYTES + 8 * SEGMENT_WORDS
            os.ftruncate(descriptor, size)
            self.map = mmap.mmap(descriptor, size)
        finally:
            os.close(descriptor)
        self.map[: len(header)] = header
        self.words = memoryview(self.map)[HEADER_BYTES:].cast("q")
        self.table = np.frombuffer(self.words, dtype="i8").reshape(-1, ROW_WORDS)
        self.free = count(0, ROW_WORDS)
        self.base = base


class SendLog:
    """Records what became of every record one client sends to one topic (or queue).

    `invoke` before the send, then one of `ok`, `fail`, `info` with the handle it gave. A record
    that gets none of them has an unknown fate, which the checker takes for `info`.
    """

    def __init__(self, folder: Path, process: int, topic: str, f: str = "send") -> None:
        self._folder = folder
        self._name = {"process": process, "topic": topic, "f": f}
        self._lock = threading.Lock()
        self._segments: list[memoryview] = []
        self._held: list[_Segment] = []
        self._errors: dict[str, int] = {}
        self._segment = self._open_segment()
        _living.add(self)

    def invoke(self, value: int, partition: int = UNKNOWN_PARTITION, *, _clock=monotonic_ns) -> int:
        """Write down that `value` is about to be sent. It is on file when this returns.

        Leave the partition out when the client will choose it: the completion then says it.
        """
        segment = self._segment
        at = next(segment.free)
        words = segment.words
        try:
            words[at + 1] = value
            if partition >= 0:
                words[at + 2] = partition + 1
            words[at] = _clock()
        except IndexError:
            self._follow(segment)
            return self.invoke(value, partition)
        except (TypeError, ValueError) as error:
            raise HistoryError(f"A recorded value is a 64-bit integer, not {value!r}.") from error
        return segment.base + at

    def invoke_many(
        self, values: Sequence[int] | np.ndarray, partition: int = UNKNOWN_PARTITION
    ) -> list[int]:
        """Write down a batch that is about to be sent, all at this moment; give the handles."""
        values = np.asarray(values, dtype="i8")
        segment = self._segment
        # islice runs inside the interpreter's lock from end to end: the rows are consecutive.
        handles = list(islice(segment.free, len(values)))
        fitting = [at for at in handles if at < SEGMENT_WORDS]
        if fitting:
            table = segment.table[fitting[0] // ROW_WORDS :][: len(fitting)]
            table[:, VALUE] = values[: len(fitting)]
            table[:, PARTITION] = max(partition, UNKNOWN_PARTITION) + 1
            table[:, INVOKED_NS] = monotonic_ns()
        done = [segment.base + at for at in fitting]
        if len(fitting) == len(values):
            return done
        self._follow(segment)
        return done + self.invoke_many(values[len(fitting) :], partition)

    def ok(
        self,
        handle: int,
        offset: int = UNKNOWN_OFFSET,
        partition: int = UNKNOWN_PARTITION,
        *,
        _clock=monotonic_ns,
    ) -> None:
        """The broker acknowledged the record, at this offset if it told one."""
        words = self._segments[handle >> SEGMENT_BITS]
        at = handle & SEGMENT_MASK
        words[at + 5] = offset
        words[at + 6] = partition + 1
        words[at + 3] = _clock()

    def fail(self, handle: int, error: str = "", partition: int = UNKNOWN_PARTITION) -> None:
        """The record certainly was not, and never will be, written."""
        self._complete(handle, OUTCOME_FAIL, UNKNOWN_OFFSET, partition, error)

    def info(
        self,
        handle: int,
        error: str = "",
        offset: int = UNKNOWN_OFFSET,
        partition: int = UNKNOWN_PARTITION,
    ) -> None:
        """Nobody knows what became of the record: a timeout, a lost connection."""
        self._complete(handle, OUTCOME_INFO, offset, partition, error)

    def close(self) -> None:
        """Let go of the files. What was recorded stays; rows without an answer stay open."""
        with self._lock:
            held, self._held = self._held, []
            self._segments = []
            self._segment = _closed_segment()
            for segment in held:
                segment.table = None
                segment.words.release()
                segment.map.close()

    def _complete(self, handle: int, outcome: int, offset: int, partition: int, error: str) -> None:
        words = self._segments[handle >> SEGMENT_BITS]
        at = handle & SEGMENT_MASK
        words[at + OUTCOME] = outcome
        words[at + OFFSET] = offset
        words[at + DONE_PARTITION] = partition + 1
        words[at + ERROR] = self._error_code(error) if error else 0
        words[at + DONE_NS] = monotonic_ns()

    def _error_code(self, error: str) -> int:
        """The number under which this log knows an error; a new one is on file before it is used."""
        with self._lock:
            if error not in self._errors:
                with (self._folder / f"{self._stem()}.errors").open("a") as file:
                    file.write(json.dumps(error) + "\n")
                self._errors[error] = len(self._errors) + 1
            return self._errors[error]

    def _follow(self, full: _Segment) -> None:
        """Open the segment after `full`, unless another thread has."""
        with self._lock:
            if not self._held:
                raise HistoryError("This log of sends is closed.")
            if self._segment is full:
                self._segment = self._open_segment()

    def _open_segment(self) -> _Segment:
        number = len(self._segments)
        if number == 0:
            self._unique = f"{os.getpid()}-{os.urandom(4).hex()}"
        header = json.dumps(self._name | {"errors": f"{self._stem()}.errors"}).encode()
        path = self._folder / f"{self._stem()}-{number:04}.sends"
        segment = _Segment(path, header, number << SEGMENT_BITS)
        self._segments.append(segment.words)
        self._held.append(segment)
        return segment

    def _stem(self) -> str:
        return f"{self._name['process']}-{self._unique}"

    def _after_fork(self) -> None:
        """In a forked child: share no free row with the parent. Handles stay good."""
        self._lock = threading.Lock()
        if self._held:
            self._unique = f"{os.getpid()}-{os.urandom(4).hex()}"
            self._errors = {}
            self._segment = self._open_segment()


class _Closed:
    """Stands in for the segment of a closed log: it has no room."""

    __slots__ = ("base", "free", "table", "words")


def _closed_segment() -> _Closed:
    closed = _Closed()
    closed.words = memoryview(b"").cast("q")
    closed.free = count(SEGMENT_WORDS, ROW_WORDS)
    closed.base = 0
    return closed


_living: weakref.WeakSet[SendLog] = weakref.WeakSet()


def _each_after_fork() -> None:
    for log in list(_living):
        log._after_fork()


os.register_at_fork(after_in_child=_each_after_fork)
