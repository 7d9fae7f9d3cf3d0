"""The peers by DP-SGD, trained on a machine with an accelerator. Needs NumPy, PyTorch and Opacus alone.

    python -m benchmarks.dp_sgd_training FOLDER OUT.json [--workers N]

Reads what `benchmarks.dp_sgd prepare` wrote into FOLDER; `benchmarks.dp_sgd collect` reads what it makes. OUT.json has
the cells that are finished, and a run that finds it goes on with the others.

Opacus's own: the norms of the gradients of single records and their clipping ("ghost": two passes backward, no gradient
of a single record is ever stored), the noise, and the step around PyTorch's Adam or SGD. Ours: a batch is drawn on the
device, each record with probability q by itself, so that rows stay there. This is Poisson sampling, as Opacus's data
loader does it on the host.
"""

from __future__ import annotations

import argparse
import base64
import importlib.util
import json
import math
import multiprocessing
import sys
import time
import types
import warnings
import zlib
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

HIDDEN, MOMENTUM = 128, 0.9
FIRST_SEED = 1_000
"""Of the reported runs: no setting was chosen by a run with a seed from here on."""

Bits = NDArray[np.bool_]
Counts = NDArray[np.uint8]


@dataclass(frozen=True)
class Setting:
    """`steps` batches, each record in each with probability 1/`per_epoch`. Gradients are cut to norm `clip`.

    `inputs`: unit vectors of "few" or "many" predicates for a logistic regression; "columns" and "predicates" in
    standard units, or "both", for a network, which has an `activation`. `rate` is the learning rate for the mean
    gradient of a batch. `averaged`: the mean of the weights after each of the last half of the steps, or else the last
    weights.
    """

    inputs: str
    per_epoch: int
    steps: int
    clip: float
    rate: float
    averaged: bool = False
    activation: str | None = None


@dataclass(frozen=True)
class Table:
    """Tensors on the device: columns, one row a column, of the records and of the test rows, and their labels."""

    content: Mapping[str, Any]

    def rows(self, part: str, inputs: str) -> Any:
        """Return the inputs that the classifiers see: of the records (`part` X) or of the test rows (X_test)."""
        import torch  # noqa: PLC0415

        columns, content = self.content[part].float(), self.content

        def predicates(kind: str) -> Any:
            cuts, holding, failing = (content[f"{kind} {name}"][:, None] for name in ("cuts", "holding", "failing"))
            return torch.where(columns[content[f"{kind} features"]] > cuts, holding, failing)

        if inputs in ("few", "many"):
            entries = torch.cat([predicates(inputs), content["unit"].expand(1, columns.shape[1])])
            return (entries / entries.norm(dim=0)).T.contiguous()
        centred = (columns - content["centres"][:, None]) * content["scales"][:, None]
        parts = {"columns": centred, "predicates": predicates("standard")}
        chosen = parts.values() if inputs == "both" else [parts[inputs]]
        return torch.cat(list(chosen)).clamp_(-content["cap"], content["cap"]).T.contiguous()


@cache
def load(path: Path) -> Table:
    import torch  # noqa: PLC0415

    device = "cuda" if torch.cuda.is_available() else "cpu"
    with np.load(path) as stored:
        return Table({name: torch.from_numpy(stored[name]).to(device) for name in stored.files})


def train(table: Table, setting: Setting, noise: float, seed: int) -> Bits:
    """Train once, with noise of `noise`·C in each step. Return which test rows are labelled rightly."""
    import torch  # noqa: PLC0415

    model, (last, mean) = dp_gradient_descent(table, setting, noise, seed)
    torch.nn.utils.vector_to_parameters(mean if setting.averaged else last, model.parameters())
    with torch.no_grad():
        scores = model(table.rows("X_test", setting.inputs))[:, 0]
    bits: Bits = ((scores > 0) == (table.content["y_test"] > 0)).cpu().numpy()
    return bits


