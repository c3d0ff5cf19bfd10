# SPDX-License-Identifier: Apache-2.0
"""An arm whose base stands elsewhere than the root of its URDF, lowered as `robot add` does it."""

from functools import cache
from pathlib import Path

import lastgate as lg
from lastgate.contracts.robot import RobotDescription
from lastgate.tools.lowering.lower import joints_with_frames, lower_robot
from lastgate.tools.lowering.manifest_splice import read_manifest
from lastgate.tools.lowering.scaffold import manifest_from_urdf
from lastgate.tools.lowering.urdf_reader import read_urdf

URDF = Path(__file__).parent / "robots" / "mounted_arm.urdf"
BASE, ROOT = "base_link", "cell"


def first_manifest(urdf: Path = URDF) -> str:
    """Returns what `robot add` writes before lowering."""
    return manifest_from_urdf("mounted_arm", read_urdf(urdf), urdf_ref=f"file:{urdf.name}")


@cache
def mounted_arm() -> RobotDescription:
    """Returns the robot with volumes, pairs and frames."""
    robot = read_manifest(first_manifest(), source="mounted_arm")
    lowered = lower_robot(robot, URDF.parent)
    return robot.model_copy(
        update={
            "joints": joints_with_frames(robot, lowered.frames),
            "collision_geometry": tuple(lowered.geometry),
            "allowed_collision_pairs": tuple(lowered.pairs),
        }
    )


def mounted_gate() -> lg.Gate:
    """Returns a gate of it with 0.1 s from step to step."""
    return lg.Gate(mounted_arm(), step_s=0.1)
