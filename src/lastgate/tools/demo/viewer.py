# SPDX-License-Identifier: Apache-2.0
"""MuJoCo's window, where there is a screen to open it on."""

import os
import sys
from typing import Any

from lastgate.tools.demo.panda_scene import PandaScene


def open_viewer(scene: PandaScene) -> tuple[Any | None, str]:
    """Returns the viewer, or None and one sentence that says why there is none."""
    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return None, "there is no display, so no window is opened"
    try:
        import mujoco.viewer

        return mujoco.viewer.launch_passive(
            scene.model, scene.data, show_left_ui=False, show_right_ui=False
        ), ""
    except Exception as error:
        # Missing OpenGL, a display that refuses, a platform that wants mjpython: none of it concerns the
        # gate.
        return (
            None,
            f"MuJoCo's window could not be opened ({type(error).__name__}: {str(error).splitlines()[0]})",
        )
