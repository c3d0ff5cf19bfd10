# SPDX-License-Identifier: Apache-2.0
"""A real scene end to end: rendered depth images, the robot filtered out, and a verdict on what was seen.

The truth is MuJoCo's: which chunk touches what. The gate is told nothing but the images and the joint angles.
"""

import numpy as np
import pytest

import lastgate as lg
from lastgate.gate.self_filter import SelfFilter
from lastgate.tools.demo.depth_camera import DepthCameras
from lastgate.tools.demo.panda_scene import PandaScene, home_configuration
from lastgate.world import GridLayout
from lastgate.world.depth import carve
from lastgate.world.rasterise import merge_voxels

EYES = [(1.5, -1.1, 2.0), (1.5, 1.1, 2.0), (-0.7, -1.2, 2.0), (-0.7, 1.2, 2.0)]
START = home_configuration() - [0.9, 0, 0, 0, 0, 0, 0]
ABOVE = np.linspace(START, np.add(START, [0.9, 0, 0, 0, 0, 0, 0]), 41)[1:]
THROUGH = np.linspace(START, np.add(START, [0.9, 0.8, 0, -0.2, 0, 0.6, 0]), 41)[1:]
LAYOUT = GridLayout.around(minimum_xyz=(-0.3, -0.9, -0.1), maximum_xyz=(1.0, 0.9, 1.1), resolution_m=0.02)


def box(name, size_xyz_m, xyz):
    return lg.WorldCollisionPrimitive(
        shape=lg.BoxShape(size_xyz_m=size_xyz_m), pose=lg.Pose6D(xyz=xyz), object_id=name
    )


FLOOR = lg.WorldCollisionPrimitive(
    shape=lg.HalfSpaceShape(), pose=lg.Pose6D(xyz=(0, 0, -0.75)), object_id="floor"
)
TABLE = [FLOOR, box("table", (0.8, 1.6, 0.04), (0.65, 0.0, -0.02))]
CLUTTER = [
    box("crate", (0.2, 0.2, 0.25), (0.55, 0.0, 0.125)),
    box("carton", (0.12, 0.12, 0.3), (0.6, -0.25, 0.15)),
]


class Seen:
    """What the cameras saw of a table, and the arm in front of it."""

    def __init__(self, gate, things):
        self.scene = PandaScene(gate.robot, things)
        self.scene.reset(START)
        self.state = lg.RobotState(
            positions=START, gripper_positions=self.scene.finger_positions, stamp_s=0.0
        )
        with DepthCameras(self.scene.model) as cameras:
            self.images = [
                cameras.look(self.scene.data, eye_xyz=eye, target_xyz=(0.4, 0.0, 0.3), stamp_s=0.0)
                for eye in EYES
            ]
        grids = [carve(LAYOUT, image, depth_error_m=0.005).voxels for image in self.images]
        self.voxels = merge_voxels(grids)
        self.filtered = SelfFilter(gate, padding_m=0.08).at(self.state).clear_voxels(self.voxels)


@pytest.fixture(scope="module")
def gate():
    return lg.Gate(lg.load_robot("franka_panda"), step_s=0.02)


@pytest.fixture(scope="module")
def cluttered(gate):
    return Seen(gate, [*TABLE, *CLUTTER])


def verdict_on(gate, seen, rows, voxels):
    world = lg.World(voxels=voxels, stamp_s=0.0)
    return gate.check(lg.ActionChunk(rows), state=seen.state, world=world, now_s=0.0)


def as_declared(voxels, unknown):
    return lg.Voxels.in_layout(voxels.layout, voxels.occupancy, stamp_s=voxels.stamp_s, unknown=unknown)


def test_chunk_through_the_clutter_is_rejected_and_the_one_above_it_accepted(gate, cluttered):
    # What MuJoCo says first, so that the test is about a real collision.
    touched = cluttered.scene.contacts_along(START, THROUGH, samples_per_row=4).robot_world
    assert {thing for _, thing in touched} >= {"crate"}
    assert not cluttered.scene.contacts_along(START, ABOVE, samples_per_row=4)

    through = verdict_on(gate, cluttered, THROUGH, cluttered.filtered.voxels)
    assert [violation.code for violation in through.violations] == ["world_collision"]
    above = verdict_on(gate, cluttered, ABOVE, cluttered.filtered.voxels)
    assert above.accepted, above.explain()
    # Nothing that was seen is nearer to the arm than the arm is to itself.
    alone = gate.check(lg.ActionChunk(ABOVE), state=cluttered.state, world=lg.NO_WORLD, now_s=0.0)
    assert above.min_clearance_m == pytest.approx(alone.min_clearance_m, abs=1e-6)


def test_clutter_itself_was_seen_not_only_the_shadow_behind_it(gate, cluttered):
    voxels = as_declared(cluttered.filtered.voxels, "free")
    verdict = verdict_on(gate, cluttered, THROUGH, voxels)
    (violation,) = verdict.violations
    voxel = int(violation.against.removeprefix("voxel_"))
    assert voxels.message_occupancy()[voxel] == 1
    x, y, z = voxels.layout.centres_xyz(np.array([voxel]))[0]
    assert 0.43 <= x <= 0.67
    assert -0.12 <= y <= 0.12
    assert 0.0 <= z <= 0.27


def test_same_chunk_over_a_cleared_table_is_accepted(gate):
    empty = Seen(gate, TABLE)
    verdict = verdict_on(gate, empty, THROUGH, empty.filtered.voxels)
    assert verdict.accepted, verdict.explain()


def test_robot_that_is_not_filtered_out_is_in_its_own_way(gate, cluttered):
    verdict = verdict_on(gate, cluttered, ABOVE, cluttered.voxels)
    assert not verdict.accepted
    assert verdict.certified_rows == 0
    assert sum(cluttered.filtered.cleared_by_owner.values()) > 1000
    assert not any(cluttered.filtered.left_by_owner.values())


def test_space_that_no_camera_carved_stays_unknown_and_is_not_entered(gate, cluttered):
    occupied_only = np.where(cluttered.voxels.is_occupied, 1, 255).astype(np.uint8)
    uncarved = lg.Voxels.in_layout(LAYOUT, occupied_only, stamp_s=0.0)
    filtered = SelfFilter(gate, padding_m=0.08).at(cluttered.state).clear_voxels(uncarved)
    assert not verdict_on(gate, cluttered, ABOVE, filtered.voxels).accepted


def test_one_camera_leaves_a_shadow_that_the_chunk_above_may_not_enter(gate, cluttered):
    alone = carve(LAYOUT, cluttered.images[2], depth_error_m=0.005).voxels
    filtered = SelfFilter(gate, padding_m=0.08).at(cluttered.state).clear_voxels(alone)
    assert alone.is_unknown.mean() > cluttered.voxels.is_unknown.mean()
    assert not verdict_on(gate, cluttered, ABOVE, filtered.voxels).accepted


def test_points_of_the_image_lie_on_what_it_shows(cluttered):
    for image in cluttered.images:
        points = image.points().xyz
        over_table = (np.abs(points[:, 0] - 0.9) < 0.1) & (np.abs(points[:, 1] - 0.55) < 0.15)
        heights_m = points[over_table & (points[:, 2] > -0.1), 2]
        assert len(heights_m) > 50
        assert np.abs(heights_m).max() < 0.004, "the table's top is at 0"
