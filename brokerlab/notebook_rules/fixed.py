"""Is a value fixed before the notebook runs?

fixed     made of literals only: `"holds"`, `f"holds"`, `holds_if(True)`, or a name that is only
          ever bound to such values outside of any branch or loop
binding   one place that gives a name its value: assignment, `for`, `with`, `import`, `def`
opaque    a binding that says nothing before the run: an import, a parameter, a value under `if`

A fixed verdict was typed in, whatever detour it took. Scopes are not told apart: a name that
is opaque anywhere is opaque, so that honest code is never accused.
"""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from collections.abc import Iterable, Iterator

from brokerlab.notebook_rules.reading import Notebook, called

HELPERS = {"holds_if", "dated_if", "depends_on"}
# These look at the world; every other builtin gives a fixed result for fixed arguments.
WORLDLY = {"open", "input", "eval", "exec", "globals", "locals", "vars", "id", "next", "__import__"}
PURE = HELPERS | (set(dir(builtins)) - WORLDLY)

BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.Match)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
ASSIGNMENTS = (ast.Assign, ast.AnnAssign, ast.NamedExpr)
IMMUTABLE = (
    *(ast.Constant, ast.JoinedStr, ast.FormattedValue, ast.Name, ast.expr_context),
    *(ast.BinOp, ast.operator, ast.UnaryOp, ast.unaryop, ast.Compare, ast.cmpop),
)

Binding = ast.expr | None  # None: opaque


class FixedNames:
    """What is known before the run about every name of one notebook."""

    def __init__(self, notebook: Notebook) -> None:
        self._bindings: dict[str, list[Binding]] = defaultdict(list)
        self._touched: set[str] = set()
        self._returned: dict[str, ast.expr] = {}  # functions that do nothing but return a value
        for cell in notebook.cells:
            if cell.tree is not None:
                self._read(cell.tree, branch=False)

    def fixed(self, value: ast.expr, seen: frozenset[str] = frozenset()) -> bool:
        """Whether the value is the same whatever the brokers do."""
        if isinstance(value, ast.Name):
            return self._fixed_name(value.id, seen)
        if isinstance(value, ast.Call) and not self._fixed_function(value.func, seen):
            return False
        if isinstance(value, ast.Lambda | ast.Await | ast.Yield | ast.YieldFrom):
            return False
        return all(self.fixed(part, seen) for part in _operands(value))

    def _fixed_function(self, function: ast.expr, seen: frozenset[str]) -> bool:
        if isinstance(function, ast.Attribute):  # brokerlab.holds_if, or a method of a literal
            return function.attr in HELPERS or self.fixed(function.value, seen)
        if not isinstance(function, ast.Name) or function.id in seen:
            return False
        if returned := self._returned.get(function.id):
            return self.fixed(returned, seen | {function.id})
        return function.id in PURE

    def _fixed_name(self, name: str, seen: frozenset[str]) -> bool:
        if name in seen or name not in self._bindings:
            return name in PURE
        bound = self._bindings[name]
        if any(value is None or not self.fixed(value, seen | {name}) for value in bound):
            return False
        # A list or a dictionary may have been filled since.
        return name not in self._touched or all(_immutable(value) for value in bound)

    def _read(self, node: ast.AST, branch: bool) -> None:
        self._bind(node, branch)
        self._touch(node)
        inside = branch or isinstance(node, BRANCHES + FUNCTIONS) or _may_skip(node)
        for child in ast.iter_child_nodes(node):
            self._read(child, inside)

    def _bind(self, node: ast.AST, branch: bool) -> None:
        if isinstance(node, ASSIGNMENTS):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            self._add(targets, None if branch else node.value)
        elif isinstance(node, ast.comprehension):
            self._add([node.target], node.iter)
        elif isinstance(node, ast.For | ast.AsyncFor):
            # Where a loop stopped is a measurement.
            left = branch or any(isinstance(inner, ast.Break) for inner in ast.walk(node))
            self._add([node.target], None if left else node.iter)
        elif isinstance(node, ast.AugAssign):
            self._add([node.target], None if branch else node.value)
        elif isinstance(node, ast.withitem) and node.optional_vars:
            self._add([node.optional_vars], node.context_expr)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                self._bindings[(alias.asname or alias.name).split(".")[0]].append(None)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            self._bindings[node.name].append(None)
            only = node.body[0] if len(node.body) == 1 else None
            if isinstance(only, ast.Return) and only.value:
                self._returned[node.name] = only.value
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            self._bindings[node.name].append(None)
        elif isinstance(node, ast.arg):
            self._bindings[node.arg].append(None)

    def _add(self, targets: Iterable[ast.expr], value: Binding) -> None:
        for target in targets:
            for node in ast.walk(target):  # in `x[i] = 1` neither x nor i is stored to
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    self._bindings[node.id].append(value)

    def _touch(self, node: ast.AST) -> None:
        """Names whose contents somebody else may change: receivers, arguments, `x[...] = `."""
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                self._touched |= set(_names(node.func.value))
            if called(node) not in PURE | {"judge"}:
                for value in [*node.args, *(keyword.value for keyword in node.keywords)]:
                    self._touched |= set(_names(value))
        elif isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
            self._touched |= set(_names(node.value))


def _may_skip(node: ast.AST) -> bool:
    """`with suppress(...)` leaves its block early, like `try`."""
    managers = [item.context_expr for item in node.items] if isinstance(node, ast.With) else []
    return any("suppress(" in ast.unparse(manager) for manager in managers)


def _names(node: ast.AST) -> Iterator[str]:
    return (child.id for child in ast.walk(node) if isinstance(child, ast.Name))


def _operands(value: ast.AST) -> Iterator[ast.expr]:
    """The expressions a value is computed from; a called name is not one of them."""
    for field, child in ast.iter_fields(value):
        if isinstance(value, ast.Call) and field == "func":
            continue
        for part in child if isinstance(child, list) else [child]:
            if isinstance(part, ast.expr):
                if not isinstance(getattr(part, "ctx", None), ast.Store):
                    yield part
            elif isinstance(part, ast.keyword | ast.comprehension):
                yield from _operands(part)


def _immutable(value: Binding) -> bool:
    return value is not None and all(isinstance(part, IMMUTABLE) for part in ast.walk(value))
