"""One real lab for the whole session, in a home of its own; nothing may be left running."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
os.environ.setdefault("BROKERLAB_CACHE", str(ROOT / ".lab" / "cache"))


@pytest.fixture(scope="session")
def lab_home():
    """A home for the session; short, because some sockets limit the length of a path."""
    home = Path(tempfile.mkdtemp(prefix="brokerlab-test-"))
    before = os.environ.get("BROKERLAB_HOME")
    os.environ["BROKERLAB_HOME"] = str(home)
    yield home
    from brokerlab.lab import attached
    from brokerlab.nodes import process

    attached().down()
    left = [p.pid for p in process.strays(home)]
    if before is None:
        os.environ.pop("BROKERLAB_HOME")
    else:
        os.environ["BROKERLAB_HOME"] = before
    shutil.rmtree(home, ignore_errors=True)
    assert not left, f"processes left behind: {left}"


@pytest.fixture(scope="session")
def running_lab(lab_home):
    import brokerlab

    return brokerlab.up(services=("kafka",), progress=lambda line: print(line, flush=True))


@pytest.fixture
def lab(running_lab):
    """The session's lab, healed before and after the test that breaks it."""
    import brokerlab

    brokerlab.up(services=("kafka",))
    running_lab.kafka.wait_until_ready()
    yield running_lab
    brokerlab.up(services=("kafka",))


@pytest.fixture
def empty_home(monkeypatch):
    """A home that nothing was ever started in."""
    home = Path(tempfile.mkdtemp(prefix="brokerlab-empty-"))
    monkeypatch.setenv("BROKERLAB_HOME", str(home))
    yield home
    from brokerlab.lab import attached

    attached().down()
    shutil.rmtree(home, ignore_errors=True)
