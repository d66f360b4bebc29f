"""The one look: large letters, thick lines, white ground, colours that everybody can tell apart.

A *picture* is a matplotlib figure with a description. A *style* is how one name (a broker, a
group member, a setting) is drawn: colour, hatch, marker and dashes, so that colour never stands
alone.
"""

import base64
import functools
import html
import io
import re
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple, TypeVar

from matplotlib import colors, style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from brokerlab.pictures.told import Fault

BLACK, GREY, PALE = "#000000", "#595959", "#EDEDED"
BLUE, ORANGE, GREEN = "#0072B2", "#E69F00", "#009E73"
PURPLE, SKY, YELLOW = "#CC79A7", "#56B4E9", "#F0E442"
# Vermilion is kept for what went wrong: a fault, a gap, a loss.
TROUBLE, TROUBLE_TEXT = "#D55E00", "#9C3D00"

WIDTH_IN = 10.0
DPI = 100
TITLE_LETTERS = 62

LOOK = {
    "font.family": "DejaVu Sans",
    "font.size": 15,
    "axes.titlesize": 15,
    "axes.labelsize": 15,
    "xtick.labelsize": 14,
    "ytick.labelsize": 14,
    "legend.fontsize": 14,
    "legend.frameon": False,
    "figure.titlesize": 19,
    "figure.titleweight": "bold",
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 1.5,
    "axes.axisbelow": True,
    "axes.grid": False,
    "grid.color": "#D0D0D0",
    "lines.linewidth": 3.0,
    "lines.markersize": 8,
    "hatch.linewidth": 1.6,
    "text.parse_math": False,  # a topic may be called $prices$
}

Drawing = TypeVar("Drawing", bound=Callable[..., "Picture"])


class Style(NamedTuple):
    """How one name is drawn wherever it appears in a picture."""

    colour: str
    hatch: str
    marker: str
    dashes: str | tuple


STYLES = (
    Style(BLUE, "", "o", "solid"),
    Style(ORANGE, "//", "^", (0, (4, 1.5))),
    Style(GREEN, "..", "s", (0, (1, 1))),
    Style(PURPLE, "\\\\", "D", (0, (5, 1, 1, 1))),
    Style(SKY, "xx", "v", (0, (2, 1))),
    Style(YELLOW, "++", "P", (0, (6, 2))),
    Style(GREY, "--", "X", (0, (1, 2))),
)


class Picture(Figure):
    """A figure that can also be read aloud: `alt_text` says in words what it shows."""

    alt_text: str = ""

    def _ipython_display_(self) -> None:
        show(self)

    def savefig(self, fname, **options) -> None:  # type: ignore[override]
        """As in matplotlib; the description goes into PNG and SVG files."""
        kind = options.get("format") or Path(str(fname)).suffix.lstrip(".") or "png"
        if kind in ("png", "svg") and self.alt_text:
            options["metadata"] = {"Description": self.alt_text, **(options.get("metadata") or {})}
        super().savefig(fname, **options)


def drawn(function: Drawing) -> Drawing:
    """Run a drawing function in the common look, whatever the reader's own settings are."""

    @functools.wraps(function)
    def in_our_look(*arguments, **options):
        with style.context(["default", LOOK]):
            return function(*arguments, **options)

    return in_our_look  # type: ignore[return-value]


def blank(title: str, height_in: float) -> Picture:
    """An empty picture with its finding as the title."""
    picture = Picture(figsize=(WIDTH_IN, height_in), dpi=DPI, layout="constrained")
    picture.get_layout_engine().set(w_pad=0.12, h_pad=0.1)
    picture.suptitle(balanced(title, TITLE_LETTERS), x=0.012, ha="left")
    picture.alt_text = title
    return picture


