# SPDX-License-Identifier: Apache-2.0
"""The tools of an agent: some look things up, some move the robot, and what moves crosses the gate."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from pydantic import ValidationError

from lastgate.contracts import ApproachViewpoint, Pose6D, ROSConfigError, config_error_from
from lastgate.contracts.arrays import Float64
from lastgate.gate import Gate
from lastgate.integrations.agent.answers import (
    BLOCKED,
    DriveAnswer,
    GazeAnswer,
    LocateAnswer,
    MotionAnswer,
    PlaceAnswer,
    RecallAnswer,
    RecalledObject,
)
from lastgate.integrations.agent.kernel_latch import KernelLatch
from lastgate.integrations.agent.labels import require_label
from lastgate.integrations.agent.spatial_memory import ObjectSighting, SpatialMemory
from lastgate.integrations.agent.view import CameraView, Detector
from lastgate.planning.approach import compute_approach_viewpoint, compute_gaze_pose, refine_approach_pose
from lastgate.planning.approach.refine import INFLATION_M_DEFAULT
from lastgate.planning.approach.viewpoint import yaw_of
from lastgate.planning.skills import (
    Body,
    MotionPlanner,
    build_joint_goal,
    build_pose_goal,
    look_at,
    navigate_to,
    replay_trajectory,
)
from lastgate.planning.skills.gated_motion import never_cancelled
from lastgate.world import FloorMap, OccupancyGridIndex, World
from lastgate.world.finite_numbers import require_finite, require_positive, require_xyz
from lastgate.world.rigid_motion import composed, inverse, moved, pose_of_motion, require_rigid_motion

# From where an arm of a metre sees a table-top over the edge of the base that carries it.
STANDOFF_M = 0.8


@runtime_checkable
class SeeingBody(Body, Protocol):
    """A robot with cameras."""

    def view(self, camera: str) -> CameraView:
        """Returns what a camera sees now, in the map's frame, or in the base frame of a robot on no map."""
        ...


