# SPDX-License-Identifier: Apache-2.0
"""Bad input at construction: an error that names the joint or link, by schema and by core alone."""

import numpy as np
import pytest
from fixtures.analytic_robots import (
    allowed,
    capsule_on,
    check,
    gate_of,
    gripper_arm,
    joint,
    planar_two_link,
    sphere_on,
    stacked,
)

import lastgate as lg
from lastgate import _core
from lastgate.robots.kernel_config import flat_config


def changed(manifest: dict, index: int = 1, **changes: object) -> dict:
    joints = [dict(each) for each in manifest["joints"]]
    joints[index] |= changes
    return manifest | {"joints": joints}


def test_the_robot_that_all_these_spoil_can_be_armed():
    assert check(gate_of(planar_two_link()), [[0.0, 0.1]]).accepted


# Manifest, and what the refusal must say.
BAD_MANIFESTS = {
    "limit NaN": (
        changed(planar_two_link(), position_limits=[np.nan, 1.0]),
        "joint `elbow`.*position_limits",
    ),
    "limit infinite": (
        changed(planar_two_link(), position_limits=[-1.0, np.inf]),
        "joint `elbow`.*position_limits",
    ),
    "limits inverted": (
        changed(planar_two_link(), position_limits=[1.0, -1.0]),
        "joint `elbow`.*lower < upper",
    ),
    "limits equal": (changed(planar_two_link(), position_limits=[1.0, 1.0]), "joint `elbow`.*lower < upper"),
    "limits missing": (
        changed(planar_two_link(), position_limits=None),
        "joint `elbow`.*needs `position_limits",
    ),
    "limits of one number": (
        changed(planar_two_link(), position_limits=[1.0]),
        "joint `elbow`.*position_limits",
    ),
    "limits of strings": (
        changed(planar_two_link(), position_limits=["-1", "1"]),
        "joint `elbow`.*position_limits",
    ),
    "limits beyond the arithmetic": (
        changed(planar_two_link(), position_limits=[-2e4, 2e4]),
        "joint `elbow`.*1e4",
    ),
    "velocity missing": (changed(planar_two_link(), velocity_limit=None), "joint `elbow`.*velocity_limit"),
    "velocity zero": (changed(planar_two_link(), velocity_limit=0.0), "joint `elbow`.*velocity_limit"),
    "velocity negative": (changed(planar_two_link(), velocity_limit=-1.0), "joint `elbow`.*velocity_limit"),
    "velocity NaN": (changed(planar_two_link(), velocity_limit=np.nan), "joint `elbow`.*velocity_limit"),
    "velocity beyond reason": (
        changed(planar_two_link(), velocity_limit=1e7),
        "joint `elbow`.*velocity limit",
    ),
    "effort zero": (changed(planar_two_link(), effort_limit=0.0), "joint `elbow`.*effort_limit"),
    "axis too long": (
        changed(planar_two_link(), axis_xyz=[0.0, 0.0, 1.001]),
        "joint `elbow`.*axis_xyz.*length",
    ),
    "axis zero": (changed(planar_two_link(), axis_xyz=[0.0, 0.0, 0.0]), "joint `elbow`.*axis_xyz.*length"),
    "axis NaN": (changed(planar_two_link(), axis_xyz=[0.0, np.nan, 1.0]), "joint `elbow`.*axis_xyz"),
    "origin NaN": (changed(planar_two_link(), origin_xyz=[np.nan, 0.0, 0.0]), "joint `elbow`.*origin_xyz"),
    "origin far away": (
        changed(planar_two_link(), origin_xyz=[101.0, 0.0, 0.0]),
        "link `forearm` .joint `elbow`.*100 m",
    ),
    "unknown joint type": (changed(planar_two_link(), joint_type="ball"), "joint `elbow`.*joint_type"),
    "floating joint on the base": (
        changed(planar_two_link(), 0, joint_type="floating", position_limits=None),
        "joint `shoulder` is floating",
    ),
    "two roots": (
        planar_two_link(joints=[*planar_two_link()["joints"], joint("wrist", "flange", "hand")]),
        "2 roots, `base` and `flange`",
    ),
    "parent after its child": (
        planar_two_link(joints=planar_two_link()["joints"][::-1]),
        "joint `elbow` is listed before its parent",
    ),
    "one link, two parents": (
        planar_two_link(joints=[*planar_two_link()["joints"], joint("second", "base", "forearm")]),
        "link `forearm` has two parents",
    ),
    "joint name twice": (changed(planar_two_link(), name="shoulder"), "joint `shoulder` is declared 2 times"),
    "base frame of no joint": (planar_two_link(base_frame="floor"), "base_frame `floor`"),
    "no joints": (planar_two_link(joints=[]), "at least one joint"),
    "mimic of nothing": (
        changed(planar_two_link(), mimic={"joint": "absent"}),
        "joint `elbow` mimics joint `absent`",
    ),
    "mimic that stands still": (
        changed(planar_two_link(), mimic={"joint": "shoulder", "multiplier": 0.0}),
        "link `forearm` .joint `elbow`.*mimic multiplier",
    ),
    "volume on no link": (
        planar_two_link(
            collision_geometry=[*planar_two_link()["collision_geometry"], sphere_on("nose", 0.1)]
        ),
        "link `nose`",
    ),
    "no volumes": (planar_two_link(collision_geometry=[]), "moving links `upper_arm`, `forearm`"),
    "one link without a volume": (
        planar_two_link(collision_geometry=planar_two_link()["collision_geometry"][:1]),
        "moving link `forearm`",
    ),
    "allowed pair of no link": (
        planar_two_link(allowed_collision_pairs=[allowed("nose", "forearm")]),
        "link `nose`",
    ),
    "allowed pair of one link": (
        planar_two_link(allowed_collision_pairs=[allowed("forearm", "forearm")]),
        "`forearm` twice",
    ),
    "effector on no link": (
        planar_two_link(end_effectors=[{"name": "hand", "link": "nose"}]),
        "`hand` names link `nose`",
    ),
    "tool NaN": (
        planar_two_link(end_effectors=[{"name": "hand", "link": "forearm", "tool_xyz_rpy": [np.nan] * 6}]),
        "end effector `hand`.*tool_xyz_rpy",
    ),
    "box without an effector": (
        planar_two_link(
            end_effectors=[],
            safety={"workspace_box_min_xyz": [-1.0] * 3, "workspace_box_max_xyz": [1.0] * 3},
        ),
        "workspace box needs an end effector",
    ),
    "half a box": (
        planar_two_link(safety={"workspace_box_min_xyz": [-1.0] * 3}),
        "workspace_box_max_xyz` is missing",
    ),
    "margin beyond the robot": (
        planar_two_link(safety={"self_collision_margin_m": 101.0}),
        "margins must be",
    ),
    "zone without a size": (
        planar_two_link(
            safety={
                "no_go_zones": [
                    {
                        "name": "channel",
                        "shape": {"shape": "sphere", "radius_m": 0.0},
                        "pose": {"xyz": [0.0] * 3},
                    }
                ]
            }
        ),
        "zone `channel`.*radius_m",
    ),
    "unknown key": (planar_two_link(urdf_path="x.urdf"), "urdf_path.*assets"),
    "too many joints": (stacked(62), "more degrees of freedom"),
}


