# SPDX-License-Identifier: Apache-2.0
"""What Python writes is what the core reads, key by key, and what any YAML reader reads."""

import math

import numpy as np
import pytest
from fixtures.analytic_robots import (
    PAPER_SAFETY,
    gripper_arm,
    joint,
    planar_two_link,
    sliders,
    sphere_on,
    stacked,
)
from ruamel.yaml import YAML

import lastgate as lg
from lastgate import _core
from lastgate.contracts import ControlMode
from lastgate.contracts.convex_hulls import LinkHull
from lastgate.robots.kernel_config import capsule_ends, enabled_modes, flat_config, shape_size_m

# Numbers whose shortest text and whose last bit both matter.
ODD = 0.1 + 0.2
TINY = 5e-324


def everything() -> lg.RobotDescription:
    """A robot that sets every key there is, with names that need escaping."""
    manifest = gripper_arm(name='a "quoted" arm \\ Käse')
    manifest["unproved_volumes"] = "drawn for this test"
    manifest["joints"][0] |= {"position_limits": [-ODD, 1 / 3], "origin_rpy": [ODD, -1e-9, 2.0]}
    for each in manifest["joints"]:
        each |= {"acceleration_limit": 7.7, "effort_limit": 12.3, "deceleration_limit": 1 / 3}
    manifest["stop"] = {
        "kind": "joint",
        "reaction_s": ODD,
        "base_deceleration_m_s2": 0.7,
        "base_angular_deceleration_rad_s2": 1 / 7,
    }
    follower = joint(
        "thumb joint", "hand", "thumb", mimic={"joint": "finger_joint", "multiplier": -1.5, "offset": ODD}
    )
    manifest["joints"].append(follower)
    manifest["collision_geometry"].append(sphere_on("thumb", 0.011))
    manifest["safety"] = PAPER_SAFETY | {
        "self_collision_margin_m": 0.001,
        "world_collision_margin_m": 0.002,
        "cartesian_deviation_m": 0.003,
        "state_age_s_max": 0.25,
        "world_age_s_max": ODD,
        "deadman_required": False,
        "no_go_zones": [
            {
                "name": "channel",
                "shape": {"shape": "box", "size_xyz_m": [1.0, 2.0, 3.0]},
                "pose": {"xyz": [5.0, -6.0, 7.0], "quat_xyzw": [0.0, 0.0, 0.6, 0.8]},
            },
            {
                "name": "bin",
                "shape": {"shape": "capsule", "radius_m": 0.3, "length_m": 1.0},
                "pose": {"xyz": [5.0, 6.0, 7.0]},
            },
        ],
        "keep_in_zones": [
            {
                "name": "cell",
                "shape": {"shape": "box", "size_xyz_m": [40.0, 42.0, 44.0]},
                "pose": {"xyz": [1.0, -2.0, 3.0], "quat_xyzw": [0.0, 0.0, 0.6, 0.8]},
            },
            {
                "name": "under the lamp",
                "shape": {"shape": "half_space"},
                "pose": {"xyz": [0.0, 0.0, 9.0]},
                "links": ["finger", "thumb"],
            },
        ],
    }
    manifest["convex_pieces"] = {"file": "convex_pieces.txt", "sha256": "0" * 64}
    hulls = (
        LinkHull("thumb", 0.0, ((ODD, 0.0, -1e-9),)),
        LinkHull("hand", 0.00012, ((0.0, 0.1, 0.2), (1 / 3, 0.0, 0.0))),
    )
    return lg.RobotDescription(**manifest).with_loaded_hulls(hulls)


SKILL = lg.RSkillManifest(name="pour", version="1.2.3", envelope=lg.SafetyEnvelope(max_ee_speed_m_s=0.4))


@pytest.fixture(scope="module")
def text() -> str:
    return flat_config(everything(), step_s=1 / 3, skill=SKILL, evaluations_max=1234)


@pytest.fixture(scope="module")
def written(text) -> dict:
    return YAML(typ="safe", pure=True).load(text)


@pytest.fixture(scope="module")
def read(text) -> _core.KernelConfig:
    return _core.read_config(text)


# Keys that the core keeps in another form than the file.
REGROUPED = {
    "schema_version",
    "workspace_box_min_xyz",
    "workspace_box_max_xyz",
    "gripper_min",
    "gripper_max",
    "zone_xyz_quat_xyzw",
    "keep_in_xyz_quat_xyzw",
}


def attributes_of(config: _core.KernelConfig) -> set[str]:
    return {name for name in dir(config) if not name.startswith("_")}


def test_every_key_is_an_attribute_and_every_attribute_a_key(written, read):
    forms = {"workspace_box", "gripper_range", "zone_xyz", "zone_rotation_columns"}
    forms |= {"keep_in_xyz", "keep_in_rotation_columns"}
    assert attributes_of(read) - forms == set(written) - REGROUPED


