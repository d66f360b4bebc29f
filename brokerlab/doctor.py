"""What this machine has, what the lab needs, and the one command that closes the gap."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from brokerlab import toolchain
from brokerlab.errors import LabError, SetupError, StateError
from brokerlab.state import cache, ensure_folder, home

DISK_GB = 2.0  # jars, archives, a day's topics and runs
MEMORY_GB = 3.0  # the lab at rest takes 1.7; notebooks and Spark's work come on top
APT_PACKAGES = {"java": "openjdk-17-jre-headless", "maven": "maven", "rabbitmq": "rabbitmq-server"}


@dataclass(frozen=True)
class Check:
    """One line of the doctor's report."""

    name: str
    ok: bool
    found: str
    needed: str
    fix: str = ""
    required: bool = True


def examine() -> list[Check]:
    return [*_tools(), *_room(), *_extras()]


def _tools() -> Iterator[Check]:
    version = sys.version_info
    yield Check(
        "python", (3, 11) <= version < (3, 14), f"{version.major}.{version.minor}", "3.11 to 3.13",
        "run make setup with PYTHON=/path/to/python3.12",
    )  # fmt: skip
    try:
        yield Check("java", True, str(toolchain.java_version(toolchain.java())[0]), "17 or newer")
    except SetupError as error:
        yield Check("java", False, str(error), "17 or newer", toolchain.install_hint("java"))
    cached = _jars_are_there()
    maven = shutil.which("mvn")
    yield Check(
        "maven", bool(maven) or cached, maven or ("not needed: the jars are cached" if cached else
        "missing"), "any, once, to fetch the jars", toolchain.install_hint("maven"),
    )  # fmt: skip
    rabbit = find_rabbitmq()
    yield Check(
        "rabbitmq", bool(rabbit), rabbit or "missing", "3.10 or newer",
        toolchain.install_hint("rabbitmq"),
    )  # fmt: skip


def find_rabbitmq() -> str | None:
    from brokerlab.nodes import rabbitmq

    try:
        return str(rabbitmq.server_program())
    except LabError:
        return None


def _jars_are_there() -> bool:
    try:
        folder = toolchain.cache_folder()
    except LabError:
        return False
    return all((folder / f"jars-{profile}").is_dir() for profile in ("kafka", "spark"))


def _room() -> Iterator[Check]:
    try:
        folder = ensure_folder(home())
        yield Check("folder", True, str(folder), "writable")
    except StateError as error:
        yield Check("folder", False, str(error), "writable", "set BROKERLAB_HOME to another folder")
        return
    free_gb = shutil.disk_usage(folder).free / 1e9
    yield Check(
        "disk", free_gb >= DISK_GB, f"{free_gb:.1f} GB free", f"{DISK_GB:g} GB",
        "free some space, `brokerlab clean`, or set BROKERLAB_HOME to another disk",
    )  # fmt: skip
    running_gb = _running_mb() / 1000
    memory_gb = psutil.virtual_memory().available / 1e9 + running_gb
    yield Check(
        "memory", memory_gb >= MEMORY_GB, f"{memory_gb:.1f} GB available", f"{MEMORY_GB:g} GB",
        "close other programs",
    )  # fmt: skip


def _running_mb() -> float:
    """What this lab already uses is not missing."""
    from brokerlab.lab import attached

    return sum(node.rss_mb for node in attached().nodes)


def _extras() -> Iterator[Check]:
    browser = next((p for p in ("chromium", "google-chrome", "chrome") if shutil.which(p)), None)
    yield Check(
        "browser", bool(browser), browser or "missing", "Chromium, for the browser tests only",
        toolchain.install_hint("chromium"), required=False,
    )  # fmt: skip
    engine = next((p for p in ("docker", "podman") if shutil.which(p)), None)
    yield Check(
        "containers", bool(engine), engine or "none", "only for --backend compose",
        "install docker or podman", required=False,
    )  # fmt: skip


def report() -> dict:
    """What `brokerlab doctor --json` prints."""
    checks = examine()
    return {
        "ok": all(check.ok for check in checks if check.required),
        "home": str(home()),
        "cache": str(cache()),
        "checks": [asdict(check) for check in checks],
    }


# Putting it right


def install_missing(progress: Callable[[str], None], extras: tuple[str, ...] = ()) -> None:
    """Install missing system packages with apt, where root or sudo allows it."""
    missing = [c.name for c in examine() if not c.ok and c.name in APT_PACKAGES]
    packages = [APT_PACKAGES[name] for name in missing]
    packages += [package for package in extras if not shutil.which(package)]
    if not packages:
        return
    if not shutil.which("apt-get"):
        raise SetupError(f"Missing: {', '.join(missing)}. {toolchain.install_hint(missing[0])}")
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if sudo and not shutil.which("sudo"):
        raise SetupError(f"As root, run: apt-get install -y {' '.join(packages)}")
    progress(f"installing {', '.join(packages)} with apt")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update", "-q"], ["install", "-y", "-q", "--no-install-recommends", *packages]):
        done = subprocess.run(
            [*sudo, "apt-get", *words], capture_output=True, text=True, env=environment
        )
    if done.returncode:
        lines = re.findall(r"^E: .*", done.stderr, re.M) or [done.stderr.strip()[-300:]]
        raise SetupError(f"apt could not install {', '.join(packages)}: {lines[0]}")
    toolchain.java.cache_clear()


def prepare(progress: Callable[[str], None]) -> None:
    """Fill the cache: jars, storage seed, archives. The first `up` is then as fast as the next."""
    from brokerlab import archives

    toolchain.jar_set("kafka", progress)
    toolchain.jar_set("spark", progress)
    archives.ensure_broker_archive(progress)
    archives.ensure_spark_archive(progress)


def folder_size_mb(folder: Path) -> float:
    """Bytes on disk, not the length of sparse files."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(path, name)).st_blocks * 512
            except OSError:
                continue
    return round(total / 1e6, 1)
