# SPDX-License-Identifier: Apache-2.0
"""The run-time face: what a gate says about itself, and what it refuses to be given."""

import numpy as np
import pytest
from fixtures.analytic_robots import (
    NOW_S,
    at,
    check,
    code_of,
    gate_of,
    gripper_arm,
    planar_two_link,
    sliders,
    sphere,
    stacked,
    world_of,
)

import lastgate as lg
from lastgate.contracts import ControlMode


@pytest.fixture(scope="module")
def gate() -> lg.Gate:
    return gate_of(planar_two_link())


CHUNK = lg.ActionChunk([[0.0, 0.1]])


def test_gate_names_its_joints_links_and_effectors_in_the_order_rows_are_read(gate):
    assert (gate.n_dof, gate.joint_names, gate.gripper_joint_names) == (2, ("shoulder", "elbow"), ())
    assert gate.link_names == ("base", "upper_arm", "forearm")
    assert gate.effector_names == ("hand",)
    assert gate.checked_pairs == (("upper_arm", "forearm"),)
    assert gate.step_s == 0.1


def test_gripper_joints_are_not_part_of_rows():
    gate = gate_of(gripper_arm())
    assert (gate.n_dof, gate.joint_names, gate.gripper_joint_names) == (1, ("lift",), ("finger_joint",))


def test_joint_that_follows_another_has_no_column():
    manifest = planar_two_link()
    manifest["joints"][1]["mimic"] = {"joint": "shoulder", "multiplier": -2.0, "offset": 0.5}
    gate = gate_of(manifest)
    assert gate.joint_names == ("shoulder",)
    expected = gate_of(planar_two_link()).link_poses([0.3, -0.1])["forearm"]
    np.testing.assert_allclose(gate.link_poses([0.3])["forearm"], expected, atol=1e-12)


@pytest.mark.parametrize("robot", [None, "franka_panda", {"name": "x"}, planar_two_link()])
def test_anything_but_a_description_is_refused(robot):
    with pytest.raises(lg.ROSConfigError, match=r"expected a RobotDescription: use lastgate.load_robot"):
        lg.Gate(robot, step_s=0.1)


def test_step_has_no_default():
    with pytest.raises(TypeError, match="step_s"):
        lg.Gate(lg.RobotDescription(**planar_two_link()))


def test_skill_tightens_and_cannot_loosen():
    def skill(speed: float) -> lg.RSkillManifest:
        return lg.RSkillManifest(
            name="pour", version="1.2.0", envelope=lg.SafetyEnvelope(max_ee_speed_m_s=speed)
        )

    row = [[0.02, 0.0, 0.0, 0.0, 0.0, 0.0]]
    robot = stacked(3)
    plain, tight = gate_of(robot), gate_of(robot, skill=skill(0.01))
    assert check(plain, row, ControlMode.CARTESIAN_TWIST).stage > 6
    assert code_of(check(tight, row, ControlMode.CARTESIAN_TWIST)) == "ee_speed"
    with pytest.raises(
        lg.ROSConfigError, match=r"skill `pour` 1.2.0 on robot `stacked_3`: `max_ee_speed_m_s` is looser"
    ):
        gate_of(robot, skill=skill(0.6))


def test_skill_cannot_grant_itself_a_mode_by_declaring_its_bound():
    envelope = lg.SafetyEnvelope(max_cartesian_step_m=0.01, max_cartesian_step_rad=0.01)
    skill = lg.RSkillManifest(name="pour", version="1.2.0", envelope=envelope)
    gate = gate_of(stacked(3, safety={}), skill=skill)
    assert code_of(check(gate, [[0.0] * 6], ControlMode.CARTESIAN_DELTA)) == "control_mode"


def test_control_modes_of_the_manifest_are_the_only_ones():
    gate = gate_of(stacked(3) | {"control_modes": ["JOINT_VELOCITY"]})
    assert check(gate, [[0.0] * 3], ControlMode.JOINT_VELOCITY).accepted
    assert code_of(check(gate, [[0.0] * 3])) == "control_mode"


@pytest.mark.parametrize("chunk", [None, [[0.0, 0.1]], np.zeros((1, 2))])
def test_chunk_of_another_type_is_refused(gate, chunk):
    with pytest.raises(
        lg.ROSConfigError, match=r"expected an ActionChunk: use lastgate\.ActionChunk\(rows, mode=\.\.\.\)"
    ):
        gate.check(chunk, state=at(0.0, 0.0), world=lg.NO_WORLD, now_s=NOW_S)


@pytest.mark.parametrize("state", [[0.0, 0.0], {"positions": [0.0, 0.0]}, np.zeros(2)])
def test_state_of_another_type_is_refused(gate, state):
    with pytest.raises(lg.ROSConfigError, match=r"state is a .*, expected a RobotState"):
        gate.check(CHUNK, state=state, world=lg.NO_WORLD, now_s=NOW_S)


@pytest.mark.parametrize("world", [[], "no", lg.NO_WORLD.native, sphere((1.0, 0.0, 0.0), 0.1)])
def test_world_of_another_type_is_refused(gate, world):
    with pytest.raises(lg.ROSConfigError, match="expected a World or NO_WORLD"):
        gate.check(CHUNK, state=at(0.0, 0.0), world=world, now_s=NOW_S)


