"""Markdown tables, both ways.

cell    the text between two bars; a bar, or what Markdown would take for markup, is written
        as an HTML entity, so that a text comes back as it went in
"""

from __future__ import annotations

import html
from collections.abc import Iterable

MARKUP = {"|": "&#124;", "*": "&#42;", "`": "&#96;", "[": "&#91;"}


def escaped(text: str) -> str:
    """The text as a cell holds it."""
    for mark, entity in {"&": "&amp;", "<": "&lt;", ">": "&gt;", **MARKUP}.items():
        text = text.replace(mark, entity)
    return " ".join(text.split())


def line_of(cells: Iterable[str]) -> str:
    """One line of a table."""
    return "| " + " | ".join(cells) + " |"


def tables_in(text: str) -> list[tuple[int, dict[str, str]]]:
    """Every data line of every table, with its line number, as {column: text}.

    A line with more or fewer cells than its header has only the columns that match,
    for the reader to refuse.
    """
    found: list[tuple[int, dict[str, str]]] = []
    header: list[str] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.lstrip().startswith("|"):
            header = None
        elif header is None:
            header = _cells(line)
        elif set(line) - set("|-: "):
            cells = _cells(line)
            full = cells if len(cells) == len(header) else cells[:1]
            found.append((number, dict(zip(header, full, strict=False))))
    return found


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [html.unescape(cell.strip()) for cell in inner.split("|")]
