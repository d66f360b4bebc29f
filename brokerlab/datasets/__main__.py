"""`python -m brokerlab.datasets write datasets/ [NAME ...]`: make the committed files again."""

import argparse
import sys
from pathlib import Path

from brokerlab.datasets.files import DATASETS, IMAGES, write
from brokerlab.errors import LabError


def main(arguments: list[str] | None = None) -> int:
    """Write the files and name each with its size; 2 and one sentence when that is impossible."""
    parser = argparse.ArgumentParser(prog="python -m brokerlab.datasets", description=__doc__)
    parser.add_argument("command", choices=["write"])
    parser.add_argument("folder", type=Path, help="where to write, usually datasets/")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"{', '.join([*DATASETS, IMAGES])}; all without"
    )
    options = parser.parse_args(arguments)
    try:
        for path in write(options.folder, options.names):
            print(f"{path}  {path.stat().st_size:,} bytes")
    except (LabError, OSError) as problem:
        print(problem, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
