"""The commands that start, watch, break and remove a lab."""

from __future__ import annotations

import os
import shutil
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from brokerlab.cli.app import AsJson, app, show_json
from brokerlab.errors import LabError
from brokerlab.state import home


class Backend(StrEnum):
    local = "local"
    compose = "compose"
    remote = "remote"


class Profile(StrEnum):
    lab = "lab"
    stock = "stock"


class Verb(StrEnum):
    kill = "kill"
    pause = "pause"
    resume = "resume"
    cut = "cut"
    slow = "slow"
    heal = "heal"


@app.command()
def up(
    backend: Annotated[Backend, typer.Option(help="Where nodes run.")] = Backend.local,
    profile: Annotated[
        Profile | None, typer.Option(help="lab: fast; stock: Kafka's own flags and timeouts.")
    ] = None,
    jupyter: Annotated[bool, typer.Option(help="Serve the notebooks too.")] = False,
    open_: Annotated[bool, typer.Option("--open", help="Open them in a browser.")] = False,
    only: Annotated[
        str | None, typer.Option(help="Start only these: kafka,rabbitmq,spark.")
    ] = None,
) -> None:
    """Start the lab, or attach to the one that runs, and heal what was left broken."""
    from brokerlab import lab as lab_module
    from brokerlab import screen

    if backend is not Backend.local:
        raise LabError(
            f"The {backend} backend is not part of this version yet; use --backend local."
        )
    services = tuple(only.split(",")) if only else lab_module.SERVICES
    if unknown := set(services) - set(lab_module.SERVICES):
        raise LabError(
            f"--only {', '.join(sorted(unknown))}: choose from {', '.join(lab_module.SERVICES)}."
        )
    with screen.progress("starting the lab") as progress:
        lab = lab_module.up(profile=profile, services=services, progress=progress)
        node = lab.start_jupyter(progress) if jupyter or open_ else None
    screen.out.print(screen.status_table(lab))
    if node:
        screen.out.print(f"\nOpen {node.url}", soft_wrap=True)
        if open_:
            typer.launch(node.url)


@app.command()
def down(
    graceful: Annotated[bool, typer.Option(help="Let every node say goodbye (slower).")] = False,
) -> None:
    """Stop every process of this lab; data and notebooks stay."""
    from brokerlab import screen
    from brokerlab.lab import attached

    stopped = attached().backend.down(graceful)
    screen.out.print(f"stopped {', '.join(stopped)}" if stopped else "nothing was running")


@app.command()
def status(json_: AsJson = False) -> None:
    """Nodes, pids, ports, memory, leaders and disk use; heals what a dead notebook left."""
    from brokerlab import doctor, screen
    from brokerlab.lab import attached

    lab = attached()
    healed = lab.backend.heal(with_unowned=False)
    if json_:
        return show_json(lab.status())
    for fault in healed:
        screen.out.print(f"healed {fault}: the notebook that did it is gone")
    if not lab.nodes:
        return screen.out.print("No lab here. `brokerlab up` starts one.")
    screen.out.print(screen.status_table(lab))
    shown = lab.status()
    screen.out.print()
    for key in ("bootstrap_servers", "amqp_url", "spark_remote", "jupyter_url"):
        if shown[key]:
            screen.out.print(f"{key:<18} {shown[key]}", soft_wrap=True)
    total = sum(node["rss_mb"] for node in shown["nodes"])
    screen.out.print(
        f"{'memory':<18} {total:.0f} MB    disk {doctor.folder_size_mb(lab.store.home):.0f} MB "
        f"in {lab.store.home}"
    )


@app.command()
def reset() -> None:
    """Bring Kafka and RabbitMQ back to empty, on the same ports."""
    from brokerlab import screen
    from brokerlab.lab import attached

    lab = attached()
    if not lab.nodes:
        raise LabError("There is no lab to reset. `brokerlab up` starts one.")
    with screen.progress("resetting") as progress:
        lab.backend.progress = progress
        lab.backend.reset()
    screen.out.print("The lab is empty and ready.")


