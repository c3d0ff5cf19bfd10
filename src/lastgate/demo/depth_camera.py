# SPDX-License-Identifier: Apache-2.0
# MuJoCo is a native module without type information.
# pyright: reportAttributeAccessIssue=false
"""A depth camera in a MuJoCo scene, rendered without a screen."""

import math
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import mujoco
import numpy as np

from lastgate.approach import compute_gaze_pose
from lastgate.contracts import ROSConfigError
from lastgate.world.depth import DepthImage, PinholeIntrinsics

# Of a depth camera on a stand: nearer it is blind, farther it is not trusted.
RANGE_M = (0.1, 5.0)


class DepthCameras:
    """Takes depth images of a scene from any place; a context manager, because it holds a graphics context.

    Args:
        model: The scene.
        width, height: Of the images, in pixels.
        fovy_deg: Vertical field of view.

    Raises:
        ROSConfigError: This machine cannot render: no EGL, neither of a graphics card nor in software.
    """

    def __init__(
        self, model: mujoco.MjModel, *, width: int = 320, height: int = 240, fovy_deg: float = 58.0
    ) -> None:
        try:
            # By name: which one `mujoco` itself picks depends on variables read when it was first imported.
            from mujoco.egl import GLContext

            self._context = GLContext(width, height)
            self._context.make_current()
        except Exception as error:
            raise ROSConfigError(
                f"depth images cannot be rendered without EGL: {error}\n\nhint: `apt install libegl1`"
            ) from None
        self._model, self._size, self._fovy_rad = model, (width, height), math.radians(fovy_deg)
        model.vis.global_.fovy = fovy_deg
        model.vis.global_.offwidth, model.vis.global_.offheight = width, height
        self._scene = mujoco.MjvScene(model, maxgeom=1000)
        self._renderer = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._renderer)
        self._renderer.readDepthMap = mujoco.mjtDepthMap.mjDEPTH_ZEROFAR

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._renderer.free()
        self._context.free()

    def look(
        self, data: mujoco.MjData, *, eye_xyz: Sequence[float], target_xyz: Sequence[float], stamp_s: float
    ) -> DepthImage:
        """Returns what a camera at `eye_xyz` sees of the scene when it looks at `target_xyz`."""
        away = np.asarray(target_xyz, dtype=np.float64) - np.asarray(eye_xyz, dtype=np.float64)
        camera = mujoco.MjvCamera()
        camera.type = mujoco.mjtCamera.mjCAMERA_FREE
        camera.lookat = np.asarray(target_xyz, dtype=np.float64)
        camera.distance = float(np.linalg.norm(away))
        camera.azimuth = math.degrees(math.atan2(away[1], away[0]))
        camera.elevation = math.degrees(math.asin(away[2] / camera.distance))
        mujoco.mjv_updateScene(
            self._model,
            data,
            mujoco.MjvOption(),
            None,
            camera,
            mujoco.mjtCatBit.mjCAT_ALL.value,
            self._scene,
        )
        width, height = self._size
        view = mujoco.MjrRect(0, 0, width, height)
        mujoco.mjr_render(view, self._scene, self._renderer)
        buffer = np.empty((height, width), dtype=np.float32)
        mujoco.mjr_readPixels(None, buffer, view, self._renderer)
        focal = height / 2 / math.tan(self._fovy_rad / 2)
        return DepthImage(
            depth_m=self._in_metres(buffer),
            intrinsics=PinholeIntrinsics(fx=focal, fy=focal, cx=(width - 1) / 2, cy=(height - 1) / 2),
            camera_in_frame=compute_gaze_pose(eye_xyz, target_xyz, view_axis="+z", frame_id=""),
            stamp_s=stamp_s,
            range_m=RANGE_M,
        )

    def _in_metres(self, buffer: np.ndarray) -> np.ndarray:
        """Returns depth along the optical axis, upper row first, from a buffer of 1 (near) to 0 (far)."""
        extent = self._model.stat.extent
        near, far = self._model.vis.map.znear * extent, self._model.vis.map.zfar * extent
        share = np.flipud(buffer).astype(np.float64)
        return near * far / (near + share * (far - near))
