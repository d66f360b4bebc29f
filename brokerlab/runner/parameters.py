"""Parameters: the names that the cell tagged `parameters` assigns.

literal   what `-p name value` means: JSON (true, 1e3), a Python literal (2_000, None) or a
          YAML list or map ([1, 2], {a: 1}); anything else is text, also `yes` and `12:30`,
          which YAML alone would turn into a truth value and a number of minutes
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import nbformat
import yaml
from nbformat import NotebookNode

from brokerlab.errors import LabError

TAG = "parameters"
_PLAIN = (bool, int, float, str, list, dict, type(None))


def parse_parameters(pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """`[("records", "2_000")]` as typed on the command line -> `{"records": 2000}`."""
    return {name: _literal(text) for name, text in pairs}


def _literal(text: str) -> Any:
    readers = [json.loads, ast.literal_eval]
    if text.lstrip().startswith(("[", "{")):
        readers.append(yaml.safe_load)
    for read in readers:
        try:
            value = read(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError, yaml.YAMLError):
            continue
        value = list(value) if isinstance(value, tuple) else value
        if isinstance(value, _PLAIN):
            return value
    return text


def read_notebook(path: Path) -> NotebookNode:
    """The notebook in a file, or one sentence on why it cannot be read."""
    try:
        return nbformat.read(path, as_version=4)
    except OSError as error:
        raise LabError(f"Cannot read {path} ({error.strerror}).") from error
    except Exception as error:  # nbformat has as many ways to fail as files can be broken
        raise LabError(
            f"{path} is not a notebook that can be read: `brokerlab notebooks restore` gives "
            "a fresh copy, `git checkout` the tracked one."
        ) from error


def parameters_of(notebook: NotebookNode) -> dict[str, Any]:
    """Name -> default; a default that is computed is shown as its source."""
    found: dict[str, Any] = {}
    for cell in notebook.cells:
        if cell.cell_type == "code" and TAG in cell.metadata.get("tags", ()):
            for name, value in _assigned(cell.source):
                try:
                    found[name] = ast.literal_eval(value)
                except ValueError:
                    found[name] = ast.unparse(value)
    return found


def _assigned(source: str) -> Iterable[tuple[str, ast.expr]]:
    try:
        statements = ast.parse(source).body
    except SyntaxError:
        return
    for statement in statements:
        if isinstance(statement, ast.Assign):
            names = [t.id for t in statement.targets if isinstance(t, ast.Name)]
            yield from ((name, statement.value) for name in names)
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id, statement.value or ast.Constant(None)


def parameters_for(
    notebooks: Mapping[str, NotebookNode], asked: Mapping[str, Any], *, small: bool
) -> dict[str, dict[str, Any]]:
    """What each notebook is given: its own small parameters, and over them what was asked.

    A name must exist in the notebook; with several notebooks, in one of them.
    """
    known = {name: parameters_of(notebook) for name, notebook in notebooks.items()}
    for name in asked:
        if not any(name in has for has in known.values()):
            raise LabError(f"No parameter is called {name}: {_list(known)}.")
    given: dict[str, dict[str, Any]] = {}
    for notebook, has in known.items():
        own = _small(notebook, notebooks[notebook], has) if small else {}
        given[notebook] = own | {name: value for name, value in asked.items() if name in has}
        _refuse_text_for_numbers(notebook, has, given[notebook])
    return given


def _small(name: str, notebook: NotebookNode, known: Mapping[str, Any]) -> dict[str, Any]:
    small = dict(notebook.metadata.get("brokerlab", {}).get("small", {}))
    if unknown := [parameter for parameter in small if parameter not in known]:
        raise LabError(
            f"The small parameters of {name} name {', '.join(unknown)}: {_list({name: known})}; "
            "correct brokerlab.small in its metadata."
        )
    return small


def _refuse_text_for_numbers(
    notebook: str, known: Mapping[str, Any], given: Mapping[str, Any]
) -> None:
    for name, value in given.items():
        default = known[name]
        if isinstance(default, int | float) and isinstance(value, str):
            raise LabError(
                f"The parameter {name} of {notebook} is a number ({default}), not {value!r}."
            )


def _list(known: Mapping[str, Sequence[str] | Mapping[str, Any]]) -> str:
    return "; ".join(f"{name} has {', '.join(has) or 'none'}" for name, has in known.items())
