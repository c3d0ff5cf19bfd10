# SPDX-License-Identifier: Apache-2.0
"""What is particular about robots whose URDF comes from an asset wheel; tests/library/test_library.py has the rest."""

from pathlib import Path

import numpy as np
import pytest

import lastgate as lg
from lastgate.contracts.shapes import CapsuleShape
from lastgate.robots import find_manifest
from lastgate.tools.assets import resolve_asset
from lastgate.tools.lowering.distances import points_to_segment
from lastgate.tools.lowering.kinematics import KinematicTree
from lastgate.tools.lowering.lower import read_description
from lastgate.tools.lowering.rigid import transform

pytestmark = pytest.mark.library


def test_crank_of_the_widowx_stays_within_the_margin_of_the_volumes_beside_it_at_any_angle() -> None:
    """The manifest keeps the crank at rest; wherever it turns, the margins keep everything else off it."""
    robot = lg.load_robot("widowx")
    description = read_description(robot, find_manifest("widowx").parent)
    crank = description.shapes["wx250s/gripper_prop_link"]
    vertices = crank.triangles.reshape(-1, 3)
    # The whole disc it can sweep, in steps of half a millimetre and half a degree.
    reach_m = float(np.hypot(vertices[:, 1], vertices[:, 2]).max())
    along, radius, angle = np.meshgrid(
        np.linspace(vertices[:, 0].min(), vertices[:, 0].max(), 11),
        np.linspace(0.0, reach_m, 1 + int(np.ceil(reach_m / 0.0005))),
        np.linspace(0.0, 2.0 * np.pi, 721),
    )
    disc = np.stack([along, radius * np.cos(angle), radius * np.sin(angle)], axis=-1).reshape(-1, 3)
    tree = KinematicTree.of(robot.base_frame, robot.joints)
    poses = {link: pose[0] for link, pose in tree.placements(tree.samples(1, 0)).items()}
    joint = poses["wx250s/gripper_prop_link"]
    disc = disc @ joint[:3, :3].T + joint[:3, 3]
    gap_m = np.full(len(disc), np.inf)
    for volume in robot.collision_geometry:
        if volume.link_name not in (
            "wx250s/gripper_link",
            "wx250s/gripper_bar_link",
            "wx250s/gripper_prop_link",
        ):
            continue
        at = poses[volume.link_name] @ transform(volume.origin_xyz_rpy[:3], volume.origin_xyz_rpy[3:])
        half = 0.5 * volume.shape.length_m if isinstance(volume.shape, CapsuleShape) else 0.0
        ends = at[:3, 3] - half * at[:3, 2], at[:3, 3] + half * at[:3, 2]
        gap_m = np.minimum(gap_m, points_to_segment(disc, *ends) - volume.shape.radius_m)
    # A distance changes no faster than its point moves, and no point is half a millimetre from the grid.
    worst_m = float(gap_m.max()) + 0.0005
    assert worst_m <= robot.safety.world_collision_margin_m, worst_m
    assert worst_m <= robot.safety.self_collision_margin_m, worst_m


def test_prefix_that_ur5e_never_binds_is_not_read_as_urdf() -> None:
    robot = lg.load_robot("ur5e")
    assert robot.assets.urdf is not None
    text = Path(resolve_asset(robot.assets.urdf.ref, "urdf", find_manifest("ur5e").parent)).read_text()
    assert "drake:acceleration" in text
    assert "xmlns:drake" not in text
    assert all(joint.acceleration_limit is None for joint in robot.joints)
