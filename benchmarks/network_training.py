"""Networks by DP-SGD on a machine with an accelerator. This file needs NumPy, PyTorch and Opacus alone.

    python network_training.py adult.npz bank.npz … OUT.json [--epsilons .1,1] [--settings FILE] [--limit SECONDS]

It can be carried, with the inputs and `noise.json` that `benchmarks.network prepare` makes and with Opacus's folder, to
where pcqr is not and nothing can be installed. `benchmarks.network collect` reads what it made.

Opacus's own: the norms of the gradients of single records and their clipping ("ghost": two passes backward, no gradient
of a single record is ever stored), the noise, and the step around PyTorch's Adam or SGD. The noise multipliers come
from its accountants, too (`benchmarks.dp_sgd`). Ours: a batch is drawn on the device, each record with probability q by
itself, so that rows stay there; this is Poisson sampling, as Opacus's data loader does it on the host.

Network: two hidden layers of 128, one output, logistic loss. `Setting` says what is tuned.

Tuning, for each table and ε by itself, by accuracy on the *test* rows, which no private learner could do: `STARTS`
(or those of `--settings`), then neighbours of the best so far, one change at a time, until none is better, `MOST` are
tried or the time for it is over. Both the last weights and the mean of the last half of the steps count. The
`FINALISTS` best run again on `FINAL_SEEDS`, and the best of them on `REPORT_SEEDS`, which nothing was chosen by: those
are the figures. All cells take turns, so that a run that ends early has tried about as much for each of them.
OUT.json has every run; a run that finds it goes on from there.
"""

from __future__ import annotations

import argparse
import base64
import importlib.util
import itertools
import json
import math
import multiprocessing
import sys
import time
import types
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

HIDDEN = 128
MOMENTUM = 0.9
INPUTS = ("both", "predicates", "columns")
PER_EPOCH = (1, 10, 20, 50, 100)
STEPS = (150, 300, 600, 1200, 2400, 4800)
CLIPS = (0.25, 0.5, 1.0, 2.0, 4.0)
ACTIVATIONS = ("relu", "tanh")
LADDER = 2.0
"""From one learning rate to the next."""
SGD_RATE = 50.0
"""A first guess at SGD's learning rate times C, for one of Adam's."""
MOST = 24
FINALISTS = 3
SEARCH_SEEDS = (0, 1)
"""At ε up to .1, where runs differ much; above, the first of them."""
FINAL_SEEDS = (2, 3, 4)
REPORT_SEEDS = (1_000, 1_001, 1_002, 1_003, 1_004)
MOST_FAILURES = 10
SEARCH_SHARE = 0.6
"""Of the time limit, after which no new setting is tried."""

Bits = NDArray[np.bool_]


@dataclass(frozen=True)
class Setting:
    """`steps` batches, each record in each with probability 1/`per_epoch`; gradients are cut to norm `clip`.

    `inputs`: standardised columns, the public predicates that pcqr's classifiers ask, or both. `rate` is the learning
    rate for the mean gradient of a batch.
    """

    inputs: str = "both"
    per_epoch: int = 20
    steps: int = 600
    clip: float = 1.0
    rate: float = 2e-3
    optimizer: str = "adam"
    activation: str = "relu"

    def __str__(self) -> str:
        return (
            f"{self.inputs}, q 1/{self.per_epoch}, {self.steps} steps, C {self.clip:g}, "
            f"{self.optimizer} {self.rate:.3g}, {self.activation}"
        )

    def neighbours(self) -> Iterator[Setting]:
        """All settings that differ in one choice, those first that matter most."""
        yield replace(self, rate=self.rate * LADDER)
        yield replace(self, rate=self.rate / LADDER)
        for steps in _beside(STEPS, self.steps):
            yield replace(self, steps=steps)
        for per_epoch in _beside(PER_EPOCH, self.per_epoch):
            yield replace(self, per_epoch=per_epoch)
        for inputs in INPUTS:
            yield replace(self, inputs=inputs)
        for activation in ACTIVATIONS:
            yield replace(self, activation=activation)
        for clip in _beside(CLIPS, self.clip):  # Adam's steps are as long whatever C is, those of SGD grow with it
            yield replace(self, clip=clip, rate=self.rate * (self.clip / clip if self.optimizer == "sgd" else 1.0))
        if self.optimizer == "adam":
            yield replace(self, optimizer="sgd", rate=self.rate * SGD_RATE / self.clip)
        else:
            yield replace(self, optimizer="adam", rate=self.rate * self.clip / SGD_RATE)


def _beside(values: Sequence[Any], value: Any) -> list[Any]:
    place = values.index(value)
    return [values[other] for other in (place + 1, place - 1) if 0 <= other < len(values)]


