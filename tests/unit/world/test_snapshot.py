# SPDX-License-Identifier: Apache-2.0
"""A snapshot is built once, says what it holds and where, and spoils nothing silently."""

import numpy as np
import pytest
from fixtures.analytic_robots import check, gate_of, only_violation, sliders, sphere, world_of

import lastgate as lg
from lastgate import _core

CUP = sphere((1.0, 0.0, 0.0), 0.1, "cup")


def distance_from(primitive: lg.WorldCollisionPrimitive, point: tuple[float, float, float]) -> float:
    return world_of(primitive).native.distance(0, np.array([*point, *point]))[0]


def placed(shape: object, xyz=(0.0, 0.0, 0.0), quat_xyzw=(0.0, 0.0, 0.0, 1.0)) -> lg.WorldCollisionPrimitive:
    return lg.WorldCollisionPrimitive(shape=shape, pose=lg.Pose6D(xyz=xyz, quat_xyzw=quat_xyzw))


QUARTER_ABOUT_X = (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))


@pytest.mark.parametrize(
    ("primitive", "point", "distance"),
    [
        (placed(lg.SphereShape(radius_m=0.5)), (2.0, 0.0, 0.0), 1.5),
        (placed(lg.SphereShape(radius_m=0.5), xyz=(0.0, 1.0, 0.0)), (0.0, 3.0, 0.0), 1.5),
        # length_m is the cylinder part: the capsule ends at z = 1 + 0.5.
        (placed(lg.CapsuleShape(radius_m=0.5, length_m=2.0)), (0.0, 0.0, 2.0), 0.5),
        (
            placed(lg.CapsuleShape(radius_m=0.5, length_m=2.0), quat_xyzw=QUARTER_ABOUT_X),
            (0.0, 2.0, 0.0),
            0.5,
        ),
        # Full edge lengths.
        (placed(lg.BoxShape(size_xyz_m=(1.0, 2.0, 3.0))), (2.0, 0.0, 0.0), 1.5),
        (placed(lg.BoxShape(size_xyz_m=(1.0, 2.0, 3.0))), (0.0, 2.0, 0.0), 1.0),
        (placed(lg.BoxShape(size_xyz_m=(1.0, 2.0, 3.0))), (0.0, 0.0, 2.0), 0.5),
        (placed(lg.BoxShape(size_xyz_m=(1.0, 2.0, 3.0)), quat_xyzw=QUARTER_ABOUT_X), (0.0, 2.0, 0.0), 0.5),
        # Solid where local z <= 0.
        (placed(lg.HalfSpaceShape(), xyz=(0.0, 0.0, 0.5)), (9.0, 9.0, 2.0), 1.5),
        (placed(lg.HalfSpaceShape(), xyz=(0.0, 0.0, 0.5)), (9.0, 9.0, 0.0), -0.5),
        (placed(lg.HalfSpaceShape(), quat_xyzw=QUARTER_ABOUT_X), (0.0, -2.0, 0.0), 2.0),
    ],
)
def test_shape_is_where_and_as_large_as_its_schema_says(primitive, point, distance):
    assert distance_from(primitive, point) == pytest.approx(distance, abs=1e-12)


def test_obstacles_are_named_by_their_id_or_their_index():
    world = world_of(CUP, sphere((2.0, 0.0, 0.0), 0.1))
    assert (world.object_name(0), world.object_name(1)) == ("cup", "world_1")


def test_snapshots_are_told_apart():
    first, second = world_of(CUP), world_of(CUP)
    assert first.world_id != second.world_id
    assert first.number < second.number
    assert world_of(CUP, world_id="camera").world_id == "camera"
    with pytest.raises(lg.ROSConfigError, match="world_id must be text, got 3"):
        world_of(CUP, world_id=3)
    with pytest.raises(lg.ROSConfigError, match="frame_id must be text, got None"):
        world_of(CUP, frame_id=None)


def test_native_snapshot_is_built_once():
    world = world_of(CUP)
    assert world.native is world.native
    assert (world.native.count, world.native.usable, world.native.overflowing) == (1, True, False)


def test_world_does_not_follow_the_list_it_was_made_from():
    obstacles = [CUP]
    world = lg.World(primitives=obstacles, stamp_s=0.0)
    obstacles.clear()
    assert (world.primitives, world.native.count) == ((CUP,), 1)


