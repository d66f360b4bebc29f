"""The recorder: one folder into which all clients and faults of a run write their history.

Any number of threads and processes may open a `Recorder` on the same folder. In it:

    clock.json       what turns the clock of the files into nanoseconds since 1970
    events.jsonl     faults, transactions, assignments, drains: one object a line, shared by all
    *.sends          sends, a file for each client and process (`sends.py`)
    *.polls          polls, a file for each consumer (`polls.py`)
    process-N        taken client numbers

All files carry times of the machine's one monotonic clock, so a clock that is set back reorders
nothing. An event has no index while it is recorded: `read_history`, `to_jsonl` and `to_table` sort
all events by time and number them 0, 1, 2 ... (events of the same nanosecond keep their order in
their file). That makes indexes unique and increasing without a lock between processes.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from brokerlab.errors import HistoryError
from brokerlab.history.columns import TYPES, History
from brokerlab.history.folders import CLOCK_FILE, EVENTS_FILE, is_folder, read_folder
from brokerlab.history.jsonl_writing import write_jsonl
from brokerlab.history.polls import PollLog
from brokerlab.history.sends import SendLog
from brokerlab.history.twin import write_table


class Recorder:
    """Writes a history into a folder; opening an existing one joins it."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        if not is_folder(self.folder):
            self._set_clock()
        flags = os.O_CREAT | os.O_WRONLY | os.O_APPEND
        self._events = os.open(self.folder / EVENTS_FILE, flags, 0o644)
        self._logs: list[SendLog | PollLog] = []

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def new_process(self) -> int:
        """A client number that nobody else has in this history."""
        number = 0
        while True:
            try:
                taken = os.open(self.folder / f"process-{number}", os.O_CREAT | os.O_EXCL, 0o644)
            except FileExistsError:
                number += 1
            else:
                os.close(taken)
                return number

    def sends(self, process: int, topic: str, f: str = "send") -> SendLog:
        """The log for what `process` sends to `topic`; for a queue give f="enqueue"."""
        log = SendLog(self.folder, process, topic, f)
        self._logs.append(log)
        return log

    def polls(self, process: int) -> PollLog:
        """The log for what `process` polls."""
        log = PollLog(self.folder, process)
        self._logs.append(log)
        return log

    def record(
        self, process: int | str, type: str, f: str, value: Any = None, **extra: Any
    ) -> None:
        """Write down any other event: a fault, a transaction, an assignment, a drain, a dequeue.

        It is on file when this returns. `extra` becomes further fields, such as error="...".
        """
        if type not in TYPES:
            raise HistoryError(f'The type of an event is one of {", ".join(TYPES)}, not "{type}".')
        op = {"time": time.monotonic_ns(), "process": process, "type": type, "f": f, "value": value}
        line = (json.dumps(op | extra) + "\n").encode()
        # One write to a file opened for appending: lines of other processes never get in between.
        if os.write(self._events, line) != len(line):
            raise HistoryError(f"The disk is full: an event of {self.folder} was written in part.")

    def read(self) -> History:
        """Everything recorded so far, by all who write here."""
        return read_folder(self.folder)

    def to_jsonl(self, path: str | Path) -> Path:
        """Write everything recorded so far as `.jsonl` or `.jsonl.gz`, for `brokerlab check`."""
        write_jsonl(self.read(), path)
        return Path(path)

    def to_table(self, path: str | Path) -> Path:
        """Write everything recorded so far as the columnar twin, `.parquet` or `.arrow`."""
        write_table(self.read(), path)
        return Path(path)

    def close(self) -> None:
        """Close this recorder and its logs; the folder stays."""
        for log in self._logs:
            log.close()
        self._logs = []
        if self._events >= 0:
            os.close(self._events)
            self._events = -1

    def _set_clock(self) -> None:
        epoch_ns = time.time_ns() - time.monotonic_ns()
        mine = self.folder / f".clock-{os.getpid()}-{os.urandom(4).hex()}"
        mine.write_text(json.dumps({"format": 1, "epoch_ns": epoch_ns}) + "\n")
        try:
            os.link(mine, self.folder / CLOCK_FILE)  # the first of several processes wins
        except FileExistsError:
            pass
        finally:
            mine.unlink()
