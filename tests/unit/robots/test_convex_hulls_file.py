# SPDX-License-Identifier: Apache-2.0
"""The file of convex hulls: read strictly, and only if it is the one the manifest names."""

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lastgate as lg
from lastgate.contracts.convex_hulls import ConvexHullsFile, LinkHull
from lastgate.contracts.shapes import LinkCollisionGeometry
from lastgate.robots import find_manifest
from lastgate.robots.convex_hulls_file import (
    digest_of,
    load_convex_hulls,
    read_convex_hulls,
    written_hulls,
)
from lastgate.robots.kernel_config import flat_config

HULLS = (
    LinkHull("arm", 0.00012, ((0.0, 0.0, 0.0), (0.1, -0.2, 0.30001))),
    LinkHull("hand", 0.0, ((1.0, 2.0, 3.0),)),
)
TEXT = written_hulls(HULLS, comments=["made for a test"])


def test_hulls_read_back_as_they_were_written() -> None:
    assert read_convex_hulls(TEXT, source="x") == HULLS
    assert written_hulls(read_convex_hulls(TEXT, source="x"), comments=["made for a test"]) == TEXT


def test_no_hulls_read_back_as_none() -> None:
    assert read_convex_hulls(written_hulls((), comments=[]), source="x") == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("lastgate-convex-pieces 1", "lastgate-convex-pieces 2"),
        ("piece arm 12 2", "piece arm 12"),
        ("piece arm 12 2", "piece arm 12 3"),
        ("piece arm 12 2", "piece arm 12 1"),
        ("piece arm 12 2", "piece arm -1 2"),
        ("piece arm 12 2", "piece arm 12 0"),
        ("piece arm 12 2", "piece  12 2"),
        ("piece arm 12 2", "peace arm 12 2"),
        ("0 0 0", "0 0"),
        ("0 0 0", "0 0 0 0"),
        ("0 0 0", "0 0 nan"),
        ("0 0 0", "0 0 1e3"),
        ("0 0 0", "0 0 +1"),
        ("0 0 0", "0 0 0.5"),
        ("0 0 0", "0  0 0"),
        ("0 0 0", "0 0 10000001"),
        ("0 0 0", "0 0 ١"),
        ("end\n", ""),
        ("end\n", "end"),
        ("end\n", "end\nend\n"),
        ("end\n", "end\n\n"),
    ],
)
def test_anything_else_is_refused_with_its_line(old: str, new: str) -> None:
    assert TEXT.count(old) == 1
    with pytest.raises(lg.ROSConfigError, match=r"^x:\d+: "):
        read_convex_hulls(TEXT.replace(old, new), source="x")


def test_a_number_between_the_units_cannot_be_written() -> None:
    with pytest.raises(lg.ROSConfigError, match="no whole number"):
        written_hulls((LinkHull("arm", 0.000123456, ((0.0, 0.0, 0.0),)),), comments=[])


def test_file_with_another_digest_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text(TEXT, encoding="utf-8")
    named = ConvexHullsFile(file="p.txt", sha256=digest_of(TEXT))
    assert load_convex_hulls(named, tmp_path) == HULLS
    (tmp_path / "p.txt").write_text(TEXT.replace("0 0 0", "0 0 1"), encoding="utf-8")
    with pytest.raises(lg.ROSConfigError, match="not the convex hulls that the manifest names"):
        load_convex_hulls(named, tmp_path)


def copied_panda(folder: Path) -> Path:
    for file in find_manifest("franka_panda").parent.iterdir():
        shutil.copy(file, folder / file.name)
    return folder / "robot.yaml"


def test_missing_file_is_refused_and_a_manifest_without_hulls_is_not(tmp_path: Path) -> None:
    manifest = copied_panda(tmp_path)
    assert lg.load_robot(manifest).loaded_hulls
    (tmp_path / "convex_pieces.txt").unlink()
    with pytest.raises(lg.ROSConfigError, match="cannot be read"):
        lg.load_robot(manifest)
    text = manifest.read_text(encoding="utf-8")
    block = text[text.index("convex_pieces:") :]
    block = "\n".join(block.splitlines()[:4])
    manifest.write_text(text.replace(block, ""), encoding="utf-8")
    robot = lg.load_robot(manifest)
    assert robot.loaded_hulls == ()
    assert "piece_link" not in flat_config(robot, step_s=0.02)


def test_altered_file_is_refused_by_the_loader(tmp_path: Path) -> None:
    manifest = copied_panda(tmp_path)
    hulls = tmp_path / "convex_pieces.txt"
    hulls.write_text(hulls.read_text(encoding="utf-8").replace("\n-", "\n-1", 1), encoding="utf-8")
    with pytest.raises(lg.ROSConfigError, match="SHA-256"):
        lg.load_robot(manifest)


def with_camera(robot: lg.RobotDescription) -> dict[str, object]:
    camera = LinkCollisionGeometry(
        link_name="panda_hand",
        shape=lg.SphereShape(radius_m=0.05),
        origin_xyz_rpy=(0.06, 0.0, 0.03, 0.0, 0.0, 0.0),
    )
    return {"collision_geometry": (*robot.collision_geometry, camera)}


