"""onnxruntime encodes the columns of a table as the schema does, and gives the labels that `predict` gives."""

from __future__ import annotations

import datetime
import json
import math
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument
from support.onnx_sessions import exported, opened, run
from support.published_linear import linear_model

from pcqr import Guarantee
from pcqr.data.records.predicates import Leaf, Predicate, Split, leaves_of
from pcqr.data.schema import Column, Schema
from pcqr.hypotheses import DecisionTree
from pcqr.hypotheses.base import Hypothesis
from pcqr.hypotheses.stumps import Stump
from pcqr.hypotheses.thresholds import Threshold
from pcqr.models import PublishedModel
from pcqr.models.graph import Graph, constant_labels
from pcqr.releases.classifier.descent import leaf_shares

FEATURES = 3
CUTS = (0.0, 0.1, 1 / 3, -2.5, 16777217.0, 1e300, -1e-310, 5e-324, np.pi)
"""16777217 = 2²⁴ + 1 is no float32, the subnormals are zero there, and 10³⁰⁰ is infinite."""


def labels(session: onnxruntime.InferenceSession, X: NDArray[np.float64]) -> list[Any]:
    (found,) = session.run(["label"], {"X": X})
    return list(found.tolist())


def model(hypothesis: Hypothesis, classes: tuple[Any, ...], features: int = FEATURES) -> PublishedModel:
    schema = Schema(tuple(Column(f"x{i}") for i in range(features)))
    return PublishedModel(hypothesis, classes, schema, Guarantee(1.0))


def hard_points(features: int) -> NDArray[np.float64]:
    """Each cut, its two neighbours in float64 and its rounding to float32, in all columns, shuffled in each."""
    cuts = np.array(CUTS)
    with np.errstate(over="ignore", under="ignore"):
        rounded = np.nan_to_num(cuts.astype(np.float32).astype(np.float64), posinf=1e301)
    values = np.concatenate([cuts, np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf), rounded, [-0.0, 1e-320]])
    generator = np.random.default_rng(0)
    random = generator.normal(size=(100, features)) * 10.0 ** generator.integers(-3, 9, size=(100, features))
    return np.concatenate([np.column_stack([generator.permutation(values) for _ in range(features)]), random] * 4)


def nodes(depth: int) -> st.SearchStrategy[Leaf | Split]:
    leaves = st.builds(Leaf, st.integers(0, 2))
    asked = st.builds(Predicate, st.integers(0, FEATURES - 1), st.sampled_from(CUTS))
    return leaves if depth == 0 else st.builds(Split, asked, nodes(depth - 1), nodes(depth - 1))


@settings(max_examples=25, deadline=None)
@given(nodes(4) | nodes(2) | nodes(0))
def test_trees_with_three_classes(tmp_path_factory: pytest.TempPathFactory, root: Leaf | Split) -> None:
    tree = model(DecisionTree(root, FEATURES), ("red", "grün", "blue"))
    X = hard_points(FEATURES)
    assert labels(exported(tree, tmp_path_factory.mktemp("onnx")), X) == tree.predict(X).tolist()


@settings(max_examples=15, deadline=None)
@given(nodes(4) | nodes(1) | nodes(0), st.integers(0, 10**6))
def test_trees_with_probabilities(tmp_path_factory: pytest.TempPathFactory, root: Leaf | Split, seed: int) -> None:
    leaves = leaves_of(root)
    shares = leaf_shares(np.random.default_rng(seed).normal(size=(len(leaves), 3)), 0.1, [one.label for one in leaves])
    tree = model(DecisionTree(root, FEATURES).with_shares(shares.tolist()), ("red", "grün", "blue"))
    session, X = exported(tree, tmp_path_factory.mktemp("onnx")), hard_points(FEATURES)
    found, probabilities = session.run(["label", "probabilities"], {"X": X})
    assert found.tolist() == tree.predict(X).tolist()
    np.testing.assert_array_equal(probabilities, tree.predict_proba(X))


