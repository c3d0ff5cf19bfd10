# SPDX-License-Identifier: Apache-2.0
# MuJoCo is a native module without type information.
# pyright: reportAttributeAccessIssue=false
"""A camera that is part of a MuJoCo scene: depth, and which thing each pixel shows, rendered without a screen."""

import math
from types import TracebackType
from typing import Self

import mujoco
import numpy as np

from lastgate.arrays import Float64
from lastgate.contracts import ROSConfigError
from lastgate.demo.depth_camera import RANGE_M
from lastgate.memory.view import CameraView
from lastgate.skills.camera import MountedCamera
from lastgate.world.depth import DepthImage, PinholeIntrinsics
from lastgate.world.rigid_motion import quaternion_of_rotation

WIDTH, HEIGHT, FOVY_DEG = 320, 240, 58.0
# MuJoCo's cameras look along -z with y up, optical frames along +z with y down.
_MUJOCO_IN_OPTICAL = np.diag([1.0, -1.0, -1.0])


def add_camera(body: "mujoco.MjsBody", *, name: str, optical_in_body: Float64) -> None:
    """Adds a camera to a body of a scene that is still being made."""
    rotation = optical_in_body[:, :3] @ _MUJOCO_IN_OPTICAL
    body.add_camera(
        name=name, pos=optical_in_body[:, 3], quat=quaternion_of_rotation(rotation), fovy=FOVY_DEG
    )


def add_mounted_camera(spec: "mujoco.MjSpec", mounted: MountedCamera) -> None:
    """Adds a camera to the body that is named after its link."""
    add_camera(spec.body(mounted.link), name=mounted.name, optical_in_body=mounted.optical_in_link)


class SceneCamera:
    """Takes images with the cameras of a scene; a context manager, because it holds a graphics context.

    Raises:
        ROSConfigError: This machine cannot render: no EGL, neither of a graphics card nor in software.
    """

    def __init__(self, model: "mujoco.MjModel", *, width: int = WIDTH, height: int = HEIGHT) -> None:
        try:
            from mujoco.egl import GLContext

            self._context = GLContext(width, height)
            self._context.make_current()
        except Exception as error:
            raise ROSConfigError(
                f"images cannot be rendered without EGL: {error}\n\nhint: `apt install libegl1`"
            ) from None
        self._model, self._size = model, (width, height)
        model.vis.global_.offwidth, model.vis.global_.offheight = width, height
        # An edge that is half of one thing and half of another would be a third thing.
        model.vis.quality.offsamples = 0
        self._scene = mujoco.MjvScene(model, maxgeom=1000)
        self._renderer = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._renderer)
        self._renderer.readDepthMap = mujoco.mjtDepthMap.mjDEPTH_ZEROFAR

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the graphics context."""
        self._renderer.free()
        self._context.free()

    def view(self, data: "mujoco.MjData", name: str, *, stamp_s: float, frame_id: str = "") -> CameraView:
        """Returns what a camera sees now, in the frame that the scene's world is.

        Raises:
            ROSConfigError: The scene has no such camera; the message lists those it has.
        """
        index = mujoco.mj_name2id(self._model, mujoco.mjtObj.mjOBJ_CAMERA, name)
        if index < 0:
            names = [self._model.camera(one).name for one in range(self._model.ncam)]
            raise ROSConfigError(f"the scene has no camera `{name}`; cameras: {', '.join(names) or 'none'}")
        shown = self._render(data, index)
        depth = np.empty(self._size[::-1], dtype=np.float32)
        colours = np.empty((*self._size[::-1], 3), dtype=np.uint8)
        mujoco.mjr_readPixels(colours, depth, shown, self._renderer)
        segments = np.flipud(colours).astype(np.int64) @ (1, 256, 65536) - 1
        geoms = self._geoms(segments)
        focal = self._size[1] / 2 / math.tan(math.radians(self._model.cam_fovy[index]) / 2)
        rotation = data.cam_xmat[index].reshape(3, 3) @ _MUJOCO_IN_OPTICAL
        return CameraView(
            camera=name,
            depth=DepthImage(
                depth_m=self._in_metres(depth),
                intrinsics=PinholeIntrinsics(
                    fx=focal, fy=focal, cx=(self._size[0] - 1) / 2, cy=(self._size[1] - 1) / 2
                ),
                camera_in_frame=np.column_stack([rotation, data.cam_xpos[index]]),
                stamp_s=stamp_s,
                range_m=RANGE_M,
                frame_id=frame_id,
            ),
            segments=geoms,
            segment_names={
                int(geom): self._model.geom(int(geom)).name
                for geom in np.unique(geoms)
                if geom >= 0 and self._model.geom(int(geom)).name
            },
        )

    def _render(self, data: "mujoco.MjData", camera_index: int) -> "mujoco.MjrRect":
        camera = mujoco.MjvCamera()
        camera.type = mujoco.mjtCamera.mjCAMERA_FIXED
        camera.fixedcamid = camera_index
        mujoco.mjv_updateScene(
            self._model, data, mujoco.MjvOption(), None, camera, mujoco.mjtCatBit.mjCAT_ALL.value, self._scene
        )
        self._scene.flags[mujoco.mjtRndFlag.mjRND_SEGMENT] = True
        self._scene.flags[mujoco.mjtRndFlag.mjRND_IDCOLOR] = True
        view = mujoco.MjrRect(0, 0, *self._size)
        mujoco.mjr_render(view, self._scene, self._renderer)
        return view

    def _geoms(self, segments: np.ndarray) -> np.ndarray:
        """Returns the geom that each pixel shows, -1 for none, from the number of its drawn shape."""
        geom_of = np.full(self._scene.ngeom + 1, -1, dtype=np.int64)
        for one in self._scene.geoms[: self._scene.ngeom]:
            if one.segid >= 0 and one.objtype == mujoco.mjtObj.mjOBJ_GEOM:
                geom_of[one.segid] = one.objid
        return geom_of[np.clip(segments, -1, self._scene.ngeom)]

    def _in_metres(self, buffer: np.ndarray) -> Float64:
        extent = self._model.stat.extent
        near, far = self._model.vis.map.znear * extent, self._model.vis.map.zfar * extent
        share = np.flipud(buffer).astype(np.float64)
        return near * far / (near + share * (far - near))
