# SPDX-License-Identifier: Apache-2.0
"""Where to turn a camera so that it looks at a point."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from lastgate.contracts import Pose6D, ROSConfigError
from lastgate.contracts.arrays import Float64
from lastgate.world.finite_numbers import require_finite
from lastgate.world.rigid_motion import QuaternionWxyz, quaternion_of_rotation

ViewAxis = Literal["-z", "+z", "+x"]

# An up this close to the line of view (2.6 degrees) leaves the roll to rounding; another up decides then.
PARALLEL_COSINE = 0.999
_NO_VIEW: dict[ViewAxis, QuaternionWxyz] = {
    "-z": (0.0, 1.0, 0.0, 0.0),
    "+z": (1.0, 0.0, 0.0, 0.0),
    "+x": (1.0, 0.0, 0.0, 0.0),
}


def look_at_quat(
    eye_xyz: Sequence[float],
    target_xyz: Sequence[float],
    *,
    up: Sequence[float] = (0.0, 0.0, 1.0),
    view_axis: ViewAxis = "-z",
) -> QuaternionWxyz:
    """Returns the unit quaternion w x y z that turns the view axis from the eye to the target, w not negative.

    Degenerate cases have fixed answers. Eye and target in one place: (0, 1, 0, 0) for `-z`, no turn for the others.
    An `up` that is parallel to the view, or has no length: +Y takes its place, and +X where the view runs along +Y.
    The length of `up` does not matter.

    Args:
        view_axis: Which axis of the camera looks: `-z` with y up as in MuJoCo and OpenGL, `+z` with y down as in
            ROS optical frames, `+x` with z up as in ROS body frames.

    Raises:
        ROSConfigError: A number is not finite, or the axis is not one of the three.
    """
    if view_axis not in _NO_VIEW:
        raise ROSConfigError(f"view_axis must be one of {', '.join(_NO_VIEW)}, got {view_axis!r}")
    eye, target = _three(eye_xyz, name="eye_xyz"), _three(target_xyz, name="target_xyz")
    # Halves, so that the difference of two huge numbers stays finite.
    view = _unit(0.5 * target - 0.5 * eye)
    if view is None:
        return _NO_VIEW[view_axis]
    upward = _upward(view, _unit(_three(up, name="up")))
    right = np.cross(view, upward)
    right /= np.linalg.norm(right)
    above = np.cross(right, view)
    columns = {"-z": (right, above, -view), "+z": (right, -above, view), "+x": (view, -right, above)}
    return quaternion_of_rotation(np.column_stack(columns[view_axis]))


def compute_gaze_pose(
    camera_xyz: Sequence[float],
    target_xyz: Sequence[float],
    *,
    up: Sequence[float] = (0.0, 0.0, 1.0),
    view_axis: ViewAxis = "+z",
    frame_id: str = "map",
) -> Pose6D:
    """Returns the pose of a camera that looks at a target; degenerate cases as in `look_at_quat`."""
    w, x, y, z = look_at_quat(camera_xyz, target_xyz, up=up, view_axis=view_axis)
    place = _three(camera_xyz, name="camera_xyz")
    return Pose6D(
        xyz=(float(place[0]), float(place[1]), float(place[2])), quat_xyzw=(x, y, z, w), frame_id=frame_id
    )


def _upward(view: Float64, up: Float64 | None) -> Float64:
    candidates = [up] if up is not None else []
    candidates += [np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0])]
    # Of +Y and +X at least one is more than 44 degrees off any view.
    return next(axis for axis in candidates if abs(float(axis @ view)) <= PARALLEL_COSINE)


def _three(value: Sequence[float], *, name: str) -> Float64:
    numbers = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(numbers, Sequence) or isinstance(numbers, str | bytes) or len(numbers) != 3:
        raise ROSConfigError(f"{name} must be three numbers, got {value!r}")
    return np.array([require_finite(number, name=f"{name}[{index}]") for index, number in enumerate(numbers)])


def _unit(vector: Float64) -> Float64 | None:
    largest = float(np.abs(vector).max())
    if not largest > 0.0:
        return None
    # Divided by the largest first: the square of a tiny number would be zero, of a huge one infinite. A number
    # too small to divide by is brought into range by a power of two.
    scaled = vector * 2.0**600 if largest < 2.0**-600 else vector
    scaled = scaled / float(np.abs(scaled).max())
    return scaled / np.linalg.norm(scaled)
