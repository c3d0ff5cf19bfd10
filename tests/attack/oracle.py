# SPDX-License-Identifier: Apache-2.0
"""Holds a motion against every promise of the gate, densely sampled, and more densely where it comes near.

Samples are instants of the motion itself, so a violation that the oracle finds is one: what sampling can do wrong is
to overlook a violation, never to invent one. Its own rounding is far below `TOLERANCE`: positions are sums of a dozen
products of numbers below ten, which double precision gets right to 1e-14.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from attack import commands, tools
from attack.distances import segment_segment
from attack.kinematics import Array, Tree
from attack.limits import joint_limits
from attack.motions import Path, paths_of, reachable_box
from attack.scene import Surroundings, depth_inside, elements_of, region_depth, self_pairs, volumes_of

# Metres, radians, or a share of the limit where the promise is about a speed. A manifest's limits of joints that
# mimic others are compared to as many digits; everything else is exact but for rounding.
TOLERANCE = 1.0e-6
# The gate may reject what comes this near to a violation, and lets a pair that is moving apart lose this much.
RESOLUTION_M = 1.0e-4
# Distances above this need not be exact.
NEAR_M = 0.03
SHARES = np.linspace(0.0, 1.0, 13)
ROUNDS, INTERVALS, PARTS = 3, 10, 8
NOW_S = 100.0


@dataclass(frozen=True)
class Finding:
    """How much of one promise is left at the worst instant: below zero it is broken."""

    promise: str
    slack: float
    where: dict[str, Any]


class Findings(dict[str, Finding]):
    """The worst finding of every promise."""

    def note(self, promise: str, slack: float, **where: Any) -> None:
        known = self.get(promise)
        if known is None or not slack >= known.slack:
            self[promise] = Finding(promise, float(slack), where)

    def worst(self) -> Finding | None:
        return min(self.values(), key=lambda finding: finding.slack, default=None)

    def broken(self) -> list[Finding]:
        """Returns promises that are broken by more than the oracle's own rounding; NaN is broken."""
        return [finding for finding in self.values() if not finding.slack >= -TOLERANCE]


