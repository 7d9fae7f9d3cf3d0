"""A plan on paper for 10⁹ rows and 10⁴ queries a second: what was measured, multiplied.

    python -m benchmarks.billion measure     rows a second of published classifiers of both kinds, one core
    python -m benchmarks.billion page        the tables of docs/scaling.md

Nothing here was run at that size. Processor time is that of 10⁷ rows (`benchmarks.scaling`) times a hundred, since
it is in proportion to rows; what cores lose in company is what two workers of `benchmarks.cluster` lose. Prices are
assumed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy import markdown
from benchmarks.pages import put_between
from pcqr import PrivateClassifier

FOLDER, PAGE = Path("benchmarks/results"), Path("docs/scaling.md")
RESULTS = FOLDER / "billion.json"
MEASURED, ROWS, CORES, ASKED = 10**7, 10**9, 64, 10_000
CORE_HOUR = 0.05
"""Dollars; assumed, of the order of what clouds charge on demand, memory included."""
TIMED_ROWS, ROUNDS = 100_000, 5


def measure() -> None:
    """Time a tree and a linear classifier on 20 columns. No ledger is needed, so any number of machines can answer."""
    generator = np.random.default_rng(0)
    X, public = generator.normal(size=(TIMED_ROWS, 20)), generator.normal(size=(2_000, 20))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0.0).astype(int)
    found: dict[str, Any] = {"load": os.getloadavg()[0]}
    for method in ("tree", "linear"):
        model = PrivateClassifier(4.0, method=method, classes=(0, 1), entropy=0).fit(X, y, public=public)
        model.predict(X[:10])
        seconds = []
        for _ in range(ROUNDS):
            begin = time.process_time()
            model.predict(X)
            seconds.append(time.process_time() - begin)
        found[method] = TIMED_ROWS / sorted(seconds)[ROUNDS // 2]
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def stored(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found


def fits() -> str:
    scaling, seconds_by = stored("scaling"), stored("cluster")["seconds"]
    ratios = [one / two for one, two in zip(seconds_by["1"], seconds_by["2"], strict=True)]
    times, kept = ROWS / MEASURED, statistics.median(ratios) / 2.0
    reading = scaling["measured"][str(MEASURED)]["counts"]["read"]
    rows = []
    for words, seconds in (
        ("read and judge every cell", reading),
        ("`--method tree`, reading included", scaling["published"]["tree"]["processor"]),
        ("`auto` with the linear classifier that is planned for 10⁷ rows", scaling["published"]["auto"]["processor"]),
    ):
        hours = seconds * times / 3600.0
        minutes = hours / CORES / kept * 60.0
        rows.append([words, f"{hours:.1f}", f"{minutes:.1f} min", f"{minutes / 60.0 * CORES * CORE_HOUR:.2f} $"])
    header = ("task, 10⁹ × 20 rows", "core hours", f"{CORES} cores", f"at {CORE_HOUR:g} $ a core hour")
    return markdown(header, rows)


def answers() -> str:
    published, kept = stored("billion"), stored("durable")["cases"]
    durable = next(case for case in kept if case["what"] == "kept, all")
    served = next(case for case in stored("service")["cases"] if (case["server"], case["ask"]) == ("durable", "v1"))
    ways = (
        ("a published tree, `predict`", published["tree"], "none: any number of machines", "core"),
        ("a published linear classifier, `predict`", published["linear"], "none: any number of machines", "core"),
        ("votes, batches of 100, kept in SQLite", durable["answers"] / durable["seconds"], "one process", "process"),
        ("votes, one query a request, `pcqr serve`", served["speed"], "the ledger, once an answer", "worker"),
    )
    rows = [[words, f"{speed:,.0f}", several(ASKED / speed, unit), shared] for words, speed, shared, unit in ways]
    return markdown(("way", "rows a second, each", "for 10⁴ a second", "what they share"), rows)


def several(share: float, unit: str) -> str:
    count = math.ceil(share)
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"


def page() -> None:
    put_between(PAGE, "billion fits", fits())
    put_between(PAGE, "billion answers", answers())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("command", choices=("measure", "page"))
    if parser.parse_args().command == "measure":
        measure()
    page()


if __name__ == "__main__":
    main()
