# SPDX-License-Identifier: Apache-2.0
"""A turn that the resolved path does not quite follow moves what the tool holds: the farther it reaches, the more."""

import numpy as np
import pytest
from fixtures.analytic_robots import sphere, world_of
from scipy.spatial.transform import Rotation

import lastgate as lg

NOW_S = 100.0
TIP_M = 0.3
# The wrist is stretched: with joint 5 at zero two axes coincide, and some turns take more steps than there are.
STRETCHED = [
    ([-0.03, -1.47, -0.66, -0.12, 0.0, -0.55], [-0.002, 0.037, -0.018, -0.148, -0.095, -0.19]),
    ([-1.95, -0.14, 0.31, 0.03, 0.0, -1.88], [-0.015, -0.019, 0.034, 0.093, -0.137, 0.003]),
]


@pytest.fixture(scope="module")
def gate():
    robot = lg.load_robot("ur5e")
    steps = {"max_cartesian_step_m": 0.05, "max_cartesian_step_rad": 0.3}
    safety = lg.SafetyEnvelope(**steps)
    gate = lg.Gate(robot.model_copy(update={"safety": safety, "control_modes": None}), step_s=1.0)
    (tool,) = robot.end_effectors
    assert tool.tool_xyz_rpy == (0.0,) * 6
    sphere_at_the_tip = lg.SphereShape(radius_m=0.02)
    gate.attach(
        tool.link,
        sphere_at_the_tip,
        object_id="stick",
        origin_xyz_rpy=(0.0, 0.0, TIP_M, 0.0, 0.0, 0.0),
        touch_links=gate.link_names,
    )
    return gate


def commanded_tip(gate, positions, delta):
    """Where the row sends the tip: Rodrigues' rotation about the tool, then the step."""
    link_pose = gate.link_poses(np.array(positions))[gate.robot.end_effectors[0].link]
    move, turn = np.array(delta[:3]), np.array(delta[3:])
    angle = np.linalg.norm(turn)
    x, y, z = turn / angle
    across = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    rotation = np.eye(3) + np.sin(angle) * across + (1.0 - np.cos(angle)) * across @ across
    return link_pose[:, 3] + move + rotation @ link_pose[:, 2] * TIP_M


@pytest.mark.parametrize(("positions", "delta"), STRETCHED)
def test_held_tip_that_a_row_sends_into_an_obstacle_is_rejected(gate, positions, delta):
    state = lg.RobotState(positions=positions, stamp_s=NOW_S)
    chunk = lg.ActionChunk([delta], mode=lg.ControlMode.CARTESIAN_DELTA, frame_id=gate.robot.base_frame)
    assert gate.check(chunk, state=state, world=lg.NO_WORLD, now_s=NOW_S).accepted
    tip = commanded_tip(gate, positions, delta)
    hit = gate.check(chunk, state=state, world=world_of(sphere(tip, 0.001, "pin")), now_s=NOW_S)
    assert [violation.code for violation in hit.violations] == ["world_collision"]
    away = tip + np.array([0.0, 0.0, 1.0])
    assert gate.check(chunk, state=state, world=world_of(sphere(away, 0.001, "pin")), now_s=NOW_S).accepted


def test_turn_that_is_followed_costs_no_room(gate):
    # Not stretched, and a millimetre beside the commanded tip there is room for the pin.
    positions, delta = [0.3, -1.2, 1.4, -0.6, 1.2, 0.4], [0.0, 0.0, 0.01, 0.0, 0.0, 0.05]
    state = lg.RobotState(positions=positions, stamp_s=NOW_S)
    chunk = lg.ActionChunk([delta], mode=lg.ControlMode.CARTESIAN_DELTA, frame_id=gate.robot.base_frame)
    tip = commanded_tip(gate, positions, delta)
    start = gate.link_poses(np.array(positions))[gate.robot.end_effectors[0].link]
    onwards = tip - (start[:, 3] + TIP_M * start[:, 2])
    beyond = tip + onwards / np.linalg.norm(onwards) * (0.02 + 0.001 + 0.001)
    assert gate.check(chunk, state=state, world=world_of(sphere(beyond, 0.001, "pin")), now_s=NOW_S).accepted
    assert not gate.check(chunk, state=state, world=world_of(sphere(tip, 0.001, "pin")), now_s=NOW_S).accepted


