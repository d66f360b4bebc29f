"""The committed files: which rows of which dataset lie where, how they are written and read."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from brokerlab.datasets.album import draw_image, image_names, pictures
from brokerlab.datasets.fleet import trucks
from brokerlab.datasets.shop import invoices, order_events, orders
from brokerlab.errors import LabError

SEED = 7
IMAGES = "images"


@dataclass(frozen=True)
class Dataset:
    """One committed file: its name, who makes the rows, how many, and the key of a row."""

    file: str
    generator: Callable[..., Iterator[dict]]
    count: int
    key: str
    numeric: Mapping[str, type] = field(default_factory=dict)

    def rows(self) -> list[dict]:
        """The rows, made afresh."""
        return list(self.generator(self.count, seed=SEED))

    def as_bytes(self) -> bytes:
        """What the file must hold, byte for byte."""
        text = _as_csv(self.rows()) if self.file.endswith(".csv") else _as_json_lines(self.rows())
        return text.encode("utf-8")

    def parse(self, text: str) -> list[dict]:
        """The rows of a file's text, with numbers as numbers."""
        if not self.file.endswith(".csv"):
            return [json.loads(line) for line in text.splitlines()]
        rows = csv.DictReader(io.StringIO(text, newline=""))
        return [{k: self.numeric.get(k, str)(v) for k, v in row.items()} for row in rows]


TRUCK_NUMBERS = {"sequence": int, "lat": float, "lon": float, "speed_kmh": int}

DATASETS = {
    "trucks": Dataset("trucks.csv", trucks, 2_000, "truck_id", TRUCK_NUMBERS),
    "invoices": Dataset("invoices.jsonl", invoices, 400, "StoreID"),
    "orders": Dataset("orders.jsonl", orders, 1_000, "order_id"),
    "order_events": Dataset("order_events.jsonl", order_events, 1_500, "order_id"),
    "pictures": Dataset("pictures.jsonl", pictures, 240, "routing_key"),
}


def folder() -> Path:
    """The repository's datasets folder, which lies beside the package."""
    return Path(__file__).resolve().parents[2] / "datasets"


def load(name: str) -> list[dict]:
    """The rows of a committed file: `load("trucks")`."""
    dataset = _dataset(name)
    path = folder() / dataset.file
    if not path.is_file():
        raise LabError(
            f"{path} is missing. Run `python -m brokerlab.datasets write {folder()}` to make it."
        )
    return dataset.parse(path.read_text(encoding="utf-8"))


def image_bytes(event: Mapping) -> bytes:
    """The image that a row of the pictures dataset is about."""
    return draw_image(event["source"], event["size"], event["type"])


def write(target: Path, names: Iterable[str] = ()) -> list[Path]:
    """Write the named datasets (all of them without names) into a folder; tell which files."""
    wanted = list(names) or [*DATASETS, IMAGES]
    contents: dict[Path, bytes] = {}
    for name in wanted:
        if name == IMAGES:
            contents |= {Path(target, image): _image(image) for image in image_names()}
        else:
            contents[Path(target, _dataset(name).file)] = _dataset(name).as_bytes()
    for path, data in contents.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return list(contents)


def _dataset(name: str) -> Dataset:
    if name not in DATASETS:
        raise LabError(f"There is no dataset {name!r}. Choose one of: {', '.join(DATASETS)}.")
    return DATASETS[name]


def _image(name: str) -> bytes:
    source, rest = Path(name).name.split("-")
    size, kind = rest.split(".")
    return draw_image(source, size, kind)


def _as_json_lines(rows: list[dict]) -> str:
    return "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)


def _as_csv(rows: list[dict]) -> str:
    file = io.StringIO(newline="")
    table = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return file.getvalue()
