"""What it takes to fit a table of mixed columns: read in few bytes and encoded piece by piece, or as one dense matrix.

    python -m benchmarks.records [--records 300000] [--columns 30] [--json]

Half of the columns are numbers, a third of them with gaps, half are texts with ten categories; the schema is declared.
`PrivateClassifier` is fitted in processes of their own, once on the table with its schema and once on the matrix that
`Schema.encode` makes of it, with the same predicates. Columns:

    seconds   of reading and fitting; read them on an idle machine
    memory    how much the process grew beyond its peak before (libraries loaded, kernels compiled, the table there)
    dense     what the encoded matrix alone takes

Both publish the same classifier, which is checked.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from pcqr import PrivateClassifier, Schema
from pcqr.hypotheses import DecisionTrees
from pcqr.schema import Column

METHODS = ("tree", "counted")
WAYS = ("table", "matrix")
NAMES = tuple(f"category {number}" for number in range(10))
_MEGABYTE = 1e6


def schema_of(columns: int) -> Schema:
    """Numbers and texts in turn; every third number may have gaps."""
    numbers = (Column(f"number {j}", bounds=(-3, 3), missing=j % 3 == 0) for j in range(columns - columns // 2))
    texts = (Column(f"text {j}", "categorical", NAMES) for j in range(columns // 2))
    return Schema((*numbers, *texts))


def made_up(records: int, schema: Schema) -> tuple[pd.DataFrame, np.ndarray]:
    """Random cells, and labels that depend on the first number and the first text."""
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(index=range(records))
    names = np.array(NAMES, dtype=object)
    for column in schema.columns:
        if column.kind == "categorical":
            frame[column.name] = names[generator.integers(0, len(names), records)]
        else:
            numbers = generator.normal(size=records)
            if column.missing:
                numbers[generator.random(records) < 0.05] = np.nan
            frame[column.name] = numbers
    likely = (frame["number 0"] > 0).to_numpy() ^ (frame["text 0"] == NAMES[0]).to_numpy()
    return frame, (likely ^ (generator.random(records) < 0.2)).astype(np.int8)


def fitted(method: Any, way: str, frame: pd.DataFrame, y: np.ndarray, schema: Schema) -> PrivateClassifier:
    trees = DecisionTrees(depth=2, cuts=4).prepared(None, schema)
    classifier = PrivateClassifier(1.0, method=method, trees=trees, entropy=0, classes=(0, 1))
    if way == "table":
        return classifier.fit(frame, y, schema=schema)
    return classifier.fit(schema.encode(frame), y)


def measure(method: str, way: str, records: int, columns: int) -> dict[str, Any]:
    """One fit, in this process. A small one comes first, so that compiling is not counted."""
    warnings.simplefilter("ignore")
    schema = schema_of(columns)
    fitted(method, way, *made_up(2_000, schema), schema)
    frame, y = made_up(records, schema)
    peak, begun = _peak(), time.perf_counter()
    found = fitted(method, way, frame, y, schema)
    return {
        "method": method,
        "way": way,
        "seconds": time.perf_counter() - begun,
        "memory": (_peak() - peak) / _MEGABYTE,
        "published": hashlib.sha256(repr(found.hypothesis_).encode()).hexdigest(),
    }


def _peak() -> float:
    """Bytes: Linux counts in kilobytes, macOS in bytes."""
    found = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(found) if sys.platform == "darwin" else 1024.0 * found


def _in_a_process(method: str, way: str, arguments: argparse.Namespace) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.records", "--one", method, way]
    command += ["--records", str(arguments.records), "--columns", str(arguments.columns)]
    told = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    measured: dict[str, Any] = json.loads(told.stdout)
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=300_000)
    parser.add_argument("--columns", type=int, default=30)
    parser.add_argument("--json", action="store_true", help="one line of JSON for each fit")
    parser.add_argument("--one", nargs=2, metavar=("METHOD", "WAY"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.one[0], arguments.one[1], arguments.records, arguments.columns)))
        return
    dense = 8.0 * arguments.records * len(schema_of(arguments.columns).features) / _MEGABYTE
    table = Table(title=f"{arguments.records:,} records, {arguments.columns} columns; dense: {dense:,.0f} MB")
    for heading in ("method", "fitted on", "seconds", "memory, MB"):
        table.add_column(heading, justify="right" if heading[0] in "sm" and heading != "method" else "left")
    for method in METHODS:
        both = [_in_a_process(method, way, arguments) for way in WAYS]
        assert both[0]["published"] == both[1]["published"]
        for measured in both:
            if arguments.json:
                print(json.dumps(measured))
            table.add_row(method, measured["way"], f"{measured['seconds']:.1f}", f"{measured['memory']:,.0f}")
    if not arguments.json:
        Console().print(table)


if __name__ == "__main__":
    main()
