# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

import lastgate as lg
from lastgate.contracts import joint_velocity_limits
from lastgate.planning.skills import MotionPlanner, build_joint_goal, build_pose_goal
from lastgate.planning.skills.planner import SPEED_SHARE
from lastgate.world.rigid_motion import pose_of_motion
from unit.planning.skills.conftest import HOME, STEP_S, TABLE, box, world_of

TURNED = HOME + np.array([1.6, 0, 0, 0, 0, 0, 0])
# Stands where the hand would pass on the straight way from HOME to TURNED.
PILLAR = box("pillar", (0.33, 0.33, 0.4), (0.08, 0.08, 0.8))


def to(panda, positions):
    names = [joint.name for joint in panda.actuated_joints][:7]
    return build_joint_goal(panda, dict(zip(names, map(float, positions), strict=True)))


def is_certified(gate, trajectory, world):
    """Asks a gate of the test's own about the whole trajectory, in chunks."""
    before = trajectory.start
    for first in range(0, len(trajectory.rows), 100):
        rows = np.ascontiguousarray(trajectory.rows[first : first + 100])
        state = lg.RobotState(positions=before.copy(), gripper_positions=np.array([0.02]), stamp_s=0.0)
        verdict = gate.check(lg.ActionChunk(rows), state=state, world=world, now_s=0.0)
        if not verdict.accepted:
            return False
        before = rows[-1]
    return True


def test_straight_way_is_planned_and_stays_inside_the_share_of_the_limits(panda, gate, planner, at_home):
    world = world_of(TABLE)
    plan = planner.plan(to(panda, TURNED), state=at_home, world=world, now_s=0.0)
    assert np.array_equal(plan.end, TURNED)
    assert is_certified(gate, plan, world)
    rates = np.abs(np.diff(np.vstack([plan.start, plan.rows]), axis=0)).max(axis=0) / STEP_S
    limits = joint_velocity_limits(panda, panda.safety)[:7]
    assert (rates <= SPEED_SHARE * np.array(limits) * (1 + 1e-9)).all()


def test_pillar_in_the_way_is_gone_round(panda, gate, planner, at_home):
    world = world_of(TABLE, PILLAR)
    straight = planner.plan(to(panda, TURNED), state=at_home, world=world_of(TABLE), now_s=0.0)
    assert not is_certified(gate, straight, world)
    plan = planner.plan(to(panda, TURNED), state=at_home, world=world, now_s=0.0)
    assert np.array_equal(plan.end, TURNED)
    assert is_certified(gate, plan, world)
    assert plan.length > straight.length


def test_plan_keeps_more_distance_than_the_gate_requires(panda, planner, at_home):
    world = world_of(TABLE, PILLAR)
    plan = planner.plan(to(panda, TURNED), state=at_home, world=world, now_s=0.0)
    wider = lg.SafetyEnvelope(self_collision_margin_m=0.005, world_collision_margin_m=0.005)
    strict = lg.Gate(panda, step_s=STEP_S, skill=lg.RSkillManifest(name="s", version="1.0.0", envelope=wider))
    assert is_certified(strict, plan, world)


def test_goal_inside_an_obstacle_is_refused(panda, planner, at_home):
    hand = planner.gate.link_poses(TURNED)["panda_hand"][:, 3]
    world = world_of(TABLE, box("crate", tuple(hand), (0.2, 0.2, 0.2)))
    with pytest.raises(lg.ROSPlanningError, match="no posture meets the goal"):
        planner.plan(to(panda, TURNED), state=at_home, world=world, now_s=0.0)


def test_start_inside_an_obstacle_is_rejected(panda, planner, at_home):
    hand = planner.gate.link_poses(HOME)["panda_hand"][:, 3]
    world = world_of(box("crate", tuple(hand), (0.1, 0.1, 0.1)))
    with pytest.raises(lg.ROSPlanningError, match="stands where a plan cannot begin"):
        planner.plan(to(panda, TURNED), state=at_home, world=world, now_s=0.0)


def test_goal_where_the_robot_is_has_no_rows(panda, planner, at_home):
    plan = planner.plan(to(panda, HOME), state=at_home, world=lg.NO_WORLD, now_s=0.0)
    assert len(plan.rows) == 0
    assert np.array_equal(plan.end, HOME)


def test_attached_object_is_planned_with(panda, at_home):
    gate = lg.Gate(panda, step_s=STEP_S)
    planner = MotionPlanner(gate)
    low = HOME + np.array([0.0, 0.45, 0.0, 0.0, 0.0, 0.45, 0.0])
    world = world_of(TABLE)
    assert planner.configurations_for(to(panda, low), state=at_home, world=world)
    gate.attach(
        "panda_hand",
        lg.CapsuleShape(radius_m=0.02, length_m=0.4),
        object_id="rod",
        origin_xyz_rpy=(0.0, 0.0, 0.3, 0.0, 0.0, 0.0),
        touch_links=("panda_leftfinger", "panda_rightfinger"),
    )
    assert not planner.configurations_for(to(panda, low), state=at_home, world=world)
    gate.detach("rod")
    assert planner.configurations_for(to(panda, low), state=at_home, world=world)


def test_pose_is_reached_by_the_core_s_own_kinematics(panda, gate, planner, at_home):
    wanted = gate.link_poses(HOME + np.array([0.4, 0.3, 0.1, 0.2, -0.2, 0.1, 0.3]))["panda_hand"]
    goal = build_pose_goal(panda, "panda_hand", pose_of_motion(wanted))
    plan = planner.plan(goal, state=at_home, world=world_of(TABLE), now_s=0.0)
    assert gate.link_poses(plan.end)["panda_hand"] == pytest.approx(wanted, abs=1e-5)


def test_pose_out_of_reach_is_refused(panda, planner, at_home):
    goal = build_pose_goal(panda, "panda_hand", lg.Pose6D(xyz=(2.0, 0.0, 0.5)))
    with pytest.raises(lg.ROSPlanningError, match="no posture"):
        planner.plan(goal, state=at_home, world=lg.NO_WORLD, now_s=0.0)


def test_pose_of_a_link_that_a_gripper_carries_is_refused(panda, planner, at_home):
    goal = build_pose_goal(panda, "panda_leftfinger", lg.Pose6D(xyz=(0.4, 0.0, 0.5)))
    with pytest.raises(lg.ROSConfigError, match="panda_finger_joint1"):
        planner.plan(goal, state=at_home, world=lg.NO_WORLD, now_s=0.0)


def test_world_too_old_is_not_planned_in(panda, planner, at_home):
    with pytest.raises(lg.ROSPlanningError, match="world_unavailable"):
        planner.plan(to(panda, TURNED), state=at_home, world=world_of(TABLE, stamp_s=-10.0), now_s=0.0)


def test_same_question_gets_the_same_plan(panda, gate, at_home):
    plans = [
        MotionPlanner(gate).plan(to(panda, TURNED), state=at_home, world=world_of(TABLE, PILLAR), now_s=0.0)
        for _ in range(2)
    ]
    assert np.array_equal(plans[0].rows, plans[1].rows)


@pytest.mark.parametrize(
    "changes", [{"slack_m": -0.1}, {"slack_m": np.nan}, {"speed_share": 0.0}, {"speed_share": 1.5}]
)
def test_planner_that_would_loosen_anything_is_refused(gate, changes):
    with pytest.raises(lg.ROSConfigError):
        MotionPlanner(gate, **changes)
