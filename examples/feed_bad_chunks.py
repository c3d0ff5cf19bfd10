# SPDX-License-Identifier: Apache-2.0
"""See every kind of rejection before you trust an acceptance.

The source of bad chunks to try a gate with: each entry spoils one thing about a request that is otherwise
accepted, and says which code the gate must answer with. Point it at your own robot to learn what its
limits are.
"""

from collections.abc import Callable

import numpy as np

import lastgate as lg

gate = lg.Gate(lg.load_robot("franka_panda"), step_s=0.02)
start = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.785])
good = start + 0.01 * np.arange(1, 17)[:, np.newaxis] * np.array([1.0, 0, 0, 0, 0, 0, 0])
sphere = lg.WorldCollisionPrimitive(
    shape=lg.SphereShape(shape="sphere", radius_m=0.2),
    pose=lg.Pose6D(xyz=(0.5, 0.1, 0.5)),
    object_id="sphere",
)


def request(
    *, rows=good, mode=lg.ControlMode.JOINT_POSITION, positions=start, state_age_s=0.0, world=lg.NO_WORLD
) -> lg.Verdict:
    state = lg.RobotState(positions=positions, stamp_s=5.0 - state_age_s)
    return gate.check(lg.ActionChunk(rows, mode=mode), state=state, world=world, now_s=5.0)


def spoiled(row: int, joint: int, value: float) -> np.ndarray:
    rows = good.copy()
    rows[row, joint] = value
    return rows


folded = start + np.linspace(0.0, 1.0, 200)[1:, np.newaxis] * np.array(
    [0.12, -0.25, 0.22, -0.82, 0.66, -0.36, 0.84]
)
bad: list[tuple[str, Callable[[], lg.Verdict]]] = [
    ("control_mode", lambda: request(mode=lg.ControlMode.FOOT_PLACEMENT)),
    ("ndof_mismatch", lambda: request(rows=np.zeros((16, 8)))),
    ("dim_mismatch", lambda: request(rows=np.zeros((0, 7)))),
    ("nan_in_action", lambda: request(rows=spoiled(9, 2, np.nan))),
    ("joint_position_limit", lambda: request(rows=spoiled(15, 3, 0.5))),
    ("state_unavailable", lambda: request(state_age_s=1.0)),
    ("joint_velocity_limit", lambda: request(rows=spoiled(7, 5, 2.2))),
    ("world_unavailable", lambda: request(world=lg.World(primitives=[], stamp_s=1.0))),
    ("self_collision", lambda: request(rows=folded)),
    ("world_collision", lambda: request(world=lg.World(primitives=[sphere], stamp_s=5.0))),
]

assert request().accepted, "nothing is wrong with the request that all these spoil"
for expected, send in bad:
    verdict = send()
    print(verdict.violations[0])
    assert not verdict.accepted
    assert verdict.violations[0].code == expected, verdict.explain()