@pytest.mark.parametrize("case", BAD_MANIFESTS)
def test_manifest_that_cannot_be_used_is_refused_by_name(case):
    manifest, message = BAD_MANIFESTS[case]
    with pytest.raises(ValueError, match=message):
        gate_of(manifest)


@pytest.mark.parametrize("radius", [0.0, -0.05, np.nan, np.inf, 101.0, "0.1", True])
def test_volume_without_a_usable_radius_is_refused_naming_the_link(radius):
    geometry = [*planar_two_link()["collision_geometry"], sphere_on("forearm", radius)]
    with pytest.raises(ValueError, match=r"link `forearm`.*radius"):
        gate_of(planar_two_link(collision_geometry=geometry))


@pytest.mark.parametrize("length", [-0.1, np.nan, np.inf, 300.0])
def test_capsule_without_a_usable_length_is_refused_naming_the_link(length):
    geometry = [
        *planar_two_link()["collision_geometry"],
        capsule_on("forearm", 0.05, length, (0.0, 0.0, 0.0)),
    ]
    with pytest.raises(ValueError, match="link `forearm`"):
        gate_of(planar_two_link(collision_geometry=geometry))


def test_all_problems_of_a_manifest_are_told_in_one_run():
    manifest = changed(changed(planar_two_link(), position_limits=[1.0, -1.0]), 0, velocity_limit=-1.0)
    manifest["collision_geometry"] = [sphere_on("nose", 0.1), sphere_on("forearm", -1.0)]
    with pytest.raises(ValueError, match="joint `shoulder`") as refusal:
        lg.RobotDescription(**manifest)
    for words in ("joint `elbow`", "link `nose`", "link `forearm`"):
        assert words in str(refusal.value)


