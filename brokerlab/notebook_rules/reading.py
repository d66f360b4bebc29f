"""A notebook as the rules read it.

code cell   its source, its tags, its saved outputs, and its syntax tree (None if it has none:
            a cell magic such as %%bash, or code that does not parse)
judge call  a call of `judge`, under whatever name the notebook imported it
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode

COMPARED = "nbval-check-output"


@dataclass(frozen=True)
class Violation:
    """One thing wrong in one notebook. `cell` counts from 0; None is the notebook as a whole."""

    notebook: str
    cell: int | None
    rule: str
    sentence: str

    def __str__(self) -> str:
        place = self.notebook if self.cell is None else f"{self.notebook}, cell {self.cell}"
        return f"{place}: {self.sentence}"


@dataclass(frozen=True)
class CodeCell:
    index: int
    source: str
    tags: tuple[str, ...]
    outputs: list[NotebookNode]
    execution_count: int | None

    @cached_property
    def tree(self) -> ast.Module | None:
        if self.source.lstrip().startswith("%%"):
            return None
        flags = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        try:
            # IPython's own reading of `%magic` and `!command` lines.
            plain = TransformerManager().transform_cell(self.source)
            return compile(plain, f"cell {self.index}", "exec", flags)
        except (SyntaxError, ValueError):
            return None

    def walk(self) -> Iterator[ast.AST]:
        """Every syntax node of the cell."""
        return ast.walk(self.tree) if self.tree is not None else iter(())

    @property
    def compared(self) -> bool:
        return COMPARED in self.tags

    @property
    def printed(self) -> str:
        """Everything the saved outputs show as text."""
        return "\n".join(text for output in self.outputs for text in texts_of(output))


class Notebook:
    """The code cells of one notebook, by name."""

    def __init__(self, node: NotebookNode, name: str) -> None:
        self.name = name
        self.cells = [
            CodeCell(
                index,
                cell.source,
                tuple(cell.metadata.get("tags", ())),
                cell.get("outputs", []),
                cell.get("execution_count"),
            )
            for index, cell in enumerate(node.cells)
            if cell.cell_type == "code"
        ]

    def violation(self, cell: CodeCell | None, rule: str, sentence: str) -> Violation:
        return Violation(self.name, None if cell is None else cell.index, rule, sentence)

    @cached_property
    def judge_names(self) -> set[str]:
        names = {"judge"}
        for node in self.walk():
            if isinstance(node, ast.ImportFrom):
                names |= {a.asname for a in node.names if a.name == "judge" and a.asname}
        return names

    def walk(self) -> Iterator[ast.AST]:
        """Every syntax node of every cell."""
        for cell in self.cells:
            yield from cell.walk()

    def judge_calls(self, cell: CodeCell) -> list[ast.Call]:
        calls = [node for node in cell.walk() if isinstance(node, ast.Call)]
        return [call for call in calls if called(call) in self.judge_names]


def called(call: ast.Call) -> str | None:
    """`judge` for both judge(...) and brokerlab.judge(...)."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else None


def argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    """The value a call gives to a parameter, by position or by name."""
    by_name = {keyword.arg: keyword.value for keyword in call.keywords}
    plain = [a for a in call.args if not isinstance(a, ast.Starred)]
    return plain[position] if position < len(plain) else by_name.get(name)


def texts_of(output: NotebookNode) -> list[str]:
    """What one output shows as text; pictures and widgets show none."""
    if output.output_type == "stream":
        return [_joined(output.text)]
    if output.output_type == "error":
        return [_joined(output.get("traceback", [])), str(output.get("evalue", ""))]
    return [_joined(v) for mime, v in output.get("data", {}).items() if mime.startswith("text/")]


def _joined(text: str | list[str]) -> str:
    return text if isinstance(text, str) else "\n".join(text)
