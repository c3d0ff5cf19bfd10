# SPDX-License-Identifier: Apache-2.0
"""Splicing changes the generated blocks and not one byte elsewhere."""

import pytest

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.contracts.robot import AllowedCollisionPair
from lastgate.contracts.shapes import CapsuleShape, LinkCollisionGeometry, SphereShape
from lastgate.tools.lowering.joint_frames import JointFrame
from lastgate.tools.lowering.manifest_splice import read_manifest, splice

TEXT = """\
# a comment at the top
schema_version: 1
name:   'spaced'   # odd spacing and quotes survive
base_frame: base
joints:
  - name: turn  # the only joint
    joint_type: revolute
    parent_link: base
    child_link: arm   # after this line the frame goes
    position_limits: [-1.0, 1.0]
    velocity_limit: 1.0
    deceleration_limit: 2.5   # from the data sheet
    deceleration_limit_source: vendor

stop: {kind: path, reaction_s: 0.02}   # as the driver does

collision_geometry:
  # GENERATED (source: sampling)
  - {link_name: base, shape: {shape: sphere, radius_m: 0.5}}
# this comment belongs to what follows
safety:
  max_ee_speed_m_s: 1.0   # slow
"""
GEOMETRY = [
    LinkCollisionGeometry(link_name="base", shape=SphereShape(radius_m=0.1)),
    LinkCollisionGeometry(
        link_name="arm",
        shape=CapsuleShape(radius_m=0.00005, length_m=0.2),
        origin_xyz_rpy=(0.1, 0, 0, 0, 1.5708, 0),
    ),
]
PAIRS = [AllowedCollisionPair(link_a="arm", link_b="base", reason="adjacent", detail='says "so"')]
FRAMES = {"turn": JointFrame((0.0, 0.0, 0.1), (0.0, 0.0, 0.0), (0.0, 0.0, 1.0))}


def spliced(text: str = TEXT) -> str:
    return splice(text, source="robot.yaml", acm_source="srdf", frames=FRAMES, geometry=GEOMETRY, pairs=PAIRS)


def test_l18_blocks_hold_the_values_and_everything_else_is_untouched() -> None:
    after = spliced()
    robot = read_manifest(after, source="robot.yaml")
    assert robot.collision_geometry == tuple(GEOMETRY)
    assert robot.allowed_collision_pairs == tuple(PAIRS)
    assert robot.joints[0].origin_xyz == (0.0, 0.0, 0.1)
    assert robot.stop is not None
    assert robot.joints[0].deceleration_limit == 2.5
    added = set(after.splitlines()) - set(TEXT.splitlines())
    removed = set(TEXT.splitlines()) - set(after.splitlines())
    assert removed == {
        "  # GENERATED (source: sampling)",
        "  - {link_name: base, shape: {shape: sphere, radius_m: 0.5}}",
    }
    assert all("GENERATED (source: srdf)" in line or "{" in line or ":" in line for line in added)
    for comment in (
        "# a comment at the top",
        "# odd spacing",
        "# after this line",
        "# this comment belongs",
        "# slow",
    ):
        assert after.count(comment) == 1


def test_l18_splicing_twice_changes_nothing_more() -> None:
    assert spliced(spliced()) == spliced()


def test_l18_absent_blocks_are_appended() -> None:
    bare = TEXT[: TEXT.index("collision_geometry")] + TEXT[TEXT.index("# this comment belongs") :]
    after = spliced(bare)
    assert after.startswith(bare[: bare.index("    position_limits")][:40])
    assert read_manifest(after, source="robot.yaml").collision_geometry == tuple(GEOMETRY)


def test_windows_line_ends_survive() -> None:
    after = spliced(TEXT.replace("\n", "\r\n"))
    assert after.count("\n") == after.count("\r\n")
    assert after.replace("\r\n", "\n") == spliced()


def test_l18_only_the_named_blocks_change() -> None:
    after = splice(TEXT, source="robot.yaml", acm_source="srdf", pairs=PAIRS)
    assert "radius_m: 0.5" in after
    assert "origin_xyz" not in after


def test_flow_style_joint_is_extended_in_place() -> None:
    flow = TEXT.replace(
        TEXT[TEXT.index("  - name: turn") : TEXT.index("collision_geometry")],
        "  - {name: turn, joint_type: revolute, parent_link: base, child_link: arm, "
        "position_limits: [-1.0, 1.0], "
        "velocity_limit: 1.0}\n",
    )
    assert read_manifest(spliced(flow), source="robot.yaml").joints[0].origin_xyz == (0.0, 0.0, 0.1)


def test_text_that_is_no_manifest_is_refused() -> None:
    with pytest.raises(ROSConfigError, match="mapping"):
        spliced("- a\n- b\n")
    with pytest.raises(ROSConfigError, match=r"robot\.yaml"):
        spliced("a: [unclosed\n")


def test_block_that_names_a_link_the_robot_lacks_is_refused() -> None:
    foreign = [GEOMETRY[0].model_copy(update={"link_name": "leg"})]
    with pytest.raises(ROSConfigError, match="leg"):
        splice(TEXT, source="robot.yaml", acm_source="srdf", geometry=foreign)
