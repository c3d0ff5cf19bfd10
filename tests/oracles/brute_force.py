# SPDX-License-Identifier: Apache-2.0
"""The slow, simple program every verdict is compared with: sample the path, measure every pair, take the
least.

Nothing here is certified and nothing is skipped, except pairs whose bounding spheres already show that they
cannot be the nearest. That bound concerns one instant; it never speaks about the time between two samples.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import lastgate as lg
from oracles.numpy_distances import point_box, point_segment, segment_box, segment_segment
from oracles.numpy_kinematics import Frames, Kinematics, rotation_of_rpy

Array = NDArray[np.float64]

SAMPLES = 2000


@dataclass(frozen=True)
class Volume:
    """A sphere or capsule fixed to a link."""

    name: str  # what a verdict calls it: the link, or the attached object
    link: str
    radius_m: float
    end_a: Array
    end_b: Array
    held: bool = False
    touch: frozenset[str] = frozenset()

    @property
    def half_length_m(self) -> float:
        """Half the length of its capsule axis."""
        return float(np.linalg.norm(self.end_b - self.end_a)) / 2


def volume_of(
    name: str, link: str, shape: lg.SphereShape | lg.CapsuleShape, xyz_rpy: Sequence[float], **kind: object
) -> Volume:
    """Returns the volume of a shape placed in a link's frame."""
    half = shape.length_m / 2 if isinstance(shape, lg.CapsuleShape) else 0.0
    centre, axis = np.array(xyz_rpy[:3]), rotation_of_rpy(tuple(xyz_rpy[3:]))[:, 2]
    return Volume(name, link, shape.radius_m, centre - half * axis, centre + half * axis, **kind)  # type: ignore[arg-type]


class Obstacle:
    """A primitive of the world, ready to be measured."""

    def __init__(self, primitive: lg.WorldCollisionPrimitive, name: str) -> None:
        self.name = name
        self.shape = primitive.shape
        self.centre = np.array(primitive.pose.xyz)
        self.rotation = Rotation.from_quat(primitive.pose.quat_xyzw).as_matrix()
        axis = self.rotation[:, 2]
        self.half_length_m = self.shape.length_m / 2 if isinstance(self.shape, lg.CapsuleShape) else 0.0
        self.end_a, self.end_b = (
            self.centre - self.half_length_m * axis,
            self.centre + self.half_length_m * axis,
        )
        self.radius_m = getattr(self.shape, "radius_m", 0.0)

    def axis_distance(self, a: Array, b: Array) -> Array:
        """Returns the distance of segments from the shape's inner part: the capsule axis, the box or the half-space."""
        if isinstance(self.shape, lg.BoxShape):
            half = np.array(self.shape.size_xyz_m) / 2
            return segment_box((a - self.centre) @ self.rotation, (b - self.centre) @ self.rotation, half)
        if isinstance(self.shape, lg.HalfSpaceShape):
            normal = self.rotation[:, 2]
            return np.minimum((a - self.centre) @ normal, (b - self.centre) @ normal)
        return segment_segment(a, b, self.end_a, self.end_b)

    def bounds(self, a: Array, b: Array, length_m: float) -> tuple[Array, Array]:
        """Returns what the distance of the capsule axes lies between, from points strung along each segment."""
        beads = 9 if isinstance(self.shape, lg.BoxShape) and length_m > 0.0 else 1
        share = (np.arange(beads) + 0.5) / beads
        points = a[:, None] + share[:, None] * (b - a)[:, None]
        ceiling = self.axis_distance_of_point(points.reshape(-1, 3)).reshape(-1, beads).min(axis=1)
        return ceiling - length_m / (2 * beads), ceiling

    def axis_distance_of_point(self, point: Array) -> Array:
        """Returns the same for single points: changes by no more than the point moves."""
        if isinstance(self.shape, lg.BoxShape):
            return point_box((point - self.centre) @ self.rotation, np.array(self.shape.size_xyz_m) / 2)
        if isinstance(self.shape, lg.HalfSpaceShape):
            return (point - self.centre) @ self.rotation[:, 2]
        return point_segment(point, self.end_a, self.end_b)


