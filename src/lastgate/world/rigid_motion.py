# SPDX-License-Identifier: Apache-2.0
"""Where one frame stands in another: 3 x 4 matrices that turn and shift and do nothing else."""

import numpy as np

from lastgate.arrays import Float64
from lastgate.contracts import Pose6D, ROSConfigError
from lastgate.world.finite_numbers import COORDINATE_M_MAX

# A rotation written with seven digits is this close to orthonormal. One further off shears, and what is
# sheared is not where the grid says it is.
ORTHONORMAL_TOLERANCE = 1e-6


def rotation_of_quaternion(quat_xyzw: tuple[float, float, float, float]) -> Float64:
    """Returns the 3 x 3 rotation of a quaternion x y z w, normalised first."""
    x, y, z, w = np.asarray(quat_xyzw) / np.linalg.norm(quat_xyzw)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def require_rigid_motion(value: object, *, name: str) -> Float64:
    """Returns a pose as a read-only 3 x 4 matrix; takes a `Pose6D` or a 3 x 4 or 4 x 4 array.

    Raises:
        ROSConfigError: Wrong shape, not finite, mirrored, scaled or sheared.
    """
    if isinstance(value, Pose6D):
        motion = np.column_stack([rotation_of_quaternion(value.quat_xyzw), value.xyz])
        motion.flags.writeable = False
        return motion
    try:
        matrix = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ROSConfigError(f"{name} must be a Pose6D or a 3 x 4 matrix, got {value!r}") from None
    if matrix.shape == (4, 4):
        if not np.array_equal(matrix[3], (0.0, 0.0, 0.0, 1.0)):
            raise ROSConfigError(f"{name} has the last row {matrix[3].tolist()}, a pose has [0, 0, 0, 1]")
        matrix = matrix[:3].copy()
    if matrix.shape != (3, 4):
        raise ROSConfigError(f"{name} has shape {matrix.shape}, expected a Pose6D or a 3 x 4 matrix [R | t]")
    if not (np.abs(matrix) <= COORDINATE_M_MAX).all():
        raise ROSConfigError(
            f"{name} holds {matrix.tolist()}: every number must be finite and at most {COORDINATE_M_MAX:g}"
        )
    rotation = matrix[:, :3]
    skew = float(np.abs(rotation @ rotation.T - np.eye(3)).max())
    if not skew <= ORTHONORMAL_TOLERANCE:
        raise ROSConfigError(
            f"{name} is not a rotation: R R^T differs from 1 by {skew:.3g}, allowed {ORTHONORMAL_TOLERANCE:g}"
        )
    if not np.linalg.det(rotation) > 0.0:
        raise ROSConfigError(f"{name} mirrors: its determinant is negative, so left and right are swapped")
    matrix.flags.writeable = False
    return matrix


def moved(points: Float64, motion: Float64) -> Float64:
    """Returns points (N, 3) given in a frame, seen from the frame that `motion` places it in."""
    x, y, z = points.T
    placed = np.empty(points.shape)
    # Column by column: three times as fast as a matrix product this thin, and without its threads.
    for axis, (rx, ry, rz, t) in enumerate(motion):
        placed[:, axis] = x * rx + y * ry + z * rz + t
    return placed


def inverse(motion: Float64) -> Float64:
    """Returns the motion the other way round."""
    rotation = motion[:, :3].T
    return np.column_stack([rotation, -rotation @ motion[:, 3]])


def composed(outer: Float64, inner: Float64) -> Float64:
    """Returns `inner` followed by `outer`."""
    return np.column_stack([outer[:, :3] @ inner[:, :3], outer[:, :3] @ inner[:, 3] + outer[:, 3]])