_LITTLE = Setting(steps=150, rate=1.6e-2)
STARTS_FOR_LITTLE: tuple[Setting, ...] = (
    replace(_LITTLE, rate=8e-3, activation="tanh"),
    _LITTLE,
    replace(_LITTLE, inputs="predicates"),
    replace(_LITTLE, inputs="columns"),
    replace(_LITTLE, optimizer="sgd", rate=0.05),
    replace(_LITTLE, per_epoch=50, steps=600, rate=4e-3),
)
STARTS: tuple[Setting, ...] = (
    Setting(rate=4e-3),
    Setting(inputs="columns", per_epoch=50, steps=1200),
    Setting(inputs="predicates", steps=300, rate=4e-3),
    Setting(per_epoch=50, steps=1200, activation="tanh"),
    Setting(steps=300, optimizer="sgd", rate=0.1),
    Setting(per_epoch=50, steps=2400, clip=0.5),
)
LITTLE = 10_000
"""Below this n·ε the search begins with `STARTS_FOR_LITTLE`."""


@dataclass(frozen=True)
class Job:
    """One run: a cell (a table at an ε), a setting and a seed; `keep`: store which test rows were right."""

    path: str
    epsilon: float
    setting: Setting
    noise: float
    seed: int
    keep: bool = False

    @property
    def cell(self) -> tuple[str, float]:
        return Path(self.path).stem, self.epsilon


@dataclass(frozen=True)
class Run:
    """What became of a job: accuracy of the last weights and of their mean; of both, which test rows were right."""

    table: str
    epsilon: float
    setting: Setting
    noise: float
    seed: int
    accuracy: tuple[float, float]
    seconds: float
    right: tuple[str, ...] = ()

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Run:
        tuples = {name: tuple(fields[name]) for name in ("accuracy", "right")}
        return cls(**{**fields, **tuples, "setting": Setting(**fields["setting"])})


def packed(right: Bits) -> str:
    return base64.b64encode(np.packbits(right).tobytes()).decode()


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

    device = "cuda" if torch.cuda.is_available() else "cpu"
    with np.load(path) as stored:
        content = {name: torch.from_numpy(stored[name]).to(device) for name in stored.files}

    def inputs(columns: Any) -> Any:  # one row a column, as they are stored
        made = torch.cat([columns.float(), (columns[content["features"]].float() > content["cuts"][:, None]).float()])
        made = (made - content["centres"][:, None]) * content["scales"][:, None]
        return made.clamp_(-content["cap"], content["cap"]).T.contiguous()

    rows, test_rows = inputs(content["X"]), inputs(content["X_test"])
    return Table(rows, content["y"].float(), test_rows, content["y_test"] > 0, len(content["X"]))


def descend(table: Table, setting: Setting, noise: float, seed: int) -> tuple[Any, Any, Any]:
    """(The network, its last weights, the mean of those after each of the last half of the steps)."""
    _let_opacus_load()
    import torch  # noqa: PLC0415
    from opacus.grad_sample import GradSampleModuleFastGradientClipping  # noqa: PLC0415
    from opacus.optimizers import DPOptimizerFastGradientClipping  # noqa: PLC0415
    from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping  # noqa: PLC0415

    torch.manual_seed(seed)
    rows, count, device = table.rows[:, table.part(setting.inputs)], len(table.labels), table.rows.device
    bend = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh}[setting.activation]
    model = torch.nn.Sequential(
        *(torch.nn.Linear(rows.shape[1], HIDDEN), bend()),
        *(torch.nn.Linear(HIDDEN, HIDDEN), bend()),
        torch.nn.Linear(HIDDEN, 1),
    ).to(device)
    if setting.optimizer == "adam":
        inner = torch.optim.Adam(model.parameters(), lr=setting.rate)
    else:
        inner = torch.optim.SGD(model.parameters(), lr=setting.rate, momentum=MOMENTUM)
    private = GradSampleModuleFastGradientClipping(model, max_grad_norm=setting.clip, use_ghost_clipping=True)
    optimizer = DPOptimizerFastGradientClipping(
        inner, noise_multiplier=noise, max_grad_norm=setting.clip, expected_batch_size=count / setting.per_epoch
    )
    criterion = DPLossFastGradientClipping(private, optimizer, torch.nn.BCEWithLogitsLoss())
    vector = torch.nn.utils.parameters_to_vector
    total = torch.zeros_like(vector(model.parameters()).detach())
    for step in range(setting.steps):
        if setting.per_epoch == 1:
            batch, wanted = rows, table.labels
        else:
            chosen = (torch.rand(count, device=device) < 1.0 / setting.per_epoch).nonzero()[:, 0]
            batch, wanted = rows[chosen], table.labels[chosen]
        optimizer.zero_grad()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch's, that a hook reads gradients where inputs have none
            criterion(private(batch)[:, 0], wanted).backward()
        optimizer.step()
        if 2 * (step + 1) > setting.steps:
            total += vector(model.parameters()).detach()

    private.remove_hooks()
    return model, vector(model.parameters()).detach(), total / math.ceil(setting.steps / 2)


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


