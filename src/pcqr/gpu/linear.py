"""A linear classifier's exact sums and descent on a device, bit for bit those of the CPU.

Proofs: proofs/linear.md, proofs/gpu.md.

Whole numbers throughout. Where a product of matrices is used, in float64, every partial sum is an integer below 2⁵³, so
it is exact in any order. Sums by cell are additions of 64-bit integers, which commute.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

Integers = NDArray[np.int64]

WHOLE_SHARE = 256
_SLOPE_BITS = 15
_FULL_SLOPE = 1 << _SLOPE_BITS
_MARGIN_BITS = 12
_HALF_BITS = 15
"""Weights are taken apart as high·2¹⁵ + low: products with 16-bit vectors are then below 2³¹."""
_MOST_ROWS = 1 << 18
_NUMBERS = 1 << 25
"""Of a block of dense vectors as floats, and of cells as indices."""


def fern_cells(
    X: NDArray[np.float64], columns: Integers, cuts: NDArray[np.float64], depth: int, device: str
) -> torch.Tensor:
    """`[l, i]`: the cell of row i in fern l, as 16 bits; its questions are X[i, `columns`[·]] > `cuts`[·].

    The first `depth` questions are the first fern's, and the first answer is the most significant bit.
    """
    used, places = np.unique(columns, return_inverse=True)
    points = torch.as_tensor(np.ascontiguousarray(X[:, used].T), device=device)
    asked, cut = torch.as_tensor(places, device=device), torch.as_tensor(cuts, device=device)
    found = torch.zeros((len(columns) // depth, X.shape[0]), dtype=torch.int32, device=device)
    for bit in range(depth):
        found <<= 1
        for rows in _shares(X.shape[0], _NUMBERS // found.shape[0] + 1):
            found[:, rows] |= points[asked[bit::depth], rows] > cut[bit::depth, None]
    return found.to(torch.int16)


def predicate_vectors(
    X: NDArray[np.float64], columns: Integers, cuts: NDArray[np.float64], values: tuple[Integers, Integers], unit: int,
    seen: tuple[NDArray[np.int16], int] | None, most: int, device: str,
) -> torch.Tensor:  # fmt: skip
    """`[i, j]`: the 16-bit vectors of rows, cut to ±`most`.

    Entry j is `values`[0][j] where X[i, `columns`[j]] > `cuts`[j], else `values`[1][j]; last comes `unit`. Where `seen`
    is a matrix D and a shift, it is ⌊u·D/2^shift⌋ of these u. All are integers of at most 2¹⁵, and at most 2¹⁶ products
    are added up: below 2⁴⁶.
    """
    used, places = np.unique(columns, return_inverse=True)
    asked, cut = torch.as_tensor(places, device=device), torch.as_tensor(cuts, device=device)
    holding, failing = (torch.as_tensor(each, dtype=torch.float64, device=device) for each in values)
    matrix = None if seen is None else torch.as_tensor(seen[0], device=device).to(torch.float64)
    size = len(columns) + 1 if matrix is None else matrix.shape[1]
    found = torch.empty((X.shape[0], size), dtype=torch.int16, device=device)
    for rows in _shares(X.shape[0], _NUMBERS // (len(columns) + 1) + 1):
        points = torch.as_tensor(np.ascontiguousarray(X[rows][:, used]), device=device)
        entries = torch.where(points[:, asked] > cut, holding, failing)
        constant = torch.full((entries.shape[0], 1), float(unit), dtype=torch.float64, device=device)
        entries = torch.cat([entries, constant], dim=1)
        if matrix is not None and seen is not None:
            entries = torch.floor(entries @ matrix * 2.0 ** -seen[1])
        found[rows] = entries.clamp(-most, most).to(torch.int16)
    return found


class GradientSums:
    """The private records as one integer vector each, for any public weights. Holds only secrets.

    Parameters
    ----------
    vectors : tensor of shape (n, p), int16
        The dense vectors.
    cells : tensor of shape (L, n), int16
        The cells of the ferns, as 16 bits without a sign.
    labels : array of shape (n,), int8
        0, …, C−1.
    share, bound, cell_length : int
        The dense part's share in 256ths, M, and Γ.
    classes : int
        C.
    depth : int
        d: a fern has 2^d cells.
    table : array
        Of slopes for two classes, else of powers.
    """

    def __init__(
        self, vectors: torch.Tensor, cells: torch.Tensor, labels: NDArray[np.int8], *, share: int, bound: int,
        cell_length: int, classes: int, depth: int, table: Integers,
    ) -> None:  # fmt: skip
        self._vectors, self._cells, self.device = vectors, cells, vectors.device
        self._labels = torch.as_tensor(labels, device=self.device).to(torch.int64)
        self._table = torch.as_tensor(np.array(table), device=self.device)
        self._shift, self._cell_length = bound.bit_length() - 1 + _MARGIN_BITS, cell_length
        self.blocks = 1 if classes == 2 else classes
        self.size, self.count, self.cells = vectors.shape[1], cells.shape[0], 1 << depth
        self._lengths = torch.empty(labels.shape[0], dtype=torch.int64, device=self.device)
        for rows in self._rows():
            entries = vectors[rows].to(torch.float64)
            norms = (entries * entries).sum(dim=1).to(torch.int64).clamp(min=1)
            self._lengths[rows] = _root(torch.div(share * bound**2, WHOLE_SHARE * norms, rounding_mode="floor"))

    def total(self, weights: torch.Tensor) -> torch.Tensor:
        """The sum of all records' vectors at these weights: integers of shape (K, p + L·2^d), as are the weights."""
        dense, tables = weights[:, : self.size], weights[:, self.size :].view(self.blocks, self.count, self.cells)
        found = torch.zeros(weights.shape, dtype=torch.int64, device=self.device)
        sums, by_cell = found[:, : self.size], found[:, self.size :].view(self.blocks, self.count, self.cells)
        high = dense >> _HALF_BITS
        factors = torch.cat([high, dense - (high << _HALF_BITS)]).to(torch.float64).T.contiguous()
        for rows in self._rows():
            entries, lengths = self._vectors[rows].to(torch.float64), self._lengths[rows]
            products = (entries @ factors).to(torch.int64).T
            scores = lengths * ((products[: self.blocks] << _HALF_BITS) + products[self.blocks :])
            places = [(ferns, self._places(ferns, rows)) for ferns in self._ferns(rows)]
            for ferns, place in places:
                for k in range(self.blocks):
                    scores[k] += self._cell_length * tables[k, ferns].gather(1, place).sum(dim=0, dtype=torch.int64)
            residuals = self._residuals(scores, self._labels[rows])
            sums += (_share(residuals, lengths).to(torch.float64) @ entries).to(torch.int64)
            weights_of_cells = _share(residuals, self._cell_length)
            for ferns, place in places:
                for k in range(self.blocks):
                    by_cell[k, ferns].scatter_add_(1, place, weights_of_cells[k].expand(place.shape))
        return found

    def _rows(self) -> Iterator[slice]:
        widest = max(1, self.size, self.count // 4)
        yield from _shares(self._labels.shape[0], min(_MOST_ROWS, _NUMBERS // widest + 1))

    def _ferns(self, rows: slice) -> Iterator[slice]:
        yield from _shares(self.count, _NUMBERS // (rows.stop - rows.start) + 1)

    def _places(self, ferns: slice, rows: slice) -> torch.Tensor:
        """The cells as indices: 16 bits have a sign where they are read."""
        found: torch.Tensor = self._cells[ferns, rows].to(torch.int64)
        return found.bitwise_and_(0xFFFF) if self.cells > 1 << 15 else found

    def _residuals(self, scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """r_k of each record, in 2⁻¹⁵."""
        margins = torch.bitwise_right_shift(scores, self._shift)
        if self.blocks == 1:
            signs = 2 * labels - 1
            margin = signs * margins
            gradients = self._table[margin.clamp(0, self._table.shape[0] - 1)]
            return signs * gradients.masked_fill(margin >= self._table.shape[0], 0)
        gaps = margins.amax(dim=0, keepdim=True) - margins
        powers = self._table[gaps.clamp(max=self._table.shape[0] - 1)]
        shares = torch.div(powers * _FULL_SLOPE, powers.sum(dim=0, keepdim=True), rounding_mode="floor")
        said = torch.arange(self.blocks, device=self.device)[:, None] == labels
        residuals = 2 * (said.to(torch.int64) * _FULL_SLOPE - shares)
        squares = (residuals * residuals).sum(dim=0, keepdim=True)
        norms = _root((squares - 1).clamp(min=0)) + 1
        cut = torch.div(residuals.abs() * _FULL_SLOPE, norms, rounding_mode="floor") * residuals.sign()
        return torch.where(squares > _FULL_SLOPE * _FULL_SLOPE, cut, residuals)


class Descent:
    """Noisy gradient descent with momentum: the weights, and what they are on the grid, which alone meets the records.

    Each product, sum and rounding is one operation of IEEE 754 on one number, as on the CPU.
    """

    def __init__(
        self, sums: GradientSums, start: NDArray[np.float64], rate: float, momentum: float, grid: int, largest: float
    ) -> None:
        self._sums, self._rate, self._momentum, self._grid, self._largest = sums, rate, momentum, grid, largest
        self._weights = torch.tensor(start, dtype=torch.float64, device=sums.device)
        self._velocity, self._average = torch.zeros((2, *start.shape), dtype=torch.float64, device=sums.device)
        self._rounded = self._on_grid()

    def total(self) -> torch.Tensor:
        """The sum of all records' vectors at the weights. Private. A GPU is at it while noise is drawn elsewhere."""
        return self._sums.total(self._rounded)

    def advance(self, noisy: torch.Tensor, noise: Integers) -> None:
        """One step along a total, which is overwritten, plus `noise`: one draw for every coordinate, block by block."""
        noisy += torch.as_tensor(noise, device=noisy.device).view(noisy.shape)
        self._velocity *= self._momentum
        self._velocity += noisy.to(torch.float64) * self._rate
        self._weights += self._velocity
        self._weights.clamp_(-self._largest, self._largest)
        self._rounded = self._on_grid()

    def _on_grid(self) -> torch.Tensor:
        return torch.round(self._weights * self._grid).to(torch.int32)

    def keep(self) -> None:
        """Let the weights be one of those whose mean is taken."""
        self._average += self._weights

    def mean(self, kept: int) -> NDArray[np.float64]:
        """The mean of the `kept` weights, of shape (K, p + L·2^d)."""
        found: NDArray[np.float64] = self._average.cpu().numpy() / kept  # CUDA would multiply by the reciprocal
        return found


def _root(square: torch.Tensor) -> torch.Tensor:
    """⌊√square⌋ of integers below 2⁵³: a float to begin with, then whole numbers until the definition holds."""
    root = square.to(torch.float64).sqrt().to(torch.int64)
    root -= (root * root > square).to(torch.int64)
    root += ((root + 1) * (root + 1) <= square).to(torch.int64)
    return root


def _share(residuals: torch.Tensor, lengths: torch.Tensor | int) -> torch.Tensor:
    """residual·length/2¹⁵, towards zero."""
    found: torch.Tensor = ((residuals.abs() * lengths) >> _SLOPE_BITS) * residuals.sign()
    return found


def _shares(total: int, most: int) -> Iterator[slice]:
    for start in range(0, total, most):
        yield slice(start, min(start + most, total))
