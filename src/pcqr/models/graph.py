"""A model as an ONNX graph of plain operators in float64. Needs the extra `onnx`.

ONNX's own tree operator compares in float32 in many runtimes, where a value beside a cut falls on its other side. Here
the comparison is `Greater` on doubles, so every runtime gives the labels that `predict` gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from numpy.typing import NDArray

from pcqr.errors import MissingExtra
from pcqr.models.vocabulary import LabelName
from pcqr.records.branching import Leaf, Split
from pcqr.records.predicates import Predicate

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
        self._outputs: list[Any] = []

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node; return the name of what it computes."""
        name = f"{operator.lower()}_{len(self._nodes)}"
        self._nodes.append(self.onnx.helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def constant(self, kind: str, values: Iterable[Any], shape: Sequence[int]) -> str:
        """Add a constant whose type ONNX calls `kind`; return its name."""
        name = f"constant_{len(self._constants)}"
        encoded = [value.encode() for value in values] if kind == "STRING" else list(values)
        self._constants.append(self.onnx.helper.make_tensor(name, self.type(kind), shape, encoded))
        return name

    def array(self, values: NDArray[Any]) -> str:
        """Add a constant, of which there may be millions of entries; return its name."""
        name = f"constant_{len(self._constants)}"
        self._constants.append(self.onnx.numpy_helper.from_array(values, name))
        return name

    def add_output(self, name: str, value: str, kind: str, columns: int) -> None:
        """Let `value`, records × `columns` of a type that ONNX calls `kind`, be an output called `name`."""
        self._nodes.append(self.onnx.helper.make_node("Identity", [value], [name]))
        self._outputs.append(self.onnx.helper.make_tensor_value_info(name, self.type(kind), ["records", columns]))

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
            [helper.make_tensor_value_info(OUTPUT, self.type(kind), ["records"]), *self._outputs],
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
        return constant_labels(root.label, graph)
    splits = _splits(root)
    holds = answers([split.predicate for split in splits], graph)
    place = iter(range(len(splits)))

    def chosen(node: Leaf | Split) -> str:
        if isinstance(node, Leaf):
            return graph.constant("INT64", [node.label], [])
        position = graph.constant("INT64", [next(place)], [])
        return graph.add("Where", graph.add("Gather", holds, position, axis=1), chosen(node.holds), chosen(node.fails))

    return chosen(root)


def constant_labels(label: int, graph: Graph) -> str:
    rows = graph.add("Shape", INPUT, start=0, end=1)
    value = graph.onnx.helper.make_tensor("label", graph.type("INT64"), [1], [label])
    return graph.add("ConstantOfShape", rows, value=value)


def answers(predicates: Sequence[Predicate], graph: Graph, columns: str = INPUT) -> str:
    """Records × predicates: does it hold in the `columns`?"""
    features = graph.constant("INT64", [predicate.feature for predicate in predicates], [len(predicates)])
    cuts = graph.constant("DOUBLE", [predicate.cut for predicate in predicates], [len(predicates)])
    return graph.add("Greater", graph.add("Gather", columns, features, axis=1), cuts)


def sign_labels(scores: str, graph: Graph) -> str:
    """Label 1 where the score is above 0."""
    zero = graph.add("CastLike", graph.constant("FLOAT", [0.0], []), scores)
    return graph.add("Cast", graph.add("Greater", scores, zero), to=graph.type("INT64"))


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
        import onnx.numpy_helper  # noqa: PLC0415
    except ImportError:
        raise MissingExtra("Export to ONNX", "onnx") from None
    return onnx
