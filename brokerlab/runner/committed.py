"""The form in which notebooks are committed: outputs that teach, nothing of the machine.

Two recordings of an unchanged notebook should differ only where the measurements do, so
that a reader of the diff sees what changed. Out go execution counts, timings, papermill's
notes, widget models (random ids, memory addresses) and folders of the machine; pictures,
tables and text stay.
"""

from __future__ import annotations

import base64
import binascii
import copy
import io
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from brokerlab import state, workcopies
from brokerlab.errors import RunError
from brokerlab.runner.parameters import read_notebook
from brokerlab.runner.progress import Listener, show
from brokerlab.runner.runs import run

PICTURE_BYTES = 300_000
PICTURE_WIDTH = 1600
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
WIDGET_STATE = "application/vnd.jupyter.widget-state+json"
CELL_NOISE = ("papermill", "execution", "ExecuteTime", "collapsed", "scrolled")
INJECTED = {"injected-parameters", "papermill-error-cell-tag"}
_ADDRESS = re.compile(r"(<[^<>]*?) at 0x[0-9a-fA-F]{6,}(?=>)")
_BACK = re.compile(r"[^\n]*\r(?!\n)")


def record(
    which: int | str | Path,
    *,
    cell_timeout_s: float = 120,
    ensure_lab: bool = True,
    progress: Listener = show,
    root: Path | None = None,
) -> Path:
    """Execute a tracked notebook as it is committed and write its outputs back into it.

    A notebook that fails is left as it was.
    """
    path = workcopies.notebook_path(which, root)
    before = read_notebook(path)
    report = run(
        [path],
        cell_timeout_s=cell_timeout_s,
        ensure_lab=ensure_lab,
        progress=progress,
        root=root,
    )
    if not report.ok:
        raise RunError(f"{report.notebooks[0].sentence()}; {path.name} is as it was.")
    executed = strip_for_commit(read_notebook(report.notebooks[0].executed))
    for index, (cell, old) in enumerate(zip(executed.cells, before.cells, strict=True)):
        cell["id"] = old.get("id") or f"cell-{index:02}"
    nbformat.validate(executed)
    partial = path.with_name(f".{path.name}.recording")
    nbformat.write(executed, partial)
    partial.replace(path)
    return path


def strip_for_commit(notebook: NotebookNode) -> NotebookNode:
    """A copy of an executed notebook without what differs from run to run."""
    nb = copy.deepcopy(notebook)
    models = nb.metadata.get("widgets", {}).get(WIDGET_STATE, {}).get("state", {})
    nb.cells = [c for c in nb.cells if not INJECTED & set(c.metadata.get("tags", ()))]
    for index, cell in enumerate(nb.cells):
        cell.setdefault("id", f"cell-{index:02}")
        for name in CELL_NOISE:
            cell.metadata.pop(name, None)
        if not cell.metadata.get("tags", True):
            del cell.metadata["tags"]
        if cell.cell_type == "code":
            cell.execution_count = None
            shown = [new for out in cell.outputs for new in _without_widgets(out, models)]
            cell.outputs = [_plain(output) for output in _merged(shown)]
    for name in ("papermill", "widgets"):
        nb.metadata.pop(name, None)
    nb.metadata["kernelspec"] = {
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "name": "python3",
    }
    # Kernels also note their exact Python version here, which is the machine's.
    nb.metadata["language_info"] = {"name": "python"}
    nb.nbformat, nb.nbformat_minor = 4, 5
    return nb


# Widgets


def _without_widgets(output: NotebookNode, models: Mapping[str, Mapping]) -> Iterator[NotebookNode]:
    """An output that is a widget gives way to what the widget had captured (a picture)."""
    view = output.get("data", {}).pop(WIDGET_VIEW, None)
    if view is None:
        yield output
        return
    yield from _captured(view.get("model_id", ""), models, set())
    if set(output.data) - {"text/plain"}:
        yield output


def _captured(
    model_id: str, models: Mapping[str, Mapping], seen: set[str]
) -> Iterator[NotebookNode]:
    model = models.get(model_id)
    if model is None or model_id in seen:
        return
    seen.add(model_id)
    inside = model.get("state", {})
    for captured in inside.get("outputs", ()):
        yield from _without_widgets(nbformat.from_dict(copy.deepcopy(captured)), models)
    for child in inside.get("children", ()):
        yield from _captured(str(child).removeprefix("IPY_MODEL_"), models, seen)


# Text


def _merged(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """One stdout and one stderr between two displays: how a stream was cut is chance."""
    merged: list[NotebookNode] = []
    open_streams: dict[str, NotebookNode] = {}
    for output in outputs:
        if output.output_type != "stream":
            open_streams.clear()
            merged.append(output)
        elif output.name in open_streams:
            open_streams[output.name].text += output.text
        else:
            open_streams[output.name] = output
            merged.append(output)
    return merged


def _plain(output: NotebookNode) -> NotebookNode:
    if "execution_count" in output:
        output.execution_count = None
    if output.output_type == "stream":
        # A line that was rewritten (a progress bar) shows its last state.
        output.text = _anonymous(_BACK.sub("", output.text))
    for mime, value in output.get("data", {}).items():
        if mime == "image/png":
            output.data[mime] = _reasonable(value)
        elif isinstance(value, str) and (mime.startswith("text/") or mime == "image/svg+xml"):
            output.data[mime] = _anonymous(value)
    return output


def _anonymous(text: str) -> str:
    for folder, name in _machine_folders():
        inside, whole = re.escape(f"{folder}/"), re.escape(folder) + r"(?![\w.-])"
        text = re.sub(rf"(?<![\w.~-]){inside}", f"{name}/" if name != "." else "", text)
        text = re.sub(rf"(?<![\w.~-]){whole}", name, text)
    return _ADDRESS.sub(r"\1", text)


def _machine_folders() -> list[tuple[str, str]]:
    """Folder -> what a reader calls it; the longest first, since one lies in the other."""
    named = {
        str(Path.home()): "~",
        sys.prefix: ".venv",
        str(state.project_root() or Path.cwd()): ".",
        str(state.cache()): ".lab/cache",
        str(state.home()): ".lab",
    }
    usable = [(folder, name) for folder, name in named.items() if len(folder) > 1]
    return sorted(usable, key=lambda pair: -len(pair[0]))


# Pictures


def _reasonable(png: str) -> str:
    """The same picture, packed better when it is large, and no wider than a page needs."""
    from PIL import Image

    try:
        data = base64.b64decode(png)
        if len(data) <= PICTURE_BYTES:
            return png
        picture = Image.open(io.BytesIO(data))
        if picture.width > PICTURE_WIDTH:
            height = round(picture.height * PICTURE_WIDTH / picture.width)
            picture = picture.resize((PICTURE_WIDTH, height), Image.Resampling.LANCZOS)
        packed = io.BytesIO()
        picture.save(packed, "PNG", optimize=True)
    except (OSError, ValueError, binascii.Error):
        return png
    return base64.b64encode(packed.getvalue()).decode() if packed.tell() < len(data) else png
