"""The HTML page of an executed notebook: one file, pictures inside."""

from __future__ import annotations

from pathlib import Path

from nbconvert import HTMLExporter
from nbformat import NotebookNode

from brokerlab.runner.execution import quiet


def write_page(notebook: NotebookNode, page: Path, folder: Path) -> Path | None:
    """Write the page; None when nbconvert cannot, which is no failure of the notebook.

    `folder` is the notebook's own: pictures that its text points to are looked up there.
    """
    resources = {"metadata": {"name": page.stem, "path": str(folder)}}
    with quiet():
        for embed in (True, False):  # a picture that is missing cannot be embedded
            try:
                exporter = HTMLExporter(template_name="lab", embed_images=embed)
                body, _ = exporter.from_notebook_node(notebook, resources=resources)
                page.write_text(body, encoding="utf-8")
                return page
            except Exception:
                continue
    return None
