# SPDX-License-Identifier: Apache-2.0
"""Quantiles of more numbers than fit into memory."""

import numpy as np

from lastgate.contracts.arrays import Float64

# Two hundred bins per decade: a quantile is told at most 1.2 % too large, and never too small.
_LOWEST, _DECADES, _PER_DECADE = 1.0e-7, 11, 200
_EDGES = _LOWEST * 10.0 ** (np.arange(_DECADES * _PER_DECADE + 1) / _PER_DECADE)


class QuantileCounter:
    """Counts sizes, column by column.

    Args:
        columns: How many numbers are counted side by side.
    """

    def __init__(self, columns: int) -> None:
        self._counts = np.zeros((columns, len(_EDGES) + 1), dtype=np.int64)
        self.largest = np.zeros(columns)
        self.total = 0

    def add(self, values: Float64) -> None:
        """Counts rows of numbers, (N, columns), by their size; rows with NaN or infinity are left out."""
        sizes = np.abs(values)
        sizes = sizes[np.isfinite(sizes).all(axis=1)]
        if not len(sizes):
            return
        self.total += len(sizes)
        self.largest = np.maximum(self.largest, sizes.max(axis=0))
        for column, bins in enumerate(np.searchsorted(_EDGES, sizes, side="left").T):
            self._counts[column] += np.bincount(bins, minlength=len(_EDGES) + 1)

    def quantile(self, share: float) -> Float64:
        """Returns, for each column, a size that at least this share of the numbers does not exceed."""
        needed = int(np.ceil(share * self.total))
        if needed == 0:
            return np.zeros(len(self._counts))
        bins = np.array([int(np.searchsorted(np.cumsum(row), needed)) for row in self._counts])
        return np.minimum(np.append(_EDGES, np.inf)[np.minimum(bins, len(_EDGES))], self.largest)
