"""The kernel of one notebook: this interpreter, a known environment, and a certain end.

Another `python3` kernelspec (in ~/.local, on JUPYTER_PATH) is not asked: the command line is
ours. Neither is the user's IPython profile: a start-up file there could change a verdict.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpec

from brokerlab import state

NAME = "python3"
SPEC = KernelSpec(
    argv=[
        *(sys.executable, "-Xfrozen_modules=off", "-m", "ipykernel_launcher"),
        *("-f", "{connection_file}", "--IPKernelApp.log_level=ERROR"),
    ],
    display_name="Python 3 (ipykernel)",
    language="python",
    # Ctrl-C of the run must reach the cell, so that a fault is healed in its `finally`.
    interrupt_mode="signal",
)


def environment(run: str, notebook: str) -> dict[str, str]:
    """What a kernel sees: which lab, which run, which notebook, and nothing that disturbs."""
    return {
        **os.environ,
        "BROKERLAB_HOME": str(state.home()),
        "BROKERLAB_CACHE": str(state.cache()),
        "BROKERLAB_RUN": run,
        "BROKERLAB_NOTEBOOK": notebook,
        "IPYTHONDIR": str(state.ensure_folder(state.home() / "runs" / ".ipython")),
        # As in JupyterLab: an inherited `error` would fail cells, an inherited Agg hide pictures.
        "PYTHONWARNINGS": "",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    }


@contextlib.contextmanager
def kernel_class(env: dict[str, str], log: Path) -> Iterator[type[AsyncKernelManager]]:
    """A kernel manager for nbclient; every kernel it started is dead when the block is left.

    What the kernel writes past Jupyter (a crash, a C library) goes to `log`.
    """
    started: list[AsyncKernelManager] = []

    class Kernel(AsyncKernelManager):
        @property
        def kernel_spec(self) -> KernelSpec:
            return SPEC

        async def start_kernel(self, **options: object) -> None:
            started.append(self)
            with open(log, "ab") as output:
                await super().start_kernel(env=env, stdout=output, stderr=output, **options)

    try:
        yield Kernel
    finally:
        for manager in started:
            _end(manager)
        if log.exists() and not log.stat().st_size:
            log.unlink()


def _end(manager: AsyncKernelManager) -> None:
    """Kill what nbclient's own shutdown left: it has none while a kernel is still starting."""
    process: subprocess.Popen | None = getattr(manager.provisioner, "process", None)
    if process is None or process.poll() is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        # The kernel leads its own group; the lab's nodes are in sessions of their own.
        if os.getpgid(process.pid) == process.pid:
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
    process.wait(10)
    manager.cleanup_connection_file()
