# SPDX-License-Identifier: Apache-2.0
"""Both error rates of everything that evaluates a robot, on the same configurations and segments, against its
meshes."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.contracts.enums import ControlMode
from lastgate.contracts.envelope import SafetyEnvelope
from lastgate.contracts.robot import RobotDescription
from lastgate.gate import Gate
from lastgate.planning.collision import AllowedCollisionMatrix, SphereGenConfig, TwoTierCollisionChecker
from lastgate.tools.lowering.mesh_truth import MeshTruth, MujocoPeer
from lastgate.world import NO_WORLD

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
# Told which share of the work is done.
Progress = Callable[[float], None]

ERROR_SEED = 20261116
TIER_ONE, TIER_TWO, EXACT = "tier 1: volumes", "tier 1+2: and pieces", "exact meshes (Coal)"
# Planners' covers of spheres, by preset; nothing looks closer at what they reject.
SPHERES = {preset: f"spheres: {preset}" for preset in ("coarse", "default", "fine")}
COAL_HULLS, MUJOCO = "Pinocchio + Coal, hulls", "MuJoCo, hulls"
# In the order of a table: ours from coarse to exact, then peers.
CHECKERS = (TIER_ONE, TIER_TWO, *SPHERES.values(), EXACT, COAL_HULLS, MUJOCO)
# Volumes whose clearance is below this are near contact; half of random configurations of an arm are not.
_NEAR_M = 0.03
# Instants at which the meshes check a segment: 0.5 rad at 1/64 move a reach of 0.8 m by 6 mm each.
_SEGMENT_SAMPLES = 64
_SEGMENT_RAD = 0.5
_BLOCK = 64


def _without_progress(share: float) -> None:
    del share


@dataclass
class Errors:
    """Counts of one checker on one kind of question."""

    touching: int = 0
    clear: int = 0
    missed_collisions: int = 0
    false_rejections: int = 0
    false_rejection_pairs: Counter[str] = field(default_factory=Counter)

    def add(self, *, touches: bool, accepted: bool) -> None:
        """Counts one answer."""
        self.touching += touches
        self.clear += not touches
        self.missed_collisions += touches and accepted
        self.false_rejections += not touches and not accepted

    @property
    def false_rejection_rate(self) -> float:
        """Share of clear questions that were rejected."""
        return self.false_rejections / max(self.clear, 1)

    def __str__(self) -> str:
        percent = 100.0 * self.false_rejection_rate
        return f"{self.missed_collisions} missed of {self.touching}, {percent:.3f} % of {self.clear} rejected"


def unhurried(robot: RobotDescription) -> RobotDescription:
    """Returns the robot with margins of zero and no limits but its joints', so that contact alone decides."""
    joints = tuple(
        joint.model_copy(update={"velocity_limit": 1e3, "acceleration_limit": None})
        if joint.is_moving
        else joint
        for joint in robot.joints
    )
    bounds = SafetyEnvelope(self_collision_margin_m=0.0, world_collision_margin_m=0.0)
    return robot.model_copy(
        update={"joints": joints, "safety": bounds, "control_modes": (ControlMode.JOINT_POSITION,)}
    )


def columns_of(robot: RobotDescription, gate: Gate) -> tuple[list[int], list[int]]:
    """Returns which actuated joints of a robot have a column in the gate's steps, and which are grippers."""
    names = [joint.name for joint in robot.actuated_joints]
    in_rows = [index for index, name in enumerate(names) if name in gate.joint_names]
    return in_rows, [index for index in range(len(names)) if index not in in_rows]


