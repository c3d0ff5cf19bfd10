# SPDX-License-Identifier: Apache-2.0
"""A camera as the robot's manifest mounts it: on which link, where, and along which of its axes it looks."""

from dataclasses import dataclass

import numpy as np

from lastgate.contracts import RobotDescription, ROSConfigError
from lastgate.contracts.arrays import Float64
from lastgate.planning.approach import compute_gaze_pose
from lastgate.world.finite_numbers import Vector3
from lastgate.world.rigid_motion import composed, motion_of_xyz_rpy, require_rigid_motion

# Nearer than this there is no direction to look in: a lens alone is larger.
NEAREST_M = 0.005

# Rows: the optical axes (x right, y down, z ahead) of a sensor frame that looks along the axis named.
_OPTICAL_IN_SENSOR = {
    "+z": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "-z": ((1, 0, 0), (0, -1, 0), (0, 0, -1)),
    "+x": ((0, -1, 0), (0, 0, -1), (1, 0, 0)),
    "-x": ((0, 1, 0), (0, 0, -1), (-1, 0, 0)),
    "+y": ((1, 0, 0), (0, 0, -1), (0, 1, 0)),
    "-y": ((-1, 0, 0), (0, 0, -1), (0, -1, 0)),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MountedCamera:
    """A camera on a link.

    Attributes:
        name: As the manifest calls it.
        link: The link it is fixed to.
        optical_in_link: 3 x 4 motion of its optical frame (x right, y down, z ahead) in the link's frame.
    """

    name: str
    link: str
    optical_in_link: Float64

    @property
    def eye_in_link(self) -> Float64:
        """Position of the camera."""
        return self.optical_in_link[:, 3]

    @property
    def axis_in_link(self) -> Float64:
        """Unit vector of its line of view."""
        return self.optical_in_link[:, 2]

    def gaze_in(self, *, eye_xyz: Vector3, target_xyz: Vector3) -> Float64:
        """Returns the 3 x 4 motion of the optical frame at an eye that looks at a target, upright in the image.

        Raises:
            ROSConfigError: The two are in one place, so there is no direction to look in.
        """
        away_m = float(np.linalg.norm(np.subtract(target_xyz, eye_xyz)))
        if not away_m >= NEAREST_M:
            raise ROSConfigError(
                f"the camera `{self.name}` would be {away_m:.4f} m from what it looks at, needs {NEAREST_M:.4f} m"
            )
        return require_rigid_motion(
            compute_gaze_pose(eye_xyz, target_xyz, view_axis="+z", frame_id=""), name="gaze"
        )


def find_camera(robot: RobotDescription, name: str) -> MountedCamera:
    """Returns a camera by the name of its sensor.

    Raises:
        ROSConfigError: The robot has no such sensor, or it is none that looks; the message lists the sensors.
    """
    sensor = next((sensor for sensor in robot.sensors if sensor.name == name), None)
    if sensor is None or sensor.kind not in ("camera", "depth_camera"):
        listed = ", ".join(f"`{one.name}` ({one.kind})" for one in robot.sensors) or "none"
        why = "has no sensor" if sensor is None else f"cannot look with the {sensor.kind} sensor"
        raise ROSConfigError(f"robot `{robot.name}` {why} `{name}`; its sensors: {listed}")
    optical = np.column_stack(
        [np.array(_OPTICAL_IN_SENSOR[sensor.optical_axis], dtype=np.float64).T, np.zeros(3)]
    )
    return MountedCamera(
        name=name,
        link=sensor.link,
        optical_in_link=composed(motion_of_xyz_rpy(sensor.origin_xyz_rpy), optical),
    )
