# SPDX-License-Identifier: Apache-2.0
"""Turns a camera to a point: an eye to look from, a posture that holds the camera there, a way to it, the motion."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lastgate.contracts import ROSPlanningError
from lastgate.contracts.action import RobotState
from lastgate.contracts.arrays import Float64
from lastgate.planning.skills.body import Body
from lastgate.planning.skills.camera import NEAREST_M, MountedCamera, find_camera
from lastgate.planning.skills.gated_motion import never_cancelled
from lastgate.planning.skills.goals import PoseGoal, build_look_at_goal
from lastgate.planning.skills.planner import MotionPlanner
from lastgate.planning.skills.sight import Sight
from lastgate.planning.skills.trajectory import Replay, Trajectory, replay_trajectory
from lastgate.world import NoWorld, World
from lastgate.world.finite_numbers import Vector3, require_positive, require_xyz
from lastgate.world.rigid_motion import composed

SKILL_ID = "look-at"
# Directions to look from, spread over the sphere; about 20 degrees apart.
DIRECTIONS = 96
# How far the camera goes away from the target when it cannot stay, unless the caller says: what arms of a metre reach.
STANDOFFS_M = (0.35, 0.5, 0.25)
# Seeds per eye: where the arm is, the middle of its range, and two more.
SEEDS_PER_EYE = 4
# Eyes with a clear posture that are handed to the search for a way.
POSTURES = 6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LookAtPlan:
    """A way to look at a target.

    Attributes:
        goal: The pose of the camera's link; roll is free, so the arm may end turned about the line of view.
        eye_xyz, target_xyz: From where, and what, in the base frame.
        trajectory: How to get there.
        off_axis_rad: By how much the line of view passes beside the target at its end.
        eyes_tried: How many places to look from were considered.
    """

    goal: PoseGoal
    eye_xyz: Vector3
    target_xyz: Vector3
    trajectory: Trajectory
    off_axis_rad: float
    eyes_tried: int

    @property
    def distance_m(self) -> float:
        """Distance of the camera from the target at the end."""
        return math.dist(self.eye_xyz, self.target_xyz)


def plan_look_at(
    planner: MotionPlanner,
    *,
    camera: str,
    target_xyz: Sequence[float],
    standoff_m: float | None = None,
    state: RobotState,
    world: World | NoWorld,
    now_s: float,
) -> LookAtPlan:
    """Returns a way to look at a target in the base frame.

    Without a stand-off the camera stays where it is, if it can be turned there and sees the target; else it goes to a
    place nearby. With one, it goes to that distance, from the direction nearest to its own.

    Raises:
        ROSConfigError: No such camera (the message lists the sensors), or numbers that are not finite.
        ROSPlanningError: No place to look from, no posture or no way; the message says which.
    """
    robot = planner.gate.robot
    mounted = find_camera(robot, camera)
    target = require_xyz(target_xyz, name="target_xyz")
    standoff = None if standoff_m is None else require_positive(standoff_m, name="standoff_m")
    eye = _optical_in_base(planner, mounted, state.positions)[:, 3]
    search = _Search(planner, camera, target, state=state, world=world)
    trajectory = None
    # Staying in place is what was asked for: going elsewhere is a way out, not a rival.
    for places in ([eye] if standoff is None else [], _eyes(eye, np.array(target), standoff)):
        if search.find_postures(places):
            try:
                trajectory = planner.plan_to(
                    [posture.configuration for posture in search.postures],
                    state=state,
                    world=world,
                    now_s=now_s,
                )
                break
            except ROSPlanningError as error:
                search.no_way = str(error)
    if trajectory is None:
        raise ROSPlanningError(search.why_not())
    reached = min(search.postures, key=lambda one: float(np.abs(one.configuration - trajectory.end).max()))
    x, y, z = reached.eye.tolist()
    return LookAtPlan(
        goal=reached.goal,
        eye_xyz=(x, y, z),
        target_xyz=target,
        trajectory=trajectory,
        off_axis_rad=off_axis_rad(planner, mounted, trajectory.end, np.array(target)),
        eyes_tried=search.tried,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Posture:
    goal: PoseGoal
    eye: Float64
    configuration: Float64


class _Search:
    """Looks for postures of the arm that hold the camera where it sees the target, and counts what was tried."""

    def __init__(
        self,
        planner: MotionPlanner,
        camera: str,
        target: Vector3,
        *,
        state: RobotState,
        world: World | NoWorld,
    ) -> None:
        self._planner, self._camera, self._target = planner, camera, target
        self._state, self._world, self._sight = state, world, Sight(world)
        self.postures: list[_Posture] = []
        self.tried = self._hidden = 0
        self.no_way: str | None = None

    def find_postures(self, places: Iterable[Float64]) -> bool:
        """Takes the first few places that will do, and tells whether there is one."""
        self.postures = []
        for place in places:
            if math.dist(place, self._target) < NEAREST_M:
                continue
            self.tried += 1
            if self._sight.hidden_by(np.array(self._target), place) is not None:
                self._hidden += 1
                continue
            goal = build_look_at_goal(
                self._planner.gate.robot, self._camera, eye_xyz=place.tolist(), target_xyz=self._target
            )
            found = self._planner.configurations_for(
                goal, state=self._state, world=self._world, seeds=SEEDS_PER_EYE
            )
            self.postures += [_Posture(goal=goal, eye=place, configuration=one) for one in found[:1]]
            if len(self.postures) >= POSTURES:
                break
        return bool(self.postures)

    def why_not(self) -> str:
        """Says why the camera cannot look at the target."""
        what = f"camera `{self._camera}` cannot look at {_words(self._target)}"
        if self.no_way is not None:
            return f"{what}: {self.no_way}"
        return (
            f"{what}: of {self.tried} places to look from, something hides the target from {self._hidden}, and no "
            "posture of the arm that is clear of everything holds it at the others"
        )


def look_at(
    planner: MotionPlanner,
    body: Body,
    *,
    camera: str,
    target_xyz: Sequence[float],
    standoff_m: float | None = None,
    is_cancelled: Callable[[], bool] = never_cancelled,
) -> tuple[LookAtPlan, Replay]:
    """Plans and moves: every step crosses the gate, from the state measured then.

    Raises:
        ROSConfigError, ROSPlanningError: See `plan_look_at`; nothing has moved.
        ROSSafetyViolation: The gate rejected a step; the robot holds where it got to.
        ROSMotionCancelled: The motion was taken back; the robot holds.
    """
    plan = plan_look_at(
        planner,
        camera=camera,
        target_xyz=target_xyz,
        standoff_m=standoff_m,
        state=body.observe(),
        world=body.world(),
        now_s=body.now_s(),
    )
    replay = replay_trajectory(
        plan.trajectory, gate=planner.gate, body=body, rskill_id=SKILL_ID, is_cancelled=is_cancelled
    )
    return plan, replay


def off_axis_rad(
    planner: MotionPlanner, mounted: MountedCamera, configuration: Float64, target_xyz: Float64
) -> float:
    """Returns the angle between the line of view and the target, by the core's own kinematics."""
    optical = _optical_in_base(planner, mounted, configuration)
    view = target_xyz - optical[:, 3]
    crossed = float(np.linalg.norm(np.cross(optical[:, 2], view)))
    return math.atan2(crossed, float(optical[:, 2] @ view))


