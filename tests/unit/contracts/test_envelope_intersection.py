# SPDX-License-Identifier: Apache-2.0
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from lastgate.contracts import (
    RobotDescription,
    ROSConfigError,
    RSkillManifest,
    SafetyEnvelope,
    intersect_envelopes,
    joint_velocity_limits,
)
from lastgate.contracts.envelope_intersection import MARGINS, MAXIMA

from .conftest import joint

BOX = {"workspace_box_min_xyz": [-0.4, -0.4, 0.0], "workspace_box_max_xyz": [0.6, 0.6, 0.6]}
CEILING = {"max_force_n": 10, "max_ee_speed_m_s": 0.5, **BOX}


def robot_with(**safety):
    return RobotDescription(
        name="arm",
        base_frame="base",
        joints=[joint("elbow", "base", "arm", velocity_limit=4.5)],
        safety=safety,
    )


def skill_with(**envelope):
    return RSkillManifest(name="pick", version="1.2.0", envelope=envelope)


def zone(name, radius_m=0.1):
    return {"name": name, "shape": {"shape": "sphere", "radius_m": radius_m}, "pose": {"xyz": [0, 0, 0]}}


def test_e01_a_robot_alone_keeps_its_ceiling():
    robot = robot_with(**CEILING)
    envelope = intersect_envelopes(robot, None)
    assert envelope == robot.safety
    assert envelope.deadman_required


def test_e01_a_skill_without_an_envelope_inherits_the_ceiling():
    robot = robot_with(**CEILING)
    assert intersect_envelopes(robot, RSkillManifest(name="pick", version="1.0.0")) == robot.safety
    assert intersect_envelopes(robot, skill_with()) == robot.safety


@pytest.mark.parametrize("skill", [SafetyEnvelope(max_force_n=5), {"envelope": None}, "pick", False, 0])
def test_what_is_no_skill_is_refused_and_never_taken_for_none(skill):
    with pytest.raises(ROSConfigError, match=r"expected an RSkillManifest"):
        intersect_envelopes(robot_with(**CEILING), skill)


def test_what_is_no_robot_is_refused():
    with pytest.raises(ROSConfigError, match=r"robot is a SafetyEnvelope, expected a RobotDescription"):
        intersect_envelopes(SafetyEnvelope(), skill_with(max_force_n=5))


def test_e02_the_speed_factor_scales_every_joint():
    robot = robot_with(max_joint_speed_factor=0.7)
    (alone,) = joint_velocity_limits(robot, intersect_envelopes(robot, None))
    (with_skill,) = joint_velocity_limits(
        robot, intersect_envelopes(robot, skill_with(max_joint_speed_factor=0.4))
    )
    assert alone == pytest.approx(3.15)
    assert with_skill == pytest.approx(1.8)


def test_e03_a_joint_without_limits_is_refused_and_never_unlimited():
    with pytest.raises(ValidationError, match=r"joint `elbow`: a revolute joint needs `position_limits"):
        RobotDescription(
            name="arm", base_frame="base", joints=[joint("elbow", "base", "arm", position_limits=None)]
        )
    unchecked = joint("elbow", "base", "arm")
    robot = robot_with()
    stripped = robot.joints[0].model_copy(update={"velocity_limit": None})
    with pytest.raises(ROSConfigError, match=f"joint `{unchecked['name']}` declares no velocity_limit"):
        joint_velocity_limits(robot.model_copy(update={"joints": (stripped,)}), robot.safety)


def test_e04_the_smaller_force_wins():
    assert intersect_envelopes(robot_with(max_force_n=50), skill_with(max_force_n=20)).max_force_n == 20


def test_e05_a_skill_box_inside_the_robot_box_is_used():
    inner = {"workspace_box_min_xyz": [-0.1, -0.1, 0.1], "workspace_box_max_xyz": [0.2, 0.2, 0.2]}
    envelope = intersect_envelopes(robot_with(**CEILING), skill_with(**inner))
    assert envelope.workspace_box_min_xyz == (-0.1, -0.1, 0.1)
    assert envelope.workspace_box_max_xyz == (0.2, 0.2, 0.2)


def test_e06_a_skill_may_ask_for_the_deadman():
    assert intersect_envelopes(
        robot_with(deadman_required=False), skill_with(deadman_required=True)
    ).deadman_required


