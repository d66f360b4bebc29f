"""Rules about how a notebook is saved: length, tags, outputs.

own path    a folder of the machine that ran it (/root, /home, /tmp, /work): another reader
            has none of them. Kafka's own defaults below /tmp are facts, not traces
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from brokerlab.notebook_rules.reading import CodeCell, Notebook, Violation

LONGEST_CELL = 20
OWN_PATH = re.compile(r"(?<![\w.~…-])/(?:root|home|tmp|work)\b(?:/[^\s'\"<>:,)]*)?")
KAFKA_DEFAULTS = (
    "/tmp/kraft-combined-logs",
    "/tmp/kraft-broker-logs",
    "/tmp/kraft-controller-logs",
    "/tmp/kafka-logs",
    "/tmp/kafka-streams",
    "/tmp/connect.offsets",
)


def saved_violations(notebook: Notebook) -> Iterator[Violation]:
    """Everything wrong with the saved form of one notebook."""
    yield from parameters_cell(notebook)
    for cell in notebook.cells:
        yield from readable_code(notebook, cell)
        yield from clean_outputs(notebook, cell)


def parameters_cell(notebook: Notebook) -> Iterator[Violation]:
    count = sum("parameters" in cell.tags for cell in notebook.cells)
    if count != 1:
        sentence = f"{count} cells are tagged `parameters`: tag the one that papermill may replace."
        yield notebook.violation(None, "parameters", sentence)


def readable_code(notebook: Notebook, cell: CodeCell) -> Iterator[Violation]:
    lines = len(cell.source.splitlines())
    if lines > LONGEST_CELL:
        sentence = f"{lines} lines of code: split it below {LONGEST_CELL}, or use the package."
        yield notebook.violation(cell, "long-cell", sentence)
    if cell.tree is None and not cell.source.lstrip().startswith("%%"):
        yield notebook.violation(cell, "syntax", "The code does not parse: correct it.")


def clean_outputs(notebook: Notebook, cell: CodeCell) -> Iterator[Violation]:
    counts = [cell.execution_count, *(out.get("execution_count") for out in cell.outputs)]
    if any(count is not None for count in counts):
        sentence = "Execution counts are saved: set them to null, or every run is a difference."
        yield notebook.violation(cell, "execution-count", sentence)
    for output in cell.outputs:
        if output.output_type == "error":
            sentence = f"{output.ename} is saved: catch an expected error and print its message."
            yield notebook.violation(cell, "error-output", sentence)
    for path in dict.fromkeys(OWN_PATH.findall(cell.printed)):
        if not path.startswith(KAFKA_DEFAULTS):
            sentence = f"The output shows {path}, a folder of one machine: print a relative name."
            yield notebook.violation(cell, "own-path", sentence)
