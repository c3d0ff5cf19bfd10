# SPDX-License-Identifier: Apache-2.0
import itertools
import math

import numpy as np
import pytest

import lastgate as lg
from lastgate.planning.approach.viewpoint import yaw_of
from lastgate.planning.skills import navigate_to
from lastgate.planning.skills.navigate import find_way
from lastgate.tools.demo.mobile_arm import (
    FOOTPRINT_RADIUS_M,
    SimulatedMobileArm,
    furniture,
    map_of,
    mobile_robot,
    things,
)
from unit.planning.skills.conftest import STEP_S, RecordingBody


@pytest.fixture(scope="module")
def mobile_gate():
    return lg.Gate(mobile_robot(), step_s=STEP_S)


@pytest.fixture
def body(mobile_gate):
    return SimulatedMobileArm(mobile_gate)


@pytest.fixture(scope="module")
def flat():
    return map_of((*furniture(), *things()))


def pose(x, y, yaw=0.0, frame_id="map"):
    return lg.Pose6D(
        xyz=(x, y, 0.0), quat_xyzw=(0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2)), frame_id=frame_id
    )


def test_way_is_free_for_the_disc_all_along_and_no_longer_than_needed(flat):
    way = find_way(flat, (1.0, 1.0), (5.2, 3.6), inflation_m=FOOTPRINT_RADIUS_M)
    assert way[0] == (1.0, 1.0)
    assert way[-1] == (5.2, 3.6)
    for a, b in itertools.pairwise(way):
        for share in np.linspace(0.0, 1.0, 200):
            place = np.array(a) + share * np.subtract(b, a)
            assert flat.is_free(*place.tolist(), inflation_m=FOOTPRINT_RADIUS_M - flat.resolution_m / 2)
    length_m = sum(math.dist(a, b) for a, b in itertools.pairwise(way))
    assert math.dist((1.0, 1.0), (5.2, 3.6)) < length_m < 1.3 * math.dist((1.0, 1.0), (5.2, 3.6))


@pytest.mark.parametrize("seed", range(20))
def test_way_exists_exactly_where_cells_are_connected(seed):
    from scipy import ndimage

    rng = np.random.default_rng(seed)
    cells = np.where(rng.random((30, 30)) < 0.3, 100, 0).astype(np.int8)
    grid = lg.OccupancyGridIndex(cells, 0.1, (0.0, 0.0))
    free = grid.inflated_free(0.04)
    labels, _ = ndimage.label(free)
    places = np.argwhere(free)
    for _ in range(10):
        a, b = (tuple(map(int, places[index])) for index in rng.integers(0, len(places), 2))
        try:
            find_way(grid, grid.centre_of(a), grid.centre_of(b), inflation_m=0.04)
            found = True
        except lg.ROSPlanningError:
            found = False
        assert found == (labels[a] == labels[b])


def test_way_to_a_closed_room_is_refused(flat):
    with pytest.raises(lg.ROSPlanningError, match="not connected"):
        find_way(flat, (1.0, 1.0), (1.05, 4.3), inflation_m=0.1)


def test_base_drives_round_the_wall_and_arrives(mobile_gate, body):
    drive = navigate_to(pose(5.2, 3.6, 0.5), gate=mobile_gate, body=body)
    end = body.base_in_map()
    assert math.dist(end.xyz[:2], (5.2, 3.6)) <= 0.04
    assert yaw_of(end) == pytest.approx(0.5, abs=0.04)
    assert len(drive.corners_xy) > 2
    assert drive.chunks > 10
    assert body.holds == 0
    assert body.executed > drive.chunks


@pytest.mark.parametrize(
    ("goal", "why"),
    [
        (pose(6.4, 4.0), "touches what is occupied"),
        (pose(20.0, 1.0), "off the map"),
        (pose(1.0, 2.0, frame_id="odom"), "in frame `odom`"),
        (lg.Pose6D(xyz=(1.0, 2.0, 0.0), quat_xyzw=(0.6, 0.0, 0.0, 0.8), frame_id="map"), "leans"),
    ],
)
def test_goal_where_the_base_may_not_stand_is_refused_before_it_moves(mobile_gate, body, goal, why):
    with pytest.raises(lg.ROSPlanningError, match=why):
        navigate_to(goal, gate=mobile_gate, body=body)
    assert (body.executed, body.holds) == (0, 0)


def test_obstacle_that_the_map_does_not_know_stops_the_base_before_it(mobile_gate, body):
    crate = lg.WorldCollisionPrimitive(
        shape=lg.BoxShape(size_xyz_m=(0.3, 3.0, 0.6)), pose=lg.Pose6D(xyz=(2.6, 1.4, 0.3)), object_id="crate"
    )
    body._obstacles = (*body._obstacles, crate)
    with pytest.raises(
        lg.ROSCollisionImminent, match=r"chunk \d+ of the drive, and the robot holds: .*crate"
    ):
        navigate_to(pose(3.2, 1.0), gate=mobile_gate, body=body)
    assert body.holds == 1
    assert 1.0 < body.base_in_map().xyz[0] < 2.45


def test_drive_that_is_taken_back_holds(mobile_gate, body):
    with pytest.raises(lg.ROSMotionCancelled, match="the robot holds"):
        navigate_to(pose(3.0, 1.0), gate=mobile_gate, body=body, is_cancelled=lambda: body.executed >= 30)
    assert body.holds == 1
    assert 30 <= body.executed < 60


def test_base_that_slips_is_said_not_to_have_arrived(mobile_gate, body, monkeypatch):
    drive = type(body)._drive
    monkeypatch.setattr(type(body), "_drive", lambda self, twist: drive(self, 0.3 * twist))
    with pytest.raises(lg.ROSPlanningError, match="did not arrive"):
        navigate_to(pose(3.0, 1.0), gate=mobile_gate, body=body)
    assert body.holds == 1


def test_robot_without_a_base_or_a_map_is_refused(gate, mobile_gate):
    with pytest.raises(lg.ROSConfigError, match="no base that drives"):
        navigate_to(pose(1.0, 1.0), gate=gate, body=RecordingBody())
    with pytest.raises(lg.ROSConfigError, match="no floor_map"):
        navigate_to(pose(1.0, 1.0), gate=mobile_gate, body=RecordingBody())