@pytest.mark.parametrize("classes", [(0, 1), (-(2**40), 7), (0.25, 1.5), (False, True), ("no", "yes")])
def test_label_names_keep_their_type(tmp_path: Path, classes: tuple[Any, Any]) -> None:
    threshold = model(Threshold(0.1, up=False), classes, features=1)
    X = hard_points(1)
    found = labels(exported(threshold, tmp_path), X)
    assert found == threshold.predict(X).tolist()
    assert {type(label) for label in found} == {type(classes[0])}


SCHEMA = Schema(
    (
        Column("age", bounds=(18, 90.5), missing=True),
        Column("sex", "categorical", ("female", "männlich")),
        Column("gain"),
        Column("admitted", "date", bounds=("2014-01-01", "2019-12-31"), missing=True),
        Column("grade", "categorical", ("1", "02", "2.5", "False", "n/d", "2020-02-29"), other=True),
        Column("loss", missing=True),
        Column("born", "date"),
        Column("text", "categorical", (), other=True),
        Column("score", bounds=(-0.0, 1.0)),
    )
)
NUMBERS = [*CUTS, -0.0, 1e-320, 17.9, 18, 90.5, 90.6, -1.7e308, 1.7e308, 2**53 + 1, True, np.float32(0.1)]
DAYS = [-719162.0, 2932896.0, 16071.0, 16070.0, 18261.0, 18262.0, 16193.75, 0.0, -0.0, -0.5]
GRADES = [
    1,
    1.0,
    "1.00",
    True,
    "TRUE",
    2,
    "02",
    "2.0",
    "0002",
    "2e+00",
    "2.5e+00",
    2.5,
    "2.50",
    False,
    0,
    "0.0",
    -0.0,
    "n/d",
    "N/D",
    "2020-02-29",
]
GRADES += [
    "2020-02-29T00:00",
    "2020-02-29 00:00:00.000000000",
    datetime.date(2020, 2, 29),
    "2020-02-29 00:01",
    "3",
    " 1x",
]
GAPS = [None, np.nan, "", "NA", "nan", "<NA>"]
CELLS: dict[str, list[Any]] = {
    "age": [*NUMBERS, None, np.nan],
    "sex": ["female", "männlich", *GAPS],
    "gain": NUMBERS,
    "admitted": [*DAYS, None, np.nan],
    "grade": [*GRADES, *GAPS],
    "loss": [*NUMBERS, None, np.nan],
    "born": DAYS,
    "text": ["a", "Ω\0", 3, *GAPS],
    "score": NUMBERS,
}
"""Cells that are hard to read; those of dates are days."""