@app.command()
def fault(
    verb: Annotated[Verb, typer.Argument(help="What to do.")],
    node: Annotated[str, typer.Argument(help="A node's name, as `brokerlab status` shows it.")],
    links: Annotated[str, typer.Option(help="cut, slow: peers, clients or all.")] = "peers",
    direction: Annotated[str, typer.Option(help="cut: both, or replies only.")] = "both",
    latency_ms: Annotated[float, typer.Option(help="slow: the delay each way.")] = 100.0,
) -> None:
    """Break a node, or heal it (heal also restarts a killed one)."""
    from brokerlab import faults, screen
    from brokerlab.lab import attached

    target = attached().node(node)
    if verb is Verb.heal or verb is Verb.resume:
        healed = faults.heal_node(target)
        done = ", ".join(healed) if healed else "nothing to heal"
        return screen.out.print(f"{node}: {done}; it is {target.state}")
    options: dict = {}
    if verb in (Verb.cut, Verb.slow):
        options["links"] = links
    if verb is Verb.cut:
        options["direction"] = direction
    if verb is Verb.slow:
        options["latency_ms"] = latency_ms
    faults.begin(target, verb.value, **options)
    screen.out.print(f"{node} is {target.state}; `brokerlab fault heal {node}` ends it")


@app.command()
def logs(
    node: Annotated[str, typer.Argument(help="A node's name, as `brokerlab status` shows it.")],
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Keep printing.")] = False,
    lines: Annotated[int, typer.Option("-n", help="How many lines from the end.", min=1)] = 40,
) -> None:
    """Print the end of a node's log."""
    from brokerlab.lab import attached
    from brokerlab.nodes import process

    target = attached().node(node)
    print(process.tail(target.log, lines))
    if follow:
        _follow(target.log)


def _follow(path: Path) -> None:
    import time

    with open(path, errors="replace") as handle:
        handle.seek(0, os.SEEK_END)
        while True:
            if line := handle.readline():
                print(line, end="", flush=True)
            else:
                time.sleep(0.2)


@app.command()
def doctor(json_: AsJson = False) -> None:
    """Say what this machine has and what the lab needs; exit 2 when something is missing."""
    from brokerlab import doctor as examiner
    from brokerlab import screen

    report = examiner.report()
    if json_:
        show_json(report)
    else:
        screen.out.print(screen.doctor_table(report))
    if not report["ok"]:
        missing = [c["name"] for c in report["checks"] if c["required"] and not c["ok"]]
        screen.err.print(f"Not ready: {', '.join(missing)}. Do what the last column says.")
        raise typer.Exit(2)


@app.command()
def setup(
    tests: Annotated[bool, typer.Option(help="Also what the tests need (a browser).")] = False,
) -> None:
    """Install missing system packages where that is allowed, fetch jars, record archives."""
    from brokerlab import doctor as examiner
    from brokerlab import screen

    with screen.progress("setting up") as progress:
        examiner.install_missing(progress, ("chromium",) if tests else ())
        examiner.prepare(progress)
    screen.err.print("Everything is there.")


@app.command()
def clean(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Stop the lab and delete its data, logs and runs; keep your notebooks and the jars."""
    from brokerlab.lab import attached

    names = [n for n in ("nodes", "runs", "state.json", "judgements.jsonl") if (home() / n).exists()]
    _delete([home() / name for name in names], yes, attached().down)


@app.command()
def uninstall(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """List everything the lab put on this machine, ask, stop the lab and remove it."""
    from brokerlab.lab import attached
    from brokerlab.state import cache, project_root

    places = [home(), cache()]
    if root := project_root():
        places.append(root / ".venv")
    unique = [p for p in dict.fromkeys(places) if p.exists()]
    _delete([p for p in unique if not any(q in p.parents for q in unique)], yes, attached().down)


def _delete(places: list[Path], yes: bool, stop) -> None:
    from brokerlab import doctor, screen

    if not places:
        return screen.out.print("Nothing to remove.")
    for place in places:
        size_mb = doctor.folder_size_mb(place) if place.is_dir() else 0
        screen.out.print(f"{size_mb:8.0f} MB  {place}", soft_wrap=True)
    if not yes and not typer.confirm("Delete all of this?"):
        raise typer.Exit(1)
    stop()
    for place in places:
        shutil.rmtree(place, ignore_errors=True) if place.is_dir() else place.unlink(missing_ok=True)
    screen.out.print("Removed.")
