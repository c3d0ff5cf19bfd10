# SPDX-License-Identifier: Apache-2.0
"""Whether a robot can move at all is asked of its gate, not of its volumes alone."""

from pathlib import Path

import pytest

from lastgate.contracts.robot import RobotDescription
from lastgate.robots.convex_hulls_file import read_convex_hulls
from lastgate.tools.cli.app import run
from lastgate.tools.lowering.convex_file import lower_convex_hulls
from lastgate.tools.lowering.lower import joints_with_frames, lower_robot
from lastgate.tools.lowering.manifest_splice import read_manifest
from lastgate.tools.lowering.rejections import find_rejections
from lastgate.tools.lowering.scaffold import manifest_from_urdf
from lastgate.tools.lowering.urdf_reader import read_urdf

# A plate above the whole arm, with a peg that comes down on the base at some angles. One capsule around a plate is as
# thick as the plate is wide and reaches the base at every angle; its convex hulls do so only where the peg does.
PLATE = '<collision><geometry><box size="3 3 0.02"/></geometry></collision>'
PEG = '<collision><origin xyz="-0.55 0 -0.07"/><geometry><box size="0.04 0.04 0.14"/></geometry></collision>'
# A block that the base never leaves.
BLOCK = '<collision><geometry><box size="3 3 0.5"/></geometry></collision>'


def write_urdf(urdf: Path, folder: Path, shapes: str) -> None:
    """Writes the planar arm with further shapes on its tip."""
    text = urdf.read_text().replace('<link name="tip">', f'<link name="tip">{shapes}')
    text = text.replace('<origin xyz="0.3 0 0"/><parent', '<origin xyz="0.3 0 0.06"/><parent')
    (folder / "arm.urdf").write_text(text)


def lowered(urdf: Path, folder: Path, shapes: str) -> tuple[RobotDescription, list[str]]:
    """Returns the planar arm with further shapes on its tip, one volume per link, and the notes of lowering."""
    write_urdf(urdf, folder, shapes)
    manifest = manifest_from_urdf("arm", read_urdf(folder / "arm.urdf"), urdf_ref="file:arm.urdf")
    robot = read_manifest(manifest + "lowering: {volumes_per_link_max: 1}\n", source="arm")
    made = lower_robot(robot, folder)
    named, hulls = lower_convex_hulls(robot, made.shapes)
    whole = robot.model_copy(
        update={
            "joints": joints_with_frames(robot, made.frames),
            "collision_geometry": tuple(made.geometry),
            "allowed_collision_pairs": tuple(made.pairs),
            "convex_pieces": named,
        }
    )
    return whole.with_loaded_hulls(read_convex_hulls(hulls, source="hulls")), made.notes


def test_pair_whose_volumes_always_touch_is_not_blamed_where_convex_hulls_clear_it(
    planar_urdf: Path, tmp_path: Path
) -> None:
    robot, notes = lowered(planar_urdf, tmp_path, PLATE + PEG)
    assert any(
        "`base` / `tip`: volumes touch in every state and the meshes meet in some" in note for note in notes
    )
    assert not any("refuses everything" in note for note in notes)
    rejections = find_rejections(robot, samples=200)
    assert not rejections.rejects_everything
    assert 0 < rejections.accepted < 200


def test_pair_that_rejects_every_configuration_is_named(planar_urdf: Path, tmp_path: Path) -> None:
    robot, _ = lowered(planar_urdf, tmp_path, BLOCK)
    rejections = find_rejections(robot, samples=200)
    assert rejections.rejects_everything
    assert (("base", "tip"), 200) in rejections.pairs


@pytest.mark.parametrize(("shapes", "code"), [(BLOCK, 1), ("", 0)])
def test_robot_add_exits_with_1_where_every_configuration_is_rejected(
    planar_urdf: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], shapes: str, code: int
) -> None:
    write_urdf(planar_urdf, tmp_path, shapes)
    arguments = ["robot", "add", "arm", "--urdf", "file:arm.urdf", "-o", str(tmp_path), "--samples", "100"]
    assert run(arguments) == code
    blames = "by `base` / `tip`: no chunk passes" in capsys.readouterr().err
    assert blames is (code == 1)
