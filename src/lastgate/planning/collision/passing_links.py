# SPDX-License-Identifier: Apache-2.0
"""Cuts spheres where links of one robot pass each other: there they reject what the hulls would let by."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from lastgate import _core
from lastgate.contracts.arrays import Float64
from lastgate.planning.collision.allowed_collision_matrix import AllowedCollisionMatrix
from lastgate.planning.collision.planned_robot import PlannedRobot
from lastgate.planning.collision.sphere_config import SphereGenConfig
from lastgate.planning.collision.sphere_cutting import GrowingCover

# Configurations in which links are watched, always the same ones.
_CONFIGURATIONS = 600
# So many pairs of touching links are checked in a turn: a humanoid's spheres touch everywhere, and some tell of all.
_TOUCHING_MAX = 3000
# So many times it is checked what is in the way; what spheres are left is cut in as many turns.
_TURNS_MAX = 16
# In between, only those are checked in which spheres were in the way.
_TURNS_PER_CHECK_OF_ALL = 4
# The share of a link's spheres that overshoot alone places; the others go where links pass.
_BY_OVERSHOOT = 0.75
# What is farther apart than this is of no interest.
_APART_M = 1.0e-3


def grow_covers(planned: PlannedRobot, covers: Mapping[int, GrowingCover], config: SphereGenConfig) -> None:
    """Cuts the covers of links, by index, until they are as the config wants them."""
    by_overshoot = max(1, int(_BY_OVERSHOOT * config.spheres_per_link_max))
    for cover in covers.values():
        cover.cut(by_overshoot)
    pairs = _watched_pairs(planned, covers)
    if len(pairs):
        drawn = planned.draw(_CONFIGURATIONS, np.random.default_rng(0))
        watched = drawn
        left = config.spheres_per_link_max - by_overshoot
        for turn in range(min(left, _TURNS_MAX)):
            if turn % _TURNS_PER_CHECK_OF_ALL == 0:
                watched = drawn
            worst, rows = _most_in_the_way(planned, covers, pairs, watched, -(-left // _TURNS_MAX))
            watched = np.ascontiguousarray(watched[rows])
            if not [link for link, spheres in worst.items() if covers[link].cut_at(spheres)]:
                break
    for cover in covers.values():
        cover.cut(config.spheres_per_link_max)


def _watched_pairs(planned: PlannedRobot, covers: Mapping[int, GrowingCover]) -> NDArray[np.uint32]:
    """Returns the pairs of links that move against each other and may not touch."""
    checked = AllowedCollisionMatrix.from_robot(planned.robot).resolve(planned.link_names).checked_pairs
    body = planned.body_of_link
    pairs = [(a, b) for a, b in checked if body[a] != body[b] and a in covers and b in covers]
    return np.array(pairs, dtype=np.uint32).reshape(-1, 2)


def _most_in_the_way(
    planned: PlannedRobot,
    covers: Mapping[int, GrowingCover],
    pairs: NDArray[np.uint32],
    configurations: Float64,
    sphere_count: int,
) -> tuple[dict[int, list[int]], NDArray[np.uint32]]:
    """Returns, per link, the spheres that touch another link most often while their hulls are apart, and the rows of
    the
    configurations in which any does."""
    spheres = {link: cover.rows() for link, cover in covers.items()}
    links = np.concatenate([np.full(len(rows), link, dtype=np.uint16) for link, rows in spheres.items()])
    native = _core.SphereCover(
        planned.config, np.ascontiguousarray(np.concatenate(list(spheres.values()))), links
    )
    sure = np.zeros(configurations.shape[1])
    touching = np.argwhere(native.pair_distances(configurations, sure, pairs, _APART_M) <= 0.0)
    touching = touching[:: 1 + len(touching) // _TOUCHING_MAX]
    wanted = np.concatenate([touching[:, :1], pairs[touching[:, 1]]], axis=1).astype(np.uint32)
    if not len(wanted):
        return {}, np.empty(0, dtype=np.uint32)
    apart = native.convex_pair_distances(configurations, sure, wanted, _APART_M)[:, 0] > 0.0
    placed = native.place(configurations, sure)
    counts = {link: np.zeros(len(rows), dtype=np.int64) for link, rows in spheres.items()}
    own = {link: np.flatnonzero(links == link) for link in spheres}
    for row, a, b in wanted[apart].tolist():
        first, second = placed[row, own[a]], placed[row, own[b]]
        gap = ((first[:, np.newaxis, :3] - second[np.newaxis, :, :3]) ** 2).sum(axis=2)
        meets = gap <= (first[:, np.newaxis, 3] + second[np.newaxis, :, 3]) ** 2
        counts[a] += meets.any(axis=1)
        counts[b] += meets.any(axis=0)
    worst = {
        link: [
            sphere for sphere in np.argsort(-found, kind="stable")[:sphere_count].tolist() if found[sphere]
        ]
        for link, found in counts.items()
        if found.any()
    }
    return worst, np.unique(wanted[apart, 0])
