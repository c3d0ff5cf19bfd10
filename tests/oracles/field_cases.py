# SPDX-License-Identifier: Apache-2.0
"""Chunks among voxels and points, some of which graze the path, and the same things as plain boxes and specks."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import lastgate as lg
from oracles.scenes import grazing_gap_m
from oracles.sweep_cases import PathMaker, Setup
from oracles.sweep_checker import full_rows

Array = NDArray[np.float64]

# A point has no size, and a sphere must have one: far below everything that is compared.
SPECK_M = 1e-12


@dataclass(frozen=True)
class FieldCase:
    """One chunk in a world of fields, and the obstacles the fields stand for."""

    setup: Setup
    path: Array  # full configurations, the measured one first
    world: lg.World
    primitives: tuple[lg.WorldCollisionPrimitive, ...]

    def check(self) -> lg.Verdict:
        """Asks the gate about the whole path."""
        path, grippers = self.setup.rows_of(self.path)
        state = lg.RobotState(
            positions=path[0], gripper_positions=grippers[0] if grippers.size else None, stamp_s=0.0
        )
        return self.setup.gate.check(lg.ActionChunk(path[1:]), state=state, world=self.world, now_s=0.0)


def _nearest(setup: Setup, path: Array, points: Array) -> tuple[Array, Array, Array]:
    """Returns, per point, the nearest axis point of the whole path, that volume's radius, and their distance."""
    brute = setup.brute_without_world
    t = np.linspace(0.0, 1.0, 60)
    ends = [brute.capsule_axes(brute.frames_at(start, end, t)) for start, end in itertools.pairwise(path)]
    a, b = (np.concatenate([pair[side] for pair in ends], axis=1) for side in (0, 1))
    base = setup.kinematics.robot.base_frame
    moving = [i for i, v in enumerate(brute.volumes) if setup.kinematics.rigid_with[v.link] != base]
    radii = np.repeat([brute.volumes[i].radius_m for i in moving], a.shape[1])
    a, b = a[moving].reshape(-1, 1, 3), b[moving].reshape(-1, 1, 3)
    along = b - a
    length2 = np.maximum((along**2).sum(-1), 1e-18)
    share = np.clip(((points - a) * along).sum(-1) / length2, 0.0, 1.0)
    capsule_axis = a + share[..., None] * along
    gap = np.linalg.norm(points - capsule_axis, axis=-1) - radii[:, None]
    best, column = gap.argmin(axis=0), np.arange(len(points))
    return capsule_axis[best, column], radii[best], gap[best, column]


def _beside_the_path(rng: np.random.Generator, setup: Setup, path: Array) -> tuple[Array, Array]:
    """Returns a point that the path passes at a grazing distance, and the way from the path to it."""
    brute = setup.brute_without_world
    margin_m = setup.margins["world_margin_m"]
    wanted_m = margin_m + grazing_gap_m(rng)
    segment = int(rng.integers(len(path) - 1))
    a, b = brute.capsule_axes(brute.frames_at(path[segment], path[segment + 1], rng.uniform(0.0, 1.0, 4)))
    capsule_axes = np.concatenate([a, b], axis=1).reshape(-1, 3)
    seeds = (
        capsule_axes[rng.integers(len(capsule_axes), size=30)]
        + 0.4 * rng.normal(size=(30, 3)) * setup.reach_m
    )
    capsule_axis, radius_m, gap_m = _nearest(setup, path, seeds)
    out = seeds - capsule_axis
    out /= np.linalg.norm(out, axis=1, keepdims=True)
    points = capsule_axis + (radius_m + wanted_m)[:, None] * out
    # Moved towards its nearest place, a point may come nearer to another: the best of them is taken.
    _, _, gap_m = _nearest(setup, path, points)
    best = int(np.abs(gap_m - wanted_m).argmin())
    return points[best], out[best]


def _scattered(rng: np.random.Generator, setup: Setup, count: int) -> Array:
    return rng.uniform(-1.2, 1.2, (count, 3)) * setup.reach_m


def _named(shape: object, xyz: Sequence[float], name: str) -> lg.WorldCollisionPrimitive:
    pose = lg.Pose6D(xyz=tuple(float(x) for x in xyz))
    return lg.WorldCollisionPrimitive(shape=shape, pose=pose, object_id=name)


