# SPDX-License-Identifier: Apache-2.0
"""Depth images: points where something is, free where the camera saw through, unknown elsewhere."""

import mujoco
import numpy as np
import pytest

from lastgate.contracts import Pose6D, ROSConfigError
from lastgate.world import GridLayout
from lastgate.world.depth import DepthImage, PinholeIntrinsics, carve
from lastgate.world.freshness import StampedTransform

LENS = PinholeIntrinsics(fx=40.0, fy=40.0, cx=32.0, cy=24.0)
# The camera looks along +x of the base frame: optical z is x, optical x is -y, optical y is -z.
LOOKING_ALONG_X = np.array([[0.0, 0, 1, 0], [-1, 0, 0, 0], [0, -1, 0, 0]])
LAYOUT = GridLayout(origin_xyz=(0.2, -0.5, -0.5), resolution_m=0.05, size_xyz=(30, 20, 20))


def image(depth_m, **changes):
    fields = {
        "depth_m": depth_m,
        "intrinsics": LENS,
        "camera_in_frame": LOOKING_ALONG_X,
        "stamp_s": 5.0,
        "range_m": (0.1, 4.0),
    }
    return DepthImage(**(fields | changes))


def wall(depth_m=1.0):
    return np.full((49, 65), depth_m)


def test_principal_pixel_at_one_metre_is_one_metre_ahead():
    depth = np.zeros((49, 65))
    depth[24, 32] = 1.0
    points = image(depth, camera_in_frame=np.eye(3, 4)).points()
    assert points.xyz.tolist() == [[0.0, 0.0, 1.0]]
    assert points.dropped_count == 49 * 65 - 1


def test_pixel_right_of_and_below_the_centre_is_right_and_below():
    depth = np.zeros((49, 65))
    depth[34, 52] = 2.0
    assert image(depth, camera_in_frame=np.eye(3, 4)).points().xyz.tolist() == [[1.0, 0.5, 2.0]]
    assert image(depth).points().xyz.tolist() == [[2.0, -1.0, -0.5]]


def test_pose_given_as_schema_places_the_points_the_same_way():
    pose = Pose6D(xyz=(0, 0, 0), quat_xyzw=(-0.5, 0.5, -0.5, 0.5))
    assert image(wall(), camera_in_frame=pose).points().xyz == pytest.approx(image(wall()).points().xyz)


@pytest.mark.parametrize("nothing", [0.0, -1.0, np.nan, np.inf, -np.inf, 0.0999, 4.0001])
def test_pixel_that_measured_nothing_is_no_obstacle_and_is_counted(nothing):
    depth = wall()
    depth[10, 10] = nothing
    assert len(image(depth).points()) == depth.size - 1
    assert image(depth).unmeasured_count == 1


@pytest.mark.parametrize("depth_m", [0.1, 4.0])
def test_pixel_at_the_ends_of_the_range_is_measured(depth_m):
    assert image(wall(depth_m)).unmeasured_count == 0


@pytest.mark.parametrize("nothing", [0.0, np.nan, 9.0])
def test_image_without_any_measurement_is_refused_not_taken_for_an_empty_room(nothing):
    with pytest.raises(ROSConfigError, match="none of 3185 pixels"):
        image(wall(nothing)).points()
    with pytest.raises(ROSConfigError, match="none of 3185 pixels"):
        carve(LAYOUT, image(wall(nothing)))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"depth_m": np.zeros(49 * 65)}, "reshape"),
        ({"depth_m": [[1.0]]}, "array"),
        ({"depth_m": np.zeros((0, 65))}, "pixels"),
        ({"depth_m": np.full((4, 4), 1000, np.uint16)}, "millimetres"),
        ({"intrinsics": (40, 40, 32, 24)}, "PinholeIntrinsics"),
        ({"camera_in_frame": np.eye(3)}, "camera_in_frame"),
        ({"camera_in_frame": Pose6D(xyz=(0, 0, 0), frame_id="odom")}, "`odom`"),
        ({"range_m": (1.0, 1.0)}, "empty"),
        ({"range_m": (0.0, np.inf)}, r"range_m\[1\]"),
        ({"range_m": (-1.0, 2.0)}, r"range_m\[0\]"),
        ({"stamp_s": np.nan}, "stamp_s"),
    ],
)
def test_image_that_cannot_be_placed_is_refused(change, sentence):
    with pytest.raises(ROSConfigError, match=sentence):
        image(**({"depth_m": wall()} | change))


@pytest.mark.parametrize("field", ["fx", "fy", "cx", "cy"])
@pytest.mark.parametrize("poison", [np.nan, np.inf, None])
def test_lens_with_a_number_that_is_none_is_refused_by_name(field, poison):
    numbers = {"fx": 1.0, "fy": 1.0, "cx": 0.0, "cy": 0.0}
    with pytest.raises(ROSConfigError, match=field):
        PinholeIntrinsics(**(numbers | {field: poison}))