@pytest.mark.parametrize("recovery", [1, None, "yes"])
def test_recovery_of_another_type_is_refused(gate, recovery):
    with pytest.raises(lg.ROSConfigError, match="recovery must be True or False"):
        gate.check(CHUNK, state=at(0.0, 0.0), world=lg.NO_WORLD, now_s=NOW_S, recovery=recovery)


@pytest.mark.parametrize("missing", ["state", "world", "now_s"])
def test_nothing_that_a_check_needs_has_a_default(gate, missing):
    arguments = {"state": at(0.0, 0.0), "world": lg.NO_WORLD, "now_s": NOW_S}
    del arguments[missing]
    with pytest.raises(TypeError, match=missing):
        gate.check(CHUNK, **arguments)


def test_clock_that_is_not_a_number_is_refused(gate):
    with pytest.raises(lg.ROSConfigError, match="now_s must be a number"):
        gate.check(CHUNK, state=at(0.0, 0.0), world=lg.NO_WORLD, now_s="now")


def test_check_does_not_remember_the_one_before(gate):
    obstacle = world_of(sphere((0.5, 0.0, 0.0), 0.2))
    before = check(gate, [[0.0, 0.1]]).to_bytes()
    assert code_of(check(gate, [[0.0, 0.1]], world=obstacle)) == "world_collision"
    assert code_of(check(gate, [[0.0, 0.1]], recovery=True)) == "accepted"
    assert code_of(check(gate, [[9.0, 9.0]])) == "joint_position_limit"
    assert check(gate, [[0.0, 0.1]]).to_bytes() == before


# ---- Batches ---


def test_batch_answers_for_each_configuration_with_its_clearance():
    gate = gate_of(sliders(0.0, 0.5))
    batch = gate.check_batch(
        np.array([[0.0, 0.0], [0.1, 0.0], [0.3, 0.0], [0.4, 0.0], [99.0, 0.0]]), world=lg.NO_WORLD
    )
    assert batch.accepted.tolist() == [True, True, False, False, False]
    truth = np.array([0.3, 0.2, 0.0, -0.1])
    assert np.all(batch.clearance_m[:4] <= truth + 1e-12)
    np.testing.assert_allclose(batch.clearance_m[:4], truth, atol=1e-3)
    assert np.isneginf(batch.clearance_m[4])
    assert batch.accepted.dtype == np.bool_


def test_batch_agrees_with_checks_of_a_resting_robot():
    gate = gate_of(planar_two_link(), step_s=1.0)
    world = world_of(sphere((0.7, 0.9, 0.0), 0.2), sphere((-1.0, 0.3, 0.0), 0.1))
    configurations = np.random.default_rng(7).uniform(-3.0, 3.0, (300, 2))
    batch = gate.check_batch(configurations, world=world)
    for configuration, accepted in zip(configurations, batch.accepted, strict=True):
        verdict = check(gate, [configuration.tolist()], state=at(*configuration), world=world)
        assert verdict.accepted == accepted, (configuration, verdict.explain())
    assert 0 < batch.accepted.sum() < 300


def test_batch_counts_the_world_the_zones_and_the_margin():
    zone = {
        "name": "channel",
        "shape": {"shape": "sphere", "radius_m": 0.1},
        "pose": {"xyz": [-2.0, 0.0, 0.0]},
    }
    gate = gate_of(sliders(0.0, safety={"no_go_zones": [zone], "world_collision_margin_m": 0.1}))
    configurations = np.array([[0.0], [-2.0], [2.0], [1.75]])
    assert gate.check_batch(configurations, world=lg.NO_WORLD).accepted.tolist() == [True, False, True, True]
    world = world_of(sphere((2.0, 0.0, 0.0), 0.1))
    assert gate.check_batch(configurations, world=world).accepted.tolist() == [True, False, False, False]


@pytest.mark.parametrize("world", [lg.NO_WORLD, lg.World(primitives=[], stamp_s=0.0)])
@pytest.mark.parametrize("rows", [np.zeros((1, 2)), np.full((1, 2), 99.0), np.zeros((0, 2))])
def test_batch_has_no_truth_value_whatever_it_says(gate, rows, world):
    for _ in range(2):  # the second time through the channel for worlds already known
        with pytest.raises(TypeError, match=r"a BatchVerdict has no truth value; read batch\.accepted"):
            bool(gate.check_batch(rows, world=world))


def test_empty_batch_has_empty_answers(gate):
    batch = gate.check_batch(np.zeros((0, 2)), world=lg.NO_WORLD)
    assert (batch.accepted.shape, batch.clearance_m.shape) == ((0,), (0,))


