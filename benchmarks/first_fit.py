"""How long does the first fit of a process take, where nothing has been compiled before, and where all has?

    python -m benchmarks.first_fit

For each ε two new processes one after the other, with one folder for what numba compiles: it is empty before the first
process and full before the second. UCI Adult with 2,000 public rows, δ = 10⁻⁶. Reading the table is not counted. Other
work on a machine adds to the seconds: run it on an idle one. Writes its table into docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.accuracy import markdown, read_cases, wide_console, write_json
from benchmarks.pages import put_between

EPSILONS = (0.03, 0.1, 0.3, 1.0, 4.0)
DELTA = 1e-6
PUBLIC_ROWS = 2_000
RESULTS = Path("benchmarks/results/first_fit.json")
PAGE = Path("docs/performance.md")
HEADER = ("ε", "method", "compiled before", "import", "first fit", "of processor time", "second fit")

PROGRAM = """
import json, sys, time
epsilon, delta, public_rows = json.loads(sys.argv[1])
started = time.perf_counter()
from pcqr import AssumePublic, PrivateClassifier
imported = time.perf_counter()
from pcqr.datasets import load_adult
adult = load_adult()

def fit():
    wall, cpu = time.perf_counter(), time.process_time()
    public = AssumePublic(adult.X_test[:public_rows])
    method = PrivateClassifier(epsilon, delta).fit(adult.X_train, adult.y_train, public=public).method_
    return method, time.perf_counter() - wall, time.process_time() - cpu

(method, seconds, cpu_seconds), (_, second, _) = fit(), fit()
print(json.dumps({"method": method, "import_seconds": imported - started, "seconds": seconds,
                  "cpu_seconds": cpu_seconds, "second_seconds": second}))
"""
"""In a process of its own that has imported nothing."""


@dataclass(frozen=True)
class FirstFit:
    """A new process: seconds of its import of pcqr, of its first fit and of its second, and the load before."""

    epsilon: float
    is_compiled: bool
    method: str
    import_seconds: float
    seconds: float
    cpu_seconds: float
    second_seconds: float
    load: float

    def row(self) -> list[str]:
        times = (self.import_seconds, self.seconds, self.cpu_seconds, self.second_seconds)
        return [f"{self.epsilon:g}", self.method, "yes" if self.is_compiled else "no", *(f"{t:.1f} s" for t in times)]


def measure(epsilon: float, cache: Path) -> FirstFit:
    """Fit in a new process. It has compiled kernels in `cache` if there are any there."""
    is_compiled, load = any(cache.rglob("*.nbc")), os.getloadavg()[0]
    words = [sys.executable, "-W", "ignore", "-c", PROGRAM, json.dumps([epsilon, DELTA, PUBLIC_ROWS])]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    shown = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)  # noqa: S603
    return FirstFit(epsilon, is_compiled, load=load, **json.loads(shown.stdout))


def table(root: Path) -> str:
    return markdown(HEADER, [each.row() for each in read_cases(root / RESULTS, FirstFit)])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_fit", description=(__doc__ or "").split("\n")[0])
    parser.parse_args()
    console, found = wide_console(), []
    for epsilon in EPSILONS:
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(2):
                found.append(measure(epsilon, Path(folder)))
                console.print("  ".join(found[-1].row()), f"(load {found[-1].load:.1f})", highlight=False)
    settings = {"delta": DELTA, "public_rows": PUBLIC_ROWS, "cores": os.cpu_count()}
    write_json(RESULTS, settings, [asdict(each) for each in found])
    put_between(PAGE, "first fit", table(Path()))


if __name__ == "__main__":
    main()
