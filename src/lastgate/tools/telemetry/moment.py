# SPDX-License-Identifier: Apache-2.0
"""Where the robot stood when a chunk broke its rule."""

import numpy as np

from lastgate.contracts import ControlMode
from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.contracts.arrays import Float64
from lastgate.gate import Gate
from lastgate.gate.verdict import Verdict, Violation, path_to_draw

_POSITION_ROWS = {ControlMode.JOINT_POSITION, ControlMode.JOINT_TRAJECTORY, ControlMode.DEX_HAND_JOINT}


def shown_path(gate: Gate, verdict: Verdict, *, chunk: ActionChunk, state: RobotState | None) -> Float64:
    """Returns the measured state and the steps after it as far as they can be shown, as `Verdict.path` has them.

    A verdict about a path brings it along. Before that, steps that hold joint positions are shown as they are, up to
    the first that cannot be; steps of another kind are not, because where they lead was not computed. Without a
    usable state the robot stands at zero.
    """
    known = path_to_draw(verdict)
    if known is not None:
        return known
    start = _measured(gate, state)
    rows = np.empty((0, gate.n_dof))
    if chunk.mode in _POSITION_ROWS and chunk.rows.shape[1] == gate.n_dof:
        broken = np.flatnonzero(~np.isfinite(chunk.rows).all(axis=1))
        rows = chunk.rows[: broken[0]] if len(broken) else chunk.rows
    later = gate.as_path(rows)
    joints = gate.as_path(np.ones((1, gate.n_dof)))[0] != 0.0
    path = np.vstack([start, np.tile(start, (len(later), 1))])
    path[1:, joints] = later[:, joints]
    return path


def moment_of(violation: Violation, path: Float64) -> Float64:
    """Returns the one configuration of the path, or between two, at which the rule is broken; the first if none is."""
    if violation.step is None or not len(path):
        return path[0]
    after = min(violation.step + 1, len(path) - 1)
    before = max(after - 1, 0)
    t = 1.0 if violation.segment_t is None else min(max(violation.segment_t, 0.0), 1.0)
    return path[before] + t * (path[after] - path[before])


def _measured(gate: Gate, state: RobotState | None) -> Float64:
    positions = np.zeros(gate.n_dof)
    grippers = np.zeros(len(gate.gripper_joint_names))
    if state is not None:
        if len(state.positions) == gate.n_dof and np.isfinite(state.positions).all():
            positions = state.positions
        fingers = state.gripper_positions
        if fingers is not None and len(fingers) == len(grippers) and np.isfinite(fingers).all():
            grippers = fingers
    return gate.as_path(positions[None], gripper_positions=grippers[None])[0]
