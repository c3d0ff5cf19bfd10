# SPDX-License-Identifier: Apache-2.0
"""Both error rates of a lowered robot against its collision meshes, by independent engines.

What is compared: a manifest's volumes, placed by the kinematics of Pinocchio (URDF) or MuJoCo (MJCF), and the verdicts
of the gate, which asks convex hulls too, against the meshes those load and Coal intersects as they are (no hulls). In
the counts of volumes nothing takes part but the numbers of the manifest and the distance between two segments.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.contracts.robot import RobotDescription
from lastgate.contracts.shapes import CapsuleShape
from lastgate.gate import Gate
from lastgate.tools.assets.resolver import resolve_asset
from lastgate.tools.lowering.corrected_urdf import write_corrected_urdf
from lastgate.tools.lowering.distances import segments_to_segments
from lastgate.tools.lowering.enclosures import Enclosures
from lastgate.tools.lowering.error_rates import columns_of, unhurried
from lastgate.tools.lowering.pinocchio_robot import PinocchioRobot
from lastgate.tools.lowering.rigid import rotation_from_rpy
from lastgate.tools.lowering.srdf_reader import ordered
from lastgate.world import NO_WORLD

Array = NDArray[np.float64]
Pair = tuple[str, str]

MEASURE_SEED = 7
_BLOCK = 500


@dataclass
class ErrorRates:
    """Counts over random configurations inside the limits."""

    engines: str = ""
    samples: int = 0
    clear: int = 0
    missed: int = 0
    rejected_clear: int = 0
    # Of the gate, margins of zero: it checks a few pairs more than volumes alone could, so its clear ones are its own.
    gate_clear: int = 0
    gate_missed: int = 0
    gate_rejected_clear: int = 0
    unarmed: str | None = None  # why there is no gate for this manifest
    hidden: Counter[Pair] = field(default_factory=Counter)
    waived: Counter[Pair] = field(default_factory=Counter)
    # In how many configurations each exempt pair meets; None where neighbours were not checked.
    exempt: Counter[Pair] | None = None
    missed_pairs: Counter[Pair] = field(default_factory=Counter)
    false_rejection_pairs: Counter[Pair] = field(default_factory=Counter)

    @property
    def false_rejection_rate(self) -> float:
        """Share of mesh-clear configurations that the volumes reject."""
        return self.rejected_clear / max(self.clear, 1)

    @property
    def gate_false_rejection_rate(self) -> float:
        """Share of mesh-clear configurations that the gate rejects."""
        return self.gate_rejected_clear / max(self.gate_clear, 1)

    @property
    def missed_rate_bound(self) -> float:
        """Largest miss rate that these samples do not exclude at 95 %, by the rule of three."""
        return 3.0 / max(self.samples, 1) if self.missed == 0 else float("nan")


class Oracle(Protocol):
    """Puts a robot into a configuration and says where its links are and which of them meet."""

    def place(self, row: Mapping[str, float]) -> None:
        """Puts the robot into a configuration, by names of the manifest."""
        ...

    def contacts(self) -> set[Pair]:
        """Returns the pairs of links whose shapes meet where the robot now is."""
        ...

    def enclosed(self, *, besides: Collection[Pair]) -> set[Pair]:
        """Returns the pairs of links of which one lies wholly inside a mesh of the other, besides those named."""
        ...

    def pose(self, link: str) -> Array:
        """Returns a link's pose."""
        ...


