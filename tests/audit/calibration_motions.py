# SPDX-License-Identifier: Apache-2.0
"""Recordings for calibrations: smooth motion through clear poses, clean or with one planted fault."""

from dataclasses import replace
from functools import lru_cache

import numpy as np

import lastgate as lg
from lastgate.audit.calibration import Fault, Property, RecordedMotion
from lastgate.audit.calibration.faults import faults_of, scale_fault, zero_fault
from lastgate.gate import Gate

SECONDS, RATE_HZ = 5.0, 20.0
# What was recorded beside the positions: nothing, commands and velocities, or poses of the tool.
KINDS = ("positions only", "driver", "tool")


@lru_cache
def gate_of(name: str) -> Gate:
    return lg.Gate(lg.load_robot(name), step_s=0.05)


def clear_poses(gate: Gate, count: int, engine: np.random.Generator) -> np.ndarray:
    """Returns poses inside the limits that are clear of the robot itself."""
    by_name = {joint.name: joint for joint in gate.robot.joints}
    limits = np.array([by_name[name].position_limits or (-3.0, 3.0) for name in gate.joint_names])
    found: list[np.ndarray] = []
    while len(found) < count:
        drawn = engine.uniform(*limits.T, size=(64, gate.n_dof)) * 0.95 + 0.05 * limits.mean(axis=1)
        found += list(drawn[gate.check_batch(drawn, world=lg.NO_WORLD).accepted])
    return np.array(found[:count])


def clean_motion(gate: Gate, seed: int, kind: str) -> RecordedMotion:
    """Returns smooth motion through clear poses; rows that would meet something on the way are left out."""
    engine = np.random.default_rng(seed)
    times = np.arange(int(SECONDS * RATE_HZ)) / RATE_HZ
    corners = clear_poses(gate, 6, engine)
    share = times / SECONDS * (len(corners) - 1)
    at = np.minimum(share.astype(int), len(corners) - 2)
    smooth = (1.0 - np.cos(np.pi * (share - at)))[:, np.newaxis] / 2.0
    positions = corners[at] + smooth * (corners[at + 1] - corners[at])
    kept = gate.check_batch(positions, world=lg.NO_WORLD).accepted
    positions, times = np.ascontiguousarray(positions[kept]), times[kept]
    speeds = np.gradient(positions, times, axis=0)
    motion = RecordedMotion(times_s=times, positions=positions + engine.normal(0.0, 0.001, positions.shape))
    if kind == "driver":
        return replace(
            motion,
            commands=positions + 0.1 * speeds,
            velocities=speeds + engine.normal(0.0, 0.02, speeds.shape),
        )
    if kind == "tool":
        link = gate.robot.end_effectors[0].link if gate.robot.end_effectors else gate.link_names[-1]
        return replace(motion, tool=tool_of(gate, link, positions, engine), tool_link=link)
    return motion


def tool_of(gate: Gate, link: str, positions: np.ndarray, engine: np.random.Generator) -> np.ndarray:
    """Returns poses of a tool that is mounted 12 cm out and turned, seen with a millimetre of noise."""
    from scipy.spatial.transform import Rotation

    poses = gate.link_poses_batch(positions)[link]
    mounted = Rotation.from_euler("xyz", (0.3, -0.2, 0.9))
    places = poses[:, :, :3] @ np.array([0.05, 0.0, 0.12]) + poses[:, :, 3]
    turned = Rotation.from_matrix(poses[:, :, :3]) * mounted
    return np.hstack([places + engine.normal(0.0, 0.001, places.shape), turned.as_quat()])


def planted(motion: RecordedMotion, fault: Fault) -> RecordedMotion:
    """Returns the recording with a fault in its positions; everything else stays as it was."""
    positions = motion.positions.copy()
    columns = list(fault.joints)
    if fault.kind is Property.ORDER:
        positions[:, columns] = motion.positions[:, columns[::-1]]
    else:
        positions[:, columns] = (motion.positions[:, columns] - fault.offset) / fault.factor
    return replace(motion, positions=positions)


def faults_to_plant(gate: Gate) -> list[Fault]:
    by_name = {joint.name: joint for joint in gate.robot.joints}
    joints = [by_name[name] for name in gate.joint_names]
    continuous = [scale_fault(joint, index, 0.7) for index, joint in enumerate(joints)]
    continuous += [zero_fault(joint, index, 0.7) for index, joint in enumerate(joints)]
    return [*faults_of(joints), *continuous]


def joints_that_carry(gate: Gate, link: str) -> set[int]:
    """Returns the joints that move a link."""
    poses = np.vstack([np.zeros(gate.n_dof), 0.1 * np.eye(gate.n_dof)])
    seen = gate.link_poses_batch(poses)[link]
    return {index for index in range(gate.n_dof) if not np.allclose(seen[0], seen[index + 1])}