def test_volume_that_was_added_is_not_overruled_by_hulls_that_know_nothing_of_it() -> None:
    robot = lg.load_robot("franka_panda")
    added = robot.model_copy(update=with_camera(robot))
    with pytest.raises(lg.ROSConfigError, match="volumes of `panda_hand` are not those"):
        lg.Gate(added, step_s=0.02)
    bare = {
        "convex_pieces": None,
        "lowering": robot.lowering.model_copy(update={"check_contradicted": False}),
    }
    gate = lg.Gate(added.model_copy(update=bare), step_s=0.02)
    ready = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.785])
    state = lg.RobotState(positions=ready, gripper_positions=[0.01], stamp_s=0.0)
    hand = gate.link_poses(ready)["panda_hand"]
    on_the_camera = tuple(hand[:, :3] @ np.array([0.09, 0.0, 0.03]) + hand[:, 3])
    crumb = lg.WorldCollisionPrimitive(
        shape=lg.SphereShape(radius_m=0.005), pose=lg.Pose6D(xyz=on_the_camera)
    )
    world = lg.World(primitives=[crumb], stamp_s=0.0)
    chunk = lg.ActionChunk(ready[None])
    assert not gate.check(chunk, state=state, world=world, now_s=0.0).accepted
    # Without the camera there is nothing at that place.
    assert lg.Gate(robot, step_s=0.02).check(chunk, state=state, world=world, now_s=0.0).accepted


def test_volume_changed_in_the_manifest_is_refused_with_its_hulls(tmp_path: Path) -> None:
    manifest = copied_panda(tmp_path)
    text = manifest.read_text(encoding="utf-8")
    at = text.index("collision_geometry:")
    changed = text[:at] + re.sub(r"radius_m: ([0-9.]+)", r"radius_m: 1\1", text[at:], count=1)
    assert changed != text
    manifest.write_text(changed, encoding="utf-8")
    with pytest.raises(lg.ROSConfigError, match="not what was lowered with the convex hulls"):
        lg.load_robot(manifest)
    unsigned = re.sub(r"  volumes_sha256: .*\n", "", text)
    assert unsigned != text
    manifest.write_text(unsigned, encoding="utf-8")
    with pytest.raises(lg.ROSConfigError, match="not what was lowered with the convex hulls"):
        lg.load_robot(manifest)


@pytest.mark.parametrize("name", ["../convex_pieces.txt", "/etc/passwd", "a b", ""])
def test_hulls_stand_beside_the_manifest_and_nowhere_else(name: str) -> None:
    with pytest.raises(ValueError, match="file"):
        ConvexHullsFile(file=name, sha256="0" * 64)


def test_hulls_of_a_link_the_robot_does_not_have_are_refused() -> None:
    robot = lg.load_robot("franka_panda")
    with pytest.raises(lg.ROSConfigError, match="`tail`, which it does not have"):
        robot.with_loaded_hulls((LinkHull("tail", 0.0, ((0.0, 0.0, 0.0),)),))


def test_description_made_of_the_keys_of_a_library_manifest_arms_with_the_hulls_of_the_library() -> None:
    robot = lg.load_robot("franka_panda")
    bare = lg.RobotDescription(**robot.model_dump())
    assert not bare.has_loaded_hulls
    assert lg.load_robot(bare).loaded_hulls == robot.loaded_hulls
    assert lg.Gate(bare, step_s=0.02).model_digest == lg.Gate(robot, step_s=0.02).model_digest


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"name": "my_panda"}, "not loaded"),
        ({"name": "../robots/franka_panda"}, "not loaded"),
        ({"convex_pieces": {"file": "convex_pieces.txt", "sha256": "0" * 64}}, "not loaded"),
        ({"convex_pieces": {"file": "robot.yaml", "sha256": "0" * 64}}, "not loaded"),
        ({"convex_pieces": {"file": "none.txt", "sha256": "0" * 64}}, "not loaded"),
        ({"collision_geometry": ()}, "not what was lowered with the convex hulls"),
    ],
)
def test_description_whose_hulls_are_not_those_of_the_library_does_not_arm(changes: Any, why: str) -> None:
    bare = lg.RobotDescription(**lg.load_robot("franka_panda").model_dump() | changes)
    with pytest.raises(lg.ROSConfigError, match=why):
        lg.Gate(bare, step_s=0.02)


def test_description_with_a_volume_that_the_hulls_know_nothing_of_does_not_arm() -> None:
    keys = lg.load_robot("franka_panda").model_dump()
    added = {"link_name": "panda_hand", "shape": {"shape": "sphere", "radius_m": 0.2}}
    keys["collision_geometry"] = [*keys["collision_geometry"], added]
    with pytest.raises(lg.ROSConfigError, match="not what was lowered with the convex hulls"):
        lg.Gate(lg.RobotDescription(**keys), step_s=0.02)
    del keys["convex_pieces"]
    assert lg.Gate(lg.RobotDescription(**keys), step_s=0.02).n_dof == 7


def test_hulls_reach_the_core_number_by_number() -> None:
    from lastgate import _core

    robot = lg.load_robot("franka_panda")
    config = _core.read_config(flat_config(robot, step_s=0.02))
    links = list(config.link_names)
    hulls = sorted(robot.loaded_hulls, key=lambda hull: links.index(hull.link_name))
    assert [links[int(index)] for index in config.piece_link] == [hull.link_name for hull in hulls]
    assert config.piece_radius_m == [hull.radius_m for hull in hulls]
    assert config.piece_corner_count == [len(hull.vertices_m) for hull in hulls]
    assert config.piece_corners_m == [n for hull in hulls for vertex in hull.vertices_m for n in vertex]
