"""The commands about notebooks, claims and measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from brokerlab.cli.app import AsJson, app, bench_app, notebooks_app, show_json
from brokerlab.errors import LabError
from brokerlab.state import home


@app.command()
def run(
    names: Annotated[list[str] | None, typer.Argument(help="Numbers: 00 04 ...")] = None,
    all_: Annotated[bool, typer.Option("--all", help="Every notebook of the course.")] = False,
    parameter: Annotated[
        list[str] | None,
        typer.Option("-p", help="A parameter as NAME VALUE: -p records 500", metavar="NAME VALUE"),
    ] = None,
    small: Annotated[bool, typer.Option(help="The notebooks' own smaller parameters.")] = False,
    repeat: Annotated[int, typer.Option(help="Run each N times, compare verdicts.", min=1)] = 1,
    busy: Annotated[bool, typer.Option(help="Two busy loops beside it.")] = False,
    cell_timeout_s: Annotated[int, typer.Option(help="Limit for one cell.", min=1)] = 120,
) -> None:
    """Run notebooks with papermill; copies and pages go to `.lab/runs/`."""
    from brokerlab import runner, screen, workcopies

    if not names and not all_:
        raise LabError("Say which notebooks: `brokerlab run 00 04`, or `brokerlab run --all`.")
    chosen = [str(path) for path in workcopies.all_notebooks()] if all_ else names
    report = runner.run(
        chosen,
        dict(item.split("=", 1) for item in parameter or []),
        small=small,
        repeat=repeat,
        busy=busy,
        cell_timeout_s=cell_timeout_s,
        progress=lambda line: screen.err.print(line, markup=False),
    )
    screen.out.print(report.text(), markup=False)
    if not report.ok:
        raise typer.Exit(1)


@notebooks_app.command()
def restore(name: Annotated[str, typer.Argument(help="A notebook's number.")]) -> None:
    """Give a fresh copy of a notebook; your edited one is kept beside it."""
    from brokerlab import screen, workcopies

    screen.out.print(f"fresh: {workcopies.restore(home(), name)}", soft_wrap=True)


@notebooks_app.command()
def record(names: Annotated[list[str], typer.Argument(help="Numbers of notebooks.")]) -> None:
    """Run notebooks and write their outputs into the tracked files (for maintainers)."""
    from brokerlab import runner, screen, workcopies

    for name in names:
        path = workcopies.notebook_path(name)
        runner.record(path)
        screen.out.print(f"recorded {path.name}")


@app.command()
def claims(
    diff: Annotated[Path | None, typer.Option(help="Exit 1 when a verdict differs.")] = None,
    write: Annotated[Path | None, typer.Option(help="Write or update this page.")] = None,
    json_: AsJson = False,
) -> None:
    """What was judged in this lab: verdict, figure, notebook."""
    from rich.table import Table

    from brokerlab import claims as ledger
    from brokerlab import screen

    rows = ledger.ledger_rows()
    if diff:
        changes = ledger.diff(rows, diff)
        for change in changes:
            print(change)
        raise typer.Exit(1 if changes else 0)
    if write:
        return ledger.write_claims_md(rows, write)
    if json_:
        return show_json(rows)
    judged = [row for row in rows if row["verdict"] != "open"]
    table = Table(box=None, pad_edge=False)
    for column in ("claim", "verdict", "measured", "notebook"):
        table.add_column(column)
    for row in judged:
        table.add_row(row["id"], row["verdict"], str(row["measured"]), row["notebook"])
    screen.out.print(table)
    screen.out.print(f"{len(judged)} judged, {len(rows) - len(judged)} open")


@bench_app.command()
def boot(
    runs: Annotated[int, typer.Option(help="Boots of each kind, alternating.", min=1)] = 5,
    json_: AsJson = False,
) -> None:
    """Three ready brokers: this lab against Kafka's stock way."""
    from brokerlab import screen
    from brokerlab.bench import boot as measure

    with screen.progress("booting clusters") as progress:
        result = measure.run(runs, progress)
    if json_:
        return show_json(result)
    screen.out.print(
        f"stock {result['stock_s']:.2f} s (format {result['stock_format_s']:.2f} s), "
        f"lab {result['lab_s']:.2f} s, ratio {result['ratio']:.2f}, "
        f"three brokers {result['rss_mb']:.0f} MB"
    )
    for phase, seconds in result["lab_phases_s"].items():
        screen.out.print(f"  {seconds:5.2f} s  {phase}")
