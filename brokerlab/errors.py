"""Every error the lab raises on purpose, in one tree.

    LabError                what is wrong and what to do about it, in one sentence
    ├── SetupError          a tool or package the lab needs is missing or too old
    ├── StateError          the state folder cannot be read or written
    ├── PortError           a port the lab must have belongs to somebody else
    ├── NodeError           a node died, did not become ready, or does not exist
    ├── FaultError          a fault cannot be done here, or could not be healed
    ├── WaitTimeout         a condition did not come true in time
    ├── HistoryError        a history file is malformed
    ├── ClaimError          a judgement names an unknown claim or verdict
    └── RunError            a notebook run failed

The command line prints the sentence and exits 2; nobody sees a traceback for these.
"""


class LabError(Exception):
    """What is wrong and what to do about it."""


class SetupError(LabError):
    """A tool or package the lab needs is missing or too old."""


class StateError(LabError):
    """The state folder cannot be read or written."""


class PortError(LabError):
    """A port the lab must have belongs to somebody else."""


class NodeError(LabError):
    """A node died, did not become ready, or does not exist."""


class FaultError(LabError):
    """A fault cannot be done here, or could not be healed."""


class WaitTimeout(LabError):
    """A condition did not come true in time."""


class HistoryError(LabError):
    """A history file is malformed."""


class ClaimError(LabError):
    """A judgement names an unknown claim or verdict."""


class RunError(LabError):
    """A notebook run failed."""
