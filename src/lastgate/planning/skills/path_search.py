# SPDX-License-Identifier: Apache-2.0
"""A path between configurations by RRT-Connect, and its shortcuts.

Edges are sampled in small steps, many configurations at once. That is a search, not a proof: a caller with the path
has its segments shown by the gate (`planner.py`).

J. J. Kuffner, S. M. LaValle: RRT-Connect, an efficient approach to single-query path planning. ICRA 2000.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts.arrays import Float64

AreClear = Callable[[Float64], NDArray[np.bool_]]

# How far a tree grows towards a random configuration: farther, and most edges of a cluttered table are blocked.
EXTENSION = 0.6
# Both trees together; a table with a dozen obstacles takes tens.
EXTENSIONS_MAX = 4000
SHORTCUTS = 150


@dataclass(slots=True)
class _Tree:
    nodes: Float64
    parents: list[int]
    count: int

    @classmethod
    def of(cls, roots: Sequence[Float64]) -> "_Tree":
        nodes = np.empty((max(64, 2 * len(roots)), len(roots[0])))
        nodes[: len(roots)] = roots
        return cls(nodes, [-1] * len(roots), len(roots))

    def add(self, node: Float64, parent: int) -> int:
        if self.count == len(self.nodes):
            self.nodes = np.vstack([self.nodes, np.empty_like(self.nodes)])
        self.nodes[self.count] = node
        self.parents.append(parent)
        self.count += 1
        return self.count - 1

    def nearest(self, target: Float64) -> int:
        return int(((self.nodes[: self.count] - target) ** 2).sum(axis=1).argmin())

    def way_to_root(self, index: int) -> list[Float64]:
        way = []
        while index >= 0:
            way.append(self.nodes[index].copy())
            index = self.parents[index]
        return way


class PathSearch:
    """Searches in the box of joint limits.

    Args:
        are_clear: Tells which of (N, joints) configurations may be taken.
        lower, upper: The box; a joint without limits is searched a turn around where it starts.
        resolution: How far apart the samples along an edge are, in the joint that moves most.
    """

    def __init__(
        self,
        are_clear: AreClear,
        *,
        lower: Float64,
        upper: Float64,
        resolution: float,
        rng: np.random.Generator,
    ) -> None:
        self._are_clear, self._resolution, self._rng = are_clear, resolution, rng
        self._lower, self._upper = lower, upper

    def path(self, start: Float64, goals: Sequence[Float64]) -> list[Float64] | None:
        """Returns the corners of a path from `start` to one of the goals, both included, or None if none was found."""
        for goal in goals:
            if self._reach(start, goal)[1]:
                return [start, goal]
        lower = np.where(np.isfinite(self._lower), self._lower, start - np.pi)
        upper = np.where(np.isfinite(self._upper), self._upper, start + np.pi)
        here, there = _Tree.of([start]), _Tree.of(goals)
        for turn in range(EXTENSIONS_MAX):
            wanted = self._rng.uniform(lower, upper)
            new = self._grow(here, wanted)
            if new is not None:
                met = self._connect(there, here.nodes[new])
                if met is not None:
                    ways = here.way_to_root(new)[::-1], there.way_to_root(met)[1:]
                    path = [*ways[0], *ways[1]]
                    return path if turn % 2 == 0 else path[::-1]
            here, there = there, here
        return None

    def shortened(self, path: list[Float64]) -> list[Float64]:
        """Returns the path with parts replaced by straight lines, wherever those are clear."""
        path = list(path)
        for _ in range(SHORTCUTS):
            if len(path) < 3:
                break
            corners = np.array(path)
            lengths = np.abs(np.diff(corners, axis=0)).max(axis=1)
            ends = np.concatenate([[0.0], np.cumsum(lengths)])
            first, second = np.sort(self._rng.uniform(0.0, ends[-1], 2))
            i, j = (int(np.searchsorted(ends, at, side="right")) - 1 for at in (first, second))
            i, j = min(i, len(lengths) - 1), min(j, len(lengths) - 1)
            if i == j:
                continue
            a = corners[i] + (first - ends[i]) / lengths[i] * (corners[i + 1] - corners[i])
            b = corners[j] + (second - ends[j]) / lengths[j] * (corners[j + 1] - corners[j])
            if self._reach(a, b)[1]:
                path = [*path[: i + 1], a, b, *path[j + 1 :]]
        return self._without_idle_corners(path)

    def _without_idle_corners(self, path: list[Float64]) -> list[Float64]:
        """Leaves out every corner whose neighbours see each other; begins with the farthest."""
        kept, index = [path[0]], 0
        while index < len(path) - 1:
            farther = range(len(path) - 1, index + 1, -1)
            index = next((far for far in farther if self._reach(path[index], path[far])[1]), index + 1)
            kept.append(path[index])
        return kept

    def _grow(self, tree: _Tree, wanted: Float64) -> int | None:
        parent = tree.nearest(wanted)
        origin = tree.nodes[parent]
        away = float(np.abs(wanted - origin).max())
        if away > EXTENSION:
            wanted = origin + (wanted - origin) * (EXTENSION / away)
        end, arrived = self._reach(origin, wanted)
        if end is None:
            return None
        return tree.add(wanted if arrived else end, parent)

    def _connect(self, tree: _Tree, wanted: Float64) -> int | None:
        parent = tree.nearest(wanted)
        end, arrived = self._reach(tree.nodes[parent], wanted)
        if end is None:
            return None
        added = tree.add(wanted if arrived else end, parent)
        return added if arrived else None

    def _reach(self, a: Float64, b: Float64) -> tuple[Float64 | None, bool]:
        """Returns the last clear configuration from a to b, None if that is a itself, and whether it is b."""
        count = max(1, int(np.ceil(np.abs(b - a).max() / self._resolution)))
        samples = a + (np.arange(1, count + 1) / count)[:, np.newaxis] * (b - a)
        clear = self._are_clear(samples)
        if clear.all():
            return b, True
        first_blocked = int(np.argmin(clear))
        return (samples[first_blocked - 1], False) if first_blocked else (None, False)
