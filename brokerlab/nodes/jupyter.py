"""JupyterLab as a node: it serves the learner's working copies, with a token, on loopback."""

from __future__ import annotations

import os
import secrets
import sys
import urllib.request
from pathlib import Path

from brokerlab.nodes.node import Node
from brokerlab.state import ensure_folder


class JupyterNode(Node):
    kind = "jupyter"
    ready_timeout_s = 90.0
    stop_timeout_s = 10.0

    @property
    def token(self) -> str:
        return self.entry["token"]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/lab/tree/{self.entry['opens']}?token={self.token}"

    @property
    def config_file(self) -> Path:
        return self.folder / "jupyter_server_config.py"

    def prepare(self) -> None:
        self.entry.setdefault("token", secrets.token_hex(24))
        ensure_folder(self.folder)
        settings = {
            "ServerApp.ip": "127.0.0.1",
            "ServerApp.port": self.port,
            "ServerApp.port_retries": 0,
            "ServerApp.open_browser": False,
            "ServerApp.root_dir": self.entry["root"],
            "ServerApp.allow_root": True,
            # The token stays off the command line, where every user of the machine could read it.
            "IdentityProvider.token": self.token,
            "LabApp.check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
            "LabApp.news_url": None,
        }
        lines = ["c = get_config()  # noqa"]
        lines += [f"c.{name} = {value!r}" for name, value in settings.items()]
        descriptor = os.open(self.config_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w") as handle:
            handle.write("\n".join(lines) + "\n")

    def argv(self) -> list[str]:
        # -X takes any word; it carries the marker where Jupyter does not look.
        return [
            sys.executable, "-X", self.marker, "-m", "jupyterlab",
            f"--config={self.config_file}",
        ]  # fmt: skip

    def env(self) -> dict[str, str]:
        from brokerlab.state import cache

        return {
            **os.environ,
            "BROKERLAB_HOME": str(self.store.home),
            "BROKERLAB_CACHE": str(cache()),
            "JUPYTER_CONFIG_DIR": str(self.folder / "config"),
            "JUPYTER_DATA_DIR": str(self.folder / "data"),
            "JUPYTER_RUNTIME_DIR": str(self.folder / "runtime"),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
        }

    def is_ready(self) -> bool:
        """JupyterLab's page answers to the token."""
        address = f"http://127.0.0.1:{self.port}/api/status"
        request = urllib.request.Request(address, headers={"Authorization": f"token {self.token}"})
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with direct.open(request, timeout=2) as reply:
                return reply.status == 200
        except OSError:
            return False
