# SPDX-License-Identifier: Apache-2.0
"""Plans a motion that the gate has certified to be clear, segment by segment, before anything moves."""

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts import (
    RobotDescription,
    ROSConfigError,
    ROSPlanningError,
    RSkillManifest,
    SafetyEnvelope,
    ViolationCode,
    intersect_envelopes,
    joint_velocity_limits,
)
from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.contracts.arrays import Float64
from lastgate.contracts.attached_shape import AttachedShape
from lastgate.gate import Gate
from lastgate.gate.verdict import Verdict
from lastgate.planning.skills.goals import JointGoal, PoseGoal
from lastgate.planning.skills.path_search import PathSearch
from lastgate.planning.skills.timing import segment_rows
from lastgate.planning.skills.trajectory import Trajectory
from lastgate.world import NoWorld, World

if TYPE_CHECKING:
    from lastgate.planning.skills.kinematics import Chain

# The gate that a plan is replayed through asks from where the robot is measured to be, which is beside the plan by what
# the servos lag behind; so a plan keeps this much more distance than the gate requires.
SLACK_M = 0.005
SPEED_SHARE = 0.3
# To full speed in half a second, for joints whose manifest declares no acceleration limit.
RAMP_S = 0.5
# Samples along an edge of the search: 0.04 rad is 3 cm at the hand of an arm that reaches 0.8 m.
RESOLUTION = 0.04
# When the gate finds what the samples have missed, the search samples more closely, so many times.
REFINEMENTS = 3
# A segment that is too fast for the tool is slowed by this factor, so many times: to a seventh.
STRETCH, STRETCHES_MAX = 1.4, 6
# Steps certified at once: far below the gate's 256, so that its budget of queries is never the reason.
ROWS_AT_ONCE = 64
SEEDS = 12

_TOO_FAST = frozenset(
    {
        ViolationCode.joint_velocity_limit,
        ViolationCode.joint_acceleration_limit,
        ViolationCode.ee_speed,
        ViolationCode.ee_angular_speed,
        ViolationCode.ee_acceleration,
    }
)


