"""Histories as files of one JSON object a line, gzip or not: read here.

A last line that a killed writer left half-written is dropped with a warning. Everything else
that is not as DESIGN.md says raises HistoryError and names the line. Indexes must increase from
line to line: a file whose indexes repeat or go back is refused rather than sorted.
"""

from __future__ import annotations

import gzip
import json
import warnings
import zlib
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from brokerlab.errors import HistoryError
from brokerlab.history.columns import History, merge
from brokerlab.history.folding import Folder, check_index_order
from brokerlab.history.lines import as_lines, line_ends, read_common

CHUNK_BYTES = 8_000_000
READERS = 2
GZIP_MAGIC = b"\x1f\x8b"


@dataclass
class _Chunk:
    """Whole lines of a file. `last` when nothing follows."""

    text: bytes
    first_line: int
    last: bool


def read_jsonl(path: str | Path) -> History:
    """Read a `.jsonl` history; gzip is told by its first bytes, not by its name."""
    path = Path(path)
    parts: list[History] = []
    places: list[np.ndarray] = []
    for chunk_parts, chunk_places in _read_in_parallel(path):
        parts += chunk_parts
        places += chunk_places
    history = merge(parts, places)
    lines = np.sort(np.concatenate(places)) if places else np.empty(0, "i8")
    check_index_order(history, f"{path}: line {{}}", lines)
    return history


def _read_in_parallel(path: Path) -> Iterator[tuple[list[History], list[np.ndarray]]]:
    """Read the chunks on two threads, a few ahead, and give them back in order."""
    with ThreadPoolExecutor(READERS) as pool:
        waiting: deque = deque()
        for chunk in _chunks(path):
            waiting.append(pool.submit(_read_chunk, chunk, path))
            if len(waiting) > 2 * READERS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _read_chunk(chunk: _Chunk, path: Path) -> tuple[list[History], list[np.ndarray]]:
    ends = line_ends(chunk.text)
    parts, places, left = read_common(as_lines(chunk.text, ends))
    starts = np.concatenate([[0], ends])
    last = chunk.text.rstrip().count(b"\n") if chunk.last else None
    folder, folded = Folder(), []
    for position in left.tolist():
        where = f"{path}: line {chunk.first_line + position}"
        op = _decode(chunk.text[starts[position] : ends[position]], where, position == last)
        if op is not None:
            folder.add(op, where)
            folded.append(position)
    parts.append(folder.history())
    places.append(np.array(folded, dtype="i8"))
    return parts, [place + chunk.first_line for place in places]


def _decode(line: bytes, where: str, is_last: bool) -> object:
    """The object on a line; None for a blank line and for a half-written last one."""
    if not line.strip():
        return None
    try:
        return json.loads(line)
    except ValueError as error:
        torn = not line.endswith(b"\n") or not line.rstrip().endswith(b"}")
        if is_last and torn and line.startswith(b"{"):
            warnings.warn(
                f"{where}: half-written, as a killed writer leaves it; dropped.", stacklevel=2
            )
            return None
        raise HistoryError(f"{where}: not a JSON object: {_one_line(line)}") from error


def _one_line(line: bytes) -> str:
    text = line.decode("utf-8", "replace").strip()
    return text if len(text) <= 60 else text[:57] + "..."


def _chunks(path: Path) -> Iterator[_Chunk]:
    """The file in pieces of whole lines; only the piece with the last text is `last`."""
    held: _Chunk | None = None
    line = 1
    for text in _whole_lines(_pieces(path)):
        if held is not None and text.strip():
            yield held
            held = None
        if text.strip():
            held = _Chunk(text, line, last=False)
        line += text.count(b"\n")
    if held is not None:
        held.last = True
        yield held


def _whole_lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    begun: list[bytes] = []
    for piece in pieces:
        cut = piece.rfind(b"\n") + 1
        begun.append(piece[:cut] if cut else piece)
        if cut:
            yield b"".join(begun)
            begun = [piece[cut:]]
    yield b"".join(begun)


def _pieces(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            zipped = file.read(2) == GZIP_MAGIC
            file.seek(0)
            if zipped:
                yield from _unzipped(gzip.GzipFile(fileobj=file), path)
            else:
                while piece := file.read(CHUNK_BYTES):
                    yield piece
    except OSError as error:
        why = error.strerror or str(error)
        raise HistoryError(f"The history {path} cannot be read: {why}.") from error


def _unzipped(file: gzip.GzipFile, path: Path) -> Iterator[bytes]:
    # read1, not read: it hands over what it has before it finds that the end is missing.
    begun: list[bytes] = []
    size = 0
    try:
        while piece := file.read1(1_000_000):
            begun.append(piece)
            size += len(piece)
            if size >= CHUNK_BYTES:
                yield b"".join(begun)
                begun, size = [], 0
    except EOFError:
        warnings.warn(
            f"{path}: the gzip stream has no end, as a killed writer leaves it.", stacklevel=2
        )
    except (zlib.error, gzip.BadGzipFile) as error:
        raise HistoryError(f"The history {path} is damaged: {error}.") from error
    yield b"".join(begun)