def test_core_reads_the_same_value_for_every_key(written, read):
    for key in sorted(set(written) - REGROUPED):
        assert getattr(read, key) == written[key], key


def test_core_reads_the_keys_that_it_regroups(written, read):
    assert written["schema_version"] == 1
    low, high = written["workspace_box_min_xyz"], written["workspace_box_max_xyz"]
    assert read.workspace_box == (tuple(low), tuple(high))
    assert read.gripper_range == (written["gripper_min"], written["gripper_max"])
    poses = np.array(written["zone_xyz_quat_xyzw"]).reshape(-1, 7)
    np.testing.assert_array_equal(np.reshape(read.zone_xyz, (-1, 3)), poses[:, :3])
    poses = np.array(written["keep_in_xyz_quat_xyzw"]).reshape(-1, 7)
    np.testing.assert_array_equal(np.reshape(read.keep_in_xyz, (-1, 3)), poses[:, :3])
    assert read.keep_in_rotation_columns[:9] == read.zone_rotation_columns[:9]
    channel = np.reshape(read.zone_rotation_columns, (-1, 3, 3))[0].T
    np.testing.assert_allclose(channel, [[0.28, -0.96, 0.0], [0.96, 0.28, 0.0], [0.0, 0.0, 1.0]], atol=1e-15)


def test_core_reads_what_the_robot_declares(read):
    robot = everything()
    assert read.robot_name == robot.name
    assert (read.skill_id, read.skill_version) == ("pour", "1.2.3")
    assert read.dof_names == ["lift", "finger_joint"]
    assert read.dof_in_rows == [1, 0]
    assert read.position_min == [-ODD, 0.0]
    assert read.position_max == [1 / 3, 0.04]
    assert read.step_s == 1 / 3
    assert read.evaluations_max == 1234
    assert read.max_ee_speed_m_s == 0.4
    assert read.deadman_required is False
    assert read.mobile_base is True
    assert read.joint_multiplier == [1.0, 1.0, 1.0, -1.5]
    assert read.joint_offset == [0.0, 0.0, 0.0, ODD]
    assert read.torque_max == [10.0, 10.0]  # prismatic joints, capped by max_force_n
    assert read.zone_size_m == [0.5, 1.0, 1.5, 0.3, 0.5, 0.0]
    assert read.keep_in_names == ["cell", "under the lamp"]
    assert read.keep_in_size_m == [20.0, 21.0, 22.0, 0.0, 0.0, 0.0]
    assert [read.link_names[int(link)] for link in read.keep_in_links[1::2]] == ["finger", "thumb"]
    assert read.keep_in_links[::2] == [1, 1]


def test_what_is_not_declared_is_absent():
    text = flat_config(lg.RobotDescription(**sliders(0.0)), step_s=0.1)
    read = _core.read_config(text)
    for key in (
        "acceleration_max",
        "deceleration_max",
        "stop_kind",
        "stop_reaction_s",
        "torque_max",
        "workspace_box",
        "gripper_range",
        "max_ee_speed_m_s",
        "max_ee_accel_m_s2",
    ):
        assert getattr(read, key) is None
        assert f"{key}:" not in text


@pytest.mark.parametrize("name", lg.robot_names())
def test_every_robot_of_the_library_is_read_as_it_is_written(name):
    text = flat_config(lg.load_robot(name), step_s=0.02)
    written = YAML(typ="safe", pure=True).load(text)
    read = _core.read_config(text)
    for key in sorted(set(written) - REGROUPED):
        assert getattr(read, key) == written[key], key


def test_text_is_the_same_every_time():
    assert flat_config(everything(), step_s=0.1) == flat_config(everything(), step_s=0.1)


@pytest.mark.parametrize(
    "number", [0.1, ODD, 1 / 3, 1e-9, TINY, 1.7976931348623157e308, -0.0, 123456789.123456789]
)
def test_number_survives_to_the_last_bit(number):
    text = flat_config(lg.RobotDescription(**sliders(0.0)), step_s=0.1)
    lines = [
        f"joint_offset: [0.0, {number!r}]" if line.startswith("joint_offset") else line
        for line in text.splitlines()
    ]
    (zero, read) = _core.read_config("\n".join(lines)).joint_offset
    assert zero == 0.0
    assert (read, math.copysign(1.0, read)) == (number, math.copysign(1.0, number))
    written = YAML(typ="safe", pure=True).load("\n".join(lines))["joint_offset"][1]
    assert written == number


@pytest.mark.parametrize("step_s", [float("nan"), float("inf")])
def test_number_that_is_not_finite_is_refused_by_its_key(step_s):
    with pytest.raises(lg.ROSConfigError, match="`step_s` must be finite"):
        flat_config(lg.RobotDescription(**sliders(0.0)), step_s=step_s)