class MotionPlanner:
    """Plans for one robot, with a gate of its own that asks for more distance than the one plans are replayed through.

    Args:
        gate: The gate that the motion will cross; its robot, skill, step and attached objects are taken from there.
        slack_m: How much more distance than that gate requires.
        speed_share: How much of the speed limits is used.
        seed: The same seed gives the same plan.

    Raises:
        ROSConfigError: A number is out of range.
    """

    def __init__(
        self, gate: Gate, *, slack_m: float = SLACK_M, speed_share: float = SPEED_SHARE, seed: int = 1
    ) -> None:
        if not 0.0 <= slack_m < 1.0 or not 0.0 < speed_share <= 1.0:
            raise ROSConfigError(
                f"slack_m {slack_m!r} must be 0 to 1, speed_share {speed_share!r} above 0 to 1"
            )
        self.gate = gate
        self._seed = seed
        robot, step_s = gate.robot, gate.step_s
        envelope = intersect_envelopes(robot, gate.skill)
        asked = SafetyEnvelope() if gate.skill is None or gate.skill.envelope is None else gate.skill.envelope
        wider = asked.model_copy(
            update={
                "self_collision_margin_m": envelope.self_collision_margin_m + slack_m,
                "world_collision_margin_m": envelope.world_collision_margin_m + slack_m,
            }
        )
        self._gate = Gate(
            robot, step_s=step_s, skill=RSkillManifest(name="planning", version="1.0.0", envelope=wider)
        )
        self._held: tuple[AttachedShape, ...] = ()
        self._chains: dict[str, Chain] = {}
        speeds = dict(
            zip((j.name for j in robot.actuated_joints), joint_velocity_limits(robot, envelope), strict=True)
        )
        joints = {joint.name: joint for joint in robot.actuated_joints}
        self._speed = speed_share * np.array([speeds[name] for name in gate.joint_names])
        ramps = [joints[name].acceleration_limit for name in gate.joint_names]
        self._acceleration = np.array(
            [
                speed / RAMP_S if ramp is None else speed_share * ramp
                for speed, ramp in zip(self._speed, ramps, strict=True)
            ]
        )
        self._related = _columns_above_and_below(robot, gate.joint_names)
        limits = [joints[name].position_limits or (-np.inf, np.inf) for name in gate.joint_names]
        self._lower, self._upper = np.array(limits, dtype=np.float64).T

    def are_clear(
        self, configurations: Float64, *, state: RobotState, world: World | NoWorld
    ) -> NDArray[np.bool_]:
        """Returns which of (N, joints) configurations are inside the limits and keep margin and slack."""
        self._hold_the_same()
        return self._gate.check_batch(
            np.ascontiguousarray(configurations), world=world, gripper_positions=state.gripper_positions
        ).accepted

    def configurations_for(
        self, goal: JointGoal | PoseGoal, *, state: RobotState, world: World | NoWorld, seeds: int = SEEDS
    ) -> list[Float64]:
        """Returns clear configurations that meet a goal, the nearest first; none if none was found.

        Raises:
            ROSConfigError: The goal names what the robot does not have, or Pinocchio is not installed.
        """
        if isinstance(goal, JointGoal):
            wanted = state.positions.copy()
            for name, position in goal.positions.items():
                if name not in self.gate.joint_names:
                    raise ROSConfigError(
                        f"joint `{name}` belongs to a gripper; joints: {', '.join(self.gate.joint_names)}"
                    )
                wanted[self.gate.joint_names.index(name)] = position
            found = [wanted]
        else:
            chain = self._chain(goal.link)
            rng = np.random.default_rng(self._seed)
            starts = chain.seeds(state.positions.copy(), count=seeds, rng=rng)
            found = [one for start in starts if (one := chain.solve(goal, start)) is not None]
        if not found:
            return []
        clear = self.are_clear(np.array(found), state=state, world=world)
        kept = [one for one, is_clear in zip(found, clear, strict=True) if is_clear]
        return sorted(kept, key=lambda one: float(np.abs(one - state.positions).max()))

    def _chain(self, link: str) -> "Chain":
        from lastgate.planning.skills.kinematics import Chain

        if link not in self._chains:
            self._chains[link] = Chain(self.gate, link)
        return self._chains[link]

    def plan(
        self, goal: JointGoal | PoseGoal, *, state: RobotState, world: World | NoWorld, now_s: float
    ) -> Trajectory:
        """Returns a trajectory to a goal, every segment of which the gate has accepted.

        Raises:
            ROSPlanningError: No configuration meets the goal, or no way to one was found; the message says which.
            ROSConfigError: See `configurations_for`.
        """
        found = self.configurations_for(goal, state=state, world=world)
        if not found:
            raise ROSPlanningError("no posture meets the goal inside the limits and clear of everything")
        return self.plan_to(found, state=state, world=world, now_s=now_s)

    def plan_to(
        self, configurations: Sequence[Float64], *, state: RobotState, world: World | NoWorld, now_s: float
    ) -> Trajectory:
        """Returns a trajectory to one of several configurations; raises `ROSPlanningError` if there is none."""
        start = np.array(state.positions)
        self._require_clear_start(start, state=state, world=world)
        differing = np.flatnonzero(np.any([one != start for one in configurations], axis=0))
        if not len(differing):
            return self._trajectory(start, np.empty((0, len(start))))
        # A joint that need not move may have to, to go round something; those of another limb cannot help.
        moving = np.array(
            [
                column
                for column, related in enumerate(self._related)
                if related.intersection(differing.tolist())
            ]
        )

        def are_clear(some: Float64) -> NDArray[np.bool_]:
            whole = np.tile(start, (len(some), 1))
            whole[:, moving] = some
            return self.are_clear(whole, state=state, world=world)

        rejected = "no way was found"
        for refinement in range(REFINEMENTS):
            search = PathSearch(
                are_clear,
                lower=self._lower[moving],
                upper=self._upper[moving],
                resolution=RESOLUTION / 2**refinement,
                rng=np.random.default_rng([self._seed, refinement]),
            )
            corners = search.path(start[moving], [one[moving] for one in configurations])
            if corners is None:
                break
            whole = np.tile(start, (len(corners), 1))
            whole[:, moving] = corners
            short = search.shortened(corners)
            tight = np.tile(start, (len(short), 1))
            tight[:, moving] = short
            for path in (tight, whole):
                rows, verdict = self._shown(path, state=state, world=world, now_s=now_s)
                if rows is not None:
                    return self._trajectory(start, rows)
                if verdict is not None:
                    rejected = f"the gate rejected what was found: {verdict.violations[0]}"
        raise ROSPlanningError(f"no way to the goal: {rejected}")

    def _shown(
        self, corners: Float64, *, state: RobotState, world: World | NoWorld, now_s: float
    ) -> tuple[Float64 | None, Verdict | None]:
        """Returns the steps of a path if the gate accepts all its segments, else None and the verdict that said no."""
        shown = [np.empty((0, corners.shape[1]))]
        for a, b in itertools.pairwise(corners):
            rows, verdict = self._certified_segment(a, b, state=state, world=world, now_s=now_s)
            if rows is None:
                return None, verdict
            shown.append(rows)
        return np.concatenate(shown), None

    def _certified_segment(
        self, a: Float64, b: Float64, *, state: RobotState, world: World | NoWorld, now_s: float
    ) -> tuple[Float64 | None, Verdict | None]:
        verdict = None
        for stretches in range(STRETCHES_MAX + 1):
            rows = segment_rows(
                a,
                b,
                speed=self._speed,
                acceleration=self._acceleration,
                step_s=self.gate.step_s,
                stretch=STRETCH**stretches,
            )
            verdict = self._check(a, rows, state=state, world=world, now_s=now_s)
            if verdict is None:
                return rows, None
            if verdict.violations[0].code not in _TOO_FAST:
                break
        return None, verdict

    def _check(
        self, start: Float64, rows: Float64, *, state: RobotState, world: World | NoWorld, now_s: float
    ) -> Verdict | None:
        """Returns None if all steps are accepted, from rest at `start`, else the verdict of those that are not."""
        before, speed = start, np.zeros(len(start))
        for first in range(0, len(rows), ROWS_AT_ONCE):
            some = np.ascontiguousarray(rows[first : first + ROWS_AT_ONCE])
            at = RobotState(
                positions=before.copy(),
                velocities=speed.copy(),
                gripper_positions=state.gripper_positions,
                stamp_s=now_s,
            )
            verdict = self._gate.check(ActionChunk(some), state=at, world=world, now_s=now_s)
            if not verdict.accepted:
                return verdict
            speed = (some[-1] - (some[-2] if len(some) > 1 else before)) / self.gate.step_s
            before = some[-1]
        return None

    def _require_clear_start(self, start: Float64, *, state: RobotState, world: World | NoWorld) -> None:
        if not self.are_clear(start[np.newaxis], state=state, world=world)[0]:
            here = self.gate.check_batch(
                start[np.newaxis], world=world, gripper_positions=state.gripper_positions
            )
            raise ROSPlanningError(
                "the robot stands where a plan cannot begin: outside its limits, or closer than margin and slack to "
                f"something (clearance {float(here.clearance_m[0]):.4f} m)"
            )

    def _hold_the_same(self) -> None:
        if self._held == self.gate.attached:
            return
        for object_id in {held.object_id for held in self._held}:
            self._gate.detach(object_id)
        for held in self.gate.attached:
            self._gate.attach(
                held.link,
                held.shape,
                object_id=held.object_id,
                origin_xyz_rpy=held.origin_xyz_rpy,
                touch_links=held.touch_links,
            )
        self._held = self.gate.attached

    def _trajectory(self, start: Float64, rows: Float64) -> Trajectory:
        return Trajectory(start=start, rows=rows, step_s=self.gate.step_s, joint_names=self.gate.joint_names)


def _columns_above_and_below(robot: RobotDescription, joint_names: Sequence[str]) -> list[set[int]]:
    """Returns, per column, the columns of the joints that carry it or that it carries, itself included."""
    above = {joint.child_link: joint for joint in robot.joints}
    related: list[set[int]] = [{column} for column in range(len(joint_names))]
    columns = {name: column for column, name in enumerate(joint_names)}
    for joint in robot.joints:
        if joint.name not in columns:
            continue
        link = joint.parent_link
        while link in above:
            carrier = above[link]
            if carrier.name in columns:
                related[columns[joint.name]].add(columns[carrier.name])
                related[columns[carrier.name]].add(columns[joint.name])
            link = carrier.parent_link
    return related
