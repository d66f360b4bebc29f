"""Pictures: an event for each picture somebody uploaded, and twelve real, tiny image files.

A picture has a *source* (mobile, desktop), a *size* (small, large) and a *type* (png, jpg, svg);
its *routing key* is `source.size.type`, such as `mobile.large.svg`. The image of an event shows
the device it came from, drawn in 8 by 8 squares.
"""

import io
import struct
import zlib
from collections.abc import Iterator

from brokerlab.datasets.dice import Dice, moment, numbers

SOURCES = ("mobile", "desktop")
SIZES = {"small": 16, "large": 64}
TYPES = ("png", "jpg", "svg")
COLOURS = {".": (255, 255, 255), "#": (0, 0, 0), "o": (0, 114, 178), "*": (230, 159, 0)}
DRAWINGS = {
    "mobile": (
        ".#####..",
        ".#ooo#..",
        ".#o*o#..",
        ".#ooo#..",
        ".#ooo#..",
        ".#####..",
        ".##*##..",
        ".#####..",
    ),
    "desktop": (
        "########",
        "#oooooo#",
        "#oo**oo#",
        "#oo**oo#",
        "#oooooo#",
        "########",
        "...##...",
        ".######.",
    ),
}


def pictures(count: int | None = None, seed: int = 7) -> Iterator[dict]:
    """Uploads, oldest first. Key: `routing_key`; all twelve appear, mobile more often."""
    dice = Dice(seed)
    clock_ms = 0
    for number in numbers(count):
        clock_ms += dice.between(100, 3_000)
        source = dice.weighted(SOURCES, (3, 2))
        size = dice.pick(tuple(SIZES))
        kind = dice.pick(TYPES)
        yield {
            "picture_id": f"picture-{number:05d}",
            "routing_key": f"{source}.{size}.{kind}",
            "source": source,
            "size": size,
            "type": kind,
            "pixels": SIZES[size],
            "file": image_name(source, size, kind),
            "taken_time": moment(clock_ms),
        }


def image_name(source: str, size: str, kind: str) -> str:
    """Where the image lies inside the datasets folder."""
    return f"images/{source}-{size}.{kind}"


def image_names() -> list[str]:
    """All twelve image files."""
    return [image_name(s, size, kind) for s in SOURCES for size in SIZES for kind in TYPES]


def draw_image(source: str, size: str, kind: str) -> bytes:
    """The bytes of one image file. jpg needs Pillow, which comes with matplotlib."""
    pixels = _pixels(DRAWINGS[source], SIZES[size])
    return {"png": _png, "jpg": _jpg, "svg": _svg}[kind](pixels)


def _pixels(drawing: tuple[str, ...], side: int) -> list[list[tuple[int, int, int]]]:
    scale = side // len(drawing)
    return [
        [COLOURS[mark] for mark in row for _ in range(scale)]
        for row in drawing
        for _ in range(scale)
    ]


def _png(pixels: list) -> bytes:
    """A PNG by hand: signature, header, pixels, end. Each row starts with filter type 0."""
    rows = b"".join(b"\0" + bytes(part for pixel in row for part in pixel) for row in pixels)
    header = struct.pack(">IIBBBBB", len(pixels[0]), len(pixels), 8, 2, 0, 0, 0)
    body = _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(rows, 9)) + _chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _jpg(pixels: list) -> bytes:
    from PIL import Image

    image = Image.new("RGB", (len(pixels[0]), len(pixels)))
    image.putdata([pixel for row in pixels for pixel in row])
    file = io.BytesIO()
    image.save(file, "JPEG", quality=90)
    return file.getvalue()


def _svg(pixels: list) -> bytes:
    """Squares rather than pixels: a vector image has no need of one element for each pixel."""
    side, step = len(pixels), len(pixels) // 8
    box = f'width="{step}" height="{step}"'
    squares = [
        f'<rect x="{x}" y="{y}" {box} fill="#{bytes(pixels[y][x]).hex()}"/>'
        for y in range(0, side, step)
        for x in range(0, side, step)
        if pixels[y][x] != COLOURS["."]
    ]
    frame = f'viewBox="0 0 {side} {side}" width="{side}" height="{side}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {frame}>'
    return "\n".join([head, *squares, "</svg>\n"]).encode()