def _optical_in_base(planner: MotionPlanner, mounted: MountedCamera, configuration: Float64) -> Float64:
    link = planner.gate.link_poses(np.array(configuration))[mounted.link]
    return composed(link, mounted.optical_in_link)


def _eyes(eye: Float64, target: Float64, standoff_m: float | None) -> Iterator[Float64]:
    """Yields places to look from other than the present one, in the order in which they are wanted."""
    away = eye - target
    length_m = float(np.linalg.norm(away))
    view = away / length_m if length_m > 0.0 else np.array([0.0, 0.0, 1.0])
    directions = _spread(DIRECTIONS)
    ordered = [view, *directions[np.argsort(-(directions @ view), kind="stable")]]
    # A camera that may go anywhere keeps its distance, if an arm's length is not below it.
    kept_m = [length_m] if NEAREST_M <= length_m <= max(STANDOFFS_M) else []
    distances_m = [standoff_m] if standoff_m is not None else [*kept_m, *STANDOFFS_M]
    for distance_m in distances_m:
        for direction in ordered:
            yield target + distance_m * direction


def _spread(count: int) -> Float64:
    """Returns unit vectors spread over the sphere along a spiral of golden angles."""
    height = 1.0 - (2.0 * np.arange(count) + 1.0) / count
    around = np.arange(count) * math.pi * (3.0 - math.sqrt(5.0))
    width = np.sqrt(1.0 - height**2)
    return np.column_stack([width * np.cos(around), width * np.sin(around), height])


def _words(place: Sequence[float]) -> str:
    return "(" + ", ".join(f"{number:.3f}" for number in place) + ")"
