"""The heavy sums on a GPU: the same integers, and the same floats, as on the CPU (proofs/gpu.md).

The modules beside this one import numpy and torch alone, and take counts, vectors and noise as arguments: they run
where nothing else can be installed. `pip install pcqr[gpu]`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

DeviceChoice = Literal["auto", "cpu", "cuda"]


@dataclass(frozen=True)
class Found:
    """A CUDA device by the name that torch has for it, or None, and then in words why there is none."""

    name: str | None
    why_not: str = ""


def find_gpu() -> Found:
    """The CUDA device that torch would use, if torch and a device are there."""
    try:
        import torch  # noqa: PLC0415
    except ImportError:
        return Found(None, "torch is not installed (pip install pcqr[gpu])")
    if not torch.cuda.is_available():
        return Found(None, "torch finds no CUDA device")
    return Found("cuda")
