# SPDX-License-Identifier: Apache-2.0
"""A Panda at rest, a table with a pole on it, and a body that records what it was told."""

import numpy as np
import pytest

import lastgate as lg
from lastgate.planning.skills import MotionPlanner

HOME = np.array([0.0, -0.60, 0.0, -2.20, 0.0, 1.70, 0.785])
STEP_S = 0.02


def box(name, centre, size):
    return lg.WorldCollisionPrimitive(
        shape=lg.BoxShape(size_xyz_m=size), pose=lg.Pose6D(xyz=centre), object_id=name
    )


TABLE = box("table", (0.65, 0.0, -0.02), (0.8, 1.6, 0.04))


def world_of(*things, stamp_s=0.0):
    return lg.World(primitives=things, stamp_s=stamp_s)


@pytest.fixture(scope="session")
def panda():
    return lg.load_robot("franka_panda")


@pytest.fixture(scope="session")
def gate(panda):
    return lg.Gate(panda, step_s=STEP_S)


@pytest.fixture(scope="session")
def planner(gate):
    return MotionPlanner(gate)


@pytest.fixture
def at_home():
    return lg.RobotState(
        positions=HOME, velocities=np.zeros(7), gripper_positions=np.array([0.02]), stamp_s=0.0
    )


class RecordingBody:
    """Wherever it was last told to be; counts chunks and holds."""

    def __init__(self, world=lg.NO_WORLD, positions=HOME):
        self.positions, self._world, self.time_s = np.array(positions), world, 0.0
        self.chunks, self.holds = [], 0
        self.state_age_s = 0.0
        self.fails_at = None

    def now_s(self):
        return self.time_s

    def observe(self):
        return lg.RobotState(
            positions=self.positions.copy(),
            velocities=np.zeros(len(self.positions)),
            gripper_positions=np.array([0.02]),
            stamp_s=self.time_s - self.state_age_s,
        )

    def world(self):
        if isinstance(self._world, lg.World):
            return lg.World(primitives=self._world.primitives, stamp_s=self.time_s)
        return self._world

    def base_in_map(self):
        return None

    def execute(self, chunk):
        if len(self.chunks) == self.fails_at:
            raise RuntimeError("the driver lost its connection")
        self.chunks.append(chunk)
        self.positions = chunk.rows[-1].copy()
        self.time_s += STEP_S * len(chunk.rows)

    def hold(self):
        self.holds += 1