def _cloud(
    rng: np.random.Generator, setup: Setup, path: Array
) -> tuple[Array, list[lg.WorldCollisionPrimitive]]:
    grazing = [_beside_the_path(rng, setup, path)[0] for _ in range(int(rng.integers(1, 3)))]
    points = np.concatenate([grazing, _scattered(rng, setup, int(rng.integers(0, 4)))])
    speck = lg.SphereShape(radius_m=SPECK_M)
    return points, [_named(speck, point, f"point_{index}") for index, point in enumerate(points)]


def _walls(low: Array, high: Array) -> list[lg.WorldCollisionPrimitive]:
    """Returns what lies around a grid, as six half-spaces whose z points into the grid."""
    half = np.sqrt(0.5)
    into = {  # axis and side: the quaternion that turns z into the direction of the grid
        (0, 0): (0.0, half, 0.0, half),
        (0, 1): (0.0, -half, 0.0, half),
        (1, 0): (-half, 0.0, 0.0, half),
        (1, 1): (half, 0.0, 0.0, half),
        (2, 0): (0.0, 0.0, 0.0, 1.0),
        (2, 1): (1.0, 0.0, 0.0, 0.0),
    }
    return [
        lg.WorldCollisionPrimitive(
            shape=lg.HalfSpaceShape(),
            pose=lg.Pose6D(xyz=tuple((low, high)[side].tolist()), quat_xyzw=quaternion),
            object_id="unseen space",
        )
        for (_, side), quaternion in into.items()
    ]


def _grid(
    rng: np.random.Generator, setup: Setup, path: Array, *, closed: bool
) -> tuple[lg.Voxels, list[lg.WorldCollisionPrimitive]]:
    resolution_m = float(rng.choice([0.02, 0.05, 0.13]))
    reach_m = 1.3 * setup.reach_m + 0.3
    count = min(int(np.ceil(2 * reach_m / resolution_m)), 160)
    # One vertex of a solid voxel lies beside the path, and the voxel on its far side.
    vertex, out = _beside_the_path(rng, setup, path)
    grazing = vertex + np.minimum(0.0, np.sign(out)) * resolution_m
    voxel = np.clip(np.floor((grazing + count / 2 * resolution_m) / resolution_m), 0, count - 1).astype(int)
    origin = grazing - voxel * resolution_m
    occupancy = np.zeros((count, count, count), dtype=np.uint8)
    chosen = [voxel, *rng.integers(0, count, (int(rng.integers(0, 3)), 3))]
    for x, y, z in chosen:
        occupancy[z, y, x] = rng.choice([1, 100, 255])
    voxels = lg.Voxels(
        occupancy=occupancy,
        origin_xyz=tuple(origin.tolist()),
        resolution_m=resolution_m,
        stamp_s=0.0,
        outside="occupied" if closed else "free",
    )
    cube = lg.BoxShape(size_xyz_m=(resolution_m,) * 3)
    boxes = [
        _named(
            cube, origin + (np.array([x, y, z]) + 0.5) * resolution_m, f"voxel_{x + count * (y + count * z)}"
        )
        for x, y, z in chosen
    ]
    walls = _walls(origin, origin + count * resolution_m) if closed else []
    return voxels, boxes + walls


def draw_field_case(
    rng: np.random.Generator, setup: Setup, make_path: PathMaker, *, fields: str
) -> FieldCase:
    """Returns a path among `points`, `voxels`, both, or voxels in a `closed` grid.

    A case that forty samples see colliding by more than 3 mm takes nothing to refuse: it is drawn again, a few
    times.
    """
    case = None
    for _ in range(6):
        full = make_path(rng, setup)
        if setup.gate.gripper_joint_names:  # grippers stand still in joint modes
            rows, grippers = setup.rows_of(full)
            full = full_rows(setup.gate, rows, np.broadcast_to(grippers[:1], grippers.shape))
        points = voxels = None
        primitives: list[lg.WorldCollisionPrimitive] = []
        if fields in ("points", "both"):
            points, specks = _cloud(rng, setup, full)
            primitives += specks
        if fields != "points":
            voxels, boxes = _grid(rng, setup, full, closed=fields == "closed")
            primitives += boxes
        brute = setup.brute(primitives)
        ends = list(itertools.pairwise(full))
        shallow = all(
            brute.scan(kind, *pair, samples=40).gap_m > -3e-3 for pair in ends for kind in ("self", "world")
        )
        if case is None or shallow:
            case = (full, points, voxels, primitives)
        if shallow:
            break
    assert case is not None
    full, points, voxels, primitives = case
    return FieldCase(setup, full, lg.World(points=points, voxels=voxels, stamp_s=0.0), tuple(primitives))
