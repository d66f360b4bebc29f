"""The committed datasets are what the generators make, and what datasets/README.md says."""

import io
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest
from PIL import Image, ImageChops

from brokerlab import datasets
from brokerlab.datasets import DATASETS, folder, load
from brokerlab.datasets.__main__ import main
from brokerlab.datasets.album import image_names
from brokerlab.errors import LabError

README = (folder() / "README.md").read_text(encoding="utf-8")
NAMES = list(DATASETS)


def section(name: str) -> str:
    """The part of the README under a dataset's heading."""
    return re.search(rf"^## {name}$(.*?)(?=^## |\Z)", README, re.M | re.S).group(1)


def documented_fields(name: str, heading: str = "field") -> list[str]:
    table = section(name).split(f"| {heading} | type | meaning |\n")[1].split("\n\n")[0]
    return re.findall(r"^\| `(\w+)` \|", table, re.M)


@pytest.mark.parametrize("name", NAMES)
def test_the_committed_file_is_what_the_generator_writes_byte_for_byte(name):
    assert (folder() / DATASETS[name].file).read_bytes() == DATASETS[name].as_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_loading_gives_the_rows_that_were_generated(name):
    assert load(name) == DATASETS[name].rows()


@pytest.mark.parametrize("name", NAMES)
def test_the_readme_lists_exactly_the_fields_of_every_row(name):
    fields = documented_fields(name)
    assert all(list(row) == fields for row in load(name))


@pytest.mark.parametrize("name", NAMES)
def test_the_readme_states_file_rows_key_seed_and_command(name):
    data = DATASETS[name]
    command = f"python -m brokerlab.datasets write datasets/ {name}"
    row = f"| {name} | `{data.file}` | {len(load(name))} | `{data.key}` | 7 | `{command}` |"
    assert row in README
    assert f"| `{data.key}` | text | **the key**" in section(name)


@pytest.mark.parametrize("name", NAMES)
def test_a_longer_stream_begins_with_the_shorter_one(name):
    generator = DATASETS[name].generator
    assert list(islice(generator(seed=3), 50)) == list(generator(50, seed=3))
    assert list(generator(20, seed=3)) == list(generator(50, seed=3))[:20]
    assert list(generator(50, seed=3)) != list(generator(50, seed=4))


def test_every_committed_file_is_small():
    sizes = {path: path.stat().st_size for path in folder().rglob("*") if path.is_file()}
    assert len(sizes) == len(DATASETS) + len(image_names()) + 1
    assert max(sizes.values()) < 300_000
    assert all(sizes[folder() / name] < 4_096 for name in image_names())


def test_three_trucks_of_twenty_send_more_than_half():
    rows = Counter(row["truck_id"] for row in load("trucks"))
    assert len(rows) == 20
    assert [truck for truck, _ in rows.most_common(3)] == ["truck-01", "truck-02", "truck-03"]
    assert sum(n for _, n in rows.most_common(3)) > 1_000


def test_some_positions_are_late_and_the_sending_order_is_not():
    rows = load("trucks")
    assert [r["sent_time"] for r in rows] == sorted(r["sent_time"] for r in rows)
    assert [r["event_time"] for r in rows] != sorted(r["event_time"] for r in rows)
    held = [row for row in rows if row["event_time"] < row["sent_time"]]
    assert 0.04 * len(rows) < len(held) < 0.1 * len(rows)
    assert all(
        row["event_time"] == row["sent_time"]
        for row in datasets.trucks(300, late=0, out_of_order=0)
    )


def test_each_truck_numbers_its_rows_without_a_gap():
    last = Counter()
    for row in load("trucks"):
        assert row["sequence"] == last[row["truck_id"]] + 1
        last[row["truck_id"]] += 1


def test_a_fleet_can_be_even():
    rows = Counter(row["truck_id"] for row in datasets.trucks(4_000, trucks=4, hot=0))
    assert len(rows) == 4
    assert max(rows.values()) < 1.2 * min(rows.values())


def test_an_invoice_adds_up_and_its_lines_are_documented():
    for invoice in load("invoices"):
        lines = invoice["InvoiceLineItems"]
        assert all(list(line) == documented_fields("invoices", "line field") for line in lines)
        assert all(
            round(line["ItemPrice"] * 100) * line["ItemQty"] == round(line["TotalValue"] * 100)
            for line in lines
        )
        cents = sum(round(line["TotalValue"] * 100) for line in lines)
        assert round(invoice["TotalAmount"] * 100) == cents
        assert invoice["NumberOfItems"] == sum(line["ItemQty"] for line in lines)
        assert (invoice["DeliveryAddress"] is None) == (invoice["DeliveryType"] == "TAKEAWAY")