def test_gripper_that_lists_a_follower_is_refused_naming_the_leader():
    manifest = gripper_arm()
    follower = joint("finger2", "hand", "thumb", joint_type="prismatic", mimic={"joint": "finger_joint"})
    manifest["joints"] = [*manifest["joints"], follower | {"position_limits": [0.0, 0.04]}]
    manifest["collision_geometry"] = [*manifest["collision_geometry"], sphere_on("thumb", 0.01)]
    manifest["end_effectors"][0]["gripper"]["joints"] = [
        {"name": "finger2", "position_closed": 0.0, "position_open": 0.04}
    ]
    with pytest.raises(ValueError, match="gripper joint `finger2` follows joint `finger_joint`"):
        gate_of(manifest)


@pytest.mark.parametrize("step_s", [0.0, -0.1, 11.0, np.nan, np.inf])
def test_step_that_is_not_a_time_is_refused(step_s):
    with pytest.raises(lg.ROSConfigError, match="step_s"):
        gate_of(planar_two_link(), step_s=step_s)


@pytest.mark.parametrize("step_s", ["0.1", None, True, [0.1]])
def test_step_that_is_not_a_number_is_refused(step_s):
    with pytest.raises(lg.ROSConfigError, match="step_s must be a number"):
        gate_of(planar_two_link(), step_s=step_s)


@pytest.mark.parametrize("budget", [0, -1, 10, 10**9, 1000.5, True, None, "many"])
def test_budget_that_is_not_a_count_or_does_not_cover_the_rows_is_refused(budget):
    with pytest.raises(lg.ROSConfigError, match="evaluations_max"):
        gate_of(planar_two_link(), evaluations_max=budget)


# ---- The core alone: the same defects, written by hand ---

GOOD_TEXT = flat_config(lg.RobotDescription(**planar_two_link(name="arm")), step_s=0.1)


def with_value(key: str, value: str) -> str:
    assert f"\n{key}: " in GOOD_TEXT
    return "".join(
        f"{key}: {value}\n" if line.startswith(f"{key}: ") else line for line in GOOD_TEXT.splitlines(True)
    )


def test_core_arms_the_text_that_all_these_spoil():
    assert _core.Gate(_core.read_config(GOOD_TEXT)).checked_link_pairs == [(1, 2)]


