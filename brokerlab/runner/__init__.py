"""Running notebooks without anybody watching, and saying what came out.

run         one call of `run`: a run id, and a folder `<home>/runs/<run id>/` with an executed
            copy and an HTML page for every notebook, and `summary.json`
repeat      the same notebooks again inside one run; their judged lines must be identical
judged      a line `id: verdict` printed by a cell tagged `nbval-check-output`
small       a notebook's own set of smaller parameters: metadata `brokerlab.small`
record      execute a tracked notebook and write its outputs back in the form that is committed
"""

from brokerlab.runner.committed import record, strip_for_commit
from brokerlab.runner.parameters import parameters_of, parse_parameters
from brokerlab.runner.progress import Progress, show
from brokerlab.runner.report import Difference, Failure, NotebookRun, RunReport, SlowCell
from brokerlab.runner.runs import run

__all__ = [
    "Difference",
    "Failure",
    "NotebookRun",
    "Progress",
    "RunReport",
    "SlowCell",
    "parameters_of",
    "parse_parameters",
    "record",
    "run",
    "show",
    "strip_for_commit",
]
