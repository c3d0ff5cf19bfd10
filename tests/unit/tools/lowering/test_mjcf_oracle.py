# SPDX-License-Identifier: Apache-2.0
"""The checker of MJCF robots: sees contacts, missed, hidden and waived ones, and where links are."""

from pathlib import Path

import numpy as np
import pytest

from lastgate.contracts.robot import AllowedCollisionPair, RobotDescription
from lastgate.tools.lowering.kinematics import KinematicTree
from lastgate.tools.lowering.lower import joints_with_frames, lower_robot, read_description
from lastgate.tools.lowering.measure import measure
from lastgate.tools.lowering.mjcf_oracle import MjcfOracle

# A stand, two bars and a hand that can fold back onto the stand.
FOLDING = """\
<mujoco>
  <asset><mesh name="hand" vertex="0 -0.02 -0.02  0.1 0 -0.02  0 0.02 -0.02  0 0 0.03  0.1 0.01 0.01"/></asset>
  <worldbody>
    <body name="stand">
      <geom type="cylinder" size="0.05 0.2"/>
      <body name="upper" pos="0.06 0 0">
        <joint name="shoulder" axis="0 0 1" range="-2.5 2.5"/>
        <geom type="capsule" size="0.02" fromto="0.03 0 0 0.2 0 0"/>
        <body name="fore" pos="0.25 0 0">
          <joint name="elbow" axis="0 0 1" pos="-0.01 0 0" range="-3 3"/>
          <geom type="box" size="0.08 0.02 0.02" pos="0.1 0 0"/>
          <body name="hand" pos="0.2 0 0">
            <joint name="wrist" axis="1 0 0" range="-1 1"/>
            <geom type="mesh" mesh="hand"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("folding")
    (folder / "folding.xml").write_text(FOLDING)
    return folder


@pytest.fixture(scope="module")
def lowered(folder: Path) -> RobotDescription:
    chain = (
        ("shoulder", "stand", "upper", 2.5),
        ("elbow", "upper", "fore", 3.0),
        ("wrist", "fore", "hand", 1.0),
    )
    robot = RobotDescription(
        name="folding",
        base_frame="stand",
        assets={"mjcf": "file:folding.xml"},
        joints=[
            {
                "name": name,
                "joint_type": "revolute",
                "parent_link": parent,
                "child_link": child,
                "position_limits": (-limit, limit),
                "velocity_limit": 1.0,
            }
            for name, parent, child, limit in chain
        ],
    )
    outcome = lower_robot(robot, folder)
    return robot.model_copy(
        update={
            "joints": joints_with_frames(robot, outcome.frames),
            "collision_geometry": tuple(outcome.geometry),
            "allowed_collision_pairs": tuple(outcome.pairs),
        }
    )


def test_lowered_robot_misses_nothing_and_both_kinds_of_state_occur(
    lowered: RobotDescription, folder: Path
) -> None:
    rates = measure(lowered, folder, samples=500)
    assert (rates.missed, sum(rates.hidden.values()), rates.engines) == (0, 0, "MuJoCo and Coal")
    assert 0 < rates.clear < 500


def test_thin_volumes_are_seen_as_missed_collisions(lowered: RobotDescription, folder: Path) -> None:
    thin = tuple(
        volume.model_copy(update={"shape": volume.shape.model_copy(update={"radius_m": 0.001})})
        for volume in lowered.collision_geometry
    )
    assert measure(lowered.model_copy(update={"collision_geometry": thin}), folder, samples=500).missed > 0


@pytest.mark.parametrize("reason", ["proved-never", "junction", "waived"])
def test_contact_on_an_exempt_pair_is_hidden_or_waived(
    lowered: RobotDescription, folder: Path, reason: str
) -> None:
    entry = AllowedCollisionPair.model_validate(
        {"link_a": "fore", "link_b": "stand", "reason": reason, "detail": "planted"}
    )
    pairs = [pair for pair in lowered.allowed_collision_pairs if pair.links != entry.links]
    rates = measure(
        lowered.model_copy(update={"allowed_collision_pairs": (*pairs, entry)}), folder, samples=500
    )
    seen, other = (rates.waived, rates.hidden) if reason == "waived" else (rates.hidden, rates.waived)
    assert seen["fore", "stand"] > 0
    assert not other


def test_links_are_where_mujoco_has_them(lowered: RobotDescription, folder: Path) -> None:
    oracle = MjcfOracle(lowered, folder, set())
    tree = KinematicTree.of(lowered.base_frame, lowered.joints)
    for row in tree.samples(10, 1):
        oracle.place({joint.name: float(row[index]) for index, joint in enumerate(lowered.joints)})
        for link, pose in tree.placements(row[None]).items():
            np.testing.assert_allclose(pose[0], oracle.pose(link), atol=1e-12)


def test_contacts_are_those_of_the_shapes_and_not_of_their_spheres(
    lowered: RobotDescription, folder: Path
) -> None:
    oracle = MjcfOracle(lowered, folder, {("fore", "upper"), ("fore", "hand"), ("stand", "upper")})
    oracle.place({"shoulder": 0.0, "elbow": 0.0, "wrist": 0.0})
    assert oracle.contacts() == set()
    oracle.place({"shoulder": 0.0, "elbow": 3.0, "wrist": 0.0})
    assert ("hand", "upper") in oracle.contacts()


def test_shapes_read_are_those_evaluated(lowered: RobotDescription, folder: Path) -> None:
    read = read_description(lowered, folder).shapes
    assert len(MjcfOracle(lowered, folder, set()).geoms) == sum(len(own.sources) for own in read.values())
