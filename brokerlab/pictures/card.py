"""The verdict card: what the checker found, what Spark counted, and what that means for a claim.

The two witnesses stand side by side, so that a difference is seen at once.
"""

from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import NamedTuple

from matplotlib.axes import Axes

from brokerlab.pictures import look
from brokerlab.pictures.told import many

BADGES = {
    True: ("✓", "valid", look.GREEN),
    False: ("✗", "not valid", look.TROUBLE),
    "unknown": ("?", "unknown", "#BDBDBD"),
}
COUNTS = {"sent": "sent", "acked": "acknowledged", "read": "read"}
# What an anomaly is called in plain words, and under which names an audit may count it.
ANOMALIES = {
    "lost-write": ("acknowledged, then lost", ("lost", "lost_write")),
    "duplicate": ("in the log twice", ("duplicated", "duplicates")),
    "unseen": ("acknowledged, not read yet", ()),
    "inconsistent-offsets": ("one offset, two values", ("inconsistent_offsets",)),
    "G1a": ("read although aborted", ("aborted_read", "aborted")),
    "poll-skip": ("skipped by a reader", ()),
    "nonmonotonic-poll": ("read out of order", ("reordered", "out_of_order")),
    "nonmonotonic-send": ("written out of order", ()),
    "int-poll-skip": ("skipped inside one poll", ()),
    "int-nonmonotonic-poll": ("out of order inside one poll", ()),
    "int-nonmonotonic-send": ("out of order inside one send", ()),
    "int-send-skip": ("offsets skipped inside one send", ()),
    "lost": ("confirmed, then lost", ()),
    "unexpected": ("read, never sent", ()),
    "duplicated": ("read twice", ("duplicates",)),
    "recovered": ("unsure, yet arrived", ()),
}
HARMLESS = {"unseen", "recovered"}
MOST_ROWS = 9


class Row(NamedTuple):
    """One line of the card: the checker's number, and Spark's if it counted the same thing."""

    words: str
    ours: int | None
    theirs: int | None
    trouble: bool = False


@look.drawn
def verdict_card(
    verdict: object,
    audit: object = None,
    *,
    claim: str | Mapping | None = None,
    title: str = "The verdict",
) -> look.Picture:
    """The verdict on a history as a card.

    `verdict` is what `brokerlab check --json` prints (or an object with the same fields). `audit`
    is Spark's count: `{"acked": ..., "lost": ..., "duplicated": ...}`. `claim` is the sentence
    that was tested, or `{"claim": ..., "verdict": "holds"}`.
    """
    found, counted = _fields(verdict), _fields(audit)
    if not found:
        return look.nothing(title, "There is no verdict yet.")
    valid = found.get("valid")
    # 1 == True in Python, but only a real True is valid.
    valid = valid if isinstance(valid, bool) else "unknown"
    rows = _rows(found, counted)
    notes = _notes(rows, found, counted)
    sentence = look.balanced(_claim(claim), 74)
    body = 0.42 * (min(len(rows), MOST_ROWS) + 1.2 + len(notes))
    picture = look.blank(title, 1.0 + max(2.3, body) + (0.36 * len(sentence.split("\n"))))
    grid = picture.add_gridspec(1, 2, width_ratios=[1, 2.6])
    _badge(picture.add_subplot(grid[0]), BADGES[valid])
    _table(picture.add_subplot(grid[1]), rows[:MOST_ROWS], notes, bool(counted))
    if sentence:
        picture.supxlabel(sentence, x=0.012, ha="left", fontsize=15)
    numbers = ", ".join(_in_words(row) for row in rows)
    look.describe(picture, f"The history is {BADGES[valid][1]}", numbers, *notes, _claim(claim))
    return picture


def _fields(thing: object) -> dict:
    """The fields of a dictionary, a dataclass or any plain object."""
    if thing is None:
        return {}
    for name in ("to_dict", "as_dict", "_asdict"):
        if hasattr(thing, name):
            thing = getattr(thing, name)()
    if is_dataclass(thing):
        return asdict(thing)
    return dict(thing) if isinstance(thing, Mapping) else dict(vars(thing))


def _size(value: object) -> int | None:
    if value is None:
        return None
    return len(value) if hasattr(value, "__len__") else int(value)


