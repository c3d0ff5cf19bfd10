# SPDX-License-Identifier: Apache-2.0
"""The simulated Panda as skills see a robot: it measures, it is told of accepted chunks, and it holds."""

from collections.abc import Sequence

from lastgate.contracts import ControlMode, Pose6D, ROSConfigError, WorldCollisionPrimitive
from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.integrations.agent.view import CameraView
from lastgate.tools.demo.panda_scene import TIMESTEP_S, PandaScene
from lastgate.tools.demo.scene_camera import SceneCamera
from lastgate.world import World


class SimulatedArm:
    """A scene in which time passes only while chunks are executed.

    Args:
        scene: The arm and what stands around it, already at its first configuration.
        obstacles: What the gate is told of it.
        step_s: Time from one step to the next.
        camera: Takes the images; without one the arm cannot see.

    Attributes:
        touched: Every pair of names that MuJoCo found touching so far.
        executed: How many steps the servos were given.
    """

    def __init__(
        self,
        scene: PandaScene,
        obstacles: Sequence[WorldCollisionPrimitive],
        *,
        step_s: float,
        camera: SceneCamera | None = None,
    ) -> None:
        self._scene, self._obstacles, self._camera = scene, tuple(obstacles), camera
        self._substeps = round(step_s / TIMESTEP_S)
        self._commanded = scene.positions
        self.touched: set[tuple[str, str]] = set()
        self.executed = 0
        self.holds = 0

    def now_s(self) -> float:
        """Returns the simulated time."""
        return self._scene.time_s

    def observe(self) -> RobotState:
        """Returns what the simulation measures now."""
        return RobotState(
            positions=self._scene.positions,
            velocities=self._scene.velocities,
            gripper_positions=self._scene.finger_positions,
            stamp_s=self._scene.time_s,
        )

    def world(self) -> World:
        """Returns the obstacles, seen now."""
        return World(primitives=self._obstacles, stamp_s=self._scene.time_s, world_id="table")

    def base_in_map(self) -> Pose6D | None:
        """Returns None: the arm stands on no map."""
        return None

    def execute(self, chunk: ActionChunk) -> None:
        """Leads the servos through the steps, in a straight line from each to the next, from where the arm is."""
        if chunk.mode != ControlMode.JOINT_POSITION:
            raise ROSConfigError(f"this arm executes joint positions, not mode {chunk.mode}")
        self._commanded = self._scene.positions  # the check began there, wherever the servos were sent before
        for row in chunk.rows:
            before = self._commanded
            for substep in range(1, self._substeps + 1):
                self._scene.command(before + (row - before) * (substep / self._substeps))
                self._step()
            self._commanded = row.copy()
            self.executed += 1

    def hold(self) -> None:
        """Keeps the servos where the arm is, until it has come to rest."""
        self.holds += 1
        self._commanded = self._scene.positions
        self.settle()

    def settle(self, seconds: float = 0.2) -> None:
        """Lets time pass, so that servos arrive where they were sent."""
        self._scene.command(self._commanded)
        for _ in range(round(seconds / TIMESTEP_S)):
            self._step()

    def view(self, camera: str) -> CameraView:
        """Returns what a camera sees now; without a camera it raises `ROSConfigError`."""
        if self._camera is None:
            raise ROSConfigError("this arm was made without a camera")
        return self._camera.view(self._scene.data, camera, stamp_s=self._scene.time_s)

    def _step(self) -> None:
        self._scene.step()
        found = self._scene.contacts()
        self.touched |= found.robot_world | found.robot_robot
