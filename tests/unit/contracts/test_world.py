# SPDX-License-Identifier: Apache-2.0
import pytest
from pydantic import ValidationError

from lastgate.contracts import (
    ApproachViewpoint,
    OccupancyGridRef,
    Pose6D,
    WorldCollisionPrimitive,
    WorldState,
)

from .conftest import NOT_FINITE

GRID = {
    "frame_id": "map",
    "resolution_m": 0.05,
    "width": 10,
    "height": 20,
    "origin": {"xyz": [0, 0, 0]},
    "data_topic": "/map",
}


def test_an_obstacle_survives_the_way_through_json():
    obstacle = WorldCollisionPrimitive(
        shape={"shape": "box", "size_xyz_m": [1, 1, 1]}, pose=Pose6D(xyz=(1, 0, 0)), object_id='12" pan'
    )
    assert WorldCollisionPrimitive.model_validate_json(obstacle.model_dump_json()) == obstacle


@pytest.mark.parametrize("radius_m", [0, -5, *NOT_FINITE])
def test_x09_an_obstacle_with_a_radius_that_is_no_size_is_refused_by_its_name(radius_m):
    with pytest.raises(ValidationError, match="object `pole`: `radius_m` must be"):
        WorldCollisionPrimitive(
            shape={"shape": "sphere", "radius_m": radius_m}, pose={"xyz": [0, 0, 0]}, object_id="pole"
        )


def test_a_world_may_be_empty():
    assert WorldState().collision_primitives == ()


@pytest.mark.parametrize("stamp_s", NOT_FINITE)
def test_a_world_with_a_stamp_that_is_not_a_time_is_refused(stamp_s):
    with pytest.raises(ValidationError, match="stamp_s"):
        WorldState(stamp_s=stamp_s)


def test_a_grid_is_accepted():
    assert OccupancyGridRef(**GRID).width == 10


@pytest.mark.parametrize(
    ("key", "value"),
    [("width", 0), ("height", 0), ("width", -1), ("width", 1.5), ("width", True), ("resolution_m", 0)]
    + [("resolution_m", value) for value in NOT_FINITE]
    + [("frame_id", ""), ("data_topic", "")],
)
def test_x10_a_grid_without_cells_size_or_frame_is_refused(key, value):
    with pytest.raises(ValidationError, match=key):
        OccupancyGridRef(**{**GRID, key: value})


def test_a_viewpoint_is_accepted():
    assert ApproachViewpoint(pose={"xyz": [0, 0, 0]}, standoff_m=0.6).standoff_m == 0.6


@pytest.mark.parametrize("standoff_m", [0, -0.6, *NOT_FINITE])
def test_a_viewpoint_without_a_positive_standoff_is_refused(standoff_m):
    with pytest.raises(ValidationError, match="standoff_m"):
        ApproachViewpoint(pose={"xyz": [0, 0, 0]}, standoff_m=standoff_m)
