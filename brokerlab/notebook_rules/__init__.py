"""What a committed notebook must keep to, so that its verdicts can be believed.

rule        a function that reads one notebook and yields violations
violation   notebook, cell and one sentence: what is wrong and what to do
judge cell  a code cell that calls `judge`
compared    a cell tagged `nbval-check-output`: nbval runs it again and compares what it prints

Pure: notebooks in, violations out; nothing is executed.
"""

from brokerlab.notebook_rules.check import check_files, check_notebook, check_notebooks
from brokerlab.notebook_rules.reading import Notebook, Violation

__all__ = ["Notebook", "Violation", "check_files", "check_notebook", "check_notebooks"]
