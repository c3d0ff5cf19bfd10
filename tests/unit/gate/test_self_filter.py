# SPDX-License-Identifier: Apache-2.0
"""The robot is taken out of what its sensors see, and nothing else is."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import lastgate as lg
from lastgate.contracts import ROSConfigError, ROSPerceptionStale
from lastgate.gate.self_filter import SelfFilter, padding_to_clear_m
from lastgate.world import GridLayout, Points, Voxels
from lastgate.world.rasterise import rasterise_points

READY = [0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]


def one_link_robot():
    """Returns an arm that turns around z: a capsule of radius 0.05 from x = 0.1 to 0.9."""
    return lg.RobotDescription(
        name="one_link",
        assets={},
        base_frame="base",
        joints=[
            {
                "name": "shoulder",
                "joint_type": "revolute",
                "parent_link": "base",
                "child_link": "arm",
                "position_limits": (-3.0, 3.0),
                "velocity_limit": 1.0,
            }
        ],
        collision_geometry=[
            {
                "link_name": "arm",
                "shape": {"shape": "capsule", "radius_m": 0.05, "length_m": 0.8},
                "origin_xyz_rpy": (0.5, 0, 0, 0, np.pi / 2, 0),
            }
        ],
    )


@pytest.fixture(scope="module")
def arm():
    return lg.Gate(one_link_robot(), step_s=0.02)


@pytest.fixture(scope="module")
def panda():
    return lg.Gate(lg.load_robot("franka_panda"), step_s=0.02)


def state(*positions, stamp_s=10.0, **more):
    return lg.RobotState(positions=list(positions), stamp_s=stamp_s, **more)


def cloud(*xyz, stamp_s=10.0, frame_id=""):
    return Points(xyz=np.array(xyz, dtype=np.float64), stamp_s=stamp_s, frame_id=frame_id)


def grid(fill, *, stamp_s=10.0, frame_id="", resolution_m=0.02):
    count = round(0.4 / resolution_m)
    layout = GridLayout(
        origin_xyz=(0.3, -0.2, -0.2),
        resolution_m=resolution_m,
        size_xyz=(count, count, count),
        frame_id=frame_id,
    )
    return Voxels.in_layout(layout, np.full(layout.shape, fill, np.uint8), stamp_s=stamp_s)


def test_point_on_the_padded_surface_is_the_robots_and_one_beyond_it_is_not(arm):
    volumes = SelfFilter(arm, padding_m=0.01).at(state(0.0))
    inside, beyond = (0.5, 0.06 - 1e-12, 0.0), (0.5, 0.06 + 1e-9, 0.0)
    assert volumes.owner_of(cloud(inside, beyond, (0.96 - 1e-12, 0, 0), (0.97, 0, 0))) == [
        "arm",
        None,
        "arm",
        None,
    ]


def test_points_follow_the_joints(arm):
    at_rest, turned = (0.5, 0.0, 0.0), (0.0, 0.5, 0.0)
    robot = SelfFilter(arm, padding_m=0.0)
    assert robot.at(state(0.0)).owner_of(cloud(at_rest, turned)) == ["arm", None]
    assert robot.at(state(np.pi / 2)).owner_of(cloud(at_rest, turned)) == [None, "arm"]


def test_points_of_the_robot_are_removed_and_counted_and_obstacles_stay(arm):
    seen = cloud((0.5, 0.05, 0.0), (0.3, 0.0, 0.04), (0.5, 0.2, 0.0))
    result = SelfFilter(arm, padding_m=0.01).at(state(0.0)).without_robot(seen)
    assert result.points.xyz.tolist() == [[0.5, 0.2, 0.0]]
    assert result.removed_by_owner == {"arm": 2}


def test_cloud_of_the_robot_alone_leaves_no_points_and_is_not_an_accident(arm):
    result = SelfFilter(arm, padding_m=0.0).at(state(0.0)).without_robot(cloud((0.5, 0.0, 0.0)))
    assert len(result.points) == 0
    assert result.points.declared_empty


def test_link_padding_counts_for_that_link_alone(panda):
    wide = SelfFilter(panda, padding_m=0.0, link_padding_m={"panda_hand": 0.1})
    volumes = wide.at(state(*READY, gripper_positions=[0.04]))
    for owner, padding in zip(volumes.owners, volumes.paddings_m, strict=True):
        assert padding == (0.1 if owner == "panda_hand" else 0.0)


@pytest.mark.parametrize("seed", range(3))
def test_owner_of_points_around_a_panda_is_the_link_that_brute_force_finds(panda, seed):
    """Reference: every capsule as a row of spheres, placed by SciPy's rotations; points within 1 mm of a limit
    are left out.
    """
    rng = np.random.default_rng(seed)
    lower, upper = np.array([joint.position_limits for joint in panda.robot.actuated_joints[:7]]).T
    q = rng.uniform(lower, upper)
    volumes = SelfFilter(panda, padding_m=0.02).at(state(*q, gripper_positions=[0.02]))
    poses = panda.link_poses(q, gripper_positions=[0.02])
    near = rng.choice(volumes.starts_xyz, size=400) + rng.normal(scale=0.1, size=(400, 3))
    gaps = []
    for volume in panda.robot.collision_geometry:
        xyz, rpy = np.array(volume.origin_xyz_rpy[:3]), volume.origin_xyz_rpy[3:]
        along = Rotation.from_euler("xyz", rpy).apply((0, 0, 1)) * volume.shape.length_m
        spheres = xyz + np.linspace(-0.5, 0.5, 200)[:, None] * along
        pose = poses[volume.link_name]
        placed = spheres @ pose[:, :3].T + pose[:, 3]
        gaps.append(np.linalg.norm(near[:, None] - placed, axis=2).min(axis=1) - volume.shape.radius_m - 0.02)
    links = [volume.link_name for volume in panda.robot.collision_geometry]
    sorted_gaps = np.sort(gaps, axis=0)
    clear = (np.abs(sorted_gaps[0]) > 1e-3) & (sorted_gaps[1] - sorted_gaps[0] > 1e-3)
    expected = [
        links[best] if gap <= 0 else None
        for best, gap in zip(np.argmin(gaps, axis=0), sorted_gaps[0], strict=True)
    ]
    found = volumes.owner_of(cloud(*near))
    assert [f for f, c in zip(found, clear, strict=True) if c] == [
        e for e, c in zip(expected, clear, strict=True) if c
    ]
    assert {None} < set(expected)
    assert clear.sum() > 200


def test_attached_object_is_the_robots_once_it_is_declared(arm):
    at_tip = (1.05, 0.0, 0.0)
    held = lg.AttachedShape(
        object_id="cup", link="arm", shape=lg.SphereShape(radius_m=0.04), origin_xyz_rpy=(1.05, 0, 0, 0, 0, 0)
    )
    without, with_cup = SelfFilter(arm, padding_m=0.0), SelfFilter(arm, padding_m=0.0, attached=[held])
    assert without.at(state(0.0)).owner_of(cloud(at_tip)) == [None]
    assert with_cup.at(state(0.0)).owner_of(cloud(at_tip)) == ["cup"]
    assert with_cup.at(state(0.3)).owner_of(cloud(at_tip)) == [None]
    assert with_cup.at(state(0.0)).without_robot(cloud(at_tip, (2, 2, 2))).removed_by_owner == {
        "arm": 0,
        "cup": 1,
    }


def test_filter_follows_what_the_gate_holds():
    gate = lg.Gate(one_link_robot(), step_s=0.02)
    self_filter = SelfFilter(gate, padding_m=0.0)
    at_tip = cloud((1.05, 0.0, 0.0))
    assert self_filter.at(state(0.0)).owner_of(at_tip) == [None]
    gate.attach("arm", lg.SphereShape(radius_m=0.04), object_id="cup", origin_xyz_rpy=(1.05, 0, 0, 0, 0, 0))
    assert [held.object_id for held in gate.attached] == ["cup"]
    assert self_filter.at(state(0.0)).owner_of(at_tip) == ["cup"]
    assert SelfFilter(gate, padding_m=0.0, attached=[]).at(state(0.0)).owner_of(at_tip) == [None]
    gate.detach("cup")
    assert gate.attached == ()
    assert self_filter.at(state(0.0)).owner_of(at_tip) == [None]


def test_attached_object_has_its_own_padding_and_its_own_voxels():
    gate = lg.Gate(one_link_robot(), step_s=0.02)
    gate.attach("arm", lg.SphereShape(radius_m=0.04), object_id="cup", origin_xyz_rpy=(1.05, 0, 0, 0, 0, 0))
    beside = cloud((1.05, 0.06, 0.0))
    assert SelfFilter(gate, padding_m=0.0).at(state(0.0)).owner_of(beside) == [None]
    padded = SelfFilter(gate, padding_m=0.0, link_padding_m={"cup": 0.03}).at(state(0.0))
    assert padded.owner_of(beside) == ["cup"]
    assert padded.owner_of(cloud((0.5, 0.06, 0.0))) == [None]  # the arm itself is not padded
    layout = GridLayout(origin_xyz=(0.0, -0.1, -0.1), resolution_m=0.02, size_xyz=(60, 10, 10))
    owners = padded.owner_of_voxels(layout)
    names = {padded.owners[number] for number in np.unique(owners[owners >= 0])}
    assert names == {"arm", "cup"}
    z, y, x = 5, 5, int(1.05 / 0.02)
    assert padded.owners[owners[z, y, x]] == "cup"
    assert padded.owners[owners[z, y, int(0.5 / 0.02)]] == "arm"


def test_voxel_is_cleared_only_if_all_of_it_is_in_the_padded_volume(arm):
    volumes = SelfFilter(arm, padding_m=0.01).at(state(0.0))
    result = volumes.clear_voxels(grid(1))
    layout = result.voxels.layout
    free = np.flatnonzero(result.voxels.is_free)
    vertices = np.stack(np.meshgrid(*[(-0.01, 0.01)] * 3), axis=-1).reshape(-1, 3)
    radial = np.linalg.norm((layout.centres_xyz(free)[:, None] + vertices)[..., 1:], axis=-1)
    assert radial.max() <= 0.06
    assert result.cleared_by_owner == {"arm": len(free)}
    # Brute force over all voxels: none that is inside was left.
    everywhere = np.linalg.norm(
        (layout.centres_xyz(np.arange(layout.voxel_count))[:, None] + vertices)[..., 1:], axis=-1
    )
    assert len(free) == (everywhere.max(axis=1) <= 0.06).sum()


def test_voxel_that_only_touches_the_padded_volume_is_the_robots_and_stays_occupied(arm):
    volumes = SelfFilter(arm, padding_m=0.01).at(state(0.0))
    voxels = grid(1)
    owner = volumes.owner_of_voxels(voxels.layout)
    cleared = volumes.clear_voxels(voxels).voxels.is_free
    touching = (owner >= 0) & ~cleared
    assert touching.any()
    assert (owner[cleared] == 0).all()
    # Along y the padded surface is at 0.06, exactly a face of the grid: the voxel beyond it touches.
    column = owner[10, :, 10]
    y_index = round((0.06 + 0.2) / 0.02)
    assert column[y_index] == 0
    assert column[y_index + 1] == -1


def test_unknown_inside_the_robot_is_cleared_and_unknown_beside_it_is_not(arm):
    result = SelfFilter(arm, padding_m=0.05).at(state(0.0)).clear_voxels(grid(255))
    assert result.voxels.is_free[10, 10, 10]
    assert result.voxels.is_unknown[0, 0, 0]


def test_obstacle_beside_the_robot_survives(arm):
    voxels = grid(0)
    occupancy = voxels.occupancy.copy()
    occupancy[10, 10, 10] = occupancy[10, 17, 10] = 1
    seen = Voxels.in_layout(voxels.layout, occupancy, stamp_s=10.0)
    result = SelfFilter(arm, padding_m=0.05).at(state(0.0)).clear_voxels(seen)
    assert np.argwhere(result.voxels.is_occupied).tolist() == [[10, 17, 10]]
    assert result.cleared_by_owner == {"arm": 1}


@pytest.mark.parametrize("resolution_m", [0.02, 0.05])
def test_padding_of_a_voxel_diagonal_leaves_no_voxel_in_contact_and_less_does(arm, resolution_m):
    enough = SelfFilter(arm, padding_m=padding_to_clear_m(resolution_m)).at(state(0.0))
    assert enough.clear_voxels(grid(1, resolution_m=resolution_m)).left_by_owner == {"arm": 0}
    too_little = SelfFilter(arm, padding_m=0.5 * resolution_m).at(state(0.0))
    assert too_little.clear_voxels(grid(1, resolution_m=resolution_m)).left_by_owner["arm"] > 0


def test_panda_seen_by_a_perfect_camera_is_filtered_out_of_its_own_grid(panda):
    """Points all over the surfaces of its volumes go in; no voxel that the robot touches comes out."""
    rng = np.random.default_rng(2)
    resolution_m = 0.04
    robot = SelfFilter(panda, padding_m=padding_to_clear_m(resolution_m))
    volumes = robot.at(state(*READY, gripper_positions=[0.04]))
    seen = []
    for start, end, radius in zip(volumes.starts_xyz, volumes.ends_xyz, volumes.radii_m, strict=True):
        direction = rng.normal(size=(2000, 3))
        direction /= np.linalg.norm(direction, axis=1)[:, None]
        seen.append(start + rng.random((2000, 1)) * (end - start) + direction * radius)
    layout = GridLayout.around(
        minimum_xyz=(-0.6, -0.6, -0.2), maximum_xyz=(0.9, 0.6, 1.2), resolution_m=resolution_m
    )
    raster = rasterise_points(layout, Points(xyz=np.concatenate(seen), stamp_s=10.0))
    result = volumes.clear_voxels(raster.voxels)
    assert raster.outside_count == 0
    assert not result.voxels.is_occupied.any()
    assert sum(result.left_by_owner.values()) == 0
    assert all(count > 0 for owner, count in result.cleared_by_owner.items() if "finger" not in owner)
    assert result.voxels.is_unknown.any()


def test_description_alone_gives_the_same_volumes_as_its_gate(arm):
    with pytest.warns(DeprecationWarning, match="pass the gate"):
        from_description = SelfFilter(one_link_robot(), padding_m=0.01).at(state(0.4))
    from_gate = SelfFilter(arm, padding_m=0.01).at(state(0.4))
    assert np.array_equal(from_description.ends_xyz, from_gate.ends_xyz)


# Freshness and frames


def test_filtered_data_is_as_old_as_the_older_of_data_and_joints(arm):
    robot = SelfFilter(arm, padding_m=0.0)
    older_joints = robot.at(state(0.0, stamp_s=9.97))
    assert older_joints.without_robot(cloud((2, 2, 2))).points.stamp_s == 9.97
    assert older_joints.clear_voxels(grid(1)).voxels.stamp_s == 9.97
    assert robot.at(state(0.0, stamp_s=10.03)).clear_voxels(grid(1)).voxels.stamp_s == 10.0


@pytest.mark.parametrize("stamp_s", [5.0, 9.9, 10.1])
def test_joints_measured_at_another_time_are_refused(arm, stamp_s):
    volumes = SelfFilter(arm, padding_m=0.0).at(state(0.0, stamp_s=stamp_s))
    with pytest.raises(ROSPerceptionStale, match=r"apart, allowed 0\.0500 s"):
        volumes.without_robot(cloud((2, 2, 2)))
    with pytest.raises(ROSPerceptionStale, match=r"apart, allowed 0\.0500 s"):
        volumes.clear_voxels(grid(1))


def test_arm_silent_for_five_seconds_is_rejected_although_the_gripper_still_reports(panda):
    fresh = np.full(7, 10.0)
    silent = fresh - 5.0
    robot = SelfFilter(panda, padding_m=0.0)
    volumes = robot.at(state(*READY, gripper_positions=[0.04], stamps_s=fresh))
    assert volumes.without_robot(cloud((2, 2, 2))).points.stamp_s == 10.0
    volumes = robot.at(state(*READY, gripper_positions=[0.04], stamps_s=silent))
    assert volumes.stamp_s == 5.0
    with pytest.raises(ROSPerceptionStale, match=r"5\.0000 s apart"):
        volumes.without_robot(cloud((2, 2, 2)))


@pytest.mark.parametrize("frame_id", ["odom", "camera", "Base"])
def test_data_in_another_frame_is_refused_by_name(arm, frame_id):
    volumes = SelfFilter(arm, padding_m=0.0).at(state(0.0))
    for refused in (
        lambda: volumes.owner_of(cloud((0, 0, 0), frame_id=frame_id)),
        lambda: volumes.without_robot(cloud((0, 0, 0), frame_id=frame_id)),
        lambda: volumes.clear_voxels(grid(1, frame_id=frame_id)),
        lambda: volumes.owner_of_voxels(grid(1, frame_id=frame_id).layout),
    ):
        with pytest.raises(ROSConfigError, match=f"in frame `{frame_id}`.*`base`"):
            refused()


def test_data_that_names_the_base_frame_is_taken(arm):
    volumes = SelfFilter(arm, padding_m=0.0).at(state(0.0))
    assert volumes.owner_of(cloud((0.5, 0, 0), frame_id="base")) == ["arm"]


# What is refused


def test_fingers_whose_place_is_not_known_are_refused(panda):
    with pytest.raises(ROSConfigError, match="none gripper_positions, needs 1: panda_finger_joint1"):
        SelfFilter(panda, padding_m=0.0).at(state(*READY))


@pytest.mark.parametrize("poison", [float("nan"), float("inf")])
def test_joint_that_is_not_finite_is_refused_by_name(panda, poison):
    q = [*READY]
    q[3] = poison
    with pytest.raises(ROSConfigError, match="panda_joint4"):
        SelfFilter(panda, padding_m=0.0).at(state(*q, gripper_positions=[0.04]))
    with pytest.raises(ROSConfigError, match="panda_finger_joint1"):
        SelfFilter(panda, padding_m=0.0).at(state(*READY, gripper_positions=[poison]))


@pytest.mark.parametrize("count", [0, 6, 8])
def test_wrong_number_of_joints_is_refused_with_their_names(panda, count):
    with pytest.raises(ROSConfigError, match=f"has {count} positions, needs 7: panda_joint1"):
        SelfFilter(panda, padding_m=0.0).at(state(*([0.0] * count), gripper_positions=[0.04]))


@pytest.mark.parametrize("padding_m", [-0.01, float("nan"), float("inf"), None])
def test_padding_that_is_no_length_is_refused(arm, padding_m):
    with pytest.raises(ROSConfigError, match="padding"):
        SelfFilter(arm, padding_m=padding_m)
    with pytest.raises(ROSConfigError, match="padding of `arm`"):
        SelfFilter(arm, padding_m=0.0, link_padding_m={"arm": padding_m})


def test_padding_of_a_link_without_volume_is_refused_by_name(arm):
    with pytest.raises(ROSConfigError, match="`elbow`, which has no volume; volumes: arm"):
        SelfFilter(arm, padding_m=0.0, link_padding_m={"elbow": 0.1})


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"link": "elbow"}, "link `elbow`, which does not exist"),
        ({"object_id": "arm"}, "also a link"),
    ],
)
def test_attached_object_that_cannot_be_placed_is_refused(arm, change, sentence):
    fields = {"object_id": "cup", "link": "arm", "shape": lg.SphereShape(radius_m=0.04)}
    with pytest.raises(ROSConfigError, match=sentence):
        SelfFilter(arm, padding_m=0.0, attached=[lg.AttachedShape(**(fields | change))])


@pytest.mark.parametrize("skew_s_max", [-1.0, float("nan"), None])
def test_skew_that_is_no_time_is_refused(arm, skew_s_max):
    with pytest.raises(ROSConfigError, match="skew_s_max"):
        SelfFilter(arm, padding_m=0.0, skew_s_max=skew_s_max)
