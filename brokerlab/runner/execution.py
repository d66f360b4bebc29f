"""One notebook, executed by papermill in a kernel of its own, in its own folder.

place     the code cell that is being executed, counted from 1: In [k] of the executed copy
"""

from __future__ import annotations

import contextlib
import logging
import math
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import papermill
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from papermill.exceptions import PapermillExecutionError

from brokerlab.runner import kernels
from brokerlab.runner.report import Failure, first_line

NOISY = ("papermill", "nbclient", "traitlets", "nbconvert", "asyncio", "jupyter_client")
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


@dataclass
class Place:
    """Where the execution is."""

    cells: int
    number: int = 0
    index: int = 0
    source: str = ""


def runnable(notebook: NotebookNode) -> int:
    """How many cells will be sent to the kernel."""
    return sum(cell.cell_type == "code" and bool(cell.source.strip()) for cell in notebook.cells)


def execute(
    path: Path,
    target: Path,
    *,
    parameters: dict[str, Any],
    env: dict[str, str],
    cell_timeout_s: float,
    place: Place,
    on_cell: Callable[[], None],
) -> Failure | None:
    """Execute `path` into `target`, moving `place` along; what went wrong, or None."""

    def next_cell(cell: NotebookNode, cell_index: int) -> None:
        place.number, place.index, place.source = place.number + 1, cell_index, cell.source
        on_cell()

    log = target.with_suffix(".kernel.log")
    with quiet(), kernels.kernel_class(env, log) as kernel_manager_class:
        try:
            papermill.execute_notebook(
                _verbatim(path),
                _verbatim(target),
                parameters,
                kernel_name=kernels.NAME,
                language="python",
                progress_bar=False,
                autosave_cell_every=0,
                start_timeout=120,  # a busy machine, a cold disk
                execution_timeout=math.ceil(cell_timeout_s),
                kernel_manager_class=kernel_manager_class,
                on_cell_execute=next_cell,
                # The kernel's folder, as nbval has it; the runner itself stays where it is.
                resources={"metadata": {"path": str(path.parent)}},
            )
        except Exception as error:
            return _failure(error, place, target, cell_timeout_s)
    return None


def _verbatim(path: Path) -> str:
    """papermill takes a path for a format string."""
    return str(path).replace("{", "{{").replace("}", "}}")


def _failure(error: Exception, place: Place, target: Path, cell_timeout_s: float) -> Failure:
    if isinstance(error, PapermillExecutionError):
        message = f"{error.ename}: {first_line(_ANSI.sub('', str(error.evalue)))}"
        return _at(place, message.removesuffix(": "))
    if isinstance(error, CellTimeoutError):
        message = f"the cell took longer than {math.ceil(cell_timeout_s)} s and was stopped"
    elif isinstance(error, DeadKernelError):
        message = "the kernel died"
    else:
        message = f"{type(error).__name__}: {first_line(_ANSI.sub('', str(error)))}"
    _mark(target, place, message)
    return _at(place, message)


def _at(place: Place, message: str) -> Failure:
    return Failure(place.number, place.cells, first_line(place.source), message)


def _mark(target: Path, place: Place, message: str) -> None:
    """Show in the executed copy where it ended; papermill does so only for exceptions."""
    if not target.exists() or not place.number:
        return
    notebook = nbformat.read(target, as_version=4)
    shown = nbformat.v4.new_output(
        "error", ename="Stopped", evalue=message, traceback=[f"Stopped here: {message}."]
    )
    notebook.cells[place.index].outputs.append(shown)
    nbformat.write(notebook, target)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep the tools' own logs and warnings off the terminal: the report says what matters."""
    loggers = [logging.getLogger(name) for name in NOISY]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except (KeyboardInterrupt, SystemExit):
        # asyncio tells of the tasks that were cut short when they are collected, at exit.
        levels[NOISY.index("asyncio")] = logging.CRITICAL + 1
        raise
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