def as_dates(table: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """The table with dates for days."""
    dates = {
        name: [None if day is None or np.isnan(day) else np.datetime64(math.floor(day), "D") for day in table[name]]
        for name in ("admitted", "born")
    }
    return dict(table) | dates


@pytest.fixture(scope="module")
def encoder() -> onnxruntime.InferenceSession:
    """A graph whose output `table` is the encoded table."""
    graph, features = Graph(SCHEMA), len(SCHEMA.features)
    order = graph.constant("INT64", [graph.place(feature) for feature in range(features)], [features])
    graph.add_output("table", graph.add("Gather", graph.table, order, axis=1), "DOUBLE", [features])
    return opened(graph.finished(constant_labels(0, graph), ("no", "yes"), "", {}))


class TestColumns:
    @settings(max_examples=50, deadline=None)
    @given(st.lists(st.tuples(*(st.integers(0, len(cells) - 1) for cells in CELLS.values())), min_size=1))
    @example(list(zip(*(np.arange(60) % len(cells) for cells in CELLS.values()), strict=True)))
    def test_they_are_encoded_bit_by_bit_as_the_schema_does(
        self, encoder: onnxruntime.InferenceSession, rows: list[tuple[int, ...]]
    ) -> None:
        places = zip(*rows, strict=True)
        table = {name: [cells[i] for i in place] for (name, cells), place in zip(CELLS.items(), places, strict=True)}
        wanted = SCHEMA.encode(as_dates(table))
        assert run(encoder, table, "table")[0].tobytes() == wanted.tobytes()

    def test_text_of_any_kind(self, encoder: onnxruntime.InferenceSession) -> None:
        """NumPy's texts of one length, and its NaT as a number."""
        row = {name: [cells[0]] for name, cells in CELLS.items()}
        row["grade"], row["admitted"] = np.array(["02"]), np.array(["NaT"], dtype="datetime64[D]").astype(np.float64)  # type: ignore[assignment]
        encoded = dict(zip(SCHEMA.feature_names, run(encoder, row, "table")[0][0], strict=True))
        assert (encoded["grade=02"], encoded["admitted is missing"], encoded["admitted"]) == (1.0, 1.0, 16071.0)

    @pytest.mark.parametrize(
        ("name", "cell", "message"),
        [
            ("sex", "männlicH", "undeclared category in column 'sex'"),
            ("gain", np.nan, "a gap, an infinity"),
            ("gain", np.inf, "a gap, an infinity"),
            ("age", -np.inf, "a gap, an infinity"),
            ("score", np.inf, "a gap, an infinity"),
            ("born", np.nan, "a gap, an infinity"),
            ("born", float(np.iinfo(np.int64).min), "a gap, an infinity"),
            ("born", 2932897.0, "a day beyond the years 1 to 9999"),
            ("admitted", -719162.5, "a day beyond the years 1 to 9999"),
        ],
    )
    def test_what_the_schema_refuses_is_refused(
        self,
        encoder: onnxruntime.InferenceSession,
        name: str,
        cell: Any,
        message: str,
        capfd: pytest.CaptureFixture[str],
    ) -> None:
        table = {name: cells[:2] for name, cells in CELLS.items()}
        run(encoder, table)
        table[name] = [table[name][0], cell]
        with pytest.raises(InvalidArgument, match=message):
            run(encoder, table)
        capfd.readouterr()  # onnxruntime logs the message, too


def test_the_file_says_what_it_takes_and_what_was_promised(tmp_path: Path) -> None:
    session = exported(model(Stump(1, 0.5, True, FEATURES), ("no", "yes")), tmp_path)
    (taken,) = session.get_inputs()
    assert (taken.name, taken.type, taken.shape) == ("X", "tensor(double)", ["records", FEATURES])
    about = session.get_modelmeta()
    assert about.producer_name == "pcqr"
    assert "ε = 1" in about.description
    assert "ε = 1" in about.custom_metadata_map["guarantee"]
    assert json.loads(about.custom_metadata_map["labels"]) == ["no", "yes"]
    columns = json.loads(about.custom_metadata_map["columns"])
    assert columns == [{"name": f"x{place}", "kind": "numeric"} for place in range(FEATURES)]


ALONE = """
import json, sys
table = {"age": [25, None, 60.5], "work": ["State", "Army", None], "gain": [0.1, 1e300, -5]}
CODE
assert "pcqr" not in sys.modules
print(json.dumps([labels.tolist(), probabilities.tolist()]))
"""


def test_the_code_on_the_page_needs_nothing_of_pcqr(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n([^`]*onnxruntime[^`]*)```", page)
    published = linear_model("both", 3)
    (tmp_path / "model").mkdir()
    published.to_onnx(tmp_path / "model" / "model.onnx")
    command = [sys.executable, "-I", "-c", ALONE.replace("CODE", code)]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)  # noqa: S603
    labels, probabilities = json.loads(done.stdout)
    table = {"age": [25, None, 60.5], "work": ["State", "Army", None], "gain": [0.1, 1e300, -5]}
    assert labels == published.predict(table).tolist()
    np.testing.assert_allclose(probabilities, published.predict_proba(table), rtol=0, atol=1e-12)
