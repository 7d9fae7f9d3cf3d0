"""A model as an ONNX graph of plain operators in float64. Needs the extra `onnx`.

ONNX's own tree operator compares in float32 in many runtimes, where a value beside a cut falls on its other side. Here
the comparison is `Greater` on doubles, so every runtime gives the labels that `predict` gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pcqr.errors import MissingExtra
from pcqr.hypotheses.trees.tree import Leaf, Split
from pcqr.models.vocabulary import LabelName

INPUT, OUTPUT = "X", "label"
OPSET, IR_VERSION = 17, 8
"""Old enough for runtimes since 2022; all operators that are used here are in it."""


class Graph:
    """A graph that grows: its nodes and constants, with names made up as they come."""

    def __init__(self, features: int) -> None:
        self.onnx = _onnx()
        self.features = features
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node; return the name of what it computes."""
        name = f"{operator.lower()}_{len(self._nodes)}"
        self._nodes.append(self.onnx.helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def constant(self, kind: str, values: Sequence[Any], shape: Sequence[int]) -> str:
        """Add a constant whose type ONNX calls `kind`; return its name."""
        name = f"constant_{len(self._constants)}"
        encoded = [value.encode() for value in values] if kind == "STRING" else list(values)
        self._constants.append(self.onnx.helper.make_tensor(name, self.type(kind), shape, encoded))
        return name

    def type(self, kind: str) -> int:
        return int(getattr(self.onnx.TensorProto, kind))

    def finished(self, labels: str, classes: Sequence[LabelName], about: dict[str, str]) -> bytes:
        """The whole model, serialised: `labels` turned into names, `about` as its metadata."""
        kind = _kind(classes)
        names = self.constant(kind, classes, [len(classes)])
        self._nodes.append(self.onnx.helper.make_node("Gather", [names, labels], [OUTPUT]))
        helper = self.onnx.helper
        graph = helper.make_graph(
            self._nodes,
            "pcqr",
            [helper.make_tensor_value_info(INPUT, self.type("DOUBLE"), ["records", self.features])],
            [helper.make_tensor_value_info(OUTPUT, self.type(kind), ["records"])],
            self._constants,
        )
        model = helper.make_model(
            graph, producer_name="pcqr", ir_version=IR_VERSION, opset_imports=[helper.make_opsetid("", OPSET)]
        )
        helper.set_model_props(model, about)
        self.onnx.checker.check_model(model, full_check=True)
        return bytes(model.SerializeToString(deterministic=True))


def tree_labels(root: Leaf | Split, graph: Graph) -> str:
    """Ask all questions of the tree at once, then choose from the leaves up."""
    if isinstance(root, Leaf):
        rows = graph.add("Shape", INPUT, start=0, end=1)
        return graph.add(
            "ConstantOfShape",
            rows,
            value=graph.onnx.helper.make_tensor("label", graph.type("INT64"), [1], [root.label]),
        )
    splits = _splits(root)
    features = graph.constant("INT64", [split.predicate.feature for split in splits], [len(splits)])
    cuts = graph.constant("DOUBLE", [split.predicate.cut for split in splits], [len(splits)])
    holds = graph.add("Greater", graph.add("Gather", INPUT, features, axis=1), cuts)
    place = iter(range(len(splits)))

    def chosen(node: Leaf | Split) -> str:
        if isinstance(node, Leaf):
            return graph.constant("INT64", [node.label], [])
        position = graph.constant("INT64", [next(place)], [])
        return graph.add("Where", graph.add("Gather", holds, position, axis=1), chosen(node.holds), chosen(node.fails))

    return chosen(root)


def _splits(node: Leaf | Split) -> list[Split]:
    """In the order in which `tree_labels` comes to them: a node, then what it holds for, then what it fails for."""
    return [] if isinstance(node, Leaf) else [node, *_splits(node.holds), *_splits(node.fails)]


def _kind(classes: Sequence[LabelName]) -> str:
    """What ONNX calls the type of the label names, which all have one."""
    return {bool: "BOOL", int: "INT64", float: "DOUBLE", str: "STRING"}[type(classes[0])]


def _onnx() -> Any:
    try:
        import onnx  # noqa: PLC0415
        import onnx.checker  # noqa: PLC0415
        import onnx.helper  # noqa: PLC0415
    except ImportError:
        raise MissingExtra("Export to ONNX", "onnx") from None
    return onnx