@pytest.mark.parametrize("budget", [1.5, True, None])
def test_budget_that_is_not_whole_is_refused(budget):
    with pytest.raises(lg.ROSConfigError, match="evaluations_max must be a whole number"):
        flat_config(lg.RobotDescription(**sliders(0.0)), step_s=0.1, evaluations_max=budget)


def test_continuous_joint_gets_the_range_of_the_arithmetic():
    manifest = planar_two_link()
    manifest["joints"][1] |= {"joint_type": "continuous", "position_limits": None}
    read = _core.read_config(flat_config(lg.RobotDescription(**manifest), step_s=0.1))
    assert (read.position_min[1], read.position_max[1]) == (-1e4, 1e4)


# ---- Modes ---

JOINT_MODES = [
    ControlMode.JOINT_POSITION,
    ControlMode.JOINT_VELOCITY,
    ControlMode.JOINT_TRAJECTORY,
    ControlMode.DEX_HAND_JOINT,
]
BOUNDS = {
    ControlMode.CARTESIAN_POSE: ["workspace_box_min_xyz", "workspace_box_max_xyz"],
    ControlMode.CARTESIAN_DELTA: ["max_cartesian_step_m", "max_cartesian_step_rad"],
    ControlMode.CARTESIAN_TWIST: ["max_ee_speed_m_s", "max_ee_angular_speed_rad_s"],
    ControlMode.BODY_TWIST: ["max_base_linear_speed_m_s", "max_base_angular_speed_rad_s"],
    ControlMode.GRIPPER_POSITION: ["gripper_min", "gripper_max"],
}
# Halves of these are refused by the schema already.
PAIRED = {"workspace_box_min_xyz", "workspace_box_max_xyz", "gripper_min", "gripper_max"}


def test_robot_that_declares_nothing_has_the_modes_that_need_nothing():
    assert list(enabled_modes(lg.RobotDescription(**stacked(2, safety={}, effort_limit=None)))) == JOINT_MODES


@pytest.mark.parametrize("mode", BOUNDS)
def test_mode_is_enabled_by_exactly_its_bounds(mode):
    declared = {field: PAPER_SAFETY[field] for field in BOUNDS[mode]}
    assert mode in enabled_modes(lg.RobotDescription(**stacked(2, safety=declared)))
    for field in set(BOUNDS[mode]) - PAIRED:
        half = {name: value for name, value in declared.items() if name != field}
        robot = lg.RobotDescription(**stacked(2, safety=half), control_modes=[mode.name])
        with pytest.raises(lg.ROSConfigError, match=f"{mode.name} needs {field}"):
            enabled_modes(robot)


def test_torque_is_enabled_by_effort_limits_of_all_joints():
    assert ControlMode.JOINT_TORQUE in enabled_modes(lg.RobotDescription(**stacked(2)))
    manifest = stacked(2) | {"control_modes": ["JOINT_TORQUE"]}
    del manifest["joints"][1]["effort_limit"]
    with pytest.raises(lg.ROSConfigError, match="JOINT_TORQUE needs effort_limit of j1"):
        enabled_modes(lg.RobotDescription(**manifest))


def test_cartesian_modes_need_an_end_effector():
    manifest = stacked(2) | {"end_effectors": [], "control_modes": ["CARTESIAN_DELTA", "CARTESIAN_TWIST"]}
    with pytest.raises(lg.ROSConfigError, match="an end effector") as refusal:
        enabled_modes(lg.RobotDescription(**manifest))
    assert "CARTESIAN_DELTA" in str(refusal.value)
    assert "CARTESIAN_TWIST" in str(refusal.value)


# ---- Shapes ---


def test_sizes_of_shapes_are_halved_where_the_core_counts_from_the_middle():
    assert shape_size_m(lg.SphereShape(radius_m=0.1)) == (0.1, 0.0, 0.0)
    assert shape_size_m(lg.CapsuleShape(radius_m=0.1, length_m=0.6)) == (0.1, 0.3, 0.0)
    assert shape_size_m(lg.BoxShape(size_xyz_m=(1.0, 2.0, 3.0))) == (0.5, 1.0, 1.5)
    assert shape_size_m(lg.HalfSpaceShape()) == (0.0, 0.0, 0.0)