@pytest.mark.parametrize("other", [None, "cup", {"shape": "sphere"}, lg.SphereShape(radius_m=0.1)])
def test_obstacle_of_another_type_is_refused_with_its_index(other):
    with pytest.raises(lg.ROSConfigError, match=rf"primitives\[1\] is a {type(other).__name__}"):
        lg.World(primitives=[CUP, other], stamp_s=0.0)


@pytest.mark.parametrize("stamp", ["now", None, True])
def test_stamp_that_is_not_a_number_is_refused(stamp):
    with pytest.raises(lg.ROSConfigError, match="stamp_s must be a number"):
        lg.World(primitives=[CUP], stamp_s=stamp)


def test_stamp_has_no_default():
    with pytest.raises(TypeError, match="stamp_s"):
        lg.World(primitives=[CUP])


def in_frame(frame_id: str) -> lg.WorldCollisionPrimitive:
    pose = lg.Pose6D(xyz=(1.0, 0.0, 0.0), frame_id=frame_id)
    return lg.WorldCollisionPrimitive(shape=lg.SphereShape(radius_m=0.1), pose=pose, object_id="cup")


def test_obstacle_in_another_frame_than_its_world_is_refused_with_both():
    with pytest.raises(
        lg.ROSConfigError, match=r"primitives\[0\] \(cup\) is in frame `map`, the world is in `base`"
    ):
        lg.World(primitives=[in_frame("map")], stamp_s=0.0, frame_id="base")
    with pytest.raises(lg.ROSConfigError, match="the world is in the base frame: pass frame_id=`map`"):
        lg.World(primitives=[in_frame("map")], stamp_s=0.0)


def test_obstacle_in_the_frame_of_its_world_is_taken():
    assert lg.World(primitives=[in_frame("map"), in_frame("")], stamp_s=0.0, frame_id="map").native.count == 2


def test_world_of_another_robot_frame_can_be_used_by_the_robot_that_stands_in_it():
    elsewhere = sliders(0.0) | {"base_frame": "map"}
    elsewhere["joints"][0]["parent_link"] = "map"
    world = world_of(in_frame("map"), frame_id="map")
    assert check(gate_of(elsewhere), [[0.0]], world=world).accepted
    assert only_violation(check(gate_of(sliders(0.0)), [[0.0]], world=world)).code == "world_unavailable"


def test_world_can_be_shared_by_gates():
    world = world_of(CUP)
    for _ in range(2):
        assert check(gate_of(sliders(0.0)), [[0.0]], world=world).accepted


def test_no_world_is_one_thing_and_says_so():
    assert repr(lg.NO_WORLD) == "NO_WORLD"
    assert lg.NO_WORLD.world_id == "no-world"


def snapshot(kinds: list[int], sizes: list[list[float]], poses: list[list[float]]) -> _core.WorldSnapshot:
    arrays = (
        np.array(kinds, dtype=np.uint8),
        np.array(sizes, dtype=np.float64),
        np.array(poses, dtype=np.float64),
    )
    return _core.WorldSnapshot(*arrays, id=1, stamp_s=0.0, in_base_frame=True)


UPRIGHT = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]


def test_native_snapshot_of_a_good_box_is_usable():
    assert snapshot([2], [[0.1, 0.1, 0.1]], [UPRIGHT]).usable


@pytest.mark.parametrize(
    ("kind", "size", "pose"),
    [
        (2, [0.1, 0.0, 0.1], UPRIGHT),
        (2, [0.1, np.nan, 0.1], UPRIGHT),
        (1, [0.1, -0.1, 0.0], UPRIGHT),
        (0, [0.1, 0.0, 0.0], [np.nan, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]),
        (0, [0.1, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        (3, [0.0, 0.0, 0.0], [0.0, 0.0, np.inf, 0.0, 0.0, 0.0, 1.0]),
        (5, [0.1, 0.1, 0.1], UPRIGHT),
        (4, [0.1, 0.0, 0.0], UPRIGHT),
        (255, [0.1, 0.1, 0.1], UPRIGHT),
    ],
)
def test_native_snapshot_with_one_obstacle_that_cannot_be_used_is_not_usable(kind, size, pose):
    assert not snapshot([0, kind], [[0.1, 0.0, 0.0], size], [UPRIGHT, pose]).usable


def test_native_snapshot_with_arrays_of_other_lengths_is_refused():
    with pytest.raises(ValueError, match="one kind, three sizes and seven pose numbers"):
        snapshot([0, 0], [[0.1, 0.0, 0.0]], [UPRIGHT])