def _let_opacus_load() -> None:
    """Where SciPy is missing, put an empty one in its place: Opacus's accountants want it, and are not asked here."""
    if "scipy" in sys.modules or importlib.util.find_spec("scipy") is not None:
        return
    for name in ("", ".optimize", ".stats", ".special", ".integrate", ".fft", ".signal"):
        module = types.ModuleType(f"scipy{name}")
        vars(module)["__getattr__"] = lambda _attribute: None
        vars(module)["__path__"] = []
        sys.modules[f"scipy{name}"] = module


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


Candidate = tuple[Setting, int]
"""A setting with its last weights (0) or with their mean (1)."""


@dataclass
class Cell:
    """The search for one table and ε: what ran, and which job is next."""

    path: str
    epsilon: float
    noises: Mapping[tuple[int, int], float]
    starts: Sequence[Setting]
    runs: dict[tuple[Setting, int], Run] = field(default_factory=dict)
    asked: set[tuple[Setting, int]] = field(default_factory=set)

    @property
    def seeds(self) -> Sequence[int]:
        return SEARCH_SEEDS if self.epsilon <= 0.1 else SEARCH_SEEDS[:1]

    @property
    def tried(self) -> int:
        return sum(seed == SEARCH_SEEDS[0] for _, seed in self.asked)

    def add(self, run: Run) -> None:
        self.runs[run.setting, run.seed] = run
        self.asked.add((run.setting, run.seed))

    def search(self) -> Job | None:
        """The next new setting, if one is left: the first ones, then neighbours of the best."""
        near = (setting for best, _ in self.leaders(1) for setting in best.neighbours())
        for setting in (*self.starts, *near):
            new = (setting, self.seeds[0]) not in self.asked
            if (setting.per_epoch, setting.steps) not in self.noises or (new and self.tried >= MOST):
                continue
            for seed in self.seeds:
                if (setting, seed) not in self.asked:
                    return self._job(setting, seed)
        return None

    def finish(self) -> Job | None:
        """The next run of a finalist, or of the winner once all of those are there."""
        for setting, _ in self.leaders(FINALISTS):
            for seed in FINAL_SEEDS:
                if (setting, seed) not in self.asked:
                    return self._job(setting, seed)
        winner = self.winner()
        for seed in REPORT_SEEDS if winner else ():
            if winner and (winner[0], seed) not in self.asked:
                return self._job(winner[0], seed, keep=True)
        return None

    def leaders(self, number: int) -> list[Candidate]:
        """The best by the runs of the search."""
        done = [setting for setting, seed in self.runs if seed == self.seeds[-1] and (setting, 0) in self.runs]
        tried = [(setting, which) for setting in done for which in (0, 1)]
        return sorted(tried, key=lambda candidate: self.mean(candidate, self.seeds), reverse=True)[:number]

    def winner(self) -> Candidate | None:
        """The best finalist by all its runs, once they are there."""
        finalists = self.leaders(FINALISTS)
        if not finalists or any((setting, seed) not in self.runs for setting, _ in finalists for seed in FINAL_SEEDS):
            return None
        return max(finalists, key=self.mean)

    def report(self) -> list[Run]:
        """The winner's runs on fresh seeds, all of them or none."""
        winner = self.winner()
        runs = [self.runs.get((winner[0], seed)) for seed in REPORT_SEEDS] if winner else []
        return [run for run in runs if run] if all(runs) else []

    def mean(self, candidate: Candidate, seeds: Sequence[int] = ()) -> float:
        """Over `seeds`, or over those of the search and of finalists."""
        setting, which = candidate
        return float(np.mean([self.runs[setting, s].accuracy[which] for s in seeds or (*self.seeds, *FINAL_SEEDS)]))

    def _job(self, setting: Setting, seed: int, keep: bool = False) -> Job:
        self.asked.add((setting, seed))
        noise = self.noises[setting.per_epoch, setting.steps]
        return Job(self.path, self.epsilon, setting, noise, seed, keep)


def next_job(cells: Sequence[Cell], searching: bool) -> Job | None:
    """In the search, of the cell for which the fewest settings were tried; later one cell is finished after another."""
    searches = (cell.search() for cell in sorted(cells, key=lambda cell: cell.tried) if searching)
    finishes = (cell.finish() for cell in cells)
    return next((job for job in itertools.chain(searches, finishes) if job is not None), None)


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
    parser.add_argument("--epsilons", default=".03,.1,.3,1,4")
    parser.add_argument("--settings", type=Path, help="a JSON list of settings to begin with")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds")
    parser.add_argument(
        "--search-share", type=float, default=SEARCH_SHARE, help="of the limit; 0: finish what is on file"
    )
    parser.add_argument("--workers", type=int, default=1, help="processes")
    given = parser.parse_args()
    noises: dict[float, dict[tuple[int, int], float]] = {}
    for epsilon, per_epoch, steps, noise in json.loads((given.inputs[0].parent / "noise.json").read_text()):
        noises.setdefault(epsilon, {})[per_epoch, steps] = noise
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