@pytest.mark.parametrize("focal", [0.0, -40.0])
def test_lens_without_focal_length_is_refused(focal):
    with pytest.raises(ROSConfigError, match="fx"):
        PinholeIntrinsics(fx=focal, fy=1.0, cx=0.0, cy=0.0)


def voxel_of(layout, xyz):
    x, y, z = np.floor((np.array(xyz) - layout.origin_xyz) / layout.resolution_m).astype(int)
    return z, y, x


def test_space_before_a_wall_is_free_the_wall_occupied_and_behind_it_unknown():
    voxels = carve(LAYOUT, image(wall(1.02))).voxels
    assert voxels.is_free[voxel_of(LAYOUT, (0.6, 0.01, 0.01))]
    assert voxels.is_occupied[voxel_of(LAYOUT, (1.02, 0.01, 0.01))]
    assert voxels.is_unknown[voxel_of(LAYOUT, (1.3, 0.01, 0.01))]
    assert voxels.stamp_s == 5.0
    # Beside the picture: at 0.25 m the camera is 0.2 m wide to either side.
    assert voxels.is_unknown[voxel_of(LAYOUT, (0.25, 0.4, 0.0))]


def test_voxel_that_reaches_the_depth_of_the_wall_is_not_free():
    # Voxels end at 0.95, 1.00, 1.05: one that ends exactly at the wall touches it.
    voxels = carve(LAYOUT, image(wall(1.0))).voxels
    assert voxels.is_free[voxel_of(LAYOUT, (0.93, 0.01, 0.01))]
    assert voxels.is_occupied[voxel_of(LAYOUT, (0.97, 0.01, 0.01))]
    just_behind = carve(LAYOUT, image(wall(1.0 + 1e-3))).voxels
    assert just_behind.is_free[voxel_of(LAYOUT, (0.97, 0.01, 0.01))]


def test_depth_error_keeps_voxels_near_the_wall_from_being_free():
    at = voxel_of(LAYOUT, (0.93, 0.01, 0.01))
    assert carve(LAYOUT, image(wall(1.0))).voxels.is_free[at]
    assert not carve(LAYOUT, image(wall(1.0)), depth_error_m=0.06).voxels.is_free[at]


@pytest.mark.parametrize("nothing", [0.0, np.nan, np.inf, 9.0])
def test_voxel_seen_through_a_pixel_that_measured_nothing_stays_unknown(nothing):
    depth = wall(1.5)
    depth[24, 32] = nothing
    result = carve(LAYOUT, image(depth))
    assert result.voxels.is_unknown[voxel_of(LAYOUT, (0.6, 0.01, 0.01))]
    assert result.voxels.is_free[voxel_of(LAYOUT, (0.6, 0.2, 0.2))]
    assert result.unmeasured_count == 1


def test_post_one_pixel_wide_hides_what_is_behind_it():
    depth = wall(1.6)
    depth[:, 32] = 0.5
    voxels = carve(LAYOUT, image(depth)).voxels
    assert voxels.is_occupied[voxel_of(LAYOUT, (0.5, 0.001, 0.01))]
    assert voxels.is_unknown[voxel_of(LAYOUT, (1.0, 0.01, 0.01))]
    assert voxels.is_free[voxel_of(LAYOUT, (1.0, 0.2, 0.01))]


def test_voxels_around_and_behind_the_camera_stay_unknown():
    layout = GridLayout(origin_xyz=(-0.5, -0.5, -0.5), resolution_m=0.1, size_xyz=(10, 10, 10))
    voxels = carve(layout, image(wall(3.0))).voxels
    assert not voxels.is_free[:, :, :5].any()
    assert voxels.is_free[:, :, 9].any()


def test_points_beyond_the_grid_are_counted():
    assert carve(LAYOUT, image(wall(3.0))).outside_count == 49 * 65


def test_image_of_another_frame_needs_its_transform_and_is_aged_by_it():
    elsewhere = image(wall(1.02), frame_id="odom")
    with pytest.raises(ROSConfigError, match="the image is in frame `odom`"):
        carve(LAYOUT, elsewhere)
    shift = np.eye(3, 4)
    shift[0, 3] = 0.1
    transform = StampedTransform.of(shift, parent_frame="", child_frame="odom", stamp_s=2.0)
    voxels = carve(LAYOUT, elsewhere, transform=transform).voxels
    assert voxels.stamp_s == 2.0
    assert voxels.is_occupied[voxel_of(LAYOUT, (1.12, 0.01, 0.01))]


@pytest.mark.parametrize("margin", [-1, 0.5, True, None])
def test_pixel_margin_that_is_no_count_is_refused(margin):
    with pytest.raises(ROSConfigError, match="pixel_margin"):
        carve(LAYOUT, image(wall()), pixel_margin=margin)


