# SPDX-License-Identifier: Apache-2.0
"""The kitchen that the cases W01-W10 are stated for."""

import numpy as np
import pytest

from lastgate.planning.approach import OccupancyGridIndex


def kitchen_cells() -> np.ndarray:
    """Returns 40 x 40 cells of 10 cm: a wall all around, and a counter from (1.4, 1.6) to (2.6, 2.2)."""
    cells = np.zeros((40, 40), dtype=np.int8)
    cells[[0, -1], :] = 100
    cells[:, [0, -1]] = 100
    cells[16:22, 14:26] = 100
    return cells


@pytest.fixture
def kitchen() -> OccupancyGridIndex:
    return OccupancyGridIndex(kitchen_cells(), 0.1, (0.0, 0.0), stamp_s=100.0)
