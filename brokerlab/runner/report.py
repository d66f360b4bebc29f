"""What a run came to.

difference  a claim that was not judged the same in every repeat; a repeat that did not get
            as far as judging it counts as `not judged`
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from brokerlab.notebook_rules.judgements import VERDICT_LINE
from brokerlab.notebook_rules.reading import COMPARED, texts_of

SLOWEST = 5
NOT_JUDGED = "not judged"
_LONGEST_LINE = 240


@dataclass(frozen=True)
class Failure:
    """A cell that failed. `cell` is In [k] of the executed copy; 0: no cell was reached."""

    cell: int
    cells: int
    source: str
    error: str

    def __str__(self) -> str:
        place = f"in cell {self.cell} of {self.cells} (`{self.source}`)"
        return f"{place if self.cell else 'before its first cell'}: {self.error}"


@dataclass(frozen=True)
class SlowCell:
    cell: int
    seconds: float
    source: str


@dataclass(frozen=True)
class NotebookRun:
    """One notebook executed once."""

    notebook: str
    path: Path
    repeat: int
    seconds: float
    cells: int
    executed: Path
    page: Path | None
    verdicts: dict[str, str]
    slowest: list[SlowCell]
    failure: Failure | None

    @property
    def ok(self) -> bool:
        return self.failure is None

    def sentence(self) -> str:
        """What went wrong, where, and where to look; empty when nothing did."""
        if self.failure is None:
            return ""
        f = self.failure
        place = (
            f"in cell {f.cell} of {f.cells} (`{f.source}`)" if f.cell else "before its first cell"
        )
        return f"{self.notebook} failed {place}: {f.error}. See {self.page or self.executed}"

    def as_dict(self) -> dict[str, Any]:
        return {
            "notebook": self.notebook,
            "repeat": self.repeat,
            "ok": self.ok,
            "seconds": round(self.seconds, 2),
            "cells": self.cells,
            "verdicts": self.verdicts,
            "failure": None if self.failure is None else vars(self.failure),
            "slowest": [vars(cell) for cell in self.slowest],
            "executed": str(self.executed),
            "page": str(self.page) if self.page else None,
        }


@dataclass(frozen=True)
class Difference:
    """A claim judged differently: one verdict a repeat, in order."""

    notebook: str
    claim: str
    verdicts: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.claim} ({self.notebook}): {', '.join(self.verdicts)}"


@dataclass
class RunReport:
    """One run. `ok`: every notebook ended, and the repeats agree."""

    run: str
    folder: Path
    started: str
    parameters: dict[str, dict[str, Any]]
    small: bool
    repeat: int
    busy: bool
    notebooks: list[NotebookRun] = field(default_factory=list)
    interrupted: bool = False

    @property
    def ok(self) -> bool:
        complete = bool(self.notebooks) and not self.interrupted
        return complete and all(one.ok for one in self.notebooks) and not self.differences

    @property
    def failures(self) -> list[NotebookRun]:
        return [one for one in self.notebooks if not one.ok]

    @property
    def verdicts(self) -> int:
        return sum(len(one.verdicts) for one in self.notebooks)

    @property
    def seconds(self) -> float:
        return sum(one.seconds for one in self.notebooks)

    @property
    def differences(self) -> list[Difference]:
        found = []
        for name in dict.fromkeys(one.notebook for one in self.notebooks):
            turns = [one.verdicts for one in self.notebooks if one.notebook == name]
            for claim in dict.fromkeys(claim for turn in turns for claim in turn):
                judged = tuple(turn.get(claim, NOT_JUDGED) for turn in turns)
                if len(set(judged)) > 1:
                    found.append(Difference(name, claim, judged))
        return found

    def lines(self) -> list[str]:
        """The end of the output of `brokerlab run`: what failed, what differed, where it is."""
        said = [one.sentence() for one in self.failures]
        said += [f"Judged differently: {difference}" for difference in self.differences]
        if self.repeat > 1 and not self.differences:
            claims = len({claim for one in self.notebooks for claim in one.verdicts})
            said.append(f"{self.repeat} repeats judged {claims} claims identically.")
        good = len(self.notebooks) - len(self.failures)
        said.append(
            f"{good} of {len(self.notebooks)} ok, {self.verdicts} verdicts, {self.seconds:.0f} s. "
            f"Pages in {self.folder}"
        )
        return said

    def as_dict(self) -> dict[str, Any]:
        """`summary.json`."""
        return {
            "run": self.run,
            "started": self.started,
            "ok": self.ok,
            "interrupted": self.interrupted,
            "seconds": round(self.seconds, 2),
            "small": self.small,
            "repeat": self.repeat,
            "busy": self.busy,
            "parameters": self.parameters,
            "notebooks": [one.as_dict() for one in self.notebooks],
            "differences": [vars(difference) for difference in self.differences],
        }


def judged(notebook: NotebookNode) -> dict[str, str]:
    """Claim -> verdict, as the compared cells of an executed notebook printed them."""
    cells = [c for c in notebook.cells if COMPARED in c.metadata.get("tags", ())]
    lines = [
        line.strip()
        for cell in cells
        for output in cell.get("outputs", ())
        for text in texts_of(output)
        for line in text.splitlines()
    ]
    return dict(line.split(": ", 1) for line in lines if VERDICT_LINE.fullmatch(line))


def slowest(notebook: NotebookNode) -> list[SlowCell]:
    """The cells that took longest, from papermill's own notes."""
    timed = [
        SlowCell(
            cell.execution_count or 0,
            round(cell.metadata.get("papermill", {}).get("duration") or 0.0, 2),
            first_line(cell.source),
        )
        for cell in notebook.cells
        if cell.cell_type == "code" and cell.source.strip()
    ]
    return sorted(timed, key=lambda cell: -cell.seconds)[:SLOWEST]


def first_line(text: str) -> str:
    """The first line that says something, cut to a readable length."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    line = lines[0] if lines else ""
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "…"