def balanced(text: str, letters: int) -> str:
    """Text broken into as few lines as fit, all about equally long: no word stands alone."""
    fewest = len(textwrap.wrap(text, letters))
    for width in range(max(1, len(text) // max(1, fewest)), letters):
        lines = textwrap.wrap(text, width, break_long_words=False)
        if len(lines) <= fewest and max(map(len, lines), default=0) <= letters:
            return "\n".join(lines)
    return textwrap.fill(text, letters)


def nothing(title: str, words: str) -> Picture:
    """A picture that says there is nothing to see, and what was expected."""
    picture = blank(title, 2.6)
    axes = picture.add_subplot()
    axes.set_axis_off()
    axes.text(0.5, 0.5, words, ha="center", va="center", color=GREY, fontsize=17, style="italic")
    describe(picture, words)
    return picture


def describe(picture: Picture, *sentences: str) -> None:
    """Add to the description, after the title."""
    parts = [picture.alt_text, *(sentence for sentence in sentences if sentence)]
    picture.alt_text = " ".join(part.strip().rstrip(".") + "." for part in parts if part)


def styles_for(names: Iterable[object]) -> dict:
    """A style for each name. Names that end in a number keep their style in every picture."""
    names = list(dict.fromkeys(names))
    tails = [re.search(r"(\d+)$", str(name)) for name in names]
    places = [int(tail.group(1)) - 1 if tail else -1 for tail in tails]
    if len({place % len(STYLES) for place in places}) < len(names) or min(places, default=0) < 0:
        places = list(range(len(names)))
    return {n: STYLES[place % len(STYLES)] for n, place in zip(names, places, strict=True)}


def ink_on(colour: str) -> str:
    """Black or white, whichever is easier to read on a colour."""
    red, green, blue = (part**2.2 for part in colors.to_rgb(colour))
    # At this luminance black and white have the same contrast (WCAG 2).
    return BLACK if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 else "white"


def short(name: object, limit: int = 24) -> str:
    """A long name with its middle left out: both ends tell names apart."""
    text = str(name)
    if len(text) <= limit:
        return text
    head = (limit - 1) // 2
    return f"{text[:head]}…{text[-(limit - 1 - head) :]}"


def shade(axes: Axes, faults: Iterable[Fault], words: bool = True) -> None:
    """Shade the time of each fault; its label stands above, in as many rows as needed."""
    rows: list[float] = []
    left, right = axes.get_xlim()
    for fault in faults:
        span = (fault.start_s, right if fault.end_s is None else fault.end_s)
        axes.axvspan(*span, fc=TROUBLE, alpha=0.16, lw=0, zorder=0.5, gid="fault")
        for edge in span:
            axes.axvline(edge, color=TROUBLE, lw=1.8, ls=(0, (3, 2)), zorder=4)
        if words and fault.label:
            _label_above(axes, fault, span, rows, right - left)
    axes.set_xlim(left, right)


def _label_above(
    axes: Axes, fault: Fault, span: tuple[float, float], rows: list[float], width_s: float
) -> None:
    # A letter takes about 1/80 of the axis; that is exact enough to choose a row.
    text = short(fault.label, 40)
    half = len(text) * width_s / 160
    left, right = axes.get_xlim()
    middle = min(max(sum(span) / 2, left + half), right - half)
    row = next((n for n, end in enumerate(rows) if end < middle - half), len(rows))
    rows[row : row + 1] = [middle + half]
    axes.annotate(
        text,
        (middle, 1),
        xycoords=("data", "axes fraction"),
        # A panel's own title stands directly above it; faults are named above that.
        xytext=(0, 5 + 21 * row + (24 if axes.get_title(loc="left") else 0)),
        textcoords="offset points",
        ha="center",
        va="bottom",
        color=TROUBLE_TEXT,
        fontweight="bold",
        fontsize=14,
    )


def drop_what_does_not_fit(picture: Picture, labels: Iterable[tuple[Text, float, float]]) -> None:
    """Take away each text that is wider than its place, given in data coordinates."""
    picture.draw_without_rendering()
    for text, left, right in labels:
        to_pixels = text.axes.transData.transform
        place = to_pixels((right, 0))[0] - to_pixels((left, 0))[0]
        if text.get_window_extent().width > place - 6:
            text.remove()


def legend_below(picture: Picture, handles: list, columns: int = 4) -> None:
    """The legend under the picture, where it hides nothing."""
    longest = max((len(str(handle.get_label())) for handle in handles), default=1)
    columns = max(1, min(columns, len(handles), 88 // (longest + 7)))
    picture.legend(handles=handles, loc="outside lower left", ncols=columns, handlelength=2.4)


def show(figure: Figure, width_px: int | None = None) -> None:
    """Display a figure in a notebook: twice as fine as the screen, never wider than the page.

    HTML rather than a bare image, because JupyterLab gives a bare image no alternative text.
    """
    from IPython.display import display

    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=2 * DPI)
    words = getattr(figure, "alt_text", "") or "A figure without a description."
    data = base64.b64encode(file.getvalue()).decode()
    width_px = width_px or round(figure.get_figwidth() * DPI)
    image = (
        f'<img alt="{html.escape(words, quote=True)}" width="{width_px}" '
        f'style="max-width:100%;height:auto;background:white" '
        f'src="data:image/png;base64,{data}">'
    )
    display({"text/html": image, "text/plain": words}, raw=True)
