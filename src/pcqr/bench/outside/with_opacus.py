"""Opacus: logistic regression and a network by DP-SGD, with its clipping, its noise and its step.

Replacing a record moves a clipped sum by 2C, twice as much as adding or removing one. Logistic regression sees all
records in every step, T Gaussian releases that compose exactly: the noise is 2C·√T/μ. A network sees each record with
probability q in a step; its noise is handed in, found by privacy loss distributions for replacing one record
(`pcqr.bench.inside`).

Settings are functions of n·ε and of the noise, the same for all tables. Nothing is tuned on private records here, but
they are what did well on the test rows of Adult and bank: in the favour of DP-SGD.
"""

from __future__ import annotations

import math
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from opacus.grad_sample import GradSampleModuleFastGradientClipping
from opacus.optimizers import DPOptimizerFastGradientClipping
from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping

from pcqr.bench.outside.task import Labels, Task, carry_out, largest_mu, standard_vectors, unit_vectors

STEPS, CLIP, MOMENTUM = 120, 0.5, 0.9
LARGEST_RATE, NOISE_LEFT = 36.0, 1.0
"""Of logistic regression: the learning rate leaves about so much noise in each weight, unless it is too large."""
HIDDEN = 128


def run(task: Task) -> Labels:
    torch.manual_seed(task.seed)
    return network(task) if task.method == "dp-sgd-network" else logistic(task)


def logistic(task: Task) -> Labels:
    vectors = unit_vectors(task)
    rows = torch.tensor(vectors(task.X), dtype=torch.float32)
    model = torch.nn.Linear(rows.shape[1], _outputs(task), bias=False)  # the vectors have a constant
    torch.nn.init.zeros_(model.weight)
    noise = 2.0 * math.sqrt(STEPS) / largest_mu(task.epsilon, task.delta)
    rate = min(LARGEST_RATE, NOISE_LEFT * (1.0 - MOMENTUM) * task.records / (noise * CLIP * math.sqrt(STEPS)))
    inner = torch.optim.SGD(model.parameters(), lr=rate, momentum=MOMENTUM)
    gradient_descent(model, inner, rows, task, per_epoch=1, steps=STEPS, clip=CLIP, noise=noise)
    task.fitted()
    return labels(model, torch.tensor(vectors(task.X_test), dtype=torch.float32))


def network(task: Task) -> Labels:
    vectors = standard_vectors(task)
    rows = torch.tensor(vectors(task.X), dtype=torch.float32)
    given = task.settings
    model = torch.nn.Sequential(
        *(torch.nn.Linear(rows.shape[1], HIDDEN), torch.nn.Tanh()),
        *(torch.nn.Linear(HIDDEN, HIDDEN), torch.nn.Tanh()),
        torch.nn.Linear(HIDDEN, _outputs(task)),
    )
    inner = torch.optim.Adam(model.parameters(), lr=given["rate"])
    how = {name: given[name] for name in ("per_epoch", "steps", "clip", "noise")}
    gradient_descent(model, inner, rows, task, **how)
    task.fitted()
    return labels(model, torch.tensor(vectors(task.X_test), dtype=torch.float32))


def _outputs(task: Task) -> int:
    return 1 if task.classes == 2 else task.classes


def labels(model: Any, rows: Any) -> Labels:
    with torch.no_grad():
        scores = model(rows)
    found = scores[:, 0] > 0 if scores.shape[1] == 1 else scores.argmax(dim=1)
    return np.asarray(found.numpy(), dtype=np.int64)


def gradient_descent(
    model: Any, inner: Any, rows: Any, task: Task, *, per_epoch: int, steps: int, clip: float, noise: float
) -> None:
    """Each record is in each batch with probability 1/`per_epoch`; gradients are cut to norm `clip`, and `noise` is in
    units of it.
    """
    binary = _outputs(task) == 1
    truth = torch.tensor(task.y, dtype=torch.float32 if binary else torch.int64)
    private = GradSampleModuleFastGradientClipping(model, max_grad_norm=clip, use_ghost_clipping=True)
    optimizer = DPOptimizerFastGradientClipping(
        inner, noise_multiplier=noise, max_grad_norm=clip, expected_batch_size=task.records / per_epoch
    )
    loss = torch.nn.BCEWithLogitsLoss() if binary else torch.nn.CrossEntropyLoss()
    criterion = DPLossFastGradientClipping(private, optimizer, loss)
    for _ in range(steps):
        batch, wanted = rows, truth
        if per_epoch > 1:
            chosen = (torch.rand(task.records) < 1.0 / per_epoch).nonzero()[:, 0]
            batch, wanted = rows[chosen], truth[chosen]
        optimizer.zero_grad()
        scores = private(batch)
        criterion(scores[:, 0] if binary else scores, wanted).backward()
        optimizer.step()
    private.remove_hooks()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    sys.exit(carry_out(Path(sys.argv[1]), run))
