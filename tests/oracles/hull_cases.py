# SPDX-License-Identifier: Apache-2.0
"""The sweep oracle's robots once more, told to the gate as fat volumes around hulls: the hulls are the truth."""

import numpy as np
from numpy.typing import NDArray

import lastgate as lg
from lastgate.contracts.convex_hulls import LinkHull
from oracles.brute_force import BruteForce, volume_of
from oracles.library import with_safety
from oracles.sweep_cases import Setup
from oracles.sweep_checker import BAND_M, COLLISIONS, SAME_M, Checker

Array = NDArray[np.float64]

HULLS_FILE = {"file": "convex_pieces.txt", "sha256": "0" * 64}
# How much the volumes that the gate gets exceed the hulls.
FAT_M = 0.025


def hulls_of_volumes(robot: lg.RobotDescription) -> tuple[LinkHull, ...]:
    """Returns every volume as a hull: five vertices along its axis, of which the inner ones say nothing."""
    hulls = []
    for geometry in robot.collision_geometry:
        volume = volume_of(geometry.link_name, geometry.link_name, geometry.shape, geometry.origin_xyz_rpy)
        vertices = [
            tuple(float(x) for x in volume.end_a + share * (volume.end_b - volume.end_a))
            for share in (0.0, 0.31, 0.5, 0.77, 1.0)
        ]
        hulls.append(LinkHull(geometry.link_name, geometry.shape.radius_m, tuple(vertices)))
    return tuple(hulls)


def fattened(robot: lg.RobotDescription) -> lg.RobotDescription:
    """Returns the robot with thicker volumes, and its own as hulls."""
    thick = tuple(
        geometry.model_copy(
            update={"shape": geometry.shape.model_copy(update={"radius_m": geometry.shape.radius_m + FAT_M})}
        )
        for geometry in robot.collision_geometry
    )
    named = lg.RobotDescription(
        **{
            **robot.model_dump(),
            "convex_pieces": HULLS_FILE,
            "collision_geometry": [g.model_dump() for g in thick],
        }
    )
    return named.with_loaded_hulls(hulls_of_volumes(robot))


class HullSetup(Setup):
    """One robot whose gate knows fat volumes and the hulls inside them; the oracle knows the hulls."""

    def __init__(self, robot: lg.RobotDescription, **more: object) -> None:
        super().__init__(robot, **more)  # type: ignore[arg-type]
        margins = {
            f"{kind}_collision_margin_m": self.margins[f"{kind}_margin_m"] for kind in ("self", "world")
        }
        self.thick = with_safety(fattened(robot), **margins)
        self.gate = lg.Gate(self.thick, step_s=self.gate.step_s)

    def brute_of_volumes(self, primitives: tuple[lg.WorldCollisionPrimitive, ...]) -> BruteForce:
        """Returns the slow program for the fat volumes."""
        from oracles.numpy_kinematics import Kinematics

        return BruteForce(Kinematics(self.thick), primitives, **self.margins)


class HullChecker(Checker):
    """Holds verdicts to the hulls; where hulls overlap, which have no depth, to the distance of their volumes."""

    thick: BruteForce

    def _reported_numbers(
        self, violation: lg.Violation, brute: BruteForce, ends: tuple[Array, Array], kind: str, case: str
    ) -> None:
        assert COLLISIONS[violation.code] == kind
        found: list[list[float]] = []
        for source in (brute, self.thick):
            found.append([])
            a, b = source.capsule_axes(source.frames_at(*ends, np.array([violation.segment_t])))
            for pair in source.self_pairs if kind == "self" else source.world_pairs:
                i, j = pair
                other = source.volumes[j].name if kind == "self" else source.obstacles[j].name
                if {source.volumes[i].name, other} == {violation.subject, violation.against}:
                    found[-1].append(float(source.distance(kind, pair, a, b)[0]))
        hulls, volumes = found
        assert hulls, f"{case}: {violation.subject} / {violation.against} is no checked pair"
        # The search for a hull's distance ends once it cannot clear the pair: never above the truth, never below
        # what the volumes say.
        assert min(volumes) - SAME_M < violation.value < max(hulls) + SAME_M, f"{case}: {found}"
        assert violation.value <= violation.limit_min + BAND_M, case
