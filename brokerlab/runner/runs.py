"""`run`: notebooks one after the other, and a report."""

from __future__ import annotations

import contextlib
import secrets
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from brokerlab import state, workcopies
from brokerlab.errors import LabError
from brokerlab.runner import report as reports
from brokerlab.runner.busy import busy_loops
from brokerlab.runner.execution import Place, execute, runnable
from brokerlab.runner.kernels import environment
from brokerlab.runner.pages import write_page
from brokerlab.runner.parameters import parameters_for, read_notebook
from brokerlab.runner.progress import Listener, Progress, show
from brokerlab.runner.report import NotebookRun, RunReport


def run(
    names: Sequence[int | str | Path],
    parameters: Mapping[str, Any] | None = None,
    *,
    small: bool = False,
    repeat: int = 1,
    busy: bool = False,
    cell_timeout_s: float = 120,
    ensure_lab: bool = True,
    progress: Listener = show,
    root: Path | None = None,
) -> RunReport:
    """Execute notebooks, each in its own kernel; a failed one does not keep back the others.

    Bad input is a LabError before anything runs. Ctrl-C shuts the kernel down, writes
    `summary.json` and goes on up.
    """
    paths = _resolved(names, root)
    if repeat < 1 or cell_timeout_s <= 0:
        raise LabError("A run needs at least one repeat and a cell timeout above 0 s.")
    notebooks = {name: read_notebook(path) for name, path in paths.items()}
    given = parameters_for(notebooks, parameters or {}, small=small)
    if ensure_lab:
        from brokerlab import lab

        lab.up(progress=lambda text: progress(Progress("lab", text=text)))
    report = _new_report(given, small, repeat, busy)
    with _terminated_as_interrupt(), busy_loops() if busy else contextlib.nullcontext():
        try:
            for turn in range(1, repeat + 1):
                for name, path in paths.items():
                    job = _Job(name, path, turn, given[name], cell_timeout_s, report, progress)
                    report.notebooks.append(job.execute(notebooks[name]))
                    _save(report)
        except (KeyboardInterrupt, SystemExit):
            report.interrupted = True
            raise
        finally:
            _save(report)
    return report


@dataclass(frozen=True)
class _Job:
    """One notebook to be executed once."""

    name: str
    path: Path
    turn: int
    parameters: dict[str, Any]
    cell_timeout_s: float
    report: RunReport
    progress: Listener

    def execute(self, notebook: NotebookNode) -> NotebookRun:
        place = Place(runnable(notebook) + bool(self.parameters))
        target = self._target()
        began = time.monotonic()
        self._tell("started", place, began)
        failure = execute(
            self.path,
            target,
            parameters=self.parameters,
            env=environment(self._run_id(), self.name),
            cell_timeout_s=self.cell_timeout_s,
            place=place,
            on_cell=lambda: self._tell("cell", place, began),
        )
        seconds = time.monotonic() - began
        executed = read_notebook(target) if target.exists() else notebook
        done = NotebookRun(
            notebook=self.name,
            path=self.path,
            repeat=self.turn,
            seconds=seconds,
            cells=place.cells,
            executed=target,
            page=write_page(executed, target.with_suffix(".html"), self.path.parent),
            verdicts=reports.judged(executed) if target.exists() else {},
            slowest=reports.slowest(executed),
            failure=failure,
        )
        self._tell("finished", place, began, done)
        return done

    def _run_id(self) -> str:
        # The ledger counts executions: each repeat is one of its own.
        many = self.report.repeat > 1
        return f"{self.report.run}-{self.turn}" if many else self.report.run

    def _target(self) -> Path:
        suffix = f"-{self.turn}" if self.report.repeat > 1 else ""
        target = self.report.folder / f"{self.name}{suffix}.ipynb"
        state.ensure_folder(target.parent)
        return target

    def _tell(
        self, event: str, place: Place, began: float, done: NotebookRun | None = None
    ) -> None:
        self.progress(
            Progress(
                event,
                self.name,
                text=str(done.failure) if done and done.failure else "",
                repeat=self.turn,
                repeats=self.report.repeat,
                cell=place.number,
                cells=place.cells,
                seconds=done.seconds if done else time.monotonic() - began,
                ok=done.ok if done else True,
                judged=len(done.verdicts) if done else 0,
            )
        )


def _resolved(names: Sequence[int | str | Path], root: Path | None) -> dict[str, Path]:
    """Name -> path, in the order asked; the same notebook twice is one."""
    if not names:
        raise LabError("Which notebook? Give a number (`brokerlab run 04`) or --all.")
    paths: dict[str, Path] = {}
    for path in dict.fromkeys(workcopies.notebook_path(name, root) for name in names):
        name = workcopies.notebook_name(path, root)
        # Two files outside the course may share a name; their copies may not.
        paths[f"{path.parent.name}-{name}" if name in paths else name] = path
    return paths


def _new_report(given: dict, small: bool, repeat: int, busy: bool) -> RunReport:
    now = datetime.now(UTC)
    name = f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
    folder = state.ensure_folder(state.home() / "runs" / name)
    started = now.isoformat(timespec="seconds").replace("+00:00", "Z")
    return RunReport(name, folder, started, given, small, repeat, busy)


def _save(report: RunReport) -> None:
    state.write_json(report.folder / "summary.json", report.as_dict())


@contextlib.contextmanager
def _terminated_as_interrupt() -> Iterator[None]:
    """SIGTERM (a cancelled CI job) leaves through the same `finally` blocks as Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(signum: int, frame: object) -> None:
        raise SystemExit(128 + signum)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
