# SPDX-License-Identifier: Apache-2.0
"""Grasp and release: what lies between the fingers becomes part of the robot, and nothing else does."""

import numpy as np
import pytest

import lastgate as lg
from lastgate.world.rigid_motion import moved

HOME = np.array([0.0, -0.4, 0.0, -2.0, 0.0, 1.6, 0.8])
NOW_S = 100.0


@pytest.fixture
def gate() -> lg.Gate:
    return lg.Gate(lg.load_robot("franka_panda"), step_s=0.05)


def state(opening_m: float) -> lg.RobotState:
    return lg.RobotState(positions=HOME, gripper_positions=np.array([opening_m]), stamp_s=NOW_S)


def world_with(gate: lg.Gate, shape: object, in_hand=(0.0, 0.0, 0.105)) -> lg.World:
    hand = gate.link_poses(HOME, gripper_positions=[0.04])["panda_hand"]
    xyz = moved(np.array([in_hand]), hand)[0]
    pose = lg.Pose6D(xyz=tuple(xyz), quat_xyzw=quaternion(hand[:, :3]))
    cup = lg.WorldCollisionPrimitive(shape=shape, pose=pose, object_id="cup")
    far = lg.WorldCollisionPrimitive(
        shape=lg.SphereShape(radius_m=0.1), pose=lg.Pose6D(xyz=(0.0, 0.9, 0.9)), object_id="lamp"
    )
    return lg.World(primitives=[cup, far], stamp_s=NOW_S)


def quaternion(rotation):
    from scipy.spatial.transform import Rotation

    return tuple((quat := Rotation.from_matrix(rotation).as_quat()) / np.linalg.norm(quat))


def held_still(gate, world, now):
    return gate.check(lg.ActionChunk(HOME[None]), state=now, world=world, now_s=NOW_S)


SHAPES = {
    "box": lg.BoxShape(size_xyz_m=(0.03, 0.04, 0.05)),
    "cylinder": lg.CylinderShape(radius_m=0.02, length_m=0.05),
    "sphere": lg.SphereShape(radius_m=0.02),
    "capsule": lg.CapsuleShape(radius_m=0.02, length_m=0.02),
}


@pytest.mark.parametrize("kind", SHAPES)
def test_an_object_between_the_fingers_leaves_the_world_and_is_held(gate, kind):
    world = world_with(gate, SHAPES[kind])
    closed = state(0.02)
    assert not held_still(gate, world, closed).accepted
    rest = lg.grasp(gate, world, "cup", state=closed)
    assert [one.object_id for one in rest.obstacles] == ["lamp"]
    (held,) = gate.attached
    assert (held.object_id, held.link) == ("cup", "panda_hand")
    verdict = held_still(gate, rest, closed)
    assert verdict.accepted, verdict.explain()
    again = lg.release(gate, rest, "cup", state=closed, stamp_s=NOW_S)
    assert gate.attached == ()
    back = next(one for one in again.obstacles if one.object_id == "cup")
    assert np.allclose(back.pose.xyz, world.obstacles[0].pose.xyz, atol=1e-9)


@pytest.mark.parametrize(
    ("in_hand", "opening_m", "message"),
    [
        ((0.0, 0.0, 0.105), 0.04, "is more than 5 mm from it"),
        ((0.0, 0.0, 0.25), 0.02, "is more than 5 mm from it"),
        ((0.0, 0.045, 0.105), 0.02, "is more than 5 mm from it|on the same side"),
        ((0.3, 0.0, 0.105), 0.02, "is more than 5 mm from it"),
    ],
    ids=["open", "below the fingers", "beside one finger", "elsewhere"],
)
def test_an_object_that_is_not_between_the_fingers_is_not_attached(gate, in_hand, opening_m, message):
    world = world_with(gate, SHAPES["box"], in_hand)
    with pytest.raises(lg.ROSConfigError, match=message):
        lg.grasp(gate, world, "cup", state=state(opening_m))
    assert gate.attached == ()


def test_a_hand_that_was_not_measured_holds_nothing(gate):
    unmeasured = lg.RobotState(positions=HOME, stamp_s=NOW_S)
    with pytest.raises(lg.ROSConfigError, match="no gripper_positions"):
        lg.grasp(gate, world_with(gate, SHAPES["box"]), "cup", state=unmeasured)


def test_unknown_objects_are_named(gate):
    world = world_with(gate, SHAPES["box"])
    with pytest.raises(lg.ROSConfigError, match="the world has 0 obstacles of that name"):
        lg.grasp(gate, world, "mug", state=state(0.02))
    with pytest.raises(lg.ROSConfigError, match="`mug` is not attached"):
        lg.release(gate, world, "mug", state=state(0.02), stamp_s=NOW_S)


class KernelThatRefuses:
    def __init__(self, *, refuses: bool) -> None:
        self.refuses, self.said = refuses, []

    def attach(self, link, shape, **fields) -> None:
        if self.refuses:
            raise lg.ROSConfigError("no room")
        self.said.append("attach")

    def detach(self, object_id) -> None:
        self.said.append("detach")

    def publish_world(self, world) -> None:
        self.said.append("publish")


def test_a_kernel_holds_before_the_world_forgets_and_the_world_knows_before_it_detaches(gate):
    kernel = KernelThatRefuses(refuses=False)
    rest = lg.grasp(gate, world_with(gate, SHAPES["box"]), "cup", state=state(0.02), kernel=kernel)
    assert kernel.said == ["attach", "publish"]
    lg.release(gate, rest, "cup", state=state(0.02), stamp_s=NOW_S, kernel=kernel)
    assert kernel.said[2:] == ["publish", "detach"]


def test_a_kernel_that_refuses_leaves_nothing_attached(gate):
    with pytest.raises(lg.ROSConfigError, match="no room"):
        lg.grasp(
            gate,
            world_with(gate, SHAPES["box"]),
            "cup",
            state=state(0.02),
            kernel=KernelThatRefuses(refuses=True),
        )
    assert gate.attached == ()