def test_an_invoice_takes_one_line_of_json():
    lines = (folder() / "invoices.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["StoreID"] for line in lines] == [
        r["StoreID"] for r in load("invoices")
    ]


def test_one_order_in_twenty_fails_each_check_and_none_fails_two():
    answers = [datasets.validate(order) for order in load("orders")]
    failed = [[check for check, answer in a.items() if answer == "FAIL"] for a in answers]
    assert max(map(len, failed)) == 1
    counts = Counter(check for checks in failed for check in checks)
    assert set(counts) == {"fraud", "inventory", "details"}
    assert all(30 <= count <= 70 for count in counts.values())


def test_orders_without_bad_ones_all_pass():
    good = (datasets.validate(order) for order in datasets.orders(500, bad=0))
    assert {answer for answers in good for answer in answers.values()} == {"PASS"}


def test_an_order_lives_through_its_states_in_turn():
    lives: dict[str, list] = {}
    for event in load("order_events"):
        lives.setdefault(event["order_id"], []).append((event["step"], event["state"]))
    full = ["CREATED", "VALIDATED", "PAID", "SHIPPED", "DELIVERED"]
    for life in lives.values():
        states = [state for _, state in life]
        assert [step for step, _ in life] == list(range(1, len(life) + 1))
        if states[-1] == "CANCELLED":
            states.pop()
            assert 1 <= len(states) <= 3
        assert states == full[: len(states)]
    ends = Counter(life[-1][1] for life in lives.values())
    assert ends["DELIVERED"] > 5 * ends["CANCELLED"] > 0


def test_the_twelve_routing_keys_all_occur_and_name_an_image():
    rows = load("pictures")
    assert len({row["routing_key"] for row in rows}) == 12
    for row in rows:
        assert row["routing_key"] == f"{row['source']}.{row['size']}.{row['type']}"
        assert row["file"] in image_names()


def test_an_image_shows_what_its_name_says():
    for row in {row["file"]: row for row in load("pictures")}.values():
        committed = (folder() / row["file"]).read_bytes()
        drawn = datasets.image_bytes(row)
        if row["type"] == "svg":
            assert committed == drawn
            assert ElementTree.fromstring(drawn).get("width") == str(row["pixels"])
            continue
        images = [Image.open(io.BytesIO(data)) for data in (committed, drawn)]
        assert images[0].format == {"png": "PNG", "jpg": "JPEG"}[row["type"]]
        assert images[0].size == (row["pixels"], row["pixels"])
        difference = ImageChops.difference(*(image.convert("RGB") for image in images))
        worst = max(high for _, high in difference.getextrema())
        assert worst <= (0 if row["type"] == "png" else 24)


def test_the_command_writes_all_files_or_the_named_ones(tmp_path, capsys):
    assert main(["write", str(tmp_path), "orders"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["orders.jsonl"]
    assert "orders.jsonl" in capsys.readouterr().out
    assert main(["write", str(tmp_path)]) == 0
    assert len(list(tmp_path.iterdir())) == len(DATASETS) + 1
    assert len(list((tmp_path / "images").iterdir())) == 12


def test_an_unknown_name_is_answered_with_one_sentence_and_exit_2(tmp_path, capsys):
    assert main(["write", str(tmp_path), "lorries"]) == 2
    assert capsys.readouterr().err.startswith(
        "There is no dataset 'lorries'. Choose one of: trucks"
    )
    with pytest.raises(LabError, match="Choose one of"):
        load("lorries")


def test_a_missing_file_is_answered_with_the_command_that_makes_it(tmp_path, monkeypatch):
    monkeypatch.setattr("brokerlab.datasets.files.folder", lambda: tmp_path)
    with pytest.raises(LabError, match=r"python -m brokerlab\.datasets write"):
        load("trucks")


def test_the_module_runs_as_a_command(tmp_path):
    command = [sys.executable, "-m", "brokerlab.datasets", "write", str(tmp_path), "pictures"]
    subprocess.run(command, check=True, cwd=Path(__file__).parents[1], capture_output=True)
    assert (tmp_path / "pictures.jsonl").read_bytes() == (folder() / "pictures.jsonl").read_bytes()


def test_the_first_draws_are_pinned_so_that_another_python_cannot_change_them():
    first = next(datasets.trucks(1))
    assert (first["truck_id"], first["lat"], first["event_time"]) == (
        "truck-01",
        52.056541,
        "2026-01-05T08:00:00.668Z",
    )
