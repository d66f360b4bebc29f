"""All rules, over one notebook or over many.

lesson      a notebook in `notebooks/`; its name is the file's, without `.ipynb`
evidence    a notebook in `notebooks/evidence/`, named `evidence/NN_slug`
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import nbformat

from brokerlab.claims.catalogue import Claim, load
from brokerlab.claims.judging import notebook_name
from brokerlab.notebook_rules.judgements import judgement_violations
from brokerlab.notebook_rules.reading import Notebook, Violation
from brokerlab.notebook_rules.saved import saved_violations

LONGEST_REPEAT = 2  # lines of a function that two notebooks may share


def check_notebook(
    node: nbformat.NotebookNode, name: str, claims: Mapping[str, Claim] | None = None
) -> list[Violation]:
    """What is wrong with one notebook; `claims` is the catalogue unless given."""
    notebook = Notebook(node, name)
    known = load() if claims is None else claims
    return [*saved_violations(notebook), *judgement_violations(notebook, known)]


def check_notebooks(
    nodes: Mapping[str, nbformat.NotebookNode], claims: Mapping[str, Claim] | None = None
) -> list[Violation]:
    """What is wrong with each of the notebooks, and with all of them together."""
    found = [v for name, node in nodes.items() for v in check_notebook(node, name, claims)]
    return found + list(repeated_functions(Notebook(node, name) for name, node in nodes.items()))


def check_files(paths: Iterable[Path]) -> list[Violation]:
    """The same, for notebook files; one that cannot be read is itself a violation."""
    nodes: dict[str, nbformat.NotebookNode] = {}
    unreadable = []
    for path in paths:
        name = notebook_name(str(path)) or path.stem
        try:
            nodes[name] = nbformat.read(path, as_version=4)
        except Exception as error:  # nbformat and json raise a dozen unrelated kinds
            kind = type(error).__name__
            sentence = f"The file cannot be read as a notebook ({kind}): restore it."
            unreadable.append(Violation(name, None, "unreadable", sentence))
    return unreadable + check_notebooks(nodes)


def repeated_functions(notebooks: Iterable[Notebook]) -> Iterator[Violation]:
    """Used twice? It moves into the package."""
    first_seen: dict[str, str] = {}
    for notebook in notebooks:
        for cell in notebook.cells:
            for node in cell.walk():
                if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    continue
                if len(ast.unparse(node).splitlines()) <= LONGEST_REPEAT:
                    continue
                first = first_seen.setdefault(ast.dump(node), notebook.name)
                if first != notebook.name:
                    sentence = f"{node.name}() is also in {first}: move it into the package."
                    yield notebook.violation(cell, "repeated-function", sentence)
