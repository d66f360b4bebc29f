"""What clients asked and were told, kept so that nothing a client saw can be forgotten.

history    an append-only record of events: `invoke`, then `ok`, `fail` (certainly did not
           happen) or `info` (nobody knows). The format is in DESIGN.md under Contracts.
recorder   what clients and faults write a history with (`Recorder`).
twin       the same history as a flat table, for millions of events and for Spark.

A key is `topic-partition`. Where a client chose the partition itself and never told it, because
no answer came, the key is `topic-?`: some partition of that topic.

    >>> with Recorder("run.history") as recorder:
    ...     log = recorder.sends(recorder.new_process(), "orders")
    ...     handle = log.invoke(17, partition=0)   # on file before the send leaves
    ...     log.ok(handle, offset=42)              # from the delivery callback
    ...     recorder.to_jsonl("run.jsonl")
"""

from __future__ import annotations

from pathlib import Path

from brokerlab.errors import HistoryError
from brokerlab.history.columns import History
from brokerlab.history.folders import is_folder, read_folder
from brokerlab.history.jsonl import read_jsonl
from brokerlab.history.jsonl_writing import write_jsonl
from brokerlab.history.polls import PollLog
from brokerlab.history.recorder import Recorder
from brokerlab.history.sends import SendLog
from brokerlab.history.twin import from_table, read_table, to_table, write_table

__all__ = [
    "History",
    "PollLog",
    "Recorder",
    "SendLog",
    "from_table",
    "read_history",
    "read_jsonl",
    "to_table",
    "write_history",
    "write_jsonl",
    "write_table",
]

_TABLES = (".parquet", ".arrow")


def read_history(path: str | Path) -> History:
    """Read a history: `.jsonl`, `.jsonl.gz`, `.parquet`, `.arrow`, or a recorder's folder."""
    path = Path(path)
    if not path.exists():
        raise HistoryError(f"There is no history {path}.")
    if path.is_dir():
        if not is_folder(path):
            raise HistoryError(f"{path} is a folder without a history in it.")
        return read_folder(path)
    return read_table(path) if path.suffix in _TABLES else read_jsonl(path)


def write_history(history: History, path: str | Path) -> None:
    """Write a history as `.jsonl`, `.jsonl.gz`, `.parquet` or `.arrow`."""
    write = write_table if Path(path).suffix in _TABLES else write_jsonl
    write(history, path)
