"""Figures: what was measured, and what the control gave.

figure  a number, a text, or a small dictionary or list of them
plain   the figure as JSON can hold it, whatever numpy, pandas or Spark made of it
compact the figure as one short line for a table
"""

from __future__ import annotations

import math
from collections.abc import Mapping

Figure = bool | int | float | str | list | dict | None

LONGEST = 120


def plain(value: object) -> Figure:
    """The same figure, made of what JSON knows."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)  # JSON has no NaN
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return [plain(item) for item in sorted(value, key=str)]
    if hasattr(value, "tolist"):  # numpy and pandas: scalars and arrays alike
        return plain(value.tolist())
    return str(value)


def compact(value: Figure) -> str:
    """One line of at most LONGEST characters; the line itself is unchanged by another call."""
    line = " ".join(_words(value).split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1].rstrip() + "…"


def _words(value: Figure) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_words(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(_words(item) for item in value)
    return str(value)
