# SPDX-License-Identifier: Apache-2.0
# MuJoCo is a native module without type information.
# pyright: reportAttributeAccessIssue=false
"""A MuJoCo scene rendered without a screen: what cameras that are made from it have in common."""

import math
from types import TracebackType
from typing import Self

import mujoco
import numpy as np

from lastgate.contracts import ROSConfigError
from lastgate.contracts.arrays import Float64
from lastgate.world.depth import PinholeIntrinsics

WIDTH, HEIGHT, FOVY_DEG = 320, 240, 58.0
# Of a depth camera on a stand: nearer it is blind, farther it is not trusted.
RANGE_M = (0.1, 5.0)


class Offscreen:
    """Renders a scene; a context manager, because it holds a graphics context.

    Args:
        model: The scene.
        width, height: Of the images, in pixels.

    Raises:
        ROSConfigError: This machine cannot render: no EGL, neither of a graphics card nor in software.
    """

    def __init__(self, model: "mujoco.MjModel", *, width: int = WIDTH, height: int = HEIGHT) -> None:
        try:
            # By name: which one `mujoco` itself picks depends on variables read when it was first imported.
            from mujoco.egl import GLContext

            self._context = GLContext(width, height)
            self._context.make_current()
        except Exception as error:
            raise ROSConfigError(
                f"images cannot be rendered without EGL: {error}\n\nhint: `apt install libegl1`"
            ) from None
        self.model, self.width, self.height = model, width, height
        model.vis.global_.offwidth, model.vis.global_.offheight = width, height
        # An edge that is half of one thing and half of another would be a third thing, at a third distance.
        model.vis.quality.offsamples = 0
        self.scene = mujoco.MjvScene(model, maxgeom=1000)
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
        """Releases the graphics context."""
        self._renderer.free()
        self._context.free()

    def render(
        self, data: "mujoco.MjData", camera: "mujoco.MjvCamera", *, flags: tuple[int, ...] = ()
    ) -> tuple[np.ndarray, Float64]:
        """Returns the colours, (height, width, 3), and the depth along the optical axis, both upper row first."""
        mujoco.mjv_updateScene(
            self.model, data, mujoco.MjvOption(), None, camera, mujoco.mjtCatBit.mjCAT_ALL.value, self.scene
        )
        for flag in flags:
            self.scene.flags[flag] = True
        shown = mujoco.MjrRect(0, 0, self.width, self.height)
        mujoco.mjr_render(shown, self.scene, self._renderer)
        colours = np.empty((self.height, self.width, 3), dtype=np.uint8)
        depth = np.empty((self.height, self.width), dtype=np.float32)
        mujoco.mjr_readPixels(colours, depth, shown, self._renderer)
        return np.flipud(colours), self._in_metres(np.flipud(depth))

    def intrinsics(self, fovy_deg: float) -> PinholeIntrinsics:
        """Returns those of a camera with this vertical field of view."""
        focal = self.height / 2 / math.tan(math.radians(fovy_deg) / 2)
        return PinholeIntrinsics(fx=focal, fy=focal, cx=(self.width - 1) / 2, cy=(self.height - 1) / 2)

    def _in_metres(self, buffer: np.ndarray) -> Float64:
        """Returns depth from a buffer of 1 (near) to 0 (far)."""
        extent = self.model.stat.extent
        near, far = self.model.vis.map.znear * extent, self.model.vis.map.zfar * extent
        return near * far / (near + buffer.astype(np.float64) * (far - near))