def _rows(found: dict, counted: dict) -> list[Row]:
    """The lines of the card: counts first, then every anomaly that anybody looked for."""
    spark = {**counted, **(counted.get("counts") or {}), **(counted.get("anomalies") or {})}
    counts, anomalies = found.get("counts") or {}, found.get("anomalies") or {}
    rows = [
        Row(words, counts.get(name), _size(spark.get(name)))
        for name, words in COUNTS.items()
        if name in counts or name in spark
    ]
    unused = set(spark)
    # What the checker found is matched first: "lost" of an audit may mean a log or a queue.
    for name in [*anomalies, *(name for name in ANOMALIES if name not in anomalies)]:
        words, others = ANOMALIES.get(name, (name, ()))
        spark_name = next((n for n in (name, *others) if n in unused), None)
        if name not in anomalies and spark_name is None:
            continue
        unused -= {name, *others}
        theirs = _size(spark.get(spark_name))
        # Nothing listed means nothing found, unless the checker could not tell.
        ours = _size(anomalies.get(name, None if found.get("valid") == "unknown" else ()))
        rows.append(Row(words, ours, theirs, bool(ours or theirs) and name not in HARMLESS))
    return rows


def _claim(claim: str | Mapping | None) -> str:
    if isinstance(claim, Mapping):
        outcome = f": {str(claim['verdict']).upper()}" if claim.get("verdict") else ""
        return f"Claim{outcome}. “{claim['claim']}”"
    return f"Claim. “{claim}”" if claim else ""


def _notes(rows: list[Row], found: dict, counted: dict) -> list[str]:
    """What stands under the numbers: an example, what was left out, whether witnesses agree."""
    notes = []
    if len(rows) > MOST_ROWS:
        notes.append(f"and {many(len(rows) - MOST_ROWS, 'more line')}")
    if found.get("valid") is True and not any(row.trouble for row in rows):
        notes.append("no anomaly found")
    notes += _example(found.get("anomalies") or {})
    if counted:
        notes.append(_agreement(rows, counted))
    return notes


def _example(anomalies: Mapping) -> list[str]:
    """The first values of the first anomaly, by name."""
    for name, findings in anomalies.items():
        named = [f for f in findings if isinstance(f, Mapping) and "key" in f and "value" in f]
        if named and name not in HARMLESS:
            key = named[0]["key"]
            values = [str(f["value"]) for f in named if f["key"] == key]
            dots = " …" if len(values) > 4 else ""
            return [f"for example {look.short(key, 20)}: {', '.join(values[:4])}{dots}"]
    return []


def _agreement(rows: list[Row], counted: dict) -> str:
    """Do the witnesses agree? The audit's own word counts, then the numbers both gave."""
    both = [row for row in rows if row.ours is not None and row.theirs is not None]
    differing = [row.words for row in both if row.ours != row.theirs]
    if counted.get("agrees") is False or differing:
        return f"✗ The witnesses disagree: {differing[0] if differing else 'see the audit'}"
    if both or counted.get("agrees"):
        return "✓ Both witnesses agree"
    return "? There is nothing that both witnesses counted"


def _in_words(row: Row) -> str:
    spark = "" if row.theirs is None else f" (Spark: {row.theirs:,})"
    return f"{row.words}: {'not counted' if row.ours is None else f'{row.ours:,}'}{spark}"


def _badge(axes: Axes, badge: tuple[str, str, str]) -> None:
    sign, word, colour = badge
    axes.set(xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[], facecolor=colour)
    axes.spines[:].set_visible(False)
    style = {"ha": "center", "va": "center", "color": look.ink_on(colour)}
    axes.text(0.5, 0.6, sign, fontsize=64, **style)
    axes.text(0.5, 0.2, word, fontsize=22, fontweight="bold", **style)


def _table(axes: Axes, rows: list[Row], notes: list[str], two: bool) -> None:
    axes.set_axis_off()
    axes.set(xlim=(0, 10), ylim=(len(rows) + len(notes) + 0.6, -0.6))
    columns = (7.7, 9.9) if two else (9.9,)
    for place, words in zip(columns, ("checker", "Spark"), strict=False):
        axes.text(place, 0, words, color=look.GREY, ha="right", va="center", fontsize=14)
    for line, row in enumerate(rows, 1):
        axes.axhline(line - 0.5, color="#D0D0D0", lw=1)
        colour = look.TROUBLE_TEXT if row.trouble else look.BLACK
        style = {"va": "center", "color": colour, "fontweight": "bold" if row.trouble else "normal"}
        axes.text(0.1, line, ("▲ " if row.trouble else "") + look.short(row.words, 32), **style)
        for place, number in zip(columns, (row.ours, row.theirs), strict=False):
            axes.text(place, line, "–" if number is None else f"{number:,}", ha="right", **style)
    axes.axhline(len(rows) + 0.5, color=look.GREY, lw=1.5)
    for line, note in enumerate(notes, len(rows) + 1):
        bad = note.startswith("✗")
        weight = "bold" if note[0] in "✓✗?" else "normal"
        colour = look.TROUBLE_TEXT if bad else look.BLACK
        text = axes.text(
            0.1, line, look.short(note, 52), color=colour, fontweight=weight, va="center"
        )
        text.set_in_layout(False)
