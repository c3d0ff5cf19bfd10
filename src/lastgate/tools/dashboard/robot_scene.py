# SPDX-License-Identifier: Apache-2.0
"""Where the robot's volumes are: the same kinematics and the same volumes as the gate's, placed for the page."""

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from lastgate import _core
from lastgate.contracts import ControlMode, RobotDescription
from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.contracts.arrays import Float64
from lastgate.gate import Gate
from lastgate.gate.naming import VerdictNames
from lastgate.gate.verdict import Verdict, Violation
from lastgate.robots.kernel_config import flat_config
from lastgate.tools.telemetry.moment import moment_of
from lastgate.world import NoWorld, World

# Only to draw: neither volumes nor frames depend on the time step.
_STEP_S = 0.02
# A path is a line through so many of its steps; the eye sees no more.
PATH_POINTS_MAX = 48
_JOINT_ROWS = (ControlMode.JOINT_POSITION, ControlMode.JOINT_TRAJECTORY)


class RobotScene:
    """Places the volumes of one robot; safe to use from several threads.

    Args:
        robot: Must be the one the verdicts are about.
        gate: Used for its kinematics; one is made when not given.

    Raises:
        ROSConfigError: The robot cannot be armed.
    """

    def __init__(self, robot: RobotDescription, *, gate: Gate | None = None) -> None:
        self.robot = robot
        self.gate = gate or Gate(robot, step_s=_STEP_S)
        self._picture_gate: Gate | None = None
        self._lock = threading.Lock()
        config = _core.read_config(flat_config(robot, step_s=_STEP_S))
        self._names = VerdictNames(config=config, attachments={})
        self._links = config.link_names
        self._volume_link = np.array(config.volume_link, dtype=int)
        self._ends = np.array(config.volume_ends_m).reshape(-1, 2, 3)
        self._radius_m = np.array(config.volume_radius_m)
        tools = np.array(config.effector_tool_xyzrpy).reshape(-1, 6)[:, :3]
        effectors = list(zip((int(link) for link in config.effector_link), tools, strict=True))
        self._tools = effectors or [(len(self._links) - 1, np.zeros(3))]
        self.state_age_s_max = config.state_age_s_max
        self.world_age_s_max = config.world_age_s_max

    def volumes_json(self) -> dict[str, Any]:
        """Returns what does not move: which link each volume belongs to, and how thick it is."""
        return {
            "name": self.robot.name,
            "links": [self._links[index] for index in self._volume_link],
            "radius_m": [round(float(radius), 5) for radius in self._radius_m],
            "state_age_s_max": self.state_age_s_max,
            "world_age_s_max": self.world_age_s_max,
        }

    def arranged(self, measured: Mapping[str, float]) -> tuple[Float64, Float64] | None:
        """Returns joint and gripper positions in the gate's order; None while a joint of the steps is missing."""
        joints = [measured.get(name) for name in self.gate.joint_names]
        if any(position is None or not np.isfinite(position) for position in joints):
            return None
        fingers = [measured.get(name, 0.0) for name in self.gate.gripper_joint_names]
        return np.array(joints, dtype=np.float64), np.nan_to_num(np.array(fingers, dtype=np.float64))

    def placed(self, positions: Float64, gripper_positions: Float64) -> list[float]:
        """Returns six numbers per volume: both ends of its segment, in the base frame."""
        return _rounded(self._placed(positions[np.newaxis], gripper_positions[np.newaxis])[0])

    def along(self, path: Float64) -> tuple[list[list[float]], list[list[float]]]:
        """Returns per row of a path, as `Verdict.path` has them, the placed volumes, and 12 numbers per link: its pose.

        The base frame is that of the first row.
        """
        with self._lock:
            frames = self.gate.link_poses_on_path(np.ascontiguousarray(path))
        poses = np.stack([frames[link] for link in self._links], axis=1)
        return [_rounded(row) for row in self._placed_in(frames)], [_rounded(row) for row in poses]

    @property
    def link_names(self) -> list[str]:
        """Names of the links, in the order of their poses."""
        return list(self._links)

    def candidate_json(
        self, rows: Float64, violation: Violation | None, *, start: Float64, gripper_positions: Float64
    ) -> dict[str, Any] | None:
        """Returns the path of each tool through the steps, and the robot where it ends or where it is blamed.

        None for steps that are not joint positions of this robot, or not finite: there is nothing to draw.
        """
        if rows.ndim != 2 or rows.shape[1] != self.gate.n_dof or not len(rows) or not np.isfinite(rows).all():
            return None
        positions = np.vstack([start[np.newaxis], rows])
        fingers = np.tile(gripper_positions, (len(positions), 1))
        return self.path_json(self.gate.as_path(positions, gripper_positions=fingers), violation)

    def path_json(self, path: Float64, violation: Violation | None) -> dict[str, Any]:
        """Returns the same for rows like those of `Verdict.path`, the first of which is the measured state."""
        chosen = np.unique(np.linspace(0, len(path) - 1, PATH_POINTS_MAX).round().astype(int))
        if violation is None or violation.step is None:
            step, moment = len(path) - 2, path[-1]
        else:
            step, moment = min(violation.step, len(path) - 2), moment_of(violation, path)
        with self._lock:
            frames = self.gate.link_poses_on_path(np.vstack([path[chosen], moment]))
        tools = [self._moved(frames[self._links[link]][:-1], tool) for link, tool in self._tools]
        names = () if violation is None else (violation.subject, violation.against)
        return {
            "paths": [_rounded(points) for points in tools],
            "ghost": _rounded(self._placed_in({link: poses[-1:] for link, poses in frames.items()})[0]),
            "blamed": [index for index, link in enumerate(self._volume_link) if self._links[link] in names],
            "step": step,
            "rows": len(path) - 1,
            "witness": None
            if violation is None or violation.witness_a is None or violation.witness_b is None
            else _rounded(np.array([violation.witness_a, violation.witness_b])),
        }

    def joint_rows(self, chunk: ActionChunk) -> Float64 | None:
        """Returns the steps of a chunk that says where its joints go; None for the other modes."""
        return chunk.rows if chunk.mode in _JOINT_ROWS else None

    def verdict(
        self,
        native: _core.Verdict,
        *,
        chunk: ActionChunk,
        world: World | NoWorld | None,
        model_digest: str,
    ) -> Verdict:
        """Puts names to the verdict of a kernel."""
        violation = None if native.accepted else self._names.violation(native, chunk=chunk, world=world)
        return Verdict(
            native=native,
            chunk=chunk,
            violation=violation,
            joint_rows=np.empty((0, self.gate.n_dof)),
            world_id="" if world is None else world.world_id,
            model_digest=model_digest,
        )

    def picture(
        self, verdict: Verdict, *, chunk: ActionChunk, state: RobotState, world: World | NoWorld | None
    ) -> bytes:
        """Draws a rejection, as PNG. Takes about a second."""
        from lastgate.tools.telemetry.rejection_report import rejection_report

        if self._picture_gate is None:
            self._picture_gate = Gate(self.robot, step_s=_STEP_S)
        return rejection_report(self._picture_gate, verdict, chunk=chunk, state=state, world=world).png()

    def _placed(self, rows: Float64, fingers: Float64) -> Float64:
        with self._lock:
            frames = self.gate.link_poses_batch(np.ascontiguousarray(rows), gripper_positions=fingers)
        return self._placed_in(frames)

    def _placed_in(self, frames: Mapping[str, Float64]) -> Float64:
        stacked = np.stack([frames[link] for link in self._links], axis=1)[:, self._volume_link]
        return np.einsum("nvij,vej->nvei", stacked[..., :3], self._ends) + stacked[..., np.newaxis, :, 3]

    @staticmethod
    def _moved(frames: Float64, tool: Float64) -> Float64:
        return frames[..., :3] @ tool + frames[..., 3]


def _rounded(numbers: Float64) -> list[float]:
    """Returns the numbers in a row, to a tenth of a millimetre; JSON has no infinity."""
    return np.nan_to_num(numbers.ravel(), posinf=0.0, neginf=0.0).round(4).tolist()
