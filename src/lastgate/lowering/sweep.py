# SPDX-License-Identifier: Apache-2.0
"""Volumes and meshes of all links over one set of configurations, pair by pair."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lastgate.lowering.distances import segments_to_segments
from lastgate.lowering.kinematics import KinematicTree
from lastgate.lowering.mesh_contact import LinkMeshes
from lastgate.lowering.volumes import Volume

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Index = NDArray[np.int64]
Pair = tuple[str, str]

# The pinned sweep: every machine sees the same configurations.
SWEEP_SEED = 20260610
SWEEP_SAMPLES = 2000
# Distances are evaluated in blocks of about this many volume pairs, to stay inside the cache.
_BLOCK = 200_000


class Sweep:
    """Remembers where links are in each sample, and which samples have mesh contact for which pair."""

    def __init__(self, tree: KinematicTree, meshes: LinkMeshes, samples: Array) -> None:
        self.tree = tree
        self.meshes = meshes
        self.count = len(samples)
        self.placements = tree.placements(samples)
        self._contact: dict[Pair, NDArray[np.int8]] = {}

    def overlaps(
        self, pair: Pair, volumes_a: Sequence[Volume], volumes_b: Sequence[Volume], among: Index | None = None
    ) -> tuple[Index, Array]:
        """Returns the samples in which volumes of the pair touch, and the (a, b) clearances in each."""
        samples = np.arange(self.count) if among is None else among
        samples = samples[self._near(pair, volumes_a, volumes_b, samples)]
        block = max(1, _BLOCK // (len(volumes_a) * len(volumes_b)))
        found_samples, found = [np.empty(0, np.int64)], [np.empty((0, len(volumes_a), len(volumes_b)))]
        for first in range(0, len(samples), block):
            chosen = samples[first : first + block]
            clearance = self._clearances(pair, volumes_a, volumes_b, chosen)
            touching = (clearance <= 0.0).any(axis=(1, 2))
            found_samples.append(chosen[touching])
            found.append(clearance[touching])
        return np.concatenate(found_samples), np.concatenate(found)

    def _clearances(
        self, pair: Pair, volumes_a: Sequence[Volume], volumes_b: Sequence[Volume], chosen: Index
    ) -> Array:
        start_a, end_a, radius_a = _cores(volumes_a)
        start_b, end_b, radius_b = _cores(volumes_b)
        pose_a, pose_b = self.placements[pair[0]][chosen], self.placements[pair[1]][chosen]
        distance = segments_to_segments(
            _moved(pose_a, start_a)[:, :, None],
            _moved(pose_a, end_a)[:, :, None],
            _moved(pose_b, start_b)[:, None],
            _moved(pose_b, end_b)[:, None],
        )
        return distance - radius_a[:, None] - radius_b[None, :]

    def _near(
        self, pair: Pair, volumes_a: Sequence[Volume], volumes_b: Sequence[Volume], samples: Index
    ) -> Mask:
        centre_a, reach_a = _ball(volumes_a)
        centre_b, reach_b = _ball(volumes_b)
        at_a = _moved(self.placements[pair[0]][samples], centre_a[None])[:, 0]
        at_b = _moved(self.placements[pair[1]][samples], centre_b[None])[:, 0]
        return np.linalg.norm(at_a - at_b, axis=1) <= reach_a + reach_b

    def mesh_contact(self, pair: Pair, samples: Index) -> Mask:
        """Returns in which of the samples the meshes of the pair meet; each is asked once."""
        known = self._contact.setdefault(pair, np.full(self.count, -1, np.int8))
        for sample in samples[known[samples] < 0]:
            known[sample] = self.meshes.touch(
                pair[0], self.placements[pair[0]][sample], pair[1], self.placements[pair[1]][sample]
            )
        return known[samples] == 1


def _cores(volumes: Sequence[Volume]) -> tuple[Array, Array, Array]:
    ends = [volume.ends for volume in volumes]
    return (
        np.array([start for start, _ in ends]),
        np.array([end for _, end in ends]),
        np.array([volume.radius_m for volume in volumes]),
    )


def _ball(volumes: Sequence[Volume]) -> tuple[Array, float]:
    start, end, radius = _cores(volumes)
    centre = 0.5 * (np.minimum(start, end).min(axis=0) + np.maximum(start, end).max(axis=0))
    reach = max(
        float((np.linalg.norm(start - centre, axis=1) + radius).max()),
        float((np.linalg.norm(end - centre, axis=1) + radius).max()),
    )
    return centre, reach


def _moved(poses: Array, points: Array) -> Array:
    """Returns points (k, 3) in N poses as (N, k, 3)."""
    return points @ poses[:, :3, :3].transpose(0, 2, 1) + poses[:, None, :3, 3]
