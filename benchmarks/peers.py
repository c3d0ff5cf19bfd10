# SPDX-License-Identifier: Apache-2.0
"""MuJoCo in a compiled loop: what it costs without Python around it."""

import ctypes
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray

import lastgate as lg
from lastgate.tools.bench.peers import MujocoPeer
from lastgate.tools.bench.scene import Scene


class CompiledMujocoPeer(MujocoPeer):
    """Checks single poses with mj_kinematics and mj_collision, in a compiled loop."""

    def __init__(self, scene: Scene, world: lg.World, loop_library: Path) -> None:
        super().__init__(scene, world)
        library = next(Path(mujoco.__file__).parent.glob("libmujoco.so*"))
        self.functions = ctypes.CDLL(str(library))
        self.loop = ctypes.CDLL(str(loop_library)).time_poses

    def times_ns(self, rounds: int, *, collision: bool = True) -> NDArray[np.float64]:
        """Returns nanoseconds for all rows, once per round; without `collision` forward kinematics alone."""
        out = np.empty(rounds)
        self.loop(
            self.functions.mj_kinematics,
            self.functions.mj_collision if collision else None,
            ctypes.c_void_p(self.model._address),
            ctypes.c_void_p(self.data._address),
            ctypes.c_void_p(self.data.qpos.ctypes.data),
            ctypes.c_void_p(self.rows.ctypes.data),
            ctypes.c_size_t(self.rows.shape[0]),
            ctypes.c_size_t(self.rows.shape[1]),
            ctypes.c_size_t(rounds),
            ctypes.c_void_p(out.ctypes.data),
        )
        return out
