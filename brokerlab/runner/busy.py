"""Somebody else on the machine: busy loops beside a run (`brokerlab run --busy`).

Run as a script, this file is one busy loop. It ends when its parent is no longer the
process that started it: a run killed with SIGKILL cleans up nothing, and must not leave
a core spinning for ever. Only the standard library, so that the loop starts at once.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

LOOPS = 2


@contextlib.contextmanager
def busy_loops(count: int = LOOPS) -> Iterator[list[int]]:
    """Keep `count` cores busy for the length of the block; gives the pids."""
    argv = [sys.executable, "-I", "-S", __file__, str(os.getpid())]
    children: list[subprocess.Popen] = []
    try:
        for _ in range(count):
            # A session of their own: Ctrl-C on the terminal is for the run, which ends them.
            children.append(subprocess.Popen(argv, start_new_session=True))
        yield [child.pid for child in children]
    finally:
        for child in children:
            child.kill()
        for child in children:
            child.wait()


def spin(parent: int) -> None:
    """Count as fast as Python can, looking up a few hundred times a second."""
    while os.getppid() == parent:
        for _ in range(100_000):
            pass


if __name__ == "__main__":
    spin(int(sys.argv[1]))
