# SPDX-License-Identifier: Apache-2.0
"""Obstacles placed where they are hardest: tangent to what a link sweeps, a fraction of a millimetre in or
out.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import lastgate as lg
from oracles.brute_force import BruteForce
from oracles.numpy_kinematics import Kinematics

Array = NDArray[np.float64]


def unit(vector: Array) -> Array:
    """Returns the vector at length one."""
    return vector / np.linalg.norm(vector)


def primitive(
    shape: object, centre: Array, z_axis: Array | None = None, *, spin: float = 0.0
) -> lg.WorldCollisionPrimitive:
    """Returns an obstacle whose local z points along `z_axis`."""
    turn = Rotation.identity()
    if z_axis is not None:
        turn = Rotation.align_vectors([unit(z_axis)], [[0.0, 0.0, 1.0]])[0] * Rotation.from_euler("z", spin)
    quat = tuple((turn.as_quat() / np.linalg.norm(turn.as_quat())).tolist())
    return lg.WorldCollisionPrimitive(shape=shape, pose=lg.Pose6D(xyz=tuple(centre.tolist()), quat_xyzw=quat))


def random_obstacle(rng: np.random.Generator, *, reach_m: float) -> lg.WorldCollisionPrimitive:
    """Returns a sphere, capsule, thin pole or box anywhere the robot may reach."""
    centre = rng.uniform(-reach_m, reach_m, 3)
    axis, spin = rng.normal(size=3), float(rng.uniform(0, 6))
    match int(rng.integers(4)):
        case 0:
            return primitive(lg.SphereShape(radius_m=float(rng.uniform(0.01, 0.1))), centre)
        case 1:
            shape = lg.CapsuleShape(
                radius_m=float(rng.uniform(0.01, 0.06)), length_m=float(rng.uniform(0.05, 0.5))
            )
            return primitive(shape, centre, axis)
        case 2:
            shape = lg.CapsuleShape(
                radius_m=float(rng.uniform(0.001, 0.005)), length_m=float(rng.uniform(0.3, 1.5))
            )
            return primitive(shape, centre, axis)
        case _:
            size = tuple(rng.uniform(0.02, 0.25, 3).tolist())
            return primitive(lg.BoxShape(size_xyz_m=size), centre, axis, spin=spin)


def _touching(kind: str, rng: np.random.Generator, point: Array, out: Array) -> lg.WorldCollisionPrimitive:
    """Returns an obstacle whose surface has `point` on it and faces -`out`."""
    side = unit(np.cross(out, rng.normal(size=3)))
    if kind == "sphere":
        radius = float(rng.uniform(0.003, 0.08))
        return primitive(lg.SphereShape(radius_m=radius), point + radius * out)
    if kind == "pole":
        radius = float(rng.uniform(0.001, 0.005))
        shape = lg.CapsuleShape(radius_m=radius, length_m=float(rng.uniform(0.05, 0.6)))
        return primitive(shape, point + radius * out, side)
    if kind == "box":
        size = rng.uniform(0.02, 0.2, 3)
        slide = rng.uniform(-0.4, 0.4) * min(size[0], size[1])
        centre = point + 0.5 * size[2] * out + slide * side
        return primitive(
            lg.BoxShape(size_xyz_m=tuple(size.tolist())), centre, -out, spin=float(rng.uniform(0, 6))
        )
    if kind == "edge":  # the edge of a box, along `side`
        size = rng.uniform(0.02, 0.2, 3)
        size[1] = size[0]  # so that the edge points straight at the robot
        turn = Rotation.from_matrix(np.column_stack([unit(np.cross(out, side)), out, side]))
        turn = turn * Rotation.from_euler("z", np.pi / 4)
        vertex = turn.apply([-size[0] / 2, -size[1] / 2, 0.0])
        quat = turn.as_quat()
        return lg.WorldCollisionPrimitive(
            shape=lg.BoxShape(size_xyz_m=tuple(size.tolist())),
            pose=lg.Pose6D(
                xyz=tuple((point - vertex).tolist()), quat_xyzw=tuple((quat / np.linalg.norm(quat)).tolist())
            ),
        )
    return primitive(lg.HalfSpaceShape(), point, -out)


GRAZING_KINDS = ("sphere", "pole", "box", "edge", "half_space")


def grazing_obstacle(
    rng: np.random.Generator,
    kinematics: Kinematics,
    volumes: BruteForce,
    start: Array,
    end: Array,
    *,
    gap_m: float,
    kinds: Sequence[str] = GRAZING_KINDS,
) -> lg.WorldCollisionPrimitive | None:
    """Returns an obstacle tangent to what one volume sweeps, `gap_m` away at one instant; None where it does
    not move.
    """
    moving = [v for v in volumes.volumes if kinematics.rigid_with[v.link] != kinematics.robot.base_frame]
    volume = moving[int(rng.integers(len(moving)))]
    at = float(rng.uniform(0.02, 0.98))
    t = np.array([at - 1e-6, at, at + 1e-6])
    frames = volumes.frames_at(start, end, t)
    a, b = frames.place(volume.link, volume.end_a), frames.place(volume.link, volume.end_b)
    share = float(rng.choice([0.0, 1.0, rng.uniform(0, 1)]))
    capsule_axis = (1 - share) * a + share * b
    velocity = capsule_axis[2] - capsule_axis[0]
    if np.linalg.norm(velocity) < 1e-12:
        return None
    length = float(np.linalg.norm(b[1] - a[1]))
    out = rng.normal(size=3)
    if length > 0.0:
        axis = (b[1] - a[1]) / length
        if 0.0 < share < 1.0:
            out -= (out @ axis) * axis
        elif (out @ axis) * (share - 0.5) < 0.0:
            out -= 2 * (out @ axis) * axis  # away from the capsule at its end
    direction = unit(velocity)
    out -= (out @ direction) * direction
    if np.linalg.norm(out) < 1e-6:
        return None
    out = unit(out)
    margin_m = volumes.margin_m["world"]
    surface = capsule_axis[1] + (volume.radius_m + margin_m + gap_m) * out
    weights = np.array([0.05 if kind == "half_space" else 1.0 for kind in kinds])
    kind = str(rng.choice(kinds, p=weights / weights.sum()))
    return _touching(kind, rng, surface, out)


def grazing_gap_m(rng: np.random.Generator) -> float:
    """Returns 0.05 to 1 mm, into the swept volume or away from it."""
    return float(rng.uniform(0.05e-3, 1e-3) * rng.choice([-1.0, 1.0]))
