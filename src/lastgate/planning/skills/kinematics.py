# SPDX-License-Identifier: Apache-2.0
# Pinocchio is a native module without type information.
# pyright: reportAttributeAccessIssue=false
"""Joint positions that bring a link to a pose, by Pinocchio; the joints and their frames are the manifest's."""

from collections.abc import Iterator

import numpy as np

from lastgate.contracts import JointSpec, RobotDescription, ROSConfigError
from lastgate.contracts.arrays import Float64
from lastgate.contracts.extras import install_command
from lastgate.gate import Gate
from lastgate.planning.skills.goals import PoseGoal
from lastgate.world.rigid_motion import composed, motion_of_xyz_rpy

try:
    import pinocchio as pin
except ModuleNotFoundError:
    raise ROSConfigError(f"inverse kinematics needs Pinocchio: {install_command('look-at')}") from None

# A micrometre, and as much at a metre: far below what any camera or servo resolves, and one Newton step away.
ANGLE_RAD_MAX = 1e-6
PLACE_M_MAX = 1e-6
# Newton's method ends in ten steps where it ends well; a search that walks along its limits needs some more.
STEPS_MAX = 80
STEP_MAX = 0.3
# A search that has not come nearer for so long is at a limit or out of reach.
STALLED_STEPS = 12
# Keeps steps finite near singular postures. It fades with the error, so that the end is approached as fast as undamped.
DAMPING = 0.05


class Chain:
    """The joints that carry a link, from the base to it.

    Args:
        gate: Says in which order its steps hold the joints.
        link: The last link.

    Raises:
        ROSConfigError: No joint of a step carries the link, or one carries it that a step does not place on its own.
    """

    def __init__(self, gate: Gate, link: str) -> None:
        path = _joints_to(gate.robot, link)
        moving = [joint for joint in path if joint.is_moving]
        for joint in moving:
            if joint.name not in gate.joint_names:
                raise ROSConfigError(
                    f"link `{link}` hangs on joint `{joint.name}`, which a joint step does not place: it belongs to a "
                    "gripper or follows another joint"
                )
        if not moving:
            raise ROSConfigError(f"no joint of robot `{gate.robot.name}` moves link `{link}`")
        self.link = link
        self.columns = np.array([gate.joint_names.index(joint.name) for joint in moving])
        limits = [joint.position_limits or (-np.inf, np.inf) for joint in moving]
        self.lower, self.upper = np.array(limits, dtype=np.float64).T
        self._model, self._frame = _pinocchio_model(path, link)
        self._shoulder, self._reach_m = self._reach(moving)
        self._data = self._model.createData()

    def link_in_base(self, configuration: Float64) -> Float64:
        """Returns the link's 3 x 4 motion at a configuration of the whole robot."""
        pin.forwardKinematics(self._model, self._data, configuration[self.columns])
        return pin.updateFramePlacement(self._model, self._data, self._frame).homogeneous[:3].copy()

    def solve(self, goal: PoseGoal, seed: Float64) -> Float64 | None:
        """Returns a configuration inside the limits that meets a goal, near a seed, or None if none was found."""
        if not self._is_within_reach(goal):
            return None
        q = np.clip(seed[self.columns], self.lower, self.upper)
        task = _Task(goal)
        best, best_step = np.inf, 0
        for step in range(STEPS_MAX):
            pin.computeJointJacobians(self._model, self._data, q)
            at = pin.updateFramePlacement(self._model, self._data, self._frame)
            error = task.error(at.rotation, at.translation)
            if np.linalg.norm(error[:3]) <= PLACE_M_MAX and np.linalg.norm(error[3:]) <= ANGLE_RAD_MAX:
                found = seed.copy()
                found[self.columns] = q
                return found
            off = float(np.linalg.norm(error))
            if off < 0.99 * best:
                best, best_step = off, step
            elif step - best_step >= STALLED_STEPS:
                return None
            local = pin.getFrameJacobian(self._model, self._data, self._frame, pin.ReferenceFrame.LOCAL)
            q = self._stepped(q, task.jacobian(local), error)
        return None

    def _reach(self, moving: list[JointSpec]) -> tuple[Float64, float]:
        """Returns where the first joint is, and how far from there the link's origin can be at most."""
        steps = [self._model.jointPlacements[index + 2].translation for index in range(len(moving) - 1)]
        steps.append(self._model.frames[self._frame].placement.translation)
        slides = [
            max(abs(low), abs(high))
            for joint, low, high in zip(moving, self.lower, self.upper, strict=True)
            if joint.joint_type == "prismatic"
        ]
        reach_m = sum(float(np.linalg.norm(step)) for step in steps) + sum(map(float, slides))
        return self._model.jointPlacements[1].translation.copy(), reach_m

    def _is_within_reach(self, goal: PoseGoal) -> bool:
        away_m = float(np.linalg.norm(goal.point_in_base - self._shoulder))
        return away_m <= self._reach_m + float(np.linalg.norm(goal.point_in_link)) + PLACE_M_MAX

    def _stepped(self, q: Float64, jacobian: Float64, error: Float64) -> Float64:
        """Takes a damped Newton step; joints that would leave their limits stay, and the others do it without them."""
        damping = (DAMPING * min(1.0, float(np.linalg.norm(error)))) ** 2 + 1e-12
        free = np.ones(len(q), dtype=bool)
        step = np.zeros(len(q))
        for _ in range(len(q)):
            some = jacobian * free
            step = some.T @ np.linalg.solve(some @ some.T + damping * np.eye(len(error)), error)
            step *= min(1.0, STEP_MAX / max(float(np.abs(step).max()), 1e-300))
            beyond = free & (((q <= self.lower) & (step < 0.0)) | ((q >= self.upper) & (step > 0.0)))
            if not beyond.any():
                break
            free &= ~beyond
        return np.clip(q + step * free, self.lower, self.upper)

    def seeds(self, near: Float64, *, count: int, rng: np.random.Generator) -> Iterator[Float64]:
        """Yields where to begin: near, the middle of the limits, then at random; unlimited joints within a turn."""
        lower = np.where(np.isfinite(self.lower), self.lower, near[self.columns] - np.pi)
        upper = np.where(np.isfinite(self.upper), self.upper, near[self.columns] + np.pi)
        for index in range(count):
            seed = near.copy()
            if index == 1:
                seed[self.columns] = 0.5 * (lower + upper)
            elif index > 1:
                seed[self.columns] = rng.uniform(lower, upper)
            yield seed


