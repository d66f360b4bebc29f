"""The verdict card: what the checker found, what Spark counted, and what that means for a claim.

The two witnesses stand side by side, so that a difference is seen at once.
"""

from collections.abc import Mapping
from dataclasses import asdict, is_dataclass

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from brokerlab.pictures import look

BADGES = {
    True: ("✓", "valid", look.GREEN),
    False: ("✗", "not valid", look.TROUBLE),
    "unknown": ("?", "unknown", "#8C8C8C"),
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
MOST_ROWS = 9

Row = tuple[str, int | None, int | None, bool]


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
    rows = _rows(found, counted)
    sentence = _claim(claim)
    lines = look.balanced(sentence, 74).count("\n") + 1 if sentence else 0
    body = max(2.3, 0.42 * (len(rows) + 1) + (0.5 if counted else 0))
    picture = look.blank(title, 0.9 + body + 0.36 * lines)
    grid = picture.add_gridspec(1, 2, width_ratios=[1, 2.6])
    valid = found.get("valid", "unknown")
    _badge(picture.add_subplot(grid[0]), BADGES[valid if valid in BADGES else "unknown"])
    _table(picture.add_subplot(grid[1]), rows, counted)
    if sentence:
        picture.supxlabel(look.balanced(sentence, 74), x=0.012, ha="left", fontsize=15)
    _describe(picture, valid, rows, counted, sentence)
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


def _size(value: object) -> int:
    return len(value) if hasattr(value, "__len__") else int(value)


def _rows(found: dict, counted: dict) -> list[Row]:
    """(words, checker's number, Spark's number, is it trouble) for each line of the card."""
    spark = {**counted, **(counted.get("counts") or {}), **(counted.get("anomalies") or {})}
    rows: list[Row] = []
    for name, words in COUNTS.items():
        ours = (found.get("counts") or {}).get(name)
        if ours is not None or name in spark:
            rows.append((words, ours, _size(spark[name]) if name in spark else None, False))
    anomalies = found.get("anomalies") or {}
    extra = [name for name in anomalies if name not in ANOMALIES]
    for name in [*ANOMALIES, *extra]:
        words, others = ANOMALIES.get(name, (name, ()))
        theirs = next((_size(spark[n]) for n in (name, *others) if n in spark), None)
        ours = _size(anomalies[name]) if name in anomalies else None
        if ours is not None or (theirs is not None and words not in {row[0] for row in rows}):
            rows.append((words, ours or 0, theirs, bool(ours or theirs)))
    return rows[:MOST_ROWS]


def _claim(claim: str | Mapping | None) -> str:
    if isinstance(claim, Mapping):
        outcome = f": {str(claim['verdict']).upper()}" if claim.get("verdict") else ""
        return f"Claim{outcome}. “{claim['claim']}”"
    return f"Claim. “{claim}”" if claim else ""


def _agreement(rows: list[Row], counted: dict) -> str:
    """Do the witnesses agree? The audit's own word counts, then the numbers both gave."""
    differing = [words for words, ours, theirs, _ in rows if _differ(ours, theirs)]
    if counted.get("agrees") is False or differing:
        return f"✗ The witnesses disagree: {', '.join(differing) or 'see the audit'}"
    if counted.get("agrees") or any(theirs is not None for _, _, theirs, _ in rows):
        return "✓ Both witnesses agree"
    return "? Nothing that both witnesses counted"


def _differ(ours: int | None, theirs: int | None) -> bool:
    return ours is not None and theirs is not None and ours != theirs


def _badge(axes: Axes, badge: tuple[str, str, str]) -> None:
    sign, word, colour = badge
    axes.set_axis_off()
    axes.set(xlim=(0, 1), ylim=(0, 1))
    ink = look.ink_on(colour)
    shape = "round,pad=0,rounding_size=0.06"
    axes.add_patch(FancyBboxPatch((0.02, 0.02), 0.94, 0.96, boxstyle=shape, fc=colour, ec="none"))
    axes.text(0.49, 0.6, sign, ha="center", va="center", fontsize=64, color=ink)
    axes.text(0.49, 0.2, word, ha="center", va="center", fontsize=22, fontweight="bold", color=ink)


def _table(axes: Axes, rows: list[Row], counted: dict) -> None:
    axes.set_axis_off()
    axes.set(xlim=(0, 10), ylim=(len(rows) + (1.35 if counted else 0.6), -0.6))
    columns = (7.3, 9.9) if counted else (9.9, None)
    head = {"color": look.GREY, "ha": "right", "va": "center", "fontsize": 13}
    axes.text(columns[0], 0, "told to clients", **head)
    if counted:
        axes.text(columns[1], 0, "found by Spark", **head)
    for line, (words, ours, theirs, trouble) in enumerate(rows, 1):
        axes.axhline(line - 0.5, color="#D0D0D0", lw=1)
        weight = "bold" if trouble else "normal"
        colour = look.TROUBLE_TEXT if trouble else look.BLACK
        style = {"va": "center", "fontweight": weight, "color": colour, "fontsize": 15}
        axes.text(0, line, ("▲ " if trouble else "") + look.short(words, 32), ha="left", **style)
        for place, number in zip(columns, (ours, theirs), strict=True):
            if place is not None:
                text = "–" if number is None else f"{number:,}"
                axes.text(place, line, text, ha="right", **style)
    if not rows:
        axes.text(0, 1, "nothing was counted", va="center", color=look.GREY)
    if counted:
        words = _agreement(rows, counted)
        colour = look.TROUBLE_TEXT if words.startswith("✗") else look.BLACK
        axes.text(
            0, len(rows) + 0.95, look.short(words, 62), color=colour, fontweight="bold", va="center"
        )


def _describe(
    picture: look.Picture, valid: object, rows: list[Row], counted: dict, sentence: str
) -> None:
    told = []
    for words, ours, theirs, _ in rows:
        spark = f" (Spark: {theirs:,})" if theirs is not None else ""
        told.append(f"{words} {'not counted' if ours is None else f'{ours:,}'}{spark}")
    badge = BADGES[valid if valid in BADGES else "unknown"][1]
    look.describe(
        picture,
        f"The history is {badge}" if badge != "unknown" else "The verdict is unknown",
        ", ".join(told),
        _agreement(rows, counted)[2:] if counted else "",
        sentence,
    )
