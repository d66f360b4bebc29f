"""What must be there before a node can start: Java, Maven, jars, archives, formatted storage.

jar set         the jars of one profile of `jars/pom.xml`, resolved by Maven once
archive         a class-data archive: the classes of a booted broker, laid out so that the next
                JVM maps them instead of parsing jars
storage seed    the files of one real `StorageTool format`; a new broker gets a copy with its own
                ids, so that no JVM is needed to format

All of it lives in the cache, in a folder named after the versions of pom and Java.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path

from brokerlab.errors import SetupError
from brokerlab.state import cache, ensure_folder, locked

POM = Path(__file__).parent / "jars" / "pom.xml"
TEMPLATES = Path(__file__).parent / "templates"
OLDEST_JAVA = 17

Progress = Callable[[str], None]


def quiet(_: str) -> None:
    pass


@functools.cache
def java() -> str:
    """The Java the lab uses: BROKERLAB_JAVA, JAVA_HOME, or the one on the PATH."""
    home = os.environ.get("JAVA_HOME")
    candidates = [
        os.environ.get("BROKERLAB_JAVA"),
        f"{home}/bin/java" if home else None,
        shutil.which("java"),
    ]
    found = next((c for c in candidates if c and os.access(c, os.X_OK)), None)
    if found is None:
        raise SetupError(
            "Java is not installed. Install Java 17 or newer "
            f"({install_hint('java')}), or set BROKERLAB_JAVA to a java program."
        )
    version = java_version(found)
    if version[0] < OLDEST_JAVA:
        raise SetupError(
            f"{found} is Java {version[0]}, and Kafka 4 needs {OLDEST_JAVA} or newer "
            f"({install_hint('java')}), or set BROKERLAB_JAVA to a newer one."
        )
    return found


@functools.cache
def java_version(program: str) -> tuple[int, str]:
    """Major version, and the whole version line."""
    try:
        shown = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SetupError(f"{program} does not run ({error}). Reinstall Java 17 or newer.") from error
    text = shown.stderr + shown.stdout
    match = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if not match:
        raise SetupError(f"{program} does not say which Java it is. Set BROKERLAB_JAVA to another.")
    major = int(match[1])
    return (int(match[2] or 0) if major == 1 else major), text.strip()


def install_hint(tool: str) -> str:
    """The one command that installs a missing tool on this kind of system."""
    names = {
        "java": ("openjdk-17-jre-headless", "openjdk@17", "openjdk=17"),
        "maven": ("maven", "maven", "maven"),
        "rabbitmq": ("rabbitmq-server", "rabbitmq", "rabbitmq-server"),
        "chromium": ("chromium", "chromium", "chromium"),
    }
    apt, brew, conda = names[tool]
    if shutil.which("apt-get"):
        return f"sudo apt-get install --no-install-recommends {apt}"
    if shutil.which("brew"):
        return f"brew install {brew}"
    if shutil.which("conda"):
        return f"conda install -c conda-forge {conda}"
    return "or use containers: brokerlab up --backend compose"


@functools.cache
def pom_property(name: str) -> str:
    match = re.search(rf"<{re.escape(name)}>([^<]+)<", POM.read_text())
    if not match:
        raise SetupError(f"{POM} has no property {name}.")
    return match[1]


@functools.cache
def cache_folder() -> Path:
    """`cache/<hash>`: another pom or another Java gets another folder."""
    digest = hashlib.sha256(POM.read_bytes())
    digest.update(java_version(java())[1].encode())
    return cache() / digest.hexdigest()[:12]


def jar_set(profile: str, progress: Progress = quiet) -> Path:
    """The folder with the jars of a pom profile; Maven is asked only once."""
    folder = cache_folder() / f"jars-{profile}"
    if folder.is_dir():
        return folder
    ensure_folder(folder.parent)
    with locked(folder.parent / f"jars-{profile}.lock"):
        if not folder.is_dir():
            progress(f"fetching the {profile} jars with Maven (once)")
            _fetch(profile, folder)
    return folder


def _fetch(profile: str, folder: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise SetupError(f"Maven is not installed ({install_hint('maven')}); it fetches the jars.")
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        shutil.copy(POM, scratch)
        done = subprocess.run(
            [maven, "-B", "-ntp", "-q", "-P", profile, "dependency:copy-dependencies",
             f"-DoutputDirectory={scratch}/jars", "-DincludeScope=runtime"],
            cwd=scratch, capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode:
            wrong = [x for x in done.stdout.splitlines() if "ERROR" in x][:3]
            raise SetupError(
                "Maven could not fetch the jars. Check the network and run `make setup` again. "
                + " ".join(wrong)
            )
        Path(scratch, "jars").rename(folder)


def classpath(profile: str = "kafka") -> str:
    """Every jar by name: an archive is only valid for exactly this list."""
    return os.pathsep.join(str(jar) for jar in sorted(jar_set(profile).glob("*.jar")))


def storage_seed(progress: Progress = quiet) -> Path:
    """A folder formatted once by Kafka's own StorageTool."""
    folder = cache_folder() / "storage-seed"
    if folder.is_dir():
        return folder
    with locked(folder.with_suffix(".lock")):
        if not folder.is_dir():
            progress("formatting a storage folder with Kafka's own tool (once)")
            _format(folder)
    return folder


def _format(folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        settings = Path(scratch, "format.properties")
        settings.write_text(
            "process.roles=broker,controller\nnode.id=1\n"
            "controller.quorum.voters=1@127.0.0.1:19093\n"
            "listeners=PLAINTEXT://127.0.0.1:19092,CONTROLLER://127.0.0.1:19093\n"
            "controller.listener.names=CONTROLLER\n"
            f"log.dirs={scratch}/data\n"
        )
        format_storage(settings, new_cluster_id())
        shutil.copytree(f"{scratch}/data", folder.with_suffix(".part"), dirs_exist_ok=True)
        folder.with_suffix(".part").rename(folder)


def format_storage(settings: Path, cluster_id: str) -> str:
    """Run `StorageTool format` the way Kafka's documentation does."""
    done = subprocess.run(
        [java(), "-cp", classpath(), "kafka.tools.StorageTool", "format",
         "-t", cluster_id, "-c", str(settings)],
        capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        raise SetupError(f"Kafka's StorageTool failed: {(done.stderr or done.stdout)[-400:]}")
    return done.stdout


def new_cluster_id() -> str:
    """A random id in the form that Kafka uses: 16 bytes, base64, no padding."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def archive(name: str) -> Path:
    return cache_folder() / f"{name}.jsa"


def archive_option(name: str) -> list[str]:
    """The JVM flag that maps an archive; nothing when there is none yet."""
    path = archive(name)
    return [f"-XX:SharedArchiveFile={path}", "-Xshare:auto"] if path.exists() else []
