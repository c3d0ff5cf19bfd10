# SPDX-License-Identifier: Apache-2.0
"""Volumes and meshes of all links over one set of configurations, pair by pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastgate.planning import _fitting
from lastgate.tools.lowering.kinematics import KinematicTree
from lastgate.tools.lowering.mesh_contact import LinkMeshes
from lastgate.tools.lowering.volumes import Volume

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Index = NDArray[np.int64]
Pair = tuple[str, str]

# The pinned sweep: every machine sees the same configurations.
SWEEP_SEED = 20260610
SWEEP_SAMPLES = 2000
# Room around the volumes first seen of a pair within which later volumes of theirs are expected; where they reach
# farther, the poses are looked up again.
_ROOM_M = 0.05


@dataclass(frozen=True)
class _Approach:
    """The samples in which two links come near each other, and the second one's pose in the first."""

    reach_m: float
    samples: Index
    poses: Array


class Sweep:
    """Remembers where links are in each sample, and which samples have mesh contact for which pair."""

    def __init__(self, tree: KinematicTree, meshes: LinkMeshes, samples: Array) -> None:
        self.tree = tree
        self.meshes = meshes
        self.count = len(samples)
        self.placements = tree.placements(samples)
        self._approaches: dict[Pair, _Approach] = {}
        self._contact: dict[Pair, NDArray[np.int8]] = {}

    def overlaps(
        self,
        pair: Pair,
        volumes_a: Sequence[Volume],
        volumes_b: Sequence[Volume],
        among: Index | None = None,
        within_m: float = 0.0,
    ) -> tuple[Index, Array]:
        """Returns the samples in which volumes of the pair are that near, and the (a, b) clearances in each."""
        rows_a, rows_b = capsule_rows(volumes_a), capsule_rows(volumes_b)
        approach = self._approach(pair, rows_a, rows_b, within_m)
        samples, poses = approach.samples, approach.poses
        if among is not None:
            chosen = np.isin(samples, among)
            samples, poses = samples[chosen], poses[chosen]
        near = _fitting.any_within(poses, rows_a, rows_b, within_m)
        return samples[near], _fitting.clearances(poses[near], rows_a, rows_b)

    def _approach(self, pair: Pair, rows_a: Array, rows_b: Array, within_m: float) -> _Approach:
        reach_m = _reach_m(rows_a) + _reach_m(rows_b) + within_m
        known = self._approaches.get(pair)
        if known is None or known.reach_m < reach_m:
            reach_m += _ROOM_M
            shift = self.placements[pair[0]][:, :3, 3] - self.placements[pair[1]][:, :3, 3]
            samples = np.flatnonzero(np.einsum("ni,ni->n", shift, shift) <= reach_m * reach_m)
            known = _Approach(reach_m, samples, self.relative(pair, samples))
            self._approaches[pair] = known
        return known

    def relative(self, pair: Pair, samples: Index) -> Array:
        """Returns per sample the pose of the pair's second link in the first, (n, 3, 4)."""
        pose_a, pose_b = self.placements[pair[0]][samples], self.placements[pair[1]][samples]
        turned = pose_a[:, :3, :3].transpose(0, 2, 1)
        shift = pose_b[:, :3, 3] - pose_a[:, :3, 3]
        return np.ascontiguousarray(
            np.concatenate([turned @ pose_b[:, :3, :3], turned @ shift[:, :, None]], axis=2)
        )

    def placed_rows(self, link: str, other: str, rows: Array, samples: Index, which: Index) -> Array:
        """Returns chosen volumes of another link, one per sample given, as rows in a link's frame."""
        pose = self.relative((link, other), samples)
        start = np.einsum("nij,nj->ni", pose[:, :, :3], rows[which, :3]) + pose[:, :, 3]
        end = np.einsum("nij,nj->ni", pose[:, :, :3], rows[which, 3:6]) + pose[:, :, 3]
        return np.concatenate([start, end, rows[which, 6:]], axis=1)

    def mesh_contact(self, pair: Pair, samples: Index) -> Mask:
        """Returns in which of the samples the meshes of the pair meet; each is asked once."""
        known = self._contact.setdefault(pair, np.full(self.count, -1, np.int8))
        for sample in samples[known[samples] < 0]:
            known[sample] = self.meshes.touch(
                pair[0], self.placements[pair[0]][sample], pair[1], self.placements[pair[1]][sample]
            )
        return known[samples] == 1


def capsule_rows(volumes: Sequence[Volume]) -> Array:
    """Returns volumes as rows of start, end and radius in their link's frame."""
    return np.array([volume.row for volume in volumes])


def _reach_m(rows: Array) -> float:
    """Returns how far volumes reach from their link's origin."""
    ends = np.maximum(np.linalg.norm(rows[:, :3], axis=1), np.linalg.norm(rows[:, 3:6], axis=1))
    return float((ends + rows[:, 6]).max())