class _Task:
    """The task of a link: three numbers for the point, and two or three for the turn, in the link's axes."""

    def __init__(self, goal: PoseGoal) -> None:
        self._point, self._point_in_base = np.array(goal.point_in_link), goal.point_in_base
        self._rotation = goal.link_in_base[:, :3]
        self._axis = None if goal.free_axis_in_link is None else np.array(goal.free_axis_in_link)
        across = np.eye(3)
        if self._axis is not None:
            # Two directions across the free axis: turns about the axis itself are left out.
            across = np.linalg.svd(self._axis[np.newaxis])[2][1:]
        self._across = across

    def error(self, rotation: Float64, translation: Float64) -> Float64:
        place = rotation.T @ (self._point_in_base - translation) - self._point
        if self._axis is None:
            turn = pin.log3(rotation.T @ self._rotation)
        else:
            wanted = rotation.T @ (self._rotation @ self._axis)
            crossed = np.cross(self._axis, wanted)
            sine, cosine = float(np.linalg.norm(crossed)), float(self._axis @ wanted)
            if sine > 1e-12:
                turn = crossed * (np.arctan2(sine, cosine) / sine)
            else:
                # Looking exactly backwards, any way round is the shortest.
                turn = np.zeros(3) if cosine > 0.0 else np.pi * self._across[0]
        return np.concatenate([place, self._across @ turn])

    def jacobian(self, local: Float64) -> Float64:
        x, y, z = self._point
        shift = np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]])
        return np.vstack([local[:3] + shift @ local[3:], self._across @ local[3:]])


def _joints_to(robot: RobotDescription, link: str) -> list[JointSpec]:
    above = {joint.child_link: joint for joint in robot.joints}
    path: list[JointSpec] = []
    while link in above:
        path.append(above[link])
        link = above[link].parent_link
    return path[::-1]


def _pinocchio_model(path: list[JointSpec], link: str) -> tuple["pin.Model", int]:
    model = pin.Model()
    parent, offset = 0, np.eye(3, 4)
    for joint in path:
        offset = composed(offset, motion_of_xyz_rpy((*joint.origin_xyz, *joint.origin_rpy)))
        if not joint.is_moving:
            continue
        kind = (
            pin.JointModelPrismaticUnaligned
            if joint.joint_type == "prismatic"
            else pin.JointModelRevoluteUnaligned
        )
        # A manifest's axis is of unit length to 1e-6; Pinocchio wants more.
        axis = np.array(joint.axis_xyz) / np.linalg.norm(joint.axis_xyz)
        parent = model.addJoint(parent, kind(axis), pin.SE3(offset[:, :3], offset[:, 3]), joint.name)
        offset = np.eye(3, 4)
    frame = pin.Frame(link, parent, pin.SE3(offset[:, :3], offset[:, 3]), pin.FrameType.OP_FRAME)
    return model, model.addFrame(frame)
