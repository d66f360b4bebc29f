"""`python -m brokerlab.claims import FILE [--to claims.toml]`: make the catalogue again."""

import argparse
import sys
from pathlib import Path

from brokerlab.claims.catalogue import CATALOGUE, import_claims
from brokerlab.errors import LabError


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m brokerlab.claims", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("import", help="write claims.toml from one JSON claim a line")
    command.add_argument("file", type=Path)
    command.add_argument("--to", type=Path, default=CATALOGUE)
    asked = parser.parse_args()
    try:
        count = import_claims(asked.file, asked.to)
    except LabError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{count} claims written to {asked.to}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
