"""What a history tells a picture: when a fault lasted, and what clients were told when.

A *row* is a dictionary; data frames are taken apart into rows. A *fault* is a time during which
something was broken, in seconds from the history's first event.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

DONE = {
    "kill": "killed",
    "pause": "paused",
    "cut": "cut off",
    "slow": "slowed",
    "stop": "stopped",
    "crash": "crashed",
    "partition": "cut off",
}
HEALS = {"heal", "resume", "restart", "recover", "healed", "unpause", "end"}


class Fault(NamedTuple):
    """A time during which something was broken; end_s None: until the end of the picture."""

    start_s: float
    end_s: float | None = None
    label: str = ""


def rows_of(data: object) -> list:
    """The rows of a list, any iterable or a pandas data frame."""
    if data is None:
        return []
    if hasattr(data, "to_dict") and hasattr(data, "columns"):
        return data.to_dict("records")
    return list(data)


def absent(value: object) -> bool:
    """None, or what pandas makes of it."""
    return value is None or value != value


def as_faults(faults: object) -> list[Fault]:
    """Faults given as tuples, as dictionaries or as Fault."""
    found = []
    for fault in rows_of(faults):
        if isinstance(fault, Mapping):
            end_s = fault.get("end_s")
            fault = (fault["start_s"], None if absent(end_s) else end_s, fault.get("label") or "")
        found.append(Fault(*fault))
    return found


def fault_words(faults: Iterable[Fault]) -> str:
    """The faults as a sentence for the description."""
    words = []
    for fault in faults:
        until = "the end" if fault.end_s is None else f"{fault.end_s:.1f} s"
        words.append(f"{fault.label or 'fault'} from {fault.start_s:.1f} s to {until}")
    return f"Shaded: {'; '.join(words)}" if words else ""


def many(number: int, thing: str) -> str:
    """1 key, 2 keys, 1,000 keys."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def start_of(events: Iterable[Mapping]) -> int:
    """The time of the first event in nanoseconds: zero on every time axis."""
    return min((event["time"] for event in events), default=0)


def faults_in(events: object) -> list[Fault]:
    """The faults that the nemesis wrote into a history.

    A fault begins with an event such as `kill` of a node. It ends with an event that heals that
    node (`heal`, `resume`, `start` ...) or says `stop`; failing that with the last further event
    of the same name; failing that never.
    """
    events = rows_of(events)
    zero = start_of(events)
    log = sorted((e for e in events if e["process"] == "nemesis"), key=lambda e: e["time"])
    open_now: dict[str, list] = {}
    closed: list[Fault] = []
    for event in log:
        seconds = (event["time"] - zero) / 1e9
        verb, node, phase = _read_nemesis(event)
        running = _matching(open_now, verb, node)
        if running is None:
            if phase != "end":
                open_now[node] = [verb, seconds, None]
        elif phase == "end":
            begun_verb, begun_s, _ = open_now.pop(running)
            closed.append(Fault(begun_s, seconds, _label(begun_verb, running)))
        elif open_now[running][0] == verb:
            open_now[running][2] = seconds
    closed += [Fault(start, end, _label(verb, n)) for n, (verb, start, end) in open_now.items()]
    return sorted(closed)


def _read_nemesis(event: Mapping) -> tuple[str, str, str]:
    """(verb, node, phase) of a nemesis event; the phase is begin, end or unknown."""
    value, verb, phase = event.get("value"), str(event["f"]), ""
    if isinstance(value, Mapping):
        phase = str(value.get("phase") or "")
        verb = str(value.get("fault") or verb)
        value = value.get("node") or value.get("nodes")
    for separator in ("-", ":", "_"):
        head, _, tail = verb.partition(separator)
        if tail in ("start", "stop", "begin", "end"):
            verb, phase = head, tail
    if verb in HEALS or verb == "start" or phase in ("stop", "end") or event["f"] in HEALS:
        phase = "end"
    node = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value or "")
    return verb, node, "end" if phase == "end" else "begin"


def _matching(open_now: Mapping[str, list], verb: str, node: str) -> str | None:
    """The node whose open fault an event is about; `heal` without a node is about any."""
    if node in open_now:
        return node
    if node == "" or verb in HEALS:
        inside = [name for name in open_now if node in name or name == ""]
        return inside[-1] if inside else None
    return None


def _label(verb: str, node: str) -> str:
    return f"{node} {DONE.get(verb, verb)}".strip()


class Told(NamedTuple):
    """How many records clients were told something about, and when: (seconds, records)."""

    acked: list[tuple[float, int]]
    read: list[tuple[float, int]]
    refused: list[tuple[float, int]]
    unanswered: list[tuple[float, int]]


def what_clients_were_told(events: object, key: str | None = None) -> Told:
    """Sort the completions of a history by what they told the client."""
    events = rows_of(events)
    zero = start_of(events)
    told = Told([], [], [], [])
    for event in events:
        if event["process"] == "nemesis" or event["type"] == "invoke":
            continue
        sent, read = _records(event, key)
        seconds = (event["time"] - zero) / 1e9
        answer = {"ok": told.acked, "fail": told.refused, "info": told.unanswered}[event["type"]]
        if sent:
            answer.append((seconds, sent))
        if read and event["type"] == "ok":
            told.read.append((seconds, read))
    return told


def _records(event: Mapping, key: str | None) -> tuple[int, int]:
    """(sent, read) records in one event, of one key or of all."""
    value = event.get("value")
    if event["f"] in ("enqueue", "dequeue"):
        found = len(value) if isinstance(value, list) else int(not absent(value))
        return (found, 0) if event["f"] == "enqueue" else (0, found)
    if event["f"] not in ("send", "poll", "txn") or not isinstance(value, list):
        return 0, 0
    sent = read = 0
    for operation in value:
        if operation[0] == "send":
            sent += key in (None, operation[1])
        elif operation[0] == "poll" and len(operation) > 1 and operation[1]:
            read += sum(len(r) for k, r in operation[1].items() if key in (None, k))
    return sent, read
