# SPDX-License-Identifier: Apache-2.0
"""One refusal of every kind that a card draws in its own way."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

import lastgate as lg
from lastgate.world import NoWorld

NOW_S = 10.0
HOME = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.785])


@dataclass(frozen=True)
class Case:
    gate: lg.Gate
    chunk: lg.ActionChunk
    state: lg.RobotState | None
    world: lg.World | NoWorld | None

    def check(self) -> lg.Verdict:
        return self.gate.check(self.chunk, state=self.state, world=self.world, now_s=NOW_S)


@cache
def panda() -> lg.RobotDescription:
    return lg.load_robot("franka_panda")


def gate_with(**envelope: object) -> lg.Gate:
    skill = lg.RSkillManifest(name="test", version="1.0.0", envelope=lg.SafetyEnvelope(**envelope))
    return lg.Gate(panda(), step_s=0.02, skill=skill)


def towards(*, rows: int = 100, **joints: float) -> np.ndarray:
    """Returns the straight way from home to where some joints, `j1` to `j7`, have other values."""
    end = HOME.copy()
    for name, value in joints.items():
        end[int(name[1:]) - 1] = value
    return HOME + (end - HOME) * np.linspace(1.0 / rows, 1.0, rows)[:, None]


def case(
    rows: np.ndarray, *, gate: lg.Gate | None = None, world: lg.World | NoWorld = lg.NO_WORLD, **chunk: object
) -> Case:
    state = lg.RobotState(positions=HOME, stamp_s=NOW_S)
    return Case(gate or gate_with(), lg.ActionChunk(rows, **chunk), state, world)


def obstacle(object_id: str, shape: dict[str, object], *xyz: float) -> lg.WorldCollisionPrimitive:
    return lg.WorldCollisionPrimitive(shape=shape, pose=lg.Pose6D(xyz=xyz), object_id=object_id)


def primitives(*obstacles: lg.WorldCollisionPrimitive) -> lg.World:
    return lg.World(primitives=obstacles, stamp_s=NOW_S, world_id="test")


def grid(value: int) -> lg.World:
    cells = np.zeros((40, 40, 40), np.uint8)
    cells[8:12, 18:22, 28:34] = value
    voxels = lg.Voxels(
        occupancy=cells, origin_xyz=(-1.0, -1.0, -0.5), resolution_m=0.05, stamp_s=NOW_S, outside="free"
    )
    return lg.World(voxels=voxels, stamp_s=NOW_S, world_id="test")


DOWN = towards(j2=0.6, j4=-1.7)

# A name that a page must not run and a font does not have.
EVIL_NAME = "$\\frac{<img src=x onerror=alert(1)>中"

REFUSALS: dict[str, Callable[[], Case]] = {
    "joint_position_limit": lambda: case(towards(rows=40, j4=-3.2)),
    "joint_velocity_limit": lambda: case(towards(rows=10, j1=1.5)),
    "ee_speed": lambda: case(towards(rows=20, j1=0.5), gate=gate_with(max_ee_speed_m_s=0.3)),
    "workspace_box": lambda: case(
        DOWN, gate=gate_with(workspace_box_min_xyz=(-0.6, -0.6, 0.3), workspace_box_max_xyz=(0.6, 0.6, 1.2))
    ),
    "self_collision": lambda: case(towards(j2=-1.7, j4=-3.0, j6=0.2)),
    "world_primitive": lambda: case(
        DOWN,
        world=primitives(
            obstacle("pole", {"shape": "capsule", "radius_m": 0.02, "length_m": 0.8}, 0.5, 0.0, 0.2),
            obstacle("box", {"shape": "box", "size_xyz_m": (0.2, 0.3, 0.1)}, 0.3, 0.6, 0.0),
            obstacle("sphere", {"shape": "sphere", "radius_m": 0.1}, 0.3, -0.6, 0.0),
        ),
    ),
    "world_half_space": lambda: case(
        DOWN, world=primitives(obstacle(EVIL_NAME, {"shape": "half_space"}, 0.0, 0.0, 0.1))
    ),
    "world_voxel": lambda: case(DOWN, world=grid(1)),
    "world_unknown_voxel": lambda: case(DOWN, world=grid(255)),
    "world_point": lambda: case(
        DOWN,
        world=lg.World(
            points=np.random.default_rng(1).uniform([0.4, -0.2, 0.1], [0.8, 0.2, 0.2], (3000, 3)),
            stamp_s=NOW_S,
            world_id="test",
        ),
    ),
    "nan_in_action": lambda: case(np.full((3, 7), np.nan)),
    "ndof_mismatch": lambda: case(np.zeros((3, 6))),
    "state_unavailable": lambda: Case(gate_with(), lg.ActionChunk(DOWN), None, lg.NO_WORLD),
    "world_unavailable": lambda: Case(
        gate_with(), lg.ActionChunk(DOWN), lg.RobotState(positions=HOME, stamp_s=NOW_S), None
    ),
    "control_mode": lambda: case(DOWN, mode=200),
    "cartesian_step": lambda: case(np.full((2, 6), 0.5), mode=lg.ControlMode.CARTESIAN_DELTA),
}