BAD_VALUES = {
    "limits inverted": ("position_min", "[3.0, 4.0]", "degree of freedom 0: limits are not finite, ordered"),
    "limits equal": ("position_min", "[-3.0, 3.0]", "degree of freedom 1: limits are not finite, ordered"),
    "limits beyond the arithmetic": ("position_max", "[3.0, 10001.0]", "degree of freedom 1"),
    "velocity zero": ("velocity_max", "[10.0, 0.0]", "degree of freedom 1: velocity limit"),
    "velocity negative": ("velocity_max", "[-10.0, 1.0]", "degree of freedom 0: velocity limit"),
    "axis not unit": ("joint_axis", "[0, 0, 1, 0, 0, 1, 0, 0, 1.001]", "link 2: axis is not a unit vector"),
    "axis zero": ("joint_axis", "[0, 0, 1, 0, 0, 1, 0, 0, 0]", "link 2: axis is not a unit vector"),
    "two roots": ("link_parent", "[-1, 0, -1]", "link 2: is a second root"),
    "parent after its child": ("link_parent", "[-1, 2, 1]", "link 1: stands before its parent"),
    "its own parent": ("link_parent", "[-1, 0, 2]", "link 2: stands before its parent"),
    "root with a parent": ("link_parent", "[0, 0, 1]", "link 0: must be the root"),
    "parent that does not exist": ("link_parent", "[-1, 0, 7]", "link 2: stands before its parent"),
    "radius zero": ("volume_radius_m", "[0.05, 0.0]", "volume 1: radius"),
    "radius negative": ("volume_radius_m", "[-0.05, 0.05]", "volume 0: radius"),
    "radius beyond the robot": ("volume_radius_m", "[0.05, 101.0]", "volume 1: radius"),
    "volume on no link": ("volume_link", "[1, 3]", "volume 1: is on no link"),
    "volume on link -1": ("volume_link", "[1, -1]", "volume 1: is on no link"),
    "volume far away": ("volume_ends_m", "[0, 0, 0, 0, 0, 0, 0, 0, 0, 101, 0, 0]", "volume 1: is not finite"),
    "pair of one link": ("allowed_link_pairs", "[1, 1]", "allowed pair 0"),
    "pair of no link": ("allowed_link_pairs", "[1, 9]", "allowed pair 0"),
    "half a pair": ("allowed_link_pairs", "[1]", "two indices per pair"),
    "fixed joint that is driven": ("joint_kind", "[0, 1, 0]", "link 2: a fixed joint cannot be driven"),
    "moving joint that nothing drives": (
        "joint_dof",
        "[-1, 0, -1]",
        "link 2: is driven by no degree of freedom",
    ),
    "driven by what does not exist": ("joint_dof", "[-1, 0, 5]", "link 2: is driven by no degree of freedom"),
    "degree of freedom that moves nothing": (
        "joint_dof",
        "[-1, 0, 0]",
        "degree of freedom 1: moves no joint",
    ),
    "mimic that stands still": ("joint_multiplier", "[1, 1, 0]", "link 2: mimic multiplier"),
    "origin far away": ("joint_origin_xyzrpy", "[" + "0, " * 12 + "101, 0, 0, 0, 0, 0]", "link 2: origin"),
    "no row commands a joint": ("dof_in_rows", "[0, 0]", "no degree of freedom is commanded"),
    "step zero": ("step_s", "0.0", "step_s must be positive"),
    "step too long": ("step_s", "10.1", "step_s must be positive"),
    "margin negative": ("self_collision_margin_m", "-0.1", "margins must be"),
    "age zero": ("state_age_s_max", "0", "ages must be"),
    "budget below the rows": ("evaluations_max", "256", "evaluations_max must at least cover every row"),
    "budget not whole": ("evaluations_max", "1000.5", "must be a whole number"),
    "no mode": ("control_modes", "[]", "no control mode is enabled"),
    "torque without limits": ("control_modes", "[0, 2]", "JOINT_TORQUE needs an effort limit"),
    "pose without a box": (
        "control_modes",
        "[0, 4]",
        "CARTESIAN_POSE needs an end effector and a workspace box",
    ),
    "twist without a speed": ("control_modes", "[0, 6]", "CARTESIAN_TWIST needs"),
    "base without bounds": ("control_modes", "[0, 7]", "BODY_TWIST needs"),
    "feet": ("control_modes", "[0, 8]", "FOOT_PLACEMENT cannot be enabled"),
    "gripper without a range": ("control_modes", "[0, 10]", "GRIPPER_POSITION needs a gripper range"),
    "effector on no link": ("effector_link", "[9]", "end effector 0: is on no link"),
    "tool far away": ("effector_tool_xyzrpy", "[101, 0, 0, 0, 0, 0]", "end effector 0: tool frame"),
    "step without a length": ("max_cartesian_step_m", "0.0", "max_cartesian_step_m must be positive"),
}


