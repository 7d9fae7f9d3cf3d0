"""One run of DP-SGD, on an accelerator where there is one. This file needs NumPy, PyTorch and Opacus alone.

Opacus's own: the norms of the gradients of single records and their clipping ("ghost": two passes backward, no gradient
of a single record is ever stored), the noise, and the step around PyTorch's Adam or SGD. The noise multipliers come
from its accountants, too (`benchmarks.peers`). Ours: a batch is drawn on the device, each record with probability q by
itself, so that rows stay there; this is Poisson sampling, as Opacus's data loader does it on the host.
"""

from __future__ import annotations

import importlib.util
import math
import sys
import types
import warnings
from typing import Any


def device() -> str:
    import torch  # noqa: PLC0415

    return "cuda" if torch.cuda.is_available() else "cpu"


def descend(
    model: Any, inner: Any, rows: Any, labels: Any, *, per_epoch: int, steps: int, clip: float, noise: float
) -> tuple[Any, Any]:
    """(The last weights of `model`, the mean of those after each of the last half of the steps), by logistic loss.

    `inner` is PyTorch's optimizer of the model. Each record is in each batch with probability 1/`per_epoch`, gradients
    are cut to norm `clip`, and `noise` is in units of it.
    """
    _let_opacus_load()
    import torch  # noqa: PLC0415
    from opacus.grad_sample import GradSampleModuleFastGradientClipping  # noqa: PLC0415
    from opacus.optimizers import DPOptimizerFastGradientClipping  # noqa: PLC0415
    from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping  # noqa: PLC0415

    count, vector = len(labels), torch.nn.utils.parameters_to_vector
    private = GradSampleModuleFastGradientClipping(model, max_grad_norm=clip, use_ghost_clipping=True)
    optimizer = DPOptimizerFastGradientClipping(
        inner, noise_multiplier=noise, max_grad_norm=clip, expected_batch_size=count / per_epoch
    )
    criterion = DPLossFastGradientClipping(private, optimizer, torch.nn.BCEWithLogitsLoss())
    total = torch.zeros_like(vector(model.parameters()).detach())
    for step in range(steps):
        if per_epoch == 1:
            batch, wanted = rows, labels
        else:
            chosen = (torch.rand(count, device=labels.device) < 1.0 / per_epoch).nonzero()[:, 0]
            batch, wanted = rows[chosen], labels[chosen]
        optimizer.zero_grad()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch's, that a hook reads gradients where inputs have none
            criterion(private(batch)[:, 0], wanted).backward()
        optimizer.step()
        if 2 * (step + 1) > steps:
            total += vector(model.parameters()).detach()
    private.remove_hooks()
    return vector(model.parameters()).detach(), total / math.ceil(steps / 2)


def _let_opacus_load() -> None:
    """Where SciPy is missing, put an empty one in its place: Opacus's accountants want it, and are not asked here."""
    if "scipy" in sys.modules or importlib.util.find_spec("scipy") is not None:
        return
    for name in ("", ".optimize", ".stats", ".special", ".integrate", ".fft", ".signal"):
        module = types.ModuleType(f"scipy{name}")
        vars(module)["__getattr__"] = lambda _attribute: None
        vars(module)["__path__"] = []
        sys.modules[f"scipy{name}"] = module