@pytest.fixture(scope="module")
def wide():
    """A gate whose limits have nothing against half a turn within one row."""
    robot = lg.load_robot("ur5e")
    safety = lg.SafetyEnvelope(
        workspace_box_min_xyz=(-2.0, -2.0, -2.0),
        workspace_box_max_xyz=(2.0, 2.0, 2.0),
        max_cartesian_step_m=0.05,
        max_cartesian_step_rad=7.0,
        max_ee_speed_m_s=10.0,
        max_ee_angular_speed_rad_s=7.0,
    )
    return lg.Gate(robot.model_copy(update={"safety": safety, "control_modes": None}), step_s=1.0)


def turning_row(gate, positions, mode, turn):
    """A row that leaves the tool where it is and turns it by a rotation vector of the base frame."""
    if mode != "CARTESIAN_POSE":
        return [0.0, 0.0, 0.0, *turn]
    pose = gate.link_poses(np.array(positions))[gate.robot.end_effectors[0].link]
    turned = Rotation.from_rotvec(turn) * Rotation.from_matrix(pose[:, :3])
    return [*turned.as_quat(), *pose[:, 3]]


def check_turn(gate, mode, turn):
    positions = [0.3, -1.2, 1.4, -0.6, 1.2, 0.4]
    state = lg.RobotState(positions=positions, stamp_s=NOW_S)
    row = turning_row(gate, positions, mode, np.array(turn))
    chunk = lg.ActionChunk([row], mode=lg.ControlMode[mode], frame_id=gate.robot.base_frame)
    verdict = gate.check(chunk, state=state, world=lg.NO_WORLD, now_s=NOW_S)
    moved_rad = np.abs(verdict.joint_rows - positions).max() if verdict.accepted else np.nan
    return verdict, moved_rad


@pytest.mark.parametrize("axis", [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.6, 0.0, -0.8)])
@pytest.mark.parametrize("mode", ["CARTESIAN_POSE", "CARTESIAN_DELTA", "CARTESIAN_TWIST"])
def test_half_turn_is_not_taken_for_none(wide, mode, axis):
    verdict, _ = check_turn(wide, mode, np.pi * np.array(axis))
    (violation,) = verdict.violations
    assert violation.code == "cartesian_unreachable"
    assert violation.unit == "rad"
    assert violation.value == pytest.approx(np.pi)
    assert "which way around" in str(violation)


@pytest.mark.parametrize("mode", ["CARTESIAN_DELTA", "CARTESIAN_TWIST"])
@pytest.mark.parametrize("turn_rad", [4.0, 2 * np.pi])
def test_turn_by_more_than_half_is_not_taken_for_what_is_left_of_it(wide, mode, turn_rad):
    verdict, _ = check_turn(wide, mode, (0.0, 0.0, turn_rad))
    assert [violation.code for violation in verdict.violations] == ["cartesian_unreachable"]


@pytest.mark.parametrize("mode", ["CARTESIAN_POSE", "CARTESIAN_DELTA", "CARTESIAN_TWIST"])
def test_turn_by_less_than_half_is_followed(wide, mode):
    pose = wide.link_poses(np.array([0.3, -1.2, 1.4, -0.6, 1.2, 0.4]))[wide.robot.end_effectors[0].link]
    # About the axis of the last joint, which alone can follow it.
    verdict, moved_rad = check_turn(wide, mode, 3.0 * pose[:, 2])
    assert verdict.accepted
    assert moved_rad == pytest.approx(3.0, abs=1e-3)