class _UrdfOracle:
    def __init__(self, robot: RobotDescription, urdf_path: Path, skipped: set[Pair]) -> None:
        self._robot = PinocchioRobot(robot, urdf_path)
        couples = self._robot.compare_all_but(skipped)
        self._pairs = [pair for _, _, pair in couples]
        self._enclosures = Enclosures(self._robot.triangles(), couples)
        self._geometry_data = self._robot.geometry.createData()
        for request in self._geometry_data.collisionRequests:
            request.num_max_contacts = 1

    def place(self, row: Mapping[str, float]) -> None:
        self._robot.place(row, self._geometry_data)
        self._robot.pin.updateFramePlacements(self._robot.model, self._robot.data)

    def contacts(self) -> set[Pair]:
        if not self._robot.pin.computeCollisions(self._robot.geometry, self._geometry_data, False):
            return set()
        results = self._geometry_data.collisionResults
        return {pair for index, pair in enumerate(self._pairs) if results[index].isCollision()}

    def enclosed(self, *, besides: Collection[Pair]) -> set[Pair]:
        placements = np.array([place.homogeneous for place in self._geometry_data.oMg])
        return self._enclosures.pairs_at(placements, besides=besides)

    def pose(self, link: str) -> Array:
        frame = self._robot.model.getFrameId(link, self._robot.pin.FrameType.BODY)
        return self._robot.data.oMf[frame].homogeneous


def oracle_of(robot: RobotDescription, manifest_dir: Path | None, *, with_neighbours: bool = False) -> Oracle:
    """Returns the engine that reads the robot's own files; it checks exempt neighbours only if it is asked to."""
    # Neighbours touch all the time and prove nothing; what an SRDF disables is counted elsewhere, unless the gate
    # checks it all the same.
    skipped = {
        entry.links
        for entry in robot.unchecked_pairs
        if entry.reason in ("adjacent", "srdf-disabled", "srdf-contradicted") and not with_neighbours
    }
    if robot.assets.urdf is not None:
        path = resolve_asset(robot.assets.urdf.ref, "urdf", manifest_dir)
        with TemporaryDirectory() as folder:
            return _UrdfOracle(robot, write_corrected_urdf(robot, path, Path(folder)), skipped)
    from lastgate.tools.lowering.mjcf_oracle import MjcfOracle

    return MjcfOracle(robot, manifest_dir, skipped)


def measure(
    robot: RobotDescription,
    manifest_dir: Path | None,
    *,
    samples: int,
    seed: int = MEASURE_SEED,
    progress: Callable[[float], None] | None = None,
    with_neighbours: bool = False,
) -> ErrorRates:
    """Returns missed collisions, hidden contacts and false rejections of a manifest, and of its gate, over random
    configurations.

    A contact is hidden when a pair has it that lowering proved or found apart; one on a pair that a person
    waived is counted as such. `with_neighbours` counts the contacts of every exempt pair, which takes longer.
    """
    oracle = oracle_of(robot, manifest_dir, with_neighbours=with_neighbours)
    allowed = {entry.links: entry.reason for entry in robot.allowed_collision_pairs}
    engines = "MuJoCo and Coal" if robot.assets.urdf is None else "Pinocchio and Coal"
    rates = ErrorRates(engines, samples, exempt=Counter() if with_neighbours else None)
    rng = np.random.default_rng(seed)
    names = [joint for joint in robot.joints if joint.is_actuated]
    limits = [joint.position_limits or (-math.pi, math.pi) for joint in names]
    links = sorted({volume.link_name for volume in robot.collision_geometry})
    checked = [
        ordered(a, b) for i, a in enumerate(links) for b in links[i + 1 :] if ordered(a, b) not in allowed
    ]
    capsule_axes = {link: _capsule_axes(robot, link) for link in links}
    accepts = _gate_of(robot, rates)
    unchecked = {entry.links for entry in robot.unchecked_pairs}
    for first in range(0, samples, _BLOCK):
        count = min(_BLOCK, samples - first)
        truth: list[set[Pair]] = []
        poses: dict[str, list[Array]] = {link: [] for link in links}
        for _ in range(count):
            values = {
                joint.name: float(rng.uniform(*limit)) for joint, limit in zip(names, limits, strict=True)
            }
            for joint in robot.joints:
                if joint.mimic is not None:
                    values[joint.name] = (
                        joint.mimic.multiplier * values[joint.mimic.joint] + joint.mimic.offset
                    )
            oracle.place(values)
            contacts = oracle.contacts()
            # Lowering says of surfaces that they stay apart, not of what is inside: an exempt pair that is enclosed is
            # not hidden.
            truth.append(contacts | oracle.enclosed(besides={*contacts, *unchecked}))
            if accepts is not None:
                accepted = accepts(np.array([values[joint.name] for joint in names]))
                _count_gate(rates, accepted=accepted, touching=not truth[-1] <= unchecked)
            for link in links:
                poses[link].append(oracle.pose(link))
        placed = {link: np.array(found) for link, found in poses.items()}
        touching = {pair: _touching(capsule_axes, placed, pair) for pair in checked}
        _count(rates, truth, touching, allowed)
        if progress is not None:
            progress((first + count) / samples)
    return rates


