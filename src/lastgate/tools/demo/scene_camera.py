# SPDX-License-Identifier: Apache-2.0
# MuJoCo is a native module without type information.
# pyright: reportAttributeAccessIssue=false
"""A camera that is part of a MuJoCo scene: depth, and which thing each pixel shows, rendered without a screen."""

import mujoco
import numpy as np

from lastgate.contracts import ROSConfigError
from lastgate.contracts.arrays import Float64
from lastgate.integrations.agent.view import CameraView
from lastgate.planning.skills.camera import MountedCamera
from lastgate.tools.demo.offscreen import FOVY_DEG, RANGE_M, Offscreen
from lastgate.world.depth import DepthImage
from lastgate.world.rigid_motion import quaternion_of_rotation

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


class SceneCamera(Offscreen):
    """Takes images with the cameras of a scene."""

    def view(self, data: "mujoco.MjData", name: str, *, stamp_s: float, frame_id: str = "") -> CameraView:
        """Returns what a camera sees now, in the frame that the scene's world is.

        Raises:
            ROSConfigError: The scene has no such camera; the message lists those it has.
        """
        model = self.model
        index = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, name)
        if index < 0:
            names = [model.camera(one).name for one in range(model.ncam)]
            raise ROSConfigError(f"the scene has no camera `{name}`; cameras: {', '.join(names) or 'none'}")
        camera = mujoco.MjvCamera()
        camera.type = mujoco.mjtCamera.mjCAMERA_FIXED
        camera.fixedcamid = index
        flags = (mujoco.mjtRndFlag.mjRND_SEGMENT, mujoco.mjtRndFlag.mjRND_IDCOLOR)
        colours, depth_m = self.render(data, camera, flags=flags)
        geoms = self._geoms(colours.astype(np.int64) @ (1, 256, 65536) - 1)
        rotation = data.cam_xmat[index].reshape(3, 3) @ _MUJOCO_IN_OPTICAL
        return CameraView(
            camera=name,
            depth=DepthImage(
                depth_m=depth_m,
                intrinsics=self.intrinsics(float(model.cam_fovy[index])),
                camera_in_frame=np.column_stack([rotation, data.cam_xpos[index]]),
                stamp_s=stamp_s,
                range_m=RANGE_M,
                frame_id=frame_id,
            ),
            segments=geoms,
            segment_names={
                int(geom): model.geom(int(geom)).name
                for geom in np.unique(geoms)
                if geom >= 0 and model.geom(int(geom)).name
            },
        )

    def _geoms(self, segments: np.ndarray) -> np.ndarray:
        """Returns the geom that each pixel shows, -1 for none, from the number of its drawn shape."""
        geom_of = np.full(self.scene.ngeom + 1, -1, dtype=np.int64)
        for one in self.scene.geoms[: self.scene.ngeom]:
            if one.segid >= 0 and one.objtype == mujoco.mjtObj.mjOBJ_GEOM:
                geom_of[one.segid] = one.objid
        return geom_of[np.clip(segments, -1, self.scene.ngeom)]