class AgentTools:
    """The tools, for one robot; it belongs to one thread.

    Args:
        memory: Where things were seen.
        gate: What every motion crosses.
        body: The robot; without one, the tools that move or look refuse.
        detector: Finds things in images; without one, `locate_in_view` refuses.
        grid: The map, for a robot whose world carries none; None asks the body.
        standoff_m: How far from a thing the base stands to see it, if the map allows.
        is_cancelled: Asked before every chunk; True makes the robot hold.
        kernel: Whose latch stops the tools; None takes every kernel of the robot that runs on this machine.

    Where a kernel of the robot runs on this machine, nothing moves unless it is active: it is asked before every plan
    and every chunk, and a latched or lost one makes the robot hold with its reason.
    """

    def __init__(
        self,
        memory: SpatialMemory,
        gate: Gate,
        *,
        body: Body | None = None,
        detector: Detector | None = None,
        grid: OccupancyGridIndex | None = None,
        standoff_m: float = STANDOFF_M,
        is_cancelled: Callable[[], bool] = never_cancelled,
        kernel: KernelLatch | None = None,
    ) -> None:
        self.memory, self.gate, self.detector = memory, gate, detector
        self.body = body
        self._grid = grid
        self._standoff_m = require_positive(standoff_m, name="standoff_m")
        self._latch = KernelLatch(gate.robot.name) if kernel is None else kernel
        self._was_taken_back = is_cancelled
        self._planner = MotionPlanner(gate)

    # ---- Looking things up ----------------------------------------------------------------------------

    def recall_object(self, label: str, limit: int = 3) -> RecallAnswer:
        """Returns where a thing was seen, and a pose to see it from that the map allows, or that it is blocked.

        Raises:
            ROSObjectNotInMemory: It was never seen.
        """
        now_s = None if self.body is None else self.body.now_s()
        return RecallAnswer(
            matches=tuple(
                self._recalled(sighting, now_s) for sighting in self.memory.recall(label, limit=limit)
            )
        )

    def resolve_place(self, name: str) -> PlaceAnswer:
        """Returns the pose of a named place, and whether the map allows to stand there.

        Raises:
            ROSObjectNotInMemory: No place has that name, or several do.
        """
        place = self.memory.resolve_place(name)
        floor_map = self._floor_map()
        if floor_map is None or self.body is None:
            free, note = self._is_free_on_grid(place.pose)
            return PlaceAnswer(name=place.name, pose=place.pose, free=free, note=note)
        answer = self.gate.check_nav_goal(place.pose, floor_map=floor_map, now_s=self.body.now_s())
        return PlaceAnswer(name=place.name, pose=place.pose, free=answer.ok, note=answer.reason)

    def locate_in_view(self, query: str, camera: str) -> LocateAnswer:
        """Returns what a camera sees of a thing at this moment.

        Raises:
            ROSConfigError: There is no robot that sees, no detector, or no such camera.
        """
        asked = require_label(query, name="query")
        body = self._seeing_body()
        if self.detector is None:
            raise ROSConfigError("no detector was given: nothing can be found in images")
        found = tuple(self.detector.detect(asked, body.view(camera)))
        note = f"{len(found)} in view" if found else f"`{asked}` is not in the view of camera `{camera}`"
        return LocateAnswer(found=bool(found), camera=camera, detections=found, note=note)

    def remember_object(self, query: str, camera: str) -> LocateAnswer:
        """Looks for a thing, and keeps where it is seen, by the label it is found under; moves nothing."""
        answer = self.locate_in_view(query, camera)
        for one in answer.detections:
            if one.xyz is not None:
                self.memory.remember(
                    ObjectSighting(
                        label=one.label,
                        pose=Pose6D(xyz=one.xyz, frame_id=one.frame_id),
                        stamp_s=one.stamp_s,
                        confidence=one.confidence,
                    )
                )
        return answer

    # ---- Moving ---------------------------------------------------------------------------------------

    def navigate_to(self, x: float, y: float, yaw: float) -> DriveAnswer:
        """Drives the base to a pose on the map; see `lastgate.planning.skills.navigate_to` for what it raises."""
        body = self._moving_body()
        floor_map = self._floor_map()
        frame_id = "map" if floor_map is None else floor_map.grid.frame_id
        x, y, yaw = (require_finite(value, name=name) for name, value in (("x", x), ("y", y), ("yaw", yaw)))
        goal = Pose6D(
            xyz=(x, y, 0.0),
            quat_xyzw=(0.0, 0.0, math.sin(yaw / 2.0), math.cos(yaw / 2.0)),
            frame_id=frame_id,
        )
        drive = navigate_to(goal, gate=self.gate, body=body, is_cancelled=self._is_cancelled)
        return DriveAnswer(pose=drive.pose, corners_xy=drive.corners_xy, chunks_through_gate=drive.chunks)

    def look_at(
        self, target_xyz: Sequence[float], camera: str, standoff_m: float | None = None
    ) -> GazeAnswer:
        """Turns a camera to a point on the map, or in the base frame of a robot on none.

        See `lastgate.planning.skills.look_at` for what it raises.
        """
        body = self._moving_body()
        target = require_xyz(target_xyz, name="target_xyz")
        base_in_map, frame_id = self._base(body)
        (in_base,) = moved(np.array([target]), inverse(base_in_map))
        plan, replay = look_at(
            self._planner,
            body,
            camera=camera,
            target_xyz=in_base.tolist(),
            standoff_m=standoff_m,
            is_cancelled=self._is_cancelled,
        )
        gaze = require_rigid_motion(
            compute_gaze_pose(plan.eye_xyz, plan.target_xyz, view_axis="+z", frame_id=""), name="gaze"
        )
        return GazeAnswer(
            camera=camera,
            target_xyz=target,
            camera_pose=pose_of_motion(composed(base_in_map, gaze), frame_id=frame_id),
            distance_m=plan.distance_m,
            off_axis_rad=plan.off_axis_rad,
            waypoints_through_gate=replay.waypoints,
        )

    def execute(self, skill: str, goal_params: Mapping[str, Any]) -> MotionAnswer | GazeAnswer:
        """Runs one of the skills by name with the parameters that its manifest describes.

        Raises:
            ROSConfigError: No such skill, or parameters that are not its own.
        """
        builders = {
            "move-joints": self._move_joints,
            "move-to-pose": self._move_to_pose,
            "look-at": self.look_at,
        }
        if skill not in builders:
            raise ROSConfigError(f"there is no skill `{skill}`; skills: {', '.join(builders)}")
        if not isinstance(goal_params, Mapping):
            raise ROSConfigError(f"goal_params must be a mapping, got {type(goal_params).__name__}")
        needed, optional = _PARAMETERS[skill]
        given = set(goal_params)
        if not needed <= given <= needed | optional:
            raise ROSConfigError(
                f"skill `{skill}` takes {', '.join(sorted(needed))}"
                + (f" and may take {', '.join(sorted(optional))}" if optional else "")
                + f", got {', '.join(sorted(map(str, given))) or 'nothing'}"
            )
        return builders[skill](**goal_params)

    def _move_joints(self, positions: Mapping[str, float]) -> MotionAnswer:
        return self._move("move-joints", build_joint_goal(self.gate.robot, positions))

    def _move_to_pose(self, link: str, xyz: Sequence[float], quat_xyzw: Sequence[float]) -> MotionAnswer:
        try:
            pose = Pose6D.model_validate({"xyz": xyz, "quat_xyzw": quat_xyzw})
        except ValidationError as error:
            raise config_error_from(error, source="move-to-pose") from None
        return self._move("move-to-pose", build_pose_goal(self.gate.robot, link, pose))

    def _move(self, skill: str, goal: Any) -> MotionAnswer:
        body = self._moving_body()
        trajectory = self._planner.plan(goal, state=body.observe(), world=body.world(), now_s=body.now_s())
        replay = replay_trajectory(
            trajectory, gate=self.gate, body=body, rskill_id=skill, is_cancelled=self._is_cancelled
        )
        positions = dict(zip(self.gate.joint_names, body.observe().positions.tolist(), strict=True))
        return MotionAnswer(skill=skill, waypoints_through_gate=replay.waypoints, positions=positions)

    # ---- What they stand on ---------------------------------------------------------------------------

    def _recalled(self, sighting: ObjectSighting, now_s: float | None) -> RecalledObject:
        approach, note = self._approach(sighting.pose)
        return RecalledObject(
            label=sighting.label,
            pose=sighting.pose,
            stamp_s=sighting.stamp_s,
            age_s=None if now_s is None else now_s - sighting.stamp_s,
            confidence=sighting.confidence,
            approach=approach,
            approach_xy_yaw=None if approach is None else (*approach.pose.xyz[:2], yaw_of(approach.pose)),
            approach_note=note,
        )

    def _approach(self, pose: Pose6D) -> tuple[ApproachViewpoint | None, str]:
        here = None if self.body is None else self.body.base_in_map()
        from_xy = None if here is None else here.xyz[:2]
        ideal = compute_approach_viewpoint(
            pose.xyz, from_xy, standoff_m=self._standoff_m, frame_id=pose.frame_id
        )
        floor_map = self._floor_map()
        grid = self._grid if floor_map is None else floor_map.grid
        if grid is None:
            return ideal, "by geometry alone: there is no map"
        if pose.frame_id != grid.frame_id:
            return (
                None,
                f"no approach: it was seen in frame `{pose.frame_id}`, the map is in `{grid.frame_id}`",
            )
        robot = self.gate.robot
        refined = refine_approach_pose(
            grid,
            ideal,
            pose.xyz,
            inflation_m=robot.footprint_radius or INFLATION_M_DEFAULT,
            footprint_xy=robot.footprint_polygon,
            reachable_from_xy=from_xy,
            now_s=None if self.body is None or floor_map is None else self.body.now_s(),
            age_s_max=None if self.body is None or floor_map is None else floor_map.age_s_max,
        )
        if refined is None:
            return None, BLOCKED
        return (
            refined,
            "the ideal pose is free and sees it" if refined is ideal else "moved to the nearest free pose",
        )

    def _is_free_on_grid(self, pose: Pose6D) -> tuple[bool | None, str]:
        grid, robot = self._grid, self.gate.robot
        if grid is None:
            return None, "there is no map: whether it is free is unknown"
        if pose.frame_id != grid.frame_id:
            return None, f"the place is in frame `{pose.frame_id}`, the map in `{grid.frame_id}`"
        x, y, _ = pose.xyz
        if robot.footprint_polygon is not None:
            free = grid.is_footprint_free(robot.footprint_polygon, x=x, y=y, yaw=yaw_of(pose))
        else:
            free = grid.is_free(x, y, inflation_m=robot.footprint_radius or INFLATION_M_DEFAULT)
        return free, "touches free cells only" if free else "touches what is occupied, unknown or off the map"

    def _floor_map(self) -> FloorMap | None:
        world = None if self.body is None else self.body.world()
        return world.floor_map if isinstance(world, World) else None

    def _base(self, body: Body) -> tuple[Float64, str]:
        here = body.base_in_map()
        if here is None:
            return np.eye(3, 4), ""
        return require_rigid_motion(here, name="base_in_map"), here.frame_id

    def _is_cancelled(self) -> bool:
        self._latch.require_clear()
        return self._was_taken_back()

    def _moving_body(self) -> Body:
        if self.body is None:
            raise ROSConfigError(
                "there is no robot to move: the tools were started for looking things up only"
            )
        self._latch.require_clear()
        return self.body

    def _seeing_body(self) -> SeeingBody:
        if not isinstance(self.body, SeeingBody):
            raise ROSConfigError("there is no robot that sees: no camera can be asked")
        return self.body


# As the manifests of the skills say; a test holds them together.
_PARAMETERS: dict[str, tuple[set[str], set[str]]] = {
    "move-joints": ({"positions"}, set()),
    "move-to-pose": ({"link", "xyz", "quat_xyzw"}, set()),
    "look-at": ({"target_xyz", "camera"}, {"standoff_m"}),
}