class RobotUnderTest:
    """One robot, its gates with and without hulls, and random questions about it."""

    def __init__(self, robot: RobotDescription, urdf_path: Path, *, seed: int = ERROR_SEED) -> None:
        plain = unhurried(robot)
        self.truth = MeshTruth(robot, urdf_path)
        # The same pairs for both: a pair that only hulls can check would otherwise belong to neither.
        volumes_only = {"convex_pieces": None, "allowed_collision_pairs": robot.unchecked_pairs}
        self.gates = {TIER_ONE: Gate(plain.model_copy(update=volumes_only), step_s=1.0)}
        if robot.loaded_hulls:
            self.gates[TIER_TWO] = Gate(plain, step_s=1.0)
        self._robot = robot
        self._limits = np.array(
            [joint.position_limits or (-math.pi, math.pi) for joint in robot.actuated_joints]
        )
        self._columns, self._grippers = columns_of(robot, self.gates[TIER_ONE])
        self._rng = np.random.default_rng(seed)

    @functools.cached_property
    def covers(self) -> dict[str, TwoTierCollisionChecker]:
        """Planners' covers; they take seconds to make, and not every question is asked of them."""
        pairs = AllowedCollisionMatrix([pair.links for pair in self._robot.unchecked_pairs])
        return {
            name: TwoTierCollisionChecker(
                self._robot, getattr(SphereGenConfig, preset)(), 0.0, 0.0, allowed=pairs
            )
            for preset, name in SPHERES.items()
        }

    def draw(self, count: int) -> Array:
        """Returns random configurations inside the limits; a block shares the positions of its grippers."""
        drawn = self._rng.uniform(self._limits[:, 0], self._limits[:, 1], (count, len(self._limits)))
        for first in range(0, count, _BLOCK):
            drawn[first : first + _BLOCK, self._grippers] = drawn[first, self._grippers]
        return drawn

    def evaluate(self, gate: Gate, configurations: Array) -> tuple[Mask, Array]:
        """Returns which configurations a gate accepts, and their clearances."""
        accepted, clearance = [], []
        for first in range(0, len(configurations), _BLOCK):
            block = configurations[first : first + _BLOCK]
            fingers = np.ascontiguousarray(block[0, self._grippers]) if self._grippers else None
            rows = np.ascontiguousarray(block[:, self._columns])
            found = gate.check_batch(rows, world=NO_WORLD, gripper_positions=fingers)
            accepted.append(found.accepted)
            clearance.append(found.clearance_m)
        return np.concatenate(accepted), np.concatenate(clearance)

    def check_by_spheres(self, cover: TwoTierCollisionChecker, configurations: Array) -> Mask:
        """Returns in which configurations the spheres of a cover touch nowhere."""
        accepted = [np.empty(0, dtype=np.bool_)]
        for first in range(0, len(configurations), _BLOCK):
            block = configurations[first : first + _BLOCK]
            fingers = np.ascontiguousarray(block[0, self._grippers]) if self._grippers else None
            rows = np.ascontiguousarray(block[:, self._columns])
            accepted.append(~cover.check_batch(rows, gripper_positions=fingers).in_collision)
        return np.concatenate(accepted)

    def draw_near(self, count: int) -> Array:
        """Returns configurations in which some volumes nearly or barely overlap, in whole blocks of grippers."""
        kept: list[Array] = []
        found = 0
        while found < count:
            drawn = self.draw(_BLOCK)
            clearance = self.evaluate(self.gates[TIER_ONE], drawn)[1]
            near = drawn[np.abs(clearance) < _NEAR_M]
            # One configuration per block keeps blocks of equal grippers apart.
            kept += [np.repeat(row[None], 1, axis=0) for row in near]
            found += len(near)
        return np.concatenate(kept)[:count]

    def accepts_segment(self, gate: Gate, start: Array, end: Array) -> bool:
        """Returns whether a gate lets the robot move straight from one configuration to another."""
        fingers = np.ascontiguousarray(start[self._grippers]) if self._grippers else None
        state = RobotState(
            positions=np.ascontiguousarray(start[self._columns]), gripper_positions=fingers, stamp_s=0.0
        )
        chunk = ActionChunk(np.ascontiguousarray(end[None, self._columns]), mode=ControlMode.JOINT_POSITION)
        return gate.check(chunk, state=state, world=NO_WORLD, now_s=0.0).accepted

    def end_of_segment(self, start: Array) -> Array:
        """Returns where a random step from a configuration leads; fingers stay."""
        step = self._rng.uniform(-_SEGMENT_RAD, _SEGMENT_RAD, len(start))
        step[self._grippers] = 0.0
        return np.clip(start + step, self._limits[:, 0], self._limits[:, 1])


def measure_configurations(
    subject: RobotUnderTest,
    configurations: Array,
    *,
    peers: dict[str, Callable[[Array], bool]] | None = None,
    one_by_one: bool = False,
    progress: Progress = _without_progress,
) -> dict[str, Errors]:
    """Returns the errors of every gate, of the meshes themselves and of the peers."""
    errors = {name: Errors() for name in (*subject.gates, *subject.covers, EXACT, *(peers or {}))}
    truth = []
    # The meshes take nearly all of the time.
    for done, row in enumerate(configurations, start=1):
        truth.append(subject.truth.touching(row))
        progress(done / len(configurations))
    for name, gate in subject.gates.items():
        if one_by_one:
            accepted = np.concatenate([subject.evaluate(gate, row[None])[0] for row in configurations])
        else:
            accepted = subject.evaluate(gate, configurations)[0]
        for pair, yes in zip(truth, accepted, strict=True):
            errors[name].add(touches=pair is not None, accepted=bool(yes))
            if pair is not None and yes:
                errors[name].false_rejection_pairs[f"missed {pair[0]} / {pair[1]}"] += 1
    for name, cover in subject.covers.items():
        blocks = [row[None] for row in configurations] if one_by_one else [configurations]
        evaluated = np.concatenate([subject.check_by_spheres(cover, block) for block in blocks])
        for pair, yes in zip(truth, evaluated, strict=True):
            errors[name].add(touches=pair is not None, accepted=bool(yes))
    for index, pair in enumerate(truth):
        errors[EXACT].add(touches=pair is not None, accepted=pair is None)
        for name, touches in (peers or {}).items():
            errors[name].add(touches=pair is not None, accepted=not touches(configurations[index]))
    return errors


def measure_segments(
    subject: RobotUnderTest, starts: Array, *, progress: Progress = _without_progress
) -> dict[str, Errors]:
    """Returns the errors of every gate on steps from mesh-clear configurations, which the meshes sample."""
    errors = {name: Errors() for name in subject.gates}
    for done, start in enumerate(starts, start=1):
        end = subject.end_of_segment(start)
        samples = np.linspace(0.0, 1.0, _SEGMENT_SAMPLES + 1)
        touches = any(subject.truth.touching(start + t * (end - start)) is not None for t in samples)
        for name, gate in subject.gates.items():
            errors[name].add(touches=touches, accepted=subject.accepts_segment(gate, start, end))
        progress(done / len(starts))
    return errors


def peers_of(robot: RobotDescription, urdf_path: Path) -> dict[str, Callable[[Array], bool]]:
    """Returns the engines that evaluate by convex hulls; one that cannot be had is left out with its reason."""
    hulls = MeshTruth(robot, urdf_path, hulls=True)
    physics = MujocoPeer(robot, MeshTruth(robot, urdf_path))
    return {COAL_HULLS: lambda row: hulls.touching(row) is not None, MUJOCO: physics.touches}