def test_e06_without_either_asking_there_is_no_deadman():
    envelope = intersect_envelopes(robot_with(deadman_required=False), skill_with(deadman_required=False))
    assert not envelope.deadman_required


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"max_force_n": 100}, "`max_force_n` is looser than the robot's: skill 100.0000, robot 10.0000"),
        (
            {"max_ee_speed_m_s": 5},
            "`max_ee_speed_m_s` is looser than the robot's: skill 5.0000, robot 0.5000",
        ),
        (
            {**BOX, "workspace_box_min_xyz": [-1, -0.4, 0]},
            "`workspace_box_min_xyz` is looser than the robot's: "
            "skill [-1.0000, -0.4000, 0.0000], robot [-0.4000, -0.4000, 0.0000]",
        ),
        (
            {**BOX, "workspace_box_max_xyz": [0.6, 0.6, 99]},
            "`workspace_box_max_xyz` is looser than the robot's: "
            "skill [0.6000, 0.6000, 99.0000], robot [0.6000, 0.6000, 0.6000]",
        ),
        (
            {"deadman_required": False},
            "`deadman_required` is looser than the robot's: skill false, robot true",
        ),
    ],
)
def test_e07_loosening_is_refused_with_the_field_and_both_numbers(asked, sentence):
    with pytest.raises(ROSConfigError) as refusal:
        intersect_envelopes(robot_with(**CEILING), skill_with(**asked))
    assert str(refusal.value) == f"skill `pick` 1.2.0 on robot `arm`: {sentence}"


@pytest.mark.parametrize("safety", [CEILING, {}], ids=["robot_has_a_box", "robot_has_none"])
@pytest.mark.parametrize("vertex", BOX)
def test_e07_half_a_box_is_refused_whether_or_not_the_robot_has_one(safety, vertex):
    with pytest.raises(ValidationError, match="half a workspace box"):
        skill_with(**{vertex: BOX[vertex]})
    unchecked = SafetyEnvelope().model_copy(update={vertex: tuple(BOX[vertex])})
    skill = skill_with().model_copy(update={"envelope": unchecked})
    with pytest.raises(ROSConfigError, match="the skill sets half a workspace box"):
        intersect_envelopes(robot_with(**safety), skill)


def test_e07_every_loosened_field_is_named_in_one_error():
    with pytest.raises(ROSConfigError) as refusal:
        intersect_envelopes(
            robot_with(**CEILING), skill_with(max_force_n=11, max_ee_speed_m_s=1, deadman_required=False)
        )
    assert len(str(refusal.value).splitlines()) == 3


def test_e08_a_box_that_is_not_set_stays_unset():
    envelope = intersect_envelopes(robot_with(max_force_n=10), skill_with(max_force_n=5))
    assert envelope.workspace_box_min_xyz is None
    assert "workspace_box_min_xyz" not in envelope.model_fields_set


def test_e09_a_six_joint_arm_keeps_its_joints_force_and_box():
    names = ["shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper"]
    links = ["base", *(f"{name}_link" for name in names)]
    joints = [joint(name, links[i], links[i + 1]) for i, name in enumerate(names)]
    robot = RobotDescription(name="so100", base_frame="base", joints=joints, safety=CEILING)
    envelope = intersect_envelopes(robot, None)
    assert robot.n_dof == 6
    assert envelope.max_force_n == 10
    assert list(envelope.workspace_box_min_xyz) == BOX["workspace_box_min_xyz"]
    assert list(envelope.workspace_box_max_xyz) == BOX["workspace_box_max_xyz"]


@pytest.mark.parametrize("name", MAXIMA)
def test_a_maximum_equal_to_the_robots_is_accepted_and_one_ulp_more_is_refused(name):
    robot = robot_with(**{name: 0.5})
    assert getattr(intersect_envelopes(robot, skill_with(**{name: 0.5})), name) == 0.5
    with pytest.raises(ROSConfigError, match=f"`{name}` is looser"):
        intersect_envelopes(robot, skill_with(**{name: 0.5000000000000001}))


@pytest.mark.parametrize("name", MARGINS)
def test_a_larger_margin_is_accepted_and_a_smaller_one_refused(name):
    robot = robot_with(**{name: 0.02})
    assert getattr(intersect_envelopes(robot, skill_with(**{name: 0.03})), name) == 0.03
    with pytest.raises(ROSConfigError, match=f"`{name}` is looser"):
        intersect_envelopes(robot, skill_with(**{name: 0.01}))


@pytest.mark.parametrize("name", [*MAXIMA, *MARGINS])
def test_a_number_that_is_not_one_counts_as_loosening(name):
    unchecked = SafetyEnvelope().model_copy(update={name: float("nan")})
    skill = skill_with().model_copy(update={"envelope": unchecked})
    with pytest.raises(ROSConfigError, match=name):
        intersect_envelopes(robot_with(**{name: 0.5}), skill)


