"""The command's frame: the typer app, its groups, and what all commands share."""

from __future__ import annotations

import json
from typing import Annotated

import typer

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    help="Learn Kafka and RabbitMQ by breaking them. `brokerlab up --jupyter` is the beginning.",
)
notebooks_app = typer.Typer(no_args_is_help=True, help="The course's notebooks and your copies.")
bench_app = typer.Typer(no_args_is_help=True, help="Measure this machine; ratios in one run.")
app.add_typer(notebooks_app, name="notebooks")
app.add_typer(bench_app, name="bench")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for another program.")]


def show_json(data: object) -> None:
    print(json.dumps(data, indent=1, default=str))
