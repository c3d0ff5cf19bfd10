# SPDX-License-Identifier: Apache-2.0
"""Poses that a robot can move between without touching anything, and detours from them that are faults.

Clean legs keep a clearance on top of the gate's margin, so that rounding to float32 cannot turn one into a finding. The
oracle tests hold the Panda's legs and detours against its meshes in MuJoCo.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from lastgate.contracts import (
    HalfSpaceShape,
    Pose6D,
    RobotDescription,
    ROSPlanningError,
    RSkillManifest,
    SafetyEnvelope,
    SphereShape,
    WorldCollisionPrimitive,
)
from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.contracts.arrays import Float64
from lastgate.gate import Gate
from lastgate.robots.kernel_config import capsule_ends
from lastgate.tools.audit.fault_labels import PlantedFault
from lastgate.tools.audit.synth.motion import PEAK_SLOPE, rest_to_rest, rows_between
from lastgate.world import World

CLEARANCE_M = 0.005
POSES = 24
NEIGHBOURS = 6
DETOURS_PER_FAULT = 3
# Of the joints' limits: clean motion is well below them, a swing just below; slower where the tool has a limit too.
CLEAN_SPEED_SHARES = (0.5, 0.25, 0.1, 0.05, 0.02)
SWING_SPEED_SHARES = (0.95, 0.6, 0.35, 0.2, 0.1)
SPEED_CODES = ("joint_acceleration_limit", "ee_speed", "ee_angular_speed", "ee_acceleration")
SWING_TRAVEL_MAX = 2.0
SWING_ROWS = 7  # odd, so that the fastest moment lies between two steps
BEAD_RADIUS_M = 0.002
BEAD_PLACES_MAX = 8
FLOOR_Z_M = -0.05
LIMIT_APPROACH = 0.01
LIMIT_OVERSHOOT = 0.05
SEARCH_MAX = 4_000
ROWS_PER_CHECK = 200


@dataclass(frozen=True, slots=True, eq=False)
class Detour:
    """A geometric fault: steps that leave from one pose of the roadmap and end at another, or the same.

    Attributes:
        rows: From the pose `start` on; the last one is the pose `end`.
        first_row: The first of them that breaks the rule, or is reached through breaking it.
        last_row: The last one.
    """

    start: int
    end: int
    rows: Float64
    first_row: int
    last_row: int


@dataclass(slots=True, eq=False)
class Roadmap:
    """The poses, legs and faults that episodes are made of.

    Attributes:
        poses: (P, n_dof).
        neighbours: Which poses each pose has a clean straight leg to.
        detours: The planted geometry, by kind.
        obstacles: The world, in the robot's base frame.
        gripper: Where the gripper's joints stand throughout.
        speed_share: Of the joints' limits: how fast clean legs are.
    """

    gate: Gate
    poses: Float64
    gripper: Float64
    obstacles: tuple[WorldCollisionPrimitive, ...]
    speed_share: float
    neighbours: list[list[int]] = field(default_factory=list)
    detours: dict[PlantedFault, list[Detour]] = field(default_factory=dict)

    def leg(self, start: int, goal: int) -> Float64:
        """Returns the rows of the clean leg between two neighbours."""
        return slow_leg(self.gate, self.poses[start], self.poses[goal], self.speed_share)

    def route(self, start: int, goal: int) -> list[int]:
        """Returns the fewest poses from one to another, without the first."""
        before = {start: start}
        queue = deque([start])
        while queue and goal not in before:
            here = queue.popleft()
            for there in self.neighbours[here]:
                if there not in before:
                    before[there] = here
                    queue.append(there)
        if goal not in before:
            raise ROSPlanningError(f"no way from pose {start} to pose {goal}")
        way = []
        while goal != start:
            way.append(goal)
            goal = before[goal]
        return way[::-1]


def slow_leg(gate: Gate, start: Float64, goal: Float64, speed_share: float) -> Float64:
    """Returns the rows after `start` to `goal`, at a share of the joints' limits."""
    return rest_to_rest(
        start,
        goal,
        step_s=gate.step_s,
        speed_max=speed_share * speeds_of(gate),
        acceleration_max=speed_share * accelerations_of(gate),
    )


