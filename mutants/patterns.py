"""Changes by pattern: every place of a source file where one of a few small slips could be made, and what it becomes.

A change replaces one expression or statement and leaves the rest of the file as it is, to the byte. Not changed, since
no test should fail on it: docstrings, messages (f-strings, what `raise` raises), annotations, decorators, imports,
`__repr__`.
"""

from __future__ import annotations

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Change:
    """`old` at byte `start` of the file `path` (below src) becomes `new`; `operator` and `why` say what for.

    `function` is the qualified name around it, `occurrence` counts equal changes of one function: together they name
    the change in a way that survives edits elsewhere.
    """

    path: str
    function: str
    operator: str
    line: int
    start: int
    old: str
    new: str
    occurrence: int = 0
    why: str = ""

    @property
    def name(self) -> str:
        parts = (self.path, self.function, self.operator, self.old, self.new, str(self.occurrence))
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:10]

    @property
    def room(self) -> str:
        """Return the folder of `pcqr` that the changed file is in."""
        return self.path.split("/")[1].removesuffix(".py")

    def applied_to(self, source: bytes) -> bytes:
        end = self.start + len(self.old.encode())
        if source[self.start : end] != self.old.encode():
            raise ValueError(f"{self.path} has moved under the change {self.name}")
        return source[: self.start] + self.new.encode() + source[end:]


COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Pow: ast.Mult,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr,
}  # fmt: skip
TWINS = {
    "min": "max", "max": "min", "ceil": "floor", "floor": "ceil", "minimum": "maximum", "maximum": "minimum",
    "any": "all", "all": "any", "argmin": "argmax", "argmax": "argmin", "zeros": "ones",
}  # fmt: skip
DROPPED = {"rounded_up", "positive", "abs", "sqrt", "log1p", "exp", "sorted", "sort", "cumsum", "replace"}
"""Calls of one value that is passed on as it is."""
NOISE = {"discrete_laplace", "geometric", "discrete_gaussian", "discrete_gaussians", "sech_squared"}


def changes(path: str, source: str) -> list[Change]:
    """All changes by pattern of the file `path`, in the order of its text."""
    return _Finder(path, source).found


class _Finder(ast.NodeVisitor):
    def __init__(self, path: str, source: str) -> None:
        self.found: list[Change] = []
        self._path, self._source = path, source.encode()
        starts = [0]
        for line in self._source.split(b"\n"):
            starts.append(starts[-1] + len(line) + 1)
        self._line_starts = starts
        self._names: list[str] = []
        self._seen: Counter[tuple[str, ...]] = Counter()
        self.visit(ast.parse(source))

    # ---- where nothing is changed

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None: ...
    def visit_JoinedStr(self, node: ast.JoinedStr) -> None: ...

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._inside(node.name, node.body)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name not in ("__repr__", "__str__"):
            self._inside(node.name, [*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body])

    def visit_Raise(self, node: ast.Raise) -> None:
        self._add(node, "guard", "pass")

    def _inside(self, name: str, nodes: Sequence[ast.AST]) -> None:
        self._names.append(name)
        for node in nodes:
            self.visit(node)
        self._names.pop()

    # ---- statements

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self._add(node, "statement", "pass")
        self.generic_visit(node)

    def visit_With(self, node: ast.With) -> None:
        context = node.items[0].context_expr
        if "lock" in ast.unparse(context):
            self._add(context, "lock", "__import__('contextlib').nullcontext()")
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        self._add(node.test, "condition", "False")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._add(node, "statement", "pass")
        twin = ARITHMETIC.get(type(node.op))
        if twin is not None:
            self._edit(node, "arithmetic", op=twin())
        self.generic_visit(node)

    # ---- expressions

    def visit_Compare(self, node: ast.Compare) -> None:
        for place, operator in enumerate(node.ops):
            swapped = [*node.ops[:place], COMPARISONS[type(operator)](), *node.ops[place + 1 :]]
            self._edit(node, "comparison", ops=swapped)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        twin = ARITHMETIC.get(type(node.op))
        if twin is not None:
            self._edit(node, "arithmetic", op=twin())
        if isinstance(node.op, ast.Add | ast.Sub):
            self._add(node, "term", f"({ast.unparse(node.left)})")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        self._edit(node, "logic", op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not | ast.USub | ast.Invert):
            self._add(node, "sign", f"({ast.unparse(node.operand)})")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._add(node, "constant", str(not node.value))
        elif isinstance(node.value, int):
            self._add(node, "constant", str(node.value + 1))
        elif isinstance(node.value, float):
            self._add(node, "constant", repr(2.0 * node.value or 1.0))

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in TWINS:
            twin = copy.deepcopy(node.func)
            twin.attr = twin.id = TWINS[name]  # type: ignore[attr-defined]
            self._edit(node, "twin", func=twin)
        if name in DROPPED and len(node.args) == 1:
            self._add(node, "call", f"({ast.unparse(node.args[0])})")
        if name == "copy" and isinstance(node.func, ast.Attribute) and not node.args:
            self._add(node, "call", f"({ast.unparse(node.func.value)})")
        if name in NOISE:
            half = ast.BinOp(node.args[0], ast.Div(), ast.Constant(2.0))
            self._edit(node, "noise", args=[half, *node.args[1:]])
            self._add(node, "noise", f"(0 * {ast.unparse(node)})")
        self.generic_visit(node)

    # ---- one change

    def _edit(self, node: ast.stmt | ast.expr, operator: str, **fields: object) -> None:
        edited = copy.deepcopy(node)
        for field, value in fields.items():
            setattr(edited, field, value)
        text = ast.unparse(ast.fix_missing_locations(edited))
        self._add(node, operator, text if isinstance(node, ast.stmt) else f"({text})")

    def _add(self, node: ast.stmt | ast.expr, operator: str, new: str) -> None:
        start = self._line_starts[node.lineno - 1] + node.col_offset
        end = self._line_starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        old = self._source[start:end].decode()
        function = ".".join(self._names)
        key = (function, operator, old, new)
        self.found.append(
            Change(self._path, function, operator, node.lineno, start, old, new, occurrence=self._seen[key])
        )
        self._seen[key] += 1
