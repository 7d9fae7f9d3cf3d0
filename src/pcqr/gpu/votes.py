"""The votes of large ensembles as products of matrices: the same integers as on the CPU (proofs/gpu.md)."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_BLOCK = 1 << 11
"""Leaves that one tree out of many has its vote in: counts of at most so many are exact in 16 bits."""
_NUMBERS = 1 << 26
_UNIT_ROUNDOFF = 2.0**-53
_LEAST = 2.0**-1070
"""More than a product loses below the normal range."""


def tree_votes(
    X: Floats, columns: NDArray[np.int32], cuts: Floats, leaves: NDArray[np.int8], labels: int, device: str
) -> Integers:
    """For each row of `X` the votes of k full trees of depth D, in heap order, for each of the labels.

    A product counts how many of the answers on the way to a leaf are as the leaf wants them: D of them at one leaf of
    each tree. Another one counts the leaves that are reached, label by label.
    """
    kind = torch.float16 if torch.device(device).type == "cuda" else torch.float32
    size, ends = leaves.shape
    depth = ends.bit_length() - 1
    asked, which = np.unique(np.stack([columns.ravel().astype(np.float64), cuts.ravel()]), axis=1, return_inverse=True)
    which = which.reshape(columns.shape)
    points = torch.as_tensor(np.ascontiguousarray(X), device=device)
    answers = points[:, torch.as_tensor(asked[0].astype(np.int64), device=device)] > torch.as_tensor(
        asked[1], device=device
    )
    # Each question and its negation: a right answer on the way to a leaf counts one.
    signed = torch.cat([answers.to(kind), 1 - answers.to(kind)], dim=1)
    counts = torch.zeros((X.shape[0], labels), dtype=torch.int64, device=device)
    for start in range(0, size, max(1, _BLOCK // ends)):
        trees = slice(start, start + max(1, _BLOCK // ends))
        wanted = _wanted(which[trees], depth, asked.shape[1])
        said = np.equal.outer(leaves[trees].ravel(), np.arange(labels))
        on_device = torch.as_tensor(wanted, device=device).to(kind), torch.as_tensor(said, device=device).to(kind)
        for low in range(0, X.shape[0], _NUMBERS // _BLOCK):
            rows = slice(low, low + _NUMBERS // _BLOCK)
            is_reached = signed[rows] @ on_device[0] == depth
            counts[rows] += (is_reached.to(kind) @ on_device[1]).to(torch.int64)
    found: Integers = counts.cpu().numpy()
    return found


def _wanted(which: Integers, depth: int, questions: int) -> NDArray[np.int8]:
    """`[question or its negation, leaf]`: how often the way to the leaf asks for it."""
    size, ends = which.shape[0], 1 << depth
    wanted = np.zeros((2 * questions, size * ends), dtype=np.int8)
    leaf = np.arange(size * ends)
    tree, end = np.divmod(leaf, ends)
    place = np.zeros_like(leaf)
    for level in range(depth):
        holds = end >> (depth - 1 - level) & 1
        np.add.at(wanted, (which[tree, place] + np.where(holds, 0, questions), leaf), 1)
        place = 2 * place + 1 + holds
    return wanted


def linear_votes(X: Floats, weights: Floats, biases: Floats, labels: int, device: str) -> Integers:
    """For each row of `X` the votes of k linear classifiers: `weights` (k, R, p), `biases` (k, R).

    A product of matrices has each score up to its rounding, and another one a bound on that. Where the bound leaves it
    open who is ahead, and there alone, scores are summed up anew in the order of the columns, as on the CPU.
    """
    size, rows, features = weights.shape
    points = torch.as_tensor(np.ascontiguousarray(X), device=device)
    flat = torch.as_tensor(np.ascontiguousarray(weights.reshape(-1, features).T), device=device)
    bias = torch.as_tensor(biases.ravel(), device=device)
    counts = torch.zeros((X.shape[0], labels), dtype=torch.int64, device=device)
    slack, least = 4.0 * (features + 4) * _UNIT_ROUNDOFF, 4.0 * (features + 4) * _LEAST
    block = max(1, _NUMBERS // flat.shape[1])
    for low in range(0, X.shape[0], block):
        some = points[low : low + block]
        scores = (some @ flat + bias).view(-1, size, rows)
        bounds = ((some.abs() @ flat.abs() + bias.abs()) * slack + least).view(-1, size, rows).amax(dim=2)
        said, lead = _said(scores)
        i, teacher = torch.nonzero(~(lead > 2.0 * bounds), as_tuple=True)
        said[i, teacher] = _said(_in_order(some, flat, bias, i, teacher, rows))[0]
        for label in range(labels):
            counts[low : low + block, label] = (said == label).sum(dim=1)
    found: Integers = counts.cpu().numpy()
    return found


def _said(scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The first of the largest scores, and how far it is ahead; of one score, 1 where it is above 0."""
    if scores.shape[-1] == 1:
        return (scores[..., 0] > 0.0).to(torch.int64), scores[..., 0].abs()
    top = scores.topk(2, dim=-1).values
    # The first of the largest as the CPU finds it: only a larger one takes its place, so nothing beats a first NaN.
    said = torch.zeros(scores.shape[:-1], dtype=torch.int64, device=scores.device)
    best = scores[..., 0].clone()
    for label in range(1, scores.shape[-1]):
        is_larger = scores[..., label] > best
        said[is_larger], best = label, torch.where(is_larger, scores[..., label], best)
    return said, top[..., 0] - top[..., 1]


def _in_order(
    points: torch.Tensor, flat: torch.Tensor, bias: torch.Tensor, i: torch.Tensor, teacher: torch.Tensor, rows: int
) -> torch.Tensor:
    """Scores of some rows by some teachers, column after column; columns in which a row is 0 are passed over."""
    places = teacher[:, None] * rows + torch.arange(rows, device=points.device)
    scores = bias[places]
    for j in range(points.shape[1]):
        value = points[i, j][:, None]
        scores = torch.where(value != 0.0, scores + value * flat[j][places], scores)
    return scores
