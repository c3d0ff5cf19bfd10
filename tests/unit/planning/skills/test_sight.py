# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

import lastgate as lg
from lastgate.planning.skills.sight import BEAM_M, Sight
from unit.planning.skills.conftest import TABLE, box, world_of

TARGET, ABOVE = np.array([0.5, 0.0, 0.0]), np.array([0.5, 0.0, 0.5])
HIGH_ABOVE = np.array([0.5, 0.0, 1.0])


def test_target_on_a_table_is_seen_from_above_and_not_from_below():
    sight = Sight(world_of(TABLE))
    assert sight.hidden_by(TARGET, ABOVE) is None
    assert sight.hidden_by(TARGET, np.array([0.5, 0.0, -0.5])) == "table"


def test_thing_before_the_target_hides_it_and_beside_the_line_does_not():
    aside = lambda x: world_of(TABLE, box("book", (x, 0.0, 0.25), (0.1, 0.1, 0.02)))  # noqa: E731
    assert Sight(aside(0.5)).hidden_by(TARGET, ABOVE) == "book"
    assert Sight(aside(0.55 + 0.9 * BEAM_M)).hidden_by(TARGET, ABOVE) == "book"
    assert Sight(aside(0.55 + 4.0 * BEAM_M)).hidden_by(TARGET, ABOVE) is None


def test_wall_thinner_than_the_samples_are_apart_is_not_seen_through():
    for height in np.linspace(0.1, 0.4, 37):
        sheet = box("sheet", (0.5, 0.0, float(height)), (0.3, 0.3, 1e-4))
        assert Sight(world_of(sheet)).hidden_by(TARGET, ABOVE) == "sheet"


def test_target_inside_a_thing_is_seen_when_the_thing_is_seen():
    crate = box("crate", (0.5, 0.0, 0.2), (0.3, 0.3, 0.4))
    inside = np.array([0.5, 0.0, 0.2])
    assert Sight(world_of(crate)).hidden_by(inside, HIGH_ABOVE) is None
    lid = box("lid", (0.5, 0.0, 0.5), (0.4, 0.4, 0.02))
    assert Sight(world_of(crate, lid)).hidden_by(inside, HIGH_ABOVE) == "lid"


def test_zone_that_nothing_may_enter_can_be_seen_through():
    zone = lg.Zone(
        name="keep-out", shape=lg.BoxShape(size_xyz_m=(1, 1, 0.1)), pose=lg.Pose6D(xyz=(0.5, 0, 0.25))
    )
    world = lg.World(primitives=[TABLE], zones=[zone], stamp_s=0.0)
    assert Sight(world).hidden_by(TARGET, ABOVE) is None


def test_unknown_voxels_and_points_hide():
    occupancy = np.zeros((8, 8, 8), dtype=np.uint8)
    occupancy[4, 4, 4] = 255
    voxels = lg.Voxels(
        occupancy=occupancy, origin_xyz=(0.1, -0.4, -0.1), resolution_m=0.1, stamp_s=0.0, outside="free"
    )
    assert Sight(lg.World(voxels=voxels, stamp_s=0.0)).hidden_by(
        np.array([0.55, 0.05, 0.0]), np.array([0.55, 0.05, 0.6])
    )
    cloud = np.array([[0.5, 0.0, 0.25]])
    assert Sight(lg.World(points=cloud, stamp_s=0.0)).hidden_by(TARGET, ABOVE) == "point_0"


def test_world_that_no_source_observed_hides_nothing():
    assert Sight(lg.NO_WORLD).hidden_by(TARGET, ABOVE) is None


@pytest.mark.parametrize("away_m", [0.0, 0.03])
def test_target_at_the_lens_is_not_hidden(away_m):
    assert Sight(world_of(TABLE)).hidden_by(TARGET, TARGET + np.array([0, 0, away_m])) is None
