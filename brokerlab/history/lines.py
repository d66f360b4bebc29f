"""The common lines of a JSONL history, read many at a time.

One record sent, or one poll of one key: nearly every line of a large history looks like that.
Arrow's regular expressions pick such lines apart outside the interpreter and on every core. A line
that does not match, whatever the reason, is left to `folding.py`, which also names what is wrong.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from brokerlab.history.columns import (
    ASKED,
    NO_KEY,
    NO_OFFSET,
    NO_RECORDS,
    NOTHING,
    READ,
    SENT,
    SENT_AT,
    TYPES,
    History,
    Rows,
)

# Never more digits than 64 bits hold, no leading zeros: exactly what JSON and the columns take.
_NATURAL = r"(?:0|[1-9]\d{0,17}|[1-8]\d{18})"
_INTEGER = rf"(?:{_NATURAL}|-[1-9]\d{{0,17}})"
_KEY = r'"(?P<key>[^"\\\x00-\x1f]*)"'
_RECORD = rf"\[{_NATURAL}, ?{_INTEGER}\]"
_HEAD = (
    rf'^\{{"index": ?(?P<index>{_NATURAL}), ?"time": ?(?P<time>{_NATURAL}), '
    rf'?"process": ?(?P<process>{_NATURAL}), ?"type": ?"(?P<type>invoke|ok|fail|info)", ?"f": ?'
)
_SENT_VALUE = rf"(?:(?P<bare>{_INTEGER})|\[(?P<offset>{_NATURAL}), ?(?P<value>{_INTEGER})\])"
SEND_LINE = _HEAD + rf'"send", ?"value": ?\[\["send", ?{_KEY}, ?{_SENT_VALUE}\]\]\}}\n?$'
_POLLED = rf"{_KEY}: ?\[(?P<records>(?:{_RECORD}(?:, ?{_RECORD})*)?)\]"
POLL_LINE = (
    _HEAD + rf'"poll", ?"value": ?\[\["poll"(?P<answer>, ?\{{(?P<polled>{_POLLED})?\}})?\]\]\}}\n?$'
)


def line_ends(text: bytes) -> np.ndarray:
    """Where each line of `text` ends, behind its newline."""
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n")) + 1
    return ends if not text or text.endswith(b"\n") else np.append(ends, len(text))


def as_lines(text: bytes, ends: np.ndarray) -> pa.StringArray:
    """The lines of `text`, each with its newline, without copying them."""
    offsets = np.concatenate([[0], ends]).astype(np.int32)
    return pa.StringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(text))


def read_common(lines: pa.StringArray) -> tuple[list[History], list[np.ndarray], np.ndarray]:
    """Read the lines that match. Gives histories, where their events stood, and what is left."""
    everything = np.arange(len(lines))
    sends = pc.extract_regex(lines, SEND_LINE)
    matched = sends.is_valid().to_numpy(zero_copy_only=False)
    parts, places = [_sends(sends.drop_null())], [everything[matched]]
    left = everything[~matched]
    polls = pc.extract_regex(lines.take(pa.array(left)), POLL_LINE)
    matched = polls.is_valid().to_numpy(zero_copy_only=False)
    parts.append(_polls(polls.drop_null()))
    places.append(left[matched])
    return parts, places, left[~matched]


def _sends(found: pa.StructArray) -> History:
    bare = _filled(found, "bare")
    values = pc.if_else(bare, pc.struct_field(found, "bare"), pc.struct_field(found, "value"))
    offsets = pc.if_else(bare, str(NO_OFFSET), pc.struct_field(found, "offset"))
    keys, key = _encoded(pc.struct_field(found, "key"))
    rows = Rows(
        event=np.arange(len(found)),
        mop=np.zeros(len(found), "i4"),
        shape=np.where(bare.to_numpy(zero_copy_only=False), SENT, SENT_AT).astype("i1"),
        key=key,
        offset=_integers(offsets),
        value=_integers(values),
    )
    return _with_events(found, "send", rows, keys)


def _polls(found: pa.StructArray) -> History:
    keys, key = _encoded(pc.struct_field(found, "key"))
    texts = pc.struct_field(found, "records")
    counts = pc.count_substring(texts, "[").to_numpy()
    answer, polled = (_filled(found, name).to_numpy(False) for name in ("answer", "polled"))
    shape = np.select([counts > 0, polled, answer], [READ, NO_RECORDS, NOTHING], ASKED)
    numbers = _numbers(texts.filter(pc.not_equal(texts, "")))
    event = np.repeat(np.arange(len(found)), np.maximum(counts, 1))
    is_record = np.repeat(counts > 0, np.maximum(counts, 1))
    offset = np.full(len(event), NO_OFFSET, "i8")
    value = np.zeros(len(event), "i8")
    offset[is_record], value[is_record] = numbers[0::2], numbers[1::2]
    rows = Rows(
        event=event,
        mop=np.zeros(len(event), "i4"),
        shape=shape[event].astype("i1"),
        key=np.where(polled, key, NO_KEY).astype("i4")[event],
        offset=offset,
        value=value,
    )
    return _with_events(found, "poll", rows, keys)


def _numbers(texts: pa.Array) -> np.ndarray:
    """All numbers in texts such as "[41, 16], [42, 17]", one after the other."""
    if len(texts) == 0:
        return np.empty(0, "i8")
    together = ",".join(texts.to_pylist()).translate(str.maketrans("", "", "[] "))
    return _integers(pc.split_pattern(pa.array([together]), ",").flatten())


def _with_events(found: pa.StructArray, f: str, rows: Rows, keys: list[str]) -> History:
    processes, process = _encoded(pc.struct_field(found, "process"))
    types = pc.index_in(pc.struct_field(found, "type"), pa.array(TYPES))
    return History(
        index=_integers(pc.struct_field(found, "index")),
        time=_integers(pc.struct_field(found, "time")),
        process=process,
        type=types.to_numpy().astype("i1"),
        f=np.zeros(len(found), "i4"),
        rows=rows,
        processes=[int(name) for name in processes],
        fs=[f],
        keys=keys,
    )


def _filled(found: pa.StructArray, group: str) -> pa.BooleanArray:
    """Where an optional group of the expression matched: Arrow gives "" where it did not."""
    return pc.not_equal(pc.struct_field(found, group), "")


def _integers(texts: pa.Array) -> np.ndarray:
    return texts.cast(pa.int64()).to_numpy(zero_copy_only=False)


def _encoded(texts: pa.Array) -> tuple[list[str], np.ndarray]:
    encoded = texts.dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype("i4")
