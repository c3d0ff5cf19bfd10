# SPDX-License-Identifier: Apache-2.0
"""A gate of each robot accepts a small motion at home and refuses to move it into itself."""

import math

import numpy as np
import pytest
from fixtures.analytic_robots import NOW_S, check, code_of
from fixtures.library_poses import LIBRARY_POSES

import lastgate as lg

STEP_S = 0.1
TOOL_LIMITS = (
    "workspace_box_min_xyz",
    "workspace_box_max_xyz",
    "max_ee_speed_m_s",
    "max_ee_angular_speed_rad_s",
)


def standing_at(gate: lg.Gate, pose: dict[str, float]) -> lg.RobotState:
    fingers = [pose.get(name, 0.0) for name in gate.gripper_joint_names]
    return lg.RobotState(
        positions=[pose.get(name, 0.0) for name in gate.joint_names],
        stamp_s=NOW_S,
        gripper_positions=fingers or None,
    )


def rows_to(
    gate: lg.Gate, robot: lg.RobotDescription, start: dict[str, float], end: dict[str, float]
) -> np.ndarray:
    """Returns rows from one pose to another, as slow as the slowest joint needs."""
    first = np.array([start.get(name, 0.0) for name in gate.joint_names])
    last = np.array([end.get(name, 0.0) for name in gate.joint_names])
    speed = {joint.name: joint.velocity_limit or 0.0 for joint in robot.actuated_joints}
    steps = np.abs(last - first) / (0.5 * STEP_S * np.array([speed[name] for name in gate.joint_names]))
    count = max(2, math.ceil(float(steps.max())))
    return first + (last - first) * np.linspace(0.0, 1.0, count + 1)[1:, None]


@pytest.mark.parametrize("name", LIBRARY_POSES)
def test_small_motion_at_home_is_accepted(name: str) -> None:
    robot = lg.load_robot(name)
    gate = lg.Gate(robot, step_s=STEP_S)
    home = LIBRARY_POSES[name].home
    nearby = {joint: home.get(joint, 0.0) + 0.01 for joint in gate.joint_names}
    limits = {joint.name: joint.position_limits for joint in robot.actuated_joints}
    inside = {joint: float(np.clip(value, *limits[joint])) for joint, value in nearby.items()}
    verdict = check(gate, rows_to(gate, robot, home, inside), state=standing_at(gate, home))
    assert verdict.accepted, verdict.explain()


@pytest.mark.parametrize("name", LIBRARY_POSES)
def test_motion_into_itself_is_rejected(name: str) -> None:
    """Case X36 is among them: the elbow of h1 into its torso, a pair that a neutral pose seems to excuse."""
    robot = lg.load_robot(name)
    # Without limits of the tool: what is left to refuse is the contact.
    lifted = robot.safety.model_copy(update=dict.fromkeys(TOOL_LIMITS))
    robot = robot.model_copy(update={"safety": lifted})
    gate = lg.Gate(robot, step_s=STEP_S)
    pose = LIBRARY_POSES[name]
    verdict = check(
        gate, rows_to(gate, robot, pose.home, pose.home | pose.folded), state=standing_at(gate, pose.home)
    )
    assert code_of(verdict) == "self_collision", verdict.explain()


@pytest.mark.parametrize("step_rad", [0.5, 0.1])
def test_step_of_a_humanoid_near_contact_is_decided_within_the_budget(step_rad: float) -> None:
    """Hundreds of hulls on each side of a pair cost too much unless only short motions are held against them."""
    robot = lg.load_robot("g1")
    lifted = robot.safety.model_copy(update=dict.fromkeys(TOOL_LIMITS))
    gate = lg.Gate(robot.model_copy(update={"safety": lifted}), step_s=10.0)
    limits = {joint.name: joint.position_limits for joint in robot.actuated_joints}
    low, high = np.array([limits[name] for name in gate.joint_names]).T
    rng = np.random.default_rng(7)
    drawn = rng.uniform(low, high, (2000, gate.n_dof))
    alone = gate.check_batch(drawn, world=lg.NO_WORLD)
    starts = drawn[alone.accepted & (alone.clearance_m < 0.03)][:60]
    ends = np.clip(starts + rng.uniform(-step_rad, step_rad, starts.shape), low, high)
    codes = [
        code_of(check(gate, end[None], state=lg.RobotState(positions=start, stamp_s=NOW_S)))
        for start, end in zip(starts, ends, strict=True)
    ]
    assert len(codes) == 60
    assert codes.count("self_collision") >= 5
    assert codes.count("accepted") >= 10
    assert set(codes) == {"accepted", "self_collision"}


@pytest.mark.parametrize("name", LIBRARY_POSES)
def test_pair_that_meets_is_checked(name: str) -> None:
    checked = {tuple(sorted(pair)) for pair in lg.Gate(lg.load_robot(name), step_s=STEP_S).checked_pairs}
    assert LIBRARY_POSES[name].meets <= checked


@pytest.mark.parametrize(
    ("name", "left", "right"),
    [("openarm", "openarm_left", "openarm_right"), ("aloha_bimanual", "vx300s_left", "vx300s_right")],
)
def test_no_pair_across_two_arms_is_exempt_unless_both_stand_still(name: str, left: str, right: str) -> None:
    robot = lg.load_robot(name)
    still = {joint.child_link for joint in robot.joints if not joint.is_moving}
    for entry in robot.allowed_collision_pairs:
        sides = {side for link in entry.links for side in (left, right) if link.startswith(side)}
        if sides == {left, right}:
            # Bases bolted to the same world, or a base and the link that only turns on the other one.
            assert entry.links[0] in still or entry.links[1] in still, entry


def test_base_of_panda_mobile_moves_by_body_twist() -> None:
    gate = lg.Gate(lg.load_robot("panda_mobile"), step_s=STEP_S)
    home = LIBRARY_POSES["panda_mobile"].home
    state = standing_at(gate, home)
    slow, fast = [[0.2, 0.1, 0.0, 0.0, 0.0, 0.1]] * 3, [[1.5, 0.0, 0.0, 0.0, 0.0, 0.0]] * 3
    assert check(gate, slow, lg.ControlMode.BODY_TWIST, state=state).accepted
    assert code_of(check(gate, fast, lg.ControlMode.BODY_TWIST, state=state)) == "base_linear_speed"
