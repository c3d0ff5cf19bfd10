# SPDX-License-Identifier: Apache-2.0
"""The picture of a report: meshes whole and grey, volumes around them in colour, the same bytes every time."""

from pathlib import Path

import numpy as np
import pytest
import trimesh
from matplotlib.image import imread

from lastgate.contracts.robot import RobotDescription
from lastgate.tools.lowering.picture import drawn_triangles, save_picture
from lastgate.tools.lowering.rigid import transform
from lastgate.tools.lowering.shapes import LinkShapes, SourceShape

HERE = transform((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


@pytest.fixture(scope="module")
def robot() -> RobotDescription:
    sphere = {"shape": "sphere", "radius_m": 0.2}
    return RobotDescription(
        name="two spheres",
        base_frame="stand",
        joints=[
            {
                "name": "turn",
                "joint_type": "revolute",
                "parent_link": "stand",
                "child_link": "arm",
                "origin_xyz": (1.0, 0.0, 0.0),
                "position_limits": (-1.0, 1.0),
                "velocity_limit": 1.0,
            }
        ],
        collision_geometry=[
            {"link_name": link, "shape": sphere, "origin_xyz_rpy": (0.0,) * 6} for link in ("stand", "arm")
        ],
    )


def shares(path: Path) -> tuple[float, float]:
    """Returns the shares of pixels that are as dark as a mesh seen through a volume, and that have a colour."""
    pixels = imread(path)[:, :, :3]
    return float((pixels.mean(axis=2) < 0.72).mean()), float((np.ptp(pixels, axis=2) > 0.05).mean())


def shapes_of(*, boxes: bool) -> dict[str, LinkShapes]:
    source = SourceShape("box", HERE, (0.2, 0.2, 0.2)) if boxes else SourceShape("sphere", HERE, (0.2,))
    return {link: LinkShapes.of(link, [source]) for link in ("stand", "arm")}


def test_meshes_are_seen_through_coloured_volumes(robot: RobotDescription, tmp_path: Path) -> None:
    save_picture(robot, shapes_of(boxes=True), tmp_path / "boxes.png")
    # A sphere is a volume as it is, so no mesh is drawn: what is dark are letters and lines.
    save_picture(robot, shapes_of(boxes=False), tmp_path / "spheres.png")
    dark, coloured = shares(tmp_path / "boxes.png")
    dark_without, coloured_without = shares(tmp_path / "spheres.png")
    assert dark > dark_without + 0.002, (dark, dark_without)
    assert min(coloured, coloured_without) > 0.01


def test_same_robot_gives_the_same_bytes(robot: RobotDescription, tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        save_picture(robot, shapes_of(boxes=True), tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_drawn_surface_is_whole_with_fewer_triangles() -> None:
    sphere = trimesh.creation.icosphere(subdivisions=6, radius=0.1)
    drawn = drawn_triangles(np.asarray(sphere.triangles))
    assert 500 < len(drawn) < len(sphere.triangles) / 3
    # No hole: what is drawn has the area of a sphere, vertices on a grid of a fortieth of its size.
    sides = drawn[:, 1:] - drawn[:, :1]
    area_m2 = 0.5 * float(np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1).sum())
    assert area_m2 > 4.0 * np.pi * 0.1**2
    assert np.abs(np.linalg.norm(drawn, axis=2) - 0.1).max() < 0.2 / 40


def test_link_of_round_shapes_alone_has_nothing_to_draw() -> None:
    assert drawn_triangles(np.empty((0, 3, 3))).shape == (0, 3, 3)
