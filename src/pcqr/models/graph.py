"""A model as an ONNX graph of plain operators in float64, which takes the columns of the table. Needs the extra `onnx`.

ONNX's own tree operator compares in float32 in many runtimes, where a value beside a cut falls on its other side. Here
the comparison is `Greater` on doubles, so every runtime gives the labels that `predict` gives.

The graph encodes the table as the schema does. Where the schema refuses a cell, the graph looks up a place that is not
there: by ONNX's definition of `Gather` that is an error, and a runtime names the node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.data.records.predicates import Leaf, Predicate, Split
from pcqr.data.schema import Column, Schema
from pcqr.data.schema.cells import FIRST_DAY, LAST_DAY, MISSING_TEXTS, read, spellings
from pcqr.errors import MissingExtra
from pcqr.models.vocabulary import LabelName

ARRAY, LABEL, PROBABILITIES = "X", "label", "probabilities"
OPSET, ML_OPSET, IR_VERSION = 17, 3, 8
"""Old enough for runtimes since 2022; all operators that are used here are in it."""
NOT_A_TIME = float(np.iinfo(np.int64).min)
"""What NumPy's NaT becomes as a number of days."""


class Graph:
    """A graph that grows: its nodes and constants, with names made up as they come."""

    def __init__(self, schema: Schema) -> None:
        self.onnx = _onnx()
        self._taken = {ARRAY, *schema.names}
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self.table, self._places = _encoded(schema, self)
        """The encoded table, records × features, in an order of its own: see `place`."""

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node; return the name of what it computes."""
        name = self._free(f"{operator.lower()}_{len(self._nodes)}")
        self._nodes.append(self.onnx.helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def constant(self, kind: str, values: Iterable[Any], shape: Sequence[int]) -> str:
        """Add a constant whose type ONNX calls `kind`; return its name."""
        name = self._free(f"constant_{len(self._constants)}")
        encoded = [value.encode() for value in values] if kind == "STRING" else list(values)
        self._constants.append(self.onnx.helper.make_tensor(name, self.type(kind), shape, encoded))
        return name

    def array(self, values: NDArray[Any]) -> str:
        """Add a constant, of which there may be millions of entries; return its name."""
        name = self._free(f"constant_{len(self._constants)}")
        self._constants.append(self.onnx.numpy_helper.from_array(values, name))
        return name

    def add_input(self, name: str, kind: str, columns: int, about: str) -> str:
        """Add an input of records × `columns` of a type that ONNX calls `kind`; return its name."""
        shape = ["records", columns]
        self._inputs.append(self.onnx.helper.make_tensor_value_info(name, self.type(kind), shape, doc_string=about))
        return name

    def add_output(self, name: str, value: str, kind: str, columns: Sequence[int] = ()) -> None:
        """Let `value`, one entry or a row of `columns` for each record, be the output called `name`.

        The output gets another name where a column of the table has this one.
        """
        name = self._free(name)
        self._nodes.append(self.onnx.helper.make_node("Identity", [value], [name]))
        self._outputs.append(self.onnx.helper.make_tensor_value_info(name, self.type(kind), ["records", *columns]))

    def place(self, feature: int) -> int:
        """Which column of `table` is this feature? What is put behind them all stays where it is."""
        return self._places.get(feature, feature)

    def type(self, kind: str) -> int:
        return int(getattr(self.onnx.TensorProto, kind))

    def finished(self, labels: str, classes: Sequence[LabelName], about: str, facts: dict[str, str]) -> bytes:
        """The whole model, serialised: `labels` as names, `about` as its description, `facts` as its metadata."""
        kind, helper = _kind(classes), self.onnx.helper
        self.add_output(LABEL, self.add("Gather", self.constant(kind, classes, [len(classes)]), labels), kind)
        outputs = [self._outputs[-1], *self._outputs[:-1]]
        model = helper.make_model(
            helper.make_graph(self._nodes, "pcqr", self._inputs, outputs, self._constants),
            producer_name="pcqr",
            ir_version=IR_VERSION,
            opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)],
            doc_string=about,
        )
        helper.set_model_props(model, facts)
        self.onnx.checker.check_model(model, full_check=True)
        return bytes(model.SerializeToString(deterministic=True))

    def _free(self, name: str) -> str:
        """`name`, or one like it that nothing in the graph has yet."""
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name


def _takes_array(schema: Schema) -> bool:
    """Are the columns those of a table of numbers without names?"""
    return schema.columns == tuple(Column(f"x{place}") for place in range(len(schema.columns)))


def _encoded(schema: Schema, graph: Graph) -> tuple[str, dict[int, int]]:
    """What `Schema.encode` gives, from one input for each column, or from one for all numbers of an array.

    Numbers come first, then gaps, then categories. Also returns the place of each feature in this order.
    """
    if _takes_array(schema):
        about = "The columns of the table, in their order. No gaps."
        (table,) = _numbers(graph.add_input(ARRAY, "DOUBLE", len(schema.columns), about), schema.columns, graph)
        return table, {}
    cells = {column: _cells(column, graph) for column in schema.columns}
    blocks: list[str] = []
    features: list[str] = []
    if numbers := [column for column in schema.columns if column.kind != "categorical"]:
        blocks += _numbers(graph.add("Concat", *(cells[column] for column in numbers), axis=1), numbers, graph)
        features += [column.feature_names[0] for column in numbers]
        features += [column.feature_names[1] for column in numbers if column.missing]
    for column in schema.columns:
        if column.kind == "categorical":
            blocks.append(_indicators(column, cells[column], graph))
            features += column.feature_names
    place = {name: place for place, name in enumerate(features)}
    places = {feature: place[name] for feature, name in enumerate(schema.feature_names)}
    return graph.add("Concat", *blocks, axis=1), places


def _cells(column: Column, graph: Graph) -> str:
    """An input for the cells of a column, records × 1: texts, or numbers with NaN for gaps."""
    if column.kind == "categorical":
        return graph.add_input(column.name, "STRING", 1, "Texts. The empty text is a gap.")
    gaps = "NaN is a gap." if column.missing else "No gaps."
    if column.kind == "numeric":
        return graph.add_input(column.name, "DOUBLE", 1, f"Numbers. {gaps}")
    days = graph.add_input(column.name, "DOUBLE", 1, f"Days since 1970-01-01 in UTC. {gaps}")
    first, last, gap, nan, infinity = (
        graph.constant("DOUBLE", [value], []) for value in (FIRST_DAY, LAST_DAY + 1, NOT_A_TIME, np.nan, np.inf)
    )
    beyond = graph.add("Or", graph.add("Less", days, first), graph.add("GreaterOrEqual", days, last))
    refused = graph.add("Where", beyond, infinity, graph.add("Floor", days))
    return graph.add("Where", graph.add("Equal", days, gap), nan, refused)


def _numbers(values: str, columns: Sequence[Column], graph: Graph) -> list[str]:
    """The numbers of all `columns`, then the gaps of those that may have some. Refuses what the schema refuses."""
    incomplete = [place for place, column in enumerate(columns) if column.missing]
    found, gaps = values, []
    if incomplete:
        missing = graph.add("IsNaN", values)
        fills = [np.nan if column.filled_with is None else column.filled_with for column in columns]
        found = graph.add("Where", missing, graph.array(np.array(fills)), values)
        seen = graph.add("Gather", missing, graph.array(np.array(incomplete)), axis=1)
        gaps = [graph.add("Cast", seen, to=graph.type("DOUBLE"))]
    zero = graph.array(np.array([0.0]))
    total = graph.add("ReduceSum", graph.add("Mul", found, zero), keepdims=0)  # NaN where any number is not finite
    is_refused = graph.add("Cast", graph.add("IsNaN", total), to=graph.type("INT64"))
    nothing = graph.add(
        "Gather", zero, is_refused, name="refuses a gap, an infinity or a day beyond the years 1 to 9999"
    )
    if any(column.limits for column in columns):
        most = np.finfo(np.float64).max
        low, high = (
            np.array(ends) for ends in zip(*(column.limits or (-most, most) for column in columns), strict=True)
        )
        found = graph.add("Min", graph.add("Max", found, graph.array(low)), graph.array(high))
    return [graph.add("Add", found, nothing), *gaps]  # −0.0 becomes 0.0


def _indicators(column: Column, texts: str, graph: Graph) -> str:
    """The zeros and ones of a categorical column. Refuses what the schema refuses."""
    names = enumerate(column.categories)
    places = {text: place for place, name in names for text in (name, *spellings(read(name)))}
    places |= dict.fromkeys(MISSING_TEXTS, column.width - 1)
    found = graph.add(
        "LabelEncoder",
        texts,
        domain="ai.onnx.ml",
        keys_strings=list(places),
        values_int64s=list(places.values()),
        default_int64=len(column.categories) if column.other else column.width,
    )
    every = graph.array(np.arange(column.width))
    if not column.other:
        found = graph.add("Gather", every, found, name=f"refuses an undeclared category in column {column.name!r}")
    return graph.add("Cast", graph.add("Equal", found, every), to=graph.type("DOUBLE"))


def tree_labels(root: Leaf | Split, graph: Graph) -> str:
    """Add the label of the leaf that each record comes to."""
    return _chosen(root, graph, iter([leaf.label for leaf in _leaves(root)]))


def tree_probabilities(root: Leaf | Split, graph: Graph) -> str:
    """Return the labels; the probabilities at the leaves become an output of their own."""
    leaves = _leaves(root)
    shares = np.array([leaf.shares for leaf in leaves], dtype=np.float64)
    reached = _chosen(root, graph, iter(range(len(leaves))))
    found = graph.add("Gather", graph.array(shares), reached, axis=0)
    graph.add_output(PROBABILITIES, found, "DOUBLE", [shares.shape[1]])
    labels = graph.constant("INT64", [leaf.label for leaf in leaves], [len(leaves)])
    return graph.add("Gather", labels, reached)


def _chosen(root: Leaf | Split, graph: Graph, values: Iterator[int]) -> str:
    """Ask all questions of the tree at once, then choose from the leaves up: one of `values` for each of `_leaves`."""
    if isinstance(root, Leaf):
        return constant_labels(next(values), graph)
    splits = _splits(root)
    holds = answers([split.predicate for split in splits], graph)
    place = iter(range(len(splits)))

    def chosen(node: Leaf | Split) -> str:
        if isinstance(node, Leaf):
            return graph.constant("INT64", [next(values)], [])
        position = graph.constant("INT64", [next(place)], [])
        return graph.add("Where", graph.add("Gather", holds, position, axis=1), chosen(node.holds), chosen(node.fails))

    return chosen(root)


def constant_labels(label: int, graph: Graph) -> str:
    rows = graph.add("Shape", graph.table, start=0, end=1)
    value = graph.onnx.helper.make_tensor("label", graph.type("INT64"), [1], [label])
    return graph.add("ConstantOfShape", rows, value=value)


def answers(predicates: Sequence[Predicate], graph: Graph, columns: str | None = None) -> str:
    """Records × predicates: does it hold in the `columns`, or without them in the encoded table?"""
    features = graph.constant("INT64", [graph.place(predicate.feature) for predicate in predicates], [len(predicates)])
    cuts = graph.constant("DOUBLE", [predicate.cut for predicate in predicates], [len(predicates)])
    return graph.add("Greater", graph.add("Gather", columns or graph.table, features, axis=1), cuts)


def sign_labels(scores: str, graph: Graph) -> str:
    """Label 1 where the score is above 0."""
    zero = graph.add("CastLike", graph.constant("FLOAT", [0.0], []), scores)
    return graph.add("Cast", graph.add("Greater", scores, zero), to=graph.type("INT64"))


def _splits(node: Leaf | Split) -> list[Split]:
    """In the order in which `_chosen` comes to them: a node, then what it holds for, then what it fails for."""
    return [] if isinstance(node, Leaf) else [node, *_splits(node.holds), *_splits(node.fails)]


def _leaves(node: Leaf | Split) -> list[Leaf]:
    """In the same order."""
    return [node] if isinstance(node, Leaf) else [*_leaves(node.holds), *_leaves(node.fails)]


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
