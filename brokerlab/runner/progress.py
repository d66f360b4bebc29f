"""What a run is doing now, a line for each notebook."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Event = Literal["lab", "started", "cell", "finished"]
_REWRITE = "\r\x1b[K"


@dataclass(frozen=True)
class Progress:
    """One thing that happened: the lab said something, a notebook started, a cell, its end."""

    event: Event
    notebook: str = ""
    text: str = ""  # of the lab; where and why a notebook failed
    repeat: int = 1
    repeats: int = 1
    cell: int = 0
    cells: int = 0
    seconds: float = 0.0
    ok: bool = True
    judged: int = 0

    @property
    def title(self) -> str:
        turn = f" ({self.repeat} of {self.repeats})" if self.repeats > 1 else ""
        return f"{self.notebook}{turn}"

    def __str__(self) -> str:
        if self.event == "lab":
            return self.text
        if self.event == "started":
            return f"{self.title}  started, {self.cells} cells"
        if self.event == "cell":
            return f"{self.title}  cell {self.cell} of {self.cells}  {self.seconds:.0f} s"
        verdicts = f"{self.judged} verdict{'' if self.judged == 1 else 's'}"
        result = "ok" if self.ok else "failed"
        return f"{self.title}  {self.seconds:.1f} s  {result}, {verdicts}"


Listener = Callable[[Progress], None]


def show(progress: Progress) -> None:
    """Print it: one line that changes on a terminal, start and end in a log."""
    if not sys.stdout.isatty():
        if progress.event != "cell":
            print(progress, flush=True)
    else:
        end = "\n" if progress.event == "finished" else ""
        print(f"{_REWRITE}{progress}", end=end, flush=True)
