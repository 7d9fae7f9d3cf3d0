"""Networks by DP-SGD on a machine with an accelerator. Needs NumPy, PyTorch and Opacus alone.

    python -m benchmarks.network_training adult.npz bank.npz … OUT.json [--epsilons .1,1] [--settings FILE]

Reads what `benchmarks.network prepare` made; `benchmarks.network collect` reads what it makes.

Network: two hidden layers of 128, one output, logistic loss. `benchmarks.network_search` says what is tuned and how,
`benchmarks.private_descent` what is Opacus's. OUT.json has every run; a run that finds it goes on from there.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import private_descent
from benchmarks.network_search import LITTLE, STARTS, STARTS_FOR_LITTLE, Cell, Job, Run, Setting, next_job, packed
from benchmarks.peers import EPSILONS, Bits, read_noises

HIDDEN = 128
MOMENTUM = 0.9
MOST_FAILURES = 10
SEARCH_SHARE = 0.6
"""Of the time limit, after which no new setting is tried."""


@dataclass(frozen=True)
class Table:
    """Tensors on the device: rows of standardised columns followed by predicates, and labels."""

    rows: Any
    labels: Any
    test_rows: Any
    test_labels: Any
    columns: int

    def part(self, inputs: str) -> slice:
        return {"both": slice(None), "columns": slice(self.columns), "predicates": slice(self.columns, None)}[inputs]


@cache
def load(path: str) -> Table:
    """The table that `benchmarks.network.prepare` wrote: integer columns, and how to make inputs of them."""
    import torch  # noqa: PLC0415

    with np.load(path) as stored:
        content = {name: torch.from_numpy(stored[name]).to(private_descent.device()) for name in stored.files}

    def inputs(columns: Any) -> Any:  # one row a column, as they are stored
        made = torch.cat([columns.float(), (columns[content["features"]].float() > content["cuts"][:, None]).float()])
        made = (made - content["centres"][:, None]) * content["scales"][:, None]
        return made.clamp_(-content["cap"], content["cap"]).T.contiguous()

    rows, test_rows = inputs(content["X"]), inputs(content["X_test"])
    return Table(rows, content["y"].float(), test_rows, content["y_test"] > 0, len(content["X"]))


def descend(table: Table, setting: Setting, noise: float, seed: int) -> tuple[Any, Any, Any]:
    """(The network, its last weights, the mean of those after each of the last half of the steps)."""
    import torch  # noqa: PLC0415

    torch.manual_seed(seed)
    rows = table.rows[:, table.part(setting.inputs)]
    bend = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh}[setting.activation]
    model = torch.nn.Sequential(
        *(torch.nn.Linear(rows.shape[1], HIDDEN), bend()),
        *(torch.nn.Linear(HIDDEN, HIDDEN), bend()),
        torch.nn.Linear(HIDDEN, 1),
    ).to(rows.device)
    if setting.optimizer == "adam":
        inner = torch.optim.Adam(model.parameters(), lr=setting.rate)
    else:
        inner = torch.optim.SGD(model.parameters(), lr=setting.rate, momentum=MOMENTUM)
    last, mean = private_descent.descend(
        model,
        inner,
        rows,
        table.labels,
        per_epoch=setting.per_epoch,
        steps=setting.steps,
        clip=setting.clip,
        noise=noise,
    )
    return model, last, mean


def train(table: Table, setting: Setting, noise: float, seed: int) -> tuple[Bits, Bits]:
    """Which test rows the last weights label rightly, and which their mean."""
    import torch  # noqa: PLC0415

    model, *weights = descend(table, setting, noise, seed)
    rows = table.test_rows[:, table.part(setting.inputs)]

    def right(vector: Any) -> Bits:
        torch.nn.utils.vector_to_parameters(vector, model.parameters())
        with torch.no_grad():
            bits: Bits = ((model(rows)[:, 0] > 0) == table.test_labels).cpu().numpy()
        return bits

    return right(weights[0]), right(weights[1])


def perform(job: Job) -> Run:
    import torch  # noqa: PLC0415

    torch.set_num_threads(1)
    table = load(job.path)
    start = time.perf_counter()
    both = train(table, job.setting, job.noise, job.seed)
    seconds = round(time.perf_counter() - start, 2)
    right = tuple(packed(bits) for bits in both) if job.keep else ()
    accuracy = float(both[0].mean()), float(both[1].mean())
    name, epsilon = job.cell
    return Run(name, epsilon, job.setting, job.noise, job.seed, accuracy, seconds, right)


def run(cells: Sequence[Cell], out: Path, limit: float, share: float, workers: int) -> None:
    """Runs until all is done, or no more than the last ones fit into `limit` seconds."""
    begun, written = time.monotonic(), time.monotonic()
    of = {(Path(cell.path).stem, cell.epsilon): cell for cell in cells}
    waiting: set[Future[Run]] = set()
    longest, failures = 0.0, 0
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        while True:
            spent = time.monotonic() - begun
            while len(waiting) < workers and spent + longest < limit:
                job = next_job(cells, spent < share * limit)
                if job is None:
                    break
                waiting.add(pool.submit(perform, job))
            if not waiting:
                break
            done, waiting = wait(waiting, timeout=max(0.0, limit - spent), return_when=FIRST_COMPLETED)
            for future in done:
                try:
                    made = future.result()
                except RuntimeError as failure:  # PyTorch's, out of memory for one
                    failures += 1
                    print(f"{spent:6.0f} s  {failure}", flush=True)
                    continue
                of[made.table, made.epsilon].add(made)
                longest = max(longest, made.seconds)
                print(
                    f"{spent:6.0f} s  {made.table} {made.epsilon:g}  {made.setting}  seed {made.seed}  "
                    f"{100 * made.accuracy[0]:.2f} {100 * made.accuracy[1]:.2f}  {made.seconds:.1f} s",
                    flush=True,
                )
            if time.monotonic() - written > 10.0:
                write(cells, out)
                written = time.monotonic()
            if not done or failures > MOST_FAILURES:
                break
        write(cells, out)
        for process in multiprocessing.active_children():  # out of time: what still runs is lost
            process.terminate()


def write(cells: Sequence[Cell], out: Path) -> None:
    runs = [json.dumps(asdict(run)) for cell in cells for run in cell.runs.values()]
    fresh = out.with_suffix(".new")
    fresh.write_text("[\n" + ",\n".join(runs) + "\n]\n", encoding="utf-8")
    fresh.replace(out)


def read(out: Path) -> list[Run]:
    return [Run.read(fields) for fields in json.loads(out.read_text(encoding="utf-8"))]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("inputs", nargs="+", type=Path, help="TABLE.npz …, noise.json beside the first of them")
    parser.add_argument("out", type=Path)
    parser.add_argument("--epsilons", default=",".join(f"{epsilon:g}" for epsilon in EPSILONS))
    parser.add_argument("--settings", type=Path, help="a JSON list of settings to begin with")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds")
    parser.add_argument(
        "--search-share", type=float, default=SEARCH_SHARE, help="of the limit; 0: finish what is on file"
    )
    parser.add_argument("--workers", type=int, default=1, help="processes")
    given = parser.parse_args()
    noises = read_noises(given.inputs[0].parent)
    starts = None
    if given.settings is not None:
        starts = tuple(Setting(**fields) for fields in json.loads(given.settings.read_text()))
    cells = []
    for path in given.inputs:
        with np.load(path) as stored:
            records = stored["y"].size
        for epsilon in map(float, given.epsilons.split(",")):
            first = starts or (STARTS_FOR_LITTLE if records * epsilon < LITTLE else STARTS)
            cells.append(Cell(str(path), epsilon, noises[epsilon], first))
    before = read(given.out) if given.out.exists() else []
    for cell in cells:
        for each in before:
            if (each.table, each.epsilon) == (Path(cell.path).stem, cell.epsilon):
                cell.add(each)
    run(cells, given.out, given.limit, given.search_share, given.workers)


if __name__ == "__main__":
    main()
