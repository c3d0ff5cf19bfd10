# SPDX-License-Identifier: Apache-2.0
# MuJoCo is a native module without type information.
# pyright: reportAttributeAccessIssue=false
"""A depth camera that looks at a MuJoCo scene from anywhere, rendered without a screen."""

import math
from collections.abc import Sequence

import mujoco
import numpy as np

from lastgate.planning.approach import compute_gaze_pose
from lastgate.tools.demo.offscreen import FOVY_DEG, RANGE_M, Offscreen
from lastgate.world.depth import DepthImage


class DepthCameras(Offscreen):
    """Takes depth images of a scene from any place."""

    def look(
        self, data: "mujoco.MjData", *, eye_xyz: Sequence[float], target_xyz: Sequence[float], stamp_s: float
    ) -> DepthImage:
        """Returns what a camera at `eye_xyz` sees of the scene when it looks at `target_xyz`."""
        away = np.asarray(target_xyz, dtype=np.float64) - np.asarray(eye_xyz, dtype=np.float64)
        camera = mujoco.MjvCamera()
        camera.type = mujoco.mjtCamera.mjCAMERA_FREE
        camera.lookat = np.asarray(target_xyz, dtype=np.float64)
        camera.distance = float(np.linalg.norm(away))
        camera.azimuth = math.degrees(math.atan2(away[1], away[0]))
        camera.elevation = math.degrees(math.asin(away[2] / camera.distance))
        self.model.vis.global_.fovy = FOVY_DEG
        _, depth_m = self.render(data, camera)
        return DepthImage(
            depth_m=depth_m,
            intrinsics=self.intrinsics(FOVY_DEG),
            camera_in_frame=compute_gaze_pose(eye_xyz, target_xyz, view_axis="+z", frame_id=""),
            stamp_s=stamp_s,
            range_m=RANGE_M,
        )