@pytest.mark.parametrize("case", BAD_VALUES)
def test_core_refuses_the_same_defects_by_itself(case):
    key, value, message = BAD_VALUES[case]
    text = with_value(key, value)
    with pytest.raises(ValueError, match=message):
        _core.Gate(_core.read_config(text))


@pytest.mark.parametrize("key", ["position_min", "velocity_max", "volume_radius_m", "joint_axis", "step_s"])
@pytest.mark.parametrize("poison", ["nan", "inf", "-inf", "1e999", ".nan", ".inf"])
def test_core_refuses_every_number_that_is_not_finite_with_its_line(key, poison):
    value = next(line for line in GOOD_TEXT.splitlines() if line.startswith(f"{key}: ")).split(": ", 1)[1]
    spoiled = f"[{poison}{value[value.index(',') :]}" if value.startswith("[") else poison
    with pytest.raises(ValueError, match=rf"line \d+: `{key}` needs finite numbers"):
        _core.read_config(with_value(key, spoiled))


def test_refused_robot_leaves_nothing_half_built():
    with pytest.raises(lg.ROSConfigError):
        gate_of(changed(planar_two_link(), position_limits=[-2e4, 2e4]))
    assert check(gate_of(planar_two_link()), [[0.0, 0.1]]).accepted


# ---- E10, E11, E03 ---


def test_e10_two_link_chain_is_written_by_index():
    manifest = planar_two_link(allowed_collision_pairs=[allowed("upper_arm", "forearm")])
    manifest["collision_geometry"] = [
        capsule_on("upper_arm", 0.05, 0.2, (0.0, 0.0, 0.1)),
        sphere_on("forearm", 0.04),
    ]
    config = _core.read_config(flat_config(lg.RobotDescription(**manifest), step_s=0.1))
    assert config.link_names == ["base", "upper_arm", "forearm"]
    assert config.link_parent == [-1, 0, 1]
    assert config.joint_dof == [-1, 0, 1]
    assert config.joint_kind == [0, 1, 1]
    assert config.volume_link == [1, 2]
    assert config.volume_radius_m == [0.05, 0.04]
    np.testing.assert_allclose(config.volume_ends_m, [0, 0, 0, 0, 0, 0.2, 0, 0, 0, 0, 0, 0], atol=1e-15)
    assert config.allowed_link_pairs == [1, 2]


def test_e11_robot_without_geometry_cannot_be_armed():
    """Ours differs: the peer turns the check off, here a moving link without a volume refuses to arm."""
    with pytest.raises(lg.ROSConfigError, match="no volume covers the moving links `upper_arm`, `forearm`"):
        gate_of(planar_two_link(collision_geometry=[]))


def test_e11_twin_waiver_with_a_reason_lets_one_link_pass():
    waiver = {"link": "forearm", "reason": "a laser beam"}
    manifest = planar_two_link(
        collision_geometry=planar_two_link()["collision_geometry"][:1], coverage_waivers=[waiver]
    )
    assert gate_of(manifest).n_dof == 2


def test_e03_joint_without_limits_is_refused_instead_of_unlimited():
    """Ours differs: the peer reads a missing limit as infinity."""
    manifest = changed(planar_two_link(), position_limits=None, velocity_limit=None)
    with pytest.raises(ValueError, match=r"joint `elbow`.*position_limits") as refusal:
        gate_of(manifest)
    assert "velocity_limit" in str(refusal.value)