class Oracle:
    """Everything about one case that does not depend on the instant.

    Args:
        everything: Counts links that stand still in this mode but move in others: what the gate may check, too.
    """

    def __init__(self, case: dict[str, Any], *, everything: bool = False) -> None:
        self.case = case
        self.tree = Tree(case["manifest"])
        self.safety = case["manifest"].get("safety", {})
        self.mode = case["chunk"]["mode"]
        self.limits = joint_limits(case, self.tree)
        self.volumes = volumes_of(case, self.tree)
        self.pairs = self_pairs(case, self.tree, self.volumes)
        self.around = Surroundings(elements_of(case))
        self.radii = np.array([volume.radius_m for volume in self.volumes])
        self.links = np.array([volume.link for volume in self.volumes], dtype=int)
        self.ends = np.array([volume.ends for volume in self.volumes]).reshape(-1, 2, 3)
        drives = self.mode == "BODY_TWIST" or (everything and "max_base_linear_speed_m_s" in self.safety)
        self.moves = np.array([drives or self.tree.is_carried(volume.link) for volume in self.volumes])
        strays_m = self.safety.get("cartesian_deviation_m", 0.0) if self.mode.startswith("CARTESIAN") else 0.0
        self.self_margin_m = self.safety.get("self_collision_margin_m", 0.0) + strays_m
        self.world_margin_m = self.safety.get("world_collision_margin_m", 0.0) + strays_m

    # ---- One set of configurations ---------------------------------------------------------------

    def place(self, q: Array, base: Array | None) -> Array:
        """Returns the ends (S, V, 2, 3) of the axes of all volumes."""
        rotations, positions = self.tree.place(q, base)
        turned = np.einsum("svij,vkj->svki", rotations[:, self.links], self.ends)
        return turned + positions[:, self.links][:, :, None]

    def self_distances(self, ends: Array) -> Array:
        first, second = self.pairs[:, 0], self.pairs[:, 1]
        apart = segment_segment(ends[:, first, 0], ends[:, first, 1], ends[:, second, 0], ends[:, second, 1])
        return apart - self.radii[first] - self.radii[second]

    def world_distances(self, ends: Array, around: Surroundings) -> Array:
        return around.distances(ends, self.radii, self.world_margin_m + NEAR_M)

    def world_required(self, ends: Array, around: Surroundings, seconds: Array) -> Array:
        """Returns (S, V, E): the margin, or nothing where touching is declared for that pair, place and time."""
        required = np.full((len(ends), len(self.volumes), len(around.elements)), self.world_margin_m)
        for contact in self.case.get("contacts", ()):
            touching = np.array(
                [
                    volume.object_id in contact.get("held_objects", ())
                    if volume.object_id is not None
                    else self.tree.links[volume.link] in contact.get("links", ())
                    for volume in self.volumes
                ]
            )
            touched = np.array(
                [
                    (element.source == "primitive" and element.object_id in contact.get("objects", ()))
                    or (element.source == "voxel" and contact.get("voxels", False))
                    or (element.source == "point" and contact.get("points", False))
                    for element in around.elements
                ],
                dtype=bool,
            )
            inside = region_depth(contact, ends, self.radii) >= 0.0
            inside &= (NOW_S + seconds <= contact["expires_s"] + 1e-9)[:, None]
            allowed = (inside & touching)[:, :, None] & touched[None, None, :]
            required = np.where(allowed, 0.0, required)
        return required

    # ---- Paths -----------------------------------------------------------------------------------

    def seconds(self, segment: Array, share: Array) -> Array:
        """Returns when samples are executed, from the start of the chunk; without timing, at its end."""
        if self.mode in ("GRIPPER_BINARY", "GRIPPER_POSITION", "COMPOSITE_MODE"):
            return np.full(len(segment), self.case["step_s"] * len(self.case["chunk"]["rows"]))
        return self.case["step_s"] * (segment + share)

    def examine_path(self, path: Path, found: Findings) -> None:
        """Samples a path, and samples more densely the intervals in which something may come nearest."""
        rows = self._rows_of(path)
        segment = np.repeat(np.arange(path.segments), len(SHARES))
        share = np.tile(SHARES, path.segments)
        around = self.around
        for turn in range(ROUNDS + 1):
            estimate, near = self._examine_samples(path, rows, around, segment, share, found=found)
            if turn == ROUNDS or not len(estimate):
                return
            if turn == 0:
                around, rows = self._only_near(around, near, rows)
            chosen = np.argsort(estimate)[:INTERVALS]
            first = np.nonzero(segment[:-1] == segment[1:])[0][chosen]
            low, high = share[first], share[first + 1]
            fractions = np.linspace(0.0, 1.0, PARTS + 1)
            segment = np.repeat(segment[first], PARTS + 1)
            share = (low[:, None] + fractions * (high - low)[:, None]).ravel()

    def _rows_of(self, path: Path) -> tuple[Array, Array]:
        """Returns the distances at every row, which recovery compares with: own pairs, and world."""
        numbers = np.arange(path.segments)
        q, base = path.at(np.append(numbers, path.segments - 1), np.append(np.zeros(path.segments), 1.0))
        ends = self.place(q, base)
        return self.self_distances(ends), self.world_distances(ends, self.around)

    def _only_near(
        self, around: Surroundings, near: Array, rows: tuple[Array, Array]
    ) -> tuple[Surroundings, tuple[Array, Array]]:
        kept = [element for element, keep in zip(around.elements, near, strict=True) if keep]
        return Surroundings(kept), (rows[0], rows[1][:, :, near])

    def _lowered(self, required: Array, at_rows: Array, segment: Array, margin_m: float) -> Array:
        """Returns what recovery asks of pairs that start inside their margin: no nearer than at the last row."""
        starts_inside = at_rows[0] < margin_m
        before = np.minimum(margin_m, at_rows[segment]) - RESOLUTION_M
        return np.where(starts_inside, np.minimum(required, before), required)

    def _examine_samples(
        self,
        path: Path,
        rows: tuple[Array, Array],
        around: Surroundings,
        segment: Array,
        share: Array,
        *,
        found: Findings,
    ) -> tuple[Array, Array]:
        """Notes the worst of all samples; returns a lower estimate per interval, and which elements are near at all."""
        q, base = path.at(segment, share)
        ends = self.place(q, base)
        own, world = self.self_distances(ends), self.world_distances(ends, around)
        own_required = np.full_like(own, self.self_margin_m)
        world_required = self.world_required(ends, around, self.seconds(segment, share))
        if self.case["recovery"]:
            own_required = self._lowered(own_required, rows[0], segment, self.self_margin_m)
            lowered = self._lowered(world_required, rows[1], segment, self.world_margin_m)
            excepted = np.array([element.source == "no_go" for element in around.elements], dtype=bool)
            world_required = np.where(excepted, world_required, lowered)
        own_slack = own - own_required
        world_slack = np.where(self.moves[:, None], world - world_required, np.inf)
        self._note_distances(own_slack, world_slack, around, (segment, share), found)
        self._note_keep_in(ends, (segment, share), found)
        tools.note_box(self, q, base, (segment, share), found)
        if path.step_s is not None and self.mode != "BODY_TWIST":
            tools.note_speeds(self, path, segment, share, found)
        together = segment[:-1] == segment[1:]
        moved = np.linalg.norm(ends[1:] - ends[:-1], axis=-1).max(axis=2)[together]
        first, second = self.pairs[:, 0], self.pairs[:, 1]
        low_own = np.minimum(own_slack[1:], own_slack[:-1])[together] - 0.5 * (
            moved[:, first] + moved[:, second]
        )
        low_world = np.minimum(world_slack[1:], world_slack[:-1])[together] - 0.5 * moved[:, :, None]
        near = (low_world < 0.02).any(axis=(0, 1))
        flat = np.concatenate([low_own, low_world.reshape(len(low_world), -1)], axis=1)
        return (flat.min(axis=1) if flat.shape[1] else np.zeros(len(flat))), near

    def _note_distances(
        self, own: Array, world: Array, around: Surroundings, at: tuple[Array, Array], found: Findings
    ) -> None:
        if own.size:
            sample, pair = np.unravel_index(np.argmin(own), own.shape)
            names = [self._name(volume) for volume in self.pairs[pair]]
            found.note("self pairs", own[sample, pair], pair=names, **self.instant(at, sample))
        for source in {element.source for element in around.elements}:
            columns = [i for i, element in enumerate(around.elements) if element.source == source]
            part = world[:, :, columns]
            if not part.size or not np.isfinite(part).any():
                continue
            sample, volume, column = np.unravel_index(np.argmin(part), part.shape)
            element = around.elements[columns[column]]
            found.note(
                f"world: {source}",
                part[sample, volume, column],
                volume=self._name(volume),
                against=element.object_id or f"{element.shape} at {np.round(element.xyz, 4).tolist()}",
                **self.instant(at, sample),
            )

    def _note_keep_in(self, ends: Array, at: tuple[Array, Array], found: Findings) -> None:
        for zone in self.safety.get("keep_in_zones", ()):
            depth = depth_inside(zone, ends, self.radii) - self.world_margin_m
            named = [self.tree.links.index(name) for name in zone.get("links", ())]
            about = np.isin(self.links, named) if named else self.moves
            if about.any():
                depth = np.where(about, depth, np.inf)
                sample, volume = np.unravel_index(np.argmin(depth), depth.shape)
                where = {"zone": zone["name"], "volume": self._name(volume), **self.instant(at, sample)}
                found.note("keep-in zone", depth[sample, volume], **where)

    def _name(self, volume: int) -> str:
        shape = self.volumes[volume]
        return shape.object_id or self.tree.links[shape.link]

    @staticmethod
    def instant(at: tuple[Array, Array], sample: int) -> dict[str, Any]:
        return {"step": int(at[0][sample]), "share": round(float(at[1][sample]), 6)}

    # ---- Sets ------------------------------------------------------------------------------------

    def examine_set(self, low: Array, high: Array, found: Findings) -> None:
        """Samples a box of configurations: its middle, vertices, inside, and around the worst that was found."""
        rng = np.random.default_rng(1)
        width = high - low
        vertices = rng.integers(0, 2, size=(64, len(low))).astype(float)
        shares = np.concatenate([np.full((1, len(low)), 0.5), vertices, rng.random((128, len(low)))])
        for turn in range(4):
            q = low + shares * width
            worst = self._examine_configurations(q, found)
            best = shares[np.argsort(worst)[:8]]
            scale = 0.25 * 0.5**turn
            shares = np.clip(
                np.repeat(best, 8, axis=0) + scale * rng.normal(size=(8 * len(best), len(low))), 0, 1
            )

    def _examine_configurations(self, q: Array, found: Findings) -> Array:
        ends = self.place(q, None)
        at = (np.zeros(len(q), dtype=int), np.zeros(len(q)))
        seconds = np.full(len(q), self.case["step_s"] * len(self.case["chunk"]["rows"]))
        own = self.self_distances(ends) - self.self_margin_m
        world = self.world_distances(ends, self.around) - self.world_required(ends, self.around, seconds)
        world = np.where(self.moves[:, None], world, np.inf)
        if self.case["recovery"]:
            return np.zeros(len(q))
        self._note_distances(own, world, self.around, at, found)
        self._note_keep_in(ends, at, found)
        tools.note_box(self, q, None, at, found)
        flat = np.concatenate([own, world.reshape(len(q), -1)], axis=1)
        return flat.min(axis=1) if flat.shape[1] else np.zeros(len(q))


def examine(case: dict[str, Any], joint_rows: Array | None = None, *, everything: bool = False) -> Findings:
    """Returns how much is left of every promise that an acceptance of this case makes.

    Args:
        joint_rows: What the verdict resolved a Cartesian chunk to; only needed in these modes.
        everything: Counts what the gate may check without having promised to.
    """
    oracle = Oracle(case, everything=everything)
    found = Findings()
    commands.note_rows(oracle, found)
    paths = paths_of(case, oracle.tree, joint_rows, np.random.default_rng(2))
    for path in paths:
        commands.note_path_limits(oracle, path, found)
        if oracle.mode.startswith("CARTESIAN"):
            commands.note_reached(oracle, path, found)
        oracle.examine_path(path, found)
        if oracle.mode == "BODY_TWIST":
            tools.note_footprint(oracle, path, found)
    box = reachable_box(case, oracle.tree, oracle.limits)
    if box is not None:
        commands.note_set_limits(oracle, *box, found)
        oracle.examine_set(*box, found)
    return found