@pytest.mark.parametrize(
    ("configurations", "message"),
    [
        (np.zeros((3, 3)), "configurations has 3 columns, this robot has 2 joints"),
        (np.zeros(2), r"configurations\[np.newaxis, :\]"),
        (np.zeros((3, 2), dtype=np.float32), r"configurations\.astype\(np\.float64\)"),
        (np.zeros((3, 4))[:, ::2], r"configurations is strided.*its shape is \(3, 2\)"),
        (np.zeros((3, 4))[:, :3], "configurations has 3 columns, this robot has 2 joints"),
        (np.zeros((3, 2), dtype=">f8"), "configurations"),
        (np.zeros((3, 2)).view(np.int64), "configurations"),
        (None, "configurations"),
    ],
)
@pytest.mark.parametrize("world", [lg.NO_WORLD, world_of(sphere((9.0, 0.0, 0.0), 0.1))])
def test_batch_that_cannot_be_read_is_refused(configurations, message, world):
    gate = gate_of(planar_two_link())
    for _ in ("a world it never saw", "one it knows"):
        with pytest.raises(lg.ROSConfigError, match=message):
            gate.check_batch(configurations, world=world)
        assert gate.check_batch(np.zeros((1, 2)), world=world).accepted.tolist() == [True]


@pytest.mark.parametrize("count", [1, 64, 65])
def test_a_few_configurations_are_answered_like_many(count):
    """Up to 64 go through a channel of their own: whatever kind of array, the answers are those of the general one."""
    gate = gate_of(planar_two_link())
    world = world_of(sphere((0.7, 0.9, 0.0), 0.2), sphere((-1.0, 0.3, 0.0), 0.1))
    many = np.random.default_rng(7).uniform(-3.0, 3.0, (300, 2))
    whole = gate.check_batch(many, world=world)
    few = many[-count:]
    frozen = few.copy()
    frozen.flags.writeable = False
    for rows in (few, frozen, few.view(np.recarray)):
        batch = gate.check_batch(rows, world=world)
        assert batch.accepted.dtype == np.bool_
        assert batch.accepted.tolist() == whole.accepted[-count:].tolist()
        assert batch.clearance_m.tobytes() == whole.clearance_m[-count:].tobytes()
    assert 0 < whole.accepted.sum() < 300


@pytest.mark.parametrize(
    "world", [None, world_of(frame_id="map"), world_of(*[sphere((9.0, 0.0, 0.0), 0.1)] * 1025)]
)
def test_batch_with_a_world_that_cannot_be_used_is_refused(world):
    gate = gate_of(planar_two_link())
    for _ in ("its first question", "after a good one"):
        with pytest.raises(lg.ROSConfigError, match="cannot be used"):
            gate.check_batch(np.zeros((1, 2)), world=world)
        assert gate.check_batch(np.zeros((1, 2)), world=lg.NO_WORLD).accepted.tolist() == [True]


def test_batch_uses_the_gripper_it_is_given():
    gate = gate_of(gripper_arm())
    beside_open_finger = world_of(sphere((0.0, 0.17, 0.0), 0.025))
    configurations = np.array([[0.0]])
    for fingers, outcome in (
        ([0.0], True),
        ([0.04], False),
        (None, False),
        ([np.nan], False),
        ([0.05], False),
    ):
        batch = gate.check_batch(configurations, world=beside_open_finger, gripper_positions=fingers)
        assert batch.accepted.tolist() == [outcome]
        if fingers is not None:  # an array takes the short way
            batch = gate.check_batch(
                configurations, world=beside_open_finger, gripper_positions=np.array(fingers)
            )
            assert batch.accepted.tolist() == [outcome]
    for wrong in ([0.0, 0.0], np.zeros(2)):
        with pytest.raises(lg.ROSConfigError, match="gripper_positions has 2 numbers, needs 1: finger_joint"):
            gate.check_batch(configurations, world=lg.NO_WORLD, gripper_positions=wrong)
    with pytest.raises(lg.ROSConfigError, match="gripper_positions"):
        gate.check_batch(configurations, world=lg.NO_WORLD, gripper_positions=np.zeros(1, dtype=np.float32))


# ---- Poses ---


def test_link_poses_are_refused_for_another_number_of_joints(gate):
    with pytest.raises(lg.ROSConfigError, match="configuration has 3 numbers, needs 2: shoulder, elbow"):
        gate.link_poses([0.0, 0.0, 0.0])
    with pytest.raises(lg.ROSConfigError, match="gripper_positions has 1 numbers, needs 0: none"):
        gate.link_poses([0.0, 0.0], gripper_positions=[0.0])


def test_link_poses_follow_the_gripper_that_is_given():
    gate = gate_of(gripper_arm())
    assert gate.link_poses([0.2])["finger"][:, 3].tolist() == pytest.approx([0.0, 0.1, 0.2])
    moved = gate.link_poses([0.2], gripper_positions=np.array([0.04]))["finger"][:, 3]
    assert moved.tolist() == pytest.approx([0.0, 0.14, 0.2])


def test_link_poses_of_a_robot_with_a_base_are_in_its_base_frame():
    base = {"max_base_linear_speed_m_s": 1.0, "max_base_angular_speed_rad_s": 1.0}
    moving = gate_of(planar_two_link(safety=base)).link_poses([0.3, 0.2])["forearm"]
    np.testing.assert_allclose(
        moving, gate_of(planar_two_link()).link_poses([0.3, 0.2])["forearm"], atol=1e-12
    )
