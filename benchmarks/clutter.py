# SPDX-License-Identifier: Apache-2.0
"""The obstacles of the scene as a depth camera would give them: a grid of voxels, or points on surfaces, and a table.

What comes closer to the arm than the obstacles do is left out, as a self-filter would, so that the chunk stays
free of collisions and no checker stops early.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scene import FINGERS, HOME

import lastgate as lg
from lastgate.tools.bench.scene import CLEARANCE_M, SEED, Scene, placed_axes

Array = NDArray[np.float64]

VOXELS = 128
VOXEL_M = 0.02
LOWER = np.array([-1.0, -1.28, -0.5])
TABLE_Z_M = -0.08
POINT_COUNTS = (5_000, 10_000, 100_000)


def box_points(numbers: np.random.Generator, size: Array, count: int) -> Array:
    """Returns points on the surface of a box, evenly by area."""
    areas = np.array([size[1] * size[2], size[0] * size[2], size[0] * size[1]])
    points = (numbers.random((count, 3)) - 0.5) * size
    axis = numbers.choice(3, size=count, p=areas / areas.sum())
    points[np.arange(count), axis] = np.copysign(0.5 * size[axis], numbers.normal(size=count))
    return points


def surface_points(numbers: np.random.Generator, world: lg.World, count: int) -> Array:
    """Returns `count` points: half on the obstacles, half on the table."""
    each = count // 2 // len(world.primitives)
    parts = []
    for primitive in world.primitives:
        if isinstance(primitive.shape, lg.SphereShape):
            directions = numbers.normal(size=(each, 3))
            local = primitive.shape.radius_m * directions / np.linalg.norm(directions, axis=1)[:, None]
        else:
            local = box_points(numbers, np.array(primitive.shape.size_xyz_m), each)
        parts.append(local @ rotation(primitive.pose.quat_xyzw).T + np.array(primitive.pose.xyz))
    rest = count - each * len(world.primitives)
    table = numbers.uniform(LOWER[:2], LOWER[:2] + VOXELS * VOXEL_M, size=(rest, 2))
    parts.append(np.column_stack([table, np.full(rest, TABLE_Z_M)]))
    return np.concatenate(parts)


def rotation(quat_xyzw: tuple[float, float, float, float]) -> Array:
    """Returns the rotation matrix of a unit quaternion."""
    x, y, z, w = quat_xyzw
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def far_from(points: Array, capsule_axes: list[tuple[float, Array]], gap_m: float) -> NDArray[np.bool_]:
    """Says which points are farther than `gap_m` from every volume of the arm."""
    far = np.ones(len(points), dtype=bool)
    for radius_m, ends in capsule_axes:
        a, along = ends[:3], ends[3:] - ends[:3]
        length2 = max(float(along @ along), 1e-18)
        share = np.clip((points - a) @ along / length2, 0.0, 1.0)
        far &= np.linalg.norm(points - a - share[:, None] * along, axis=1) > radius_m + gap_m
    return far


def make_clutter(scene: Scene) -> tuple[NDArray[np.uint8], list[Array]]:
    """Returns the grid (z, y, x) and the clouds of `POINT_COUNTS` points, none of it near the arm."""
    numbers = np.random.default_rng(SEED)
    capsule_axes = placed_axes(scene.gate, np.vstack([HOME[None], scene.rows]), FINGERS)
    world = scene.worlds[0]
    clouds = []
    for count in POINT_COUNTS:
        candidates = surface_points(numbers, world, count + count // 4)
        kept = candidates[far_from(candidates, capsule_axes, CLEARANCE_M)]
        if len(kept) < count:
            raise SystemExit("error: too many points of the cloud are near the arm")
        clouds.append(np.ascontiguousarray(numbers.permutation(kept)[:count]))
    # A voxel is occupied when a dense cloud has a point in it: sixty points per voxel of surface on average.
    dense = surface_points(numbers, world, 2_000_000)
    voxel_indices = np.floor((dense - LOWER) / VOXEL_M).astype(int)
    voxel_indices = np.unique(
        voxel_indices[((voxel_indices >= 0) & (voxel_indices < VOXELS)).all(axis=1)], axis=0
    )
    centres = LOWER + (voxel_indices + 0.5) * VOXEL_M
    kept = voxel_indices[far_from(centres, capsule_axes, CLEARANCE_M + 0.5 * np.sqrt(3.0) * VOXEL_M)]
    occupancy = np.zeros((VOXELS, VOXELS, VOXELS), dtype=np.uint8)
    occupancy[kept[:, 2], kept[:, 1], kept[:, 0]] = 1
    return occupancy, clouds


def require_accepted(scene: Scene, occupancy: NDArray[np.uint8], clouds: list[Array]) -> None:
    """Stops when the gate does not accept the chunk in front of the clutter."""
    grid = lg.Voxels(
        occupancy=occupancy,
        origin_xyz=tuple(LOWER.tolist()),
        resolution_m=VOXEL_M,
        stamp_s=1.0,
        outside="free",
    )
    worlds = [lg.World(voxels=grid, stamp_s=1.0), *(lg.World(points=cloud, stamp_s=1.0) for cloud in clouds)]
    for world in worlds:
        verdict = scene.gate.check(lg.ActionChunk(scene.rows), state=scene.state, world=world, now_s=1.0)
        if not verdict.accepted:
            raise SystemExit(f"error: the chunk is not free of the clutter: {verdict.explain()}")


def sphere_queries(scene: Scene, count: int) -> Array:
    """Returns spheres (x, y, z, radius) along the arm's volumes at random postures, as a planner would ask about."""
    numbers = np.random.default_rng(SEED + 1)
    postures = HOME + numbers.uniform(-1.0, 1.0, size=(200, HOME.size))
    spheres = []
    for radius_m, ends in placed_axes(scene.gate, postures, FINGERS):
        share = numbers.random((4, 1))
        spheres.append(np.hstack([ends[:3] + share * (ends[3:] - ends[:3]), np.full((4, 1), radius_m)]))
    return np.ascontiguousarray(numbers.permutation(np.concatenate(spheres))[:count])


def write_clutter(scene: Scene, folder: Path) -> Path:
    """Writes what benchmarks/core reads: origin, voxel, voxels, points and queries, as raw doubles and bytes."""
    occupancy, clouds = make_clutter(scene)
    require_accepted(scene, occupancy, clouds)
    path = folder / "clutter.bin"
    queries = sphere_queries(scene, 4096)
    with path.open("wb") as file:
        file.write(np.array([*LOWER, VOXEL_M, VOXELS]).tobytes())
        file.write(occupancy.tobytes())
        for block in (*clouds, queries):
            file.write(np.array([float(block.size)]).tobytes())
            file.write(block.tobytes())
    return path


__all__ = ["FINGERS", "POINT_COUNTS", "make_clutter", "require_accepted", "write_clutter"]
