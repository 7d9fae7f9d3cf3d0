"""Logistic regression by DP-SGD on a machine with an accelerator. Needs NumPy, PyTorch and Opacus alone.

    python -m benchmarks.dp_sgd_training adult.npz bank.npz … OUT.json [--epsilons .1,1] [--limit SECONDS] [--workers N]

Reads what `benchmarks.dp_sgd prepare` made; `benchmarks.dp_sgd collect` reads what it makes. One process tunes and
reports one table at one ε after another (`benchmarks.dp_sgd_search`); OUT.json has those that were finished, and a run
that finds it goes on with the others.
"""

from __future__ import annotations

import argparse
import base64
import json
import multiprocessing
import time
import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.dp_sgd_search import VECTORS, Seeds, Setting, search, starts
from benchmarks.peers import EPSILONS, Bits, Counts, Noises, read_noises
from benchmarks.private_descent import descend, device

FRESH = 1_000
"""The first seed of the reported runs: the search has seen none from here on."""


@dataclass(frozen=True)
class Table:
    """Tensors on the device: unit vectors of the records and of the test rows, by kind, and labels."""

    rows: Mapping[str, Any]
    labels: Any
    test_rows: Mapping[str, Any]
    test_labels: Any


@cache
def load(path: str) -> Table:
    """The table that `benchmarks.dp_sgd.prepare` wrote: integer columns, predicates on them, and their two values."""
    import torch  # noqa: PLC0415

    with np.load(path) as stored:
        content = {name: torch.from_numpy(stored[name]).to(device()) for name in stored.files}

    def vectors(columns: Any, kind: str) -> Any:  # one row a column, as they are stored
        cuts, holding, failing = (content[f"{kind} {name}"][:, None] for name in ("cuts", "holding", "failing"))
        holds = columns[content[f"{kind} features"]].float() > cuts
        entries = torch.cat([torch.where(holds, holding, failing), content["unit"].expand(1, columns.shape[1])])
        return (entries / entries.norm(dim=0)).T.contiguous()

    rows, test_rows = ({kind: vectors(content[name], kind) for kind in VECTORS} for name in ("X", "X_test"))
    return Table(rows, content["y"].float(), test_rows, content["y_test"] > 0)


def train(table: Table, setting: Setting, noise: float, seed: int) -> tuple[Any, Any]:
    """(last weights, mean of the last half) of logistic regression with noise of `noise`·C in each step."""
    import torch  # noqa: PLC0415

    torch.manual_seed(seed)
    rows = table.rows[setting.vectors]
    model = torch.nn.Linear(rows.shape[1], 1, bias=False).to(rows.device)  # the vectors have a constant
    torch.nn.init.zeros_(model.weight)
    inner = torch.optim.SGD(model.parameters(), lr=setting.rate, momentum=setting.momentum)
    return descend(
        model,
        inner,
        rows,
        table.labels,
        per_epoch=setting.per_epoch,
        steps=setting.steps,
        clip=setting.clip,
        noise=noise,
    )


def right(table: Table, setting: Setting, weights: Any) -> Bits:
    """Which test rows `weights` label rightly."""
    bits: Bits = ((table.test_rows[setting.vectors] @ weights > 0) == table.test_labels).cpu().numpy()
    return bits


@dataclass(frozen=True)
class Result:
    """One table at one ε: the winner's setting, its accuracies on fresh seeds and their mean in the search.

    `noise` is the standard deviation of the noise in units of C, `tried` the number of settings, `seconds` those of all
    runs and `fit_seconds` those of one of the winner's, where several shared a machine; `right` is, for each test row,
    in how many of the reported runs it was right.
    """

    table: str
    epsilon: float
    records: int
    setting: Setting
    noise: float
    accuracy: Sequence[float]
    searched: float
    tried: int
    seconds: float
    fit_seconds: float
    right: str

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Result:
        return cls(**{**fields, "setting": Setting(**fields["setting"])})


def measure(path: str, epsilon: float, noises: Noises) -> Result:
    """Tune at `epsilon`, then run the winner on seeds that the search has not seen."""
    import torch  # noqa: PLC0415

    torch.set_num_threads(1)
    table, begun = load(path), time.perf_counter()
    records = len(table.labels)
    seeds = Seeds.of(records, epsilon)

    def both(setting: Setting, seed: int) -> tuple[Bits, Bits]:
        last, mean = train(table, setting, noises[setting.per_epoch, setting.steps], seed)
        return right(table, setting, last), right(table, setting, mean)

    def score(setting: Setting, seed: int) -> tuple[float, float]:
        last, mean = both(setting, seed)
        return float(last.mean()), float(mean.mean())

    found = search(score, starts(records, noises), seeds)
    searched = time.perf_counter()
    runs = [both(found.setting, FRESH + run)[found.setting.averaged] for run in range(seeds.report)]
    end = time.perf_counter()
    return Result(
        table=Path(path).stem,
        epsilon=epsilon,
        records=records,
        setting=found.setting,
        noise=noises[found.setting.per_epoch, found.setting.steps],
        accuracy=[float(run.mean()) for run in runs],
        searched=found.accuracy,
        tried=found.tried,
        seconds=round(end - begun, 2),
        fit_seconds=round((end - searched) / len(runs), 3),
        right=packed(np.sum(runs, axis=0, dtype=np.uint8)),
    )


def packed(counts: Counts) -> str:
    return base64.b64encode(zlib.compress(counts.tobytes(), 9)).decode()


def unpacked(text: str) -> Counts:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.uint8)


def read(out: Path) -> list[Result]:
    return [Result.read(fields) for fields in json.loads(out.read_text(encoding="utf-8"))] if out.exists() else []


def write(out: Path, results: Sequence[Result]) -> None:
    lines = ",\n".join(json.dumps(asdict(result)) for result in results)
    fresh = out.with_suffix(".new")
    fresh.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    fresh.replace(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("inputs", nargs="+", type=Path, help="TABLE.npz …, noise.json beside the first of them")
    parser.add_argument("out", type=Path)
    parser.add_argument("--epsilons", default=",".join(f"{epsilon:g}" for epsilon in EPSILONS))
    parser.add_argument("--limit", type=float, default=600.0, help="seconds; what is not finished by then is lost")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    given = parser.parse_args()
    noises, results, begun = read_noises(given.inputs[0].parent), read(given.out), time.monotonic()
    done = {(result.table, result.epsilon) for result in results}
    cells = [(path, epsilon) for epsilon in map(float, given.epsilons.split(",")) for path in given.inputs]
    with ProcessPoolExecutor(given.workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        jobs = [
            pool.submit(measure, str(path), epsilon, noises[epsilon])
            for path, epsilon in cells
            if (path.stem, epsilon) not in done
        ]
        try:
            for job in as_completed(jobs, timeout=given.limit):
                results.append(job.result())
                write(given.out, results)
                made = results[-1]
                print(
                    f"{time.monotonic() - begun:6.0f} s  {made.table} {made.epsilon:g}  {made.setting}  "
                    f"{100 * np.mean(made.accuracy):.2f}  {made.tried} tried  {made.seconds:.0f} s",
                    flush=True,
                )
        except TimeoutError:
            for process in multiprocessing.active_children():
                process.terminate()
            pool.shutdown(wait=False, cancel_futures=True)


if __name__ == "__main__":
    main()