def test_only_fields_that_were_written_down_take_part():
    # The default factor of 1.0 would loosen the robot's 0.7, and the default deadman would ask for one.
    envelope = intersect_envelopes(
        robot_with(max_joint_speed_factor=0.7, deadman_required=False), skill_with(max_force_n=5)
    )
    assert envelope.max_joint_speed_factor == 0.7
    assert not envelope.deadman_required


def test_a_limit_set_to_null_does_not_drop_the_robots():
    assert intersect_envelopes(robot_with(max_force_n=10), skill_with(max_force_n=None)).max_force_n == 10


def test_a_limit_the_robot_does_not_declare_may_be_added():
    assert intersect_envelopes(robot_with(), skill_with(max_ee_speed_m_s=0.2)).max_ee_speed_m_s == 0.2


def test_a_gripper_range_inside_is_used_and_one_outside_refused():
    robot = robot_with(gripper_min=0.0, gripper_max=1.0)
    inside = intersect_envelopes(robot, skill_with(gripper_min=0.2, gripper_max=1.0))
    assert (inside.gripper_min, inside.gripper_max) == (0.2, 1.0)
    with pytest.raises(ROSConfigError, match=r"`gripper_min` is looser.*skill -0\.1000, robot 0\.0000"):
        intersect_envelopes(robot, skill_with(gripper_min=-0.1, gripper_max=1.0))


def test_zones_are_united_and_the_robots_come_first():
    robot = robot_with(no_go_zones=[zone("wall"), zone("channel")])
    envelope = intersect_envelopes(robot, skill_with(no_go_zones=[zone("cup"), zone("wall")]))
    assert [united.name for united in envelope.no_go_zones] == ["wall", "channel", "cup"]


def test_keep_in_zones_are_united_and_none_can_be_loosened():
    robot = robot_with(keep_in_zones=[zone("cell")])
    envelope = intersect_envelopes(robot, skill_with(keep_in_zones=[zone("table", 0.01)]))
    assert [united.name for united in envelope.keep_in_zones] == ["cell", "table"]
    assert [kept.name for kept in intersect_envelopes(robot, skill_with(keep_in_zones=[])).keep_in_zones] == [
        "cell"
    ]
    with pytest.raises(ROSConfigError, match="`keep_in_zones`: the robot has another zone called `cell`"):
        intersect_envelopes(robot, skill_with(keep_in_zones=[zone("cell", 9.0)]))


def test_a_skill_that_leaves_zones_out_does_not_remove_them():
    envelope = intersect_envelopes(robot_with(no_go_zones=[zone("wall")]), skill_with(no_go_zones=[]))
    assert [kept.name for kept in envelope.no_go_zones] == ["wall"]


def test_a_skill_that_redefines_a_zone_is_refused():
    with pytest.raises(ROSConfigError, match="another zone called `wall`"):
        intersect_envelopes(
            robot_with(no_go_zones=[zone("wall")]), skill_with(no_go_zones=[zone("wall", 0.01)])
        )


def test_half_a_box_of_a_robot_made_without_validation_is_refused():
    robot = robot_with()
    half = robot.safety.model_copy(update={"workspace_box_min_xyz": (0.0, 0.0, 0.0)})
    with pytest.raises(ROSConfigError, match="the robot sets half a workspace box"):
        intersect_envelopes(robot.model_copy(update={"safety": half}), skill_with(max_force_n=1))


LIMIT = st.floats(min_value=1e-3, max_value=1.0)


@given(st.dictionaries(st.sampled_from(MAXIMA), LIMIT), st.dictionaries(st.sampled_from(MAXIMA), LIMIT))
def test_the_result_is_never_looser_than_either_side(of_robot, of_skill):
    robot, skill = robot_with(**of_robot), skill_with(**of_skill)
    loosened = {name for name in of_skill if getattr(robot.safety, name) not in (None,)} & {
        name for name, value in of_skill.items() if value > (getattr(robot.safety, name) or value)
    }
    if loosened:
        with pytest.raises(ROSConfigError) as refusal:
            intersect_envelopes(robot, skill)
        assert all(name in str(refusal.value) for name in loosened)
        return
    envelope = intersect_envelopes(robot, skill)
    for name in MAXIMA:
        declared = [side[name] for side in (of_robot, of_skill) if name in side]
        if declared:
            assert getattr(envelope, name) == min(declared)