def speeds_of(gate: Gate) -> Float64:
    """Returns the speed limit of every joint of a row."""
    return np.array([_spec(gate, name).velocity_limit for name in gate.joint_names], dtype=np.float64)


def accelerations_of(gate: Gate) -> Float64:
    """Returns the acceleration limit of every joint of a row; infinite where none is declared."""
    limits = [_spec(gate, name).acceleration_limit for name in gate.joint_names]
    return np.array([np.inf if limit is None else limit for limit in limits])


def position_limits_of(gate: Gate) -> Float64:
    """Returns lower and upper position limits, (n_dof, 2); a joint without limits turns once each way."""
    limits = [_spec(gate, name).position_limits for name in gate.joint_names]
    return np.array([(-np.pi, np.pi) if limit is None else limit for limit in limits])


def build_roadmap(robot: RobotDescription, *, step_s: float, seed: int) -> Roadmap:
    """Finds poses, legs and detours for a robot.

    Raises:
        ROSPlanningError: The robot has no room for one of them, for example because it is too slow at this rate to pass
            an obstacle between two steps.
    """
    return _Builder(robot, step_s=step_s, seed=seed).build()


class _Builder:
    def __init__(self, robot: RobotDescription, *, step_s: float, seed: int) -> None:
        margins = SafetyEnvelope(self_collision_margin_m=CLEARANCE_M, world_collision_margin_m=CLEARANCE_M)
        skill = RSkillManifest(name="synth-clean", version="1.0.0", envelope=margins)
        self.random = np.random.default_rng(seed)
        self.gate = Gate(robot, step_s=step_s)
        self.clean_gate = Gate(robot, step_s=step_s, skill=skill, evaluations_max=1_000_000)
        self.limits = position_limits_of(self.gate)
        self.speeds = speeds_of(self.gate)
        self.gripper = np.array(
            [
                np.mean(limits) if (limits := _spec(self.gate, name).position_limits) else 0.0
                for name in self.gate.gripper_joint_names
            ]
        )
        volumes = self.gate.robot.collision_geometry
        self.volume_links = [volume.link_name for volume in volumes for _ in range(2)]
        self.volume_radii_m = np.array([volume.shape.radius_m for volume in volumes]).repeat(2)
        self.volume_ends = np.array(
            [capsule_ends(volume.shape, volume.origin_xyz_rpy) for volume in volumes]
        ).reshape(-1, 3)
        self._stand_in(())

    def build(self) -> Roadmap:
        self._add_floor_if_it_leaves_room()
        self.speed_share = self._find_speed_share()
        swings = self._find_swings()
        poses = [pose for swing in swings for pose in (swing[0], swing[-1])]
        poses += self._find_near_limits()
        while len(poses) < POSES:
            poses.append(self._clear_pose())
        roadmap = Roadmap(
            gate=self.gate,
            poses=np.array(poses),
            gripper=self.gripper,
            obstacles=self.obstacles,
            speed_share=self.speed_share,
        )
        self._connect(roadmap)
        swing_detours = [
            Detour(2 * n, 2 * n + 1, swing[1:], SWING_ROWS // 2, SWING_ROWS // 2)
            for n, swing in enumerate(swings)
            if roadmap.neighbours[2 * n] and roadmap.neighbours[2 * n + 1]
        ]
        roadmap.detours = {
            PlantedFault.WORLD_BETWEEN_ROWS: swing_detours,
            PlantedFault.LIMIT: self._limit_detours(roadmap),
            PlantedFault.SELF_COLLISION: self._self_collision_detours(roadmap),
        }
        for fault, found in roadmap.detours.items():
            if not found:
                raise ROSPlanningError(
                    f"robot `{self.gate.robot.name}` has no room for a planted {fault} that can be reached"
                )
        return roadmap

    def _stand_in(self, obstacles: tuple[WorldCollisionPrimitive, ...]) -> None:
        self.obstacles = obstacles
        self.world = self._world_of(obstacles)
        # What was clear in another world says nothing about this one.
        self.clear_poses: list[Float64] = []

    # ---- Queries ---------------------------------------------------------------------------------------

    def _world_of(self, obstacles: Sequence[WorldCollisionPrimitive]) -> World:
        return World(primitives=obstacles, stamp_s=0.0, world_id="synth")

    def _are_clear(self, gate: Gate, configurations: Float64, world: World | None = None) -> np.ndarray:
        gripper = self.gripper if len(self.gripper) else None
        return gate.check_batch(
            np.ascontiguousarray(configurations), world=world or self.world, gripper_positions=gripper
        ).accepted

    def _is_clean_path(self, path: Float64) -> bool:
        """Returns whether a path keeps the clearance at every instant."""
        return self._first_code(path) is None

    def _first_code(self, path: Float64) -> str | None:
        gripper = self.gripper if len(self.gripper) else None
        for first in range(0, len(path) - 1, ROWS_PER_CHECK):
            rows = np.ascontiguousarray(path[first + 1 : first + 1 + ROWS_PER_CHECK])
            state = RobotState(positions=path[first].copy(), stamp_s=0.0, gripper_positions=gripper)
            verdict = self.clean_gate.check(ActionChunk(rows), state=state, world=self.world, now_s=0.0)
            if not verdict.accepted:
                return str(verdict.violations[0].code)
        return None

    def _find_speed_share(self) -> float:
        """Returns the largest share at which no leg between random poses is too fast for the tool."""
        ways = [(self._clear_pose(), self._clear_pose()) for _ in range(20)]
        for share in CLEAN_SPEED_SHARES:
            legs = (np.vstack([a, slow_leg(self.gate, a, b, share)]) for a, b in ways)
            if not any(self._first_code(leg) in SPEED_CODES for leg in legs):
                return share
        raise ROSPlanningError(f"robot `{self.gate.robot.name}` cannot move slowly enough for its tool")

    def _clear_pose(self) -> Float64:
        inner = self.limits + np.array([1.0, -1.0]) * 0.1 * np.diff(self.limits, axis=1)
        for _ in range(SEARCH_MAX // 64):
            if self.clear_poses:
                return self.clear_poses.pop()
            poses = self.random.uniform(inner[:, 0], inner[:, 1], (64, len(inner)))
            self.clear_poses = list(poses[self._are_clear(self.clean_gate, poses)])
        raise ROSPlanningError(
            f"robot `{self.gate.robot.name}`: in no random pose do its links keep {1000 * CLEARANCE_M:g} mm"
            " from each other and from the floor"
        )

    # ---- The world -----------------------------------------------------------------------------------

    def _add_floor_if_it_leaves_room(self) -> None:
        floor = WorldCollisionPrimitive(
            shape=HalfSpaceShape(shape="half_space"),
            pose=Pose6D(xyz=(0.0, 0.0, FLOOR_Z_M), quat_xyzw=(0.0, 0.0, 0.0, 1.0)),
            object_id="floor",
        )
        poses = self.random.uniform(self.limits[:, 0], self.limits[:, 1], (512, len(self.limits)))
        with_floor = self._are_clear(self.clean_gate, poses, self._world_of([floor])).mean()
        if with_floor > 0.3 * self._are_clear(self.clean_gate, poses).mean():
            self._stand_in((floor,))

    def _find_swings(self) -> list[Float64]:
        """Returns paths, first pose included, that cross a bead between two steps and touch nothing at any step."""
        swings: list[Float64] = []
        for _ in range(SEARCH_MAX):
            if len(swings) == DETOURS_PER_FAULT:
                break
            path = self._random_swing()
            places = [] if path is None else self._places_for_a_bead(path)
            if path is None or not places or not self._is_clean_path(path):
                continue
            bead = self._bead_for(path, places, name=f"bead_{len(swings)}")
            if bead is None:
                continue
            others = [self._are_clear(self.clean_gate, _dense(s)) for s in swings]
            world = self._world_of((*self.obstacles, bead))
            # Earlier swings must not run into this one's bead.
            if any(
                (self._are_clear(self.clean_gate, _dense(s), world) != before).any()
                for s, before in zip(swings, others, strict=True)
            ):
                continue
            self._stand_in((*self.obstacles, bead))
            swings.append(path)
        if not swings:
            raise ROSPlanningError(
                f"robot `{self.gate.robot.name}` passes nothing between two steps {self.gate.step_s:g} s apart\n\n"
                "hint: lower the rate: `--fps 10`"
            )
        return swings

    def _random_swing(self) -> Float64 | None:
        start = self._clear_pose()
        joint = int(self.random.integers(len(start)))
        peak = float(self.random.choice(SWING_SPEED_SHARES)) * self.speeds[joint]
        travel = min(peak * SWING_ROWS * self.gate.step_s / PEAK_SLOPE, SWING_TRAVEL_MAX)
        goal = start.copy()
        goal[joint] += travel if self.random.random() < 0.5 else -travel
        if not self.limits[joint, 0] < goal[joint] < self.limits[joint, 1]:
            return None
        return np.vstack([start, rows_between(start, goal, count=SWING_ROWS)])

    def _places_for_a_bead(self, path: Float64) -> list[Float64]:
        """Returns ends of volumes in the middle of the path that have left the place at the row after it."""
        after = path[SWING_ROWS // 2 + 1]
        middle = (path[SWING_ROWS // 2] + after) / 2
        fingers = self.gripper if len(self.gripper) else None
        at = [self.gate.link_poses(where, gripper_positions=fingers) for where in (middle, after)]
        here, there = (np.array([frames[link] for link in self.volume_links]) for frames in at)
        points, left = (
            np.einsum("nij,nj->ni", frames[:, :, :3], self.volume_ends) + frames[:, :, 3]
            for frames in (here, there)
        )
        # Half of the middle step must carry the whole volume past the bead: no point of it is farther away than its
        # end has travelled.
        travel_m = np.linalg.norm(left - points, axis=1)
        passes = travel_m > self.volume_radii_m + BEAD_RADIUS_M + CLEARANCE_M
        best_first = np.argsort(-travel_m / self.volume_radii_m, kind="stable")
        return [points[index] for index in best_first if passes[index]][:BEAD_PLACES_MAX]

    def _bead_for(
        self, path: Float64, places: Sequence[Float64], *, name: str
    ) -> WorldCollisionPrimitive | None:
        """Returns a bead that the middle of the path hits and none of its rows comes near."""
        before, after = path[SWING_ROWS // 2], path[SWING_ROWS // 2 + 1]
        for point in places:
            x, y, z = (float(round(value, 6)) for value in point)
            bead = WorldCollisionPrimitive(
                shape=SphereShape(shape="sphere", radius_m=BEAD_RADIUS_M),
                pose=Pose6D(xyz=(x, y, z), quat_xyzw=(0.0, 0.0, 0.0, 1.0)),
                object_id=name,
            )
            world = self._world_of((*self.obstacles, bead))
            if not self._are_clear(self.clean_gate, path, world).all():
                continue
            elsewhere = np.vstack([_dense(path[: SWING_ROWS // 2 + 1]), _dense(path[SWING_ROWS // 2 + 1 :])])
            inside = before + np.linspace(0.4, 0.6, 5)[:, np.newaxis] * (after - before)
            hits = not self._are_clear(self.gate, inside, world).any()
            if hits and self._are_clear(self.clean_gate, elsewhere, world).all():
                return bead
        return None

    # ---- Poses and legs ------------------------------------------------------------------------------

    def _find_near_limits(self) -> list[Float64]:
        """Returns clear poses with one joint just inside its upper limit."""
        found: list[Float64] = []
        bounded = [n for n, limits in enumerate(self.limits) if np.isfinite(limits).all()]
        for _ in range(SEARCH_MAX // 10):
            if len(found) == DETOURS_PER_FAULT:
                break
            pose = self._clear_pose()
            joint = bounded[int(self.random.integers(len(bounded)))]
            pose[joint] = self.limits[joint, 1] - LIMIT_APPROACH
            edge = pose.copy()
            edge[joint] = self.limits[joint, 1]
            if self._is_clean_path(np.vstack([pose, edge])):
                found.append(pose)
        return found

    def _connect(self, roadmap: Roadmap) -> None:
        count = len(roadmap.poses)
        roadmap.neighbours = [[] for _ in range(count)]
        distance = np.abs(roadmap.poses[:, np.newaxis] - roadmap.poses).max(axis=2)
        for a in range(count):
            nearest = [int(b) for b in np.argsort(distance[a], kind="stable") if b != a]
            for b in nearest:
                if len(roadmap.neighbours[a]) >= NEIGHBOURS:
                    break
                if b in roadmap.neighbours[a]:
                    continue
                if self._is_clean_path(np.vstack([roadmap.poses[a], roadmap.leg(a, b)])):
                    roadmap.neighbours[a].append(b)
                    roadmap.neighbours[b].append(a)
        # What the largest connected part does not reach is left out.
        parts = _parts(roadmap.neighbours)
        largest = max(parts, key=len)
        for pose in range(count):
            if pose not in largest:
                roadmap.neighbours[pose] = []

    # ---- Detours -------------------------------------------------------------------------------------

    def _limit_detours(self, roadmap: Roadmap) -> list[Detour]:
        found = []
        for index, pose in enumerate(roadmap.poses):
            at_limit = np.flatnonzero(np.isclose(pose, self.limits[:, 1] - LIMIT_APPROACH, rtol=0, atol=1e-9))
            if not len(at_limit) or not roadmap.neighbours[index]:
                continue
            beyond = pose.copy()
            beyond[at_limit[0]] += LIMIT_APPROACH + LIMIT_OVERSHOOT
            rows = self._there_and_back(pose, beyond)
            outside = np.flatnonzero(rows[:, at_limit[0]] > self.limits[at_limit[0], 1])
            found.append(Detour(index, index, rows, int(outside[0]), int(outside[-1])))
        return found

    def _self_collision_detours(self, roadmap: Roadmap) -> list[Detour]:
        """Returns ways into the robot itself and back: clear until it meets itself, then not until the far end."""
        found: list[Detour] = []
        usable = [index for index, others in enumerate(roadmap.neighbours) if others]
        for _ in range(SEARCH_MAX):
            if len(found) == DETOURS_PER_FAULT:
                break
            start = usable[int(self.random.integers(len(usable)))]
            pose = roadmap.poses[start]
            goal = self.random.uniform(self.limits[:, 0], self.limits[:, 1])
            way = np.linspace(pose, goal, 400)
            clear = self._are_clear(self.gate, way, self._world_of(()))
            if clear.all() or not clear[0]:
                continue
            first = int(np.argmin(clear))
            # Deep enough that no rounding and no excess of the volumes makes it a close pass.
            last = first + max(1, int(np.ceil(0.25 / np.abs(way[1] - way[0]).max())))
            if last >= len(way) or clear[first:last].any():
                continue
            if not self._are_clear(self.clean_gate, way[: max(1, first - 8)]).all():
                continue
            if not self._are_clear(self.gate, way[:first]).all():
                continue
            rows = self._there_and_back(pose, way[last])
            touching = np.flatnonzero(~self._are_clear(self.gate, rows, self._world_of(())))
            found.append(Detour(start, start, rows, int(touching[0]), int(touching[-1])))
        return found

    def _there_and_back(self, pose: Float64, goal: Float64) -> Float64:
        there = slow_leg(self.gate, pose, goal, self.speed_share)
        return np.vstack([there, slow_leg(self.gate, goal, pose, self.speed_share)])


def _dense(path: Float64) -> Float64:
    """Returns the path with 32 configurations per segment."""
    if len(path) < 2:
        return path
    shares = np.linspace(0.0, 1.0, 32)[:, np.newaxis]
    return np.vstack([a + shares * (b - a) for a, b in pairwise(path)])


def _parts(neighbours: list[list[int]]) -> list[set[int]]:
    parts: list[set[int]] = []
    left = set(range(len(neighbours)))
    while left:
        part, queue = set(), [left.pop()]
        while queue:
            here = queue.pop()
            part.add(here)
            queue += [there for there in neighbours[here] if there not in part]
        left -= part
        parts.append(part)
    return parts


def _spec(gate: Gate, name: str):
    return next(joint for joint in gate.robot.joints if joint.name == name)