def dp_gradient_descent(table: Table, setting: Setting, noise: float, seed: int) -> tuple[Any, tuple[Any, Any]]:
    """Return the model, and (its last weights, the mean of those after each of the last half of the steps)."""
    _let_opacus_load()
    import torch  # noqa: PLC0415
    from opacus.grad_sample import GradSampleModuleFastGradientClipping  # noqa: PLC0415
    from opacus.optimizers import DPOptimizerFastGradientClipping  # noqa: PLC0415
    from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping  # noqa: PLC0415

    torch.manual_seed(seed)
    rows, labels = table.rows("X", setting.inputs), table.content["y"].float()
    model, inner = _started(setting, rows)
    count, vector, clip = len(labels), torch.nn.utils.parameters_to_vector, setting.clip
    private = GradSampleModuleFastGradientClipping(model, max_grad_norm=clip, use_ghost_clipping=True)
    optimizer = DPOptimizerFastGradientClipping(
        inner, noise_multiplier=noise, max_grad_norm=clip, expected_batch_size=count / setting.per_epoch
    )
    criterion = DPLossFastGradientClipping(private, optimizer, torch.nn.BCEWithLogitsLoss())
    total = torch.zeros_like(vector(model.parameters()).detach())
    for step in range(setting.steps):
        batch, wanted = rows, labels
        if setting.per_epoch > 1:
            chosen = (torch.rand(count, device=labels.device) < 1.0 / setting.per_epoch).nonzero()[:, 0]
            batch, wanted = rows[chosen], labels[chosen]
        optimizer.zero_grad()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch's, that a hook reads gradients where inputs have none
            criterion(private(batch)[:, 0], wanted).backward()
        optimizer.step()
        if 2 * (step + 1) > setting.steps:
            total += vector(model.parameters()).detach()
    private.remove_hooks()
    return model, (vector(model.parameters()).detach(), total / math.ceil(setting.steps / 2))


def _started(setting: Setting, rows: Any) -> tuple[Any, Any]:
    """A model before its first step, and PyTorch's optimizer of it."""
    import torch  # noqa: PLC0415

    if setting.activation is None:
        model = torch.nn.Linear(rows.shape[1], 1, bias=False).to(rows.device)  # the vectors have a constant
        torch.nn.init.zeros_(model.weight)
        return model, torch.optim.SGD(model.parameters(), lr=setting.rate, momentum=MOMENTUM)
    bend = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh}[setting.activation]
    network = torch.nn.Sequential(
        *(torch.nn.Linear(rows.shape[1], HIDDEN), bend()),
        *(torch.nn.Linear(HIDDEN, HIDDEN), bend()),
        torch.nn.Linear(HIDDEN, 1),
    ).to(rows.device)
    return network, torch.optim.Adam(network.parameters(), lr=setting.rate)


def _let_opacus_load() -> None:
    """Where SciPy is missing, put an empty one in its place: Opacus's accountants want it, and are not asked here."""
    if "scipy" in sys.modules or importlib.util.find_spec("scipy") is not None:
        return
    for name in ("", ".optimize", ".stats", ".special", ".integrate", ".fft", ".signal"):
        module = types.ModuleType(f"scipy{name}")
        vars(module)["__getattr__"] = lambda _attribute: None
        vars(module)["__path__"] = []
        sys.modules[f"scipy{name}"] = module


@dataclass(frozen=True)
class Job:
    """The runs of one peer on one table at one ε. `noise` is the standard deviation of the noise in units of C."""

    peer: str
    table: str
    epsilon: float
    setting: Setting
    noise: float
    runs: int

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Job:
        return cls(**{**fields, "setting": Setting(**fields["setting"])})


def measure(folder: Path, job: Job) -> dict[str, Any]:
    """Return what `benchmarks.dp_sgd` stores; `right`: for each test row, in how many of the runs it was right."""
    import torch  # noqa: PLC0415

    torch.set_num_threads(1)
    table, start = load(folder / f"{job.table}.npz"), time.perf_counter()
    runs = [train(table, job.setting, job.noise, FIRST_SEED + run) for run in range(job.runs)]
    return {
        **asdict(job),
        "accuracy": [float(right.mean()) for right in runs],
        "fit_seconds": round((time.perf_counter() - start) / job.runs, 3),
        "right": packed(np.sum(runs, axis=0, dtype=np.uint8)),
    }


def packed(counts: Counts) -> str:
    return base64.b64encode(zlib.compress(counts.tobytes(), 9)).decode()


def unpacked(text: str) -> Counts:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.uint8)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--workers", type=int, default=1, help="processes")
    given = parser.parse_args()
    jobs = [Job.read(fields) for fields in json.loads((given.folder / "jobs.json").read_text(encoding="utf-8"))]
    made = json.loads(given.out.read_text(encoding="utf-8")) if given.out.exists() else []
    done = {(case["peer"], case["table"], case["epsilon"]) for case in made}
    with ProcessPoolExecutor(given.workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        waiting = [
            pool.submit(measure, given.folder, job) for job in jobs if (job.peer, job.table, job.epsilon) not in done
        ]
        for case in as_completed(waiting):
            made.append(case.result())
            fresh = given.out.with_suffix(".new")
            fresh.write_text(json.dumps(made), encoding="utf-8")
            fresh.replace(given.out)
            cell, mean = made[-1], 100.0 * np.mean(made[-1]["accuracy"])
            print(f"{cell['peer']}  {cell['table']} {cell['epsilon']:g}  {mean:.2f}", flush=True)


if __name__ == "__main__":
    main()
