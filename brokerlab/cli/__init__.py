"""The `brokerlab` command. Each command is a few lines over the package."""

from __future__ import annotations

import sys

from brokerlab.errors import LabError


def main() -> None:
    """Errors the lab expects become one sentence and exit 2."""
    from brokerlab.cli import course_commands, lab_commands  # noqa: F401  (they join the app)
    from brokerlab.cli.app import app

    try:
        app(joined_parameters(sys.argv[1:]), prog_name="brokerlab")
    except LabError as error:
        print(f"brokerlab: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("brokerlab: stopped by Ctrl-C; `brokerlab status` shows what runs.", file=sys.stderr)
        sys.exit(130)


def joined_parameters(words: list[str]) -> list[str]:
    """`-p name value`, papermill's way to write a parameter, as the one word that typer takes."""
    if words[:1] != ["run"]:
        return words
    joined, rest = [], iter(words)
    for word in rest:
        if word != "-p":
            joined.append(word)
            continue
        name = next(rest, None)
        value = None if name is None or "=" in name else next(rest, None)
        if name is None or (value is None and "=" not in name):
            raise SystemExit(_say("brokerlab: -p takes a name and a value: -p records 500"))
        joined += ["-p", name if value is None else f"{name}={value}"]
    return joined


def _say(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return 2