def _gate_of(robot: RobotDescription, rates: ErrorRates) -> Callable[[Array], bool] | None:
    """Returns what the gate says of a configuration; notes why where a manifest has no gate yet."""
    try:
        gate = Gate(unhurried(robot), step_s=1.0)
    except ROSConfigError as error:
        rates.unarmed = str(error).splitlines()[0]
        return None
    in_rows, grippers = columns_of(robot, gate)

    def accepts(configuration: Array) -> bool:
        fingers = configuration[grippers] if grippers else None
        evaluated = gate.check_batch(configuration[None, in_rows], world=NO_WORLD, gripper_positions=fingers)
        return bool(evaluated.accepted[0])

    return accepts


def _count_gate(rates: ErrorRates, *, accepted: bool, touching: bool) -> None:
    rates.gate_clear += not touching
    rates.gate_missed += touching and accepted
    rates.gate_rejected_clear += not touching and not accepted


def _count(
    rates: ErrorRates,
    truth: list[set[Pair]],
    touching: dict[Pair, NDArray[np.bool_]],
    allowed: dict[Pair, str],
) -> None:
    for index, contacts in enumerate(truth):
        if rates.exempt is not None:
            rates.exempt.update(pair for pair in contacts if pair in allowed)
        real = {pair for pair in contacts if pair not in allowed}
        for pair in contacts:
            if allowed.get(pair) in ("proved-never", "junction"):
                rates.hidden[pair] += 1
            elif allowed.get(pair) == "waived":
                rates.waived[pair] += 1
        missed = [pair for pair in real if pair not in touching or not touching[pair][index]]
        rates.missed += bool(missed)
        rates.missed_pairs.update(missed)
        if real:
            continue
        rates.clear += 1
        rejected = [pair for pair, mask in touching.items() if mask[index]]
        rates.rejected_clear += bool(rejected)
        rates.false_rejection_pairs.update(rejected)


def _capsule_axes(robot: RobotDescription, link: str) -> tuple[Array, Array, Array]:
    start, end, radius = [], [], []
    for volume in robot.collision_geometry:
        if volume.link_name != link:
            continue
        centre = np.array(volume.origin_xyz_rpy[:3])
        half = 0.5 * volume.shape.length_m if isinstance(volume.shape, CapsuleShape) else 0.0
        along = half * rotation_from_rpy(*volume.origin_xyz_rpy[3:])[:, 2]
        start.append(centre - along)
        end.append(centre + along)
        radius.append(volume.shape.radius_m)
    return np.array(start), np.array(end), np.array(radius)


def _touching(
    capsule_axes: dict[str, tuple[Array, Array, Array]], placed: dict[str, Array], pair: Pair
) -> NDArray[np.bool_]:
    ends = []
    for link in pair:
        pose = placed[link]
        start, end, radius = capsule_axes[link]
        turn, shift = pose[:, :3, :3].transpose(0, 2, 1), pose[:, None, :3, 3]
        ends.append((start @ turn + shift, end @ turn + shift, radius))
    (start_a, end_a, radius_a), (start_b, end_b, radius_b) = ends
    distance = segments_to_segments(start_a[:, :, None], end_a[:, :, None], start_b[:, None], end_b[:, None])
    return (distance <= radius_a[:, None] + radius_b[None, :]).any(axis=(1, 2))
