# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from lastgate.contracts import (
    BoxShape,
    CapsuleShape,
    CollisionShape,
    HalfSpaceShape,
    LinkCollisionGeometry,
    Pose6D,
    SphereShape,
    WorldShape,
    Zone,
)

from .conftest import NOT_FINITE


@pytest.mark.parametrize("shape", [SphereShape(radius_m=5e-324), CapsuleShape(radius_m=1e-9, length_m=0)])
def test_the_smallest_positive_size_is_accepted(shape):
    assert shape.radius_m > 0.0


@pytest.mark.parametrize("radius_m", [0, 0.0, -0.0, -5e-324, -1, *NOT_FINITE, True, "0.1", None])
def test_e14_a_radius_that_is_not_a_positive_number_is_refused(radius_m):
    with pytest.raises(ValidationError, match="radius_m"):
        SphereShape(radius_m=radius_m)
    with pytest.raises(ValidationError, match="radius_m"):
        CapsuleShape(radius_m=radius_m, length_m=0.1)


@pytest.mark.parametrize("length_m", [-5e-324, -1, *NOT_FINITE, "1", None])
def test_a_capsule_length_that_is_not_a_number_from_zero_is_refused(length_m):
    with pytest.raises(ValidationError, match="length_m"):
        CapsuleShape(radius_m=0.1, length_m=length_m)


@pytest.mark.parametrize(
    "edges", [[1, 1, 0], [1, -1, 1], [1, math.nan, 1], [1, 1], [1, 1, 1, 1], {1, 2, 3}, "123"]
)
def test_a_box_without_three_positive_edges_is_refused(edges):
    with pytest.raises(ValidationError, match="size_xyz_m"):
        BoxShape(size_xyz_m=edges)


def test_a_box_with_three_positive_edges_is_accepted():
    assert BoxShape(size_xyz_m=[1, 2, 3]).size_xyz_m == (1.0, 2.0, 3.0)


@pytest.mark.parametrize("quaternion", [(0, 0, 0, 1), (0.5, 0.5, -0.5, 0.5), (0, 0, 0, 1 + 9e-7)])
def test_a_quaternion_of_unit_length_is_accepted(quaternion):
    assert Pose6D(xyz=(0, 0, 0), quat_xyzw=quaternion).quat_xyzw == quaternion


@pytest.mark.parametrize("quaternion", [(0, 0, 0, 1 + 2e-6), (0, 0, 0, 1 - 2e-6), (0, 0, 0, 0), (1, 0, 0, 1)])
def test_a_quaternion_off_unit_length_is_refused_with_its_length(quaternion):
    with pytest.raises(ValidationError, match="its length is"):
        Pose6D(xyz=(0, 0, 0), quat_xyzw=quaternion)


@pytest.mark.parametrize("poison", NOT_FINITE)
@pytest.mark.parametrize("index", range(3))
def test_a_position_that_is_not_finite_is_refused(index, poison):
    xyz = [0.0, 0.0, 0.0]
    xyz[index] = poison
    with pytest.raises(ValidationError, match=rf"`xyz\.{index}` must be a finite number"):
        Pose6D(xyz=xyz)


def test_a_position_may_be_an_array_but_not_a_set():
    assert Pose6D(xyz=np.array([1.0, 2.0, 3.0])).xyz == (1.0, 2.0, 3.0)
    with pytest.raises(ValidationError, match="must be a list, got set"):
        Pose6D(xyz={1.0, 2.0, 3.0})


def test_a_shape_cannot_be_changed_once_made():
    sphere = SphereShape(radius_m=0.1)
    with pytest.raises(ValidationError, match="frozen"):
        sphere.radius_m = -1.0


@pytest.mark.parametrize("shape", [SphereShape(radius_m=1), CapsuleShape(radius_m=1, length_m=2)])
def test_a_link_shape_survives_the_way_through_json(shape):
    adapter = TypeAdapter(CollisionShape)
    assert adapter.validate_json(adapter.dump_json(shape)) == shape


@pytest.mark.parametrize("shape", [BoxShape(size_xyz_m=(1, 1, 1)), HalfSpaceShape()])
def test_boxes_and_half_spaces_belong_to_the_world_and_not_to_a_link(shape):
    assert TypeAdapter(WorldShape).validate_python(shape.model_dump()) == shape
    with pytest.raises(
        ValidationError, match=r"link `hand`: `shape` is '\w+', must be one of 'sphere', 'capsule'"
    ):
        LinkCollisionGeometry(link_name="hand", shape=shape.model_dump())


def test_an_unknown_shape_is_refused_with_the_known_ones():
    with pytest.raises(ValidationError, match="'mesh', must be one of"):
        Zone(name="shelf", shape={"shape": "mesh"}, pose={"xyz": [0, 0, 0]})


@pytest.mark.parametrize("name", ["", " ", "hand ", "ha\nnd", "ha\x00nd", "x" * 257, 7, None])
def test_a_link_name_that_cannot_be_printed_or_matched_is_refused(name):
    with pytest.raises(ValidationError, match="link_name"):
        LinkCollisionGeometry(link_name=name, shape={"shape": "sphere", "radius_m": 1})