@pytest.mark.parametrize("seed", range(3))
def test_every_free_voxel_of_a_random_image_is_nearer_than_every_pixel_it_covers(seed):
    """Compared with brute force: every sample of every free voxel, projected one by one."""
    rng = np.random.default_rng(seed)
    depth = rng.uniform(0.6, 1.6, size=(49, 65))
    depth[rng.random(depth.shape) < 0.01] = 0.0
    tilt = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])
    pose = np.column_stack([tilt @ LOOKING_ALONG_X[:, :3], (-0.2, 0.1, 0.0)])
    layout = GridLayout(origin_xyz=(-0.7, -0.7, -0.7), resolution_m=0.04, size_xyz=(36, 36, 36))
    voxels = carve(layout, image(depth, camera_in_frame=pose), pixel_margin=0).voxels
    free = np.flatnonzero(voxels.is_free)
    assert len(free) > 100
    offsets = np.stack(np.meshgrid(*[np.linspace(-0.02, 0.02, 5)] * 3), axis=-1).reshape(-1, 3)
    in_camera = ((layout.centres_xyz(free)[:, None] + offsets).reshape(-1, 3) - pose[:, 3]) @ pose[:, :3]
    u = np.floor(in_camera[:, 0] / in_camera[:, 2] * LENS.fx + LENS.cx + 0.5).astype(int)
    v = np.floor(in_camera[:, 1] / in_camera[:, 2] * LENS.fy + LENS.cy + 0.5).astype(int)
    assert ((u >= 0) & (u < 65) & (v >= 0) & (v < 49)).all()
    assert (in_camera[:, 2] < depth[v, u]).all()


SCENE = """
<mujoco><worldbody>
  <geom name="table" type="box" size="0.5 0.6 0.02" pos="0.9 0 -0.3"/>
  <geom name="box" type="box" size="0.08 0.06 0.1" pos="0.8 0.15 -0.18" euler="0 0 30"/>
  <geom name="sphere" type="sphere" size="0.09" pos="0.7 -0.2 -0.19"/>
  <geom name="wall" type="box" size="0.02 2 2" pos="1.9 0 0"/>
</worldbody></mujoco>"""


def rendered(model, data, rows=120, columns=160, focal=100.0):
    """Returns a depth image by MuJoCo's own ray casting: the depth of a pixel is z, so rays are not
    normalised.
    """
    lens = PinholeIntrinsics(fx=focal, fy=focal, cx=(columns - 1) / 2, cy=(rows - 1) / 2)
    v, u = np.mgrid[:rows, :columns].reshape(2, -1)
    in_camera = np.column_stack([(u - lens.cx) / focal, (v - lens.cy) / focal, np.ones(u.size)])
    directions = in_camera @ LOOKING_ALONG_X[:, :3].T
    depth = np.empty(u.size)
    geom = np.zeros(1, dtype=np.int32)
    for index, direction in enumerate(directions):
        depth[index] = mujoco.mj_ray(model, data, np.zeros(3), direction, None, 1, -1, geom, None)
    return DepthImage(
        depth_m=np.where(depth < 0, np.nan, depth).reshape(rows, columns),
        intrinsics=lens,
        camera_in_frame=LOOKING_ALONG_X,
        stamp_s=0.0,
        range_m=(0.05, 4.0),
    )


def test_no_part_of_a_cluttered_table_seen_by_mujoco_lies_in_a_free_voxel():
    model = mujoco.MjModel.from_xml_string(SCENE)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    layout = GridLayout(origin_xyz=(0.3, -0.6, -0.4), resolution_m=0.03, size_xyz=(40, 40, 30))
    voxels = carve(layout, rendered(model, data)).voxels
    rng = np.random.default_rng(0)
    inside = []
    for geom in range(model.ngeom):
        local = rng.uniform(-1, 1, size=(20_000, 3))
        if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_SPHERE:
            local = local[np.linalg.norm(local, axis=1) <= 1] * model.geom_size[geom][0]
        else:
            local = local * model.geom_size[geom]
        inside.append(local @ data.geom_xmat[geom].reshape(3, 3).T + data.geom_xpos[geom])
    xyz = np.concatenate(inside)
    xyz = xyz[((xyz > layout.origin_xyz) & (xyz < layout.maximum_xyz)).all(axis=1)]
    z, y, x = voxel_of_many(layout, xyz)
    assert not voxels.is_free[z, y, x].any()
    # Above the clutter there is room, and the camera saw that.
    assert voxels.is_free[voxel_of(layout, (0.8, 0.0, 0.1))]
    assert voxels.is_free.mean() > 0.1
    # Inside the box, and under the table, no camera has seen anything.
    assert voxels.is_unknown[voxel_of(layout, (0.8, 0.15, -0.18))]
    assert voxels.is_unknown[voxel_of(layout, (0.9, 0.0, -0.36))]


def voxel_of_many(layout, xyz):
    return np.floor((xyz - layout.origin_xyz) / layout.resolution_m).astype(int).T[::-1]
