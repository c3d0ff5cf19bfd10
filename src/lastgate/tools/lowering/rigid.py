# SPDX-License-Identifier: Apache-2.0
"""Rigid transforms as 4x4 arrays, in the URDF convention R = Rz(yaw) Ry(pitch) Rx(roll)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def rotation_from_rpy(roll: float, pitch: float, yaw: float) -> Array:
    """Returns the 3x3 rotation of fixed-axis roll, pitch, yaw."""
    cr, sr = math.cos(roll), math.sin(roll)
    cp, sp = math.cos(pitch), math.sin(pitch)
    cy, sy = math.cos(yaw), math.sin(yaw)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def rpy_from_rotation(rotation: Array) -> tuple[float, float, float]:
    """Returns roll, pitch, yaw of a rotation; at pitch = +-90 degrees roll is chosen as 0."""
    sin_pitch = -float(rotation[2, 0])
    pitch = math.atan2(sin_pitch, math.hypot(float(rotation[0, 0]), float(rotation[1, 0])))
    # 1e-9: below it roll and yaw turn about the same line and only their sum is defined.
    if math.hypot(float(rotation[0, 0]), float(rotation[1, 0])) < 1e-9:
        yaw = math.atan2(-float(rotation[0, 1]), float(rotation[1, 1]))
        return 0.0, pitch, yaw
    roll = math.atan2(float(rotation[2, 1]), float(rotation[2, 2]))
    yaw = math.atan2(float(rotation[1, 0]), float(rotation[0, 0]))
    return roll, pitch, yaw


def transform(xyz: Sequence[float], rpy: Sequence[float]) -> Array:
    """Returns the 4x4 transform of a URDF origin."""
    matrix = np.eye(4)
    matrix[:3, :3] = rotation_from_rpy(rpy[0], rpy[1], rpy[2])
    matrix[:3, 3] = xyz
    return matrix


def inverse(matrix: Array) -> Array:
    """Returns the inverse of a rigid transform."""
    result = np.eye(4)
    result[:3, :3] = matrix[:3, :3].T
    result[:3, 3] = -matrix[:3, :3].T @ matrix[:3, 3]
    return result


def apply(matrix: Array, points: Array) -> Array:
    """Returns points (..., 3) moved by a 4x4 transform."""
    return points @ matrix[:3, :3].T + matrix[:3, 3]


def rotations_about(axis: Array, angles: Array) -> Array:
    """Returns (N, 3, 3) rotations about one unit axis, by Rodrigues' formula."""
    x, y, z = (float(component) for component in axis)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    square = cross @ cross
    return (
        np.eye(3)[None]
        + np.sin(angles)[:, None, None] * cross[None]
        + (1.0 - np.cos(angles))[:, None, None] * square[None]
    )