@dataclass
class Scan:
    """What sampling one segment found for pairs of one kind, distances minus margin."""

    gap_m: float = np.inf  # least of all samples
    t: float = 0.0
    pair: tuple[int, int] = (-1, -1)
    first_violation_t: float = np.inf
    per_pair: dict[tuple[int, int], tuple[float, float]] = field(default_factory=dict)


class BruteForce:
    """Measures one robot, with what it holds, in one world."""

    def __init__(
        self,
        kinematics: Kinematics,
        primitives: Sequence[lg.WorldCollisionPrimitive] = (),
        *,
        held: Sequence[Volume] = (),
        self_margin_m: float = 0.0,
        world_margin_m: float = 0.0,
        mobile: bool = False,
    ) -> None:
        self.kinematics = kinematics
        robot = kinematics.robot
        own = [
            volume_of(g.link_name, g.link_name, g.shape, g.origin_xyz_rpy) for g in robot.collision_geometry
        ]
        self.volumes = [*own, *held]
        self.obstacles = [Obstacle(p, p.object_id or f"world_{i}") for i, p in enumerate(primitives)]
        self.margin_m = {"self": self_margin_m, "world": world_margin_m}
        self.mobile = mobile
        self._sampled: tuple[tuple[bytes, bytes, int], tuple[Array, Array]] | None = None

    @cached_property
    def self_pairs(self) -> list[tuple[int, int]]:
        """Every pair of volumes that can move against each other and is not allowed to touch."""
        allowed = {pair.links for pair in self.kinematics.robot.allowed_collision_pairs}
        pairs = []
        for i, a in enumerate(self.volumes):
            for j in range(i + 1, len(self.volumes)):
                b = self.volumes[j]
                if self.kinematics.rigid_with[a.link] == self.kinematics.rigid_with[b.link]:
                    continue
                if not a.held and not b.held:
                    free = tuple(sorted((a.link, b.link))) in allowed
                elif a.held and b.held:
                    free = a.name == b.name
                else:
                    holder, other = (a, b) if a.held else (b, a)
                    free = other.link in holder.touch
                if not free:
                    pairs.append((i, j))
        return pairs

    @cached_property
    def world_pairs(self) -> list[tuple[int, int]]:
        """Every volume that a command can move, with every obstacle."""
        base = self.kinematics.robot.base_frame
        moving = [
            i for i, v in enumerate(self.volumes) if self.mobile or self.kinematics.rigid_with[v.link] != base
        ]
        return [(i, j) for i in moving for j in range(len(self.obstacles))]

    def capsule_axes(self, frames: Frames) -> tuple[Array, Array]:
        """Returns the ends of every capsule axis, (volumes, N, 3) each."""
        return (
            np.stack([frames.place(v.link, v.end_a) for v in self.volumes]),
            np.stack([frames.place(v.link, v.end_b) for v in self.volumes]),
        )

    def distance(self, kind: str, pair: tuple[int, int], a: Array, b: Array) -> Array:
        """Returns the distance of one pair at every configuration, negative where the volumes overlap."""
        i, j = pair
        if kind == "self":
            capsule_axis = segment_segment(a[i], b[i], a[j], b[j])
            return capsule_axis - self.volumes[i].radius_m - self.volumes[j].radius_m
        return (
            self.obstacles[j].axis_distance(a[i], b[i])
            - self.volumes[i].radius_m
            - self.obstacles[j].radius_m
        )

    def least(self, kind: str, capsule_axes: tuple[Array, Array], t: Array) -> Scan:
        """Returns the least distance minus margin over all pairs and instants, and the first violation."""
        a, b = capsule_axes
        middle = (a + b) / 2
        margin_m = self.margin_m[kind]
        floors: list[tuple[tuple[int, int], Array]] = []
        ceiling_m = np.inf
        for pair in self.self_pairs if kind == "self" else self.world_pairs:
            i, j = pair
            first = self.volumes[i]
            if kind == "self":
                second = self.volumes[j]
                ceiling = np.sqrt(((middle[i] - middle[j]) ** 2).sum(axis=-1))
                floor = ceiling - first.half_length_m - second.half_length_m
                solid = first.radius_m + second.radius_m + margin_m
            else:
                floor, ceiling = self.obstacles[j].bounds(a[i], b[i], 2 * first.half_length_m)
                solid = first.radius_m + self.obstacles[j].radius_m + margin_m
            floors.append((pair, floor - solid))
            ceiling_m = min(ceiling_m, float((ceiling - solid).min()))
        scan = Scan()
        for pair, floor in sorted(floors, key=lambda entry: float(entry[1].min())):
            # Measured: what may be the least, and what may violate before the first violation known so far.
            doubtful = floor <= min(ceiling_m, scan.gap_m) + 1e-9
            doubtful |= (floor <= 0.0) & (t < scan.first_violation_t)
            if not doubtful.any():
                continue
            gaps = self.distance(kind, pair, a[:, doubtful], b[:, doubtful]) - margin_m
            times = t[doubtful]
            at = int(gaps.argmin())
            scan.per_pair[pair] = (float(gaps[at]), float(times[at]))
            if gaps[at] < scan.gap_m:
                scan.gap_m, scan.t, scan.pair = float(gaps[at]), float(times[at]), pair
            # Closer than the margin by more than double rounding leaves room for.
            broken = np.flatnonzero(gaps < -1e-9)
            if len(broken):
                scan.first_violation_t = min(scan.first_violation_t, float(times[broken[0]]))
        return scan

    def scan(self, kind: str, start: Array, end: Array, *, samples: int = SAMPLES) -> Scan:
        """Samples the straight joint path between two configurations, ends included."""
        if not (self.self_pairs if kind == "self" else self.world_pairs):
            return Scan()
        t = np.linspace(0.0, 1.0, samples)
        key = (start.tobytes(), end.tobytes(), samples)
        if self._sampled is None or self._sampled[0] != key:
            self._sampled = (key, self.capsule_axes(self.frames_at(start, end, t)))
        return self.least(kind, self._sampled[1], t)

    def frames_at(self, start: Array, end: Array, t: Array) -> Frames:
        """Returns the link frames at some instants of a segment."""
        return self.kinematics.frames(start + t[:, None] * (end - start))

    def refined_gap(
        self, kind: str, start: Array, end: Array, scan: Scan, *, samples: int = SAMPLES
    ) -> float:
        """Returns the least gap near the least sample of the critical pairs, sampled 8,000 times finer."""
        best = scan.gap_m
        critical = sorted(scan.per_pair.items(), key=lambda entry: entry[1][0])[:3]
        for pair, (gap_m, least_t) in critical:
            centre, width = least_t, 1.0 / (samples - 1)
            if gap_m > max(10 * scan.gap_m, 5e-3):
                continue
            for _ in range(3):
                t = np.clip(np.linspace(centre - width, centre + width, 41), 0.0, 1.0)
                a, b = self.capsule_axes(self.frames_at(start, end, t))
                gaps = self.distance(kind, pair, a, b) - self.margin_m[kind]
                centre, width = float(t[gaps.argmin()]), width / 20
                best = min(best, float(gaps.min()))
        return best

    def skimming(self, kind: str, start: Array, end: Array, *, samples: int = SAMPLES) -> float:
        """Returns how many queries it takes to certify the path clear, at the very least.

        A query at an instant with gap g certifies no more than the time in which the pair can move by g either
        way. The sum of (distance moved) / 2 g over the path is therefore a floor; the end of a capsule axis that
        moves most is used.
        """
        t = np.linspace(0.0, 1.0, samples)
        a, b = self.capsule_axes(self.frames_at(start, end, t))
        most = 0.0
        for pair in self.self_pairs if kind == "self" else self.world_pairs:
            i, j = pair
            moved = np.maximum(*(np.linalg.norm(np.diff(ends[i], axis=0), axis=1) for ends in (a, b)))
            if kind == "self":
                moved = moved + np.maximum(
                    *(np.linalg.norm(np.diff(ends[j], axis=0), axis=1) for ends in (a, b))
                )
            gaps = np.maximum(self.distance(kind, pair, a, b) - self.margin_m[kind], 1e-5)
            most = max(most, float((moved / (gaps[:-1] + gaps[1:])).sum()))
        return most