def test_ends_of_a_capsule_lie_on_its_own_z_axis():
    roll, pitch, yaw = 0.4, -0.7, 1.9
    rx = np.array([[1, 0, 0], [0, np.cos(roll), -np.sin(roll)], [0, np.sin(roll), np.cos(roll)]])
    ry = np.array([[np.cos(pitch), 0, np.sin(pitch)], [0, 1, 0], [-np.sin(pitch), 0, np.cos(pitch)]])
    rz = np.array([[np.cos(yaw), -np.sin(yaw), 0], [np.sin(yaw), np.cos(yaw), 0], [0, 0, 1]])
    along = 0.3 * (rz @ ry @ rx)[:, 2]
    ends = capsule_ends(lg.CapsuleShape(radius_m=0.1, length_m=0.6), (1.0, 2.0, 3.0, roll, pitch, yaw))
    np.testing.assert_allclose(
        ends, [*(np.array([1, 2, 3]) - along), *(np.array([1, 2, 3]) + along)], atol=1e-15
    )


def test_ends_of_a_sphere_are_its_centre():
    assert capsule_ends(lg.SphereShape(radius_m=0.1), (1.0, 2.0, 3.0, 0.4, 0.5, 0.6)) == (1, 2, 3, 1, 2, 3)


def followed(*, acceleration: float | None = None, **follower) -> lg.RobotDescription:
    """A slide from 0 to 1 at up to 10 m/s, and a joint that follows it."""
    manifest = gripper_arm()
    for own in manifest["joints"]:
        own["acceleration_limit"] = acceleration
    manifest["joints"].append(joint("follower", "hand", "thumb", **follower))
    manifest["collision_geometry"].append(sphere_on("thumb", 0.01))
    return lg.RobotDescription(**manifest)


@pytest.mark.parametrize(
    ("follower", "limits", "speed"),
    [
        ({"mimic": {"joint": "lift"}}, (0.0, 1.0), 10.0),
        (
            {"mimic": {"joint": "lift", "multiplier": 3.0}, "position_limits": [0.0, 1.5]},
            (0.0, 0.5),
            10.0 / 3.0,
        ),
        (
            {"mimic": {"joint": "lift", "multiplier": -2.0, "offset": 1.0}, "velocity_limit": 4.0},
            (0.0, 1.0),
            2.0,
        ),
        ({"mimic": {"joint": "lift", "multiplier": -2.0}, "position_limits": [-1.0, -0.5]}, (0.25, 0.5), 5.0),
        # Written with seven digits: not a limit of its own.
        ({"mimic": {"joint": "lift"}, "position_limits": [1e-7, 0.9999999]}, (0.0, 1.0), 10.0),
    ],
)
def test_leader_is_held_to_the_limits_of_the_joints_that_mimic_it(follower, limits, speed):
    config = _core.read_config(flat_config(followed(**follower), step_s=0.1))
    lift = config.dof_names.index("lift")
    assert (config.position_min[lift], config.position_max[lift]) == limits
    assert config.velocity_max[lift] == pytest.approx(speed, rel=1e-12)


@pytest.mark.parametrize(
    ("multiplier", "own", "acceleration"), [(-4.0, 8.0, 2.0), (1.0, 8.0, 5.0), (1.0, None, 5.0)]
)
def test_leader_accelerates_no_faster_than_the_joints_that_mimic_it_may(multiplier, own, acceleration):
    mimic = {"joint": "lift", "multiplier": multiplier}
    robot = followed(acceleration=5.0, mimic=mimic, position_limits=[-9.0, 9.0], acceleration_limit=own)
    config = _core.read_config(flat_config(robot, step_s=0.1))
    assert config.acceleration_max == [acceleration if name == "lift" else 5.0 for name in config.dof_names]


def test_leader_brakes_no_harder_than_the_joints_that_mimic_it_may():
    mimic = {"joint": "lift", "multiplier": -4.0}
    robot = followed(mimic=mimic, position_limits=[-9.0, 9.0], deceleration_limit=8.0)
    joints = [
        joint.model_copy(update={"deceleration_limit": 5.0} if joint.mimic is None else {})
        for joint in robot.joints
    ]
    stop = lg.contracts.DeclaredStop(kind="path", reaction_s=0.0)
    config = _core.read_config(
        flat_config(robot.model_copy(update={"joints": tuple(joints), "stop": stop}), step_s=0.1)
    )
    assert config.deceleration_max == [2.0 if name == "lift" else 5.0 for name in config.dof_names]


def test_acceleration_limit_of_a_follower_alone_is_not_ignored():
    robot = followed(mimic={"joint": "lift"}, acceleration_limit=1.0)
    with pytest.raises(lg.ROSConfigError, match="for follower and not for lift"):
        flat_config(robot, step_s=0.1)


def test_leader_that_cannot_move_without_breaking_a_limit_is_refused():
    robot = followed(mimic={"joint": "lift", "offset": 5.0}, position_limits=[0.0, 1.0])
    with pytest.raises(lg.ROSConfigError, match="`lift` has no position"):
        flat_config(robot, step_s=0.1)
