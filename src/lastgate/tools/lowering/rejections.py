# SPDX-License-Identifier: Apache-2.0
"""Which pairs make a gate reject every configuration, by what the gate uses: volumes, convex hulls and margins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts.robot import AllowedCollisionPair, RobotDescription
from lastgate.gate import Gate
from lastgate.tools.lowering.error_rates import columns_of
from lastgate.tools.lowering.kinematics import KinematicTree
from lastgate.tools.lowering.srdf_reader import ordered
from lastgate.tools.lowering.sweep import SWEEP_SEED, Pair
from lastgate.world import NO_WORLD

Mask = NDArray[np.bool_]

# A robot that accepts one configuration in a hundred is found to accept some in all but one of 23,000 runs.
REJECTION_SAMPLES = 1000


@dataclass(frozen=True)
class Rejections:
    """What a gate says of random configurations inside the limits, nothing else being near.

    Attributes:
        samples: How many there were.
        accepted: How many of them the gate accepts.
        pairs: Per pair how many it rejects by itself, the most first; only looked for where none is accepted.
    """

    samples: int
    accepted: int
    pairs: tuple[tuple[Pair, int], ...] = ()

    @property
    def rejects_everything(self) -> bool:
        """True if no configuration is accepted."""
        return self.accepted == 0


def find_rejections(robot: RobotDescription, *, samples: int = REJECTION_SAMPLES) -> Rejections:
    """Asks the gate of a robot, its convex hulls loaded; where it accepts nothing, asks about every pair alone."""
    configurations = KinematicTree.of(robot.base_frame, robot.joints).samples(samples, SWEEP_SEED)
    gate = Gate(robot, step_s=1.0)
    accepted = int(_accepted(gate, robot, configurations).sum())
    if accepted:
        return Rejections(samples, accepted)
    rejected: dict[Pair, int] = {}
    for pair in gate.checked_pairs:
        alone = _with_one_pair(robot, pair)
        rejected[pair] = samples - int(_accepted(Gate(alone, step_s=1.0), alone, configurations).sum())
    blamed = [(pair, count) for pair, count in rejected.items() if count]
    return Rejections(samples, 0, tuple(sorted(blamed, key=lambda entry: (-entry[1], entry[0]))))


def _accepted(gate: Gate, robot: RobotDescription, configurations: NDArray[np.float64]) -> Mask:
    in_rows, grippers = columns_of(robot, gate)
    rows = np.ascontiguousarray(configurations[:, in_rows])
    if not grippers:
        return gate.check_batch(rows, world=NO_WORLD).accepted
    fingers = np.ascontiguousarray(configurations[:, grippers])
    return np.array(
        [
            bool(gate.check_batch(row[None], world=NO_WORLD, gripper_positions=finger).accepted[0])
            for row, finger in zip(rows, fingers, strict=True)
        ]
    )


def _with_one_pair(robot: RobotDescription, pair: Pair) -> RobotDescription:
    """Returns the robot with every other pair left out, to see what one pair rejects by itself."""
    links = sorted({volume.link_name for volume in robot.collision_geometry})
    others = tuple(
        AllowedCollisionPair(link_a=a, link_b=b, reason="waived", detail="checked without this pair")
        for index, a in enumerate(links)
        for b in links[index + 1 :]
        if ordered(a, b) != ordered(*pair)
    )
    lowering = robot.lowering.model_copy(update={"check_contradicted": False})
    return robot.model_copy(update={"allowed_collision_pairs": others, "lowering": lowering})
